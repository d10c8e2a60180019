#include "trace/graft.h"

#include <stdio.h>
#include <string.h>

#include "base/interval.h"
#include "base/memory.h"
#include "base/search.h"
#include "base/try.h"
#include "trace/calls.h"
#include "trace/serving.h"

/* ---- nodes and work -------------------------------------------------------------------------------------- */

enum { A_KERNEL, A_COPY, A_SETTING, N_NODE_KINDS };
static const rs_kind kinds_of_nodes[] = {RS_KIND_KERNEL, RS_KIND_MEMCPY, RS_KIND_MEMSET};

typedef struct node {
    uint32_t name; /* string id in the trace; RS_NO_STRING: the capture does not name the kernel */
    uint8_t kind;
} node;

/* A capture as seen from the trace. */
typedef struct seen {
    node *nodes;
    uint64_t names; /* of its kernels, in any order */
    bool named;     /* every kernel is */
} seen;

typedef struct search {
    rs_trace *trace;
    rs_events *e;
    const rs_captures *captures;
    int64_t rank;
    const rs_links *links;
    seen *seen; /* by capture */
    const rs_step *steps;
    size_t n_steps;
    rs_keyed *annotations; /* of serving steps: start, row */
    size_t n_annotations;
    bool *fits; /* by capture, of the launch that is looked at */
} search;

/* The replayed work of one launch. */
typedef struct replay {
    uint32_t launch;
    const uint32_t *rows; /* by start */
    size_t n;
    bool many_streams;
    uint64_t names;
    int64_t tokens, requests; /* of its step; -1: nothing tells */
    size_t ordinal, alike;    /* which of how many launches of its step */
} replay;

static uint64_t add_name(uint64_t names, uint32_t name)
{
    return names + rs_hash_u64((uint64_t)name + 1);
}

static bool look_at_capture(rs_events *e, const rs_capture *c, seen *out)
{
    *out = (seen){.nodes = rs_malloc((c->n_nodes + 1) * sizeof *out->nodes), .named = true};
    if (!out->nodes) return false;
    for (size_t i = 0; i < c->n_nodes; i++) {
        const char *call = rs_event_name(c->events, c->nodes[i]);
        uint32_t text = rs_events_text(c->events, RS_COL_HIP_KERNEL, c->nodes[i]);
        node *n = &out->nodes[i];
        *n = (node){RS_NO_STRING, strstr(call, "Memcpy")   ? A_COPY
                                  : strstr(call, "Memset") ? A_SETTING
                                                           : A_KERNEL};
        if (text != RS_NO_STRING) {
            const rs_string *s = &c->events->strings.items[text];
            n->name = rs_strings_add(&e->strings, s->text, s->length);
            if (n->name == RS_NO_STRING) return false;
            out->names = add_name(out->names, n->name);
        } else if (n->kind == A_KERNEL) {
            out->named = false;
        }
    }
    return true;
}

/* Runtimes copy and set memory by kernels, too. */
static bool is_work_of(const search *s, const node *n, uint32_t row)
{
    rs_kind kind = rs_event_kind(s->e, row);
    if (n->name != RS_NO_STRING) return kind == RS_KIND_KERNEL && s->e->name[row] == n->name;
    return kind == RS_KIND_KERNEL || kind == kinds_of_nodes[n->kind];
}

/* ---- whether a capture fits ------------------------------------------------------------------------------- */

static bool fits_in_order(const search *s, const replay *r, size_t capture)
{
    const rs_capture *c = &s->captures->items[capture];
    const seen *of = &s->seen[capture];
    if (c->n_nodes != r->n || (r->many_streams && !of->named)) return false;
    for (size_t i = 0; i < r->n; i++)
        if (!is_work_of(s, &of->nodes[i], r->rows[i])) return false;
    return true;
}

/* Pairs nodes of a kind that have no name with work of that kind, or with kernels (kind + N_NODE_KINDS), as they come.
 * How many. */
