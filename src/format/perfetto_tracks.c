/* Which process, thread or stream a track of a Perfetto trace is. */
#include <string.h>

#include "base/ascii.h"
#include "base/try.h"
#include "format/perfetto.h"

#define DEEPEST 16 /* tracks below tracks; honest ones have three */

int64_t rs_perfetto_number(rs_pb text)
{
    int64_t value = RS_NO_VALUE;
    bool negative = text.at < text.end && *text.at == '-';
    for (const uint8_t *at = text.at + negative; at < text.end && rs_is_digit((char)*at); at++) {
        int64_t digit = *at - '0', most = (INT64_C(1) << 62) - 1;
        value = value == RS_NO_VALUE ? digit : value > (most - digit) / 10 ? most : value * 10 + digit;
    }
    return negative && value != RS_NO_VALUE ? -value : value;
}

bool rs_perfetto_behind(rs_pb text, const char *word, rs_pb *behind)
{
    size_t n = strlen(word);
    for (const uint8_t *at = text.at; (size_t)(text.end - at) >= n; at++) {
        if (memcmp(at, word, n) != 0) continue;
        *behind = (rs_pb){at + n, text.end};
        return true;
    }
    return false;
}

static bool begins(rs_pb text, const char *word, rs_pb *behind)
{
    size_t n = strlen(word);
    if (rs_pb_length(text) < n || memcmp(text.at, word, n) != 0) return false;
    *behind = (rs_pb){text.at + n, text.end};
    return true;
}

static rs_perfetto_track *add_track(rs_perfetto *p, uint64_t uuid)
{
    bool is_new;
    uint32_t *at = rs_map64_put(&p->track_at, uuid, &is_new);
    if (!at) return NULL;
    if (!is_new) return &p->tracks[*at];
    if (!RS_GROW_ONE(p->tracks, p->n_tracks, p->tracks_capacity)) return NULL;
    *at = (uint32_t)p->n_tracks;
    p->tracks[p->n_tracks] = (rs_perfetto_track){.uuid = uuid,
                                                 .name = {p->text, p->text},
                                                 .thread_name = {p->text, p->text},
                                                 .process_name = {p->text, p->text},
                                                 .pid = RS_NO_VALUE,
                                                 .tid = RS_NO_VALUE};
    return &p->tracks[p->n_tracks++];
}

/* A process or a thread, as its track describes it. */
static void take_owner(rs_perfetto *p, rs_perfetto_track *t, rs_pb m, bool process)
{
    rs_pb_field f;
    while (rs_pb_next(&m, &f) == RS_PB_FIELD) {
        bool number = f.type == RS_PB_VARINT;
        if (number && f.number == (process ? PROCESS_PID : THREAD_PID)) t->pid = (int32_t)f.value;
        if (number && !process && f.number == THREAD_TID) t->tid = (int64_t)(f.value & INT64_MAX);
        if (f.type == RS_PB_BYTES && process && f.number == PROCESS_NAME) t->process_name = f.bytes;
        if (f.type == RS_PB_BYTES && !process && f.number == THREAD_NAME) t->thread_name = f.bytes;
    }
    t->has_process |= process;
    if (p->pid == RS_NO_VALUE) p->pid = t->pid;
}

rs_status rs_perfetto_take_track(rs_perfetto *p, rs_pb body)
{
    rs_pb m = body;
    rs_pb_field f;
    uint64_t uuid = 0;
    while (rs_pb_next(&m, &f) == RS_PB_FIELD)
        if (f.number == TRACK_UUID && f.type == RS_PB_VARINT) uuid = f.value;
    rs_perfetto_track *t = add_track(p, uuid);
    if (!t) return rs_fail_nomem(p->err, "tracks");
    while (rs_pb_next(&body, &f) == RS_PB_FIELD) {
        if (f.number == TRACK_PARENT && f.type == RS_PB_VARINT) t->parent = f.value;
        if (f.type != RS_PB_BYTES) continue;
        if (f.number == TRACK_NAME || f.number == TRACK_STATIC_NAME) t->name = f.bytes;
        if (f.number == TRACK_COUNTER) {
            t->is_counter = true;
            for (rs_pb_field part; rs_pb_next(&f.bytes, &part) == RS_PB_FIELD;)
                if (part.number == COUNTER_TRACK_INCREMENTAL && part.type == RS_PB_VARINT && part.value)
                    t->is_incremental = true;
        }
        if (f.number == TRACK_PROCESS || f.number == TRACK_THREAD)
            take_owner(p, t, f.bytes, f.number == TRACK_PROCESS);
    }
    return RS_OK;
}

