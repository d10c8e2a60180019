/* roles: what the roles of a job wait for each other: rollout, reward, reference, critic, update. */
#include <math.h>
#include <string.h>

#include "analysis/plan.h"
#include "base/dtype.h"
#include "base/order.h"
#include "base/search.h"
#include "base/try.h"
#include "clock/collective_clocks.h"
#include "match/collective_wait.h"
#include "match/host_view.h"
#include "trace/role_names.h"
#include "trace/selection.h"

static const rs_option_spec options[] = {
    RS_CLOCKS_OPTION,
    {"fail-on", RS_OPTION_TEXT, "EXPR", NULL, NULL,
     "exit 1 when a row of the chosen table meets the expression: 'waits_others_pct > 30'"},
};

enum { ROLES, WAITS, TOGETHER, MESSAGES, SPANS, BUSY, OWN, COMM };

/* Times in ns. */
typedef struct role_row {
    int64_t ranks, window, busy, transfer, waits_own, waits_others, other, first_rank;
    uint32_t role;
} role_row;

#define ROLE_ROW(CELL)                                                                                       \
    CELL(TEXT_ID(role_row, role), "role", TEXT, NONE, "role", NULL)                                          \
    CELL(OF(role_row, ranks), "ranks", INT, COUNT, "ranks that have it, some of the time at least", NULL)    \
    CELL(OF(role_row, first_rank), "first_rank", INT, ID, "the first of them", NULL)                         \
    CELL(OF(role_row, window), "time_us", TIME, US,                                                          \
         "that ranks have it, summed: the job's length where they have no other", "time")                    \
    CELL(OF(role_row, busy), "busy_us", TIME, US, "of that, they compute or copy", "busy")                   \
    CELL(SHARE(role_row, busy, window), "busy_pct", REAL, PERCENT, "busy_us of time_us", "busy %")           \
    CELL(OF(role_row, transfer), "transfer_us", TIME, US,                                                    \
         "else, data goes between ranks that are all there", "transfer")                                     \
    CELL(OF(role_row, waits_others), "waits_others_us", TIME, US,                                            \
         "else, they wait for ranks of another role", "waits for others")                                    \
    CELL(SHARE(role_row, waits_others, window), "waits_others_pct", REAL, PERCENT,                           \
         "waits_others_us of time_us", "for others %")                                                       \
    CELL(OF(role_row, waits_own), "waits_own_us", TIME, US, "else, they wait for ranks of their role",       \
         "waits for own")                                                                                    \
    CELL(OF(role_row, other), "idle_us", TIME, US,                                                           \
         "the rest: nothing runs, and no communication that was matched", "idle")
RS_RECORD(role, ROLE_ROW);

typedef struct wait_row {
    int64_t n, waited, most, rank;
    uint32_t role, on;
} wait_row;

#define WAIT_ROW(CELL)                                                                                       \
    CELL(TEXT_ID(wait_row, role), "role", TEXT, NONE, "role of the ranks that wait", NULL)                   \
    CELL(TEXT_ID(wait_row, on), "for_role", TEXT, NONE, "role of the rank that comes last", "for")           \
    CELL(OF(wait_row, n), "waits", INT, COUNT, "of a rank in a collective or message", NULL)                 \
    CELL(OF(wait_row, waited), "waited_us", TIME, US,                                                        \
         "from the arrival of the rank that waits to that of the last, summed over ranks", "waited")         \
    CELL(OF(wait_row, most), "max_us", TIME, US, "the longest", "max")                                       \
    CELL(OF(wait_row, rank), "for_rank", INT, ID, "whom the longest was for", "for rank")
RS_RECORD(wait, WAIT_ROW);

typedef struct together_row {
    int64_t time, all;
    uint32_t roles;
} together_row;

#define TOGETHER_ROW(CELL)                                                                                   \
    CELL(TEXT_ID(together_row, roles), "busy_roles", TEXT, NONE, "roles of which some rank is busy", NULL)   \
    CELL(OF(together_row, time), "time_us", TIME, US, "exactly these are, at one time", "time")              \
    CELL(SHARE(together_row, time, all), "share_pct", REAL, PERCENT, "of the job's length", "share %")
RS_RECORD(together, TOGETHER_ROW);

