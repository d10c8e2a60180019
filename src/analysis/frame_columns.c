#include "analysis/frame_columns.h"

#include <string.h>

#include "base/interval.h"
#include "base/memory.h"
#include "base/ranges.h"
#include "base/search.h"
#include "trace/selection.h"

void rs_frame_columns_clear(rs_frame_columns *c)
{
    rs_free_all(c->iteration, c->gpu, c->annotation);
    *c = (rs_frame_columns){0};
}

/* ---- the step by our rules ----------------------------------------------------------------------------- */

rs_status rs_frame_own_iterations(rs_trace *trace, const rs_policy *policy, const rs_frame_rows *f,
                                  int64_t *iteration, rs_error *err)
{
    const rs_events *e = trace->events;
    const rs_step *steps, *gpu_steps;
    const rs_work *work;
    rs_policy all = *policy;
    size_t n, n_gpu, at = 0;
    all.whole = true;
    rs_status status = rs_trace_steps(trace, &steps, &n, err);
    if (status == RS_OK) status = rs_trace_gpu_steps(trace, &gpu_steps, &n_gpu, err);
    if (status == RS_OK) status = rs_trace_work_details(trace, &all, &work, err);
    for (size_t i = 0; status == RS_OK && i < f->n; i++) {
        uint32_t row = f->row[i]; /* ascending, as nothing was cut */
        while (at < work->n && work->row[at] < row) at++;
        if (at < work->n && work->row[at] == row)
            iteration[i] = work->step[at];
        else if (rs_kind_is_gpu_work(rs_event_kind(e, row)))
            iteration[i] = -1;
        else
            iteration[i] = rs_row_step(e, steps, n, gpu_steps, n_gpu, row);
    }
    return status;
}

/* ---- annotations of GPU rows --------------------------------------------------------------------------- */

/* GPU rows of one thread by start, and the latest end below each node of a binary tree over them. */
typedef struct end_tree {
    int64_t *latest; /* 2 * size; INT64_MIN once the row has its annotation */
    size_t size;
} end_tree;

static void tree_set(end_tree *t, size_t leaf, int64_t end)
{
    size_t at = leaf + t->size;
    for (t->latest[at] = end; at > 1;) {
        at >>= 1;
        int64_t a = t->latest[2 * at], b = t->latest[2 * at + 1];
        t->latest[at] = a > b ? a : b;
    }
}

/* Some leaf below limit that ends after time, or SIZE_MAX. */
static size_t tree_find(const end_tree *t, size_t limit, int64_t time)
{
    /* the leftmost such leaf lies left of limit or there is none */
    if (t->latest[1] <= time) return SIZE_MAX;
    size_t at = 1;
    while (at < t->size) at = t->latest[2 * at] > time ? 2 * at : 2 * at + 1;
    at -= t->size;
    return at < limit ? at : SIZE_MAX;
}

typedef struct lane {
    const rs_frame_rows *f;
    const rs_keyed *rows;        /* by start: place in the frame */
    const rs_keyed *annotations; /* by length, shortest first: place in the frame */
    size_t n_rows, n_annotations;
} lane;

static bool annotate_lane(const rs_events *e, const lane *l, uint32_t *annotation)
{
    end_tree t = {.size = 1};
    while (t.size < l->n_rows) t.size *= 2;
    t.latest = rs_malloc(2 * t.size * sizeof *t.latest);
    if (!t.latest) return false;
    for (size_t i = 0; i < 2 * t.size; i++) t.latest[i] = INT64_MIN;
    for (size_t i = 0; i < l->n_rows; i++) t.latest[t.size + i] = l->f->end[l->rows[i].value];
    for (size_t i = t.size; i-- > 1;)
        t.latest[i] = t.latest[2 * i] > t.latest[2 * i + 1] ? t.latest[2 * i] : t.latest[2 * i + 1];
    for (size_t k = 0; k < l->n_annotations; k++) {
        size_t from = l->annotations[k].value, low; /* rows that start before its end */
        RS_SEARCH(low, l->n_rows, l->rows[low].key < l->f->end[from]);
        for (size_t at; (at = tree_find(&t, low, l->f->start[from])) != SIZE_MAX;) {
            annotation[l->rows[at].value] = e->name[l->f->row[from]];
            tree_set(&t, at, INT64_MIN);
        }
    }
    rs_free(t.latest);
    return true;
}

