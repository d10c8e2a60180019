/* whatif: how long a step would take without stragglers, and who is to blame. */
#include "analysis/whatif.h"

#include "base/try.h"

static const rs_option_spec options[] = {
    {"scale", RS_OPTION_LIST, "WHAT=FACTOR", NULL, NULL,
     "a row of scales more: WHAT takes FACTOR times as long; a kind, pp-comm, dp-comm, rank:N, stage:N, "
     "step:N"},
    {"ideal-trace", RS_OPTION_TEXT, "FILE", NULL, NULL,
     "write the replay with ideal times as a Chrome trace; packed by the name's ending"},
    {"slowest", RS_OPTION_REAL, "PCT", NULL, "3", "share of the workers that are the slowest ones of M_W"},
    {"fail-on", RS_OPTION_TEXT, "EXPR", NULL, NULL, "exit 1 when the job meets it: 'slowdown > 1.1'"},
};

static rs_status file(const rs_run *run, rs_source *source, rs_result *result, rs_error *err)
{
    return rs_whatif_file(run, source, &rs_ops_own_rules, result, err);
}

static const rs_table_set sets[] = {{RS_COMPAT_NONE, rs_whatif_tables, RS_N_WHATIF_TABLES}};

const rs_analysis rs_analysis_whatif = {
    .name = "whatif",
    .help = "How long a step would take without stragglers, and which worker, stage or kind is to blame",
    .about =
        "FILE is a table of operations (\"# rankscope-ops 1 unit=s ...\") or a timeline of the OSDI'25 "
        "straggler study: when each worker of a pipelined job computed, sent, received and reduced. The job "
        "is replayed under its own order of operations with other times. The ideal time of a computation is "
        "the mean of its kind, of communication the median transfer.\n\n"
        "slowdown (S) is T / T_ideal. A kind, data rank, stage or worker has the slowdown that comes back "
        "when it alone is as it was and all else ideal; these do not add up to S. M_W is the share of "
        "T - T_ideal that mending the slowest workers alone takes away, M_S the last stage. S repair "
        "compares with medians instead: the mean that S compares with holds the straggler, too.\n\n"
        "M_W from 0.5: a few workers. M_S from 0.5 and S repair near 1: uneven stages. fb correlation from "
        "0.9 with a variation from 0.05: unequal sequence lengths. docs/whatif.md has an example and says "
        "when not to trust the numbers. --compat straggler-analysis gives the study's own.",
    .examples = "rankscope whatif job.ops.csv.gz\n"
                "rankscope whatif --scale rank:12=0.9 --scale dp-comm=0.5 --table scales job.ops.csv.gz\n"
                "rankscope whatif --compat straggler-analysis --format json timeline.json.gz",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .table_sets = sets,
    .n_table_sets = 1,
    .follows = RS_FOLLOWS_STEPS,
    .follows_not = "a table of operations is replayed with all its workers, in whole steps",
    .file = file,
};
