/* timeline: the same division of GPU time as rows, with TraceLens' names. */
#include "analysis/analysis.h"
#include "analysis/busy.h"
#include "analysis/layouts.h"

static const rs_column_spec columns[] = {
    {"rank", RS_INT, RS_UNIT_ID, "rank", NULL},
    {"type", RS_TEXT, RS_UNIT_NONE,
     "computation, exposed_comm (outside computation), exposed_memcpy (outside both), busy, idle, total, "
     "total_comm "
     "and total_memcpy (exposed or not), each ending in _time",
     NULL},
    {"time_ms", RS_TIME, RS_UNIT_MS, "union of the time", "time"},
    {"percent", RS_REAL, RS_UNIT_PERCENT, "of total_time", NULL},
};
static const rs_table_spec table = {"timeline", "one row is one kind of time of one rank", columns,
                                    sizeof columns / sizeof *columns};
static const rs_table_spec *const tables[] = {&table};
static const rs_table_set sets[] = {{RS_COMPAT_NONE, tables, 1}, {RS_COMPAT_TRACELENS, tables, 1}};

static rs_status merge(const rs_run *run, rs_partial *partials, size_t n, rs_result *result, rs_error *err)
{
    (void)run;
    for (size_t i = 0; i < n; i++) {
        const rs_busy *b = partials[i].value;
        if (!b || b->n == 0) {
            rs_result_note(result, "rank %lld: no GPU work", (long long)partials[i].rank);
            continue;
        }
        const struct {
            const char *type;
            int64_t ns;
        } rows[] = {{"computation_time", b->compute},
                    {"exposed_comm_time", b->exposed_comm},
                    {"exposed_memcpy_time", b->exposed_memory},
                    {"busy_time", b->busy},
                    {"idle_time", b->idle},
                    {"total_time", b->span},
                    {"total_comm_time", b->comm},
                    {"total_memcpy_time", b->memory}};
        for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
            rs_table *t = result->tables[0];
            rs_table_add_int(t, partials[i].rank);
            rs_table_add_text(t, rows[k].type);
            rs_table_add_time(t, rows[k].ns);
            rs_table_add_real(t, rs_percent(rows[k].ns, b->span));
            rs_status status = rs_table_end_row(t, err);
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
    .columns = RS_LINK_COLUMNS,
    .table_sets = sets,
    .n_table_sets = sizeof sets / sizeof *sets,
    .follows = RS_FOLLOWS_ALL,
    .rank = rs_busy_rank,
    .merge = merge,
    .free_partial = rs_busy_free,
    .partial_layout = &rs_busy_layout,
};
