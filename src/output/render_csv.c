/* CSV after RFC 4180, lines ended by LF: a header always, unknown cells empty, full precision. */
#include "base/memory.h"
#include "output/form.h"
#include "text/utf8.h"

/* As a terminal may show it: names come from files that others wrote. */
static void write_shown(rs_writer *writer, const char *text, size_t length)
{
    RS_LOCAL char *clean = length < SIZE_MAX / 4 ? rs_malloc(3 * length + 1) : NULL;
    if (clean)
        rs_writer_csv_text(writer, clean, rs_text_clean(text, length, true, clean));
    else
        writer->failed = true;
}

static void write_cell(rs_writer *writer, const rs_table *table, const rs_column_spec *spec, size_t row,
                       size_t at, bool terminal)
{
    if (rs_table_is_null(table, row, at)) return;
    switch (spec->type) {
    case RS_INT: rs_writer_int(writer, rs_table_int(table, row, at)); break;
    case RS_TIME:
    case RS_MOMENT: rs_writer_time(writer, rs_table_int(table, row, at), spec->unit); break;
    case RS_REAL: rs_writer_real(writer, rs_table_real(table, row, at)); break;
    case RS_TEXT: {
        size_t length;
        const char *text = rs_table_text(table, row, at, &length);
        if (terminal)
            write_shown(writer, text, length);
        else
            rs_writer_csv_text(writer, text, length);
        break;
    }
    }
}

/* A line that is empty altogether is no row to most readers. */
static bool is_blank_line(const rs_table *table, size_t row)
{
    const rs_table_spec *spec = rs_table_get_spec(table);
    if (spec->n_columns != 1) return false;
    if (rs_table_is_null(table, row, 0)) return true;
    size_t length = 1;
    if (spec->columns[0].type == RS_TEXT) rs_table_text(table, row, 0, &length);
    return length == 0;
}

static void write_head(rs_writer *writer, const rs_table *table)
{
    const rs_table_spec *spec = rs_table_get_spec(table);
    for (size_t at = 0; at < spec->n_columns; at++) {
        if (at) rs_writer_char(writer, ',');
        rs_writer_csv_text(writer, spec->columns[at].name, strlen(spec->columns[at].name));
    }
    rs_writer_char(writer, '\n');
}

static void write_rows(rs_writer *writer, const rs_table *table, const rs_render_settings *settings)
{
    const rs_table_spec *spec = rs_table_get_spec(table);
    size_t n_rows = rs_table_n_rows(table);
    for (size_t row = 0; row < n_rows && !writer->failed; row++) {
        for (size_t at = 0; at < spec->n_columns; at++) {
            if (at) rs_writer_char(writer, ',');
            write_cell(writer, table, &spec->columns[at], row, at, settings->terminal);
        }
        if (is_blank_line(table, row)) rs_writer_bytes(writer, "\"\"", 2);
        rs_writer_char(writer, '\n');
    }
}

static rs_status write_csv(rs_writer *writer, const rs_table *table, const rs_render_settings *settings,
                           rs_error *err)
{
    (void)err;
    write_head(writer, table);
    write_rows(writer, table, settings);
    return RS_OK;
}

static rs_status write_page(void *context, rs_writer *writer, const rs_table *page, bool first,
                            const rs_render_settings *settings, rs_error *err)
{
    (void)context;
    (void)err;
    if (first) write_head(writer, page);
    write_rows(writer, page, settings);
    return RS_OK;
}

static rs_status write_pages(rs_writer *writer, const rs_pages *pages, const rs_render_settings *settings,
                             rs_error *err)
{
    return rs_pages_each(pages, RS_PAGE_ROWS, write_page, NULL, writer, settings, err);
}

const rs_output_form rs_output_form_csv = {.name = "csv",
                                           .help = "comma-separated values, a header line, full precision",
                                           .extension = "csv",
                                           .table = write_csv,
                                           .pages = write_pages};
