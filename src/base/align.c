#include "base/align.h"

#include "base/memory.h"
#include "base/strings.h"

static const rs_align_limits usual = {
    .cells = (size_t)1 << 24, .steps = (size_t)1 << 27, .piece = (size_t)1 << 11};
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
    bool by_pieces; /* what is left of one that was too much at once */
} rectangle;

/* A cell (i, j) represents what is left: a from i on, b from j on. Its diagonal is j - i. */
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
    const rs_align_limits *limits;
    bool *pieces;
    cost *costs; /* of the row, by diagonal */
    size_t n_costs;
    uint32_t *crossing; /* by diagonal: the column at which the path enters the middle row */
    size_t n_crossing;
    uint8_t *steps;
    size_t n_steps;
    int32_t *counts; /* by name: 0 between uses */
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

#define NEVER ((cost)1 << 62)

/* The cells of row i from column `last` down to `first`, over those of row i + 1. For each caller the compiler
 * makes a loop of its own, without jumps. */
static inline __attribute__((always_inline)) void make_cells(const band *s, size_t i, size_t first,
                                                             size_t last, cost *costs, uint8_t *steps,
                                                             uint32_t *crossing)
{
    const rs_align_item at = s->a[i], *b = s->b;
    size_t shift = (size_t)(-(int64_t)i - s->low); /* from a column to its diagonal, modulo 2^64 */
    for (size_t j = last + 1; j-- > first;) {
        size_t k = j + shift;
        cost match = b[j].name == at.name ? costs[k] + (b[j].detail != at.detail) : NEVER;
        cost down = k > 0 ? costs[k - 1] + DROP : NEVER;
        cost right = k + 1 < s->width ? costs[k + 1] + DROP : NEVER;
        cost best = match < down ? match : down;
        best = right < best ? right : best;
        costs[k] = best;
        if (steps) steps[k] = match == best ? MATCH : down == best ? DROP_A : DROP_B;
        if (crossing) {
            size_t from = match == best ? k : down == best ? k - 1 : k + 1;
            crossing[k] = crossing[from];
        }
    }
}

/* A whole row. steps or crossing may be NULL. */
static void make_row(const band *s, size_t i, cost *costs, uint8_t *steps, uint32_t *crossing)
{
    size_t first, last;
    columns_of(s, i, &first, &last);
    if (last == s->m) { /* nothing of b is left: all of a is dropped */
        size_t k = (size_t)((int64_t)last - (int64_t)i - s->low);
        costs[k] = (s->n - i) * DROP;
        if (steps) steps[k] = DROP_A;
        if (crossing) crossing[k] = crossing[k - 1];
        if (last == first) return;
        last--;
    }
    if (steps)
        make_cells(s, i, first, last, costs, steps, NULL);
    else if (crossing)
        make_cells(s, i, first, last, costs, NULL, crossing);
    else
        make_cells(s, i, first, last, costs, NULL, NULL);
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
    if (!RS_PUSH(x->todo, x->n_todo, x->todo_capacity, (rectangle){r->from_a, a, r->from_b, b, false}))
        return false;
    return RS_PUSH(x->todo, x->n_todo, x->todo_capacity, (rectangle){a, r->to_a, b, r->to_b, false});
}

/* Items equal in all at the front match in a best alignment, and the walk takes it. Not so at the back. */
static void match_front(aligner *x, rectangle *r)
{
    while (r->from_a < r->to_a && r->from_b < r->to_b && x->a[r->from_a].name == x->b[r->from_b].name &&
           x->a[r->from_a].detail == x->b[r->from_b].detail)
        x->match[x->place[r->from_a++]] = (uint32_t)r->from_b++;
}

static bool align_piece(aligner *x, const rectangle *r);

/* How far from the straight way the band must reach at least: names that one side has more often are dropped. */
static size_t first_reach(aligner *x, const rectangle *r)
{
    size_t n = r->to_a - r->from_a, m = r->to_b - r->from_b, drops = 0;
    for (size_t i = r->from_a; i < r->to_a; i++) x->counts[x->a[i].name]++;
    for (size_t j = r->from_b; j < r->to_b; j++) x->counts[x->b[j].name]--;
    for (size_t k = 0; k < n + m; k++) {
        int32_t *count = &x->counts[k < n ? x->a[r->from_a + k].name : x->b[r->from_b + k - n].name];
        drops += (size_t)(*count < 0 ? -*count : *count);
        *count = 0;
    }
    return (drops - (n > m ? n - m : m - n)) / 2 + FIRST_REACH;
}

static bool solve(aligner *x, rectangle r)
{
    match_front(x, &r);
    if (r.from_a == r.to_a || r.from_b == r.to_b) return true;
    bool done = false;
    if (r.by_pieces && r.to_a - r.from_a > x->limits->piece) return align_piece(x, &r);
    for (size_t reach = first_reach(x, &r); !done; reach *= 2) {
        band s = band_of(x, &r, reach);
        if (s.n > x->limits->piece && s.width > x->limits->steps / s.n) return align_piece(x, &r);
        if (!reserve_costs(x, s.width)) return false;
        bool small = s.n < 2 || s.width <= x->limits->cells / s.n;
        if (!(small ? solve_at_once(x, &r, &s, reach, &done) : split(x, &r, &s, reach, &done))) return false;
    }
    return true;
}

