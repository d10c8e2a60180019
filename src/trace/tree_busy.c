/* How long something of a subtree's GPU work runs.
 *
 * The work is laid on the time line one piece after another in depth-first order, later pieces over earlier
 * ones. What a subtree's work covers is then, when its last piece has just been laid, the part of the line
 * whose topmost piece is not older than its first. The line is kept as segments, each with its topmost piece;
 * a Fenwick tree over the pieces holds how much of the line each still shows. Every piece adds at most two
 * borders and removes those that it covers, so the whole costs O(log n) a piece and a node, whatever overlaps
 * what. */
#include <string.h>

#include "base/interval.h"
#include "trace/tree.h"

/* ---- a set of numbers below n with the nearest one on either side -------------------------------------- */

#define LEVELS 6 /* 64^6 numbers */

typedef struct bitset {
    uint64_t *words[LEVELS]; /* a bit of a level says whether the word of 64 bits below it has any */
    unsigned n_levels;
} bitset;

static bool bitset_init(bitset *b, size_t n)
{
    *b = (bitset){0};
    do {
        n = (n + 63) / 64;
        if (n == 0) n = 1;
        b->words[b->n_levels] = rs_calloc(n, sizeof(uint64_t));
        if (!b->words[b->n_levels++]) return false;
    } while (n > 1 && b->n_levels < LEVELS);
    return true;
}

static void bitset_clear(bitset *b)
{
    for (unsigned i = 0; i < b->n_levels; i++) rs_free(b->words[i]);
}

static void bitset_add(bitset *b, size_t x)
{
    for (unsigned i = 0; i < b->n_levels; i++, x /= 64) b->words[i][x / 64] |= UINT64_C(1) << (x % 64);
}

static void bitset_remove(bitset *b, size_t x)
{
    for (unsigned i = 0; i < b->n_levels; i++, x /= 64) {
        b->words[i][x / 64] &= ~(UINT64_C(1) << (x % 64));
        if (b->words[i][x / 64]) return;
    }
}

static bool bitset_has(const bitset *b, size_t x)
{
    return b->words[0][x / 64] >> (x % 64) & 1;
}

static unsigned lowest(uint64_t x)
{
    return (unsigned)__builtin_ctzll(x);
}

static unsigned highest(uint64_t x)
{
    return 63 - (unsigned)__builtin_clzll(x);
}

/* The greatest member <= x; SIZE_MAX if none. */
static size_t bitset_before(const bitset *b, size_t x)
{
    for (unsigned i = 0; i < b->n_levels; i++, x = x / 64 - 1) {
        uint64_t below = b->words[i][x / 64] & (UINT64_MAX >> (63 - x % 64));
        if (below) {
            x = x / 64 * 64 + highest(below);
            while (i-- > 0) x = x * 64 + highest(b->words[i][x]);
            return x;
        }
        if (x / 64 == 0) return SIZE_MAX;
    }
    return SIZE_MAX;
}

/* The smallest member > x, which is known to exist. */
static size_t bitset_after(const bitset *b, size_t x)
{
    for (unsigned i = 0; i < b->n_levels; i++, x /= 64) {
        uint64_t above = x % 64 == 63 ? 0 : b->words[i][x / 64] & (UINT64_MAX << (x % 64 + 1));
        if (above) {
            x = x / 64 * 64 + lowest(above);
            while (i-- > 0) x = x * 64 + lowest(b->words[i][x]);
            return x;
        }
    }
    return SIZE_MAX;
}

/* ---- the time line ------------------------------------------------------------------------------------- */

#define BARE UINT32_MAX

typedef struct line {
    size_t n_points;
    int64_t *points;        /* every start and end of a piece, ascending, each once */
    uint32_t *first, *last; /* by piece: its borders as points */
    bitset borders;         /* points at which a segment begins */
    uint32_t *top;          /* by such a point: the topmost piece, or BARE */
    int64_t *fenwick;       /* n_gpu + 1 */
    size_t n;
    int64_t shown; /* of all pieces */
} line;

static void line_clear(line *l)
{
    rs_free_all(l->points, l->first, l->last, l->top, l->fenwick);
    bitset_clear(&l->borders);
}

static int64_t start_of(const rs_events *e, uint32_t row)
{
    return e->start[row];
}

static int64_t end_of(const rs_events *e, uint32_t row)
{
    return e->duration[row] > 0 ? rs_add_sat(e->start[row], e->duration[row]) : e->start[row];
}

