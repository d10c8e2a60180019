/* Each member of JSON inputs and each field of Protobuf inputs taken out, doubled or of another value (members.h): what is
 * not in the damaged record is there as before, and nothing is made up. */
#include <jansson.h>

#include "chakra/et.h"
#include "metrics/record.h"
#include "members.h"
#include "native.h"
#include "rankscope/flight.h"
#include "sink.h"

static bool all_ways; /* --all: each way of each member; else every third or so */

static bool is_turn(size_t place, size_t way, size_t every)
{
    return all_ways || (place + way) % (RS_TEST_SLOW ? 5 * every : every) == 0;
}

static bool has_event(const rs_events *e, int64_t start, int64_t duration)
{
    for (size_t i = 0; i < e->n; i++)
        if (e->start[i] == start && e->duration[i] == duration) return true;
    return false;
}

static void expect_sound(const rs_events *e)
{
    for (size_t i = 0; i < e->n; i++) {
        assert_true(e->phase[i] == 'i' || (e->phase[i] == 'X' && e->duration[i] >= 0));
        assert_true(e->start[i] != RS_NO_TIME && e->name[i] < e->strings.n);
    }
    for (size_t c = 0; c < RS_N_COLUMNS; c++)
        for (size_t i = 1; i < e->args[c].n; i++) assert_true(e->args[c].rows[i] > e->args[c].rows[i - 1]);
}

/* ---- rocprofv3's JSON ------------------------------------------------------------------------------------ */

#define TIMES(a, b) "\"start_timestamp\":" #a ",\"end_timestamp\":" #b
static const char rocprof[] =
    "{\"rocprofiler-sdk-tool\":[{\"metadata\":{\"pid\":908,\"node\":{\"hostname\":\"h\"}},"
    "\"agents\":[{\"id\":{\"handle\":1},\"type\":1,\"logical_node_type_id\":0},"
    "{\"handle\":77,\"type\":2,\"name\":\"gfx950\",\"product_name\":\"MI\",\"logical_node_type_id\":3}],"
    "\"strings\":{\"callback_records\":[{\"kind\":\"X\",\"operations\":[\"wrong\"]}],"
    "\"buffer_records\":[{\"kind\":\"HIP\",\"operations\":[\"zero\",\"hipLaunch\\u004bernel\"],\"more\":[1]},"
    "{\"kind\":\"MEMORY_COPY\",\"operations\":[\"MEMORY_COPY_HOST_TO_DEVICE\"]}],"
    "\"marker_api\":[{\"key\":5,\"value\":\"ProfilerStep#3\",\"more\":{\"x\":1}}]},"
    "\"kernel_symbols\":[{\"kernel_id\":8,\"kernel_name\":\"_Z1f.kd\",\"formatted_kernel_name\":\"f\",\"arch_vgpr_count\":32},"
    "{\"kernel_id\":9,\"demangled_kernel_name\":\"g\"}],"
    "\"callback_records\":{\"counter_collection\":[{\"a\":[1,2]}]},"
    "\"buffer_records\":{\"kernel_dispatch\":["
    "{\"kind\":11,\"thread_id\":9,\"correlation_id\":{\"internal\":1,\"external\":0}," TIMES(
        2000,
        3000) ",\"dispatch_info\":{\"agent_id\":{\"handle\":77},\"queue_id\":{\"handle\":16},"
              "\"kernel_id\":8,\"group_segment_size\":64,\"workgroup_size\":{\"x\":256,\"y\":1,\"z\":1},"
              "\"grid_size\":{\"x\":1000,\"y\":2,\"z\":1}},\"stream_id\":{\"handle\":4}},"
              "{\"correlation_id\":2," TIMES(
                  3500,
                  3600) ",\"dispatch_info\":{\"kernel_id\":9}}],"
                        "\"hip_api\":[{\"kind\":0,\"operation\":1,\"thread_id\":9,\"correlation_id\":{\"internal\":1}," TIMES(
                            1000,
                            1200) "}],\"marker_api\":[{\"kind\":0,\"operation\":0,\"thread_id\":9,"
                                  "\"correlation_id\":{\"internal\":5}," TIMES(
                                      900,
                                      4000) "}],\"memory_copy\":[{\"kind\":1,\"operation\":0,\"thread_id\":9,"
                                            "\"correlation_id\":{\"internal\":7}," TIMES(
                                                5000,
                                                6000) ",\"src_agent_id\":{\"handle\":1},\"dst_agent_id\":"
                                                      "{\"handle\":77},\"bytes\":4096}],"
                                                      "\"new_list\":[1,2]}},{\"metadata\":{\"pid\":909},"
                                                      "\"buffer_records\":{\"hip_api\":[{\"kind\":0,"
                                                      "\"operation\":1," TIMES(7000, 7100) "}]}}]}";