static size_t pair_rest(const search *s, const replay *r, const rs_capture *c, const seen *of, unsigned kind,
                        uint32_t *work, bool *taken)
{
    bool by_kernel = kind >= N_NODE_KINDS;
    rs_kind wanted = by_kernel ? RS_KIND_KERNEL : kinds_of_nodes[kind];
    size_t at = 0, n = 0;
    for (size_t i = 0; i < c->n_nodes; i++) {
        if (of->nodes[i].name != RS_NO_STRING || of->nodes[i].kind != kind % N_NODE_KINDS ||
            work[i] != RS_NO_ROW)
            continue;
        while (at < r->n && (taken[at] || rs_event_kind(s->e, r->rows[at]) != wanted)) at++;
        if (at == r->n) break;
        work[i] = r->rows[at];
        taken[at] = true;
        n++;
    }
    return n;
}

/* Pairs nodes and work of one name in order, then what has no name as it comes. work: by node, RS_NO_ROW where none is.
 * *n: how many pairs. False when out of memory. */
static bool pair_by_name(const search *s, const replay *r, size_t capture, uint32_t *work, size_t *n)
{
    const rs_capture *c = &s->captures->items[capture];
    const seen *of = &s->seen[capture];
    RS_LOCAL rs_keyed *nodes = rs_malloc((c->n_nodes + 1) * sizeof *nodes),
                      *there = rs_malloc((r->n + 1) * sizeof *there);
    bool *taken = rs_calloc(r->n + 1, sizeof *taken), ok = nodes && there && taken;
    size_t n_named = 0, at = 0;
    *n = 0;
    for (size_t i = 0; ok && i < c->n_nodes; i++) {
        work[i] = RS_NO_ROW;
        if (of->nodes[i].name != RS_NO_STRING) nodes[n_named++] = (rs_keyed){of->nodes[i].name, (uint32_t)i};
    }
    for (size_t i = 0; ok && i < r->n; i++) there[i] = (rs_keyed){s->e->name[r->rows[i]], (uint32_t)i};
    ok = ok && rs_keyed_sort(nodes, n_named) && rs_keyed_sort(there, r->n);
    for (size_t i = 0; ok && i < n_named; i++) {
        while (at < r->n && there[at].key < nodes[i].key) at++;
        if (at == r->n || there[at].key != nodes[i].key) continue;
        if (!is_work_of(s, &of->nodes[nodes[i].value], r->rows[there[at].value])) continue;
        work[nodes[i].value] = r->rows[there[at].value];
        taken[there[at++].value] = true;
        ++*n;
    }
    for (unsigned kind = 0; ok && kind < 2 * N_NODE_KINDS; kind++)
        *n += pair_rest(s, r, c, of, kind, work, taken);
    rs_free(taken);
    return ok;
}

/* Fills work, of as many rows as the capture has nodes, when the capture fits. */
static rs_status try_capture(const search *s, const replay *r, size_t capture, uint32_t *work, bool *fits,
                             rs_error *err)
{
    const seen *of = &s->seen[capture];
    size_t n = 0;
    *fits = fits_in_order(s, r, capture);
    if (*fits) {
        memcpy(work, r->rows, r->n * sizeof *work);
        return RS_OK;
    }
    if (s->captures->items[capture].n_nodes != r->n || !of->named || of->names != r->names) return RS_OK;
    if (!pair_by_name(s, r, capture, work, &n)) return rs_fail_nomem(err, "replayed graphs");
    *fits = n == r->n;
    return RS_OK;
}

/* ---- which capture --------------------------------------------------------------------------------------- */

/* What the captures that are left to choose from are looked at for. */
static size_t count_left(const search *s, size_t *first)
{
    size_t n = 0;
    for (size_t i = s->captures->n; i-- > 0;)
        if (s->fits[i]) *first = i, n++;
    return n;
}

