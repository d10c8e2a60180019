/* The history as a page shows it: ranks by time, and which windows still have their traces. */
#include <math.h>
#include <string.h>

#include "analysis/analysis.h"
#include "base/interval.h"
#include "base/order.h"
#include "base/stats.h"
#include "base/try.h"
#include "table/record.h"
#include "watch/watch.h"

#define MOST_COLUMNS 96
#define LEAST_COLUMNS 8 /* days, or hours, are columns where there are so many of them */
#define MOST_ROWS 128

typedef struct column_line {
    int64_t place, start, window, windows;
} column_line;

#define COLUMN_LINE(CELL)                                                                                    \
    CELL(OF(column_line, place), "place", INT, ID, "its place on the map", NULL)                             \
    CELL(OF(column_line, start), "start_unix_ns", INT, ID, "start of its first window, ns", "start (ns)")    \
    CELL(OF(column_line, window), "window", INT, ID, "number of its first window", NULL)                     \
    CELL(OF(column_line, windows), "windows", INT, COUNT, "windows in it", NULL)
RS_RECORD(column_line, COLUMN_LINE);

typedef struct cell_line {
    int64_t place, rank, worst;
    double late, step;
} cell_line;

#define CELL_LINE(CELL)                                                                                      \
    CELL(OF(cell_line, place), "place", INT, ID, "column of the map", NULL)                                  \
    CELL(OF(cell_line, rank), "rank", INT, ID, "first rank of the row", NULL)                                \
    CELL(ID(cell_line, worst), "worst_rank", INT, ID, "rank of the row whose own work is the longest", NULL) \
    CELL(OF(cell_line, late), "late_pct", REAL, PERCENT,                                                     \
         "own work of that rank above the median of all ranks, mean over windows", "late %")                 \
    CELL(OF(cell_line, step), "step_us", REAL, US, "mean step of the row's rank with the longest one", "step")
RS_RECORD(cell_line, CELL_LINE);

typedef struct kept_line {
    int64_t window, start, files, bytes;
    const char *first;
} kept_line;

#define KEPT_LINE(CELL)                                                                                      \
    CELL(OF(kept_line, window), "window", INT, ID, "its number in the history", NULL)                        \
    CELL(OF(kept_line, start), "start_unix_ns", INT, ID, "first event on the epoch clock, ns", "start (ns)") \
    CELL(OF(kept_line, files), "files", INT, COUNT, "traces of it that are there", NULL)                     \
    CELL(OF(kept_line, bytes), "bytes", INT, BYTES, "their size", NULL)                                      \
    CELL(OF(kept_line, first), "first", TEXT, NONE, "path of the first of them", NULL)
RS_RECORD(kept_line, KEPT_LINE);

static const rs_table_spec column_table = RS_TABLE(
    "columns", "one row is a column of the map: a day, an hour, or windows in a row", column_line_columns);
static const rs_table_spec cell_table =
    RS_TABLE("map", "one row is a rank, or ranks in a row, in a column of the map", cell_line_columns);
static const rs_table_spec kept_table =
    RS_TABLE("kept", "one row is a window whose traces are there", kept_line_columns);

/* ---- columns ------------------------------------------------------------------------------------------------ */

#define NS_A_SECOND INT64_C(1000000000)

/* How windows become columns: by runs of equal `start / span_ns`, or so many windows each. */
typedef struct division {
    int64_t span_ns; /* 0: by number */
    size_t each;
    int64_t key;
    size_t in_column;
} division;

/* Whether the window begins a column. */
static bool divide(division *d, int64_t start_ns)
{
    int64_t key = d->span_ns ? start_ns / d->span_ns : 0;
    bool begins = !d->in_column || (d->span_ns ? key != d->key : d->in_column == d->each);
    d->in_column = begins ? 1 : d->in_column + 1;
    d->key = key;
    return begins;
}

enum { DAYS, HOURS, DIVISIONS };

typedef struct survey {
    division by[DIVISIONS];
    size_t columns[DIVISIONS], windows;
    int64_t *ranks; /* of any window, ascending */
    size_t n_ranks, capacity;
} survey;

static const rs_order by_number[] = {RS_RISING_VALUE(int64_t)};

