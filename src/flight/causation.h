/* What the log and the stacks tell of why. Internal to src/flight. */
#ifndef RS_FLIGHT_CAUSATION_H
#define RS_FLIGHT_CAUSATION_H

#include "flight/analyse.h"

/* Gives each finding whose ranks have one its cause. */
rs_status rs_fl_find_causes(rs_fl_analysis *a, rs_error *err);

/* Findings from the log alone, where there is no dump. */
rs_status rs_fl_judge_log(rs_fl_analysis *a, rs_error *err);

/* One sentence; NULL when out of memory. */
const char *rs_fl_cause_text(rs_flight *flight, const rs_flight_root *row);
/* What to do about it, NULL when the cause's kind asks for nothing of its own. */
const char *rs_fl_cause_next(rs_flight *flight, const rs_flight_root *row);
/* Whether a log was read at all. */
bool rs_fl_has_log(const rs_flight *flight);

#endif
