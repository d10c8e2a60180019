/* rankscope sql 'SELECT ...' PATH...: SQL over events, arguments and every analysis. Without a query: those of
 * standard input. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ascii.h"
#include "base/memory.h"
#include "base/ranges.h"
#include "base/try.h"
#include "cli/cli.h"
#include "cli/sql.h"

#define MOST_INPUT (1 << 20) /* bytes of queries that are read from standard input */

static const rs_option_spec specs[] = {
    {"timeout", RS_OPTION_REAL, "S", NULL, "0", "stop a query after S seconds; 0: never"},
    {"query-timeout", RS_OPTION_REAL, "S", NULL, "0",
     "stop a query after S seconds, reading traces and running analyses left out; 0: never"},
    {"query-memory", RS_OPTION_TEXT, "SIZE", NULL, "1G",
     "stop a query that takes more than SIZE, without the traces: 256M, 4G"},
    {"apart", RS_OPTION_FLAG, NULL, NULL, NULL,
     "each PATH is an input of its own, as in compare A B: with the tables of compare, diff and regress. NAME=PATH names it"},
};

/* ---- the query and the paths -------------------------------------------------------------------------- */

static bool exists(const char *path)
{
    struct stat s;
    const char *equals = strchr(path, '=');
    if (strcmp(path, "-") == 0 || stat(path, &s) == 0) return true;
    return equals && stat(equals + 1, &s) == 0; /* RANK=PATH */
}

/* A first argument that is no file and could be no name of one. */
static bool is_query(const char *text)
{
    return strpbrk(text, " \t\n;(") != NULL && !exists(text);
}

/* Where the path begins in NAME=PATH, a letter first, then letters, digits and _-.; 0: it has no name. */
static size_t length_of_name(const char *path)
{
    struct stat s;
    size_t n = 0;
    if (stat(path, &s) == 0 || !rs_is_letter(*path)) return 0;
    while (rs_is_alnum(path[n]) || path[n] == '_' || path[n] == '-' || path[n] == '.') n++;
    return path[n] == '=' ? n + 1 : 0;
}

static rs_status check_inputs(const rs_request *r, rs_error *err)
{
    const rs_sql_request *q = r->own;
    if (!rs_request_flag(r, "apart")) return RS_OK;
    if (q->n_paths < 2)
        return rs_fail(err, RS_ERR_USAGE,
                       "--apart compares two inputs or more, not %zu: rankscope sql --apart 'SELECT ...' A B",
                       q->n_paths);
    for (size_t i = 0; i < q->n_paths; i++)
        if (strcmp(q->paths[i] + length_of_name(q->paths[i]), "-") == 0)
            return rs_fail(err, RS_ERR_USAGE, "with --apart inputs are files: standard input is none");
    return RS_OK;
}

static rs_status check(rs_request *r, rs_error *err)
{
    rs_sql_request *q = r->own;
    const char *size = rs_request_text(r, "query-memory");
    int64_t bytes = 0;
    q->paths = r->arguments.paths;
    q->n_paths = r->arguments.n_paths;
    if (q->n_paths && is_query(q->paths[0])) {
        q->query = q->paths[0];
        q->paths++;
        q->n_paths--;
    }
    if (q->n_paths == 0)
        return rs_fail(err, RS_ERR_USAGE,
                       "of which traces? rankscope sql 'SELECT ...' PATH... (- is standard input)");
    if (!q->query && !exists(q->paths[0]))
        return rs_fail(err, RS_ERR_USAGE,
                       "there is no file %.200s, and it is no query: rankscope sql 'SELECT ...' PATH...",
                       q->paths[0]);
    q->settings = (rs_sql_settings){.size = sizeof q->settings};
    q->settings.timeout = (double)rs_options_real(r->arguments.options[0], "timeout");
    if (!(q->settings.timeout >= 0 && q->settings.timeout < 1e9))
        return rs_fail(err, RS_ERR_USAGE, "--timeout takes seconds, 0 or more");
    q->settings.query_timeout = (double)rs_options_real(r->arguments.options[0], "query-timeout");
    if (!(q->settings.query_timeout >= 0 && q->settings.query_timeout < 1e9))
        return rs_fail(err, RS_ERR_USAGE, "--query-timeout takes seconds, 0 or more");
    if (!rs_parse_size(size, &bytes) || bytes <= 0)
        return rs_fail(err, RS_ERR_USAGE, "--query-memory takes a size like 256M or 4G, not \"%.60s\"", size);
    q->settings.max_memory = (uint64_t)bytes;
    for (size_t i = 0; i < q->n_paths; i++) {
        if (strcmp(q->paths[i], "-") != 0 || rs_request_flag(r, "apart")) continue;
        if (!q->query)
            return rs_fail(err, RS_ERR_USAGE, "standard input cannot be both the trace and the queries");
        r->job.keep = true; /* it cannot be read again */
    }
    RS_TRY(check_inputs(r, err));
    q->prompt = !q->query && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
    if (q->prompt && rs_request_text(r, "output"))
        return rs_fail(err, RS_ERR_USAGE, "-o takes the answer of a query: give one, or leave -o out");
    return RS_OK;
}

