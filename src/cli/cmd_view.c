/* rankscope view PATH...: the job in the trace viewer, served from this machine to this machine. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "cli/browser.h"
#include "cli/cli.h"
#include "report/report.h"
#include "view/page.h"
#include "view/reduce.h"
#include "view/server.h"

static const rs_option_spec specs[] = {
    {"port", RS_OPTION_INT, "N", NULL, "9001", "the port of 127.0.0.1; 0: any that is free"},
    {"no-open", RS_OPTION_FLAG, NULL, NULL, NULL, "only print the address"},
    {"ui", RS_OPTION_TEXT, "URL", NULL, "https://ui.perfetto.dev", "the viewer, for one of your own"},
    {"max-events", RS_OPTION_INT, "N", NULL, "200000",
     "at most about N events, so that the viewer stays quick: what tells most is kept; 0: all"},
    {"no-report", RS_OPTION_FLAG, NULL, NULL, NULL, "only the trace, which is sooner there"},
    {"no-progress", RS_OPTION_FLAG, NULL, NULL, NULL, "no progress bar"},
    {"quiet", RS_OPTION_FLAG, NULL, NULL, NULL,
     "no notes and no progress bar; errors and losses are still told"},
    {"help", RS_OPTION_FLAG, NULL, NULL, NULL, "this text"},
};
const rs_option_group rs_view_options = {"Options", specs, sizeof specs / sizeof *specs};

enum { ENTRY, STYLE, SCRIPT, TRACE, REPORT, MAX_RESOURCES };

/* Text that grows, as a sink. */
typedef struct text {
    char *bytes;
    size_t n, capacity;
} text;

typedef struct view {
    const rs_options *own, *in;
    const rs_arguments *arguments;
    bool quiet;
    int socket; /* -1: handed on, or not open */
    char title[200];
    rs_view_trace trace;
    rs_result told; /* of the traces */
    bool lost;      /* part of the input was lost */
    rs_job_settings job;
    rs_progress progress;
    text entry, report;
    rs_view_resource resources[MAX_RESOURCES];
    rs_view_routes routes;
} view;

static bool append(void *context, const char *bytes, size_t n)
{
    text *t = context;
    if (!rs_grow((void **)&t->bytes, &t->capacity, t->n + n + 1, 1)) return false;
    memcpy(t->bytes + t->n, bytes, n);
    t->n += n;
    return true;
}

/* ---- the request
 * ------------------------------------------------------------------------------------------- */

static rs_status check(view *v, rs_error *err)
{
    static const char *const no_use[] = {"compat", "absolute", "include-last-step"};
    int64_t port = rs_options_int(v->own, "port"), most = rs_options_int(v->own, "max-events");
    if (v->arguments->n_paths == 0) return rs_fail(err, RS_ERR_USAGE, "which traces? rankscope view PATH...");
    for (size_t i = 0; i < sizeof no_use / sizeof *no_use; i++)
        if (rs_options_is_set(v->in, no_use[i]))
            return rs_fail(err, RS_ERR_USAGE, "--%s does not apply to view", no_use[i]);
    for (size_t i = 0; i < v->arguments->n_paths; i++) {
        const char *path = v->arguments->paths[i], *equals = strchr(path, '=');
        if (strcmp(path, "-") == 0 || (equals && strcmp(equals + 1, "-") == 0))
            return rs_fail(err, RS_ERR_USAGE,
                           "standard input cannot be read a second time; give the file's name");
    }
    if (port < 0 || port > 65535)
        return rs_fail(err, RS_ERR_USAGE, "--port takes 0 to 65535, not %lld", (long long)port);
    if (most < 0)
        return rs_fail(err, RS_ERR_USAGE, "--max-events takes 0 or more, not %lld", (long long)most);
    if (rs_view_origin_of(rs_options_text(v->own, "ui"), v->routes.ui_origin, err) != RS_OK)
        return rs_error_wrap(err, "--ui");
    if (!rs_view_can_serve())
        return rs_fail(
            err, RS_ERR_USAGE,
            "this program was built without the HTTP library libmicrohttpd (libmicrohttpd-dev); `rankscope "
            "fuse -o all.json.gz PATH...` writes a trace that %.200s opens",
            rs_options_text(v->own, "ui"));
    return RS_OK;
}

