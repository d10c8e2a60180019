/* A cut anywhere gives the events before it, then "truncated". */
#include "support.h"

#include <unistd.h>

#define SMALL (64u << 10)

typedef struct sample {
    const char *name;
    text bytes; /* of the text */
    spans at;
    rs_events *full;
} sample;

static sample sample_of(const char *name, text bytes)
{
    sample s = {.name = name, .bytes = bytes};
    s.at = spans_of(bytes.s, bytes.n);
    s.full = load(bytes.s, bytes.n);
    assert_int_equal(s.full->n, s.at.n);
    assert_false(s.full->truncated);
    return s;
}

static void sample_clear(sample *s)
{
    rs_events_free(s->full);
    spans_clear(&s->at);
    text_clear(&s->bytes);
}

/* Whether a text cut there is a whole one: only white space is missing, or it ends between two documents. */
static bool whole_at(const sample *s, size_t cut)
{
    size_t depth = 0, at = 0;
    bool any = false;
    while (at < cut) {
        char c = s->bytes.s[at++];
        if (c == '"') {
            while (at < cut && s->bytes.s[at] != '"') at += s->bytes.s[at] == '\\' ? 2 : 1;
            if (at >= cut) return false;
            at++;
        } else if (c == '{' || c == '[') {
            depth++;
            any = true;
        } else if (c == '}' || c == ']') {
            depth--;
        }
    }
    return any && depth == 0;
}

static void check_events(const sample *s, const rs_events *e, size_t cut, size_t expected, bool truncated)
{
    if (e->n != expected || e->truncated != truncated)
        fail_msg("%s cut at %zu: %zu events, truncated %d; expected %zu, %d", s->name, cut, e->n,
                 e->truncated, expected, truncated);
    assert_int_equal(problem_total(e), problem_total(s->full) ? problem_total(e) : truncated);
    assert_int_equal(problem_count(e, "truncated"), truncated);
    if (truncated) assert_int_equal(problem_of(e, "truncated")->offsets[0], cut);
    assert_int_equal(e->n_lost, s->full->n_lost ? e->n_lost : 0);
    /* the last ones are those that a cut could harm; all of them now and then */
    size_t from = cut % 64 == 0 || expected < 40 ? 0 : expected - 40;
    if (!same_rows(e, from, s->full, from, expected - from)) fail_msg("%s cut at %zu", s->name, cut);
}

static void check_cut(const sample *s, size_t cut, const rs_load_settings *settings, bool through_file)
{
    size_t expected = spans_before(&s->at, cut);
    bool whole = whole_at(s, cut);
    rs_events *e;
    rs_error err = RS_ERROR_INIT;
    rs_status status;
    if (through_file) {
        status = load_file(s->bytes.s, cut, settings, &e, &err);
    } else {
        guarded g = guarded_copy(s->bytes.s, cut);
        status = load_with(g.bytes, cut, settings, &e, &err);
        guarded_free(&g);
    }
    if (expected == 0 && !whole) {
        if (status != RS_ERR_FORMAT) fail_msg("%s cut at %zu: status %d", s->name, cut, (int)status);
        assert_null(e);
        return;
    }
    if (status != RS_OK) fail_msg("%s cut at %zu: %s", s->name, cut, err.causes[0].message);
    check_events(s, e, cut, expected, !whole);
    rs_events_free(e);
}

static void check_every_cut(sample *s, size_t stride)
{
    static const rs_load_settings settings = {.columns = RS_ALL_COLUMNS};
    for (size_t cut = 0; cut <= s->bytes.n; cut += stride) check_cut(s, cut, &settings, cut % 97 == 0);
    check_cut(s, s->bytes.n, &settings, true);
}

/* ---- small samples: every cut ----------------------------------------------------------------------- */

TEST(test_small)
{
    text object = text_trace(40, 1), array = {0}, lines = {0}, both = {0}, compact = {0};
    text_puts(&array, "[");
    text_events(&array, 40, 2);
    text_puts(&array, "]");
    for (int i = 0; i < 20; i++)
        text_printf(
            &lines,
            "{\"ph\":\"X\",\"name\":\"n%d\",\"cat\":\"kernel\",\"pid\":%d,\"tid\":7,\"ts\":%d.5,\"dur\":2,"
            "\"args\":{\"stream\":7,\"grid\":[1,2,3]}}\n",
            i % 3, i, i * 10);
    text_add(&both, object.s, object.n);
    text_add(&both, object.s, object.n);
    text_add(&both, array.s, array.n);
    text_puts(&compact, "{\"traceEvents\":[");
    for (int i = 0; i < 60; i++)
        text_printf(&compact,
                    "%s{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a \\\"%d\\\" \xc3\xa9\",\"pid\":\"p "
                    "%d\",\"tid\":1,"
                    "\"ts\":\"%d.25\",\"dur\":1}",
                    i ? "," : "", i % 7, i % 2, i);
    text_puts(&compact, "],\"displayTimeUnit\":\"ms\",\"distributedInfo\":{\"rank\":1}}");
    sample all[] = {sample_of("object", object), sample_of("array", array), sample_of("lines", lines),
                    sample_of("both", both), sample_of("compact", compact)};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        check_every_cut(&all[i], RS_TEST_SLOW ? 5 : 1);
        sample_clear(&all[i]);
    }
}

