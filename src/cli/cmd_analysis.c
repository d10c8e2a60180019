/* rankscope NAME [options] PATH...: runs the analysis of that name and shows its tables. */
#include <stdio.h>
#include <sys/resource.h>

#include "analysis/gate.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/suggest.h"
#include "cli/cli.h"
#include "cli/faces.h"
#include "cli/trace_files.h"

typedef struct request {
    const rs_command *command;
    rs_arguments arguments;
    const rs_options *own, *in, *out;
    rs_compat compat;
    const rs_table_spec *const *tables;
    size_t n_tables;
    size_t table; /* --table; SIZE_MAX: none chosen */
    rs_job_settings settings;
    rs_render_settings render;
    bool quiet;
} request;

static const char *const compat_names[] = {"", "hta", "hta-exact", "tracelens", "aorta"};

static rs_compat compat_of(const char *name)
{
    for (rs_compat c = RS_COMPAT_HTA; name && c <= RS_COMPAT_AORTA; c++)
        if (strcmp(compat_names[c], name) == 0) return c;
    return RS_COMPAT_NONE;
}

static rs_status choose_compat(request *r, rs_error *err)
{
    const rs_analysis *analysis = r->command->analysis;
    r->compat = compat_of(rs_options_text(r->in, "compat"));
    r->tables = rs_analysis_tables(analysis, r->compat, &r->n_tables);
    if (!r->tables) {
        char known[80] = "";
        size_t n;
        for (rs_compat c = RS_COMPAT_HTA; c <= RS_COMPAT_AORTA; c++) {
            if (!rs_analysis_tables(analysis, c, &n)) continue;
            size_t used = strlen(known);
            snprintf(known + used, sizeof known - used, "%s%s", used ? ", " : "", compat_names[c]);
        }
        return rs_fail(err, RS_ERR_USAGE, "--compat %s does not apply to %s; it knows %s",
                       compat_names[r->compat], r->command->name,
                       known[0] ? known : "no other tool's numbers");
    }
    if (rs_options_flag(r->in, "include-last-step") && r->compat != RS_COMPAT_HTA &&
        r->compat != RS_COMPAT_HTA_EXACT)
        return rs_fail(err, RS_ERR_USAGE,
                       "--include-last-step needs --compat hta or hta-exact: by default no step is left out");
    return RS_OK;
}

static rs_status choose_table(request *r, rs_error *err)
{
    const char *name = rs_options_text(r->out, "table");
    r->table = SIZE_MAX;
    if (!name) return RS_OK;
    rs_suggestion nearest = {0};
    for (size_t i = 0; i < r->n_tables; i++) {
        if (strcmp(r->tables[i]->name, name) == 0) {
            r->table = i;
            return RS_OK;
        }
        rs_suggest_from(&nearest, name, r->tables[i]->name);
    }
    if (nearest.best)
        return rs_fail(err, RS_ERR_USAGE, "there is no table \"%.60s\"; did you mean %s?", name,
                       nearest.best);
    char known[200] = "";
    for (size_t i = 0; i < r->n_tables; i++) {
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", used ? ", " : "", r->tables[i]->name);
    }
    return rs_fail(err, RS_ERR_USAGE, "there is no table \"%.60s\"; there is %s", name, known);
}

static rs_status choose_settings(request *r, rs_error *err)
{
    rs_status status = rs_job_settings_of(r->in, &r->settings, err);
    r->settings.absolute = rs_options_flag(r->in, "absolute");
    r->settings.include_last_step = rs_options_flag(r->in, "include-last-step");
    return status;
}

static void choose_rendering(request *r)
{
    const char *color = rs_options_text(r->out, "color"), *format = rs_options_text(r->out, "format");
    bool to_file = rs_options_text(r->out, "output") && strcmp(rs_options_text(r->out, "output"), "-") != 0;
    r->render = rs_terminal_settings(strcmp(color, "always") == 0  ? RS_COLOR_ALWAYS
                                     : strcmp(color, "never") == 0 ? RS_COLOR_NEVER
                                     : to_file                     ? RS_COLOR_NEVER
                                                                   : RS_COLOR_AUTO);
    if (to_file) r->render.width = 0;
    r->render.form = rs_output_form_find(format);
    r->quiet = rs_options_flag(r->out, "quiet");
}

/* A gate that cannot be read is told before gigabytes are. */
static rs_status check_gate(const request *r, rs_error *err)
{
    const rs_options *options = rs_arguments_of(r->command, &r->arguments, "fail-on");
    const char *text = options ? rs_options_text(options, "fail-on") : NULL;
    rs_gate *gate = NULL;
    rs_status status = text ? rs_gate_parse(text, &gate, err) : RS_OK;
    rs_gate_free(gate);
    return status == RS_OK ? RS_OK : rs_error_wrap(err, "--fail-on");
}