typedef struct message_row {
    int64_t n, known, bytes, transfer, waited, synced;
    uint32_t roles, kind;
} message_row;

#define MESSAGE_ROW(CELL)                                                                                    \
    CELL(TEXT_ID(message_row, roles), "roles", TEXT, NONE, "roles of the ranks that take part", NULL)        \
    CELL(TEXT_ID(message_row, kind), "operation", TEXT, NONE, "collective, or send_recv", NULL)              \
    CELL(OF(message_row, n), "operations", INT, COUNT, "between ranks of several roles", NULL)               \
    CELL(OF(message_row, synced), "weight_syncs", INT, COUNT,                                                \
         "of these, those that an annotation of weight synchronisation holds on some rank", "weight syncs")  \
    CELL(OF(message_row, bytes), "bytes", INT, BYTES, "of one rank's input, where recorded", NULL)           \
    CELL(OF(message_row, transfer), "transfer_us", TIME, US,                                                 \
         "from the last arrival to the first end after it", "transfer")                                      \
    CELL(OF(message_row, waited), "waited_us", TIME, US, "until the last rank came, summed over ranks",      \
         "waited")
RS_RECORD(message, MESSAGE_ROW);

/* ---- one rank ---------------------------------------------------------------------------------------------- */

typedef struct span {
    int64_t start, end;
    int64_t role; /* rs_job_role */
} span;

typedef struct stretch {
    int64_t start, end;
} stretch;

/* role: rs_job_role, without ROLE=PATH; annotated: as annotations say; first, last: events, ns. */
typedef struct own {
    uint8_t role;
    bool annotated;
    int64_t first, last;
} own;

static rs_status put_spans(rs_trace *trace, rs_relations *out, rs_error *err)
{
    const rs_events *e = trace->events;
    RS_LOCAL uint8_t *of = rs_roles_of_strings(e);
    rs_selector selector;
    if (!of) return rs_fail_nomem(err, "roles");
    RS_TRY(rs_trace_selector(trace, &selector, err));
    for (size_t i = 0; i < trace->n_rows; i++) {
        uint32_t row = rs_trace_row(trace, i);
        if (rs_event_kind(e, row) != RS_KIND_USER_ANNOTATION || !rs_event_is_span(e, row) ||
            !of[e->name[row]] || !rs_selects_row(&selector, row))
            continue;
        rs_put(out, SPANS, &(span){e->start[row], rs_event_end(e, row), of[e->name[row]]});
    }
    return RS_OK;
}

static rs_status put_busy(const rs_run *run, rs_trace *trace, bool host, rs_relations *out, rs_error *err)
{
    if (host) {
        rs_host_view view;
        rs_divisions all = {0};
        rs_status status = rs_host_stretches(trace, &view, &all, err);
        for (size_t i = 0; status == RS_OK && i < all.n; i++)
            if (all.items[i].of == RS_HOST_OPERATORS)
                rs_put(out, BUSY,
                       &(stretch){all.items[i].from, rs_add_sat(all.items[i].from, all.items[i].time)});
        rs_host_view_clear(&view);
        rs_free(all.items);
        return status;
    }
    const rs_work *work;
    RS_TRY(rs_trace_work(trace, run->policy, &work, err));
    rs_interval *room = rs_malloc((work->n + 1) * sizeof *room);
    size_t n = 0;
    if (!room) return rs_fail_nomem(err, "roles");
    for (size_t i = 0; i < work->n; i++)
        if (work->class[i] != RS_CLASS_COMM && work->end[i] > work->start[i])
            room[n++] = (rs_interval){work->start[i], work->end[i]};
    bool ok = !n || rs_intervals_sort(room, n);
    n = ok ? rs_intervals_unite(room, n) : 0;
    for (size_t i = 0; i < n; i++) rs_put(out, BUSY, &(stretch){room[i].start, room[i].end});
    rs_free(room);
    return ok ? RS_OK : rs_fail_nomem(err, "roles");
}

static rs_status put_rank(const rs_run *run, rs_trace *trace, rs_relations *out, rs_error *err)
{
    rs_coll_rank *comm;
    rs_job_role role;
    own o = {0};
    RS_TRY(rs_trace_job_role(trace, &role, &o.annotated, err));
    o.role = (uint8_t)role;
    RS_TRY(rs_coll_rank_any(trace, run->policy, &comm, err));
    out->extra = comm;
    RS_TRY(rs_trace_selected_span(trace, &o.first, &o.last, err));
    if (o.first != RS_NO_TIME) rs_put(out, OWN, &o);
    RS_TRY(put_spans(trace, out, err));
    return put_busy(run, trace, comm->on_host, out, err);
}

