/* Finders: what host threads do. Calls that wait and what comes after them, pauses, memory. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/real.h"
#include "verdict/candidate.h"
#include "base/interval.h"
#include "base/memory.h"
#include "base/order.h"
#include "base/stats.h"
#include "base/strings.h"
#include "base/try.h"
#include "trace/calls.h"

#define MOST_CALLS 3 /* that wait */
#define OFTEN 1.5    /* times a micro batch: a call that waits more often holds the host back in the loop */
#define LATE 3       /* times the median stretch before a launch: one after a wait is late */
#define PAUSE_MAD 8  /* beyond the 99th percentile: a pause lasts so many median deviations more */
#define TAIL 16      /* of the longest stretches: so many at least say how lengths fall off */
#define PAUSE_SURE 4 /* -ln of the chance that an everyday delay counts as a pause */
#define LEAST_PAUSE 1000000 /* ns: shorter ones are interrupts and other processes, as every host has them */
#define PAUSED_STEPS 0.25   /* of a rank's steps: what happens more often is no pause */
#define CLEAR_STEPS 0.5     /* the same of pauses that differ clearly from all others */
#define PAUSE_ALIKE 4       /* a rank's pauses are no shorter than its longest one over so much */
#define LEAST_NAMESAKES 8   /* so many points of a name say what is usual */
#define MOST_PAUSES 6       /* ranks */
#define MOST_ALLOCATING 3   /* calls, by name */
#define FROM_PAGEABLE "Pageable ->" /* in the names of such copies */
#define PAGEABLE_SHARE 0.005        /* of the time: less is not worth a question */

static bool is_work(const rs_skeleton *s, uint32_t i)
{
    return rs_skeleton_is_work(s, i);
}

static bool is_copy(const rs_skeleton *s, uint32_t i, const char *way)
{
    const char *name = rs_pool_text(&s->pool, rs_skeleton_at(s, i)->name);
    return is_work(s, i) && rs_skeleton_at(s, i)->part == RS_PART_COPY && name && strstr(name, way);
}

/* Whether other ranks sent what is waited for, or what it is made of. */
static bool is_received(const rs_skeleton *s, uint32_t work)
{
    if (rs_skeleton_at(s, work)->part == RS_PART_TRANSFER) return true;
    RS_EDGES_INTO(s, work, k) {
        uint32_t from = rs_edge_source(s, k) >> 1;
        if ((rs_edge_source(s, k) & 1) && is_work(s, from) &&
            rs_skeleton_at(s, from)->part == RS_PART_TRANSFER)
            return true;
    }
    return false;
}

/* The work that the call at a point waited for; 0: it is no such call. */
static uint32_t awaited(const rs_skeleton *s, uint32_t point)
{
    if (is_work(s, point)) return 0;
    RS_EDGES_INTO(s, point, k)
        if (rs_edge_cost(s, k) == RS_COST_ANSWER) return rs_edge_source(s, k) >> 1;
    return 0;
}

/* How often a step loads data: once a micro batch; at least 1. */
static double loads_of(const rs_engine *e)
{
    const rs_skeleton *s = e->ranks[0];
    size_t n = 0;
    for (uint32_t i = 1; i < s->n; i++)
        n += rs_skeleton_step_of(s, i) >= 0 && rs_skeleton_first(s, i) < rs_skeleton_first(s, i + 1) &&
             rs_edge_part(s, rs_skeleton_first(s, i)) == RS_PART_LOADER;
    double loads = s->n_steps ? (double)n / (double)s->n_steps : 1;
    return loads > 1 ? loads : 1;
}

/* Whether something happens more often than once a micro batch, where losses are logged: then it is a finding; without
 * steps it is unknown how often is much. */
static bool is_often(const rs_engine *e, double n)
{
    return e->step_base[e->n_ranks] > e->n_ranks && n >= OFTEN * loads_of(e);
}

static bool allocates(const char *name)
{
    return name && (rs_call_flags(name) & RS_CALL_ALLOCATES);
}

/* ---- calls that wait ----------------------------------------------------------------------------------- */

