/* The whole reader against jansson: the same events from the same text, also from damaged text as long as
 * jansson accepts it; and one reading for every SIMD level, window and number of threads. */
#include "support.h"

#include <jansson.h>
#include <math.h>

__extension__ typedef __int128 wide;

/* ---- an event as jansson sees it -------------------------------------------------------------------- */

/* The text of the last member with that key directly in an object; false if there is none. */
static bool member_text(const char *s, size_t n, const char *key, const char **begin, size_t *length)
{
    size_t depth = 0, k = strlen(key);
    bool found = false;
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '{' || s[i] == '[') depth++;
        if (s[i] == '}' || s[i] == ']') depth--;
        if (s[i] != '"') continue;
        size_t from = ++i;
        while (s[i] != '"') i += s[i] == '\\' ? 2 : 1;
        size_t after = i + 1;
        while (strchr(" \n\r\t", s[after])) after++;
        if (depth != 1 || s[after] != ':' || i - from != k || memcmp(s + from, key, k) != 0) continue;
        for (after++; strchr(" \n\r\t", s[after]);) after++;
        size_t end = after;
        if (s[end] == '"') {
            for (end++; s[end] != '"';) end += s[end] == '\\' ? 2 : 1;
            *begin = s + after + 1;
            *length = end - after - 1;
        } else {
            while (!strchr(",}] \n\r\t", s[end])) end++;
            *begin = s + after;
            *length = end - after;
        }
        found = true;
    }
    return found;
}

/* Microseconds as a multiple of 10^-17 us; false when that is not exact or no number. */
static bool time_units(const char *s, size_t n, wide *out)
{
    const wide limit = (wide)1 << 120;
    bool negative = n && s[0] == '-', point = false, any = false;
    int places = 0;
    long exponent = 0;
    wide v = 0;
    size_t i = negative;
    for (; i < n && ((s[i] >= '0' && s[i] <= '9') || (s[i] == '.' && !point)); i++) {
        if (s[i] == '.') {
            point = true;
            continue;
        }
        any = true;
        places += point;
        v = v * 10 + (s[i] - '0');
        if (v > limit) return false;
    }
    if (i < n && (s[i] == 'e' || s[i] == 'E')) {
        char *end;
        exponent = strtol(s + i + 1, &end, 10);
        i = (size_t)(end - s);
    }
    if (!any || i != n) return false;
    for (exponent += 17 - places; exponent > 0 && v; exponent--)
        if ((v *= 10) > limit) return false;
    for (; exponent < 0 && v; exponent++) {
        if (v % 10) return false;
        v /= 10;
    }
    *out = negative ? -v : v;
    return true;
}

static wide half_even(wide units)
{
    const wide one = 100000000000000; /* 1 ns */
    wide down = units / one, rest = units % one;
    if (rest < 0) {
        down--;
        rest += one;
    }
    if (rest * 2 > one || (rest * 2 == one && (down & 1))) down++;
    return down;
}

static bool differ(const char *what, size_t row)
{
    print_message("event %zu: %s is not what jansson sees\n", row, what);
    return false;
}

static bool same_time(const rs_events *e, size_t row, const char *s, size_t n)
{
    const char *at;
    size_t length;
    wide ts = 0, dur = 0;
    bool has_ts = member_text(s, n, "ts", &at, &length), exact = true;
    bool null_ts = has_ts && length == 4 && memcmp(at, "null", 4) == 0;
    if (has_ts && !null_ts) exact = time_units(at, length, &ts);
    bool has_dur = member_text(s, n, "dur", &at, &length);
    bool null_dur = has_dur && length == 4 && memcmp(at, "null", 4) == 0;
    if (has_dur && !null_dur) exact = time_units(at, length, &dur) && exact;
    if (!exact) return true; /* beyond this test's arithmetic, or no number: test_time has these */
    if (!has_ts || null_ts) return e->start[row] == RS_NO_TIME ? true : differ("ts", row);
    wide start = half_even(ts), end = half_even(ts + dur), edge = INT64_MAX - 1;
    if (start > edge || start < -edge || end > edge || end < -edge || half_even(dur) > edge) return true;
    if (e->start[row] != (int64_t)start) return differ("ts", row);
    int64_t duration = has_dur && !null_dur ? (int64_t)(end - start) : RS_NO_TIME;
    return e->duration[row] == duration ? true : differ("dur", row);
}

static bool same_text(const rs_events *e, uint32_t id, const json_t *j)
{
    if (!json_is_string(j)) return id == 0;
    const rs_string *s = &e->strings.items[id];
    return s->length == json_string_length(j) && memcmp(s->text, json_string_value(j), s->length) == 0;
}

