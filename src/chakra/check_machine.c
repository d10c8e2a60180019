/* A run of a trace on a machine with as many threads and streams as the trace names. A node starts when all
 * of its data dependencies have ended and its thread or stream is free; of several that may start, the one
 * that could first, then the lowest id. It takes duration_micros.
 *
 * The other machine is ASTRA-sim's: a CPU, a compute engine and a communication engine. */
#include <string.h>

#include "base/interval.h"
#include "chakra/check_internal.h"

typedef struct entry {
    int64_t time; /* us */
    uint64_t id;
    uint32_t node;
    bool ends;
} entry;

typedef struct heap {
    entry *items;
    size_t n, capacity;
} heap;

/* A thread or a stream. */
typedef struct place {
    heap waiting;
    int64_t free; /* us */
    bool touched;
} place;

typedef struct machine {
    const rs_check *c;
    bool astra;
    uint32_t *place_of; /* by node */
    place *places;
    size_t n_places;
    uint32_t *left;  /* by node: dependencies that have not ended */
    uint64_t *first; /* by node: its first successor */
    uint32_t *after; /* successors */
    int64_t *start;  /* by node, us; -1: it never starts */
    heap events;
    uint32_t *touched; /* places with something new */
    size_t n_touched, touched_capacity;
    int64_t last; /* us */
} machine;

/* ---- heaps ------------------------------------------------------------------------------------------ */

static bool before(const entry *a, const entry *b)
{
    if (a->time != b->time) return a->time < b->time;
    if (a->id != b->id) return a->id < b->id;
    return a->node < b->node;
}

static bool push(heap *h, entry e)
{
    if (!RS_GROW_ONE(h->items, h->n, h->capacity)) return false;
    size_t at = h->n++;
    for (; at && before(&e, &h->items[(at - 1) / 2]); at = (at - 1) / 2)
        h->items[at] = h->items[(at - 1) / 2];
    h->items[at] = e;
    return true;
}

static entry pop(heap *h)
{
    entry top = h->items[0], last = h->items[--h->n];
    size_t at = 0;
    for (size_t child = 1; child < h->n; child = 2 * at + 1) {
        if (child + 1 < h->n && before(&h->items[child + 1], &h->items[child])) child++;
        if (!before(&h->items[child], &last)) break;
        h->items[at] = h->items[child];
        at = child;
    }
    h->items[at] = last;
    return top;
}

/* ---- making it -------------------------------------------------------------------------------------- */

typedef struct numbering {
    rs_map64 threads, devices, streams, lanes;
    uint32_t n_devices, n_streams, n_places;
} numbering;

static bool number(rs_map64 *map, int64_t key, uint32_t *next, uint32_t *out)
{
    bool fresh;
    uint32_t *at = rs_map64_put(map, (uint64_t)key, &fresh);
    if (at && fresh) *at = (*next)++;
    if (at) *out = *at;
    return at != NULL;
}

/* What names neither a thread nor a stream waits for none: it has a place of its own. */
static bool find_place(numbering *x, const rs_check_node *n, uint32_t *out)
{
    uint32_t device, stream;
    if (n->gpu ? !n->has_stream : !n->has_tid) {
        *out = x->n_places++;
        return true;
    }
    if (!n->gpu) return number(&x->threads, n->tid, &x->n_places, out);
    return number(&x->devices, n->device, &x->n_devices, &device) &&
           number(&x->streams, n->stream, &x->n_streams, &stream) &&
           number(&x->lanes, (int64_t)((uint64_t)device << 32 | stream), &x->n_places, out);
}

/* ASTRA-sim has one of each kind for a rank. */
static uint32_t engine_of(const rs_check_node *n)
{
    return n->type >= RS__ET__NODE_TYPE__COMM_SEND_NODE ? 2 : n->gpu;
}

static bool make_places(machine *m)
{
    numbering x = {0};
    bool ok = true;
    if (m->astra) x.n_places = 3;
    for (size_t i = 0; m->astra && i < m->c->n_nodes; i++) m->place_of[i] = engine_of(&m->c->nodes[i]);
    for (size_t i = 0; ok && !m->astra && i < m->c->n_nodes; i++)
        ok = find_place(&x, &m->c->nodes[i], &m->place_of[i]);
    m->n_places = x.n_places;
    m->places = ok ? rs_calloc(m->n_places + 1, sizeof *m->places) : NULL;
    rs_map64_clear(&x.threads);
    rs_map64_clear(&x.devices);
    rs_map64_clear(&x.streams);
    rs_map64_clear(&x.lanes);
    return m->places != NULL;
}

