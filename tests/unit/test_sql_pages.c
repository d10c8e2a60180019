/* Answers of SQL that are written while they come: the bytes are those of the answer as a whole, in every form; and what
 * only pages can show. */
#define _GNU_SOURCE
#include "support.h"

#include "base/memory.h"
#include "rankscope/sql.h"
#include "sink.h"

/* Rows with whole numbers, numbers, texts and unknown cells; %d is how many. */
static const char rows[] =
    "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < %d) "
    "SELECT x, x * 0.5 AS half, 'n' || (x %% 13) AS name, iif(x %% 7, x, NULL) AS some FROM c";

static const char trace[] =
    "{\"traceEvents\": [{\"ph\":\"X\",\"ts\":1,\"dur\":5,\"name\":\"a\",\"cat\":\"kernel\","
    "\"pid\":0,\"tid\":7,\"args\":{\"stream\":7}}, {\"ph\":\"X\",\"ts\":2";

typedef struct fixture {
    rs_job *job;
    rs_sql_session *session;
    size_t most; /* rows that a page may have, whatever the form wants; 0: that */
    size_t n_pages, largest;
    unsigned agains;
    unsigned checks, last_check; /* how often it was asked whether to go on, and when to refuse; 0: never */
    uint64_t held;               /* the most */
} fixture;

static void begin_with(fixture *f, rs_sql_settings sql)
{
    const rs_job_settings job = {.size = sizeof(rs_job_settings), .jobs = 1};
    *f = (fixture){0};
    sql.size = sizeof sql;
    assert_int_equal(rs_job_open_bytes(trace, sizeof trace - 1, "trace", &job, &f->job, NULL), RS_OK);
    assert_int_equal(rs_sql_open(f->job, &sql, &f->session, NULL), RS_OK);
}

static void begin(fixture *f)
{
    begin_with(f, (rs_sql_settings){0});
}

static void end(fixture *f)
{
    rs_sql_close(f->session);
    rs_job_close(f->job);
}

static rs_status next(void *context, size_t most, rs_table **page, rs_error *err)
{
    fixture *f = context;
    rs_status status = rs_sql_page(f->session, f->most && f->most < most ? f->most : most, page, err);
    if (*page) {
        size_t n = rs_table_n_rows(*page);
        f->n_pages++;
        if (n > f->largest) f->largest = n;
    }
    return status;
}

static rs_status again(void *context, rs_error *err)
{
    fixture *f = context;
    (void)err;
    f->agains++;
    rs_sql_again(f->session);
    return RS_OK;
}

static const rs_result *told(void *context)
{
    return rs_sql_told(((fixture *)context)->session);
}

static rs_status check(void *context, uint64_t held, rs_error *err)
{
    fixture *f = context;
    if (held > f->held) f->held = held;
    return ++f->checks == f->last_check ? rs_fail(err, RS_ERR_LIMIT, "no further") : RS_OK;
}

/* One statement, by pages. */
static rs_status stream(fixture *f, const char *query, const rs_render_settings *settings, collected *out,
                        rs_error *err)
{
    const rs_sink sink = {collect, out};
    const rs_pages pages = {f, next, again, told};
    rs_render_settings own = *settings;
    rs_result result;
    bool there = false;
    own.check = check;
    own.check_context = f;
    f->n_pages = f->largest = f->agains = 0;
    rs_status status = rs_sql_begin(f->session, query, err);
    if (status == RS_OK) status = rs_sql_next(f->session, &there, err);
    if (status == RS_OK) status = rs_render_pages(&pages, &own, &sink, err);
    rs_sql_end(f->session, &result);
    rs_result_clear(&result);
    return status;
}

