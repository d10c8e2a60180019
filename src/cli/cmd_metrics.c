/* rankscope metrics: reads labelled directories of rank files, writes summary.json and a picture a label, and
 * prints the tables. */
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "cli/cli.h"
#include "rankscope/metrics.h"

const rs_option_spec rs_metrics_option_specs[RS_METRICS_N_OPTIONS] = {
    {"log-dir", RS_OPTION_TEXT, "DIR", NULL, NULL,
     "a directory of rank_N_metrics.jsonl; may be given several times, each with its --label"},
    {"label", RS_OPTION_TEXT, "NAME", NULL, NULL, "the name of the run in the directory before or after it"},
    {"output", RS_OPTION_TEXT, "DIR", NULL, NULL,
     "where summary.json and NAME_timeline.png go; made when it is not there"},
    {"reference", RS_OPTION_TEXT, "NAME", NULL, NULL, "the label to compare with"},
    {"candidate", RS_OPTION_TEXT, "NAME", NULL, NULL, "the label to compare"},
    {"skip-warmup", RS_OPTION_INT, "N", NULL, NULL,
     "leave out the first N records of each rank (default 5; 0 under --compat aorta); a rank with at most N "
     "keeps all"},
    {"traces", RS_OPTION_FLAG, NULL, NULL, NULL,
     "also read torch_profiler/rank*/ in the directories and show both side by side"},
    {"no-plots", RS_OPTION_FLAG, NULL, NULL, NULL, "write no pictures"},
    {"fail-on", RS_OPTION_TEXT, "EXPR", NULL, NULL,
     "exit with 1 when a row meets COLUMN OP NUMBER[%], ...; columns of comparison, else of datasets"},
    {"compat", RS_OPTION_CHOICE, "PEER", "aorta", NULL, "the numbers and keys of AORTA's overlap report"},
    {"jobs", RS_OPTION_INT, "N", NULL, NULL, "worker threads (default: one for each core)"},
};

const rs_option_spec rs_metrics_output_specs[RS_METRICS_N_OUTPUTS] = {
    {"format", RS_OPTION_CHOICE, NULL, rs_output_form_names, "text", "how to print the tables"},
    {"table", RS_OPTION_TEXT, "NAME", NULL, NULL, "only this table"},
    {"schema", RS_OPTION_FLAG, NULL, NULL, NULL,
     "print the tables' columns: type, unit, meaning; reads nothing"},
    {"color", RS_OPTION_CHOICE, NULL, "auto|always|never", "auto", "colours in text (auto honours NO_COLOR)"},
    {"no-progress", RS_OPTION_FLAG, NULL, NULL, NULL, "no progress bar"},
    {"quiet", RS_OPTION_FLAG, NULL, NULL, NULL,
     "no notes and no progress bar; errors and losses are still told"},
    {"help", RS_OPTION_FLAG, NULL, NULL, NULL, "this text"},
};

typedef struct request {
    const rs_command *command;
    rs_arguments arguments;
    const rs_options *own, *out;
    rs_repeated directories, labels; /* --log-dir and --label */
    const char *folder;
    rs_render_settings render;
    size_t table;
    bool aorta, quiet;
} request;

static rs_status parse(request *r, int argc, char **argv, rs_error *err)
{
    char **rest = rs_calloc((size_t)argc + 1, sizeof *rest);
    r->directories.values = rs_calloc((size_t)argc + 1, sizeof *r->directories.values);
    r->labels.values = rs_calloc((size_t)argc + 1, sizeof *r->labels.values);
    rs_status status = RS_OK;
    int n = 0;
    if (!rest || !r->directories.values || !r->labels.values) {
        rs_free(rest);
        return rs_fail_nomem(err, "the options");
    }
    for (int i = 0; i < argc; i++)
        if (!rs_repeated_take(&r->directories, "log-dir", argc, argv, &i) &&
            !rs_repeated_take(&r->labels, "label", argc, argv, &i))
            rest[n++] = argv[i];
    status = rs_arguments_parse(r->command, n, rest, &r->arguments, err);
    rs_free(rest);
    if (status != RS_OK) return status;
    r->own = r->arguments.options[0];
    r->out = r->arguments.options[1];
    return RS_OK;
}

static void request_clear(request *r)
{
    rs_arguments_clear(&r->arguments);
    rs_free(r->directories.values);
    rs_free(r->labels.values);
}

/* ---- checking the request ------------------------------------------------------------------------------ */

static rs_status choose_table(request *r, rs_error *err)
{
    const char *name = rs_options_text(r->out, "table"), *color = rs_options_text(r->out, "color");
    const char *format = rs_options_text(r->out, "format");
    size_t n;
    const rs_table_spec *const *specs = rs_metrics_tables(&n);
    r->render = rs_terminal_settings(strcmp(color, "always") == 0  ? RS_COLOR_ALWAYS
                                     : strcmp(color, "never") == 0 ? RS_COLOR_NEVER
                                                                   : RS_COLOR_AUTO);
    r->render.form = rs_output_form_find(format);
    r->quiet = rs_options_flag(r->out, "quiet");
    r->table = SIZE_MAX;
    char known[200] = "";
    for (size_t i = 0; i < n; i++) {
        if (name && strcmp(specs[i]->name, name) == 0) r->table = i;
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", used ? ", " : "", specs[i]->name);
    }
    if (!name || r->table != SIZE_MAX) return RS_OK;
    return rs_fail(err, RS_ERR_USAGE, "there is no table \"%.60s\"; there is %s", name, known);
}