/* All of standard input. */
static rs_status read_queries(char **out, rs_error *err)
{
    size_t n = 0;
    char *text = rs_malloc(MOST_INPUT + 1);
    *out = text;
    if (!text) return rs_fail_nomem(err, "queries");
    for (;;) {
        ssize_t got = read(STDIN_FILENO, text + n, MOST_INPUT - n + 1);
        if (got < 0 && errno == EINTR && !rs_signal_came()) continue;
        if (got < 0)
            return errno == EINTR ? rs_fail(err, RS_ERR_CANCELLED, "stopped")
                                  : rs_fail_at(err, RS_ERR_IO, "standard input", RS_NO_OFFSET,
                                               "cannot read: %s", strerror(errno));
        if (got == 0) break;
        n += (size_t)got;
        if (n > MOST_INPUT) return rs_fail(err, RS_ERR_LIMIT, "queries are longer than %d bytes", MOST_INPUT);
    }
    text[n] = 0;
    if (memchr(text, 0, n)) return rs_fail(err, RS_ERR_USAGE, "queries hold a NUL byte: they are no text");
    return RS_OK;
}

/* ---- running ------------------------------------------------------------------------------------------ */

static bool goes_on(void *context)
{
    (void)context;
    return !rs_signal_came();
}

/* While files are read the bar moves, and the query's time passes. */
static bool on_progress(void *context, uint64_t done, uint64_t total)
{
    rs_request *r = context;
    rs_sql_request *q = r->own;
    return rs_progress_step(&r->progress, done, total) && (!q->session || rs_sql_goes_on(q->session));
}

static rs_status next_page(void *context, size_t most_rows, rs_table **page, rs_error *err)
{
    rs_request *r = context;
    rs_sql_request *q = r->own;
    rs_status status = rs_sql_page(q->session, most_rows, page, err);
    rs_progress_end(&r->progress); /* the rows come now */
    return status;
}

static rs_status again(void *context, rs_error *err)
{
    (void)err;
    rs_sql_again(((rs_sql_request *)((rs_request *)context)->own)->session);
    return RS_OK;
}

static rs_status check_limits(void *context, uint64_t held, rs_error *err)
{
    return rs_sql_check(((rs_sql_request *)((rs_request *)context)->own)->session, held, err);
}

static const rs_result *told(void *context)
{
    return rs_sql_told(((rs_sql_request *)((rs_request *)context)->own)->session);
}

