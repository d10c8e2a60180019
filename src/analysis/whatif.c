/* whatif: how long a step would take without stragglers, and who is to blame. */
#include "analysis/whatif.h"

#include "analysis/skeletons.h"
#include "base/memory.h"
#include "clock/collective_clocks.h"
#include "trace/trace.h"

static const rs_option_spec options[] = {
    {"scale", RS_OPTION_LIST, "WHAT=FACTOR", NULL, NULL,
     "a row of scales more: WHAT takes FACTOR times as long; a kind, rank:N, step:N; of operations pp-comm, "
     "dp-comm, stage:N; of traces role:N, host:NAME"},
    {"ideal-trace", RS_OPTION_TEXT, "FILE", NULL, NULL,
     "of operations: write the replay with ideal times as a Chrome trace; packed by the name's ending"},
    {"clocks", RS_OPTION_CHOICE, "HOW", RS_CLOCKS_CHOICES, "ends",
     "traces: ends: clocks are corrected so that collectives end together; likely, certain: by the intervals of "
     "the command clocks; file: as the traces have them"},
    {"map", RS_OPTION_FLAG, NULL, NULL, NULL,
     "traces: the heat map alone: slowdowns of workers, and only of jobs of several ranks and up to 4 million "
     "events"},
    {"layout", RS_OPTION_TEXT, "AXES", NULL, NULL,
     "traces: a step in another layout of the job: 'dp=8,tp=2,pp=4,ep=8,micro-batches=16,schedule=1f1b' (or gpipe); what is "
     "not said stays (table layout)"},
    {"batch", RS_OPTION_CHOICE, "WHICH", "per-rank|global", "per-rank",
     "of --layout with another dp: per-rank: each rank has as many micro-batches as now, so that the global batch grows with "
     "dp; global: the job has as many, so that a rank has fewer"},
    {"memory", RS_OPTION_TEXT, "PATH", NULL, NULL,
     "of --layout: snapshots of the allocators of these ranks (torch.cuda.memory._dump_snapshot): what of memory is shared out"},
    {"slowest", RS_OPTION_REAL, "PCT", NULL, "3", "share of the workers that are the slowest ones of M_W"},
    {"fail-on", RS_OPTION_TEXT, "EXPR", NULL, NULL, "exit 1 when the job meets it: 'slowdown > 1.1'"},
};

static bool asks_layout(const rs_options *given)
{
    return rs_options_is_set(given, "layout");
}

static uint64_t more_columns(const rs_options *given)
{
    return asks_layout(given) ? rs_skeletons_shared_columns() | RS_PASSES_COLUMNS : 0;
}

static bool asks_no_layout(const rs_options *given)
{
    return !asks_layout(given);
}

static rs_status file(const rs_run *run, rs_source *source, rs_result *result, rs_error *err)
{
    if (asks_layout(run->options))
        return rs_fail(
            err, RS_ERR_USAGE,
            "--layout: a table of operations has no shapes of operators; give the traces of all ranks");
    return rs_whatif_file(run, source, &rs_ops_own_rules, result, err);
}

static void free_rank(void *partial)
{
    rs_whatif_rank *p = partial;
    if (!p) return;
    rs_skeleton_free(p->skeleton);
    rs_passes_free(p->passes);
    rs_free_all(p->held, p);
}

/* Under --map a rank that is alone or too large brings nothing. */
static rs_status fill_rank(const rs_run *run, rs_trace *trace, rs_whatif_rank *out, rs_error *err)
{
    if (asks_layout(run->options)) return rs_layout_rank(run, trace, out, err);
    int64_t world = trace->events->info.world_size;
    bool large = trace->n_rows > RS_WHATIF_MAPPED / (world > 1 ? (uint64_t)world : 1);
    if (rs_options_flag(run->options, "map") && (world == 1 || large)) return RS_OK;
    return rs_trace_skeleton(trace, run->policy, &out->skeleton, err);
}

static rs_status rank(const rs_run *run, rs_trace *trace, void **partial, rs_error *err)
{
    if (rs_options_is_set(run->options, "memory") && !asks_layout(run->options))
        return rs_fail(err, RS_ERR_USAGE, "--memory says what another layout would hold: give --layout, too");
    rs_whatif_rank *p = rs_calloc(1, sizeof *p);
    if (!p) return rs_fail_nomem(err, "what-if");
    rs_status status = fill_rank(run, trace, p, err);
    if (status != RS_OK || (!p->skeleton && !p->held))
        free_rank(p);
    else
        *partial = p;
    return status;
}

