/* One screen: where each rank's time goes, who is slowest, what to look at first. */
#include "analysis/summary.h"

#include <math.h>
#include <string.h>

#include "base/interval.h"
#include "base/memory.h"
#include "base/order.h"
#include "base/stats.h"
#include "trace/role_names.h"

#define RANK_ROW(CELL)                                                                                       \
    CELL(RANK, "rank", INT, ID, "rank of the job", NULL)                                                     \
    CELL(OF(rs_rank_summary, span), "span_us", TIME, US,                                                     \
         "first start to last end of all events, without the time between recordings", "span")               \
    CELL(OF(rs_rank_summary, n_steps), "steps", INT, COUNT, "training steps", NULL)                          \
    CELL(ID(rs_rank_summary, mean_step), "mean_step_us", TIME, US, "mean length of a step on the host",      \
         "step")                                                                                             \
    CELL(OF(rs_rank_summary, gpu_span), "gpu_span_us", TIME, US,                                             \
         "first start to last end of GPU work; the next four make it up", "GPU span")                        \
    CELL(OF(rs_rank_summary, computation), "compute_us", TIME, US, "at least one computation kernel runs",   \
         "compute")                                                                                          \
    CELL(OF(rs_rank_summary, exposed_comm), "exposed_comm_us", TIME, US,                                     \
         "communication runs and no computation", "exposed comm")                                            \
    CELL(OF(rs_rank_summary, exposed_copies), "exposed_copy_us", TIME, US,                                   \
         "copies or memsets run, no computation, no communication", "exposed copies")                        \
    CELL(OF(rs_rank_summary, idle), "idle_us", TIME, US, "nothing runs", "idle")                             \
    CELL(SET, "busy_pct", REAL, PERCENT, "share of gpu_span in which anything runs", "busy")                 \
    CELL(OF(rs_rank_summary, communication), "comm_us", TIME, US, "at least one communication kernel runs",  \
         "comm")                                                                                             \
    CELL(OF(rs_rank_summary, host_wait), "host_wait_us", TIME, US,                                           \
         "idle while the next work had not even been launched", "host wait")                                 \
    CELL(OF(rs_rank_summary, elsewhere), "host_elsewhere_us", TIME, US,                                      \
         "of it, while launching threads were in no GPU call for 1 ms or more", "elsewhere")                 \
    CELL(OF(rs_rank_summary, latency), "launch_latency_us", TIME, US,                                        \
         "idle between that work's launch and its start", "after launch")                                    \
    CELL(SHARE(rs_rank_summary, launch_bound, gpu_span), "launch_bound_pct", REAL, PERCENT,                  \
         "host wait without elsewhere as a share of gpu_span", "launch-bound")                               \
    CELL(ID(rs_rank_summary, mean_kernel), "mean_kernel_us", TIME, US, "mean duration of linked GPU work",   \
         "mean kernel")                                                                                      \
    CELL(ID(rs_rank_summary, mean_launch), "mean_launch_us", TIME, US,                                       \
         "mean duration of the calls that launch it", "mean launch")                                         \
    CELL(OF(rs_rank_summary, n_gpu), "gpu_events", INT, COUNT, "kernels, copies and memsets", "GPU events")  \
    CELL(OF(rs_rank_summary, n_unlinked), "unlinked", INT, COUNT,                                            \
         "of these, without their launch in the file", NULL)                                                 \
    CELL(SHARE(rs_rank_summary, unlinked_time, gpu_sum), "unlinked_pct", REAL, PERCENT,                      \
         "their share of the GPU time", "unlinked time")                                                     \
    CELL(SET, "own_time_us", TIME, US,                                                                       \
         "gpu_span without exposed communication: what the rank needed for itself; of a job without a "      \
         "GPU, span without the host's communication while no operator runs",                                \
         "own time")                                                                                         \
    CELL(SET, "behind_median_pct", REAL, PERCENT, "own_time above the median of all ranks", "slower by")     \
    CELL(SET, "role", TEXT, NONE, "rollout, update, ...: ROLE=PATH, else as processes or annotations say",   \
         NULL)