/* Where in the text the record of an event stands, by its start. */
static bool is_within(const char *s, const member *m, int64_t start)
{
    char mark[48];
    snprintf(mark, sizeof mark, "\"start_timestamp\":%lld", (long long)start);
    const char *at = strstr(s, mark);
    return at && (size_t)(at - s) >= m->at && (size_t)(at - s) < m->end;
}

static void test_rocprof(void **state)
{
    (void)state;
    members *all = members_of(rocprof);
    rs_events *whole = NULL, *e = NULL;
    assert_int_equal(load_native(rocprof, sizeof rocprof - 1, "x.json", &whole, NULL), RS_OK);
    assert_int_equal(whole->n, 6);
    assert_int_equal(whole->problems.n, 0);
    for (size_t i = 1; i < all->n; i++)
        for (size_t way = 0; way < N_JSON_WAYS; way++) {
            const member *m = &all->items[i];
            text t = member_damage(rocprof, m, way);
            assert_int_equal(load_native(t.s, t.n, "x.json", &e, NULL), RS_OK);
            expect_sound(e);
            if (e->truncated) fail_msg("truncated: %s", t.s);
            uint32_t record = member_record(all, rocprof, (uint32_t)i);
            for (size_t k = 0; k < whole->n; k++) {
                bool inside =
                    is_within(rocprof, m, whole->start[k]) ||
                    (record != UINT32_MAX && is_within(rocprof, &all->items[record], whole->start[k]));
                if (!inside && !has_event(e, whole->start[k], whole->duration[k]))
                    fail_msg("no event at %lld any more: %s", (long long)whole->start[k], t.s);
            }
            /* a record whose times are no numbers is counted */
            if (record != UINT32_MAX && m->scalar && i != record && way < N_JSON_WAYS - 1)
                assert_true(e->n + e->n_lost >= whole->n);
            rs_events_free(e);
            text_clear(&t);
        }
    rs_events_free(whole);
    free(all);
}

/* ---- JAX's and Perfetto's profiles ----------------------------------------------------------------------- */

static rs_status load_protobuf(const char *format, const text *t, rs_events **out)
{
    rs_source *source;
    rs_load_settings settings = {.columns = RS_ALL_COLUMNS | RS_OTHER_ARGUMENTS};
    guarded g = guarded_copy(t->s, t->n);
    const rs_format *found = rs_format_of_text((const uint8_t *)g.bytes, g.n);
    rs_status status = RS_ERR_FORMAT;
    /* what no longer begins as the format does is another's affair */
    if (strcmp(found->name, format) == 0) {
        assert_int_equal(rs_source_open_bytes(g.bytes, g.n, "x", 0, &source, NULL), RS_OK);
        status = found->load(source, &settings, out, NULL);
        rs_source_close(source);
    }
    guarded_free(&g);
    return status;
}

