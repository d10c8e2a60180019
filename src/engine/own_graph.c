/* The event graph by the program's own rules.
 *
 * Every node has one predecessor that really held it up; that edge weighs the time between them, all others
 * weigh the least that their kind takes. So each node's longest distance from the window's start is its own
 * time, the longest path to the window's end is the chain of causes behind it, and a replay with the same
 * weights gives the same trace again. What held work up, of its launch, the work before it and what it waits
 * for, is the one that left it the least time beyond what its kind usually takes. */
#include <string.h>

#include "base/interval.h"
#include "base/try.h"
#include "engine/own_graph.h"
#include "match/collective_ops.h"
#include "trace/step_name.h"
#include "trace/calls.h"
#include "trace/selection.h"

/* ---- the window and its items ------------------------------------------------------------------------ */

static bool is_host(rs_kind kind)
{
    return kind == RS_KIND_CPU_OP || rs_kind_is_call(kind);
}

/* The window of steps without annotations; nothing where there are none. */
static rs_status find_steps(rs_own *b, const rs_path_window *w, size_t *n_instances, rs_error *err)
{
    const rs_step *steps;
    rs_selector selector;
    size_t n, at = 0;
    rs_status status = rs_trace_steps(b->trace, &steps, &n, err);
    if (status == RS_OK) status = rs_trace_selector(b->trace, &selector, err);
    for (size_t i = 0; status == RS_OK && i < n; i++) {
        bool again = i > 0 && steps[i].number == steps[i - 1].number; /* as another process shows it */
        if (again || !rs_selects_step(&selector, &steps[i])) continue;
        if ((int64_t)at == w->first) {
            b->start = steps[i].start;
            b->thread = b->e->thread[steps[i].row];
        }
        if ((int64_t)at >= w->first && (int64_t)at <= w->last) b->end = steps[i].end;
        at++;
    }
    if (w->first > w->last || (uint64_t)w->last >= at) b->start = b->end = RS_NO_TIME;
    *n_instances = at;
    return status;
}

/* Instances by start, then row, among the selected host events of that name; if it names none, among all
 * selected events. */
static rs_status find_window(rs_own *b, const rs_path_window *w, size_t *n_instances, rs_error *err)
{
    const rs_events *e = b->e;
    if (w->annotation[0] == '\0') {
        rs_status status = w->whole ? rs_trace_span(b->trace, &b->start, &b->end, err)
                                    : rs_trace_selected_span(b->trace, &b->start, &b->end, err);
        *n_instances = b->start != RS_NO_TIME;
        return status;
    }
    uint8_t *named = rs_names_containing(&e->strings, w->annotation);
    rs_keyed *found = NULL;
    size_t n = 0, capacity = 0;
    bool ok = named != NULL;
    for (int any = 0; ok && any < 2 && n == 0; any++) {
        rs_row_test test;
        rs_status status = rs_row_test_begin(b->trace, &test, err);
        if (status != RS_OK) {
            rs_free(named);
            return status;
        }
        for (size_t i = 0; ok && i < b->trace->n_rows; i++) {
            uint32_t row = rs_trace_row(b->trace, i);
            rs_kind kind = rs_event_kind(e, row);
            if (!named[e->name[row]] || !rs_event_is_span(e, row)) continue;
            if (!any && !is_host(kind) && kind != RS_KIND_USER_ANNOTATION && kind != RS_KIND_PYTHON_FUNCTION)
                continue;
            if (!rs_row_test_next(&test, row)) continue;
            ok = RS_PUSH(found, n, capacity, (rs_keyed){e->start[row], row});
        }
    }
    ok = ok && rs_keyed_sort(found, n);
    *n_instances = n;
    if (ok && w->first >= 0 && w->first <= w->last && (uint64_t)w->last < n) {
        b->start = found[w->first].key;
        b->end = b->start;
        b->thread = e->thread[found[w->first].value];
        for (size_t i = (size_t)w->first; i <= (size_t)w->last; i++) {
            int64_t end = rs_event_end(e, found[i].value);
            if (end > b->end) b->end = end;
        }
    }
    rs_free_all(named, found);
    if (!ok) return rs_fail_nomem(err, "critical path");
    return n == 0 && w->or_steps ? find_steps(b, w, n_instances, err) : RS_OK;
}

