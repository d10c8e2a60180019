/* The tables of whatif and their rows. */
#include <math.h>
#include <string.h>

#include "analysis/whatif.h"
#include "base/memory.h"
#include "base/ranges.h"
#include "base/stats.h"
#include "text/numbers.h"
#include "table/cells.h"

#define WHATIF_ROW(CELL)                                                                                     \
    CELL(OF(rs_whatif_row, ranks), "ranks", INT, COUNT, "workers, or ranks of the traces", NULL)             \
    CELL(ID(rs_whatif_row, dp_ranks), "dp_ranks", INT, COUNT, "data-parallel ranks", NULL)                   \
    CELL(ID(rs_whatif_row, stages), "stages", INT, COUNT, "pipeline stages", NULL)                           \
    CELL(OF(rs_whatif_row, steps), "steps", INT, COUNT, "steps that count", NULL)                            \
    CELL(OF(rs_whatif_row, operations), "operations", INT, COUNT, "operations replayed", NULL)               \
    CELL(OF(rs_whatif_row, actual), "actual_us", REAL, US,                                                   \
         "mean length of a step as recorded; of traces from the last end of all ranks to the next",          \
         "actual")                                                                                           \
    CELL(OF(rs_whatif_row, replayed), "replayed_us", REAL, US,                                               \
         "T: mean length of a step replayed; of a table of operations without launch delays", "replayed")    \
    CELL(OF(rs_whatif_row, ideal), "ideal_us", REAL, US,                                                     \
         "T_ideal: the same if all operations of a kind took their mean (computation) or median "            \
         "(communication)",                                                                                  \
         "ideal")                                                                                            \
    CELL(OF(rs_whatif_row, slowdown), "slowdown", REAL, NONE, "S = T / T_ideal", NULL)                       \
    CELL(OF(rs_whatif_row, delay_slowdown), "delay_slowdown", REAL, NONE,                                    \
         "actual / replayed: what launch delays cost (data loading, host)", "delay slowdown")                \
    CELL(OF(rs_whatif_row, m_w), "m_w", REAL, NONE,                                                          \
         "share of T - T_ideal that is gone when the slowest workers alone are fixed", "M_W")                \
    CELL(OF(rs_whatif_row, m_s), "m_s", REAL, NONE, "... when the last stage alone is", "M_S")               \
    CELL(OF(rs_whatif_row, repaired), "repaired_us", REAL, US,                                               \
         "T if every operation took the median of its kind and stage", "repaired")                           \
    CELL(OF(rs_whatif_row, repair_slowdown), "repair_slowdown", REAL, NONE,                                  \
         "S_repair = T / repaired: what fixing stragglers would give", "S repair")                           \
    CELL(OF(rs_whatif_row, fb_correlation), "fb_correlation", REAL, NONE,                                    \
         "correlation of forward with backward durations of a micro batch; median over workers",             \
         "fb correlation")                                                                                   \
    CELL(OF(rs_whatif_row, fb_variation), "fb_variation", REAL, NONE,                                        \
         "standard deviation / mean of forward durations; median over workers", "fb variation")              \
    CELL(OF(rs_whatif_row, replay_error), "replay_error_pct", REAL, PERCENT,                                 \
         "traces: error of the replay with recorded weights", "replay error %")                              \
    CELL(OF(rs_whatif_row, transplant_error), "transplant_error_pct", REAL, PERCENT,                         \
         "traces: error of a step that is replayed with the next step's weights", "transplant error %")      \
    CELL(OF(rs_whatif_row, unexplained), "unexplained_pct", REAL, PERCENT,                                   \
         "traces: share of T on the critical path that nothing recorded explains", "unexplained %")
RS_RECORD(whatif, WHATIF_ROW);

