/* A run of traces on a machine with as many threads and streams as they name. A node starts when all of its
 * data dependencies have ended and its thread or stream is free; of several that may start, the one that could
 * first, then the lowest id. It takes duration_micros.
 *
 * Of the ranks of a job the nodes that meet (check_job.c) hold their streams until the last of them has come,
 * and end as long after that as they did in the recording.
 *
 * The other machine is ASTRA-sim's: a CPU, a compute engine and a communication engine. */
#include <string.h>

#include "base/heap.h"
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

/* A meeting in the run. */
typedef struct gathering {
    int64_t last; /* us: when the last one that is here came */
    uint32_t missing;
} gathering;

/* Nodes of all files are numbered through. */
typedef struct machine {
    const rs_check *files;
    size_t n_files;
    const rs_check_plan *plan; /* NULL: nobody meets */
    bool astra;
    size_t n;
    const rs_check_node **nodes;
    uint32_t *place_of; /* by node */
    place *places;
    size_t n_places;
    uint32_t *left;  /* by node: dependencies that have not ended */
    uint64_t *first; /* by node: its first successor */
    uint32_t *after; /* successors */
    int64_t *start;  /* by node, us; -1: it never starts */
    gathering *gatherings;
    heap events;
    uint32_t *touched; /* places with something new */
    size_t n_touched, touched_capacity;
    int64_t last; /* us */
} machine;

/* ---- heaps ------------------------------------------------------------------------------------------ */

static bool before(entry a, entry b)
{
    if (a.time != b.time) return a.time < b.time;
    if (a.id != b.id) return a.id < b.id;
    return a.node < b.node;
}

static bool push(heap *h, entry e)
{
    if (!RS_GROW_ONE(h->items, h->n, h->capacity)) return false;
    RS_HEAP_UP(h->items, h->n++, e, before, RS_HEAP_UNMARKED);
    return true;
}

static entry pop(heap *h)
{
    entry top = h->items[0], last = h->items[--h->n];
    RS_HEAP_DOWN(h->items, h->n, last, before, RS_HEAP_UNMARKED);
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
#define N_ENGINES 3
static uint32_t engine_of(const rs_check_node *n)
{
    return n->type >= RS__ET__NODE_TYPE__COMM_SEND_NODE ? 2 : n->gpu;
}

static bool make_places(machine *m)
{
    uint32_t n_places = 0;
    bool ok = true;
    for (size_t f = 0, at = 0; f < m->n_files && ok; f++) {
        const rs_check *c = &m->files[f];
        numbering x = {.n_places = n_places};
        for (size_t i = 0; ok && i < c->n_nodes; i++, at++) {
            if (m->astra)
                m->place_of[at] = n_places + engine_of(&c->nodes[i]);
            else
                ok = find_place(&x, &c->nodes[i], &m->place_of[at]);
        }
        n_places = m->astra ? n_places + N_ENGINES : x.n_places;
        rs_map64_clear(&x.threads);
        rs_map64_clear(&x.devices);
        rs_map64_clear(&x.streams);
        rs_map64_clear(&x.lanes);
    }
    m->n_places = n_places;
    m->places = ok ? rs_calloc(m->n_places + 1, sizeof *m->places) : NULL;
    return m->places != NULL;
}

static void link_file(machine *m, const rs_check *c, size_t base, bool count)
{
    for (size_t i = 0; i < c->n_nodes; i++) {
        const rs_check_node *node = &c->nodes[i];
        /* What no feeder would issue never starts here either. */
        if (!node->issued && count) m->left[base + i] = 1;
        for (uint32_t k = 0; k < node->n_data; k++) {
            uint32_t at = rs_check_find(c, c->deps[node->data + k]);
            if (at == RS_LINKED_NONE) continue;
            if (count) {
                m->first[base + at + 2]++;
                m->left[base + i]++;
            } else {
                m->after[m->first[base + at + 1]++] = (uint32_t)(base + i);
            }
        }
    }
}

static bool make_successors(machine *m)
{
    size_t base = 0;
    for (size_t f = 0; f < m->n_files; base += m->files[f++].n_nodes) link_file(m, &m->files[f], base, true);
    for (size_t i = 2; i < m->n + 2; i++) m->first[i] += m->first[i - 1];
    m->after = rs_malloc((size_t)(m->first[m->n + 1] + 1) * sizeof *m->after);
    if (!m->after) return false;
    base = 0;
    for (size_t f = 0; f < m->n_files; base += m->files[f++].n_nodes) link_file(m, &m->files[f], base, false);
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
        entry ready = {e->time, m->nodes[next]->id, next, false};
        if (--m->left[next] == 0 && !push(&m->events, ready)) return false;
    }
    return true;
}

static bool end_at(machine *m, uint32_t node, int64_t time)
{
    m->places[m->place_of[node]].free = time;
    if (time > m->last) m->last = time;
    return push(&m->events, (entry){time, m->nodes[node]->id, node, true});
}

/* The member has got its stream. Who came before the last one was there when it ended in the recording waits
 * for nobody. */
static bool meet(machine *m, uint32_t at, int64_t now)
{
    const rs_check_plan *plan = m->plan;
    const rs_check_member *own = &plan->members[at];
    const rs_check_meeting *meeting = &plan->meetings[own->meeting];
    gathering *g = &m->gatherings[own->meeting];
    int64_t come = rs_add_sat(now, own->delay);
    if (come > g->last) g->last = come;
    m->places[m->place_of[own->node]].free = INT64_MAX;
    bool ok = own->waits || end_at(m, own->node, rs_add_sat(now, duration_of(m->nodes[own->node])));
    if (--g->missing) return ok;
    for (uint32_t i = meeting->first; i < meeting->first + meeting->n && ok; i++)
        if (plan->members[i].waits)
            ok = end_at(m, plan->members[i].node, rs_add_sat(g->last, plan->members[i].stay));
    return ok;
}

