/* Kernels without a sequence number: those of different ranks belong together by their order in the group. A
 * rank whose recording starts late is set to where its ends fit (find_shift). Where a recording lacks kernels
 * in between, so that some would meet kernels that were over before they began, the order is walked again and
 * what has no partner stays alone (walk). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/interval.h"
#include "base/order.h"
#include "base/stats.h"
#include "match/collective_internal.h"

#define SAMPLES 64

typedef struct trial {
    size_t wrong;   /* sampled kernels that differ in kind or size */
    int64_t spread; /* of the distances between ends */
    int64_t distance;
    size_t overlap;
    /* what the host ran */
    size_t other_steps; /* sampled pairs of two steps */
    bool apart;         /* no difference between the clocks lets all sampled pairs meet */
    int64_t ahead;      /* the least difference that does */
} trial;

/* What one clock can be ahead of the other when pairs are to meet. */
typedef struct window {
    int64_t low, high;
} window;

static const window any_clock = {INT64_MIN, INT64_MAX};

/* The items of one rank in a channel, in their order. */
typedef struct run {
    rs_coll_item *items;
    size_t n;
} run;

static const rs_order compare_times[] = {RS_RISING_VALUE(int64_t)};

static int64_t start_of(const rs_coll_job *job, const rs_coll_item *i)
{
    return rs_add_sat(rs_coll_item_op(job, i)->start, job->shift[i->rank]);
}
static int64_t end_of(const rs_coll_job *job, const rs_coll_item *i)
{
    return rs_add_sat(rs_coll_item_op(job, i)->end, job->shift[i->rank]);
}

static int64_t size_of(int64_t time)
{
    return time < 0 ? rs_sub_sat(0, time) : time;
}

/* No member leaves before all have come: y began before x ended, and x before y ended. */
static void meet(const rs_coll_job *job, const rs_coll_item *x, const rs_coll_item *y, window *w)
{
    if (!rs_coll_ends_together(rs_coll_item_shape(job, x)->kind)) return;
    int64_t low = rs_sub_sat(start_of(job, y), end_of(job, x)),
            high = rs_sub_sat(end_of(job, y), start_of(job, x));
    if (low > w->low) w->low = low;
    if (high < w->high) w->high = high;
}

/* Of the differences in the window the one nearest to none. */
static int64_t least_of(const window *w)
{
    return w->low > 0 ? w->low : w->high < 0 ? w->high : 0;
}

/* ---- one shift for all -------------------------------------------------------------------------------- */

/* How well kernel i of b fits kernel i + shift of a. */
static trial try_shift(const rs_coll_job *job, run a, run b, int64_t shift)
{
    size_t from = shift < 0 ? (size_t)-shift : 0;
    size_t to = (int64_t)b.n + shift > (int64_t)a.n ? (size_t)((int64_t)a.n - shift) : b.n;
    trial t = {.overlap = to - from};
    int64_t distances[SAMPLES];
    size_t n = t.overlap < SAMPLES ? t.overlap : SAMPLES;
    window clocks = any_clock;
    for (size_t i = 0; i < n; i++) {
        size_t k = from + (n < 2 ? 0 : i * (t.overlap - 1) / (n - 1));
        const rs_coll_item *x = &a.items[(size_t)((int64_t)k + shift)], *y = &b.items[k];
        int64_t of_x = rs_coll_item_op(job, x)->step, of_y = rs_coll_item_op(job, y)->step;
        t.wrong += !rs_coll_same_signature(job, x, y);
        t.other_steps += of_x >= 0 && of_y >= 0 && of_x != of_y;
        meet(job, x, y, &clocks);
        distances[i] = rs_sub_sat(end_of(job, y), end_of(job, x));
    }
    RS_SORT(distances, n, compare_times);
    t.distance = size_of(distances[n / 2]);
    t.apart = clocks.low > clocks.high;
    t.ahead = t.apart ? 0 : size_of(least_of(&clocks));
    /* most of them: a few may end far apart */
    t.spread = rs_sub_sat(distances[n - 1 - n / 8], distances[n / 8]);
    return t;
}

