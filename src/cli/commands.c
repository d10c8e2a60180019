/* The table of commands: those with a file of their own, and one for each row of the analysis registry. */
#include "base/suggest.h"
#include "cli/chakra.h"

static const rs_option_spec help_specs[] = {{"help", RS_OPTION_FLAG, NULL, NULL, NULL, "this text"}};
static const rs_command help_command = {
    .name = "help",
    .help = "Explain a command: options, tables, examples",
    .usage = "[COMMAND]",
    .about = "Without a command, an overview of all of them.",
    .examples = "rankscope help\nrankscope help breakdown",
    .groups = {{.title = "Options", .specs = help_specs, .n = 1}},
    .n_groups = 1,
    .run = rs_run_help,
};

static const rs_command completions_command = {
    .name = "completions",
    .help = "Print the completion script for a shell",
    .usage = "bash|zsh|fish",
    .about = "The script completes commands, options and the words that options take.",
    .examples = "rankscope completions bash > ~/.local/share/bash-completion/completions/rankscope\n"
                "rankscope completions zsh > ~/.zfunc/_rankscope\n"
                "rankscope completions fish > ~/.config/fish/completions/rankscope.fish",
    .arguments = "bash|zsh|fish",
    .groups = {{.title = "Options", .specs = help_specs, .n = 1}},
    .n_groups = 1,
    .run = rs_run_completions,
};

static const rs_command man_command = {
    .name = "man",
    .help = "Print a manual page",
    .usage = "[COMMAND]",
    .about = "The page is in the source form of man(1), made from the same table as --help.",
    .examples = "rankscope man | man -l -\nrankscope man breakdown > rankscope-breakdown.1",
    .groups = {{.title = "Options", .specs = help_specs, .n = 1}},
    .n_groups = 1,
    .run = rs_run_man,
};

static const rs_command flight_command = {
    .name = "flight",
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
    .groups = {{.base = &rs_flight_options}, {.base = &rs_output_options}},
    .n_groups = 2,
    .run = rs_run_flight,
};

static const rs_command chakra_command = {
    .name = "chakra",
    .help = "Execution traces that simulators replay",
    .usage = "SUB-COMMAND [options]",
    .about =
        "Makes Chakra execution traces from a PyTorch execution trace and a Kineto trace of the same run. "
        "`rankscope chakra SUB-COMMAND --help` explains each.",
    .examples = "rankscope chakra link --host et_0.json.gz --device kineto_0.json.gz -o linked.json",
    .arguments = "",
    .groups = {{.title = "Options", .specs = help_specs, .n = 1}},
    .n_groups = 1,
    .subcommands = rs_chakra_commands,
    .n_subcommands = RS_CHAKRA_N_COMMANDS,
    .run = rs_run_chakra,
};

static const rs_command *const own[] = {
    &help_command,     &rs_metrics_command, &rs_regress_command, &rs_capture_command, &completions_command,
    &man_command,      &flight_command,     &rs_fuse_command,    &rs_report_command,  &rs_view_command,
    &rs_slice_command, &rs_share_command,   &rs_store_command,   &rs_sql_command,     &chakra_command};
#define N_OWN (sizeof own / sizeof *own)

static const char *const group_titles[] = {"Any trace",    "GPU time",
                                           "Call tree",    "Performance models",
                                           "Across ranks", "Flight recorder",
                                           "Chakra",       "Overlap metrics",
                                           "More",         "Setup"};
#define GROUP_MORE 8
#define GROUP_SETUP 9

