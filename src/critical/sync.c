#include "critical/sync.h"

#include <string.h>

#include "base/interval.h"
#include "base/keymap.h"
#include "critical/lanes.h"

/* Work that starts so much later, ns, than its launch and its stream allow was held up by something else. */
#define HELD_UP 5000

#define ANY_THREAD (-1)

/* Streams looked at for each event of the file: only hostile input comes near it. */
#define MAX_LOOKS 64

/* How much later than a call's return work may end that the call waited for: the clocks' disagreement. */
#define CLOCK_SLACK 1000

const char *rs_sync_kind_name(rs_sync_kind kind)
{
    static const char *const names[] = {"stream_wait_event", "event_sync", "stream_sync", "context_sync",
                                        "copy"};
    return names[kind];
}

void rs_sync_clear(rs_sync_edges *edges)
{
    rs_free(edges->items);
    *edges = (rs_sync_edges){0};
}

/* What a call does, told by its name. */
typedef enum call_role {
    CALL_NONE,
    CALL_DEVICE,     /* waits for everything */
    CALL_STREAM,     /* waits for a stream */
    CALL_EVENT,      /* waits for an event */
    CALL_QUERY,      /* asks: may be told by a cuda_sync event, never by itself */
    CALL_COPY,       /* a copy that may block */
    CALL_RECORD,     /* records an event */
    CALL_STREAM_WAIT /* makes a stream wait */
} call_role;

static bool ends_with(const rs_string *s, const char *tail)
{
    size_t n = strlen(tail);
    return s->length >= n && memcmp(s->text + s->length - n, tail, n) == 0;
}

/* cuda, cu and hip names; the driver's have suffixes (_v2, _ptsz). */
static call_role role_of(const rs_string *s)
{
    const char *t = s->text;
    if (s->length < 4 || (memcmp(t, "cu", 2) != 0 && memcmp(t, "hip", 3) != 0 && memcmp(t, "mu", 2) != 0))
        return CALL_NONE;
    if (ends_with(s, "DeviceSynchronize") || ends_with(s, "CtxSynchronize")) return CALL_DEVICE;
    if (strstr(t, "StreamSynchronize")) return CALL_STREAM;
    if (strstr(t, "EventSynchronize")) return CALL_EVENT;
    if (strstr(t, "EventQuery") || strstr(t, "StreamQuery")) return CALL_QUERY;
    if (strstr(t, "EventRecord")) return CALL_RECORD;
    if (strstr(t, "StreamWaitEvent")) return CALL_STREAM_WAIT;
    if (strstr(t, "Memcpy")) return CALL_COPY;
    return CALL_NONE;
}

typedef struct finder {
    rs_trace *trace;
    const rs_events *e;
    const rs_work *w;
    rs_sync_edges *out;
    uint8_t *roles;      /* by string id */
    rs_lanes launched;   /* work by (device, stream) and start of its launch; value: index into w */
    rs_lanes by_thread;  /* the same by thread of the launch, and once more for all of them */
    rs_lanes records;    /* calls that record events */
    rs_keymap calls;     /* correlation: row of the call */
    rs_keymap rows_seen; /* correlation: row of the cuda_sync event */
    uint64_t looked;     /* streams looked at for calls that wait for all of them */
} finder;

/* Old traces leave the device out; it then is the process id. */
static int64_t device_of(const finder *x, uint32_t row)
{
    int64_t device;
    if (rs_events_int(x->e, RS_COL_DEVICE, row, &device)) return device;
    return x->e->threads[x->e->thread[row]].pid;
}

static bool add(finder *x, rs_sync_kind kind, uint32_t source, uint32_t target, uint32_t sync)
{
    rs_sync_edges *out = x->out;
    if (!RS_GROW_ONE(out->items, out->n, out->capacity)) return false;
    out->items[out->n++] = (rs_sync_edge){source, target, sync, kind};
    return true;
}

/* ---- indexes ---------------------------------------------------------------------------------------- */

