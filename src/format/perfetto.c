/* Perfetto's traces (.pftrace): those of rocprofv3, and those that slice and fuse write. docs/formats.md says what becomes
 * of them. */
#include "format/perfetto.h"

#include <stdio.h>
#include <string.h>

#include "base/interval.h"
#include "base/try.h"
#include "input/json.h"

#define MOST_TEXT ((size_t)16 << 30)
#define PROGRESS ((uint64_t)1 << 20)
#define CLOCK_OF_DAY 1     /* CLOCK_REALTIME */
#define CLOCK_OF_TRACE 6   /* CLOCK_BOOTTIME: what times count by where nothing else is said */
#define FIRST_OWN_CLOCK 64 /* numbers of clocks from here to 127 are the sequence's own */
#define MOST_SEQUENCES 65536
#define LOOKED_AT 2048    /* bytes, as where formats are told apart */
#define LONGEST_HEADER 12 /* bytes of a field before what it holds */

extern const rs_format rs_format_perfetto, rs_format_rocprof_perfetto, rs_format_torch_perfetto;

uint32_t rs_perfetto_text(rs_perfetto *p, rs_pb text)
{
    size_t n = rs_pb_length(text);
    if (n > RS_JSON_DEFAULT_STRING) n = RS_JSON_DEFAULT_STRING;
    if (rs_utf8_valid(text.at, n)) return rs_strings_add(&p->events->strings, (const char *)text.at, n);
    if (!rs_grow((void **)&p->room, &p->room_size, n * 3, 1)) return RS_NO_STRING;
    rs_perfetto_problem(p, RS_WARNING, "invalid_utf8", "a text is no UTF-8; its damaged bytes were replaced",
                        text.at);
    return rs_strings_add(&p->events->strings, p->room, rs_utf8_repair(text.at, n, p->room));
}

void rs_perfetto_problem(rs_perfetto *p, rs_severity severity, const char *kind, const char *message,
                         const uint8_t *at)
{
    rs_problems_add(&p->events->problems, p->file, -1, severity, kind, message,
                    at ? (uint64_t)(at - p->text) : RS_NO_OFFSET);
}

/* ---- sequences ----------------------------------------------------------------------------------------- */

static void forget_state(rs_perfetto_sequence *q)
{
    for (size_t i = 0; i < RS_PERFETTO_N_NAMES; i++) rs_map64_clear(&q->names[i]);
    q->n_clocks = 0;
    q->clock = CLOCK_OF_TRACE;
    q->track = 0;
}

static rs_status sequence_of(rs_perfetto *p, uint64_t id, rs_perfetto_sequence **out)
{
    bool is_new;
    uint32_t *at = rs_map64_put(&p->sequence_at, id, &is_new);
    if (!at) return rs_fail_nomem(p->err, "sequences");
    if (is_new) {
        if (p->n_sequences == MOST_SEQUENCES)
            return rs_fail_at(p->err, RS_ERR_LIMIT, p->file, RS_NO_OFFSET, "more than %d writers",
                              MOST_SEQUENCES);
        if (!RS_GROW_ONE(p->sequences, p->n_sequences, p->sequences_capacity))
            return rs_fail_nomem(p->err, "sequences");
        *at = (uint32_t)p->n_sequences;
        p->sequences[p->n_sequences++] = (rs_perfetto_sequence){.id = id, .clock = CLOCK_OF_TRACE};
    }
    *out = &p->sequences[*at];
    return RS_OK;
}

/* By the number of the field in the interned data. */
static const struct {
    uint32_t field;
    rs_perfetto_names kind;
} interned[] = {
    {INTERNED_CATEGORY, RS_PERFETTO_CATEGORY},
    {INTERNED_NAME, RS_PERFETTO_NAME},
    {INTERNED_KEY, RS_PERFETTO_KEY},
    {INTERNED_VALUE, RS_PERFETTO_VALUE},
    {INTERNED_GPU_LANE, RS_PERFETTO_LANE},
    {INTERNED_KERNEL, RS_PERFETTO_KERNEL},
    {INTERNED_LAUNCH_VALUE, RS_PERFETTO_LAUNCH_VALUE},
};
#define N_INTERNED (sizeof interned / sizeof *interned)

