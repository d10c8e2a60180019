/* The GPU work of a rank as a policy selects, times and classifies it. */
#include <string.h>

#include "base/interval.h"
#include "trace/selection.h"
#include "trace/trace_internal.h"

rs_policy rs_policy_of(rs_compat compat)
{
    rs_policy p = {.compat = compat};
    if (compat == RS_COMPAT_HTA || compat == RS_COMPAT_HTA_EXACT) {
        p.rows_by_stream = true;
        p.classes = RS_CLASSES_HTA;
        p.trim_steps = true;
        p.round_to_us = compat == RS_COMPAT_HTA;
    }
    if (compat == RS_COMPAT_TRACELENS) {
        p.classes = RS_CLASSES_TRACELENS;
        p.linked_only = true;
    }
    return p;
}

void rs_work_free(rs_work *work)
{
    if (!work) return;
    rs_free(work->row);
    rs_free(work->start);
    rs_free(work->end);
    rs_free(work->class);
    rs_free(work->stream);
    rs_free(work->device);
    rs_free(work->correlation);
    rs_free(work->launch);
    rs_free(work->step);
    rs_free(work->by_start);
    rs_free(work->busy);
    rs_free(work);
}

rs_work *rs_work_create(size_t n)
{
    rs_work *w = rs_calloc(1, sizeof *w);
    if (!w) return NULL;
    w->row = rs_malloc(n * sizeof *w->row);
    w->start = rs_malloc(n * sizeof *w->start);
    w->end = rs_malloc(n * sizeof *w->end);
    w->class = rs_malloc(n);
    w->launch = rs_malloc(n * sizeof *w->launch);
    if (w->row && w->start && w->end && w->class && w->launch) return w;
    rs_work_free(w);
    return NULL;
}

bool rs_work_reserve_details(rs_work *w, size_t n)
{
    if (!w->stream) w->stream = rs_malloc(n * sizeof *w->stream);
    if (!w->device) w->device = rs_malloc(n * sizeof *w->device);
    if (!w->correlation) w->correlation = rs_malloc(n * sizeof *w->correlation);
    if (!w->step) w->step = rs_malloc(n * sizeof *w->step);
    return w->stream && w->device && w->correlation && w->step;
}

/* ---- the default: every event of a GPU category ------------------------------------------------------ */

/* A GPU event belongs to its launch's step; without a launch, to the GPU's own annotation of one. */
static int64_t step_of(const rs_trace *trace, uint32_t row, uint32_t launch)
{
    const rs_events *e = trace->events;
    if (launch != RS_NO_ROW)
        return rs_trace_step_at(trace->steps, trace->n_steps, e->threads[e->thread[launch]].pid,
                                e->start[launch]);
    return rs_trace_step_at(trace->gpu_steps, trace->n_gpu_steps, e->threads[e->thread[row]].pid,
                            e->start[row]);
}

static rs_status fill(rs_trace *trace, const rs_policy *policy, const rs_links *links,
                      const rs_selector *selector, rs_work *w, rs_error *err)
{
    const rs_events *e = trace->events;
    for (size_t i = 0; i < trace->n_gpu_rows; i++) {
        uint32_t row = trace->gpu_rows[i], launch = links->launch_of[i];
        if (!rs_selects_work(selector, row, launch)) continue;
        w->n_unlinked += launch == RS_NO_ROW;
        if (policy->linked_only && launch == RS_NO_ROW) continue;
        rs_class class;
        if (!rs_trace_class(trace, policy->classes, row, &class)) return rs_fail_nomem(err, "kernel classes");
        size_t at = w->n++;
        w->row[at] = row;
        w->start[at] = e->start[row];
        w->end[at] = e->duration[row] > 0 ? rs_event_end(e, row) : e->start[row];
        w->class[at] = (uint8_t) class;
        w->n_class[class]++;
        w->launch[at] = launch;
    }
    return RS_OK;
}

static rs_status from_categories(rs_trace *trace, const rs_policy *policy, rs_work **out, rs_error *err)
{
    const rs_links *links;
    rs_selector selector = {.e = trace->events};
    rs_status status = rs_trace_launches(trace, &links, err);
    if (status == RS_OK && !policy->whole) status = rs_trace_selector(trace, &selector, err);
    if (status != RS_OK) return status;
    rs_work *w = rs_work_create(trace->n_gpu_rows);
    status = w ? fill(trace, policy, links, &selector, w, err) : rs_fail_nomem(err, "GPU work");
    if (status != RS_OK) {
        rs_work_free(w);
        return status;
    }
    *out = w;
    return RS_OK;
}

