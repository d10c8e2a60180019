/* The event graph by HTA's rules (HolisticTraceAnalysis 0.6, critical_path_analysis): its clip, its runtime
 * lock, its call stacks, its launch and synchronization edges, in its order. */
#include <string.h>

#include "peer/hta_queue.h"
#include "base/interval.h"
#include "base/keymap.h"
#include "peer/hta_graph.h"
#include "trace/call_stacks.h"
#include "peer/hta_window.h"
#include "trace/selection.h"

typedef struct builder {
    rs_trace *trace;
    const rs_events *e;
    const rs_frame_rows *f;
    rs_path_graph *g;
    uint32_t *frame_of; /* by row */
    uint32_t *item_of;  /* by row */
    uint32_t *at;       /* by item: place in the frame */
    int64_t window_start, window_end;
    int64_t clip_end; /* HTA compares with an end on the absolute clock where it looks at the whole trace */
    const char *data_load; /* names of events that load data */
    uint32_t *next_source; /* by item: work of another stream that it waits for */
} builder;

static const char *name_of(const builder *b, size_t place)
{
    return rs_event_name(b->e, b->f->row[place]);
}

/* ---- the clip --------------------------------------------------------------------------------------- */

static bool is_selected(const rs_selector *selector, const rs_frame_rows *f, size_t i)
{
    if (f->stream[i] != -1 && f->partner[i] != RS_NO_ROW)
        return rs_selects_work(selector, f->row[i], f->partner[i]);
    return rs_selects_row(selector, f->row[i]);
}

/* Instances in the order of the frame, not of time, among the selected rows. */
static bool find_window(builder *b, const rs_path_window *w, const rs_selector *selector, size_t *n_instances)
{
    const rs_frame_rows *f = b->f;
    b->window_start = INT64_MAX;
    b->window_end = INT64_MIN;
    *n_instances = 0;
    RS_LOCAL uint8_t *named = rs_names_containing(&b->e->strings, w->annotation);
    if (!named) return false;
    bool all = w->annotation[0] == '\0';
    for (size_t i = 0; i < f->n; i++) {
        if (!is_selected(selector, f, i)) continue;
        if (!all) {
            if (!named[b->e->name[f->row[i]]]) continue;
            int64_t k = (int64_t)(*n_instances)++;
            if (k < w->first || k > w->last) continue;
        }
        if (f->start[i] < b->window_start) b->window_start = f->start[i];
        if (f->end[i] > b->window_end) b->window_end = f->end[i];
    }
    b->clip_end = b->window_end;
    if (all && b->window_start != INT64_MAX) {
        *n_instances = 1;
        if (!selector->selection) b->clip_end = INT64_MAX;
    }
    return true;
}

static bool in_window(const builder *b, size_t i)
{
    const rs_frame_rows *f = b->f;
    return f->start[i] >= b->window_start && f->start[i] <= b->clip_end && f->end[i] > f->start[i];
}

static bool is_clipped(const builder *b, size_t i)
{
    const rs_frame_rows *f = b->f;
    if (f->stream[i] == -1) return in_window(b, i);
    if (strcmp(name_of(b, i), "Stream Wait Event") == 0) return true;
    uint32_t launch = f->partner[i];
    if (launch == RS_NO_ROW || launch == 0) return false; /* position 0 counts as no partner */
    uint32_t place = b->frame_of[launch];
    /* HTA goes from the call to its work, of which a call has one: of a graph one kernel is taken */
    if (place == RS_NO_ROW || f->stream[place] != -1 || !in_window(b, place)) return false;
    return f->partner[place] == f->row[i] || rs_event_kind(b->e, f->row[i]) == RS_KIND_SYNC;
}

static bool has_nodes(const builder *b, size_t i)
{
    const rs_frame_rows *f = b->f;
    rs_kind kind = rs_event_kind(b->e, f->row[i]);
    if (kind == RS_KIND_CPU_OP || kind == RS_KIND_RUNTIME || kind == RS_KIND_DRIVER) return true;
    if (rs_text_contains_any(&b->e->strings.items[b->e->name[f->row[i]]], b->data_load)) return true;
    return f->stream[i] != -1 && f->correlation[i] >= 0;
}

