/* A trace in Perfetto's own form (protobuf): what viewers read fastest, and in which events of one stream that
 * overlap keep lanes of their own instead of vanishing. Written from event columns, so that every format that
 * can be read can be written so.
 *
 * The messages are those of perfetto's protos/perfetto/trace: TracePacket with TrackDescriptor, TrackEvent and
 * InternedData. Only numbers of fields are used; nothing of theirs is needed to build or to read. */
#pragma once

#include "trace/trace.h"

/* Bytes that grow; all zero: none. After a failure to grow, `failed` stays and nothing is added. */
typedef struct rs_proto_bytes {
    uint8_t *bytes;
    size_t n, capacity;
    bool failed;
} rs_proto_bytes;

typedef struct rs_pftrace_rank {
    size_t index; /* of the rank in the new trace: its tracks and arrows are numbered by it */
    int64_t rank;
    int64_t shift; /* ns to add to its times */
    /* Whether the at-th row of the rank is there; *from, *to: what it is cut to, INT64_MIN and INT64_MAX: not. */
    bool (*keeps)(const void *context, const rs_trace *trace, size_t at, int64_t *from, int64_t *to);
    const void *context;
    bool arguments; /* events have their arguments */
    /* set: events that are there, that are not, and of those that no lane had room for */
    uint64_t n_written, n_left_out, n_too_deep;
} rs_pftrace_rank;

#define RS_PFTRACE_COLUMNS (RS_ALL_COLUMNS | RS_OTHER_ARGUMENTS)

/* Appends the rank's packets. Depends on nothing but the trace and `rank`: ranks can be made on any thread and
 * put one behind another. O(n log n). */
rs_status rs_pftrace_write_rank(rs_trace *trace, rs_pftrace_rank *rank, rs_proto_bytes *out, rs_error *err);
