#include "metrics/record.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"

static const rs_json_limits limits = {.max_depth = RS_JSON_DEFAULT_DEPTH, .max_string = SIZE_MAX};

void rs_record_reader_clear(rs_record_reader *reader)
{
    rs_free_all(reader->ranges, reader->borders);
    *reader = (rs_record_reader){0};
}

/* ---- walking over JSON text --------------------------------------------------------------------------- */

/* Once it failed, everything fails. */
typedef struct cursor {
    const uint8_t *p, *end;
    bool failed, no_memory;
} cursor;

static bool fail(cursor *c)
{
    c->failed = true;
    return false;
}

static inline void space(cursor *c)
{
    /* writers put one blank or none */
    if (c->p < c->end && *c->p == ' ') c->p++;
    if (c->p < c->end && *c->p <= ' ') c->p = rs_json_space(c->p, c->end);
}

static inline bool at(cursor *c, uint8_t byte)
{
    space(c);
    return !c->failed && c->p < c->end && *c->p == byte;
}

static bool take(cursor *c, uint8_t byte)
{
    if (!at(c, byte)) return fail(c);
    c->p++;
    return true;
}

static bool take_string(cursor *c, rs_json_text *out)
{
    if (!at(c, '"') || rs_json_string(&c->p, c->end, limits.max_string, out) != RS_JSON_OK) return fail(c);
    return true;
}

static bool skip(cursor *c)
{
    space(c);
    if (c->failed || c->p >= c->end || rs_json_skip(&c->p, c->end, &limits) != RS_JSON_OK) return fail(c);
    return true;
}

/* Enters an object or array; whether there is something in it. */
static bool enter(cursor *c, uint8_t open)
{
    if (!take(c, open)) return false;
    if (!at(c, open + 2)) return true;
    c->p++;
    return false;
}

/* After an element: whether another follows. */
static bool another(cursor *c, uint8_t open)
{
    if (at(c, ',')) {
        c->p++;
        return true;
    }
    take(c, open + 2);
    return false;
}

static bool take_key(cursor *c, rs_json_text *key)
{
    return take_string(c, key) && take(c, ':');
}

#define MAX_WORD 64

/* Equality with a word, escapes decoded. */
static bool text_is(const rs_json_text *text, const char *word, size_t n)
{
    if (!text->escaped) return text->length == n && memcmp(text->bytes, word, n) == 0;
    char plain[3 * 6 * MAX_WORD];
    if (text->length > 6 * n) return false;
    return rs_json_decode(text->bytes, text->length, plain, NULL) == n && memcmp(plain, word, n) == 0;
}
#define IS(text, word) text_is(text, word, sizeof(word) - 1)

/* A number's text, or false for a value that is none, which is skipped. */
static bool take_number(cursor *c, const uint8_t **text, size_t *n)
{
    space(c);
    if (c->failed || c->p >= c->end) return fail(c);
    uint8_t first = *c->p;
    bool numeric = first == '-' || (first >= '0' && first <= '9') || first == 'N' || first == 'I';
    *text = c->p;
    if (!numeric) {
        skip(c);
        return false;
    }
    if (rs_json_skip_number(&c->p, c->end) != RS_JSON_OK) return fail(c);
    *n = (size_t)(c->p - *text);
    return true;
}

static bool take_int(cursor *c, int64_t *out)
{
    const uint8_t *text;
    size_t n;
    return take_number(c, &text, &n) && rs_json_int(text, n, out);
}

static bool take_real(cursor *c, double *out)
{
    const uint8_t *text;
    size_t n;
    if (!take_number(c, &text, &n)) return false;
    *out = rs_metrics_real(text, n);
    return true;
}

static bool take_units(cursor *c, int shift, int64_t *out)
{
    const uint8_t *text;
    size_t n;
    return take_number(c, &text, &n) && rs_metrics_units(text, n, shift, out);
}

/* ---- ranges ------------------------------------------------------------------------------------------- */

/* Whether text, lower-cased and without underscores, starts with the word. */
static bool folded_start(const rs_json_text *text, const char *word)
{
    char plain[3 * 6 * MAX_WORD];
    const uint8_t *p = text->bytes;
    size_t n = text->length;
    if (text->escaped) {
        if (n > 6 * MAX_WORD) n = 6 * MAX_WORD;
        n = rs_json_decode(p, n, plain, NULL);
        p = (const uint8_t *)plain;
    }
    for (size_t i = 0; i < n && *word; i++) {
        if (p[i] == '_') continue;
        uint8_t c = p[i] >= 'A' && p[i] <= 'Z' ? (uint8_t)(p[i] + 32) : p[i];
        if (c != (uint8_t)*word) return false;
        word++;
    }
    return *word == '\0';
}