static rs_status take_names(rs_perfetto *p, rs_perfetto_sequence *q, rs_pb m)
{
    rs_pb_field f, part;
    while (rs_pb_next(&m, &f) == RS_PB_FIELD) {
        size_t kind = 0;
        uint64_t iid = 0;
        rs_pb text = {f.from, f.from};
        bool is_new;
        if (f.number == INTERNED_GPU_COUNTERS && f.type == RS_PB_BYTES)
            RS_TRY(rs_perfetto_take_counters(p, q, f.bytes));
        while (kind < N_INTERNED && interned[kind].field != f.number) kind++;
        if (kind == N_INTERNED || f.type != RS_PB_BYTES) continue;
        bool kernel = f.number == INTERNED_KERNEL;
        while (rs_pb_next(&f.bytes, &part) == RS_PB_FIELD) {
            if (part.number == ITEM_IID && part.type == RS_PB_VARINT) iid = part.value;
            if (part.type != RS_PB_BYTES) continue;
            if (part.number == ITEM_TEXT || (kernel && part.number == ITEM_DEMANGLED)) text = part.bytes;
        }
        uint32_t id = rs_perfetto_text(p, text);
        uint32_t *slot = rs_map64_put(&q->names[interned[kind].kind], iid, &is_new);
        if (id == RS_NO_STRING || !slot) return rs_fail_nomem(p->err, "names");
        *slot = id;
    }
    return RS_OK;
}

rs_status rs_perfetto_intern(rs_perfetto *p, const rs_perfetto_sequence *q, rs_perfetto_names kind,
                             uint64_t iid, const uint8_t *at, uint32_t *out)
{
    const uint32_t *id = rs_map64_get(&q->names[kind], iid);
    char text[40];
    if (id) {
        *out = *id;
        return RS_OK;
    }
    rs_perfetto_problem(p, RS_LOSS, "no_name", "a name is not in the file; it is called by its number", at);
    int n = snprintf(text, sizeof text, "name %llu", (unsigned long long)iid);
    *out = rs_strings_add(&p->events->strings, text, (size_t)n);
    return *out == RS_NO_STRING ? rs_fail_nomem(p->err, "names") : RS_OK;
}

/* ---- clocks -------------------------------------------------------------------------------------------- */

static int64_t scaled(uint64_t time, uint64_t unit)
{
    uint64_t ns;
    if (__builtin_mul_overflow(time, unit ? unit : 1, &ns) || ns > INT64_MAX) return INT64_MAX;
    return (int64_t)ns;
}

static rs_perfetto_clock *clock_of(rs_perfetto_sequence *q, uint64_t id, bool make)
{
    for (size_t i = 0; i < q->n_clocks; i++)
        if (q->clocks[i].id == id) return &q->clocks[i];
    if (!make || q->n_clocks == RS_PERFETTO_CLOCKS) return NULL;
    q->clocks[q->n_clocks] = (rs_perfetto_clock){.id = id};
    return &q->clocks[q->n_clocks++];
}

/* What several clocks show at one moment: the sequence's own are told by the system's, the boot time first. Where the time of
 * day is among them, it places the trace on the common clock. */
static void take_clocks(rs_perfetto *p, rs_perfetto_sequence *q, rs_pb body)
{
    int64_t system = RS_NO_VALUE, of_day = RS_NO_VALUE, of_trace = RS_NO_VALUE;
    for (unsigned pass = 0; pass < 2; pass++) {
        rs_pb m = body;
        rs_pb_field f, part;
        while (rs_pb_next(&m, &f) == RS_PB_FIELD) {
            rs_perfetto_clock seen = {.unit = 1};
            uint64_t time = 0;
            if (f.number != CLOCKS_CLOCK || f.type != RS_PB_BYTES) continue;
            while (rs_pb_next(&f.bytes, &part) == RS_PB_FIELD) {
                if (part.type != RS_PB_VARINT) continue;
                if (part.number == CLOCK_ID) seen.id = part.value;
                if (part.number == CLOCK_TIME) time = part.value;
                if (part.number == CLOCK_INCREMENTAL) seen.incremental = part.value != 0;
                if (part.number == CLOCK_UNIT) seen.unit = part.value;
            }
            bool own = seen.id >= FIRST_OWN_CLOCK;
            if (seen.id == CLOCK_OF_DAY) of_day = scaled(time, 1);
            if (seen.id == CLOCK_OF_TRACE) of_trace = scaled(time, 1);
            if (!own && pass == 0 && (system == RS_NO_VALUE || seen.id == CLOCK_OF_TRACE))
                system = scaled(time, 1);
            rs_perfetto_clock *clock = own && pass == 1 ? clock_of(q, seen.id, true) : NULL;
            if (!clock) continue;
            *clock = seen;
            clock->last = scaled(time, seen.unit);
            if (system != RS_NO_VALUE) clock->offset = rs_sub_sat(system, clock->last);
        }
    }
    rs_file_info *info = &p->events->info;
    if (of_day != RS_NO_VALUE && of_trace != RS_NO_VALUE && info->base_time_ns == RS_NO_VALUE)
        info->base_time_ns = rs_sub_sat(of_day, of_trace);
}

