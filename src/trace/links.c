/* Launches and their work. The correlation id tells them; where it fails, the flow events do. */
#include <string.h>

#include "base/clock.h"
#include "base/finder.h"
#include "base/interval.h"
#include "base/try.h"
#include "trace/facet.h"
#include "trace/trace_internal.h"

/* The rank's GPU work, as the functions here see it. */
typedef struct gpu_list {
    const uint32_t *rows;
    size_t n, n_calls; /* n_calls: of the host */
} gpu_list;

/* ---- by correlation --------------------------------------------------------------------------------- */

/* The calls that may own work: those that have a correlation. */
typedef struct call_walk {
    const rs_trace *trace;
    rs_membership member;
} call_walk;

/* Whether the i-th correlation of the file is that of a call of this rank. i must not descend. */
static bool is_call(call_walk *w, size_t i)
{
    const rs_events *e = w->trace->events;
    uint32_t row = e->args[RS_COL_CORRELATION].rows[i];
    return rs_kind_is_call(rs_event_kind(e, row)) && rs_event_is_span(e, row) &&
           rs_is_member(&w->member, row);
}

/* The slot of a correlation: of the place in the column where a call was found that has it, or a free one. */
static uint32_t *call_slot(const rs_finder *calls, const rs_sparse *c, int64_t correlation)
{
    size_t at = rs_finder_first(calls, (uint64_t)correlation);
    while (calls->slots[at] != RS_FINDER_NONE && rs_sparse_int(c, calls->slots[at]) != correlation)
        at = rs_finder_next(calls, at);
    return &calls->slots[at];
}

/* Calls, at most n, by their correlation; of several with the same the first in the file. */
static bool index_calls(const rs_trace *trace, size_t n, rs_finder *calls, rs_links *links)
{
    const rs_sparse *c = &trace->events->args[RS_COL_CORRELATION];
    call_walk walk = {trace, {trace, 0}};
    if (n > c->n) n = c->n;
    if (!rs_finder_init(calls, n)) return false;
    for (size_t i = 0; n && i < c->n; i++) {
        rs_finder_fetch_ahead(calls, c, i);
        if (!is_call(&walk, i)) continue;
        uint32_t *slot = call_slot(calls, c, rs_sparse_int(c, i));
        if (*slot == RS_FINDER_NONE)
            *slot = (uint32_t)i;
        else
            links->n_duplicate++;
    }
    return true;
}

static bool link_by_correlation(const rs_trace *trace, gpu_list gpu, rs_links *links)
{
    rs_finder calls;
    bool ok = index_calls(trace, gpu.n_calls, &calls, links);
    rs_cursor correlation = rs_cursor_of(trace->events, RS_COL_CORRELATION);
    const rs_sparse *c = correlation.column;
    for (size_t i = 0; ok && i < gpu.n; i++) {
        links->launch_of[i] = RS_NO_ROW;
        if (!rs_cursor_seek(&correlation, gpu.rows[i])) continue;
        rs_finder_fetch_ahead(&calls, c, correlation.at);
        uint32_t place = *call_slot(&calls, c, rs_sparse_int(c, correlation.at));
        if (place != RS_FINDER_NONE) links->launch_of[i] = c->rows[place];
    }
    rs_finder_clear(&calls);
    return ok;
}

/* ---- by flow ---------------------------------------------------------------------------------------- */

/* Where and when an event starts, as one key. A clash of hashes only makes a link fail the check that
 * follows. */
static uint64_t place_key(const rs_events *e, uint32_t row)
{
    return rs_hash_u64((uint64_t)e->start[row] ^ ((uint64_t)e->thread[row] << 40));
}

static bool same_place(const rs_events *e, uint32_t a, uint32_t b)
{
    return e->start[a] == e->start[b] && e->thread[a] == e->thread[b];
}

static bool put_first(rs_map64 *map, uint64_t key, uint32_t value)
{
    bool is_new;
    uint32_t *slot = rs_map64_put(map, key, &is_new);
    if (!slot) return false;
    if (is_new) *slot = value;
    return true;
}

/* A flow that ends on work without a launch, and what it turns out to begin on. */
typedef struct flow {
    uint32_t work; /* index into gpu_rows */
    int64_t id;
    uint32_t from; /* row of the flow's start, RS_NO_ROW: not met */
    uint32_t call; /* row of the call at that place, RS_NO_ROW: not met */
} flow;

