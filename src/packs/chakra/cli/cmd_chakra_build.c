/* rankscope chakra build: link and convert without the file between them, one rank or all of a job. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/paths.h"
#include "base/system.h"
#include "base/workers.h"
#include "chakra/cli/chakra.h"

#define PATH_ROOM 4096

static const rs_option_spec specs[] = {
    {"output", RS_OPTION_TEXT, "FILE.et", NULL, NULL,
     "the Chakra execution trace, written atomically; .gz and .zst are packed; .json is the other form that "
     "feeders read, {\"workload_graph\": [...]}; - is standard output; of a job a folder, for chakra.RANK.et"},
    RS_CHAKRA_CONVERT_OPTIONS,
    {"check", RS_OPTION_FLAG, NULL, NULL, NULL,
     "read back what was written and prove it as `chakra check` does, of a job all ranks together; exit code 1 "
     "with what is wrong"},
    {"quiet", RS_OPTION_FLAG, NULL, NULL, NULL, "no notes; errors and losses are still reported"},
    {"help", RS_OPTION_FLAG, NULL, NULL, NULL, "this text"},
};

/* What was written, as `chakra check` sees it; code is what building came to. */
static int check(const rs_chakra_link_settings *link, const rs_options *o, const char *const *paths, size_t n,
                 int code)
{
    if (!rs_options_flag(o, "check") || !n || (code != RS_EXIT_OK && code != RS_EXIT_LOSS)) return code;
    bool astra = strcmp(rs_options_text(o, "target"), "astra-sim") == 0;
    rs_chakra_check_settings settings = {.size = sizeof(rs_chakra_check_settings),
                                         .groups = rs_options_text(o, "comm-groups"),
                                         .max_ratio = link->max_ratio,
                                         .target = astra ? RS_CHAKRA_TARGET_ASTRA_SIM : RS_CHAKRA_TARGET_ANY};
    int found = rs_chakra_check_files(&settings, NULL, paths, n);
    return found == RS_EXIT_OK ? code : found;
}

static int build(const rs_chakra_link_settings *link, const rs_options *o)
{
    rs_error err = RS_ERROR_INIT;
    RS_SCOPED(rs_chakra_link_report_clear) rs_chakra_link_report report = {0};
    rs_chakra_linked *linked;
    bool quiet = rs_options_flag(o, "quiet");
    rs_status status = rs_chakra_link_nodes(link, &linked, &report, &err);
    rs_chakra_report_problems(&report.problems, quiet);
    int code = RS_EXIT_OK;
    if (status != RS_OK) {
        code = rs_complain_error("chakra build", &err);
    } else {
        rs_chakra_convert_settings convert = {.size = sizeof(rs_chakra_convert_settings), .nodes = linked};
        rs_chakra_convert_options(o, &convert);
        code = rs_chakra_convert_to("chakra build", &convert, rs_options_text(o, "output"),
                                    rs_options_text(o, "comm-groups"), quiet);
    }
    if (code == RS_EXIT_OK && rs_problems_worst(&report.problems) == RS_LOSS) code = RS_EXIT_LOSS;
    rs_chakra_linked_free(linked);
    const char *path = rs_options_text(o, "output");
    return check(link, o, &path, 1, code);
}

/* ---- all ranks of a job ----------------------------------------------------------------------------- */

typedef struct built {
    rs_status status;
    rs_error err;
    rs_chakra_link_report linked;
    rs_chakra_convert_report converted;
    char *groups; /* the rank's file of process groups */
    size_t n_groups, capacity;
} built;

typedef struct job_build {
    const rs_chakra_link_settings *link;
    const rs_options *options;
    const rs_chakra_pairs *pairs;
    const char *folder;
    unsigned jobs_each;
    built *ranks;
} job_build;

static bool keep_groups(void *context, const char *bytes, size_t n)
{
    built *b = context;
    if (!rs_grow((void **)&b->groups, &b->capacity, b->n_groups + n + 1, 1)) return false;
    memcpy(b->groups + b->n_groups, bytes, n);
    b->n_groups += n;
    return true;
}

typedef struct rank_writing {
    rs_chakra_convert_settings settings;
    built *rank;
    rs_sink groups;
} rank_writing;

static rs_status write_rank(void *context, const rs_sink *sink, rs_error *err)
{
    rank_writing *w = context;
    return rs_chakra_convert(&w->settings, sink, &w->rank->converted, err);
}

static bool put_path(const job_build *job, size_t item, char path[PATH_ROOM])
{
    int n = snprintf(path, PATH_ROOM, "%s/chakra.%lld.et", job->folder,
                     (long long)rs_chakra_pairs_at(job->pairs, item).rank);
    return n > 0 && n < PATH_ROOM;
}