static bool start_next(machine *m, place *p, int64_t now)
{
    p->touched = false;
    if (!p->waiting.n || p->free > now) return true;
    entry e = pop(&p->waiting);
    m->start[e.node] = now;
    uint32_t member = m->plan ? m->plan->member_of[e.node] : RS_LINKED_NONE;
    if (member != RS_LINKED_NONE) return meet(m, member, now);
    return end_at(m, e.node, rs_add_sat(now, duration_of(m->nodes[e.node])));
}

static bool begin(machine *m)
{
    for (size_t f = 0, at = 0; f < m->n_files; f++)
        for (size_t i = 0; i < m->files[f].n_nodes; i++, at++) {
            entry ready = {m->plan ? m->plan->begin[f] : 0, m->nodes[at]->id, (uint32_t)at, false};
            m->start[at] = -1;
            if (!m->left[at] && !push(&m->events, ready)) return false;
        }
    for (size_t k = 0; m->plan && k < m->plan->n_meetings; k++)
        m->gatherings[k] = (gathering){INT64_MIN, m->plan->meetings[k].n};
    return true;
}

static bool run(machine *m)
{
    RS_LOCAL entry *batch = NULL;
    size_t capacity = 0;
    bool ok = begin(m);
    while (ok && m->events.n) {
        int64_t now = m->events.items[0].time;
        /* What becomes ready in the course of a round takes part in the next one of the same moment. */
        size_t round = 0;
        while (ok && m->events.n && m->events.items[0].time == now)
            ok = RS_PUSH(batch, round, capacity, pop(&m->events));
        for (size_t i = 0; ok && i < round; i++) ok = handle(m, &batch[i]);
        for (size_t i = 0; ok && i < m->n_touched; i++) ok = start_next(m, &m->places[m->touched[i]], now);
        m->n_touched = 0;
    }
    return ok;
}

static int64_t span(const machine *m)
{
    int64_t from = INT64_MAX;
    for (size_t f = 0, at = 0; f < m->n_files; f++)
        for (size_t i = 0; i < m->files[f].n_nodes; i++, at++) {
            const rs_check *c = &m->files[f];
            bool counts = (c->nodes[i].timed || !c->has_recorded) && !c->nodes[i].gap;
            if (m->start[at] >= 0 && counts && m->start[at] < from) from = m->start[at];
        }
    int64_t us = from > m->last ? 0 : m->last - from;
    return us > INT64_MAX / 1000 ? INT64_MAX : us * 1000;
}

/* The first meeting to which some came and others did not. */
static void find_stuck(const machine *m, rs_check_outcome *out)
{
    out->stuck = RS_LINKED_NONE;
    for (size_t k = 0; m->plan && k < m->plan->n_meetings; k++) {
        const rs_check_meeting *meeting = &m->plan->meetings[k];
        if (!m->gatherings[k].missing || m->gatherings[k].missing == meeting->n) continue;
        if (!out->n_stuck++) out->stuck = (uint32_t)k;
    }
    for (uint32_t i = 0; out->n_stuck && i < m->plan->meetings[out->stuck].n; i++) {
        uint32_t member = m->plan->meetings[out->stuck].first + i;
        if (m->start[m->plan->members[member].node] >= 0)
            out->came = member;
        else
            out->stayed_away = member;
    }
}

rs_status rs_check_run(const rs_check *files, size_t n_files, bool astra, const rs_check_plan *plan,
                       rs_check_outcome *out, rs_error *err)
{
    machine m = {.files = files, .n_files = n_files, .astra = astra, .plan = plan};
    *out = (rs_check_outcome){.stuck = RS_LINKED_NONE};
    for (size_t f = 0; f < n_files; f++) m.n += files[f].n_nodes;
    if (m.n >= RS_LINKED_NONE - 1)
        return rs_fail(err, RS_ERR_LIMIT, "the traces have too many nodes together");
    m.nodes = rs_malloc((m.n + 1) * sizeof *m.nodes);
    m.place_of = rs_malloc((m.n + 1) * sizeof *m.place_of);
    m.left = rs_calloc(m.n + 1, sizeof *m.left);
    m.first = rs_calloc(m.n + 3, sizeof *m.first);
    m.start = rs_malloc((m.n + 1) * sizeof *m.start);
    m.gatherings = rs_malloc(((plan ? plan->n_meetings : 0) + 1) * sizeof *m.gatherings);
    bool ok = m.nodes && m.place_of && m.left && m.first && m.start && m.gatherings;
    for (size_t f = 0, at = 0; f < n_files && ok; f++)
        for (size_t i = 0; i < files[f].n_nodes; i++) m.nodes[at++] = &files[f].nodes[i];
    ok = ok && make_places(&m) && make_successors(&m) && run(&m);
    if (ok) {
        out->time = span(&m);
        find_stuck(&m, out);
    }
    for (size_t i = 0; i < m.n_places && m.places; i++) rs_free(m.places[i].waiting.items);
    rs_free_all(m.nodes, m.places, m.place_of, m.left, m.first, m.after, m.start, m.gatherings,
                m.events.items, m.touched);
    return ok ? RS_OK : rs_fail_nomem(err, "a replay");
}
