/* The skeleton of a rank: what it contributes to the graph over all ranks, small, and free of its trace.
 *
 * It is the event graph of the whole trace (own_graph.h) in which chains of host events between two points
 * that matter are one edge each. A node is a piece of GPU work, with a start and an end, or a point of a host
 * thread. Edges lead to the start of a node from the start or the end of another. Nodes stand in an order in
 * which every edge leads forward. The first edge of a node is the one that held it up in the recording: it
 * weighs the time between both ends as recorded, whatever that is; the other edges weigh the least that their
 * kind takes. So a replay of the recorded weights gives the recorded times.
 *
 * Everything is a column, most of them packed (base/packed.h). A node costs some 14 bytes and 3 an edge, of which it has one to
 * three. What many nodes have in common (names, lane, part) stands once, in a label, and what many edges have in a tie. */
#pragma once

#include <stdatomic.h>

#include "base/interval.h"
#include "base/packed.h"
#include "engine/causes.h"
#include "match/collective_ops.h"
#include "trace/facet.h"
#include "trace/host_gaps.h"
#include "trace/measures.h"

/* What time on a path is spent on. */
typedef enum rs_part {
    RS_PART_COMPUTE,
    RS_PART_TRANSFER, /* communication on the GPU; in the graph over ranks, from the last start on */
    RS_PART_COPY,
    RS_PART_LAUNCH,
    RS_PART_GAP,  /* between two pieces of GPU work */
    RS_PART_SYNC, /* from the end of work to the return of the call that waited for it */
    RS_PART_HOST,
    RS_PART_LOADER,
    RS_PART_HOST_COMM,
    RS_PART_UNEXPLAINED, /* beyond what any known cause takes */
    RS_PART_PINNED,      /* nothing is known that it waited for: it keeps its recorded time */
    RS_PART_WINDOW,      /* before the recording, or before two paths that never meet */
    RS_N_PARTS
} rs_part;

extern const char *const rs_part_names[RS_N_PARTS];

/* flags of a node */
#define RS_NODE_WORK                                                                                         \
    1u /* GPU work, or what the host of a rank without a GPU communicates; else a point of the host */
#define RS_NODE_PINNED 2u /* its binding edge comes from the window's start because no cause is known */
#define RS_NODE_ASYNC 4u  /* communication that is recorded as over when its thread had come to wait for it */

typedef enum rs_origin {
    RS_ORIGIN_ORDER, /* order of a thread or a stream */
    RS_ORIGIN_LAUNCH,
    RS_ORIGIN_TOLD,     /* a cuda_sync event tells it, or a call does */
    RS_ORIGIN_QUEUE,    /* a full queue */
    RS_ORIGIN_CALL,     /* guessed from a call that makes a stream wait, without saying for what */
    RS_ORIGIN_DEVICE,   /* the trace tells nothing; the device was busy until then */
    RS_ORIGIN_REPEATED, /* inferred: the same places wait in every step */
    RS_N_ORIGINS
} rs_origin;

#define RS_NO_NODE UINT32_MAX
#define RS_SKELETON_NO_LAYER UINT16_MAX

typedef struct rs_skeleton_lane {
    int64_t device, stream; /* of a stream; device -1: unknown */
    int64_t pid, tid;       /* of a thread */
    bool is_thread;
} rs_skeleton_lane;

typedef struct rs_skeleton_step {
    int64_t number;
    int64_t start, end; /* of its annotation, ns on the rank's clock */
    /* the last point of its thread at or before the start, RS_NO_NODE: none; the start lies `after` behind it
     */
    uint32_t mark;
    int64_t after;
    uint32_t last; /* the last point of its thread before its end */
    int64_t tail;  /* ns from there to the annotation's end */
} rs_skeleton_step;

/* Learned constants, ns; -1: too few samples. */
typedef struct rs_skeleton_costs {
    int64_t least[RS_N_COSTS];   /* the low tenth: what nothing goes below */
    int64_t typical[RS_N_COSTS]; /* the median */
} rs_skeleton_costs;

#define RS_SKELETON_FOLDS 8

/* What nodes of one kind have in common. */
typedef struct rs_skeleton_label {
    uint32_t name; /* kernel, or the call or operator at the point; in pool */
    uint32_t
        operator_name; /* that launched the work; of a point the event that most of its time was spent in */
    uint16_t lane;
    uint8_t part, flags; /* part: of work's own duration */
} rs_skeleton_label;

/* What edges of one kind have in common. */
typedef struct rs_skeleton_tie {
    uint8_t part;   /* rs_part */
    uint8_t cost;   /* rs_cost */
    uint8_t origin; /* rs_origin */
} rs_skeleton_tie;

/* A duration, or a time, that 32 bits do not hold. */
#define RS_SKELETON_LONG UINT32_MAX
typedef struct rs_skeleton_long {
    uint32_t node;
    int64_t ns;
} rs_skeleton_long;

