/* delays: how long operators take to launch their first kernel, and kernels to start once launched. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/layouts.h"
#include "base/interval.h"
#include "base/memory.h"
#include "base/stats.h"
#include "trace/launch_ops.h"

static const rs_option_spec options[] = {
    {"by", RS_OPTION_CHOICE, "WHAT", "operator|sequence", "operator",
     "operator: one row a name; sequence: one row a name and the kernels it launched, in order"},
    {"top", RS_OPTION_INT, "N", NULL, NULL, "only the N rows of a rank with the most operators"},
};

typedef struct delay_row {
    const char *name, *sequence; /* in the partial's arena */
    uint32_t op;                 /* string id, while the trace is there */
    uint64_t key;                /* of the sequence */
    uint64_t check;              /* a second one, so that a chance meeting of keys needs both */
    int64_t executions, launches, kernels;
    rs_moments op_delay, launch_delay, queued; /* ns */
} delay_row;

#define DELAY_CELLS(CELL)                                                                                    \
    CELL(MEAN(delay_row, op_delay), "mean_op_delay_us", REAL, US,                                            \
         "from the operator's start to its first launch call, mean", "op to launch")                         \
    CELL(OF(delay_row, op_delay.max), "max_op_delay_us", TIME, US, "longest of these", "max")                \
    CELL(MEAN(delay_row, launch_delay), "mean_launch_delay_us", REAL, US,                                    \
         "from a launch call's start to the start of its first kernel, mean over the calls",                 \
         "launch to start")                                                                                  \
    CELL(OF(delay_row, launch_delay.max), "max_launch_delay_us", TIME, US, "longest of these", "max")        \
    CELL(MEAN(delay_row, queued), "mean_queued_us", REAL, US,                                                \
         "of that, after the call had returned: waiting in the stream, mean", "queued")

#define OPERATOR_ROW(CELL)                                                                                   \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(OF(delay_row, name), "name", TEXT, NONE, "operator: the innermost around the launch on its thread", \
         "operator")                                                                                         \
    CELL(OF(delay_row, executions), "operators", INT, COUNT,                                                 \
         "executions that launched something themselves", "executions")                                      \
    CELL(OF(delay_row, launches), "launches", INT, COUNT, "launch calls", NULL)                              \
    CELL(OF(delay_row, kernels), "kernels", INT, COUNT, "GPU work they launched; a graph launch has many",   \
         "GPU events")                                                                                       \
    DELAY_CELLS(CELL)
RS_RECORD(operator, OPERATOR_ROW);

#define SEQUENCE_ROW(CELL)                                                                                   \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(OF(delay_row, name), "aten_op_name", TEXT, NONE, "operator", "operator")                            \
    CELL(MAYBE(delay_row, sequence), "kernel_sequence", TEXT, NONE,                                          \
         "the GPU work one execution launched, in order of launch", "launches")                              \
    CELL(OF(delay_row, executions), "occurrence_count", INT, COUNT, "executions", "executions")              \
    DELAY_CELLS(CELL)
RS_RECORD(sequence, SEQUENCE_ROW);

static const rs_table_spec operator_table =
    RS_TABLE("delays", "one row is one operator name of one rank", operator_columns);
static const rs_table_spec sequence_table =
    RS_TABLE("sequences", "one row is one operator name and what it launched, of one rank", sequence_columns);
static const rs_table_spec *const tables[] = {&operator_table, &sequence_table};
static const rs_table_set sets[] = {{RS_COMPAT_NONE, tables, 2}};
enum { OPERATORS, SEQUENCES };

/* Longer sequences are told apart in full, but written down to this many names. */
#define SHOWN_NAMES 24

/* ---- one rank ------------------------------------------------------------------------------------------ */

typedef struct row_list {
    delay_row *items;
    size_t n, capacity;
    rs_map64 places;
} row_list;

typedef struct delays_partial {
    rs_arena names;
    row_list lists[2];
    size_t n_work, n_unlinked, n_outside;
} delays_partial;

static void free_partial(void *partial)
{
    delays_partial *p = partial;
    if (!p) return;
    for (int i = 0; i < 2; i++) {
        rs_free(p->lists[i].items);
        rs_map64_clear(&p->lists[i].places);
    }
    rs_arena_clear(&p->names);
    rs_free(p);
}

