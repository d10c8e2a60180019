/* SQL over a job. What tables hold is compared with the analyses themselves; what indexes pick with the same
 * condition written so that no index can serve it. */
#include "support.h"

#include "base/memory.h"
#include "rankscope/sql.h"
#include "sink.h"

static const char small[] = RS_SOURCE_DIR "/tests/data/small";

typedef struct fixture {
    rs_job *job;
    rs_sql_session *session;
    unsigned calls, allowed; /* of goes_on; allowed 0: any number */
} fixture;

static bool goes_on(void *context)
{
    fixture *f = context;
    return ++f->calls <= f->allowed || f->allowed == 0;
}

static void begin_with(fixture *f, rs_job_settings job, rs_sql_settings sql)
{
    const char *paths[] = {small};
    *f = (fixture){0};
    job.size = sizeof job;
    sql.size = sizeof sql;
    sql.goes_on = goes_on;
    sql.context = f;
    assert_int_equal(rs_job_open(paths, 1, &job, &f->job, NULL), RS_OK);
    assert_int_equal(rs_sql_open(f->job, &sql, &f->session, NULL), RS_OK);
}

static void begin(fixture *f)
{
    begin_with(f, (rs_job_settings){.size = sizeof(rs_job_settings)}, (rs_sql_settings){0});
}

static void end(fixture *f)
{
    rs_sql_close(f->session);
    rs_job_close(f->job);
}

static char *as_csv(const rs_table *table)
{
    collected out = {0};
    const rs_sink sink = {collect, &out};
    const rs_render_settings settings = {.size = sizeof settings, .form = rs_output_form_find("csv")};
    assert_int_equal(rs_render_table(table, &settings, &sink, NULL), RS_OK);
    return out.text;
}

/* The answer of the last statement as CSV; freed by the caller. */
static char *answer(fixture *f, const char *query)
{
    rs_result result;
    rs_error err = RS_ERROR_INIT;
    char line[2048];
    if (rs_sql_run(f->session, query, &result, &err) != RS_OK)
        fail_msg("%s: %s", query, rs_error_text(&err, line, sizeof line));
    char *csv = as_csv(result.tables[result.n_tables - 1]);
    rs_result_clear(&result);
    return csv;
}

static void gives(fixture *f, const char *query, const char *expected)
{
    char *got = answer(f, query);
    if (strcmp(got, expected) != 0) fail_msg("%s\ngives\n%s\nand not\n%s", query, got, expected);
    free(got);
}

/* The statement fails so, with this in its message. */
static void fails(fixture *f, const char *query, rs_status status, const char *message)
{
    rs_result result;
    rs_error err = RS_ERROR_INIT;
    char line[2048];
    rs_status got = rs_sql_run(f->session, query, &result, &err);
    assert_int_equal(result.n_tables, 0);
    rs_result_clear(&result);
    rs_error_text(&err, line, sizeof line);
    if (got != status || !strstr(line, message) || strchr(line, '\n'))
        fail_msg("%s: status %d, %s", query, (int)got, got == RS_OK ? "no error" : line);
}

/* ---- what tables hold --------------------------------------------------------------------------------- */

static rs_table *run_analysis(fixture *f, const char *name, rs_result *result)
{
    rs_error err = RS_ERROR_INIT;
    assert_int_equal(rs_job_run(f->job, rs_analysis_find(name), NULL, RS_COMPAT_NONE, result, &err), RS_OK);
    return result->tables[0];
}

#define EVENT_COLUMNS                                                                                        \
    "rank, position, phase, category, name, pid, tid, ts_us, dur_us, step, device, stream, correlation, "    \
    "external_id"

static void test_events_are_those_of_the_command(void **state)
{
    (void)state;
    static const rs_job_settings jobs[] = {{0},
                                           {.size = sizeof(rs_job_settings), .absolute = true},
                                           {.size = sizeof(rs_job_settings), .ranks = "1"},
                                           {.size = sizeof(rs_job_settings), .steps = "11"},
                                           {.size = sizeof(rs_job_settings), .window = "0-0.5"},
                                           {.size = sizeof(rs_job_settings), .keep = true}};
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++) {
        fixture f;
        rs_result result;
        begin_with(&f, jobs[i], (rs_sql_settings){0});
        char *expected = as_csv(run_analysis(&f, "events", &result));
        rs_result_clear(&result);
        /* times since the epoch have more digits than a double has */
        if (jobs[i].absolute) {
            char *exact =
                answer(&f, "SELECT rank, position, ts_ns / 1000 || '.' || substr(1000 + ts_ns % 1000, 2) "
                           "FROM events WHERE ts_ns IS NOT NULL AND position = 5");
            assert_non_null(strstr(exact, ",5,"));
            free(exact);
        } else {
            gives(&f, "SELECT " EVENT_COLUMNS " FROM events", expected);
        }
        free(expected);
        end(&f);
    }
}

