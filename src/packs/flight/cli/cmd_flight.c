/* rankscope flight DIR...: which rank hung, and why. The verdict first, then the proof. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "flight/cli/flight.h"

static const rs_option_spec specs[] = {
    {"prefix", RS_OPTION_TEXT, "TEXT", NULL, NULL,
     "only files whose name contains TEXT; the rank follows it"},
    {"ranks", RS_OPTION_RANGES, "LIST", NULL, NULL,
     "show the entries of these ranks only: 0,3,8-15 (the verdict uses all)"},
    {"groups", RS_OPTION_TEXT, "NAME,...", NULL, NULL, "show these groups only, by name or description"},
    {"all-groups", RS_OPTION_FLAG, NULL, NULL, NULL,
     "show all groups, not only those with something open or a root"},
    {"log", RS_OPTION_TEXT, "FILE", NULL, NULL,
     "the job's log, one for the job or one a node or rank; may be given again. Without DIR the dumps that "
     "it names"},
    {"server", RS_OPTION_TEXT, "URL", NULL, NULL,
     "a running job's debug server (torch.distributed.debug); port 25999 unless given"},
    {"workers", RS_OPTION_TEXT, "FILE", NULL, NULL,
     "a running job's worker servers: an address a line, line n for rank n, or RANK ADDRESS"},
    {"watch", RS_OPTION_TEXT, "DIR|URL", NULL, NULL,
     "look again and again, until a hang (exit 1) or the job's end (0; 4 when it vanishes)"},
    {"every", RS_OPTION_INT, "S", NULL, "10", "seconds between two looks of --watch"},
    {"once", RS_OPTION_FLAG, NULL, NULL, NULL, "with --watch: judge what is there and end"},
    {"stall", RS_OPTION_INT, "S", NULL, "30",
     "seconds without an issue or a completion after which a running job hangs"},
    {"timeout", RS_OPTION_INT, "S", NULL, "10", "seconds that a worker has for an answer"},
    {"pyspy", RS_OPTION_FLAG, NULL, NULL, NULL,
     "ask for py-spy's stacks too; it must be installed on the hosts"},
    {"frames", RS_OPTION_FLAG, NULL, NULL, NULL,
     "with --workers: ask for the recorded stacks; their making may need the GIL"},
    {"entries", RS_OPTION_FLAG, NULL, NULL, NULL,
     "the recorded operations instead of the verdict: in text one column a rank"},
    {"stacks", RS_OPTION_FLAG, NULL, NULL, NULL, "whole stacks: with the proof, and in --entries"},
    {"allow-missing", RS_OPTION_FLAG, NULL, NULL, NULL,
     "ranks without a dump are no fault unless somebody waits for them"},
    {"limit", RS_OPTION_INT, "N", NULL, "10", "in text, at most N further findings and N waiting ranks"},
    {"torchft-size", RS_OPTION_INT, "N", NULL, NULL,
     "torchft: ranks of default_pg count within replicas of N ranks"},
    {"timeline", RS_OPTION_TEXT, "FILE", NULL, NULL,
     "also write the operations as a trace that Perfetto opens"},
    {"database", RS_OPTION_TEXT, "FILE", NULL, NULL,
     "also write an SQLite database: groups, memberships, tracebacks, collectives, nccl_calls"},
    {"jobs", RS_OPTION_INT, "N", NULL, NULL, "worker threads (default: one for each core)"},
    {"max-ratio", RS_OPTION_INT, "N", NULL, "1000",
     "refuse files that inflate to more than N times their size"},
};

typedef rs_flight_request request;

/* ---- other forms --------------------------------------------------------------------------------------- */

