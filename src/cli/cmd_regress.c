/* rankscope regress BASE NEW: is the new code slower, by a test over runs, and what the change is made of. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/paths.h"
#include "base/try.h"
#include "cli/cli.h"
#include "rankscope/regress.h"

static const rs_option_spec specs[] = {
    {"alpha", RS_OPTION_REAL, "SHARE", NULL, "0.05", "share of false alarms that is accepted"},
    {"min-effect", RS_OPTION_REAL, "PCT", NULL, "0.5", "a change below PCT percent does not matter"},
    {"between-run-sd", RS_OPTION_REAL, "PCT", NULL, NULL,
     "how much equal runs differ (standard deviation in percent), known from elsewhere: then one run a side is "
     "enough"},
    {"by", RS_OPTION_CHOICE, "KEY", "kernel|part|operator|phase|group", "kernel",
     "what the change is divided by, in addition to the kind of time"},
    {"method", RS_OPTION_CHOICE, "HOW", "path|exposed", "path",
     "path: what the steps' critical paths over all ranks run along; exposed: each instant of a step belongs to "
     "what runs then, computation first, which needs no event graph and is used where that cannot be relied on"},
    {"step", RS_OPTION_CHOICE, "WHOSE", "rank|job", "rank",
     "rank: the mean over ranks of each rank's own step; job: from the last rank's end to the last rank's end"},
    {"strict", RS_OPTION_FLAG, NULL, NULL, NULL, "undecided is exit code 1, too"},
    {"junit", RS_OPTION_TEXT, "FILE", NULL, NULL, "write the verdict and the parts as JUnit test cases"},
    {"save", RS_OPTION_TEXT, "FILE", NULL, NULL,
     "instead of comparing: keep what a base needs of these runs, some ten kB a run, so that CI need not keep "
     "traces"},
    {"history", RS_OPTION_TEXT, "DIR", NULL, NULL,
     "instead of comparing two sides: where the level of the runs in DIR changed, in the order of their names: "
     "folders, traces, or what --save wrote; ten or more"},
    {"page", RS_OPTION_TEXT, "FILE", NULL, NULL, "with --history: write a page with its line chart, too"},
};

/* ---- sides --------------------------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
    return rs_path_compare(*(char *const *)a, *(char *const *)b);
}

static void free_names(char **names, size_t n)
{
    for (size_t i = 0; i < n; i++) rs_free(names[i]);
    rs_free(names);
}

/* The folders in a folder, and its files if they are wanted, by name; *n = 0: there are none. */
static rs_status list_folder(const char *path, bool files, char ***names, size_t *n, rs_error *err)
{
    size_t capacity = 0;
    *names = NULL;
    *n = 0;
    DIR *folder = opendir(path);
    if (!folder) return rs_fail_at(err, RS_ERR_IO, path, RS_NO_OFFSET, "cannot be listed");
    rs_status status = RS_OK;
    for (struct dirent *e; status == RS_OK && (e = readdir(folder));) {
        if (e->d_name[0] == '.') continue;
        size_t size = strlen(path) + strlen(e->d_name) + 2;
        char *full = rs_malloc(size);
        if (full) snprintf(full, size, "%s/%s", path, e->d_name);
        if (full && !files && !rs_path_is_folder(full)) {
            rs_free(full);
            continue;
        }
        if (!full || !RS_GROW_ONE(*names, *n, capacity)) {
            rs_free(full);
            status = rs_fail_nomem(err, path);
        } else {
            (*names)[(*n)++] = full;
        }
    }
    closedir(folder);
    if (*n) qsort(*names, *n, sizeof **names, by_name);
    return status;
}

static rs_status add_run(rs_request *r, rs_regress_side *side, const char *path, rs_result *told,
                         rs_error *err)
{
    rs_job *job = NULL;
    RS_TRY(rs_request_open(r, &path, 1, &job, err));
    rs_status status = rs_regress_add_run(side, path, job, told, err);
    rs_request_close(r, job);
    return status;
}

#define MOST_SAVED (64 << 20) /* bytes of a stored summary */

