#include "analysis/layouts.h"

#include "analysis/analysis.h"
#include "base/stats.h"
#include "trace/queue_depth.h"

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