/* The table of an analysis, its preset options given, as the command itself fills it. */
static void test_tables_are_those_of_commands(void **state)
{
    (void)state;
    static const struct {
        const char *query, *analysis, *option, *value, *table;
    } cases[] = {{"SELECT * FROM breakdown", "breakdown", NULL, NULL, "breakdown"},
                 {"SELECT * FROM kernels", "kernels", NULL, NULL, "kernels"},
                 {"SELECT * FROM kernels('--top 3')", "kernels", "top", "3", "kernels"},
                 {"SELECT * FROM kernels('top=3')", "kernels", "top", "3", "kernels"},
                 {"SELECT * FROM kernels WHERE options = '--top \"3\"'", "kernels", "top", "3", "kernels"},
                 {"SELECT * FROM kernels_kinds", "kernels", "by", "kind", "kinds"},
                 {"SELECT * FROM ops_args", "ops", "by", "args", "args"},
                 {"SELECT * FROM critical_path_edges", "critical-path", "edges", NULL, "edges"},
                 {"SELECT * FROM tree_stats", "tree", "stats", NULL, "stats"},
                 {"SELECT * FROM stragglers_collectives", "stragglers", NULL, NULL, "collectives"},
                 {"SELECT * FROM ranks", "info", NULL, NULL, "ranks"},
                 {"SELECT * FROM summary", "summary", NULL, NULL, "ranks"}};
    fixture f;
    begin(&f);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t n;
        rs_options *options;
        rs_result result;
        const rs_analysis *analysis = rs_analysis_find(cases[i].analysis);
        const rs_option_spec *specs = rs_analysis_options(analysis, &n);
        assert_int_equal(rs_options_create(specs, n, &options, NULL), RS_OK);
        if (cases[i].option)
            assert_int_equal(rs_options_set(options, cases[i].option, cases[i].value, NULL), RS_OK);
        assert_int_equal(rs_job_run(f.job, analysis, options, RS_COMPAT_NONE, &result, NULL), RS_OK);
        char *expected = as_csv(rs_result_table(&result, cases[i].table));
        gives(&f, cases[i].query, expected);
        free(expected);
        rs_result_clear(&result);
        rs_options_free(options);
    }
    end(&f);
}

/* Every table can be read; the ones that are empty in this job are known. */
/* Whether the table is of an analysis that reads no traces: a pack's. */
static bool reads_other_recordings(const char *table)
{
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(table, "_"), table);
    const rs_analysis *analysis = rs_analysis_find(name);
    return analysis && rs_analysis_input(analysis) == RS_INPUT_RECORDINGS;
}

static void test_every_table(void **state)
{
    (void)state;
    static const char *const empty[] = {"memory",
                                        "memory_series",
                                        "memory_devices",
                                        "memory_operators",
                                        "memory_held",
                                        "memory_moments",
                                        "exchange_messages",
                                        "exchange_experts",
                                        "exchange_loads",
                                        "exchange_balance",
                                        "overlap_phases",
                                        "measured",
                                        "measured_steps",
                                        "measured_states",
                                        "roofline_measured",
                                        "memory_modules",
                                        "memory_costs",
                                        "breakdown_host",
                                        "breakdown_threads",
                                        "clocks_contradictions",
                                        "counters",
                                        "counters_launches",
                                        "diagnose_joint",
                                        "queue_blocked",
                                        "replay_map",
                                        "replay_what_if",
                                        "steps_host",
                                        "memory_ranks",
                                        "memory_sites",
                                        "memory_peak",
                                        "memory_categories",
                                        "memory_timeline",
                                        "memory_segments",
                                        "memory_fragmentation",
                                        "memory_leaks",
                                        "memory_oom",
                                        "memory_spread",
                                        "memory_change",
                                        "memory_fit",
                                        "memory_without",
                                        "memory_findings",
                                        "memory_layers",
                                        "memory_layout",
                                        "memory_counters",
                                        "steps_serving",
                                        "structure_layers",
                                        "whatif_balances",
                                        "whatif_delays",
                                        "whatif_ideal",
                                        "whatif_layout",
                                        "whatif_dp_rank_steps",
                                        "whatif_stage_steps",
                                        "whatif_stages",
                                        "whatif_scales",
                                        "exchange",
                                        "exchange_ranks",
                                        "pipeline",
                                        "pipeline_steps",
                                        "pipeline_passes",
                                        "pipeline_layout",
                                        "roles_messages",
                                        "serving_differences",
                                        "serving_requests",
                                        "serving_load",
                                        "serving_fit",
                                        "tree_across"};
    static const char *const refused[] = {"sequences"};
    fixture f;
    rs_result tables;
    begin_with(&f, (rs_job_settings){.size = sizeof(rs_job_settings), .keep = true}, (rs_sql_settings){0});
    assert_int_equal(rs_sql_run(f.session, "SELECT name FROM tables", &tables, NULL), RS_OK);
    size_t n_tables = rs_table_n_rows(tables.tables[0]), n_read = 0, n_refused = 0;
    assert_true(n_tables > 100);
    for (size_t i = 0; i < n_tables; i++) {
        rs_result result;
        size_t n;
        bool is_refused = false, is_empty = false;
        const char *name = rs_table_text(tables.tables[0], i, 0, &n);
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(name, rs_table_text(tables.tables[0], k, 0, &n));
        for (size_t k = 0; k < sizeof refused / sizeof *refused; k++)
            is_refused |= strcmp(name, refused[k]) == 0;
        is_refused |= reads_other_recordings(name);
        for (size_t k = 0; k < sizeof empty / sizeof *empty; k++) is_empty |= strcmp(name, empty[k]) == 0;
        char query[200];
        snprintf(query, sizeof query, "SELECT * FROM %s", name);
        rs_status status = rs_sql_run(f.session, query, &result, NULL);
        if ((status != RS_OK) != is_refused) fail_msg("%s: status %d", name, (int)status);
        if (status == RS_OK && (rs_table_n_rows(result.tables[0]) == 0) != is_empty)
            fail_msg("%s has %zu rows", name, rs_table_n_rows(result.tables[0]));
        n_read += status == RS_OK;
        n_refused += is_refused;
        rs_result_clear(&result);
    }
    assert_int_equal(n_read, n_tables - n_refused);
    rs_result_clear(&tables);
    end(&f);
}

