/* rankscope view PATH...: the job in the trace viewer, served from this machine to this machine. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/interval.h"
#include "base/memory.h"
#include "base/ranges.h"
#include "base/try.h"
#include "cli/browser.h"
#include "cli/cli.h"
#include "view/page.h"
#include "base/loopback.h"
#include "view/server.h"

static const rs_option_spec specs[] = {
    {"port", RS_OPTION_INT, "N", NULL, "9001", "the port of 127.0.0.1; 0: any that is free"},
    {"no-open", RS_OPTION_FLAG, NULL, NULL, NULL, "only print the address"},
    {"early", RS_OPTION_TEXT, "SIZE", NULL, "256M",
     "show the page before everything has been read, of traces of SIZE and more: first some ranks, then all"},
    {"memory", RS_OPTION_TEXT, "PATH", NULL, NULL,
     "also show who holds the GPU's memory, by these snapshots of PyTorch's allocator; may be given again"},
    {"perfetto", RS_OPTION_FLAG, NULL, NULL, NULL,
     "in place of the explorer: one trace of all ranks, which a page hands to Perfetto's UI"},
    {"ui", RS_OPTION_TEXT, "URL", NULL, "https://ui.perfetto.dev",
     "with --perfetto: the viewer, for one of your own"},
    {"max-events", RS_OPTION_INT, "N", NULL, "200000",
     "with --perfetto: at most about N events, so that the viewer stays quick: what matters most is kept; 0: all"},
    {"native", RS_OPTION_FLAG, NULL, NULL, NULL,
     "with --perfetto: hand over Perfetto's own form: overlapping events of a stream keep lanes of their own, larger traces open, and inputs "
     "may be of any format"},
    {"no-report", RS_OPTION_FLAG, NULL, NULL, NULL, "with --perfetto: only the trace, which is sooner there"},
    {"no-progress", RS_OPTION_FLAG, NULL, NULL, NULL, "no progress bar"},
    {"quiet", RS_OPTION_FLAG, NULL, NULL, NULL,
     "no notes and no progress bar; errors and losses are still reported"},
    {"help", RS_OPTION_FLAG, NULL, NULL, NULL, "this text"},
};

enum { ENTRY, STYLE, SCRIPT, TRACE, REPORT, MAX_RESOURCES };

/* Text that grows, as a sink. */
typedef struct text {
    char *bytes;
    size_t n, capacity;
} text;

