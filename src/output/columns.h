/* A table as column formats (Arrow, Parquet) want it: whole numbers, reals and texts in numbered lists.
 *
 * The types do not depend on the rows. RS_INT is int64; RS_REAL and times are float64 in the column's unit, under the column's
 * name, as in csv. A text column is a list of its different texts, the empty one first and then in order of appearance, and a
 * number for each row. */
#ifndef RS_OUTPUT_COLUMNS_H
#define RS_OUTPUT_COLUMNS_H

#include "base/strings.h"
#include "rankscope/table.h"

typedef struct rs_out_column {
    const rs_column_spec *spec;
    rs_strings texts;    /* of a text column: each once, valid UTF-8. The list begins at id `first_text` */
    uint32_t *texts_of;  /* by the table's id of a text: the id here; RS_NO_STRING where no row has it */
    uint32_t first_text; /* 1 when no row has the empty text, which rs_strings always holds first */
    uint64_t text_bytes; /* of the whole list */
} rs_out_column;

typedef struct rs_out_columns {
    const rs_table *table;
    rs_out_column *items;
    size_t n;
} rs_out_columns;

/* The table must outlive the columns and stay as it is. On failure (RS_ERR_NOMEM) nothing is held. */
rs_status rs_out_columns_make(const rs_table *table, rs_out_columns *out, rs_error *err);
void rs_out_columns_clear(rs_out_columns *columns);

/* The same for a table that comes in pages (rs_pages). First the lists, of all pages:
 *     make(model); collect(page) for each page; collected()
 * where `model` has the columns of the pages, their final types and no rows; then each page again:
 *     turn_to(page), after which cells are the page's.
 * Both are RS_ERR_USAGE for a page of other types, turn_to for a text that was not collected. */
rs_status rs_out_columns_collect(rs_out_columns *columns, const rs_table *page, rs_error *err);
void rs_out_columns_collected(rs_out_columns *columns);
/* Bytes that the lists take. */
uint64_t rs_out_columns_bytes(const rs_out_columns *columns);
rs_status rs_out_columns_turn_to(rs_out_columns *columns, const rs_table *page, rs_error *err);

/* How many texts the list of a text column has. */
static inline size_t rs_out_n_texts(const rs_out_column *column)
{
    return column->texts.n - column->first_text;
}

/* Marks which of n cells from `row` are known: bit i of `known`, which has room for (n + 7) / 8 bytes, stands for
 * row + i. Returns how many are unknown. */
size_t rs_out_known(const rs_out_columns *columns, size_t at, size_t row, size_t n, uint8_t *known);
/* The n cells of a column of whole numbers, of reals or times, of texts (their numbers in the list). What is unknown is 0. */
void rs_out_longs(const rs_out_columns *columns, size_t at, size_t row, size_t n, int64_t *values);
void rs_out_reals(const rs_out_columns *columns, size_t at, size_t row, size_t n, double *values);
void rs_out_numbers(const rs_out_columns *columns, size_t at, size_t row, size_t n, int32_t *values);

#endif
