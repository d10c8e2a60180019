/* The host side of the event graph: what each thread did in turn, which thread waited for which, and where
 * the window ends. */
#include "base/interval.h"
#include "base/memory.h"
#include "base/search.h"
#include "engine/own_graph.h"
#include "trace/call_stacks.h"

/* A stretch in which a thread is in some event. */
typedef struct stretch {
    int64_t start, end;
    uint32_t thread;
    uint32_t first, last; /* nodes */
} stretch;

typedef struct host {
    size_t *first; /* by thread, + 1: offsets into nested */
    rs_nested *nested;
    uint32_t *order, *stack;
    uint8_t *gone;         /* by item: it has ended */
    stretch *stretches;    /* by thread, then time */
    size_t *stretch_first; /* by thread, + 1 */
    size_t n_stretches, stretch_capacity;
    /* Communication that the host runs, as items by their ends: all of workers; of each worker; of each thread that
     * submitted it itself, which is over when it has waited for it. */
    rs_keyed *of_workers;
    size_t n_of_workers;
    bool any_spans;
    struct by_thread {
        rs_keyed *items;
        size_t *first; /* by thread, + 1 */
    } of_worker, of_caller;
    uint32_t *
        before; /* by item: of a span that no operator submitted the point of its thread before it; 0: none */
} host;

/* ns: a thread that was idle so long before communication ended was waiting for it */
#define IDLE 20000

static bool same_process(const rs_own *b, uint32_t one, uint32_t other)
{
    return b->e->threads[one].pid == b->e->threads[other].pid;
}

/* A worker wakes who waits and notes the end afterwards, which takes long where cores are few: this part of the wait at
 * most, and so many ns. */
#define NOTED_LATE(wait) ((wait) / 4 < 3000000 ? (wait) / 4 : 3000000)

/* What a worker ran of the process that was over last, of those that ended in a pause of the thread; RS_NO_ITEM: nothing.
 * Where none did, one that was noted as over a little later ended with the pause. */
static uint32_t last_of_workers(rs_own *b, host *h, uint32_t thread, int64_t from, int64_t to)
{
    size_t at, late;
    rs_path_graph *g = b->g;
    RS_SEARCH(at, h->n_of_workers, h->of_workers[at].key <= to);
    late = at;
    for (; at-- > 0 && h->of_workers[at].key > rs_add_sat(from, IDLE);) {
        uint32_t item = h->of_workers[at].value;
        if (same_process(b, b->e->thread[g->row[item]], thread)) return item;
    }
    int64_t until = rs_add_sat(to, NOTED_LATE(rs_sub_sat(to, from)));
    for (; late < h->n_of_workers && h->of_workers[late].key <= until; late++) {
        uint32_t item = h->of_workers[late].value;
        if (!same_process(b, b->e->thread[g->row[item]], thread) || g->start[item] >= rs_sub_sat(to, IDLE) ||
            g->end[item] < h->of_workers[late].key) /* it was set before */
            continue;
        g->end[item] = to;
        return item;
    }
    return RS_NO_ITEM;
}

/* Binds a node to communication that its thread waited for since its last point, and to that point; *bound: there was some.
 * What the thread had submitted itself ended when it had waited for it. Of what a worker ran it is taken where the thread had
 * been idle before it ended, in no operator that may be working. The last one to end held it up. */