#define STEP_ROW(CELL)                                                                                       \
    CELL(OF(rs_whatif_step, step), "step", INT, ID, "number of the step", NULL)                              \
    CELL(OF(rs_whatif_step, actual), "actual_us", REAL, US, "length as recorded", "actual")                  \
    CELL(OF(rs_whatif_step, replayed), "replayed_us", REAL, US, "length replayed", "replayed")               \
    CELL(OF(rs_whatif_step, ideal), "ideal_us", REAL, US, "length with ideal times", "ideal")                \
    CELL(OF(rs_whatif_step, slowdown), "slowdown", REAL, NONE, "replayed / ideal", NULL)                     \
    CELL(OF(rs_whatif_step, delay_slowdown), "delay_slowdown", REAL, NONE, "actual / replayed",              \
         "delay slowdown")
RS_RECORD(step, STEP_ROW);

#define WORKER_ROW(CELL)                                                                                     \
    CELL(RANK, "rank", INT, ID, "global rank", NULL)                                                         \
    CELL(ID(rs_whatif_worker, dp), "dp_rank", INT, ID, "data-parallel rank", "dp rank")                      \
    CELL(ID(rs_whatif_worker, stage), "stage", INT, ID, "pipeline stage", NULL)                              \
    CELL(OF(rs_whatif_worker, slowdown), "slowdown", REAL, NONE,                                             \
         "S_w: length of a step when it alone is as it was, / when none is", NULL)                           \
    CELL(OF(rs_whatif_worker, slowest), "slowest", INT, NONE, "1: one of the slowest (--slowest)", NULL)     \
    CELL(MAYBE(rs_whatif_worker, host), "host", TEXT, NONE, "traces: machine, where known", NULL)            \
    CELL(ID(rs_whatif_worker, role), "role", INT, ID, "traces: ranks that run the same work share it", NULL) \
    CELL(OF(rs_whatif_worker, gain), "gain_us", REAL, US, "traces: what fixing it alone would save", "gain") \
    CELL(OF(rs_whatif_worker, gain_pct), "gain_pct", REAL, PERCENT, "traces: gain_us of replayed_us",        \
         "gain %")
RS_RECORD(worker, WORKER_ROW);

#define PART_ROW(CELL)                                                                                       \
    CELL(OF(rs_whatif_part, part), "part", TEXT, NONE, "slowest-workers or last-stage", NULL)                \
    CELL(OF(rs_whatif_part, ranks), "ranks", TEXT, NONE, "their ranks", NULL)                                \
    CELL(OF(rs_whatif_part, removed), "removed", REAL, NONE,                                                 \
         "share of T - T_ideal that fixing them alone takes away", NULL)                                     \
    CELL(OF(rs_whatif_part, added), "added", REAL, NONE,                                                     \
         "share of T - T_ideal that comes back when they alone are as they were", NULL)                      \
    CELL(OF(rs_whatif_part, t_removed), "t_removed_us", REAL, US, "length of a step when they are fixed",    \
         "without")                                                                                          \
    CELL(OF(rs_whatif_part, t_added), "t_added_us", REAL, US, "length of a step when only they are not",     \
         "with")
RS_RECORD(part, PART_ROW);

#define SLOWDOWN                                                                                             \
    {                                                                                                        \
        "slowdown", RS_REAL, RS_UNIT_NONE, "length of a step with it as it was, all else ideal, / ideal",    \
            NULL                                                                                             \
    }
#define STEP                                                                                                 \
    {                                                                                                        \
        "step", RS_INT, RS_UNIT_ID, "number of the step", NULL                                               \
    }
#define KIND                                                                                                 \
    {                                                                                                        \
        "kind", RS_TEXT, RS_UNIT_NONE, "kind of operation", NULL                                             \
    }
#define DP_RANK                                                                                              \
    {                                                                                                        \
        "dp_rank", RS_INT, RS_UNIT_ID, "data-parallel rank", "dp rank"                                       \
    }
#define STAGE                                                                                                \
    {                                                                                                        \
        "stage", RS_INT, RS_UNIT_ID, "pipeline stage", NULL                                                  \
    }