/* What an integer column must hold for a value; false: none. */
static bool int_of(const json_t *j, int64_t *v)
{
    if (json_is_integer(j)) {
        *v = json_integer_value(j);
        return true;
    }
    if (json_is_real(j)) {
        double d = json_real_value(j);
        *v = fabs(d) < 9e15 ? (int64_t)d : 0;
        return d == floor(d) && fabs(d) < 9e15;
    }
    if (!json_is_string(j)) return false;
    char *end;
    const char *s = json_string_value(j);
    size_t digits = strspn(s + (*s == '-'), "0123456789");
    *v = strtoll(s, &end, 10);
    return digits && digits < 18 && *end == '\0';
}

static bool same_id(const rs_events *e, int64_t number, uint32_t word, const json_t *j)
{
    int64_t v;
    if (json_is_string(j)) return word != RS_NO_STRING && same_text(e, word, j);
    if (word != RS_NO_STRING) return false;
    if (json_is_real(j) && fabs(json_real_value(j)) > 4e15) return true;
    return number == (int_of(j, &v) ? v : RS_NO_VALUE);
}

static bool same_argument(const rs_events *e, rs_column_id c, size_t row, const json_t *j)
{
    int64_t i = 0, v = 0;
    double d = 0;
    uint32_t id;
    bool has;
    switch (rs_column_infos[c].type) {
    case RS_COLUMN_INT:
        if (json_is_string(j) && strpbrk(json_string_value(j), ".eE")) return true;
        if (json_is_real(j) && fabs(json_real_value(j)) > 4e15) return true;
        has = int_of(j, &v);
        return rs_events_int(e, c, (uint32_t)row, &i) == has && (!has || i == v);
    case RS_COLUMN_REAL:
        if (json_is_string(j)) return true;
        has = json_is_number(j);
        return rs_events_real(e, c, (uint32_t)row, &d) == has && (!has || d == json_number_value(j));
    default:
        id = rs_events_text(e, c, (uint32_t)row);
        if (!j || json_is_null(j)) return id == RS_NO_STRING;
        if (id == RS_NO_STRING) return false;
        if (json_is_string(j)) return same_text(e, id, j);
        const rs_string *s = &e->strings.items[id];
        json_t *kept = json_loadb(s->text, s->length, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
        has = kept && json_equal(kept, j);
        json_decref(kept);
        return has;
    }
}

static bool same_event(const rs_events *e, size_t row, const char *s, size_t n)
{
    json_t *j = json_loadb(s, n, JSON_ALLOW_NUL | JSON_DECODE_ANY, NULL);
    if (!j) return differ("validity", row);
    if (!json_is_object(j)) {
        json_decref(j);
        return e->phase[row] == 0 ? true : differ("kind of element", row);
    }
    const json_t *ph = json_object_get(j, "ph"), *args = json_object_get(j, "args"),
                 *id = json_object_get(j, "id");
    const rs_thread *t = &e->threads[e->thread[row]];
    uint8_t phase = json_string_length(ph) == 1 ? (uint8_t)json_string_value(ph)[0] : 0;
    bool same = same_time(e, row, s, n);
    if (e->phase[row] != phase && phase != 'B') same = differ("ph", row);
    if (!same_text(e, e->name[row], json_object_get(j, "name"))) same = differ("name", row);
    if (!same_text(e, e->categories[e->category[row]].name, json_object_get(j, "cat")))
        same = differ("cat", row);
    if (!same_id(e, t->pid, t->pid_text, json_object_get(j, "pid"))) same = differ("pid", row);
    if (!same_id(e, t->tid, t->tid_text, json_object_get(j, "tid"))) same = differ("tid", row);
    for (size_t c = 0; c < RS_COL_FLOW_ID; c++) {
        const json_t *value = json_object_get(args, rs_column_infos[c].key);
        if (c == RS_COL_EXTERNAL_ID && json_object_get(args, "external id")) continue;
        if (!same_argument(e, (rs_column_id)c, row, value)) same = differ(rs_column_infos[c].key, row);
    }
    if (!same_argument(e, RS_COL_FLOW_ID, row, id)) same = differ("id", row);
    json_decref(j);
    return same;
}

/* ---- whole texts ------------------------------------------------------------------------------------ */

/* The ways of reading that must not make a difference. */
static const rs_load_settings ways[] = {
    {.columns = RS_ALL_COLUMNS, .simd = 1},
    {.columns = RS_ALL_COLUMNS, .simd = 2},
    {.columns = RS_ALL_COLUMNS, .simd = 3},
    {.columns = RS_ALL_COLUMNS, .simd = 4, .threads = 2},
    {.columns = RS_ALL_COLUMNS, .threads = 3},
    {.columns = RS_ALL_COLUMNS, .simd = -1, .threads = 2}, /* the reference reader alone */
};
#define N_WAYS (sizeof ways / sizeof *ways)

static void check_all_ways(const char *s, size_t n, const rs_events *first, rs_status expected,
                           const char *name)
{
    for (size_t i = 1; i < 2 * N_WAYS; i++) {
        rs_events *e;
        guarded g = guarded_copy(s, n);
        rs_status status = i % 2 ? load_with(g.bytes, n, &ways[i / 2], &e, NULL)
                                 : load_file(g.bytes, n, &ways[i / 2], &e, NULL);
        guarded_free(&g);
        if (status != expected || (first && !same_events(first, e))) {
            FILE *f = fopen("differs.json", "wb");
            if (f) {
                fwrite(s, 1, n, f);
                fclose(f);
            }
            fail_msg("%s: way %zu: status %d, expected %d (text kept in differs.json)", name, i, (int)status,
                     (int)expected);
        }
        rs_events_free(e);
    }
}

static void check_against_jansson(const char *name, const char *s, size_t n, const rs_events *e,
                                  size_t stride)
{
    spans at = spans_of(s, n);
    if (e->n != at.n) fail_msg("%s: %zu events, expected %zu", name, e->n, at.n);
    assert_false(e->truncated);
    for (size_t i = 0; i < at.n; i += stride)
        if (!same_event(e, i, s + at.begin[i], at.end[i] - at.begin[i]))
            fail_msg("%s: %.*s", name, (int)(at.end[i] - at.begin[i]), s + at.begin[i]);
    spans_clear(&at);
}

static void check_corpus_file(const char *path, void *context)
{
    (void)context;
    text t = text_unpacked(path);
    rs_events *e;
    assert_int_equal(load_with(t.s, t.n, &ways[0], &e, NULL), RS_OK);
    check_against_jansson(path, t.s, t.n, e, 1 + t.n / (RS_TEST_SLOW ? 1 << 20 : 10 << 20));
    if (t.n < (RS_TEST_SLOW ? 3u << 20 : 20u << 20)) check_all_ways(t.s, t.n, e, RS_OK, path);
    rs_events_free(e);
    text_clear(&t);
}

TEST(test_corpus)
{
    if (corpus_each(check_corpus_file, NULL) == 0) skip();
}

TEST(test_synthesised)
{
    static const size_t sizes[] = {1, 2, 30, 700, 6000};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        text t = text_trace(sizes[k], k);
        rs_events *e = load(t.s, t.n);
        assert_int_equal(problem_total(e), 0);
        check_against_jansson("synthesised", t.s, t.n, e, 1);
        check_all_ways(t.s, t.n, e, RS_OK, "synthesised");
        rs_events_free(e);
        text_clear(&t);
    }
}

