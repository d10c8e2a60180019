#define _GNU_SOURCE
#include "format/kineto.h"

#include <string.h>

#include "format/kineto_reader.h"

void rs_reader_problem(rs_reader *r, const char *kind, const char *message, uint64_t offset)
{
    rs_problems_add(&r->core.events->problems, r->core.file, -1, RS_LOSS, kind, message, offset);
}

rs_status rs_reader_more(rs_reader *r, rs_error *err)
{
    if (r->settings->progress && !r->settings->progress(r->settings->progress_context))
        return rs_fail(err, RS_ERR_CANCELLED, "interrupted");
    rs_status status =
        rs_windows_next(r->windows, r->window.data ? (size_t)(r->p - r->window.data) : 0, &r->window, err);
    r->core.learn_from = NULL;
    if (status != RS_OK) return status;
    r->p = r->window.data;
    r->end = r->p + r->window.n;
    if (!r->packed) return RS_OK;
    return RS_PUSH(r->marks, r->n_marks, r->marks_capacity,
                   (rs_reader_mark){r->window.offset, r->core.events->n})
               ? RS_OK
               : rs_fail_nomem(err, "windows");
}

/* The text ran out in the middle of something: more of it, or it is cut off. */
static rs_status short_of_text(rs_reader *r, rs_error *err)
{
    if (!r->window.last) return rs_reader_more(r, err);
    r->core.events->truncated = true;
    rs_reader_problem(r, "truncated", "the text ends inside the trace; everything before that was read",
                      rs_reader_offset(r, r->end));
    r->p = r->end;
    r->place = AT_END;
    return RS_OK;
}

/* ---- documents -------------------------------------------------------------------------------------- */

bool rs_reader_begin_document(rs_reader *r)
{
    rs_events *e = r->core.events;
    r->open = true;
    r->in_events = false;
    /* one that brought no events says nothing about ranks: its place is taken over */
    if (e->n_documents && e->documents[e->n_documents - 1].first_row == e->n) {
        e->documents[e->n_documents - 1].rank = RS_NO_VALUE;
        return true;
    }
    if (!RS_PUSH(e->documents, e->n_documents, e->documents_capacity,
                 (rs_document){.first_row = (uint32_t)e->n, .rank = RS_NO_VALUE}))
        return rs_kineto_fail(&r->core, rs_fail_nomem(r->core.err, "documents"));
    return true;
}

static bool is_event_key(const uint8_t *key, size_t n)
{
    static const char *const keys[] = {"ph", "name", "cat", "ts", "pid", "tid", "dur", "args"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strlen(keys[i]) == n && memcmp(keys[i], key, n) == 0) return true;
    return false;
}

/* At '{': does an event begin here, by its first key? END when that cannot be seen yet. */
static rs_json_status looks_like_event(const uint8_t *p, const uint8_t *end, bool *is_event)
{
    rs_json_text key;
    *is_event = false;
    p = rs_json_space(p + 1, end);
    if (p >= end) return RS_JSON_END;
    if (*p != '"') return RS_JSON_OK;
    rs_json_status s = rs_json_string(&p, end, 256, &key);
    if (s != RS_JSON_OK) return s == RS_JSON_END ? s : RS_JSON_OK;
    p = rs_json_space(p, end);
    if (p >= end) return RS_JSON_END;
    *is_event = *p == ':' && is_event_key(key.bytes, key.length);
    return RS_JSON_OK;
}

/* At '{' before a key and a colon: where its value begins. */
static const uint8_t *first_value(const uint8_t *p, const uint8_t *end)
{
    rs_json_text key;
    p = rs_json_space(p + 1, end);
    if (rs_json_string(&p, end, 256, &key) != RS_JSON_OK) return end;
    p = rs_json_space(p, end);
    return p < end ? rs_json_space(p + 1, end) : end;
}

bool rs_kineto_looks_like_event(const uint8_t *p, const uint8_t *end)
{
    bool is_event;
    return looks_like_event(p, end, &is_event) == RS_JSON_OK && is_event;
}