static const rs_column_spec kind_columns[] = {KIND, SLOWDOWN};
static const rs_column_spec dp_columns[] = {DP_RANK, SLOWDOWN};
static const rs_column_spec stage_columns[] = {STAGE, SLOWDOWN};
static const rs_column_spec kind_step_columns[] = {STEP, KIND, SLOWDOWN};
static const rs_column_spec dp_step_columns[] = {STEP, DP_RANK, SLOWDOWN};
static const rs_column_spec stage_step_columns[] = {STEP, STAGE, SLOWDOWN};
static const rs_column_spec delay_columns[] = {
    {"by", RS_TEXT, RS_UNIT_NONE, "kind, dp_rank or stage", NULL},
    {"key", RS_TEXT, RS_UNIT_NONE, "which one; first-op: the first operation of each worker", NULL},
    {"slowdown", RS_REAL, RS_UNIT_NONE, "length of a step with its launch delays alone, / without any", NULL},
};
static const rs_column_spec balance_columns[] = {
    {"balance", RS_TEXT, RS_UNIT_NONE, "what is averaged over, in addition to micro batches", NULL},
    {"ideal_us", RS_REAL, RS_UNIT_US, "length of a step so", "ideal"},
    {"slowdown", RS_REAL, RS_UNIT_NONE, "T / ideal_us", NULL},
};
static const rs_column_spec scale_columns[] = {
    {"scale", RS_TEXT, RS_UNIT_NONE, "what takes how many times as long", NULL},
    {"speedup", RS_REAL, RS_UNIT_NONE, "T / length of a step then", NULL},
};
static const rs_column_spec unit_columns[] = {
    {"unit", RS_TEXT, RS_UNIT_NONE,
     "host, role, link, step, or rank:step (of the rank that is to blame most)", NULL},
    {"name", RS_TEXT, RS_UNIT_NONE, "which one; of a link the ranks that meet", NULL},
    {"slowdown", RS_REAL, RS_UNIT_NONE, "length of a step with it as it was, all else fixed, / all fixed",
     NULL},
    {"gain_us", RS_REAL, RS_UNIT_US, "what fixing it alone would save of a step", "gain"},
    {"gain_pct", RS_REAL, RS_UNIT_PERCENT, "gain_us of replayed_us", "gain %"},
};
static const rs_column_spec ideal_columns[] = {
    {"step", RS_INT, RS_UNIT_ID, "number of the step", NULL},
    {"dp_rank", RS_INT, RS_UNIT_ID, "data-parallel rank", "dp rank"},
    {"stage", RS_INT, RS_UNIT_ID, "pipeline stage", NULL},
    {"rank", RS_INT, RS_UNIT_ID, "global rank", NULL},
    {"kind", RS_TEXT, RS_UNIT_NONE, "kind of operation", NULL},
    {"seq", RS_INT, RS_UNIT_ID, "number among those of its kind, worker and step", NULL},
    {"micro_batch", RS_INT, RS_UNIT_ID, "micro batch, of computation", "micro batch"},
    {"model_chunk", RS_INT, RS_UNIT_ID, "chunk of the stage, of computation, gathers and scatters", "chunk"},
    {"start_us", RS_REAL, RS_UNIT_US, "start within the step; of communication when the last one came",
     "start"},
    {"duration_us", RS_REAL, RS_UNIT_US, "computation, or transfer", "duration"},
};

static const rs_table_spec whatif_table = RS_TABLE("whatif", "one row: the job", whatif_columns);
static const rs_table_spec steps_table = RS_TABLE("steps", "one row is one step", step_columns);
static const rs_table_spec kinds_table = RS_TABLE("kinds", "one row is one kind of operation", kind_columns);
static const rs_table_spec dps_table = RS_TABLE("dp_ranks", "one row is one data-parallel rank", dp_columns);
static const rs_table_spec stages_table = RS_TABLE("stages", "one row is one pipeline stage", stage_columns);
static const rs_table_spec workers_table = RS_TABLE("workers", "one row is one worker", worker_columns);
static const rs_table_spec parts_table =
    RS_TABLE("parts", "one row is a set of workers that is fixed together", part_columns);
