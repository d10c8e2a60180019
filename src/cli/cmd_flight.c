/* rankscope flight DIR...: which rank hung, and why. The verdict first, then the proof. */
#include <stdio.h>

#include "cli/cli.h"
#include "cli/layout.h"

static const rs_option_spec specs[] = {
    {"prefix", RS_OPTION_TEXT, "TEXT", NULL, NULL,
     "only files whose name contains TEXT; the rank follows it"},
    {"ranks", RS_OPTION_RANGES, "LIST", NULL, NULL,
     "show the entries of these ranks only: 0,3,8-15 (the verdict uses all)"},
    {"groups", RS_OPTION_TEXT, "NAME,...", NULL, NULL, "show these groups only, by name or description"},
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
const rs_option_group rs_flight_options = {
    .title = "Options", .specs = specs, .n = sizeof specs / sizeof *specs};

typedef struct request {
    const rs_command *command;
    const rs_options *own, *out;
    rs_render_settings render;
    const char *table;
    bool quiet, verbose;
} request;

/* ---- text -----------------------------------------------------------------------------------------------
 */

static void put_colored(rs_layout *layout, const char *code, const char *text)
{
    if (layout->color) rs_writer_text(layout->writer, code);
    rs_layout_wrap(layout, "", text);
    if (layout->color) rs_writer_text(layout->writer, "\x1b[0m");
}

static void put_stack(rs_layout *layout, rs_flight *flight, uint32_t stack)
{
    const char *line = rs_flight_stack(flight, stack);
    while (*line) {
        size_t n = strcspn(line, "\n");
        rs_writer_text(layout->writer, "        ");
        rs_layout_text(layout, line, n);
        rs_writer_char(layout->writer, '\n');
        line += n;
        if (*line) line++;
    }
}

static void show_proof(const request *r, rs_flight *flight, const rs_flight_report *report, rs_layout *layout)
{
    const rs_flight_finding *root = &report->root;
    bool stacks = rs_options_flag(r->own, "stacks") || r->verbose;
    if (!root->n_evidence) return;
    rs_layout_heading(layout, "Proof", false);
    for (size_t i = 0; i < root->n_evidence; i++) {
        rs_layout_wrap(layout, "  * ", root->evidence[i].text);
        if (stacks) put_stack(layout, flight, root->evidence[i].stack);
    }
    if (stacks) return;
    bool any = false;
    for (size_t i = 0; i < root->n_evidence; i++) any |= root->evidence[i].stack != 0;
    if (any) rs_layout_wrap(layout, "  ", "--stacks shows the whole stacks.");
}

static void show_findings(const request *r, const rs_flight_report *report, rs_layout *layout)
{
    size_t limit = (size_t)rs_options_int(r->own, "limit");
    if (report->n_findings < 2) return;
    rs_layout_heading(layout, "Also found", false);
    for (size_t i = 1; i < report->n_findings && i <= limit; i++) {
        char lead[64];
        snprintf(lead, sizeof lead, "  %s: ", rs_flight_verdict_name(report->findings[i].verdict));
        rs_layout_wrap(layout, lead, report->findings[i].summary);
    }
    if (report->n_findings - 1 > limit) {
        char more[64];
        snprintf(more, sizeof more, "... and %zu more (--limit)", report->n_findings - 1 - limit);
        rs_layout_wrap(layout, "  ", more);
    }
}

static void ranks_text(const int64_t *ranks, size_t n, char *out, size_t size)
{
    size_t at = 0;
    out[0] = '\0';
    for (size_t i = 0; i < n && i < 8 && at + 24 < size; i++)
        at += (size_t)snprintf(out + at, size - at, "%s%lld", i ? "," : "", (long long)ranks[i]);
    if (n > 8) snprintf(out + at, size - at, ",...");
}

static void show_waiting(const request *r, const rs_flight_report *report, rs_layout *layout)
{
    size_t limit = r->verbose ? SIZE_MAX : (size_t)rs_options_int(r->own, "limit");
    char line[600], ranks[240];
    if (!report->n_waiting) return;
    snprintf(line, sizeof line, "Waiting, not at fault (%zu)", report->n_waiting);
    rs_layout_heading(layout, line, false);
    for (size_t i = 0; i < report->n_waiting && i < limit; i++) {
        const rs_flight_waiting *w = &report->waiting[i];
        ranks_text(w->waits_for, w->n_waits_for, ranks, sizeof ranks);
        snprintf(line, sizeof line, "rank %lld in %.80s %s %lld, group %.80s%s%.80s%s, %s%s%s",
                 (long long)w->rank, w->op, w->p2p ? "p2p seq" : "seq", (long long)w->seq, w->group,
                 w->group_desc ? " (" : "", w->group_desc ? w->group_desc : "", w->group_desc ? ")" : "",
                 w->state, ranks[0] ? ", for rank " : "", ranks);
        rs_layout_wrap(layout, "  ", line);
    }
    if (report->n_waiting > limit) {
        snprintf(line, sizeof line, "... and %zu more (--verbose)", report->n_waiting - limit);
        rs_layout_wrap(layout, "  ", line);
    }
}

static rs_status show_table(rs_layout *layout, const char *title, rs_table *table, rs_error *err)
{
    if (!table) return err->status;
    rs_status status = RS_OK;
    if (rs_table_n_rows(table)) {
        rs_layout_heading(layout, title, false);
        status = rs_layout_table(layout, table, err);
    }
    rs_table_free(table);
    return status;
}

static rs_status show_text(const request *r, rs_flight *flight, const rs_sink *sink, rs_error *err)
{
    const rs_flight_report *report;
    rs_status status = rs_flight_get_report(flight, &report, err);
    if (status != RS_OK) return status;
    rs_writer writer;
    rs_writer_init(&writer, sink);
    rs_layout layout = {
        .writer = &writer, .width = r->render.width, .color = r->render.color, .utf8 = r->render.utf8};
    bool healthy = report->root.verdict == RS_FLIGHT_HEALTHY;
    put_colored(&layout, healthy ? "\x1b[1;32m" : "\x1b[1;31m", report->root.summary);
    char line[256], a[32], b[32];
    snprintf(line, sizeof line, "verdict %s; %s dumps, %s operations, %zu group%s",
             rs_flight_verdict_name(report->root.verdict), rs_human_count((int64_t)report->n_ranks, a),
             rs_human_count((int64_t)report->n_entries, b), report->n_groups,
             report->n_groups == 1 ? "" : "s");
    rs_layout_wrap(&layout, "", line);
    show_proof(r, flight, report, &layout);
    show_findings(r, report, &layout);
    show_waiting(r, report, &layout);
    status =
        show_table(&layout, "Groups", rs_flight_groups(flight, rs_options_text(r->own, "groups"), err), err);
    if (status == RS_OK && r->verbose)
        status = show_table(&layout, "Dumps", rs_flight_dumps(flight, err), err);
    if (status == RS_OK && (r->verbose || report->root.verdict == RS_FLIGHT_STRAGGLER))
        status = show_table(&layout, "Lateness", rs_flight_lateness(flight, err), err);
    if (status == RS_OK && r->verbose)
        status = show_table(&layout, "Durations", rs_flight_collectives(flight, err), err);
    return status == RS_OK ? rs_writer_finish(&writer, err) : status;
}

/* ---- other forms ----------------------------------------------------------------------------------------
 */

static rs_table *choose_table(const request *r, rs_flight *flight, rs_error *err)
{
    const char *ranks = rs_options_text(r->own, "ranks"), *groups = rs_options_text(r->own, "groups");
    bool entries = rs_options_flag(r->own, "entries");
    if (r->table && strcmp(r->table, "side_by_side") == 0)
        return rs_flight_side_by_side(flight, ranks, groups, err);
    if (r->table && strcmp(r->table, "lateness") == 0) return rs_flight_lateness(flight, err);
    if (r->table && strcmp(r->table, "collectives") == 0) return rs_flight_collectives(flight, err);
    if (r->table && strcmp(r->table, "dumps") == 0) return rs_flight_dumps(flight, err);
    if (r->table && strcmp(r->table, "groups") == 0) return rs_flight_groups(flight, groups, err);
    if (r->table || !rs_renders_as(&r->render, "text")) {
        if (r->table || entries)
            return rs_flight_entries(flight, ranks, groups, rs_options_flag(r->own, "stacks"), err);
        return rs_flight_groups(flight, groups, err);
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
        rs_layout layout = {.writer = &writer, .width = 0, .color = r->render.color, .utf8 = r->render.utf8};
        rs_layout_heading(&layout, "Stacks (innermost frame first)", false);
        for (uint32_t i = 1; *rs_flight_stack(flight, i); i++) {
            char title[32];
            snprintf(title, sizeof title, "stack %u", i);
            rs_layout_wrap(&layout, "  ", title);
            put_stack(&layout, flight, i);
        }
        status = rs_writer_finish(&writer, err);
    }
    rs_table_free(table);
    return status;
}

static rs_status show(const request *r, rs_flight *flight, const rs_sink *sink, rs_error *err)
{
    if (rs_options_flag(r->own, "entries") || r->table) return show_rows(r, flight, sink, err);
    if (rs_renders_as(&r->render, "json")) return rs_flight_write_json(flight, sink, err);
    if (rs_renders_as(&r->render, "text")) return show_text(r, flight, sink, err);
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

/* ---- the run --------------------------------------------------------------------------------------------
 */

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

static int run(const request *r, const rs_arguments *arguments)
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
                                   .progress = rs_progress_step,
                                   .progress_context = &progress};
    rs_flight *flight = NULL;
    rs_status status = rs_flight_open(arguments->paths, arguments->n_paths, &settings, &flight, &err);
    rs_progress_end(&progress);
    int code;
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
    static const char known[] = "groups, entries, side_by_side, dumps, lateness, collectives";
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

int rs_run_flight(const rs_command *command, int argc, char **argv)
{
    rs_error err = RS_ERROR_INIT;
    rs_arguments arguments;
    request r = {.command = command};
    if (rs_arguments_parse(command, argc, argv, &arguments, &err) != RS_OK)
        return rs_complain_error(command->name, &err);
    r.own = arguments.options[0];
    r.out = arguments.options[1];
    r.table = rs_options_text(r.out, "table");
    r.quiet = rs_options_flag(r.out, "quiet");
    r.verbose = rs_options_flag(r.out, "verbose");
    const char *color = rs_options_text(r.out, "color"), *to = rs_options_text(r.out, "output");
    bool to_file = to && strcmp(to, "-") != 0;
    r.render = rs_terminal_settings(strcmp(color, "always") == 0             ? RS_COLOR_ALWAYS
                                    : strcmp(color, "never") == 0 || to_file ? RS_COLOR_NEVER
                                                                             : RS_COLOR_AUTO);
    if (to_file) r.render.width = 0;
    r.render.form = rs_output_form_find(rs_options_text(r.out, "format"));
    int code = check_table(r.table);
    if (rs_options_flag(r.out, "help")) {
        code = rs_print(command->name, make_help, command);
    } else if (code == RS_EXIT_OK && rs_options_flag(r.out, "schema")) {
        code = print_schema(&r);
    } else if (code == RS_EXIT_OK && arguments.n_paths == 0) {
        rs_complain("flight: which dumps? rankscope flight [options] DIR...");
        code = RS_EXIT_USAGE;
    } else if (code == RS_EXIT_OK) {
        code = run(&r, &arguments);
    }
    rs_arguments_clear(&arguments);
    return code;
}
