/* Dependencies between streams that the traces do not tell: inner edges of CUDA graphs, ROCm, wait events
 * that the profiler drops.
 *
 * A step of a rank is an instance of a role: instances with the same kernels on the same streams in the same
 * order belong to one role, whatever rank or step. A position is a place in that order. Work at position k
 * depends on that at position u of another stream of its device if
 *   - it is tight: in a third of all instances, and in two at least, k starts within `delta` behind the end of
 *     u while everything that the trace tells of it was over longer than that; u is the last of its stream to
 *     end before k starts;
 *   - it is never violated: in no instance, of which there are three or more, k starts before u has ended.
 * Where such an edge explains a start it takes the place of the cause that the skeleton had. */
#include <string.h>

#include "base/interval.h"
#include "base/memory.h"
#include "base/try.h"
#include "engine/infer.h"

#define MIN_INSTANCES 3
#define MAX_LANES 64     /* of one device; programs with more are left alone */
#define CLOCK_SLACK 1000 /* ns */
#define FEW_PAIRS 3      /* so many pairs show that delta fits */

typedef struct instance {
    uint32_t rank, step;
    uint32_t first, n; /* in list */
    uint64_t hash;
} instance;

typedef struct pair {
    uint32_t u, k; /* positions */
    uint32_t n_tight;
    uint32_t of_fold[RS_SKELETON_FOLDS]; /* tight ones by fold of their step */
    bool refuted;
} pair;

typedef struct finder {
    rs_engine *e;
    uint32_t *list; /* nodes, local to their rank: by rank, step, stream, then time */
    instance *instances;
    size_t n_instances, capacity;
    const uint32_t *role; /* instances of the role that is looked at */
    size_t n;
    uint32_t begin[MAX_LANES + 1]; /* its streams' positions */
    size_t n_lanes;
    rs_map64 at; /* u << 32 | k: place in pairs */
    pair *pairs;
    size_t n_pairs, pairs_capacity;
    size_t added_capacity, inferred_capacity;
} finder;

static const rs_skeleton *skeleton_of(const finder *f, const instance *i)
{
    return f->e->ranks[i->rank];
}

static uint32_t node_at(const finder *f, const instance *i, uint32_t position)
{
    return f->list[i->first + position];
}

/* ---- instances and roles ------------------------------------------------------------------------------- */

