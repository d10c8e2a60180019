/* Chakra's smaller houses: the feeder, text workloads, the proof of a trace, and a simulator's log; hostile
 * input and each allocation failing in turn. */
#include <unistd.h>

#include "base/memory.h"
#include "engine/feeder.h"
#include "chakra/proto.h"
#include "rankscope/chakra_trace.h"
#include "sink.h"
#include "support.h" /* last: its `text` is an argument elsewhere */

/* ---- feeder ----------------------------------------------------------------------------------------- */

typedef struct given {
    uint64_t id;
    uint64_t data[4], ctrl[2]; /* up to the first 0 */
} given;

static size_t count_of_ids(const uint64_t *ids, size_t most)
{
    size_t n = 0;
    while (n < most && ids[n]) n++;
    return n;
}

static rs_status fill(rs_feeder *f, const given *nodes, size_t n, rs_error *err)
{
    rs_status status = RS_OK;
    for (size_t i = 0; i < n && status == RS_OK; i++)
        status = rs_feeder_add(f, nodes[i].id, nodes[i].data, count_of_ids(nodes[i].data, 4), nodes[i].ctrl,
                               count_of_ids(nodes[i].ctrl, 2), err);
    return status == RS_OK ? rs_feeder_start(f, err) : status;
}

/* Two streams behind one operator, one kernel of the second waiting for the first; the file in no order. */
static const given job[] = {
    {6, {4, 5}, {2}}, {2, {1}, {1}},    {3, {2}, {2}},    {4, {3, 2}, {2}},
    {5, {2}, {2}},    {1, {0}, {1, 0}}, {7, {2, 4}, {1}},
};
#define N_JOB (sizeof job / sizeof *job)

TEST(test_feeder_order)
{
    rs_feeder f = {0};
    rs_error err = RS_ERROR_INIT;
    assert_int_equal(fill(&f, job, N_JOB, &err), RS_OK);
    uint32_t node = rs_feeder_next(&f);
    assert_int_equal(f.nodes[node].id, 1);
    assert_int_equal(rs_feeder_next(&f), RS_FEEDER_NONE); /* issued is not done */
    rs_feeder_complete(&f, node);
    rs_feeder_complete(&f, node); /* a second time changes nothing */
    node = rs_feeder_next(&f);
    assert_int_equal(f.nodes[node].id, 2);
    rs_feeder_complete(&f, node);
    /* ready together: the lowest id first */
    uint32_t third = rs_feeder_next(&f), fifth = rs_feeder_next(&f);
    assert_int_equal(f.nodes[third].id, 3);
    assert_int_equal(f.nodes[fifth].id, 5);
    rs_feeder_complete(&f, fifth);
    assert_int_equal(rs_feeder_next(&f), RS_FEEDER_NONE);
    rs_feeder_complete(&f, third);
    node = rs_feeder_next(&f);
    assert_int_equal(f.nodes[node].id, 4);
    assert_int_equal(rs_feeder_left(&f), 2);
    rs_feeder_complete(&f, node);
    assert_int_equal(f.nodes[rs_feeder_next(&f)].id, 6);
    assert_int_equal(f.nodes[rs_feeder_next(&f)].id, 7);
    assert_int_equal(rs_feeder_left(&f), 0);
    rs_feeder_clear(&f);
}

static void run(rs_feeder *f)
{
    for (uint32_t node; (node = rs_feeder_next(f)) != RS_FEEDER_NONE;) rs_feeder_complete(f, node);
}

static size_t left_of(const given *nodes, size_t n)
{
    rs_feeder f = {0};
    rs_error err = RS_ERROR_INIT;
    assert_int_equal(fill(&f, nodes, n, &err), RS_OK);
    run(&f);
    size_t left = rs_feeder_left(&f);
    rs_feeder_clear(&f);
    return left;
}