/* ---- all ranks --------------------------------------------------------------------------------------------- */

#define MOST_ROLES 64 /* different names */

/* A rank on the aligned clock. */
typedef struct member {
    const rs_relations *of;
    int64_t shift;
    uint32_t role; /* what it is when no annotation says another; index into names */
    span *spans;   /* outermost, by start, aligned; role: index into names */
    size_t n_spans;
    rs_interval *waits_own, *waits_others, *transfers; /* room for one an operation, then united */
    size_t n_own, n_others, n_transfers;
    rs_interval *syncs; /* annotations of weight synchronisation, united, on the rank's own clock */
    size_t n_syncs;
} member;

typedef struct span_list {
    rs_interval *items;
    size_t n, capacity;
} span_list;

typedef struct answer {
    rs_relations *out;
    const rs_partial *partials;
    size_t n;
    rs_coll_job job;
    rs_clock_trust trust;
    const rs_coll_rank **ranks;
    member *members;
    uint32_t names[MOST_ROLES]; /* texts of out */
    size_t n_names;
    int64_t start, end;
} answer;

static void clear_answer(answer *a)
{
    rs_coll_job_clear(&a->job);
    rs_clock_trust_clear(&a->trust);
    rs_free(a->ranks);
    for (size_t r = 0; a->members && r < a->n; r++)
        rs_free_all(a->members[r].spans, a->members[r].waits_own, a->members[r].waits_others,
                    a->members[r].transfers, a->members[r].syncs);
    rs_free(a->members);
}

static uint32_t name_of(answer *a, const char *text)
{
    uint32_t id = rs_put_string(a->out, text);
    for (uint32_t i = 0; i < a->n_names; i++)
        if (a->names[i] == id) return i;
    if (a->n_names == MOST_ROLES) return MOST_ROLES - 1;
    a->names[a->n_names] = id;
    return (uint32_t)a->n_names++;
}

static bool unite(rs_interval *items, size_t *n)
{
    if (*n && !rs_intervals_sort(items, *n)) return false;
    *n = rs_intervals_unite(items, *n);
    return true;
}

static const rs_order by_start[] = {RS_RISING(span, start), RS_FALLING(span, end)};

/* Annotations count where neither the command line nor the process says what the rank is. */
static bool fill_member(answer *a, size_t r)
{
    member *m = &a->members[r];
    const rs_relations *p = a->partials[r].value;
    const own *o = p->items[OWN].n ? RS_ROWS(own, p, OWN) : NULL;
    const char *given = a->partials[r].role;
    const bool annotated = !given && o && o->annotated;
    size_t n = a->ranks[r]->n;
    m->of = p;
    m->shift = a->job.shift[r];
    m->role = name_of(a, given ? given : rs_role_names[o ? o->role : RS_ROLE_NONE]);
    m->spans = rs_malloc((p->items[SPANS].n + 1) * sizeof *m->spans);
    m->waits_own = rs_malloc((n + 1) * sizeof *m->waits_own);
    m->waits_others = rs_malloc((n + 1) * sizeof *m->waits_others);
    m->transfers = rs_malloc((n + 1) * sizeof *m->transfers);
    m->syncs = rs_malloc((p->items[SPANS].n + 1) * sizeof *m->syncs);
    if (!m->spans || !m->waits_own || !m->waits_others || !m->transfers || !m->syncs) return false;
    for (size_t i = 0; i < p->items[SPANS].n; i++) {
        const span *s = &RS_ROWS(span, p, SPANS)[i];
        if (s->role == RS_ROLE_SYNC && s->end > s->start)
            m->syncs[m->n_syncs++] = (rs_interval){s->start, s->end};
    }
    if (!unite(m->syncs, &m->n_syncs)) return false;
    for (size_t i = 0; annotated && i < p->items[SPANS].n; i++) {
        span s = RS_ROWS(span, p, SPANS)[i];
        if (s.role <= RS_ROLE_SYNC || s.role >= RS_N_ROLES) continue;
        m->spans[m->n_spans++] = (span){rs_add_sat(s.start, m->shift), rs_add_sat(s.end, m->shift),
                                        name_of(a, rs_role_names[s.role])};
    }
    if (m->n_spans) RS_SORT(m->spans, m->n_spans, by_start);
    size_t kept = 0;
    for (size_t i = 0; i < m->n_spans; i++)
        if (!kept || m->spans[i].start >= m->spans[kept - 1].end) m->spans[kept++] = m->spans[i];
    m->n_spans = kept;
    if (o) {
        int64_t first = rs_add_sat(o->first, m->shift), last = rs_add_sat(o->last, m->shift);
        if (first < a->start) a->start = first;
        if (last > a->end) a->end = last;
    }
    return true;
}