bool rs_kineto_has_phase(const uint8_t *p, const uint8_t *end)
{
    static const char phase[] = "\"ph\"";
    if (p >= end || *p != '{' || !rs_kineto_looks_like_event(p, end)) return false;
    if (end - p > RS_LOOK_AHEAD) end = p + RS_LOOK_AHEAD;
    const rs_json_limits limits = {RS_JSON_MAX_DEPTH, SIZE_MAX};
    const uint8_t *close = p; /* Ascend writes it after the arguments */
    if (rs_json_skip(&close, end, &limits) != RS_JSON_OK) close = memchr(p, '}', (size_t)(end - p));
    return memmem(p, (size_t)((close ? close : end) - p), phase, sizeof phase - 1) != NULL;
}

bool rs_kineto_opens_events(const uint8_t *p, const uint8_t *end)
{
    while (p < end && *p == '[') p = rs_json_space(p + 1, end);
    return rs_kineto_has_phase(p, end);
}

static const char *fault_kind(rs_json_status s)
{
    return s == RS_JSON_DEEP ? "too_deep" : s == RS_JSON_LONG ? "long_string" : "bad_event";
}

/* Reads the event at p. */
static rs_status read_event(rs_reader *r, rs_error *err)
{
    const uint8_t *begin = r->p;
    rs_json_status s = rs_kineto_event(&r->core, &r->p, r->end, r->window.data, r->window.offset);
    bool separated = r->separated;
    if (s != RS_JSON_END) r->separated = false;
    if (s == RS_JSON_OK) {
        r->core.learn_from = r->p;
        return RS_OK;
    }
    if (r->core.failure != RS_OK) return r->core.failure;
    if (s == RS_JSON_END && !rs_reader_swallows_events(r, begin)) {
        r->p = begin;
        return short_of_text(r, err);
    }
    if (s == RS_JSON_END) {
        s = RS_JSON_BAD;
        r->p = r->end;
    }
    if (s == RS_JSON_BAD && r->open &&
        (r->p <= begin + 1 ||
         (rs_kineto_opens_events(r->p, r->end) && !rs_kineto_looks_like_event(begin, r->end)))) {
        rs_reader_junk(r, begin, r->p <= begin + 1 ? begin + 1 : r->p, separated);
        return RS_OK;
    }
    r->core.events->n_lost++;
    if (!rs_kineto_lost_row(&r->core)) return r->core.failure;
    rs_reader_damaged(r, fault_kind(s), rs_reader_fault(s), begin, r->p);
    return RS_OK;
}

/* At the bracket that opens the array of events, or before the first of them. */
static rs_status enter_events(rs_reader *r, const uint8_t *bracket)
{
    r->p = bracket + 1;
    r->saw_events = r->in_events = r->separated = true;
    r->place = AT_ELEMENT;
    return RS_OK;
}

/* Where the key of an array of events stands; NULL: not here. A string that holds these bytes has its quotes
 * escaped. */
static const uint8_t *find_events_key(const uint8_t *p, const uint8_t *end)
{
    static const char key[] = "\"traceEvents\"";
    while (p < end && (p = memmem(p, (size_t)(end - p), key, sizeof key - 1))) {
        const uint8_t *q = rs_json_space(p + sizeof key - 1, end);
        if (q < end && *q == ':') q = rs_json_space(q + 1, end);
        if (q < end && *q == '[' && rs_kineto_opens_events(q, end)) return p;
        p += sizeof key - 1;
    }
    return NULL;
}