static void test_arguments(void **state)
{
    (void)state;
    fixture f;
    begin(&f);
    /* each as the column of events has it, by look-up and by walking */
    gives(&f,
          "SELECT count(*) > 0, sum(a.value <> e.stream) FROM arguments a JOIN events e USING (event) "
          "WHERE a.key = 'stream'",
          "count(*) > 0,sum(a.value <> e.stream)\n1,0\n");
    gives(&f,
          "SELECT (SELECT count(*) FROM arguments WHERE key = 'Input Dims') - "
          "(SELECT count(input_dims) FROM events) AS difference",
          "difference\n0\n");
    gives(
        &f,
        "SELECT (SELECT count(*) FROM arguments) - (SELECT sum((SELECT count(*) FROM arguments a WHERE a.event = "
        "e.event)) FROM events e) AS difference",
        "difference\n0\n");
    gives(&f, "SELECT count(*) FROM arguments WHERE key = 'no such'", "count(*)\n0\n");
    gives(&f, "SELECT count(*) FROM arguments WHERE event = -1 OR event = 9999999 OR rank = 7",
          "count(*)\n0\n");
    end(&f);
}

/* Arguments that rankscope has no column for, of a rank by itself and beside those it has. */
static void test_other_arguments(void **state)
{
    (void)state;
    static const char trace[] =
        "{\"traceEvents\": [{\"ph\":\"X\",\"ts\":1,\"dur\":5,\"name\":\"a\",\"cat\":\"kernel\",\"pid\":0,\"tid\":7,"
        "\"args\":{\"stream\":7,\"my arg\":5,\"warps\":1.5}},"
        "{\"ph\":\"X\",\"ts\":9,\"dur\":5,\"name\":\"b\",\"cat\":\"cpu_op\",\"pid\":1,\"tid\":1,"
        "\"args\":{\"my arg\":\"text\",\"nothing\":null,\"list\":[1,{\"x\":2}]}}]}";
    const rs_job_settings settings = {.size = sizeof(rs_job_settings)};
    const rs_sql_settings sql = {.size = sizeof sql};
    fixture f = {0};
    assert_int_equal(rs_job_open_bytes(trace, sizeof trace - 1, "trace", &settings, &f.job, NULL), RS_OK);
    assert_int_equal(rs_sql_open(f.job, &sql, &f.session, NULL), RS_OK);
    gives(&f, "SELECT name FROM events WHERE event = 1", "name\nb\n"); /* without them at first */
    gives(
        &f, "SELECT event, key, value, typeof(value) AS type FROM arguments ORDER BY 1, 2",
        "event,key,value,type\n0,my arg,5,integer\n0,stream,7,integer\n0,warps,1.5,real\n1,list,\"[1,{\"\"x\"\":2}]\","
        "text\n1,my arg,text,text\n1,nothing,,null\n");
    gives(&f, "SELECT e.name, a.value FROM events e JOIN arguments a USING (event) WHERE a.key = 'my arg'",
          "name,value\na,5\nb,text\n");
    gives(&f, "SELECT count(*) AS n FROM arguments WHERE key = 'my arg' OR event = 0 OR key = 'list'",
          "n\n5\n");
    gives(&f, "SELECT count(*) AS n FROM arguments WHERE event = 1 AND key = 'warps'", "n\n0\n");
    end(&f);
    assert_int_equal(rs_job_open_bytes(trace, sizeof trace - 1, "trace", &settings, &f.job, NULL), RS_OK);
    assert_int_equal(rs_sql_open(f.job, &sql, &f.session, NULL), RS_OK);
    gives(&f, "SELECT count(*) AS n FROM events, arguments", "n\n12\n"); /* and with them at once */
    end(&f);
}

/* One row under two sets of options is two rows; the column tells which. */
static void test_options_are_a_column(void **state)
{
    (void)state;
    fixture f;
    begin(&f);
    gives(
        &f,
        "SELECT options, count(*) AS n FROM kernels WHERE options IN ('--top 1', '--top 2') GROUP BY 1 ORDER BY 1",
        "options,n\n--top 1,4\n--top 2,6\n");
    gives(&f, "SELECT DISTINCT options AS o FROM kernels_kinds('--top 1')", "o\n--top 1\n");
    gives(&f, "SELECT DISTINCT condition AS c FROM events('cat=kernel')", "c\ncat=kernel\n");
    gives(&f, "SELECT count(e.event) > 0 AS n FROM (SELECT 1) LEFT JOIN events('cat=kernel') e", "n\n1\n");
    gives(&f, "SELECT count(e.event) AS n FROM (SELECT 1) LEFT JOIN events('name=none') e", "n\n0\n");
    end(&f);
}

