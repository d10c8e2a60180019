/* rankscope chakra text: a text workload as execution traces. */
#include <stdio.h>

#include "chakra/cli/chakra.h"

#define MOST (1 << 20)

static const rs_option_spec specs[] = {
    {"output", RS_OPTION_TEXT, "PREFIX", NULL, NULL, "the traces are PREFIX.0.et and on"},
    {"npus", RS_OPTION_INT, "N", NULL, "1", "how many traces"},
    {"passes", RS_OPTION_INT, "N", NULL, "1", "forward and backward passes in each"},
    {"max-ratio", RS_OPTION_INT, "N", NULL, "1000",
     "refuse files that inflate to more than N times their size"},
    {"quiet", RS_OPTION_FLAG, NULL, NULL, NULL, "no notes; errors are still reported"},
    {"help", RS_OPTION_FLAG, NULL, NULL, NULL, "this text"},
};

typedef struct writing {
    const rs_chakra_text_settings *settings;
    uint64_t *nodes;
} writing;

static rs_status write_text(void *context, const rs_sink *sink, rs_error *err)
{
    writing *w = context;
    return rs_chakra_text(w->settings, sink, w->nodes, err);
}

static int write_one(const rs_chakra_text_settings *settings, const char *prefix, int64_t npu,
                     uint64_t *nodes)
{
    rs_error err = RS_ERROR_INIT;
    char path[4096];
    int n = snprintf(path, sizeof path, "%s.%lld.et", prefix, (long long)npu);
    if (n < 0 || (size_t)n >= sizeof path) {
        rs_complain("chakra text: the prefix is too long");
        return RS_EXIT_USAGE;
    }
    writing w = {settings, nodes};
    bool ok = rs_output_put(path, false, NULL, write_text, &w, &err) == RS_OK;
    return ok ? RS_EXIT_OK : rs_complain_error(NULL, &err);
}

static int write_all(const rs_options *o, const char *path)
{
    int64_t npus = rs_options_int(o, "npus"), passes = rs_options_int(o, "passes");
    const char *prefix = rs_options_text(o, "output");
    uint64_t nodes = 0;
    int code = RS_EXIT_OK;
    if (!prefix) {
        rs_complain("chakra text: into which files? --output PREFIX is needed");
        return RS_EXIT_USAGE;
    }
    if (npus < 1 || npus > MOST || passes < 1 || passes > MOST) {
        rs_complain("chakra text: --npus and --passes take 1 to %d", MOST);
        return RS_EXIT_USAGE;
    }
    rs_chakra_text_settings settings = {.size = sizeof(rs_chakra_text_settings),
                                        .path = path,
                                        .max_ratio = (uint64_t)rs_options_int(o, "max-ratio"),
                                        .passes = (uint64_t)passes};
    for (int64_t npu = 0; npu < npus && code == RS_EXIT_OK && !rs_signal_came(); npu++)
        code = write_one(&settings, prefix, npu, &nodes);
    if (code == RS_EXIT_OK && !rs_options_flag(o, "quiet"))
        rs_complain("%llu nodes in each of %lld traces", (unsigned long long)nodes, (long long)npus);
    return code;
}

static int run_text(const rs_command *command, int argc, char **argv)
{
    return rs_chakra_run_file(command, argc, argv, write_all);
}

const rs_command rs_chakra_text_command = {
    .name = "chakra text",
    .help = "A text workload as Chakra execution traces, one for each NPU",
    .usage = "WORKLOAD -o PREFIX [--npus N] [--passes N]",
    .about = "The workload's first line is the parallelism: MICRO, DATA, MODEL, HYBRID_DATA_MODEL, "
             "HYBRID_MODEL_DATA, or "
             "HYBRID_DLRM or HYBRID_DLRM_ENHANCED and the number of the last bottom layer. The second is the "
             "number of layers. Each further line is a layer of twelve columns:\n\n"
             "  name  -1  time comm bytes  time comm bytes  time comm bytes  update\n\n"
             "for forward pass, input gradient and weight gradient; times in us, comm one of NONE, "
             "ALLREDUCE, ALLTOALL, ALLGATHER, REDUCESCATTER. What is wrong is named by its line.",
    .examples = "rankscope chakra text resnet50.txt -o resnet50 --npus 8 --passes 2",
    .groups = {{.title = "Options", .specs = specs, .n = sizeof specs / sizeof *specs}},
    .n_groups = 1,
    .run = run_text,
};