static bool tell_names(rs_own *b)
{
    const rs_strings *s = &b->e->strings;
    b->role = rs_malloc(s->n + 1);
    if (!b->role) return false;
    for (size_t i = 0; i < s->n; i++) {
        const char *text = s->items[i].text;
        b->role[i] = rs_step_number(&s->items[i]) >= 0                               ? RS_OWN_STEP
                     : rs_coll_is_host_span(text)                                    ? RS_OWN_RUNS
                     : rs_coll_is_wait(text)                                         ? RS_OWN_AWAITS
                     : strncmp(text, "autograd::engine::evaluate_function", 35) == 0 ? RS_OWN_BACKWARD
                     : rs_call_flags(text) & RS_CALL_ALLOCATES                       ? RS_OWN_ALLOCATES
                                                                                     : RS_OWN_OTHER;
    }
    return true;
}

/* Loaders and communication are annotations; no other annotation is something that a thread does. PyTorch 1.8 and 1.9 write steps as
 * operators; they are annotations as well. */
static bool is_host_item(const rs_own *b, uint32_t row)
{
    const rs_events *e = b->e;
    rs_kind kind = rs_event_kind(e, row);
    if (kind == RS_KIND_CPU_OP && b->role[e->name[row]] == RS_OWN_STEP) return false;
    bool named = kind == RS_KIND_USER_ANNOTATION &&
                 (b->loads->named[e->name[row]] || b->role[e->name[row]] == RS_OWN_RUNS);
    return (is_host(kind) || named) && rs_event_is_span(e, row) && e->duration[row] >= 0;
}

/* What threads do over the whole trace: whether they launch, and whether they only ask. */
static bool tell_threads(rs_own *b)
{
    const rs_events *e = b->e;
    RS_LOCAL uint8_t *polls = rs_malloc(e->strings.n + 1); /* by string id */
    b->launches = rs_calloc(e->n_threads + 1, 1);
    b->polls = rs_calloc(e->n_threads + 1, 1);
    if (!polls || !b->launches || !b->polls) return false;
    for (size_t i = 0; i < e->strings.n; i++)
        polls[i] = (rs_call_flags(e->strings.items[i].text) & RS_CALL_POLLS) != 0;
    for (size_t i = 0; i < e->n_threads; i++) b->polls[i] = 1;
    for (size_t i = 0; i < b->w->n; i++)
        if (b->w->launch[i] != RS_NO_ROW) b->launches[e->thread[b->w->launch[i]]] = 1;
    for (size_t i = 0; i < b->trace->n_rows; i++) {
        uint32_t row = rs_trace_row(b->trace, i);
        if (is_host_item(b, row) && !(rs_kind_is_call(rs_event_kind(e, row)) && polls[e->name[row]]))
            b->polls[e->thread[row]] = 0;
    }
    return true;
}

/* The end of the last host event in the window, of the threads that launch GPU work if any does. */
static int64_t host_end_of(const rs_own *b)
{
    const rs_events *e = b->e;
    int64_t last = b->start;
    bool any = false;
    for (size_t i = 0; i < e->n_threads; i++) any |= b->launches[i];
    for (size_t i = 0; i < b->trace->n_rows; i++) {
        uint32_t row = rs_trace_row(b->trace, i), thread = e->thread[row];
        if (any ? !b->launches[thread] : b->polls[thread]) continue;
        if (!is_host_item(b, row) || e->start[row] >= b->end) continue;
        int64_t end = rs_event_end(e, row) < b->end ? rs_event_end(e, row) : b->end;
        if (end > last) last = end;
    }
    return last;
}

/* The window ends with the later of its annotation and the GPU work that was launched in it; the whole trace
 * with the last GPU work or the last event of a thread that gave the GPU work. A trace without GPU work ends
 * with its last event. */
static void close_window(rs_own *b)
{
    const rs_work *w = b->w;
    bool whole = b->thread == UINT32_MAX;
    int64_t limit = b->end;
    if (whole && w->n) b->end = host_end_of(b);
    b->host_end = b->end;
    b->last_work = RS_NO_ITEM;
    for (uint32_t i = 0; i < w->n; i++) {
        uint32_t launch = w->launch[i];
        int64_t when = launch == RS_NO_ROW ? w->start[i] : b->e->start[launch];
        if (launch == RS_NO_ROW && (!whole || w->end[i] > limit)) continue;
        if (when < b->start || when >= limit || w->end[i] <= b->end) continue;
        b->end = w->end[i];
        b->last_work = i;
    }
}

static bool is_item(const rs_own *b, uint32_t row)
{
    const rs_events *e = b->e;
    if (e->start[row] >= b->host_end || !is_host_item(b, row) || b->polls[e->thread[row]]) return false;
    return rs_event_end(e, row) > b->start;
}

