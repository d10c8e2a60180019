#include "rewrite/pftrace.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/interval.h"
#include "base/order.h"
#include "base/search.h"
#include "base/try.h"
#include "format/perfetto_fields.h"
#include "rankscope/fuse.h"
#include "rewrite/proto_bytes.h"
#include "trace/enclosing.h"

/* How deep events that overlap may lie on one thread; no honest trace comes near. */
#define MAX_LANES 64
#define MAX_OPEN 4096
#define N_INTERNED 4   /* categories, names, keys, values */
#define TOLERANCE 1000 /* ns: times of host events are rounded to a microsecond in many files */

bool rs_is_perfetto_name(const char *name)
{
    static const char *const ends[] = {".pftrace", ".pftrace.gz", ".pftrace.zst", ".perfetto-trace",
                                       ".perfetto-trace.gz"};
    size_t n = strlen(name);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        size_t m = strlen(ends[i]);
        if (n >= m && strcmp(name + n - m, ends[i]) == 0) return true;
    }
    return false;
}

/* An event as it is drawn. */
typedef struct drawn {
    int64_t start, end;
    uint32_t thread, row;
} drawn;

typedef struct open_event {
    int64_t end;
    bool work;
} open_event;

typedef struct lane {
    uint64_t track;
    open_event *open; /* innermost last */
    size_t n, capacity;
} lane;

/* A cell of a column, by row. */
typedef struct cell {
    uint32_t at;
    uint8_t column;
} cell;

typedef struct arrow_end {
    uint32_t row;
    bool last;
    uint64_t id;
} arrow_end;

typedef struct writing {
    rs_trace *trace;
    const rs_events *e;
    rs_pftrace_rank *rank;
    rs_proto_bytes *out;
    rs_proto_bytes event, interned;
    uint8_t *known[N_INTERNED]; /* by string: a bit where it is interned already */
    bool key_known[RS_N_COLUMNS];
    size_t *first; /* by row: its cells */
    cell *cells;
    arrow_end *arrows;
    size_t n_arrows;
    rs_map64 processes; /* by pid: the low half of the track */
    rs_map64 names;     /* by pid: a text */
    size_t *counter_at; /* by counter: where its values were looked at last */
    uint32_t n_processes, n_tracks;
    bool began;
} writing;

/* ---- packets ------------------------------------------------------------------------------------------- */

static uint64_t new_track(writing *w)
{
    return ((uint64_t)w->rank->index + 1) << 32 | ++w->n_tracks;
}

static size_t begin_packet(writing *w)
{
    size_t packet = rs_proto_open(w->out, TRACE_PACKET);
    rs_proto_uint(w->out, PACKET_SEQUENCE, w->rank->index + 1);
    rs_proto_uint(w->out, PACKET_FLAGS, FLAG_NEEDS_STATE | (w->began ? 0 : FLAG_CLEARED));
    w->began = true;
    return packet;
}

static uint64_t timestamp(const writing *w, int64_t ns)
{
    ns = rs_add_sat(ns, w->rank->shift);
    return ns < 0 ? 0 : (uint64_t)ns;
}

/* A track below another one. */
static uint64_t put_track(writing *w, uint64_t parent, const char *name, bool counter)
{
    uint64_t uuid = new_track(w);
    size_t packet = begin_packet(w), track = rs_proto_open(w->out, PACKET_TRACK);
    rs_proto_uint(w->out, TRACK_UUID, uuid);
    rs_proto_text(w->out, TRACK_NAME, name, strlen(name));
    rs_proto_uint(w->out, TRACK_PARENT, parent);
    if (counter) rs_proto_text(w->out, TRACK_COUNTER, "", 0);
    rs_proto_close(w->out, track);
    rs_proto_close(w->out, packet);
    return uuid;
}

