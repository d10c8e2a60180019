/* The filter language: what each condition picks of a small rank, against a list by hand; and what is refused. */
#include "support.h"

#include "builder.h"
#include "query/where.h"
#include "trace/enclosing.h"

/* Rows: 0 step annotation, 1 op in it, 2 its launch, 3 kernel, 4 op behind it, 5 launch there, 6 nccl kernel,
 * 7 an event without a time. */
typedef struct fixture {
    builder b;
    rs_trace trace;
} fixture;

static void begin(fixture *f)
{
    f->b = builder_create();
    add_row(&f->b, 'X', "user_annotation", "ProfilerStep#3", 1, 1, 1000000, 500000);
    add_op(&f->b, "aten::linear", 1, 1100000, 200000, 17);
    add_call(&f->b, "cudaLaunchKernel", 1, 1150000, 5);
    add_kernel(&f->b, "void gemm<float, 2>(int, float*)", 0, 7, 1200000, 2500000, 5);
    add_op(&f->b, "aten::copy_", 1, 1600000, 100000, 18);
    add_call(&f->b, "cudaLaunchKernel", 1, 1650000, 6);
    add_kernel(&f->b, "ncclDevKernel_AllReduce_RING", 0, 20, 1700000, 3000000, 6);
    add_row(&f->b, 'i', "", "it's a \"mark\", or not", 1, 2, RS_NO_TIME, RS_NO_TIME);
    rs_trace_init(&f->trace, f->b.e, NULL, f->b.e->n);
}

static void end(fixture *f)
{
    rs_trace_clear(&f->trace);
    rs_events_free(f->b.e);
}

/* The rows that it picks as digits. */
static void picks(fixture *f, const char *condition, const char *expected)
{
    rs_where *where;
    rs_where_rank *rank, *open;
    rs_error err = RS_ERROR_INIT;
    char found[16] = "", later[16] = "";
    size_t n = 0, m = 0;
    if (rs_where_parse(condition, "--where", &where, &err) != RS_OK)
        fail_msg("%s: %s", condition, err.causes[0].message);
    assert_int_equal(rs_where_begin(where, &f->trace, 1000000, &rank, &err), RS_OK);
    assert_int_equal(rs_where_begin(where, &f->trace, RS_NO_TIME, &open, &err), RS_OK);
    for (uint32_t row = 0; row < f->b.e->n; row++) {
        uint64_t terms;
        rs_truth answer = rs_where_row(rank, row, NULL);
        if (answer == RS_YES) found[n++] = (char)('0' + row);
        assert_true(answer != RS_UNKNOWN);
        answer = rs_where_row(open, row, &terms);
        if (answer == RS_UNKNOWN) {
            int64_t start = f->b.e->start[row];
            assert_true(rs_where_uses_time(where));
            answer =
                rs_where_decide(where, terms, start == RS_NO_TIME ? start : start - 1000000) ? RS_YES : RS_NO;
        }
        if (answer == RS_YES) later[m++] = (char)('0' + row);
    }
    if (strcmp(found, expected) != 0 || strcmp(later, expected) != 0)
        fail_msg("%s picks %s, later %s, not %s", condition, found, later, expected);
    rs_where_end(rank);
    rs_where_end(open);
    rs_where_free(where);
}

