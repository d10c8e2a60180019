#include "memory/history.h"

#include <string.h>

#include "base/interval.h"
#include "base/memory.h"
#include "base/search.h"

/* Putting a history together. */
typedef struct building {
    rs_history *h;
    rs_map64 last; /* by address: the last life there, or RS_NO_LIFE */
    bool has_requests,
        has_ends; /* the list has free_requested, free_completed: each serves as both where the other is
                                    not recorded at all */
} building;

static bool add_life(building *b, const rs_life *life, uint32_t *place)
{
    rs_history *h = b->h;
    if (h->n_lives >= RS_NO_LIFE || !RS_GROW_ONE(h->lives, h->n_lives, h->lives_capacity)) return false;
    *place = (uint32_t)h->n_lives;
    h->lives[h->n_lives++] = *life;
    return true;
}

/* The place of an address in the map: its last life; NULL: no memory. */
static uint32_t *last_at(building *b, uint64_t address)
{
    bool is_new;
    uint32_t *place = rs_map64_put(&b->last, address, &is_new);
    if (place && is_new) *place = RS_NO_LIFE;
    return place;
}

/* A life that has not ended; NULL: there is none. */
static rs_life *open_life(const building *b, uint32_t place)
{
    rs_life *life = place == RS_NO_LIFE ? NULL : &b->h->lives[place];
    return life && life->until == RS_NEVER ? life : NULL;
}

static bool allocate(building *b, uint32_t event, uint64_t address, uint64_t stream)
{
    rs_history *h = b->h;
    uint32_t *place = last_at(b, address), after = event + 1;
    if (!place) return false;
    rs_life *old = open_life(b, *place);
    if (old) {
        old->until = after;
        if (old->asked > after) old->asked = after;
        if (!RS_PUSH(h->cut, h->n_cut, h->cut_capacity, (rs_cut_life){event, *place})) return false;
    }
    rs_life life = {.address = address,
                    .stream = stream,
                    .size = rs_event_size(h, event),
                    .stack = rs_event_stack(h, event),
                    .from = after,
                    .asked = RS_NEVER,
                    .until = RS_NEVER};
    if (!add_life(b, &life, place)) return false;
    h->life_of[event] = *place;
    return true;
}

/* requests, ends: what the event does to the life at the address. */
static bool release(building *b, uint32_t event, uint64_t address, uint64_t stream, bool requests, bool ends)
{
    rs_history *h = b->h;
    uint32_t *place = last_at(b, address), after = event + 1;
    if (!place) return false;
    if (!open_life(b, *place)) {
        /* from before; one that only ends now was asked for before, too */
        rs_life life = {.address = address,
                        .stream = stream,
                        .size = rs_event_size(h, event),
                        .stack = RS_NO_STACK,
                        .asked = requests ? after : 0,
                        .until = RS_NEVER};
        if (!add_life(b, &life, place)) return false;
        h->n_before++;
    }
    rs_life *life = &h->lives[*place];
    h->life_of[event] = *place;
    if (requests && life->asked < after && !ends) {
        h->n_freed_twice++;
        h->life_of[event] = RS_NO_LIFE;
    }
    if (life->asked == RS_NEVER) life->asked = after;
    if (ends) life->until = after;
    return true;
}

static bool take_event(building *b, uint32_t event)
{
    rs_history *h = b->h;
    const rs_snapshot_events *e = &h->snapshot->events;
    size_t at = h->device->first + event;
    switch (rs_event_action(h, event)) {
    case RS_SNAPSHOT_ALLOC: return allocate(b, event, e->address[at], e->stream[at]);
    case RS_SNAPSHOT_FREE: return release(b, event, e->address[at], e->stream[at], true, true);
    case RS_SNAPSHOT_FREE_REQUESTED:
        return release(b, event, e->address[at], e->stream[at], true, !b->has_ends);
    case RS_SNAPSHOT_FREE_COMPLETED:
        return release(b, event, e->address[at], e->stream[at], !b->has_requests, true);
    case RS_SNAPSHOT_SEGMENT_ALLOC:
    case RS_SNAPSHOT_SEGMENT_MAP: h->device_allocs++; return true;
    case RS_SNAPSHOT_SEGMENT_FREE:
    case RS_SNAPSHOT_SEGMENT_UNMAP: h->device_frees++; return true;
    case RS_SNAPSHOT_OOM: h->n_failed++; return true;
    default: return true;
    }
}

