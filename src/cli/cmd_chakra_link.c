/* rankscope chakra link: an execution trace and a device trace of one run as one linked trace. */
#include <stdio.h>
#include <string.h>

#include "cli/chakra.h"
#include "output/packer.h"

static const rs_option_spec specs[] = {
    {"host", RS_OPTION_TEXT, "FILE", NULL, NULL, "the PyTorch execution trace"},
    {"device", RS_OPTION_TEXT, "FILE", NULL, NULL, "the Kineto trace of the same run"},
    {"output", RS_OPTION_TEXT, "FILE", NULL, NULL,
     "the linked trace, whole or not at all; .gz and .zst are packed; - is standard output"},
    {"rank", RS_OPTION_INT, "R", NULL, NULL, "which rank of a merged device trace"},
    {"min-match", RS_OPTION_REAL, "RATIO", NULL, "0.5",
     "refuse when a smaller share of the host nodes is found in the device trace"},
    {"jobs", RS_OPTION_INT, "N", NULL, NULL, "worker threads (default: one for each core)"},
    {"max-ratio", RS_OPTION_INT, "N", NULL, "1000",
     "refuse files that inflate to more than N times their size"},
    {"quiet", RS_OPTION_FLAG, NULL, NULL, NULL, "no notes; errors and losses are still told"},
    {"verbose", RS_OPTION_FLAG, NULL, NULL, NULL, "name every synchronization dependency"},
    {"help", RS_OPTION_FLAG, NULL, NULL, NULL, "this text"},
};

static void make_help(rs_writer *writer, const void *context)
{
    rs_write_command_help(writer, context);
}

static void explain(void *context, const char *text)
{
    (void)context;
    rs_complain("%s", text);
}

static void close_line(const rs_chakra_link_report *r)
{
    char by_name[64] = "";
    if (r->linked_by_name)
        snprintf(by_name, sizeof by_name, " (%llu by name)", (unsigned long long)r->linked_by_name);
    rs_complain(
        "linked %llu of %llu host nodes%s, %llu GPU nodes; dependencies: %llu stream, %llu event, "
        "%llu context synchronizations, %llu blocking copies, %llu stream waits, %llu between threads",
        (unsigned long long)r->linked, (unsigned long long)r->near_nodes, by_name,
        (unsigned long long)r->gpu_nodes, (unsigned long long)r->stream_syncs,
        (unsigned long long)r->event_syncs, (unsigned long long)r->context_syncs,
        (unsigned long long)r->blocking_copies, (unsigned long long)r->stream_waits,
        (unsigned long long)r->inter_thread);
}

static rs_status link_into(const rs_chakra_link_settings *settings, const char *path, rs_output *output,
                           rs_chakra_link_report *report, rs_error *err)
{
    rs_sink sink = rs_output_sink(output);
    rs_packer *packer = NULL;
    rs_status status = rs_packer_open(rs_pack_of_name(path), &sink, &packer, err);
    if (status != RS_OK) return status;
    rs_sink packed = rs_packer_sink(packer);
    status = rs_chakra_link(settings, &packed, report, err);
    if (status == RS_OK) status = rs_packer_finish(packer, err);
    if (status == RS_OK) status = rs_output_commit(output, err);
    rs_packer_close(packer);
    return status;
}

static int run(const rs_options *o)
{
    rs_error err = RS_ERROR_INIT;
    rs_chakra_link_report report = {0};
    rs_output output;
    const char *path = rs_options_text(o, "output");
    bool quiet = rs_options_flag(o, "quiet");
    rs_chakra_link_settings settings = {
        .host = rs_options_text(o, "host"),
        .device = rs_options_text(o, "device"),
        .rank_set = rs_options_is_set(o, "rank"),
        .rank = rs_options_int(o, "rank"),
        .min_match = rs_options_real(o, "min-match"),
        .max_ratio = (uint64_t)rs_options_int(o, "max-ratio"),
        .jobs = (unsigned)rs_options_int(o, "jobs"),
        .explain = rs_options_flag(o, "verbose") ? explain : NULL,
    };
    if (rs_output_open(&output, path, &err) != RS_OK) return rs_complain_error(NULL, &err);
    rs_status status = link_into(&settings, path, &output, &report, &err);
    rs_chakra_report_problems(&report.problems, quiet);
    int code = RS_EXIT_OK;
    if (status != RS_OK)
        code = rs_output_failed(&output, "chakra link", &err);
    else if (!quiet)
        close_line(&report);
    if (code == RS_EXIT_OK && rs_problems_worst(&report.problems) == RS_LOSS) code = RS_EXIT_LOSS;
    rs_chakra_link_report_clear(&report);
    return code;
}

static int run_link(const rs_command *command, int argc, char **argv)
{
    static const char *const needed[] = {"host", "device", "output"};
    rs_error err = RS_ERROR_INIT;
    rs_arguments arguments;
    if (rs_arguments_parse(command, argc, argv, &arguments, &err) != RS_OK)
        return rs_complain_error(command->name, &err);
    const rs_options *o = arguments.options[0];
    int code = RS_EXIT_OK;
    if (rs_options_flag(o, "help")) {
        code = rs_print(command->name, make_help, command);
    } else {
        for (size_t i = 0; i < sizeof needed / sizeof *needed && code == RS_EXIT_OK; i++) {
            if (rs_options_text(o, needed[i])) continue;
            rs_complain("chakra link: --%s FILE is needed", needed[i]);
            code = RS_EXIT_USAGE;
        }
        double ratio = rs_options_real(o, "min-match");
        if (code == RS_EXIT_OK && arguments.n_paths) {
            rs_complain("chakra link: \"%.60s\" is no option; files are given with --host and --device",
                        arguments.paths[0]);
            code = RS_EXIT_USAGE;
        } else if (code == RS_EXIT_OK && !(ratio >= 0 && ratio <= 1)) {
            rs_complain("chakra link: --min-match takes a number from 0 to 1");
            code = RS_EXIT_USAGE;
        }
        if (code == RS_EXIT_OK) code = run(o);
    }
    rs_arguments_clear(&arguments);
    return code;
}

const rs_command rs_chakra_link_command = {
    .name = "chakra link",
    .help = "a PyTorch execution trace and a Kineto trace of one run as one linked trace",
    .usage = "--host ET --device KINETO -o FILE [options]",
    .about =
        "Gives the operators of the execution trace their times, puts every kernel, copy and memset under "
        "the operator that launched it, and says which operator waited for which GPU work.\n\n"
        "Operators are the same when their record function ids are. Without ids their names are aligned. Two "
        "different runs are refused, "
        "with the share of nodes that matched.",
    .examples = "rankscope chakra link --host et_0.json.gz --device kineto_0.json.gz -o linked.json",
    .groups = {{"Options", specs, sizeof specs / sizeof *specs}},
    .n_groups = 1,
    .run = run_link,
};
