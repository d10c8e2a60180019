#include "trace/repeated_steps.h"

#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/interval.h"
#include "base/memory.h"
#include "base/try.h"
#include "trace/facet.h"

/* ---- names --------------------------------------------------------------------------------------------- */

enum {
    NAME_LOADER = 1,
    NAME_OPTIMIZER = 2,
    NAME_SYNC = 4,
    NAME_CLEAR = 8,
    NAME_TO_HOST = 16,
    NAME_TO_DEVICE = 32,
    NAME_AUTOGRAD = 64
};

static bool has(const rs_string *name, const char *part)
{
    return strstr(name->text, part) != NULL;
}

static bool begins(const rs_string *name, const char *part)
{
    size_t n = strlen(part);
    return name->length >= n && memcmp(name->text, part, n) == 0;
}

/* Kernels that optimizers launch: PyTorch's fused and foreach ones, apex', bitsandbytes', DeepSpeed's. The
 * norm of gradients goes through the same kernel and is none of the optimizer's; embeddings that are updated
 * within backward are no end of anything. */
static bool is_optimizer_kernel(const rs_string *name)
{
    static const char *const parts[] = {
        "FusedOptimizer", "multi_tensor_apply", "adam", "Adam", "adagrad", "Adagrad", "Lamb", "kOptimizer"};
    if (has(name, "LpNorm") || has(name, "embedding_backward")) return false;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (has(name, parts[i])) return true;
    return false;
}

static bool is_optimizer_op(const rs_string *name)
{
    return begins(name, "Optimizer.step#") || begins(name, "aten::_fused_adam") ||
           begins(name, "aten::_fused_sgd") || begins(name, "aten::_fused_adagrad");
}

static uint8_t judge_name(const rs_string *name)
{
    uint8_t is = 0;
    if (begins(name, "enumerate(DataLoader)") || (has(name, "dataloader.py") && has(name, "__next__")))
        is |= NAME_LOADER;
    if (is_optimizer_op(name) || is_optimizer_kernel(name)) is |= NAME_OPTIMIZER;
    if (begins(name, "autograd::engine::evaluate_function")) is |= NAME_AUTOGRAD;
    if (has(name, "Synchronize")) is |= NAME_SYNC;
    if (begins(name, "Memset") || has(name, "FillFunctor")) is |= NAME_CLEAR;
    if (begins(name, "Memcpy DtoH") || has(name, "DeviceToHost") || has(name, "DEVICE_TO_HOST"))
        is |= NAME_TO_HOST;
    if (begins(name, "Memcpy HtoD") || has(name, "HostToDevice") || has(name, "HOST_TO_DEVICE"))
        is |= NAME_TO_DEVICE;
    return is;
}

static uint8_t *judge_names(const rs_strings *strings)
{
    uint8_t *is = rs_malloc(strings->n + 1);
    for (size_t i = 0; is && i < strings->n; i++) is[i] = judge_name(&strings->items[i]);
    return is;
}

/* ---- the sequence -------------------------------------------------------------------------------------- */

/* Host spans of one kind, by start. */
typedef struct span_list {
    rs_interval *items;
    size_t n, capacity;
} span_list;

static bool add_span(span_list *list, const rs_events *e, uint32_t row)
{
    if (!RS_GROW_ONE(list->items, list->n, list->capacity)) return false;
    list->items[list->n++] = (rs_interval){e->start[row], rs_event_end(e, row)};
    return true;
}

typedef struct host_spans {
    span_list loader, optimizer, sync;
} host_spans;

static bool collect_spans(const rs_trace *trace, const uint8_t *is, host_spans *out, uint8_t *autograd)
{
    const rs_events *e = trace->events;
    bool ok = true;
    for (size_t i = 0; ok && i < trace->n_rows; i++) {
        uint32_t row = rs_trace_row(trace, i);
        uint8_t name = is[e->name[row]];
        if (name & NAME_AUTOGRAD && rs_event_kind(e, row) == RS_KIND_CPU_OP) autograd[e->thread[row]] = 1;
        if (!(name & (NAME_LOADER | NAME_OPTIMIZER | NAME_SYNC)) || !rs_event_is_span(e, row)) continue;
        rs_kind kind = rs_event_kind(e, row);
        bool host =
            kind == RS_KIND_CPU_OP || kind == RS_KIND_USER_ANNOTATION || kind == RS_KIND_PYTHON_FUNCTION;
        if (rs_kind_is_call(kind)) {
            if (name & NAME_SYNC) ok = add_span(&out->sync, e, row);
        } else if (host) {
            if (name & NAME_LOADER) ok = add_span(&out->loader, e, row);
            if (ok && name & NAME_OPTIMIZER) ok = add_span(&out->optimizer, e, row);
        }
    }
    return ok && rs_intervals_sort(out->loader.items, out->loader.n) &&
           rs_intervals_sort(out->optimizer.items, out->optimizer.n) &&
           rs_intervals_sort(out->sync.items, out->sync.n);
}

