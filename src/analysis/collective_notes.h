/* What `collectives` and `stragglers` have to say of communication that the host ran. */
#ifndef RS_ANALYSIS_COLLECTIVE_NOTES_H
#define RS_ANALYSIS_COLLECTIVE_NOTES_H

#include "analysis/analysis.h"
#include "clock/collective_clocks.h"
#include "match/collective_ops.h"

void rs_coll_note_host(const rs_coll_job *job, rs_result *result);
/* The interval of the clocks that was relied on. */
void rs_coll_note_trust(const rs_clock_trust *trust, rs_result *result);

#endif
