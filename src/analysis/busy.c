#include "analysis/busy.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"

bool rs_work_union(const rs_work *work, rs_class class, rs_interval **out, size_t *n)
{
    size_t count = 0, at = 0;
    for (size_t i = 0; i < work->n; i++) count += class == RS_N_CLASSES || work->class[i] == class;
    rs_interval *items = rs_malloc(count * sizeof *items);
    *out = NULL;
    *n = 0;
    if (!items) return false;
    for (size_t i = 0; i < work->n; i++)
        if (class == RS_N_CLASSES || work->class[i] == class)
            items[at++] = (rs_interval){work->start[i], work->end[i]};
    if (!rs_intervals_sort(items, count)) {
        rs_free(items);
        return false;
    }
    *n = rs_intervals_unite(items, count);
    *out = items;
    return true;
}

static void add_up(const rs_work *work, const rs_interval_set *classes, const rs_interval_set *all,
                   rs_busy *b)
{
    b->n = work->n;
    b->n_unlinked = work->n_unlinked;
    b->n_steps_seen = work->n_steps_seen;
    b->first_step = work->first_step;
    for (size_t i = 0; i < work->n; i++) b->n_class[work->class[i]]++;
    if (all->n) {
        b->first = all->items[0].start;
        b->last = all->items[all->n - 1].end;
        b->span = rs_sub_sat(b->last, b->first);
        b->busy = rs_intervals_length(all->items, all->n);
        b->idle = rs_sub_sat(b->span, b->busy);
    }
    b->compute = rs_intervals_length(classes[0].items, classes[0].n);
    b->comm = rs_intervals_length(classes[1].items, classes[1].n);
    b->memory = rs_intervals_length(classes[2].items, classes[2].n);
    b->overlapped_comm = b->sweep[3] + b->sweep[7];
    b->exposed_comm = b->sweep[2] + b->sweep[6];
    b->exposed_memory = b->sweep[4];
}

rs_status rs_busy_of(const rs_work *work, int64_t quantum, rs_busy *out, rs_error *err)
{
    static const rs_class order[3] = {RS_CLASS_COMPUTE, RS_CLASS_COMM, RS_CLASS_MEMORY};
    rs_interval *items[4] = {NULL};
    rs_interval_set sets[4] = {{NULL, 0}};
    bool ok = true;
    memset(out, 0, sizeof *out);
    for (int i = 0; ok && i < 4; i++) {
        ok = rs_work_union(work, i < 3 ? order[i] : RS_N_CLASSES, &items[i], &sets[i].n);
        sets[i].items = items[i];
    }
    if (ok) {
        rs_intervals_sweep(sets, 3, quantum, out->sweep);
        add_up(work, sets, &sets[3], out);
    }
    for (int i = 0; i < 4; i++) rs_free(items[i]);
    return ok ? RS_OK : rs_fail_nomem(err, "intervals of GPU work");
}

double rs_percent(int64_t part, int64_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : (double)NAN;
}

rs_status rs_busy_rank(const rs_run *run, rs_trace *trace, void **partial, rs_error *err)
{
    const rs_work *work;
    rs_status status = rs_trace_work(trace, run->policy, &work, err);
    if (status != RS_OK) return status;
    rs_busy *b = rs_malloc(sizeof *b);
    if (!b) return rs_fail_nomem(err, "a rank's times");
    status = rs_busy_of(work, 1, b, err);
    if (status != RS_OK) {
        rs_free(b);
        return status;
    }
    *partial = b;
    return RS_OK;
}

void rs_busy_free(void *partial)
{
    rs_free(partial);
}

rs_steps_seen rs_busy_steps_seen(const void *partial)
{
    const rs_busy *b = partial;
    return (rs_steps_seen){.n = b->n_steps_seen, .first = b->first_step};
}