static bool index_work(finder *x)
{
    const rs_work *w = x->w;
    rs_keyed *order = rs_malloc(w->n * sizeof *order);
    bool ok = order != NULL;
    for (size_t i = 0; ok && i < w->n; i++) order[i] = (rs_keyed){w->start[i], (uint32_t)i};
    ok = ok && rs_keyed_sort(order, w->n);
    for (size_t k = 0; ok && k < w->n; k++) {
        uint32_t i = order[k].value, launch = w->launch[i];
        /* launched before the recording began, or so it must be taken */
        int64_t when = launch == RS_NO_ROW ? INT64_MIN : x->e->start[launch];
        ok = rs_lanes_add(&x->launched, device_of(x, w->row[i]), w->stream[i], when, i);
        if (ok && launch != RS_NO_ROW)
            ok = rs_lanes_add(&x->by_thread, x->e->thread[launch], 0, when, i) &&
                 rs_lanes_add(&x->by_thread, ANY_THREAD, 0, when, i);
    }
    rs_free(order);
    return ok && rs_lanes_finish(&x->launched) && rs_lanes_finish(&x->by_thread);
}

typedef struct correlated {
    int64_t min, max;
    size_t n;
} correlated;

static void widen(correlated *c, int64_t key)
{
    if (key < c->min) c->min = key;
    if (key > c->max) c->max = key;
    c->n++;
}

/* Of two calls with one correlation the first counts, as for launches. */
static bool index_calls(finder *x)
{
    const rs_events *e = x->e;
    correlated calls = {INT64_MAX, INT64_MIN, 0}, rows = {INT64_MAX, INT64_MIN, 0};
    bool ok = true;
    for (int pass = 0; ok && pass < 2; pass++) {
        rs_cursor correlation = rs_cursor_of(e, RS_COL_CORRELATION);
        if (pass)
            ok = rs_keymap_init(&x->calls, calls.min, calls.max, calls.n) &&
                 rs_keymap_init(&x->rows_seen, rows.min, rows.max, rows.n);
        for (size_t i = 0; ok && i < x->trace->n_rows; i++) {
            uint32_t row = rs_trace_row(x->trace, i);
            rs_kind kind = rs_event_kind(e, row);
            bool call = rs_kind_is_call(kind), sync = kind == RS_KIND_SYNC;
            if ((!call && !sync) || !rs_event_is_span(e, row)) continue;
            if (pass && call && x->roles[e->name[row]] == CALL_RECORD)
                ok = rs_lanes_add(&x->records, 0, 0, e->start[row], row);
            if (!rs_cursor_seek(&correlation, row)) continue;
            int64_t key = correlation.column->ints[correlation.at];
            rs_keymap *map = call ? &x->calls : &x->rows_seen;
            if (!pass)
                widen(call ? &calls : &rows, key);
            else if (ok && rs_keymap_get(map, key) == RS_KEYMAP_NONE)
                ok = rs_keymap_put(map, key, row);
        }
    }
    return ok && rs_lanes_finish(&x->records);
}

/* ---- what a cuda_sync event says -------------------------------------------------------------------- */

/* The last work that was launched onto a lane before t: index into w, SIZE_MAX if there is none. */
static size_t last_launched(const finder *x, uint32_t lane, int64_t t)
{
    size_t found = rs_lanes_before(&x->launched, lane, t, true);
    return found == SIZE_MAX ? SIZE_MAX : x->launched.entries[found].value;
}

/* The call returned when the work had ended; work that ended later it cannot have waited for. */
static bool waits_for(finder *x, rs_sync_kind kind, size_t work, uint32_t call, uint32_t sync)
{
    if (work == SIZE_MAX) return true;
    if (x->w->end[work] > rs_add_sat(rs_event_end(x->e, call), CLOCK_SLACK)) return true;
    return add(x, kind, x->w->row[work], call, sync);
}

