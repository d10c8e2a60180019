/* Which terms to believe: collectives that were matched wrongly stand out of their class, and a clock that
 * was set while the trace was taken jumps against all others. */
#include "base/interval.h"
#include "base/memory.h"
#include "base/real.h"
#include "base/stats.h"
#include "clock/terms.h"

#define OUTLIER 50000 /* ns: less is never an outlier or a jump */
#define MADS 8
#define WINDOW 8 /* points on each side of a jump */

typedef struct judge {
    rs_terms *t;
    size_t from;   /* the pair's first point; of its points: */
    int64_t *rest; /* its distance of ends without its class' median and the trend */
    int64_t *scratch;
    rs_keyed *by_class;
    uint8_t *bad; /* by point, of all: an outlier */
} judge;

static int64_t magnitude(int64_t x)
{
    return x < 0 ? -x : x;
}

static int64_t median_of(judge *j, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) j->scratch[i - from] = j->rest[i - j->from];
    return rs_median(j->scratch, to - from);
}

/* The medians of a pair's first and last third tell its trend well enough to look for outliers. */
static void detrend(judge *j, size_t from, size_t to)
{
    size_t third = (to - from) / 3;
    if (third < 2) return;
    int64_t low = median_of(j, from, from + third), high = median_of(j, to - third, to);
    const rs_terms *t = j->t;
    int64_t t_low = rs_point_a(t, from + third / 2)->end;
    int64_t t_high = rs_point_a(t, to - 1 - third / 2)->end;
    if (t_high <= t_low) return;
    double slope = (double)(high - low) / (double)(t_high - t_low);
    for (size_t i = from; i < to; i++)
        j->rest[i - from] -= rs_int_of(slope * (double)(rs_point_a(t, i)->end - t_low));
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
        j->by_class[i - from] = (rs_keyed){rs_point_hub(t, i)->class, (uint32_t)(i - from)};
    if (!rs_keyed_sort(j->by_class, to - from)) return false;
    for (size_t k = 0, next; k < to - from; k = next) {
        for (next = k; next < to - from && j->by_class[next].key == j->by_class[k].key; next++)
            j->scratch[next - k] = j->rest[j->by_class[next].value];
        int64_t median = rs_median(j->scratch, next - k);
        for (size_t i = k; i < next; i++) j->scratch[i - k] = j->rest[j->by_class[i].value] -= median;
        int64_t limit = MADS * mad_of(j, next - k);
        if (limit < OUTLIER) limit = OUTLIER;
        for (size_t i = k; i < next; i++)
            j->bad[from + j->by_class[i].value] = magnitude(j->rest[j->by_class[i].value]) > limit;
    }
    return true;
}

/* WINDOW values in order; one leaves, another comes. */
static void replace(int64_t *sorted, int64_t old, int64_t new)
{
    size_t at = 0;
    while (sorted[at] != old) at++;
    for (; at > 0 && sorted[at - 1] > new; at--) sorted[at] = sorted[at - 1];
    for (; at + 1 < WINDOW && sorted[at + 1] < new; at++) sorted[at] = sorted[at + 1];
    sorted[at] = new;
}

static int64_t middle_of(const int64_t *sorted)
{
    int64_t low = sorted[WINDOW / 2 - 1], high = sorted[WINDOW / 2];
    return low + (int64_t)(((uint64_t)high - (uint64_t)low) / 2);
}

/* Whether the pair's distance moves at one moment, and stays there: medians of a window before and one after tell.
 * They lie within the values, so values that lie close together need no look. */
static bool jumps(const judge *j, size_t n)
{
    int64_t sorted[2][WINDOW], dev[2 * WINDOW], least = INT64_MAX, most = INT64_MIN;
    for (size_t i = 0; i < n; i++) {
        if (j->rest[i] < least) least = j->rest[i];
        if (j->rest[i] > most) most = j->rest[i];
    }
    if (n < 2 * (size_t)WINDOW || magnitude(most - least) <= OUTLIER) return false;
    for (int s = 0; s < 2; s++)
        for (size_t i = 0; i < WINDOW; i++) {
            size_t at = i;
            int64_t x = j->rest[(size_t)s * WINDOW + i];
            for (; at > 0 && sorted[s][at - 1] > x; at--) sorted[s][at] = sorted[s][at - 1];
            sorted[s][at] = x;
        }
    for (size_t at = WINDOW;; at++) {
        int64_t side[2] = {middle_of(sorted[0]), middle_of(sorted[1])}, jump = magnitude(side[1] - side[0]);
        if (jump > OUTLIER) {
            for (size_t i = 0; i < 2 * (size_t)WINDOW; i++)
                dev[i] = magnitude(j->rest[at - WINDOW + i] - side[i >= WINDOW]);
            if (jump > MADS * rs_median(dev, 2 * (size_t)WINDOW)) return true;
        }
        if (at + WINDOW == n) return false;
        replace(sorted[0], j->rest[at - WINDOW], j->rest[at]);
        replace(sorted[1], j->rest[at], j->rest[at + WINDOW]);
    }
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
    RS_LOCAL uint32_t *n_bad = rs_calloc(t->n_hubs + 1, sizeof *n_bad);
    if (!n_bad) return false;
    for (size_t i = 0; i < t->n_points; i++) n_bad[rs_point_b(t, i)->hub] += j->bad[i];
    for (size_t i = 0; i < t->n_points; i++) {
        bool few = 2 * n_bad[rs_point_b(t, i)->hub] < rs_point_hub(t, i)->n;
        if (!j->bad[i] && few) continue;
        rs_term *pair[2] = {rs_point_b(t, i), rs_point_a(t, i)};
        int n = few ? 1 : 2;
        for (int k = 0; k < n; k++) {
            if (pair[k]->aside) continue;
            pair[k]->aside = true;
            clocks->of[pair[k]->rank].n_set_aside++;
        }
    }
    return true;
}

rs_status rs_terms_judge(rs_terms *t, rs_clocks *clocks, rs_error *err)
{
    judge j = {.t = t};
    RS_LOCAL uint8_t *jumped = rs_calloc(t->n_pairs + 1, 1);
    size_t most = rs_terms_most_points(t);
    j.rest = rs_malloc((most + 1) * sizeof *j.rest);
    j.scratch = rs_malloc((most + 1) * sizeof *j.scratch);
    j.by_class = rs_malloc((most + 1) * sizeof *j.by_class);
    j.bad = rs_calloc(t->n_points + 1, 1);
    bool ok = jumped && j.rest && j.scratch && j.by_class && j.bad;
    for (size_t p = 0; ok && p < t->n_pairs; p++) {
        size_t from = t->first[p], to = t->first[p + 1];
        j.from = from;
        if (!rs_point_hub(t, from)->together) continue; /* ends of what the host ran differ as they like */
        for (size_t i = from; i < to; i++) j.rest[i - from] = rs_point_b(t, i)->end - rs_point_a(t, i)->end;
        detrend(&j, from, to);
        ok = by_classes(&j, from, to);
        if (ok) jumped[p] = jumps(&j, to - from);
        for (size_t i = from; jumped[p] && i < to; i++) j.bad[i] = 0;
    }
    ok = ok && set_aside(&j, clocks) && find_unstable(&j, jumped, clocks);
    rs_free_all(j.rest, j.scratch, j.by_class, j.bad);
    return ok ? RS_OK : rs_fail_nomem(err, "clocks");
}
