#include "peer/hta_window.h"

#include <math.h>
#include <string.h>

#include "base/interval.h"
#include "base/real.h"
#include "base/try.h"
#include "base/keymap.h"
#include "trace/facet.h"
#include "trace/selection.h"
#include "trace/step_name.h"

/* ---- times ------------------------------------------------------------------------------------------ */

double rs_hta_us(int64_t ns)
{
    int64_t us = ns / 1000, rest = ns % 1000;
    return (double)us + (double)rest / 1000.0;
}

/* Whole microseconds as ns; doubles beyond the range stay at its ends. */
static int64_t ns_of_whole_us(double us)
{
    if (us >= 9.2e15) return INT64_MAX - INT64_MAX % 1000;
    if (us <= -9.2e15) return INT64_MIN + 1808;
    return fabs(us) < 9e15 ? rs_int_of(us) * 1000 : rs_int_of(us * 1000);
}

/* pandas reads the column as doubles as soon as one start is missing or has a fraction. */
static bool has_fractions(const rs_trace *trace)
{
    const rs_events *e = trace->events;
    for (size_t i = 0; i < trace->n_rows; i++) {
        uint32_t row = rs_trace_row(trace, i);
        if (e->phase[row] == 0) continue; /* lost: nothing is known of it */
        if (e->start[row] == RS_NO_TIME || e->start[row] % 1000 != 0) return true;
    }
    return false;
}

int64_t rs_hta_start_of(const rs_trace *trace, const rs_frame_rows *frame, uint32_t row)
{
    int64_t start = trace->events->start[row];
    return frame->rounded ? ns_of_whole_us(ceil(rs_hta_us(start))) : start;
}

static void round_times(const rs_trace *trace, rs_frame_rows *f)
{
    const rs_events *e = trace->events;
    f->rounded = true;
    f->min_start = RS_NO_TIME;
    for (size_t i = 0; i < f->n; i++) {
        uint32_t row = f->row[i];
        f->start[i] = rs_hta_start_of(trace, f, row);
        f->end[i] = ns_of_whole_us(floor(rs_hta_us(e->start[row]) + rs_hta_us(e->duration[row])));
        if (f->min_start == RS_NO_TIME || f->start[i] < f->min_start) f->min_start = f->start[i];
    }
}

/* ---- the cut ---------------------------------------------------------------------------------------- */

int64_t *rs_hta_step_numbers(const rs_strings *strings)
{
    int64_t *numbers = rs_malloc(strings->n * sizeof *numbers);
    for (size_t i = 0; numbers && i < strings->n; i++) numbers[i] = rs_step_number(&strings->items[i]);
    return numbers;
}

typedef struct last_step {
    int64_t start; /* of the last step */
    int64_t end;   /* latest end of a step */
} last_step;

/* Without a step of its own a rank is cut at its own first host event: HTA then drops all of it. */
static last_step find_limit(const rs_trace *trace, const rs_frame_rows *f, const uint8_t *gpu,
                            const int64_t *numbers)
{
    last_step steps = {INT64_MIN, INT64_MIN}, host = {INT64_MAX, INT64_MIN};
    bool any = false;
    for (size_t i = 0; i < f->n; i++) {
        if (gpu[i]) continue;
        if (f->start[i] < host.start) host.start = f->start[i];
        if (f->end[i] > host.end) host.end = f->end[i];
        if (numbers[trace->events->name[f->row[i]]] < 0) continue;
        any = true;
        if (f->start[i] > steps.start) steps.start = f->start[i];
        if (f->end[i] > steps.end) steps.end = f->end[i];
    }
    return any ? steps : host;
}

