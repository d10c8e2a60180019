/* Texts in memory that end where nothing may be read any more, for every SIMD level, with window edges at
 * every place of an event. */
#include "support.h"

#define BLOCK ((size_t)512 << 10) /* of a window */

static const rs_load_settings ways[] = {
    {.columns = RS_ALL_COLUMNS, .simd = 1},    {.columns = RS_ALL_COLUMNS, .simd = 2},
    {.columns = RS_ALL_COLUMNS, .simd = 3},    {.columns = RS_ALL_COLUMNS, .simd = 4},
    {.columns = RS_ALL_COLUMNS, .threads = 2}, {.columns = RS_ALL_COLUMNS, .threads = 4},
};
#define N_WAYS (sizeof ways / sizeof *ways)

/* Every way must find the events of `expected`, the first of them read by the reference reader alone. */
static void check(const text *t, size_t n_events, bool truncated)
{
    guarded g = guarded_copy(t->s, t->n);
    rs_events *first = NULL;
    for (size_t i = 0; i < N_WAYS; i++) {
        rs_events *e;
        assert_int_equal(load_with(g.bytes, g.n, &ways[i], &e, NULL), RS_OK);
        assert_int_equal(e->n, n_events);
        assert_int_equal(e->truncated, truncated);
        assert_int_equal(problem_total(e), truncated);
        if (first) {
            assert_true(same_events(first, e));
            rs_events_free(e);
        } else {
            first = e;
        }
    }
    rs_events_free(first);
    guarded_free(&g);
}

static void add_plain(text *t, size_t i, const char *name)
{
    text_printf(t,
                "%s\n  {\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"%s\", \"pid\": 1, \"tid\": 2, "
                "\"ts\": %zu.125, "
                "\"dur\": 1.5, \"args\": {\"External id\": %zu, \"Input type\": [\"float\"]}}",
                i ? "," : "", name, i, i);
}

/* A bare array of plain events that is n bytes long, the last one filled up by its name. */
static size_t text_of_size(text *t, size_t n, size_t shift)
{
    char pad[1200];
    size_t events = 0;
    memset(pad, 'p', sizeof pad);
    text_puts(t, "[");
    for (; n - t->n > 1000; events++) add_plain(t, events, events % 3 ? "aten::add" : "aten::mm");
    size_t before = t->n;
    text probe = {0};
    add_plain(&probe, events, "");
    size_t fill = n - before - probe.n - 1 - shift;
    pad[fill] = '\0';
    add_plain(t, events++, pad);
    for (size_t i = 0; i < shift; i++) text_puts(t, " ");
    text_puts(t, "]");
    assert_int_equal(t->n, n);
    text_clear(&probe);
    return events;
}

TEST(test_sizes_around_a_block)
{
    for (size_t blocks = 1; blocks <= 3; blocks++) {
        for (size_t off = 0; off < 200; off += RS_TEST_SLOW || blocks > 1 ? 17 : 3) {
            text t = {0};
            size_t events = text_of_size(&t, blocks * BLOCK + off - 100, off % 4);
            check(&t, events, false);
            text_clear(&t);
        }
    }
}

TEST(test_small_sizes)
{
    for (size_t n = 1200; n < 1500; n += 7) {
        text t = {0};
        size_t events = text_of_size(&t, n, n % 3);
        check(&t, events, false);
        text_clear(&t);
    }
}

/* A text cut at the page's edge, right where the fast reader is at work: in a name, a number, a key. What
 * lies behind the window in memory goes on like the text, as it does where a reader looks too far. */
TEST(test_cut_at_the_edge)
{
    text t = {0};
    size_t events = text_of_size(&t, BLOCK + 4000, 0);
    spans at = spans_of(t.s, t.n);
    assert_int_equal(at.n, events);
    for (size_t cut = BLOCK + 2000; cut < BLOCK + 2400; cut += RS_TEST_SLOW ? 19 : 1) {
        text part = {0};
        text_add(&part, t.s, cut);
        check(&part, spans_before(&at, cut), true);
        text_clear(&part);
    }
    spans_clear(&at);
    text_clear(&t);
}

/* The window's edge 64 bytes before the text's end falls on every byte of an event with long values: names,
 * arrays and numbers that are known from before go on behind the edge. */
