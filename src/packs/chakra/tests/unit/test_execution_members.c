/* Each member of execution traces taken out, doubled or of another value (members.h): what is not in the damaged record is there as
 * before, and nothing is made up. */
#include <jansson.h>

#include "chakra/et.h"
#include "members.h"
#include "turns.h"

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

TEST(test_execution)
{
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

int main(int argc, char **argv)
{
    all_ways = argc > 1 && strcmp(argv[1], "--all") == 0;
    return unit_run(NULL, NULL);
}
