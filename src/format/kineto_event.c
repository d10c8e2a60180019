#include <string.h>

#include "base/problems.h"
#include "format/kineto_core.h"

/* What an event is besides its columns, while the reference reader works on it. */
typedef struct reading {
    rs_kineto *core;
    const uint8_t *p, *end;
    const uint8_t *data; /* window start, to turn pointers into offsets */
    uint64_t base;
    rs_event_now now;
    rs_exact_time ts, dur;
    bool has_ts, has_dur;
    unsigned rounded;
    const uint8_t *args_begin;
} reading;

static uint64_t offset_of(const reading *r, const uint8_t *p)
{
    return r->base + (uint64_t)(p - r->data);
}

bool rs_kineto_fail(rs_kineto *core, rs_status status)
{
    if (core->failure == RS_OK) core->failure = status;
    return false;
}

static void kineto_problem(rs_kineto *core, const char *kind, const char *message, uint64_t offset)
{
    core->defect = true;
    if (core->n_pending == RS_MAX_PENDING) return;
    core->pending[core->n_pending].kind = kind;
    core->pending[core->n_pending].message = message;
    core->pending[core->n_pending].columns = core->reading;
    core->pending[core->n_pending].unreliable = false;
    core->pending[core->n_pending++].offset = offset;
}

/* Of a value that is kept. */
static void doubt(rs_kineto *core, const char *kind, const char *message, uint64_t offset)
{
    unsigned n = core->n_pending;
    kineto_problem(core, kind, message, offset);
    if (core->n_pending > n) core->pending[n].unreliable = true;
}

void rs_kineto_report(rs_kineto *core)
{
    for (unsigned i = 0; i < core->n_pending; i++) {
        const rs_problem like = {.kind = core->pending[i].kind,
                                 .message = core->pending[i].message,
                                 .file = (char *)(uintptr_t)core->file, /* only copied */
                                 .rank = -1,
                                 .severity = core->pending[i].unreliable ? RS_WARNING : RS_LOSS,
                                 .count = 1,
                                 .n_offsets = core->pending[i].offset != RS_NO_OFFSET,
                                 .offsets = {core->pending[i].offset},
                                 .columns = core->pending[i].columns};
        rs_problems_count(&core->events->problems, &like);
    }
    core->n_pending = 0;
}

void rs_kineto_rollback(rs_kineto *core)
{
    uint32_t row = (uint32_t)core->events->n;
    for (size_t i = 0; i < RS_N_COLUMNS; i++) {
        rs_sparse *s = &core->events->args[i];
        while (s->n && s->rows[s->n - 1] == row) s->n--;
    }
    for (size_t i = 0; i < core->events->n_counters; i++) {
        rs_sparse *s = &core->events->counters[i].values;
        while (s->n && s->rows[s->n - 1] == row) s->n--;
    }
    rs_others_forget(&core->events->others, row);
}

bool rs_kineto_commit(rs_kineto *core, const rs_event_now *now)
{
    rs_events *e = core->events;
    if (e->n == e->capacity) {
        rs_status status = rs_events_reserve(e, 1, core->err);
        if (status != RS_OK) return rs_kineto_fail(core, status);
    }
    uint32_t thread = core->last_thread;
    if (e->n_threads == 0 || now->thread.pid != core->last_pair.pid ||
        now->thread.tid != core->last_pair.tid) {
        thread = rs_events_thread(e, now->thread);
        if (thread == UINT32_MAX) return rs_kineto_fail(core, rs_fail_nomem(core->err, "threads"));
        core->last_thread = thread;
        core->last_pair = now->thread;
    }
    size_t n = e->n++;
    e->start[n] = now->start;
    e->duration[n] = now->duration;
    e->name[n] = now->name;
    e->thread[n] = thread;
    e->category[n] = now->category;
    e->phase[n] = now->phase;
    return true;
}

static const rs_event_now nothing = {
    .start = RS_NO_TIME,
    .duration = RS_NO_TIME,
    .thread = {.pid = RS_NO_VALUE, .tid = RS_NO_VALUE, .pid_text = RS_NO_STRING, .tid_text = RS_NO_STRING},
};

bool rs_kineto_lost_row(rs_kineto *core)
{
    return rs_kineto_commit(core, &nothing);
}

