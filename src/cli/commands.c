/* The table of commands: those with a file of their own, and one for each row of the analysis registry. */
#include "base/suggest.h"
#include "cli/chakra.h"

static const rs_option_spec help_specs[] = {{"help", RS_OPTION_FLAG, NULL, NULL, NULL, "this text"}};
#define HELP_GROUP                                                                                           \
    {                                                                                                        \
        "Options", help_specs, 1                                                                             \
    }

#define METRICS_GROUPS                                                                                       \
    {"Options", rs_metrics_option_specs, RS_METRICS_N_OPTIONS},                                              \
    {                                                                                                        \
        "Output", rs_metrics_output_specs, RS_METRICS_N_OUTPUTS                                              \
    }

static const rs_command own[] = {
    {.name = "help",
     .help = "Explain a command: options, tables, examples",
     .usage = "[COMMAND]",
     .about = "Without a command, an overview of all of them.",
     .examples = "rankscope help\nrankscope help breakdown",
     .groups = {HELP_GROUP},
     .n_groups = 1,
     .run = rs_run_help},
    {.name = "metrics",
     .help = "Overlap of computation and communication from rank metrics, compared between runs",
     .usage = "--log-dir DIR --label NAME [...] --output DIR [options]",
     .about =
         "Reads each rank's rank_N_metrics.jsonl, computes from the recorded ranges how long computation and "
         "collectives ran and how much of the one the other hid, and writes summary.json and a timeline "
         "picture for each label into the output directory.\n\n"
         "With --reference and --candidate two labels are compared: difference, ratio, which is better, and "
         "whether the difference exceeds the noise of the runs.\n\n"
         "The first 5 records of each rank are warm-up and left out; --skip-warmup changes that.",
     .examples = "rankscope metrics --log-dir logs/ --label today --output report/\n"
                 "rankscope metrics --log-dir a/ --label old --log-dir b/ --label new --output cmp/ \\\n"
                 "    --reference old --candidate new --fail-on 'worse_percent > 5, beyond_noise >= 1'",
     .groups = {METRICS_GROUPS},
     .n_groups = 2,
     .run = rs_run_metrics},
    {.name = "capture",
     .help = "Run a training command under rocprofv3 or nsys, one output a rank",
     .usage = "[--with rocprofv3|nsys] [--dry-run] -- COMMAND...",
     .about =
         "Runs the command under the profiler that the machine has, into run_<timestamp>/ below the output "
         "directory, with a manifest of ranks, host, processes, devices and clocks. Signals go to the "
         "command, "
         "and its exit code is the exit code; faults of capture itself are 125.\n\n"
         "Use it inside a launcher, so that each worker is profiled by itself and named by its RANK: "
         "torchrun "
         "--no-python ... rankscope capture -- python train.py. With RANKSCOPE_RUN set, all ranks share the "
         "directory of that name instead of a timestamp.\n\n"
         "ROCPROF_ARGS replaces rocprofv3's arguments, ROCPROF_OUTPUT_DIR is the default output directory.",
     .examples = "rankscope capture --dry-run -- python train.py\n"
                 "torchrun --no-python --nproc_per_node 8 rankscope capture -- python train.py",
     .arguments = "",
     .groups = {{"Options", rs_capture_option_specs, RS_CAPTURE_N_OPTIONS}},
     .n_groups = 1,
     .run = rs_run_capture},
    {.name = "completions",
     .help = "Print the completion script for a shell",
     .usage = "bash|zsh|fish",
     .about = "The script completes commands, options and the words that options take.",
     .examples = "rankscope completions bash > ~/.local/share/bash-completion/completions/rankscope\n"
                 "rankscope completions zsh > ~/.zfunc/_rankscope\n"
                 "rankscope completions fish > ~/.config/fish/completions/rankscope.fish",
     .arguments = "bash|zsh|fish",
     .groups = {HELP_GROUP},
     .n_groups = 1,
     .run = rs_run_completions},
    {.name = "man",
     .help = "Print a manual page",
     .usage = "[COMMAND]",
     .about = "The page is in the source form of man(1), made from the same table as --help.",
     .examples = "rankscope man | man -l -\nrankscope man breakdown > rankscope-breakdown.1",
     .groups = {HELP_GROUP},
     .n_groups = 1,
     .run = rs_run_man},
    {.name = "flight",
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
     .n_groups = 2,
     .groups = {{0}, {0}},
     .run = rs_run_flight},
    {.name = "fuse",
     .help = "Several ranks as one trace that a viewer opens: identifiers kept apart, clocks aligned",
     .usage = "-o FILE [options] PATH...",
     .about =
         "Writes one trace with the events of all ranks, packed by FILE's name: .json, .json.gz or "
         ".json.zst. The inputs are read twice and never held whole.\n\n"
         "Processes, flows, correlations, External ids, sequence numbers and Python ids of the n-th rank "
         "are moved by n times a power of ten, so that no two ranks share one; every event says its rank "
         "in args.rank; processes are named and ordered by rank. What each file says of itself stands "
         "under \"rankscope\". The result can be read by every command: each rank gives the numbers it "
         "gives alone.\n\n"
         "Clocks are aligned by baseTimeNanoseconds, and where ranks share collectives by the moments at "
         "which those end; the report says by how much each rank was shifted and what distance remains.\n\n"
         "--max-events keeps what tells most, the same on all ranks: steps, GPU work with its launches and "
         "the arrows between them, annotations, host events, Python functions, the rest; of each kind the "
         "longest. What that leaves out is said. --steps keeps what belongs to these steps.",
     .examples =
         "rankscope fuse -o all.json.gz traces/\n"
         "rankscope fuse -o step3.json.gz --steps 3 --max-events 200000 traces/\n"
         "rankscope fuse -o gpu.json.zst --categories kernel,gpu_memcpy,gpu_memset --ranks 0-7 traces/",
     .n_groups = 3,
     .groups = {{0}, {0}, {0}},
     .run = rs_run_fuse},
    {.name = "report",
     .help = "One self-contained page: verdict, tables and charts of a job",
     .usage = "-o FILE.html [--flight DIR] [--metrics LABEL=DIR]... [options] PATH...",
     .about =
         "Writes one HTML file that opens from disk and needs no network: what was recorded and how fit it "
         "is, what to look at first, where each rank's time goes, step times over ranks, communication that "
         "is not hidden and who is late, why the GPU idles, kernels, operators, launches and queues. Charts "
         "can be hovered and zoomed, tables sorted and searched; every number is the one that the command "
         "of its section prints.\n\n"
         "Long tables are cut to the rows that matter most, and say so.\n\n"
         "The exit code is that of the input: 0, 3 when no trace was usable, 4 when part of the input was "
         "lost. What doctor and flight find is on the page and does not change it.",
     .examples = "rankscope report -o report.html traces/\n"
                 "rankscope report -o hang.html --flight /tmp/nccl_traces traces/\n"
                 "rankscope report -o new.html --metrics old=logs/a --metrics new=logs/b traces/",
     .n_groups = RS_REPORT_GROUPS,
     .groups = {{0}, {0}, {0}},
     .run = rs_run_report},
    {.name = "view",
     .help = "Serve the job on this machine and open it in the trace viewer",
     .usage = "[options] PATH...",
     .about =
         "Reads the traces, puts all ranks into one trace that Perfetto's UI opens quickly (see "
         "--max-events; what is left out is said), serves it on 127.0.0.1 and opens a page with a button "
         "that hands it over, and a link to the report (see `report`). The trace goes from this machine "
         "into the viewer's window in your browser and to no server.\n\n"
         "The address holds a random token, without which nothing is answered; pages of other origins than "
         "the viewer's cannot read the trace. The address is printed on standard output; the server runs "
         "until Ctrl-C (SIGINT, SIGTERM or SIGHUP).\n\n"
         "On a machine without a browser: --no-open there, ssh -L 9001:127.0.0.1:9001 to it, and open the "
         "address here. On port 9001 the page also has a link by which the viewer fetches the trace "
         "itself; it may fetch from no other port.",
     .examples = "rankscope view traces/\n"
                 "rankscope view --steps 3 rank0.json.gz rank1.json.gz\n"
                 "rankscope view --no-open --port 0 --max-events 0 traces/\n"
                 "rankscope view --ui https://perfetto.example.com traces/",
     .n_groups = 2,
     .groups = {{0}, {0}},
     .run = rs_run_view},
    {.name = "chakra",
     .help = "Execution traces that simulators replay",
     .usage = "SUB-COMMAND [options]",
     .about =
         "Makes Chakra execution traces from a PyTorch execution trace and a Kineto trace of the same run. "
         "`rankscope chakra SUB-COMMAND --help` explains each.",
     .examples = "rankscope chakra link --host et_0.json.gz --device kineto_0.json.gz -o linked.json",
     .arguments = "",
     .groups = {HELP_GROUP},
     .n_groups = 1,
     .subcommands = rs_chakra_commands,
     .n_subcommands = RS_CHAKRA_N_COMMANDS,
     .run = rs_run_chakra},
};
#define N_OWN (sizeof own / sizeof *own)