RS_RECORD(rank, RANK_ROW);

#define KERNEL_ROW(CELL)                                                                                     \
    CELL(OF(rs_name_total, name), "name", TEXT, NONE, "kernel, copy or memset", "kernel")                    \
    CELL(WORD(rs_name_total, class, rs_class_names), "class", TEXT, NONE,                                    \
         "computation, communication or memory", NULL)                                                       \
    CELL(OF(rs_name_total, count), "count", INT, COUNT, "executions on all ranks", NULL)                     \
    CELL(OF(rs_name_total, time), "time_us", TIME, US, "sum of their durations", "time")                     \
    CELL(SET, "share_pct", REAL, PERCENT, "share of the sum of all GPU durations", "share")                  \
    CELL(SET, "mean_us", TIME, US, "mean duration", "mean")
RS_RECORD(kernel, KERNEL_ROW);

#define OPERATOR_ROW(CELL)                                                                                   \
    CELL(OF(rs_name_total, name), "name", TEXT, NONE,                                                        \
         "innermost operator around the launch; the launching call where there is none", "operator")         \
    CELL(OF(rs_name_total, count), "count", INT, COUNT, "GPU events it launched on all ranks", "GPU events") \
    CELL(OF(rs_name_total, time), "time_us", TIME, US, "sum of their durations", "time")                     \
    CELL(SET, "share_pct", REAL, PERCENT, "share of the sum of all GPU durations", "share")
RS_RECORD(operator, OPERATOR_ROW);

static const rs_column_spec finding_columns[] = {
    RS_COLUMN("finding", TEXT, NONE, "what to look at, in one sentence", NULL),
    RS_COLUMN("rank", INT, ID, "the rank it is about; unknown for all", NULL),
    RS_COLUMN(
        "share_pct", REAL, PERCENT,
        "how much of the GPU span (or of the GPU time) it is about; of a sentence of diagnose, of a step",
        "share"),
    RS_COLUMN("topic", TEXT, NONE,
              "what it is about: idle, communication, copies, slowest, kernel, unlinked, gap, loading, host, "
              "empty; diagnose: a verdict",
              NULL),
    RS_COLUMN("diagnose", TEXT, NONE, "id of diagnose's row that it is; unknown: of none", NULL),
    RS_COLUMN("replaces", TEXT, NONE,
              "topics that are left out, since diagnose examined them; unknown: of none", NULL),
};

static const rs_table_spec ranks_table = RS_TABLE("ranks", "One row a rank.", rank_columns);
static const rs_table_spec kernels_table =
    RS_TABLE("kernels", "One row a kernel name, all ranks together, by time.", kernel_columns);
static const rs_table_spec operators_table =
    RS_TABLE("operators", "One row an operator name, all ranks together, by the GPU time it launched.",
             operator_columns);
static const rs_table_spec findings_table = RS_TABLE(
    "findings", "What to look at first: at most five sentences, the weightiest first.", finding_columns);

enum { RANKS, KERNELS, OPERATORS, FINDINGS };

static bool wants_verdict(const rs_options *o)
{
    return !rs_options_flag(o, "no-diagnose");
}

static const rs_option_spec options[] = {
    {"top", RS_OPTION_INT, "N", NULL, "5", "kernels and operators to show"},
    {"no-diagnose", RS_OPTION_FLAG, NULL, NULL, NULL,
     "as --no-verdict: do not open with the verdict of `rankscope diagnose`, which takes a replay of the job"},
};

static double percent(int64_t part, int64_t whole)
{
    return whole > 0 ? 100.0 * (double)part / (double)whole : (double)NAN;
}