static bool bind_to_communication(rs_own *b, host *h, uint32_t thread, uint32_t last, uint32_t node,
                                  bool works, uint32_t owner, bool *bound)
{
    *bound = false;
    if (!h->any_spans) return true;
    int64_t from = rs_node_time(b->g, last), to = rs_node_time(b->g, node);
    const rs_keyed *own = h->of_caller.items + h->of_caller.first[thread];
    size_t n = h->of_caller.first[thread + 1] - h->of_caller.first[thread], low, high;
    RS_SEARCH(low, n, own[low].key <= from);
    RS_SEARCH(high, n, own[high].key <= to);
    for (size_t k = low; k < n && b->g->start[own[k].value] <= to; k++)
        if (b->g->start[own[k].value] >= from) h->before[own[k].value] = last;
    uint32_t worker = low == high && !works ? last_of_workers(b, h, thread, from, to) : RS_NO_ITEM;
    *bound = low < high || worker != RS_NO_ITEM;
    if (!*bound) return true;
    if (worker != RS_NO_ITEM && !rs_own_bind(b, rs_node_end(worker), node, RS_EDGE_DEPENDENCY, owner))
        return false;
    for (size_t k = high; k-- > low;) {
        uint32_t end = rs_node_end(own[k].value);
        b->async[own[k].value] = rs_own_call_of(b, own[k].value) != last >> 1;
        bool ok = k + 1 == high ? rs_own_bind(b, end, node, RS_EDGE_DEPENDENCY, owner)
                                : rs_own_follow(b, end, node, RS_EDGE_DEPENDENCY, 0, owner);
        if (!ok) return false;
    }
    return rs_own_follow(b, last, node, RS_EDGE_DEPENDENCY, 0, owner);
}

/* Binds a node to the point before it on its thread, or to communication between them. */
static bool bind_to_thread(rs_own *b, host *h, uint32_t thread, uint32_t last, uint32_t node, uint32_t owner)
{
    bool leaf = node == rs_node_end(last >> 1) && !(last & 1), bound;
    bool works = leaf && b->role[b->e->name[b->g->row[last >> 1]]] != RS_OWN_AWAITS;
    if (!bind_to_communication(b, h, thread, last, node, works, owner, &bound)) return false;
    return bound || rs_own_bind(b, last, node, RS_EDGE_OPERATOR, owner);
}

/* What a thread does, one after the other or nested. What a worker does in communication is communication. */
static bool is_event(const rs_own *b, uint32_t item)
{
    return b->work_of[item] == RS_NO_ITEM && b->g->in_graph[item] && !rs_own_is_span(b, item);
}

/* Binds the end of a call to what it waited for, or to what came before it on its thread. */
static bool leave_call(rs_own *b, host *h, uint32_t thread, uint32_t last, uint32_t node, uint32_t owner)
{
    uint32_t call = node >> 1, row = b->g->row[call], source = RS_NO_ITEM;
    rs_path_cause cause;
    size_t from, to;
    if (rs_cause_of_call(b->causes, row, b->room[call], b->strict, &cause) &&
        b->item_of[cause.row] != RS_NO_ITEM)
        source = cause.at_end ? rs_node_end(b->item_of[cause.row]) : rs_node_start(b->item_of[cause.row]);
    /* what was over before the window opened held up nothing in it */
    if (source != RS_NO_ITEM && rs_node_time(b->g, source) <= b->g->start[call]) source = RS_NO_ITEM;
    if (source != RS_NO_ITEM) {
        if (!rs_own_bind(b, source, node, RS_EDGE_SYNC, call)) return false;
        if (!rs_own_follow(b, last, node, RS_EDGE_OPERATOR, 0, owner)) return false;
    } else if (!bind_to_thread(b, h, thread, last, node, owner)) {
        return false;
    }
    rs_sync_into(b->sync, row, &from, &to);
    for (size_t k = from; k < to; k++) {
        uint32_t other = b->item_of[b->sync->items[k].source];
        if (other != RS_NO_ITEM && rs_node_end(other) != source &&
            !rs_own_follow(b, rs_node_end(other), node, RS_EDGE_SYNC, 0, call))
            return false;
    }
    return true;
}

