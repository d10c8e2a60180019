/* Training steps: ProfilerStep#N, as the host and as the GPU show them. */
#include <string.h>

#include "base/interval.h"
#include "base/ranges.h"
#include "base/try.h"
#include "trace/facet.h"
#include "trace/trace_internal.h"

#define STEP_PREFIX "ProfilerStep#"

/* The number behind the prefix, or -1. */
static int64_t step_number(const rs_string *name)
{
    size_t prefix = sizeof STEP_PREFIX - 1;
    int64_t number;
    const char *end;
    if (name->length <= prefix || memcmp(name->text, STEP_PREFIX, prefix) != 0) return -1;
    return rs_parse_whole(name->text + prefix, &number, &end) ? number : -1;
}

/* Numbers of the step names by string id; *any tells whether there are some. NULL when out of memory or none.
 */
static bool step_names(const rs_strings *strings, int64_t **out)
{
    *out = NULL;
    for (size_t i = 0; i < strings->n; i++) {
        int64_t number = step_number(&strings->items[i]);
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
    rs_keyed *keys = rs_malloc(n * sizeof *keys);
    rs_step *sorted = rs_malloc(n * sizeof *sorted);
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
    rs_free(keys);
    rs_free(sorted);
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
        if (!RS_GROW_ONE(list->items, list->n, list->capacity)) return false;
        list->items[list->n++] = (rs_step){.number = numbers[e->name[row]],
                                           .row = row,
                                           .start = e->start[row],
                                           .end = rs_event_end(e, row),
                                           .pid = e->threads[e->thread[row]].pid};
    }
    return true;
}

typedef struct both_steps {
    step_list host, gpu;
} both_steps;

static void free_steps(void *value)
{
    both_steps *steps = value;
    rs_free(steps->host.items);
    rs_free(steps->gpu.items);
    rs_free(steps);
}

static rs_status make_steps(rs_trace *trace, const void *key, void **out, rs_error *err)
{
    (void)key;
    int64_t *numbers = NULL;
    both_steps *made = rs_calloc(1, sizeof *made);
    bool ok = made && step_names(&trace->events->strings, &numbers);
    if (ok && numbers)
        ok = collect(trace, numbers, &made->host, &made->gpu) &&
             order_steps(made->host.items, made->host.n) && order_steps(made->gpu.items, made->gpu.n);
    rs_free(numbers);
    if (!ok) {
        if (made) free_steps(made);
        return rs_fail_nomem(err, "steps");
    }
    *out = made;
    return RS_OK;
}

const rs_facet rs_facet_steps = {.name = "steps", .make = make_steps, .release = free_steps};

rs_status rs_trace_steps(rs_trace *trace, const rs_step **out, size_t *n, rs_error *err)
{
    void *value;
    rs_status status = rs_trace_facet(trace, &rs_facet_steps, NULL, &value, err);
    *out = status == RS_OK ? ((const both_steps *)value)->host.items : NULL;
    *n = status == RS_OK ? ((const both_steps *)value)->host.n : 0;
    return status;
}

rs_status rs_trace_gpu_steps(rs_trace *trace, const rs_step **out, size_t *n, rs_error *err)
{
    void *value;
    rs_status status = rs_trace_facet(trace, &rs_facet_steps, NULL, &value, err);
    *out = status == RS_OK ? ((const both_steps *)value)->gpu.items : NULL;
    *n = status == RS_OK ? ((const both_steps *)value)->gpu.n : 0;
    return status;
}

int64_t rs_trace_step_at(const rs_step *steps, size_t n, int64_t pid, int64_t ns)
{
    size_t low = 0, high = n; /* the first step that starts after ns */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (steps[middle].start <= ns)
            low = middle + 1;
        else
            high = middle;
    }
    /* the innermost one that holds ns is the last to have started, the shorter where two start together */
    while (low > 0 && steps[low - 1].reach > ns) {
        const rs_step *s = &steps[--low];
        if (s->end > ns && s->pid == pid) return s->number;
    }
    return -1;
}
