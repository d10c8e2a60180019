/* ops --perf and roofline: the same rows, the same numbers, on traces of the tree and of the corpus. */
#include "support.h"

#include <math.h>

#include "base/memory.h"
#include "rankscope/partial.h"

static const char arguments[] = "\"Input Dims\":[[64,32],[32,16]],\"Input type\":[\"float\",\"float\"],"
                                "\"Input Strides\":[[32,1],[16,1]],\"Concrete Inputs\":[\"\",\"\"]";

/* A product of 64 x 32 by 32 x 16 with two calls, an operator without a model, a copy from the host, and a
 * kernel whose launch is not there; on an H100. */
static text small_trace(void)
{
    static const char *const ops[] = {"aten::mm", "aten::mm", "aten::nonzero", "aten::copy_"};
    text t = {0};
    text_puts(&t, "{\"deviceProperties\":[{\"id\":0,\"name\":\"NVIDIA H100 80GB HBM3\"}],"
                  "\"distributedInfo\":{\"rank\":5},\"traceEvents\":[");
    for (int i = 0; i < 4; i++) {
        const char *args = i < 2 ? arguments : "\"x\":1";
        if (i == 3) args = "\"Input Dims\":[[8],[8]],\"Input type\":[\"float\",\"float\"]";
        text_printf(
            &t,
            "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"%s\",\"pid\":1,\"tid\":1,\"ts\":%d,\"dur\":50,"
            "\"args\":{%s}},"
            "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,\"tid\":1,"
            "\"ts\":%d,\"dur\":5,\"args\":{\"correlation\":%d}},"
            "{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s\",\"pid\":0,\"tid\":7,\"ts\":%d,\"dur\":%d,"
            "\"args\":{\"correlation\":%d,\"stream\":7,\"device\":0}},",
            ops[i], 100 * i, args, 100 * i + 10, i + 1, i == 3 ? "gpu_memcpy" : "kernel",
            i == 3 ? "Memcpy HtoD (Pinned -> Device)" : "k", 100 * i + 40, 10 + 10 * i, i + 1);
    }
    text_puts(&t, "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":900,\"dur\":10,"
                  "\"args\":{\"correlation\":77,\"stream\":7,\"device\":0}}]}");
    return t;
}

static rs_status ask(rs_job *job, const char *name, const char *const *set, rs_result *result, rs_error *err)
{
    const rs_analysis *a = rs_analysis_find(name);
    rs_options *options;
    size_t n;
    const rs_option_spec *specs = rs_analysis_options(a, &n);
    *result = (rs_result){0};
    rs_status status = rs_options_create(specs, n, &options, err);
    if (status != RS_OK) return status;
    for (; status == RS_OK && set && set[0]; set += 2) status = rs_options_set(options, set[0], set[1], err);
    if (status == RS_OK) status = rs_job_run(job, a, options, RS_COMPAT_NONE, result, err);
    rs_options_free(options);
    return status;
}

/* ---- cells ------------------------------------------------------------------------------------------- */

typedef struct cell {
    const rs_table *table;
    size_t row, column;
} cell;

static cell cell_of(const rs_table *t, size_t row, const char *column)
{
    const rs_table_spec *spec = rs_table_get_spec(t);
    for (size_t i = 0; i < spec->n_columns; i++)
        if (strcmp(spec->columns[i].name, column) == 0) return (cell){t, row, i};
    fail_msg("no column %s in %s", column, spec->name);
    return (cell){0};
}

static bool unknown(cell c)
{
    return rs_table_is_null(c.table, c.row, c.column);
}

static int64_t whole(cell c)
{
    return rs_table_int(c.table, c.row, c.column);
}

static double real(cell c)
{
    return rs_table_real(c.table, c.row, c.column);
}

static void same_text(cell a, cell b)
{
    size_t n, m;
    assert_int_equal(unknown(a), unknown(b));
    if (unknown(a)) return;
    const char *s = rs_table_text(a.table, a.row, a.column, &n);
    const char *t = rs_table_text(b.table, b.row, b.column, &m);
    assert_int_equal(n, m);
    assert_memory_equal(s, t, n);
}

