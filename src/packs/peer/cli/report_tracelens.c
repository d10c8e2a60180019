/* report --tracelens: TraceLens' sheets as one CSV file each, or as a workbook. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "base/real.h"
#include "base/try.h"
#include "cli/cli.h"
#include "cli/workbook.h"
#include "output/xlsx.h"

static rs_status make_folder(const char *path, rs_error *err)
{
    struct stat info;
    if (mkdir(path, 0777) == 0 || (errno == EEXIST && stat(path, &info) == 0 && S_ISDIR(info.st_mode)))
        return RS_OK;
    return rs_fail_at(err, RS_ERR_IO, path, RS_NO_OFFSET, "cannot make the folder: %s",
                      errno == EEXIST ? "a file has that name" : strerror(errno));
}

static rs_status write_sheet(void *context, const rs_sink *sink, rs_error *err)
{
    const rs_render_settings settings = {.size = sizeof settings, .form = rs_output_form_find("csv")};
    return rs_render_table(context, &settings, sink, err);
}

/* FOLDER/SHEET.csv for each sheet. */
static rs_status write_sheets(const char *folder, const rs_table *const *sheets, size_t n, rs_error *err)
{
    size_t room = strlen(folder) + 80;
    RS_LOCAL char *path = rs_malloc(room);
    if (!path) return rs_fail_nomem(err, "a file name");
    for (size_t i = 0; i < n; i++) {
        snprintf(path, room, "%s/%.64s.csv", folder, rs_table_get_spec(sheets[i])->name);
        RS_TRY(rs_output_put(path, false, NULL, write_sheet, (void *)sheets[i], err));
    }
    return RS_OK;
}

/* ---- workbooks ----------------------------------------------------------------------------------------- */

/* compared: what says which columns are hidden; NULL: none are. */
static rs_status write_book(const char *path, const rs_table *const *sheets, size_t n,
                            const rs_tracelens_comparison *compared, rs_error *err)
{
    rs_sheet *items = rs_calloc(n + 1, sizeof *items);
    if (!items) return rs_fail_nomem(err, "a workbook");
    for (size_t i = 0; i < n; i++)
        items[i] = (rs_sheet){.name = rs_table_get_spec(sheets[i])->name,
                              .table = sheets[i],
                              .hidden = compared ? rs_tracelens_comparison_hidden(compared, i) : NULL,
                              .truths = true};
    rs_status status = rs_workbook_put(path, NULL, items, n, err);
    rs_free(items);
    return status;
}

/* The length of the path without its ending .xlsx; 0: it has another. */
static size_t book_stem(const char *path)
{
    size_t n = strlen(path);
    return n > 5 && strcmp(path + n - 5, ".xlsx") == 0 ? n - 5 : 0;
}

/* ---- the report ---------------------------------------------------------------------------------------- */

static rs_status write_tables(const char *path, const rs_table *const *sheets, size_t n, rs_error *err)
{
    if (n == 0) return RS_OK;
    if (book_stem(path)) return write_book(path, sheets, n, NULL, err);
    RS_TRY(make_folder(path, err));
    return write_sheets(path, sheets, n, err);
}

/* The sheets over all ranks, and those of one rank, are in DIR or FILE.xlsx itself, those of several ranks in
 * DIR/rank0, ... or FILE.rank0.xlsx, ... */
static rs_status write_report(const char *place, const rs_tracelens_report *report, rs_error *err)
{
    size_t n_ranks = rs_tracelens_report_n_ranks(report), room = strlen(place) + 40, stem = book_stem(place),
           n_job;
    const rs_table *const *job = rs_tracelens_report_job_sheets(report, &n_job);
    RS_LOCAL char *path = rs_malloc(room);
    if (!path) return rs_fail_nomem(err, "a file name");
    rs_status status = stem ? RS_OK : make_folder(place, err);
    if (status == RS_OK) status = write_tables(place, job, n_job, err);
    for (size_t i = 0; status == RS_OK && i < n_ranks; i++) {
        size_t n;
        const rs_table *const *sheets = rs_tracelens_report_sheets(report, i, &n);
        long long rank = rs_tracelens_report_rank(report, i);
        if (n_ranks == 1)
            snprintf(path, room, "%s", place);
        else if (stem)
            snprintf(path, room, "%.*s.rank%lld.xlsx", (int)stem, place, rank);
        else
            snprintf(path, room, "%s/rank%lld", place, rank);
        status = write_tables(path, sheets, n, err);
    }
    return status;
}

