/* rankscope NAME [options] PATH...: runs the analysis of that name and shows its tables. */
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/try.h"
#include "cli/cli.h"
#include "cli/events_pages.h"
#include "cli/trace_files.h"
#include "cli/workbook.h"

static const char *const compat_names[] = {"",          "hta",   "hta-exact",
                                           "tracelens", "aorta", "straggler-analysis"};

static rs_compat compat_of(const char *name)
{
    for (rs_compat c = RS_COMPAT_HTA; name && c <= RS_COMPAT_STRAGGLER_ANALYSIS; c++)
        if (strcmp(compat_names[c], name) == 0) return c;
    return RS_COMPAT_NONE;
}

#define USUAL_ROWS "10"

/* Of analyses that have no option of this name: what is asked of them stays whole, only the text is cut. */
static const rs_option_spec top_options[] = {{"top", RS_OPTION_INT, "N", NULL, USUAL_ROWS,
                                              "text: only N rows of a table, the greatest first; 0: all"}};
const rs_option_group rs_row_options = {.title = "Rows", .specs = top_options, .n = 1};

static bool has_top(const rs_analysis *analysis)
{
    size_t n = 0;
    const rs_option_spec *specs = analysis ? rs_analysis_options(analysis, &n) : NULL;
    for (size_t i = 0; i < n; i++)
        if (strcmp(specs[i].name, "top") == 0) return true;
    return false;
}

/* What an analysis was asked to give is shown. */
size_t rs_request_rows(const rs_request *r)
{
    if (!rs_request_is_set(r, "top")) return strtoul(USUAL_ROWS, NULL, 10);
    int64_t given = rs_request_int(r, "top");
    return has_top(r->command->analysis) || given < 0 ? 0 : (size_t)given;
}

rs_status rs_request_check_rows(const rs_request *r, rs_error *err)
{
    const char *form = rs_request_text(r, "format");
    if (has_top(r->command->analysis) || !rs_request_is_set(r, "top") || !rs_request_int(r, "top"))
        return RS_OK;
    if (r->table == SIZE_MAX && (!form || strcmp(form, "text") == 0)) return RS_OK;
    return rs_fail(err, RS_ERR_USAGE,
                   "--top goes with the text of all tables: --table and the other forms have all rows");
}

/* A peer has tables of its own. */
static rs_status choose(rs_request *r, rs_error *err)
{
    const rs_analysis *analysis = r->command->analysis;
    r->render.rows = rs_request_rows(r);
    r->compat = compat_of(rs_request_text(r, "compat"));
    r->tables = rs_analysis_tables(analysis, r->compat, &r->n_tables);
    if (!r->tables) {
        char known[80] = "";
        size_t n;
        for (rs_compat c = RS_COMPAT_HTA; c <= RS_COMPAT_STRAGGLER_ANALYSIS; c++) {
            if (!rs_analysis_tables(analysis, c, &n)) continue;
            size_t used = strlen(known);
            snprintf(known + used, sizeof known - used, "%s%s", used ? ", " : "", compat_names[c]);
        }
        return rs_fail(err, RS_ERR_USAGE, "--compat %s does not apply to %s; it knows %s",
                       compat_names[r->compat], r->command->name,
                       known[0] ? known : "no other tool's numbers");
    }
    if (rs_request_flag(r, "include-last-step") && r->compat != RS_COMPAT_HTA &&
        r->compat != RS_COMPAT_HTA_EXACT)
        return rs_fail(err, RS_ERR_USAGE,
                       "--include-last-step needs --compat hta or hta-exact: by default no step is left out");
    return RS_OK;
}

static rs_status check_paths(const rs_request *r, rs_error *err)
{
    const char *name = r->command->name;
    size_t n = r->arguments.n_paths;
    switch (rs_analysis_input(r->command->analysis)) {
    case RS_INPUT_TWO_JOBS:
        if (n == 2) return RS_OK;
        return rs_fail(
            err, RS_ERR_USAGE,
            "compares two inputs, not %zu: rankscope %s [options] A B (each a trace or a directory)", n,
            name);
    case RS_INPUT_JOBS:
        if (n >= 2) return RS_OK;
        return rs_fail(
            err, RS_ERR_USAGE,
            "compares two inputs or more, not %zu: rankscope %s [options] A B [C...] (each a trace or a "
            "directory)",
            n, name);
    case RS_INPUT_FILE:
        if (n == 1) return RS_OK;
        return rs_fail(err, RS_ERR_USAGE,
                       "takes one file, not %zu: rankscope %s [options] FILE (- is standard input)", n, name);
    case RS_INPUT_TRACES:
    case RS_INPUT_RECORDINGS: break;
    }
    if (n > 0) return RS_OK;
    return rs_fail(err, RS_ERR_USAGE, "which traces? rankscope %s [options] PATH... (- is standard input)",
                   name);
}