static rs_status check(request *r, rs_error *err)
{
    const char *reference = rs_options_text(r->own, "reference"),
               *candidate = rs_options_text(r->own, "candidate"), *gate = rs_options_text(r->own, "fail-on");
    r->folder = rs_options_text(r->own, "output");
    r->aorta = rs_options_text(r->own, "compat") != NULL;
    if (r->arguments.n_paths)
        return rs_fail(err, RS_ERR_USAGE, "what is \"%.80s\"? Directories are given with --log-dir",
                       r->arguments.paths[0]);
    if (!r->directories.n)
        return rs_fail(err, RS_ERR_USAGE, "which runs? --log-dir DIR --label NAME, once or several times");
    if (r->directories.n != r->labels.n)
        return rs_fail(err, RS_ERR_USAGE, "%zu --log-dir but %zu --label: each directory needs its label",
                       r->directories.n, r->labels.n);
    if (!r->folder) return rs_fail(err, RS_ERR_USAGE, "where to? --output DIR receives summary.json");
    if (!reference != !candidate && !r->aorta)
        return rs_fail(err, RS_ERR_USAGE, "--%s needs --%s", reference ? "reference" : "candidate",
                       reference ? "candidate" : "reference");
    int64_t jobs = rs_options_int(r->own, "jobs");
    if (rs_options_is_set(r->own, "jobs") && (jobs < 1 || jobs > 4096))
        return rs_fail(err, RS_ERR_USAGE, "--jobs takes 1 to 4096, not %lld", (long long)jobs);
    if (gate && rs_metrics_gate_check(gate, reference && candidate, err) != RS_OK)
        return rs_error_wrap(err, "--fail-on");
    return RS_OK;
}

/* ---- the output directory ------------------------------------------------------------------------------ */

static rs_status make_folder(const char *path, rs_error *err)
{
    char *copy = rs_strdup(path);
    if (!copy) return rs_fail_nomem(err, "a path");
    bool ok = true;
    for (char *c = copy + 1; ok && copy[0]; c++) {
        if (*c != '/' && *c != '\0') continue;
        char held = *c;
        *c = '\0';
        ok = mkdir(copy, 0777) == 0 || errno == EEXIST;
        *c = held;
        if (!held) break;
    }
    rs_free(copy);
    struct stat info;
    if (ok && (stat(path, &info) != 0 || !S_ISDIR(info.st_mode))) {
        errno = ENOTDIR;
        ok = false;
    }
    return ok ? RS_OK
              : rs_fail_at(err, RS_ERR_IO, path, RS_NO_OFFSET, "cannot make this directory: %s",
                           strerror(errno));
}

static char *path_of(const char *folder, const char *name, const char *end)
{
    size_t n = strlen(folder) + strlen(name) + strlen(end) + 2;
    char *path = rs_malloc(n);
    if (path) snprintf(path, n, "%s/%s%s", folder, name, end);
    return path;
}

/* The picture is drawn under a name of its own, then put in place. */
static rs_status write_plot(const request *r, const rs_metrics *m, size_t i, rs_error *err)
{
    char *path = path_of(r->folder, rs_metrics_label(m, i), "_timeline.png");
    rs_output output;
    if (!path) return rs_fail_nomem(err, "a path");
    rs_status status = rs_output_open(&output, path, err);
    if (status == RS_OK) {
        status = rs_metrics_plot(m, i, output.temporary ? output.temporary : path, err);
        if (status == RS_OK)
            status = rs_output_commit(&output, err);
        else
            rs_output_discard(&output);
    }
    rs_free(path);
    return status;
}

static rs_status write_summary(const request *r, const rs_metrics *m, rs_error *err)
{
    char *path = path_of(r->folder, "summary", ".json");
    rs_output output;
    if (!path) return rs_fail_nomem(err, "a path");
    rs_status status = rs_output_open(&output, path, err);
    if (status == RS_OK) {
        rs_sink sink = rs_output_sink(&output);
        status = rs_metrics_summary(m, &sink, err);
        if (status == RS_OK)
            status = rs_output_commit(&output, err);
        else
            rs_output_discard(&output);
    }
    rs_free(path);
    return status;
}

/* summary.json comes last: where it is, everything is. */
static rs_status write_files(const request *r, const rs_metrics *m, rs_error *err)
{
    rs_status status = make_folder(r->folder, err);
    bool plots = !rs_options_flag(r->own, "no-plots");
    if (plots && !rs_metrics_can_plot()) {
        rs_complain(
            "no pictures: this program was built without the plotting library PLplot (libplplot-dev and "
            "plplot-driver-cairo); --no-plots silences this");
        plots = false;
    }
    for (size_t i = 0; plots && status == RS_OK && i < rs_metrics_count(m); i++)
        status = write_plot(r, m, i, err);
    return status == RS_OK ? write_summary(r, m, err) : status;
}

