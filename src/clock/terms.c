/* Terms, hubs, pairs of ranks. */
#include "clock/terms.h"

#include <stdio.h>
#include <string.h>

#include "base/interval.h"
#include "base/memory.h"
#include "base/strings.h"

void rs_terms_clear(rs_terms *t)
{
    rs_free_all(t->items, t->hubs, t->points, t->pairs, t->first, t->ties);
    *t = (rs_terms){0};
}

/* A send may be gone before its receiver is there, so it only begins; a receive only ends. 0: not told which
 * it is. */
static uint8_t side_of(const rs_coll_job *job, const rs_coll_arrival *a)
{
    const char *name = rs_pool_text(&job->ranks[a->rank]->pool, rs_coll_shape_at(job, a)->name);
    if (!name) return 0;
    if (strstr(name, "send")) return strstr(name, "recv") ? 0 : RS_TERM_START;
    return strstr(name, "recv") ? RS_TERM_END : 0;
}

/* What the member's times say. Of an all-to-all two members may exchange nothing, and of rooted collectives
 * the root is not recorded: they say nothing for certain. */
static uint8_t says(const rs_coll_job *job, const rs_coll_arrival *a)
{
    switch (rs_coll_shape_at(job, a)->kind) {
    case RS_COLL_ALL_REDUCE:
    case RS_COLL_ALL_GATHER:
    case RS_COLL_REDUCE_SCATTER:
    case RS_COLL_BARRIER: return RS_TERM_START | RS_TERM_END;
    case RS_COLL_SEND_RECV: return side_of(job, a);
    default: return 0;
    }
}

static bool counts(const rs_coll_job *job, const rs_coll_instance *c)
{
    if (c->n < 2 || c->mixed) return false;
    rs_coll_kind kind = rs_coll_shape_at(job, &job->arrivals[c->first])->kind;
    return rs_coll_ends_together(kind) || kind == RS_COLL_SEND_RECV;
}

static unsigned octave(int64_t n)
{
    unsigned o = 0;
    for (; n > 0; n >>= 1) o++;
    return o;
}

static uint32_t class_of(const rs_coll_job *job, const rs_coll_instance *c, rs_strings *classes)
{
    const rs_coll_arrival *first = &job->arrivals[c->first];
    const rs_coll_shape *op = rs_coll_shape_at(job, first);
    const rs_pool *pool = &job->ranks[first->rank]->pool;
    const char *group = rs_pool_text(pool, op->group), *members = rs_pool_text(pool, op->members);
    char text[400]; /* more than all of it takes */
    int n = snprintf(text, sizeof text, "%d %u %u %u %.100s %.200s", (int)op->kind, octave(op->in_elements),
                     first->rank, op->kind == RS_COLL_SEND_RECV ? (unsigned)side_of(job, first) : 0,
                     group ? group : "", members ? members : "");
    return rs_strings_add(classes, text, (size_t)n);
}

static bool near_enough(const rs_term *t)
{
    return t->start > -RS_CLOCK_FARTHEST && t->end < RS_CLOCK_FARTHEST && t->start <= t->end;
}

static bool add_hubs(const rs_coll_job *job, rs_terms *t, rs_strings *classes)
{
    int64_t last = INT64_MIN;
    t->origin = INT64_MAX;
    for (size_t i = 0; i < job->n_arrivals; i++) {
        int64_t start = rs_coll_start(job, &job->arrivals[i]), end = rs_coll_end(job, &job->arrivals[i]);
        if (start < t->origin) t->origin = start;
        if (end > last) last = end;
    }
    if (!job->n_arrivals) t->origin = last = 0;
    t->middle = rs_sub_sat(last, t->origin) / 2;
    for (size_t i = 0; i < job->n; i++) {
        const rs_coll_instance *c = &job->instances[i];
        if (!counts(job, c)) continue;
        rs_hub hub = {.first = (uint32_t)t->n, .instance = (uint32_t)i};
        for (uint32_t k = c->first; k < c->first + c->n; k++) {
            const rs_coll_arrival *a = &job->arrivals[k];
            rs_term term = {.start = rs_sub_sat(rs_coll_start(job, a), t->origin),
                            .end = rs_sub_sat(rs_coll_end(job, a), t->origin),
                            .hub = (uint32_t)t->n_hubs,
                            .rank = a->rank & (((uint32_t)1 << RS_TERM_RANK_BITS) - 1),
                            .says = says(job, a) & 3u};
            if (!near_enough(&term)) continue;
            t->items[t->n++] = term;
            hub.n++;
        }
        hub.together = !c->on_host;
        hub.paired = rs_coll_shape_at(job, &job->arrivals[c->first])->kind == RS_COLL_SEND_RECV;
        hub.class = class_of(job, c, classes);
        if (hub.class == RS_NO_STRING) return false;
        t->hubs[t->n_hubs++] = hub;
    }
    t->n_classes = classes->n;
    return true;
}

