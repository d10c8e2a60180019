/* Several analyses over one job with one load: each answer is what the analysis alone gives, byte for byte.
 */
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "questions.h"
#include "support.h"
#include "peers.h"

static rs_job *open_job(const char *const *paths, size_t n, unsigned jobs, bool keep)
{
    const rs_job_settings settings = {.size = sizeof(rs_job_settings), .jobs = jobs, .keep = keep};
    rs_job *job;
    assert_int_equal(rs_job_open(paths, n, &settings, &job, NULL), RS_OK);
    return job;
}

/* Returns how many answers have tables. */
static size_t check_paths(const char *const *paths, size_t n_paths, const questions *q)
{
    static rs_result many[MAX_QUERIES];
    size_t answered = 0;
    /* Sanitizers look at four workers alone: one worker reads the same bytes in the same functions. */
    for (unsigned jobs = RS_TEST_SLOW ? 4 : 1; jobs <= 4; jobs += 3) {
        /* as one, then again from what was kept */
        for (int keep = 0; keep < 2; keep++) {
            rs_job *job = open_job(paths, n_paths, jobs, keep != 0);
            rs_error err = RS_ERROR_INIT, first = RS_ERROR_INIT;
            rs_status status = rs_job_run_many(job, q->items, q->n, many, &err);
            const char *failing = NULL;
            for (size_t i = 0; i < q->n; i++) {
                const rs_query *x = &q->items[i];
                rs_job *own = keep ? job : open_job(paths, n_paths, jobs, false);
                rs_error error = RS_ERROR_INIT;
                rs_result alone;
                rs_status one = rs_job_run(own, x->analysis, x->options, x->compat, &alone, &error);
                if (one != RS_OK && !failing) {
                    failing = rs_analysis_name(x->analysis);
                    first = error;
                    assert_int_equal(status, one);
                }
                if (one != RS_OK) assert_int_equal(many[i].n_tables, 0);
                collected a = rendered(&alone), b = rendered(&many[i]);
                if (strcmp(a.text, b.text) != 0)
                    fail_msg("%s, mode %d, jobs %u, keep %d over %s:\nalone %.3000s\nmany  %.3000s",
                             rs_analysis_name(x->analysis), x->compat, jobs, keep, paths[0], a.text, b.text);
                answered += one == RS_OK;
                collected_clear(&a);
                collected_clear(&b);
                rs_result_clear(&alone);
                if (!keep) rs_job_close(own);
            }
            if (!failing) assert_int_equal(status, RS_OK);
            if (failing) {
                char line[2048], expected[4096];
                snprintf(expected, sizeof expected, "%s%s%s", q->n > 1 ? failing : "", q->n > 1 ? ": " : "",
                         rs_error_text(&first, line, sizeof line));
                assert_string_equal(rs_error_text(&err, line, sizeof line), expected);
            }
            for (size_t i = 0; i < q->n; i++) rs_result_clear(&many[i]);
            rs_job_close(job);
        }
    }
    return answered;
}

/* ---- jobs --------------------------------------------------------------------------------------------- */

TEST(test_sample)
{
    const char *path = RS_SOURCE_DIR "/tests/data/small";
    questions q = all_questions(true);
    assert_true(q.n > 60);
    assert_true(check_paths(&path, 1, &q) > 60);
    clear_questions(&q);
}

/* Ranks with several steps make HTA trim those that have one or none: they are asked twice under its modes.
 */
TEST(test_trimmed)
{
    folder f = make_folder();
    const int steps[] = {3, 1, 0};
    for (int rank = 0; rank < 3; rank++) {
        char name[32];
        text t = {0};
        text_rank(&t, rank, steps[rank]);
        snprintf(name, sizeof name, "r%d.json", rank);
        put_file(&f, name, &t);
    }
    questions q = all_questions(true);
    const char *path = f.name;
    assert_true(check_paths(&path, 1, &q) > 60);
    clear_questions(&q);
    remove_folder(&f);
}