/* Edges inside of a thread's stretches; those between stretches come when all threads are known. */
static bool walk_thread(rs_own *b, host *h, uint32_t thread, size_t n_order)
{
    size_t depth = 0;
    uint32_t last = RS_NO_ITEM, loader = RS_NO_ITEM;
    size_t loader_depth = 0;
    for (size_t i = 0; i < n_order; i++) {
        uint32_t item = h->order[i] >> 1;
        bool leaves = h->order[i] & RS_STACK_END;
        uint32_t node = leaves ? rs_node_end(item) : rs_node_start(item);
        if (!leaves && depth == 0) {
            if (!RS_PUSH(h->stretches, h->n_stretches, h->stretch_capacity,
                         (stretch){.start = b->g->start[item], .thread = thread, .first = node}))
                return false;
        } else {
            uint32_t owner = loader != RS_NO_ITEM ? loader
                             : leaves             ? item
                             : !(last & 1)        ? last >> 1
                                                  : h->stack[depth - 1];
            bool ok = leaves ? leave_call(b, h, thread, last, node, owner)
                             : bind_to_thread(b, h, thread, last, node, owner);
            if (!ok) return false;
        }
        if (!leaves) {
            h->stack[depth++] = item;
            if (loader == RS_NO_ITEM && b->loads->named[b->e->name[b->g->row[item]]]) {
                loader = item;
                loader_depth = depth;
            }
        } else {
            h->gone[item] = 1; /* events that overlap without nesting end in any order */
            while (depth && h->gone[h->stack[depth - 1]]) depth--;
            if (depth < loader_depth) {
                loader = RS_NO_ITEM;
                loader_depth = 0;
            }
        }
        last = node;
        if (depth == 0) {
            h->stretches[h->n_stretches - 1].end = b->g->end[item];
            h->stretches[h->n_stretches - 1].last = node;
        }
    }
    return true;
}

/* Whether the thread was in no event at t. */
static bool is_idle(const host *h, uint32_t thread, int64_t t)
{
    size_t at, begin = h->stretch_first[thread];
    RS_SEARCH_BETWEEN(at, begin, h->stretch_first[thread + 1], h->stretches[at].start < t);
    return at == begin || h->stretches[at - 1].end <= t;
}

/* What is known of other threads when a stretch begins. */
typedef struct others {
    rs_keyed *begins, *ends; /* stretches by start, by end */
    rs_keyed *backward;      /* items of autograd's functions, by end */
    size_t n_backward;
    size_t done, evaluated; /* how many of ends and backward lie before the stretch */
} others;

static void advance(const host *h, others *o, int64_t to)
{
    while (o->done < h->n_stretches && o->ends[o->done].key <= to) o->done++;
    while (o->evaluated < o->n_backward && o->backward[o->evaluated].key <= to) o->evaluated++;
}

/* The node of another thread that the stretch waited for, RS_NO_ITEM if none shows. pause: since when its
 * thread had been idle.
 *  - One of autograd's functions begins when one before it is done, which may have run on another thread.
 *  - A thread waited for another one of its process if that worked in the pause only and was done just
 * before: autograd's thread and the one that calls it. */
static uint32_t waited_for(const rs_own *b, const host *h, const others *o, const stretch *s, int64_t pause)
{
    if (o->evaluated && b->role[b->e->name[b->g->row[s->first >> 1]]] == RS_OWN_BACKWARD) {
        uint32_t item = o->backward[o->evaluated - 1].value, thread = b->e->thread[b->g->row[item]];
        if (thread != s->thread && same_process(b, thread, s->thread) && b->g->end[item] > pause)
            return rs_node_end(item);
    }
    const stretch *other = o->done ? &h->stretches[o->ends[o->done - 1].value] : NULL;
    bool joined = other && other->thread != s->thread && same_process(b, other->thread, s->thread) &&
                  other->end > pause && other->end < s->start && is_idle(h, other->thread, pause) &&
                  is_idle(h, other->thread, s->start);
    return joined ? other->last : RS_NO_ITEM;
}

