#include <string.h>

#include "base/listed.h"
#include "format/kineto_reader.h"

/* Starts looking for a place where reading can go on. */
static void out_of_step(rs_reader *r, const uint8_t *from, const uint8_t *fault)
{
    r->damage_at = rs_reader_offset(r, from);
    r->core.learn_from = NULL; /* what was passed over must not become part of a layout */
    r->junk = false;
    r->in_member = r->place == AT_MEMBER;
    /* Beside the events a brace at fault may begin one. The text up to the fault is looked at again: a string without
     * its closing quote has taken the next event's beginning, or the first one's, for its own. */
    r->p = r->in_member && fault == from ? from : from + 1;
    r->tried_to = rs_reader_offset(r, fault);
    if (r->p > r->end) r->p = r->end;
    r->before = 0;
    r->line_begins = false;
    for (const uint8_t *p = r->p; p > from + 1 && !r->before; p--)
        if (!rs_json_is_space(p[-1])) r->before = p[-1];
    r->place = AT_DAMAGE;
}

void rs_reader_damaged(rs_reader *r, const char *kind, const char *message, const uint8_t *from,
                       const uint8_t *fault)
{
    rs_reader_problem(r, kind, message, rs_reader_offset(r, from));
    out_of_step(r, from, fault);
}

const char *rs_reader_fault(rs_json_status s)
{
    if (s == RS_JSON_DEEP) return "an event nests deeper than the limit; dropped";
    if (s == RS_JSON_LONG) return "an event holds a string beyond the limit; dropped";
    return "an event is no valid JSON; dropped";
}

void rs_reader_junk(rs_reader *r, const uint8_t *from, const uint8_t *fault, bool after_separator)
{
    out_of_step(r, from, fault);
    r->junk = true;
    r->junk_element = after_separator;
}

static bool is_member_key(const uint8_t *p, const uint8_t *end)
{
    static const char keys[] =
        "traceName|displayTimeUnit|baseTimeNanoseconds|deviceProperties|computeProperties|"
        "distributedInfo|schemaVersion|INFO|WARNING|ERROR|trace_id|otherData|metadata|stackFrames|"
        "systemTraceEvents";
    rs_json_text key;
    if (p >= end || *p != '"' || rs_json_string(&p, end, RS_LOOK_AHEAD, &key) != RS_JSON_OK) return false;
    p = rs_json_space(p, end);
    if (p >= end || *p != ':') return false;
    return rs_listed(keys, (const char *)key.bytes, key.length, true);
}

static bool begins_object(const uint8_t *p, const uint8_t *end)
{
    p = rs_json_space(p + 1, end);
    return p < end && *p == '"';
}

/* At '}': does the document end here? Either the text does or another document begins. */
static bool ends_document(const uint8_t *p, const uint8_t *end, bool last)
{
    p = rs_json_space(p + 1, end);
    return p >= end ? last : *p == '{' && begins_object(p, end);
}

/* At '{': does an event begin here? The first member of many nested objects has a key that events have too,
 * but they stand behind a colon, or behind something else only where that was damaged. */
static bool begins_event(const rs_reader *r, const uint8_t *p, uint8_t before)
{
    if (before == ':' || !rs_kineto_looks_like_event(p, r->end)) return false;
    /* what was read once as a part of the damaged event may be one of its arguments */
    if (rs_reader_offset(r, p) < r->tried_to) return rs_kineto_has_phase(p, r->end);
    if (before == 0 || before == ',' || before == '[' || before == '}' || before == ']') return true;
    if (r->line_begins && rs_kineto_has_phase(p, r->end)) return true; /* behind a line of a log */
    p = rs_json_space(p + 1, r->end);
    return r->end - p >= 4 && memcmp(p, "\"ph\"", 4) == 0;
}

#define LONG_EVENT (1 << 20) /* bytes */

bool rs_reader_swallows_events(const rs_reader *r, const uint8_t *begin)
{
    uint8_t before = '{';
    if (!r->window.last && r->end - begin < LONG_EVENT) return false;
    for (const uint8_t *p = begin + 1; p < r->end; p++) {
        if (rs_json_is_space(*p)) continue;
        if (*p == '{' && (before == ',' || before == '[' || before == '}' || before == ']') &&
            rs_kineto_looks_like_event(p, r->end) && rs_kineto_has_phase(p, r->end))
            return true;
        before = *p;
    }
    return false;
}

/* At ']': does the event array end here? Either a known top-level member follows or the document closes. */
static bool ends_array(const rs_reader *r, const uint8_t *p)
{
    p = rs_json_space(p + 1, r->end);
    if (r->bare_array) return p >= r->end ? r->window.last : *p == '{' || *p == '[';
    if (p >= r->end) return false;
    if (*p == ',') return is_member_key(rs_json_space(p + 1, r->end), r->end);
    return *p == '}' && ends_document(p, r->end, r->window.last);
}