/* Only what the flows of unlinked work need is remembered: in an ordinary trace next to nothing. */
typedef struct flow_search {
    const rs_trace *trace;
    gpu_list gpu;
    flow *flows;
    size_t n, capacity;
    rs_map64 work;   /* place -> index into gpu_rows, of work without a launch */
    uint64_t *seen;  /* a bit for each of n_seen classes of places: whether work is at one. Most flows end on
                        linked work, and this table is small */
    size_t n_seen;   /* a power of two */
    rs_map64 ids;    /* flow id -> first of flows */
    rs_map64 places; /* place -> first of flows that begins there */
} flow_search;

/* Flows that end on unlinked work: same thread, same start. */
static bool find_ends(flow_search *s, const rs_links *links)
{
    const rs_trace *t = s->trace;
    const rs_events *e = t->events;
    const rs_sparse *id = &e->args[RS_COL_FLOW_ID];
    rs_membership member = {t, 0};
    size_t at = 0;
    for (size_t i = 0; i < id->n; i++) {
        uint32_t row = id->rows[i];
        if (e->phase[row] != 'f' || rs_event_kind(e, row) != RS_KIND_FLOW || !rs_is_member(&member, row))
            continue;
        /* mostly it stands right behind its work: if that is linked there is nothing to look up */
        while (at < s->gpu.n && s->gpu.rows[at] < row) at++;
        if (at && same_place(e, row, s->gpu.rows[at - 1]) && links->launch_of[at - 1] != RS_NO_ROW) continue;
        uint64_t key = place_key(e, row), bit = key & (s->n_seen - 1);
        if (!(s->seen[bit / 64] >> bit % 64 & 1)) continue;
        const uint32_t *work = rs_map64_get(&s->work, key);
        if (!work || !same_place(e, row, s->gpu.rows[*work])) continue;
        if (!RS_GROW_ONE(s->flows, s->n, s->capacity)) return false;
        int64_t number = rs_sparse_int(id, i);
        s->flows[s->n] = (flow){.work = *work, .id = number, .from = RS_NO_ROW, .call = RS_NO_ROW};
        if (!put_first(&s->ids, (uint64_t)number, (uint32_t)s->n++)) return false;
    }
    return true;
}

static bool find_starts(flow_search *s)
{
    const rs_trace *t = s->trace;
    const rs_events *e = t->events;
    const rs_sparse *id = &e->args[RS_COL_FLOW_ID];
    rs_membership member = {t, 0};
    for (size_t i = 0; i < id->n; i++) {
        uint32_t row = id->rows[i];
        if (e->phase[row] != 's' || rs_event_kind(e, row) != RS_KIND_FLOW || !rs_is_member(&member, row))
            continue;
        const uint32_t *first = rs_map64_get(&s->ids, (uint64_t)rs_sparse_int(id, i));
        if (!first || s->flows[*first].from != RS_NO_ROW) continue;
        s->flows[*first].from = row;
        if (!put_first(&s->places, place_key(e, row), *first)) return false;
    }
    return true;
}

static void find_calls(flow_search *s)
{
    const rs_trace *t = s->trace;
    const rs_events *e = t->events;
    for (size_t i = 0; i < t->n_rows; i++) {
        uint32_t row = rs_trace_row(t, i);
        if (!rs_kind_is_call(rs_event_kind(e, row)) || !rs_event_is_span(e, row)) continue;
        const uint32_t *first = rs_map64_get(&s->places, place_key(e, row));
        if (!first) continue;
        flow *f = &s->flows[*first];
        if (f->call == RS_NO_ROW && same_place(e, f->from, row)) f->call = row;
    }
}

/* The flow's start lies on the launch, its end on the work. */
static void take_flows(const flow_search *s, rs_links *links)
{
    const rs_events *e = s->trace->events;
    for (size_t i = 0; i < s->n; i++) {
        const flow *f = &s->flows[i];
        const flow *begin = &s->flows[*rs_map64_get(&s->ids, (uint64_t)f->id)];
        if (begin->from == RS_NO_ROW || links->launch_of[f->work] != RS_NO_ROW) continue;
        const flow *there = &s->flows[*rs_map64_get(&s->places, place_key(e, begin->from))];
        if (there->call == RS_NO_ROW || !same_place(e, begin->from, there->call)) continue;
        links->launch_of[f->work] = there->call;
        links->n_by_flow++;
    }
}

