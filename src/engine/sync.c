#include "engine/sync.h"

#include <string.h>

#include "base/interval.h"
#include "base/keymap.h"
#include "base/search.h"
#include "base/stats.h"
#include "engine/lanes.h"
#include "trace/calls.h"
#include "trace/graph_waits.h"

/* Work that starts so much later, ns, than its launch and its stream allow was held up by something else. */
#define HELD_UP 5000

#define ANY_THREAD (-1)

/* So many waits of one place of the program, none of them against time, are taken for what their calls suggest. */
#define MIN_GUESSES 3

/* Streams looked at for each event of the file: only hostile input comes near it. */
#define MAX_LOOKS 64

/* How much later than a call's return work may end that the call waited for: the clocks' disagreement. Where most
 * calls that are told to have waited, and returned close to the work's end, returned before it, the device's clock is
 * ahead of the host's; then nine in ten of them tell how much later the work may end. */
#define CLOCK_SLACK 1000
#define CLOSE_BEHIND 20000
#define CLOSE_BEFORE 200000
#define MIN_LATE 3

const char *const rs_sync_kind_names[RS_N_SYNC_KINDS] = {"stream_wait_event", "event_sync", "stream_sync",
                                                         "context_sync",      "copy",       "context_sync",
                                                         "graph_dependency"};

void rs_sync_clear(rs_sync_edges *edges)
{
    rs_free_all(edges->items, edges->index);
    *edges = (rs_sync_edges){0};
}

/* What a call does, told by its name. */
typedef enum call_role {
    CALL_NONE,
    CALL_DEVICE,     /* waits for everything */
    CALL_FREE,       /* the same, and then takes its time */
    CALL_STREAM,     /* waits for a stream */
    CALL_EVENT,      /* waits for an event */
    CALL_QUERY,      /* asks: may be told by a cuda_sync event, never by itself */
    CALL_COPY,       /* a copy that may block */
    CALL_RECORD,     /* records an event */
    CALL_STREAM_WAIT /* makes a stream wait */
} call_role;

static call_role role_of(const char *name)
{
    static const struct {
        unsigned flag;
        call_role role;
    } roles[] = {{RS_CALL_WAITS_DEVICE, CALL_DEVICE},
                 {RS_CALL_DRAINS, CALL_FREE},
                 {RS_CALL_WAITS_STREAM, CALL_STREAM},
                 {RS_CALL_WAITS_EVENT, CALL_EVENT},
                 {RS_CALL_ASKS, CALL_QUERY},
                 {RS_CALL_RECORDS, CALL_RECORD},
                 {RS_CALL_STREAM_WAITS, CALL_STREAM_WAIT},
                 {RS_CALL_COPIES, CALL_COPY}};
    unsigned flags = rs_call_flags(name);
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
        if (flags & roles[i].flag) return roles[i].role;
    return CALL_NONE;
}

/* A wait that nothing shows and that its call suggests: indices of work. */
typedef struct guess {
    uint32_t source, target;
} guess;

typedef struct finder {
    rs_trace *trace;
    const rs_events *e;
    const rs_work *w;
    const uint32_t *by_start; /* indices into w */
    rs_sync_edges *out;
    uint8_t *roles;     /* by string id */
    rs_lanes launched;  /* work by (device, stream) and start of its launch; value: index into w */
    rs_lanes by_thread; /* the same by thread of the launch, and once more for all of them; on first need */
    bool have_threads;
    rs_lanes records;  /* calls that record events */
    uint32_t *waiting; /* rows of calls that may wait and of cuda_sync events */
    size_t n_waiting, waiting_capacity;
    size_t n_told;       /* cuda_sync events among them */
    rs_keymap asked;     /* correlations that cuda_sync events name: index into calls */
    uint32_t *calls;     /* row of the call, RS_NO_ROW if there is none */
    rs_map64 raw_calls;  /* recorded correlation -> row of the call, where correlations were moved */
    rs_keymap rows_seen; /* correlations of cuda_sync events */
    uint64_t looked;     /* streams looked at for calls that wait for all of them */
    int64_t slack;       /* ns: CLOCK_SLACK, or what the trace shows */
    int64_t *late;       /* by call that surely waited, if close: how long after its return work ended */
    size_t n_late, late_capacity;
    uint32_t late_call; /* of the last of them */
    guess *guesses;
    size_t n_guesses, guesses_capacity;
    rs_map64
        awaited; /* lane that waits << 32 | lane waited for: index of the last work there that was waited for */
} finder;

