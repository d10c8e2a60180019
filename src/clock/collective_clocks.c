/* Clocks of different ranks, set right by their collectives: one that no rank leaves before all have come
 * ends at one moment, whatever the clocks say. A rank's clock is ahead by the median of what its ends lie
 * after the others'. Ranks are taken breadth first from the lowest, along the groups that they share; a few
 * rounds over all ranks then spread what is left. Send and receive count only for ranks that nothing else
 * ties to the rest. */
#include <string.h>

#include "base/interval.h"
#include "base/stats.h"
#include "clock/collective_clocks.h"

#define ROUNDS 4

typedef struct aligner {
    rs_coll_job *job;
    size_t *first; /* by rank + 1: its arrivals in the two columns that follow, in the job's order */
    int64_t *end;  /* relative to the file's end of the instance's first arrival: small numbers, of which
                           sums cannot overflow; on the clock that the rank had before */
    uint32_t *instance;
    int64_t *moved;   /* by rank: what its clock was set by since */
    uint8_t *tells;   /* by instance: LOOSE, STRICT or neither */
    int64_t *sum;     /* by instance: ends of the ranks that are set */
    uint32_t *n_set;  /* by instance: how many those are */
    int64_t *scratch; /* room for the ends of one rank */
    uint8_t *set;     /* by rank */
    uint32_t *queue;
    uint8_t *queued;
    uint8_t *spread_over; /* by instance: its ranks are queued */
    uint64_t *tied;       /* a bit a rank: it may be tied to one that is set */
    size_t n_tied;        /* bits that are set */
    uint32_t lowest;      /* all ranks below are queued */
} aligner;

/* STRICT: it ends together for all. LOOSE: it is no more than a tie, as send and receive are. What a host ran ends on
 * each rank when it likes. */
enum { LOOSE = 1, STRICT = 2 };

static uint8_t what_tells(const rs_coll_job *job, const rs_coll_instance *c)
{
    const rs_coll_arrival *a = &job->arrivals[c->first];
    if (c->n < 2 || c->mixed || c->on_host) return 0;
    return rs_coll_ends_together(rs_coll_shape_at(job, a)->kind) ? STRICT : LOOSE;
}

/* What the rank's ends are after those of ranks that are set; returns how many tell. */
static size_t distances(const aligner *w, uint32_t rank, uint8_t least)
{
    const int64_t moved = w->moved[rank];
    size_t n = 0;
    for (size_t i = w->first[rank]; i < w->first[rank + 1]; i++) {
        uint32_t c = w->instance[i];
        if (w->tells[c] < least) continue;
        int64_t end = w->end[i] + moved, sum = w->sum[c];
        uint32_t others = w->n_set[c];
        if (w->set[rank]) sum -= end, others--;
        if (others) w->scratch[n++] = end - sum / others;
    }
    return n;
}

static void tie(aligner *w, uint32_t rank)
{
    uint64_t bit = (uint64_t)1 << rank % 64;
    w->n_tied += !(w->tied[rank / 64] & bit);
    w->tied[rank / 64] |= bit;
}

static void untie(aligner *w, uint32_t rank)
{
    uint64_t bit = (uint64_t)1 << rank % 64;
    w->n_tied -= (w->tied[rank / 64] & bit) != 0;
    w->tied[rank / 64] &= ~bit;
}

/* Counts the rank's ends in. The first that is counted of a LOOSE instance ties the others to what is set. */
static void count(aligner *w, uint32_t rank)
{
    for (size_t i = w->first[rank]; i < w->first[rank + 1]; i++) {
        const rs_coll_instance *c = &w->job->instances[w->instance[i]];
        bool first = w->n_set[w->instance[i]]++ == 0;
        w->sum[w->instance[i]] += w->end[i] + w->moved[rank];
        if (!first || w->tells[w->instance[i]] != LOOSE) continue;
        for (size_t k = 0; k < c->n; k++) {
            uint32_t peer = w->job->arrivals[c->first + k].rank;
            if (!w->queued[peer]) tie(w, peer);
        }
    }
    w->set[rank] = 1;
}

