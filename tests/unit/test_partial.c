/* Ranks mapped one by one and merged from their bytes: the same as one run over all of them. */
#include "base/layout.h"
#include "base/memory.h"
#include "questions.h"
#include "support.h"
#include "job/job_internal.h"
#include "job/partial.h"
#include "peers.h"

static rs_job *open_job(const char *const *paths, size_t n, unsigned jobs, const rs_job_settings *like)
{
    rs_job_settings settings = like ? *like : (rs_job_settings){.size = sizeof(rs_job_settings)};
    settings.jobs = jobs;
    rs_job *job;
    assert_int_equal(rs_job_open(paths, n, &settings, &job, NULL), RS_OK);
    return job;
}

/* The questions whose partials travel. */
static questions mapped_questions(bool with_options)
{
    questions all = all_questions(with_options), q = {.n = 0};
    for (size_t i = 0; i < all.n; i++) {
        rs_query *x = &all.items[i];
        bool op =
            strcmp(rs_analysis_name(x->analysis), "sequences") == 0; /* which needs to be told of what */
        if (op && !x->options) {
            size_t n;
            const rs_option_spec *specs = rs_analysis_options(x->analysis, &n);
            rs_options *options;
            assert_int_equal(rs_options_create(specs, n, &options, NULL), RS_OK);
            x->options = options;
        }
        if (op)
            assert_int_equal(rs_options_set((rs_options *)(uintptr_t)x->options, "op", "aten::op", NULL),
                             RS_OK);
        if (rs_analysis_can_map(x->analysis))
            q.items[q.n++] = *x;
        else
            rs_options_free((rs_options *)(uintptr_t)x->options);
    }
    return q;
}

/* All that is asked of traces, or of other recordings of a job's ranks, travels. */
TEST(test_all_travel)
{
    size_t n;
    const rs_analysis *const *rows = rs_analyses(&n);
    for (size_t i = 0; i < n; i++) {
        rs_input_kind input = rs_analysis_input(rows[i]);
        assert_int_equal(rs_analysis_can_map(rows[i]),
                         input == RS_INPUT_TRACES || input == RS_INPUT_RECORDINGS);
    }
}

static void map_each(const char *const *paths, size_t n, const questions *q, const rs_job_settings *settings,
                     rs_bytes *out)
{
    for (size_t i = 0; i < n; i++) {
        rs_error err = RS_ERROR_INIT;
        char line[1024];
        rs_job *job = open_job(&paths[i], 1, 1, settings);
        if (rs_job_map(job, q->items, q->n, &out[i], &err) != RS_OK)
            fail_msg("%s: %s", paths[i], rs_error_text(&err, line, sizeof line));
        rs_job_close(job);
    }
}

static void expect_same(const rs_result *a, const rs_result *b, const rs_query *q, const char *what)
{
    collected x = rendered(a), y = rendered(b);
    if (strcmp(x.text, y.text) != 0)
        fail_msg("%s, mode %d, %s:\nrun   %.3000s\nmerge %.3000s", rs_analysis_name(q->analysis), q->compat,
                 what, x.text, y.text);
    collected_clear(&x);
    collected_clear(&y);
}

/* One run over all paths against a merge of what each path gives alone, in any order, and of a map over all.
 * Returns how many questions were answered. */
