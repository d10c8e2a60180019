/* Arguments that are no column: kept when asked for, whoever reads, and as columns of frame --args. */
#include "questions.h"
#include "peers.h"

#define MORE (RS_ALL_COLUMNS | RS_OTHER_ARGUMENTS)

/* The cell of a name in a row, or NULL in *kind's place: RS_N_OTHER_KINDS. */
static rs_other_kind cell(const rs_events *e, uint32_t row, const char *name, int64_t *value)
{
    const rs_others *o = &e->others;
    rs_other_kind found = RS_N_OTHER_KINDS;
    for (size_t i = rs_other_first(o, row); i < o->n && o->rows[i] == row; i++) {
        const rs_string *s = &e->strings.items[o->names[o->name[i]].text];
        if (s->length != strlen(name) || memcmp(s->text, name, s->length) != 0) continue;
        if (found != RS_N_OTHER_KINDS) fail_msg("row %u has %s twice", row, name);
        found = (rs_other_kind)o->kind[i];
        *value = o->value[i];
    }
    return found;
}

static void expect_int(const rs_events *e, uint32_t row, const char *name, int64_t expected)
{
    int64_t v = 0;
    assert_int_equal(cell(e, row, name, &v), RS_OTHER_INT);
    assert_true(v == expected);
}

static void expect_real(const rs_events *e, uint32_t row, const char *name, double expected)
{
    int64_t v = 0;
    double d;
    assert_int_equal(cell(e, row, name, &v), RS_OTHER_REAL);
    memcpy(&d, &v, sizeof d);
    assert_true(d == expected);
}

static void expect_text(const rs_events *e, uint32_t row, const char *name, const char *expected)
{
    int64_t v = 0;
    assert_int_equal(cell(e, row, name, &v), RS_OTHER_TEXT);
    assert_string_equal(e->strings.items[v].text, expected);
}

static void expect_none(const rs_events *e, uint32_t row, const char *name)
{
    int64_t v;
    rs_other_kind kind = cell(e, row, name, &v);
    assert_true(kind == RS_N_OTHER_KINDS || kind == RS_OTHER_NONE);
}

static rs_events *load_more(const char *s, size_t n)
{
    const rs_load_settings settings = {.columns = MORE};
    rs_events *e;
    assert_int_equal(load_with(s, n, &settings, &e, NULL), RS_OK);
    return e;
}

static size_t problems_of(const rs_events *e, const char *kind)
{
    size_t n = 0;
    for (size_t i = 0; i < e->problems.n; i++)
        if (strcmp(e->problems.items[i].kind, kind) == 0) n += e->problems.items[i].count;
    return n;
}

/* ---- what is kept ------------------------------------------------------------------------------------- */

static const char spellings[] =
    "[{\"ph\":\"X\",\"args\":{\"stream\":7,\"whole\":-3,\"real\":2.5,\"exponent\":1e3,\"word\":"
    "\"a\\u0062\\n\","
    "\"digits\":\"12\",\"list\":[1, [\"x\\n\"]],\"object\":{\"k\": {\"k\":[]}},\"yes\":true,\"no\":false,"
    "\"null\":null,\"large\":9223372036854775808,\"huge\":1e999,\"gr\\u0069d\":5,\"\":1}},"
    "{\"ph\":\"X\",\"args\":{\"a\":1,\"b\":\"x\",\"a\":\"two\",\"b\":null}},"
    "{\"ph\":\"X\",\"args\":{\"a\":1},\"args\":{\"b\":2}},"
    "{\"ph\":\"X\",\"args\":{\"a\":1},\"args\":null},"
    "{\"ph\":\"X\",\"other\":{\"a\":1},\"args\":[{\"a\":1}],\"a\":3},"
    "{\"ph\":\"X\",\"args\":{\"nan\":NaN,\"inf\":-Infinity,\"bad\":\"\xff\",\"escape\":\"\\x\"}}]";

