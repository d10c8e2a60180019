/* One event of a rank as it is in the common trace: its text with other identifiers and times. */
#include <stdio.h>
#include <string.h>

#include "base/interval.h"
#include "format/kineto_core.h"
#include "rewrite/fuse_internal.h"

typedef struct span {
    const uint8_t *text;
    size_t n;
} span;

typedef struct member {
    span key; /* without quotes */
    span value;
} member;

/* Goes through the members of an object whose text has been checked. */
typedef struct members {
    const uint8_t *p, *end;
} members;

static members members_of(span object)
{
    return (members){object.text + 1, object.text + object.n};
}

static bool next_member(members *m, member *out)
{
    rs_json_limits limits = {RS_JSON_MAX_DEPTH, SIZE_MAX};
    rs_json_text key;
    m->p = rs_json_space(m->p, m->end);
    if (m->p < m->end && *m->p == ',') m->p = rs_json_space(m->p + 1, m->end);
    if (m->p >= m->end || *m->p != '"' || rs_json_string(&m->p, m->end, SIZE_MAX, &key) != RS_JSON_OK)
        return false;
    m->p = rs_json_space(m->p, m->end);
    if (m->p >= m->end || *m->p != ':') return false;
    m->p = rs_json_space(m->p + 1, m->end);
    const uint8_t *from = m->p;
    if (m->p >= m->end || rs_json_skip(&m->p, m->end, &limits) != RS_JSON_OK) return false;
    *out = (member){{key.bytes, key.length}, {from, (size_t)(m->p - from)}};
    return true;
}

static bool is(span s, const char *word)
{
    size_t n = strlen(word);
    return s.n == n && memcmp(s.text, word, n) == 0;
}

/* A value that is this string. */
static bool is_string(span s, const char *word)
{
    size_t n = strlen(word);
    return s.n == n + 2 && s.text[0] == '"' && memcmp(s.text + 1, word, n) == 0;
}

static void put(rs_writer *w, span s)
{
    rs_writer_bytes(w, (const char *)s.text, s.n);
}

/* NaN and Infinity are no JSON. */
static void put_value(rs_writer *w, span s)
{
    uint8_t c = s.n ? s.text[0] : 'n', d = s.n > 1 ? s.text[1] : 0;
    if (c == 'N' || c == 'I' || c == 'i' || (c == '-' && (d == 'I' || d == 'i')) || (c == 'n' && d == 'a'))
        rs_writer_text(w, "null");
    else
        put(w, s);
}

static void put_key(rs_writer *w, span key, bool *first)
{
    if (!*first) rs_writer_bytes(w, ", ", 2);
    *first = false;
    rs_writer_char(w, '"');
    put(w, key);
    rs_writer_bytes(w, "\": ", 3);
}

/* ---- values
 * ------------------------------------------------------------------------------------------------- */

typedef struct context {
    const rs_fuse_plan *plan;
    size_t index;
    rs_writer *w;
} context;

/* least: smaller identifiers mean "none" and stay. */
static void put_id(const context *c, rs_fuse_id id, int64_t least, span value)
{
    int64_t v;
    if (!rs_json_int(value.text, value.n, &v) || v < least)
        put_value(c->w, value);
    else
        rs_writer_int(c->w, rs_add_sat(v, (int64_t)c->index * c->plan->step[id]));
}

/* Process and flow ids may be strings: the rank becomes part of them. */
static void put_named_id(const context *c, rs_fuse_id id, int64_t least, span value)
{
    char mark[40];
    if (value.n < 2 || value.text[0] != '"') {
        put_id(c, id, least, value);
        return;
    }
    snprintf(mark, sizeof mark, " rank %lld\"", (long long)c->plan->ranks[c->index]->rank);
    put(c->w, (span){value.text, value.n - 1});
    rs_writer_text(c->w, mark);
}

/* Microseconds, to the last digit below the nanosecond. */
static void put_time(const context *c, span value)
{
    int64_t shift = c->plan->ranks[c->index]->shift;
    rs_exact_time t;
    if (shift == 0 || !rs_exact_time_parse(value.text, value.n, &t)) {
        put_value(c->w, value);
        return;
    }
    int64_t ns = rs_add_sat(t.ns, shift);
    if (t.rest == 0 || ns < 0) {
        rs_writer_time(c->w, ns, RS_UNIT_US);
        return;
    }
    char digits[64];
    int n = snprintf(digits, sizeof digits, "%lld.%03d%015llu", (long long)(ns / 1000), (int)(ns % 1000),
                     (unsigned long long)t.rest);
    while (n > 0 && digits[n - 1] == '0') n--;
    rs_writer_bytes(c->w, digits, (size_t)n);
}

