/* Tables: one array a column, a bitmap of the unknown cells, texts interned once a table. */
#include "rankscope/table.h"

#include <math.h>
#include <string.h>

#include "base/interval.h"
#include "table/cells.h"
#include "table/table_internal.h"

static size_t value_size(rs_type type)
{
    return type == RS_TEXT ? sizeof(uint32_t) : sizeof(int64_t);
}

rs_table *rs_table_create(const rs_table_spec *spec)
{
    rs_table *table = rs_calloc(1, sizeof *table);
    if (!table) return NULL;
    table->spec = spec;
    table->columns = rs_calloc(spec->n_columns, sizeof *table->columns);
    if (!table->columns || !rs_strings_init(&table->strings)) {
        rs_table_free(table);
        return NULL;
    }
    return table;
}

static const char *copy_text(rs_arena *arena, const char *text, bool *ok)
{
    if (!text) return NULL;
    const char *copy = rs_arena_strndup(arena, text, strlen(text));
    if (!copy) *ok = false;
    return copy;
}

rs_table *rs_table_create_dynamic(const rs_table_spec *spec)
{
    rs_table *table = rs_table_create(spec);
    if (!table) return NULL;
    bool ok = true;
    size_t bytes;
    rs_column_spec *columns = NULL;
    if (!__builtin_mul_overflow(spec->n_columns, sizeof *columns, &bytes))
        columns = rs_arena_alloc(&table->arena, bytes);
    if (columns) {
        for (size_t i = 0; i < spec->n_columns; i++) {
            columns[i] = spec->columns[i];
            columns[i].name = copy_text(&table->arena, spec->columns[i].name, &ok);
            columns[i].help = copy_text(&table->arena, spec->columns[i].help, &ok);
            columns[i].title = copy_text(&table->arena, spec->columns[i].title, &ok);
        }
        table->own_spec = (rs_table_spec){.name = copy_text(&table->arena, spec->name, &ok),
                                          .help = copy_text(&table->arena, spec->help, &ok),
                                          .columns = columns,
                                          .n_columns = spec->n_columns};
    }
    if (!columns || !ok) {
        rs_table_free(table);
        return NULL;
    }
    table->spec = &table->own_spec;
    return table;
}

void rs_table_free(rs_table *table)
{
    if (!table) return;
    for (size_t i = 0; table->columns && i < table->spec->n_columns; i++) {
        rs_free_all(table->columns[i].values.any, table->columns[i].nulls);
    }
    rs_free(table->columns);
    rs_strings_clear(&table->strings);
    rs_arena_clear(&table->arena);
    rs_free_all(table->texts_of, table);
}

bool rs_table_reserve(rs_table *table, size_t need)
{
    if (need <= table->capacity) return true;
    size_t wanted = table->capacity ? table->capacity * 2 : 64;
    if (wanted < need) wanted = need;
    if (wanted > SIZE_MAX / 16) return false;
    wanted = (wanted + 63) & ~(size_t)63;
    size_t old_words = table->capacity / 64, words = wanted / 64;
    for (size_t i = 0; i < table->spec->n_columns; i++) {
        rs_table_column *c = &table->columns[i];
        void *values = rs_realloc(c->values.any, wanted * value_size(table->spec->columns[i].type));
        if (!values) return false;
        c->values.any = values;
        uint64_t *nulls = rs_realloc(c->nulls, words * sizeof *nulls);
        if (!nulls) return false;
        memset(nulls + old_words, 0, (words - old_words) * sizeof *nulls);
        c->nulls = nulls;
    }
    table->capacity = wanted;
    return true;
}

/* The column of the next cell, or NULL when the cell cannot be kept. */
static rs_table_column *next_cell(rs_table *table, rs_type type, bool any_type)
{
    if (table->next >= table->spec->n_columns) {
        table->misfit = true;
        return NULL;
    }
    size_t at = table->next++;
    if (!any_type && table->spec->columns[at].type != type) {
        table->misfit = true;
        return NULL;
    }
    if (table->no_memory || !rs_table_reserve(table, table->n_rows + 1)) {
        table->no_memory = true;
        return NULL;
    }
    rs_table_mark(&table->columns[at], table->n_rows, false);
    return &table->columns[at];
}

