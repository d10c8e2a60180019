/* Certain intervals: one variable a rank (what its clock is ahead) and one a collective (when all had come,
 * negated). Each start and each end of a member is one constraint on their difference, so a collective of n
 * members costs 2n constraints and says the same as its n (n - 1) pairs. */
#include "clock/solve.h"

#include "base/difference.h"
#include "base/interval.h"
#include "base/memory.h"

/* The edges are not kept, they are made of the terms: of term k edge 2k, from its rank to its hub, of its start and
 * edge 2k + 1, back, of its end; then two of each tie. What is set aside binds nothing. */
typedef struct system {
    rs_terms *t;
    rs_clocks *clocks;
    rs_difference_system edges;
    bool stuck; /* ties contradict each other: there is nothing to take out */
    int64_t *potential;
    uint32_t *cycle;
} system_of;

static rs_difference_edge edge_of(const void *of, size_t i)
{
    const system_of *s = of;
    const rs_terms *t = s->t;
    if (i >= 2 * t->n) {
        const rs_clock_tie *tie = &t->ties[i / 2 - t->n];
        return i % 2 ? (rs_difference_edge){tie->b, tie->a, -tie->low}
                     : (rs_difference_edge){tie->a, tie->b, tie->high};
    }
    const rs_term *term = &t->items[i / 2];
    uint32_t hub = (uint32_t)s->clocks->n + term->hub;
    bool binds = !term->aside && (term->says & (i % 2 ? RS_TERM_END : RS_TERM_START));
    if (i % 2) return (rs_difference_edge){hub, term->rank, binds ? term->end : RS_DIFFERENCE_NONE};
    return (rs_difference_edge){term->rank, hub, binds ? -term->start : RS_DIFFERENCE_NONE};
}

static int64_t weight_of(const system_of *s, size_t edge)
{
    return edge_of(s, edge).weight;
}

/* Widens the terms by what they may be off by, so that all that follows may take them at their word. */
static void widen(rs_terms *t, rs_clocks *clocks)
{
    for (size_t i = 0; i < t->n; i++) {
        rs_term *term = &t->items[i];
        int64_t before = rs_term_slack(t, clocks, term, term->start);
        term->end += rs_term_slack(t, clocks, term, term->end);
        term->start -= before;
        if (!term->aside) clocks->of[term->rank].n += term->says != 0;
    }
}

static int64_t likely_of(const rs_clock *c)
{
    return c->low == RS_NO_TIME ? 0 : c->low + (c->high - c->low) / 2;
}

/* By how much a start and an end of one collective contradict what is likely. */
static int64_t violation(const system_of *s, size_t in, size_t out)
{
    const rs_difference_edge i = edge_of(s, in), o = edge_of(s, out);
    return likely_of(&s->clocks->of[o.to]) - likely_of(&s->clocks->of[i.from]) - (i.weight + o.weight);
}

static void take_out(system_of *s, uint32_t term)
{
    s->t->items[term].aside = true;
    rs_clock *c = &s->clocks->of[s->t->items[term].rank];
    c->n -= c->n > 0;
    c->n_removed++;
    c->n_set_aside++;
}

/* Of the collectives on a cycle the one that is farthest from what is likely goes. */
static bool break_cycle(system_of *s, size_t n_cycle)
{
    rs_clocks *clocks = s->clocks;
    size_t worst_in = SIZE_MAX, worst_out = 0;
    int64_t by = 0, sum = 0;
    for (size_t i = 0; i < n_cycle; i++) {
        /* the cycle lists edges against their direction: what leaves the hub is before what enters it */
        size_t out = s->cycle[i], in = s->cycle[(i + 1) % n_cycle];
        sum = rs_add_sat(sum, weight_of(s, out));
        if (edge_of(s, out).from < clocks->n || edge_of(s, in).to != edge_of(s, out).from) continue;
        int64_t v = violation(s, in, out);
        if (worst_in != SIZE_MAX && v <= by) continue;
        by = v;
        worst_in = in;
        worst_out = out;
    }
    s->stuck = worst_in == SIZE_MAX;
    if (s->stuck) return true;
    if (!RS_GROW_ONE(clocks->contradictions, clocks->n_contradictions, clocks->contradictions_capacity))
        return false;
    uint32_t hub = edge_of(s, worst_out).from - (uint32_t)clocks->n;
    clocks->contradictions[clocks->n_contradictions++] =
        (rs_clock_contradiction){s->t->hubs[hub].instance, rs_sub_sat(0, sum)};
    uint32_t terms[2] = {(uint32_t)(worst_in / 2), (uint32_t)(worst_out / 2)};
    take_out(s, terms[0]);
    if (terms[1] != terms[0]) take_out(s, terms[1]);
    return true;
}