static rs_status add_rank(rs_table *table, const rs_partial *partial, int64_t median_own, rs_error *err)
{
    const rs_rank_summary *s = partial->value;
    rs_table_put(table, &rank_record, partial->rank, s);
    rs_table_set_real(table, "busy_pct", percent(s->gpu_span - s->idle, s->gpu_span));
    if (rs_summary_own_known(s)) {
        int64_t own = rs_summary_own_time(s);
        rs_table_set_time(table, "own_time_us", own);
        rs_table_set_real(table, "behind_median_pct", percent(own - median_own, median_own));
    } else {
        rs_table_set_null(table, "own_time_us");
        rs_table_set_null(table, "behind_median_pct");
    }
    rs_table_set_text(table, "role", rs_role_shown(partial->role, (rs_job_role)s->role));
    return rs_table_end_row(table, err);
}

/* ---- names over all ranks --------------------------------------------------------------------------- */

static const rs_order by_text[] = {RS_RISING(rs_name_total, name), RS_RISING(rs_name_total, class)};

static const rs_order by_time[] = {RS_FALLING(rs_name_total, time), RS_RISING(rs_name_total, name),
                                   RS_RISING(rs_name_total, class)};

/* Adds up equal names of all ranks, by time; names are borrowed from the partials. */
static rs_status add_up(const rs_partial *partials, size_t n, bool kernels, rs_name_total **out,
                        size_t *n_out, rs_error *err)
{
    size_t all = 0;
    for (size_t i = 0; i < n; i++) {
        const rs_rank_summary *s = partials[i].value;
        all += kernels ? s->n_kernels : s->n_operators;
    }
    rs_name_total *names = rs_calloc(all + 1, sizeof *names);
    if (!names) return rs_fail_nomem(err, "summary");
    size_t used = 0;
    for (size_t i = 0; i < n; i++) {
        const rs_rank_summary *s = partials[i].value;
        size_t m = kernels ? s->n_kernels : s->n_operators;
        if (m) memcpy(names + used, kernels ? s->kernels : s->operators, m * sizeof *names);
        used += m;
    }
    RS_SORT(names, used, by_text);
    size_t kept = 0;
    for (size_t i = 0; i < used; i++) {
        if (kept && RS_COMPARE(by_text, &names[kept - 1], &names[i]) == 0) {
            names[kept - 1].count = rs_add_sat(names[kept - 1].count, names[i].count);
            names[kept - 1].time = rs_add_sat(names[kept - 1].time, names[i].time);
        } else {
            names[kept++] = names[i];
        }
    }
    RS_SORT(names, kept, by_time);
    *out = names;
    *n_out = kept;
    return RS_OK;
}

static rs_status add_names(const rs_partial *partials, size_t n, bool kernels, int64_t top, rs_table *table,
                           rs_error *err)
{
    rs_name_total *names = NULL;
    size_t n_names = 0;
    int64_t whole = 0;
    for (size_t i = 0; i < n; i++)
        whole = rs_add_sat(whole, ((const rs_rank_summary *)partials[i].value)->gpu_sum);
    rs_status status = add_up(partials, n, kernels, &names, &n_names, err);
    if (status != RS_OK) return status;
    for (size_t i = 0; status == RS_OK && i < n_names && (int64_t)i < top; i++) {
        rs_table_put(table, kernels ? &kernel_record : &operator_record, 0, &names[i]);
        rs_table_set_real(table, "share_pct", percent(names[i].time, whole));
        if (kernels) rs_table_set_time(table, "mean_us", names[i].time / names[i].count);
        status = rs_table_end_row(table, err);
    }
    rs_free(names);
    return status;
}

/* Of the ranks' own times, where they are known; 0 where none is. */
static rs_status median_of(const rs_partial *partials, size_t n, int64_t *median, rs_error *err)
{
    RS_LOCAL int64_t *own = rs_malloc((n + 1) * sizeof *own);
    size_t known = 0;
    if (!own) return rs_fail_nomem(err, "summary");
    for (size_t i = 0; i < n; i++)
        if (rs_summary_own_known(partials[i].value)) own[known++] = rs_summary_own_time(partials[i].value);
    *median = known ? rs_median(own, known) : 0;
    return RS_OK;
}

