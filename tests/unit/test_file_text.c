/* What a trace's file says beside its events, also when it breaks off anywhere or holds no JSON. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rankscope/file.h"
#include "unit.h"

typedef struct text {
    char bytes[512];
    size_t n;
} text;

static bool put(void *context, const char *bytes, size_t n)
{
    text *t = context;
    if (n > sizeof t->bytes - t->n - 1) return false;
    memcpy(t->bytes + t->n, bytes, n);
    t->n += n;
    t->bytes[t->n] = '\0';
    return true;
}

static char path[] = "/tmp/rs_test_file_text_XXXXXX";

static rs_status header_of(const char *bytes, size_t n, text *out)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, n, file), n);
    assert_int_equal(fclose(file), 0);
    *out = (text){0};
    rs_sink sink = {put, out};
    return rs_file_header(path, 0, &sink, NULL);
}

static const char whole[] = " {\"a\": [1, {\"traceEvents\": 2}], \"traceEvents\": [{\"x\": \"]}\\\"\"}, {}], "
                            "\"b\" : {\"c\": null} , \"d\":\"\\\\\"}\n";

TEST(test_members_beside_the_events)
{
    text got;
    assert_int_equal(header_of(whole, strlen(whole), &got), RS_OK);
    assert_string_equal(got.bytes, "{\"a\": [1, {\"traceEvents\": 2}],\"b\" : {\"c\": null},\"d\":\"\\\\\"}");
    rs_sink sink = {put, &got};
    got.n = 0;
    assert_int_equal(rs_file_text(path, 0, &sink, NULL), RS_OK);
    assert_string_equal(got.bytes, whole);
}

/* Each beginning of the file gives the members that are whole, closed as an object. */
TEST(test_cut_anywhere)
{
    text got;
    for (size_t n = 0; n < strlen(whole); n++) {
        rs_status status = header_of(whole, n, &got);
        assert_int_equal(status, n < 2 ? RS_ERR_FORMAT : RS_OK);
        if (status == RS_OK) assert_true(got.bytes[0] == '{' && got.bytes[got.n - 1] == '}');
    }
}

TEST(test_what_is_no_object)
{
    static const char *const texts[] = {"", "[]", "null", "\xEF\xBB\xBF", "\x1f\x8b", "x{\"a\":1}"};
    text got;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_true(header_of(texts[i], strlen(texts[i]), &got) != RS_OK);
    static const char *const odd[] = {
        "{", "{]", "{\"a\"", "{\"a\":", "{\"a\":}", "{a:1}", "{\"a\":1 2}", "{,,}"};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
        assert_int_equal(header_of(odd[i], strlen(odd[i]), &got), RS_OK);
}

TEST(test_a_sink_that_fails)
{
    text full = {.n = sizeof full.bytes - 2};
    rs_sink sink = {put, &full};
    text got;
    assert_int_equal(header_of(whole, strlen(whole), &got), RS_OK);
    assert_int_equal(rs_file_header(path, 0, &sink, NULL), RS_ERR_IO);
    assert_int_equal(rs_file_text(path, 0, &sink, NULL), RS_ERR_IO);
    assert_int_equal(rs_file_text("/no/such/file", 0, &sink, NULL), RS_ERR_IO);
}

static int make_file(void **state)
{
    (void)state;
    int file = mkstemp(path);
    return file < 0 ? -1 : close(file);
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(path);
}

int main(void)
{
    return unit_run(make_file, remove_file);
}
