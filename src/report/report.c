/* The page: its head as built, the data as JSON in an element that is never run, its foot as built. */
#include "rankscope/report.h"

#include <string.h>

#include "base/settings.h"
#include "output/json.h"
#include "report/gather.h"
#include "report/page.h"

#define WHOLE_TABLE 2048 /* rows of a table of dumps or metrics that the page gets */

rs_status rs_report_check(rs_error *err)
{
    if (rs_report_head_size > 0) return RS_OK;
    return rs_fail(
        err, RS_ERR_USAGE,
        "this rankscope was built without the report page, which takes Node.js 18 or newer and npm; "
        "install them and build again (`summary` and the other commands need neither)");
}

/* ---- the data ----------------------------------------------------------------------------------------- */

static void put_string(rs_writer *writer, const char *text)
{
    if (text)
        rs_writer_json_string(writer, text, strlen(text));
    else
        rs_writer_text(writer, "null");
}

static void put_key(rs_writer *writer, const char *name, bool first)
{
    if (!first) rs_writer_char(writer, ',');
    put_string(writer, name);
    rs_writer_char(writer, ':');
}

static void put_notes(rs_writer *writer, const rs_result *result)
{
    rs_writer_text(writer, ",\"notes\":[");
    for (size_t i = 0; i < result->n_notes; i++) {
        if (i) rs_writer_char(writer, ',');
        put_string(writer, result->notes[i]);
    }
    rs_writer_char(writer, ']');
}

static rs_status put_part(rs_report_data *data, const rs_table *table, const rs_report_part *part, bool first,
                          rs_error *err)
{
    put_key(data->writer, rs_table_get_spec(table)->name, first);
    return rs_report_put_table(data, table, part, err);
}

/* {"tables": {NAME: table}, "notes": [...], "found": whether} */
static rs_status put_answer(rs_report_data *data, const rs_report_question *q, const rs_result *result,
                            rs_error *err)
{
    rs_status status = RS_OK;
    if (!result->tables) return RS_OK; /* not asked, or without an answer */
    put_key(data->writer, q->analysis, q == rs_report_questions);
    rs_writer_text(data->writer, "{\"tables\":{");
    for (size_t i = 0; status == RS_OK && i < RS_REPORT_PARTS && q->parts[i].table; i++) {
        const rs_table *table = rs_result_table(result, q->parts[i].table);
        if (!table)
            return rs_fail(err, RS_ERR_USAGE, "%s has no table \"%s\"", q->analysis, q->parts[i].table);
        status = put_part(data, table, &q->parts[i], i == 0, err);
    }
    rs_writer_char(data->writer, '}');
    put_notes(data->writer, result);
    rs_writer_text(data->writer, result->found ? ",\"found\":true}" : ",\"found\":false}");
    return status;
}

static rs_status put_owned_table(rs_report_data *data, rs_table *table, bool first, rs_error *err)
{
    const rs_report_part all = {.cap = WHOLE_TABLE};
    if (!table) return err->status;
    rs_status status = put_part(data, table, &all, first, err);
    rs_table_free(table);
    return status;
}

static bool to_writer(void *context, const char *bytes, size_t n)
{
    rs_writer *writer = context;
    rs_writer_bytes(writer, bytes, n);
    return !writer->failed;
}

/* What `flight --format json` prints, and two of its tables where a dump was usable. */
static rs_status put_flight(rs_report_data *data, rs_flight *flight, rs_error *err)
{
    rs_sink sink = {to_writer, data->writer};
    const rs_flight_report *report;
    rs_writer_text(data->writer, ",\"flight\":");
    if (!flight) {
        rs_writer_text(data->writer, "null");
        return RS_OK;
    }
    rs_writer_text(data->writer, "{\"answer\":");
    rs_status status = rs_flight_write_json(flight, &sink, err);
    rs_writer_text(data->writer, ",\"tables\":{");
    if (status == RS_OK) status = rs_flight_get_report(flight, &report, err);
    if (status == RS_OK && report->n_ranks) {
        status = put_owned_table(data, rs_flight_groups(flight, NULL, err), true, err);
        if (status == RS_OK) status = put_owned_table(data, rs_flight_lateness(flight, err), false, err);
    }
    rs_writer_text(data->writer, "}}");
    return status;
}

static rs_status put_metrics(rs_report_data *data, const rs_report_answers *answers, rs_error *err)
{
    const rs_result *result = &answers->metrics_result;
    const rs_report_part all = {.cap = WHOLE_TABLE};
    rs_status status = RS_OK;
    rs_writer_text(data->writer, ",\"metrics\":");
    if (!answers->metrics) {
        rs_writer_text(data->writer, "null");
        return RS_OK;
    }
    rs_writer_text(data->writer, "{\"tables\":{");
    for (size_t i = 0; status == RS_OK && i < result->n_tables; i++)
        if (result->tables[i]) status = put_part(data, result->tables[i], &all, i == 0, err);
    rs_writer_char(data->writer, '}');
    put_notes(data->writer, result);
    rs_writer_char(data->writer, '}');
    return status;
}

static void put_list(rs_writer *writer, const char *name, const char *const *items, size_t n)
{
    put_key(writer, name, false);
    rs_writer_char(writer, '[');
    for (size_t i = 0; i < n; i++) {
        if (i) rs_writer_char(writer, ',');
        put_string(writer, items[i]);
    }
    rs_writer_char(writer, ']');
}

