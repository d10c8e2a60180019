/* Which end belongs to which beginning of a slice.
 *
 * A writer that keeps to the order of time closes what it opened last. PyTorch's encoder does not keep to it: it writes
 * group by group, the beginnings of all slices of a group, then their ends in the same order, and leaves the sorting to
 * the viewer. So a writer whose times go back on some track is read by runs: beginnings, then as many ends. End i is that
 * of beginning i where both are of one track and the end is not earlier. This is exact, also for slices of no length. Where it
 * fails (a packet is lost), what fits from the front and from the back is taken, and the rest of each track is sorted by
 * time and paired as a stack: at one time first the ends of what was open, then beginnings, then their ends. */
#include "base/interval.h"
#include "base/memory.h"
#include "format/perfetto.h"

typedef struct pairing {
    rs_perfetto *p;
    rs_perfetto_mark *marks;
    size_t n;
    uint64_t no_begin;
} pairing;

static bool is_end(const rs_perfetto_mark *m)
{
    return m->row == RS_NO_ROW;
}

static void close_slice(pairing *a, uint32_t row, int64_t end)
{
    a->p->events->duration[row] = rs_sub_sat(end, a->p->events->start[row]);
}

/* ---- runs ---------------------------------------------------------------------------------------------- */

static bool fits(const rs_perfetto_mark *begin, const rs_perfetto_mark *end)
{
    return begin->track == end->track && end->time >= begin->time;
}

/* Pairs what fits; a mark that has its partner gets the track UINT32_MAX. */
static void pair_run(pairing *a, rs_perfetto_mark *begins, size_t n_begins, rs_perfetto_mark *ends,
                     size_t n_ends)
{
    size_t n = n_begins < n_ends ? n_begins : n_ends, front = 0, back = 0;
    while (front < n && fits(&begins[front], &ends[front])) front++;
    while (back < n && fits(&begins[n_begins - 1 - back], &ends[n_ends - 1 - back])) back++;
    /* where one is missing, the side that notices at once is right: an end that is missing shows from the back */
    if (front + back > n) {
        if (n_begins > n_ends)
            front = n - back;
        else
            back = n - front;
    }
    for (size_t i = 0; i < front + back; i++) {
        bool at_front = i < front;
        rs_perfetto_mark *b = at_front ? &begins[i] : &begins[n_begins - back + i - front];
        rs_perfetto_mark *e = at_front ? &ends[i] : &ends[n_ends - back + i - front];
        close_slice(a, b->row, e->time);
        b->track = e->track = UINT32_MAX;
    }
}

static void pair_runs(pairing *a)
{
    for (size_t i = 0, middle, end; i < a->n; i = end) {
        for (middle = i; middle < a->n && !is_end(&a->marks[middle]); middle++) {
        }
        for (end = middle; end < a->n && is_end(&a->marks[end]); end++) {
        }
        pair_run(a, a->marks + i, middle - i, a->marks + middle, end - middle);
    }
}

/* ---- stacks -------------------------------------------------------------------------------------------- */

typedef struct open_slices {
    uint32_t *rows; /* innermost last */
    size_t n;
} open_slices;

static void close_innermost(pairing *a, open_slices *open, int64_t end)
{
    if (open->n)
        close_slice(a, open->rows[--open->n], end);
    else
        a->no_begin++;
}

/* The marks of one moment of a track. */
static void pair_moment(pairing *a, const rs_keyed *order, size_t n, open_slices *open)
{
    int64_t now = a->marks[order[0].value].time;
    size_t ends = 0;
    for (size_t i = 0; i < n; i++) ends += is_end(&a->marks[order[i].value]);
    for (; ends && open->n; ends--) close_innermost(a, open, now);
    for (size_t i = 0; i < n; i++)
        if (!is_end(&a->marks[order[i].value])) open->rows[open->n++] = a->marks[order[i].value].row;
    for (; ends; ends--) close_innermost(a, open, now);
}

