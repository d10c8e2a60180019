#include <string.h>

#include "analysis/steps.h"
#include "base/interval.h"
#include "base/memory.h"
#include "base/order.h"
#include "base/search.h"
#include "base/try.h"
#include "match/host_job.h"
#include "trace/data_loader.h"
#include "trace/selection.h"
#include "trace/serving.h"

void rs_steps_free(void *partial)
{
    rs_rank_steps *p = partial;
    if (!p) return;
    rs_free_all(p->items, p->serving, p);
}

static int64_t host_kind_time(const rs_host_view *h, rs_step_kind kind)
{
    switch (kind) {
    case RS_STEP_COMPUTATION: return h->operators;
    case RS_STEP_EXPOSED_COMM: return h->exposed_comm;
    case RS_STEP_DATA_LOADING: return h->exposed_loading;
    default: return 0; /* what is left is the host's, as where the GPU explains nothing */
    }
}

int64_t rs_step_kind_time(const rs_step_times *s, bool of_host, rs_step_kind kind)
{
    if (of_host) return host_kind_time(&s->host, kind);
    switch (kind) {
    case RS_STEP_COMPUTATION: return s->gpu.compute;
    case RS_STEP_EXPOSED_COMM: return s->gpu.exposed_comm;
    case RS_STEP_EXPOSED_COPIES: return s->gpu.exposed_memory;
    case RS_STEP_HOST_WAIT: return s->host_wait;
    case RS_STEP_OTHER_IDLE: return rs_sub_sat(s->gpu.idle, s->host_wait);
    default: return s->data_loading;
    }
}

/* ---- which steps there are ---------------------------------------------------------------------------- */

static const rs_order by_number[] = {RS_RISING(rs_step_times, number)};

static rs_step_times *find_step(const rs_rank_steps *p, int64_t number)
{
    size_t at;
    RS_SEARCH(at, p->n, p->items[at].number < number);
    return at < p->n && p->items[at].number == number ? &p->items[at] : NULL;
}

/* One entry a number: a step that several processes or threads show lasts from the first start to the last
 * end.
 */
static void unite_steps(rs_rank_steps *p)
{
    size_t kept = 0;
    RS_SORT(p->items, p->n, by_number);
    for (size_t i = 0; i < p->n; i++) {
        const rs_step_times *x = &p->items[i];
        rs_step_times *last = kept ? &p->items[kept - 1] : NULL;
        if (!last || last->number != x->number) {
            p->items[kept++] = *x;
            continue;
        }
        if (x->start == RS_NO_TIME) continue;
        if (last->start == RS_NO_TIME) {
            *last = *x;
            continue;
        }
        int64_t end = rs_add_sat(last->start, last->length), other = rs_add_sat(x->start, x->length);
        if (x->start < last->start) last->start = x->start;
        last->length = rs_sub_sat(other > end ? other : end, last->start);
    }
    p->n = kept;
}

static bool list_steps(const rs_step *host, size_t n_host, const rs_step *gpu, size_t n_gpu,
                       const rs_selector *selector, rs_rank_steps *p)
{
    p->items = rs_calloc(n_host + n_gpu + 1, sizeof *p->items);
    if (!p->items) return false;
    for (size_t i = 0; i < n_host; i++)
        if (rs_selects_step(selector, &host[i]))
            p->items[p->n++] = (rs_step_times){.number = host[i].number,
                                               .start = host[i].start,
                                               .length = rs_sub_sat(host[i].end, host[i].start)};
    for (size_t i = 0; i < n_gpu; i++)
        if (rs_selects_step(selector, &gpu[i]))
            p->items[p->n++] =
                (rs_step_times){.number = gpu[i].number, .start = RS_NO_TIME, .length = RS_NO_TIME};
    unite_steps(p);
    return true;
}