static void same_whole(cell a, cell b)
{
    assert_int_equal(unknown(a), unknown(b));
    if (!unknown(a)) assert_int_equal(whole(a), whole(b));
}

/* a is b times `factor`, to the last digits. */
static void same_real(cell a, cell b, double factor)
{
    assert_int_equal(unknown(a), unknown(b));
    if (!unknown(a)) assert_true(fabs(real(a) - real(b) * factor) <= 1e-12 * fabs(real(a)));
}

/* ---- the two commands -------------------------------------------------------------------------------- */

static void same_row(const rs_table *perf, const rs_table *args, size_t row)
{
    static const char *const texts[] = {"name",        "model",         "exact",
                                        "precision",   "bound",         "input_dims",
                                        "input_types", "input_strides", "concrete_inputs"};
    static const char *const numbers[] = {"rank", "count", "kernel_us", "bytes", "ex_uid"};
    static const char *const reals[] = {"flops_per_byte", "tflops_per_s", "efficiency_pct"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        same_text(cell_of(perf, row, texts[i]), cell_of(args, row, texts[i]));
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        same_whole(cell_of(perf, row, numbers[i]), cell_of(args, row, numbers[i]));
    for (size_t i = 0; i < sizeof reals / sizeof *reals; i++)
        same_real(cell_of(perf, row, reals[i]), cell_of(args, row, reals[i]), 1);
    same_real(cell_of(perf, row, "tb_per_s"), cell_of(args, row, "gb_per_s"), 1e-3);
    cell flops = cell_of(perf, row, "flops"), matrix = cell_of(args, row, "matrix_flops");
    assert_int_equal(unknown(flops), unknown(matrix));
    if (!unknown(flops))
        assert_int_equal(whole(flops), whole(matrix) + whole(cell_of(args, row, "vector_flops")));
}

/* The line of coverage is what roofline's operators of that rank add up to. */
static void same_coverage(const rs_table *coverage, const rs_table *ops)
{
    static const char *const sums[] = {"count", "kernel_us", "bytes", "bounded_us"};
    for (size_t i = 0; i < rs_table_n_rows(coverage); i++) {
        int64_t rank = whole(cell_of(coverage, i, "rank")), sum[4] = {0}, flops = 0;
        double bound = 0, modelled = 0;
        for (size_t k = 0; k < rs_table_n_rows(ops); k++) {
            if (whole(cell_of(ops, k, "rank")) != rank) continue;
            for (size_t s = 0; s < 4; s++) sum[s] += whole(cell_of(ops, k, sums[s]));
            flops += whole(cell_of(ops, k, "matrix_flops")) + whole(cell_of(ops, k, "vector_flops"));
            bound += real(cell_of(ops, k, "bound_us"));
            if (!unknown(cell_of(ops, k, "modelled_pct")))
                modelled +=
                    real(cell_of(ops, k, "modelled_pct")) / 100 * (double)whole(cell_of(ops, k, "kernel_us"));
        }
        for (size_t s = 0; s < 4; s++) assert_int_equal(whole(cell_of(coverage, i, sums[s])), sum[s]);
        assert_int_equal(whole(cell_of(coverage, i, "flops")), flops);
        assert_true(fabs(real(cell_of(coverage, i, "bound_us")) - bound) <= 1e-9 * bound);
        assert_true(fabs((double)whole(cell_of(coverage, i, "modelled_us")) - modelled) <= 1e-9 * modelled);
        if (sum[1])
            assert_true(fabs(real(cell_of(coverage, i, "modelled_pct")) - 100 * modelled / (double)sum[1]) <=
                        1e-9);
    }
}

static void compare_job(rs_job *job, const char *device)
{
    rs_result ops, roofline;
    rs_error err = RS_ERROR_INIT;
    const char *set[] = {"perf", NULL, device ? "device" : NULL, device, NULL};
    const char *its[] = {device ? "device" : NULL, device, NULL};
    assert_int_equal(ask(job, "ops", set, &ops, &err), RS_OK);
    assert_int_equal(ask(job, "roofline", its, &roofline, &err), RS_OK);
    const rs_table *perf = rs_result_table(&ops, "perf"), *args = rs_result_table(&roofline, "args");
    assert_ptr_equal(ops.tables[ops.main_table], perf);
    assert_true(rs_table_n_rows(perf) > 0);
    assert_int_equal(rs_table_n_rows(perf), rs_table_n_rows(args));
    for (size_t i = 0; i < rs_table_n_rows(perf); i++) same_row(perf, args, i);
    same_coverage(rs_result_table(&ops, "coverage"), rs_result_table(&roofline, "ops"));
    rs_result_clear(&ops);
    rs_result_clear(&roofline);
}

static void compare_file(const char *path)
{
    rs_job_settings settings = {.size = sizeof(rs_job_settings), .jobs = 1};
    rs_job *job;
    rs_error err = RS_ERROR_INIT;
    assert_int_equal(rs_job_open(&path, 1, &settings, &job, &err), RS_OK);
    compare_job(job, NULL);
    compare_job(job, "MI300X");
    rs_job_close(job);
}

TEST(test_tree)
{
    compare_file(RS_SOURCE_DIR "/tests/data/small");
}

static void visit(const char *path, void *context)
{
    static const char *const names[] = {"/mi300-resnet.", "/h100-bert.", "/norm-layers.", "/triton-compile."};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!strstr(path, names[i])) continue;
        compare_file(path);
        ++*(size_t *)context;
    }
}

