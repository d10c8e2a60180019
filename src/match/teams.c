#include "match/teams.h"

#include <string.h>

#include "base/interval.h"
#include "base/memory.h"
#include "base/real.h"
#include "base/stats.h"
#include "trace/events.h"

/* Pairs of calls that are compared, evenly over the recording. */
#define SAMPLES 128
#define MOST_SLACK 2
/* ns: recordings in whole microseconds are no finer. */
#define FINEST 1000
/* Limits, each 1.41 times the one before it: what stays the same over so many is no noise. */
#define STABLE 3

/* The middle of the distances of some pairs, and of their times. */
static double middle_of(const int64_t *values, size_t n)
{
    int64_t copy[SAMPLES];
    memcpy(copy, values, n * sizeof *copy);
    return (double)rs_median(copy, n);
}

static double drift_of(const int64_t *times, const int64_t *distances, size_t n)
{
    const size_t half = n / 2;
    double time = middle_of(times + half, n - half) - middle_of(times, half);
    double drift = time > 0 ? (middle_of(distances + half, n - half) - middle_of(distances, half)) / time : 0;
    return drift > RS_TEAM_DRIFT ? RS_TEAM_DRIFT : drift < -RS_TEAM_DRIFT ? -RS_TEAM_DRIFT : drift;
}

/* How far the distances of n ends of two lines are from what their clocks say, 9 of 10. */
static int64_t spread_at(const int64_t *a, const int64_t *b, size_t n)
{
    int64_t times[SAMPLES], distances[SAMPLES];
    const size_t count = n < SAMPLES ? n : SAMPLES;
    for (size_t i = 0; i < count; i++) {
        const size_t k = i * (n - 1) / (count - 1);
        times[i] = a[k];
        distances[i] = rs_sub_sat(b[k], a[k]);
    }
    const double drift = drift_of(times, distances, count);
    for (size_t i = 0; i < count; i++)
        distances[i] = rs_sub_sat(distances[i], rs_int_of(drift * (double)rs_sub_sat(times[i], times[0])));
    const int64_t middle = rs_median(distances, count);
    for (size_t i = 0; i < count; i++) {
        const int64_t far = rs_sub_sat(distances[i], middle);
        distances[i] = far < 0 ? rs_sub_sat(0, far) : far;
    }
    return rs_select_number(distances, count, count - 1 - count / 10);
}

/* Without the first `skip` calls of a, or of b where it is negative; INT64_MAX where that leaves too few pairs. */
static int64_t spread_without(const rs_team_line *a, const rs_team_line *b, ptrdiff_t skip)
{
    const size_t shorter = a->n < b->n ? a->n : b->n;
    const size_t least = shorter - shorter / 2 > RS_TEAM_LEAST ? shorter - shorter / 2 : RS_TEAM_LEAST;
    const size_t from_a = skip > 0 ? (size_t)skip : 0, from_b = skip < 0 ? (size_t)-skip : 0;
    if (from_a + least > a->n || from_b + least > b->n) return INT64_MAX;
    const size_t left_a = a->n - from_a, left_b = b->n - from_b;
    return spread_at(a->ends + from_a, b->ends + from_b, left_a < left_b ? left_a : left_b);
}

/* All ways to pair the calls in order: recordings begin together, or end together. The GPU of a rank whose host runs farther ahead has more to do when the
 * recording begins, so that many calls are recorded there alone. skips: calls of a without a partner before the first pair, of b where it is
 * negative; room for RS_TEAM_WAYS. */
static size_t list_ways(const rs_team_line *a, const rs_team_line *b, size_t slack, ptrdiff_t *skips)
{
    const ptrdiff_t more = (ptrdiff_t)a->n - (ptrdiff_t)b->n,
                    most = (ptrdiff_t)(slack < MOST_SLACK ? slack : MOST_SLACK);
    size_t n = 0;
    if (more && !slack) return 0;
    for (ptrdiff_t skip = -most; skip <= most; skip++) {
        skips[n++] = skip;
        if (more + skip > most || more + skip < -most) skips[n++] = more + skip;
    }
    return n;
}

