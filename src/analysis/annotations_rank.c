#include <string.h>

#include "analysis/annotations.h"
#include "base/try.h"
#include "trace/selection.h"
#include "trace/step_name.h"

bool rs_annotations_of_gpu(const rs_options *options, bool usual)
{
    const char *from = rs_options_text(options, "from");
    return from ? strcmp(from, "gpu") == 0 : usual;
}

/* ---- names --------------------------------------------------------------------------------------------- */

typedef struct builder {
    rs_trace *t;
    const rs_events *e;
    const rs_work *w;
    rs_relations *out;
    rs_relation names; /* rs_annotated by slot; 0 is work under no annotation */
    rs_annotation_counts count;
    rs_map64 slots;     /* by string id */
    uint32_t step_slot; /* 0: not yet */
    rs_annotation_span *spans;
    size_t n_spans, spans_capacity;
    uint32_t *stamp;       /* by slot: the point it was last counted for, + 1 */
    uint32_t *inner;       /* by piece of work: slot of its innermost annotation, 0 if none */
    const uint32_t *which; /* the work that the points stand for */
} builder;

static rs_annotated *named(const builder *b, uint32_t slot)
{
    return (rs_annotated *)b->names.rows + slot;
}

static bool new_slot(builder *b, uint32_t name, uint32_t *slot)
{
    *slot = (uint32_t)b->names.n;
    return rs_relation_add(&b->names,
                           &(rs_annotated){.name = name, .slot = *slot, .named = name != RS_NO_STRING}) !=
           NULL;
}

static bool slot_of(builder *b, uint32_t name, uint32_t *slot)
{
    bool is_new;
    uint32_t *place = rs_map64_put(&b->slots, name, &is_new);
    if (!place) return false;
    if (is_new) {
        bool step = rs_names_step(b->e->strings.items[name].text);
        uint32_t at = b->step_slot;
        if (!step && !new_slot(b, rs_put_text(b->out, name), &at)) return false;
        if (step && !at && !new_slot(b, rs_put_string(b->out, RS_STEP_PREFIX "*"), &at)) return false;
        if (step) b->step_slot = at;
        *place = at;
    }
    *slot = *place;
    return true;
}

/* ---- annotations --------------------------------------------------------------------------------------- */

static bool list_spans(builder *b, bool gpu, const rs_selector *selector)
{
    const rs_events *e = b->e;
    for (size_t i = 0; i < b->t->n_rows; i++) {
        uint32_t row = rs_trace_row(b->t, i), slot;
        rs_kind kind = rs_event_kind(e, row);
        if (kind != RS_KIND_USER_ANNOTATION && kind != RS_KIND_GPU_USER_ANNOTATION) continue;
        if (!rs_event_is_span(e, row)) continue;
        if ((kind == RS_KIND_GPU_USER_ANNOTATION) != gpu) {
            b->count.n_other_source++;
            continue;
        }
        if (!rs_selects_row(selector, row)) continue;
        if (!slot_of(b, e->name[row], &slot)) return false;
        if (!RS_GROW_ONE(b->spans, b->n_spans, b->spans_capacity)) return false;
        int64_t length = e->duration[row] > 0 ? e->duration[row] : 0;
        rs_moments_add(&named(b, slot)->length, length);
        b->spans[b->n_spans++] = (rs_annotation_span){.thread = e->thread[row],
                                                      .slot = slot,
                                                      .start = e->start[row],
                                                      .end = rs_add_sat(e->start[row], length)};
    }
    return true;
}

/* ---- work under them ----------------------------------------------------------------------------------- */