static size_t check_paths(const char *const *paths, size_t n, const questions *q,
                          const rs_job_settings *settings)
{
    static rs_result whole[MAX_QUERIES], merged[MAX_QUERIES];
    rs_bytes packed[8];
    size_t answered = 0;
    char line[2048], other[2048];
    assert_true(n <= 8);
    rs_job *job = open_job(paths, n, 2, settings);
    rs_error expected = RS_ERROR_INIT;
    rs_status status = rs_job_run_many(job, q->items, q->n, whole, &expected);
    map_each(paths, n, q, settings, packed);
    for (int turn = 0; turn < 3; turn++) {
        rs_error err = RS_ERROR_INIT;
        rs_bytes all = {0};
        if (turn == 1) /* what comes first does not matter */
            for (size_t i = 0; i < n / 2; i++) {
                rs_bytes swap = packed[i];
                packed[i] = packed[n - 1 - i];
                packed[n - 1 - i] = swap;
            }
        if (turn == 2) assert_int_equal(rs_job_map(job, q->items, q->n, &all, NULL), RS_OK);
        rs_status got =
            rs_merge_packed(turn == 2 ? &all : packed, turn == 2 ? 1 : n, q->items, q->n, merged, &err);
        if (got != status || (got != RS_OK && strcmp(rs_error_text(&err, line, sizeof line),
                                                     rs_error_text(&expected, other, sizeof other)) != 0))
            fail_msg("run: %d %s\nmerge: %d %s", status, rs_error_text(&expected, other, sizeof other), got,
                     rs_error_text(&err, line, sizeof line));
        for (size_t k = 0; k < q->n; k++) {
            expect_same(&whole[k], &merged[k], &q->items[k], turn == 2 ? "mapped at once" : paths[0]);
            answered += merged[k].n_tables > 0;
            rs_result_clear(&merged[k]);
        }
        rs_bytes_free(&all);
    }
    for (size_t k = 0; k < q->n; k++) rs_result_clear(&whole[k]);
    for (size_t i = 0; i < n; i++) rs_bytes_free(&packed[i]);
    rs_job_close(job);
    return answered / 3;
}

static size_t check_folder(const folder *f, const questions *q, const rs_job_settings *settings)
{
    const char *paths[8];
    for (size_t i = 0; i < f->n; i++) paths[i] = f->files[i];
    return check_paths(paths, f->n, q, settings);
}

/* Those that can be asked about some steps. */
static void leave_followers(questions *q)
{
    size_t n = q->n;
    q->n = 0;
    for (size_t i = 0; i < n; i++) {
        if (q->items[i].analysis->follows & RS_FOLLOWS_STEPS)
            q->items[q->n++] = q->items[i];
        else
            rs_options_free((rs_options *)(uintptr_t)q->items[i].options);
    }
}

/* ---- the same as one run ------------------------------------------------------------------------------ */

TEST(test_sample)
{
    questions q = mapped_questions(true);
    assert_true(q.n > 60);
    const char *paths[] = {RS_SOURCE_DIR "/tests/data/small/rank0.json.gz",
                           RS_SOURCE_DIR "/tests/data/small/rank1.json.gz"};
    assert_true(check_paths(paths, 2, &q, NULL) > 60);
    /* what another profiler recorded is advised on in its own words there, too */
    const char *rocprof[] = {RS_SOURCE_DIR "/tests/data/rocprof_csv"};
    const rs_job_settings recursive = {.size = sizeof(rs_job_settings), .recursive = true};
    assert_true(check_paths(rocprof, 1, &q, &recursive) > 50);
    /* settings of the job that ranks, windows and times depend on */
    const rs_job_settings settings[] = {
        {.size = sizeof(rs_job_settings), .renumber = true},
        {.size = sizeof(rs_job_settings), .include_last_step = true, .absolute = true},
        {.size = sizeof(rs_job_settings), .ranks = "1"},
        {.size = sizeof(rs_job_settings), .ranks = "7"},
        {.size = sizeof(rs_job_settings), .steps = "1-2"},
        {.size = sizeof(rs_job_settings), .steps = "77"}};
    clear_questions(&q);
    q = mapped_questions(false);
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        if (settings[i].steps) leave_followers(&q);
        check_paths(paths, 2, &q, &settings[i]);
    }
    clear_questions(&q);
    /* ROLE=PATH travels, with the numbers that follow from it */
    q = mapped_questions(false);
    const char *roles[] = {"update=" RS_SOURCE_DIR "/tests/data/small/rank0.json.gz",
                           "rollout=" RS_SOURCE_DIR "/tests/data/roles/rank0.json.gz",
                           RS_SOURCE_DIR "/tests/data/small/rank1.json.gz"};
    assert_true(check_paths(roles, 2, &q, NULL) > 40);
    assert_true(check_paths(roles, 2, &q, &settings[2]) > 40);
    check_paths(roles + 1, 2, &q, &settings[2]);
    clear_questions(&q);
}

