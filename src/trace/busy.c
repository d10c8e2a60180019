#include "trace/busy.h"

#include <string.h>

#include "base/try.h"
#include "trace/facet.h"
#include "trace/recordings.h"

bool rs_work_union_in(const rs_work *work, rs_class class, const uint8_t *parts, uint8_t part,
                      rs_interval **out, size_t *n)
{
    bool all = class == RS_N_CLASSES;
    size_t count = all ? work->n : work->n_class[class], at = 0;
    rs_interval *items = rs_malloc(count * sizeof *items);
    *out = NULL;
    *n = 0;
    if (!items) return false;
    for (size_t i = 0; at < count && i < work->n; i++)
        if ((all || work->class[i] == class) && (!parts || parts[i] == part))
            items[at++] = (rs_interval){work->start[i], work->end[i]};
    if (!rs_intervals_sort(items, at)) {
        rs_free(items);
        return false;
    }
    *n = rs_intervals_unite(items, at);
    *out = items;
    return true;
}

/* The union of everything. Where all work has one of the three classes it follows from the sweep. */
static bool add_union_of_all(const rs_work *work, rs_busy *b)
{
    bool simple = work->n_class[RS_CLASS_OTHER] == 0;
    for (size_t i = 0; i < work->n; i++) {
        if (work->end[i] < work->start[i]) simple = false;
        if (i == 0 || work->start[i] < b->first) b->first = work->start[i];
        if (i == 0 || work->end[i] > b->last) b->last = work->end[i];
    }
    if (simple) {
        for (int m = 1; m < 8; m++) b->busy = rs_add_sat(b->busy, b->sweep[m]);
        return true;
    }
    rs_interval *items;
    size_t n;
    if (!rs_work_union(work, RS_N_CLASSES, &items, &n)) return false;
    if (n) b->last = items[n - 1].end; /* a peer's span ends with its last group */
    b->busy = rs_intervals_length(items, n);
    rs_free(items);
    return true;
}

rs_status rs_busy_of(const rs_work *work, rs_busy *out, rs_error *err)
{
    static const rs_class order[3] = {RS_CLASS_COMPUTE, RS_CLASS_COMM, RS_CLASS_MEMORY};
    rs_interval *items[3] = {NULL};
    rs_interval_set sets[3] = {{NULL, 0}};
    int64_t *sums[3] = {&out->compute, &out->comm, &out->memory};
    bool ok = true;
    *out = (rs_busy){.n = work->n, .n_unlinked = work->n_unlinked};
    memcpy(out->n_class, work->n_class, sizeof out->n_class);
    for (int i = 0; ok && i < 3; i++) {
        ok = rs_work_union(work, order[i], &items[i], &sets[i].n);
        sets[i].items = items[i];
        *sums[i] = rs_intervals_length(sets[i].items, sets[i].n);
    }
    if (ok) {
        rs_intervals_sweep(sets, 3, 1, out->sweep);
        ok = add_union_of_all(work, out);
    }
    for (int i = 0; i < 3; i++) rs_free(items[i]);
    if (!ok) return rs_fail_nomem(err, "intervals of GPU work");
    out->span = rs_sub_sat(out->last, out->first);
    out->idle = rs_sub_sat(out->span, out->busy);
    out->overlapped_comm = out->sweep[3] + out->sweep[7];
    out->exposed_comm = out->sweep[2] + out->sweep[6];
    out->exposed_memory = out->sweep[4];
    return RS_OK;
}

size_t rs_work_gaps(const rs_trace *trace, const rs_work *work, rs_interval *out)
{
    int64_t reach = 0, first = 0, last = 0;
    size_t n_gaps = 0;
    if (trace->n_recordings < 2) return 0;
    for (size_t i = 0, n = 0; i < work->n; i = n) {
        size_t of = rs_trace_recording_of(trace, work->row[i]);
        first = work->start[i];
        last = work->end[i];
        for (n = i + 1; n < work->n && rs_trace_recording_of(trace, work->row[n]) == of; n++) {
            if (work->start[n] < first) first = work->start[n];
            if (work->end[n] > last) last = work->end[n];
        }
        if (i && first > reach) out[n_gaps++] = (rs_interval){reach, first};
        if (!i || last > reach) reach = last;
    }
    return n_gaps;
}

/* Takes what is between recordings out of the span. */
static rs_status leave_gaps_out(const rs_trace *trace, const rs_work *work, rs_busy *b, rs_error *err)
{
    if (trace->n_recordings < 2) return RS_OK;
    RS_LOCAL rs_interval *gaps = rs_malloc(trace->n_recordings * sizeof *gaps);
    if (!gaps) return rs_fail_nomem(err, "gaps between recordings");
    int64_t time = rs_intervals_length(gaps, rs_work_gaps(trace, work, gaps));
    b->span = rs_sub_sat(b->span, time);
    b->idle = rs_sub_sat(b->idle, time);
    return RS_OK;
}

static rs_status make_busy(rs_trace *trace, const void *key, void **out, rs_error *err)
{
    const rs_work *work;
    RS_TRY(rs_trace_work(trace, key, &work, err));
    rs_busy *b = rs_malloc(sizeof *b);
    rs_status status = b ? rs_busy_of(work, b, err) : rs_fail_nomem(err, "a rank's times");
    if (status == RS_OK && ((const rs_policy *)key)->compat == RS_COMPAT_NONE)
        status = leave_gaps_out(trace, work, b, err);
    if (status == RS_OK)
        *out = b;
    else
        rs_free(b);
    return status;
}

