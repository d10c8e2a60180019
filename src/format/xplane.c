/* JAX's and TensorFlow's profiles (*.xplane.pb): XLA's XPlane messages. docs/formats.md says what becomes of them. */
#include "format/xplane.h"

#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/interval.h"
#include "base/try.h"

#define MOST_TEXT ((size_t)16 << 30)
#define PROGRESS ((uint64_t)1 << 20)
/* Looking for a way past damage takes at most so many steps a byte of the file, so that no file is slow to read. */
#define STEPS_A_BYTE 32
#define MAX_DEVICES 1024
#define LONGEST_HEADER 12 /* bytes of a field before what it holds */
#define LONGEST_NAME 256  /* of a plane, where files are told apart */

extern const rs_format rs_format_xplane;

void rs_xspace_damage(rs_xspace *s, const char *kind, const char *message, const uint8_t *at)
{
    rs_problems_add(&s->events->problems, s->file, -1, RS_LOSS, kind, message, (uint64_t)(at - s->text));
}

bool rs_xspace_spend(rs_xspace *s, uint64_t steps)
{
    if (s->budget < steps) return false;
    s->budget -= steps;
    return true;
}

static rs_status tell_progress(rs_xspace *s, const uint8_t *at)
{
    uint64_t offset = (uint64_t)(at - s->text);
    if (!s->settings->progress || offset < s->reported + PROGRESS) return RS_OK;
    s->reported = offset;
    return s->settings->progress(s->settings->progress_context)
               ? RS_OK
               : rs_fail(s->err, RS_ERR_CANCELLED, "stopped");
}

/* A length leads beyond what holds it: beyond the file, which then breaks off, or into what follows. */
static void overlong(rs_xspace *s, const rs_pb_field *f)
{
    if (f->bytes.end < s->text + s->n) {
        rs_xspace_damage(s, "damaged", "a length is damaged; events there may be lost or displaced", f->from);
        return;
    }
    if (s->cut) return;
    s->cut = s->events->truncated = true;
    rs_xspace_damage(s, "truncated",
                     "the file breaks off; the names of the last plane's events came after it", f->from);
}

/* ---- events -------------------------------------------------------------------------------------------- */

static bool parse_event(rs_pb body, rs_xevent *out)
{
    rs_pb_field f;
    rs_pb_status status;
    *out = (rs_xevent){.body = body};
    while ((status = rs_xplane_next(&body, &f)) == RS_PB_FIELD) {
        bool is_number = f.number == EVENT_NAME || f.number == EVENT_OFFSET || f.number == EVENT_DURATION ||
                         f.number == EVENT_TIMES;
        if (is_number != (f.type == RS_PB_VARINT) && (is_number || f.number == EVENT_STAT)) return false;
        if (f.number == EVENT_STAT && (f.type != RS_PB_BYTES || !rs_pb_is_whole(f.bytes))) return false;
        if (f.number == EVENT_NAME) out->name = (int64_t)f.value;
        if (f.number == EVENT_OFFSET) out->offset = (int64_t)f.value;
        if (f.number == EVENT_DURATION) out->duration = (int64_t)f.value;
        if (f.number == EVENT_TIMES) out->is_sum = true;
    }
    return status == RS_PB_END;
}

/* Whether this field belongs to a plane: the line that holds it claims more bytes than it has. */
static bool is_planes(const rs_pb_field *f)
{
    int64_t key;
    rs_pb value;
    if (f->type != RS_PB_BYTES) return false;
    return f->number == PLANE_LINE || f->number == PLANE_STAT_NAMES || f->number == PLANE_STAT ||
           (f->number == PLANE_EVENT_NAMES && rs_xplane_is_entry(f->bytes, &key, &value));
}

/* Past damage: the next place where an event begins that has a name of the plane. */
static bool find_event(rs_xplane *p, rs_pb *m)
{
    for (; m->at < m->end && rs_xspace_spend(p->space, 1); m->at++) {
        rs_pb now = *m;
        rs_pb_field f, name;
        rs_xevent event;
        if (*m->at != (LINE_EVENT << 3 | RS_PB_BYTES) || rs_xplane_next(&now, &f) != RS_PB_FIELD) continue;
        rs_pb body = f.bytes;
        if (rs_xplane_next(&body, &name) != RS_PB_FIELD || name.number != EVENT_NAME ||
            name.type != RS_PB_VARINT || !rs_map64_get(&p->event_ids, name.value))
            continue;
        if (rs_xspace_spend(p->space, rs_pb_length(f.bytes)) && parse_event(f.bytes, &event)) return true;
    }
    return false;
}

