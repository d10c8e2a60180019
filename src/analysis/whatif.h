/* whatif: the tables of the OSDI'25 straggler study, from tables of operations or from traces. */
#ifndef RS_ANALYSIS_WHATIF_H
#define RS_ANALYSIS_WHATIF_H

#include "analysis/analysis.h"
#include "engine/ops.h"
#include "engine/skeleton.h"
#include "match/passes.h"
#include "memory/purpose.h"

/* The tables, in the order of a result. */
enum {
    RS_WHATIF,
    RS_WHATIF_STEPS,
    RS_WHATIF_KINDS,
    RS_WHATIF_DP_RANKS,
    RS_WHATIF_STAGES,
    RS_WHATIF_WORKERS,
    RS_WHATIF_PARTS,
    RS_WHATIF_KIND_STEPS,
    RS_WHATIF_DP_RANK_STEPS,
    RS_WHATIF_STAGE_STEPS,
    RS_WHATIF_DELAYS,
    RS_WHATIF_BALANCES,
    RS_WHATIF_SCALES,
    RS_WHATIF_UNITS,
    RS_WHATIF_LAYOUT,
    RS_WHATIF_IDEAL, /* the last: --ideal-trace writes it */
    RS_N_WHATIF_TABLES
};
extern const rs_table_spec *const rs_whatif_tables[RS_N_WHATIF_TABLES];

/* The one row of `whatif`. Times in us; NaN and RS_NO_VALUE are unknown. */
typedef struct rs_whatif_row {
    int64_t ranks, dp_ranks, stages, steps, operations;
    double actual, replayed, ideal, slowdown, delay_slowdown, m_w, m_s, repaired, repair_slowdown;
    double fb_correlation, fb_variation;
    double replay_error, transplant_error, unexplained;
} rs_whatif_row;

typedef struct rs_whatif_step {
    int64_t step;
    double actual, replayed, ideal, slowdown, delay_slowdown;
} rs_whatif_step;

typedef struct rs_whatif_worker {
    int64_t dp, stage; /* -1: unknown */
    double slowdown;
    bool slowest;
    const char *host;
    int64_t role; /* -1: unknown */
    double gain, gain_pct;
} rs_whatif_worker;

typedef struct rs_whatif_part {
    const char *part, *ranks;
    double removed, added, t_removed, t_added;
} rs_whatif_part;

rs_status rs_whatif_put(const rs_whatif_row *row, rs_result *result, rs_error *err);
rs_status rs_whatif_put_step(const rs_whatif_step *row, rs_result *result, rs_error *err);
rs_status rs_whatif_put_worker(int64_t rank, const rs_whatif_worker *row, rs_result *result, rs_error *err);
rs_status rs_whatif_put_part(const rs_whatif_part *row, rs_result *result, rs_error *err);
/* kinds, dp_ranks, stages: one cell that names and the slowdown; their _steps tables have the step first. */
rs_status rs_whatif_put_slowdown(rs_table *table, int64_t step, const char *text, int64_t number,
                                 double slowdown, rs_error *err);
rs_status rs_whatif_put_delay(const char *by, const char *key, double slowdown, rs_result *result,
                              rs_error *err);
rs_status rs_whatif_put_balance(const char *balance, double ideal, double slowdown, rs_result *result,
                                rs_error *err);
rs_status rs_whatif_put_scale(const char *scale, double speedup, rs_result *result, rs_error *err);

rs_status rs_whatif_put_unit(const char *kind, const char *unit, double slowdown, double gain,
                             double gain_pct, rs_result *result, rs_error *err);

/* One --scale WHAT=FACTOR. */
typedef struct rs_whatif_scale {
    const char *text; /* as given, terminated */
    const char *what; /* not terminated */
    size_t n_what;
    int64_t number; /* behind rank:, stage:, ...; -1: none */
    double factor;
} rs_whatif_scale;

/* The scales that the options ask for; *block owns the texts. RS_ERR_USAGE for what is no WHAT=FACTOR. */
rs_status rs_whatif_scales(const rs_options *options, rs_whatif_scale **scales, size_t *n, char **block,
                           rs_error *err);
/* Whether `what` is this word, or this word, a colon and the number. */
bool rs_whatif_scale_is(const rs_whatif_scale *scale, const char *word);
rs_status rs_whatif_refuse_scale(const rs_whatif_scale *scale, const char *known, rs_error *err);

/* How many of n are the slowest by --slowest, at least one. */
size_t rs_whatif_n_slowest(const rs_options *options, size_t n);

/* The longest of n, `most` or all: which, and how many. Of equal ones the first. */
rs_status rs_whatif_choose_longest(const double *lengths, size_t n, size_t most, bool *chosen,
                                   size_t *n_chosen, rs_error *err);

/* Answers from a table of operations, under a peer's rules or ours. */
rs_status rs_whatif_file(const rs_run *run, rs_source *source, const rs_ops_rules *rules, rs_result *result,
                         rs_error *err);

/* Sets fb_correlation and fb_variation: medians over workers of the correlation (Pearson) of what a micro-batch takes
 * forward and backward, and of the forward durations' coefficient of variation. NaN: fewer than two pairs. */
rs_status rs_whatif_correlate(const rs_ops *ops, rs_whatif_row *job, rs_error *err);

#define RS_WHATIF_MAPPED 4000000 /* events of a job: --map leaves larger ones out */

/* Answers from the traces of all ranks: the values of partials are skeletons. */
rs_status rs_whatif_merge(const rs_run *run, rs_partial *partials, size_t n, rs_result *result,
                          rs_error *err);

/* --layout: the job in another layout, from the traces of all ranks. */
extern const rs_table_spec rs_layout_table;

/* What a rank's allocator held, bytes by purpose (memory/purpose.h) where its fullest device was fullest. */
typedef struct rs_layout_held {
    int64_t bytes[RS_N_PURPOSES];
} rs_layout_held;

/* What a rank contributes; of --memory `held` alone, without --layout the skeleton alone. */
typedef struct rs_whatif_rank {
    rs_skeleton *skeleton;
    rs_passes *passes;
    rs_layout_held *held;
} rs_whatif_rank;

extern const rs_layout rs_layout_held_layout;
rs_status rs_layout_rank(const rs_run *run, rs_trace *trace, rs_whatif_rank *out, rs_error *err);
rs_status rs_layout_merge(const rs_run *run, const rs_partial *partials, size_t n, rs_result *result,
                          rs_error *err);

#endif
