/* --fail-on EXPR: `COLUMN OP NUMBER[%]`, OP one of < <= > >=, a comma means and.
 *
 * A gate fails when some row of a table meets every term. Numbers are in the column's own unit, as csv writes
 * it; NUMBER% fits columns of percent (5% is 5) and ratio (5% is 0.05). An unknown cell meets nothing. */
#ifndef RS_ANALYSIS_GATE_H
#define RS_ANALYSIS_GATE_H

#include "rankscope/analysis.h"

typedef struct rs_gate rs_gate;

/* RS_ERR_USAGE names the part that cannot be read. Free with rs_gate_free (NULL is allowed). */
rs_status rs_gate_parse(const char *text, rs_gate **out, rs_error *err);
void rs_gate_free(rs_gate *gate);

/* Whether the columns of spec can answer the gate: RS_ERR_USAGE names an unknown column with the nearest
 * known one, a column of text, or a % that does not fit. */
rs_status rs_gate_check(const rs_gate *gate, const rs_table_spec *spec, rs_error *err);

/* Counts the rows that meet every term; *first_row is the first of them when there is one. Checks first. */
rs_status rs_gate_count(const rs_gate *gate, const rs_table *table, size_t *n_rows, size_t *first_row,
                        rs_error *err);

/* The gate as it was written, and one row's values of its columns ("share = 12.4, count = 3"), for messages.
 */
const char *rs_gate_text(const rs_gate *gate);
const char *rs_gate_values(const rs_gate *gate, const rs_table *table, size_t row, char *out,
                           size_t out_size);

/* For an analysis whose options have a text option "fail-on": when it is set and rows of the table meet it,
 * result->found is set and a note says which. */
rs_status rs_gate_apply(const rs_options *options, const rs_table *table, rs_result *result, rs_error *err);

#endif
