/* rankscope chakra convert, print, check and build. */
#include <stdio.h>
#include <string.h>

#include "chakra/cli/chakra.h"
#include "rankscope/chakra_trace.h"

#define MAX_RATIO_OPTION                                                                                     \
    {                                                                                                        \
        "max-ratio", RS_OPTION_INT, "N", NULL, "1000",                                                       \
            "refuse files that inflate to more than N times their size"                                      \
    }
#define HELP_OPTION                                                                                          \
    {                                                                                                        \
        "help", RS_OPTION_FLAG, NULL, NULL, NULL, "this text"                                                \
    }

/* ---- convert ---------------------------------------------------------------------------------------- */

static const rs_option_spec convert_specs[] = {
    {"output", RS_OPTION_TEXT, "FILE.et", NULL, NULL,
     "the execution trace, written atomically; .gz and .zst are packed; .json is the other form that feeders "
     "read, {\"workload_graph\": [...]}; - is standard output"},
    RS_CHAKRA_CONVERT_OPTIONS,
    {"rank", RS_OPTION_INT, "R", NULL, NULL, "the rank of the trace, where it does not name it"},
    {"allow-unlinked", RS_OPTION_FLAG, NULL, NULL, NULL,
     "convert an execution trace that has no times; every node lasts 0"},
    MAX_RATIO_OPTION,
    {"quiet", RS_OPTION_FLAG, NULL, NULL, NULL, "no notes; errors and losses are still reported"},
    HELP_OPTION,
};

static void explain(void *context, const char *text)
{
    (void)context;
    rs_complain("%s", text);
}

void rs_chakra_convert_options(const rs_options *options, rs_chakra_convert_settings *settings)
{
    bool exclusive = strcmp(rs_options_text(options, "timing"), "exclusive") == 0;
    bool astra = strcmp(rs_options_text(options, "target"), "astra-sim") == 0;
    settings->timing = exclusive ? RS_CHAKRA_TIMING_EXCLUSIVE : RS_CHAKRA_TIMING_RECORDED;
    settings->target = astra ? RS_CHAKRA_TARGET_ASTRA_SIM : RS_CHAKRA_TARGET_ANY;
    if (rs_options_flag(options, "verbose")) settings->explain = explain;
}

static void tell_converted(const rs_chakra_convert_report *r, bool with_groups)
{
    char groups[60] = "";
    if (with_groups) snprintf(groups, sizeof groups, "; %llu process groups", (unsigned long long)r->groups);
    rs_complain(
        "%llu nodes, %llu of them GPU, %llu communication, %llu gaps; dependencies: %llu in thread order, "
        "%llu in stream order, %llu launches, %llu synchronizations, %llu between threads, %llu in time%s",
        (unsigned long long)r->nodes, (unsigned long long)r->gpu_nodes, (unsigned long long)r->comm_nodes,
        (unsigned long long)r->gaps, (unsigned long long)r->chain, (unsigned long long)r->stream,
        (unsigned long long)r->launch, (unsigned long long)r->sync, (unsigned long long)r->inter_thread,
        (unsigned long long)r->timing, groups);
}

typedef struct converting {
    rs_chakra_convert_settings *settings;
    rs_chakra_convert_report report;
    rs_sink groups;
    const char *path; /* of the trace */
    const char *command;
} converting;

static rs_status convert_into(void *context, const rs_sink *sink, rs_error *err)
{
    converting *c = context;
    return rs_chakra_convert(c->settings, sink, &c->report, err);
}

/* The process groups' file is open while the trace is written, and there only when that is. */
static rs_status convert_beside_groups(void *context, const rs_sink *sink, rs_error *err)
{
    converting *c = context;
    c->groups = *sink;
    c->settings->groups = &c->groups;
    rs_status status = rs_output_put(c->path, true, c->command, convert_into, c, err);
    c->settings->groups = NULL;
    return status;
}

