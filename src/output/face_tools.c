#include "output/face_tools.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "text/numbers.h"

#define MAX_COLUMNS 64

size_t rs_face_column(const rs_table *table, const char *name)
{
    const rs_table_spec *spec = rs_table_get_spec(table);
    size_t i = 0;
    while (i + 1 < spec->n_columns && strcmp(spec->columns[i].name, name) != 0) i++;
    return i;
}

double rs_face_number(const rs_table *table, size_t row, const char *column)
{
    size_t c = rs_face_column(table, column);
    return rs_table_is_null(table, row, c) ? NAN : rs_table_real(table, row, c);
}

int64_t rs_face_int(const rs_table *table, size_t row, const char *column, int64_t otherwise)
{
    size_t c = rs_face_column(table, column);
    return rs_table_is_null(table, row, c) ? otherwise : rs_table_int(table, row, c);
}

const char *rs_face_string(const rs_table *table, size_t row, const char *column)
{
    size_t c = rs_face_column(table, column), n;
    return rs_table_is_null(table, row, c) ? "" : rs_table_text(table, row, c, &n);
}

rs_status rs_face_part(rs_page *layout, const rs_table *table, const char *const *columns, const size_t *rows,
                       size_t n_rows, rs_error *err)
{
    const rs_table_spec *whole = rs_table_get_spec(table);
    rs_column_spec chosen[MAX_COLUMNS];
    size_t from[MAX_COLUMNS], n = 0;
    for (; columns[n] && n < MAX_COLUMNS; n++) {
        from[n] = rs_face_column(table, columns[n]);
        chosen[n] = whole->columns[from[n]];
    }
    rs_table_spec spec = {.name = whole->name, .help = whole->help, .columns = chosen, .n_columns = n};
    rs_table *part = rs_table_create(&spec);
    if (!part) return rs_fail_nomem(err, "table");
    if (!rows && n_rows > rs_table_n_rows(table)) n_rows = rs_table_n_rows(table);
    rs_status status = RS_OK;
    for (size_t i = 0; status == RS_OK && i < n_rows; i++) {
        for (size_t c = 0; c < n; c++) rs_table_add_cell(part, table, rows ? rows[i] : i, from[c]);
        status = rs_table_end_row(part, err);
    }
    if (status == RS_OK) status = rs_page_table(layout, part, err);
    rs_table_free(part);
    return status;
}

rs_status rs_face_first(const rs_table *table, const char *const *columns, size_t limit, rs_page *layout,
                        rs_error *err)
{
    size_t n = rs_table_n_rows(table), shown = n < limit ? n : limit;
    rs_status status = rs_face_part(layout, table, columns, NULL, shown, err);
    if (status == RS_OK && shown < n) {
        char text[120];
        snprintf(text, sizeof text, "%zu of %zu rows; all of them: --format csv", shown, n);
        rs_page_wrap(layout, "  ", text);
    }
    return status;
}

const char *rs_face_human_us(double us, char out[32])
{
    if (isnan(us)) return "?";
    rs_human_time((int64_t)(us * 1000), out);
    return out;
}
