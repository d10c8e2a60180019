/* Tab-separated values: an example of an output form, see docs/adding.md. */
#include <string.h>

#include "output/form.h"

/* A tab or a line end inside a text would end the cell, so both become blanks. */
static void write_text(rs_writer *writer, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        rs_writer_char(writer, text[i] == '\t' || text[i] == '\n' || text[i] == '\r' ? ' ' : text[i]);
}

static void write_cell(rs_writer *writer, const rs_table *table, size_t row, size_t at)
{
    const rs_column_spec *column = &rs_table_get_spec(table)->columns[at];
    if (rs_table_is_null(table, row, at)) return;
    if (column->type == RS_TEXT) {
        size_t length;
        const char *text = rs_table_text(table, row, at, &length);
        write_text(writer, text, length);
    } else if (column->type == RS_REAL) {
        rs_writer_real(writer, rs_table_real(table, row, at));
    } else if (column->type == RS_INT) {
        rs_writer_int(writer, rs_table_int(table, row, at));
    } else {
        rs_writer_time(writer, rs_table_int(table, row, at), column->unit);
    }
}

static rs_status write_tsv(rs_writer *writer, const rs_table *table, const rs_render_settings *settings,
                           rs_error *err)
{
    (void)settings;
    (void)err;
    const rs_table_spec *spec = rs_table_get_spec(table);
    for (size_t at = 0; at < spec->n_columns; at++) {
        if (at) rs_writer_char(writer, '\t');
        write_text(writer, spec->columns[at].name, strlen(spec->columns[at].name));
    }
    rs_writer_char(writer, '\n');
    for (size_t row = 0; row < rs_table_n_rows(table) && !writer->failed; row++) {
        for (size_t at = 0; at < spec->n_columns; at++) {
            if (at) rs_writer_char(writer, '\t');
            write_cell(writer, table, row, at);
        }
        rs_writer_char(writer, '\n');
    }
    return RS_OK;
}

const rs_output_form rs_output_form_tsv = {.name = "tsv",
                                           .help = "tab-separated values, a header line, full precision",
                                           .extension = "tsv",
                                           .table = write_tsv};
