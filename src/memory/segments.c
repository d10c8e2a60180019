#include "memory/segments.h"

#include <stdlib.h>

#include "base/interval.h"
#include "base/memory.h"
#include "base/order.h"
#include "base/search.h"

#define SMALL_PAGE ((uint64_t)2 << 20)
#define LARGE_PAGE ((uint64_t)20 << 20)

/* Bytes of whole pages inside of a run that begins `from` bytes after the segment's beginning. */
static int64_t pages_in(const rs_segment *g, uint64_t from, uint64_t n)
{
    uint64_t page = g->small ? SMALL_PAGE : LARGE_PAGE;
    uint64_t first = (from + page - 1) / page, last = (from + n) / page;
    return last > first ? (int64_t)((last - first) * page) : 0;
}

static void end_run(const rs_segment *g, uint64_t from, int64_t n, rs_segment_use *use)
{
    if (!n) return;
    use->free_runs++;
    if (n > use->largest_free) use->largest_free = n;
    if (g->expandable) use->releasable += pages_in(g, from, (uint64_t)n);
}

rs_segment_use rs_segment_use_of(const rs_snapshot *s, const rs_segment *g)
{
    rs_segment_use use = {.reserved = g->size};
    int64_t run = 0;
    uint64_t at = 0, from = 0;
    for (uint32_t i = g->first; i < g->first + g->n; i++) {
        const rs_block *b = &s->blocks[i];
        if (b->state == RS_BLOCK_INACTIVE) {
            if (!run) from = at;
            run += b->size;
        } else {
            end_run(g, from, run, &use);
            run = 0;
            use.blocks++;
            use.active += b->size;
            use.requested = rs_add_sat(use.requested, b->requested);
            if (b->state == RS_BLOCK_ALLOCATED) use.allocated += b->size;
        }
        at += (uint64_t)b->size;
    }
    end_run(g, from, run, &use);
    use.free = use.reserved - use.active;
    if (!use.blocks) use.releasable = use.reserved;
    use.stuck = use.free - use.releasable;
    return use;
}

void rs_segment_use_add(rs_segment_use *sum, const rs_segment_use *one)
{
    sum->reserved = rs_add_sat(sum->reserved, one->reserved);
    sum->active = rs_add_sat(sum->active, one->active);
    sum->allocated = rs_add_sat(sum->allocated, one->allocated);
    sum->requested = rs_add_sat(sum->requested, one->requested);
    sum->free = rs_add_sat(sum->free, one->free);
    sum->releasable = rs_add_sat(sum->releasable, one->releasable);
    sum->stuck = rs_add_sat(sum->stuck, one->stuck);
    sum->free_runs += one->free_runs;
    sum->blocks += one->blocks;
    if (one->largest_free > sum->largest_free) sum->largest_free = one->largest_free;
}

/* ---- by address ---------------------------------------------------------------------------------------- */

typedef struct place {
    uint64_t address;
    uint32_t segment;
} place;

static const rs_order by_address[] = {RS_RISING(place, address), RS_RISING(place, segment)};

rs_status rs_segment_finder_init(rs_segment_finder *f, const rs_snapshot *s, int32_t device, rs_error *err)
{
    RS_LOCAL place *places = rs_malloc((s->n_segments + 1) * sizeof *places);
    *f = (rs_segment_finder){.snapshot = s, .order = rs_malloc((s->n_segments + 1) * sizeof *f->order)};
    bool ok = places && f->order;
    for (size_t i = 0; ok && i < s->n_segments; i++)
        if (s->segments[i].device == device) places[f->n++] = (place){s->segments[i].address, (uint32_t)i};
    if (ok && f->n) RS_SORT(places, f->n, by_address);
    for (size_t i = 0; ok && i < f->n; i++) f->order[i] = places[i].segment;
    return ok ? RS_OK : rs_fail_nomem(err, "segments");
}

void rs_segment_finder_clear(rs_segment_finder *f)
{
    rs_free(f->order);
    *f = (rs_segment_finder){0};
}

const rs_segment *rs_segment_at(const rs_segment_finder *f, uint64_t address)
{
    size_t low;
    RS_SEARCH(low, f->n, f->snapshot->segments[f->order[low]].address <= address);
    if (!low) return NULL;
    const rs_segment *g = &f->snapshot->segments[f->order[low - 1]];
    return address - g->address < (uint64_t)g->size ? g : NULL;
}