static rs_table *choose_table(const request *r, rs_flight *flight, rs_error *err)
{
    const char *ranks = rs_options_text(r->own, "ranks"), *groups = rs_options_text(r->own, "groups");
    bool entries = rs_options_flag(r->own, "entries");
    if (r->table && strcmp(r->table, "side_by_side") == 0)
        return rs_flight_side_by_side(flight, ranks, groups, err);
    if (r->table && strcmp(r->table, "lateness") == 0) return rs_flight_lateness(flight, err);
    if (r->table && strcmp(r->table, "collectives") == 0) return rs_flight_collectives(flight, err);
    if (r->table && strcmp(r->table, "dumps") == 0) return rs_flight_dumps(flight, err);
    if (r->table && strcmp(r->table, "roots") == 0) return rs_flight_roots(flight, err);
    if (r->table && strcmp(r->table, "log") == 0) return rs_flight_log(flight, err);
    if (r->table && strcmp(r->table, "attempts") == 0) return rs_flight_attempts(flight, err);
    if (r->table && strcmp(r->table, "progress") == 0) return rs_flight_progress(flight, err);
    if (r->table && strcmp(r->table, "stacks") == 0) return rs_flight_stacks(flight, err);
    if (r->table && strcmp(r->table, "groups") == 0)
        return groups || rs_options_flag(r->own, "all-groups") ? rs_flight_groups(flight, groups, err)
                                                               : rs_flight_open_groups(flight, err);
    if (r->table || !rs_renders_as(&r->render, "text")) {
        if (r->table || entries)
            return rs_flight_entries(flight, ranks, groups, rs_options_flag(r->own, "stacks"), err);
        return rs_flight_roots(flight, err);
    }
    return rs_flight_side_by_side(flight, ranks, groups, err);
}

static rs_status show_rows(const request *r, rs_flight *flight, const rs_sink *sink, rs_error *err)
{
    rs_table *table = choose_table(r, flight, err);
    if (!table) return err->status;
    rs_status status = RS_OK;
    if (rs_renders_as(&r->render, "json")) {
        char head[96];
        int n = snprintf(head, sizeof head, "{\"%s\": ", rs_table_get_spec(table)->name);
        if (!sink->write(sink->context, head, (size_t)n))
            status = rs_fail(err, RS_ERR_IO, "the output cannot be written");
        if (status == RS_OK) status = rs_render_table(table, &r->render, sink, err);
        if (status == RS_OK && !sink->write(sink->context, "}\n", 2))
            status = rs_fail(err, RS_ERR_IO, "the output cannot be written");
    } else {
        status = rs_render_table(table, &r->render, sink, err);
    }
    if (status == RS_OK && rs_options_flag(r->own, "stacks") && rs_renders_as(&r->render, "text")) {
        rs_writer writer;
        rs_writer_init(&writer, sink);
        rs_page layout = {.writer = &writer, .width = 0, .color = r->render.color, .utf8 = r->render.utf8};
        rs_page_heading(&layout, "Stacks (innermost frame first)", false);
        for (uint32_t i = 1; *rs_flight_stack(flight, i); i++) {
            char title[32];
            snprintf(title, sizeof title, "stack %u", i);
            rs_page_wrap(&layout, "  ", title);
            rs_flight_put_stack(&layout, flight, i);
        }
        status = rs_writer_finish(&writer, err);
    }
    rs_table_free(table);
    return status;
}

static rs_status show(const request *r, rs_flight *flight, const rs_sink *sink, rs_error *err)
{
    if (rs_options_flag(r->own, "entries") || r->table) return show_rows(r, flight, sink, err);
    if (rs_renders_as(&r->render, "json"))
        return rs_flight_write_json_within(flight, r->render.budget, sink, err);
    if (rs_renders_as(&r->render, "text")) return rs_flight_show_text(r, flight, sink, err);
    return show_rows(r, flight, sink, err);
}

static int deliver(const request *r, rs_flight *flight, const char *path,
                   rs_status (*write)(const request *r, rs_flight *flight, const rs_sink *sink,
                                      rs_error *err))
{
    rs_error err = RS_ERROR_INIT;
    rs_output output;
    if (rs_output_open(&output, path, &err) != RS_OK) return rs_complain_error(NULL, &err);
    rs_sink sink = rs_output_sink(&output);
    rs_status status = write(r, flight, &sink, &err);
    if (status == RS_OK) status = rs_output_commit(&output, &err);
    return status == RS_OK ? RS_EXIT_OK : rs_output_failed(&output, r->command->name, &err);
}

