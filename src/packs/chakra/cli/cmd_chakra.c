/* rankscope chakra SUB-COMMAND: their list, and what they begin with. */
#define _GNU_SOURCE
#include <string.h>

#include "chakra/cli/chakra.h"

/* A new sub-command is one line here. */
static const rs_command *const chakra_commands[RS_CHAKRA_N_COMMANDS] = {
    &rs_chakra_link_command,     &rs_chakra_convert_command,   &rs_chakra_build_command,
    &rs_chakra_print_command,    &rs_chakra_check_command,     &rs_chakra_text_command,
    &rs_chakra_generate_command, &rs_chakra_visualize_command, &rs_chakra_timeline_command};

void rs_chakra_report_problems(rs_problems *problems, bool quiet)
{
    rs_result view = {.problems = *problems};
    rs_report_result(&view, quiet);
}

static int run_chakra(const rs_command *command, int argc, char **argv)
{
    if (argc == 0) {
        rs_complain("chakra: do what? `rankscope chakra --help` lists what there is");
        return RS_EXIT_USAGE;
    }
    if (strcmp(argv[0], "--help") == 0 || strcmp(argv[0], "-h") == 0) return rs_print_help(command);
    for (size_t i = 0; i < RS_CHAKRA_N_COMMANDS; i++)
        if (strcmp(argv[0], rs_command_last_name(chakra_commands[i])) == 0)
            return chakra_commands[i]->run(chakra_commands[i], argc - 1, argv + 1);
    return rs_complain_subcommand(command, argv[0]);
}

/* ---- rankscope PATH... --------------------------------------------------------------------------------- */

static bool is_execution_trace(const char *path, const uint8_t *text, size_t n)
{
    (void)path;
    return n > 0 && text[0] == '{' && memmem(text, n, "\"schema\"", 8) && memmem(text, n, "\"nodes\"", 7);
}

static const rs_file_kind inputs[] = {{.title = "PyTorch execution trace", .knows = is_execution_trace}, {0}};

/* ---- how every sub-command begins ------------------------------------------------------------------- */

bool rs_chakra_start_file(const rs_command *command, int argc, char **argv, rs_arguments *arguments,
                          int *code)
{
    if (!rs_command_start(command, argc, argv, arguments, code)) return false;
    if (arguments->n_paths == 1) return true;
    rs_complain("%s: %s rankscope %s %s", command->name,
                arguments->n_paths ? "one file at a time:" : "which file?", command->name, command->usage);
    rs_arguments_clear(arguments);
    *code = RS_EXIT_USAGE;
    return false;
}

int rs_chakra_run_file(const rs_command *command, int argc, char **argv,
                       int (*run)(const rs_options *options, const char *path))
{
    rs_arguments arguments;
    int code;
    if (!rs_chakra_start_file(command, argc, argv, &arguments, &code)) return code;
    code = run(arguments.options[0], arguments.paths[0]);
    rs_arguments_clear(&arguments);
    return code;
}

const rs_option_spec rs_chakra_pair_specs[RS_CHAKRA_N_PAIR_SPECS] = {
    {"host", RS_OPTION_TEXT, "FILE", NULL, NULL, "the PyTorch execution trace"},
    {"device", RS_OPTION_TEXT, "FILE", NULL, NULL, "the Kineto trace of the same run"},
    {"rank", RS_OPTION_INT, "R", NULL, NULL, "which rank of a merged device trace"},
    {"min-match", RS_OPTION_REAL, "RATIO", NULL, "0.5",
     "refuse when a smaller share of the host nodes is found in the device trace"},
    {"jobs", RS_OPTION_INT, "N", NULL, NULL, "worker threads (default: one for each core)"},
    {"max-ratio", RS_OPTION_INT, "N", NULL, "1000",
     "refuse files that inflate to more than N times their size"},
};

/* What is wrong with the options of a pair; RS_EXIT_OK for nothing. */
static int check_pair(const rs_command *command, const rs_arguments *arguments)
{
    static const char *const needed[] = {"host", "device", "output"};
    double ratio = rs_options_real(rs_arguments_of(command, arguments, "min-match"), "min-match");
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
        if (rs_options_text(rs_arguments_of(command, arguments, needed[i]), needed[i])) continue;
        rs_complain("%s: --%s FILE is needed", command->name, needed[i]);
        return RS_EXIT_USAGE;
    }
    if (arguments->n_paths) {
        rs_complain("%s: \"%.60s\" is no option; files are given with --host and --device", command->name,
                    arguments->paths[0]);
        return RS_EXIT_USAGE;
    }
    if (ratio >= 0 && ratio <= 1) return RS_EXIT_OK;
    rs_complain("%s: --min-match takes a number from 0 to 1", command->name);
    return RS_EXIT_USAGE;
}

bool rs_chakra_start_pair(const rs_command *command, int argc, char **argv, rs_arguments *arguments,
                          rs_chakra_link_settings *settings, int *code)
{
    if (!rs_command_start(command, argc, argv, arguments, code)) return false;
    *code = check_pair(command, arguments);
    if (*code != RS_EXIT_OK) {
        rs_arguments_clear(arguments);
        return false;
    }
    const rs_options *o = rs_arguments_of(command, arguments, "host");
    *settings = (rs_chakra_link_settings){
        .size = sizeof(rs_chakra_link_settings),
        .host = rs_options_text(o, "host"),
        .device = rs_options_text(o, "device"),
        .rank_set = rs_options_is_set(o, "rank"),
        .rank = rs_options_int(o, "rank"),
        .min_match = rs_options_real(o, "min-match"),
        .max_ratio = (uint64_t)rs_options_int(o, "max-ratio"),
        .jobs = (unsigned)rs_options_int(o, "jobs"),
    };
    return true;
}

static const rs_option_spec help_specs[] = {{"help", RS_OPTION_FLAG, NULL, NULL, NULL, "this text"}};
const rs_command rs_command_chakra = {
    .inputs = inputs,
    .urgency = 4,
    .name = "chakra",
    .group = "Chakra",
    .help = "Execution traces that simulators replay",
    .usage = "SUB-COMMAND [options]",
    .about =
        "Makes Chakra execution traces from a PyTorch execution trace and a Kineto trace of the same run. "
        "`rankscope chakra SUB-COMMAND --help` explains each.",
    .examples = "rankscope chakra link --host et_0.json.gz --device kineto_0.json.gz -o linked.json",
    .arguments = "",
    .groups = {{.title = "Options", .specs = help_specs, .n = 1}},
    .n_groups = 1,
    .subcommands = chakra_commands,
    .n_subcommands = RS_CHAKRA_N_COMMANDS,
    .run = run_chakra,
};