/* Whether a field stands in one event, by the numbers of the messages around it from the top on. */
static bool in_event(const pb_places *all, size_t at, const uint32_t *path, size_t n_path)
{
    uint32_t numbers[16];
    size_t depth = 0;
    for (uint32_t up = (uint32_t)at; up != UINT32_MAX && depth < 16; up = all->items[up].up)
        numbers[depth++] = all->items[up].number;
    if (depth <= n_path) return false;
    for (size_t i = 0; i < n_path; i++)
        if (numbers[depth - 1 - i] != path[i]) return false;
    return true;
}

static void damage_protobuf(const char *path, const char *format, const uint32_t *event, size_t n_event,
                            size_t every)
{
    text t = text_of_file(path);
    const uint8_t *bytes = (const uint8_t *)t.s;
    pb_places *all = pb_places_of(bytes, t.n);
    rs_events *whole = NULL, *e = NULL;
    size_t n_read = 0, n_events = 0;
    assert_int_equal(load_protobuf(format, &t, &whole), RS_OK);
    for (size_t i = 0; i < all->n; i++)
        for (size_t way = 0; way < N_PB_WAYS; way++) {
            if (!is_turn(i, way, every)) continue;
            text d = pb_damage(bytes, t.n, all, i, way);
            if (load_protobuf(format, &d, &e) == RS_OK) {
                expect_sound(e);
                n_read++;
                /* the event that it was in may be another or none; the file is as valid as before */
                if (in_event(all, i, event, n_event)) {
                    n_events++;
                    size_t missing = 0;
                    for (size_t k = 0; k < whole->n; k++)
                        missing += !has_event(e, whole->start[k], whole->duration[k]);
                    if (missing > 2)
                        fail_msg("%s: field %zu, way %zu costs %zu events", path, i, way, missing);
                    assert_false(e->truncated);
                }
                rs_events_free(e);
            }
            text_clear(&d);
        }
    assert_true(n_read > 100 && n_events > 50);
    rs_events_free(whole);
    free(all);
    text_clear(&t);
}

static void test_xplane(void **state)
{
    (void)state;
    static const uint32_t event[] = {1, 3, 4}; /* plane, line, event */
    damage_protobuf(RS_SOURCE_DIR "/tests/data/xplane/log/plugins/profile/2026_11_22/host-a.xplane.pb",
                    "xplane", event, 3, 2);
    damage_protobuf(RS_SOURCE_DIR "/tests/data/xplane/tpu.xplane.pb", "xplane", event, 3, 2);
}

static void test_perfetto(void **state)
{
    (void)state;
    static const uint32_t event[] = {1, 11}; /* packet, event */
    damage_protobuf(RS_SOURCE_DIR "/tests/data/rocprof_perfetto/12_results.pftrace", "rocprof_perfetto",
                    event, 2, 1);
}

/* ---- dumps ----------------------------------------------------------------------------------------------- */

#define ENTRY(id, seq, p2p, name, in, state, more)                                                           \
    "{\"record_id\":" #id                                                                                    \
    ",\"pg_id\":0,\"process_group\":[\"0\",\"default_pg\"],\"collective_seq_id\":" #seq                      \
    ",\"p2p_seq_id\":" #p2p ",\"op_id\":" #seq ",\"profiling_name\":\"nccl:" name                            \
    "\",\"time_created_ns\":17000000000000" #id ",\"time_discovered_started_ns\":17000000000000" #id         \
    ",\"duration_ms\":0.5,\"input_sizes\":" in ",\"output_sizes\":[[8]],\"input_dtypes\":[\"Float\"],"       \
    "\"output_dtypes\":[\"Float\"],\"state\":\"" state                                                       \
    "\",\"retired\":false,\"timeout_ms\":600000,\"is_p2p\":false,\"thread_name\":\"main\"" more "}"
#define FRAMES                                                                                               \
    ",\"frames\":[{\"name\":\"f\",\"filename\":\"/app/a.py\",\"line\":3},{\"name\":\"g\",\"filename\":\"b\",\"line\":4}]"
