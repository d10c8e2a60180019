/* Communication that the host runs: spans gloo:*, mpi:*, ucc:* on worker threads of a job without GPU. A span
 * begins when a worker takes the work up. Its rank arrived before: where the operator c10d::... that
 * submitted the work started, on another thread. */
#include <stdio.h>
#include <string.h>

#include "base/interval.h"
#include "match/collective_internal.h"
#include "trace/selection.h"

/* An operator that submits communication. */
typedef struct call {
    int64_t start, id; /* id: its record function's number, 0 if not recorded */
    rs_coll_kind kind;
    uint32_t row;
    bool taken;
} call;

typedef struct span {
    int64_t start, id;
    rs_coll_kind kind;
    uint32_t row;
    uint32_t call; /* index into the calls, RS_NO_ROW: its operator is not in the trace */
} span;

typedef struct reader {
    const rs_trace *trace;
    call *calls; /* by start, then row */
    size_t n_calls, calls_capacity;
    span *spans;
    size_t n_spans, spans_capacity;
} reader;

static bool collect(reader *r)
{
    const rs_events *e = r->trace->events;
    rs_cursor ids = rs_cursor_of(e, RS_COL_RECORD_FUNCTION_ID);
    for (size_t i = 0; i < r->trace->n_rows; i++) {
        uint32_t row = rs_trace_row(r->trace, i);
        rs_kind kind = rs_event_kind(e, row);
        if ((kind != RS_KIND_CPU_OP && kind != RS_KIND_USER_ANNOTATION) || !rs_event_is_span(e, row))
            continue;
        const char *name = rs_event_name(e, row);
        int64_t id = rs_cursor_int(&ids, row, 0);
        if (kind == RS_KIND_CPU_OP && rs_coll_is_submission(name)) {
            if (!RS_PUSH(r->calls, r->n_calls, r->calls_capacity,
                         (call){.start = e->start[row], .id = id, .kind = rs_coll_kind_of(name), .row = row}))
                return false;
        } else if (kind == RS_KIND_USER_ANNOTATION && rs_coll_is_host_span(name)) {
            if (!RS_PUSH(r->spans, r->n_spans, r->spans_capacity,
                         (span){.start = e->start[row],
                                .id = id,
                                .kind = rs_coll_kind_of(name),
                                .row = row,
                                .call = RS_NO_ROW}))
                return false;
        }
    }
    return true;
}

/* The order by a key of each, ties by place. NULL when out of memory. */
static rs_keyed *order_by(size_t n, int64_t (*key)(const reader *r, size_t i), const reader *r)
{
    rs_keyed *keys = rs_malloc((n + 1) * sizeof *keys);
    for (size_t i = 0; keys && i < n; i++) keys[i] = (rs_keyed){key(r, i), (uint32_t)i};
    if (keys && rs_keyed_sort(keys, n)) return keys;
    rs_free(keys);
    return NULL;
}

static int64_t call_start(const reader *r, size_t i)
{
    return r->calls[i].start;
}
static int64_t call_id(const reader *r, size_t i)
{
    return r->calls[i].id;
}
static int64_t span_start(const reader *r, size_t i)
{
    return r->spans[i].start;
}

static bool fits(const call *c, const span *s)
{
    return !c->taken && c->id != s->id && rs_coll_kind_on_host(c->kind) == rs_coll_kind_on_host(s->kind) &&
           c->start <= s->start;
}

static void take(reader *r, span *s, uint32_t at)
{
    s->call = at;
    r->calls[at].taken = true;
}

/* The record function of a span is made while its operator runs: the operator has the greatest number below
 * the span's. by_id: the calls by that number. */
static void link_by_id(reader *r, const rs_keyed *by_id, span *s)
{
    size_t low = rs_keyed_before(by_id, r->n_calls, s->id);
    if (low == 0) return;
    uint32_t at = by_id[low - 1].value;
    if (r->calls[at].id > 0 && fits(&r->calls[at], s)) take(r, s, at);
}

/* Without numbers: workers take work up in the order in which it was submitted, kind by kind. */
static void link_by_order(reader *r, const rs_keyed *calls, size_t next[RS_N_COLL_KINDS], span *s)
{
    size_t *at = &next[rs_coll_kind_on_host(s->kind)];
    for (; *at < r->n_calls; ++*at) {
        const call *c = &r->calls[calls[*at].value];
        if (c->taken || rs_coll_kind_on_host(c->kind) != rs_coll_kind_on_host(s->kind)) continue;
        if (c->start <= s->start) take(r, s, calls[*at].value);
        return;
    }
}

static bool link_spans(reader *r)
{
    RS_LOCAL rs_keyed *by_id = order_by(r->n_calls, call_id, r), *calls = order_by(r->n_calls, call_start, r),
                      *spans = order_by(r->n_spans, span_start, r);
    bool ok = by_id && calls && spans;
    size_t next[RS_N_COLL_KINDS] = {0};
    for (size_t i = 0; ok && i < r->n_spans; i++) {
        span *s = &r->spans[spans[i].value];
        if (s->id > 0) link_by_id(r, by_id, s);
    }
    for (size_t i = 0; ok && i < r->n_spans; i++) {
        span *s = &r->spans[spans[i].value];
        if (s->call == RS_NO_ROW && s->id <= 0) link_by_order(r, calls, next, s);
    }
    return ok;
}

