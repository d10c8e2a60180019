#include "output/face_tools.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/order.h"
#include "base/real.h"
#include "base/try.h"
#include "output/form.h"

/* The column of a name that ends at a bar, too. */
size_t rs_face_column(const rs_table *table, const char *name)
{
    const rs_table_spec *spec = rs_table_get_spec(table);
    size_t i = 0, n = strcspn(name, "|");
    while (i + 1 < spec->n_columns &&
           (strncmp(spec->columns[i].name, name, n) != 0 || spec->columns[i].name[n] != '\0'))
        i++;
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

bool rs_face_has(const rs_table *table, const char *column)
{
    const rs_table_spec *spec = rs_table_get_spec(table);
    return spec->n_columns && strcmp(spec->columns[rs_face_column(table, column)].name, column) == 0;
}

/* ---- tables in part ----------------------------------------------------------------------------------------- */

static rs_status copy_rows(rs_table *part, const rs_table *table, const size_t *columns, size_t n_columns,
                           const size_t *rows, size_t n_rows, rs_error *err)
{
    for (size_t i = 0; i < n_rows; i++) {
        for (size_t c = 0; c < n_columns; c++) rs_table_add_cell(part, table, rows ? rows[i] : i, columns[c]);
        RS_TRY(rs_table_end_row(part, err));
    }
    return RS_OK;
}

static rs_status make_part(const rs_table *table, const char *columns, const size_t *rows, size_t n_rows,
                           rs_table **out, rs_error *err)
{
    const rs_table_spec *whole = rs_table_get_spec(table);
    size_t n = columns ? 1 : whole->n_columns;
    for (const char *p = columns; p && (p = strchr(p, '|')); p++) n++;
    RS_LOCAL rs_column_spec *chosen = rs_malloc((n + 1) * sizeof *chosen);
    RS_LOCAL size_t *from = rs_malloc((n + 1) * sizeof *from);
    if (!chosen || !from) return rs_fail_nomem(err, "table");
    for (size_t i = 0; i < n; i++) {
        from[i] = columns ? rs_face_column(table, columns) : i;
        chosen[i] = whole->columns[from[i]];
        if (columns) columns += strcspn(columns, "|") + 1;
    }
    const rs_table_spec spec = {.name = whole->name, .help = whole->help, .columns = chosen, .n_columns = n};
    if (!(*out = rs_table_create_dynamic(&spec))) return rs_fail_nomem(err, "table");
    if (!rows && n_rows > rs_table_n_rows(table)) n_rows = rs_table_n_rows(table);
    rs_status status = copy_rows(*out, table, from, n, rows, n_rows, err);
    if (status == RS_OK) return RS_OK;
    rs_table_free(*out);
    return status;
}

rs_status rs_face_part(rs_page *layout, const rs_table *table, const char *columns, const size_t *rows,
                       size_t n_rows, rs_error *err)
{
    rs_table *part = NULL;
    RS_TRY(make_part(table, columns, rows, n_rows, &part, err));
    rs_status status = rs_page_table(layout, part, err);
    rs_table_free(part);
    return status;
}

size_t rs_face_most(rs_page *layout, size_t n)
{
    if (!layout->rows || n <= layout->rows) return n;
    layout->cut = true;
    return layout->rows;
}

typedef struct ranked {
    double value;
    size_t row;
} ranked;

/* The greatest first; unknown values last; equal ones as in the table. */
static const rs_order by_value[] = {RS_FALLING(ranked, value), RS_RISING(ranked, row)};

/* The rows that the page shows of a table; NULL: its first ones. */
static rs_status choose_rows(const rs_table *table, rs_page *layout, size_t **rows, size_t *n, rs_error *err)
{
    size_t all = rs_table_n_rows(table);
    *rows = NULL;
    *n = rs_face_most(layout, all);
    if (*n == all || !layout->by || !rs_face_has(table, layout->by)) return RS_OK;
    RS_LOCAL ranked *order = rs_malloc(all * sizeof *order);
    if (!order || !(*rows = rs_malloc(*n * sizeof **rows))) return rs_fail_nomem(err, "rows");
    for (size_t i = 0; i < all; i++) {
        double value = fabs(rs_face_number(table, i, layout->by));
        order[i] = (ranked){isnan(value) ? -1 : value, i};
    }
    RS_SORT(order, all, by_value);
    for (size_t i = 0; i < *n; i++) (*rows)[i] = order[i].row;
    return RS_OK;
}

rs_status rs_face_first(const rs_table *table, const char *columns, rs_page *layout, rs_error *err)
{
    size_t *rows, n;
    RS_TRY(choose_rows(table, layout, &rows, &n, err));
    rs_status status = rs_face_part(layout, table, columns, rows, n, err);
    rs_free(rows);
    return status;
}

static rs_status cut_table(rs_table **table, bool *own, rs_page *layout, rs_error *err)
{
    size_t *rows, n;
    const rs_table *whole = *table;
    if (!whole) return RS_OK;
    RS_TRY(choose_rows(whole, layout, &rows, &n, err));
    rs_status status = RS_OK;
    if (n < rs_table_n_rows(whole)) {
        status = make_part(whole, NULL, rows, n, table, err);
        *own = status == RS_OK;
    }
    rs_free(rows);
    return status;
}

rs_status rs_face_tables(const rs_result *result, rs_page *layout, const rs_render_settings *settings,
                         rs_error *err)
{
    rs_result shown = *result;
    size_t n = result->n_tables;
    RS_LOCAL rs_table **tables = rs_calloc(n + 1, sizeof(rs_table *));
    RS_LOCAL bool *own = rs_calloc(n + 1, sizeof *own);
    rs_status status = tables && own ? RS_OK : rs_fail_nomem(err, "tables");
    shown.tables = tables;
    for (size_t i = 0; status == RS_OK && i < n; i++) {
        tables[i] = result->tables[i];
        status = cut_table(&tables[i], &own[i], layout, err);
    }
    if (status == RS_OK)
        status = settings->form->result(layout->writer, &shown, result->main_table, settings, err);
    for (size_t i = 0; own && i < n; i++)
        if (own[i]) rs_table_free(tables[i]);
    return status;
}

const char *rs_face_human_us(double us, char out[32])
{
    if (isnan(us)) return "?";
    rs_human_time(rs_int_of(us * 1000), out);
    return out;
}
