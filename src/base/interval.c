#include "base/interval.h"

#include <string.h>

#include "base/memory.h"

/* ---- sorting -------------------------------------------------------------------------------------------
 * Traces list events almost by time: an insertion sort that may move a few places an item on average does
 * most of them. Where that does not suffice, or one has to go far, ascending runs are found, short ones
 * lengthened by insertion, and neighbours merged in place until one is left. */

#define MIN_RUN 24
#define MOVES_AN_ITEM 4
#define FAR_MOVE 256 /* an element that must move farther than this starts a new run */

#define DEFINE_SORT(name, type, key)                                                                         \
    static bool name##_nearly(type *items, size_t n)                                                         \
    {                                                                                                        \
        size_t moves = MOVES_AN_ITEM * n;                                                                    \
        for (size_t at = 1; at < n; at++) {                                                                  \
            if (items[at].key >= items[at - 1].key) continue;                                                \
            if (at >= FAR_MOVE && items[at].key < items[at - FAR_MOVE].key) return false;                    \
            type x = items[at];                                                                              \
            size_t i = at;                                                                                   \
            for (; i > 0 && items[i - 1].key > x.key && moves > 0; i--, moves--) items[i] = items[i - 1];    \
            items[i] = x;                                                                                    \
            if (moves == 0) return false;                                                                    \
        }                                                                                                    \
        return true;                                                                                         \
    }                                                                                                        \
    static size_t name##_run(type *items, size_t at, size_t n)                                               \
    {                                                                                                        \
        size_t end = at + 1;                                                                                 \
        while (end < n && items[end].key >= items[end - 1].key) end++;                                       \
        size_t want = n - at < MIN_RUN ? n : at + MIN_RUN;                                                   \
        for (; end < want; end++) {                                                                          \
            type x = items[end];                                                                             \
            size_t i = end;                                                                                  \
            for (; i > at && items[i - 1].key > x.key; i--) items[i] = items[i - 1];                         \
            items[i] = x;                                                                                    \
        }                                                                                                    \
        return end;                                                                                          \
    }                                                                                                        \
    /* How many of the n ascending items are before a key; with ties, before those that have it, too. */     \
    static size_t name##_before(const type *items, size_t n, int64_t k, bool ties)                           \
    {                                                                                                        \
        size_t low = 0;                                                                                      \
        while (low < n) {                                                                                    \
            size_t middle = low + (n - low) / 2;                                                             \
            if (items[middle].key < k || (ties && items[middle].key == k))                                   \
                low = middle + 1;                                                                            \
            else                                                                                             \
                n = middle;                                                                                  \
        }                                                                                                    \
        return low;                                                                                          \
    }                                                                                                        \
    /* Merges [items, b) and [b, end): only what is out of place moves, by way of half of it. */             \
    static void name##_merge(type *items, type *b, type *end, type *scratch)                                 \
    {                                                                                                        \
        if (b == end || b[-1].key <= b->key) return;                                                         \
        items += name##_before(items, (size_t)(b - items), b->key, true);                                    \
        end = b + name##_before(b, (size_t)(end - b), b[-1].key, false);                                     \
        size_t n_a = (size_t)(b - items), n_b = (size_t)(end - b);                                           \
        if (n_a <= n_b) {                                                                                    \
            const type *s = scratch, *s_end = scratch + n_a;                                                 \
            type *out = items;                                                                               \
            memcpy(scratch, items, n_a * sizeof *items);                                                     \
            while (s < s_end && b < end) *out++ = b->key < s->key ? *b++ : *s++;                             \
            memcpy(out, s, (size_t)(s_end - s) * sizeof *s);                                                 \
        } else {                                                                                             \
            const type *s = scratch + n_b;                                                                   \
            type *out = end;                                                                                 \
            memcpy(scratch, b, n_b * sizeof *items);                                                         \
            while (s > scratch && b > items) *--out = s[-1].key < b[-1].key ? *--b : *--s;                   \
            memcpy(items, scratch, (size_t)(s - scratch) * sizeof *s);                                       \
        }                                                                                                    \
    }                                                                                                        \
    bool name(type *items, size_t n)                                                                         \
    {                                                                                                        \
        if (name##_nearly(items, n)) return true;                                                            \
        size_t n_runs = 0;                                                                                   \
        size_t *runs = rs_malloc((n / MIN_RUN + 3) * sizeof *runs);                                          \
        type *scratch = runs ? rs_malloc((n / 2 + 1) * sizeof *scratch) : NULL;                              \
        if (!scratch) {                                                                                      \
            rs_free(runs);                                                                                   \
            return false;                                                                                    \
        }                                                                                                    \
        for (size_t at = 0; at < n; at = runs[n_runs]) {                                                     \
            if (n_runs == 0) runs[0] = 0;                                                                    \
            runs[++n_runs] = name##_run(items, at, n);                                                       \
        }                                                                                                    \
        while (n_runs > 1) {                                                                                 \
            size_t kept = 0;                                                                                 \
            for (size_t i = 0; i < n_runs; i += 2) {                                                         \
                size_t b = runs[i + 1], end = i + 1 < n_runs ? runs[i + 2] : b;                              \
                name##_merge(items + runs[i], items + b, items + end, scratch);                              \
                runs[++kept] = end;                                                                          \
            }                                                                                                \
            n_runs = kept;                                                                                   \
        }                                                                                                    \
        rs_free(scratch);                                                                                    \
        rs_free(runs);                                                                                       \
        return true;                                                                                         \
    }

DEFINE_SORT(rs_keyed_sort, rs_keyed, key)
DEFINE_SORT(rs_intervals_sort, rs_interval, start)

size_t rs_keyed_before(const rs_keyed *items, size_t n, int64_t key)
{
    return rs_keyed_sort_before(items, n, key, false);
}

size_t rs_keyed_until(const rs_keyed *items, size_t n, int64_t key)
{
    return rs_keyed_sort_before(items, n, key, true);
}

/* ---- sets ------------------------------------------------------------------------------------------- */

size_t rs_intervals_unite(rs_interval *items, size_t n)
{
    if (n == 0) return 0;
    size_t last = 0;
    int64_t reach = items[0].end; /* the latest end so far: a group that starts later can end earlier */
    for (size_t i = 1; i < n; i++) {
        if (items[i].start > reach)
            items[++last] = items[i];
        else if (items[i].end > items[last].end)
            items[last].end = items[i].end;
        if (items[i].end > reach) reach = items[i].end;
    }
    return last + 1;
}

int64_t rs_intervals_length(const rs_interval *items, size_t n)
{
    int64_t sum = 0;
    for (size_t i = 0; i < n; i++) sum = rs_add_sat(sum, rs_sub_sat(items[i].end, items[i].start));
    return sum;
}

int64_t rs_intervals_intersection(const rs_interval *a, size_t n_a, const rs_interval *b, size_t n_b)
{
    int64_t sum = 0;
    size_t i = 0, k = 0;
    while (i < n_a && k < n_b) {
        int64_t start = a[i].start > b[k].start ? a[i].start : b[k].start;
        int64_t end = a[i].end < b[k].end ? a[i].end : b[k].end;
        if (end > start) sum = rs_add_sat(sum, rs_sub_sat(end, start));
        if (a[i].end < b[k].end)
            i++;
        else
            k++;
    }
    return sum;
}

size_t rs_intervals_subtract(const rs_interval *a, size_t n_a, const rs_interval *b, size_t n_b,
                             rs_interval *out)
{
    size_t n = 0, k = 0;
    for (size_t i = 0; i < n_a; i++) {
        int64_t at = a[i].start;
        while (k < n_b && b[k].end <= at) k++;
        size_t j = k;
        for (; j < n_b && b[j].start < a[i].end; j++) {
            if (b[j].start > at) out[n++] = (rs_interval){at, b[j].start};
            if (b[j].end > at) at = b[j].end;
            if (at >= a[i].end) break;
        }
        if (at < a[i].end) out[n++] = (rs_interval){at, a[i].end};
        k = j;
    }
    return n;
}

static void sweep_any(const rs_interval_set *sets, unsigned k, int64_t quantum, int64_t *time)
{
    size_t opened[RS_MAX_SWEEP] = {0}, closed[RS_MAX_SWEEP] = {0};
    int full = 1 << k, active = 0;
    memset(time, 0, (size_t)full * sizeof *time);
    int64_t before = 0;
    for (bool first = true;; first = false) {
        int64_t now = INT64_MAX;
        bool more = false;
        for (unsigned s = 0; s < k; s++) {
            const rs_interval_set *set = &sets[s];
            if (opened[s] < set->n && set->items[opened[s]].start <= now)
                now = set->items[opened[s]].start, more = true;
            if (closed[s] < set->n && set->items[closed[s]].end <= now)
                now = set->items[closed[s]].end, more = true;
        }
        if (!more) return;
        if (!first && now < before)
            now = before; /* a negative interval ends before it starts, which puts its end out of order */
        if (!first && active >= 0 && active < full) {
            int64_t piece = rs_sub_sat(now, before);
            time[active] = rs_add_sat(time[active], piece - piece % quantum);
        }
        for (unsigned s = 0; s < k; s++) {
            const rs_interval_set *set = &sets[s];
            /* in a united set the ends ascend like the starts, so each list is walked on its own */
            for (; opened[s] < set->n && set->items[opened[s]].start <= now; opened[s]++) active += 1 << s;
            for (; closed[s] < set->n && set->items[closed[s]].end <= now; closed[s]++) active -= 1 << s;
        }
        before = now;
    }
}

/* One set's place in the sweep. */
typedef struct border {
    const rs_interval *at, *end;
    int64_t next; /* INT64_MAX: no more */
    int bit;
    bool inside; /* next is an end */
} border;

/* Where no interval is negative the borders of a set ascend, start and end by turns. */
static bool borders_ascend(const rs_interval_set *set)
{
    int64_t before = INT64_MIN;
    for (size_t i = 0; i < set->n; i++) {
        if (set->items[i].start < before || set->items[i].end < set->items[i].start) return false;
        before = set->items[i].end;
    }
    return before < INT64_MAX;
}

static void pass_border(border *b)
{
    if (!b->inside)
        b->next = b->at->end;
    else
        b->next = ++b->at < b->end ? b->at->start : INT64_MAX;
    b->inside = !b->inside;
}

static void sweep_ascending(border *borders, unsigned k, int64_t quantum, int64_t *time)
{
    int active = 0;
    int64_t before = INT64_MAX;
    for (;;) {
        int64_t now = INT64_MAX;
        for (unsigned s = 0; s < k; s++)
            if (borders[s].next < now) now = borders[s].next;
        if (now == INT64_MAX) return;
        if (before < now) {
            int64_t piece = rs_sub_sat(now, before);
            time[active] = rs_add_sat(time[active], quantum == 1 ? piece : piece - piece % quantum);
        }
        before = now;
        for (unsigned s = 0; s < k; s++)
            for (; borders[s].next == now; active ^= borders[s].bit) pass_border(&borders[s]);
    }
}

void rs_intervals_sweep(const rs_interval_set *sets, unsigned k, int64_t quantum, int64_t *time)
{
    border borders[RS_MAX_SWEEP];
    unsigned n = 0;
    for (unsigned s = 0; s < k; s++) {
        if (!sets[s].n) continue;
        if (!borders_ascend(&sets[s])) {
            sweep_any(sets, k, quantum, time);
            return;
        }
        const rs_interval *items = sets[s].items;
        borders[n++] = (border){items, items + sets[s].n, items[0].start, 1 << s, false};
    }
    memset(time, 0, ((size_t)1 << k) * sizeof *time);
    sweep_ascending(borders, n, quantum, time);
}

/* ---- dividing ------------------------------------------------------------------------------------------ */

static bool append_stretch(rs_divisions *out, int64_t from, int64_t to, uint32_t of)
{
    rs_division *last = out->n ? &out->items[out->n - 1] : NULL;
    if (last && last->of == of && last->from + last->time == from) {
        last->time += to - from;
        return true;
    }
    const rs_division next = {from, rs_sub_sat(to, from), of};
    return RS_APPEND(out, next);
}

bool rs_intervals_divide(const rs_interval_set *sets, unsigned k, rs_interval whole, unsigned hidden,
                         rs_divisions *out)
{
    size_t at[RS_MAX_DIVIDE] = {0};
    for (int64_t now = whole.start, next; now < whole.end; now = next) {
        unsigned of = k;
        next = whole.end;
        /* sets after the one that holds this moment have no say before it ends */
        for (unsigned s = 0; s < k && of == k; s++) {
            const rs_interval *items = sets[s].items;
            while (at[s] < sets[s].n && items[at[s]].end <= now) at[s]++;
            if (at[s] == sets[s].n) continue;
            const bool holds = items[at[s]].start <= now;
            const int64_t edge = holds ? items[at[s]].end : items[at[s]].start;
            if (holds) of = s;
            if (edge < next) next = edge;
        }
        if (of != hidden && !append_stretch(out, now, next, of)) return false;
    }
    return true;
}
