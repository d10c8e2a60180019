/* Passes of pipelines in a replay: where the work is then that they consist of. */
#include "base/memory.h"
#include "base/order.h"
#include "base/search.h"
#include "engine/engine.h"
#include "engine/pipeline.h"

/* A pass as it was recorded, and its work in the replay. */
typedef struct moved {
    uint32_t rank, pass; /* pass: in the pipelines' */
    int64_t start, end, first, last;
} moved;

static const rs_order by_start[] = {RS_RISING(moved, rank), RS_RISING(moved, start)};

static moved *find_moved(moved *all, size_t n, uint32_t rank, int64_t at)
{
    size_t i;
    RS_SEARCH(i, n, all[i].rank < rank || (all[i].rank == rank && all[i].start <= at));
    return i && all[i - 1].rank == rank && at < all[i - 1].end ? &all[i - 1] : NULL;
}

static void follow_work(moved *all, size_t n, const rs_engine *e, const rs_times *times)
{
    for (uint32_t r = 0; r < e->n_ranks; r++) {
        const rs_skeleton *s = e->ranks[r];
        for (uint32_t i = 1; i < s->n; i++) {
            const uint32_t node = e->node_base[r] + i;
            if (!rs_skeleton_is_work(s, i) || rs_skeleton_at(s, i)->part != RS_PART_COMPUTE) continue;
            moved *m = find_moved(all, n, r, rs_engine_recorded(e, r, i));
            if (!m) continue;
            const int64_t end = rs_times_end(times, node);
            if (times->start[node] < m->first) m->first = times->start[node];
            if (end > m->last) m->last = end;
        }
    }
}

/* From the first pass of a step to the end of its last; passes and steps are in one order. */
static void measure_windows(rs_pipelines *p)
{
    size_t at = 0;
    for (size_t i = 0, next; i < p->n_steps; i = next) {
        int64_t first = INT64_MAX, last = INT64_MIN;
        for (next = i; next < p->n_steps && p->steps[next].line == p->steps[i].line &&
                       p->steps[next].step == p->steps[i].step;)
            next++;
        for (; at < p->n_passes && p->passes[at].line == p->steps[i].line &&
               p->passes[at].step == p->steps[i].step;
             at++) {
            if (p->passes[at].start < first) first = p->passes[at].start;
            if (p->passes[at].end > last) last = p->passes[at].end;
        }
        for (size_t k = i; first < last && k < next; k++) p->steps[k].window = rs_sub_sat(last, first);
    }
}

rs_status rs_pipelines_retime(rs_pipelines *p, const rs_engine *e, const rs_times *times, rs_error *err)
{
    RS_LOCAL moved *all = rs_malloc((p->n_passes + 1) * sizeof *all);
    if (!all) return rs_fail_nomem(err, "another layout");
    for (uint32_t i = 0; i < p->n_passes; i++)
        all[i] = (moved){p->passes[i].rank, i, p->passes[i].start, p->passes[i].end, INT64_MAX, INT64_MIN};
    if (p->n_passes) RS_SORT(all, p->n_passes, by_start);
    follow_work(all, p->n_passes, e, times);
    for (size_t i = 0; i < p->n_passes; i++) {
        if (all[i].first >= all[i].last) continue;
        p->passes[all[i].pass].start = all[i].first;
        p->passes[all[i].pass].end = all[i].last;
    }
    measure_windows(p);
    return RS_OK;
}
