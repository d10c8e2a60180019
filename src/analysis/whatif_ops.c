/* whatif from a table of operations: the scenarios of the study, replayed side by side. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/gate.h"
#include "analysis/whatif.h"
#include "base/memory.h"
#include "base/try.h"
#include "table/cells.h"
#include "trace/selection.h"

/* Kinds as results have them: the four kinds of send and receive are two, and the first operation of each
 * worker has launch delays of its own. In the order of their names. */
enum { BACKWARD_PIPELINE = 1, FIRST_OP = 3, FORWARD_PIPELINE = 5, N_KINDS = 13 };
static const char *const kind_names[N_KINDS] = {"backward-compute",
                                                "backward-pp-comm",
                                                "embedding-grads-all-reduce",
                                                "first-op",
                                                "forward-compute",
                                                "forward-pp-comm",
                                                "gc",
                                                "grads-reduce-scatter",
                                                "layernorm-grads-all-reduce",
                                                "optimizer",
                                                "optimizer-clip-main-grad",
                                                "params-all-gather",
                                                "separate-grads-all-reduce"};
static const uint8_t kind_of[RS_N_OP_KINDS] = {[RS_OP_BACKWARD_COMPUTE] = 0,
                                               [RS_OP_BACKWARD_RECV] = BACKWARD_PIPELINE,
                                               [RS_OP_BACKWARD_SEND] = BACKWARD_PIPELINE,
                                               [RS_OP_EMBEDDING] = 2,
                                               [RS_OP_FORWARD_COMPUTE] = 4,
                                               [RS_OP_FORWARD_RECV] = FORWARD_PIPELINE,
                                               [RS_OP_FORWARD_SEND] = FORWARD_PIPELINE,
                                               [RS_OP_GC] = 6,
                                               [RS_OP_SCATTER] = 7,
                                               [RS_OP_LAYERNORM] = 8,
                                               [RS_OP_OPTIMIZER] = 9,
                                               [RS_OP_CLIP] = 10,
                                               [RS_OP_GATHER] = 11,
                                               [RS_OP_SEPARATE] = 12};
enum { OTHER_TRANSFER, PIPELINE_TRANSFER, DATA_TRANSFER };

static const struct {
    const char *name;
    unsigned over;
} balances[] = {{"micro-batch", 0},
                {"step", RS_OPS_OVER_STEP},
                {"dp_rank", RS_OPS_OVER_DP},
                {"stage", RS_OPS_OVER_STAGE},
                {"dp_rank,step", RS_OPS_OVER_DP | RS_OPS_OVER_STEP},
                {"stage,step", RS_OPS_OVER_STAGE | RS_OPS_OVER_STEP},
                {"dp_rank,stage,step", RS_OPS_OVER_ALL}};
#define N_BALANCES (sizeof balances / sizeof *balances)

typedef struct answer {
    const rs_run *run;
    const rs_ops *ops;
    const char *file;
    rs_result *result;
    size_t n_workers;
    double *ideal[N_BALANCES], *repaired;        /* by instance */
    uint8_t *kind, *delay_kind, *comm, *op_kind; /* by name */
    bool has_kind[N_KINDS], has_delay_kind[N_KINDS];
    bool *slowest, *last_stage; /* by worker */
    double *worker_slowdown;    /* by worker */
    rs_ops_scenario *scenarios;
    size_t n, capacity;
    rs_ops_length *lengths; /* of all scenarios so far, n_steps each */
    rs_whatif_scale *scales;
    size_t n_scales;
    char *scale_block;
} answer;

static const rs_ops_set everything = RS_OPS_EVERYTHING;

/* ---- lengths -------------------------------------------------------------------------------------------- */

/* A step's length as a dividend, and where the rules tell two, as a divisor. */
static double whole(const answer *a, size_t scenario, size_t step)
{
    return a->lengths[scenario * a->ops->n_steps + step].whole;
}

