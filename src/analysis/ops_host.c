#include "analysis/ops_host.h"

#include "base/try.h"
#include "match/collective_names.h"
#include "trace/selection.h"

#define HOST_ROW(CELL)                                                                                          \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                   \
    CELL(TEXT_ID(rs_host_op, name), "name", TEXT, NONE, "operator or annotation of the host", NULL)             \
    CELL(OF(rs_host_op, count), "count", INT, COUNT, "how often it ran", NULL)                                  \
    CELL(                                                                                                       \
        OF(rs_host_op, total), "total_us", TIME, US,                                                            \
        "its durations added up; a call in one of its own name counts in both, unless that calls nothing else", \
        "total")                                                                                                \
    CELL(OF(rs_host_op, self), "self_us", TIME, US,                                                             \
         "of that, outside the operators and annotations that it called on its thread", "self")
RS_RECORD(host, HOST_ROW);
const rs_plan_table rs_host_ops_table = {
    RS_PLAN_TABLE("host", "one row is one name of one rank, by its own time", host), .relation = RS_OPS_HOST,
    .top = "top", .choice = RS_WITH(RS_IS_SET("host"))};

const rs_layout rs_host_ops_layout = RS_RECORD_LAYOUT(rs_host_op, host);
const rs_order rs_host_ops_order[3] = {RS_FALLING(rs_host_op, self), RS_FALLING(rs_host_op, total),
                                       RS_RISING_TEXT(rs_host_op, name)};

/* ---- calls and their own time ------------------------------------------------------------------------- */

typedef struct call {
    int64_t start, end, self;
    uint32_t row, thread;
    uint32_t caller, n_called; /* caller: its index, RS_NO_ROW: none */
    bool apart; /* communication that a worker runs: it calls nothing and is called by nothing */
    bool again; /* the only call of one of its own name, and one with it */
} call;

static bool collect(const rs_trace *t, rs_relation *calls)
{
    const rs_events *e = t->events;
    for (size_t i = 0; i < t->n_rows; i++) {
        uint32_t row = rs_trace_row(t, i);
        rs_kind kind = rs_event_kind(e, row);
        if (kind != RS_KIND_CPU_OP && kind != RS_KIND_USER_ANNOTATION) continue;
        if (!rs_event_is_span(e, row) || e->duration[row] < 0) continue;
        call c = {.start = e->start[row],
                  .end = rs_add_sat(e->start[row], e->duration[row]),
                  .self = e->duration[row],
                  .row = row,
                  .thread = e->thread[row],
                  .caller = RS_NO_ROW,
                  .apart = kind == RS_KIND_USER_ANNOTATION && rs_coll_is_host_span(rs_event_name(e, row))};
        if (!rs_relation_add(calls, &c)) return false;
    }
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

/* Adds up by name; a name is a string id of the trace until then. */
static bool add_up(const rs_selector *selector, const call *calls, size_t n, rs_relations *out, unsigned at)
{
    const rs_events *e = selector->e;
    rs_host_op *sums = RS_ROOM(out, rs_host_op, e->strings.n);
    for (size_t i = 0; sums && i < n; i++) {
        if (calls[i].again || !rs_selects_row(selector, calls[i].row)) continue;
        rs_host_op *sum = &sums[e->name[calls[i].row]];
        sum->count++;
        sum->total = rs_add_sat(sum->total, calls[i].end - calls[i].start);
        sum->self = rs_add_sat(sum->self, calls[i].self);
    }
    for (uint32_t id = 0; sums && id < e->strings.n; id++) {
        sums[id].name = sums[id].count ? rs_put_text(out, id) : RS_NO_STRING;
        if (sums[id].count) rs_put(out, at, &sums[id]);
    }
    return sums != NULL;
}

rs_status rs_host_ops_put(rs_trace *trace, rs_relations *out, unsigned at, rs_error *err)
{
    static const rs_order by_thread[] = {RS_RISING(call, thread), RS_RISING(call, start),
                                         RS_FALLING(call, end), RS_RISING(call, row)};
    rs_relation calls = {.size = sizeof(call)};
    rs_selector selector;
    RS_TRY(rs_trace_selector(trace, &selector, err));
    selector.e = trace->events;
    bool ok = collect(trace, &calls);
    RS_SORT((call *)calls.rows, calls.n, by_thread);
    uint32_t *open = ok ? RS_ROOM(out, uint32_t, calls.n) : NULL;
    if (open) {
        take_from_callers(calls.rows, calls.n, open);
        join_repeated(trace->events, calls.rows, calls.n);
        ok = add_up(&selector, calls.rows, calls.n, out, at);
    }
    rs_relation_clear(&calls);
    return ok && open ? RS_OK : rs_fail_nomem(err, "host operators");
}