/* ---- whose it is --------------------------------------------------------------------------------------- */

/* An id that is a number, or else a text, as rankscope's own names have them. */
static rs_status take_id(rs_perfetto *p, rs_pb text, int64_t *id, uint32_t *as_text)
{
    int64_t number = rs_perfetto_number(text);
    rs_pb digits = text;
    digits.at += digits.at < digits.end && *digits.at == '-';
    while (digits.at < digits.end && rs_is_digit((char)*digits.at)) digits.at++;
    *as_text = RS_NO_STRING;
    *id = number;
    if (number != RS_NO_VALUE && digits.at == digits.end) return RS_OK;
    *as_text = rs_perfetto_text(p, text);
    if (*as_text == RS_NO_STRING) return rs_fail_nomem(p->err, "tracks");
    *id = rs_thread_id_of_text(*as_text);
    return RS_OK;
}

/* "rank 3: python (process 4711)" and "rank 3: GPU 0", as slice and fuse write them; tracks in them are "thread 4711" and
 * "stream 7". */
static rs_status settle_own(rs_perfetto *p, rs_perfetto_track *t, rs_pb process, bool *is_own)
{
    rs_pb behind, name, id;
    *is_own = false;
    if (!begins(process, "rank ", &behind)) return RS_OK;
    int64_t rank = rs_perfetto_number(behind);
    if (rank == RS_NO_VALUE || !rs_perfetto_behind(behind, ": ", &name)) return RS_OK;
    bool gpu = begins(name, "GPU ", &id);
    if (!gpu) {
        /* the last of them: a process' name may hold one, too */
        bool any = false;
        for (rs_pb rest = name; rs_perfetto_behind(rest, "(process ", &rest); any = true) id = rest;
        if (!any || id.at == id.end || id.end[-1] != ')') return RS_OK;
        id.end--;
    }
    *is_own = true;
    t->rank = rank;
    if (p->rank == RS_NO_VALUE) p->rank = rank;
    p->ranks_differ |= p->rank != rank;
    RS_TRY(take_id(p, id, &t->thread.pid, &t->thread.pid_text));
    if (begins(t->name, "stream ", &id))
        t->lane = RS_PERFETTO_STREAM;
    else if (!begins(t->name, "thread ", &id))
        return RS_OK;
    return take_id(p, id, &t->thread.tid, &t->thread.tid_text);
}

/* PyTorch: the track "stream 7" of the process "GPU 0"; what the profiler itself does is of the process "Overhead". */
static void settle_torch(rs_perfetto_track *t, rs_pb process)
{
    rs_pb behind, number;
    t->is_overhead = begins(process, "Overhead", &behind) && behind.at == behind.end;
    if (!begins(process, "GPU ", &number) || !begins(t->thread_name, "stream ", &behind)) return;
    t->lane = RS_PERFETTO_STREAM;
    t->device = rs_perfetto_number(number);
    t->stream = rs_perfetto_number(behind);
    if (t->stream != RS_NO_VALUE) t->thread.tid = t->stream;
}

/* rocprofv3: "COMPUTE AGENT [4] STREAM [0] (GPU)", "COPY to AGENT [4] THREAD [1] (GPU)", "THREAD 2 (4712)". */
static void settle_rocprof(rs_perfetto_track *t)
{
    rs_pb behind;
    if (begins(t->name, "COMPUTE ", &behind) || begins(t->name, "COPY to ", &behind)) {
        t->lane = RS_PERFETTO_STREAM;
        if (rs_perfetto_behind(t->name, "[", &behind)) t->device = rs_perfetto_number(behind);
        if (rs_perfetto_behind(t->name, "STREAM [", &behind) ||
            rs_perfetto_behind(t->name, "QUEUE [", &behind))
            t->stream = rs_perfetto_number(behind);
    } else if (begins(t->name, "THREAD ", &behind) && rs_perfetto_behind(behind, "(", &behind)) {
        int64_t tid = rs_perfetto_number(behind);
        if (tid != RS_NO_VALUE) t->thread.tid = tid;
    }
}

