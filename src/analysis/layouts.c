#include "analysis/layouts.h"

#include "analysis/busy.h"
#include "trace/queue_depth.h"

static const rs_field busy_fields[] = {
    RS_FIELD(rs_busy, n),
    RS_FIELD(rs_busy, n_unlinked),
    RS_FIELD_ARRAY(rs_busy, n_class),
    RS_FIELD(rs_busy, first),
    RS_FIELD(rs_busy, last),
    RS_FIELD(rs_busy, span),
    RS_FIELD(rs_busy, busy),
    RS_FIELD(rs_busy, compute),
    RS_FIELD(rs_busy, comm),
    RS_FIELD(rs_busy, memory),
    RS_FIELD(rs_busy, exposed_comm),
    RS_FIELD(rs_busy, exposed_memory),
    RS_FIELD(rs_busy, overlapped_comm),
    RS_FIELD(rs_busy, idle),
    RS_FIELD_ARRAY(rs_busy, sweep),
};
const rs_layout rs_busy_layout = RS_LAYOUT(rs_busy, busy_fields);

static const rs_field sample_fields[] = {
    RS_FIELD(rs_queue_sample, ns),  RS_FIELD(rs_queue_sample, device), RS_FIELD(rs_queue_sample, stream),
    RS_FIELD(rs_queue_sample, pid), RS_FIELD(rs_queue_sample, tid),    RS_FIELD(rs_queue_sample, length),
    RS_FIELD(rs_queue_sample, row),
};
static const rs_layout sample_layout = RS_LAYOUT(rs_queue_sample, sample_fields);

static const rs_field series_fields[] = {
    RS_FIELD_LIST(rs_queue_series, items, n, &sample_layout),
};
const rs_layout rs_queue_series_layout = RS_LAYOUT(rs_queue_series, series_fields);
