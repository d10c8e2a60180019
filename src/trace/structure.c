#include "trace/structure.h"

#include <string.h>

#include "base/interval.h"
#include "base/memory.h"
#include "base/order.h"
#include "base/search.h"
#include "base/try.h"
#include "trace/facet.h"
#include "trace/repeated_steps.h"
#include "trace/tandem.h"
#include "trace/work_tokens.h"

const char *const rs_phase_names[RS_N_PHASES] = {"unknown", "forward", "backward", "optimizer"};

enum {
    LEAST_LAYER = 4,         /* works */
    MOST_OF_A_STEP = 1 << 20 /* works of a step in which repeats are looked for */
};

/* ---- autograd's sequence numbers ----------------------------------------------------------------------- */

/* An operator of backward, by thread and start, and when the forward operator of its number began. */
typedef struct backward_op {
    uint32_t thread;
    int64_t start, forward; /* forward: RS_NO_TIME where it is not in the file */
} backward_op;

typedef struct backward_ops {
    backward_op *items;
    size_t n, capacity;
} backward_ops;

static const rs_order by_thread[] = {RS_RISING(backward_op, thread), RS_RISING(backward_op, start),
                                     RS_RISING(backward_op, forward)};

/* The forward operator of a number is the last to begin with it: PyTorch gives the number that comes next to
 * every operator, and the one that takes it is the last of them. */
static bool list_backward(const rs_trace *trace, const uint8_t *autograd, backward_ops *out)
{
    const rs_events *e = trace->events;
    const rs_sparse *c = &e->args[RS_COL_SEQUENCE_NUMBER];
    RS_SCOPED(rs_map64_clear) rs_map64 begun = {0};
    RS_LOCAL int64_t *starts = NULL;
    size_t n_starts = 0, capacity = 0, at = 0;
    bool ok = true;
    for (int pass = 0; ok && pass < 2; pass++) {
        at = 0;
        for (size_t i = 0; ok && i < c->n; i++) {
            uint32_t row = c->rows[i];
            while (at < trace->n_rows && rs_trace_row(trace, at) < row) at++;
            if (at == trace->n_rows) break;
            if (rs_trace_row(trace, at) != row || rs_sparse_int(c, i) < 0) continue;
            if (rs_event_kind(e, row) != RS_KIND_CPU_OP || !rs_event_is_span(e, row)) continue;
            bool backward = autograd[e->thread[row]] != 0, is_new = false;
            if (backward != (pass == 1)) continue;
            if (backward) {
                const uint32_t *slot = rs_map64_get(&begun, (uint64_t)rs_sparse_int(c, i));
                ok = RS_APPEND(
                    out, (backward_op){e->thread[row], e->start[row], slot ? starts[*slot] : RS_NO_TIME});
                continue;
            }
            uint32_t *slot = rs_map64_put(&begun, (uint64_t)rs_sparse_int(c, i), &is_new);
            ok = slot && (!is_new || RS_GROW_ONE(starts, n_starts, capacity));
            if (!ok) break;
            if (is_new) {
                *slot = (uint32_t)n_starts;
                starts[n_starts++] = e->start[row];
            } else if (e->start[row] > starts[*slot]) {
                starts[*slot] = e->start[row];
            }
        }
    }
    if (ok && out->n) RS_SORT(out->items, out->n, by_thread);
    return ok;
}

/* The forward start of the operator that runs on a thread at a moment: the last to have begun whose number a
 * forward operator had. */
static int64_t forward_of(const backward_ops *ops, uint32_t thread, int64_t ns)
{
    size_t low; /* the first that begins later */
    RS_SEARCH(low, ops->n,
              ops->items[low].thread < thread ||
                  (ops->items[low].thread == thread && ops->items[low].start <= ns));
    for (; low > 0 && ops->items[low - 1].thread == thread; low--)
        if (ops->items[low - 1].forward != RS_NO_TIME) return ops->items[low - 1].forward;
    return RS_NO_TIME;
}

/* ---- the works of one step ----------------------------------------------------------------------------- */