/* Where the work is that has no launch. */
static bool place_unlinked(flow_search *s, const rs_links *links)
{
    size_t n = 0;
    for (size_t i = 0; i < s->gpu.n; i++) n += links->launch_of[i] == RS_NO_ROW;
    for (s->n_seen = 64; s->n_seen / 16 < n; s->n_seen *= 2) {
    }
    s->seen = rs_calloc(s->n_seen / 64, sizeof *s->seen);
    bool ok = s->seen != NULL;
    for (size_t i = 0; ok && i < s->gpu.n; i++) {
        if (links->launch_of[i] != RS_NO_ROW) continue;
        uint64_t key = place_key(s->trace->events, s->gpu.rows[i]), bit = key & (s->n_seen - 1);
        s->seen[bit / 64] |= UINT64_C(1) << bit % 64;
        ok = put_first(&s->work, key, (uint32_t)i);
    }
    return ok;
}

static bool link_by_flow(const rs_trace *trace, gpu_list gpu, rs_links *links)
{
    flow_search s = {.trace = trace, .gpu = gpu};
    bool ok = place_unlinked(&s, links);
    ok = ok && find_ends(&s, links);
    if (ok && s.n) {
        ok = find_starts(&s);
        if (ok) {
            find_calls(&s);
            take_flows(&s, links);
        }
    }
    rs_free(s.seen);
    rs_map64_clear(&s.work);
    rs_map64_clear(&s.ids);
    rs_map64_clear(&s.places);
    rs_free(s.flows);
    return ok;
}

/* ---- calls and what they own ------------------------------------------------------------------------ */

static bool group_by_call(const rs_trace *trace, gpu_list gpu, rs_links *links)
{
    const rs_events *e = trace->events;
    size_t n = links->n_work, at = 0;
    RS_LOCAL rs_keyed *pairs = rs_malloc(n * sizeof *pairs);
    links->work_row = rs_malloc(n * sizeof *links->work_row);
    if (!pairs || !links->work_row) return false;
    for (size_t i = 0; i < gpu.n; i++)
        if (links->launch_of[i] != RS_NO_ROW) pairs[at++] = (rs_keyed){links->launch_of[i], gpu.rows[i]};
    bool ok = rs_keyed_sort(pairs, n);
    for (size_t i = 0; i < n; i++) links->n_calls += i == 0 || pairs[i].key != pairs[i - 1].key;
    links->call = rs_malloc(links->n_calls * sizeof *links->call);
    links->first = rs_malloc((links->n_calls + 1) * sizeof *links->first);
    ok = ok && links->call && links->first;
    size_t call = 0;
    for (size_t i = 0, end; ok && i < n; i = end) {
        for (end = i + 1; end < n && pairs[end].key == pairs[i].key; end++) {
        }
        links->call[call] = (uint32_t)pairs[i].key;
        links->first[call++] = (uint32_t)i;
        if (end - i > 1) {
            for (size_t k = i; k < end; k++) pairs[k].key = e->start[pairs[k].value];
            ok = rs_keyed_sort(pairs + i, end - i);
        }
        for (size_t k = i; k < end; k++) links->work_row[k] = pairs[k].value;
    }
    if (ok) links->first[call] = (uint32_t)n;
    return ok;
}

static bool build(const rs_trace *trace, gpu_list gpu, rs_links *links)
{
    links->launch_of = rs_malloc(gpu.n * sizeof *links->launch_of);
    if (!links->launch_of) return false;
    if (!link_by_correlation(trace, gpu, links)) return false;
    bool all = true;
    for (size_t i = 0; i < gpu.n; i++) all = all && links->launch_of[i] != RS_NO_ROW;
    if (!all && (trace->events->loaded & RS_COLUMN_BIT(FLOW_ID)) && !link_by_flow(trace, gpu, links))
        return false;
    for (size_t i = 0; i < gpu.n; i++) {
        uint32_t launch = links->launch_of[i];
        if (launch == RS_NO_ROW) {
            links->n_unlinked++;
            continue;
        }
        links->n_work++;
        links->n_early += trace->events->start[gpu.rows[i]] < trace->events->start[launch];
    }
    return true;
}

static void free_launches(void *value)
{
    rs_links *links = value;
    if (!links->lent) rs_free(links->launch_of);
    rs_free(links);
}

