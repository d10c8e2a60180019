/* overlap as HTA's get_comm_comp_overlap. */
#include <math.h>

#include "analysis/busy.h"
#include "analysis/layouts.h"
#include "base/stats.h"
#include "peer/hta_steps.h"

#define ROW(CELL)                                                                                            \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(SET, "comp_comm_overlap_pctg", REAL, PERCENT,                                                       \
         "communication overlapped by computation, of all communication, two decimals", NULL)
RS_RECORD(hta, ROW);

static const rs_table_spec table = {"overlap", "one row is one rank, as HTA's get_comm_comp_overlap",
                                    hta_columns, sizeof hta_columns / sizeof *hta_columns};
static const rs_table_spec *const tables[] = {&table};

static rs_status add_row(rs_table *t, int64_t rank, const rs_busy *b, rs_error *err)
{
    double share = b->comm ? rs_round(100 * ((double)b->overlapped_comm / (double)b->comm), 2) : (double)NAN;
    rs_table_put(t, &hta_record, rank, b);
    rs_table_set_real(t, "comp_comm_overlap_pctg", share);
    return rs_table_end_row(t, err);
}

static rs_status merge(const rs_run *run, rs_partial *partials, size_t n, rs_result *result, rs_error *err)
{
    (void)run;
    rs_status status = RS_OK;
    for (size_t i = 0; status == RS_OK && i < n; i++) {
        const rs_busy *b = partials[i].value;
        if (b->n_class[RS_CLASS_COMM] == 0)
            rs_result_note(result, "rank %lld: no communication", (long long)partials[i].rank);
        status = add_row(result->tables[0], partials[i].rank, b, err);
    }
    return status;
}

const rs_peer_row rs_peer_hta_overlap = {
    RS_HTA_ROW("overlap"),
    .tables = tables,
    .n_tables = 1,
    .rank = rs_busy_rank,
    .merge = merge,
    .free_partial = rs_busy_free,
    .partial_layout = &rs_busy_layout,
};