/* The functions of the kinds that AORTA does not know, as rankscope.record names them. Their words are common
 * ("send", "gather"), so the whole name must be one, and a range on the stream of computation is none. */
static const struct {
    const char *name;
    rs_collective kind;
} functions[] = {{"broadcast", RS_BROADCAST},   {"reduce", RS_REDUCE},
                 {"gather", RS_GATHER},         {"scatter", RS_SCATTER},
                 {"all_to_all", RS_ALL_TO_ALL}, {"all_to_all_single", RS_ALL_TO_ALL},
                 {"send", RS_SEND_RECV},        {"recv", RS_SEND_RECV},
                 {"isend", RS_SEND_RECV},       {"irecv", RS_SEND_RECV}};

/* What a range is by its stream, its function or, without one, its tag. */
static uint8_t range_what(const rs_json_text *stream, const rs_json_text *name)
{
    static const char *const words[] = {"allreduce", "reducescatter", "allgather"};
    for (unsigned i = 0; i < sizeof words / sizeof *words; i++)
        if (folded_start(name, words[i])) return (uint8_t)i;
    if (IS(stream, "compute")) return RS_RANGE_COMPUTE;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (text_is(name, functions[i].name, strlen(functions[i].name))) return (uint8_t)functions[i].kind;
    return RS_RANGE_OTHER;
}

static void take_function(cursor *c, rs_json_text *function)
{
    if (!at(c, '{')) {
        skip(c);
        return;
    }
    rs_json_text key;
    for (bool more = enter(c, '{'); more && take_key(c, &key); more = another(c, '{')) {
        if (IS(&key, "function") && at(c, '"'))
            take_string(c, function);
        else
            skip(c);
    }
}

/* Passes over the bytes of a word when they are next. */
#define TAKE_LITERAL(c, word)                                                                                \
    ((size_t)((c)->end - (c)->p) >= sizeof(word) && memcmp((c)->p, word, sizeof(word) - 1) == 0 &&           \
     ((c)->p += sizeof(word) - 1, true))

static void take_range(cursor *c, int shift, rs_range *out, bool *ok)
{
    static const rs_json_text none = {.bytes = (const uint8_t *)"", .length = 0};
    rs_json_text key, stream = none, tag = none, function = none;
    bool has_start = false, has_end = false, has_function = false;
    for (bool more = enter(c, '{'); more && !c->failed; more = another(c, '{')) {
        space(c);
        if (TAKE_LITERAL(c, "\"start_ms\":")) {
            has_start = take_units(c, shift, &out->start);
        } else if (TAKE_LITERAL(c, "\"end_ms\":")) {
            has_end = take_units(c, shift, &out->end);
        } else if (take_key(c, &key)) {
            if (IS(&key, "stream") && at(c, '"'))
                take_string(c, &stream);
            else if (IS(&key, "tag") && at(c, '"'))
                take_string(c, &tag);
            else if (IS(&key, "metadata"))
                take_function(c, &function);
            else if (IS(&key, "start_ms"))
                has_start = take_units(c, shift, &out->start);
            else if (IS(&key, "end_ms"))
                has_end = take_units(c, shift, &out->end);
            else
                skip(c);
        }
    }
    has_function = function.length > 0;
    *ok = has_start && has_end;
    out->what = range_what(&stream, has_function ? &function : &tag);
}

static void take_ranges(cursor *c, rs_record_reader *reader, size_t *n_void)
{
    reader->n_ranges = 0;
    *n_void = 0;
    for (bool more = enter(c, '['); more && !c->failed; more = another(c, '[')) {
        rs_range range;
        bool ok = false;
        if (at(c, '{'))
            take_range(c, reader->shift, &range, &ok);
        else
            skip(c);
        if (!ok) {
            ++*n_void;
        } else if (RS_GROW_ONE(reader->ranges, reader->n_ranges, reader->capacity)) {
            reader->ranges[reader->n_ranges++] = range;
        } else {
            c->no_memory = true;
            fail(c);
        }
    }
}

/* ---- what the file computed itself -------------------------------------------------------------------- */

static void take_stored(cursor *c, rs_record *out)
{
    rs_json_text key, inner;
    if (!at(c, '{')) {
        skip(c);
        return;
    }
    for (bool more = enter(c, '{'); more && take_key(c, &key); more = another(c, '{')) {
        bool per_stream = IS(&key, "per_stream_ms"), overlap = IS(&key, "overlap_ms");
        if ((!per_stream && !overlap) || !at(c, '{')) {
            skip(c);
            continue;
        }
        for (bool next = enter(c, '{'); next && take_key(c, &inner); next = another(c, '{')) {
            if (per_stream && IS(&inner, "compute"))
                take_real(c, &out->stored_compute);
            else if (overlap && IS(&inner, "compute_comm"))
                take_real(c, &out->stored_overlap);
            else if (overlap && IS(&inner, "compute_allreduce"))
                take_real(c, &out->stored_all_reduce);
            else if (overlap && IS(&inner, "compute_reducescatter"))
                take_real(c, &out->stored_reduce_scatter);
            else
                skip(c);
        }
    }
}

