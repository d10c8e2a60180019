/* memory of a snapshot: what a picture of it is made of: what the largest sites hold over time, and which addresses are
 * taken from the device at one instant. */
#include <inttypes.h>
#include <stdio.h>

#include "analysis/memory_snapshot.h"
#include "base/interval.h"
#include "base/memory.h"
#include "base/order.h"
#include "base/real.h"
#include "base/search.h"

/* ---- instants ---------------------------------------------------------------------------------------------- */

/* An instant that is drawn. */
typedef struct shot {
    uint32_t instant;
    rs_held sums;
} shot;

typedef struct shots {
    shot *items; /* ascending */
    size_t n, capacity;
    int64_t from, span; /* of time; of instants where no time is known */
    bool timed;
} shots;

static int64_t place_of(const rs_history *h, const shots *s, uint32_t instant)
{
    return s->timed ? rs_sub_sat(rs_instant_time(h, instant), s->from) : (int64_t)instant - s->from;
}

static size_t stretch_of(const rs_history *h, const shots *s, size_t n, uint32_t instant)
{
    const int64_t at = place_of(h, s, instant);
    const size_t k = at > 0 && s->span > 0 ? (size_t)rs_int_of((double)at / (double)s->span * (double)n) : 0;
    return k < n ? k : n - 1;
}

static void find_span(const rs_memory_view *v, shots *s)
{
    const rs_history *h = &v->history;
    const uint32_t first = v->spans[0].first, last = v->spans[v->n_spans - 1].last;
    const int64_t from = rs_instant_time(h, first), to = rs_instant_time(h, last);
    s->timed = from != RS_NO_TIME && to != RS_NO_TIME && from < to;
    s->from = s->timed ? from : first;
    s->span = s->timed ? rs_sub_sat(to, from) : (int64_t)last - first;
}

static bool add_shot(shots *s, const shot *one)
{
    if (s->n && s->items[s->n - 1].instant == one->instant) return true;
    return RS_PUSH(s->items, s->n, s->capacity, *one);
}

/* Of each stretch its fullest instant and its last one: what is drawn from the last one on holds until the next. */
static rs_status choose_shots(const rs_memory_view *v, shots *s, rs_error *err)
{
    const rs_history *h = &v->history;
    shot fullest = {0}, last = {0};
    rs_held now = h->n ? h->begin : h->end;
    size_t at = 0, stretch = 0;
    bool any = false, ok = true;
    find_span(v, s);
    for (uint32_t i = 0; ok && i <= h->n; i++) {
        if (i) rs_held_after(h, i - 1, &now);
        while (at < v->n_spans && v->spans[at].last < i) at++;
        if (at == v->n_spans) break;
        if (v->spans[at].first > i) continue;
        const size_t k = stretch_of(h, s, v->question->layers, i);
        if (any && k > stretch) {
            ok = add_shot(s, &fullest) && add_shot(s, &last);
            any = false;
        }
        last = (shot){i, now};
        if (!any || now.active > fullest.sums.active) fullest = last;
        if (!any) stretch = k;
        any = true;
    }
    if (any) ok = ok && add_shot(s, &fullest) && add_shot(s, &last);
    return ok ? RS_OK : rs_fail_nomem(err, "instants");
}

/* The first shot that is not before the instant. */
static size_t shot_from(const shots *s, uint32_t instant)
{
    size_t at;
    RS_SEARCH(at, s->n, s->items[at].instant < instant);
    return at;
}

/* ---- sites over time ----------------------------------------------------------------------------------------- */

#define NO_SLOT UINT32_MAX

typedef struct by_peak {
    int64_t peak;
    size_t row;
} by_peak;

static const rs_order fullest_first[] = {RS_FALLING(by_peak, peak), RS_RISING(by_peak, row)};

