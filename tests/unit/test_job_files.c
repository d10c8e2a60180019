/* Jobs put together from memory: which rank each file becomes, in which order, and what is refused. */
#include <string.h>

#include "base/memory.h"
#include "job/job.h"
#include "unit.h"

#define TRACE(EXTRA)                                                                                         \
    "{" EXTRA "\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"gemm\",\"pid\":0,\"tid\":7,"     \
    "\"ts\":100,\"dur\":100,\"args\":{\"correlation\":1,\"stream\":7,\"device\":0}}]}"

static const char plain[] = TRACE("");
static const char says_five[] = TRACE("\"distributedInfo\":{\"rank\":5},");

static rs_status add(rs_job *job, const char *bytes, const char *name, int64_t rank, rs_error *err)
{
    rs_job_file file = {.name = name, .bytes = bytes, .n_bytes = strlen(bytes), .rank = rank};
    return rs_job_add(job, &file, err);
}

/* The ranks of a breakdown, in order. */
static void expect_ranks(rs_job *job, const int64_t *ranks, size_t n)
{
    rs_result result = {0};
    rs_error err = RS_ERROR_INIT;
    assert_int_equal(rs_job_run(job, rs_analysis_find("breakdown"), NULL, RS_COMPAT_NONE, &result, &err),
                     RS_OK);
    assert_int_equal(rs_table_n_rows(result.tables[0]), n);
    for (size_t i = 0; i < n; i++) assert_int_equal(rs_table_int(result.tables[0], i, 0), ranks[i]);
    rs_result_clear(&result);
}

/* The given rank, the file's own word, and the name each decide as they do for files. */
TEST(test_ranks)
{
    rs_job *job;
    assert_int_equal(rs_job_open(NULL, 0, NULL, &job, NULL), RS_OK);
    assert_int_equal(add(job, says_five, "s3://bucket/z.json", -1, NULL), RS_OK);
    assert_int_equal(add(job, plain, "s3://bucket/rank_12.json", -1, NULL), RS_OK);
    assert_int_equal(add(job, says_five, "a", 3, NULL), RS_OK);
    assert_int_equal(add(job, plain, "rank7.json", 0, NULL), RS_OK);
    expect_ranks(job, (const int64_t[]){0, 3, 5, 12}, 4);
    rs_job_close(job);
}

/* Without any number the order of the names counts, with digits by their value; equal names keep the order in
 * which they came. */
TEST(test_order)
{
    static const char longer[] =
        "{\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"gemm\",\"pid\":0,\"tid\":7,\"ts\":0,"
        "\"dur\":900,\"args\":{\"stream\":7,\"device\":0}}]}";
    static const struct {
        const char *bytes, *name;
    } files[] = {{plain, "w10"}, {longer, "w9"}, {plain, "w10"}, {longer, "w10"}};
    rs_job *job;
    assert_int_equal(rs_job_open_bytes(plain, sizeof plain - 1, "w100", NULL, &job, NULL), RS_OK);
    for (size_t i = 0; i < 4; i++) assert_int_equal(add(job, files[i].bytes, files[i].name, -1, NULL), RS_OK);
    expect_ranks(job, (const int64_t[]){0, 1, 2, 3, 4}, 5);
    rs_result result = {0};
    assert_int_equal(rs_job_run(job, rs_analysis_find("breakdown"), NULL, RS_COMPAT_NONE, &result, NULL),
                     RS_OK);
    const rs_table *t = result.tables[0];
    size_t busy = 0;
    const rs_table_spec *spec = rs_table_get_spec(t);
    while (strcmp(spec->columns[busy].name, "compute_us") != 0) assert_true(++busy < spec->n_columns);
    static const int64_t lengths[] = {900000, 100000, 100000, 900000, 100000};
    for (size_t i = 0; i < 5; i++) assert_int_equal(rs_table_int(t, i, busy), lengths[i]);
    rs_result_clear(&result);
    rs_job_close(job);
}

TEST(test_refused)
{
    rs_job *job;
    rs_result result = {0};
    rs_error err = RS_ERROR_INIT;
    const rs_analysis *info = rs_analysis_find("info");
    const rs_job_settings keep = {.size = sizeof(rs_job_settings), .jobs = 1, .keep = true};
    /* nothing to read */
    assert_int_equal(rs_job_open(NULL, 0, &keep, &job, NULL), RS_OK);
    assert_int_equal(rs_job_run(job, info, NULL, RS_COMPAT_NONE, &result, &err), RS_ERR_FORMAT);
    rs_result_clear(&result);
    /* two files of one rank */
    assert_int_equal(add(job, plain, "a", 1, NULL), RS_OK);
    assert_int_equal(add(job, plain, "b", 1, NULL), RS_OK);
    assert_int_equal(rs_job_run(job, info, NULL, RS_COMPAT_NONE, &result, &err), RS_ERR_AMBIGUOUS);
    rs_result_clear(&result);
    /* too late: the ranks are loaded */
    assert_int_equal(add(job, plain, "c", 2, &err), RS_ERR_USAGE);
    rs_job_close(job);
    /* no bytes at all are an empty file, not one of that name on the disk */
    assert_int_equal(rs_job_open_bytes(NULL, 0, "/etc/passwd", &keep, &job, NULL), RS_OK);
    assert_int_equal(rs_job_run(job, info, NULL, RS_COMPAT_NONE, &result, &err), RS_ERR_FORMAT);
    rs_result_clear(&result);
    rs_job_close(job);
}