/* Leaves those that hold, when there are any. */
#define LEAVE(s, condition)                                                                                  \
    do {                                                                                                     \
        bool any_ = false;                                                                                   \
        for (size_t i = 0; i < (s)->captures->n; i++) {                                                      \
            const rs_capture *c = &(s)->captures->items[i];                                                  \
            any_ = any_ || ((s)->fits[i] && (condition));                                                    \
        }                                                                                                    \
        for (size_t i = 0; any_ && i < (s)->captures->n; i++) {                                              \
            const rs_capture *c = &(s)->captures->items[i];                                                  \
            (s)->fits[i] = (s)->fits[i] && (condition);                                                      \
        }                                                                                                    \
    } while (0)

static int64_t wanted_of(const replay *r, const rs_capture *c)
{
    return c->unit == RS_CAPTURE_TOKENS ? r->tokens : c->unit == RS_CAPTURE_REQUESTS ? r->requests : -1;
}

/* A batch is padded to the next size that was captured. False: it is larger than each of those that fit. */
static bool leave_size(const search *s, const replay *r)
{
    int64_t least[] = {INT64_MAX, INT64_MAX, INT64_MAX};
    bool any = false, sized = false;
    for (size_t i = 0; i < s->captures->n; i++) {
        const rs_capture *c = &s->captures->items[i];
        int64_t wanted = wanted_of(r, c);
        if (!s->fits[i] || wanted < 0) continue;
        sized = true;
        if (c->size < wanted) continue;
        any = true;
        if (c->size < least[c->unit]) least[c->unit] = c->size;
    }
    if (!any) return !sized;
    LEAVE(s, wanted_of(r, c) >= 0 && c->size == least[c->unit]);
    return true;
}

static bool all_alike(const search *s, size_t first)
{
    for (size_t i = first; i < s->captures->n; i++)
        if (s->fits[i] && s->captures->items[i].contents != s->captures->items[first].contents) return false;
    return true;
}

/* The capture of a launch among those that fit; SIZE_MAX, with the reason, when it cannot be told. A model that is
 * captured in pieces replays them in that order. */
static size_t choose(const search *s, const replay *r, char *reason, size_t size)
{
    size_t first = SIZE_MAX;
    if (count_left(s, &first) == 0) return SIZE_MAX;
    LEAVE(s, c->rank == s->rank && s->rank != RS_NO_VALUE);
    if (!leave_size(s, r)) {
        snprintf(reason, size,
                 "its step's batch (%lld tokens, %lld requests) is larger than any capture that fits",
                 (long long)r->tokens, (long long)r->requests);
        return SIZE_MAX;
    }
    LEAVE(s, c->alike > 1 && r->alike % c->alike == 0 && c->ordinal == r->ordinal % c->alike);
    size_t n = count_left(s, &first);
    if (all_alike(s, first)) return first;
    snprintf(
        reason, size,
        "%zu captures fit, of other shapes each (%.100s is one), and no annotation of its step gives the batch: "
        "name the capture of this batch alone",
        n, s->captures->items[first].file);
    return SIZE_MAX;
}

/* The capture with the most nodes that have their work. */
static rs_status tell_nearest(const search *s, const replay *r, char *reason, size_t size, rs_error *err)
{
    size_t best = SIZE_MAX, most = 0;
    bool unnamed = false;
    for (size_t i = 0; i < s->captures->n; i++) {
        const rs_capture *c = &s->captures->items[i];
        size_t n = 0;
        uint32_t *work = rs_malloc((c->n_nodes + 1) * sizeof *work);
        bool ok = work && pair_by_name(s, r, i, work, &n);
        rs_free(work);
        if (!ok) return rs_fail_nomem(err, "replayed graphs");
        unnamed = unnamed || (c->n_nodes == r->n && !s->seen[i].named);
        if (best != SIZE_MAX && n <= most) continue;
        best = i;
        most = n;
    }
    if (best == SIZE_MAX) return RS_OK;
    const rs_capture *c = &s->captures->items[best];
    if (r->many_streams && unnamed)
        snprintf(
            reason, size,
            "its work runs on several streams, and the captures do not name their kernels: their order does not "
            "show which is which");
    else {
        size_t of = r->n > c->n_nodes ? r->n : c->n_nodes, tenths = of ? (most * 2000 / of + 1) / 2 : 0;
        snprintf(
            reason, size,
            "no capture has its %zu pieces of work; the nearest, of %zu nodes in %.150s, agrees in %zu (%zu.%zu%%)",
            r->n, c->n_nodes, c->file, most, tenths / 10, tenths % 10);
    }
    return RS_OK;
}

