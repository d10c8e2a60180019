/* HTA's queue lengths. */
#pragma once

#include "peer/hta_window.h"
#include "trace/queue_depth.h"

/* Certain launching calls only, streams by number alone, equal times as pandas leaves them. */
rs_status rs_hta_queue_of(const rs_trace *trace, const rs_frame_rows *frame, rs_queue_series *out,
                          rs_error *err);

/* Whether HTA counts a host call of this name as a launch. */
bool rs_hta_is_launch(const char *name);
