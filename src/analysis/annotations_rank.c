#include <stdlib.h>
#include <string.h>

#include "analysis/annotations.h"
#include "base/interval.h"
#include "trace/selection.h"
#include "base/strings.h"
#include "trace/step_name.h"

void rs_annotations_free(void *partial)
{
    rs_annotations *p = partial;
    if (!p) return;
    rs_arena_clear(&p->names);
    rs_free(p->items);
    rs_free(p->kernels);
    rs_free(p);
}

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
    rs_annotations *p;
    rs_map64 slots;     /* by string id */
    uint32_t step_slot; /* 0: not yet */
    rs_annotation_span *spans;
    size_t n_spans, spans_capacity;
    rs_map64 kernels;
    uint32_t *stamp;       /* by slot: the point it was last counted for, + 1 */
    uint32_t *inner;       /* by piece of work: slot of its innermost annotation, 0 if none */
    const uint32_t *which; /* the work that the points stand for */
} builder;

static bool new_slot(builder *b, const char *name, size_t length, uint32_t *slot)
{
    rs_annotations *p = b->p;
    if (!RS_GROW_ONE(p->items, p->n, p->capacity)) return false;
    const char *copy = name ? rs_arena_strndup(&p->names, name, length) : NULL;
    if (name && !copy) return false;
    *slot = (uint32_t)p->n;
    p->items[p->n++] = (rs_annotated){.name = copy};
    return true;
}

static bool slot_of(builder *b, uint32_t name, uint32_t *slot)
{
    bool is_new;
    uint32_t *place = rs_map64_put(&b->slots, name, &is_new);
    if (!place) return false;
    if (is_new) {
        const rs_string *s = &b->e->strings.items[name];
        bool step = rs_names_step(s->text);
        uint32_t at = b->step_slot;
        if (!step && !new_slot(b, s->text, s->length, &at)) return false;
        if (step && !at && !new_slot(b, RS_STEP_PREFIX "*", sizeof RS_STEP_PREFIX, &at)) return false;
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
            b->p->n_other_source++;
            continue;
        }
        if (!rs_selects_row(selector, row)) continue;
        if (!slot_of(b, e->name[row], &slot)) return false;
        if (!RS_GROW_ONE(b->spans, b->n_spans, b->spans_capacity)) return false;
        int64_t length = e->duration[row] > 0 ? e->duration[row] : 0;
        rs_moments_add(&b->p->items[slot].length, length);
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
        rs_annotated *a = &b->p->items[slots[k]];
        a->gpu_time = rs_add_sat(a->gpu_time, time);
        a->n_gpu++;
    }
    if (!inner) b->inner[i] = slots[depth - 1];
}

/* The thread whose annotations speak for a process: the one with most of them, then the lowest number. */
static bool main_threads(const builder *b, rs_map64 *of_pid)
{
    const rs_events *e = b->e;
    uint32_t *count = rs_calloc(e->n_threads + 1, sizeof *count);
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
    rs_free(count);
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
    rs_map64 of_pid = {0};
    uint8_t *autograd = autograd_threads(b);
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
        ok = rs_annotations_enclose(b->spans, b->n_spans, points, n, count_inside, b, &b->p->n_too_deep);
    rs_map64_clear(&of_pid);
    rs_free(autograd);
    return ok;
}

static bool add_kernel(builder *b, size_t i)
{
    bool is_new;
    const rs_work *w = b->w;
    rs_annotations *p = b->p;
    uint32_t slot = b->inner[i], name = b->e->name[w->row[i]];
    int64_t time = rs_sub_sat(w->end[i], w->start[i]);
    rs_annotated *a = &p->items[slot];
    a->own_time = rs_add_sat(a->own_time, time);
    a->own_class[w->class[i]] = rs_add_sat(a->own_class[w->class[i]], time);
    a->n_own++;
    uint32_t *place = rs_map64_put(&b->kernels, (uint64_t)slot << 32 | name, &is_new);
    if (!place) return false;
    if (is_new) {
        const rs_string *s = &b->e->strings.items[name];
        if (!RS_GROW_ONE(p->kernels, p->n_kernels, p->kernels_capacity)) return false;
        const char *copy = rs_arena_strndup(&p->names, s->text, s->length);
        if (!copy) return false;
        *place = (uint32_t)p->n_kernels;
        p->kernels[p->n_kernels++] =
            (rs_annotated_kernel){.slot = slot, .name = copy, .class = (rs_class)w->class[i]};
    }
    rs_moments_add(&p->kernels[*place].time, time);
    return true;
}