/* ---- launches -------------------------------------------------------------------------------------------- */

static bool find_annotations(search *s)
{
    const rs_trace *t = s->trace;
    rs_serving_step step;
    size_t capacity = 0;
    for (size_t i = 0; i < t->n_rows; i++) {
        uint32_t row = rs_trace_row(t, i);
        if (rs_event_kind(s->e, row) != RS_KIND_USER_ANNOTATION || !rs_event_is_span(s->e, row)) continue;
        const rs_string *name = &s->e->strings.items[s->e->name[row]];
        if (!rs_serving_parse(name->text, name->length, &step)) continue;
        if (!RS_PUSH(s->annotations, s->n_annotations, capacity, (rs_keyed){s->e->start[row], row}))
            return false;
    }
    return rs_keyed_sort(s->annotations, s->n_annotations);
}

/* How many annotations may be open around a launch: a serving engine and what it is built into. */
#define NESTED 8

/* The innermost annotation around a launch that tells its batch, and the group of launches that it belongs to: those of
 * its step. */
static uint32_t find_step(const search *s, replay *r)
{
    int64_t moment = s->e->start[r->launch];
    size_t low = rs_keyed_until(s->annotations, s->n_annotations, moment);
    uint32_t group = RS_NO_ROW;
    r->tokens = r->requests = -1;
    for (size_t i = low; i-- > 0 && low - i <= NESTED;) {
        uint32_t row = s->annotations[i].value;
        const rs_string *name = &s->e->strings.items[s->e->name[row]];
        rs_serving_step step;
        if (rs_event_end(s->e, row) < moment || !rs_serving_parse(name->text, name->length, &step)) continue;
        int64_t tokens = rs_add_sat(step.context.q, step.generation.q),
                requests = rs_add_sat(step.context.requests, step.generation.requests);
        if (tokens > 0 && r->tokens < 0) r->tokens = tokens;
        if (requests > 0 && r->requests < 0) r->requests = requests;
        if (group == RS_NO_ROW) group = row;
    }
    for (size_t i = 0; group == RS_NO_ROW && i < s->n_steps; i++)
        if (s->steps[i].start <= moment && s->steps[i].end > moment) group = s->steps[i].row;
    return group;
}

static bool describe(const search *s, size_t call, replay *r)
{
    const rs_links *l = s->links;
    int64_t stream = RS_NO_VALUE, other, correlation;
    *r = (replay){.launch = l->call[call],
                  .rows = l->work_row + l->first[call],
                  .n = l->first[call + 1] - l->first[call]};
    bool ok = true;
    for (size_t i = 0; i < r->n; i++) {
        uint32_t row = r->rows[i];
        if (rs_events_int(s->e, RS_COL_STREAM, row, &other)) {
            r->many_streams = r->many_streams || (stream != RS_NO_VALUE && other != stream);
            stream = other;
        }
        if (rs_event_kind(s->e, row) == RS_KIND_KERNEL) r->names = add_name(r->names, s->e->name[row]);
        ok = ok && rs_events_int(s->e, RS_COL_CORRELATION, row, &correlation);
    }
    return ok;
}

/* The time inside of a call holds so many moments, one a nanosecond, apart from its ends. */
static bool has_room(const search *s, const replay *r, const rs_capture *c)
{
    return s->e->duration[r->launch] - 2 >= c->n_places - 1;
}

