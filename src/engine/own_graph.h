/* The parts of the event graph by the program's own rules. Private to src/engine/own_*.c. */
#ifndef RS_ENGINE_OWN_GRAPH_H
#define RS_ENGINE_OWN_GRAPH_H

#include "engine/build.h"
#include "engine/sync.h"

#define RS_OWN_WINDOW 0 /* the item that stands for the window itself */

/* What a step that was taken at once costs, ns: from a call's return to its work, from work to the next. */
typedef struct rs_path_costs {
    int64_t launch, stream, event;
    int64_t call, answer; /* a synchronizing call that need not wait; from work's end to the call's return */
} rs_path_costs;

typedef struct rs_own {
    rs_trace *trace;
    const rs_events *e;
    const rs_work *w;
    const uint32_t *by_start; /* indices into w */
    const rs_sync_edges *sync;
    rs_path_graph *g;
    uint32_t *item_of;  /* by row */
    uint32_t *work_of;  /* by item: index into w, RS_NO_ITEM for host events */
    uint32_t *before;   /* by index into w: the work before it on its stream */
    uint32_t *around;   /* ... and on any stream of its device */
    size_t *sync_first; /* by item + 1: offsets into sync_at, the edges that end in the item */
    uint32_t *sync_at;
    uint8_t *loading; /* by string id: the name of a data loader */
    int64_t start, end;
    uint32_t thread; /* the window's own, UINT32_MAX: none */
    rs_path_costs cost;
    bool strict; /* no edge may run back in time */
} rs_own;

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

#endif
