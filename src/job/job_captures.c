/* --captures: traces of the capture of graphs, read once for all ranks of a job. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/try.h"
#include "format/format.h"
#include "job/job_internal.h"
#include "trace/graft.h"

struct rs_job_captures {
    pthread_mutex_t lock; /* held while they are read */
    bool read;
    rs_status status;
    rs_error error;
    rs_job *files; /* the inputs, whose paths the captures borrow */
    rs_captures list;
};

rs_status rs_job_captures_open(rs_job *job, rs_error *err)
{
    if (!job->settings.captures) return RS_OK;
    job->captures = rs_calloc(1, sizeof *job->captures);
    if (!job->captures) return rs_fail_nomem(err, "captures");
    pthread_mutex_init(&job->captures->lock, NULL);
    return RS_OK;
}

void rs_job_captures_free(struct rs_job_captures *c)
{
    if (!c) return;
    rs_captures_clear(&c->list);
    rs_job_close(c->files);
    pthread_mutex_destroy(&c->lock);
    rs_free(c);
}

/* ---- reading -------------------------------------------------------------------------------------------- */

static rs_status read_file(rs_job *files, rs_input *input, rs_captures *into, rs_error *err)
{
    const rs_job_settings *s = &files->settings;
    const rs_load_settings settings = {.columns = RS_ALL_COLUMNS,
                                       .max_memory = s->max_memory,
                                       .max_string = s->max_string,
                                       .max_depth = s->max_depth,
                                       .threads = s->jobs,
                                       .simd = s->simd};
    rs_source *source;
    rs_events *events = NULL;
    RS_TRY(rs_input_open(files, input, &source, err));
    rs_trace_input in = {input->path, NULL, 0, NULL, source};
    rs_status status = rs_trace_load(&in, &settings, &events, err);
    rs_source_close(source);
    if (status != RS_OK) return status;
    int64_t rank = events->info.rank;
    if (rank == RS_NO_VALUE || rank < 0) rank = rs_rank_in_name(input->path);
    status = rs_captures_add(into, events, input->path, rank, err);
    rs_events_free(events);
    return status;
}

/* Files of a folder that are no traces are none of a capture either. */
static rs_status read_files(rs_job *files, rs_captures *into, rs_error *err)
{
    rs_status status = RS_OK;
    for (size_t i = 0; status == RS_OK && i < files->n_inputs; i++) {
        rs_input *input = &files->inputs[i];
        rs_error one = RS_ERROR_INIT;
        if (input->n_parts) continue; /* another profiler's */
        status = read_file(files, input, into, &one);
        if (status == RS_ERR_FORMAT && input->from_directory) status = RS_OK;
        if (status != RS_OK && err) *err = one;
    }
    return status;
}

static rs_status read_captures(rs_job *job, struct rs_job_captures *c, rs_error *err)
{
    const char *path = job->settings.captures;
    rs_job_settings settings = {.size = sizeof(rs_job_settings),
                                .jobs = job->settings.jobs,
                                .max_memory = job->settings.max_memory,
                                .max_ratio = job->settings.max_ratio,
                                .max_string = job->settings.max_string,
                                .max_depth = job->settings.max_depth,
                                .simd = job->settings.simd};
    rs_status status = rs_job_open(&path, 1, &settings, &c->files, err);
    if (status == RS_OK) status = read_files(c->files, &c->list, err);
    if (status == RS_OK && !c->list.n)
        return rs_fail_at(err, RS_ERR_FORMAT, path, RS_NO_OFFSET,
                          "holds no capture of a graph: no trace in which calls were recorded between "
                          "cudaStreamBeginCapture or hipStreamBeginCapture and its end");
    if (status != RS_OK) rs_error_wrap(err, "--captures");
    return status;
}

static rs_status captures_of(rs_job *job, const rs_captures **out, rs_error *err)
{
    struct rs_job_captures *c = job->captures;
    pthread_mutex_lock(&c->lock);
    if (!c->read) {
        c->error = (rs_error)RS_ERROR_INIT;
        c->status = read_captures(job, c, &c->error);
        c->read = true;
    }
    pthread_mutex_unlock(&c->lock);
    if (c->status != RS_OK && err) *err = c->error;
    *out = &c->list;
    return c->status;
}

