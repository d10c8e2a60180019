/* What-if: a change of the weights that means a change of the job.
 *
 *     rs_what_if_parse("network*2; no-loader", &question, err);    // edits joined by ; act together
 *     rs_weights_copy(&engine, &recorded, &weights, err);
 *     rs_what_if_apply(&question, &engine, &roles, numbers, &weights, err);
 *     rs_engine_replay(&engine, &weights, &times, err);
 *
 *     scale SELECTOR=VALUE    work, host time or transfers; VALUE: 0.5, 12us, none, median
 *     no-stragglers[:RANK]    work lasts as long as the median rank's at the same place
 *     balanced                ... as the mean over ranks, step by step
 *     network*F               the part of a transfer that grows with its size is F times as fast
 *     overlap[:GROUP]         communication starts as early as its data can be there: reductions of gradients while the
 *                             backward pass makes them, gathers one ahead; what is reduced is awaited by the optimizer
 *     graphs                  what is launched between two synchronizations is one graph launch
 *     no-loader               data is there when it is asked for
 *     no-sync NAME            calls of that name, and those that wait for copies of that name, do not wait
 *     fuse A+B                A and B after it on a stream are one kernel
 *     coalesce GROUP:BYTES    neighbouring collectives of a group are one, of up to so many bytes
 *     group-size GROUP:N      collectives of a group as if it had N members: data parallelism over more ranks, or fewer
 *     payload GROUP*F         collectives of a group carry F times as many bytes
 *     shard GROUP:N           work that a tensor-parallel group shares out is shared out over N ranks
 *     experts GROUP:N         the experts of an expert-parallel group are on N ranks
 *     micro-batches*N         each micro-batch of a pipeline as N smaller ones
 *
 * SELECTOR: a condition (query/expression.h) on name, operator, class (computation, communication, memory), part (host,
 * loader, launch, stream_gap), rank (0-3|8), step, stream, group, members (the ranks that meet, all of them), collective, bytes, us (how long it takes itself), behind
 * (host time between the return of a waiting call of that name and the next launch of its thread). Without
 * class=communication a selector means computation and copies; part=host or loader means the time of host threads, launch
 * and stream_gap the latencies. GROUP may be @SIZExSTRIDE: all groups of so many ranks, so far apart (@8x1/all_to_all, @8x1/others: these collectives of them). NAME, A, B, GROUP: a text, in quotes where it holds , ; or other signs; =NAME: the whole name.
 *
 * Edits are values: rs_what_if_print undoes rs_what_if_parse for every one of them. Who asks builds them:
 *
 *     rs_expr *s = rs_what_if_scale_by(&question, 0.5);
 *     rs_selector_word(s, RS_SELECT_CLASS, RS_CLASS_OF_COMPUTATION);
 *     rs_selector_number(s, RS_SELECT_RANK, RS_OP_EQ, 5);
 *     status = rs_what_if_check(&question, err);
 *
 * Nothing else changes: order, control flow, contention. Experimental. */
#ifndef RS_ENGINE_EDITS_H
#define RS_ENGINE_EDITS_H

#include "engine/roles.h"
#include "query/expression.h"

typedef enum rs_edit_kind {
    RS_EDIT_SCALE,
    RS_EDIT_NO_STRAGGLERS,
    RS_EDIT_BALANCED,
    RS_EDIT_NETWORK,
    RS_EDIT_OVERLAP,
    RS_EDIT_GRAPHS,
    RS_EDIT_NO_LOADER,
    RS_EDIT_NO_SYNC,
    RS_EDIT_FUSE,
    RS_EDIT_COALESCE,
    RS_EDIT_GROUP_SIZE,
    RS_EDIT_PAYLOAD,
    RS_EDIT_SHARD,
    RS_EDIT_EXPERTS,
    RS_EDIT_MICRO_BATCHES,
    RS_N_EDITS
} rs_edit_kind;

/* What may be said of an answer: the assumption of each kind. */
extern const char *const rs_edit_assumptions[RS_N_EDITS];

/* The fields of a selector, and the words of two of them. */
typedef enum rs_select_field {
    RS_SELECT_NAME,
    RS_SELECT_OPERATOR,
    RS_SELECT_CLASS,
    RS_SELECT_PART,
    RS_SELECT_RANK,
    RS_SELECT_STEP,
    RS_SELECT_STREAM,
    RS_SELECT_COLLECTIVE,
    RS_SELECT_GROUP,
    RS_SELECT_MEMBERS,
    RS_SELECT_BYTES,
    RS_SELECT_US,
    RS_SELECT_BEHIND
} rs_select_field;
enum { RS_CLASS_OF_COMPUTATION, RS_CLASS_OF_COMMUNICATION, RS_CLASS_OF_MEMORY };
enum { RS_PART_OF_HOST, RS_PART_OF_LOADER, RS_PART_OF_LAUNCH, RS_PART_OF_STREAM_GAP };
extern const rs_language rs_select_language;

