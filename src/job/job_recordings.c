/* Several recordings of one rank: files of one rank whose times do not overlap, as the profiler writes them
 * when its schedule repeats. They are read one behind the other as one input. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/order.h"
#include "job/job_internal.h"

typedef struct candidate {
    int64_t rank, first, last;
    size_t at; /* among the inputs */
} candidate;

/* By rank, then time. */
static const rs_order by_time[] = {RS_RISING(candidate, rank), RS_RISING(candidate, first),
                                   RS_RISING(candidate, at)};

/* Files of one rank each that know their rank and when they were recorded. */
static size_t find_candidates(const rs_job *job, const rs_input_answer *answers, candidate *out)
{
    size_t n = 0;
    for (size_t i = 0; i < job->n_inputs; i++) {
        const rs_input *input = &job->inputs[i];
        const rs_input_answer *a = &answers[i];
        if (input->role || a->status != RS_OK || a->n_ranks != 1 || a->ranks[0].own_rank == RS_NO_VALUE)
            continue;
        bool once = rs_input_is_stdin(input);
        out[n++] =
            (candidate){a->ranks[0].own_rank, once ? RS_NO_TIME : a->ranks[0].from, a->ranks[0].until, i};
    }
    RS_SORT(out, n, by_time);
    return n;
}

static bool follow_each_other(const candidate *c, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (c[i].first == RS_NO_TIME || (i > 0 && c[i].first < c[i - 1].last)) return false;
    return n > 1;
}

/* The inputs of c become recordings of the first of them, the others are marked as joined. */
static rs_status join(rs_job *job, const candidate *c, size_t n, rs_error *err)
{
    rs_input *first = &job->inputs[c[0].at];
    size_t size = strlen(first->path) + 48;
    char *name = rs_malloc(size);
    rs_input *recordings = rs_calloc(n, sizeof *recordings);
    if (!name || !recordings) {
        rs_free_all(name, recordings);
        return rs_fail_nomem(err, "recordings");
    }
    snprintf(name, size, "%s and %zu more recording%s", first->path, n - 1, n == 2 ? "" : "s");
    for (size_t i = 0; i < n; i++) {
        recordings[i] = job->inputs[c[i].at];
        job->inputs[c[i].at].joined = true;
    }
    *first = (rs_input){.path = name,
                        .recordings = recordings,
                        .n_recordings = n,
                        .given_rank = recordings[0].given_rank,
                        .label_rank = recordings[0].label_rank,
                        .from_directory = recordings[0].from_directory};
    return RS_OK;
}

rs_status rs_inputs_join_recordings(rs_job *job, const rs_input_answer *answers, bool *joined, rs_error *err)
{
    *joined = false;
    RS_LOCAL candidate *all = rs_malloc((job->n_inputs + 1) * sizeof *all);
    if (!all) return rs_fail_nomem(err, "recordings");
    size_t n = find_candidates(job, answers, all);
    rs_status status = RS_OK;
    for (size_t i = 0, end; status == RS_OK && i < n; i = end) {
        for (end = i + 1; end < n && all[end].rank == all[i].rank; end++) {
        }
        if (!follow_each_other(all + i, end - i)) continue;
        /* what is loaded points into the inputs, which move now */
        for (size_t k = 0; !*joined && k < job->n_inputs; k++) rs_input_forget(job, &job->inputs[k]);
        *joined = true;
        status = join(job, all + i, end - i, err);
    }
    size_t kept = 0;
    for (size_t i = 0; i < job->n_inputs; i++)
        if (!job->inputs[i].joined) job->inputs[kept++] = job->inputs[i];
    job->n_inputs = kept;
    return status;
}