/* The bracket of an array of events, whatever its key is now: between `from` and `to`, NULL: none. *more is set where only further text can tell. */
static const uint8_t *find_events(const rs_reader *r, const uint8_t *from, const uint8_t *to, bool *more)
{
    *more = false;
    const uint8_t *first = from < to ? rs_json_space(from + 1, to) : to; /* after a damaged bracket */
    if (first < to && *first == '{' && *from != '{' && rs_kineto_has_phase(first, r->end)) return first - 1;
    for (const uint8_t *p = from; p < to; p++) {
        if (*p != '[' && *p != ',') continue; /* the bracket may be lost with the first events */
        if (r->end - p < RS_LOOK_AHEAD && !r->window.last) {
            *more = true;
            return NULL;
        }
        const uint8_t *q = rs_json_space(p + 1, r->end);
        if (q < r->end && *q == '{' && rs_kineto_has_phase(q, r->end)) return p;
    }
    return NULL;
}

/* Does a member of the header begin here: a string and a colon? */
static bool begins_member(const uint8_t *p, const uint8_t *end)
{
    rs_json_text key;
    p = rs_json_space(p, end);
    if (p >= end || *p != '"' || rs_json_string(&p, end, 256, &key) != RS_JSON_OK) return false;
    p = rs_json_space(p, end);
    return p < end && *p == ':';
}

/* The first brace that begins a line and an object; NULL: none. */
static const uint8_t *find_header(const uint8_t *p, const uint8_t *end)
{
    while ((p = memchr(p, '\n', (size_t)(end - p)))) {
        p = rs_json_space(p, end);
        if (p < end && *p == '{') {
            const uint8_t *key = rs_json_space(p + 1, end);
            if (key < end && *key == '"') return p;
        }
        if (p >= end) break;
    }
    return NULL;
}

/* The text begins with what no trace begins with, but the key of its events is plain to see: a line of a log
 * before the header, or a header without its brace. */
static rs_status begin_damaged_document(rs_reader *r, bool has_members, const uint8_t *events)
{
    const uint8_t *begin = r->p, *header = has_members ? NULL : find_header(begin, events);
    rs_reader_problem(r, "bad_header", "the text does not begin as a trace; what is before it was skipped",
                      rs_reader_offset(r, begin));
    if (header) {
        r->p = header;
    } else {
        r->core.events->form = "object";
        r->saw_object = true;
        r->place = AT_MEMBER;
        r->p = !has_members ? events : *begin == '[' ? begin + 1 : begin;
        if (!rs_reader_begin_document(r)) return r->core.failure;
    }
    r->core.events->bytes_lost += (uint64_t)(r->p - begin);
    return RS_OK;
}

/* The text begins within a header whose key is lost, too. */
static rs_status begin_with_events(rs_reader *r, const uint8_t *bracket)
{
    rs_reader_problem(r, "bad_header",
                      "the text does not begin as a trace; what is before its events was skipped",
                      rs_reader_offset(r, r->p));
    r->core.events->form = "object";
    r->saw_object = true;
    if (!rs_reader_begin_document(r)) return r->core.failure;
    r->bare_array = !memmem(r->p, (size_t)(bracket - r->p), "\":", 2); /* no header with members */
    r->core.events->bytes_lost += (uint64_t)(bracket - r->p);
    return enter_events(r, bracket);
}

#define HEADER 65536 /* how far behind a damaged beginning the key of the events is looked for */

/* At the first byte of the text: passes over a byte order mark and refuses text of 16 bits by its name. */
static rs_status at_text_begin(rs_reader *r, rs_error *err)
{
    size_t n = (size_t)(r->end - r->p);
    if (n < 4 && !r->window.last) return rs_reader_more(r, err);
    r->begun = true;
    if (n >= 3 && memcmp(r->p, "\xef\xbb\xbf", 3) == 0) r->p += 3;
    /* a zero byte alone may be damage */
    bool wide = n >= 2 && (memcmp(r->p, "\xff\xfe", 2) == 0 || memcmp(r->p, "\xfe\xff", 2) == 0 ||
                           (n >= 4 && memcmp(r->p, "{\0", 2) == 0 && r->p[3] == 0) ||
                           (n >= 4 && memcmp(r->p, "\0{", 2) == 0 && r->p[2] == 0));
    if (wide)
        return rs_fail_at(err, RS_ERR_FORMAT, r->core.file, 0,
                          "is text of 16 bits a character: convert it to UTF-8 (iconv -f UTF-16 -t UTF-8)");
    return RS_OK;
}

