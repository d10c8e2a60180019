/* What annotate makes of a rank, also for rows of peers. */
#pragma once

#include "analysis/copy_rates.h"
#include "trace/queue_depth.h"

typedef struct rs_counter_event {
    int64_t ns, pid, stream; /* stream: RS_NO_VALUE where the counter is not of one */
    uint32_t name, series;
    double value;
} rs_counter_event;

extern const rs_layout rs_annotate_layout;
#define RS_ANNOTATE_EVENTS RS_LISTED(0, rs_counter_event, &rs_annotate_layout)
extern const rs_table_spec *const rs_annotate_tables[2];
void rs_annotate_note(const rs_run *run, const rs_partial *partial, const rs_relations *of,
                      rs_result *result);

typedef rs_status (*rs_annotate_queue_fn)(const rs_run *run, rs_trace *trace, rs_queue_series *out,
                                          rs_error *err);
/* Puts the events. rules: of the copies; NULL: our own. */
rs_status rs_annotate_put(const rs_run *run, rs_trace *trace, rs_annotate_queue_fn measure,
                          const rs_copy_rules *rules, rs_relations *out, rs_error *err);