static rs_status write_timeline(const request *r, rs_flight *flight, const rs_sink *sink, rs_error *err)
{
    (void)r;
    return rs_flight_write_timeline(flight, sink, err);
}

/* ---- the run ------------------------------------------------------------------------------------------- */

static int verdict_code(const rs_flight_report *report)
{
    if (report->root.verdict == RS_FLIGHT_BAD_INPUT) return RS_EXIT_INPUT;
    if (report->root.verdict != RS_FLIGHT_HEALTHY) return RS_EXIT_FOUND;
    return rs_problems_worst(report->problems) == RS_LOSS ? RS_EXIT_LOSS : RS_EXIT_OK;
}

static void report_problems(const request *r, rs_flight *flight)
{
    rs_result view = {.problems = *rs_flight_problems(flight)};
    rs_report_result(&view, r->quiet);
}

static int answer(const request *r, rs_flight *flight)
{
    rs_error err = RS_ERROR_INIT;
    const rs_flight_report *report;
    const char *timeline = rs_options_text(r->own, "timeline"),
               *database = rs_options_text(r->own, "database");
    if (rs_flight_get_report(flight, &report, &err) != RS_OK)
        return rs_complain_error(r->command->name, &err);
    int code = deliver(r, flight, rs_options_text(r->out, "output"), show);
    if (code == RS_EXIT_OK && timeline) code = deliver(r, flight, timeline, write_timeline);
    if (code == RS_EXIT_OK && database && rs_flight_write_database(flight, database, &err) != RS_OK)
        code = rs_complain_error(NULL, &err);
    report_problems(r, flight);
    return code == RS_EXIT_OK ? verdict_code(report) : code;
}

/* Numbers that the options of a running job take. */
static int check_live(const request *r)
{
    static const char *const seconds[] = {"every", "stall", "timeout"};
    const char *server = rs_options_text(r->own, "server"), *workers = rs_options_text(r->own, "workers"),
               *watch = rs_options_text(r->own, "watch");
    int sources = (server != NULL) + (workers != NULL) + (watch != NULL) + (r->arguments.n_paths > 0);
    for (size_t i = 0; i < sizeof seconds / sizeof *seconds; i++)
        if (rs_options_int(r->own, seconds[i]) < 1 || rs_options_int(r->own, seconds[i]) > 86400) {
            rs_complain("flight: --%s takes 1 to 86400 seconds", seconds[i]);
            return RS_EXIT_USAGE;
        }
    if (sources > 1) {
        rs_complain("flight: one of DIR, --server, --workers and --watch, not several");
        return RS_EXIT_USAGE;
    }
    if (sources == 0 && r->logs.n == 0) {
        rs_complain("flight: which dumps? rankscope flight [options] DIR...");
        return RS_EXIT_USAGE;
    }
    return RS_EXIT_OK;
}

static rs_status open_input(const request *r, rs_flight_settings *settings, rs_flight **flight, int *ended,
                            rs_error *err)
{
    const char *server = rs_options_text(r->own, "server"), *watch = rs_options_text(r->own, "watch");
    if (watch) return rs_flight_watch(r, watch, settings, flight, ended, err);
    if (server || rs_options_text(r->own, "workers"))
        return rs_flight_snapshot(r, server, settings, flight, err);
    return rs_flight_open(r->arguments.paths, r->arguments.n_paths, settings, flight, err);
}