/* The rows stand in file order here, so the columns are walked once. */
static rs_status add_details(rs_trace *trace, rs_work *w, rs_error *err)
{
    const rs_events *e = trace->events;
    const rs_step *steps;
    size_t n_steps;
    rs_status status = rs_trace_steps(trace, &steps, &n_steps, err);
    if (status != RS_OK) return status;
    if (!rs_work_reserve_details(w, w->n)) return rs_fail_nomem(err, "GPU work");
    rs_cursor stream = rs_cursor_of(e, RS_COL_STREAM), device = rs_cursor_of(e, RS_COL_DEVICE),
              correlation = rs_cursor_of(e, RS_COL_CORRELATION);
    for (size_t i = 0; i < w->n; i++) {
        w->stream[i] = rs_cursor_int(&stream, w->row[i], -1);
        w->device[i] = rs_cursor_int(&device, w->row[i], -1);
        w->correlation[i] = rs_cursor_int(&correlation, w->row[i], -1);
        w->step[i] = step_of(trace, w->row[i], w->launch[i]);
    }
    w->has_details = true;
    return RS_OK;
}

static bool same_policy(const rs_policy *a, const rs_policy *b)
{
    return a->compat == b->compat && a->rows_by_stream == b->rows_by_stream && a->classes == b->classes &&
           a->trim_steps == b->trim_steps && a->keep_last_step == b->keep_last_step &&
           a->force_trim == b->force_trim && a->round_to_us == b->round_to_us &&
           a->linked_only == b->linked_only && a->whole == b->whole;
}

rs_status rs_trace_need_work(rs_trace *trace, const rs_policy *policy, rs_work **out, rs_error *err)
{
    size_t at = 0;
    while (at < RS_N_WORK && trace->work[at] && !same_policy(&trace->work_policy[at], policy)) at++;
    if (at == RS_N_WORK) {
        at = 0; /* more policies than there are: the oldest makes room */
        rs_work_free(trace->work[0]);
        trace->work[0] = NULL;
    }
    if (!trace->work[at]) {
        rs_work *w = NULL;
        rs_status status = policy->rows_by_stream ? rs_work_from_hta(trace, policy, &w, err)
                                                  : from_categories(trace, policy, &w, err);
        if (status != RS_OK) return status;
        trace->work[at] = w;
        trace->work_policy[at] = *policy;
    }
    *out = trace->work[at];
    return RS_OK;
}

rs_status rs_trace_work(rs_trace *trace, const rs_policy *policy, const rs_work **out, rs_error *err)
{
    rs_work *w;
    rs_status status = rs_trace_need_work(trace, policy, &w, err);
    if (status == RS_OK) *out = w;
    return status;
}

rs_status rs_trace_work_details(rs_trace *trace, const rs_policy *policy, const rs_work **out, rs_error *err)
{
    rs_work *w;
    rs_status status = rs_trace_need_work(trace, policy, &w, err);
    if (status == RS_OK && !w->has_details) status = add_details(trace, w, err);
    if (status == RS_OK) *out = w;
    return status;
}

static bool order_by_start(rs_work *w)
{
    rs_keyed *order = rs_malloc(w->n * sizeof *order);
    uint32_t *by_start = rs_malloc(w->n * sizeof *by_start);
    bool ok = order && by_start;
    for (size_t i = 0; ok && i < w->n; i++) order[i] = (rs_keyed){w->start[i], (uint32_t)i};
    ok = ok && rs_keyed_sort(order, w->n);
    for (size_t i = 0; ok && i < w->n; i++) by_start[i] = order[i].value;
    rs_free(order);
    if (ok)
        w->by_start = by_start;
    else
        rs_free(by_start);
    return ok;
}

rs_status rs_trace_work_by_start(rs_trace *trace, const rs_policy *policy, const uint32_t **out,
                                 rs_error *err)
{
    rs_work *w;
    rs_status status = rs_trace_need_work(trace, policy, &w, err);
    if (status == RS_OK && !w->by_start && !order_by_start(w)) status = rs_fail_nomem(err, "GPU work");
    if (status == RS_OK) *out = w->by_start;
    return status;
}
