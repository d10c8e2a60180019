/* timeline: the same division of GPU time as rows, with TraceLens' names. */
#include "analysis/plan.h"
#include "base/try.h"
#include "trace/busy.h"

typedef struct kind_of_time {
    uint32_t type;
    int64_t ns, span;
} kind_of_time;

#define ROW(CELL)                                                                                            \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(TEXT_ID(kind_of_time, type), "type", TEXT, NONE,                                                    \
         "computation, exposed_comm (outside computation), exposed_memcpy (outside both), busy, idle, "      \
         "total, total_comm and total_memcpy (exposed or not), each ending in _time",                        \
         NULL)                                                                                               \
    CELL(OF(kind_of_time, ns), "time_ms", TIME, MS, "union of the time", "time")                             \
    CELL(SHARE(kind_of_time, ns, span), "percent", REAL, PERCENT, "of total_time", NULL)
RS_RECORD(timeline, ROW);

static rs_status put(const rs_run *run, rs_trace *trace, rs_relations *out, rs_error *err)
{
    const rs_busy *b;
    RS_TRY(rs_trace_busy(trace, run->policy, &b, err));
    const struct {
        const char *type;
        int64_t ns;
    } times[] = {{"computation_time", b->compute},
                 {"exposed_comm_time", b->exposed_comm},
                 {"exposed_memcpy_time", b->exposed_memory},
                 {"busy_time", b->busy},
                 {"idle_time", b->idle},
                 {"total_time", b->span},
                 {"total_comm_time", b->comm},
                 {"total_memcpy_time", b->memory}};
    for (size_t i = 0; b->n && i < sizeof times / sizeof *times; i++)
        rs_put(out, 0, &(kind_of_time){rs_put_string(out, times[i].type), times[i].ns, b->span});
    return RS_OK;
}

static const rs_field fields[] = {RS_FIELD_TEXT_ID(kind_of_time, type), RS_FIELDS(kind_of_time, ns, span)};
static const rs_layout layout = RS_LAYOUT(kind_of_time, fields);
static const rs_plan_relation relations[] = {{RS_LISTED(0, kind_of_time, &layout), .make = put}};
static const rs_plan_table table = {
    RS_PLAN_TABLE("timeline", "one row is one kind of time of one rank", timeline)};
static const rs_table_spec *const tables[] = {&table.spec};
static const rs_plan plan = {RS_PLAN(relations, tables), .absent_without = 1};

const rs_analysis rs_analysis_timeline = {
    .name = "timeline",
    .group = "breakdown",
    .help = "GPU time by kind: computation, exposed communication and copies, busy, idle, totals",
    .about =
        "One row for each kind of time. computation, exposed_comm, exposed_memcpy and idle add up to total;\n"
        "memsets count as copies. Under --compat tracelens only work whose launch is in the file counts, and "
        "a\n"
        "memset is computation.",
    .examples =
        "rankscope timeline trace.json.gz\nrankscope timeline --compat tracelens --format csv trace.json.gz",
    .facets = {&rs_facet_busy},
    .spares = RS_USUAL_COLUMNS,
    .plan = &plan,
    .follows = RS_FOLLOWS_ALL | RS_FOLLOWS_CAPTURES,
    .absent = "no GPU work",
};