/* *until: up to when that holds. */
static uint32_t role_at(const member *m, int64_t ns, int64_t *until)
{
    size_t at;
    RS_SEARCH(at, m->n_spans, m->spans[at].end <= ns);
    const bool inside = at < m->n_spans && m->spans[at].start <= ns;
    if (until) *until = at == m->n_spans ? INT64_MAX : inside ? m->spans[at].end : m->spans[at].start;
    return inside ? (uint32_t)m->spans[at].role : m->role;
}

static bool is_synced(const answer *a, const rs_coll_arrival *x)
{
    const member *m = &a->members[x->rank];
    const int64_t ns = rs_coll_op_at(&a->job, x)->start;
    size_t at;
    RS_SEARCH(at, m->n_syncs, m->syncs[at].end <= ns);
    return at < m->n_syncs && m->syncs[at].start <= ns;
}

/* "rollout + update": the roles in a set, in the order of their names. */
static uint32_t roles_text(const answer *a, uint64_t set)
{
    char text[256] = "";
    size_t n = 0;
    const char *names[MOST_ROLES];
    size_t count = 0;
    for (size_t i = 0; i < a->n_names; i++)
        if (set >> i & 1) names[count++] = rs_relations_text(a->out, a->names[i]);
    static const rs_order by_text[] = {RS_RISING_VALUE(const char *)};
    if (count) RS_SORT(names, count, by_text);
    for (size_t i = 0; i < count && n + 4 < sizeof text; i++) {
        const char *name = names[i] ? names[i] : "";
        size_t length = strlen(name), room = sizeof text - n - 4;
        if (n) {
            memcpy(text + n, " + ", 3);
            n += 3;
        }
        memcpy(text + n, name, length < room ? length : room);
        n += length < room ? length : room;
    }
    text[n] = '\0';
    return rs_put_string(a->out, n ? text : "none");
}

static int64_t bytes_of(const answer *a, const rs_coll_arrival *x)
{
    const rs_coll_shape *shape = rs_coll_shape_at(&a->job, x);
    const char *dtype = rs_pool_text(&a->job.ranks[x->rank]->pool, shape->dtype);
    int64_t size = dtype ? rs_dtype_size(dtype) : 0, bytes;
    if (shape->in_elements < 0 || size <= 0 || __builtin_mul_overflow(shape->in_elements, size, &bytes))
        return RS_NO_VALUE;
    return bytes;
}

static void add_instance(answer *a, const rs_coll_instance *c)
{
    const rs_coll_wait w = rs_coll_measure(&a->job, c);
    const rs_coll_arrival *last = &a->job.arrivals[w.last_at];
    const uint32_t on = role_at(&a->members[last->rank], w.last, NULL);
    uint64_t set = 0;
    int64_t waited = 0;
    bool synced = false;
    for (uint32_t i = c->first; i < c->first + c->n; i++) {
        const rs_coll_arrival *x = &a->job.arrivals[i];
        member *m = &a->members[x->rank];
        const int64_t start = rs_coll_start(&a->job, x), end = rs_coll_end(&a->job, x);
        const int64_t ready = w.last < end ? w.last : end; /* an eager send is gone before */
        const uint32_t role = role_at(m, start, NULL);
        set |= UINT64_C(1) << role;
        synced |= is_synced(a, x);
        if (ready > start) {
            const bool others = role != on;
            if (others)
                m->waits_others[m->n_others++] = (rs_interval){start, ready};
            else
                m->waits_own[m->n_own++] = (rs_interval){start, ready};
            waited = rs_add_sat(waited, rs_sub_sat(ready, start));
            rs_put(a->out, WAITS,
                   &(wait_row){.waited = rs_sub_sat(ready, start),
                               .most = rs_sub_sat(ready, start),
                               .rank = a->partials[last->rank].rank,
                               .role = a->names[role],
                               .on = a->names[on]});
        }
        if (end > ready && ready >= start) m->transfers[m->n_transfers++] = (rs_interval){ready, end};
    }
    if (set & (set - 1))
        rs_put(a->out, MESSAGES,
               &(message_row){.bytes = bytes_of(a, &a->job.arrivals[c->first]),
                              .transfer = w.transfer,
                              .waited = waited,
                              .synced = synced,
                              .roles = roles_text(a, set),
                              .kind = rs_put_string(a->out, rs_coll_kind_name(w.kind))});
}