TEST(test_corpus)
{
    size_t n = 0;
    corpus_each(visit, &n);
    if (n == 0) skip();
    assert_true(n >= 3);
}

/* ---- by hand ----------------------------------------------------------------------------------------- */

static rs_status ask_bytes(const text *t, const char *const *set, rs_result *result, rs_error *err)
{
    rs_job_settings settings = {.size = sizeof(rs_job_settings), .jobs = 1};
    rs_job *job;
    *result = (rs_result){0};
    rs_status status = rs_job_open_bytes(t->s, t->n, "trace.json", &settings, &job, err);
    if (status != RS_OK) return status;
    status = ask(job, "ops", set, result, err);
    rs_job_close(job);
    return status;
}

static const char *const with_perf[] = {"perf", NULL, NULL};

TEST(test_numbers)
{
    text t = small_trace();
    rs_result result;
    rs_error err = RS_ERROR_INIT;
    assert_int_equal(ask_bytes(&t, with_perf, &result, &err), RS_OK);
    const rs_table *perf = rs_result_table(&result, "perf"), *sum = rs_result_table(&result, "coverage");
    assert_int_equal(rs_table_n_rows(perf), 3);
    /* the copy: 40 us, 64 bytes, over the host's link, so without a bound */
    assert_int_equal(whole(cell_of(perf, 0, "rank")), 5);
    assert_int_equal(whole(cell_of(perf, 0, "kernel_us")), 40000);
    assert_int_equal(whole(cell_of(perf, 0, "bytes")), 64);
    assert_true(unknown(cell_of(perf, 0, "bound")));
    assert_true(fabs(real(cell_of(perf, 0, "share_pct")) - 40) < 1e-9);
    /* products: 10 and 20 us; the operator without a model took 30 us and came later */
    assert_int_equal(whole(cell_of(perf, 1, "count")), 2);
    assert_int_equal(whole(cell_of(perf, 1, "flops")), 2 * 64 * 32 * 16);
    assert_int_equal(whole(cell_of(perf, 1, "bytes")), 4 * (64 * 32 + 32 * 16 + 64 * 16));
    assert_true(fabs(real(cell_of(perf, 1, "tflops_per_s")) - 2 * 65536 / 30e-6 / 1e12) < 1e-12);
    assert_true(fabs(real(cell_of(perf, 1, "tb_per_s")) - 2 * 14336 / 30e-6 / 1e12) < 1e-12);
    assert_true(fabs(real(cell_of(perf, 1, "flops_per_byte")) - 65536.0 / 14336) < 1e-12);
    /* 14336 bytes at 3350 GB/s are 4.279 ns a call */
    double least = 14336 / 3350e9;
    assert_true(fabs(real(cell_of(perf, 1, "efficiency_pct")) - 100 * 2 * least / 30e-6) < 1e-9);
    assert_true(unknown(cell_of(perf, 2, "model")));
    assert_true(unknown(cell_of(perf, 2, "flops")));
    assert_true(unknown(cell_of(perf, 2, "tb_per_s")));
    /* 70 of 100 us have a model; the kernel without a launch has no row, which a note says */
    assert_int_equal(rs_table_n_rows(sum), 1);
    assert_int_equal(whole(cell_of(sum, 0, "kernel_us")), 100000);
    assert_true(fabs(real(cell_of(sum, 0, "modelled_pct")) - 70) < 1e-9);
    assert_int_equal(whole(cell_of(sum, 0, "bounded_us")), 30000);
    assert_int_equal(result.n_notes, 1);
    assert_non_null(strstr(result.notes[0], "no launch in the file"));
    rs_result_clear(&result);
    text_clear(&t);
}

