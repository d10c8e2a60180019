#include "trace/trace.h"

#include <string.h>

#include "trace/trace_internal.h"
#include "trace/tree.h"

void rs_trace_init(rs_trace *trace, rs_events *events, uint32_t *rows, size_t n_rows)
{
    *trace = (rs_trace){.events = events,
                        .rank = RS_NO_VALUE,
                        .rows = rows,
                        .n_rows = n_rows,
                        .first_ns = RS_NO_TIME,
                        .last_ns = RS_NO_TIME};
}

void rs_trace_clear(rs_trace *trace)
{
    rs_free(trace->rows);
    rs_free(trace->gpu_rows);
    rs_links_free(trace->links);
    rs_free(trace->steps);
    rs_free(trace->gpu_steps);
    for (size_t i = 0; i < RS_N_WORK; i++) rs_work_free(trace->work[i]);
    for (size_t i = 0; i < 2; i++) rs_tree_free(trace->tree[i]);
    for (size_t i = 0; i < sizeof trace->class_of_name / sizeof *trace->class_of_name; i++)
        rs_free(trace->class_of_name[i]);
    *trace = (rs_trace){.rank = RS_NO_VALUE, .first_ns = RS_NO_TIME, .last_ns = RS_NO_TIME};
}

rs_status rs_trace_gpu_rows(rs_trace *trace, const uint32_t **rows, size_t *n, rs_error *err)
{
    const rs_events *e = trace->events;
    if (!trace->have_gpu_rows) {
        size_t at = 0, room = 0;
        for (size_t i = 0; i < trace->n_rows; i++) {
            uint32_t row = rs_trace_row(trace, i);
            if (!rs_kind_is_gpu_work(rs_event_kind(e, row)) || !rs_event_is_span(e, row)) continue;
            if (at == room && !rs_grow((void **)&trace->gpu_rows, &room, at + 1, sizeof *trace->gpu_rows))
                return rs_fail_nomem(err, "list of GPU work");
            trace->gpu_rows[at++] = row;
        }
        trace->n_gpu_rows = at;
        trace->have_gpu_rows = true;
    }
    *rows = trace->gpu_rows;
    *n = trace->n_gpu_rows;
    return RS_OK;
}

rs_status rs_trace_span(rs_trace *trace, int64_t *first_ns, int64_t *last_ns, rs_error *err)
{
    (void)err;
    const rs_events *e = trace->events;
    if (!trace->have_span) {
        int64_t first = INT64_MAX, last = INT64_MIN;
        bool any = false;
        for (size_t i = 0; i < trace->n_rows; i++) {
            uint32_t row = rs_trace_row(trace, i);
            /* the profiler's own span begins with its warm-up, long before anything that was asked for */
            if (!rs_event_is_span(e, row)) continue;
            int64_t start = e->start[row], end = start + e->duration[row];
            if ((start >= first && end <= last) || rs_event_kind(e, row) == RS_KIND_SPAN) continue;
            if (start < first) first = start;
            if (end > last) last = end;
            any = true;
        }
        if (any) {
            trace->first_ns = first;
            trace->last_ns = last;
        }
        trace->have_span = true;
    }
    *first_ns = trace->first_ns;
    *last_ns = trace->last_ns;
    return RS_OK;
}

bool rs_trace_class(rs_trace *trace, rs_class_rules rules, uint32_t row, rs_class *out)
{
    const rs_events *e = trace->events;
    rs_kind kind = rs_event_kind(e, row);
    if (rules != RS_CLASSES_HTA && (kind == RS_KIND_MEMCPY || kind == RS_KIND_MEMSET)) {
        *out = rules == RS_CLASSES_TRACELENS && kind == RS_KIND_MEMSET ? RS_CLASS_COMPUTE : RS_CLASS_MEMORY;
        return true;
    }
    uint8_t **known = &trace->class_of_name[rules];
    if (!*known) *known = rs_calloc(e->strings.n, 1);
    if (!*known) return false;
    uint32_t name = e->name[row];
    if (!(*known)[name]) {
        const rs_string *s = &e->strings.items[name];
        rs_class class = rules == RS_CLASSES_HTA         ? rs_class_of_hta(s->text, s->length)
                         : rules == RS_CLASSES_TRACELENS ? rs_class_of_tracelens(kind, s->text, s->length)
                                                         : rs_class_of(kind, s->text, s->length);
        (*known)[name] = (uint8_t)(class + 1);
    }
    *out = (rs_class)((*known)[name] - 1);
    return true;
}
