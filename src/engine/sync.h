/* Who waited for which GPU work: every synchronization dependency of a rank. */
#pragma once

#include "trace/trace.h"

typedef enum rs_sync_kind {
    RS_SYNC_STREAM_WAIT, /* work waits for an event of another stream */
    RS_SYNC_EVENT,       /* a call waits for, or asks after, an event */
    RS_SYNC_STREAM,      /* a call waits for a stream */
    RS_SYNC_CONTEXT,     /* a call waits for every stream of a device */
    RS_SYNC_COPY,        /* a copy that returns when it is done */
    RS_SYNC_FREE,        /* a call that gives memory back, and waits for every stream of a device first */
    RS_SYNC_GRAPH,       /* work of a graph waits for other work of it, on another stream */
    RS_N_SYNC_KINDS
} rs_sync_kind;

/* Whether GPU work waits, and not a call of the host. */
static inline bool rs_sync_is_of_work(rs_sync_kind kind)
{
    return kind == RS_SYNC_STREAM_WAIT || kind == RS_SYNC_GRAPH;
}

extern const char *const rs_sync_kind_names[RS_N_SYNC_KINDS];

typedef struct rs_sync_edge {
    uint32_t source; /* row of the work */
    uint32_t target; /* row of the call, or of the work that waits */
    uint32_t sync;   /* row of the cuda_sync event that says so; RS_NO_ROW: told from the call alone */
    rs_sync_kind kind;
} rs_sync_edge;

#define RS_SYNC_SHIFT 6

typedef struct rs_sync_edges {
    rs_sync_edge *items; /* by target, then source, then kind; no two with the same source and target */
    size_t n, capacity;
    uint32_t *
        index; /* by target >> RS_SYNC_SHIFT: the first item of such a target or a later one; n_index of them */
    size_t n_index;    /* 0: there is none */
    uint64_t n_untold; /* waiting calls and stream waits of which no work could be named */
    /* waits that a cuda_sync event tells, for work that ended after the wait was over: left out */
    int64_t
        ahead; /* ns: so much at least the device's clock is ahead of the host's, as far as waits show it */
    uint64_t n_contradicted;
} rs_sync_edges;

/* From cuda_sync events and, where there is none, from the waiting calls themselves. The trace's: of all of its GPU work,
 * whatever is selected. */
extern const rs_facet rs_facet_sync;
rs_status rs_trace_sync(rs_trace *trace, const rs_sync_edges **out, rs_error *err);

/* What makes it. policy: the program's own. */
rs_status rs_sync_find(rs_trace *trace, const rs_policy *policy, rs_sync_edges *out, rs_error *err);
void rs_sync_clear(rs_sync_edges *edges);
/* Fills the index. False when out of memory. */
bool rs_sync_index(rs_sync_edges *edges);

/* Whether a copy that its call left at `returned` is one out of pageable memory for most of which that call waited. */
bool rs_is_staged(const char *copy, int64_t start, int64_t end, int64_t returned);

/* The arguments this is told by, beside RS_LINK_COLUMNS. */
#define RS_SYNC_COLUMNS                                                                                      \
    (RS_COLUMN_BIT(WAIT_ON_STREAM) | RS_COLUMN_BIT(WAIT_ON_EVENT) | RS_COLUMN_BIT(CORRELATION_RAW))