static const char *const group_titles[] = {
    "Any trace", "GPU time",        "Call tree", "Across ranks", "Flight recorder",
    "Chakra",    "Overlap metrics", "More",      "Setup"};
#define GROUP_MORE 7
#define GROUP_SETUP 8

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
    {0, "frame"}, /* events again, one column an argument */
    {1, "breakdown"},
    {1, "overlap"},
    {1, "kernels"},
    {1, "idle"},
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
    {2, "timeline"},
    {2, "fuse"},
    {3, "collectives"},
    {4, "flight"},
    {5, "chakra"},
    {6, "metrics"},
    {6, "capture"},
    {GROUP_SETUP, "help"},
    {GROUP_SETUP, "completions"},
    {GROUP_SETUP, "man"},
};

static const char *const usages[] = {[RS_INPUT_TRACES] = "[options] PATH...",
                                     [RS_INPUT_TWO_JOBS] = "[options] A B",
                                     [RS_INPUT_FILE] = "[options] FILE"};

static void describe_analysis(const rs_analysis *analysis, rs_command *out)
{
    size_t n;
    const rs_option_spec *specs = rs_analysis_options(analysis, &n);
    *out = (rs_command){.name = rs_analysis_name(analysis),
                        .help = rs_analysis_help(analysis),
                        .usage = usages[rs_analysis_input(analysis)],
                        .about = rs_analysis_about(analysis),
                        .examples = rs_analysis_examples(analysis),
                        .groups = {{"Options", specs, n}},
                        .n_groups = 3,
                        .analysis = analysis,
                        .run = rs_run_analysis};
    out->groups[1] = rs_input_options;
    out->groups[2] = rs_output_options;
}

static bool is_own(const char *name)
{
    for (size_t i = 0; i < N_OWN; i++)
        if (strcmp(own[i].name, name) == 0) return true;
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
        *out = own[index];
        if (out->run == rs_run_flight) {
            out->groups[0] = rs_flight_options;
            out->groups[1] = rs_output_options;
        }
        if (out->run == rs_run_report) memcpy(out->groups, rs_report_options, sizeof rs_report_options);
        if (out->run == rs_run_view) {
            out->groups[0] = rs_view_options;
            out->groups[1] = rs_input_options;
        }
        if (out->run == rs_run_fuse) {
            out->groups[0] = rs_fuse_options;
            out->groups[1] = rs_input_options;
            out->groups[2] = rs_output_options;
        }
        return;
    }
    index -= N_OWN;
    size_t n;
    const rs_analysis *const *rows = rs_analyses(&n);
    for (size_t i = 0; i < n; i++)
        if (!is_own(rs_analysis_name(rows[i])) && index-- == 0) {
            describe_analysis(rows[i], out);
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
