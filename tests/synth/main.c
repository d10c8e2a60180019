/* rankscope-synth: the two passes that write the files. */
#include "truth.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

static bool writes(const job *j, int rank)
{
    return j->opt.only_rank < 0 || j->opt.only_rank == rank;
}

/* The steps that make every file as large as asked for, from the text of the first two. */
static void choose_steps(job *j)
{
    sim_reset(j, 1);
    j->last_step = -1;
    for (int i = 0; i < j->ranks; i++)
        if (writes(j, i)) emit_open(j, &j->rank[i], NULL, true);
    for (int s = 0; s < 2; s++) {
        sim_step(j);
        for (int i = 0; i < j->ranks; i++)
            if (writes(j, i)) emit_step(j, &j->rank[i]);
    }
    int64_t least = INT64_MAX;
    for (int i = 0; i < j->ranks; i++) {
        if (!writes(j, i)) continue;
        emit_close(&j->rank[i]);
        if ((int64_t)j->rank[i].out.bytes / 2 < least) least = (int64_t)j->rank[i].out.bytes / 2;
    }
    j->opt.steps = j->opt.size / (least - least / 100) + 1;
}

static void write_files(job *j)
{
    char path[4096];
    for (int i = 0; i < j->ranks; i++) {
        if (!writes(j, i)) continue;
        if (snprintf(path, sizeof path, "%s/rank%d.json", j->opt.directory, i) >= (int)sizeof path)
            fail("%s: the name is too long", j->opt.directory);
        emit_open(j, &j->rank[i], path, false);
        emit_header(j, &j->rank[i]);
        if (j->opt.execution) execution_open(j, &j->rank[i]);
    }
    for (int pass = 0; pass < 2; pass++) {
        sim_reset(j, pass);
        j->last_step = j->opt.steps - 1;
        for (int64_t s = 0; s < j->opt.steps; s++) {
            sim_step(j);
            for (int i = 0; i < j->ranks; i++)
                if (writes(j, i)) emit_step(j, &j->rank[i]);
        }
    }
    for (int i = 0; i < j->ranks; i++) {
        if (!writes(j, i)) continue;
        emit_footer(j, &j->rank[i]);
        emit_close(&j->rank[i]);
        execution_close(j, &j->rank[i]);
        if ((int64_t)j->rank[i].out.bytes < j->opt.size)
            fail("rank%d.json has %llu bytes, fewer than asked for", i,
                 (unsigned long long)j->rank[i].out.bytes);
    }
}

int main(int count, char **words)
{
    static job j;
    options_read(&j, count, words);
    if (mkdir(j.opt.directory, 0777) && errno != EEXIST) fail("%s: %s", j.opt.directory, strerror(errno));
    struct rlimit files;
    if (!getrlimit(RLIMIT_NOFILE, &files)) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    if (j.opt.hang >= 0 || j.opt.leak >= 0) {
        dumps_write(&j);
        options_free(&j.opt);
        return 0;
    }
    model_build(&j);
    if (j.opt.size) choose_steps(&j);
    if (!j.opt.no_truth) truth_create(&j);
    write_files(&j);
    if (!j.opt.no_truth) {
        char path[4096];
        snprintf(path, sizeof path, "%s/truth.json", j.opt.directory);
        truth_write(&j, j.opt.truth_path ? j.opt.truth_path : path);
    }
    truth_free(&j);
    model_free(&j);
    options_free(&j.opt);
    return 0;
}