/* By lane: its place among the streams of the rank, in order of device and number. false when out of memory. */
static bool order_lanes(const rs_skeleton *s, uint32_t *place)
{
    rs_keyed *keys = rs_malloc((s->n_lanes + 1) * sizeof *keys);
    bool ok = keys != NULL;
    for (uint32_t i = 0; ok && i < s->n_lanes; i++) keys[i] = (rs_keyed){s->lanes[i].stream, i};
    ok = ok && rs_keyed_sort(keys, s->n_lanes);
    for (size_t i = 0; ok && i < s->n_lanes; i++) keys[i].key = s->lanes[keys[i].value].device;
    ok = ok && rs_keyed_sort(keys, s->n_lanes);
    for (uint32_t i = 0; ok && i < s->n_lanes; i++) place[keys[i].value] = i;
    rs_free(keys);
    return ok;
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

/* Adds the instances of a rank; its work is put into list at *at. */
static bool add_rank(finder *f, uint32_t rank, size_t *at)
{
    const rs_skeleton *s = f->e->ranks[rank];
    uint32_t *place = rs_malloc((s->n_lanes + 1) * sizeof *place);
    uint64_t *names = rs_malloc((s->pool.strings.n + 1) * sizeof *names);
    rs_keyed *keys = rs_malloc((s->n + 1) * sizeof *keys);
    size_t n = 0;
    bool ok = place && names && keys && order_lanes(s, place);
    for (size_t i = 0; ok && i < s->pool.strings.n; i++)
        names[i] = rs_hash_bytes(s->pool.strings.items[i].text, s->pool.strings.items[i].length);
    for (uint32_t i = 0; ok && i < s->n; i++)
        if ((s->flags[i] & RS_NODE_WORK) && s->step[i] >= 0)
            keys[n++] = (rs_keyed){((int64_t)s->step[i] << 20) + place[s->lane[i]], i};
    ok = ok && rs_keyed_sort(keys, n);
    for (size_t i = 0; ok && i < n; i++) {
        uint32_t node = keys[i].value, step = (uint32_t)s->step[node];
        bool fresh = i == 0 || (uint32_t)s->step[keys[i - 1].value] != step;
        if (fresh) {
            ok = RS_GROW_ONE(f->instances, f->n_instances, f->capacity);
            if (!ok) break;
            f->instances[f->n_instances++] = (instance){.rank = rank, .step = step, .first = (uint32_t)*at};
        }
        instance *in = &f->instances[f->n_instances - 1];
        f->list[(*at)++] = node;
        in->n++;
        in->hash = mix(in->hash, (uint64_t)s->lanes[s->lane[node]].stream);
        in->hash = mix(in->hash, s->name[node] == RS_NO_STRING ? 0 : names[s->name[node]]);
    }
    rs_free(place);
    rs_free(names);
    rs_free(keys);
    return ok;
}

/* The streams of a role, as its first instance has them. false: too many. */
static bool split_lanes(finder *f)
{
    const instance *i = &f->instances[f->role[0]];
    const rs_skeleton *s = skeleton_of(f, i);
    f->n_lanes = 0;
    for (uint32_t p = 0; p < i->n; p++) {
        if (p && s->lane[node_at(f, i, p)] == s->lane[node_at(f, i, p - 1)]) continue;
        if (f->n_lanes == MAX_LANES) return false;
        f->begin[f->n_lanes++] = p;
    }
    f->begin[f->n_lanes] = i->n;
    return f->n_lanes > 1;
}

/* ---- pairs --------------------------------------------------------------------------------------------- */

/* The least time between what the trace tells of the causes of a node and its start. What was only guessed
 * from a busy device does not count. */
static int64_t looseness(const rs_skeleton *s, uint32_t node)
{
    int64_t least = INT64_MAX;
    for (uint32_t k = s->first[node]; k < s->first[node + 1]; k++) {
        if (s->origin[k] == RS_ORIGIN_DEVICE || s->edge_part[k] == RS_PART_PINNED) continue;
        int64_t usual =
            s->cost[k] < RS_N_COSTS && s->all.least[s->cost[k]] > 0 ? s->all.least[s->cost[k]] : 0;
        int64_t over = rs_add_sat(rs_skeleton_source_time(s, s->source[k]), rs_add_sat(s->base[k], usual));
        int64_t beyond = rs_sub_sat(s->time[node], over);
        if (beyond < least) least = beyond;
    }
    return least;
}

static bool count_tight(finder *f, uint32_t u, uint32_t k, uint32_t step)
{
    bool is_new;
    uint32_t *slot = rs_map64_put(&f->at, (uint64_t)u << 32 | k, &is_new);
    if (!slot) return false;
    if (is_new) {
        if (!RS_GROW_ONE(f->pairs, f->n_pairs, f->pairs_capacity)) return false;
        *slot = (uint32_t)f->n_pairs;
        f->pairs[f->n_pairs++] = (pair){.u = u, .k = k};
    }
    f->pairs[*slot].n_tight++;
    f->pairs[*slot].of_fold[step % RS_SKELETON_FOLDS]++;
    return true;
}

/* Tight pairs of one instance: streams a -> b. Starts of b ascend, so a is walked once. */
static bool look_at(finder *f, const instance *i, size_t a, size_t b, int64_t delta)
{
    const rs_skeleton *s = skeleton_of(f, i);
    uint32_t u = f->begin[a];
    if (s->lanes[s->lane[node_at(f, i, f->begin[a])]].device !=
        s->lanes[s->lane[node_at(f, i, f->begin[b])]].device)
        return true;
    for (uint32_t k = f->begin[b]; k < f->begin[b + 1]; k++) {
        uint32_t node = node_at(f, i, k);
        int64_t start = s->time[node];
        while (u < f->begin[a + 1] && rs_skeleton_end(s, node_at(f, i, u)) <= start) u++;
        if (u == f->begin[a]) continue;
        int64_t gap = rs_sub_sat(start, rs_skeleton_end(s, node_at(f, i, u - 1)));
        if (gap > delta || looseness(s, node) <= delta) continue;
        if (!count_tight(f, u - 1, k, i->step)) return false;
    }
    return true;
}

static void refute(finder *f)
{
    for (size_t p = 0; p < f->n_pairs; p++) {
        pair *q = &f->pairs[p];
        q->refuted = q->n_tight < 2 || (size_t)q->n_tight * 3 < f->n;
        for (size_t i = 0; !q->refuted && i < f->n; i++) {
            const instance *in = &f->instances[f->role[i]];
            const rs_skeleton *s = skeleton_of(f, in);
            int64_t end = rs_skeleton_end(s, node_at(f, in, q->u));
            q->refuted = s->time[node_at(f, in, q->k)] < rs_sub_sat(end, CLOCK_SLACK);
        }
    }
}

static bool find_pairs(finder *f, int64_t delta, size_t *n)
{
    bool ok = true;
    rs_map64_clear(&f->at);
    f->at = (rs_map64){0};
    f->n_pairs = 0;
    for (size_t i = 0; ok && i < f->n; i++)
        for (size_t a = 0; ok && a < f->n_lanes; a++)
            for (size_t b = 0; ok && b < f->n_lanes; b++)
                ok = a == b || look_at(f, &f->instances[f->role[i]], a, b, delta);
    if (ok) refute(f);
    *n = 0;
    for (size_t p = 0; ok && p < f->n_pairs; p++) *n += !f->pairs[p].refuted;
    return ok;
}

/* ---- edges --------------------------------------------------------------------------------------------- */

static uint8_t cost_of_target(const rs_skeleton *s, uint32_t node)
{
    for (uint32_t k = s->first[node]; k < s->first[node + 1]; k++)
        if (s->cost[k] < RS_COST_ANSWER) return (uint8_t)(RS_COST_EVENT + s->cost[k] % RS_N_WORK_KINDS);
    return RS_COST_EVENT;
}

static uint8_t folds_of(const finder *f, const pair *p)
{
    uint8_t folds = 0;
    for (unsigned k = 0; k < RS_SKELETON_FOLDS; k++) {
        size_t left = 0;
        for (size_t i = 0; i < f->n; i++) left += f->instances[f->role[i]].step % RS_SKELETON_FOLDS != k;
        uint32_t tight = p->n_tight - p->of_fold[k];
        if (left >= MIN_INSTANCES && tight >= 2 && (size_t)tight * 3 >= left) folds |= (uint8_t)(1u << k);
    }
    return folds;
}

static bool add_pair(finder *f, const pair *p)
{
    rs_engine *e = f->e;
    uint8_t folds = folds_of(f, p);
    const instance *first = &f->instances[f->role[0]];
    if (!RS_GROW_ONE(e->inferred, e->n_inferred, f->inferred_capacity)) return false;
    e->inferred[e->n_inferred] = (rs_inferred){.rank = first->rank,
                                               .source = e->node_base[first->rank] + node_at(f, first, p->u),
                                               .target = e->node_base[first->rank] + node_at(f, first, p->k),
                                               .n_tight = p->n_tight,
                                               .n = (uint32_t)f->n};
    for (size_t i = 0; i < f->n; i++) {
        const instance *in = &f->instances[f->role[i]];
        const rs_skeleton *s = skeleton_of(f, in);
        uint32_t u = node_at(f, in, p->u), k = node_at(f, in, p->k), base = e->node_base[in->rank];
        int64_t gap = rs_sub_sat(s->time[k], rs_skeleton_end(s, u));
        uint8_t cost = cost_of_target(s, k);
        int64_t usual = s->all.least[cost] > 0 ? s->all.least[cost] : 0;
        if (gap < 0) continue;
        if (!RS_GROW_ONE(e->added, e->n_added, f->added_capacity)) return false;
        e->added[e->n_added++] = (rs_added_edge){.source = base + u,
                                                 .target = base + k,
                                                 .cost = cost,
                                                 .binds = rs_sub_sat(gap, usual) < looseness(s, k),
                                                 .folds = folds,
                                                 .place = (uint32_t)e->n_inferred};
        e->kind[base + k] |= RS_ENGINE_ADDED;
    }
    e->n_inferred++;
    return true;
}

/* delta as the told waits have it; where there are none, the first that yields pairs. */
static bool look_at_role(finder *f)
{
    static const int64_t deltas[] = {1500, 3000, 6000, 12000};
    int64_t told = skeleton_of(f, &f->instances[f->role[0]])->told_gap;
    size_t n = 0;
    bool ok = true;
    if (told != RS_NO_COST) ok = find_pairs(f, told, &n);
    for (size_t d = 0; ok && told == RS_NO_COST && d < 4 && n < FEW_PAIRS; d++)
        ok = find_pairs(f, deltas[d], &n);
    for (size_t p = 0; ok && p < f->n_pairs; p++)
        if (!f->pairs[p].refuted) ok = add_pair(f, &f->pairs[p]);
    return ok;
}

/* Of several added edges into one node the one from the latest end binds. */
static bool sort_added(rs_engine *e)
{
    rs_keyed *keys = rs_malloc((e->n_added + 1) * sizeof *keys);
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
            bool later = best == SIZE_MAX || rs_skeleton_end(s, sorted[next].source - base) >
                                                 rs_skeleton_end(s, sorted[best].source - base);
            if (sorted[next].binds && later) best = next;
        }
        for (size_t k = i; k < next; k++) sorted[k].binds = k == best;
    }
    rs_free(keys);
    if (!ok) {
        rs_free(sorted);
        return false;
    }
    rs_free(e->added);
    e->added = sorted;
    return true;
}