/* The number of a string in the trace's interned texts of a kind; met first, it is put into the packet. */
static uint64_t intern(writing *w, unsigned kind, unsigned field, uint32_t id)
{
    uint8_t *bits = w->known[kind];
    if (!(bits[id / 8] >> (id % 8) & 1)) {
        const rs_string *s = &w->e->strings.items[id];
        bits[id / 8] |= (uint8_t)(1u << (id % 8));
        size_t item = rs_proto_open(&w->interned, field);
        rs_proto_uint(&w->interned, ITEM_IID, (uint64_t)id + 1);
        rs_proto_text(&w->interned, ITEM_TEXT, s->text, s->length < 65536 ? s->length : 65536);
        rs_proto_close(&w->interned, item);
    }
    return (uint64_t)id + 1;
}

static uint64_t intern_column(writing *w, unsigned column)
{
    uint64_t iid = w->e->strings.n + 1 + column;
    if (!w->key_known[column]) {
        w->key_known[column] = true;
        size_t item = rs_proto_open(&w->interned, INTERNED_KEY);
        rs_proto_uint(&w->interned, ITEM_IID, iid);
        rs_proto_text(&w->interned, ITEM_TEXT, rs_column_infos[column].key,
                      rs_column_infos[column].key_length);
        rs_proto_close(&w->interned, item);
    }
    return iid;
}

/* A packet with w->event and the texts that it is the first to need. */
static void put_event(writing *w, int64_t ns)
{
    size_t packet = begin_packet(w);
    rs_proto_uint(w->out, PACKET_TIMESTAMP, timestamp(w, ns));
    if (w->interned.n) rs_proto_text(w->out, PACKET_INTERNED, w->interned.bytes, w->interned.n);
    rs_proto_text(w->out, PACKET_EVENT, w->event.bytes, w->event.n);
    rs_proto_close(w->out, packet);
    w->interned.n = w->event.n = 0;
}

/* ---- arguments ----------------------------------------------------------------------------------------- */

static void put_value(writing *w, uint64_t key, rs_column_type type, const rs_sparse *column, size_t at)
{
    size_t annotation = rs_proto_open(&w->event, EVENT_ANNOTATION);
    rs_proto_uint(&w->event, ANNOTATION_KEY_IID, key);
    if (type == RS_COLUMN_INT)
        rs_proto_uint(&w->event, ANNOTATION_INT, (uint64_t)rs_sparse_int(column, at));
    else if (type == RS_COLUMN_REAL)
        rs_proto_real(&w->event, ANNOTATION_REAL, column->reals[at]);
    else
        rs_proto_uint(&w->event, ANNOTATION_TEXT_IID, intern(w, 3, INTERNED_VALUE, column->texts[at]));
    rs_proto_close(&w->event, annotation);
}

static void put_other(writing *w, size_t at)
{
    const rs_others *o = &w->e->others;
    int64_t value = o->value[at];
    if (o->kind[at] == RS_OTHER_NONE) return;
    size_t annotation = rs_proto_open(&w->event, EVENT_ANNOTATION);
    rs_proto_uint(&w->event, ANNOTATION_KEY_IID, intern(w, 2, INTERNED_KEY, o->names[o->name[at]].text));
    if (o->kind[at] == RS_OTHER_INT)
        rs_proto_uint(&w->event, ANNOTATION_INT, (uint64_t)value);
    else if (o->kind[at] == RS_OTHER_REAL)
        rs_proto_fixed(&w->event, ANNOTATION_REAL, (uint64_t)value);
    else
        rs_proto_uint(&w->event, ANNOTATION_TEXT_IID, intern(w, 3, INTERNED_VALUE, (uint32_t)value));
    rs_proto_close(&w->event, annotation);
}

static void put_arguments(writing *w, uint32_t row)
{
    if (!w->rank->arguments) return;
    for (size_t i = w->first[row]; i < w->first[row + 1]; i++) {
        unsigned column = w->cells[i].column;
        put_value(w, intern_column(w, column), rs_column_infos[column].type, &w->e->args[column],
                  w->cells[i].at);
    }
    const rs_others *o = &w->e->others;
    for (size_t i = rs_other_first(o, row); i < o->n && o->rows[i] == row; i++) put_other(w, i);
}