static double divisor(const answer *a, size_t scenario, size_t step)
{
    const rs_ops_length *l = &a->lengths[scenario * a->ops->n_steps + step];
    return a->ops->rules.two_lengths ? l->update : l->whole;
}

static double bar(const answer *a, size_t scenario, double (*of)(const answer *, size_t, size_t))
{
    double sum = 0;
    for (size_t s = 0; s < a->ops->n_steps; s++) sum += of(a, scenario, s);
    return sum / (double)a->ops->n_steps;
}

static double to_us(const answer *a, double length)
{
    double unit = a->ops->rules.unit;
    return unit >= 1e6 ? length / (unit / 1e6) : length * (1e6 / unit);
}

/* ---- scenarios ------------------------------------------------------------------------------------------ */

/* The scenarios in the order in which they are added; 0 and 1 are the recorded and the ideal times. */
enum { RECORDED, IDEAL, REPAIRED, FIRST_BALANCE, FIRST_KIND = FIRST_BALANCE + N_BALANCES };

static rs_status add(answer *a, rs_ops_scenario scenario, rs_error *err)
{
    return RS_PUSH(a->scenarios, a->n, a->capacity, scenario) ? RS_OK : rs_fail_nomem(err, "scenarios");
}

/* All ideal but the set, which is as it was. */
static rs_status add_blame(answer *a, rs_ops_set set, rs_error *err)
{
    const rs_ops_scenario s = {
        .time = a->ideal[N_BALANCES - 1], .other = a->ops->time, .set = set, .factor = 1};
    return add(a, s, err);
}

/* All as it was but the set, which is ideal. */
static rs_status add_mended(answer *a, rs_ops_set set, rs_error *err)
{
    const rs_ops_scenario s = {
        .time = a->ops->time, .other = a->ideal[N_BALANCES - 1], .set = set, .factor = 1};
    return add(a, s, err);
}

static rs_status add_scaled(answer *a, rs_ops_set set, double factor, rs_error *err)
{
    const rs_ops_scenario s = {.time = a->ops->time, .other = a->ops->time, .set = set, .factor = factor};
    return add(a, s, err);
}

static rs_status add_delays(answer *a, rs_ops_set set, rs_error *err)
{
    const rs_ops_scenario s = {.time = a->ops->time, .delay = a->ops->delay, .delay_set = set};
    return add(a, s, err);
}

static rs_ops_set one_dp(size_t d)
{
    rs_ops_set set = everything;
    set.dp = (int64_t)d;
    return set;
}

static rs_ops_set one_stage(size_t s)
{
    rs_ops_set set = everything;
    set.stage = (int64_t)s;
    return set;
}

static rs_ops_set one_class(const uint8_t *class, size_t of_class)
{
    rs_ops_set set = everything;
    set.class = class;
    set.of_class = (uint8_t)of_class;
    return set;
}