/* ns that ends of one collective may lie apart without meaning anything */
#define NEAR 20000
/* ns within which clocks are taken to be the same: beyond that distances say nothing */
#define SAME_CLOCK 10000000

/* Ends of what the host ran differ by as much as they like, since a worker takes work up when it can: what
 * counts is that partners are of one step and were under way at one time. */
static bool better_on_host(const trial *t, const trial *best)
{
    if (t->other_steps != best->other_steps) return t->other_steps < best->other_steps;
    if (t->apart != best->apart) return best->apart;
    if (t->ahead != best->ahead) return t->ahead < best->ahead;
    if (t->overlap != best->overlap) return t->overlap > best->overlap;
    return t->distance < best->distance;
}

/* Where the kernels of rank b begin in those of rank a. */
static int64_t find_shift(const rs_coll_job *job, run a, run b)
{
    size_t least = ((a.n < b.n ? a.n : b.n) + 1) / 2;
    int64_t low = (int64_t)least - (int64_t)b.n, high = (int64_t)a.n - (int64_t)least, best_shift = 0;
    bool on_host = job->ranks[a.items->rank]->on_host || job->ranks[b.items->rank]->on_host;
    trial best = {.wrong = SIZE_MAX};
    /* A send need not end with its receive: where both sides have as many of the same, they were recorded
     * from the same one on. */
    if (rs_coll_item_shape(job, a.items)->kind == RS_COLL_SEND_RECV && a.n == b.n &&
        try_shift(job, a, b, 0).wrong == 0)
        return 0;
    for (int64_t shift = low; shift <= high; shift++) {
        trial t = try_shift(job, a, b, shift);
        bool better = t.wrong < best.wrong;
        if (t.wrong == best.wrong && on_host) {
            better = better_on_host(&t, &best);
        } else if (t.wrong == best.wrong) {
            /* the ends of a single pair spread by nothing, whatever the pair */
            int64_t gain = t.overlap < 2 || best.overlap < 2 ? 0 : rs_sub_sat(best.spread, t.spread);
            bool near = t.distance < SAME_CLOCK || best.distance < SAME_CLOCK;
            better = gain > NEAR ||
                     (gain >= -NEAR && (near ? t.distance < best.distance : t.overlap > best.overlap));
        }
        if (!better) continue;
        best = t;
        best_shift = shift;
    }
    return best_shift;
}

/* ---- with gaps ---------------------------------------------------------------------------------------- */

/* Clocks are right to that only: what lies apart by no more may have met. ns, and a part of the time since
 * the channel's first kernel, for clocks that drift. */
#define SURELY_APART 1000000
#define DRIFT 10000

typedef struct walker {
    const rs_coll_job *job;
    run a, b;
    int64_t ahead; /* what b's clock seems to be ahead */
    int64_t first; /* start of the channel */
} walker;

/* By what x was over before y began, or y before x, on the walker's clock; below 0 where they met. */
static int64_t apart(const walker *w, const rs_coll_item *x, const rs_coll_item *y)
{
    int64_t x_behind = rs_sub_sat(rs_sub_sat(start_of(w->job, y), w->ahead), end_of(w->job, x));
    int64_t y_behind = rs_sub_sat(start_of(w->job, x), rs_sub_sat(end_of(w->job, y), w->ahead));
    return x_behind > y_behind ? x_behind : y_behind;
}

static int64_t allowed(const walker *w, const rs_coll_item *x)
{
    return rs_add_sat(SURELY_APART, rs_sub_sat(start_of(w->job, x), w->first) / DRIFT);
}

/* No member of such a collective leaves before all have come: kernels that did not meet are not one. */
static bool may_be_one(const walker *w, const rs_coll_item *x, const rs_coll_item *y)
{
    const rs_coll_shape *of_x = rs_coll_item_shape(w->job, x), *of_y = rs_coll_item_shape(w->job, y);
    if (!rs_coll_ends_together(of_x->kind) && !rs_coll_ends_together(of_y->kind)) return true;
    return apart(w, x, y) <= allowed(w, x);
}

static int64_t distance(const walker *w, const rs_coll_item *x, const rs_coll_item *y)
{
    return size_of(rs_sub_sat(rs_sub_sat(end_of(w->job, y), w->ahead), end_of(w->job, x)));
}

