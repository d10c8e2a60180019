/* Chakra's inputs damaged by structure: each member of a linked trace, and each field of the messages that are made of it.
 * Whatever it was, the trace that comes of it can be replayed to its end, or the input is refused with its place; and what
 * shows and proves traces shows and proves those, too. */
#include <jansson.h>
#include <unistd.h>

#include "chakra/proto.h"
#include "engine/feeder.h"
#include "members.h"
#include "rankscope/chakra_trace.h"
#include "sink.h"

#define LINKED RS_SOURCE_DIR "/src/packs/chakra/tests/data/chakra/linked.json"
#define N_NODES 32 /* of the linked trace */

static bool all_ways; /* --all: each way of each member, and of each field */

static bool is_turn(size_t place, size_t way, size_t every)
{
    return all_ways || (7 * place + 3 * way) % (RS_TEST_SLOW ? 6 * every : every) == 0;
}

/* ---- traces ----------------------------------------------------------------------------------------------- */

static rs_status convert(const text *t, size_t turn, collected *out, rs_chakra_convert_report *report,
                         rs_error *err)
{
    collected groups = {0};
    rs_sink sink = {collect, out}, other = {collect, &groups};
    rs_chakra_convert_settings settings = {
        .size = sizeof(rs_chakra_convert_settings),
        .linked = "linked.json",
        .bytes = t->s,
        .n_bytes = t->n,
        .groups = &other,
        .timing = turn & 1 ? RS_CHAKRA_TIMING_EXCLUSIVE : RS_CHAKRA_TIMING_RECORDED,
        .target = turn & 2 ? RS_CHAKRA_TARGET_ASTRA_SIM : RS_CHAKRA_TARGET_ANY,
        .allow_unlinked = turn & 4};
    rs_status status = rs_chakra_convert(&settings, &sink, report, err);
    if (status == RS_OK) {
        json_t *parsed = json_loadb(groups.text, groups.n, JSON_DECODE_INT_AS_REAL, NULL);
        assert_non_null(parsed);
        json_decref(parsed);
    }
    collected_clear(&groups);
    return status;
}

/* Reads the trace; how many nodes a simulator never issues, SIZE_MAX where it cannot be read. */
static size_t never_issued(const char *bytes, size_t n, size_t *n_nodes)
{
    rs_et_reader *reader;
    const Rs__Et__Node *node;
    rs_feeder f = {0};
    rs_status status = rs_et_open_bytes(bytes, n, "et", &reader, NULL);
    *n_nodes = 0;
    if (status != RS_OK) return SIZE_MAX;
    while ((status = rs_et_next(reader, &node, NULL)) == RS_OK && node) {
        assert_int_equal(rs_feeder_add(&f, node->id, node->data_deps, node->n_data_deps, node->ctrl_deps,
                                       node->n_ctrl_deps, NULL),
                         RS_OK);
        ++*n_nodes;
    }
    rs_et_close(reader);
    size_t left = SIZE_MAX;
    if (status == RS_OK) {
        assert_int_equal(rs_feeder_start(&f, NULL), RS_OK);
        for (uint32_t at; (at = rs_feeder_next(&f)) != RS_FEEDER_NONE;) rs_feeder_complete(&f, at);
        left = rs_feeder_left(&f);
    }
    rs_feeder_clear(&f);
    return left;
}

/* Everything that reads a trace reads this one; *faults: what check finds. The same answer of all: it is read, or broken. */
static rs_status show(const char *path, rs_chakra_target target, uint64_t *faults)
{
    collected said = {0}, report = {0}, graph = {0}, json = {0}, dot = {0}, lines = {0};
    rs_sink sink = {collect, &said}, json_sink = {collect, &report};
    rs_error err = RS_ERROR_INIT;
    uint64_t n;
    rs_chakra_check_settings settings = {
        .size = sizeof(rs_chakra_check_settings), .path = path, .report = &json_sink, .target = target};
    rs_status status = rs_chakra_check(&settings, &sink, faults, &err);
    assert_true(status == RS_OK || status == RS_ERR_FORMAT || status == RS_ERR_LIMIT);
    if (status == RS_OK) {
        json_t *parsed = json_loadb(report.text, report.n, JSON_DECODE_INT_AS_REAL, NULL);
        if (!parsed) fail_msg("no JSON: %s", report.text);
        json_decref(parsed);
    }
    rs_status printed = rs_chakra_print(path, 0, false, &(rs_sink){collect, &json}, &n, NULL);
    json_t *parsed =
        json_loadb(json.text ? json.text : "{}", json.text ? json.n : 2, JSON_DECODE_INT_AS_REAL, NULL);
    if (!parsed) fail_msg("print writes no JSON: %s", json.text);
    json_decref(parsed);
    if (status == RS_OK) assert_int_equal(printed, RS_OK);
    if (printed == RS_OK) {
        assert_int_equal(rs_chakra_print(path, 0, true, &(rs_sink){collect, &lines}, &n, NULL), RS_OK);
        assert_int_equal(rs_chakra_visualize(path, 0, &(rs_sink){collect, &dot}, NULL), RS_OK);
        assert_int_equal(rs_chakra_graphml(path, 0, &(rs_sink){collect, &graph}, NULL), RS_OK);
        assert_non_null(strstr(graph.text, "</graphml>"));
    }
    rs_status told = rs_chakra_jsonize(path, 0, &(rs_sink){collect, &lines}, NULL);
    assert_int_equal(told == RS_OK, printed == RS_OK);
    collected_clear(&said);
    collected_clear(&report);
    collected_clear(&graph);
    collected_clear(&json);
    collected_clear(&dot);
    collected_clear(&lines);
    return status;
}

