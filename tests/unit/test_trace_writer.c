/* A trace written again: what is kept, changed, left out and appended. */
#include "rewrite/trace_writer.h" /* before support.h, which calls a type what this calls a parameter */

#include "support.h"

/* Drops events at odd positions if asked to, and appends n events. */
typedef struct change {
    int left;
    bool drop;
    bool damaged; /* elements may be no objects */
    uint64_t seen;
} change;

static bool on_event(void *context, uint64_t position, const uint8_t *bytes, size_t n, const char *separator,
                     rs_writer *out)
{
    change *c = context;
    assert_int_equal(position, c->seen++);
    assert_true(n > 0 && (c->damaged || (bytes[0] == '{' && bytes[n - 1] == '}')));
    if (c->drop && position % 2) return false;
    rs_writer_text(out, separator);
    rs_event_write_with_arg(bytes, n, "\"k\":1", 5, out);
    return true;
}

static bool on_next(void *context, const char *separator, rs_writer *out)
{
    change *c = context;
    if (c->left == 0) return false;
    c->left--;
    rs_writer_text(out, separator);
    rs_writer_text(out, "{\"ph\":\"C\",\"new\":1}");
    return true;
}

typedef struct collected {
    text t;
} collected;

static bool collect(void *context, const char *bytes, size_t n)
{
    text_add(&((collected *)context)->t, bytes, n);
    return true;
}

static rs_status copy(const char *from, size_t n, bool edit, change *c, collected *out, bool *truncated)
{
    rs_source *source;
    rs_error err = RS_ERROR_INIT;
    assert_int_equal(rs_source_open_bytes(from, n, "t.json", 0, &source, &err), RS_OK);
    rs_sink sink = {collect, out};
    rs_writer *writer = malloc(sizeof *writer);
    rs_writer_init(writer, &sink);
    rs_trace_edit e = {edit ? on_event : NULL, on_next, c};
    rs_status status = rs_trace_copy(source, &e, writer, truncated, &err);
    if (status == RS_OK) assert_int_equal(rs_writer_finish(writer, &err), RS_OK);
    free(writer);
    rs_source_close(source);
    return status;
}

static void expect(const char *from, bool edit, bool drop, int more, const char *want)
{
    change c = {.left = more, .drop = drop};
    collected out = {0};
    bool truncated;
    assert_int_equal(copy(from, strlen(from), edit, &c, &out, &truncated), RS_OK);
    assert_false(truncated);
    assert_string_equal(out.t.s ? out.t.s : "", want);
    text_clear(&out.t);
}

#define EVENT "{\"ph\":\"X\",\"name\":\"a\"}"
#define EVENT_ARGS "{\"ph\":\"X\",\"args\" : { \"b\":[1,{}]} }"

TEST(test_as_it_stands)
{
    expect("{ \"a\": [1], \"traceEvents\" : [ " EVENT " ,\n  " EVENT_ARGS "\n ] , \"z\":{} }\n", false, false,
           2,
           "{ \"a\": [1], \"traceEvents\" : [ " EVENT " ,\n  " EVENT_ARGS
           ",\n{\"ph\":\"C\",\"new\":1},\n{\"ph\":\"C\",\"new\":1}\n ] , \"z\":{} }\n");
    expect("{\"traceEvents\":[ ]}", false, false, 2,
           "{\"traceEvents\":[{\"ph\":\"C\",\"new\":1},\n{\"ph\":\"C\",\"new\":1} ]}");
    expect("[" EVENT "]", false, false, 1, "[" EVENT ",\n{\"ph\":\"C\",\"new\":1}]");
    expect(EVENT "\n" EVENT "\n", false, false, 1, EVENT "\n" EVENT "\n{\"ph\":\"C\",\"new\":1}\n");
    expect("{\"traceEvents\":[" EVENT "]}\n{\"traceEvents\":[" EVENT "]}", false, false, 1,
           "{\"traceEvents\":[" EVENT ",\n{\"ph\":\"C\",\"new\":1}]}\n{\"traceEvents\":[" EVENT "]}");
}

TEST(test_changed)
{
    expect("{\"traceEvents\":[" EVENT "," EVENT "," EVENT_ARGS "],\"z\":1}", true, true, 1,
           "{\"traceEvents\":[{\"ph\":\"X\",\"name\":\"a\",\"args\":{\"k\":1}},\n"
           "{\"ph\":\"X\",\"args\" : {\"k\":1, \"b\":[1,{}]} },\n{\"ph\":\"C\",\"new\":1}],\"z\":1}");
}

