/* JSON and JSON Lines. Always valid: strings are escaped, what is no UTF-8 becomes U+FFFD, what is no finite
 * number becomes null. */
#include <math.h>

#include <string.h>

#include "base/memory.h"
#include "output/budget.h"
#include "output/form.h"
#include "output/json.h"
#include "output/verdict.h"

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

static rs_status write_lines(void *context, rs_writer *writer, const rs_table *page, bool first,
                             const rs_render_settings *settings, rs_error *err)
{
    (void)context;
    (void)first;
    return write_jsonl(writer, page, settings, err);
}

static rs_status write_jsonl_pages(rs_writer *writer, const rs_pages *pages,
                                   const rs_render_settings *settings, rs_error *err)
{
    return rs_pages_each(pages, RS_PAGE_ROWS, write_lines, NULL, writer, settings, err);
}

/* An array of objects, the first n_rows; indent spaces stand before each. */
static void write_rows(rs_writer *writer, const rs_table *table, size_t n_rows, unsigned indent)
{
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

/* A row up to the bracket of its children. */
static void open_nested(rs_writer *writer, const rs_table *table, size_t row, int64_t depth, unsigned indent)
{
    rs_writer_char(writer, '\n');
    rs_writer_repeat(writer, ' ', indent + (size_t)depth);
    rs_writer_char(writer, '{');
    write_members(writer, table, row);
    rs_writer_text(writer, "\"children\": [");
}

/* Each row holds those below it as "children". */
static void write_nested(rs_writer *writer, const rs_table *table, size_t n_rows, size_t depth_column,
                         unsigned indent)
{
    rs_writer_char(writer, '[');
    for (size_t row = 0; row < n_rows && !writer->failed; row++) {
        int64_t depth = rs_table_int(table, row, depth_column);
        int64_t next = row + 1 < n_rows ? rs_table_int(table, row + 1, depth_column) : 0;
        open_nested(writer, table, row, depth, indent);
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
    RS_WRITE(writer, ", \"severity\": \"", severities[problem->severity], "\", \"message\": ");
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

static void write_array(rs_writer *writer, const rs_table *table, size_t n_rows,
                        const rs_render_settings *settings, unsigned indent)
{
    size_t depth_column = depth_column_of(table, settings);
    if (depth_column != SIZE_MAX)
        write_nested(writer, table, n_rows, depth_column, indent);
    else
        write_rows(writer, table, n_rows, indent);
}

static rs_status write_table(rs_writer *writer, const rs_table *table, const rs_render_settings *settings,
                             rs_error *err)
{
    if (settings->budget)
        return rs_fail(err, RS_ERR_USAGE,
                       "--budget needs a whole answer: an array has no room for what is left out");
    write_array(writer, table, rs_table_n_rows(table), settings, 2);
    rs_writer_char(writer, '\n');
    return RS_OK;
}

/* ---- a whole result --------------------------------------------------------------------------------------- */

static void write_note(rs_writer *writer, const rs_result *result, size_t i)
{
    rs_writer_text(writer, i ? ",\n    " : "\n    ");
    rs_writer_json_string(writer, result->notes[i], strlen(result->notes[i]));
}

/* From the end of the tables on: problems and notes. */
static void write_told(rs_writer *writer, const rs_result *result, const rs_problems *problems,
                       size_t n_notes)
{
    rs_writer_text(writer, ",\n  \"problems\": [");
    rs_write_json_problems(writer, problems);
    rs_writer_text(writer, "],\n  \"notes\": [");
    for (size_t i = 0; i < n_notes; i++) write_note(writer, result, i);
    rs_writer_text(writer, n_notes ? "\n  ]" : "]");
}

static void write_left_out(rs_writer *writer, bool *first, const char *what, const char *name, size_t n,
                           size_t shown)
{
    rs_writer_text(writer, *first ? "\n    {\"" : ",\n    {\"");
    *first = false;
    rs_writer_text(writer, name ? "table\": " : "list\": ");
    rs_writer_json_string(writer, name ? name : what, strlen(name ? name : what));
    RS_WRITE(writer, name ? ", \"rows\": " : ", \"entries\": ", n, ", \"shown\": ", shown, "}");
}

/* What a budget keeps from being shown; all of it, at its longest, when nothing is known of the shares yet. */
static void write_all_left_out(rs_writer *writer, const rs_result *result, const rs_budget *shares)
{
    bool first = true;
    rs_writer_text(writer, ",\n  \"left_out\": [");
    for (size_t i = 0; i < result->n_tables; i++) {
        if (!result->tables[i]) continue;
        size_t n = rs_table_n_rows(result->tables[i]), shown = shares->rows ? shares->rows[i] : n;
        if (n > shown || (n && !shares->rows))
            write_left_out(writer, &first, NULL, rs_table_get_spec(result->tables[i])->name, n, shown);
    }
    if (result->problems.n > shares->n_problems)
        write_left_out(writer, &first, "problems", NULL, result->problems.n, shares->n_problems);
    if (result->n_notes > shares->n_notes)
        write_left_out(writer, &first, "notes", NULL, result->n_notes, shares->n_notes);
    rs_writer_text(writer, first ? "]"
                                 : "\n  ],\n  \"rest\": \"the same command without --budget; "
                                   "a table by itself: --table NAME --format jsonl\"");
}

/* shares: what is shown; NULL: everything. Its rows NULL: none, and the most that can be said of what is left out. */
static void write_shares(rs_writer *writer, const rs_result *result, const rs_render_settings *settings,
                         const rs_budget *shares)
{
    rs_problems problems = result->problems;
    size_t n_notes = shares ? shares->n_notes : result->n_notes;
    if (shares) problems.n = shares->n_problems;
    rs_writer_char(writer, '{');
    rs_write_json_verdict(writer, result);
    rs_writer_text(writer, "\n  \"tables\": {");
    bool first = true;
    for (size_t i = 0; i < result->n_tables; i++) {
        if (!result->tables[i]) continue;
        const char *name = rs_table_get_spec(result->tables[i])->name;
        size_t n_rows = rs_table_n_rows(result->tables[i]);
        if (shares) n_rows = shares->rows ? shares->rows[i] : 0;
        rs_writer_text(writer, first ? "\n    " : ",\n    ");
        first = false;
        rs_writer_json_string(writer, name, strlen(name));
        rs_writer_text(writer, ": ");
        write_array(writer, result->tables[i], n_rows, settings, 6);
    }
    rs_writer_text(writer, first ? "}" : "\n  }");
    write_told(writer, result, &problems, n_notes);
    if (shares) write_all_left_out(writer, result, shares);
    rs_writer_text(writer, "\n}\n");
}

/* ---- budget ----------------------------------------------------------------------------------------------- */

typedef struct budgeted {
    const rs_result *result;
    const rs_render_settings *settings;
} budgeted;

/* A row, and the brackets, commas and blanks around it at their longest. */
static void measure_row(rs_writer *writer, const void *context, size_t table, size_t row)
{
    const budgeted *b = context;
    const rs_table *t = b->result->tables[table];
    size_t depth_column = depth_column_of(t, b->settings);
    if (depth_column == SIZE_MAX)
        write_row(writer, t, row);
    else
        open_nested(writer, t, row, rs_table_int(t, row, depth_column), 6);
    rs_writer_text(writer, ",\n      ");
    if (row == 0) rs_writer_text(writer, "\n    ");
}

static void measure_problem(rs_writer *writer, const void *context, size_t i)
{
    rs_writer_text(writer, ",\n    \n  ");
    write_problem(writer, &((const budgeted *)context)->result->problems.items[i]);
}

static void measure_note(rs_writer *writer, const void *context, size_t i)
{
    rs_writer_text(writer, ",\n  ");
    write_note(writer, ((const budgeted *)context)->result, i);
}

/* All of it, with the line that nothing was left out. */
static bool fits(rs_meter *meter, const rs_result *result, const rs_render_settings *settings, rs_budget *all)
{
    for (size_t i = 0; i < result->n_tables; i++)
        all->rows[i] = result->tables[i] ? rs_table_n_rows(result->tables[i]) : 0;
    all->n_problems = result->problems.n;
    all->n_notes = result->n_notes;
    rs_meter_init(meter, settings->budget);
    write_shares(&meter->writer, result, settings, all);
    return !meter->writer.failed && rs_meter_bytes(meter) <= settings->budget;
}

static rs_status choose_shares(rs_meter *meter, const rs_result *result, const rs_render_settings *settings,
                               rs_budget *out, rs_error *err)
{
    const rs_budget nothing = {0};
    const budgeted b = {result, settings};
    const rs_budget_parts parts = {measure_row, measure_problem, measure_note, &b};
    if (!(out->rows = rs_calloc(result->n_tables + 1, sizeof *out->rows)))
        return rs_fail_nomem(err, "an answer");
    if (fits(meter, result, settings, out)) return RS_OK;
    rs_budget_clear(out);
    rs_meter_init(meter, SIZE_MAX);
    write_shares(&meter->writer, result, settings, &nothing);
    size_t least = rs_meter_bytes(meter);
    if (least > settings->budget) return rs_budget_fail(settings->budget, least, err);
    return rs_budget_share(result, &parts, settings->budget - least, out, err);
}

static rs_status write_within(rs_writer *writer, const rs_result *result, const rs_render_settings *settings,
                              rs_error *err)
{
    rs_budget shares = {0};
    RS_LOCAL rs_meter *meter = rs_malloc(sizeof *meter);
    if (!meter) return rs_fail_nomem(err, "an answer");
    rs_status status = choose_shares(meter, result, settings, &shares, err);
    if (status == RS_OK) write_shares(writer, result, settings, &shares);
    rs_budget_clear(&shares);
    return status;
}

static rs_status write_result(rs_writer *writer, const rs_result *result, size_t main_table,
                              const rs_render_settings *settings, rs_error *err)
{
    (void)main_table;
    if (settings->budget) return write_within(writer, result, settings, err);
    write_shares(writer, result, settings, NULL);
    return RS_OK;
}

/* ---- pages ------------------------------------------------------------------------------------------------ */

static rs_status write_page(void *context, rs_writer *writer, const rs_table *page, bool first,
                            const rs_render_settings *settings, rs_error *err)
{
    bool *any = context;
    const char *name = rs_table_get_spec(page)->name;
    (void)settings;
    (void)err;
    if (first) {
        rs_writer_text(writer, "{\n  \"tables\": {\n    ");
        rs_writer_json_string(writer, name, strlen(name));
        rs_writer_text(writer, ": [");
    }
    for (size_t row = 0; row < rs_table_n_rows(page) && !writer->failed; row++) {
        rs_writer_text(writer, *any ? ",\n      " : "\n      ");
        *any = true;
        write_row(writer, page, row);
    }
    return RS_OK;
}

static rs_status write_json_pages(rs_writer *writer, const rs_pages *pages,
                                  const rs_render_settings *settings, rs_error *err)
{
    static const rs_result nothing;
    bool any = false;
    rs_status status = rs_pages_each(pages, RS_PAGE_ROWS, write_page, &any, writer, settings, err);
    if (status != RS_OK) return status;
    const rs_result *told = pages->told ? pages->told(pages->context) : &nothing;
    rs_writer_text(writer, any ? "\n    ]\n  }" : "]\n  }");
    write_told(writer, told, &told->problems, told->n_notes);
    rs_writer_text(writer, "\n}\n");
    return RS_OK;
}

const rs_output_form rs_output_form_json = {.name = "json",
                                            .help = "one JSON object: tables, problems, notes",
                                            .extension = "json",
                                            .has_budget = true,
                                            .table = write_table,
                                            .result = write_result,
                                            .pages = write_json_pages};
const rs_output_form rs_output_form_jsonl = {.name = "jsonl",
                                             .help = "one JSON object a row",
                                             .extension = "jsonl",
                                             .table = write_jsonl,
                                             .pages = write_jsonl_pages};