typedef struct builder {
    const rs_trace *trace;
    const rs_work_tokens *tokens;
    const rs_classes *classes;
    rs_structure *out;
    backward_ops backward;
    bool serves;       /* steps of a serving engine: all forward */
    uint8_t *transfer; /* by work: 'S' a send, 'R' a receive, 0 neither */
} builder;

/* The works of a step, as indices in the order of launches. */
typedef struct step_list {
    const rs_keyed *items; /* value: the index */
    size_t n;
} step_list;

static size_t at(step_list s, size_t k)
{
    return s.items[k].value;
}

static void find_transfers(builder *b)
{
    const rs_events *e = b->trace->events;
    for (size_t i = 0; i < b->out->n; i++) {
        uint32_t row = b->out->order->row[i];
        b->transfer[i] = 0;
        if (rs_class_at(b->classes, row) != RS_CLASS_COMM) continue;
        uint32_t text = rs_events_text(e, RS_COL_COLLECTIVE, row);
        if (text == RS_NO_STRING) continue;
        const char *name = e->strings.items[text].text;
        if (strcmp(name, "send") == 0) b->transfer[i] = 'S';
        if (strcmp(name, "recv") == 0) b->transfer[i] = 'R';
    }
}

/* A send belongs to what was computed before it, a receive to what is computed after it. */
static void settle_transfers(builder *b, step_list s)
{
    uint8_t *phase = b->out->phase;
    for (size_t k = 0; k < s.n; k++) {
        if (b->transfer[at(s, k)] != 'S') continue;
        size_t before = k;
        while (before > 0 && b->transfer[at(s, before)]) before--;
        if (!b->transfer[at(s, before)]) phase[at(s, k)] = phase[at(s, before)];
    }
    for (size_t k = s.n; k-- > 0;) {
        if (b->transfer[at(s, k)] != 'R') continue;
        size_t behind = k;
        while (behind + 1 < s.n && b->transfer[at(s, behind)]) behind++;
        if (!b->transfer[at(s, behind)]) phase[at(s, k)] = phase[at(s, behind)];
    }
}

static void set_phases(builder *b, step_list s)
{
    const uint16_t *mark = b->tokens->mark;
    uint8_t *phase = b->out->phase;
    size_t last = s.n, first_opt = s.n, last_opt = 0;
    for (size_t k = 0; k < s.n; k++)
        if (mark[at(s, k)] & RS_MARK_BACKWARD) last = k;
    for (size_t k = 0; k < s.n; k++) {
        bool behind = last == s.n || k > last;
        if (!behind || !(mark[at(s, k)] & RS_MARK_OPTIMIZER)) continue;
        if (first_opt == s.n) first_opt = k;
        last_opt = k;
    }
    for (size_t k = 0; k < s.n; k++) {
        uint16_t m = mark[at(s, k)];
        uint8_t *is = &phase[at(s, k)];
        if (m & RS_MARK_FORWARD)
            *is = RS_PHASE_FORWARD;
        else if (last < s.n && k <= last)
            *is = m & RS_MARK_OPTIMIZER  ? RS_PHASE_OPTIMIZER
                  : m & RS_MARK_BACKWARD ? RS_PHASE_BACKWARD
                                         : RS_PHASE_FORWARD;
        else if (k >= first_opt && (k <= last_opt || m & RS_MARK_CLEAR))
            *is = RS_PHASE_OPTIMIZER;
        else
            *is = b->serves ? RS_PHASE_FORWARD : RS_PHASE_UNKNOWN;
    }
    if (last < s.n) settle_transfers(b, s);
}

/* ---- micro batches and layers -------------------------------------------------------------------------- */

/* The work that repeats are looked for in: of one phase, in order. */
typedef struct part {
    uint32_t *work;  /* indices in the order of launches */
    uint32_t *token; /* theirs */
    size_t n;
} part;

