/* The report's data: harmless inside a page, cut where it says so, the renderer's numbers, and whole or an
 * error whatever allocation fails. That the page shows it is the browser tests' part. */
#include <jansson.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "report/data.h"
#include "rankscope/report.h"
#include "sink.h"
#include "support.h"

/* ---- escaping ----------------------------------------------------------------------------------------- */

static void check_escape(const char *in, const char *expected, size_t piece)
{
    collected out = {0};
    rs_sink sink = {collect, &out};
    rs_report_escape escape = {.sink = &sink};
    rs_sink escaped = rs_report_escape_sink(&escape);
    size_t n = strlen(in);
    for (size_t i = 0; i < n; i += piece)
        assert_true(escaped.write(escaped.context, in + i, n - i < piece ? n - i : piece));
    assert_string_equal(out.text ? out.text : "", expected);
    collected_clear(&out);
}

TEST(test_escape)
{
    static const char *const pairs[][2] = {
        {"\"plain\"", "\"plain\""},
        {"</script><!--&-->", "\\u003c/script\\u003e\\u003c!--\\u0026--\\u003e"},
        {"a\xE2\x80\xA8z\xE2\x80\xA9", "a\\u2028z\\u2029"},
        {"\xE2\x80\xA6\xE2\x82\xAC\xE2\x80\xAE<", "\xE2\x80\xA6\xE2\x82\xAC\xE2\x80\xAE\\u003c"},
        {"\xE2\x80\xA8\xE2\x80\xA8<<", "\\u2028\\u2028\\u003c\\u003c"},
        {"\xC3\xA4\xF0\x9F\x98\x80", "\xC3\xA4\xF0\x9F\x98\x80"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        for (size_t piece = 1; piece < 9; piece++) check_escape(pairs[i][0], pairs[i][1], piece);
}

TEST(test_escape_failing)
{
    for (size_t limit = 1; limit < 14; limit++) {
        collected out = {.fail_after = limit};
        rs_sink sink = {collect, &out};
        rs_report_escape escape = {.sink = &sink};
        rs_sink escaped = rs_report_escape_sink(&escape);
        assert_false(escaped.write(escaped.context,
                                   "ab<c\xE2\x80\xA8"
                                   "d",
                                   8));
        collected_clear(&out);
    }
}

/* ---- tables ------------------------------------------------------------------------------------------- */

static const rs_column_spec columns[] = {
    {"rank", RS_INT, RS_UNIT_ID, "rank", NULL},
    {"name", RS_TEXT, RS_UNIT_NONE, "name \"quoted\"", NULL},
    {"time_us", RS_TIME, RS_UNIT_US, "time", "time"},
    {"share", RS_REAL, RS_UNIT_RATIO, "share", NULL},
};
static const rs_table_spec spec = {"things", "one row is a thing", columns, 4};

static rs_table *make_table(void)
{
    static const char *const names[] = {"b", "a", NULL, "b"};
    static const int64_t times[] = {1500, -2, 7000001, 0};
    rs_error err = RS_ERROR_INIT;
    rs_table *table = rs_table_create(&spec);
    assert_non_null(table);
    for (int i = 0; i < 4; i++) {
        rs_table_add_int(table, i);
        rs_table_add_text(table, names[i]);
        if (i == 3)
            rs_table_add_null(table);
        else
            rs_table_add_time(table, times[i]);
        rs_table_add_real(table, i / 3.0);
        assert_int_equal(rs_table_end_row(table, &err), RS_OK);
    }
    return table;
}

/* The table as the page gets it, followed by the texts. */
static void put(const rs_report_part *part, collected *out)
{
    rs_error err = RS_ERROR_INIT;
    rs_sink sink = {collect, out};
    rs_writer writer;
    rs_report_data data = {.writer = &writer};
    rs_table *table = make_table();
    rs_writer_init(&writer, &sink);
    assert_true(rs_strings_init(&data.strings));
    assert_int_equal(rs_report_put_table(&data, table, part, &err), RS_OK);
    rs_report_put_strings(&data);
    assert_int_equal(rs_writer_finish(&writer, &err), RS_OK);
    rs_strings_clear(&data.strings);
    rs_table_free(table);
}

TEST(test_table)
{
    collected out = {0};
    put(&(rs_report_part){"things", NULL, 10, "time_us"}, &out);
    assert_string_equal(out.text,
                        "{\"columns\":[[\"rank\",\"int\",\"id\",null,\"rank\"],"
                        "[\"name\",\"text\",\"\",null,\"name \\\"quoted\\\"\"],"
                        "[\"time_us\",\"time\",\"us\",\"time\",\"time\"],"
                        "[\"share\",\"real\",\"ratio\",null,\"share\"]],\"rows\":["
                        "[0,1,1.5,0],[1,2,-0.002,0.3333333333333333],[2,null,7000.001,0.6666666666666666],"
                        "[3,1,null,1]],\"total\":4,\"order\":null}[\"\",\"b\",\"a\"]");
    collected_clear(&out);
}

TEST(test_table_cut)
{
    static const struct {
        rs_report_part part;
        const char *rows;
    } cases[] = {
        /* the largest, in the table's order; what is unknown goes first */
        {{"things", "rank,time_us", 2, "time_us"},
         "[[0,1.5],[2,7000.001]],\"total\":4,\"order\":\"time_us\""},
        {{"things", "rank", 3, "time_us"}, "[[0],[1],[2]],\"total\":4,\"order\":\"time_us\""},
        {{"things", "rank", 1, NULL}, "[[0]],\"total\":4,\"order\":null"},
        {{"things", "rank", 0, "share"}, "[],\"total\":4,\"order\":\"share\""},
        {{"things", "share,rank", 1, "share"}, "[[1,3]],\"total\":4,\"order\":\"share\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        collected out = {0};
        put(&cases[i].part, &out);
        assert_non_null(strstr(out.text, cases[i].rows));
        collected_clear(&out);
    }
}

/* ---- the whole page ----------------------------------------------------------------------------------- */

typedef struct job_files {
    char folder[32], paths[2][64];
    rs_job *job;
} job_files;

static void open_job(job_files *f)
{
    rs_error err = RS_ERROR_INIT;
    strcpy(f->folder, "/tmp/rankscope-report-XXXXXX");
    assert_non_null(mkdtemp(f->folder));
    for (int rank = 0; rank < 2; rank++) {
        text t = {0};
        text_rank(&t, rank, 3);
        snprintf(f->paths[rank], sizeof f->paths[rank], "%s/rank%d.json", f->folder, rank);
        text_save(&t, f->paths[rank]);
        text_clear(&t);
    }
    const char *paths[] = {f->paths[0], f->paths[1]};
    rs_job_settings settings = {.size = sizeof(rs_job_settings), .jobs = 1, .keep = true};
    assert_int_equal(rs_job_open(paths, 2, &settings, &f->job, &err), RS_OK);
}

static void close_job(job_files *f)
{
    rs_job_close(f->job);
    for (int rank = 0; rank < 2; rank++) unlink(f->paths[rank]);
    rmdir(f->folder);
}

static rs_status write_page(job_files *f, collected *out, rs_error *err)
{
    const char *inputs[] = {"</script><b>traces\xE2\x80\xA8"};
    rs_report_settings settings = {.size = sizeof settings, .inputs = inputs, .n_inputs = 1, .jobs = 1};
    rs_sink sink = {collect, out};
    rs_result told;
    rs_status status = rs_report_write(f->job, &settings, &sink, &told, err);
    rs_result_clear(&told);
    return status;
}

static bool built_without_page(void)
{
    rs_error err = RS_ERROR_INIT;
    rs_status status = rs_report_check(&err);
    if (status != RS_OK) assert_int_equal(status, RS_ERR_USAGE);
    return status != RS_OK;
}

/* Settings without their size, or with fields of a later library. */
TEST(test_settings)
{
    struct {
        rs_report_settings known;
        int later;
    } given = {.later = 1};
    char line[300];
    job_files f;
    rs_result told;
    rs_error err = RS_ERROR_INIT;
    if (built_without_page()) skip();
    open_job(&f);
    assert_int_equal(rs_report_write(f.job, &given.known, NULL, &told, &err), RS_ERR_USAGE);
    assert_non_null(strstr(rs_error_text(&err, line, sizeof line), "rs_report_settings.size is not set"));
    given.known.size = sizeof given;
    assert_int_equal(rs_report_write(f.job, &given.known, NULL, &told, &err), RS_ERR_USAGE);
    assert_non_null(strstr(rs_error_text(&err, line, sizeof line), "rs_report_settings has fields"));
    close_job(&f);
}

TEST(test_page)
{
    static const char open[] = "<script type=\"application/json\" id=\"data\">";
    job_files f;
    collected out = {0};
    rs_error err = RS_ERROR_INIT;
    if (built_without_page()) skip();
    open_job(&f);
    assert_int_equal(write_page(&f, &out, &err), RS_OK);
    const char *data = strstr(out.text, open);
    assert_non_null(data);
    data += sizeof open - 1;
    const char *end = strstr(data, "</script>");
    assert_non_null(end);
    json_error_t problem;
    json_t *page = json_loadb(data, (size_t)(end - data), 0, &problem);
    assert_non_null(page);
    assert_string_equal(json_string_value(json_array_get(json_object_get(page, "inputs"), 0)),
                        "</script><b>traces\xE2\x80\xA8");
    json_t *answers = json_object_get(page, "answers");
    assert_true(json_object_size(answers) >= 12);
    json_t *ranks = json_object_get(json_object_get(json_object_get(answers, "info"), "tables"), "ranks");
    assert_int_equal(json_integer_value(json_object_get(ranks, "total")), 2);
    static const char *const over_ranks[][2] = {
        {"replay", "replay"}, {"blame", "totals"}, {"clocks", "clocks"}};
    for (size_t i = 0; i < 3; i++) {
        json_t *tables = json_object_get(json_object_get(answers, over_ranks[i][0]), "tables");
        json_t *total = json_object_get(json_object_get(tables, over_ranks[i][1]), "total");
        assert_true(json_integer_value(total) > 0);
    }
    json_decref(page);
    collected_clear(&out);
    close_job(&f);
}

TEST(test_page_no_room)
{
    job_files f;
    if (built_without_page()) skip();
    open_job(&f);
    for (size_t limit = 1; limit < 800000; limit = limit * 3 + 1) {
        collected out = {.fail_after = limit};
        rs_error err = RS_ERROR_INIT;
        rs_status status = write_page(&f, &out, &err);
        if (status != RS_OK) assert_int_equal(status, RS_ERR_IO);
        if (limit < 300000) assert_int_equal(status, RS_ERR_IO);
        collected_clear(&out);
    }
    close_job(&f);
}

TEST(test_page_no_memory)
{
    job_files f;
    collected full = {0};
    rs_error err = RS_ERROR_INIT;
    if (built_without_page()) skip();
    open_job(&f);
    assert_int_equal(write_page(&f, &full, &err), RS_OK); /* loads and keeps */
    collected_clear(&full);
    rs_test_fail_allocation(0);
    assert_int_equal(write_page(&f, &full, &err), RS_OK);
    uint64_t n = rs_test_fail_allocation(0);
    size_t failed = 0;
    for (uint64_t k = 1; k <= n; k += k < 60 ? 1 : n / ROUNDS(240) + 1) {
        collected out = {0};
        err = (rs_error)RS_ERROR_INIT;
        rs_test_fail_allocation(k);
        rs_status status = write_page(&f, &out, &err);
        rs_test_fail_allocation(0);
        if (status == RS_OK) {
            assert_non_null(strstr(out.text, "\"strings\":["));
        } else {
            assert_int_equal(status, RS_ERR_NOMEM);
            failed++;
        }
        collected_clear(&out);
    }
    assert_true(failed > 3);
    collected_clear(&full);
    close_job(&f);
}