static rs_status check_request(request *r, rs_error *err)
{
    rs_status status = choose_compat(r, err);
    if (status == RS_OK) status = choose_table(r, err);
    if (status == RS_OK) status = choose_settings(r, err);
    if (status == RS_OK) status = check_gate(r, err);
    choose_rendering(r);
    return status;
}

/* ---- showing ------------------------------------------------------------------------------------------ */

static rs_status show_face(rs_face_fn face, const request *r, const rs_result *result, const rs_sink *sink,
                           rs_error *err)
{
    rs_writer writer;
    rs_writer_init(&writer, sink);
    rs_layout layout = {
        .writer = &writer, .width = r->render.width, .color = r->render.color, .utf8 = r->render.utf8};
    rs_status status = face(result, &layout, err);
    return status == RS_OK ? rs_writer_finish(&writer, err) : status;
}

static rs_status show(const request *r, const rs_result *result, const rs_sink *sink, rs_error *err)
{
    /* faces lay out our own tables, not a peer's */
    rs_face_fn face = r->compat == RS_COMPAT_NONE ? rs_face_find(r->command->name) : NULL;
    if (r->table != SIZE_MAX) {
        rs_result one = *result; /* a view of one table */
        one.tables = &result->tables[r->table];
        one.n_tables = 1;
        return rs_render_result(&one, 0, &r->render, sink, err);
    }
    if (face && rs_renders_as(&r->render, "text")) return show_face(face, r, result, sink, err);
    rs_render_settings render = r->render;
    render.nest_by = rs_face_nests(r->command->name);
    return rs_render_result(result, result->main_table, &render, sink, err);
}

/* Opens the output, shows, commits; the exit code of that part. */
static int deliver(const request *r, const rs_result *result)
{
    rs_error err = RS_ERROR_INIT;
    rs_output output;
    if (rs_output_open(&output, rs_options_text(r->out, "output"), &err) != RS_OK)
        return rs_complain_error(NULL, &err);
    rs_sink sink = rs_output_sink(&output);
    rs_status status = show(r, result, &sink, &err);
    if (status == RS_OK) status = rs_output_commit(&output, &err);
    return status == RS_OK ? RS_EXIT_OK : rs_output_failed(&output, r->command->name, &err);
}

static bool is_for_traces(const rs_table *table)
{
    const char *name = rs_table_get_spec(table)->name;
    return strcmp(name, "files") == 0 || strcmp(name, "overlay") == 0 || strcmp(name, "marks") == 0;
}

/* annotate's -o is the trace; --overlay is one beside the tables. */
static int deliver_all(const request *r, const rs_result *result)
{
    const char *name = r->command->name, *output = rs_options_text(r->out, "output");
    const rs_options *own = rs_arguments_of(r->command, &r->arguments, "overlay");
    const char *overlay = own ? rs_options_text(own, "overlay") : NULL;
    rs_rewrite_settings settings = {.max_ratio = r->settings.max_ratio};
    if (strcmp(name, "annotate") == 0 && output && strcmp(output, "-") != 0)
        return rs_write_traces(result, output, name, &settings);
    rs_result shown = *result; /* without the tables that only the written trace needs, which come last */
    while (overlay && shown.n_tables > 1 && is_for_traces(shown.tables[shown.n_tables - 1])) shown.n_tables--;
    int code = deliver(r, &shown);
    if (code != RS_EXIT_OK || !overlay) return code;
    const rs_options *plain = rs_arguments_of(r->command, &r->arguments, "no-compress");
    const rs_options *edges = rs_arguments_of(r->command, &r->arguments, "overlay-edges");
    settings.compress = !(plain && rs_options_flag(plain, "no-compress"));
    settings.keep_all = edges && strcmp(rs_options_text(edges, "overlay-edges"), "all") == 0;
    return rs_write_traces(result, overlay, name, &settings);
}

static int print_schema(const request *r)
{
    rs_table *schema = rs_schema_table(r->tables, r->n_tables);
    if (!schema) {
        rs_complain("out of memory");
        return RS_EXIT_INPUT;
    }
    rs_result result = {.tables = &schema, .n_tables = 1};
    request plain = *r;
    rs_command nameless = *r->command;
    nameless.name = ""; /* no face */
    plain.command = &nameless;
    plain.table = SIZE_MAX;
    int code = deliver(&plain, &result);
    rs_table_free(schema);
    return code;
}

