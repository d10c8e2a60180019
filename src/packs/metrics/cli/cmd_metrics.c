/* rankscope metrics: reads labelled directories of rank files, writes summary.json and a picture a label, and
 * prints the tables. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "base/try.h"
#include "cli/cli.h"
#include "rankscope/metrics.h"

static const rs_option_spec specs[] = {
    {"log-dir", RS_OPTION_TEXT, "DIR", NULL, NULL,
     "a directory of rank_N_metrics.jsonl; may be given several times, each with its --label"},
    {"label", RS_OPTION_TEXT, "NAME", NULL, NULL, "the name of the run in the directory before or after it"},
    {"output", RS_OPTION_TEXT, "DIR", NULL, NULL,
     "where summary.json and NAME_timeline.png go; made when it is not there"},
    {"reference", RS_OPTION_TEXT, "NAME", NULL, NULL, "the label to compare with"},
    {"candidate", RS_OPTION_TEXT, "NAME", NULL, NULL, "the label to compare"},
    {"between-run-sd", RS_OPTION_REAL, "PCT", NULL, NULL,
     "how much equal runs differ (standard deviation in percent), known from elsewhere; without it no difference "
     "is called better or worse"},
    {"skip-warmup", RS_OPTION_INT, "N", NULL, NULL,
     "leave out the first N records of each rank (default 5; 0 under --compat aorta); a rank with at most N "
     "keeps all"},
    {"traces", RS_OPTION_FLAG, NULL, NULL, NULL,
     "also read torch_profiler/rank*/ in the directories and show both side by side"},
    {"no-plots", RS_OPTION_FLAG, NULL, NULL, NULL, "write no pictures"},
    {"fail-on", RS_OPTION_TEXT, "EXPR", NULL, NULL,
     "exit with 1 when a row meets COLUMN OP NUMBER[%], ...; columns of comparison, else of datasets"},
    {"compat", RS_OPTION_CHOICE, "PEER", "aorta", NULL, "the numbers and keys of AORTA's overlap report"},
    {"jobs", RS_OPTION_INT, "N", NULL, NULL, "worker threads (default: one for each core)"},
};

#define BRIEF_TABLES 2 /* the runs and how they compare: what the front door shows */

/* ---- checking the request ------------------------------------------------------------------------------ */

static rs_status choose(rs_request *r, rs_error *err)
{
    (void)err;
    r->tables = rs_metrics_tables(&r->n_tables);
    return RS_OK;
}

static bool is_aorta(const rs_request *r)
{
    return rs_request_text(r, "compat") != NULL;
}

static double between_run_sd(const rs_request *r)
{
    const rs_options *o = r->arguments.options[0];
    return rs_request_is_set(r, "between-run-sd") ? rs_options_real(o, "between-run-sd") / 100 : 0;
}

static rs_status check(rs_request *r, rs_error *err)
{
    const char *reference = rs_request_text(r, "reference"), *candidate = rs_request_text(r, "candidate"),
               *gate = rs_request_text(r, "fail-on");
    size_t n_directories = rs_request_repeated(r, "log-dir")->n,
           n_labels = rs_request_repeated(r, "label")->n;
    if (!n_directories && !r->arguments.n_paths)
        return rs_fail(err, RS_ERR_USAGE,
                       "which runs? DIR..., or --log-dir DIR --label NAME once or several times");
    if (n_directories != n_labels)
        return rs_fail(err, RS_ERR_USAGE, "%zu --log-dir but %zu --label: each directory needs its label",
                       n_directories, n_labels);
    if (n_directories && !rs_request_text(r, "output"))
        return rs_fail(err, RS_ERR_USAGE, "where to? --output DIR receives summary.json");
    if (!reference != !candidate && !is_aorta(r))
        return rs_fail(err, RS_ERR_USAGE, "--%s needs --%s", reference ? "reference" : "candidate",
                       reference ? "candidate" : "reference");
    RS_TRY(rs_job_settings_take(r->arguments.options[0], &r->job, err)); /* the threads */
    rs_metrics_settings settings = {.size = sizeof(rs_metrics_settings), .between_run_sd = between_run_sd(r)};
    if (gate && rs_metrics_gate_check(gate, &settings, reference && candidate, err) != RS_OK)
        return rs_error_wrap(err, "--fail-on");
    return RS_OK;
}

/* ---- the output directory ------------------------------------------------------------------------------ */

