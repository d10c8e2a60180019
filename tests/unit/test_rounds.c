/* Questions in rounds that no rank can foresee: on threads, and on machines that are told what all agreed on.
 */
#include "analysis/analysis.h"
#include "base/memory.h"
#include "job/job_internal.h"
#include "job/partial.h"
#include "questions.h"
#include "support.h"
#include "peers.h"

/* First all agree how many rows they have, then how many of them stand above that one's mean, and how far the
 * smallest of those stands above it. Nonsense, but nothing of it can be told by one rank. */
typedef struct number {
    int64_t value, n;
} number;

static const rs_field number_fields[] = {RS_FIELD(number, value), RS_FIELD(number, n)};
static const rs_layout number_layout = RS_LAYOUT(number, number_fields);

static rs_status give(int64_t value, int64_t n, void **out, rs_error *err)
{
    number *p = rs_malloc(sizeof *p);
    if (!p) return rs_fail_nomem(err, "numbers");
    *p = (number){value, n};
    *out = p;
    return RS_OK;
}

static rs_status count_rows(const rs_run *run, rs_trace *trace, void **partial, rs_error *err)
{
    if (run->agreed) return rs_fail(err, RS_ERR_FORMAT, "told too early");
    return give((int64_t)trace->n_rows, 1, partial, err);
}

static rs_status add(const void *a, const void *b, void **both, rs_error *err)
{
    const number *x = a, *y = b;
    return give(x->value + y->value, x->n + y->n, both, err);
}

static rs_status take_mean(const rs_run *run, const rs_partial *partials, size_t n, void **agreed,
                           rs_error *err)
{
    (void)run;
    assert_int_equal(n, 1); /* combined */
    const number *p = partials[0].value;
    return give(p->value / p->n, p->n, agreed, err);
}

static rs_status stand_above(const rs_run *run, rs_trace *trace, void **partial, rs_error *err)
{
    const number *mean = run->agreed;
    return give((int64_t)trace->n_rows - mean->value, mean->n, partial, err);
}

static rs_status take_least(const rs_run *run, const rs_partial *partials, size_t n, void **agreed,
                            rs_error *err)
{
    const number *mean = run->agreed;
    int64_t least = INT64_MAX;
    assert_int_equal(mean->n, n);
    for (size_t i = 0; i < n; i++) {
        const number *p = partials[i].value;
        if (i > 0) assert_true(partials[i].rank > partials[i - 1].rank);
        if (p->value > 0 && p->value < least) least = p->value;
    }
    return give(least, (int64_t)n, agreed, err);
}

static rs_status answer(const rs_run *run, rs_trace *trace, void **partial, rs_error *err)
{
    const number *least = run->agreed;
    if (trace->events->info.rank == 1) return RS_OK; /* told of by the row's `absent` */
    return give((int64_t)trace->n_rows, least->value, partial, err);
}

static rs_status merge(const rs_run *run, rs_partial *partials, size_t n, rs_result *result, rs_error *err)
{
    const number *least = run->agreed;
    rs_status status = RS_OK;
    for (size_t i = 0; status == RS_OK && i < n; i++) {
        const number *p = partials[i].value;
        assert_int_equal(p->n, least->value);
        rs_table_add_int(result->tables[0], partials[i].rank);
        rs_table_add_int(result->tables[0], p->value);
        rs_table_add_int(result->tables[0], least->value);
        status = rs_table_end_row(result->tables[0], err);
    }
    return status;
}

static const rs_rank_round rounds[] = {{.name = "the mean of all ranks",
                                        .rank = count_rows,
                                        .combine = add,
                                        .agree = take_mean,
                                        .free_partial = rs_free,
                                        .free_agreed = rs_free,
                                        .partial_layout = &number_layout,
                                        .agreed_layout = &number_layout},
                                       {.name = "the least above it",
                                        .rank = stand_above,
                                        .agree = take_least,
                                        .free_partial = rs_free,
                                        .free_agreed = rs_free,
                                        .partial_layout = &number_layout,
                                        .agreed_layout = &number_layout}};
static const rs_column_spec columns[] = {RS_COLUMN("rank", INT, ID, "rank", NULL),
                                         RS_COLUMN("rows", INT, COUNT, "rows", NULL),
                                         RS_COLUMN("least", INT, COUNT, "least", NULL)};
