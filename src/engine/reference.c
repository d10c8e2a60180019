#include "engine/reference.h"

#include <stdlib.h>
#include <string.h>

#include "base/interval.h"
#include "base/memory.h"
#include "base/order.h"
#include "base/real.h"
#include "base/stats.h"
#include "base/strings.h"
#include "base/try.h"

void rs_reference_clear(rs_reference *r)
{
    rs_weights_clear(&r->balance);
    rs_weights_clear(&r->repair);
    rs_weights_clear(&r->peers);
    rs_weights_clear(&r->next);
    rs_free_all(r->shared, r->role, r->group, r->group_transfer);
    *r = (rs_reference){0};
}

/* ---- strands: what one stream or thread of a rank did in a step ------------------------------------------ */

/* One thing that is compared: the time of a piece of work, or of host time: of a stretch between two points, and on a rank
 * without a GPU of all stretches up to the next submission of communication, as only there the same points are on all
 * ranks. */
typedef struct item {
    uint64_t name;    /* a hash of its text */
    uint32_t local;   /* node */
    uint32_t edge, n; /* in edges; n = 0: the node's own work */
    int32_t step;
    uint16_t lane;
} item;

typedef struct strand {
    uint64_t key;
    uint32_t rank, first, n; /* items */
    int32_t step;
    uint16_t lane;
    bool is_thread;
} strand;

typedef struct finder {
    const rs_engine *e;
    const rs_weights *w;
    bool all;
    rs_reference *out;
    item *items;
    size_t n_items;
    uint32_t *edges; /* of their ranks */
    size_t n_edges;
    strand *strands;
    size_t n, capacity;
    uint64_t *program; /* by rank: a hash of what its steps run */
    uint32_t *n_alike; /* by role: its ranks */
    int64_t *values;   /* scratch */
    rs_keyed *sorted;  /* values of a place in the program, and the strand of the group */
    size_t n_scratch;
} finder;

static uint64_t hash_text(const rs_pool *pool, uint32_t text)
{
    const char *t = rs_pool_text(pool, text);
    return t ? rs_hash_bytes(t, strlen(t)) : 0;
}

static uint64_t mix(uint64_t sum, uint64_t value)
{
    return rs_hash_u64(sum * 31 + value);
}

/* The stretch of host time before a point, on its own thread. */
static uint32_t host_edge(const rs_skeleton *s, uint32_t point)
{
    RS_EDGES_INTO(s, point, k) {
        bool host = rs_edge_part(s, k) == RS_PART_HOST || rs_edge_part(s, k) == RS_PART_LOADER;
        uint32_t from = rs_edge_source(s, k) >> 1;
        if (host && rs_edge_cost(s, k) == RS_COST_NONE && rs_edge_origin(s, k) == RS_ORIGIN_ORDER &&
            (from == 0 || rs_skeleton_at(s, from)->lane == rs_skeleton_at(s, point)->lane))
            return k;
    }
    return RS_NO_CAUSE;
}

static bool add_strand(finder *f, strand one)
{
    return RS_PUSH(f->strands, f->n, f->capacity, one);
}

/* The strands of one step: their keys hold what all streams of the step run. A stream is known by what it runs: its number,
 * and when it was first used, differ between ranks that do the same. */
static void set_keys(finder *f, size_t from)
{
    uint64_t program = 0;
    for (size_t i = from; i < f->n; i++) {
        strand *one = &f->strands[i];
        one->key = one->is_thread;
        for (uint32_t k = one->first; k < one->first + one->n; k++)
            one->key = mix(one->key, f->items[k].name);
        if (!one->is_thread) program += rs_hash_u64(one->key); /* whatever the order of streams */
    }
    for (size_t i = from; i < f->n; i++) f->strands[i].key = mix(f->strands[i].key, program);
    if (from == f->n) return;
    const strand *one = &f->strands[from];
    const rs_skeleton *s = f->e->ranks[one->rank];
    if (one->step == (int32_t)(s->n_steps / 2) || (!s->n_steps && one->step < 0))
        f->program[one->rank] = program;
}

/* By point: communication is submitted there. NULL: out of memory. */
static uint8_t *mark_submissions(const rs_skeleton *s)
{
    uint8_t *out = rs_calloc(s->n + 1, 1);
    for (uint32_t i = 1; out && s->comm->on_host && i < s->n; i++)
        if (rs_skeleton_is_work(s, i))
            RS_EDGES_INTO(s, i, k)
                if (rs_edge_part(s, k) == RS_PART_HOST) out[rs_edge_source(s, k) >> 1] = 1;
    return out;
}

