#include "report/gather.h"

#include <string.h>

#include "base/memory.h"

/* Caps keep the page of a large job small; the page says where one was met. Steps and kernels are what grows
 * with ranks, so their columns are chosen. */
const rs_report_question rs_report_questions[] = {
    {"info",
     {{NULL}},
     {{"ranks",
       "rank,file,split_by,packing,text_bytes,events,lost,span_us,steps,first_step,last_step,gpu_events,"
       "device_name,backend,world_size",
       2048, NULL},
      {"software", NULL, 8192, NULL}}},
    {"doctor", {{NULL}}, {{"findings", NULL, 4096, NULL}}},
    {"summary",
     {{NULL}},
     {{"ranks", NULL, 2048, NULL},
      {"kernels", NULL, 64, NULL},
      {"operators", NULL, 64, NULL},
      {"findings", NULL, 64, NULL}}},
    {"breakdown", {{NULL}}, {{"breakdown", NULL, 2048, NULL}}},
    {"overlap", {{NULL}}, {{"overlap", NULL, 2048, NULL}}},
    {"steps",
     {{NULL}},
     {{"steps",
       "rank,step,length_us,vs_median_pct,gpu_span_us,compute_us,exposed_comm_us,idle_us,host_wait_us,"
       "data_loading_us",
       6400, "length_us"}}},
    {"kernels",
     {{"top", "40"}, {"duration-ratio", "1"}},
     {{"kernels", "rank,name,class,names,count,sum_us,share_pct,mean_us,min_us,max_us", 3200, "sum_us"},
      {"types", NULL, 2048, NULL}}},
    {"ops",
     {{NULL}},
     {{"across", NULL, 500, "mean_us"},
      {"ops",
       "rank,name,count,total_direct_kernel_time_us,total_subtree_kernel_time_us,kernels,share_pct,"
       "categories",
       2000, "total_direct_kernel_time_us"}}},
    {"roofline",
     {{NULL}},
     {{"args",
       "rank,name,model,exact,count,kernel_us,precision,flops_per_byte,tflops_per_s,gb_per_s,bound,bound_us,"
       "efficiency_pct,input_dims,input_types",
       1200, "kernel_us"},
      {"models", NULL, 2048, "kernel_us"},
      {"gemms",
       "rank,name,count,kernel_us,best_us,best_rank,best_tflops_per_s,gain_us,gain_pct,input_dims,input_types",
       200, "gain_us"},
      {"roofs", NULL, 4096, NULL}}},
    {"mfu", {{NULL}}, {{"mfu", NULL, 3200, NULL}}},
    {"modules", {{NULL}}, {{"modules", NULL, 1200, "total_us"}, {"phases", NULL, 8192, NULL}}},
    {"fragments", {{NULL}}, {{"fragments", NULL, 2048, NULL}, {"kernels", NULL, 600, "sum_us"}}},
    {"idle", {{NULL}}, {{"idle", NULL, 2048, "idle_us"}}},
    {"launches", {{NULL}}, {{"launches", NULL, 2048, "delay_us"}}},
    {"queue", {{NULL}}, {{"queue", NULL, 2048, "max"}}},
    {"collectives",
     {{NULL}},
     {{"collectives",
       "index,group,description,number,collective,message_bytes,group_size,ranks,start_us,transfer_us,"
       "max_wait_us,sum_wait_us,first_rank,last_rank,algorithm_gbps,bus_gbps",
       400, "sum_wait_us"},
      {"summary", NULL, 500, "total_transfer_us"},
      {"lateness", NULL, 2048, NULL},
      {"clocks", NULL, 2048, NULL}}},
    {"exchange", {{NULL}}, {{"exchange", NULL, 16384, "bytes"}, {"ranks", NULL, 2048, NULL}}},
};
const size_t rs_report_n_questions = sizeof rs_report_questions / sizeof *rs_report_questions;

/* ---- problems and notes ------------------------------------------------------------------------------- */

/* Every run over the same files meets the same defects: each is told once, with its largest count. */
static void tell_problems(rs_result *told, const rs_problems *problems)
{
    for (size_t i = 0; i < problems->n; i++) {
        const rs_problem *p = &problems->items[i];
        size_t at = 0;
        for (; at < told->problems.n; at++) {
            const rs_problem *q = &told->problems.items[at];
            bool same_file = q->file && p->file ? strcmp(q->file, p->file) == 0 : q->file == p->file;
            if (same_file && q->rank == p->rank && strcmp(q->kind, p->kind) == 0) break;
        }
        if (at < told->problems.n) {
            rs_problem *known = &told->problems.items[at];
            if (p->count > known->count) known->count = p->count;
            if (p->severity > known->severity) known->severity = p->severity;
            continue;
        }
        rs_problems_add_many(&told->problems, p->file, p->rank, p->severity, p->kind, p->message,
                             p->n_offsets ? p->offsets[0] : RS_NO_OFFSET, p->count, p->detail);
        rs_problem *added = told->problems.n ? &told->problems.items[told->problems.n - 1] : NULL;
        if (!added || strcmp(added->kind, p->kind) != 0) continue; /* memory ran out: it counts as dropped */
        added->n_offsets = p->n_offsets;
        memcpy(added->offsets, p->offsets, sizeof added->offsets);
    }
    if (problems->n_dropped > told->problems.n_dropped) told->problems.n_dropped = problems->n_dropped;
}

