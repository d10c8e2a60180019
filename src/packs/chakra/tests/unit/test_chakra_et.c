/* Chakra execution traces: from a linked trace to messages, and proving them. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "chakra/proto.h"
#include "rankscope/chakra_trace.h"
#include "unit.h"

typedef struct block {
    char bytes[16384];
    size_t n;
} block;

static bool keep(void *context, const char *bytes, size_t n)
{
    block *b = context;
    if (n > sizeof b->bytes - 1 - b->n) return false;
    memcpy(b->bytes + b->n, bytes, n);
    b->n += n;
    b->bytes[b->n] = '\0';
    return true;
}

#define HOST(id, name, parent, more)                                                                         \
    "{\"id\": " #id ", \"name\": \"" name "\", \"ctrl_deps\": " #parent                                      \
    ", \"inputs\": {\"values\": [], \"shapes\": [], \"types\": []}, \"outputs\": {\"values\": [], "          \
    "\"shapes\": [], \"types\": []}, \"attrs\": [{\"name\": \"rf_id\", \"type\": \"uint64\", "               \
    "\"value\": " #id "}]" more "}"
#define TIMED(ts, dur) ", \"ts\": " ts ", \"inclusive_dur\": " dur ", \"exclusive_dur\": " dur
#define KERNEL(ts, launch) TIMED(ts, "7.25") ", \"cat\": \"kernel\", \"stream\": 7, \"launch_ts\": " launch

/* Two kernels of one operator whose order on the stream is not that of their ids, and an operator that waited
 * for the first; SYNC is its sync_dep. */
#define TRACE(schema, sync)                                                                                  \
    "{\"schema\": \"" schema                                                                                 \
    "\", \"nodes\": [" HOST(0, "[p|process]", 0, "") ", " HOST(1, "[p|thread]", 0, "") ", " HOST(            \
        2, "aten::mm", 1,                                                                                    \
        TIMED("100.5",                                                                                       \
              "20")) ", " HOST(3, "ncclDevKernel_AllReduce_Sum", 2,                                          \
                               KERNEL(                                                                       \
                                   "130",                                                                    \
                                   "110")) ", " HOST(4, "gemm", 2,                                           \
                                                     KERNEL(                                                 \
                                                         "121.125",                                          \
                                                         "105")) ", " HOST(5, "aten::item", 1,               \
                                                                           TIMED("150",                      \
                                                                                 "1.999") ", \"sync_dep\": " \
                                                                                          "[" sync "]") "]}"

static rs_status convert(const char *text, block *out, rs_chakra_convert_report *report, rs_error *err)
{
    rs_sink sink = {keep, out};
    rs_chakra_convert_settings settings = {.size = sizeof(rs_chakra_convert_settings),
                                           .linked = "linked",
                                           .bytes = text,
                                           .n_bytes = strlen(text),
                                           .timing = RS_CHAKRA_TIMING_EXCLUSIVE,
                                           .allow_unlinked = true};
    out->n = 0;
    return rs_chakra_convert(&settings, &sink, report, err);
}

static void assert_deps(const Rs__Et__Node *node, size_t n, const uint64_t *want)
{
    assert_int_equal(node->n_data_deps, n);
    for (size_t i = 0; i < n; i++) assert_int_equal(node->data_deps[i], want[i]);
}

TEST(test_convert)
{
    block out;
    rs_error err = RS_ERROR_INIT;
    rs_chakra_convert_report report;
    rs_et_reader *reader;
    const Rs__Et__Node *node;
    static const uint64_t deps[6][2] = {{0}, {0}, {1}, {2, 4}, {2}, {2, 3}};
    static const size_t counts[6] = {0, 0, 1, 2, 1, 2};
    assert_int_equal(convert(TRACE("1.0.2-chakra.0.0.4", "3"), &out, &report, &err), RS_OK);
    assert_int_equal(report.nodes, 6);
    assert_int_equal(report.gpu_nodes, 2);
    assert_int_equal(report.stream, 1);
    assert_int_equal(report.sync, 1);
    assert_int_equal(rs_et_open_bytes(out.bytes, out.n, "et", &reader, &err), RS_OK);
    for (uint64_t id = 0; id < 6; id++) {
        int64_t value;
        assert_int_equal(rs_et_next(reader, &node, &err), RS_OK);
        assert_non_null(node);
        assert_int_equal(node->id, id);
        assert_deps(node, counts[id], deps[id]);
        assert_true(rs_et_attribute_int(node, "rf_id", &value) && value == (int64_t)id);
        assert_true(rs_et_attribute_int(node, "is_cpu_op", &value) && value == (id != 3 && id != 4));
        if (id == 5) {
            assert_int_equal(node->duration_micros, 1);
            assert_true(rs_et_attribute_int(node, "duration_ns", &value) && value == 1999);
        }
        if (id == 4) {
            assert_int_equal(node->start_time_micros, 121);
            assert_true(rs_et_attribute_int(node, "start_ns", &value) && value == 121125);
            assert_int_equal(node->type, RS__ET__NODE_TYPE__COMP_NODE);
        }
        if (id == 3) {
            assert_int_equal(node->type, RS__ET__NODE_TYPE__COMM_COLL_NODE);
            assert_true(rs_et_attribute_int(node, "comm_type", &value) &&
                        value == RS__ET__COLLECTIVE_TYPE__ALL_REDUCE);
        }
    }
    assert_int_equal(rs_et_next(reader, &node, &err), RS_OK);
    assert_null(node);
    rs_et_close(reader);
    rs_chakra_convert_report_clear(&report);
}

