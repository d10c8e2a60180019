/* SQL over several jobs: tables that compare them are those of the commands, and a statement reaches no job but the
 * inputs. */
#include "support.h"

#include "base/memory.h"
#include "rankscope/regress.h"
#include "rankscope/sql.h"
#include "sink.h"

#define N 3

static const char *const files[N] = {RS_SOURCE_DIR "/tests/data/small/rank0.json.gz",
                                     RS_SOURCE_DIR "/tests/data/small/rank1.json.gz",
                                     RS_SOURCE_DIR "/tests/data/small"};

typedef struct fixture {
    rs_job *jobs[N];
    rs_sql_input inputs[N];
    rs_sql_session *session;
} fixture;

static void begin(fixture *f, size_t n)
{
    static const char *const names[N] = {"base", "new", "both"};
    const rs_job_settings settings = {.size = sizeof(rs_job_settings), .jobs = 1};
    rs_sql_settings sql = {.size = sizeof sql, .n_inputs = n, .inputs = f->inputs};
    *f = (fixture){0};
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(rs_job_open(&files[i], 1, &settings, &f->jobs[i], NULL), RS_OK);
        f->inputs[i] = (rs_sql_input){names[i], f->jobs[i]};
    }
    assert_int_equal(rs_sql_open(NULL, &sql, &f->session, NULL), RS_OK);
}

static void end(fixture *f)
{
    rs_sql_close(f->session);
    for (size_t i = 0; i < N; i++) rs_job_close(f->jobs[i]);
}

static char *as_csv(const rs_table *table)
{
    collected out = {0};
    const rs_sink sink = {collect, &out};
    const rs_render_settings settings = {.size = sizeof settings, .form = rs_output_form_find("csv")};
    assert_int_equal(rs_render_table(table, &settings, &sink, NULL), RS_OK);
    return out.text;
}

static char *answer(fixture *f, const char *query)
{
    rs_result result;
    rs_error err = RS_ERROR_INIT;
    char line[2048];
    if (rs_sql_run(f->session, query, &result, &err) != RS_OK)
        fail_msg("%s: %s", query, rs_error_text(&err, line, sizeof line));
    char *csv = as_csv(result.tables[0]);
    rs_result_clear(&result);
    return csv;
}

static void gives(fixture *f, const char *query, const char *expected)
{
    char *got = answer(f, query);
    if (strcmp(got, expected) != 0) fail_msg("%s\ngives\n%.900s\nand not\n%.900s", query, got, expected);
    free(got);
}

static void fails(fixture *f, const char *query, const char *message)
{
    rs_result result;
    rs_error err = RS_ERROR_INIT;
    char line[2048];
    assert_int_equal(rs_sql_run(f->session, query, &result, &err), RS_ERR_USAGE);
    rs_result_clear(&result);
    if (!strstr(rs_error_text(&err, line, sizeof line), message)) fail_msg("%s: %s", query, line);
}

/* The table of an analysis of these inputs, as its command makes it. */
static char *command(fixture *f, const char *name, const char *option, const char *value, const char *table,
                     const size_t *inputs, size_t n)
{
    rs_job *jobs[N];
    size_t n_options;
    rs_options *options;
    rs_result result;
    const rs_analysis *analysis = rs_analysis_find(name);
    const rs_option_spec *specs = rs_analysis_options(analysis, &n_options);
    for (size_t i = 0; i < n; i++) jobs[i] = f->jobs[inputs[i]];
    assert_int_equal(rs_options_create(specs, n_options, &options, NULL), RS_OK);
    if (option) assert_int_equal(rs_options_set(options, option, value, NULL), RS_OK);
    if (n == 1)
        assert_int_equal(rs_job_run(jobs[0], analysis, options, RS_COMPAT_NONE, &result, NULL), RS_OK);
    else
        assert_int_equal(rs_job_run_jobs(jobs, n, analysis, options, RS_COMPAT_NONE, &result, NULL), RS_OK);
    rs_options_free(options);
    char *csv = as_csv(rs_result_table(&result, table));
    rs_result_clear(&result);
    return csv;
}