static rs_status make_folder(const char *path, rs_error *err)
{
    RS_LOCAL char *copy = rs_strdup(path);
    if (!copy) return rs_fail_nomem(err, "a path");
    bool ok = true;
    for (char *c = copy + 1; ok && copy[0]; c++) {
        if (*c != '/' && *c != '\0') continue;
        char held = *c;
        *c = '\0';
        ok = mkdir(copy, 0777) == 0 || errno == EEXIST;
        *c = held;
        if (!held) break;
    }
    struct stat info;
    if (ok && (stat(path, &info) != 0 || !S_ISDIR(info.st_mode))) {
        errno = ENOTDIR;
        ok = false;
    }
    return ok ? RS_OK
              : rs_fail_at(err, RS_ERR_IO, path, RS_NO_OFFSET, "cannot make this directory: %s",
                           strerror(errno));
}

static char *path_of(const char *folder, const char *name, const char *end)
{
    size_t n = strlen(folder) + strlen(name) + strlen(end) + 2;
    char *path = rs_malloc(n);
    if (path) snprintf(path, n, "%s/%s%s", folder, name, end);
    return path;
}

/* The picture is drawn under a name of its own, then put in place. */
static rs_status write_plot(const char *folder, const rs_metrics *m, size_t i, rs_error *err)
{
    char *path = path_of(folder, rs_metrics_label(m, i), "_timeline.png");
    rs_output output;
    if (!path) return rs_fail_nomem(err, "a path");
    rs_status status = rs_output_open(&output, path, err);
    if (status == RS_OK) {
        status = rs_metrics_plot(m, i, output.temporary ? output.temporary : path, err);
        if (status == RS_OK)
            status = rs_output_commit(&output, err);
        else
            rs_output_discard(&output);
    }
    rs_free(path);
    return status;
}

static rs_status summarize(void *context, const rs_sink *sink, rs_error *err)
{
    return rs_metrics_summary(context, sink, err);
}

static rs_status write_summary(const char *folder, rs_metrics *m, rs_error *err)
{
    RS_LOCAL char *path = path_of(folder, "summary", ".json");
    if (!path) return rs_fail_nomem(err, "a path");
    return rs_output_put(path, false, NULL, summarize, m, err);
}

/* summary.json comes last: where it is, everything is. */
static rs_status write_files(const rs_request *r, rs_metrics *m, rs_error *err)
{
    const char *folder = rs_request_text(r, "output");
    if (!folder) return RS_OK;
    rs_status status = make_folder(folder, err);
    bool plots = !rs_request_flag(r, "no-plots");
    if (plots && !rs_metrics_can_plot()) {
        rs_complain("no pictures: this program was built without cairo, FreeType or the font DejaVu Sans "
                    "(libcairo2-dev, libfreetype-dev, fonts-dejavu-core); --no-plots silences this");
        plots = false;
    }
    for (size_t i = 0; plots && status == RS_OK && i < rs_metrics_count(m); i++)
        status = write_plot(folder, m, i, err);
    return status == RS_OK ? write_summary(folder, m, err) : status;
}

/* ---- running ------------------------------------------------------------------------------------------- */

/* A run whose label is the name of its folder. A rank's file means its folder, which is not added again after the file before it. */
static rs_status add_folder(rs_metrics *m, const char *path, char **before, rs_error *err)
{
    struct stat info;
    bool is_file = stat(path, &info) == 0 && S_ISREG(info.st_mode);
    const char *slash = strrchr(path, '/');
    char *folder = !is_file        ? rs_strdup(path)
                   : !slash        ? rs_strdup(".")
                   : slash == path ? rs_strdup("/")
                                   : rs_strndup(path, (size_t)(slash - path));
    if (!folder) return rs_fail_nomem(err, "a path");
    if (is_file && *before && strcmp(*before, folder) == 0) {
        rs_free(folder);
        return RS_OK;
    }
    rs_free(*before);
    *before = folder;
    char *full = realpath(folder, NULL); /* of "." and "run/" the name, too */
    const char *last = full ? strrchr(full, '/') : NULL;
    rs_status status = rs_metrics_add(m, last && last[1] ? last + 1 : folder, folder, err);
    free(full);
    return status;
}

static rs_status add_folders(const rs_request *r, rs_metrics *m, rs_error *err)
{
    char *before = NULL;
    rs_status status = RS_OK;
    for (size_t i = 0; status == RS_OK && i < r->arguments.n_paths; i++)
        status = add_folder(m, r->arguments.paths[i], &before, err);
    rs_free(before);
    return status;
}

