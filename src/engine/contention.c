#include "engine/contention.h"

#include <stdlib.h>

#include "base/interval.h"
#include "base/memory.h"
#include "base/real.h"
#include "base/search.h"
#include "base/stats.h"

/* So many samples each way make a factor. */
#define MIN_SAMPLES 20
/* It is one from here on, and up to here: beyond, other work than contention is at play. */
#define LEAST_FACTOR 1.03
#define MOST_FACTOR 3.0
/* A place of the program counts where it was seen so often each way. */
#define MIN_OF_PLACE 2
/* Two pieces of work of a rank are at one place if so many kernels before and behind them on the stream have the same names:
 * one kernel does small work here and large work there. A slow rank comes last and little communication runs during its kernels,
 * so that ranks are not compared with each other. */
#define AROUND 4
/* So many kernels with a factor of their own speak for those without. */
#define MIN_NAMES 3

typedef struct span {
    int64_t start, end;
    int64_t before; /* ns that the spans before it cover */
} span;

static bool is_communication(const rs_skeleton *s, uint32_t i)
{
    return rs_skeleton_is_work(s, i) && rs_skeleton_at(s, i)->part == RS_PART_TRANSFER;
}

static bool is_computation(const rs_skeleton *s, uint32_t i)
{
    return rs_skeleton_is_work(s, i) && rs_skeleton_at(s, i)->part == RS_PART_COMPUTE;
}

/* The union of a rank's communication, in time. spans: room for one each. */
static bool collect(const rs_engine *e, const rs_times *t, size_t rank, span *spans, size_t *n)
{
    const rs_skeleton *s = e->ranks[rank];
    uint32_t base = e->node_base[rank];
    RS_LOCAL rs_keyed *keys = rs_malloc((s->n + 1) * sizeof *keys);
    size_t n_keys = 0;
    bool ok = keys != NULL;
    for (uint32_t i = 0; ok && i < s->n; i++)
        if (is_communication(s, i)) keys[n_keys++] = (rs_keyed){t->start[base + i], i};
    ok = ok && rs_keyed_sort(keys, n_keys);
    *n = 0;
    for (size_t k = 0; ok && k < n_keys; k++) {
        int64_t start = keys[k].key, end = rs_times_end(t, base + keys[k].value);
        if (*n && start <= spans[*n - 1].end) {
            if (end > spans[*n - 1].end) spans[*n - 1].end = end;
            continue;
        }
        int64_t before =
            *n ? rs_add_sat(spans[*n - 1].before, rs_sub_sat(spans[*n - 1].end, spans[*n - 1].start)) : 0;
        spans[(*n)++] = (span){start, end, before};
    }
    return ok;
}

/* ns before a moment that the spans cover. last: how many began before the moment asked about before this one, which is often near. */
static int64_t covered(const span *spans, size_t n, int64_t at, size_t *last)
{
    size_t low = *last;
    if ((low && spans[low - 1].start >= at) || (low < n && spans[low].start < at))
        RS_SEARCH(low, n, spans[low].start < at);
    *last = low;
    if (!low) return 0;
    const span *x = &spans[low - 1];
    return rs_add_sat(x->before, rs_sub_sat(at < x->end ? at : x->end, x->start));
}

/* By node of the rank: ns of it that ran beside communication. */
static bool overlaps(const rs_engine *e, const rs_times *t, size_t rank, span *spans, int64_t *out)
{
    const rs_skeleton *s = e->ranks[rank];
    uint32_t base = e->node_base[rank];
    size_t n, ends = 0, starts = 0;
    if (!collect(e, t, rank, spans, &n)) return false;
    for (uint32_t i = 0; i < s->n; i++)
        out[i] = is_computation(s, i) ? rs_sub_sat(covered(spans, n, rs_times_end(t, base + i), &ends),
                                                   covered(spans, n, t->start[base + i], &starts))
                                      : 0;
    return true;
}

static bool is_beside(const rs_times *t, uint32_t node, int64_t overlap)
{
    return overlap > 0 && overlap >= rs_sub_sat(rs_times_end(t, node), t->start[node]) / 2;
}

/* ---- learning ------------------------------------------------------------------------------------------ */

typedef struct sample {
    uint64_t name, place; /* hashes */
    uint32_t node;
} sample;

typedef struct samples {
    sample *items;
    rs_keyed *order;    /* places in items, by name, then place */
    int64_t *values[2]; /* scratch: alone, beside */
    size_t n;
} samples;

static const sample *sample_at(const samples *x, size_t i)
{
    return &x->items[x->order[i].value];
}

