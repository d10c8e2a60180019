#include "analysis/ops_host.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/layouts.h"
#include "base/interval.h"
#include "base/memory.h"
#include "match/collective_names.h"
#include "trace/selection.h"

#define HOST_ROW(CELL)                                                                                          \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                   \
    CELL(OF(rs_host_op, name), "name", TEXT, NONE, "operator or annotation of the host", NULL)                  \
    CELL(OF(rs_host_op, count), "count", INT, COUNT, "how often it ran", NULL)                                  \
    CELL(                                                                                                       \
        OF(rs_host_op, total), "total_us", TIME, US,                                                            \
        "its durations added up; a call in one of its own name counts in both, unless that calls nothing else", \
        "total")                                                                                                \
    CELL(OF(rs_host_op, self), "self_us", TIME, US,                                                             \
         "of that, outside the operators and annotations that it called on its thread", "self")
RS_RECORD(host, HOST_ROW);

const rs_table_spec rs_host_ops_table =
    RS_TABLE("host", "one row is one name of one rank, by its own time", host_columns);

static const rs_field host_fields[] = {
    RS_FIELD(rs_host_op, name),
    RS_FIELD(rs_host_op, count),
    RS_FIELD(rs_host_op, total),
    RS_FIELD(rs_host_op, self),
};
static const rs_layout host_layout = RS_LAYOUT(rs_host_op, host_fields);
static const rs_field list_fields[] = {RS_FIELD_LIST(rs_host_ops, items, n, &host_layout)};
const rs_layout rs_host_ops_layout = RS_LAYOUT(rs_host_ops, list_fields);

void rs_host_ops_clear(rs_host_ops *ops)
{
    for (size_t i = 0; i < ops->n; i++) rs_free(ops->items[i].name);
    rs_free(ops->items);
    *ops = (rs_host_ops){0};
}

/* ---- calls and their own time ------------------------------------------------------------------------- */

typedef struct call {
    int64_t start, end, self;
    uint32_t row, thread;
    uint32_t caller, n_called; /* caller: its index, RS_NO_ROW: none */
    bool apart; /* communication that a worker runs: it calls nothing and is called by nothing */
    bool again; /* the only call of one of its own name, and one with it */
} call;

/* By thread, then start, then the longer one, then place in the file. */
static int by_thread(const void *a, const void *b)
{
    const call *x = a, *y = b;
    if (x->thread != y->thread) return x->thread < y->thread ? -1 : 1;
    if (x->start != y->start) return x->start < y->start ? -1 : 1;
    if (x->end != y->end) return x->end > y->end ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

static bool collect(const rs_trace *t, call **out, size_t *n)
{
    const rs_events *e = t->events;
    call *calls = NULL;
    size_t capacity = 0;
    *n = 0;
    *out = NULL;
    for (size_t i = 0; i < t->n_rows; i++) {
        uint32_t row = rs_trace_row(t, i);
        rs_kind kind = rs_event_kind(e, row);
        if (kind != RS_KIND_CPU_OP && kind != RS_KIND_USER_ANNOTATION) continue;
        if (!rs_event_is_span(e, row) || e->duration[row] < 0) continue;
        if (!RS_GROW_ONE(calls, *n, capacity)) {
            rs_free(calls);
            return false;
        }
        calls[(*n)++] =
            (call){.start = e->start[row],
                   .end = rs_add_sat(e->start[row], e->duration[row]),
                   .self = e->duration[row],
                   .row = row,
                   .thread = e->thread[row],
                   .caller = RS_NO_ROW,
                   .apart = kind == RS_KIND_USER_ANNOTATION && rs_coll_is_host_span(rs_event_name(e, row))};
    }
    *out = calls;
    return true;
}

/* Takes every call's time from the innermost one that holds it whole, as torch's key_averages() does: one
 * that outlasts the call it began in is no part of it. calls: by_thread; open: room for all of them. */
static void take_from_callers(call *calls, size_t n, uint32_t *open)
{
    size_t depth = 0;
    for (size_t i = 0; i < n; i++) {
        call *c = &calls[i];
        if (c->apart) continue;
        if (depth && calls[open[depth - 1]].thread != c->thread) depth = 0;
        while (depth && (c->start >= calls[open[depth - 1]].end || c->end > calls[open[depth - 1]].end))
            depth--;
        if (depth) {
            call *caller = &calls[open[depth - 1]];
            caller->self = rs_sub_sat(caller->self, c->end - c->start);
            caller->n_called++;
            c->caller = open[depth - 1];
        }
        open[depth++] = (uint32_t)i;
    }
}

/* An operator that does nothing but call itself is one, as in key_averages(): a dispatcher in between (DTensor, an
 * overload) makes two events of one call. Callers stand before what they call. Two that begin at one time may be
 * neighbours on a clock of microseconds. */
static void join_repeated(const rs_events *e, call *calls, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        call *c = &calls[i];
        if (c->caller == RS_NO_ROW) continue;
        if (calls[c->caller].again) c->caller = calls[c->caller].caller;
        call *caller = &calls[c->caller];
        if (caller->n_called != 1 || e->name[caller->row] != e->name[c->row] || c->start == caller->start)
            continue;
        c->again = true;
        caller->self = rs_add_sat(caller->self, c->self);
        caller->n_called = c->n_called;
        c->self = 0;
    }
}