static void clear_spans(host_spans *s)
{
    rs_free(s->loader.items);
    rs_free(s->optimizer.items);
    rs_free(s->sync.items);
}

typedef struct builder {
    const rs_trace *trace;
    const rs_launch_order *order;
    uint32_t *token;
    uint8_t *mark;
    int64_t *gap;
    int64_t *loader; /* start of the loader's call before the work, RS_NO_TIME: none */
    int64_t *reach;  /* end of the launches before the work, RS_NO_TIME: none */
    size_t n_tokens;
} builder;

static bool number_tokens(builder *b)
{
    const rs_events *e = b->trace->events;
    uint32_t *of_name = rs_malloc((e->strings.n + 1) * sizeof *of_name);
    if (!of_name) return false;
    memset(of_name, 0xff, e->strings.n * sizeof *of_name);
    for (size_t i = 0; i < b->order->n; i++) {
        uint32_t *token = &of_name[e->name[b->order->row[i]]];
        if (*token == UINT32_MAX) *token = (uint32_t)b->n_tokens++;
        b->token[i] = *token;
    }
    rs_free(of_name);
    return true;
}

static uint8_t mark_of_work(const rs_events *e, const uint8_t *is, uint32_t row)
{
    uint8_t name = is[e->name[row]], mark = 0;
    rs_kind kind = rs_event_kind(e, row);
    if (name & NAME_OPTIMIZER) mark |= RS_MARK_OPTIMIZER;
    if (kind == RS_KIND_MEMSET || name & NAME_CLEAR) mark |= RS_MARK_CLEAR;
    if (kind == RS_KIND_MEMCPY && name & NAME_TO_HOST) mark |= RS_MARK_TO_HOST;
    if (kind == RS_KIND_MEMCPY && name & NAME_TO_DEVICE) mark |= RS_MARK_TO_DEVICE;
    return mark;
}

/* Walks launches and host spans in time together. Without launches only the works themselves are known, and
 * the pause before a work is the GPU's. */
static void mark_works(builder *b, const uint8_t *is, const host_spans *spans, const uint8_t *autograd)
{
    const rs_events *e = b->trace->events;
    const rs_launch_order *o = b->order;
    size_t loader = 0, optimizer = 0, sync = 0;
    int64_t reach = RS_NO_TIME, busy_optimizer = INT64_MIN;
    for (size_t i = 0; i < o->n; i++) {
        uint32_t row = o->row[i], launch = o->launch[i];
        b->mark[i] = mark_of_work(e, is, row);
        b->gap[i] = 0;
        b->loader[i] = RS_NO_TIME;
        b->reach[i] = reach;
        if (o->told && o->time[i] == INT64_MIN) b->mark[i] |= RS_MARK_UNLAUNCHED;
        if (o->told && launch == RS_NO_ROW) continue;
        uint32_t from = o->told ? launch : row;
        int64_t start = e->start[from], waited = 0;
        if (o->told && autograd[e->thread[launch]]) b->mark[i] |= RS_MARK_BACKWARD;
        int64_t covered = reach;
        for (; sync < spans->sync.n && spans->sync.items[sync].start < start; sync++) {
            rs_interval x = spans->sync.items[sync];
            b->mark[i] |= RS_MARK_SYNC;
            if (reach == RS_NO_TIME) continue;
            int64_t first = x.start > covered ? x.start : covered, end = x.end < start ? x.end : start;
            if (end > first) {
                waited = rs_add_sat(waited, rs_sub_sat(end, first));
                covered = end;
            }
        }
        if (reach != RS_NO_TIME && start > reach) {
            b->gap[i] = rs_sub_sat(rs_sub_sat(start, reach), waited);
            if (b->gap[i] < 0) b->gap[i] = 0;
        }
        for (; loader < spans->loader.n && spans->loader.items[loader].start <= start; loader++) {
            if (b->loader[i] == RS_NO_TIME) b->loader[i] = spans->loader.items[loader].start;
            b->mark[i] |= RS_MARK_LOADER;
        }
        for (; optimizer < spans->optimizer.n && spans->optimizer.items[optimizer].start <= start;
             optimizer++)
            if (spans->optimizer.items[optimizer].end > busy_optimizer)
                busy_optimizer = spans->optimizer.items[optimizer].end;
        if (o->told && start < busy_optimizer) b->mark[i] |= RS_MARK_OPTIMIZER;
        int64_t end = rs_event_end(e, from);
        if (reach == RS_NO_TIME || end > reach) reach = end;
    }
}

/* ---- moments ------------------------------------------------------------------------------------------- */

