/* Columns of a data frame that are not in the file: the training step, the side, the annotation of GPU rows.
 */
#pragma once

#include "analysis/analysis.h"
#include "analysis/frame_rows.h"

/* By place in the frame. */
typedef struct rs_frame_columns {
    int64_t *iteration;   /* -1: in no step; RS_NO_VALUE: HTA leaves it unknown */
    uint8_t *gpu;         /* a row of the GPU */
    uint32_t *annotation; /* string id, or RS_NO_STRING */
} rs_frame_columns;

/* Whose columns they are. */
typedef struct rs_frame_column_rules {
    bool (*is_gpu)(const rs_events *events, const rs_frame_rows *frame, size_t i);
    rs_status (*iterations)(rs_trace *trace, const rs_policy *policy, const rs_frame_rows *frame,
                            int64_t *iteration, rs_error *err);
} rs_frame_column_rules;

/* Ours: rows of a GPU category; steps as rs_trace_steps has them. */
bool rs_frame_is_gpu_work(const rs_events *events, const rs_frame_rows *frame, size_t i);
rs_status rs_frame_own_iterations(rs_trace *trace, const rs_policy *policy, const rs_frame_rows *frame,
                                  int64_t *iteration, rs_error *err);

/* O(n log n). */
rs_status rs_frame_columns_make(rs_trace *trace, const rs_policy *policy, const rs_frame_rows *frame,
                                const rs_frame_column_rules *rules, rs_frame_columns *out, rs_error *err);
/* Whether the row at place i is selected: steps by its iteration, a window by its launch's start or its own.
 */
bool rs_frame_row_is_selected(const rs_trace *trace, const rs_frame_rows *frame,
                              const rs_frame_columns *columns, size_t i);
void rs_frame_columns_clear(rs_frame_columns *columns);
