/* whatif as ByteDance's StragglerAnalysis (the artifact of arXiv 2505.05713) has it: seconds in 32-bit
 * floats, one data rank's order for all, and a worker's slowdown as the lesser of two. */
#include "analysis/whatif.h"

static const rs_ops_rules rules = {.unit = 1,
                                   .single = true,
                                   .keep_negative = true,
                                   .one_order = true,
                                   .pool_unused = true,
                                   .least_of_both = true,
                                   .two_lengths = true};

static rs_status file(const rs_run *run, rs_source *source, rs_result *result, rs_error *err)
{
    return rs_whatif_file(run, source, &rules, result, err);
}

const rs_peer_row rs_peer_straggler_analysis_whatif = {
    .analysis = "whatif",
    .modes = RS_MODE(STRAGGLER_ANALYSIS),
    .tables = rs_whatif_tables,
    .n_tables = RS_N_WHATIF_TABLES,
    .file = file,
};
