/* Dependencies between streams that the traces do not tell: inner edges of CUDA graphs, ROCm, wait events
 * that the profiler drops.
 *
 * Work at position k of a role (roles.h) depends on that at position u of another stream of its device if
 *   - it is tight: k starts within `delta` behind the end of u, the last of its stream to end before. That is
 *     so in two instances at least, and in a third of those in which everything that the trace tells of k was
 *     over longer before: where something told explains the start, it says nothing of other causes;
 *   - it is never violated: in no instance, of which there are three or more, k starts before u has ended.
 * Where such an edge explains a start it takes the place of the cause that the skeleton had.
 *
 * Work that fills the device holds up work of other streams, too, but not until its end: when its last blocks run,
 * multiprocessors are free already, and what waits starts. Such a pair is occupied. It is tight where k had waited,
 * without anything that explains it, while u ran all the time, and started in the tail of u; it is violated where k
 * starts before that tail. How long before the end k starts is learned place by place. */
#include <string.h>

#include "base/interval.h"
#include "base/memory.h"
#include "base/stats.h"
#include "base/try.h"
#include "engine/infer.h"
#include "engine/roles.h"

#define MIN_INSTANCES 3
#define MAX_LANES 64     /* of one device; programs with more are left alone */
#define CLOCK_SLACK 1000 /* ns */
#define FEW_PAIRS 3      /* so many pairs show that delta fits */
/* ns: what waits for room on the device waits so long at least. Less may be a slow launch. */
#define LEAST_HELD 20000
/* The tail of work: so many ns before its end, or this share of its duration if that is more. */
#define LEAST_TAIL 20000
#define TAIL_SHARE 50
#define SHOWN 12000 /* ns: the longest delta, see look_at_role */

typedef struct pair {
    uint32_t u, k; /* positions */
    uint32_t n_tight;
    uint32_t of_fold[RS_SKELETON_FOLDS]; /* tight ones by fold of their step */
    bool refuted, occupied;              /* occupied: in some instance k starts in the tail of u */
    bool by_calls;                       /* by the order of calls, as other places show it */
} pair;

typedef struct finder {
    rs_engine *e;
    rs_roles roles;
    const rs_role *role;           /* that is looked at */
    size_t n;                      /* its instances */
    uint32_t begin[MAX_LANES + 1]; /* its streams' positions */
    size_t n_lanes;
    uint32_t (
        *open)[1 + RS_SKELETON_FOLDS]; /* by position: instances in which nothing told explains the start;
                                                then by fold of their steps */
    rs_map64 at;                       /* u << 32 | k: place in pairs */
    pair *pairs;
    size_t n_pairs, pairs_capacity;
    size_t added_capacity, inferred_capacity, leads_capacity;
} finder;

static const rs_skeleton *skeleton_of(const finder *f, const rs_instance *i)
{
    return f->e->ranks[i->rank];
}

static uint32_t node_at(const finder *f, const rs_instance *i, uint32_t position)
{
    return rs_instance_node(&f->roles, i, position);
}

static const rs_instance *instance_at(const finder *f, size_t i)
{
    return rs_role_instance(&f->roles, f->role, i);
}

static int64_t device_of(const finder *f, const rs_instance *i, uint32_t position)
{
    const rs_skeleton *s = skeleton_of(f, i);
    return s->lanes[rs_skeleton_at(s, node_at(f, i, position))->lane].device;
}

/* The streams of a role, as its first instance has them. false: too many. */
static bool split_lanes(finder *f)
{
    const rs_instance *i = instance_at(f, 0);
    const rs_skeleton *s = skeleton_of(f, i);
    f->n_lanes = 0;
    for (uint32_t p = 0; p < i->n; p++) {
        if (p && rs_skeleton_at(s, node_at(f, i, p))->lane == rs_skeleton_at(s, node_at(f, i, p - 1))->lane)
            continue;
        if (f->n_lanes == MAX_LANES) return false;
        f->begin[f->n_lanes++] = p;
    }
    f->begin[f->n_lanes] = i->n;
    return f->n_lanes > 1;
}

/* ---- pairs --------------------------------------------------------------------------------------------- */

/* The least time between what the trace tells of the causes of a node and its start. What was only guessed does not
 * count. */