static void correct(aligner *w, uint32_t rank, int64_t by)
{
    rs_coll_job *job = w->job;
    job->clocks[rank].offset = rs_add_sat(job->clocks[rank].offset, by);
    job->shift[rank] = rs_sub_sat(job->shift[rank], by);
    w->moved[rank] = rs_sub_sat(w->moved[rank], by);
}

/* The first rank of the part that one of the rank's partners has been set in; the rank itself if none has. */
static uint32_t reference_of(const aligner *w, uint32_t rank, uint8_t least)
{
    const rs_coll_job *job = w->job;
    for (size_t i = w->first[rank]; i < w->first[rank + 1]; i++) {
        const rs_coll_instance *c = &job->instances[w->instance[i]];
        if (w->tells[w->instance[i]] < least || !w->n_set[w->instance[i]]) continue;
        for (size_t k = 0; k < c->n; k++) {
            uint32_t peer = job->arrivals[c->first + k].rank;
            if (w->set[peer]) return job->clocks[peer].reference;
        }
    }
    return rank;
}

/* Puts the rank where its ends say, against ranks that are set. */
static void place(aligner *w, uint32_t rank, uint8_t least)
{
    size_t n = distances(w, rank, least);
    if (n) correct(w, rank, rs_median(w->scratch, n));
    w->job->clocks[rank].reference = reference_of(w, rank, least);
    count(w, rank);
}

