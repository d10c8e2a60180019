#include "match/teams.h"

#include <string.h>

#include "base/interval.h"
#include "base/memory.h"
#include "base/real.h"
#include "base/stats.h"
#include "trace/events.h"

/* Pairs of calls that are compared, evenly over the recording. */
#define SAMPLES 128
/* Quartz clocks drift apart by no more, as a part of the time. */
#define MOST_DRIFT 1e-4
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
    return drift > MOST_DRIFT ? MOST_DRIFT : drift < -MOST_DRIFT ? -MOST_DRIFT : drift;
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

/* The least over all ways to pair the calls in order: recordings begin together, or end together. The GPU of a rank whose host runs
 * farther ahead has more to do when the recording begins, so that many calls are recorded there alone. */
static int64_t spread_of(const rs_team_line *a, const rs_team_line *b, size_t slack)
{
    const ptrdiff_t more = (ptrdiff_t)a->n - (ptrdiff_t)b->n, most = (ptrdiff_t)slack;
    int64_t best = INT64_MAX;
    if (more && !slack) return best;
    for (ptrdiff_t skip = -most; skip <= most; skip++) {
        int64_t spread = spread_without(a, b, skip);
        if (spread < best) best = spread;
        if (more + skip <= most && more + skip >= -most) continue; /* looked at above */
        spread = spread_without(a, b, more + skip);
        if (spread < best) best = spread;
    }
    return best;
}

/* Teams of what spreads by no more than the limit, and than each line allows. Returns whether all are of one size, and more than one;
 * lines that have too few calls count as neither. */
static bool part(rs_team_line *lines, size_t n, size_t slack, int64_t limit)
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
            if (spread > own || spread >= least) continue;
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

bool rs_teams_find(rs_team_line *lines, size_t n, size_t slack)
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
        bool even = part(lines, n, slack, limit), same = true;
        for (size_t i = 0; i < n; i++) {
            same = same && before[i] == lines[i].team;
            before[i] = lines[i].team;
        }
        run = !even ? 0 : same ? run + 1 : 1;
    }
    if (run < STABLE && !part(lines, n, slack, most) && slack)
        for (size_t i = 0; i < n; i++)
            if (lines[i].n < RS_TEAM_TELLING)
                lines[i] = (rs_team_line){lines[i].ends, lines[i].n, lines[i].most_spread, i, 1, RS_NO_VALUE};
    return true;
}
