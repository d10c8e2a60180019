/* rankscope report -o FILE PATH...: the main answers about a job as one page. */
#include <string.h>

#include "base/memory.h"
#include "cli/cli.h"
#include "report/report.h"

static const rs_option_spec specs[] = {
    {"output", RS_OPTION_TEXT, "FILE", NULL, NULL,
     "the page to write, whole or not at all; - is standard output"},
    {"flight", RS_OPTION_TEXT, "DIR", NULL, NULL,
     "also show the verdict on these flight-recorder dumps; may be given again"},
    {"metrics", RS_OPTION_TEXT, "LABEL=DIR", NULL, NULL,
     "also show the rank metrics of a run; given again, the second is compared with the first"},
};
static const rs_option_spec input_specs[] = {
    {"ranks", RS_OPTION_RANGES, "LIST", NULL, NULL, "only these ranks: 0,3,8-15"},
    {"steps", RS_OPTION_RANGES, "LIST", NULL, NULL, "only these training steps: 3-5"},
    {"window", RS_OPTION_TEXT, "FROM-TO", NULL, NULL,
     "only what starts in this time, ms from the job's first event: 10-12.5"},
    {"recursive", RS_OPTION_FLAG, NULL, NULL, NULL, "descend into directories"},
    {"renumber", RS_OPTION_FLAG, NULL, NULL, NULL,
     "number ranks by sorted file name, whatever the files say"},
    {"single-rank", RS_OPTION_FLAG, NULL, NULL, NULL, "refuse files that hold several ranks"},
    {"jobs", RS_OPTION_INT, "N", NULL, NULL, "worker threads (default: one for each core)"},
    {"max-memory", RS_OPTION_TEXT, "SIZE", NULL, NULL,
     "stop rather than hold more than SIZE of traces: 512M, 4G"},
    {"max-ratio", RS_OPTION_INT, "N", NULL, "1000",
     "refuse files that inflate to more than N times their size"},
};
static const rs_option_spec output_specs[] = {
    {"no-progress", RS_OPTION_FLAG, NULL, NULL, NULL, "no progress bar"},
    {"quiet", RS_OPTION_FLAG, NULL, NULL, NULL,
     "no notes and no progress bar; errors and losses are still told"},
    {"help", RS_OPTION_FLAG, NULL, NULL, NULL, "this text"},
};
const rs_option_group rs_report_options[RS_REPORT_GROUPS] = {
    {"Options", specs, sizeof specs / sizeof *specs},
    {"Input", input_specs, sizeof input_specs / sizeof *input_specs},
    {"Output", output_specs, sizeof output_specs / sizeof *output_specs},
};

typedef struct request {
    const rs_options *own, *in, *out;
    rs_arguments arguments;
    rs_repeated flight, metrics; /* may be given again */
    rs_report_run *runs;         /* what metrics says, parted */
    char **labels;               /* of the runs, owned */
    rs_job_settings job;
    bool quiet;
} request;

