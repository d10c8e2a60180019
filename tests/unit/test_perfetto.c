/* Perfetto's traces: rocprofv3's and PyTorch's, cut and damaged ones. tests/perfetto/make and make_torch wrote the files. What
 * slice writes is read again in tests/slice and tests/cli. */
#include "rewrite/proto_bytes.h"
#include "native.h"
#include "format/kineto.h"
#include "format/perfetto_fields.h"
#include "input/protobuf.h"

#define ROCPROF RS_SOURCE_DIR "/tests/data/rocprof_perfetto/12_results.pftrace"
#define TORCH RS_SOURCE_DIR "/tests/data/torch_pftrace/small.pftrace"
#define TORCH_JSON RS_SOURCE_DIR "/tests/data/torch_pftrace/small.json"
#define BASE INT64_C(63855948000000)
#define N 8 /* events of that file, one of them a sample of a counter */

static rs_events *load_trace(const char *bytes, size_t n)
{
    rs_events *e;
    rs_source *source;
    rs_load_settings settings = {.columns = RS_ALL_COLUMNS | RS_OTHER_ARGUMENTS};
    guarded g = guarded_copy(bytes, n);
    const rs_format *format = rs_format_of_text((const uint8_t *)g.bytes, n);
    assert_int_equal(rs_source_open_bytes(g.bytes, g.n, "x.pftrace", 0, &source, NULL), RS_OK);
    assert_non_null(strstr(format->name, "perfetto"));
    assert_int_equal(format->load(source, &settings, &e, NULL), RS_OK);
    rs_source_close(source);
    guarded_free(&g);
    return e;
}

TEST(test_rocprof)
{
    text t = text_of_file(ROCPROF);
    rs_events *e = load_trace(t.s, t.n);
    assert_string_equal(e->format->name, "rocprof_perfetto");
    assert_int_equal(e->n, N);
    assert_int_equal(count_claims(t.s, t.n), 1);
    expect_event(e, 6, "user_annotation", "ProfilerStep#5", BASE, 90000);
    expect_int(e, 6, RS_COL_CORRELATION, RS_NO_VALUE); /* only calls and work are linked */
    expect_event(e, 1, "hip_runtime", "hipLaunchKernel", BASE + 4000, 1000);
    expect_int(e, 1, RS_COL_CORRELATION, 3);
    assert_int_equal(e->threads[e->thread[1]].pid, 4711);
    assert_int_equal(e->threads[e->thread[1]].tid, 4711);
    assert_int_equal(e->threads[e->thread[2]].tid, 4712);
    expect_event(e, 3, "gpu_memcpy", "MEMORY_COPY_HOST_TO_DEVICE", BASE + 3500, 6000);
    expect_int(e, 3, RS_COL_BYTES, 8192);
    expect_int(e, 3, RS_COL_DEVICE, 2);
    expect_int(e, 3, RS_COL_STREAM, 4);
    expect_event(e, 4, "kernel", "gemm(float*)", BASE + 10000, 40000);
    expect_int(e, 4, RS_COL_CORRELATION, 3);
    expect_int(e, 4, RS_COL_SHARED_MEMORY, 1024);
    expect_text(e, 4, RS_COL_BLOCK, "[256, 1, 1]");
    expect_text(e, 4, RS_COL_GRID, "[4, 1, 1]");
    assert_int_equal(e->problems.n, 0);
    rs_events_free(e);
    text_clear(&t);
}

static size_t count_phase(const rs_events *e, char phase)
{
    size_t n = 0;
    for (size_t i = 0; i < e->n; i++) n += e->phase[i] == (uint8_t)phase;
    return n;
}

static void expect_sound(const rs_events *e)
{
    for (size_t i = 0; i < e->n; i++)
        assert_true(strchr("isfMC", e->phase[i]) || (e->phase[i] == 'X' && e->duration[i] >= 0));
}