TEST(test_feeder_deadlocks)
{
    const given ring[] = {{1, {3}, {0}}, {2, {1}, {0}}, {3, {2}, {0}}, {4, {0}, {0}}, {5, {3}, {0}}};
    const given dangling[] = {{1, {9}, {0}}, {2, {0}, {8}}, {3, {1}, {0}}, {4, {0}, {0}}};
    const given itself[] = {{1, {1}, {0}}, {2, {0}, {2}}};
    const given mixed[] = {{1, {2}, {0}}, {2, {0}, {1}}}; /* neither kind alone is a ring */
    const given twins[] = {{1, {0}, {0}}, {1, {2}, {0}}, {2, {1}, {0}}};
    assert_int_equal(left_of(NULL, 0), 0);
    assert_int_equal(left_of(job, N_JOB), 0);
    assert_int_equal(left_of(ring, 5), 4);
    assert_int_equal(left_of(dangling, 4), 3);
    assert_int_equal(left_of(itself, 2), 1);
    assert_int_equal(left_of(mixed, 2), 2);
    assert_int_equal(left_of(twins, 3), 0);
}

TEST(test_feeder_memory)
{
    rs_status status = RS_ERR_NOMEM;
    uint64_t n = 0;
    while (status == RS_ERR_NOMEM && n < 1000) {
        rs_feeder f = {0};
        rs_error err = RS_ERROR_INIT;
        rs_test_fail_allocation(++n);
        status = fill(&f, job, N_JOB, &err);
        rs_test_fail_allocation(0);
        rs_feeder_clear(&f);
    }
    assert_int_equal(status, RS_OK);
    assert_true(n > 5);
}

/* ---- text workloads --------------------------------------------------------------------------------- */

static const char WORKLOAD[] = "HYBRID_DATA_MODEL\n2\n"
                               "first -1 10 ALLGATHER 100 20 REDUCESCATTER 200 30 ALLREDUCE 300 1\n"
                               "second -1 40 ALLTOALL 400 50 NONE 0 60 ALLREDUCE 600 1\n";

static rs_status make_text(const char *load, size_t n, collected *out, uint64_t *nodes, rs_error *err)
{
    rs_sink sink = {collect, out};
    rs_chakra_text_settings settings = {
        .size = sizeof(rs_chakra_text_settings), .path = "load", .bytes = load, .n_bytes = n, .passes = 2};
    out->n = 0;
    return rs_chakra_text(&settings, &sink, nodes, err);
}