static rs_status check(rs_request *r, rs_error *err)
{
    const char *text = rs_request_text(r, "fail-on");
    rs_gate *gate = NULL;
    if (text && rs_gate_parse(text, &gate, err) != RS_OK) return rs_error_wrap(err, "--fail-on");
    rs_gate_free(gate);
    RS_TRY(rs_request_check_rows(r, err));
    if (rs_request_is_set(r, "xlsx")) RS_TRY(rs_workbook_check(err));
    if (rs_request_is_set(r, "page")) RS_TRY(rs_report_check(err));
    return check_paths(r, err);
}

/* Each path is a job of its own. */
static rs_status run_jobs(rs_request *r, const rs_options *options, rs_result *result, rs_error *err)
{
    size_t n = r->arguments.n_paths;
    RS_LOCAL rs_job **jobs = rs_calloc(n, sizeof *jobs);
    rs_status status = jobs ? RS_OK : rs_fail_nomem(err, "jobs");
    for (size_t i = 0; status == RS_OK && i < n; i++)
        status = rs_request_open(r, &r->arguments.paths[i], 1, &jobs[i], err);
    if (status == RS_OK)
        status = rs_job_run_jobs(jobs, n, r->command->analysis, options, r->compat, result, err);
    for (size_t i = 0; jobs && i < n; i++) rs_request_close(r, jobs[i]);
    return status;
}

static rs_status run_analysis(rs_request *r, rs_result *result, rs_error *err)
{
    const rs_analysis *analysis = r->command->analysis;
    const rs_options *options = r->arguments.options[0];
    rs_job *job = NULL;
    rs_input_kind input = rs_analysis_input(analysis);
    if (input == RS_INPUT_TWO_JOBS || input == RS_INPUT_JOBS) return run_jobs(r, options, result, err);
    RS_TRY(rs_request_open(r, r->arguments.paths, r->arguments.n_paths, &job, err));
    const rs_query query = {analysis, options, r->compat, !rs_request_shows_verdict(r)};
    rs_status status = rs_events_can_stream(r) ? rs_events_stream(r, job, result, err)
                                               : rs_job_run_many(job, &query, 1, result, err);
    rs_request_close(r, job);
    return status;
}

/* ---- showing ------------------------------------------------------------------------------------------ */

static rs_status show(const rs_request *r, const rs_result *result, const rs_sink *sink, rs_error *err)
{
    if (r->table != SIZE_MAX) return rs_request_show(r, result, sink, err);
    return rs_render_answer(r->command->analysis, r->compat, result, &r->render, sink, err);
}

static bool is_for_traces(const rs_table *table)
{
    const char *name = rs_table_get_spec(table)->name;
    return strcmp(name, "files") == 0 || strcmp(name, "overlay") == 0 || strcmp(name, "marks") == 0;
}

/* A table that is written to a file in a form of its own, next to the others. */
typedef struct beside {
    const rs_table *table;
    rs_rewrite_settings settings;
} beside;

static rs_status write_ideal(void *context, const rs_sink *sink, rs_error *err)
{
    const beside *b = context;
    return rs_ideal_trace_write(b->table, sink, err);
}

static rs_status write_counters(void *context, const rs_sink *sink, rs_error *err)
{
    const beside *b = context;
    return rs_counters_write(b->table, &b->settings, sink, err);
}

/* The options that name such a file, by command: annotate's --counters is a list. The table is the last one. */
static const struct {
    const char *command, *option;
    rs_write_fn write;
} files_beside[] = {{"whatif", "ideal-trace", write_ideal}, {"memory", "counters", write_counters}};

/* whatif --ideal-trace, memory --counters: the file, and all tables but the last. */
static int deliver_file(rs_request *r, const rs_result *result, const char *path, rs_write_fn write)
{
    rs_error err = RS_ERROR_INIT;
    beside b = {result->tables[result->n_tables - 1], {.name = path}};
    rs_result shown = *result;
    shown.n_tables--;
    int code = rs_request_deliver(r, &shown);
    if (code != RS_EXIT_OK && code != RS_EXIT_FOUND && code != RS_EXIT_LOSS) return code;
    rs_status status = rs_output_put(path, true, r->command->name, write, &b, &err);
    return status == RS_OK ? code : rs_complain_error(NULL, &err);
}

typedef struct comparison {
    const rs_request *request;
    const rs_result *result;
} comparison;

static rs_status write_page(void *context, const rs_sink *sink, rs_error *err)
{
    const comparison *c = context;
    return rs_report_write_comparison(c->request->arguments.paths, c->request->arguments.n_paths, c->result,
                                      sink, err);
}