/* A hash as a number with a sign of the same order. */
static int64_t ordered(uint64_t hash)
{
    return (int64_t)(hash ^ UINT64_C(1) << 63);
}

static bool sort_samples(samples *x)
{
    for (uint32_t i = 0; i < x->n; i++) x->order[i] = (rs_keyed){ordered(x->items[i].place), i};
    if (!rs_keyed_sort(x->order, x->n)) return false;
    for (size_t i = 0; i < x->n; i++) x->order[i].key = ordered(sample_at(x, i)->name);
    return rs_keyed_sort(x->order, x->n);
}

/* The factor of the samples [from, to) of one name: that of each place, weighed by how often it was seen. 0: none. */
static double factor_of(samples *x, const rs_times *t, rs_contention *c, const uint8_t *partly, size_t from,
                        size_t to)
{
    size_t total[2] = {0, 0};
    double sum = 0, weight = 0;
    for (size_t i = from, next; i < to; i = next) {
        size_t n[2] = {0, 0};
        for (next = i; next < to && sample_at(x, next)->place == sample_at(x, i)->place; next++) {
            uint32_t node = sample_at(x, next)->node;
            if (partly[node]) continue;
            int side = c->beside[node];
            x->values[side][n[side]++] = rs_sub_sat(rs_times_end(t, node), t->start[node]);
        }
        if (n[0] < MIN_OF_PLACE || n[1] < MIN_OF_PLACE) continue;
        int64_t alone = rs_median(x->values[0], n[0]), beside = rs_median(x->values[1], n[1]);
        double w = (double)(n[0] < n[1] ? n[0] : n[1]);
        if (alone <= 0) continue;
        sum += w * (double)beside / (double)alone;
        weight += w;
        total[0] += n[0];
        total[1] += n[1];
    }
    if (total[0] < MIN_SAMPLES || total[1] < MIN_SAMPLES) return 0;
    double factor = sum / weight;
    c->is_shown = true;
    return factor >= LEAST_FACTOR && factor <= MOST_FACTOR ? factor : 0;
}

static int by_factor(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return x < y ? -1 : x > y;
}

/* Items stand by name. The factor of a name goes to all of its nodes; what has none takes the middle one. */
static bool learn_names(samples *x, const rs_times *t, const uint8_t *partly, rs_contention *out)
{
    RS_LOCAL float *factors = rs_malloc((x->n + 1) * sizeof *factors);
    if (!factors) return false;
    for (size_t i = 0, next; i < x->n; i = next) {
        for (next = i; next < x->n && x->order[next].key == x->order[i].key; next++) {
        }
        double factor = factor_of(x, t, out, partly, i, next);
        if (factor <= 0) continue;
        factors[out->n_names++] = (float)factor;
        for (size_t k = i; k < next; k++) out->factor[sample_at(x, k)->node] = (float)factor;
    }
    if (out->n_names >= MIN_NAMES) {
        qsort(factors, out->n_names, sizeof *factors, by_factor);
        for (size_t i = 0; i < x->n; i++)
            if (out->factor[x->items[i].node] <= 0) out->factor[x->items[i].node] = factors[out->n_names / 2];
    }
    return true;
}

/* Adds the computation of a rank, stream by stream. */
static bool add_samples(const rs_engine *e, const rs_times *t, size_t rank, samples *x)
{
    const rs_skeleton *s = e->ranks[rank];
    uint32_t base = e->node_base[rank];
    RS_LOCAL uint64_t *names = rs_pool_hashes(&s->pool);
    RS_LOCAL rs_keyed *keys = rs_malloc((s->n + 1) * sizeof *keys);
    size_t n = 0;
    bool ok = names && keys;
    for (uint32_t i = 0; ok && i < s->n; i++)
        if (is_computation(s, i) && rs_skeleton_at(s, i)->name != RS_NO_STRING)
            keys[n++] = (rs_keyed){t->start[base + i], i};
    ok = ok && rs_keyed_sort(keys, n);
    for (size_t k = 0; ok && k < n; k++) keys[k].key = rs_skeleton_at(s, keys[k].value)->lane;
    ok = ok && rs_keyed_sort(keys, n);
    for (size_t k = 0; ok && k < n; k++) {
        uint64_t place = rank + 1;
        size_t from = k < AROUND ? 0 : k - AROUND;
        for (size_t j = from; j < n && j <= k + AROUND; j++) {
            bool here = keys[j].key == keys[k].key;
            place =
                (place ^ (here ? names[rs_skeleton_at(s, keys[j].value)->name] : 0)) * 0x9e3779b97f4a7c15u;
            place ^= place >> 29;
        }
        x->items[x->n++] =
            (sample){names[rs_skeleton_at(s, keys[k].value)->name], place, base + keys[k].value};
    }
    return ok;
}