/* The least over all ways. */
static int64_t spread_of(const rs_team_line *a, const rs_team_line *b, size_t slack)
{
    ptrdiff_t skips[RS_TEAM_WAYS];
    const size_t n = list_ways(a, b, slack, skips);
    int64_t best = INT64_MAX;
    for (size_t i = 0; i < n; i++) {
        const int64_t spread = spread_without(a, b, skips[i]);
        if (spread < best) best = spread;
    }
    return best;
}

static rs_team_apart apart_without(const rs_team_line *a, const rs_team_line *b, ptrdiff_t skip,
                                   int64_t spread)
{
    int64_t times[SAMPLES], distances[SAMPLES];
    const size_t from_a = skip > 0 ? (size_t)skip : 0, from_b = skip < 0 ? (size_t)-skip : 0,
                 left_a = a->n - from_a, left_b = b->n - from_b, n = left_a < left_b ? left_a : left_b,
                 count = n < SAMPLES ? n : SAMPLES;
    for (size_t i = 0; i < count; i++) {
        const size_t k = i * (n - 1) / (count - 1);
        times[i] = a->ends[from_a + k];
        distances[i] = rs_sub_sat(b->ends[from_b + k], times[i]);
    }
    return (rs_team_apart){rs_median(distances, count), rs_median(times, count), spread};
}

size_t rs_team_distances(const rs_team_line *a, const rs_team_line *b, size_t slack,
                         rs_team_apart out[RS_TEAM_WAYS])
{
    ptrdiff_t skips[RS_TEAM_WAYS];
    int64_t spreads[RS_TEAM_WAYS], best = INT64_MAX;
    const size_t n = list_ways(a, b, slack, skips);
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        spreads[i] = spread_without(a, b, skips[i]);
        if (spreads[i] < best) best = spreads[i];
    }
    for (size_t i = 0; best < INT64_MAX && i < n; i++)
        if (spreads[i] / 2 <= rs_add_sat(best, FINEST))
            out[kept++] = apart_without(a, b, skips[i], spreads[i]);
    return kept;
}

/* Teams of what spreads by no more than the limit, and than each line allows. Returns whether all are of one size, and more than one;
 * lines that have too few calls count as neither. */
static bool part(rs_team_line *lines, size_t n, size_t slack, int64_t limit, rs_team_may_fn may,
                 void *context)
{
    bool even = true;
    size_t size = 0;
    for (size_t i = 0; i < n; i++) {
        rs_team_line *line = &lines[i];
        *line = (rs_team_line){line->ends, line->n, line->most_spread, i, 1, RS_NO_VALUE};
        const int64_t own = limit < line->most_spread ? limit : line->most_spread;
        int64_t least = INT64_MAX;
        for (size_t t = 0; t < i && line->n >= RS_TEAM_LEAST; t++) {
            if (lines[t].team != t) continue;
            const int64_t spread = spread_of(&lines[t], line, slack);
            if (spread > own || spread >= least || (may && !may(context, t, i))) continue;
            least = spread;
            line->team = t;
        }
        if (line->team == i) continue;
        lines[line->team].size++;
        if (lines[line->team].spread < least) lines[line->team].spread = least;
    }
    for (size_t i = 0; i < n; i++) {
        lines[i].size = lines[lines[i].team].size;
        lines[i].spread = lines[lines[i].team].spread;
        if (lines[i].n < RS_TEAM_LEAST) continue;
        if (!size) size = lines[i].size;
        even = even && size > 1 && lines[i].size == size;
    }
    return even;
}

/* More lines are not held against each other one by one. */
#define MOST_NEAREST 512
/* Of fewer lines some part evenly by chance, unless others are so many times as far as mates. */
#define FEW_LINES 8
#define CLEARLY_FARTHER 2

/* By line and other line: how far distances spread. */
typedef struct spreads {
    int64_t *of;
    size_t n;
} spreads;

/* The mates of a line in a team of `size`: marks the nearest ones in `in`, and the line itself. *farthest, *next: of the mates; of the nearest other line. */
static void find_mates(const spreads *s, size_t line, size_t size, uint8_t *in, int64_t *farthest,
                       int64_t *next)
{
    memset(in, 0, s->n);
    in[line] = 1;
    *farthest = *next = 0;
    for (size_t k = 0; k < size; k++) {
        size_t best = SIZE_MAX;
        for (size_t i = 0; i < s->n; i++)
            if (!in[i] && (best == SIZE_MAX || s->of[line * s->n + i] < s->of[line * s->n + best])) best = i;
        if (best == SIZE_MAX) return;
        *farthest = *next;
        *next = s->of[line * s->n + best];
        if (k + 1 < size) in[best] = 1;
    }
}