static bool clip(builder *b)
{
    const rs_frame_rows *f = b->f;
    size_t n = 0, items = 0;
    b->frame_of = rs_malloc(b->e->n * sizeof *b->frame_of);
    b->item_of = rs_malloc(b->e->n * sizeof *b->item_of);
    if (!b->frame_of || !b->item_of) return false;
    memset(b->frame_of, 0xff, b->e->n * sizeof *b->frame_of);
    memset(b->item_of, 0xff, b->e->n * sizeof *b->item_of);
    for (size_t i = 0; i < f->n; i++) b->frame_of[f->row[i]] = (uint32_t)i;
    for (size_t i = 0; i < f->n; i++) n += is_clipped(b, i);
    RS_LOCAL rs_keyed *order = rs_malloc(n * sizeof *order);
    if (!order) return false;
    n = 0;
    for (size_t i = 0; i < f->n; i++)
        if (is_clipped(b, i)) order[n++] = (rs_keyed){f->row[i], (uint32_t)i};
    bool ok = rs_keyed_sort(order, n);
    b->g = ok ? rs_path_graph_create(n) : NULL;
    b->at = rs_malloc(n * sizeof *b->at);
    b->next_source = rs_malloc(n * sizeof *b->next_source);
    ok = b->g && b->at && b->next_source;
    for (size_t i = 0; ok && i < n; i++) {
        size_t place = order[i].value;
        if (b->item_of[f->row[place]] != RS_NO_ITEM) continue; /* a row that stands twice */
        size_t item = items++;
        b->item_of[f->row[place]] = (uint32_t)item;
        b->at[item] = (uint32_t)place;
        b->next_source[item] = RS_NO_ITEM;
        b->g->row[item] = f->row[place];
        b->g->start[item] = f->start[place];
        b->g->end[item] = f->end[place];
        b->g->in_graph[item] = has_nodes(b, place);
        b->g->n_nodes += 2 * (size_t)b->g->in_graph[item];
    }
    if (ok) b->g->n_items = items;
    return ok;
}

/* ---- edges ------------------------------------------------------------------------------------------ */

/* The time between two nodes; HTA's default sets what runs back by a microsecond or more to nothing. */
static bool add_edge(builder *b, uint32_t from, uint32_t to, rs_edge_type type, bool zero, uint32_t owner)
{
    int64_t weight = 0;
    if (!zero && type != RS_EDGE_DEPENDENCY && type != RS_EDGE_SYNC)
        weight = rs_sub_sat(rs_node_time(b->g, to), rs_node_time(b->g, from));
    if (weight <= -1000) weight = 0;
    return rs_path_graph_add(b->g, from, to, type, weight, owner);
}

/* Calls that HTA takes to hold one lock of the runtime. */
static bool is_lock(const builder *b, uint32_t item)
{
    const char *name = name_of(b, b->at[item]);
    return strcmp(name, "cudaLaunchKernel") == 0 || strcmp(name, "cudaMemcpyAsync") == 0 ||
           strcmp(name, "cudaHostAlloc") == 0;
}

static bool is_blocking(const builder *b, uint32_t item)
{
    return rs_path_is_blocking(name_of(b, b->at[item]));
}

static bool add_lock_edges(builder *b)
{
    rs_keyed *nodes = NULL;
    uint32_t *open = NULL;
    size_t n = 0, capacity = 0, n_open = 0;
    for (uint32_t i = 0; i < b->g->n_items; i++) {
        if (!b->g->in_graph[i] || !is_lock(b, i)) continue;
        if (!rs_grow((void **)&nodes, &capacity, n + 2, sizeof *nodes)) goto failed;
        nodes[n++] = (rs_keyed){b->g->start[i], rs_node_start(i)};
        nodes[n++] = (rs_keyed){b->g->end[i], rs_node_end(i)};
    }
    open = rs_malloc(n * sizeof *open);
    if (!open || !rs_keyed_sort(nodes, n)) goto failed;
    uint32_t before = RS_NO_ITEM;
    for (size_t i = 0; i < n; i++) {
        uint32_t node = nodes[i].value;
        if (node & 1) {
            while (n_open) {
                uint32_t from = open[--n_open];
                bool own = from >> 1 == node >> 1;
                if (!add_edge(b, from, node, own ? RS_EDGE_OPERATOR : RS_EDGE_DEPENDENCY, false,
                              own ? node >> 1 : RS_NO_ITEM))
                    goto failed;
            }
            if (before != RS_NO_ITEM && (before & 1) &&
                !add_edge(b, before, node, RS_EDGE_DEPENDENCY, false, RS_NO_ITEM))
                goto failed;
        } else {
            open[n_open++] = node;
        }
        before = node;
    }
    rs_free_all(nodes, open);
    return true;
failed:
    rs_free_all(nodes, open);
    return false;
}

