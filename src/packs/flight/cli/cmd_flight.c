/* rankscope flight DIR...: which rank hung, and why. The verdict first, then the proof. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "base/try.h"
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
    {"allow-host", RS_OPTION_TEXT, "HOST", NULL, NULL,
     "with --server: workers on this host may be asked, too (one * is any text: node*); only those on the server's own host are "
     "otherwise. May be given again"},
    {"ras", RS_OPTION_TEXT, "HOST[:PORT]", NULL, NULL,
     "ask NCCL's RAS of a running job (port 28028), and again after --stall seconds when that is given; with DIR, --log, --server or "
     "--workers, or alone"},
    {"prometheus", RS_OPTION_TEXT, "URL", NULL, NULL,
     "ask a Prometheus that scrapes dcgm-exporter for clocks, Xid, ECC and links; with any of the others"},
    {"metrics-hours", RS_OPTION_INT, "N", NULL, "2", "hours before now that --prometheus is asked about"},
    {"metrics-match", RS_OPTION_TEXT, "LABELS", NULL, NULL,
     "with --prometheus: only series with these labels, as in a query: Hostname=~\"node0[1-8].*\""},
    {"history", RS_OPTION_TEXT, "DIR", NULL, NULL,
     "compare with the records of earlier attempts in DIR and say what to do: start again, without a host, or stop; then add this one"},
    {"watch", RS_OPTION_TEXT, "DIR|URL", NULL, NULL,
     "look repeatedly, until a hang (exit 1) or the job's end (0; 4 when it vanishes)"},
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
     "ranks without a dump are no fault unless a rank waits for them"},
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

/* What a call has of its own. */
typedef struct flight_request {
    const rs_table_spec *tables[16];
    rs_flight *flight;
    rs_error failed; /* why there is no verdict, where JSON shows what was wrong with the files; else RS_OK */
    rs_flight_sources sources;
    rs_flight_compiled compiled;
    int ended; /* the exit code of a watch whose server has gone */
} flight_request;

/* ---- tables -------------------------------------------------------------------------------------------- */

/* One column a rank: its columns depend on the dumps, so --schema does not list it. */
static const rs_table_spec side_by_side = {.name = "side_by_side", .help = "the entries, one column a rank"};

/* What --table takes: the tables with a schema, then side_by_side. */
static rs_status choose(rs_request *r, rs_error *err)
{
    flight_request *own = r->own;
    size_t n;
    const rs_table_spec *const *known = rs_flight_tables(&n);
    if (n >= sizeof own->tables / sizeof *own->tables)
        return rs_fail(err, RS_ERR_LIMIT, "more tables than expected");
    memcpy(own->tables, known, n * sizeof *known);
    own->tables[n] = &side_by_side;
    r->tables = own->tables;
    r->n_tables = rs_request_flag(r, "schema") ? n : n + 1;
    bool json = rs_renders_as(&r->render, "json");
    if (r->render.budget && (rs_request_text(r, "table") || rs_request_flag(r, "entries") || !json))
        return rs_fail(err, RS_ERR_USAGE, "--budget is for the verdict as --format json, not for its tables");
    return RS_OK;
}

static rs_table *make_entries(const rs_request *r, rs_flight *flight, rs_error *err)
{
    return rs_flight_entries(flight, rs_request_text(r, "ranks"), rs_request_text(r, "groups"),
                             rs_request_flag(r, "stacks"), err);
}

static rs_table *make_side_by_side(const rs_request *r, rs_flight *flight, rs_error *err)
{
    return rs_flight_side_by_side(flight, rs_request_text(r, "ranks"), rs_request_text(r, "groups"), err);
}

static rs_table *make_groups(const rs_request *r, rs_flight *flight, rs_error *err)
{
    const char *groups = rs_request_text(r, "groups");
    return groups || rs_request_flag(r, "all-groups") ? rs_flight_groups(flight, groups, err)
                                                      : rs_flight_open_groups(flight, err);
}

static const struct {
    const char *name;
    rs_table *(*make)(rs_flight *flight, rs_error *err);
    rs_table *(*make_of)(const rs_request *r, rs_flight *flight, rs_error *err); /* that depends on options */
} makers[] = {
    {"roots", rs_flight_roots, NULL},       {"groups", NULL, make_groups},
    {"entries", NULL, make_entries},        {"side_by_side", NULL, make_side_by_side},
    {"lateness", rs_flight_lateness, NULL}, {"collectives", rs_flight_collectives, NULL},
    {"dumps", rs_flight_dumps, NULL},       {"log", rs_flight_log, NULL},
    {"attempts", rs_flight_attempts, NULL}, {"progress", rs_flight_progress, NULL},
    {"stacks", rs_flight_stacks, NULL},     {"inspector", rs_flight_inspector, NULL},
};

