#include "match/host_view.h"

#include <string.h>

#include "base/interval.h"
#include "base/memory.h"
#include "base/order.h"
#include "base/search.h"
#include "base/try.h"
#include "match/collective_names.h"
#include "trace/calls.h"
#include "trace/data_loader.h"
#include "trace/recordings.h"
#include "trace/selection.h"
#include "trace/step_name.h"
#include "trace/thread_names.h"

/* ---- sets of spans ---------------------------------------------------------------------------------------- */

typedef struct spans {
    rs_interval *items;
    size_t n, capacity;
} spans;

static bool append(spans *s, rs_interval x)
{
    return RS_APPEND(s, x);
}

/* The same, for what is united later: rows of a thread come by start as a rule, inner ones behind the one that holds
 * them, so that only the outermost are kept. */
static bool extend(spans *s, rs_interval x)
{
    if (s->n && x.start >= s->items[s->n - 1].start && x.start <= s->items[s->n - 1].end) {
        if (x.end > s->items[s->n - 1].end) s->items[s->n - 1].end = x.end;
        return true;
    }
    return append(s, x);
}

static bool unite(spans *s)
{
    if (s->n && !rs_intervals_sort(s->items, s->n)) return false;
    s->n = rs_intervals_unite(s->items, s->n);
    return true;
}

static bool append_all(spans *to, const spans *from)
{
    for (size_t i = 0; i < from->n; i++)
        if (!append(to, from->items[i])) return false;
    return true;
}

/* ---- what the rows are ------------------------------------------------------------------------------------ */

typedef enum role { ROLE_UNKNOWN, ROLE_NONE, ROLE_OPERATOR, ROLE_COMM, ROLE_SYNC } role;

/* A name means one thing as an operator, one as an annotation, one as a call. */
enum { AS_OPERATOR, AS_ANNOTATION, AS_CALL, N_USES };

typedef struct thread {
    spans operators, comm, sync, loading;
    spans talks; /* communication, also what is not selected, each span by itself */
    size_t n;
} thread;

typedef struct viewer {
    const rs_trace *trace;
    const rs_events *e;
    rs_selector selector;
    bool whole;     /* whatever is selected: windows cut it */
    uint8_t *roles; /* by use and string id */
    thread *threads;
    spans operators, comm, sync, loading;
    rs_host_view *out;
    rs_divisions *stretches; /* NULL: not asked for */
} viewer;

static role role_of(int use, const rs_string *string)
{
    const char *name = string->text;
    const unsigned waits = RS_CALL_WAITS_DEVICE | RS_CALL_WAITS_STREAM | RS_CALL_WAITS_EVENT | RS_CALL_DRAINS;
    switch (use) {
    case AS_OPERATOR: /* PyTorch 1.8 and 1.9 write steps as operators */
        return rs_coll_is_operator(name) || rs_step_number(string) >= 0 ? ROLE_NONE : ROLE_OPERATOR;
    case AS_ANNOTATION: return rs_coll_is_host_span(name) ? ROLE_COMM : ROLE_NONE;
    default: return rs_call_flags(name) & waits ? ROLE_SYNC : ROLE_NONE;
    }
}

static role role_of_row(viewer *v, uint32_t row)
{
    rs_kind kind = rs_event_kind(v->e, row);
    int use = kind == RS_KIND_CPU_OP            ? AS_OPERATOR
              : kind == RS_KIND_USER_ANNOTATION ? AS_ANNOTATION
              : rs_kind_is_call(kind)           ? AS_CALL
                                                : N_USES;
    if (use == N_USES || !rs_event_is_span(v->e, row) || v->e->duration[row] <= 0) return ROLE_NONE;
    uint8_t *known = &v->roles[(size_t)use * v->e->strings.n + v->e->name[row]];
    if (*known == ROLE_UNKNOWN) *known = (uint8_t)role_of(use, &v->e->strings.items[v->e->name[row]]);
    return (role)*known;
}

/* Whether communication runs inside the operator on its own thread: that thread then does not compute, whatever the
 * operator around it is called. */
static bool holds_talk(const spans *talks, rs_interval x)
{
    size_t low;
    RS_SEARCH(low, talks->n, talks->items[low].start < x.start);
    return low < talks->n && talks->items[low].end <= x.end;
}

/* Communication and waits first: what an operator is depends on them. */
static bool collect(viewer *v, bool operators)
{
    for (size_t i = 0; i < v->trace->n_rows; i++) {
        uint32_t row = rs_trace_row(v->trace, i);
        role what = role_of_row(v, row);
        if (what == ROLE_NONE || (what == ROLE_OPERATOR) != operators) continue;
        thread *t = &v->threads[v->e->thread[row]];
        const rs_interval x = {v->e->start[row], rs_event_end(v->e, row)};
        if (what == ROLE_COMM && !append(&t->talks, x)) return false;
        if (!(v->whole || rs_selects_row(&v->selector, row)) || (operators && holds_talk(&t->talks, x)))
            continue;
        t->n++;
        if (operators) v->out->n_operators++;
        if (what == ROLE_COMM) v->out->n_comm++;
        if (what == ROLE_SYNC) v->out->n_sync++;
        if (!extend(operators ? &t->operators : what == ROLE_COMM ? &t->comm : &t->sync, x)) return false;
    }
    for (size_t i = 0; !operators && i < v->e->n_threads; i++)
        if (v->threads[i].talks.n && !rs_intervals_sort(v->threads[i].talks.items, v->threads[i].talks.n))
            return false;
    return true;
}