/* A time of the packet by the clock of the trace. */
static int64_t time_of(rs_perfetto_sequence *q, uint64_t time, uint64_t id)
{
    rs_perfetto_clock *clock = id >= FIRST_OWN_CLOCK ? clock_of(q, id, false) : NULL;
    if (!clock) return scaled(time, 1);
    int64_t own = scaled(time, clock->unit);
    if (clock->incremental) own = clock->last = rs_add_sat(clock->last, own);
    return rs_add_sat(own, clock->offset);
}

static void take_defaults(rs_perfetto_sequence *q, rs_pb m)
{
    rs_pb_field f, part;
    while (rs_pb_next(&m, &f) == RS_PB_FIELD) {
        if (f.number == DEFAULTS_CLOCK && f.type == RS_PB_VARINT) q->clock = f.value;
        if (f.number != DEFAULTS_EVENT || f.type != RS_PB_BYTES) continue;
        while (rs_pb_next(&f.bytes, &part) == RS_PB_FIELD)
            if (part.number == EVENT_TRACK && part.type == RS_PB_VARINT) q->track = part.value;
    }
}

/* ---- packets ------------------------------------------------------------------------------------------- */

typedef struct packet {
    uint64_t time, clock, sequence, flags;
    rs_pb event, stage, samples, names, clocks, defaults, track;
    bool has_time, has_clock, has_event, has_stage, has_samples;
} packet;

/* false: it is damaged. */
static bool parse(rs_pb m, packet *out)
{
    rs_pb none = {m.at, m.at};
    rs_pb_field f;
    rs_pb_status status;
    *out = (packet){
        .event = none, .stage = none, .names = none, .clocks = none, .defaults = none, .track = none};
    while ((status = rs_pb_next(&m, &f)) == RS_PB_FIELD) {
        if (f.type == RS_PB_VARINT) {
            if (f.number == PACKET_TIMESTAMP) out->time = f.value, out->has_time = true;
            if (f.number == PACKET_CLOCK) out->clock = f.value, out->has_clock = true;
            if (f.number == PACKET_SEQUENCE) out->sequence = f.value;
            if (f.number == PACKET_FLAGS) out->flags |= f.value;
            if (f.number == PACKET_CLEARED && f.value) out->flags |= FLAG_CLEARED;
        } else if (f.type == RS_PB_BYTES) {
            if (f.number == PACKET_EVENT) out->event = f.bytes, out->has_event = true;
            if (f.number == PACKET_GPU_STAGE) out->stage = f.bytes, out->has_stage = true;
            if (f.number == PACKET_GPU_COUNTERS) out->samples = f.bytes, out->has_samples = true;
            if (f.number == PACKET_INTERNED) out->names = f.bytes;
            if (f.number == PACKET_CLOCKS) out->clocks = f.bytes;
            if (f.number == PACKET_DEFAULTS) out->defaults = f.bytes;
            if (f.number == PACKET_TRACK) out->track = f.bytes;
        }
    }
    return status == RS_PB_END && rs_pb_is_whole(out->names) && rs_pb_is_whole(out->track);
}

static rs_status take_packet(rs_perfetto *p, const packet *k)
{
    rs_perfetto_sequence *q = NULL;
    RS_TRY(sequence_of(p, k->sequence, &q));
    if (k->flags & FLAG_CLEARED) forget_state(q);
    if (rs_pb_length(k->defaults)) take_defaults(q, k->defaults);
    if (rs_pb_length(k->clocks)) take_clocks(p, q, k->clocks);
    if (rs_pb_length(k->names)) RS_TRY(take_names(p, q, k->names));
    int64_t time = k->has_time ? time_of(q, k->time, k->has_clock ? k->clock : q->clock) : 0;
    if (k->has_stage) return rs_perfetto_take_stage(p, q, k->stage, time);
    if (k->has_samples) return rs_perfetto_take_samples(p, q, k->samples, time);
    if (!k->has_event) return RS_OK;
    return rs_perfetto_take_event(p, q, k->event, time);
}

