/* The ideal replay of whatif as a Chrome trace: as the study's own timelines are laid out, a process a data
 * rank, five threads a worker, the steps end to end. */
#include <stdio.h>
#include <string.h>

#include "rankscope/rewrite.h"
#include "text/json_put.h"

/* Columns of whatif's table `ideal`. */
enum { STEP, DP_RANK, STAGE, RANK, KIND, SEQ, MICRO_BATCH, CHUNK, START, DURATION, N_COLUMNS };
enum { COMPUTE, PIPELINE, TENSOR, DATA, MISC, TRACKS };

static const char *const track_names[TRACKS] = {"compute", "pp-comm", "tp-comm", "dp-comm", "misc"};

static bool ends_with(const char *text, size_t n, const char *end)
{
    size_t m = strlen(end);
    return n >= m && memcmp(text + n - m, end, m) == 0;
}

static int64_t track_of(const char *kind, size_t n)
{
    if (ends_with(kind, n, "-compute")) return COMPUTE;
    if (ends_with(kind, n, "-send") || ends_with(kind, n, "-recv")) return PIPELINE;
    if (ends_with(kind, n, "layernorm-grads-all-reduce")) return TENSOR;
    if (ends_with(kind, n, "params-all-gather") || ends_with(kind, n, "-reduce-scatter") ||
        ends_with(kind, n, "separate-grads-all-reduce"))
        return DATA;
    return MISC;
}

static int64_t or_none(const rs_table *table, size_t row, size_t column)
{
    return rs_table_is_null(table, row, column) ? -1 : rs_table_int(table, row, column);
}

static void put_span(rs_json_put *j, const rs_table *t, size_t row, double shift)
{
    size_t n;
    const char *kind = rs_table_text(t, row, KIND, &n);
    rs_json_put_open(j, NULL, '{', RS_JSON_LINE);
    rs_json_put_string(j, "name", kind, n);
    rs_json_put_string(j, "cat", kind, n);
    rs_json_put_int(j, "pid", rs_table_int(t, row, DP_RANK));
    rs_json_put_int(j, "tid", rs_table_int(t, row, RANK) * TRACKS + track_of(kind, n));
    rs_json_put_real(j, "ts", rs_table_real(t, row, START) + shift);
    rs_json_put_real(j, "dur", rs_table_real(t, row, DURATION));
    rs_json_put_text(j, "ph", "X");
    rs_json_put_open(j, "args", '{', RS_JSON_LINE);
    rs_json_put_int(j, "step", rs_table_int(t, row, STEP));
    rs_json_put_int(j, "model_chunk", or_none(t, row, CHUNK));
    rs_json_put_int(j, "mb_id", or_none(t, row, MICRO_BATCH));
    rs_json_put_int(j, "seq_id", rs_table_int(t, row, SEQ));
    rs_json_put_close(j);
    rs_json_put_close(j);
}

static void put_thread(rs_json_put *j, const rs_table *t, size_t row, int64_t track)
{
    char name[100];
    int64_t rank = rs_table_int(t, row, RANK);
    snprintf(name, sizeof name, "PP rank %lld, rank %lld, %s", (long long)rs_table_int(t, row, STAGE),
             (long long)rank, track_names[track]);
    rs_json_put_track(j, "thread_name", rs_table_int(t, row, DP_RANK), rank * TRACKS + track, name);
}

static void put_process(rs_json_put *j, const rs_table *t, size_t row)
{
    char name[40];
    int64_t rank = rs_table_int(t, row, DP_RANK);
    snprintf(name, sizeof name, "DP rank %lld", (long long)rank);
    rs_json_put_track(j, "process_name", rank, -1, name);
}

/* Rows stand by step, data rank and stage: the first step shows every process and thread. */
static void put_names(rs_json_put *j, const rs_table *t, size_t n)
{
    for (size_t i = 0; i < n && rs_table_int(t, i, STEP) == rs_table_int(t, 0, STEP); i++) {
        bool new_dp = i == 0 || rs_table_int(t, i, DP_RANK) != rs_table_int(t, i - 1, DP_RANK);
        if (new_dp) put_process(j, t, i);
        if (!new_dp && rs_table_int(t, i, RANK) == rs_table_int(t, i - 1, RANK)) continue;
        for (int64_t track = 0; track < TRACKS; track++) put_thread(j, t, i, track);
    }
}

rs_status rs_ideal_trace_write(const rs_table *ideal, const rs_sink *sink, rs_error *err)
{
    rs_writer w;
    rs_json_put j;
    const rs_table_spec *spec = rs_table_get_spec(ideal);
    if (strcmp(spec->name, "ideal") != 0 || spec->n_columns != N_COLUMNS)
        return rs_fail(err, RS_ERR_USAGE, "table %s is no ideal replay: give whatif's table ideal",
                       spec->name);
    size_t n = rs_table_n_rows(ideal);
    double shift = 0, end = 0;
    rs_writer_init(&w, sink);
    rs_json_put_init(&j, &w);
    rs_json_put_open(&j, NULL, '[', RS_JSON_ROWS);
    for (size_t i = 0; i < n; i++) {
        if (i && rs_table_int(ideal, i, STEP) != rs_table_int(ideal, i - 1, STEP)) {
            shift += end;
            end = 0;
        }
        double last = rs_table_real(ideal, i, START) + rs_table_real(ideal, i, DURATION);
        if (last > end) end = last;
        put_span(&j, ideal, i, shift);
    }
    put_names(&j, ideal, n);
    rs_json_put_close(&j);
    rs_writer_char(&w, '\n');
    return rs_writer_finish(&w, err);
}