static void print_stats(const rs_job *job, const rs_job *other, double seconds)
{
    rs_job_stats stats = rs_job_get_stats(job);
    if (other) {
        rs_job_stats more = rs_job_get_stats(other);
        stats.bytes_read += more.bytes_read;
        stats.bytes_text += more.bytes_text;
        stats.events += more.events;
        stats.load_seconds += more.load_seconds;
        stats.index_seconds += more.index_seconds;
        stats.analysis_seconds += more.analysis_seconds;
    }
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    char read[32], text[32], events[32], peak[32];
    rs_complain(
        "%s read, %s of text, %s events, %.3f s (loading %.3f s, links %.3f s, analysis %.3f s), peak memory "
        "%s",
        rs_human_bytes((int64_t)stats.bytes_read, read), rs_human_bytes((int64_t)stats.bytes_text, text),
        rs_human_count((int64_t)stats.events, events), seconds, stats.load_seconds, stats.index_seconds,
        stats.analysis_seconds, rs_human_bytes((int64_t)usage.ru_maxrss * 1024, peak));
}

static int run_job(const request *r)
{
    rs_error err = RS_ERROR_INIT;
    rs_progress progress;
    rs_job_settings settings = r->settings;
    double start = rs_clock_seconds();
    rs_progress_start(&progress, !r->quiet && !rs_options_flag(r->out, "no-progress"));
    settings.progress = rs_progress_step;
    settings.progress_context = &progress;
    const rs_analysis *analysis = r->command->analysis;
    rs_job *job = NULL, *other = NULL;
    rs_result result = {0};
    rs_status status;
    if (rs_analysis_input(analysis) == RS_INPUT_TWO_JOBS) {
        status = rs_job_open(&r->arguments.paths[0], 1, &settings, &job, &err);
        if (status == RS_OK) status = rs_job_open(&r->arguments.paths[1], 1, &settings, &other, &err);
        if (status == RS_OK) status = rs_job_run_pair(job, other, analysis, r->own, r->compat, &result, &err);
    } else {
        status = rs_job_open(r->arguments.paths, r->arguments.n_paths, &settings, &job, &err);
        if (status == RS_OK) status = rs_job_run(job, analysis, r->own, r->compat, &result, &err);
    }
    rs_progress_end(&progress);
    if (status != RS_OK) {
        if (status == RS_ERR_CANCELLED) rs_signal_repeat();
        /* first what is wrong with each file, then what it came to, unless that has been said */
        rs_report_result(&result, r->quiet);
        int code = rs_is_told(&result, &err) ? rs_exit_code_of(status) : rs_complain_error(NULL, &err);
        rs_result_clear(&result);
        rs_job_close(job);
        rs_job_close(other);
        return code;
    }
    int code = deliver_all(r, &result);
    rs_report_result(&result, r->quiet);
    if (rs_options_flag(r->out, "stats") || rs_options_flag(r->out, "verbose"))
        print_stats(job, other, rs_clock_seconds() - start);
    if (code == RS_EXIT_OK && result.found)
        code = RS_EXIT_FOUND;
    else if (code == RS_EXIT_OK && rs_problems_worst(&result.problems) == RS_LOSS)
        code = RS_EXIT_LOSS;
    rs_result_clear(&result);
    rs_job_close(job);
    rs_job_close(other);
    return code;
}

static void make_help(rs_writer *writer, const void *context)
{
    rs_write_command_help(writer, context);
}

/* Complains unless there are as many paths as the analysis takes. */
static bool right_number_of_paths(const request *r)
{
    const char *name = r->command->name;
    size_t n = r->arguments.n_paths;
    switch (rs_analysis_input(r->command->analysis)) {
    case RS_INPUT_TWO_JOBS:
        if (n == 2) return true;
        rs_complain(
            "%s: compares two inputs, not %zu: rankscope %s [options] A B (each a trace or a directory)",
            name, n, name);
        return false;
    case RS_INPUT_FILE:
        if (n == 1) return true;
        rs_complain("%s: takes one file, not %zu: rankscope %s [options] FILE (- is standard input)", name, n,
                    name);
        return false;
    default:
        if (n > 0) return true;
        rs_complain("%s: which traces? rankscope %s [options] PATH... (- is standard input)", name, name);
        return false;
    }
}

int rs_run_analysis(const rs_command *command, int argc, char **argv)
{
    rs_error err = RS_ERROR_INIT;
    request r = {.command = command};
    if (rs_arguments_parse(command, argc, argv, &r.arguments, &err) != RS_OK)
        return rs_complain_error(command->name, &err);
    r.own = r.arguments.options[0];
    r.in = r.arguments.options[1];
    r.out = r.arguments.options[2];
    int code;
    if (rs_options_flag(r.out, "help")) {
        code = rs_print(command->name, make_help, command);
    } else if (check_request(&r, &err) != RS_OK) {
        code = rs_complain_error(command->name, &err);
    } else if (rs_options_flag(r.out, "schema")) {
        code = print_schema(&r);
    } else if (!right_number_of_paths(&r)) {
        code = RS_EXIT_USAGE;
    } else {
        code = run_job(&r);
    }
    rs_arguments_clear(&r.arguments);
    return code;
}
