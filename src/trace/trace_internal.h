/* What the parts of a trace release for each other. Private to src/trace. */
#pragma once

#include "base/finder.h"
#include "base/memory.h"
#include "base/search.h"
#include "trace/trace.h"

/* Asks for the slot of a number that follows place i of the column, in a table that the column's numbers are keys of. */
static inline void rs_finder_fetch_ahead(const rs_finder *finder, const rs_sparse *c, size_t i)
{
    if (c->n - i > RS_FINDER_AHEAD) rs_finder_fetch(finder, (uint64_t)rs_sparse_int(c, i + RS_FINDER_AHEAD));
}

/* Walks the rows of a rank beside ascending rows of the file: whether each is one of the rank's. */
typedef struct rs_membership {
    const rs_trace *trace;
    size_t at;
} rs_membership;
static inline bool rs_is_member(rs_membership *m, uint32_t row)
{
    const uint32_t *rows = m->trace->rows;
    if (!rows) return true;
    while (m->at < m->trace->n_rows && rows[m->at] < row) m->at++;
    return m->at < m->trace->n_rows && rows[m->at] == row;
}

/* The same of a single row. */
static inline bool rs_trace_has_row(const rs_trace *trace, uint32_t row)
{
    const uint32_t *rows = trace->rows;
    size_t low;
    if (!rows) return row < trace->n_rows;
    RS_SEARCH(low, trace->n_rows, rows[low] < row);
    return low < trace->n_rows && rows[low] == row;
}
