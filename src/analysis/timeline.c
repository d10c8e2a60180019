/* timeline: the same division of GPU time as rows, with TraceLens' names. */
#include "analysis/analysis.h"
#include "analysis/busy.h"
#include "analysis/layouts.h"
#include "trace/busy.h"

typedef struct kind_of_time {
    const char *type;
    int64_t ns, span;
} kind_of_time;

#define ROW(CELL)                                                                                            \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(OF(kind_of_time, type), "type", TEXT, NONE,                                                         \
         "computation, exposed_comm (outside computation), exposed_memcpy (outside both), busy, idle, "      \
         "total, total_comm and total_memcpy (exposed or not), each ending in _time",                        \
         NULL)                                                                                               \
    CELL(OF(kind_of_time, ns), "time_ms", TIME, MS, "union of the time", "time")                             \
    CELL(SHARE(kind_of_time, ns, span), "percent", REAL, PERCENT, "of total_time", NULL)
RS_RECORD(timeline, ROW);

static const rs_table_spec table = {"timeline", "one row is one kind of time of one rank", timeline_columns,
                                    sizeof timeline_columns / sizeof *timeline_columns};
static const rs_table_spec *const tables[] = {&table};
static const rs_table_set sets[] = {{RS_COMPAT_NONE, tables, 1}};

static rs_status merge(const rs_run *run, rs_partial *partials, size_t n, rs_result *result, rs_error *err)
{
    (void)run;
    for (size_t i = 0; i < n; i++) {
        const rs_busy *b = partials[i].value;
        const kind_of_time rows[] = {{"computation_time", b->compute, b->span},
                                     {"exposed_comm_time", b->exposed_comm, b->span},
                                     {"exposed_memcpy_time", b->exposed_memory, b->span},
                                     {"busy_time", b->busy, b->span},
                                     {"idle_time", b->idle, b->span},
                                     {"total_time", b->span, b->span},
                                     {"total_comm_time", b->comm, b->span},
                                     {"total_memcpy_time", b->memory, b->span}};
        for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
            rs_status status =
                rs_table_put_row(result->tables[0], &timeline_record, partials[i].rank, &rows[k], err);
            if (status != RS_OK) return status;
        }
    }
    return RS_OK;
}

const rs_analysis rs_analysis_timeline = {
    .name = "timeline",
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
    .table_sets = sets,
    .n_table_sets = sizeof sets / sizeof *sets,
    .follows = RS_FOLLOWS_ALL | RS_FOLLOWS_CAPTURES,
    .rank = rs_busy_rank_at_work,
    .merge = merge,
    .free_partial = rs_busy_free,
    .absent = "no GPU work",
    .partial_layout = &rs_busy_layout,
};
