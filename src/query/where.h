/* The filter language: a condition on one event. One language for `events --where`, `slice --where` and what
 * else picks events.
 *
 *     cat=kernel, name~gemm, dur>=100         a comma is "and"
 *     stream in (7, 20-23) and not name =~ "^nccl.*Ring"
 *     under(name = "forward") or after("ProfilerStep#3")
 *
 * A condition is parsed once and read by any number of threads; each rank makes itself ready for its rows with
 * rs_where_begin. A point in time (ts) counts from the job's first event, which a rank alone does not know:
 * then a row's answer may be open, and rs_where_decide gives it later. */
#ifndef RS_QUERY_WHERE_H
#define RS_QUERY_WHERE_H

#include "rankscope/where.h"
#include "trace/trace.h"

/* Whether some term asks for ts. */
bool rs_where_uses_time(const rs_where *where);
/* The arguments that it reads. */
uint64_t rs_where_columns(const rs_where *where);

typedef enum rs_where_answer { RS_ANSWER_NO, RS_ANSWER_YES, RS_ANSWER_OPEN } rs_where_answer;

/* A condition made ready for one rank. */
typedef struct rs_where_rank rs_where_rank;

/* origin: the job's first event, ns as the file has it; RS_NO_TIME: not known. */
rs_status rs_where_begin(const rs_where *where, rs_trace *trace, int64_t origin, rs_where_rank **out,
                         rs_error *err);
void rs_where_end(rs_where_rank *rank); /* NULL is allowed */

/* The answer for a row; rows must not descend. *terms, unless NULL, is what rs_where_decide needs of it. */
rs_where_answer rs_where_row(rs_where_rank *rank, uint32_t row, uint64_t *terms);
/* The answer of an open row; ts: ns from the job's first event, RS_NO_TIME: the event has no time. */
bool rs_where_decide(const rs_where *where, uint64_t terms, int64_t ts);

#endif
