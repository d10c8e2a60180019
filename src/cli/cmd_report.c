/* rankscope report -o FILE PATH...: the main answers about a job as one page. */
#include <string.h>

#include "base/memory.h"
#include "base/try.h"
#include "cli/cli.h"

static const rs_option_spec specs[] = {
    {"output", RS_OPTION_TEXT, "FILE", NULL, NULL, "the page to write, atomically; - is standard output"},
    {"flight", RS_OPTION_TEXT, "DIR", NULL, NULL,
     "also show the verdict on these flight-recorder dumps; may be given again"},
    {"metrics", RS_OPTION_TEXT, "LABEL=DIR", NULL, NULL,
     "also show the rank metrics of a run; given again, the second is compared with the first"},
    {"memory", RS_OPTION_TEXT, "PATH", NULL, NULL,
     "also show who holds the GPU's memory, by these snapshots of PyTorch's allocator; may be given again"},
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
    rs_free_all(own->labels, own->items);
}

static rs_status check(rs_request *r, rs_error *err)
{
    const rs_command_extension *other;
    RS_TRY(rs_request_extension(r, &other, err));
    if (other) return other->check(r, err);
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
    const rs_command_extension *other;
    RS_TRY(rs_request_extension(r, &other, err));
    if (other) return other->body(r, told, err);
    const runs *own = r->own;
    const rs_repeated *flight = rs_request_repeated(r, "flight"), *memory = rs_request_repeated(r, "memory");
    page p = {.settings = {.size = sizeof(rs_report_settings),
                           .inputs = r->arguments.paths,
                           .n_inputs = r->arguments.n_paths,
                           .flight = flight->values,
                           .n_flight = flight->n,
                           .metrics = own->items,
                           .n_metrics = own->n,
                           .memory = memory->values,
                           .n_memory = memory->n,
                           .ranks = r->job.ranks,
                           .steps = r->job.steps,
                           .jobs = r->job.jobs,
                           .progress = r->job.progress,
                           .progress_context = r->job.progress_context},
              .told = told};
    RS_TRY(rs_request_open(r, r->arguments.paths, r->arguments.n_paths, &p.job, err));
    rs_status status = rs_output_put(rs_request_text(r, "output"), false, NULL, write_page, &p, err);
    rs_request_close(r, p.job);
    told->found = false; /* what doctor and flight find is on the page and is no exit code */
    return status;
}

/* The page is written. */
static int deliver(rs_request *r, const rs_result *told)
{
    (void)r;
    (void)told;
    return RS_EXIT_OK;
}

const rs_command rs_command_report = {
    .name = "report",
    .group = "Any trace",
    .help = "One self-contained page: verdict, tables and charts of a job",
    .usage = "-o FILE.html [--flight DIR] [--metrics LABEL=DIR]... [--memory PATH] [options] PATH...",
    .about =
        "Writes one HTML file that opens from disk and needs no network: what was recorded and how fit it "
        "is, what to look at first, where each rank's time goes, step times over ranks, communication that "
        "is not hidden and who is late, why the GPU idles, kernels, operators and how near they come to what the "
        "device can do, launches and queues. Charts "
        "can be hovered and zoomed, tables sorted and searched; every number is the one that the command "
        "of its section prints.\n\n"
        "Long tables are cut to the rows that matter most, and say so.\n\n"
        "The exit code is that of the input: 0, 3 when no trace was usable, 4 when part of the input was "
        "lost. What doctor and flight find is on the page and does not change it.",
    .examples = "rankscope report -o report.html traces/\n"
                "rankscope report -o hang.html --flight /tmp/nccl_traces traces/\n"
                "rankscope report -o new.html --metrics old=logs/a --metrics new=logs/b traces/",
    .groups = {{.title = "Options", .specs = specs, .n = sizeof specs / sizeof *specs},
               {.base = &rs_input_options, .without = "compat|absolute|include-last-step"},
               {.base = &rs_output_options,
                .without = "format|table|budget|output|schema|color|verbose|stats"}},
    .n_groups = 3,
    .repeated = {"flight", "metrics", "memory"},
    .check = check,
    .body = report,
    .deliver = deliver,
    .own_size = sizeof(runs),
    .clear = clear,
    .writes_itself = true,
};