TEST(test_text)
{
    collected out = {0};
    rs_error err = RS_ERROR_INIT;
    uint64_t nodes;
    rs_et_reader *reader;
    const Rs__Et__Node *node;
    static const struct {
        const char *name;
        int64_t duration, comm_type, size; /* comm_type -1: computation */
        uint64_t deps[2];
    } want[] = {
        {"COMP_NODE_first_FWD", 10, -1, 0, {0}},
        {"COMM_COLL_NODE_first_ALLGATHER", 0, RS__ET__COLLECTIVE_TYPE__ALL_GATHER, 100, {1}},
        {"COMP_NODE_second_FWD", 40, -1, 0, {2}},
        {"COMM_COLL_NODE_second_ALLTOALL", 0, RS__ET__COLLECTIVE_TYPE__ALL_TO_ALL, 400, {3}},
        {"COMP_NODE_second_BWD_IG", 50, -1, 0, {4}},
        {"COMP_NODE_second_BWD_WG", 60, -1, 0, {5}},
        {"COMM_COLL_NODE_second_ALLREDUCE", 0, RS__ET__COLLECTIVE_TYPE__ALL_REDUCE, 600, {6}},
        {"COMP_NODE_first_BWD_IG",
         20,
         -1,
         0,
         {6}}, /* no input gradient of the second is sent: nothing else */
        {"COMP_NODE_first_BWD_WG", 30, -1, 0, {8}},
        {"COMM_COLL_NODE_first_ALLREDUCE", 0, RS__ET__COLLECTIVE_TYPE__ALL_REDUCE, 300, {9}},
        {"COMP_NODE_first_FWD", 10, -1, 0, {10}}, /* the second pass: with the weights of the first */
        {"COMM_COLL_NODE_first_ALLGATHER", 0, RS__ET__COLLECTIVE_TYPE__ALL_GATHER, 100, {11}},
        {"COMP_NODE_second_FWD", 40, -1, 0, {12, 7}},
    };
    assert_int_equal(make_text(WORKLOAD, strlen(WORKLOAD), &out, &nodes, &err), RS_OK);
    assert_int_equal(nodes, 20);
    assert_int_equal(rs_et_open_bytes(out.text, out.n, "et", &reader, &err), RS_OK);
    assert_string_equal(rs_et_metadata(reader)->attr[1]->string_val, WORKLOAD);
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        int64_t value;
        assert_int_equal(rs_et_next(reader, &node, &err), RS_OK);
        assert_string_equal(node->name, want[i].name);
        assert_int_equal(node->id, i + 1);
        assert_int_equal(node->duration_micros, want[i].duration);
        assert_int_equal(node->n_data_deps, count_of_ids(want[i].deps, 2));
        for (size_t k = 0; k < node->n_data_deps; k++) assert_int_equal(node->data_deps[k], want[i].deps[k]);
        assert_true(rs_et_attribute_int(node, "is_cpu_op", &value) && !value);
        assert_int_equal(rs_et_attribute_int(node, "comm_type", &value), want[i].comm_type >= 0);
        if (want[i].comm_type < 0) continue;
        assert_int_equal(value, want[i].comm_type);
        assert_int_equal(node->type, RS__ET__NODE_TYPE__COMM_COLL_NODE);
        assert_true(rs_et_attribute_int(node, "comm_size", &value) && value == want[i].size);
    }
    rs_et_close(reader);
    collected_clear(&out);
}

static void assert_refused(const char *load, const char *why)
{
    collected out = {0};
    rs_error err = RS_ERROR_INIT;
    char message[400];
    assert_int_equal(make_text(load, strlen(load), &out, NULL, &err), RS_ERR_FORMAT);
    if (!strstr(rs_error_text(&err, message, sizeof message), why))
        fail_msg("\"%s\", not \"%s\"", message, why);
    assert_int_equal(out.n, 0);
    collected_clear(&out);
}

