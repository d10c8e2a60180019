/* rankscope chakra visualize and generate. */
#define _GNU_SOURCE
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/system.h"
#include "chakra/cli/chakra.h"

/* ---- visualize -------------------------------------------------------------------------------------- */

static const rs_option_spec visualize_specs[] = {
    {"output", RS_OPTION_TEXT, "FILE.dot", NULL, NULL,
     "write to a file instead of standard output; .graphml is GraphML, .pdf, .svg and .png are drawn by dot"},
    {"max-ratio", RS_OPTION_INT, "N", NULL, "1000",
     "refuse files that inflate to more than N times their size"},
    {"help", RS_OPTION_FLAG, NULL, NULL, NULL, "this text"},
};

typedef struct drawing {
    const char *path;
    uint64_t max_ratio;
    bool graphml;
} drawing;

static rs_status draw(void *context, const rs_sink *sink, rs_error *err)
{
    const drawing *d = context;
    if (d->graphml) return rs_chakra_graphml(d->path, d->max_ratio, sink, err);
    return rs_chakra_visualize(d->path, d->max_ratio, sink, err);
}

static bool has_end(const char *path, const char *end)
{
    size_t n = path ? strlen(path) : 0, length = strlen(end);
    return n > length && strcmp(path + n - length, end) == 0;
}