static rs_status at_document(rs_reader *r, rs_error *err)
{
    if (!r->begun) return at_text_begin(r, err);
    r->p = rs_json_space(r->p, r->end);
    r->core.learn_from = NULL;
    if (r->p >= r->end) {
        if (!r->window.last) return rs_reader_more(r, err);
        r->place = AT_END;
        return RS_OK;
    }
    if (!r->saw_events && *r->p != '{') {
        /* how much of the text is looked at must not depend on the window */
        if (r->end - r->p < HEADER && !r->window.last) return rs_reader_more(r, err);
        const uint8_t *end = r->end - r->p < HEADER ? r->end : r->p + HEADER;
        bool header_lost = begins_member(*r->p == '[' ? r->p + 1 : r->p, end);
        const uint8_t *events = header_lost || *r->p != '[' ? find_events_key(r->p, end) : NULL;
        if (events) return begin_damaged_document(r, header_lost, events);
        bool more;
        events = *r->p != '[' ? find_events(r, r->p, end, &more) : NULL;
        if (events) return begin_with_events(r, events);
    }
    if (*r->p == '[') {
        r->p++;
        r->core.events->form = "array";
        r->bare_array = r->separated = true;
        r->place = AT_ELEMENT;
        if (!rs_reader_begin_document(r)) return r->core.failure;
        r->in_events = true;
        return RS_OK;
    }
    if (*r->p == '{') {
        bool is_event;
        r->saw_object = true;
        rs_json_status s = looks_like_event(r->p, r->end, &is_event);
        if (s == RS_JSON_END) return short_of_text(r, err);
        /* the key of the events may be damaged to one that events have */
        const uint8_t *value = is_event ? first_value(r->p, r->end) : r->p;
        if (is_event && (value == r->end || *value == '[')) {
            if (r->end - r->p < RS_LOOK_AHEAD && !r->window.last) return rs_reader_more(r, err);
            is_event = value == r->end || !rs_kineto_opens_events(value, r->end);
        }
        if (is_event) {
            r->core.events->form = "lines";
            r->saw_events = true;
            r->core.learn_from = NULL;
            r->separated = true;
            return read_event(r, err);
        }
        r->p++;
        r->core.events->form = "object";
        r->bare_array = false;
        r->place = AT_MEMBER;
        return rs_reader_begin_document(r) ? RS_OK : r->core.failure;
    }
    if (r->saw_events && (*r->p == ',' || *r->p == ']' || *r->p == '}')) {
        /* after a stray bracket every event is followed by one of these: one defect, not many */
        if (!r->stray)
            rs_reader_problem(r, "trailing_text", "text after the trace that is no event; skipped",
                              rs_reader_offset(r, r->p));
        r->stray = true;
        r->p++;
        return RS_OK;
    }
    if (!r->saw_events) {
        uint64_t at = rs_reader_offset(r, r->p);
        /* a pickle of protocol 2 to 5 */
        if (at == 0 && *r->p == 0x80 && r->end - r->p > 1 && r->p[1] >= 2 && r->p[1] <= 5)
            return rs_fail_at(err, RS_ERR_FORMAT, r->core.file, RS_NO_OFFSET,
                              "is a pickle, no trace; a flight recorder's dump is for `rankscope flight`");
        return rs_fail_at(err, RS_ERR_FORMAT, r->core.file, at,
                          "is no JSON trace: expected { or [ here, found byte 0x%02x", *r->p);
    }
    rs_reader_damaged(r, "trailing_text", "text after the trace that is no event; skipped", r->p, r->p);
    return RS_OK;
}

