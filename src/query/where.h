/* Conditions on an event: the language (query/expression.h) of `events --where`, `slice --where` and what else picks
 * events, with the fields of an event.
 *
 * A condition is parsed once and read by any number of threads; each rank makes itself ready for its rows with
 * rs_where_begin. A point in time (ts) counts from the job's first event, which a rank alone does not know:
 * then a row's answer may be unknown, and rs_where_decide gives it later. */
#pragma once

#include "query/expression.h"
#include "trace/trace.h"

extern const rs_language rs_where_language;

/* Whether some term asks for ts. */
bool rs_where_uses_time(const rs_where *where);
/* The arguments that it reads. */
uint64_t rs_where_columns(const rs_where *where);

/* A condition made ready for one rank. */
typedef struct rs_where_rank rs_where_rank;

/* origin: the job's first event, ns as the file has it; RS_NO_TIME: not known. */
rs_status rs_where_begin(const rs_where *where, rs_trace *trace, int64_t origin, rs_where_rank **out,
                         rs_error *err);
void rs_where_end(rs_where_rank *rank); /* NULL is allowed */

/* The answer for a row; rows must not descend. *terms, unless NULL, is what rs_where_decide needs of it. */
rs_truth rs_where_row(rs_where_rank *rank, uint32_t row, uint64_t *terms);
/* The answer of a row whose answer was unknown; ts: ns from the job's first event, RS_NO_TIME: the event has no time. */
bool rs_where_decide(const rs_where *where, uint64_t terms, int64_t ts);