/* Past damage: the next place where a packet of a sequence begins. Each step looks at no more than LOOK bytes. */
static bool find_packet(rs_pb *m)
{
    enum { LOOK = 4096 };
    for (; m->at < m->end; m->at++) {
        rs_pb now = *m;
        rs_pb_field f;
        packet found;
        if (*m->at != (TRACE_PACKET << 3 | RS_PB_BYTES) || rs_pb_next(&now, &f) != RS_PB_FIELD) continue;
        size_t n = rs_pb_length(f.bytes);
        if (n < 4 || n > LOOK || !parse(f.bytes, &found) || found.sequence == 0) continue;
        if (now.at == now.end || *now.at == *m->at) return true;
    }
    return false;
}

static rs_status tell_progress(rs_perfetto *p, const uint8_t *at)
{
    uint64_t offset = (uint64_t)(at - p->text);
    if (!p->settings->progress || offset < p->reported + PROGRESS) return RS_OK;
    p->reported = offset;
    return p->settings->progress(p->settings->progress_context)
               ? RS_OK
               : rs_fail(p->err, RS_ERR_CANCELLED, "stopped");
}

static void tell_damage(rs_perfetto *p, rs_pb_status status, const rs_pb_field *f)
{
    const uint8_t *end = p->text + p->n;
    bool cut = end - f->from <= LONGEST_HEADER || status == RS_PB_CUT;
    p->events->n_lost++;
    if (!cut) {
        rs_perfetto_problem(p, RS_LOSS, "damaged_event", "a packet is damaged and was left out", f->from);
        return;
    }
    p->events->truncated = true;
    rs_perfetto_problem(p, RS_LOSS, "truncated",
                        "the file breaks off, or a length is damaged; what can be read after it is", f->from);
}

/* tracks: only what packets say of tracks; else all else. */
static rs_status walk(rs_perfetto *p, bool tracks)
{
    rs_pb m = {p->text, p->text + p->n};
    for (;;) {
        rs_pb_field f;
        packet k;
        rs_pb_status status = rs_pb_next(&m, &f);
        if (status == RS_PB_END) return RS_OK;
        bool is_packet = f.number == TRACE_PACKET && f.type == RS_PB_BYTES;
        if (status == RS_PB_FIELD && is_packet && parse(f.bytes, &k)) {
            RS_TRY(tell_progress(p, f.from));
            if (!tracks) RS_TRY(take_packet(p, &k));
            if (tracks && rs_pb_length(k.track)) RS_TRY(rs_perfetto_take_track(p, k.track));
            continue;
        }
        if (!tracks) tell_damage(p, status, &f);
        /* the length of a packet is believed where another one begins behind it */
        if (status == RS_PB_FIELD && is_packet &&
            (m.at == m.end || *m.at == (TRACE_PACKET << 3 | RS_PB_BYTES)))
            continue;
        m.at = f.from + 1;
        if (!find_packet(&m)) return RS_OK;
    }
}

static rs_status read_all(rs_perfetto *p)
{
    p->reported = 0;
    RS_TRY(walk(p, true));
    RS_TRY(rs_perfetto_settle_tracks(p));
    p->reported = 0;
    RS_TRY(walk(p, false));
    RS_TRY(rs_perfetto_settle_kinds(p));
    RS_TRY(rs_perfetto_pair(p));
    RS_TRY(rs_perfetto_add_waits(p));
    if (!p->own && !p->is_rocprof) RS_TRY(rs_perfetto_add_names(p));
    if (!p->ranks_differ && p->rank != RS_NO_VALUE) p->events->info.rank = p->rank;
    return RS_OK;
}

static void release(rs_perfetto *p)
{
    for (size_t i = 0; i < p->n_sequences; i++) {
        forget_state(&p->sequences[i]);
        rs_free(p->sequences[i].marks);
    }
    rs_map64_clear(&p->sequence_at);
    rs_map64_clear(&p->track_at);
    rs_free_all(p->sequences, p->tracks, p->unsettled);
    rs_map64_clear(&p->stage_at);
    rs_map64_clear(&p->launched);
    rs_free_all(p->waits, p->room);
}

/* It begins with packets that have what packets have; a text of letters has not. The last may be cut by what is looked
 * at. *defaults: one of them sets defaults of its writer, as Perfetto's own library does and PyTorch's encoder does not. */
