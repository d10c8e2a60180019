/* The host side of the event graph: what each thread did in turn, which thread waited for which, and where
 * the window ends. */
#include "base/interval.h"
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
} host;

/* The work that held up the call's return, RS_NO_ITEM if it did not wait. */
static uint32_t awaited_by(const rs_own *b, uint32_t call)
{
    const rs_path_graph *g = b->g;
    uint32_t latest = RS_NO_ITEM;
    for (size_t k = b->sync_first[call]; k < b->sync_first[call + 1]; k++) {
        uint32_t source = b->item_of[b->sync->items[b->sync_at[k]].source];
        if (source == RS_NO_ITEM || g->end[source] <= g->start[call]) continue;
        if (b->strict && g->end[source] > g->end[call]) continue;
        if (latest == RS_NO_ITEM || g->end[source] > g->end[latest]) latest = source;
    }
    if (latest == RS_NO_ITEM) return RS_NO_ITEM;
    if (!b->cost.call || !b->cost.answer) return latest; /* nothing to compare with */
    int64_t by_itself = rs_sub_sat(rs_sub_sat(g->end[call], g->start[call]), b->cost.call);
    int64_t behind_work = rs_sub_sat(rs_sub_sat(g->end[call], g->end[latest]), b->cost.answer);
    return behind_work <= by_itself ? latest : RS_NO_ITEM;
}

static bool leave_call(rs_own *b, uint32_t last, uint32_t node, uint32_t owner)
{
    uint32_t call = node >> 1, source = awaited_by(b, call);
    if (source != RS_NO_ITEM) {
        if (!rs_own_bind(b, rs_node_end(source), node, RS_EDGE_SYNC, call)) return false;
        if (!rs_own_follow(b, last, node, RS_EDGE_OPERATOR, 0, owner)) return false;
    } else if (!rs_own_bind(b, last, node, RS_EDGE_OPERATOR, owner)) {
        return false;
    }
    for (size_t k = b->sync_first[call]; k < b->sync_first[call + 1]; k++) {
        uint32_t other = b->item_of[b->sync->items[b->sync_at[k]].source];
        if (other != RS_NO_ITEM && other != source &&
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
            if (!RS_GROW_ONE(h->stretches, h->n_stretches, h->stretch_capacity)) return false;
            h->stretches[h->n_stretches++] =
                (stretch){.start = b->g->start[item], .thread = thread, .first = node};
        } else {
            uint32_t owner = loader != RS_NO_ITEM ? loader
                             : leaves             ? item
                             : !(last & 1)        ? last >> 1
                                                  : h->stack[depth - 1];
            bool ok = leaves ? leave_call(b, last, node, owner)
                             : rs_own_bind(b, last, node, RS_EDGE_OPERATOR, owner);
            if (!ok) return false;
        }
        if (!leaves) {
            h->stack[depth++] = item;
            if (loader == RS_NO_ITEM && b->loading[b->e->name[b->g->row[item]]]) {
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
    size_t from = h->stretch_first[thread], to = h->stretch_first[thread + 1], begin = from;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (h->stretches[middle].start < t)
            from = middle + 1;
        else
            to = middle;
    }
    return from == begin || h->stretches[from - 1].end <= t;
}

/* A thread that comes back after a pause was waiting for another thread of its process, if that one worked
 * in the pause only and was done just before: autograd's thread and the one that calls it. */
static bool join_stretches(rs_own *b, const host *h)
{
    const rs_events *e = b->e;
    size_t n = h->n_stretches;
    rs_keyed *begins = rs_malloc(n * sizeof *begins), *ends = rs_malloc(n * sizeof *ends);
    bool ok = begins && ends;
    for (size_t i = 0; ok && i < n; i++) {
        begins[i] = (rs_keyed){h->stretches[i].start, (uint32_t)i};
        ends[i] = (rs_keyed){h->stretches[i].end, (uint32_t)i};
    }
    ok = ok && rs_keyed_sort(begins, n) && rs_keyed_sort(ends, n);
    size_t done = 0; /* ends[done - 1] is the latest that lies before */
    for (size_t i = 0; ok && i < n; i++) {
        const stretch *s = &h->stretches[begins[i].value];
        while (done < n && ends[done].key <= s->start) done++;
        bool is_first = begins[i].value == h->stretch_first[s->thread];
        const stretch *own_last = is_first ? NULL : s - 1;
        const stretch *other = done ? &h->stretches[ends[done - 1].value] : NULL;
        int64_t pause = own_last ? own_last->end : b->start;
        uint32_t from = own_last ? own_last->last : rs_node_start(RS_OWN_WINDOW);
        bool joined = other && other->thread != s->thread && other->end > pause && other->end < s->start &&
                      e->threads[other->thread].pid == e->threads[s->thread].pid &&
                      is_idle(h, other->thread, pause) && is_idle(h, other->thread, s->start);
        if (joined)
            ok = rs_own_bind(b, other->last, s->first, RS_EDGE_DEPENDENCY, RS_NO_ITEM) &&
                 rs_own_follow(b, from, s->first, RS_EDGE_DEPENDENCY, 0, RS_NO_ITEM);
        else
            ok = rs_own_bind(b, from, s->first, RS_EDGE_DEPENDENCY, RS_NO_ITEM);
    }
    rs_free(begins);
    rs_free(ends);
    return ok;
}

static bool walk_host(rs_own *b, host *h)
{
    const rs_path_graph *g = b->g;
    size_t n_threads = b->e->n_threads;
    for (size_t i = 1; i < g->n_items; i++)
        if (b->work_of[i] == RS_NO_ITEM) h->first[b->e->thread[g->row[i]] + 2]++;
    for (size_t i = 1; i <= n_threads; i++) h->first[i + 1] += h->first[i];
    for (size_t i = 1; i < g->n_items; i++) {
        if (b->work_of[i] != RS_NO_ITEM) continue;
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
    return join_stretches(b, h);
}

/* The window ends when its thread gets there; the whole trace when the last of its events has ended. */
static bool end_window(rs_own *b)
{
    const rs_path_graph *g = b->g;
    uint32_t best = rs_node_start(RS_OWN_WINDOW);
    for (uint32_t i = 1; i < g->n_items; i++) {
        bool counts = b->thread == UINT32_MAX
                          ? true
                          : b->work_of[i] == RS_NO_ITEM && b->e->thread[g->row[i]] == b->thread;
        if (!counts) continue;
        if (g->end[i] <= b->end && g->end[i] >= rs_node_time(g, best)) {
            /* of those that end together the outermost ends last */
            bool inner = (best & 1) && g->end[i] == g->end[best >> 1] && g->start[i] >= g->start[best >> 1];
            if (!inner) best = rs_node_end(i);
        }
        if (g->start[i] <= b->end && g->start[i] > rs_node_time(g, best)) best = rs_node_start(i);
    }
    return rs_own_bind(b, best, rs_node_end(RS_OWN_WINDOW), RS_EDGE_DEPENDENCY, RS_NO_ITEM);
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
    bool ok = h.first && h.nested && h.order && h.stack && h.gone && h.stretch_first && walk_host(b, &h) &&
              end_window(b);
    rs_free(h.first);
    rs_free(h.nested);
    rs_free(h.order);
    rs_free(h.stack);
    rs_free(h.gone);
    rs_free(h.stretches);
    rs_free(h.stretch_first);
    return ok;
}