static int64_t looseness(const rs_skeleton *s, uint32_t node)
{
    int64_t least = INT64_MAX;
    RS_EDGES_INTO(s, node, k) {
        const rs_skeleton_tie *tie = &s->ties[s->tie[k]];
        if (tie->origin == RS_ORIGIN_DEVICE || tie->origin == RS_ORIGIN_CALL || tie->part == RS_PART_PINNED)
            continue;
        const int64_t usual =
            tie->cost < RS_N_COSTS && s->all.least[tie->cost] > 0 ? s->all.least[tie->cost] : 0;
        int64_t over = rs_add_sat(rs_skeleton_source_time(s, rs_edge_source(s, k)),
                                  rs_add_sat(rs_edge_base(s, k), usual));
        int64_t beyond = rs_sub_sat(rs_skeleton_time(s, node), over);
        if (beyond < least) least = beyond;
    }
    return least;
}

static bool is_open(const finder *f, const rs_instance *i, uint32_t position, int64_t delta)
{
    return looseness(skeleton_of(f, i), node_at(f, i, position)) > delta;
}

static bool count_open(finder *f, int64_t delta)
{
    uint32_t length = instance_at(f, 0)->n;
    rs_free(f->open);
    f->open = rs_calloc(length + 1, sizeof *f->open);
    for (size_t i = 0; f->open && i < f->n; i++) {
        const rs_instance *in = instance_at(f, i);
        for (uint32_t p = 0; p < length; p++) {
            if (!is_open(f, in, p, delta)) continue;
            f->open[p][0]++;
            f->open[p][1 + in->step % RS_SKELETON_FOLDS]++;
        }
    }
    return f->open != NULL;
}

/* The pair of these positions, a new one where there was none; NULL: out of memory. */
static pair *pair_of(finder *f, uint32_t u, uint32_t k)
{
    bool is_new;
    uint32_t *slot = rs_map64_put(&f->at, (uint64_t)u << 32 | k, &is_new);
    if (!slot || (is_new && !RS_PUSH(f->pairs, f->n_pairs, f->pairs_capacity, (pair){.u = u, .k = k})))
        return NULL;
    if (is_new) *slot = (uint32_t)f->n_pairs - 1;
    return &f->pairs[*slot];
}

static bool count_tight(finder *f, uint32_t u, uint32_t k, uint32_t step, bool occupied)
{
    pair *p = pair_of(f, u, k);
    if (!p) return false;
    p->occupied |= occupied;
    p->n_tight++;
    p->of_fold[step % RS_SKELETON_FOLDS]++;
    return true;
}

static int64_t tail_of(const rs_skeleton *s, uint32_t node)
{
    int64_t tail = rs_skeleton_duration(s, node) / TAIL_SHARE;
    return tail > LEAST_TAIL ? tail : LEAST_TAIL;
}

/* Whether a node, which runs when another starts, filled the device until just then. Copies need no multiprocessor, and
 * communication takes few. */
static bool made_room(const rs_skeleton *s, uint32_t running, uint32_t node)
{
    int64_t lead = rs_sub_sat(rs_skeleton_end(s, running), rs_skeleton_time(s, node));
    if (rs_skeleton_at(s, running)->part != RS_PART_COMPUTE || rs_skeleton_at(s, node)->part == RS_PART_COPY)
        return false;
    if (lead <= 0 || lead > tail_of(s, running)) return false;
    int64_t waited = looseness(s, node);
    return waited != INT64_MAX && waited > LEAST_HELD && waited / 2 > lead &&
           rs_skeleton_time(s, running) <=
               rs_add_sat(rs_sub_sat(rs_skeleton_time(s, node), waited), CLOCK_SLACK);
}