static void tell(rs_result *told, const rs_result *result)
{
    tell_problems(told, &result->problems);
    told->found |= result->found;
}

/* ---- asking ------------------------------------------------------------------------------------------- */

static rs_status make_options(const rs_report_question *q, const rs_analysis *analysis, rs_options **out,
                              rs_error *err)
{
    size_t n;
    if (!analysis) return rs_fail(err, RS_ERR_USAGE, "there is no analysis \"%s\"", q->analysis);
    const rs_option_spec *specs = rs_analysis_options(analysis, &n);
    rs_status status = rs_options_create(specs, n, out, err);
    for (size_t i = 0; status == RS_OK && i < RS_REPORT_OPTIONS && q->options[i][0]; i++)
        status = rs_options_set(*out, q->options[i][0], q->options[i][1], err);
    return status;
}

/* Each rank is loaded once for all questions. */
static rs_status ask_traces(rs_job *job, rs_report_answers *out, rs_result *told, rs_error *err)
{
    const size_t n = rs_report_n_questions;
    size_t n_asked = 0; /* what looks at the whole job is left out where only a part is asked about */
    rs_query *queries = rs_calloc(n, sizeof *queries);
    rs_options **options = rs_calloc(n, sizeof *options);
    rs_status status = RS_OK;
    out->results = rs_calloc(n, sizeof *out->results);
    if (!queries || !options || !out->results) status = rs_fail_nomem(err, "the questions");
    for (size_t i = 0; status == RS_OK && i < n; i++) {
        const rs_analysis *analysis = rs_analysis_find(rs_report_questions[i].analysis);
        status = make_options(&rs_report_questions[i], analysis, &options[i], err);
        if (analysis && rs_job_can_ask(job, analysis, NULL) == RS_OK)
            queries[n_asked++] = (rs_query){.analysis = analysis, .options = options[i]};
    }
    if (status == RS_OK) {
        status = rs_job_run_many(job, queries, n_asked, out->results, err);
        out->n = n;
        for (size_t i = n, at = n_asked; at > 0; i--) { /* each to its question */
            if (queries[at - 1].options != options[i - 1]) continue;
            if (--at == i - 1) continue;
            out->results[i - 1] = out->results[at];
            out->results[at] = (rs_result){0};
        }
    }
    for (size_t i = 0; i < out->n; i++) tell(told, &out->results[i]);
    for (size_t i = 0; options && i < n; i++) rs_options_free(options[i]);
    rs_free(options);
    rs_free(queries);
    return status;
}

/* No usable dump is an answer, too: the page shows why. */
static rs_status ask_flight(const rs_report_settings *settings, rs_report_answers *out, rs_result *told,
                            rs_error *err)
{
    rs_flight_settings flight = {.jobs = settings->jobs,
                                 .progress = settings->progress,
                                 .progress_context = settings->progress_context};
    const rs_flight_report *report;
    rs_status status = rs_flight_open(settings->flight, settings->n_flight, &flight, &out->flight, err);
    if (out->flight) tell_problems(told, rs_flight_problems(out->flight));
    if (status == RS_ERR_FORMAT && out->flight) {
        told->found = true;
        return RS_OK;
    }
    if (status == RS_OK) status = rs_flight_get_report(out->flight, &report, err);
    if (status == RS_OK) told->found |= report->root.verdict != RS_FLIGHT_HEALTHY;
    return status == RS_OK ? RS_OK : rs_error_wrap(err, "flight recorder");
}

static rs_status ask_metrics(const rs_report_settings *settings, rs_report_answers *out, rs_result *told,
                             rs_error *err)
{
    rs_metrics_settings metrics = {.skip_warmup = RS_METRICS_WARMUP,
                                   .jobs = settings->jobs,
                                   .progress = settings->progress,
                                   .progress_context = settings->progress_context};
    rs_problems problems = {0};
    rs_status status = rs_metrics_create(&metrics, &out->metrics, err);
    for (size_t i = 0; status == RS_OK && i < settings->n_metrics; i++)
        status =
            rs_metrics_add(out->metrics, settings->metrics[i].label, settings->metrics[i].directory, err);
    if (status == RS_OK && settings->n_metrics > 1)
        status =
            rs_metrics_compare(out->metrics, settings->metrics[0].label, settings->metrics[1].label, err);
    if (status == RS_OK) status = rs_metrics_read(out->metrics, &problems, err);
    if (status == RS_OK) status = rs_metrics_result(out->metrics, &out->metrics_result, err);
    tell_problems(told, &problems);
    rs_problems_move(&out->metrics_result.problems, &problems);
    return status == RS_OK ? RS_OK : rs_error_wrap(err, "metrics");
}

rs_status rs_report_gather(rs_job *job, const rs_report_settings *settings, rs_report_answers *out,
                           rs_result *told, rs_error *err)
{
    rs_status status = RS_OK;
    if (settings->n_flight) status = ask_flight(settings, out, told, err);
    if (status == RS_OK && settings->n_metrics) status = ask_metrics(settings, out, told, err);
    return status == RS_OK ? ask_traces(job, out, told, err) : status;
}

void rs_report_answers_clear(rs_report_answers *answers)
{
    for (size_t i = 0; i < answers->n; i++) rs_result_clear(&answers->results[i]);
    rs_free(answers->results);
    rs_flight_close(answers->flight);
    rs_result_clear(&answers->metrics_result);
    rs_metrics_free(answers->metrics);
    *answers = (rs_report_answers){0};
}
