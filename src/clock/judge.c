/* Which terms to believe: collectives that were matched wrongly stand out of their class, and a clock that
 * was set while the trace was taken jumps against all others. */
#include "base/interval.h"
#include "base/memory.h"
#include "base/stats.h"
#include "clock/terms.h"

#define OUTLIER 50000 /* ns: less is never an outlier or a jump */
#define MADS 8
#define WINDOW 8 /* points on each side of a jump */

typedef struct judge {
    rs_terms *t;
    int64_t *rest;    /* by point: its distance of ends without its class' median and the trend */
    int64_t *scratch; /* by point, twice */
    rs_keyed *by_class;
    uint8_t *bad; /* by point: an outlier */
} judge;

static int64_t magnitude(int64_t x)
{
    return x < 0 ? -x : x;
}

static int64_t distance(const rs_terms *t, const rs_term_pair *p)
{
    return t->items[p->b].end - t->items[p->a].end;
}

static int64_t median_of(judge *j, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) j->scratch[i - from] = j->rest[i];
    return rs_median(j->scratch, to - from);
}

/* The medians of a pair's first and last third tell its trend well enough to look for outliers. */
static void detrend(judge *j, size_t from, size_t to)
{
    size_t third = (to - from) / 3;
    if (third < 2) return;
    int64_t low = median_of(j, from, from + third), high = median_of(j, to - third, to);
    const rs_terms *t = j->t;
    int64_t t_low = t->items[t->points[from + third / 2].a].end;
    int64_t t_high = t->items[t->points[to - 1 - third / 2].a].end;
    if (t_high <= t_low) return;
    double slope = (double)(high - low) / (double)(t_high - t_low);
    for (size_t i = from; i < to; i++)
        j->rest[i] -= (int64_t)(slope * (double)(t->items[t->points[i].a].end - t_low));
}

static int64_t mad_of(judge *j, size_t n)
{
    for (size_t i = 0; i < n; i++) j->scratch[i] = magnitude(j->scratch[i]);
    return n ? rs_median(j->scratch, n) : 0;
}

/* Takes the median of its class off each point and marks outliers. */
static bool by_classes(judge *j, size_t from, size_t to)
{
    const rs_terms *t = j->t;
    for (size_t i = from; i < to; i++)
        j->by_class[i - from] = (rs_keyed){t->hubs[t->points[i].hub].class, (uint32_t)i};
    if (!rs_keyed_sort(j->by_class, to - from)) return false;
    for (size_t k = 0, next; k < to - from; k = next) {
        for (next = k; next < to - from && j->by_class[next].key == j->by_class[k].key; next++)
            j->scratch[next - k] = j->rest[j->by_class[next].value];
        int64_t median = rs_median(j->scratch, next - k);
        for (size_t i = k; i < next; i++) j->scratch[i - k] = j->rest[j->by_class[i].value] -= median;
        int64_t limit = MADS * mad_of(j, next - k);
        if (limit < OUTLIER) limit = OUTLIER;
        for (size_t i = k; i < next; i++)
            j->bad[j->by_class[i].value] = magnitude(j->rest[j->by_class[i].value]) > limit;
    }
    return true;
}

/* Whether the pair's distance moves at one moment, and stays there. */
static bool jumps(judge *j, size_t from, size_t to)
{
    int64_t near[WINDOW], dev[2 * WINDOW];
    for (size_t at = from + WINDOW; at + WINDOW <= to; at++) {
        int64_t side[2];
        for (int s = 0; s < 2; s++) {
            for (size_t i = 0; i < WINDOW; i++) near[i] = j->rest[at - WINDOW + (size_t)s * WINDOW + i];
            side[s] = rs_median(near, WINDOW);
        }
        int64_t jump = magnitude(side[1] - side[0]);
        if (jump <= OUTLIER) continue;
        for (size_t i = 0; i < 2 * (size_t)WINDOW; i++)
            dev[i] = magnitude(j->rest[at - WINDOW + i] - side[i >= WINDOW]);
        if (jump > MADS * rs_median(dev, 2 * (size_t)WINDOW)) return true;
    }
    return false;
}

