/* The roots of a hang, and what is known of a rank besides its dump. Internal to src/packs/flight. */
#pragma once

#include "flight/analyse.h"

/* One row a rank and finding, in the findings' order; and the ranks to take out of the job. */
rs_status rs_fl_fill_roots(rs_fl_analysis *a, rs_error *err);
/* The report's culprits: those of all findings of the first one's class. */
rs_status rs_fl_unite_culprits(rs_fl_analysis *a, rs_error *err);

/* The innermost frame of the user's own code, NULL without frames; and "file:line" of it. */
const rs_fl_frame *rs_fl_user_frame(const rs_flight *flight, uint32_t stack);