/* The host time that ends in a point of a rank without a GPU, whatever it follows. */
static uint32_t own_edge(const rs_skeleton *s, uint32_t point)
{
    uint32_t k = rs_skeleton_first(s, point);
    bool host = k < rs_skeleton_first(s, point + 1) &&
                (rs_edge_part(s, k) == RS_PART_HOST || rs_edge_part(s, k) == RS_PART_LOADER);
    return host ? k : RS_NO_CAUSE;
}

/* What is compared of a rank, by step, then lane, then time. edges: room for one a node. */
static bool add_items(finder *f, const rs_skeleton *s, rs_keyed *order, uint32_t *edges,
                      const uint64_t *names)
{
    RS_LOCAL uint8_t *submits = mark_submissions(s);
    bool on_host = s->comm->on_host, open = false;
    uint32_t submitted = 0; /* the point before, where it submits; 0: it does not */
    if (!submits) return false;
    size_t n = 0;
    for (uint32_t i = 1; i < s->n; i++) {
        bool work = rs_skeleton_is_work(s, i);
        edges[i] = work ? RS_NO_CAUSE : on_host ? own_edge(s, i) : host_edge(s, i);
        if (work || edges[i] != RS_NO_CAUSE) order[n++] = (rs_keyed){rs_skeleton_time(s, i), i};
    }
    if (!rs_keyed_sort(order, n)) return false;
    for (size_t k = 0; k < n; k++) {
        uint32_t i = order[k].value;
        order[k].key =
            ((int64_t)rs_skeleton_step_of(s, i) + 1) * (UINT16_MAX + 1) + rs_skeleton_at(s, i)->lane;
    }
    if (!rs_keyed_sort(order, n)) return false;
    for (size_t k = 0; k < n; k++) {
        uint32_t i = order[k].value, name = rs_skeleton_at(s, i)->name;
        uint64_t hash = name < s->pool.strings.n ? names[name] : 0;
        /* The work may begin before its call returns, or after: the rest of the call belongs to its stretch. */
        bool returns = submitted && edges[i] != RS_NO_CAUSE && !submits[i] &&
                       rs_edge_source(s, edges[i]) >> 1 == submitted &&
                       name == rs_skeleton_at(s, submitted)->name;
        item *last = open || returns ? &f->items[f->n_items - 1] : NULL;
        if (!last || last->step != rs_skeleton_step_of(s, i) || last->lane != rs_skeleton_at(s, i)->lane) {
            f->items[f->n_items++] = (item){on_host && edges[i] != RS_NO_CAUSE ? 0 : hash,
                                            i,
                                            (uint32_t)f->n_edges,
                                            0,
                                            rs_skeleton_step_of(s, i),
                                            rs_skeleton_at(s, i)->lane};
            last = &f->items[f->n_items - 1];
        }
        if (edges[i] != RS_NO_CAUSE) {
            last->n++;
            f->edges[f->n_edges++] = edges[i];
        }
        if (submits[i]) last->name = hash;
        open = on_host && edges[i] != RS_NO_CAUSE && !submits[i] && !returns;
        submitted = submits[i] ? i : 0;
    }
    return true;
}

static rs_status add_strands(finder *f, uint32_t rank, size_t begin, rs_error *err)
{
    const rs_skeleton *s = f->e->ranks[rank];
    size_t from = f->n;
    for (size_t i = begin, k; i < f->n_items; i = k) {
        const item *one = &f->items[i];
        for (k = i + 1; k < f->n_items && f->items[k].step == one->step && f->items[k].lane == one->lane;)
            k++;
        if (f->n > from && f->strands[from].step != one->step) {
            set_keys(f, from);
            from = f->n;
        }
        if (!add_strand(f, (strand){0, rank, (uint32_t)i, (uint32_t)(k - i), one->step, one->lane,
                                    s->lanes[one->lane].is_thread}))
            return rs_fail_nomem(err, "references");
    }
    set_keys(f, from);
    return RS_OK;
}

static rs_status add_rank(finder *f, uint32_t rank, rs_error *err)
{
    const rs_skeleton *s = f->e->ranks[rank];
    size_t begin = f->n_items;
    RS_LOCAL rs_keyed *order = rs_malloc((s->n + 1) * sizeof *order);
    RS_LOCAL uint32_t *edges = rs_malloc((s->n + 1) * sizeof *edges);
    RS_LOCAL uint64_t *names = rs_pool_hashes(&s->pool);
    bool ok = order && edges && names && add_items(f, s, order, edges, names);
    return ok ? add_strands(f, rank, begin, err) : rs_fail_nomem(err, "references");
}