/* The rank's busy time on the aligned clock; NULL when out of memory. */
static rs_interval *busy_of(const member *m)
{
    const stretch *rows = RS_ROWS(stretch, m->of, BUSY);
    rs_interval *out = rs_malloc((m->of->items[BUSY].n + 1) * sizeof *out);
    for (size_t i = 0; out && i < m->of->items[BUSY].n; i++)
        out[i] = (rs_interval){rs_add_sat(rows[i].start, m->shift), rs_add_sat(rows[i].end, m->shift)};
    return out;
}

enum { IS_BUSY, IS_TRANSFER, WAITS_OTHERS, WAITS_OWN, IS_IDLE };

static bool add_rank(answer *a, size_t r, role_row *rows, span_list *of_role)
{
    member *m = &a->members[r];
    rs_divisions all = {0};
    RS_LOCAL rs_interval *busy = busy_of(m);
    uint64_t has = 0;
    bool ok = busy && unite(m->transfers, &m->n_transfers) && unite(m->waits_others, &m->n_others) &&
              unite(m->waits_own, &m->n_own);
    const rs_interval_set sets[4] = {{busy, m->of->items[BUSY].n},
                                     {m->transfers, m->n_transfers},
                                     {m->waits_others, m->n_others},
                                     {m->waits_own, m->n_own}};
    ok = ok && rs_intervals_divide(sets, 4, (rs_interval){a->start, a->end}, 5, &all);
    for (size_t i = 0; ok && i < all.n; i++) {
        int64_t from = all.items[i].from, end = rs_add_sat(from, all.items[i].time), until;
        for (; ok && from < end; from = until) {
            const uint32_t role = role_at(m, from, &until);
            role_row *row = &rows[role];
            if (until > end) until = end;
            int64_t *const sums[] = {&row->busy, &row->transfer, &row->waits_others, &row->waits_own,
                                     &row->other};
            *sums[all.items[i].of] = rs_add_sat(*sums[all.items[i].of], rs_sub_sat(until, from));
            row->window = rs_add_sat(row->window, rs_sub_sat(until, from));
            if (!(has >> role & 1) && (!row->ranks || a->partials[r].rank < row->first_rank))
                row->first_rank = a->partials[r].rank;
            row->ranks += !(has >> role & 1);
            has |= UINT64_C(1) << role;
            if (all.items[i].of != IS_BUSY) continue;
            ok = RS_APPEND(&of_role[role], (rs_interval){from, until});
        }
    }
    rs_free(all.items);
    return ok;
}

static bool put_together(answer *a, span_list *busy)
{
    rs_interval_set sets[RS_MAX_SWEEP];
    int64_t time[1 << RS_MAX_SWEEP] = {0}, all = rs_sub_sat(a->end, a->start), rest = all;
    const size_t k = a->n_names;
    if (k > RS_MAX_SWEEP) return true; /* a table of all sets of so many would say nothing */
    for (size_t i = 0; i < k; i++) {
        if (!unite(busy[i].items, &busy[i].n)) return false;
        sets[i] = (rs_interval_set){busy[i].items, busy[i].n};
    }
    if (k) rs_intervals_sweep(sets, (unsigned)k, 1, time);
    for (uint64_t mask = 1; mask < UINT64_C(1) << k; mask++) {
        if (!time[mask]) continue;
        rest = rs_sub_sat(rest, time[mask]);
        rs_put(a->out, TOGETHER, &(together_row){time[mask], all, roles_text(a, mask)});
    }
    rs_put(a->out, TOGETHER, &(together_row){rest, all, roles_text(a, 0)});
    return true;
}

