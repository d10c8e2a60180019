/* Linking an execution trace with a device trace: who gets which time, parent and dependency; cut, damaged
 * and contradictory host traces; each allocation failing in turn. */
#include "support.h"

#include <unistd.h>

#include "base/memory.h"
#include "chakra/et.h"
#include "rankscope/chakra_trace.h"
#include "sink.h"

static void add_node(text *t, int id, const char *name, int parent, int rf, int tid)
{
    text_printf(
        t,
        "%s{\"id\": %d, \"name\": \"%s\", \"ctrl_deps\": %d, \"inputs\": {\"values\": [1, \"a]\"], "
        "\"shapes\": [], \"types\": []}, \"outputs\": {\"values\": [], \"shapes\": [], \"types\": []}, "
        "\"attrs\": [{\"name\": \"rf_id\", \"type\": \"uint64\", \"value\": %d}, "
        "{\"name\": \"tid\", \"type\": \"uint64\", \"value\": %d}]}",
        t->n && t->s[t->n - 1] == '}' ? ", " : "", id, name, parent, rf, tid);
}

#define HEAD "{\"schema\": \"1.0.2-chakra.0.0.4\", \"pid\": 1, \"nodes\": ["
#define TAIL "], \"finish_ts\": 5}"

/* Node 10 encloses 11, which launches; 12 starts after the wait. Written as they end, as PyTorch does. */
static text host_trace(void)
{
    text t = {0};
    text_puts(&t, HEAD);
    add_node(&t, 11, "aten::mm", 10, 102, 1);
    add_node(&t, 10, "aten::linear", 2, 101, 1);
    add_node(&t, 12, "aten::item", 2, 103, 1);
    add_node(&t, 2, "[pytorch|profiler|execution_trace|thread]", 1, 0, 1);
    add_node(&t, 1, "[pytorch|profiler|execution_trace|process]", 1, 0, 0);
    text_puts(&t, TAIL);
    return t;
}

static void add_op(text *t, const char *name, const char *ts, const char *dur, int rf)
{
    text_printf(t,
                "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"%s\", \"pid\": 1, \"tid\": 7, \"ts\": %s, "
                "\"dur\": %s, \"args\": {\"Record function id\": %d}},\n",
                name, ts, dur, rf);
}

static text device_trace(void)
{
    text t = {0};
    text_puts(&t, "{\"traceEvents\": [\n");
    add_op(&t, "aten::linear", "100.000", "50.000", 101);
    add_op(&t, "aten::mm", "100.000", "20.125", 102);
    add_op(&t, "aten::item", "400.000", "10.000", 103);
    text_puts(
        &t,
        "{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", \"pid\": 1, \"tid\": 7, "
        "\"ts\": 110, \"dur\": 5, \"args\": {\"correlation\": 5}},\n"
        "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"gemm\", \"pid\": 0, \"tid\": 9, \"ts\": 130.001, "
        "\"dur\": 200, \"args\": {\"correlation\": 5, \"stream\": 9, \"device\": 0}},\n"
        "{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaStreamSynchronize\", \"pid\": 1, "
        "\"tid\": 7, \"ts\": 160, \"dur\": 180, \"args\": {\"correlation\": 6}},\n"
        "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"late\", \"pid\": 0, \"tid\": 9, \"ts\": 900, "
        "\"dur\": 1, \"args\": {\"correlation\": 99, \"stream\": 9, \"device\": 0}}\n]}");
    return t;
}

static rs_status link_texts(const text *host, const text *device, collected *out,
                            rs_chakra_link_report *report, rs_error *err)
{
    char host_path[64], device_path[64];
    int a = file_of(host->s, host->n, host_path), b = file_of(device->s, device->n, device_path);
    rs_chakra_link_settings settings = {.size = sizeof(rs_chakra_link_settings),
                                        .host = host_path,
                                        .device = device_path,
                                        .min_match = 0.5,
                                        .jobs = 1};
    rs_sink sink = {collect, out};
    rs_status status = rs_chakra_link(&settings, &sink, report, err);
    close(a);
    close(b);
    return status;
}

static bool has(const collected *out, const char *part)
{
    return out->text && strstr(out->text, part) != NULL;
}

