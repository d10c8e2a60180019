/* overlap as HTA's get_comm_comp_overlap. */
#include <math.h>

#include "analysis/busy.h"
#include "analysis/layouts.h"
#include "base/stats.h"
#include "peer/hta_steps.h"

static const rs_column_spec columns[] = {
    {"rank", RS_INT, RS_UNIT_ID, "rank", NULL},
    {"comp_comm_overlap_pctg", RS_REAL, RS_UNIT_PERCENT,
     "communication overlapped by computation, of all communication, two decimals", NULL},
};

static const rs_table_spec table = {"overlap", "one row is one rank, as HTA's get_comm_comp_overlap", columns,
                                    sizeof columns / sizeof *columns};
static const rs_table_spec *const tables[] = {&table};

static void add_row(rs_table *t, int64_t rank, const rs_busy *b)
{
    rs_table_add_int(t, rank);
    rs_table_add_real(t, b->comm ? rs_round(100 * ((double)b->overlapped_comm / (double)b->comm), 2)
                                 : (double)NAN);
}

static rs_status merge(const rs_run *run, rs_partial *partials, size_t n, rs_result *result, rs_error *err)
{
    (void)run;
    rs_status status = RS_OK;
    for (size_t i = 0; status == RS_OK && i < n; i++) {
        const rs_busy *b = partials[i].value;
        if (b->n_class[RS_CLASS_COMM] == 0)
            rs_result_note(result, "rank %lld: no communication", (long long)partials[i].rank);
        add_row(result->tables[0], partials[i].rank, b);
        status = rs_table_end_row(result->tables[0], err);
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
