#include "format/memory_read.h"

#include <string.h>

#include "base/interval.h"
#include "base/try.h"
#include "input/json.h"

const char *const rs_memory_category_names[RS_N_MEMORY_CATEGORIES] = {
    "parameter",  "optimizer state", "input",           "temporary",
    "activation", "gradient",        "autograd detail", "unknown"};

#define WINDOW ((size_t)1 << 20)
/* Version increments (the bytes leave one category for another) are no allocation. */
enum { ACTION_PREEXISTING = 1, ACTION_CREATE, ACTION_INCREMENT_VERSION, ACTION_DESTROY };

typedef struct reader {
    rs_source *source;
    rs_memory_timeline *out;
    rs_problems *problems;
    bool keep;
    uint8_t *text;
    size_t at, n, capacity;
    uint64_t offset; /* of text[0] in the file's text */
    bool ended;
    rs_memory_sample now;
    bool started; /* now has a time */
} reader;

void rs_memory_clear(rs_memory_timeline *timeline)
{
    rs_free(timeline->samples);
    *timeline = (rs_memory_timeline){0};
}

/* ---- text ---------------------------------------------------------------------------------------------- */

/* Moves what is left to the front and reads on; the window grows only while one element does not fit. */
static rs_status more_text(reader *r, rs_error *err)
{
    if (r->at) {
        memmove(r->text, r->text + r->at, r->n - r->at);
        r->offset += r->at;
        r->n -= r->at;
        r->at = 0;
    }
    if (r->capacity - r->n < WINDOW / 2) {
        if (r->capacity >= 16 * WINDOW)
            return rs_fail_at(err, RS_ERR_LIMIT, rs_source_name(r->source), r->offset,
                              "an element is longer than %zu bytes", 16 * WINDOW);
        if (!rs_grow((void **)&r->text, &r->capacity, r->capacity + WINDOW, 1))
            return rs_fail_nomem(err, "memory timeline");
    }
    size_t got;
    RS_TRY(rs_source_read(r->source, r->text + r->n, r->capacity - r->n, &got, err));
    r->n += got;
    r->ended = got == 0;
    return RS_OK;
}

/* The next byte that is no white space; 0 at the end. */
static rs_status peek(reader *r, uint8_t *byte, rs_error *err)
{
    for (;;) {
        const uint8_t *p = rs_json_space(r->text + r->at, r->text + r->n);
        r->at = (size_t)(p - r->text);
        if (r->at < r->n) {
            *byte = *p;
            return RS_OK;
        }
        *byte = 0;
        if (r->ended) return RS_OK;
        RS_TRY(more_text(r, err));
    }
}

/* ---- one change ---------------------------------------------------------------------------------------- */

static bool next_int(rs_json_reader *json, int64_t *value)
{
    return rs_json_next(json) == RS_JSON_T_NUMBER && rs_json_int(json->text.bytes, json->text.length, value);
}

/* [time, action, bytes, category] */
static bool parse_change(const uint8_t *text, size_t length, int64_t values[4])
{
    rs_json_reader json;
    rs_json_reader_init(&json, text, length);
    if (rs_json_next(&json) != RS_JSON_T_ARRAY) return false;
    for (int i = 0; i < 4; i++)
        if (!next_int(&json, &values[i])) return false;
    return rs_json_next(&json) == RS_JSON_T_ARRAY_END && values[1] >= 0 && values[1] <= ACTION_DESTROY &&
           values[3] >= 0 && values[3] < RS_N_MEMORY_CATEGORIES;
}

/* The changes of one time are complete. */
static bool end_sample(reader *r)
{
    rs_memory_timeline *m = r->out;
    if (!r->started) return true;
    if (m->first == RS_NO_TIME) {
        m->first = r->now.time;
        m->at_peak = r->now;
    }
    m->last = r->now.time;
    if (r->now.total > m->at_peak.total) m->at_peak = r->now;
    for (int c = 0; c < RS_N_MEMORY_CATEGORIES; c++)
        if (r->now.bytes[c] > m->peak[c]) {
            m->peak[c] = r->now.bytes[c];
            m->peak_time[c] = r->now.time;
        }
    if (!r->keep) return true;
    return RS_PUSH(m->samples, m->n_samples, m->capacity, r->now);
}

static bool take_change(reader *r, const int64_t values[4], uint64_t offset)
{
    rs_memory_timeline *m = r->out;
    int64_t time = values[0], bytes = values[2];
    size_t c = (size_t)values[3];
    m->n++;
    if (time < 0) {
        /* what was there before the recording has no time of its own */
        m->at_start.bytes[c] = rs_add_sat(m->at_start.bytes[c], bytes);
        m->at_start.total = rs_add_sat(m->at_start.total, bytes);
    } else {
        if (r->started && time < r->now.time)
            rs_problems_add(r->problems, rs_source_name(r->source), -1, RS_WARNING, "time_runs_back",
                            "changes are not in order of time; they were taken in order of the file", offset);
        if (r->started && time != r->now.time && !end_sample(r)) return false;
        r->now.time = time;
        r->started = true;
        if (values[1] != ACTION_INCREMENT_VERSION && bytes > 0) {
            m->allocated[c] = rs_add_sat(m->allocated[c], bytes);
            m->n_allocated[c]++;
        } else if (values[1] != ACTION_INCREMENT_VERSION) {
            m->freed[c] = rs_sub_sat(m->freed[c], bytes);
        }
    }
    r->now.bytes[c] = rs_add_sat(r->now.bytes[c], bytes);
    r->now.total = rs_add_sat(r->now.total, bytes);
    return true;
}

