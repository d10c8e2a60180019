/* Sends and receives of hosts that do not say to whom: matched by places of the program.
 *
 * A place is the n-th send, or the n-th receive, of a rank in a step. A receive that waited ends just after the send of its
 * data began, so in each step it votes for the latest send before its end. Programs repeat: the votes of all steps say
 * which place receives from which. What never waited takes the earliest send that is left between its neighbours of the same two
 * ranks, as messages between two ranks keep their order. What votes do not agree on stays alone. */
#include <stdlib.h>
#include <string.h>

#include "base/interval.h"
#include "base/memory.h"
#include "base/order.h"
#include "base/search.h"
#include "match/collective_internal.h"

#define MOST_PLACES 8192
#define WAITED 300000  /* ns: a receive that takes so long has waited for its sender */
#define FRESH 20000000 /* ns: the send that it waited for began no longer before its end */

typedef struct place {
    uint32_t rank, ordinal, peer; /* peer: the place at the other end, RS_NO_ROW: none yet */
    bool sends;
    int64_t start; /* of its first item */
} place;

typedef struct pairing {
    uint32_t receive, send, votes; /* places */
} pairing;

typedef struct finder {
    const rs_coll_job *job;
    rs_coll_item *items;
    size_t n;
    uint32_t *place_of; /* by item */
    uint32_t *step_of;  /* by item: a number of the step */
    place *places;      /* by rank */
    uint32_t *first;    /* by rank, + 1: its places */
    size_t n_places, n_steps;
    rs_map64 at;     /* place << 32 | step: its item */
    rs_keyed *sends; /* items that send, by start */
    size_t n_sends;
    pairing *pairs;
    size_t n_pairs, capacity;
} finder;

static bool sends(const rs_coll_job *job, const rs_coll_item *i)
{
    return rs_coll_sends(job->ranks[i->rank], rs_coll_item_shape(job, i));
}

static int64_t start_of(const finder *f, size_t i)
{
    return rs_add_sat(rs_coll_item_op(f->job, &f->items[i])->start, f->job->shift[f->items[i].rank]);
}
static int64_t end_of(const finder *f, size_t i)
{
    return rs_add_sat(rs_coll_item_op(f->job, &f->items[i])->end, f->job->shift[f->items[i].rank]);
}

/* Gives each item its place. false: out of memory. *few: there are no more places than are looked at. */
static bool find_places(finder *f, bool *few)
{
    RS_SCOPED(rs_map64_clear) rs_map64 steps = {0}, counts = {0}, places = {0};
    f->place_of = rs_malloc((f->n + 1) * sizeof *f->place_of);
    f->step_of = rs_malloc((f->n + 1) * sizeof *f->step_of);
    f->places = rs_malloc((MOST_PLACES + 1) * sizeof *f->places);
    f->sends = rs_malloc((f->n + 1) * sizeof *f->sends);
    f->first = rs_calloc(f->job->n_ranks + 2, sizeof *f->first);
    bool ok = f->place_of && f->step_of && f->places && f->sends && f->first;
    *few = true;
    for (size_t i = 0; ok && *few && i < f->n; i++) {
        bool is_new, out = sends(f->job, &f->items[i]);
        uint32_t rank = f->items[i].rank;
        uint32_t *step = rs_map64_put(&steps, (uint64_t)rs_coll_item_op(f->job, &f->items[i])->step, &is_new);
        if (step && is_new) *step = (uint32_t)steps.n - 1;
        if ((ok = step != NULL)) f->step_of[i] = *step;
        uint64_t series = ok ? ((uint64_t)rank * 2 + out) << 32 | *step : 0;
        uint32_t *count = ok ? rs_map64_put(&counts, series, &is_new) : NULL;
        if (!(ok = ok && count)) break;
        if (is_new) *count = 0;
        uint32_t ordinal = (*count)++;
        uint32_t *at = rs_map64_put(&places, ((uint64_t)rank * 2 + out) << 32 | ordinal, &is_new);
        if (!(ok = at != NULL)) break;
        if (is_new && !(*few = f->n_places < MOST_PLACES)) break;
        if (is_new) {
            *at = (uint32_t)f->n_places;
            f->places[f->n_places++] = (place){rank, ordinal, RS_NO_ROW, out, start_of(f, i)};
        }
        f->place_of[i] = *at;
        f->first[rank + 1] = (uint32_t)f->n_places;
        uint32_t *item = rs_map64_put(&f->at, (uint64_t)*at << 32 | *step, &is_new);
        if (!(ok = item != NULL)) break;
        *item = (uint32_t)i;
        if (out) f->sends[f->n_sends++] = (rs_keyed){start_of(f, i), (uint32_t)i};
    }
    f->n_steps = steps.n;
    for (size_t r = 0; ok && r < f->job->n_ranks; r++)
        if (f->first[r + 1] < f->first[r]) f->first[r + 1] = f->first[r]; /* it has none */
    return ok && rs_keyed_sort(f->sends, f->n_sends);
}

/* The send that a receive waited for as far as times show; f->n: none. */
static size_t waited_for(const finder *f, size_t receive)
{
    int64_t start = start_of(f, receive), end = end_of(f, receive);
    size_t at;
    if (rs_sub_sat(end, start) < WAITED) return f->n;
    RS_SEARCH(at, f->n_sends, f->sends[at].key <= end);
    while (at-- > 0) {
        int64_t sent = f->sends[at].key;
        if (sent < start || rs_sub_sat(end, sent) > FRESH) break;
        if (f->items[f->sends[at].value].rank != f->items[receive].rank) return f->sends[at].value;
    }
    return f->n;
}

