#include "report/gather.h"

#include <string.h>

#include "base/memory.h"
#include "base/try.h"

/* Of all ranks together: graphs of more take gigabytes, which a page is not worth. */
#define MOST_EVENTS "32000000"

/* Caps keep the page of a large job small; the page says where one was met. Steps and kernels are what grows
 * with ranks, so their columns are chosen. */
const rs_report_question rs_report_questions[] = {
    {"info",
     "info",
     {{NULL}},
     {{"ranks",
       "rank,file,split_by,packing,text_bytes,events,lost,span_us,steps,first_step,last_step,gpu_events,"
       "device_name,backend,world_size",
       2048, NULL},
      {"software", NULL, 8192, NULL}},
     false},
    {"doctor", "doctor", {{NULL}}, {{"findings", NULL, 4096, NULL}}, false},
    {"summary",
     "summary",
     {{NULL}},
     {{"ranks", NULL, 2048, NULL},
      {"kernels", NULL, 64, NULL},
      {"operators", NULL, 64, NULL},
      {"findings", NULL, 64, NULL}},
     false},
    {"breakdown", "breakdown", {{NULL}}, {{"breakdown", NULL, 2048, NULL}}, false},
    {"overlap", "overlap", {{NULL}}, {{"overlap", NULL, 2048, NULL}}, false},
    {"steps",
     "steps",
     {{NULL}},
     {{"steps",
       "rank,step,start_us,length_us,vs_median_pct,gpu_span_us,compute_us,exposed_comm_us,idle_us,host_wait_us,"
       "data_loading_us",
       6400, "length_us"}},
     false},
    {"whatif",
     "whatif",
     {{"map", NULL}},
     {{"workers", "rank,dp_rank,stage,slowdown,slowest,host,role,gain_us,gain_pct", 4096, "slowdown"}},
     true},
    {"kernels",
     "kernels",
     {{"top", "40"}, {"duration-ratio", "1"}},
     {{"kernels", "rank,name,class,names,count,sum_us,share_pct,mean_us,min_us,max_us", 3200, "sum_us"},
      {"types", NULL, 2048, NULL}},
     false},
    {"ops",
     "ops",
     {{NULL}},
     {{"across", NULL, 500, "mean_us"},
      {"ops",
       "rank,name,count,total_direct_kernel_time_us,total_subtree_kernel_time_us,kernels,share_pct,"
       "categories",
       2000, "total_direct_kernel_time_us"}},
     false},
    {"roofline",
     "roofline",
     {{NULL}},
     {{"args",
       "rank,name,model,exact,count,kernel_us,precision,flops_per_byte,tflops_per_s,gb_per_s,bound,bound_us,"
       "efficiency_pct,input_dims,input_types",
       1200, "kernel_us"},
      {"models", NULL, 2048, "kernel_us"},
      {"gemms",
       "rank,name,count,kernel_us,best_us,best_rank,best_tflops_per_s,gain_us,gain_pct,input_dims,input_types",
       200, "gain_us"},
      {"roofs", NULL, 4096, NULL}},
     false},
    {"mfu", "mfu", {{NULL}}, {{"mfu", NULL, 3200, NULL}}, false},
    {"modules",
     "modules",
     {{NULL}},
     {{"modules", NULL, 1200, "total_us"}, {"phases", NULL, 8192, NULL}},
     false},
    {"fragments", "fragments", {{NULL}}, {{"fragments", NULL, 2048, NULL}}, false},
    {"idle", "idle", {{NULL}}, {{"idle", NULL, 2048, "idle_us"}}, false},
    {"launches", "launches", {{NULL}}, {{"launches", NULL, 2048, "delay_us"}}, false},
    {"queue", "queue", {{NULL}}, {{"queue", NULL, 2048, "max"}}, false},
    {"collectives",
     "collectives",
     {{NULL}},
     {{"collectives",
       "index,group,description,number,collective,message_bytes,group_size,ranks,start_us,transfer_us,"
       "max_wait_us,sum_wait_us,first_rank,last_rank,algorithm_gbps,bus_gbps",
       400, "sum_wait_us"},
      {"summary", NULL, 500, "total_transfer_us"},
      {"lateness", NULL, 2048, NULL},
      {"clocks", NULL, 2048, NULL},
      {"waits", NULL, 2048, "wait_us"}},
     false},
    {"exchange",
     "exchange",
     {{NULL}},
     {{"exchange", NULL, 16384, "bytes"}, {"ranks", NULL, 2048, NULL}},
     false},
    {"serving",
     "serving",
     {{"top", "0"}}, /* the first rows of a rank are of one phase */
     {{"latency", NULL, 1024, NULL}, {"host", NULL, 300, "time_us"}, {"differences", NULL, 600, "more_us"}},
     false},
    {"map", "map", {{NULL}}, {{NULL, NULL, 0, NULL}}, false},
    {"tree", "tree", {{"across", NULL}, {"depth", "24"}}, {{"across", NULL, 1000, "gpu_us"}}, false},
    {"path",
     "blame",
     {{"most-events", MOST_EVENTS}, {"path", "all"}},
     {{"chain", "rank,part,end_us,duration_us", 2000, "duration_us"}},
     true},
    {"blame",
     "blame",
     {{"most-events", MOST_EVENTS}},
     {{"totals", NULL, 8, NULL},
      {"blame", "wait,waiting_rank,rank,part,blame_us,share_pct,instances", 300, "blame_us"}},
     true},
    {"replay",
     "replay",
     {{"most-events", MOST_EVENTS}},
     {{"replay",
       "rank,step,recorded_us,model_error_pct,held_out_error_pct,gpu_error_pct,unexplained_us,unexplained_pct,"
       "inferred_edges,trusted,reason",
       2048, "recorded_us"}},
     true},
    {"clocks",
     "clocks",
     {{NULL}},
     {{"clocks",
       "rank,host,host_from,status,offset_us,low_us,high_us,certain_low_us,certain_high_us,drift_ppm,"
       "gpu_offset_us,collectives,set_aside",
       2048, NULL}},
     true},
};
const size_t rs_report_n_questions = sizeof rs_report_questions / sizeof *rs_report_questions;