/* ---- linked traces ---------------------------------------------------------------------------------------- */

TEST(test_linked)
{
    text linked = text_of_file(LINKED);
    members *all = members_of(linked.s);
    rs_error err = RS_ERROR_INIT;
    size_t n_converted = 0, n_shown = 0, n_nodes;
    for (size_t turn = 0; turn < 4; turn++) {
        collected et = {0};
        rs_chakra_convert_report report;
        assert_int_equal(convert(&linked, turn, &et, &report, &err), RS_OK);
        assert_int_equal(report.problems.n, 0);
        assert_int_equal(never_issued(et.text, et.n, &n_nodes), 0);
        assert_int_equal(n_nodes, report.nodes);
        assert_int_equal(report.nodes - report.gaps, N_NODES);
        rs_chakra_convert_report_clear(&report);
        collected_clear(&et);
    }
    for (size_t i = 0; i < all->n; i++)
        for (size_t way = 0; way < N_JSON_WAYS; way++) {
            if (!is_turn(i, way, 23)) continue;
            text t = member_damage(linked.s, &all->items[i], way);
            collected et = {0};
            rs_chakra_convert_report report;
            rs_status status = convert(&t, i + way, &et, &report, &err);
            assert_true(status == RS_OK || status == RS_ERR_FORMAT);
            if (status == RS_OK) {
                n_converted++;
                /* what it says it wrote is there, and every node of it is issued */
                size_t left = never_issued(et.text, et.n, &n_nodes);
                if (left != 0) fail_msg("%zu nodes are never issued: member %zu, way %zu", left, i, way);
                assert_int_equal(n_nodes, report.nodes);
                /* of a member of a node no more than that node is lost */
                if (member_record(all, linked.s, (uint32_t)i) != UINT32_MAX &&
                    n_nodes - report.gaps + 1 < N_NODES)
                    fail_msg("%zu nodes: member %zu, way %zu", n_nodes, i, way);
                if (n_converted % 8 == 0) {
                    char path[64];
                    uint64_t faults;
                    int fd = file_of(et.text, et.n, path);
                    assert_int_equal(show(path,
                                          (i + way) & 2 ? RS_CHAKRA_TARGET_ASTRA_SIM : RS_CHAKRA_TARGET_ANY,
                                          &faults),
                                     RS_OK);
                    close(fd);
                    n_shown++;
                }
            } else {
                assert_non_null(err.causes[0].message);
            }
            rs_chakra_convert_report_clear(&report);
            collected_clear(&et);
            text_clear(&t);
        }
    assert_true(n_converted > (RS_TEST_SLOW ? 15 : 100) && n_shown > (RS_TEST_SLOW ? 1 : 10));
    free(all);
    text_clear(&linked);
}

/* ---- messages --------------------------------------------------------------------------------------------- */

/* One message of the trace, or its metadata, with one field damaged; the lengths around it are right. */
TEST(test_messages)
{
    text linked = text_of_file(LINKED);
    rs_error err = RS_ERROR_INIT;
    collected et = {0};
    rs_chakra_convert_report report;
    assert_int_equal(convert(&linked, 0, &et, &report, &err), RS_OK);
    rs_chakra_convert_report_clear(&report);
    size_t which = 0, n_runs = 0, n_read = 0;
    for (size_t at = 0; at < et.n; which++) {
        uint64_t n = 0;
        rs_pb m = {(const uint8_t *)et.text + at, (const uint8_t *)et.text + et.n};
        assert_true(rs_pb_varint(&m, &n));
        size_t body = (size_t)(m.at - (const uint8_t *)et.text);
        pb_places *all = pb_places_of(m.at, n);
        for (size_t i = 0; i < all->n; i++)
            for (size_t way = 0; way < N_PB_WAYS; way++) {
                if (!is_turn(i + which, way, 101)) continue;
                text d = pb_damage(m.at, n, all, i, way), whole = {0};
                char path[64];
                uint64_t faults;
                size_t n_nodes;
                text_add(&whole, et.text, at);
                pb_put(&whole, d.n);
                if (d.n) text_add(&whole, d.s, d.n);
                text_add(&whole, et.text + body + n, et.n - body - n);
                int fd = file_of(whole.s, whole.n, path);
                rs_status status =
                    show(path, n_runs & 1 ? RS_CHAKRA_TARGET_ASTRA_SIM : RS_CHAKRA_TARGET_ANY, &faults);
                size_t left = never_issued(whole.s, whole.n, &n_nodes);
                if (status == RS_OK) assert_true(left != SIZE_MAX);
                /* what a simulator never issues is a fault */
                if (status == RS_OK && left && !faults)
                    fail_msg("no fault, but %zu nodes are never issued", left);
                n_runs++;
                n_read += status == RS_OK;
                close(fd);
                text_clear(&whole);
                text_clear(&d);
            }
        free(all);
        at = body + n;
    }
    assert_true(n_runs > (RS_TEST_SLOW ? 5 : 50) && n_read > n_runs / (RS_TEST_SLOW ? 20 : 4));
    collected_clear(&et);
    text_clear(&linked);
}

int main(int argc, char **argv)
{
    all_ways = argc > 1 && strcmp(argv[1], "--all") == 0;
    return unit_run(NULL, NULL);
}