/* ---- call stacks ------------------------------------------------------------------------------------ */

static bool add_stack_edge(builder *b, uint32_t from, uint32_t to, bool top, uint32_t parent)
{
    bool enters = !(to & 1), left = from & 1;
    if (is_lock(b, from >> 1) && is_lock(b, to >> 1) && !(left && enters)) return true;
    uint32_t owner = !left ? from >> 1 : !enters ? to >> 1 : parent;
    rs_edge_type type = enters && top ? RS_EDGE_DEPENDENCY : RS_EDGE_OPERATOR;
    return add_edge(b, from, to, type, !enters && is_blocking(b, to >> 1), owner);
}

static bool walk_stack(builder *b, const uint32_t *order, size_t n, uint32_t *stack)
{
    size_t depth = 0, open_nodes = 0;
    uint32_t last = RS_NO_ITEM;
    for (size_t i = 0; i < n; i++) {
        bool leaves = order[i] & RS_STACK_END;
        uint32_t item = order[i] >> 1, parent = RS_NO_ITEM;
        if (leaves) {
            if (depth == 0) continue;
            item = stack[--depth];
        }
        if (depth) parent = stack[depth - 1];
        if (b->g->in_graph[item]) {
            uint32_t node = leaves ? rs_node_end(item) : rs_node_start(item);
            if (leaves) open_nodes--;
            if (last != RS_NO_ITEM && !add_stack_edge(b, last, node, open_nodes == 0, parent)) return false;
            if (!leaves) open_nodes++;
            last = node;
        }
        if (!leaves) stack[depth++] = item;
    }
    return true;
}

/* If one thread alone names "forward" and another alone "autograd", HTA takes the second for the first. */
static uint32_t lone_thread(const builder *b, const char *word)
{
    RS_LOCAL uint8_t *named = rs_names_containing(&b->e->strings, word);
    uint32_t found = UINT32_MAX;
    if (!named) return UINT32_MAX - 1;
    for (size_t i = 0; i < b->g->n_items; i++) {
        uint32_t row = b->g->row[i];
        rs_kind kind = rs_event_kind(b->e, row);
        if (!named[b->e->name[row]] || (kind != RS_KIND_CPU_OP && kind != RS_KIND_USER_ANNOTATION)) continue;
        uint32_t thread = b->e->thread[row];
        if (found != UINT32_MAX && b->e->threads[found].tid != b->e->threads[thread].tid) {
            found = UINT32_MAX;
            break;
        }
        found = thread;
    }
    return found;
}

typedef struct stacks {
    uint32_t *thread_of; /* by thread: the one its events count for */
    uint8_t *gpu;        /* by thread: has an event with a stream */
    size_t *first;       /* by thread, + 1 */
    rs_nested *nested;
    uint32_t *order, *stack;
} stacks;

static bool add_stack_edges_of(builder *b, stacks *s)
{
    size_t n_threads = b->e->n_threads, n = b->g->n_items;
    uint32_t forward = lone_thread(b, "forward"), autograd = lone_thread(b, "autograd");
    if (forward == UINT32_MAX - 1 || autograd == UINT32_MAX - 1) return false;
    for (size_t i = 0; i < n_threads; i++) s->thread_of[i] = (uint32_t)i;
    if (forward != UINT32_MAX && autograd != UINT32_MAX) s->thread_of[autograd] = forward;
    for (size_t i = 0; i < n; i++) {
        uint32_t thread = s->thread_of[b->e->thread[b->g->row[i]]];
        if (b->f->stream[b->at[i]] >= 0) s->gpu[thread] = 1;
        s->first[thread + 2]++;
    }
    for (size_t i = 1; i <= n_threads; i++) s->first[i + 1] += s->first[i];
    for (size_t i = 0; i < n; i++) {
        uint32_t thread = s->thread_of[b->e->thread[b->g->row[i]]];
        s->nested[s->first[thread + 1]++] = (rs_nested){b->g->start[i], b->g->end[i], (uint32_t)i};
    }
    for (size_t i = 0; i < n_threads; i++) {
        size_t from = s->first[i], count = s->first[i + 1] - from;
        if (s->gpu[i] || count == 0) continue;
        if (!rs_call_stack_order(s->nested + from, count, s->order)) return false;
        if (!walk_stack(b, s->order, 2 * count, s->stack)) return false;
    }
    return true;
}

