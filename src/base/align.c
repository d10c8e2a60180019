#include "base/align.h"

#include "base/memory.h"
#include "base/strings.h"

#define MAX_CELLS ((size_t)1 << 24)
#define FIRST_REACH 16

/* A path costs one drop for each item that finds no partner, and 1 for each match of unequal details. Fewest
 * drops are most matches. A drop outweighs any number of unequal details. */
typedef uint64_t cost;
#define DROP ((cost)1 << 32)

/* Which step a best path takes from a cell; the first of them that loses nothing. */
enum { MATCH, DROP_A, DROP_B };

/* Items a[from_a .. to_a) against b[from_b .. to_b). */
typedef struct rectangle {
    size_t from_a, to_a, from_b, to_b;
} rectangle;

/* A cell (i, j) stands for what is left: a from i on, b from j on. Its diagonal is j - i. */
typedef struct band {
    const rs_align_item *a, *b;
    size_t n, m;
    int64_t low; /* the lowest diagonal looked at */
    size_t width;
} band;

typedef struct aligner {
    const rs_align_item *a, *b;
    const uint32_t *place; /* of a's items in the caller's sequence */
    uint32_t *match;
    size_t max_cells;
    cost *costs; /* of the row, by diagonal */
    size_t n_costs;
    uint32_t *crossing; /* by diagonal: the column at which the path enters the middle row */
    size_t n_crossing;
    uint8_t *steps;
    size_t n_steps;
    rectangle *todo;
    size_t n_todo, todo_capacity;
} aligner;

/* ---- one row ------------------------------------------------------------------------------------------- */

static void columns_of(const band *s, size_t i, size_t *first, size_t *last)
{
    int64_t from = (int64_t)i + s->low, to = from + (int64_t)s->width - 1;
    *first = from > 0 ? (size_t)from : 0;
    *last = to < (int64_t)s->m ? (size_t)to : s->m;
}

/* The costs of row i, over those of row i + 1. steps and crossing may be NULL. */
static void make_row(const band *s, size_t i, cost *costs, uint8_t *steps, uint32_t *crossing)
{
    size_t first, last;
    columns_of(s, i, &first, &last);
    for (size_t j = last + 1; j-- > first;) {
        size_t k = (size_t)((int64_t)j - (int64_t)i - s->low);
        cost down = k > 0 ? costs[k - 1] + DROP : UINT64_MAX;
        uint8_t step = DROP_A;
        if (j == s->m) {
            costs[k] = (s->n - i) * DROP;
        } else {
            bool may = s->a[i].name == s->b[j].name;
            cost match = may ? costs[k] + (s->a[i].detail != s->b[j].detail) : UINT64_MAX;
            cost right = k + 1 < s->width ? costs[k + 1] + DROP : UINT64_MAX;
            cost best = match < down ? match : down;
            if (right < best) best = right;
            costs[k] = best;
            step = match == best ? MATCH : down == best ? DROP_A : DROP_B;
        }
        if (steps) steps[k] = step;
        if (crossing && step != MATCH) crossing[k] = step == DROP_A ? crossing[k - 1] : crossing[k + 1];
    }
}

static void last_row(const band *s, cost *costs)
{
    size_t first, last;
    columns_of(s, s->n, &first, &last);
    for (size_t j = first; j <= last; j++)
        costs[(size_t)((int64_t)j - (int64_t)s->n - s->low)] = (s->m - j) * DROP;
}

/* ---- the band ------------------------------------------------------------------------------------------ */

static band band_of(const aligner *x, const rectangle *r, size_t reach)
{
    band s = {
        .a = x->a + r->from_a, .b = x->b + r->from_b, .n = r->to_a - r->from_a, .m = r->to_b - r->from_b};
    int64_t end = (int64_t)s.m - (int64_t)s.n, low = end < 0 ? end : 0, high = end > 0 ? end : 0;
    low = low - (int64_t)reach > -(int64_t)s.n ? low - (int64_t)reach : -(int64_t)s.n;
    high = high + (int64_t)reach < (int64_t)s.m ? high + (int64_t)reach : (int64_t)s.m;
    s.low = low;
    s.width = (size_t)(high - low) + 1;
    return s;
}

/* Whether no path of that cost or a lower one leaves the band: it would need two drops more than the way to
 * the band's edge and back. */
static bool holds(const band *s, size_t reach, cost found)
{
    size_t least = s->m > s->n ? s->m - s->n : s->n - s->m;
    bool whole = s->low == -(int64_t)s->n && s->width == s->n + s->m + 1;
    return whole || found / DROP <= least + 2 * reach;
}

static bool reserve_costs(aligner *x, size_t width)
{
    return rs_grow((void **)&x->costs, &x->n_costs, width, sizeof *x->costs);
}

static void walk(aligner *x, const rectangle *r, const band *s)
{
    size_t i = 0, j = 0;
    while (i < s->n && j < s->m) {
        uint8_t step = x->steps[i * s->width + (size_t)((int64_t)j - (int64_t)i - s->low)];
        if (step == MATCH) x->match[x->place[r->from_a + i]] = (uint32_t)(r->from_b + j);
        i += step != DROP_B;
        j += step != DROP_A;
    }
}

