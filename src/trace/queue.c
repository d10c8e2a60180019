#include "trace/queue.h"

#include <string.h>

#include "base/interval.h"
#include "base/keymap.h"
#include "base/memory.h"

void rs_queue_free(rs_queue *q)
{
    if (!q) return;
    rs_free(q->time);
    rs_free(q->row);
    rs_free(q->work);
    rs_free(q->device);
    rs_free(q->stream);
    rs_free(q->length);
    rs_free(q->starts);
    rs_free(q);
}

static rs_queue *make(size_t n)
{
    rs_queue *q = rs_calloc(1, sizeof *q);
    if (!q) return NULL;
    q->time = rs_malloc(n * sizeof *q->time);
    q->row = rs_malloc(n * sizeof *q->row);
    q->work = rs_malloc(n * sizeof *q->work);
    q->device = rs_malloc(n * sizeof *q->device);
    q->stream = rs_malloc(n * sizeof *q->stream);
    q->length = rs_malloc(n * sizeof *q->length);
    q->starts = rs_malloc(n + 1);
    if (q->time && q->row && q->work && q->device && q->stream && q->length && q->starts) return q;
    rs_queue_free(q);
    return NULL;
}

static void add(rs_queue *q, int64_t time, uint32_t row, uint32_t work, int64_t device, int64_t stream,
                bool starts)
{
    size_t at = q->n++;
    q->time[at] = time;
    q->row[at] = row;
    q->work[at] = work;
    q->device[at] = device;
    q->stream[at] = stream;
    q->length[at] = 0;
    q->starts[at] = starts;
}

/* Samples stand in the order that breaks ties; puts them by device, stream, time and counts. NULL when out of
 * memory, q is freed either way. */
static rs_queue *finish(rs_queue *q)
{
    rs_keyed *order = rs_malloc(q->n * sizeof *order);
    rs_queue *sorted = make(q->n);
    bool ok = order && sorted;
    for (size_t i = 0; ok && i < q->n; i++) order[i] = (rs_keyed){q->time[i], (uint32_t)i};
    ok = ok && rs_keyed_sort(order, q->n);
    for (size_t i = 0; ok && i < q->n; i++) order[i].key = q->stream[order[i].value];
    ok = ok && rs_keyed_sort(order, q->n);
    for (size_t i = 0; ok && i < q->n; i++) order[i].key = q->device[order[i].value];
    ok = ok && rs_keyed_sort(order, q->n);
    int64_t length = 0;
    for (size_t i = 0; ok && i < q->n; i++) {
        size_t k = order[i].value, before = sorted->n - 1;
        if (i == 0 || sorted->stream[before] != q->stream[k] || sorted->device[before] != q->device[k])
            length = 0;
        length += q->starts[k] ? -1 : 1;
        add(sorted, q->time[k], q->row[k], q->work[k], q->device[k], q->stream[k], q->starts[k]);
        sorted->length[i] = length;
    }
    rs_free(order);
    rs_queue_free(q);
    if (ok) return sorted;
    rs_queue_free(sorted);
    return NULL;
}

rs_status rs_queue_create(const rs_work *w, const rs_events *e, rs_queue **out, rs_error *err)
{
    size_t linked = w->n - w->n_unlinked;
    rs_queue *q = linked < UINT32_MAX / 2 ? make(2 * linked) : NULL;
    for (size_t i = 0; q && i < w->n; i++)
        if (w->launch[i] != RS_NO_ROW)
            add(q, w->start[i], w->row[i], w->row[i], w->device[i], w->stream[i], true);
    for (size_t i = 0; q && i < w->n; i++)
        if (w->launch[i] != RS_NO_ROW)
            add(q, e->start[w->launch[i]], w->launch[i], w->row[i], w->device[i], w->stream[i], false);
    *out = q ? finish(q) : NULL;
    return *out ? RS_OK : rs_fail_nomem(err, "queue lengths");
}

/* ---- HTA's ------------------------------------------------------------------------------------------ */

bool rs_hta_is_launch_name(const char *name)
{
    static const char *const names[] = {
        "cudaLaunchKernel", "cudaLaunchKernelExC",      "cuLaunchKernel",
        "cuLaunchKernelEx", "cudaMemcpyAsync",          "cudaMemsetAsync",
        "hipLaunchKernel",  "hipExtModuleLaunchKernel", "hipMemcpyAsync",
        "hipMemsetAsync",   "hipMemcpyWithStream",      "runFunction - job_prep_and_submit_for_execution"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0) return true;
    return false;
}

rs_status rs_queue_create_hta(const rs_events *e, const rs_hta_frame *f, rs_queue **out, rs_error *err)
{
    uint8_t *launches = rs_malloc(e->strings.n + 1); /* by name */
    rs_keymap calls;
    int64_t min = INT64_MAX, max = INT64_MIN;
    size_t n_calls = 0, n = 0;
    for (size_t i = 0; launches && i < e->strings.n; i++)
        launches[i] = rs_hta_is_launch_name(e->strings.items[i].text);
    bool ok = launches != NULL;
#define IS_LAUNCH(i) (launches[e->name[f->row[i]]] && f->partner[i] != RS_NO_ROW && f->partner[i] > 0)
    for (size_t i = 0; ok && i < f->n; i++) {
        if (!IS_LAUNCH(i)) continue;
        n_calls++;
        if (f->correlation[i] < min) min = f->correlation[i];
        if (f->correlation[i] > max) max = f->correlation[i];
    }
    ok = rs_keymap_init(&calls, min, max, n_calls) && ok;
    for (size_t i = 0; ok && i < f->n; i++)
        if (IS_LAUNCH(i)) ok = rs_keymap_put(&calls, f->correlation[i], (uint32_t)i);
#undef IS_LAUNCH
    for (size_t i = 0; ok && i < f->n; i++)
        n += f->stream[i] != -1 && rs_keymap_get(&calls, f->correlation[i]) != RS_KEYMAP_NONE;
    rs_queue *q = ok && n < UINT32_MAX / 2 ? make(2 * n) : NULL;
    for (int starts = 0; q && starts < 2; starts++) {
        for (size_t i = 0; i < f->n; i++) {
            if (f->stream[i] == -1) continue;
            uint32_t call = rs_keymap_get(&calls, f->correlation[i]);
            if (call == RS_KEYMAP_NONE) continue;
            size_t at = starts ? i : call;
            add(q, f->start[at], f->row[at], f->row[i], 0, f->stream[i], starts);
        }
    }
    rs_keymap_clear(&calls);
    rs_free(launches);
    *out = q ? finish(q) : NULL;
    return *out ? RS_OK : rs_fail_nomem(err, "queue lengths");
}