static bool add_stack_edges(builder *b)
{
    size_t n_threads = b->e->n_threads, n = b->g->n_items;
    stacks s = {.thread_of = rs_malloc(n_threads * sizeof *s.thread_of),
                .gpu = rs_calloc(n_threads + 1, 1),
                .first = rs_calloc(n_threads + 2, sizeof *s.first),
                .nested = rs_malloc(n * sizeof *s.nested),
                .order = rs_malloc(2 * n * sizeof *s.order),
                .stack = rs_malloc(n * sizeof *s.stack)};
    bool ok = s.thread_of && s.gpu && s.first && s.nested && s.order && s.stack && add_stack_edges_of(b, &s);
    rs_free_all(s.thread_of, s.gpu, s.first, s.nested, s.order, s.stack);
    return ok;
}

/* ---- the GPU ---------------------------------------------------------------------------------------- */

typedef struct gpu {
    rs_lanes by_stream;     /* launches onto (GPU, stream) by time: row of the work */
    rs_lanes by_thread;     /* launches of (thread, stream) */
    rs_keymap records;      /* correlation of a cudaEventRecord: place in the frame */
    rs_map64 last;          /* by stream: the work processed last, + 1 */
    uint32_t *last_streams; /* values of last in order of appearance */
    size_t n_last, last_capacity;
    int64_t *at_launch, *at_start; /* by item: queue length, INT64_MIN if it is in no queue */
} gpu;

static bool index_launches(const builder *b, gpu *x)
{
    const rs_events *e = b->e;
    const rs_frame_rows *f = b->f;
    int64_t min = INT64_MAX, max = INT64_MIN;
    size_t n = 0;
    for (size_t i = 0; i < f->n; i++) {
        if (strcmp(name_of(b, i), "cudaEventRecord") == 0 && f->correlation[i] != -1) {
            if (f->correlation[i] < min) min = f->correlation[i];
            if (f->correlation[i] > max) max = f->correlation[i];
            n++;
        }
        uint32_t work = f->partner[i];
        if (work == RS_NO_ROW || work == 0 || !rs_hta_is_launch(name_of(b, i))) continue;
        uint32_t place = b->frame_of[work];
        if (place == RS_NO_ROW) continue;
        if (!rs_lanes_add(&x->by_stream, e->threads[e->thread[work]].pid, f->stream[place], f->start[i],
                          work) ||
            !rs_lanes_add(&x->by_thread, e->thread[f->row[i]], f->stream[place], f->start[i], work))
            return false;
    }
    bool ok = rs_keymap_init(&x->records, min, max, n);
    for (size_t i = 0; ok && i < f->n; i++)
        if (strcmp(name_of(b, i), "cudaEventRecord") == 0 && f->correlation[i] != -1)
            ok = rs_keymap_put(&x->records, f->correlation[i], (uint32_t)i);
    return ok && rs_lanes_finish(&x->by_stream) && rs_lanes_finish(&x->by_thread);
}

/* Lengths where a launch begins (by the call's item) and where work starts (by the work's). */
static rs_status read_queue(const builder *b, gpu *x, rs_error *err)
{
    rs_queue_series q = {0};
    size_t n = b->g->n_items;
    x->at_launch = rs_malloc(n * sizeof *x->at_launch);
    x->at_start = rs_malloc(n * sizeof *x->at_start);
    if (!x->at_launch || !x->at_start) return rs_fail_nomem(err, "critical path");
    for (size_t i = 0; i < n; i++) x->at_launch[i] = x->at_start[i] = INT64_MIN;
    rs_status status = rs_hta_queue_of(b->trace, b->f, &q, err);
    for (size_t i = 0; status == RS_OK && i < q.n; i++) {
        uint32_t item = b->item_of[q.items[i].row];
        if (item != RS_NO_ITEM)
            (q.items[i].change < 0 ? x->at_start : x->at_launch)[item] = q.items[i].length;
    }
    rs_queue_series_clear(&q);
    return status;
}