/* ---- one input ------------------------------------------------------------------------------------------ */

static rs_status plan(rs_input *input, const rs_captures *captures, rs_graft *grafts, rs_error *err)
{
    for (size_t i = 0; i < input->n_traces; i++) {
        const char *rule;
        int64_t rank = rs_input_rank(input, &input->traces[i], &rule);
        RS_TRY(rs_graft_plan(&input->traces[i], captures, rank, &grafts[i], err));
    }
    return RS_OK;
}

/* What all ranks of a file come to. None of many launches: the captures are not of this job. */
static rs_status tell(rs_job *job, rs_input *input, const rs_graft *grafts, rs_error *err)
{
    rs_graft sum = {0};
    for (size_t i = 0; i < input->n_traces; i++) {
        const rs_graft *g = &grafts[i];
        sum.n += g->n;
        sum.n_launches += g->n_launches;
        sum.n_work += g->n_work;
        sum.n_placed += g->n_placed;
        sum.n_by_order += g->n_by_order;
        if (!*sum.reason) memcpy(sum.reason, g->reason, sizeof sum.reason);
    }
    char text[sizeof sum.reason + 160];
    if (sum.n_launches && !sum.n)
        return rs_fail_at(err, RS_ERR_FORMAT, input->path, RS_NO_OFFSET,
                          "none of its %zu replayed graphs fits --captures %.100s: %s", sum.n_launches,
                          job->settings.captures, sum.reason);
    if (!sum.n_launches) {
        rs_problems_add_many(
            &input->problems, input->path, -1, RS_NOTE, "no_graphs",
            "no graph is replayed in it, or no work of one recorded: --captures adds nothing", RS_NO_OFFSET,
            1, NULL);
        return RS_OK;
    }
    int n = snprintf(text, sizeof text, "%zu of %zu replayed graphs, %zu of %zu pieces of work", sum.n,
                     sum.n_launches, sum.n_placed, sum.n_work);
    if (sum.n_by_order && n > 0 && (size_t)n < sizeof text)
        snprintf(text + n, sizeof text - (size_t)n,
                 ", %zu of them by order alone, as the capture names no kernels", sum.n_by_order);
    rs_problems_add_many(&input->problems, input->path, -1, RS_NOTE, "graph_operators",
                         "the work of replayed graphs has the operators of its capture", RS_NO_OFFSET, sum.n,
                         text);
    if (sum.n < sum.n_launches)
        rs_problems_add_many(&input->problems, input->path, -1, RS_WARNING, "graph_without_capture",
                             "the work of a replayed graph stays without operators: no capture fits",
                             RS_NO_OFFSET, sum.n_launches - sum.n, sum.reason);
    return RS_OK;
}

rs_status rs_input_graft(rs_job *job, rs_input *input, bool *changed, rs_error *err)
{
    const rs_captures *captures;
    *changed = false;
    if (input->n_recordings)
        return rs_fail_at(err, RS_ERR_USAGE, input->path, RS_NO_OFFSET,
                          "--captures takes one recording a rank: give the file that replays the graphs");
    if (input->events->n_documents > 1)
        return rs_fail_at(err, RS_ERR_USAGE, input->path, RS_NO_OFFSET,
                          "--captures takes files of one document: this one holds %zu",
                          input->events->n_documents);
    RS_TRY(captures_of(job, &captures, err));
    size_t n = input->n_traces, n_items = 0;
    RS_LOCAL rs_graft *grafts = rs_calloc(n + 1, sizeof *grafts);
    if (!grafts) return rs_fail_nomem(err, "captures");
    rs_status status = plan(input, captures, grafts, err);
    if (status == RS_OK) status = tell(job, input, grafts, err);
    for (size_t i = 0; i < n; i++) n_items += grafts[i].n;
    if (status == RS_OK && n_items) {
        *changed = true;
        status = rs_graft_apply(input->events, captures, grafts, n, err);
    }
    for (size_t i = 0; i < n; i++) rs_graft_clear(&grafts[i]);
    return status;
}
