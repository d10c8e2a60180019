/* Which kernels of different ranks are one collective. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/interval.h"
#include "base/real.h"
#include "base/stats.h"
#include "match/collective_internal.h"

void rs_coll_job_clear(rs_coll_job *job)
{
    rs_free(job->shift);
    rs_free(job->clocks);
    rs_free(job->instances);
    rs_free(job->arrivals);
    *job = (rs_coll_job){0};
}

typedef rs_coll_item item;

typedef struct matcher {
    rs_coll_job *job;
    rs_strings channels; /* what must be equal for two kernels to belong together: a text for each */
    item *items;         /* all kernels, by channel, rank and start */
    size_t n;
    size_t *first;     /* by channel + 1 */
    bool many_streams; /* some rank has kernels without a group on several streams */
    bool apart; /* roles are programs that count their ranks by themselves: they have no group in common */
} matcher;

/* ---- channels ---------------------------------------------------------------------------------------- */

static const char *or_empty(const char *text)
{
    return text ? text : "";
}

/* Appends text without its white space. */
static size_t append(char *out, size_t at, size_t size, const char *text)
{
    for (; *text && at + 2 < size; text++)
        if (*text != ' ') out[at++] = *text;
    out[at++] = '\n';
    return at;
}

/* "[3, 7]" is the two ranks of a pair. */
static bool two_members(const char *members, long long pair[2])
{
    int end = 0; /* stays 0 where a third number follows in place of the bracket */
    /* NOLINTNEXTLINE(cert-err34-c): the width keeps every number in range */
    return members && sscanf(members, " [ %18lld , %18lld ] %n", &pair[0], &pair[1], &end) == 2 && end > 0 &&
           !members[end];
}

static bool is_nameless(const rs_coll_shape *op)
{
    return op->group == RS_NO_STRING && op->members == RS_NO_STRING;
}

/* Kernels in which ranks do not meet, and what belongs to a group that the trace does not tell from others:
 * nobody is their partner. */
static bool stands_alone(const rs_coll_rank *r, const rs_coll_shape *op)
{
    return is_nameless(op) && (r->many_groups || !rs_coll_can_match(op->kind));
}

static bool same_group(const rs_coll_shape *a, const rs_coll_shape *b)
{
    return a->group == b->group && a->members == b->members;
}

/* The group of what the trace does not name, as it was launched before the recording or by a graph. A
 * communicator has a stream of its own, so it is the only group that is named on that stream; where the rank names one group
 * alone, it is that. *several: the rank names several. */
static const rs_coll_shape *group_on_stream(const rs_coll_rank *r, const rs_coll_shape *op, bool *several)
{
    const rs_coll_shape *any = NULL, *found = NULL;
    bool clash = false;
    *several = false;
    for (size_t i = 0; i < r->n_shapes; i++) {
        const rs_coll_shape *x = &r->shapes[i];
        if (is_nameless(x)) continue;
        *several = *several || (any && !same_group(any, x));
        any = x;
        if (x->stream != op->stream) continue;
        clash = clash || (found && !same_group(found, x));
        found = x;
    }
    return clash ? NULL : found;
}

/* Sends and receives in a group of more than two, or in one that is not named, whose two ends are not both recorded: who the
 * partner is shows in the ends of kernels alone. */
static bool lacks_partner(const rs_coll_rank *r, const rs_coll_shape *op)
{
    long long pair[2];
    const char *members = rs_pool_text(&r->pool, op->members);
    return op->kind == RS_COLL_SEND_RECV && !r->on_host && (op->source < 0 || op->target < 0) &&
           !two_members(members, pair);
}

/* The same of hosts, which do not even say to which group they belong. */
static bool has_unknown_ends(const rs_coll_rank *r, const rs_coll_shape *op)
{
    return op->kind == RS_COLL_SEND_RECV && r->on_host && (op->source < 0 || op->target < 0);
}

/* A communicator has a stream of its own: where no group is named, streams tell groups apart. A job with one
 * stream a rank needs no telling, and its numbers may differ. */
static bool has_many_streams(const rs_coll_rank *r)
{
    const rs_coll_shape *first = NULL;
    for (size_t i = 0; i < r->n; i++) {
        const rs_coll_shape *shape = rs_coll_shape_of(r, &r->ops[i]);
        if (!is_nameless(shape)) continue;
        if (first && first->stream != shape->stream) return true;
        first = shape;
    }
    return false;
}

