/* Drifts and likely distances. Both are told for pairs of ranks, and add along a tree from the reference that
 * is made of the narrowest intervals. */
#include <math.h>

#include "base/heap.h"
#include "base/interval.h"
#include "base/memory.h"
#include "base/real.h"
#include "base/stats.h"
#include "clock/hull.h"
#include "clock/solve.h"

#define FAR ((int64_t)1 << 51)
#define WIDEST_DRIFT 200e-6 /* half-width above which a drift is assumed, not measured */
#define PPM 1e6

/* ---- a tree of narrow pairs --------------------------------------------------------------------------- */

typedef struct tree {
    const rs_terms *t;
    size_t n;      /* ranks */
    size_t *first; /* by rank + 1: its pairs in `mine` */
    uint32_t *mine;
    double *width;  /* by pair; infinite: not usable */
    double *length; /* by rank */
    uint32_t *pair; /* by rank: towards the reference; UINT32_MAX */
    uint32_t *order;
    size_t n_order; /* ranks that are reached, nearest first */
    uint32_t *
        heap; /* of ranks that were seen and are not done: the nearest first, of equally near ones the lowest */
    uint32_t *place; /* by rank: in the heap */
    size_t n_heap;
    uint8_t *done; /* by rank: SEEN, DONE or neither */
} tree;

enum { SEEN = 1, DONE = 2 };

static bool tree_make(tree *w, const rs_terms *t, size_t n)
{
    *w = (tree){.t = t, .n = n};
    w->first = rs_calloc(n + 3, sizeof *w->first);
    w->mine = rs_malloc((2 * t->n_pairs + 1) * sizeof *w->mine);
    w->width = rs_malloc((t->n_pairs + 1) * sizeof *w->width);
    w->length = rs_malloc((n + 1) * sizeof *w->length);
    w->pair = rs_malloc((n + 1) * sizeof *w->pair);
    w->order = rs_malloc((n + 1) * sizeof *w->order);
    w->heap = rs_malloc((n + 1) * sizeof *w->heap);
    w->place = rs_malloc((n + 1) * sizeof *w->place);
    w->done = rs_malloc(n + 1);
    if (!w->first || !w->mine || !w->width || !w->length || !w->pair || !w->order || !w->heap || !w->place ||
        !w->done)
        return false;
    for (size_t p = 0; p < t->n_pairs; p++) {
        w->first[t->pairs[p].a + 2]++;
        w->first[t->pairs[p].b + 2]++;
    }
    for (size_t r = 0; r < n; r++) w->first[r + 2] += w->first[r + 1];
    for (size_t p = 0; p < t->n_pairs; p++) {
        w->mine[w->first[t->pairs[p].a + 1]++] = (uint32_t)p;
        w->mine[w->first[t->pairs[p].b + 1]++] = (uint32_t)p;
    }
    return true;
}

static void tree_clear(tree *w)
{
    rs_free_all(w->first, w->mine, w->width, w->length, w->pair, w->order, w->heap, w->place, w->done);
}

static bool nearer(const tree *w, uint32_t x, uint32_t y)
{
    return w->length[x] < w->length[y] || (w->length[x] == w->length[y] && x < y);
}

#define NEARER(x, y) nearer(w, x, y)
#define PLACED(at) w->place[w->heap[at]] = (uint32_t)(at)

/* A rank that was seen for the first time, or has come nearer. */
static void heap_raise(tree *w, uint32_t rank)
{
    size_t from = w->done[rank] ? w->place[rank] : w->n_heap++;
    w->done[rank] = SEEN;
    RS_HEAP_UP(w->heap, from, rank, NEARER, PLACED);
}

static uint32_t heap_take(tree *w)
{
    uint32_t first = w->heap[0], rank = w->heap[--w->n_heap];
    RS_HEAP_DOWN(w->heap, w->n_heap, rank, NEARER, PLACED);
    w->done[first] = DONE;
    return first;
}

/* Dijkstra's algorithm from rank 0. */
static void tree_grow(tree *w)
{
    for (size_t r = 0; r < w->n; r++) {
        w->length[r] = r ? INFINITY : 0;
        w->pair[r] = UINT32_MAX;
        w->done[r] = 0;
    }
    w->n_order = w->n_heap = 0;
    if (w->n) heap_raise(w, 0);
    while (w->n_heap) {
        uint32_t next = heap_take(w);
        w->order[w->n_order++] = next;
        for (size_t i = w->first[next]; i < w->first[next + 1]; i++) {
            uint32_t p = w->mine[i];
            const rs_clock_pair *pair = &w->t->pairs[p];
            uint32_t other = pair->a == next ? pair->b : pair->a;
            double length = w->length[next] + w->width[p];
            if (w->done[other] == DONE || !(length < w->length[other])) continue;
            w->length[other] = length;
            w->pair[other] = p;
            heap_raise(w, other);
        }
    }
}