TEST(test_text_damage)
{
    assert_refused("", "empty");
    assert_refused("\n \n\t\n", "empty");
    assert_refused("DATA", "line 2: the number of layers is missing");
    assert_refused("DATA 3\n", "line 1: nothing may follow");
    assert_refused("data\n", "line 1: the parallelism is one of");
    assert_refused("DATA\nmany\n", "line 2: the number of layers is needed, not \"many\"");
    assert_refused("DATA\n1 2\n", "line 2: the number of layers is needed, not \"2\"");
    assert_refused("DATA\n0\n", "line 2 announces 0 layers, 0 follow");
    assert_refused("DATA\n18446744073709551616\n", "line 2: the number of layers");
    assert_refused("DATA\n1\na -1 1 NONE 0 1 NONE 0 1 NONE 0\n",
                   "line 3: a layer has 12 columns, this line has 11");
    assert_refused("DATA\n1\na -1 1 NONE 0 1 NONE 0 1 NONE 0 1 DATA\n", "line 3: a layer has 12 columns");
    assert_refused("DATA\n1\na -1 -1 NONE 0 1 NONE 0 1 NONE 0 1\n",
                   "line 3: a time in us is needed, not \"-1\"");
    assert_refused("DATA\n1\na -1 1 NONE 0 1 NONE 0x1 1 NONE 0 1\n", "line 3: a size in bytes");
    assert_refused("DATA\n1\na -1 1 NONE 0 1 NONE 0 9223372036854775808 NONE 0 1\n", "line 3: a time");
    assert_refused("DATA\n1\n\n\na -1 1 NONE 0 1 Sum 0 1 NONE 0 1\n", "line 5: communication is");
    assert_refused("DATA\n1\na -1 1 NONE 0 1 NONE 0 1 NONE 0 soon\n", "line 3: an update time");
    assert_refused("HYBRID_DLRM\n", "line 1: after this parallelism the number");
    assert_refused("HYBRID_DLRM 1\n2\na -1 1 NONE 0 1 NONE 0 1 NONE 0 1\nb -1 1 NONE 0 1 NONE 0 1 NONE 0 1\n",
                   "layer 1 cannot be the last bottom layer");
    assert_refused("HYBRID_DLRM 9223372036854775807\n1\na -1 1 NONE 0 1 NONE 0 1 NONE 0 1\n",
                   "last bottom layer");
    assert_refused("DATA\n1\n\xff\xfe -1 1 NONE 0 1 NONE 0 1 NONE 0 1\n", "no text");

    collected out = {0};
    rs_error err = RS_ERROR_INIT;
    assert_int_equal(make_text("DATA\n\0", 6, &out, NULL, &err), RS_ERR_FORMAT);
    /* cut anywhere: refused; only the last number, its digits and the line's end cannot be missed */
    size_t whole = strlen(WORKLOAD), good = 0;
    for (size_t n = 0; n <= whole; n++) good += make_text(WORKLOAD, n, &out, NULL, &err) == RS_OK;
    assert_int_equal(good, 2);
    collected_clear(&out);
}

TEST(test_text_memory)
{
    collected out = {0};
    rs_status status = RS_ERR_NOMEM;
    uint64_t n = 0;
    while (status == RS_ERR_NOMEM && n < 1000) {
        rs_error err = RS_ERROR_INIT;
        rs_test_fail_allocation(++n);
        status = make_text(WORKLOAD, strlen(WORKLOAD), &out, NULL, &err);
        rs_test_fail_allocation(0);
    }
    assert_int_equal(status, RS_OK);
    assert_true(n > 5);
    /* a sink that takes no more */
    rs_error err = RS_ERROR_INIT;
    out.fail_after = 100;
    assert_int_equal(make_text(WORKLOAD, strlen(WORKLOAD), &out, NULL, &err), RS_ERR_IO);
    collected_clear(&out);
}

/* ---- messages --------------------------------------------------------------------------------------- */

/* Every message is what protobuf-c makes of it when it is read and packed again. */
static void assert_encoded(const collected *et)
{
    rs_error err = RS_ERROR_INIT;
    rs_et_reader *reader;
    const Rs__Et__Node *node;
    collected again = {0};
    uint8_t packed[4096];
    assert_int_equal(rs_et_open_bytes(et->text, et->n, "et", &reader, &err), RS_OK);
    const ProtobufCMessage *message = &rs_et_metadata(reader)->base;
    while (message) {
        size_t n = protobuf_c_message_get_packed_size(message);
        assert_true(n < sizeof packed);
        if (n > 127) collect(&again, (const char[]){(char)(n | 128), (char)(n >> 7)}, 2);
        if (n <= 127) collect(&again, (const char[]){(char)n}, 1);
        protobuf_c_message_pack(message, packed);
        collect(&again, (const char *)packed, n);
        assert_int_equal(rs_et_next(reader, &node, &err), RS_OK);
        message = node ? &node->base : NULL;
    }
    assert_int_equal(again.n, et->n);
    assert_memory_equal(again.text, et->text, et->n);
    rs_et_close(reader);
    collected_clear(&again);
}

