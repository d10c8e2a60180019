/* rankscope chakra build: link and convert without the file between them. */
#include <string.h>

#include "base/memory.h"
#include "cli/chakra.h"

static const rs_option_spec specs[] = {
    {"host", RS_OPTION_TEXT, "FILE", NULL, NULL, "the PyTorch execution trace"},
    {"device", RS_OPTION_TEXT, "FILE", NULL, NULL, "the Kineto trace of the same run"},
    {"output", RS_OPTION_TEXT, "FILE.et", NULL, NULL,
     "the Chakra execution trace, whole or not at all; .gz and .zst are packed; - is standard output"},
    {"comm-groups", RS_OPTION_TEXT, "FILE", NULL, NULL, "the process groups as {\"pg_name\": [ranks]}"},
    {"rank", RS_OPTION_INT, "R", NULL, NULL, "which rank of a merged device trace"},
    {"min-match", RS_OPTION_REAL, "RATIO", NULL, "0.5",
     "refuse when a smaller share of the host nodes is found in the device trace"},
    {"jobs", RS_OPTION_INT, "N", NULL, NULL, "worker threads (default: one for each core)"},
    {"max-ratio", RS_OPTION_INT, "N", NULL, "1000",
     "refuse files that inflate to more than N times their size"},
    {"quiet", RS_OPTION_FLAG, NULL, NULL, NULL, "no notes; errors and losses are still told"},
    {"help", RS_OPTION_FLAG, NULL, NULL, NULL, "this text"},
};

/* The linked trace in memory. */
typedef struct block {
    char *bytes;
    size_t n, capacity;
    bool nomem;
} block;

static bool keep(void *context, const char *bytes, size_t n)
{
    block *b = context;
    if (n > SIZE_MAX - b->n || !rs_grow((void **)&b->bytes, &b->capacity, b->n + n + 1, 1)) {
        b->nomem = true;
        return false;
    }
    memcpy(b->bytes + b->n, bytes, n);
    b->n += n;
    return true;
}

static int build(const rs_options *o)
{
    rs_error err = RS_ERROR_INIT;
    rs_chakra_link_report report = {0};
    block linked = {0};
    rs_sink sink = {keep, &linked};
    bool quiet = rs_options_flag(o, "quiet");
    rs_chakra_link_settings link = {
        .host = rs_options_text(o, "host"),
        .device = rs_options_text(o, "device"),
        .rank_set = rs_options_is_set(o, "rank"),
        .rank = rs_options_int(o, "rank"),
        .min_match = rs_options_real(o, "min-match"),
        .max_ratio = (uint64_t)rs_options_int(o, "max-ratio"),
        .jobs = (unsigned)rs_options_int(o, "jobs"),
    };
    rs_status status = rs_chakra_link(&link, &sink, &report, &err);
    if (linked.nomem) status = rs_fail_nomem(&err, "the linked trace");
    rs_chakra_report_problems(&report.problems, quiet);
    int code = RS_EXIT_OK;
    if (status != RS_OK) {
        code = rs_complain_error("chakra build", &err);
    } else {
        rs_chakra_convert_settings convert = {
            .linked = "the linked trace", .bytes = linked.bytes, .n_bytes = linked.n};
        code = rs_chakra_convert_to("chakra build", &convert, rs_options_text(o, "output"),
                                    rs_options_text(o, "comm-groups"), quiet);
    }
    if (code == RS_EXIT_OK && rs_problems_worst(&report.problems) == RS_LOSS) code = RS_EXIT_LOSS;
    rs_chakra_link_report_clear(&report);
    rs_free(linked.bytes);
    return code;
}

static void make_help(rs_writer *writer, const void *context)
{
    rs_write_command_help(writer, context);
}

static int run_build(const rs_command *command, int argc, char **argv)
{
    static const char *const needed[] = {"host", "device", "output"};
    rs_error err = RS_ERROR_INIT;
    rs_arguments arguments;
    if (rs_arguments_parse(command, argc, argv, &arguments, &err) != RS_OK)
        return rs_complain_error(command->name, &err);
    const rs_options *o = arguments.options[0];
    int code = RS_EXIT_OK;
    double ratio = rs_options_real(o, "min-match");
    if (rs_options_flag(o, "help")) {
        code = rs_print(command->name, make_help, command);
        rs_arguments_clear(&arguments);
        return code;
    }
    for (size_t i = 0; i < sizeof needed / sizeof *needed && code == RS_EXIT_OK; i++) {
        if (rs_options_text(o, needed[i])) continue;
        rs_complain("chakra build: --%s FILE is needed", needed[i]);
        code = RS_EXIT_USAGE;
    }
    if (code == RS_EXIT_OK && arguments.n_paths) {
        rs_complain("chakra build: \"%.60s\" is no option; files are given with --host and --device",
                    arguments.paths[0]);
        code = RS_EXIT_USAGE;
    } else if (code == RS_EXIT_OK && !(ratio >= 0 && ratio <= 1)) {
        rs_complain("chakra build: --min-match takes a number from 0 to 1");
        code = RS_EXIT_USAGE;
    }
    if (code == RS_EXIT_OK) code = build(o);
    rs_arguments_clear(&arguments);
    return code;
}

const rs_command rs_chakra_build_command = {
    .name = "chakra build",
    .help = "link and convert in one step",
    .usage = "--host ET --device KINETO -o FILE.et [options]",
    .about =
        "Writes the same bytes as `chakra link` and then `chakra convert`, without the file between them.",
    .examples = "rankscope chakra build --host et_0.json.gz --device kineto_0.json.gz -o rank0.et",
    .groups = {{"Options", specs, sizeof specs / sizeof *specs}},
    .n_groups = 1,
    .run = run_build,
};