/* What --scale names; a kind is one of the table or of the results. */
static rs_status scale_set(const answer *a, const rs_whatif_scale *scale, rs_ops_set *set, rs_error *err)
{
    const rs_ops *ops = a->ops;
    *set = everything;
    if (scale->number < 0) {
        int kind = rs_op_kind_find(scale->what, scale->n_what);
        if (rs_whatif_scale_is(scale, "pp-comm"))
            *set = one_class(a->comm, PIPELINE_TRANSFER);
        else if (rs_whatif_scale_is(scale, "dp-comm"))
            *set = one_class(a->comm, DATA_TRANSFER);
        else if (rs_whatif_scale_is(scale, kind_names[FORWARD_PIPELINE]))
            *set = one_class(a->kind, FORWARD_PIPELINE);
        else if (rs_whatif_scale_is(scale, kind_names[BACKWARD_PIPELINE]))
            *set = one_class(a->kind, BACKWARD_PIPELINE);
        else if (kind >= 0)
            *set = one_class(a->op_kind, (size_t)kind);
        else
            return rs_whatif_refuse_scale(scale,
                                          "the kinds of table kinds, pp-comm, dp-comm, rank:N, stage:N and "
                                          "step:N (a table of operations names no hosts)",
                                          err);
        return RS_OK;
    }
    for (size_t w = 0; rs_whatif_scale_is(scale, "rank") && w < a->n_workers; w++)
        if (ops->ranks[w] == scale->number) {
            set->dp = (int64_t)(w / ops->n_stages);
            set->stage = (int64_t)(w % ops->n_stages);
            return RS_OK;
        }
    if (rs_whatif_scale_is(scale, "stage") && scale->number < (int64_t)ops->n_stages) {
        set->stage = scale->number;
        return RS_OK;
    }
    for (size_t s = 0; rs_whatif_scale_is(scale, "step") && s < ops->n_steps; s++)
        if (ops->steps[s] == scale->number) {
            set->step = (int64_t)s;
            return RS_OK;
        }
    return rs_whatif_refuse_scale(
        scale, "the ranks of table workers, the stages of stages, the steps of steps", err);
}

static rs_status add_scales(answer *a, rs_error *err)
{
    rs_ops_set set;
    RS_TRY(rs_whatif_scales(a->run->options, &a->scales, &a->n_scales, &a->scale_block, err));
    RS_TRY(add_scaled(a, one_class(a->comm, PIPELINE_TRANSFER), 0, err));
    RS_TRY(add_scaled(a, one_class(a->comm, DATA_TRANSFER), 0, err));
    for (size_t i = 0; i < a->n_scales; i++) {
        RS_TRY(scale_set(a, &a->scales[i], &set, err));
        RS_TRY(add_scaled(a, set, a->scales[i].factor, err));
    }
    return RS_OK;
}

static rs_status add_all(answer *a, rs_error *err)
{
    const rs_ops *ops = a->ops;
    RS_TRY(add(a, (rs_ops_scenario){.time = ops->time}, err));
    RS_TRY(add(a, (rs_ops_scenario){.time = a->ideal[N_BALANCES - 1]}, err));
    RS_TRY(add(a, (rs_ops_scenario){.time = a->repaired}, err));
    for (size_t i = 0; i < N_BALANCES; i++) RS_TRY(add(a, (rs_ops_scenario){.time = a->ideal[i]}, err));
    for (size_t k = 0; k < N_KINDS; k++)
        if (a->has_kind[k]) RS_TRY(add_blame(a, one_class(a->kind, k), err));
    for (size_t d = 0; d < ops->n_dp; d++) RS_TRY(add_blame(a, one_dp(d), err));
    for (size_t s = 0; s < ops->n_stages; s++) RS_TRY(add_blame(a, one_stage(s), err));
    for (size_t w = 0; !ops->rules.least_of_both && w < a->n_workers; w++) {
        rs_ops_set set = one_dp(w / ops->n_stages);
        set.stage = (int64_t)(w % ops->n_stages);
        RS_TRY(add_blame(a, set, err));
    }
    for (size_t k = 0; k < N_KINDS; k++)
        if (a->has_delay_kind[k]) RS_TRY(add_delays(a, one_class(a->delay_kind, k), err));
    for (size_t d = 0; d < ops->n_dp; d++) RS_TRY(add_delays(a, one_dp(d), err));
    for (size_t s = 0; s < ops->n_stages; s++) RS_TRY(add_delays(a, one_stage(s), err));
    return add_scales(a, err);
}

static rs_status replay_from(answer *a, size_t first, rs_error *err)
{
    size_t n_steps = a->ops->n_steps;
    rs_ops_length *lengths = rs_realloc(a->lengths, (a->n * n_steps + 1) * sizeof *lengths);
    if (!lengths) return rs_fail_nomem(err, "replay");
    a->lengths = lengths;
    return rs_ops_replay(a->ops, a->scenarios + first, a->n - first, lengths + first * n_steps, err);
}

