/* Rows of tables filled from structs. */
#include "table/record.h"

#include <math.h>
#include <string.h>

#include "base/interval.h"
#include "table/table_internal.h"

/* A whole number and whether it is known: INT64_MIN and all ones of 32 bits are not. */
static bool number_at(const rs_field *f, const void *at, int64_t *value)
{
    if (f->kind == RS_AS_SIGNED) {
        *value = rs_signed_at(at, f->size);
        return *value != INT64_MIN;
    }
    *value = (int64_t)rs_unsigned_at(at, f->size);
    return f->size != 4 || *value != UINT32_MAX;
}

static const char *text_at(const rs_cell *cell, const void *at)
{
    const char *text;
    if (cell->rule == RS_CELL_WORD) {
        uint64_t word = rs_unsigned_at(at, cell->field.size);
        return word < cell->n_words ? cell->words[word] : NULL;
    }
    if (cell->field.kind == RS_AS_CHARS) {
        text = at;
        return *text || cell->rule != RS_CELL_NOT_EMPTY ? text : NULL;
    }
    memcpy(&text, at, sizeof text);
    return text;
}

/* The table's text for an id in the texts in use; each is looked up once. */
static uint32_t text_of_id(rs_table *table, uint32_t id)
{
    if (!table->ids || id >= table->ids->n) return RS_NO_STRING;
    if (table->n_texts_of < table->ids->n) {
        uint32_t *grown = rs_realloc(table->texts_of, table->ids->n * sizeof *grown);
        if (!grown) {
            table->no_memory = true;
            return RS_NO_STRING;
        }
        memset(grown + table->n_texts_of, 0xff, (table->ids->n - table->n_texts_of) * sizeof *grown);
        table->texts_of = grown;
        table->n_texts_of = table->ids->n;
    }
    uint32_t *known = &table->texts_of[id];
    if (*known == RS_NO_STRING) {
        const rs_string *s = &table->ids->items[id];
        *known = rs_strings_add(&table->strings, s->text, s->length);
        if (*known == RS_NO_STRING) table->no_memory = true;
    }
    return *known;
}

/* Fills a cell of texts; false: it is unknown. */
static bool put_text(rs_table *table, const rs_cell *cell, const void *at, uint32_t *out)
{
    uint32_t id;
    if (cell->rule == RS_CELL_TEXT) {
        memcpy(&id, at, sizeof id);
        id = text_of_id(table, id);
    } else {
        const char *text = text_at(cell, at);
        if (!text) return false;
        id = rs_strings_add(&table->strings, text, strlen(text));
        if (id == RS_NO_STRING) table->no_memory = true;
    }
    if (id == RS_NO_STRING) return false;
    *out = id;
    return true;
}

static double in_unit(double ns, rs_unit unit)
{
    return unit == RS_UNIT_US ? ns / 1000 : unit == RS_UNIT_MS ? ns / 1e6 : ns;
}

static bool put_real(const rs_cell *cell, rs_unit unit, const void *at, double *out)
{
    int64_t whole;
    if (cell->field.kind == RS_AS_REAL) {
        memcpy(out, at, sizeof *out);
        return !isnan(*out);
    }
    if (!number_at(&cell->field, at, &whole)) return false;
    *out = in_unit((double)whole, unit);
    return true;
}

static bool put_moments(const rs_cell *cell, rs_unit unit, const char *row, double *out)
{
    rs_moments m;
    memcpy(&m, row + cell->field.offset, sizeof m);
    *out = in_unit(cell->source == RS_CELL_STD ? rs_moments_std(&m) : rs_moments_mean(&m), unit);
    return !isnan(*out);
}

static bool put_share(int64_t part, int64_t whole, double *out)
{
    if (whole == 0 || whole == INT64_MIN || part == INT64_MIN) return false; /* RS_NO_TIME */
    *out = 100.0 * (double)part / (double)whole;
    return true;
}

static bool is_within(const rs_cell *cell)
{
    return cell->source == RS_CELL_SHARE_OF_ALL || cell->source == RS_CELL_CUMULATIVE;
}

static void add_within(int64_t *sums, const rs_row_spec *record, const void *row)
{
    for (size_t i = 0; i < record->n && i < RS_MAX_CELLS; i++)
        if (is_within(&record->cells[i]))
            sums[i] = rs_add_sat(sums[i], rs_signed_at((const char *)row + record->cells[i].field.offset, 8));
}

void rs_within_count(rs_row_within *within, const rs_row_spec *record, const void *row)
{
    add_within(within->all, record, row);
}

void rs_within_pass(rs_row_within *within, const rs_row_spec *record, const void *row)
{
    add_within(within->before, record, row);
}

/* Puts the value of a member into the cell at c; false: it is unknown. */
static bool put_member(rs_table *table, const rs_cell *cell, const rs_column_spec *column, const char *row,
                       rs_table_column *c)
{
    const char *at = row + cell->field.offset;
    size_t place = table->n_rows;
    if (cell->rule == RS_CELL_WHERE && rs_unsigned_at(row + cell->flag_offset, cell->flag_size) == 0)
        return false;
    switch (column->type) {
    case RS_TEXT: return put_text(table, cell, at, &c->values.texts[place]);
    case RS_REAL: return put_real(cell, column->unit, at, &c->values.reals[place]);
    case RS_INT:
    case RS_TIME:
    case RS_MOMENT:
        return number_at(&cell->field, at, &c->values.ints[place]) &&
               (cell->rule != RS_CELL_NOT_NEGATIVE || c->values.ints[place] >= 0);
    }
    return false;
}

static void clear_value(rs_table_column *c, rs_type type, size_t row)
{
    if (type == RS_TEXT)
        c->values.texts[row] = 0;
    else
        c->values.ints[row] = 0;
}