static bool join_stretch(rs_own *b, host *h, const others *o, const stretch *s)
{
    bool is_first = s == h->stretches + h->stretch_first[s->thread];
    uint32_t from = is_first ? rs_node_start(RS_OWN_WINDOW) : s[-1].last;
    bool bound;
    if (!bind_to_communication(b, h, s->thread, from, s->first, false, RS_NO_ITEM, &bound)) return false;
    if (bound) return true;
    uint32_t other = waited_for(b, h, o, s, is_first ? b->start : s[-1].end);
    if (other == RS_NO_ITEM) return rs_own_bind(b, from, s->first, RS_EDGE_DEPENDENCY, RS_NO_ITEM);
    return rs_own_bind(b, other, s->first, RS_EDGE_DEPENDENCY, RS_NO_ITEM) &&
           rs_own_follow(b, from, s->first, RS_EDGE_DEPENDENCY, 0, RS_NO_ITEM);
}

static bool join_stretches(rs_own *b, host *h)
{
    const rs_path_graph *g = b->g;
    size_t n = h->n_stretches;
    others o = {.begins = rs_malloc(n * sizeof *o.begins),
                .ends = rs_malloc(n * sizeof *o.ends),
                .backward = rs_malloc(g->n_items * sizeof *o.backward)};
    bool ok = o.begins && o.ends && o.backward;
    for (size_t i = 0; ok && i < n; i++) {
        o.begins[i] = (rs_keyed){h->stretches[i].start, (uint32_t)i};
        o.ends[i] = (rs_keyed){h->stretches[i].end, (uint32_t)i};
    }
    for (uint32_t i = 1; ok && i < g->n_items; i++) {
        if (!is_event(b, i)) continue;
        uint8_t role = b->role[b->e->name[g->row[i]]];
        if (role == RS_OWN_BACKWARD) o.backward[o.n_backward++] = (rs_keyed){g->end[i], i};
    }
    ok = ok && rs_keyed_sort(o.begins, n) && rs_keyed_sort(o.ends, n) &&
         rs_keyed_sort(o.backward, o.n_backward);
    for (size_t i = 0; ok && i < n; i++) {
        const stretch *s = &h->stretches[o.begins[i].value];
        advance(h, &o, s->start);
        ok = join_stretch(b, h, &o, s);
    }
    rs_free_all(o.begins, o.ends, o.backward);
    return ok;
}

/* ---- communication that the host runs ------------------------------------------------------------------ */

/* Whether the thread that submitted it runs it, as gloo's sends and receives, and not a worker. What no operator submitted
 * is of the thread that runs it (XLA's). */
static bool is_of_caller(const rs_own *b, uint32_t span)
{
    uint32_t call = rs_own_call_of(b, span);
    return call == RS_NO_ITEM || b->e->thread[b->g->row[call]] == b->e->thread[b->g->row[span]];
}

/* Spans by thread, then end; of_caller: those of threads that submitted them. */
static bool index_by_thread(const rs_own *b, const rs_keyed *ends, size_t n, bool of_caller,
                            struct by_thread *out)
{
    size_t n_threads = b->e->n_threads;
    out->items = rs_malloc((n + 1) * sizeof *out->items);
    out->first = rs_calloc(n_threads + 3, sizeof *out->first);
    if (!out->items || !out->first) return false;
    for (size_t i = 0; i < n; i++)
        if (is_of_caller(b, ends[i].value) == of_caller)
            out->first[b->e->thread[b->g->row[ends[i].value]] + 2]++;
    for (size_t i = 1; i <= n_threads; i++) out->first[i + 1] += out->first[i];
    for (size_t i = 0; i < n; i++)
        if (is_of_caller(b, ends[i].value) == of_caller)
            out->items[out->first[b->e->thread[b->g->row[ends[i].value]] + 1]++] = ends[i];
    return true;
}

static bool index_spans(const rs_own *b, host *h)
{
    const rs_path_graph *g = b->g;
    size_t n = 0;
    RS_LOCAL rs_keyed *ends = rs_malloc(g->n_items * sizeof *ends);
    h->of_workers = rs_malloc(g->n_items * sizeof *h->of_workers);
    h->before = rs_calloc(g->n_items, sizeof *h->before);
    if (!ends || !h->of_workers || !h->before) return false;
    for (uint32_t i = 1; i < g->n_items; i++)
        if (rs_own_is_span(b, i)) ends[n++] = (rs_keyed){g->end[i], i};
    if (!rs_keyed_sort(ends, n)) return false;
    h->any_spans = n > 0;
    for (size_t i = 0; i < n; i++)
        if (!is_of_caller(b, ends[i].value)) h->of_workers[h->n_of_workers++] = ends[i];
    return index_by_thread(b, ends, n, false, &h->of_worker) &&
           index_by_thread(b, ends, n, true, &h->of_caller);
}