static char *scratch_of(rs_kineto *core, size_t n)
{
    if (n > core->scratch_size) {
        char *grown = rs_realloc(core->scratch, n + n / 2);
        if (!grown) return NULL;
        core->scratch = grown;
        core->scratch_size = n + n / 2;
    }
    return core->scratch;
}

uint32_t rs_kineto_text(rs_kineto *core, const rs_json_text *text, uint64_t offset)
{
    const char *bytes = (const char *)text->bytes;
    size_t n = text->length;
    bool damaged = text->high && !rs_utf8_valid(text->bytes, n);
    if (text->control)
        kineto_problem(core, "control_character", "raw control characters inside a string; kept as they are",
                       offset);
    if (text->escaped || damaged) {
        char *out = scratch_of(core, n * 3 + 1);
        bool repaired = false;
        if (!out) {
            rs_kineto_fail(core, rs_fail_nomem(core->err, "a string"));
            return RS_NO_STRING;
        }
        n = text->escaped ? rs_json_decode(text->bytes, n, out, &repaired)
                          : rs_utf8_repair(text->bytes, n, out);
        bytes = out;
        if (damaged) /* PyTorch 2.6 itself writes such names of Python functions */
            doubt(core, "invalid_utf8", "bytes that are no UTF-8 inside a string; replaced by U+FFFD",
                  offset);
        else if (repaired)
            kineto_problem(core, "bad_escape", "an escape in a string means nothing; kept as it is", offset);
    }
    uint32_t id = rs_strings_add(&core->events->strings, bytes, n);
    if (id == RS_NO_STRING) rs_kineto_fail(core, rs_fail_nomem(core->err, "names"));
    return id;
}

static void see(rs_kineto *core, const uint8_t *begin, const uint8_t *end, rs_op op, unsigned column)
{
    if (core->n_seen == RS_MAX_ARGS) {
        core->learnable = false;
        return;
    }
    core->seen[core->n_seen++] =
        (rs_step_seen){.begin = begin, .end = end, .op = op, .column = (uint8_t)column};
}

/* ---- values ----------------------------------------------------------------------------------------- */

static rs_json_status bad(reading *r, const uint8_t *at)
{
    r->p = at;
    return RS_JSON_BAD;
}

/* Passes over a value that is not kept. */
static rs_json_status skip(reading *r)
{
    const uint8_t *begin = r->p;
    rs_json_status s = rs_json_skip(&r->p, r->end, &r->core->limits);
    if (s != RS_JSON_OK) return s;
    if (*begin == '"')
        see(r->core, begin + 1, r->p, RS_OP_SKIP_STRING, 0);
    else if (*begin == '[')
        see(r->core, begin, r->p, RS_OP_SKIP_ARRAY, 0);
    else if (*begin == '-' || (*begin >= '0' && *begin <= '9'))
        see(r->core, begin, r->p, RS_OP_SKIP_NUMBER, 0);
    else if (*begin == '{')
        r->core->learnable = false;
    return RS_JSON_OK;
}

/* A scalar's text: a number as it stands, or what a string holds. false in *is when it is neither. */
static rs_json_status scalar(reading *r, rs_json_text *text, bool *is, bool *quoted)
{
    *quoted = *r->p == '"';
    if (*quoted) {
        *is = true;
        return rs_json_string(&r->p, r->end, r->core->limits.max_string, text);
    }
    const uint8_t *begin = r->p;
    rs_json_status s = rs_json_skip(&r->p, r->end, &r->core->limits);
    *text = (rs_json_text){.bytes = begin, .length = (size_t)(r->p - begin)};
    *is = s == RS_JSON_OK && (*begin == '-' || (*begin >= '0' && *begin <= '9'));
    return s;
}

static bool is_null(const rs_json_text *t)
{
    return t->length == 4 && memcmp(t->bytes, "null", 4) == 0;
}

static rs_json_status read_time(reading *r, rs_exact_time *out, bool *has, rs_op op)
{
    rs_json_text text;
    bool is, quoted;
    const uint8_t *begin = r->p;
    rs_json_status s = scalar(r, &text, &is, &quoted);
    if (s != RS_JSON_OK) return s;
    *has = is && rs_exact_time_parse(text.bytes, text.length, out);
    if (quoted || !*has) r->core->learnable = false;
    if (!*has && !is_null(&text)) {
        kineto_problem(r->core, "bad_time", "ts or dur is no finite number of microseconds within 292 years",
                       offset_of(r, begin));
    }
    see(r->core, begin, r->p, op, 0);
    return RS_JSON_OK;
}