static void test_tables_are_those_of_commands(void **state)
{
    (void)state;
    static const struct {
        const char *query, *analysis, *option, *value, *table;
        size_t inputs[N], n;
    } cases[] = {
        {"SELECT * FROM compare", "compare", NULL, NULL, "args", {0, 1, 2}, 3},
        {"SELECT * FROM compare('1', '2,3')", "compare", NULL, NULL, "args", {0, 1, 2}, 3},
        {"SELECT * FROM compare('base', ' both , new ')", "compare", NULL, NULL, "args", {0, 2, 1}, 3},
        {"SELECT * FROM compare('new', 'base')", "compare", NULL, NULL, "args", {1, 0}, 2},
        {"SELECT * FROM compare('new', '1', '--top 2')", "compare", "top", "2", "args", {1, 0}, 2},
        {"SELECT * FROM compare WHERE options = '--top 2' AND other = 'new'",
         "compare",
         "top",
         "2",
         "args",
         {0, 1},
         2},
        {"SELECT * FROM compare_names('1', '2')", "compare", "by", "op", "names", {0, 1}, 2},
        {"SELECT * FROM compare_names('1', '2', '--by kernel')",
         "compare",
         "by",
         "kernel",
         "names",
         {0, 1},
         2},
        {"SELECT * FROM compare_tree('1', '2')", "compare", "by", "tree", "tree", {0, 1}, 2},
        {"SELECT * FROM compare_pairs('1', '2')", "compare", "by", "tree", "pairs", {0, 1}, 2},
        {"SELECT * FROM compare_inputs", "compare", NULL, NULL, "inputs", {0, 1, 2}, 3},
        {"SELECT * FROM diff('2', '3')", "diff", NULL, NULL, "diff", {1, 2}, 2},
        {"SELECT * FROM diff('both', 'new', '--kind gpu')", "diff", "kind", "gpu", "diff", {2, 1}, 2},
        {"SELECT * FROM diff_totals('1', '2')", "diff", NULL, NULL, "totals", {0, 1}, 2},
        {"SELECT * FROM breakdown", "breakdown", NULL, NULL, "breakdown", {0}, 1},
        {"SELECT * FROM breakdown('', 'both')", "breakdown", NULL, NULL, "breakdown", {2}, 1},
        {"SELECT * FROM kernels('--top 2', '2')", "kernels", "top", "2", "kernels", {1}, 1},
        {"SELECT * FROM kernels_kinds(NULL, 2)", "kernels", "by", "kind", "kinds", {1}, 1},
    };
    fixture f;
    begin(&f, N);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *expected = command(&f, cases[i].analysis, cases[i].option, cases[i].value, cases[i].table,
                                 cases[i].inputs, cases[i].n);
        assert_true(strchr(expected, '\n')[1] != 0); /* it has rows */
        gives(&f, cases[i].query, expected);
        free(expected);
    }
    end(&f);
}

static void add(rs_regress_side *side, fixture *f, size_t input)
{
    rs_result told = {0};
    assert_int_equal(rs_regress_add_run(side, f->inputs[input].name, f->jobs[input], &told, NULL), RS_OK);
    rs_result_clear(&told);
}

static void test_regress(void **state)
{
    (void)state;
    fixture f;
    rs_regress_side *base, *now;
    rs_regress_verdict verdict;
    rs_result result = {0};
    const rs_regress_settings settings = {.size = sizeof settings,
                                          .alpha = 0.05,
                                          .min_effect = 0.01,
                                          .between_run_sd = 0.02,
                                          .key = RS_REGRESS_PART};
    begin(&f, N);
    assert_int_equal(rs_regress_side_create(NULL, &base, NULL), RS_OK);
    assert_int_equal(rs_regress_side_create(NULL, &now, NULL), RS_OK);
    add(base, &f, 0);
    add(now, &f, 1);
    add(now, &f, 2);
    assert_int_equal(rs_regress(base, now, &settings, &result, &verdict, NULL), RS_OK);
    static const char *const tables[] = {"regress", "regress_parts", "regress_runs"};
    for (size_t i = 0; i < 3; i++) {
        char query[200], *expected = as_csv(result.tables[i]);
        snprintf(query, sizeof query,
                 "SELECT * FROM %s('1', '2,3', '--min-effect 1 --between-run-sd 2 --by part')", tables[i]);
        gives(&f, query, expected);
        free(expected);
    }
    rs_result_clear(&result);
    rs_regress_side_free(base);
    rs_regress_side_free(now);
    gives(&f, "SELECT side, run FROM regress_runs('both,new', 'base')",
          "side,run\nbase,both\nbase,new\nnew,base\n");
    fails(&f, "SELECT * FROM regress('1', '2', '--alpha 0.7')", "--alpha takes a share");
    fails(&f, "SELECT * FROM regress('1', '2', '--min-effect -1')", "--min-effect takes 0");
    fails(&f, "SELECT * FROM regress('1', '2', '--junit /tmp/x')", "there is no option --junit");
    end(&f);
}

