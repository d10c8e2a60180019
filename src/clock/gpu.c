#include "clock/gpu.h"

#include "base/interval.h"
#include "base/memory.h"
#include "base/try.h"
#include "clock/clocks.h"
#include "clock/solve.h"
#include "trace/calls.h"
#include "trace/selection.h"

static int64_t drift_over(int64_t at, int64_t middle)
{
    int64_t far = at < middle ? rs_sub_sat(middle, at) : rs_sub_sat(at, middle);
    return far / (1000000 / RS_CLOCK_DRIFT);
}

static void by_launches(const rs_events *e, const rs_work *work, int64_t middle, rs_clock_gpu *out)
{
    for (size_t i = 0; i < work->n; i++) {
        if (work->launch[i] == RS_NO_ROW) continue;
        int64_t high = rs_add_sat(rs_sub_sat(work->start[i], e->start[work->launch[i]]),
                                  2 * RS_CLOCK_SLACK + drift_over(work->start[i], middle));
        if (out->high == RS_NO_TIME || high < out->high) out->high = high;
    }
}

/* launched: work by the start of its launch; reach: by such a place, how far it and all before reach. Calls that are not
 * selected count as little as work that is not. */
static void by_waits(const rs_trace *trace, const rs_selector *selector, const rs_keyed *launched,
                     const int64_t *reach, size_t n, int64_t middle, rs_clock_gpu *out)
{
    const rs_events *e = trace->events;
    for (size_t i = 0; i < trace->n_rows; i++) {
        uint32_t row = rs_trace_row(trace, i);
        if (rs_event_kind(e, row) != RS_KIND_RUNTIME || !rs_event_is_span(e, row) ||
            !(rs_call_flags(rs_event_name(e, row)) & RS_CALL_WAITS_DEVICE) || !rs_selects_row(selector, row))
            continue;
        int64_t end = rs_add_sat(e->start[row], e->duration[row]);
        size_t before = rs_keyed_before(launched, n, e->start[row]);
        if (!before) continue;
        int64_t low =
            rs_sub_sat(rs_sub_sat(reach[before - 1], end), 2 * RS_CLOCK_SLACK + drift_over(end, middle));
        if (out->low == RS_NO_TIME || low > out->low) out->low = low;
    }
}

rs_status rs_clock_gpu_of(rs_trace *trace, const rs_policy *policy, rs_clock_gpu *out, rs_error *err)
{
    const rs_work *work;
    rs_selector selector;
    *out = (rs_clock_gpu){RS_NO_TIME, RS_NO_TIME};
    RS_TRY(rs_trace_work(trace, policy, &work, err));
    if (!work->n) return RS_OK;
    RS_TRY(rs_trace_selector(trace, &selector, err));
    const rs_events *e = trace->events;
    int64_t first = INT64_MAX, last = INT64_MIN;
    RS_LOCAL rs_keyed *launched = rs_malloc((work->n + 1) * sizeof *launched);
    RS_LOCAL int64_t *reach = rs_malloc((work->n + 1) * sizeof *reach);
    size_t n = 0;
    for (size_t i = 0; launched && i < work->n; i++) {
        if (work->start[i] < first) first = work->start[i];
        if (work->end[i] > last) last = work->end[i];
        if (work->launch[i] != RS_NO_ROW) launched[n++] = (rs_keyed){e->start[work->launch[i]], (uint32_t)i};
    }
    int64_t middle = first / 2 + last / 2;
    bool ok = launched && reach && rs_keyed_sort(launched, n);
    for (size_t i = 0; ok && i < n; i++) {
        reach[i] = work->end[launched[i].value];
        if (i && reach[i - 1] > reach[i]) reach[i] = reach[i - 1];
    }
    if (ok) {
        by_launches(e, work, middle, out);
        by_waits(trace, &selector, launched, reach, n, middle, out);
    }
    return ok ? RS_OK : rs_fail_nomem(err, "clocks");
}