/* A span begins where it was submitted, or where its worker has done the one before it: the later of both. before: that
 * one, RS_NO_ITEM: there is none. */
static bool connect_span(rs_own *b, const host *h, uint32_t span, uint32_t before)
{
    const rs_path_graph *g = b->g;
    uint32_t call = rs_own_call_of(b, span), node = rs_node_start(span);
    uint32_t from = call == RS_NO_ITEM                 ? h->before[span]
                    : g->end[call] <= g->start[span]   ? rs_node_end(call)
                    : g->start[call] <= g->start[span] ? rs_node_start(call)
                                                       : rs_node_start(RS_OWN_WINDOW);
    bool queued = before != RS_NO_ITEM && g->end[before] <= g->start[span];
    uint32_t last = queued ? rs_node_end(before) : RS_NO_ITEM;
    if (queued && g->end[before] > rs_node_time(g, from)) {
        uint32_t swap = from;
        from = last;
        last = swap;
    }
    return rs_own_bind(b, from, node, RS_EDGE_DEPENDENCY, RS_NO_ITEM) &&
           (last == RS_NO_ITEM || rs_own_follow(b, last, node, RS_EDGE_DEPENDENCY, 0, RS_NO_ITEM)) &&
           rs_own_bind(b, node, rs_node_end(span), RS_EDGE_OPERATOR, span);
}

/* by_start: the spans of all threads. last: by thread, its last span. */
static bool connect_spans(rs_own *b, const host *h)
{
    const rs_path_graph *g = b->g;
    size_t n = 0;
    RS_LOCAL rs_keyed *by_start = rs_malloc(g->n_items * sizeof *by_start);
    RS_LOCAL uint32_t *last = rs_malloc((b->e->n_threads + 1) * sizeof *last);
    if (!by_start || !last) return false;
    for (size_t i = 0; i < b->e->n_threads; i++) last[i] = RS_NO_ITEM;
    for (uint32_t i = 1; i < g->n_items; i++)
        if (rs_own_is_span(b, i)) by_start[n++] = (rs_keyed){g->start[i], i};
    if (!rs_keyed_sort(by_start, n)) return false;
    for (size_t i = 0; i < n; i++) {
        uint32_t span = by_start[i].value, *before = &last[b->e->thread[g->row[span]]];
        if (!connect_span(b, h, span, is_of_caller(b, span) ? RS_NO_ITEM : *before)) return false;
        *before = span;
    }
    return true;
}

static void leave_out_inner(const rs_own *b, const host *h)
{
    for (uint32_t i = 1; i < b->g->n_items; i++) {
        if (!is_event(b, i)) continue;
        uint32_t thread = b->e->thread[b->g->row[i]];
        const rs_keyed *own = h->of_worker.items + h->of_worker.first[thread];
        size_t n = h->of_worker.first[thread + 1] - h->of_worker.first[thread], at;
        int64_t start = b->g->start[i];
        RS_SEARCH(at, n, own[at].key <= start);
        if (at < n && b->g->start[own[at].value] <= start) b->g->in_graph[i] = 0;
    }
}

static void drop_walk(host *h)
{
    rs_free_all(h->nested, h->order, h->stack, h->gone);
    h->nested = NULL;
    h->order = h->stack = NULL;
    h->gone = NULL;
}