/* What HTA's window does to a rank is only known when all are together. */
TEST(test_trimmed)
{
    folder f = make_folder();
    static const int steps[] = {1, 3, 0, 1};
    for (int rank = 0; rank < 4; rank++) {
        char name[32];
        text t = {0};
        text_rank(&t, rank, steps[rank]);
        snprintf(name, sizeof name, "r%d.json", rank);
        put_file(&f, name, &t);
    }
    questions q = mapped_questions(false);
    assert_true(check_folder(&f, &q, NULL) > 25);
    clear_questions(&q);
    remove_folder(&f);
}

/* Numbers by order, two ranks in one file, damage, files that cannot be used. */
TEST(test_odd_files)
{
    questions q = mapped_questions(false);
    folder f = make_folder();
    text t = {0};
    for (int i = 0; i < 3; i++) {
        char name[32];
        text_rank(&t, 0, 1 + i);
        size_t head = strlen("{\"distributedInfo\":{\"rank\":0},");
        text_delete(&t, 1, head - 1);
        snprintf(name, sizeof name, "n%d.json", i == 2 ? 10 : i + 1);
        put_file(&f, name, &t);
    }
    assert_true(check_folder(&f, &q, NULL) > 25);
    remove_folder(&f);

    f = make_folder();
    text_rank(&t, 0, 2);
    text_rank(&t, 1, 1);
    put_file(&f, "merged.json", &t);
    text_puts(&t, "nothing of the kind");
    put_file(&f, "notes.json", &t);
    text_rank(&t, 7, 3);
    t.n -= t.n / 3;
    put_file(&f, "short.json", &t);
    assert_true(check_folder(&f, &q, NULL) > 25);
    assert_int_equal(check_paths(&(const char *){f.files[1]}, 1, &q, NULL), 0);
    text_rank(&t, 7, 1);
    put_file(&f, "again.json", &t);
    assert_int_equal(check_folder(&f, &q, NULL), 0);
    remove_folder(&f);

    /* counters of two ranks, not the same ones, and copies */
    f = make_folder();
    for (int rank = 0; rank < 2; rank++) {
        text_printf(&t, "{\"distributedInfo\":{\"rank\":%d},\"traceEvents\":[{\"ph\":\"M\",\"name\":\"x\"}",
                    rank);
        for (int i = 0; i < 5; i++)
            text_printf(
                &t,
                ",{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,\"tid\":1,"
                "\"ts\":%d,\"dur\":2,\"args\":{\"correlation\":%d}}"
                ",{\"ph\":\"X\",\"cat\":\"cuda_profiler_range\",\"name\":\"k\",\"pid\":2,\"tid\":2,\"ts\":%d,"
                "\"dur\":3,\"args\":{\"c%d\":%d.5}}"
                ",{\"ph\":\"X\",\"cat\":\"gpu_memcpy\",\"name\":\"Memcpy HtoD (a -> b)\",\"pid\":0,\"tid\":7,"
                "\"ts\":%d,\"dur\":4,\"args\":{\"correlation\":%d,\"stream\":7,\"bytes\":4096}}",
                10 * i, i, 10 * i + 5, rank + i % 2, i, 10 * i + 6, i);
        text_puts(&t, "]}");
        put_file(&f, rank ? "b.json" : "a.json", &t);
    }
    assert_true(check_folder(&f, &q, NULL) > 25);
    remove_folder(&f);

    for (unsigned seed = 1; seed <= ROUNDS(16); seed++) {
        f = make_folder();
        rng r = {.state = seed};
        for (int rank = 0; rank < 3; rank++) {
            char name[32];
            text_rank(&t, rank, 1 + (int)rng_below(&r, 2));
            for (int i = 0; i < 3; i++) text_mutate(&t, &r);
            snprintf(name, sizeof name, "rank%d.json", rank);
            put_file(&f, name, &t);
        }
        check_folder(&f, &q, NULL);
        remove_folder(&f);
    }
    clear_questions(&q);
}

