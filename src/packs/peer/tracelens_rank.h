/* One rank as TraceLens sees it: which work is linked, which operators launch it, under which names. Shared by
 * the files that make its sheets. */
#pragma once

#include "base/interval.h"
#include "peer/tracelens_sheet.h"
#include "trace/recompute.h"
#include "trace/tree.h"

/* What identifies an operator in the sheets: ids of the rank's pool. */
typedef struct rs_tl_operator {
    uint32_t name, category, process, label, thread, dims, types, strides, concrete;
    bool again;
} rs_tl_operator;

/* An operator, or a call without one, and the work that it launched itself, without communication. */
typedef struct rs_tl_launcher {
    rs_tl_operator op;
    uint32_t node, row;     /* row: its position in traceEvents */
    uint32_t first, n;      /* in own_work */
    double direct, subtree; /* unions, us */
} rs_tl_launcher;

typedef struct rs_tl_rank {
    rs_trace *trace;
    const rs_events *e;
    const rs_tracelens_options *options;
    rs_tree *tree;
    const rs_classes *classes;     /* by TraceLens' rules */
    const rs_recompute *recompute; /* NULL: it is not asked for */
    uint32_t *n_linked;            /* by place in tree->gpu_row: linked work before it; one more at the end */
    uint32_t *call;                /* by place in tree->gpu_row: the node of its call */
    rs_tl_launcher *launchers;     /* by start, then row */
    size_t n_launchers;
    uint32_t *own_work;    /* rows, by launcher, then by start, then by row */
    uint32_t *launcher_of; /* by node: index + 1 of its launcher; 0: it is none */
    rs_pool pool;          /* texts of cells */
    uint32_t *process, *label,
        *thread;   /* by thread: names in the pool, "Unknown" where the file gives none */
    int64_t total; /* first start to last end of linked work, ns */
} rs_tl_rank;

/* Whether the work at that place of tree->gpu_row is linked by TraceLens' rules: by a flow that has both ends,
 * or to a launch of a graph. */
static inline bool rs_tl_is_linked(const rs_tl_rank *r, size_t at)
{
    return r->n_linked[at + 1] != r->n_linked[at];
}
/* Where the work that a node launched itself ends; it begins at tree->gpu_first[node]. */
static inline size_t rs_tl_own_end(const rs_tree *t, size_t node)
{
    return node + 1 < t->end[node] ? t->gpu_first[node + 1] : t->gpu_first[t->end[node]];
}
/* Linked work below a node. */
static inline size_t rs_tl_n_below(const rs_tl_rank *r, uint32_t node)
{
    return r->n_linked[r->tree->gpu_first[r->tree->end[node]]] - r->n_linked[r->tree->gpu_first[node]];
}
/* The class of a piece of work. The rules of `timeline --compat tracelens` know one kind of collective kernels more
 * than TraceLens does: those of symmetric memory, which its report takes for computation. */
rs_class rs_tl_class(const rs_tl_rank *r, uint32_t row);
static inline bool rs_tl_is_comm(const rs_tl_rank *r, uint32_t row)
{
    return rs_tl_class(r, row) == RS_CLASS_COMM;
}
/* Union of pieces of work, us. TraceLens adds starts and durations as doubles of microseconds, whose last place
 * is about a nanosecond in today's clocks; so does this. False when out of memory. */
bool rs_tl_union(const rs_tl_rank *r, const uint32_t *rows, size_t n, double *us);
/* The nearest operator above a call, "execute" or not; RS_NO_NODE: none. */
uint32_t rs_tl_operator_of(const rs_tl_rank *r, uint32_t call);
const char *rs_tl_name(const rs_tl_rank *r, uint32_t node);

/* Whether an operator is one that TraceLens takes for computed again: below a Python function that says so. */
static inline bool rs_tl_is_recompute(const rs_tl_rank *r, uint32_t node)
{
    return r->recompute && (r->recompute->again[node] & RS_AGAIN_BY_FUNCTION);
}
/* Whether the name has the word, which is in small letters, in any letters. */
bool rs_tl_name_has(const char *name, const char *word);