/* GPU rows once for each host row left with their correlation, then the host rows. */
static rs_status cut(const rs_trace *trace, const rs_frame_rows *f, const uint8_t *gpu,
                     const int64_t *numbers, bool keep_last, rs_frame_rows **result, rs_error *err)
{
    last_step limit = find_limit(trace, f, gpu, numbers);
    rs_keymap left;
    rs_frame_rows *out = NULL;
    bool ok = rs_frame_correlations(f, &left);
    size_t n = 0;
    /* HTA compares a relative start with an absolute end when it is asked to keep the last step */
    int64_t last = keep_last ? rs_add_sat(limit.end, f->min_start) : limit.start;
#define STAYS(i) (keep_last ? f->start[i] <= last : f->start[i] < last)
    for (size_t i = 0; ok && i < f->n; i++) {
        if (gpu[i] || !STAYS(i)) continue;
        n++;
        if (f->correlation[i] == -1) continue;
        uint32_t count = rs_keymap_get(&left, f->correlation[i]);
        ok = rs_keymap_put(&left, f->correlation[i], count == RS_KEYMAP_NONE ? 1 : count + 1);
    }
    for (size_t i = 0; ok && i < f->n; i++) {
        uint32_t count = gpu[i] ? rs_keymap_get(&left, f->correlation[i]) : RS_KEYMAP_NONE;
        if (count != RS_KEYMAP_NONE && __builtin_add_overflow(n, (size_t)count, &n)) ok = false;
    }
    bool too_many = n / 64 > f->n; /* hostile input could make rows multiply without end */
    if (ok && !too_many) out = rs_frame_rows_create(n);
    ok = out != NULL;
    for (size_t i = 0; ok && i < f->n; i++) {
        uint32_t count = gpu[i] ? rs_keymap_get(&left, f->correlation[i]) : RS_KEYMAP_NONE;
        for (; count != RS_KEYMAP_NONE && count > 0; count--) rs_frame_rows_move(out, f, i);
    }
    for (size_t i = 0; ok && i < f->n; i++)
        if (!gpu[i] && STAYS(i)) rs_frame_rows_move(out, f, i);
#undef STAYS
    rs_keymap_clear(&left);
    if (ok) {
        out->min_start = f->min_start;
        out->rounded = f->rounded;
        *result = out;
        return RS_OK;
    }
    rs_frame_rows_free(out);
    if (too_many)
        return rs_fail_at(
            err, RS_ERR_LIMIT, trace->file, RS_NO_OFFSET,
            "correlation ids repeat so often that HTA's table would have over 64 rows an event");
    return rs_fail_nomem(err, "HTA's rows");
}

/* ---- all of it -------------------------------------------------------------------------------------- */

static rs_status window(const rs_trace *trace, const rs_policy *policy, rs_frame_rows **frame, rs_error *err)
{
    rs_frame_rows *f = *frame;
    RS_LOCAL int64_t *numbers = rs_hta_step_numbers(&trace->events->strings);
    RS_LOCAL uint8_t *gpu = rs_malloc(f->n);
    bool ok = numbers && gpu, host = false;
    for (size_t i = 0; ok && i < f->n; i++) {
        gpu[i] = rs_frame_is_work(trace->events, f, i);
        host = host || !gpu[i];
    }
    rs_status status = ok ? RS_OK : rs_fail_nomem(err, "HTA's rows");
    if (ok && host && policy->trim_steps) {
        rs_frame_rows *less = NULL;
        status = cut(trace, f, gpu, numbers, policy->keep_last_step, &less, err);
        if (status == RS_OK) {
            rs_frame_rows_free(f);
            *frame = less;
        }
    }
    return status;
}

/* Keeps the selected rows: those with a stream by the row that HTA takes for their launch. */
static rs_status select_rows(rs_trace *trace, rs_frame_rows *f, rs_error *err)
{
    rs_selector selector;
    rs_status status = rs_trace_selector(trace, &selector, err);
    if (status != RS_OK || !selector.selection) return status;
    size_t n = f->n;
    f->n = 0;
    for (size_t i = 0; i < n; i++) {
        bool work = rs_kind_is_gpu_work(rs_event_kind(trace->events, f->row[i]));
        bool linked = f->stream[i] != -1 && f->partner[i] != RS_NO_ROW;
        bool stays = work || linked
                         ? rs_selects_work(&selector, f->row[i], linked ? f->partner[i] : RS_NO_ROW)
                         : rs_selects_row(&selector, f->row[i]);
        if (stays) rs_frame_rows_move(f, f, i);
    }
    return RS_OK;
}

static rs_status make_frame(rs_trace *trace, const void *key, void **out, rs_error *err)
{
    const rs_policy *policy = key;
    rs_frame_rows *f = rs_frame_rows_of(trace);
    if (!f) return rs_fail_nomem(err, "HTA's rows");
    if (policy->round_to_us && has_fractions(trace)) round_times(trace, f);
    rs_status status = window(trace, policy, &f, err);
    if (status == RS_OK && !policy->whole) status = select_rows(trace, f, err);
    if (status != RS_OK) {
        rs_frame_rows_free(f);
        return status;
    }
    *out = f;
    return RS_OK;
}

/* What makes a difference to the frame: without steps to cut off, how they are cut makes none. */
static bool same_frame(const void *x, const void *y)
{
    const rs_policy *a = x, *b = y;
    if (a->round_to_us != b->round_to_us || a->whole != b->whole || a->trim_steps != b->trim_steps)
        return false;
    return !a->trim_steps || a->keep_last_step == b->keep_last_step;
}

const rs_facet rs_facet_hta_frame = {.name = "HTA's rows",
                                     .columns = RS_COLUMN_BIT(STREAM) | RS_COLUMN_BIT(CORRELATION),
                                     .needs = {&rs_facet_steps},
                                     .key_size = sizeof(rs_policy),
                                     .same = same_frame,
                                     .selected = true,
                                     .make = make_frame,
                                     .release = rs_frame_rows_free};