static void check_corpus_file(const char *path, void *context)
{
    struct stat info;
    if (stat(path, &info) != 0 || info.st_size > (RS_TEST_SLOW ? 8 << 10 : 64 << 10)) return;
    check_paths(&path, 1, context, NULL);
}

TEST(test_corpus)
{
    questions q = mapped_questions(true);
    corpus_each(check_corpus_file, &q);
    clear_questions(&q);
}

/* ---- what is refused ---------------------------------------------------------------------------------- */

static rs_bytes map_sample(const rs_query *queries, size_t n, const rs_job_settings *settings)
{
    const char *path = RS_SOURCE_DIR "/tests/data/small/rank0.json.gz";
    rs_job *job = open_job(&path, 1, 1, settings);
    rs_bytes out;
    assert_int_equal(rs_job_map(job, queries, n, &out, NULL), RS_OK);
    rs_job_close(job);
    return out;
}

static void expect_refused(const rs_bytes *packed, size_t n_packed, const rs_query *queries, size_t n,
                           rs_status status, const char *words)
{
    rs_result results[4];
    rs_error err = RS_ERROR_INIT;
    char line[1024];
    assert_true(n <= 4);
    assert_int_equal(rs_merge_packed(packed, n_packed, queries, n, results, &err), status);
    if (!strstr(rs_error_text(&err, line, sizeof line), words)) fail_msg("\"%s\" lacks \"%s\"", line, words);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(results[i].n_tables, 0);
        rs_result_clear(&results[i]);
    }
}