static rs_status at_member(rs_reader *r, rs_error *err)
{
    const uint8_t *begin = r->p = rs_json_space(r->p, r->end);
    if (r->p >= r->end) return short_of_text(r, err);
    if (*r->p == ',') {
        r->p++;
        return RS_OK;
    }
    if (*r->p == '}') {
        r->p++;
        r->open = false;
        r->place = AT_DOCUMENT;
        return RS_OK;
    }
    rs_json_text key;
    const uint8_t *q = r->p;
    rs_json_status s = *q == '"' ? rs_json_string(&q, r->end, r->core.limits.max_string, &key) : RS_JSON_BAD;
    if (s == RS_JSON_OK) {
        q = rs_json_space(q, r->end);
        s = q >= r->end ? RS_JSON_END : *q == ':' ? RS_JSON_OK : RS_JSON_BAD;
    }
    if (s == RS_JSON_OK) {
        q = rs_json_space(q + 1, r->end);
        if (q >= r->end) s = RS_JSON_END;
    }
    if (s == RS_JSON_OK && key.length == 11 && memcmp(key.bytes, "traceEvents", 11) == 0 && *q == '[') {
        return enter_events(r, q);
    }
    if (s == RS_JSON_OK && !r->in_events && *q == '{' && key.length == 11 &&
        memcmp(key.bytes, "traceEvents", 11) == 0) {
        if (r->end - q < RS_LOOK_AHEAD && !r->window.last) {
            r->p = begin;
            return rs_reader_more(r, err);
        }
        if (rs_kineto_has_phase(q, r->end)) {
            rs_reader_problem(r, "bad_header", "the array of events lacks its bracket",
                              rs_reader_offset(r, begin));
            return enter_events(r, q - 1);
        }
    }
    /* of a trace whose header lost a bracket, too: judged when no events came */
    r->saw_config |= s == RS_JSON_OK && key.length == 9 && memcmp(key.bytes, "pg_config", 9) == 0;
    if (s == RS_JSON_OK && !r->saw_events && key.length == 5 && memcmp(key.bytes, "nodes", 5) == 0 &&
        *q == '[')
        return rs_fail_at(
            err, RS_ERR_FORMAT, r->core.file, rs_reader_offset(r, begin),
            "is a PyTorch execution trace (it has \"nodes\", no \"traceEvents\"), not a Kineto trace");
    const uint8_t *value = q, *events = NULL, *bracket = NULL;
    bool more = false;
    if (s == RS_JSON_OK && !r->in_events) {
        if (*q == '[' && rs_kineto_opens_events(q, r->end)) {
            rs_reader_problem(r, "bad_header", "the array of events is not called \"traceEvents\"",
                              rs_reader_offset(r, begin));
            return enter_events(r, q);
        }
        s = rs_json_skip(&q, r->end, &r->core.limits);
        /* a bracket too many in the header must not make the events a part of it */
        events = find_events_key(value, s == RS_JSON_END ? r->end : q);
        if (!events) bracket = find_events(r, value, s == RS_JSON_END ? r->end : q, &more);
    } else if (s == RS_JSON_OK) {
        s = rs_json_skip(&q, r->end, &r->core.limits);
    }
    if (events) {
        rs_reader_damaged(r, "bad_header", "the text around the events is no valid JSON; skipped", begin,
                          events);
        return RS_OK;
    }
    if (bracket) {
        rs_reader_problem(r, "bad_header", "the text around the events is no valid JSON; skipped",
                          rs_reader_offset(r, begin));
        r->core.events->bytes_lost += (uint64_t)(bracket - begin);
        return enter_events(r, bracket);
    }
    if (more && s != RS_JSON_END) {
        r->p = begin;
        return rs_reader_more(r, err);
    }
    if (s == RS_JSON_OK) {
        rs_kineto_metadata(&r->core, &key, value, (size_t)(q - value));
        r->p = q;
        return r->core.failure;
    }
    if (s == RS_JSON_END) {
        r->p = begin;
        return short_of_text(r, err);
    }
    rs_reader_damaged(r, "bad_header", "the text around the events is no valid JSON; skipped", begin, q);
    return RS_OK;
}