static void put_item(rs_own *b, size_t item, uint32_t row, int64_t start, int64_t end)
{
    rs_path_graph *g = b->g;
    g->row[item] = row;
    g->start[item] = start > b->start ? start : b->start;
    g->end[item] = end > g->start[item] ? end : g->start[item];
    g->in_graph[item] = 1;
    b->work_of[item] = b->room[item] = RS_NO_ITEM;
    if (row != RS_NO_ROW) b->item_of[row] = (uint32_t)item;
}

static rs_status make_items(rs_own *b, rs_error *err)
{
    const rs_events *e = b->e;
    const rs_work *w = b->w;
    size_t n_host = 0, capacity = 0, n = 1, at = 1;
    uint32_t *host = NULL; /* rows */
    bool ok = true;
    for (size_t i = 0; ok && i < b->trace->n_rows; i++) {
        uint32_t row = rs_trace_row(b->trace, i);
        if (!is_item(b, row)) continue;
        ok = RS_PUSH(host, n_host, capacity, row);
    }
    n += n_host;
    for (size_t i = 0; i < w->n; i++) n += w->start[i] < b->end && w->end[i] > b->start;
    if (ok && n > RS_MAX_ITEMS) {
        rs_free(host);
        return rs_fail(err, RS_ERR_LIMIT, "too many events for a graph");
    }
    b->g = ok ? rs_path_graph_create(n) : NULL;
    b->item_of = rs_malloc(e->n * sizeof *b->item_of);
    b->work_of = rs_malloc(n * sizeof *b->work_of);
    b->room = rs_malloc(n * sizeof *b->room);
    b->async = rs_calloc(n, 1);
    if (!b->g || !b->item_of || !b->work_of || !b->room || !b->async) {
        rs_free(host);
        return rs_fail_nomem(err, "critical path");
    }
    memset(b->item_of, 0xff, e->n * sizeof *b->item_of);
    put_item(b, RS_OWN_WINDOW, RS_NO_ROW, b->start, b->end);
    for (size_t i = 0; i < n_host; i++)
        put_item(b, at++, host[i], e->start[host[i]], rs_event_end(e, host[i]));
    rs_free(host);
    for (size_t i = 0; i < w->n; i++) {
        if (w->start[i] >= b->end || w->end[i] <= b->start) continue;
        put_item(b, at, w->row[i], w->start[i], w->end[i]);
        b->work_of[at++] = (uint32_t)i;
    }
    for (size_t i = 0; i < w->n; i++) {
        uint32_t call = w->launch[i] == RS_NO_ROW ? RS_NO_ITEM : b->item_of[w->launch[i]];
        if (call != RS_NO_ITEM && b->causes->room[i] != RS_NO_ITEM) b->room[call] = b->causes->room[i];
    }
    b->g->n_nodes = 2 * n;
    return RS_OK;
}

/* ---- the GPU ----------------------------------------------------------------------------------------- */

/* The node of a cause, RS_NO_ITEM if it lies outside of the window. */
static uint32_t node_of(const rs_own *b, const rs_path_cause *c)
{
    uint32_t item = c->row == RS_NO_ROW ? RS_NO_ITEM : b->item_of[c->row];
    if (item == RS_NO_ITEM) return RS_NO_ITEM;
    return c->at_end ? rs_node_end(item) : rs_node_start(item);
}

/* A gap on one stream is charged to the work before it, every other wait to the work that waits. */
static uint32_t owner_of(const rs_own *b, const rs_path_cause *c, uint32_t item)
{
    return c->same_stream && b->item_of[c->row] != RS_NO_ITEM ? b->item_of[c->row] : item;
}

static bool add_work_edges(rs_own *b, uint32_t item)
{
    uint32_t node = rs_node_start(item), work = b->work_of[item];
    rs_path_cause c;
    if (!rs_own_bind(b, node, rs_node_end(item), RS_EDGE_OPERATOR, item)) return false;
    if (b->w->start[work] <= b->start) /* it runs when the window opens */
        return rs_own_bind(b, rs_node_start(RS_OWN_WINDOW), node, RS_EDGE_DEPENDENCY, item);
    size_t n = rs_causes_of_work(b->causes, work), which = rs_cause_of_work(b->causes, work, &c);
    uint32_t owner = c.row == RS_NO_ROW ? item : owner_of(b, &c, item), from = node_of(b, &c);
    if (from == RS_NO_ITEM) from = rs_node_start(RS_OWN_WINDOW);
    if (!rs_own_bind(b, from, node, c.type, owner)) return false;
    for (size_t k = 0; k < n; k++) {
        if (k == which || !rs_cause_at(b->causes, work, k, &c)) continue;
        uint32_t other = node_of(b, &c);
        if (other == RS_NO_ITEM || other == from) continue;
        if (!rs_own_follow(b, other, node, c.type, c.least, owner_of(b, &c, item))) return false;
    }
    return true;
}