/* What dot calls the form that the name asks for; NULL: it is no picture. */
static const char *picture_of(const char *path)
{
    static const char *const ends[] = {".pdf", ".svg", ".png"}, *const forms[] = {"-Tpdf", "-Tsvg", "-Tpng"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (has_end(path, ends[i])) return forms[i];
    return NULL;
}

/* Graphviz's program draws the graph in a file next to the picture. */
static int run_dot(const char *form, const char *dot, const char *output)
{
    char *const argv[] = {"dot", (char *)form, "-o", (char *)output, (char *)dot, NULL};
    pid_t pid;
    int state = 0, code = posix_spawnp(&pid, "dot", NULL, NULL, argv, rs_system_environment());
    if (code == 0)
        while (waitpid(pid, &state, 0) < 0 && errno == EINTR) {
        }
    if (code == 0 && WIFEXITED(state) && WEXITSTATUS(state) == 0) return RS_EXIT_OK;
    if (code == ENOENT || (code == 0 && WIFEXITED(state) && WEXITSTATUS(state) == 127))
        rs_complain("chakra visualize: pictures are drawn by Graphviz's program dot, which is not installed: "
                    "install graphviz, or write %s as .dot or .graphml",
                    output);
    else
        rs_complain("chakra visualize: dot failed on this graph; .dot and .graphml need no dot");
    return RS_EXIT_INPUT;
}

static int visualize(const rs_options *o, const char *path)
{
    rs_error err = RS_ERROR_INIT;
    const char *output = rs_options_text(o, "output"), *form = picture_of(output);
    drawing d = {path, (uint64_t)rs_options_int(o, "max-ratio"), has_end(output, ".graphml")};
    char graph[4096];
    int n = form ? snprintf(graph, sizeof graph, "%s.dot", output) : 0;
    if (n < 0 || (size_t)n >= sizeof graph) {
        rs_complain("chakra visualize: the name of the output is too long");
        return RS_EXIT_USAGE;
    }
    if (rs_output_put(form ? graph : output, false, NULL, draw, &d, &err) != RS_OK)
        return rs_complain_error(NULL, &err);
    if (!form) return RS_EXIT_OK;
    int code = run_dot(form, graph, output);
    unlink(graph);
    return code;
}

static int run_visualize(const rs_command *command, int argc, char **argv)
{
    return rs_chakra_run_file(command, argc, argv, visualize);
}

const rs_command rs_chakra_visualize_command = {
    .name = "chakra visualize",
    .help = "A Chakra execution trace as a graph: Graphviz, GraphML",
    .usage = "FILE.et [-o FILE.dot|.graphml|.pdf]",
    .about =
        "Arrows are data dependencies, dashed lines control dependencies; GPU nodes are blue, communication "
        "is red. GraphML has the name, type and duration of each node and the kind of each dependency.",
    .examples = "rankscope chakra visualize rank0.et | dot -Tsvg > rank0.svg\n"
                "rankscope chakra visualize rank0.et -o rank0.graphml",
    .groups = {{.title = "Options",
                .specs = visualize_specs,
                .n = sizeof visualize_specs / sizeof *visualize_specs}},
    .n_groups = 1,
    .run = run_visualize,
};

/* ---- generate --------------------------------------------------------------------------------------- */

static const rs_option_spec generate_specs[] = {
    {"output", RS_OPTION_TEXT, "DIR", NULL, NULL, "the directory for the traces; made if need be"},
    {"npus", RS_OPTION_INT, "N", NULL, "64", "traces of each pattern, PATTERN.0.et and on"},
    {"runtime", RS_OPTION_INT, "US", NULL, "5", "how long a compute node takes"},
    {"tensor-size", RS_OPTION_INT, "BYTES", NULL, "1024", "bytes of a memory node"},
    {"comm-size", RS_OPTION_INT, "BYTES", NULL, "65536", "bytes of a communication node"},
    {"help", RS_OPTION_FLAG, NULL, NULL, NULL, "this text"},
};

typedef struct generating {
    size_t pattern;
    const rs_chakra_generate_settings *settings;
} generating;

static rs_status generate_into(void *context, const rs_sink *sink, rs_error *err)
{
    const generating *g = context;
    return rs_chakra_generate(g->pattern, g->settings, sink, err);
}

static int generate_one(const char *directory, size_t pattern, const rs_chakra_generate_settings *settings)
{
    rs_error err = RS_ERROR_INIT;
    char path[4096];
    int n = snprintf(path, sizeof path, "%s/%s.%llu.et", directory, rs_chakra_pattern_name(pattern),
                     (unsigned long long)settings->npu);
    if (n < 0 || (size_t)n >= sizeof path) {
        rs_complain("chakra generate: the name of the directory is too long");
        return RS_EXIT_USAGE;
    }
    generating g = {pattern, settings};
    bool ok = rs_output_put(path, false, "chakra generate", generate_into, &g, &err) == RS_OK;
    return ok ? RS_EXIT_OK : rs_complain_error(NULL, &err);
}

static int generate(const rs_options *o, const char *directory)
{
    int64_t npus = rs_options_int(o, "npus"), runtime = rs_options_int(o, "runtime"),
            tensor = rs_options_int(o, "tensor-size"), comm = rs_options_int(o, "comm-size");
    if (npus < 1 || npus > 1 << 20 || runtime < 0 || tensor < 0 || comm < 0) {
        rs_complain("chakra generate: --npus takes 1 to 1048576, the others nothing negative");
        return RS_EXIT_USAGE;
    }
    if (mkdir(directory, 0777) != 0 && errno != EEXIST) {
        rs_complain("cannot make the directory %s: %s", directory, strerror(errno));
        return RS_EXIT_INPUT;
    }
    rs_chakra_generate_settings settings = {.size = sizeof(rs_chakra_generate_settings),
                                            .npus = (uint64_t)npus,
                                            .runtime = (uint64_t)runtime,
                                            .tensor_size = (uint64_t)tensor,
                                            .comm_size = comm};
    int code = RS_EXIT_OK;
    for (size_t p = 0; rs_chakra_pattern_name(p) && code == RS_EXIT_OK; p++)
        for (settings.npu = 0; settings.npu < settings.npus && code == RS_EXIT_OK; settings.npu++)
            code = generate_one(directory, p, &settings);
    return code;
}

static int run_generate(const rs_command *command, int argc, char **argv)
{
    rs_arguments arguments;
    int code;
    if (!rs_command_start(command, argc, argv, &arguments, &code)) return code;
    const char *directory = rs_options_text(arguments.options[0], "output");
    if (!directory || arguments.n_paths) {
        rs_complain("chakra generate: into which directory? rankscope chakra generate -o DIR [options]");
        code = RS_EXIT_USAGE;
    } else {
        code = generate(arguments.options[0], directory);
    }
    rs_arguments_clear(&arguments);
    return code;
}

const rs_command rs_chakra_generate_command = {
    .name = "chakra generate",
    .help = "Small synthetic Chakra execution traces, one pattern each",
    .usage = "-o DIR [options]",
    .about = "Compute, memory, collective, send and receive nodes alone and in pairs, a file for each NPU.",
    .examples = "rankscope chakra generate -o traces/ --npus 8",
    .groups = {{.title = "Options",
                .specs = generate_specs,
                .n = sizeof generate_specs / sizeof *generate_specs}},
    .n_groups = 1,
    .run = run_generate,
};