/* Cut anywhere: the events before the cut; a loss is told unless the cut is between two packets. */
TEST(test_cut)
{
    text t = text_of_file(ROCPROF);
    size_t before = 0;
    for (size_t n = 120; n <= t.n; n++) {
        rs_events *e = load_trace(t.s, n);
        expect_sound(e);
        if (!rs_pb_is_whole((rs_pb){(uint8_t *)t.s, (uint8_t *)t.s + n})) assert_true(e->truncated);
        assert_true(e->n >= before && e->n <= N);
        before = e->n;
        rs_events_free(e);
    }
    assert_int_equal(before, N);
    text_clear(&t);
}

/* One damaged byte costs its packet, and what refers to that. Names and tracks are told once, so that the packets that
 * tell them cost more. */
TEST(test_damage)
{
    static const char masks[] = {0x01, (char)0x80, (char)0xff};
    text t = text_of_file(ROCPROF);
    size_t n_files = 0, n_whole = 0;
    for (size_t i = 0; i < t.n; i++)
        for (size_t k = 0; k < 3; k++) {
            t.s[i] ^= masks[k];
            if (strcmp(rs_format_of_text((const uint8_t *)t.s, t.n)->name, "rocprof_perfetto") == 0) {
                rs_events *e = load_trace(t.s, t.n);
                expect_sound(e);
                n_files++;
                n_whole += e->n + 1 >= N;
                rs_events_free(e);
            }
            t.s[i] ^= masks[k];
        }
    printf("%zu of %zu damaged files lose one event at most\n", n_whole, n_files);
    assert_true(n_whole * 100 >= n_files * 99);
    text_clear(&t);
}

/* ---- PyTorch's encoder ---------------------------------------------------------------------------------- */

static void without_spaces(const char *from, char *out, size_t size)
{
    size_t n = 0;
    for (; *from && n + 1 < size; from++)
        if (*from != ' ') out[n++] = *from;
    out[n] = '\0';
}

/* Values of the columns that both of PyTorch's forms write. Not: kinds of copies, which the .pftrace leaves out. */
static void expect_same_arguments(const rs_events *a, uint32_t x, const rs_events *b, uint32_t y)
{
    for (unsigned c = 0; c < RS_COL_FLOW_ID; c++) {
        if (RS_COPY_COLUMNS >> c & 1) continue;
        int64_t number = RS_NO_VALUE, other = RS_NO_VALUE;
        char first[256] = "", second[256] = "";
        if (rs_column_infos[c].type == RS_COLUMN_TEXT) {
            uint32_t s = rs_events_text(a, (rs_column_id)c, x), t = rs_events_text(b, (rs_column_id)c, y);
            if (s != RS_NO_STRING) without_spaces(a->strings.items[s].text, first, sizeof first);
            if (t != RS_NO_STRING) without_spaces(b->strings.items[t].text, second, sizeof second);
            assert_string_equal(first, second);
        } else if (rs_column_infos[c].type == RS_COLUMN_INT) {
            rs_events_int(a, (rs_column_id)c, x, &number);
            rs_events_int(b, (rs_column_id)c, y, &other);
            assert_int_equal(number, other);
        }
    }
}

/* The span of another file with the same category, name, time and thread. */
static uint32_t find_same(const rs_events *a, uint32_t row, const rs_events *b, int64_t shift)
{
    const rs_string *category = &a->strings.items[a->categories[a->category[row]].name];
    const rs_thread *t = &a->threads[a->thread[row]];
    for (uint32_t i = 0; i < b->n; i++) {
        const rs_thread *u = &b->threads[b->thread[i]];
        bool overhead = strcmp(category->text, "overhead") == 0; /* its process is below 0 in JSON */
        bool named = strcmp(rs_event_name(a, row), rs_event_name(b, i)) == 0 ||
                     strcmp(category->text, "gpu_memcpy") == 0; /* where copies go is not in the .pftrace */
        if (b->phase[i] == 'X' && b->start[i] == a->start[row] + shift &&
            b->duration[i] == a->duration[row] && named &&
            strcmp(category->text, b->strings.items[b->categories[b->category[i]].name].text) == 0 &&
            (overhead || (t->pid == u->pid && t->tid == u->tid)))
            return i;
    }
    return RS_NO_ROW;
}