static bool list_part(const builder *b, step_list s, rs_phase phase, part *out)
{
    out->work = rs_malloc((s.n + 1) * sizeof *out->work);
    out->token = rs_malloc((s.n + 1) * sizeof *out->token);
    out->n = 0;
    if (!out->work || !out->token) return false;
    for (size_t k = 0; k < s.n; k++) {
        size_t i = at(s, k);
        if (b->out->phase[i] != phase) continue;
        /* the batch is copied once, before its micro batches are computed */
        if (out->n == 0 && b->tokens->mark[i] & RS_MARK_TO_DEVICE) continue;
        out->work[out->n] = (uint32_t)i;
        out->token[out->n++] = b->tokens->token[i];
    }
    return true;
}

static void clear_part(part *p)
{
    rs_free_all(p->work, p->token);
}

/* Works of a micro batch's forward: the smallest part of all that comes again, whole times, but for one work
 * in 200. All of it where nothing does. */
static size_t micro_batch_length(const part *p, double *likeness)
{
    *likeness = 1;
    for (size_t length = LEAST_LAYER; length * 2 <= p->n; length++) {
        if (p->n % length != 0) continue;
        size_t compared = p->n - length, wrong = 0;
        for (size_t i = 0; i < compared && wrong * 200 <= compared; i++)
            wrong += p->token[i] != p->token[i + length];
        if (wrong * 200 > compared) continue;
        *likeness = 1 - (double)wrong / (double)compared;
        return length;
    }
    return p->n;
}

/* Numbers layers in the first `length` works and likewise in what repeats them. Of the repeats that are in no
 * other, those count that hold a tenth of the work. */
static bool set_layers(builder *b, const part *p, size_t length, rs_step_shape *shape, rs_error *err)
{
    rs_tandem *found;
    size_t n;
    uint32_t base = 0;
    if (rs_tandem_find(p->token, length, LEAST_LAYER, &found, &n, err) != RS_OK) return false;
    for (size_t r = 0; r < n; r++) {
        const rs_tandem *t = &found[r];
        size_t works = t->period * t->times;
        if (t->level > 0 || works * 10 < length) continue;
        for (size_t i = 0; i < p->n; i++) {
            size_t in = i % length;
            if (in < t->first || in >= t->first + works) continue;
            b->out->layer[p->work[i]] = base + (uint32_t)((in - t->first) / t->period);
        }
        base += (uint32_t)t->times;
        if (t->period > shape->layer_works) shape->layer_works = t->period;
    }
    shape->layers = base;
    rs_free(found);
    return true;
}

/* The first forward work that is launched at a moment or later, or n. */
static size_t launched_at(const builder *b, const part *forward, int64_t ns)
{
    size_t low;
    RS_SEARCH(low, forward->n, b->out->order->time[forward->work[low]] < ns);
    return low;
}

/* Work of backward belongs where the forward operator of its number does. What has no number (gradients that
 * are added up or reduced) belongs with what was launched before it. */
static void follow_numbers(builder *b, step_list s, const part *forward)
{
    const rs_events *e = b->trace->events;
    for (size_t k = 0; k < s.n; k++) {
        size_t i = at(s, k);
        uint32_t launch = b->out->order->launch[i];
        if (b->out->phase[i] != RS_PHASE_BACKWARD || launch == RS_NO_ROW) continue;
        int64_t began = forward_of(&b->backward, e->thread[launch], e->start[launch]);
        size_t f = began == RS_NO_TIME ? forward->n : launched_at(b, forward, began);
        if (f == forward->n) continue;
        b->out->layer[i] = b->out->layer[forward->work[f]];
        b->out->micro_batch[i] = b->out->micro_batch[forward->work[f]];
    }
}

