/* Damage by structure: each member of a valid JSON text, and each field of a Protobuf message, is taken out, doubled or
 * becomes another value, while the text around it stays valid. What must come of it follows from which one it was. */
#pragma once

#include "input/protobuf.h"
#include "support.h"

/* ---- JSON ------------------------------------------------------------------------------------------------ */

#define MAX_MEMBERS 4000
#define MAX_DEPTH 32

typedef struct member {
    size_t key, at,
        end;     /* where its key (that of an element: its value) and its value begin, and where that ends */
    uint32_t up; /* the member that holds it; UINT32_MAX: the top holds it */
    bool element, scalar;
} member;

typedef struct members {
    member items[MAX_MEMBERS];
    size_t n;
} members;

static inline bool is_key(const char *s, const member *m, const char *key)
{
    return !m->element && strncmp(s + m->key + 1, key, strlen(key)) == 0;
}

static inline size_t json_blank(const char *s, size_t at)
{
    return at + strspn(s + at, " \t\r\n");
}

/* The end of a string, number or word. */
static inline size_t json_scalar_end(const char *s, size_t at)
{
    if (s[at] != '"') return at + strcspn(s + at, ",]} \t\r\n");
    for (at++; s[at] != '"'; at++) at += s[at] == '\\';
    return at + 1;
}

/* All members and elements of a valid text, those that hold others before these. */
static inline members *members_of(const char *s)
{
    members *m = calloc(1, sizeof *m);
    uint32_t open[MAX_DEPTH];
    char closing[MAX_DEPTH];
    size_t depth = 0, at = json_blank(s, 0);
    assert_non_null(m);
    assert_true(s[at] == '{' || s[at] == '[');
    open[0] = UINT32_MAX;
    closing[depth++] = s[at++] == '{' ? '}' : ']';
    while (depth) {
        at = json_blank(s, at);
        if (s[at] == ',') at = json_blank(s, at + 1);
        if (s[at] == closing[depth - 1]) {
            at++;
            if (open[--depth] != UINT32_MAX) m->items[open[depth]].end = at;
            continue;
        }
        assert_true(m->n < MAX_MEMBERS && depth < MAX_DEPTH);
        member *now = &m->items[m->n];
        *now =
            (member){.key = at, .up = open[depth - 1], .element = closing[depth - 1] == ']', .scalar = true};
        if (!now->element) {
            at = json_blank(s, json_scalar_end(s, at));
            assert_true(s[at] == ':');
            at = json_blank(s, at + 1);
        }
        now->at = at;
        if (s[at] == '{' || s[at] == '[') {
            now->scalar = false;
            open[depth] = (uint32_t)m->n;
            closing[depth++] = s[at++] == '{' ? '}' : ']';
        } else {
            at = now->end = json_scalar_end(s, at);
        }
        m->n++;
    }
    return m;
}

static const char *const json_values[] = {
    "null", "-1",    "1e400",     "\"x\"", "\"\"", "[]", "{}", "true", "18446744073709551615",
    "0.5",  "[[1]]", "{\"a\": 0}"};
enum { N_JSON_WAYS = sizeof json_values / sizeof *json_values + 3 };

/* The text in which that happened to the member: another value, none, an unknown name, or twice. */
static inline text member_damage(const char *s, const member *m, size_t way)
{
    text t = {0};
    size_t n_values = N_JSON_WAYS - 3, n = strlen(s);
    if (way < n_values) {
        text_add(&t, s, m->at);
        text_puts(&t, json_values[way]);
        text_add(&t, s + m->end, n - m->end);
    } else if (way == n_values) { /* with the comma before or behind it */
        size_t from = m->key, to = json_blank(s, m->end);
        if (s[to] == ',') {
            to++;
        } else {
            to = m->end;
            while (from && strchr(" \t\r\n", s[from - 1])) from--;
            if (from && s[from - 1] == ',') from--;
        }
        text_add(&t, s, from);
        text_add(&t, s + to, n - to);
    } else if (way == n_values + 1) {
        text_add(&t, s, m->key + !m->element);
        if (!m->element) text_puts(&t, "nobodys_");
        text_add(&t, s + m->key + !m->element, n - m->key - !m->element);
    } else {
        text_add(&t, s, m->end);
        text_puts(&t, ", ");
        text_add(&t, s + m->key, m->end - m->key);
        text_add(&t, s + m->end, n - m->end);
    }
    return t;
}

/* The element of a list that holds the member, or is it: that of the innermost list of objects around it. UINT32_MAX: none. */
static inline uint32_t member_record(const members *m, const char *s, uint32_t at)
{
    while (at != UINT32_MAX && !(m->items[at].element && s[m->items[at].at] == '{')) at = m->items[at].up;
    return at;
}