/* From the end of what the thread did before to the call's return. */
static int64_t call_time(const rs_skeleton *s, uint32_t point)
{
    int64_t before = rs_skeleton_time(s, point);
    RS_EDGES_INTO(s, point, k)
        if (rs_edge_cost(s, k) != RS_COST_ANSWER && !is_work(s, rs_edge_source(s, k) >> 1) &&
            rs_edge_source(s, k) >> 1)
            before = rs_skeleton_source_time(s, rs_edge_source(s, k));
    return rs_sub_sat(rs_skeleton_time(s, point), before);
}

/* When a piece of work was launched; where that is not known, when it starts. */
static int64_t launch_of(const rs_skeleton *s, uint32_t work)
{
    const uint32_t launch = rs_skeleton_launch_edge(s, work);
    return launch == UINT32_MAX ? rs_skeleton_time(s, work)
                                : rs_skeleton_source_time(s, rs_edge_source(s, launch));
}

/* By node of a rank: when the work after it on its stream was launched, ns; INT64_MAX: there is none. NULL: out of
 * memory. */
static int64_t *list_next(const rs_skeleton *s)
{
    int64_t *next = rs_malloc((s->n + 1) * sizeof *next);
    for (uint32_t i = 0; next && i < s->n; i++) next[i] = INT64_MAX;
    for (uint32_t i = 1; next && i < s->n; i++)
        if (is_work(s, i))
            RS_EDGES_INTO(s, i, k)
                if (rs_edge_cost(s, k) >= RS_COST_STREAM && rs_edge_cost(s, k) < RS_COST_EVENT)
                    next[rs_edge_source(s, k) >> 1] = launch_of(s, i);
    return next;
}

/* Whether a wait reads nothing back: programs wait for an event of computation to limit how far the host runs ahead, and
 * how much memory that takes (as FSDP does before it gathers the next layer). */
static bool paces(const rs_skeleton *s, uint32_t point, uint32_t source)
{
    const char *call = rs_pool_text(&s->pool, rs_skeleton_at(s, point)->name);
    return call && strstr(call, "EventSynchronize") && rs_skeleton_at(s, source)->part == RS_PART_COMPUTE;
}

/* What waits for a value that other ranks sent (how much to receive, whether to skip a step) is part of the algorithm, and
 * what keeps the host from running too far ahead leaves the GPU work to do: neither is wrong. */
rs_status rs_find_sync(const rs_judged *job, const rs_fault_kind *fault, rs_candidates *out,
                       const char **lacks, rs_error *err)
{
    const rs_engine *e = job->engine;
    RS_SCOPED(rs_names_clear) rs_names calls = {0};
    rs_named call;
    rs_status status = RS_OK;
    for (size_t r = 0; r < e->n_ranks; r++) {
        const rs_skeleton *s = e->ranks[r];
        RS_LOCAL int64_t *next = list_next(s);
        if (!next) return rs_fail_nomem(err, "diagnose");
        for (uint32_t i = 1; i < s->n; i++) {
            uint32_t source = awaited(s, i);
            if (!source || rs_edge_cost(s, rs_skeleton_first(s, i)) != RS_COST_ANSWER ||
                is_copy(s, source, FROM_PAGEABLE))
                continue;
            /* what is read back is waited for in several calls, so the copy names them */
            uint32_t named = is_copy(s, source, "DtoH") || is_copy(s, source, "> Pageable") ? source : i;
            const char *text = rs_pool_text(&s->pool, rs_skeleton_at(s, named)->name);
            if (!text) continue;
            rs_named *x = rs_names_put(&calls, text, strlen(text));
            if (!x) return rs_fail_nomem(err, "diagnose");
            x->n++;
            x->ns += (double)call_time(s, i);
            x->expected +=
                is_received(s, source) || paces(s, i, source) || next[source] <= rs_skeleton_time(s, i);
        }
    }
    if (!calls.n) *lacks = "no call of the host waits for the GPU";
    for (size_t i = 0; status == RS_OK && i < MOST_CALLS && rs_names_take_most(&calls, &call); i++) {
        double n = (double)call.n / (double)rs_judged_all_steps(e);
        if (allocates(call.text)) continue; /* a finding of its own */
        /* One wait at a step's end is what profilers and loggers do; more hold the host back in the loop. */
        bool wrong = is_often(e, n) && 2 * call.expected < (double)call.n;
        rs_candidate c = rs_candidate_of(fault, wrong ? RS_VERDICT_FINDING : RS_VERDICT_OPPORTUNITY);
        bool ok = rs_accuse_call(&c, call.text, call.length, out);
        c.facts.n = n;
        rs_what_if_add_name(&c.edits, RS_EDIT_NO_SYNC, call.text, call.length, false);
        c.excess = call.ns / 1e3 / (double)rs_judged_all_steps(e);
        status = rs_candidate_add(out, &c, ok, err);
    }
    return status;
}