/* Whether a rank of another role has the same number of its own. */
static bool is_counted_twice(const rs_coll_job *job, size_t rank)
{
    const rs_coll_rank *a = job->ranks[rank];
    if (!a->has_role || a->own < 0) return false;
    for (size_t r = 0; r < rank; r++) {
        const rs_coll_rank *b = job->ranks[r];
        if (b->has_role && b->own == a->own &&
            strcmp(or_empty(rs_pool_text(&a->pool, a->role)), or_empty(rs_pool_text(&b->pool, b->role))) != 0)
            return true;
    }
    return false;
}

static uint32_t channel_of(matcher *m, uint32_t rank, const rs_coll_shape *op)
{
    const rs_coll_rank *r = m->job->ranks[rank];
    bool several = false;
    const rs_coll_shape *as = is_nameless(op) ? group_on_stream(r, op, &several) : op;
    bool alone = stands_alone(r, op) || (several && !as);
    if (!as || !several) as = op;
    const char *members = or_empty(rs_pool_text(&r->pool, as->members)),
               *group = or_empty(rs_pool_text(&r->pool, as->group));
    const char *role = m->apart && r->has_role ? or_empty(rs_pool_text(&r->pool, r->role)) : "";
    size_t size = strlen(members) + strlen(group) + strlen(role) + 200;
    RS_LOCAL char *text = rs_malloc(size);
    if (!text) return RS_NO_STRING;
    size_t n = append(text, 0, size, group);
    n = append(text, n, size, members);
    if (*role) n = append(text, n, size, role);
    n += (size_t)snprintf(text + n, size - n, "%lld", (long long)op->group_size);
    if (alone) {
        n += (size_t)snprintf(text + n, size - n, " alone %u", rank);
    } else if (op->kind == RS_COLL_SEND_RECV) {
        long long pair[2];
        if (op->source >= 0 && op->target >= 0)
            n += (size_t)snprintf(text + n, size - n, " %lld>%lld", (long long)op->source,
                                  (long long)op->target);
        else if (two_members(members, pair)) /* direction unknown: each end in its own order */
            n += (size_t)snprintf(text + n, size - n, " p2p");
        else if (lacks_partner(r, op))
            n += (size_t)snprintf(text + n, size - n, " p2p by end");
        else if (has_unknown_ends(r, op))
            n += (size_t)snprintf(text + n, size - n, " p2p by places");
        else
            n += (size_t)snprintf(text + n, size - n, " p2p of %u %s", rank,
                                  rs_coll_sends(r, op) ? "out" : "in");
    } else if (is_nameless(op) && several) {
        n += (size_t)snprintf(text + n, size - n, " nameless of %lld", (long long)as->group_size);
    } else if (is_nameless(op) && m->many_streams) {
        n += (size_t)snprintf(text + n, size - n, " stream %lld", (long long)op->stream);
    }
    uint32_t id = rs_strings_add(&m->channels, text, n);
    return id;
}

/* By op of a rank. One channel is looked for by shape, of which there are few. */
static bool channels_of(matcher *m, uint32_t rank, uint32_t *out)
{
    const rs_coll_rank *r = m->job->ranks[rank];
    RS_LOCAL uint32_t *of_shape = rs_malloc((r->n_shapes + 1) * sizeof *of_shape);
    bool ok = of_shape != NULL;
    for (size_t i = 0; ok && i < r->n_shapes; i++) of_shape[i] = RS_NO_STRING;
    for (size_t i = 0; ok && i < r->n; i++) {
        uint32_t *channel = &of_shape[r->ops[i].shape];
        if (*channel == RS_NO_STRING) *channel = channel_of(m, rank, rs_coll_shape_of(r, &r->ops[i]));
        out[i] = *channel;
        ok = out[i] != RS_NO_STRING;
    }
    return ok;
}

/* Counts the ops of each channel, then puts them in their places. */
static bool sort_into_channels(matcher *m)
{
    const rs_coll_job *job = m->job;
    size_t n = 0, at = 0;
    for (size_t r = 0; r < job->n_ranks; r++) {
        n += job->ranks[r]->n;
        m->many_streams = m->many_streams || has_many_streams(job->ranks[r]);
        m->apart = m->apart || is_counted_twice(job, r);
    }
    RS_LOCAL uint32_t *channel = rs_malloc((n + 1) * sizeof *channel);
    m->items = rs_malloc((n + 1) * sizeof *m->items);
    bool ok = channel && m->items && n < UINT32_MAX;
    for (uint32_t r = 0; ok && r < job->n_ranks; at += job->ranks[r++]->n)
        ok = channels_of(m, r, channel + at);
    m->first = ok ? rs_calloc(m->channels.n + 2, sizeof *m->first) : NULL;
    ok = ok && m->first;
    for (size_t i = 0; ok && i < n; i++) m->first[channel[i] + 2]++;
    for (size_t c = 0; ok && c < m->channels.n; c++) m->first[c + 2] += m->first[c + 1];
    at = 0;
    for (uint32_t r = 0; ok && r < job->n_ranks; r++)
        for (uint32_t i = 0; i < job->ranks[r]->n; i++, at++)
            m->items[m->first[channel[at] + 1]++] = (item){.rank = r, .op = i};
    m->n = n;
    return ok;
}