/* The rank at the other end, and whether the pair's distance counts from it to the rank (1) or back (-1). */
static uint32_t parent_of(const tree *w, uint32_t rank, int *sign)
{
    const rs_clock_pair *pair = &w->t->pairs[w->pair[rank]];
    *sign = pair->b == rank ? 1 : -1;
    return pair->b == rank ? pair->a : pair->b;
}

/* ---- drift -------------------------------------------------------------------------------------------- */

typedef struct slope {
    double least, greatest;
} slope;

static size_t bounds_of(const rs_terms *t, size_t p, rs_clock_bound *out)
{
    size_t n = 0;
    for (size_t i = t->first[p]; i < t->first[p + 1]; i++) {
        const rs_term *a = rs_point_a(t, i), *b = rs_point_b(t, i);
        if (a->aside || b->aside) continue;
        bool above = (a->says & RS_TERM_START) && (b->says & RS_TERM_END);
        bool below = (b->says & RS_TERM_START) && (a->says & RS_TERM_END);
        if (!above && !below) continue;
        out[n++] = (rs_clock_bound){a->end, below ? b->start - a->end - 2 * RS_CLOCK_SLACK : -FAR,
                                    above ? b->end - a->start + 2 * RS_CLOCK_SLACK : FAR};
    }
    return n;
}

static bool sort_bounds(rs_clock_bound *items, size_t n, rs_clock_bound *room, rs_keyed *keys)
{
    bool sorted = true;
    for (size_t i = 1; sorted && i < n; i++) sorted = items[i - 1].at <= items[i].at;
    if (sorted) return true;
    for (size_t i = 0; i < n; i++) {
        keys[i] = (rs_keyed){items[i].at, (uint32_t)i};
        room[i] = items[i];
    }
    if (!rs_keyed_sort(keys, n)) return false;
    for (size_t i = 0; i < n; i++) items[i] = room[keys[i].value];
    return true;
}

static bool find_slopes(const rs_terms *t, slope *slopes, double *width)
{
    size_t most = rs_terms_most_points(t);
    RS_LOCAL rs_clock_bound *items = rs_malloc((most + 1) * sizeof *items),
                            *room = rs_malloc((most + 1) * sizeof *room);
    RS_LOCAL rs_keyed *keys = rs_malloc((most + 1) * sizeof *keys);
    RS_LOCAL size_t *scratch = rs_malloc((most + 1) * sizeof *scratch);
    bool ok = items && room && keys && scratch;
    for (size_t p = 0; ok && p < t->n_pairs; p++) {
        size_t n = bounds_of(t, p, items);
        ok = sort_bounds(items, n, room, keys);
        slope *s = &slopes[p];
        bool told = ok && rs_clock_slopes(items, n, scratch, &s->least, &s->greatest) &&
                    s->greatest - s->least <= 2 * WIDEST_DRIFT;
        width[p] = told ? s->greatest - s->least : INFINITY;
    }
    return ok;
}

/* Sets the drifts and takes their middles off all terms. */
static bool set_drifts(rs_terms *t, tree *w, rs_clocks *clocks)
{
    RS_LOCAL slope *slopes = rs_calloc(t->n_pairs + 1, sizeof *slopes);
    bool ok = slopes && find_slopes(t, slopes, w->width);
    if (ok) tree_grow(w);
    for (size_t r = 0; ok && r < clocks->n; r++) {
        rs_clock *c = &clocks->of[r];
        c->drift_assumed = r > 0;
        c->drift_low = r ? -RS_CLOCK_DRIFT : 0;
        c->drift_high = r ? RS_CLOCK_DRIFT : 0;
    }
    for (size_t i = 1; ok && i < w->n_order; i++) {
        uint32_t rank = w->order[i];
        int sign;
        const rs_clock *parent = &clocks->of[parent_of(w, rank, &sign)];
        const slope *s = &slopes[w->pair[rank]];
        rs_clock *c = &clocks->of[rank];
        if (parent->drift_assumed) continue;
        double low = parent->drift_low + PPM * (sign > 0 ? s->least : -s->greatest);
        double high = parent->drift_high + PPM * (sign > 0 ? s->greatest : -s->least);
        if (high - low > 2 * WIDEST_DRIFT * PPM) continue;
        c->drift_assumed = false;
        c->drift_low = low;
        c->drift_high = high;
    }
    for (size_t r = 0; ok && r < clocks->n; r++)
        clocks->of[r].drift = (clocks->of[r].drift_low + clocks->of[r].drift_high) / 2;
    for (size_t i = 0; ok && i < t->n; i++) {
        rs_term *term = &t->items[i];
        double drift = clocks->of[term->rank].drift / PPM;
        term->start -= rs_int_of(drift * (double)(term->start - t->middle));
        term->end -= rs_int_of(drift * (double)(term->end - t->middle));
    }
    return ok;
}

