/* Each member of metrics taken out, doubled or of another value (members.h): what is not in the damaged record is there as
 * before, and nothing is made up. */
#include <jansson.h>

#include "metrics/record.h"
#include "members.h"
#include "turns.h"

/* ---- metrics --------------------------------------------------------------------------------------------- */

static const char record[] =
    "{\"global_step\":3,\"rank\":1,\"world_size\":2,\"training\":{\"loss\":2.5},\"loss\":2.5,\"rocm_smi_output\":\"GPU[0]: x\","
    "\"profile\":{\"total_ms\":10,\"ranges\":[{\"stream\":\"compute\",\"tag\":\"forward\",\"name\":\"f\",\"start_ms\":0,"
    "\"end_ms\":6,\"duration_ms\":6},{\"stream\":\"allreduce\",\"tag\":\"all_reduce\",\"start_ms\":4,\"end_ms\":8},"
    "{\"stream\":\"aux\",\"tag\":\"all_gather\",\"start_ms\":7,\"end_ms\":12}],\"overlap\":{\"compute_ms\":6,"
    "\"overlap_ms\":2,\"per_stream\":{\"allreduce\":{\"overlap_ms\":2},\"reducescatter\":{\"overlap_ms\":0}}}}}";

/* Whatever one member is, computation, communication and idle time never make more than the step. */
TEST(test_records)
{
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
    all_ways = argc > 1 && strcmp(argv[1], "--all") == 0;
    return unit_run(NULL, NULL);
}
