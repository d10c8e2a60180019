/* Linking: both traces are read, matched, and only then is anything written. */
#include "base/settings.h"
#include "base/try.h"
#include "chakra/link.h"

#include "job/job.h"

#define COLUMNS                                                                                              \
    (RS_LINK_COLUMNS | RS_SYNC_COLUMNS | RS_COLUMN_BIT(RECORD_FUNCTION_ID) | RS_COLUMN_BIT(COLLECTIVE) |     \
     RS_COLUMN_BIT(IN_NELEMS) | RS_COLUMN_BIT(OUT_NELEMS) | RS_COLUMN_BIT(DTYPE) |                           \
     RS_COLUMN_BIT(GROUP_SIZE) | RS_COLUMN_BIT(GROUP_NAME) | RS_COLUMN_BIT(GROUP_DESC) |                     \
     RS_COLUMN_BIT(GROUP_RANKS) | RS_COLUMN_BIT(SRC_RANK) | RS_COLUMN_BIT(DST_RANK))

/* ---- the device trace ------------------------------------------------------------------------------- */

static rs_status choose_rank(rs_linker *x, const rs_loaded_file *file, rs_error *err)
{
    const rs_chakra_link_settings *s = x->settings;
    x->n_ranks = file->n;
    if (!s->rank_set && file->n > 1)
        return rs_fail_at(err, RS_ERR_AMBIGUOUS, s->device, RS_NO_OFFSET,
                          "holds %zu ranks (%s): say which with --rank", file->n, file->domain_rule);
    for (size_t i = 0; i < file->n && !x->trace; i++) {
        int64_t rank = file->traces[i].rank;
        /* a single file that does not say its rank is the one that is meant */
        if (!s->rank_set || rank == s->rank || (file->n == 1 && rank == RS_NO_VALUE))
            x->trace = &file->traces[i];
    }
    if (x->trace) {
        x->rank_told = x->trace->rank != RS_NO_VALUE;
        x->rank = x->trace->rank != RS_NO_VALUE ? x->trace->rank : s->rank;
        x->has_rank = (x->trace->rank != RS_NO_VALUE || s->rank_set) && x->rank >= 0;
        return RS_OK;
    }
    if (file->n == 1)
        return rs_fail_at(err, RS_ERR_FORMAT, s->device, RS_NO_OFFSET, "holds rank %lld, not rank %lld",
                          (long long)file->traces[0].rank, (long long)s->rank);
    return rs_fail_at(err, RS_ERR_FORMAT, s->device, RS_NO_OFFSET, "none of its %zu ranks is rank %lld",
                      file->n, (long long)s->rank);
}

static rs_status load_device(rs_linker *x, rs_error *err)
{
    rs_job_settings settings = {
        .size = sizeof(rs_job_settings), .jobs = x->settings->jobs, .max_ratio = x->settings->max_ratio};
    rs_loaded_file file;
    RS_TRY(rs_job_open(&x->settings->device, 1, &settings, &x->job, err));
    if (rs_job_n_files(x->job) != 1)
        return rs_fail_at(err, RS_ERR_USAGE, x->settings->device, RS_NO_OFFSET,
                          "the device trace is one file, not %zu", rs_job_n_files(x->job));
    RS_TRY(rs_job_load_file(x->job, COLUMNS, &file, err));
    rs_problems_move(&x->report->problems, file.problems);
    rs_status status = choose_rank(x, &file, err);
    if (status == RS_OK) x->e = x->trace->events;
    return status;
}

/* ---- all of it -------------------------------------------------------------------------------------- */

