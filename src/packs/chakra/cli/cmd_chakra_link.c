/* rankscope chakra link: an execution trace and a device trace of one run as one linked trace. */
#include <stdio.h>
#include <string.h>

#include "chakra/cli/chakra.h"

static const rs_option_spec specs[] = {
    {"output", RS_OPTION_TEXT, "FILE", NULL, NULL,
     "the linked trace, written atomically; .gz and .zst are packed; - is standard output"},
    {"quiet", RS_OPTION_FLAG, NULL, NULL, NULL, "no notes; errors and losses are still reported"},
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

typedef struct linking {
    const rs_chakra_link_settings *settings;
    rs_chakra_link_report report;
} linking;

static rs_status link_into(void *context, const rs_sink *sink, rs_error *err)
{
    linking *l = context;
    return rs_chakra_link(l->settings, sink, &l->report, err);
}

static int run(rs_chakra_link_settings *settings, const rs_options *o)
{
    rs_error err = RS_ERROR_INIT;
    linking l = {.settings = settings};
    bool quiet = rs_options_flag(o, "quiet");
    if (rs_options_flag(o, "verbose")) settings->explain = explain;
    rs_status status = rs_output_put(rs_options_text(o, "output"), true, "chakra link", link_into, &l, &err);
    rs_chakra_report_problems(&l.report.problems, quiet);
    int code = RS_EXIT_OK;
    if (status != RS_OK)
        code = rs_complain_error(NULL, &err);
    else if (!quiet)
        close_line(&l.report);
    if (code == RS_EXIT_OK && rs_problems_worst(&l.report.problems) == RS_LOSS) code = RS_EXIT_LOSS;
    rs_chakra_link_report_clear(&l.report);
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
        "different runs are refused, with the share of nodes that matched.",
    .examples = "rankscope chakra link --host et_0.json.gz --device kineto_0.json.gz -o linked.json",
    .groups = {{.title = "Input", .specs = rs_chakra_pair_specs, .n = RS_CHAKRA_N_PAIR_SPECS},
               {.title = "Output", .specs = specs, .n = sizeof specs / sizeof *specs}},
    .n_groups = 2,
    .run = run_link,
};
