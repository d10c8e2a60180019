/* The parts of the event graph by the program's own rules. Private to src/engine/own_*.c. */
#pragma once

#include "engine/build.h"
#include "engine/causes.h"
#include "trace/data_loader.h"

#define RS_OWN_WINDOW 0 /* the item that stands for the window itself */

/* What a host event is about, told by its name. */
typedef enum rs_own_role {
    RS_OWN_OTHER,
    RS_OWN_RUNS,     /* communication that a host thread runs */
    RS_OWN_AWAITS,   /* the operator that waits for communication */
    RS_OWN_BACKWARD, /* one of autograd's functions */
    RS_OWN_STEP,     /* a step's annotation */
    RS_OWN_ALLOCATES /* a call that takes memory from the driver, or gives it back */
} rs_own_role;

typedef struct rs_own {
    rs_trace *trace;
    const rs_events *e;
    const rs_work *w;
    const uint32_t *by_start; /* indices into w */
    const rs_sync_edges *sync;
    const rs_causes *causes; /* the trace's */
    rs_path_graph *g;
    uint32_t *item_of; /* by row */
    uint32_t *work_of; /* by item: index into w, RS_NO_ITEM for host events */
    uint32_t *room; /* by item: index of the work that made room for what this call launches, or RS_NO_ITEM */
    uint8_t
        *async; /* by item: communication of whose end its thread learned after it had done other things */
    const rs_data_loader *loads;
    rs_map64 calls; /* of communication that a host thread runs: the row of the operator that submitted it */
    uint8_t *role;  /* by string id: rs_own_role */
    uint8_t *launches; /* by thread: it launched GPU work */
    uint8_t *polls;    /* by thread: it only asks whether the GPU is done; its events are no items */
    int64_t start, end;
    int64_t host_end;   /* the annotation's; end is later where GPU work launched in it is */
    uint32_t last_work; /* index of the work that the window ends with, RS_NO_ITEM: it ends on the host */
    uint32_t thread;    /* the window's own, UINT32_MAX: the whole trace is looked at */
    bool strict;        /* no edge may run back in time */
    bool no_path;       /* the path is not wanted, nor whether the edges make a circle */
} rs_own;

/* The graph and all that it was built from; *b is zeroed, and released with rs_own_close, also after a
 * failure. b->g is NULL where the window does not exist. */
rs_status rs_own_open(rs_trace *trace, const rs_policy *policy, const rs_path_window *window,
                      const rs_sync_edges *sync, rs_own *b, size_t *n_instances, rs_error *err);
/* The same without a path. The caller has to look for circles: they are not told. */
rs_status rs_own_open_graph(rs_trace *trace, const rs_policy *policy, const rs_path_window *window,
                            const rs_sync_edges *sync, rs_own *b, rs_error *err);
void rs_own_close(rs_own *b);

/* Communication that the host runs is no event of its thread: it begins when it was submitted and a thread takes it up,
 * and others wait for its end. */
static inline bool rs_own_is_span(const rs_own *b, uint32_t item)
{
    return b->work_of[item] == RS_NO_ITEM && b->g->row[item] != RS_NO_ROW &&
           b->role[b->e->name[b->g->row[item]]] == RS_OWN_RUNS;
}
/* The item of the operator that submitted a span, RS_NO_ITEM: it is not known. */
static inline uint32_t rs_own_call_of(const rs_own *b, uint32_t span)
{
    const uint32_t *row = rs_map64_get(&b->calls, b->g->row[span]);
    return row ? b->item_of[*row] : RS_NO_ITEM;
}

/* Host threads: own_host.c. False when out of memory. */
bool rs_own_add_host_edges(rs_own *b);

static inline int64_t rs_own_between(const rs_own *b, uint32_t from, uint32_t to)
{
    return rs_sub_sat(rs_node_time(b->g, to), rs_node_time(b->g, from));
}

/* What held the node up. */
static inline bool rs_own_bind(rs_own *b, uint32_t from, uint32_t to, rs_edge_type type, uint32_t owner)
{
    int64_t time = rs_own_between(b, from, to);
    if (time < 0 && b->strict) return true;
    return rs_path_graph_add(b->g, from, to, type, time, owner);
}

/* What the node had to wait for too, at least that long. */
static inline bool rs_own_follow(rs_own *b, uint32_t from, uint32_t to, rs_edge_type type, int64_t least,
                                 uint32_t owner)
{
    int64_t time = rs_own_between(b, from, to);
    if (time < 0) return true;
    if (least > time) least = time;
    return rs_path_graph_add(b->g, from, to, type, least < 0 ? 0 : least, owner);
}