/* ---- problems and notes ------------------------------------------------------------------------------- */

void rs_report_tell_problems(rs_result *told, const rs_problems *problems)
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
    rs_report_tell_problems(told, &result->problems);
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

/* What looks at the whole job is left out where only a part is asked about. */
static bool is_asked(rs_job *job, const rs_report_question *q, bool over_ranks)
{
    const rs_analysis *analysis = rs_analysis_find(q->analysis);
    return q->over_ranks == over_ranks && analysis && rs_job_can_ask(job, analysis, NULL) == RS_OK;
}

/* Asks some of the questions; each rank is loaded once for all of them. */
static rs_status ask_some(rs_job *job, const bool *wanted, rs_report_answers *out, rs_error *err)
{
    const size_t n = rs_report_n_questions;
    size_t n_asked = 0;
    RS_LOCAL rs_query *queries = rs_calloc(n, sizeof *queries);
    RS_LOCAL rs_options **options = rs_calloc(n, sizeof *options);
    RS_LOCAL rs_result *results = rs_calloc(n, sizeof *results);
    rs_status status = queries && options && results ? RS_OK : rs_fail_nomem(err, "the questions");
    for (size_t i = 0; status == RS_OK && i < n; i++) {
        const rs_analysis *analysis = rs_analysis_find(rs_report_questions[i].analysis);
        if (analysis && !wanted[i]) continue;
        status = make_options(&rs_report_questions[i], analysis, &options[i], err);
        queries[n_asked++] = (rs_query){.analysis = analysis, .options = options[i]};
    }
    if (status == RS_OK && n_asked) {
        status = rs_job_run_many(job, queries, n_asked, results, err);
        for (size_t i = 0, at = 0; i < n; i++)
            if (wanted[i]) out->results[i] = results[at++];
    }
    for (size_t i = 0; options && i < n; i++) rs_options_free(options[i]);
    return status;
}

/* The ranks that `info` found. */
static size_t n_ranks(const rs_report_answers *out)
{
    for (size_t i = 0; i < out->n; i++) {
        if (strcmp(rs_report_questions[i].name, "info") != 0 || !out->results[i].tables) continue;
        const rs_table *ranks = rs_result_table(&out->results[i], "ranks");
        return ranks ? rs_table_n_rows(ranks) : 0;
    }
    return 0;
}