/* ---- running ------------------------------------------------------------------------------------------- */

static int print_tables(const request *r, const rs_result *result)
{
    rs_error err = RS_ERROR_INIT;
    rs_output output;
    if (rs_output_open(&output, NULL, &err) != RS_OK) return rs_complain_error(NULL, &err);
    rs_sink sink = rs_output_sink(&output);
    rs_result view = *result;
    if (r->table != SIZE_MAX && r->table < result->n_tables) {
        view.tables = &result->tables[r->table];
        view.n_tables = 1;
        view.main_table = 0;
    }
    if (rs_render_result(&view, view.main_table, &r->render, &sink, &err) != RS_OK)
        return rs_output_failed(&output, r->command->name, &err);
    return RS_EXIT_OK;
}

static rs_status read_runs(const request *r, rs_progress *progress, rs_metrics **out, rs_problems *problems,
                           rs_error *err)
{
    const char *reference = rs_options_text(r->own, "reference"),
               *candidate = rs_options_text(r->own, "candidate");
    rs_metrics_settings settings = {.aorta = r->aorta,
                                    .skip_warmup = rs_options_is_set(r->own, "skip-warmup")
                                                       ? rs_options_int(r->own, "skip-warmup")
                                                   : r->aorta ? 0
                                                              : RS_METRICS_WARMUP,
                                    .jobs = (unsigned)rs_options_int(r->own, "jobs"),
                                    .traces = rs_options_flag(r->own, "traces"),
                                    .progress = rs_progress_step,
                                    .progress_context = progress};
    rs_status status = rs_metrics_create(&settings, out, err);
    for (size_t i = 0; i < r->labels.n && status == RS_OK; i++)
        status = rs_metrics_add(*out, r->labels.values[i], r->directories.values[i], err);
    if (status == RS_OK && reference && candidate)
        status = rs_metrics_compare(*out, reference, candidate, err);
    return status == RS_OK ? rs_metrics_read(*out, problems, err) : status;
}

static int run(const request *r)
{
    rs_error err = RS_ERROR_INIT;
    rs_progress progress;
    rs_problems problems = {0};
    rs_result result = {0};
    rs_metrics *m = NULL;
    const char *gate = rs_options_text(r->own, "fail-on");
    rs_progress_start(&progress, !r->quiet && !rs_options_flag(r->out, "no-progress"));
    rs_status status = read_runs(r, &progress, &m, &problems, &err);
    rs_progress_end(&progress);
    if (status == RS_ERR_CANCELLED) rs_signal_repeat();
    if (status == RS_OK) status = rs_metrics_result(m, &result, &err);
    if (status == RS_OK && gate) status = rs_metrics_gate(gate, &result, &err);
    if (status == RS_OK) status = write_files(r, m, &err);
    rs_problems_move(&result.problems, &problems);
    int code = status == RS_OK ? print_tables(r, &result) : RS_EXIT_OK;
    rs_report_result(&result, r->quiet);
    if (status != RS_OK)
        code = rs_complain_error(r->command->name, &err);
    else if (code == RS_EXIT_OK && result.found)
        code = RS_EXIT_FOUND;
    else if (code == RS_EXIT_OK && rs_problems_worst(&result.problems) == RS_LOSS)
        code = RS_EXIT_LOSS;
    rs_result_clear(&result);
    rs_metrics_free(m);
    return code;
}

static int print_schema(request *r)
{
    size_t n;
    const rs_table_spec *const *specs = rs_metrics_tables(&n);
    rs_table *schema = rs_schema_table(specs, n);
    if (!schema) {
        rs_complain("out of memory");
        return RS_EXIT_INPUT;
    }
    rs_result result = {.tables = &schema, .n_tables = 1};
    r->table = SIZE_MAX;
    int code = print_tables(r, &result);
    rs_table_free(schema);
    return code;
}

static void make_help(rs_writer *writer, const void *context)
{
    rs_write_command_help(writer, context);
}

int rs_run_metrics(const rs_command *command, int argc, char **argv)
{
    rs_error err = RS_ERROR_INIT;
    request r = {.command = command};
    int code;
    rs_status status = parse(&r, argc, argv, &err);
    bool help = status == RS_OK && rs_options_flag(r.out, "help"), schema = false;
    if (status == RS_OK && !help) status = choose_table(&r, &err);
    if (status == RS_OK && !help) schema = rs_options_flag(r.out, "schema");
    if (status == RS_OK && !help && !schema) status = check(&r, &err);
    if (status != RS_OK)
        code = rs_complain_error(command->name, &err);
    else if (help)
        code = rs_print(command->name, make_help, command);
    else
        code = schema ? print_schema(&r) : run(&r);
    request_clear(&r);
    return code;
}
