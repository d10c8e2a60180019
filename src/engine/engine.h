/* The engine: one graph over all ranks, replayed in one pass, with the tree of what held up what.
 *
 *     rs_engine_join(skeletons, n, &how, &engine, err);       // ranks, collectives, clocks: one graph
 *     rs_weights_recorded(&engine, &weights, err);            // how long everything takes, as recorded
 *     weights.work[node] /= 2;                                // a question; see engine/edits.h for whole ones
 *     rs_engine_replay(&engine, &weights, &times, err);       // when everything starts and ends then
 *     rs_engine_step_ends(&engine, &times, ends);             // and when the steps are over
 *
 * A node is what a skeleton's node is; nodes of all ranks are numbered through (rs_engine.node_base). A moment
 * is the start or the end of a node: node << 1 | is_end. Times are ns on the aligned clock of the job, which
 * is the lowest rank's. Edges of all ranks are numbered through, too (edge_base); behind them stand the added
 * ones, which were inferred (infer.h).
 *
 * Ranks meet in collectives: a member's work starts when its own rank is ready; it ends when the last member
 * has started and the transfer is over, and what it stays longer than the least of them. A member that ended
 * before the last one started did not wait (an eager send, the root of a broadcast): it ends by itself.
 *
 * With the weights as recorded every node is put where it was recorded, to the nanosecond; but loose ones end before. Stable within the
 * tree; private to it. */
#pragma once

#include "base/memory.h"
#include "base/near.h"
#include "clock/collective_clocks.h"
#include "engine/skeleton.h"

#define RS_NO_EDGE INT64_MIN /* a weight: the edge is not there */
#define RS_NO_CAUSE UINT32_MAX
#define RS_CAUSE_EXTRA 0x80000000u /* a cause: behind this bit the place in rs_weights.extra */

/* Which inferred edges take part. */
typedef enum rs_edges_used { RS_EDGES_TOLD, RS_EDGES_ALL } rs_edges_used;

typedef struct rs_meeting {
    uint32_t instance; /* of coll.instances */
    uint32_t first, n; /* in members */
    int64_t transfer;  /* ns from the last start to the first end */
} rs_meeting;

/* A dependency between streams that the trace does not tell (infer.c). */
typedef struct rs_added_edge {
    uint32_t source, target; /* nodes: from the end of one to the start of the other */
    uint8_t cost;            /* rs_cost */
    bool binds;              /* it explains the target's start better than what the skeleton took */
    uint8_t folds;           /* bit k: found also without the steps of fold k */
    bool occupied;  /* the target starts when the source leaves room on the device: see rs_inferred */
    uint32_t place; /* in rs_engine.inferred */
} rs_added_edge;

/* One place of the program at which work waits in every step. */
typedef struct rs_inferred {
    uint32_t rank;           /* one that it was seen on */
    uint32_t source, target; /* nodes there */
    uint32_t n_tight, n;     /* instances in which it fits tightly; all */
    /* The source fills the device: the target, on another stream, starts when the last of it leaves room, before its
     * end. Then in leads: the place of how long before; RS_NO_LEAD: the target starts behind the source's end. */
    uint32_t lead;
} rs_inferred;

#define RS_NO_LEAD UINT32_MAX

/* How long before the end of work that fills the device waiting work starts, ns. RS_NO_COST: too few samples. */
typedef struct rs_lead {
    int64_t longest;
    int64_t typical;                    /* the median */
    int64_t without[RS_SKELETON_FOLDS]; /* ... learned without the steps of a fold */
} rs_lead;

/* Nodes of one rank that follow each other in the order of a replay. */
typedef struct rs_order_run {
    uint32_t rank, n;
} rs_order_run;

