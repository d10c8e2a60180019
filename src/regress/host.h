/* What the threads of a rank's host were in, when: the skeleton charges all time between two of its points to one
 * event, which says little where points are far apart. */
#pragma once

#include "trace/pool.h"
#include "trace/trace.h"

/* From its start until the next one of its thread. Texts are of the pool; RS_NO_STRING: in no event. */
typedef struct rs_host_span {
    int64_t start;                /* ns, the rank's clock */
    uint32_t name, operator_name; /* the innermost event, and the nearest operator around it or itself */
} rs_host_span;

typedef struct rs_host_thread {
    int64_t pid, tid;
    size_t first, n; /* in spans */
    size_t n_steps;  /* annotations of steps on it */
} rs_host_thread;

typedef struct rs_host_time {
    rs_pool pool;
    rs_host_thread *threads; /* by pid, tid, then as the tree has them */
    size_t n_threads, threads_capacity;
    rs_host_span *spans;
    size_t n, capacity;
} rs_host_time;

/* Needs RS_LINK_COLUMNS. Annotations of steps are no event: their names differ from step to step. */
rs_status rs_host_time_of(rs_trace *trace, rs_host_time **out, rs_error *err);
void rs_host_time_free(rs_host_time *host); /* NULL is allowed */

/* Gives the sink the pieces of [from, to) on a thread, which add up to it. Of a thread that is not in the trace, as
 * that of a trace's start, the pieces are those of the thread that has most steps. span: NULL where nothing is known.
 * False when the sink stopped. */
typedef bool (*rs_host_sink)(void *context, const rs_host_span *span, int64_t ns);
bool rs_host_time_split(const rs_host_time *host, int64_t pid, int64_t tid, int64_t from, int64_t to,
                        rs_host_sink sink, void *context);