static rs_status make_launches(rs_trace *trace, const void *key, void **out, rs_error *err)
{
    (void)key;
    double begin = rs_clock_seconds();
    gpu_list gpu;
    RS_TRY(rs_trace_gpu_rows(trace, &gpu.rows, &gpu.n, err));
    RS_TRY(rs_trace_n_calls(trace, &gpu.n_calls, err));
    rs_links *links = rs_calloc(1, sizeof *links);
    if (!links || !build(trace, gpu, links)) {
        if (links) free_launches(links);
        return rs_fail_nomem(err, "links between launches and GPU work");
    }
    trace->index_seconds += rs_clock_seconds() - begin;
    *out = links;
    return RS_OK;
}

static void give_launches(const void *value, rs_facet_part *parts)
{
    const rs_links *links = value;
    parts[0] = RS_FACET_NUMBERS(links->launch_of, links->n_work + links->n_unlinked);
    parts[1] = RS_FACET_NUMBERS(&links->n_by_flow, 1);
    parts[2] = RS_FACET_NUMBERS(&links->n_duplicate, 1);
}

static bool is_call_of(const rs_trace *trace, uint32_t row)
{
    const rs_events *e = trace->events;
    if (row >= e->n || !rs_kind_is_call(rs_event_kind(e, row)) || !rs_event_is_span(e, row)) return false;
    return rs_trace_has_row(trace, row);
}

static void *take_launches(rs_trace *trace, const void *key, const rs_facet_part *parts)
{
    const rs_events *e = trace->events;
    gpu_list gpu;
    rs_links made = {.launch_of = rs_facet_lend(&parts[0]), .lent = true};
    (void)key;
    if (rs_trace_gpu_rows(trace, &gpu.rows, &gpu.n, NULL) != RS_OK ||
        parts[0].n != gpu.n * sizeof *made.launch_of || parts[1].n != sizeof made.n_by_flow ||
        parts[2].n != sizeof made.n_duplicate)
        return NULL;
    memcpy(&made.n_by_flow, parts[1].bytes, sizeof made.n_by_flow);
    memcpy(&made.n_duplicate, parts[2].bytes, sizeof made.n_duplicate);
    /* flows matter where they told a link that nothing else did */
    if (made.n_by_flow && !(e->loaded & RS_COLUMN_BIT(FLOW_ID))) return NULL;
    if (!(e->loaded & RS_COLUMN_BIT(CORRELATION))) return NULL;
    for (size_t i = 0; i < gpu.n; i++) {
        uint32_t launch = made.launch_of[i];
        if (launch == RS_NO_ROW) continue;
        if (!is_call_of(trace, launch)) return NULL;
        made.n_work++;
        made.n_early += e->start[gpu.rows[i]] < e->start[launch];
    }
    made.n_unlinked = gpu.n - made.n_work;
    rs_links *links = rs_malloc(sizeof *links);
    if (links) *links = made;
    return links;
}

static const rs_facet_form launches_form = {3, give_launches, take_launches, true};
const rs_facet rs_facet_launches = {.name = "launches of GPU work",
                                    .columns = RS_COLUMN_BIT(CORRELATION) | RS_COLUMN_BIT(FLOW_ID),
                                    .needs = {&rs_facet_gpu_rows},
                                    .make = make_launches,
                                    .release = free_launches,
                                    .form = &launches_form};

/* launch_of stays that of the launches. */
static void free_links(void *value)
{
    rs_links *links = value;
    rs_free_all(links->call, links->first, links->work_row, links);
}

static rs_status make_links(rs_trace *trace, const void *key, void **out, rs_error *err)
{
    (void)key;
    const rs_links *launches;
    gpu_list gpu;
    RS_TRY(rs_trace_launches(trace, &launches, err));
    RS_TRY(rs_trace_gpu_rows(trace, &gpu.rows, &gpu.n, err));
    double begin = rs_clock_seconds();
    rs_links *links = rs_malloc(sizeof *links);
    if (links) *links = *launches;
    if (!links || !group_by_call(trace, gpu, links)) {
        if (links) free_links(links);
        return rs_fail_nomem(err, "links between launches and GPU work");
    }
    trace->index_seconds += rs_clock_seconds() - begin;
    *out = links;
    return RS_OK;
}

const rs_facet rs_facet_links = {.name = "links between launches and GPU work",
                                 .needs = {&rs_facet_launches},
                                 .make = make_links,
                                 .release = free_links};

rs_status rs_trace_launches(rs_trace *trace, const rs_links **out, rs_error *err)
{
    return rs_trace_facet(trace, &rs_facet_launches, NULL, out, err);
}

rs_status rs_trace_links(rs_trace *trace, const rs_links **out, rs_error *err)
{
    return rs_trace_facet(trace, &rs_facet_links, NULL, out, err);
}