typedef struct rs_engine {
    const rs_skeleton *const *ranks; /* borrowed, or of_copies */
    size_t n_ranks;
    const rs_coll_rank **comm; /* of each */
    rs_coll_job coll;          /* matched, clocks aligned; coll.shift is added to a rank's times */
    rs_clock_trust trust;      /* what the clocks rely on */
    uint32_t *node_base, *edge_base, *step_base; /* by rank, n_ranks + 1 */
    size_t n_nodes, n_edges;                     /* n_edges: with added ones */
    uint8_t *kind;                               /* by node: RS_ENGINE_... */
    rs_meeting *meetings;
    size_t n_meetings;
    uint32_t *members; /* nodes, by meeting */
    size_t n_members;
    uint32_t *by_node;    /* indices into members, in order of their nodes */
    uint32_t *meeting_of; /* by member */
    rs_added_edge *added; /* by target */
    size_t n_added;
    rs_inferred *inferred;
    size_t n_inferred;
    rs_lead *leads;
    size_t n_leads;
    uint32_t
        *order; /* nodes as their rank numbers them, in the order of a replay; NULL: as they are numbered */
    rs_order_run *runs;
    size_t n_runs;
    uint32_t *ahead;      /* nodes: of each rank the last work ahead of its first step's, stream by stream */
    uint32_t *ahead_base; /* by rank, n_ranks + 1 */
    size_t n_dropped;     /* meetings that closed a circle over ranks: clocks or matches are wrong there */
    size_t n_pinned, n_alone; /* work without a known cause; communication without its partners */
    bool lean;
    /* Of an engine that is not lean `ranks` are copies of these, which borrow all but their packed columns. */
    rs_skeleton *copies;
    const rs_skeleton **of_copies;
} rs_engine;

#define RS_ENGINE_COMES 1u /* others wait for its start */
#define RS_ENGINE_MEETS 2u /* ... and it for theirs: it ends together with them */
#define RS_ENGINE_ALONE 4u /* communication of which partners are not recorded: its waiting is pinned */
#define RS_ENGINE_ADDED 8u /* some added edge ends in it */
#define RS_ENGINE_WORK 32u /* rs_skeleton_is_work */
#define RS_ENGINE_LOOSE                                                                                      \
    16u /* it was over before its thread came to wait for it, when is not recorded: it ends with the transfer */

typedef struct rs_engine_how {
    rs_clock_how clocks;
    bool infer; /* look for dependencies that the traces do not tell */
    bool
        lean; /* keep little: weights are worked out when they are asked for. No question may add or change an edge */
} rs_engine_how;

/* The skeletons stay the caller's and must live as long. O(nodes + edges), with inference O(n log n).
 * RS_ERR_LIMIT where there are 2^31 nodes or edges. */
rs_status rs_engine_join(const rs_skeleton *const *ranks, size_t n_ranks, const rs_engine_how *how,
                         rs_engine *out, rs_error *err);
void rs_engine_clear(rs_engine *engine);

/* ---- how long things take ------------------------------------------------------------------------------ */

/* An edge that a question adds. `from` must come before `to` in the order of the replay. */
typedef struct rs_extra_edge {
    uint32_t from, to; /* moment, node */
    int64_t ns;
} rs_extra_edge;

/* A weight that was another before. */
typedef struct rs_weight_change {
    int64_t *cell, was;
} rs_weight_change;

typedef struct rs_weights {
    int64_t *work; /* by node: its duration; of one that meets others, what it stays beyond the transfer */
    int64_t *edge; /* by edge: least ns from source to target, or RS_NO_EDGE. May be negative */
    int64_t *transfer; /* by meeting */
    /* Of a lean engine work and edge are NULL: they are as the skeletons have them, by this rule. Work that was spread out is in own_work,
     * which the question `balanced` alone changes. */
    rs_edges_used edges;
    bool constant;
    int fold;
    int64_t *beyond;      /* by member, then: what it stays beyond the transfer */
    rs_near own_work;     /* by node: all-zero where it was not spread out */
    rs_extra_edge *extra; /* by node; NULL: none. Not copied by rs_weights_copy */
    size_t n_extra, extra_capacity;
    uint8_t *has_extra; /* by node; NULL: nothing is added */
    /* What rs_weights_set changed, in this order, where `keeps` says so: rs_weights_undo takes it back. */
    rs_weight_change *changes;
    size_t n_changes, changes_capacity;
    bool keeps;
    bool borrows; /* edges and transfers are those of others */
    bool lost; /* memory ran out for that: they are good for nothing until they are made from the beginning */
} rs_weights;

/* As recorded: what held a node up weighs the recorded time, every other edge the least that its kind takes,
 * or the recorded time if that is less. */
