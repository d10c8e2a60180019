/* TraceLens' report over the ranks of a job. */
#include "rankscope/tracelens.h"

#include "base/memory.h"
#include "job/job.h"
#include "peer/tracelens.h"
#include "peer/tracelens_nccl.h"

struct rs_tracelens_report {
    rs_tracelens_options options;
    rs_rates rates;
    bool collectives_only, detailed;
    rs_rank_value *ranks; /* of rank_sheets */
    size_t n;
    rs_sheets job; /* over all ranks */
};

/* What a rank contributes. */
typedef struct rank_sheets {
    rs_sheets sheets;
    rs_tl_collectives collectives;
} rank_sheets;

static void free_rank(void *value)
{
    rank_sheets *r = value;
    if (!r) return;
    rs_sheets_clear(&r->sheets);
    rs_tl_collectives_clear(&r->collectives);
    rs_free(r);
}

static rs_status make_rank(const rs_run *run, rs_trace *trace, void **value, rs_error *err)
{
    const rs_tracelens_report *report = run->context;
    rank_sheets *r = rs_calloc(1, sizeof *r);
    if (!r) return rs_fail_nomem(err, "sheets");
    rs_status status = rs_tl_collectives_of(trace, &r->collectives, err);
    if (status == RS_OK && !report->collectives_only)
        status = rs_tracelens_sheets(trace, &report->options, &r->sheets, err);
    if (status == RS_OK)
        *value = r;
    else
        free_rank(r);
    return status;
}

/* The sheets over all ranks. */
static rs_status make_job(rs_tracelens_report *report, rs_result *told, rs_error *err)
{
    size_t mismatched = 0;
    const rs_tl_collectives **ranks = rs_calloc(report->n + 1, sizeof *ranks);
    if (!ranks) return rs_fail_nomem(err, "ranks");
    for (size_t i = 0; i < report->n; i++) {
        rank_sheets *r = report->ranks[i].value;
        r->collectives.rank = report->ranks[i].rank;
        ranks[i] = &r->collectives;
    }
    rs_status status =
        rs_tl_collective_sheets(ranks, report->n, report->detailed, &report->job, &mismatched, err);
    rs_free((void *)ranks);
    if (mismatched)
        rs_result_note(
            told,
            "ranks disagree about what %zu collectives are, so these are matched wrongly (TraceLens counts "
            "them from each file's beginning, and gives up here); `collectives` matches them right",
            mismatched);
    return status;
}

static void tell_empty(const rs_tracelens_report *report, rs_result *told)
{
    for (size_t i = 0; i < report->n; i++)
        if (!report->collectives_only && ((const rank_sheets *)report->ranks[i].value)->sheets.n == 0)
            rs_result_note(told, "rank %lld: nothing for a sheet: no GPU work",
                           (long long)report->ranks[i].rank);
    const bool is_asked = report->collectives_only || report->n > 1;
    if (!is_asked || report->job.n > 0) return;
    size_t n_collectives = 0;
    for (size_t i = 0; i < report->n; i++)
        n_collectives += ((const rank_sheets *)report->ranks[i].value)->collectives.n;
    if (n_collectives)
        rs_result_note(told,
                       "no sheets of collectives: of %zu on a GPU the trace does not say what they are; "
                       "`collectives` goes by their kernels",
                       n_collectives);
    else if (report->collectives_only)
        rs_result_note(told, "no collectives on a GPU");
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
    report->options.micro_ns = settings->micro_idle_ns;
    report->options.recompute = settings->recompute;
    report->options.unlinked = settings->unlinked;
    report->collectives_only = settings->collectives_only;
    report->detailed = settings->detailed;
    if (settings->device) {
        status = rs_rates_of_option(settings->device, &report->rates, err);
        report->options.rates = &report->rates;
    }
    const rs_each_rank each = {.name = "report --tracelens",
                               .columns = RS_TRACELENS_COLUMNS,
                               .rank = make_rank,
                               .takes_captures = true,
                               .free_value = free_rank,
                               .context = report};
    if (status == RS_OK) status = rs_job_each_rank(job, &each, &report->ranks, &report->n, told, err);
    if (status == RS_OK && (report->collectives_only || report->n > 1)) status = make_job(report, told, err);
    if (status == RS_OK) tell_empty(report, told);
    if (status == RS_OK)
        *out = report;
    else
        rs_tracelens_report_free(report);
    return status;
}

void rs_tracelens_report_free(rs_tracelens_report *report)
{
    if (!report) return;
    for (size_t i = 0; i < report->n; i++) free_rank(report->ranks[i].value);
    rs_free(report->ranks);
    rs_sheets_clear(&report->job);
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
    const rank_sheets *r = report->ranks[index].value;
    *n = r->sheets.n;
    return (const rs_table *const *)r->sheets.items;
}

const rs_table *const *rs_tracelens_report_job_sheets(const rs_tracelens_report *report, size_t *n)
{
    *n = report->job.n;
    return (const rs_table *const *)report->job.items;
}
