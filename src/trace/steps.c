/* Steps, as the host and as the GPU show them: ProfilerStep#N; without such, what a serving engine annotates;
 * without that, what repeats itself. */
#include <string.h>

#include "base/interval.h"
#include "base/order.h"
#include "base/search.h"
#include "base/try.h"
#include "trace/facet.h"
#include "trace/repeated_steps.h"
#include "trace/serving.h"
#include "trace/step_name.h"

/* Numbers of the step names by string id; *any says whether there are some. NULL when out of memory or none.
 */
static bool step_names(const rs_strings *strings, int64_t **out)
{
    *out = NULL;
    for (size_t i = 0; i < strings->n; i++) {
        int64_t number = rs_step_number(&strings->items[i]);
        if (number < 0) continue;
        if (!*out) {
            *out = rs_malloc(strings->n * sizeof **out);
            if (!*out) return false;
            memset(*out, 0xff, strings->n * sizeof **out);
        }
        (*out)[i] = number;
    }
    return true;
}

static bool order_steps(rs_step *steps, size_t n)
{
    if (n == 0) return true;
    RS_LOCAL rs_keyed *keys = rs_malloc(n * sizeof *keys);
    RS_LOCAL rs_step *sorted = rs_malloc(n * sizeof *sorted);
    bool ok = keys && sorted;
    for (size_t i = 0; ok && i < n; i++) keys[i] = (rs_keyed){rs_sub_sat(0, steps[i].end), (uint32_t)i};
    ok = ok && rs_keyed_sort(keys, n);
    for (size_t i = 0; ok && i < n; i++) keys[i].key = steps[keys[i].value].start;
    ok = ok && rs_keyed_sort(keys, n);
    if (ok) {
        int64_t reach = INT64_MIN;
        for (size_t i = 0; i < n; i++) {
            sorted[i] = steps[keys[i].value];
            if (sorted[i].end > reach) reach = sorted[i].end;
            sorted[i].reach = reach;
        }
        memcpy(steps, sorted, n * sizeof *steps);
    }
    return ok;
}

typedef struct step_list {
    rs_step *items;
    size_t n, capacity;
} step_list;

static bool collect(const rs_trace *trace, const int64_t *numbers, step_list *host, step_list *gpu)
{
    const rs_events *e = trace->events;
    for (size_t i = 0; i < trace->n_rows; i++) {
        uint32_t row = rs_trace_row(trace, i);
        if (numbers[e->name[row]] < 0 || !rs_event_is_span(e, row)) continue;
        rs_kind kind = rs_event_kind(e, row);
        bool on_host = kind == RS_KIND_USER_ANNOTATION || kind == RS_KIND_CPU_OP;
        if (!on_host && kind != RS_KIND_GPU_USER_ANNOTATION) continue;
        step_list *list = on_host ? host : gpu;
        if (!RS_APPEND(list, (rs_step){.number = numbers[e->name[row]],
                                       .row = row,
                                       .start = e->start[row],
                                       .end = rs_event_end(e, row),
                                       .pid = e->threads[e->thread[row]].pid}))
            return false;
    }
    return true;
}

typedef struct both_steps {
    step_list host, gpu;
    rs_step_source source;
    bool shared; /* the lists are those of the annotated steps */
} both_steps;

static void free_steps(void *value)
{
    both_steps *steps = value;
    if (!steps->shared) {
        rs_free_all(steps->host.items, steps->gpu.items);
    }
    rs_free(steps);
}

static rs_status make_annotated(rs_trace *trace, const void *key, void **out, rs_error *err)
{
    (void)key;
    RS_LOCAL int64_t *numbers = NULL;
    both_steps *made = rs_calloc(1, sizeof *made);
    bool ok = made && step_names(&trace->events->strings, &numbers);
    if (ok && numbers)
        ok = collect(trace, numbers, &made->host, &made->gpu) &&
             order_steps(made->host.items, made->host.n) && order_steps(made->gpu.items, made->gpu.n);
    if (!ok) {
        if (made) free_steps(made);
        return rs_fail_nomem(err, "steps");
    }
    if (made->host.n + made->gpu.n) made->source = RS_STEPS_ANNOTATED;
    *out = made;
    return RS_OK;
}

const rs_facet rs_facet_annotated_steps = {
    .name = "annotated steps", .make = make_annotated, .release = free_steps};

/* ---- what serving engines annotate -------------------------------------------------------------------- */

enum { NOT_SERVING, SERVING_PLAIN, SERVING_DETAILED };

/* By string id. Where some annotation is detailed, plain ones stand next to it for the same steps. */
static bool judge_serving(const rs_trace *trace, uint8_t **out)
{
    const rs_events *e = trace->events;
    uint8_t *is = rs_calloc(e->strings.n + 1, 1);
    if (!is) return false;
    for (size_t i = 0; i < e->strings.n; i++) {
        rs_serving_step step;
        if (rs_serving_parse(e->strings.items[i].text, e->strings.items[i].length, &step))
            is[i] = step.detailed || step.phase == RS_SERVING_DIFFUSION ? SERVING_DETAILED : SERVING_PLAIN;
    }
    *out = is;
    return true;
}

