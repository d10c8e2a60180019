#include "analysis/summary.h"

#include <string.h>

#include "base/interval.h"
#include "base/memory.h"
#include "base/order.h"
#include "base/search.h"
#include "base/try.h"
#include "match/host_job.h"
#include "trace/host_gaps.h"
#include "trace/busy.h"
#include "trace/launch_ops.h"
#include "trace/recordings.h"
#include "trace/data_loader.h"
#include "trace/role_names.h"
#include "trace/selection.h"

/* Names beyond this many are added up under "(others)": a partial stays small. */
#define MAX_NAMES 200

void rs_summary_free(void *partial)
{
    rs_rank_summary *s = partial;
    for (size_t i = 0; i < s->n_kernels; i++) rs_free(s->kernels[i].name);
    for (size_t i = 0; i < s->n_operators; i++) rs_free(s->operators[i].name);
    rs_free_all(s->kernels, s->operators, s);
}

/* ---- totals by name --------------------------------------------------------------------------------- */

typedef struct total {
    int64_t time, count;
    uint32_t name;
    uint8_t class;
} total;

static const rs_order by_time[] = {RS_FALLING(total, time), RS_FALLING(total, count)};

/* The names of totals[0..n) by time, equal ones by text; beyond MAX_NAMES they are added up. */
static rs_status keep_names(const rs_events *e, total *totals, size_t n, rs_name_total **out, size_t *n_out,
                            rs_error *err)
{
    size_t used = 0;
    for (size_t i = 0; i < n; i++)
        if (totals[i].count) totals[used++] = totals[i];
    RS_SORT(totals, used, by_time);
    for (size_t i = 1; i < used; i++) {
        /* string ids carry no order: ties are settled by the text */
        total x = totals[i];
        size_t k = i;
        for (; k > 0 && RS_COMPARE(by_time, &totals[k - 1], &x) == 0 &&
               strcmp(e->strings.items[totals[k - 1].name].text, e->strings.items[x.name].text) > 0;
             k--)
            totals[k] = totals[k - 1];
        totals[k] = x;
    }
    size_t keep = used < MAX_NAMES ? used : MAX_NAMES;
    rs_name_total *names = rs_calloc(keep + 1, sizeof *names);
    if (!names) return rs_fail_nomem(err, "summary");
    *out = names;
    for (size_t i = 0; i < keep; i++) {
        const rs_string *s = &e->strings.items[totals[i].name];
        names[i] = (rs_name_total){.name = rs_strndup(s->text, s->length),
                                   .class = totals[i].class,
                                   .count = totals[i].count,
                                   .time = totals[i].time};
        if (!names[i].name) return rs_fail_nomem(err, "summary");
        *n_out = i + 1;
    }
    if (used == keep) return RS_OK;
    rs_name_total others = {.name = rs_strdup("(others)"), .class = RS_CLASS_OTHER};
    if (!others.name) return rs_fail_nomem(err, "summary");
    for (size_t i = keep; i < used; i++) {
        others.count += totals[i].count;
        others.time += totals[i].time;
    }
    names[keep] = others;
    *n_out = keep + 1;
    return RS_OK;
}

static void add_to(total *totals, uint32_t name, uint8_t class, int64_t time)
{
    totals[name].name = name;
    totals[name].class = class;
    totals[name].count++;
    totals[name].time = rs_add_sat(totals[name].time, time);
}

/* The index of a launching row; neighbours in the file tend to be neighbours here. */
static size_t call_at(const rs_links *links, uint32_t row, size_t guess)
{
    for (size_t i = guess; i < guess + 2 && i < links->n_calls; i++)
        if (links->call[i] == row) return i;
    size_t low;
    RS_SEARCH(low, links->n_calls, links->call[low] < row);
    return low;
}

/* The operator that each GPU event is charged to: the innermost around its launch, else the launching call.
 */
