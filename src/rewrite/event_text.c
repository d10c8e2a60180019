/* Changing the text of one event. */
#include <string.h>

#include "input/json.h"
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