/* Values that only readers of the argument stumble on: each analysis counts those it would meet alone. */
static void put_bad_arguments(text *t, int at)
{
    text_printf(
        t,
        ",{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::mm\",\"pid\":1,\"tid\":1,\"ts\":%d,\"dur\":3,"
        "\"args\":{\"Sequence number\":1e400,\"Input Dims\":\"a\xff\",\"Input type\":\"\xfe\",\"correlation\""
        ":99999999999999999999,\"Ev Idx\":NaN,\"Group size\":NaN,\"External id\":1e99,\"grid\":\"\\q\"}}",
        at);
}

TEST(test_bad_arguments)
{
    folder f = make_folder();
    text t = {0};
    text_puts(&t, "{\"distributedInfo\":{\"rank\":5},\"traceEvents\":[{\"ph\":\"M\",\"name\":\"x\"}");
    for (int i = 0; i < 7; i++) put_bad_arguments(&t, 10 * i);
    text_puts(&t, ",{\"ph\":\"X\",\"name\":\"\xff\",\"pid\":1,\"tid\":1,\"ts\":3,\"dur\":true}]}");
    put_file(&f, "a.json", &t);
    questions q = all_questions(false);
    const char *path = f.files[0];
    assert_true(check_paths(&path, 1, &q) > 20);
    clear_questions(&q);
    remove_folder(&f);
}

/* Two ranks in one file, a file that is no trace, one that ends early: they are passed over or told of. */
TEST(test_odd_files)
{
    folder f = make_folder();
    text t = {0};
    text_rank(&t, 0, 2);
    text_rank(&t, 1, 1);
    put_file(&f, "merged.json", &t);
    text_puts(&t, "nothing of the kind");
    put_file(&f, "notes.json", &t);
    text_rank(&t, 7, 3);
    t.n -= t.n / 3;
    put_file(&f, "short.json", &t);
    questions q = all_questions(false);
    const char *path = f.name;
    assert_true(check_paths(&path, 1, &q) > 20);
    /* and where nothing can be used, or two files claim one rank */
    assert_int_equal(check_paths(&(const char *){f.files[1]}, 1, &q), 0);
    text_rank(&t, 7, 1);
    put_file(&f, "again.json", &t);
    assert_int_equal(check_paths(&path, 1, &q), 0);
    clear_questions(&q);
    remove_folder(&f);
}

TEST(test_damaged)
{
    questions q = all_questions(false);
    for (unsigned seed = 1; seed <= ROUNDS(16); seed++) {
        folder f = make_folder();
        rng r = {.state = seed};
        for (int rank = 0; rank < 2; rank++) {
            text t = {0};
            text_rank(&t, rank, 1 + (int)rng_below(&r, 2));
            for (int i = 0; i < 3; i++) text_mutate(&t, &r);
            put_file(&f, rank ? "rank1.json" : "rank0.json", &t);
        }
        const char *path = f.name;
        check_paths(&path, 1, &q);
        remove_folder(&f);
    }
    clear_questions(&q);
}

static void check_corpus_file(const char *path, void *context)
{
    struct stat info;
    /* whole files of the small ones: each is read some two hundred times */
    if (stat(path, &info) != 0 || info.st_size > (RS_TEST_SLOW ? 8 << 10 : 64 << 10)) return;
    check_paths(&path, 1, context);
}

TEST(test_corpus)
{
    questions q = all_questions(false);
    corpus_each(check_corpus_file, &q);
    clear_questions(&q);
}

/* ---- errors ------------------------------------------------------------------------------------------- */

/* One question that cannot be answered does not keep the others from their answers. */
TEST(test_one_fails)
{
    const char *path = RS_SOURCE_DIR "/tests/data/small";
    rs_job *job = open_job(&path, 1, 2, false);
    const rs_query queries[] = {{.analysis = rs_analysis_find("breakdown")},
                                {.analysis = rs_analysis_find("diff")},
                                {.analysis = rs_analysis_find("info"), .compat = RS_COMPAT_TRACELENS},
                                {.analysis = rs_analysis_find("memory")},
                                {.analysis = rs_analysis_find("kernels")}};
    rs_result results[5];
    rs_error err = RS_ERROR_INIT;
    char line[1024];
    assert_int_equal(rs_job_run_many(job, queries, 5, results, &err), RS_ERR_USAGE);
    assert_string_equal(rs_error_text(&err, line, sizeof line), "diff: diff compares two jobs");
    for (size_t i = 0; i < 5; i++) {
        bool answered = i != 1 && i != 2; /* memory: that nothing was recorded */
        assert_int_equal(results[i].n_tables > 0, answered);
        rs_result_clear(&results[i]);
    }
    assert_int_equal(rs_job_run_many(job, queries, 0, results, &err), RS_OK);
    rs_job_close(job);
}