TEST(test_spellings)
{
    rs_events *e = load_more(spellings, sizeof spellings - 1);
    int64_t v;
    assert_int_equal(e->n, 6);
    assert_true(rs_events_int(e, RS_COL_STREAM, 0, &v) && v == 7);
    expect_none(e, 0, "stream");
    expect_int(e, 0, "whole", -3);
    expect_real(e, 0, "real", 2.5);
    expect_real(e, 0, "exponent", 1000);
    expect_text(e, 0, "word", "ab\n");
    expect_text(e, 0, "digits", "12");
    expect_text(e, 0, "list", "[1, [\"x\\n\"]]");
    expect_text(e, 0, "object", "{\"k\": {\"k\":[]}}");
    expect_text(e, 0, "yes", "true");
    expect_text(e, 0, "no", "false");
    expect_none(e, 0, "null");
    expect_text(e, 0, "large", "9223372036854775808");
    expect_text(e, 0, "huge", "1e999");
    expect_int(e, 0, "grid", 5); /* with an escape it is not told from others */
    expect_int(e, 0, "", 1);
    expect_text(e, 1, "a", "two"); /* the last of each key */
    expect_none(e, 1, "b");
    expect_none(e, 2, "a");
    expect_int(e, 2, "b", 2);
    for (uint32_t row = 3; row < 5; row++) expect_none(e, row, "a");
    expect_none(e, 5, "nan");
    expect_none(e, 5, "inf");
    expect_text(e, 5, "bad", "\xef\xbf\xbd");
    expect_text(e, 5, "escape", "\\x");
    assert_int_equal(problems_of(e, "number_range"), 2);
    assert_int_equal(problems_of(e, "invalid_utf8"), 1);
    assert_int_equal(problems_of(e, "bad_escape"), 1);
    /* they are the business of those alone who ask for such arguments */
    for (size_t i = 0; i < e->problems.n; i++)
        assert_true(e->problems.items[i].columns == RS_OTHER_ARGUMENTS);
    rs_events_free(e);
    e = load(spellings, sizeof spellings - 1);
    assert_int_equal(e->others.n + e->others.n_names + e->problems.n, 0);
    rs_events_free(e);
}

TEST(test_documents)
{
    static const char s[] = "{\"traceEvents\":[{\"ph\":\"X\",\"args\":{\"a\":1}}]}\n"
                            "{\"traceEvents\":[{\"ph\":\"X\",\"args\":{\"b\":2}}]}\n"
                            "{\"ph\":\"X\",\"args\":{\"a\":3}}\n";
    rs_events *e = load_more(s, sizeof s - 1);
    assert_int_equal(e->n, 3);
    expect_int(e, 0, "a", 1);
    expect_none(e, 0, "b");
    expect_int(e, 1, "b", 2);
    expect_int(e, 2, "a", 3);
    rs_events_free(e);
}

/* An event that is lost leaves neither values nor names. */
TEST(test_damage)
{
    static const char s[] = "[{\"ph\":\"X\",\"args\":{\"a\":1}},\n"
                            "{\"ph\":\"X\",\"args\":{\"a\":2,\"lost\":3,\"b\" 4}},\n"
                            "{\"ph\":\"X\",\"args\":{\"b\":5}},\n"
                            "{\"ph\":\"X\",\"args\":{\"b\":6,\"cut\":";
    rs_events *e = load_more(s, sizeof s - 1);
    assert_int_equal(e->others.n, 2);
    assert_int_equal(e->others.n_names, 2);
    expect_int(e, 0, "a", 1);
    expect_int(e, 2, "b", 5);
    rs_events_free(e);
}

TEST(test_too_many)
{
    text t = {0};
    text_puts(&t, "[");
    for (int i = 0; i < RS_MAX_OTHERS + 10; i++)
        text_printf(&t, "%s{\"ph\":\"X\",\"args\":{\"n%d\":%d,\"same\":1}}", i ? "," : "", i, i);
    text_puts(&t, "]");
    rs_events *e = load_more(t.s, t.n);
    assert_int_equal(e->others.n_names, RS_MAX_OTHERS);
    assert_int_equal(problems_of(e, "too_many_arguments"), 11);
    expect_int(e, RS_MAX_OTHERS - 2, "n1022", 1022);
    expect_none(e, RS_MAX_OTHERS - 1, "n1023");
    expect_int(e, RS_MAX_OTHERS + 9, "same", 1);
    rs_events_free(e);
    text_clear(&t);
}