typedef struct event_list {
    rs_xevent *items;
    size_t n, capacity;
} event_list;

static int by_time(const void *a, const void *b)
{
    const rs_xevent *x = *(const rs_xevent *const *)a, *y = *(const rs_xevent *const *)b;
    if (x->offset != y->offset) return x->offset < y->offset ? -1 : 1;
    if (x->duration != y->duration) return x->duration > y->duration ? -1 : 1;
    return x->body.at < y->body.at ? -1 : x->body.at > y->body.at;
}

/* Loops and calls hold what runs in them: they are no work besides it. */
static rs_status mark_holders(event_list *list, rs_error *err)
{
    RS_LOCAL rs_xevent **order = rs_malloc((list->n + 1) * sizeof *order), **open = NULL;
    if (order) open = rs_malloc((list->n + 1) * sizeof *open);
    size_t n_open = 0;
    for (size_t i = 0; open && i < list->n; i++) order[i] = &list->items[i];
    if (open && list->n) qsort(order, list->n, sizeof *order, by_time);
    for (size_t i = 0; open && i < list->n; i++) {
        int64_t start = order[i]->offset, end = rs_add_sat(start, order[i]->duration);
        while (n_open && rs_add_sat(open[n_open - 1]->offset, open[n_open - 1]->duration) <= start) n_open--;
        if (n_open && end > start && end <= rs_add_sat(open[n_open - 1]->offset, open[n_open - 1]->duration))
            open[n_open - 1]->holds = true;
        open[n_open++] = order[i];
    }
    return open ? RS_OK : rs_fail_nomem(err, "events");
}

static rs_status take_event(rs_xplane *p, const rs_xline *l, const rs_xevent *event, event_list *list)
{
    rs_xspace *s = p->space;
    RS_TRY(tell_progress(s, event->body.at));
    if (event->is_sum) return RS_OK; /* a count; it has no place in time */
    if (l->lane != RS_XLANE_OPS) return rs_xplane_add(p, l, event);
    return RS_APPEND(list, *event) ? RS_OK : rs_fail_nomem(s->err, "events");
}

/* The events of a line. Where the line turns out to claim what is its plane's, *m stands there. */
static rs_status walk_events(rs_xplane *p, const rs_xline *l, rs_pb *m, event_list *list)
{
    rs_xspace *s = p->space;
    for (;;) {
        rs_pb_field f;
        rs_xevent event;
        rs_pb_status status = rs_xplane_next(m, &f);
        if (status == RS_PB_END) return RS_OK;
        if (status == RS_PB_FIELD && f.number == LINE_EVENT && f.type == RS_PB_BYTES &&
            parse_event(f.bytes, &event)) {
            RS_TRY(take_event(p, l, &event, list));
            continue;
        }
        if (status != RS_PB_BAD && is_planes(&f)) {
            m->at = f.from;
            return RS_OK;
        }
        if (status == RS_PB_FIELD && f.number != LINE_EVENT) continue;
        if (status == RS_PB_CUT) overlong(s, &f);
        s->events->n_lost++;
        rs_xspace_damage(s, "damaged_event", "an event is damaged and was left out", f.from);
        /* its length is believed where another field begins behind it */
        rs_pb behind = *m;
        rs_pb_field next;
        if (status == RS_PB_FIELD && rs_xplane_next(&behind, &next) != RS_PB_BAD) continue;
        m->at = f.from + 1;
        if (!find_event(p, m)) return RS_OK;
    }
}

static rs_status read_events(rs_xplane *p, const rs_xline *l, rs_pb *m)
{
    event_list list = {0};
    rs_status status = walk_events(p, l, m, &list);
    if (status == RS_OK && list.n) status = mark_holders(&list, p->space->err);
    for (size_t i = 0; status == RS_OK && i < list.n; i++) status = rs_xplane_add(p, l, &list.items[i]);
    rs_free(list.items);
    return status;
}

/* ---- lines --------------------------------------------------------------------------------------------- */

static bool is_text(rs_pb text, const char *word)
{
    return rs_pb_length(text) == strlen(word) && memcmp(text.at, word, strlen(word)) == 0;
}

