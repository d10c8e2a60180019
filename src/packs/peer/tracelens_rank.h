/* One rank as TraceLens sees it: which work is linked, which operators launch it, under which names. Shared by
 * the files that make its sheets. */
#ifndef RS_PEER_TRACELENS_RANK_H
#define RS_PEER_TRACELENS_RANK_H

#include "base/interval.h"
#include "peer/python_text.h"
#include "peer/tracelens.h"
#include "trace/recompute.h"
#include "trace/tree.h"

/* An operator, or a call without one, and the work that it launched itself, without communication. */
typedef struct rs_tl_launcher {
    uint32_t node;
    uint32_t first, n;      /* in own_work */
    double direct, subtree; /* unions, us */
    const char *category;   /* static text */
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
    uint32_t *own_work;                 /* rows, by launcher, then by start, then by row */
    uint32_t *launcher_of;              /* by node: index + 1 of its launcher; 0: it is none */
    rs_pool pool;                       /* texts of cells */
    uint32_t *process, *label, *thread; /* by thread: string ids of the names that the file gives */
    int64_t total;                      /* first start to last end of linked work, ns */
} rs_tl_rank;

rs_status rs_tl_rank_make(rs_trace *trace, const rs_tracelens_options *options, rs_tl_rank *out,
                          rs_error *err);
void rs_tl_rank_clear(rs_tl_rank *r);

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
/* The sheet's table: with the column is_recompute as the one at that place where it is asked for. */
rs_table *rs_tl_create_sheet(const rs_tl_rank *r, const rs_table_spec *spec, size_t at);
/* The cell of that column. */
void rs_tl_add_recompute(const rs_tl_rank *r, uint32_t node, rs_table *t);

/* The names of process and thread, "Unknown" where the file gives none. */
const char *rs_tl_process(const rs_tl_rank *r, uint32_t row);
const char *rs_tl_label(const rs_tl_rank *r, uint32_t row);
const char *rs_tl_thread(const rs_tl_rank *r, uint32_t row);

/* An argument of an event as Python text with tuples; NULL: not recorded. */
const char *rs_tl_tuple(rs_tl_rank *r, rs_column_id column, uint32_t row, bool *ok);

/* ---- numbers of a group -------------------------------------------------------------------------------- */

/* Statistics as pandas has them: NaN values are skipped, the deviation is that of a sample. */
typedef struct rs_tl_stats {
    size_t n;
    double sum, mean, median, std, min, max; /* NaN: unknown */
} rs_tl_stats;

rs_tl_stats rs_tl_stats_of(double *values, size_t n);   /* reorders the values */
double rs_tl_numpy_sum(const double *values, size_t n); /* rounded where numpy's rounds */

/* Items put into groups: the numbers of the items, group after group, in the order of the items. */
typedef struct rs_tl_groups {
    size_t n;
    uint32_t *first; /* n + 1 places in item */
    uint32_t *item;
} rs_tl_groups;

/* Items of equal keys make a group; groups are in order of their first items. A key is size bytes at
 * keys + i * size. RS_NO_STRING in `skip` leaves none out; otherwise an item is left out where skip[i] is
 * true. False when out of memory. */
bool rs_tl_group(const void *keys, size_t size, const bool *skip, size_t n, rs_tl_groups *out);
void rs_tl_groups_clear(rs_tl_groups *groups);
/* The groups in falling order of their sums, then of the given ids, rising (NULL: as they stand). */
bool rs_tl_order(const double *sums, const uint32_t *ids, size_t n, uint32_t **out);

/* "[{'name': ..., 'stream': 7, 'count': 3, 'total_duration_us': ..., ...}]": statistics of the work at each
 * place over the calls, of those calls that have as many pieces as the first, in rising order of the mean;
 * truncated: names and means only, names cut. list(context, call, &rows) hands out the work of a call. */
typedef size_t (*rs_tl_list_fn)(const void *context, size_t call, const uint32_t **rows);
void rs_tl_put_kernels(const rs_tl_rank *r, const void *context, rs_tl_list_fn list, const uint32_t *calls,
                       size_t n_calls, bool truncated, rs_python_text *out);

/* ---- the sheets ---------------------------------------------------------------------------------------- */

rs_status rs_tl_add_timeline(rs_tl_rank *r, rs_sheets *out, rs_error *err); /* sets r->total */
rs_status rs_tl_add_operators(rs_tl_rank *r, rs_sheets *out, rs_error *err);
rs_status rs_tl_add_kernels(rs_tl_rank *r, rs_sheets *out, rs_error *err);
rs_status rs_tl_add_collectives(rs_tl_rank *r, rs_sheets *out, rs_error *err);

#endif