/* ---- Protobuf -------------------------------------------------------------------------------------------- */

#define MAX_FIELDS 4000

typedef struct pb_place {
    size_t from, body, end; /* its tag, what it holds, and the end */
    uint32_t up;
    uint32_t number;
    rs_pb_type type;
    bool message; /* its bytes are fields to their end, as a text hardly ever is */
} pb_place;

typedef struct pb_places {
    pb_place items[MAX_FIELDS];
    size_t n;
} pb_places;

static inline pb_places *pb_places_of(const uint8_t *bytes, size_t n)
{
    pb_places *p = calloc(1, sizeof *p);
    rs_pb m = {bytes, bytes + n};
    rs_pb_field f;
    assert_non_null(p);
    /* breadth first: each place is looked into when it is reached */
    for (size_t at = 0;; at++) {
        uint32_t up = at ? (uint32_t)(at - 1) : UINT32_MAX;
        if (at) m = (rs_pb){bytes + p->items[at - 1].body, bytes + p->items[at - 1].end};
        if (!at || p->items[at - 1].message)
            while (rs_pb_next(&m, &f) == RS_PB_FIELD && p->n < MAX_FIELDS) {
                bool holds = f.type == RS_PB_BYTES;
                p->items[p->n++] =
                    (pb_place){.from = (size_t)(f.from - bytes),
                               .body = (size_t)((holds ? f.bytes.at : m.at) - bytes),
                               .end = (size_t)(m.at - bytes),
                               .up = up,
                               .number = f.number,
                               .type = f.type,
                               .message = holds && rs_pb_length(f.bytes) > 1 && rs_pb_is_whole(f.bytes)};
            }
        if (at == p->n) return p;
    }
}

static inline void pb_put(text *t, uint64_t value)
{
    for (; value > 127; value >>= 7) text_add(t, &(uint8_t){(uint8_t)(value | 128)}, 1);
    text_add(t, &(uint8_t){(uint8_t)value}, 1);
}

static inline void pb_put_number(text *t, uint32_t field, uint64_t value)
{
    pb_put(t, (uint64_t)field << 3 | RS_PB_VARINT);
    pb_put(t, value);
}

enum { N_PB_WAYS = 14 };

/* What stands for the field instead of it. */
static inline text pb_instead(const uint8_t *bytes, const pb_place *p, size_t way)
{
    static const uint64_t numbers[] = {0, 1, UINT32_MAX, INT64_MAX, UINT64_MAX, UINT64_C(1) << 63};
    static const char *const texts[] = {"", "x", "\xff\xfe", "-9"};
    text t = {0};
    if (way == 0) return t;
    if (way == 1) { /* twice */
        text_add(&t, bytes + p->from, p->end - p->from);
        text_add(&t, bytes + p->from, p->end - p->from);
    } else if (way < 8) {
        pb_put_number(&t, p->number, numbers[way - 2]);
    } else if (way < 12) {
        pb_put(&t, (uint64_t)p->number << 3 | RS_PB_BYTES);
        pb_put(&t, strlen(texts[way - 8]));
        text_puts(&t, texts[way - 8]);
    } else { /* of fixed size */
        pb_put(&t, (uint64_t)p->number << 3 | (way == 12 ? RS_PB_FIXED64 : RS_PB_FIXED32));
        text_add(&t, "\x01\x02\x03\x04\x05\x06\x07\x08", way == 12 ? 8 : 4);
    }
    return t;
}

/* The message with something else in the field's place; lengths around it are put right. */
static inline text pb_damage(const uint8_t *bytes, size_t n, const pb_places *all, size_t at, size_t way)
{
    const pb_place *p = &all->items[at];
    text t = pb_instead(bytes, p, way);
    for (uint32_t up = p->up;; up = all->items[up].up) {
        const pb_place *around = up == UINT32_MAX ? NULL : &all->items[up];
        size_t begin = around ? around->body : 0, end = around ? around->end : n;
        text whole = {0}, body = {0};
        text_add(&body, bytes + begin, p->from - begin);
        if (t.n) text_add(&body, t.s, t.n);
        text_add(&body, bytes + p->end, end - p->end);
        if (around) {
            pb_put(&whole, (uint64_t)around->number << 3 | RS_PB_BYTES);
            pb_put(&whole, body.n);
        }
        if (body.n) text_add(&whole, body.s, body.n);
        text_clear(&body);
        text_clear(&t);
        t = whole;
        if (!around) return t;
        p = around;
    }
}
