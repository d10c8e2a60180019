/* Periods of steps: from the end of the step before to its own, the GPU's work included. That is what a step costs where
 * the host runs ahead, and what the replay calls a step (engine/step_times.c): both must say the same. */
#include "analysis/steps.h"
#include "base/interval.h"
#include "base/memory.h"
#include "base/try.h"
#include "engine/lanes.h"
#include "trace/recordings.h"
#include "trace/selection.h"

#define NO_STEP UINT32_MAX

/* The steps of the host in their order of time. */
typedef struct periods {
    const rs_step *steps;
    size_t n;
    rs_map64 by_number; /* the first of that number */
    int64_t *end;       /* by step */
    bool *again;        /* by step: of several with its number */
    int64_t begin;      /* of the first step */
} periods;

static bool open_periods(const rs_step *steps, size_t n, periods *p)
{
    *p = (periods){.steps = steps,
                   .n = n,
                   .end = rs_malloc((n + 1) * sizeof *p->end),
                   .again = rs_calloc(n + 1, sizeof *p->again),
                   .begin = steps[0].start};
    bool ok = p->end && p->again;
    for (uint32_t i = 0; ok && i < n; i++) {
        bool is_new;
        uint32_t *slot = rs_map64_put(&p->by_number, (uint64_t)steps[i].number, &is_new);
        p->end[i] = steps[i].end;
        ok = slot != NULL;
        if (ok && is_new) *slot = i;
        if (ok && !is_new) p->again[i] = p->again[*slot] = true;
    }
    return ok;
}

static void clear_periods(periods *p)
{
    rs_map64_clear(&p->by_number);
    rs_free_all(p->end, p->again);
}

static uint32_t place_of(const periods *p, int64_t number)
{
    const uint32_t *at = number < 0 ? NULL : rs_map64_get(&p->by_number, (uint64_t)number);
    return at ? *at : NO_STEP;
}

/* The first step begins behind the work of no step that is ahead of its own on a stream. */
static bool find_begin(const rs_trace *t, const rs_work *w, periods *p)
{
    const rs_events *e = t->events;
    RS_SCOPED(rs_lanes_clear) rs_lanes lanes = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < w->n; i++) {
        bool known = w->device[i] >= 0; /* the sign of the first number tells devices from processes */
        int64_t first = known ? w->device[i] : e->threads[e->thread[w->row[i]]].pid ^ INT64_MIN;
        ok = rs_lanes_add(&lanes, first, w->stream[i], w->start[i], (uint32_t)i);
    }
    RS_LOCAL int64_t *starts = rs_malloc((lanes.n_lanes + 1) * sizeof *starts);
    ok = ok && starts;
    for (size_t k = 0; ok && k < lanes.n_lanes; k++) starts[k] = INT64_MIN;
    for (size_t i = 0; ok && i < w->n; i++) {
        int64_t *start = &starts[lanes.entries[i].lane];
        if (place_of(p, w->step[i]) == 0 && (*start == INT64_MIN || w->start[i] < *start))
            *start = w->start[i];
    }
    for (size_t i = 0; ok && i < w->n; i++)
        if (place_of(p, w->step[i]) == NO_STEP && w->start[i] < starts[lanes.entries[i].lane] &&
            w->end[i] > p->begin)
            p->begin = w->end[i];
    return ok;
}

static void find_ends(const rs_work *w, periods *p)
{
    for (size_t i = 0; i < w->n; i++) {
        uint32_t at = place_of(p, w->step[i]);
        if (at != NO_STEP && w->end[i] > p->end[at]) p->end[at] = w->end[i];
    }
    int64_t before = p->begin;
    for (size_t i = 0; i < p->n; before = p->end[i++])
        if (p->end[i] < before) p->end[i] = before;
}

rs_status rs_steps_periods(rs_trace *t, const rs_policy *policy, rs_rank_steps *out, rs_error *err)
{
    const rs_step *steps;
    const rs_work *work;
    size_t n;
    periods p;
    rs_policy all = *policy;
    const rs_selection *selection = t->selection;
    all.whole = selection && (selection->by_step || selection->by_window);
    for (size_t i = 0; i < out->n; i++) out->items[i].period = RS_NO_TIME;
    RS_TRY(rs_trace_steps(t, &steps, &n, err));
    if (!n) return RS_OK;
    RS_TRY(rs_trace_work_details(t, &all, &work, err));
    bool ok = open_periods(steps, n, &p) && find_begin(t, work, &p);
    if (ok) find_ends(work, &p);
    for (size_t i = 0; ok && i < out->n; i++) {
        uint32_t at = place_of(&p, out->items[i].number);
        if (at == NO_STEP || p.again[at] || out->items[i].start == RS_NO_TIME) continue;
        int64_t begin = at ? p.end[at - 1] : p.begin;
        /* ahead of a recording's first step lies time of which nothing is known */
        if (at && rs_trace_recording_of(t, steps[at].row) != rs_trace_recording_of(t, steps[at - 1].row))
            begin = steps[at].start;
        out->items[i].until = p.end[at];
        out->items[i].period = rs_sub_sat(p.end[at], begin);
    }
    clear_periods(&p);
    return ok ? RS_OK : rs_fail_nomem(err, "steps");
}