/* What the host did between its calls: trace/host_gaps.h. name: in pool. */
typedef struct rs_skeleton_doing {
    uint32_t name;
    uint8_t what; /* rs_host_doing */
    int64_t ns;
    uint64_t n;
} rs_skeleton_doing;
#define RS_SKELETON_DOING 8

/* How work changes when what its rank computes is shared out over another number of ranks. */
typedef enum rs_share_how {
    RS_SHARE_WHOLE,   /* each rank does all of it */
    RS_SHARE_PART,    /* each does its part */
    RS_SHARE_UNKNOWN, /* the shapes of its arguments fit both */
    RS_N_SHARES
} rs_share_how;
typedef struct rs_skeleton_share {
    int64_t m, n, k; /* of a product of matrices, m x k by k x n; 0: it is none */
    uint8_t how;     /* rs_share_how */
    uint8_t over;    /* of a product: which of m, n, k is shared out, from 0 */
} rs_skeleton_share;

#define RS_SKELETON_BLOCK 10 /* log2 of the nodes whose times count from one */

typedef struct rs_skeleton {
    int64_t start, end; /* ns, the rank's clock: of the whole trace */
    uint32_t last;      /* what the end is bound to: node << 1 | its end */

    size_t n;        /* nodes; node 0 is the start of the trace */
    uint32_t *since; /* ns since its block's; RS_SKELETON_LONG: in far. See rs_skeleton_time */
    int64_t *block;  /* by node >> RS_SKELETON_BLOCK: ns */
    size_t n_blocks;
    uint32_t *duration; /* of work; 0 of points; RS_SKELETON_LONG: in longs. See rs_skeleton_duration */
    rs_packed label;    /* place in labels; see rs_skeleton_at */
    rs_packed row;      /* see rs_skeleton_row */
    rs_packed step;     /* index into steps + 1, 0: none; see rs_skeleton_step_of */
    rs_packed first;    /* n + 1 offsets into edges; see rs_skeleton_first */
    rs_skeleton_label *labels;
    size_t n_labels;
    rs_skeleton_long *longs, *far; /* durations and times, by node */
    size_t n_longs, n_far;

    size_t n_edges;
    rs_packed source; /* see rs_edge_source */
    rs_packed base;   /* see rs_edge_base */
    uint8_t *tie;     /* place in ties; see rs_edge_part and the like */
    rs_skeleton_tie *ties;
    size_t n_ties;

    size_t n_placed; /* n, or 0: nobody asked for the next two (rs_skeleton_place) */
    uint8_t *phase;  /* rs_phase */
    uint16_t *layer; /* RS_SKELETON_NO_LAYER: of none */

    size_t n_shared; /* n, or 0: not asked for (rs_skeleton_share_out) */
    uint32_t *share; /* place in shares */
    rs_skeleton_share *shares;
    size_t n_shares;
    int64_t
        memory; /* bytes: the most that its allocator held on a GPU at once; 0: not asked for, or no event says it */

    rs_skeleton_lane *lanes;
    size_t n_lanes;
    rs_skeleton_step *steps; /* by start */
    size_t n_steps;
    rs_coll_rank *comm;    /* communication, as everybody has it */
    uint32_t *comm_node;   /* by op: its node, RS_NO_NODE: what the host ran */
    size_t n_comm;         /* of them */
    rs_skeleton_costs all; /* learned from everything */
    /* learned without every eighth step: fold k leaves out the steps k, k + 8, ... */
    rs_skeleton_costs without[RS_SKELETON_FOLDS];
    int64_t told_gap; /* ns: 9 in 10 told waits that nothing else held up took less; -1: too few */
    int64_t launching, elsewhere, loading; /* rs_host_gaps: span, elsewhere, loading */
    rs_skeleton_doing
        *doing; /* RS_SKELETON_DOING of the longest, then as many of the most frequent samples */
    size_t n_doing;
    uint64_t n_samples;                       /* all of them in the gaps */
    double clock_mhz, power_w, power_limit_w; /* measured while the rank computes; NaN: no counter says it */
    rs_pool pool;
    uint64_t n_events;       /* of the rank: what sizes are compared with */
    uint64_t n_contradicted; /* dependencies that run against time and are left out */
    uint64_t n_untold;       /* waits of which no work could be named */
    bool strict;             /* its clocks contradict each other: some edges are left out */
    atomic_uint shared;      /* owners beside the first */
} rs_skeleton;

extern const rs_layout rs_skeleton_layout;

#define RS_SKELETON_COLUMNS (RS_COLL_HOST_COLUMNS | RS_SYNC_COLUMNS) /* with RS_LINK_COLUMNS */

#define RS_NO_COST (-1)

/* The skeleton of a rank's whole trace, made once for all who ask (a facet): *out is the caller's share, and NULL where
 * the rank has no events. */
extern const rs_facet rs_facet_skeleton;
rs_status rs_trace_skeleton(rs_trace *trace, const rs_policy *policy, rs_skeleton **out, rs_error *err);

