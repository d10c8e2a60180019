/* overlap as HTA's get_comm_comp_overlap. */
#include <math.h>

#include "analysis/plan.h"
#include "peer/hta_steps.h"
#include "trace/busy.h"

#define ROW(CELL)                                                                                            \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(SET, "comp_comm_overlap_pctg", REAL, PERCENT,                                                       \
         "communication overlapped by computation, of all communication, two decimals", NULL)
RS_RECORD(hta, ROW);

static void set_share(rs_table *t, const rs_run *run, const rs_relations *of, const void *row)
{
    const rs_busy *b = row;
    (void)run;
    (void)of;
    rs_table_set_real(t, "comp_comm_overlap_pctg",
                      b->comm ? rs_round(100 * ((double)b->overlapped_comm / (double)b->comm), 2)
                              : (double)NAN);
}

static void note(const rs_run *run, const rs_partial *partial, const rs_relations *of, rs_result *result)
{
    (void)run;
    if (RS_ROWS(rs_busy, of, 0)->n_class[RS_CLASS_COMM] == 0)
        rs_result_note(result, "rank %lld: no communication", (long long)partial->rank);
}

static const rs_plan_relation relations[] = {
    {RS_LISTED(0, rs_busy, &rs_busy_layout), .from = &rs_facet_busy}};
static const rs_plan_table table = {
    RS_PLAN_TABLE("overlap", "one row is one rank, as HTA's get_comm_comp_overlap", hta), .set = set_share};
static const rs_table_spec *const tables[] = {&table.spec};
static const rs_plan plan = {RS_PLAN(relations, tables), .note = note};

const rs_peer_row rs_peer_hta_overlap = {RS_HTA_ROW("overlap"), .plan = &plan};