static void same_bytes(fixture *f, const char *query, const char *form)
{
    const rs_render_settings settings = {
        .size = sizeof settings, .form = rs_output_form_find(form), .utf8 = true, .width = 60};
    collected whole = {0}, streamed = {0};
    const rs_sink sink = {collect, &whole};
    rs_error err = RS_ERROR_INIT;
    rs_result result;
    char line[2048];
    assert_int_equal(rs_sql_run(f->session, query, &result, NULL), RS_OK);
    assert_int_equal(rs_render_result(&result, 0, &settings, &sink, NULL), RS_OK);
    rs_result_clear(&result);
    if (stream(f, query, &settings, &streamed, &err) != RS_OK)
        fail_msg("%s: %s: %s", form, query, rs_error_text(&err, line, sizeof line));
    if (whole.n != streamed.n || (whole.n && memcmp(whole.text, streamed.text, whole.n) != 0))
        fail_msg("%s: %s: %zu bytes by pages, %zu as a whole", form, query, streamed.n, whole.n);
    collected_clear(&whole);
    collected_clear(&streamed);
}

static void test_same_bytes(void **state)
{
    (void)state;
    static const struct {
        const char *form;
        size_t rows, pages; /* of each way through the rows */
        unsigned agains;
    } cases[] = {{"csv", 2500, 3, 0}, {"jsonl", 2500, 3, 0},  {"json", 2500, 3, 0},    {"text", 66000, 2, 0},
                 {"md", 66000, 2, 0}, {"arrow", 66000, 6, 2}, {"arrows", 66000, 6, 2}, {"arrow", 65536, 1, 0},
                 {"csv", 1024, 1, 0}, {"csv", 1025, 2, 0}};
    fixture f;
    char query[400];
    begin(&f);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(query, sizeof query, rows, (int)cases[i].rows);
        same_bytes(&f, query, cases[i].form);
        assert_int_equal(f.n_pages, cases[i].pages);
        assert_int_equal(f.agains, cases[i].agains);
        assert_true(f.largest <= 65536);
    }
    static const char *const forms[] = {"csv", "jsonl", "json", "text", "md", "arrow", "arrows"};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        same_bytes(&f, "SELECT 1 AS a WHERE 0", forms[i]);
        same_bytes(&f, "SELECT name, dur_us, stream FROM events", forms[i]); /* problems stand in json */
        same_bytes(&f, "SELECT '' AS a, NULL AS b UNION ALL SELECT 'x', x'ff'", forms[i]);
    }
    end(&f);
}

/* Small pages: the columns are laid out by the first, later rows take what they need. */
static void test_text(void **state)
{
    (void)state;
    const rs_render_settings settings = {.size = sizeof settings, .form = rs_output_form_find("text")};
    fixture f;
    collected out = {0};
    begin(&f);
    f.most = 2;
    assert_int_equal(stream(&f,
                            "VALUES (1, 'ab'), (20, 'abcd'), (3, 'a'), (400000, 'b'), (5, 'abcdefgh'), "
                            "(2.5, 'c'), (7, 'd'), ('seven', 'e'), (8, 'f')",
                            &settings, &out, NULL),
                     RS_OK);
    assert_string_equal(out.text, "column1  column2\n"
                                  "      1  ab\n"
                                  "     20  abcd\n"
                                  "      3  a\n"
                                  " 400000  b\n"
                                  "  5.000  abcdefgh\n"
                                  "  2.500  c\n"
                                  "7        d\n"
                                  "seven    e\n"
                                  "8        f\n");
    collected_clear(&out);
    assert_int_equal(
        stream(&f, "VALUES (1, 'ab'), (2, 'c'), (3, 'longer than the heading'), (4000000000, 'd'), (5, 'e')",
               &settings, &out, NULL),
        RS_OK);
    assert_string_equal(out.text, "column1  column2\n"
                                  "      1  ab\n"
                                  "      2  c\n"
                                  "      3  longer than the heading\n"
                                  "4000000000  d\n"
                                  "      5  e\n");
    collected_clear(&out);
    end(&f);
}