TEST(test_bad_linked)
{
    block out;
    rs_error err = RS_ERROR_INIT;
    rs_chakra_convert_report report;
    char text[1024];
    assert_int_equal(convert(TRACE("9.9-mystery", "3"), &out, &report, &err), RS_ERR_FORMAT);
    assert_non_null(strstr(rs_error_text(&err, text, sizeof text), "9.9-mystery"));
    rs_chakra_convert_report_clear(&report);

    assert_int_equal(convert(TRACE("1.0.2-chakra.0.0.4", "77"), &out, &report, &err), RS_OK);
    assert_int_equal(rs_problems_worst(&report.problems), RS_LOSS);
    rs_chakra_convert_report_clear(&report);

    assert_int_equal(convert(TRACE("1.0.2-chakra.0.0.4", "5"), &out, &report, &err), RS_ERR_FORMAT);
    assert_non_null(strstr(rs_error_text(&err, text, sizeof text), "cycle"));
    assert_int_equal(out.n, 0);
    rs_chakra_convert_report_clear(&report);

    /* every cut is noticed */
    static const char whole[] = TRACE("1.0.2-chakra.0.0.4", "3");
    for (size_t n = 0; n + 1 < sizeof whole - 1; n++) {
        rs_sink sink = {keep, &out};
        rs_chakra_convert_settings settings = {
            .size = sizeof(rs_chakra_convert_settings), .linked = "linked", .bytes = whole, .n_bytes = n};
        out.n = 0;
        assert_int_equal(rs_chakra_convert(&settings, &sink, &report, &err), RS_ERR_FORMAT);
        assert_int_equal(out.n, 0);
        rs_chakra_convert_report_clear(&report);
    }
}

TEST(test_no_memory)
{
    block out;
    rs_error err = RS_ERROR_INIT;
    rs_chakra_convert_report report;
    rs_status status = RS_ERR_NOMEM;
    uint64_t n = 0;
    while (status == RS_ERR_NOMEM && n < 10000) {
        rs_test_fail_allocation(++n);
        status = convert(TRACE("1.0.2-chakra.0.0.4", "3"), &out, &report, &err);
        rs_test_fail_allocation(0);
        rs_chakra_convert_report_clear(&report);
    }
    assert_int_equal(status, RS_OK);
    assert_true(n > 10);
    size_t size = out.n;
    n = 0;
    do {
        rs_et_reader *reader = NULL;
        const Rs__Et__Node *node = NULL;
        rs_test_fail_allocation(++n);
        status = rs_et_open_bytes(out.bytes, size, "et", &reader, &err);
        while (status == RS_OK && (status = rs_et_next(reader, &node, &err)) == RS_OK && node) {
        }
        rs_test_fail_allocation(0);
        rs_et_close(reader);
        assert_true(status == RS_OK || status == RS_ERR_NOMEM);
    } while (status != RS_OK && n < 10000);
    assert_int_equal(status, RS_OK);
}

TEST(test_cut_trace)
{
    block out;
    rs_error err = RS_ERROR_INIT;
    rs_chakra_convert_report report;
    size_t whole = 0;
    assert_int_equal(convert(TRACE("1.0.2-chakra.0.0.4", "3"), &out, &report, &err), RS_OK);
    rs_chakra_convert_report_clear(&report);
    for (size_t n = 0; n <= out.n; n++) {
        rs_et_reader *reader = NULL;
        const Rs__Et__Node *node = NULL;
        rs_status status = rs_et_open_bytes(out.bytes, n, "et", &reader, &err);
        while (status == RS_OK && (status = rs_et_next(reader, &node, &err)) == RS_OK && node) {
        }
        rs_et_close(reader);
        assert_true(status == RS_OK || status == RS_ERR_FORMAT);
        if (status == RS_OK) whole++;
        if (status != RS_OK) assert_true(err.causes[0].offset <= n);
    }
    assert_int_equal(whole, 7); /* behind the metadata and after each node */
}

/* Lists of attributes that begin alike and go on differently: numbers, texts, lists, members in another
 * order, twice, and with white space. */
