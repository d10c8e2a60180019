#include "trace/recordings.h"

#include "base/interval.h"
#include "base/search.h"

size_t rs_trace_recording_of(const rs_trace *trace, uint32_t row)
{
    size_t at; /* the first that begins after the row */
    RS_SEARCH(at, trace->n_recordings, trace->recordings[at].first_row <= row);
    return at ? at - 1 : 0;
}

/* The part of a stretch that is between from and to. */
static int64_t within(int64_t start, int64_t end, int64_t from, int64_t to)
{
    if (start < from) start = from;
    if (end > to) end = to;
    return end > start ? rs_sub_sat(end, start) : 0;
}

/* Recordings follow each other in the file and in time. Adds up the gaps between from and to, and lists all of them. */
static int64_t walk_gaps(const rs_trace *trace, int64_t from, int64_t to, rs_interval *gaps, size_t *n)
{
    const rs_events *e = trace->events;
    int64_t sum = 0, reach = 0, first = 0, last = 0;
    size_t of = 0;
    bool any = false, before = false; /* whether this recording, and an earlier one, have events */
    if (trace->n_recordings < 2) return 0;
    for (size_t i = 0; i <= trace->n_rows; i++) {
        uint32_t row = i < trace->n_rows ? rs_trace_row(trace, i) : 0;
        bool leaves = i == trace->n_rows ||
                      (of + 1 < trace->n_recordings && trace->recordings[of + 1].first_row <= row);
        if (leaves && any) {
            if (before) sum = rs_add_sat(sum, within(reach, first, from, to));
            if (before && gaps && first > reach) gaps[(*n)++] = (rs_interval){reach, first};
            reach = !before || last > reach ? last : reach;
            before = true;
            any = false;
        }
        if (i == trace->n_rows) break;
        if (leaves) of = rs_trace_recording_of(trace, row);
        /* the profiler's own span begins with its warm-up */
        if (!rs_event_is_span(e, row) || rs_event_kind(e, row) == RS_KIND_SPAN) continue;
        if (!any || e->start[row] < first) first = e->start[row];
        if (!any || rs_event_end(e, row) > last) last = rs_event_end(e, row);
        any = true;
    }
    return sum;
}

int64_t rs_trace_unrecorded(const rs_trace *trace, int64_t from, int64_t to)
{
    return walk_gaps(trace, from, to, NULL, NULL);
}

size_t rs_trace_gaps(const rs_trace *trace, rs_interval *out)
{
    size_t n = 0;
    walk_gaps(trace, INT64_MIN, INT64_MAX, out, &n);
    return n;
}
