#include "sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EPOCH INT64_C(1760000000000000000)

const char *sim_fault_name(sim_fault fault)
{
    static const char *const names[] = {"none",      "host_stop", "crash",         "type",
                                        "size",      "dtype",     "gpu_block",     "network",
                                        "half_done", "p2p_size",  "p2p_deadlock",  "cross_order",
                                        "straggler", "two_stops", "stop_and_stall"};
    return fault < SIM_ALL_FAULTS ? names[fault] : "?";
}

const char *sim_shape_name(sim_shape shape)
{
    static const char *const names[] = {"as drawn", "full", "ring", "active", "hook", "issue_only"};
    return names[shape];
}

uint64_t sim_random(sim_job *job)
{
    uint64_t x = job->rng += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static unsigned below(sim_job *job, unsigned n)
{
    return (unsigned)(sim_random(job) % n);
}

/* ---- groups -------------------------------------------------------------------------------------------- */

static unsigned rank_at(const sim_job *job, unsigned d, unsigned p, unsigned t)
{
    return (d * job->pp + p) * job->tp + t;
}

static bool add_group(sim_job *job, const char *desc, const unsigned *ranks, unsigned n, unsigned family)
{
    sim_group *g = &job->groups[job->n_groups];
    g->ranks = malloc(n * sizeof *g->ranks);
    if (!g->ranks) return false;
    memcpy(g->ranks, ranks, n * sizeof *ranks);
    g->n = n;
    snprintf(g->desc, sizeof g->desc, "%s", desc);
    /* split_group gives one name to disjoint groups */
    snprintf(g->uid, sizeof g->uid, "%u", job->shared_uids && family ? family : job->n_groups);
    g->timeout_ms = 600000;
    if (job->s.unkind) {
        g->timeout_ms = below(job, 2) ? 180000 : 600000;
        g->seq_base = 10000 + below(job, 90000);
        g->op_base = below(job, 5000);
        if (job->hashed && family)
            snprintf(g->uid, sizeof g->uid, "%016llx", (unsigned long long)(sim_random(job)));
    }
    g->at = malloc(n * sizeof *g->at);
    if (!g->at) return false;
    for (unsigned i = 0; i < n; i++) g->at[i] = SIZE_MAX;
    for (unsigned i = 0; i < n; i++) {
        sim_rank *r = &job->ranks[ranks[i]];
        r->groups[r->n_groups++] = job->n_groups;
    }
    job->n_groups++;
    return true;
}

enum { WORLD, TP, PP, DP };

static bool make_groups(sim_job *job)
{
    unsigned *list = malloc(job->world * sizeof *list);
    job->groups = calloc(1 + (size_t)job->world * 3, sizeof *job->groups);
    bool good = list && job->groups;
    for (unsigned i = 0; good && i < job->world; i++) list[i] = i;
    good = good && add_group(job, "default_pg", list, job->world, 0);
    for (unsigned d = 0; good && d < job->dp; d++)
        for (unsigned p = 0; good && p < job->pp; p++) {
            for (unsigned t = 0; t < job->tp; t++) list[t] = rank_at(job, d, p, t);
            good = add_group(job, "mesh_tp", list, job->tp, 1);
        }
    for (unsigned d = 0; good && d < job->dp; d++)
        for (unsigned t = 0; good && t < job->tp; t++) {
            for (unsigned p = 0; p < job->pp; p++) list[p] = rank_at(job, d, p, t);
            good = add_group(job, "mesh_pp", list, job->pp, 2);
        }
    for (unsigned p = 0; good && p < job->pp; p++)
        for (unsigned t = 0; good && t < job->tp; t++) {
            for (unsigned d = 0; d < job->dp; d++) list[d] = rank_at(job, d, p, t);
            good = add_group(job, "mesh_dp", list, job->dp, 3);
        }
    free(list);
    return good;
}

/* ---- the program --------------------------------------------------------------------------------------- */

static sim_op *push(sim_job *job, unsigned rank, uint8_t kind, uint32_t group, uint32_t numel, uint8_t dtype,
                    uint32_t place)
{
    sim_rank *r = &job->ranks[rank];
    if (r->n == r->capacity) {
        size_t wanted = r->capacity ? r->capacity * 2 : 256;
        sim_op *grown = realloc(r->ops, wanted * sizeof *grown);
        if (!grown) return NULL;
        r->ops = grown;
        r->capacity = wanted;
    }
    r->ops[r->n] = (sim_op){
        .kind = kind, .group = group, .numel = numel, .dtype = dtype, .place = place, .src = -1, .dst = -1};
    return &r->ops[r->n++];
}

static bool everyone(sim_job *job, int dim, uint8_t kind, uint32_t numel, uint8_t dtype, uint32_t place)
{
    for (unsigned r = 0; r < job->world; r++) {
        uint32_t g = job->ranks[r].groups[dim];
        if (job->groups[g].n > 1 && !push(job, r, kind, g, numel, dtype, place)) return false;
    }
    return true;
}

/* Several collectives and an end mark under one number. */
static bool coalesced(sim_job *job, int dim, uint8_t kind, uint32_t numel, unsigned n, uint32_t place)
{
    for (unsigned r = 0; r < job->world; r++) {
        uint32_t g = job->ranks[r].groups[dim];
        if (job->groups[g].n < 2) continue;
        for (unsigned i = 0; i <= n; i++) {
            sim_op *op = push(job, r, i == n ? SIM_MARK : kind, g, i == n ? 0 : numel * (i + 1), 0, place);
            if (!op) return false;
            op->more = i < n;
        }
    }
    return true;
}

static bool p2p(sim_job *job, unsigned rank, bool send, unsigned peer_stage, uint32_t numel, bool batch,
                bool last, uint32_t place)
{
    sim_rank *r = &job->ranks[rank];
    unsigned stage = rank / job->tp % job->pp;
    sim_op *op = push(job, rank, send ? SIM_SEND : SIM_RECV, r->groups[PP], numel, 1, place);
    if (!op) return false;
    op->p2p = true;
    op->src = (int16_t)(send ? stage : peer_stage);
    op->dst = (int16_t)(send ? peer_stage : stage);
    op->more = batch;
    if (!batch || !last) return true;
    op = push(job, rank, SIM_MARK, r->groups[PP], 0, 0, place);
    if (op) op->p2p = true;
    return op != NULL;
}

/* Activations go down the pipeline (or gradients up): chain or ring, alone or in batches. */
static bool pipeline(sim_job *job, bool forward, bool ring, bool batch, uint32_t numel, uint32_t place)
{
    if (job->pp < 2) return true;
    for (unsigned r = 0; r < job->world; r++) {
        unsigned stage = r / job->tp % job->pp, last = job->pp - 1;
        unsigned from = forward ? (stage + last) % job->pp : (stage + 1) % job->pp;
        unsigned to = forward ? (stage + 1) % job->pp : (stage + last) % job->pp;
        bool takes = ring || (forward ? stage > 0 : stage < last),
             gives = ring || (forward ? stage < last : stage > 0);
        if (takes && !p2p(job, r, false, from, numel, batch, !gives, place)) return false;
        if (gives && !p2p(job, r, true, to, numel, batch, true, place)) return false;
    }
    return true;
}

static bool make_program(sim_job *job)
{
    unsigned steps = job->s.steps ? job->s.steps : 2 + below(job, 5),
             layers = job->s.layers ? job->s.layers : 1 + below(job, 5);
    unsigned micro = 1 + below(job, 3);
    bool ring = below(job, 3) == 0, batch = ring || below(job, 2), sharded = below(job, 2),
         experts = below(job, 3) == 0;
    bool sequence = below(job, 3) == 0, joined = below(job, 4) == 0;
    uint32_t hidden = 64u << below(job, 5), gradient = 1024u << below(job, 4);
    for (unsigned step = 0; step < steps; step++) {
        if (sharded && !everyone(job, DP, SIM_ALL_GATHER, gradient, 1, 1)) return false;
        for (unsigned m = 0; m < micro; m++) {
            if (!pipeline(job, true, ring, batch, hidden * 4, 2)) return false;
            for (unsigned l = 0; l < layers; l++) {
                bool good = sequence ? everyone(job, TP, SIM_ALL_GATHER, hidden, 1, 3) &&
                                           everyone(job, TP, SIM_REDUCE_SCATTER, hidden, 1, 4)
                                     : everyone(job, TP, SIM_ALL_REDUCE, hidden + l, 1, 5);
                if (good && experts) good = everyone(job, TP, SIM_ALL_TO_ALL, hidden * 2, 1, 6);
                if (!good) return false;
            }
        }
        for (unsigned m = 0; m < micro; m++)
            if (!everyone(job, TP, SIM_ALL_REDUCE, hidden * 3, 1, 7) ||
                !pipeline(job, false, ring, batch, hidden * 4, 8))
                return false;
        if (joined && !coalesced(job, DP, SIM_BROADCAST, gradient, 2 + below(job, 2), 9)) return false;
        if (!everyone(job, DP, sharded ? SIM_REDUCE_SCATTER : SIM_ALL_REDUCE, gradient, 0, 10)) return false;
        for (unsigned r = 0; job->async_grads && r < job->world; r++)
            if (job->ranks[r].n && job->ranks[r].ops[job->ranks[r].n - 1].place == 10)
                job->ranks[r].ops[job->ranks[r].n - 1].async = true;
        if (job->mixed && !everyone(job, PP, SIM_ALL_REDUCE, 2, 0, 13)) return false;
        if (step % 3 == 2 && !everyone(job, WORLD, SIM_BARRIER, 1, 0, 11)) return false;
        if (!everyone(job, WORLD, SIM_ALL_REDUCE, 1, 0, 12)) return false;
    }
    return true;
}

/* ---- faults -------------------------------------------------------------------------------------------- */

/* A random launch of the rank in the later part of its program for which `fits` holds; SIZE_MAX when there is
 * none. */
static size_t choose_op(sim_job *job, unsigned rank,
                        bool (*fits)(const sim_job *job, unsigned rank, size_t i))
{
    const sim_rank *r = &job->ranks[rank];
    size_t from = r->n * 2 / 5, n = 0, chosen = SIZE_MAX;
    for (size_t i = from; i < r->n; i++)
        if (fits(job, rank, i) && sim_random(job) % ++n == 0) chosen = i;
    return chosen;
}

static bool launch_begins(const sim_job *job, unsigned rank, size_t i)
{
    const sim_rank *r = &job->ranks[rank];
    return i == 0 || !r->ops[i - 1].more;
}

static bool single_collective(const sim_job *job, unsigned rank, size_t i)
{
    const sim_op *op = &job->ranks[rank].ops[i];
    return !op->p2p && !op->more && op->kind != SIM_MARK && op->kind != SIM_BARRIER &&
           !(job->s.unkind && (op->kind == SIM_ALL_TO_ALL || op->async)) && launch_begins(job, rank, i);
}

static bool any_collective(const sim_job *job, unsigned rank, size_t i)
{
    const sim_op *op = &job->ranks[rank].ops[i];
    return !op->p2p && launch_begins(job, rank, i);
}

static bool any_transfer(const sim_job *job, unsigned rank, size_t i)
{
    const sim_op *op = &job->ranks[rank].ops[i];
    return op->p2p && op->kind != SIM_MARK;
}

static bool single_send(const sim_job *job, unsigned rank, size_t i)
{
    const sim_op *op = &job->ranks[rank].ops[i];
    return op->p2p && op->kind == SIM_SEND && !op->more && launch_begins(job, rank, i);
}

/* Two collectives in a row, of two groups that share another rank. */
static bool exchangeable(const sim_job *job, unsigned rank, size_t i)
{
    const sim_rank *r = &job->ranks[rank];
    if (i + 1 >= r->n || !single_collective(job, rank, i) || !single_collective(job, rank, i + 1))
        return false;
    const sim_group *a = &job->groups[r->ops[i].group], *b = &job->groups[r->ops[i + 1].group];
    unsigned shared = 0;
    for (unsigned x = 0; a != b && x < a->n; x++)
        for (unsigned y = 0; y < b->n; y++) shared += a->ranks[x] == b->ranks[y];
    return shared > 1;
}

static void note(sim_job *job, const sim_op *op)
{
    job->fault_group = op->group;
    job->fault_seq = op->p2p ? op->p2p_seq : op->seq;
}

static bool make_fault(sim_job *job)
{
    job->guilty = below(job, job->world);
    job->partner = job->guilty;
    job->fault_group = UINT32_MAX;
    job->fatal = true;
    sim_rank *r = &job->ranks[job->guilty];
    size_t at = SIZE_MAX;
    switch (job->fault) {
    case SIM_NONE: return true;
    case SIM_HOST_STOP:
    case SIM_CRASH:
        at = choose_op(job, job->guilty, launch_begins);
        r->stop_host = at;
        return at != SIZE_MAX;
    case SIM_TYPE:
    case SIM_SIZE:
    case SIM_DTYPE:
        at = choose_op(job, job->guilty, single_collective);
        if (at == SIZE_MAX) return false;
        job->fatal = below(job, 4) != 0;
        if (job->fault == SIM_TYPE)
            r->ops[at].kind = r->ops[at].kind == SIM_BROADCAST ? SIM_ALL_REDUCE : SIM_BROADCAST;
        /* An exchange of any sizes that passes is no fault that a record could show. */
        if (r->ops[at].kind == SIM_ALL_TO_ALL) job->fatal = true;
        if (job->fault == SIM_SIZE) r->ops[at].numel += 1 + below(job, 7);
        if (job->fault == SIM_DTYPE) r->ops[at].dtype = 2;
        job->fault_group = r->ops[at].group;
        job->fault_seq = (uint32_t)at; /* a place in the program until numbers are given */
        return true;
    case SIM_GPU_BLOCK:
    case SIM_NETWORK:
    case SIM_HALF_DONE:
        at = choose_op(job, job->guilty, any_collective);
        if (at == SIZE_MAX) return false;
        if (job->fault == SIM_GPU_BLOCK) r->block_gpu = at;
        job->fault_group = r->ops[at].group;
        job->fault_seq = (uint32_t)at;
        return true;
    case SIM_P2P_SIZE:
        at = choose_op(job, job->guilty, any_transfer);
        if (at == SIZE_MAX) return false;
        r->ops[at].numel += 1 + below(job, 9);
        job->fault_group = r->ops[at].group;
        job->fault_seq = (uint32_t)at;
        break;
    case SIM_P2P_DEADLOCK: {
        at = choose_op(job, job->guilty, single_send);
        if (at == SIZE_MAX) return false;
        sim_op *op = &r->ops[at];
        job->partner = job->groups[op->group].ranks[op->dst];
        int16_t other = op->src;
        op->kind = SIM_RECV;
        op->src = op->dst;
        op->dst = other;
        return true;
    }
    case SIM_CROSS_ORDER: {
        at = choose_op(job, job->guilty, exchangeable);
        if (at == SIZE_MAX) return false;
        sim_op first = r->ops[at];
        r->ops[at] = r->ops[at + 1];
        r->ops[at + 1] = first;
        return true;
    }
    case SIM_TWO_STOPS:
    case SIM_STOP_AND_STALL: {
        do job->second = below(job, job->world);
        while (job->second == job->guilty);
        at = choose_op(job, job->guilty, launch_begins);
        size_t other =
            choose_op(job, job->second, job->fault == SIM_TWO_STOPS ? launch_begins : any_collective);
        if (at == SIZE_MAX || other == SIZE_MAX) return false;
        r->stop_host = at;
        if (job->fault == SIM_TWO_STOPS) {
            job->ranks[job->second].stop_host = other;
        } else {
            job->fault_group = job->ranks[job->second].ops[other].group;
            job->fault_seq = (uint32_t)other;
        }
        return true;
    }
    case SIM_ALL_FAULTS: return false;
    case SIM_STRAGGLER: r->slow_ns = 100000 + (int64_t)below(job, 900000); return r->n >= 40;
    }
    const sim_op *op = &r->ops[at];
    unsigned own = job->guilty,
             ends[2] = {job->groups[op->group].ranks[op->src], job->groups[op->group].ranks[op->dst]};
    job->partner = ends[0] == own ? ends[1] : ends[0];
    return true;
}

/* ---- running ------------------------------------------------------------------------------------------- */

static bool number_ops(sim_job *job)
{
    uint32_t *seq = calloc(job->n_groups, sizeof *seq), *p2p_seq = calloc(job->n_groups, sizeof *p2p_seq);
    size_t n_pairs = (size_t)job->n_groups * job->pp * job->pp;
    job->pairs = calloc(n_pairs, sizeof *job->pairs);
    uint32_t *ordinals = calloc((size_t)job->pp * job->pp * 2, sizeof *ordinals);
    bool good = seq && p2p_seq && job->pairs && ordinals;
    for (unsigned r = 0; good && r < job->world; r++) {
        memset(seq, 0, job->n_groups * sizeof *seq);
        memset(p2p_seq, 0, job->n_groups * sizeof *p2p_seq);
        memset(ordinals, 0, (size_t)job->pp * job->pp * 2 * sizeof *ordinals);
        sim_rank *rank = &job->ranks[r];
        for (size_t i = 0; i < rank->n; i++) {
            sim_op *op = &rank->ops[i];
            bool begins = i == 0 || !rank->ops[i - 1].more;
            if (begins && op->p2p) p2p_seq[op->group]++;
            if (begins && !op->p2p) seq[op->group]++;
            op->seq = seq[op->group];
            op->p2p_seq = p2p_seq[op->group];
            if (op->p2p && op->kind != SIM_MARK)
                op->ordinal =
                    ordinals[((size_t)op->src * job->pp + (size_t)op->dst) * 2 + (op->kind == SIM_RECV)]++;
        }
    }
    free(seq);
    free(p2p_seq);
    free(ordinals);
    unsigned faulty = job->fault == SIM_STOP_AND_STALL ? job->second : job->guilty;
    if (good && job->fault_group != UINT32_MAX) note(job, &job->ranks[faulty].ops[job->fault_seq]);
    return good;
}

static struct sim_pair *pair_of(sim_job *job, const sim_op *op)
{
    return &job->pairs[((size_t)op->group * job->pp + (size_t)op->src) * job->pp + (size_t)op->dst];
}

static size_t launch_end(const sim_rank *r, size_t at)
{
    while (at + 1 < r->n && r->ops[at].more) at++;
    return at + 1;
}

static int64_t jitter(sim_job *job, int64_t ns)
{
    return ns / 2 + (int64_t)(sim_random(job) % (uint64_t)ns);
}

static void issue(sim_job *job, sim_rank *r)
{
    while (r->host < r->n && r->host < r->stop_host) {
        /* The host runs ahead of its GPU by a window of launches; behind that it waits for a completion. */
        if (r->host >= r->gpu + job->window) return;
        if (r->host >= job->window && r->ops[r->host - job->window].completed > r->host_ns)
            r->host_ns = r->ops[r->host - job->window].completed;
        size_t end = launch_end(r, r->host);
        r->host_ns += jitter(job, 40000);
        if (sim_random(job) % 700 == 0)
            r->host_ns += 1000000 + (int64_t)(sim_random(job) % 4000000); /* a collection of garbage, say */
        for (; r->host < end; r->host++) r->ops[r->host].created = r->host_ns + (int64_t)(end - r->host);
    }
}

/* Ends the launch at `from`; what the stream is in lets it go on. */
static void complete(sim_rank *r, size_t from, int64_t at)
{
    size_t end = launch_end(r, from);
    for (size_t i = from; i < end; i++) {
        r->ops[i].state = 2;
        r->ops[i].completed = at;
    }
    if (from != r->gpu) return;
    r->gpu = end;
    r->gpu_ns = at;
    r->at_head = false;
}

/* What runs asynchronously does not hold up the stream. */
static void pass_by(sim_rank *r)
{
    r->gpu = launch_end(r, r->gpu);
    r->at_head = false;
}

static bool is_fault_op(const sim_job *job, const sim_op *op)
{
    return job->fault_group == op->group && (op->p2p ? op->p2p_seq : op->seq) == job->fault_seq;
}

static void start(sim_job *job, sim_rank *r)
{
    size_t end = launch_end(r, r->gpu);
    int64_t at = r->gpu_ns;
    for (size_t i = r->gpu; i < end; i++)
        if (r->ops[i].created > at) at = r->ops[i].created;
    /* The compute between two communications; a slow GPU takes longer. */
    at += 294000 + (int64_t)(sim_random(job) % 12000);
    if (r->slow_ns) at += r->slow_ns / 2 + (int64_t)(sim_random(job) % (uint64_t)r->slow_ns);
    for (size_t i = r->gpu; i < end; i++) {
        r->ops[i].state = 1;
        r->ops[i].started = at;
    }
    r->gpu_ns = at;
    r->at_head = true;
}

/* The collective at a rank's head, which has just been started. True when that completed it. */
static bool join(sim_job *job, sim_rank *r)
{
    const sim_op *op = &r->ops[r->gpu];
    sim_group *g = &job->groups[op->group];
    if (g->arrived == 0 || g->seq != op->seq) {
        g->seq = op->seq;
        g->arrived = 0;
        g->ready = 0;
    }
    g->arrived++;
    for (unsigned i = 0; i < g->n; i++)
        if (&job->ranks[g->ranks[i]] == r) g->at[i] = r->gpu;
    if (r->gpu_ns > g->ready) g->ready = r->gpu_ns;
    if (g->arrived < g->n) return false;
    bool hit = is_fault_op(job, op) && !op->p2p;
    if (hit &&
        (job->fault == SIM_NETWORK ||
         ((job->fault == SIM_TYPE || job->fault == SIM_SIZE || job->fault == SIM_DTYPE) && job->fatal)))
        return false;
    int64_t done = g->ready + 20000 + op->numel / 4 + jitter(job, 10000);
    g->arrived = 0;
    for (unsigned i = 0; i < g->n; i++) {
        size_t at = g->at[i];
        if (hit && job->fault == SIM_HALF_DONE && g->ranks[i] == job->guilty) continue;
        if (hit && job->fault == SIM_STOP_AND_STALL && g->ranks[i] == job->second) continue;
        g->at[i] = SIZE_MAX;
        complete(&job->ranks[g->ranks[i]], at, done + (int64_t)(sim_random(job) % 3000));
    }
    return true;
}

/* Operations of a group run one after the other: one that runs asynchronously holds up the next of its group.
 */
static bool group_is_busy(const sim_job *job, const sim_rank *r)
{
    const sim_group *g = &job->groups[r->ops[r->gpu].group];
    for (unsigned i = 0; i < g->n; i++)
        if (&job->ranks[g->ranks[i]] == r) return g->at[i] != SIZE_MAX && g->at[i] != r->gpu;
    return false;
}

/* A launch that only sends. */
static bool only_sends(const sim_rank *r, size_t from)
{
    size_t end = launch_end(r, from);
    for (size_t i = from; i < end; i++)
        if (r->ops[i].kind != SIM_SEND && !(r->ops[i].p2p && r->ops[i].kind == SIM_MARK)) return false;
    return true;
}

static bool is_async(const sim_job *job, const sim_rank *r)
{
    return r->ops[r->gpu].async || (job->async_sends && only_sends(r, r->gpu));
}

static bool transfer_done(sim_job *job, sim_rank *r, size_t from)
{
    size_t end = launch_end(r, from);
    for (size_t i = from; i < end; i++) {
        const sim_op *op = &r->ops[i];
        if (op->kind == SIM_MARK) continue;
        const struct sim_pair *pair = pair_of(job, op);
        if ((op->kind == SIM_SEND ? pair->recvs : pair->sends) <= op->ordinal) return false;
        /* What a wrong size hangs, it hangs on both ends. */
        if (job->fault == SIM_P2P_SIZE) {
            unsigned src = job->groups[op->group].ranks[op->src], dst = job->groups[op->group].ranks[op->dst];
            const sim_rank *g = &job->ranks[job->guilty];
            bool ends =
                (src == job->guilty && dst == job->partner) || (dst == job->guilty && src == job->partner);
            if (ends && op->group == job->fault_group)
                for (size_t k = 0; k < g->n; k++)
                    if (is_fault_op(job, &g->ops[k]) && g->ops[k].p2p && g->ops[k].src == op->src &&
                        g->ops[k].dst == op->dst && g->ops[k].ordinal == op->ordinal &&
                        g->ops[k].kind != SIM_MARK)
                        return false;
        }
    }
    return true;
}

/* Sends that run next to the stream. */
static bool finish_sends(sim_job *job, sim_rank *r)
{
    bool moved = false, pending = false;
    for (size_t i = r->first_pending, end; i < r->gpu; i = end) {
        end = launch_end(r, i);
        if (r->ops[i].state != 1 || !only_sends(r, i)) continue;
        if (transfer_done(job, r, i)) {
            complete(r, i, r->gpu_ns + 15000 + jitter(job, 10000));
            moved = true;
        } else if (!pending) {
            r->first_pending = i;
            pending = true;
        }
    }
    if (!pending) r->first_pending = r->gpu;
    return moved;
}

static bool step(sim_job *job, sim_rank *r)
{
    bool moved = false;
    for (;;) {
        issue(job, r);
        if (job->async_sends && finish_sends(job, r)) moved = true;
        if (r->gpu >= r->host || r->gpu == r->block_gpu) return moved;
        const sim_op *op = &r->ops[r->gpu];
        if (!r->at_head) {
            if (!op->p2p && group_is_busy(job, r)) return moved;
            start(job, r);
            moved = true;
            if (!op->p2p && join(job, r)) continue;
            size_t end = launch_end(r, r->gpu);
            for (size_t k = r->gpu; op->p2p && k < end; k++) {
                if (r->ops[k].kind == SIM_SEND) pair_of(job, &r->ops[k])->sends++;
                if (r->ops[k].kind == SIM_RECV) pair_of(job, &r->ops[k])->recvs++;
            }
            if (is_async(job, r)) {
                pass_by(r);
                continue;
            }
        }
        if (!r->ops[r->gpu].p2p || !r->at_head || !transfer_done(job, r, r->gpu)) return moved;
        complete(r, r->gpu, r->gpu_ns + 15000 + jitter(job, 10000));
        moved = true;
    }
}

static void run(sim_job *job)
{
    for (bool moved = true; moved;) {
        moved = false;
        for (unsigned i = 0; i < job->world; i++)
            if (step(job, &job->ranks[i])) moved = true;
    }
}

bool sim_is_silent(const sim_job *job, unsigned rank)
{
    const sim_rank *r = &job->ranks[rank];
    if (r->host != r->stop_host || r->gpu != r->host) return false;
    for (size_t i = 0; i < r->host; i++)
        if (r->ops[i].state != 2) return false;
    return true;
}

bool sim_is_stalled(const sim_job *job, unsigned rank)
{
    const sim_rank *r = &job->ranks[rank];
    for (size_t i = 0; i < r->host; i++) {
        const sim_op *op = &r->ops[i];
        const sim_group *g = &job->groups[op->group];
        for (unsigned k = 0; !op->p2p && op->state != 2 && k < g->n; k++) {
            const sim_rank *o = &job->ranks[g->ranks[k]];
            for (size_t j = 0; j < o->host; j++)
                if (!o->ops[j].p2p && o->ops[j].group == op->group && o->ops[j].seq == op->seq &&
                    o->ops[j].state == 2)
                    return true;
        }
    }
    return false;
}

int64_t sim_middle(const sim_job *job)
{
    const sim_rank *r = &job->ranks[job->world / 2];
    return r->host < 4 ? EPOCH : r->ops[r->host / 2].created + 1000;
}

/* Whether somebody has open what the rank would have issued next in some group: directly or through others it
 * is what they wait for. */
static bool is_waited_for(const sim_job *job, unsigned rank)
{
    const sim_rank *r = &job->ranks[rank];
    for (size_t n = r->host; n < r->n; n++) {
        const sim_op *next = &r->ops[n];
        const sim_group *g = &job->groups[next->group];
        for (unsigned k = 0; k < g->n; k++) {
            const sim_rank *o = &job->ranks[g->ranks[k]];
            for (size_t j = 0; o != r && j < o->host; j++) {
                const sim_op *x = &o->ops[j];
                bool same = next->p2p ? x->p2p && x->kind != next->kind && x->kind != SIM_MARK &&
                                            next->kind != SIM_MARK && x->src == next->src &&
                                            x->dst == next->dst && x->ordinal == next->ordinal
                                      : !x->p2p && x->seq == next->seq;
                if (x->group == next->group && same && x->state != 2) return true;
            }
        }
    }
    return false;
}

/* What real jobs have and the kind simulator never had. */
static void draw_unkindness(sim_job *job)
{
    job->timed = true;
    if (!job->s.unkind) return;
    job->timed = below(job, 4) == 0;
    job->mixed = below(job, 2);
    /* A send never holds up its host. Where starts are recorded one that holds up the GPU's stream can be
     * told, too. */
    job->async_sends = !job->timed || below(job, 3) != 0;
    job->async_grads = below(job, 2);
    job->uneven = below(job, 2);
    job->hashed = below(job, 4) == 0;
    job->holes = below(job, 2);
    job->no_frames = below(job, 2);
    job->op_step = 1 + below(job, 3);
    job->version = 8 + (int)below(job, 3);
}

bool sim_run(sim_job *job, const sim_settings *settings)
{
    static const unsigned sizes[] = {1, 2, 4};
    *job = (sim_job){
        .s = *settings, .rng = settings->seed * UINT64_C(0x2545f4914f6cdd1d) + 77, .fault = settings->fault};
    do {
        job->tp = settings->tp ? settings->tp : sizes[below(job, 3)];
        job->pp = settings->pp ? settings->pp : sizes[below(job, 3)];
        job->dp = settings->dp ? settings->dp : sizes[below(job, 3)];
        job->world = job->tp * job->pp * job->dp;
    } while (job->world < 4 && !(settings->tp && settings->pp && settings->dp)); /* as asked for, or drawn */
    job->window = below(job, 3) == 0 ? 1 : 1 + below(job, 24);
    job->bare_batches = below(job, 2);
    job->shared_uids = below(job, 3) == 0;
    job->timing = below(job, 2) || job->fault == SIM_STRAGGLER;
    job->version = 4 + (int)below(job, 7);
    draw_unkindness(job);
    job->ranks = calloc(job->world, sizeof *job->ranks);
    if (!job->ranks || !make_groups(job) || !make_program(job)) return false;
    unsigned host_size = 1u << (1 + below(job, 3));
    int64_t spread = settings->clock_ms >= 0 ? settings->clock_ms * INT64_C(1000000)
                     : below(job, 2)         ? INT64_C(20000000)
                                             : 50000;
    int64_t clock = 0;
    for (unsigned r = 0; r < job->world; r++) {
        if (r % host_size == 0 && spread)
            clock = (int64_t)(sim_random(job) % (uint64_t)(2 * spread)) - spread;
        job->ranks[r].clock_ns = clock;
        job->ranks[r].stop_host = job->ranks[r].block_gpu = SIZE_MAX;
        job->ranks[r].host_ns = job->ranks[r].gpu_ns = EPOCH;
        if (!settings->unkind) continue;
        job->ranks[r].p2p_base = 10000 + below(job, 5000);
        job->ranks[r].record_base = 10000 + below(job, 80000);
    }
    if (!make_fault(job) || !number_ops(job)) return false;
    job->ranks[job->guilty].lost = job->fault == SIM_CRASH;
    run(job);
    job->first_waited = is_waited_for(job, job->guilty);
    job->both_waited = job->first_waited && is_waited_for(job, job->second);
    return true;
}

void sim_free(sim_job *job)
{
    for (uint32_t g = 0; job->groups && g < job->n_groups; g++) {
        free(job->groups[g].ranks);
        free(job->groups[g].at);
    }
    for (unsigned r = 0; job->ranks && r < job->world; r++) free(job->ranks[r].ops);
    free(job->groups);
    free(job->ranks);
    free(job->pairs);
}