/* pid or tid: a number, or a string that then stands for itself. */
static rs_json_status read_id(reading *r, int64_t *number, uint32_t *string, rs_op op)
{
    rs_json_text text;
    bool is, quoted;
    const uint8_t *begin = r->p;
    rs_json_status s = scalar(r, &text, &is, &quoted);
    if (s != RS_JSON_OK) return s;
    if (quoted || !is) r->core->learnable = false;
    *string = RS_NO_STRING;
    if (quoted) {
        uint32_t id = rs_kineto_text(r->core, &text, offset_of(r, begin));
        if (id == RS_NO_STRING) return RS_JSON_BAD;
        *string = id;
        *number = rs_thread_id_of_text(id);
    } else if (!is || !rs_json_int(text.bytes, text.length, number)) {
        *number = RS_NO_VALUE;
        if (!is_null(&text))
            kineto_problem(r->core, "number_range", "a number that no 64 bits hold; the value is unknown",
                           offset_of(r, begin));
    }
    see(r->core, begin, r->p, op, 0);
    return RS_JSON_OK;
}

static rs_json_status read_word(reading *r, rs_json_text *text, bool *is)
{
    const uint8_t *begin = r->p;
    if (*begin != '"') {
        *is = false;
        r->core->learnable = false;
        return rs_json_skip(&r->p, r->end, &r->core->limits);
    }
    *is = true;
    return rs_json_string(&r->p, r->end, r->core->limits.max_string, text);
}

static rs_json_status read_phase(reading *r)
{
    rs_json_text text;
    bool is;
    r->now.phase = 0;
    rs_json_status s = read_word(r, &text, &is);
    /* the phase is part of the layout: it is not seen as a value */
    if (s == RS_JSON_OK && is && text.length == 1) r->now.phase = text.bytes[0];
    return s;
}

static rs_json_status read_category(reading *r)
{
    rs_json_text text;
    bool is;
    const uint8_t *begin = r->p;
    r->now.category = 0;
    rs_json_status s = read_word(r, &text, &is);
    if (s != RS_JSON_OK || !is) return s;
    uint32_t name = rs_kineto_text(r->core, &text, offset_of(r, begin));
    if (name == RS_NO_STRING) return RS_JSON_BAD;
    uint32_t category = rs_events_category(r->core->events, name);
    if (category == UINT32_MAX) {
        rs_kineto_fail(r->core, rs_fail_nomem(r->core->err, "categories"));
        return RS_JSON_BAD;
    }
    r->now.category = (uint16_t)category;
    return RS_JSON_OK;
}

static rs_json_status read_name(reading *r)
{
    rs_json_text text;
    bool is;
    const uint8_t *begin = r->p;
    r->now.name = 0;
    rs_json_status s = read_word(r, &text, &is);
    if (s != RS_JSON_OK || !is) return s;
    r->now.name = rs_kineto_text(r->core, &text, offset_of(r, begin));
    if (r->now.name == RS_NO_STRING) return RS_JSON_BAD;
    see(r->core, begin + 1, r->p, RS_OP_NAME, 0);
    return RS_JSON_OK;
}

/* ---- arguments -------------------------------------------------------------------------------------- */

static bool push(reading *r, rs_column_id column, int64_t i, double d, uint32_t text)
{
    rs_events *e = r->core->events;
    rs_sparse *s = &e->args[column];
    uint32_t row = (uint32_t)e->n;
    if (rs_column_infos[column].type == RS_COLUMN_INT) {
        rs_status status = rs_events_push_int(e, column, row, i, r->core->err);
        return status == RS_OK || rs_kineto_fail(r->core, status);
    }
    if (s->n == s->capacity) {
        rs_status status = rs_events_reserve_column(e, column, 1, r->core->err);
        if (status != RS_OK) return rs_kineto_fail(r->core, status);
    }
    s->rows[s->n] = row;
    if (rs_column_infos[column].type == RS_COLUMN_REAL)
        s->reals[s->n++] = d;
    else
        s->texts[s->n++] = text;
    return true;
}