#define DUMP(last)                                                                                                     \
    "{\"version\":\"2.10\",\"nccl_version\":\"2.21\",\"comm_lib_version\":\"x\",\"pg_config\":{\"0\":{\"name\":\"0\"," \
    "\"desc\":\"default_pg\",\"ranks\":\"[0, 1]\"}},\"pg_status\":{\"0\":{\"last_enqueued_collective\":3,"             \
    "\"last_started_collective\":3,\"last_completed_collective\":2}},\"nccl_comm_state\":{\"0x1\":{\"rank\":0}},"      \
    "\"entries\":[" ENTRY(11, 1, 0, "all_reduce", "[[8]]", "completed", FRAMES) "," ENTRY(                             \
        12, 2, 0, "all_gather", "[[2,2]]", "completed", "") "," ENTRY(13, 3, 0, "all_reduce", "[[8]]", last,           \
                                                                      FRAMES) "]}"

static size_t n_entries(const char *first, size_t n, const char *second, rs_flight_verdict *verdict,
                        char *text_of_member)
{
    rs_flight_bytes dumps[2] = {{first, n, 0, "rank 0"}, {second, strlen(second), 1, "rank 1"}};
    const rs_flight_report *report;
    rs_flight *flight;
    rs_error err = RS_ERROR_INIT;
    collected json = {0}, timeline = {0};
    rs_sink sink = {collect, &json}, other = {collect, &timeline};
    assert_int_equal(rs_flight_open_bytes(dumps, 2, NULL, &flight, &err), RS_OK);
    assert_int_equal(rs_flight_get_report(flight, &report, &err), RS_OK);
    assert_int_equal(rs_flight_write_json(flight, &sink, &err), RS_OK);
    assert_int_equal(rs_flight_write_timeline(flight, &other, &err), RS_OK);
    rs_table *tables[] = {rs_flight_entries(flight, NULL, NULL, true, &err),
                          rs_flight_side_by_side(flight, NULL, NULL, &err),
                          rs_flight_groups(flight, NULL, &err),
                          rs_flight_lateness(flight, &err),
                          rs_flight_collectives(flight, &err),
                          rs_flight_dumps(flight, &err)};
    size_t found = rs_table_n_rows(tables[0]);
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        assert_non_null(tables[i]);
        rs_table_free(tables[i]);
    }
    json_t *parsed = json_loadb(json.text, json.n, 0, NULL),
           *drawn = json_loadb(timeline.text, timeline.n, 0, NULL);
    if (!parsed || !drawn) fail_msg("no JSON after %s", text_of_member);
    *verdict = report->root.verdict;
    json_decref(parsed);
    json_decref(drawn);
    collected_clear(&json);
    collected_clear(&timeline);
    rs_flight_close(flight);
    return found;
}

static bool is_key(const char *s, const member *m, const char *key)
{
    return !m->element && strncmp(s + m->key + 1, key, strlen(key)) == 0;
}