/* All steps fit into the block. *done: the band was wide enough. */
static bool solve_at_once(aligner *x, const rectangle *r, const band *s, size_t reach, bool *done)
{
    if (!rs_grow((void **)&x->steps, &x->n_steps, s->n * s->width, 1)) return false;
    last_row(s, x->costs);
    for (size_t i = s->n; i-- > 0;) make_row(s, i, x->costs, x->steps + i * s->width, NULL);
    *done = holds(s, reach, x->costs[-s->low]);
    if (*done) walk(x, r, s);
    return true;
}

/* Finds where the path enters the middle row. Each half is then a problem of its own: up to there, and from
 * there on, the path of the whole is the one that the walk finds in the part. */
static bool split(aligner *x, const rectangle *r, const band *s, size_t reach, bool *done)
{
    size_t middle = s->n / 2, first, last;
    if (!rs_grow((void **)&x->crossing, &x->n_crossing, s->width, sizeof *x->crossing)) return false;
    last_row(s, x->costs);
    for (size_t i = s->n; i-- > middle;) make_row(s, i, x->costs, NULL, NULL);
    columns_of(s, middle, &first, &last);
    for (size_t j = first; j <= last; j++)
        x->crossing[(size_t)((int64_t)j - (int64_t)middle - s->low)] = (uint32_t)j;
    for (size_t i = middle; i-- > 0;) make_row(s, i, x->costs, NULL, x->crossing);
    *done = holds(s, reach, x->costs[-s->low]);
    if (!*done) return true;
    size_t a = r->from_a + middle, b = r->from_b + x->crossing[-s->low];
    if (!RS_GROW_ONE(x->todo, x->n_todo, x->todo_capacity)) return false;
    x->todo[x->n_todo++] = (rectangle){r->from_a, a, r->from_b, b};
    if (!RS_GROW_ONE(x->todo, x->n_todo, x->todo_capacity)) return false;
    x->todo[x->n_todo++] = (rectangle){a, r->to_a, b, r->to_b};
    return true;
}

/* Items equal in all at the front match in a best alignment, and the walk takes it. Not so at the back. */
static void match_front(aligner *x, rectangle *r)
{
    while (r->from_a < r->to_a && r->from_b < r->to_b && x->a[r->from_a].name == x->b[r->from_b].name &&
           x->a[r->from_a].detail == x->b[r->from_b].detail)
        x->match[x->place[r->from_a++]] = (uint32_t)r->from_b++;
}

static bool solve(aligner *x, rectangle r)
{
    match_front(x, &r);
    if (r.from_a == r.to_a || r.from_b == r.to_b) return true;
    bool done = false;
    for (size_t reach = FIRST_REACH; !done; reach *= 2) {
        band s = band_of(x, &r, reach);
        if (!reserve_costs(x, s.width)) return false;
        bool small = s.n < 2 || s.width <= x->max_cells / s.n;
        if (!(small ? solve_at_once(x, &r, &s, reach, &done) : split(x, &r, &s, reach, &done))) return false;
    }
    return true;
}

/* ---- the whole ----------------------------------------------------------------------------------------- */

/* What b has no name for is dropped in any case, before anything else is looked at. Not so the other way
 * round: an item of b that cannot match may be dropped only after some of a. */
static bool leave_out_strangers(const rs_align_item *a, size_t n, const rs_align_item *b, size_t m,
                                rs_align_item *kept, uint32_t *place, size_t *n_kept)
{
    rs_map64 names = {0};
    bool is_new, ok = true;
    for (size_t j = 0; ok && j < m; j++) ok = rs_map64_put(&names, b[j].name, &is_new) != NULL;
    *n_kept = 0;
    for (size_t i = 0; ok && i < n; i++) {
        if (!rs_map64_get(&names, a[i].name)) continue;
        kept[*n_kept] = a[i];
        place[(*n_kept)++] = (uint32_t)i;
    }
    rs_map64_clear(&names);
    return ok;
}

bool rs_align_within(const rs_align_item *a, size_t n, const rs_align_item *b, size_t m, uint32_t *match,
                     size_t max_cells)
{
    size_t front = 0, n_kept = 0;
    for (size_t i = 0; i < n; i++) match[i] = RS_NO_MATCH;
    for (; front < n && front < m && a[front].name == b[front].name && a[front].detail == b[front].detail;
         front++)
        match[front] = (uint32_t)front;
    if (front == n || front == m) return true;
    rs_align_item *kept = rs_malloc((n - front) * sizeof *kept);
    uint32_t *place = rs_malloc((n - front) * sizeof *place);
    bool ok = kept && place &&
              leave_out_strangers(a + front, n - front, b + front, m - front, kept, place, &n_kept);
    aligner x = {.a = kept, .b = b + front, .place = place, .match = match + front, .max_cells = max_cells};
    ok = ok && RS_GROW_ONE(x.todo, x.n_todo, x.todo_capacity);
    if (ok) x.todo[x.n_todo++] = (rectangle){0, n_kept, 0, m - front};
    while (ok && x.n_todo) ok = solve(&x, x.todo[--x.n_todo]);
    for (size_t i = front; ok && i < n; i++)
        if (match[i] != RS_NO_MATCH) match[i] += (uint32_t)front;
    rs_free(kept);
    rs_free(place);
    rs_free(x.costs);
    rs_free(x.crossing);
    rs_free(x.steps);
    rs_free(x.todo);
    return ok;
}

bool rs_align(const rs_align_item *a, size_t n, const rs_align_item *b, size_t m, uint32_t *match)
{
    return rs_align_within(a, n, b, m, match, MAX_CELLS);
}