TEST(test_memory_limit)
{
    text t = {0};
    text_puts(&t, "[");
    for (int i = 0; i < 20000; i++) text_printf(&t, "%s{\"ph\":\"X\",\"args\":{\"n\":%d}}", i ? "," : "", i);
    text_puts(&t, "]");
    for (int more = 0; more < 2; more++) {
        const rs_load_settings settings = {.columns = more ? MORE : 0, .max_memory = 800000};
        rs_events *e;
        assert_int_equal(load_with(t.s, t.n, &settings, &e, NULL), more ? RS_ERR_NOMEM : RS_OK);
        rs_events_free(e);
    }
    text_clear(&t);
}

/* ---- whoever reads ------------------------------------------------------------------------------------ */

static const rs_load_settings ways[] = {
    {.columns = MORE, .simd = -1},
    {.columns = MORE, .simd = 1},
    {.columns = MORE, .simd = 2},
    {.columns = MORE, .simd = 3},
    {.columns = MORE, .simd = 4, .threads = 2},
    {.columns = MORE, .threads = 3},
    {.columns = MORE, .threads = 8},
    {.columns = MORE, .simd = -1, .threads = 2},
};

static void check_ways(const text *t)
{
    rs_events *first = NULL;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        rs_events *e;
        assert_int_equal(load_with(t->s, t->n, &ways[i], &e, NULL), RS_OK);
        if (first && !same_events(first, e)) fail_msg("way %zu differs", i);
        if (first) {
            rs_events_free(e);
        } else {
            first = e;
        }
    }
    assert_true(first->others.n > 0);
    rs_events_free(first);
}

/* Events of one layout each, some with further arguments, with as many names as asked for. */
static void add_events(text *t, size_t n, size_t n_names, rng *r)
{
    for (size_t i = 0; i < n; i++) {
        text_printf(t,
                    "%s{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k%zu\",\"pid\":1,\"tid\":2,\"ts\":%zu,"
                    "\"dur\":1,\"args\":{\"stream\":%zu",
                    i ? ",\n" : "", i % 7, i, i % 5);
        if (i % 3) text_printf(t, ",\"always\":\"%zu\"", i % 11);
        if (i % 4 == 0) text_printf(t, ",\"n%zu\":%zu", rng_below(r, n_names), i);
        if (i % 1000 == 999) text_puts(t, ",\"bad\":\"\xff\"");
        text_puts(t, "}}");
    }
}

TEST(test_ways)
{
    static const size_t names[] = {1, 20, 900, 1030, 5000};
    rng r = {.state = 13};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        text t = {0};
        text_puts(&t, "{\"traceEvents\":[");
        add_events(&t, (size_t)ROUNDS(40000), names[i], &r);
        text_puts(&t, "]}");
        check_ways(&t);
        for (int k = 0; k < ROUNDS(3); k++) {
            text_mutate(&t, &r);
            check_ways(&t);
        }
        text_clear(&t);
    }
}

/* ---- frame --args ------------------------------------------------------------------------------------- */

static rs_status ask(const folder *f, unsigned jobs, const char *args, rs_compat compat, rs_result *result,
                     rs_error *err)
{
    const char *paths[8];
    size_t n;
    for (size_t i = 0; i < f->n; i++) paths[i] = f->files[i];
    const rs_analysis *a = rs_analysis_find("frame");
    const rs_option_spec *specs = rs_analysis_options(a, &n);
    rs_options *options;
    rs_job *job;
    const rs_job_settings settings = {.size = sizeof(rs_job_settings), .jobs = jobs};
    assert_int_equal(rs_options_create(specs, n, &options, NULL), RS_OK);
    if (args) assert_int_equal(rs_options_set(options, "args", args, NULL), RS_OK);
    assert_int_equal(rs_job_open(paths, f->n, &settings, &job, NULL), RS_OK);
    rs_status status = rs_job_run(job, a, options, compat, result, err);
    rs_job_close(job);
    rs_options_free(options);
    return status;
}

