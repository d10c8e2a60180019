/* A gate, what --fail-on takes: the expression language of rankscope/where.h over the columns of a table.
 *
 * Terms are COLUMN OP VALUE with OP one of < <= > >= = != for numbers, = != ~ !~ (contains) =~ (a POSIX extended regular
 * expression) for texts, and COLUMN in (A, B, 7-9); "and" (or a comma), "or", "not" and parentheses join them. A name or
 * a value with a comma, " or ", " and " or an operator in it stands in quotes. A gate fails when some row of a table meets
 * it. Numbers are in the column's own unit, as csv writes it; NUMBER% fits columns of percent (5% is 5) and ratio (5% is
 * 0.05). An unknown cell meets no term, and no term behind a "not".
 *
 *     rs_gate *gate;
 *     size_t n_rows, first;
 *     rs_status status = rs_gate_parse("idle_pct > 20, busy_us >= 1e6", &gate, &err);
 *     if (status == RS_OK) status = rs_gate_count(gate, table, &n_rows, &first, &err);
 *     rs_gate_free(gate);
 *
 * A gate is only read after rs_gate_parse and may be used from several threads. Judging costs a look at each
 * cell of its columns. Stability: stable. */
#ifndef RANKSCOPE_GATE_H
#define RANKSCOPE_GATE_H

#include "rankscope/table.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rs_gate rs_gate;

/* Reads a condition, which is copied. RS_ERR_USAGE names the part that cannot be read. Free with rs_gate_free
 * (NULL is allowed). */
RS_API rs_status rs_gate_parse(const char *text, rs_gate **out, rs_error *err);
RS_API void rs_gate_free(rs_gate *gate);

/* Whether the columns of spec can answer the gate: RS_ERR_USAGE names an unknown column with the nearest
 * known one, an operator that does not go with its type, or a % that does not fit. */
RS_API rs_status rs_gate_check(const rs_gate *gate, const rs_table_spec *spec, rs_error *err);

/* Counts the rows that meet it; *first_row is the first of them when there is one. Checks first. */
RS_API rs_status rs_gate_count(const rs_gate *gate, const rs_table *table, size_t *n_rows, size_t *first_row,
                               rs_error *err);

/* The gate as it was written, and one row's values of its columns ("share = 12.4, count = 3"), for messages.
 */
RS_API const char *rs_gate_text(const rs_gate *gate);
RS_API const char *rs_gate_values(const rs_gate *gate, const rs_table *table, size_t row, char *out,
                                  size_t out_size);

#ifdef __cplusplus
}
#endif
#endif