/* ---- instances --------------------------------------------------------------------------------------- */

/* How the items of a channel are matched, in the order in which that is done: right clocks help to match the rest. */
typedef enum way { BY_SEQ, BY_ORDER, BY_END, BY_PLACES } way;

static way way_of(const matcher *m, size_t first, size_t end)
{
    const rs_coll_rank *r = m->job->ranks[m->items[first].rank];
    const rs_coll_shape *op = rs_coll_item_shape(m->job, &m->items[first]);
    if (lacks_partner(r, op)) return BY_END;
    if (has_unknown_ends(r, op)) return BY_PLACES;
    for (size_t i = first; i < end; i++) {
        if (rs_coll_item_op(m->job, &m->items[i])->seq < 0 ||
            rs_coll_item_shape(m->job, &m->items[i])->kind == RS_COLL_SEND_RECV)
            return BY_ORDER;
    }
    return BY_SEQ;
}

static bool add_instance(matcher *m, size_t *capacity, int64_t number, bool by_seq)
{
    rs_coll_job *job = m->job;
    return RS_PUSH(
        job->instances, job->n, *capacity,
        (rs_coll_instance){.number = number, .by_seq = by_seq, .first = (uint32_t)job->n_arrivals});
}

/* The ops of one rank among those with one number: which are left. */
typedef struct run {
    uint32_t at, end;
} run;

/* Kernels with one number, by rank: the k-th of each rank belong together. order: places in items. */
static bool make_instances(matcher *m, const item *items, const uint32_t *order, size_t n, run *runs,
                           bool by_seq, size_t *capacity)
{
    rs_coll_job *job = m->job;
    size_t n_runs = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (i == 0 || items[order[i]].rank != items[order[i - 1]].rank) runs[n_runs++].at = i;
        runs[n_runs - 1].end = i + 1;
    }
    while (n_runs) {
        if (!add_instance(m, capacity, items[order[0]].number, by_seq)) return false;
        rs_coll_instance *instance = &job->instances[job->n - 1];
        const item *one = NULL;
        size_t left = 0;
        for (size_t r = 0; r < n_runs; r++) {
            const item *it = &items[order[runs[r].at++]];
            if (one && rs_coll_item_shape(job, one)->kind != rs_coll_item_shape(job, it)->kind)
                instance->mixed = true;
            instance->on_host = instance->on_host || job->ranks[it->rank]->on_host;
            one = it;
            job->arrivals[job->n_arrivals++] =
                (rs_coll_arrival){.rank = it->rank, .op = it->op, .instance = (uint32_t)(job->n - 1)};
            instance->n++;
            if (runs[r].at < runs[r].end) runs[left++] = runs[r];
        }
        n_runs = left;
    }
    return true;
}

/* Places of the items in the order of their numbers; equal ones stay in their order. Numbers that lie close together,
 * as counted ones do, are counted in their turn. */
static bool order_by_number(const item *items, size_t n, uint32_t *order)
{
    int64_t least = INT64_MAX, most = INT64_MIN;
    for (size_t i = 0; i < n; i++) {
        if (items[i].number < least) least = items[i].number;
        if (items[i].number > most) most = items[i].number;
    }
    uint64_t range = (uint64_t)most - (uint64_t)least;
    if (range < 2 * (uint64_t)n) {
        uint32_t *first = rs_calloc((size_t)range + 2, sizeof *first);
        if (!first) return false;
        for (size_t i = 0; i < n; i++) first[items[i].number - least + 1]++;
        for (size_t k = 0; k < range; k++) first[k + 1] += first[k];
        for (uint32_t i = 0; i < n; i++) order[first[items[i].number - least]++] = i;
        rs_free(first);
        return true;
    }
    RS_LOCAL rs_keyed *keys = rs_malloc((n + 1) * sizeof *keys);
    bool ok = keys != NULL;
    for (size_t i = 0; ok && i < n; i++) keys[i] = (rs_keyed){items[i].number, (uint32_t)i};
    ok = ok && rs_keyed_sort(keys, n);
    for (size_t i = 0; ok && i < n; i++) order[i] = keys[i].value;
    return ok;
}