typedef struct view {
    bool listening; /* whether socket means something */
    int socket;     /* -1: handed on, or not open */
    char title[200];
    rs_view_trace trace;
    bool lost;  /* part of the report's input was lost */
    char *page; /* that led the browser here */
    text entry, report;
    rs_explorer *preview, *explorer;
    rs_view_windows *windows;
    rs_view_reading reading;
    rs_view_server *server; /* NULL: it has not started */
    int64_t early;
    rs_view_resource resources[MAX_RESOURCES], page_of_window;
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

static rs_status check(rs_request *r, rs_error *err)
{
    view *v = r->own;
    const rs_command_extension *other;
    static const char *const no_use[] = {"compat", "absolute", "include-last-step"};
    RS_TRY(rs_request_extension(r, &other, err));
    if (other) RS_TRY(other->check(r, err));
    int64_t port = rs_request_int(r, "port"), most = rs_request_int(r, "max-events");
    if (r->arguments.n_paths == 0) return rs_fail(err, RS_ERR_USAGE, "which traces? rankscope view PATH...");
    for (size_t i = 0; i < sizeof no_use / sizeof *no_use; i++)
        if (rs_request_is_set(r, no_use[i]))
            return rs_fail(err, RS_ERR_USAGE, "--%s does not apply to view", no_use[i]);
    for (size_t i = 0; i < r->arguments.n_paths; i++) {
        const char *path = r->arguments.paths[i], *equals = strchr(path, '=');
        if (strcmp(path, "-") == 0 || (equals && strcmp(equals + 1, "-") == 0))
            return rs_fail(err, RS_ERR_USAGE,
                           "standard input cannot be read a second time; give the file's name");
    }
    if (port < 0 || port > 65535)
        return rs_fail(err, RS_ERR_USAGE, "--port takes 0 to 65535, not %lld", (long long)port);
    if (most < 0)
        return rs_fail(err, RS_ERR_USAGE, "--max-events takes 0 or more, not %lld", (long long)most);
    if (!rs_parse_size(rs_request_text(r, "early"), &v->early) || v->early < 0)
        return rs_fail(err, RS_ERR_USAGE, "--early takes a size like 256M or 4G, not \"%.60s\"",
                       rs_request_text(r, "early"));
    if (rs_view_origin_of(rs_request_text(r, "ui"), v->routes.ui_origin, err) != RS_OK)
        return rs_error_wrap(err, "--ui");
    if (!rs_view_can_serve())
        return rs_fail(err, RS_ERR_USAGE,
                       "this program was built without the HTTP library libevent (libevent-dev); `rankscope "
                       "fuse -o all.json.gz PATH...` writes a trace that %.200s opens",
                       rs_request_text(r, "ui"));
    if (rs_request_flag(r, "perfetto") && rs_request_repeated(r, "memory")->n)
        return rs_fail(err, RS_ERR_USAGE, "--memory goes with the explorer, not with --perfetto");
    if (!rs_request_flag(r, "perfetto")) {
        static const char *const of_perfetto[] = {"ui", "max-events", "native", "no-report"};
        for (size_t i = 0; i < sizeof of_perfetto / sizeof *of_perfetto; i++)
            if (rs_request_is_set(r, of_perfetto[i]))
                return rs_fail(err, RS_ERR_USAGE, "--%s goes with --perfetto", of_perfetto[i]);
        if (!rs_explorer_page_size)
            return rs_fail(
                err, RS_ERR_USAGE,
                "this program was built without Node.js and has no explorer in it; --perfetto shows the job in "
                "Perfetto's UI");
    }
    v->socket = -1;
    v->listening = true;
    return rs_loopback_listen((unsigned)port, "port", &v->socket, &v->routes.port, err);
}

/* "traces" or "rank0.json and 3 more" */
static void make_title(const rs_request *r, view *v)
{
    const char *path = r->arguments.paths[0];
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/') n--;
    size_t from = n;
    while (from > 0 && path[from - 1] != '/') from--;
    snprintf(v->title, sizeof v->title, "%.*s", (int)(n - from < 150 ? n - from : 150), path + from);
    size_t used = strlen(v->title);
    if (r->arguments.n_paths > 1)
        snprintf(v->title + used, sizeof v->title - used, " and %zu more", r->arguments.n_paths - 1);
}

/* ---- what is served ----------------------------------------------------------------------------------- */

static rs_status read_traces(rs_request *r, rs_result *told, rs_error *err)
{
    view *v = r->own;
    rs_job *job = NULL;
    RS_TRY(rs_request_open(r, r->arguments.paths, r->arguments.n_paths, &job, err));
    rs_status status = rs_view_reduce(job, (uint64_t)rs_request_int(r, "max-events"),
                                      rs_request_flag(r, "native"), &v->trace, told, err);
    rs_request_close(r, job);
    return status;
}

/* What it has to tell of the traces is on the page, and told of the trace already. */
static rs_status write_report(rs_request *r, rs_error *err)
{
    view *v = r->own;
    rs_job *job = NULL;
    rs_result told = {0};
    rs_report_settings settings = {.size = sizeof settings,
                                   .inputs = r->arguments.paths,
                                   .n_inputs = r->arguments.n_paths,
                                   .trace_link = "./",
                                   .jobs = r->job.jobs,
                                   .progress = r->job.progress,
                                   .progress_context = r->job.progress_context};
    rs_sink sink = {append, &v->report};
    RS_TRY(rs_request_open(r, r->arguments.paths, r->arguments.n_paths, &job, err));
    rs_status status = rs_report_write(job, &settings, &sink, &told, err);
    v->lost = rs_problems_worst(&told.problems) == RS_LOSS;
    rs_result_clear(&told);
    rs_request_close(r, job);
    return status;
}

static rs_status make_resources(const rs_request *r, view *v, const rs_result *told, rs_error *err)
{
    rs_status status = rs_view_make_token(v->routes.token, err);
    rs_view_facts facts = {.title = v->title,
                           .viewer = rs_request_text(r, "ui"),
                           .trace = &v->trace,
                           .notes = told,
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
    v->resources[TRACE] = (rs_view_resource){.name = v->trace.name,
                                             .type = "application/gzip",
                                             .bytes = v->trace.bytes,
                                             .n = v->trace.n,
                                             .save_as = v->trace.name,
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

/* ---- serving ------------------------------------------------------------------------------------------- */

static void make_address(const view *v, char *out, size_t size)
{
    snprintf(out, size, "http://127.0.0.1:%u/%s/", v->routes.port, v->routes.token);
}

static void write_address(rs_writer *writer, const void *context)
{
    char address[80];
    make_address(context, address, sizeof address);
    RS_WRITE(writer, address, "\n");
}

static void show(const rs_request *r)
{
    view *v = r->own;
    char address[80];
    rs_error err = RS_ERROR_INIT;
    make_address(v, address, sizeof address);
    if (!rs_request_flag(r, "no-open") && rs_browser_has_display()) {
        bool written = rs_browser_page(address, &v->page, &err) == RS_OK;
        int code = written ? rs_browser_open(v->page) : 0;
        if (written && code == 0) {
            if (!r->quiet) rs_complain("opening it in the browser; Ctrl-C ends the server");
            return;
        }
        if (written)
            rs_complain("no browser could be started: xdg-open: %s", strerror(code));
        else
            rs_complain_error("view", &err);
    }
    if (!r->quiet) rs_complain("open this address in a browser of this machine; Ctrl-C ends the server");
}

/* The signals that end the server are meant for the thread that waits for them: every other is started without. */
static void block_signals(sigset_t *before)
{
    sigset_t ours;
    sigemptyset(&ours);
    sigaddset(&ours, SIGINT);
    sigaddset(&ours, SIGTERM);
    sigaddset(&ours, SIGHUP);
    sigprocmask(SIG_BLOCK, &ours, before);
}

/* Starts it and says where it is. */
static rs_status start_server(rs_request *r, rs_error *err)
{
    view *v = r->own;
    sigset_t before;
    block_signals(&before);
    rs_status status = rs_view_serve(v->socket, &v->routes, &v->server, err);
    sigprocmask(SIG_SETMASK, &before, NULL);
    v->socket = -1;
    RS_TRY(status);
    if (rs_print("view", write_address, v) != RS_EXIT_OK)
        return rs_fail(err, RS_ERR_IO, "the address cannot be written");
    show(r);
    return RS_OK;
}

/* ---- the explorer ---------------------------------------------------------------------------------------- */

static bool note_progress(void *context, uint64_t done, uint64_t total)
{
    rs_request *r = context;
    view *v = r->own;
    atomic_store(&v->reading.done, done);
    atomic_store(&v->reading.total, total);
    return rs_progress_step(&r->progress, done, total);
}

static rs_status size_of_job(const rs_request *r, int64_t *out, rs_error *err)
{
    rs_job *job = NULL;
    *out = 0;
    RS_TRY(rs_job_open(r->arguments.paths, r->arguments.n_paths, &r->job, &job, err));
    for (size_t i = 0; i < rs_job_n_files(job); i++) {
        struct stat info;
        if (stat(rs_job_get_file(job, i).name, &info) == 0) *out = rs_add_sat(*out, (int64_t)info.st_size);
    }
    rs_job_close(job);
    return RS_OK;
}

/* Some ranks of a large job, with the page open while the others are read. */
static rs_status show_preview(rs_request *r, rs_error *err)
{
    view *v = r->own;
    int64_t size;
    RS_TRY(size_of_job(r, &size, err));
    if (size < v->early) return RS_OK;
    RS_TRY(start_server(r, err));
    RS_TRY(rs_explorer_preview(r->arguments.paths, r->arguments.n_paths, &r->job, &v->preview, err));
    atomic_store(&v->reading.explorer, v->preview);
    return RS_OK;
}

static void make_explorer_page(rs_view_resource *out)
{
    *out = (rs_view_resource){.name = "",
                              .type = "text/html; charset=utf-8",
                              .bytes = rs_explorer_page,
                              .n = rs_explorer_page_size,
                              .policy = rs_view_explorer_policy};
}

/* The explorer is one page and its endpoints. */
static rs_status open_explorer(rs_request *r, rs_result *told, rs_error *err)
{
    view *v = r->own;
    const rs_repeated *memory = rs_request_repeated(r, "memory");
    make_explorer_page(&v->resources[ENTRY]);
    v->routes.resources = v->resources;
    v->routes.n = 1;
    v->routes.reading = &v->reading;
    RS_TRY(rs_view_make_token(v->routes.token, err));
    if (r->job.progress == rs_progress_step) {
        r->job.progress = note_progress;
        r->job.progress_context = r;
    }
    RS_TRY(show_preview(r, err));
    RS_TRY(rs_explorer_open(r->arguments.paths, r->arguments.n_paths, &r->job, &v->explorer, told, err));
    if (memory->n) RS_TRY(rs_explorer_add_memory(v->explorer, memory->values, memory->n, told, err));
    v->lost = rs_problems_worst(&told->problems) == RS_LOSS;
    atomic_store(&v->reading.explorer, v->explorer);
    atomic_store(&v->reading.complete, true);
    return RS_OK;
}

/* ---- a page with windows ---------------------------------------------------------------------------------- */

rs_status rs_request_show_page(rs_request *r, rs_write_fn write, void *context, rs_error *err)
{
    view *v = r->own;
    const rs_sink sink = {append, &v->entry};
    RS_TRY(write(context, &sink, err));
    v->resources[ENTRY] = (rs_view_resource){.name = "",
                                             .type = "text/html; charset=utf-8",
                                             .bytes = v->entry.bytes,
                                             .n = v->entry.n,
                                             .policy = rs_view_report_policy};
    make_explorer_page(&v->page_of_window);
    v->windows = rs_view_windows_create(&r->job);
    if (!v->windows) return rs_fail_nomem(err, "the windows");
    v->routes.resources = v->resources;
    v->routes.n = 1;
    v->routes.windows = v->windows;
    v->routes.page_of_window = &v->page_of_window;
    return rs_view_make_token(v->routes.token, err);
}

rs_status rs_request_show_window(rs_request *r, int64_t number, const char *const *paths, size_t n,
                                 rs_error *err)
{
    return rs_view_windows_add(((view *)r->own)->windows, number, paths, n, err);
}

/* Reads and packs everything that is served. */
static rs_status read_all(rs_request *r, rs_result *told, rs_error *err)
{
    view *v = r->own;
    const rs_command_extension *other;
    const bool explores = !rs_request_flag(r, "perfetto");
    RS_TRY(rs_request_extension(r, &other, err));
    bool wants_report = !explores && !rs_request_flag(r, "no-report");
    rs_status has_report = wants_report ? rs_report_check(NULL) : RS_OK;
    make_title(r, v);
    rs_status status = other      ? other->body(r, told, err)
                       : explores ? open_explorer(r, told, err)
                                  : read_traces(r, told, err);
    if (status == RS_OK && wants_report && has_report == RS_OK) status = write_report(r, err);
    rs_progress_end(&r->progress);
    if (status == RS_ERR_CANCELLED) rs_signal_repeat();
    rs_report_result(told, r->quiet);
    r->told = true;
    if (status == RS_OK && has_report != RS_OK && !r->quiet)
        rs_complain("there is no report page in this program (Node.js was missing when it was built), only "
                    "the trace");
    if (status == RS_OK && !explores) status = make_resources(r, v, told, err);
    return status == RS_OK ? RS_OK : rs_error_wrap(err, "view");
}

/* Answers until a signal comes. */
static int deliver(rs_request *r, const rs_result *told)
{
    (void)told;
    view *v = r->own;
    rs_error err = RS_ERROR_INIT;
    sigset_t before;
    int code = v->server || start_server(r, &err) == RS_OK ? RS_EXIT_OK : rs_complain_error("view", &err);
    block_signals(&before);
    while (code == RS_EXIT_OK && !rs_signal_came()) sigsuspend(&before);
    rs_signal_forget(); /* that is how it ends, not how it fails */
    sigprocmask(SIG_SETMASK, &before, NULL);
    return code == RS_EXIT_OK && ((view *)r->own)->lost ? RS_EXIT_LOSS : code;
}

static void clear(rs_request *r)
{
    view *v = r->own;
    rs_view_stop(v->server);
    rs_browser_page_remove(v->page);
    if (v->listening && v->socket >= 0) close(v->socket);
    rs_explorer_close(v->preview);
    rs_explorer_close(v->explorer);
    rs_view_windows_close(v->windows);
    rs_view_trace_clear(&v->trace);
    rs_free_all(v->entry.bytes, v->report.bytes);
}

const rs_command rs_command_view = {
    .name = "view",
    .group = "Any trace",
    .help = "Explore the job in the browser: who does what when, why, and as it would be after a fix",
    .usage = "[options] PATH...",
    .about =
        "Reads the traces, serves them on 127.0.0.1 and opens a page that shows what each rank does at each moment, the "
        "findings of `diagnose`, the threads and streams of a rank, what each event is, and tables of what is selected. The "
        "page loads nothing from elsewhere. Its answers are also for programs: GET /TOKEN/api/..., see docs/view.md.\n\n"
        "The address has a random token, without which nothing is answered. It is printed on standard output; the "
        "server runs until Ctrl-C (SIGINT, SIGTERM or SIGHUP). On a machine without a browser: --no-open there, "
        "ssh -L 9001:127.0.0.1:9001 to it, and open the address here.\n\n"
        "--perfetto puts all ranks into one trace that Perfetto's UI opens quickly (see --max-events; what is left out is "
        "said), and serves a page with a button that hands it over, and a link to the report (see `report`). The trace goes "
        "from this machine into the viewer's window in your browser and to no server; pages of other origins than the "
        "viewer's cannot read it. On port 9001 the page also has a link by which the viewer fetches the trace itself; it may "
        "fetch from no other port.",
    .examples = "rankscope view traces/\n"
                "rankscope view --steps 3 rank0.json.gz rank1.json.gz\n"
                "rankscope view --no-open --port 0 traces/\n"
                "rankscope view --memory snapshots/ traces/\n"
                "rankscope view --perfetto --max-events 0 traces/\n"
                "rankscope view --perfetto --ui https://perfetto.example.com traces/",
    .groups = {{.title = "Options", .specs = specs, .n = sizeof specs / sizeof *specs},
               {.base = &rs_input_options}},
    .n_groups = 2,
    .repeated = {"memory"},
    .check = check,
    .body = read_all,
    .deliver = deliver,
    .own_size = sizeof(view),
    .clear = clear,
};