static bool find_all(finder *f)
{
    rs_keyed *keys = rs_malloc((f->n_instances + 1) * sizeof *keys);
    uint32_t *order = rs_malloc((f->n_instances + 1) * sizeof *order);
    bool ok = keys && order;
    for (uint32_t i = 0; ok && i < f->n_instances; i++)
        keys[i] = (rs_keyed){(int64_t)f->instances[i].hash, i};
    ok = ok && rs_keyed_sort(keys, f->n_instances);
    for (size_t i = 0; ok && i < f->n_instances; i++) order[i] = keys[i].value;
    for (size_t i = 0, next; ok && i < f->n_instances; i = next) {
        const instance *first = &f->instances[order[i]];
        for (next = i; next < f->n_instances && f->instances[order[next]].hash == first->hash &&
                       f->instances[order[next]].n == first->n;
             next++) {
        }
        f->role = order + i;
        f->n = next - i;
        if (f->n >= MIN_INSTANCES && split_lanes(f)) ok = look_at_role(f);
    }
    rs_free(keys);
    rs_free(order);
    return ok;
}

rs_status rs_engine_infer(rs_engine *e, rs_error *err)
{
    finder f = {.e = e, .list = rs_malloc((e->n_nodes + 1) * sizeof *f.list)};
    size_t at = 0;
    bool ok = f.list != NULL;
    for (uint32_t r = 0; ok && r < e->n_ranks; r++) ok = add_rank(&f, r, &at);
    ok = ok && find_all(&f) && sort_added(e);
    rs_free(f.list);
    rs_free(f.instances);
    rs_free(f.pairs);
    rs_map64_clear(&f.at);
    return ok ? RS_OK : rs_fail_nomem(err, "inferred dependencies");
}