/* What no feeder would issue never starts here either. */
static bool make_successors(machine *m)
{
    const rs_check *c = m->c;
    size_t n = c->n_nodes;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < n; i++) {
            const rs_check_node *node = &c->nodes[i];
            if (!node->issued && !pass) m->left[i] = 1;
            for (uint32_t k = 0; k < node->n_data; k++) {
                uint32_t at = rs_check_find(c, c->deps[node->data + k]);
                if (at == RS_LINKED_NONE) continue;
                if (!pass) {
                    m->first[at + 2]++;
                    m->left[i]++;
                } else {
                    m->after[m->first[at + 1]++] = (uint32_t)i;
                }
            }
        }
        if (pass) break;
        for (size_t i = 2; i < n + 2; i++) m->first[i] += m->first[i - 1];
        m->after = rs_malloc((size_t)(m->first[n + 1] + 1) * sizeof *m->after);
        if (!m->after) return false;
    }
    return true;
}

/* ---- running ---------------------------------------------------------------------------------------- */

static int64_t duration_of(const rs_check_node *n)
{
    return n->micros_duration > INT64_MAX / 2000 ? INT64_MAX / 2000 : (int64_t)n->micros_duration;
}

static bool touch(machine *m, uint32_t at)
{
    if (m->places[at].touched) return true;
    if (!RS_GROW_ONE(m->touched, m->n_touched, m->touched_capacity)) return false;
    m->places[at].touched = true;
    m->touched[m->n_touched++] = at;
    return true;
}

static bool handle(machine *m, const entry *e)
{
    uint32_t at = m->place_of[e->node];
    if (!touch(m, at)) return false;
    if (!e->ends) return push(&m->places[at].waiting, *e);
    for (uint64_t k = m->first[e->node]; k < m->first[e->node + 1]; k++) {
        uint32_t next = m->after[k];
        entry ready = {e->time, m->c->nodes[next].id, next, false};
        if (--m->left[next] == 0 && !push(&m->events, ready)) return false;
    }
    return true;
}

static bool start_next(machine *m, place *p, int64_t now)
{
    p->touched = false;
    if (!p->waiting.n || p->free > now) return true;
    entry e = pop(&p->waiting);
    m->start[e.node] = now;
    p->free = rs_add_sat(now, duration_of(&m->c->nodes[e.node]));
    if (p->free > m->last) m->last = p->free;
    return push(&m->events, (entry){p->free, e.id, e.node, true});
}

static bool run(machine *m)
{
    for (size_t i = 0; i < m->c->n_nodes; i++) {
        m->start[i] = -1;
        if (!m->left[i] && !push(&m->events, (entry){0, m->c->nodes[i].id, (uint32_t)i, false})) return false;
    }
    while (m->events.n) {
        int64_t now = m->events.items[0].time;
        /* What becomes ready in the course of a round takes part in the next one of the same moment. */
        size_t round = 0;
        entry *batch = NULL;
        size_t capacity = 0;
        bool ok = true;
        while (ok && m->events.n && m->events.items[0].time == now) {
            ok = RS_GROW_ONE(batch, round, capacity);
            if (ok) batch[round++] = pop(&m->events);
        }
        for (size_t i = 0; ok && i < round; i++) ok = handle(m, &batch[i]);
        for (size_t i = 0; ok && i < m->n_touched; i++) ok = start_next(m, &m->places[m->touched[i]], now);
        m->n_touched = 0;
        rs_free(batch);
        if (!ok) return false;
    }
    return true;
}

rs_status rs_check_run(const rs_check *c, bool astra, int64_t *time, rs_error *err)
{
    size_t n = c->n_nodes;
    machine m = {.c = c,
                 .astra = astra,
                 .place_of = rs_malloc((n + 1) * sizeof *m.place_of),
                 .left = rs_calloc(n + 1, sizeof *m.left),
                 .first = rs_calloc(n + 3, sizeof *m.first),
                 .start = rs_malloc((n + 1) * sizeof *m.start)};
    bool ok = m.place_of && m.left && m.first && m.start && make_places(&m) && make_successors(&m) && run(&m);
    int64_t from = INT64_MAX;
    for (size_t i = 0; ok && i < n; i++)
        if (m.start[i] >= 0 && (c->nodes[i].timed || !c->has_recorded) && !c->nodes[i].gap &&
            m.start[i] < from)
            from = m.start[i];
    *time = from > m.last ? 0 : (m.last - from) * 1000;
    for (size_t i = 0; i < m.n_places && m.places; i++) rs_free(m.places[i].waiting.items);
    rs_free(m.places);
    rs_free(m.place_of);
    rs_free(m.left);
    rs_free(m.first);
    rs_free(m.after);
    rs_free(m.start);
    rs_free(m.events.items);
    rs_free(m.touched);
    return ok ? RS_OK : rs_fail_nomem(err, "a replay");
}