static rs_json_status read_number_argument(reading *r, rs_column_id column)
{
    rs_json_text text;
    bool is, quoted;
    const uint8_t *begin = r->p;
    rs_json_status s = scalar(r, &text, &is, &quoted);
    if (s != RS_JSON_OK) return s;
    bool real = rs_column_infos[column].type == RS_COLUMN_REAL;
    int64_t i = 0;
    double d = 0;
    bool good =
        is && (real ? rs_json_real(text.bytes, text.length, &d) : rs_json_int(text.bytes, text.length, &i));
    if (good && !push(r, column, i, d, 0)) return RS_JSON_BAD;
    if (quoted || !good) r->core->learnable = false;
    if (!good && !quoted) {
        bool word = text.length && (*text.bytes == 't' || *text.bytes == 'f' || is_null(&text));
        if (!word && *text.bytes != '[' && *text.bytes != '{')
            kineto_problem(r->core, "number_range",
                           "a number that no 64 bits hold, NaN or Infinity; the value is unknown",
                           offset_of(r, begin));
    }
    see(r->core, begin, r->p, real ? RS_OP_REAL : RS_OP_INT, column);
    return RS_JSON_OK;
}

static rs_json_status read_text_argument(reading *r, rs_column_id column)
{
    const uint8_t *begin = r->p;
    rs_json_text text = {0};
    rs_json_status s;
    bool string = *begin == '"';
    if (string) {
        s = rs_json_string(&r->p, r->end, r->core->limits.max_string, &text);
    } else {
        s = rs_json_skip(&r->p, r->end, &r->core->limits);
        text = (rs_json_text){.bytes = begin, .length = (size_t)(r->p - begin), .high = true};
        if (s == RS_JSON_OK && text.length > r->core->limits.max_string) s = RS_JSON_LONG;
    }
    if (s != RS_JSON_OK) return s;
    if (is_null(&text) && !string) return RS_JSON_OK;
    uint32_t id = rs_kineto_text(r->core, &text, offset_of(r, begin));
    if (id == RS_NO_STRING || !push(r, column, 0, 0, id)) return RS_JSON_BAD;
    if (string)
        see(r->core, begin + 1, r->p, RS_OP_STRING, column);
    else if (*begin == '[')
        see(r->core, begin, r->p, RS_OP_RAW, column);
    else
        r->core->learnable = false;
    return RS_JSON_OK;
}

/* The column of a key, or RS_N_COLUMNS. Keys are few: their length and last letter leave one or two
 * candidates. */
static rs_column_id column_of(const uint8_t *key, size_t n)
{
    for (size_t i = 0; i < RS_COL_FLOW_ID; i++) {
        const rs_column_info *c = &rs_column_infos[i];
        if (c->key_length == n && n && c->key[n - 1] == (char)key[n - 1] && memcmp(c->key, key, n) == 0)
            return (rs_column_id)i;
    }
    if (n == 11 && memcmp(key, "external id", 11) == 0) return RS_COL_EXTERNAL_ID;
    /* rocprofv3's, in its Perfetto traces as JSON */
    if (n == 7 && memcmp(key, "corr_id", 7) == 0) return RS_COL_CORRELATION;
    if (n == 9 && memcmp(key, "stream_ID", 9) == 0) return RS_COL_STREAM;
    if (n == 10 && memcmp(key, "copy_bytes", 10) == 0) return RS_COL_BYTES;
    return RS_N_COLUMNS;
}

/* Steps over white space and one of two bytes; returns the byte, or 0 with *s set. */
static uint8_t expect(reading *r, uint8_t a, uint8_t b, rs_json_status *s)
{
    r->p = rs_json_space(r->p, r->end);
    if (r->p >= r->end) {
        *s = RS_JSON_END;
        return 0;
    }
    if (*r->p != a && *r->p != b) {
        *s = RS_JSON_BAD;
        return 0;
    }
    return *r->p++;
}