static bool walk_host(rs_own *b, host *h)
{
    const rs_path_graph *g = b->g;
    size_t n_threads = b->e->n_threads;
    if (h->n_of_workers) leave_out_inner(b, h);
    for (uint32_t i = 1; i < g->n_items; i++)
        if (is_event(b, i)) h->first[b->e->thread[g->row[i]] + 2]++;
    for (size_t i = 1; i <= n_threads; i++) h->first[i + 1] += h->first[i];
    for (uint32_t i = 1; i < g->n_items; i++) {
        if (!is_event(b, i)) continue;
        uint32_t thread = b->e->thread[g->row[i]];
        h->nested[h->first[thread + 1]++] = (rs_nested){g->start[i], g->end[i], (uint32_t)i};
    }
    for (size_t i = 0; i < n_threads; i++) {
        size_t n = h->first[i + 1] - h->first[i];
        h->stretch_first[i] = h->n_stretches;
        if (n && (!rs_call_stack_order(h->nested + h->first[i], n, h->order) ||
                  !walk_thread(b, h, (uint32_t)i, 2 * n)))
            return false;
    }
    h->stretch_first[n_threads] = h->n_stretches;
    drop_walk(h); /* before edges between threads, and those of the GPU, take its room */
    return join_stretches(b, h) && connect_spans(b, h);
}

/* The node of the host that is the last before the window's end: of the annotation's thread, or in a whole
 * trace of those that launch GPU work, if any does. */
static uint32_t last_of_host(const rs_own *b)
{
    const rs_path_graph *g = b->g;
    uint32_t best = rs_node_start(RS_OWN_WINDOW);
    bool any = false;
    for (size_t i = 0; i < b->e->n_threads; i++) any |= b->launches[i];
    for (uint32_t i = 1; i < g->n_items; i++) {
        if (b->work_of[i] != RS_NO_ITEM || !g->in_graph[i]) continue;
        uint32_t thread = b->e->thread[g->row[i]];
        if (b->thread == UINT32_MAX ? any && !b->launches[thread] : thread != b->thread) continue;
        if (g->end[i] <= b->host_end && g->end[i] >= rs_node_time(g, best)) {
            /* of those that end together the outermost ends last */
            bool inner = (best & 1) && g->end[i] == g->end[best >> 1] && g->start[i] >= g->start[best >> 1];
            if (!inner) best = rs_node_end(i);
        }
        if (g->start[i] <= b->host_end && g->start[i] > rs_node_time(g, best)) best = rs_node_start(i);
    }
    return best;
}

static bool end_window(rs_own *b)
{
    uint32_t end = rs_node_end(RS_OWN_WINDOW), on_host = last_of_host(b);
    uint32_t item = b->last_work == RS_NO_ITEM ? RS_NO_ITEM : b->item_of[b->w->row[b->last_work]];
    if (item == RS_NO_ITEM) return rs_own_bind(b, on_host, end, RS_EDGE_DEPENDENCY, RS_NO_ITEM);
    return rs_own_bind(b, rs_node_end(item), end, RS_EDGE_DEPENDENCY, RS_NO_ITEM) &&
           rs_own_follow(b, on_host, end, RS_EDGE_DEPENDENCY, 0, RS_NO_ITEM);
}

bool rs_own_add_host_edges(rs_own *b)
{
    size_t n = b->g->n_items, n_threads = b->e->n_threads;
    host h = {.first = rs_calloc(n_threads + 2, sizeof *h.first),
              .nested = rs_malloc(n * sizeof *h.nested),
              .order = rs_malloc(2 * n * sizeof *h.order),
              .stack = rs_malloc(n * sizeof *h.stack),
              .gone = rs_calloc(n + 1, 1),
              .stretch_first = rs_calloc(n_threads + 2, sizeof *h.stretch_first)};
    bool ok = h.first && h.nested && h.order && h.stack && h.gone && h.stretch_first && index_spans(b, &h) &&
              walk_host(b, &h) && end_window(b);
    drop_walk(&h);
    rs_free_all(h.first, h.stretches, h.stretch_first, h.of_workers, h.before, h.of_worker.items,
                h.of_worker.first, h.of_caller.items, h.of_caller.first);
    return ok;
}
