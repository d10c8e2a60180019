/* The OSDI'25 study's timeline: a JSON array of Chrome events. An X event is an operation: its name is the
 * kind, pid the data rank, tid five times the worker's rank and a track; a thread_name "PP rank S, ..." tells
 * the stage of a tid. Steps stand end to end on one time line: each counts from its own first start. */
#include <math.h>
#include <string.h>

#include "base/strings.h"
#include "base/try.h"
#include "format/op_table.h"
#include "input/json.h"

#define MOST_TEXT ((size_t)4 << 30)
#define TRACKS 5 /* tids of one worker */

typedef struct timeline {
    rs_source *source;
    rs_op_table *out;
    rs_problems *problems;
    rs_map64 stages; /* by tid: the stage and 1 */
    rs_json_reader json;
} timeline;

/* One event, as far as it matters. */
typedef struct event {
    bool is_span, has_pid, has_tid, has_start, has_duration, has_step, has_seq;
    int kind;
    int64_t pid, tid, step, chunk, micro_batch, seq;
    double start, duration; /* us */
    bool names_thread;
    int64_t stage; /* of a thread_name; -1: none */
} event;

static bool get_int(rs_json_reader *json, rs_json_token t, int64_t *out)
{
    return t == RS_JSON_T_NUMBER && rs_json_int(json->text.bytes, json->text.length, out);
}

static bool get_real(rs_json_reader *json, rs_json_token t, double *out)
{
    return t == RS_JSON_T_NUMBER && rs_json_real(json->text.bytes, json->text.length, out);
}

/* Passes over what a token opened. false on an error. */
static bool leave(rs_json_reader *json, rs_json_token t)
{
    if (t == RS_JSON_T_OBJECT || t == RS_JSON_T_ARRAY) return rs_json_leave(json);
    return t != RS_JSON_T_ERROR && t != RS_JSON_T_END;
}

/* "PP rank 3, TP rank 0, dp-comm": 3. */
static int64_t stage_of(const rs_json_text *text)
{
    static const char begin[] = "PP rank ";
    int64_t stage = 0;
    size_t at = sizeof begin - 1;
    if (text->length <= at || memcmp(text->bytes, begin, at) != 0) return -1;
    for (; at < text->length && text->bytes[at] >= '0' && text->bytes[at] <= '9'; at++) {
        stage = stage * 10 + (text->bytes[at] - '0');
        if (stage > INT32_MAX) return -1;
    }
    return at > sizeof begin - 1 ? stage : -1;
}

enum key { NO_KEY, PH, NAME, PID, TID, TS, DUR, ARGS, STEP, CHUNK, MICRO_BATCH, SEQ };