/* An element that is no object: it keeps its place in the count. */
static rs_status odd_element(rs_reader *r, rs_error *err)
{
    const uint8_t *begin = r->p, *next;
    /* a bracket too many must not take all events behind it for one element */
    if (*begin == '[' && r->end - begin < RS_LOOK_AHEAD && !r->window.last) return rs_reader_more(r, err);
    if (rs_kineto_opens_events(begin, r->end)) {
        rs_reader_junk(r, begin, begin + 1, false);
        return RS_OK;
    }
    rs_json_status s = rs_json_skip(&r->p, r->end, &r->core.limits);
    if (s == RS_JSON_OK) {
        next = rs_json_space(r->p, r->end);
        s = next >= r->end ? RS_JSON_END : *next == ',' || *next == ']' ? RS_JSON_OK : RS_JSON_BAD;
    }
    if (s == RS_JSON_END) {
        r->p = begin;
        return short_of_text(r, err);
    }
    bool separated = r->separated;
    r->separated = false;
    r->core.learn_from = NULL;
    if (s == RS_JSON_BAD) {
        rs_reader_junk(r, begin, r->p, separated);
        return RS_OK;
    }
    r->core.events->n_lost++;
    if (!rs_kineto_lost_row(&r->core)) return r->core.failure;
    if (s == RS_JSON_OK)
        rs_reader_problem(r, "not_an_event", "an element of the event array is no object; dropped",
                          rs_reader_offset(r, begin));
    else
        rs_reader_damaged(r, fault_kind(s), rs_reader_fault(s), begin, r->p);
    return RS_OK;
}

/* Where the run begins that was read ahead in this window, if it still lies before the reader; else the end.
 */
static const uint8_t *ahead_of(const rs_reader *r)
{
    if (!r->ahead || r->window.slot < 0) return r->end;
    uint64_t begin = rs_ahead_begin(r->ahead, (unsigned)r->window.slot);
    return begin >= rs_reader_offset(r, r->p) && begin < rs_reader_offset(r, r->end)
               ? r->window.data + (begin - r->window.offset)
               : r->end;
}

static rs_status take_ahead(rs_reader *r, rs_error *err)
{
    if (!rs_ahead_fits(r->ahead, (unsigned)r->window.slot, r->core.events)) {
        rs_ahead_drop(r->ahead, (unsigned)r->window.slot);
        return read_event(r, err);
    }
    r->separated = false;
    uint64_t end;
    rs_status status = rs_ahead_take(r->ahead, (unsigned)r->window.slot, r->core.events, &end, err);
    if (status != RS_OK) return status;
    r->p = r->window.data + (end - r->window.offset);
    r->core.learn_from = r->p;
    return RS_OK;
}

static rs_status at_element(rs_reader *r, rs_error *err)
{
    const uint8_t *ahead = ahead_of(r);
    if (r->run && r->core.learn_from == r->p) {
        r->run(&r->core, &r->p, ahead);
        if (r->core.failure != RS_OK) return r->core.failure;
        r->core.learn_from = r->p;
    }
    const uint8_t *begin = r->p;
    /* a layout begins where the element before it ended: nothing else may stand between */
    if (r->core.learn_from != begin) r->core.learn_from = NULL;
    r->p = rs_json_space(r->p, r->end);
    bool comma = r->p < r->end && *r->p == ',';
    if (comma) r->p = rs_json_space(r->p + 1, r->end);
    if (r->p >= r->end) {
        r->p = begin;
        return short_of_text(r, err);
    }
    r->separated |= comma; /* kept while the element waits for more text */
    r->saw_object |= *r->p == '{';
    if (*r->p == '{') return r->p == ahead && ahead < r->end ? take_ahead(r, err) : read_event(r, err);
    if (*r->p == ']') {
        r->p++;
        r->core.learn_from = NULL;
        r->place = r->bare_array ? AT_DOCUMENT : AT_MEMBER;
        if (r->bare_array) r->open = false;
        if (r->bare_array) r->saw_events = true;
        return RS_OK;
    }
    return odd_element(r, err);
}

