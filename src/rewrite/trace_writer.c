#include "rewrite/trace_writer.h"

#include <string.h>

#include "base/try.h"
#include "input/json.h"
#include "input/windows.h"
#include "format/kineto_core.h"

#define MAX_WINDOW ((size_t)1 << 30)
#define LOOK_AHEAD 256 /* bytes that tell an event from another object */

typedef struct copier {
    const char *name;
    rs_windows *windows;
    rs_window window;
    const uint8_t *p, *end;
    const uint8_t *from; /* not written yet: between it and p lies what belongs to what comes next */
    const rs_trace_edit *edit;
    rs_writer *out;
    uint64_t position;
    bool appended;  /* the further events are written */
    bool kept_one;  /* an event of this array, or of the lines, has been written */
    bool saw_array; /* the event array of this document has been read */
    bool broken;    /* the header is no JSON here: to be skipped */
    bool lines;     /* events stand one after another, in no array */
    bool truncated; /* the text ended within something */
    rs_error *err;
} copier;

static const rs_json_limits limits = {RS_JSON_MAX_DEPTH, MAX_WINDOW};

static rs_status bad(copier *c, const char *what)
{
    uint64_t at = c->window.offset + (uint64_t)(c->p - c->window.data);
    return rs_fail_at(c->err, RS_ERR_FORMAT, c->name, at, "%s", what);
}

static void write_up_to(copier *c, const uint8_t *to)
{
    if (to > c->from) rs_writer_bytes(c->out, (const char *)c->from, (size_t)(to - c->from));
    c->from = to;
}

/* More text; what is not written yet is kept. */
static rs_status more(copier *c)
{
    size_t ahead = (size_t)(c->p - c->from), used = (size_t)(c->from - c->window.data);
    RS_TRY(rs_windows_next(c->windows, used, &c->window, c->err));
    c->from = c->window.data;
    c->p = c->from + ahead;
    c->end = c->from + c->window.n;
    return RS_OK;
}

/* The next byte that is no space; 0 at the end of the text. */
static rs_status peek(copier *c, uint8_t *byte)
{
    for (;;) {
        c->p = rs_json_space(c->p, c->end);
        *byte = 0;
        if (c->p < c->end) *byte = *c->p;
        if (c->p < c->end || c->window.last) return RS_OK;
        RS_TRY(more(c));
    }
}

/* The length of the value at c->p, 0 when the text ends within it. */
static rs_status measure(copier *c, size_t *length)
{
    for (;;) {
        const uint8_t *p = c->p;
        rs_json_status s = rs_json_skip(&p, c->end, &limits);
        *length = s == RS_JSON_OK ? (size_t)(p - c->p) : 0;
        if (s == RS_JSON_OK || (s == RS_JSON_END && c->window.last)) return RS_OK;
        if (s != RS_JSON_END) {
            c->p = p;
            return bad(c, "this is no JSON");
        }
        RS_TRY(more(c));
    }
}

static void write_further(copier *c, const char *separator)
{
    if (c->appended) return;
    c->appended = true;
    while (c->edit->next && c->edit->next(c->edit->context, c->kept_one ? separator : "", c->out))
        c->kept_one = true;
}

/* The rest of the text is half of something. */
static rs_status cut_off(copier *c)
{
    c->truncated = true;
    c->from = c->p = c->end;
    return RS_OK;
}

/* One event at c->p; false in *whole when the text ends within it. */
static rs_status copy_event(copier *c, const char *separator, bool *whole)
{
    size_t n;
    rs_status status = measure(c, &n);
    *whole = status == RS_OK && n > 0;
    if (!*whole) return status == RS_OK ? cut_off(c) : status;
    const uint8_t *event = c->p;
    c->p += n;
    if (!c->edit->event) {
        write_up_to(c, c->p);
        c->kept_one = true;
    } else {
        c->from = c->p;
        if (c->edit->event(c->edit->context, c->position, event, n, c->kept_one ? separator : "", c->out))
            c->kept_one = true;
    }
    c->position++;
    return RS_OK;
}

/* c->p behind '['; ends behind ']'. */
static rs_status copy_array(copier *c)
{
    uint8_t byte;
    bool whole = true;
    write_up_to(c, c->p);
    c->kept_one = false;
    while (whole) {
        rs_status status = peek(c, &byte);
        if (status != RS_OK) return status;
        if (byte == ']') {
            write_further(c, ",\n");
            c->p++;
            write_up_to(c, c->p);
            return RS_OK;
        }
        if (byte == 0) {
            status = cut_off(c);
            whole = false;
        } else if (byte == ',') {
            c->p++;
        } else {
            status = copy_event(c, ",\n", &whole);
        }
        if (status != RS_OK) return status;
    }
    write_further(c, ",\n");
    rs_writer_char(c->out, ']');
    return RS_OK;
}