/* Reads `"key" :` and stops on the value's first byte. */
static rs_json_status read_key(reading *r, rs_json_text *key)
{
    rs_json_status s = RS_JSON_OK;
    r->p = rs_json_space(r->p, r->end);
    if (r->p >= r->end) return RS_JSON_END;
    if (*r->p != '"') return RS_JSON_BAD;
    s = rs_json_string(&r->p, r->end, r->core->limits.max_string, key);
    if (s != RS_JSON_OK || !expect(r, ':', ':', &s)) return s;
    r->p = rs_json_space(r->p, r->end);
    return r->p < r->end ? RS_JSON_OK : RS_JSON_END;
}

typedef rs_json_status (*member_fn)(reading *r, const rs_json_text *key);

/* Reads an object at '{' of which every member is handed on, standing on its value. */
static rs_json_status read_object(reading *r, member_fn member)
{
    rs_json_status s = RS_JSON_OK;
    r->p++;
    r->p = rs_json_space(r->p, r->end);
    if (r->p < r->end && *r->p == '}') {
        r->p++;
        return RS_JSON_OK;
    }
    for (;;) {
        rs_json_text key;
        s = read_key(r, &key);
        if (s == RS_JSON_OK) s = member(r, &key);
        if (s != RS_JSON_OK) return s;
        uint8_t c = expect(r, ',', '}', &s);
        if (!c) return s;
        if (c == '}') return RS_JSON_OK;
    }
}

/* Takes back the present row's value of a column, if there is one: a key given again counts alone. */
static void forget(rs_kineto *core, size_t column)
{
    rs_sparse *s = &core->events->args[column];
    if (s->n == 0 || s->rows[s->n - 1] != core->events->n) return;
    s->n--;
    core->learnable = false;
}

/* Adds a value under a name that is no column's. */
static bool push_other(reading *r, const rs_json_text *key, rs_other_kind kind, int64_t value)
{
    rs_events *e = r->core->events;
    uint32_t name, row = (uint32_t)e->n, text = rs_kineto_text(r->core, key, offset_of(r, key->bytes));
    if (text == RS_NO_STRING) return false;
    rs_status status = rs_other_name_add(e, text, row, &name, r->core->err);
    if (status == RS_OK && name == RS_NO_OTHER) {
        kineto_problem(r->core, "too_many_arguments",
                       "more names of arguments than are kept (1024 of one file); a value of another name "
                       "is unknown",
                       offset_of(r, key->bytes));
        return true;
    }
    if (status == RS_OK) status = rs_other_add(e, name, row, kind, value, r->core->err);
    return status == RS_OK || rs_kineto_fail(r->core, status);
}

/* What a value's JSON text says that is no string. A number that neither type holds stays its text. */
static rs_other_kind kind_of(const uint8_t *text, size_t n, int64_t *value)
{
    double d;
    bool whole = true;
    for (size_t i = 0; i < n && whole; i++)
        whole = text[i] == '-' || text[i] == '+' || (text[i] >= '0' && text[i] <= '9');
    if (whole && rs_json_int(text, n, value)) return RS_OTHER_INT;
    if (whole || !rs_json_real(text, n, &d)) return RS_OTHER_TEXT;
    memcpy(value, &d, sizeof d);
    return RS_OTHER_REAL;
}

/* An argument that is no column. The fast reader knows none: layouts with such arguments are not learned. */
static rs_json_status read_other(reading *r, const rs_json_text *key)
{
    const uint8_t *begin = r->p;
    rs_json_text text = {0};
    bool is, string;
    r->core->learnable = false;
    rs_json_status s = scalar(r, &text, &is, &string);
    if (s != RS_JSON_OK) return s;
    if (!string && text.length > r->core->limits.max_string) return RS_JSON_LONG;
    int64_t value = 0;
    rs_other_kind kind = RS_OTHER_TEXT;
    uint8_t first = string ? '"' : begin[*begin == '-'] | 32;
    if (!string && is_null(&text)) {
        kind = RS_OTHER_NONE;
    } else if (first == 'n' || first == 'i') {
        kind = RS_OTHER_NONE;
        kineto_problem(r->core, "number_range",
                       "a number that no 64 bits hold, NaN or Infinity; the value is unknown",
                       offset_of(r, begin));
    } else if (is && !string) {
        kind = kind_of(text.bytes, text.length, &value);
    }
    if (kind == RS_OTHER_TEXT) {
        text.high |= !string;
        uint32_t id = rs_kineto_text(r->core, &text, offset_of(r, begin));
        if (id == RS_NO_STRING) return RS_JSON_BAD;
        value = id;
    }
    return push_other(r, key, kind, value) ? RS_JSON_OK : RS_JSON_BAD;
}