/* ---- launches after a wait ----------------------------------------------------------------------------- */

typedef struct behind {
    rs_names calls;   /* that waited: what came between their return and the next launch, and how often */
    int64_t *stretch; /* host time before each launching call */
    size_t n;
} behind;

static rs_status look_behind(const rs_judged *job, size_t rank, behind *b, rs_error *err)
{
    const rs_skeleton *s = job->engine->ranks[rank];
    uint8_t *launches = rs_calloc(s->n + 1, 1);
    uint32_t *last = rs_malloc((s->n_lanes + 1) * sizeof *last); /* by thread: the call that it waited in */
    int64_t *since = rs_calloc(s->n_lanes + 1, sizeof *since);
    rs_status status = launches && last && since ? RS_OK : rs_fail_nomem(err, "diagnose");
    for (size_t i = 0; status == RS_OK && i <= s->n_lanes; i++) last[i] = RS_NO_STRING;
    if (status == RS_OK) rs_skeleton_mark_launches(s, launches);
    for (uint32_t i = 1; status == RS_OK && i < s->n; i++) {
        uint16_t lane = rs_skeleton_at(s, i)->lane;
        if (is_work(s, i)) continue;
        if (awaited(s, i)) {
            last[lane] = rs_skeleton_at(s, i)->name;
            since[lane] = 0;
            continue;
        }
        since[lane] = rs_add_sat(since[lane], rs_judged_host_time(job, rank, i));
        if (!launches[i]) continue;
        b->stretch[b->n++] = since[lane];
        const char *text = rs_pool_text(&s->pool, last[lane]);
        if (text) {
            rs_named *x = rs_names_put(&b->calls, text, strlen(text));
            if (!x) status = rs_fail_nomem(err, "diagnose");
            if (x) {
                x->n++;
                x->ns += (double)since[lane];
            }
        }
        last[lane] = RS_NO_STRING;
        since[lane] = 0;
    }
    rs_free(launches);
    rs_free(last);
    rs_free(since);
    return status;
}

rs_status rs_find_late_launch(const rs_judged *job, const rs_fault_kind *fault, rs_candidates *out,
                              const char **lacks, rs_error *err)
{
    const rs_engine *e = job->engine;
    rs_named call;
    behind b = {.stretch = rs_malloc((e->n_nodes + 1) * sizeof *b.stretch)};
    rs_status status = b.stretch ? RS_OK : rs_fail_nomem(err, "diagnose");
    for (size_t r = 0; status == RS_OK && r < e->n_ranks; r++) status = look_behind(job, r, &b, err);
    if (status == RS_OK && !b.calls.n) *lacks = "nothing is launched after a call that waits for the GPU";
    double usual = status == RS_OK && b.n ? (double)rs_select_number(b.stretch, b.n, b.n / 2) : 0;
    for (size_t i = 0; status == RS_OK && i < MOST_CALLS && rs_names_take_most(&b.calls, &call); i++) {
        double n = (double)call.n / (double)rs_judged_all_steps(e), mean = call.ns / (double)call.n;
        if (allocates(call.text)) continue; /* a finding of its own */
        bool off = is_often(e, n) && mean >= LATE * usual;
        /* then what comes after the waits is wrong, and not the waits */
        for (size_t k = 0; off && k < out->n; k++)
            if (out->items[k].fault->find == rs_find_sync) out->items[k].kind = RS_VERDICT_OPPORTUNITY;
        rs_candidate c = rs_candidate_of(fault, off ? RS_VERDICT_FINDING : RS_VERDICT_OPPORTUNITY);
        bool ok = rs_accuse_call(&c, call.text, call.length, out);
        c.facts.us = mean / 1e3;
        c.facts.n = n;
        /* where it takes longer than usual, it takes what is usual; an opportunity is half of it */
        rs_expr *s = rs_what_if_scale_by(&c.edits, off && usual > 0 ? rs_short_factor(usual / mean) : 0.5);
        rs_selector_word(s, RS_SELECT_PART, RS_PART_OF_HOST);
        rs_selector_text(s, RS_SELECT_BEHIND, RS_OP_EQ, call.text, call.length);
        c.excess = call.ns / 1e3 / (double)rs_judged_all_steps(e);
        status = rs_candidate_add(out, &c, ok, err);
    }
    rs_names_clear(&b.calls);
    rs_free(b.stretch);
    return status;
}

