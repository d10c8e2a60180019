/* The one judge: what is wrong with a job, by what fixing it gains.
 *
 *     rs_judge(&ranks, &how, &judgement, err);      // joins the engine, looks for candidates, asks what they gain
 *     rs_verdicts_make(&judgement, &verdicts, err); // as values that last
 *     rs_judgement_clear(&judgement);
 *
 * Faults can hide each other: of two equally slow ranks neither gains anything while the other one is as slow. So a finding
 * that gains too little alone is asked about together with the other findings, and counts where it adds to what they gain. */
#ifndef RS_VERDICT_JUDGE_H
#define RS_VERDICT_JUDGE_H

#include "engine/asker.h"
#include "verdict/candidate.h"

#define RS_JUDGE_WITH 7 /* findings that are fixed together with another one */

/* The ranks of a job, ascending. */
typedef struct rs_judge_ranks {
    const rs_skeleton *const *items;
    const int64_t *rank_of;
    const char *const *host; /* NULL: unknown */
    size_t n;
} rs_judge_ranks;

typedef struct rs_judge_how {
    rs_clock_how clocks;
    double least;                 /* percent of a step that a row must gain at least */
    bool findings, opportunities; /* which of them are wanted */
    unsigned jobs;                /* threads; 0: one */
} rs_judge_how;

/* Something to fix. */
typedef struct rs_judged_row {
    const rs_candidate *candidate;
    /* what hides it: fixed alone it gains too little, so it is fixed together with these */
    const rs_candidate *with[RS_JUDGE_WITH];
    size_t n_with;
    rs_foretold answer; /* of all of them */
    double bound;       /* us, of all of them; NaN: unknown */
    double weight; /* us of a step that it is certain to gain; of one with others, what it adds to them */
    double likely; /* the same that it is likely to gain */
    size_t order;  /* in the catalogue */
} rs_judged_row;

typedef struct rs_judgement {
    rs_engine engine;
    rs_replayed replayed;
    rs_weights alone; /* as recorded, but for work: as it is while no communication runs */
    rs_reference reference;
    rs_candidates candidates;
    rs_asker *asker;
    const char *reason; /* why nothing can be said; NULL */
    double before;      /* a step, us */
    size_t n_steps;     /* that all ranks have; 0: the recording is asked about */
    double enough; /* percent that a row must gain: `least`, or the replay's own error where that is more */
    rs_judged_row *rows; /* by what they gain, certain and likely; sensitivities last */
    size_t n;
    rs_unexamined *missed;
    size_t n_missed, missed_capacity;
    bool findings, opportunities;  /* which were looked for */
    const rs_candidate *uncertain; /* the first finding whose gain is not certain; NULL: there is none */
    struct rs_lateness *late;
    size_t n_late;
} rs_judgement;

/* The skeletons must live as long. Release with rs_judgement_clear, also after a failure. */
rs_status rs_judge(const rs_judge_ranks *ranks, const rs_judge_how *how, rs_judgement *out, rs_error *err);
void rs_judgement_clear(rs_judgement *judgement);

/* What fixing all of them gains, unless *refused says why not. */
rs_status rs_judge_ask(rs_judgement *j, const rs_candidate *const *all, size_t n, rs_foretold *out,
                       double *bound, const char **refused, rs_error *err);
/* The question that fixes all of them, as --what-if takes it. */
void rs_judge_print_edits(const rs_candidate *const *all, size_t n, rs_text *out);

/* lateness.c: who comes late to collectives because of those that the rows accuse. Fills late. */
rs_status rs_judge_lateness(rs_judgement *j, const int64_t *rank_of, rs_error *err);

/* words.c */
void rs_words_sentence(const rs_judged_row *row, rs_text *out);
void rs_words_healthy(const rs_judgement *judgement, rs_text *out);
void rs_words_refused(const char *reason, rs_text *out);

#endif
