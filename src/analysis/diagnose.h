/* What the files of `diagnose` share. */
#ifndef RS_ANALYSIS_DIAGNOSE_H
#define RS_ANALYSIS_DIAGNOSE_H

#include "analysis/replay.h"
#include "engine/reference.h"

#define RS_DIAGNOSE_CLAIM 224
#define RS_DIAGNOSE_EDIT 320

/* A finding says that something is off, against peers or against the rest of the job. A lever says that
 * nothing is off and what would help nevertheless. */
typedef enum rs_candidate_kind { RS_CANDIDATE_FINDING, RS_CANDIDATE_LEVER } rs_candidate_kind;

/* A row of the catalogue that fits the job: what could be mended, and the question that mends it. */
typedef struct rs_candidate {
    const struct rs_diagnose_rule *rule;
    rs_candidate_kind kind;
    bool sensitivity;                /* says how much it matters, not that it can be had */
    int64_t rank;                    /* the rank's own number; -1: the job */
    char claim[RS_DIAGNOSE_CLAIM];   /* a sentence without its end and its numbers of the step */
    char edit[RS_DIAGNOSE_EDIT];     /* as replay --what-if takes it */
    char selector[RS_DIAGNOSE_EDIT]; /* as replay --scale takes it; empty: the edit scales nothing */
} rs_candidate;

/* What rules look at. */
typedef struct rs_diagnosed {
    const rs_engine *engine;
    const rs_weights *recorded;
    const rs_reference *reference;
    const int64_t *rank_of;
} rs_diagnosed;

typedef struct rs_candidates {
    rs_candidate *items;
    size_t n, capacity;
} rs_candidates;

/* A row of the closed catalogue. */
typedef struct rs_diagnose_rule {
    const char *id;
    const char *remedy;
    const char *unbuilt; /* why it is never examined; NULL: it is */
    /* Adds what fits. *lacks: what the job lacks for the rule, NULL: nothing. */
    rs_status (*find)(const rs_diagnosed *job, const struct rs_diagnose_rule *rule, rs_candidates *out,
                      const char **lacks, rs_error *err);
} rs_diagnose_rule;

/* Ended by a row without id. */
extern const rs_diagnose_rule rs_diagnose_rules[];

#endif