TEST(test_refused)
{
    const rs_query kernels = {.analysis = rs_analysis_find("kernels")};
    const rs_query both[] = {kernels, {.analysis = rs_analysis_find("summary")}};
    const rs_query hta = {.analysis = rs_analysis_find("kernels"), .compat = RS_COMPAT_HTA};
    const rs_query diff = {.analysis = rs_analysis_find("diff")};
    size_t n_options;
    const rs_option_spec *specs = rs_analysis_options(kernels.analysis, &n_options);
    rs_options *options;
    assert_int_equal(rs_options_create(specs, n_options, &options, NULL), RS_OK);
    assert_int_equal(rs_options_set(options, "no-memory", NULL, NULL), RS_OK);
    const rs_query other = {.analysis = kernels.analysis, .options = options};

    const char *path = RS_SOURCE_DIR "/tests/data/small/rank0.json.gz";
    rs_job *job = open_job(&path, 1, 1, NULL);
    rs_bytes out;
    rs_error err = RS_ERROR_INIT;
    char line[1024];
    assert_int_equal(rs_job_map(job, &diff, 1, &out, &err), RS_ERR_USAGE);
    assert_non_null(strstr(rs_error_text(&err, line, sizeof line), "diff cannot be mapped"));
    const rs_query nobody = {.analysis = rs_analysis_find("info"), .compat = RS_COMPAT_TRACELENS};
    assert_int_equal(rs_job_map(job, &nobody, 1, &out, NULL), RS_ERR_USAGE);
    assert_null(out.data);
    rs_job_close(job);
    /* wrong options are told where they were given */
    const rs_job_settings wrong = {.size = sizeof(rs_job_settings), .steps = "x"};
    assert_int_equal(rs_job_open(&path, 1, &wrong, &job, NULL), RS_ERR_USAGE);
    /* one machine's ranks do not tell where the job begins, and whoever judges the whole refuses a part */
    const rs_query doctor = {.analysis = rs_analysis_find("doctor")};
    const rs_job_settings windowed = {.size = sizeof(rs_job_settings), .window = "0-5"},
                          some = {.size = sizeof(rs_job_settings), .steps = "1"};
    job = open_job(&path, 1, 1, &windowed);
    assert_int_equal(rs_job_map(job, &kernels, 1, &out, &err), RS_ERR_USAGE);
    assert_non_null(strstr(rs_error_text(&err, line, sizeof line), "the job's first event"));
    rs_job_close(job);
    job = open_job(&path, 1, 1, &some);
    assert_int_equal(rs_job_map(job, &doctor, 1, &out, &err), RS_ERR_USAGE);
    assert_non_null(strstr(rs_error_text(&err, line, sizeof line), "doctor cannot follow --steps"));
    rs_job_close(job);

    rs_bytes packed[2] = {map_sample(&kernels, 1, NULL), map_sample(both, 2, NULL)};
    rs_result result[2];
    assert_int_equal(rs_merge_packed(&packed[1], 1, &kernels, 1, result, NULL), RS_OK); /* among others */
    rs_result_clear(&result[0]);
    expect_refused(packed, 0, &kernels, 1, RS_ERR_USAGE, "no packed partial results");
    expect_refused(packed, 2, &kernels, 1, RS_ERR_AMBIGUOUS, "both are rank 0");
    expect_refused(packed, 1, both, 2, RS_ERR_USAGE, "1 of 1 hold no summary");
    expect_refused(packed, 1, &hta, 1, RS_ERR_USAGE, "hold no kernels");
    expect_refused(packed, 1, &other, 1, RS_ERR_USAGE, "hold no kernels");
    expect_refused(packed, 1, &diff, 1, RS_ERR_USAGE, "diff cannot be mapped");
    rs_bytes_free(&packed[1]);
    const rs_job_settings absolute = {.size = sizeof(rs_job_settings), .absolute = true};
    packed[1] = map_sample(&kernels, 1, &absolute);
    expect_refused(packed, 2, &kernels, 1, RS_ERR_USAGE, "2 of 2 were made with other settings");
    rs_bytes_free(&packed[1]);
    packed[1] = (rs_bytes){(void *)(uintptr_t) "{\"traceEvents\":[]} and more", 28};
    expect_refused(packed, 2, &kernels, 1, RS_ERR_FORMAT, "2 of 2 are none");
    packed[1].n = 0;
    expect_refused(packed, 2, &kernels, 1, RS_ERR_FORMAT, "2 of 2 are none");
    /* another version, well sealed */
    uint8_t *version = (uint8_t *)packed[0].data + RS_PARTIAL_HEAD + 1;
    assert_memory_equal(version, rs_version(), strlen(rs_version()));
    version[0] = '9';
    expect_refused(packed, 1, &kernels, 1, RS_ERR_FORMAT, "1 of 1 are damaged");
    rs_partials_seal(&packed[0]);
    expect_refused(packed, 1, &kernels, 1, RS_ERR_USAGE, "were made by rankscope 9.");
    rs_bytes_free(&packed[0]);
    rs_options_free(options);
}

/* ---- hostile bytes ------------------------------------------------------------------------------------ */

/* Whatever comes out of it: an error or tables, and no more than the bytes were touched. */
static rs_status merge_guarded(const void *bytes, size_t n, const questions *q)
{
    static rs_result results[MAX_QUERIES];
    guarded g = guarded_copy(bytes, n);
    const rs_bytes packed = {g.bytes, g.n};
    rs_error err = RS_ERROR_INIT;
    rs_status status = rs_merge_packed(&packed, 1, q->items, q->n, results, &err);
    if (status != RS_OK) assert_true(err.n_causes > 0 && err.causes[0].message[0]);
    for (size_t k = 0; k < q->n; k++) rs_result_clear(&results[k]);
    guarded_free(&g);
    return status;
}