TEST(test_pair)
{
    text host = host_trace(), device = device_trace();
    collected out = {0};
    rs_chakra_link_report report;
    rs_error err = RS_ERROR_INIT;
    assert_int_equal(link_texts(&host, &device, &out, &report, &err), RS_OK);
    assert_int_equal(report.linked, 3);
    assert_int_equal(report.near_nodes, 3);
    assert_int_equal(report.gpu_nodes, 1);
    assert_int_equal(report.gpu_outside, 1);
    assert_int_equal(report.stream_syncs, 1);
    assert_int_equal(rs_problems_worst(&report.problems), RS_NOTE);
    /* the inner of two that start together has its time, the outer one the rest */
    assert_true(has(&out, "\"inclusive_dur\": 50, \"exclusive_dur\": 29.875, \"ts\": 100,"));
    assert_true(has(&out, "\"inclusive_dur\": 20.125, \"exclusive_dur\": 20.125, \"ts\": 100,"));
    assert_true(has(&out, "{\"id\": 5, \"name\": \"gemm\", \"ctrl_deps\": 4,"));
    assert_true(has(&out, "\"ts\": 130.001, \"inter_thread_dep\": null, \"cat\": \"kernel\""));
    assert_true(has(&out, "\"host_id\": 12, \"inclusive_dur\": 10, \"exclusive_dur\": 10, \"ts\": 400, "
                          "\"inter_thread_dep\": null, \"sync_dep\": [5]}"));
    assert_false(has(&out, "\"late\""));
    rs_chakra_link_report_clear(&report);
    collected_clear(&out);
    text_clear(&host);
    text_clear(&device);
}

TEST(test_other_run)
{
    text host = host_trace(), device = {0};
    text_puts(&device, "{\"traceEvents\": [\n");
    add_op(&device, "aten::linear", "1", "2", 7001);
    add_op(&device, "aten::mm", "4", "2", 7002);
    text_puts(&device, "{}]}");
    collected out = {0};
    rs_chakra_link_report report;
    rs_error err = RS_ERROR_INIT;
    assert_int_equal(link_texts(&host, &device, &out, &report, &err), RS_ERR_FORMAT);
    assert_non_null(strstr(err.causes[0].message, "0 of 3"));
    assert_int_equal(out.n, 0);
    rs_chakra_link_report_clear(&report);
    text_clear(&host);
    text_clear(&device);
}

/* The device trace has no ids, an operator more and one less. */
TEST(test_names)
{
    text host = host_trace(), device = {0};
    text_puts(&device, "{\"traceEvents\": [\n");
    add_op(&device, "aten::item", "400", "10", 0);
    add_op(&device, "other", "90", "5", 0);
    add_op(&device, "aten::linear", "100", "50", 0);
    text_puts(&device, "{}]}");
    collected out = {0};
    rs_chakra_link_report report;
    rs_error err = RS_ERROR_INIT;
    assert_int_equal(link_texts(&host, &device, &out, &report, &err), RS_OK);
    assert_int_equal(report.linked, 2);
    assert_int_equal(report.linked_by_name, 2);
    assert_int_equal(report.near_nodes, 3);
    assert_int_equal(rs_problems_worst(&report.problems), RS_LOSS);
    assert_true(has(&out, "\"host_id\": 10, \"inclusive_dur\": 50,"));
    assert_true(has(&out, "\"host_id\": 12, \"inclusive_dur\": 10,"));
    assert_false(has(&out, "\"host_id\": 11, \"inclusive_dur\""));
    rs_chakra_link_report_clear(&report);
    collected_clear(&out);
    text_clear(&host);
    text_clear(&device);
}

static rs_status load_host(const text *t, rs_et *et, rs_problems *problems, rs_error *err)
{
    char path[64];
    int file = file_of(t->s, t->n, path);
    rs_status status = rs_et_load(path, 0, et, problems, err);
    close(file);
    return status;
}

/* Every node reaches the process root, and is in the order once. */
static void assert_rooted(const rs_et *et)
{
    assert_int_equal(et->n_order, et->n_nodes);
    for (size_t i = 0; i < et->n_nodes; i++) {
        uint32_t node = (uint32_t)i;
        assert_int_equal(et->order[et->nodes[i].place], i);
        for (size_t steps = 0; et->nodes[node].up != node; steps++) {
            assert_true(steps <= et->n_nodes);
            node = et->nodes[node].up;
        }
        assert_int_equal(et->nodes[node].role, RS_ET_PROCESS);
    }
}

static uint64_t count_of(const rs_problems *problems, const char *kind)
{
    for (size_t i = 0; i < problems->n; i++)
        if (strcmp(problems->items[i].kind, kind) == 0) return problems->items[i].count;
    return 0;
}