/* Whether the name asks for a workload graph. */
static bool is_json(const char *path)
{
    static const char *const ends[] = {".json", ".json.gz", ".json.zst"};
    size_t n = strlen(path);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (n >= strlen(ends[i]) && strcmp(path + n - strlen(ends[i]), ends[i]) == 0) return true;
    return false;
}

int rs_chakra_convert_to(const char *command, rs_chakra_convert_settings *settings, const char *path,
                         const char *groups_path, bool quiet)
{
    rs_error err = RS_ERROR_INIT;
    converting c = {.settings = settings, .path = path, .command = command};
    settings->json = is_json(path);
    rs_status status = groups_path ? rs_output_put(groups_path, false, NULL, convert_beside_groups, &c, &err)
                                   : rs_output_put(path, true, command, convert_into, &c, &err);
    rs_chakra_report_problems(&c.report.problems, quiet);
    int code = RS_EXIT_OK;
    if (status != RS_OK) code = rs_complain_error(NULL, &err);
    if (code == RS_EXIT_OK && !quiet) tell_converted(&c.report, groups_path != NULL);
    if (code == RS_EXIT_OK && rs_problems_worst(&c.report.problems) == RS_LOSS) code = RS_EXIT_LOSS;
    rs_chakra_convert_report_clear(&c.report);
    return code;
}

static int run_convert(const rs_command *command, int argc, char **argv)
{
    rs_arguments arguments;
    int code;
    if (!rs_chakra_start_file(command, argc, argv, &arguments, &code)) return code;
    const rs_options *o = arguments.options[0];
    const char *path = rs_options_text(o, "output");
    if (!path) {
        rs_complain("chakra convert: into which file? --output FILE.et is needed");
        code = RS_EXIT_USAGE;
    } else {
        rs_chakra_convert_settings settings = {.size = sizeof(rs_chakra_convert_settings),
                                               .linked = arguments.paths[0],
                                               .allow_unlinked = rs_options_flag(o, "allow-unlinked"),
                                               .rank_set = rs_options_is_set(o, "rank"),
                                               .rank = rs_options_int(o, "rank"),
                                               .max_ratio = (uint64_t)rs_options_int(o, "max-ratio")};
        rs_chakra_convert_options(o, &settings);
        code = rs_chakra_convert_to("chakra convert", &settings, path, rs_options_text(o, "comm-groups"),
                                    rs_options_flag(o, "quiet"));
    }
    rs_arguments_clear(&arguments);
    return code;
}

const rs_command rs_chakra_convert_command = {
    .name = "chakra convert",
    .help = "A linked trace as a Chakra execution trace (.et) for simulators",
    .usage = "LINKED -o FILE.et [--target any|astra-sim] [--comm-groups FILE] [options]",
    .about =
        "Every node of the linked trace becomes a node of the execution trace: a thread's operators in a "
        "chain, kernels after the operator that launched them and after the one before them on their "
        "stream, and whatever waited after what it waited for.\n\n"
        "A simulator that starts a node when all that it depends on is done, and keeps it for "
        "duration_micros, repeats the recording: time of a thread in no operator is a node \"gap\", time "
        "spent waiting is in no node, annotations take none, and a GPU node's begins when it could have "
        "started (launch_delay_ns). With --timing exclusive the duration is an operator's own time without "
        "what it called.\n\n"
        "Times are whole microseconds, as simulators read them; start_ns, end_ns and duration_ns have them "
        "exactly. A dependency that names no node is dropped and counted (exit code 4); dependencies that "
        "form a cycle are an error that names them.",
    .examples = "rankscope chakra convert linked.json -o rank0.et --comm-groups groups.json",
    .groups = {{.title = "Options",
                .specs = convert_specs,
                .n = sizeof convert_specs / sizeof *convert_specs}},
    .n_groups = 1,
    .run = run_convert,
};

/* ---- print ------------------------------------------------------------------------------------------ */

static const rs_option_spec print_specs[] = {
    {"output", RS_OPTION_TEXT, "FILE", NULL, NULL, "write to a file instead of standard output"},
    {"lines", RS_OPTION_FLAG, NULL, NULL, NULL, "one object a line, the metadata first"},
    MAX_RATIO_OPTION,
    HELP_OPTION,
};

