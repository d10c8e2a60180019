/* hottest: the busiest stream of each rank. An example of an analysis, see docs/adding.md. */
#include "analysis/plan.h"
#include "base/try.h"
#include "trace/hot_stream.h"

#define HOTTEST_ROW(CELL)                                                                                    \
    CELL(RANK, "rank", INT, ID, "rank of the job", NULL)                                                     \
    CELL(ID(rs_hot_stream, device), "device", INT, ID, "device ordinal", NULL)                               \
    CELL(ID(rs_hot_stream, stream), "stream", INT, ID, "stream", NULL)                                       \
    CELL(OF(rs_hot_stream, n), "events", INT, COUNT, "pieces of GPU work on it", NULL)                       \
    CELL(OF(rs_hot_stream, time), "time_us", TIME, US, "their durations added up", "time")
RS_RECORD(hottest, HOTTEST_ROW);

/* Makes the rows of a rank: here one, which a facet has. */
static rs_status put(const rs_run *run, rs_trace *trace, rs_relations *out, rs_error *err)
{
    const rs_hot_stream *hot;
    RS_TRY(rs_trace_hot_stream(trace, run->policy, &hot, err));
    if (hot)
        rs_put(out, 0, hot);
    else
        out->absent = true;
    return RS_OK;
}

static const rs_plan_relation relations[] = {{RS_LISTED_AS(0, rs_hot_stream, hottest), .make = put}};
static const rs_plan_table table = {RS_PLAN_TABLE("hottest", "one row is one rank", hottest)};
static const rs_table_spec *const tables[] = {&table.spec};
static const rs_plan plan = {RS_PLAN(relations, tables)};

const rs_analysis rs_analysis_hottest = {
    .name = "hottest",
    .group = "GPU time",
    .help = "The busiest stream of each rank",
    .about = "Durations of a stream's GPU work are added up; of each rank the stream with the largest sum is "
             "shown.",
    .examples = "rankscope hottest traces/",
    .facets = {&rs_facet_hot_stream},
    .plan = &plan,
    .follows = RS_FOLLOWS_ALL,
    .absent = "no GPU work",
};
