#include "report/data.h"

#include <string.h>

#include "base/order.h"
#include "output/json.h"

/* ---- escaping ----------------------------------------------------------------------------------------- */

static bool pass(const rs_report_escape *e, const char *bytes, size_t n)
{
    return n == 0 || e->sink->write(e->sink->context, bytes, n);
}

/* U+2028 and U+2029 are E2 80 A8 and E2 80 A9: their first two bytes are held until the third is known, which
 * may come with the next write. A JSON text never ends inside a character. */
static bool write_escaped(void *context, const char *bytes, size_t n)
{
    static const char held[] = "\xE2\x80";
    rs_report_escape *e = context;
    size_t from = 0;
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)bytes[i];
        const char *instead = c == '<' ? "\\u003c" : c == '>' ? "\\u003e" : c == '&' ? "\\u0026" : NULL;
        if (e->matched == 2 && (c == 0xA8 || c == 0xA9)) instead = c == 0xA8 ? "\\u2028" : "\\u2029";
        bool hold = (e->matched == 0 && c == 0xE2) || (e->matched == 1 && c == 0x80);
        if (!instead && !hold && e->matched == 0) continue;
        if (e->matched == 0 && !pass(e, bytes + from, i - from)) return false;
        if (hold) {
            e->matched++;
        } else {
            bool separator = e->matched == 2 && instead && instead[2] == '2';
            if (!separator && !pass(e, held, e->matched)) return false;
            e->matched = 0;
            if (!pass(e, instead ? instead : bytes + i, instead ? 6 : 1)) return false;
        }
        from = i + 1;
    }
    return e->matched > 0 || pass(e, bytes + from, n - from);
}

rs_sink rs_report_escape_sink(rs_report_escape *escape)
{
    return (rs_sink){write_escaped, escape};
}

/* ---- tables ------------------------------------------------------------------------------------------- */

typedef struct ranked {
    double value;
    size_t row;
} ranked;

static const rs_order by_value[] = {RS_FALLING(ranked, value), RS_RISING(ranked, row)};

static const rs_order by_row[] = {RS_RISING(ranked, row)};

static size_t find_column(const rs_table_spec *spec, const char *name, size_t length)
{
    size_t at = 0;
    while (at < spec->n_columns &&
           (strncmp(spec->columns[at].name, name, length) != 0 || spec->columns[at].name[length] != '\0'))
        at++;
    return at;
}

/* Leaves the rows of the page at the front of rows, in the table's order; how many. */
static size_t choose_rows(const rs_table *table, const rs_report_part *part, ranked *rows)
{
    const rs_table_spec *spec = rs_table_get_spec(table);
    size_t n = rs_table_n_rows(table);
    size_t by = part->order ? find_column(spec, part->order, strlen(part->order)) : spec->n_columns;
    for (size_t i = 0; i < n; i++) {
        rows[i] = (ranked){-1e300, i};
        if (by < spec->n_columns && !rs_table_is_null(table, i, by))
            rows[i].value = rs_table_real(table, i, by);
    }
    if (n <= part->cap) return n;
    RS_SORT(rows, n, by_value);
    RS_SORT(rows, part->cap, by_row);
    return part->cap;
}

static size_t choose_columns(const rs_table_spec *spec, const char *names, size_t *columns)
{
    size_t n = 0;
    if (!names) {
        for (; n < spec->n_columns; n++) columns[n] = n;
        return n;
    }
    while (*names) {
        size_t length = strcspn(names, ","), at = find_column(spec, names, length);
        if (at < spec->n_columns && n < spec->n_columns) columns[n++] = at;
        names += length;
        if (*names) names++;
    }
    return n;
}

static void put_text(rs_writer *writer, const char *text)
{
    if (text)
        rs_writer_json_string(writer, text, strlen(text));
    else
        rs_writer_text(writer, "null");
}

static void put_columns(rs_writer *writer, const rs_table_spec *spec, const size_t *columns, size_t n)
{
    rs_writer_text(writer, "{\"columns\":[");
    for (size_t i = 0; i < n; i++) {
        const rs_column_spec *column = &spec->columns[columns[i]];
        rs_writer_text(writer, i ? ",[" : "[");
        put_text(writer, column->name);
        rs_writer_char(writer, ',');
        put_text(writer, rs_type_name(column->type));
        rs_writer_char(writer, ',');
        const char *unit = rs_unit_name(column->unit);
        put_text(writer, unit ? unit : "");
        rs_writer_char(writer, ',');
        put_text(writer, column->title);
        rs_writer_char(writer, ',');
        put_text(writer, column->help);
        rs_writer_char(writer, ']');
    }
    rs_writer_text(writer, "],\"rows\":[");
}

static void put_cell(rs_report_data *data, const rs_table *table, size_t row, size_t column)
{
    if (rs_table_get_spec(table)->columns[column].type != RS_TEXT || rs_table_is_null(table, row, column)) {
        rs_write_json_value(data->writer, table, row, column);
        return;
    }
    size_t length;
    const char *text = rs_table_text(table, row, column, &length);
    uint32_t id = rs_strings_add(&data->strings, text, length);
    if (id == RS_NO_STRING) data->out_of_memory = true;
    rs_writer_uint(data->writer, id);
}

rs_status rs_report_put_table(rs_report_data *data, const rs_table *table, const rs_report_part *part,
                              rs_error *err)
{
    const rs_table_spec *spec = rs_table_get_spec(table);
    rs_writer *writer = data->writer;
    size_t total = rs_table_n_rows(table);
    RS_LOCAL ranked *rows = rs_malloc((total + 1) * sizeof *rows);
    RS_LOCAL size_t *columns = rs_malloc((spec->n_columns + 1) * sizeof *columns);
    if (!rows || !columns) return rs_fail_nomem(err, "a table of the report");
    size_t n = choose_rows(table, part, rows), n_columns = choose_columns(spec, part->columns, columns);
    put_columns(writer, spec, columns, n_columns);
    for (size_t i = 0; i < n && !writer->failed; i++) {
        rs_writer_text(writer, i ? ",[" : "[");
        for (size_t c = 0; c < n_columns; c++) {
            if (c) rs_writer_char(writer, ',');
            put_cell(data, table, rows[i].row, columns[c]);
        }
        rs_writer_char(writer, ']');
    }
    RS_WRITE(writer, "],\"total\":", total, ",\"order\":");
    put_text(writer, n < total ? part->order : NULL);
    rs_writer_char(writer, '}');
    return data->out_of_memory ? rs_fail_nomem(err, "the texts of the report") : RS_OK;
}

void rs_report_put_strings(rs_report_data *data)
{
    rs_writer_char(data->writer, '[');
    for (size_t i = 0; i < data->strings.n; i++) {
        if (i) rs_writer_char(data->writer, ',');
        rs_writer_json_string(data->writer, data->strings.items[i].text, data->strings.items[i].length);
    }
    rs_writer_char(data->writer, ']');
}
