/* JSON and JSON Lines. Always valid: strings are escaped, what is no UTF-8 becomes U+FFFD, what is no finite
 * number becomes null. */
#include <math.h>

#include <string.h>

#include "output/form.h"
#include "output/json.h"

void rs_write_json_value(rs_writer *writer, const rs_table *table, size_t row, size_t at)
{
    const rs_column_spec *spec = &rs_table_get_spec(table)->columns[at];
    if (rs_table_is_null(table, row, at)) {
        rs_writer_bytes(writer, "null", 4);
        return;
    }
    switch (spec->type) {
    case RS_INT: rs_writer_int(writer, rs_table_int(table, row, at)); break;
    case RS_TIME:
    case RS_MOMENT: rs_writer_time(writer, rs_table_int(table, row, at), spec->unit); break;
    case RS_REAL: {
        double value = rs_table_real(table, row, at);
        if (isfinite(value))
            rs_writer_real(writer, value);
        else
            rs_writer_bytes(writer, "null", 4);
        break;
    }
    case RS_TEXT: {
        size_t length;
        const char *text = rs_table_text(table, row, at, &length);
        rs_writer_json_string(writer, text, length);
        break;
    }
    }
}

static void write_row(rs_writer *writer, const rs_table *table, size_t row)
{
    const rs_table_spec *spec = rs_table_get_spec(table);
    rs_writer_char(writer, '{');
    for (size_t at = 0; at < spec->n_columns; at++) {
        if (at) rs_writer_bytes(writer, ", ", 2);
        rs_writer_json_string(writer, spec->columns[at].name, strlen(spec->columns[at].name));
        rs_writer_bytes(writer, ": ", 2);
        rs_write_json_value(writer, table, row, at);
    }
    rs_writer_char(writer, '}');
}

static rs_status write_jsonl(rs_writer *writer, const rs_table *table, const rs_render_settings *settings,
                             rs_error *err)
{
    (void)settings;
    (void)err;
    size_t n_rows = rs_table_n_rows(table);
    for (size_t row = 0; row < n_rows && !writer->failed; row++) {
        write_row(writer, table, row);
        rs_writer_char(writer, '\n');
    }
    return RS_OK;
}

/* An array of objects; indent spaces stand before each. */
static void write_rows(rs_writer *writer, const rs_table *table, unsigned indent)
{
    size_t n_rows = rs_table_n_rows(table);
    rs_writer_char(writer, '[');
    for (size_t row = 0; row < n_rows && !writer->failed; row++) {
        rs_writer_text(writer, row ? ",\n" : "\n");
        rs_writer_repeat(writer, ' ', indent);
        write_row(writer, table, row);
    }
    if (n_rows) rs_writer_char(writer, '\n');
    if (n_rows && indent > 2) rs_writer_repeat(writer, ' ', indent - 2);
    rs_writer_char(writer, ']');
}

/* Members of a row without its brackets. */
static void write_members(rs_writer *writer, const rs_table *table, size_t row)
{
    const rs_table_spec *spec = rs_table_get_spec(table);
    for (size_t at = 0; at < spec->n_columns; at++) {
        rs_writer_json_string(writer, spec->columns[at].name, strlen(spec->columns[at].name));
        rs_writer_bytes(writer, ": ", 2);
        rs_write_json_value(writer, table, row, at);
        rs_writer_bytes(writer, ", ", 2);
    }
}

static int64_t depth_of(const rs_table *table, size_t row, size_t column)
{
    return row < rs_table_n_rows(table) ? rs_table_int(table, row, column) : 0;
}

/* Each row holds those below it as "children". */
static void write_nested(rs_writer *writer, const rs_table *table, size_t depth_column, unsigned indent)
{
    size_t n_rows = rs_table_n_rows(table);
    rs_writer_char(writer, '[');
    for (size_t row = 0; row < n_rows && !writer->failed; row++) {
        int64_t depth = depth_of(table, row, depth_column), next = depth_of(table, row + 1, depth_column);
        rs_writer_char(writer, '\n');
        rs_writer_repeat(writer, ' ', indent + (size_t)depth);
        rs_writer_char(writer, '{');
        write_members(writer, table, row);
        rs_writer_text(writer, "\"children\": [");
        if (next > depth && row + 1 < n_rows) continue;
        rs_writer_text(writer, "]}");
        for (; depth > next; depth--) rs_writer_text(writer, "]}");
        if (row + 1 < n_rows) rs_writer_char(writer, ',');
    }
    if (n_rows) rs_writer_char(writer, '\n');
    if (n_rows && indent > 2) rs_writer_repeat(writer, ' ', indent - 2);
    rs_writer_char(writer, ']');
}

static void write_text_or_null(rs_writer *writer, const char *text)
{
    if (text)
        rs_writer_json_string(writer, text, strlen(text));
    else
        rs_writer_bytes(writer, "null", 4);
}

