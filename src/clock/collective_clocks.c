/* Clocks of different ranks, set right by their collectives: one that no rank leaves before all have come
 * ends at one moment, whatever the clocks say. A rank's clock is ahead by the median of what its ends lie
 * behind the others'. Ranks are taken breadth first from the lowest, along the groups that they share; a few
 * rounds over all ranks then spread what is left. Send and receive count only for ranks that nothing else
 * ties to the rest. */
#include <stdlib.h>
#include <string.h>

#include "base/interval.h"
#include "base/stats.h"
#include "clock/collective_clocks.h"

#define ROUNDS 4

typedef struct aligner {
    rs_coll_job *job;
    size_t *first;    /* by rank + 1: its arrivals in `mine` */
    uint32_t *mine;   /* arrivals by rank */
    int64_t *sum;     /* by instance: ends of the ranks that are set, relative to the instance's first end */
    uint32_t *n_set;  /* by instance: how many those are */
    int64_t *scratch; /* room for the ends of one rank */
    uint8_t *set;     /* by rank */
    uint32_t *queue;
    uint8_t *queued;
    uint8_t *spread_over; /* by instance: its ranks are queued */
} aligner;

static rs_coll_kind kind_of(const rs_coll_job *job, const rs_coll_instance *c)
{
    const rs_coll_arrival *a = &job->arrivals[c->first];
    return job->ranks[a->rank]->ops[a->op].kind;
}

/* strict: only collectives that end together for all. What a host ran ends on each rank when it likes. */
static bool tells(const rs_coll_job *job, const rs_coll_instance *c, bool strict)
{
    return c->n > 1 && !c->mixed && !c->on_host && (!strict || rs_coll_ends_together(kind_of(job, c)));
}

/* The end, on the clock as set so far, relative to the file's end of the instance's first arrival: small
 * numbers, of which sums cannot overflow. */
static int64_t end_of(const rs_coll_job *job, uint32_t arrival)
{
    const rs_coll_arrival *a = &job->arrivals[arrival],
                          *zero = &job->arrivals[job->instances[a->instance].first];
    int64_t reference = job->ranks[zero->rank]->ops[zero->op].end;
    return rs_coll_end(job, a) - reference;
}

/* What the rank's ends lie behind those of ranks that are set; returns how many tell. */
static size_t distances(aligner *w, uint32_t rank, bool strict)
{
    const rs_coll_job *job = w->job;
    size_t n = 0;
    for (size_t i = w->first[rank]; i < w->first[rank + 1]; i++) {
        uint32_t c = job->arrivals[w->mine[i]].instance;
        if (!tells(job, &job->instances[c], strict)) continue;
        int64_t end = end_of(job, w->mine[i]), sum = w->sum[c];
        uint32_t others = w->n_set[c];
        if (w->set[rank]) sum -= end, others--;
        if (others) w->scratch[n++] = end - sum / others;
    }
    return n;
}

/* Counts the rank's ends in, or out again. */
static void count(aligner *w, uint32_t rank, int sign)
{
    const rs_coll_job *job = w->job;
    for (size_t i = w->first[rank]; i < w->first[rank + 1]; i++) {
        uint32_t c = job->arrivals[w->mine[i]].instance;
        w->sum[c] += sign * end_of(job, w->mine[i]);
        w->n_set[c] += (uint32_t)sign;
    }
    w->set[rank] = sign > 0;
}

static void correct(rs_coll_job *job, uint32_t rank, int64_t by)
{
    job->clocks[rank].offset = rs_add_sat(job->clocks[rank].offset, by);
    job->shift[rank] = rs_sub_sat(job->shift[rank], by);
}

/* The first rank of the part that one of the rank's partners has been set in; the rank itself if none has. */
static uint32_t reference_of(const aligner *w, uint32_t rank, bool strict)
{
    const rs_coll_job *job = w->job;
    for (size_t i = w->first[rank]; i < w->first[rank + 1]; i++) {
        const rs_coll_instance *c = &job->instances[job->arrivals[w->mine[i]].instance];
        if (!tells(job, c, strict)) continue;
        for (size_t k = 0; k < c->n; k++) {
            uint32_t peer = job->arrivals[c->first + k].rank;
            if (w->set[peer]) return job->clocks[peer].reference;
        }
    }
    return rank;
}

/* Puts the rank where its ends say, against ranks that are set. */
static void place(aligner *w, uint32_t rank, bool strict)
{
    size_t n = distances(w, rank, strict);
    if (n) correct(w->job, rank, rs_median(w->scratch, n));
    w->job->clocks[rank].reference = reference_of(w, rank, strict);
    count(w, rank, 1);
}

static void enqueue_peers(aligner *w, uint32_t rank, size_t *n_queue)
{
    const rs_coll_job *job = w->job;
    for (size_t i = w->first[rank]; i < w->first[rank + 1]; i++) {
        const rs_coll_instance *c = &job->instances[job->arrivals[w->mine[i]].instance];
        if (w->spread_over[c - job->instances] || !tells(job, c, true)) continue;
        w->spread_over[c - job->instances] = 1;
        for (size_t k = 0; k < c->n; k++) {
            uint32_t peer = job->arrivals[c->first + k].rank;
            if (w->queued[peer]) continue;
            w->queued[peer] = 1;
            w->queue[(*n_queue)++] = peer;
        }
    }
}