/* ---- comparing --------------------------------------------------------------------------------------------- */

static rs_status check_comparison(rs_request *r, rs_error *err)
{
    static const char *const against[] = {"short-kernels", "collectives", "detailed",
                                          "micro-idle",    "unlinked",    "recompute"};
    static const char *const with_it[] = {"names", "sheets"};
    bool compares = rs_request_flag(r, "compare");
    for (size_t i = 0; compares && i < sizeof against / sizeof *against; i++)
        if (rs_request_is_set(r, against[i]))
            return rs_fail(err, RS_ERR_USAGE,
                           "--%s makes sheets, or times, that TraceLens' comparison does not have",
                           against[i]);
    for (size_t i = 0; !compares && i < sizeof with_it / sizeof *with_it; i++)
        if (rs_request_is_set(r, with_it[i]))
            return rs_fail(err, RS_ERR_USAGE, "--%s goes with --compare", with_it[i]);
    if (compares && r->arguments.n_paths < 2)
        return rs_fail(err, RS_ERR_USAGE,
                       "compared with what? rankscope report --tracelens FILE.xlsx --compare BASE OTHER...");
    return RS_OK;
}

/* What is compared: names and reports are owned. */
typedef struct comparison {
    rs_tracelens_input *inputs;
    char **names;
    rs_tracelens_report **reports; /* of traces; NULL: the input is a report already */
    size_t n;
} comparison;

static void clear_comparison(comparison *c)
{
    for (size_t i = 0; i < c->n; i++) {
        if (c->names) rs_free(c->names[i]);
        if (c->reports) rs_tracelens_report_free(c->reports[i]);
    }
    rs_free_all(c->names, (void *)c->reports, c->inputs);
}

/* The file's name without its last ending, as TraceLens calls a report. */
static char *name_of(const char *path)
{
    size_t n = strlen(path), from;
    while (n > 1 && path[n - 1] == '/') n--;
    for (from = n; from > 0 && path[from - 1] != '/'; from--) {
    }
    for (size_t at = n; at > from + 1; at--)
        if (path[at - 1] == '.') {
            n = at - 1;
            break;
        }
    return rs_strndup(path + from, n - from);
}

/* The i-th of a list with commas between; NULL, with *given the length of the list, when there is none. */
static char *listed_name(const char *list, size_t i, size_t *given)
{
    *given = 0;
    for (const char *word = list; word;) {
        const char *comma = strchr(word, ',');
        if ((*given)++ == i) return rs_strndup(word, comma ? (size_t)(comma - word) : strlen(word));
        word = comma ? comma + 1 : NULL;
    }
    return NULL;
}

static rs_status name_inputs(rs_request *r, comparison *c, rs_error *err)
{
    const char *names = rs_request_text(r, "names");
    for (size_t i = 0; i < c->n; i++) {
        size_t given;
        c->names[i] = names ? listed_name(names, i, &given) : name_of(r->arguments.paths[i]);
        if (!c->names[i] && names && given <= i)
            return rs_fail(err, RS_ERR_USAGE, "--names has %zu names for %zu paths", given, c->n);
        if (!c->names[i]) return rs_fail_nomem(err, "a name");
        c->inputs[i].name = c->names[i];
    }
    size_t given;
    char *more = listed_name(names, c->n, &given);
    rs_free(more);
    return more ? rs_fail(err, RS_ERR_USAGE, "--names has more names than there are paths") : RS_OK;
}

