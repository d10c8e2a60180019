#include "clock/hull.h"

#include <math.h>

#include "base/search.h"

/* sign 1: lows and highs as they are; -1: mirrored, so that the least slope becomes the greatest. */
typedef struct side {
    const rs_clock_bound *items;
    int sign;
} side;

static double low_of(const side *s, size_t i)
{
    return s->sign > 0 ? (double)s->items[i].low : -(double)s->items[i].high;
}
static double high_of(const side *s, size_t i)
{
    return s->sign > 0 ? (double)s->items[i].high : -(double)s->items[i].low;
}
static double at_of(const side *s, size_t i)
{
    return (double)s->items[i].at;
}

static double slope_to(const side *s, size_t from, size_t to)
{
    return (high_of(s, to) - low_of(s, from)) / (at_of(s, to) - at_of(s, from));
}

/* Whether the middle one of three low points lies on or under the line of the others. */
static bool is_under(const side *s, size_t a, size_t b, size_t c)
{
    return (low_of(s, b) - low_of(s, a)) * (at_of(s, c) - at_of(s, a)) <=
           (low_of(s, c) - low_of(s, a)) * (at_of(s, b) - at_of(s, a));
}

/* A line that passes under a later high and over an earlier low rises by no more than the line through the
 * two. The least of these over all pairs: for each high the tangent to the upper hull of the lows before it.
 */
static double greatest_slope(const side *s, size_t n, size_t *hull)
{
    size_t n_hull = 0, entered = 0;
    double least = INFINITY;
    for (size_t i = 0; i < n; i++) {
        for (; entered < i && s->items[entered].at < s->items[i].at; entered++) {
            if (n_hull && s->items[hull[n_hull - 1]].at == s->items[entered].at) {
                if (low_of(s, hull[n_hull - 1]) >= low_of(s, entered)) continue;
                n_hull--;
            }
            while (n_hull > 1 && is_under(s, hull[n_hull - 2], hull[n_hull - 1], entered)) n_hull--;
            hull[n_hull++] = entered;
        }
        if (!n_hull) continue;
        size_t low; /* along the hull the slope first falls, then rises */
        RS_SEARCH(low, n_hull - 1, !(slope_to(s, hull[low], i) <= slope_to(s, hull[low + 1], i)));
        double slope = slope_to(s, hull[low], i);
        if (slope < least) least = slope;
    }
    return least;
}

bool rs_clock_slopes(const rs_clock_bound *items, size_t n, size_t *scratch, double *least, double *greatest)
{
    side up = {items, 1}, down = {items, -1};
    *greatest = greatest_slope(&up, n, scratch);
    *least = -greatest_slope(&down, n, scratch);
    return isfinite(*least) && isfinite(*greatest) && *least <= *greatest;
}
