/* How another tool would answer `hottest`: an example of a peer's row, see docs/adding.md. */
#include "analysis/analysis.h"
#include "trace/hot_stream.h"

static const rs_column_spec columns[] = {
    RS_COLUMN("Rank", INT, ID, "rank of the job", NULL),
    RS_COLUMN("Stream", INT, ID, "stream", NULL),
    RS_COLUMN("Kernel Time (ms)", TIME, MS, "durations added up", NULL),
};
static const rs_table_spec table = RS_TABLE("hottest", "one row is one rank", columns);
static const rs_table_spec *const tables[] = {&table};

static rs_status merge(const rs_run *run, rs_partial *partials, size_t n, rs_result *result, rs_error *err)
{
    (void)run;
    rs_status status = RS_OK;
    for (size_t i = 0; status == RS_OK && i < n; i++) {
        const rs_hot_stream *hot = partials[i].value;
        rs_table_add_int(result->tables[0], partials[i].rank);
        rs_table_add_int(result->tables[0], hot->stream);
        rs_table_add_time(result->tables[0], hot->time);
        status = rs_table_end_row(result->tables[0], err);
    }
    return status;
}

const rs_peer_row rs_peer_tracelens_hottest = {.analysis = "hottest",
                                               .modes = RS_MODE(TRACELENS),
                                               .tables = tables,
                                               .n_tables = 1,
                                               .merge = merge,
                                               .absent = "no GPU work"};