static rs_status parse(const rs_command *command, int argc, char **argv, request *r, rs_error *err)
{
    size_t room = (size_t)argc + 1;
    char **rest = rs_calloc(room, sizeof *rest);
    r->flight.values = rs_calloc(room, sizeof *r->flight.values);
    r->metrics.values = rs_calloc(room, sizeof *r->metrics.values);
    r->runs = rs_calloc(room, sizeof *r->runs);
    r->labels = rs_calloc(room, sizeof *r->labels);
    if (!rest || !r->flight.values || !r->metrics.values || !r->runs || !r->labels) {
        rs_free(rest);
        return rs_fail_nomem(err, "the options");
    }
    int n = 0, i = 0;
    for (; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (!rs_repeated_take(&r->flight, "flight", argc, argv, &i) &&
            !rs_repeated_take(&r->metrics, "metrics", argc, argv, &i))
            rest[n++] = argv[i];
    for (; i < argc; i++) rest[n++] = argv[i];
    rs_status status = rs_arguments_parse(command, n, rest, &r->arguments, err);
    rs_free(rest);
    if (status != RS_OK) return status;
    r->own = r->arguments.options[0];
    r->in = r->arguments.options[1];
    r->out = r->arguments.options[2];
    r->quiet = rs_options_flag(r->out, "quiet");
    return RS_OK;
}

static void request_clear(request *r)
{
    rs_arguments_clear(&r->arguments);
    for (size_t i = 0; r->labels && i < r->metrics.n; i++) rs_free(r->labels[i]);
    rs_free(r->labels);
    rs_free(r->runs);
    rs_free(r->flight.values);
    rs_free(r->metrics.values);
}

static rs_status choose_runs(request *r, rs_error *err)
{
    for (size_t i = 0; i < r->metrics.n; i++) {
        const char *text = r->metrics.values[i], *equals = strchr(text, '=');
        if (!equals || equals == text || !equals[1])
            return rs_fail(err, RS_ERR_USAGE, "--metrics takes LABEL=DIR, not \"%.80s\"", text);
        r->labels[i] = rs_strndup(text, (size_t)(equals - text));
        if (!r->labels[i]) return rs_fail_nomem(err, "a label");
        r->runs[i] = (rs_report_run){r->labels[i], equals + 1};
    }
    return RS_OK;
}

static rs_status check(request *r, rs_error *err)
{
    rs_status status = rs_report_check(err);
    if (status != RS_OK) return status;
    if (!rs_options_text(r->own, "output"))
        return rs_fail(err, RS_ERR_USAGE, "into which file? rankscope report -o FILE.html PATH...");
    if (!r->arguments.n_paths)
        return rs_fail(err, RS_ERR_USAGE,
                       "which traces? rankscope report -o FILE.html PATH... (- is standard input)");
    status = rs_job_settings_of(r->in, &r->job, err);
    return status == RS_OK ? choose_runs(r, err) : status;
}

static rs_status write_page(const request *r, rs_job *job, rs_output *output, rs_progress *progress,
                            rs_result *told, rs_error *err)
{
    rs_report_settings settings = {.inputs = r->arguments.paths,
                                   .n_inputs = r->arguments.n_paths,
                                   .flight = r->flight.values,
                                   .n_flight = r->flight.n,
                                   .metrics = r->runs,
                                   .n_metrics = r->metrics.n,
                                   .ranks = r->job.ranks,
                                   .steps = r->job.steps,
                                   .window = r->job.window,
                                   .jobs = r->job.jobs,
                                   .progress = rs_progress_step,
                                   .progress_context = progress};
    rs_sink sink = rs_output_sink(output);
    rs_status status = rs_report_write(job, &settings, &sink, told, err);
    return status == RS_OK ? rs_output_commit(output, err) : status;
}

static int run(request *r)
{
    rs_error err = RS_ERROR_INIT;
    rs_progress progress;
    rs_job *job = NULL;
    rs_output output;
    rs_result told = {0};
    rs_progress_start(&progress, !r->quiet && !rs_options_flag(r->out, "no-progress"));
    r->job.progress = rs_progress_step;
    r->job.progress_context = &progress;
    if (rs_job_open(r->arguments.paths, r->arguments.n_paths, &r->job, &job, &err) != RS_OK)
        return rs_complain_error(NULL, &err);
    if (rs_output_open(&output, rs_options_text(r->own, "output"), &err) != RS_OK) {
        rs_job_close(job);
        return rs_complain_error(NULL, &err);
    }
    rs_status status = write_page(r, job, &output, &progress, &told, &err);
    rs_progress_end(&progress);
    rs_report_result(&told, r->quiet);
    int code = RS_EXIT_OK;
    if (status != RS_OK && !output.error && rs_is_told(&told, &err)) {
        rs_output_discard(&output);
        code = rs_exit_code_of(status);
    } else if (status != RS_OK) {
        code = rs_output_failed(&output, NULL, &err);
    } else if (rs_problems_worst(&told.problems) == RS_LOSS) {
        code = RS_EXIT_LOSS;
    }
    rs_result_clear(&told);
    rs_job_close(job);
    return code;
}

static void make_help(rs_writer *writer, const void *context)
{
    rs_write_command_help(writer, context);
}

int rs_run_report(const rs_command *command, int argc, char **argv)
{
    rs_error err = RS_ERROR_INIT;
    request r = {0};
    int code;
    rs_status status = parse(command, argc, argv, &r, &err);
    if (status == RS_OK && rs_options_flag(r.out, "help"))
        code = rs_print(command->name, make_help, command);
    else if (status != RS_OK || check(&r, &err) != RS_OK)
        code = rs_complain_error(command->name, &err);
    else
        code = run(&r);
    request_clear(&r);
    return code;
}