TEST(test_cuts)
{
    text host = host_trace();
    size_t last = 0;
    for (size_t cut = 0; cut < host.n; cut++) {
        text part = {0};
        text_add(&part, host.s, cut);
        rs_et et;
        rs_problems problems = {0};
        rs_error err = RS_ERROR_INIT;
        if (load_host(&part, &et, &problems, &err) == RS_OK) {
            assert_true(et.n_nodes - et.n_roots_made >= last);
            last = et.n_nodes - et.n_roots_made;
            assert_int_equal(count_of(&problems, "truncated"), 1);
            assert_int_equal(problems.items[0].offsets[0], cut);
            assert_rooted(&et);
        } else {
            assert_int_equal(last, 0);
            assert_int_equal(err.status, RS_ERR_FORMAT);
        }
        rs_et_clear(&et);
        rs_problems_clear(&problems);
        text_clear(&part);
    }
    assert_int_equal(last, 5);
    text_clear(&host);
}

TEST(test_repairs)
{
    text t = {0};
    text_puts(&t, HEAD);
    add_node(&t, 5, "own", 5, 1, 1); /* its own parent */
    add_node(&t, 6, "a", 7, 2, 1);   /* a circle */
    add_node(&t, 7, "b", 6, 3, 1);
    add_node(&t, 8, "orphan", 77, 4, 2); /* neither parent nor thread root */
    add_node(&t, 8, "twin", 6, 5, 1);
    add_node(&t, 9, "under twins", 8, 6, 2);
    text_puts(&t, ", {\"name\": \"no id\"}, 3]}");
    rs_et et;
    rs_problems problems = {0};
    rs_error err = RS_ERROR_INIT;
    assert_int_equal(load_host(&t, &et, &problems, &err), RS_OK);
    assert_rooted(&et);
    assert_int_equal(et.n_nodes, 6 + 3); /* the process and two threads were made */
    assert_int_equal(count_of(&problems, "roots_made"), 3);
    assert_int_equal(count_of(&problems, "orphans"), 2);
    assert_int_equal(count_of(&problems, "duplicate_id"), 1);
    assert_int_equal(count_of(&problems, "circular_parents"), 1);
    assert_int_equal(count_of(&problems, "node_without_id"), 1);
    assert_int_equal(count_of(&problems, "no_node"), 1);
    assert_int_equal(et.nodes[5].up, 3); /* of two with one id the first is the parent */
    rs_et_clear(&et);
    rs_problems_clear(&problems);
    text_clear(&t);
}

TEST(test_schemas)
{
    static const struct {
        const char *schema;
        rs_status status;
    } cases[] = {{"1.0.1", RS_OK},
                 {"1.0.4-chakra.0.0.4", RS_OK},
                 {"1.1.1-chakra.1.0.0", RS_OK},
                 {"7.3.9-mystery.0", RS_ERR_FORMAT},
                 {"1.0.12", RS_ERR_FORMAT},
                 {"", RS_ERR_FORMAT}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        text t = {0};
        text_puts(&t, "{\"nodes\": [");
        add_node(&t, 1, "x|process]", 1, 0, 0);
        text_printf(&t, "], \"schema\": \"%s\"}", cases[i].schema);
        rs_et et;
        rs_problems problems = {0};
        rs_error err = RS_ERROR_INIT;
        assert_int_equal(load_host(&t, &et, &problems, &err), cases[i].status);
        if (cases[i].status != RS_OK) assert_non_null(strstr(err.causes[0].message, cases[i].schema));
        rs_et_clear(&et);
        rs_problems_clear(&problems);
        text_clear(&t);
    }
}

/* Whatever a damaged host trace says: an error with words, or nodes that all hang from one root. */
TEST(test_damage)
{
    text device = device_trace();
    rng r = {17};
    size_t succeeded = 0, refused = 0;
    for (int round = 0; round < ROUNDS(1500); round++) {
        text host = host_trace();
        text_mutate(&host, &r);
        collected out = {0};
        rs_chakra_link_report report;
        rs_error err = RS_ERROR_INIT;
        rs_status status = link_texts(&host, &device, &out, &report, &err);
        if (status == RS_OK) {
            succeeded++;
            assert_true(out.n > 2 && out.text[out.n - 2] == '}');
        } else {
            refused++;
            assert_true(err.n_causes > 0 && err.causes[0].message[0]);
            assert_int_equal(out.n, 0);
        }
        rs_chakra_link_report_clear(&report);
        collected_clear(&out);
        text_clear(&host);
    }
    assert_true(succeeded > 50 && refused > 5);
    text_clear(&device);
}