static rs_status make_feasible(system_of *s, bool *feasible, rs_error *err)
{
    size_t most = s->t->n_hubs / 50 + 20;
    for (size_t turn = 0; turn <= most; turn++) {
        size_t n_cycle;
        rs_status status = rs_difference_solve(&s->edges, s->potential, s->cycle, &n_cycle, err);
        if (status != RS_OK) return status;
        if (!n_cycle) {
            *feasible = true;
            return RS_OK;
        }
        if (!break_cycle(s, n_cycle)) return rs_fail_nomem(err, "clocks");
        if (s->stuck) return RS_OK;
    }
    return RS_OK;
}

static void settle(rs_clock *c, bool feasible, int64_t least, int64_t greatest)
{
    if (c->status == RS_CLOCK_UNSTABLE) {
        c->low = c->high = RS_NO_TIME;
        return;
    }
    if (!feasible || c->n_removed * 100 > c->n + c->n_removed) {
        c->status = RS_CLOCK_CONTRADICTORY;
        c->low = c->high = RS_NO_TIME;
        return;
    }
    c->certain_low = least == RS_DIFFERENCE_NONE ? RS_NO_TIME : least;
    c->certain_high = greatest == RS_DIFFERENCE_NONE ? RS_NO_TIME : greatest;
    bool told = c->low != RS_NO_TIME;
    if (!told && (c->certain_low == RS_NO_TIME || c->certain_high == RS_NO_TIME)) {
        c->status = RS_CLOCK_UNBOUND;
        return;
    }
    int64_t low = told ? c->low : INT64_MIN, high = told ? c->high : INT64_MAX;
    int64_t middle = told ? likely_of(c) : RS_NO_TIME;
    if (c->certain_low != RS_NO_TIME && c->certain_low > low) low = c->certain_low;
    if (c->certain_high != RS_NO_TIME && c->certain_high < high) high = c->certain_high;
    if (low > high) { /* the two do not meet: only what is certain stands */
        low = c->certain_low == RS_NO_TIME ? high : c->certain_low;
        high = c->certain_high == RS_NO_TIME ? low : c->certain_high;
    }
    c->status = low == c->certain_low && high == c->certain_high ? RS_CLOCK_CERTAIN : RS_CLOCK_LIKELY;
    c->low = low;
    c->high = high;
    c->offset = middle == RS_NO_TIME ? low + (high - low) / 2
                : middle < low       ? low
                : middle > high      ? high
                                     : middle;
}

static void bound_pairs(const system_of *s)
{
    const rs_terms *t = s->t;
    for (size_t p = 0; p < t->n_pairs; p++) {
        rs_clock_pair *pair = &t->pairs[p];
        for (size_t i = t->first[p]; i < t->first[p + 1]; i++) {
            const rs_term *a = rs_point_a(t, i), *b = rs_point_b(t, i);
            if (a->aside || b->aside) continue;
            if ((a->says & RS_TERM_START) && (b->says & RS_TERM_END)) {
                int64_t high = b->end - a->start;
                if (pair->certain_high == RS_NO_TIME || high < pair->certain_high) pair->certain_high = high;
            }
            if ((b->says & RS_TERM_START) && (a->says & RS_TERM_END)) {
                int64_t low = b->start - a->end;
                if (pair->certain_low == RS_NO_TIME || low > pair->certain_low) pair->certain_low = low;
            }
        }
    }
}

rs_status rs_clocks_bound(rs_terms *t, rs_clocks *clocks, rs_error *err)
{
    system_of s = {.t = t, .clocks = clocks};
    size_t n_nodes = clocks->n + t->n_hubs;
    s.edges = (rs_difference_system){edge_of, &s, 2 * (t->n + t->n_ties), n_nodes};
    s.potential = rs_calloc(n_nodes + 1, sizeof *s.potential);
    s.cycle = rs_malloc((n_nodes + 1) * sizeof *s.cycle);
    RS_LOCAL int64_t *least = rs_malloc((n_nodes + 1) * sizeof *least);
    RS_LOCAL int64_t *greatest = rs_malloc((n_nodes + 1) * sizeof *greatest);
    bool ok = s.potential && s.cycle && least && greatest, feasible = false;
    rs_status status = ok ? RS_OK : rs_fail_nomem(err, "clocks");
    if (status == RS_OK) {
        widen(t, clocks);
        status = make_feasible(&s, &feasible, err);
    }
    if (status == RS_OK && feasible && clocks->n)
        status = rs_difference_bounds(&s.edges, s.potential, 0, least, greatest, err);
    if (status == RS_OK && clocks->n) {
        for (size_t r = 1; r < clocks->n; r++) settle(&clocks->of[r], feasible, least[r], greatest[r]);
        rs_clock *reference = &clocks->of[0];
        if (reference->status != RS_CLOCK_UNSTABLE) reference->status = RS_CLOCK_CERTAIN;
        reference->certain_low = reference->certain_high = 0;
        bound_pairs(&s);
    }
    rs_free_all(s.potential, s.cycle);
    return status;
}