static bool list_serving(rs_trace *t, const rs_step *host, size_t n, const rs_selector *selector,
                         rs_rank_steps *p)
{
    p->serving = rs_calloc(n + 1, sizeof *p->serving);
    if (!p->serving) return false;
    for (size_t i = 0; i < n; i++) {
        const rs_string *name = &t->events->strings.items[t->events->name[host[i].row]];
        rs_serving_step s;
        if (!rs_selects_step(selector, &host[i]) || !rs_serving_parse(name->text, name->length, &s)) continue;
        p->serving[p->n_serving++] = (rs_step_serving){.number = host[i].number,
                                                       .phase = (uint8_t)s.phase,
                                                       .detailed = s.detailed,
                                                       .context_requests = s.context.requests,
                                                       .context_q = s.context.q,
                                                       .context_k = s.context.k,
                                                       .context_qq = s.context.qq,
                                                       .context_qk = s.context.qk,
                                                       .generation_requests = s.generation.requests,
                                                       .generation_q = s.generation.q,
                                                       .generation_k = s.generation.k,
                                                       .generation_qq = s.generation.qq,
                                                       .generation_qk = s.generation.qk};
    }
    return true;
}

/* ---- GPU work by step --------------------------------------------------------------------------------- */

/* Idle time between the work of one step that is the host's: until the next work was launched. */
static bool judge_gaps(const rs_trace *t, const rs_work *part, rs_step_times *step)
{
    RS_LOCAL rs_keyed *order = rs_malloc((part->n + 1) * sizeof *order);
    if (!order) return false;
    for (size_t i = 0; i < part->n; i++) order[i] = (rs_keyed){part->start[i], (uint32_t)i};
    bool ok = rs_keyed_sort(order, part->n);
    int64_t reach = 0;
    for (size_t i = 0; ok && i < part->n; i++) {
        uint32_t k = order[i].value;
        if (i > 0 && part->start[k] > reach && part->launch[k] != RS_NO_ROW) {
            int64_t gap = rs_sub_sat(part->start[k], reach);
            int64_t wait = rs_sub_sat(t->events->start[part->launch[k]], reach);
            step->host_wait = rs_add_sat(step->host_wait, wait < 0 ? 0 : wait > gap ? gap : wait);
        }
        if (i == 0 || part->end[k] > reach) reach = part->end[k];
    }
    return ok;
}

/* The work of all steps side by side, each step's in row order. */
typedef struct sorted_work {
    int64_t *start, *end;
    uint8_t *class;
    uint32_t *launch;
    size_t *first; /* by step; one more at the end */
} sorted_work;

static void clear_sorted(sorted_work *s)
{
    rs_free_all(s->start, s->end, s->class, s->launch, s->first);
}

static bool sort_work(const rs_work *w, rs_rank_steps *p, sorted_work *s)
{
    RS_LOCAL size_t *at = rs_calloc(p->n + 1, sizeof *at);
    RS_LOCAL uint32_t *step_of = rs_malloc((w->n + 1) * sizeof *step_of);
    *s = (sorted_work){.start = rs_malloc((w->n + 1) * sizeof *s->start),
                       .end = rs_malloc((w->n + 1) * sizeof *s->end),
                       .class = rs_malloc(w->n + 1),
                       .launch = rs_malloc((w->n + 1) * sizeof *s->launch),
                       .first = rs_calloc(p->n + 2, sizeof *s->first)};
    bool ok = at && step_of && s->start && s->end && s->class && s->launch && s->first;
    const rs_step_times *step = NULL;
    for (size_t i = 0; ok && i < w->n; i++) {
        if (w->step[i] < 0)
            step = NULL;
        else if (!step || step->number != w->step[i])
            step = find_step(p, w->step[i]);
        step_of[i] = step ? (uint32_t)(step - p->items) : UINT32_MAX;
        if (step)
            s->first[step_of[i] + 1]++;
        else
            p->n_outside++;
    }
    for (size_t i = 0; ok && i < p->n; i++) s->first[i + 1] += s->first[i];
    for (size_t i = 0; ok && i < p->n; i++) at[i] = s->first[i];
    for (size_t i = 0; ok && i < w->n; i++) {
        if (step_of[i] == UINT32_MAX) continue;
        size_t k = at[step_of[i]]++;
        s->start[k] = w->start[i];
        s->end[k] = w->end[i];
        s->class[k] = w->class[i];
        s->launch[k] = w->launch[i];
    }
    return ok;
}