/* ---- pauses -------------------------------------------------------------------------------------------- */

/* One stretch of host time, and what the same one takes on other ranks and in other steps. */
typedef struct stretch {
    int64_t ns, peers;
    uint64_t name; /* hash of its point's; 0: its peers are known, or it bound nothing */
    uint32_t rank, local;
    int32_t step;
} stretch;

static int64_t over(const stretch *x)
{
    return rs_sub_sat(x->ns, x->peers);
}

static int by_place(const void *a, const void *b)
{
    const stretch *x = a, *y = b;
    if (x->rank != y->rank) return x->rank < y->rank ? -1 : 1;
    if (x->step != y->step) return x->step < y->step ? -1 : 1;
    return x->local < y->local ? -1 : x->local > y->local;
}

/* Mostly they are, as nodes are numbered in time. */
static void put_in_place(stretch *all, size_t n)
{
    size_t i = 1;
    while (i < n && by_place(&all[i - 1], &all[i]) < 0) i++;
    if (i < n) qsort(all, n, sizeof *all, by_place);
}

/* The pause of one rank in one step. */
typedef struct pause {
    const stretch *longest; /* NULL: none */
    int64_t usual;          /* all else in that rank and step is no longer than this, ns */
} pause;

/* The pauses of one rank: one finding, as the same code makes them. */
typedef struct paused_rank {
    const pause *items, *worst;
    size_t n;
    int64_t sum; /* ns over what peers take */
} paused_rank;

static int by_sum(const void *a, const void *b)
{
    const paused_rank *x = a, *y = b;
    if (x->sum != y->sum) return x->sum > y->sum ? -1 : 1;
    return by_place(x->worst->longest, y->worst->longest);
}

static bool add_stretch(stretch **all, size_t *n, size_t *capacity, stretch one)
{
    if (one.ns <= 0) return true;
    if (!RS_GROW_ONE(*all, *n, *capacity)) return false;
    (*all)[(*n)++] = one;
    return true;
}

/* The engine compares a place only where on each rank and in each step nothing else held it up. Elsewhere what points of one name
 * take in the median is usual. False: out of memory. */
static bool compare_by_name(stretch *all, size_t n)
{
    RS_LOCAL rs_keyed *named = rs_malloc((n + 1) * sizeof *named);
    RS_LOCAL int64_t *ns = rs_malloc((n + 1) * sizeof *ns);
    size_t n_named = 0;
    if (!named || !ns) return false;
    for (size_t i = 0; i < n; i++)
        if (all[i].name) named[n_named++] = (rs_keyed){(int64_t)all[i].name, (uint32_t)i};
    if (!rs_keyed_sort(named, n_named)) return false;
    for (size_t i = 0, next; i < n_named; i = next) {
        for (next = i; next < n_named && named[next].key == named[i].key; next++)
            ns[next - i] = all[named[next].value].ns;
        if (next - i < LEAST_NAMESAKES) continue;
        const int64_t usual = rs_select_number(ns, next - i, (next - i) / 2);
        for (size_t k = i; k < next; k++) all[named[k].value].peers = usual;
    }
    return true;
}

/* All that a question about part=host finds. Only what bound a point can be a pause: launching calls and what
 * would have bound it otherwise are in the list with their own time as their peers'. NULL: out of memory. */