static rs_status set_places(builder *b, step_list s, rs_step_shape *shape, rs_error *err)
{
    part forward, unknown;
    bool phases = false;
    for (size_t k = 0; k < s.n; k++) phases = phases || b->out->phase[at(s, k)] == RS_PHASE_FORWARD;
    if (s.n > MOST_OF_A_STEP) return RS_OK;
    if (!phases) {
        bool ok = list_part(b, s, RS_PHASE_UNKNOWN, &unknown);
        rs_status status = ok ? RS_OK : rs_fail_nomem(err, "layers");
        if (status == RS_OK && !set_layers(b, &unknown, unknown.n, shape, err)) status = RS_ERR_NOMEM;
        clear_part(&unknown);
        return status;
    }
    rs_status status = list_part(b, s, RS_PHASE_FORWARD, &forward) ? RS_OK : rs_fail_nomem(err, "layers");
    if (status == RS_OK && forward.n) {
        size_t length = micro_batch_length(&forward, &shape->likeness);
        shape->micro_batches = (uint32_t)(forward.n / length);
        for (size_t i = 0; i < forward.n; i++) b->out->micro_batch[forward.work[i]] = (uint32_t)(i / length);
        if (!set_layers(b, &forward, length, shape, err)) status = RS_ERR_NOMEM;
        if (status == RS_OK) follow_numbers(b, s, &forward);
    }
    clear_part(&forward);
    return status;
}

/* ---- the facet ----------------------------------------------------------------------------------------- */

static void free_structure(void *value)
{
    rs_structure *s = value;
    rs_free_all(s->step, s->phase, s->micro_batch, s->layer, s->by_row, s->steps, s);
}

static rs_structure *create(const rs_launch_order *order)
{
    rs_structure *s = rs_calloc(1, sizeof *s);
    size_t n = order->n;
    if (!s) return NULL;
    *s = (rs_structure){.order = order,
                        .n = n,
                        .step = rs_malloc((n + 1) * sizeof *s->step),
                        .phase = rs_calloc(n + 1, sizeof *s->phase),
                        .micro_batch = rs_malloc((n + 1) * sizeof *s->micro_batch),
                        .layer = rs_malloc((n + 1) * sizeof *s->layer),
                        .by_row = rs_malloc((n + 1) * sizeof *s->by_row)};
    if (!s->step || !s->phase || !s->micro_batch || !s->layer || !s->by_row) {
        free_structure(s);
        return NULL;
    }
    memset(s->micro_batch, 0xff, n * sizeof *s->micro_batch);
    memset(s->layer, 0xff, n * sizeof *s->layer);
    return s;
}

/* Steps by repetition are stretches of the very order that the works are in. */
static rs_status set_repeated(rs_trace *trace, rs_structure *s, rs_error *err)
{
    const rs_repeated_steps *r;
    RS_TRY(rs_trace_repeated_steps(trace, &r, err));
    for (size_t i = 0; i < s->n; i++) s->step[i] = -1;
    for (size_t k = 0; k < r->found.n_steps; k++) {
        rs_stretch x = r->found.steps[k];
        for (size_t i = x.first; i < x.first + x.n; i++) s->step[i] = (int64_t)k;
    }
    if (r->found.n_steps) s->source = RS_STEPS_REPETITION;
    return RS_OK;
}

static rs_status set_steps(rs_trace *trace, rs_structure_from choice, rs_structure *s, rs_error *err)
{
    const rs_events *e = trace->events;
    const rs_step *steps, *gpu_steps;
    size_t n_steps, n_gpu_steps;
    RS_TRY(rs_trace_step_source(trace, &s->source, err));
    bool inferred = s->source != RS_STEPS_ANNOTATED && s->source != RS_STEPS_SERVING;
    if (choice == RS_FROM_REPETITION || inferred) {
        s->source = RS_STEPS_NONE;
        if (choice != RS_FROM_ANNOTATIONS) return set_repeated(trace, s, err);
        for (size_t i = 0; i < s->n; i++) s->step[i] = -1;
        return RS_OK;
    }
    RS_TRY(rs_trace_steps(trace, &steps, &n_steps, err));
    RS_TRY(rs_trace_gpu_steps(trace, &gpu_steps, &n_gpu_steps, err));
    for (size_t i = 0; i < s->n; i++) {
        uint32_t launch = s->order->launch[i], from = launch == RS_NO_ROW ? s->order->row[i] : launch;
        int64_t pid = e->threads[e->thread[from]].pid;
        s->step[i] = launch == RS_NO_ROW ? rs_trace_step_at(gpu_steps, n_gpu_steps, pid, e->start[from])
                                         : rs_trace_step_at(steps, n_steps, pid, e->start[from]);
    }
    return RS_OK;
}

