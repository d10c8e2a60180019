/* The frame of every command: arguments, --help, --schema, --table, output form, progress, messages, exit
 * code. */
#include <stdio.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/suggest.h"
#include "base/try.h"
#include "cli/cli.h"
#include "rankscope/verdict.h"
#include "text/numbers.h"

int rs_command_call(const rs_command *command, int argc, char **argv)
{
    return command->run ? command->run(command, argc, argv) : rs_command_run(command, argc, argv);
}

bool rs_command_start(const rs_command *command, int argc, char **argv, rs_arguments *arguments, int *code)
{
    rs_error err = RS_ERROR_INIT;
    if (rs_arguments_parse(command, argc, argv, arguments, &err) != RS_OK) {
        *code = rs_complain_error(command->name, &err);
        return false;
    }
    const rs_options *options = rs_arguments_of(command, arguments, "help");
    if (!options || !rs_options_flag(options, "help")) return true;
    *code = rs_print_help(command);
    rs_arguments_clear(arguments);
    return false;
}

/* ---- what was asked ----------------------------------------------------------------------------------- */

static const rs_options *options_of(const rs_request *r, const char *name)
{
    return rs_arguments_of(r->command, &r->arguments, name);
}

bool rs_request_flag(const rs_request *r, const char *name)
{
    const rs_options *options = options_of(r, name);
    return options && rs_options_flag(options, name);
}

bool rs_request_is_set(const rs_request *r, const char *name)
{
    const rs_options *options = options_of(r, name);
    return options && rs_options_is_set(options, name);
}

int64_t rs_request_int(const rs_request *r, const char *name)
{
    const rs_options *options = options_of(r, name);
    return options ? rs_options_int(options, name) : 0;
}

const char *rs_request_text(const rs_request *r, const char *name)
{
    const rs_options *options = options_of(r, name);
    return options ? rs_options_text(options, name) : NULL;
}

const rs_repeated *rs_request_repeated(const rs_request *r, const char *name)
{
    static const rs_repeated none;
    for (size_t i = 0; i < RS_MAX_REPEATED && r->command->repeated[i]; i++)
        if (strcmp(r->command->repeated[i], name) == 0) return &r->arguments.repeated[i];
    return &none;
}

/* Where the tables go; NULL for standard output. */
static const char *tables_path(const rs_request *r)
{
    const char *path = r->command->writes_itself ? NULL : rs_request_text(r, "output");
    return path && strcmp(path, "-") != 0 ? path : NULL;
}

static void choose_rendering(rs_request *r)
{
    const char *color = rs_request_text(r, "color"), *form = rs_request_text(r, "format");
    bool to_file = tables_path(r) != NULL;
    r->render = rs_terminal_settings(color && strcmp(color, "always") == 0               ? RS_COLOR_ALWAYS
                                     : (color && strcmp(color, "never") == 0) || to_file ? RS_COLOR_NEVER
                                                                                         : RS_COLOR_AUTO);
    if (to_file) r->render.width = 0;
    if (to_file) r->render.terminal = false;
    if (form) r->render.form = rs_output_form_find(form);
    r->render.budget = (size_t)rs_request_int(r, "budget");
    r->render.paths = r->n_said ? r->said : r->arguments.paths;
    r->render.n_paths = r->n_said ? r->n_said : r->arguments.n_paths;
    r->render.brief = r->n_said > 0;
}