static stretch *list_stretches(const rs_judged *job, size_t *n)
{
    const rs_engine *e = job->engine;
    size_t capacity = 64;
    stretch *all = rs_malloc(capacity * sizeof *all);
    bool ok = all != NULL;
    *n = 0;
    for (uint32_t r = 0; r < e->n_ranks; r++) {
        const rs_skeleton *s = e->ranks[r];
        const int64_t *weight = job->recorded->edge + e->edge_base[r];
        const int64_t *peers = job->reference->peers.edge + e->edge_base[r];
        RS_LOCAL uint64_t *names = rs_pool_hashes(&s->pool);
        ok = ok && names;
        for (uint32_t i = 1; ok && i < s->n; i++) {
            const uint32_t text = rs_skeleton_at(s, i)->name;
            const uint64_t name = text == RS_NO_STRING ? 0 : names[text] | 1;
            if (rs_skeleton_step_of(s, i) < 0) continue;
            RS_EDGES_INTO(s, i, k) {
                bool call = is_work(s, i) && rs_edge_cost(s, k) < RS_COST_INSIDE;
                bool host = !is_work(s, i) && rs_edge_part(s, k) == RS_PART_HOST &&
                            rs_edge_cost(s, k) >= RS_COST_CALL;
                if (!ok || (!call && !host) || weight[k] == RS_NO_EDGE) continue;
                int64_t ns = call ? rs_edge_base(s, k) : weight[k];
                bool compared = host && k == rs_skeleton_first(s, i) && peers[k] != RS_NO_EDGE;
                ok =
                    add_stretch(&all, n, &capacity,
                                (stretch){ns, compared ? peers[k] : ns, compared && peers[k] == ns ? name : 0,
                                          r, i, rs_skeleton_step_of(s, i)});
            }
        }
    }
    if (ok && compare_by_name(all, *n)) return all;
    rs_free(all);
    return NULL;
}

/* Beyond what a stretch lasts so much longer than its peers that it is a pause, ns: by the 99th percentile, and by how the
 * longest ones fall off. Everyday delays do so exponentially: of k that exceed a length, half exceed it by ln 2 of their mean
 * excess, and by ln k + PAUSE_SURE of it none is expected to, but by chance of e^-PAUSE_SURE. */
static int64_t least_pause(const stretch *all, size_t n, int64_t *scratch)
{
    size_t k = n / 1000 > TAIL ? n / 1000 : TAIL;
    for (size_t i = 0; i < n; i++) scratch[i] = over(&all[i]);
    int64_t high = rs_select_number(scratch, n, n - 1 - n / 100),
            middle = rs_select_number(scratch, n, n / 2), tail = 0;
    if (n > 2 * k) {
        int64_t from = rs_select_number(scratch, n, n - 1 - k),
                half = rs_select_number(scratch, n, n - 1 - k / 2);
        double beyond = (double)rs_sub_sat(half, from) / log(2) * (log((double)k) + PAUSE_SURE);
        tail = beyond < 9e17 ? rs_add_sat(from, rs_int_of(beyond)) : INT64_MAX;
    }
    for (size_t i = 0; i < n; i++) {
        int64_t off = rs_sub_sat(over(&all[i]), middle);
        scratch[i] = off < 0 ? rs_sub_sat(0, off) : off;
    }
    int64_t deviation = rs_select_number(scratch, n, n / 2);
    int64_t least = rs_add_sat(high, deviation > INT64_MAX / PAUSE_MAD ? INT64_MAX : PAUSE_MAD * deviation);
    if (least < tail) least = tail;
    return least < LEAST_PAUSE ? LEAST_PAUSE : least;
}

/* The stretches of one rank and step. A question takes a pause by its length, so it must be the longest. */
static pause find_pause(const stretch *all, size_t n, int64_t least)
{
    pause p = {0};
    for (size_t i = 0; i < n; i++)
        if (over(&all[i]) > least && (!p.longest || all[i].ns > p.longest->ns)) p.longest = &all[i];
    for (size_t i = 0; i < n; i++)
        if (&all[i] != p.longest && all[i].ns > p.usual) p.usual = all[i].ns;
    if (p.longest && p.usual > p.longest->ns - 1000) p.longest = NULL;
    return p;
}

/* Leaves the pauses of a rank that are much longer than its everyday jitter; all of them where lengths are mixed.
 * *clear: they are much longer. */