/* A trace is compared by the sheets that its report would have. */
static rs_status report_of_trace(rs_request *r, const char *path, rs_tracelens_report **out, rs_result *told,
                                 rs_error *err)
{
    const rs_tracelens_settings settings = {.size = sizeof settings, .device = rs_request_text(r, "device")};
    rs_job *job = NULL;
    RS_TRY(rs_request_open(r, &path, 1, &job, err));
    rs_status status = rs_tracelens_report_create(job, &settings, out, told, err);
    rs_request_close(r, job);
    if (status != RS_OK) return status;
    size_t n = rs_tracelens_report_n_ranks(*out);
    if (n == 1) return RS_OK;
    return rs_fail(
        err, RS_ERR_USAGE,
        "%s holds %zu ranks, and TraceLens compares reports of one: name one rank's trace, or all of them "
        "with `rankscope compare`",
        path, n);
}

static rs_status read_inputs(rs_request *r, comparison *c, rs_result *told, rs_error *err)
{
    for (size_t i = 0; i < c->n; i++) {
        rs_tracelens_input *input = &c->inputs[i];
        const char *path = r->arguments.paths[i];
        if (rs_tracelens_is_report(path)) {
            input->path = path;
            continue;
        }
        RS_TRY(report_of_trace(r, path, &c->reports[i], told, err));
        input->sheets = rs_tracelens_report_sheets(c->reports[i], 0, &input->n_sheets);
    }
    return RS_OK;
}

static rs_status write_comparison(const char *place, const rs_tracelens_comparison *compared, rs_error *err)
{
    size_t n;
    const rs_table *const *tables = rs_tracelens_comparison_sheets(compared, &n);
    return book_stem(place) ? write_book(place, tables, n, compared, err)
                            : write_tables(place, tables, n, err);
}

static rs_status compare_reports(rs_request *r, rs_result *told, rs_error *err)
{
    size_t n = r->arguments.n_paths;
    rs_tracelens_comparison *compared = NULL;
    comparison c = {rs_calloc(n, sizeof *c.inputs), rs_calloc(n, sizeof *c.names),
                    rs_calloc(n, sizeof *c.reports), n};
    rs_status status =
        c.inputs && c.names && c.reports ? RS_OK : rs_fail_nomem(err, "a comparison of reports");
    if (status == RS_OK) status = name_inputs(r, &c, err);
    if (status == RS_OK) status = read_inputs(r, &c, told, err);
    if (status == RS_OK)
        status = rs_tracelens_compare(c.inputs, n, rs_request_text(r, "sheets"), &compared, told, err);
    if (status == RS_OK) status = write_comparison(rs_request_text(r, "tracelens"), compared, err);
    rs_tracelens_comparison_free(compared);
    clear_comparison(&c);
    return status;
}

/* ---- the option -------------------------------------------------------------------------------------------- */

static rs_status check(rs_request *r, rs_error *err)
{
    if (rs_request_text(r, "output"))
        return rs_fail(err, RS_ERR_USAGE, "either -o, a page, or --tracelens, TraceLens' sheets: not both");
    if (!r->arguments.n_paths)
        return rs_fail(err, RS_ERR_USAGE, "which traces? rankscope report --tracelens DIR PATH...");
    if (rs_request_repeated(r, "flight")->n || rs_request_repeated(r, "metrics")->n)
        return rs_fail(err, RS_ERR_USAGE,
                       "--flight and --metrics go with the page (-o), not with --tracelens");
    return check_comparison(r, err);
}

/* Microseconds of an option; 0: it is not given. */
static int64_t ns_of(const rs_request *r, const rs_options *own, const char *name)
{
    return rs_request_is_set(r, name) ? rs_int_near(rs_options_real(own, name) * 1000) : 0;
}