/* Teams of `size` of which each line has its nearest ones as mates, as they have it. mates: room for a mark by two lines. */
static bool part_by_nearest(rs_team_line *lines, const spreads *s, size_t size, uint8_t *mates)
{
    const size_t n = s->n;
    for (size_t i = 0; i < n; i++) {
        int64_t farthest, next;
        find_mates(s, i, size, mates + i * n, &farthest, &next);
        const int64_t times = n < FEW_LINES ? CLEARLY_FARTHER : 1;
        if (farthest > lines[i].most_spread || next <= farthest || next / times < farthest) return false;
    }
    for (size_t i = 0; i < n; i++) {
        size_t first = SIZE_MAX;
        for (size_t k = 0; k < n; k++) {
            if (!mates[i * n + k]) continue;
            if (first == SIZE_MAX) first = k;
            if (memcmp(mates + i * n, mates + k * n, n) != 0) return false;
        }
        lines[i].team = first;
        lines[i].size = size;
    }
    for (size_t i = 0; i < n; i++) {
        rs_team_line *leader = &lines[lines[i].team];
        const int64_t spread = s->of[lines[i].team * n + i];
        if (i == lines[i].team) leader->spread = 0;
        if (i != lines[i].team && spread > leader->spread) leader->spread = spread;
    }
    for (size_t i = 0; i < n; i++) lines[i].spread = lines[lines[i].team].spread;
    return true;
}

/* Where calls are too few for limits to show: even teams by who is nearest to whom, the smallest that there are. false: out of memory. *found: there are. */
static bool find_nearest(rs_team_line *lines, size_t n, size_t slack, rs_team_may_fn may, void *context,
                         bool *found)
{
    *found = false;
    if (n < 4 || n > MOST_NEAREST) return true;
    for (size_t i = 0; i < n; i++)
        if (lines[i].n < RS_TEAM_LEAST) return true;
    RS_LOCAL int64_t *of = rs_malloc(n * n * sizeof *of);
    RS_LOCAL uint8_t *mates = rs_malloc(n * n);
    if (!of || !mates) return false;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k <= i; k++) {
            const int64_t spread =
                i == k || (may && !may(context, k, i)) ? INT64_MAX : spread_of(&lines[k], &lines[i], slack);
            of[i * n + k] = of[k * n + i] = spread;
        }
    const spreads s = {of, n};
    for (size_t size = 2; !*found && size <= n / 2; size++)
        *found = n % size == 0 && part_by_nearest(lines, &s, size, mates);
    return true;
}

bool rs_teams_find_among(rs_team_line *lines, size_t n, size_t slack, rs_team_may_fn may, void *context)
{
    RS_LOCAL size_t *before = rs_malloc((n + 1) * sizeof *before);
    int64_t most = 0;
    if (!before) return false;
    for (size_t i = 0; i < n; i++) {
        most = lines[i].most_spread > most ? lines[i].most_spread : most;
        before[i] = SIZE_MAX;
    }
    int run = 0;
    for (int64_t limit = FINEST; run < STABLE && limit < most; limit = limit / 5 * 7) {
        bool even = part(lines, n, slack, limit, may, context), same = true;
        for (size_t i = 0; i < n; i++) {
            same = same && before[i] == lines[i].team;
            before[i] = lines[i].team;
        }
        run = !even ? 0 : same ? run + 1 : 1;
    }
    if (run == STABLE || part(lines, n, slack, most, may, context) || !slack) return true;
    bool few = true, found = false;
    for (size_t i = 0; i < n; i++) few = few && lines[i].n < RS_TEAM_TELLING;
    if (few && !find_nearest(lines, n, slack, may, context, &found)) return false;
    for (size_t i = 0; !found && i < n; i++)
        if (lines[i].n < RS_TEAM_TELLING)
            lines[i] = (rs_team_line){lines[i].ends, lines[i].n, lines[i].most_spread, i, 1, RS_NO_VALUE};
    return true;
}

bool rs_teams_find(rs_team_line *lines, size_t n, size_t slack)
{
    return rs_teams_find_among(lines, n, slack, NULL, NULL);
}