static bool put_roles(answer *a)
{
    role_row *rows = RS_ROOM(a->out, role_row, MOST_ROLES);
    span_list busy[MOST_ROLES] = {{0}};
    bool ok = rows != NULL;
    for (size_t r = 0; ok && r < a->n; r++) ok = add_rank(a, r, rows, busy);
    ok = ok && put_together(a, busy);
    for (size_t i = 0; ok && i < a->n_names; i++) {
        rows[i].role = a->names[i];
        if (rows[i].ranks) rs_put(a->out, ROLES, &rows[i]);
    }
    for (size_t i = 0; i < MOST_ROLES; i++) rs_free(busy[i].items);
    return ok;
}

static rs_status put_all(const rs_run *run, const rs_partial *partials, size_t n, rs_relations *out,
                         rs_error *err)
{
    RS_SCOPED(clear_answer)
    answer a = {.out = out, .partials = partials, .n = n, .start = INT64_MAX, .end = INT64_MIN};
    a.ranks = rs_calloc(n + 1, sizeof *a.ranks);
    a.members = rs_calloc(n + 1, sizeof *a.members);
    if (!a.ranks || !a.members) return rs_fail_nomem(err, "roles");
    for (size_t r = 0; r < n; r++) {
        a.ranks[r] = ((const rs_relations *)partials[r].value)->extra;
        if (!a.ranks[r])
            return rs_fail(err, RS_ERR_FORMAT, "%s: the packed part has no answer to roles; map it again",
                           partials[r].source ? partials[r].source : "a rank");
    }
    RS_TRY(rs_clock_match_by(a.ranks, n, rs_clock_how_of(rs_options_text(run->options, "clocks")), &a.job,
                             &a.trust, err));
    for (size_t r = 0; r < n; r++)
        if (!fill_member(&a, r)) return rs_fail_nomem(err, "roles");
    if (a.start >= a.end) return RS_OK;
    for (size_t i = 0; i < a.job.n; i++)
        if (a.job.instances[i].n > 1 && !a.job.instances[i].mixed) add_instance(&a, &a.job.instances[i]);
    return put_roles(&a) ? RS_OK : rs_fail_nomem(err, "roles");
}

static rs_status explain(const rs_run *run, const rs_partial *partials, size_t n, rs_result *result,
                         rs_error *err)
{
    const rs_table *t = result->tables[0];
    (void)run;
    (void)partials;
    (void)n;
    (void)err;
    if (rs_table_n_rows(t) < 2)
        rs_result_note(
            result,
            "one role: say which files are of which as ROLE=PATH; processes, Ray actors and annotations "
            "name no two");
    return RS_OK;
}

/* ---- the plan ---------------------------------------------------------------------------------------------- */

static const rs_field span_fields[] = {RS_FIELDS(span, start, end, role)};
static const rs_layout span_layout = RS_LAYOUT(span, span_fields);
static const rs_field stretch_fields[] = {RS_FIELDS(stretch, start, end)};
static const rs_layout stretch_layout = RS_LAYOUT(stretch, stretch_fields);
static const rs_field own_fields[] = {RS_FIELD_BELOW(own, role, RS_N_ROLES),
                                      RS_FIELDS(own, annotated, first, last)};
static const rs_layout own_layout = RS_LAYOUT(own, own_fields);
static const rs_aggregate by_roles[] = {
    RS_KEY_TEXT(wait_row, role, wait_row, role),
    RS_KEY_TEXT(wait_row, on, wait_row, on),
    RS_COUNTED(wait_row, n),
    RS_SUMMED(wait_row, waited, wait_row, waited),
    RS_GREATEST(wait_row, most, wait_row, most),
    RS_FIRST(wait_row, rank, wait_row, rank),
};
static const rs_aggregate by_kind[] = {
    RS_KEY_TEXT(message_row, roles, message_row, roles),
    RS_KEY_TEXT(message_row, kind, message_row, kind),
    RS_COUNTED(message_row, n),
    RS_KNOWN(message_row, known, message_row, bytes),
    RS_SUMMED(message_row, bytes, message_row, bytes),
    RS_SUMMED(message_row, transfer, message_row, transfer),
    RS_SUMMED(message_row, waited, message_row, waited),
    RS_SUMMED(message_row, synced, message_row, synced),
};
static void forget_bytes(const rs_relations *of, void *row)
{
    message_row *m = row;
    (void)of;
    if (!m->known) m->bytes = RS_NO_VALUE;
}