static bool begins(rs_pb text, const char *word)
{
    return rs_pb_length(text) >= strlen(word) && memcmp(text.at, word, strlen(word)) == 0;
}

/* The digits behind `from` bytes of a text; RS_NO_VALUE: there are none. *behind: what follows them. */
static int64_t number_at(rs_pb text, size_t from, rs_pb *behind)
{
    int64_t value = RS_NO_VALUE;
    const uint8_t *at = text.at + from;
    for (; at < text.end && rs_is_digit((char)*at); at++)
        value = value == RS_NO_VALUE ? *at - '0' : value > INT32_MAX ? INT32_MAX : value * 10 + (*at - '0');
    if (behind) *behind = (rs_pb){at, text.end};
    return value;
}

static const char async_line[] = "Async XLA Ops", stream_line[] = "Stream #";

/* Lines of a GPU that show its streams' work once more, in groups. */
static bool is_derived(rs_pb name)
{
    static const char *const names[] = {
        "XLA Ops",       "Async XLA Ops", "XLA TraceMe",          "TensorFlow Ops", "TensorFlow Name Scope",
        "Framework Ops", "Source code",   "Framework Name Scope", "Source Code",    "Launch Stats"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (is_text(name, names[i])) return true;
    return false;
}

static rs_xlane lane_of(const rs_xplane *p, rs_pb name)
{
    if (p->role == RS_XROLE_HOST) return RS_XLANE_HOST;
    if (p->role == RS_XROLE_OTHER) return RS_XLANE_OTHER;
    if (is_text(name, "Steps")) return RS_XLANE_STEPS;
    if (is_text(name, "XLA Modules")) return RS_XLANE_MODULES;
    if (p->role == RS_XROLE_GPU) return is_derived(name) ? RS_XLANE_OTHER : RS_XLANE_STREAM;
    return is_text(name, "XLA Ops")    ? RS_XLANE_OPS
           : is_text(name, async_line) ? RS_XLANE_ASYNC
                                       : RS_XLANE_OTHER;
}

/* What stands before and behind the events; damage ends it, and is told where the events are read. */
static rs_xline line_of(const rs_xplane *p, rs_pb m, rs_pb *name)
{
    rs_xline l = {0};
    rs_pb_field f;
    *name = (rs_pb){m.at, m.at};
    while (rs_xplane_next(&m, &f) == RS_PB_FIELD) {
        if (f.number == LINE_ID && f.type == RS_PB_VARINT) l.id = (int64_t)f.value;
        if (f.number == LINE_TIME && f.type == RS_PB_VARINT) l.time = (int64_t)f.value;
        if (f.number == LINE_NAME && f.type == RS_PB_BYTES) *name = f.bytes;
        if (is_planes(&f)) break;
    }
    int64_t number =
        begins(*name, stream_line) ? number_at(*name, sizeof stream_line - 1, NULL) : RS_NO_VALUE;
    l.lane = lane_of(p, *name);
    l.stream = rs_add_sat(number == RS_NO_VALUE ? l.id & INT64_MAX : number, p->core * 1000);
    /* numbers far below zero stand for texts where threads are told apart */
    if (l.id < -(INT64_C(1) << 62)) l.id &= INT64_MAX;
    /* later versions count from the beginning of the recording, others from 1970 */
    if (p->space->start && l.time < p->space->start / 2) l.time = rs_add_sat(l.time, p->space->start);
    return l;
}

/* ---- planes -------------------------------------------------------------------------------------------- */

static void judge_plane(rs_xplane *p)
{
    static const struct {
        const char *begin;
        rs_xrole role;
    } roles[] = {{"/device:GPU:", RS_XROLE_GPU}, {"/device:TPU:", RS_XROLE_TPU}, {"/host:", RS_XROLE_HOST}};
    for (size_t i = 0; i < 3 && p->role == RS_XROLE_OTHER; i++) {
        if (!begins(p->name, roles[i].begin)) continue;
        rs_pb behind;
        p->role = roles[i].role;
        if (p->role == RS_XROLE_HOST) return;
        int64_t device = number_at(p->name, strlen(roles[i].begin), &behind);
        p->device = device == RS_NO_VALUE ? 0 : device;
        /* "/device:TPU:0 SparseCore 1": streams of its own */
        if (rs_pb_length(behind) == 0) return;
        while (behind.at < behind.end && !rs_is_digit((char)*behind.at)) behind.at++;
        int64_t core = number_at(behind, 0, NULL);
        p->core = core == RS_NO_VALUE ? 1 : core + 1;
    }
}

static rs_status take_device(rs_xplane *p)
{
    rs_xspace *s = p->space;
    rs_events *e = s->events;
    rs_device d = {p->device, RS_NO_STRING, RS_NO_VALUE, RS_NO_VALUE, RS_NO_VALUE, RS_NO_VALUE};
    rs_pb m = p->body;
    rs_xvalue v;
    if (p->core || e->n_devices == MAX_DEVICES) return RS_OK;
    while (rs_xplane_next_value(p, &m, PLANE_STAT, &v)) {
        int64_t *number = v.name.what == RS_XSTAT_UNITS           ? &d.units
                          : v.name.what == RS_XSTAT_DEVICE_MEMORY ? &d.memory
                          : v.name.what == RS_XSTAT_MAJOR         ? &d.major
                          : v.name.what == RS_XSTAT_MINOR         ? &d.minor
                                                                  : NULL;
        if (number && !rs_xvalue_int(&v, number)) *number = RS_NO_VALUE;
        if (v.name.what == RS_XSTAT_DEVICE_NAME) d.name = rs_xvalue_text(s, &v);
    }
    if (!RS_PUSH(e->devices, e->n_devices, e->devices_capacity, d)) return rs_fail_nomem(s->err, "devices");
    e->info.n_devices = (int64_t)e->n_devices;
    if (e->info.device_name == RS_NO_STRING) e->info.device_name = d.name;
    return RS_OK;
}

static void find_lines(rs_xplane *p)
{
    rs_pb m = p->body;
    rs_pb_field f, part;
    while (rs_xplane_next(&m, &f) == RS_PB_FIELD) {
        if (f.number != PLANE_LINE || f.type != RS_PB_BYTES) continue;
        rs_pb line = f.bytes;
        bool is_async = false;
        while (rs_xplane_next(&line, &part) == RS_PB_FIELD) {
            if (part.number == LINE_NAME && part.type == RS_PB_BYTES)
                is_async = is_text(part.bytes, async_line);
            if (part.number == LINE_EVENT) p->has_async |= is_async;
            if (part.number == LINE_EVENT) break;
        }
    }
}

static rs_status walk_lines(rs_xplane *p)
{
    rs_xspace *s = p->space;
    rs_pb m = p->body, name;
    rs_xline line;
    bool any = false;
    for (;;) {
        rs_pb_field f;
        rs_pb_status status = rs_xplane_next(&m, &f);
        if (status == RS_PB_END) return RS_OK;
        bool is_line = status != RS_PB_BAD && f.number == PLANE_LINE && f.type == RS_PB_BYTES;
        if (status == RS_PB_FIELD && !is_line) continue;
        if (status == RS_PB_CUT) overlong(s, &f);
        if (is_line) {
            rs_pb events = f.bytes;
            line = line_of(p, events, &name);
            any = true;
            RS_TRY(read_events(p, &line, &events));
            m.at = events.at < events.end ? events.at : f.bytes.end;
            continue;
        }
        if (status == RS_PB_CUT && s->cut) return RS_OK;
        if (status == RS_PB_BAD)
            rs_xspace_damage(s, "damaged",
                             "a line is damaged here; its next readable events are taken for the line before",
                             f.from);
        m.at = f.from + 1;
        if (!any || !find_event(p, &m)) return RS_OK;
        RS_TRY(read_events(p, &line, &m));
    }
}

static rs_status open_plane(rs_xspace *s, rs_pb body, rs_xplane *p)
{
    rs_pb m = body;
    rs_pb_field f;
    *p = (rs_xplane){.space = s, .body = body, .name = {body.at, body.at}};
    while (rs_xplane_next(&m, &f) == RS_PB_FIELD && f.number < PLANE_LINE)
        if (f.number == PLANE_NAME && f.type == RS_PB_BYTES) p->name = f.bytes;
    judge_plane(p);
    return rs_xplane_read_names(p);
}

/* What planes say of the recording, wherever they stand. */
static void take_facts(rs_xplane *p)
{
    rs_pb m = p->body;
    rs_xvalue v;
    int64_t number;
    while (rs_xplane_next_value(p, &m, PLANE_STAT, &v)) {
        if (!rs_xvalue_int(&v, &number) || number <= 0) continue;
        if (v.name.what == RS_XSTAT_START && number < INT64_MAX / 2) p->space->start = number;
        if (v.name.what == RS_XSTAT_PROCESS && p->space->process == RS_NO_VALUE && number <= UINT32_MAX)
            p->space->process = number;
    }
}

static rs_status read_plane(rs_xspace *s, rs_pb body, bool facts)
{
    rs_xplane p;
    rs_status status = open_plane(s, body, &p);
    bool on_device = p.role == RS_XROLE_GPU || p.role == RS_XROLE_TPU;
    if (status == RS_OK && facts) take_facts(&p);
    if (status == RS_OK && !facts && on_device) {
        find_lines(&p);
        status = take_device(&p);
    }
    if (status == RS_OK && !facts) status = walk_lines(&p);
    rs_xplane_clear(&p);
    return status;
}

/* ---- the file ------------------------------------------------------------------------------------------ */

static bool is_plane(rs_pb body)
{
    rs_pb_field f;
    while (rs_xplane_next(&body, &f) != RS_PB_BAD) {
        if (f.number == 1 && f.type == RS_PB_VARINT) continue;
        if (f.number != PLANE_NAME || f.type != RS_PB_BYTES) return false;
        size_t n = rs_pb_length(f.bytes);
        if (n == 0 || n > LONGEST_NAME) return false;
        for (size_t i = 0; i < n; i++)
            if (f.bytes.at[i] < ' ' || f.bytes.at[i] > '~') return false;
        return true;
    }
    return false;
}

/* Past damage: the next place where a plane of a host or device begins. */
static bool find_plane(rs_xspace *s, rs_pb *m)
{
    for (; m->at < m->end && rs_xspace_spend(s, 1); m->at++) {
        rs_pb now = *m;
        rs_pb_field f;
        if (*m->at != (SPACE_PLANE << 3 | RS_PB_BYTES) || rs_xplane_next(&now, &f) == RS_PB_BAD) continue;
        rs_pb body = f.bytes;
        while (rs_xplane_next(&body, &f) == RS_PB_FIELD && f.number == 1) {
        }
        if (f.number == PLANE_NAME && f.type == RS_PB_BYTES &&
            (begins(f.bytes, "/device:") || begins(f.bytes, "/host:")))
            return true;
    }
    return false;
}

static rs_status take_log(rs_xspace *s, const rs_pb_field *f)
{
    rs_events *e = s->events;
    if (e->n_log == 256) return RS_OK;
    uint32_t text = rs_xspace_text(s, f->bytes);
    if (text == RS_NO_STRING ||
        !RS_PUSH(e->log, e->n_log, e->log_capacity,
                 (rs_log_line){.level = f->number == SPACE_ERROR ? 'E' : 'W', .text = text}))
        return rs_fail_nomem(s->err, "the profiler's log");
    return RS_OK;
}

static void not_a_plane(rs_xspace *s, rs_pb_field *f)
{
    f->bytes.end = s->text + s->n;
    if (s->text + s->n - f->from <= LONGEST_HEADER)
        overlong(s, f);
    else
        rs_xspace_damage(s, "damaged", "no plane begins here; what can be read after it is", f->from);
}

/* facts: only what planes say of the recording; else their events. */
static rs_status read_space(rs_xspace *s, bool facts)
{
    rs_pb m = {s->text, s->text + s->n};
    for (;;) {
        rs_pb_field f;
        rs_pb_status status = rs_xplane_next(&m, &f);
        if (status == RS_PB_END) return RS_OK;
        if (status != RS_PB_BAD && f.number == SPACE_PLANE && f.type == RS_PB_BYTES) {
            if (status == RS_PB_CUT && !facts) overlong(s, &f);
            m.at = f.bytes.end;
            RS_TRY(read_plane(s, f.bytes, facts));
        } else if (status == RS_PB_FIELD) {
            if (facts || f.type != RS_PB_BYTES) continue;
            if (f.number == SPACE_ERROR || f.number == SPACE_WARNING) RS_TRY(take_log(s, &f));
            if (f.number == SPACE_HOST && s->events->info.host_name == RS_NO_STRING) {
                s->events->info.host_name = rs_xspace_text(s, f.bytes);
                if (s->events->info.host_name == RS_NO_STRING)
                    return rs_fail_nomem(s->err, "the host's name");
            }
        } else {
            if (!facts) not_a_plane(s, &f);
            m.at = f.from + 1;
            if (!find_plane(s, &m)) return RS_OK;
        }
    }
}

static rs_status load(rs_source *source, const rs_load_settings *settings, rs_events **out, rs_error *err)
{
    rs_xspace s = {.settings = settings, .file = rs_source_name(source), .process = RS_NO_VALUE, .err = err};
    uint8_t *text;
    *out = NULL;
    RS_TRY(rs_source_read_all(source, MOST_TEXT, &text, &s.n, err));
    s.text = text;
    s.budget = (uint64_t)s.n * STEPS_A_BYTE;
    rs_status status = rs_events_create(settings->columns, settings->max_memory, &s.events, err);
    if (status == RS_OK) {
        s.events->format = &rs_format_xplane;
        s.events->form = rs_format_xplane.title;
        s.events->packing = rs_packing_name(rs_source_packing(source));
        s.events->n_bytes = s.n;
        status = read_space(&s, true);
        rs_problems_clear(&s.events->problems);       /* the second reading tells them again */
        if (s.start) s.events->info.base_time_ns = 0; /* times count from 1970 */
        if (status == RS_OK) status = read_space(&s, false);
        rs_source_report_end(source, -1, &s.events->problems);
    }
    rs_free_all(s.room, text);
    if (status == RS_OK)
        *out = s.events;
    else
        rs_events_free(s.events);
    return status;
}

/* It begins with a plane, and a plane with its name. */
static bool is_xplane(const uint8_t *text, size_t n)
{
    rs_pb m = {text, text + n};
    rs_pb_field f;
    return rs_xplane_next(&m, &f) != RS_PB_BAD && f.number == SPACE_PLANE && f.type == RS_PB_BYTES &&
           is_plane(f.bytes);
}

static bool ends_with(const char *path, size_t *n, const char *end)
{
    size_t m = strlen(end);
    if (*n < m || memcmp(path + *n - m, end, m) != 0) return false;
    *n -= m;
    return true;
}

/* The profiler writes the events of HOST.xplane.pb once more as HOST.trace.json.gz, beside it. */
static rs_run_name run_name(const char *path)
{
    size_t n = strlen(path);
    bool packed = ends_with(path, &n, ".gz") || ends_with(path, &n, ".zst");
    if (ends_with(path, &n, ".xplane.pb"))
        return (rs_run_name){.format = &rs_format_xplane, .prefix = n, .preference = packed ? 2 : 1};
    if (ends_with(path, &n, ".trace.json"))
        return (rs_run_name){.format = &rs_format_xplane, .prefix = n, .preference = 3, .yields = true};
    return (rs_run_name){0};
}

static const rs_remedy remedies[] = {
    {"damaged text",
     "stop the trace (jax.profiler.stop_trace) before the program ends: the file is written then"},
    {"GPU work",
     "jax.profiler.trace() on a machine with GPUs, with CUPTI or roctracer installed with the driver"},
    {"host operators", "keep host_tracer_level at 2 (jax.profiler.ProfileOptions)"},
    {"launches without work", "keep the trace short: the profiler drops what its buffers do not hold"},
    {"work without launch",
     "keep host_tracer_level at 1 or more, so that calls of the GPU's driver are recorded; "
     "of a TPU no launches are recorded"},
    {"graph launches",
     "XLA_FLAGS=--xla_gpu_enable_command_buffer= records the kernels of the graphs one by one"},
    {"rank", "give the files in the order of the hosts' process indices, as RANK=PATH"},
    {"steps", "with jax.profiler.StepTraceAnnotation(\"train\", step_num=i): around each step"},
    {"Python stacks", "jax.profiler.ProfileOptions(): python_tracer_level = 1"},
    {"shapes", "XPlane files do not hold the shapes of operators"},
    {"sync events", "XPlane files do not hold synchronization events"},
    {"collective arguments",
     "XPlane files of GPUs name collectives by HLO operator; only those of TPUs hold groups and sizes"},
    {"clock resolution", "XPlane files count picoseconds, which are rounded: nothing is to be done"},
    {"dropped buffers", "record fewer steps; python_tracer_level = 0 in jax.profiler.ProfileOptions"},
    {NULL, NULL},
};

const rs_format rs_format_xplane = {.name = "xplane",
                                    .title = "XPlane (JAX, XLA)",
                                    .sniff = is_xplane,
                                    .load = load,
                                    .run_name = run_name,
                                    .remedies = remedies};