TEST(test_long_values_at_the_edge)
{
    char name[700], digits[64];
    memset(name, 'n', sizeof name);
    name[sizeof name - 1] = '\0';
    memset(digits, '1', sizeof digits);
    for (size_t gap = 0; gap < 1000; gap += RS_TEST_SLOW ? 41 : 3) {
        text t = {0};
        text_puts(&t, "[");
        size_t events = 0;
        while (t.n < BLOCK + 1000 + gap) {
            text_printf(&t,
                        "%s{\"ph\":\"X\",\"name\":\"%s\",\"cat\":\"cpu_op\",\"pid\":1,\"tid\":2,\"ts\":1%"
                        "06zu.5,\"dur\":1,"
                        "\"args\":{\"Input "
                        "Dims\":[[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25]],"
                        "\"est. achieved occupancy %%\":0.%.40s,\"x\":%.17s}}",
                        events ? "," : "", name, events, digits, digits);
            events++;
        }
        /* white space sets how far the last event lies from the end */
        for (size_t i = 0; i < gap % 70; i++) text_puts(&t, " ");
        text_puts(&t, "]");
        check(&t, events, false);
        spans at = spans_of(t.s, t.n);
        size_t cut = at.begin[at.n - 1] + gap % (at.end[at.n - 1] - at.begin[at.n - 1]);
        t.n = cut;
        check(&t, at.n - 1, true);
        spans_clear(&at);
        text_clear(&t);
    }
}

/* One event of several windows: an argument of megabytes, between small ones. */
TEST(test_event_larger_than_a_window)
{
    static const size_t sizes[] = {BLOCK - 100, BLOCK, BLOCK + 100, 3 * BLOCK + 17, 9 << 20};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        text t = {0};
        text_puts(&t, "[");
        for (size_t i = 0; i < 100; i++) add_plain(&t, i, "a");
        text_puts(&t, ",{\"ph\":\"X\",\"name\":\"");
        size_t from = t.n;
        while (t.n - from < sizes[k]) text_puts(&t, "0123456789abcdef");
        text_puts(&t, "\",\"ts\":1,\"dur\":2,\"args\":{\"unknown\":[");
        from = t.n;
        while (t.n - from < sizes[k]) text_puts(&t, "[1,{\"a\":\"b\"}],");
        text_puts(&t, "0]}}");
        for (size_t i = 1; i < 3000; i++) add_plain(&t, i, "b");
        text_puts(&t, "]");
        check(&t, 100 + 1 + 2999, false);
        rs_events *a = load(t.s, t.n), *b;
        const rs_load_settings settings = {.columns = RS_ALL_COLUMNS};
        assert_int_equal(load_file(t.s, t.n, &settings, &b, NULL), RS_OK);
        assert_true(same_events(a, b));
        assert_int_equal(a->strings.items[a->name[100]].length, (sizes[k] + 15) / 16 * 16);
        rs_events_free(a);
        rs_events_free(b);
        text_clear(&t);
    }
}

/* What was learned in one place must not be taken for something else in another. */
TEST(test_layouts_stay_inside_an_array)
{
    /* three documents whose texts between the events are the same: each stays a document */
    text t = {0};
    for (int i = 0; i < 4; i++)
        text_puts(&t, "{\"distributedInfo\":{\"rank\":5},\"traceEvents\":[{\"ph\":\"X\",\"name\":\"a\","
                      "\"ts\":1}],\"x\":1}");
    rs_events *e = load(t.s, t.n);
    assert_int_equal(e->n, 4);
    assert_int_equal(e->n_documents, 4);
    for (size_t i = 0; i < 4; i++) assert_int_equal(e->documents[i].first_row, i);
    assert_int_equal(problem_total(e), 0);
    rs_events_free(e);
    text_clear(&t);
    /* elements that are no events, always the same: each keeps its row and is counted */
    text_puts(&t, "[{\"ph\":\"X\",\"ts\":1}");
    for (int i = 0; i < 6; i++) text_puts(&t, ",5,{\"ph\":\"X\",\"ts\":1}");
    text_puts(&t, "]");
    e = load(t.s, t.n);
    assert_int_equal(e->n, 13);
    assert_int_equal(problem_count(e, "not_an_event"), 6);
    rs_events_free(e);
    text_clear(&t);
    /* damaged events, always the same */
    text_puts(&t, "[{\"ph\":\"X\",\"ts\":1}");
    for (int i = 0; i < 6; i++) text_puts(&t, ",{\"ph\":\"X\" \"ts\":2},{\"ph\":\"X\",\"ts\":1}");
    text_puts(&t, "]");
    e = load(t.s, t.n);
    assert_int_equal(e->n, 13);
    assert_int_equal(e->n_lost, 6);
    assert_int_equal(problem_count(e, "bad_event"), 6);
    rs_events_free(e);
    text_clear(&t);
    /* lines of events, then an array of them, then arrays in the array */
    text_puts(&t, "{\"ph\":\"X\",\"ts\":1}\n[{\"ph\":\"X\",\"ts\":1}\n[{\"ph\":\"X\",\"ts\":1}\n]]");
    e = load(t.s, t.n);
    assert_true(problem_total(e) > 0);
    rs_events_free(e);
    text_clear(&t);
}