static const rs_order compare_strands[] = {RS_RISING(strand, key), RS_RISING(strand, n),
                                           RS_RISING(strand, rank), RS_RISING(strand, step),
                                           RS_RISING(strand, first)};

/* ---- references of one key ------------------------------------------------------------------------------- */

static const rs_order compare_numbers[] = {RS_RISING_VALUE(int64_t)};

/* The lower one of two middle values. */
static int64_t lower_median(int64_t *values, size_t n)
{
    return rs_select_number(values, n, (n - 1) / 2);
}

static int64_t *slot(const finder *f, const rs_weights *w, const strand *s, const item *i, uint32_t k)
{
    if (!i->n) return &w->work[f->e->node_base[s->rank] + i->local];
    return &w->edge[f->e->edge_base[s->rank] + f->edges[i->edge + k]];
}

static int64_t recorded(const finder *f, const strand *s, uint32_t position)
{
    const item *i = &f->items[s->first + position];
    int64_t sum = *slot(f, f->w, s, i, 0);
    for (uint32_t k = 1; k < i->n; k++) sum = rs_add_sat(sum, *slot(f, f->w, s, i, k));
    return sum;
}

/* Of several stretches the longest takes the difference: what makes a sum exceed its peers' is mostly in one of them. What
 * it can not take the others do, in their order. */
static void put(const finder *f, rs_weights *w, const strand *s, uint32_t position, int64_t ns)
{
    const item *i = &f->items[s->first + position];
    uint32_t longest = 0;
    if (!w->work) return; /* not asked for */
    for (uint32_t k = 1; k < i->n; k++)
        if (*slot(f, f->w, s, i, k) > *slot(f, f->w, s, i, longest)) longest = k;
    int64_t left = rs_sub_sat(ns, recorded(f, s, position));
    for (uint32_t k = 0; k <= i->n && (left || !k); k++) {
        uint32_t at = !k ? longest : k - 1;
        if (k && at == longest) continue;
        int64_t own = *slot(f, f->w, s, i, at), to = rs_add_sat(own, left);
        if (i->n > 1 && to < 0) to = own < 0 ? own : 0;
        *slot(f, w, s, i, at) = to;
        left = rs_sub_sat(left, rs_sub_sat(to, own));
    }
}

/* Work that meets other ranks has its time in the transfer; edges may be none. */
static bool is_compared(const finder *f, const strand *s, uint32_t position)
{
    const item *i = &f->items[s->first + position];
    const rs_skeleton *k = f->e->ranks[s->rank];
    if (!i->n)
        return !(f->e->kind[f->e->node_base[s->rank] + i->local] & RS_ENGINE_COMES) &&
               rs_skeleton_at(k, i->local)->part != RS_PART_TRANSFER;
    /* where something else held the point up, its host time is not known */
    bool own = k->comm->on_host || f->edges[i->edge] == rs_skeleton_first(k, i->local);
    for (uint32_t j = 0; own && j < i->n; j++) own = *slot(f, f->w, s, i, j) != RS_NO_EDGE;
    return own;
}

/* Whether most ranks of its role do the same in a step: where some ranks' steps end elsewhere, what these have in common is
 * theirs alone, and no reference. */
static bool is_shared(const finder *f, const strand *group, size_t n)
{
    size_t n_ranks = 1;
    for (size_t i = 1; i < n; i++) n_ranks += group[i].rank != group[i - 1].rank;
    return n_ranks > 1 && 2 * n_ranks > f->n_alike[f->out->role[group->rank]];
}

/* By strand the median of all values but those of its rank's strands; its rank's run is [from, to) of the
 * group, its places in the sorted values ascend. */