static rs_status add_ranks(survey *s, const rs_window_values *w, rs_error *err)
{
    size_t i = 0, n = s->n_ranks;
    for (size_t k = 0; k < w->n; k++) {
        while (i < n && s->ranks[i] < w->ranks[k]) i++;
        if (i < n && s->ranks[i] == w->ranks[k]) continue;
        if (!RS_PUSH(s->ranks, s->n_ranks, s->capacity, w->ranks[k])) return rs_fail_nomem(err, "the map");
    }
    if (s->n_ranks > n) RS_SORT(s->ranks, s->n_ranks, by_number);
    return RS_OK;
}

static rs_status look_at(void *context, const rs_window_values *w, rs_error *err)
{
    survey *s = context;
    for (int i = 0; i < DIVISIONS; i++) s->columns[i] += divide(&s->by[i], w->start_ns);
    s->windows++;
    return add_ranks(s, w, err);
}

static division choose_division(const survey *s)
{
    for (int i = 0; i < DIVISIONS && s->windows > MOST_COLUMNS; i++)
        if (s->columns[i] >= LEAST_COLUMNS && s->columns[i] <= MOST_COLUMNS)
            return (division){.span_ns = s->by[i].span_ns};
    return (division){.each = (s->windows + MOST_COLUMNS - 1) / MOST_COLUMNS};
}

/* ---- cells -------------------------------------------------------------------------------------------------- */

typedef struct sums {
    double late, step;
    uint32_t n_late, n_step;
} sums;

typedef struct mapping {
    const survey *survey;
    division division;
    sums *sums; /* by place in the survey's ranks, of the column */
    double *scratch;
    size_t scratch_capacity;
    column_line column;
    rs_table *columns, *cells;
} mapping;

static rs_status put_cell(mapping *m, size_t from, size_t to, rs_error *err)
{
    cell_line line = {m->column.place, m->survey->ranks[from], -1, (double)NAN, (double)NAN};
    for (size_t i = from; i < to; i++) {
        const sums *s = &m->sums[i];
        double late = s->n_late ? s->late / s->n_late : (double)NAN,
               step = s->n_step ? s->step / s->n_step : (double)NAN;
        if (!isnan(late) && !(line.late >= late)) line.late = late, line.worst = m->survey->ranks[i];
        line.step = fmax(line.step, step);
    }
    if (isnan(line.late) && isnan(line.step)) return RS_OK; /* none of them was there */
    return rs_table_put_row(m->cells, &cell_line_record, 0, &line, err);
}

static rs_status end_column(mapping *m, rs_error *err)
{
    size_t n = m->survey->n_ranks, each = (n + MOST_ROWS - 1) / MOST_ROWS;
    if (!m->column.windows) return RS_OK;
    RS_TRY(rs_table_put_row(m->columns, &column_line_record, 0, &m->column, err));
    for (size_t i = 0; i < n; i += each) RS_TRY(put_cell(m, i, i + each < n ? i + each : n, err));
    memset(m->sums, 0, n * sizeof *m->sums);
    m->column = (column_line){.place = m->column.place + 1};
    return RS_OK;
}

/* The median of the known values. */
static double median_of(mapping *m, const float *values, size_t n)
{
    size_t known = 0;
    for (size_t i = 0; values && i < n; i++)
        if (values[i] > 0) m->scratch[known++] = (double)values[i];
    rs_sort_doubles(m->scratch, known);
    return rs_quantile(m->scratch, known, 0.5);
}

static rs_status add_window(void *context, const rs_window_values *w, rs_error *err)
{
    mapping *m = context;
    const float *own = w->values[RS_WATCH_OWN], *steps = w->values[RS_WATCH_STEP];
    if (!rs_grow((void **)&m->scratch, &m->scratch_capacity, w->n + 1, sizeof *m->scratch))
        return rs_fail_nomem(err, "the map");
    if (divide(&m->division, w->start_ns)) {
        RS_TRY(end_column(m, err));
        m->column.start = w->start_ns;
        m->column.window = w->id;
    }
    m->column.windows++;
    double usual = median_of(m, own, w->n);
    for (size_t i = 0, at = 0; i < w->n; i++) {
        while (at < m->survey->n_ranks && m->survey->ranks[at] < w->ranks[i]) at++;
        if (at == m->survey->n_ranks) break; /* it came after the survey */
        sums *s = &m->sums[at];
        if (own && own[i] > 0 && usual > 0) s->late += 100 * ((double)own[i] / usual - 1), s->n_late++;
        if (steps && steps[i] > 0) s->step += (double)steps[i], s->n_step++;
    }
    return RS_OK;
}

static void mapping_clear(mapping *m)
{
    rs_free_all(m->sums, m->scratch);
}

static void survey_clear(survey *s)
{
    rs_free(s->ranks);
}