static rs_status summary_merge(const rs_run *run, rs_partial *partials, size_t n, rs_result *result,
                               rs_error *err)
{
    int64_t median = 0, top = rs_options_int(run->options, "top");
    rs_status status = median_of(partials, n, &median, err);
    for (size_t i = 0; status == RS_OK && i < n; i++) {
        const rs_rank_summary *s = partials[i].value;
        if (!rs_summary_own_known(s))
            rs_result_note(result, "rank %lld: no GPU events", (long long)partials[i].rank);
        status = add_rank(result->tables[RANKS], &partials[i], median, err);
    }
    if (status == RS_OK) status = add_names(partials, n, true, top, result->tables[KERNELS], err);
    if (status == RS_OK) status = add_names(partials, n, false, top, result->tables[OPERATORS], err);
    if (status == RS_OK)
        status = rs_summary_findings(run, partials, n, median, result->tables[FINDINGS], err);
    return status;
}

static const rs_table_spec *const tables[] = {&ranks_table, &kernels_table, &operators_table,
                                              &findings_table};
static const rs_table_set table_sets[] = {{RS_COMPAT_NONE, tables, sizeof tables / sizeof *tables}};

/* ---- what travels ------------------------------------------------------------------------------------- */

/* What is counted was there: means divide by it. */
static bool was_seen(const void *value)
{
    return ((const rs_name_total *)value)->count > 0;
}

static const rs_field name_fields[] = {
    RS_FIELD(rs_name_total, name),
    RS_FIELD_BELOW(rs_name_total, class, RS_N_CLASSES),
    RS_FIELDS(rs_name_total, count, time),
};
static const rs_layout name_layout = RS_LAYOUT_CHECKED(rs_name_total, name_fields, was_seen);

static const rs_field summary_fields[] = {
    RS_FIELDS(rs_rank_summary, n_host, gpu_sum, launch_bound, unlinked_time, longest_gap, longest_gap_at,
              on_host, communicates, host_waiting, data_loading),
    RS_FIELD_BELOW(rs_rank_summary, role, RS_N_ROLES),
    RS_FIELD_LIST(rs_rank_summary, kernels, n_kernels, &name_layout),
    RS_FIELD_LIST(rs_rank_summary, operators, n_operators, &name_layout),
};
static const rs_layout summary_layout = RS_RECORD_LAYOUT_AND(rs_rank_summary, rank, summary_fields);

const rs_analysis rs_analysis_summary = {
    .name = "summary",
    .group = "Any trace",
    .help = "One screen: where each rank's time goes, who is slowest, what to look at first",
    .about =
        "The time between a rank's first and last GPU work (GPU span) is divided without overlap: "
        "computation, "
        "communication outside computation (exposed), copies and memsets outside both (exposed), idle. Idle "
        "time is "
        "launch-bound (host wait) from the end of the last work until the call that launches the next work "
        "begins, without stretches of a millisecond and more in which launching threads are in no call of the GPU's runtime "
        "(elsewhere); from "
        "there to the start of that work it counts as after launch: latency, a slow call or a dependency. "
        "Idle before "
        "work whose launch is not in the file is neither. Ranks that train together wait for the slowest in "
        "communication, so ranks are compared by their own time: the GPU span without exposed communication; "
        "in a job without a GPU, by the recorded time without "
        "communication that the host runs (gloo) while no operator does. An "
        "operator's time is that of the GPU work it launched itself.\n\n"
        "What to look at first are the verdicts of `rankscope diagnose`: what is wrong, or would help, and how long a "
        "step would take then. Own sentences are left out where it examined their topic (column replaces). Selected "
        "steps, a window, and jobs of more than four million events have no verdict.",
    .examples = "rankscope summary traces/\nrankscope summary trace.json.gz\n"
                "rankscope summary --format json traces/ | jq .tables.findings",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .table_sets = table_sets,
    .n_table_sets = 1,
    .judged = RS_JUDGED_IN_TABLES,
    .judged_when = wants_verdict,
    .follows = RS_FOLLOWS_ALL,
    .rank = rs_summary_rank,
    .merge = summary_merge,
    .free_partial = rs_summary_free,
    .partial_layout = &summary_layout,
};