static bool waits_for_all(finder *x, uint32_t call, uint32_t sync)
{
    int64_t device = 0;
    bool known = sync != RS_NO_ROW && rs_events_int(x->e, RS_COL_DEVICE, sync, &device);
    for (uint32_t lane = 0; lane < x->launched.n_lanes; lane++, x->looked++) {
        size_t work = last_launched(x, lane, x->e->start[call]);
        if (work == SIZE_MAX || (known && device_of(x, x->w->row[work]) != device)) continue;
        if (!waits_for(x, RS_SYNC_CONTEXT, work, call, sync)) return false;
    }
    return true;
}

/* The work that the recorded event of a synchronization stands behind. */
static size_t recorded_work(const finder *x, uint32_t sync)
{
    int64_t correlation, stream;
    if (!rs_events_int(x->e, RS_COL_WAIT_ON_EVENT, sync, &correlation)) return SIZE_MAX;
    if (!rs_events_int(x->e, RS_COL_WAIT_ON_STREAM, sync, &stream)) return SIZE_MAX;
    uint32_t record = rs_keymap_get(&x->calls, correlation);
    if (record == RS_KEYMAP_NONE) return SIZE_MAX;
    uint32_t lane = rs_lanes_find(&x->launched, device_of(x, sync), stream);
    return last_launched(x, lane, x->e->start[record]);
}

static bool stream_waits(finder *x, uint32_t call, uint32_t sync)
{
    int64_t stream;
    size_t source = recorded_work(x, sync);
    if (source == SIZE_MAX || !rs_events_int(x->e, RS_COL_STREAM, sync, &stream)) {
        x->out->n_untold++;
        return true;
    }
    uint32_t lane = rs_lanes_find(&x->launched, device_of(x, sync), stream);
    size_t found = rs_lanes_after(&x->launched, lane, x->e->start[call]);
    if (found == SIZE_MAX) return true; /* nothing came behind the wait */
    size_t target = x->launched.entries[found].value;
    if (x->w->stream[source] == x->w->stream[target] || x->w->end[source] > x->w->start[target]) return true;
    return add(x, RS_SYNC_STREAM_WAIT, x->w->row[source], x->w->row[target], sync);
}

static bool read_sync_event(finder *x, uint32_t row)
{
    const rs_events *e = x->e;
    const char *name = rs_event_name(e, row);
    int64_t key, stream;
    uint32_t call = RS_KEYMAP_NONE;
    if (rs_events_int(e, RS_COL_CORRELATION, row, &key)) call = rs_keymap_get(&x->calls, key);
    if (call == RS_KEYMAP_NONE) call = row; /* the call is lost: the event stands for it */
    if (strcmp(name, "Stream Wait Event") == 0) return stream_waits(x, call, row);
    if (strcmp(name, "Context Sync") == 0) return waits_for_all(x, call, row);
    if (strcmp(name, "Event Sync") == 0) {
        size_t work = recorded_work(x, row);
        x->out->n_untold += work == SIZE_MAX;
        return waits_for(x, RS_SYNC_EVENT, work, call, row);
    }
    if (strcmp(name, "Stream Sync") == 0 && rs_events_int(e, RS_COL_STREAM, row, &stream)) {
        uint32_t lane = rs_lanes_find(&x->launched, device_of(x, row), stream);
        return waits_for(x, RS_SYNC_STREAM, last_launched(x, lane, e->start[call]), call, row);
    }
    return true;
}

/* ---- what a call says by itself --------------------------------------------------------------------- */

/* The stream is not told: it is taken to be the one the thread used last. */
static bool waits_for_stream(finder *x, uint32_t call)
{
    const rs_events *e = x->e;
    uint32_t thread = rs_lanes_find(&x->by_thread, e->thread[call], 0);
    size_t found = rs_lanes_before(&x->by_thread, thread, e->start[call], true);
    if (found == SIZE_MAX) {
        x->out->n_untold++;
        return true;
    }
    size_t last = x->by_thread.entries[found].value;
    uint32_t lane = rs_lanes_find(&x->launched, device_of(x, x->w->row[last]), x->w->stream[last]);
    return waits_for(x, RS_SYNC_STREAM, last_launched(x, lane, e->start[call]), call, RS_NO_ROW);
}