/* A rank that fails leaves the others alone; what it said is told when all are done. */
static rs_status build_rank(void *context, size_t item, unsigned worker, rs_error *err)
{
    job_build *job = context;
    (void)worker;
    built *b = &job->ranks[item];
    rs_chakra_pair pair = rs_chakra_pairs_at(job->pairs, item);
    rs_chakra_link_settings link = *job->link;
    rs_chakra_linked *linked = NULL;
    char path[PATH_ROOM];
    link.host = pair.host;
    link.device = pair.device;
    link.rank_set = true;
    link.rank = pair.rank;
    link.jobs = job->jobs_each;
    (void)err; /* the rank's own */
    if (rs_signal_came()) return RS_ERR_CANCELLED;
    if (!put_path(job, item, path)) {
        b->status = rs_fail(&b->err, RS_ERR_USAGE, "the name of the folder is too long");
        return RS_OK;
    }
    b->status = rs_chakra_link_nodes(&link, &linked, &b->linked, &b->err);
    if (b->status == RS_OK) {
        rank_writing w = {
            .settings = {.size = sizeof w.settings, .nodes = linked}, .rank = b, .groups = {keep_groups, b}};
        rs_chakra_convert_options(job->options, &w.settings);
        w.settings.explain = NULL; /* lines of ranks that are built at once would be mixed */
        if (rs_options_text(job->options, "comm-groups")) w.settings.groups = &w.groups;
        b->status = rs_output_put(path, false, NULL, write_rank, &w, &b->err);
    }
    rs_chakra_linked_free(linked);
    return RS_OK;
}

static rs_status write_groups(void *context, const rs_sink *sink, rs_error *err)
{
    const job_build *job = context;
    size_t n = rs_chakra_pairs_count(job->pairs);
    RS_LOCAL const char **texts = rs_malloc((n + 1) * sizeof *texts);
    size_t *lengths = rs_malloc((n + 1) * sizeof *lengths), k = 0;
    rs_status status = texts && lengths ? RS_OK : rs_fail_nomem(err, "process groups");
    for (size_t i = 0; i < n && status == RS_OK; i++) {
        if (job->ranks[i].status != RS_OK || !job->ranks[i].n_groups) continue;
        texts[k] = job->ranks[i].groups;
        lengths[k++] = job->ranks[i].n_groups;
    }
    if (status == RS_OK) status = rs_chakra_join_groups(texts, lengths, k, sink, err);
    rs_free(lengths);
    return status;
}

/* The ranks that were built, together. */
static int check_job(const job_build *job, int code)
{
    size_t n = rs_chakra_pairs_count(job->pairs), kept = 0;
    rs_error err = RS_ERROR_INIT;
    RS_SCOPED(rs_arena_clear) rs_arena arena = {0};
    RS_LOCAL const char **paths = rs_malloc((n + 1) * sizeof *paths);
    bool ok = paths != NULL;
    for (size_t i = 0; i < n && ok; i++) {
        char path[PATH_ROOM];
        if (job->ranks[i].status != RS_OK || !put_path(job, i, path)) continue;
        ok = (paths[kept++] = rs_arena_strndup(&arena, path, strlen(path))) != NULL;
    }
    if (ok) {
        code = check(job->link, job->options, paths, kept, code);
    } else {
        rs_fail_nomem(&err, "the ranks together");
        code = rs_complain_error("chakra build", &err);
    }
    return code;
}

/* What the ranks said, by rank; the exit code. */
static int report_job(job_build *job, bool quiet)
{
    rs_error err = RS_ERROR_INIT;
    size_t n = rs_chakra_pairs_count(job->pairs), failed = 0;
    uint64_t nodes = 0, comms = 0;
    bool lost = false;
    const char *groups = rs_options_text(job->options, "comm-groups");
    for (size_t i = 0; i < n; i++) {
        built *b = &job->ranks[i];
        rs_chakra_report_problems(&b->linked.problems, quiet);
        rs_chakra_report_problems(&b->converted.problems, quiet);
        lost |= rs_problems_worst(&b->linked.problems) == RS_LOSS ||
                rs_problems_worst(&b->converted.problems) == RS_LOSS;
        if (b->status != RS_OK) {
            char name[64];
            snprintf(name, sizeof name, "chakra build: rank %lld",
                     (long long)rs_chakra_pairs_at(job->pairs, i).rank);
            rs_complain_error(name, &b->err);
            failed++;
        }
        nodes += b->converted.nodes;
        comms += b->converted.comm_nodes;
    }
    if (failed == n) return RS_EXIT_INPUT;
    if (groups && rs_output_put(groups, false, NULL, write_groups, job, &err) != RS_OK)
        return rs_complain_error("chakra build", &err);
    if (!quiet)
        rs_complain("%zu of %zu ranks in %s: %llu nodes, %llu of them communication", n - failed, n,
                    job->folder, (unsigned long long)nodes, (unsigned long long)comms);
    return failed || lost ? RS_EXIT_LOSS : RS_EXIT_OK;
}