static int run_print(const rs_command *command, int argc, char **argv)
{
    rs_error err = RS_ERROR_INIT, commit_err = RS_ERROR_INIT;
    rs_arguments arguments;
    rs_output output;
    uint64_t nodes = 0;
    int code = RS_EXIT_OK;
    if (!rs_chakra_start_file(command, argc, argv, &arguments, &code)) return code;
    const rs_options *o = arguments.options[0];
    if (rs_output_open(&output, rs_options_text(o, "output"), &err) != RS_OK) {
        rs_arguments_clear(&arguments);
        return rs_complain_error(NULL, &err);
    }
    rs_sink sink = rs_output_sink(&output);
    rs_status status = rs_chakra_print(arguments.paths[0], (uint64_t)rs_options_int(o, "max-ratio"),
                                       rs_options_flag(o, "lines"), &sink, &nodes, &err);
    if (status == RS_ERR_FORMAT && nodes && !output.error) {
        /* What came before the break is whole. */
        rs_complain_error(NULL, &err);
        rs_complain("chakra print: the %llu nodes before it are shown", (unsigned long long)nodes);
        code = rs_output_commit(&output, &commit_err) == RS_OK
                   ? RS_EXIT_LOSS
                   : rs_output_failed(&output, "chakra print", &commit_err);
    } else if (status != RS_OK || (status = rs_output_commit(&output, &err)) != RS_OK) {
        code = rs_output_failed(&output, status == RS_ERR_FORMAT ? NULL : "chakra print", &err);
    }
    rs_arguments_clear(&arguments);
    return code;
}

const rs_command rs_chakra_print_command = {
    .name = "chakra print",
    .help = "A Chakra execution trace as JSON",
    .usage = "FILE.et [--lines]",
    .about =
        "One document with the metadata and the list of nodes, or with --lines one object a line. Of a file "
        "that breaks off, the nodes before the break are shown (exit code 4).",
    .examples = "rankscope chakra print rank0.et | less\n"
                "rankscope chakra print --lines rank0.et | grep COMM_COLL",
    .groups = {{.title = "Options", .specs = print_specs, .n = sizeof print_specs / sizeof *print_specs}},
    .n_groups = 1,
    .run = run_print,
};

/* ---- check ------------------------------------------------------------------------------------------ */

static const rs_option_spec check_specs[] = {
    {"linked", RS_OPTION_TEXT, "FILE", NULL, NULL,
     "the linked trace it was made from: also check that no node, time or byte was lost"},
    {"report", RS_OPTION_TEXT, "FILE.json", NULL, NULL, "everything that was found, as JSON"},
    {"target", RS_OPTION_CHOICE, NULL, "any|astra-sim", "any",
     "astra-sim: also what that simulator stops at"},
    {"comm-groups", RS_OPTION_TEXT, "FILE", NULL, NULL,
     "the simulator's file of process groups, besides those that the trace declares"},
    {"tolerance", RS_OPTION_REAL, "PERCENT", NULL, "5",
     "by how much the time of the replay may differ from the recording's"},
    MAX_RATIO_OPTION,
    HELP_OPTION,
};

typedef struct checking {
    rs_chakra_check_settings settings;
    rs_sink report;
    const char *const *paths; /* of several ranks */
    size_t n_paths;
    uint64_t faults;
} checking;

static rs_status check_to(void *context, const rs_sink *sink, rs_error *err)
{
    checking *c = context;
    if (c->n_paths > 1)
        return rs_chakra_check_ranks(&c->settings, c->paths, c->n_paths, sink, &c->faults, err);
    return rs_chakra_check(&c->settings, sink, &c->faults, err);
}

static rs_status check_beside_report(void *context, const rs_sink *sink, rs_error *err)
{
    checking *c = context;
    c->report = *sink;
    c->settings.report = &c->report;
    return rs_output_put(NULL, false, NULL, check_to, c, err);
}