/* Whether a file is a stored summary, which is then read. */
static rs_status read_saved(rs_regress_side *side, const char *path, bool *was, rs_error *err)
{
    *was = false;
    FILE *f = fopen(path, "rb");
    if (!f) return RS_OK; /* the job's own error is better */
    char head[64];
    size_t n = fread(head, 1, sizeof head, f);
    rs_status status = RS_OK;
    *was = rs_regress_is_saved(head, n);
    if (*was) {
        char *bytes = rs_malloc(MOST_SAVED);
        size_t used = 0;
        rewind(f);
        if (bytes) used = fread(bytes, 1, MOST_SAVED, f);
        status = !bytes ? rs_fail_nomem(err, path)
                 : used == MOST_SAVED
                     ? rs_fail_at(err, RS_ERR_LIMIT, path, RS_NO_OFFSET, "is too large for a stored summary")
                     : rs_regress_read(side, bytes, used, path, err);
        rs_free(bytes);
    }
    fclose(f);
    return status;
}

/* A stored summary, a run (a file or a folder of ranks), or a folder of runs: one with folders in it. */
static rs_status add_side(rs_request *r, rs_regress_side *side, const char *path, rs_result *told,
                          rs_error *err)
{
    char **runs = NULL;
    size_t n = 0;
    bool saved = false;
    if (!rs_path_is_folder(path)) {
        RS_TRY(read_saved(side, path, &saved, err));
        return saved ? RS_OK : add_run(r, side, path, told, err);
    }
    rs_status status = list_folder(path, false, &runs, &n, err);
    if (status == RS_OK && n == 0) status = add_run(r, side, path, told, err);
    for (size_t i = 0; status == RS_OK && i < n; i++) status = add_run(r, side, runs[i], told, err);
    free_names(runs, n);
    return status;
}

/* What is in the folder of a history: each folder is a run, each file a run or a stored summary. */
static rs_status add_history(rs_request *r, rs_regress_side *side, const char *path, rs_result *told,
                             rs_error *err)
{
    char **names = NULL;
    size_t n = 0;
    rs_status status = list_folder(path, true, &names, &n, err);
    if (status == RS_OK && n == 0)
        status = rs_fail_at(err, RS_ERR_FORMAT, path, RS_NO_OFFSET, "holds no runs and no stored summaries");
    for (size_t i = 0; status == RS_OK && i < n; i++) {
        bool saved = false;
        if (!rs_path_is_folder(names[i])) status = read_saved(side, names[i], &saved, err);
        if (status == RS_OK && !saved) status = add_run(r, side, names[i], told, err);
    }
    free_names(names, n);
    return status;
}

/* ---- the command --------------------------------------------------------------------------------------- */

static rs_status choose(rs_request *r, rs_error *err)
{
    (void)err;
    r->render.rows = rs_request_rows(r);
    r->tables = rs_request_text(r, "history") ? rs_regress_history_tables : rs_regress_tables;
    r->n_tables = 3;
    return RS_OK;
}

static rs_status check(rs_request *r, rs_error *err)
{
    bool save = rs_request_text(r, "save") != NULL, history = rs_request_text(r, "history") != NULL;
    const rs_options *o = r->arguments.options[0];
    static const char *const without[] = {"save", "junit", "strict", "between-run-sd"};
    for (size_t i = 0; history && i < sizeof without / sizeof *without; i++)
        if (rs_request_is_set(r, without[i]))
            return rs_fail(err, RS_ERR_USAGE, "--%s does not go with --history", without[i]);
    if (history && r->arguments.n_paths)
        return rs_fail(err, RS_ERR_USAGE, "what is \"%.80s\"? A history is one folder: --history DIR",
                       r->arguments.paths[0]);
    if (rs_request_text(r, "page")) {
        if (!history) return rs_fail(err, RS_ERR_USAGE, "--page goes with --history");
        RS_TRY(rs_report_check(err));
    }
    double alpha = rs_options_real(o, "alpha");
    RS_TRY(rs_request_check_rows(r, err));
    if (save && !r->arguments.n_paths)
        return rs_fail(err, RS_ERR_USAGE, "which runs? rankscope regress --save FILE BASE");
    if (!save && !history && r->arguments.n_paths != 2)
        return rs_fail(err, RS_ERR_USAGE, "two sides are compared, not %zu: rankscope regress BASE NEW",
                       r->arguments.n_paths);
    if (!(alpha > 0 && alpha < 0.5))
        return rs_fail(err, RS_ERR_USAGE, "--alpha takes a share above 0 and below 0.5");
    if (rs_options_real(o, "min-effect") < 0)
        return rs_fail(err, RS_ERR_USAGE, "--min-effect takes 0 or more percent");
    if (rs_request_is_set(r, "between-run-sd") && rs_options_real(o, "between-run-sd") < 0)
        return rs_fail(err, RS_ERR_USAGE, "--between-run-sd takes 0 or more percent");
    return RS_OK;
}