/* ---- the segments -------------------------------------------------------------------------------------- */

/* The lives that the segments show; the map forgets them. */
static bool take_block(building *b, const rs_segment *g, const rs_block *block)
{
    rs_history *h = b->h;
    uint32_t *place = last_at(b, block->address);
    bool pending = block->state == RS_BLOCK_PENDING;
    if (!place) return false;
    rs_life *life = open_life(b, *place);
    /* its end is not recorded, and was taken to be its request */
    if (!life && pending && !b->has_ends && *place != RS_NO_LIFE &&
        h->lives[*place].until == h->lives[*place].asked) {
        life = &h->lives[*place];
        life->until = RS_NEVER;
    }
    if (!life) {
        rs_life before = {.address = block->address,
                          .stream = g->stream,
                          .size = block->requested,
                          .stack = block->stack,
                          .asked = pending ? 0 : RS_NEVER,
                          .until = RS_NEVER};
        uint32_t made;
        if (!add_life(b, &before, &made)) return false;
        h->n_before++;
    } else {
        if (life->stack == RS_NO_STACK) life->stack = block->stack;
        if (pending && life->asked == RS_NEVER) life->asked = h->n + 1; /* after the last event */
    }
    *place = RS_NO_LIFE;
    if (!pending) h->allocated = rs_add_sat(h->allocated, block->size);
    return true;
}

static bool take_segments(building *b)
{
    rs_history *h = b->h;
    const rs_snapshot *s = h->snapshot;
    for (size_t i = 0; i < s->n_segments; i++) {
        const rs_segment *g = &s->segments[i];
        if (g->device != h->device->number) continue;
        h->end.reserved = rs_add_sat(h->end.reserved, g->size);
        for (uint32_t k = g->first; k < g->first + g->n; k++)
            if (s->blocks[k].state != RS_BLOCK_INACTIVE && !take_block(b, g, &s->blocks[k])) return false;
    }
    return true;
}

/* What is still open is not in the segments: it ended after the last event. */
static void end_unplaced(building *b)
{
    rs_history *h = b->h;
    for (size_t i = 0; i < b->last.n_slots; i++) {
        rs_life *life = b->last.slots[i].used ? open_life(b, b->last.slots[i].value) : NULL;
        if (!life) continue;
        life->until = h->n + 1;
        if (life->asked > life->until) life->asked = life->until;
        h->n_unplaced++;
    }
}

static void sum_ends(rs_history *h)
{
    h->begin.reserved = h->end.reserved;
    for (uint32_t i = 0; i < h->n; i++) {
        rs_snapshot_action action = rs_event_action(h, i);
        if (action == RS_SNAPSHOT_SEGMENT_ALLOC || action == RS_SNAPSHOT_SEGMENT_MAP)
            h->begin.reserved = rs_sub_sat(h->begin.reserved, rs_event_size(h, i));
        else if (action == RS_SNAPSHOT_SEGMENT_FREE || action == RS_SNAPSHOT_SEGMENT_UNMAP)
            h->begin.reserved = rs_add_sat(h->begin.reserved, rs_event_size(h, i));
    }
    for (size_t i = 0; i < h->n_lives; i++) {
        const rs_life *life = &h->lives[i];
        if (life->from == 0) h->begin.active = rs_add_sat(h->begin.active, life->size);
        if (life->from == 0 && life->asked > 0) h->begin.held = rs_add_sat(h->begin.held, life->size);
        if (life->until == RS_NEVER) h->end.active = rs_add_sat(h->end.active, life->size);
        if (life->asked == RS_NEVER) h->end.held = rs_add_sat(h->end.held, life->size);
    }
}

