#include "critical/lanes.h"

#include "base/interval.h"

/* Small numbers for large ones, in order of first appearance. */
static uint32_t number_of(rs_map64 *map, size_t *n, uint64_t key)
{
    bool is_new;
    uint32_t *slot = rs_map64_put(map, key, &is_new);
    if (!slot) return UINT32_MAX;
    if (is_new) *slot = (uint32_t)(*n)++;
    return *slot;
}

/* The lane of a pair, made when it is new; UINT32_MAX when out of memory. */
static uint32_t lane_of(rs_lanes *l, int64_t first, int64_t second)
{
    uint32_t a = number_of(&l->firsts, &l->n_firsts, (uint64_t)first);
    uint32_t b = number_of(&l->seconds, &l->n_seconds, (uint64_t)second);
    if (a == UINT32_MAX || b == UINT32_MAX) return UINT32_MAX;
    return number_of(&l->pairs, &l->n_lanes, (uint64_t)a << 32 | b);
}

bool rs_lanes_add(rs_lanes *l, int64_t first, int64_t second, int64_t time, uint32_t value)
{
    rs_lane_memo *memo = &l->memo[((uint64_t)first * 5 + (uint64_t)second) % RS_LANE_MEMOS];
    if (!memo->known || memo->first != first || memo->second != second) {
        uint32_t lane = lane_of(l, first, second);
        if (lane == UINT32_MAX) return false;
        *memo = (rs_lane_memo){first, second, lane, true};
    }
    if (!RS_GROW_ONE(l->entries, l->n, l->capacity)) return false;
    l->entries[l->n++] = (rs_lane_entry){time, memo->lane, value};
    return true;
}

bool rs_lanes_finish(rs_lanes *l)
{
    rs_keyed *order = rs_malloc(l->n * sizeof *order);
    rs_lane_entry *sorted = rs_malloc(l->n * sizeof *sorted);
    l->begin = rs_calloc(l->n_lanes + 2, sizeof *l->begin);
    bool ok = order && sorted && l->begin;
    for (size_t i = 0; ok && i < l->n; i++) order[i] = (rs_keyed){l->entries[i].time, (uint32_t)i};
    ok = ok && rs_keyed_sort(order, l->n);
    if (ok) {
        /* begin[lane + 1] first counts, then says where the lane's next entry goes */
        for (size_t i = 0; i < l->n; i++) l->begin[l->entries[i].lane + 2]++;
        for (size_t i = 1; i <= l->n_lanes; i++) l->begin[i + 1] += l->begin[i];
        for (size_t i = 0; i < l->n; i++) {
            const rs_lane_entry *x = &l->entries[order[i].value];
            sorted[l->begin[x->lane + 1]++] = *x;
        }
        rs_free(l->entries);
        l->entries = sorted;
        l->capacity = l->n;
        sorted = NULL;
    }
    rs_free(order);
    rs_free(sorted);
    return ok;
}

void rs_lanes_clear(rs_lanes *l)
{
    rs_map64_clear(&l->firsts);
    rs_map64_clear(&l->seconds);
    rs_map64_clear(&l->pairs);
    rs_free(l->entries);
    rs_free(l->begin);
    *l = (rs_lanes){0};
}

uint32_t rs_lanes_find(const rs_lanes *l, int64_t first, int64_t second)
{
    const uint32_t *a = rs_map64_get(&l->firsts, (uint64_t)first);
    const uint32_t *b = rs_map64_get(&l->seconds, (uint64_t)second);
    const uint32_t *lane = a && b ? rs_map64_get(&l->pairs, (uint64_t)*a << 32 | *b) : NULL;
    return lane ? *lane : UINT32_MAX;
}

/* How many entries of the lane lie before t, or up to it. */
static size_t lower(const rs_lanes *l, uint32_t lane, int64_t t, bool with_equal)
{
    size_t from = l->begin[lane], to = l->begin[lane + 1];
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        int64_t time = l->entries[middle].time;
        if (time < t || (with_equal && time == t))
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

size_t rs_lanes_before(const rs_lanes *l, uint32_t lane, int64_t t, bool strictly)
{
    if (lane >= l->n_lanes) return SIZE_MAX;
    size_t at = lower(l, lane, t, !strictly);
    return at > l->begin[lane] ? at - 1 : SIZE_MAX;
}

size_t rs_lanes_after(const rs_lanes *l, uint32_t lane, int64_t t)
{
    if (lane >= l->n_lanes) return SIZE_MAX;
    size_t at = lower(l, lane, t, false);
    return at < l->begin[lane + 1] ? at : SIZE_MAX;
}