/* ---- blame ---------------------------------------------------------------------------------------------- */

static rs_status put_blame(answer *a, size_t scenario, unsigned table, unsigned steps_table, const char *text,
                           int64_t number, rs_error *err)
{
    RS_TRY(rs_whatif_put_slowdown(a->result->tables[table], -1, text, number,
                                  bar(a, scenario, divisor) / bar(a, IDEAL, divisor), err));
    for (size_t s = 0; s < a->ops->n_steps; s++)
        RS_TRY(rs_whatif_put_slowdown(a->result->tables[steps_table], a->ops->steps[s], text, number,
                                      divisor(a, scenario, s) / divisor(a, IDEAL, s), err));
    return RS_OK;
}

/* Fills worker_slowdown; *at moves behind the scenarios of kinds, data ranks, stages and workers. */
static rs_status put_blames(answer *a, size_t *at, rs_error *err)
{
    const rs_ops *ops = a->ops;
    for (size_t k = 0; k < N_KINDS; k++)
        if (a->has_kind[k])
            RS_TRY(put_blame(a, (*at)++, RS_WHATIF_KINDS, RS_WHATIF_KIND_STEPS, kind_names[k], 0, err));
    size_t first_dp = *at, first_stage = first_dp + ops->n_dp;
    for (size_t d = 0; d < ops->n_dp; d++)
        RS_TRY(put_blame(a, (*at)++, RS_WHATIF_DP_RANKS, RS_WHATIF_DP_RANK_STEPS, NULL, ops->dps[d], err));
    for (size_t s = 0; s < ops->n_stages; s++)
        RS_TRY(put_blame(a, (*at)++, RS_WHATIF_STAGES, RS_WHATIF_STAGE_STEPS, NULL, (int64_t)s, err));
    double ideal = bar(a, IDEAL, divisor);
    for (size_t w = 0; w < a->n_workers; w++) {
        if (!ops->rules.least_of_both) {
            a->worker_slowdown[w] = bar(a, (*at)++, divisor) / ideal;
            continue;
        }
        double by_dp = bar(a, first_dp + w / ops->n_stages, divisor) / ideal;
        double by_stage = bar(a, first_stage + w % ops->n_stages, divisor) / ideal;
        a->worker_slowdown[w] = by_dp < by_stage ? by_dp : by_stage;
    }
    return RS_OK;
}

/* ---- workers and parts ---------------------------------------------------------------------------------- */

/* The slowest first, then the lower rank. */
static rs_status choose_slowest(answer *a, size_t n, rs_error *err)
{
    (void)err;
    for (size_t i = 0; i < n; i++) {
        size_t best = SIZE_MAX;
        for (size_t w = 0; w < a->n_workers; w++) {
            if (a->slowest[w]) continue;
            if (best == SIZE_MAX || a->worker_slowdown[w] > a->worker_slowdown[best] ||
                (a->worker_slowdown[w] == a->worker_slowdown[best] && a->ops->ranks[w] < a->ops->ranks[best]))
                best = w;
        }
        if (best != SIZE_MAX) a->slowest[best] = true;
    }
    return RS_OK;
}

/* Workers by global rank. */
static rs_status sort_workers(const answer *a, size_t *order, rs_error *err)
{
    (void)err;
    for (size_t i = 0; i < a->n_workers; i++) {
        size_t k = i;
        for (; k > 0 && a->ops->ranks[order[k - 1]] > a->ops->ranks[i]; k--) order[k] = order[k - 1];
        order[k] = i;
    }
    return RS_OK;
}