int rs_chakra_check_files(const rs_chakra_check_settings *settings, const char *report,
                          const char *const *paths, size_t n)
{
    rs_error err = RS_ERROR_INIT;
    checking c = {.paths = paths, .n_paths = n, .settings = *settings};
    c.settings.path = paths[0];
    rs_status status = report ? rs_output_put(report, false, NULL, check_beside_report, &c, &err)
                              : rs_output_put(NULL, false, NULL, check_to, &c, &err);
    if (status != RS_OK) return rs_complain_error(NULL, &err);
    return c.faults ? RS_EXIT_FOUND : RS_EXIT_OK;
}

static int check(const rs_options *o, const char *const *paths, size_t n)
{
    bool astra = strcmp(rs_options_text(o, "target"), "astra-sim") == 0;
    rs_chakra_check_settings settings = {.size = sizeof(rs_chakra_check_settings),
                                         .linked = rs_options_text(o, "linked"),
                                         .groups = rs_options_text(o, "comm-groups"),
                                         .target = astra ? RS_CHAKRA_TARGET_ASTRA_SIM : RS_CHAKRA_TARGET_ANY,
                                         .tolerance_set = true,
                                         .tolerance = rs_options_real(o, "tolerance"),
                                         .max_ratio = (uint64_t)rs_options_int(o, "max-ratio")};
    return rs_chakra_check_files(&settings, rs_options_text(o, "report"), paths, n);
}

static int run_check(const rs_command *command, int argc, char **argv)
{
    rs_arguments arguments;
    int code;
    if (!rs_command_start(command, argc, argv, &arguments, &code)) return code;
    const rs_options *o = arguments.options[0];
    code = RS_EXIT_USAGE;
    if (!arguments.n_paths)
        rs_complain("chakra check: which file? rankscope chakra check %s", command->usage);
    else if (rs_options_real(o, "tolerance") < 0)
        rs_complain("chakra check: --tolerance takes a percentage, 0 or more");
    else if (arguments.n_paths > 1 && rs_options_text(o, "linked"))
        rs_complain("chakra check: --linked is about one file, not %zu", arguments.n_paths);
    else
        code = check(o, arguments.paths, arguments.n_paths);
    rs_arguments_clear(&arguments);
    return code;
}

const rs_command rs_chakra_check_command = {
    .name = "chakra check",
    .help = "Is a Chakra execution trace fit for a simulator",
    .usage = "FILE.et... [--linked LINKED] [--target astra-sim] [--report FILE.json] [--tolerance PERCENT]",
    .about =
        "Ids are unique, dependencies name nodes that exist and form no cycle, every GPU node depends on "
        "what launched it, the GPU nodes of a stream are in one order, and a feeder that issues each node "
        "when all that it depends on is done comes to issue every one. A replay in which each thread and "
        "each stream does one node at a time takes as long as the recording did, within --tolerance (of a "
        "file made with --timing exclusive that is only reported). Exit code 1 when any of this is not so. With "
        "--linked also: no node, time or byte of the linked trace was lost.\n\n"
        "Nodes that start before what they depend on are listed; they show where the clocks of the trace "
        "disagree with its dependencies, and are no fault.\n\n"
        "Several files are the traces of a job's ranks, each named by the number before its ending "
        "(job.3.et): in each process group all members have the same collectives in the same order, and "
        "every send has its receive. All ranks are then replayed together, on one clock, each waiting for the "
        "others where they communicate: that takes as long as the recording, too. --target astra-sim also finds what that simulator stops at, and says "
        "how long the trace takes on its one CPU, compute and communication engine.",
    .examples = "rankscope chakra check rank0.et --linked linked.json --report proof.json\n"
                "rankscope chakra check job.*.et --target astra-sim --comm-groups groups.json",
    .groups = {{.title = "Options", .specs = check_specs, .n = sizeof check_specs / sizeof *check_specs}},
    .n_groups = 1,
    .run = run_check,
};
