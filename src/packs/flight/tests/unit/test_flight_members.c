/* Each member of dumps taken out, doubled or of another value (members.h): what is not in the damaged record is there as
 * before, and nothing is made up. */
#include <jansson.h>

#include "rankscope/flight.h"
#include "members.h"
#include "sink.h"
#include "turns.h"

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

TEST(test_dumps)
{
    damage_dump(DUMP("started"), DUMP("started"), RS_FLIGHT_STUCK);
    damage_dump(DUMP("completed"), DUMP("completed"), RS_FLIGHT_HEALTHY);
}

int main(int argc, char **argv)
{
    all_ways = argc > 1 && strcmp(argv[1], "--all") == 0;
    return unit_run(NULL, NULL);
}