/* Where kernels are known to be missing, partners must have ended together, too. */
static bool fits(const walker *w, size_t i, size_t k)
{
    if (i >= w->a.n || k >= w->b.n) return false;
    const rs_coll_item *x = &w->a.items[i], *y = &w->b.items[k];
    const rs_coll_shape *op = rs_coll_item_shape(w->job, x);
    if (!rs_coll_same_signature(w->job, x, y) || !may_be_one(w, x, y)) return false;
    bool on_host = w->job->ranks[x->rank]->on_host || w->job->ranks[y->rank]->on_host;
    return on_host || !rs_coll_ends_together(op->kind) || distance(w, x, y) <= allowed(w, x);
}

/* Items between two of the reference, of one rank: the reference's place, the rank, their count. */
#define GAP_BITS 16
#define RANK_BITS 15

/* How well a way to number b pairs it with a. */
typedef struct verdict {
    size_t pairs;
    size_t together;   /* of them, of one signature and with ends at one moment (NEAR) */
    bool contradicted; /* some pair was over for one rank before it began for the other */
} verdict;

static void judge(const walker *w, const rs_coll_item *x, const rs_coll_item *y, verdict *v)
{
    v->pairs++;
    v->together += distance(w, x, y) <= NEAR && rs_coll_same_signature(w->job, x, y);
    v->contradicted = v->contradicted || !may_be_one(w, x, y);
}

/* Numbers b by one shift. Sets ahead from its pairs: what the host ran gives a window, ends of kernels lie
 * together. */
static verdict number_by_shift(walker *w, int64_t shift, int64_t *scratch)
{
    size_t from = shift < 0 ? (size_t)-shift : 0, n = 0;
    verdict v = {0};
    window clocks = any_clock;
    bool on_host = w->job->ranks[w->b.items->rank]->on_host;
    size_t to = (int64_t)w->b.n + shift > (int64_t)w->a.n ? (size_t)((int64_t)w->a.n - shift) : w->b.n;
    for (size_t k = 0; k < w->b.n; k++)
        w->b.items[k].number = (shift + (int64_t)k + 1) * ((int64_t)1 << (GAP_BITS + RANK_BITS));
    for (size_t k = from; k < to; k++) {
        const rs_coll_item *x = &w->a.items[(size_t)((int64_t)k + shift)], *y = &w->b.items[k];
        if (!rs_coll_same_signature(w->job, x, y)) continue;
        scratch[n++] = rs_sub_sat(end_of(w->job, y), end_of(w->job, x));
        meet(w->job, x, y, &clocks);
    }
    w->ahead = n ? rs_median(scratch, n) : 0;
    if (on_host && clocks.low <= clocks.high) w->ahead = least_of(&clocks);
    for (size_t k = from; n && k < to; k++)
        judge(w, &w->a.items[(size_t)((int64_t)k + shift)], &w->b.items[k], &v);
    return v;
}

#define VOTERS 256

/* Sets ahead by the difference that most pairs of ends agree on, whichever pairs those are: a kernel that met
 * its partner ended with it. Of equally many the smallest counts. The difference stays as it is where nothing
 * agrees. false when out of memory. */
static bool vote(walker *w)
{
    size_t n_a = w->a.n < VOTERS ? w->a.n : VOTERS, n_b = w->b.n < VOTERS ? w->b.n : VOTERS, n = 0, most = 1;
    RS_LOCAL int64_t *differences = rs_malloc((n_a * n_b + 1) * sizeof *differences);
    if (!differences) return false;
    for (size_t i = 0; i < n_a; i++)
        for (size_t k = 0; k < n_b; k++) {
            const rs_coll_item *x = &w->a.items[i], *y = &w->b.items[k];
            if (rs_coll_ends_together(rs_coll_item_shape(w->job, x)->kind) &&
                rs_coll_same_signature(w->job, x, y))
                differences[n++] = rs_sub_sat(end_of(w->job, y), end_of(w->job, x));
        }
    RS_SORT(differences, n, compare_times);
    for (size_t from = 0, to = 0; from < n; from++) {
        while (to < n && rs_sub_sat(differences[to], differences[from]) <= 2 * NEAR) to++;
        int64_t middle = differences[from + (to - from) / 2];
        if (to - from < most || (to - from == most && size_of(middle) >= size_of(w->ahead))) continue;
        if (to - from < 2) continue;
        most = to - from;
        w->ahead = middle;
    }
    return true;
}

