/* The pickle reader: what data it reads, what it refuses, and that no bytes can make it misbehave. */
#include <stdlib.h>
#include <string.h>

#include "input/pickle.h"
#include "unit.h"

/* Reads bytes that end at the end of a block, so that a sanitizer sees a step too far. */
static rs_status read_bytes(rs_values *v, const void *bytes, size_t n, const rs_value_limits *limits,
                            rs_pickle_info *info, rs_error *err)
{
    void *copy = malloc(n ? n : 1);
    assert_non_null(copy);
    memcpy(copy, bytes, n);
    *err = (rs_error)RS_ERROR_INIT;
    rs_status status = rs_pickle_read(v, copy, n, "test", limits, info, err);
    free(copy);
    return status;
}

#define READ(v, bytes, info, err) read_bytes(v, bytes, sizeof bytes - 1, NULL, info, err)

TEST(test_scalars)
{
    static const struct {
        const char *bytes;
        size_t n;
        int64_t value;
    } ints[] = {{"K\x07.", 3, 7},
                {"M\x01\x02.", 4, 0x201},
                {"J\xff\xff\xff\xff.", 6, -1},
                {"\x8a\x01\xff.", 4, -1},
                {"\x8a\x00.", 3, 0},
                {"\x8a\x08\x00\x00\x00\x00\x00\x00\x00\x80.", 11, INT64_MIN},
                {"I42\n.", 5, 42},
                {"L-7L\n.", 6, -7},
                {"I01\n.", 5, 1},
                {"\x88.", 2, 1},
                {"\x89.", 2, 0},
                {"\x8b\x02\x00\x00\x00\x00\x01.", 8, 256},
                {"K\x01K\x02"
                 "0.",
                 6, 1},
                {"K\x05"
                 "2"
                 "0.",
                 5, 5}};
    rs_values v = {0};
    rs_pickle_info info;
    rs_error err;
    for (size_t i = 0; i < sizeof ints / sizeof *ints; i++) {
        assert_int_equal(read_bytes(&v, ints[i].bytes, ints[i].n, NULL, &info, &err), RS_OK);
        assert_true(v.nodes[info.root].as.i == ints[i].value);
        assert_int_equal(info.consumed, ints[i].n);
    }
    assert_int_equal(READ(&v, "G?\xf8\x00\x00\x00\x00\x00\x00.", &info, &err), RS_OK);
    assert_true(v.nodes[info.root].as.f == 1.5);
    assert_int_equal(READ(&v, "F2.5\n.", &info, &err), RS_OK);
    assert_true(v.nodes[info.root].as.f == 2.5);
    rs_values_clear(&v);
}

/* Integers of one to nine bytes, either way to write their length: the last byte's sign is the number's, and a ninth byte of 0 makes eight unsigned. */
TEST(test_integers)
{
    rs_values v = {0};
    rs_pickle_info info;
    rs_error err;
    uint64_t chance = 11;
    for (int round = 0; round < 400; round++) {
        const size_t n = 1 + (size_t)round % 9, head = round % 2 ? 5 : 2;
        uint8_t bytes[16] = {round % 2 ? 0x8b : 0x8a, (uint8_t)n};
        int64_t wanted = 0;
        uint64_t whole = 0;
        for (size_t i = 0; i < n; i++) {
            chance = chance * 6364136223846793005u + 1442695040888963407u;
            bytes[head + i] = i == 8 ? 0 : (uint8_t)(chance >> 40);
        }
        for (size_t i = n; i > 0; i--) {
            if (n < 9) wanted = i == n ? (int8_t)bytes[head + i - 1] : wanted * 256 + bytes[head + i - 1];
            whole = whole * 256 + bytes[head + i - 1];
        }
        bytes[head + n] = '.';
        assert_int_equal(read_bytes(&v, bytes, head + n + 1, NULL, &info, &err), RS_OK);
        const rs_value *got = &v.nodes[info.root];
        if (n == 9) {
            assert_int_equal(got->type, whole > INT64_MAX ? RS_VALUE_UINT : RS_VALUE_INT);
            assert_true(got->as.u == whole);
        } else {
            assert_true(got->type == RS_VALUE_INT && got->as.i == wanted);
        }
    }
    rs_values_clear(&v);
}

