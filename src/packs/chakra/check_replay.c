/* The proof by example: a feeder hands out every node, and the replay takes as long as the recording did. */
#include "base/interval.h"
#include "chakra/check_internal.h"

static void find_recorded(rs_check *c)
{
    int64_t from = INT64_MAX, to = INT64_MIN;
    for (size_t i = 0; i < c->n_nodes; i++) {
        const rs_check_node *n = &c->nodes[i];
        if (!n->exact || n->gap) continue;
        int64_t end = n->has_end ? n->end : rs_add_sat(n->start, n->duration);
        if (n->start < from) from = n->start;
        if (end > to) to = end;
    }
    c->has_recorded = from <= to;
    if (!c->has_recorded) return;
    c->recorded_from = from;
    c->recorded_to = to;
    c->recorded = rs_sub_sat(to, from);
}

double rs_check_difference(int64_t replayed, int64_t recorded)
{
    double difference = (double)replayed - (double)recorded;
    return recorded > 0 ? 100 * difference / (double)recorded : 0;
}

bool rs_check_is_off(int64_t replayed, int64_t recorded, double tolerance)
{
    double percent = rs_check_difference(replayed, recorded);
    int64_t away = rs_sub_sat(replayed, recorded);
    if (away <= RS_CHECK_SLACK && away >= -RS_CHECK_SLACK) return false;
    return percent > tolerance || percent < -tolerance;
}

static rs_status compare(rs_check *c, rs_error *err)
{
    if (!c->has_recorded || !c->as_recorded || !rs_check_is_off(c->run_time, c->recorded, c->tolerance))
        return RS_OK;
    return rs_check_fault(c, RS_FAULT_TIME, 0, 0, err);
}

rs_status rs_check_replay(rs_check *c, rs_error *err)
{
    RS_SCOPED(rs_feeder_clear) rs_feeder feeder = {0};
    rs_status status = RS_OK;
    for (size_t i = 0; i < c->n_nodes && status == RS_OK; i++) {
        const rs_check_node *n = &c->nodes[i];
        status =
            rs_feeder_add(&feeder, n->id, c->deps + n->data, n->n_data, c->deps + n->ctrl, n->n_ctrl, err);
    }
    if (status == RS_OK) status = rs_feeder_start(&feeder, err);
    uint32_t node;
    while (status == RS_OK && (node = rs_feeder_next(&feeder)) != RS_FEEDER_NONE)
        rs_feeder_complete(&feeder, node);
    c->issued = feeder.n_issued;
    for (size_t i = 0; i < feeder.n_nodes && status == RS_OK; i++)
        c->nodes[i].issued = feeder.nodes[i].issued;
    size_t left = status == RS_OK ? rs_feeder_left(&feeder) : 0;
    for (size_t i = 0; i < feeder.n_nodes && status == RS_OK && left; i++)
        if (!feeder.nodes[i].issued)
            status = rs_check_fault(c, RS_FAULT_NEVER_ISSUED, feeder.nodes[i].id, 0, err);
    find_recorded(c);
    rs_check_outcome out;
    if (status == RS_OK) status = rs_check_run(c, 1, false, NULL, &out, err);
    if (status == RS_OK) c->run_time = out.time;
    if (status == RS_OK && c->astra) status = rs_check_run(c, 1, true, NULL, &out, err);
    if (status == RS_OK && c->astra) c->astra_time = out.time;
    return status == RS_OK && !left ? compare(c, err) : status;
}