TEST(test_conditions)
{
    static const struct {
        const char *condition, *rows;
    } cases[] = {
        {NULL, "01234567"},
        {"  ", "01234567"},
        {"cat=kernel", "36"},
        {"cat = kernel", "36"},
        {"cat==kernel,", "36"},
        {"cat!=kernel", "012457"},
        {"name~aten", "14"},
        {"name!~aten", "023567"},
        {"name=aten::linear", "1"},
        {"name = \"aten::linear\"", "1"},
        {"name = \"aten\\x3a\\x3alinear\"", "1"},
        {"name='it\\'s a \"mark\", or not'", "7"},
        {"cat=kernel)", ""}, /* a bracket too many is text */
        {"name = 'void gemm<float, 2>(int, float*)'", "3"},
        {"name ~ (int, float*)", "3"},
        {"name ~ (int, dur > 1", "3"}, /* brackets that never close are text */
        {"name ~ (, dur > 1", "3"},
        {"name =~ ^nccl.*RING$", "6"},
        {"name =~ \"^(aten|void) *\"", "134"},
        {"name =~ '^aten::(linear|mm)$' or stream = 20", "16"},
        {"name =~ '^[[:alpha:]]{4}::([^]x+]+)$'", "14"},
        {"phase = i", "7"},
        {"phase != X", "7"},
        {"phase =~ [i]", "7"}, /* one character, with its end */
        {"phase =~ 2ms", ""},
        {"pid =~ ^0$", "36"},
        {"pid = 0", "36"},
        {"tid in (2, 7)", "37"},
        {"stream=7", "3"},
        {"stream in (7-9, 20)", "36"},
        {"stream = 7-9|20", "36"},
        {"stream != 7|20", "012457"},
        {"stream not in (7)", "012456"
                              "7"},
        {"stream != 7", "0124567"},
        {"correlation >= 5", "2356"},
        {"correlation in (6)", "56"},
        {"external_id < 18", "1"},
        {"position > 5", "67"},
        {"step = 3", "0123"},
        {"dur >= 2.5ms", "36"},
        {"dur > 2.5ms", "6"},
        {"dur = 10ns", "25"},
        {"dur < 200", "245"},
        {"dur < 100000 ns", "25"},
        {"ts < 500", "0123"},
        {"ts >= 650 and ts <= 0.7ms", "56"},
        {"not ts < 500", "4567"},
        {"cat=kernel or ts < 200", "01236"},
        {"cat=kernel and (ts < 500 or stream = 20)", "36"},
        {"cat=kernel and ts < 500 or cat=cpu_op and ts > 500", "34"},
        {"cat=kernel && not ts < 500 || phase=i", "67"},
        {"not not cat=kernel", "36"},
        {"!(cat=kernel or cat=cpu_op)", "0257"},
        {"NOT cat=kernel AND NOT cat=cpu_op", "0257"},
        {"cat in (kernel, cpu_op) and name ~ a", "134"},
        {"under(aten::linear)", "123"},
        {"under(\"aten::linear\")", "123"},
        {"under(name = aten::linear)", "123"},
        {"under(ProfilerStep#3)", "0123"},
        {"under(name ~ aten, dur < 150)", "456"},
        {"under(cat = cpu_op) and not cat = cpu_op", "2356"},
        {"under(name = none)", ""},
        {"after(ProfilerStep#3)", "456"},
        {"after(aten::linear)", "456"},
        {"before(aten::copy_)", "0123"},
        {"before(cat = kernel)", "012"},
        {"after(none)", ""},
        {"under(after(aten::linear))", "456"},
        {"after(under(aten::linear) and cat = cuda_runtime)", "3456"},
    };
    fixture f;
    begin(&f);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) picks(&f, cases[i].condition, cases[i].rows);
    end(&f);
}

TEST(test_refused)
{
    static const struct {
        const char *condition, *says;
    } cases[] = {
        {"nam=x", "did you mean name"},
        {"cat", "expected one of"},
        {"cat kernel", "expected one of"},
        {"cat < kernel", "cat is text"},
        {"stream ~ 7", "stream is a number"},
        {"stream = x", "stream needs a whole number"},
        {"dur = 3 days", "dur needs a number of microseconds"},
        {"stream in 7", "\"in\" takes a list"},
        {"stream in (7", "the list is not closed"},
        {"stream in (7, x)", "stream needs a whole number"},
        {"(cat=kernel", "a bracket is not closed"},
        {"name = void gemm<float, 2>(int, float*)", "there is no field \"2\""}, /* a comma is "and" */
        {"(cat=kernel))", "expected \"and\""},
        {"cat='kernel", "no closing quote"},
        {"name =~ '('", "no regular expression"},
        {"name =~ a+++++++++++++++++++++++++++++++", "too large a regular expression"},
        {"name =~ (((a{200}){200}){200})", "too large a regular expression"},
        {"under(", "not closed"},
        {"under(ts < 5)", "ts is not allowed inside"},
        {"not", "there is no field \"\""},
        {"cat=a and", "there is no field \"\""},
        {"cat=a or or cat=b", "there is no field"},
        {"stream in ()", "stream needs a whole number"},
        {"dur = 1e300", "dur needs a number"},
        {"stream < 7|8", "stream needs a whole number"},
    };
    rs_where *where;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rs_error err = RS_ERROR_INIT;
        if (rs_where_parse(cases[i].condition, "--where", &where, &err) != RS_ERR_USAGE)
            fail_msg("%s is not refused", cases[i].condition);
        char message[400];
        assert_null(where);
        rs_error_text(&err, message, sizeof message);
        if (!strstr(message, cases[i].says) || strncmp(message, "--where: ", 9) != 0)
            fail_msg("%s: %s", cases[i].condition, message);
    }
}