static bool set_peers(finder *f, const strand *group, size_t n, uint32_t position)
{
    bool shared = is_shared(f, group, n);
    if (!rs_keyed_sort(f->sorted, n)) return false;
    /* where each strand's value stands in the sorted order */
    int64_t *place = f->values;
    for (size_t i = 0; i < n; i++) place[f->sorted[i].value] = (int64_t)i;
    for (size_t from = 0, to; from < n; from = to) {
        for (to = from + 1; to < n && group[to].rank == group[from].rank;) to++;
        size_t others = n - (to - from);
        int64_t reference;
        if (!others) {
            reference = f->sorted[(n - 1) / 2].key;
        } else {
            RS_SORT(place + from, to - from, compare_numbers);
            size_t at = (others - 1) / 2;
            for (size_t i = from; i < to; i++)
                if ((size_t)place[i] <= at) at++;
            reference = f->sorted[at].key;
        }
        for (size_t i = from; i < to; i++) {
            const item *one = &f->items[group[i].first + position];
            put(f, &f->out->peers, &group[i], position, reference);
            if (shared) f->out->shared[f->e->node_base[group[i].rank] + one->local] = 1;
        }
    }
    return true;
}

static bool compare_position(finder *f, const strand *group, size_t n, uint32_t position)
{
    int64_t sum = 0;
    size_t n_ranks = 0;
    int64_t *medians = f->values + n;
    for (size_t i = 0; i < n; i++) {
        if (!is_compared(f, &group[i], position)) return true;
        f->values[i] = recorded(f, &group[i], position);
        f->sorted[i] = (rs_keyed){f->values[i], (uint32_t)i};
        sum = rs_add_sat(sum, f->values[i]);
    }
    for (size_t i = 0; i + 1 < n; i++)
        if (group[i].rank == group[i + 1].rank && group[i].step >= 0 &&
            group[i + 1].step == group[i].step + 1)
            put(f, &f->out->next, &group[i], position, f->values[i + 1]);
    for (size_t from = 0, to; from < n; from = to) {
        for (to = from + 1; to < n && group[to].rank == group[from].rank;) to++;
        medians[n_ranks++] = lower_median(f->values + from, to - from);
    }
    int64_t repair = lower_median(medians, n_ranks), mean = sum / (int64_t)n;
    for (size_t i = 0; i < n; i++) {
        put(f, &f->out->repair, &group[i], position, repair);
        put(f, &f->out->balance, &group[i], position, mean);
    }
    if (!set_peers(f, group, n, position)) return false;
    if (n > 1)
        f->out->keyed = rs_add_sat(f->out->keyed, sum);
    else
        f->out->unkeyed = rs_add_sat(f->out->unkeyed, sum);
    return true;
}

static rs_status compare_groups(finder *f, rs_error *err)
{
    RS_SORT(f->strands, f->n, compare_strands);
    for (size_t i = 0, k; i < f->n; i = k) {
        const strand *group = &f->strands[i];
        for (k = i + 1; k < f->n && f->strands[k].key == group->key && f->strands[k].n == group->n;) k++;
        if (k - i > f->n_scratch) {
            rs_free_all(f->values, f->sorted);
            f->n_scratch = 2 * (k - i);
            f->values = rs_malloc(2 * f->n_scratch * sizeof *f->values);
            f->sorted = rs_malloc(f->n_scratch * sizeof *f->sorted);
            if (!f->values || !f->sorted) return rs_fail_nomem(err, "references");
        }
        for (uint32_t p = 0; p < group->n; p++)
            if (!compare_position(f, group, k - i, p)) return rs_fail_nomem(err, "references");
    }
    return RS_OK;
}

/* ---- transfers ------------------------------------------------------------------------------------------- */

typedef struct meeting_key {
    uint64_t key, group; /* what it is; who meets */
    int64_t step;
    uint32_t meeting;
} meeting_key;

static const rs_order compare_meetings[] = {RS_RISING(meeting_key, key), RS_RISING(meeting_key, group),
                                            RS_RISING(meeting_key, step), RS_RISING(meeting_key, meeting)};

static meeting_key key_of(const rs_engine *e, uint32_t k)
{
    const rs_coll_instance *c = &e->coll.instances[e->meetings[k].instance];
    const rs_coll_shape *op = rs_coll_shape_at(&e->coll, &e->coll.arrivals[c->first]);
    const rs_coll_rank *first = e->comm[e->coll.arrivals[c->first].rank];
    const char *host = rs_pool_text(&first->pool, first->host);
    meeting_key out = {.key = mix((uint64_t)op->kind, c->n),
                       .group = 0,
                       .step = rs_coll_op_at(&e->coll, &e->coll.arrivals[c->first])->step,
                       .meeting = k};
    bool same_host = true;
    uint32_t least = UINT32_MAX;
    uint64_t axis = 0; /* how far apart the ranks are: of one axis of a mesh it is the same for every group */
    for (uint32_t i = c->first; i < c->first + c->n; i++)
        if (e->coll.arrivals[i].rank < least) least = e->coll.arrivals[i].rank;
    for (uint32_t i = c->first; i < c->first + c->n; i++) {
        uint32_t rank = e->coll.arrivals[i].rank;
        axis += rs_hash_u64(rank - least + 1);
        const char *other = rs_pool_text(&e->comm[rank]->pool, e->comm[rank]->host);
        out.group += rs_hash_u64(rank + 1); /* whatever the order: a pair is one both ways */
        same_host = same_host && (!host || !other || strcmp(host, other) == 0);
    }
    int64_t elements = op->in_elements > op->out_elements ? op->in_elements : op->out_elements;
    out.key = mix(mix(mix(out.key, (uint64_t)elements), hash_text(&first->pool, op->dtype)), same_host);
    out.key = mix(out.key, axis);
    return out;
}

