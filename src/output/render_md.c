/* Markdown: the same cells as the text table, whole, with every character that Markdown would interpret
 * escaped. */

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
    char *clean = rs_malloc(3 * length + 1);
    if (!clean) return rs_fail_nomem(err, "a cell");
    size_t n = rs_text_clean(text, length, true, clean);
    write_escaped(writer, clean, n);
    rs_free(clean);
    return RS_OK;
}

static rs_status write_md(rs_writer *writer, const rs_table *table, const rs_render_settings *settings,
                          rs_error *err)
{
    (void)settings;
    const rs_table_spec *spec = rs_table_get_spec(table);
    rs_display *displays = rs_calloc(spec->n_columns, sizeof *displays);
    if (!displays) return rs_fail_nomem(err, "the layout of a table");
    for (size_t at = 0; at < spec->n_columns; at++) {
        rs_display_plan(table, at, true, &displays[at]);
        rs_writer_text(writer, "| ");
        write_escaped(writer, displays[at].heading, strlen(displays[at].heading));
        rs_writer_char(writer, ' ');
    }
    rs_writer_text(writer, "|\n");
    for (size_t at = 0; at < spec->n_columns; at++)
        rs_writer_text(writer, displays[at].is_text ? "| --- " : "| ---: ");
    rs_writer_text(writer, "|\n");
    rs_status status = RS_OK;
    for (size_t row = 0; row < rs_table_n_rows(table) && status == RS_OK && !writer->failed; row++) {
        for (size_t at = 0; at < spec->n_columns && status == RS_OK; at++) {
            char cell[RS_CELL_SIZE];
            rs_writer_text(writer, "| ");
            if (displays[at].is_text)
                status = write_text_cell(writer, table, row, at, err);
            else
                rs_writer_bytes(writer, cell, rs_display_cell(table, row, at, &displays[at], cell));
            rs_writer_char(writer, ' ');
        }
        rs_writer_text(writer, "|\n");
    }
    rs_free(displays);
    return status;
}

const rs_output_form rs_output_form_md = {
    .name = "md", .help = "a Markdown table, as text has it", .extension = "md", .table = write_md};