static void count_inside(void *context, size_t point, const uint32_t *slots, size_t depth)
{
    builder *b = context;
    size_t i = b->which[point];
    uint32_t inner = b->inner[i]; /* in the second round: on its own thread */
    int64_t time = rs_sub_sat(b->w->end[i], b->w->start[i]);
    for (size_t k = 0; k < depth; k++) {
        /* nested in one of its own name */
        if (b->stamp[slots[k]] == i + 1 || (inner && slots[k] == inner)) continue;
        b->stamp[slots[k]] = (uint32_t)i + 1;
        rs_annotated *a = named(b, slots[k]);
        a->gpu_time = rs_add_sat(a->gpu_time, time);
        a->n_gpu++;
    }
    if (!inner) b->inner[i] = slots[depth - 1];
}

/* The thread whose annotations speak for a process: the one with most of them, then the lowest number. */
static bool main_threads(const builder *b, rs_map64 *of_pid)
{
    const rs_events *e = b->e;
    RS_LOCAL uint32_t *count = rs_calloc(e->n_threads + 1, sizeof *count);
    bool ok = count != NULL;
    for (size_t i = 0; ok && i < b->n_spans; i++) count[b->spans[i].thread]++;
    for (uint32_t i = 0; ok && i < e->n_threads; i++) {
        bool is_new;
        if (!count[i]) continue;
        uint32_t *best = rs_map64_put(of_pid, (uint64_t)e->threads[i].pid, &is_new);
        ok = best != NULL;
        if (ok && (is_new || count[i] > count[*best] ||
                   (count[i] == count[*best] && e->threads[i].tid < e->threads[*best].tid)))
            *best = i;
    }
    return ok;
}

/* Threads on which the autograd engine runs backward functions. */
static uint8_t *autograd_threads(const builder *b)
{
    static const char prefix[] = "autograd::engine::evaluate_function";
    const rs_events *e = b->e;
    uint8_t *named = rs_calloc(e->strings.n + 1, 1), *is = rs_calloc(e->n_threads + 1, 1);
    for (size_t i = 0; named && i < e->strings.n; i++)
        named[i] = e->strings.items[i].length >= sizeof prefix - 1 &&
                   memcmp(e->strings.items[i].text, prefix, sizeof prefix - 1) == 0;
    for (size_t i = 0; named && is && i < b->t->n_rows; i++) {
        uint32_t row = rs_trace_row(b->t, i);
        if (named[e->name[row]] && rs_event_kind(e, row) == RS_KIND_CPU_OP) is[e->thread[row]] = 1;
    }
    if (!named) {
        rs_free(is);
        is = NULL;
    }
    rs_free(named);
    return is;
}

/* The autograd thread works while the thread that called backward() waits: what it launches is inside the
 * annotation that waits, too. */
static bool charge_waiting(builder *b, rs_point *points, uint32_t *which)
{
    const rs_events *e = b->e;
    RS_SCOPED(rs_map64_clear) rs_map64 of_pid = {0};
    RS_LOCAL uint8_t *autograd = autograd_threads(b);
    size_t n = 0;
    bool ok = autograd && main_threads(b, &of_pid);
    for (size_t i = 0; ok && i < b->w->n; i++) {
        uint32_t launch = b->w->launch[i];
        if (launch == RS_NO_ROW || !autograd[e->thread[launch]]) continue;
        const uint32_t *waiting = rs_map64_get(&of_pid, (uint64_t)e->threads[e->thread[launch]].pid);
        if (!waiting || *waiting == e->thread[launch]) continue;
        points[n] = (rs_point){*waiting, e->start[launch]};
        which[n++] = (uint32_t)i;
    }
    if (ok && n)
        ok = rs_annotations_enclose(b->spans, b->n_spans, points, n, count_inside, b, &b->count.n_too_deep);
    return ok;
}

static void add_own(builder *b, size_t i)
{
    const rs_work *w = b->w;
    rs_annotated *a = named(b, b->inner[i]);
    int64_t time = rs_sub_sat(w->end[i], w->start[i]), *of_class = &a->own_class[w->class[i]];
    a->own_time = rs_add_sat(a->own_time, time);
    *of_class = rs_add_sat(*of_class, time);
    a->n_own++;
}