/* Where in help a command stands. One that is not named here stands under "More". */
static const struct {
    size_t group;
    const char *name;
} places[] = {
    {0, "info"},
    {0, "doctor"},
    {0, "summary"},
    {0, "report"},
    {0, "view"},
    {0, "events"},
    {0, "sql"},
    {0, "slice"},
    {0, "share"},
    {0, "frame"}, /* events again, one column an argument */
    {1, "breakdown"},
    {1, "overlap"},
    {1, "kernels"},
    {1, "idle"},
    {1, "fragments"},
    {1, "bandwidth"},
    {1, "queue"},
    {1, "launches"},
    {1, "sequences"},
    {1, "counters"},
    {1, "annotate"},
    {1, "critical-path"},
    {1, "steps"},
    {1, "annotations"},
    {1, "delays"},
    {1, "stragglers"},
    {1, "diff"},
    {1, "memory"},
    {2, "tree"},
    {2, "launchers"},
    {2, "ops"},
    {2, "modules"},
    {2, "timeline"},
    {2, "fuse"},
    {3, "roofline"},
    {3, "mfu"},
    {3, "compare"},
    {3, "variance"},
    {4, "collectives"},
    {4, "exchange"},
    {4, "clocks"},
    {4, "blame"},
    {4, "diagnose"},
    {4, "replay"},
    {4, "whatif"},
    {5, "flight"},
    {6, "chakra"},
    {7, "metrics"},
    {7, "regress"},
    {7, "capture"},
    {GROUP_SETUP, "store"},
    {GROUP_SETUP, "help"},
    {GROUP_SETUP, "completions"},
    {GROUP_SETUP, "man"},
};

static bool is_own(const char *name)
{
    for (size_t i = 0; i < N_OWN; i++)
        if (strcmp(own[i]->name, name) == 0) return true;
    return false;
}

size_t rs_command_count(void)
{
    size_t n, count = N_OWN;
    const rs_analysis *const *rows = rs_analyses(&n);
    for (size_t i = 0; i < n; i++) count += !is_own(rs_analysis_name(rows[i]));
    return count;
}

void rs_command_at(size_t index, rs_command *out)
{
    if (index < N_OWN) {
        *out = *own[index];
        return;
    }
    index -= N_OWN;
    size_t n;
    const rs_analysis *const *rows = rs_analyses(&n);
    for (size_t i = 0; i < n; i++)
        if (!is_own(rs_analysis_name(rows[i])) && index-- == 0) {
            rs_describe_analysis(rows[i], out);
            return;
        }
}

bool rs_command_find(const char *name, rs_command *out)
{
    size_t n = rs_command_count();
    for (size_t i = 0; i < n; i++) {
        rs_command_at(i, out);
        if (strcmp(out->name, name) == 0) return true;
    }
    return false;
}

const char *rs_command_last_name(const rs_command *command)
{
    const char *space = strrchr(command->name, ' ');
    return space ? space + 1 : command->name;
}

/* Whether "chakra-link" or "chakra", "link" mean the sub-command. */
static bool is_called(const rs_command *command, const rs_command *sub, const char *const *words, size_t n)
{
    size_t head = strlen(command->name);
    const char *last = rs_command_last_name(sub);
    if (strncmp(words[0], command->name, head) != 0) return false;
    if (n == 2) return !words[0][head] && strcmp(words[1], last) == 0;
    return n == 1 && words[0][head] == '-' && strcmp(words[0] + head + 1, last) == 0;
}

int rs_command_find_topic(const char *asked, const char *const *words, size_t n, rs_command *out)
{
    rs_command command;
    for (size_t i = 0; i < rs_command_count(); i++) {
        rs_command_at(i, &command);
        for (size_t k = 0; k < command.n_subcommands; k++) {
            if (!is_called(&command, command.subcommands[k], words, n)) continue;
            *out = *command.subcommands[k];
            return RS_EXIT_OK;
        }
    }
    if (!rs_command_find(words[0], out)) return rs_complain_command(words[0]);
    if (n == 1) return RS_EXIT_OK;
    if (n == 2 && out->n_subcommands) return rs_complain_subcommand(out, words[1]);
    rs_complain("%s: one command at a time", asked);
    return RS_EXIT_USAGE;
}

size_t rs_command_group(const char *name)
{
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (strcmp(places[i].name, name) == 0) return places[i].group;
    return GROUP_MORE;
}

const char *rs_command_group_title(size_t group)
{
    return group < sizeof group_titles / sizeof *group_titles ? group_titles[group] : NULL;
}
