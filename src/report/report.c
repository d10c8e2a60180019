/* The page: its head as built, the data as JSON in an element that is never run, its foot as built. */
#include "rankscope/report.h"
#include "rankscope/view.h"

#include <string.h>

#include "base/settings.h"
#include "base/try.h"
#include "output/json.h"
#include "report/gather.h"
#include "report/page.h"

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

void rs_report_put_notes(rs_report_data *data, const rs_result *result)
{
    rs_writer *writer = data->writer;
    rs_writer_text(writer, ",\"notes\":[");
    for (size_t i = 0; i < result->n_notes; i++) {
        if (i) rs_writer_char(writer, ',');
        put_string(writer, result->notes[i]);
    }
    rs_writer_char(writer, ']');
}

rs_status rs_report_put_part(rs_report_data *data, const rs_table *table, const rs_report_part *part,
                             bool first, rs_error *err)
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
    put_key(data->writer, q->name, q == rs_report_questions);
    rs_writer_text(data->writer, "{\"tables\":{");
    for (size_t i = 0; status == RS_OK && i < RS_REPORT_PARTS && q->parts[i].table; i++) {
        const rs_table *table = rs_result_table(result, q->parts[i].table);
        if (!table)
            return rs_fail(err, RS_ERR_USAGE, "%s has no table \"%s\"", q->analysis, q->parts[i].table);
        status = rs_report_put_part(data, table, &q->parts[i], i == 0, err);
    }
    rs_writer_char(data->writer, '}');
    rs_report_put_notes(data, result);
    rs_writer_text(data->writer, result->found ? ",\"found\":true}" : ",\"found\":false}");
    return status;
}

/* The answer of each section under its name; null where it was not asked for. */
static rs_status put_sections(rs_report_data *data, void *const *answers, rs_error *err)
{
    for (size_t i = 0; rs_report_section_rows[i]; i++) {
        put_key(data->writer, rs_report_section_rows[i]->name, false);
        if (answers && answers[i])
            RS_TRY(rs_report_section_rows[i]->put(data, answers[i], err));
        else
            rs_writer_text(data->writer, "null");
    }
    return RS_OK;
}

static const rs_result *answer_named(const rs_report_answers *answers, const char *name)
{
    for (size_t i = 0; i < answers->n; i++)
        if (strcmp(rs_report_questions[i].name, name) == 0 && answers->results[i].tables)
            return &answers->results[i];
    return NULL;
}

#define PICTURE_BYTES ((size_t)200 << 10)

/* The map as a picture; null where it was not asked for. */
static rs_status put_map(rs_report_data *data, const rs_report_answers *answers, rs_error *err)
{
    const rs_result *map = answer_named(answers, "map"), *collectives = answer_named(answers, "collectives");
    RS_SCOPED(rs_explorer_answer_clear) rs_explorer_answer picture = {0};
    put_key(data->writer, "map", false);
    if (map)
        RS_TRY(rs_view_picture(rs_result_table(map, "map"),
                               collectives ? rs_result_table(collectives, "arrivals") : NULL, PICTURE_BYTES,
                               &picture, err));
    if (map)
        rs_writer_bytes(data->writer, picture.bytes, picture.n);
    else
        rs_writer_text(data->writer, "null");
    return RS_OK;
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
    for (size_t i = 0; i < answers->n; i++)
        RS_TRY(put_answer(data, &rs_report_questions[i], &answers->results[i], err));
    rs_writer_char(writer, '}');
    RS_TRY(put_map(data, answers, err));
    RS_TRY(put_sections(data, answers->sections, err));
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
    size_t most; /* rows of a table; 0: RS_REPORT_WHOLE_TABLE */
} rs_report_alone;

/* The tables of one answer alone, under a name; everything else is what a page without traces has. */
static rs_status put_alone(rs_report_data *data, const rs_report_alone *alone, rs_error *err)
{
    const rs_report_part all = {.cap = alone->most ? alone->most : RS_REPORT_WHOLE_TABLE};
    const rs_result *result = alone->result;
    rs_writer *writer = data->writer;
    rs_writer_text(writer, "{\"version\":");
    put_string(writer, rs_version());
    put_list(writer, "inputs", alone->inputs, alone->n_inputs);
    rs_writer_text(writer, ",\"dumps\":[],\"answers\":{}");
    RS_TRY(put_sections(data, NULL, err));
    rs_writer_text(writer, ",\"problems\":[");
    rs_write_json_problems(writer, &result->problems);
    rs_writer_text(writer, "],");
    put_string(writer, alone->name);
    rs_writer_text(writer, ":{\"tables\":{");
    for (size_t i = 0; i < result->n_tables; i++)
        RS_TRY(rs_report_put_part(data, result->tables[i], &all, i == 0, err));
    rs_writer_char(writer, '}');
    rs_report_put_notes(data, result);
    rs_writer_text(writer, "},\"strings\":");
    rs_report_put_strings(data);
    rs_writer_char(writer, '}');
    return RS_OK;
}

/* ---- the page ----------------------------------------------------------------------------------------- */

static rs_status put_bytes(const rs_sink *sink, size_t from, size_t to, rs_error *err)
{
    bool ok = sink->write(sink->context, (const char *)rs_report_page + from, to - from);
    return ok ? RS_OK : rs_fail(err, RS_ERR_IO, "the report cannot be written");
}

/* What is in the page's data. */
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
    return put_alone_page(&(rs_report_alone){"history", &folder, 1, history, 0}, sink, err);
}

#define MAP_CELLS ((size_t)96 * 128)

rs_status rs_report_write_watch(const char *file, const rs_result *history, const rs_sink *sink,
                                rs_error *err)
{
    return put_alone_page(&(rs_report_alone){"watch", &file, 1, history, MAP_CELLS}, sink, err);
}

rs_status rs_report_write_comparison(const char *const *inputs, size_t n, const rs_result *comparison,
                                     const rs_sink *sink, rs_error *err)
{
    return put_alone_page(&(rs_report_alone){"comparison", inputs, n, comparison, 0}, sink, err);
}

rs_status rs_report_write(rs_job *job, const rs_report_settings *given, const rs_sink *sink, rs_result *told,
                          rs_error *err)
{
    RS_SCOPED(rs_report_answers_clear) rs_report_answers answers = {0};
    rs_report_settings settings;
    *told = (rs_result){0};
    rs_status status = rs_report_check(err);
    if (status == RS_OK)
        status = rs_settings_read(given, given->size, &settings, sizeof settings, "rs_report_settings", err);
    if (status == RS_OK) status = rs_report_gather(job, &settings, &answers, told, err);
    const content c = {.settings = &settings, .answers = &answers, .told = told};
    if (status == RS_OK) status = put_page(&c, sink, err);
    return status;
}