static size_t keep_longest(pause *all, size_t n, bool *clear)
{
    size_t kept = 0;
    int64_t longest = 0, shortest = INT64_MAX, jitter = 0;
    for (size_t i = 0; i < n; i++)
        if (over(all[i].longest) > longest) longest = over(all[i].longest);
    for (size_t i = 0; i < n; i++) {
        int64_t ns = over(all[i].longest), *bound = ns >= longest / PAUSE_ALIKE ? &shortest : &jitter;
        if (bound == &jitter ? ns > jitter : ns < shortest) *bound = ns;
    }
    *clear = jitter <= shortest / PAUSE_ALIKE;
    for (size_t i = 0; i < n; i++)
        if (!*clear || over(all[i].longest) > jitter) all[kept++] = all[i];
    return kept;
}

static bool is_many(const rs_judged *job, size_t rank, size_t n)
{
    return n > 1 && (double)n > PAUSED_STEPS * (double)rs_judged_steps(job->engine, rank);
}

/* all: by place. Those of ranks that pause in many steps are none. */
static size_t find_pauses(const rs_judged *job, const stretch *all, size_t n, int64_t least, pause *out)
{
    size_t found = 0;
    for (size_t i = 0, k; i < n;) {
        size_t begin = found, rank = all[i].rank;
        for (; i < n && all[i].rank == rank; i = k) {
            for (k = i; k < n && all[k].rank == rank && all[k].step == all[i].step;) k++;
            pause p = find_pause(all + i, k - i, least);
            if (p.longest) out[found++] = p;
        }
        bool many = is_many(job, rank, found - begin), clear = false;
        if (many) found = begin + keep_longest(out + begin, found - begin, &clear);
        if (many &&
            (!clear || (double)(found - begin) > CLEAR_STEPS * (double)rs_judged_steps(job->engine, rank)))
            found = begin;
    }
    return found;
}

/* Where half of the ranks or more pause in their first step, it is the profiler that starts. */
static size_t leave_out_start(const rs_judged *job, pause *all, size_t n)
{
    size_t kept = 0, starts = 0;
    for (size_t i = 0; i < n; i++) starts += all[i].longest->step == 0;
    if (starts < 2 || 2 * starts < job->engine->n_ranks) return n;
    for (size_t i = 0; i < n; i++)
        if (all[i].longest->step != 0) all[kept++] = all[i];
    return kept;
}

/* all: by rank. */
static size_t group_pauses(const pause *all, size_t n, paused_rank *out)
{
    size_t n_ranks = 0;
    for (size_t i = 0; i < n; i++) {
        const stretch *x = all[i].longest;
        if (!n_ranks || out[n_ranks - 1].worst->longest->rank != x->rank)
            out[n_ranks++] = (paused_rank){.items = &all[i], .worst = &all[i]};
        paused_rank *r = &out[n_ranks - 1];
        r->n++;
        r->sum = rs_add_sat(r->sum, over(x));
        if (over(x) > over(r->worst->longest)) r->worst = &all[i];
    }
    return n_ranks;
}

static rs_status add_pauses(const rs_judged *job, const rs_fault_kind *fault, const paused_rank *r,
                            rs_candidates *out, rs_error *err)
{
    const stretch *worst = r->worst->longest;
    const rs_skeleton *of = job->engine->ranks[worst->rank];
    const char *in = rs_pool_text(&of->pool, rs_skeleton_at(of, worst->local)->operator_name);
    rs_candidate c = rs_candidate_of(fault, RS_VERDICT_FINDING);
    bool ok = rs_accuse_rank(&c, job, worst->rank, out);
    if (ok && in && rs_is_source_line(in, strlen(in))) ok = rs_accuse_call(&c, in, strlen(in), out);
    c.facts.ms = (double)r->sum / 1e6 / (double)r->n;
    if (r->n == 1)
        c.facts.step = (double)of->steps[worst->step].number;
    else
        c.facts.n = (double)r->n;
    if (ok && in) ok = (c.facts.in = rs_arena_strndup(&out->arena, in, strlen(in)));
    for (size_t i = 0; i < r->n; i++) {
        const stretch *x = r->items[i].longest;
        rs_expr *s = rs_what_if_scale_to(&c.edits, x->peers < 0 ? 0 : x->peers);
        rs_selector_word(s, RS_SELECT_PART, RS_PART_OF_HOST);
        rs_selector_number(s, RS_SELECT_RANK, RS_OP_EQ, job->rank_of[x->rank]);
        rs_selector_number(s, RS_SELECT_STEP, RS_OP_EQ, of->steps[x->step].number);
        rs_selector_number(s, RS_SELECT_US, RS_OP_GT, r->items[i].usual);
    }
    c.excess = (double)r->sum / 1e3 / (double)rs_judged_steps(job->engine, worst->rank);
    return rs_candidate_add(out, &c, ok, err);
}

