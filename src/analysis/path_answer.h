/* What is told of a rank's critical path: rows by value, free of the trace they come from. */
#pragma once

#include "analysis/analysis.h"
#include "engine/build.h"

/* What bounds the time of an edge; HTA's words. */
typedef enum rs_bound {
    RS_BOUND_CPU,
    RS_BOUND_LOADING, /* the data loader, on the host */
    RS_BOUND_COMPUTE,
    RS_BOUND_COMM,
    RS_BOUND_COPY,      /* copies and memsets; under HTA's rules they are computation */
    RS_BOUND_LAUNCH,    /* from the launching call to its work */
    RS_BOUND_GAP,       /* between two pieces of GPU work */
    RS_BOUND_HOST_COMM, /* in communication that the host runs, with its wait for other ranks */
    RS_BOUND_NONE,      /* HTA's dependencies, which weigh nothing */
    RS_N_BOUNDS
} rs_bound;

extern const char *const rs_bound_names[RS_N_BOUNDS];

#define RS_NO_POSITION (-1)

/* One end of an edge. */
typedef struct rs_path_point {
    int64_t position; /* in traceEvents; RS_NO_POSITION: the window's own border */
    int64_t time;     /* ns on the file's clock */
    int64_t within; /* the same, but an end drawn back so far that it lies in the event: where arrows point */
    uint32_t name;  /* string id of the answer */
    bool is_end;
} rs_path_point;

typedef struct rs_path_node {
    rs_path_point point;
    int64_t place; /* on the path, from 0; -1: not on it */
    bool blocking; /* of a call that waits for the GPU, by its name */
} rs_path_node;

typedef struct rs_path_edge {
    rs_path_point source, target;
    int64_t weight; /* ns */
    int64_t owner;  /* position of the event the time is charged to, or RS_NO_POSITION */
    int64_t owner_stream;
    uint32_t owner_name, owner_category, owner_pid, owner_tid; /* string ids */
    uint8_t type, bound;
    bool critical;
} rs_path_edge;

typedef struct rs_path_sync {
    int64_t source, target, sync;         /* positions; sync may be RS_NO_POSITION */
    int64_t source_id, target_id;         /* external ids or RS_NO_VALUE */
    int64_t source_stream, target_stream; /* -1: none */
    int64_t source_end, target_time;      /* ns */
    uint32_t source_name, target_name;
    uint8_t kind; /* rs_sync_kind */
    bool to_gpu, critical;
} rs_path_sync;

typedef struct rs_path_answer {
    size_t n_instances;
    bool found;       /* the annotation and instance exist */
    bool whole_trace; /* ... or none was named and the trace has none */
    bool absent;      /* nothing to look at: no events with times */
    int64_t base;     /* the rank's first event, RS_NO_TIME if none */
    int64_t start, end;
    size_t n_nodes, n_edges, n_path;
    int64_t weight;
    int64_t time[RS_N_BOUNDS];  /* of the path */
    size_t n_untold;            /* waits of which no work could be named */
    uint64_t n_contradicted;    /* dependencies that run against time and are left out */
    rs_path_edge *path, *edges; /* edges only when asked for */
    size_t n_path_rows, n_edge_rows;
    rs_path_node *nodes; /* by time, event, start before end; only when asked for */
    size_t n_node_rows;
    rs_path_sync *syncs;
    size_t n_syncs;
    rs_strings strings;
} rs_path_answer;

/* Which of the long tables to fill. */
typedef struct rs_path_wanted {
    bool path, edges, syncs, nodes;
} rs_path_wanted;

/* Who builds the graph by other rules: kinds of edges that weigh nothing bound nothing then, copies are
 * computation, and waits are those of the graph. */
typedef struct rs_path_peer {
    rs_status (*build)(rs_trace *trace, const rs_policy *policy, const rs_path_window *window,
                       rs_path_part *out, rs_error *err);
    /* From when its times count: RS_NO_TIME without events. */
    rs_status (*base)(rs_trace *trace, const rs_policy *policy, int64_t *base, rs_error *err);
} rs_path_peer;

/* peer: NULL for the program's own rules.
 * default_window: no annotation was named; a trace that has none of the default is then taken whole. */
rs_status rs_path_answer_create(rs_trace *trace, const rs_policy *policy, const rs_path_window *window,
                                bool default_window, const rs_path_wanted *wanted, const rs_path_peer *peer,
                                rs_path_answer **out, rs_error *err);
void rs_path_answer_free(void *answer); /* NULL is allowed */

/* The command, also for rows of peers. peer: the tables are those of rs_critical_path_peer_tables, and the
 * weight of the path is told in whole microseconds. */
rs_status rs_critical_path_rank(const rs_run *run, rs_trace *trace, const rs_path_peer *peer, void **partial,
                                rs_error *err);
rs_status rs_critical_path_merge(const rs_run *run, const rs_partial *partials, size_t n, bool peer,
                                 rs_result *result, rs_error *err);
extern const rs_layout rs_path_answer_layout;
#define RS_CRITICAL_PATH_TABLES 7
extern const rs_table_spec *const rs_critical_path_peer_tables[RS_CRITICAL_PATH_TABLES];