/* Tight pairs of one instance: streams a -> b. Starts of b ascend, so a is walked once. */
static bool look_at(finder *f, const rs_instance *i, size_t a, size_t b, int64_t delta)
{
    const rs_skeleton *s = skeleton_of(f, i);
    uint32_t u = f->begin[a];
    if (device_of(f, i, f->begin[a]) != device_of(f, i, f->begin[b])) return true;
    for (uint32_t k = f->begin[b]; k < f->begin[b + 1]; k++) {
        uint32_t node = node_at(f, i, k);
        int64_t start = rs_skeleton_time(s, node);
        while (u < f->begin[a + 1] && rs_skeleton_end(s, node_at(f, i, u)) <= start) u++;
        int64_t gap =
            u == f->begin[a] ? INT64_MAX : rs_sub_sat(start, rs_skeleton_end(s, node_at(f, i, u - 1)));
        if (gap <= delta) {
            if (is_open(f, i, k, delta) && !count_tight(f, u - 1, k, i->step, false)) return false;
        } else if (u < f->begin[a + 1] && made_room(s, node_at(f, i, u), node)) {
            if (!count_tight(f, u, k, i->step, true)) return false;
        }
    }
    return true;
}

/* Whether in some instance k starts before u has ended, or before its tail. */
static bool is_contradicted(const finder *f, const pair *p)
{
    for (size_t i = 0; i < f->n; i++) {
        const rs_instance *in = instance_at(f, i);
        const rs_skeleton *s = skeleton_of(f, in);
        uint32_t u = node_at(f, in, p->u);
        int64_t end = rs_skeleton_end(s, u), start = rs_skeleton_time(s, node_at(f, in, p->k));
        if (p->occupied ? start < rs_sub_sat(end, tail_of(s, u)) || start < rs_skeleton_time(s, u)
                        : start < rs_sub_sat(end, CLOCK_SLACK))
            return true;
    }
    return false;
}

static void refute(finder *f)
{
    for (size_t p = 0; p < f->n_pairs; p++) {
        pair *q = &f->pairs[p];
        q->refuted = q->n_tight < 2 || (uint64_t)q->n_tight * 3 < f->open[q->k][0] || is_contradicted(f, q);
    }
}

static bool find_pairs(finder *f, int64_t delta, size_t *n)
{
    bool ok = count_open(f, delta);
    rs_map64_clear(&f->at);
    f->at = (rs_map64){0};
    f->n_pairs = 0;
    for (size_t i = 0; ok && i < f->n; i++)
        for (size_t a = 0; ok && a < f->n_lanes; a++)
            for (size_t b = 0; ok && b < f->n_lanes; b++)
                ok = a == b || look_at(f, instance_at(f, i), a, b, delta);
    if (ok) refute(f);
    *n = 0;
    for (size_t p = 0; ok && p < f->n_pairs; p++) *n += !f->pairs[p].refuted && !f->pairs[p].occupied;
    return ok;
}

/* ---- communication ------------------------------------------------------------------------------------- */

/* A pair that shows in no instance, as the host is late there, or that was not tight in enough of them. */
static bool add_by_calls(finder *f, uint32_t u, uint32_t k)
{
    pair *p = pair_of(f, u, k);
    if (!p) return false;
    p->by_calls = true;
    p->refuted = p->occupied = false;
    return true;
}

static bool may_wait(const finder *f, const rs_instance *in, uint32_t u, uint32_t k)
{
    return device_of(f, in, u) == device_of(f, in, k) && !is_contradicted(f, &(pair){.u = u, .k = k});
}

/* Work in the order in which it is launched. */
typedef struct callers {
    rs_keyed *calls;  /* key: when; value: position */
    uint32_t *thread; /* by position: the lane of the call */
    size_t n, n_comm;
} callers;

static bool is_comm(const finder *f, const rs_instance *in, uint32_t position)
{
    return rs_skeleton_at(skeleton_of(f, in), node_at(f, in, position))->part == RS_PART_TRANSFER;
}

/* What a graph launches is in its own order, and left out. */
static bool list_calls(const finder *f, const rs_instance *in, callers *c)
{
    const rs_skeleton *s = skeleton_of(f, in);
    c->calls = rs_malloc((in->n + 1) * sizeof *c->calls);
    c->thread = rs_malloc((in->n + 1) * sizeof *c->thread);
    if (!c->calls || !c->thread) return false;
    for (uint32_t p = 0; p < in->n; p++) {
        const uint32_t launch = rs_skeleton_launch_edge(s, node_at(f, in, p));
        if (launch == UINT32_MAX || rs_edge_cost(s, launch) % RS_N_WORK_KINDS == RS_WORK_GRAPH) continue;
        const uint32_t call = rs_edge_source(s, launch) >> 1;
        c->thread[p] = rs_skeleton_at(s, call)->lane;
        c->calls[c->n++] = (rs_keyed){rs_skeleton_time(s, call), p};
        c->n_comm += is_comm(f, in, p);
    }
    return true;
}