static void write_problem(rs_writer *writer, const rs_problem *problem)
{
    static const char *const severities[] = {"note", "warning", "loss"};
    rs_writer_text(writer, "{\"kind\": ");
    write_text_or_null(writer, problem->kind);
    rs_writer_text(writer, ", \"severity\": \"");
    rs_writer_text(writer, severities[problem->severity]);
    rs_writer_text(writer, "\", \"message\": ");
    write_text_or_null(writer, problem->message);
    rs_writer_text(writer, ", \"file\": ");
    write_text_or_null(writer, problem->file);
    rs_writer_text(writer, ", \"rank\": ");
    if (problem->rank >= 0)
        rs_writer_int(writer, problem->rank);
    else
        rs_writer_text(writer, "null");
    rs_writer_text(writer, ", \"count\": ");
    rs_writer_uint(writer, problem->count);
    rs_writer_text(writer, ", \"offsets\": [");
    for (unsigned i = 0; i < problem->n_offsets; i++) {
        if (i) rs_writer_text(writer, ", ");
        rs_writer_uint(writer, problem->offsets[i]);
    }
    rs_writer_text(writer, "], \"detail\": ");
    write_text_or_null(writer, problem->detail);
    rs_writer_char(writer, '}');
}

void rs_write_json_problems(rs_writer *writer, const rs_problems *problems)
{
    for (size_t i = 0; i < problems->n; i++) {
        rs_writer_text(writer, i ? ",\n    " : "\n    ");
        write_problem(writer, &problems->items[i]);
    }
    if (problems->n_dropped) {
        rs_problem unrecorded = {.kind = "unrecorded",
                                 .message = "defects that could not be recorded: memory ran out",
                                 .rank = -1,
                                 .severity = RS_LOSS,
                                 .count = problems->n_dropped};
        rs_writer_text(writer, problems->n ? ",\n    " : "\n    ");
        write_problem(writer, &unrecorded);
    }
    if (problems->n || problems->n_dropped) rs_writer_text(writer, "\n  ");
}

/* The column that tells how deep rows stand; SIZE_MAX: rows stand side by side. */
static size_t depth_column_of(const rs_table *table, const rs_render_settings *settings)
{
    const rs_table_spec *spec = rs_table_get_spec(table);
    for (size_t at = 0; settings->nest_by && at < spec->n_columns; at++)
        if (strcmp(spec->columns[at].name, settings->nest_by) == 0 && spec->columns[at].type == RS_INT)
            return at;
    return SIZE_MAX;
}

static void write_array(rs_writer *writer, const rs_table *table, const rs_render_settings *settings,
                        unsigned indent)
{
    size_t depth_column = depth_column_of(table, settings);
    if (depth_column != SIZE_MAX)
        write_nested(writer, table, depth_column, indent);
    else
        write_rows(writer, table, indent);
}

static rs_status write_table(rs_writer *writer, const rs_table *table, const rs_render_settings *settings,
                             rs_error *err)
{
    (void)err;
    write_array(writer, table, settings, 2);
    rs_writer_char(writer, '\n');
    return RS_OK;
}

static rs_status write_result(rs_writer *writer, const rs_result *result, size_t main_table,
                              const rs_render_settings *settings, rs_error *err)
{
    (void)main_table;
    (void)err;
    rs_writer_text(writer, "{\n  \"tables\": {");
    bool first = true;
    for (size_t i = 0; i < result->n_tables; i++) {
        if (!result->tables[i]) continue;
        const char *name = rs_table_get_spec(result->tables[i])->name;
        rs_writer_text(writer, first ? "\n    " : ",\n    ");
        first = false;
        rs_writer_json_string(writer, name, strlen(name));
        rs_writer_text(writer, ": ");
        write_array(writer, result->tables[i], settings, 6);
    }
    rs_writer_text(writer, first ? "},\n  \"problems\": [" : "\n  },\n  \"problems\": [");
    rs_write_json_problems(writer, &result->problems);
    rs_writer_text(writer, "],\n  \"notes\": [");
    for (size_t i = 0; i < result->n_notes; i++) {
        rs_writer_text(writer, i ? ",\n    " : "\n    ");
        rs_writer_json_string(writer, result->notes[i], strlen(result->notes[i]));
    }
    rs_writer_text(writer, result->n_notes ? "\n  ]\n}\n" : "]\n}\n");
    return RS_OK;
}

const rs_output_form rs_output_form_json = {.name = "json",
                                            .help = "one JSON object: tables, problems, notes",
                                            .extension = "json",
                                            .table = write_table,
                                            .result = write_result};
const rs_output_form rs_output_form_jsonl = {
    .name = "jsonl", .help = "one JSON object a row", .extension = "jsonl", .table = write_jsonl};