static bool put_known_arg(const context *c, const member *m)
{
    static const struct {
        const char *key;
        rs_fuse_id id;
        int64_t least;
    } known[] = {
        {"correlation", RS_FUSE_CORRELATION, 1},
        {"External id", RS_FUSE_EXTERNAL, 1},
        {"external id", RS_FUSE_EXTERNAL, 1},
        {"wait_on_cuda_event_record_corr_id", RS_FUSE_CORRELATION, 1},
        {"Sequence number", RS_FUSE_SEQUENCE, 0},
        {"Ev Idx", RS_FUSE_INDEX, 0},
        {"Python id", RS_FUSE_PYTHON, 0},
        {"Python parent id", RS_FUSE_PYTHON, 0},
        {"Python module id", RS_FUSE_MODULE, 0},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (is(m->key, known[i].key)) {
            put_id(c, known[i].id, known[i].least, m->value);
            return true;
        }
    return false;
}

static void put_args(const context *c, span args)
{
    bool first = true;
    member m;
    rs_writer_char(c->w, '{');
    if (args.n && args.text[0] == '{')
        for (members all = members_of(args); next_member(&all, &m);) {
            if (is(m.key, "rank")) continue;
            put_key(c->w, m.key, &first);
            if (!put_known_arg(c, &m)) put_value(c->w, m.value);
        }
    put_key(c->w, (span){(const uint8_t *)"rank", 4}, &first);
    rs_writer_int(c->w, c->plan->ranks[c->index]->rank);
    rs_writer_char(c->w, '}');
}

/* ---- the event
 * ---------------------------------------------------------------------------------------------- */

static bool listed(const char *list, span category)
{
    for (const char *at = list; *at;) {
        size_t n = strcspn(at, ",");
        if (category.n == n + 2 && memcmp(category.text + 1, at, n) == 0) return true;
        at += n;
        at += *at == ',';
    }
    return false;
}

static bool wanted(const rs_fuse_filter *filter, bool is_metadata, span category)
{
    if (is_metadata) return true;
    bool has = category.n >= 2 && category.text[0] == '"';
    if (filter->only && !(has && listed(filter->only, category))) return false;
    return !(filter->without && has && listed(filter->without, category));
}

/* Processes get new ones, which tell the rank. */
static bool made_anew(span name)
{
    return is_string(name, "process_name") || is_string(name, "process_labels") ||
           is_string(name, "process_sort_index");
}

rs_fuse_outcome rs_fuse_event(const rs_fuse_plan *plan, size_t index, const rs_fuse_filter *filter,
                              const uint8_t *text, size_t n, const char *lead, rs_writer *writer)
{
    context c = {plan, index, writer};
    span object = {text, n}, phase = {0}, category = {0}, name = {0};
    member m;
    bool any = false, has_args = false, first = true;
    for (members all = members_of(object); next_member(&all, &m); any = true) {
        if (is(m.key, "ph")) phase = m.value;
        if (is(m.key, "cat")) category = m.value;
        if (is(m.key, "name")) name = m.value;
    }
    bool is_metadata = phase.n == 3 && phase.text[1] == 'M';
    if (!any) return RS_FUSE_NO_EVENT;
    if ((is_metadata && made_anew(name)) || !wanted(filter, is_metadata, category)) return RS_FUSE_LEFT_OUT;
    rs_writer_text(writer, lead);
    rs_writer_char(writer, '{');
    for (members all = members_of(object); next_member(&all, &m);) {
        put_key(writer, m.key, &first);
        if (is(m.key, "pid")) {
            put_named_id(&c, RS_FUSE_PID, INT64_MIN, m.value);
        } else if (is(m.key, "id")) {
            put_named_id(&c, RS_FUSE_FLOW, 0, m.value);
        } else if (is(m.key, "ts") && !is_metadata) {
            put_time(&c, m.value);
        } else if (is(m.key, "args")) {
            put_args(&c, m.value);
            has_args = true;
        } else {
            put_value(writer, m.value);
        }
    }
    if (!has_args) {
        put_key(writer, (span){(const uint8_t *)"args", 4}, &first);
        put_args(&c, (span){0});
    }
    rs_writer_char(writer, '}');
    return RS_FUSE_WRITTEN;
}
