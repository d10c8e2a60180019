/* The report's section on rank metrics. */
#include "base/memory.h"
#include "base/try.h"
#include "rankscope/metrics.h"
#include "report/section.h"

typedef struct answer {
    rs_metrics *metrics;
    rs_result result;
} answer;

static bool is_asked(const rs_report_settings *settings)
{
    return settings->n_metrics > 0;
}

static rs_status read_runs(const rs_report_settings *settings, answer *a, rs_problems *problems,
                           rs_error *err)
{
    const rs_report_run *runs = settings->metrics;
    rs_metrics_settings metrics = {.size = sizeof(rs_metrics_settings),
                                   .skip_warmup = RS_METRICS_WARMUP,
                                   .jobs = settings->jobs,
                                   .progress = settings->progress,
                                   .progress_context = settings->progress_context};
    RS_TRY(rs_metrics_create(&metrics, &a->metrics, err));
    for (size_t i = 0; i < settings->n_metrics; i++)
        RS_TRY(rs_metrics_add(a->metrics, runs[i].label, runs[i].directory, err));
    if (settings->n_metrics > 1) RS_TRY(rs_metrics_compare(a->metrics, runs[0].label, runs[1].label, err));
    RS_TRY(rs_metrics_read(a->metrics, problems, err));
    return rs_metrics_result(a->metrics, &a->result, err);
}

static rs_status gather(const rs_report_settings *settings, void **out, rs_result *told, rs_error *err)
{
    rs_problems problems = {0};
    answer *a = rs_calloc(1, sizeof *a);
    *out = a;
    if (!a) return rs_fail_nomem(err, "metrics");
    rs_status status = read_runs(settings, a, &problems, err);
    rs_report_tell_problems(told, &problems);
    rs_problems_move(&a->result.problems, &problems);
    return status == RS_OK ? RS_OK : rs_error_wrap(err, "metrics");
}

static rs_status put(rs_report_data *data, void *from, rs_error *err)
{
    const rs_result *result = &((const answer *)from)->result;
    const rs_report_part all = {.cap = RS_REPORT_WHOLE_TABLE};
    bool first = true;
    rs_writer_text(data->writer, "{\"tables\":{");
    for (size_t i = 0; i < result->n_tables; i++) {
        if (!result->tables[i]) continue;
        RS_TRY(rs_report_put_part(data, result->tables[i], &all, first, err));
        first = false;
    }
    rs_writer_char(data->writer, '}');
    rs_report_put_notes(data, result);
    rs_writer_char(data->writer, '}');
    return RS_OK;
}

static void free_answer(void *from)
{
    answer *a = from;
    if (!a) return;
    rs_result_clear(&a->result);
    rs_metrics_free(a->metrics);
    rs_free(a);
}

const rs_report_section rs_report_section_metrics = {
    .name = "metrics", .is_asked = is_asked, .gather = gather, .put = put, .free = free_answer};