/* The event is not told: it is taken to be one behind the work that ended last during the call, of what was
 * launched before the latest record. Without such work the call need not have waited. */
static bool waits_for_event(finder *x, uint32_t call)
{
    const rs_events *e = x->e;
    size_t found = rs_lanes_before(&x->records, 0, e->start[call], true), best = SIZE_MAX;
    int64_t from = e->start[call], to = rs_event_end(e, call);
    if (found == SIZE_MAX) {
        x->out->n_untold++;
        return true;
    }
    for (uint32_t lane = 0; lane < x->launched.n_lanes; lane++, x->looked++) {
        size_t work = last_launched(x, lane, x->records.entries[found].time);
        if (work == SIZE_MAX || x->w->end[work] < from || x->w->end[work] > to) continue;
        if (best == SIZE_MAX || x->w->end[work] > x->w->end[best]) best = work;
    }
    x->out->n_untold += best == SIZE_MAX;
    return waits_for(x, RS_SYNC_EVENT, best, call, RS_NO_ROW);
}

/* What ended last before the work started, of what other streams had been given before the record, if it
 * ended so late that neither the launch nor the stream itself can explain the start. */
static size_t held_up_by(finder *x, size_t target, uint32_t own_lane, int64_t record)
{
    const rs_work *w = x->w;
    uint32_t launch = w->launch[target];
    size_t best = SIZE_MAX, before = rs_lanes_before(&x->launched, own_lane, x->e->start[launch], true);
    int64_t free = rs_event_end(x->e, launch);
    if (before != SIZE_MAX && w->end[x->launched.entries[before].value] > free)
        free = w->end[x->launched.entries[before].value];
    for (uint32_t lane = 0; lane < x->launched.n_lanes; lane++, x->looked++) {
        size_t work = lane == own_lane ? SIZE_MAX : last_launched(x, lane, record);
        if (work == SIZE_MAX || w->end[work] <= rs_add_sat(free, HELD_UP) || w->end[work] > w->start[target])
            continue;
        if (best == SIZE_MAX || w->end[work] > w->end[best]) best = work;
    }
    return best;
}

/* Neither stream is told: the wait is taken to be for the latest record, and to hold up what the thread
 * launches next, or if not that, what any thread launches next, where that evidently was held up. */
static bool waits_unseen(finder *x, uint32_t call)
{
    const rs_events *e = x->e;
    const int64_t threads[2] = {e->thread[call], ANY_THREAD};
    size_t record = rs_lanes_before(&x->records, 0, e->start[call], true);
    for (size_t i = 0; record != SIZE_MAX && i < 2; i++) {
        uint32_t thread = rs_lanes_find(&x->by_thread, threads[i], 0);
        size_t next = rs_lanes_after(&x->by_thread, thread, e->start[call]);
        if (next == SIZE_MAX) continue;
        size_t target = x->by_thread.entries[next].value;
        uint32_t lane = rs_lanes_find(&x->launched, device_of(x, x->w->row[target]), x->w->stream[target]);
        size_t source = held_up_by(x, target, lane, x->records.entries[record].time);
        if (source != SIZE_MAX)
            return add(x, RS_SYNC_STREAM_WAIT, x->w->row[source], x->w->row[target], RS_NO_ROW);
    }
    x->out->n_untold++;
    return true;
}

static bool read_call(finder *x, uint32_t row)
{
    int64_t key;
    call_role role = x->roles[x->e->name[row]];
    if (role == CALL_NONE || role == CALL_QUERY || role == CALL_RECORD || role == CALL_COPY) return true;
    if (rs_events_int(x->e, RS_COL_CORRELATION, row, &key) &&
        rs_keymap_get(&x->rows_seen, key) != RS_KEYMAP_NONE)
        return true; /* a cuda_sync event tells it better */
    if (role == CALL_DEVICE) return waits_for_all(x, row, RS_NO_ROW);
    if (role == CALL_STREAM) return waits_for_stream(x, row);
    if (role == CALL_EVENT) return waits_for_event(x, row);
    return waits_unseen(x, row);
}