static bool number_groups(rs_reference *out, const meeting_key *keys, size_t n)
{
    RS_SCOPED(rs_map64_clear) rs_map64 map = {0};
    RS_LOCAL uint32_t *of = rs_malloc((n + 1) * sizeof *of);
    bool ok = of != NULL;
    for (size_t i = 0; ok && i < n; i++) of[keys[i].meeting] = (uint32_t)i;
    for (size_t k = 0; ok && k < n; k++) { /* in the order of the meetings */
        bool is_new;
        uint32_t *number = rs_map64_put(&map, keys[of[k]].group, &is_new);
        ok = number != NULL;
        if (!ok) break;
        if (is_new) *number = (uint32_t)out->n_groups++;
        out->group[k] = *number;
    }
    return ok;
}

/* The n-th transfer of a group in a step against the n-th in the next one. */
static void transplant_transfers(const finder *f, const meeting_key *keys, size_t n)
{
    for (size_t from = 0, to, last; from < n; from = to) {
        for (to = from + 1; to < n && keys[to].step == keys[from].step;) to++;
        for (last = to; last < n && keys[last].step == keys[to].step;) last++;
        if (to == n || last - to != to - from || keys[from].step < 0 || !f->all) continue;
        for (size_t i = from; i < to; i++)
            f->out->next.transfer[keys[i].meeting] = f->w->transfer[keys[i - from + to].meeting];
    }
}

static rs_status compare_transfers(finder *f, rs_error *err)
{
    size_t n = f->e->n_meetings;
    RS_LOCAL meeting_key *keys = rs_malloc((n + 1) * sizeof *keys);
    RS_LOCAL int64_t *values = rs_malloc((n + 1) * sizeof *values),
                     *medians = rs_malloc((n + 1) * sizeof *medians);
    f->out->group = rs_malloc((n + 1) * sizeof *f->out->group);
    f->out->group_transfer = rs_malloc((n + 1) * sizeof *f->out->group_transfer);
    bool ok = keys && values && medians && f->out->group && f->out->group_transfer;
    for (uint32_t k = 0; ok && k < n; k++) keys[k] = key_of(f->e, k);
    if (ok && n) RS_SORT(keys, n, compare_meetings);
    ok = ok && number_groups(f->out, keys, n);
    for (size_t i = 0, k; ok && i < n; i = k) {
        size_t n_groups = 0;
        for (k = i; k < n && keys[k].key == keys[i].key;) {
            size_t from = k, m = 0;
            for (; k < n && keys[k].key == keys[i].key && keys[k].group == keys[from].group; k++)
                values[m++] = f->w->transfer[keys[k].meeting];
            transplant_transfers(f, keys + from, m);
            medians[n_groups] = lower_median(values, m);
            for (size_t j = k - m; j < k; j++) f->out->group_transfer[keys[j].meeting] = medians[n_groups];
            n_groups++;
        }
        int64_t repair = lower_median(medians, n_groups);
        for (size_t j = i; j < k; j++) {
            f->out->repair.transfer[keys[j].meeting] = f->out->peers.transfer[keys[j].meeting] = repair;
            if (f->all) f->out->balance.transfer[keys[j].meeting] = repair;
        }
    }
    return ok ? RS_OK : rs_fail_nomem(err, "references");
}

/* ---- roles ----------------------------------------------------------------------------------------------- */