rs_status rs_weights_recorded(const rs_engine *engine, rs_edges_used edges, rs_weights *out, rs_error *err);
/* Latencies on the GPU and of waiting calls replaced by what is typical of their kind; host time, work and
 * transfers as recorded. fold: learned without the steps of that fold; -1: from everything. */
rs_status rs_weights_constant(const rs_engine *engine, rs_edges_used edges, int fold, rs_weights *out,
                              rs_error *err);
/* Not of a lean engine's, as rs_weights_recopy. */
rs_status rs_weights_copy(const rs_engine *engine, const rs_weights *from, rs_weights *out, rs_error *err);
/* Only work is copied: edges and transfers stay those of from, which must live as long; nothing may change them. */
rs_status rs_weights_copy_work(const rs_engine *engine, const rs_weights *from, rs_weights *out,
                               rs_error *err);
/* Makes the column `own_work` of a lean engine's weights, so that it can be changed. */
rs_status rs_weights_spread_work(const rs_engine *engine, rs_weights *weights, rs_error *err);
void rs_weights_clear(rs_weights *weights);
/* The same into weights that were made before, of this engine: large blocks are not given back and taken anew.
 * Edges that were added to them go. refill: rs_weights_constant (from everything), else rs_weights_recorded. */
void rs_weights_recopy(const rs_engine *engine, const rs_weights *from, rs_weights *out);
void rs_weights_refill(const rs_engine *engine, rs_edges_used edges, bool constant, rs_weights *out);
/* Changes a weight; all changes of weights by questions are made here. */
static inline void rs_weights_set(rs_weights *w, int64_t *cell, int64_t to)
{
    const rs_weight_change change = {cell, *cell};
    if (*cell == to) return;
    if (w->keeps && !RS_PUSH(w->changes, w->n_changes, w->changes_capacity, change)) w->lost = true;
    *cell = to;
}
/* Takes back all changes but for the first n. */
void rs_weights_undo(rs_weights *weights, size_t n);
/* Takes back all of them, and added edges. */
void rs_weights_reset(rs_weights *weights);
/* Adds an edge; call rs_weights_sort_extra once behind the last. false when out of memory. */
bool rs_weights_add(const rs_engine *engine, rs_weights *weights, rs_extra_edge edge);
bool rs_weights_sort_extra(rs_weights *weights);

/* ---- replay -------------------------------------------------------------------------------------------- */

typedef struct rs_far_cause {
    uint32_t node, cause;
} rs_far_cause;

typedef struct rs_times {
    int64_t *start;    /* by node, ns on the aligned clock; NULL of a lean engine: ask rs_times_start */
    int64_t *end;      /* the same: ask rs_times_end */
    rs_near own_start; /* of a lean engine, by node */
    /* of a lean engine an end is its start and what the work takes, but for what meets others */
    const rs_engine *engine;
    const rs_near *own_work; /* of the weights, which must live as long; NULL: as recorded */
    int64_t *met;            /* by member */
    /* by node: the edge that its start waited for last; RS_NO_CAUSE: none. See rs_times_cause. NULL of a lean engine: */
    uint32_t *cause;
    uint8_t *choice;   /* by node: which of its edges that is */
    rs_far_cause *far; /* by node: of those that have too many edges for that, one each */
    size_t n_far;
    uint32_t *last; /* by meeting: the member (index into members) that came last */
} rs_times;

/* One pass, O(nodes + edges). Of causes that end together the recorded one is taken, then the first. */
rs_status rs_engine_replay(const rs_engine *engine, const rs_weights *weights, rs_times *out, rs_error *err);
/* The same into times that were made before, of this engine. */
rs_status rs_engine_replay_again(const rs_engine *engine, const rs_weights *weights, rs_times *out,
                                 rs_error *err);
void rs_times_clear(rs_times *times);

/* When each step of each rank is over: the later of its annotation's end and the end of the work launched in
 * it, and never before the step before it. By step_base[rank] + step; room for step_base[n_ranks]. */
void rs_engine_step_ends(const rs_engine *engine, const rs_times *times, int64_t *ends);
/* When the rank's first step begins: with its annotation, or when the work is over that is ahead of the step's own on
 * its streams. *moment (NULL: not wanted): the end of such work, RS_NO_CAUSE: the annotation. Without steps: when the
 * trace begins. */
