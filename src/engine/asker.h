/* What-ifs answered with their uncertainty: a replay with its own errors, and questions put to it. */
#ifndef RS_ENGINE_ASKER_H
#define RS_ENGINE_ASKER_H

#include "engine/edits.h"

/* A replay is not relied on where more than so much of the time has no known cause, or where a replay with
 * constants errs by more. Percent. */
#define RS_REPLAY_UNEXPLAINED 5.0
#define RS_REPLAY_ERROR 3.0

/* A step of a rank, or with step -1 all of them (or the whole trace where there are no steps). */
typedef struct rs_replay_row {
    int64_t step;                                  /* its number; RS_NO_VALUE: the whole rank */
    int64_t recorded;                              /* ns */
    double model_error, held_out_error, gpu_error; /* percent; NaN: unknown */
    int64_t unexplained;                           /* ns on its path */
    double unexplained_pct;
    int64_t inferred, contradicted, pinned; /* contradicted: RS_NO_VALUE but in rows of whole ranks */
    bool trusted;
    const char *reason; /* why not; NULL */
} rs_replay_row;

/* What was found of the whole job. */
typedef struct rs_replayed {
    rs_engine *engine;
    rs_weights recorded;
    rs_times times;
    rs_replay_row *rows; /* of each rank the whole, then its steps */
    size_t n_rows;
    uint32_t *row_base; /* by rank */
} rs_replayed;

/* Replays and measures its errors; held_out: by the other steps, too, which takes eight replays more. Release with
 * rs_replayed_clear, also after a failure. */
rs_status rs_replay_measure(rs_engine *engine, rs_edges_used edges, bool held_out, rs_replayed *out,
                            rs_error *err);
void rs_replayed_clear(rs_replayed *replayed);

/* What-ifs: asker.c. An asker puts questions to one replay: `replay` those of its user, the judge those of its catalogue.
 *
 *     rs_asker_open(&replayed, &how, &asker, err);     // what it is given must live as long
 *     rs_asker_bound(asker, items, n, err);            // no gain is greater: one look at the path each
 *     rs_asker_try(asker, &question, &us, err);        // a step then: one replay
 *     rs_asker_ask(asker, items, n, err);              // seven replays each at most, on several threads */
typedef struct rs_asker rs_asker;

/* Of a step on average; us. */
typedef struct rs_foretold {
    int64_t steps; /* it is the mean of; 0: the whole trace */
    double before, after, gain;
    double low, high;  /* of the gain */
    double pct, bound; /* bound NaN: unknown */
    double busy;       /* what the busiest stream works of a step then, which bounds the gain */
    bool sampled;      /* the interval holds the spread over steps: 95 % of it */
    double annotated;  /* mean length of the steps' annotations on the host; NaN: there are none */
    const char *then_bound_by, *assumption;
    const char *reason; /* why it is not trusted; NULL */
} rs_foretold;

typedef struct rs_ask_how {
    const int64_t *rank_of;
    unsigned jobs; /* threads; 0: one */
    bool of_ranks; /* answers are wanted for each rank, too */
    bool force;    /* answers where the replay cannot be relied on */
} rs_ask_how;

/* A question, and what comes of it. */
typedef struct rs_asked {
    const rs_what_if *question;
    rs_foretold *answers; /* room for rs_asker_n_answers: of the job, and with of_ranks then of each rank */
    const char *refused;  /* why there is no answer; NULL */
    size_t n_changed;     /* 0: nothing is what it names */
    double bound; /* us a step, of rs_asker_bound: NaN where it removes a wait that the path runs along */
    /* Who wants no answer that gains no more than `least`, or of whose gain no more than `certain` is certain, us a step, says so: it is
     * not asked on as soon as that is known. Of a question that was stopped gain is right, low too high and high too low. */
    bool may_stop, stopped;
    double least, certain;
} rs_asked;

rs_status rs_asker_open(const rs_replayed *replayed, const rs_ask_how *how, rs_asker **out, rs_error *err);
void rs_asker_close(rs_asker *asker);
/* Why no answer can be relied on; NULL: they can. */
const char *rs_asker_reason(const rs_asker *asker);
size_t rs_asker_n_answers(const rs_asker *asker);
size_t rs_asker_n_steps(const rs_asker *asker); /* that all ranks have */
double rs_asker_before(const rs_asker *asker);  /* a step as recorded, us */
/* How computation is slowed down by communication: contention.h. */
const struct rs_contention *rs_asker_contention(const rs_asker *asker);
/* Fills bound and n_changed. */
rs_status rs_asker_bound(rs_asker *asker, rs_asked *items, size_t n, rs_error *err);
/* A step when the question holds, us, without an interval and whether it can be relied on or not. */
rs_status rs_asker_try(rs_asker *asker, const rs_what_if *question, double *us, rs_error *err);
/* The replay of the question, as rs_asker_ask has it: *times is the asker's, until it is asked again. */
rs_status rs_asker_replay(rs_asker *asker, const rs_what_if *question, const rs_times **times, rs_error *err);
/* Fills answers, refused and n_changed. */
rs_status rs_asker_ask(rs_asker *asker, rs_asked *items, size_t n, rs_error *err);

#endif