static void report_losses(rs_linker *x)
{
    rs_chakra_link_report *r = x->report;
    r->host_nodes = x->et.n_nodes - x->et.n_roots_made;
    r->roots_made = x->et.n_roots_made;
    r->orphans = x->et.n_orphans;
    if (r->linked_by_name)
        rs_problems_add_many(&r->problems, x->settings->device, -1, RS_LOSS, "linked_by_name",
                             "host nodes were linked by name: the device trace has no record function ids, "
                             "and names alone may mistake one operator for another",
                             RS_NO_OFFSET, r->linked_by_name, NULL);
    if (x->n_other_names)
        rs_problems_add_many(
            &r->problems, x->settings->host, -1, RS_LOSS, "other_names",
            "host nodes have the record function id of an operator of another name; they are "
            "not linked, and the two traces may be of another run or rank",
            RS_NO_OFFSET, x->n_other_names, NULL);
    if (r->unlinked_inside)
        rs_problems_add_many(&r->problems, x->settings->host, -1, RS_LOSS, "unlinked_nodes",
                             "host nodes within the traces' common time have no operator in the device trace",
                             RS_NO_OFFSET, r->unlinked_inside, NULL);
    if (r->gpu_lost)
        rs_problems_add_many(&r->problems, x->settings->device, -1, RS_LOSS, "unplaced_gpu_events",
                             "GPU events within the traces' common time have no launch on a linked thread; "
                             "they are left out",
                             RS_NO_OFFSET, r->gpu_lost, NULL);
    uint64_t outside = r->rf_nodes - r->near_nodes;
    if (outside)
        rs_problems_add_many(&r->problems, x->settings->host, -1, RS_NOTE, "nodes_outside",
                             "host nodes before or after the traces' common time have no times", RS_NO_OFFSET,
                             outside, NULL);
    if (r->gpu_outside)
        rs_problems_add_many(&r->problems, x->settings->device, -1, RS_NOTE, "gpu_outside",
                             "GPU events before or after the traces' common time are left out", RS_NO_OFFSET,
                             r->gpu_outside, NULL);
}

static rs_status link_traces(rs_linker *x, rs_error *err)
{
    rs_status status =
        rs_et_load(x->settings->host, x->settings->max_ratio, &x->et, &x->report->problems, err);
    if (status == RS_OK) status = load_device(x, err);
    if (status == RS_OK) status = rs_link_ops(x, err);
    if (status == RS_OK) status = rs_link_threads(x, err);
    if (status == RS_OK) status = rs_link_gpus(x, err);
    if (status == RS_OK) status = rs_link_sync(x, err);
    if (status != RS_OK) return status;
    report_losses(x);
    rs_link_number(x);
    rs_link_explain(x);
    return RS_OK;
}

static void clear(rs_linker *x)
{
    rs_et_clear(&x->et);
    rs_job_close(x->job);
    rs_free_all(x->ops, x->linked, x->thread_first, x->hosts, x->gpus, x->by_parent, x->deps, x->leaders,
                x->inters, x->waits);
}

rs_status rs_chakra_link(const rs_chakra_link_settings *settings, const rs_sink *sink,
                         rs_chakra_link_report *report, rs_error *err)
{
    rs_error local = RS_ERROR_INIT;
    rs_chakra_link_settings own;
    *report = (rs_chakra_link_report){0};
    RS_TAKE_SETTINGS(rs_chakra_link_settings, &own, settings, err);
    rs_linker x = {.settings = &own, .report = report};
    rs_status status = link_traces(&x, err ? err : &local);
    if (status == RS_OK) status = rs_link_write(&x, sink, err);
    clear(&x);
    return status;
}

rs_status rs_chakra_link_nodes(const rs_chakra_link_settings *settings, rs_chakra_linked **out,
                               rs_chakra_link_report *report, rs_error *err)
{
    rs_error local = RS_ERROR_INIT;
    rs_chakra_link_settings own;
    *out = NULL;
    *report = (rs_chakra_link_report){0};
    RS_TAKE_SETTINGS(rs_chakra_link_settings, &own, settings, err);
    rs_linker x = {.settings = &own, .report = report};
    rs_status status = link_traces(&x, err ? err : &local);
    if (status == RS_OK) status = rs_link_nodes(&x, out, err ? err : &local);
    clear(&x);
    return status;
}

void rs_chakra_link_report_clear(rs_chakra_link_report *report)
{
    rs_problems_clear(&report->problems);
    *report = (rs_chakra_link_report){0};
}