static rs_status fill_map(rs_watch *w, rs_table *columns, rs_table *cells, rs_error *err)
{
    RS_SCOPED(survey_clear)
    survey s = {.by = {{.span_ns = 86400 * NS_A_SECOND}, {.span_ns = 3600 * NS_A_SECOND}}};
    RS_TRY(rs_history_each_window(w->history, 0, look_at, &s, err));
    RS_SCOPED(mapping_clear) mapping m = {.survey = &s, .columns = columns, .cells = cells};
    m.division = choose_division(&s);
    m.sums = rs_calloc(s.n_ranks + 1, sizeof *m.sums);
    if (!m.sums) return rs_fail_nomem(err, "the map");
    RS_TRY(rs_history_each_window(w->history, 0, add_window, &m, err));
    return end_column(&m, err);
}

/* ---- traces that are there ---------------------------------------------------------------------------------- */

typedef struct kept_file {
    int64_t window, bytes;
    const char *path;
} kept_file;

static const rs_order by_window[] = {RS_RISING(kept_file, window), RS_RISING(kept_file, path)};

static rs_status put_kept(rs_watch *w, const kept_file *files, size_t n, rs_table *table, rs_error *err)
{
    for (size_t i = 0; i < n;) {
        kept_line line = {.window = files[i].window, .first = files[i].path};
        RS_TRY(rs_history_window_start(w->history, line.window, &line.start, err));
        for (; i < n && files[i].window == line.window; i++) {
            line.files++;
            line.bytes = rs_add_sat(line.bytes, files[i].bytes);
        }
        RS_TRY(rs_table_put_row(table, &kept_line_record, 0, &line, err));
    }
    return RS_OK;
}

/* By window. *out is to be freed, also after a failure. */
static rs_status find_kept(rs_watch *w, kept_file **out, size_t *n_out, rs_error *err)
{
    kept_file *files = *out = rs_malloc((w->paths.n + 1) * sizeof *files);
    size_t n = 0;
    if (!files) return rs_fail_nomem(err, "the traces");
    for (uint32_t i = 1; i < w->paths.n && i < w->files_capacity; i++) {
        const rs_watched_file *f = &w->files[i];
        int64_t window = 0;
        if (f->in_scan) RS_TRY(rs_history_file_window(w->history, f->key, &window, err));
        if (window) files[n++] = (kept_file){window, f->size, w->paths.items[i].text};
    }
    RS_SORT(files, n, by_window);
    *n_out = n;
    return RS_OK;
}

static rs_status fill_kept(rs_watch *w, rs_table *table, rs_error *err)
{
    RS_LOCAL kept_file *files = NULL;
    size_t n = 0;
    RS_TRY(find_kept(w, &files, &n, err));
    return put_kept(w, files, n, table, err);
}

rs_status rs_watch_each_kept(rs_watch *w, rs_watch_kept_fn take, void *context, rs_error *err)
{
    RS_LOCAL kept_file *files = NULL;
    size_t n = 0;
    RS_TRY(find_kept(w, &files, &n, err));
    RS_LOCAL const char **paths = rs_malloc((n + 1) * sizeof *paths);
    if (!paths) return rs_fail_nomem(err, "the traces");
    for (size_t i = 0, first = 0; i < n; i++) {
        paths[i - first] = files[i].path;
        if (i + 1 < n && files[i + 1].window == files[i].window) continue;
        RS_TRY(take(context, files[i].window, paths, i + 1 - first, err));
        first = i + 1;
    }
    return RS_OK;
}

rs_status rs_watch_map(rs_watch *w, const char *const *sources, size_t n, rs_result *result, rs_error *err)
{
    static const rs_table_spec *const specs[] = {&column_table, &cell_table, &kept_table};
    enum { COLUMNS, MAP, KEPT, N };
    const size_t first = result->n_tables;
    rs_table **tables = rs_realloc(result->tables, (first + N) * sizeof *tables);
    if (!tables) return rs_fail_nomem(err, "the tables");
    result->tables = tables;
    for (; result->n_tables < first + N; result->n_tables++) {
        tables[result->n_tables] = rs_table_create(specs[result->n_tables - first]);
        if (!tables[result->n_tables]) return rs_fail_nomem(err, "the tables");
    }
    RS_TRY(rs_watch_scan(w, sources, n, err));
    RS_TRY(fill_map(w, tables[first + COLUMNS], tables[first + MAP], err));
    return fill_kept(w, tables[first + KEPT], err);
}