/* What was asked over ranks and has no answer is told among the problems: the rest of the page stands. */
static rs_status forgive(rs_report_answers *out, const bool *asked, rs_status status, const rs_error *why,
                         rs_result *told, rs_error *err)
{
    char text[512];
    if (status == RS_OK) return RS_OK;
    bool whole = status != RS_ERR_CANCELLED && status != RS_ERR_IO;
    for (size_t i = 0; i < out->n; i++)
        whole = whole && (!asked[i] || rs_report_questions[i].over_ranks || out->results[i].tables);
    if (!whole) {
        if (err) *err = *why;
        return status;
    }
    rs_problems_add_many(&told->problems, NULL, -1, RS_NOTE, "over_ranks",
                         "a question over all ranks has no answer", RS_NO_OFFSET, 1,
                         rs_error_text(why, text, sizeof text));
    return RS_OK;
}

/* Questions over ranks are asked with the others where several files are given. One file is seldom several
 * ranks: it is loaded again for them then. */
static rs_status ask_traces(rs_job *job, rs_report_answers *out, rs_result *told, rs_error *err)
{
    const size_t n = rs_report_n_questions;
    bool several = rs_job_n_files(job) > 1;
    RS_LOCAL bool *asked = rs_calloc(n, sizeof *asked), *later = rs_calloc(n, sizeof *later);
    rs_error why = RS_ERROR_INIT;
    out->results = rs_calloc(n, sizeof *out->results);
    rs_status status = asked && later && out->results ? RS_OK : rs_fail_nomem(err, "the questions");
    if (status == RS_OK) {
        out->n = n;
        for (size_t i = 0; i < n; i++) {
            later[i] = is_asked(job, &rs_report_questions[i], true);
            asked[i] = is_asked(job, &rs_report_questions[i], false) || (several && later[i]);
        }
        status = forgive(out, asked, ask_some(job, asked, out, &why), &why, told, err);
    }
    bool from_file = rs_job_n_files(job) == 1 && strcmp(rs_job_get_file(job, 0).name, "-") != 0;
    if (status == RS_OK && !several && from_file && n_ranks(out) > 1)
        status = forgive(out, later, ask_some(job, later, out, &why), &why, told, err);
    for (size_t i = 0; i < out->n; i++) tell(told, &out->results[i]);
    return status;
}

/* What no built section answers is an error, not a page without it. */
static rs_status check_sections(const rs_report_settings *settings, rs_error *err)
{
    const struct {
        const char *name;
        size_t n;
    } asked[] = {{"flight", settings->n_flight}, {"metrics", settings->n_metrics}};
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        size_t at = 0;
        while (rs_report_section_rows[at] && strcmp(rs_report_section_rows[at]->name, asked[i].name) != 0)
            at++;
        if (asked[i].n && !rs_report_section_rows[at])
            return rs_fail(err, RS_ERR_USAGE, "this rankscope was built without the pack %s", asked[i].name);
    }
    return RS_OK;
}

static rs_status ask_sections(const rs_report_settings *settings, rs_report_answers *out, rs_result *told,
                              rs_error *err)
{
    size_t n = 0;
    while (rs_report_section_rows[n]) n++;
    out->sections = rs_calloc(n + 1, sizeof *out->sections);
    if (!out->sections) return rs_fail_nomem(err, "the sections");
    RS_TRY(check_sections(settings, err));
    for (size_t i = 0; i < n; i++) {
        const rs_report_section *section = rs_report_section_rows[i];
        if (section->is_asked(settings)) RS_TRY(section->gather(settings, &out->sections[i], told, err));
    }
    return RS_OK;
}

rs_status rs_report_gather(rs_job *job, const rs_report_settings *settings, rs_report_answers *out,
                           rs_result *told, rs_error *err)
{
    RS_TRY(ask_sections(settings, out, told, err));
    return ask_traces(job, out, told, err);
}

void rs_report_answers_clear(rs_report_answers *answers)
{
    for (size_t i = 0; i < answers->n; i++) rs_result_clear(&answers->results[i]);
    rs_free(answers->results);
    for (size_t i = 0; answers->sections && rs_report_section_rows[i]; i++)
        rs_report_section_rows[i]->free(answers->sections[i]);
    rs_free(answers->sections);
    *answers = (rs_report_answers){0};
}