/* The cells of all columns by row, so that rows can be taken in the order of time. */
static rs_status index_cells(writing *w, rs_error *err)
{
    const rs_events *e = w->e;
    size_t n = 0;
    w->first = rs_calloc(e->n + 2, sizeof *w->first);
    if (!w->first) return rs_fail_nomem(err, "arguments");
    for (unsigned c = 0; c < RS_N_COLUMNS; c++)
        for (size_t i = 0; c != RS_COL_FLOW_ID && i < e->args[c].n; i++, n++)
            w->first[e->args[c].rows[i] + 2]++;
    w->cells = rs_malloc((n + 1) * sizeof *w->cells);
    if (!w->cells) return rs_fail_nomem(err, "arguments");
    for (size_t i = 2; i < e->n + 2; i++) w->first[i] += w->first[i - 1];
    for (unsigned c = 0; c < RS_N_COLUMNS; c++)
        for (size_t i = 0; c != RS_COL_FLOW_ID && i < e->args[c].n; i++)
            w->cells[w->first[e->args[c].rows[i] + 1]++] = (cell){(uint32_t)i, (uint8_t)c};
    return RS_OK;
}

/* ---- arrows -------------------------------------------------------------------------------------------- */

static const rs_order by_row[] = {RS_RISING(arrow_end, row), RS_RISING(arrow_end, id)};

/* Arrows belong to the events that they begin and end in. */
static rs_status find_arrows(writing *w, rs_error *err)
{
    const rs_enclosing *in;
    size_t capacity = 0;
    RS_TRY(rs_trace_enclosing(w->trace, &in, err));
    for (size_t i = 0; i < in->n; i++) {
        uint32_t row = in->row[i];
        uint8_t phase = w->e->phase[row];
        int64_t id, from, to;
        if ((phase != 's' && phase != 't' && phase != 'f') || in->parent[i] == RS_NO_ROW) continue;
        size_t at = row;
        if (w->trace->rows) RS_SEARCH(at, w->trace->n_rows, w->trace->rows[at] < row);
        if (!w->rank->keeps(w->rank->context, w->trace, at, &from, &to)) continue;
        if (!rs_events_int(w->e, RS_COL_FLOW_ID, row, &id)) continue;
        if (!RS_GROW_ONE(w->arrows, w->n_arrows, capacity)) return rs_fail_nomem(err, "arrows");
        uint64_t own =
            rs_hash_u64((uint64_t)id ^ (uint64_t)w->e->category[row] << 48 ^ (uint64_t)w->rank->index << 40);
        w->arrows[w->n_arrows++] = (arrow_end){in->row[in->parent[i]], phase == 'f', own};
    }
    RS_SORT(w->arrows, w->n_arrows, by_row);
    return RS_OK;
}

static void put_arrows(writing *w, uint32_t row)
{
    size_t low;
    RS_SEARCH(low, w->n_arrows, w->arrows[low].row < row);
    for (; low < w->n_arrows && w->arrows[low].row == row; low++)
        rs_proto_fixed(&w->event, w->arrows[low].last ? EVENT_LAST_FLOW : EVENT_FLOW, w->arrows[low].id);
}

/* ---- processes ----------------------------------------------------------------------------------------- */

/* What records call the processes. */
static rs_status find_names(writing *w, rs_error *err)
{
    const rs_events *e = w->e;
    for (size_t i = 0; i < w->trace->n_rows; i++) {
        uint32_t row = rs_trace_row(w->trace, i);
        bool is_new;
        if (e->phase[row] != 'M' || strcmp(rs_event_name(e, row), "process_name") != 0) continue;
        uint32_t text = rs_events_text(e, RS_COL_META_NAME, row);
        if (text == RS_NO_STRING) continue;
        uint32_t *name = rs_map64_put(&w->names, (uint64_t)e->threads[e->thread[row]].pid, &is_new);
        if (!name) return rs_fail_nomem(err, "names");
        *name = text;
    }
    return RS_OK;
}