/* A column that becomes wider: from there on in forms that write what they have, everywhere in arrow. */
static void test_types(void **state)
{
    (void)state;
    static const char query[] = "VALUES (1, 1), (2, 'x'), (3.5, 2), (4, NULL), ('y', 3)";
    const rs_render_settings lines = {.size = sizeof lines, .form = rs_output_form_find("jsonl")};
    const rs_render_settings columns = {.size = sizeof columns, .form = rs_output_form_find("arrow")};
    fixture f;
    collected out = {0}, whole = {0};
    const rs_sink sink = {collect, &whole};
    rs_result result;
    begin(&f);
    f.most = 1;
    assert_int_equal(stream(&f, query, &lines, &out, NULL), RS_OK);
    assert_string_equal(out.text, "{\"column1\": 1, \"column2\": 1}\n"
                                  "{\"column1\": 2, \"column2\": \"x\"}\n"
                                  "{\"column1\": 3.5, \"column2\": \"2\"}\n"
                                  "{\"column1\": 4, \"column2\": null}\n"
                                  "{\"column1\": \"y\", \"column2\": \"3\"}\n");
    collected_clear(&out);
    /* a batch for each row, and the texts of all: as long as a whole with one batch a row would be */
    assert_int_equal(stream(&f, query, &columns, &out, NULL), RS_OK);
    assert_int_equal(f.agains, 3);
    f.most = 0;
    assert_int_equal(rs_sql_run(f.session, query, &result, NULL), RS_OK);
    assert_int_equal(rs_render_result(&result, 0, &columns, &sink, NULL), RS_OK);
    rs_result_clear(&result);
    assert_true(out.n > whole.n);
    assert_non_null(memmem(out.text, out.n, "123.54y", 7)); /* the texts of column1, in the order of rows */
    assert_non_null(memmem(whole.text, whole.n, "123.54y", 7));
    collected_clear(&out);
    collected_clear(&whole);
    end(&f);
}

/* What is not the same the second time is no table of columns. */
static void test_random(void **state)
{
    (void)state;
    const rs_render_settings settings = {.size = sizeof settings, .form = rs_output_form_find("arrow")};
    fixture f;
    collected out = {0};
    rs_error err = RS_ERROR_INIT;
    char line[2048];
    begin(&f);
    f.most = 2;
    assert_int_equal(stream(&f,
                            "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 9) "
                            "SELECT hex(randomblob(16)) AS a FROM c",
                            &settings, &out, &err),
                     RS_ERR_USAGE);
    assert_non_null(strstr(rs_error_text(&err, line, sizeof line), "other texts the second time"));
    collected_clear(&out);
    end(&f);
}

/* The limits hold for a page: rows without end pass, until somebody stops them. */
static bool two_million(void *context)
{
    return *(size_t *)context < 200000;
}

static bool count_lines(void *context, const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) *(size_t *)context += bytes[i] == '\n';
    return true;
}

static void test_limits(void **state)
{
    (void)state;
    static const char endless[] = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) ";
    size_t n = 0;
    rs_sql_settings sql = {.max_memory = 1 << 20, .goes_on = two_million, .context = &n};
    const rs_render_settings settings = {.size = sizeof settings, .form = rs_output_form_find("csv")};
    const rs_sink sink = {count_lines, &n};
    fixture f;
    char query[300];
    rs_result result;
    rs_error err = RS_ERROR_INIT;
    bool there;
    begin_with(&f, sql);
    const rs_pages pages = {&f, next, again, told};
    snprintf(query, sizeof query, "%sSELECT x, 'a text' AS y FROM c", endless);
    assert_int_equal(rs_sql_begin(f.session, query, NULL), RS_OK);
    assert_int_equal(rs_sql_begin(f.session, query, NULL), RS_ERR_USAGE);
    assert_int_equal(rs_sql_next(f.session, &there, NULL), RS_OK);
    assert_true(rs_sql_is_last(f.session));
    assert_int_equal(rs_render_pages(&pages, &settings, &sink, &err), RS_ERR_CANCELLED);
    assert_true(n >= 200000); /* far more than would fit into 1 MiB */
    rs_sql_end(f.session, &result);
    rs_result_clear(&result);
    /* a cell or a sort that is too large is refused as ever */
    n = 0;
    assert_int_equal(rs_sql_begin(f.session, "SELECT 1; SELECT hex(zeroblob(2000000)); -- end", NULL), RS_OK);
    assert_int_equal(rs_sql_next(f.session, &there, NULL), RS_OK);
    assert_false(rs_sql_is_last(f.session));
    assert_int_equal(rs_render_pages(&pages, &settings, &sink, NULL), RS_OK);
    assert_int_equal(rs_sql_next(f.session, &there, NULL), RS_OK);
    assert_true(there && rs_sql_is_last(f.session));
    err = (rs_error)RS_ERROR_INIT;
    assert_int_equal(rs_render_pages(&pages, &settings, &sink, &err), RS_ERR_LIMIT);
    assert_int_equal(rs_sql_next(f.session, &there, NULL), RS_OK);
    assert_false(there);
    rs_sql_end(f.session, &result);
    rs_result_clear(&result);
    rs_table *page;
    assert_int_equal(rs_sql_page(f.session, 10, &page, NULL), RS_ERR_USAGE);
    assert_int_equal(rs_sql_next(f.session, &there, NULL), RS_ERR_USAGE);
    end(&f);
}

