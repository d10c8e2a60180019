/* --fail-on: what parses, what a table's columns allow, and which rows fail. */
#include <math.h>
#include <string.h>

#include "rankscope/gate.h"
#include "base/memory.h"
#include "unit.h"

static const rs_column_spec columns[] = {
    {"name", RS_TEXT, RS_UNIT_NONE, "", NULL},     {"idle", RS_TIME, RS_UNIT_US, "", NULL},
    {"share", RS_REAL, RS_UNIT_PERCENT, "", NULL}, {"overlap", RS_REAL, RS_UNIT_RATIO, "", NULL},
    {"count", RS_INT, RS_UNIT_COUNT, "", NULL},
};
static const rs_table_spec spec = {"t", "", columns, 5};

static rs_table *make_table(void)
{
    static const char *const names[] = {"x", "gemm or (b)", NULL, "a,b"};
    rs_table *t = rs_table_create(&spec);
    for (int64_t i = 0; i < 4; i++) {
        rs_table_add_text(t, names[i]);
        rs_table_add_time(t, i * 1500);
        rs_table_add_real(t, i == 3 ? (double)NAN : (double)i * 10);
        rs_table_add_real(t, (double)i / 4);
        rs_table_add_int(t, i);
        assert_int_equal(rs_table_end_row(t, NULL), RS_OK);
    }
    return t;
}

static void expect(const char *text, size_t n_wanted, size_t first_wanted)
{
    rs_table *t = make_table();
    rs_gate *gate;
    assert_int_equal(rs_gate_parse(text, &gate, NULL), RS_OK);
    size_t n = 99, first = 99;
    assert_int_equal(rs_gate_count(gate, t, &n, &first, NULL), RS_OK);
    assert_int_equal(n, n_wanted);
    if (n) assert_int_equal(first, first_wanted);
    rs_gate_free(gate);
    rs_table_free(t);
}

TEST(test_rows)
{
    expect("share > 10", 1, 2);
    expect("share>=10", 2, 1);
    expect("share < 1e9", 3, 0); /* the unknown cell meets nothing */
    expect(" share >= 10% , count<2 ", 1, 1);
    expect("overlap >= 50%", 2, 2);
    expect("overlap >= 0.5", 2, 2);
    expect("idle > 1.5", 2, 2); /* in the column's unit */
    expect("idle <= 1.5", 2, 0);
    expect("count > 3", 0, 0);
    expect("count > -1", 4, 0);
}