/* One of the caller's own. */
rs_status rs_skeleton_of(rs_trace *trace, const rs_policy *policy, rs_skeleton **out, rs_error *err);
/* Fills phase and layer of a skeleton of that trace: of work as the model's structure has them (trace/structure.h),
 * of a point of the host those of what its thread launches next in the step. */
rs_status rs_skeleton_place(rs_skeleton *skeleton, rs_trace *trace, rs_error *err);
/* Fills share and shares of a skeleton that is placed, of that trace: which work its tensor-parallel group shares out, from the shapes of
 * operators and of what the group reduces. Needs rs_facet_owners. */
rs_status rs_skeleton_share_out(rs_skeleton *skeleton, rs_trace *trace, rs_error *err);
/* Gives a share back; the last one frees it. From any thread. */
void rs_skeleton_free(void *skeleton); /* NULL is allowed */
/* Bytes that it holds. */
uint64_t rs_skeleton_bytes(const rs_skeleton *skeleton);
/* The edge of the call that launches a piece of work; UINT32_MAX: none is known. */
uint32_t rs_skeleton_launch_edge(const rs_skeleton *skeleton, uint32_t work);
/* launches: by node; becomes 1 for the points that launch work, the rest stays as it is. O(edges). */
void rs_skeleton_mark_launches(const rs_skeleton *skeleton, uint8_t *launches);

static inline const rs_skeleton_label *rs_skeleton_at(const rs_skeleton *s, size_t node)
{
    return &s->labels[rs_packed_at(&s->label, node)];
}
/* The event of a node; RS_NO_ROW: node 0. */
static inline uint32_t rs_skeleton_row(const rs_skeleton *s, size_t node)
{
    return rs_packed_at(&s->row, node);
}
/* The place of a node's step in steps, -1: none. */
static inline int32_t rs_skeleton_step_of(const rs_skeleton *s, size_t node)
{
    return (int32_t)rs_packed_at(&s->step, node) - 1;
}
/* A node's edges are those from here to the next node's first; the first is the binding one. */
static inline uint32_t rs_skeleton_first(const rs_skeleton *s, size_t node)
{
    return rs_packed_at(&s->first, node);
}
/* The first of a node's edges, and where those of the next node begin. */
static inline uint32_t rs_skeleton_edges(const rs_skeleton *s, size_t node, uint32_t *end)
{
    return rs_packed_two(&s->first, node, end);
}
/* A loop over the edges into a node, of its own variable `edge`. */
#define RS_EDGES_INTO(s, node, edge)                                                                         \
    for (uint32_t edge##_end, edge = rs_skeleton_edges(s, node, &edge##_end); edge < edge##_end; edge++)

/* node << 1 | whether from its end. */
static inline uint32_t rs_edge_source(const rs_skeleton *s, size_t edge)
{
    return rs_packed_at(&s->source, edge);
}
/* ns that the cost comes on top of: host time, a launching call; held at 2^32 - 1. */
static inline uint32_t rs_edge_base(const rs_skeleton *s, size_t edge)
{
    return rs_packed_at(&s->base, edge);
}
static inline bool rs_skeleton_is_work(const rs_skeleton *s, size_t node)
{
    return rs_skeleton_at(s, node)->flags & RS_NODE_WORK;
}
/* What an edge's time is spent on, what it is learned as, and how it is known. */
static inline uint8_t rs_edge_part(const rs_skeleton *s, size_t edge)
{
    return s->ties[s->tie[edge]].part;
}
static inline uint8_t rs_edge_cost(const rs_skeleton *s, size_t edge)
{
    return s->ties[s->tie[edge]].cost;
}
static inline uint8_t rs_edge_origin(const rs_skeleton *s, size_t edge)
{
    return s->ties[s->tie[edge]].origin;
}
/* The value of a node in such a list; RS_SKELETON_LONG: it has none. O(log). */
int64_t rs_skeleton_long_of(const rs_skeleton_long *items, size_t n, size_t node);
static inline int64_t rs_skeleton_duration(const rs_skeleton *s, size_t node)
{
    uint32_t ns = s->duration[node];
    return ns == RS_SKELETON_LONG ? rs_skeleton_long_of(s->longs, s->n_longs, node) : ns;
}
/* When a node starts, ns on the rank's clock. */
static inline int64_t rs_skeleton_time(const rs_skeleton *s, size_t node)
{
    uint32_t since = s->since[node];
    return since == RS_SKELETON_LONG ? rs_skeleton_long_of(s->far, s->n_far, node)
                                     : s->block[node >> RS_SKELETON_BLOCK] + since;
}
static inline int64_t rs_skeleton_end(const rs_skeleton *s, uint32_t node)
{
    return rs_add_sat(rs_skeleton_time(s, node), rs_skeleton_duration(s, node));
}
/* The recorded time of an edge's source. */
static inline int64_t rs_skeleton_source_time(const rs_skeleton *s, uint32_t source)
{
    return source & 1 ? rs_skeleton_end(s, source >> 1) : rs_skeleton_time(s, source >> 1);
}
