#include "analysis/frame_rows.h"

#include <string.h>

#include "base/interval.h"
#include "base/memory.h"

void rs_frame_rows_free(void *value)
{
    rs_frame_rows *f = value;
    if (!f) return;
    rs_free_all(f->row, f->start, f->end, f->stream, f->correlation, f->partner, f);
}

rs_frame_rows *rs_frame_rows_create(size_t n)
{
    rs_frame_rows *f = rs_calloc(1, sizeof *f);
    if (!f) return NULL;
    f->row = rs_malloc(n * sizeof *f->row);
    f->start = rs_malloc(n * sizeof *f->start);
    f->end = rs_malloc(n * sizeof *f->end);
    f->stream = rs_malloc(n * sizeof *f->stream);
    f->correlation = rs_malloc(n * sizeof *f->correlation);
    f->partner = rs_malloc(n * sizeof *f->partner);
    if (f->row && f->start && f->end && f->stream && f->correlation && f->partner) return f;
    rs_frame_rows_free(f);
    return NULL;
}

void rs_frame_rows_move(rs_frame_rows *to, const rs_frame_rows *from, size_t i)
{
    size_t at = to->n++;
    to->row[at] = from->row[i];
    to->start[at] = from->start[i];
    to->end[at] = from->end[i];
    to->stream[at] = from->stream[i];
    to->correlation[at] = from->correlation[i];
    to->partner[at] = from->partner[i];
}

static bool has_category(const rs_events *e, size_t category)
{
    return e->categories[category].kind != RS_KIND_SPAN &&
           e->strings.items[e->categories[category].name].length > 0;
}

bool rs_frame_has_row(const rs_events *e, uint32_t row)
{
    return has_category(e, e->category[row]) && rs_event_is_span(e, row);
}

bool rs_frame_is_work(const rs_events *e, const rs_frame_rows *f, size_t i)
{
    if (f->stream[i] >= 0 && f->correlation[i] >= 0) return true;
    if (rs_event_kind(e, f->row[i]) != RS_KIND_SYNC) return false;
    const char *name = rs_event_name(e, f->row[i]);
    return strcmp(name, "Event Sync") == 0 || strcmp(name, "Context Sync") == 0;
}

bool rs_frame_correlations(const rs_frame_rows *f, rs_keymap *map)
{
    int64_t min = INT64_MAX, max = INT64_MIN;
    size_t n = 0;
    for (size_t i = 0; i < f->n; i++) {
        if (f->correlation[i] == -1) continue;
        n++;
        if (f->correlation[i] < min) min = f->correlation[i];
        if (f->correlation[i] > max) max = f->correlation[i];
    }
    return rs_keymap_init(map, min, max, n);
}

/* Each side of a correlation learns the last row of the other side. */
static bool find_partners(const rs_events *e, rs_frame_rows *f)
{
    RS_LOCAL uint8_t *work = rs_malloc(f->n);
    bool ok = work != NULL;
    for (size_t i = 0; ok && i < f->n; i++) work[i] = rs_frame_is_work(e, f, i);
    for (int side = 0; ok && side < 2; side++) {
        rs_keymap last;
        ok = rs_frame_correlations(f, &last);
        for (size_t i = 0; ok && i < f->n; i++)
            if (work[i] == side && f->correlation[i] != -1)
                ok = rs_keymap_put(&last, f->correlation[i], f->row[i]);
        for (size_t i = 0; ok && i < f->n; i++)
            if (work[i] != side && f->correlation[i] != -1)
                f->partner[i] = rs_keymap_get(&last, f->correlation[i]);
        rs_keymap_clear(&last);
    }
    return ok;
}

static bool *frame_categories(const rs_events *e)
{
    bool *in = rs_malloc(e->n_categories * sizeof *in);
    for (size_t i = 0; in && i < e->n_categories; i++) in[i] = has_category(e, i);
    return in;
}

rs_frame_rows *rs_frame_rows_of(const rs_trace *trace)
{
    const rs_events *e = trace->events;
    RS_LOCAL bool *in = frame_categories(e);
    size_t n = 0;
    for (size_t i = 0; in && i < trace->n_rows; i++) {
        uint32_t row = rs_trace_row(trace, i);
        n += in[e->category[row]] && rs_event_is_span(e, row);
    }
    rs_frame_rows *f = in ? rs_frame_rows_create(n) : NULL;
    rs_cursor stream = rs_cursor_of(e, RS_COL_STREAM), correlation = rs_cursor_of(e, RS_COL_CORRELATION);
    if (f) f->min_start = RS_NO_TIME;
    for (size_t i = 0; f && i < trace->n_rows; i++) {
        uint32_t row = rs_trace_row(trace, i);
        if (!in[e->category[row]] || !rs_event_is_span(e, row)) continue;
        size_t at = f->n++;
        f->row[at] = row;
        f->start[at] = e->start[row];
        f->end[at] = rs_add_sat(e->start[row], e->duration[row]);
        f->stream[at] = rs_cursor_int(&stream, row, -1);
        f->correlation[at] = rs_cursor_int(&correlation, row, -1);
        f->partner[at] = RS_NO_ROW;
        if (f->min_start == RS_NO_TIME || f->start[at] < f->min_start) f->min_start = f->start[at];
    }
    if (f && find_partners(e, f)) return f;
    rs_frame_rows_free(f);
    return NULL;
}

static rs_status make(rs_trace *trace, const void *key, void **out, rs_error *err)
{
    (void)key;
    *out = rs_frame_rows_of(trace);
    return *out ? RS_OK : rs_fail_nomem(err, "rows of the frame");
}

const rs_facet rs_facet_frame_rows = {.name = "rows of the frame",
                                      .columns = RS_COLUMN_BIT(STREAM) | RS_COLUMN_BIT(CORRELATION),
                                      .make = make,
                                      .release = rs_frame_rows_free};
