/* The ideal replay of whatif as a Chrome trace: as the study's own timelines are laid out, a process a data
 * rank, five threads a worker, the steps end to end. */
#include <string.h>

#include "rankscope/rewrite.h"
#include "text/writer.h"

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

typedef struct ideal_writer {
    rs_writer out;
    const rs_table *table;
    bool begun;
} ideal_writer;

static void begin_event(ideal_writer *w)
{
    rs_writer_text(&w->out, w->begun ? ",\n" : "[");
    w->begun = true;
}

static int64_t or_none(const rs_table *table, size_t row, size_t column)
{
    return rs_table_is_null(table, row, column) ? -1 : rs_table_int(table, row, column);
}

static void put_span(ideal_writer *w, size_t row, double shift)
{
    size_t n;
    const char *kind = rs_table_text(w->table, row, KIND, &n);
    begin_event(w);
    rs_writer_text(&w->out, "{\"name\":");
    rs_writer_json_string(&w->out, kind, n);
    rs_writer_text(&w->out, ",\"cat\":");
    rs_writer_json_string(&w->out, kind, n);
    rs_writer_text(&w->out, ",\"pid\":");
    rs_writer_int(&w->out, rs_table_int(w->table, row, DP_RANK));
    rs_writer_text(&w->out, ",\"tid\":");
    rs_writer_int(&w->out, rs_table_int(w->table, row, RANK) * TRACKS + track_of(kind, n));
    rs_writer_text(&w->out, ",\"ts\":");
    rs_writer_real(&w->out, rs_table_real(w->table, row, START) + shift);
    rs_writer_text(&w->out, ",\"dur\":");
    rs_writer_real(&w->out, rs_table_real(w->table, row, DURATION));
    rs_writer_text(&w->out, ",\"ph\":\"X\",\"args\":{\"step\":");
    rs_writer_int(&w->out, rs_table_int(w->table, row, STEP));
    rs_writer_text(&w->out, ",\"model_chunk\":");
    rs_writer_int(&w->out, or_none(w->table, row, CHUNK));
    rs_writer_text(&w->out, ",\"mb_id\":");
    rs_writer_int(&w->out, or_none(w->table, row, MICRO_BATCH));
    rs_writer_text(&w->out, ",\"seq_id\":");
    rs_writer_int(&w->out, rs_table_int(w->table, row, SEQ));
    rs_writer_text(&w->out, "}}");
}

static void put_thread(ideal_writer *w, size_t row, int64_t track)
{
    begin_event(w);
    rs_writer_text(&w->out, "{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":");
    rs_writer_int(&w->out, rs_table_int(w->table, row, DP_RANK));
    rs_writer_text(&w->out, ",\"tid\":");
    rs_writer_int(&w->out, rs_table_int(w->table, row, RANK) * TRACKS + track);
    rs_writer_text(&w->out, ",\"args\":{\"name\":\"PP rank ");
    rs_writer_int(&w->out, rs_table_int(w->table, row, STAGE));
    rs_writer_text(&w->out, ", rank ");
    rs_writer_int(&w->out, rs_table_int(w->table, row, RANK));
    rs_writer_text(&w->out, ", ");
    rs_writer_text(&w->out, track_names[track]);
    rs_writer_text(&w->out, "\"}}");
}

static void put_process(ideal_writer *w, size_t row)
{
    begin_event(w);
    rs_writer_text(&w->out, "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":");
    rs_writer_int(&w->out, rs_table_int(w->table, row, DP_RANK));
    rs_writer_text(&w->out, ",\"args\":{\"name\":\"DP rank ");
    rs_writer_int(&w->out, rs_table_int(w->table, row, DP_RANK));
    rs_writer_text(&w->out, "\"}}");
}

/* Rows stand by step, data rank and stage: the first step shows every process and thread. */
static void put_names(ideal_writer *w, size_t n)
{
    for (size_t i = 0; i < n && rs_table_int(w->table, i, STEP) == rs_table_int(w->table, 0, STEP); i++) {
        bool new_dp = i == 0 || rs_table_int(w->table, i, DP_RANK) != rs_table_int(w->table, i - 1, DP_RANK);
        if (new_dp) put_process(w, i);
        if (!new_dp && rs_table_int(w->table, i, RANK) == rs_table_int(w->table, i - 1, RANK)) continue;
        for (int64_t track = 0; track < TRACKS; track++) put_thread(w, i, track);
    }
}

rs_status rs_ideal_trace_write(const rs_table *ideal, const rs_sink *sink, rs_error *err)
{
    ideal_writer w = {.table = ideal};
    const rs_table_spec *spec = rs_table_get_spec(ideal);
    if (strcmp(spec->name, "ideal") != 0 || spec->n_columns != N_COLUMNS)
        return rs_fail(err, RS_ERR_USAGE, "table %s is no ideal replay: give whatif's table ideal",
                       spec->name);
    size_t n = rs_table_n_rows(ideal);
    double shift = 0, end = 0;
    rs_writer_init(&w.out, sink);
    for (size_t i = 0; i < n; i++) {
        if (i && rs_table_int(ideal, i, STEP) != rs_table_int(ideal, i - 1, STEP)) {
            shift += end;
            end = 0;
        }
        double last = rs_table_real(ideal, i, START) + rs_table_real(ideal, i, DURATION);
        if (last > end) end = last;
        put_span(&w, i, shift);
    }
    put_names(&w, n);
    rs_writer_text(&w.out, w.begun ? "]\n" : "[]\n");
    return rs_writer_finish(&w.out, err);
}