/* One execution of an operator: its calls (indexes into links), by their start. */
typedef struct execution {
    uint32_t op_row;
    const uint32_t *calls;
    size_t n;
} execution;

typedef struct maker {
    const rs_events *e;
    const rs_links *links;
    const uint8_t *selected; /* calls whose work is asked for (--steps) */
    delays_partial *p;
} maker;

/* A call's work by start. */
static const uint32_t *work_of(const rs_links *links, uint32_t call, size_t *n)
{
    *n = links->first[call + 1] - links->first[call];
    return links->work_row + links->first[call];
}

static char *write_sequence(const maker *m, const execution *x)
{
    size_t length = 64, shown = 0, all = 0, used = 0;
    for (int pass = 0; pass < 2; pass++) {
        char *out = pass ? rs_arena_alloc(&m->p->names, length) : NULL;
        if (pass && !out) return NULL;
        all = shown = 0;
        for (size_t i = 0; i < x->n; i++) {
            size_t n;
            const uint32_t *work = work_of(m->links, x->calls[i], &n);
            for (size_t k = 0; k < n; k++, all++) {
                if (all >= SHOWN_NAMES) continue;
                const rs_string *s = &m->e->strings.items[m->e->name[work[k]]];
                if (pass) {
                    if (shown) {
                        memcpy(out + used, " -> ", 4);
                        used += 4;
                    }
                    memcpy(out + used, s->text, s->length);
                    used += s->length;
                } else {
                    length += s->length + 4;
                }
                shown++;
            }
        }
        if (!pass) continue;
        if (all > shown)
            snprintf(out + used, 64, " -> (%zu more)", all - shown);
        else
            out[used] = '\0';
        return out;
    }
    return NULL;
}

static delay_row *find_row(row_list *list, uint64_t key, uint64_t check, uint32_t op, bool *is_new)
{
    for (;; key = rs_hash_u64(key)) {
        uint32_t *place = rs_map64_put(&list->places, key, is_new);
        if (!place) return NULL;
        if (*is_new) {
            if (!RS_GROW_ONE(list->items, list->n, list->capacity)) return NULL;
            *place = (uint32_t)list->n;
            list->items[list->n] = (delay_row){.op = op, .key = key, .check = check};
            return &list->items[list->n++];
        }
        delay_row *row = &list->items[*place];
        if (row->op == op && row->check == check) return row;
    }
}

static void add_execution(const maker *m, const execution *x, delay_row *row)
{
    const rs_events *e = m->e;
    row->executions++;
    rs_moments_add(&row->op_delay, rs_sub_sat(e->start[m->links->call[x->calls[0]]], e->start[x->op_row]));
    for (size_t i = 0; i < x->n; i++) {
        size_t n;
        const uint32_t *work = work_of(m->links, x->calls[i], &n);
        uint32_t call = m->links->call[x->calls[i]];
        int64_t queued = rs_sub_sat(e->start[work[0]], rs_event_end(e, call));
        row->launches++;
        row->kernels += (int64_t)n;
        rs_moments_add(&row->launch_delay, rs_sub_sat(e->start[work[0]], e->start[call]));
        rs_moments_add(&row->queued, queued > 0 ? queued : 0);
    }
}

static bool take_execution(const maker *m, const execution *x)
{
    const rs_events *e = m->e;
    uint32_t op = e->name[x->op_row];
    uint64_t key = rs_hash_u64(op), check = 1469598103934665603u;
    for (size_t i = 0; i < x->n; i++) {
        size_t n;
        const uint32_t *work = work_of(m->links, x->calls[i], &n);
        for (size_t k = 0; k < n; k++) {
            key = rs_hash_u64(key ^ e->name[work[k]]);
            check = (check ^ e->name[work[k]]) * 1099511628211u;
        }
    }
    bool is_new;
    delay_row *row = find_row(&m->p->lists[OPERATORS], rs_hash_u64(op), 0, op, &is_new);
    if (!row) return false;
    if (is_new) {
        const rs_string *s = &e->strings.items[op];
        row->name = rs_arena_strndup(&m->p->names, s->text, s->length);
        if (!row->name) return false;
    }
    const char *name = row->name;
    add_execution(m, x, row);
    row = find_row(&m->p->lists[SEQUENCES], key, check, op, &is_new);
    if (!row) return false;
    if (is_new) {
        row->name = name;
        row->sequence = write_sequence(m, x);
        if (!row->sequence) return false;
    }
    add_execution(m, x, row);
    return true;
}