static rs_status collect_loading(viewer *v, rs_trace *trace, rs_error *err)
{
    const rs_data_loader *loads;
    RS_TRY(rs_trace_data_loader(trace, &loads, err));
    for (size_t i = 0; i < loads->n; i++) {
        const rs_loader_call *c = &loads->calls[i];
        thread *t = &v->threads[v->e->thread[c->row]];
        const rs_interval own = {v->e->start[c->row], rs_event_end(v->e, c->row)};
        if (!v->whole && !rs_selects_row(&v->selector, c->row)) continue;
        if (!append(&v->loading, (rs_interval){c->from, c->end}) || !append(&t->loading, own))
            return rs_fail_nomem(err, "data loading of the host");
    }
    return RS_OK;
}

/* ---- threads ---------------------------------------------------------------------------------------------- */

/* Takes out of a thread's operators what it waited in, or what loaded data. */
static bool take_out(thread *t, const spans *what)
{
    if (!what->n || !t->operators.n) return true;
    spans left = {.items = rs_malloc((t->operators.n + what->n) * sizeof *left.items)};
    if (!left.items) return false;
    left.n = rs_intervals_subtract(t->operators.items, t->operators.n, what->items, what->n, left.items);
    rs_free(t->operators.items);
    t->operators = left;
    return true;
}

static const rs_order by_time[] = {
    RS_FALLING(rs_host_thread_view, operators), RS_FALLING(rs_host_thread_view, comm),
    RS_FALLING(rs_host_thread_view, sync), RS_RISING(rs_host_thread_view, label)};

static bool sum_threads(viewer *v)
{
    rs_host_view *out = v->out;
    RS_LOCAL uint32_t *names = rs_thread_names(v->trace);
    bool ok = names && (out->threads = rs_calloc(v->e->n_threads + 1, sizeof *out->threads));
    for (size_t i = 0; ok && i < v->e->n_threads; i++) {
        thread *t = &v->threads[i];
        char label[RS_THREAD_LABEL];
        if (!t->n) continue;
        ok = unite(&t->operators) && unite(&t->comm) && unite(&t->sync) && unite(&t->loading) &&
             take_out(t, &t->sync) && take_out(t, &t->loading) && append_all(&v->operators, &t->operators) &&
             append_all(&v->comm, &t->comm) && append_all(&v->sync, &t->sync);
        if (!ok) break;
        rs_thread_label(v->e, (uint32_t)i, names[i], label);
        rs_host_thread_view *to = &out->threads[out->n_threads];
        *to = (rs_host_thread_view){.label = rs_strdup(label),
                                    .operators = rs_intervals_length(t->operators.items, t->operators.n),
                                    .comm = rs_intervals_length(t->comm.items, t->comm.n),
                                    .sync = rs_intervals_length(t->sync.items, t->sync.n),
                                    .n = t->n};
        ok = to->label != NULL;
        out->n_threads += ok;
    }
    if (ok && out->n_threads) RS_SORT(out->threads, out->n_threads, by_time);
    return ok;
}

/* ---- the whole -------------------------------------------------------------------------------------------- */

enum { N_SETS = 4 };

/* Every moment belongs to the first of operators, communication, waits and loading that it is in. The span is known.
 */
static void divide(const rs_interval_set *sets, rs_host_view *out)
{
    int64_t time[1 << N_SETS];
    rs_intervals_sweep(sets, N_SETS, 1, time);
    for (unsigned mask = 1; mask < 1 << N_SETS; mask++) {
        int64_t *whose = mask & 1   ? &out->operators
                         : mask & 2 ? &out->exposed_comm
                         : mask & 4 ? &out->exposed_sync
                                    : &out->exposed_loading;
        *whose = rs_add_sat(*whose, time[mask]);
        if (mask & 2) out->comm = rs_add_sat(out->comm, time[mask]);
        if (mask & 4) out->sync = rs_add_sat(out->sync, time[mask]);
        if (mask & 8) out->loading = rs_add_sat(out->loading, time[mask]);
    }
    out->other = rs_sub_sat(out->span, rs_add_sat(rs_add_sat(out->operators, out->exposed_comm),
                                                  rs_add_sat(out->exposed_sync, out->exposed_loading)));
}

/* What of a set is in a window, into room for as many as the set has. */
static rs_interval_set cut(const rs_interval_set *set, rs_interval window, rs_interval *room)
{
    size_t low, n = 0; /* the first that ends behind the window's start */
    RS_SEARCH(low, set->n, set->items[low].end <= window.start);
    for (; low < set->n && set->items[low].start < window.end; low++) {
        rs_interval x = set->items[low];
        if (x.start < window.start) x.start = window.start;
        if (x.end > window.end) x.end = window.end;
        room[n++] = x;
    }
    return (rs_interval_set){room, n};
}