/* ---- all of it --------------------------------------------------------------------------------------- */

static rs_status connect(rs_own *b, rs_error *err)
{
    b->g->n_edges = 0;
    bool ok = rs_own_add_host_edges(b);
    for (uint32_t i = 1; ok && i < b->g->n_items; i++)
        if (b->work_of[i] != RS_NO_ITEM) ok = add_work_edges(b, i);
    if (!ok) return rs_fail_nomem(err, "critical path");
    return b->no_path ? rs_path_graph_settle(b->g, err)
                      : rs_path_graph_solve(b->g, rs_node_end(RS_OWN_WINDOW), err);
}

static rs_status build(rs_own *b, rs_error *err)
{
    if (!tell_names(b) || !tell_threads(b)) return rs_fail_nomem(err, "critical path");
    bool any = false;
    for (size_t i = 0; i < b->e->strings.n; i++) any |= b->role[i] == RS_OWN_RUNS;
    if (any) RS_TRY(rs_coll_host_calls(b->trace, &b->calls, err));
    close_window(b);
    rs_status status = rs_trace_causes(b->trace, &b->causes, err);
    if (status == RS_OK) status = make_items(b, err);
    if (status != RS_OK) return status;
    status = connect(b, err);
    if (status == RS_ERR_FORMAT) { /* clocks that disagree can close a circle */
        b->strict = true;
        status = connect(b, err);
    }
    return status;
}

static rs_status open_own(rs_trace *trace, const rs_policy *policy, const rs_path_window *window,
                          const rs_sync_edges *sync, bool no_path, rs_own *b, size_t *n_instances,
                          rs_error *err)
{
    *b = (rs_own){.trace = trace,
                  .e = trace->events,
                  .sync = sync,
                  .thread = UINT32_MAX,
                  .start = RS_NO_TIME,
                  .no_path = no_path};
    /* what was selected chooses the window; in it whatever runs can be what others wait for */
    rs_policy all = *policy;
    all.whole = true;
    rs_status status = rs_trace_work_details(trace, &all, &b->w, err);
    if (status == RS_OK) status = rs_trace_work_by_start(trace, &all, &b->by_start, err);
    if (status == RS_OK) status = rs_trace_data_loader(trace, &b->loads, err);
    if (status == RS_OK) status = find_window(b, window, n_instances, err);
    if (status == RS_OK && b->start != RS_NO_TIME) status = build(b, err);
    return status;
}

rs_status rs_own_open(rs_trace *trace, const rs_policy *policy, const rs_path_window *window,
                      const rs_sync_edges *sync, rs_own *b, size_t *n_instances, rs_error *err)
{
    return open_own(trace, policy, window, sync, false, b, n_instances, err);
}

rs_status rs_own_open_graph(rs_trace *trace, const rs_policy *policy, const rs_path_window *window,
                            const rs_sync_edges *sync, rs_own *b, rs_error *err)
{
    size_t n_instances;
    return open_own(trace, policy, window, sync, true, b, &n_instances, err);
}

void rs_own_close(rs_own *b)
{
    rs_path_graph_free(b->g);
    rs_free_all(b->item_of, b->work_of, b->room, b->async, b->role, b->launches, b->polls);
    rs_map64_clear(&b->calls);
    b->g = NULL;
}

/* Takes the graph out of b. */
static rs_status take_part(rs_own *b, rs_path_part *out, rs_error *err)
{
    out->launch = rs_malloc(b->g->n_items * sizeof *out->launch);
    if (!out->launch) return rs_fail_nomem(err, "critical path");
    for (size_t i = 0; i < b->g->n_items; i++) {
        uint32_t work = b->work_of[i], row = work == RS_NO_ITEM ? RS_NO_ROW : b->w->launch[work];
        out->launch[i] = row == RS_NO_ROW ? RS_NO_ITEM : b->item_of[row];
    }
    out->start = b->start;
    out->end = b->end;
    out->n_contradicted = b->causes->n_contradicted;
    out->graph = b->g;
    b->g = NULL;
    return RS_OK;
}

rs_status rs_path_build_own(rs_trace *trace, const rs_policy *policy, const rs_path_window *window,
                            const rs_sync_edges *sync, rs_path_part *out, rs_error *err)
{
    rs_own b;
    *out = (rs_path_part){0};
    rs_status status = rs_own_open(trace, policy, window, sync, &b, &out->n_instances, err);
    if (status == RS_OK && b.g) status = take_part(&b, out, err);
    rs_own_close(&b);
    return status;
}