/* What --where of events has, over the rows of a table. */
TEST(test_expressions)
{
    static const struct {
        const char *text;
        unsigned rows; /* a bit each */
    } cases[] = {
        {"count = 2", 4},
        {"count != 2", 11},
        {"count in (0, 2-3)", 13},
        {"count not in (0,2)", 10},
        {"not count in (0,2)", 10},
        {"count = 1 or count = 3", 10},
        {"count = 1 || count = 3", 10},
        {"count > 0 and count < 3 or count = 0", 7},
        {"count > 0 and (count < 2 or count = 3)", 10},
        {"count > 0, count < 2 or count = 3", 10},
        {"not (count > 0 and count < 3)", 9},
        {"not not count = 1", 2},
        {"!(count = 1) && NOT count = 2", 9},
        {"share < 100", 7}, /* row 3 has no share */
        {"not share < 100", 0},
        {"share != 10", 5},
        {"not share = 10", 5},
        {"share > 5 or count = 3", 14}, /* unknown or true is true */
        {"share > 5 and count = 3", 0},
        {"not (share > 5 and count = 0)", 15},
        {"overlap in (25%, 0.5-0.6)", 6},
        {"share in (5-10%)", 2},
        {"name = x", 1},
        {"name = 'x'", 1},
        {"name != x", 10}, /* row 2 has no name */
        {"name = 'gemm or (b)'", 2},
        {"name ~ gemm", 2},
        {"name !~ gemm", 9},
        {"name =~ '^g.*\\)$'", 2},
        {"name =~ ^[ax]", 9},
        {"name in (x, 'a,b')", 9},
        {"name not in (x)", 10},
        {"(name = x)", 1},
        {"((name ~ (b)) or count = 0)", 3},
        {"name = ')' or count = 0", 1},
        {"name ~ or (b, count = 1", 2}, /* a bracket that never closes is text up to the comma */
        {"'count' >= 3", 8},
        {"name ~ x and idle = 0", 1},
        {"idle = 1.5", 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rs_table *t = make_table();
        rs_gate *gate;
        size_t n = 99, first = 99;
        rs_error err = RS_ERROR_INIT;
        if (rs_gate_parse(cases[i].text, &gate, &err) != RS_OK)
            fail_msg("%s: %s", cases[i].text, err.causes[0].message);
        if (rs_gate_count(gate, t, &n, &first, &err) != RS_OK)
            fail_msg("%s: %s", cases[i].text, err.causes[0].message);
        if (n != (size_t)__builtin_popcount(cases[i].rows) ||
            (n && first != (size_t)__builtin_ctz(cases[i].rows)))
            fail_msg("%s: %zu rows, the first is %zu", cases[i].text, n, first);
        rs_gate_free(gate);
        rs_table_free(t);
    }
    char deep[200] = "";
    for (int i = 0; i < 65; i++) strcat(deep, "(");
    strcat(deep, "count = 1");
    for (int i = 0; i < 65; i++) strcat(deep, ")");
    rs_gate *gate;
    assert_int_equal(rs_gate_parse(deep, &gate, NULL), RS_ERR_USAGE);
    deep[129 + 9] = 0; /* one bracket less on both sides */
    assert_int_equal(rs_gate_parse(deep + 1, &gate, NULL), RS_OK);
    rs_gate_free(gate);
}

static void refuse_parse(const char *text)
{
    rs_gate *gate;
    rs_error err = RS_ERROR_INIT;
    if (rs_gate_parse(text, &gate, &err) != RS_ERR_USAGE) fail_msg("%s is a condition", text);
    assert_null(gate);
    assert_true(err.causes[0].message[0] != '\0');
}

TEST(test_bad_text)
{
    static const char *const bad[] = {
        "",          "share",  "share >",     "> 3",        "share = ",    "(a > 1",
        "a > 1)",    "a in 3", "a in (",      "a in (1",    "a = 'x",      "'a = 1",
        "'' = 1",    "a, > 1", "a and b > 1", "a or b = 1", "a > 1 or",    "not",
        "a in ()",   "()",     "share > x",   "a > 1,,",    "a > 1 b",     "a > nan",
        "a > 1e999", "a > %",  "a > 1, ,",    "a > 1 % %x", "share > 0x1", "a >== 1"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) refuse_parse(bad[i]);
}

static void refuse_check(const char *text, const char *message)
{
    rs_gate *gate;
    rs_error err = RS_ERROR_INIT;
    assert_int_equal(rs_gate_parse(text, &gate, NULL), RS_OK);
    assert_int_equal(rs_gate_check(gate, &spec, &err), RS_ERR_USAGE);
    assert_string_equal(err.causes[0].message, message);
    rs_gate_free(gate);
}

TEST(test_bad_columns)
{
    refuse_check("shar > 1", "table t has no column \"shar\"; did you mean share?");
    refuse_check("zebra > 1", "table t has no column \"zebra\"; --schema lists them");
    refuse_check("name > 1", "column name holds text, which no number compares with");
    refuse_check("idle = x", "column idle holds numbers, and \"x\" is none");
    refuse_check("idle = '1'", "column idle holds numbers, and \"1\" is none");
    refuse_check("idle ~ 1", "column idle holds numbers: it takes = != < <= > >= in");
    refuse_check("count in (1, 2%)", "column count is no share: leave the % out");
    refuse_check("name = x or idle > 5%", "column idle is no share: leave the % out");
    refuse_check("idle > 5%", "column idle is no share: leave the % out");
}

TEST(test_values)
{
    rs_table *t = make_table();
    rs_gate *gate;
    assert_int_equal(rs_gate_parse("idle > 1, share > 2%", &gate, NULL), RS_OK);
    char out[100], small[9];
    assert_string_equal(rs_gate_values(gate, t, 1, out, sizeof out), "idle = 1.5, share = 10");
    assert_string_equal(rs_gate_values(gate, t, 3, out, sizeof out), "idle = 4.5, share = unknown");
    assert_string_equal(rs_gate_values(gate, t, 3, small, sizeof small), "idle = 4");
    assert_string_equal(rs_gate_text(gate), "idle > 1, share > 2%");
    rs_gate_free(gate);
    rs_table_free(t);
}

TEST(test_every_allocation_may_fail)
{
    for (uint64_t n = 1;; n++) {
        rs_gate *gate;
        rs_test_fail_allocation(n);
        rs_status status = rs_gate_parse("a > 1, b < 2 or not c in (x, 'y') and d =~ e", &gate, NULL);
        uint64_t made = rs_test_fail_allocation(0);
        rs_gate_free(gate);
        assert_int_equal(status, made < n ? RS_OK : RS_ERR_NOMEM);
        if (made < n) break;
        assert_true(n < 20);
    }
}