/* ---- damaged texts ---------------------------------------------------------------------------------- */

/* Whether what jansson accepts is also a trace, not any JSON. */
static bool is_trace(const char *s, size_t n)
{
    json_t *j = json_loadb(s, n, JSON_ALLOW_NUL, NULL);
    bool is = json_is_object(j) && json_is_array(json_object_get(j, "traceEvents"));
    json_decref(j);
    return is;
}

static size_t count_key(const char *s, size_t n, const char *key)
{
    size_t count = 0, k = strlen(key);
    for (size_t i = 0; i + k <= n; i++) count += memcmp(s + i, key, k) == 0;
    return count;
}

/* Values that are valid JSON but not what the field can hold may be reported; nothing else may. */
static uint64_t damage_of(const rs_events *e)
{
    return problem_total(e) - problem_count(e, "bad_time") - problem_count(e, "number_range") -
           problem_count(e, "not_an_event");
}

static void check_mutated(const text *t, size_t round, size_t *accepted)
{
    rs_events *e;
    rs_status status = load_with(t->s, t->n, &ways[0], &e, NULL);
    bool valid = is_trace(t->s, t->n) && count_key(t->s, t->n, "traceEvents") == 1;
    char name[64];
    snprintf(name, sizeof name, "mutation %zu", round);
    if (valid && status == RS_OK) {
        (*accepted)++;
        if (damage_of(e)) fail_msg("%s: %s in %s", name, e->problems.items[0].kind, t->s);
        check_against_jansson(name, t->s, t->n, e, 1);
    } else if (valid) {
        fail_msg("%s: refused: %s", name, t->s);
    }
    check_all_ways(t->s, t->n, e, status, name);
    rs_events_free(e);
}

TEST(test_mutations)
{
    size_t accepted = 0;
    for (size_t i = 0; i < ROUNDS(6000); i++) {
        rng r = {i};
        text t = text_trace(4 + i % 9, i % 50);
        text_mutate(&t, &r);
        check_mutated(&t, i, &accepted);
        text_clear(&t);
    }
    assert_true(accepted > ROUNDS(6000) / 50);
}

/* Texts of several windows with several damages. */
TEST(test_large_mutations)
{
    size_t accepted = 0;
    for (size_t i = 0; i < ROUNDS(24); i++) {
        rng r = {i + 100000};
        text t = text_trace(4500, i);
        for (size_t k = 0; k < i % 12; k++) text_mutate(&t, &r);
        check_mutated(&t, i, &accepted);
        text_clear(&t);
    }
}