/* A backward pass without arguments takes those of its forward call by the sequence number; the device is the
 * one that the work names, here the second. What these take is read with --perf only. */
TEST(test_backward)
{
    static const char head[] = "{\"deviceProperties\":[{\"id\":0,\"name\":\"NVIDIA H100 80GB HBM3\"},"
                               "{\"id\":1,\"name\":\"AMD Instinct MI300X\"}],\"traceEvents\":[";
    static const char *const ops[] = {
        "FlashAttnFunc\",\"args\":{\"Sequence number\":7,\"Input Dims\":[[2,64,4,32],[2,64,4,32],[2,64,4,32],"
        "[],[],[]],\"Input type\":[\"c10::BFloat16\",\"c10::BFloat16\",\"c10::BFloat16\",\"Scalar\","
        "\"Scalar\",\"Scalar\"],\"Concrete Inputs\":[\"\",\"\",\"\",\"0.\",\"0.1\",\"False\"]}",
        "FlashAttnFuncBackward\",\"args\":{\"Sequence number\":7}"};
    text t = {0};
    text_puts(&t, head);
    for (int i = 0; i < 2; i++)
        text_printf(
            &t,
            "%s{\"ph\":\"X\",\"cat\":\"cpu_op\",\"pid\":1,\"tid\":1,\"ts\":%d,\"dur\":50,\"name\":\"%s},"
            "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,\"tid\":1,"
            "\"ts\":%d,\"dur\":5,\"args\":{\"correlation\":%d}},"
            "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":1,\"tid\":7,\"ts\":%d,\"dur\":10,"
            "\"args\":{\"correlation\":%d,\"stream\":7,\"device\":1}}",
            i ? "," : "", 100 * i, ops[i], 100 * i + 10, i + 1, 100 * i + 40, i + 1);
    text_puts(&t, "]}");
    rs_result result;
    rs_error err = RS_ERROR_INIT;
    assert_int_equal(ask_bytes(&t, with_perf, &result, &err), RS_OK);
    const rs_table *perf = rs_result_table(&result, "perf"), *sum = rs_result_table(&result, "coverage");
    assert_int_equal(rs_table_n_rows(perf), 2);
    /* 2 * batch * heads * pairs * (32 + 32), backward with 3 * 32 + 2 * 32 */
    assert_int_equal(whole(cell_of(perf, 0, "flops")), 2LL * 2 * 4 * 64 * 64 * 64);
    assert_int_equal(whole(cell_of(perf, 1, "flops")), 2LL * 2 * 4 * 64 * 64 * 160);
    assert_true(fabs(real(cell_of(sum, 0, "modelled_pct")) - 100) < 1e-9);
    size_t n;
    cell device = cell_of(sum, 0, "device");
    assert_string_equal(rs_table_text(device.table, device.row, device.column, &n), "MI300X");
    rs_result_clear(&result);
    text_clear(&t);
}