static rs_status put_data(rs_report_data *data, const rs_report_settings *settings,
                          const rs_report_answers *answers, const rs_result *told, rs_error *err)
{
    rs_status status = RS_OK;
    rs_writer *writer = data->writer;
    rs_writer_text(writer, "{\"version\":");
    put_string(writer, rs_version());
    put_list(writer, "inputs", settings->inputs, settings->n_inputs);
    put_list(writer, "dumps", settings->flight, settings->n_flight);
    put_key(writer, "ranks", false);
    put_string(writer, settings->ranks);
    put_key(writer, "steps", false);
    put_string(writer, settings->steps);
    put_key(writer, "window", false);
    put_string(writer, settings->window);
    put_key(writer, "trace", false);
    put_string(writer, settings->trace_link);
    rs_writer_text(writer, ",\"problems\":[");
    rs_write_json_problems(writer, &told->problems);
    rs_writer_text(writer, "],\"answers\":{");
    for (size_t i = 0; status == RS_OK && i < answers->n; i++)
        status = put_answer(data, &rs_report_questions[i], &answers->results[i], err);
    rs_writer_char(writer, '}');
    if (status == RS_OK) status = put_flight(data, answers->flight, err);
    if (status == RS_OK) status = put_metrics(data, answers, err);
    if (status != RS_OK) return status;
    rs_writer_text(writer, ",\"strings\":");
    rs_report_put_strings(data); /* last: the tables fill it */
    rs_writer_char(writer, '}');
    return RS_OK;
}

/* A page with one answer alone. */
typedef struct rs_report_alone {
    const char *name; /* of the answer in the page's data */
    const char *const *inputs;
    size_t n_inputs;
    const rs_result *result;
} rs_report_alone;

/* The tables of one answer alone, under a name; everything else is what a page without traces has. */
static rs_status put_alone(rs_report_data *data, const rs_report_alone *alone, rs_error *err)
{
    const rs_report_part all = {.cap = WHOLE_TABLE};
    const rs_result *result = alone->result;
    rs_status status = RS_OK;
    rs_writer *writer = data->writer;
    rs_writer_text(writer, "{\"version\":");
    put_string(writer, rs_version());
    put_list(writer, "inputs", alone->inputs, alone->n_inputs);
    rs_writer_text(writer, ",\"dumps\":[],\"answers\":{},\"flight\":null,\"metrics\":null,\"problems\":[");
    rs_write_json_problems(writer, &result->problems);
    rs_writer_text(writer, "],");
    put_string(writer, alone->name);
    rs_writer_text(writer, ":{\"tables\":{");
    for (size_t i = 0; status == RS_OK && i < result->n_tables; i++)
        status = put_part(data, result->tables[i], &all, i == 0, err);
    rs_writer_char(writer, '}');
    put_notes(writer, result);
    rs_writer_text(writer, "},\"strings\":");
    rs_report_put_strings(data);
    rs_writer_char(writer, '}');
    return status;
}

/* ---- the page ----------------------------------------------------------------------------------------- */

static rs_status put_bytes(const rs_sink *sink, size_t from, size_t to, rs_error *err)
{
    bool ok = sink->write(sink->context, (const char *)rs_report_page + from, to - from);
    return ok ? RS_OK : rs_fail(err, RS_ERR_IO, "the report cannot be written");
}

/* What stands in the page's data. */
typedef struct content {
    const rs_report_settings *settings;
    const rs_report_answers *answers;
    const rs_result *told;
    const rs_report_alone *alone; /* NULL: all of the above */
} content;

static rs_status put_page(const content *c, const rs_sink *sink, rs_error *err)
{
    rs_report_escape escape = {.sink = sink};
    rs_sink escaped = rs_report_escape_sink(&escape);
    rs_writer writer;
    rs_report_data data = {.writer = &writer};
    if (!rs_strings_init(&data.strings)) return rs_fail_nomem(err, "the texts of the report");
    rs_status status = put_bytes(sink, 0, rs_report_head_size, err);
    if (status == RS_OK) {
        rs_writer_init(&writer, &escaped);
        status = c->alone ? put_alone(&data, c->alone, err)
                          : put_data(&data, c->settings, c->answers, c->told, err);
        if (status == RS_OK) status = rs_writer_finish(&writer, err);
    }
    rs_strings_clear(&data.strings);
    return status == RS_OK ? put_bytes(sink, rs_report_head_size, rs_report_page_size, err) : status;
}

static rs_status put_alone_page(const rs_report_alone *alone, const rs_sink *sink, rs_error *err)
{
    const content c = {.alone = alone};
    rs_status status = rs_report_check(err);
    return status == RS_OK ? put_page(&c, sink, err) : status;
}

rs_status rs_report_write_history(const char *folder, const rs_result *history, const rs_sink *sink,
                                  rs_error *err)
{
    return put_alone_page(&(rs_report_alone){"history", &folder, 1, history}, sink, err);
}

rs_status rs_report_write_comparison(const char *const *inputs, size_t n, const rs_result *comparison,
                                     const rs_sink *sink, rs_error *err)
{
    return put_alone_page(&(rs_report_alone){"comparison", inputs, n, comparison}, sink, err);
}

rs_status rs_report_write(rs_job *job, const rs_report_settings *given, const rs_sink *sink, rs_result *told,
                          rs_error *err)
{
    rs_report_answers answers = {0};
    rs_report_settings settings;
    *told = (rs_result){0};
    rs_status status = rs_report_check(err);
    if (status == RS_OK)
        status = rs_settings_read(given, given->size, &settings, sizeof settings, "rs_report_settings", err);
    if (status == RS_OK) status = rs_report_gather(job, &settings, &answers, told, err);
    const content c = {.settings = &settings, .answers = &answers, .told = told};
    if (status == RS_OK) status = put_page(&c, sink, err);
    rs_report_answers_clear(&answers);
    return status;
}