static bool divide_work(builder *b, bool gpu)
{
    const rs_events *e = b->e;
    const rs_work *w = b->w;
    size_t n = 0;
    rs_point *points = RS_ROOM(b->out, rs_point, w->n);
    uint32_t *which = RS_ROOM(b->out, uint32_t, w->n);
    b->stamp = RS_ROOM(b->out, uint32_t, b->names.n);
    b->inner = RS_ROOM(b->out, uint32_t, w->n);
    bool ok = points && which && b->stamp && b->inner;
    for (size_t i = 0; ok && i < w->n; i++) {
        uint32_t row = gpu ? w->row[i] : w->launch[i];
        if (row == RS_NO_ROW) continue;
        points[n] = (rs_point){e->thread[row], gpu ? w->start[i] : e->start[row]};
        which[n++] = (uint32_t)i;
    }
    b->which = which;
    if (ok && n)
        ok = rs_annotations_enclose(b->spans, b->n_spans, points, n, count_inside, b, &b->count.n_too_deep);
    if (ok && !gpu) ok = charge_waiting(b, points, which);
    for (size_t i = 0; ok && i < w->n; i++) add_own(b, i);
    return ok;
}

/* ---- relations ----------------------------------------------------------------------------------------- */

static rs_status take_work(const rs_run *run, builder *b, bool gpu, rs_error *err)
{
    rs_selector selector;
    uint32_t none;
    RS_TRY(rs_trace_work(b->t, run->policy, &b->w, err));
    RS_TRY(rs_trace_selector(b->t, &selector, err));
    b->count.n_work = b->w->n;
    if (b->w->n >= UINT32_MAX || !new_slot(b, RS_NO_STRING, &none) || !list_spans(b, gpu, &selector) ||
        !divide_work(b, gpu))
        return rs_fail_nomem(err, "annotations");
    return RS_OK;
}

rs_status rs_annotations_put(const rs_run *run, rs_trace *t, rs_relations *out, rs_error *err)
{
    builder b = {.t = t, .e = t->events, .out = out, .names = {.size = sizeof(rs_annotated)}};
    int64_t all = 0;
    rs_status status = take_work(run, &b, rs_annotations_of_gpu(run->options, false), err);
    b.count.n_named = b.names.n ? b.names.n - 1 : 0;
    rs_put(out, RS_ANNOTATIONS_COUNTS, &b.count);
    for (uint32_t i = 0; i < b.names.n; i++) all = rs_add_sat(all, named(&b, i)->own_time);
    for (uint32_t i = 0; b.count.n_named && i < b.names.n; i++) {
        named(&b, i)->all = all;
        if (!i) named(&b, i)->gpu_time = RS_NO_TIME;
        rs_put(out, RS_ANNOTATIONS_NAMES, named(&b, i));
    }
    out->work = b.inner;
    rs_map64_clear(&b.slots);
    rs_relation_clear(&b.names);
    rs_free(b.spans);
    return status;
}

rs_status rs_annotations_put_kernels(const rs_run *run, rs_trace *t, rs_relations *out, rs_error *err)
{
    const rs_work *w;
    const uint32_t *inner = out->work;
    rs_annotated *names = out->items[RS_ANNOTATIONS_NAMES].rows;
    size_t n = out->items[RS_ANNOTATIONS_NAMES].n;
    uint32_t *place = RS_ROOM(out, uint32_t, n);
    RS_TRY(rs_trace_work(t, run->policy, &w, err));
    for (uint32_t i = 0; place && i < n; i++) {
        names[i].place = i;
        place[names[i].slot] = i;
    }
    for (size_t i = 0; place && n && i < w->n; i++) {
        uint32_t at = place[inner[i]];
        rs_put(out, RS_ANNOTATIONS_KERNELS,
               &(rs_annotated_piece){at, names[at].name, rs_put_text(out, t->events->name[w->row[i]]),
                                     w->class[i], rs_sub_sat(w->end[i], w->start[i])});
    }
    return RS_OK;
}