static const char *const attribute_lists[] = {
    "",
    "{\"name\": \"rf_id\", \"type\": \"uint64\", \"value\": 1}, {\"name\": \"tid\", \"value\": \"\"}",
    "{\"name\": \"rf_id\", \"type\": \"uint64\", \"value\": 007}, {\"name\": \"tid\", \"value\": \"a\\u00e9 "
    "'b'\"}",
    "{\"name\": \"rf_id\", \"type\": \"uint64\", \"value\": -1}, {\"name\": \"tid\", \"value\": null}",
    "{\"name\": \"rf_id\", \"type\": \"uint64\", \"value\": 0}, {\"name\": \"tid\", \"value\": [1, \"x\", "
    "{\"a\": "
    "null}]}",
    "{\"name\": \"rf_id\", \"type\": \"uint64\", \"value\": 1, \"name\": \"tid\"}, {\"name\": \"tid\", "
    "\"value\": "
    "\"}\", \"value\": 3}",
    "{\"name\": \"rf_id\", \"type\": \"uint64\", \"value\":  1}, {\"name\": \"tid\", \"value\": 2 }",
    "{\"name\": \"rf_id\", \"type\": \"uint64\", \"value\": 18446744073709551615},{\"name\": \"tid\", "
    "\"value\": "
    "123456789012345678901234}",
    "{\"name\": \"rf_id\", \"type\": \"uint64\", \"value\": 9223372036854775807} , {\"name\": \"tid\", "
    "\"value\": "
    "1.5}, {\"name\": \"scope\", \"value\": true}",
    "{\"value\": 1, \"name\": \"rf_id\"}, 5, {}, {\"name\": \"stream\", \"value\": 4}, {\"name\": "
    "\"kernel\", "
    "\"value\": 1}",
    "{\"name\": \"stream\", \"value\": 4}, {\"name\": \"kernel\", \"value\": 1}, {\"name\": 3, \"value\": 4}",
    "{\"name\": \"tid\", \"value\": 12}, {\"name\": \"rf_id\", \"type\": \"uint64\", \"value\": 1e3}",
};
#define N_LISTS (sizeof attribute_lists / sizeof *attribute_lists)

/* Converts two nodes with these attributes; where the second one's message begins. */
static size_t convert_lists(const char *first, const char *second, const char *more, block *out)
{
    static const char io[] = "{\"values\": [], \"shapes\": [], \"types\": []}";
    char text[4096];
    rs_error err = RS_ERROR_INIT;
    rs_chakra_convert_report report;
    rs_et_reader *reader;
    const Rs__Et__Node *node;
    uint64_t at;
    int n = snprintf(text, sizeof text,
                     "{\"schema\": \"1.0.2-chakra.0.0.4\", \"nodes\": [{\"id\": 1, \"name\": \"a\", "
                     "\"inputs\": %s, \"outputs\": %s, \"attrs\": [%s]}, {\"id\": 2, \"name\": \"b\", "
                     "\"ctrl_deps\": 1, \"inputs\": %s, \"outputs\": %s, \"attrs\": [%s]%s}]}",
                     io, io, first, io, io, second, more);
    assert_true(n > 0 && (size_t)n < sizeof text);
    assert_int_equal(convert(text, out, &report, &err), RS_OK);
    rs_chakra_convert_report_clear(&report);
    assert_int_equal(rs_et_open_bytes(out->bytes, out->n, "et", &reader, &err), RS_OK);
    assert_int_equal(rs_et_next(reader, &node, &err), RS_OK);
    assert_int_equal(rs_et_next(reader, &node, &err), RS_OK);
    assert_int_equal(node->id, 2);
    at = rs_et_offset(reader);
    rs_et_close(reader);
    return (size_t)at;
}

/* What a node has does not depend on what the one before it had. */
TEST(test_attributes)
{
    static const char *const more[] = {"", KERNEL("5", "4")};
    static block alone, after;
    for (size_t m = 0; m < 2; m++)
        for (size_t i = 0; i < N_LISTS; i++) {
            size_t want = convert_lists("", attribute_lists[i], more[m], &alone);
            for (size_t k = 0; k < N_LISTS; k++) {
                size_t at = convert_lists(attribute_lists[k], attribute_lists[i], more[m], &after);
                assert_int_equal(after.n - at, alone.n - want);
                assert_memory_equal(after.bytes + at, alone.bytes + want, alone.n - want);
            }
        }
}

TEST(test_literals)
{
    static block out;
    rs_error err = RS_ERROR_INIT;
    rs_chakra_convert_report report;
    rs_et_reader *reader;
    const Rs__Et__Node *node;
    assert_int_equal(
        convert("{\"schema\": \"1.0.2-chakra.0.0.4\", \"nodes\": [{\"id\": 1, \"name\": \"a\", \"inputs\": "
                "{\"types\": [], \"values\": [\"plain [text]\",\"\", \"it's\", \"say \\\"'\\\"\", "
                "\"\\u00e9\\n\", "
                "\"a\\\\b\", \"\x7f\", null, [true,-1.5, NaN], {\"k\":\"v\"}]}}]}",
                &out, &report, &err),
        RS_OK);
    rs_chakra_convert_report_clear(&report);
    assert_int_equal(rs_et_open_bytes(out.bytes, out.n, "et", &reader, &err), RS_OK);
    assert_int_equal(rs_et_next(reader, &node, &err), RS_OK);
    assert_string_equal(
        node->inputs->values,
        "['plain [text]', '', \"it's\", 'say \"\\'\"', '\xc3\xa9\\n', 'a\\\\b', '\\x7f', None, "
        "[True, -1.5, nan], {'k': 'v'}]");
    assert_string_equal(node->inputs->shapes, "[]");
    rs_et_close(reader);
}