/* The table that is shown instead of the verdict; NULL: the verdict is. */
static const char *table_name(const rs_request *r)
{
    bool text = rs_renders_as(&r->render, "text"), json = rs_renders_as(&r->render, "json");
    if (r->table != SIZE_MAX) return r->tables[r->table]->name;
    if (rs_request_flag(r, "entries")) return text ? "side_by_side" : "entries";
    return text || json ? NULL : "roots";
}

static rs_status make_table(const rs_request *r, rs_flight *flight, const char *name, rs_result *result,
                            rs_error *err)
{
    result->tables = rs_calloc(1, sizeof *result->tables);
    if (!result->tables) return rs_fail_nomem(err, "tables");
    result->n_tables = 1;
    size_t at = 0;
    while (strcmp(makers[at].name, name) != 0) at++;
    result->tables[0] = makers[at].make ? makers[at].make(flight, err) : makers[at].make_of(r, flight, err);
    return result->tables[0] ? RS_OK : err->status;
}

/* ---- showing ------------------------------------------------------------------------------------------- */

static void put_stacks(const rs_request *r, rs_flight *flight, rs_writer *writer)
{
    rs_page layout = {.writer = writer, .width = 0, .color = r->render.color, .utf8 = r->render.utf8};
    rs_page_heading(&layout, "Stacks (innermost frame first)", false);
    for (uint32_t i = 1; *rs_flight_stack(flight, i); i++) {
        char title[32];
        snprintf(title, sizeof title, "stack %u", i);
        rs_page_wrap(&layout, "  ", title);
        rs_flight_put_stack(&layout, flight, i);
    }
}

/* A table, as every command prints it. `--entries --format json` keeps its name at the top, too: scripts read it there. */
static rs_status show_table(const rs_request *r, const rs_result *result, const rs_sink *sink, rs_error *err)
{
    rs_flight *flight = ((const flight_request *)r->own)->flight;
    if (!rs_renders_as(&r->render, "json") || r->table != SIZE_MAX) {
        RS_TRY(rs_render_result(result, 0, &r->render, sink, err));
        if (!rs_request_flag(r, "stacks") || !rs_renders_as(&r->render, "text")) return RS_OK;
        rs_writer writer;
        rs_writer_init(&writer, sink);
        put_stacks(r, flight, &writer);
        return rs_writer_finish(&writer, err);
    }
    static const char head[] = "{\"entries\": ", foot[] = "}\n";
    if (!sink->write(sink->context, head, sizeof head - 1))
        return rs_fail(err, RS_ERR_IO, "the output cannot be written");
    RS_TRY(rs_render_table(result->tables[0], &r->render, sink, err));
    if (!sink->write(sink->context, foot, sizeof foot - 1))
        return rs_fail(err, RS_ERR_IO, "the output cannot be written");
    return RS_OK;
}

static rs_status show(const rs_request *r, const rs_result *result, const rs_sink *sink, rs_error *err)
{
    const flight_request *own = r->own;
    if (result->n_tables) return show_table(r, result, sink, err);
    return rs_renders_as(&r->render, "json")
               ? rs_flight_write_json_within(own->flight, r->render.budget, sink, err)
               : rs_flight_show_text(r, own->flight, sink, err);
}

static rs_status write_timeline(void *context, const rs_sink *sink, rs_error *err)
{
    return rs_flight_write_timeline(context, sink, err);
}

static rs_status put_record(void *context, const rs_sink *sink, rs_error *err)
{
    return rs_flight_write_record(context, sink, err);
}

/* A look that decides nothing leaves no record. */
static rs_status write_record(const rs_request *r, rs_flight *flight, const rs_flight_report *report,
                              rs_error *err)
{
    const char *folder = rs_request_text(r, "history");
    char name[RS_FLIGHT_RECORD_NAME];
    if (!folder || report->decision == RS_FLIGHT_GO_ON || report->root.verdict == RS_FLIGHT_BAD_INPUT)
        return RS_OK;
    rs_flight_name_record(flight, name);
    rs_text path = {0};
    rs_text_printf(&path, "%s/%s", folder, name);
    rs_status status = rs_text_get(&path) ? rs_output_put(rs_text_get(&path), false, r->command->name,
                                                          put_record, flight, err)
                                          : rs_fail_nomem(err, "the record");
    rs_text_clear(&path);
    return status;
}

