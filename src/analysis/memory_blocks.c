/* memory of a snapshot: the blocks that are there at one instant, what they are for, and how the sums change. */
#include <inttypes.h>
#include <stdio.h>

#include "analysis/memory_snapshot.h"
#include "base/interval.h"
#include "base/memory.h"
#include "base/order.h"

/* ---- blocks ------------------------------------------------------------------------------------------------ */

/* The largest first; of equal ones the oldest, those from before first. */
static const rs_order by_bytes[] = {RS_FALLING(rs_memory_block, bytes), RS_RISING(rs_memory_block, since),
                                    RS_RISING(rs_memory_block, place)};

static bool is_held(const rs_memory_view *v, const rs_life *life)
{
    return v->instant == RS_NEVER ? life->asked == RS_NEVER : rs_life_is_held(life, v->instant);
}

static bool fill_block(rs_memory_view *v, const rs_life *life, rs_memory_block *b)
{
    static const uint64_t no_pool[2] = {0, 0};
    const rs_history *h = &v->history;
    const rs_segment *g = rs_segment_at(&v->segments, life->address);
    rs_certainty certainty;
    bool ended = life->until <= h->n;
    *b = (rs_memory_block){.device = v->device,
                           .stream = rs_memory_number_text(v->rank, life->stream),
                           .pool = g || !v->snapshot->has_pools
                                       ? rs_memory_pool_text(v->rank, g ? g->pool : no_pool)
                                       : RS_NO_STRING,
                           .site = rs_stack_name(v->lines, life->stack),
                           .place = life->address,
                           .bytes = life->size,
                           .since = life->from ? rs_event_time(h, life->from - 1) : RS_NO_TIME,
                           .until = ended ? rs_event_time(h, life->until - 1) : RS_NO_TIME,
                           .pending = !is_held(v, life),
                           .purpose = rs_purpose_of(&v->purposes, life, &certainty)};
    b->certainty = certainty;
    snprintf(b->address, sizeof b->address, "0x%" PRIx64, life->address);
    if (!g && v->snapshot->has_pools) b->pool = rs_strings_add(&v->rank->texts, "unknown", 7);
    return b->stream != RS_NO_STRING && b->pool != RS_NO_STRING && b->site != RS_NO_STRING;
}

static rs_status add_purposes(rs_memory_view *v, const rs_memory_purpose *sums, rs_error *err)
{
    rs_memory_rank *rank = v->rank;
    for (size_t k = 0; k < RS_N_PURPOSES; k++) {
        if (!sums[k].blocks) continue;
        if (!RS_PUSH(rank->purposes, rank->n_purposes, rank->purposes_capacity, sums[k]))
            return rs_fail_nomem(err, "categories");
    }
    return RS_OK;
}

static void count_purpose(rs_memory_purpose *sums, const rs_memory_block *b)
{
    rs_memory_purpose *sum = &sums[b->purpose];
    sum->bytes = rs_add_sat(sum->bytes, b->bytes);
    sum->blocks++;
    if (b->certainty > sum->certainty) sum->certainty = b->certainty;
}

static bool list_blocks(rs_memory_view *v, rs_memory_purpose *sums)
{
    rs_memory_rank *rank = v->rank;
    for (size_t i = 0; i < v->history.n_lives; i++) {
        const rs_life *life = &v->history.lives[i];
        if (!rs_view_is_active(v, life)) continue;
        if (!RS_GROW_ONE(rank->blocks, rank->n_blocks, rank->blocks_capacity) ||
            !fill_block(v, life, &rank->blocks[rank->n_blocks]))
            return false;
        count_purpose(sums, &rank->blocks[rank->n_blocks++]);
    }
    return true;
}