/* A name in an edit: what contains it, or what is it. */
typedef struct rs_edit_name {
    char *text; /* owned, terminated, but may hold NUL bytes before that; NULL: none is given */
    size_t n;
    bool whole;
} rs_edit_name;

#define RS_EDIT_LONGEST 1e15 /* ns */

typedef enum rs_scaling { RS_SCALE_BY, RS_SCALE_TO, RS_SCALE_MEDIAN } rs_scaling;

/* Which end of what is not known an edit takes, for an end of an interval. */
typedef enum rs_edit_end {
    RS_END_NONE,
    RS_END_OTHER, /* of network and coalesce: more of a transfer grows with its size; of group-size and payload: less; of
                     micro-batches: smaller work costs its fixed part again */
    RS_END_LONG, /* of shard and experts: work takes as long as may be */
    RS_END_SHORT /* ... as short; of coalesce: as little of a transfer grows as may be */
} rs_edit_end;

/* Which collectives of an axis an edit means: ranks that share experts are often those of a data parallel group. */
typedef enum rs_axis_of {
    RS_AXIS_ALL,
    RS_AXIS_EXCHANGES, /* @SIZExSTRIDE/all_to_all: these alone */
    RS_AXIS_OTHERS,    /* @SIZExSTRIDE/others: all but these */
    RS_N_AXIS_OF
} rs_axis_of;

typedef struct rs_edit {
    rs_edit_kind kind;
    rs_expr *selector; /* of scale; owned */
    rs_scaling scaling;
    double factor;                  /* of scale and network */
    int64_t ns;                     /* what is scaled takes so long */
    rs_edit_name name, other;       /* GROUP, NAME, A; B */
    int64_t number;                 /* rank, bytes, members; -1: not given */
    int64_t axis_size, axis_stride; /* GROUP as @SIZExSTRIDE; 0: by name */
    uint8_t axis_of;                /* rs_axis_of */
    uint8_t end;                    /* rs_edit_end */
} rs_edit;

typedef struct rs_what_if {
    rs_edit *edits;
    size_t n, capacity;
    bool failed; /* memory ran out while it was made */
} rs_what_if;

/* RS_ERR_USAGE says which edit is wrong and why. Release with rs_what_if_clear, also after a failure. */
rs_status rs_what_if_parse(const char *text, rs_what_if *out, rs_error *err);
/* The first question of a list, whose questions are joined by commas; scale: each is one of `scale` alone,
 * "name~gemm=0.5". *at is then at the next one, or at the end; *n: the length of the text of this one, at *at before. */
rs_status rs_what_if_parse_next(const char **at, bool scale, rs_what_if *out, size_t *n, rs_error *err);
void rs_what_if_clear(rs_what_if *question);
/* The text that parses to this very question. */
void rs_what_if_print(const rs_what_if *question, rs_text *out);
/* What --scale takes of an edit that scales. */
void rs_edit_print_scale(const rs_edit *edit, rs_text *out);

/* By hand: adds an edit. What runs out of memory says so in rs_what_if_check, once for all. */
rs_edit *rs_what_if_add(rs_what_if *question, rs_edit_kind kind); /* NULL when out of memory */
/* Adds one that scales; the caller selects what. NULL when out of memory, which rs_selector_... take. */
rs_expr *rs_what_if_scale_by(rs_what_if *question, double factor);
rs_expr *rs_what_if_scale_to(rs_what_if *question, int64_t ns);
/* Adds one about the groups of an axis: group-size, payload, shard, experts. NULL when out of memory. */
rs_edit *rs_what_if_add_axis(rs_what_if *question, rs_edit_kind kind, int64_t size, int64_t stride);
/* Adds one with a name: no-sync, overlap, fuse, coalesce, group-size, payload, shard, experts. */
rs_edit *rs_what_if_add_name(rs_what_if *question, rs_edit_kind kind, const char *text, size_t n, bool whole);
bool rs_edit_set_name(rs_edit_name *name, const char *text, size_t n, bool whole); /* false: out of memory */
/* One more term that must hold. */
void rs_selector_word(rs_expr *selector, rs_select_field field, size_t word);
void rs_selector_text(rs_expr *selector, rs_select_field field, rs_where_op op, const char *text, size_t n);
void rs_selector_number(rs_expr *selector, rs_select_field field, rs_where_op op, int64_t number);
/* Ranks, ascending. */
void rs_selector_numbers(rs_expr *selector, rs_select_field field, const int64_t *numbers, size_t n);
rs_status rs_what_if_check(const rs_what_if *question, rs_error *err);
/* Several questions as one; *out borrows their edits and is released with rs_free(out->edits). */
rs_status rs_what_if_together(const rs_what_if *const *several, size_t n, rs_what_if *out, rs_error *err);

