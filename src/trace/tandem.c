#include "trace/tandem.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/strings.h"

enum { LEAST_TIMES = 3 };

typedef struct search {
    const uint32_t *token;
    size_t n, least;
    uint64_t *prefix; /* hashes of the first i tokens */
    uint32_t *done;   /* by period: up to where its runs are known */
    rs_tandem *items;
    size_t n_items, capacity;
} search;

#define BASE UINT64_C(0x9E3779B97F4A7C15)

static bool add_run(search *s, size_t at, size_t period)
{
    const uint32_t *x = s->token;
    size_t first = at, end = at;
    while (first > 0 && x[first - 1] == x[first - 1 + period]) first--;
    while (end + period < s->n && x[end] == x[end + period]) end++;
    s->done[period] = (uint32_t)end;
    size_t times = (end + period - first) / period;
    if (times < LEAST_TIMES || period < s->least) return true;
    return RS_PUSH(s->items, s->n_items, s->capacity, (rs_tandem){first, period, times, 0});
}

/* Runs with periods from half a window on and below the window's length. */
static bool find_runs(search *s, size_t window)
{
    RS_SCOPED(rs_map64_clear) rs_map64 last = {0};
    uint64_t power = 1;
    bool ok = true;
    for (size_t i = 0; i < window; i++) power *= BASE;
    for (size_t i = 0; ok && i + window <= s->n; i++) {
        bool is_new;
        uint32_t *before = rs_map64_put(&last, s->prefix[i + window] - s->prefix[i] * power, &is_new);
        ok = before != NULL;
        if (!ok) break;
        size_t period = is_new ? 0 : i - *before, at = *before;
        *before = (uint32_t)i;
        if (period * 2 < window || period >= window || at < s->done[period]) continue;
        if (memcmp(s->token + at, s->token + i, window * sizeof *s->token) == 0) ok = add_run(s, at, period);
    }
    return ok;
}

static size_t length_of(const rs_tandem *t)
{
    return t->period * t->times;
}

static int by_length(const void *a, const void *b)
{
    const rs_tandem *x = a, *y = b;
    size_t n = length_of(x), m = length_of(y);
    if (n != m) return n > m ? -1 : 1;
    if (x->first != y->first) return x->first < y->first ? -1 : 1;
    return (x->period > y->period) - (x->period < y->period);
}

static int by_first(const void *a, const void *b)
{
    const rs_tandem *x = a, *y = b;
    if (x->first != y->first) return x->first < y->first ? -1 : 1;
    return by_length(a, b);
}

/* Whether y is within one period of x, in each or some of its repeats. */
static bool holds(const rs_tandem *x, const rs_tandem *y)
{
    size_t end = x->first + length_of(x);
    return y->first >= x->first && y->first + length_of(y) <= end + x->period - 1 &&
           length_of(y) <= x->period;
}

static bool is_apart(const rs_tandem *x, const rs_tandem *y)
{
    return x->first + length_of(x) <= y->first || y->first + length_of(y) <= x->first;
}

/* Keeps what is apart from or within all longer ones. Quadratic in what is kept, which is bounded. */
enum { MOST_KEPT = 4096, MOST_SEEN = 65536 };

static size_t choose(rs_tandem *items, size_t n)
{
    size_t kept = 0;
    if (n) qsort(items, n, sizeof *items, by_length);
    for (size_t i = 0; i < n && i < MOST_SEEN && kept < MOST_KEPT; i++) {
        rs_tandem x = items[i];
        bool fits = true;
        for (size_t k = 0; fits && k < kept; k++) {
            if (is_apart(&items[k], &x)) continue;
            fits = holds(&items[k], &x);
            if (items[k].level >= x.level) x.level = items[k].level + 1;
        }
        if (fits) items[kept++] = x;
    }
    if (kept) qsort(items, kept, sizeof *items, by_first);
    return kept;
}

rs_status rs_tandem_find(const uint32_t *token, size_t n, size_t least, rs_tandem **out, size_t *n_out,
                         rs_error *err)
{
    *out = NULL;
    *n_out = 0;
    if (n < LEAST_TIMES || n >= UINT32_MAX) return RS_OK;
    search s = {.token = token,
                .n = n,
                .least = least,
                .prefix = rs_malloc((n + 1) * sizeof *s.prefix),
                .done = rs_calloc(n + 1, sizeof *s.done)};
    bool ok = s.prefix && s.done;
    if (ok) s.prefix[0] = 0;
    for (size_t i = 0; ok && i < n; i++) s.prefix[i + 1] = s.prefix[i] * BASE + token[i] + 1;
    for (size_t window = 2; ok && window / 2 * LEAST_TIMES <= n; window *= 2) ok = find_runs(&s, window);
    rs_free_all(s.prefix, s.done);
    if (!ok) {
        rs_free(s.items);
        return rs_fail_nomem(err, "repeats");
    }
    *n_out = choose(s.items, s.n_items);
    *out = s.items;
    return RS_OK;
}
