#include "analysis/collective_notes.h"

#include <string.h>

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
    if (hosts_differ(job))
        rs_result_note(result,
                       "the ranks ran on different hosts, and communication on the host does not tell "
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
        rs_result_note(result, "%zu clocks have no interval: they are set by the ends of collectives alone",
                       trust->n_loose);
}
