/* Each allocation of a load fails in turn: out of memory or success, never a crash or a leak. */
#include "support.h"

#include "base/memory.h"

static text sample(void)
{
    text t = {0};
    text_puts(
        &t,
        "{\"deviceProperties\":[{\"name\":\"GPU\"}],\"distributedInfo\":{\"rank\":1,\"backend\":\"nccl\"},"
        "\"WARNING\":[\"one\",\"two\\n\"],\"traceEvents\":[");
    text_events(&t, 30, 3);
    text_puts(&t, ",{\"ph\":\"B\",\"name\":\"b\",\"ts\":1,\"pid\":\"p\",\"tid\":1},{\"ph\":\"E\",\"ts\":2,"
                  "\"pid\":\"p\",\"tid\":1}"
                  ",{\"ph\":\"X\",\"name\":\"bad\xff\\n\",\"ts\":1.00001,\"dur\":1},{\"ph\" \"X\"}"
                  ",{\"ph\":\"X\",\"cat\":\"cuda_profiler_range\",\"ts\":1,\"dur\":2,\"args\":{\"smsp__"
                  "inst\":1.5,\"x\":2}}");
    for (int i = 0; i < 400; i++)
        text_printf(
            &t,
            ",{\"ph\":\"X\",\"cat\":\"c%d\",\"name\":\"name %d\",\"ts\":%d,\"dur\":1,\"pid\":%d,\"tid\":%d,"
            "\"args\":{\"Input Dims\":[[%d]],\"other\":[%d]}}",
            i, i, i, i, i, i, i);
    text_puts(&t, "],\"traceName\":\"x\"}{\"traceEvents\":[{\"ph\":\"X\",\"ts\":1}]}");
    return t;
}

/* Returns how many allocations a load makes when none fails. */
static uint64_t check(const text *bytes, unsigned threads, bool file)
{
    const rs_load_settings settings = {.columns = RS_ALL_COLUMNS | RS_OTHER_ARGUMENTS, .threads = threads};
    rs_events *e, *full;
    rs_test_fail_allocation(0);
    assert_int_equal(load_with(bytes->s, bytes->n, &settings, &full, NULL), RS_OK);
    uint64_t n = rs_test_fail_allocation(0);
    assert_true(n > 20);
    size_t succeeded = 0, failed = 0;
    for (uint64_t k = 1, step = 1; k <= n + 8; k += step) {
        step = RS_TEST_SLOW && k > 60 ? 5 : 1;
        rs_error err = RS_ERROR_INIT;
        rs_test_fail_allocation(k);
        rs_status status = file ? load_file(bytes->s, bytes->n, &settings, &e, &err)
                                : load_with(bytes->s, bytes->n, &settings, &e, &err);
        rs_test_fail_allocation(0);
        if (status == RS_OK) {
            /* what is optional was left out (layouts, problems); what is there is right */
            assert_true(same_rows(e, 0, full, 0, full->n) && e->n == full->n);
            succeeded++;
        } else {
            assert_int_equal(status, RS_ERR_NOMEM);
            assert_null(e);
            assert_int_equal(err.status, RS_ERR_NOMEM);
            assert_true(err.n_causes > 0 && err.causes[0].message[0]);
            failed++;
        }
        rs_events_free(e);
    }
    assert_true(succeeded >= 1 && failed > 20);
    rs_events_free(full);
    return n;
}

TEST(test_plain)
{
    text t = sample();
    for (unsigned threads = 1; threads <= 3; threads++) check(&t, threads, threads == 2);
    text_clear(&t);
}

TEST(test_gzip)
{
    text t = sample(), p = gzip_pack(t.s, t.n, 6);
    for (unsigned threads = 1; threads <= 2; threads++) check(&p, threads, threads == 2);
    text_clear(&p);
    text_clear(&t);
}

TEST(test_zstd)
{
    text t = sample(), p = zstd_pack(t.s, t.n);
    for (unsigned threads = 1; threads <= 2; threads++) check(&p, threads, threads == 2);
    text_clear(&p);
    text_clear(&t);
}

/* Texts of several windows, the allocations of which are many: every seventeenth. */
TEST(test_windows)
{
    text t = text_trace(3000, 9), p = gzip_pack(t.s, t.n, 1);
    rs_events *full = load(t.s, t.n), *e;
    for (int kind = 0; kind < 2; kind++) {
        for (unsigned threads = 1; threads <= 2; threads++) {
            const rs_load_settings settings = {.columns = RS_ALL_COLUMNS, .threads = threads};
            const text *bytes = kind ? &p : &t;
            for (uint64_t k = 1;; k += RS_TEST_SLOW ? 97 : 17) {
                rs_test_fail_allocation(k);
                rs_status status = kind ? load_with(bytes->s, bytes->n, &settings, &e, NULL)
                                        : load_file(bytes->s, bytes->n, &settings, &e, NULL);
                uint64_t made = rs_test_fail_allocation(0);
                if (status != RS_OK) assert_int_equal(status, RS_ERR_NOMEM);
                if (status == RS_OK) assert_true(e->n == full->n && same_rows(e, 0, full, 0, full->n));
                rs_events_free(e);
                if (made < k) break;
            }
        }
    }
    rs_events_free(full);
    text_clear(&p);
    text_clear(&t);
}

TEST(test_memory_limit)
{
    text t = text_trace(3000, 9);
    rs_load_settings settings = {.columns = RS_ALL_COLUMNS};
    for (unsigned threads = 1; threads <= 2; threads++) {
        size_t failed = 0, succeeded = 0;
        settings.threads = threads;
        for (settings.max_memory = 1 << 12; settings.max_memory < 1 << 26; settings.max_memory *= 2) {
            rs_events *e;
            rs_error err = RS_ERROR_INIT;
            rs_status status = load_with(t.s, t.n, &settings, &e, &err);
            if (status == RS_OK) {
                assert_true(e->memory <= settings.max_memory);
                succeeded++;
            } else {
                assert_int_equal(status, RS_ERR_NOMEM);
                assert_non_null(strstr(err.causes[0].message, "--max-memory"));
                failed++;
            }
            rs_events_free(e);
        }
        assert_true(failed > 2 && succeeded > 2);
    }
    text_clear(&t);
}