rs_status rs_find_host_pause(const rs_judged *job, const rs_fault_kind *fault, rs_candidates *out,
                             const char **lacks, rs_error *err)
{
    size_t n = 0, n_ranks = 0;
    RS_LOCAL stretch *all = list_stretches(job, &n);
    RS_LOCAL int64_t *scratch = rs_malloc((n + 1) * sizeof *scratch);
    RS_LOCAL pause *pauses = rs_malloc((n + 1) * sizeof *pauses);
    RS_LOCAL paused_rank *ranks = rs_malloc((job->engine->n_ranks + 1) * sizeof *ranks);
    if (!all || !scratch || !pauses || !ranks) return rs_fail_nomem(err, "diagnose");
    if (!n) *lacks = "no steps: a pause is one among many steps";
    if (n) {
        int64_t least = least_pause(all, n, scratch);
        put_in_place(all, n);
        size_t n_pauses = find_pauses(job, all, n, least, pauses);
        n_ranks = group_pauses(pauses, leave_out_start(job, pauses, n_pauses), ranks);
        if (n_ranks) qsort(ranks, n_ranks, sizeof *ranks, by_sum);
    }
    for (size_t i = 0; i < n_ranks && i < MOST_PAUSES; i++)
        RS_TRY(add_pauses(job, fault, &ranks[i], out, err));
    return RS_OK;
}

/* ---- memory -------------------------------------------------------------------------------------------- */

/* By text of the pool: a call that takes memory from the driver, or gives it back. NULL: out of memory. */
static uint8_t *mark_allocating(const rs_skeleton *s)
{
    uint8_t *out = rs_calloc(s->pool.strings.n + 1, 1);
    for (uint32_t i = 0; out && i < s->pool.strings.n; i++) {
        out[i] = allocates(rs_pool_text(&s->pool, i));
    }
    return out;
}

/* The host's time in such a call up to a point: its own, or from the end of the work that it waited for. *name: the
 * call's. */
static int64_t allocating_time(const rs_judged *job, size_t r, const uint8_t *is_such, uint32_t i,
                               uint32_t *name)
{
    const rs_skeleton *s = job->engine->ranks[r];
    bool waits = awaited(s, i) && rs_edge_cost(s, rs_skeleton_first(s, i)) == RS_COST_ANSWER;
    *name = waits ? rs_skeleton_at(s, i)->name : rs_skeleton_at(s, i)->operator_name;
    if (rs_skeleton_step_of(s, i) < 0 || *name >= s->pool.strings.n || !is_such[*name]) return 0;
    return waits ? call_time(s, i) : rs_judged_host_time(job, r, i);
}

static rs_status sum_allocations(const rs_judged *job, rs_names *calls, rs_error *err)
{
    const rs_engine *e = job->engine;
    for (size_t r = 0; r < e->n_ranks; r++) {
        const rs_skeleton *s = e->ranks[r];
        uint8_t *is_such = mark_allocating(s);
        rs_status status = is_such ? RS_OK : rs_fail_nomem(err, "diagnose");
        for (uint32_t i = 1; status == RS_OK && i < s->n; i++) {
            uint32_t name;
            int64_t ns = allocating_time(job, r, is_such, i, &name);
            const char *text = ns ? rs_pool_text(&s->pool, name) : NULL;
            if (!text) continue;
            rs_named *x = rs_names_put(calls, text, strlen(text));
            if (!x) {
                status = rs_fail_nomem(err, "diagnose");
                break;
            }
            x->n++;
            x->ns += (double)ns;
        }
        rs_free(is_such);
        RS_TRY(status);
    }
    return RS_OK;
}