/* Two ranks hang in the third call, of which one's dump is damaged in one place. */
static void damage_dump(const char *dump, const char *other, rs_flight_verdict expected)
{
    members *all = members_of(dump);
    rs_flight_verdict verdict;
    uint32_t entries = 0;
    while (!is_key(dump, &all->items[entries], "entries")) entries++;
    assert_int_equal(n_entries(dump, strlen(dump), other, &verdict, "nothing"), 6);
    assert_int_equal(verdict, expected);
    for (size_t i = 0; i < all->n; i++)
        for (size_t way = 0; way < N_JSON_WAYS; way++) {
            const member *m = &all->items[i];
            if (!is_turn(i, way, 1)) continue;
            text t = member_damage(dump, m, way);
            size_t n = n_entries(t.s, t.n, other, &verdict, t.s);
            /* which entry it is in, and which member of that */
            uint32_t entry = (uint32_t)i, of_entry = UINT32_MAX;
            while (entry != UINT32_MAX && all->items[entry].up != entries) {
                of_entry = entry;
                entry = all->items[entry].up;
            }
            if (entry != UINT32_MAX) {
                const member *field = of_entry == UINT32_MAX ? NULL : &all->items[of_entry];
                bool needed = !field || is_key(dump, field, "state") ||
                              is_key(dump, field, "profiling_name") || is_key(dump, field, "process_group");
                if (n < (needed ? 5u : 6u) || n > (field ? 6u : 7u)) fail_msg("%zu entries after %s", n, t.s);
                /* what was called long ago says nothing about the hang */
                bool first = strtol(strstr(dump + all->items[entry].at, "record_id\":") + 11, NULL, 10) == 11;
                bool says = field && (is_key(dump, field, "frames") || is_key(dump, field, "thread_name") ||
                                      is_key(dump, field, "timeout_ms") || is_key(dump, field, "retired") ||
                                      is_key(dump, field, "duration_ms"));
                if (first && says && verdict != expected)
                    fail_msg("%s after %s", rs_flight_verdict_name(verdict), t.s);
            }
            text_clear(&t);
        }
    free(all);
}

static void test_dumps(void **state)
{
    (void)state;
    damage_dump(DUMP("started"), DUMP("started"), RS_FLIGHT_STUCK);
    damage_dump(DUMP("completed"), DUMP("completed"), RS_FLIGHT_HEALTHY);
}

/* ---- execution traces ------------------------------------------------------------------------------------ */

#define VALUES "{\"values\":[[1,2],\"x\"],\"shapes\":[[2,3],[]],\"types\":[\"Tensor(float)\",\"String\"]}"
#define ATTRS                                                                                                      \
    "\"attrs\":[{\"name\":\"rf_id\",\"type\":\"uint64\",\"value\":7},{\"name\":\"fw_parent\",\"type\":\"uint64\"," \
    "\"value\":0},{\"name\":\"scope\",\"type\":\"uint64\",\"value\":0},{\"name\":\"tid\",\"type\":\"uint64\",\"value\":1}]"
#define NODE(id, parent, name)                                                                               \
    "{\"id\":" #id ",\"name\":\"" name "\",\"ctrl_deps\":" #parent ",\"inputs\":" VALUES                     \
    ",\"outputs\":" VALUES "," ATTRS "}"
static const char execution[] =
    "{\"schema\":\"1.1.1-chakra.0.0.4\",\"pid\":1,\"time\":\"x\",\"start_ts\":5,\"nodes\":[" NODE(1, 1, "[pytorch|profiler|execution_trace|process]") "," NODE(
        2, 1,
        "[pytorch|profiler|execution_trace|thread]") "," NODE(3, 2,
                                                              "aten::mm") "," NODE(4, 3,
                                                                                   "aten::add") "],\"finish_ts\":9}";

static void test_execution(void **state)
{
    (void)state;
    members *all = members_of(execution);
    uint32_t nodes = 0;
    while (!is_key(execution, &all->items[nodes], "nodes")) nodes++;
    for (size_t i = 0; i < all->n; i++)
        for (size_t way = 0; way < N_JSON_WAYS; way++) {
            if (!is_turn(i, way, 1)) continue;
            text t = member_damage(execution, &all->items[i], way);
            rs_source *source;
            rs_problems problems = {0};
            rs_error err = RS_ERROR_INIT;
            rs_et et;
            assert_int_equal(rs_source_open_bytes(t.s, t.n, "x", 0, &source, &err), RS_OK);
            rs_status status = rs_et_load_source(source, "x", &et, &problems, &err);
            bool in_nodes = all->items[i].up != UINT32_MAX && i != nodes;
            /* one node's member: the others are read, each below the process */
            if (in_nodes && status != RS_OK) fail_msg("%s: %s", err.causes[0].message, t.s);
            if (status == RS_OK) {
                size_t own = 0;
                for (size_t k = 0; k < et.n_nodes; k++) {
                    own += et.nodes[k].whole.n > 0;
                    size_t steps = 0;
                    for (uint32_t at = (uint32_t)k; et.nodes[at].up != at; at = et.nodes[at].up)
                        assert_true(++steps <= et.n_nodes);
                }
                if (in_nodes) assert_true(own >= 3);
                if (in_nodes && own < 4 && way != N_JSON_WAYS - 3 && !problems.n)
                    fail_msg("a node is gone without a word: %s", t.s);
            }
            rs_et_clear(&et);
            rs_problems_clear(&problems);
            rs_source_close(source);
            text_clear(&t);
        }
    free(all);
}