static int64_t number_in_gap(size_t place, uint32_t rank, size_t count)
{
    size_t last = ((size_t)1 << GAP_BITS) - 1;
    return (int64_t)((place << (GAP_BITS + RANK_BITS)) |
                     ((((size_t)rank + 1) & (((size_t)1 << RANK_BITS) - 1)) << GAP_BITS) |
                     (count < last ? count : last));
}

/* Numbers b by pairing it with a in order. Of two neighbours that both fit, the one whose end is nearer is
 * taken. */
static verdict walk(const walker *w)
{
    size_t i = 0, k = 0, in_gap = 0;
    verdict v = {0};
    while (k < w->b.n) {
        rs_coll_item *y = &w->b.items[k];
        bool fit = fits(w, i, k);
        bool next_a = fits(w, i + 1, k) &&
                      (!fit || distance(w, &w->a.items[i + 1], y) < distance(w, &w->a.items[i], y));
        bool next_b = fits(w, i, k + 1) &&
                      (!fit || distance(w, &w->a.items[i], y + 1) < distance(w, &w->a.items[i], y));
        if (fit && !next_a && !next_b) {
            y->number = (int64_t)((i + 1) << (GAP_BITS + RANK_BITS));
            judge(w, &w->a.items[i], y, &v);
            i++, k++, in_gap = 0;
        } else if (i < w->a.n && (next_a || (!next_b && rs_sub_sat(end_of(w->job, y), w->ahead) >
                                                            end_of(w->job, &w->a.items[i])))) {
            i++, in_gap = 0;
        } else {
            y->number = number_in_gap(i, y->rank, in_gap++);
            k++;
        }
    }
    return v;
}

/* One shift for all of b, unless it pairs what cannot be one, or walking with gaps shows more pairs that end
 * together and leaves few alone. Ends of what the host ran tell nothing: there only the first counts. */
static bool number_rank(walker *w, int64_t *scratch)
{
    bool on_host = w->job->ranks[w->b.items->rank]->on_host;
    int64_t shift = find_shift(w->job, w->a, w->b);
    verdict shifted = number_by_shift(w, shift, scratch);
    if (!shifted.contradicted && (on_host || shifted.together == shifted.pairs)) return true;
    if (!on_host && !vote(w)) return false;
    verdict walked = walk(w);
    bool better = walked.together > shifted.together && walked.pairs >= shifted.pairs / 4 * 3;
    if (!better && !shifted.contradicted) number_by_shift(w, shift, scratch);
    return true;
}

/* ---- a channel ---------------------------------------------------------------------------------------- */

static bool sort_by_number(rs_coll_item *items, size_t n, rs_keyed *keys)
{
    for (size_t i = 0; i < n; i++) keys[i] = (rs_keyed){items[i].number, (uint32_t)i};
    if (!rs_keyed_sort(keys, n)) return false;
    int64_t number = 0, before = 0;
    for (size_t i = 0; i < n; i++) {
        int64_t own = keys[i].key;
        if (i == 0 || own != before) number++;
        before = own;
        items[keys[i].value].number = number;
    }
    return true;
}

static run run_at(rs_coll_item *items, size_t n, size_t from)
{
    size_t next = from;
    while (next < n && items[next].rank == items[from].rank) next++;
    return (run){items + from, next - from};
}

