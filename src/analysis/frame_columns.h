/* Columns of a data frame that are not in the file: the training step, the side, the annotation of GPU rows.
 */
#ifndef RS_ANALYSIS_FRAME_COLUMNS_H
#define RS_ANALYSIS_FRAME_COLUMNS_H

#include "analysis/analysis.h"
#include "peer/hta_window.h"

/* By place in the frame. */
typedef struct rs_frame_columns {
    int64_t *iteration;   /* -1: in no step; RS_NO_VALUE: HTA leaves it unknown */
    uint8_t *gpu;         /* a row of the GPU */
    uint32_t *annotation; /* string id, or RS_NO_STRING */
} rs_frame_columns;

/* Under HTA's rules the iteration is HTA's: steps as its symbols have them, work by its launch, work on
 * stream 0 without any. O(n log n). */
rs_status rs_frame_columns_make(rs_trace *trace, const rs_policy *policy, const rs_hta_frame *frame,
                                rs_frame_columns *out, rs_error *err);
/* Whether the row at place i is selected: steps by its iteration, a window by its launch's start or its own.
 */
bool rs_frame_row_is_selected(const rs_trace *trace, const rs_hta_frame *frame,
                              const rs_frame_columns *columns, size_t i);
void rs_frame_columns_clear(rs_frame_columns *columns);

#endif