static void enqueue_peers(aligner *w, uint32_t rank, size_t *n_queue)
{
    const rs_coll_job *job = w->job;
    for (size_t i = w->first[rank]; i < w->first[rank + 1]; i++) {
        const rs_coll_instance *c = &job->instances[w->instance[i]];
        if (w->spread_over[w->instance[i]] || w->tells[w->instance[i]] < STRICT) continue;
        w->spread_over[w->instance[i]] = 1;
        for (size_t k = 0; k < c->n; k++) {
            uint32_t peer = job->arrivals[c->first + k].rank;
            if (w->queued[peer]) continue;
            w->queued[peer] = 1;
            untie(w, peer);
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
        if (!w->set[rank]) place(w, rank, STRICT);
        enqueue_peers(w, rank, &n_queue);
    }
}

/* The rank from which a part of the job is set: one that send and receive tie to the ranks set before it,
 * else the lowest. UINT32_MAX: all are set. */
static uint32_t next_part(aligner *w)
{
    for (size_t at = 0; w->n_tied && at <= w->job->n_ranks / 64; at++)
        if (w->tied[at]) return (uint32_t)(64 * at) + (uint32_t)__builtin_ctzll(w->tied[at]);
    while (w->lowest < w->job->n_ranks && w->queued[w->lowest]) w->lowest++;
    return w->lowest < w->job->n_ranks ? w->lowest : UINT32_MAX;
}

static void set_all(aligner *w)
{
    for (uint32_t rank; (rank = next_part(w)) != UINT32_MAX;) {
        w->queued[rank] = 1;
        untie(w, rank);
        place(w, rank, LOOSE);
        w->queue[0] = rank;
        spread(w);
    }
}

/* Parts that only send and receive tie together were set from their lowest rank alone; the rounds move single
 * ranks among those that collectives tie together. */
static void settle(aligner *w)
{
    bool moves = true;
    for (unsigned round = 0; moves && round < ROUNDS; round++) {
        moves = false;
        for (uint32_t rank = 1; rank < w->job->n_ranks; rank++) {
            size_t n = distances(w, rank, STRICT);
            int64_t by = n ? rs_median(w->scratch, n) : 0, before = w->moved[rank];
            if (by == 0) continue;
            moves = true;
            correct(w, rank, by);
            for (size_t i = w->first[rank]; i < w->first[rank + 1]; i++)
                w->sum[w->instance[i]] += w->moved[rank] - before;
        }
    }
}

static void judge(aligner *w)
{
    for (uint32_t rank = 0; rank < w->job->n_ranks; rank++) {
        rs_coll_clock *clock = &w->job->clocks[rank];
        size_t n = distances(w, rank, STRICT);
        if (!n) n = distances(w, rank, LOOSE);
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

/* The columns by rank. Ends are looked up rank by rank: its ops lie side by side. */
static bool by_rank(aligner *w)
{
    const rs_coll_job *job = w->job;
    size_t most = 0;
    RS_LOCAL int64_t *reference = rs_malloc((job->n + 1) * sizeof *reference); /* by instance */
    w->first = rs_calloc(job->n_ranks + 2, sizeof *w->first);
    w->end = rs_malloc((job->n_arrivals + 1) * sizeof *w->end);
    w->instance = rs_malloc((job->n_arrivals + 1) * sizeof *w->instance);
    bool ok = reference && w->first && w->end && w->instance;
    for (size_t i = 0; ok && i < job->n; i++) {
        const rs_coll_arrival *a = &job->arrivals[job->instances[i].first];
        reference[i] = job->ranks[a->rank]->ops[a->op].end;
        w->tells[i] = what_tells(job, &job->instances[i]);
    }
    for (size_t i = 0; ok && i < job->n_arrivals; i++) w->first[job->arrivals[i].rank + 2]++;
    for (size_t r = 0; ok && r < job->n_ranks; r++) {
        if (w->first[r + 2] > most) most = w->first[r + 2];
        w->first[r + 2] += w->first[r + 1];
    }
    for (size_t i = 0; ok && i < job->n_arrivals; i++) {
        size_t at = w->first[job->arrivals[i].rank + 1]++;
        w->instance[at] = job->arrivals[i].instance;
        w->end[at] = job->arrivals[i].op;
    }
    for (size_t r = 0; ok && r < job->n_ranks; r++)
        for (size_t i = w->first[r]; i < w->first[r + 1]; i++)
            w->end[i] =
                rs_sub_sat(job->ranks[r]->ops[w->end[i]].end + job->shift[r], reference[w->instance[i]]);
    w->scratch = ok ? rs_malloc((most + 1) * sizeof *w->scratch) : NULL;
    return w->scratch != NULL;
}

static rs_status set_by_ends(rs_coll_job *job, rs_error *err)
{
    aligner w = {.job = job};
    w.sum = rs_calloc(job->n + 1, sizeof *w.sum);
    w.n_set = rs_calloc(job->n + 1, sizeof *w.n_set);
    w.tells = rs_calloc(job->n + 1, 1);
    w.moved = rs_calloc(job->n_ranks + 1, sizeof *w.moved);
    w.set = rs_calloc(job->n_ranks + 1, 1);
    w.queued = rs_calloc(job->n_ranks + 1, 1);
    w.spread_over = rs_calloc(job->n + 1, 1);
    w.queue = rs_malloc((job->n_ranks + 1) * sizeof *w.queue);
    w.tied = rs_calloc(job->n_ranks / 64 + 1, sizeof *w.tied);
    bool ok = w.sum && w.n_set && w.tells && w.moved && w.set && w.queued && w.spread_over && w.queue &&
              w.tied && by_rank(&w);
    if (ok) {
        set_all(&w);
        settle(&w);
        judge(&w);
    }
    rs_free_all(w.first, w.end, w.instance, w.tells, w.moved, w.sum, w.n_set, w.scratch, w.set, w.queue,
                w.queued, w.spread_over, w.tied);
    return ok ? RS_OK : rs_fail_nomem(err, "clocks");
}

rs_status rs_clock_match(const rs_coll_rank *const *ranks, size_t n_ranks, bool align, rs_coll_job *out,
                         rs_error *err)
{
    return rs_coll_match(ranks, n_ranks, align ? set_by_ends : NULL, out, err);
}