void rs_table_add_int(rs_table *table, int64_t value)
{
    rs_table_column *c = next_cell(table, RS_INT, false);
    if (c) c->values.ints[table->n_rows] = value;
}

void rs_table_add_time(rs_table *table, int64_t ns)
{
    rs_table_column *c = next_cell(table, RS_TIME, false);
    if (c) c->values.ints[table->n_rows] = ns;
}

void rs_table_add_moment(rs_table *table, int64_t ns)
{
    rs_table_column *c = next_cell(table, RS_MOMENT, false);
    if (!c) return;
    c->values.ints[table->n_rows] = ns == INT64_MIN ? 0 : ns;
    rs_table_mark(c, table->n_rows, ns == INT64_MIN);
}

void rs_table_add_real(rs_table *table, double value)
{
    rs_table_column *c = next_cell(table, RS_REAL, false);
    if (!c) return;
    c->values.reals[table->n_rows] = value;
    if (isnan(value)) rs_table_mark(c, table->n_rows, true);
}

void rs_table_add_text(rs_table *table, const char *value)
{
    if (value)
        rs_table_add_text_n(table, value, strlen(value));
    else
        rs_table_add_null(table);
}

void rs_table_add_text_n(rs_table *table, const char *value, size_t length)
{
    if (!value) {
        rs_table_add_null(table);
        return;
    }
    rs_table_column *c = next_cell(table, RS_TEXT, false);
    if (!c) return;
    uint32_t id = rs_strings_add(&table->strings, value, length);
    if (id == RS_NO_STRING)
        table->no_memory = true;
    else
        c->values.texts[table->n_rows] = id;
}

void rs_table_add_null(rs_table *table)
{
    rs_table_column *c = next_cell(table, RS_INT, true);
    if (!c) return;
    if (table->spec->columns[table->next - 1].type == RS_TEXT)
        c->values.texts[table->n_rows] = 0;
    else
        c->values.ints[table->n_rows] = 0;
    rs_table_mark(c, table->n_rows, true);
}

void rs_table_add_whole(rs_table *table, int64_t value)
{
    rs_type type = table->next < table->spec->n_columns ? table->spec->columns[table->next].type : RS_INT;
    if (value == RS_NO_VALUE)
        rs_table_add_null(table);
    else if (type == RS_TIME)
        rs_table_add_time(table, value);
    else if (type == RS_MOMENT)
        rs_table_add_moment(table, value);
    else
        rs_table_add_int(table, value);
}

rs_status rs_table_end_row(rs_table *table, rs_error *err)
{
    size_t cells = table->next;
    bool no_memory = table->no_memory,
         misfit = table->misfit || cells != table->spec->n_columns || table->n_due;
    table->next = table->n_due = 0;
    table->no_memory = table->misfit = false;
    if (no_memory) return rs_fail(err, RS_ERR_NOMEM, "out of memory: a row of table %s", table->spec->name);
    if (misfit)
        return rs_fail(err, RS_ERR_USAGE, "table %s, row %zu: the cells do not fit its %zu columns",
                       table->spec->name, table->n_rows, table->spec->n_columns);
    table->n_rows++;
    return RS_OK;
}

void rs_table_count_from(rs_table *table, int64_t origin)
{
    for (size_t at = 0; at < table->spec->n_columns; at++) {
        rs_table_column *c = &table->columns[at];
        if (table->spec->columns[at].type != RS_MOMENT) continue;
        for (size_t row = 0; row < table->n_rows; row++)
            if (!rs_table_is_null(table, row, at))
                c->values.ints[row] = rs_sub_sat(rs_add_sat(c->values.ints[row], table->origin), origin);
    }
    table->origin = origin;
    table->has_origin = true;
}

int64_t rs_table_origin(const rs_table *table)
{
    return table->origin;
}

