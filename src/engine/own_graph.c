/* The event graph by the program's own rules.
 *
 * Every node has one predecessor that really held it up; that edge weighs the time between them, all others
 * weigh the least that their kind takes. So each node's longest distance from the window's start is its own
 * time, the longest path to the window's end is the chain of causes behind it, and a replay with the same
 * weights gives the same trace again. What held work up, of its launch, the work before it and what it waits
 * for, is the one that left it the least time beyond what its kind usually takes. */
#include <string.h>

#include "base/interval.h"
#include "base/stats.h"
#include "engine/own_graph.h"
#include "trace/selection.h"

/* ---- the window and its items ------------------------------------------------------------------------ */

static bool is_host(rs_kind kind)
{
    return kind == RS_KIND_CPU_OP || rs_kind_is_call(kind);
}

/* Instances by start, then row, among the selected host events of that name; if it names none, among all
 * selected events. */
static rs_status find_window(rs_own *b, const rs_path_window *w, size_t *n_instances, rs_error *err)
{
    const rs_events *e = b->e;
    if (w->annotation[0] == '\0') {
        rs_status status = rs_trace_selected_span(b->trace, &b->start, &b->end, err);
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
            ok = RS_GROW_ONE(found, n, capacity);
            if (ok) found[n++] = (rs_keyed){e->start[row], row};
        }
    }
    ok = ok && rs_keyed_sort(found, n);
    *n_instances = n;
    if (ok && w->first >= 0 && (uint64_t)w->first < n) {
        size_t last = (uint64_t)w->last < n ? (size_t)w->last : n - 1;
        b->start = found[w->first].key;
        b->end = b->start;
        b->thread = e->thread[found[w->first].value];
        for (size_t i = (size_t)w->first; i <= last; i++) {
            int64_t end = rs_event_end(e, found[i].value);
            if (end > b->end) b->end = end;
        }
    }
    rs_free(named);
    rs_free(found);
    return ok ? RS_OK : rs_fail_nomem(err, "critical path");
}

static bool name_loaders(rs_own *b)
{
    static const char *const words[] = {"DataLoader", "dataloader", "data_loader"};
    const rs_strings *s = &b->e->strings;
    b->loading = rs_malloc(s->n + 1);
    for (size_t i = 0; b->loading && i < s->n; i++) {
        b->loading[i] = 0;
        for (size_t k = 0; k < sizeof words / sizeof *words && !b->loading[i]; k++)
            b->loading[i] = rs_text_contains(&s->items[i], words[k]);
    }
    return b->loading != NULL;
}

static bool is_item(const rs_own *b, uint32_t row)
{
    const rs_events *e = b->e;
    if (e->start[row] >= b->end) return false;
    rs_kind kind = rs_event_kind(e, row);
    bool loader = kind == RS_KIND_USER_ANNOTATION && b->loading[e->name[row]];
    if ((!is_host(kind) && !loader) || !rs_event_is_span(e, row)) return false;
    return rs_event_end(e, row) > b->start && e->duration[row] >= 0;
}