/* Sets what collectives tie to the one rank in the queue. */
static void spread(aligner *w)
{
    size_t n_queue = 1;
    for (size_t at = 0; at < n_queue; at++) {
        uint32_t rank = w->queue[at];
        if (!w->set[rank]) place(w, rank, true);
        enqueue_peers(w, rank, &n_queue);
    }
}

/* The rank from which a part of the job is set: one that send and receive tie to the ranks set before it,
 * else the lowest. UINT32_MAX: all are set. */
static uint32_t next_part(aligner *w)
{
    uint32_t lowest = UINT32_MAX;
    for (uint32_t rank = 0; rank < w->job->n_ranks; rank++) {
        if (w->queued[rank]) continue;
        if (distances(w, rank, false)) return rank;
        if (lowest == UINT32_MAX) lowest = rank;
    }
    return lowest;
}

static void set_all(aligner *w)
{
    for (uint32_t rank; (rank = next_part(w)) != UINT32_MAX;) {
        place(w, rank, false);
        w->queued[rank] = 1;
        w->queue[0] = rank;
        spread(w);
    }
}

/* Parts that only send and receive tie together were set from their lowest rank alone; the rounds move single
 * ranks among those that collectives tie together. */
static void settle(aligner *w)
{
    for (unsigned round = 0; round < ROUNDS; round++)
        for (uint32_t rank = 1; rank < w->job->n_ranks; rank++) {
            size_t n = distances(w, rank, true);
            if (!n) continue;
            int64_t by = rs_median(w->scratch, n);
            if (by == 0) continue;
            count(w, rank, -1);
            correct(w->job, rank, by);
            count(w, rank, 1);
        }
}

static void judge(aligner *w)
{
    for (uint32_t rank = 0; rank < w->job->n_ranks; rank++) {
        rs_coll_clock *clock = &w->job->clocks[rank];
        size_t n = distances(w, rank, true);
        if (!n) n = distances(w, rank, false);
        clock->n = n;
        clock->worst = 0;
        clock->aligned = n > 0;
        if (!n) continue;
        for (size_t i = 0; i < n; i++) {
            if (w->scratch[i] < 0) w->scratch[i] = -w->scratch[i];
            if (w->scratch[i] > clock->worst) clock->worst = w->scratch[i];
        }
        clock->residual = rs_median(w->scratch, n);
    }
}

static bool by_rank(aligner *w)
{
    const rs_coll_job *job = w->job;
    size_t most = 0;
    w->first = rs_calloc(job->n_ranks + 2, sizeof *w->first);
    w->mine = rs_malloc((job->n_arrivals + 1) * sizeof *w->mine);
    if (!w->first || !w->mine) return false;
    for (size_t i = 0; i < job->n_arrivals; i++) w->first[job->arrivals[i].rank + 2]++;
    for (size_t r = 0; r < job->n_ranks; r++) {
        if (w->first[r + 2] > most) most = w->first[r + 2];
        w->first[r + 2] += w->first[r + 1];
    }
    for (size_t i = 0; i < job->n_arrivals; i++) w->mine[w->first[job->arrivals[i].rank + 1]++] = (uint32_t)i;
    w->scratch = rs_malloc((most + 1) * sizeof *w->scratch);
    return w->scratch != NULL;
}

static rs_status set_by_ends(rs_coll_job *job, rs_error *err)
{
    aligner w = {.job = job};
    w.sum = rs_calloc(job->n + 1, sizeof *w.sum);
    w.n_set = rs_calloc(job->n + 1, sizeof *w.n_set);
    w.set = rs_calloc(job->n_ranks + 1, 1);
    w.queued = rs_calloc(job->n_ranks + 1, 1);
    w.spread_over = rs_calloc(job->n + 1, 1);
    w.queue = rs_malloc((job->n_ranks + 1) * sizeof *w.queue);
    bool ok = w.sum && w.n_set && w.set && w.queued && w.spread_over && w.queue && by_rank(&w);
    if (ok) {
        set_all(&w);
        settle(&w);
        judge(&w);
    }
    rs_free(w.first);
    rs_free(w.mine);
    rs_free(w.sum);
    rs_free(w.n_set);
    rs_free(w.scratch);
    rs_free(w.set);
    rs_free(w.queue);
    rs_free(w.queued);
    rs_free(w.spread_over);
    return ok ? RS_OK : rs_fail_nomem(err, "clocks");
}

rs_status rs_clock_match(const rs_coll_rank *const *ranks, size_t n_ranks, bool align, rs_coll_job *out,
                         rs_error *err)
{
    return rs_coll_match(ranks, n_ranks, align ? set_by_ends : NULL, out, err);
}