static rs_json_status argument(reading *r, const rs_json_text *key)
{
    rs_column_id column = column_of(key->bytes, key->length);
    bool wanted = column < RS_N_COLUMNS && (r->core->columns >> column & 1);
    if (column == RS_N_COLUMNS && (r->core->columns & RS_OTHER_ARGUMENTS)) {
        r->core->reading = RS_OTHER_ARGUMENTS;
        rs_json_status s = read_other(r, key);
        r->core->reading = 0;
        return s;
    }
    if (!wanted) return skip(r);
    forget(r->core, column);
    r->core->reading = UINT64_C(1) << column;
    rs_json_status s = rs_column_infos[column].type == RS_COLUMN_TEXT ? read_text_argument(r, column)
                                                                      : read_number_argument(r, column);
    r->core->reading = 0;
    return s;
}

#define MAX_SERIES 100 /* fewer than the store keeps of one file */

/* Whether one counter more may be kept: what counter events may name is without end. */
static bool has_room(reading *r, uint32_t name)
{
    const rs_events *e = r->core->events;
    if (e->n_counters < MAX_SERIES) return true;
    for (size_t i = 0; i < e->n_counters; i++)
        if (e->counters[i].name == name) return true;
    kineto_problem(r->core, "many_counters", "counters beyond the first 100 names are not read",
                   offset_of(r, r->p));
    return false;
}

/* Second pass over the arguments of a cuda_profiler_range: whatever number is no known column is a counter; and
 * over those of a counter event, where every number is one. */
static rs_json_status counter(reading *r, const rs_json_text *key)
{
    const uint8_t *begin = r->p;
    rs_json_status s = rs_json_skip(&r->p, r->end, &r->core->limits);
    double value;
    bool is_event = r->now.phase == 'C';
    if (s != RS_JSON_OK || (!is_event && column_of(key->bytes, key->length) < RS_N_COLUMNS) ||
        !rs_json_real(begin, (size_t)(r->p - begin), &value))
        return s;
    uint32_t name = rs_kineto_text(r->core, key, offset_of(r, key->bytes));
    if (name == RS_NO_STRING) return RS_JSON_BAD;
    if (is_event && !has_room(r, name)) return RS_JSON_OK;
    rs_status status =
        rs_events_add_counter(r->core->events, name, (uint32_t)r->core->events->n, value, r->core->err);
    if (status == RS_OK) return RS_JSON_OK;
    rs_kineto_fail(r->core, status);
    return RS_JSON_BAD;
}

static bool key_is(const rs_json_text *key, const char *word, size_t n)
{
    return key->length == n && memcmp(key->bytes, word, n) == 0;
}
#define KEY_IS(key, word) key_is(key, word, sizeof(word) - 1)

static rs_json_status read_flow_id(reading *r)
{
    rs_json_text text;
    bool is, quoted;
    const uint8_t *begin = r->p;
    rs_json_status s = scalar(r, &text, &is, &quoted);
    int64_t id;
    if (s != RS_JSON_OK) return s;
    forget(r->core, RS_COL_FLOW_ID);
    if (is && rs_json_int(text.bytes, text.length, &id)) {
        if ((r->core->columns >> RS_COL_FLOW_ID & 1) && !push(r, RS_COL_FLOW_ID, id, 0, 0))
            return RS_JSON_BAD;
    } else if (is && !quoted) {
        kineto_problem(r->core, "number_range", "a number that no 64 bits hold; the value is unknown",
                       offset_of(r, begin));
    }
    if (!is || quoted) r->core->learnable = false;
    see(r->core, begin, r->p, RS_OP_ID, RS_COL_FLOW_ID);
    return RS_JSON_OK;
}

/* No event has a member that holds events: a bracket or a key too many stands before those of the array. */
static rs_json_status skip_member(reading *r)
{
    bool opens = (*r->p == '[' || *r->p == '{') && rs_kineto_opens_events(r->p, r->end);
    return opens ? bad(r, r->p) : skip(r);
}