static int deliver_page(const rs_request *r, const rs_result *result, const char *path)
{
    comparison c = {r, result};
    rs_error err = RS_ERROR_INIT;
    rs_status status = rs_output_put(path, false, r->command->name, write_page, &c, &err);
    return status == RS_OK ? RS_EXIT_OK : rs_complain_error(NULL, &err);
}

/* A workbook and a page next to the tables, also of a comparison that --fail-on or a loss ends with another code. */
static int deliver_beside(const rs_request *r, const rs_result *result, int code)
{
    const char *xlsx = rs_request_text(r, "xlsx"), *page = rs_request_text(r, "page");
    int written = RS_EXIT_OK;
    if (code != RS_EXIT_OK && code != RS_EXIT_FOUND && code != RS_EXIT_LOSS) return code;
    if (xlsx) written = rs_deliver_workbook(r, result, xlsx);
    if (written == RS_EXIT_OK && page) written = deliver_page(r, result, page);
    return written == RS_EXIT_OK ? code : written;
}

/* annotate's -o is the trace; --overlay is one next to the tables. */
static int deliver(rs_request *r, const rs_result *result)
{
    if (r->shown) return RS_EXIT_OK;
    const char *name = r->command->name, *output = rs_request_text(r, "output");
    const char *overlay = rs_request_text(r, "overlay"), *edges = rs_request_text(r, "overlay-edges");
    rs_rewrite_settings settings = {.size = sizeof(rs_rewrite_settings), .max_ratio = r->job.max_ratio};
    if (strcmp(name, "annotate") == 0 && output && strcmp(output, "-") != 0)
        return rs_write_traces(result, output, name, &settings);
    for (size_t i = 0; i < sizeof files_beside / sizeof *files_beside; i++) {
        if (strcmp(name, files_beside[i].command) != 0) continue;
        const char *path = rs_request_text(r, files_beside[i].option);
        if (path) return deliver_file(r, result, path, files_beside[i].write);
    }
    rs_result shown = *result; /* without the tables that only the written trace needs, which come last */
    while (overlay && shown.n_tables > 1 && is_for_traces(shown.tables[shown.n_tables - 1])) shown.n_tables--;
    int code = rs_request_deliver(r, &shown);
    if (rs_analysis_input(r->command->analysis) == RS_INPUT_JOBS) return deliver_beside(r, result, code);
    if (code != RS_EXIT_OK || !overlay) return code;
    settings.compress = !rs_request_flag(r, "no-compress");
    settings.keep_all = edges && strcmp(edges, "all") == 0;
    return rs_write_traces(result, overlay, name, &settings);
}

/* What compares jobs can write a workbook and a page. */
static const rs_option_spec beside_options[] = {
    {"xlsx", RS_OPTION_TEXT, "FILE", NULL, NULL,
     "write a workbook, too: a sheet for each table, and a line chart over an axis"},
    {"page", RS_OPTION_TEXT, "FILE", NULL, NULL,
     "write a page, too: the largest differences of each input, its tables, and a line chart over an axis"},
};

void rs_describe_analysis(const rs_analysis *analysis, rs_command *out)
{
    static const char *const usages[] = {[RS_INPUT_TRACES] = "[options] PATH...",
                                         [RS_INPUT_TWO_JOBS] = "[options] A B",
                                         [RS_INPUT_JOBS] = "[options] A B [C...]",
                                         [RS_INPUT_RECORDINGS] = "[options] PATH...",
                                         [RS_INPUT_FILE] = "[options] FILE"};
    size_t n;
    const rs_option_spec *specs = rs_analysis_options(analysis, &n);
    *out = (rs_command){.name = rs_analysis_name(analysis),
                        .group = rs_analysis_group(analysis),
                        .help = rs_analysis_help(analysis),
                        .usage = usages[rs_analysis_input(analysis)],
                        .about = rs_analysis_about(analysis),
                        .examples = rs_analysis_examples(analysis),
                        .groups = {{.title = "Options", .specs = specs, .n = n},
                                   {.base = &rs_input_options},
                                   {.base = &rs_output_options}},
                        .n_groups = 3,
                        .analysis = analysis,
                        .choose = choose,
                        .check = check,
                        .body = run_analysis,
                        .show = show,
                        .deliver = deliver};
    if (rs_render_cuts(analysis) && !has_top(analysis))
        out->groups[out->n_groups++] = (rs_option_group){.base = &rs_row_options};
    if (rs_analysis_input(analysis) == RS_INPUT_JOBS)
        out->groups[out->n_groups++] = (rs_option_group){.title = "Workbook and page",
                                                         .specs = beside_options,
                                                         .n = sizeof beside_options / sizeof *beside_options};
}