int64_t rs_engine_begin(const rs_engine *engine, const rs_times *times, size_t rank, uint32_t *moment);
/* When the first step's annotation begins. */
int64_t rs_engine_first_mark(const rs_engine *engine, const rs_times *times, size_t rank);
/* Fills `ahead` and `ahead_base`; a part of rs_engine_join. */
rs_status rs_engine_find_ahead(rs_engine *engine, rs_error *err);
/* The end of a step of a rank (its place, not its number) as a moment: of its last work, or of the last point of its thread.
 * *tail: ns from there to the end of the step's annotation, where that ends it. */
uint32_t rs_engine_step_moment(const rs_engine *engine, const rs_times *times, size_t rank, size_t place,
                               int64_t *tail);
/* The last moment of a rank's trace. */
uint32_t rs_engine_last_moment(const rs_engine *engine, size_t rank);
/* The nodes that a replay does not put where they were recorded; *worst: by how much, ns. */
size_t rs_engine_deviations(const rs_engine *engine, const rs_times *times, int64_t *worst);

/* ---- the tree ------------------------------------------------------------------------------------------ */

/* What a moment waited for last, and what the time between is. What waited for room on the device leads to the start
 * of the work that filled it, and its time is that work's. */
typedef struct rs_link {
    uint32_t from; /* moment; RS_NO_CAUSE: nothing, the trace's start */
    uint32_t node; /* that the time is charged to; another than the moment's only of what waited for room */
    int64_t ns;
    int64_t unexplained; /* of it: beyond what its kind usually takes, where that is more than 20 us */
    uint8_t part;        /* rs_part */
    uint32_t edge;       /* RS_NO_CAUSE: none (a duration, a meeting) */
} rs_link;

/* O(1), of work that meets others O(log members). */
rs_link rs_engine_link(const rs_engine *engine, const rs_weights *weights, const rs_times *times,
                       uint32_t moment);

size_t rs_engine_rank_of(const rs_engine *engine, uint32_t node); /* O(log ranks) */
/* The added edges into a node: [*from, *to) of added. O(log added). */
void rs_engine_added_to(const rs_engine *engine, uint32_t node, size_t *from, size_t *to);

/* The edge that the start of a rank's node waited for last; RS_NO_CAUSE: none. O(1), of a lean engine's times where it is
 * an added edge O(log added). */
uint32_t rs_times_cause(const rs_times *times, size_t rank, uint32_t local);
/* The same. first: of the edges of its rank the node's first, where the engine is lean. */
uint32_t rs_times_cause_among(const rs_times *times, size_t rank, uint32_t local, uint32_t first);

/* When a node ends, of a lean engine's times. O(log ranks), of what meets others O(log members). */
int64_t rs_times_find_end(const rs_times *times, uint32_t node);
/* The same, of any times, where the rank is known: O(1), of what meets others O(log members). */
int64_t rs_times_lean_end(const rs_engine *engine, const rs_times *times, size_t rank, uint32_t local);
static inline int64_t rs_times_end_of(const rs_engine *e, const rs_times *t, size_t rank, uint32_t local)
{
    return t->end ? t->end[e->node_base[rank] + local] : rs_times_lean_end(e, t, rank, local);
}
static inline int64_t rs_times_end(const rs_times *t, uint32_t node)
{
    return t->end ? t->end[node] : rs_times_find_end(t, node);
}
static inline int64_t rs_times_start(const rs_times *t, uint32_t node)
{
    return t->start ? t->start[node] : rs_near_at(&t->own_start, node);
}
static inline int64_t rs_moment_time(const rs_times *t, uint32_t moment)
{
    return moment & 1 ? rs_times_end(t, moment >> 1) : rs_times_start(t, moment >> 1);
}
/* The recorded time of a node's start on the aligned clock. */
static inline int64_t rs_engine_recorded(const rs_engine *e, size_t rank, uint32_t local)
{
    return rs_add_sat(rs_skeleton_time(e->ranks[rank], local), e->coll.shift[rank]);
}
/* What the process group of a node that meets others is for, or its name; NULL: none, or not told. */
const char *rs_engine_group_of(const rs_engine *engine, uint32_t node);
/* The place of a node in by_node, SIZE_MAX if it meets nobody. */
size_t rs_engine_member(const rs_engine *engine, uint32_t node);