/* Whoever writes pages asks whether to go on, and ends where it is not to: every form, while rows are laid out and while they are written. */
static void test_checks(void **state)
{
    (void)state;
    static const char *const forms[] = {"csv", "jsonl", "json", "text", "md", "arrow", "arrows"};
    fixture f;
    char query[400];
    begin(&f);
    snprintf(query, sizeof query, rows, 70000);
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        const rs_render_settings settings = {.size = sizeof settings, .form = rs_output_form_find(forms[i])};
        collected out = {0};
        f.checks = f.last_check = 0;
        f.held = 0;
        assert_int_equal(stream(&f, query, &settings, &out, NULL), RS_OK);
        assert_true(f.checks >= out.n / 32768);
        assert_int_equal(f.held > 13 * 3, strncmp(forms[i], "arrow", 5) == 0);
        assert_true(f.held < 1 << 20);
        collected_clear(&out);
        const unsigned all = f.checks;
        for (unsigned last = 1; last <= all; last += 1 + all / 5) {
            rs_error err = RS_ERROR_INIT;
            char line[2048];
            f.checks = 0;
            f.last_check = last;
            if (stream(&f, query, &settings, &out, &err) != RS_ERR_LIMIT) fail_msg("%s goes on", forms[i]);
            assert_non_null(strstr(rs_error_text(&err, line, sizeof line), "no further"));
            assert_int_equal(f.checks, last);
            collected_clear(&out);
        }
    }
    /* a page whose layout takes long is left before anything is written */
    const rs_render_settings as_text = {.size = sizeof as_text, .form = rs_output_form_find("text")};
    collected out = {0};
    f.checks = 0;
    f.last_check = 2;
    assert_int_equal(stream(&f, query, &as_text, &out, NULL), RS_ERR_LIMIT);
    assert_int_equal(out.n, 0);
    collected_clear(&out);
    end(&f);
}

/* What held in addition to a page is within the memory of the session, too, and its user may end it. */
static bool never(void *context)
{
    return !*(bool *)context;
}

static void test_check_of_a_session(void **state)
{
    (void)state;
    bool ends = false, there;
    rs_sql_settings sql = {.max_memory = 1 << 20, .goes_on = never, .context = &ends};
    rs_error err = RS_ERROR_INIT;
    rs_result result;
    fixture f;
    begin_with(&f, sql);
    assert_int_equal(rs_sql_begin(f.session, "SELECT 1; SELECT 2; SELECT 3", NULL), RS_OK);
    assert_int_equal(rs_sql_next(f.session, &there, NULL), RS_OK);
    assert_int_equal(rs_sql_check(f.session, 0, &err), RS_OK);
    assert_int_equal(rs_sql_check(f.session, 900000, &err), RS_OK);
    assert_int_equal(rs_sql_check(f.session, (1 << 20) + 1, &err), RS_ERR_LIMIT);
    assert_int_equal(rs_sql_check(f.session, 0, &err), RS_ERR_LIMIT); /* it has ended */
    rs_sql_end(f.session, &result);
    rs_result_clear(&result);
    assert_int_equal(rs_sql_begin(f.session, "SELECT 1", NULL), RS_OK);
    assert_int_equal(rs_sql_next(f.session, &there, NULL), RS_OK);
    assert_int_equal(rs_sql_check(f.session, 0, &err), RS_OK);
    ends = true;
    assert_int_equal(rs_sql_check(f.session, 0, &err), RS_ERR_CANCELLED);
    rs_sql_end(f.session, &result);
    rs_result_clear(&result);
    end(&f);
}