#define EVENT(i, args)                                                                                       \
    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"op\",\"pid\":1,\"tid\":1,\"ts\":" #i ",\"dur\":1,"          \
    "\"args\":{" args "}}"

static folder two_ranks(void)
{
    folder f = make_folder();
    text a = {0}, b = {0};
    text_puts(
        &a,
        "{\"distributedInfo\":{\"rank\":0},\"traceEvents\":[" EVENT(
            1, "\"z\":1,\"mixed\":1,"
               "\"wide\":9007199254740993,"
               "\"rank\":4,\"args.rank\":"
               "\"own\"") "," EVENT(2, "\"z\":2,\"mixed\":\"w\",\"wide\":0.5,\"list\":[1,2],\"Input "
                                       "Dims\":[[3]],\"n\\u0000\":1") "," EVENT(3, "\"Sequence "
                                                                                   "number\":9,\"half\":1,"
                                                                                   "\"grid\":[1,2,3],"
                                                                                   "\"gr\\u0069d\":7") "]}");
    text_puts(&b, "{\"distributedInfo\":{\"rank\":1},\"traceEvents\":[" EVENT(
                      1, "\"half\":0.5,\"A\":null,\"b\":true") "," EVENT(2, "\"mixed\":2.5") "]}");
    put_file(&f, "r0.json", &a);
    put_file(&f, "r1.json", &b);
    return f;
}

static const char *text_cell(const rs_table *t, size_t row, size_t column)
{
    return rs_table_text(t, row, column, NULL);
}

TEST(test_frame)
{
    NEEDS_PEERS();
    folder f = two_ranks();
    static const struct {
        const char *name;
        rs_type type;
    } expected[] = {{"Sequence number", RS_INT},
                    {"args.args.rank", RS_TEXT},
                    {"args.rank", RS_INT},
                    {"b", RS_TEXT},
                    {"grid", RS_TEXT},
                    {"half", RS_REAL},
                    {"list", RS_TEXT},
                    {"mixed", RS_TEXT},
                    {"n ", RS_INT},
                    {"wide", RS_TEXT},
                    {"z", RS_INT}};
    enum {
        N = sizeof expected / sizeof *expected,
        SEQ = 0,
        OWN,
        RANK,
        B,
        GRID,
        HALF,
        LIST,
        MIXED,
        NUL,
        WIDE,
        Z
    };
    for (int mode = 0; mode < 2; mode++) {
        rs_result plain, result;
        rs_compat compat = mode ? RS_COMPAT_HTA : RS_COMPAT_NONE;
        assert_int_equal(ask(&f, 1, NULL, compat, &plain, NULL), RS_OK);
        assert_int_equal(ask(&f, 1, "all", compat, &result, NULL), RS_OK);
        const rs_table *t = result.tables[0];
        const rs_table_spec *spec = rs_table_get_spec(t), *before = rs_table_get_spec(plain.tables[0]);
        size_t at = before->n_columns;
        assert_int_equal(spec->n_columns, at + N);
        for (size_t i = 0; i < N; i++) {
            assert_string_equal(spec->columns[at + i].name, expected[i].name);
            assert_int_equal(spec->columns[at + i].type, expected[i].type);
        }
        assert_int_equal(rs_table_n_rows(t), 5);
        for (size_t row = 0; row < 5; row++)
            for (size_t k = 0; k < at; k++)
                assert_true(rs_table_is_null(t, row, k) == rs_table_is_null(plain.tables[0], row, k));
        assert_int_equal(rs_table_int(t, 0, at + Z), 1);
        assert_string_equal(text_cell(t, 0, at + MIXED), "1");
        assert_string_equal(text_cell(t, 1, at + MIXED), "w");
        assert_string_equal(text_cell(t, 4, at + MIXED), "2.5");
        assert_string_equal(text_cell(t, 0, at + WIDE), "9007199254740993"); /* no double holds it */
        assert_int_equal(rs_table_int(t, 0, at + RANK), 4);
        assert_string_equal(text_cell(t, 0, at + OWN), "own");
        assert_string_equal(text_cell(t, 1, at + LIST), "[1,2]");
        assert_int_equal(rs_table_int(t, 1, at + NUL), 1);
        assert_string_equal(text_cell(t, 2, at + GRID),
                            "[1,2,3]"); /* the column's before the escaped key's */
        assert_int_equal(rs_table_int(t, 2, at + SEQ), 9);
        assert_true(rs_table_real(t, 2, at + HALF) == 1 && rs_table_real(t, 3, at + HALF) == 0.5);
        assert_true(rs_table_is_null(t, 4, at + HALF) && rs_table_is_null(t, 0, at + B));
        assert_string_equal(text_cell(t, 3, at + B), "true");
        rs_result_clear(&plain);
        rs_result_clear(&result);
    }
    remove_folder(&f);
}

