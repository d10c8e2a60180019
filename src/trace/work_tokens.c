#include "trace/work_tokens.h"

#include <string.h>

#include "base/ascii.h"
#include "base/interval.h"
#include "base/memory.h"
#include "base/try.h"
#include "trace/facet.h"
#include "trace/launch_phases.h"

/* ---- names --------------------------------------------------------------------------------------------- */

enum {
    NAME_LOADER = 1,
    NAME_OPTIMIZER = 2,
    NAME_SYNC = 4,
    NAME_CLEAR = 8,
    NAME_TO_HOST = 16,
    NAME_TO_DEVICE = 32,
    NAME_BACKWARD = 64
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

/* "AddmmBackward0", "FusedLayerNormBackward", autograd's own functions. */
static bool is_backward(const rs_string *name)
{
    static const char end[] = "Backward";
    size_t n = name->length;
    while (n && rs_is_digit(name->text[n - 1])) n--;
    return begins(name, "autograd::engine::evaluate_function") ||
           (n >= sizeof end - 1 && memcmp(name->text + n - (sizeof end - 1), end, sizeof end - 1) == 0);
}

static uint8_t judge_name(const rs_string *name)
{
    uint8_t is = 0;
    if (begins(name, "enumerate(DataLoader)") || (has(name, "dataloader.py") && has(name, "__next__")))
        is |= NAME_LOADER;
    if (is_optimizer_op(name) || is_optimizer_kernel(name)) is |= NAME_OPTIMIZER;
    if (is_backward(name)) is |= NAME_BACKWARD;
    if (has(name, "Synchronize")) is |= NAME_SYNC;
    if (begins(name, "Memset") || has(name, "FillFunctor")) is |= NAME_CLEAR;
    if (begins(name, "Memcpy DtoH") || begins(name, "MemcpyD2H") || has(name, "DeviceToHost") ||
        has(name, "DEVICE_TO_HOST"))
        is |= NAME_TO_HOST;
    if (begins(name, "Memcpy HtoD") || begins(name, "MemcpyH2D") || has(name, "HostToDevice") ||
        has(name, "HOST_TO_DEVICE"))
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
    return RS_APPEND(list, (rs_interval){e->start[row], rs_event_end(e, row)});
}

typedef struct host_spans {
    span_list loader, optimizer, sync;
} host_spans;

static bool collect_spans(const rs_trace *trace, const uint8_t *is, host_spans *out, bool *trains)
{
    const rs_events *e = trace->events;
    bool ok = true, operators = false, told = false;
    for (size_t i = 0; ok && i < trace->n_rows; i++) {
        uint32_t row = rs_trace_row(trace, i);
        uint8_t name = is[e->name[row]];
        rs_kind kind = rs_event_kind(e, row);
        operators |= kind == RS_KIND_CPU_OP;
        told |= (name & (NAME_LOADER | NAME_OPTIMIZER | NAME_BACKWARD)) != 0;
        if (!(name & (NAME_LOADER | NAME_OPTIMIZER | NAME_SYNC)) || !rs_event_is_span(e, row)) continue;
        bool host =
            kind == RS_KIND_CPU_OP || kind == RS_KIND_USER_ANNOTATION || kind == RS_KIND_PYTHON_FUNCTION;
        if (rs_kind_is_call(kind)) {
            if (name & NAME_SYNC) ok = add_span(&out->sync, e, row);
        } else if (host) {
            if (name & NAME_LOADER) ok = add_span(&out->loader, e, row);
            if (ok && name & NAME_OPTIMIZER) ok = add_span(&out->optimizer, e, row);
        }
    }
    *trains = told || !operators;
    return ok && rs_intervals_sort(out->loader.items, out->loader.n) &&
           rs_intervals_sort(out->optimizer.items, out->optimizer.n) &&
           rs_intervals_sort(out->sync.items, out->sync.n);
}

static void clear_spans(host_spans *s)
{
    rs_free_all(s->loader.items, s->optimizer.items, s->sync.items);
}

static bool number_tokens(const rs_trace *trace, rs_work_tokens *b)
{
    const rs_events *e = trace->events;
    RS_LOCAL uint32_t *of_name = rs_malloc((e->strings.n + 1) * sizeof *of_name);
    if (!of_name) return false;
    memset(of_name, 0xff, e->strings.n * sizeof *of_name);
    for (size_t i = 0; i < b->order->n; i++) {
        uint32_t *token = &of_name[e->name[b->order->row[i]]];
        if (*token == UINT32_MAX) *token = (uint32_t)b->tokens.n_tokens++;
        b->token[i] = *token;
    }
    return true;
}

static uint16_t mark_of_work(const rs_events *e, const uint8_t *is, uint32_t row)
{
    uint8_t name = is[e->name[row]];
    uint16_t mark = 0;
    rs_kind kind = rs_event_kind(e, row);
    if (name & NAME_OPTIMIZER) mark |= RS_MARK_OPTIMIZER;
    if (kind == RS_KIND_MEMSET || name & NAME_CLEAR) mark |= RS_MARK_CLEAR;
    if (kind == RS_KIND_MEMCPY && name & NAME_TO_HOST) mark |= RS_MARK_TO_HOST;
    if (kind == RS_KIND_MEMCPY && name & NAME_TO_DEVICE) mark |= RS_MARK_TO_DEVICE;
    return mark;
}

/* Walks launches and host spans in time together. Without launches only the works themselves are known, and
 * the pause before a work is the GPU's. */
static void mark_works(const rs_events *e, rs_work_tokens *b, const uint8_t *is, const host_spans *spans,
                       const uint8_t *phases)
{
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
        if (o->told && phases[i] == RS_LAUNCH_BACKWARD) b->mark[i] |= RS_MARK_BACKWARD;
        if (o->told && phases[i] == RS_LAUNCH_FORWARD) b->mark[i] |= RS_MARK_FORWARD;
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

/* ---- the facet ----------------------------------------------------------------------------------------- */

static void free_tokens(void *value)
{
    rs_work_tokens *b = value;
    rs_free_all(b->token, b->mark, b->gap, b->loader, b->reach, b->autograd, b);
}

static bool build(const rs_trace *trace, rs_work_tokens *b)
{
    size_t n = b->order->n + 1;
    host_spans spans = {0};
    RS_LOCAL uint8_t *is = judge_names(&trace->events->strings), *phases = rs_malloc(n);
    b->autograd = rs_calloc(trace->events->n_threads + 1, 1);
    b->token = rs_malloc(n * sizeof *b->token);
    b->mark = rs_malloc(n * sizeof *b->mark);
    b->gap = rs_malloc(n * sizeof *b->gap);
    b->loader = rs_malloc(n * sizeof *b->loader);
    b->reach = rs_malloc(n * sizeof *b->reach);
    bool ok = is && phases && b->autograd && b->token && b->mark && b->gap && b->loader && b->reach &&
              number_tokens(trace, b) && collect_spans(trace, is, &spans, &b->trains) &&
              rs_launch_phases(trace, b->order, phases, b->autograd);
    if (ok) mark_works(trace->events, b, is, &spans, phases);
    clear_spans(&spans);
    b->tokens.n = b->order->n;
    b->tokens.token = b->token;
    b->tokens.mark = b->mark;
    b->tokens.gap = b->gap;
    return ok;
}

static rs_status make_tokens(rs_trace *trace, const void *key, void **out, rs_error *err)
{
    (void)key;
    const rs_launch_order *order;
    RS_TRY(rs_trace_launch_order(trace, &order, err));
    rs_work_tokens *made = rs_calloc(1, sizeof *made);
    if (!made) return rs_fail_nomem(err, "the sequence of GPU work");
    made->order = order;
    if (!build(trace, made)) {
        free_tokens(made);
        return rs_fail_nomem(err, "the sequence of GPU work");
    }
    *out = made;
    return RS_OK;
}

const rs_facet rs_facet_work_tokens = {.name = "sequence of GPU work",
                                       .needs = {&rs_facet_launch_order},
                                       .make = make_tokens,
                                       .release = free_tokens};

rs_status rs_trace_work_tokens(rs_trace *trace, const rs_work_tokens **out, rs_error *err)
{
    return rs_trace_facet(trace, &rs_facet_work_tokens, NULL, out, err);
}