/* Whether every edit scales what is of certain steps (step=12). */
bool rs_what_if_is_of_steps(const rs_what_if *question);

/* Changes weights. rank_of: the ranks' own numbers, by index. *n_changed: how many weights it changed; 0 means
 * that nothing was selected. weights: of RS_EDGES_ALL or RS_EDGES_TOLD, recorded or constant. */
rs_status rs_what_if_apply(const rs_what_if *question, const rs_engine *engine, const rs_roles *roles,
                           const int64_t *rank_of, rs_weights *weights, size_t *n_changed, rs_error *err);

/* ---- what the parts share ------------------------------------------------------------------------------ */

typedef struct rs_editor {
    const rs_engine *e;
    const rs_roles *roles;
    const int64_t *rank_of;
    rs_weights *w;
    size_t n_changed;
    uint32_t *behind; /* by node: name of the call that waited before it; NULL: no edit asks */
    /* Names of a rank are few and looked at often: what was found is kept, for the terms of one edit. */
    uint8_t
        *seen; /* by term, then by name of the rank: 0 not looked at, 1 the term does not hold, 2 it does */
    size_t seen_rank, seen_room;
    const rs_edit *seen_edit; /* NULL: none */
    bool all_required;        /* all terms must hold: nothing but `and` joins them */
    uint8_t
        *of_label; /* within seen, by label of the rank: 0 not looked at, or 1 and an rs_truth of its nodes */
} rs_editor;

/* Which of the node's times the selector is about. */
typedef enum rs_edit_target {
    RS_TARGET_WORK,
    RS_TARGET_COMM,
    RS_TARGET_HOST,
    RS_TARGET_LATENCY
} rs_edit_target;

/* edits_graph.c */
/* Fills x->behind; the caller frees it. */
rs_status rs_edit_find_behind(rs_editor *x, rs_error *err);
/* By node: its place in the order of the replay. NULL when out of memory. */
uint32_t *rs_edit_places(const rs_engine *engine);
/* Whether the edit is about the communication's group: by its name, or by what its description says. */
bool rs_edit_names_group(const rs_edit *edit, const rs_pool *pool, const rs_coll_shape *op);
/* edits_overlap.c */
rs_status rs_edit_overlap(const rs_edit *edit, rs_editor *x, rs_error *err);
rs_status rs_edit_graphs(rs_editor *x, rs_error *err);
/* Whether an edge into work, of so many ns, is a launch or a gap that a graph saves. What is in a graph already saves nothing, and what
 * begins a millisecond after its launch waited for something else. */
bool rs_edit_graph_takes(const rs_skeleton *skeleton, uint32_t edge, int64_t ns);
rs_status rs_edit_no_sync(const rs_edit *edit, rs_editor *x, rs_error *err);
rs_status rs_edit_fuse(const rs_edit *edit, rs_editor *x, rs_error *err);
rs_status rs_edit_coalesce(const rs_edit *edit, rs_editor *x, rs_error *err);
/* edits_groups.c */
rs_status rs_edit_group_size(const rs_edit *edit, rs_editor *x, rs_error *err);
rs_status rs_edit_payload(const rs_edit *edit, rs_editor *x, rs_error *err);
rs_status rs_edit_shard(const rs_edit *edit, rs_editor *x, rs_error *err);
/* edits_experts.c */
rs_status rs_edit_experts(const rs_edit *edit, rs_editor *x, rs_error *err);
/* edits_pipeline.c */
rs_status rs_edit_micro_batches(const rs_edit *edit, rs_editor *x, rs_error *err);
/* What counts as the fixed part where fewer than three sizes of one kind and group size do not show it. */
typedef enum rs_latency_of {
    RS_LATENCY_USUAL, /* as MOST, without what the bytes take on links of middle speed */
    RS_LATENCY_MOST,  /* of one size the median of all transfers, else the least of them */
    RS_LATENCY_LEAST, /* the least of all transfers */
    RS_LATENCY_BOUND  /* what the slowest links leave: the other end of an interval */
} rs_latency_of;

/* Fixed part of transfers by kind and group size: by meeting, ns. NULL when out of memory. */
int64_t *rs_edit_latencies(const rs_engine *e, rs_latency_of of);
/* Whether ranks of several hosts meet; where hosts are not recorded, whether they are more than a host usually has GPUs. */
bool rs_edit_is_between_hosts(const rs_engine *e, const rs_coll_instance *c);
/* How long a transfer of so many bytes takes on the slowest links between GPUs, without latency; INT64_MAX: not known. */
int64_t rs_edit_most_transfer(rs_coll_kind kind, uint32_t n, int64_t bytes, bool between_hosts);
int64_t rs_meeting_bytes(const rs_engine *e, const rs_meeting *m);

#endif