static rs_status put_workers(answer *a, const size_t *order, rs_error *err)
{
    for (size_t i = 0; i < a->n_workers; i++) {
        size_t w = order[i];
        const rs_whatif_worker row = {.dp = a->ops->dps[w / a->ops->n_stages],
                                      .stage = (int64_t)(w % a->ops->n_stages),
                                      .slowdown = a->worker_slowdown[w],
                                      .slowest = a->slowest[w],
                                      .role = -1,
                                      .gain = (double)NAN,
                                      .gain_pct = (double)NAN};
        RS_TRY(rs_whatif_put_worker(a->ops->ranks[w], &row, a->result, err));
    }
    return RS_OK;
}

/* "3,7": the ranks of a set. The caller frees it. */
static char *list_ranks(const answer *a, const size_t *order, const bool *in)
{
    char *text = rs_malloc(a->n_workers * 21 + 1);
    size_t used = 0;
    if (!text) return NULL;
    text[0] = '\0';
    for (size_t i = 0; i < a->n_workers; i++)
        if (in[order[i]])
            used += (size_t)snprintf(text + used, 22, "%s%lld", used ? "," : "",
                                     (long long)a->ops->ranks[order[i]]);
    return text;
}

static rs_status put_part(answer *a, const char *name, const size_t *order, const bool *in, size_t at,
                          double *removed, rs_error *err)
{
    double t = bar(a, RECORDED, whole), ideal = bar(a, IDEAL, whole);
    double without = bar(a, at, whole), with = bar(a, at + 1, whole);
    char *ranks = list_ranks(a, order, in);
    if (!ranks) return rs_fail_nomem(err, "ranks");
    *removed = t != ideal ? (t - without) / (t - ideal) : (double)NAN;
    const rs_whatif_part row = {.part = name,
                                .ranks = ranks,
                                .removed = *removed,
                                .added = t != ideal ? (with - ideal) / (t - ideal) : (double)NAN,
                                .t_removed = to_us(a, without),
                                .t_added = to_us(a, with)};
    rs_status status = rs_whatif_put_part(&row, a->result, err);
    rs_free(ranks);
    return status;
}

static rs_status put_parts(answer *a, rs_whatif_row *job, rs_error *err)
{
    size_t at = a->n, n = rs_whatif_n_slowest(a->run->options, a->n_workers);
    rs_ops_set slowest = everything, last = everything;
    RS_LOCAL size_t *order = rs_malloc((a->n_workers + 1) * sizeof *order);
    if (!order) return rs_fail_nomem(err, "workers");
    rs_status status = sort_workers(a, order, err);
    if (status == RS_OK) status = choose_slowest(a, n, err);
    for (size_t w = 0; w < a->n_workers; w++) a->last_stage[w] = w % a->ops->n_stages + 1 == a->ops->n_stages;
    slowest.workers = a->slowest;
    last.workers = a->last_stage;
    if (status == RS_OK) status = add_mended(a, slowest, err);
    if (status == RS_OK) status = add_blame(a, slowest, err);
    if (status == RS_OK) status = add_mended(a, last, err);
    if (status == RS_OK) status = add_blame(a, last, err);
    if (status == RS_OK) status = replay_from(a, at, err);
    if (status == RS_OK) status = put_workers(a, order, err);
    if (status == RS_OK) status = put_part(a, "slowest-workers", order, a->slowest, at, &job->m_w, err);
    if (status == RS_OK) status = put_part(a, "last-stage", order, a->last_stage, at + 2, &job->m_s, err);
    return status;
}

/* ---- delays, balances, scales --------------------------------------------------------------------------- */

static rs_status put_delay(answer *a, const char *by, const char *text, int64_t number, size_t at,
                           rs_error *err)
{
    char key[24];
    snprintf(key, sizeof key, "%lld", (long long)number);
    return rs_whatif_put_delay(by, text ? text : key, bar(a, at, divisor) / bar(a, RECORDED, divisor),
                               a->result, err);
}