static rs_status total_names(rs_trace *t, const rs_work *w, const rs_links *links, rs_rank_summary *s,
                             rs_error *err)
{
    const rs_events *e = t->events;
    uint32_t *op_of_call = NULL;
    RS_LOCAL total *kernels = rs_calloc(e->strings.n, sizeof *kernels),
                   *operators = rs_calloc(e->strings.n, sizeof *operators);
    rs_status status = RS_OK;
    if (!kernels || !operators) status = rs_fail_nomem(err, "summary");
    if (status == RS_OK) status = rs_launch_ops(t, links, &op_of_call, err);
    if (status == RS_OK) {
        for (size_t i = 0; i < w->n; i++)
            add_to(kernels, e->name[w->row[i]], w->class[i], w -> end[i] - w -> start[i]);
        size_t call = 0;
        for (size_t i = 0; i < w->n; i++) {
            if (w->launch[i] == RS_NO_ROW) continue;
            call = call_at(links, w->launch[i], call);
            uint32_t op = op_of_call[call] == RS_NO_ROW ? links->call[call] : op_of_call[call];
            add_to(operators, e->name[op], RS_CLASS_OTHER, w->end[i] - w->start[i]);
        }
        status = keep_names(e, kernels, e->strings.n, &s->kernels, &s->n_kernels, err);
    }
    if (status == RS_OK) status = keep_names(e, operators, e->strings.n, &s->operators, &s->n_operators, err);
    rs_free(op_of_call);
    return status;
}

/* ---- where the time goes ---------------------------------------------------------------------------- */

/* How much of [from, to) the host was elsewhere; both ascend from call to call. */
static int64_t elsewhere_in(const rs_host_gaps *gaps, int64_t from, int64_t to, size_t *at)
{
    int64_t ns = 0;
    while (*at < gaps->n_gaps && gaps->gaps[*at].end <= from) ++*at;
    for (size_t i = *at; i < gaps->n_gaps && gaps->gaps[i].start < to; i++) {
        int64_t begin = gaps->gaps[i].start > from ? gaps->gaps[i].start : from;
        ns = rs_add_sat(ns, (gaps->gaps[i].end < to ? gaps->gaps[i].end : to) - begin);
    }
    return ns;
}

/* Idle gaps are the host's as long as the work that ends them had not been launched. */
static void judge_gaps(const rs_trace *t, const rs_work *w, const uint32_t *order, const rs_host_gaps *gaps,
                       rs_rank_summary *s, int64_t first)
{
    size_t at = 0;
    const rs_events *e = t->events;
    int64_t reach = 0;
    size_t recording = 0;
    for (size_t i = 0; i < w->n; i++) {
        uint32_t k = order[i];
        size_t before = recording;
        recording = rs_trace_recording_of(t, w->row[k]);
        if (i > 0 && w->start[k] > reach && recording == before) {
            int64_t gap = w->start[k] - reach;
            if (gap > s->longest_gap) {
                s->longest_gap = gap;
                s->longest_gap_at = rs_sub_sat(reach, first);
            }
            if (w->launch[k] != RS_NO_ROW) {
                int64_t wait = rs_sub_sat(e->start[w->launch[k]], reach);
                wait = wait < 0 ? 0 : wait > gap ? gap : wait;
                s->host_wait += wait;
                s->elsewhere += elsewhere_in(gaps, reach, reach + wait, &at);
                s->latency += gap - wait;
            }
        }
        if (i == 0 || w->end[k] > reach) reach = w->end[k];
    }
    s->launch_bound = s->host_wait - s->elsewhere;
}

static rs_status divide_time(const rs_run *run, rs_trace *t, const rs_work *w, rs_rank_summary *s,
                             int64_t first, rs_error *err)
{
    const rs_busy *busy;
    const uint32_t *order;
    const rs_host_gaps *gaps;
    RS_TRY(rs_trace_host_gaps(t, run->policy, &gaps, err));
    RS_TRY(rs_trace_busy(t, run->policy, &busy, err));
    RS_TRY(rs_trace_work_by_start(t, run->policy, &order, err));
    s->gpu_span = busy->span;
    s->computation = busy->compute;
    s->communication = busy->comm;
    s->exposed_comm = busy->exposed_comm;
    s->exposed_copies = busy->exposed_memory;
    s->idle = busy->idle;
    judge_gaps(t, w, order, gaps, s, first);
    return RS_OK;
}