static int by_time(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* A work at which a step begins or, where no step follows, the one before has ended. */
typedef struct border {
    size_t work;
    int64_t begin;  /* what is known so far of the moment */
    int64_t launch; /* start of its launch */
    int64_t after;  /* end of the launches before it */
    uint32_t thread;
} border;

/* The first work from `at` on that has a launch. */
static size_t launched_from(const rs_launch_order *o, size_t at)
{
    while (at < o->n && o->launch[at] == RS_NO_ROW) at++;
    return at;
}

static void set_border(const builder *b, size_t work, border *out)
{
    const rs_events *e = b->trace->events;
    uint32_t launch = b->order->launch[work];
    bool loads = b->loader[work] != RS_NO_TIME;
    *out = (border){.work = work,
                    .begin = loads ? b->loader[work] : e->start[launch],
                    .launch = e->start[launch],
                    .after = b->reach[work],
                    .thread = e->thread[launch]};
}

/* The border moves to the start of the outermost operator that the launch stands in and that no earlier
 * launch does. */
static void widen_borders(const rs_trace *trace, border *borders, size_t n)
{
    const rs_events *e = trace->events;
    for (size_t i = 0; n && i < trace->n_rows; i++) {
        uint32_t row = rs_trace_row(trace, i);
        rs_kind kind = rs_event_kind(e, row);
        if ((kind != RS_KIND_CPU_OP && kind != RS_KIND_USER_ANNOTATION) || !rs_event_is_span(e, row))
            continue;
        size_t low = 0, high = n; /* the first border whose launch does not start before the row */
        while (low < high) {
            size_t middle = low + (high - low) / 2;
            if (borders[middle].launch < e->start[row])
                low = middle + 1;
            else
                high = middle;
        }
        if (low == n || borders[low].thread != e->thread[row]) continue;
        border *b = &borders[low];
        bool holds =
            rs_event_end(e, row) >= b->launch && (b->after == RS_NO_TIME || e->start[row] >= b->after);
        if (holds && e->start[row] < b->begin) b->begin = e->start[row];
    }
}

/* Every step's first work, and what follows it where that is no step. */
static border *list_borders(const builder *b, const rs_repetition *r, size_t *n)
{
    border *borders = rs_malloc((2 * r->n_steps + 1) * sizeof *borders);
    *n = 0;
    for (size_t i = 0; borders && i < r->n_steps; i++) {
        rs_stretch x = r->steps[i];
        size_t first = launched_from(b->order, x.first), next = launched_from(b->order, x.first + x.n);
        if (first < b->order->n && (*n == 0 || first > borders[*n - 1].work))
            set_border(b, first, &borders[(*n)++]);
        if (next < b->order->n && next > borders[*n - 1].work) set_border(b, next, &borders[(*n)++]);
    }
    return borders;
}

static const border *border_at(const border *borders, size_t n, size_t work)
{
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (borders[middle].work < work)
            low = middle + 1;
        else
            high = middle;
    }
    return low < n ? &borders[low] : NULL;
}

/* The end of the last launching call of a stretch. */
static int64_t last_launch(const builder *b, rs_stretch x)
{
    int64_t last = RS_NO_TIME;
    for (size_t i = x.first; i < x.first + x.n; i++) {
        uint32_t launch = b->order->launch[i];
        if (launch == RS_NO_ROW) continue;
        int64_t end = rs_event_end(b->trace->events, launch);
        if (last == RS_NO_TIME || end > last) last = end;
    }
    return last;
}

/* Behind the last launch of all, a step has as much time as the others have in the middle. */
static void close_last(const int64_t *tails, size_t n_tails, int64_t last_launch, int64_t last_event,
                       rs_step_time *out)
{
    int64_t end = rs_add_sat(last_launch, n_tails ? tails[n_tails / 2] : 0);
    if (end > last_event) end = last_event;
    out->end = end > last_launch ? end : rs_add_sat(last_launch, 1);
}

static bool set_host_times(const builder *b, rs_repeated_steps *out, int64_t last_event)
{
    const rs_repetition *r = &out->found;
    size_t n, n_tails = 0;
    border *borders = list_borders(b, r, &n);
    int64_t *tails = rs_malloc((r->n_steps + 1) * sizeof *tails);
    bool ok = borders && tails;
    if (ok) widen_borders(b->trace, borders, n);
    for (int pass = 0; ok && pass < 2; pass++) {
        if (n_tails) qsort(tails, n_tails, sizeof *tails, by_time);
        for (size_t i = 0; i < r->n_steps; i++) {
            rs_stretch x = r->steps[i];
            const border *first = border_at(borders, n, x.first);
            const border *next = border_at(borders, n, x.first + x.n);
            int64_t last = last_launch(b, x);
            if (!first || last == RS_NO_TIME) continue;
            out->when[i].begin = first->begin;
            out->when[i].launch = b->order->launch[first->work];
            if (next) out->when[i].end = next->begin;
            if (next && pass == 0) tails[n_tails++] = rs_sub_sat(next->begin, last);
            if (!next) close_last(tails, n_tails, last, last_event, &out->when[i]);
        }
    }
    rs_free(tails);
    rs_free(borders);
    return ok;
}