/* The rows of one statement after the other, as they come. */
static rs_status write_rows(void *context, const rs_sink *sink, rs_error *err)
{
    rs_request *r = context;
    rs_sql_request *q = r->own;
    const rs_output_form *form = r->render.form;
    const rs_pages pages = {r, next_page, again, told};
    bool apart = !rs_renders_as(&r->render, "jsonl") && !rs_renders_as(&r->render, "json"), there;
    rs_render_settings settings = r->render;
    settings.check = check_limits;
    settings.check_context = r;
    RS_TRY(rs_sql_begin(q->session, q->query, err));
    RS_TRY(rs_sql_next(q->session, &there, err));
    if (form && rs_output_form_is_binary(form) && !rs_sql_is_last(q->session))
        return rs_fail(err, RS_ERR_USAGE, "--format %s holds the answer of one query, and there are more",
                       rs_output_form_name(form));
    for (bool first = true; there; first = false) {
        if (!first && apart && !sink->write(sink->context, "\n", 1))
            return rs_fail(err, RS_ERR_IO, "the output cannot be written");
        RS_TRY(rs_render_pages(&pages, &settings, sink, err));
        RS_TRY(rs_sql_next(q->session, &there, err));
    }
    return RS_OK;
}

static rs_status stream(rs_request *r, rs_result *result, rs_error *err)
{
    rs_sql_request *q = r->own;
    const char *path = rs_request_text(r, "output");
    rs_status status =
        rs_output_put(path && strcmp(path, "-") != 0 ? path : NULL, false, NULL, write_rows, r, err);
    rs_sql_end(q->session, result);
    return status;
}

static rs_status ask(rs_request *r, rs_job *job, rs_result *result, rs_error *err)
{
    rs_sql_request *q = r->own;
    rs_status status = q->query || q->prompt ? RS_OK : read_queries(&q->read, err);
    if (q->read) q->query = q->read;
    if (status == RS_OK) status = rs_sql_open(job, &q->settings, &q->session, err);
    if (status == RS_OK)
        status = q->prompt    ? rs_sql_prompt(r, err)
                 : q->streams ? stream(r, result, err)
                              : rs_sql_run(q->session, q->query, result, err);
    rs_sql_close(q->session);
    q->session = NULL;
    return status;
}

/* --apart: each path is a job. */
static rs_status ask_inputs(rs_request *r, rs_result *result, rs_error *err)
{
    rs_sql_request *q = r->own;
    rs_status status = RS_OK;
    rs_sql_input *inputs = rs_calloc(q->n_paths, sizeof *inputs);
    if (!inputs) return rs_fail_nomem(err, "inputs");
    for (size_t i = 0; status == RS_OK && i < q->n_paths; i++) {
        size_t name = length_of_name(q->paths[i]);
        const char *path = q->paths[i] + name;
        char *copy = rs_strndup(q->paths[i], name ? name - 1 : strlen(path));
        inputs[i].name = copy;
        status = copy ? rs_request_open(r, &path, 1, &inputs[i].job, err) : rs_fail_nomem(err, "inputs");
    }
    q->settings.inputs = inputs;
    q->settings.n_inputs = q->n_paths;
    if (status == RS_OK) status = ask(r, NULL, result, err);
    for (size_t i = 0; i < q->n_paths; i++) {
        rs_request_close(r, inputs[i].job);
        rs_free((char *)(uintptr_t)inputs[i].name);
    }
    rs_free(inputs);
    return status;
}

static rs_status body(rs_request *r, rs_result *result, rs_error *err)
{
    rs_sql_request *q = r->own;
    rs_job *job = NULL;
    r->job.progress = on_progress;
    r->job.progress_context = r;
    q->settings.goes_on = goes_on;
    r->job.keep |= !q->query; /* there may be many questions */
    q->streams = !q->prompt && rs_render_takes_pages(&r->render);
    if (rs_request_flag(r, "apart")) return ask_inputs(r, result, err);
    RS_TRY(rs_request_open(r, q->paths, q->n_paths, &job, err));
    rs_status status = ask(r, job, result, err);
    rs_request_close(r, job);
    return status;
}