int64_t rs_term_slack(const rs_terms *t, const rs_clocks *clocks, const rs_term *term, int64_t at)
{
    const rs_clock *c = &clocks->of[term->rank];
    double half = (c->drift_high - c->drift_low) / 2 / PPM;
    double far = fabs((double)(at - t->middle));
    return rs_add_sat(RS_CLOCK_SLACK + 1, rs_int_of(half * far));
}

/* ---- likely ------------------------------------------------------------------------------------------- */

/* The place below the median that it lies above with 99.5 %, by the binomial's normal approximation. */
static size_t place_below(size_t n)
{
    double place = (double)n / 2 - 1.288 * sqrt((double)n);
    return place > 0 ? (size_t)place : 0;
}

/* Room for the points of one pair. */
typedef struct likely {
    int64_t *values;
    rs_keyed *keys;
} likely;

/* The median of the shorter of the two members' durations. */
static int64_t median_transfer(const rs_terms *t, size_t n, const likely *w)
{
    for (size_t i = 0; i < n; i++) {
        const rs_term *a = rs_point_a(t, w->keys[i].value), *b = rs_point_b(t, w->keys[i].value);
        int64_t of_a = a->end - a->start, of_b = b->end - b->start;
        w->values[i] = of_a < of_b ? of_a : of_b;
    }
    return rs_median(w->values, n);
}

/* The pair's likely distance: where the medians of its classes may be. */
static bool pair_likely(const rs_terms *t, size_t p, int64_t end_skew, likely *w)
{
    rs_clock_pair *pair = &t->pairs[p];
    size_t n = 0, n_classes = 0;
    for (size_t i = t->first[p]; i < t->first[p + 1]; i++) {
        const rs_hub *hub = rs_point_hub(t, i);
        if (rs_point_a(t, i)->aside || rs_point_b(t, i)->aside) continue;
        pair->n++;
        if (!hub->together) continue;
        w->keys[n++] = (rs_keyed){hub->class, (uint32_t)i};
    }
    if (!n) return true;
    if (!rs_keyed_sort(w->keys, n)) return false;
    pair->low = INT64_MAX;
    pair->high = INT64_MIN;
    for (size_t k = 0, next; k < n; k = next, n_classes++) {
        for (next = k; next < n && w->keys[next].key == w->keys[k].key; next++) {
            size_t point = w->keys[next].value;
            w->values[next - k] = rs_point_b(t, point)->end - rs_point_a(t, point)->end;
        }
        size_t place = place_below(next - k);
        int64_t low = rs_select_number(w->values, next - k, place);
        int64_t high = rs_select_number(w->values, next - k, next - k - 1 - place);
        if (low < pair->low) pair->low = low;
        if (high > pair->high) pair->high = high;
    }
    /* One kind cannot tell an end that is always late from a clock that is ahead. Several kinds can, as far
     * as they differ; send and receive need not end together at all. */
    int64_t more = (pair->high - pair->low) / 2;
    if (n_classes == 1 || rs_point_hub(t, w->keys[0].value)->paired)
        more = end_skew + median_transfer(t, n, w) / 100;
    pair->low -= more;
    pair->high += more;
    return true;
}

static bool set_likely(rs_terms *t, tree *w, int64_t end_skew, rs_clocks *clocks)
{
    size_t most = rs_terms_most_points(t);
    likely room = {.values = rs_malloc((most + 1) * sizeof *room.values),
                   .keys = rs_malloc((most + 1) * sizeof *room.keys)};
    bool ok = room.values && room.keys;
    for (size_t p = 0; ok && p < t->n_pairs; p++) {
        ok = pair_likely(t, p, end_skew, &room);
        const rs_clock_pair *pair = &t->pairs[p];
        w->width[p] = pair->low == RS_NO_TIME ? (double)INFINITY : (double)(pair->high - pair->low) + 1;
    }
    if (ok) tree_grow(w);
    for (size_t r = 0; ok && r < clocks->n; r++) {
        clocks->of[r].low = r ? RS_NO_TIME : 0;
        clocks->of[r].high = r ? RS_NO_TIME : 0;
    }
    for (size_t i = 1; ok && i < w->n_order; i++) {
        int sign;
        uint32_t rank = w->order[i];
        const rs_clock *parent = &clocks->of[parent_of(w, rank, &sign)];
        rs_clock_pair *pair = &t->pairs[w->pair[rank]];
        clocks->of[rank].low = parent->low + (sign > 0 ? pair->low : -pair->high);
        clocks->of[rank].high = parent->high + (sign > 0 ? pair->high : -pair->low);
        pair->in_tree = true;
    }
    rs_free_all(room.values, room.keys);
    return ok;
}

rs_status rs_clocks_estimate(rs_terms *t, int64_t end_skew, rs_clocks *clocks, rs_error *err)
{
    tree w;
    bool ok = tree_make(&w, t, clocks->n) && set_drifts(t, &w, clocks) && set_likely(t, &w, end_skew, clocks);
    tree_clear(&w);
    return ok ? RS_OK : rs_fail_nomem(err, "clocks");
}