const rs_table_spec *rs_table_get_spec(const rs_table *table)
{
    return table->spec;
}

size_t rs_table_column_of(const rs_table *table, const char *name)
{
    return rs_table_spec_column_of(rs_table_get_spec(table), name);
}

size_t rs_table_n_rows(const rs_table *table)
{
    return table->n_rows;
}

bool rs_table_is_null(const rs_table *table, size_t row, size_t at)
{
    return table->columns[at].nulls[row / 64] >> (row & 63) & 1;
}

int64_t rs_table_int(const rs_table *table, size_t row, size_t at)
{
    rs_type type = table->spec->columns[at].type;
    return type == RS_INT || rs_type_is_time(type) ? table->columns[at].values.ints[row] : 0;
}

double rs_table_real(const rs_table *table, size_t row, size_t at)
{
    const rs_column_spec *spec = &table->spec->columns[at];
    if (rs_table_is_null(table, row, at)) return (double)NAN;
    switch (spec->type) {
    case RS_REAL: return table->columns[at].values.reals[row];
    case RS_INT: return (double)table->columns[at].values.ints[row];
    case RS_TIME:
    case RS_MOMENT: {
        double ns = (double)table->columns[at].values.ints[row];
        return spec->unit == RS_UNIT_US ? ns / 1e3 : spec->unit == RS_UNIT_MS ? ns / 1e6 : ns;
    }
    case RS_TEXT: break;
    }
    return (double)NAN;
}

const char *rs_table_text(const rs_table *table, size_t row, size_t at, size_t *length)
{
    bool known = table->spec->columns[at].type == RS_TEXT && !rs_table_is_null(table, row, at);
    const rs_string *s = known ? &table->strings.items[table->columns[at].values.texts[row]] : NULL;
    if (length) *length = s ? s->length : 0;
    return s ? s->text : NULL;
}

static bool same_specs(const rs_table_spec *a, const rs_table_spec *b)
{
    if (a == b) return true;
    if (a->n_columns != b->n_columns) return false;
    for (size_t i = 0; i < a->n_columns; i++) {
        const rs_column_spec *x = &a->columns[i], *y = &b->columns[i];
        if (x->type != y->type || x->unit != y->unit || strcmp(x->name, y->name) != 0) return false;
    }
    return true;
}

void rs_table_add_cell(rs_table *table, const rs_table *from, size_t row, size_t at)
{
    const rs_table_column *c = &from->columns[at];
    if (table->n_rows == 0) {
        table->origin = from->origin;
        table->has_origin = from->has_origin;
    }
    if (rs_table_is_null(from, row, at)) {
        rs_table_add_null(table);
        return;
    }
    switch (from->spec->columns[at].type) {
    case RS_INT: rs_table_add_int(table, c->values.ints[row]); break;
    case RS_TIME: rs_table_add_time(table, c->values.ints[row]); break;
    case RS_MOMENT:
        rs_table_add_moment(table, rs_sub_sat(rs_add_sat(c->values.ints[row], from->origin), table->origin));
        break;
    case RS_REAL: rs_table_add_real(table, c->values.reals[row]); break;
    case RS_TEXT: {
        const rs_string *s = &from->strings.items[c->values.texts[row]];
        rs_table_add_text_n(table, s->text, s->length);
        break;
    }
    }
}

rs_status rs_table_append(rs_table *into, const rs_table *from, rs_error *err)
{
    if (!same_specs(into->spec, from->spec))
        return rs_fail(err, RS_ERR_USAGE, "table %s cannot take the rows of table %s: their columns differ",
                       into->spec->name, from->spec->name);
    size_t before = into->n_rows, n = from->n_rows;
    for (size_t row = 0; row < n; row++) {
        for (size_t at = 0; at < from->spec->n_columns; at++) rs_table_add_cell(into, from, row, at);
        rs_status status = rs_table_end_row(into, err);
        if (status != RS_OK) {
            into->n_rows = before; /* either all rows are added or none */
            return status;
        }
    }
    return RS_OK;
}