static int run(const request *r)
{
    rs_error err = RS_ERROR_INIT;
    rs_progress progress;
    int64_t jobs = rs_options_int(r->own, "jobs"), size = rs_options_int(r->own, "torchft-size");
    if (rs_options_is_set(r->own, "jobs") && (jobs < 1 || jobs > 4096)) {
        rs_complain("flight: --jobs takes 1 to 4096, not %lld", (long long)jobs);
        return RS_EXIT_USAGE;
    }
    if (rs_options_int(r->own, "max-ratio") == 0) {
        rs_complain("flight: --max-ratio must be at least 1");
        return RS_EXIT_USAGE;
    }
    rs_progress_start(&progress, !r->quiet && !rs_options_flag(r->out, "no-progress"));
    rs_flight_settings settings = {.jobs = (unsigned)jobs,
                                   .max_ratio = (uint64_t)rs_options_int(r->own, "max-ratio"),
                                   .prefix = rs_options_text(r->own, "prefix"),
                                   .allow_missing = rs_options_flag(r->own, "allow-missing"),
                                   .replica_size = size,
                                   .logs = r->logs.values,
                                   .n_logs = r->logs.n,
                                   .progress = rs_progress_step,
                                   .progress_context = &progress};
    rs_flight *flight = NULL;
    int code, ended = -1;
    rs_status status = open_input(r, &settings, &flight, &ended, &err);
    rs_progress_end(&progress);
    if (status == RS_ERR_CANCELLED) {
        rs_signal_repeat();
        code = rs_complain_error(NULL, &err);
    } else if (status != RS_OK && flight && rs_renders_as(&r->render, "json") &&
               !rs_options_flag(r->own, "entries") && !r->table) {
        code = deliver(r, flight, rs_options_text(r->out, "output"), show);
        report_problems(r, flight);
        if (code == RS_EXIT_OK) code = rs_complain_error(NULL, &err);
    } else if (status != RS_OK) {
        if (flight) report_problems(r, flight);
        code = rs_complain_error(NULL, &err);
    } else {
        code = answer(r, flight);
        if (ended >= 0 && code == RS_EXIT_OK) code = ended;
    }
    rs_flight_close(flight);
    return code;
}

static int print_schema(const request *r)
{
    size_t n;
    const rs_table_spec *const *tables = rs_flight_tables(&n);
    rs_table *schema = rs_schema_table(tables, n);
    rs_error err = RS_ERROR_INIT;
    rs_output output;
    if (!schema) {
        rs_complain("out of memory");
        return RS_EXIT_INPUT;
    }
    if (rs_output_open(&output, rs_options_text(r->out, "output"), &err) != RS_OK) {
        rs_table_free(schema);
        return rs_complain_error(NULL, &err);
    }
    rs_sink sink = rs_output_sink(&output);
    rs_status status = rs_render_table(schema, &r->render, &sink, &err);
    if (status == RS_OK) status = rs_output_commit(&output, &err);
    rs_table_free(schema);
    return status == RS_OK ? RS_EXIT_OK : rs_output_failed(&output, r->command->name, &err);
}

static int check_table(const char *name)
{
    static const char known[] =
        "roots, groups, entries, side_by_side, dumps, lateness, collectives, log, attempts, progress, stacks";
    size_t n;
    const rs_table_spec *const *tables = rs_flight_tables(&n);
    if (!name || strcmp(name, "side_by_side") == 0) return RS_EXIT_OK;
    for (size_t i = 0; i < n; i++)
        if (strcmp(tables[i]->name, name) == 0) return RS_EXIT_OK;
    rs_complain("flight: there is no table \"%.60s\"; there is %s", name, known);
    return RS_EXIT_USAGE;
}

static void make_help(rs_writer *writer, const void *context)
{
    rs_write_command_help(writer, context);
}