/* Answers of different inputs are different answers; arguments can come from a table and can be read. */
static void test_arguments(void **state)
{
    (void)state;
    fixture f;
    begin(&f, N);
    gives(
        &f,
        "SELECT i.column1 AS i, rank FROM (VALUES ('1'), ('new'), ('3')) i JOIN breakdown b ON b.input = i.column1 ORDER BY 1, 2",
        "i,rank\n1,0\n3,0\n3,1\nnew,1\n");
    gives(&f, "SELECT DISTINCT base, other, options FROM compare('1', 'new', '--top 1')",
          "base,other,options\n1,new,--top 1\n");
    gives(&f, "SELECT DISTINCT options, input FROM breakdown", "options,input\n,\n");
    gives(&f,
          "SELECT count(*) AS n FROM diff('1', '2') d JOIN diff('2', '1') e USING (kind, name) "
          "WHERE d.time_diff_us <> -e.time_diff_us",
          "n\n0\n");
    gives(&f, "SELECT count(*) > 100 AS n, count(DISTINCT rank) AS ranks, min(rank) AS least FROM events",
          "n,ranks,least\n1,1,0\n");
    rs_result result;
    assert_int_equal(rs_sql_run(f.session, "SELECT count(*) FROM threads", &result, NULL), RS_OK);
    assert_int_equal(result.n_notes, 1);
    assert_string_equal(result.notes[0], "events, arguments, files and threads are those of input 1, base");
    rs_result_clear(&result);
    end(&f);
}

static void test_refused(void **state)
{
    (void)state;
    fixture f;
    char query[400];
    begin(&f, N);
    for (size_t i = 0; i < N; i++) { /* the paths were given by another name */
        snprintf(query, sizeof query, "SELECT * FROM compare('1', '%s')", files[i]);
        fails(&f, query, "there is 1 (base), 2 (new), 3 (both)");
    }
    fails(&f, "SELECT * FROM compare('0', '1')", "there is no input '0'");
    fails(&f, "SELECT * FROM compare('1', '4')", "there is no input '4'");
    fails(&f, "SELECT * FROM compare('1', '99999999999999999999')", "there is no input");
    fails(&f, "SELECT * FROM compare('1', '2,')", "there is no input ''");
    fails(&f, "SELECT * FROM compare('1,2', '3')", "one input is compared with, not 2");
    fails(&f, "SELECT * FROM diff", "which two inputs are compared? diff('1', '2')");
    fails(&f, "SELECT * FROM diff('1', '2,3')", "which two inputs");
    fails(&f, "SELECT * FROM breakdown('', '1,2')", "breakdown is of one input at a time");
    fails(&f, "SELECT * FROM breakdown('', 'new ,x')", "there is no input 'x'");
    fails(&f, "SELECT * FROM compare('1', '2', '--by op')",
          "their answer is in compare_names('1', '2', '--by op')");
    fails(&f, "SELECT * FROM compare('1', '2', '--device ./x.json')", "names a file");
    end(&f);
}

/* Each allocation of ours fails in turn: an error, or the right answer. */
static void test_allocations(void **state)
{
    (void)state;
    static const char query[] = "SELECT name, time_diff_us FROM diff('base', '2') ORDER BY 2 LIMIT 3";
    fixture f;
    begin(&f, 2);
    char *expected = answer(&f, query);
    end(&f);
    size_t failed = 0;
    bool whole = false;
    for (uint64_t k = 1, step = 1; !whole; k += step) {
        const rs_sql_settings sql = {.size = sizeof sql, .n_inputs = 2, .inputs = f.inputs};
        const rs_job_settings settings = {.size = sizeof(rs_job_settings), .jobs = 1};
        rs_result result = {0};
        rs_error err = RS_ERROR_INIT;
        step = 1 + k / (RS_TEST_SLOW ? 3 : 9);
        for (size_t i = 0; i < 2; i++) {
            assert_int_equal(rs_job_open(&files[i], 1, &settings, &f.jobs[i], NULL), RS_OK);
            f.inputs[i].job = f.jobs[i];
        }
        rs_test_fail_allocation(0);
        rs_test_fail_allocation(k);
        f.session = NULL;
        rs_status status = rs_sql_open(NULL, &sql, &f.session, &err);
        if (status == RS_OK) status = rs_sql_run(f.session, query, &result, &err);
        whole = rs_test_fail_allocation(0) < k;
        if (status == RS_OK) {
            char *got = as_csv(result.tables[0]);
            assert_string_equal(got, expected);
            free(got);
        } else {
            assert_true(err.n_causes > 0);
            failed++;
        }
        rs_result_clear(&result);
        rs_sql_close(f.session);
        for (size_t i = 0; i < 2; i++) rs_job_close(f.jobs[i]);
    }
    assert_true(failed > (RS_TEST_SLOW ? 5 : 20));
    free(expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tables_are_those_of_commands),
        cmocka_unit_test(test_regress),
        cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