static rs_status put_delays(answer *a, size_t *at, rs_error *err)
{
    for (size_t k = 0; k < N_KINDS; k++)
        if (a->has_delay_kind[k]) RS_TRY(put_delay(a, "kind", kind_names[k], 0, (*at)++, err));
    for (size_t d = 0; d < a->ops->n_dp; d++)
        RS_TRY(put_delay(a, "dp_rank", NULL, a->ops->dps[d], (*at)++, err));
    for (size_t s = 0; s < a->ops->n_stages; s++)
        RS_TRY(put_delay(a, "stage", NULL, (int64_t)s, (*at)++, err));
    return RS_OK;
}

static rs_status put_balances(answer *a, rs_error *err)
{
    double t = bar(a, RECORDED, whole);
    for (size_t i = 0; i < N_BALANCES; i++)
        RS_TRY(rs_whatif_put_balance(balances[i].name, to_us(a, bar(a, FIRST_BALANCE + i, whole)),
                                     t / bar(a, FIRST_BALANCE + i, divisor), a->result, err));
    return RS_OK;
}

static rs_status put_scales(answer *a, size_t at, rs_error *err)
{
    double t = bar(a, RECORDED, whole);
    RS_TRY(rs_whatif_put_scale("pp-comm=0", t / bar(a, at, divisor), a->result, err));
    RS_TRY(rs_whatif_put_scale("dp-comm=0", t / bar(a, at + 1, divisor), a->result, err));
    for (size_t i = 0; i < a->n_scales; i++)
        RS_TRY(rs_whatif_put_scale(a->scales[i].text, t / bar(a, at + 2 + i, divisor), a->result, err));
    return RS_OK;
}

/* ---- the job and its steps ------------------------------------------------------------------------------ */

static double actual_of(const rs_ops *ops, size_t step)
{
    double first = INFINITY, last = -INFINITY;
    for (size_t i = 0; i < ops->n_dp * ops->n_names; i++) {
        size_t at = step * ops->n_dp * ops->n_names + i;
        double end = ops->start[at] + ops->duration[at];
        if (ops->rules.single) end = (double)(float)end;
        if (ops->start[at] < first) first = ops->start[at];
        if (end > last) last = end;
    }
    return last - first;
}

static double rounded(const rs_ops *ops, double value)
{
    return ops->rules.single ? (double)(float)value : value;
}

static rs_status put_job(answer *a, rs_whatif_row *job, rs_error *err)
{
    const rs_ops *ops = a->ops;
    double actual = 0;
    for (size_t s = 0; s < ops->n_steps; s++) {
        double one = actual_of(ops, s);
        actual += one;
        const rs_whatif_step row = {.step = ops->steps[s],
                                    .actual = to_us(a, one),
                                    .replayed = to_us(a, whole(a, RECORDED, s)),
                                    .ideal = to_us(a, whole(a, IDEAL, s)),
                                    .slowdown = whole(a, RECORDED, s) / divisor(a, IDEAL, s),
                                    .delay_slowdown = rounded(ops, one) / divisor(a, RECORDED, s)};
        RS_TRY(rs_whatif_put_step(&row, a->result, err));
    }
    actual /= (double)ops->n_steps;
    double t = bar(a, RECORDED, whole);
    job->ranks = (int64_t)a->n_workers;
    job->dp_ranks = (int64_t)ops->n_dp;
    job->stages = (int64_t)ops->n_stages;
    job->steps = (int64_t)ops->n_steps;
    job->operations = (int64_t)ops->n_instances;
    job->actual = to_us(a, actual);
    job->replayed = to_us(a, t);
    job->ideal = to_us(a, bar(a, IDEAL, whole));
    job->slowdown = t / bar(a, IDEAL, divisor);
    job->delay_slowdown = rounded(ops, actual) / bar(a, RECORDED, divisor);
    job->repaired = to_us(a, bar(a, REPAIRED, whole));
    job->repair_slowdown = t / bar(a, REPAIRED, whole);
    RS_TRY(rs_whatif_correlate(a->ops, job, err));
    return rs_whatif_put(job, a->result, err);
}

