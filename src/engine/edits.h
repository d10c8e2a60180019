/* What-if: a change of the weights that stands for a change of the job.
 *
 *     rs_what_if_parse("network*2; no-loader", &question, err);    // edits joined by ; act together
 *     rs_weights_copy(&engine, &recorded, &weights, err);
 *     rs_what_if_apply(&question, &engine, &roles, numbers, &weights, err);
 *     rs_engine_replay(&engine, &weights, &times, err);
 *
 *     scale SELECTOR=VALUE    work, host time or transfers; VALUE: 0.5, 12us, none, median
 *     no-stragglers[:RANK]    work lasts as long as the median rank's at the same place
 *     balanced                ... as the mean over ranks and steps
 *     network*F               the part of a transfer that grows with its size is F times as fast
 *     overlap[:GROUP]         computation waits for communication only where the optimizer begins
 *     graphs                  what is launched between two synchronizations is one graph launch
 *     no-loader               data is there when it is asked for
 *     no-sync NAME            calls of that name, and those that wait for copies of that name, do not wait
 *     fuse A+B                A and B behind it on a stream are one kernel
 *     coalesce GROUP:BYTES    neighbouring collectives of a group are one, of up to so many bytes
 *
 * SELECTOR: terms joined by &, each FIELD OP TEXT with OP one of = != ~ !~ and for numbers < <= > >=. Fields:
 * name, operator, class (computation, communication, memory), part (host, loader, launch, stream_gap), rank
 * (several: 0-3|8), step, stream, group, collective, bytes, us (how long it takes itself), behind (host time
 * between the return of a waiting call of that name and the next launch of its thread). Without class=communication a selector means computation and copies;
 * part=host or loader means the time of host threads, launch and stream_gap the latencies.
 *
 * Nothing else changes: order, control flow, contention. Experimental. */
#ifndef RS_ENGINE_EDITS_H
#define RS_ENGINE_EDITS_H

#include "engine/roles.h"

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
    RS_N_EDITS
} rs_edit_kind;

/* What may be said of an answer: the assumption behind each kind. */
extern const char *const rs_edit_assumptions[RS_N_EDITS];

typedef struct rs_edit_term rs_edit_term;

typedef struct rs_edit {
    rs_edit_kind kind;
    rs_edit_term *terms; /* of a selector */
    size_t n_terms;
    char *text, *other; /* RANK, GROUP, NAME, A; B */
    double factor;      /* of scale: NaN where ns or median counts */
    int64_t ns;         /* RS_NO_VALUE: not */
    bool median;
    bool all_grows; /* of network: as if nothing of a transfer were fixed, for the upper end of an interval */
    int64_t number; /* rank, bytes; -1: not given */
} rs_edit;

typedef struct rs_what_if {
    rs_edit *edits;
    size_t n, capacity;
} rs_what_if;

/* RS_ERR_USAGE says which edit is wrong and why. Release with rs_what_if_clear, also after a failure. */
rs_status rs_what_if_parse(const char *text, rs_what_if *out, rs_error *err);
/* One of `scale` alone: "name~gemm=0.5". */
rs_status rs_what_if_scale(const char *text, rs_what_if *out, rs_error *err);
void rs_what_if_clear(rs_what_if *question);
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
    /* Names of a rank are few and looked at again and again: what was found is kept, for the terms of one edit. */
    uint8_t
        *seen; /* by term, then by name of the rank: 0 not looked at, 1 the term does not hold, 2 it does */
    size_t seen_rank, seen_room;
    const rs_edit *seen_edit; /* NULL: none */
} rs_editor;

/* Whether all terms hold of a piece of work or a point; comm: its communication, or NULL. */
bool rs_edit_selects(const rs_edit *edit, rs_editor *x, size_t rank, uint32_t local, const rs_coll_op *comm);
/* Whether its terms hold of a time, ns. */
bool rs_edit_selects_time(const rs_edit *edit, int64_t ns);
/* Which of the node's times the selector is about. */
typedef enum rs_edit_target {
    RS_TARGET_WORK,
    RS_TARGET_COMM,
    RS_TARGET_HOST,
    RS_TARGET_LATENCY
} rs_edit_target;
rs_edit_target rs_edit_target_of(const rs_edit *edit, rs_part *part);

/* By name of a rank: it contains the text. NULL when out of memory. */
uint8_t *rs_edit_names_with(const rs_skeleton *skeleton, const char *text);

/* edits_graph.c */
/* Fills x->behind; the caller frees it. */
rs_status rs_edit_find_behind(rs_editor *x, rs_error *err);
rs_status rs_edit_overlap(const rs_edit *edit, rs_editor *x, rs_error *err);
rs_status rs_edit_graphs(rs_editor *x, rs_error *err);
rs_status rs_edit_no_sync(const rs_edit *edit, rs_editor *x, rs_error *err);
rs_status rs_edit_fuse(const rs_edit *edit, rs_editor *x, rs_error *err);
rs_status rs_edit_coalesce(const rs_edit *edit, rs_editor *x, rs_error *err);
/* Fixed part of transfers by kind and group size: by meeting, ns. NULL when out of memory. */
int64_t *rs_edit_latencies(const rs_engine *e);
int64_t rs_meeting_bytes(const rs_engine *e, const rs_meeting *m);

#endif