/* Options that may be given again are taken out before the rest is parsed. */
static rs_status parse(const rs_command *command, int argc, char **argv, request *r, rs_error *err)
{
    size_t room = (size_t)argc + 1;
    char **rest = rs_calloc(room, sizeof *rest);
    r->logs.values = rs_calloc(room, sizeof *r->logs.values);
    if (!rest || !r->logs.values) {
        rs_free(rest);
        return rs_fail_nomem(err, "the options");
    }
    int n = 0, i = 0;
    for (; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (!rs_repeated_take(&r->logs, "log", argc, argv, &i)) rest[n++] = argv[i];
    for (; i < argc; i++) rest[n++] = argv[i];
    rs_status status = rs_arguments_parse(command, n, rest, &r->arguments, err);
    rs_free(rest);
    return status;
}

static rs_status set_render(request *r, rs_error *err)
{
    const char *color = rs_options_text(r->out, "color"), *to = rs_options_text(r->out, "output");
    bool to_file = to && strcmp(to, "-") != 0;
    r->render = rs_terminal_settings(strcmp(color, "always") == 0             ? RS_COLOR_ALWAYS
                                     : strcmp(color, "never") == 0 || to_file ? RS_COLOR_NEVER
                                                                              : RS_COLOR_AUTO);
    if (to_file) r->render.width = 0;
    r->render.form = rs_output_form_find(rs_options_text(r->out, "format"));
    r->render.budget = (size_t)rs_options_int(r->out, "budget");
    rs_status status = rs_budget_fits_form(&r->render, err);
    bool tables = r->table || rs_options_flag(r->own, "entries") || !rs_renders_as(&r->render, "json");
    if (status == RS_OK && r->render.budget && tables)
        return rs_fail(err, RS_ERR_USAGE, "--budget is for the verdict as --format json, not for its tables");
    return status == RS_OK ? rs_terminal_takes(&r->render, to_file, err) : status;
}

static int run_flight(const rs_command *command, int argc, char **argv)
{
    rs_error err = RS_ERROR_INIT;
    request r = {.command = command};
    int code;
    if (parse(command, argc, argv, &r, &err) != RS_OK) {
        rs_free(r.logs.values);
        return rs_complain_error(command->name, &err);
    }
    r.own = r.arguments.options[0];
    r.out = r.arguments.options[1];
    r.table = rs_options_text(r.out, "table");
    r.quiet = rs_options_flag(r.out, "quiet");
    r.verbose = rs_options_flag(r.out, "verbose");
    code = set_render(&r, &err) == RS_OK ? check_table(r.table) : rs_complain_error(command->name, &err);
    if (rs_options_flag(r.out, "help")) {
        code = rs_print(command->name, make_help, command);
    } else if (code == RS_EXIT_OK && rs_options_flag(r.out, "schema")) {
        code = print_schema(&r);
    } else if (code == RS_EXIT_OK && (code = check_live(&r)) == RS_EXIT_OK) {
        code = run(&r);
    }
    rs_arguments_clear(&r.arguments);
    rs_free(r.logs.values);
    return code;
}

const rs_command rs_command_flight = {
    .name = "flight",
    .group = "Flight recorder",
    .help = "Which rank hung, and why: PyTorch flight-recorder dumps",
    .usage = "[options] DIR...",
    .about =
        "Reads the dumps that PyTorch's flight recorder leaves when a job hangs (pickle or JSON, any "
        "version, "
        "gzip, zstd, tar, sub-directories) and says which rank is to blame, in which collective, why, and "
        "where in its code; then shows the proof.\n\n"
        "Collectives are matched by group and sequence number; who waits for whom is followed through all "
        "groups, so that ranks which only wait are not accused. What a dump cannot tell (a ring that has "
        "wrapped, a missing file) stays unknown. Nothing in a dump is ever executed.\n\n"
        "The rank is read from each file's name: digits after \"rank\", else the last digits; RANK=PATH "
        "sets "
        "it by hand. Exit code 0: nothing wrong; 1: a hang, mismatch or straggler; 3: no usable dump; 4: "
        "nothing "
        "wrong, but a dump was unusable.",
    .examples = "rankscope flight /tmp/nccl_traces\n"
                "rankscope flight --stacks --verbose traces/\n"
                "rankscope flight --entries --ranks 0,5 --groups mesh_dp traces/\n"
                "rankscope flight --format json traces/ | jq .summary\n"
                "rankscope flight --timeline hang.json --database hang.sqlite traces/",
    .groups = {{.title = "Options", .specs = specs, .n = sizeof specs / sizeof *specs},
               {.base = &rs_output_options}},
    .n_groups = 2,
    .run = run_flight,
};
