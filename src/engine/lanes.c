#include "engine/lanes.h"

#include "base/interval.h"
#include "base/search.h"

/* Small numbers for large ones, in order of first appearance. */
static uint32_t number_of(rs_map64 *map, size_t *n, uint64_t key)
{
    bool is_new;
    uint32_t *slot = rs_map64_put(map, key, &is_new);
    if (!slot) return UINT32_MAX;
    if (is_new) *slot = (uint32_t)(*n)++;
    return *slot;
}

static size_t recent_place(int64_t first, int64_t second)
{
    return (size_t)((uint64_t)first * 5 + (uint64_t)second) % RS_LANE_RECENT;
}

static uint32_t recent_lane(const rs_lanes *l, int64_t first, int64_t second)
{
    const struct rs_lane_recent *r = &l->recent[recent_place(first, second)];
    return r->lane_after && r->first == first && r->second == second ? r->lane_after - 1 : UINT32_MAX;
}

/* The number of a pair, new or known; UINT32_MAX when out of memory. */
static uint32_t lane_of(rs_lanes *l, int64_t first, int64_t second)
{
    uint32_t a = number_of(&l->firsts, &l->n_firsts, (uint64_t)first);
    uint32_t b = number_of(&l->seconds, &l->n_seconds, (uint64_t)second);
    if (a == UINT32_MAX || b == UINT32_MAX) return UINT32_MAX;
    uint32_t lane = number_of(&l->pairs, &l->n_lanes, (uint64_t)a << 32 | b);
    if (lane != UINT32_MAX)
        l->recent[recent_place(first, second)] = (struct rs_lane_recent){first, second, lane + 1};
    return lane;
}

bool rs_lanes_add(rs_lanes *l, int64_t first, int64_t second, int64_t time, uint32_t value)
{
    uint32_t lane = recent_lane(l, first, second);
    if (lane == UINT32_MAX) lane = lane_of(l, first, second);
    if (lane == UINT32_MAX || !RS_PUSH(l->entries, l->n, l->capacity, (rs_lane_entry){time, lane, value}))
        return false;
    return true;
}

/* By time, then order of adding. scratch: room for n. */
static bool sort_lane(rs_lane_entry *items, size_t n, rs_keyed *scratch)
{
    size_t i = 1;
    while (i < n && items[i - 1].time <= items[i].time) i++;
    if (i >= n) return true;
    for (i = 0; i < n; i++) scratch[i] = (rs_keyed){items[i].time, items[i].value};
    if (!rs_keyed_sort(scratch, n)) return false;
    for (i = 0; i < n; i++) {
        items[i].time = scratch[i].key;
        items[i].value = scratch[i].value;
    }
    return true;
}

/* What is added comes mostly by time within its lane, if not over all: lanes first, then each by itself. */
bool rs_lanes_finish(rs_lanes *l)
{
    RS_LOCAL rs_keyed *scratch = rs_malloc(l->n * sizeof *scratch);
    rs_lane_entry *sorted = rs_malloc(l->n * sizeof *sorted);
    l->begin = rs_calloc(l->n_lanes + 2, sizeof *l->begin);
    bool ok = scratch && sorted && l->begin;
    if (ok) {
        /* begin[lane + 1] first counts, then says where the lane's next entry goes */
        for (size_t i = 0; i < l->n; i++) l->begin[l->entries[i].lane + 2]++;
        for (size_t i = 1; i <= l->n_lanes; i++) l->begin[i + 1] += l->begin[i];
        for (size_t i = 0; i < l->n; i++) sorted[l->begin[l->entries[i].lane + 1]++] = l->entries[i];
        rs_free(l->entries);
        l->entries = sorted;
        l->capacity = l->n;
        sorted = NULL;
    }
    for (size_t i = 0; ok && i < l->n_lanes; i++)
        ok = sort_lane(l->entries + l->begin[i], l->begin[i + 1] - l->begin[i], scratch);
    rs_free(sorted);
    return ok;
}

void rs_lanes_clear(rs_lanes *l)
{
    rs_map64_clear(&l->firsts);
    rs_map64_clear(&l->seconds);
    rs_map64_clear(&l->pairs);
    rs_free_all(l->entries, l->begin);
    *l = (rs_lanes){0};
}

uint32_t rs_lanes_find(const rs_lanes *l, int64_t first, int64_t second)
{
    uint32_t recent = recent_lane(l, first, second);
    if (recent != UINT32_MAX) return recent;
    const uint32_t *a = rs_map64_get(&l->firsts, (uint64_t)first);
    const uint32_t *b = rs_map64_get(&l->seconds, (uint64_t)second);
    const uint32_t *lane = a && b ? rs_map64_get(&l->pairs, (uint64_t)*a << 32 | *b) : NULL;
    return lane ? *lane : UINT32_MAX;
}

/* How many entries of the lane lie before t, or up to it. */
static size_t lower(const rs_lanes *l, uint32_t lane, int64_t t, bool with_equal)
{
    size_t at;
    RS_SEARCH_BETWEEN(at, l->begin[lane], l->begin[lane + 1],
                      l->entries[at].time < t || (with_equal && l->entries[at].time == t));
    return at;
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
