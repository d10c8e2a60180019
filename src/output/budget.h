/* --budget: how much of an answer fits into a number of bytes.
 *
 * Notes and defects come first, then tables of one row, then the rows of all tables in turns, each table from its
 * start: tables are ranked, so their first rows are those that matter. A table whose next row does not fit gets no
 * more. */
#pragma once

#include "rankscope/analysis.h"
#include "text/meter.h"

/* What is shown of a result. */
typedef struct rs_budget {
    size_t *rows; /* by table; owned */
    size_t n_problems, n_notes;
} rs_budget;

/* Writes a part as it will stand in the answer, with all that stands between it and the next. */
typedef struct rs_budget_parts {
    void (*row)(rs_writer *writer, const void *context, size_t table, size_t row);
    void (*problem)(rs_writer *writer, const void *context, size_t problem);
    void (*note)(rs_writer *writer, const void *context, size_t note);
    const void *context;
} rs_budget_parts;

/* bytes: what is left once everything is written that no part is of. On failure (RS_ERR_NOMEM) nothing is held. */
rs_status rs_budget_share(const rs_result *result, const rs_budget_parts *parts, size_t bytes, rs_budget *out,
                          rs_error *err);
void rs_budget_clear(rs_budget *budget);

/* The error of a budget that not even an answer without rows fits into. */
rs_status rs_budget_fail(size_t budget, size_t least, rs_error *err);