TEST(test_cuts_and_flips)
{
    questions q = mapped_questions(false);
    folder f = make_folder();
    text t = {0};
    text_rank(&t, 3, 1);
    put_file(&f, "a.json", &t);
    rs_bytes packed;
    map_each(&(const char *){f.files[0]}, 1, &q, NULL, &packed);
    assert_int_equal(merge_guarded(packed.data, packed.n, &q), RS_OK);
    /* in transit: the checksum tells */
    rng r = {.state = 5};
    for (size_t cut = 0; cut < packed.n; cut += 1 + packed.n / ROUNDS(400))
        assert_int_equal(merge_guarded(packed.data, cut, &q), RS_ERR_FORMAT);
    for (size_t i = 0; i < ROUNDS(400); i++) {
        uint8_t *at = (uint8_t *)packed.data + rng_below(&r, packed.n), was = *at;
        *at = (uint8_t)(was ^ 1u << rng_below(&r, 8));
        assert_int_equal(merge_guarded(packed.data, packed.n, &q), RS_ERR_FORMAT);
        *at = was;
    }
    /* on purpose: well sealed, so that only the reading itself can tell */
    size_t told = 0;
    for (size_t cut = RS_PARTIAL_HEAD; cut < packed.n; cut += 1 + packed.n / ROUNDS(1500)) {
        text copy = {0};
        text_add(&copy, packed.data, cut);
        rs_bytes bytes = {copy.s, copy.n};
        rs_partials_seal(&bytes);
        rs_status status = merge_guarded(bytes.data, bytes.n, &q);
        assert_true(status == RS_ERR_FORMAT || status == RS_ERR_USAGE);
        text_clear(&copy);
    }
    for (size_t i = 0; i < ROUNDS(3000); i++) {
        text copy = {0};
        text_add(&copy, packed.data, packed.n);
        for (size_t k = 0; k <= rng_below(&r, 3); k++) {
            uint8_t *at = (uint8_t *)copy.s + RS_PARTIAL_HEAD + rng_below(&r, copy.n - RS_PARTIAL_HEAD);
            *at = rng_below(&r, 2) ? (uint8_t)(*at ^ 1u << rng_below(&r, 8)) : (uint8_t)rng_below(&r, 256);
        }
        rs_bytes bytes = {copy.s, copy.n};
        rs_partials_seal(&bytes);
        told += merge_guarded(bytes.data, bytes.n, &q) != RS_OK;
        text_clear(&copy);
    }
    assert_true(told > 20);
    rs_bytes_free(&packed);
    clear_questions(&q);
    remove_folder(&f);
}

TEST(test_out_of_memory)
{
    NEEDS_PEERS();
    const questions q = {.items = {{.analysis = rs_analysis_find("breakdown"), .compat = RS_COMPAT_HTA},
                                   {.analysis = rs_analysis_find("kernels")},
                                   {.analysis = rs_analysis_find("doctor")}},
                         .n = 3};
    rs_result results[3];
    folder f = make_folder();
    text t = {0};
    text_rank(&t, 1, 1);
    t.n -= 3; /* a defect to be told of */
    put_file(&f, "a.json", &t);
    rs_bytes packed = {0};
    size_t failed = 0;
    for (uint64_t k = 1, made = 1;; k++) {
        rs_job *job = open_job(&(const char *){f.files[0]}, 1, 1, NULL);
        rs_test_fail_allocation(k);
        rs_status status = rs_job_map(job, q.items, q.n, &packed, NULL);
        made = rs_test_fail_allocation(0);
        rs_job_close(job);
        if (status != RS_OK) assert_null(packed.data);
        failed += status != RS_OK;
        if (made < k) break;
        rs_bytes_free(&packed);
    }
    assert_true(failed > 5);
    failed = 0;
    for (uint64_t k = 1, made = 1;; k++) {
        rs_error err = RS_ERROR_INIT;
        rs_test_fail_allocation(k);
        rs_status status = rs_merge_packed(&packed, 1, q.items, q.n, results, &err);
        made = rs_test_fail_allocation(0);
        for (size_t i = 0; i < q.n; i++) rs_result_clear(&results[i]);
        if (status != RS_OK) assert_int_equal(status, RS_ERR_NOMEM);
        failed += status != RS_OK;
        if (made < k) break;
    }
    assert_true(failed > 20);
    rs_bytes_free(&packed);
    remove_folder(&f);
}