static rs_status number_roles(finder *f, rs_error *err)
{
    rs_map64 map = {0};
    rs_status status = RS_OK;
    f->out->role = rs_calloc(f->e->n_ranks + 1, sizeof *f->out->role);
    if (!f->out->role) return rs_fail_nomem(err, "references");
    for (size_t r = 0; status == RS_OK && r < f->e->n_ranks; r++) {
        bool is_new;
        uint32_t *role = rs_map64_put(&map, f->program[r], &is_new);
        if (!role) status = rs_fail_nomem(err, "references");
        if (!role) break;
        if (is_new) *role = (uint32_t)f->out->n_roles++;
        f->out->role[r] = *role;
        f->n_alike[*role]++;
    }
    rs_map64_clear(&map);
    return status;
}

bool rs_work_is_backward(const rs_skeleton *s, uint32_t local)
{
    uint32_t mark = s->n_steps ? s->steps[0].last : 0;
    RS_EDGES_INTO(s, local, k)
        if (rs_edge_cost(s, k) < RS_COST_STREAM && (rs_edge_source(s, k) >> 1) && mark)
            return rs_skeleton_at(s, rs_edge_source(s, k) >> 1)->lane != rs_skeleton_at(s, mark)->lane;
    return false;
}

/* ns, held at 9e17 either way: a broken trace may hold any time. */
static int64_t held(double ns)
{
    return ns > 9e17    ? (int64_t)900000000000000000
           : ns > -9e17 ? rs_int_of(ns)
                        : -(int64_t)900000000000000000;
}

rs_status rs_reference_balance_roles(const rs_engine *e, rs_reference *of, rs_error *err)
{
    size_t n = of->n_roles;
    RS_LOCAL double *total = rs_calloc(2 * n + 2, sizeof *total), *count = rs_calloc(n + 1, sizeof *count);
    rs_status status = total && count ? RS_OK : rs_fail_nomem(err, "references");
    for (int pass = 0; status == RS_OK && pass < 2; pass++) {
        double mean[2] = {0, 0};
        for (size_t i = 0; pass && i < n; i++)
            for (int b = 0; b < 2; b++) mean[b] += total[2 * i + b] / count[i] / (double)n;
        for (size_t r = 0; r < e->n_ranks; r++) {
            const rs_skeleton *s = e->ranks[r];
            uint32_t role = of->role[r];
            if (!pass) count[role] += s->n_steps ? (double)s->n_steps : 1;
            for (uint32_t i = 1; i < s->n; i++) {
                if (!rs_skeleton_is_work(s, i) || rs_skeleton_at(s, i)->part != RS_PART_COMPUTE) continue;
                int64_t *weight = &of->balance.work[e->node_base[r] + i];
                size_t at = 2 * role + rs_work_is_backward(s, i);
                if (!pass)
                    total[at] += (double)*weight;
                else if (total[at] > 0 && mean[at & 1] > 0)
                    *weight = held((double)*weight * mean[at & 1] / (total[at] / count[role]));
            }
        }
    }
    return status;
}

/* ---- all of it ------------------------------------------------------------------------------------------- */

static rs_status find(finder *f, rs_error *err)
{
    RS_TRY(rs_weights_copy(f->e, f->w, &f->out->repair, err));
    RS_TRY(rs_weights_copy(f->e, f->w, &f->out->peers, err));
    if (f->all) RS_TRY(rs_weights_copy(f->e, f->w, &f->out->balance, err));
    if (f->all) RS_TRY(rs_weights_copy(f->e, f->w, &f->out->next, err));
    f->items = rs_malloc((f->e->n_nodes + 1) * sizeof *f->items);
    f->edges = rs_malloc((f->e->n_nodes + 1) * sizeof *f->edges);
    f->program = rs_calloc(f->e->n_ranks + 1, sizeof *f->program);
    f->out->shared = rs_calloc(f->e->n_nodes + 1, sizeof *f->out->shared);
    f->n_alike = rs_calloc(f->e->n_ranks + 1, sizeof *f->n_alike);
    if (!f->items || !f->edges || !f->program || !f->n_alike || !f->out->shared)
        return rs_fail_nomem(err, "references");
    for (uint32_t r = 0; r < f->e->n_ranks; r++) RS_TRY(add_rank(f, r, err));
    RS_TRY(number_roles(f, err));
    RS_TRY(compare_groups(f, err));
    return compare_transfers(f, err);
}

rs_status rs_reference_find(const rs_engine *engine, const rs_weights *recorded, bool all, rs_reference *out,
                            rs_error *err)
{
    *out = (rs_reference){0};
    finder f = {.e = engine, .w = recorded, .all = all, .out = out};
    rs_status status = find(&f, err);
    rs_free_all(f.items, f.edges, f.strands, f.program, f.n_alike, f.values, f.sorted);
    return status;
}