/* ---- the whole text --------------------------------------------------------------------------------- */

static rs_status read_text(rs_reader *r, rs_error *err)
{
    rs_status status = rs_reader_more(r, err);
    while (status == RS_OK && r->place != AT_END) {
        switch (r->place) {
        case AT_DOCUMENT: status = at_document(r, err); break;
        case AT_MEMBER: status = at_member(r, err); break;
        case AT_ELEMENT: status = at_element(r, err); break;
        default: status = rs_reader_at_damage(r, err); break;
        }
        if (status == RS_OK) status = r->core.failure;
    }
    return status;
}

/* Closes B/E pairs: the begin becomes a complete event, per thread, innermost first. */
static rs_status pair_begins(rs_events *e, rs_error *err)
{
    size_t n_open = 0;
    for (size_t i = 0; i < e->n; i++) n_open += e->phase[i] == 'B';
    if (n_open == 0) return RS_OK;
    RS_LOCAL uint32_t *open = rs_malloc(n_open * sizeof *open), *below = rs_malloc(n_open * sizeof *below);
    RS_LOCAL uint32_t *top = rs_malloc((e->n_threads + 1) * sizeof *top);
    if (!open || !below || !top) return rs_fail_nomem(err, "begin/end pairs");
    for (size_t t = 0; t < e->n_threads; t++) top[t] = UINT32_MAX;
    uint32_t used = 0;
    for (size_t i = 0; i < e->n; i++) {
        uint32_t t = e->thread[i];
        if (e->phase[i] == 'B') {
            open[used] = (uint32_t)i;
            below[used] = top[t];
            top[t] = used++;
        } else if (e->phase[i] == 'E' && top[t] != UINT32_MAX) {
            uint32_t begin = open[top[t]];
            top[t] = below[top[t]];
            int64_t duration;
            if (e->start[begin] == RS_NO_TIME || e->start[i] == RS_NO_TIME ||
                __builtin_sub_overflow(e->start[i], e->start[begin], &duration))
                continue;
            e->duration[begin] = duration;
            e->phase[begin] = 'X';
        }
    }
    return RS_OK;
}

/* Any element with a "ph": that alone makes it an event. */
static bool has_event(const rs_events *e)
{
    for (size_t i = 0; i < e->n; i++)
        if (e->phase[i]) return true;
    return false;
}

/* A file of objects that are no events (a log of losses, JSON lines of metrics) is no trace. One whose events
 * were all lost to damage is, and so is one whose "traceEvents" are none. */
static rs_status check_usable(const rs_reader *r, rs_error *err)
{
    const rs_events *e = r->core.events;
    if (e->n_bytes == 0) return rs_fail_at(err, RS_ERR_FORMAT, r->core.file, 0, "is empty");
    if (r->saw_config && !r->saw_events && !has_event(e))
        return rs_fail_at(
            err, RS_ERR_FORMAT, r->core.file, RS_NO_OFFSET,
            "is a flight recorder's dump (it has \"pg_config\"), no trace: see `rankscope flight`");
    if (e->n > e->n_lost && !has_event(e))
        return rs_fail_at(err, RS_ERR_FORMAT, r->core.file, RS_NO_OFFSET,
                          "is no trace: none of its %zu elements is an event (has a \"ph\")", e->n);
    if (e->n > e->n_lost || (e->n > 0 && r->saw_object)) return RS_OK;
    if (e->n == 0 && r->bare_array && !e->truncated)
        return rs_fail_at(err, RS_ERR_FORMAT, r->core.file, RS_NO_OFFSET,
                          "is no trace: its array holds no events");
    if (e->truncated)
        return rs_fail_at(err, RS_ERR_FORMAT, r->core.file, e->n_bytes,
                          "the text ends before the first event");
    if (!r->saw_events || e->n > 0)
        return rs_fail_at(err, RS_ERR_FORMAT, r->core.file, RS_NO_OFFSET,
                          "is no trace: it has no \"traceEvents\" and no events");
    return RS_OK;
}