static void free_busy(void *value)
{
    rs_free(value);
}

#define BUSY_ROW(CELL)                                                                                       \
    CELL(OF(rs_busy, n), "gpu_events", INT, COUNT, "pieces of GPU work", NULL)                               \
    CELL(OF(rs_busy, n_unlinked), "unlinked_events", INT, COUNT, "without a launch in the file", NULL)       \
    CELL(OF(rs_busy, first), "first_us", MOMENT, US, "start of the first", NULL)                             \
    CELL(OF(rs_busy, last), "last_us", MOMENT, US, "end of the last", NULL)                                  \
    CELL(OF(rs_busy, span), "span_us", TIME, US, "from one to the other, recordings only", NULL)             \
    CELL(OF(rs_busy, busy), "busy_us", TIME, US, "something runs", NULL)                                     \
    CELL(OF(rs_busy, compute), "compute_us", TIME, US, "computation runs", NULL)                             \
    CELL(OF(rs_busy, comm), "comm_us", TIME, US, "communication runs", NULL)                                 \
    CELL(OF(rs_busy, memory), "copy_us", TIME, US, "copies or memsets run", NULL)                            \
    CELL(OF(rs_busy, exposed_comm), "exposed_comm_us", TIME, US, "... and no computation", NULL)             \
    CELL(OF(rs_busy, exposed_memory), "exposed_copy_us", TIME, US, "... and neither of the others", NULL)    \
    CELL(OF(rs_busy, overlapped_comm), "overlapped_us", TIME, US, "communication and computation run", NULL) \
    CELL(OF(rs_busy, idle), "idle_us", TIME, US, "nothing runs in the span", NULL)
RS_RECORD(busy, BUSY_ROW);

static const rs_field more_fields[] = {RS_FIELD_ARRAY(rs_busy, n_class), RS_FIELD_ARRAY(rs_busy, sweep)};
const rs_layout rs_busy_layout = RS_RECORD_LAYOUT_AND(rs_busy, busy, more_fields);

static size_t read_row(const rs_trace *trace, const void *value, size_t at, size_t n, void *rows)
{
    (void)trace;
    if (at || !n) return 0;
    memcpy(rows, value, sizeof(rs_busy));
    return 1;
}

static const rs_facet_rows busy_rows = {&busy_record, sizeof(rs_busy), read_row};

const rs_facet rs_facet_busy = {.name = "a rank's times",
                                .needs = {&rs_facet_work},
                                .key_size = sizeof(rs_policy),
                                .same = rs_policy_same,
                                .selected = true,
                                .make = make_busy,
                                .release = free_busy,
                                .rows = &busy_rows};

rs_status rs_trace_busy(rs_trace *trace, const rs_policy *policy, const rs_busy **out, rs_error *err)
{
    return rs_trace_facet(trace, &rs_facet_busy, policy, out, err);
}

static int64_t held_in(int64_t time, rs_interval within)
{
    return time < within.start ? within.start : time > within.end ? within.end : time;
}

/* A copy of the work, cut: what is outside is empty. */
static rs_work *cut_work(const rs_work *work, rs_interval within)
{
    rs_work *cut = rs_work_create(work->n);
    for (size_t i = 0; cut && i < work->n; i++) {
        const int64_t start = held_in(work->start[i], within), end = held_in(work->end[i], within);
        if (end <= start) continue;
        cut->row[cut->n] = work->row[i];
        cut->start[cut->n] = start;
        cut->end[cut->n] = end;
        cut->class[cut->n] = work->class[i];
        cut->launch[cut->n++] = work->launch[i];
        cut->n_class[work->class[i]]++;
        cut->n_unlinked += work->launch[i] == RS_NO_ROW;
    }
    return cut;
}

rs_status rs_busy_within(rs_trace *trace, const rs_policy *policy, rs_interval within, rs_busy *out,
                         rs_error *err)
{
    rs_policy all = *policy;
    const rs_busy *whole;
    const rs_work *work;
    all.whole = true;
    *out = (rs_busy){0};
    RS_TRY(rs_trace_busy(trace, &all, &whole, err));
    RS_TRY(rs_trace_work(trace, &all, &work, err));
    if (!whole->n) return RS_OK;
    rs_work *cut = cut_work(work, within);
    RS_LOCAL rs_interval *gaps = rs_malloc((trace->n_recordings + 1) * sizeof *gaps);
    rs_status status = cut && gaps ? rs_busy_of(cut, out, err) : rs_fail_nomem(err, "GPU work of a window");
    if (status == RS_OK) {
        out->first = held_in(whole->first, within);
        out->last = held_in(whole->last, within);
        out->span = rs_sub_sat(out->last, out->first);
        for (size_t i = 0, n = rs_work_gaps(trace, work, gaps); i < n; i++)
            out->span -= held_in(gaps[i].end, within) - held_in(gaps[i].start, within);
        out->idle = rs_sub_sat(out->span, out->busy);
    }
    rs_work_free(cut);
    return status;
}