static const char *process_name(const writing *w, int64_t pid)
{
    const uint32_t *text = rs_map64_get(&w->names, (uint64_t)pid);
    return text ? w->e->strings.items[*text].text : "";
}

static void id_text(const rs_events *e, int64_t number, uint32_t text, char *out, size_t size)
{
    if (text != RS_NO_STRING)
        snprintf(out, size, "%.120s", e->strings.items[text].text);
    else
        snprintf(out, size, "%" PRId64, number);
}

/* The track of a process; made when it is met. Numbers of processes are new: those of ranks may be the same. */
static uint64_t process_track(writing *w, const rs_thread *thread, bool gpu)
{
    bool is_new;
    char id[130], name[400];
    uint32_t *number = rs_map64_put(&w->processes, (uint64_t)thread->pid, &is_new);
    if (!number) {
        w->out->failed = true;
        return 0;
    }
    if (!is_new) return ((uint64_t)w->rank->index + 1) << 32 | *number;
    uint64_t uuid = new_track(w);
    *number = (uint32_t)uuid;
    id_text(w->e, thread->pid, thread->pid_text, id, sizeof id);
    const char *own = process_name(w, thread->pid);
    if (gpu)
        snprintf(name, sizeof name, "rank %" PRId64 ": GPU %s", w->rank->rank, id);
    else
        snprintf(name, sizeof name, "rank %" PRId64 ": %.200s (process %s)", w->rank->rank, own, id);
    size_t packet = begin_packet(w), track = rs_proto_open(w->out, PACKET_TRACK);
    rs_proto_uint(w->out, TRACK_UUID, uuid);
    size_t process = rs_proto_open(w->out, TRACK_PROCESS);
    rs_proto_uint(w->out, PROCESS_PID, (w->rank->index * 1000 + ++w->n_processes) & INT32_MAX);
    rs_proto_text(w->out, PROCESS_NAME, name, strlen(name));
    rs_proto_close(w->out, process);
    rs_proto_close(w->out, track);
    rs_proto_close(w->out, packet);
    return uuid;
}

static void lane_name(const writing *w, const rs_thread *thread, bool gpu, char *name, size_t size)
{
    char id[130];
    id_text(w->e, thread->tid, thread->tid_text, id, sizeof id);
    snprintf(name, size, "%s %s", gpu ? "stream" : "thread", id);
}

/* ---- events -------------------------------------------------------------------------------------------- */

static void begin_event(writing *w, unsigned type, uint64_t track, uint32_t row)
{
    const rs_events *e = w->e;
    rs_proto_uint(&w->event, EVENT_TYPE, type);
    rs_proto_uint(&w->event, EVENT_TRACK, track);
    if (e->strings.items[e->categories[e->category[row]].name].length)
        rs_proto_uint(&w->event, EVENT_CATEGORY_IID,
                      intern(w, 0, INTERNED_CATEGORY, e->categories[e->category[row]].name));
    rs_proto_uint(&w->event, EVENT_NAME_IID, intern(w, 1, INTERNED_NAME, e->name[row]));
    put_arguments(w, row);
    w->rank->n_written++;
}

static void end_event(writing *w, lane *l)
{
    rs_proto_uint(&w->event, EVENT_TYPE, TYPE_END);
    rs_proto_uint(&w->event, EVENT_TRACK, l->track);
    put_event(w, l->open[--l->n].end);
}

/* Ends what is over when the event starts; whether the event then fits in: it is in the innermost one that is
 * open, and work is not within work. */