static bool divide_work(builder *b, bool gpu)
{
    const rs_events *e = b->e;
    const rs_work *w = b->w;
    size_t n = 0;
    rs_point *points = rs_malloc((w->n + 1) * sizeof *points);
    uint32_t *which = rs_malloc((w->n + 1) * sizeof *which);
    b->stamp = rs_calloc(b->p->n + 1, sizeof *b->stamp);
    b->inner = rs_calloc(w->n + 1, sizeof *b->inner);
    bool ok = points && which && b->stamp && b->inner;
    for (size_t i = 0; ok && i < w->n; i++) {
        uint32_t row = gpu ? w->row[i] : w->launch[i];
        if (row == RS_NO_ROW) continue;
        points[n] = (rs_point){e->thread[row], gpu ? w->start[i] : e->start[row]};
        which[n++] = (uint32_t)i;
    }
    b->which = which;
    if (ok && n)
        ok = rs_annotations_enclose(b->spans, b->n_spans, points, n, count_inside, b, &b->p->n_too_deep);
    if (ok && !gpu) ok = charge_waiting(b, points, which);
    for (size_t i = 0; ok && i < w->n; i++) ok = add_kernel(b, i);
    rs_free(points);
    rs_free(which);
    rs_free(b->stamp);
    rs_free(b->inner);
    return ok;
}

/* ---- order --------------------------------------------------------------------------------------------- */

static int by_kernel(const void *a, const void *b)
{
    const rs_annotated_kernel *x = a, *y = b;
    if (x->slot != y->slot) return x->slot < y->slot ? -1 : 1;
    if (x->time.sum != y->time.sum) return x->time.sum > y->time.sum ? -1 : 1;
    int c = strcmp(x->name, y->name);
    return c ? c : (int)x->class - (int)y->class;
}

typedef struct slot_order {
    rs_annotated item;
    uint32_t slot;
} slot_order;

/* By inclusive GPU time, then own length, then name; work under no annotation last. */
static int by_time(const void *a, const void *b)
{
    const rs_annotated *x = &((const slot_order *)a)->item, *y = &((const slot_order *)b)->item;
    if (!x->name || !y->name) return (x->name ? 0 : 1) - (y->name ? 0 : 1);
    if (x->gpu_time != y->gpu_time) return x->gpu_time > y->gpu_time ? -1 : 1;
    if (x->length.sum != y->length.sum) return x->length.sum > y->length.sum ? -1 : 1;
    return strcmp(x->name, y->name);
}

static bool order(rs_annotations *p)
{
    slot_order *sorted = rs_malloc((p->n + 1) * sizeof *sorted);
    uint32_t *place = rs_malloc((p->n + 1) * sizeof *place);
    bool ok = sorted && place;
    for (size_t i = 0; ok && i < p->n; i++) sorted[i] = (slot_order){p->items[i], (uint32_t)i};
    if (ok && p->n) qsort(sorted, p->n, sizeof *sorted, by_time);
    for (size_t i = 0; ok && i < p->n; i++) {
        p->items[i] = sorted[i].item;
        place[sorted[i].slot] = (uint32_t)i;
    }
    for (size_t i = 0; ok && i < p->n_kernels; i++) p->kernels[i].slot = place[p->kernels[i].slot];
    if (ok && p->n_kernels) qsort(p->kernels, p->n_kernels, sizeof *p->kernels, by_kernel);
    rs_free(sorted);
    rs_free(place);
    return ok;
}

/* ---- one rank ------------------------------------------------------------------------------------------ */

static rs_status take_work(const rs_run *run, builder *b, bool gpu, rs_error *err)
{
    rs_selector selector;
    rs_status status = rs_trace_work(b->t, run->policy, &b->w, err);
    if (status == RS_OK) status = rs_trace_selector(b->t, &selector, err);
    if (status != RS_OK) return status;
    b->p->n_work = b->w->n;
    if (b->w->n >= UINT32_MAX || !list_spans(b, gpu, &selector) || !divide_work(b, gpu) || !order(b->p))
        status = rs_fail_nomem(err, "annotations");
    return status;
}

rs_status rs_annotations_rank(const rs_run *run, rs_trace *t, void **partial, rs_error *err)
{
    bool gpu = rs_annotations_of_gpu(run->options, false);
    rs_annotations *p = rs_calloc(1, sizeof *p);
    if (!p) return rs_fail_nomem(err, "annotations");
    *partial = p;
    builder b = {.t = t, .e = t->events, .p = p};
    uint32_t none;
    rs_status status = new_slot(&b, NULL, 0, &none) ? RS_OK : rs_fail_nomem(err, "annotations");
    if (status == RS_OK) status = take_work(run, &b, gpu, err);
    rs_map64_clear(&b.slots);
    rs_map64_clear(&b.kernels);
    rs_free(b.spans);
    return status;
}
