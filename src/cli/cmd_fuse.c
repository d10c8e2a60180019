/* rankscope fuse -o FILE PATH...: several ranks as one trace. The report goes to standard output. */
#include <string.h>

#include "base/try.h"
#include "cli/cli.h"

static const rs_option_spec specs[] = {
    {"categories", RS_OPTION_TEXT, "LIST", NULL, NULL, "only events of these categories: kernel,cpu_op,ac2g"},
    {"without", RS_OPTION_TEXT, "LIST", NULL, NULL, "no events of these categories: python_function,Trace"},
    {"clocks", RS_OPTION_CHOICE, "HOW", "ends|likely|certain|file", "ends",
     "ends: corrected so that collectives end together; likely, certain: by the intervals of the command clocks; "
     "file: only by baseTimeNanoseconds"},
    {"max-events", RS_OPTION_INT, "N", NULL, NULL,
     "only about N events of all ranks: steps, GPU work with its launches, annotations, the longest host "
     "events"},
};

static rs_status choose(rs_request *r, rs_error *err)
{
    (void)err;
    r->tables = rs_fuse_tables;
    r->n_tables = 1;
    return RS_OK;
}

static rs_status check(rs_request *r, rs_error *err)
{
    int64_t most = rs_request_int(r, "max-events");
    if (r->arguments.n_paths == 0 || !rs_request_text(r, "output"))
        return rs_fail(err, RS_ERR_USAGE, "%s? rankscope fuse -o FILE PATH...",
                       r->arguments.n_paths ? "into which file" : "which traces");
    if (rs_request_is_set(r, "max-events") && most < 1)
        return rs_fail(err, RS_ERR_USAGE, "--max-events takes 1 or more, not %lld", (long long)most);
    return RS_OK;
}

typedef struct fusing {
    rs_job *job;
    rs_fuse_settings settings;
    rs_result *result;
} fusing;

static rs_status write_trace(void *context, const rs_sink *sink, rs_error *err)
{
    fusing *f = context;
    return rs_fuse(f->job, &f->settings, sink, f->result, err);
}

static rs_status fuse(rs_request *r, rs_result *result, rs_error *err)
{
    const char *clocks = rs_request_text(r, "clocks");
    bool align = strcmp(clocks, "file") != 0;
    fusing f = {.settings = {.size = sizeof(rs_fuse_settings),
                             .categories = rs_request_text(r, "categories"),
                             .without = rs_request_text(r, "without"),
                             .align = align,
                             .max_events = (uint64_t)rs_request_int(r, "max-events"),
                             .perfetto = rs_is_perfetto_name(rs_request_text(r, "output")),
                             .clocks = align ? clocks : NULL},
                .result = result};
    RS_TRY(rs_request_open(r, r->arguments.paths, r->arguments.n_paths, &f.job, err));
    rs_status status = rs_output_put(rs_request_text(r, "output"), true, "fuse", write_trace, &f, err);
    rs_request_close(r, f.job);
    return status;
}

/* Beside the trace there is room for the report only when that has a file of its own. */
static int deliver(rs_request *r, const rs_result *result)
{
    bool to_stdout = strcmp(rs_request_text(r, "output"), "-") == 0;
    return to_stdout || r->quiet ? RS_EXIT_OK : rs_request_deliver(r, result);
}

const rs_command rs_command_fuse = {
    .name = "fuse",
    .group = "Call tree",
    .help = "Several ranks as one trace that a viewer opens: identifiers kept apart, clocks aligned",
    .usage = "-o FILE [options] PATH...",
    .about =
        "Writes one trace with the events of all ranks, packed by FILE's name: .json, .json.gz or "
        ".json.zst; .pftrace (or .pftrace.gz) is Perfetto's own form, which a viewer opens faster and in which "
        "events of a stream that overlap keep lanes of their own. The inputs are read twice and never held "
        "whole.\n\n"
        "Processes, flows, correlations, External ids, sequence numbers and Python ids of the n-th rank "
        "are moved by n times a power of ten, so that no two ranks share one; every event says its rank "
        "in args.rank; processes are named and ordered by rank. What each file says of itself is "
        "under \"rankscope\". The result can be read by every command: each rank gives the numbers it "
        "gives alone.\n\n"
        "Clocks are aligned by baseTimeNanoseconds, and where ranks share collectives by the moments at "
        "which those end; the report says by how much each rank was shifted, what distance remains, and within which interval its clock is known.\n\n"
        "--max-events keeps what is most informative, the same on all ranks: steps, GPU work with its launches and "
        "the arrows between them, annotations, host events, Python functions, the rest; of each kind the "
        "longest. What that leaves out is said. --steps keeps what belongs to these steps.",
    .examples =
        "rankscope fuse -o all.json.gz traces/\n"
        "rankscope fuse -o step3.json.gz --steps 3 --max-events 200000 traces/\n"
        "rankscope fuse -o gpu.json.zst --categories kernel,gpu_memcpy,gpu_memset --ranks 0-7 traces/",
    .groups = {{.title = "Options", .specs = specs, .n = sizeof specs / sizeof *specs},
               {.base = &rs_input_options},
               {.base = &rs_output_options}},
    .n_groups = 3,
    .choose = choose,
    .check = check,
    .body = fuse,
    .deliver = deliver,
    .writes_itself = true,
};
