/* Markdown: the same cells as the text table, whole, with every character that Markdown would interpret
 * escaped. */

#include "base/try.h"
#include "output/budget.h"
#include "output/display.h"
#include "output/form.h"
#include "text/utf8.h"
#include "base/ascii.h"
#include "base/memory.h"

static bool is_word(char c)
{
    return rs_is_alnum(c) || (unsigned char)c >= 0x80;
}

static void write_escaped(rs_writer *writer, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        char c = text[i];
        bool escape = strchr("\\|<*`[]&~", c) != NULL;
        /* an underscore inside a word is only itself */
        if (c == '_') escape = i == 0 || i + 1 == length || !is_word(text[i - 1]) || !is_word(text[i + 1]);
        if (escape) rs_writer_char(writer, '\\');
        rs_writer_char(writer, c);
    }
}

static rs_status write_text_cell(rs_writer *writer, const rs_table *table, size_t row, size_t at,
                                 rs_error *err)
{
    size_t length;
    const char *text = rs_table_text(table, row, at, &length);
    if (!text) {
        rs_writer_char(writer, '-');
        return RS_OK;
    }
    if (length > SIZE_MAX / 4) return rs_fail_nomem(err, "a cell");
    RS_LOCAL char *clean = rs_malloc(3 * length + 1);
    if (!clean) return rs_fail_nomem(err, "a cell");
    size_t n = rs_text_clean(text, length, true, clean);
    write_escaped(writer, clean, n);
    return RS_OK;
}

static rs_status write_row(rs_writer *writer, const rs_table *table, size_t row, const rs_display *displays,
                           rs_error *err)
{
    for (size_t at = 0; at < rs_table_get_spec(table)->n_columns; at++) {
        char cell[RS_CELL_SIZE];
        rs_writer_text(writer, "| ");
        if (displays[at].is_text)
            RS_TRY(write_text_cell(writer, table, row, at, err));
        else
            rs_writer_bytes(writer, cell, rs_display_cell(table, row, at, &displays[at], cell));
        rs_writer_char(writer, ' ');
    }
    rs_writer_text(writer, "|\n");
    return RS_OK;
}

static void write_head(rs_writer *writer, size_t n, const rs_display *displays)
{
    for (size_t at = 0; at < n; at++) {
        rs_writer_text(writer, "| ");
        write_escaped(writer, displays[at].heading, strlen(displays[at].heading));
        rs_writer_char(writer, ' ');
    }
    rs_writer_text(writer, "|\n");
    for (size_t at = 0; at < n; at++) rs_writer_text(writer, displays[at].is_text ? "| --- " : "| ---: ");
    rs_writer_text(writer, "|\n");
}

static void write_left_out(rs_writer *writer, const rs_table *table, size_t shown)
{
    RS_WRITE(writer, "\n", shown, " of ", rs_table_n_rows(table),
             " rows. The rest: the same command without --budget, with --format jsonl --table ",
             rs_table_get_spec(table)->name, ".\n");
}

/* How many rows fit into the budget: all of them, or as many as fit beside what is said of the others. */
static rs_status count_rows(rs_meter *meter, const rs_table *table, const rs_display *displays, size_t budget,
                            size_t *out, rs_error *err)
{
    size_t n = rs_table_n_rows(table), left_out, shown = 0;
    rs_meter_init(meter, SIZE_MAX);
    write_left_out(&meter->writer, table, n);
    left_out = rs_meter_bytes(meter);
    rs_meter_init(meter, SIZE_MAX);
    write_head(&meter->writer, rs_table_get_spec(table)->n_columns, displays);
    if (rs_meter_bytes(meter) + (n ? left_out : 0) > budget)
        return rs_budget_fail(budget, rs_meter_bytes(meter) + left_out, err);
    for (size_t row = 0; row < n; row++) {
        RS_TRY(write_row(&meter->writer, table, row, displays, err));
        if (rs_meter_bytes(meter) > budget) break;
        if (row + 1 == n || rs_meter_bytes(meter) + left_out <= budget) shown = row + 1;
    }
    *out = shown;
    return RS_OK;
}

static rs_status fit_rows(const rs_table *table, const rs_display *displays, size_t budget, size_t *out,
                          rs_error *err)
{
    RS_LOCAL rs_meter *meter = rs_malloc(sizeof *meter);
    rs_status status =
        meter ? count_rows(meter, table, displays, budget, out, err) : rs_fail_nomem(err, "an answer");
    return status;
}

static rs_status write_md(rs_writer *writer, const rs_table *table, const rs_render_settings *settings,
                          rs_error *err)
{
    const rs_table_spec *spec = rs_table_get_spec(table);
    RS_LOCAL rs_display *displays = rs_calloc(spec->n_columns, sizeof *displays);
    if (!displays) return rs_fail_nomem(err, "the layout of a table");
    rs_display_plan_table(table, true, displays);
    rs_status status = RS_OK;
    size_t n_rows = rs_table_n_rows(table), shown = n_rows;
    if (settings->budget) status = fit_rows(table, displays, settings->budget, &shown, err);
    if (status == RS_OK) write_head(writer, spec->n_columns, displays);
    for (size_t row = 0; row < shown && status == RS_OK && !writer->failed; row++)
        status = write_row(writer, table, row, displays, err);
    if (status == RS_OK && shown < n_rows) write_left_out(writer, table, shown);
    return status;
}

/* Columns have the units and decimals that the first page asks for; one that becomes wider is laid out anew. */
static rs_status write_page(void *context, rs_writer *writer, const rs_table *page, bool first,
                            const rs_render_settings *settings, rs_error *err)
{
    rs_display **displays = context;
    const rs_table_spec *spec = rs_table_get_spec(page);
    (void)settings;
    if (first) *displays = rs_calloc(spec->n_columns, sizeof **displays);
    if (!*displays) return rs_fail_nomem(err, "the layout of a table");
    for (size_t at = 0; at < spec->n_columns; at++)
        if (first || !rs_display_suits(page, at, &(*displays)[at]))
            rs_display_plan(page, at, true, &(*displays)[at]);
    if (first) write_head(writer, spec->n_columns, *displays);
    for (size_t row = 0; row < rs_table_n_rows(page) && !writer->failed; row++)
        RS_TRY(write_row(writer, page, row, *displays, err));
    return RS_OK;
}

static rs_status write_pages(rs_writer *writer, const rs_pages *pages, const rs_render_settings *settings,
                             rs_error *err)
{
    RS_LOCAL rs_display *displays = NULL;
    return rs_pages_each(pages, RS_FIRST_PAGE_ROWS, write_page, &displays, writer, settings, err);
}

const rs_output_form rs_output_form_md = {.name = "md",
                                          .help = "a Markdown table, as text has it",
                                          .extension = "md",
                                          .has_budget = true,
                                          .table = write_md,
                                          .pages = write_pages};