static int build_pairs(job_build *job)
{
    rs_error err = RS_ERROR_INIT;
    size_t n = rs_chakra_pairs_count(job->pairs);
    size_t jobs = job->link->jobs ? job->link->jobs : rs_system_processors();
    unsigned workers = rs_workers_count(n, jobs);
    job->jobs_each = jobs / workers > 1 ? (unsigned)(jobs / workers) : 1;
    job->ranks = rs_calloc(n + 1, sizeof *job->ranks);
    rs_status status =
        job->ranks ? rs_workers_run(n, jobs, build_rank, job, &err) : rs_fail_nomem(&err, "ranks");
    int code = status == RS_OK ? report_job(job, rs_options_flag(job->options, "quiet"))
                               : rs_complain_error("chakra build", &err);
    if (status == RS_OK) code = check_job(job, code);
    for (size_t i = 0; job->ranks && i < n; i++) {
        rs_chakra_link_report_clear(&job->ranks[i].linked);
        rs_chakra_convert_report_clear(&job->ranks[i].converted);
        rs_free(job->ranks[i].groups);
    }
    rs_free(job->ranks);
    return code;
}

static int build_job(const rs_chakra_link_settings *link, const rs_options *o)
{
    rs_error err = RS_ERROR_INIT;
    rs_problems problems = {0};
    rs_chakra_pairs *pairs;
    const char *folder = rs_options_text(o, "output");
    if (link->rank_set) {
        rs_complain(
            "chakra build: --rank chooses in one device trace; --host and --device are folders: all ranks");
        return RS_EXIT_USAGE;
    }
    if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
        rs_complain("cannot make the directory %s: %s", folder, strerror(errno));
        return RS_EXIT_INPUT;
    }
    rs_status status =
        rs_chakra_pairs_find(link->host, link->device, link->max_ratio, link->jobs, &pairs, &problems, &err);
    bool lost = rs_problems_worst(&problems) == RS_LOSS;
    rs_chakra_report_problems(&problems, rs_options_flag(o, "quiet"));
    rs_problems_clear(&problems);
    if (status != RS_OK) return rs_complain_error("chakra build", &err);
    job_build job = {.link = link, .options = o, .pairs = pairs, .folder = folder};
    int code = build_pairs(&job);
    rs_chakra_pairs_free(pairs);
    return code == RS_EXIT_OK && lost ? RS_EXIT_LOSS : code;
}

static int run_build(const rs_command *command, int argc, char **argv)
{
    rs_arguments arguments;
    rs_chakra_link_settings link;
    int code;
    if (!rs_chakra_start_pair(command, argc, argv, &arguments, &link, &code)) return code;
    const rs_options *o = rs_arguments_of(command, &arguments, "output");
    if (rs_options_flag(o, "check") && strcmp(rs_options_text(o, "output"), "-") == 0) {
        rs_complain(
            "chakra build: --check reads back what was written, which cannot be had of standard output");
        code = RS_EXIT_USAGE;
    } else {
        code = rs_path_is_folder(link.host) || rs_path_is_folder(link.device) ? build_job(&link, o)
                                                                              : build(&link, o);
    }
    rs_arguments_clear(&arguments);
    return code;
}

const rs_command rs_chakra_build_command = {
    .name = "chakra build",
    .help = "Link and convert in one step, one rank or all",
    .usage = "--host ET|DIR --device KINETO|DIR -o FILE.et|DIR [options]",
    .about =
        "Writes the same bytes as `chakra link` and then `chakra convert`, without the file between them.\n\n"
        "Folders hold the traces of a job's ranks: the two of each rank are put together, several ranks at once, "
        "and the folder -o gets chakra.RANK.et for each. A rank is taken from the names of its traces (rank3, "
        "et_3.json), a device trace's also by itself; a device trace may hold several ranks. Both folders may be "
        "one. With --check the ranks are then replayed together, as `chakra check` does.",
    .examples = "rankscope chakra build --host et_0.json.gz --device kineto_0.json.gz -o rank0.et\n"
                "rankscope chakra build --host et/ --device traces/ -o job/ --target astra-sim --comm-groups "
                "job/groups.json",
    .groups = {{.title = "Input", .specs = rs_chakra_pair_specs, .n = RS_CHAKRA_N_PAIR_SPECS},
               {.title = "Output", .specs = specs, .n = sizeof specs / sizeof *specs}},
    .n_groups = 2,
    .run = run_build,
};