static const rs_table_spec table = RS_TABLE("rows", "one row is one rank", columns);
static const rs_table_spec *const tables[] = {&table};
static const rs_table_set sets[] = {{RS_COMPAT_NONE, tables, 1}};
static const rs_analysis rows = {.name = "rows",
                                 .table_sets = sets,
                                 .n_table_sets = 1,
                                 .rank = answer,
                                 .merge = merge,
                                 .rounds = rounds,
                                 .n_rounds = 2,
                                 .free_partial = rs_free,
                                 .absent = "has rank 1",
                                 .partial_layout = &number_layout};
static const rs_query query = {.analysis = &rows};

static rs_job *open_job(const char *const *paths, size_t n, unsigned jobs)
{
    rs_job_settings settings = {.size = sizeof(rs_job_settings), .jobs = jobs};
    rs_job *job;
    assert_int_equal(rs_job_open(paths, n, &settings, &job, NULL), RS_OK);
    return job;
}

/* Files of 1, 2, ... ranks' worth of steps, each with another number of rows. */
static void make_files(folder *f, const char **paths, size_t n)
{
    *f = make_folder();
    for (size_t i = 0; i < n; i++) {
        char name[32];
        text t = {0};
        text_rank(&t, (int)i, 1 + (int)(i * i % 5));
        snprintf(name, sizeof name, "r%zu.json", i);
        put_file(f, name, &t);
        paths[i] = f->files[i];
    }
}

static void map_all(const char *const *paths, size_t n, const rs_bytes *agreed, rs_bytes *packed)
{
    for (size_t i = 0; i < n; i++) {
        rs_job *job = open_job(&paths[i], 1, 1);
        rs_bytes_free(&packed[i]);
        assert_int_equal(agreed ? rs_job_map_agreed(job, &query, 1, agreed, &packed[i], NULL)
                                : rs_job_map(job, &query, 1, &packed[i], NULL),
                         RS_OK);
        rs_job_close(job);
    }
}

enum { FILES = 5 };

TEST(test_threads_and_machines)
{
    const char *paths[FILES];
    folder f;
    make_files(&f, paths, FILES);
    rs_result whole, merged;
    rs_job *job = open_job(paths, FILES, 3);
    assert_int_equal(rs_job_run(job, &rows, NULL, RS_COMPAT_NONE, &whole, NULL), RS_OK);
    assert_true(rs_table_n_rows(whole.tables[0]) > 0);
    assert_int_equal(whole.n_notes, 1);
    assert_non_null(strstr(whole.notes[0], ": has rank 1"));
    assert_int_equal(rs_table_n_rows(whole.tables[0]) + whole.n_notes, FILES);
    rs_job_close(job);
    collected expected = rendered(&whole);

    rs_bytes packed[FILES] = {{0}}, agreed;
    rs_error err = RS_ERROR_INIT;
    char line[1024];
    map_all(paths, FILES, NULL, packed);
    for (int round = 0; round < 2; round++) {
        bool complete = true;
        assert_int_equal(rs_merge_packed(packed, FILES, &query, 1, &merged, &err), RS_ERR_USAGE);
        rs_error_text(&err, line, sizeof line);
        assert_non_null(strstr(line, rounds[round].name));
        assert_non_null(strstr(line, "rs_job_map_agreed"));
        rs_result_clear(&merged);
        assert_int_equal(rs_agree_packed(packed, FILES, &query, 1, &agreed, &complete, NULL), RS_OK);
        assert_false(complete);
        map_all(paths, FILES, &agreed, packed);
        rs_bytes_free(&agreed);
    }
    bool complete = false;
    assert_int_equal(rs_agree_packed(packed, FILES, &query, 1, &agreed, &complete, NULL), RS_OK);
    assert_true(complete);
    assert_int_equal(rs_merge_packed(packed, FILES, &query, 1, &merged, NULL), RS_OK);
    collected got = rendered(&merged);
    assert_string_equal(got.text, expected.text);

    /* damage in what is handed back is found out, and so are other questions */
    rs_bytes out;
    job = open_job(paths, 1, 1);
    for (size_t at = 0; at < agreed.n; at++) {
        ((uint8_t *)agreed.data)[at] ^= 1;
        assert_int_not_equal(rs_job_map_agreed(job, &query, 1, &agreed, &out, NULL), RS_OK);
        assert_null(out.data);
        if (at >= RS_PARTIAL_HEAD) {
            rs_agreed_seal(&agreed);
            if (rs_job_map_agreed(job, &query, 1, &agreed, &out, NULL) == RS_OK) rs_bytes_free(&out);
        }
        ((uint8_t *)agreed.data)[at] ^= 1;
        rs_agreed_seal(&agreed);
    }
    assert_int_equal(rs_job_map_agreed(job, &query, 1, &packed[0], &out, NULL), RS_ERR_FORMAT);
    const rs_query other = {.analysis = rs_analysis_find("kernels"), .compat = RS_COMPAT_HTA};
    assert_int_equal(rs_job_map_agreed(job, &other, 1, &agreed, &out, NULL), RS_ERR_USAGE);
    rs_job_close(job);
    rs_bytes_free(&agreed);
    collected_clear(&expected);
    collected_clear(&got);
    rs_result_clear(&whole);
    rs_result_clear(&merged);
    for (size_t i = 0; i < FILES; i++) rs_bytes_free(&packed[i]);
    remove_folder(&f);
}

