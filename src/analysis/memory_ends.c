/* memory of a snapshot: segments and how they are fragmented, sites that grow by the step, and allocations that
 * failed. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/memory_snapshot.h"
#include "base/interval.h"
#include "base/memory.h"
#include "base/order.h"
#include "memory/notes.h"

/* ---- segments ------------------------------------------------------------------------------------------------ */

static bool is_same_group(const rs_memory_segment *a, const rs_memory_segment *b)
{
    return a->device == b->device && a->stream == b->stream && a->pool == b->pool && a->small == b->small;
}

/* The group of segments of a pool, stream and type; NULL: no memory. There are few of them. */
static rs_memory_segment *group_of(rs_memory_rank *rank, const rs_memory_segment *row)
{
    for (size_t i = rank->n_groups; i-- > 0 && rank->groups[i].device == row->device;)
        if (is_same_group(&rank->groups[i], row)) return &rank->groups[i];
    if (!RS_GROW_ONE(rank->groups, rank->n_groups, rank->groups_capacity)) return NULL;
    rs_memory_segment *group = &rank->groups[rank->n_groups++];
    *group = (rs_memory_segment){
        .device = row->device, .stream = row->stream, .pool = row->pool, .small = row->small};
    return group;
}

/* The blocks that keep segments: which sites by line they are of. */
enum { MOST_PINS = 5 };

/* Stuck bytes by site, each segment counted once. */
typedef struct pinning {
    rs_map64 rows; /* by name */
    rs_memory_pin *items;
    uint32_t *last; /* the segment that was counted last + 1 */
    size_t n, capacity, last_capacity;
} pinning;

static bool pin(rs_memory_view *v, pinning *p, const rs_block *block, uint32_t segment, int64_t stuck)
{
    bool is_new;
    uint32_t site = rs_stack_name(v->lines, block->stack);
    uint32_t *row = site == RS_NO_STRING ? NULL : rs_map64_put(&p->rows, site, &is_new);
    if (!row) return false;
    if (is_new) {
        if (!RS_GROW_ONE(p->items, p->n, p->capacity) || !RS_GROW_ONE(p->last, p->n, p->last_capacity))
            return false;
        *row = (uint32_t)p->n;
        p->last[p->n] = 0;
        p->items[p->n++] = (rs_memory_pin){v->device, site, 0};
    }
    if (p->last[*row] == segment + 1) return true;
    p->last[*row] = segment + 1;
    p->items[*row].stuck = rs_add_sat(p->items[*row].stuck, stuck);
    return true;
}

/* The most stuck bytes first; then as they were met. */
static const rs_order by_stuck[] = {RS_FALLING(rs_memory_pin, stuck), RS_RISING(rs_memory_pin, site)};

static rs_status add_pins(rs_memory_view *v, rs_error *err)
{
    rs_memory_rank *rank = v->rank;
    pinning p = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < v->segments.n; i++) {
        const rs_segment *g = &v->snapshot->segments[v->segments.order[i]];
        rs_segment_use use = rs_segment_use_of(v->snapshot, g);
        for (uint32_t k = g->first; ok && use.stuck && k < g->first + g->n; k++)
            if (v->snapshot->blocks[k].state != RS_BLOCK_INACTIVE)
                ok = pin(v, &p, &v->snapshot->blocks[k], (uint32_t)i, use.stuck);
    }
    RS_SORT(p.items, p.n, by_stuck);
    for (size_t i = 0; ok && i < p.n && i < MOST_PINS; i++)
        ok = RS_PUSH(rank->pins, rank->n_pins, rank->pins_capacity, p.items[i]);
    rs_map64_clear(&p.rows);
    rs_free_all(p.items, p.last);
    return ok ? RS_OK : rs_fail_nomem(err, "segments");
}

rs_status rs_memory_add_segments(rs_memory_view *v, rs_memory_device *d, rs_error *err)
{
    rs_memory_rank *rank = v->rank;
    for (size_t i = 0; i < v->segments.n; i++) {
        const rs_segment *g = &v->snapshot->segments[v->segments.order[i]];
        rs_memory_segment row = {.device = v->device,
                                 .stream = rs_memory_number_text(rank, g->stream),
                                 .pool = rs_memory_pool_text(rank, g->pool),
                                 .small = g->small,
                                 .expandable = g->expandable,
                                 .use = rs_segment_use_of(v->snapshot, g),
                                 .segments = 1};
        snprintf(row.address, sizeof row.address, "0x%" PRIx64, g->address);
        rs_memory_segment *group = group_of(rank, &row);
        if (row.stream == RS_NO_STRING || row.pool == RS_NO_STRING || !group ||
            !RS_GROW_ONE(rank->segments, rank->n_segments, rank->segments_capacity))
            return rs_fail_nomem(err, "segments");
        rank->segments[rank->n_segments++] = row;
        rs_segment_use_add(&group->use, &row.use);
        group->segments++;
        d->free = rs_add_sat(d->free, row.use.free);
        d->releasable = rs_add_sat(d->releasable, row.use.releasable);
        d->stuck = rs_add_sat(d->stuck, row.use.stuck);
        d->free_runs += row.use.free_runs;
        d->rounding = rs_add_sat(d->rounding, rs_sub_sat(row.use.active, row.use.requested));
    }
    return add_pins(v, err);
}

/* ---- what grows ------------------------------------------------------------------------------------------------ */

#define LEAST_STEPS 3

typedef struct keeping {
    int64_t last_step; /* in which it kept something; -1: none yet */
    rs_memory_growth row;
} keeping;

