/* rankscope store list|build|verify|drop: what is kept of traces already read. */
#include <string.h>

#include "base/suggest.h"
#include "base/try.h"
#include "cli/cli.h"
#include "rankscope/store.h"

enum { LIST, VERIFY, DROP, BUILD, N_TASKS };
static const char *const words[N_TASKS] = {"list", "verify", "drop", "build"};

static int task_of(const rs_request *r)
{
    for (int i = 0; r->arguments.n_paths && i < N_TASKS; i++)
        if (strcmp(r->arguments.paths[0], words[i]) == 0) return i;
    return N_TASKS;
}

static rs_status choose(rs_request *r, rs_error *err)
{
    (void)err;
    r->tables = rs_store_tables;
    r->n_tables = 1;
    return RS_OK;
}

static rs_status check(rs_request *r, rs_error *err)
{
    rs_suggestion nearest = {0};
    int task = task_of(r);
    r->job.store_from = 0; /* whoever says it by name means files of any size */
    if (r->arguments.n_paths == 0)
        return rs_fail(err, RS_ERR_USAGE, "do what? rankscope store list|build|verify|drop [PATH...]");
    if (task == N_TASKS) {
        for (int i = 0; i < N_TASKS; i++) rs_suggest_from(&nearest, r->arguments.paths[0], words[i]);
        return nearest.best
                   ? rs_fail(err, RS_ERR_USAGE, "there is no \"%.60s\"; did you mean %s?",
                             r->arguments.paths[0], nearest.best)
                   : rs_fail(err, RS_ERR_USAGE, "there is no \"%.60s\"; there is list, build, verify, drop",
                             r->arguments.paths[0]);
    }
    if (!r->job.store || r->job.no_store)
        return rs_fail(err, RS_ERR_USAGE, "there is no store: give --store DIR, or set RANKSCOPE_CACHE");
    if (task == BUILD && r->arguments.n_paths < 2)
        return rs_fail(err, RS_ERR_USAGE, "of which traces? rankscope store build PATH...");
    return RS_OK;
}

static rs_status build(rs_request *r, rs_result *result, rs_error *err)
{
    rs_job *job;
    r->job.store_optional = false;
    RS_TRY(rs_request_open(r, r->arguments.paths + 1, r->arguments.n_paths - 1, &job, err));
    rs_status status = rs_job_build_store(job, result, err);
    rs_request_close(r, job);
    if (status != RS_OK) return status;
    return rs_store_do(r->job.store, RS_STORE_LIST, r->arguments.paths + 1, r->arguments.n_paths - 1, result,
                       err);
}

static rs_status body(rs_request *r, rs_result *result, rs_error *err)
{
    static const rs_store_task tasks[N_TASKS] = {RS_STORE_LIST, RS_STORE_VERIFY, RS_STORE_DROP};
    int task = task_of(r);
    if (task >= BUILD) return build(r, result, err);
    return rs_store_do(r->job.store, tasks[task], r->arguments.paths + 1, r->arguments.n_paths - 1, result,
                       err);
}

const rs_command rs_command_store = {
    .name = "store",
    .group = "Setup",
    .help = "What is kept of traces already read: list, build, verify, drop",
    .usage = "list|build|verify|drop [options] [PATH...]",
    .about =
        "Commands keep what they computed of a trace, so that the same question, or another one to the same trace, "
        "does not read it again: in --store DIR, else in the folder of RANKSCOPE_CACHE, else in the user's cache, "
        "where only inputs of 64 MiB and more are kept. The folder holds 5 GiB, or what RANKSCOPE_CACHE_SIZE says; "
        "what was used longest ago goes first.\n\n"
        "list: the entries, and which are stale. build: reads traces of any size with all known arguments, so that no "
        "question reads them again, and asks for the verdict that most commands begin with. verify: reads every entry and removes what is damaged, stale or made by another "
        "program; lists those. drop: removes all entries.\n\n"
        "With PATH, list and drop look only at what is of these files, or of files in these folders. "
        "Output is the same with a store and without one.",
    .examples = "rankscope store list\n"
                "rankscope store build traces/\n"
                "rankscope store drop traces/rank0.json.gz\n"
                "rankscope store verify --store kept/",
    .arguments = "list|build|verify|drop",
    .groups = {{.base = &rs_input_options,
                .without = "compat|steps|window|ranks|absolute|include-last-step|renumber|single-rank"},
               {.base = &rs_output_options}},
    .n_groups = 2,
    .choose = choose,
    .check = check,
    .body = body,
};