/* The work that a synchronization with an event waits for. */
static uint32_t event_source(const builder *b, const gpu *x, uint32_t row)
{
    int64_t correlation, stream;
    if (!rs_events_int(b->e, RS_COL_WAIT_ON_EVENT, row, &correlation)) return RS_NO_ITEM;
    if (!rs_events_int(b->e, RS_COL_WAIT_ON_STREAM, row, &stream)) return RS_NO_ITEM;
    uint32_t record = rs_keymap_get(&x->records, correlation);
    if (record == RS_KEYMAP_NONE) return RS_NO_ITEM;
    uint32_t lane = rs_lanes_find(&x->by_stream, b->e->threads[b->e->thread[row]].pid, stream);
    size_t found = rs_lanes_before(&x->by_stream, lane, b->f->start[record], false);
    return found == SIZE_MAX ? RS_NO_ITEM : b->item_of[x->by_stream.entries[found].value];
}

static bool sync_to_call(builder *b, uint32_t source, uint32_t call)
{
    if (source == RS_NO_ITEM || call == RS_NO_ITEM) return true;
    if (!b->g->in_graph[source] || !b->g->in_graph[call]) return true;
    return add_edge(b, rs_node_end(source), rs_node_end(call), RS_EDGE_SYNC, true, RS_NO_ITEM);
}

static bool process_sync(builder *b, gpu *x, uint32_t item)
{
    size_t place = b->at[item];
    const char *name = name_of(b, place);
    uint32_t row = b->g->row[item], partner = b->f->partner[place];
    uint32_t call = partner == RS_NO_ROW ? RS_NO_ITEM : b->item_of[partner];
    if (strcmp(name, "Event Sync") == 0) return sync_to_call(b, event_source(b, x, row), call);
    if (strcmp(name, "Stream Wait Event") == 0) {
        uint32_t source = event_source(b, x, row);
        if (source == RS_NO_ITEM || partner == RS_NO_ROW || b->frame_of[partner] == RS_NO_ROW) return true;
        uint32_t lane = rs_lanes_find(&x->by_thread, b->e->thread[partner], b->f->stream[place]);
        size_t found = rs_lanes_after(&x->by_thread, lane, b->f->start[b->frame_of[partner]]);
        if (found == SIZE_MAX) return true;
        uint32_t target = b->item_of[x->by_thread.entries[found].value];
        if (target != RS_NO_ITEM) b->next_source[target] = source;
        return true;
    }
    if (strcmp(name, "Stream Sync") == 0) {
        const uint32_t *last = rs_map64_get(&x->last, (uint64_t)b->f->stream[place]);
        return !last || sync_to_call(b, x->last_streams[*last], call);
    }
    if (strcmp(name, "Context Sync") == 0)
        for (size_t i = 0; i < x->n_last; i++)
            if (!sync_to_call(b, x->last_streams[i], call)) return false;
    return true;
}

static bool process_work(builder *b, gpu *x, uint32_t item)
{
    const rs_path_graph *g = b->g;
    size_t place = b->at[item];
    bool is_new;
    uint32_t *slot = rs_map64_put(&x->last, (uint64_t)b->f->stream[place], &is_new);
    if (!slot) return false;
    if (is_new) {
        if (!RS_GROW_ONE(x->last_streams, x->n_last, x->last_capacity)) return false;
        *slot = (uint32_t)x->n_last++;
        x->last_streams[*slot] = RS_NO_ITEM;
    }
    uint32_t before = x->last_streams[*slot], source = b->next_source[item];
    x->last_streams[*slot] = item;
    if (!add_edge(b, rs_node_start(item), rs_node_end(item), RS_EDGE_OPERATOR, false, item)) return false;
    if (source != RS_NO_ITEM && g->in_graph[source]) {
        if (!add_edge(b, rs_node_end(source), rs_node_start(item), RS_EDGE_SYNC, true, RS_NO_ITEM))
            return false;
    } else {
        source = RS_NO_ITEM;
    }
    uint32_t call = b->f->partner[place] == RS_NO_ROW ? RS_NO_ITEM : b->item_of[b->f->partner[place]];
    if (call != RS_NO_ITEM && g->in_graph[call] && x->at_launch[call] == 1 && x->at_start[item] == 0 &&
        (before == RS_NO_ITEM || g->end[before] < g->start[call]) &&
        (source == RS_NO_ITEM || g->end[source] < g->start[call]))
        return add_edge(b, rs_node_start(call), rs_node_start(item), RS_EDGE_LAUNCH, false, item);
    if (before != RS_NO_ITEM && rs_sub_sat(g->start[item], g->end[before]) < 1500000 &&
        (source == RS_NO_ITEM || g->end[source] < g->end[before]))
        return add_edge(b, rs_node_end(before), rs_node_start(item), RS_EDGE_KERNEL, false, before);
    return true;
}