/* ---- numbers, texts, structs -------------------------------------------------------------------------- */

typedef struct inner {
    int8_t small;
    uint16_t below, index;
} inner;

typedef struct outer {
    bool flag;
    int64_t numbers[3];
    double real;
    char chars[8];
    char *text, *none;
    char *long_text;
    size_t long_n;
    const char **names;
    size_t n_names;
    inner *list;
    size_t n_list;
    inner here, *one, *no_one;
    uint32_t all_ones;
    double *row;
    rs_strings strings;
} outer;

static const rs_field inner_fields[] = {RS_FIELD(inner, small), RS_FIELD_BELOW(inner, below, 500),
                                        RS_FIELD_INDEX_OR_NONE(inner, index, outer, n_names)};
static const rs_layout inner_layout = RS_LAYOUT(inner, inner_fields);
static const rs_field alone_fields[] = {RS_FIELD(inner, small)};
static const rs_layout alone_layout = RS_LAYOUT(inner, alone_fields);
static const rs_field outer_fields[] = {RS_FIELD(outer, flag),
                                        RS_FIELD_ARRAY(outer, numbers),
                                        RS_FIELD(outer, real),
                                        RS_FIELD_CHARS(outer, chars),
                                        RS_FIELD(outer, text),
                                        RS_FIELD_OR_NULL(outer, none),
                                        RS_FIELD_TEXT_N(outer, long_text, long_n),
                                        RS_FIELD_VALUES(outer, names, n_names),
                                        RS_FIELD_LIST(outer, list, n_list, &inner_layout),
                                        RS_FIELD_STRUCT(outer, here, &inner_layout),
                                        RS_FIELD_ONE(outer, one, &alone_layout),
                                        RS_FIELD_ONE_OR_NONE(outer, no_one, &alone_layout),
                                        RS_FIELD(outer, all_ones),
                                        RS_FIELD_ROW(outer, row, outer, n_names),
                                        RS_FIELD_STRINGS(outer, strings)};
static const rs_layout outer_layout = RS_LAYOUT(outer, outer_fields);

static void expect_inner(const inner *a, const inner *b)
{
    assert_int_equal(a->small, b->small);
    assert_int_equal(a->below, b->below);
    assert_int_equal(a->index, b->index);
}

