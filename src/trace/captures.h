/* Captures of CUDA and HIP graphs. While a stream captures, the host's calls are recorded by the profiler as ever, with
 * the operators around them, but nothing runs: the calls become the nodes of a graph. When the graph is replayed the
 * GPU's work is recorded, and of the host a single call. What the work is is in the capture, when it ran in the
 * replay; trace/graft.h brings the two together. */
#pragma once

#include "trace/events.h"

/* What the size of a capture counts. */
typedef enum rs_capture_unit {
    RS_CAPTURE_UNSIZED, /* it says none */
    RS_CAPTURE_TOKENS,  /* an annotation capture_32_FULL around it, as vLLM writes */
    RS_CAPTURE_REQUESTS /* a file bs_32_rank0.json.gz, as SGLang and ATOM write */
} rs_capture_unit;

/* One graph that was captured. */
typedef struct rs_capture {
    const char *file; /* borrowed */
    int64_t rank;     /* whose file it is; RS_NO_VALUE: not told */
    rs_capture_unit unit;
    int64_t size;
    uint64_t contents; /* equal for captures with the same operators, of the same shapes, in the same order */
    size_t ordinal, alike; /* which of how many captures of that size in that file, in the order of time */
    /* The host's events inside, in the order of the file. Their times are places: which of the n_places moments, at
     * which one of them begins or ends, theirs are. Calls that make no node are left out. */
    rs_events *events;
    int64_t n_places;
    int64_t tid;     /* of the thread that captured; as in rs_thread */
    uint32_t *nodes; /* rows of events, in the order of time: the calls that make a node each */
    size_t n_nodes;
} rs_capture;

typedef struct rs_captures {
    rs_capture *items;
    size_t n, capacity;
} rs_captures;

/* Adds what a file holds: all that is between a call that begins a capture and the one on the same thread that ends
 * it. The events may go afterwards. rank: RS_NO_VALUE when nothing tells it. */
rs_status rs_captures_add(rs_captures *captures, const rs_events *events, const char *file, int64_t rank,
                          rs_error *err);
void rs_captures_clear(rs_captures *captures);