static void fail_each(const text *host, const text *device)
{
    collected full = {0};
    rs_chakra_link_report report;
    rs_test_fail_allocation(0);
    assert_int_equal(link_texts(host, device, &full, &report, NULL), RS_OK);
    rs_chakra_link_report_clear(&report);
    uint64_t n = rs_test_fail_allocation(0), failed = 0;
    assert_true(n > 40);
    for (uint64_t k = 1; k <= n + 4; k++) {
        collected out = {0};
        rs_error err = RS_ERROR_INIT;
        rs_test_fail_allocation(k);
        rs_status status = link_texts(host, device, &out, &report, &err);
        rs_test_fail_allocation(0);
        if (status == RS_OK) {
            assert_string_equal(out.text, full.text);
        } else {
            assert_int_equal(status, RS_ERR_NOMEM);
            assert_int_equal(err.status, RS_ERR_NOMEM);
            failed++;
        }
        rs_chakra_link_report_clear(&report);
        collected_clear(&out);
    }
    assert_true(failed > 40);
    collected_clear(&full);
}

TEST(test_allocations)
{
    text host = host_trace(), device = device_trace();
    fail_each(&host, &device);
    /* and the same without ids */
    for (char *at = device.s; (at = strstr(at, "Record")) != NULL;) *at = 'r';
    fail_each(&host, &device);
    text_clear(&host);
    text_clear(&device);
}

/* ---- nodes in memory -------------------------------------------------------------------------------- */

/* What came of a pair: the execution trace, its process groups, and the counts. */
typedef struct made {
    collected trace, groups;
    rs_chakra_convert_report report;
    rs_status status;
} made;

static void made_clear(made *m)
{
    collected_clear(&m->trace);
    collected_clear(&m->groups);
    rs_chakra_convert_report_clear(&m->report);
}

static void convert_into(made *m, rs_chakra_convert_settings settings, rs_error *err)
{
    rs_sink sink = {collect, &m->trace}, groups = {collect, &m->groups};
    settings.groups = &groups;
    m->status = rs_chakra_convert(&settings, &sink, &m->report, err);
}

/* By way of the linked trace's text. */
static made make_written(const text *host, const text *device)
{
    made m = {0};
    collected linked = {0};
    rs_chakra_link_report report;
    m.status = link_texts(host, device, &linked, &report, NULL);
    if (m.status == RS_OK)
        convert_into(&m,
                     (rs_chakra_convert_settings){.size = sizeof(rs_chakra_convert_settings),
                                                  .linked = "linked",
                                                  .bytes = linked.text,
                                                  .n_bytes = linked.n},
                     NULL);
    rs_chakra_link_report_clear(&report);
    collected_clear(&linked);
    return m;
}

/* Without it. */
static made make_directly(const text *host, const text *device, rs_error *err)
{
    char host_path[64], device_path[64];
    int a = file_of(host->s, host->n, host_path), b = file_of(device->s, device->n, device_path);
    rs_chakra_link_settings settings = {.size = sizeof(rs_chakra_link_settings),
                                        .host = host_path,
                                        .device = device_path,
                                        .min_match = 0.5,
                                        .jobs = 1};
    made m = {0};
    rs_chakra_link_report report;
    rs_chakra_linked *linked;
    m.status = rs_chakra_link_nodes(&settings, &linked, &report, err);
    assert_true((m.status == RS_OK) == (linked != NULL));
    if (m.status == RS_OK)
        convert_into(
            &m, (rs_chakra_convert_settings){.size = sizeof(rs_chakra_convert_settings), .nodes = linked},
            err);
    rs_chakra_linked_free(linked);
    rs_chakra_link_report_clear(&report);
    close(a);
    close(b);
    return m;
}

static void assert_same(const made *a, const made *b)
{
    assert_int_equal(a->status, b->status);
    if (a->status != RS_OK) return;
    assert_int_equal(a->trace.n, b->trace.n);
    assert_memory_equal(a->trace.text, b->trace.text, a->trace.n);
    assert_int_equal(a->groups.n, b->groups.n);
    assert_memory_equal(a->groups.text, b->groups.text, a->groups.n);
    assert_memory_equal(&a->report, &b->report, offsetof(rs_chakra_convert_report, problems));
    assert_int_equal(a->report.problems.n, b->report.problems.n);
}