/* Sets beside, and in partly what ran beside communication for less than half of it. */
static bool mark_rank(const rs_engine *e, const rs_times *t, size_t rank, uint8_t *partly, rs_contention *out)
{
    const rs_skeleton *s = e->ranks[rank];
    uint32_t base = e->node_base[rank];
    RS_LOCAL span *spans = rs_malloc((s->n + 1) * sizeof *spans);
    RS_LOCAL int64_t *overlap = rs_malloc((s->n + 1) * sizeof *overlap);
    bool ok = spans && overlap && overlaps(e, t, rank, spans, overlap);
    for (uint32_t i = 0; ok && i < s->n; i++) {
        out->beside[base + i] = is_beside(t, base + i, overlap[i]);
        partly[base + i] = overlap[i] > 0 && !out->beside[base + i];
    }
    return ok;
}

rs_status rs_contention_learn(const rs_engine *e, const rs_times *recorded, rs_contention *out, rs_error *err)
{
    samples x = {.items = rs_malloc((e->n_nodes + 1) * sizeof *x.items),
                 .order = rs_malloc((e->n_nodes + 1) * sizeof *x.order)};
    RS_LOCAL uint8_t *partly = rs_calloc(e->n_nodes + 1, 1);
    *out = (rs_contention){.factor = rs_calloc(e->n_nodes + 1, sizeof *out->factor),
                           .beside = rs_calloc(e->n_nodes + 1, 1)};
    for (int k = 0; k < 2; k++) x.values[k] = rs_malloc((e->n_nodes + 1) * sizeof *x.values[k]);
    bool ok = x.items && x.order && x.values[0] && x.values[1] && partly && out->factor && out->beside;
    for (size_t r = 0; ok && r < e->n_ranks; r++)
        ok = mark_rank(e, recorded, r, partly, out) && add_samples(e, recorded, r, &x);
    ok = ok && sort_samples(&x) && learn_names(&x, recorded, partly, out);
    rs_free_all(x.items, x.order, x.values[0], x.values[1]);
    if (ok) return RS_OK;
    rs_contention_clear(out);
    return rs_fail_nomem(err, "contention");
}

/* ---- use ----------------------------------------------------------------------------------------------- */

static void scale_work(rs_weights *w, uint32_t node, double factor)
{
    double ns = (double)w->work[node] * factor;
    if (ns < 9e17) rs_weights_set(w, &w->work[node], rs_int_of(ns + 0.5));
}

void rs_contention_remove(const rs_contention *c, const rs_engine *e, rs_weights *w)
{
    for (uint32_t node = 0; c->n_names && node < e->n_nodes; node++)
        if (c->factor[node] > 0 && c->beside[node]) scale_work(w, node, 1 / (double)c->factor[node]);
}

static bool apply_rank(const rs_contention *c, const rs_engine *e, const rs_times *t, size_t rank,
                       rs_weights *w)
{
    const rs_skeleton *s = e->ranks[rank];
    uint32_t base = e->node_base[rank];
    RS_LOCAL span *spans = rs_malloc((s->n + 1) * sizeof *spans);
    RS_LOCAL int64_t *overlap = rs_malloc((s->n + 1) * sizeof *overlap);
    bool ok = spans && overlap && overlaps(e, t, rank, spans, overlap);
    for (uint32_t i = 0; ok && i < s->n; i++) {
        uint32_t node = base + i;
        double factor = c->factor[node];
        if (factor <= 0) continue;
        bool now = is_beside(t, node, overlap[i]);
        if (now == c->beside[node]) continue;
        scale_work(w, node, now ? factor : 1 / factor);
    }
    return ok;
}

void rs_contention_assume(rs_contention *c, const rs_engine *e, double factor)
{
    for (size_t r = 0; r < e->n_ranks; r++)
        for (uint32_t i = 0; i < e->ranks[r]->n; i++)
            if (is_computation(e->ranks[r], i)) c->factor[e->node_base[r] + i] = (float)factor;
}

rs_status rs_contention_apply(const rs_contention *c, const rs_engine *e, const rs_times *times,
                              rs_weights *w, rs_error *err)
{
    bool ok = true;
    for (size_t r = 0; ok && r < e->n_ranks; r++) ok = apply_rank(c, e, times, r, w);
    return ok && !w->lost ? RS_OK : rs_fail_nomem(err, "contention");
}

void rs_contention_clear(rs_contention *c)
{
    rs_free_all(c->factor, c->beside);
    *c = (rs_contention){0};
}
