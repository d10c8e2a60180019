/* Members of tar archives: the ways a name is given, numbers, what is passed over, and what is damaged. */
#include "input/lines.h"
#include "input/tar.h"
#include "support.h"

#define BLOCK 512

/* The sum over a header whose own field counts as spaces. */
static void seal(char *h)
{
    unsigned sum = 0;
    memset(h + 148, ' ', 8);
    for (int i = 0; i < BLOCK; i++) sum += (unsigned char)h[i];
    snprintf(h + 148, 8, "%06o", sum);
}

static char *add(text *t, const char *name, char type, const char *bytes, size_t n)
{
    char h[BLOCK] = {0}, zeros[BLOCK] = {0};
    memcpy(h, name, strlen(name));
    char size[32];
    snprintf(size, sizeof size, "%011zo", n);
    memcpy(h + 124, size, 12);
    h[156] = type;
    seal(h);
    text_add(t, h, BLOCK);
    text_add(t, bytes, n);
    text_add(t, zeros, (BLOCK - n % BLOCK) % BLOCK);
    return t->s + t->n - BLOCK - (n + BLOCK - 1) / BLOCK * BLOCK;
}

static void end(text *t)
{
    char zeros[2 * BLOCK] = {0};
    text_add(t, zeros, sizeof zeros);
}

static void expect(rs_tar *tar, const char *name, const char *bytes, size_t n)
{
    rs_tar_member m;
    assert_true(rs_tar_next(tar, &m));
    assert_string_equal(m.name, name);
    assert_int_equal(m.size, n);
    assert_memory_equal(m.bytes, bytes, n);
}

static rs_tar open_text(const text *t)
{
    return (rs_tar){.bytes = (const uint8_t *)t->s, .size = t->n};
}

TEST(test_names)
{
    text t = {0};
    char *h, long_name[700] = "a/";
    rs_tar_member m;
    while (strlen(long_name) < 650) strcat(long_name, "0123456789");
    add(&t, "plain_0", '0', "one", 3);
    add(&t, "old_1", 0, "", 0);
    add(&t, "contiguous_2", '7', "x", 1);
    add(&t, "folder/", '5', "", 0);
    add(&t, "link", '2', "", 0);
    h = add(&t, "rank_3", '0', "three", 5);
    memcpy(h + 257, "ustar\0", 6);
    memcpy(h + 345, "some/folder", 11);
    seal(h);
    h = add(&t, "no_prefix_4", '0', "", 0);
    memcpy(h + 257, "ustar\0", 6);
    seal(h);
    add(&t, "././@LongLink", 'L', long_name, strlen(long_name));
    add(&t, "cut_5", '0', "five", 4);
    add(&t, "./PaxHeaders/x", 'x', "15 mtime=12345\n23 path=dir/from_pax_6\n", 38);
    add(&t, "short_6", '0', "six", 3);
    add(&t, "./PaxHeaders/y", 'x', "15 mtime=12345\n", 15);
    add(&t, "own_7", '0', "seven", 5);
    /* a name for a folder is not the next file's */
    add(&t, "././@LongLink", 'L', "the_folder", 10);
    add(&t, "folder", '5', "", 0);
    add(&t, "own_8", '0', "", 0);
    end(&t);
    assert_true(rs_tar_looks((const uint8_t *)t.s, t.n));
    rs_tar tar = open_text(&t);
    expect(&tar, "plain_0", "one", 3);
    expect(&tar, "old_1", "", 0);
    expect(&tar, "contiguous_2", "x", 1);
    expect(&tar, "some/folder/rank_3", "three", 5);
    expect(&tar, "no_prefix_4", "", 0);
    assert_true(rs_tar_next(&tar, &m));
    assert_int_equal(strlen(m.name), sizeof m.name - 1);
    assert_string_equal(m.name, long_name + strlen(long_name) - (sizeof m.name - 1));
    expect(&tar, "dir/from_pax_6", "six", 3);
    expect(&tar, "own_7", "seven", 5);
    expect(&tar, "own_8", "", 0);
    assert_false(rs_tar_next(&tar, &m));
    assert_false(tar.cut);
    text_clear(&t);
}

TEST(test_pax_records)
{
    /* Lengths that do not fit what is there, and records without an end: the header's own name counts. */
    static const char *const broken[] = {
        "path=x\n",       "99 path=x\n", "5 path=x\n", "0 path=x\n", "3 \n", "18446744073709551620 path=x\n",
        "10path=abc\n\n", "11 path=abc", "9 pAth=x\n", "12"};
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        text t = {0};
        rs_tar_member m;
        add(&t, "x", 'x', broken[i], strlen(broken[i]));
        add(&t, "own", '0', "b", 1);
        end(&t);
        rs_tar tar = open_text(&t);
        assert_true(rs_tar_next(&tar, &m));
        if (strcmp(m.name, "own") != 0) fail_msg("%s gives the name %s", broken[i], m.name);
        assert_false(tar.cut);
        text_clear(&t);
    }
}

