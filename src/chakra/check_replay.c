/* The proof by example: a feeder hands out every node, and the replay takes as long as the recording did. */
#include "base/interval.h"
#include "chakra/check_internal.h"

/* Whole microseconds add up to so much, ns, however short the recording is. */
#define SLACK 5000

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
    if (c->has_recorded) c->recorded = rs_sub_sat(to, from);
}

double rs_check_difference(const rs_check *c)
{
    double difference = (double)c->run_time - (double)c->recorded;
    return c->recorded > 0 ? 100 * difference / (double)c->recorded : 0;
}

static rs_status compare(rs_check *c, rs_error *err)
{
    double percent = rs_check_difference(c);
    int64_t away = rs_sub_sat(c->run_time, c->recorded);
    if (!c->has_recorded || !c->as_recorded || (away <= SLACK && away >= -SLACK)) return RS_OK;
    if (percent <= c->tolerance && percent >= -c->tolerance) return RS_OK;
    return rs_check_fault(c, RS_FAULT_TIME, 0, 0, err);
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
    rs_feeder_clear(&feeder);
    find_recorded(c);
    if (status == RS_OK) status = rs_check_run(c, false, &c->run_time, err);
    if (status == RS_OK && c->astra) status = rs_check_run(c, true, &c->astra_time, err);
    return status == RS_OK && !left ? compare(c, err) : status;
}