static const rs_order by_role[] = {RS_RISING_TEXT(role_row, role)};
static const rs_order by_wait[] = {RS_FALLING(wait_row, waited), RS_RISING_TEXT(wait_row, role),
                                   RS_RISING_TEXT(wait_row, on)};
static const rs_order by_time[] = {RS_FALLING(together_row, time), RS_RISING_TEXT(together_row, roles)};
static const rs_order by_message[] = {RS_FALLING(message_row, waited), RS_RISING_TEXT(message_row, roles),
                                      RS_RISING_TEXT(message_row, kind)};

static const rs_plan_relation relations[] = {
    [ROLES] = {RS_LISTED_AS(ROLES, role_row, role), .across = put_all, RS_IN_ORDER(by_role)},
    [WAITS] = {RS_GROUPED(WAITS, wait_row, wait_row, by_roles), .across = rs_plan_put_before,
               RS_IN_ORDER(by_wait)},
    [TOGETHER] = {RS_LISTED_AS(TOGETHER, together_row, together), .across = rs_plan_put_before,
                  RS_IN_ORDER(by_time)},
    [MESSAGES] = {RS_GROUPED(MESSAGES, message_row, message_row, by_kind), .across = rs_plan_put_before,
                  .amend = forget_bytes, RS_IN_ORDER(by_message)},
    [SPANS] = {RS_LISTED(SPANS, span, &span_layout), .make = put_rank},
    [BUSY] = {RS_LISTED(BUSY, stretch, &stretch_layout)},
    [OWN] = {RS_LISTED(OWN, own, &own_layout)},
    [COMM] = {RS_PLAN_EXTRA(rs_coll_rank, &rs_coll_rank_layout)},
};
static const rs_plan_table
    role_table = {RS_PLAN_TABLE("roles", "one row is one role", role), .relation = ROLES},
    wait_table = {RS_PLAN_TABLE("waits", "one row is one role and one it waits for", wait),
                  .relation = WAITS},
    together_table = {RS_PLAN_TABLE("together", "one row is one set of roles that are busy at one time",
                                    together),
                      .relation = TOGETHER},
    message_table = {
        RS_PLAN_TABLE("messages", "one row is one kind of operation between ranks of several roles", message),
        .relation = MESSAGES};
static const rs_table_spec *const tables[] = {&role_table.spec, &wait_table.spec, &together_table.spec,
                                              &message_table.spec};
static const rs_plan plan = {RS_PLAN(relations, tables), .more = explain, .free_extra = rs_coll_rank_free,
                             .gate = true};

const rs_analysis rs_analysis_roles = {
    .name = "roles",
    .group = "Across ranks",
    .help = "Reinforcement learning: what rollout, reward, reference and update wait for each other",
    .about =
        "The role of a rank is that of ROLE=PATH on the command line (rollout=a/ update=b/), else what its process or Ray\n"
        "actor is called, else what its annotations say (generate_sequences, compute_rewards, update_policy, ...): then a rank\n"
        "may have several, one after the other. Programs that each count their ranks from 0 get numbers one after the other,\n"
        "and have no process group in common.\n\n"
        "A rank waits from its arrival at a collective, send or receive until the last member has come; it waits for the role\n"
        "that the last one has then. Table together: which roles are busy at one time; where only one is, the others are\n"
        "a bubble. Table messages: what goes between roles, weight synchronisation as annotations name it.",
    .examples = "rankscope roles rollout=actors/ update=learner/\nrankscope roles --table together traces/\n"
                "rankscope roles --fail-on 'waits_others_pct > 30' traces/",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .facets = {&rs_facet_work, &rs_facet_links},
    .columns = RS_COLL_HOST_COLUMNS | RS_COLUMN_BIT(META_NAME),
    .plan = &plan,
    .judged = RS_JUDGED,
    .follows = RS_FOLLOWS_RANKS | RS_FOLLOWS_STEPS,
    .follows_not = "roles are looked at from the first to the last selected event",
};