TEST(test_texts_and_containers)
{
    /* Every way to write the text "ab", kept in a list with a tuple of it by memo. */
    static const struct {
        const char *bytes;
        size_t n;
    } texts[] = {{"\x80\x02](X\x02\x00\x00\x00"
                  "abq\x00h\x00\x85"
                  "e.",
                  18},
                 {"\x80\x04\x95\x0b\x00\x00\x00\x00\x00\x00\x00](\x8c\x02"
                  "ab\x94h\x00\x85"
                  "e.",
                  23},
                 {"(lp0\nS'ab'\np1\nag1\n\x85"
                  "a.",
                  22},
                 {"](Vab\nr\x00\x00\x00\x00j\x00\x00\x00\x00\x85"
                  "e.",
                  20},
                 {"](\x8d\x02\x00\x00\x00\x00\x00\x00\x00"
                  "abq\x00h\x00\x85"
                  "e.",
                  20},
                 {"](U\x02"
                  "abq\x00h\x00\x85"
                  "e.",
                  13}};
    rs_values v = {0};
    rs_pickle_info info;
    rs_error err;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        rs_status status = rs_pickle_read(&v, texts[i].bytes, texts[i].n, "test", NULL, &info, &err);
        assert_int_equal(status, RS_OK);
        assert_int_equal(v.nodes[info.root].type, RS_VALUE_LIST);
        assert_int_equal(v.nodes[info.root].n, 2);
        rs_value_walk walk = rs_value_children(&v, info.root);
        uint32_t text = 0, tuple = 0, inner = 0;
        assert_true(rs_value_next(&walk, &text));
        assert_int_equal(v.nodes[text].n, 2);
        assert_memory_equal(v.nodes[text].as.text, "ab", 2);
        assert_true(rs_value_next(&walk, &tuple));
        walk = rs_value_children(&v, tuple);
        assert_true(rs_value_next(&walk, &inner));
        assert_int_equal(inner, text);
    }
    /* A dict in three pieces, a set, and what follows STOP. */
    assert_int_equal(READ(&v, "}(K\x01K\x02uK\x03K\x04s(K\x05K\x06u.rest", &info, &err), RS_OK);
    assert_int_equal(v.nodes[info.root].n, 6);
    assert_int_equal(info.consumed, 19);
    assert_int_equal(READ(&v, "\x8f(K\x01K\x02\x90.", &info, &err), RS_OK);
    assert_int_equal(v.nodes[info.root].n, 2);
    rs_values_clear(&v);
}

/* In a quoted text a backslash is left out before quotes and backslashes, and before nothing else. */
TEST(test_escapes)
{
    static const char *const cases[][2] = {{"S'a\\'b\\\\c'\n.", "a'b\\c"},
                                           {"S\"\\\"\"\n.", "\""},
                                           {"S'a\\x'\n.", "a\\x"},
                                           {"S'\\'\\''\n.", "''"},
                                           {"S''\n.", ""}};
    rs_values v = {0};
    rs_pickle_info info;
    rs_error err;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(read_bytes(&v, cases[i][0], strlen(cases[i][0]), NULL, &info, &err), RS_OK);
        const rs_value *got = &v.nodes[info.root];
        assert_int_equal(got->n, strlen(cases[i][1]));
        assert_memory_equal(got->as.text, cases[i][1], got->n);
    }
    rs_values_clear(&v);
}