static bool has_note(const rs_result *r, const char *word)
{
    for (size_t i = 0; i < r->n_notes; i++)
        if (strstr(r->notes[i], word)) return true;
    return false;
}

TEST(test_frame_names)
{
    folder f = two_ranks();
    rs_result result;
    rs_error err = RS_ERROR_INIT;
    assert_int_equal(ask(&f, 2, "z,Sequence number,Input Dims,nothing", RS_COMPAT_NONE, &result, NULL),
                     RS_OK);
    const rs_table_spec *spec = rs_table_get_spec(result.tables[0]);
    assert_string_equal(spec->columns[spec->n_columns - 3].name, "Sequence number");
    assert_string_equal(spec->columns[spec->n_columns - 2].name, "nothing");
    assert_string_equal(spec->columns[spec->n_columns - 1].name, "z");
    assert_true(has_note(&result, "argument Input Dims is column input_dims"));
    assert_true(has_note(&result, "no row has an argument nothing"));
    assert_int_equal(result.n_notes, 2);
    rs_result_clear(&result);
    static const char *const wrong[] = {"", "a,", ",a", "a,,b"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(ask(&f, 1, wrong[i], RS_COMPAT_NONE, &result, &err), RS_ERR_USAGE);
        rs_result_clear(&result);
    }
    remove_folder(&f);
}

/* As many names as one file may have, and others in the next one. */
TEST(test_frame_too_many)
{
    folder f = make_folder();
    for (int rank = 0; rank < 2; rank++) {
        text t = {0};
        char name[16];
        text_printf(&t, "{\"distributedInfo\":{\"rank\":%d},\"traceEvents\":[", rank);
        for (int i = 0; i < RS_MAX_OTHERS; i++)
            text_printf(&t,
                        "%s{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"op\",\"pid\":1,\"tid\":1,\"ts\":%d,"
                        "\"dur\":1,\"args\":{\"%c%04d\":1}}",
                        i ? "," : "", i, 'a' + rank, i);
        text_puts(&t, "]}");
        snprintf(name, sizeof name, "r%d.json", rank);
        put_file(&f, name, &t);
    }
    rs_result result;
    assert_int_equal(ask(&f, 2, "all", RS_COMPAT_NONE, &result, NULL), RS_OK);
    const rs_table_spec *spec = rs_table_get_spec(result.tables[0]);
    assert_string_equal(spec->columns[spec->n_columns - 1].name, "a1023");
    assert_int_equal(result.problems.n, 1);
    assert_string_equal(result.problems.items[0].kind, "too_many_arguments");
    assert_int_equal(result.problems.items[0].count, RS_MAX_OTHERS);
    rs_result_clear(&result);
    remove_folder(&f);
}