/* A plain file or memory is read by all threads; a packed one is unpacked by one of them and read by another.
 */
static rs_status open_text(rs_reader *r, rs_source *source, rs_error *err)
{
    /* a record is an event or a member of the header: many strings, however short those are to be */
    size_t n, max_window = 16 * r->core.limits.max_string;
    if (max_window < (size_t)1 << 20) max_window = (size_t)1 << 20;
    unsigned threads = r->settings->threads;
    bool in_pieces = rs_source_is_seekable(source) || rs_source_memory(source, &n);
    if (threads > 1 && in_pieces && r->run) {
        r->ahead = rs_ahead_create(&r->core, r->run, rs_windows_slots(threads));
        if (!r->ahead) return rs_fail_nomem(err, "readers");
        return rs_windows_open_prepared(source, threads, rs_ahead_prepare, r->ahead, max_window, &r->windows,
                                        err);
    }
    return rs_windows_open(source, threads > 1, max_window, &r->windows, err);
}

rs_status rs_kineto_load(rs_source *source, const rs_load_settings *settings, rs_events **out, rs_error *err)
{
    *out = NULL;
    rs_reader r = {.settings = settings, .place = AT_DOCUMENT};
    r.core.file = rs_source_name(source);
    r.core.err = err;
    r.core.columns = settings->columns;
    r.core.limits.max_depth = settings->max_depth ? settings->max_depth : RS_JSON_DEFAULT_DEPTH;
    if (r.core.limits.max_depth > RS_JSON_MAX_DEPTH) r.core.limits.max_depth = RS_JSON_MAX_DEPTH;
    r.core.limits.max_string = settings->max_string ? (size_t)settings->max_string : RS_JSON_DEFAULT_STRING;
    rs_status status = rs_events_create(settings->columns, settings->max_memory, &r.core.events, err);
    if (status == RS_OK && settings->simd >= 0) {
        r.core.shapes = rs_shapes_create();
        r.run = rs_shapes_runner(settings->simd);
        if (!r.core.shapes) status = rs_fail_nomem(err, "event layouts");
    }
    r.packed = rs_source_packing(source) != RS_PACKING_PLAIN;
    if (status == RS_OK) status = open_text(&r, source, err);
    if (status == RS_OK) status = read_text(&r, err);
    if (status == RS_OK) {
        rs_events *e = r.core.events;
        e->n_bytes = rs_reader_offset(&r, r.end);
        e->packing = rs_packing_name(rs_source_packing(source));
        if (e->n && e->n_documents && e->documents[e->n_documents - 1].first_row == e->n) e->n_documents--;
        rs_source_report_end(source, -1, &r.core.events->problems);
        rs_source_end end = rs_source_get_end(source);
        status = rs_reader_doubt(&r, &end, err);
        if (status == RS_OK) status = check_usable(&r, err);
    }
    if (status == RS_OK) status = pair_begins(r.core.events, err);
    if (status == RS_OK) status = rs_kineto_name_copies(r.core.events, err);
    bool no_header = r.bare_array || (status == RS_OK && strcmp(r.core.events->form, "lines") == 0);
    if (status == RS_OK && no_header) status = rs_kineto_judge_processes(r.core.events, err);
    rs_windows_close(r.windows);
    rs_ahead_free(r.ahead);
    rs_shapes_free(r.core.shapes);
    rs_free_all(r.core.scratch, r.marks);
    if (status != RS_OK) {
        rs_events_free(r.core.events);
        return status;
    }
    rs_events_trim(r.core.events);
    *out = r.core.events;
    return RS_OK;
}