/* A process group has its stream wait for the current stream of the thread that calls it: that of the work which the thread
 * launched last. */
static bool follow_thread(finder *f, const rs_instance *in, const callers *c)
{
    const rs_skeleton *s = skeleton_of(f, in);
    RS_LOCAL uint32_t *last = rs_malloc((s->n_lanes + 1) * sizeof *last);
    for (size_t i = 0; last && i < s->n_lanes; i++) last[i] = UINT32_MAX;
    bool ok = last != NULL;
    for (size_t i = 0; ok && i < c->n; i++) {
        const uint32_t p = c->calls[i].value;
        uint32_t *of_thread = &last[c->thread[p]];
        if (!is_comm(f, in, p))
            *of_thread = p;
        else if (*of_thread != UINT32_MAX && may_wait(f, in, *of_thread, p))
            ok = add_by_calls(f, *of_thread, p);
    }
    return ok;
}

#define MIN_PLACES 2
#define MOST_CALLS 1000 /* so many after that of a collective are looked at */

/* Kernels of one name that wait for collectives of one name. */
static uint64_t way_of(const finder *f, const rs_instance *in, uint32_t u, uint32_t k)
{
    const rs_skeleton *s = skeleton_of(f, in);
    return (uint64_t)rs_skeleton_at(s, node_at(f, in, u))->name << 32 |
           rs_skeleton_at(s, node_at(f, in, k))->name;
}

/* Counts by way the pairs that show a wait for communication. waits, waited: by position whether it is in one. */
static bool count_ways(const finder *f, const rs_instance *in, rs_map64 *ways, uint8_t *waits,
                       uint8_t *waited)
{
    for (size_t p = 0; p < f->n_pairs; p++) {
        const pair *q = &f->pairs[p];
        bool is_new;
        if (q->refuted || q->occupied || !is_comm(f, in, q->u) || is_comm(f, in, q->k)) continue;
        uint32_t *count = rs_map64_put(ways, way_of(f, in, q->u, q->k), &is_new);
        if (!count) return false;
        *count = is_new ? 1 : *count + 1;
        waits[q->k] = waited[q->u] = 1;
    }
    return true;
}

/* Where some collectives of a name show which kernels wait for them, what waits for each of the others is the next kernel of that name
 * that is launched after it and waits for none yet. */
static bool follow_waits(finder *f, const rs_instance *in, const callers *c)
{
    RS_SCOPED(rs_map64_clear) rs_map64 ways = {0};
    RS_LOCAL uint8_t *waits = rs_calloc(in->n + 1, 1), *waited = rs_calloc(in->n + 1, 1);
    bool ok = waits && waited && count_ways(f, in, &ways, waits, waited);
    for (size_t i = 0; ok && i < c->n; i++) {
        const uint32_t u = c->calls[i].value;
        for (size_t j = i + 1; ok && is_comm(f, in, u) && !waited[u] && j < c->n && j - i <= MOST_CALLS;
             j++) {
            const uint32_t k = c->calls[j].value, *count = rs_map64_get(&ways, way_of(f, in, u, k));
            if (waits[k] || is_comm(f, in, k) || !count || *count < MIN_PLACES || !may_wait(f, in, u, k))
                continue;
            waits[k] = waited[u] = 1;
            ok = add_by_calls(f, u, k);
        }
    }
    return ok;
}

static bool follow_calls(finder *f)
{
    const rs_instance *in = instance_at(f, 0);
    callers c = {0};
    bool ok =
        list_calls(f, in, &c) &&
        (!c.n_comm || (rs_keyed_sort(c.calls, c.n) && follow_waits(f, in, &c) && follow_thread(f, in, &c)));
    rs_free_all(c.calls, c.thread);
    return ok;
}

/* ---- edges --------------------------------------------------------------------------------------------- */