/* The entries of "["", "", "1", "0"]" from the third on as numbers: c10d::send(tensors, group, peer, tag). */
static bool peer_and_tag(const char *text, int64_t *peer, int64_t *tag)
{
    int at = 0;
    for (; *text; text++) {
        if (*text != ',') continue;
        if (++at == 2) break;
    }
    char rest;
    long long a, b;
    /* NOLINTNEXTLINE(cert-err34-c): the width keeps every number in range */
    if (!*text || sscanf(text, ", \"%9lld\", \"%9lld\"%c", &a, &b, &rest) != 3 || rest != ']') return false;
    *peer = a;
    *tag = b;
    return a >= 0;
}

/* The two ends of a send or receive, as the operator was given them: ranks of the group, which are those of the job
 * where the group is the only one and lists all ranks. Messages of other tags may pass each other: those stay
 * without ends, and nothing is taken for their partner. */
static void ends_of(const rs_events *e, uint32_t row, rs_coll_shape *shape)
{
    const rs_file_info *info = &e->info;
    const char *name = rs_event_name(e, row);
    bool sends = strstr(name, "send") != NULL, receives = strstr(name, "recv") != NULL;
    uint32_t given = rs_events_text(e, RS_COL_CONCRETE_INPUTS, row);
    int64_t peer, tag;
    if (sends == receives || info->n_groups != 1 || info->rank < 0 || info->group_size != info->world_size ||
        given == RS_NO_STRING || !peer_and_tag(e->strings.items[given].text, &peer, &tag) || tag != 0)
        return;
    for (size_t i = 0; i < e->n_documents; i++) /* of a merged file, which rank's this is is not yet known */
        if (e->documents[i].rank != info->rank) return;
    shape->source = sends ? info->rank : peer;
    shape->target = sends ? peer : info->rank;
}

/* The operator says what the user called; the span what ran. */
static bool add_span(const reader *r, const span *s, const rs_step *steps, size_t n_steps,
                     const rs_selector *selected, rs_coll_rank *rank)
{
    const rs_events *e = r->trace->events;
    const call *c = s->call == RS_NO_ROW ? NULL : &r->calls[s->call];
    const rs_file_info *info = &e->info;
    bool ok = true, told = info->n_groups == 1;
    int64_t start = c ? c->start : s->start;
    int64_t pid = e->threads[e->thread[s->row]].pid;
    int64_t step = rs_trace_step_at(steps, n_steps, pid, start);
    if (!rs_selects_row(selected, c ? c->row : s->row)) return true;
    if (!RS_GROW_ONE(rank->spans, rank->n_spans, rank->spans_capacity)) return false;
    const rs_coll_op op = {
        .start = start, .end = rs_event_end(e, s->row), .row = s->row, .seq = -1, .step = step};
    rs_coll_shape shape = {
        .kind = c ? c->kind : s->kind,
        .group_size = told && info->group_size > 0 ? info->group_size : 0,
        .in_elements = -1,
        .out_elements = -1,
        .source = -1,
        .target = -1,
        .stream = -1,
        .group = rs_pool_add(&rank->pool, e, told ? info->group_name : RS_NO_STRING, &ok),
        .description = rs_pool_add(&rank->pool, e, told ? info->group_desc : RS_NO_STRING, &ok),
        .members = rs_pool_add(&rank->pool, e, told ? info->group_ranks : RS_NO_STRING, &ok),
        .name = RS_NO_STRING,
        .dtype = RS_NO_STRING,
    };
    if (rs_events_text(e, RS_COL_COLLECTIVE, s->row) != RS_NO_STRING) {
        rs_coll_shape_read(&shape, e, s->row, &rank->pool, &ok);
    } else if (shape.kind == RS_COLL_SEND_RECV) {
        shape.name = rs_pool_add(&rank->pool, e, e->name[s->row], &ok);
        if (c) ends_of(e, c->row, &shape);
    }
    if (!ok || !rs_coll_rank_add(rank, op, &shape)) return false;
    rank->spans[rank->n_spans++] = e->duration[s->row];
    return true;
}

static void clear_reader(reader *r)
{
    rs_free(r->calls);
    rs_free(r->spans);
}

rs_status rs_coll_host_calls(const rs_trace *trace, rs_map64 *calls, rs_error *err)
{
    RS_SCOPED(clear_reader) reader r = {.trace = trace};
    bool ok = collect(&r) && link_spans(&r), is_new;
    for (size_t i = 0; ok && i < r.n_spans; i++) {
        if (r.spans[i].call == RS_NO_ROW) continue;
        uint32_t *row = rs_map64_put(calls, r.spans[i].row, &is_new);
        ok = row != NULL;
        if (row) *row = r.calls[r.spans[i].call].row;
    }
    return ok ? RS_OK : rs_fail_nomem(err, "collectives");
}

rs_status rs_coll_rank_of_host(rs_trace *trace, rs_coll_rank **out, rs_error *err)
{
    reader r = {.trace = trace};
    const rs_step *steps;
    size_t n_steps;
    rs_selector selected;
    rs_coll_rank *rank;
    rs_status status = rs_coll_rank_create(trace, &rank, err);
    *out = NULL;
    if (status != RS_OK) return status;
    rank->on_host = true;
    rank->many_groups = trace->events->info.n_groups > 1;
    status = rs_trace_steps(trace, &steps, &n_steps, err);
    if (status == RS_OK) status = rs_trace_selector(trace, &selected, err);
    bool ok = status != RS_OK || (collect(&r) && link_spans(&r));
    for (size_t i = 0; status == RS_OK && ok && i < r.n_spans; i++)
        ok = add_span(&r, &r.spans[i], steps, n_steps, &selected, rank);
    ok = ok && (status != RS_OK || rs_coll_rank_sort(rank));
    clear_reader(&r);
    if (status == RS_OK && !ok) status = rs_fail_nomem(err, "collectives");
    if (status == RS_OK)
        *out = rank;
    else
        rs_coll_rank_free(rank);
    return status;
}
