/* Ideal times: means and medians of instances of a kind. */
#include <string.h>

#include "base/memory.h"
#include "base/stats.h"
#include "engine/ops.h"

/* Instances fall into groups by kind and some of their places. */
typedef struct grouping {
    const rs_ops *ops;
    bool by_dp, by_stage, by_step;
    size_t n_dp, n_stages, n_steps, n;
    size_t *first; /* n + 1 offsets into value */
    double *value;
} grouping;

static size_t group_of(const grouping *g, size_t step, size_t dp, size_t name)
{
    const rs_ops_name *v = &g->ops->names[name];
    size_t at = v->kind;
    at = at * g->n_dp + (g->by_dp ? dp : 0);
    at = at * g->n_stages + (g->by_stage ? (size_t)v->stage : 0);
    return at * g->n_steps + (g->by_step ? step : 0);
}

/* Void and unused transfers say nothing of what a transfer takes. */
static bool counts(const rs_ops *ops, size_t step, size_t dp, size_t name)
{
    return ops->rules.pool_unused || rs_ops_order_of(ops, step, dp)->use[name] == RS_OPS_REAL;
}

static void clear(grouping *g)
{
    rs_free_all(g->first, g->value);
}

#define EACH_INSTANCE(ops, s, d, v)                                                                          \
    for (size_t s = 0; s < (ops)->n_steps; s++)                                                              \
        for (size_t d = 0; d < (ops)->n_dp; d++)                                                             \
            for (size_t v = 0; v < (ops)->n_names; v++)

static rs_status group(grouping *g, rs_error *err)
{
    const rs_ops *ops = g->ops;
    g->n_dp = g->by_dp ? ops->n_dp : 1;
    g->n_stages = g->by_stage ? ops->n_stages : 1;
    g->n_steps = g->by_step ? ops->n_steps : 1;
    g->n = RS_N_OP_KINDS * g->n_dp * g->n_stages * g->n_steps;
    g->first = rs_calloc(g->n + 2, sizeof *g->first);
    g->value = rs_malloc((ops->n_instances + 1) * sizeof *g->value);
    if (!g->first || !g->value) return rs_fail_nomem(err, "ideal times");
    EACH_INSTANCE(ops, s, d, v)
    if (counts(ops, s, d, v)) g->first[group_of(g, s, d, v) + 2]++;
    for (size_t i = 0; i <= g->n; i++) g->first[i + 1] += g->first[i];
    EACH_INSTANCE(ops, s, d, v)
    if (counts(ops, s, d, v))
        g->value[g->first[group_of(g, s, d, v) + 1]++] = ops->time[rs_ops_at(ops, s, d, v)];
    return RS_OK;
}

static double median(const rs_ops *ops, double *values, size_t n)
{
    rs_sort_doubles(values, n);
    double low = values[(n - 1) / 2], high = values[n / 2];
    if (ops->rules.single) return (double)(((float)low + (float)high) / 2);
    return low + (high - low) / 2;
}

/* Replaces the first value of each group by its ideal; groups without values stay. */
static void reduce(grouping *g, bool medians)
{
    size_t each = g->n / RS_N_OP_KINDS;
    for (size_t i = 0; i < g->n; i++) {
        double *values = g->value + g->first[i];
        size_t n = g->first[i + 1] - g->first[i];
        if (n)
            values[0] = medians || rs_op_is_communication((unsigned)(i / each)) ? median(g->ops, values, n)
                                                                                : rs_mean(values, n);
    }
}

static rs_status fill(grouping *g, bool medians, double *out, rs_error *err)
{
    const rs_ops *ops = g->ops;
    rs_status status = group(g, err);
    if (status == RS_OK) {
        reduce(g, medians);
        EACH_INSTANCE(ops, s, d, v)
        {
            size_t at = rs_ops_at(ops, s, d, v);
            out[at] = counts(ops, s, d, v) ? g->value[g->first[group_of(g, s, d, v)]] : ops->time[at];
        }
    }
    clear(g);
    return status;
}

rs_status rs_ops_idealise(const rs_ops *ops, unsigned over, double *ideal, rs_error *err)
{
    grouping g = {.ops = ops,
                  .by_dp = !(over & RS_OPS_OVER_DP),
                  .by_stage = !(over & RS_OPS_OVER_STAGE),
                  .by_step = !(over & RS_OPS_OVER_STEP)};
    return fill(&g, false, ideal, err);
}

rs_status rs_ops_repair(const rs_ops *ops, double *repaired, rs_error *err)
{
    grouping g = {.ops = ops, .by_stage = true};
    return fill(&g, true, repaired, err);
}
