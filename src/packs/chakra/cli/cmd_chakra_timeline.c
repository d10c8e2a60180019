/* rankscope chakra timeline: the log of a simulator's run as a trace. */
#include "chakra/cli/chakra.h"

static const rs_option_spec specs[] = {
    {"output", RS_OPTION_TEXT, "FILE.json", NULL, NULL, "write to a file instead of standard output"},
    {"frequency", RS_OPTION_REAL, "MHZ", NULL, "1000", "cycles a microsecond"},
    {"max-ratio", RS_OPTION_INT, "N", NULL, "1000",
     "refuse files that inflate to more than N times their size"},
    {"help", RS_OPTION_FLAG, NULL, NULL, NULL, "this text"},
};

typedef struct drawing {
    const char *path;
    const rs_options *options;
    rs_problems problems;
} drawing;

static rs_status draw(void *context, const rs_sink *sink, rs_error *err)
{
    drawing *d = context;
    return rs_chakra_timeline(d->path, (uint64_t)rs_options_int(d->options, "max-ratio"),
                              rs_options_real(d->options, "frequency"), sink, &d->problems, err);
}

static int timeline(const rs_options *o, const char *path)
{
    rs_error err = RS_ERROR_INIT;
    drawing d = {.path = path, .options = o};
    rs_status status = rs_output_put(rs_options_text(o, "output"), false, "chakra timeline", draw, &d, &err);
    int code = status == RS_OK ? RS_EXIT_OK : rs_complain_error(NULL, &err);
    rs_chakra_report_problems(&d.problems, false);
    if (code == RS_EXIT_OK && rs_problems_worst(&d.problems) == RS_LOSS) code = RS_EXIT_LOSS;
    rs_problems_clear(&d.problems);
    return code;
}

static int run_timeline(const rs_command *command, int argc, char **argv)
{
    return rs_chakra_run_file(command, argc, argv, timeline);
}

const rs_command rs_chakra_timeline_command = {
    .name = "chakra timeline",
    .help = "The log of a simulator's run as a trace for viewers",
    .usage = "LOG [--frequency MHZ] [-o FILE.json]",
    .about =
        "Reads the lines \"issue\" and \"callback\" with NPU, cycle, node and name, and makes one event of "
        "each pair. What does not pair up is counted (exit code 4).",
    .examples = "rankscope chakra timeline run.log --frequency 1500 -o run.json",
    .groups = {{.title = "Options", .specs = specs, .n = sizeof specs / sizeof *specs}},
    .n_groups = 1,
    .run = run_timeline,
};
