/* When things ran: what simulators are told so that they start every node when it started in the recording.
 */
#pragma once

#include "chakra/convert_linked.h"

/* Time of a thread that no node has: after an operator's children, in an annotation, behind a wait. Its index
 * is that of the last node of the linked trace and on. */
typedef struct rs_convert_gap {
    int64_t start, end; /* ns */
    uint32_t after;     /* the node or gap before it in the thread's chain; RS_LINKED_NONE */
    uint32_t top;       /* the chain */
} rs_convert_gap;

typedef struct rs_convert_dep {
    uint32_t node, on; /* nodes or gaps */
} rs_convert_dep;

typedef struct rs_convert_times {
    uint64_t *micros;     /* by node: how long a simulator keeps it */
    int64_t *delay;       /* by node: ns between ready and start of GPU nodes */
    uint32_t *inferred;   /* by node: the GPU node of another stream that must have held it up */
    uint32_t *gap_before; /* by node: the gap right before it in its chain */
    rs_convert_gap *gaps;
    size_t n_gaps, gaps_capacity;
    rs_convert_dep *deps; /* beyond chains, launches, streams and syncs; by node */
    size_t n_deps, deps_capacity;
} rs_convert_times;

/* Where the nodes are in the trace, by index (convert_graph.c). */
typedef struct rs_convert_places {
    const uint32_t *parent; /* itself for roots */
    const uint32_t *top;    /* the node whose chain a CPU node belongs to */
    const uint32_t *before; /* the node before it in its chain or on its stream; RS_LINKED_NONE */
} rs_convert_places;

/* *out is the caller's to clear, also after a failure. */
rs_status rs_convert_time(const rs_linked *linked, const rs_convert_places *places, rs_convert_times *out,
                          rs_error *err);
void rs_convert_times_clear(rs_convert_times *times);

/* ---- between convert_time.c and convert_timelines.c ---------------------------------------------------- */

/* A thread's time line, from its first start to its last end. */
typedef struct rs_timeline {
    uint32_t first, n; /* its timed nodes: into items, in the chain's order */
    uint32_t top;
    int64_t from, to;
    bool ends_sorted; /* its part of item_ends is there */
} rs_timeline;

typedef struct rs_timeline_item {
    uint32_t node;
    int64_t start; /* not before the start of the one before it in the chain */
    int64_t end;
} rs_timeline_item;

typedef struct rs_timeline_point {
    uint32_t line;
    int64_t t;
} rs_timeline_point;

/* A thread stands still until something has ended: a GPU node, or what ends at a moment on another line. */
typedef struct rs_timeline_wait {
    uint32_t line;
    int64_t from, to;
    uint32_t gpu; /* RS_LINKED_NONE: the other line's */
    uint32_t on_line;
    int64_t on;
} rs_timeline_wait;

/* Waits of one line that overlap or touch. */
typedef struct rs_timeline_span {
    uint32_t line;
    uint32_t carrier; /* the node or gap that goes on behind it; RS_LINKED_NONE */
    int64_t from, to;
    size_t first, n; /* into waits */
} rs_timeline_span;

/* What a line's chain consists of, by end. */
typedef struct rs_timeline_element {
    int64_t end;
    uint32_t node; /* or gap */
} rs_timeline_element;

typedef struct rs_timelines {
    const rs_linked *linked;
    const rs_convert_places *places;
    rs_timeline *lines;
    size_t n_lines;
    rs_timeline_item *items; /* by line */
    size_t n_items;
    uint32_t *line_of;       /* by node that is a chain's top; RS_LINKED_NONE */
    uint32_t *item_of;       /* by node */
    int64_t *item_ends;      /* by line, sorted once they are asked for */
    rs_timeline_wait *waits; /* sorted by line, from, to after rs_timelines_settle */
    size_t n_waits, waits_capacity;
    rs_timeline_span *spans;
    size_t n_spans;
    uint32_t *span_first;     /* by line */
    rs_timeline_point *extra; /* points that something else asked for */
    size_t n_extra, extra_capacity;
    int64_t *ends;        /* moments at which a segment ends, by line, sorted */
    uint32_t *ends_first; /* by line */
    rs_timeline_element *elements;
    uint32_t *element_first; /* by line */
    size_t n_elements, elements_capacity;
} rs_timelines;

/* The lines with the waits that calls are known for and those for other threads; then gaps and times of CPU
 * nodes. All false when out of memory. */
bool rs_timelines_make(rs_timelines *lines);
bool rs_timelines_finish(rs_timelines *lines, rs_convert_times *out);
void rs_timelines_clear(rs_timelines *lines);

/* The first end of a segment in [from, to]; false when there is none. */
bool rs_timelines_end_in(const rs_timelines *lines, uint32_t line, int64_t from, int64_t to, int64_t *end);
/* Whether the thread stands still right before t. */
bool rs_timelines_waits_at(const rs_timelines *lines, uint32_t line, int64_t t);
bool rs_timelines_add_point(rs_timelines *lines, uint32_t line, int64_t t);
/* What ends at t, or was the last to end before; RS_LINKED_NONE. After rs_timelines_finish. */
uint32_t rs_timelines_ended(const rs_timelines *lines, uint32_t line, int64_t t);
/* A dependency beyond the usual ones. */
bool rs_convert_add_dep(rs_convert_times *out, uint32_t node, uint32_t on);
/* Whole microseconds by which from and to differ once each is rounded down. */
uint64_t rs_convert_micros(int64_t from, int64_t to);
