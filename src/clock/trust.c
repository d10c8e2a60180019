/* Clocks for commands that compare ranks. */
#include <string.h>

#include "base/interval.h"
#include "base/memory.h"
#include "base/real.h"
#include "base/search.h"
#include "clock/clocks.h"
#include "clock/collective_clocks.h"
#include "match/collective_wait.h"

rs_clock_how rs_clock_how_of(const char *word)
{
    if (strcmp(word, "file") == 0) return RS_CLOCKS_FILE;
    if (strcmp(word, "likely") == 0) return RS_CLOCKS_LIKELY;
    return strcmp(word, "certain") == 0 ? RS_CLOCKS_CERTAIN : RS_CLOCKS_ENDS;
}

void rs_clock_trust_clear(rs_clock_trust *trust)
{
    rs_free_all(trust->of, trust->pairs);
    *trust = (rs_clock_trust){0};
}

/* The greatest distance from 0 in an interval. */
static int64_t farthest(int64_t low, int64_t high)
{
    if (low < 0) low = rs_sub_sat(0, low);
    if (high < 0) high = rs_sub_sat(0, high);
    return low > high ? low : high;
}

/* INT64_MAX: the two share nothing. */
static int64_t most_of_pair(const rs_clock_trust *trust, size_t one, size_t other)
{
    uint64_t ranks = one < other ? (uint64_t)one << 32 | other : (uint64_t)other << 32 | one;
    size_t low;
    RS_SEARCH(low, trust->n_pairs, trust->pairs[low].ranks < ranks);
    return low < trust->n_pairs && trust->pairs[low].ranks == ranks ? trust->pairs[low].most : INT64_MAX;
}

int64_t rs_clock_trust_between(const rs_clock_trust *trust, size_t one, size_t other)
{
    if (one == other || !trust->of) return 0;
    const rs_clock_doubt *a = &trust->of[one], *b = &trust->of[other];
    if (a->low == RS_NO_TIME || b->low == RS_NO_TIME) return INT64_MAX;
    int64_t most = farthest(rs_sub_sat(b->low, a->high), rs_sub_sat(b->high, a->low));
    int64_t direct = rs_add_sat(most_of_pair(trust, one, other), rs_add_sat(a->drifted, b->drifted));
    return direct < most ? direct : most;
}

/* The half of the job, ns: drift counts from its middle. */
static int64_t half_span(const rs_coll_job *job)
{
    int64_t first = INT64_MAX, last = INT64_MIN;
    for (size_t i = 0; i < job->n_arrivals; i++) {
        int64_t start = rs_coll_start(job, &job->arrivals[i]), end = rs_coll_end(job, &job->arrivals[i]);
        if (start < first) first = start;
        if (end > last) last = end;
    }
    return job->n_arrivals ? rs_sub_sat(last, first) / 2 : 0;
}

/* Sets a clock, and what it may be off by then. */
static void set_clock(rs_coll_job *job, size_t i, const rs_clock *c, rs_clock_how how, int64_t half,
                      rs_clock_trust *trust)
{
    bool certain = how == RS_CLOCKS_CERTAIN;
    int64_t low = certain ? c->certain_low : c->low, high = certain ? c->certain_high : c->high;
    if (c->low == RS_NO_TIME || low == RS_NO_TIME || high == RS_NO_TIME) {
        trust->n_loose++;
        return;
    }
    int64_t ends = rs_sub_sat(job->clocks[i].offset, job->clocks[0].offset);
    int64_t offset = how == RS_CLOCKS_ENDS ? ends
                     : certain             ? rs_add_sat(low, rs_sub_sat(high, low) / 2)
                                           : c->offset;
    int64_t by = rs_sub_sat(offset, ends);
    job->clocks[i].offset = rs_add_sat(job->clocks[i].offset, by);
    job->shift[i] = rs_sub_sat(job->shift[i], by);
    /* drift that the collectives prove; the rest of the interval of drifts is no more than possible */
    double drift = c->drift_assumed    ? 0
                   : c->drift_low > 0  ? c->drift_low
                   : c->drift_high < 0 ? -c->drift_high
                                       : 0;
    int64_t moved = drift < 1e6 ? rs_int_of(drift * 1e-6 * (double)half) : half;
    trust->of[i] = (rs_clock_doubt){rs_sub_sat(rs_sub_sat(low, offset), moved),
                                    rs_add_sat(rs_sub_sat(high, offset), moved), moved};
    trust->n++;
    if (rs_sub_sat(high, low) > trust->width) trust->width = rs_sub_sat(high, low);
}

/* When all clocks are set. */
static bool take_pairs(const rs_coll_job *job, const rs_clocks *clocks, bool certain, rs_clock_trust *trust)
{
    trust->pairs = rs_malloc((clocks->n_pairs + 1) * sizeof *trust->pairs);
    for (size_t i = 0; trust->pairs && i < clocks->n_pairs; i++) {
        const rs_clock_pair *p = &clocks->pairs[i];
        int64_t low = certain ? p->certain_low : p->low, high = certain ? p->certain_high : p->high;
        if (low == RS_NO_TIME || high == RS_NO_TIME) continue;
        int64_t set = rs_sub_sat(job->clocks[p->b].offset, job->clocks[p->a].offset);
        trust->pairs[trust->n_pairs++] = (rs_clock_pair_doubt){
            (uint64_t)p->a << 32 | p->b, farthest(rs_sub_sat(low, set), rs_sub_sat(high, set))};
    }
    return trust->pairs != NULL;
}

static rs_status set_clocks(rs_coll_job *job, rs_clock_how how, rs_clock_trust *trust, rs_error *err)
{
    RS_SCOPED(rs_clocks_clear) rs_clocks clocks = {0};
    rs_status status = rs_clocks_find(job, NULL, &clocks, err);
    int64_t half = half_span(job);
    trust->of = rs_malloc((job->n_ranks + 1) * sizeof *trust->of);
    trust->n_ranks = job->n_ranks;
    if (status == RS_OK && !trust->of) status = rs_fail_nomem(err, "clocks");
    for (size_t i = 0; status == RS_OK && i < job->n_ranks; i++)
        trust->of[i] = i ? (rs_clock_doubt){RS_NO_TIME, RS_NO_TIME, 0} : (rs_clock_doubt){0};
    for (size_t i = 1; status == RS_OK && i < job->n_ranks; i++)
        set_clock(job, i, &clocks.of[i], how, half, trust);
    if (status == RS_OK && !take_pairs(job, &clocks, how == RS_CLOCKS_CERTAIN, trust))
        status = rs_fail_nomem(err, "clocks");
    return status;
}

rs_status rs_clock_match_by(const rs_coll_rank *const *ranks, size_t n_ranks, rs_clock_how how,
                            rs_coll_job *out, rs_clock_trust *trust, rs_error *err)
{
    *trust = (rs_clock_trust){0};
    rs_status status = rs_clock_match(ranks, n_ranks, how != RS_CLOCKS_FILE, out, err);
    if (status != RS_OK || how == RS_CLOCKS_FILE || n_ranks < 2 || !out->n) return status;
    /* what hosts ran tells no common end: clocks are as recorded, unless asked for by name */
    if (how == RS_CLOCKS_ENDS && rs_coll_on_host(out)) return RS_OK;
    status = set_clocks(out, how, trust, err);
    if (status != RS_OK) {
        rs_clock_trust_clear(trust);
        rs_coll_job_clear(out);
    }
    return status;
}