rs_status rs_trace_hta_frame(rs_trace *trace, const rs_policy *policy, const rs_frame_rows **out,
                             rs_error *err)
{
    rs_policy key = *policy;
    if (!rs_trace_is_selected(trace)) key.whole = true; /* the same, then */
    return rs_trace_facet(trace, &rs_facet_hta_frame, &key, out, err);
}

/* HTA's GPU rows: whatever has a stream. */
static rs_status work_of(rs_trace *trace, const rs_policy *policy, rs_work **out, rs_error *err)
{
    const rs_frame_rows *f;
    const rs_step *steps;
    const rs_classes *classes;
    size_t n_steps, n = 0;
    rs_status status = rs_trace_hta_frame(trace, policy, &f, err);
    if (status == RS_OK) status = rs_trace_classes(trace, policy->classes, &classes, err);
    if (status != RS_OK) return status;
    for (size_t i = 0; i < f->n; i++) n += f->stream[i] != -1;
    rs_work *w = rs_work_create(n);
    if (!w || !rs_work_reserve_details(w, n)) status = rs_fail_nomem(err, "GPU work");
    if (status == RS_OK) status = rs_trace_annotated_steps(trace, &steps, &n_steps, err);
    const rs_events *e = trace->events;
    for (size_t i = 0; status == RS_OK && i < f->n; i++) {
        if (f->stream[i] == -1) continue;
        uint32_t launch = f->partner[i], from = launch == RS_NO_ROW ? f->row[i] : launch;
        int64_t step = -1, device = -1;
        if (launch != RS_NO_ROW || rs_kind_is_call(rs_event_kind(e, from)))
            step = rs_trace_step_at(steps, n_steps, e->threads[e->thread[from]].pid, e->start[from]);
        rs_class class = rs_class_at(classes, f->row[i]);
        rs_events_int(e, RS_COL_DEVICE, f->row[i], &device);
        size_t at = w->n++;
        w->row[at] = f->row[i];
        w->start[at] = f->start[i];
        w->end[at] = f->end[i];
        w->class[at] = (uint8_t) class;
        w->n_class[class]++;
        w->stream[at] = f->stream[i];
        w->device[at] = device;
        w->correlation[at] = f->correlation[i];
        w->launch[at] = launch;
        w->step[at] = step;
        w->n_unlinked += launch == RS_NO_ROW;
    }
    if (status == RS_OK) {
        w->has_details = true;
        *out = w;
    } else {
        rs_work_free(w);
    }
    return status;
}

/* It trims the last step until all ranks have agreed on that (hta_steps.c). */
const rs_policy rs_policy_hta = {.compat = RS_COMPAT_HTA,
                                 .work = work_of,
                                 .classes = RS_CLASSES_HTA,
                                 .trim_steps = true,
                                 .round_to_us = true,
                                 .quantum_ns = 1000};
const rs_policy rs_policy_hta_exact = {.compat = RS_COMPAT_HTA_EXACT,
                                       .work = work_of,
                                       .classes = RS_CLASSES_HTA,
                                       .trim_steps = true,
                                       .quantum_ns = 1000};

/* ---- times of a job ------------------------------------------------------------------------------------ */

static const rs_field origin_fields[] = {RS_FIELDS(rs_hta_origin, zero, first, last)};
const rs_layout rs_hta_origin_layout = RS_LAYOUT(rs_hta_origin, origin_fields);

rs_status rs_hta_put_origin(const rs_run *run, rs_trace *trace, rs_relations *out, unsigned at, rs_error *err)
{
    const rs_frame_rows *f;
    RS_TRY(rs_trace_hta_frame(trace, run->policy, &f, err));
    rs_hta_origin origin = {.zero = f->min_start == RS_NO_TIME ? INT64_MAX : f->min_start};
    for (size_t i = 0; i < f->n; i++) {
        if (i == 0 || f->start[i] < origin.first) origin.first = f->start[i];
        if (i == 0 || f->start[i] > origin.last) origin.last = f->start[i];
    }
    rs_put(out, at, &origin);
    return RS_OK;
}

rs_status rs_hta_merge_from_zero(const rs_run *run, rs_partial *partials, size_t n, unsigned at,
                                 rs_result *result, rs_error *err)
{
    int64_t zero = INT64_MAX;
    rs_run from_zero = *run;
    for (size_t i = 0; i < n; i++) {
        const rs_relations *of = partials[i].value;
        const rs_hta_origin *origin = RS_ROWS(rs_hta_origin, of, at);
        if (of->items[at].n && origin->zero < zero) zero = origin->zero;
    }
    from_zero.context = &zero;
    return rs_plan_merge(&from_zero, partials, n, result, err);
}

double rs_hta_from_zero(const rs_run *run, int64_t ns)
{
    return (double)rs_sub_sat(ns, *(const int64_t *)run->context) / 1000;
}