/* A string that looks like the beginning of an array must not make an invalid one valid. */
TEST(test_guesses_are_of_one_kind)
{
    static const char *const grids[] = {"\"[1\"", "[1",    "[1,2]",     "\"[1,,2]\"",
                                        "[1,,2]", "[1,2]", "\"[1,2]\"", "[1,2]"};
    text t = {0};
    text_puts(&t, "[");
    for (int round = 0; round < 6; round++)
        for (size_t i = 0; i < 8; i++)
            text_printf(&t, "%s{\"ph\":\"X\",\"name\":\"k\",\"ts\":1,\"args\":{\"grid\":%s,\"stream\":7}}",
                        round + i ? "," : "", grids[i]);
    text_puts(&t, "]");
    for (int simd = 1; simd <= 4; simd++) {
        const rs_load_settings settings = {.columns = RS_ALL_COLUMNS, .simd = simd};
        rs_events *e;
        assert_int_equal(load_with(t.s, t.n, &settings, &e, NULL), RS_OK);
        assert_int_equal(e->n, 48);
        assert_int_equal(e->n_lost, 12);
        for (size_t i = 0; i < 48; i++) {
            const char *g = grids[i % 8];
            uint32_t id = rs_events_text(e, RS_COL_GRID, (uint32_t)i);
            if (i % 8 == 1 || i % 8 == 4) {
                assert_int_equal(e->phase[i], 0);
                assert_int_equal(id, RS_NO_STRING);
            } else {
                size_t quoted = *g == '"';
                assert_int_equal(e->strings.items[id].length, strlen(g) - 2 * quoted);
                assert_memory_equal(text_at(e, id), g + quoted, strlen(g) - 2 * quoted);
            }
        }
        rs_events_free(e);
    }
    text_clear(&t);
}

/* What the i-th event says: numbers of four bytes, and beyond them from some event on, or never. */
static int64_t number_at(size_t i, size_t from)
{
    static const int64_t edges[] = {
        INT32_MAX, INT32_MIN, (int64_t)INT32_MAX + 1, (int64_t)INT32_MIN - 1, 1, INT64_C(123456789012345678)};
    size_t n = i < from ? 2 : 6;
    return edges[i % n] - (i % 7 == 3 && i % n < 2 ? edges[i % n] : 0);
}

/* Columns get wider in whichever block, and on whichever thread, the first number stands that needs it. */
TEST(test_wide_numbers)
{
    enum { N = 12000 };
    static const size_t from[] = {N, 0, 1, N / 2, N - 3};
    for (size_t k = 0; k < sizeof from / sizeof *from; k++) {
        text t = {0};
        text_puts(&t, "[");
        for (size_t i = 0; i < N; i++)
            text_printf(&t,
                        "%s{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", \"pid\": 1, \"tid\": 2, "
                        "\"ts\": %zu, \"dur\": 1, \"args\": {\"bytes\": %lld, \"stream\": %zu}}",
                        i ? ",\n" : "", i, (long long)number_at(i, from[k]), i % 9);
        text_puts(&t, "]");
        assert_true(t.n > 2 * BLOCK);
        for (size_t w = 0; w < N_WAYS; w++) {
            rs_events *e;
            assert_int_equal(load_with((const uint8_t *)t.s, t.n, &ways[w], &e, NULL), RS_OK);
            assert_int_equal(e->args[RS_COL_BYTES].n, N);
            assert_int_equal(e->args[RS_COL_BYTES].is_wide, from[k] < N);
            assert_false(e->args[RS_COL_STREAM].is_wide);
            for (size_t i = 0; i < N; i++) {
                int64_t v;
                assert_true(rs_events_int(e, RS_COL_BYTES, (uint32_t)i, &v));
                assert_true(v == number_at(i, from[k]));
                assert_true(rs_events_int(e, RS_COL_STREAM, (uint32_t)i, &v) && v == (int64_t)(i % 9));
            }
            rs_events_free(e);
        }
        text_clear(&t);
    }
}