static bool takes_part(const builder *b, uint32_t item)
{
    size_t place = b->at[item];
    if (b->f->correlation[place] < 0) return false;
    if (b->f->stream[place] != -1) return true;
    const char *name = name_of(b, place);
    return strcmp(name, "Event Sync") == 0 || strcmp(name, "Context Sync") == 0;
}

static rs_status add_gpu_edges(builder *b, rs_error *err)
{
    gpu x = {0};
    x.records = (rs_keymap){.min = 0, .max = -1};
    RS_LOCAL rs_keyed *order = rs_malloc(b->g->n_items * sizeof *order);
    size_t n = 0;
    rs_status status =
        order && index_launches(b, &x) ? read_queue(b, &x, err) : rs_fail_nomem(err, "critical path");
    if (status == RS_OK) {
        for (uint32_t i = 0; i < b->g->n_items; i++) {
            if (!takes_part(b, i)) continue;
            bool sync = rs_event_kind(b->e, b->g->row[i]) == RS_KIND_SYNC;
            order[n++] = (rs_keyed){sync ? b->g->end[i] : b->g->start[i], i};
        }
        bool ok = rs_keyed_sort(order, n);
        for (size_t i = 0; ok && i < n; i++) {
            uint32_t item = order[i].value;
            bool sync = rs_event_kind(b->e, b->g->row[item]) == RS_KIND_SYNC;
            ok = sync ? process_sync(b, &x, item) : process_work(b, &x, item);
        }
        if (!ok) status = rs_fail_nomem(err, "critical path");
    }
    rs_lanes_clear(&x.by_stream);
    rs_lanes_clear(&x.by_thread);
    rs_keymap_clear(&x.records);
    rs_map64_clear(&x.last);
    rs_free_all(x.last_streams, x.at_launch, x.at_start);
    return status;
}

/* ---- all of it -------------------------------------------------------------------------------------- */

static rs_status build(builder *b, rs_path_part *out, rs_error *err)
{
    if (!clip(b)) return rs_fail_nomem(err, "critical path");
    if (b->g->n_items > RS_MAX_ITEMS) return rs_fail(err, RS_ERR_LIMIT, "too many events for a graph");
    if (!add_lock_edges(b) || !add_stack_edges(b)) return rs_fail_nomem(err, "critical path");
    rs_status status = add_gpu_edges(b, err);
    if (status == RS_OK) status = rs_path_graph_solve(b->g, RS_NO_ITEM, err);
    if (status != RS_OK) return status;
    out->launch = rs_malloc(b->g->n_items * sizeof *out->launch);
    if (!out->launch) return rs_fail_nomem(err, "critical path");
    for (size_t i = 0; i < b->g->n_items; i++) {
        uint32_t partner = b->f->stream[b->at[i]] == -1 ? RS_NO_ROW : b->f->partner[b->at[i]];
        out->launch[i] = partner == RS_NO_ROW ? RS_NO_ITEM : b->item_of[partner];
    }
    out->start = b->window_start;
    out->end = b->window_end;
    out->graph = b->g;
    b->g = NULL;
    return RS_OK;
}

rs_status rs_path_build_hta(rs_trace *trace, const rs_policy *policy, const rs_path_window *window,
                            rs_path_part *out, rs_error *err)
{
    *out = (rs_path_part){0};
    const rs_frame_rows *f;
    rs_selector selector;
    rs_policy all = *policy;
    all.whole = true; /* what was selected chooses the window alone */
    rs_status status = rs_trace_selector(trace, &selector, err);
    if (status == RS_OK) status = rs_trace_hta_frame(trace, &all, &f, err);
    if (status != RS_OK) return status;
    builder b = {.trace = trace, .e = trace->events, .f = f, .data_load = window->data_load};
    if (!find_window(&b, window, &selector, &out->n_instances))
        status = rs_fail_nomem(err, "critical path");
    else if (b.window_start != INT64_MAX)
        status = build(&b, out, err);
    rs_path_graph_free(b.g);
    rs_free_all(b.frame_of, b.item_of, b.at, b.next_source);
    return status;
}