static bool fits(writing *w, lane *l, drawn *d, bool work)
{
    int64_t slack = work ? 0 : TOLERANCE;
    while (l->n && (l->open[l->n - 1].end <= d->start)) end_event(w, l);
    if (!l->n) return true;
    open_event *top = &l->open[l->n - 1];
    if (!work && !top->work && top->end < d->end && rs_sub_sat(top->end, d->start) < slack) {
        top->end = d->start; /* neighbours that overlap by rounding */
        while (l->n && l->open[l->n - 1].end <= d->start) end_event(w, l);
        return !l->n || l->open[l->n - 1].end >= d->end;
    }
    if (top->work || l->n >= MAX_OPEN) return false;
    if (d->end > top->end && rs_sub_sat(d->end, top->end) < slack) d->end = top->end;
    return d->end <= top->end;
}

static bool push(lane *l, int64_t end, bool work)
{
    return RS_PUSH(l->open, l->n, l->capacity, (open_event){end, work});
}

/* One thread's events, in order of start, longest first. */
static void draw_thread(writing *w, drawn *events, size_t n)
{
    const rs_events *e = w->e;
    const rs_thread *thread = &e->threads[events[0].thread];
    lane lanes[MAX_LANES] = {{0}};
    size_t n_lanes = 0;
    bool gpu = false;
    char name[160];
    for (size_t i = 0; !gpu && i < n; i++) {
        rs_kind kind = rs_event_kind(e, events[i].row);
        gpu = rs_kind_is_gpu_work(kind) || kind == RS_KIND_GPU_USER_ANNOTATION || kind == RS_KIND_SYNC;
    }
    uint64_t process = process_track(w, thread, gpu);
    lane_name(w, thread, gpu, name, sizeof name);
    for (size_t i = 0; i < n && !w->out->failed; i++) {
        drawn *d = &events[i];
        bool work = rs_kind_is_gpu_work(rs_event_kind(e, d->row));
        size_t at = 0;
        while (at < n_lanes && !fits(w, &lanes[at], d, work)) at++;
        if (at == MAX_LANES) {
            w->rank->n_too_deep++;
            continue;
        }
        if (at == n_lanes) lanes[n_lanes++].track = put_track(w, process, name, false);
        begin_event(w, e->phase[d->row] == 'X' ? TYPE_BEGIN : TYPE_INSTANT, lanes[at].track, d->row);
        put_arrows(w, d->row);
        put_event(w, d->start);
        if (e->phase[d->row] == 'X' && !push(&lanes[at], d->end, work)) w->out->failed = true;
    }
    for (size_t i = 0; i < n_lanes; i++) {
        while (lanes[i].n) end_event(w, &lanes[i]);
        rs_free(lanes[i].open);
    }
}

/* Counters: every number of a row is a track of its own. */
static void draw_counter(writing *w, rs_map64 *tracks, uint32_t row)
{
    const rs_events *e = w->e;
    const rs_thread *thread = &e->threads[e->thread[row]];
    for (size_t i = 0; i < e->n_counters; i++) {
        const rs_counter *c = &e->counters[i];
        bool is_new;
        char name[300];
        size_t at = rs_sparse_near(&c->values, w->counter_at[i], row);
        w->counter_at[i] = at;
        if (at == c->values.n || c->values.rows[at] != row) continue;
        uint64_t key = rs_hash_u64((uint64_t)thread->pid) ^ (uint64_t)e->name[row] << 32 ^ c->name;
        uint32_t *track = rs_map64_put(tracks, key, &is_new);
        if (!track) {
            w->out->failed = true;
            return;
        }
        if (is_new) {
            snprintf(name, sizeof name, "%.140s: %.140s", rs_event_name(e, row),
                     e->strings.items[c->name].text);
            *track = (uint32_t)put_track(w, process_track(w, thread, false), name, true);
        }
        rs_proto_uint(&w->event, EVENT_TYPE, TYPE_COUNTER);
        rs_proto_uint(&w->event, EVENT_TRACK, ((uint64_t)w->rank->index + 1) << 32 | *track);
        rs_proto_real(&w->event, EVENT_REAL_VALUE, c->values.reals[at]);
        put_event(w, e->start[row]);
        w->rank->n_written++;
    }
}

static const rs_order in_order[] = {RS_RISING(drawn, thread), RS_RISING(drawn, start), RS_FALLING(drawn, end),
                                    RS_RISING(drawn, row)};