static rs_status choose_table(rs_request *r, rs_error *err)
{
    const char *name = rs_request_text(r, "table");
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

/* What decides which tables there are, and which of them is wanted. */
static rs_status choose(rs_request *r, rs_error *err)
{
    r->quiet = rs_request_flag(r, "quiet");
    choose_rendering(r);
    if (r->command->choose) RS_TRY(r->command->choose(r, err));
    RS_TRY(choose_table(r, err));
    RS_TRY(rs_budget_fits_form(&r->render, err));
    return rs_terminal_takes(&r->render, tables_path(r) != NULL, err);
}

/* The rest, which --schema does not need. */
static rs_status check(rs_request *r, rs_error *err)
{
    const rs_options *input = options_of(r, "max-memory"); /* which only the input options have */
    if (input) {
        RS_TRY(rs_job_settings_take(input, &r->job, err));
        RS_TRY(rs_store_place(&r->job, &r->store, err));
    }
    r->job.progress = rs_progress_step;
    r->job.progress_context = &r->progress;
    return r->command->check ? r->command->check(r, err) : RS_OK;
}

/* ---- jobs --------------------------------------------------------------------------------------------- */

rs_status rs_request_open(const rs_request *r, const char *const *paths, size_t n, rs_job **out,
                          rs_error *err)
{
    RS_TRY(rs_job_open(paths, n, &r->job, out, err));
    for (size_t i = 0; i < rs_job_n_files(*out); i++) {
        const char *path = rs_job_get_file(*out, i).name;
        if (path) rs_output_protect(path);
    }
    return RS_OK;
}

void rs_request_close(rs_request *r, rs_job *job)
{
    if (!job) return;
    rs_job_stats more = rs_job_get_stats(job);
    r->stats.bytes_read += more.bytes_read;
    r->stats.bytes_text += more.bytes_text;
    r->stats.events += more.events;
    r->stats.load_seconds += more.load_seconds;
    r->stats.index_seconds += more.index_seconds;
    r->stats.analysis_seconds += more.analysis_seconds;
    rs_job_close(job);
}

static void tell_stats(const rs_request *r)
{
    const rs_job_stats *stats = &r->stats;
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    char read[32], text[32], events[32], peak[32];
    rs_complain("%s read, %s of text, %s events, %s s (loading %s s, links %s s, analysis %s s), peak memory "
                "%s",
                rs_human_bytes((int64_t)stats->bytes_read, read),
                rs_human_bytes((int64_t)stats->bytes_text, text),
                rs_human_count((int64_t)stats->events, events), RS_FIXED(rs_clock_seconds() - r->start, 3),
                RS_FIXED(stats->load_seconds, 3), RS_FIXED(stats->index_seconds, 3),
                RS_FIXED(stats->analysis_seconds, 3), rs_human_bytes((int64_t)usage.ru_maxrss * 1024, peak));
}

/* ---- showing ------------------------------------------------------------------------------------------ */

rs_status rs_request_show(const rs_request *r, const rs_result *result, const rs_sink *sink, rs_error *err)
{
    rs_result shown = *result; /* a view of the chosen table */
    if (r->table < result->n_tables) {
        shown.tables = &result->tables[r->table];
        shown.n_tables = 1;
        shown.main_table = 0;
    }
    return rs_render_result(&shown, shown.main_table, &r->render, sink, err);
}

bool rs_request_shows_verdict(const rs_request *r)
{
    const char *form = rs_request_text(r, "format");
    bool whole = !form || strcmp(form, "text") == 0 || strcmp(form, "json") == 0;
    return whole && r->table == SIZE_MAX && !rs_request_flag(r, "folded");
}

/* Without the verdict an empty table of findings does not say why it is empty. */
static void report_verdict(const rs_request *r, const rs_result *result)
{
    const rs_verdict *v = rs_result_verdict(result, 0);
    bool judges = r->command->analysis && rs_analysis_judged(r->command->analysis) == RS_JUDGES;
    if (judges && v && !r->quiet && (v->kind == RS_VERDICT_HEALTHY || v->kind == RS_VERDICT_REFUSED) &&
        !rs_request_shows_verdict(r))
        rs_complain("%s", v->text);
}

typedef struct shown_result {
    const rs_request *request;
    const rs_result *result;
    rs_status (*show)(const rs_request *request, const rs_result *result, const rs_sink *sink, rs_error *err);
} shown_result;

static rs_status write_shown(void *context, const rs_sink *sink, rs_error *err)
{
    const shown_result *s = context;
    return s->show(s->request, s->result, sink, err);
}

static int deliver(const rs_request *r, shown_result *shown)
{
    rs_error err = RS_ERROR_INIT;
    bool ok = rs_output_put(tables_path(r), false, r->command->name, write_shown, shown, &err) == RS_OK;
    return ok ? RS_EXIT_OK : rs_complain_error(NULL, &err);
}

int rs_request_deliver(rs_request *r, const rs_result *result)
{
    shown_result shown = {r, result, r->command->show ? r->command->show : rs_request_show};
    return deliver(r, &shown);
}

static int print_schema(rs_request *r)
{
    rs_table *schema = rs_schema_table(r->tables, r->n_tables);
    if (!schema) {
        rs_complain("out of memory");
        return RS_EXIT_INPUT;
    }
    rs_result result = {.tables = &schema, .n_tables = 1};
    r->table = SIZE_MAX;
    shown_result shown = {r, &result, rs_request_show};
    int code = deliver(r, &shown);
    rs_table_free(schema);
    return code;
}

/* ---- the run ------------------------------------------------------------------------------------------ */

static int run(rs_request *r)
{
    rs_error err = RS_ERROR_INIT;
    RS_SCOPED(rs_result_clear) rs_result result = {0};
    int code = RS_EXIT_OK;
    rs_progress_start(&r->progress, !r->quiet && !rs_request_flag(r, "no-progress"));
    rs_status status = r->command->body(r, &result, &err);
    rs_progress_end(&r->progress);
    if (status == RS_ERR_CANCELLED) rs_signal_repeat();
    if (status == RS_OK)
        code = r->command->deliver ? r->command->deliver(r, &result) : rs_request_deliver(r, &result);
    if (!r->told) rs_report_result(&result, r->quiet || r->n_said);
    if (status == RS_OK) report_verdict(r, &result);
    /* first what is wrong with each file, then what it came to, unless that has been said */
    if (status != RS_OK)
        code = rs_is_told(&result, &err) ? rs_exit_code_of(status) : rs_complain_error(NULL, &err);
    else if (rs_request_flag(r, "stats") || rs_request_flag(r, "verbose"))
        tell_stats(r);
    if (code == RS_EXIT_OK && result.found)
        code = RS_EXIT_FOUND;
    else if (code == RS_EXIT_OK && rs_problems_worst(&result.problems) == RS_LOSS)
        code = RS_EXIT_LOSS;
    return code;
}

static int answer(rs_request *r)
{
    rs_error err = RS_ERROR_INIT;
    rs_status status = choose(r, &err);
    if (status == RS_OK && r->n_tables && rs_request_flag(r, "schema")) return print_schema(r);
    if (status == RS_OK) status = check(r, &err);
    return status == RS_OK ? run(r) : rs_complain_error(r->command->name, &err);
}

static int run_command(const rs_command *command, int argc, char **argv, const char *const *paths,
                       size_t n_paths)
{
    rs_request r = {
        .command = command, .job.size = sizeof r.job, .table = SIZE_MAX, .start = rs_clock_seconds()};
    int code;
    r.said = paths;
    r.n_said = n_paths;
    if (!rs_command_start(command, argc, argv, &r.arguments, &code)) return code;
    if (command->own_size && !(r.own = rs_calloc(1, command->own_size))) {
        rs_complain("out of memory");
        code = RS_EXIT_INPUT;
    } else {
        code = answer(&r);
        if (command->clear) command->clear(&r);
    }
    rs_free_all(r.own, r.store);
    rs_arguments_clear(&r.arguments);
    return code;
}

int rs_command_run(const rs_command *command, int argc, char **argv)
{
    return run_command(command, argc, argv, NULL, 0);
}

int rs_command_answer_briefly(const rs_command *command, int argc, char **argv, const char *const *paths,
                              size_t n_paths)
{
    return run_command(command, argc, argv, paths, n_paths);
}