/* ---- what is picked ----------------------------------------------------------------------------------- */

/* The same rows with an index, whether it is made by then or not, as without: a unary plus keeps a condition from
 * the table. */
static void test_indexes(void **state)
{
    (void)state;
    static const char *const conditions[][2] = {
        {"e.name = 'aten::mm'", "+e.name = 'aten::mm'"},
        {"e.name = 'no such name'", "+e.name = 'no such name'"},
        {"e.name IN ('aten::mm', 'cudaLaunchKernel', NULL)",
         "+e.name IN ('aten::mm', 'cudaLaunchKernel', NULL)"},
        {"e.name = 'ATEN::MM' COLLATE NOCASE", "+e.name = 'ATEN::MM' COLLATE NOCASE"},
        {"e.category = 'kernel'", "+e.category = 'kernel'"},
        {"e.category = ''", "+e.category = ''"},
        {"e.stream = 7", "+e.stream = 7"},
        {"e.stream = '7'", "CAST(e.stream AS INTEGER) = 7"},
        {"e.stream = 7.0", "+e.stream = 7.0"},
        {"e.stream = 7.5", "+e.stream = 7.5"},
        {"e.stream = NULL", "+e.stream = NULL"},
        {"e.stream = 1e308 OR e.correlation = -1e308 OR e.position = 1e308", "+e.stream = 1e308"},
        {"e.step = 11", "+e.step = 11"},
        {"e.step = 11 AND e.rank = 1", "+e.step = 11 AND +e.rank = 1"},
        {"e.rank > 0", "+e.rank > 0"},
        {"e.rank < 1 AND e.position >= 700", "+e.rank < 1 AND +e.position >= 700"},
        {"e.position BETWEEN 10 AND 20", "+e.position BETWEEN 10 AND 20"},
        {"e.position = 10 AND e.rank = 1", "+e.position = 10 AND +e.rank = 1"},
        {"e.event = 1000", "+e.event = 1000"},
        {"e.event BETWEEN 770 AND 780", "+e.event BETWEEN 770 AND 780"},
        {"e.event = -1", "+e.event = -1"},
        {"e.event > 9223372036854775806", "+e.event > 9223372036854775806"},
        {"e.ts_us BETWEEN 100 AND 5000", "+e.ts_us BETWEEN 100 AND 5000"},
        {"e.ts_us > 5000.25 AND e.name = 'aten::mm'", "+e.ts_us > 5000.25 AND +e.name = 'aten::mm'"},
        {"e.ts_us <= -100", "+e.ts_us <= -100"},
        {"e.ts_us >= 1e300", "+e.ts_us >= 1e300"},
        {"e.ts_us > 'text'", "+e.ts_us > 'text'"},
        {"e.ts_us < 'text'", "typeof(e.ts_us) = 'real'"},
        {"e.ts_ns >= 100000 AND e.ts_ns < 5000000", "+e.ts_ns >= 100000 AND +e.ts_ns < 5000000"},
        {"e.ts_ns = (SELECT max(ts_ns) FROM events)", "+e.ts_ns = (SELECT max(ts_ns) FROM events)"},
        {"e.correlation IN (SELECT correlation FROM events WHERE stream = 7)",
         "+e.correlation IN (SELECT correlation FROM events WHERE stream = 7)"},
        {"e.external_id = 5", "+e.external_id = 5"},
        {"e.external_id < 50 AND e.category = 'cpu_op' AND e.step = 11",
         "+e.external_id < 50 AND +e.category = 'cpu_op' AND +e.step = 11"},
    };
    fixture f;
    begin(&f);
    for (int round = 0; round < 3; round++)
        for (size_t i = 0; i < sizeof conditions / sizeof *conditions; i++) {
            char query[300];
            snprintf(query, sizeof query, "SELECT event FROM events e WHERE %s ORDER BY event",
                     conditions[i][1]);
            char *expected = answer(&f, query);
            snprintf(query, sizeof query, "SELECT event FROM events e WHERE %s ORDER BY event",
                     conditions[i][0]);
            gives(&f, query, expected);
            free(expected);
        }
    end(&f);
}