static bool is_perfetto(const uint8_t *text, size_t n, bool *defaults)
{
    rs_pb m = {text, text + n};
    rs_pb_field f, part;
    bool known = false;
    *defaults = false;
    for (unsigned i = 0; i < 4; i++) {
        rs_pb_status status = rs_pb_next(&m, &f);
        if (status == RS_PB_END) break;
        if (status == RS_PB_BAD || f.number != TRACE_PACKET || f.type != RS_PB_BYTES) return false;
        rs_pb body = f.bytes;
        rs_pb_status inner;
        while ((inner = rs_pb_next(&body, &part)) == RS_PB_FIELD) {
            bool number = part.number == PACKET_TIMESTAMP || part.number == PACKET_SEQUENCE;
            bool bytes = part.number == PACKET_EVENT || part.number == PACKET_TRACK;
            if ((number && part.type != RS_PB_VARINT) || (bytes && part.type != RS_PB_BYTES)) return false;
            if (part.number > 4096) return false;
            known |= number || bytes;
            *defaults |= part.number == PACKET_DEFAULTS;
        }
        if (inner != RS_PB_END && status == RS_PB_FIELD) return false;
        if (status == RS_PB_CUT) break;
    }
    return known;
}

/* Written by slice or fuse: processes are called "rank 3: ...". The first is described before the first event. */
static bool is_own(const uint8_t *text, size_t n)
{
    rs_pb behind = {text, text + n}, colon;
    while (rs_perfetto_behind(behind, "rank ", &behind))
        if (rs_perfetto_number(behind) != RS_NO_VALUE && rs_perfetto_behind(behind, ": ", &colon))
            return true;
    return false;
}

static rs_status load(rs_source *source, const rs_load_settings *settings, rs_events **out, rs_error *err)
{
    rs_perfetto p = {.settings = settings,
                     .file = rs_source_name(source),
                     .pid = RS_NO_VALUE,
                     .rank = RS_NO_VALUE,
                     .err = err};
    uint8_t *text;
    *out = NULL;
    RS_TRY(rs_source_read_all(source, MOST_TEXT, &text, &p.n, err));
    p.text = text;
    p.own = is_own(text, p.n < LOOKED_AT ? p.n : LOOKED_AT);
    rs_status status = rs_events_create(settings->columns, settings->max_memory, &p.events, err);
    if (status == RS_OK) {
        p.events->packing = rs_packing_name(rs_source_packing(source));
        p.events->n_bytes = p.n;
        rs_source_report_end(source, -1, &p.events->problems);
        status = read_all(&p);
        /* what it holds tells better than how it begins */
        p.events->format = p.own          ? &rs_format_perfetto
                           : p.is_rocprof ? &rs_format_rocprof_perfetto
                                          : &rs_format_torch_perfetto;
        p.events->form = p.events->format->title;
    }
    release(&p);
    rs_free(text);
    if (status == RS_OK)
        *out = p.events;
    else
        rs_events_free(p.events);
    return status;
}

static bool is_own_trace(const uint8_t *text, size_t n)
{
    bool defaults;
    return is_perfetto(text, n, &defaults) && is_own(text, n);
}

static bool is_rocprof_trace(const uint8_t *text, size_t n)
{
    bool defaults;
    return is_perfetto(text, n, &defaults) && defaults && !is_own(text, n);
}

static bool is_torch_trace(const uint8_t *text, size_t n)
{
    bool defaults;
    return is_perfetto(text, n, &defaults) && !defaults && !is_own(text, n);
}

static rs_run_name run_name(const char *path)
{
    static const char end[] = "_results.pftrace";
    size_t n = strlen(path), m = sizeof end - 1;
    if (n < m || strcmp(path + n - m, end) != 0) return (rs_run_name){0};
    return (rs_run_name){.format = &rs_format_rocprof_perfetto, .prefix = n - m, .preference = 4};
}

/* What slice and fuse made of any trace. */
const rs_format rs_format_perfetto = {.name = "perfetto",
                                      .title = "Perfetto trace",
                                      .sniff = is_own_trace,
                                      .load = load,
                                      .tells_operators = true};

const rs_format rs_format_rocprof_perfetto = {.name = "rocprof_perfetto",
                                              .title = "rocprofv3 Perfetto trace",
                                              .sniff = is_rocprof_trace,
                                              .load = load,
                                              .run_name = run_name,
                                              .remedies = rs_rocprof_remedies};

/* What torch.profiler of torch 2.15 and later writes under a name that ends in .pftrace. */
const rs_format rs_format_torch_perfetto = {.name = "torch_perfetto",
                                            .title = "PyTorch Perfetto trace",
                                            .sniff = is_torch_trace,
                                            .load = load,
                                            .tells_operators = true};