/* Old traces leave the device out; it then is the process id. */
static int64_t device_of(const finder *x, uint32_t row)
{
    int64_t device;
    if (rs_events_int(x->e, RS_COL_DEVICE, row, &device)) return device;
    return x->e->threads[x->e->thread[row]].pid;
}

static int64_t device_of_work(const finder *x, size_t i)
{
    return x->w->device[i] >= 0 ? x->w->device[i] : device_of(x, x->w->row[i]);
}

static bool add(finder *x, rs_sync_kind kind, uint32_t source, uint32_t target, uint32_t sync)
{
    rs_sync_edges *out = x->out;
    return RS_APPEND(out, (rs_sync_edge){source, target, sync, kind});
}

/* ---- indexes ---------------------------------------------------------------------------------------- */

static bool index_work(finder *x)
{
    const rs_work *w = x->w;
    bool ok = true;
    for (size_t k = 0; ok && k < w->n; k++) {
        uint32_t i = x->by_start[k], launch = w->launch[i];
        /* launched before the recording began, or so it must be taken */
        int64_t when = launch == RS_NO_ROW ? INT64_MIN : x->e->start[launch];
        ok = rs_lanes_add(&x->launched, device_of_work(x, i), w->stream[i], when, i);
    }
    return ok && rs_lanes_finish(&x->launched);
}

/* Only calls that say nothing of their stream need it: most traces have none. */
static bool need_threads(finder *x)
{
    const rs_work *w = x->w;
    bool ok = true;
    if (x->have_threads) return true;
    for (size_t k = 0; ok && k < w->n; k++) {
        uint32_t i = x->by_start[k], launch = w->launch[i];
        if (launch == RS_NO_ROW) continue;
        ok = rs_lanes_add(&x->by_thread, x->e->thread[launch], 0, x->e->start[launch], i) &&
             rs_lanes_add(&x->by_thread, ANY_THREAD, 0, x->e->start[launch], i);
    }
    return x->have_threads = ok && rs_lanes_finish(&x->by_thread);
}

