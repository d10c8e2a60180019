#include "clock/gpu.h"

#include <string.h>

#include "base/interval.h"
#include "clock/clocks.h"
#include "clock/solve.h"
#include "trace/calls.h"

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

/* launched: work by the start of its launch. */
static void by_waits(const rs_trace *trace, const rs_work *work, const rs_keyed *launched, size_t n,
                     int64_t middle, rs_clock_gpu *out)
{
    const rs_events *e = trace->events;
    for (size_t i = 0; i < trace->n_rows; i++) {
        uint32_t row = rs_trace_row(trace, i);
        if (rs_event_kind(e, row) != RS_KIND_RUNTIME || !rs_event_is_span(e, row) ||
            !(rs_call_flags(rs_event_name(e, row)) & RS_CALL_WAITS_DEVICE))
            continue;
        int64_t end = rs_add_sat(e->start[row], e->duration[row]), last = RS_NO_TIME;
        for (size_t k = 0; k < n && launched[k].key < e->start[row]; k++)
            if (work->end[launched[k].value] > last) last = work->end[launched[k].value];
        if (last == RS_NO_TIME) continue;
        int64_t low = rs_sub_sat(rs_sub_sat(last, end), 2 * RS_CLOCK_SLACK + drift_over(end, middle));
        if (out->low == RS_NO_TIME || low > out->low) out->low = low;
    }
}

rs_status rs_clock_gpu_of(rs_trace *trace, const rs_policy *policy, rs_clock_gpu *out, rs_error *err)
{
    const rs_work *work;
    *out = (rs_clock_gpu){RS_NO_TIME, RS_NO_TIME};
    rs_status status = rs_trace_work(trace, policy, &work, err);
    if (status != RS_OK || !work->n) return status;
    const rs_events *e = trace->events;
    int64_t first = INT64_MAX, last = INT64_MIN;
    rs_keyed *launched = rs_malloc((work->n + 1) * sizeof *launched);
    if (!launched) return rs_fail_nomem(err, "clocks");
    size_t n = 0;
    for (size_t i = 0; i < work->n; i++) {
        if (work->start[i] < first) first = work->start[i];
        if (work->end[i] > last) last = work->end[i];
        if (work->launch[i] != RS_NO_ROW) launched[n++] = (rs_keyed){e->start[work->launch[i]], (uint32_t)i};
    }
    int64_t middle = first / 2 + last / 2;
    bool ok = rs_keyed_sort(launched, n);
    if (ok) {
        by_launches(e, work, middle, out);
        by_waits(trace, work, launched, n, middle, out);
    }
    rs_free(launched);
    return ok ? RS_OK : rs_fail_nomem(err, "clocks");
}