/* Depth and length have an end that the message names. */
TEST(test_limits)
{
    rs_where *where;
    for (int kind = 0; kind < 3; kind++) {
        text t = {0};
        rs_error err = RS_ERROR_INIT;
        for (int i = 0; i < 5000; i++) text_puts(&t, kind == 0 ? "(" : kind == 1 ? "under(" : "cat=a or ");
        text_puts(&t, "cat=a");
        assert_int_equal(rs_where_parse(t.s, "--where", &where, &err), RS_ERR_USAGE);
        text_clear(&t);
    }
}

/* Texts made of the language's own pieces: never a crash, and what is accepted can be asked. */
TEST(test_chance)
{
    static const char *const pieces[] = {
        "cat", "name", "dur",    "stream", "ts",  " ", "=",  "!=", "~",   "=~",     "<",
        "in",  "not ", " and ",  " or ",   ",",   "(", ")",  "7",  "7-9", "kernel", "'",
        "\"",  "\\",   "under(", "after(", "2ms", "!", "&&", "||", "[",   "*",      "^a.*"};
    fixture f;
    uint64_t seed = 7;
    size_t n_accepted = 0;
    begin(&f);
    for (int round = 0; round < ROUNDS(20000); round++) {
        text t = {0};
        rs_where *where;
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        unsigned n = 1 + (unsigned)(seed >> 60);
        for (unsigned i = 0; i < n; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            text_puts(&t, pieces[(seed >> 33) % (sizeof pieces / sizeof *pieces)]);
        }
        if (rs_where_parse(t.s, "--where", &where, NULL) == RS_OK) {
            rs_where_rank *rank;
            n_accepted++;
            assert_int_equal(rs_where_begin(where, &f.trace, 0, &rank, NULL), RS_OK);
            for (uint32_t row = 0; row < f.b.e->n; row++) rs_where_row(rank, row, NULL);
            rs_where_end(rank);
            rs_where_free(where);
        }
        text_clear(&t);
    }
    assert_true(n_accepted * 2000 > ROUNDS(20000));
    end(&f);
}

TEST(test_enclosing)
{
    static const uint32_t parents[] = {RS_NO_ROW, 0, 1, RS_NO_ROW, RS_NO_ROW, 4, RS_NO_ROW, 0, 3};
    builder b = builder_create();
    const rs_enclosing *in;
    rs_trace trace;
    add_row(&b, 'X', "user_annotation", "step", 1, 1, 0, 100000);
    add_row(&b, 'X', "cpu_op", "outer", 1, 1, 10000, 40000);
    add_row(&b, 'X', "cpu_op", "inner, rounded", 1, 1, 20000, 30500); /* sticks out by less than a us */
    add_kernel(&b, "first", 0, 7, 0, 50000, 1);
    add_row(&b, 'X', "cpu_op", "elsewhere", 1, 2, 10000, 20000);
    add_row(&b, 'X', "cpu_op", "in it", 1, 2, 10000, 10000);
    add_kernel(&b, "overlaps", 0, 7, 20000, 50000, 2); /* lies in no work */
    add_row(&b, 'X', "cpu_op", "touches", 1, 1, 50500, 10000);
    add_row(&b, 'f', "ac2g", "ac2g", 0, 7, 0, RS_NO_TIME);
    rs_trace_init(&trace, b.e, NULL, b.e->n);
    assert_int_equal(rs_trace_enclosing(&trace, &in, NULL), RS_OK);
    assert_int_equal(in->n, 9);
    for (size_t i = 0; i < in->n; i++) {
        uint32_t parent = in->parent[i] == RS_NO_ROW ? RS_NO_ROW : in->row[in->parent[i]];
        assert_int_equal(parent, parents[in->row[i]]);
    }
    rs_trace_clear(&trace);
    rs_events_free(b.e);
}