static rs_status settle(rs_perfetto *p, rs_perfetto_track *t)
{
    rs_pb process = t->process_name;
    int64_t pid = t->pid, tid = t->tid;
    const rs_perfetto_track *above = t;
    bool is_own;
    for (unsigned i = 0; i < DEEPEST && above->parent && !above->has_process; i++) {
        const uint32_t *at = rs_map64_get(&p->track_at, above->parent);
        if (!at) break;
        above = &p->tracks[*at];
        if (pid == RS_NO_VALUE) pid = above->pid;
        if (tid == RS_NO_VALUE) tid = above->tid;
        if (above->has_process) process = above->process_name;
    }
    if (pid == RS_NO_VALUE) pid = p->pid == RS_NO_VALUE ? 0 : p->pid;
    t->settled = true;
    t->lane = t->is_counter ? RS_PERFETTO_COUNTER : RS_PERFETTO_HOST;
    t->rank = t->device = t->stream = RS_NO_VALUE;
    t->thread = (rs_thread){.pid = pid,
                            .tid = tid == RS_NO_VALUE ? (int64_t)(t->uuid & UINT32_MAX) : tid,
                            .pid_text = RS_NO_STRING,
                            .tid_text = RS_NO_STRING};
    RS_TRY(settle_own(p, t, process, &is_own));
    if (t->is_counter) t->thread.tid = 0;
    if (is_own || t->is_counter) return RS_OK;
    settle_rocprof(t);
    settle_torch(t, process);
    return RS_OK;
}

rs_status rs_perfetto_settle_tracks(rs_perfetto *p)
{
    for (size_t i = 0; i < p->n_tracks; i++) RS_TRY(settle(p, &p->tracks[i]));
    return RS_OK;
}

static bool is_number(rs_pb text)
{
    for (; text.at < text.end; text.at++)
        if (!rs_is_digit((char)*text.at)) return false;
    return true;
}

static rs_status add_name(rs_perfetto *p, const char *what, rs_thread thread, rs_pb name)
{
    rs_events *e = p->events;
    const rs_perfetto_value v = {.kind = RS_OTHER_TEXT, .text = rs_perfetto_text(p, name)};
    uint32_t id = rs_strings_add(&e->strings, what, strlen(what));
    if (v.text == RS_NO_STRING || id == RS_NO_STRING) return rs_fail_nomem(p->err, "names");
    RS_TRY(rs_events_reserve(e, 1, p->err));
    RS_TRY(rs_perfetto_push(p, RS_COL_META_NAME, (uint32_t)e->n, &v));
    return rs_perfetto_add_row(p, 0, id, thread, 'M', RS_NO_TIME, RS_NO_TIME);
}

rs_status rs_perfetto_add_names(rs_perfetto *p)
{
    for (size_t i = 0; i < p->n_tracks; i++) {
        const rs_perfetto_track *t = &p->tracks[i];
        rs_thread process = t->thread;
        process.tid = 0;
        if (t->has_process && rs_pb_length(t->process_name) && !is_number(t->process_name))
            RS_TRY(add_name(p, "process_name", process, t->process_name));
        /* where a thread has no name the encoder puts its number */
        if (rs_pb_length(t->thread_name) && !is_number(t->thread_name))
            RS_TRY(add_name(p, "thread_name", t->thread, t->thread_name));
    }
    return RS_OK;
}

size_t rs_perfetto_track_of(rs_perfetto *p, uint64_t uuid)
{
    rs_perfetto_track *t = add_track(p, uuid);
    if (!t || (!t->settled && settle(p, t) != RS_OK)) return SIZE_MAX;
    return (size_t)(t - p->tracks);
}
