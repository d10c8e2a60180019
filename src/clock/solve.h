/* Steps of rs_clocks_find, in order. */
#pragma once

#include "clock/terms.h"

/* Room for timestamps that were rounded or taken a little late, of each term. */
#define RS_CLOCK_SLACK 1000

/* Bounds the drifts, takes the estimate off all terms and makes the likely distances of pairs and ranks. */
rs_status rs_clocks_estimate(rs_terms *terms, int64_t end_skew, rs_clocks *clocks, rs_error *err);
/* The certain intervals, with what contradicts them taken out. */
rs_status rs_clocks_bound(rs_terms *terms, rs_clocks *clocks, rs_error *err);

/* What a term may be off by: stamps, and the half-width of its rank's drift over the time to the middle. */
int64_t rs_term_slack(const rs_terms *terms, const rs_clocks *clocks, const rs_term *term, int64_t at);