/* The key at c->p and its colon; *is_events whether it is that of the event array. */
static rs_status read_key(copier *c, bool *is_events)
{
    rs_json_text key;
    const uint8_t *p;
    uint8_t byte;
    for (;;) {
        p = c->p;
        rs_json_status s = rs_json_string(&p, c->end, MAX_WINDOW, &key);
        if (s == RS_JSON_OK) break;
        if (s != RS_JSON_END) {
            c->broken = true;
            return RS_OK;
        }
        if (c->window.last) return cut_off(c);
        rs_status status = more(c);
        if (status != RS_OK) return status;
    }
    *is_events = key.length == 11 && memcmp(key.bytes, "traceEvents", 11) == 0;
    c->p = p;
    RS_TRY(peek(c, &byte));
    if (byte == 0) return cut_off(c);
    c->broken = byte != ':';
    c->p += byte == ':';
    return RS_OK;
}

/* The length of the header's value at c->p; broken when it is no JSON. */
static rs_status measure_member(copier *c, size_t *length)
{
    rs_error *err = c->err, none = RS_ERROR_INIT;
    c->err = &none;
    rs_status status = measure(c, length);
    c->err = err;
    c->broken = status == RS_ERR_FORMAT;
    if (c->broken) return RS_OK;
    if (status != RS_OK && err) *err = none;
    return status;
}

/* A member whose key is at c->p. */
static rs_status copy_member(copier *c)
{
    bool is_events = false;
    uint8_t byte = 0;
    size_t n = 0;
    rs_status status = read_key(c, &is_events);
    if (status == RS_OK && !c->truncated && !c->broken) status = peek(c, &byte);
    if (status != RS_OK || c->truncated || c->broken) return status;
    if (is_events && byte == '[') {
        c->p++;
        c->saw_array = true;
        return copy_array(c);
    }
    status = byte ? measure_member(c, &n) : RS_OK;
    if (status != RS_OK || c->broken) return status;
    if (!byte || n == 0) return cut_off(c);
    c->p += n;
    write_up_to(c, c->p);
    return RS_OK;
}

/* The header is no JSON from c->p on: leaves it out up to where it can be read again, as the loader does. */
static rs_status pass_over_damage(copier *c, bool kept_member)
{
    c->broken = false;
    c->from = c->p;
    while (!rs_kineto_resume_member(&c->p, c->end, c->saw_array, c->window.last)) {
        c->from = c->p;
        if (c->window.last) return cut_off(c);
        RS_TRY(more(c));
    }
    if (*c->p == ',') c->p++;
    c->from = c->p;
    if (kept_member && *c->p != '}') rs_writer_text(c->out, ",\n");
    return RS_OK;
}

/* c->p behind '{'; ends behind '}'. */
static rs_status copy_object(copier *c)
{
    uint8_t byte;
    bool kept_member = false;
    write_up_to(c, c->p);
    c->saw_array = false;
    while (!c->truncated) {
        rs_status status = peek(c, &byte);
        if (status != RS_OK) return status;
        if (byte == '}') {
            c->p++;
            write_up_to(c, c->p);
            return RS_OK;
        }
        if (byte == 0)
            status = cut_off(c);
        else if (byte == ',')
            c->p++;
        else if (byte == '"')
            status = copy_member(c);
        else
            c->broken = true;
        if (status == RS_OK && c->broken)
            status = pass_over_damage(c, kept_member);
        else
            kept_member |= byte == '"';
        if (status != RS_OK) return status;
    }
    rs_writer_char(c->out, '}');
    return RS_OK;
}

static rs_status copy_document(copier *c, uint8_t byte)
{
    bool whole;
    while (c->end - c->p < LOOK_AHEAD && !c->window.last) RS_TRY(more(c));
    if (byte == '{' && rs_kineto_looks_like_event(c->p, c->end)) {
        c->lines = true;
        return copy_event(c, "\n", &whole);
    }
    c->p++;
    if (byte == '{') return copy_object(c);
    if (byte == '[') return copy_array(c);
    if (byte == ',') return RS_OK;
    c->p--;
    return bad(c, "expected a trace");
}

rs_status rs_trace_copy(rs_source *source, const rs_trace_edit *edit, rs_writer *out, bool *truncated,
                        rs_error *err)
{
    copier c = {.name = rs_source_name(source), .edit = edit, .out = out, .err = err};
    rs_status status = rs_windows_open(source, true, MAX_WINDOW, &c.windows, err);
    if (status == RS_OK) status = rs_windows_next(c.windows, 0, &c.window, err);
    if (status == RS_OK) {
        c.p = c.from = c.window.data;
        c.end = c.p + c.window.n;
    }
    while (status == RS_OK) {
        uint8_t byte;
        status = peek(&c, &byte);
        if (status != RS_OK || byte == 0) break;
        status = copy_document(&c, byte);
    }
    if (status == RS_OK) {
        if (c.lines) write_further(&c, "\n");
        write_up_to(&c, c.p);
        if (!c.appended) status = rs_fail_at(err, RS_ERR_FORMAT, c.name, RS_NO_OFFSET, "holds no events");
    }
    rs_source_end end = rs_source_get_end(source);
    *truncated = c.truncated || end.truncated || end.corrupt;
    rs_windows_close(c.windows);
    return status;
}