/* ---- the record --------------------------------------------------------------------------------------- */

typedef struct seen {
    bool step, total, ranges;
    int64_t total_units;
} seen;

static void take_profile(cursor *c, rs_record_reader *reader, rs_record *out, seen *s)
{
    rs_json_text key;
    s->total = s->ranges = false;
    if (!at(c, '{')) {
        skip(c);
        return;
    }
    for (bool more = enter(c, '{'); more && take_key(c, &key); more = another(c, '{')) {
        if (IS(&key, "total_ms")) {
            s->total = take_units(c, reader->shift, &s->total_units);
        } else if (IS(&key, "ranges") && at(c, '[')) {
            s->ranges = true;
            take_ranges(c, reader, &out->n_void);
        } else if (IS(&key, "overlap") && reader->stored) {
            take_stored(c, out);
        } else {
            skip(c);
        }
    }
}

static void take_record(cursor *c, rs_record_reader *reader, rs_record *out, seen *s)
{
    rs_json_text key;
    for (bool more = enter(c, '{'); more && take_key(c, &key); more = another(c, '{')) {
        if (IS(&key, "global_step")) {
            s->step = take_int(c, &out->step);
        } else if (IS(&key, "profile")) {
            take_profile(c, reader, out, s);
        } else if (IS(&key, "loss")) {
            out->has_loss = take_real(c, &out->loss);
        } else if (IS(&key, "rank")) {
            if (!take_int(c, &out->rank) || out->rank < 0) out->rank = RS_NO_RANK;
        } else if (IS(&key, "world_size")) {
            if (!take_int(c, &out->world_size) || out->world_size < 0) out->world_size = 0;
        } else if (IS(&key, "rocm_smi_output") && at(c, '"')) {
            take_string(c, &out->smi);
        } else {
            skip(c);
        }
    }
}

static bool measure(rs_record_reader *reader, int64_t total, rs_record *out)
{
    rs_active active;
    if (total < 0) total = 0;
    if (!rs_record_overlap(reader, total, &active, &out->n_cut, &out->n_void)) return false;
    out->total = ldexp((double)total, -reader->shift);
    out->compute = ldexp((double)active.compute, -reader->shift);
    out->comm = ldexp((double)active.comm, -reader->shift);
    out->overlap = ldexp((double)active.overlap, -reader->shift);
    out->idle = ldexp((double)active.idle, -reader->shift);
    for (unsigned k = 0; k < RS_N_COLLECTIVES; k++) {
        out->in_collective[k] = ldexp((double)active.in[k], -reader->shift);
        out->hidden_collective[k] = ldexp((double)active.hidden[k], -reader->shift);
    }
    return true;
}

static rs_line read_at_shift(rs_record_reader *reader, int shift, const uint8_t *line, size_t n,
                             rs_record *out, seen *s, size_t *fault)
{
    cursor c = {.p = line, .end = line + n};
    *out = (rs_record){.rank = RS_NO_RANK};
    *s = (seen){0};
    reader->shift = shift;
    reader->n_ranges = 0;
    space(&c);
    if (c.p == c.end) return RS_LINE_BLANK;
    take_record(&c, reader, out, s);
    space(&c);
    if (c.failed || c.p != c.end) {
        *fault = (size_t)(c.p - line);
        return c.no_memory ? RS_LINE_NO_MEMORY : RS_LINE_BROKEN;
    }
    if (!s->step) return RS_LINE_NO_STEP;
    return s->total && s->ranges ? RS_LINE_OK : RS_LINE_NO_PROFILE;
}

rs_line rs_record_read(rs_record_reader *reader, const uint8_t *line, size_t n, rs_record *out, size_t *fault)
{
    seen s;
    rs_line what = read_at_shift(reader, RS_METRICS_SHIFT, line, n, out, &s, fault);
    /* a step that does not fit is read again in larger units */
    for (int shift = RS_METRICS_SHIFT - 20; what == RS_LINE_OK && s.total_units >= RS_METRICS_FAR / 2;
         shift -= 20) {
        if (shift < -1100) return RS_LINE_NO_PROFILE; /* an infinite total */
        what = read_at_shift(reader, shift, line, n, out, &s, fault);
    }
    if (what != RS_LINE_OK) return what;
    return measure(reader, s.total_units, out) ? RS_LINE_OK : RS_LINE_NO_MEMORY;
}