/* Joins look events and rows of tables up. */
static void test_joins(void **state)
{
    (void)state;
    fixture f;
    begin(&f);
    char *expected = answer(&f, "SELECT count(*) AS n FROM events c, events k WHERE +c.rank = +k.rank AND "
                                "+c.correlation = +k.correlation AND +c.category = 'cuda_runtime' AND "
                                "+k.category = 'kernel'");
    assert_string_not_equal(expected, "n\n0\n");
    gives(&f,
          "SELECT count(*) AS n FROM events c JOIN events k USING (rank, correlation) WHERE c.category = "
          "'cuda_runtime' AND k.category = 'kernel'",
          expected);
    free(expected);
    /* a column of text, one of whole numbers, one of time */
    gives(&f,
          "SELECT count(*) = (SELECT count(*) FROM launchers) AS same FROM launchers a JOIN launchers b ON "
          "a.rank = b.rank AND a.uid = b.uid",
          "same\n1\n");
    expected =
        answer(&f, "SELECT count(*) AS n FROM ops o, ops_categories c, launchers l WHERE +o.name = +l.name");
    gives(&f, "SELECT count(*) AS n FROM ops o, ops_categories c, launchers l WHERE o.name = l.name",
          expected);
    free(expected);
    expected =
        answer(&f, "SELECT count(*) AS n FROM launchers a, launchers b WHERE +a.start_us = +b.start_us");
    gives(&f, "SELECT count(*) AS n FROM launchers a, launchers b WHERE a.start_us = b.start_us", expected);
    free(expected);
    /* options out of another table */
    gives(
        &f,
        "WITH n(top) AS (VALUES (1), (2)) SELECT top, count(*) FROM n, kernels('--top ' || top) WHERE rank = 0 AND "
        "name <> 'others' GROUP BY top",
        "top,count(*)\n1,1\n2,2\n");
    end(&f);
}

/* The filter language, as a filter and as functions, picks what `events --where` picks. */
static void test_conditions(void **state)
{
    (void)state;
    static const struct {
        const char *where, *sql;
    } cases[] = {
        {"under(\"ProfilerStep#11\")", "under(event, '\"ProfilerStep#11\"')"},
        {"not after(\"ProfilerStep#11\") and cat=kernel",
         "NOT after(event, '\"ProfilerStep#11\"') AND category = 'kernel'"},
        {"before(cat=kernel)", "before(event, 'cat=kernel')"},
        {"name =~ \"^aten::(mm|add)\"", "name REGEXP '^aten::(mm|add)'"},
        {"dur >= 2ms or stream in (7, 20-23)", "dur_us >= 2000 OR stream = 7 OR stream BETWEEN 20 AND 23"},
        {"dur >= 2ms or stream in (7, 20-23)", "holds(event, 'dur >= 2ms or stream in (7, 20-23)')"},
        {"ts < 1ms", "holds(event, 'ts < 1ms')"},
    };
    fixture f;
    begin(&f);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t n;
        char query[400];
        rs_options *options;
        rs_result result;
        const rs_analysis *events = rs_analysis_find("events");
        const rs_option_spec *specs = rs_analysis_options(events, &n);
        assert_int_equal(rs_options_create(specs, n, &options, NULL), RS_OK);
        assert_int_equal(rs_options_set(options, "where", cases[i].where, NULL), RS_OK);
        assert_int_equal(rs_job_run(f.job, events, options, RS_COMPAT_NONE, &result, NULL), RS_OK);
        char *expected = as_csv(result.tables[0]);
        assert_true(rs_table_n_rows(result.tables[0]) > 0);
        snprintf(query, sizeof query, "SELECT " EVENT_COLUMNS " FROM events WHERE %s", cases[i].sql);
        gives(&f, query, expected);
        snprintf(query, sizeof query, "SELECT " EVENT_COLUMNS " FROM events('%s')", cases[i].where);
        gives(&f, query, expected);
        free(expected);
        rs_result_clear(&result);
        rs_options_free(options);
    }
    end(&f);
    /* of what is selected */
    begin_with(&f, (rs_job_settings){.size = sizeof(rs_job_settings), .steps = "11", .ranks = "1"},
               (rs_sql_settings){0});
    gives(
        &f,
        "SELECT count(*) > 0, sum(holds(event, 'cat=kernel') <> (category = 'kernel')), min(step), max(step) FROM "
        "events",
        "count(*) > 0,\"sum(holds(event, 'cat=kernel') <> (category = 'kernel'))\",min(step),max(step)\n1,0,11,11\n");
    end(&f);
    begin(&f);
    gives(&f, "SELECT under(NULL, 'x'), under(1, NULL), under(-1, 'x'), 'a' REGEXP NULL",
          "\"under(NULL, 'x')\",\"under(1, NULL)\",\"under(-1, 'x')\",'a' REGEXP NULL\n,,,\n");
    fails(&f, "SELECT under(event, 'dur >') FROM events", RS_ERR_USAGE, "the condition on events");
    fails(&f, "SELECT * FROM events('naem = 5')", RS_ERR_USAGE, "did you mean name");
    fails(&f, "SELECT 'a' REGEXP '['", RS_ERR_USAGE, "is no regular expression");
    end(&f);
}

/* ---- what is refused ---------------------------------------------------------------------------------- */

