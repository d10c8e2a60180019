/* rankscope report -o FILE PATH...: the main answers about a job as one page. */
#include <string.h>

#include "base/memory.h"
#include "base/try.h"
#include "cli/report_tracelens.h"
#include "rankscope/report.h"

static const rs_option_spec specs[] = {
    {"output", RS_OPTION_TEXT, "FILE", NULL, NULL,
     "the page to write, whole or not at all; - is standard output"},
    {"flight", RS_OPTION_TEXT, "DIR", NULL, NULL,
     "also show the verdict on these flight-recorder dumps; may be given again"},
    {"metrics", RS_OPTION_TEXT, "LABEL=DIR", NULL, NULL,
     "also show the rank metrics of a run; given again, the second is compared with the first"},
    {"tracelens", RS_OPTION_TEXT, "DIR|FILE.xlsx", NULL, NULL,
     "instead of the page: TraceLens' performance report, sheet for sheet as CSV files in DIR or as a "
     "workbook, its numbers with its faults"},
    {"device", RS_OPTION_TEXT, "NAME|FILE", NULL, NULL,
     "with --tracelens: the device whose rates make the roofline columns: a name of `roofline --table "
     "devices`, or a file in TraceLens' form"},
    {"short-kernels", RS_OPTION_REAL, "US", NULL, NULL,
     "with --tracelens: also the sheets of kernels shorter than US microseconds (TraceLens: 10)"},
    {"collectives", RS_OPTION_FLAG, NULL, NULL, NULL,
     "with --tracelens: only its collective report over all ranks, which stands beside the others otherwise"},
    {"detailed", RS_OPTION_FLAG, NULL, NULL, NULL,
     "with --tracelens: also the sheets nccl_long, nccl_implicit_sync and nccl_all2allv, a row for each "
     "collective, and nccl_all2allv_heatmap"},
    {"micro-idle", RS_OPTION_REAL, "US", NULL, NULL,
     "with --tracelens: gpu_timeline tells pauses shorter than US microseconds from others"},
    {"unlinked", RS_OPTION_FLAG, NULL, NULL, NULL,
     "with --tracelens: GPU work whose launch is not in the file counts in gpu_timeline"},
    {"recompute", RS_OPTION_FLAG, NULL, NULL, NULL,
     "with --tracelens: what activation checkpointing computes again stands in rows of its own, told by a column "
     "is_recompute (needs Python functions in the trace)"},
    {"compare", RS_OPTION_FLAG, NULL, NULL, NULL,
     "with --tracelens: TraceLens' comparison of reports; each PATH is a workbook, a folder of CSV files or a trace, "
     "and the first is the base"},
    {"names", RS_OPTION_TEXT, "A,B", NULL, NULL,
     "with --compare: what columns of the PATHs begin with; default: the files' names without their last ending"},
    {"sheets", RS_OPTION_TEXT, "LIST", NULL, NULL,
     "with --compare: only these of gpu_timeline, ops_summary, kernel_summary, ops_all, roofline"},
};

typedef struct runs {
    rs_report_run *items; /* what --metrics says, parted */
    char **labels;        /* of the items, owned */
    size_t n;
} runs;

static rs_status part_runs(rs_request *r, rs_error *err)
{
    runs *own = r->own;
    const rs_repeated *metrics = rs_request_repeated(r, "metrics");
    own->items = rs_calloc(metrics->n + 1, sizeof *own->items);
    own->labels = rs_calloc(metrics->n + 1, sizeof *own->labels);
    if (!own->items || !own->labels) return rs_fail_nomem(err, "the options");
    for (size_t i = 0; i < metrics->n; i++) {
        const char *text = metrics->values[i], *equals = strchr(text, '=');
        if (!equals || equals == text || !equals[1])
            return rs_fail(err, RS_ERR_USAGE, "--metrics takes LABEL=DIR, not \"%.80s\"", text);
        char *label = rs_strndup(text, (size_t)(equals - text));
        if (!label) return rs_fail_nomem(err, "a label");
        own->labels[own->n] = label;
        own->items[own->n++] = (rs_report_run){label, equals + 1};
    }
    return RS_OK;
}

static void clear(rs_request *r)
{
    runs *own = r->own;
    for (size_t i = 0; i < own->n; i++) rs_free(own->labels[i]);
    rs_free(own->labels);
    rs_free(own->items);
}