static rs_status sort_rows(rs_structure *s, rs_error *err)
{
    RS_LOCAL rs_keyed *keys = rs_malloc((s->n + 1) * sizeof *keys);
    bool ok = keys != NULL;
    for (size_t i = 0; ok && i < s->n; i++) keys[i] = (rs_keyed){s->order->row[i], (uint32_t)i};
    ok = ok && rs_keyed_sort(keys, s->n);
    for (size_t i = 0; ok && i < s->n; i++) s->by_row[i] = keys[i].value;
    return ok ? RS_OK : rs_fail_nomem(err, "the structure of a step");
}

/* Step by step. Work of no step is only looked at where there are no steps at all. */
static rs_status fill(builder *b, rs_error *err)
{
    rs_structure *s = b->out;
    RS_LOCAL rs_keyed *items = rs_malloc((s->n + 1) * sizeof *items);
    size_t capacity = 0;
    bool ok = items != NULL;
    for (size_t i = 0; ok && i < s->n; i++) items[i] = (rs_keyed){s->step[i], (uint32_t)i};
    ok = ok && rs_keyed_sort(items, s->n);
    rs_status status = ok ? RS_OK : rs_fail_nomem(err, "the structure of a step");
    for (size_t i = 0, end; status == RS_OK && i < s->n; i = end) {
        for (end = i + 1; end < s->n && items[end].key == items[i].key; end++) {
        }
        if (items[i].key < 0 && s->source != RS_STEPS_NONE) continue;
        step_list list = {items + i, end - i};
        if (!RS_GROW_ONE(s->steps, s->n_steps, capacity)) {
            status = rs_fail_nomem(err, "the structure of a step");
            break;
        }
        rs_step_shape *shape = &s->steps[s->n_steps++];
        *shape = (rs_step_shape){.number = items[i].key, .n = end - i, .likeness = 1};
        if (items[i].key >= 0) set_phases(b, list);
        status = set_places(b, list, shape, err);
    }
    return status;
}

static rs_status make_structure(rs_trace *trace, const void *key, void **out, rs_error *err)
{
    const rs_structure_from *choice = key;
    builder b = {.trace = trace};
    RS_TRY(rs_trace_work_tokens(trace, &b.tokens, err));
    RS_TRY(rs_trace_classes(trace, RS_CLASSES_OWN, &b.classes, err));
    b.out = create(b.tokens->order);
    b.transfer = b.out ? rs_malloc(b.out->n + 1) : NULL;
    rs_status status = b.transfer ? RS_OK : rs_fail_nomem(err, "the structure of a step");
    if (status == RS_OK) status = set_steps(trace, *choice, b.out, err);
    if (status == RS_OK) status = sort_rows(b.out, err);
    if (status == RS_OK && !list_backward(trace, b.tokens->autograd, &b.backward))
        status = rs_fail_nomem(err, "the structure of a step");
    if (status == RS_OK) {
        b.serves = b.out->source == RS_STEPS_SERVING;
        find_transfers(&b);
        status = fill(&b, err);
    }
    rs_free_all(b.transfer, b.backward.items);
    if (status == RS_OK)
        *out = b.out;
    else if (b.out)
        free_structure(b.out);
    return status;
}

const rs_facet rs_facet_structure = {
    .name = "structure of steps",
    .columns = RS_COLUMN_BIT(SEQUENCE_NUMBER) | RS_COLUMN_BIT(COLLECTIVE),
    .needs = {&rs_facet_work_tokens, &rs_facet_steps, &rs_facet_classes},
    .key_size = sizeof(rs_structure_from),
    .make = make_structure,
    .release = free_structure,
};

rs_status rs_trace_structure(rs_trace *trace, rs_structure_from from, const rs_structure **out, rs_error *err)
{
    return rs_trace_facet(trace, &rs_facet_structure, &from, out, err);
}

size_t rs_structure_at(const rs_structure *s, uint32_t row)
{
    size_t low;
    RS_SEARCH(low, s->n, s->order->row[s->by_row[low]] < row);
    return low < s->n && s->order->row[s->by_row[low]] == row ? s->by_row[low] : SIZE_MAX;
}
