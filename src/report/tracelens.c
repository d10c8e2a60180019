/* TraceLens' report over the ranks of a job. */
#include "rankscope/tracelens.h"

#include "base/memory.h"
#include "base/try.h"
#include "job/job.h"
#include "peer/tracelens.h"

struct rs_tracelens_report {
    rs_tracelens_options options;
    rs_rates rates;
    rs_rank_value *ranks; /* of rs_sheets */
    size_t n;
};

static void free_sheets(void *value)
{
    rs_sheets *sheets = value;
    if (!sheets) return;
    rs_sheets_clear(sheets);
    rs_free(sheets);
}

static rs_status make_rank(const rs_run *run, rs_trace *trace, void **value, rs_error *err)
{
    const rs_tracelens_report *report = run->context;
    rs_sheets *sheets = rs_calloc(1, sizeof *sheets);
    if (!sheets) return rs_fail_nomem(err, "sheets");
    rs_status status = rs_tracelens_sheets(trace, &report->options, sheets, err);
    if (status == RS_OK)
        *value = sheets;
    else
        free_sheets(sheets);
    return status;
}

rs_status rs_tracelens_report_create(rs_job *job, const rs_tracelens_settings *settings,
                                     rs_tracelens_report **out, rs_result *told, rs_error *err)
{
    *out = NULL;
    if (!settings || settings->size < sizeof *settings)
        return rs_fail(err, RS_ERR_USAGE, "the settings of the report have no size");
    rs_tracelens_report *report = rs_calloc(1, sizeof *report);
    if (!report) return rs_fail_nomem(err, "a report");
    rs_status status = RS_OK;
    report->options.short_ns = settings->short_ns;
    if (settings->device) {
        status = rs_rates_of_option(settings->device, &report->rates, err);
        report->options.rates = &report->rates;
    }
    const rs_each_rank each = {.name = "report --tracelens",
                               .columns = RS_TRACELENS_COLUMNS,
                               .rank = make_rank,
                               .free_value = free_sheets,
                               .context = report};
    if (status == RS_OK) status = rs_job_each_rank(job, &each, &report->ranks, &report->n, told, err);
    for (size_t i = 0; status == RS_OK && i < report->n; i++)
        if (((const rs_sheets *)report->ranks[i].value)->n == 0)
            rs_result_note(told, "rank %lld: nothing for a sheet: no GPU work",
                           (long long)report->ranks[i].rank);
    if (status == RS_OK)
        *out = report;
    else
        rs_tracelens_report_free(report);
    return status;
}

void rs_tracelens_report_free(rs_tracelens_report *report)
{
    if (!report) return;
    for (size_t i = 0; i < report->n; i++) free_sheets(report->ranks[i].value);
    rs_free(report->ranks);
    rs_free(report);
}

size_t rs_tracelens_report_n_ranks(const rs_tracelens_report *report)
{
    return report->n;
}

int64_t rs_tracelens_report_rank(const rs_tracelens_report *report, size_t index)
{
    return report->ranks[index].rank;
}

const rs_table *const *rs_tracelens_report_sheets(const rs_tracelens_report *report, size_t index, size_t *n)
{
    const rs_sheets *sheets = report->ranks[index].value;
    *n = sheets->n;
    return (const rs_table *const *)sheets->items;
}