static rs_status check(rs_request *r, rs_error *err)
{
    if (rs_request_text(r, "tracelens")) return rs_report_check_tracelens(r, err);
    static const char *const with_it[] = {"device", "short-kernels", "collectives", "detailed", "compare",
                                          "names",  "sheets",        "micro-idle",  "unlinked", "recompute"};
    for (size_t i = 0; i < sizeof with_it / sizeof *with_it; i++)
        if (rs_request_is_set(r, with_it[i]))
            return rs_fail(err, RS_ERR_USAGE, "--%s goes with --tracelens", with_it[i]);
    RS_TRY(rs_report_check(err));
    if (!rs_request_text(r, "output"))
        return rs_fail(err, RS_ERR_USAGE, "into which file? rankscope report -o FILE.html PATH...");
    if (!r->arguments.n_paths)
        return rs_fail(err, RS_ERR_USAGE,
                       "which traces? rankscope report -o FILE.html PATH... (- is standard input)");
    return part_runs(r, err);
}

typedef struct page {
    rs_job *job;
    rs_report_settings settings;
    rs_result *told;
} page;

static rs_status write_page(void *context, const rs_sink *sink, rs_error *err)
{
    page *p = context;
    return rs_report_write(p->job, &p->settings, sink, p->told, err);
}

static rs_status report(rs_request *r, rs_result *told, rs_error *err)
{
    if (rs_request_text(r, "tracelens")) return rs_report_write_tracelens(r, told, err);
    const runs *own = r->own;
    const rs_repeated *flight = rs_request_repeated(r, "flight");
    page p = {.settings = {.size = sizeof(rs_report_settings),
                           .inputs = r->arguments.paths,
                           .n_inputs = r->arguments.n_paths,
                           .flight = flight->values,
                           .n_flight = flight->n,
                           .metrics = own->items,
                           .n_metrics = own->n,
                           .ranks = r->job.ranks,
                           .steps = r->job.steps,
                           .jobs = r->job.jobs,
                           .progress = r->job.progress,
                           .progress_context = r->job.progress_context},
              .told = told};
    RS_TRY(rs_request_open(r, r->arguments.paths, r->arguments.n_paths, &p.job, err));
    rs_status status = rs_output_put(rs_request_text(r, "output"), false, NULL, write_page, &p, err);
    rs_request_close(r, p.job);
    told->found = false; /* what doctor and flight find stands on the page and is no exit code */
    return status;
}

/* The page is written. */
static int deliver(rs_request *r, const rs_result *told)
{
    (void)r;
    (void)told;
    return RS_EXIT_OK;
}

const rs_command rs_report_command = {
    .name = "report",
    .help = "One self-contained page: verdict, tables and charts of a job",
    .usage =
        "-o FILE.html [--flight DIR] [--metrics LABEL=DIR]... | --tracelens DIR|FILE.xlsx [options] PATH...",
    .about =
        "Writes one HTML file that opens from disk and needs no network: what was recorded and how fit it "
        "is, what to look at first, where each rank's time goes, step times over ranks, communication that "
        "is not hidden and who is late, why the GPU idles, kernels, operators and how near they come to what the "
        "device can do, launches and queues. Charts "
        "can be hovered and zoomed, tables sorted and searched; every number is the one that the command "
        "of its section prints.\n\n"
        "Long tables are cut to the rows that matter most, and say so.\n\n"
        "The exit code is that of the input: 0, 3 when no trace was usable, 4 when part of the input was "
        "lost. What doctor and flight find is on the page and does not change it.\n\n"
        "--tracelens writes what TraceLens' generate_perf_report_pytorch writes, for scripts that read it: "
        "its sheets, columns, order and numbers, faults included (docs/differences.md). Sheets of several "
        "ranks stand in DIR/rank0, DIR/rank1, ... or FILE.rank0.xlsx, FILE.rank1.xlsx, ..., and beside them "
        "those of its generate_multi_rank_collective_report_pytorch.\n\n"
        "With --compare it is the comparison that TraceLens' compare_perf_reports_pytorch makes of reports, or of "
        "traces: the reports side by side with differences in gpu_timeline, ops_summary and kernel_summary; "
        "operators by arguments and the roofline sheets parted into what both have and what only one has. "
        "`rankscope compare` is the comparison of traces whose parts add up.",
    .examples = "rankscope report -o report.html traces/\n"
                "rankscope report -o hang.html --flight /tmp/nccl_traces traces/\n"
                "rankscope report -o new.html --metrics old=logs/a --metrics new=logs/b traces/\n"
                "rankscope report --tracelens sheets/ --device MI300X --short-kernels 10 trace.json.gz\n"
                "rankscope report --tracelens comparison.xlsx --compare --names old,new old.xlsx sheets/",
    .groups = {{.title = "Options", .specs = specs, .n = sizeof specs / sizeof *specs},
               {.base = &rs_input_options, .without = "compat|absolute|include-last-step"},
               {.base = &rs_output_options,
                .without = "format|table|budget|output|schema|color|verbose|stats"}},
    .n_groups = 3,
    .repeated = {"flight", "metrics"},
    .check = check,
    .body = report,
    .deliver = deliver,
    .own_size = sizeof(runs),
    .clear = clear,
    .writes_itself = true,
};