/* Ids of the rank's pool: of a text, of an argument of an event as Python text with tuples (RS_NO_STRING: not
 * recorded). *ok becomes false when out of memory and is otherwise left alone. */
uint32_t rs_tl_text_id(rs_tl_rank *r, const char *text, size_t n, bool *ok);
uint32_t rs_tl_tuple_id(rs_tl_rank *r, rs_column_id column, uint32_t row, bool *ok);
/* Of the event that is the node's row, but for its category. False when out of memory. */
bool rs_tl_operator_read(rs_tl_rank *r, uint32_t node, rs_tl_operator *out);

/* The columns of a member of that type. */
#define RS_TL_OPERATOR_COLUMNS(row, op, name_help)                                                           \
    RS_TL_COLUMN(KEY, row, op.name, "name", TEXT, NONE, name_help),                                          \
        RS_TL_COLUMN(KEY, row, op.category, "op category", TEXT, NONE, "its kind"),                          \
        RS_TL_COLUMN(KEY, row, op.process, "process_name", TEXT, NONE, "as the file names the process"),     \
        RS_TL_COLUMN(KEY, row, op.label, "process_label", TEXT, NONE, "as the file labels it"),              \
        RS_TL_COLUMN(KEY, row, op.thread, "thread_name", TEXT, NONE, "as the file names the thread"),        \
        RS_TL_COLUMN(KEY, row, op.dims, "Input Dims", TEXT, NONE, "shapes of the inputs"),                   \
        RS_TL_COLUMN(KEY, row, op.types, "Input type", TEXT, NONE, "types of the inputs"),                   \
        RS_TL_COLUMN(KEY, row, op.strides, "Input Strides", TEXT, NONE, "strides of the inputs"),            \
        RS_TL_COLUMN(KEY, row, op.concrete, "Concrete Inputs", TEXT, NONE, "values of scalar inputs"),       \
        RS_TL_AGAIN_COLUMN(row, op.again)
#define RS_TL_AGAIN_COLUMN(row, member)                                                                      \
    RS_TL_COLUMN(KEY, row, member, "is_recompute", TEXT, NONE,                                               \
                 "True: activation checkpointing computes it again", .when = RS_TL_RECOMPUTE)

/* What a sheet of the rank is made of. */
static inline rs_tl_items rs_tl_items_of(const rs_tl_rank *r, const void *items, size_t n,
                                         const void *context)
{
    return (rs_tl_items){.items = items,
                         .n = n,
                         .texts = &r->pool.strings,
                         .has = r->recompute ? RS_TL_RECOMPUTE : 0,
                         .context = context};
}

/* "[{'name': ..., 'stream': 7, 'count': 3, 'total_duration_us': ..., ...}]": statistics of the work at each
 * place over the calls, of those calls that have as many pieces as the first, in rising order of the mean;
 * truncated: names and means only, names cut. list(context, call, &rows) hands out the work of a call. */
typedef size_t (*rs_tl_list_fn)(const void *context, size_t call, const uint32_t **rows);
void rs_tl_put_kernels(const rs_tl_rank *r, const void *context, rs_tl_list_fn list, const uint32_t *calls,
                       size_t n_calls, bool truncated, rs_text *out);

/* ---- the sheets ---------------------------------------------------------------------------------------- */

rs_status rs_tl_add_timeline(rs_tl_rank *r, rs_sheets *out, rs_error *err); /* sets r->total */
rs_status rs_tl_add_operators(rs_tl_rank *r, rs_sheets *out, rs_error *err);
rs_status rs_tl_add_kernels(rs_tl_rank *r, rs_sheets *out, rs_error *err);
rs_status rs_tl_add_collectives(rs_tl_rank *r, rs_sheets *out, rs_error *err);