/* ---- names -------------------------------------------------------------------------------------------- */

static int by_self(const void *a, const void *b)
{
    const rs_host_op *x = a, *y = b;
    if (x->self != y->self) return x->self > y->self ? -1 : 1;
    if (x->total != y->total) return x->total > y->total ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* Adds up by name; a name is a string id until then. */
static bool add_up(const rs_selector *selector, const call *calls, size_t n, rs_host_ops *out)
{
    const rs_events *e = selector->e;
    rs_host_op *sums = rs_calloc(e->strings.n + 1, sizeof *sums);
    size_t n_names = 0;
    bool ok = sums != NULL;
    for (size_t i = 0; ok && i < n; i++) {
        if (calls[i].again || !rs_selects_row(selector, calls[i].row)) continue;
        rs_host_op *sum = &sums[e->name[calls[i].row]];
        n_names += sum->count++ == 0;
        sum->total = rs_add_sat(sum->total, calls[i].end - calls[i].start);
        sum->self = rs_add_sat(sum->self, calls[i].self);
    }
    out->items = ok ? rs_malloc((n_names + 1) * sizeof *out->items) : NULL;
    ok = out->items != NULL;
    for (size_t id = 0; ok && id < e->strings.n; id++) {
        if (!sums[id].count) continue;
        sums[id].name = rs_strndup(e->strings.items[id].text, e->strings.items[id].length);
        ok = sums[id].name != NULL;
        if (ok) out->items[out->n++] = sums[id];
    }
    rs_free(sums);
    if (ok && out->n) qsort(out->items, out->n, sizeof *out->items, by_self);
    return ok;
}

rs_status rs_host_ops_of(rs_trace *trace, rs_host_ops *out, rs_error *err)
{
    call *calls = NULL;
    size_t n = 0;
    rs_selector selector;
    rs_status status = rs_trace_selector(trace, &selector, err);
    if (status != RS_OK) return status;
    selector.e = trace->events;
    bool ok = collect(trace, &calls, &n);
    uint32_t *open = ok ? rs_malloc((n + 1) * sizeof *open) : NULL;
    if (open) {
        if (n) qsort(calls, n, sizeof *calls, by_thread);
        take_from_callers(calls, n, open);
        join_repeated(trace->events, calls, n);
        ok = add_up(&selector, calls, n, out);
    }
    ok = ok && open;
    rs_free(open);
    rs_free(calls);
    return ok ? RS_OK : rs_fail_nomem(err, "host operators");
}

rs_status rs_host_ops_add(const rs_host_ops *ops, int64_t rank, size_t top, rs_table *table, rs_error *err)
{
    rs_status status = RS_OK;
    for (size_t i = 0; status == RS_OK && i < ops->n && (top == 0 || i < top); i++)
        status = rs_table_put_row(table, &host_record, rank, &ops->items[i], err);
    return status;
}