rs_status rs_history_make(const rs_snapshot *snapshot, const rs_snapshot_device *device, rs_history *h,
                          rs_error *err)
{
    *h = (rs_history){.snapshot = snapshot, .device = device, .n = (uint32_t)device->n};
    building b = {.h = h};
    h->life_of = rs_malloc((device->n + 1) * sizeof *h->life_of);
    bool ok = h->life_of != NULL;
    if (ok) memset(h->life_of, 0xff, device->n * sizeof *h->life_of);
    for (uint32_t i = 0; i < h->n; i++) {
        b.has_requests |= rs_event_action(h, i) == RS_SNAPSHOT_FREE_REQUESTED;
        b.has_ends |= rs_event_action(h, i) == RS_SNAPSHOT_FREE_COMPLETED;
    }
    for (uint32_t i = 0; ok && i < h->n; i++) ok = take_event(&b, i);
    ok = ok && take_segments(&b);
    if (ok) end_unplaced(&b);
    if (ok) sum_ends(h);
    rs_map64_clear(&b.last);
    return ok ? RS_OK : rs_fail_nomem(err, "history of a device");
}

void rs_history_clear(rs_history *h)
{
    rs_free_all(h->lives, h->life_of, h->cut);
    *h = (rs_history){0};
}

/* ---- instants ------------------------------------------------------------------------------------------ */

int64_t rs_instant_time(const rs_history *h, uint32_t instant)
{
    if (!h->n) return RS_NO_TIME;
    return rs_event_time(h, instant ? instant - 1 : 0);
}

/* The life that an allocation at its address ended, or NULL. */
static const rs_life *cut_by(const rs_history *h, uint32_t event)
{
    size_t low;
    RS_SEARCH(low, h->n_cut, h->cut[low].event < event);
    return low < h->n_cut && h->cut[low].event == event ? &h->lives[h->cut[low].life] : NULL;
}

static void end_life(const rs_life *life, uint32_t instant, rs_held *now)
{
    if (life->asked == instant) now->held = rs_sub_sat(now->held, life->size);
    if (life->until == instant) now->active = rs_sub_sat(now->active, life->size);
}

void rs_held_after(const rs_history *h, uint32_t event, rs_held *now)
{
    uint32_t place = h->life_of[event];
    int64_t size = rs_event_size(h, event);
    switch (rs_event_action(h, event)) {
    case RS_SNAPSHOT_SEGMENT_ALLOC:
    case RS_SNAPSHOT_SEGMENT_MAP: now->reserved = rs_add_sat(now->reserved, size); return;
    case RS_SNAPSHOT_SEGMENT_FREE:
    case RS_SNAPSHOT_SEGMENT_UNMAP: now->reserved = rs_sub_sat(now->reserved, size); return;
    default: break;
    }
    if (place == RS_NO_LIFE) return;
    const rs_life *life = &h->lives[place];
    if (life->from != event + 1) {
        end_life(life, event + 1, now);
        return;
    }
    const rs_life *old = h->n_cut ? cut_by(h, event) : NULL;
    if (old) end_life(old, event + 1, now);
    now->held = rs_add_sat(now->held, life->size);
    now->active = rs_add_sat(now->active, life->size);
}

static void raise_peaks(rs_peaks *p, const rs_held *now, uint32_t instant, bool *first)
{
    const int64_t values[RS_N_SUMS] = {now->held, now->active, now->reserved};
    for (int k = 0; k < RS_N_SUMS; k++) {
        if (!*first && values[k] <= p->value[k]) continue;
        p->value[k] = values[k];
        p->instant[k] = instant;
    }
    *first = false;
}

rs_peaks rs_history_peaks(const rs_history *h, const rs_instants *spans, size_t n)
{
    rs_peaks p = {0};
    rs_held now = h->n ? h->begin : h->end;
    bool first = true;
    size_t at = 0;
    for (uint32_t i = 0;; i++) {
        while (at < n && spans[at].last < i) at++;
        if (at == n) return p;
        if (spans[at].first <= i) raise_peaks(&p, &now, i, &first);
        if (i == h->n) return p;
        rs_held_after(h, i, &now);
    }
}

uint32_t rs_instant_at(const rs_history *h, int64_t time)
{
    for (uint32_t i = h->n; i > 0; i--)
        if (rs_event_time(h, i - 1) != RS_NO_TIME && rs_event_time(h, i - 1) <= time) return i;
    return 0;
}