TEST(test_layout)
{
    const char *names[] = {"a", "", "ccc"};
    inner list[] = {{-128, 0, 2}, {127, 499, UINT16_MAX}}, one = {5, 0, 0};
    double row[] = {1.5, -2.5, 1e300};
    outer x = {.flag = true,
               .numbers = {INT64_MIN, INT64_MAX, -1},
               .real = -0.0,
               .chars = "seven77",
               .text = "text",
               .long_text = "with\0NUL",
               .long_n = 8,
               .names = names,
               .n_names = 3,
               .list = list,
               .n_list = 2,
               .here = {1, 2, 0},
               .one = &one,
               .all_ones = UINT32_MAX,
               .row = row};
    assert_true(rs_strings_init(&x.strings));
    uint32_t id = rs_strings_add(&x.strings, "x\0y", 3);
    rs_wire_writer w = {0};
    rs_layout_pack(&outer_layout, &x, &w);
    assert_false(w.out_of_memory);
    rs_arena arena = {0};
    for (size_t n = 0; n <= w.n; n++) {
        guarded g = guarded_copy(w.bytes, n);
        rs_wire_reader r = {.p = g.bytes, .end = g.bytes + n, .arena = &arena};
        const outer *y = rs_layout_unpack(&outer_layout, &r);
        assert_int_equal(y != NULL, n == w.n);
        if (y) {
            assert_true(y->flag && memcmp(y->numbers, x.numbers, sizeof x.numbers) == 0);
            assert_memory_equal(&y->real, &x.real, 8);
            assert_string_equal(y->chars, x.chars);
            assert_string_equal(y->text, x.text);
            assert_null(y->none);
            assert_int_equal(y->long_n, 8);
            assert_memory_equal(y->long_text, x.long_text, 9);
            assert_int_equal(y->n_names, 3);
            for (size_t i = 0; i < 3; i++) assert_string_equal(y->names[i], names[i]);
            assert_int_equal(y->n_list, 2);
            for (size_t i = 0; i < 2; i++) expect_inner(&y->list[i], &list[i]);
            expect_inner(&y->here, &x.here);
            assert_int_equal(y->one->small, 5);
            assert_null(y->no_one);
            assert_int_equal(y->all_ones, UINT32_MAX);
            assert_memory_equal(y->row, row, sizeof row);
            assert_int_equal(y->strings.n, x.strings.n);
            assert_int_equal(y->strings.items[id].length, 3);
            assert_memory_equal(y->strings.items[id].text, "x\0y", 4);
        }
        guarded_free(&g);
    }
    assert_true(rs_layout_fingerprint(&inner_layout) != rs_layout_fingerprint(&alone_layout));
    /* values that no such struct holds */
    for (int what = 0; what < 5; what++) {
        inner was = list[0];
        if (what == 0) list[0].below = 500;
        if (what == 1) list[0].index = 3;
        if (what == 2) x.text = NULL;
        if (what == 3) x.one = NULL;
        if (what == 4) x.row = NULL;
        w.n = 0;
        rs_layout_pack(&outer_layout, &x, &w);
        rs_wire_reader r = {.p = w.bytes, .end = w.bytes + w.n, .arena = &arena};
        assert_null(rs_layout_unpack(&outer_layout, &r));
        list[0] = was;
        x.text = "text";
        x.one = &one;
        x.row = row;
    }
    rs_wire_clear(&w);
    rs_arena_clear(&arena);
    rs_strings_clear(&x.strings);
}

/* The checksum and the fingerprints: computed by hand from the definition in base/strings.c, bytes taken as
 * the lowest first, so that a machine of any byte order has these. */
TEST(test_checksum)
{
    static const struct {
        size_t n;
        uint64_t hash;
    } wanted[] = {{0, UINT64_C(0x3841f612376719ec)},  {1, UINT64_C(0x3841f612376719ec)},
                  {7, UINT64_C(0x5cdc3fb0377a4115)},  {8, UINT64_C(0xd486fab9c10239bd)},
                  {9, UINT64_C(0xccc1726202e47114)},  {16, UINT64_C(0x0548104eec9970ae)},
                  {17, UINT64_C(0x4126134f304d646a)}, {40, UINT64_C(0xb753924377a605ad)}};
    uint8_t bytes[40], head[RS_PARTIAL_HEAD + 9];
    for (unsigned i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)(i + 1);
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        assert_true(rs_hash_bytes(bytes, wanted[i].n) == wanted[i].hash);
    static const uint8_t sealed[16] = {9,    0,    0,    0,    0,    0,    0,    0,
                                       0x14, 0x71, 0xe4, 0x02, 0x62, 0x72, 0xc1, 0xcc};
    memcpy(head + RS_PARTIAL_HEAD, bytes, 9);
    rs_bytes packed = {head, sizeof head};
    rs_partials_seal(&packed);
    assert_memory_equal(head, RS_PARTIAL_MAGIC, 8);
    assert_memory_equal(head + 8, sealed, sizeof sealed);
}