static const rs_table_spec kind_steps_table =
    RS_TABLE("kind_steps", "one row is one kind in one step", kind_step_columns);
static const rs_table_spec dp_steps_table =
    RS_TABLE("dp_rank_steps", "one row is one data-parallel rank in one step", dp_step_columns);
static const rs_table_spec stage_steps_table =
    RS_TABLE("stage_steps", "one row is one stage in one step", stage_step_columns);
static const rs_table_spec delays_table =
    RS_TABLE("delays", "one row is a group of operations whose launch delays count", delay_columns);
static const rs_table_spec balances_table =
    RS_TABLE("balances", "one row is a choice of what is averaged over", balance_columns);
static const rs_table_spec scales_table = RS_TABLE("scales", "one row is one change of times", scale_columns);
static const rs_table_spec units_table =
    RS_TABLE("units", "traces: one row is something that can be slow, other than ranks", unit_columns);
static const rs_table_spec ideal_table =
    RS_TABLE("ideal", "one row is one operation of the ideal replay; only with --ideal-trace", ideal_columns);

const rs_table_spec *const rs_whatif_tables[RS_N_WHATIF_TABLES] = {
    &whatif_table, &steps_table,      &kinds_table,     &dps_table,         &stages_table, &workers_table,
    &parts_table,  &kind_steps_table, &dp_steps_table,  &stage_steps_table, &delays_table, &balances_table,
    &scales_table, &units_table,      &rs_layout_table, &ideal_table};

/* ---- rows ----------------------------------------------------------------------------------------------- */

rs_status rs_whatif_put(const rs_whatif_row *row, rs_result *result, rs_error *err)
{
    return rs_table_put_row(result->tables[RS_WHATIF], &whatif_record, 0, row, err);
}

rs_status rs_whatif_put_step(const rs_whatif_step *row, rs_result *result, rs_error *err)
{
    return rs_table_put_row(result->tables[RS_WHATIF_STEPS], &step_record, 0, row, err);
}

rs_status rs_whatif_put_worker(int64_t rank, const rs_whatif_worker *row, rs_result *result, rs_error *err)
{
    return rs_table_put_row(result->tables[RS_WHATIF_WORKERS], &worker_record, rank, row, err);
}

rs_status rs_whatif_put_part(const rs_whatif_part *row, rs_result *result, rs_error *err)
{
    return rs_table_put_row(result->tables[RS_WHATIF_PARTS], &part_record, 0, row, err);
}

rs_status rs_whatif_put_slowdown(rs_table *table, int64_t step, const char *text, int64_t number,
                                 double slowdown, rs_error *err)
{
    if (step >= 0) rs_table_add_int(table, step);
    if (text)
        rs_table_add_text(table, text);
    else
        rs_table_add_int(table, number);
    rs_table_add_real(table, slowdown);
    return rs_table_end_row(table, err);
}

rs_status rs_whatif_put_delay(const char *by, const char *key, double slowdown, rs_result *result,
                              rs_error *err)
{
    rs_table *t = result->tables[RS_WHATIF_DELAYS];
    return RS_PUT_ROW(t, err, by, key, slowdown);
}

rs_status rs_whatif_put_balance(const char *balance, double ideal, double slowdown, rs_result *result,
                                rs_error *err)
{
    rs_table *t = result->tables[RS_WHATIF_BALANCES];
    return RS_PUT_ROW(t, err, balance, ideal, slowdown);
}

rs_status rs_whatif_put_scale(const char *scale, double speedup, rs_result *result, rs_error *err)
{
    rs_table *t = result->tables[RS_WHATIF_SCALES];
    return RS_PUT_ROW(t, err, scale, speedup);
}