/* told: a reason stands already, and the nearest need not be looked for. */
static rs_status find_capture(const search *s, const replay *r, rs_graft_item *item, bool told, char *reason,
                              size_t size, rs_error *err)
{
    uint32_t *work = rs_malloc((r->n + 1) * sizeof *work);
    bool any = false;
    rs_status status = work ? RS_OK : rs_fail_nomem(err, "replayed graphs");
    for (size_t i = 0; status == RS_OK && i < s->captures->n; i++) {
        status = try_capture(s, r, i, work, &s->fits[i], err);
        any = any || s->fits[i];
    }
    item->capture = SIZE_MAX;
    if (status == RS_OK && any) item->capture = choose(s, r, reason, size);
    if (status == RS_OK && !any && !told) status = tell_nearest(s, r, reason, size, err);
    if (status == RS_OK && item->capture != SIZE_MAX) {
        const rs_capture *c = &s->captures->items[item->capture];
        if (has_room(s, r, c)) {
            bool fits;
            status = try_capture(s, r, item->capture, work, &fits, err);
            item->work = work;
            if (status == RS_OK) return RS_OK;
        } else {
            snprintf(reason, size,
                     "it takes %lld ns, too short for the order of the %zu host events of its capture",
                     (long long)s->e->duration[r->launch], c->events->n);
        }
    }
    rs_free(work);
    item->work = NULL;
    return status;
}

static rs_status plan_launch(search *s, const replay *r, rs_graft *out, rs_error *err)
{
    rs_graft_item item = {.launch = r->launch};
    char reason[sizeof out->reason] = "";
    RS_TRY(find_capture(s, r, &item, *out->reason != 0, reason, sizeof reason, err));
    if (!item.work) {
        if (!*out->reason) memcpy(out->reason, reason, sizeof reason);
        return RS_OK;
    }
    if (!RS_GROW_ONE(out->items, out->n, out->capacity)) {
        rs_free(item.work);
        return rs_fail_nomem(err, "replayed graphs");
    }
    out->items[out->n++] = item;
    out->n_placed += r->n;
    for (size_t i = 0; i < r->n; i++)
        out->n_by_order += s->seen[item.capture].nodes[i].name == RS_NO_STRING &&
                           s->seen[item.capture].nodes[i].kind == A_KERNEL;
    return RS_OK;
}

/* Launches in the order of time, so that those of one step stand together. */
static bool order_launches(const search *s, rs_keyed *calls, size_t n)
{
    for (size_t i = 0; i < n; i++) calls[i].key = s->e->start[s->links->call[calls[i].value]];
    return rs_keyed_sort(calls, n);
}

static rs_status plan_all(search *s, const rs_keyed *calls, size_t n, rs_graft *out, rs_error *err)
{
    RS_LOCAL replay *all = rs_malloc((n + 1) * sizeof *all);
    RS_LOCAL uint32_t *group = rs_malloc((n + 1) * sizeof *group);
    rs_status status = all && group ? RS_OK : rs_fail_nomem(err, "replayed graphs");
    RS_LOCAL bool *linked = status == RS_OK ? rs_calloc(n + 1, sizeof *linked) : NULL;
    if (status == RS_OK && !linked) status = rs_fail_nomem(err, "replayed graphs");
    for (size_t i = 0; status == RS_OK && i < n; i++) {
        linked[i] = describe(s, calls[i].value, &all[i]);
        group[i] = find_step(s, &all[i]);
        out->n_work += all[i].n;
    }
    for (size_t i = 0, end; status == RS_OK && i < n; i = end) {
        for (end = i + 1; end < n && group[end] == group[i]; end++) {
        }
        for (size_t k = i; status == RS_OK && k < end; k++) {
            all[k].ordinal = k - i;
            all[k].alike = end - i;
            if (linked[k])
                status = plan_launch(s, &all[k], out, err);
            else if (!*out->reason)
                snprintf(out->reason, sizeof out->reason, "not all of its work has a correlation id");
        }
    }
    out->n_launches = n;
    return status;
}

