/* What --schema prints: the columns of an analysis' tables as a table. */
#include "rankscope/table.h"

static const rs_column_spec schema_columns[] = {
    {"table", RS_TEXT, RS_UNIT_NONE, "the table's name, as --table and the json object call it", NULL},
    {"column", RS_TEXT, RS_UNIT_NONE, "the header in csv and the key in json", NULL},
    {"type", RS_TEXT, RS_UNIT_NONE, "int, real, time (exact decimals) or text", NULL},
    {"unit", RS_TEXT, RS_UNIT_NONE, "the unit in csv and json", NULL},
    {"meaning", RS_TEXT, RS_UNIT_NONE, "what the column says", NULL},
};

static const rs_table_spec schema_spec = {"schema", "one row is one column of a table", schema_columns,
                                          sizeof schema_columns / sizeof *schema_columns};

/* The only place where types and units have names. Neither switch has a default, so that the compiler refuses
 * a build in which a new one has none. */
const char *rs_type_name(rs_type type)
{
    switch (type) {
    case RS_INT: return "int";
    case RS_REAL: return "real";
    case RS_TIME:
    case RS_MOMENT: return "time";
    case RS_TEXT: return "text";
    }
    return "";
}

const char *rs_unit_name(rs_unit unit)
{
    switch (unit) {
    case RS_UNIT_NONE: return NULL;
    case RS_UNIT_COUNT: return "count";
    case RS_UNIT_ID: return "id";
    case RS_UNIT_NS: return "ns";
    case RS_UNIT_US: return "us";
    case RS_UNIT_MS: return "ms";
    case RS_UNIT_PERCENT: return "percent";
    case RS_UNIT_RATIO: return "ratio";
    case RS_UNIT_BYTES: return "bytes";
    case RS_UNIT_GBPS: return "GB/s";
    }
    return NULL;
}

rs_table *rs_schema_table(const rs_table_spec *const *specs, size_t n)
{
    rs_table *table = rs_table_create(&schema_spec);
    if (!table) return NULL;
    for (size_t i = 0; i < n; i++) {
        for (size_t at = 0; at < specs[i]->n_columns; at++) {
            const rs_column_spec *column = &specs[i]->columns[at];
            rs_table_add_text(table, specs[i]->name);
            rs_table_add_text(table, column->name);
            rs_table_add_text(table, rs_type_name(column->type));
            rs_table_add_text(table, rs_unit_name(column->unit));
            rs_table_add_text(table, column->help);
            if (rs_table_end_row(table, NULL) != RS_OK) {
                rs_table_free(table);
                return NULL;
            }
        }
    }
    return table;
}