void rs_table_put_within(rs_table *table, const rs_row_spec *record, int64_t rank, const void *row,
                         const rs_row_within *within)
{
    size_t place = table->n_rows;
    const rs_column_spec *columns = table->widened ? table->widened : table->spec->columns;
    if (table->next || record->columns != columns) table->misfit = true;
    if (!rs_table_reserve(table, place + 1)) table->no_memory = true;
    if (table->misfit || table->no_memory) return;
    table->next = record->n;
    table->cells = record->cells;
    table->set_next = table->n_due = 0;
    for (size_t i = 0; i < record->n; i++) {
        const rs_cell *cell = &record->cells[i];
        rs_table_column *c = &table->columns[i];
        const char *member = (const char *)row + cell->field.offset;
        double *real = &c->values.reals[place];
        bool known = true;
        if (cell->source >= RS_CELL_SHARE_OF_ALL && (!within || i >= RS_MAX_CELLS)) table->misfit = true;
        if (table->misfit) return;
        switch ((rs_cell_source)cell->source) {
        case RS_CELL_RANK: c->values.ints[place] = rank; break;
        case RS_CELL_SET:
            table->n_due++;
            known = false;
            break;
        case RS_CELL_MEMBER: known = put_member(table, cell, &record->columns[i], row, c); break;
        case RS_CELL_MEAN:
        case RS_CELL_STD: known = put_moments(cell, record->columns[i].unit, row, real); break;
        case RS_CELL_SHARE:
            known = put_share(rs_signed_at(member, 8), rs_signed_at((const char *)row + cell->flag_offset, 8),
                              real);
            break;
        case RS_CELL_SHARE_OF_ALL: known = put_share(rs_signed_at(member, 8), within->all[i], real); break;
        case RS_CELL_CUMULATIVE:
            known = put_share(rs_add_sat(within->before[i], rs_signed_at(member, 8)), within->all[i], real);
            break;
        case RS_CELL_FOLDED: c->values.ints[place] = within->folded; break;
        }
        if (!known) clear_value(c, record->columns[i].type, place);
        rs_table_mark(c, place, !known);
    }
}

void rs_table_put(rs_table *table, const rs_row_spec *record, int64_t rank, const void *row)
{
    rs_table_put_within(table, record, rank, row, NULL);
}

rs_status rs_table_put_row(rs_table *table, const rs_row_spec *record, int64_t rank, const void *row,
                           rs_error *err)
{
    rs_table_put(table, record, rank, row);
    return rs_table_end_row(table, err);
}

void rs_table_widens(rs_table *table, const rs_row_spec *record)
{
    table->widened = record->columns;
}

void rs_table_use_texts(rs_table *table, const rs_strings *texts)
{
    table->ids = texts;
    if (table->n_texts_of) memset(table->texts_of, 0xff, table->n_texts_of * sizeof *table->texts_of);
}

bool rs_table_has_origin(const rs_table *table)
{
    return table->has_origin;
}

/* ---- computed cells ------------------------------------------------------------------------------------ */

/* The next SET cell, which must be the one of that name and of one of these types (a bit each). NULL when it
 * is not, or when the row cannot be kept anyway. */
static rs_table_column *due_cell(rs_table *table, const char *name, int types)
{
    if (table->no_memory || table->misfit) return NULL;
    const rs_column_spec *columns = table->spec->columns;
    size_t at = table->set_next;
    while (table->n_due && table->cells[at].source != RS_CELL_SET) at++;
    if (!table->n_due || (columns[at].name != name && strcmp(columns[at].name, name) != 0) ||
        !(types >> columns[at].type & 1)) {
        table->misfit = true;
        return NULL;
    }
    table->set_next = at + 1;
    table->n_due--;
    rs_table_mark(&table->columns[at], table->n_rows, false);
    return &table->columns[at];
}

static void set_number(rs_table *table, rs_table_column *c, int64_t value)
{
    c->values.ints[table->n_rows] = value == INT64_MIN ? 0 : value;
    rs_table_mark(c, table->n_rows, value == INT64_MIN);
}

void rs_table_set_int(rs_table *table, const char *name, int64_t value)
{
    rs_table_column *c = due_cell(table, name, RS_CELL_TYPE(RS_INT));
    if (c) set_number(table, c, value);
}

void rs_table_set_time(rs_table *table, const char *name, int64_t ns)
{
    rs_table_column *c = due_cell(table, name, RS_CELL_TIMES);
    if (c) set_number(table, c, ns);
}

void rs_table_set_real(rs_table *table, const char *name, double value)
{
    rs_table_column *c = due_cell(table, name, RS_CELL_TYPE(RS_REAL));
    if (!c) return;
    c->values.reals[table->n_rows] = value;
    rs_table_mark(c, table->n_rows, isnan(value));
}

void rs_table_set_text(rs_table *table, const char *name, const char *value)
{
    rs_table_set_text_n(table, name, value, value ? strlen(value) : 0);
}

void rs_table_set_text_n(rs_table *table, const char *name, const char *value, size_t length)
{
    rs_table_column *c = due_cell(table, name, RS_CELL_TYPE(RS_TEXT));
    if (!c) return;
    uint32_t id = value ? rs_strings_add(&table->strings, value, length) : 0;
    if (id == RS_NO_STRING) table->no_memory = true;
    c->values.texts[table->n_rows] = id;
    rs_table_mark(c, table->n_rows, !value);
}

void rs_table_set_null(rs_table *table, const char *name)
{
    rs_table_column *c = due_cell(table, name, ~0);
    if (c) rs_table_mark(c, table->n_rows, true);
}