static bool match_channel(matcher *m, size_t first, size_t end, way how, size_t *capacity)
{
    size_t n = end - first;
    item *items = m->items + first;
    if (how == BY_ORDER && !rs_coll_number_by_order(m->job, items, n)) return false;
    if (how == BY_END && !rs_coll_number_by_end(m->job, items, n)) return false;
    if (how == BY_PLACES && !rs_coll_number_by_places(m->job, items, n)) return false;
    if (how == BY_SEQ)
        for (size_t i = 0; i < n; i++) items[i].number = rs_coll_item_op(m->job, &items[i])->seq;
    RS_LOCAL uint32_t *order = rs_malloc((n + 1) * sizeof *order);
    RS_LOCAL run *runs = rs_malloc((m->job->n_ranks + 1) * sizeof *runs);
    bool ok = order && runs && order_by_number(items, n, order);
    for (size_t i = 0, next; ok && i < n; i = next) {
        for (next = i; next < n && items[order[next]].number == items[order[i]].number; next++) {
        }
        ok = make_instances(m, items, order + i, next - i, runs, how == BY_SEQ, capacity);
        m->job->n_inferred += how == BY_PLACES && next - i > 1;
    }
    return ok;
}

/* ---- all channels --------------------------------------------------------------------------------------- */

static bool may_be_teams(const matcher *m, size_t first)
{
    const rs_coll_rank *r = m->job->ranks[m->items[first].rank];
    const rs_coll_shape *op = rs_coll_item_shape(m->job, &m->items[first]);
    return is_nameless(op) && !r->on_host && op->kind != RS_COLL_SEND_RECV && !stands_alone(r, op);
}

/* Channels whose groups no trace names: each team of their ranks by itself. */
static bool match_teams(matcher *m, size_t *capacity)
{
    RS_LOCAL rs_coll_range *channels = rs_malloc((m->channels.n + 1) * sizeof *channels);
    RS_LOCAL rs_coll_range *teams = NULL;
    size_t n = 0, n_teams = 0;
    for (size_t c = 0; channels && c < m->channels.n; c++) {
        const size_t first = m->first[c], end = m->first[c + 1];
        if (first != end && way_of(m, first, end) == BY_ORDER && may_be_teams(m, first))
            channels[n++] = (rs_coll_range){first, end};
    }
    bool ok = channels && rs_coll_find_teams(m->job, m->items, channels, n, &teams, &n_teams);
    for (size_t i = 0; ok && i < n_teams; i++)
        ok = match_channel(m, teams[i].first, teams[i].end, BY_ORDER, capacity);
    return ok;
}

static bool match_channels(matcher *m, way how, size_t *capacity)
{
    bool ok = how != BY_ORDER || match_teams(m, capacity);
    for (size_t c = 0; ok && c < m->channels.n; c++) {
        size_t first = m->first[c], end = m->first[c + 1];
        if (first == end || way_of(m, first, end) != how || (how == BY_ORDER && may_be_teams(m, first)))
            continue;
        ok = match_channel(m, first, end, how, capacity);
    }
    return ok;
}

static bool order_in_time(rs_coll_job *job)
{
    RS_LOCAL rs_keyed *keys = rs_malloc((job->n + 1) * sizeof *keys);
    rs_coll_instance *sorted = rs_malloc((job->n + 1) * sizeof *sorted);
    bool ok = keys && sorted;
    for (size_t i = 0; ok && i < job->n; i++) {
        const rs_coll_instance *c = &job->instances[i];
        int64_t first = INT64_MAX;
        for (size_t k = 0; k < c->n; k++) {
            int64_t start = rs_coll_start(job, &job->arrivals[c->first + k]);
            if (start < first) first = start;
        }
        keys[i] = (rs_keyed){first, (uint32_t)i};
    }
    ok = ok && rs_keyed_sort(keys, job->n);
    for (size_t i = 0; ok && i < job->n; i++) {
        sorted[i] = job->instances[keys[i].value];
        for (size_t k = 0; k < sorted[i].n; k++) job->arrivals[sorted[i].first + k].instance = (uint32_t)i;
    }
    if (!ok) {
        rs_free(sorted);
        return false;
    }
    rs_free(job->instances);
    job->instances = sorted;
    return true;
}

/* Times that would overflow when clocks are set right are no times. */
static bool shiftable(const rs_coll_rank *r, int64_t shift)
{
    for (size_t i = 0; i < r->n; i++) {
        int64_t start = rs_add_sat(r->ops[i].start, shift), end = rs_add_sat(r->ops[i].end, shift);
        if (start > INT64_MAX / 4 || start < INT64_MIN / 4 || end > INT64_MAX / 4 || end < INT64_MIN / 4)
            return false;
    }
    return true;
}

