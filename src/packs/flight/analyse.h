/* From matched operations to a verdict. Internal to src/packs/flight. */
#pragma once

#include "base/interval.h"
#include "flight/match.h"
#include "flight/p2p.h"
#include "flight/presence.h"

/* A finding while it is made. Everything it points to is in the flight's arena. */
typedef struct rs_fl_found {
    rs_flight_finding finding;
    uint32_t group;                       /* RS_FL_NONE: of no one group */
    uint32_t rank, entry;                 /* the entry that says when and what; rank RS_FL_NONE: none */
    uint32_t partner_rank, partner_entry; /* of a mismatch: an entry it is compared with */
    int64_t when;                         /* earliest sign of it, clock offsets removed; INT64_MAX unknown */
    rs_flight_root_kind kind;
    int stage;   /* mismatches before absence before states; lower is nearer to the root */
    size_t more; /* further ones of its kind in the group */
    const char *about;
    bool contradiction;
    bool obscure; /* a circle that holds only if ranks of which nothing is known play their part */
    const rs_flight_cause *cause; /* NULL unknown */
    size_t first_row;             /* among the report's roots */
} rs_fl_found;

typedef struct rs_fl_analysis {
    rs_flight *flight;
    rs_fl_found *found;
    size_t n_found, found_capacity;
    uint32_t *open; /* by rank: the entry it waits in, RS_FL_NONE when nothing is open */
    rs_flight_waiting *waiting;
    size_t n_waiting, waiting_capacity;
    rs_flight_evidence *evidence; /* of the finding being written */
    size_t n_evidence, evidence_capacity;
} rs_fl_analysis;

enum {
    RS_FL_STAGE_FIRST = -1, /* groups that ranks see differently, and that somebody is waited for in */
    RS_FL_STAGE_MISMATCH,
    RS_FL_STAGE_HANG, /* ranks that are silent, stalled or blocked */
    RS_FL_STAGE_CYCLE,
    RS_FL_STAGE_QUIET_ABSENT,
    RS_FL_STAGE_STUCK,
    RS_FL_STAGE_DUMP,
    RS_FL_STAGE_CONFIG,
    RS_FL_STAGE_ALONE,
    RS_FL_STAGE_STRAGGLER
};

/* Whether a finding names the rank as a culprit. */
bool rs_fl_is_accused(const rs_fl_analysis *a, int64_t rank);

/* Appends a finding with its group, op and culprits filled in; evidence and summary come later. */
rs_status rs_fl_add_found(rs_fl_analysis *a, const rs_fl_found *found, const int64_t *culprits,
                          size_t n_culprits, rs_error *err);

/* scan.c: mismatches of collectives and point-to-point operations; clock offsets. */
rs_status rs_fl_find_mismatches(rs_fl_analysis *a, rs_error *err);

/* graph.c: who waits for whom; findings for what nobody's waiting explains. */
rs_status rs_fl_follow_waits(rs_fl_analysis *a, rs_error *err);

/* lateness.c: a rank that is late repeatedly, in a job with no other finding. */
rs_status rs_fl_find_straggler(rs_fl_analysis *a, rs_error *err);

/* words.c: the summary and the evidence of a finding. */
rs_status rs_fl_explain(rs_fl_analysis *a, rs_fl_found *found, bool is_root, rs_error *err);

/* "rank 3", "ranks 1, 2 and 7 more": in the arena, NULL when out of memory. */
const char *rs_fl_ranks_text(rs_flight *flight, const int64_t *ranks, size_t n);
/* "group 8 (mesh_dp)". */
const char *rs_fl_group_text(rs_flight *flight, uint32_t group);
/* The frame of the user's own code: "forward at /app/train/model.py:212", NULL when there are no frames. */
const char *rs_fl_where(rs_flight *flight, uint32_t stack);

/* A stamp of a rank on the job's common clock; 0 stays 0. */
static inline int64_t rs_fl_common(const rs_fl_rank *rank, int64_t ns)
{
    return ns ? rs_sub_sat(ns, rank->clock) : 0;
}

/* Over all ranks of a job of equal ranks: the greatest chance that one of them is called late. */
#define RS_FL_CHANCE 1e-3