static bool collect_serving(const rs_trace *trace, const uint8_t *is, step_list *host, step_list *gpu)
{
    const rs_events *e = trace->events;
    bool ok = true;
    for (int tier = SERVING_DETAILED; ok && tier > NOT_SERVING && !host->n && !gpu->n; tier--)
        for (size_t i = 0; ok && i < trace->n_rows; i++) {
            uint32_t row = rs_trace_row(trace, i);
            if (is[e->name[row]] != tier || !rs_event_is_span(e, row)) continue;
            rs_kind kind = rs_event_kind(e, row);
            if (kind != RS_KIND_USER_ANNOTATION && kind != RS_KIND_GPU_USER_ANNOTATION) continue;
            step_list *list = kind == RS_KIND_USER_ANNOTATION ? host : gpu;
            ok = RS_APPEND(list, (rs_step){.row = row,
                                           .start = e->start[row],
                                           .end = rs_event_end(e, row),
                                           .pid = e->threads[e->thread[row]].pid});
        }
    return ok;
}

/* An annotation among those of its name (and, on the GPU, of its stream). Times tell the order; names are
 * numbered by first occurrence in the file, so that no order of ids shows. */
typedef struct named {
    uint32_t name, thread;
    size_t at; /* in the list of steps, which is sorted */
} named;

static const rs_order by_name[] = {RS_RISING(named, name), RS_RISING(named, thread), RS_RISING(named, at)};

static named *list_named(const rs_trace *trace, const step_list *list, bool threads)
{
    const rs_events *e = trace->events;
    named *items = rs_malloc((list->n + 1) * sizeof *items);
    for (size_t i = 0; items && i < list->n; i++)
        items[i] = (named){e->name[list->items[i].row], threads ? e->thread[list->items[i].row] : 0, i};
    if (items && list->n) RS_SORT(items, list->n, by_name);
    return items;
}

/* The host may be a step ahead of the GPU, so the GPU's k-th annotation of a name on a stream is the host's
 * k-th of that name. Those beyond the host's keep the number -1 and are dropped. */
static bool number_gpu(const rs_trace *trace, const step_list *host, step_list *gpu)
{
    RS_LOCAL named *a = list_named(trace, host, false), *b = list_named(trace, gpu, true);
    bool ok = a && b;
    size_t from = 0, k = 0, kept = 0;
    for (size_t i = 0; ok && i < gpu->n; i++) {
        bool first = i == 0 || b[i].name != b[i - 1].name;
        k = first || b[i].thread != b[i - 1].thread ? 0 : k + 1;
        while (first && from < host->n && a[from].name < b[i].name) from++;
        bool has = from + k < host->n && a[from + k].name == b[i].name;
        gpu->items[b[i].at].number = has ? host->items[a[from + k].at].number : -1;
    }
    for (size_t i = 0; ok && i < gpu->n; i++)
        if (gpu->items[i].number >= 0) gpu->items[kept++] = gpu->items[i];
    if (ok) gpu->n = kept;
    return ok;
}

static bool add_serving(const rs_trace *trace, both_steps *made)
{
    RS_LOCAL uint8_t *is = NULL;
    bool ok = judge_serving(trace, &is) && collect_serving(trace, is, &made->host, &made->gpu) &&
              order_steps(made->host.items, made->host.n) && order_steps(made->gpu.items, made->gpu.n);
    for (size_t i = 0; ok && i < made->host.n; i++) made->host.items[i].number = (int64_t)i;
    for (size_t i = 0; ok && made->host.n == 0 && i < made->gpu.n; i++)
        made->gpu.items[i].number = (int64_t)i;
    if (ok && made->host.n)
        ok = number_gpu(trace, &made->host, &made->gpu) && order_steps(made->gpu.items, made->gpu.n);
    if (ok && made->host.n + made->gpu.n) made->source = RS_STEPS_SERVING;
    return ok;
}

/* ---- where nothing is annotated ------------------------------------------------------------------------ */

static bool add(step_list *list, rs_step step)
{
    return RS_APPEND(list, step);
}

static const rs_order by_number[] = {RS_RISING_VALUE(int64_t)};

/* The processes that launch, or on whose rows the GPU's work stands: a step is one of each of them, since a
 * step is looked up by process. */
static bool list_pids(const rs_trace *trace, const rs_launch_order *o, bool gpu, int64_t **out, size_t *n)
{
    const rs_events *e = trace->events;
    RS_LOCAL uint8_t *seen = rs_calloc(e->n_threads + 1, 1);
    int64_t *pids = rs_malloc((e->n_threads + 1) * sizeof *pids);
    size_t found = 0, kept = 0;
    bool ok = seen && pids;
    for (size_t i = 0; ok && i < o->n; i++) {
        uint32_t row = gpu ? o->row[i] : o->launch[i];
        if (row == RS_NO_ROW || seen[e->thread[row]]) continue;
        seen[e->thread[row]] = 1;
        pids[found++] = e->threads[e->thread[row]].pid;
    }
    if (ok && found) RS_SORT(pids, found, by_number);
    for (size_t i = 0; ok && i < found; i++)
        if (i == 0 || pids[i] != pids[kept - 1]) pids[kept++] = pids[i];
    *out = pids;
    *n = kept;
    return ok;
}

