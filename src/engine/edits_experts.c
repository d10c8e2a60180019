/* experts GROUP:N: the experts of an expert-parallel group on another number of ranks.
 *
 * A rank's expert work is the computation between a dispatch and its combine: all-to-alls of the group, two by two in a step, those left out
 * that carry less than a tenth of the largest (counts of tokens). What a rank's experts take of the mean of their group is their share of the
 * tokens. On fewer ranks neighbours' experts come together, and their shares are averaged. On more ranks the experts of a rank part; how its share
 * parts is not recorded: it may stay the mean of both parts, be even, or all that is beyond the mean may be of one part. */
#include <string.h>

#include "base/interval.h"
#include "base/memory.h"
#include "base/order.h"
#include "base/real.h"
#include "base/search.h"
#include "base/try.h"
#include "engine/edits_terms.h"
#include "match/collective_wait.h"

#define LEAST_OF_LARGEST 10

/* From a dispatch to its combine on one rank; ns, the rank's clock. */
typedef struct window {
    int64_t start, end;
    uint32_t rank, member; /* member: of the dispatch, in the engine's members */
} window;

typedef struct windows {
    window *items; /* by rank, start */
    size_t n, capacity;
    double *load; /* ns of computation, by member of a dispatch; 0: it has no window */
    double *then; /* what becomes of it, as a factor */
} windows;

static void clear_windows(windows *w)
{
    rs_free_all(w->items, w->load, w->then);
}

static bool is_exchange(const rs_edit *edit, const rs_editor *x, const rs_meeting *m)
{
    const rs_coll_instance *c = &x->e->coll.instances[m->instance];
    return rs_edit_is_of_group(edit, x, m) && m->n == c->n &&
           rs_coll_shape_at(&x->e->coll, &x->e->coll.arrivals[c->first])->kind == RS_COLL_ALL_TO_ALL;
}

static bool find_windows(const rs_edit *edit, const rs_editor *x, windows *out)
{
    const rs_engine *e = x->e;
    int64_t largest = -1;
    RS_LOCAL uint32_t *open =
        rs_malloc((e->n_ranks + 1) * sizeof *open); /* by rank: a dispatch without its combine */
    if (!open) return false;
    for (size_t r = 0; r < e->n_ranks; r++) open[r] = RS_NO_NODE;
    for (size_t k = 0; k < e->n_meetings; k++)
        if (is_exchange(edit, x, &e->meetings[k]) && rs_meeting_bytes(e, &e->meetings[k]) > largest)
            largest = rs_meeting_bytes(e, &e->meetings[k]);
    for (size_t k = 0; k < e->n_meetings; k++) {
        const rs_meeting *m = &e->meetings[k];
        if (!is_exchange(edit, x, m) || rs_meeting_bytes(e, m) < largest / LEAST_OF_LARGEST) continue;
        for (uint32_t i = m->first; i < m->first + m->n; i++) {
            const size_t r = rs_engine_rank_of(e, e->members[i]);
            const rs_skeleton *s = e->ranks[r];
            const uint32_t here = e->members[i] - e->node_base[r],
                           before = open[r] == RS_NO_NODE ? 0 : e->members[open[r]] - e->node_base[r];
            if (!before || rs_skeleton_step_of(s, before) != rs_skeleton_step_of(s, here)) {
                open[r] = i;
                continue;
            }
            if (!RS_APPEND(out, (window){rs_skeleton_end(s, before), rs_skeleton_time(s, here), (uint32_t)r,
                                         open[r]}))
                return false;
            open[r] = RS_NO_NODE;
        }
    }
    static const rs_order by_start[] = {RS_RISING(window, rank), RS_RISING(window, start)};
    if (out->n) RS_SORT(out->items, out->n, by_start);
    return true;
}

/* The window that work of a rank is in; NULL: none. */
static const window *window_of(const windows *all, const rs_editor *x, size_t r, uint32_t local)
{
    const rs_skeleton *s = x->e->ranks[r];
    if (!rs_skeleton_is_work(s, local) || rs_skeleton_at(s, local)->part != RS_PART_COMPUTE) return NULL;
    const int64_t at = rs_skeleton_time(s, local);
    size_t i;
    RS_SEARCH(i, all->n, all->items[i].rank < r || (all->items[i].rank == r && all->items[i].start <= at));
    return i && all->items[i - 1].rank == r && at < all->items[i - 1].end ? &all->items[i - 1] : NULL;
}

/* What the i-th of n members with these loads has then. */
static double load_then(const double *load, size_t n, size_t i, size_t ranks, rs_edit_end end)
{
    double mean = 0, sum = 0;
    for (size_t k = 0; k < n; k++) mean += load[k] / (double)n;
    if (ranks < n) {
        const size_t together = n / ranks, first = i % ranks * together;
        for (size_t k = 0; k < together; k++) sum += load[first + k];
        return sum / (double)together;
    }
    if (end == RS_END_SHORT && ranks > n) return mean;
    if (end == RS_END_LONG && load[i] > mean) return mean + (load[i] - mean) * (double)ranks / (double)n;
    return load[i];
}

static void find_factors(const rs_edit *edit, const rs_editor *x, windows *all)
{
    const rs_engine *e = x->e;
    for (size_t k = 0; k < e->n_meetings; k++) {
        const rs_meeting *m = &e->meetings[k];
        const double *load = all->load + m->first;
        bool known = true;
        for (uint32_t i = 0; i < m->n; i++) known = known && load[i] > 0;
        for (uint32_t i = 0; known && i < m->n; i++)
            all->then[m->first + i] =
                load_then(load, m->n, i, (size_t)edit->number, (rs_edit_end)edit->end) / load[i];
    }
}

static rs_status check_sizes(const rs_edit *edit, const rs_editor *x, rs_error *err)
{
    for (size_t k = 0; k < x->e->n_meetings; k++) {
        const rs_meeting *m = &x->e->meetings[k];
        const int64_t n = m->n, then = edit->number;
        if (is_exchange(edit, x, m) && n % then && then % n)
            return rs_fail(
                err, RS_ERR_USAGE,
                "experts of %lld ranks on %lld: one must be a multiple of the other, as experts stay whole",
                (long long)n, (long long)then);
    }
    return RS_OK;
}

rs_status rs_edit_experts(const rs_edit *edit, rs_editor *x, rs_error *err)
{
    const rs_engine *e = x->e;
    RS_SCOPED(clear_windows)
    windows all = {.load = rs_calloc(e->n_members + 1, sizeof *all.load),
                   .then = rs_calloc(e->n_members + 1, sizeof *all.then)};
    RS_TRY(check_sizes(edit, x, err));
    if (!all.load || !all.then || !find_windows(edit, x, &all)) return rs_fail_nomem(err, "a question");
    if (!all.n)
        return rs_fail(
            err, RS_ERR_USAGE,
            "experts: no two all-to-alls of a step are a dispatch and its combine in groups of that kind");
    for (int pass = 0; pass < 2; pass++) { /* loads, then changes */
        for (size_t r = 0; r < e->n_ranks; r++)
            for (uint32_t i = 1; i < e->ranks[r]->n; i++) {
                const window *in = window_of(&all, x, r, i);
                int64_t *w = &x->w->work[e->node_base[r] + i];
                if (!in || *w <= 0) continue;
                if (pass == 0)
                    all.load[in->member] += (double)*w;
                else if (all.then[in->member] > 0)
                    rs_edit_change(x, w, rs_int_near((double)*w * all.then[in->member]));
            }
        if (pass == 0) find_factors(edit, x, &all);
    }
    return RS_OK;
}