/* Lists the calls that may wait and the cuda_sync events. */
static bool list_waiting(finder *x)
{
    const rs_events *e = x->e;
    bool ok = true;
    for (size_t i = 0; ok && i < x->trace->n_rows; i++) {
        uint32_t row = rs_trace_row(x->trace, i);
        rs_kind kind = rs_event_kind(e, row);
        call_role role = CALL_NONE;
        if (rs_kind_is_call(kind)) {
            role = x->roles[e->name[row]];
            if (role == CALL_NONE || role == CALL_QUERY || role == CALL_COPY) continue;
        } else if (kind != RS_KIND_SYNC) {
            continue;
        }
        if (!rs_event_is_span(e, row)) continue;
        if (role == CALL_RECORD) {
            ok = rs_lanes_add(&x->records, 0, 0, e->start[row], row);
            continue;
        }
        ok = RS_PUSH(x->waiting, x->n_waiting, x->waiting_capacity, row);
        x->n_told += kind == RS_KIND_SYNC;
    }
    return ok && rs_lanes_finish(&x->records);
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

static bool ask_for(finder *x, int64_t key, uint32_t *n)
{
    if (rs_keymap_get(&x->asked, key) != RS_KEYMAP_NONE) return true;
    x->calls[*n] = RS_NO_ROW;
    return rs_keymap_put(&x->asked, key, (*n)++);
}

/* The correlations that cuda_sync events name: their own, and those of the records they wait for. */
static bool ask_for_calls(finder *x)
{
    const rs_events *e = x->e;
    correlated own = {INT64_MAX, INT64_MIN, 0}, all = {INT64_MAX, INT64_MIN, 0};
    uint32_t n = 0;
    bool ok = true;
    for (int pass = 0; ok && pass < 2; pass++) {
        if (pass) {
            x->calls = rs_malloc(all.n * sizeof *x->calls);
            ok = rs_keymap_init(&x->rows_seen, own.min, own.max, own.n) &&
                 rs_keymap_init(&x->asked, all.min, all.max, all.n) && x->calls;
        }
        for (size_t i = 0; ok && i < x->n_waiting; i++) {
            uint32_t row = x->waiting[i];
            int64_t key;
            if (rs_event_kind(e, row) != RS_KIND_SYNC) continue;
            if (rs_events_int(e, RS_COL_CORRELATION, row, &key)) {
                if (!pass) widen(&own, key);
                if (!pass) widen(&all, key);
                ok = !pass || (rs_keymap_put(&x->rows_seen, key, row) && ask_for(x, key, &n));
            }
            if (ok && rs_events_int(e, RS_COL_WAIT_ON_EVENT, row, &key)) {
                if (!pass) widen(&all, key);
                ok = !pass || ask_for(x, key, &n);
            }
        }
    }
    return ok;
}

static bool is_of_rank(const rs_trace *trace, uint32_t row)
{
    size_t low;
    if (!trace->rows) return true;
    RS_SEARCH(low, trace->n_rows, trace->rows[low] < row);
    return low < trace->n_rows && trace->rows[low] == row;
}

/* TraceFusion moves correlations, but not those that synchronizations name: where events keep the recorded
 * ones, the recording call is the one of the rank with that recorded correlation. */
static bool find_raw_calls(finder *x)
{
    const rs_events *e = x->e;
    const rs_sparse *c = &e->args[RS_COL_CORRELATION_RAW];
    bool is_new;
    for (size_t i = 0; i < c->n && x->n_told; i++) {
        uint32_t row = c->rows[i];
        if (!rs_kind_is_call(rs_event_kind(e, row)) || !rs_event_is_span(e, row) ||
            !is_of_rank(x->trace, row))
            continue;
        uint32_t *slot = rs_map64_put(&x->raw_calls, (uint64_t)rs_sparse_int(c, i), &is_new);
        if (!slot) return false;
        if (is_new) *slot = row;
    }
    return true;
}

/* Of two calls with one correlation the first counts, as for launches. */
static bool find_calls(finder *x)
{
    const rs_events *e = x->e;
    const rs_sparse *c = &e->args[RS_COL_CORRELATION];
    if (x->n_told == 0) return true;
    if (!ask_for_calls(x)) return false;
    for (size_t i = 0; i < c->n; i++) {
        uint32_t row = c->rows[i], at = rs_keymap_get(&x->asked, rs_sparse_int(c, i));
        if (at == RS_KEYMAP_NONE || x->calls[at] != RS_NO_ROW) continue;
        if (!rs_kind_is_call(rs_event_kind(e, row)) || !rs_event_is_span(e, row)) continue;
        if (is_of_rank(x->trace, row)) x->calls[at] = row;
    }
    return find_raw_calls(x);
}

/* The call of a correlation that a cuda_sync event names, RS_NO_ROW if there is none. */
static uint32_t call_of(const finder *x, int64_t correlation)
{
    uint32_t at = rs_keymap_get(&x->asked, correlation);
    return at == RS_KEYMAP_NONE ? RS_NO_ROW : x->calls[at];
}

/* ---- what a cuda_sync event says -------------------------------------------------------------------- */

/* The last work that was launched onto a lane before t: index into w, SIZE_MAX if there is none. */
static size_t last_launched(const finder *x, uint32_t lane, int64_t t)
{
    size_t found = rs_lanes_before(&x->launched, lane, t, true);
    return found == SIZE_MAX ? SIZE_MAX : x->launched.entries[found].value;
}

static bool note_late(finder *x, uint32_t call, int64_t late)
{
    if (late < -CLOSE_BEHIND || late > CLOSE_BEFORE) return true;
    if (x->n_late && x->late_call == call) {
        if (late > x->late[x->n_late - 1]) x->late[x->n_late - 1] = late;
        return true;
    }
    if (!RS_PUSH(x->late, x->n_late, x->late_capacity, late)) return false;
    x->late_call = call;
    return true;
}

/* The call returned when the work had ended; work that ended later it cannot have waited for. */
static bool waits_for(finder *x, rs_sync_kind kind, size_t work, uint32_t call, uint32_t sync)
{
    if (work == SIZE_MAX) return true;
    int64_t late = rs_sub_sat(x->w->end[work], rs_event_end(x->e, call));
    /* one that only asks need not wait; without a cuda_sync event the work of most calls is a guess */
    bool asks = x->roles[x->e->name[call]] == CALL_QUERY;
    bool certain = sync != RS_NO_ROW && call != sync && !asks;
    if ((certain || kind == RS_SYNC_CONTEXT) && !asks && !note_late(x, call, late)) return false;
    if (late > x->slack) {
        x->out->n_contradicted += certain;
        return true;
    }
    return add(x, kind, x->w->row[work], call, sync);
}

static bool waits_for_all(finder *x, rs_sync_kind kind, uint32_t call, uint32_t sync)
{
    int64_t device = 0;
    bool known = sync != RS_NO_ROW && rs_events_int(x->e, RS_COL_DEVICE, sync, &device);
    for (uint32_t lane = 0; lane < x->launched.n_lanes; lane++, x->looked++) {
        size_t work = last_launched(x, lane, x->e->start[call]);
        if (work == SIZE_MAX || (known && device_of_work(x, work) != device)) continue;
        if (!waits_for(x, kind, work, call, sync)) return false;
    }
    return true;
}

/* The work that the recorded event of a synchronization stands behind. */
static size_t recorded_work(const finder *x, uint32_t sync)
{
    int64_t correlation, stream;
    if (!rs_events_int(x->e, RS_COL_WAIT_ON_EVENT, sync, &correlation)) return SIZE_MAX;
    if (!rs_events_int(x->e, RS_COL_WAIT_ON_STREAM, sync, &stream)) return SIZE_MAX;
    const uint32_t *raw = rs_map64_get(&x->raw_calls, (uint64_t)correlation);
    uint32_t record = raw ? *raw : call_of(x, correlation);
    if (record == RS_NO_ROW) return SIZE_MAX;
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
    if (x->w->stream[source] == x->w->stream[target]) return true;
    if (x->w->end[source] > x->w->start[target]) {
        x->out->n_contradicted += x->w->end[source] > rs_add_sat(x->w->start[target], CLOCK_SLACK);
        return true;
    }
    return add(x, RS_SYNC_STREAM_WAIT, x->w->row[source], x->w->row[target], sync);
}

static bool read_sync_event(finder *x, uint32_t row)
{
    const rs_events *e = x->e;
    const char *name = rs_event_name(e, row);
    int64_t key, stream;
    uint32_t call = RS_NO_ROW;
    if (rs_events_int(e, RS_COL_CORRELATION, row, &key)) call = call_of(x, key);
    if (call == RS_NO_ROW) call = row; /* the call is lost: the event stands for it */
    if (strcmp(name, "Stream Wait Event") == 0) return stream_waits(x, call, row);
    if (strcmp(name, "Context Sync") == 0) return waits_for_all(x, RS_SYNC_CONTEXT, call, row);
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
    if (!need_threads(x)) return false;
    uint32_t thread = rs_lanes_find(&x->by_thread, e->thread[call], 0);
    size_t found = rs_lanes_before(&x->by_thread, thread, e->start[call], true);
    if (found == SIZE_MAX) {
        x->out->n_untold++;
        return true;
    }
    size_t last = x->by_thread.entries[found].value;
    uint32_t lane = rs_lanes_find(&x->launched, device_of_work(x, last), x->w->stream[last]);
    return waits_for(x, RS_SYNC_STREAM, last_launched(x, lane, e->start[call]), call, RS_NO_ROW);
}

/* The event is not told: it is taken to be one behind the work that ended last during the call, of what was
 * launched before the latest record, which may begin in the same microsecond. Without such work the call need not have
 * waited. */
static bool waits_for_event(finder *x, uint32_t call)
{
    const rs_events *e = x->e;
    size_t found = rs_lanes_before(&x->records, 0, e->start[call], false), best = SIZE_MAX;
    int64_t from = e->start[call], to = rs_event_end(e, call);
    if (found == SIZE_MAX) {
        x->out->n_untold++;
        return true;
    }
    for (uint32_t lane = 0; lane < x->launched.n_lanes; lane++, x->looked++) {
        size_t work = last_launched(x, lane, x->records.entries[found].time);
        if (work == SIZE_MAX || x->w->end[work] < from || x->w->end[work] > rs_add_sat(to, x->slack))
            continue;
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

/* Whether the lane has waited for this work, or for later work of its lane. */
static bool was_awaited(const finder *x, uint32_t waiting, uint32_t lane, size_t work)
{
    const uint32_t *last = rs_map64_get(&x->awaited, (uint64_t)waiting << 32 | lane);
    uint32_t launch = x->w->launch[work];
    if (!last) return false;
    if (launch == RS_NO_ROW) return true;
    return x->w->launch[*last] != RS_NO_ROW && x->e->start[x->w->launch[*last]] >= x->e->start[launch];
}

static bool set_awaited(finder *x, uint32_t waiting, uint32_t lane, size_t work)
{
    bool is_new;
    uint32_t *slot = rs_map64_put(&x->awaited, (uint64_t)waiting << 32 | lane, &is_new);
    if (slot) *slot = (uint32_t)work;
    return slot != NULL;
}

static bool add_guess(finder *x, uint32_t waiting, uint32_t lane, size_t source, size_t target)
{
    if (!RS_PUSH(x->guesses, x->n_guesses, x->guesses_capacity, (guess){(uint32_t)source, (uint32_t)target}))
        return false;
    return set_awaited(x, waiting, lane, source);
}

/* What the wait of a lane may be for where nothing shows: the work behind which the thread recorded the event. Where
 * that is the waiting stream's own, the event was recorded on another: on the one of which the last work is not awaited
 * yet, and was launched last of such work. */
static bool guess_wait(finder *x, uint32_t call, uint32_t own_lane, size_t target, int64_t record)
{
    uint32_t thread = rs_lanes_find(&x->by_thread, x->e->thread[call], 0);
    size_t found = rs_lanes_before(&x->by_thread, thread, record, true);
    if (found == SIZE_MAX) return true;
    size_t last = x->by_thread.entries[found].value;
    uint32_t lane = rs_lanes_find(&x->launched, device_of_work(x, last), x->w->stream[last]);
    if (device_of_work(x, last) != device_of_work(x, target)) return true;
    if (lane != own_lane) return add_guess(x, own_lane, lane, last, target);
    size_t best = SIZE_MAX;
    uint32_t best_lane = 0;
    for (lane = 0; lane < x->launched.n_lanes; lane++, x->looked++) {
        size_t work = lane == own_lane ? SIZE_MAX : last_launched(x, lane, record);
        if (work == SIZE_MAX || x->w->launch[work] == RS_NO_ROW) continue;
        if (device_of_work(x, work) != device_of_work(x, target) || was_awaited(x, own_lane, lane, work))
            continue;
        if (best != SIZE_MAX && x->e->start[x->w->launch[work]] <= x->e->start[x->w->launch[best]]) continue;
        best = work;
        best_lane = lane;
    }
    return best == SIZE_MAX || add_guess(x, own_lane, best_lane, best, target);
}

/* Neither stream is told: the wait is taken to be for the latest record, and to hold up what the thread
 * launches next, or if not that, what any thread launches next, where that evidently was held up. */
static bool waits_unseen(finder *x, uint32_t call)
{
    const rs_events *e = x->e;
    const int64_t threads[2] = {e->thread[call], ANY_THREAD};
    size_t record = rs_lanes_before(&x->records, 0, e->start[call], true);
    if (record != SIZE_MAX && !need_threads(x)) return false;
    for (size_t i = 0; record != SIZE_MAX && i < 2; i++) {
        uint32_t thread = rs_lanes_find(&x->by_thread, threads[i], 0);
        size_t next = rs_lanes_after(&x->by_thread, thread, e->start[call]);
        if (next == SIZE_MAX) continue;
        size_t target = x->by_thread.entries[next].value;
        uint32_t lane = rs_lanes_find(&x->launched, device_of_work(x, target), x->w->stream[target]);
        size_t source = held_up_by(x, target, lane, x->records.entries[record].time);
        if (source != SIZE_MAX) {
            uint32_t of = rs_lanes_find(&x->launched, device_of_work(x, source), x->w->stream[source]);
            return set_awaited(x, lane, of, source) &&
                   add(x, RS_SYNC_STREAM_WAIT, x->w->row[source], x->w->row[target], RS_NO_ROW);
        }
        if (i == 0 && !guess_wait(x, call, lane, target, x->records.entries[record].time)) return false;
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
    if (role == CALL_DEVICE) return waits_for_all(x, RS_SYNC_CONTEXT, row, RS_NO_ROW);
    if (role == CALL_FREE) return waits_for_all(x, RS_SYNC_FREE, row, RS_NO_ROW);
    if (role == CALL_STREAM) return waits_for_stream(x, row);
    if (role == CALL_EVENT) return waits_for_event(x, row);
    return waits_unseen(x, row);
}

bool rs_is_staged(const char *copy, int64_t start, int64_t end, int64_t returned)
{
    return copy && strstr(copy, "Pageable ->") && returned > start && returned - start >= (end - start) / 2;
}

/* A copy whose work is over within its call has returned after it; one of pageable memory, which goes through a buffer of the
 * driver's, as soon as the last of it is there, some microseconds before its work is over. */
static bool waits_for_copy(const rs_events *e, const rs_work *w, size_t i)
{
    int64_t end = rs_event_end(e, w->launch[i]);
    if (w->start[i] < e->start[w->launch[i]]) return false;
    return w->end[i] <= end || rs_is_staged(rs_event_name(e, w->row[i]), w->start[i], w->end[i], end);
}

static bool read_copies(finder *x)
{
    const rs_events *e = x->e;
    for (size_t i = 0; i < x->w->n; i++) {
        uint32_t call = x->w->launch[i];
        if (call == RS_NO_ROW || rs_event_kind(e, x->w->row[i]) != RS_KIND_MEMCPY) continue;
        if (x->roles[e->name[call]] != CALL_COPY) continue;
        if (!waits_for_copy(e, x->w, i)) continue;
        if (!add(x, RS_SYNC_COPY, x->w->row[i], call, RS_NO_ROW)) return false;
    }
    return true;
}

/* The place of the program: both streams and both names. */
static int64_t place_of(const finder *x, const guess *g)
{
    const rs_work *w = x->w;
    const uint64_t parts[] = {x->e->name[w->row[g->source]], x->e->name[w->row[g->target]],
                              (uint64_t)w->stream[g->source], (uint64_t)w->stream[g->target]};
    uint64_t hash = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        hash = (hash ^ parts[i]) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 29;
    }
    return (int64_t)hash;
}

/* Guesses of one place hold if there are enough of them and none runs against time. */
static bool take_guesses(finder *x)
{
    RS_LOCAL rs_keyed *keys = rs_malloc((x->n_guesses + 1) * sizeof *keys);
    bool ok = keys != NULL;
    for (uint32_t i = 0; ok && i < x->n_guesses; i++) keys[i] = (rs_keyed){place_of(x, &x->guesses[i]), i};
    ok = ok && rs_keyed_sort(keys, x->n_guesses);
    for (size_t i = 0, next; ok && i < x->n_guesses; i = next) {
        bool refuted = false;
        for (next = i; next < x->n_guesses && keys[next].key == keys[i].key; next++) {
            const guess *g = &x->guesses[keys[next].value];
            refuted |= x->w->end[g->source] > x->w->start[g->target];
        }
        for (size_t k = i; ok && !refuted && next - i >= MIN_GUESSES && k < next; k++) {
            const guess *g = &x->guesses[keys[k].value];
            ok = add(x, RS_SYNC_STREAM_WAIT, x->w->row[g->source], x->w->row[g->target], RS_NO_ROW);
        }
    }
    return ok;
}

/* What the graph itself says; the order on a stream needs no saying. */
static bool read_graphs(finder *x)
{
    rs_graph_wait *waits;
    size_t n;
    if (rs_graph_waits_find(x->trace, &waits, &n, NULL) != RS_OK) return false;
    bool ok = true;
    for (size_t i = 0; ok && i < n; i++)
        if (x->e->thread[waits[i].source] != x->e->thread[waits[i].target])
            ok = add(x, RS_SYNC_GRAPH, waits[i].source, waits[i].target, RS_NO_ROW);
    rs_free(waits);
    return ok;
}

/* ---- all of it -------------------------------------------------------------------------------------- */

static bool sort_edges(rs_sync_edges *out)
{
    RS_LOCAL rs_keyed *order = rs_malloc(out->n * sizeof *order);
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
    if (ok) {
        rs_free(out->items);
        out->items = sorted;
        out->n = out->capacity = n;
    } else {
        rs_free(sorted);
    }
    return ok;
}

/* Most rows have none: what asks for a row's need not search. */
bool rs_sync_index(rs_sync_edges *out)
{
    size_t n = out->n ? (out->items[out->n - 1].target >> RS_SYNC_SHIFT) + 2 : 0;
    out->index = rs_malloc((n + 1) * sizeof *out->index);
    if (!out->index) return false;
    for (uint32_t k = 0, i = 0; k < n; k++) {
        while (i < out->n && out->items[i].target >> RS_SYNC_SHIFT < k) i++;
        out->index[k] = i;
    }
    out->n_index = n;
    return true;
}

static bool read_waiting(finder *x, uint64_t budget)
{
    bool ok = true;
    for (size_t i = 0; ok && x->looked <= budget && i < x->n_waiting; i++) {
        uint32_t row = x->waiting[i];
        ok = rs_event_kind(x->e, row) == RS_KIND_SYNC ? read_sync_event(x, row) : read_call(x, row);
    }
    return ok;
}

/* Whether the device's clock is ahead, and by how much. */
static bool learn_slack(finder *x)
{
    size_t n = x->n_late;
    if (n < MIN_LATE || rs_select_number(x->late, n, n / 2) <= 0) return false;
    x->out->ahead = rs_select_number(x->late, n, n - 1 - (n + 9) / 10);
    x->slack = rs_add_sat(x->out->ahead, CLOCK_SLACK);
    return true;
}

rs_status rs_sync_find(rs_trace *trace, const rs_policy *policy, rs_sync_edges *out, rs_error *err)
{
    const rs_events *e = trace->events;
    const rs_work *work;
    const uint32_t *by_start;
    rs_policy all = *policy;
    all.whole = true; /* the caller takes those of its window */
    *out = (rs_sync_edges){0};
    rs_status status = rs_trace_work_details(trace, &all, &work, err);
    if (status == RS_OK) status = rs_trace_work_by_start(trace, &all, &by_start, err);
    if (status != RS_OK) return status;
    finder x = {.trace = trace, .e = e, .w = work, .by_start = by_start, .out = out, .slack = CLOCK_SLACK};
    x.asked = x.rows_seen = (rs_keymap){.min = 0, .max = -1};
    x.roles = rs_malloc(e->strings.n + 1);
    bool ok = x.roles != NULL;
    for (size_t i = 0; ok && i < e->strings.n; i++) x.roles[i] = (uint8_t)role_of(e->strings.items[i].text);
    ok = ok && index_work(&x) && list_waiting(&x) && find_calls(&x);
    uint64_t budget = ((uint64_t)trace->n_rows + 65536) * MAX_LOOKS;
    ok = ok && read_waiting(&x, budget);
    if (ok && x.looked <= budget && learn_slack(&x)) { /* once more, by the clocks as they are */
        out->n = x.n_guesses = 0;
        rs_map64_clear(&x.awaited);
        x.awaited = (rs_map64){0};
        out->n_contradicted = out->n_untold = 0;
        ok = read_waiting(&x, 2 * budget);
    }
    budget *= 2;
    ok =
        ok && read_copies(&x) && take_guesses(&x) && read_graphs(&x) && sort_edges(out) && rs_sync_index(out);
    rs_free(x.roles);
    rs_lanes_clear(&x.launched);
    rs_lanes_clear(&x.by_thread);
    rs_lanes_clear(&x.records);
    rs_free_all(x.waiting, x.late, x.guesses);
    rs_map64_clear(&x.awaited);
    rs_free(x.calls);
    rs_keymap_clear(&x.asked);
    rs_keymap_clear(&x.rows_seen);
    rs_map64_clear(&x.raw_calls);
    if (ok && x.looked <= budget) return RS_OK;
    rs_sync_clear(out);
    if (ok)
        return rs_fail_at(err, RS_ERR_LIMIT, trace->file, RS_NO_OFFSET,
                          "too many streams and calls that wait for all of them");
    return rs_fail_nomem(err, "synchronization");
}