/* Only ranks that could not foresee what all agree on are loaded again. */
TEST(test_loads)
{
    NEEDS_PEERS();
    static const int steps[] = {3, 1, 4};
    const rs_query hta = {.analysis = rs_analysis_find("breakdown"), .compat = RS_COMPAT_HTA};
    folder f = make_folder();
    uint64_t size[3], all = 0;
    const char *paths[3];
    for (int i = 0; i < 3; i++) {
        char name[32];
        text t = {0};
        text_rank(&t, i, steps[i]);
        size[i] = t.n;
        all += t.n;
        snprintf(name, sizeof name, "r%d.json", i);
        put_file(&f, name, &t);
        paths[i] = f.files[i];
    }
    rs_result result;
    rs_job *job = open_job(paths, 3, 2);
    assert_int_equal(rs_job_run(job, hta.analysis, NULL, hta.compat, &result, NULL), RS_OK);
    assert_int_equal(rs_job_get_stats(job).bytes_read, all + size[1]);
    rs_result_clear(&result);
    rs_job_close(job);
    rs_bytes packed;
    job = open_job(paths, 3, 2);
    assert_int_equal(rs_job_map(job, &hta, 1, &packed, NULL), RS_OK);
    assert_int_equal(rs_job_get_stats(job).bytes_read, all);
    rs_bytes_free(&packed);
    rs_job_close(job);
    remove_folder(&f);
}

TEST(test_out_of_memory)
{
    const char *paths[FILES];
    folder f;
    make_files(&f, paths, FILES);
    for (uint64_t k = 1, made = 1; k <= made; k++) {
        rs_result result;
        rs_job *job = open_job(paths, FILES, 1);
        rs_test_fail_allocation(k);
        rs_status status = rs_job_run(job, &rows, NULL, RS_COMPAT_NONE, &result, NULL);
        made = rs_test_fail_allocation(0);
        if (made < k) assert_int_equal(status, RS_OK);
        rs_result_clear(&result);
        rs_job_close(job);
    }
    rs_bytes packed[FILES] = {{0}}, agreed;
    map_all(paths, FILES, NULL, packed);
    for (uint64_t k = 1, made = 1; k <= made; k++) {
        bool complete;
        rs_test_fail_allocation(k);
        rs_status status = rs_agree_packed(packed, FILES, &query, 1, &agreed, &complete, NULL);
        made = rs_test_fail_allocation(0);
        assert_true(status == RS_ERR_NOMEM || (made < k && status == RS_OK));
        if (made >= k) assert_null(agreed.data);
    }
    for (uint64_t k = 1, made = 1; k <= made; k++) {
        rs_bytes out;
        rs_job *job = open_job(paths, 1, 1);
        rs_test_fail_allocation(k);
        rs_status status = rs_job_map_agreed(job, &query, 1, &agreed, &out, NULL);
        made = rs_test_fail_allocation(0);
        if (status != RS_OK) assert_null(out.data);
        rs_bytes_free(&out);
        rs_job_close(job);
    }
    rs_bytes_free(&agreed);
    for (size_t i = 0; i < FILES; i++) rs_bytes_free(&packed[i]);
    remove_folder(&f);
}