rs_status rs_find_allocation(const rs_judged *job, const rs_fault_kind *fault, rs_candidates *out,
                             const char **lacks, rs_error *err)
{
    rs_names calls = {0};
    rs_named call;
    rs_candidate c = rs_candidate_of(fault, RS_VERDICT_FINDING);
    double steps = (double)rs_judged_all_steps(job->engine), ns = 0, n = 0;
    rs_text names = {0};
    bool ok = true;
    rs_status status = sum_allocations(job, &calls, err);
    if (status == RS_OK && !calls.n)
        *lacks = "no call in a step takes memory from the driver or gives it back";
    for (size_t i = 0; status == RS_OK && i < MOST_ALLOCATING && rs_names_take_most(&calls, &call); i++) {
        ns += call.ns;
        n += (double)call.n;
        ok = ok && rs_accuse_call(&c, call.text, call.length, out);
        rs_expr *s = rs_what_if_scale_to(&c.edits, 0);
        rs_selector_word(s, RS_SELECT_PART, RS_PART_OF_HOST);
        rs_selector_text(s, RS_SELECT_OPERATOR, RS_OP_EQ, call.text, call.length);
        if (rs_call_flags(call.text) & RS_CALL_DRAINS)
            rs_what_if_add_name(&c.edits, RS_EDIT_NO_SYNC, call.text, call.length, false);
        rs_text_printf(&names, "%s%s", names.n ? ", " : "", call.text);
    }
    rs_names_clear(&calls);
    ok = ok && rs_text_get(&names) &&
         (c.facts.among = rs_arena_strndup(&out->arena, rs_text_get(&names), names.n));
    rs_text_clear(&names);
    if (status != RS_OK || !c.n_culprits) {
        rs_what_if_clear(&c.edits);
        return status;
    }
    c.facts.ms = ns / 1e6 / steps;
    c.facts.n = n / steps;
    c.excess = ns / 1e3 / steps;
    return rs_candidate_add(out, &c, ok, err);
}

/* How much faster pinned memory is cannot be seen in the trace; it is twice as fast at least, and three times at most: copies take the middle of a third
 * and a half. */
#define PINNED 0.4167
#define PINNED_DOUBT 0.0833 /* either way */

rs_status rs_find_pageable_copy(const rs_judged *job, const rs_fault_kind *fault, rs_candidates *out,
                                const char **lacks, rs_error *err)
{
    static const char *const ways[] = {FROM_PAGEABLE, "> Pageable"};
    const rs_engine *e = job->engine;
    rs_candidate c = rs_candidate_of(fault, RS_VERDICT_FINDING);
    double whole = 0, all = 0, steps = (double)rs_judged_all_steps(e);
    bool any = false;
    for (size_t r = 0; r < e->n_ranks; r++) whole += (double)rs_sub_sat(e->ranks[r]->end, e->ranks[r]->start);
    for (size_t k = 0; k < sizeof ways / sizeof *ways; k++) {
        size_t waits = 0;
        double ns = 0;
        for (size_t r = 0; r < e->n_ranks; r++) {
            const rs_skeleton *s = e->ranks[r];
            for (uint32_t i = 1; i < s->n; i++) {
                uint32_t source = awaited(s, i);
                waits += source && is_copy(s, source, ways[k]);
                if (is_copy(s, i, ways[k])) ns += (double)rs_skeleton_duration(s, i);
            }
        }
        any |= ns > 0;
        if (ns <= PAGEABLE_SHARE * whole) continue;
        all += ns;
        if (waits) c.facts.among = "them";
        if (waits) rs_what_if_add_name(&c.edits, RS_EDIT_NO_SYNC, ways[k], strlen(ways[k]), false);
        rs_expr *copies = rs_what_if_scale_by(&c.edits, PINNED);
        rs_selector_word(copies, RS_SELECT_CLASS, RS_CLASS_OF_MEMORY);
        rs_selector_text(copies, RS_SELECT_NAME, RS_OP_HAS, ways[k], strlen(ways[k]));
    }
    if (!any) *lacks = "no copies from or to pageable memory";
    if (all <= 0) return RS_OK;
    c.facts.ms = all / 1e6 / steps;
    c.excess = all / 1e3 / steps;
    c.doubt = PINNED_DOUBT * c.excess;
    return rs_candidate_add(out, &c, true, err);
}