static void tell(const answer *a)
{
    const rs_ops *ops = a->ops;
    rs_problems *problems = &a->result->problems;
    char detail[96];
    bool layernorm = false;
    for (size_t v = 0; v < ops->n_names; v++) layernorm |= ops->names[v].kind == RS_OP_LAYERNORM;
    if (layernorm && !ops->rules.one_order)
        rs_problems_add(
            problems, a->file, -1, RS_NOTE, "layernorm_waits",
            "layernorm-grads-all-reduce holds its wait for tensor-parallel peers, which the table "
            "does not have",
            RS_NO_OFFSET);
    snprintf(detail, sizeof detail, "%zu of %zu steps of a data rank", ops->n_other_orders,
             ops->n_steps * ops->n_dp);
    if (ops->n_other_orders)
        rs_problems_add_many(problems, a->file, -1, RS_NOTE, "other_order",
                             "operations are in another order than in the first step: they were replayed "
                             "in their own",
                             RS_NO_OFFSET, ops->n_other_orders, detail);
}

/* ---- the ideal trace ------------------------------------------------------------------------------------ */

static rs_status put_ideal_row(answer *a, size_t step, size_t dp, size_t name, double end, rs_error *err)
{
    const rs_ops *ops = a->ops;
    const rs_ops_name *v = &ops->names[name];
    rs_table *t = a->result->tables[RS_WHATIF_IDEAL];
    double took = a->ideal[N_BALANCES - 1][rs_ops_at(ops, step, dp, name)];
    RS_PUT_CELLS(t, ops->steps[step], ops->dps[dp], v->stage,
                 ops->ranks[dp * ops->n_stages + (size_t)v->stage], rs_op_kind_names[v->kind], v->seq);
    size_t at = rs_ops_at(ops, step, dp, name);
    return RS_PUT_ROW(t, err, ops->mb[at] >= 0 ? ops->mb[at] : RS_NO_VALUE,
                      ops->mc[at] >= 0 ? ops->mc[at] : RS_NO_VALUE, to_us(a, end - took), to_us(a, took));
}

static rs_status put_ideal(answer *a, rs_error *err)
{
    const rs_ops *ops = a->ops;
    if (!rs_options_text(a->run->options, "ideal-trace")) return RS_OK;
    RS_LOCAL double *end = rs_malloc((ops->n_instances + 1) * sizeof *end);
    if (!end) return rs_fail_nomem(err, "the ideal trace");
    rs_status status = rs_ops_replay_times(ops, &a->scenarios[IDEAL], NULL, end, err);
    for (size_t s = 0; s < ops->n_steps; s++)
        for (size_t d = 0; d < ops->n_dp; d++)
            for (size_t v = 0; status == RS_OK && v < ops->n_names; v++)
                status = put_ideal_row(a, s, d, v, end[rs_ops_at(ops, s, d, v)], err);
    return status;
}

/* ---- all of it ------------------------------------------------------------------------------------------ */

static void classify(answer *a)
{
    const rs_ops *ops = a->ops;
    for (size_t v = 0; v < ops->n_names; v++) {
        const rs_ops_name *name = &ops->names[v];
        bool first =
            name->seq == 0 && name->kind == (name->stage ? RS_OP_FORWARD_RECV : RS_OP_FORWARD_COMPUTE);
        a->op_kind[v] = name->kind;
        a->kind[v] = kind_of[name->kind];
        a->delay_kind[v] = first ? FIRST_OP : a->kind[v];
        a->comm[v] =
            rs_op_is_pipeline(name->kind) ? PIPELINE_TRANSFER
            : name->kind == RS_OP_GATHER || name->kind == RS_OP_SCATTER || name->kind == RS_OP_SEPARATE
                ? DATA_TRANSFER
                : OTHER_TRANSFER;
        a->has_kind[a->kind[v]] = true;
        a->has_delay_kind[a->delay_kind[v]] = true;
    }
}