/* A copy whose work lies within its call has returned behind it. */
static bool read_copies(finder *x)
{
    const rs_events *e = x->e;
    for (size_t i = 0; i < x->w->n; i++) {
        uint32_t call = x->w->launch[i];
        if (call == RS_NO_ROW || rs_event_kind(e, x->w->row[i]) != RS_KIND_MEMCPY) continue;
        if (x->roles[e->name[call]] != CALL_COPY) continue;
        if (x->w->start[i] < e->start[call] || x->w->end[i] > rs_event_end(e, call)) continue;
        if (!add(x, RS_SYNC_COPY, x->w->row[i], call, RS_NO_ROW)) return false;
    }
    return true;
}

/* ---- all of it -------------------------------------------------------------------------------------- */

static bool sort_edges(rs_sync_edges *out)
{
    rs_keyed *order = rs_malloc(out->n * sizeof *order);
    rs_sync_edge *sorted = rs_malloc(out->n * sizeof *sorted);
    bool ok = order && sorted;
    for (size_t i = 0; ok && i < out->n; i++) order[i] = (rs_keyed){out->items[i].kind, (uint32_t)i};
    ok = ok && rs_keyed_sort(order, out->n);
    for (size_t i = 0; ok && i < out->n; i++) order[i].key = out->items[order[i].value].source;
    ok = ok && rs_keyed_sort(order, out->n);
    for (size_t i = 0; ok && i < out->n; i++) order[i].key = out->items[order[i].value].target;
    ok = ok && rs_keyed_sort(order, out->n);
    size_t n = 0;
    for (size_t i = 0; ok && i < out->n; i++) {
        const rs_sync_edge *edge = &out->items[order[i].value];
        if (n && sorted[n - 1].source == edge->source && sorted[n - 1].target == edge->target) continue;
        sorted[n++] = *edge;
    }
    rs_free(order);
    if (ok) {
        rs_free(out->items);
        out->items = sorted;
        out->n = out->capacity = n;
    } else {
        rs_free(sorted);
    }
    return ok;
}

rs_status rs_sync_find(rs_trace *trace, const rs_work *work, rs_sync_edges *out, rs_error *err)
{
    const rs_events *e = trace->events;
    *out = (rs_sync_edges){0};
    finder x = {.trace = trace, .e = e, .w = work, .out = out};
    x.calls = x.rows_seen = (rs_keymap){.min = 0, .max = -1};
    x.roles = rs_malloc(e->strings.n + 1);
    bool ok = x.roles != NULL;
    for (size_t i = 0; ok && i < e->strings.n; i++) x.roles[i] = (uint8_t)role_of(&e->strings.items[i]);
    ok = ok && index_work(&x) && index_calls(&x);
    uint64_t budget = ((uint64_t)trace->n_rows + 65536) * MAX_LOOKS;
    for (size_t i = 0; ok && x.looked <= budget && i < trace->n_rows; i++) {
        uint32_t row = rs_trace_row(trace, i);
        rs_kind kind = rs_event_kind(e, row);
        if (!rs_event_is_span(e, row)) continue;
        if (kind == RS_KIND_SYNC)
            ok = read_sync_event(&x, row);
        else if (rs_kind_is_call(kind))
            ok = read_call(&x, row);
    }
    ok = ok && read_copies(&x) && sort_edges(out);
    rs_free(x.roles);
    rs_lanes_clear(&x.launched);
    rs_lanes_clear(&x.by_thread);
    rs_lanes_clear(&x.records);
    rs_keymap_clear(&x.calls);
    rs_keymap_clear(&x.rows_seen);
    if (ok && x.looked <= budget) return RS_OK;
    rs_sync_clear(out);
    if (ok)
        return rs_fail_at(err, RS_ERR_LIMIT, trace->file, RS_NO_OFFSET,
                          "too many streams and calls that wait for all of them");
    return rs_fail_nomem(err, "synchronization");
}
