/* timeline as TraceLens has it: the same columns over work whose launch is in the file, by TraceLens's
 * classes, which are in the policy. */
#include "analysis/analysis.h"

const rs_policy rs_policy_tracelens = {
    .compat = RS_COMPAT_TRACELENS, .classes = RS_CLASSES_TRACELENS, .linked_only = true};

const rs_peer_row rs_peer_tracelens_timeline = {.analysis = "timeline", .modes = RS_MODE(TRACELENS)};