/* A table of some screens and a longer one are laid out by two programs: rows of both are the same bytes. */
static void test_long_text(void **state)
{
    (void)state;
    static const char query[] =
        "WITH RECURSIVE c(x) AS (SELECT 0 UNION ALL SELECT x + 1 FROM c WHERE x < %d) SELECT x, "
        "CASE x %% 9 WHEN 0 THEN '' WHEN 1 THEN 'blank at the end ' WHEN 2 THEN ' blank' WHEN 3 THEN NULL WHEN 4 THEN '\xE8\xA1\xA8' || x "
        "WHEN 5 THEN 'e' || char(769) WHEN 6 THEN char(27) || '[1m' WHEN 7 THEN char(9) ELSE 'a longer text than others' END AS name, "
        "iif(x %% 4, x * 0.25, NULL) AS quarter, iif(x %% 5, 'x', '') AS last FROM c";
    fixture f;
    char line[800];
    begin(&f);
    for (int kind = 0; kind < 3; kind++) {
        const rs_render_settings settings = {.size = sizeof settings,
                                             .form = rs_output_form_find("text"),
                                             .utf8 = kind < 2,
                                             .width = kind == 1 ? 45 : 0};
        collected shorter = {0}, longer = {0};
        snprintf(line, sizeof line, query, 1023);
        assert_int_equal(stream(&f, line, &settings, &shorter, NULL), RS_OK);
        snprintf(line, sizeof line, query, 1024);
        assert_int_equal(stream(&f, line, &settings, &longer, NULL), RS_OK);
        assert_true(longer.n > shorter.n);
        for (size_t i = 0; i < shorter.n; i++)
            if (shorter.text[i] != longer.text[i]) fail_msg("kind %d: byte %zu differs", kind, i);
        collected_clear(&shorter);
        collected_clear(&longer);
    }
    end(&f);
}

/* A form that takes no pages says so; so does a budget. */
static void test_refused(void **state)
{
    (void)state;
    rs_render_settings settings = {.size = sizeof settings, .form = rs_output_form_find("parquet")};
    fixture f;
    collected out = {0};
    begin(&f);
    assert_false(rs_render_takes_pages(&settings));
    assert_int_equal(stream(&f, "SELECT 1", &settings, &out, NULL), RS_ERR_USAGE);
    settings.form = rs_output_form_find("json");
    assert_true(rs_render_takes_pages(&settings));
    settings.budget = 1000;
    assert_false(rs_render_takes_pages(&settings));
    assert_int_equal(stream(&f, "SELECT 1", &settings, &out, NULL), RS_ERR_USAGE);
    collected_clear(&out);
    end(&f);
}

/* Each allocation of ours fails in turn: an error, or the same bytes. */
static void test_allocations(void **state)
{
    (void)state;
    static const char *const forms[] = {"csv", "json", "text", "md", "arrow"};
    static const char query[] = "VALUES (1, 'a'), (2, 'b'), (3.5, 'a'), ('x', NULL), (5, 'c')";
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        const rs_render_settings settings = {.size = sizeof settings, .form = rs_output_form_find(forms[i])};
        fixture f;
        collected expected = {0};
        begin(&f);
        f.most = 2;
        assert_int_equal(stream(&f, query, &settings, &expected, NULL), RS_OK);
        size_t failed = 0;
        bool whole = false;
        for (uint64_t k = 1; !whole; k++) {
            collected out = {0};
            rs_error err = RS_ERROR_INIT;
            rs_test_fail_allocation(0);
            rs_test_fail_allocation(k);
            rs_status status = stream(&f, query, &settings, &out, &err);
            whole = rs_test_fail_allocation(0) < k;
            if (status == RS_OK) {
                assert_int_equal(out.n, expected.n);
                assert_memory_equal(out.text, expected.text, out.n);
            } else {
                assert_int_equal(status, RS_ERR_NOMEM);
                failed++;
            }
            collected_clear(&out);
        }
        assert_true(failed > 10);
        collected_clear(&expected);
        end(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_bytes),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_checks),
        cmocka_unit_test(test_check_of_a_session),
        cmocka_unit_test(test_long_text),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