/* ---- piece by piece ------------------------------------------------------------------------------------ */

static bool solve_all(aligner *x, size_t n_todo)
{
    while (x->n_todo > n_todo)
        if (!solve(x, x->todo[--x->n_todo])) return false;
    return true;
}

/* Aligns the two first pieces, keeps the first half of what matches, and leaves the rest to be done: it begins
 * after the last match that is kept, so that pieces that drift apart find each other again. */
static bool align_piece(aligner *x, const rectangle *r)
{
    size_t piece = x->limits->piece, here = x->n_todo;
    rectangle p = *r, rest = *r;
    p.by_pieces = false;
    rest.by_pieces = true;
    if (p.to_a - p.from_a > piece) p.to_a = p.from_a + piece;
    if (p.to_b - p.from_b > piece) p.to_b = p.from_b + piece;
    *x->pieces = true;
    if (!RS_PUSH(x->todo, x->n_todo, x->todo_capacity, p)) return false;
    if (!solve_all(x, here)) return false;
    size_t half_a = p.from_a + (p.to_a - p.from_a + 1) / 2, half_b = p.from_b + (p.to_b - p.from_b + 1) / 2;
    rest.from_a = half_a;
    rest.from_b = half_b;
    for (size_t i = p.from_a; i < p.to_a; i++) {
        uint32_t *match = &x->match[x->place[i]];
        if (*match == RS_NO_MATCH) continue;
        bool kept = i < half_a || *match < half_b; /* the first half of either */
        if (kept) {
            if (rest.from_a <= i) rest.from_a = i + 1;
            if (rest.from_b <= *match) rest.from_b = *match + 1;
        } else {
            *match = RS_NO_MATCH;
        }
    }
    return RS_PUSH(x->todo, x->n_todo, x->todo_capacity, rest);
}

/* ---- the whole ----------------------------------------------------------------------------------------- */

/* Names as small numbers, and what is aligned of a. What b has no name for is dropped in any case, before
 * anything else is looked at. Not so the other way round: an item of b that cannot match may be dropped only
 * after some of a. */
static bool prepare(const rs_align_item *a, size_t n, const rs_align_item *b, size_t m, rs_align_item *kept_a,
                    rs_align_item *kept_b, uint32_t *place, size_t *n_kept, size_t *n_names)
{
    RS_SCOPED(rs_map64_clear) rs_map64 names = {0};
    bool is_new, ok = true;
    *n_kept = *n_names = 0;
    for (size_t j = 0; ok && j < m; j++) {
        uint32_t *name = rs_map64_put(&names, b[j].name, &is_new);
        ok = name != NULL;
        if (ok && is_new) *name = (uint32_t)(*n_names)++;
        if (ok) kept_b[j] = (rs_align_item){*name, b[j].detail};
    }
    for (size_t i = 0; ok && i < n; i++) {
        const uint32_t *name = rs_map64_get(&names, a[i].name);
        if (!name) continue;
        kept_a[*n_kept] = (rs_align_item){*name, a[i].detail};
        place[(*n_kept)++] = (uint32_t)i;
    }
    return ok;
}

bool rs_align_within(const rs_align_item *a, size_t n, const rs_align_item *b, size_t m, uint32_t *match,
                     const rs_align_limits *limits, bool *pieces)
{
    size_t front = 0, n_kept = 0, n_names = 0;
    for (size_t i = 0; i < n; i++) match[i] = RS_NO_MATCH;
    for (; front < n && front < m && a[front].name == b[front].name && a[front].detail == b[front].detail;
         front++)
        match[front] = (uint32_t)front;
    if (front == n || front == m) return true;
    rs_align_item *kept_a = rs_malloc((n - front) * sizeof *kept_a);
    rs_align_item *kept_b = rs_malloc((m - front) * sizeof *kept_b);
    uint32_t *place = rs_malloc((n - front) * sizeof *place);
    bool ok = kept_a && kept_b && place &&
              prepare(a + front, n - front, b + front, m - front, kept_a, kept_b, place, &n_kept, &n_names);
    aligner x = {
        .a = kept_a, .b = kept_b, .place = place, .match = match + front, .limits = limits, .pieces = pieces};
    x.counts = ok ? rs_calloc(n_names + 1, sizeof *x.counts) : NULL;
    ok = x.counts && RS_PUSH(x.todo, x.n_todo, x.todo_capacity, (rectangle){0, n_kept, 0, m - front, false});
    ok = ok && solve_all(&x, 0);
    for (size_t i = front; ok && i < n; i++)
        if (match[i] != RS_NO_MATCH) match[i] += (uint32_t)front;
    rs_free_all(kept_a, kept_b, place, x.costs, x.crossing, x.steps, x.counts, x.todo);
    return ok;
}

bool rs_align(const rs_align_item *a, size_t n, const rs_align_item *b, size_t m, uint32_t *match,
              bool *pieces)
{
    return rs_align_within(a, n, b, m, match, &usual, pieces);
}