static void test_only_reads(void **state)
{
    (void)state;
    static const char *const statements[] = {"CREATE TABLE t(a)",
                                             "CREATE TEMP TABLE t(a)",
                                             "CREATE VIEW v AS SELECT 1",
                                             "CREATE TEMP VIEW v AS SELECT 1",
                                             "CREATE TRIGGER t AFTER INSERT ON events BEGIN SELECT 1; END",
                                             "CREATE VIRTUAL TABLE t USING events",
                                             "INSERT INTO events(name) VALUES ('x')",
                                             "DELETE FROM events",
                                             "UPDATE kernels SET name = ''",
                                             "DROP TABLE events",
                                             "ATTACH 'x.db' AS x",
                                             "DETACH main",
                                             "VACUUM",
                                             "VACUUM INTO 'x.db'",
                                             "REINDEX",
                                             "ANALYZE",
                                             "BEGIN",
                                             "COMMIT",
                                             "SAVEPOINT s",
                                             "ROLLBACK",
                                             "PRAGMA writable_schema = 1",
                                             "PRAGMA temp_store_directory = '/tmp'",
                                             "PRAGMA hard_heap_limit = 0",
                                             "SELECT load_extension('x')",
                                             "ALTER TABLE events ADD COLUMN x",
                                             "INSERT INTO sqlite_master VALUES (1, 2, 3, 4, 5)",
                                             "DELETE FROM sqlite_master",
                                             "SELECT * FROM pragma_journal_mode"};
    fixture f;
    begin(&f);
    for (size_t i = 0; i < sizeof statements / sizeof *statements; i++) {
        rs_result result;
        rs_error err = RS_ERROR_INIT;
        rs_status status = rs_sql_run(f.session, statements[i], &result, &err);
        if (status != RS_ERR_USAGE ||
            (!strstr(err.causes[0].message, "only read") && !strstr(err.causes[0].message, "refused") &&
             !strstr(err.causes[0].message, "extensions")))
            fail_msg("%s: status %d, %s", statements[i], (int)status, err.causes[0].message);
        assert_int_equal(result.n_tables, 0);
        rs_result_clear(&result);
    }
    gives(&f, "SELECT count(*) > 10 AS many FROM pragma_table_xinfo('events')", "many\n1\n");
    end(&f);
}

static void test_messages(void **state)
{
    (void)state;
    fixture f;
    begin(&f);
    fails(&f, "SELECT nmae FROM events", RS_ERR_USAGE,
          "character 8: there is no column nmae; did you mean name?");
    fails(&f, "SELECT e.dur\nFROM events e", RS_ERR_USAGE,
          "line 1, character 8: there is no column e.dur; did you mean dur_us");
    fails(&f, "SELECT 1;\n\nSELECT rank FROM events WHERE \xc3\xa9 = 1", RS_ERR_USAGE,
          "line 3, character 31: there is no column");
    fails(&f, "SELECT * FROM kernel", RS_ERR_USAGE,
          "character 15: there is no table kernel; did you mean kernels?");
    fails(&f, "SELECT * FROM qqqqqq", RS_ERR_USAGE, "SELECT name FROM tables lists them");
    fails(&f, "SELECT category, sum(duration) FROM events", RS_ERR_USAGE, "there is no column duration;");
    /* no query reaches a file but the traces */
    fails(&f, "SELECT * FROM roofline('--device /etc/passwd')", RS_ERR_USAGE, "--device names a file");
    fails(&f, "SELECT * FROM ops('--perf --device=./x')", RS_ERR_USAGE, "give it to the command ops");
    fails(&f, "SELECT * FROM mfu('device x.json')", RS_ERR_USAGE, "--device names a file");
    fails(&f, "SELECT * FROM critical_path('--overlay x')", RS_ERR_USAGE, "--overlay names a file");
    fails(&f, "SELECT * FROM clocks('--hosts hosts')", RS_ERR_USAGE, "--hosts names a file");
    fails(&f, "SELECT * FROM collectives('--flight dumps')", RS_ERR_USAGE, "--flight names a file");
    fails(&f, "SELECT * FROM roofline('--device H2')", RS_ERR_USAGE, "is no device of the table");
    fails(&f, "SELECT * FROM diff", RS_ERR_USAGE, "diff compares jobs");
    fails(&f, "SELECT * FROM kernels('--topp 3')", RS_ERR_USAGE,
          "kernels: there is no option --topp; did you mean --top?");
    fails(&f, "SELECT * FROM kernels('--top')", RS_ERR_USAGE, "--top needs a value");
    fails(&f, "SELECT * FROM ops('--host=1')", RS_ERR_USAGE, "--host takes no value");
    fails(&f, "SELECT * FROM kernels('--top x')", RS_ERR_USAGE, "--top");
    fails(&f, "SELECT * FROM ops('--by args')", RS_ERR_USAGE, "their answer is in ops_args");
    fails(&f, "SELECT * FROM kernels(1, 2)", RS_ERR_USAGE, "too many arguments");
    fails(&f, "SELECT foo(1)", RS_ERR_USAGE, "character 8: there is no function foo");
    fails(&f, "SELECT FROM events", RS_ERR_USAGE, "character 8: near \"FROM\": syntax error");
    fails(&f, "SELECT (1", RS_ERR_USAGE, "incomplete input");
    fails(&f, "", RS_ERR_USAGE, "there is no statement");
    fails(&f, " -- nothing\n ; ", RS_ERR_USAGE, "there is no statement");
    fails(&f, "SELECT \"text\" FROM events", RS_ERR_USAGE, "there is no column text");
    /* and the session still works */
    gives(&f, "SELECT count(*) FROM events WHERE rank = 0", "count(*)\n779\n");
    end(&f);
}

static const char endless[] = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) ";