/* ---- metrics --------------------------------------------------------------------------------------------- */

static const char record[] =
    "{\"global_step\":3,\"rank\":1,\"world_size\":2,\"training\":{\"loss\":2.5},\"loss\":2.5,\"rocm_smi_output\":\"GPU[0]: x\","
    "\"profile\":{\"total_ms\":10,\"ranges\":[{\"stream\":\"compute\",\"tag\":\"forward\",\"name\":\"f\",\"start_ms\":0,"
    "\"end_ms\":6,\"duration_ms\":6},{\"stream\":\"allreduce\",\"tag\":\"all_reduce\",\"start_ms\":4,\"end_ms\":8},"
    "{\"stream\":\"aux\",\"tag\":\"all_gather\",\"start_ms\":7,\"end_ms\":12}],\"overlap\":{\"compute_ms\":6,"
    "\"overlap_ms\":2,\"per_stream\":{\"allreduce\":{\"overlap_ms\":2},\"reducescatter\":{\"overlap_ms\":0}}}}}";

/* Whatever one member is, computation, communication and idle time never make more than the step. */
static void test_records(void **state)
{
    (void)state;
    members *all = members_of(record);
    rs_record_reader plain = {0}, stored = {.stored = true};
    rs_record r, own;
    size_t at, n_read = 0;
    assert_int_equal(rs_record_read(&plain, (const uint8_t *)record, sizeof record - 1, &r, &at), RS_LINE_OK);
    for (size_t i = 0; i < all->n; i++)
        for (size_t way = 0; way < N_JSON_WAYS; way++) {
            text t = member_damage(record, &all->items[i], way);
            rs_line what = rs_record_read(&plain, (const uint8_t *)t.s, t.n, &r, &at);
            rs_line other = rs_record_read(&stored, (const uint8_t *)t.s, t.n, &own, &at);
            /* it is valid JSON, and only what a step needs can be missing */
            assert_true(what == RS_LINE_OK || what == RS_LINE_NO_STEP || what == RS_LINE_NO_PROFILE);
            if (other == RS_LINE_OK) assert_int_equal(what, RS_LINE_OK);
            if (what == RS_LINE_OK) {
                double slack = 1e-9 * r.total;
                n_read++;
                assert_true(r.total >= 0 && r.compute >= 0 && r.comm >= 0 && r.idle >= 0 && r.overlap >= 0);
                assert_true(r.compute + r.comm - r.overlap + r.idle <= r.total + slack);
                assert_true(r.overlap <= r.compute + slack && r.overlap <= r.comm + slack);
                assert_true(r.rank >= RS_NO_RANK && r.world_size >= 0);
            }
            text_clear(&t);
        }
    assert_true(n_read > all->n * N_JSON_WAYS / 2);
    rs_record_reader_clear(&plain);
    rs_record_reader_clear(&stored);
    free(all);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rocprof), cmocka_unit_test(test_xplane),    cmocka_unit_test(test_perfetto),
        cmocka_unit_test(test_dumps),   cmocka_unit_test(test_execution), cmocka_unit_test(test_records),
    };
    all_ways = argc > 1 && strcmp(argv[1], "--all") == 0;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