/* Calls by operator and start. */
static bool take_all(const maker *m, const uint32_t *op_of_call)
{
    const rs_links *links = m->links;
    rs_keyed *order = rs_malloc((links->n_calls + 1) * sizeof *order);
    uint32_t *calls = rs_malloc((links->n_calls + 1) * sizeof *calls);
    size_t n = 0;
    bool ok = order && calls;
    for (uint32_t c = 0; ok && c < links->n_calls; c++) {
        if (!m->selected[c]) continue;
        if (op_of_call[c] == RS_NO_ROW)
            m->p->n_outside += links->first[c + 1] - links->first[c];
        else
            order[n++] = (rs_keyed){m->e->start[links->call[c]], c};
    }
    ok = ok && rs_keyed_sort(order, n);
    for (size_t i = 0; ok && i < n; i++) order[i].key = op_of_call[order[i].value];
    ok = ok && rs_keyed_sort(order, n);
    for (size_t i = 0; ok && i < n; i++) calls[i] = order[i].value;
    for (size_t from = 0, to; ok && from < n; from = to) {
        for (to = from; to < n && order[to].key == order[from].key;) to++;
        execution x = {.op_row = (uint32_t)order[from].key, .calls = calls + from, .n = to - from};
        ok = take_execution(m, &x);
    }
    rs_free(order);
    rs_free(calls);
    return ok;
}

/* The calls that launched selected work. */
static uint8_t *select_calls(const rs_work *w, const rs_links *links)
{
    uint8_t *selected = rs_calloc(links->n_calls + 1, 1);
    for (size_t i = 0; selected && i < w->n; i++) {
        size_t low = 0, high = links->n_calls;
        if (w->launch[i] == RS_NO_ROW) continue;
        while (low < high) {
            size_t mid = low + (high - low) / 2;
            if (links->call[mid] < w->launch[i])
                low = mid + 1;
            else
                high = mid;
        }
        if (low < links->n_calls) selected[low] = 1;
    }
    return selected;
}

/* Most executions first, then names. */
static int compare_rows(const void *a, const void *b)
{
    const delay_row *x = a, *y = b;
    if (x->executions != y->executions) return x->executions > y->executions ? -1 : 1;
    int c = strcmp(x->name, y->name);
    if (c || !x->sequence || !y->sequence) return c;
    c = strcmp(x->sequence, y->sequence);
    if (c) return c;
    if (x->kernels != y->kernels) return x->kernels > y->kernels ? -1 : 1;
    if (x->op_delay.sum != y->op_delay.sum) return x->op_delay.sum > y->op_delay.sum ? -1 : 1;
    if (x->launch_delay.sum != y->launch_delay.sum) return x->launch_delay.sum > y->launch_delay.sum ? -1 : 1;
    if (x->op_delay.max != y->op_delay.max) return x->op_delay.max > y->op_delay.max ? -1 : 1;
    return x->launch_delay.max > y->launch_delay.max ? -1 : x->launch_delay.max < y->launch_delay.max;
}

static rs_status rank(const rs_run *run, rs_trace *t, void **partial, rs_error *err)
{
    const rs_work *work;
    const rs_links *links;
    uint32_t *op_of_call = NULL;
    uint8_t *selected = NULL;
    delays_partial *p = rs_calloc(1, sizeof *p);
    if (!p) return rs_fail_nomem(err, "delays");
    *partial = p;
    rs_status status = rs_trace_work(t, run->policy, &work, err);
    if (status == RS_OK) status = rs_trace_links(t, &links, err);
    if (status == RS_OK) status = rs_launch_ops(t, links, &op_of_call, err);
    if (status == RS_OK) {
        selected = select_calls(work, links);
        maker m = {.e = t->events, .links = links, .selected = selected, .p = p};
        p->n_work = work->n;
        p->n_unlinked = work->n_unlinked;
        if (!selected || !take_all(&m, op_of_call)) status = rs_fail_nomem(err, "delays");
    }
    for (int i = 0; status == RS_OK && i < 2; i++)
        if (p->lists[i].n) qsort(p->lists[i].items, p->lists[i].n, sizeof(delay_row), compare_rows);
    rs_free(op_of_call);
    rs_free(selected);
    return status;
}