static void test_limits(void **state)
{
    (void)state;
    fixture f;
    char query[300];
    begin_with(&f, (rs_job_settings){.size = sizeof(rs_job_settings)},
               (rs_sql_settings){.max_memory = 8 << 20, .timeout = 0.05});
    snprintf(query, sizeof query, "%sSELECT count(*) FROM c", endless);
    fails(&f, query, RS_ERR_LIMIT, "took longer than");
    end(&f);
    /* what a load takes does not count, and what SQLite does behind it does */
    begin_with(&f, (rs_job_settings){.size = sizeof(rs_job_settings)},
               (rs_sql_settings){.query_timeout = 0.05});
    fails(&f, query, RS_ERR_LIMIT, "not counting reading traces and analyses");
    snprintf(query, sizeof query, "%sSELECT count(*) FROM c, (SELECT count(*) FROM events)", endless);
    fails(&f, query, RS_ERR_LIMIT, "not counting reading traces and analyses");
    gives(&f, "SELECT 1", "1\n1\n");
    end(&f);
    begin_with(&f, (rs_job_settings){.size = sizeof(rs_job_settings)},
               (rs_sql_settings){.max_memory = 8 << 20});
    snprintf(query, sizeof query, "%sSELECT x FROM c", endless);
    fails(&f, query, RS_ERR_LIMIT, "more than 8 MiB");
    snprintf(query, sizeof query, "%sSELECT hex(x) FROM c ORDER BY 1", endless);
    fails(&f, query, RS_ERR_LIMIT, "more than 8 MiB");
    fails(&f, "SELECT zeroblob(1000000000)", RS_ERR_LIMIT, "longer than");
    fails(&f, "SELECT replace(hex(zeroblob(30000000)), '0', '0123456789')", RS_ERR_LIMIT, "longer than");
    f.calls = 0;
    f.allowed = 5;
    snprintf(query, sizeof query, "%sSELECT count(*) FROM c", endless);
    fails(&f, query, RS_ERR_CANCELLED, "stopped");
    f.allowed = 0;
    gives(&f, "SELECT 1", "1\n1\n");
    end(&f);
}

/* ---- answers ------------------------------------------------------------------------------------------ */

/* Functions that take long on large arguments: the largest that they may have, and one more. */
static void test_bounded_functions(void **state)
{
    (void)state;
    static const struct {
        const char *call, *most, *more, *length, *message;
    } cases[] = {
        {"instr(printf('%.*c', 2000, 'a'), printf('%.*c', %s, 'a'))", "1000", "1001", "1",
         "instr looks for at most 1000 bytes"},
        {"replace(printf('%.*c', 2000, 'a'), printf('%.*c', %s, 'a'), 'bc')", "1000", "1001", "4",
         "replace replaces at most 1000 bytes"},
        {"trim(printf('%.*c', 32768, 'a'), printf('%.*c', %s, 'b'))", "1024", "1025", "32768",
         "trim trims fewer characters"},
        {"ltrim(printf('%.*c', 32768, 'a'), printf('%.*c', %s, 'b'))", "1024", "1025", "32768",
         "ltrim trims fewer characters"},
        {"rtrim(printf('%.*c', 32768, 'a'), printf('%.*c', %s, 'b'))", "1024", "1025", "32768",
         "rtrim trims fewer characters"},
        {"printf('%*d', %s, 1)", "100000", "100001", "100000", "printf has a width of 100000 at most"},
        {"printf('%*d', %s, 1)", "-100000", "-100001", "100000", "printf has a width of 100000 at most"},
        {"format('%.*c', %s, 'a')", "100000", "100001", "100000", "format has a width of 100000 at most"},
        {"format('%%sd', 1)", "99999", "100000", "99999", "format has a width of 100000 at most"},
    };
    fixture f;
    begin(&f);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int above = 0; above < 2; above++) {
            const char *number = strstr(cases[i].call, "%s");
            char query[200], wanted[40];
            snprintf(query, sizeof query, "SELECT length(%.*s%s%s) AS n", (int)(number - cases[i].call),
                     cases[i].call, above ? cases[i].more : cases[i].most, number + 2);
            snprintf(wanted, sizeof wanted, "n\n%s\n", cases[i].length);
            if (above)
                fails(&f, query, RS_ERR_USAGE, cases[i].message);
            else
                gives(&f, query, wanted);
        }
    end(&f);
}

static void test_types(void **state)
{
    (void)state;
    fixture f;
    begin(&f);
    gives(&f, "SELECT 1 AS a, 2.5 AS a, 'x' AS a, NULL AS b", "a,a_2,a_3,b\n1,2.5,x,\n");
    gives(&f, "SELECT 1 AS a UNION ALL SELECT 2.5 UNION ALL SELECT NULL", "a\n1\n2.5\n\"\"\n");
    gives(&f, "SELECT 1 AS a UNION ALL SELECT 'x' UNION ALL SELECT 2.5", "a\n1\nx\n2.5\n");
    gives(&f, "SELECT x'00ff' AS a, '' AS b, 9223372036854775807 AS c, -9223372036854775808 AS d",
          "a,b,c,d\nx'00ff',,9223372036854775807,-9223372036854775808\n");
    rs_result result;
    assert_int_equal(
        rs_sql_run(f.session, "SELECT dur_us, rank, name FROM events WHERE 0; VALUES (1)", &result, NULL),
        RS_OK);
    assert_int_equal(result.n_tables, 2);
    const rs_table_spec *spec = rs_table_get_spec(result.tables[0]);
    assert_int_equal(rs_table_n_rows(result.tables[0]), 0);
    assert_int_equal(spec->columns[0].type, RS_REAL);
    assert_int_equal(spec->columns[1].type, RS_INT);
    assert_int_equal(spec->columns[2].type, RS_TEXT);
    rs_result_clear(&result);
    assert_true(rs_sql_is_complete("SELECT 1;"));
    assert_false(rs_sql_is_complete("SELECT ';"));
    end(&f);
}