TEST(test_messages)
{
    collected et = {0};
    rs_sink sink = {collect, &et};
    rs_error err = RS_ERROR_INIT;
    rs_chakra_generate_settings settings = {.size = sizeof(rs_chakra_generate_settings),
                                            .npus = 3,
                                            .npu = 2,
                                            .runtime = 300,
                                            .tensor_size = UINT64_MAX,
                                            .comm_size = -5};
    for (size_t p = 0; rs_chakra_pattern_name(p); p++) {
        et.n = 0;
        assert_int_equal(rs_chakra_generate(p, &settings, &sink, &err), RS_OK);
        assert_encoded(&et);
    }
    assert_int_equal(make_text(WORKLOAD, strlen(WORKLOAD), &et, NULL, &err), RS_OK);
    assert_encoded(&et);

    static char long_text[1000];
    memset(long_text, 'x', sizeof long_text - 1);
    uint64_t ids[] = {0, 127, 128, UINT64_MAX};
    Rs__Et__InputsOutputs io = RS__ET__INPUTS_OUTPUTS__INIT, empty = RS__ET__INPUTS_OUTPUTS__INIT;
    io.values = io.types = long_text;
    Rs__Et__Node node = RS__ET__NODE__INIT;
    node.id = UINT64_MAX;
    node.name = "";
    node.type = RS__ET__NODE_TYPE__COMM_COLL_NODE;
    node.data_deps = node.ctrl_deps = ids;
    node.n_data_deps = 4;
    node.n_ctrl_deps = 1;
    node.inputs = &io;
    node.outputs = &empty;
    node.start_time_micros = 1;
    rs_et_writer w;
    et.n = 0;
    rs_et_writer_init(&w, &sink);
    rs_et_add_text(&w, "long", long_text);
    rs_et_add_text(&w, "", "");
    rs_et_add_real(&w, "real", -1.5e300);
    rs_et_add_int(&w, "least", INT64_MIN);
    rs_et_add_int32(&w, "least32", INT32_MIN);
    assert_int_equal(rs_et_write_metadata(&w, "v", &err), RS_OK);
    rs_et_add_bool(&w, "no", false);
    rs_et_add_text(&w, "long", long_text);
    assert_int_equal(rs_et_write_node(&w, &node, &err), RS_OK);
    assert_int_equal(rs_et_writer_finish(&w, &err), RS_OK);
    rs_et_writer_clear(&w);
    assert_encoded(&et);
    collected_clear(&et);
}

/* ---- check ------------------------------------------------------------------------------------------ */

static rs_status check_bytes(const collected *et, collected *shown, collected *json, uint64_t *faults,
                             rs_error *err)
{
    char path[64];
    int fd = file_of(et->text, et->n, path);
    rs_sink sink = {collect, shown}, report = {collect, json};
    rs_chakra_check_settings settings = {
        .size = sizeof(rs_chakra_check_settings), .path = path, .report = &report};
    shown->n = json->n = 0;
    rs_status status = rs_chakra_check(&settings, &sink, faults, err);
    close(fd);
    return status;
}

/* A trace of nodes that only depend. */
static void write_nodes(collected *out, const given *nodes, size_t n)
{
    rs_sink sink = {collect, out};
    rs_error err = RS_ERROR_INIT;
    rs_et_writer w;
    out->n = 0;
    rs_et_writer_init(&w, &sink);
    assert_int_equal(rs_et_write_metadata(&w, "", &err), RS_OK);
    for (size_t i = 0; i < n; i++) {
        Rs__Et__Node node = RS__ET__NODE__INIT;
        node.id = nodes[i].id;
        node.name = "node";
        node.type = RS__ET__NODE_TYPE__COMP_NODE;
        node.duration_micros = 5;
        node.n_data_deps = count_of_ids(nodes[i].data, 4);
        node.data_deps = (uint64_t *)(uintptr_t)nodes[i].data;
        node.n_ctrl_deps = count_of_ids(nodes[i].ctrl, 2);
        node.ctrl_deps = (uint64_t *)(uintptr_t)nodes[i].ctrl;
        assert_int_equal(rs_et_write_node(&w, &node, &err), RS_OK);
    }
    assert_int_equal(rs_et_writer_finish(&w, &err), RS_OK);
    rs_et_writer_clear(&w);
}