/* The calls that own work and replay a graph, by index into the links. */
static rs_status find_launches(const search *s, rs_keyed **out, size_t *n, rs_error *err)
{
    const rs_links *l = s->links;
    RS_LOCAL uint8_t *known = rs_calloc(s->e->strings.n + 1, 1);
    rs_keyed *calls = rs_malloc((l->n_calls + 1) * sizeof *calls);
    *n = 0;
    for (size_t i = 0; known && calls && i < l->n_calls; i++) {
        uint32_t name = s->e->name[l->call[i]];
        if (!known[name]) known[name] = rs_call_flags(s->e->strings.items[name].text) & RS_CALL_GRAPH ? 2 : 1;
        if (known[name] == 2) calls[(*n)++] = (rs_keyed){0, (uint32_t)i};
    }
    bool ok = known && calls && order_launches(s, calls, *n);
    *out = calls;
    if (ok) return RS_OK;
    rs_free(calls);
    *out = NULL;
    return rs_fail_nomem(err, "replayed graphs");
}

static rs_status search_begin(search *s, rs_error *err)
{
    size_t n = s->captures->n;
    RS_TRY(rs_trace_links(s->trace, &s->links, err));
    RS_TRY(rs_trace_annotated_steps(s->trace, &s->steps, &s->n_steps, err));
    s->seen = rs_calloc(n + 1, sizeof *s->seen);
    s->fits = rs_calloc(n + 1, sizeof *s->fits);
    bool ok = s->seen && s->fits && find_annotations(s);
    for (size_t i = 0; ok && i < n; i++) ok = look_at_capture(s->e, &s->captures->items[i], &s->seen[i]);
    return ok ? RS_OK : rs_fail_nomem(err, "replayed graphs");
}

rs_status rs_graft_plan(rs_trace *trace, const rs_captures *captures, int64_t rank, rs_graft *out,
                        rs_error *err)
{
    search s = {.trace = trace, .e = trace->events, .captures = captures, .rank = rank};
    RS_LOCAL rs_keyed *calls = NULL;
    size_t n = 0;
    *out = (rs_graft){0};
    rs_status status = search_begin(&s, err);
    if (status == RS_OK) status = find_launches(&s, &calls, &n, err);
    if (status == RS_OK && n) status = plan_all(&s, calls, n, out, err);
    for (size_t i = 0; s.seen && i < captures->n; i++) rs_free(s.seen[i].nodes);
    rs_free_all(s.seen, s.fits, s.annotations);
    if (status != RS_OK) rs_graft_clear(out);
    return status;
}

void rs_graft_clear(rs_graft *graft)
{
    for (size_t i = 0; i < graft->n; i++) rs_free(graft->items[i].work);
    rs_free(graft->items);
    *graft = (rs_graft){0};
}

/* ---- the copies ------------------------------------------------------------------------------------------ */

/* Beyond this many nanoseconds a call gives its copies no more room: places times nanoseconds must fit. */
#define MOST_ROOM (INT64_C(1) << 30)

/* When the copies of a capture begin and how long they are, inside of a call. */
static void place_copies(const rs_events *e, const rs_capture *c, uint32_t launch, int64_t *start,
                         int64_t *duration)
{
    int64_t room = e->duration[launch] - 2, last = c->n_places - 1, first = rs_add_sat(e->start[launch], 1);
    if (room > MOST_ROOM) room = MOST_ROOM;
    for (size_t i = 0; i < c->events->n; i++) {
        int64_t begin = c->events->start[i], end = begin + c->events->duration[i];
        int64_t from = last ? begin * room / last : 0, until = last ? end * room / last : 0;
        start[i] = rs_add_sat(first, from);
        duration[i] = until - from;
    }
}