rs_status rs_memory_add_blocks(rs_memory_view *v, rs_error *err)
{
    rs_memory_rank *rank = v->rank;
    rs_memory_purpose sums[RS_N_PURPOSES] = {{0}};
    size_t first = rank->n_blocks, top = v->question->top;
    int64_t all = 0;
    if (!list_blocks(v, sums)) return rs_fail_nomem(err, "blocks");
    size_t n = rank->n_blocks - first;
    if (n) RS_SORT(rank->blocks + first, n, by_bytes);
    if (top && n > top) rank->n_blocks = first + top;
    for (size_t k = 0; k < RS_N_PURPOSES; k++) all = rs_add_sat(all, sums[k].bytes);
    for (size_t k = 0; k < RS_N_PURPOSES; k++) {
        sums[k].device = v->device;
        sums[k].purpose = (unsigned)k;
        sums[k].all = all;
    }
    return add_purposes(v, sums, err);
}

/* ---- changes ----------------------------------------------------------------------------------------------- */

/* What an event changes of the first sum that it changes. */
static int64_t difference(const rs_held *before, const rs_held *after)
{
    if (after->reserved != before->reserved) return rs_sub_sat(after->reserved, before->reserved);
    if (after->held != before->held) return rs_sub_sat(after->held, before->held);
    return rs_sub_sat(after->active, before->active);
}

rs_status rs_memory_add_changes(rs_memory_view *v, rs_error *err)
{
    const rs_history *h = &v->history;
    rs_memory_rank *rank = v->rank;
    rs_held before = h->begin;
    size_t at = 0;
    if (!RS_PUSH(rank->changes, rank->n_changes, rank->changes_capacity,
                 (rs_memory_change){.device = v->device,
                                    .action = RS_SNAPSHOT_OTHER,
                                    .event = -1,
                                    .time = rs_instant_time(h, 0),
                                    .held = before.held,
                                    .active = before.active,
                                    .reserved = before.reserved}))
        return rs_fail_nomem(err, "timeline");
    for (uint32_t i = 0; i < h->n; i++) {
        rs_held now = before;
        rs_held_after(h, i, &now);
        int64_t bytes = difference(&before, &now);
        before = now;
        while (at < v->n_spans && v->spans[at].last <= i) at++;
        bool selected = at < v->n_spans && v->spans[at].first <= i;
        if (!bytes || !selected) continue;
        if (!RS_PUSH(rank->changes, rank->n_changes, rank->changes_capacity,
                     (rs_memory_change){.device = v->device,
                                        .action = rs_event_action(h, i),
                                        .event = i,
                                        .time = rs_event_time(h, i),
                                        .bytes = bytes,
                                        .held = now.held,
                                        .active = now.active,
                                        .reserved = now.reserved}))
            return rs_fail_nomem(err, "timeline");
    }
    return RS_OK;
}

/* ---- allocations ------------------------------------------------------------------------------------------- */

rs_status rs_memory_add_allocations(rs_memory_view *v, rs_error *err)
{
    const rs_history *h = &v->history;
    rs_memory_rank *rank = v->rank;
    uint32_t peak = v->peaks.instant[RS_ACTIVE];
    for (size_t i = 0; i < h->n_lives; i++) {
        const rs_life *life = &h->lives[i];
        rs_certainty certainty;
        uint32_t line = rs_stack_name(v->lines, life->stack);
        if (line == RS_NO_STRING ||
            !RS_PUSH(
                rank->allocations, rank->n_allocations, rank->allocations_capacity,
                (rs_memory_allocation){.device = v->device,
                                       .line = line,
                                       .site = rank->sites[v->site_of_life[i]].site,
                                       .number = h->device->number,
                                       .time = life->from ? rs_event_time(h, life->from - 1) : RS_NO_TIME,
                                       .size = life->size,
                                       .from = life->from,
                                       .until = life->until,
                                       .address = life->address,
                                       .purpose = rs_purpose_of(&v->purposes, life, &certainty),
                                       .at_peak = rs_life_is_active(life, peak),
                                       .made_peak = life->from && life->from == peak,
                                       .shown = rs_view_is_active(v, life)}))
            return rs_fail_nomem(err, "allocations");
    }
    return RS_OK;
}