/* What is mapped elsewhere merges to the same numbers; a part made for other options is refused. */
TEST(test_mapped)
{
    const rs_analysis *a = rs_analysis_find("ops");
    rs_job_settings settings = {.size = sizeof(rs_job_settings), .jobs = 1};
    text t = small_trace();
    rs_job *job;
    rs_options *options;
    rs_bytes packed;
    rs_result there = {0}, here;
    rs_error err = RS_ERROR_INIT;
    size_t n;
    const rs_option_spec *specs = rs_analysis_options(a, &n);
    assert_int_equal(rs_options_create(specs, n, &options, &err), RS_OK);
    assert_int_equal(rs_options_set(options, "perf", NULL, &err), RS_OK);
    const rs_query query = {.analysis = a, .options = options}, other = {.analysis = a};
    assert_int_equal(rs_job_open_bytes(t.s, t.n, "trace.json", &settings, &job, &err), RS_OK);
    assert_int_equal(rs_job_map(job, &query, 1, &packed, &err), RS_OK);
    assert_int_equal(rs_merge_packed(&packed, 1, &query, 1, &there, &err), RS_OK);
    assert_int_equal(ask(job, "ops", with_perf, &here, &err), RS_OK);
    for (size_t i = 0; i < 2; i++) {
        static const char *const names[] = {"perf", "coverage"};
        const rs_table *x = rs_result_table(&there, names[i]), *y = rs_result_table(&here, names[i]);
        assert_int_equal(rs_table_n_rows(x), rs_table_n_rows(y));
        for (size_t k = 0; k < rs_table_n_rows(x); k++) {
            same_whole(cell_of(x, k, "flops"), cell_of(y, k, "flops"));
            same_whole(cell_of(x, k, "kernel_us"), cell_of(y, k, "kernel_us"));
            same_real(cell_of(x, k, "efficiency_pct"), cell_of(y, k, "efficiency_pct"), 1);
        }
    }
    rs_result_clear(&there);
    assert_int_equal(rs_merge_packed(&packed, 1, &other, 1, &there, &err), RS_ERR_USAGE);
    rs_result_clear(&there);
    rs_result_clear(&here);
    rs_bytes_free(&packed);
    rs_options_free(options);
    rs_job_close(job);
    text_clear(&t);
}

TEST(test_top)
{
    static const char *const set[] = {"perf", NULL, "top", "1", "by", "args", NULL};
    text t = small_trace();
    rs_result result;
    rs_error err = RS_ERROR_INIT;
    assert_int_equal(ask_bytes(&t, set, &result, &err), RS_OK);
    assert_int_equal(rs_table_n_rows(rs_result_table(&result, "perf")), 1);
    /* coverage counts what is not shown, too */
    assert_int_equal(whole(cell_of(rs_result_table(&result, "coverage"), 0, "count")), 4);
    rs_result_clear(&result);
    text_clear(&t);
}

TEST(test_refused)
{
    static const char *const wrong[][5] = {
        {"perf", NULL, "host", NULL, NULL},     {"perf", NULL, "by", "op", NULL},
        {"perf", NULL, "by", "category", NULL}, {"perf", NULL, "device", "H1000", NULL},
        {"device", "H100-SXM", NULL},           {"host", NULL, "device", "H100-SXM", NULL}};
    text t = small_trace();
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        rs_result result;
        rs_error err = RS_ERROR_INIT;
        assert_int_equal(ask_bytes(&t, wrong[i], &result, &err), RS_ERR_USAGE);
        rs_result_clear(&result);
    }
    text_clear(&t);
}

/* Out of memory or the whole answer, whichever allocation fails. */
TEST(test_memory)
{
    text t = small_trace();
    rs_result result;
    rs_error err = RS_ERROR_INIT;
    size_t failed = 0;
    rs_test_fail_allocation(0);
    assert_int_equal(ask_bytes(&t, with_perf, &result, &err), RS_OK);
    uint64_t n = rs_test_fail_allocation(0);
    rs_result_clear(&result);
    for (uint64_t k = 1; k <= n; k += RS_TEST_SLOW && k > 60 ? 5 : 1) {
        err = (rs_error)RS_ERROR_INIT;
        rs_test_fail_allocation(k);
        rs_status status = ask_bytes(&t, with_perf, &result, &err);
        rs_test_fail_allocation(0);
        if (status == RS_OK) {
            assert_int_equal(rs_table_n_rows(rs_result_table(&result, "perf")), 3);
            assert_int_equal(rs_table_n_rows(rs_result_table(&result, "coverage")), 1);
        } else {
            assert_int_equal(status, RS_ERR_NOMEM);
            failed++;
        }
        rs_result_clear(&result);
    }
    assert_true(failed > 20);
    text_clear(&t);
}