/* The sites that held the most at once get a slot each; slots: by row of the device. Returns how many. */
static size_t choose_sites(const rs_memory_view *v, uint32_t *slots, by_peak *order)
{
    const size_t n = v->rank->n_sites - v->first_site, top = v->question->top;
    if (!n) return 0;
    const rs_memory_site *rows = v->rank->sites + v->first_site;
    size_t chosen = 0;
    for (size_t i = 0; i < n; i++) {
        slots[i] = NO_SLOT;
        order[i] = (by_peak){rows[i].own_peak, i};
    }
    RS_SORT(order, n, fullest_first);
    while (chosen < n && (!top || chosen < top) && order[chosen].peak > 0) {
        slots[order[chosen].row] = (uint32_t)chosen;
        chosen++;
    }
    return chosen;
}

/* sums: by slot and shot; what each life changes is added up afterwards. */
static void add_lives(const rs_memory_view *v, const shots *s, const uint32_t *slots, int64_t *sums)
{
    for (size_t i = 0; i < v->history.n_lives; i++) {
        const rs_life *life = &v->history.lives[i];
        const uint32_t slot = slots[v->site_of_life[i] - v->first_site];
        if (slot == NO_SLOT) continue;
        const size_t from = shot_from(s, life->from), until = shot_from(s, life->until);
        int64_t *of = sums + slot * s->n;
        if (from < s->n) of[from] = rs_add_sat(of[from], life->size);
        if (until < s->n) of[until] = rs_sub_sat(of[until], life->size);
    }
}

static rs_status put_layers(rs_memory_view *v, const shots *s, const by_peak *order, size_t n, int64_t *sums,
                            rs_error *err)
{
    rs_memory_rank *rank = v->rank;
    for (size_t k = 0; k < s->n; k++)
        for (size_t slot = 0; slot < n; slot++) {
            int64_t *now = &sums[slot * s->n + k];
            if (k) *now = rs_add_sat(*now, now[-1]);
            const shot *at = &s->items[k];
            if (!*now) continue;
            if (!RS_PUSH(rank->layers, rank->n_layers, rank->layers_capacity,
                         (rs_memory_layer){.device = v->device,
                                           .site = rank->sites[v->first_site + order[slot].row].site,
                                           .instant = at->instant,
                                           .time = rs_instant_time(&v->history, at->instant),
                                           .bytes = *now,
                                           .active = at->sums.active,
                                           .reserved = at->sums.reserved}))
                return rs_fail_nomem(err, "layers");
        }
    return RS_OK;
}

rs_status rs_memory_add_layers(rs_memory_view *v, rs_error *err)
{
    const size_t n_sites = v->rank->n_sites - v->first_site;
    shots s = {0};
    RS_LOCAL uint32_t *slots = rs_malloc((n_sites + 1) * sizeof *slots);
    RS_LOCAL by_peak *order = rs_malloc((n_sites + 1) * sizeof *order);
    rs_status status = slots && order ? choose_shots(v, &s, err) : rs_fail_nomem(err, "layers");
    if (status == RS_OK) {
        const size_t n = choose_sites(v, slots, order);
        RS_LOCAL int64_t *sums = rs_calloc(n * s.n + 1, sizeof *sums);
        if (sums) add_lives(v, &s, slots, sums);
        status = sums ? put_layers(v, &s, order, n, sums, err) : rs_fail_nomem(err, "layers");
    }
    rs_free(s.items);
    return status;
}

/* ---- addresses ----------------------------------------------------------------------------------------------- */

/* Where something begins or ends to be taken from the device. */
typedef struct edge {
    uint64_t address;
    int change;
    bool parts; /* segments that are neighbours by chance stay two */
} edge;

typedef struct edges {
    edge *items;
    size_t n, capacity;
} edges;

static const rs_order by_address[] = {RS_RISING(edge, address)};

