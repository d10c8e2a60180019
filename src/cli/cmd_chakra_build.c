/* rankscope chakra build: link and convert without the file between them. */
#include "cli/chakra.h"

static const rs_option_spec specs[] = {
    {"output", RS_OPTION_TEXT, "FILE.et", NULL, NULL,
     "the Chakra execution trace, whole or not at all; .gz and .zst are packed; .json is the other form that "
     "feeders read, {\"workload_graph\": [...]}; - is standard output"},
    RS_CHAKRA_CONVERT_OPTIONS,
    {"quiet", RS_OPTION_FLAG, NULL, NULL, NULL, "no notes; errors and losses are still told"},
    {"help", RS_OPTION_FLAG, NULL, NULL, NULL, "this text"},
};

static int build(const rs_chakra_link_settings *link, const rs_options *o)
{
    rs_error err = RS_ERROR_INIT;
    rs_chakra_link_report report = {0};
    rs_chakra_linked *linked;
    bool quiet = rs_options_flag(o, "quiet");
    rs_status status = rs_chakra_link_nodes(link, &linked, &report, &err);
    rs_chakra_report_problems(&report.problems, quiet);
    int code = RS_EXIT_OK;
    if (status != RS_OK) {
        code = rs_complain_error("chakra build", &err);
    } else {
        rs_chakra_convert_settings convert = {.nodes = linked};
        rs_chakra_convert_options(o, &convert);
        code = rs_chakra_convert_to("chakra build", &convert, rs_options_text(o, "output"),
                                    rs_options_text(o, "comm-groups"), quiet);
    }
    if (code == RS_EXIT_OK && rs_problems_worst(&report.problems) == RS_LOSS) code = RS_EXIT_LOSS;
    rs_chakra_link_report_clear(&report);
    rs_chakra_linked_free(linked);
    return code;
}

static int run_build(const rs_command *command, int argc, char **argv)
{
    rs_arguments arguments;
    rs_chakra_link_settings link;
    int code;
    if (!rs_chakra_start_pair(command, argc, argv, &arguments, &link, &code)) return code;
    code = build(&link, rs_arguments_of(command, &arguments, "output"));
    rs_arguments_clear(&arguments);
    return code;
}

const rs_command rs_chakra_build_command = {
    .name = "chakra build",
    .help = "Link and convert in one step",
    .usage = "--host ET --device KINETO -o FILE.et [options]",
    .about =
        "Writes the same bytes as `chakra link` and then `chakra convert`, without the file between them.",
    .examples = "rankscope chakra build --host et_0.json.gz --device kineto_0.json.gz -o rank0.et",
    .groups = {{.title = "Input", .specs = rs_chakra_pair_specs, .n = RS_CHAKRA_N_PAIR_SPECS},
               {.title = "Output", .specs = specs, .n = sizeof specs / sizeof *specs}},
    .n_groups = 2,
    .run = run_build,
};
