/* timeline as TraceLens has it: the same columns over work whose launch is in the file, by TraceLens's
 * classes, which stand in the policy. */
#include "analysis/analysis.h"

const rs_peer_row rs_peer_tracelens_timeline = {.analysis = "timeline", .modes = RS_MODE(TRACELENS)};