/* ---- larger ones: cuts around events, and at random ------------------------------------------------- */

static void check_around(const sample *s, size_t event, const rs_load_settings *settings, rng *r)
{
    size_t places[] = {s->at.begin[event], s->at.end[event]};
    for (size_t k = 0; k < 2; k++) {
        size_t from = places[k] < 64 ? 0 : places[k] - 64, to = places[k] + 64;
        for (size_t cut = from; cut <= to && cut <= s->bytes.n; cut++)
            if (!RS_TEST_SLOW || rng_below(r, 64) == 0) check_cut(s, cut, settings, false);
    }
}

/* Loads are made cheap by what matters: the text is long enough for several windows. */
TEST(test_large)
{
    sample s = sample_of("large", text_trace(2600, 3));
    assert_true(s.bytes.n > 640 << 10);
    rng r = {4};
    rs_load_settings settings = {.columns = RS_ALL_COLUMNS};
    for (size_t i = 0; i < 2; i++) check_around(&s, i, &settings, &r);
    for (size_t i = s.at.n - 2; i < s.at.n; i++) check_around(&s, i, &settings, &r);
    for (size_t i = 0; i < ROUNDS(2000); i++) {
        settings.simd = (int)rng_below(&r, 5);
        settings.threads = (unsigned)rng_below(&r, 4);
        check_cut(&s, rng_below(&r, s.bytes.n + 1), &settings, i % 8 == 0);
    }
    sample_clear(&s);
}

/* The same with the text's middle taken out, so that 200 events at either end can be cut at every byte. */
TEST(test_both_ends)
{
    sample s = sample_of("ends", text_trace(400, 5));
    rng r = {6};
    const rs_load_settings settings = {.columns = RS_ALL_COLUMNS};
    for (size_t i = 0; i < s.at.n; i++)
        if (i % 4 == 0 || i > s.at.n - 4) check_around(&s, i, &settings, &r);
    sample_clear(&s);
}

/* ---- packed ----------------------------------------------------------------------------------------- */

TEST(test_gzip)
{
    sample s = sample_of("gzip", text_trace(300, 7));
    text p = gzip_pack(s.bytes.s, s.bytes.n, 6);
    for (size_t cut = 2; cut <= p.n; cut += RS_TEST_SLOW ? 37 : 3) {
        bool complete;
        text theirs = gzip_prefix(p.s, cut, &complete);
        rs_source *source;
        rs_events *e = NULL;
        const rs_load_settings settings = {.columns = RS_ALL_COLUMNS, .threads = 1 + cut % 2};
        assert_int_equal(rs_source_open_bytes(p.s, cut, "gz", 0, &source, NULL), RS_OK);
        rs_status status = rs_kineto_load(source, &settings, &e, NULL);
        size_t least = spans_before(&s.at, theirs.n);
        if (status == RS_OK) {
            assert_true(e->n >= least && e->n <= s.at.n);
            assert_int_equal(e->n, spans_before(&s.at, e->n_bytes));
            assert_int_equal(e->truncated, e->n_bytes < s.at.done);
            assert_int_equal(problem_count(e, "packing_truncated"), cut < p.n);
            if (cut < p.n) assert_int_equal(problem_of(e, "packing_truncated")->offsets[0], cut);
            assert_true(same_rows(e, 0, s.full, 0, e->n));
        } else {
            assert_int_equal(status, RS_ERR_FORMAT);
            assert_int_equal(least, 0);
        }
        rs_events_free(e);
        rs_source_close(source);
        text_clear(&theirs);
    }
    text_clear(&p);
    sample_clear(&s);
}

/* ---- the corpus ------------------------------------------------------------------------------------- */

static void cut_corpus_file(const char *path, void *context)
{
    size_t *budget = context; /* bytes of text still to be read */
    text t = text_unpacked(path);
    sample s = sample_of(path, t);
    rng r = {s.bytes.n};
    rs_load_settings settings = {.columns = RS_ALL_COLUMNS};
    if (s.bytes.n <= SMALL) {
        check_every_cut(&s, RS_TEST_SLOW ? 61 : 1 + s.bytes.n / (SMALL / 4));
    } else if (s.bytes.n <= 4u << 20) {
        for (size_t i = 0; i < 4; i++) {
            size_t event = i < 2 ? i : s.at.n - (i - 1);
            if (s.bytes.n <= 400u << 10) check_around(&s, event, &settings, &r);
        }
        size_t cuts = ROUNDS(((size_t)24 << 20) / s.bytes.n);
        for (size_t i = 0; i < cuts && i < 2000; i++) {
            settings.simd = (int)rng_below(&r, 5);
            settings.threads = (unsigned)rng_below(&r, 3);
            size_t event = rng_below(&r, s.at.n), cut = rng_below(&r, s.bytes.n);
            if (i % 2) cut = s.at.end[event] + rng_below(&r, 64) - rng_below(&r, 64);
            check_cut(&s, cut <= s.bytes.n ? cut : s.bytes.n, &settings, i % 8 == 0);
            *budget += cut;
        }
    }
    sample_clear(&s);
}

TEST(test_corpus)
{
    size_t read = 0;
    if (corpus_each(cut_corpus_file, &read) == 0) skip();
}