/* Files by path, given as such or as if found in a directory, and what the job says of its files. */
TEST(test_files)
{
    rs_job *job;
    rs_result result = {0};
    const rs_job_settings keep = {.size = sizeof(rs_job_settings), .jobs = 1};
    static const char folder[] = RS_SOURCE_DIR "/tests/data/small";
    assert_int_equal(rs_job_open((const char *const[]){folder}, 1, &keep, &job, NULL), RS_OK);
    size_t n = rs_job_n_files(job);
    assert_true(n >= 2);
    rs_job *again;
    assert_int_equal(rs_job_open(NULL, 0, &keep, &again, NULL), RS_OK);
    for (size_t i = n; i-- > 0;) {
        rs_job_file file = rs_job_get_file(job, i);
        assert_true(file.optional);
        assert_null(file.bytes);
        assert_int_equal(file.rank, -1);
        assert_int_equal(rs_job_add(again, &file, NULL), RS_OK);
    }
    for (size_t i = 0; i < n; i++)
        assert_string_equal(rs_job_get_file(again, i).name, rs_job_get_file(job, i).name);
    rs_job_close(job);
    /* what is no trace is passed over only when it was found */
    rs_job_file stray = {.name = RS_SOURCE_DIR "/CMakeLists.txt", .rank = -1, .optional = true};
    assert_int_equal(rs_job_add(again, &stray, NULL), RS_OK);
    const rs_analysis *info = rs_analysis_find("info");
    assert_int_equal(rs_job_run(again, info, NULL, RS_COMPAT_NONE, &result, NULL), RS_OK);
    assert_int_equal(result.problems.n, 0);
    rs_result_clear(&result);
    stray.name = RS_SOURCE_DIR "/LICENSE";
    stray.optional = false;
    stray.rank = 9;
    assert_int_equal(rs_job_add(again, &stray, NULL), RS_OK);
    assert_int_equal(rs_job_run(again, info, NULL, RS_COMPAT_NONE, &result, NULL), RS_OK);
    assert_true(result.problems.n > 0);
    rs_result_clear(&result);
    size_t nines = 0;
    for (size_t i = 0; i < rs_job_n_files(again); i++) nines += rs_job_get_file(again, i).rank == 9;
    assert_int_equal(nines, 1);
    rs_job_close(again);
}

static rs_status add_two(rs_error *err)
{
    rs_job *job;
    rs_status status = rs_job_open_bytes(plain, sizeof plain - 1, "b", NULL, &job, err);
    if (status != RS_OK) return status;
    status = add(job, plain, "a", 4, err);
    rs_job_close(job);
    return status;
}

TEST(test_no_memory)
{
    rs_status status = RS_ERR_NOMEM;
    for (long n = 0; status != RS_OK; n++) {
        rs_error err = RS_ERROR_INIT;
        assert_true(n < 100);
        rs_test_fail_allocation((uint64_t)n + 1);
        status = add_two(&err);
        rs_test_fail_allocation(0);
        if (status != RS_OK) assert_int_equal(status, RS_ERR_NOMEM);
    }
}

TEST(test_names)
{
    static const struct {
        const char *path;
        int64_t rank;
    } cases[] = {
        {"rank3.json", 3},
        {"a/rank_12.trace", 12},
        {"rank[7]", 7},
        {"rank1/rank2.json", 2}, /* the file's own name comes first */
        {"run-rank10/t.json", 10},
        {"rank_10/t.json", 10},
        {"x/rank4/y/t.json", 4}, /* the nearest folder that has one */
        {"rank4/rank-5-b/t.json", 5},
        {"rank3x/t.json", RS_NO_VALUE}, /* of a folder it must be a word */
        {"crank3/t.json", RS_NO_VALUE},
        {"rank/3.json", RS_NO_VALUE},
        {"t.json", RS_NO_VALUE},
        {"", RS_NO_VALUE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (rs_rank_in_name(cases[i].path) != cases[i].rank)
            fail_msg("%s: %lld", cases[i].path, (long long)rs_rank_in_name(cases[i].path));
}
