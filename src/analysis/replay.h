/* What the files of `replay` share. */
#ifndef RS_ANALYSIS_REPLAY_H
#define RS_ANALYSIS_REPLAY_H

#include "analysis/analysis.h"
#include "engine/engine.h"

/* A replay is not relied on where more than so much of the time has no known cause, or where a replay with
 * constants is off by more. Percent. */
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

/* Joins, replays and judges. Release with rs_replayed_clear, also after a failure. */
rs_status rs_replay_judge(rs_engine *engine, rs_edges_used edges, rs_replayed *out, rs_error *err);
void rs_replayed_clear(rs_replayed *replayed);

/* What-ifs: replay_what_if.c. */
extern const rs_table_spec rs_what_if_table;
/* Asks every question of the options --what-if, --scale and --no-loader; fills the table. */
rs_status rs_replay_ask(const rs_run *run, const rs_replayed *replayed, const int64_t *rank_of,
                        rs_table *table, rs_error *err);
/* Refuses a question that cannot be understood, before anything is read. */
rs_status rs_replay_check(const rs_options *options, rs_error *err);

#endif