/* "traces" or "rank0.json and 3 more" */
static void make_title(view *v)
{
    const char *path = v->arguments->paths[0];
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/') n--;
    size_t from = n;
    while (from > 0 && path[from - 1] != '/') from--;
    snprintf(v->title, sizeof v->title, "%.*s", (int)(n - from < 150 ? n - from : 150), path + from);
    size_t used = strlen(v->title);
    if (v->arguments->n_paths > 1)
        snprintf(v->title + used, sizeof v->title - used, " and %zu more", v->arguments->n_paths - 1);
}

/* ---- what is served ----------------------------------------------------------------------------------- */

static rs_status choose_settings(view *v, rs_error *err)
{
    rs_status status = rs_job_settings_of(v->in, &v->job, err);
    v->job.progress = rs_progress_step;
    v->job.progress_context = &v->progress;
    return status;
}

static rs_status read_traces(view *v, rs_error *err)
{
    rs_job *job = NULL;
    rs_status status = rs_job_open(v->arguments->paths, v->arguments->n_paths, &v->job, &job, err);
    if (status == RS_OK)
        status =
            rs_view_reduce(job, (uint64_t)rs_options_int(v->own, "max-events"), &v->trace, &v->told, err);
    rs_job_close(job);
    v->lost = rs_problems_worst(&v->told.problems) == RS_LOSS;
    return status;
}

/* What it has to tell of the traces is on the page, and told of the trace already. */
static rs_status write_report(view *v, rs_error *err)
{
    rs_job *job = NULL;
    rs_result told = {0};
    rs_report_settings settings = {.inputs = v->arguments->paths,
                                   .n_inputs = v->arguments->n_paths,
                                   .trace_link = "./",
                                   .jobs = v->job.jobs,
                                   .progress = rs_progress_step,
                                   .progress_context = &v->progress};
    rs_sink sink = {append, &v->report};
    rs_status status = rs_job_open(v->arguments->paths, v->arguments->n_paths, &v->job, &job, err);
    if (status == RS_OK) status = rs_report_write(job, &settings, &sink, &told, err);
    v->lost = v->lost || rs_problems_worst(&told.problems) == RS_LOSS;
    rs_result_clear(&told);
    rs_job_close(job);
    return status;
}

static rs_status read_all(view *v, rs_error *err)
{
    rs_progress_start(&v->progress, !v->quiet && !rs_options_flag(v->own, "no-progress"));
    rs_status status = read_traces(v, err);
    bool wants_report = !rs_options_flag(v->own, "no-report");
    rs_status has_report = wants_report ? rs_report_check(NULL) : RS_OK;
    if (status == RS_OK && wants_report && has_report == RS_OK) status = write_report(v, err);
    rs_progress_end(&v->progress);
    if (status == RS_ERR_CANCELLED) rs_signal_repeat();
    rs_report_result(&v->told, v->quiet);
    if (status == RS_OK && has_report != RS_OK && !v->quiet)
        rs_complain("there is no report page in this program (Node.js was missing when it was built), only "
                    "the trace");
    return status;
}

static rs_status make_resources(view *v, rs_error *err)
{
    rs_status status = rs_view_make_token(v->routes.token, err);
    rs_view_facts facts = {.title = v->title,
                           .viewer = rs_options_text(v->own, "ui"),
                           .trace = &v->trace,
                           .notes = &v->told,
                           .has_report = v->report.n > 0};
    rs_sink sink = {append, &v->entry};
    if (status == RS_OK) status = rs_view_page_write(&facts, &v->routes, &sink, err);
    if (status != RS_OK) return status;
    v->resources[ENTRY] = (rs_view_resource){.name = "",
                                             .type = "text/html; charset=utf-8",
                                             .bytes = v->entry.bytes,
                                             .n = v->entry.n,
                                             .policy = rs_view_page_policy};
    v->resources[STYLE] = (rs_view_resource){.name = "view.css",
                                             .type = "text/css; charset=utf-8",
                                             .bytes = rs_view_style,
                                             .n = rs_view_style_size};
    v->resources[SCRIPT] = (rs_view_resource){.name = "view.js",
                                              .type = "text/javascript; charset=utf-8",
                                              .bytes = rs_view_script,
                                              .n = rs_view_script_size};
    v->resources[TRACE] = (rs_view_resource){.name = "trace.json.gz",
                                             .type = "application/gzip",
                                             .bytes = v->trace.bytes,
                                             .n = v->trace.n,
                                             .save_as = "trace.json.gz",
                                             .for_the_ui = true};
    v->resources[REPORT] = (rs_view_resource){.name = "report.html",
                                              .type = "text/html; charset=utf-8",
                                              .bytes = v->report.bytes,
                                              .n = v->report.n,
                                              .policy = rs_view_report_policy};
    v->routes.resources = v->resources;
    v->routes.n = v->report.n ? MAX_RESOURCES : REPORT;
    return RS_OK;
}