static uint8_t cost_of_target(const rs_skeleton *s, uint32_t node)
{
    RS_EDGES_INTO(s, node, k)
        if (rs_edge_cost(s, k) < RS_COST_ANSWER)
            return (uint8_t)(RS_COST_EVENT + rs_edge_cost(s, k) % RS_N_WORK_KINDS);
    return RS_COST_EVENT;
}

static uint8_t folds_of(const finder *f, const pair *p)
{
    uint8_t folds = 0;
    for (unsigned k = 0; k < RS_SKELETON_FOLDS; k++) {
        size_t left = 0;
        for (size_t i = 0; i < f->n; i++) left += instance_at(f, i)->step % RS_SKELETON_FOLDS != k;
        uint32_t tight = p->n_tight - p->of_fold[k], open = f->open[p->k][0] - f->open[p->k][1 + k];
        if (left >= MIN_INSTANCES && (p->by_calls || (tight >= 2 && (uint64_t)tight * 3 >= open)))
            folds |= (uint8_t)(1u << k);
    }
    return folds;
}

static int64_t median_of(int64_t *values, size_t n)
{
    return n ? rs_select_number(values, n, n / 2) : RS_NO_COST;
}

/* How long before the end of its source the target of an occupied pair starts, where that made room for it. */
static bool add_lead(finder *f, const pair *p)
{
    int64_t *leads = rs_malloc(2 * (f->n + 1) * sizeof *leads), *some = leads ? leads + f->n + 1 : NULL;
    RS_LOCAL uint32_t *folds = rs_malloc((f->n + 1) * sizeof *folds);
    size_t n = 0;
    rs_engine *e = f->e;
    rs_lead out = {.longest = 0};
    bool ok = leads && folds && RS_GROW_ONE(e->leads, e->n_leads, f->leads_capacity);
    for (size_t i = 0; ok && i < f->n; i++) {
        const rs_instance *in = instance_at(f, i);
        const rs_skeleton *s = skeleton_of(f, in);
        uint32_t u = node_at(f, in, p->u), k = node_at(f, in, p->k);
        int64_t lead = rs_sub_sat(rs_skeleton_end(s, u), rs_skeleton_time(s, k));
        if (lead > out.longest) out.longest = lead;
        if (!made_room(s, u, k)) continue;
        folds[n] = in->step % RS_SKELETON_FOLDS;
        leads[n++] = lead;
    }
    for (unsigned fold = 0; ok && fold < RS_SKELETON_FOLDS; fold++) {
        size_t n_some = 0;
        for (size_t i = 0; i < n; i++)
            if (folds[i] != fold) some[n_some++] = leads[i];
        out.without[fold] = median_of(some, n_some);
    }
    if (ok) {
        out.typical = median_of(leads, n);
        e->leads[e->n_leads++] = out;
    }
    rs_free(leads);
    return ok;
}

static bool add_pair(finder *f, const pair *p)
{
    rs_engine *e = f->e;
    uint8_t folds = folds_of(f, p);
    const rs_instance *first = instance_at(f, 0);
    if (p->occupied && !add_lead(f, p)) return false;
    if (!RS_GROW_ONE(e->inferred, e->n_inferred, f->inferred_capacity)) return false;
    e->inferred[e->n_inferred] = (rs_inferred){.rank = first->rank,
                                               .source = e->node_base[first->rank] + node_at(f, first, p->u),
                                               .target = e->node_base[first->rank] + node_at(f, first, p->k),
                                               .n_tight = p->n_tight,
                                               .n = (uint32_t)f->n,
                                               .lead = p->occupied ? (uint32_t)e->n_leads - 1 : RS_NO_LEAD};
    for (size_t i = 0; i < f->n; i++) {
        const rs_instance *in = instance_at(f, i);
        const rs_skeleton *s = skeleton_of(f, in);
        uint32_t u = node_at(f, in, p->u), k = node_at(f, in, p->k), base = e->node_base[in->rank];
        int64_t gap = rs_sub_sat(rs_skeleton_time(s, k), rs_skeleton_end(s, u));
        uint8_t cost = cost_of_target(s, k);
        int64_t usual = s->all.least[cost] > 0 ? s->all.least[cost] : 0;
        if (gap < 0 && !p->occupied) continue;
        const bool shows = !p->by_calls || gap <= SHOWN;
        if (!RS_PUSH(e->added, e->n_added, f->added_capacity,
                     (rs_added_edge){.source = base + u,
                                     .target = base + k,
                                     .cost = cost,
                                     .binds = gap < 0 ? made_room(s, u, k)
                                                      : shows && rs_sub_sat(gap, usual) < looseness(s, k),
                                     .occupied = p->occupied,
                                     .folds = folds,
                                     .place = (uint32_t)e->n_inferred}))
            return false;
        e->kind[base + k] |= RS_ENGINE_ADDED;
    }
    e->n_inferred++;
    return true;
}