/* Whole numbers, texts, lists, members in another order, what ends like a value seen before and does not. */
static const char *const odd_attributes[] = {
    "{\"name\": \"rf_id\", \"type\": \"uint64\", \"value\": 103}, {\"name\": \"tid\", \"type\": \"uint64\", "
    "\"value\": 007}",
    "{\"value\": 103, \"name\": \"rf_id\"}, {\"name\": \"op_schema\", \"value\": \"a\\u00e9 'b'\"}, 5, {}",
    "{\"name\": \"rf_id\", \"type\": \"uint64\", \"value\": 103, \"name\": \"tid\"}, {\"name\": \"tid\", "
    "\"type\": \"uint64\", \"value\":  [1, \"x\", null]}",
    "{\"name\": \"rf_id\", \"type\": \"uint64\", \"value\": 103 }, {\"name\": \"tid\", \"type\": \"uint64\", "
    "\"value\": 18446744073709551615}, {\"name\": \"seq_id\", \"value\": -1}",
    "{\"name\": \"rf_id\", \"type\": \"uint64\", \"value\": 103}, {\"name\": \"stream\", \"value\": 1}, "
    "{\"name\": \"scope\", \"value\": 1.5}, {\"name\": \"fw_tid\", \"value\": true}",
};

static text host_with(const char *attributes, const char *schema)
{
    static const char usual[] =
        "{\"name\": \"rf_id\", \"type\": \"uint64\", \"value\": 103}, {\"name\": \"tid\", \"type\": "
        "\"uint64\", \"value\": 1}";
    text whole = host_trace(), t = {0};
    char *at = strstr(whole.s, usual), *end = at + sizeof usual - 1,
         *head = strstr(whole.s, "1.0.2-chakra.0.0.4");
    assert_non_null(at);
    text_printf(&t, "%.*s%s%.*s%s%s", (int)(head - whole.s), whole.s, schema, (int)(at - head - 18),
                head + 18, attributes, end);
    text_clear(&whole);
    return t;
}

TEST(test_nodes)
{
    text device = device_trace();
    for (size_t i = 0; i < sizeof odd_attributes / sizeof *odd_attributes; i++) {
        text host = host_with(odd_attributes[i], "1.0.2-chakra.0.0.4");
        made a = make_written(&host, &device), b = make_directly(&host, &device, NULL);
        assert_int_equal(a.status, RS_OK);
        assert_same(&a, &b);
        made_clear(&a);
        made_clear(&b);
        text_clear(&host);
    }
    /* what can be linked but not converted */
    text host = host_with(odd_attributes[0], "1.1.1-chakra.9.9.9");
    rs_error err = RS_ERROR_INIT;
    made a = make_written(&host, &device), b = make_directly(&host, &device, &err);
    assert_int_equal(b.status, RS_ERR_FORMAT);
    assert_non_null(strstr(err.causes[0].message, "9.9.9"));
    assert_same(&a, &b);
    made_clear(&a);
    made_clear(&b);
    text_clear(&host);
    text_clear(&device);
}

TEST(test_damaged_nodes)
{
    rng r = {23};
    size_t succeeded = 0;
    for (int round = 0; round < ROUNDS(1500); round++) {
        text host = host_trace(), device = device_trace();
        text_mutate(round % 4 ? &host : &device, &r);
        made a = make_written(&host, &device), b = make_directly(&host, &device, NULL);
        assert_same(&a, &b);
        succeeded += a.status == RS_OK;
        made_clear(&a);
        made_clear(&b);
        text_clear(&host);
        text_clear(&device);
    }
    assert_true(succeeded > 50);
}

TEST(test_nodes_without_memory)
{
    text host = host_trace(), device = device_trace();
    made full = make_written(&host, &device);
    rs_status status = RS_ERR_NOMEM;
    uint64_t k = 0;
    while (status == RS_ERR_NOMEM && k < 10000) {
        rs_error err = RS_ERROR_INIT;
        rs_test_fail_allocation(++k);
        made m = make_directly(&host, &device, &err);
        rs_test_fail_allocation(0);
        status = m.status;
        assert_true(status == RS_OK || err.status == RS_ERR_NOMEM);
        if (status == RS_OK) assert_same(&full, &m);
        made_clear(&m);
    }
    assert_int_equal(status, RS_OK);
    assert_true(k > 50);
    made_clear(&full);
    text_clear(&host);
    text_clear(&device);
}