rs_status rs_whatif_put_unit(const char *kind, const char *unit, double slowdown, double gain,
                             double gain_pct, rs_result *result, rs_error *err)
{
    rs_table *t = result->tables[RS_WHATIF_UNITS];
    return RS_PUT_ROW(t, err, kind, unit, slowdown, gain, gain_pct);
}

/* ---- options -------------------------------------------------------------------------------------------- */

static rs_status bad_scale(const char *text, rs_error *err)
{
    return rs_fail(err, RS_ERR_USAGE,
                   "--scale takes WHAT=FACTOR (rank:3=0.5, pp-comm=0), the factor from 0 on, not \"%.80s\"",
                   text);
}

/* Takes one WHAT=FACTOR, terminated, apart. */
static bool parse_scale(const char *text, rs_whatif_scale *out)
{
    const char *sign = strrchr(text, '='), *end;
    if (!sign || sign == text || !rs_parse_real(sign + 1, strlen(sign + 1), &out->factor)) return false;
    if (!(out->factor >= 0 && out->factor <= 1e9)) return false;
    *out = (rs_whatif_scale){text, text, (size_t)(sign - text), -1, out->factor};
    const char *colon = memchr(text, ':', out->n_what);
    if (!colon) return true;
    if (!rs_parse_whole(colon + 1, &out->number, &end) || end != sign) {
        out->number = -1; /* a name: host:node-3 */
        return colon + 1 < sign;
    }
    out->n_what = (size_t)(colon - text);
    return true;
}

rs_status rs_whatif_scales(const rs_options *options, rs_whatif_scale **scales, size_t *n, char **block,
                           rs_error *err)
{
    const char *given = rs_options_text(options, "scale");
    size_t capacity = 0;
    *scales = NULL;
    *block = NULL;
    *n = 0;
    if (!given) return RS_OK;
    *block = rs_strdup(given);
    if (!*block) return rs_fail_nomem(err, "--scale");
    for (char *at = *block, *next; at; at = next) {
        char *comma = strchr(at, ',');
        next = comma ? comma + 1 : NULL;
        if (comma) *comma = '\0';
        if (!RS_GROW_ONE(*scales, *n, capacity)) return rs_fail_nomem(err, "--scale");
        if (!parse_scale(at, &(*scales)[*n])) return bad_scale(at, err);
        ++*n;
    }
    return RS_OK;
}

bool rs_whatif_scale_is(const rs_whatif_scale *scale, const char *word)
{
    return strlen(word) == scale->n_what && memcmp(scale->what, word, scale->n_what) == 0;
}

rs_status rs_whatif_refuse_scale(const rs_whatif_scale *scale, const char *known, rs_error *err)
{
    return rs_fail(err, RS_ERR_USAGE, "--scale %.80s: there is no such thing here; there are %s", scale->text,
                   known);
}

size_t rs_whatif_n_slowest(const rs_options *options, size_t n)
{
    double count = ceil(rs_options_real(options, "slowest") / 100 * (double)n);
    if (!(count > 1)) return 1;
    return count < (double)n ? (size_t)count : n;
}

rs_status rs_whatif_choose_longest(const double *lengths, size_t n, size_t most, bool *chosen,
                                   size_t *n_chosen, rs_error *err)
{
    double least = -INFINITY;
    size_t equal = n; /* how many of the least length are still to be taken */
    *n_chosen = 0;
    if (most < n) {
        double *sorted = rs_malloc((n + 1) * sizeof *sorted);
        if (!sorted) return rs_fail_nomem(err, "what-if");
        memcpy(sorted, lengths, n * sizeof *sorted);
        rs_sort_doubles(sorted, n);
        least = most ? sorted[n - most] : INFINITY;
        equal = most;
        for (size_t i = 0; i < n; i++) equal -= lengths[i] > least;
        rs_free(sorted);
    }
    for (size_t i = 0; i < n; i++) {
        bool tied = lengths[i] == least && equal;
        chosen[i] = lengths[i] > least || tied;
        equal -= tied;
        *n_chosen += chosen[i];
    }
    return RS_OK;
}