TEST(test_refuses_code)
{
    static const struct {
        const char *bytes;
        size_t n;
        const char *name;
    } cases[] = {{"cposix\nsystem\n(S'true'\ntR.", 26, "GLOBAL"},
                 {"(K\x01R.", 5, "REDUCE"},
                 {"\x8c\x01"
                  "a\x8c\x01"
                  "b\x93.",
                  8, "STACK_GLOBAL"},
                 {"(iposix\nsystem\n.", 16, "INST"},
                 {"(o.", 3, "OBJ"},
                 {"}}b.", 4, "BUILD"},
                 {"))\x81.", 4, "NEWOBJ"},
                 {"))}\x92.", 5, "NEWOBJ_EX"},
                 {"P1\n.", 4, "PERSID"},
                 {"K\x01Q.", 4, "BINPERSID"},
                 {"\x82\x01.", 3, "EXT1"},
                 {"\x83\x01\x00.", 4, "EXT2"},
                 {"\x84\x01\x00\x00\x00.", 6, "EXT4"},
                 {"\x97.", 2, "NEXT_BUFFER"},
                 {"\x98.", 2, "READONLY_BUFFER"}};
    rs_values v = {0};
    rs_pickle_info info;
    rs_error err;
    char text[1024];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(read_bytes(&v, cases[i].bytes, cases[i].n, NULL, &info, &err), RS_ERR_FORMAT);
        assert_non_null(strstr(rs_error_text(&err, text, sizeof text), cases[i].name));
        assert_non_null(strstr(text, "refused"));
        assert_false(info.truncated);
    }
    rs_values_clear(&v);
}

/* Only the opcodes of data do anything: every other byte ends the reading. */
TEST(test_every_opcode)
{
    static const char data[] = "(.012FGIJKLMNSTUVXBCadeghjlpqrstu)]}"
                               "\x80\x85\x86\x87\x88\x89\x8a\x8b\x8c\x8d\x8e\x8f\x90\x91\x94\x95";
    rs_values v = {0};
    rs_pickle_info info;
    rs_error err;
    for (int op = 0; op < 256; op++) {
        char bytes[64] = "](K\x01K\x02";
        bytes[6] = (char)op;
        memset(bytes + 7, 0, 20);
        rs_status status = read_bytes(&v, bytes, 27, NULL, &info, &err);
        bool known = memchr(data, op, sizeof data - 1) != NULL;
        if (!known) {
            assert_int_equal(status, RS_ERR_FORMAT);
            assert_int_equal(info.consumed, 6);
        }
    }
    rs_values_clear(&v);
}

TEST(test_bad_input)
{
    static const struct {
        const char *bytes;
        size_t n;
        bool cut;
    } cases[] = {{"", 0, true},
                 {".", 1, false},
                 {"K", 1, true},
                 {"X\xff\xff\xff\xff"
                  "abc",
                  8, true},
                 {"\x8d\xff\xff\xff\xff\xff\xff\xff\xff"
                  "a",
                  10, true},
                 {"h\x00.", 3, false},
                 {"j\xff\xff\xff\xff.", 6, false},
                 {"e.", 2, false},
                 {"(e.", 3, false},
                 {"K\x01(K\x02"
                  "e.",
                  7, false},
                 {"](K\x01u.", 6, false},
                 {"}(K\x01u.", 6, false},
                 {"a.", 2, false},
                 {"]a.", 3, false},
                 {"s.", 2, false},
                 {"\x86.", 2, false},
                 {"](\x86"
                  "e.",
                  5, false},
                 {"0.", 2, false},
                 {"1.", 2, false},
                 {"q\x00.", 3, false},
                 {"\x94.", 2, false},
                 {"Iabc\n.", 6, false},
                 {"I99999999999999999999\n.", 23, false},
                 {"p-1\n.", 5, false},
                 {"S'a\n.", 5, false},
                 {"\x80\x06.", 3, false},
                 {"\x8b\xff\xff\xff\xff.", 6, false},
                 {"I12", 3, true},
                 {"(((", 3, true}};
    rs_values v = {0};
    rs_pickle_info info;
    rs_error err;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rs_status status = read_bytes(&v, cases[i].bytes, cases[i].n, NULL, &info, &err);
        if (status == RS_OK) fail_msg("case %zu was read", i);
        assert_int_equal(info.truncated, cases[i].cut);
    }
    rs_values_clear(&v);
}