/* delta as the told waits have it; where there are none, the first that yields pairs. */
static bool look_at_role(finder *f)
{
    static const int64_t deltas[] = {1500, 3000, 6000, SHOWN};
    int64_t told = skeleton_of(f, instance_at(f, 0))->told_gap;
    size_t n = 0;
    bool ok = true;
    if (told != RS_NO_COST) ok = find_pairs(f, told, &n);
    for (size_t d = 0; ok && told == RS_NO_COST && d < 4 && n < FEW_PAIRS; d++)
        ok = find_pairs(f, deltas[d], &n);
    ok = ok && follow_calls(f);
    for (size_t p = 0; ok && p < f->n_pairs; p++)
        if (!f->pairs[p].refuted) ok = add_pair(f, &f->pairs[p]);
    return ok;
}

/* Of sources that have ended the latest explains a start best; of those that leave room before their end, the one that
 * ends next, if none has ended. */
static bool explains_better(int64_t end, int64_t than, int64_t start)
{
    if (end <= start) return than > start || end > than;
    return than > start && end < than;
}

/* Of several added edges into one node the one that explains its start best binds. */
static bool sort_added(rs_engine *e)
{
    RS_LOCAL rs_keyed *keys = rs_malloc((e->n_added + 1) * sizeof *keys);
    rs_added_edge *sorted = rs_malloc((e->n_added + 1) * sizeof *sorted);
    bool ok = keys && sorted;
    for (uint32_t i = 0; ok && i < e->n_added; i++) keys[i] = (rs_keyed){e->added[i].source, i};
    ok = ok && rs_keyed_sort(keys, e->n_added);
    for (size_t i = 0; ok && i < e->n_added; i++) keys[i].key = e->added[keys[i].value].target;
    ok = ok && rs_keyed_sort(keys, e->n_added);
    for (size_t i = 0; ok && i < e->n_added; i++) sorted[i] = e->added[keys[i].value];
    for (size_t i = 0, next; ok && i < e->n_added; i = next) {
        size_t best = SIZE_MAX, rank = rs_engine_rank_of(e, sorted[i].target);
        const rs_skeleton *s = e->ranks[rank];
        uint32_t base = e->node_base[rank];
        for (next = i; next < e->n_added && sorted[next].target == sorted[i].target; next++) {
            if (!sorted[next].binds) continue;
            int64_t end = rs_skeleton_end(s, sorted[next].source - base);
            if (best == SIZE_MAX || explains_better(end, rs_skeleton_end(s, sorted[best].source - base),
                                                    rs_skeleton_time(s, sorted[next].target - base)))
                best = next;
        }
        for (size_t k = i; k < next; k++) sorted[k].binds = k == best;
    }
    if (!ok) {
        rs_free(sorted);
        return false;
    }
    rs_free(e->added);
    e->added = sorted;
    return true;
}

rs_status rs_engine_infer(rs_engine *e, rs_error *err)
{
    finder f = {.e = e};
    bool ok = true;
    RS_TRY(rs_roles_find(e->ranks, e->n_ranks, &f.roles, err));
    for (size_t i = 0; ok && i < f.roles.n_roles; i++) {
        f.role = &f.roles.roles[i];
        f.n = f.role->n;
        if (f.n >= MIN_INSTANCES && split_lanes(&f)) ok = look_at_role(&f);
    }
    ok = ok && sort_added(e);
    rs_roles_clear(&f.roles);
    rs_free_all(f.pairs, f.open);
    rs_map64_clear(&f.at);
    return ok ? RS_OK : rs_fail_nomem(err, "inferred dependencies");
}