/* ---- serving
 * ----------------------------------------------------------------------------------------------- */

static void make_address(const view *v, char *out, size_t size)
{
    snprintf(out, size, "http://127.0.0.1:%u/%s/", v->routes.port, v->routes.token);
}

static void write_address(rs_writer *writer, const void *context)
{
    char address[80];
    make_address(context, address, sizeof address);
    rs_writer_text(writer, address);
    rs_writer_char(writer, '\n');
}

static void show(const view *v)
{
    char address[80];
    make_address(v, address, sizeof address);
    if (!rs_options_flag(v->own, "no-open") && rs_browser_has_display()) {
        int code = rs_browser_open(address);
        if (code == 0) {
            if (!v->quiet) rs_complain("opening it in the browser; Ctrl-C ends the server");
            return;
        }
        rs_complain("no browser could be started: xdg-open: %s", strerror(code));
    }
    if (!v->quiet) rs_complain("open this address in a browser of this machine; Ctrl-C ends the server");
}

/* Answers until a signal comes. The server's thread must not get it: it is meant for the one that waits. */
static int serve(view *v)
{
    rs_error err = RS_ERROR_INIT;
    rs_view_server *server = NULL;
    sigset_t ours, before;
    sigemptyset(&ours);
    sigaddset(&ours, SIGINT);
    sigaddset(&ours, SIGTERM);
    sigaddset(&ours, SIGHUP);
    sigprocmask(SIG_BLOCK, &ours, &before);
    rs_status status = rs_view_serve(v->socket, &v->routes, &server, &err);
    v->socket = -1;
    int code = status == RS_OK ? rs_print("view", write_address, v) : rs_complain_error("view", &err);
    if (code == RS_EXIT_OK) {
        show(v);
        while (!rs_signal_came()) sigsuspend(&before);
        rs_signal_forget(); /* that is how it ends, not how it fails */
    }
    rs_view_stop(server);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return code;
}

static int run(view *v)
{
    rs_error err = RS_ERROR_INIT;
    int code;
    rs_status status = check(v, &err);
    if (status == RS_OK) status = choose_settings(v, &err);
    if (status == RS_OK)
        status = rs_view_listen((unsigned)rs_options_int(v->own, "port"), &v->socket, &v->routes.port, &err);
    if (status == RS_OK) {
        make_title(v);
        status = read_all(v, &err);
    }
    if (status == RS_OK) status = make_resources(v, &err);
    if (status == RS_OK)
        code = serve(v);
    else if (rs_is_told(&v->told, &err))
        code = rs_exit_code_of(status);
    else
        code = rs_complain_error("view", &err);
    if (code == RS_EXIT_OK && v->lost) code = RS_EXIT_LOSS;
    if (v->socket >= 0) close(v->socket);
    rs_result_clear(&v->told);
    rs_free(v->trace.bytes);
    rs_free(v->entry.bytes);
    rs_free(v->report.bytes);
    return code;
}

static void make_help(rs_writer *writer, const void *context)
{
    rs_write_command_help(writer, context);
}

int rs_run_view(const rs_command *command, int argc, char **argv)
{
    rs_error err = RS_ERROR_INIT;
    rs_arguments arguments;
    if (rs_arguments_parse(command, argc, argv, &arguments, &err) != RS_OK)
        return rs_complain_error(command->name, &err);
    view v = {.own = arguments.options[0], .in = arguments.options[1], .arguments = &arguments, .socket = -1};
    v.quiet = rs_options_flag(v.own, "quiet");
    int code = rs_options_flag(v.own, "help") ? rs_print(command->name, make_help, command) : run(&v);
    rs_arguments_clear(&arguments);
    return code;
}
