#include "table/pack.h"

#include <string.h>

#include "table/table_internal.h"

/* ---- packing ------------------------------------------------------------------------------------------ */

static void pack_spec(const rs_table_spec *spec, rs_wire_writer *w)
{
    rs_wire_put_text(w, spec->name);
    rs_wire_put_text(w, spec->help);
    rs_wire_put_unsigned(w, spec->n_columns);
    for (size_t i = 0; i < spec->n_columns; i++) {
        const rs_column_spec *c = &spec->columns[i];
        rs_wire_put_text(w, c->name);
        rs_wire_put_text(w, c->help);
        rs_wire_put_text(w, c->title);
        rs_wire_put_unsigned(w, c->type);
        rs_wire_put_unsigned(w, c->unit);
    }
}

static size_t cell_size(rs_type type)
{
    return type == RS_TEXT ? sizeof(uint32_t) : sizeof(int64_t);
}

static size_t n_words(size_t n_rows)
{
    return n_rows / 64 + (n_rows % 64 != 0);
}

/* The bits after the last row are left as they happen to be: bytes are to be the same for the same cells. */
static void pack_nulls(const uint64_t *nulls, size_t n_rows, rs_wire_writer *w)
{
    rs_wire_put(w, nulls, n_rows / 64 * sizeof *nulls);
    uint64_t last = n_rows % 64 ? nulls[n_rows / 64] & ((UINT64_C(1) << n_rows % 64) - 1) : 0;
    if (n_rows % 64) rs_wire_put(w, &last, sizeof last);
}

void rs_table_pack(const rs_table *table, const rs_table_spec *const *specs, size_t n_specs,
                   rs_wire_writer *w)
{
    size_t known = 0;
    while (known < n_specs && specs[known] != table->spec) known++;
    rs_wire_put_unsigned(w, known);
    if (known == n_specs) pack_spec(table->spec, w);
    rs_wire_put_unsigned(w, table->n_rows);
    rs_wire_put_signed(w, table->origin);
    rs_wire_put_unsigned(w, table->has_origin);
    rs_wire_put_unsigned(w, table->strings.n);
    for (size_t i = 0; i < table->strings.n; i++)
        rs_wire_put_text_n(w, table->strings.items[i].text, table->strings.items[i].length);
    for (size_t i = 0; table->n_rows && i < table->spec->n_columns; i++) {
        const rs_table_column *c = &table->columns[i];
        rs_wire_put(w, c->values.any, table->n_rows * cell_size(table->spec->columns[i].type));
        pack_nulls(c->nulls, table->n_rows, w);
    }
}

/* ---- unpacking ---------------------------------------------------------------------------------------- */

/* A spec whose texts are in the reader's arena. */
static bool unpack_spec(rs_wire_reader *r, rs_table_spec *out)
{
    out->name = rs_wire_text(r);
    out->help = rs_wire_text(r);
    uint64_t n = rs_wire_unsigned(r);
    rs_column_spec *columns = rs_wire_room(r, n, sizeof *columns, 5);
    for (uint64_t i = 0; !r->bad && i < n; i++) {
        columns[i].name = rs_wire_text(r);
        columns[i].help = rs_wire_text(r);
        columns[i].title = rs_wire_text(r);
        columns[i].type = (rs_type)rs_wire_below(r, RS_MOMENT + 1);
        columns[i].unit = (rs_unit)rs_wire_below(r, RS_UNIT_GBPS + 1);
        if (!columns[i].name) r->bad = true;
    }
    if (!out->name) r->bad = true;
    out->columns = columns;
    out->n_columns = (size_t)n;
    return !r->bad;
}

/* Ids count up in the order of the texts, which differ; the first is "". */
static void unpack_strings(rs_wire_reader *r, rs_strings *strings)
{
    uint64_t n = rs_wire_unsigned(r);
    for (uint64_t i = 0; !r->bad && i < n; i++) {
        size_t length;
        const char *text = rs_wire_text_n(r, &length);
        uint32_t id = text ? rs_strings_add(strings, text, length) : RS_NO_STRING;
        if (text && id == RS_NO_STRING) r->out_of_memory = true;
        if (id != i) r->bad = true;
    }
    if (n == 0) r->bad = true;
}

static void take(rs_wire_reader *r, void *into, size_t n)
{
    if (n > rs_wire_left(r)) r->bad = true;
    if (r->bad || n == 0) return;
    memcpy(into, r->p, n);
    r->p += n;
}

static void unpack_column(rs_wire_reader *r, const rs_table *table, size_t at)
{
    const rs_table_column *c = &table->columns[at];
    rs_type type = table->spec->columns[at].type;
    take(r, c->values.any, table->n_rows * cell_size(type));
    take(r, c->nulls, n_words(table->n_rows) * sizeof *c->nulls);
    for (size_t row = 0; !r->bad && type == RS_TEXT && row < table->n_rows; row++)
        if (c->values.texts[row] >= table->strings.n) r->bad = true;
}

/* Rows take at least four bytes for each column: a table without columns has none. */
static void unpack_rows(rs_wire_reader *r, rs_table *table)
{
    uint64_t n = rs_wire_unsigned(r);
    table->origin = rs_wire_signed(r);
    table->has_origin = rs_wire_bool(r);
    unpack_strings(r, &table->strings);
    size_t least = 4 * table->spec->n_columns;
    if (n && (!least || n > rs_wire_left(r) / least)) r->bad = true;
    if (!r->bad && n && !rs_table_reserve(table, (size_t)n)) r->bad = r->out_of_memory = true;
    if (r->bad || !n) return;
    table->n_rows = (size_t)n;
    for (size_t i = 0; !r->bad && i < table->spec->n_columns; i++) unpack_column(r, table, i);
}

rs_table *rs_table_unpack(const rs_table_spec *const *specs, size_t n_specs, rs_wire_reader *r)
{
    size_t known = (size_t)rs_wire_below(r, n_specs + 1);
    rs_table_spec own;
    if (r->bad || (known == n_specs && !unpack_spec(r, &own))) return NULL;
    rs_table *table = known == n_specs ? rs_table_create_dynamic(&own) : rs_table_create(specs[known]);
    if (!table) {
        r->bad = r->out_of_memory = true;
        return NULL;
    }
    unpack_rows(r, table);
    if (!r->bad) return table;
    rs_table_free(table);
    return NULL;
}
