/* The proof by example: a feeder hands out every node. */
#include "chakra/check_internal.h"

static int64_t duration_of(const void *context, uint32_t node)
{
    return ((const rs_check *)context)->nodes[node].duration;
}

rs_status rs_check_replay(rs_check *c, rs_error *err)
{
    rs_feeder feeder = {0};
    rs_status status = RS_OK;
    for (size_t i = 0; i < c->n_nodes && status == RS_OK; i++) {
        const rs_check_node *n = &c->nodes[i];
        status =
            rs_feeder_add(&feeder, n->id, c->deps + n->data, n->n_data, c->deps + n->ctrl, n->n_ctrl, err);
    }
    if (status == RS_OK) status = rs_feeder_start(&feeder, err);
    if (status == RS_OK) status = rs_feeder_run(&feeder, duration_of, c, &c->run_time, err);
    c->issued = feeder.n_issued;
    for (size_t i = 0; i < feeder.n_nodes && status == RS_OK && rs_feeder_left(&feeder); i++)
        if (!feeder.nodes[i].issued)
            status = rs_check_fault(c, RS_FAULT_NEVER_ISSUED, feeder.nodes[i].id, 0, err);
    rs_feeder_clear(&feeder);
    return status;
}
