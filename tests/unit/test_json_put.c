/* What is put comes back: names, commas, brackets and lines of text/json_put.h. */
#include "text/json_put.h"

#include <math.h>

#include "support.h"

typedef struct fixture {
    text text;
    rs_sink sink;
    rs_writer writer;
    rs_json_put json;
} fixture;

static void begin(fixture *f)
{
    f->sink = text_sink(&f->text);
    rs_writer_init(&f->writer, &f->sink);
    rs_json_put_init(&f->json, &f->writer);
}

static void expect(fixture *f, const char *wanted)
{
    rs_error err = RS_ERROR_INIT;
    assert_int_equal(rs_writer_finish(&f->writer, &err), RS_OK);
    assert_string_equal(f->text.s, wanted);
    text_clear(&f->text);
}

TEST(test_values)
{
    static fixture f;
    begin(&f);
    rs_json_put *j = &f.json;
    rs_json_put_open(j, NULL, '{', RS_JSON_LINE);
    rs_json_put_text(j, "text", "a\"b\n");
    rs_json_put_text(j, "none", NULL);
    rs_json_put_string(j, "part", "abcdef", 3);
    rs_json_put_bool(j, "yes", true);
    rs_json_put_int(j, "int", -3);
    rs_json_put_uint(j, "uint", UINT64_MAX);
    rs_json_put_known(j, "known", 0, true);
    rs_json_put_known(j, "unknown", 7, false);
    rs_json_put_time(j, "us", -1500, RS_UNIT_US);
    rs_json_put_real(j, "real", 0.5);
    rs_json_put_real(j, "nan", NAN);
    rs_json_put_ints(j, "ints", (const int64_t[]){1, 2}, 2);
    rs_json_put_texts(j, "texts", (const char *const[]){"a", "b"}, 2);
    rs_json_put_ints(j, "empty", NULL, 0);
    rs_json_put_close(j);
    expect(&f,
           "{\"text\": \"a\\\"b\\n\", \"none\": null, \"part\": \"abc\", \"yes\": true, \"int\": -3, "
           "\"uint\": 18446744073709551615, \"known\": 0, \"unknown\": null, \"us\": -1.5, \"real\": 0.5, "
           "\"nan\": null, \"ints\": [1, 2], \"texts\": [\"a\", \"b\"], \"empty\": []}");
}

TEST(test_layouts)
{
    static fixture f;
    begin(&f);
    rs_json_put *j = &f.json;
    rs_json_put_open(j, NULL, '{', RS_JSON_BREAKS);
    rs_json_put_int(j, "a", 1);
    rs_json_put_open(j, "b", '[', RS_JSON_LINES);
    rs_json_put_int(j, NULL, 2);
    rs_json_put_open(j, NULL, '{', RS_JSON_LINE);
    rs_json_put_close(j);
    rs_json_put_close(j);
    rs_json_put_open(j, "c", '[', RS_JSON_ROWS);
    rs_json_put_track(j, "process_name", 4, -1, "x");
    rs_json_put_track(j, "thread_name", 4, 0, "y");
    rs_json_put_close(j);
    rs_json_put_open(j, "d", '[', RS_JSON_LINES);
    rs_json_put_close(j);
    rs_json_put_layout(j, RS_JSON_LINE);
    rs_json_put_int(j, "e", 5);
    rs_json_put_close(j);
    expect(&f,
           "{\"a\": 1,\n"
           "  \"b\": [\n"
           "    2,\n"
           "    {}\n"
           "  ],\n"
           "  \"c\": [\n"
           "{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": 4, \"args\": {\"name\": \"x\"}},\n"
           "{\"ph\": \"M\", \"name\": \"thread_name\", \"pid\": 4, \"tid\": 0, \"args\": {\"name\": \"y\"}}\n"
           "],\n"
           "  \"d\": [], \"e\": 5}");
}