static enum key key_of(const rs_json_reader *json, bool args)
{
    static const struct {
        const char *word;
        enum key key;
        bool args;
    } keys[] = {{"ph", PH, false},
                {"name", NAME, false},
                {"pid", PID, false},
                {"tid", TID, false},
                {"ts", TS, false},
                {"dur", DUR, false},
                {"args", ARGS, false},
                {"step", STEP, true},
                {"model_chunk", CHUNK, true},
                {"mb_id", MICRO_BATCH, true},
                {"seq_id", SEQ, true},
                {"name", NAME, true}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (keys[i].args == args && rs_json_is(json, keys[i].word)) return keys[i].key;
    return NO_KEY;
}

static bool take_member(rs_json_reader *json, enum key key, bool args, rs_json_token t, event *e)
{
    switch (key) {
    case PH:
        if (t == RS_JSON_T_STRING) e->is_span = rs_json_is(json, "X");
        break;
    case NAME:
        if (t != RS_JSON_T_STRING) break;
        if (args) {
            e->stage = stage_of(&json->text);
        } else {
            e->kind = rs_op_kind_find((const char *)json->text.bytes, json->text.length);
            e->names_thread = rs_json_is(json, "thread_name");
        }
        break;
    case PID: e->has_pid = get_int(json, t, &e->pid); break;
    case TID: e->has_tid = get_int(json, t, &e->tid); break;
    case TS: e->has_start = get_real(json, t, &e->start); break;
    case DUR: e->has_duration = get_real(json, t, &e->duration); break;
    case STEP: e->has_step = get_int(json, t, &e->step); break;
    case SEQ: e->has_seq = get_int(json, t, &e->seq); break;
    case CHUNK:
        if (!get_int(json, t, &e->chunk)) e->chunk = -1;
        break;
    case MICRO_BATCH:
        if (!get_int(json, t, &e->micro_batch)) e->micro_batch = -1;
        break;
    case ARGS:
    case NO_KEY: break;
    }
    return leave(json, t);
}

/* The members of an object whose bracket was read. */
static bool read_object(rs_json_reader *json, bool args, event *e)
{
    for (;;) {
        rs_json_token t = rs_json_next(json);
        if (t == RS_JSON_T_OBJECT_END) return true;
        if (t != RS_JSON_T_KEY) return false;
        enum key key = key_of(json, args);
        t = rs_json_next(json);
        if (key == ARGS && t == RS_JSON_T_OBJECT) {
            if (!read_object(json, true, e)) return false; /* args hold no args: one level */
        } else if (!take_member(json, key, args, t, e)) {
            return false;
        }
    }
}

static const char *fault_of(const event *e)
{
    if (e->kind < 0) return "the kind of operation is not known";
    if (!e->has_pid || !e->has_tid) return "pid or tid is no whole number";
    if (!e->has_start || !e->has_duration) return "ts or dur is no number";
    if (!e->has_step || !e->has_seq) return "args.step or args.seq_id is no whole number";
    if (e->pid < 0 || e->pid > INT32_MAX || e->tid < 0) return "pid or tid is negative";
    if (e->seq < 0 || e->seq > INT32_MAX || e->chunk > INT32_MAX || e->micro_batch > INT32_MAX ||
        e->chunk < -1 || e->micro_batch < -1)
        return "a number of args is out of range";
    return NULL;
}

/* The tid waits in `rank` until all thread names are known. */
static rs_status take_event(timeline *r, const event *e, uint64_t offset, rs_error *err)
{
    if (e->names_thread && !e->is_span && e->has_tid && e->stage >= 0) {
        bool is_new;
        uint32_t *stage = rs_map64_put(&r->stages, (uint64_t)e->tid, &is_new);
        if (!stage) return rs_fail_nomem(err, "operations");
        *stage = (uint32_t)e->stage;
        return RS_OK;
    }
    if (!e->is_span) return RS_OK;
    const char *why = fault_of(e);
    if (!why) {
        const rs_op_span op = {.step = e->step,
                               .rank = e->tid > INT32_MAX ? INT32_MAX : e->tid,
                               .start = e->start / 1e6,
                               .duration = e->duration / 1e6,
                               .dp = (int32_t)e->pid,
                               .seq = (int32_t)e->seq,
                               .mb = (int32_t)e->micro_batch,
                               .mc = (int32_t)e->chunk,
                               .kind = (uint8_t)e->kind};
        if (!rs_op_table_add(r->out, &op, &why)) return rs_fail_nomem(err, "operations");
    }
    if (why)
        rs_problems_add_many(r->problems, rs_source_name(r->source), -1, RS_LOSS, "bad_operation",
                             "an event is no operation and was left out", offset, 1, why);
    return RS_OK;
}

static rs_status bad_json(const timeline *r, rs_error *err)
{
    return rs_fail_at(err, RS_ERR_FORMAT, rs_source_name(r->source), (uint64_t)(r->json.p - r->json.begin),
                      "is no timeline of operations: expected a JSON array of events");
}

static rs_status read_events(timeline *r, rs_error *err)
{
    if (rs_json_next(&r->json) != RS_JSON_T_ARRAY) return bad_json(r, err);
    for (;;) {
        uint64_t offset = (uint64_t)(r->json.p - r->json.begin);
        event e = {.kind = -1, .chunk = -1, .micro_batch = -1, .stage = -1};
        rs_json_token t = rs_json_next(&r->json);
        if (t == RS_JSON_T_ARRAY_END) return RS_OK;
        bool ok = t == RS_JSON_T_OBJECT ? read_object(&r->json, false, &e) : leave(&r->json, t);
        if (!ok && r->json.status == RS_JSON_END) {
            rs_problems_add(r->problems, rs_source_name(r->source), -1, RS_LOSS, "truncated",
                            "the timeline ends before its last bracket: the events up to there count",
                            offset);
            return RS_OK;
        }
        if (!ok) return bad_json(r, err);
        if (t == RS_JSON_T_OBJECT) RS_TRY(take_event(r, &e, offset, err));
    }
}

/* Stages and ranks by thread, starts by step. */
static rs_status settle(timeline *r, rs_error *err)
{
    rs_op_table *t = r->out;
    RS_SCOPED(rs_map64_clear) rs_map64 steps = {0};
    RS_LOCAL double *first = t->n ? rs_malloc(t->n * sizeof *first) : NULL;
    size_t n_steps = 0, kept = 0;
    rs_status status = first || !t->n ? RS_OK : rs_fail_nomem(err, "operations");
    for (size_t i = 0; status == RS_OK && i < t->n; i++) {
        bool is_new;
        uint32_t *at = rs_map64_put(&steps, (uint64_t)t->ops[i].step, &is_new);
        if (!at) {
            status = rs_fail_nomem(err, "operations");
            break;
        }
        if (is_new) {
            *at = (uint32_t)n_steps;
            first[n_steps++] = INFINITY;
        }
        if (t->ops[i].start < first[*at]) first[*at] = t->ops[i].start;
    }
    for (size_t i = 0; status == RS_OK && i < t->n; i++) {
        rs_op_span op = t->ops[i];
        const uint32_t *stage = rs_map64_get(&r->stages, (uint64_t)op.rank);
        if (!stage || *stage >= 1u << 16) {
            rs_problems_add(r->problems, rs_source_name(r->source), -1, RS_LOSS, "unknown_stage",
                            "the thread of an operation has no name \"PP rank N, ...\": it was left out",
                            RS_NO_OFFSET);
            continue;
        }
        op.stage = (int32_t)*stage;
        op.rank /= TRACKS;
        op.start -= first[*rs_map64_get(&steps, (uint64_t)op.step)];
        t->ops[kept++] = op;
    }
    if (status == RS_OK) t->n = kept;
    return status;
}

rs_status rs_op_timeline_read(rs_source *source, rs_op_table *out, rs_problems *problems, rs_error *err)
{
    timeline r = {.source = source, .out = out, .problems = problems};
    uint8_t *text;
    size_t n;
    RS_TRY(rs_source_read_all(source, MOST_TEXT, &text, &n, err));
    rs_json_reader_init(&r.json, text, n);
    rs_status status = read_events(&r, err);
    if (status == RS_OK) status = settle(&r, err);
    rs_map64_clear(&r.stages);
    rs_free(text);
    return status;
}
