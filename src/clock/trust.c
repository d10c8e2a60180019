/* Clocks for commands that compare ranks. */
#include <string.h>

#include "base/interval.h"
#include "clock/clocks.h"
#include "clock/collective_clocks.h"

rs_clock_how rs_clock_how_of(const char *word)
{
    if (strcmp(word, "file") == 0) return RS_CLOCKS_FILE;
    if (strcmp(word, "likely") == 0) return RS_CLOCKS_LIKELY;
    return strcmp(word, "certain") == 0 ? RS_CLOCKS_CERTAIN : RS_CLOCKS_ENDS;
}

static void set_clock(rs_coll_job *job, size_t i, const rs_clock *c, bool certain, rs_clock_trust *trust)
{
    int64_t low = certain ? c->certain_low : c->low, high = certain ? c->certain_high : c->high;
    if (c->low == RS_NO_TIME || low == RS_NO_TIME || high == RS_NO_TIME) {
        trust->n_loose++;
        return;
    }
    int64_t offset = certain ? rs_add_sat(low, rs_sub_sat(high, low) / 2) : c->offset;
    int64_t by = rs_sub_sat(offset, job->clocks[i].offset);
    job->clocks[i].offset = offset;
    job->shift[i] = rs_sub_sat(job->shift[i], by);
    trust->n++;
    if (rs_sub_sat(high, low) > trust->width) trust->width = rs_sub_sat(high, low);
}

rs_status rs_clock_match_by(const rs_coll_rank *const *ranks, size_t n_ranks, rs_clock_how how,
                            rs_coll_job *out, rs_clock_trust *trust, rs_error *err)
{
    *trust = (rs_clock_trust){0};
    rs_status status = rs_clock_match(ranks, n_ranks, how != RS_CLOCKS_FILE, out, err);
    if (status != RS_OK || how == RS_CLOCKS_FILE || how == RS_CLOCKS_ENDS) return status;
    rs_clocks clocks;
    status = rs_clocks_find(out, RS_CLOCK_END_SKEW, &clocks, err);
    for (size_t i = 1; status == RS_OK && i < n_ranks; i++)
        set_clock(out, i, &clocks.of[i], how == RS_CLOCKS_CERTAIN, trust);
    if (status == RS_OK)
        rs_clocks_clear(&clocks);
    else
        rs_coll_job_clear(out);
    return status;
}