static rs_events *load_json(const char *path)
{
    rs_events *e;
    rs_source *source;
    rs_load_settings settings = {.columns = RS_ALL_COLUMNS};
    assert_int_equal(rs_source_open(path, 0, &source, NULL), RS_OK);
    assert_int_equal(rs_kineto_load(source, &settings, &e, NULL), RS_OK);
    rs_source_close(source);
    return e;
}

/* Both of the files are the encoder's own: each event of the JSON is in the .pftrace, and no other. */
TEST(test_torch)
{
    text t = text_of_file(TORCH);
    rs_events *e = load_trace(t.s, t.n), *json = load_json(TORCH_JSON);
    size_t found = 0;
    assert_int_equal(count_claims(t.s, t.n), 1);
    assert_string_equal(e->format->name, "torch_perfetto");
    assert_int_equal(e->info.base_time_ns, 0); /* times count from 1970 */
    for (uint32_t row = 0; row < json->n; row++) {
        rs_kind kind = rs_event_kind(json, row);
        if (json->phase[row] != 'X' || kind == RS_KIND_SPAN) continue;
        uint32_t other = find_same(json, row, e, json->info.base_time_ns);
        assert_true(other != RS_NO_ROW);
        expect_same_arguments(json, row, e, other);
        found++;
    }
    assert_int_equal(found, count_phase(e, 'X'));
    assert_int_equal(found, 39);
    /* what work of the two replays waits for: three flows each, which the JSON has, too */
    assert_int_equal(count_phase(e, 's'), 6);
    assert_int_equal(count_phase(e, 'f'), 6);
    assert_int_equal(e->problems.n, 0);
    rs_events_free(e);
    rs_events_free(json);
    text_clear(&t);
}

/* Cut anywhere: events before the cut; a slice without its end has no length. */
TEST(test_torch_cut)
{
    text t = text_of_file(TORCH);
    size_t before = 0;
    for (size_t n = 1100; n < t.n; n += 3) {
        rs_events *e = load_trace(t.s, n);
        expect_sound(e);
        if (!rs_pb_is_whole((rs_pb){(uint8_t *)t.s, (uint8_t *)t.s + n})) assert_true(e->truncated);
        assert_true(count_phase(e, 'X') >= before);
        before = count_phase(e, 'X');
        rs_events_free(e);
    }
    assert_int_equal(before, 39);
    text_clear(&t);
}

/* Spans that are as they were. */
static size_t count_same(const rs_events *whole, const rs_events *e)
{
    size_t n = 0;
    for (uint32_t row = 0; row < whole->n; row++)
        n += whole->phase[row] == 'X' && find_same(whole, row, e, 0) != RS_NO_ROW;
    return n;
}

/* One damaged byte costs its event, also where a group's beginnings and ends are counted. Names and tracks, which are written
 * once and in packets of their own, are left alone here. */
TEST(test_torch_damage)
{
    text t = text_of_file(TORCH);
    rs_events *whole = load_trace(t.s, t.n);
    size_t first = 1780, n_files = 0, n_kept = 0;
    for (size_t i = first; i < t.n; i += 2) {
        t.s[i] ^= (char)0xff;
        rs_events *e = load_trace(t.s, t.n);
        expect_sound(e);
        n_files++;
        n_kept +=
            count_same(whole, e) + 2 >= 39; /* of an argument of a packet nothing is missed; of an end, two */
        rs_events_free(e);
        t.s[i] ^= (char)0xff;
    }
    printf("%zu of %zu damaged files of PyTorch's keep all events but two\n", n_kept, n_files);
    assert_true(n_kept * 100 >= n_files * 97);
    rs_events_free(whole);
    text_clear(&t);
}

/* ---- which end is whose ---------------------------------------------------------------------------------- */

