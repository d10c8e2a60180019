/* Rows of a table in the order of one column, so that a join looks its partner up instead of reading the table
 * again for every row. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "sql/session.h"

/* A cell, or a value that is looked for, as SQLite compares them. */
typedef struct cell {
    rs_type type; /* RS_INT, RS_REAL or RS_TEXT */
    int64_t whole;
    double real;
    const char *text;
    size_t n;
} cell;

static cell cell_at(const rs_table *t, size_t row, size_t column)
{
    const rs_column_spec *spec = &rs_table_get_spec(t)->columns[column];
    cell c = {.type = spec->type};
    if (spec->type == RS_TEXT) {
        c.text = rs_table_text(t, row, column, &c.n);
    } else if (spec->type == RS_INT || (rs_type_is_time(spec->type) && spec->unit == RS_UNIT_NS)) {
        c.type = RS_INT;
        c.whole = rs_table_int(t, row, column);
    } else {
        c.type = RS_REAL;
        c.real = rs_table_real(t, row, column);
    }
    return c;
}

static int compare(const cell *a, const cell *b)
{
    if (a->type == RS_INT) return (a->whole > b->whole) - (a->whole < b->whole);
    if (a->type == RS_REAL) return (a->real > b->real) - (a->real < b->real);
    int order = memcmp(a->text, b->text, a->n < b->n ? a->n : b->n);
    return order ? order : (a->n > b->n) - (a->n < b->n);
}

typedef struct placed {
    cell cell;
    uint32_t row;
} placed;

static int by_cell(const void *a, const void *b)
{
    const placed *x = a, *y = b;
    int order = compare(&x->cell, &y->cell);
    return order ? order : (x->row > y->row) - (x->row < y->row);
}

static rs_status make_order(rs_sql_order **orders, const rs_table *t, size_t column, rs_error *err)
{
    size_t n_rows = rs_table_n_rows(t), n = 0;
    rs_sql_order *o = rs_calloc(1, sizeof *o);
    placed *items = rs_big_resize(NULL, (n_rows + 1) * sizeof *items);
    uint32_t *rows = rs_big_resize(NULL, (n_rows + 1) * sizeof *rows);
    if (!o || !items || !rows) {
        rs_free(o);
        rs_big_free(items);
        rs_big_free(rows);
        return rs_fail_nomem(err, "an index of a table");
    }
    for (size_t row = 0; row < n_rows; row++) {
        if (rs_table_is_null(t, row, column)) continue;
        cell c = cell_at(t, row, column);
        if (c.type != RS_REAL || !isnan(c.real)) items[n++] = (placed){c, (uint32_t)row};
    }
    if (n) qsort(items, n, sizeof *items, by_cell);
    for (size_t i = 0; i < n; i++) rows[i] = items[i].row;
    rs_big_free(items);
    *o = (rs_sql_order){.next = *orders, .table = t, .column = column, .n = n, .rows = rows};
    *orders = o;
    return RS_OK;
}

/* What is looked for, as the type of the column has it; false: no cell is equal to it. */
static bool wanted_of(const rs_column_spec *spec, sqlite3_value *value, cell *out)
{
    bool whole = spec->type == RS_INT || (rs_type_is_time(spec->type) && spec->unit == RS_UNIT_NS);
    *out = (cell){.type = spec->type == RS_TEXT ? RS_TEXT : whole ? RS_INT : RS_REAL};
    if (sqlite3_value_type(value) == SQLITE_NULL) return false;
    if (out->type == RS_TEXT) {
        out->text = (const char *)sqlite3_value_text(value);
        out->n = (size_t)sqlite3_value_bytes(value);
        return out->text != NULL;
    }
    int type = sqlite3_value_numeric_type(value);
    if (type != SQLITE_INTEGER && type != SQLITE_FLOAT) return false;
    out->real = sqlite3_value_double(value);
    out->whole = sqlite3_value_int64(value);
    return !whole || type == SQLITE_INTEGER || out->real == (double)out->whole;
}

rs_status rs_sql_look_up(rs_sql_order **orders, const rs_table *t, size_t column, sqlite3_value *value,
                         const uint32_t **rows, size_t *n, rs_error *err)
{
    cell wanted;
    const rs_sql_order *o = *orders;
    *n = 0;
    if (!wanted_of(&rs_table_get_spec(t)->columns[column], value, &wanted)) return RS_OK;
    while (o && (o->table != t || o->column != column)) o = o->next;
    if (!o) {
        RS_TRY(make_order(orders, t, column, err));
        o = *orders;
    }
    size_t low;
    cell probe;
    RS_SEARCH(low, o->n, (probe = cell_at(t, o->rows[low], column), compare(&probe, &wanted) < 0));
    size_t end = low;
    for (; end < o->n; end++) {
        cell there = cell_at(t, o->rows[end], column);
        if (compare(&there, &wanted) != 0) break;
    }
    *rows = o->rows + low;
    *n = end - low;
    return RS_OK;
}

void rs_sql_orders_clear(rs_sql_order **orders)
{
    while (*orders) {
        rs_sql_order *o = *orders;
        *orders = o->next;
        rs_big_free(o->rows);
        rs_free(o);
    }
}