typedef struct regressing {
    const rs_regress_side *base;
    const rs_result *result;
    rs_regress_verdict verdict;
    bool strict;
    double min_effect;
} regressing;

static bool is_exposed(const rs_request *r)
{
    return strcmp(rs_request_text(r, "method"), "exposed") == 0;
}

static rs_status write_saved(void *context, const rs_sink *sink, rs_error *err)
{
    return rs_regress_save(((regressing *)context)->base, sink, err);
}

static rs_status write_junit(void *context, const rs_sink *sink, rs_error *err)
{
    const regressing *c = context;
    return rs_regress_junit(c->result, c->verdict, c->strict, c->min_effect, sink, err);
}

static rs_regress_settings settings_of(const rs_request *r)
{
    const rs_options *o = r->arguments.options[0];
    const char *by = rs_request_text(r, "by");
    rs_regress_settings settings = {.size = sizeof settings,
                                    .alpha = rs_options_real(o, "alpha"),
                                    .min_effect = rs_options_real(o, "min-effect") / 100,
                                    .between_run_sd = rs_request_is_set(r, "between-run-sd")
                                                          ? rs_options_real(o, "between-run-sd") / 100
                                                          : -1};
    settings.key = strcmp(by, "part") == 0       ? RS_REGRESS_PART
                   : strcmp(by, "operator") == 0 ? RS_REGRESS_OPERATOR
                   : strcmp(by, "phase") == 0    ? RS_REGRESS_PHASE
                   : strcmp(by, "group") == 0    ? RS_REGRESS_GROUP
                                                 : RS_REGRESS_KERNEL;
    settings.method = is_exposed(r) ? RS_REGRESS_EXPOSED : RS_REGRESS_PATH;
    return settings;
}

static rs_status compare(rs_request *r, regressing *c, const rs_regress_side *now, rs_result *result,
                         rs_error *err)
{
    const char *junit = rs_request_text(r, "junit");
    const rs_regress_settings settings = settings_of(r);
    RS_TRY(rs_regress(c->base, now, &settings, result, &c->verdict, err));
    c->result = result;
    c->strict = rs_request_flag(r, "strict");
    c->min_effect = settings.min_effect;
    result->found = c->verdict == RS_REGRESS_SLOWER || (c->strict && c->verdict == RS_REGRESS_UNDECIDED);
    return junit ? rs_output_put(junit, false, "regress", write_junit, c, err) : RS_OK;
}

typedef struct history_page {
    const char *folder;
    const rs_result *result;
} history_page;

static rs_status write_page(void *context, const rs_sink *sink, rs_error *err)
{
    const history_page *p = context;
    return rs_report_write_history(p->folder, p->result, sink, err);
}

static rs_status show_history(rs_request *r, const rs_regress_side *side, rs_result *result, rs_error *err)
{
    const rs_regress_settings settings = settings_of(r);
    const char *page = rs_request_text(r, "page");
    history_page p = {rs_request_text(r, "history"), result};
    RS_TRY(rs_regress_history(side, &settings, result, err));
    return page ? rs_output_put(page, false, "regress", write_page, &p, err) : RS_OK;
}

