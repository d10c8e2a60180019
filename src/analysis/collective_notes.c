#include "analysis/collective_notes.h"

#include <string.h>

#include "base/memory.h"
#include "base/real.h"
#include "match/group_table.h"

void rs_coll_ranks_clear(rs_coll_ranks *r)
{
    for (size_t i = 0; r->named && i < r->n; i++) rs_coll_rank_free(r->named[i]);
    rs_free_all(r->named, r->of, r->ranks);
    *r = (rs_coll_ranks){0};
}

/* Names what the hosts ran by the records at a path. */
static rs_status name_ranks(const rs_group_source *source, const char *path, rs_coll_ranks *r,
                            rs_result *result, rs_error *err)
{
    RS_SCOPED(rs_group_table_clear) rs_group_table table = {0};
    size_t n = 0;
    r->named = rs_calloc(r->n + 1, sizeof *r->named);
    rs_status status =
        r->named ? source->read(path, &table, &result->problems, err) : rs_fail_nomem(err, "collectives");
    if (status == RS_OK) rs_group_table_sort(&table);
    for (size_t i = 0; status == RS_OK && i < r->n; i++) {
        const rs_coll_rank *rank = r->ranks[i];
        if (!rank->on_host || rank->base_time_ns == RS_NO_VALUE) continue;
        status = rs_coll_rank_name(rank, r->of[i]->rank, &table, &r->named[i], &n, err);
        r->ranks[i] = r->named[i];
    }
    if (status == RS_OK && n == 0)
        rs_result_note(result,
                       "--%s: no entry of %s was created while a traced operation of the host was submitted: "
                       "process groups are those that the traces name",
                       source->option, path);
    return status;
}

rs_status rs_coll_ranks_of(const rs_run *run, const rs_partial *partials, size_t n, rs_coll_ranks *out,
                           rs_result *result, rs_error *err)
{
    *out = (rs_coll_ranks){.of = rs_malloc((n + 1) * sizeof *out->of),
                           .ranks = rs_malloc((n + 1) * sizeof *out->ranks)};
    if (!out->of || !out->ranks) return rs_fail_nomem(err, "collectives");
    for (size_t i = 0; i < n; i++) {
        if (!partials[i].value) continue;
        out->of[out->n] = &partials[i];
        out->ranks[out->n++] = partials[i].value;
    }
    rs_status status = RS_OK;
    for (const rs_group_source *const *row = rs_group_source_rows; status == RS_OK && *row; row++) {
        const char *path = rs_options_text(run->options, (*row)->option);
        if (path) status = name_ranks(*row, path, out, result, err);
        if (status != RS_OK) rs_error_wrap(err, "--%s", (*row)->option);
    }
    return status;
}

/* Whether two ranks name different hosts. */
static bool hosts_differ(const rs_coll_job *job)
{
    const char *first = NULL;
    for (size_t i = 0; i < job->n_ranks; i++) {
        const rs_coll_rank *r = job->ranks[i];
        const char *host = rs_pool_text(&r->pool, r->host);
        if (!r->on_host || !r->n || !host) continue;
        if (first && strcmp(first, host) != 0) return true;
        first = host;
    }
    return false;
}

void rs_coll_note_host(const rs_coll_job *job, rs_result *result)
{
    size_t groupless = 0;
    for (size_t i = 0; i < job->n_ranks; i++)
        if (job->ranks[i]->many_groups) groupless += job->ranks[i]->n_nameless;
    if (groupless)
        rs_result_note(result,
                       "%zu operations belong to one of several process groups, and the traces do not say to "
                       "which: they are matched with nothing",
                       groupless);
    if (job->n_inferred)
        rs_result_note(
            result,
            "sends and receives do not say whom they met: %zu pairs were inferred from what repeats in each "
            "step; recording shapes (record_shapes=True) or --flight gives it",
            job->n_inferred);
    if (hosts_differ(job))
        rs_result_note(result,
                       "the ranks ran on different hosts, and communication on the host does not show "
                       "how far their clocks are apart: times of different hosts are as recorded");
}

void rs_coll_note_trust(const rs_clock_trust *trust, rs_result *result)
{
    if (trust->n)
        rs_result_note(
            result,
            "clocks are known to within %lld us (the widest of %zu intervals): see the command clocks; "
            "shorter distances between ranks mean nothing",
            (long long)(trust->width / 2000 + 1), trust->n);
    if (trust->n_loose)
        rs_result_note(
            result, "%zu clocks have no interval (see the command clocks): nothing shows how wrong they are",
            trust->n_loose);
}

void rs_coll_note_uncertain(int64_t uncertain, int64_t waited, bool strict, rs_result *result)
{
    if (waited <= 0 || uncertain <= waited / 2) return;
    rs_result_note(result, "%d %% of the waiting is shorter than the clocks are sure (column uncertain)%s",
                   (int)rs_int_of(100.0 * (double)uncertain / (double)waited),
                   strict ? ": no rank is called late" : "");
}