/* Of the ranks whose pairs jump the one with the most is taken for the one that was set, and so on; of
 * equally many the highest, as the lowest is the reference. */
static bool find_unstable(judge *j, const uint8_t *jumped, rs_clocks *clocks)
{
    rs_terms *t = j->t;
    size_t *n = rs_calloc(clocks->n + 1, sizeof *n);
    if (!n) return false;
    for (;;) {
        size_t worst = 0;
        for (size_t r = 0; r < clocks->n; r++) n[r] = 0;
        for (size_t p = 0; p < t->n_pairs; p++) {
            if (!jumped[p] || clocks->of[t->pairs[p].a].status == RS_CLOCK_UNSTABLE ||
                clocks->of[t->pairs[p].b].status == RS_CLOCK_UNSTABLE)
                continue;
            n[t->pairs[p].a]++;
            n[t->pairs[p].b]++;
        }
        for (size_t r = 0; r < clocks->n; r++)
            if (n[r] >= n[worst]) worst = r;
        if (!clocks->n || !n[worst]) break;
        clocks->of[worst].status = RS_CLOCK_UNSTABLE;
    }
    rs_free(n);
    for (size_t i = 0; i < t->n; i++)
        if (clocks->of[t->items[i].rank].status == RS_CLOCK_UNSTABLE) t->items[i].aside = true;
    return true;
}

/* A term that stands out is set aside; where most of a collective do, its first member is at fault, or all
 * are. */
static bool set_aside(judge *j, rs_clocks *clocks)
{
    rs_terms *t = j->t;
    uint32_t *n_bad = rs_calloc(t->n_hubs + 1, sizeof *n_bad);
    if (!n_bad) return false;
    for (size_t i = 0; i < t->n_points; i++) n_bad[t->points[i].hub] += j->bad[i];
    for (size_t i = 0; i < t->n_points; i++) {
        const rs_hub *hub = &t->hubs[t->points[i].hub];
        if (!j->bad[i] && 2 * n_bad[t->points[i].hub] < hub->n) continue;
        rs_term *pair[2] = {&t->items[t->points[i].b], &t->items[t->points[i].a]};
        int n = 2 * n_bad[t->points[i].hub] < hub->n ? 1 : 2;
        for (int k = 0; k < n; k++) {
            if (pair[k]->aside) continue;
            pair[k]->aside = true;
            clocks->of[pair[k]->rank].n_set_aside++;
        }
    }
    rs_free(n_bad);
    return true;
}

rs_status rs_terms_judge(rs_terms *t, rs_clocks *clocks, rs_error *err)
{
    judge j = {.t = t};
    uint8_t *jumped = rs_calloc(t->n_pairs + 1, 1);
    j.rest = rs_malloc((t->n_points + 1) * sizeof *j.rest);
    j.scratch = rs_malloc((t->n_points + 1) * sizeof *j.scratch);
    j.by_class = rs_malloc((t->n_points + 1) * sizeof *j.by_class);
    j.bad = rs_calloc(t->n_points + 1, 1);
    bool ok = jumped && j.rest && j.scratch && j.by_class && j.bad;
    for (size_t p = 0; ok && p < t->n_pairs; p++) {
        size_t from = t->first[p], to = t->first[p + 1];
        for (size_t i = from; i < to; i++) j.rest[i] = distance(t, &t->points[i]);
        if (!t->hubs[t->points[from].hub].together)
            continue; /* ends of what the host ran differ as they like */
        detrend(&j, from, to);
        ok = by_classes(&j, from, to);
        if (ok) jumped[p] = jumps(&j, from, to);
        for (size_t i = from; jumped[p] && i < to; i++) j.bad[i] = 0;
    }
    ok = ok && set_aside(&j, clocks) && find_unstable(&j, jumped, clocks);
    rs_free(jumped);
    rs_free(j.rest);
    rs_free(j.scratch);
    rs_free(j.by_class);
    rs_free(j.bad);
    return ok ? RS_OK : rs_fail_nomem(err, "clocks");
}