typedef struct patience {
    int calls, left;
} patience;

static bool lose_patience(void *context, uint64_t done, uint64_t total)
{
    patience *p = context;
    (void)done;
    (void)total;
    p->calls++;
    return p->left < 0 || p->left-- > 0;
}

TEST(test_cancelled)
{
    const char *path = RS_SOURCE_DIR "/tests/data/small";
    questions q = all_questions(false);
    static rs_result results[MAX_QUERIES];
    for (unsigned jobs = 1; jobs <= 4; jobs += 3) {
        patience p = {.left = -1};
        const rs_job_settings settings = {.size = sizeof(rs_job_settings),
                                          .jobs = jobs,
                                          .keep = true,
                                          .progress = lose_patience,
                                          .progress_context = &p};
        rs_job *job;
        assert_int_equal(rs_job_open(&path, 1, &settings, &job, NULL), RS_OK);
        for (int left = 0; left < 40; left += 3) {
            p.left = left;
            rs_error err = RS_ERROR_INIT;
            assert_int_equal(rs_job_run_many(job, q.items, q.n, results, &err), RS_ERR_CANCELLED);
            for (size_t i = 0; i < q.n; i++) {
                assert_int_equal(results[i].n_tables, 0);
                rs_result_clear(&results[i]);
            }
        }
        /* a job that was stopped can be asked again */
        p.left = -1;
        rs_result result;
        rs_error why = RS_ERROR_INIT;
        char line[1024];
        if (rs_job_run(job, rs_analysis_find("breakdown"), NULL, RS_COMPAT_NONE, &result, &why) != RS_OK)
            fail_msg("%s", rs_error_text(&why, line, sizeof line));
        assert_int_equal(rs_table_n_rows(result.tables[0]), 2);
        rs_result_clear(&result);
        rs_job_close(job);
    }
    clear_questions(&q);
}

TEST(test_out_of_memory)
{
    NEEDS_PEERS();
    text t = {0};
    text_rank(&t, 3, 2);
    const rs_job_settings settings = {.size = sizeof(rs_job_settings), .jobs = 1};
    const rs_query queries[] = {{.analysis = rs_analysis_find("breakdown"), .compat = RS_COMPAT_HTA},
                                {.analysis = rs_analysis_find("summary")},
                                {.analysis = rs_analysis_find("breakdown")},
                                {.analysis = rs_analysis_find("steps")}};
    rs_result results[4];
    size_t failed = 0, partly = 0;
    for (uint64_t k = 1, made = 1;; k += RS_TEST_SLOW ? 7 : 1) {
        rs_job *job;
        assert_int_equal(rs_job_open_bytes(t.s, t.n, "x", &settings, &job, NULL), RS_OK);
        rs_error err = RS_ERROR_INIT;
        rs_test_fail_allocation(k);
        rs_status status = rs_job_run_many(job, queries, 4, results, &err);
        made = rs_test_fail_allocation(0);
        size_t answered = 0;
        for (size_t i = 0; i < 4; i++) {
            if (results[i].n_tables) answered++;
            for (size_t j = 0; j < results[i].n_tables; j++)
                if (j == 0 && i != 1) assert_true(rs_table_n_rows(results[i].tables[j]) > 0);
            rs_result_clear(&results[i]);
        }
        rs_job_close(job);
        if (status == RS_OK) assert_int_equal(answered, 4);
        if (status != RS_OK) assert_int_equal(status, RS_ERR_NOMEM);
        failed += status != RS_OK;
        partly += status != RS_OK && answered > 0;
        if (made < k) break;
    }
    assert_true(failed > 40 && partly > 0);
    text_clear(&t);
}