static rs_status prepare(answer *a, rs_error *err)
{
    const rs_ops *ops = a->ops;
    bool room = true;
    a->n_workers = ops->n_dp * ops->n_stages;
    a->kind = rs_malloc(ops->n_names + 1);
    a->delay_kind = rs_malloc(ops->n_names + 1);
    a->comm = rs_malloc(ops->n_names + 1);
    a->op_kind = rs_malloc(ops->n_names + 1);
    a->slowest = rs_calloc(a->n_workers + 1, sizeof *a->slowest);
    a->last_stage = rs_calloc(a->n_workers + 1, sizeof *a->last_stage);
    a->worker_slowdown = rs_calloc(a->n_workers + 1, sizeof *a->worker_slowdown);
    a->repaired = rs_malloc((ops->n_instances + 1) * sizeof *a->repaired);
    for (size_t i = 0; i < N_BALANCES; i++) {
        a->ideal[i] = rs_malloc((ops->n_instances + 1) * sizeof *a->ideal[i]);
        room = room && a->ideal[i];
    }
    if (!room || !a->kind || !a->delay_kind || !a->comm || !a->op_kind || !a->slowest || !a->last_stage ||
        !a->worker_slowdown || !a->repaired)
        return rs_fail_nomem(err, "what-if");
    classify(a);
    for (size_t i = 0; i < N_BALANCES; i++) RS_TRY(rs_ops_idealise(ops, balances[i].over, a->ideal[i], err));
    return rs_ops_repair(ops, a->repaired, err);
}

static rs_status fill(answer *a, rs_error *err)
{
    rs_whatif_row job = {
        .replay_error = (double)NAN, .transplant_error = (double)NAN, .unexplained = (double)NAN};
    size_t at = FIRST_KIND;
    RS_TRY(prepare(a, err));
    RS_TRY(add_all(a, err));
    RS_TRY(replay_from(a, 0, err));
    RS_TRY(put_blames(a, &at, err));
    RS_TRY(put_delays(a, &at, err));
    RS_TRY(put_balances(a, err));
    RS_TRY(put_scales(a, at, err));
    RS_TRY(put_parts(a, &job, err));
    RS_TRY(put_job(a, &job, err));
    RS_TRY(put_ideal(a, err));
    tell(a);
    return rs_gate_apply(a->run->options, a->result->tables[RS_WHATIF], a->result, err);
}

static rs_status whatif_answer_ops(const rs_run *run, const rs_ops *ops, const char *file, rs_result *result,
                                   rs_error *err)
{
    answer a = {.run = run, .ops = ops, .file = file, .result = result};
    rs_status status = fill(&a, err);
    for (size_t i = 0; i < N_BALANCES; i++) rs_free(a.ideal[i]);
    void *const blocks[] = {a.repaired,  a.kind,    a.delay_kind, a.comm,
                            a.op_kind,   a.slowest, a.last_stage, a.worker_slowdown,
                            a.scenarios, a.lengths, a.scales,     a.scale_block};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) rs_free(blocks[i]);
    return status;
}

rs_status rs_whatif_file(const rs_run *run, rs_source *source, const rs_ops_rules *rules, rs_result *result,
                         rs_error *err)
{
    rs_op_table table;
    rs_ops ops;
    const char *file = rs_source_name(source);
    bool by_step = run->selection && run->selection->by_step;
    rs_status status = rs_op_table_read(source, &table, &result->problems, err);
    if (status == RS_OK) {
        status = rs_ops_make(&table, file, by_step ? &run->selection->steps : NULL, rules, &ops,
                             &result->problems, err);
        if (status == RS_OK) status = whatif_answer_ops(run, &ops, file, result, err);
        rs_ops_clear(&ops);
    }
    rs_op_table_clear(&table);
    return status;
}
