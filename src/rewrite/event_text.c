/* Changing the text of one event. */
#include <string.h>

#include "base/interval.h"
#include "format/kineto_core.h"
#include "input/json.h"
#include "rewrite/slice_event.h"
#include "rewrite/trace_writer.h"

/* Where a member's key and value lie. */
typedef struct member {
    const uint8_t *key, *value, *end; /* key at its quote */
    rs_json_text name;
} member;

/* The member at *p (behind '{' or a comma); false at the end of the object. */
static bool next_member(const uint8_t **p, const uint8_t *end, member *out)
{
    static const rs_json_limits limits = {RS_JSON_MAX_DEPTH, (size_t)1 << 30};
    const uint8_t *q = rs_json_space(*p, end);
    while (q < end && *q == ',') q = rs_json_space(q + 1, end);
    if (q >= end || *q != '"') return false;
    out->key = q;
    if (rs_json_string(&q, end, (size_t)1 << 30, &out->name) != RS_JSON_OK) return false;
    q = rs_json_space(q, end);
    if (q >= end || *q != ':') return false;
    q = rs_json_space(q + 1, end);
    out->value = q;
    if (q >= end || rs_json_skip(&q, end, &limits) != RS_JSON_OK) return false;
    out->end = *p = q;
    return true;
}

static bool is_named(const member *m, const char *name)
{
    return m->name.length == strlen(name) && memcmp(m->name.bytes, name, m->name.length) == 0;
}

/* The last member of that name, as readers take it. */
static bool find_member(const uint8_t *bytes, size_t n, const char *key, member *out)
{
    const uint8_t *p = bytes + 1, *end = bytes + n;
    member m;
    bool found = false;
    while (n && next_member(&p, end, &m)) {
        if (!is_named(&m, key)) continue;
        *out = m;
        found = true;
    }
    return found;
}

void rs_event_member(const uint8_t *bytes, size_t n, const char *key, const uint8_t **value, size_t *length)
{
    member m;
    *value = NULL;
    *length = 0;
    if (!find_member(bytes, n, key, &m)) return;
    *value = m.value;
    *length = (size_t)(m.end - m.value);
}

static void put(rs_writer *out, const uint8_t *from, const uint8_t *to)
{
    rs_writer_bytes(out, (const char *)from, (size_t)(to - from));
}

void rs_event_write_with_arg(const uint8_t *bytes, size_t n, const char *added, size_t added_length,
                             rs_writer *out)
{
    const uint8_t *end = bytes + n;
    member m;
    if (find_member(bytes, n, "args", &m) && *m.value == '{') {
        bool empty = *rs_json_space(m.value + 1, end) == '}';
        put(out, bytes, m.value + 1);
        rs_writer_bytes(out, added, added_length);
        if (!empty) rs_writer_char(out, ',');
        put(out, m.value + 1, end);
        return;
    }
    bool empty = n < 2 || *rs_json_space(bytes + 1, end) == '}';
    put(out, bytes, end - 1);
    rs_writer_text(out, empty ? "\"args\":{" : ",\"args\":{");
    rs_writer_bytes(out, added, added_length);
    rs_writer_text(out, "}}");
}

void rs_event_write_bare(const uint8_t *bytes, size_t n, const char *name, rs_writer *out)
{
    const uint8_t *p = bytes + 1, *end = bytes + n;
    bool first = true;
    member m;
    rs_writer_char(out, '{');
    while (n && next_member(&p, end, &m)) {
        if (is_named(&m, "args")) continue;
        if (!first) rs_writer_char(out, ',');
        first = false;
        if (is_named(&m, "name")) {
            rs_writer_text(out, "\"name\":");
            rs_writer_text(out, name);
        } else {
            put(out, m.key, m.end);
        }
    }
    rs_writer_char(out, '}');
}

/* ---- shortened ----------------------------------------------------------------------------------------- */

static void put_raw(rs_writer *out, const char *key, const member *m)
{
    rs_writer_text(out, key);
    put(out, m->value, m->end);
}

/* The members but args, with other times. */
static void write_members(const uint8_t *bytes, size_t n, int64_t start, int64_t length, rs_writer *out)
{
    const uint8_t *p = bytes + 1, *end = bytes + n;
    member m;
    while (n && next_member(&p, end, &m)) {
        if (is_named(&m, "args")) continue;
        if (is_named(&m, "ts")) {
            rs_writer_text(out, "\"ts\": ");
            rs_writer_time(out, start, RS_UNIT_US);
        } else if (is_named(&m, "dur")) {
            rs_writer_text(out, "\"dur\": ");
            rs_writer_time(out, length, RS_UNIT_US);
        } else {
            put(out, m.key, m.end);
        }
        rs_writer_text(out, ", ");
    }
}

void rs_event_write_cut(const uint8_t *bytes, size_t n, int64_t from, int64_t to, rs_writer *out)
{
    member ts, dur, args;
    rs_exact_time start, length;
    int64_t start_ns, dur_ns;
    bool known = find_member(bytes, n, "ts", &ts) && find_member(bytes, n, "dur", &dur) &&
                 rs_exact_time_parse(ts.value, (size_t)(ts.end - ts.value), &start) &&
                 rs_exact_time_parse(dur.value, (size_t)(dur.end - dur.value), &length);
    if (known) rs_exact_time_round(&start, &length, &start_ns, &dur_ns, &known);
    if (!known) {
        put(out, bytes, bytes + n);
        return;
    }
    int64_t end_ns = rs_add_sat(start_ns, dur_ns);
    if (start_ns < from) start_ns = from;
    if (end_ns > to) end_ns = to;
    rs_writer_char(out, '{');
    write_members(bytes, n, start_ns, end_ns < start_ns ? 0 : end_ns - start_ns, out);
    put_raw(out, "\"args\": {\"uncut\": {\"ts\": ", &ts);
    put_raw(out, ", \"dur\": ", &dur);
    rs_writer_char(out, '}');
    bool has = find_member(bytes, n, "args", &args) && *args.value == '{' && args.end - args.value >= 2;
    if (has && *rs_json_space(args.value + 1, args.end) != '}') rs_writer_text(out, ", ");
    if (has)
        put(out, args.value + 1, args.end);
    else
        rs_writer_char(out, '}');
    rs_writer_char(out, '}');
}