/* Sorted by thread, and within one by what they were sorted by before. */
static bool by_thread(const rs_events *e, const rs_frame_rows *f, rs_keyed *items, size_t n, rs_keyed *spare)
{
    if (!rs_keyed_sort(items, n)) return false;
    for (size_t i = 0; i < n; i++) spare[i] = (rs_keyed){e->thread[f->row[items[i].value]], (uint32_t)i};
    if (!rs_keyed_sort(spare, n)) return false;
    for (size_t i = 0; i < n; i++) spare[i] = items[spare[i].value];
    if (n) memcpy(items, spare, n * sizeof *items);
    return true;
}

static uint32_t thread_of(const rs_events *e, const rs_frame_rows *f, const rs_keyed *item)
{
    return e->thread[f->row[item->value]];
}

static bool annotate(const rs_events *e, const rs_frame_rows *f, rs_frame_columns *out)
{
    RS_LOCAL rs_keyed *rows = rs_malloc((f->n + 1) * sizeof *rows),
                      *over = rs_malloc((f->n + 1) * sizeof *over);
    RS_LOCAL rs_keyed *spare = rs_malloc((f->n + 1) * sizeof *spare);
    size_t n = 0, n_over = 0;
    bool ok = rows && over && spare;
    for (size_t i = 0; ok && i < f->n; i++) {
        out->annotation[i] = RS_NO_STRING;
        if (rs_event_kind(e, f->row[i]) == RS_KIND_GPU_USER_ANNOTATION) {
            /* of equally long ones HTA's sort leaves the order open; the later in the file counts as inner */
            int64_t length = rs_sub_sat(f->end[i], f->start[i]);
            if (length > 0) over[n_over++] = (rs_keyed){length, (uint32_t)i};
        } else if (out->gpu[i]) {
            rows[n++] = (rs_keyed){f->start[i], (uint32_t)i};
        }
    }
    ok = ok && by_thread(e, f, rows, n, spare) && by_thread(e, f, over, n_over, spare);
    for (size_t a = 0, b = 0, a_end, b_end; ok && a < n && b < n_over; a = a_end, b = b_end) {
        uint32_t x = thread_of(e, f, &rows[a]), y = thread_of(e, f, &over[b]);
        a_end = a;
        b_end = b;
        if (x <= y)
            while (a_end < n && thread_of(e, f, &rows[a_end]) == x) a_end++;
        if (y <= x)
            while (b_end < n_over && thread_of(e, f, &over[b_end]) == y) b_end++;
        lane l = {f, rows + a, over + b, a_end - a, b_end - b};
        if (x == y) ok = annotate_lane(e, &l, out->annotation);
    }
    return ok;
}

/* ---- all of them --------------------------------------------------------------------------------------- */

bool rs_frame_is_gpu_work(const rs_events *e, const rs_frame_rows *f, size_t i)
{
    return rs_kind_is_gpu_work(rs_event_kind(e, f->row[i]));
}

bool rs_frame_row_is_selected(const rs_trace *trace, const rs_frame_rows *f, const rs_frame_columns *columns,
                              size_t i)
{
    const rs_selection *s = trace->selection;
    if (!rs_trace_is_selected(trace)) return true;
    if (s->by_step && !rs_ranges_has(&s->steps, columns->iteration[i])) return false;
    if (!s->by_window) return true;
    bool launched = f->stream[i] != -1 && f->partner[i] != RS_NO_ROW;
    int64_t start = trace->events->start[launched ? f->partner[i] : f->row[i]];
    return rs_selection_has_time(s, start);
}

rs_status rs_frame_columns_make(rs_trace *trace, const rs_policy *policy, const rs_frame_rows *f,
                                const rs_frame_column_rules *rules, rs_frame_columns *out, rs_error *err)
{
    out->iteration = rs_malloc((f->n + 1) * sizeof *out->iteration);
    out->gpu = rs_malloc(f->n + 1);
    out->annotation = rs_malloc((f->n + 1) * sizeof *out->annotation);
    if (!out->iteration || !out->gpu || !out->annotation) return rs_fail_nomem(err, "frame");
    for (size_t i = 0; i < f->n; i++) out->gpu[i] = rules->is_gpu(trace->events, f, i);
    if (!annotate(trace->events, f, out)) return rs_fail_nomem(err, "frame");
    return rules->iterations(trace, policy, f, out->iteration, err);
}
