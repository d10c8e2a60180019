/* Roles by names of workers, methods and annotations of frameworks. */
#include <string.h>

#include "trace/role_names.h"
#include "unit.h"

static rs_job_role role_of(const char *name, int *several)
{
    return rs_role_of_name(name, strlen(name), several);
}

TEST(names)
{
    static const struct {
        const char *name;
        rs_job_role role;
        int several;
    } cases[] = {
        {"generate_sequences", RS_ROLE_ROLLOUT, 0},
        {"ray::RolloutWorker.generate", RS_ROLE_ROLLOUT, 0},
        {"update_policy", RS_ROLE_UPDATE, 0},
        {"update_actor", RS_ROLE_UPDATE, 0},
        {"compute_ref_log_prob", RS_ROLE_REFERENCE, 0},
        {"ray::RewardModelRayActor", RS_ROLE_REWARD, 0},
        {"update_critic", RS_ROLE_CRITIC, 1},
        {"compute_values", RS_ROLE_CRITIC, 0},
        {"update_weights_from_distributed", RS_ROLE_SYNC, 1},
        {"syncWeights", RS_ROLE_SYNC, 0},
        {"ray::ActorRolloutRefWorker", RS_ROLE_REFERENCE, 1},
        {"TrainRayActor", RS_ROLE_UPDATE, 0},
        {"python", RS_ROLE_NONE, 0},
        {"referee", RS_ROLE_NONE, 0},
        {"regenerated", RS_ROLE_NONE, 0},
        {"", RS_ROLE_NONE, 0},
        {"::-1 2", RS_ROLE_NONE, 0},
        {"ProfilerStep#3", RS_ROLE_NONE, 0},
        {"Optimizer.step#Adam.step", RS_ROLE_NONE, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int several = -1;
        assert_int_equal(role_of(cases[i].name, &several), cases[i].role);
        assert_int_equal(several, cases[i].several);
        assert_int_equal(role_of(cases[i].name, NULL), cases[i].role);
    }
    assert_int_equal(rs_role_of_name("generateXXX", 8, NULL), RS_ROLE_ROLLOUT);
}