static void set_gpu_times(const builder *b, rs_repeated_steps *out)
{
    const rs_events *e = b->trace->events;
    const rs_repetition *r = &out->found;
    int64_t last = INT64_MIN;
    for (size_t i = r->n_steps; i-- > 0;) {
        rs_stretch x = r->steps[i];
        bool followed = i + 1 < r->n_steps && r->steps[i + 1].first == x.first + x.n;
        last = INT64_MIN;
        for (size_t k = x.first; k < x.first + x.n; k++) {
            int64_t end = rs_event_end(e, b->order->row[k]);
            if (end > last) last = end;
        }
        uint32_t row = b->order->row[x.first];
        out->when[i].row = row;
        out->when[i].gpu_begin = e->start[row];
        out->when[i].gpu_end = followed ? out->when[i + 1].gpu_begin : last;
        if (out->when[i].gpu_end <= e->start[row]) out->when[i].gpu_end = rs_add_sat(e->start[row], 1);
    }
}

/* ---- the facet ----------------------------------------------------------------------------------------- */

static void free_steps(void *value)
{
    rs_repeated_steps *s = value;
    rs_repetition_clear(&s->found);
    rs_free(s->when);
    rs_free(s);
}

static void clear_builder(builder *b)
{
    rs_free(b->token);
    rs_free(b->mark);
    rs_free(b->gap);
    rs_free(b->loader);
    rs_free(b->reach);
}

static bool build_sequence(builder *b)
{
    size_t n = b->order->n + 1;
    host_spans spans = {0};
    uint8_t *is = judge_names(&b->trace->events->strings);
    uint8_t *autograd = rs_calloc(b->trace->events->n_threads + 1, 1); /* by thread */
    b->token = rs_malloc(n * sizeof *b->token);
    b->mark = rs_malloc(n);
    b->gap = rs_malloc(n * sizeof *b->gap);
    b->loader = rs_malloc(n * sizeof *b->loader);
    b->reach = rs_malloc(n * sizeof *b->reach);
    bool ok = is && autograd && b->token && b->mark && b->gap && b->loader && b->reach && number_tokens(b) &&
              collect_spans(b->trace, is, &spans, autograd);
    if (ok) mark_works(b, is, &spans, autograd);
    clear_spans(&spans);
    rs_free(is);
    rs_free(autograd);
    return ok;
}

static rs_status make_steps(rs_trace *trace, const void *key, void **out, rs_error *err)
{
    (void)key;
    builder b = {.trace = trace};
    int64_t first_event, last_event;
    RS_TRY(rs_trace_launch_order(trace, &b.order, err));
    RS_TRY(rs_trace_span(trace, &first_event, &last_event, err));
    rs_repeated_steps *made = rs_calloc(1, sizeof *made);
    rs_status status = made && build_sequence(&b) ? RS_OK : rs_fail_nomem(err, "steps");
    rs_tokens s = {.n = b.order->n, .token = b.token, .n_tokens = b.n_tokens, .mark = b.mark, .gap = b.gap};
    if (status == RS_OK) status = rs_repetition_find(&s, &made->found, err);
    if (status == RS_OK) {
        size_t n = made->found.n_steps;
        made->when = rs_malloc((n + 1) * sizeof *made->when);
        for (size_t i = 0; made->when && i < n; i++)
            made->when[i] = (rs_step_time){.begin = RS_NO_TIME, .end = RS_NO_TIME, .launch = RS_NO_ROW};
        if (made->when) set_gpu_times(&b, made);
        if (!made->when || (b.order->told && !set_host_times(&b, made, last_event)))
            status = rs_fail_nomem(err, "steps");
    }
    clear_builder(&b);
    if (status == RS_OK)
        *out = made;
    else if (made)
        free_steps(made);
    return status;
}

const rs_facet rs_facet_repeated_steps = {.name = "steps by repetition",
                                          .needs = {&rs_facet_launch_order, &rs_facet_span},
                                          .make = make_steps,
                                          .release = free_steps};

rs_status rs_trace_repeated_steps(rs_trace *trace, const rs_repeated_steps **out, rs_error *err)
{
    void *value;
    rs_status status = rs_trace_facet(trace, &rs_facet_repeated_steps, NULL, &value, err);
    if (status == RS_OK) *out = value;
    return status;
}
