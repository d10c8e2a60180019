/* The GPU work of a rank as a policy selects, times and classifies it. */
#include <string.h>

#include "base/interval.h"
#include "base/try.h"
#include "trace/facet.h"
#include "trace/selection.h"

rs_policy rs_policy_of(rs_compat compat)
{
    for (const rs_policy *const *row = rs_policy_rows; *row; row++)
        if ((*row)->compat == compat) return **row;
    return (rs_policy){.compat = compat};
}

void rs_work_free(rs_work *work)
{
    if (!work) return;
    if (!work->shares_rows) {
        rs_free_all(work->start, work->end, work->class);
    }
    if (!work->shares_rows && !work->shares_lists) {
        rs_free_all(work->row, work->launch);
    }
    if (!work->shares_details) {
        rs_free_all(work->stream, work->device, work->correlation, work->step);
    }
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

static rs_status fill(rs_trace *trace, const rs_policy *policy, const rs_links *links,
                      const rs_selector *selector, rs_work *w, rs_error *err)
{
    const rs_events *e = trace->events;
    const rs_classes *classes;
    const uint32_t *rows;
    size_t n;
    RS_TRY(rs_trace_gpu_rows(trace, &rows, &n, err));
    RS_TRY(rs_trace_classes(trace, policy->classes, &classes, err));
    for (size_t i = 0; i < n; i++) {
        uint32_t row = rows[i], launch = links->launch_of[i];
        if (!rs_selects_work(selector, row, launch)) continue;
        w->n_unlinked += launch == RS_NO_ROW;
        if (policy->linked_only && launch == RS_NO_ROW) continue;
        rs_class class = rs_class_at(classes, row);
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

/* Where all of the rank's GPU work is counted, its rows and launches are lists that the trace has already. */
static rs_status share_lists(rs_trace *trace, const rs_links *links, rs_work *w, rs_error *err)
{
    const uint32_t *rows;
    size_t n;
    RS_TRY(rs_trace_gpu_rows(trace, &rows, &n, err));
    if (w->n != n) return RS_OK;
    rs_free_all(w->row, w->launch);
    w->row = (uint32_t *)(uintptr_t)rows; /* only read from here on */
    w->launch = links->launch_of;
    w->shares_lists = true;
    return RS_OK;
}

static rs_status from_categories(rs_trace *trace, const rs_policy *policy, rs_work **out, rs_error *err)
{
    const rs_links *links;
    rs_selector selector = {.e = trace->events};
    rs_status status = rs_trace_launches(trace, &links, err);
    if (status == RS_OK && !policy->whole) status = rs_trace_selector(trace, &selector, err);
    if (status != RS_OK) return status;
    rs_work *w = rs_work_create(links->n_work + links->n_unlinked);
    status = w ? fill(trace, policy, links, &selector, w, err) : rs_fail_nomem(err, "GPU work");
    if (status == RS_OK) status = share_lists(trace, links, w, err);
    if (status != RS_OK) {
        rs_work_free(w);
        return status;
    }
    *out = w;
    return RS_OK;
}

bool rs_policy_same(const void *x, const void *y)
{
    const rs_policy *a = x, *b = y;
    return a->compat == b->compat && a->work == b->work && a->classes == b->classes &&
           a->trim_steps == b->trim_steps && a->keep_last_step == b->keep_last_step &&
           a->round_to_us == b->round_to_us && a->linked_only == b->linked_only && a->whole == b->whole;
}

/* ---- as rows ------------------------------------------------------------------------------------------- */

#define WORK_ROW(CELL)                                                                                       \
    CELL(SET, "name", TEXT, NONE, "kernel, copy or memset", NULL)                                            \
    CELL(OF(rs_work_row, row), "row", INT, ID, "position among the rank's events", NULL)                     \
    CELL(OF(rs_work_row, launch), "launch", INT, ID, "position of the launching call", NULL)                 \
    CELL(WORD(rs_work_row, class, rs_class_names), "class", TEXT, NONE,                                      \
         "computation, communication or memory", NULL)                                                       \
    CELL(OF(rs_work_row, start), "start_us", MOMENT, US, "start", NULL)                                      \
    CELL(OF(rs_work_row, end), "end_us", MOMENT, US, "end", NULL)                                            \
    CELL(OF(rs_work_row, length), "length_us", TIME, US, "duration", NULL)                                   \
    CELL(ID(rs_work_row, device), "device", INT, ID, "device; only of the details", NULL)                    \
    CELL(ID(rs_work_row, stream), "stream", INT, ID, "stream; only of the details", NULL)                    \
    CELL(ID(rs_work_row, correlation), "correlation", INT, ID, "correlation id; only of the details", NULL)  \
    CELL(ID(rs_work_row, step), "step", INT, ID, "step; only of the details", NULL)
RS_RECORD(work, WORK_ROW);

static size_t read_rows(const rs_trace *trace, const void *value, size_t at, size_t n, void *rows)
{
    const rs_work *w = value;
    const rs_events *e = trace->events;
    rs_work_row *out = rows;
    if (n > w->n - at) n = w->n - at;
    for (size_t i = at; i < at + n; i++) {
        *out++ = (rs_work_row){.name = e->name[w->row[i]],
                               .row = w->row[i],
                               .launch = w->launch[i],
                               .class = w->class[i],
                               .start = w->start[i],
                               .end = w->end[i],
                               .length = rs_sub_sat(w->end[i], w->start[i]),
                               .device = w->has_details ? w->device[i] : -1,
                               .stream = w->has_details ? w->stream[i] : -1,
                               .correlation = w->has_details ? w->correlation[i] : -1,
                               .step = w->has_details ? w->step[i] : -1};
    }
    return n;
}

static const rs_facet_rows work_rows = {&work_record, sizeof(rs_work_row), read_rows};

static void free_work(void *value)
{
    rs_work_free(value);
}

static rs_status make_work(rs_trace *trace, const void *key, void **out, rs_error *err)
{
    const rs_policy *policy = key;
    rs_work *w = NULL;
    RS_TRY((policy->work ? policy->work : from_categories)(trace, policy, &w, err));
    *out = w;
    return RS_OK;
}

const rs_facet rs_facet_work = {.name = "GPU work",
                                .needs = {&rs_facet_launches, &rs_facet_steps, &rs_facet_classes},
                                .key_size = sizeof(rs_policy),
                                .same = rs_policy_same,
                                .selected = true,
                                .make = make_work,
                                .release = free_work,
                                .rows = &work_rows};

/* ---- its details --------------------------------------------------------------------------------------- */

/* A GPU event belongs to its launch's step; without a launch, to the GPU's own annotation of one. The rows
 * are in file order here, so the columns are walked once. */
static rs_status add_details(rs_trace *trace, rs_work *w, rs_error *err)
{
    const rs_events *e = trace->events;
    const rs_step *steps, *gpu_steps;
    size_t n_steps, n_gpu_steps;
    RS_TRY(rs_trace_steps(trace, &steps, &n_steps, err));
    RS_TRY(rs_trace_gpu_steps(trace, &gpu_steps, &n_gpu_steps, err));
    if (!rs_work_reserve_details(w, w->n)) return rs_fail_nomem(err, "GPU work");
    rs_cursor stream = rs_cursor_of(e, RS_COL_STREAM), device = rs_cursor_of(e, RS_COL_DEVICE),
              correlation = rs_cursor_of(e, RS_COL_CORRELATION);
    for (size_t i = 0; i < w->n; i++) {
        uint32_t launch = w->launch[i], from = launch == RS_NO_ROW ? w->row[i] : launch;
        int64_t pid = e->threads[e->thread[from]].pid;
        w->stream[i] = rs_cursor_int(&stream, w->row[i], -1);
        w->device[i] = rs_cursor_int(&device, w->row[i], -1);
        w->correlation[i] = rs_cursor_int(&correlation, w->row[i], -1);
        w->step[i] = launch == RS_NO_ROW ? rs_trace_step_at(gpu_steps, n_gpu_steps, pid, e->start[from])
                                         : rs_trace_step_at(steps, n_steps, pid, e->start[from]);
    }
    w->has_details = true;
    return RS_OK;
}

static rs_status make_details(rs_trace *trace, const void *key, void **out, rs_error *err)
{
    const rs_work *rows;
    RS_TRY(rs_trace_work(trace, key, &rows, err));
    rs_work *w = rs_malloc(sizeof *w);
    if (!w) return rs_fail_nomem(err, "GPU work");
    *w = *rows;
    w->shares_rows = true;
    w->shares_details = rows->has_details;
    rs_status status = rows->has_details ? RS_OK : add_details(trace, w, err);
    if (status == RS_OK)
        *out = w;
    else
        rs_work_free(w);
    return status;
}

const rs_facet rs_facet_work_details = {.name = "details of GPU work",
                                        .columns = RS_COLUMN_BIT(STREAM) | RS_COLUMN_BIT(DEVICE),
                                        .needs = {&rs_facet_work},
                                        .key_size = sizeof(rs_policy),
                                        .same = rs_policy_same,
                                        .selected = true,
                                        .make = make_details,
                                        .release = free_work,
                                        .rows = &work_rows};

/* ---- its order ----------------------------------------------------------------------------------------- */

static rs_status make_order(rs_trace *trace, const void *key, void **out, rs_error *err)
{
    const rs_work *w;
    RS_TRY(rs_trace_work(trace, key, &w, err));
    RS_LOCAL rs_keyed *order = rs_malloc(w->n * sizeof *order);
    uint32_t *by_start = rs_malloc(w->n * sizeof *by_start);
    bool ok = order && by_start;
    for (size_t i = 0; ok && i < w->n; i++) order[i] = (rs_keyed){w->start[i], (uint32_t)i};
    ok = ok && rs_keyed_sort(order, w->n);
    for (size_t i = 0; ok && i < w->n; i++) by_start[i] = order[i].value;
    if (!ok) {
        rs_free(by_start);
        return rs_fail_nomem(err, "GPU work");
    }
    *out = by_start;
    return RS_OK;
}

static void free_order(void *value)
{
    rs_free(value);
}

const rs_facet rs_facet_work_by_start = {.name = "GPU work by start",
                                         .needs = {&rs_facet_work},
                                         .key_size = sizeof(rs_policy),
                                         .same = rs_policy_same,
                                         .selected = true,
                                         .make = make_order,
                                         .release = free_order};

/* ---- by name ------------------------------------------------------------------------------------------- */

rs_status rs_trace_work(rs_trace *trace, const rs_policy *policy, const rs_work **out, rs_error *err)
{
    return rs_trace_facet(trace, &rs_facet_work, policy, out, err);
}

rs_status rs_trace_work_details(rs_trace *trace, const rs_policy *policy, const rs_work **out, rs_error *err)
{
    return rs_trace_facet(trace, &rs_facet_work_details, policy, out, err);
}

rs_status rs_trace_work_by_start(rs_trace *trace, const rs_policy *policy, const uint32_t **out,
                                 rs_error *err)
{
    return rs_trace_facet(trace, &rs_facet_work_by_start, policy, out, err);
}
