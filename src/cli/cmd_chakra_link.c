/* rankscope chakra link: an execution trace and a device trace of one run as one linked trace. */
#include <stdio.h>
#include <string.h>

#include "cli/chakra.h"
#include "text/packer.h"

static const rs_option_spec specs[] = {
    {"output", RS_OPTION_TEXT, "FILE", NULL, NULL,
     "the linked trace, whole or not at all; .gz and .zst are packed; - is standard output"},
    {"quiet", RS_OPTION_FLAG, NULL, NULL, NULL, "no notes; errors and losses are still told"},
    {"verbose", RS_OPTION_FLAG, NULL, NULL, NULL, "name every synchronization dependency"},
    {"help", RS_OPTION_FLAG, NULL, NULL, NULL, "this text"},
};

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

static int run(rs_chakra_link_settings *settings, const rs_options *o)
{
    rs_error err = RS_ERROR_INIT;
    rs_chakra_link_report report = {0};
    rs_output output;
    const char *path = rs_options_text(o, "output");
    bool quiet = rs_options_flag(o, "quiet");
    if (rs_options_flag(o, "verbose")) settings->explain = explain;
    if (rs_output_open(&output, path, &err) != RS_OK) return rs_complain_error(NULL, &err);
    rs_status status = link_into(settings, path, &output, &report, &err);
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
    rs_arguments arguments;
    rs_chakra_link_settings settings;
    int code;
    if (!rs_chakra_start_pair(command, argc, argv, &arguments, &settings, &code)) return code;
    code = run(&settings, rs_arguments_of(command, &arguments, "output"));
    rs_arguments_clear(&arguments);
    return code;
}

const rs_command rs_chakra_link_command = {
    .name = "chakra link",
    .help = "A PyTorch execution trace and a Kineto trace of one run as one linked trace",
    .usage = "--host ET --device KINETO -o FILE [options]",
    .about =
        "Gives the operators of the execution trace their times, puts every kernel, copy and memset under "
        "the operator that launched it, and says which operator waited for which GPU work.\n\n"
        "Operators are the same when their record function ids are. Without ids their names are aligned. Two "
        "different runs are refused, "
        "with the share of nodes that matched.",
    .examples = "rankscope chakra link --host et_0.json.gz --device kineto_0.json.gz -o linked.json",
    .groups = {{"Input", rs_chakra_pair_specs, RS_CHAKRA_N_PAIR_SPECS},
               {"Output", specs, sizeof specs / sizeof *specs}},
    .n_groups = 2,
    .run = run_link,
};