static void average_launches(const rs_selector *selector, const rs_work *w, const rs_links *links,
                             rs_rank_summary *s)
{
    const rs_events *e = selector->e;
    int64_t kernels = 0, n = 0, calls = 0, n_calls = 0;
    for (size_t i = 0; i < w->n; i++) {
        s->gpu_sum = rs_add_sat(s->gpu_sum, w->end[i] - w->start[i]);
        if (w->launch[i] == RS_NO_ROW) {
            s->unlinked_time = rs_add_sat(s->unlinked_time, w->end[i] - w->start[i]);
            continue;
        }
        kernels = rs_add_sat(kernels, w->end[i] - w->start[i]);
        n++;
    }
    for (size_t c = 0; c < links->n_calls; c++) {
        if (!rs_selects_row(selector, links->call[c])) continue;
        n_calls++;
        if (e->duration[links->call[c]] > 0) calls = rs_add_sat(calls, e->duration[links->call[c]]);
    }
    s->mean_kernel = n ? kernels / n : -1;
    s->mean_launch = n_calls ? calls / n_calls : -1;
}

static size_t count_selected_calls(const rs_trace *t, const rs_selector *selector)
{
    size_t n = 0;
    for (size_t i = 0; i < t->n_rows; i++) {
        uint32_t row = rs_trace_row(t, i);
        n += rs_kind_is_call(rs_event_kind(t->events, row)) && rs_selects_row(selector, row);
    }
    return n;
}

static rs_status count_host(rs_trace *t, const rs_selector *selector, const rs_data_loader *loads,
                            rs_rank_summary *s, rs_error *err)
{
    RS_TRY(rs_trace_n_calls(t, &s->n_host, err));
    if (selector->selection) s->n_host = count_selected_calls(t, selector);
    for (size_t i = 0; i < loads->n; i++)
        if (rs_selects_row(selector, loads->calls[i].row))
            s->data_loading =
                rs_add_sat(s->data_loading, rs_sub_sat(loads->calls[i].end, loads->calls[i].from));
    return RS_OK;
}

rs_status rs_summary_rank(const rs_run *run, rs_trace *t, void **partial, rs_error *err)
{
    rs_rank_summary *s = rs_calloc(1, sizeof *s);
    if (!s) return rs_fail_nomem(err, "summary");
    *partial = s;
    const rs_work *work;
    const rs_links *links;
    const rs_step *steps;
    rs_selector selector;
    size_t n_steps = 0;
    int64_t origin, first, last, sum = 0;
    rs_host_job host;
    const rs_data_loader *loads;
    rs_job_role role = RS_ROLE_NONE;
    bool annotated;
    rs_status status = rs_trace_span(t, &origin, &last, err);
    if (status == RS_OK) status = rs_trace_job_role(t, &role, &annotated, err);
    if (status == RS_OK) status = rs_trace_host_job(t, &host, err);
    if (status == RS_OK) status = rs_trace_selected_span(t, &first, &last, err);
    if (status == RS_OK) status = rs_trace_selector(t, &selector, err);
    if (status == RS_OK) status = rs_trace_work(t, run->policy, &work, err);
    if (status == RS_OK) status = rs_trace_links(t, &links, err);
    if (status == RS_OK) status = rs_trace_data_loader(t, &loads, err);
    if (status == RS_OK) status = rs_trace_steps(t, &steps, &n_steps, err);
    if (status != RS_OK) return status;
    if (first != RS_NO_TIME)
        s->span = rs_sub_sat(rs_sub_sat(last, first), rs_trace_unrecorded(t, first, last));
    for (size_t i = 0; i < n_steps; i++) {
        if (!rs_selects_step(&selector, &steps[i])) continue;
        sum = rs_add_sat(sum, rs_sub_sat(steps[i].end, steps[i].start));
        s->n_steps++;
    }
    s->mean_step = s->n_steps ? sum / (int64_t)s->n_steps : -1;
    s->role = (uint8_t)role;
    s->on_host = host.on_host;
    s->communicates = host.communication > 0;
    s->host_waiting = host.waiting;
    s->n_gpu = work->n;
    s->n_unlinked = work->n_unlinked;
    status = count_host(t, &selector, loads, s, err);
    average_launches(&selector, work, links, s);
    if (status == RS_OK) status = divide_time(run, t, work, s, origin, err);
    if (status == RS_OK) status = total_names(t, work, links, s, err);
    return status;
}