static bool divide_windows(const viewer *v, const rs_interval_set *sets, const rs_interval *windows, size_t n,
                           rs_host_view *out)
{
    rs_interval *room[N_SETS] = {0};
    bool ok = true;
    for (unsigned k = 0; k < N_SETS; k++) {
        room[k] = rs_malloc((sets[k].n + 1) * sizeof **room);
        ok = ok && room[k];
    }
    for (size_t i = 0; ok && i < n; i++) {
        rs_interval_set parts[N_SETS];
        for (unsigned k = 0; k < N_SETS; k++) parts[k] = cut(&sets[k], windows[i], room[k]);
        out[i] = (rs_host_view){
            .span = rs_sub_sat(rs_sub_sat(windows[i].end, windows[i].start),
                               rs_trace_unrecorded(v->trace, windows[i].start, windows[i].end))};
        divide(parts, &out[i]);
    }
    for (unsigned k = 0; k < N_SETS; k++) rs_free(room[k]);
    return ok;
}

static bool divide_span(const viewer *v, const rs_interval_set *sets, rs_interval span)
{
    RS_LOCAL rs_interval *gaps = rs_malloc((v->trace->n_recordings + 1) * sizeof *gaps);
    rs_interval_set all[N_SETS + 1];
    if (!gaps) return false;
    memcpy(all, sets, N_SETS * sizeof *sets);
    all[RS_HOST_UNRECORDED] = (rs_interval_set){gaps, rs_trace_gaps(v->trace, gaps)};
    return rs_intervals_divide(all, N_SETS + 1, span, RS_HOST_UNRECORDED, v->stretches);
}

static void viewer_clear(viewer *v)
{
    for (size_t i = 0; v->threads && i < v->e->n_threads; i++) {
        rs_free_all(v->threads[i].operators.items, v->threads[i].comm.items, v->threads[i].sync.items,
                    v->threads[i].loading.items, v->threads[i].talks.items);
    }
    rs_free_all(v->threads, v->roles, v->operators.items, v->comm.items, v->sync.items, v->loading.items);
}

static rs_status view_host(rs_trace *trace, const rs_interval *windows, size_t n, rs_host_view *out,
                           rs_host_view *of_windows, rs_divisions *stretches, rs_error *err)
{
    viewer v = {.trace = trace, .e = trace->events, .whole = n > 0, .out = out, .stretches = stretches};
    int64_t first, last;
    *out = (rs_host_view){0};
    RS_TRY(rs_trace_selector(trace, &v.selector, err));
    RS_TRY(rs_trace_selected_span(trace, &first, &last, err));
    if (first != RS_NO_TIME)
        out->span = rs_sub_sat(rs_sub_sat(last, first), rs_trace_unrecorded(trace, first, last));
    v.roles = rs_calloc(v.e->strings.n * N_USES + 1, 1);
    v.threads = rs_calloc(v.e->n_threads + 1, sizeof *v.threads);
    rs_status status = RS_OK;
    if (!v.roles || !v.threads || !collect(&v, false) || !collect(&v, true))
        status = rs_fail_nomem(err, "the host's time");
    if (status == RS_OK) status = collect_loading(&v, trace, err);
    if (status == RS_OK &&
        !(sum_threads(&v) && unite(&v.operators) && unite(&v.comm) && unite(&v.sync) && unite(&v.loading)))
        status = rs_fail_nomem(err, "the host's time");
    if (status == RS_OK) {
        const rs_interval_set sets[N_SETS] = {{v.operators.items, v.operators.n},
                                              {v.comm.items, v.comm.n},
                                              {v.sync.items, v.sync.n},
                                              {v.loading.items, v.loading.n}};
        divide(sets, out);
        if ((n && !divide_windows(&v, sets, windows, n, of_windows)) ||
            (stretches && first != RS_NO_TIME && !divide_span(&v, sets, (rs_interval){first, last})))
            status = rs_fail_nomem(err, "the host's time");
    }
    viewer_clear(&v);
    return status;
}

rs_status rs_host_view_of_windows(rs_trace *trace, const rs_interval *windows, size_t n, rs_host_view *out,
                                  rs_host_view *of_windows, rs_error *err)
{
    return view_host(trace, windows, n, out, of_windows, NULL, err);
}

rs_status rs_host_view_of(rs_trace *trace, rs_host_view *out, rs_error *err)
{
    return view_host(trace, NULL, 0, out, NULL, NULL, err);
}

rs_status rs_host_stretches(rs_trace *trace, rs_host_view *view, rs_divisions *out, rs_error *err)
{
    return view_host(trace, NULL, 0, view, NULL, out, err);
}

void rs_host_view_clear(rs_host_view *view)
{
    for (size_t i = 0; i < view->n_threads; i++) rs_free(view->threads[i].label);
    rs_free(view->threads);
    *view = (rs_host_view){0};
}