static rs_status regress(rs_request *r, rs_result *result, rs_error *err)
{
    rs_regress_side *sides[2] = {NULL, NULL};
    const char *save = rs_request_text(r, "save"), *history = rs_request_text(r, "history");
    rs_status status = RS_OK;
    const rs_regress_side_settings settings = {
        .size = sizeof settings,
        .step = strcmp(rs_request_text(r, "step"), "job") == 0 ? RS_REGRESS_STEP_JOB : RS_REGRESS_STEP_RANK,
        .no_path = is_exposed(r)};
    for (int k = 0; status == RS_OK && k < 2; k++) status = rs_regress_side_create(&settings, &sides[k], err);
    for (size_t i = 0; status == RS_OK && i < r->arguments.n_paths; i++)
        status = add_side(r, sides[save ? 0 : i], r->arguments.paths[i], result, err);
    if (status == RS_OK && history) status = add_history(r, sides[0], history, result, err);
    rs_progress_end(&r->progress);
    regressing c = {.base = sides[0]};
    if (status == RS_OK && history)
        status = show_history(r, sides[0], result, err);
    else if (status == RS_OK)
        status = save ? rs_output_put(save, false, "regress", write_saved, &c, err)
                      : compare(r, &c, sides[1], result, err);
    rs_regress_side_free(sides[0]);
    rs_regress_side_free(sides[1]);
    return status;
}

static rs_status show(const rs_request *r, const rs_result *result, const rs_sink *sink, rs_error *err)
{
    return r->table == SIZE_MAX ? rs_render_command("regress", result, &r->render, sink, err)
                                : rs_request_show(r, result, sink, err);
}

static int deliver(rs_request *r, const rs_result *result)
{
    return rs_request_text(r, "save") ? RS_EXIT_OK : rs_request_deliver(r, result);
}

const rs_command rs_command_regress = {
    .name = "regress",
    .group = "Overlap metrics",
    .help = "Is the new code slower? A verdict over runs that does not cry wolf, and the parts of the change",
    .usage = "[options] BASE NEW | --save FILE BASE | --history DIR",
    .about =
        "BASE and NEW are each a folder of runs (one with a folder for each run in it), one run (a trace, or a "
        "folder with the traces of its ranks), or what --save wrote.\n\n"
        "The unit is the run. Steps of one run resemble each other more than those of two runs, so that a test "
        "over steps finds differences between equal code. A run's value is the mean of its settled steps: warm-up "
        "(MSER) and outliers (median + 5 median deviations) are set apart, not deleted; what they change is "
        "in the columns warm_up_us and outliers_us. The verdict is Welch's test of the runs' log means: slower "
        "when the whole interval is above 0 and the change at least --min-effect; same when the whole interval is "
        "within it; else undecided. One run a side is undecided, unless --between-run-sd says how much equal runs "
        "differ. The least change that these runs could show is always reported.\n\n"
        "The parts add up to the change to the nanosecond, each divided into more pieces and longer ones. They are "
        "those of the steps' critical paths, across ranks, cut at the steps' starts. swap_us is the other way to "
        "ask: a run of the base is replayed with the new side's time of the row alone. Where part and swap differ "
        "by more than 10 % and 0.2 % of the step, moved is 1: the path runs elsewhere now, and the time that shows "
        "in one row is caused in another.\n\n"
        "Where the replay of a run cannot be relied on (rankscope replay says why), and with --method exposed, the "
        "parts are those of the time line: an instant of a step belongs to computation, else to communication, else "
        "to copies, else it is a gap; of kernels that run at once the first to start has the time. \"outside GPU "
        "work\" is the rest of the step on the host; it is negative where GPU work goes on after the step's "
        "end.\n\n"
        "Kernels that were renamed are one row where the steps' programs align: one place, under one operator, and "
        "each name on one side only. There are no parts where the sides have other ranks, other sizes of process "
        "groups or another program.\n\n"
        "--history looks for changes of the level of ten or more runs: E-divisive proposes them, Student's t-test of "
        "the levels on both sides of each decides, for the number of places where it could be; no random numbers. Its "
        "exit code is 0.\n\n"
        "Exit code 1: slower; with --strict undecided, too.",
    .examples =
        "rankscope regress base/ new/\n"
        "rankscope regress --save baseline.json base/ && rankscope regress --junit regress.xml baseline.json new/\n"
        "rankscope regress --between-run-sd 0.8 old.json.gz new.json.gz\n"
        "rankscope regress --history nightly/ --page history.html",
    .groups = {{.title = "Options", .specs = specs, .n = sizeof specs / sizeof *specs},
               {.base = &rs_input_options, .without = "compat|absolute|include-last-step"},
               {.base = &rs_output_options},
               {.base = &rs_row_options}},
    .n_groups = 4,
    .choose = choose,
    .check = check,
    .body = regress,
    .show = show,
    .deliver = deliver,
};