TEST(test_bombs)
{
    enum { SIZE = 1 << 20 };
    char *bytes = malloc(SIZE);
    rs_values v = {0};
    rs_pickle_info info;
    rs_error err;
    assert_non_null(bytes);
    memset(bytes, '(', SIZE); /* deep marks */
    assert_int_equal(read_bytes(&v, bytes, SIZE, NULL, &info, &err), RS_ERR_LIMIT);
    bytes[0] = ']';
    memset(bytes + 1, (char)0x85, SIZE - 1); /* tuples in tuples need no mark */
    assert_int_equal(read_bytes(&v, bytes, SIZE, NULL, &info, &err), RS_ERR_LIMIT);
    for (size_t i = 0; i + 1 < SIZE; i += 2)
        memcpy(bytes + i, i ? "h\x00" : "Nq", 2); /* one value a million times */
    memcpy(bytes, "](Nq\x00", 5);
    for (size_t i = 5; i + 2 < SIZE; i += 2) memcpy(bytes + i, "h\x00", 2);
    bytes[SIZE - 3] = 'N';
    bytes[SIZE - 2] = 'e';
    bytes[SIZE - 1] = '.';
    rs_value_limits few = {.max_nodes = 1000};
    assert_int_equal(read_bytes(&v, bytes, SIZE, &few, &info, &err), RS_ERR_LIMIT);
    /* wild memo ids take no memory, and are found again */
    assert_int_equal(READ(&v,
                          "K\x01r\xff\xff\xff\xffK\x02r\xfe\xff\xff\x7f(j\xff\xff\xff\xffj\xfe\xff\xff\x7ft.",
                          &info, &err),
                     RS_OK);
    assert_int_equal(v.nodes[info.root].n, 2);
    /* a list that contains itself */
    assert_int_equal(READ(&v,
                          "]q\x00h\x00"
                          "a.",
                          &info, &err),
                     RS_OK);
    rs_value_walk walk = rs_value_children(&v, info.root);
    uint32_t child = 0;
    assert_true(rs_value_next(&walk, &child));
    assert_int_equal(child, info.root);
    assert_false(rs_value_next(&walk, &child));
    rs_value_limits short_text = {.max_string = 3};
    assert_int_equal(read_bytes(&v,
                                "U\x04"
                                "abcd.",
                                7, &short_text, &info, &err),
                     RS_ERR_LIMIT);
    free(bytes);
    rs_values_clear(&v);
}

/* A cut leaves what came before it in its containers. */
TEST(test_salvage)
{
    static const char whole[] = "}(U\x01"
                                "aK\x01U\x01"
                                "b](K\x01K\x02K\x03"
                                "eu.";
    rs_values v = {0};
    rs_pickle_info info;
    rs_error err;
    for (size_t cut = 0; cut + 1 < sizeof whole; cut++) {
        rs_status status = rs_pickle_read(&v, whole, cut, "test", NULL, &info, &err);
        assert_int_equal(status, RS_ERR_FORMAT);
        assert_true(info.truncated);
        if (cut >= 1) assert_int_equal(v.nodes[info.root].type, RS_VALUE_MAP);
        if (cut >= 7) assert_true(v.nodes[info.root].n >= 2);
        if (cut >= 15) assert_int_equal(v.nodes[info.root].n, 4);
    }
    rs_values_clear(&v);
}

TEST(test_memory_runs_out)
{
    static const char bytes[] = "\x80\x02}(X\x01\x00\x00\x00"
                                "aq\x00](K\x01K\x02"
                                "eh\x00\x85r\xff\x00\x00\x00u.";
    rs_pickle_info info;
    rs_error err;
    bool done = false;
    for (uint64_t n = 1; !done; n++) {
        rs_values v = {0};
        rs_test_fail_allocation(n);
        rs_status status = READ(&v, bytes, &info, &err);
        rs_test_fail_allocation(0);
        done = status != RS_ERR_NOMEM;
        rs_values_clear(&v);
        assert_true(n < 1000);
    }
}