static bool map_threads(rs_events *e, const rs_capture *c, uint32_t launch, uint32_t *threads)
{
    uint32_t own = e->thread[launch];
    for (size_t i = 0; i < c->events->n_threads; i++) {
        rs_thread t = e->threads[own];
        threads[i] = own;
        if (c->events->threads[i].tid == c->tid) continue;
        t.tid = c->events->threads[i].tid;
        t.tid_text = RS_NO_STRING;
        threads[i] = rs_events_thread(e, t);
        if (threads[i] == UINT32_MAX) return false;
    }
    return true;
}

/* Copies and links of one launch. */
static rs_status apply_item(rs_events *e, const rs_capture *c, rs_events_copier *copier,
                            const rs_graft_item *item, int64_t step, int64_t *times, rs_error *err)
{
    if (!copier->to) RS_TRY(rs_events_copier_init(copier, e, c->events, err));
    if (!map_threads(e, c, item->launch, copier->threads)) return rs_fail_nomem(err, "replayed graphs");
    if (!RS_GROW_ONE(e->grafted, e->n_grafted, e->grafted_capacity))
        return rs_fail_nomem(err, "replayed graphs");
    e->grafted[e->n_grafted] = (rs_grafted){(uint32_t)e->n, item->launch};
    place_copies(e, c, item->launch, times, times + c->events->n);
    RS_TRY(rs_events_copy(copier, times, times + c->events->n, step, err));
    e->n_grafted++;
    for (size_t i = 0; i < c->n_nodes; i++)
        RS_TRY(rs_events_replace_int(e, RS_COL_CORRELATION, item->work[i], step + (int64_t)i + 1,
                                     &(bool){false}, err));
    return RS_OK;
}

/* How far the ids of one copy lie from those of the next, and how many rows the largest has. */
static int64_t width_of(const rs_captures *captures, size_t *most)
{
    int64_t width = 0;
    *most = 0;
    for (size_t i = 0; i < captures->n; i++) {
        int64_t greatest = rs_events_greatest_link(captures->items[i].events);
        if (greatest > width) width = greatest;
        if (captures->items[i].events->n > *most) *most = captures->items[i].events->n;
    }
    return width;
}

static rs_status apply_all(rs_events *e, const rs_captures *captures, rs_events_copier *copiers,
                           const rs_graft *grafts, size_t n, rs_error *err)
{
    size_t most, n_items = 0;
    int64_t width = width_of(captures, &most), step = rs_events_greatest_link(e), room;
    for (size_t i = 0; i < n; i++) n_items += grafts[i].n;
    if (__builtin_mul_overflow(width, (int64_t)n_items + 1, &room) ||
        __builtin_add_overflow(room, step, &room))
        return rs_fail(err, RS_ERR_LIMIT, "its ids are too large to add those of %zu replayed graphs",
                       n_items);
    RS_LOCAL int64_t *times = rs_malloc((2 * most + 1) * sizeof *times);
    if (!times) return rs_fail_nomem(err, "replayed graphs");
    rs_status status = RS_OK;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; status == RS_OK && k < grafts[i].n; k++, step += width) {
            const rs_graft_item *item = &grafts[i].items[k];
            status = apply_item(e, &captures->items[item->capture], &copiers[item->capture], item, step,
                                times, err);
        }
    return status;
}

rs_status rs_graft_apply(rs_events *e, const rs_captures *captures, const rs_graft *grafts, size_t n,
                         rs_error *err)
{
    RS_LOCAL rs_events_copier *copiers = rs_calloc(captures->n + 1, sizeof *copiers);
    if (!copiers) return rs_fail_nomem(err, "replayed graphs");
    rs_status status = apply_all(e, captures, copiers, grafts, n, err);
    for (size_t i = 0; i < captures->n; i++) rs_events_copier_clear(&copiers[i]);
    return status;
}

uint32_t rs_graft_launch(const rs_events *e, uint32_t row)
{
    size_t at; /* the first that begins after the row */
    RS_SEARCH(at, e->n_grafted, e->grafted[at].first_row <= row);
    return e->grafted[at ? at - 1 : 0].launch;
}