static rs_status write_sheets_of(rs_request *r, rs_result *told, rs_error *err)
{
    if (rs_request_flag(r, "compare")) return compare_reports(r, told, err);
    const rs_options *own = rs_arguments_of(r->command, &r->arguments, "short-kernels");
    const rs_tracelens_settings settings = {.size = sizeof settings,
                                            .device = rs_request_text(r, "device"),
                                            .short_ns = ns_of(r, own, "short-kernels"),
                                            .micro_idle_ns = ns_of(r, own, "micro-idle"),
                                            .unlinked = rs_request_flag(r, "unlinked"),
                                            .recompute = rs_request_flag(r, "recompute"),
                                            .collectives_only = rs_request_flag(r, "collectives"),
                                            .detailed = rs_request_flag(r, "detailed")};
    rs_tracelens_report *report = NULL;
    rs_job *job = NULL;
    RS_TRY(rs_request_open(r, r->arguments.paths, r->arguments.n_paths, &job, err));
    rs_status status = rs_tracelens_report_create(job, &settings, &report, told, err);
    rs_request_close(r, job);
    if (status == RS_OK) status = write_report(rs_request_text(r, "tracelens"), report, err);
    rs_tracelens_report_free(report);
    return status;
}

static const rs_option_spec specs[] = {
    {"tracelens", RS_OPTION_TEXT, "DIR|FILE.xlsx", NULL, NULL,
     "instead of the page: TraceLens' performance report, sheet for sheet as CSV files in DIR or as a "
     "workbook, its numbers with its faults"},
    {"device", RS_OPTION_TEXT, "NAME|FILE", NULL, NULL,
     "the device whose rates make the roofline columns: a name of `roofline --table "
     "devices`, or a file in TraceLens' form"},
    {"short-kernels", RS_OPTION_REAL, "US", NULL, NULL,
     "also the sheets of kernels shorter than US microseconds (TraceLens: 10)"},
    {"collectives", RS_OPTION_FLAG, NULL, NULL, NULL,
     "only its collective report over all ranks, which is written with the others otherwise"},
    {"detailed", RS_OPTION_FLAG, NULL, NULL, NULL,
     "also the sheets nccl_long, nccl_implicit_sync and nccl_all2allv, a row for each "
     "collective, and nccl_all2allv_heatmap"},
    {"micro-idle", RS_OPTION_REAL, "US", NULL, NULL,
     "gpu_timeline lists pauses shorter than US microseconds separately"},
    {"unlinked", RS_OPTION_FLAG, NULL, NULL, NULL,
     "GPU work whose launch is not in the file counts in gpu_timeline"},
    {"recompute", RS_OPTION_FLAG, NULL, NULL, NULL,
     "what activation checkpointing computes again is in rows of its own, marked by a column "
     "is_recompute (needs Python functions in the trace)"},
    {"compare", RS_OPTION_FLAG, NULL, NULL, NULL,
     "TraceLens' comparison of reports; each PATH is a workbook, a folder of CSV files or a trace, "
     "and the first is the base"},
    {"names", RS_OPTION_TEXT, "A,B", NULL, NULL,
     "with --compare: what columns of the PATHs begin with; default: the files' names without their last ending"},
    {"sheets", RS_OPTION_TEXT, "LIST", NULL, NULL,
     "with --compare: only these of gpu_timeline, ops_summary, kernel_summary, ops_all, roofline"},
};

const rs_command_extension rs_extension_report_tracelens = {
    .command = "report",
    .option = "tracelens",
    .options = {.title = "TraceLens' report", .specs = specs, .n = sizeof specs / sizeof *specs},
    .about =
        "--tracelens writes what TraceLens' generate_perf_report_pytorch writes, for scripts that read it: "
        "its sheets, columns, order and numbers, faults included (docs/differences.md). Sheets of several "
        "ranks are in DIR/rank0, DIR/rank1, ... or FILE.rank0.xlsx, FILE.rank1.xlsx, ..., and with them "
        "those of its generate_multi_rank_collective_report_pytorch.\n\n"
        "With --compare it is the comparison that TraceLens' compare_perf_reports_pytorch makes of reports, or of "
        "traces: the reports side by side with differences in gpu_timeline, ops_summary and kernel_summary; "
        "operators by arguments and the roofline sheets parted into what both have and what only one has. "
        "`rankscope compare` is the comparison of traces whose parts add up.",
    .examples = "rankscope report --tracelens sheets/ --device MI300X --short-kernels 10 trace.json.gz\n"
                "rankscope report --tracelens comparison.xlsx --compare --names old,new old.xlsx sheets/",
    .check = check,
    .body = write_sheets_of,
};