static rs_json_status member(reading *r, const rs_json_text *key)
{
    if (KEY_IS(key, "ph")) return read_phase(r);
    if (KEY_IS(key, "cat")) return read_category(r);
    if (KEY_IS(key, "name")) return read_name(r);
    if (KEY_IS(key, "pid")) return read_id(r, &r->now.thread.pid, &r->now.thread.pid_text, RS_OP_PID);
    if (KEY_IS(key, "tid")) return read_id(r, &r->now.thread.tid, &r->now.thread.tid_text, RS_OP_TID);
    if (KEY_IS(key, "ts")) return read_time(r, &r->ts, &r->has_ts, RS_OP_TS);
    if (KEY_IS(key, "dur")) return read_time(r, &r->dur, &r->has_dur, RS_OP_DUR);
    if (KEY_IS(key, "id")) return read_flow_id(r);
    if (KEY_IS(key, "args")) {
        for (size_t i = 0; r->args_begin && i < RS_COL_FLOW_ID; i++) forget(r->core, i);
        rs_others_forget(&r->core->events->others, (uint32_t)r->core->events->n);
        if (r->args_begin) r->core->learnable = false;
        r->args_begin = NULL;
        if (*r->p != '{') return skip_member(r);
        r->args_begin = r->p;
        return read_object(r, argument);
    }
    return skip_member(r);
}

/* Repeated members would be read in the wrong order by a learned layout's fixed one. */
static bool members_repeat(const rs_kineto *core)
{
    unsigned seen = 0;
    for (unsigned i = 0; i < core->n_seen; i++) {
        rs_op op = core->seen[i].op;
        if (op > RS_OP_ID || op == RS_OP_NONE) continue;
        if (seen >> op & 1) return true;
        seen |= 1u << op;
    }
    return false;
}

static rs_json_status finish(reading *r)
{
    rs_kineto *core = r->core;
    bool counts =
        core->events->categories[r->now.category].kind == RS_KIND_PROFILER_RANGE || r->now.phase == 'C';
    if (r->args_begin && counts) {
        if (core->clean_only) return RS_JSON_BAD; /* counters are read in order, by the one reader */
        const uint8_t *after = r->p;
        r->p = r->args_begin;
        core->learnable = false;
        rs_json_status s = read_object(r, counter);
        if (s != RS_JSON_OK) return s;
        r->p = after;
    }
    if (r->has_ts) {
        bool ok;
        r->rounded =
            rs_exact_time_round(&r->ts, r->has_dur ? &r->dur : NULL, &r->now.start, &r->now.duration, &ok);
        if (r->rounded) core->learnable = false;
        if (!ok) {
            r->now.start = r->now.duration = RS_NO_TIME;
            kineto_problem(core, "bad_time", "ts + dur is beyond 292 years", offset_of(r, r->p));
        }
    } else if (r->has_dur) {
        /* from an unknown start on: rounded by itself */
        const rs_exact_time zero = {0};
        bool ok;
        int64_t start;
        r->rounded = rs_exact_time_round(&zero, &r->dur, &start, &r->now.duration, &ok);
        if (r->rounded) core->learnable = false;
        if (!ok) r->now.duration = RS_NO_TIME;
    }
    return RS_JSON_OK;
}

rs_json_status rs_kineto_event(rs_kineto *core, const uint8_t **p, const uint8_t *end, const uint8_t *data,
                               uint64_t base)
{
    reading r = {.core = core, .p = *p, .end = end, .data = data, .base = base, .now = nothing};
    core->n_seen = 0;
    core->learnable = core->shapes != NULL;
    core->defect = false;
    core->n_pending = 0;
    rs_json_status s = read_object(&r, member);
    if (s == RS_JSON_OK) s = finish(&r);
    if (s == RS_JSON_OK && core->clean_only && core->defect) s = bad(&r, r.p);
    if (s == RS_JSON_OK && core->failure == RS_OK && rs_kineto_commit(core, &r.now)) {
        rs_kineto_report(core);
        core->events->n_rounded += r.rounded;
        if (core->learnable && core->learn_from && !core->defect && !members_repeat(core))
            rs_shapes_learn(core, core->learn_from, r.p, &r.now);
        *p = r.p;
        return RS_JSON_OK;
    }
    rs_kineto_rollback(core);
    if (core->failure != RS_OK) return RS_JSON_BAD;
    if (s != RS_JSON_END) *p = r.p;
    return s;
}
