/* What annotate makes of a rank, also for rows of peers. */
#ifndef RS_ANALYSIS_ANNOTATE_H
#define RS_ANALYSIS_ANNOTATE_H

#include "analysis/analysis.h"
#include "analysis/copy_rates.h"
#include "trace/queue_depth.h"

typedef rs_status (*rs_annotate_queue_fn)(const rs_run *run, rs_trace *trace, rs_queue_series *out,
                                          rs_error *err);

extern const rs_layout rs_annotate_layout;
/* rules: of the copies; NULL: our own. */
rs_status rs_annotate_rank(const rs_run *run, rs_trace *trace, rs_annotate_queue_fn measure,
                           const rs_copy_rules *rules, void **partial, rs_error *err);
void rs_annotate_free(void *partial);

#endif
