/* Layouts of what many partials are made of. */
#ifndef RS_ANALYSIS_LAYOUTS_H
#define RS_ANALYSIS_LAYOUTS_H

#include "base/stats.h"

extern const rs_layout rs_busy_layout, rs_queue_series_layout;

#endif