/* The numbers are places in the order of the rank that has most of them, until they are counted from 1. */
bool rs_coll_number_by_order(const rs_coll_job *job, rs_coll_item *items, size_t n)
{
    run reference = {0};
    RS_LOCAL int64_t *scratch = rs_malloc((n + 1) * sizeof *scratch);
    RS_LOCAL rs_keyed *keys = rs_malloc((n + 1) * sizeof *keys);
    bool ok = scratch && keys;
    int64_t first = INT64_MAX;
    for (size_t i = 0; ok && i < n;) {
        run r = run_at(items, n, i);
        int64_t start = start_of(job, r.items);
        if (r.n > reference.n) reference = r;
        if (start < first) first = start;
        i += r.n;
    }
    for (size_t i = 0; ok && i < n;) {
        run r = run_at(items, n, i);
        walker w = {.job = job, .a = reference, .b = r, .first = first};
        if (r.items != reference.items)
            ok = number_rank(&w, scratch);
        else
            number_by_shift(&w, 0, scratch);
        i += r.n;
    }
    return ok && sort_by_number(items, n, keys);
}

/* ---- by ends ------------------------------------------------------------------------------------------ */

#define MOST_NEAR 32  /* items that end next are looked at */
#define FEW_COUPLES 8 /* fewer ends that two ranks have in common show nothing */
#define NEARER                                                                                               \
    5000 /* ns by which another partner ends nearer, over the root of the steps that say so: then this one is chance */

typedef struct couple {
    int64_t apart; /* the mean of their places of the program */
    uint32_t n;    /* steps that say so */
    uint32_t a, b; /* places among the ends */
    uint32_t pair; /* of ranks */
    bool likely;   /* neither has a partner that is nearer by far */
} couple;

static const rs_order by_apart[] = {RS_RISING(couple, apart), RS_RISING(couple, a), RS_RISING(couple, b)};
static const rs_order by_pair[] = {RS_RISING(couple, pair), RS_RISING(couple, apart), RS_RISING(couple, a),
                                   RS_RISING(couple, b)};

/* Two ranks whose kernels end at one time. */
typedef struct rank_pair {
    double near;        /* ns by which its likely couples are nearer than they may be, summed up */
    size_t n, n_likely; /* couples */
    uint32_t number;
} rank_pair;

static const rs_order by_near[] = {RS_FALLING(rank_pair, near), RS_RISING(rank_pair, number)};

/* The two ends of "nccl:send 0->1" and "nccl:recv 1<-0", by ranks of the group: of whose they are, and the far one. false: the name has none. */
static bool ends_of_name(const char *name, long *own, long *far)
{
    const char *arrow = strpbrk(name, "<-"), *at = arrow;
    char *end;
    if (!arrow) return false;
    while (at > name && rs_is_digit(at[-1])) at--;
    if (at == arrow || !arrow[1] || !rs_is_digit(arrow[2])) return false;
    *own = strtol(at, NULL, 10);
    *far = strtol(arrow + 2, &end, 10);
    return !*end;
}

/* Whether what one sends the other receives. A kernel without a name does both. */
static bool may_couple(const rs_coll_job *job, const rs_coll_item *x, const rs_coll_item *y)
{
    const char *of_x = rs_pool_text(&job->ranks[x->rank]->pool, rs_coll_item_shape(job, x)->name);
    const char *of_y = rs_pool_text(&job->ranks[y->rank]->pool, rs_coll_item_shape(job, y)->name);
    if (x->rank == y->rank || !rs_coll_same_signature(job, x, y) || !of_x != !of_y) return false;
    if (!of_x) return true;
    long own_x, far_x, own_y, far_y;
    if (ends_of_name(of_x, &own_x, &far_x) && ends_of_name(of_y, &own_y, &far_y) &&
        (own_x != far_y || own_y != far_x))
        return false;
    return !strstr(of_x, "send") != !strstr(of_y, "send");
}

/* Numbers the pairs of ranks in couples. false: out of memory. */
static bool number_pairs(const rs_coll_item *items, const rs_keyed *ends, couple *all, size_t n,
                         rank_pair *pairs, size_t *n_pairs)
{
    RS_SCOPED(rs_map64_clear) rs_map64 map = {0};
    *n_pairs = 0;
    for (size_t i = 0; i < n; i++) {
        const uint32_t a = items[ends[all[i].a].value].rank, b = items[ends[all[i].b].value].rank;
        bool is_new;
        uint32_t *at = rs_map64_put(&map, (uint64_t)(a < b ? a : b) << 32 | (a < b ? b : a), &is_new);
        if (!at) return false;
        if (is_new) {
            *at = (uint32_t)(*n_pairs)++;
            pairs[*at] = (rank_pair){.number = *at};
        }
        all[i].pair = *at;
        pairs[*at].n++;
        pairs[*at].n_likely += all[i].likely;
        pairs[*at].near += all[i].likely ? (double)(NEAR - all[i].apart) : 0;
    }
    return true;
}

