/* rankscope fuse -o FILE PATH...: several ranks as one trace. The report goes to standard output. */
#include <string.h>

#include "cli/cli.h"
#include "text/packer.h"
#include "rewrite/fuse.h"

static const rs_option_spec specs[] = {
    {"categories", RS_OPTION_TEXT, "LIST", NULL, NULL, "only events of these categories: kernel,cpu_op,ac2g"},
    {"without", RS_OPTION_TEXT, "LIST", NULL, NULL, "no events of these categories: python_function,Trace"},
    {"clocks", RS_OPTION_CHOICE, "HOW", "ends|file", "ends",
     "ends: corrected so that collectives end together; file: only by baseTimeNanoseconds"},
    {"max-events", RS_OPTION_INT, "N", NULL, NULL,
     "only about N events of all ranks: steps, GPU work with its launches, annotations, the longest host "
     "events"},
};
const rs_option_group rs_fuse_options = {"Options", specs, sizeof specs / sizeof *specs};

typedef struct request {
    const rs_options *own, *in, *out;
    const rs_arguments *arguments;
} request;

static rs_status write_trace(const request *r, rs_job *job, rs_output *output, rs_result *result,
                             rs_error *err)
{
    const char *path = rs_options_text(r->out, "output");
    rs_fuse_settings settings = {.categories = rs_options_text(r->own, "categories"),
                                 .without = rs_options_text(r->own, "without"),
                                 .align = strcmp(rs_options_text(r->own, "clocks"), "ends") == 0};
    if (rs_options_is_set(r->own, "max-events")) {
        int64_t most = rs_options_int(r->own, "max-events");
        if (most < 1)
            return rs_fail(err, RS_ERR_USAGE, "--max-events takes 1 or more, not %lld", (long long)most);
        settings.max_events = (uint64_t)most;
    }
    rs_sink sink = rs_output_sink(output), packed;
    rs_packer *packer = NULL;
    rs_status status = rs_packer_open(rs_pack_of_name(path), &sink, &packer, err);
    if (status != RS_OK) return status;
    packed = rs_packer_sink(packer);
    status = rs_fuse(job, &settings, &packed, result, err);
    if (status == RS_OK) status = rs_packer_finish(packer, err);
    if (status == RS_OK) status = rs_output_commit(output, err);
    rs_packer_close(packer);
    return status;
}

static int show_report(const request *r, const rs_result *result)
{
    rs_error err = RS_ERROR_INIT;
    rs_render_settings render = rs_terminal_settings(RS_COLOR_AUTO);
    render.form = rs_output_form_find(rs_options_text(r->out, "format"));
    rs_output output;
    if (rs_output_open(&output, NULL, &err) != RS_OK) return rs_complain_error("fuse", &err);
    rs_sink sink = rs_output_sink(&output);
    if (rs_render_result(result, 0, &render, &sink, &err) != RS_OK)
        return rs_output_failed(&output, "fuse", &err);
    return RS_EXIT_OK;
}

static int run(const request *r)
{
    rs_error err = RS_ERROR_INIT;
    const char *path = rs_options_text(r->out, "output");
    bool quiet = rs_options_flag(r->out, "quiet");
    rs_progress progress;
    rs_job_settings settings;
    if (rs_job_settings_of(r->in, &settings, &err) != RS_OK) return rs_complain_error("fuse", &err);
    settings.progress = rs_progress_step;
    settings.progress_context = &progress;
    rs_job *job = NULL;
    rs_output output;
    rs_result result = {0};
    if (rs_job_open(r->arguments->paths, r->arguments->n_paths, &settings, &job, &err) != RS_OK)
        return rs_complain_error(NULL, &err);
    if (rs_output_open(&output, path, &err) != RS_OK) {
        rs_job_close(job);
        return rs_complain_error(NULL, &err);
    }
    rs_progress_start(&progress, !quiet && !rs_options_flag(r->out, "no-progress"));
    rs_status status = write_trace(r, job, &output, &result, &err);
    rs_progress_end(&progress);
    rs_report_result(&result, quiet);
    int code = RS_EXIT_OK;
    if (status != RS_OK)
        code = rs_output_failed(&output, "fuse", &err);
    else if (strcmp(path, "-") != 0 && !quiet)
        code = show_report(r, &result);
    if (code == RS_EXIT_OK && rs_problems_worst(&result.problems) == RS_LOSS) code = RS_EXIT_LOSS;
    rs_result_clear(&result);
    rs_job_close(job);
    return code;
}

static void make_help(rs_writer *writer, const void *context)
{
    rs_write_command_help(writer, context);
}

static int print_schema(const request *r)
{
    rs_table *schema = rs_schema_table(rs_fuse_tables, 1);
    if (!schema) {
        rs_complain("out of memory");
        return RS_EXIT_INPUT;
    }
    rs_result result = {.tables = &schema, .n_tables = 1};
    int code = show_report(r, &result);
    rs_table_free(schema);
    return code;
}

int rs_run_fuse(const rs_command *command, int argc, char **argv)
{
    rs_error err = RS_ERROR_INIT;
    rs_arguments arguments;
    if (rs_arguments_parse(command, argc, argv, &arguments, &err) != RS_OK)
        return rs_complain_error(command->name, &err);
    request r = {arguments.options[0], arguments.options[1], arguments.options[2], &arguments};
    int code;
    if (rs_options_flag(r.out, "help")) {
        code = rs_print(command->name, make_help, command);
    } else if (rs_options_flag(r.out, "schema")) {
        code = print_schema(&r);
    } else if (arguments.n_paths == 0 || !rs_options_text(r.out, "output")) {
        rs_complain("fuse: %s? rankscope fuse -o FILE PATH...",
                    arguments.n_paths ? "into which file" : "which traces");
        code = RS_EXIT_USAGE;
    } else {
        code = run(&r);
    }
    rs_arguments_clear(&arguments);
    return code;
}