TEST(test_numbers)
{
    text t = {0};
    rs_tar_member m;
    /* base 256, as tar has it for large sizes; leading spaces */
    char *h = add(&t, "binary", '0', "12345", 5);
    memset(h + 124, 0, 12);
    h[124] = (char)0x80;
    h[135] = 5;
    seal(h);
    h = add(&t, "spaces", '0', "123", 3);
    memcpy(h + 124, "       3    ", 12);
    seal(h);
    end(&t);
    rs_tar tar = open_text(&t);
    expect(&tar, "binary", "12345", 5);
    expect(&tar, "spaces", "123", 3);
    assert_false(rs_tar_next(&tar, &m));
    assert_false(tar.cut);
    /* a size beyond 64 bits, one that is no octal number, one beyond the archive */
    static const char wrong[][13] = {"\x80\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", "0000000000x\0",
                                     "00000000008\0"};
    for (size_t i = 0; i < 3; i++) {
        h = t.s;
        memcpy(h + 124, wrong[i], 12);
        seal(h);
        tar = open_text(&t);
        assert_false(rs_tar_next(&tar, &m));
        assert_true(tar.cut);
    }
    memcpy(t.s + 124, "77777777777", 12);
    seal(t.s);
    tar = open_text(&t);
    assert_true(rs_tar_next(&tar, &m));
    assert_true(tar.cut);
    assert_int_equal(m.size, t.n - BLOCK);
    assert_false(rs_tar_next(&tar, &m));
    text_clear(&t);
}

TEST(test_damage)
{
    text t = {0};
    rs_tar_member m;
    add(&t, "first", '0', "abc", 3);
    add(&t, "second", '0', "defg", 4);
    end(&t);
    for (size_t n = 0; n <= 4 * BLOCK; n++) {
        rs_tar tar = {.bytes = (const uint8_t *)t.s, .size = n};
        size_t members = 0;
        while (rs_tar_next(&tar, &m)) members++;
        assert_int_equal(members, n < BLOCK ? 0 : n < 3 * BLOCK ? 1 : 2);
        /* cut between two members nobody can tell */
        bool whole = n == 0 || n == BLOCK + 3 || n == 2 * BLOCK || n == 3 * BLOCK + 4 || n >= 4 * BLOCK;
        if ((n > BLOCK + 3 && n < 2 * BLOCK) || (n > 3 * BLOCK + 4 && n < 4 * BLOCK)) continue; /* padding */
        if (tar.cut == whole && n % BLOCK) fail_msg("%zu bytes: cut is %d", n, tar.cut);
    }
    t.s[10] ^= 1;
    rs_tar tar = open_text(&t);
    assert_false(rs_tar_looks((const uint8_t *)t.s, t.n));
    assert_false(rs_tar_next(&tar, &m));
    assert_true(tar.cut);
    assert_false(rs_tar_looks((const uint8_t *)t.s, BLOCK - 1));
    text_clear(&t);
}

/* ---- lines -------------------------------------------------------------------------------------------- */

static rs_lines open_lines(const text *t, rs_source **source)
{
    rs_lines lines;
    rs_error err = RS_ERROR_INIT;
    assert_int_equal(rs_source_open_bytes(t->s, t->n, "lines", 0, source, &err), RS_OK);
    assert_int_equal(rs_lines_open(*source, &lines, &err), RS_OK);
    return lines;
}

/* Lines of all lengths around the buffer's: none is torn, each is where it says. */
TEST(test_lines)
{
    text t = {0};
    static const size_t lengths[] = {0, 1, 5, 262143, 0, 262144, 262145, 3, 600000, 524288, 0, 7};
    enum { N = sizeof lengths / sizeof *lengths };
    for (size_t i = 0; i < N; i++) {
        for (size_t k = 0; k < lengths[i]; k++) text_add(&t, &"abcdefghijklmnop"[(k + i) % 16], 1);
        if (i + 1 < N) text_puts(&t, "\n");
    }
    rs_source *source;
    rs_lines lines = open_lines(&t, &source);
    rs_line_text line;
    rs_status status;
    rs_error err = RS_ERROR_INIT;
    uint64_t at = 0;
    for (size_t i = 0; i < N; i++) {
        assert_true(rs_lines_next(&lines, &line, &status, &err));
        assert_int_equal(line.number, i + 1);
        assert_int_equal(line.offset, at);
        assert_int_equal(line.n, lengths[i]);
        assert_memory_equal(line.text, t.s + at, line.n);
        assert_int_equal(line.whole, i + 1 < N);
        assert_false(line.too_long);
        at += line.n + 1;
    }
    assert_false(rs_lines_next(&lines, &line, &status, &err));
    assert_int_equal(status, RS_OK);
    assert_false(rs_lines_next(&lines, &line, &status, &err));
    rs_lines_close(&lines);
    rs_source_close(source);
    text_clear(&t);
}

/* A line beyond the limit is passed over whole, with its number and place; those behind it are read. */
TEST(test_long_line)
{
    for (int ended = 0; ended < 2; ended++) {
        text t = {0}, part = {0};
        while (part.n < (size_t)1 << 20) text_puts(&part, "0123456789abcdef");
        text_puts(&t, "first\n");
        for (size_t n = 0; n <= RS_LINES_MAX; n += part.n) text_add(&t, part.s, part.n);
        text_add(&t, part.s, part.n);
        size_t size = t.n;
        if (ended) text_puts(&t, "\nlast");
        rs_source *source;
        rs_lines lines = open_lines(&t, &source);
        rs_line_text line;
        rs_status status;
        rs_error err = RS_ERROR_INIT;
        assert_true(rs_lines_next(&lines, &line, &status, &err));
        assert_int_equal(line.n, 5);
        assert_true(rs_lines_next(&lines, &line, &status, &err));
        assert_true(line.too_long);
        assert_null(line.text);
        assert_int_equal(line.number, 2);
        assert_int_equal(line.offset, 6);
        assert_int_equal(line.whole, ended);
        assert_int_equal(rs_lines_next(&lines, &line, &status, &err), ended);
        if (ended) {
            assert_int_equal(line.n, 4);
            assert_int_equal(line.number, 3);
            assert_int_equal(line.offset, size + 1);
            assert_memory_equal(line.text, "last", 4);
        }
        assert_int_equal(status, RS_OK);
        rs_lines_close(&lines);
        rs_source_close(source);
        text_clear(&t);
        text_clear(&part);
    }
}
