/* Events out of a damaged packed file. What decodes behind damage may read well and be wrong: one wrong digit
 * puts an event years away from the others, and with it the end of the trace. Checksums tell which part of the
 * text is not proven. There an event is dropped whose times lie beyond a gap as long as the middle half of all
 * events takes, with fewer than one in twenty events there: a recording in several windows keeps them
 * all. */

#include "base/interval.h"
#include "base/order.h"
#include "format/kineto_reader.h"

#define FEW 20   /* one in so many may be wrong ... */
#define AT_ALL 8 /* ... and so many in any case */
#define LEAST 40

typedef struct bounds {
    int64_t first, last; /* of starts */
    int64_t end;         /* of ends */
} bounds;

static bool counts(const rs_events *e, size_t row)
{
    return e->phase[row] && e->phase[row] != 'M' && e->start[row] != RS_NO_TIME;
}

static const rs_order by_time[] = {RS_RISING_VALUE(int64_t)};

/* Where the bulk of the events lies; false: there are too few to tell. */
static rs_status find_bounds(const rs_events *e, bounds *out, bool *known, rs_error *err)
{
    RS_LOCAL int64_t *starts = rs_malloc((e->n + 1) * sizeof *starts);
    size_t n = 0;
    if (!starts) return rs_fail_nomem(err, "times");
    for (size_t i = 0; i < e->n; i++)
        if (counts(e, i)) starts[n++] = e->start[i];
    *known = n >= LEAST;
    if (*known) {
        RS_SORT(starts, n, by_time);
        int64_t middle = rs_sub_sat(starts[n - n / 4 - 1], starts[n / 4]);
        size_t few = n / FEW > AT_ALL ? n / FEW : AT_ALL, from = 0, to = n - 1;
        if (middle < 1) middle = 1;
        for (size_t i = 1; i <= few; i++) {
            if (rs_sub_sat(starts[i], starts[i - 1]) >= middle) from = i;
            if (rs_sub_sat(starts[n - i], starts[n - i - 1]) >= middle) to = n - i - 1;
        }
        *out = (bounds){starts[from], starts[to], rs_add_sat(starts[to], middle)};
    }
    return RS_OK;
}

static bool fits(const rs_events *e, size_t row, const bounds *b)
{
    int64_t start = e->start[row];
    if (!counts(e, row)) return true;
    if (start < b->first || start > b->last) return false;
    if (e->duration[row] == RS_NO_TIME) return true;
    return e->duration[row] >= 0 && rs_add_sat(start, e->duration[row]) <= b->end;
}

static void forget_arguments(rs_events *e, rs_sparse *column, bool real)
{
    size_t kept = 0;
    for (size_t i = 0; i < column->n; i++) {
        if (!e->phase[column->rows[i]]) continue;
        column->rows[kept] = column->rows[i];
        if (real || column->is_wide)
            column->wide[kept] = column->wide[i]; /* both take eight bytes */
        else
            column->narrow[kept] = column->narrow[i];
        kept++;
    }
    column->n = kept;
}

static rs_status drop(rs_events *e, size_t from, size_t to, const bounds *b, const char *file, rs_error *err)
{
    uint64_t n = 0;
    const rs_thread nobody = {RS_NO_VALUE, RS_NO_VALUE, RS_NO_STRING, RS_NO_STRING};
    uint32_t thread = rs_events_thread(e, nobody), none = rs_events_category(e, 0);
    if (thread == UINT32_MAX || none == UINT32_MAX) return rs_fail_nomem(err, "threads");
    for (size_t i = from; i < to; i++) {
        if (fits(e, i, b)) continue;
        e->phase[i] = 0;
        e->start[i] = e->duration[i] = RS_NO_TIME;
        e->name[i] = 0;
        e->thread[i] = thread;
        e->category[i] = (uint16_t)none;
        n++;
    }
    if (!n) return RS_OK;
    for (size_t c = 0; c < RS_N_COLUMNS; c++)
        forget_arguments(e, &e->args[c], rs_column_infos[c].type == RS_COLUMN_REAL);
    for (size_t c = 0; c < e->n_counters; c++) forget_arguments(e, &e->counters[c].values, true);
    e->n_lost += n;
    rs_problems_add_many(
        &e->problems, file, -1, RS_LOSS, "packing_implausible",
        "events whose times lie far from all others, in text that its checksum does not prove; dropped",
        RS_NO_OFFSET, n, NULL);
    return RS_OK;
}

rs_status rs_reader_doubt(rs_reader *r, const rs_source_end *end, rs_error *err)
{
    rs_events *e = r->core.events;
    size_t from = 0, to = e->n;
    bounds b;
    bool known = false;
    if (end->doubt_from >= end->doubt_to) return RS_OK;
    for (size_t i = 0; i < r->n_marks; i++) {
        if (r->marks[i].offset <= end->doubt_from) from = r->marks[i].rows;
        if (r->marks[i].offset >= end->doubt_to && r->marks[i].rows < to) to = r->marks[i].rows;
    }
    rs_status status = find_bounds(e, &b, &known, err);
    return status == RS_OK && known ? drop(e, from, to, &b, r->core.file, err) : status;
}
