/* hottest: the busiest stream of each rank. An example of an analysis, see docs/adding.md. */
#include "analysis/analysis.h"
#include "base/memory.h"
#include "trace/hot_stream.h"

#define HOTTEST_ROW(CELL)                                                                                    \
    CELL(RANK, "rank", INT, ID, "rank of the job", NULL)                                                     \
    CELL(ID(rs_hot_stream, device), "device", INT, ID, "device ordinal", NULL)                               \
    CELL(ID(rs_hot_stream, stream), "stream", INT, ID, "stream", NULL)                                       \
    CELL(OF(rs_hot_stream, n), "events", INT, COUNT, "pieces of GPU work on it", NULL)                       \
    CELL(OF(rs_hot_stream, time), "time_us", TIME, US, "their durations added up", "time")
RS_RECORD(hottest, HOTTEST_ROW);

static const rs_table_spec table = RS_TABLE("hottest", "one row is one rank", hottest_columns);
static const rs_table_spec *const tables[] = {&table};
static const rs_table_set sets[] = {{RS_COMPAT_NONE, tables, 1}};
static const rs_layout layout = RS_RECORD_LAYOUT(rs_hot_stream, hottest);

/* A partial outlives the trace, so the facet's value is copied. */
static rs_status rank(const rs_run *run, rs_trace *trace, void **partial, rs_error *err)
{
    const rs_hot_stream *hot;
    rs_status status = rs_trace_hot_stream(trace, run->policy, &hot, err);
    if (status != RS_OK || !hot) return status;
    rs_hot_stream *copy = rs_malloc(sizeof *copy);
    if (!copy) return rs_fail_nomem(err, "streams");
    *copy = *hot;
    *partial = copy;
    return RS_OK;
}

static rs_status merge(const rs_run *run, rs_partial *partials, size_t n, rs_result *result, rs_error *err)
{
    (void)run;
    rs_status status = RS_OK;
    for (size_t i = 0; status == RS_OK && i < n; i++)
        status =
            rs_table_put_row(result->tables[0], &hottest_record, partials[i].rank, partials[i].value, err);
    return status;
}

static void free_partial(void *partial)
{
    rs_free(partial);
}

const rs_analysis rs_analysis_hottest = {
    .name = "hottest",
    .help = "The busiest stream of each rank",
    .about = "Durations of a stream's GPU work are added up; of each rank the stream with the largest sum is "
             "shown.",
    .examples = "rankscope hottest traces/",
    .facets = {&rs_facet_hot_stream},
    .table_sets = sets,
    .n_table_sets = 1,
    .follows = RS_FOLLOWS_ALL,
    .rank = rank,
    .merge = merge,
    .free_partial = free_partial,
    .absent = "no GPU work",
    .partial_layout = &layout,
};