static int deliver(rs_request *r, const rs_result *result)
{
    flight_request *own = r->own;
    rs_error err = RS_ERROR_INIT;
    const rs_flight_report *report = NULL;
    const char *timeline = rs_request_text(r, "timeline"), *database = rs_request_text(r, "database");
    if (own->failed.status == RS_OK && rs_flight_get_report(own->flight, &report, &err) != RS_OK)
        return rs_complain_error(r->command->name, &err);
    int code = rs_request_deliver(r, result);
    if (report && code == RS_EXIT_OK && timeline &&
        rs_output_put(timeline, false, r->command->name, write_timeline, own->flight, &err) != RS_OK)
        code = rs_complain_error(NULL, &err);
    if (report && code == RS_EXIT_OK && database &&
        rs_flight_write_database(own->flight, database, &err) != RS_OK)
        code = rs_complain_error(NULL, &err);
    if (report && code == RS_EXIT_OK && write_record(r, own->flight, report, &err) != RS_OK)
        code = rs_complain_error(NULL, &err);
    rs_report_result(&(rs_result){.problems = *rs_flight_problems(own->flight)}, r->quiet);
    r->told = true;
    if (code != RS_EXIT_OK) return code;
    if (!report) return rs_complain_error(NULL, &own->failed);
    if (report->root.verdict == RS_FLIGHT_BAD_INPUT) return RS_EXIT_INPUT;
    if (report->root.verdict != RS_FLIGHT_HEALTHY) return RS_EXIT_FOUND;
    if (rs_problems_worst(report->problems) == RS_LOSS) return RS_EXIT_LOSS;
    return own->ended;
}

/* ---- the run ------------------------------------------------------------------------------------------- */

static rs_status check(rs_request *r, rs_error *err)
{
    static const struct {
        const char *name;
        int64_t least, most;
        const char *unit;
    } numbers[] = {{"every", 1, 86400, " seconds"},
                   {"stall", 1, 86400, " seconds"},
                   {"timeout", 1, 86400, " seconds"},
                   {"metrics-hours", 1, 8760, " hours"},
                   {"jobs", 1, 4096, ""}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        int64_t given = rs_request_int(r, numbers[i].name);
        if (rs_request_is_set(r, numbers[i].name) && (given < numbers[i].least || given > numbers[i].most))
            return rs_fail(err, RS_ERR_USAGE, "--%s takes %lld to %lld%s, not %lld", numbers[i].name,
                           (long long)numbers[i].least, (long long)numbers[i].most, numbers[i].unit,
                           (long long)given);
    }
    if (rs_request_int(r, "max-ratio") == 0)
        return rs_fail(err, RS_ERR_USAGE, "--max-ratio must be at least 1");
    int sources = (rs_request_text(r, "server") != NULL) + (rs_request_text(r, "workers") != NULL) +
                  (rs_request_text(r, "watch") != NULL) + (r->arguments.n_paths > 0);
    if (sources > 1)
        return rs_fail(err, RS_ERR_USAGE, "one of DIR, --server, --workers and --watch, not several");
    if (sources == 0 && rs_request_repeated(r, "log")->n == 0 && !rs_request_text(r, "ras") &&
        !rs_request_text(r, "prometheus"))
        return rs_fail(err, RS_ERR_USAGE, "which dumps? rankscope flight [options] DIR...");
    return RS_OK;
}

static rs_status open_input(const rs_request *r, rs_flight_settings *settings, flight_request *own,
                            rs_error *err)
{
    const char *server = rs_request_text(r, "server"), *watch = rs_request_text(r, "watch");
    if (watch) return rs_flight_watch(r, watch, settings, &own->sources, &own->flight, &own->ended, err);
    if (server || rs_request_text(r, "workers"))
        return rs_flight_snapshot(r, server, settings, &own->flight, err);
    return rs_flight_open(r->arguments.paths, r->arguments.n_paths, settings, &own->flight, err);
}

