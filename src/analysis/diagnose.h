/* What the files of `diagnose` share. */
#ifndef RS_ANALYSIS_DIAGNOSE_H
#define RS_ANALYSIS_DIAGNOSE_H

#include "analysis/replay.h"
#include "analysis/skeletons.h"
#include "engine/reference.h"

#define RS_DIAGNOSE_LEAST 0.5 /* percent of a step that a row gains at least, unless told otherwise */
#define RS_DIAGNOSE_WITH 7    /* findings that are mended together with another one */

/* A finding says that something is off, against peers or against the rest of the job. A lever says that
 * nothing is off and what would help nevertheless. */
typedef enum rs_candidate_kind { RS_CANDIDATE_FINDING, RS_CANDIDATE_LEVER } rs_candidate_kind;

/* A row of the catalogue that fits the job: what could be mended, and the question that mends it. */
typedef struct rs_candidate {
    const struct rs_diagnose_rule *rule;
    rs_candidate_kind kind;
    bool sensitivity;    /* says how much it matters, not that it can be had */
    int64_t rank;        /* the rank's own number; -1: the job */
    double excess;       /* us of a step that are off; of findings, which may hide each other */
    const char *subject; /* of findings: "rank 5's computation", for sentences about others */
    const char *claim;   /* a sentence without its end and its numbers of the step */
    rs_what_if edits;    /* what fixes it; owned by the list */
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
    rs_arena arena; /* texts of the candidates */
} rs_candidates;

/* A row of the closed catalogue. */
typedef struct rs_diagnose_rule {
    const char *id;
    const char *remedy;
    /* Adds what fits. *lacks: what the job lacks for the rule, NULL: nothing. */
    rs_status (*find)(const rs_diagnosed *job, const struct rs_diagnose_rule *rule, rs_candidates *out,
                      const char **lacks, rs_error *err);
} rs_diagnose_rule;

/* Ended by a row without id. */
extern const rs_diagnose_rule rs_diagnose_rules[];

/* ---- the answer: diagnose_judge.c ---------------------------------------------------------------------- */

typedef struct rs_diagnose_how {
    rs_clock_how clocks;
    double least;     /* percent of a step that a row must gain at least */
    const char *only; /* all, findings, levers */
    bool first;       /* the first row is enough */
    unsigned jobs;    /* threads; 0: one */
} rs_diagnose_how;

/* Something to mend. */
typedef struct rs_diagnosed_row {
    const rs_candidate *candidate;
    /* what hides it: mended alone it gains too little, so it is mended together with these */
    const rs_candidate *with[RS_DIAGNOSE_WITH];
    size_t n_with;
    rs_foretold answer; /* of all of them */
    double bound;       /* us, of all of them; NaN: unknown */
    double weight; /* us of a step that it is certain to gain; of one with others, what it adds to them */
    size_t order;  /* in the catalogue */
} rs_diagnosed_row;

/* Something of which nothing is said. */
typedef struct rs_unsaid {
    const char *id, *what, *reason; /* what: the candidate's claim; NULL: all of that id */
} rs_unsaid;

typedef struct rs_diagnosis {
    rs_engine engine;
    rs_replayed replayed;
    rs_reference reference;
    rs_candidates candidates;
    rs_asker *asker;
    const char *reason; /* why nothing can be said; NULL */
    double before;      /* a step, us */
    double enough; /* percent that a row must gain: `least`, or the replay's own error where that is more */
    rs_diagnosed_row *rows; /* findings first, each kind by weight */
    size_t n;
    rs_unsaid *unsaid;
    size_t n_unsaid, unsaid_capacity;
} rs_diagnosis;

/* The skeletons must live as long. Release with rs_diagnosis_clear, also after a failure. */
rs_status rs_diagnose(const rs_skeletons *ranks, const rs_diagnose_how *how, rs_diagnosis *out,
                      rs_error *err);
void rs_diagnosis_clear(rs_diagnosis *diagnosis);

/* The question that fixes several candidates, as people are shown it. */
void rs_diagnose_print(const rs_candidate *const *all, size_t n, rs_text *out);
/* What fixing all of them gains, unless *refused says why not. */
rs_status rs_diagnose_ask(rs_diagnosis *d, const rs_candidate *const *all, size_t n, rs_foretold *out,
                          double *bound, const char **refused, rs_error *err);
/* "...: step 44.9 → 35.5 ms (35.4–35.6)." Where the host runs ahead, how long it is in a step stands behind that. */
void rs_diagnose_sentence(const rs_diagnosed_row *row, rs_text *out);

#endif