static rs_status divide_work(const rs_trace *t, const rs_work *w, rs_rank_steps *p, rs_error *err)
{
    sorted_work s;
    rs_status status = sort_work(w, p, &s) ? RS_OK : rs_fail_nomem(err, "steps");
    for (size_t i = 0; status == RS_OK && i < p->n; i++) {
        size_t from = s.first[i];
        rs_work part = {.n = s.first[i + 1] - from,
                        .start = s.start + from,
                        .end = s.end + from,
                        .class = s.class + from,
                        .launch = s.launch + from};
        for (size_t k = 0; k < part.n; k++) {
            part.n_unlinked += part.launch[k] == RS_NO_ROW;
            part.n_class[part.class[k]]++;
        }
        status = rs_busy_of(&part, &p->items[i].gpu, err);
        if (status == RS_OK && !judge_gaps(t, &part, &p->items[i])) status = rs_fail_nomem(err, "steps");
    }
    clear_sorted(&s);
    return status;
}

/* ---- data loading ------------------------------------------------------------------------------------- */

/* The time of data loader calls, by the step they start in. */
static rs_status add_loading(rs_trace *t, const rs_step *steps, size_t n_steps, rs_rank_steps *p,
                             rs_error *err)
{
    const rs_events *e = t->events;
    const rs_data_loader *loads;
    RS_TRY(rs_trace_data_loader(t, &loads, err));
    for (size_t i = 0; i < loads->n; i++) {
        const rs_loader_call *c = &loads->calls[i];
        int64_t number =
            rs_trace_step_at(steps, n_steps, e->threads[e->thread[c->row]].pid, e->start[c->row]);
        rs_step_times *step = number < 0 ? NULL : find_step(p, number);
        if (step) step->data_loading = rs_add_sat(step->data_loading, rs_sub_sat(c->end, c->from));
    }
    return RS_OK;
}

/* ---- jobs without a GPU --------------------------------------------------------------------------------- */

/* A step that several threads show is one window, from its first start to its last end. */
static rs_status look_at_host(rs_trace *t, rs_rank_steps *p, rs_error *err)
{
    rs_host_view whole = {0}, *views = rs_calloc(p->n + 1, sizeof *views);
    RS_LOCAL rs_interval *windows = rs_malloc((p->n + 1) * sizeof *windows);
    rs_status status = views && windows ? RS_OK : rs_fail_nomem(err, "steps");
    for (size_t i = 0; status == RS_OK && i < p->n; i++) {
        const rs_step_times *s = &p->items[i];
        windows[i] = s->start == RS_NO_TIME ? (rs_interval){0}
                                            : (rs_interval){s->start, rs_add_sat(s->start, s->length)};
    }
    if (status == RS_OK) status = rs_host_view_of_windows(t, windows, p->n, &whole, views, err);
    p->of_host = status == RS_OK && rs_host_job_is(t, &whole);
    for (size_t i = 0; p->of_host && i < p->n; i++) p->items[i].host = views[i];
    rs_host_view_clear(&whole);
    rs_free(views);
    return status;
}

rs_status rs_steps_rank(const rs_run *run, rs_trace *t, void **partial, rs_error *err)
{
    const rs_work *work;
    const rs_step *host, *gpu;
    size_t n_host, n_gpu;
    rs_selector selector;
    rs_rank_steps *p = rs_calloc(1, sizeof *p);
    if (!p) return rs_fail_nomem(err, "steps");
    *partial = p;
    rs_status status = rs_trace_work_details(t, run->policy, &work, err);
    if (status == RS_OK) status = rs_trace_steps(t, &host, &n_host, err);
    if (status == RS_OK) status = rs_trace_gpu_steps(t, &gpu, &n_gpu, err);
    if (status == RS_OK) status = rs_trace_selector(t, &selector, err);
    if (status != RS_OK) return status;
    p->n_gpu = work->n;
    rs_step_source source = RS_STEPS_NONE;
    RS_TRY(rs_trace_step_source(t, &source, err));
    bool ok = source != RS_STEPS_SERVING || list_serving(t, host, n_host, &selector, p);
    if (!ok || !list_steps(host, n_host, gpu, n_gpu, &selector, p)) status = rs_fail_nomem(err, "steps");
    if (status == RS_OK) status = rs_steps_periods(t, run->policy, p, err);
    if (status == RS_OK) status = divide_work(t, work, p, err);
    if (status == RS_OK) status = add_loading(t, host, n_host, p, err);
    return status == RS_OK && !p->n_gpu ? look_at_host(t, p, err) : status;
}
