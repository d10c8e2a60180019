/* Each allocation of an analysis fails in turn: out of memory or the whole answer, never a crash or a leak.
 */
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/analysis.h"
#include "base/memory.h"
#include "rankscope/rankscope.h"
#include "support.h"
#include "peers.h"

static void write_rank(const char *folder, int rank, char path[64])
{
    text t = {0};
    text_rank(&t, rank, 3);
    snprintf(path, 64, "%s/rank%d.json", folder, rank);
    text_save(&t, path);
    text_clear(&t);
}

static rs_status run(rs_job *a, rs_job *b, const rs_analysis *analysis, const rs_options *options,
                     rs_compat compat, rs_result *result, rs_error *err)
{
    rs_input_kind input = rs_analysis_input(analysis);
    return input == RS_INPUT_TWO_JOBS || input == RS_INPUT_JOBS
               ? rs_job_run_jobs((rs_job *[]){a, b}, 2, analysis, options, compat, result, err)
               : rs_job_run(a, analysis, options, compat, result, err);
}

static void fail_each(rs_job *a, rs_job *b, const rs_analysis *analysis, const rs_options *options,
                      rs_compat compat)
{
    rs_result full, result;
    rs_error err = RS_ERROR_INIT;
    assert_int_equal(run(a, b, analysis, options, compat, &full, &err), RS_OK); /* loads and keeps */
    rs_result_clear(&full);
    rs_test_fail_allocation(0);
    assert_int_equal(run(a, b, analysis, options, compat, &full, &err), RS_OK);
    uint64_t n = rs_test_fail_allocation(0);
    size_t failed = 0;
    for (uint64_t k = 1; k <= n; k += RS_TEST_SLOW && k > 60 ? 5 : 1) {
        err = (rs_error)RS_ERROR_INIT;
        rs_test_fail_allocation(k);
        rs_status status = run(a, b, analysis, options, compat, &result, &err);
        rs_test_fail_allocation(0);
        if (status == RS_OK) {
            assert_int_equal(result.n_tables, full.n_tables);
            for (size_t i = 0; i < full.n_tables; i++)
                assert_int_equal(rs_table_n_rows(result.tables[i]), rs_table_n_rows(full.tables[i]));
        } else {
            assert_int_equal(status, RS_ERR_NOMEM);
            failed++;
        }
        rs_result_clear(&result);
    }
    assert_true(failed > 3);
    rs_result_clear(&full);
}

TEST(test_traces)
{
    NEEDS_PEERS();
    char folder[] = "/tmp/rankscope-alloc-XXXXXX", paths[2][64];
    assert_non_null(mkdtemp(folder));
    for (int rank = 0; rank < 2; rank++) write_rank(folder, rank, paths[rank]);
    static const struct {
        const char *name;
        rs_compat compat;
    } runs[] = {
        {"steps", RS_COMPAT_NONE},       {"stragglers", RS_COMPAT_NONE}, {"delays", RS_COMPAT_NONE},
        {"annotations", RS_COMPAT_NONE}, {"diff", RS_COMPAT_NONE},       {"frame", RS_COMPAT_NONE},
        {"frame", RS_COMPAT_HTA},        {"stragglers", RS_COMPAT_HTA},  {"delays", RS_COMPAT_HTA},
        {"diff", RS_COMPAT_HTA},
    };
    const rs_job_settings settings = {.size = sizeof(rs_job_settings), .jobs = 1, .keep = true};
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        const rs_analysis *analysis = rs_analysis_find(runs[i].name);
        assert_non_null(analysis);
        rs_job *a, *b;
        const char *path = folder;
        assert_int_equal(rs_job_open(&path, 1, &settings, &a, NULL), RS_OK);
        assert_int_equal(rs_job_open(&path, 1, &settings, &b, NULL), RS_OK);
        fail_each(a, b, analysis, NULL, runs[i].compat);
        if (strcmp(runs[i].name, "diff") == 0 && runs[i].compat == RS_COMPAT_NONE) {
            size_t n;
            const rs_option_spec *specs = rs_analysis_options(analysis, &n);
            rs_options *options;
            assert_int_equal(rs_options_create(specs, n, &options, NULL), RS_OK);
            assert_int_equal(rs_options_set(options, "per", "step", NULL), RS_OK);
            assert_int_equal(rs_options_set(options, "short-names", NULL, NULL), RS_OK);
            fail_each(a, b, analysis, options, RS_COMPAT_NONE);
            rs_options_free(options);
        }
        if (strcmp(runs[i].name, "frame") == 0) {
            size_t n;
            const rs_option_spec *specs = rs_analysis_options(analysis, &n);
            rs_options *options;
            assert_int_equal(rs_options_create(specs, n, &options, NULL), RS_OK);
            assert_int_equal(rs_options_set(options, "args", "all", NULL), RS_OK);
            fail_each(a, b, analysis, options, runs[i].compat);
            rs_options_free(options);
        }
        rs_job_close(a);
        rs_job_close(b);
    }
    for (int rank = 0; rank < 2; rank++) unlink(paths[rank]);
    rmdir(folder);
}

TEST(test_file)
{
    text t = {0};
    const rs_analysis *analysis = rs_analysis_find("memory");
    size_t n;
    const rs_option_spec *specs = rs_analysis_options(analysis, &n);
    rs_options *options;
    assert_int_equal(rs_options_create(specs, n, &options, NULL), RS_OK);
    assert_int_equal(rs_options_set(options, "series", NULL, NULL), RS_OK);
    text_puts(&t, "[[-1,1,5,0]");
    for (int i = 0; i < 200; i++) text_printf(&t, ",[%d,2,%d,%d]", i, i, i % 8);
    text_puts(&t, "]");
    rs_job *job;
    const rs_job_settings settings = {.size = sizeof(rs_job_settings), .jobs = 1};
    assert_int_equal(rs_job_open_bytes(t.s, t.n, "timeline", &settings, &job, NULL), RS_OK);
    fail_each(job, NULL, analysis, options, RS_COMPAT_NONE);
    rs_job_close(job);
    rs_options_free(options);
    text_clear(&t);
}

/* The wrong number of jobs is the caller's error, told as such. */
TEST(test_wrong_input)
{
    rs_job *job;
    rs_result result;
    const rs_job_settings settings = {.size = sizeof(rs_job_settings), .jobs = 1};
    assert_int_equal(rs_job_open_bytes("[]", 2, "x", &settings, &job, NULL), RS_OK);
    assert_int_equal(rs_job_run(job, rs_analysis_find("diff"), NULL, RS_COMPAT_NONE, &result, NULL),
                     RS_ERR_USAGE);
    assert_int_equal(
        rs_job_run_pair(job, job, rs_analysis_find("steps"), NULL, RS_COMPAT_NONE, &result, NULL),
        RS_ERR_USAGE);
    rs_job_close(job);
}
