/* Each member of JSON inputs and each field of Protobuf inputs taken out, doubled or of another value (members.h): what is
 * not in the damaged record is there as before, and nothing is made up. */
#include <jansson.h>

#include "members.h"
#include "native.h"
#include "turns.h"

static bool has_event(const rs_events *e, int64_t start, int64_t duration)
{
    for (size_t i = 0; i < e->n; i++)
        if (e->start[i] == start && e->duration[i] == duration) return true;
    return false;
}

static void expect_sound(const rs_events *e)
{
    for (size_t i = 0; i < e->n; i++) {
        assert_true(strchr("iC", e->phase[i]) || (e->phase[i] == 'X' && e->duration[i] >= 0));
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

TEST(test_rocprof)
{
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

TEST(test_xplane)
{
    static const uint32_t event[] = {1, 3, 4}; /* plane, line, event */
    damage_protobuf(RS_SOURCE_DIR "/tests/data/xplane/log/plugins/profile/2026_11_22/host-a.xplane.pb",
                    "xplane", event, 3, 2);
    damage_protobuf(RS_SOURCE_DIR "/tests/data/xplane/tpu.xplane.pb", "xplane", event, 3, 2);
}

TEST(test_perfetto)
{
    static const uint32_t event[] = {1, 11}; /* packet, event */
    damage_protobuf(RS_SOURCE_DIR "/tests/data/rocprof_perfetto/12_results.pftrace", "rocprof_perfetto",
                    event, 2, 1);
}

int main(int argc, char **argv)
{
    all_ways = argc > 1 && strcmp(argv[1], "--all") == 0;
    return unit_run(NULL, NULL);
}