/* Sorts by counting: terms with equal ranks stay in their order. of_first: the rank of their hub's first term counts,
 * not their own. count: room for n_ranks + 1. */
static void sort_points(const rs_terms *t, const uint32_t *from, uint32_t *to, size_t n, bool of_first,
                        size_t *count, size_t n_ranks)
{
    for (size_t r = 0; r <= n_ranks; r++) count[r] = 0;
    for (int placing = 0; placing < 2; placing++) {
        for (size_t i = 0; i < n; i++) {
            const rs_term *term = &t->items[from[i]];
            uint32_t rank = of_first ? t->items[t->hubs[term->hub].first].rank : term->rank;
            if (placing)
                to[count[rank]++] = from[i];
            else
                count[rank + 1]++;
        }
        for (size_t r = 0; !placing && r < n_ranks; r++) count[r + 1] += count[r];
    }
}

/* Each collective ties its members to its first one. */
static bool add_points(rs_terms *t, size_t n_ranks)
{
    uint32_t *unsorted = rs_malloc((t->n + 1) * sizeof *unsorted);
    size_t *count = rs_malloc((n_ranks + 1) * sizeof *count), capacity = 0, capacity_first = 0, n = 0;
    t->points = rs_malloc((t->n + 1) * sizeof *t->points);
    bool ok = unsorted && count && t->points;
    for (uint32_t k = 0; ok && k < t->n; k++)
        if (t->items[t->hubs[t->items[k].hub].first].rank != t->items[k].rank) t->points[n++] = k;
    if (ok) {
        sort_points(t, t->points, unsorted, n, false, count, n_ranks);
        sort_points(t, unsorted, t->points, n, true, count, n_ranks);
    }
    rs_free_all(unsorted, count);
    t->n_points = n;
    size_t n_first = 0;
    for (size_t i = 0; ok && i <= n; i++) {
        if (i < n && i && rs_point_a(t, i)->rank == rs_point_a(t, i - 1)->rank &&
            rs_point_b(t, i)->rank == rs_point_b(t, i - 1)->rank)
            continue;
        ok = RS_PUSH(t->first, n_first, capacity_first, i);
        if (i == n) break;
        ok = ok && RS_GROW_ONE(t->pairs, t->n_pairs, capacity);
        if (!ok) break;
        t->pairs[t->n_pairs++] = (rs_clock_pair){.a = rs_point_a(t, i)->rank,
                                                 .b = rs_point_b(t, i)->rank,
                                                 .low = RS_NO_TIME,
                                                 .high = RS_NO_TIME,
                                                 .certain_low = RS_NO_TIME,
                                                 .certain_high = RS_NO_TIME};
    }
    return ok;
}

size_t rs_terms_most_points(const rs_terms *t)
{
    size_t most = 0;
    for (size_t p = 0; p < t->n_pairs; p++)
        if (t->first[p + 1] - t->first[p] > most) most = t->first[p + 1] - t->first[p];
    return most;
}

rs_status rs_terms_make(const rs_coll_job *job, rs_terms *out, rs_error *err)
{
    RS_SCOPED(rs_strings_clear) rs_strings classes = {0};
    *out = (rs_terms){0};
    out->items = rs_malloc((job->n_arrivals + 1) * sizeof *out->items);
    out->hubs = rs_malloc((job->n + 1) * sizeof *out->hubs);
    bool ok = out->items && out->hubs && !(job->n_ranks >> RS_TERM_RANK_BITS) && rs_strings_init(&classes) &&
              add_hubs(job, out, &classes) && add_points(out, job->n_ranks);
    if (ok) return RS_OK;
    rs_terms_clear(out);
    return rs_fail_nomem(err, "clocks");
}