/* Numbers the starts (or ends) of pieces by the points they lie on, given both in order. */
static bool line_init(line *l, const rs_events *e, const rs_tree *t)
{
    size_t n = t->n_gpu;
    l->n = n;
    RS_LOCAL rs_keyed *keys = rs_malloc((2 * n + 1) * sizeof *keys);
    l->points = rs_malloc((2 * n + 1) * sizeof *l->points);
    l->first = rs_malloc((n + 1) * sizeof *l->first);
    l->last = rs_malloc((n + 1) * sizeof *l->last);
    l->top = rs_malloc((2 * n + 1) * sizeof *l->top);
    l->fenwick = rs_calloc(n + 1, sizeof *l->fenwick);
    bool ok = keys && l->points && l->first && l->last && l->top && l->fenwick &&
              bitset_init(&l->borders, 2 * n + 1);
    for (size_t i = 0; ok && i < n; i++) {
        keys[2 * i] = (rs_keyed){start_of(e, t->gpu_row[i]), (uint32_t)i};
        keys[2 * i + 1] = (rs_keyed){end_of(e, t->gpu_row[i]), (uint32_t)i | UINT32_C(1) << 31};
    }
    ok = ok && rs_keyed_sort(keys, 2 * n);
    for (size_t i = 0; ok && i < 2 * n; i++) {
        if (i == 0 || keys[i].key != l->points[l->n_points - 1]) l->points[l->n_points++] = keys[i].key;
        uint32_t point = (uint32_t)(l->n_points - 1);
        if (keys[i].value >> 31)
            l->last[keys[i].value & INT32_MAX] = point;
        else
            l->first[keys[i].value] = point;
    }
    if (ok && n) {
        bitset_add(&l->borders, 0);
        l->top[0] = BARE;
        if (l->n_points > 1) bitset_add(&l->borders, l->n_points - 1);
        l->top[l->n_points - 1] = BARE;
    }
    return ok;
}

static void show(line *l, uint32_t piece, int64_t ns)
{
    if (piece == BARE) return;
    l->shown += ns;
    for (size_t i = (size_t)piece + 1; i <= l->n; i += i & (0 - i)) l->fenwick[i] += ns;
}

/* How much is shown of pieces from `from` on, of those laid so far. */
static int64_t shown_from(const line *l, size_t from)
{
    int64_t before = 0;
    for (size_t i = from; i > 0; i -= i & (0 - i)) before += l->fenwick[i];
    return l->shown - before;
}

static void split(line *l, size_t point)
{
    if (bitset_has(&l->borders, point)) return;
    l->top[point] = l->top[bitset_before(&l->borders, point)];
    bitset_add(&l->borders, point);
}

static void lay(line *l, uint32_t piece)
{
    size_t first = l->first[piece], last = l->last[piece];
    if (first >= last) return;
    split(l, first);
    split(l, last);
    for (size_t at = first, next; at < last; at = next) {
        next = bitset_after(&l->borders, at);
        show(l, l->top[at], l->points[at] - l->points[next]);
        if (at != first) bitset_remove(&l->borders, at);
    }
    l->top[first] = piece;
    show(l, piece, l->points[last] - l->points[first]);
}

/* ---- the tree
 * ---------------------------------------------------------------------------------------------- */

/* The whole line must be shorter than 2^63 ns, or sums would not hold: such times are no times. */
static bool measurable(const line *l)
{
    return l->n_points == 0 || rs_sub_sat(l->points[l->n_points - 1], l->points[0]) < INT64_MAX;
}

static void close_node(const line *l, rs_tree *t, size_t node)
{
    size_t first = t->gpu_first[node], end = t->gpu_first[t->end[node]];
    /* a node whose work is all that of one child is as busy as the child, which has just been closed */
    for (size_t child = node + 1; child < t->end[node]; child = t->end[child]) {
        size_t child_end = t->gpu_first[t->end[child]];
        if (child_end == first) continue; /* no work yet */
        if (child_end != end || t->gpu_first[child] != first) break;
        t->busy[node] = t->busy[child];
        return;
    }
    t->busy[node] = end == first ? 0 : shown_from(l, first);
}

rs_status rs_tree_busy(const rs_trace *trace, rs_tree *t, rs_error *err)
{
    if (t->busy) return RS_OK;
    RS_SCOPED(line_clear) line l = {0};
    RS_LOCAL uint32_t *open = rs_malloc((t->n + 1) * sizeof *open);
    int64_t *busy = rs_calloc(t->n + 1, sizeof *busy);
    rs_status status = RS_OK;
    if (!open || !busy || t->n_gpu > INT32_MAX || !line_init(&l, trace->events, t))
        status = rs_fail_nomem(err, "GPU time of the call tree");
    else if (!measurable(&l))
        status =
            rs_fail(err, RS_ERR_FORMAT, "the times of the GPU work span more than an int64 of nanoseconds");
    if (status == RS_OK) {
        t->busy = busy;
        busy = NULL;
        size_t depth = 0, laid = 0;
        for (size_t node = 0; node <= t->n; node++) {
            while (depth && (node == t->n || t->end[open[depth - 1]] <= node))
                close_node(&l, t, open[--depth]);
            if (node == t->n) break;
            open[depth++] = (uint32_t)node;
            /* the work of the node itself comes before its children's */
            size_t own_end = node + 1 < t->end[node] ? t->gpu_first[node + 1] : t->gpu_first[t->end[node]];
            for (; laid < own_end; laid++) lay(&l, (uint32_t)laid);
        }
    }
    rs_free(busy);
    return status;
}

rs_status rs_tree_total_busy(const rs_trace *trace, const rs_tree *t, int64_t *ns, rs_error *err)
{
    const rs_events *e = trace->events;
    RS_LOCAL rs_interval *items = rs_malloc((t->n_gpu + 1) * sizeof *items);
    for (size_t i = 0; items && i < t->n_gpu; i++)
        items[i] = (rs_interval){start_of(e, t->gpu_row[i]), end_of(e, t->gpu_row[i])};
    bool ok = items && rs_intervals_sort(items, t->n_gpu);
    if (ok) *ns = rs_intervals_length(items, rs_intervals_unite(items, t->n_gpu));
    return ok ? RS_OK : rs_fail_nomem(err, "GPU time of the call tree");
}