/* Without a usable dump JSON still says what was wrong with each file. */
static rs_status body(rs_request *r, rs_result *result, rs_error *err)
{
    flight_request *own = r->own;
    const rs_repeated *logs = rs_request_repeated(r, "log");
    rs_flight_settings settings = {.size = sizeof(rs_flight_settings),
                                   .jobs = (unsigned)rs_request_int(r, "jobs"),
                                   .max_ratio = (uint64_t)rs_request_int(r, "max-ratio"),
                                   .prefix = rs_request_text(r, "prefix"),
                                   .allow_missing = rs_request_flag(r, "allow-missing"),
                                   .replica_size = rs_request_int(r, "torchft-size"),
                                   .logs = logs->values,
                                   .n_logs = logs->n,
                                   .history = rs_request_text(r, "history"),
                                   .progress = rs_progress_step,
                                   .progress_context = &r->progress};
    const char *table = table_name(r);
    rs_status status = RS_OK;
    bool stall = rs_request_is_set(r, "stall"), live = rs_request_text(r, "watch") != NULL;
    if (stall) settings.stall_ns = rs_request_int(r, "stall") * 1000000000;
    if (!live) status = rs_flight_ask_sources(r, &own->sources, &settings, err);
    if (status == RS_OK && !live && stall && rs_request_text(r, "ras")) {
        rs_flight_pause(rs_request_int(r, "stall") + 1);
        status = rs_flight_ask_sources(r, &own->sources, &settings, err);
    }
    if (status == RS_OK)
        status = rs_flight_compare_compiled(r->arguments.paths, r->arguments.n_paths, &own->compiled, err);
    settings.compiled = own->compiled.items;
    settings.n_compiled = own->compiled.n;
    if (status == RS_OK) status = open_input(r, &settings, own, err);
    r->stats = rs_flight_get_stats(own->flight);
    if (status == RS_OK) return table ? make_table(r, own->flight, table, result, err) : RS_OK;
    if (status == RS_ERR_CANCELLED || !own->flight) return status;
    if (!table && rs_renders_as(&r->render, "json")) {
        own->failed = *err;
        return RS_OK;
    }
    rs_report_result(&(rs_result){.problems = *rs_flight_problems(own->flight)}, r->quiet);
    r->told = true;
    return status;
}

static void clear(rs_request *r)
{
    flight_request *own = r->own;
    rs_flight_close(own->flight);
    rs_flight_sources_clear(&own->sources);
    rs_flight_compiled_clear(&own->compiled);
}

/* ---- rankscope PATH... --------------------------------------------------------------------------------- */

#define KNOWS(name, kind)                                                                                    \
    static bool name(const char *path, const uint8_t *text, size_t n)                                        \
    {                                                                                                        \
        return rs_flight_recognize(path, text, n) == RS_FLIGHT_FILE_##kind;                                  \
    }
KNOWS(is_dump, DUMP)
KNOWS(is_log, LOG)
KNOWS(is_ras, RAS)
KNOWS(is_inspector, INSPECTOR)
KNOWS(is_metrics, PROMETHEUS)
KNOWS(is_stacks, STACKS)
KNOWS(is_machine_tests, MACHINE_TESTS)

static const rs_file_kind inputs[] = {{.title = "flight-recorder dump", .knows = is_dump},
                                      {.title = "NCCL RAS report", .knows = is_ras},
                                      {.title = "NCCL Inspector file", .knows = is_inspector},
                                      {.title = "answer of Prometheus", .knows = is_metrics},
                                      {.title = "table of machine tests", .knows = is_machine_tests},
                                      {.title = "file with stacks", .knows = is_stacks},
                                      {.title = "log", .by_name = true, .beside = true, .knows = is_log},
                                      {0}};

const rs_command rs_command_flight = {
    .name = "flight",
    .inputs = inputs,
    .urgency = 1,
    .group = "Flight recorder",
    .help = "Which rank hung, and why: PyTorch flight-recorder dumps",
    .usage = "[options] DIR...",
    .about =
        "Reads the dumps that PyTorch's flight recorder leaves when a job hangs (pickle or JSON, any "
        "version, "
        "gzip, zstd, tar, sub-directories) and says which rank is to blame, in which collective, why, and "
        "where in its code; then shows the proof.\n\n"
        "Collectives are matched by group and sequence number; who waits for whom is followed through all "
        "groups, so that ranks which only wait are not accused. What a dump cannot show (a ring that has "
        "wrapped, a missing file) stays unknown. Nothing in a dump is ever executed.\n\n"
        "The rank is read from each file's name: digits after \"rank\", else the last digits; RANK=PATH sets "
        "it by hand. Exit code 0: nothing wrong; 1: a hang, mismatch or straggler; 3: no usable dump; 4: "
        "nothing wrong, but a dump was unusable.",
    .examples = "rankscope flight /tmp/nccl_traces\n"
                "rankscope flight --stacks --verbose traces/\n"
                "rankscope flight --entries --ranks 0,5 --groups mesh_dp traces/\n"
                "rankscope flight --format json traces/ | jq .summary\n"
                "rankscope flight --timeline hang.json --database hang.sqlite traces/",
    .groups = {{.title = "Options", .specs = specs, .n = sizeof specs / sizeof *specs},
               {.base = &rs_output_options}},
    .n_groups = 2,
    .repeated = {"log", "allow-host"},
    .choose = choose,
    .check = check,
    .body = body,
    .show = show,
    .deliver = deliver,
    .own_size = sizeof(flight_request),
    .clear = clear,
};