static void put_mark(rs_proto_bytes *b, bool begin, uint64_t track, uint64_t time)
{
    size_t packet = rs_proto_open(b, TRACE_PACKET);
    rs_proto_uint(b, PACKET_SEQUENCE, 1);
    rs_proto_uint(b, PACKET_TIMESTAMP, time);
    size_t event = rs_proto_open(b, PACKET_EVENT);
    rs_proto_uint(b, EVENT_TYPE, begin ? TYPE_BEGIN : TYPE_END);
    rs_proto_uint(b, EVENT_TRACK, track);
    rs_proto_close(b, event);
    rs_proto_close(b, packet);
}

typedef struct mark {
    bool begin;
    uint64_t track, time;
} mark;

/* The lengths of the slices, in the order of their beginnings in the file. */
static void expect_lengths(const mark *marks, size_t n, const int64_t *lengths, size_t n_lengths,
                           const char *problem)
{
    rs_proto_bytes b = {0};
    for (size_t i = 0; i < n; i++) put_mark(&b, marks[i].begin, marks[i].track, marks[i].time);
    rs_events *e = load_trace((const char *)b.bytes, b.n);
    assert_int_equal(e->n, n_lengths);
    for (size_t i = 0; i < n_lengths; i++) assert_int_equal(e->duration[i], lengths[i]);
    assert_int_equal(e->problems.n, problem != NULL);
    if (problem) assert_string_equal(e->problems.items[0].kind, problem);
    rs_events_free(e);
    rs_free(b.bytes);
}

#define MARKS(...) ((const mark[]){__VA_ARGS__}), sizeof((const mark[]){__VA_ARGS__}) / sizeof(mark)
#define LENGTHS(...)                                                                                         \
    ((const int64_t[]){__VA_ARGS__}), sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)
#define B(track, time)                                                                                       \
    {                                                                                                        \
        true, track, time                                                                                    \
    }
#define E(track, time)                                                                                       \
    {                                                                                                        \
        false, track, time                                                                                   \
    }

TEST(test_pairs)
{
    /* in the order of time what began last ends first */
    expect_lengths(MARKS(B(1, 10), B(1, 20), E(1, 30), E(1, 40)), LENGTHS(30, 10), NULL);
    expect_lengths(MARKS(B(1, 10), B(2, 20), E(1, 30), E(2, 50)), LENGTHS(20, 30), NULL);
    /* group by group: times go back, and end i is that of beginning i: one of no length, one that begins where another ends,
     * one inside another */
    expect_lengths(MARKS(B(1, 10), B(1, 20), B(1, 20), B(1, 30), B(1, 35), E(1, 20), E(1, 20), E(1, 30),
                         E(1, 50), E(1, 40)),
                   LENGTHS(10, 0, 10, 20, 5), NULL);
    /* work that overlaps on a stream */
    expect_lengths(MARKS(B(1, 10000), B(1, 20000), B(1, 5000), E(1, 25000), E(1, 30000), E(1, 6000)),
                   LENGTHS(15000, 10000, 1000), NULL);
    /* a beginning that is lost: its end is over; the others keep theirs */
    expect_lengths(MARKS(B(1, 10), B(1, 30), B(1, 5), E(1, 15), E(1, 25), E(1, 35), E(1, 6)),
                   LENGTHS(5, 5, 1), "no_begin");
    /* an end that is lost */
    expect_lengths(MARKS(B(1, 10), B(1, 20), B(1, 30), B(1, 5), E(1, 15), E(1, 35), E(1, 6)),
                   LENGTHS(5, 0, 5, 1), "no_end");
    /* nothing fits: by time, at one moment first the ends of what is open */
    expect_lengths(MARKS(B(1, 20), B(1, 10), B(2, 5), E(2, 40), E(1, 20), E(1, 30)), LENGTHS(10, 10, 35),
                   NULL);
    expect_lengths(MARKS(B(1, 20), B(2, 5), E(2, 30), E(1, 20)), LENGTHS(0, 25), NULL);
}