static bool add_side(const rs_trace *trace, const rs_launch_order *o, const rs_repeated_steps *r, bool gpu,
                     step_list *out)
{
    int64_t *pids;
    size_t n;
    bool ok = list_pids(trace, o, gpu, &pids, &n);
    for (size_t i = 0; ok && i < r->found.n_steps; i++) {
        const rs_step_time *t = &r->when[i];
        if (!gpu && t->begin == RS_NO_TIME) continue;
        rs_step step = {.number = (int64_t)i,
                        .row = gpu ? t->row : t->launch,
                        .start = gpu ? t->gpu_begin : t->begin,
                        .end = gpu ? t->gpu_end : t->end};
        for (size_t k = 0; ok && k < n; k++) {
            step.pid = pids[k];
            ok = add(out, step);
        }
    }
    rs_free(pids);
    return ok && order_steps(out->items, out->n);
}

static rs_status add_repeated(rs_trace *trace, both_steps *made, rs_error *err)
{
    const rs_repeated_steps *repeated;
    const rs_launch_order *order;
    RS_TRY(rs_trace_repeated_steps(trace, &repeated, err));
    RS_TRY(rs_trace_launch_order(trace, &order, err));
    if (!repeated->found.n_steps) return RS_OK;
    made->source = RS_STEPS_REPETITION;
    bool ok = add_side(trace, order, repeated, false, &made->host) &&
              add_side(trace, order, repeated, true, &made->gpu);
    return ok ? RS_OK : rs_fail_nomem(err, "steps");
}

static rs_status make_steps(rs_trace *trace, const void *key, void **out, rs_error *err)
{
    (void)key;
    const both_steps *annotated;
    void *value;
    RS_TRY(rs_trace_facet(trace, &rs_facet_annotated_steps, NULL, &value, err));
    annotated = value;
    both_steps *made = rs_calloc(1, sizeof *made);
    if (!made) return rs_fail_nomem(err, "steps");
    rs_status status = RS_OK;
    if (annotated->source == RS_STEPS_NONE) {
        if (!add_serving(trace, made)) status = rs_fail_nomem(err, "steps");
        if (status == RS_OK && made->source == RS_STEPS_NONE) status = add_repeated(trace, made, err);
    } else {
        *made = *annotated;
        made->shared = true;
    }
    if (status == RS_OK)
        *out = made;
    else
        free_steps(made);
    return status;
}

const rs_facet rs_facet_steps = {.name = "steps",
                                 .needs = {&rs_facet_annotated_steps, &rs_facet_repeated_steps},
                                 .make = make_steps,
                                 .release = free_steps};

/* ---- by name ------------------------------------------------------------------------------------------- */

static rs_status get(rs_trace *trace, const rs_facet *facet, const both_steps **out, rs_error *err)
{
    void *value;
    rs_status status = rs_trace_facet(trace, facet, NULL, &value, err);
    *out = status == RS_OK ? value : NULL;
    return status;
}

rs_status rs_trace_steps(rs_trace *trace, const rs_step **out, size_t *n, rs_error *err)
{
    const both_steps *steps;
    rs_status status = get(trace, &rs_facet_steps, &steps, err);
    *out = steps ? steps->host.items : NULL;
    *n = steps ? steps->host.n : 0;
    return status;
}

rs_status rs_trace_gpu_steps(rs_trace *trace, const rs_step **out, size_t *n, rs_error *err)
{
    const both_steps *steps;
    rs_status status = get(trace, &rs_facet_steps, &steps, err);
    *out = steps ? steps->gpu.items : NULL;
    *n = steps ? steps->gpu.n : 0;
    return status;
}

rs_status rs_trace_annotated_steps(rs_trace *trace, const rs_step **out, size_t *n, rs_error *err)
{
    const both_steps *steps;
    rs_status status = get(trace, &rs_facet_annotated_steps, &steps, err);
    *out = steps ? steps->host.items : NULL;
    *n = steps ? steps->host.n : 0;
    return status;
}

rs_status rs_trace_step_source(rs_trace *trace, rs_step_source *out, rs_error *err)
{
    const both_steps *steps;
    rs_status status = get(trace, &rs_facet_steps, &steps, err);
    *out = steps ? steps->source : RS_STEPS_NONE;
    return status;
}

int64_t rs_trace_step_at(const rs_step *steps, size_t n, int64_t pid, int64_t ns)
{
    size_t low; /* the first step that starts after ns */
    RS_SEARCH(low, n, steps[low].start <= ns);
    /* the innermost one that holds ns is the last to have started, the shorter where two start together */
    while (low > 0 && steps[low - 1].reach > ns) {
        const rs_step *s = &steps[--low];
        if (s->end > ns && s->pid == pid) return s->number;
    }
    return -1;
}
