/* Which tables of a result go out in which format. */
#include "rankscope/render.h"

#include "base/memory.h"
#include "output/formats.h"
#include "text/utf8.h"

static rs_status write_table(rs_writer *writer, const rs_table *table, const rs_render_settings *settings,
                             rs_error *err)
{
    switch (settings->format) {
    case RS_FORMAT_TEXT: return rs_write_text(writer, table, settings, err);
    case RS_FORMAT_CSV: rs_write_csv(writer, table); return RS_OK;
    case RS_FORMAT_JSONL: rs_write_jsonl(writer, table); return RS_OK;
    case RS_FORMAT_MD: return rs_write_md(writer, table, err);
    case RS_FORMAT_JSON:
        rs_write_json_rows(writer, table, 2);
        rs_writer_char(writer, '\n');
        return RS_OK;
    }
    return rs_fail(err, RS_ERR_USAGE, "no such format");
}

rs_status rs_render_table(const rs_table *table, const rs_render_settings *settings, const rs_sink *sink,
                          rs_error *err)
{
    rs_writer writer;
    rs_writer_init(&writer, sink);
    rs_status status = write_table(&writer, table, settings, err);
    if (status != RS_OK) return status;
    return rs_writer_finish(&writer, err);
}

static void write_section(rs_writer *writer, const rs_table *table, const rs_render_settings *settings)
{
    const rs_table_spec *spec = rs_table_get_spec(table);
    if (settings->color) rs_writer_text(writer, "\033[1m");
    rs_writer_text(writer, spec->name);
    if (settings->color) rs_writer_text(writer, "\033[0m");
    if (spec->help) {
        rs_writer_text(writer, ": ");
        rs_writer_text(writer, spec->help);
    }
    rs_writer_char(writer, '\n');
}

/* Every table with rows; the main one when none has any, so that its header is seen. */
static rs_status write_text_result(rs_writer *writer, const rs_result *result, size_t main_table,
                                   const rs_render_settings *settings, rs_error *err)
{
    size_t n_shown = 0;
    for (size_t i = 0; i < result->n_tables; i++)
        if (result->tables[i] && rs_table_n_rows(result->tables[i])) n_shown++;
    bool first = true;
    for (size_t i = 0; i < result->n_tables; i++) {
        const rs_table *table = result->tables[i];
        if (!table || (n_shown ? rs_table_n_rows(table) == 0 : i != main_table)) continue;
        if (!first) rs_writer_char(writer, '\n');
        first = false;
        if (n_shown > 1) write_section(writer, table, settings);
        rs_status status = rs_write_text(writer, table, settings, err);
        if (status != RS_OK) return status;
    }
    return RS_OK;
}

rs_status rs_render_result(const rs_result *result, size_t main_table, const rs_render_settings *settings,
                           const rs_sink *sink, rs_error *err)
{
    rs_writer writer;
    rs_writer_init(&writer, sink);
    rs_status status = RS_OK;
    if (settings->format == RS_FORMAT_JSON)
        rs_write_json_result(&writer, result);
    else if (settings->format == RS_FORMAT_TEXT)
        status = write_text_result(&writer, result, main_table, settings, err);
    else if (main_table >= result->n_tables || !result->tables[main_table])
        status = rs_fail(err, RS_ERR_USAGE, "the result has no table %zu", main_table);
    else
        status = write_table(&writer, result->tables[main_table], settings, err);
    if (status != RS_OK) return status;
    return rs_writer_finish(&writer, err);
}
