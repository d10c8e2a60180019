/* critical-path as HTA's critical_path_analysis. */
#include "analysis/path_answer.h"
#include "peer/hta_graph.h"
#include "peer/hta_steps.h"
#include "peer/hta_window.h"

static rs_status find_base(rs_trace *trace, const rs_policy *policy, int64_t *base, rs_error *err)
{
    const rs_frame_rows *f;
    rs_status status = rs_trace_hta_frame(trace, policy, &f, err);
    if (status == RS_OK) *base = f->min_start;
    return status;
}

static const rs_path_peer rules = {.build = rs_path_build_hta, .base = find_base};

static rs_status rank(const rs_run *run, rs_trace *trace, void **partial, rs_error *err)
{
    return rs_critical_path_rank(run, trace, &rules, partial, err);
}

/* HTA's times count from the first event of its own frames, rounded as they are. */
static void count_from(const rs_run *run, const rs_partial *partials, size_t n, rs_result *result)
{
    int64_t base = RS_NO_TIME;
    for (size_t i = 0; !run->absolute && i < n; i++) {
        const rs_path_answer *a = partials[i].value;
        if (a->base != RS_NO_TIME && (base == RS_NO_TIME || a->base < base)) base = a->base;
    }
    for (size_t i = 0; i < result->n_tables; i++)
        rs_table_count_from(result->tables[i], base == RS_NO_TIME ? 0 : base);
}

static rs_status merge(const rs_run *run, rs_partial *partials, size_t n, rs_result *result, rs_error *err)
{
    rs_status status = rs_critical_path_merge(run, partials, n, true, result, err);
    if (status == RS_OK) count_from(run, partials, n, result);
    return status;
}

const rs_peer_row rs_peer_hta_critical_path = {
    RS_HTA_ROW("critical-path"),
    .tables = rs_critical_path_peer_tables,
    .n_tables = RS_CRITICAL_PATH_TABLES,
    .rank = rank,
    .merge = merge,
    .free_partial = rs_path_answer_free,
    .partial_layout = &rs_path_answer_layout,
};