/* What each site allocated in the steps, and what of that is there at the end. */
static void sum_steps(const rs_memory_view *v, const rs_memory_step *steps, size_t n, keeping *sites)
{
    const rs_history *h = &v->history;
    for (size_t k = 0; k < n; k++)
        for (uint32_t i = steps[k].from; i < steps[k].to; i++) {
            uint32_t at = h->life_of[i];
            if (at == RS_NO_LIFE || h->lives[at].from != i + 1) continue;
            keeping *site = &sites[v->site_of_life[at] - v->first_site];
            site->row.allocated = rs_add_sat(site->row.allocated, h->lives[at].size);
            if (h->lives[at].until != RS_NEVER) continue;
            site->row.kept = rs_add_sat(site->row.kept, h->lives[at].size);
            site->row.blocks++;
            if (site->last_step == (int64_t)k) continue;
            site->last_step = (int64_t)k;
            site->row.steps_kept++;
        }
}

/* What keeps most first; then by the order of the sites. */
static const rs_order by_kept[] = {RS_FALLING(rs_memory_growth, kept), RS_RISING(rs_memory_growth, place)};

static rs_status add_growing(rs_memory_view *v, const rs_memory_steps *steps, rs_error *err)
{
    rs_memory_rank *rank = v->rank;
    size_t n_sites = rank->n_sites - v->first_site, first = rank->n_growth;
    /* the first and the last whole step are left out */
    size_t n = steps->n - 2 - (steps->open ? 1 : 0);
    int64_t least = (int64_t)((n + 1) / 2);
    RS_LOCAL keeping *sites = rs_calloc(n_sites + 1, sizeof *sites);
    if (!sites) return rs_fail_nomem(err, "sites");
    for (size_t i = 0; i < n_sites; i++) sites[i].last_step = -1;
    if (least < LEAST_STEPS) least = LEAST_STEPS;
    sum_steps(v, steps->items + 1, n, sites);
    rs_status status = RS_OK;
    for (size_t i = 0; status == RS_OK && i < n_sites; i++) {
        rs_memory_growth *row = &sites[i].row;
        if (row->steps_kept < least) continue;
        row->device = v->device;
        row->site = rank->sites[v->first_site + i].site;
        row->source = steps->source;
        row->steps = (int64_t)n;
        row->place = i;
        if (RS_GROW_ONE(rank->growth, rank->n_growth, rank->growth_capacity))
            rank->growth[rank->n_growth++] = *row;
        else
            status = rs_fail_nomem(err, "sites");
    }
    if (rank->n_growth > first) RS_SORT(rank->growth + first, rank->n_growth - first, by_kept);
    return status;
}

rs_status rs_memory_add_growth(rs_memory_view *v, rs_memory_device *d, rs_error *err)
{
    rs_memory_steps steps;
    rs_status status = rs_memory_steps_make(&v->history, &steps, err);
    size_t whole = steps.n - (steps.open ? 1 : 0);
    d->steps = (int64_t)whole;
    if (status == RS_OK && whole >= 2 + LEAST_STEPS) status = add_growing(v, &steps, err);
    rs_memory_steps_clear(&steps);
    return status;
}

/* ---- failures -------------------------------------------------------------------------------------------------- */

static rs_memory_cause cause_of(const rs_memory_failure *f)
{
    if (f->device_free >= f->requested) return RS_CAUSE_LIMIT;
    int64_t slack = rs_sub_sat(f->reserved, f->active);
    return f->requested <= rs_add_sat(f->device_free, slack) ? RS_CAUSE_FRAGMENTATION : RS_CAUSE_DEMAND;
}

static int64_t largest_free(const rs_memory_view *v)
{
    int64_t largest = 0;
    for (size_t i = 0; i < v->rank->n_segments; i++)
        if (v->rank->segments[i].device == v->device && v->rank->segments[i].use.largest_free > largest)
            largest = v->rank->segments[i].use.largest_free;
    return largest;
}

rs_status rs_memory_add_failures(rs_memory_view *v, rs_memory_device *d, rs_error *err)
{
    const rs_history *h = &v->history;
    rs_memory_rank *rank = v->rank;
    rs_held now = h->begin;
    uint32_t last_change = 0;
    size_t first = rank->n_failures;
    for (uint32_t i = 0; i < h->n; i++) {
        rs_held_after(h, i, &now);
        if (rs_event_action(h, i) != RS_SNAPSHOT_OOM) {
            last_change = i;
            continue;
        }
        uint64_t device_free = v->snapshot->events.address[h->device->first + i];
        rs_memory_failure f = {.device = v->device,
                               .site = rs_stack_name(v->lines, rs_event_stack(h, i)),
                               .event = i,
                               .time = rs_event_time(h, i),
                               .requested = rs_event_size(h, i),
                               .device_free = device_free > INT64_MAX ? INT64_MAX : (int64_t)device_free,
                               .held = now.held,
                               .active = now.active,
                               .reserved = now.reserved,
                               .largest_free = RS_NO_VALUE};
        f.cause = cause_of(&f);
        int64_t need = rs_add_sat(now.reserved, f.requested), floor = rs_add_sat(now.active, f.requested);
        if (need > d->need) d->need = need;
        if (floor > d->floor) d->floor = floor;
        if (f.site == RS_NO_STRING || !RS_PUSH(rank->failures, rank->n_failures, rank->failures_capacity, f))
            return rs_fail_nomem(err, "failed allocations");
    }
    for (size_t i = first; i < rank->n_failures; i++)
        if (rank->failures[i].event > last_change) rank->failures[i].largest_free = largest_free(v);
    return RS_OK;
}