static uint64_t pair_track(pairing *a, const rs_keyed *order, size_t n, bool in_order, open_slices *open)
{
    open->n = 0;
    for (size_t i = 0, same; i < n; i = same) {
        const rs_perfetto_mark *m = &a->marks[order[i].value];
        for (same = i + 1; !in_order && same < n && a->marks[order[same].value].time == m->time; same++) {
        }
        if (!in_order)
            pair_moment(a, order + i, same - i, open);
        else if (is_end(m))
            close_innermost(a, open, m->time);
        else
            open->rows[open->n++] = m->row;
    }
    return open->n;
}

/* All marks that are left, track by track. *no_end: slices that never end; they keep no length. */
static bool pair_stacks(pairing *a, bool in_order, uint64_t *no_end)
{
    RS_LOCAL rs_keyed *order = rs_malloc((a->n + 1) * sizeof *order);
    open_slices open = {rs_malloc((a->n + 1) * sizeof *open.rows), 0};
    bool ok = order && open.rows;
    size_t n = 0;
    for (size_t i = 0; ok && i < a->n; i++)
        if (a->marks[i].track != UINT32_MAX) order[n++] = (rs_keyed){a->marks[i].time, (uint32_t)i};
    if (ok && !in_order) ok = rs_keyed_sort(order, n);
    for (size_t i = 0; ok && i < n; i++) order[i].key = a->marks[order[i].value].track;
    ok = ok && rs_keyed_sort(order, n);
    for (size_t i = 0, end; ok && i < n; i = end) {
        for (end = i + 1; end < n && order[end].key == order[i].key; end++) {
        }
        *no_end += pair_track(a, order + i, end - i, in_order, &open);
    }
    rs_free(open.rows);
    return ok;
}

/* ---- all of it ----------------------------------------------------------------------------------------- */

/* Whether the times of a writer go back on no track. last: by track. */
static bool keeps_order(const rs_perfetto_sequence *q, size_t n_tracks, int64_t *last)
{
    for (size_t i = 0; i < n_tracks; i++) last[i] = INT64_MIN;
    for (size_t i = 0; i < q->n_marks; i++) {
        const rs_perfetto_mark *m = &q->marks[i];
        if (m->time < last[m->track]) return false;
        last[m->track] = m->time;
    }
    return true;
}

rs_status rs_perfetto_pair(rs_perfetto *p)
{
    uint64_t no_end = 0, no_begin = 0;
    int64_t *last = rs_malloc((p->n_tracks + 1) * sizeof *last);
    bool ok = last != NULL;
    for (size_t i = 0; ok && i < p->n_sequences; i++) {
        rs_perfetto_sequence *q = &p->sequences[i];
        pairing a = {.p = p, .marks = q->marks, .n = q->n_marks};
        if (q->n_marks > UINT32_MAX) {
            rs_free(last);
            return rs_fail_at(p->err, RS_ERR_LIMIT, p->file, RS_NO_OFFSET,
                              "more than %u beginnings and ends of slices", UINT32_MAX);
        }
        bool in_order = keeps_order(q, p->n_tracks, last);
        if (!in_order) pair_runs(&a);
        ok = pair_stacks(&a, in_order, &no_end);
        no_begin += a.no_begin;
    }
    rs_free(last);
    if (!ok) return rs_fail_nomem(p->err, "slices");
    if (no_end)
        rs_problems_add_many(&p->events->problems, p->file, -1, RS_LOSS, "no_end",
                             "a slice begins whose end is not in the file; it was given no length",
                             RS_NO_OFFSET, no_end, NULL);
    if (no_begin)
        rs_problems_add_many(&p->events->problems, p->file, -1, RS_WARNING, "no_begin",
                             "a slice ends whose beginning is not in the file", RS_NO_OFFSET, no_begin, NULL);
    return RS_OK;
}