/* Files of one job may count from different moments. */
static rs_status shift_by_base(rs_coll_job *job, rs_error *err)
{
    int64_t base = RS_NO_VALUE;
    job->by_base = job->n_ranks > 1;
    for (size_t i = 0; i < job->n_ranks; i++) {
        int64_t own = job->ranks[i]->base_time_ns;
        if (own == RS_NO_VALUE) job->by_base = false;
        if (base == RS_NO_VALUE) base = own;
    }
    for (size_t i = 0; i < job->n_ranks; i++) {
        job->shift[i] = job->by_base ? rs_sub_sat(job->ranks[i]->base_time_ns, base) : 0;
        if (!shiftable(job->ranks[i], job->shift[i]))
            return rs_fail(err, RS_ERR_FORMAT,
                           "times and baseTimeNanoseconds of the ranks lie too far apart");
    }
    return RS_OK;
}

/* Parts that communication of hosts ties together. SIZE_MAX: out of memory. */
static size_t count_host_parts(const rs_coll_job *job)
{
    size_t n = job->n_ranks;
    RS_LOCAL uint32_t *part =
        rs_malloc((n + 1) * sizeof *part); /* by rank: one of its part, itself of one only */
    if (!part) return SIZE_MAX;
    for (uint32_t r = 0; r < job->n_ranks; r++) part[r] = r;
    for (size_t i = 0; i < job->n; i++) {
        const rs_coll_instance *c = &job->instances[i];
        for (uint32_t k = 1; !c->mixed && k < c->n; k++) {
            uint32_t a = job->arrivals[c->first].rank, b = job->arrivals[c->first + k].rank;
            while (part[a] != a) a = part[a] = part[part[a]];
            while (part[b] != b) b = part[b] = part[part[b]];
            n -= a != b;
            part[a > b ? a : b] = a > b ? b : a;
        }
    }
    return n;
}

size_t rs_coll_n_parts(const rs_coll_job *job)
{
    size_t n = 0;
    for (size_t i = 0; i < job->n_ranks; i++)
        if (job->ranks[i]->on_host && job->ranks[i]->n) return count_host_parts(job);
    for (size_t i = 0; i < job->n_ranks; i++) n += job->clocks[i].reference == i;
    return n;
}

rs_status rs_coll_match(const rs_coll_rank *const *ranks, size_t n_ranks, rs_set_clocks_fn set_clocks,
                        rs_coll_job *out, rs_error *err)
{
    *out = (rs_coll_job){.ranks = ranks, .n_ranks = n_ranks};
    matcher m = {.job = out};
    size_t capacity = 0, n_settled = 0; /* arrivals that the clocks are set by */
    out->shift = rs_calloc(n_ranks + 1, sizeof *out->shift);
    out->clocks = rs_calloc(n_ranks + 1, sizeof *out->clocks);
    bool ok = out->shift && out->clocks && rs_strings_init(&m.channels);
    rs_status status = ok ? shift_by_base(out, err) : rs_fail_nomem(err, "collectives");
    for (size_t i = 0; status == RS_OK && i < n_ranks; i++) out->clocks[i].reference = (uint32_t)i;
    if (status == RS_OK) {
        ok = sort_into_channels(&m);
        out->arrivals = rs_malloc((m.n + 1) * sizeof *out->arrivals);
        ok = ok && out->arrivals;
        for (way how = BY_SEQ; ok && status == RS_OK && how <= BY_PLACES; how++) {
            /* what is matched so far sets the clocks, and right ones help to match the rest */
            if (how != BY_SEQ && set_clocks && (how == BY_ORDER || out->n_arrivals != n_settled)) {
                status = set_clocks(out, err);
                n_settled = out->n_arrivals;
            }
            ok = status != RS_OK || match_channels(&m, how, &capacity);
        }
        if (!ok && status == RS_OK) status = rs_fail_nomem(err, "collectives");
    }
    rs_free(m.items);
    rs_free(m.first);
    rs_strings_clear(&m.channels);
    /* Where all are tied together and nothing was matched since, clocks would be set to the same again. */
    bool settled = status == RS_OK && out->n_arrivals == n_settled && rs_coll_n_parts(out) == 1;
    if (status == RS_OK && set_clocks && !settled) status = set_clocks(out, err);
    if (status == RS_OK && !order_in_time(out)) status = rs_fail_nomem(err, "collectives");
    if (status != RS_OK) rs_coll_job_clear(out);
    return status;
}