/* Threads in the order of their first event in the file: their numbers depend on how the file was read. */
static rs_status number_threads(const writing *w, uint32_t **numbers, rs_error *err)
{
    uint32_t n = 0;
    *numbers = rs_calloc(w->e->n_threads + 1, sizeof **numbers);
    if (!*numbers) return rs_fail_nomem(err, "threads");
    for (size_t i = 0; i < w->trace->n_rows; i++) {
        uint32_t *number = &(*numbers)[w->e->thread[rs_trace_row(w->trace, i)]];
        if (!*number) *number = ++n;
    }
    return RS_OK;
}

static rs_status draw(writing *w, rs_error *err)
{
    const rs_events *e = w->e;
    RS_LOCAL drawn *events = rs_malloc((w->trace->n_rows + 1) * sizeof *events);
    RS_SCOPED(rs_map64_clear) rs_map64 counters = {0};
    RS_LOCAL uint32_t *numbers = NULL;
    size_t n = 0;
    rs_status status = events ? number_threads(w, &numbers, err) : rs_fail_nomem(err, "events");
    for (size_t i = 0; status == RS_OK && i < w->trace->n_rows; i++) {
        uint32_t row = rs_trace_row(w->trace, i);
        int64_t from = INT64_MIN, to = INT64_MAX, start = e->start[row], end = rs_event_end(e, row);
        bool is_drawn = rs_event_is_span(e, row) || e->phase[row] == 'i' || e->phase[row] == 'I';
        if ((!is_drawn && e->phase[row] != 'C') || start == RS_NO_TIME) continue;
        if (!w->rank->keeps(w->rank->context, w->trace, i, &from, &to)) {
            w->rank->n_left_out++;
            continue;
        }
        if (!is_drawn) {
            draw_counter(w, &counters, row);
            continue;
        }
        if (start < from) start = from;
        if (end > to) end = to;
        events[n++] = (drawn){start, end < start ? start : end, e->thread[row], row};
    }
    for (size_t i = 0; i < n; i++) events[i].thread = numbers[events[i].thread];
    RS_SORT(events, n, in_order);
    for (size_t i = 0, next; status == RS_OK && i < n; i = next) {
        uint32_t number = events[i].thread;
        for (next = i; next < n && events[next].thread == number; next++)
            events[next].thread = e->thread[events[next].row];
        draw_thread(w, events + i, next - i);
    }
    return status;
}

rs_status rs_pftrace_write_rank(rs_trace *trace, rs_pftrace_rank *rank, rs_proto_bytes *out, rs_error *err)
{
    writing w = {.trace = trace, .e = trace->events, .rank = rank, .out = out};
    rs_status status = RS_OK;
    rank->n_written = rank->n_left_out = rank->n_too_deep = 0;
    for (size_t i = 0; status == RS_OK && i < N_INTERNED; i++) {
        w.known[i] = rs_calloc(trace->events->strings.n / 8 + 1, 1);
        if (!w.known[i]) status = rs_fail_nomem(err, "names");
    }
    w.counter_at = rs_calloc(trace->events->n_counters + 1, sizeof *w.counter_at);
    if (!w.counter_at) status = rs_fail_nomem(err, "counters");
    if (status == RS_OK && rank->arguments) status = index_cells(&w, err);
    if (status == RS_OK) status = find_names(&w, err);
    if (status == RS_OK) status = find_arrows(&w, err);
    if (status == RS_OK) status = draw(&w, err);
    if (status == RS_OK && (out->failed || w.event.failed || w.interned.failed))
        status = rs_fail_nomem(err, "the new trace");
    for (size_t i = 0; i < N_INTERNED; i++) rs_free(w.known[i]);
    rs_free_all(w.counter_at, w.first, w.cells, w.arrows, w.event.bytes, w.interned.bytes);
    rs_map64_clear(&w.processes);
    rs_map64_clear(&w.names);
    return status;
}