static const rs_order by_votes[] = {RS_FALLING(pairing, votes), RS_RISING(pairing, receive),
                                    RS_RISING(pairing, send)};

static bool vote(finder *f)
{
    RS_SCOPED(rs_map64_clear) rs_map64 map = {0};
    for (size_t i = 0; i < f->n; i++) {
        size_t send = sends(f->job, &f->items[i]) ? f->n : waited_for(f, i);
        if (send == f->n) continue;
        uint32_t receive = f->place_of[i], from = f->place_of[send];
        bool is_new;
        uint32_t *at = rs_map64_put(&map, (uint64_t)receive << 32 | from, &is_new);
        if (!at) return false;
        if (is_new) *at = (uint32_t)f->n_pairs;
        if (is_new && !RS_PUSH(f->pairs, f->n_pairs, f->capacity, (pairing){receive, from, 0})) return false;
        f->pairs[*at].votes++;
    }
    RS_SORT(f->pairs, f->n_pairs, by_votes);
    return true;
}

/* Between which ordinals the send of a rank is to lie so that messages of the two ranks keep their order. */
static void bound(const finder *f, const place *receive, uint32_t rank, int64_t *low, int64_t *high)
{
    *low = -1;
    *high = INT64_MAX;
    for (uint32_t i = f->first[receive->rank]; i < f->first[receive->rank + 1]; i++) {
        const place *r = &f->places[i];
        if (r->sends || r->peer == RS_NO_ROW || f->places[r->peer].rank != rank) continue;
        int64_t ordinal = f->places[r->peer].ordinal;
        if (r->ordinal < receive->ordinal && ordinal > *low) *low = ordinal;
        if (r->ordinal > receive->ordinal && ordinal < *high) *high = ordinal;
    }
}

static void join(finder *f, uint32_t receive, uint32_t send)
{
    f->places[receive].peer = send;
    f->places[send].peer = receive;
}

/* Most votes first; a place is won by the votes of more than half of the steps. */
static void elect(finder *f)
{
    for (size_t i = 0; i < f->n_pairs; i++) {
        const pairing *p = &f->pairs[i];
        const place *r = &f->places[p->receive], *s = &f->places[p->send];
        int64_t low, high;
        if (r->peer != RS_NO_ROW || s->peer != RS_NO_ROW || 2 * (size_t)p->votes <= f->n_steps) continue;
        bound(f, r, s->rank, &low, &high);
        if (s->ordinal > low && s->ordinal < high) join(f, p->receive, p->send);
    }
}

/* Whether what is sent there was sent before it was received, in all steps. */
static bool is_causal(const finder *f, uint32_t receive, uint32_t send)
{
    for (uint32_t step = 0; step < f->n_steps; step++) {
        const uint32_t *r = rs_map64_get(&f->at, (uint64_t)receive << 32 | step),
                       *s = rs_map64_get(&f->at, (uint64_t)send << 32 | step);
        if (r && s && start_of(f, *s) > end_of(f, *r)) return false;
    }
    return true;
}

/* The rest, receive by receive: of ranks that are known to send there the send that is left and came first. */
static void fill(finder *f, const uint8_t *neighbours)
{
    size_t n_ranks = f->job->n_ranks;
    for (uint32_t i = 0; i < f->n_places; i++) {
        const place *r = &f->places[i];
        uint32_t best = RS_NO_ROW;
        for (uint32_t rank = 0; !r->sends && r->peer == RS_NO_ROW && rank < n_ranks; rank++) {
            int64_t low, high;
            if (!neighbours[rank * n_ranks + r->rank]) continue;
            bound(f, r, rank, &low, &high);
            uint32_t k = f->first[rank];
            while (k < f->first[rank + 1] &&
                   (!f->places[k].sends || f->places[k].peer != RS_NO_ROW || f->places[k].ordinal <= low))
                k++;
            if (k == f->first[rank + 1] || f->places[k].ordinal >= high || !is_causal(f, i, k)) continue;
            if (best == RS_NO_ROW || f->places[k].start < f->places[best].start) best = k;
        }
        if (best != RS_NO_ROW) join(f, i, best);
    }
}

/* Items of two places that belong together have one number in each step. */
static void number(finder *f)
{
    for (size_t i = 0; i < f->n; i++) {
        uint32_t own = f->place_of[i], peer = f->places[own].peer;
        const uint32_t *other =
            peer < own ? rs_map64_get(&f->at, (uint64_t)peer << 32 | f->step_of[i]) : NULL;
        f->items[i].number = (int64_t)(other ? *other : i) + 1;
    }
}

bool rs_coll_number_by_places(const rs_coll_job *job, rs_coll_item *items, size_t n)
{
    finder f = {.job = job, .items = items, .n = n};
    RS_LOCAL uint8_t *neighbours = rs_calloc(job->n_ranks * job->n_ranks + 1, 1);
    bool few = false, ok = neighbours && n < UINT32_MAX && find_places(&f, &few);
    if (ok && few) ok = vote(&f);
    if (ok && few) {
        elect(&f);
        for (size_t i = 0; i < f.n_places; i++)
            if (f.places[i].sends && f.places[i].peer != RS_NO_ROW)
                neighbours[f.places[i].rank * job->n_ranks + f.places[f.places[i].peer].rank] = 1;
        fill(&f, neighbours);
    }
    if (!few) /* each alone */
        for (size_t i = 0; i < n; i++) items[i].number = (int64_t)i + 1;
    if (ok && few) number(&f);
    rs_free(f.place_of);
    rs_free(f.step_of);
    rs_free(f.places);
    rs_free(f.sends);
    rs_free(f.first);
    rs_free(f.pairs);
    rs_map64_clear(&f.at);
    return ok;
}