/* Problems of the input are told once for each call, by whichever table meets them. */
static void test_problems(void **state)
{
    (void)state;
    static const char cut[] =
        "{\"traceEvents\": [{\"ph\":\"X\",\"ts\":1,\"dur\":5,\"name\":\"a\",\"cat\":\"kernel\","
        "\"pid\":0,\"tid\":7,\"args\":{\"stream\":7}}, {\"ph\":\"X\",\"ts\":2";
    const rs_job_settings settings = {.size = sizeof(rs_job_settings)};
    const rs_sql_settings sql = {.size = sizeof sql};
    rs_job *job;
    rs_sql_session *session;
    rs_result result;
    assert_int_equal(rs_job_open_bytes(cut, sizeof cut - 1, "cut", &settings, &job, NULL), RS_OK);
    assert_int_equal(rs_sql_open(job, &sql, &session, NULL), RS_OK);
    assert_int_equal(
        rs_sql_run(session, "SELECT name FROM events; SELECT * FROM breakdown, ranks", &result, NULL), RS_OK);
    assert_int_equal(rs_table_n_rows(result.tables[0]), 1);
    assert_int_equal(rs_problems_worst(&result.problems), RS_LOSS);
    for (size_t i = 0; i < result.problems.n; i++)
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(result.problems.items[i].kind, result.problems.items[k].kind);
    rs_result_clear(&result);
    rs_sql_close(session);
    rs_job_close(job);
    /* what is no trace is an error of the statement that needs it */
    assert_int_equal(rs_job_open_bytes("nothing", 7, "no-trace", &settings, &job, NULL), RS_OK);
    assert_int_equal(rs_sql_open(job, &sql, &session, NULL), RS_OK);
    assert_int_equal(rs_sql_run(session, "SELECT 1", &result, NULL), RS_OK);
    rs_result_clear(&result);
    assert_int_equal(rs_sql_run(session, "SELECT * FROM events", &result, NULL), RS_ERR_FORMAT);
    rs_result_clear(&result);
    assert_int_equal(rs_sql_run(session, "SELECT * FROM breakdown", &result, NULL), RS_ERR_FORMAT);
    rs_result_clear(&result);
    rs_sql_close(session);
    rs_job_close(job);
}

/* Each allocation of ours fails in turn: an error, or the right answer. */
static void test_allocations(void **state)
{
    (void)state;
    static const char *const queries[] = {
        ("SELECT e.event, k.name, regexp('a', e.name) FROM events('under(\"ProfilerStep#11\")') e JOIN kernels k "
         "ON k.name = e.name WHERE e.ts_us > 0 AND e.stream = 7"),
        "SELECT * FROM arguments WHERE event = 5",
        "SELECT count(*) FROM threads JOIN columns ON columns.name = threads.tid"};
    for (size_t i = 0; i < sizeof queries / sizeof *queries; i++) {
        fixture f;
        begin(&f);
        char *expected = answer(&f, queries[i]);
        end(&f);
        size_t failed = 0;
        bool whole = false;
        for (uint64_t k = 1, step = 1; !whole; k += step) {
            const char *paths[] = {small};
            const rs_job_settings settings = {.size = sizeof(rs_job_settings), .jobs = 1, .ranks = "0-1"};
            const rs_sql_settings sql = {.size = sizeof sql};
            rs_job *job = NULL;
            rs_sql_session *session = NULL;
            rs_result result = {0};
            rs_error err = RS_ERROR_INIT;
            step = 1 + k / (RS_TEST_SLOW ? 4 : 12);
            assert_int_equal(rs_job_open(paths, 1, &settings, &job, NULL), RS_OK);
            rs_test_fail_allocation(0);
            rs_test_fail_allocation(k);
            rs_status status = rs_sql_open(job, &sql, &session, &err);
            if (status == RS_OK) status = rs_sql_run(session, queries[i], &result, &err);
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
            rs_sql_close(session);
            rs_job_close(job);
        }
        assert_true(failed > 20);
        free(expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_events_are_those_of_the_command),
        cmocka_unit_test(test_tables_are_those_of_commands),
        cmocka_unit_test(test_every_table),
        cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_other_arguments),
        cmocka_unit_test(test_options_are_a_column),
        cmocka_unit_test(test_indexes),
        cmocka_unit_test(test_joins),
        cmocka_unit_test(test_conditions),
        cmocka_unit_test(test_only_reads),
        cmocka_unit_test(test_messages),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_bounded_functions),
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_problems),
        cmocka_unit_test(test_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
