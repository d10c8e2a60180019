/* Perfetto's traces: rocprofv3's, cut and damaged ones. tests/perfetto/make wrote the file. What slice writes is read again
 * in tests/slice and tests/cli. */
#include "native.h"
#include "input/protobuf.h"

#define ROCPROF RS_SOURCE_DIR "/tests/data/rocprof_perfetto/12_results.pftrace"
#define BASE INT64_C(63855948000000)
#define N 7 /* events of that file */

static rs_events *load_trace(const char *bytes, size_t n)
{
    rs_events *e;
    rs_source *source;
    rs_load_settings settings = {.columns = RS_ALL_COLUMNS | RS_OTHER_ARGUMENTS};
    guarded g = guarded_copy(bytes, n);
    const rs_format *format = rs_format_of_text((const uint8_t *)g.bytes, n);
    assert_int_equal(rs_source_open_bytes(g.bytes, g.n, "x.pftrace", 0, &source, NULL), RS_OK);
    assert_string_equal(format->name, "rocprof_perfetto");
    assert_int_equal(format->load(source, &settings, &e, NULL), RS_OK);
    rs_source_close(source);
    guarded_free(&g);
    return e;
}

static void test_rocprof(void **state)
{
    (void)state;
    text t = text_of_file(ROCPROF);
    rs_events *e = load_trace(t.s, t.n);
    assert_int_equal(e->n, N);
    assert_int_equal(count_claims(t.s, t.n), 1);
    expect_event(e, 0, "user_annotation", "ProfilerStep#5", BASE, 90000);
    expect_int(e, 0, RS_COL_CORRELATION, RS_NO_VALUE); /* only calls and work are linked */
    expect_event(e, 2, "hip_runtime", "hipLaunchKernel", BASE + 4000, 1000);
    expect_int(e, 2, RS_COL_CORRELATION, 3);
    assert_int_equal(e->threads[e->thread[2]].pid, 4711);
    assert_int_equal(e->threads[e->thread[2]].tid, 4711);
    assert_int_equal(e->threads[e->thread[3]].tid, 4712);
    expect_event(e, 4, "gpu_memcpy", "MEMORY_COPY_HOST_TO_DEVICE", BASE + 3500, 6000);
    expect_int(e, 4, RS_COL_BYTES, 8192);
    expect_int(e, 4, RS_COL_DEVICE, 2);
    expect_int(e, 4, RS_COL_STREAM, 4);
    expect_event(e, 5, "kernel", "gemm(float*)", BASE + 10000, 40000);
    expect_int(e, 5, RS_COL_CORRELATION, 3);
    expect_int(e, 5, RS_COL_SHARED_MEMORY, 1024);
    expect_text(e, 5, RS_COL_BLOCK, "[256, 1, 1]");
    expect_text(e, 5, RS_COL_GRID, "[4, 1, 1]");
    assert_int_equal(e->problems.n, 0);
    rs_events_free(e);
    text_clear(&t);
}

static void expect_sound(const rs_events *e)
{
    for (size_t i = 0; i < e->n; i++)
        assert_true(e->phase[i] == 'i' || (e->phase[i] == 'X' && e->duration[i] >= 0));
}

/* Cut anywhere: the events before the cut; a loss is told unless the cut is between two packets. */
static void test_cut(void **state)
{
    (void)state;
    text t = text_of_file(ROCPROF);
    size_t before = 0;
    for (size_t n = 120; n < t.n; n++) {
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
static void test_damage(void **state)
{
    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rocprof),
        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