static rs_status read_runs(rs_request *r, rs_metrics **out, rs_problems *problems, rs_error *err)
{
    const char *reference = rs_request_text(r, "reference"), *candidate = rs_request_text(r, "candidate");
    const rs_repeated *labels = rs_request_repeated(r, "label"),
                      *directories = rs_request_repeated(r, "log-dir");
    rs_metrics_settings settings = {.size = sizeof(rs_metrics_settings),
                                    .aorta = is_aorta(r),
                                    .skip_warmup = rs_request_is_set(r, "skip-warmup")
                                                       ? rs_request_int(r, "skip-warmup")
                                                   : is_aorta(r) ? 0
                                                                 : RS_METRICS_WARMUP,
                                    .jobs = r->job.jobs,
                                    .traces = rs_request_flag(r, "traces"),
                                    .between_run_sd = between_run_sd(r),
                                    .progress = r->job.progress,
                                    .progress_context = r->job.progress_context};
    RS_TRY(rs_metrics_create(&settings, out, err));
    for (size_t i = 0; i < labels->n; i++)
        RS_TRY(rs_metrics_add(*out, labels->values[i], directories->values[i], err));
    RS_TRY(add_folders(r, *out, err));
    if (reference && candidate) RS_TRY(rs_metrics_compare(*out, reference, candidate, err));
    return rs_metrics_read(*out, problems, err);
}

static rs_status metrics(rs_request *r, rs_result *result, rs_error *err)
{
    rs_problems problems = {0};
    rs_metrics *m = NULL;
    const char *gate = rs_request_text(r, "fail-on");
    rs_status status = read_runs(r, &m, &problems, err);
    rs_progress_end(&r->progress);
    if (status == RS_OK) status = rs_metrics_result(m, result, err);
    if (status == RS_OK && gate) status = rs_metrics_gate(gate, result, err);
    if (status == RS_OK) status = write_files(r, m, err);
    while (status == RS_OK && r->render.brief && result->n_tables > BRIEF_TABLES)
        rs_table_free(result->tables[--result->n_tables]);
    rs_problems_move(&result->problems, &problems);
    rs_metrics_free(m);
    return status == RS_OK ? RS_OK : rs_error_wrap(err, "metrics");
}

/* By its name, and as it begins like a line of JSON. */
static bool is_rank_file(const char *path, const uint8_t *text, size_t n)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    return strncmp(name, "rank_", 5) == 0 && strstr(name, "_metrics.jsonl") && n && text[0] == '{';
}

static const rs_file_kind inputs[] = {
    {.title = "overlap-metrics file", .by_name = true, .knows = is_rank_file}, {0}};

const rs_command rs_command_metrics = {
    .name = "metrics",
    .inputs = inputs,
    .urgency = 5,
    .group = "Overlap metrics",
    .help = "Overlap of computation and communication from rank metrics, compared between runs",
    .usage = "DIR... | --log-dir DIR --label NAME [...] --output DIR [options]",
    .about =
        "Reads each rank's rank_N_metrics.jsonl, computes from the recorded ranges how long computation and "
        "collectives ran and how much of the one the other hid, and writes summary.json and a timeline "
        "picture for each label into the output directory. A DIR by itself is a run under the folder's name; without "
        "--output nothing is written.\n\n"
        "With --reference and --candidate two labels are compared: difference, ratio, and which is better. Each "
        "label is one run, and steps of one run do not say how much equal runs differ: a difference beyond the "
        "noise within the runs is undecided, unless --between-run-sd says it (rankscope regress tests several "
        "runs a side).\n\n"
        "The first 5 records of each rank are warm-up and left out; --skip-warmup changes that.",
    .examples = "rankscope metrics logs/\n"
                "rankscope metrics --log-dir logs/ --label today --output report/\n"
                "rankscope metrics --log-dir a/ --label old --log-dir b/ --label new --output cmp/ \\\n"
                "    --reference old --candidate new --between-run-sd 0.8 \\\n"
                "    --fail-on 'worse_percent > 5, beyond_noise >= 1'",
    .groups = {{.title = "Options", .specs = specs, .n = sizeof specs / sizeof *specs},
               {.base = &rs_output_options, .without = "output|verbose|stats"}},
    .n_groups = 2,
    .repeated = {"log-dir", "label"},
    .choose = choose,
    .check = check,
    .body = metrics,
    .writes_itself = true,
};