/* ---- tables -------------------------------------------------------------------------------------------- */

static rs_status merge(const rs_run *run, rs_partial *partials, size_t n, rs_result *result, rs_error *err)
{
    bool limited = rs_options_is_set(run->options, "top");
    int64_t top = rs_options_int(run->options, "top");
    result->main_table = strcmp(rs_options_text(run->options, "by"), "sequence") == 0 ? SEQUENCES : OPERATORS;
    rs_status status = RS_OK;
    for (size_t i = 0; i < n; i++) {
        const delays_partial *p = partials[i].value;
        long long number = partials[i].rank;
        for (int k = 0; k < 2; k++)
            for (size_t r = 0; status == RS_OK && r < p->lists[k].n && (!limited || (int64_t)r < top); r++)
                status =
                    rs_table_put_row(result->tables[k], k == SEQUENCES ? &sequence_record : &operator_record,
                                     number, &p->lists[k].items[r], err);
        if (p->n_work == 0)
            rs_result_note(result, "rank %lld: no GPU work", number);
        else if (p->lists[OPERATORS].n == 0)
            rs_result_note(result, "rank %lld: no operator launched GPU work%s", number,
                           p->n_unlinked == p->n_work ? ": no launches are in the file" : "");
        if (p->n_outside && p->lists[OPERATORS].n)
            rs_result_note(result,
                           "rank %lld: %zu of %zu pieces of GPU work were launched outside any operator",
                           number, p->n_outside, p->n_work);
    }
    return status;
}

/* ---- what travels ------------------------------------------------------------------------------------- */

static const rs_field row_fields[] = {
    RS_FIELD(delay_row, name),
    RS_FIELD_OR_NULL(delay_row, sequence),
    RS_FIELD(delay_row, executions),
    RS_FIELD(delay_row, launches),
    RS_FIELD(delay_row, kernels),
    RS_FIELD_STRUCT(delay_row, op_delay, &rs_moments_layout),
    RS_FIELD_STRUCT(delay_row, launch_delay, &rs_moments_layout),
    RS_FIELD_STRUCT(delay_row, queued, &rs_moments_layout),
};
static const rs_layout row_layout = RS_LAYOUT(delay_row, row_fields);

static const rs_field list_fields[] = {
    RS_FIELD_LIST(row_list, items, n, &row_layout),
};
static const rs_layout list_layout = RS_LAYOUT(row_list, list_fields);

static const rs_field delays_fields[] = {
    RS_FIELD_STRUCTS(delays_partial, lists, &list_layout),
    RS_FIELD(delays_partial, n_work),
    RS_FIELD(delays_partial, n_unlinked),
    RS_FIELD(delays_partial, n_outside),
};
static const rs_layout delays_layout = RS_LAYOUT(delays_partial, delays_fields);

const rs_analysis rs_analysis_delays = {
    .name = "delays",
    .help = "How long operators take to launch their kernels, and kernels to start",
    .about = "Every launch belongs to the innermost operator around it on its own thread. Its delay has two "
             "parts: "
             "from the operator's start to its first launch call (host work: dispatch, shape checks, "
             "allocation), and "
             "from each launch call's start to the start of the kernel (the call itself and, once it has "
             "returned, "
             "waiting in the stream). An operator may launch several kernels; a graph launch counts once, "
             "with the "
             "first kernel it starts.",
    .examples = "rankscope delays trace.json.gz\nrankscope delays --by sequence --top 20 trace.json.gz",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .facets = {&rs_facet_work, &rs_facet_links},
    .table_sets = sets,
    .n_table_sets = sizeof sets / sizeof *sets,
    .follows = RS_FOLLOWS_ALL,
    .rank = rank,
    .merge = merge,
    .free_partial = free_partial,
    .partial_layout = &delays_layout,
};
