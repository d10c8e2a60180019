/* How another tool would answer `hottest`: an example of a peer's row, see docs/adding.md. */
#include "analysis/plan.h"
#include "trace/hot_stream.h"

#define THEIR_ROW(CELL)                                                                                      \
    CELL(RANK, "Rank", INT, ID, "rank of the job", NULL)                                                     \
    CELL(ID(rs_hot_stream, stream), "Stream", INT, ID, "stream", NULL)                                       \
    CELL(OF(rs_hot_stream, time), "Kernel Time (ms)", TIME, MS, "durations added up", NULL)
RS_RECORD(their, THEIR_ROW);

/* Other tables over the rows that the analysis makes. Where rows differ, too: .plan, with relations of its own. */
static const rs_plan_table table = {RS_PLAN_TABLE("hottest", "one row is one rank", their)};
static const rs_table_spec *const tables[] = {&table.spec};
static const rs_plan plan = {.tables = tables, .n_tables = 1};

const rs_peer_row rs_peer_tracelens_hottest = {
    .analysis = "hottest", .modes = RS_MODE(TRACELENS), .over = &plan, .absent = "no GPU work"};