/* By item its place, the n-th of its rank in a step; RS_NO_ROW where steps of the rank differ in how many they have. Returns how many steps a rank
 * has at most. */
static size_t find_places(const rs_coll_job *job, const rs_coll_item *items, size_t n, uint32_t *place)
{
    size_t most = 0;
    for (size_t from = 0, to; from < n; from = to) {
        size_t count = 0, in_step = 0, n_steps = 0;
        bool regular = true;
        for (to = from; to < n && items[to].rank == items[from].rank; to++) {
            const int64_t step = rs_coll_item_op(job, &items[to])->step;
            const bool begins = to == from || step != rs_coll_item_op(job, &items[to - 1])->step;
            if (begins && n_steps > 1) regular = regular && in_step == count;
            if (begins && n_steps == 1) count = in_step;
            if (begins) in_step = 0;
            n_steps += begins;
            regular = regular && step >= 0;
            place[to] = (uint32_t)(from + in_step++);
        }
        if (!regular || (n_steps > 1 && in_step != count))
            for (size_t i = from; i < to; i++) place[i] = RS_NO_ROW;
        else if (n_steps > most)
            most = n_steps;
    }
    return most;
}

static uint64_t places_of(const uint32_t *place, const rs_keyed *ends, const couple *c)
{
    const uint32_t a = place[ends[c->a].value], b = place[ends[c->b].value];
    return (uint64_t)(a < b ? a : b) << 32 | (a < b ? b : a);
}

/* Programs repeat: partners end together in every step, others by chance in some. Couples of the same two places become as far apart as they are on
 * average; where they are no couple they are NEAR apart. false: out of memory. */
static bool average_places(const rs_coll_job *job, const rs_coll_item *items, const rs_keyed *ends,
                           size_t n_items, couple *all, size_t n)
{
    RS_SCOPED(rs_map64_clear) rs_map64 map = {0};
    RS_LOCAL uint32_t *place = rs_malloc((n_items + 1) * sizeof *place);
    RS_LOCAL couple *sums = rs_calloc(n + 1, sizeof *sums);
    if (!place || !sums) return false;
    const int64_t n_steps = (int64_t)find_places(job, items, n_items, place);
    for (size_t i = 0; i < n; i++) {
        const uint64_t key = places_of(place, ends, &all[i]);
        bool is_new;
        if ((uint32_t)key == RS_NO_ROW) continue;
        uint32_t *at = rs_map64_put(&map, key, &is_new);
        if (!at) return false;
        if (is_new) *at = (uint32_t)map.n - 1;
        sums[*at].apart += all[i].apart;
        sums[*at].n++;
    }
    for (size_t i = 0; i < n; i++) {
        const uint32_t *at = rs_map64_get(&map, places_of(place, ends, &all[i]));
        if (!at || (int64_t)sums[*at].n > n_steps) continue;
        all[i].apart = (sums[*at].apart + (n_steps - (int64_t)sums[*at].n) * NEAR) / n_steps;
        all[i].n = (uint32_t)n_steps;
    }
    return true;
}

/* Marks the couples of which neither has a partner that is nearer by far. false: out of memory. */
static bool mark_likely(couple *all, size_t n, size_t n_items)
{
    RS_LOCAL int64_t *nearest = rs_malloc((n_items + 1) * sizeof *nearest);
    if (!nearest) return false;
    for (size_t i = 0; i < n_items; i++) nearest[i] = NEAR;
    for (size_t i = 0; i < n; i++) {
        if (all[i].apart < nearest[all[i].a]) nearest[all[i].a] = all[i].apart;
        if (all[i].apart < nearest[all[i].b]) nearest[all[i].b] = all[i].apart;
    }
    for (size_t i = 0; i < n; i++) {
        const int64_t by = (int64_t)(NEARER / sqrt((double)all[i].n));
        all[i].likely = all[i].apart <= nearest[all[i].a] + by && all[i].apart <= nearest[all[i].b] + by;
    }
    return true;
}