/* A header that is no JSON costs what stands between the damage and the next member that traces have. */
TEST(test_damaged_header)
{
    expect(
        "{\"note\":\"he said \"hi\" \",\"host_name\":\"h\",\"displayTimeUnit\":\"ms\",\"traceEvents\":[" EVENT
        "]}",
        false, false, 1,
        "{\"note\":\"he said \",\n\"displayTimeUnit\":\"ms\",\"traceEvents\":[" EVENT
        ",\n{\"ph\":\"C\",\"new\":1}]}");
    expect("{\"note\":x y,\"traceEvents\":[" EVENT "]}", false, false, 0, "{\"traceEvents\":[" EVENT "]}");
    expect("{\"a\":1,\"note\" \"b\",\"traceEvents\":[" EVENT "]}", false, false, 0,
           "{\"a\":1,\n\"traceEvents\":[" EVENT "]}");
    expect("{\"traceEvents\":[" EVENT "],\"a\":\"b\"c\"}\n", true, false, 0,
           "{\"traceEvents\":[{\"ph\":\"X\",\"name\":\"a\",\"args\":{\"k\":1}}],\"a\":\"b\"}\n");
    expect("{\"traceEvents\":[" EVENT "],\"a\":\"b\"c\"}\n{\"traceEvents\":[" EVENT "]}", false, false, 0,
           "{\"traceEvents\":[" EVENT "],\"a\":\"b\"}\n{\"traceEvents\":[" EVENT "]}");
}

TEST(test_bare)
{
    collected out = {0};
    rs_sink sink = {collect, &out};
    rs_writer writer;
    rs_writer_init(&writer, &sink);
    const char *event = "{ \"name\": \"long\", \"args\": {\"x\": \"}\"}, \"ts\": 1.5 }";
    rs_event_write_bare((const uint8_t *)event, strlen(event), "\"7\"", &writer);
    assert_int_equal(rs_writer_finish(&writer, NULL), RS_OK);
    assert_string_equal(out.t.s, "{\"name\":\"7\",\"ts\": 1.5}");
    text_clear(&out.t);
    const uint8_t *value;
    size_t n;
    rs_event_member((const uint8_t *)event, strlen(event), "ts", &value, &n);
    assert_true(n == 3 && memcmp(value, "1.5", 3) == 0);
    rs_event_member((const uint8_t *)event, strlen(event), "x", &value, &n);
    assert_null(value);
}

/* Cut anywhere, the copy is whole JSON again with the events that were whole. */
TEST(test_cut)
{
    text t = {0};
    text_puts(&t, "{\"schemaVersion\": 1, \"traceEvents\": [\n");
    text_events(&t, 20, 5);
    text_puts(&t, "\n], \"traceName\": \"x\"}");
    for (size_t cut = 0; cut < t.n; cut += cut < 60 || cut + 40 > t.n ? 1 : 37) {
        guarded g = guarded_copy(t.s, cut);
        change c = {.left = 1};
        collected out = {0};
        bool truncated = false;
        rs_status status = copy((const char *)g.bytes, cut, false, &c, &out, &truncated);
        if (status == RS_OK) {
            assert_true(truncated);
            rs_events *events = load(out.t.s, out.t.n);
            spans all = spans_of(t.s, t.n);
            assert_int_equal(events->n, spans_before(&all, cut) + 1);
            assert_int_equal(problem_count(events, "truncated"), 0);
            spans_clear(&all);
            rs_events_free(events);
        } else {
            assert_int_equal(status, RS_ERR_FORMAT); /* before the first event array */
        }
        text_clear(&out.t);
        guarded_free(&g);
    }
    text_clear(&t);
}

/* A text of many windows keeps every byte; damage is told, never passed on. */
TEST(test_large_and_damaged)
{
    text t = text_trace(40000, 3);
    change c = {0};
    collected out = {0};
    bool truncated;
    assert_int_equal(copy(t.s, t.n, false, &c, &out, &truncated), RS_OK);
    assert_int_equal(out.t.n, t.n);
    assert_memory_equal(out.t.s, t.s, t.n);
    text_clear(&out.t);
    text_clear(&t);
    rng r = {11};
    for (int i = 0; i < ROUNDS(400); i++) {
        text small = text_trace(12, (uint64_t)i);
        text_mutate(&small, &r);
        guarded g = guarded_copy(small.s, small.n);
        change none = {.left = 2, .drop = true, .damaged = true};
        collected got = {0};
        rs_status status = copy((const char *)g.bytes, g.n, i % 2, &none, &got, &truncated);
        assert_true(status == RS_OK || status == RS_ERR_FORMAT);
        text_clear(&got.t);
        guarded_free(&g);
        text_clear(&small);
    }
}