TEST(test_check)
{
    collected et = {0}, shown = {0}, json = {0};
    rs_error err = RS_ERROR_INIT;
    uint64_t faults;
    write_nodes(&et, job, N_JOB);
    assert_int_equal(check_bytes(&et, &shown, &json, &faults, &err), RS_OK);
    assert_int_equal(faults, 0);
    assert_non_null(
        strstr(shown.text, "replay         7 of 7 nodes issued\ntime           replayed 25000 ns\n"));
    assert_non_null(
        strstr(json.text, "\"replay\": {\"issued\": 7, \"time_ns\": 25000, \"recorded_ns\": null}"));
    /* the two kinds of dependency in one ring: each alone is none, and still nothing can ever start */
    const given mixed[] = {{1, {2}, {0}}, {2, {0}, {1}}};
    write_nodes(&et, mixed, 2);
    assert_int_equal(check_bytes(&et, &shown, &json, &faults, &err), RS_OK);
    assert_int_equal(faults, 2);
    assert_non_null(strstr(json.text, "\"cycle\": 0, "));
    assert_non_null(strstr(json.text, "\"never_issued\": 2, "));

    rs_status status = RS_ERR_NOMEM;
    uint64_t n = 0;
    write_nodes(&et, job, N_JOB);
    while (status == RS_ERR_NOMEM && n < 1000) {
        rs_test_fail_allocation(++n);
        status = check_bytes(&et, &shown, &json, &faults, &err);
        rs_test_fail_allocation(0);
    }
    assert_int_equal(status, RS_OK);
    assert_true(n > 10);
    collected_clear(&et);
    collected_clear(&shown);
    collected_clear(&json);
}

/* ---- timeline --------------------------------------------------------------------------------------- */

static rs_status show_log(const char *log, double mhz, collected *out, rs_problems *problems, rs_error *err)
{
    char path[64];
    int fd = file_of(log, strlen(log), path);
    rs_sink sink = {collect, out};
    out->n = 0;
    rs_status status = rs_chakra_timeline(path, 0, mhz, &sink, problems, err);
    close(fd);
    return status;
}

TEST(test_timeline)
{
    static const char log[] =
        "[info] issue,npu=3,cycle=500,node=18446744073709551615,name=COMM_COLL_NODE_a\r\n"
        "callback,npu=3,cycle=x,node=1,name=b\n"
        "something else entirely\n"
        "callback,npu=3,cycle=1500,node=18446744073709551615,name=COMM_COLL_NODE_a\n";
    collected out = {0};
    rs_problems problems = {0};
    rs_error err = RS_ERROR_INIT;
    assert_int_equal(show_log(log, 500, &out, &problems, &err), RS_OK);
    assert_int_equal(problems.n, 0);
    assert_non_null(strstr(out.text, "\"pid\": 3, \"tid\": 4, \"ts\": 1, \"dur\": 2, "
                                     "\"args\": {\"node\": 18446744073709551615}"));
    /* the same log to its half: one issue without an end */
    assert_int_equal(show_log("issue,npu=0,cycle=1,node=1,name=x\n", 1, &out, &problems, &err), RS_OK);
    assert_int_equal(rs_problems_worst(&problems), RS_LOSS);
    rs_problems_clear(&problems);
    assert_int_equal(show_log(log, 0, &out, &problems, &err), RS_ERR_USAGE);
    rs_status status = RS_ERR_NOMEM;
    uint64_t n = 0;
    while (status == RS_ERR_NOMEM && n < 1000) {
        rs_test_fail_allocation(++n);
        status = show_log(log, 1, &out, &problems, &err);
        rs_test_fail_allocation(0);
        rs_problems_clear(&problems);
    }
    assert_int_equal(status, RS_OK);
    assert_true(n > 2);
    collected_clear(&out);
}