static rs_status merge(const rs_run *run, rs_partial *partials, size_t n, rs_result *result, rs_error *err)
{
    if (asks_layout(run->options)) return rs_layout_merge(run, partials, n, result, err);
    size_t kept = 0;
    RS_LOCAL rs_partial *inner = rs_malloc((n + 1) * sizeof *inner);
    if (!inner) return rs_fail_nomem(err, "ranks");
    for (size_t i = 0; i < n; i++) {
        const rs_whatif_rank *p = partials[i].value;
        if (!p || !p->skeleton) continue;
        inner[kept] = partials[i];
        inner[kept++].value = p->skeleton;
    }
    return rs_whatif_merge(run, inner, kept, result, err);
}

static const rs_field partial_fields[] = {
    RS_FIELD_ONE_OR_NONE(rs_whatif_rank, skeleton, &rs_skeleton_layout),
    RS_FIELD_ONE_OR_NONE(rs_whatif_rank, passes, &rs_passes_layout),
    RS_FIELD_ONE_OR_NONE(rs_whatif_rank, held, &rs_layout_held_layout),
};
static const rs_layout partial_layout = RS_LAYOUT(rs_whatif_rank, partial_fields);
static const rs_side_option sides[] = {{"memory", RS_TAKES(ALLOCATIONS)}, {NULL, 0}};

static const rs_table_set sets[] = {{RS_COMPAT_NONE, rs_whatif_tables, RS_N_WHATIF_TABLES}};

const rs_analysis rs_analysis_whatif = {
    .name = "whatif",
    .group = "Across ranks",
    .help = "How long a step would take without stragglers, and which worker, stage or kind is to blame",
    .about =
        "PATH is the traces of all ranks; or one table of operations (\"# rankscope-ops 1 unit=s ...\"); or a "
        "timeline of the OSDI'25 straggler study. The job is replayed under its own order with other times.\n\n"
        "slowdown (S) is T / T_ideal: everything of a kind takes the mean over ranks and steps, transfers the "
        "median. S repair compares with medians instead: the mean holds the straggler, too. A kind, rank, stage "
        "or worker has the slowdown that comes back when it alone is as it was and all else ideal; these do not "
        "add up to S. M_W is the share of T - T_ideal that fixing the slowest workers alone takes away, M_S the "
        "last stage.\n\n"
        "M_W from 0.5: a few workers. M_S from 0.5 and S repair near 1: uneven stages. fb correlation from "
        "0.9 with a variation from 0.05: unequal sequence lengths.\n\n"
        "Of traces gain_us is what fixing a rank would save; two equally slow ranks mask each other, so go by "
        "slowdown, and see the parts `mended-1`, `mended-2`. Three numbers say how far to trust it: the errors of "
        "the replay and of steps replayed with the next one's times, and what is unexplained. docs/whatif.md has "
        "examples. --compat straggler-analysis gives the study's own numbers, of operations.\n\n"
        "--layout predicts a step of the same job with other sizes of its data, tensor, expert or pipeline parallel groups, other "
        "micro-batches or another schedule. The traces must name the groups. Collectives take what a ring of the other size takes over "
        "the recorded links (latency and bandwidth are fitted); work that the tensor parallel group shares out, by the shapes of its "
        "operators, what products of the new sizes take by a fit to the recorded ones; experts, their shares of the tokens. Passes of a "
        "pipeline, as they are then, are replayed in the order of the schedule, as `pipeline --layout` does. The interval holds what "
        "these leave open.",
    .examples = "rankscope whatif traces/\n"
                "rankscope whatif --layout dp=8,tp=2 traces/\n"
                "rankscope whatif --layout dp=8,pp=4 --batch global --memory snapshots/ traces/\n"
                "rankscope whatif --scale rank:12=0.9 --scale compute=0.5 --table scales traces/\n"
                "rankscope whatif --compat straggler-analysis --format json job.ops.csv.gz",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .columns = RS_SKELETON_COLUMNS,
    .table_sets = sets,
    .n_table_sets = 1,
    .more_columns = more_columns,
    .judged = RS_JUDGED,
    .judged_when = asks_no_layout,
    .follows = RS_FOLLOWS_RANKS,
    .follows_not =
        "the graph is of whole traces; of a table of operations, of all its workers in whole steps",
    .file = file,
    .file_is = rs_op_table_is,
    .file_follows = RS_FOLLOWS_STEPS,
    .rank = rank,
    .merge = merge,
    .free_partial = free_rank,
    .absent = "no events, or not for --map",
    .partial_layout = &partial_layout,
    .sides = sides,
};