/* ---- the file ------------------------------------------------------------------------------------------ */

/* One element of the outer array; *length 0 when the text ends inside it. */
static rs_status next_element(reader *r, size_t *length, rs_error *err)
{
    static const rs_json_limits limits = {.max_depth = 8, .max_string = 4096};
    for (;;) {
        const uint8_t *p = r->text + r->at, *end = r->text + r->n;
        rs_json_status got = rs_json_skip(&p, end, &limits);
        /* a number that touches the end may go on behind it; arrays close themselves */
        if (got == RS_JSON_OK) {
            *length = (size_t)(p - (r->text + r->at));
            return RS_OK;
        }
        if (got != RS_JSON_END)
            return rs_fail_at(err, RS_ERR_FORMAT, rs_source_name(r->source),
                              r->offset + (uint64_t)(p - r->text), "is no memory timeline: not JSON here");
        *length = 0;
        if (r->ended) return RS_OK;
        RS_TRY(more_text(r, err));
    }
}

static rs_status not_a_timeline(const reader *r, rs_error *err)
{
    return rs_fail_at(
        err, RS_ERR_FORMAT, rs_source_name(r->source), r->offset + r->at,
        "is no raw memory timeline: expected changes [time, action, bytes, category]; export one with "
        "export_memory_timeline(\"NAME.raw.json.gz\")");
}

static void report_cut(reader *r)
{
    rs_problems_add(r->problems, rs_source_name(r->source), -1, RS_LOSS, "truncated",
                    "the timeline ends before its last bracket: the changes up to there count",
                    r->offset + r->n);
}

static rs_status read_changes(reader *r, rs_error *err)
{
    uint8_t byte;
    rs_status status = more_text(r, err);
    if (status == RS_OK) status = peek(r, &byte, err);
    if (status != RS_OK) return status;
    if (byte != '[') return not_a_timeline(r, err);
    r->at++;
    for (bool first = true;; first = false) {
        RS_TRY(peek(r, &byte, err));
        if (byte == ']') {
            r->at++;
            return RS_OK;
        }
        if (byte == 0) {
            report_cut(r);
            return RS_OK;
        }
        if (!first && byte == ',') {
            r->at++;
            RS_TRY(peek(r, &byte, err));
        } else if (!first) {
            return rs_fail_at(err, RS_ERR_FORMAT, rs_source_name(r->source), r->offset + r->at,
                              "is no memory timeline: a comma is missing");
        }
        if (byte == 0) {
            report_cut(r);
            return RS_OK;
        }
        if (byte != '[' && r->out->n == 0) return not_a_timeline(r, err);
        size_t length;
        int64_t values[4];
        RS_TRY(next_element(r, &length, err));
        if (length == 0) {
            report_cut(r);
            return RS_OK;
        }
        if (parse_change(r->text + r->at, length, values)) {
            if (!take_change(r, values, r->offset + r->at)) return rs_fail_nomem(err, "memory timeline");
        } else if (r->out->n == 0) {
            return not_a_timeline(r, err);
        } else {
            rs_problems_add(r->problems, rs_source_name(r->source), -1, RS_LOSS, "bad_change",
                            "an element is no [time, action, bytes, category] and was left out",
                            r->offset + r->at);
        }
        r->at += length;
    }
}

rs_status rs_memory_read(rs_source *source, bool keep_samples, rs_memory_timeline *out, rs_problems *problems,
                         rs_error *err)
{
    *out = (rs_memory_timeline){.first = RS_NO_TIME, .last = RS_NO_TIME};
    reader r = {.source = source, .out = out, .problems = problems, .keep = keep_samples};
    rs_status status = read_changes(&r, err);
    if (status == RS_OK && !end_sample(&r)) status = rs_fail_nomem(err, "memory timeline");
    if (status == RS_OK) {
        rs_source_report_end(r.source, -1, r.problems);
        out->at_end = r.now;
        if (!r.started) {
            out->at_peak = r.now;
            for (int c = 0; c < RS_N_MEMORY_CATEGORIES; c++) out->peak[c] = r.now.bytes[c];
        } else {
            for (int c = 0; c < RS_N_MEMORY_CATEGORIES; c++)
                if (out->peak[c] == 0) out->peak_time[c] = RS_NO_TIME;
        }
    } else {
        rs_memory_clear(out);
    }
    rs_free(r.text);
    return status;
}
