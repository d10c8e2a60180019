#include "base/difference.h"
#include "base/heap.h"

#include "base/interval.h"
#include "base/memory.h"

#define NO_EDGE UINT32_MAX

static bool is_bound(const rs_difference_edge *e)
{
    return e->weight != RS_DIFFERENCE_NONE;
}

/* ---- feasibility -------------------------------------------------------------------------------------- */

/* Looks for a cycle among the edges that last lowered each node. Between the rounds of Bellman and Ford such
 * a cycle always has a negative weight. Returns its length, 0 if there is none. seen: scratch, by node. */
static size_t find_cycle(const rs_difference_system *s, const uint32_t *set_by, uint32_t *seen,
                         uint32_t *cycle)
{
    const size_t n_nodes = s->n_nodes;
    for (size_t i = 0; i < n_nodes; i++) seen[i] = 0;
    for (uint32_t start = 0; start < n_nodes; start++) {
        uint32_t at = start;
        while (!seen[at] && set_by[at] != NO_EDGE) {
            seen[at] = start + 1;
            at = s->edge(s->of, set_by[at]).from;
        }
        if (seen[at] != start + 1 || set_by[at] == NO_EDGE) {
            if (!seen[at]) seen[at] = start + 1;
            continue;
        }
        size_t n = 0;
        uint32_t first = at;
        do {
            cycle[n++] = set_by[at];
            at = s->edge(s->of, set_by[at]).from;
        } while (at != first);
        return n;
    }
    return 0;
}

rs_status rs_difference_solve(const rs_difference_system *s, int64_t *potential, uint32_t *cycle,
                              size_t *n_cycle, rs_error *err)
{
    const size_t n_nodes = s->n_nodes;
    RS_LOCAL uint32_t *set_by = rs_malloc((n_nodes + 1) * sizeof *set_by),
                      *seen = rs_malloc((n_nodes + 1) * sizeof *seen);
    *n_cycle = 0;
    if (!set_by || !seen) return rs_fail_nomem(err, "difference constraints");
    for (size_t i = 0; i < n_nodes; i++) set_by[i] = NO_EDGE;
    /* A system that can be met settles within n_nodes rounds, and one that cannot shows its cycle earlier:
     * the limit is a guard. */
    for (size_t round = 0; round <= n_nodes + 1 && !*n_cycle; round++) {
        bool moved = false;
        for (size_t i = 0; i < s->n_edges; i++) {
            const rs_difference_edge e = s->edge(s->of, i);
            if (!is_bound(&e)) continue;
            int64_t most = rs_add_sat(potential[e.from], e.weight);
            if (potential[e.to] <= most) continue;
            potential[e.to] = most;
            set_by[e.to] = (uint32_t)i;
            moved = true;
        }
        if (!moved) break;
        *n_cycle = find_cycle(s, set_by, seen, cycle);
    }
    return RS_OK;
}

/* ---- bounds ------------------------------------------------------------------------------------------- */

typedef struct place {
    int64_t length; /* with potentials: never negative */
    uint32_t node;
} place;

typedef struct walk {
    const rs_difference_system *s;
    const int64_t *potential;
    size_t *first;  /* by node + 1 */
    uint32_t *mine; /* edges by the node that they leave, or enter when backward */
    bool backward;
    place *heap;
    size_t n_heap;
    uint32_t *at; /* by node: its place in the heap, from 1; 0: not in it */
    int64_t *length;
} walk;

static bool before(place a, place b)
{
    return a.length != b.length ? a.length < b.length : a.node < b.node;
}

#define PLACED(i) w->at[w->heap[i].node] = (uint32_t)((i) + 1)

static uint32_t take_least(walk *w)
{
    uint32_t node = w->heap[0].node;
    place p = w->heap[--w->n_heap];
    RS_HEAP_DOWN(w->heap, w->n_heap, p, before, PLACED);
    w->at[node] = 0;
    return node;
}

/* The edge's weight made positive by the potentials. */
static int64_t reduced(const walk *w, const rs_difference_edge *e)
{
    int64_t by = rs_sub_sat(w->potential[e->from], w->potential[e->to]);
    int64_t length = rs_add_sat(e->weight, by);
    return length > 0 ? length : 0;
}

static void index_edges(walk *w, bool backward)
{
    const rs_difference_system *s = w->s;
    w->backward = backward;
    for (size_t i = 0; i <= s->n_nodes + 1; i++) w->first[i] = 0;
    for (size_t i = 0; i < s->n_edges; i++) {
        const rs_difference_edge e = s->edge(s->of, i);
        w->first[(backward ? e.to : e.from) + 2]++;
    }
    for (size_t i = 0; i < s->n_nodes; i++) w->first[i + 2] += w->first[i + 1];
    for (size_t i = 0; i < s->n_edges; i++) {
        const rs_difference_edge e = s->edge(s->of, i);
        w->mine[w->first[(backward ? e.to : e.from) + 1]++] = (uint32_t)i;
    }
}

static void shortest(walk *w, uint32_t source)
{
    for (size_t i = 0; i < w->s->n_nodes; i++) {
        w->length[i] = RS_DIFFERENCE_NONE;
        w->at[i] = 0;
    }
    w->length[source] = 0;
    w->n_heap = 1;
    w->heap[0] = (place){0, source};
    PLACED(0);
    while (w->n_heap) {
        uint32_t node = take_least(w);
        for (size_t i = w->first[node]; i < w->first[node + 1]; i++) {
            const rs_difference_edge e = w->s->edge(w->s->of, w->mine[i]);
            uint32_t other = w->backward ? e.from : e.to;
            if (!is_bound(&e)) continue;
            int64_t length = rs_add_sat(w->length[node], reduced(w, &e));
            if (length >= w->length[other]) continue;
            w->length[other] = length;
            place p = {length, other};
            RS_HEAP_UP(w->heap, w->at[other] ? w->at[other] - 1 : w->n_heap++, p, before, PLACED);
        }
    }
}

rs_status rs_difference_bounds(const rs_difference_system *s, const int64_t *potential, uint32_t source,
                               int64_t *least, int64_t *greatest, rs_error *err)
{
    const size_t n_nodes = s->n_nodes;
    walk w = {.s = s, .potential = potential};
    w.first = rs_malloc((n_nodes + 3) * sizeof *w.first);
    w.mine = rs_malloc((s->n_edges + 1) * sizeof *w.mine);
    w.heap = rs_malloc((n_nodes + 1) * sizeof *w.heap);
    w.at = rs_malloc((n_nodes + 1) * sizeof *w.at);
    bool ok = w.first && w.mine && w.heap && w.at;
    for (int backward = 0; ok && backward < 2; backward++) {
        w.length = backward ? least : greatest;
        index_edges(&w, backward);
        shortest(&w, source);
        for (size_t i = 0; i < n_nodes; i++) {
            if (w.length[i] == RS_DIFFERENCE_NONE) continue;
            int64_t by = rs_sub_sat(potential[i], potential[source]);
            w.length[i] = backward ? rs_sub_sat(by, w.length[i]) : rs_add_sat(w.length[i], by);
        }
    }
    rs_free_all(w.first, w.mine, w.heap, w.at);
    return ok ? RS_OK : rs_fail_nomem(err, "difference constraints");
}