rs_status rs_sql_show(const rs_request *r, const rs_result *result, const rs_sink *sink, rs_error *err)
{
    const rs_output_form *form = r->render.form;
    if (result->n_tables > 1 && form && rs_output_form_is_binary(form))
        return rs_fail(err, RS_ERR_USAGE, "--format %s holds the answer of one query, and there are %zu",
                       rs_output_form_name(form), result->n_tables);
    bool apart = !rs_renders_as(&r->render, "jsonl") && !rs_renders_as(&r->render, "json");
    for (size_t i = 0; i < result->n_tables; i++) {
        rs_result one = *result;
        one.tables = &result->tables[i];
        one.n_tables = 1;
        one.main_table = 0;
        if (i && apart && !sink->write(sink->context, "\n", 1))
            return rs_fail(err, RS_ERR_IO, "the output cannot be written");
        RS_TRY(rs_render_result(&one, 0, &r->render, sink, err));
    }
    return RS_OK;
}

/* At a prompt, and when rows were written as they came, every answer has been shown. */
static int deliver(rs_request *r, const rs_result *result)
{
    const rs_sql_request *q = r->own;
    return q->prompt || q->streams ? RS_EXIT_OK : rs_request_deliver(r, result);
}

static void clear(rs_request *r)
{
    rs_sql_request *q = r->own;
    rs_free(q->read);
}

const rs_command rs_command_sql = {
    .name = "sql",
    .group = "Any trace",
    .help = "SQL over events, arguments and every analysis",
    .usage = "[options] ['SELECT ...'] PATH...",
    .about =
        "Tables are events (one row an event; arguments are hidden columns, to be asked for by name), arguments, "
        "files, threads, ranks, streams, and every table of every analysis of one job: breakdown, kernels, "
        "kernels_kinds, ops_args, ... An analysis takes its options as an argument: kernels('--top 5'). `SELECT * "
        "FROM tables` and `SELECT * FROM columns` list them all. Times are in microseconds; ts_ns, dur_ns and end_ns "
        "of events are whole nanoseconds.\n\n"
        "The dialect is SQLite's, with the functions regexp, under(event, X), after(event, X), before(event, X) and "
        "holds(event, CONDITION), which mean what they mean in events --where; events('CONDITION') is the same as a "
        "filter. Queries only read.\n\n"
        "With --apart each PATH is an input of its own. compare, diff and regress are tables then: compare('1', '2'), "
        "compare('base', 'new', '--by op') where PATHs are base=A new=B; without arguments the first input is compared "
        "with all others. Another analysis takes an input after its options, breakdown('', 'new'), and is of the "
        "first without; events are those of the first. A query names inputs, never files.\n\n"
        "Rows are written as they come, so that an answer may be longer than memory: csv, jsonl and json a thousand at "
        "a time; text and md lay columns out by the first 65536 rows, and a later cell that does not fit makes its row "
        "wider; arrow runs a statement of more than 65536 rows twice, for its texts and for its rows. A query that "
        "fails midway has written the pages before; with -o FILE there is no file then.\n\n"
        "Without a query those of standard input are run, separated by \";\"; from a terminal there is a prompt, with "
        "history and completion of names.",
    .examples =
        "rankscope sql 'SELECT name, count(*), sum(dur_us) FROM events GROUP BY name ORDER BY 3 DESC LIMIT 10' "
        "trace.json.gz\n"
        "rankscope sql \"SELECT * FROM kernels('--top 5')\" --format csv traces/\n"
        "rankscope sql \"SELECT rank, sum(dur_us) FROM events WHERE category = 'kernel' AND under(event, "
        "'forward') GROUP BY rank\" traces/\n"
        "rankscope sql \"SELECT name FROM columns WHERE table_name = 'events'\" trace.json.gz\n"
        "rankscope sql --apart \"SELECT kind, name, time_diff_us FROM diff('base', 'new') ORDER BY abs(time_diff_us) DESC LIMIT 5\" "
        "base=monday/ new=today/\n"
        "rankscope sql traces/ < questions.sql",
    .groups = {{.title = "Options", .specs = specs, .n = sizeof specs / sizeof *specs},
               {.base = &rs_input_options, .without = "compat|include-last-step"},
               {.base = &rs_output_options, .without = "table|schema"}},
    .n_groups = 3,
    .check = check,
    .body = body,
    .show = rs_sql_show,
    .deliver = deliver,
    .own_size = sizeof(rs_sql_request),
    .clear = clear,
};
