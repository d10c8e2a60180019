#include "watch/pieces.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "table/cells.h"

#define HEAD (64 << 10) /* bytes of a text by which it is recognised */

enum { INFO, SUMMARY, BREAKDOWN, MFU, MEMORY_USE, QUESTIONS };
static const char *const questions[QUESTIONS] = {"info", "summary", "breakdown", "mfu", "memory"};

void rs_pieces_clear(rs_pieces *p)
{
    rs_free(p->items);
    rs_problems_clear(&p->problems);
    *p = (rs_pieces){0};
}

/* ---- cells -------------------------------------------------------------------------------------------------- */

/* A number of a row; NaN where the table, the column or the value is not there. */
static double cell(const rs_table *table, size_t row, const char *name)
{
    size_t column = table ? rs_table_column_of(table, name) : SIZE_MAX;
    return column == SIZE_MAX || rs_table_is_null(table, row, column) ? (double)NAN
                                                                      : rs_table_real(table, row, column);
}

static int64_t number(const rs_table *table, size_t row, const char *name, int64_t unknown)
{
    size_t column = rs_table_column_of(table, name);
    return column == SIZE_MAX || rs_table_is_null(table, row, column) ? unknown
                                                                      : rs_table_int(table, row, column);
}

/* The first row of that rank, or none: n. */
static size_t row_of(const rs_table *table, int64_t rank)
{
    size_t n = table ? rs_table_n_rows(table) : 0, i = 0;
    while (i < n && number(table, i, "rank", -1) != rank) i++;
    return i;
}

/* A column's mean, or maximum, over the rows of a rank; NaN without any. */
static double over_rows(const rs_table *table, int64_t rank, const char *name, bool greatest)
{
    double sum = 0, most = -INFINITY;
    size_t n = 0;
    for (size_t i = 0; table && i < rs_table_n_rows(table); i++) {
        double x = number(table, i, "rank", -1) == rank ? cell(table, i, name) : (double)NAN;
        if (isnan(x)) continue;
        sum += x;
        most = fmax(most, x);
        n++;
    }
    if (!n) return NAN;
    return greatest ? most : sum / (double)n;
}

/* ---- one rank ----------------------------------------------------------------------------------------------- */

static void put_times(const rs_table *info, size_t row, rs_window_piece *p)
{
    int64_t first = number(info, row, "first_us", 0), unix_ns = number(info, row, "start_unix_ns", 0);
    p->start_ns = unix_ns > 0 ? unix_ns : first; /* RS_TIME cells are nanoseconds as whole numbers */
    p->end_ns = p->start_ns + number(info, row, "span_us", 0);
    p->first_step = number(info, row, "first_step", -1);
    p->world = number(info, row, "world_size", 0);
}

/* Times of the window become times of a step. Without steps the window is compared as it is. */
static void put_values(const rs_result *results, int64_t rank, rs_window_piece *p)
{
    const rs_table *ranks = rs_result_table(&results[SUMMARY], "ranks"),
                   *host = rs_result_table(&results[BREAKDOWN], "host"),
                   *mfu = rs_result_table(&results[MFU], "mfu");
    size_t row = row_of(ranks, rank);
    for (int m = 0; m < RS_WATCH_STORED; m++) p->values[m] = NAN;
    if (!ranks || row == rs_table_n_rows(ranks)) return;
    double steps = fmax(cell(ranks, row, "steps"), 1);
    double exposed = cell(ranks, row, "exposed_comm_us") / steps;
    size_t on_host = row_of(host, rank);
    if (!(cell(ranks, row, "gpu_events") > 0)) /* its communication is the host's */
        exposed = host && on_host < rs_table_n_rows(host) ? cell(host, on_host, "exposed_comm_us") / steps
                                                          : (double)NAN;
    p->values[RS_WATCH_STEP] = (float)cell(ranks, row, "mean_step_us");
    p->values[RS_WATCH_OWN] = (float)(cell(ranks, row, "own_time_us") / steps);
    p->values[RS_WATCH_COMPUTE] = (float)(cell(ranks, row, "compute_us") / steps);
    p->values[RS_WATCH_EXPOSED] = (float)exposed;
    p->values[RS_WATCH_IDLE] = (float)(cell(ranks, row, "idle_us") / steps);
    p->values[RS_WATCH_MFU] = (float)over_rows(mfu, rank, "mfu_pct", false);
    const rs_result *memory = &results[MEMORY_USE];
    p->values[RS_WATCH_MEMORY] =
        memory->n_tables ? (float)over_rows(memory->tables[0], rank, "reserved_bytes", true) : NAN;
}

/* ---- a file ------------------------------------------------------------------------------------------------- */

static bool breaks_off(const rs_problems *problems)
{
    for (size_t i = 0; i < problems->n; i++)
        if (strcmp(problems->items[i].kind, "truncated") == 0 ||
            strcmp(problems->items[i].kind, "packing_truncated") == 0)
            return true;
    return false;
}

static rs_status take(rs_result *results, rs_pieces *out, rs_error *err)
{
    const rs_table *info = rs_result_table(&results[INFO], "ranks");
    size_t n = info ? rs_table_n_rows(info) : 0;
    if (breaks_off(&results[INFO].problems)) {
        out->state = RS_READ_BROKEN;
        return RS_OK;
    }
    rs_problems_move(&out->problems, &results[SUMMARY].problems);
    if (!n) return RS_OK;
    out->items = rs_calloc(n, sizeof *out->items);
    if (!out->items) return rs_fail_nomem(err, "a trace");
    for (size_t i = 0; i < n; i++) {
        rs_window_piece *p = &out->items[out->n++];
        p->rank = number(info, i, "rank", 0);
        put_times(info, i, p);
        put_values(results, p->rank, p);
    }
    out->state = RS_READ_COMPLETE;
    return RS_OK;
}

static rs_status ask(rs_job *job, rs_pieces *out, rs_error *err)
{
    rs_query queries[QUESTIONS];
    rs_result results[QUESTIONS];
    for (int i = 0; i < QUESTIONS; i++)
        queries[i] = (rs_query){.analysis = rs_analysis_find(questions[i]), .tables_alone = true};
    rs_error why = RS_ERROR_INIT;
    rs_status status = rs_job_run_many(job, queries, QUESTIONS, results, &why);
    if (status == RS_ERR_NOMEM || status == RS_ERR_CANCELLED)
        *err = why;
    else
        status = take(results, out, err); /* an answer that is missing is an unknown value */
    for (int i = 0; i < QUESTIONS; i++) rs_result_clear(&results[i]);
    return status;
}

rs_status rs_pieces_read(const char *path, const rs_job_settings *settings, rs_pieces *out, rs_error *err)
{
    size_t n = 0;
    rs_job *job = NULL;
    rs_error why = RS_ERROR_INIT;
    *out = (rs_pieces){.state = RS_READ_OTHER};
    RS_LOCAL uint8_t *head = rs_malloc(HEAD);
    if (!head) return rs_fail_nomem(err, path);
    rs_status status = rs_file_begin(path, head, HEAD, &n, &why);
    if (status == RS_OK && rs_content_of(head, n) != RS_CONTENT_TRACE) return RS_OK;
    if (status == RS_OK) status = rs_job_open(&path, 1, settings, &job, &why);
    if (status == RS_ERR_NOMEM) return rs_fail_nomem(err, path);
    if (status == RS_OK) status = ask(job, out, err);
    rs_job_close(job);
    return status == RS_ERR_NOMEM || status == RS_ERR_CANCELLED ? status : RS_OK;
}