/* Pipelines that run in step with each other end their messages at nearly one time, so that a kernel has partners in both. Pairs of ranks explain kernels,
 * the nearest first, where at least half of what ends together on both is not explained yet: else it is chance. So is what stages in step end of messages
 * to others, where the partner is nearer by far: that explains nothing. What is explained by none of them is by any. Leaves the couples that count; false:
 * out of memory. */
static bool keep_partners(const rs_coll_item *items, const rs_keyed *ends, size_t n_items, couple *all,
                          size_t *n)
{
    RS_LOCAL rank_pair *pairs = rs_malloc((*n + 1) * sizeof *pairs);
    RS_LOCAL size_t *first = rs_malloc((*n + 1) * sizeof *first); /* by pair: its couples */
    RS_LOCAL uint8_t *explained = rs_calloc(n_items + 1, 1), *kept = rs_calloc(*n + 1, 1);
    size_t n_pairs, left = 0;
    if (!pairs || !first || !explained || !kept || !mark_likely(all, *n, n_items) ||
        !number_pairs(items, ends, all, *n, pairs, &n_pairs))
        return false;
    RS_SORT(all, *n, by_pair);
    for (size_t i = *n; i-- > 0;) first[all[i].pair] = i;
    RS_SORT(pairs, n_pairs, by_near);
    for (size_t k = 0; k < n_pairs; k++) {
        const couple *of = all + first[pairs[k].number];
        size_t fresh = 0;
        for (size_t i = 0; i < pairs[k].n; i++)
            fresh += of[i].likely && !explained[of[i].a] && !explained[of[i].b];
        if (pairs[k].n_likely < FEW_COUPLES || 2 * fresh < pairs[k].n_likely) continue;
        kept[pairs[k].number] = 1;
        for (size_t i = 0; i < pairs[k].n; i++)
            if (of[i].likely) explained[of[i].a] = explained[of[i].b] = 1;
    }
    for (size_t i = 0; i < *n; i++)
        if (kept[all[i].pair] || (!explained[all[i].a] && !explained[all[i].b])) all[left++] = all[i];
    *n = left;
    return true;
}

/* Those that end nearest to each other are coupled first. */
bool rs_coll_number_by_end(const rs_coll_job *job, rs_coll_item *items, size_t n)
{
    size_t n_couples = 0, capacity = 0;
    couple *all = NULL;
    RS_LOCAL rs_keyed *ends = rs_malloc((n + 1) * sizeof *ends);
    bool ok = ends != NULL;
    for (size_t i = 0; ok && i < n; i++) ends[i] = (rs_keyed){end_of(job, &items[i]), (uint32_t)i};
    ok = ok && rs_keyed_sort(ends, n);
    for (uint32_t i = 0; ok && i < n; i++) {
        items[ends[i].value].number = i + 1;
        for (uint32_t k = i + 1; ok && k < n && k - i <= MOST_NEAR; k++) {
            int64_t apart = rs_sub_sat(ends[k].key, ends[i].key);
            if (apart > NEAR) break;
            if (may_couple(job, &items[ends[i].value], &items[ends[k].value]))
                ok = RS_PUSH(all, n_couples, capacity, (couple){.apart = apart, .n = 1, .a = i, .b = k});
        }
    }
    ok = ok && (!n_couples || (average_places(job, items, ends, n, all, n_couples) &&
                               keep_partners(items, ends, n, all, &n_couples)));
    if (ok && n_couples) RS_SORT(all, n_couples, by_apart);
    for (size_t c = 0; ok && c < n_couples; c++) {
        rs_coll_item *x = &items[ends[all[c].a].value], *y = &items[ends[all[c].b].value];
        if (x->number < 0 || y->number < 0) continue;
        x->number = y->number = -1 - (int64_t)all[c].a;
    }
    for (size_t i = 0; ok && i < n; i++)
        if (items[i].number < 0) items[i].number = -items[i].number;
    rs_free(all);
    return ok;
}