static bool add_edges(edges *e, uint64_t address, int64_t size, int change, bool parts)
{
    const uint64_t end = address + (uint64_t)size;
    if (size <= 0 || end < address) return true;
    return RS_PUSH(e->items, e->n, e->capacity, (edge){address, change, parts}) &&
           RS_PUSH(e->items, e->n, e->capacity, (edge){end, -change, parts});
}

/* The segments at the end, and backwards to the instant what was taken and returned. */
static bool find_edges(const rs_memory_view *v, edges *e)
{
    const rs_history *h = &v->history;
    const rs_snapshot *s = v->snapshot;
    bool ok = true;
    for (size_t i = 0; ok && i < s->n_segments; i++)
        if (s->segments[i].device == h->device->number)
            ok = add_edges(e, s->segments[i].address, s->segments[i].size, 1, !s->segments[i].expandable);
    for (uint32_t i = v->instant == RS_NEVER ? h->n : v->instant; ok && i < h->n; i++) {
        const rs_snapshot_action action = rs_event_action(h, i);
        const bool takes = action == RS_SNAPSHOT_SEGMENT_ALLOC || action == RS_SNAPSHOT_SEGMENT_MAP;
        const bool returns = action == RS_SNAPSHOT_SEGMENT_FREE || action == RS_SNAPSHOT_SEGMENT_UNMAP;
        const bool whole = action == RS_SNAPSHOT_SEGMENT_ALLOC || action == RS_SNAPSHOT_SEGMENT_FREE;
        if (takes || returns)
            ok = add_edges(e, s->events.address[h->device->first + i], rs_event_size(h, i), takes ? -1 : 1,
                           whole);
    }
    return ok;
}

static bool add_stretch(rs_memory_view *v, uint64_t from, uint64_t to)
{
    rs_memory_rank *r = v->rank;
    if (!RS_GROW_ONE(r->layout, r->n_layout, r->layout_capacity)) return false;
    rs_memory_stretch *one = &r->layout[r->n_layout++];
    *one = (rs_memory_stretch){.device = v->device, .place = from, .bytes = (int64_t)(to - from)};
    snprintf(one->address, sizeof one->address, "0x%" PRIx64, from);
    return true;
}

static bool sweep(rs_memory_view *v, const edges *e)
{
    uint64_t from = 0;
    int depth = 0;
    bool ok = true;
    for (size_t i = 0; ok && i < e->n;) {
        const uint64_t at = e->items[i].address;
        const int before = depth;
        bool parts = false;
        for (; i < e->n && e->items[i].address == at; i++) {
            depth += e->items[i].change;
            parts = parts || e->items[i].parts;
        }
        if (before > 0 && depth > 0 && !parts) continue;
        if (before > 0) ok = add_stretch(v, from, at);
        from = at;
    }
    return ok;
}

/* Blocks outside of all of them are those of a file whose parts do not fit together. */
static void count_blocks(rs_memory_view *v, size_t first)
{
    const size_t n = v->rank->n_layout - first;
    if (!n) return;
    rs_memory_stretch *all = v->rank->layout + first;
    for (size_t i = 0; i < v->history.n_lives; i++) {
        const rs_life *life = &v->history.lives[i];
        size_t at;
        if (!rs_view_is_active(v, life)) continue;
        RS_SEARCH(at, n, all[at].place <= life->address);
        if (!at || life->address - all[at - 1].place >= (uint64_t)all[at - 1].bytes) continue;
        all[at - 1].active = rs_add_sat(all[at - 1].active, life->size);
        all[at - 1].blocks++;
    }
}

rs_status rs_memory_add_layout(rs_memory_view *v, rs_error *err)
{
    const size_t first = v->rank->n_layout;
    edges e = {0};
    bool ok = find_edges(v, &e);
    if (ok) RS_SORT(e.items, e.n, by_address);
    ok = ok && sweep(v, &e);
    rs_free(e.items);
    if (!ok) return rs_fail_nomem(err, "addresses");
    count_blocks(v, first);
    return RS_OK;
}