/* At p, beside the events: can the members of the header be read on from here? At the comma before one that
 * traces have, at the event array, or at the brace behind the events that closes the document. */
static bool resumes_member(const uint8_t *p, const uint8_t *end, bool in_events, bool last)
{
    static const char events_key[] = "\"traceEvents\"";
    if (*p == ',') return is_member_key(rs_json_space(p + 1, end), end);
    if (*p == '"')
        return !in_events && (size_t)(end - p) > sizeof events_key &&
               memcmp(p, events_key, sizeof events_key - 1) == 0;
    return *p == '}' && in_events && ends_document(p, end, last);
}

bool rs_kineto_resume_member(const uint8_t **at, const uint8_t *end, bool in_events, bool last)
{
    const uint8_t *judged = last ? end : end - *at > RS_LOOK_AHEAD ? end - RS_LOOK_AHEAD : *at;
    for (; *at < judged; ++*at)
        if (resumes_member(*at, end, in_events, last)) return true;
    return false;
}

/* Counts what stood where an event was expected: an element of its own, or bytes that cling to another. */
static void judge_junk(rs_reader *r, bool alone)
{
    if (!r->junk) return;
    r->core.learn_from = NULL; /* what was passed over must not become part of a layout */
    r->junk = false;
    if (!r->junk_element || !alone) {
        rs_reader_problem(r, "stray_text", "text between events that is no event; skipped", r->damage_at);
        return;
    }
    rs_reader_problem(r, "bad_event", rs_reader_fault(RS_JSON_BAD), r->damage_at);
    r->core.events->n_lost++;
    rs_kineto_lost_row(&r->core); /* a failure shows in core.failure */
}

static void back_in_step(rs_reader *r, const uint8_t *p, rs_place at)
{
    r->core.events->bytes_lost += rs_reader_offset(r, p) - r->damage_at;
    r->p = p;
    r->place = at;
}

/* Looks for a place where reading can go on: an event that is introduced by a comma, a bracket or a brace,
 * the end of the array, or its beginning. None of these can stand inside a valid string, whose quotes are
 * escaped. */
rs_status rs_reader_at_damage(rs_reader *r, rs_error *err)
{
    const uint8_t *p = r->p, *judged = r->window.last ? r->end
                                                      : r->end - (r->window.n > RS_LOOK_AHEAD ? RS_LOOK_AHEAD
                                                                                              : r->window.n);
    uint8_t before = r->before;
    for (; p < judged; p++) {
        uint8_t c = *p;
        if (rs_json_is_space(c)) {
            r->line_begins |= c == '\n';
            continue;
        }
        if (c == '{' && begins_event(r, p, before)) {
            judge_junk(r, before == ',');
            /* events that nothing holds together: what was taken for a document's header was one of them */
            if (r->in_member && !r->in_events && before == '}') r->open = false;
            if (!r->open && before == '[') { /* the first of a bare array */
                r->bare_array = true;
                if (!rs_reader_begin_document(r)) return r->core.failure;
            }
            r->saw_events = r->in_events = true;
            back_in_step(r, p, r->open ? AT_ELEMENT : AT_DOCUMENT);
            return RS_OK;
        }
        bool tried = rs_reader_offset(r, p) < r->tried_to;
        if (tried && !(c == ']' && before == '}')) {
            before = c;
            r->line_begins = false;
            continue;
        }
        if (c == '{' && !r->open && r->saw_events && (before == '}' || before == ']' || r->line_begins) &&
            begins_object(p, r->end)) {
            back_in_step(r, p, AT_DOCUMENT);
            return RS_OK;
        }
        if (c == ']' && r->open && r->in_events && ends_array(r, p)) {
            judge_junk(r, true);
            back_in_step(r, p + 1, r->bare_array ? AT_DOCUMENT : AT_MEMBER);
            if (r->bare_array) r->open = false;
            return RS_OK;
        }
        if ((r->in_member || c == '"') && resumes_member(p, r->end, r->in_events, r->window.last)) {
            back_in_step(r, p, AT_MEMBER);
            return RS_OK;
        }
        before = c;
        r->line_begins = false;
    }
    r->p = p;
    r->before = before;
    if (!r->window.last) return rs_reader_more(r, err);
    judge_junk(r, true);
    r->core.events->bytes_lost += rs_reader_offset(r, r->end) - r->damage_at;
    if (r->open) {
        r->core.events->truncated = true;
        rs_reader_problem(r, "truncated",
                          "nothing readable comes after the damage; everything before it was read",
                          rs_reader_offset(r, r->end));
    }
    r->place = AT_END;
    return RS_OK;
}