static void put_item(rs_own *b, size_t item, uint32_t row, int64_t start, int64_t end)
{
    rs_path_graph *g = b->g;
    g->row[item] = row;
    g->start[item] = start > b->start ? start : b->start;
    g->end[item] = end > g->start[item] ? end : g->start[item];
    g->in_graph[item] = 1;
    b->work_of[item] = RS_NO_ITEM;
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
        ok = RS_GROW_ONE(host, n_host, capacity);
        if (ok) host[n_host++] = row;
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
    if (!b->g || !b->item_of || !b->work_of) {
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
    b->g->n_nodes = 2 * n;
    return RS_OK;
}

/* Synchronizations by the item they end in. */
static bool index_sync(rs_own *b)
{
    size_t n = b->g->n_items;
    b->sync_first = rs_calloc(n + 2, sizeof *b->sync_first);
    b->sync_at = rs_malloc(b->sync->n * sizeof *b->sync_at);
    if (!b->sync_first || !b->sync_at) return false;
    for (size_t i = 0; i < b->sync->n; i++) {
        uint32_t item = b->item_of[b->sync->items[i].target];
        if (item != RS_NO_ITEM) b->sync_first[item + 2]++;
    }
    for (size_t i = 1; i <= n; i++) b->sync_first[i + 1] += b->sync_first[i];
    for (size_t i = 0; i < b->sync->n; i++) {
        uint32_t item = b->item_of[b->sync->items[i].target];
        if (item != RS_NO_ITEM) b->sync_at[b->sync_first[item + 1]++] = (uint32_t)i;
    }
    return true;
}

/* ---- the GPU ----------------------------------------------------------------------------------------- */

static int64_t device_of(const rs_own *b, size_t work)
{
    const rs_work *w = b->w;
    return w->device[work] >= 0 ? w->device[work] : b->e->threads[b->e->thread[w->row[work]]].pid;
}

/* For each piece of work, what had ended last in its lane when it started. Both go by time, so each lane is
 * walked once. */
static bool ended_before(const rs_own *b, rs_lanes *ended, uint32_t *out)
{
    const rs_work *w = b->w;
    if (!rs_lanes_finish(ended)) return false;
    uint32_t *lane_of = rs_malloc(w->n * sizeof *lane_of);
    size_t *at = rs_malloc(ended->n_lanes * sizeof *at); /* by lane: how many had ended */
    bool ok = lane_of && at;
    for (size_t i = 0; ok && i < ended->n; i++) lane_of[ended->entries[i].value] = ended->entries[i].lane;
    for (size_t i = 0; ok && i < ended->n_lanes; i++) at[i] = ended->begin[i];
    for (size_t k = 0; ok && k < w->n; k++) {
        uint32_t i = b->by_start[k], lane = lane_of[i];
        int64_t start = w->start[i];
        while (at[lane] < ended->begin[lane + 1] && ended->entries[at[lane]].time <= start) at[lane]++;
        size_t found = at[lane] > ended->begin[lane] ? at[lane] - 1 : SIZE_MAX;
        /* without a duration it would find itself, or what starts together with it */
        if (found != SIZE_MAX && w->start[ended->entries[found].value] >= start)
            found = rs_lanes_before(ended, lane, start, true);
        out[i] = found == SIZE_MAX ? RS_NO_ITEM : ended->entries[found].value;
    }
    rs_free(lane_of);
    rs_free(at);
    return ok;
}

/* The work before each on its stream: what had ended last when it started. On one stream work may overlap
 * (graphs; streams that a tool gives one number), so that is not always what started before it. */
static bool order_streams(rs_own *b)
{
    const rs_work *w = b->w;
    rs_lanes streams = {0}, devices = {0};
    b->before = rs_malloc(w->n * sizeof *b->before);
    b->around = rs_malloc(w->n * sizeof *b->around);
    bool ok = b->before && b->around;
    for (size_t i = 0; ok && i < w->n; i++) {
        uint32_t k = b->by_start[i];
        ok = rs_lanes_add(&streams, device_of(b, k), w->stream[k], w->end[k], k) &&
             rs_lanes_add(&devices, device_of(b, k), 0, w->end[k], k);
    }
    ok = ok && ended_before(b, &streams, b->before) && ended_before(b, &devices, b->around);
    rs_lanes_clear(&streams);
    rs_lanes_clear(&devices);
    return ok;
}

/* A tenth of the values lie below it; 0 of none. */
static int64_t low_tenth(int64_t *values, size_t n)
{
    return n ? rs_select_number(values, n, n / 10) : 0;
}

#define EARLY 20000 /* ns: so long before its turn a launch surely was not what work waited for */

/* Learned from work of which only one thing can have held it up. */
static bool learn_work_costs(rs_own *b)
{
    const rs_work *w = b->w;
    int64_t *launch = rs_malloc(w->n * sizeof *launch), *stream = rs_malloc(w->n * sizeof *stream);
    int64_t *event = rs_malloc(b->sync->n * sizeof *event);
    uint8_t *waits = rs_calloc(b->e->n + 1, 1); /* by row: an event of another stream holds it up too */
    size_t n_launch = 0, n_stream = 0, n_event = 0;
    bool ok = launch && stream && event && waits;
    for (size_t i = 0; ok && i < b->sync->n; i++) {
        const rs_sync_edge *s = &b->sync->items[i];
        if (s->kind != RS_SYNC_STREAM_WAIT) continue;
        waits[s->target] = 1;
        event[n_event++] = rs_sub_sat(b->e->start[s->target], rs_event_end(b->e, s->source));
    }
    for (size_t i = 0; ok && i < w->n; i++) {
        if (w->launch[i] == RS_NO_ROW || waits[w->row[i]]) continue;
        int64_t call_start = b->e->start[w->launch[i]], call_end = rs_event_end(b->e, w->launch[i]);
        bool alone = b->before[i] == RS_NO_ITEM;
        int64_t free = alone ? INT64_MIN : w->end[b->before[i]];
        if (alone || free < call_start)
            launch[n_launch++] = rs_sub_sat(w->start[i], call_end);
        else if (free > rs_add_sat(call_end, EARLY) && w->start[i] >= free)
            stream[n_stream++] = w->start[i] - free;
    }
    if (ok) {
        b->cost.launch = low_tenth(launch, n_launch);
        b->cost.stream = low_tenth(stream, n_stream);
        b->cost.event = low_tenth(event, n_event);
    }
    rs_free(launch);
    rs_free(stream);
    rs_free(event);
    rs_free(waits);
    return ok;
}

/* From calls that certainly waited, and from calls that certainly did not. */
static bool learn_call_costs(rs_own *b)
{
    const rs_sync_edges *s = b->sync;
    int64_t *alone = rs_malloc(s->n * sizeof *alone), *behind = rs_malloc(s->n * sizeof *behind);
    size_t n_alone = 0, n_behind = 0;
    bool ok = alone && behind;
    for (size_t i = 0, end; ok && i < s->n; i = end) {
        uint32_t call = s->items[i].target;
        int64_t latest = INT64_MIN, start = b->e->start[call], stop = rs_event_end(b->e, call);
        for (end = i; end < s->n && s->items[end].target == call; end++) {
            int64_t done = rs_event_end(b->e, s->items[end].source);
            if (done > latest) latest = done;
        }
        if (s->items[i].kind == RS_SYNC_STREAM_WAIT || s->items[i].kind == RS_SYNC_COPY) continue;
        if (latest < start)
            alone[n_alone++] = rs_sub_sat(stop, start);
        else if (latest > rs_add_sat(start, EARLY))
            behind[n_behind++] = rs_sub_sat(stop, latest);
    }
    if (ok) {
        b->cost.call = low_tenth(alone, n_alone);
        b->cost.answer = low_tenth(behind, n_behind);
    }
    rs_free(alone);
    rs_free(behind);
    return ok;
}

/* One thing that work had to wait for. */
typedef struct cause {
    uint32_t from; /* node; RS_NO_ITEM: before the window */
    rs_edge_type type;
    int64_t least;  /* what the edge weighs if something else held the work up */
    int64_t beyond; /* time beyond what its kind usually takes; the smaller, the likelier the cause */
    uint32_t owner;
} cause;

static bool launch_cause(const rs_own *b, uint32_t item, cause *out)
{
    uint32_t i = b->work_of[item], launch = b->w->launch[i];
    if (launch == RS_NO_ROW || b->e->start[launch] > b->w->start[i]) return false;
    int64_t call_end = rs_event_end(b->e, launch), call = rs_sub_sat(call_end, b->e->start[launch]);
    uint32_t from = b->item_of[launch];
    *out = (cause){.from = from == RS_NO_ITEM ? RS_NO_ITEM : rs_node_start(from),
                   .type = RS_EDGE_LAUNCH,
                   .least = rs_add_sat(call, b->cost.launch),
                   .beyond = rs_sub_sat(rs_sub_sat(b->w->start[i], call_end), b->cost.launch),
                   .owner = item};
    return true;
}

/* The end of other work, on the same stream or another. */
static bool work_cause(const rs_own *b, uint32_t item, uint32_t row, int64_t end, bool same_stream,
                       cause *out)
{
    int64_t gap = rs_sub_sat(b->w->start[b->work_of[item]], end);
    int64_t cost = same_stream ? b->cost.stream : b->cost.event;
    uint32_t from = b->item_of[row];
    if (gap < 0) return false;
    *out = (cause){.from = from == RS_NO_ITEM ? RS_NO_ITEM : rs_node_end(from),
                   .type = same_stream ? RS_EDGE_KERNEL : RS_EDGE_SYNC,
                   .least = cost,
                   .beyond = rs_sub_sat(gap, cost),
                   .owner = same_stream && from != RS_NO_ITEM ? from : item};
    return true;
}

/* Cause number k of the item: its launch, the work before it, then what it waits for. */
static bool cause_at(const rs_own *b, uint32_t item, size_t k, cause *out)
{
    uint32_t before = b->before[b->work_of[item]];
    if (k == 0) return launch_cause(b, item, out);
    if (k == 1)
        return before != RS_NO_ITEM && work_cause(b, item, b->w->row[before], b->w->end[before], true, out);
    uint32_t row = b->sync->items[b->sync_at[b->sync_first[item] + k - 2]].source;
    if (before != RS_NO_ITEM && row == b->w->row[before]) return false;
    return work_cause(b, item, row, rs_event_end(b->e, row), false, out);
}

/* Work that neither its launch, its stream nor a known wait explains waited for something that the trace does
 * not tell: a wait without an event, the default stream. The work that ended last on the device is taken. */
#define UNEXPLAINED 20000

static bool unseen_cause(const rs_own *b, uint32_t item, cause *out)
{
    uint32_t i = b->work_of[item], other = b->around[i];
    if (other == RS_NO_ITEM || other == b->before[i]) return false;
    return work_cause(b, item, b->w->row[other], b->w->end[other], false, out) && out->from != RS_NO_ITEM;
}

static bool add_work_edges(rs_own *b, uint32_t item)
{
    uint32_t node = rs_node_start(item);
    size_t n = 2 + b->sync_first[item + 1] - b->sync_first[item], which = n;
    cause best = {.from = RS_NO_ITEM, .type = RS_EDGE_LAUNCH, .owner = item}, c;
    if (!rs_own_bind(b, node, rs_node_end(item), RS_EDGE_OPERATOR, item)) return false;
    if (b->w->start[b->work_of[item]] <= b->start) /* it runs when the window opens */
        return rs_own_bind(b, rs_node_start(RS_OWN_WINDOW), node, RS_EDGE_DEPENDENCY, item);
    for (size_t k = 0; k < n; k++) {
        if (!cause_at(b, item, k, &c) || (which != n && c.beyond >= best.beyond)) continue;
        best = c;
        which = k;
    }
    if ((which == n || best.beyond > UNEXPLAINED) && unseen_cause(b, item, &c) &&
        (which == n || c.beyond < best.beyond)) {
        best = c;
        which = n;
    }
    uint32_t from = best.from == RS_NO_ITEM ? rs_node_start(RS_OWN_WINDOW) : best.from;
    if (!rs_own_bind(b, from, node, best.type, best.owner)) return false;
    for (size_t k = 0; k < n; k++) {
        if (k == which || !cause_at(b, item, k, &c) || c.from == RS_NO_ITEM || c.from == from) continue;
        if (!rs_own_follow(b, c.from, node, c.type, c.least, c.owner)) return false;
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
    return rs_path_graph_solve(b->g, rs_node_end(RS_OWN_WINDOW), err);
}

static rs_status build(rs_own *b, rs_path_part *out, rs_error *err)
{
    if (!name_loaders(b)) return rs_fail_nomem(err, "critical path");
    rs_status status = make_items(b, err);
    if (status != RS_OK) return status;
    if (!index_sync(b) || !order_streams(b) || !learn_work_costs(b) || !learn_call_costs(b))
        return rs_fail_nomem(err, "critical path");
    status = connect(b, err);
    if (status == RS_ERR_FORMAT) { /* clocks that disagree can close a circle */
        b->strict = true;
        status = connect(b, err);
    }
    if (status != RS_OK) return status;
    out->launch = rs_malloc(b->g->n_items * sizeof *out->launch);
    if (!out->launch) return rs_fail_nomem(err, "critical path");
    for (size_t i = 0; i < b->g->n_items; i++) {
        uint32_t work = b->work_of[i], row = work == RS_NO_ITEM ? RS_NO_ROW : b->w->launch[work];
        out->launch[i] = row == RS_NO_ROW ? RS_NO_ITEM : b->item_of[row];
    }
    out->start = b->start;
    out->end = b->end;
    out->graph = b->g;
    b->g = NULL;
    return RS_OK;
}

rs_status rs_path_build_own(rs_trace *trace, const rs_policy *policy, const rs_path_window *window,
                            const rs_sync_edges *sync, rs_path_part *out, rs_error *err)
{
    *out = (rs_path_part){0};
    rs_own b = {.trace = trace, .e = trace->events, .sync = sync, .thread = UINT32_MAX, .start = RS_NO_TIME};
    /* what was selected chooses the window; in it whatever runs can be what others wait for */
    rs_policy all = *policy;
    all.whole = true;
    rs_status status = rs_trace_work_details(trace, &all, &b.w, err);
    if (status == RS_OK) status = rs_trace_work_by_start(trace, &all, &b.by_start, err);
    if (status == RS_OK) status = find_window(&b, window, &out->n_instances, err);
    if (status == RS_OK && b.start != RS_NO_TIME) status = build(&b, out, err);
    rs_path_graph_free(b.g);
    rs_free(b.item_of);
    rs_free(b.work_of);
    rs_free(b.before);
    rs_free(b.around);
    rs_free(b.sync_first);
    rs_free(b.sync_at);
    rs_free(b.loading);
    return status;
}
