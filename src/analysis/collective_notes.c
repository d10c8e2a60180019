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
