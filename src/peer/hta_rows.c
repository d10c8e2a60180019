/* Analyses that stand under HTA's window and tell HTA's rules from their own by the policy. */
#include "peer/hta_steps.h"

#define UNDER_THE_WINDOW(name)                                                                               \
    {                                                                                                        \
        .analysis = (name), .modes = RS_MODE(HTA) | RS_MODE(HTA_EXACT), .rounds = rs_hta_rounds,             \
        .n_rounds = 1                                                                                        \
    }

const rs_peer_row rs_peer_hta_annotate = UNDER_THE_WINDOW("annotate");
const rs_peer_row rs_peer_hta_annotations = UNDER_THE_WINDOW("annotations");
const rs_peer_row rs_peer_hta_bandwidth = UNDER_THE_WINDOW("bandwidth");
const rs_peer_row rs_peer_hta_breakdown = UNDER_THE_WINDOW("breakdown");
const rs_peer_row rs_peer_hta_counters = UNDER_THE_WINDOW("counters");
const rs_peer_row rs_peer_hta_critical_path = UNDER_THE_WINDOW("critical-path");
const rs_peer_row rs_peer_hta_delays = UNDER_THE_WINDOW("delays");
const rs_peer_row rs_peer_hta_frame = UNDER_THE_WINDOW("frame");
const rs_peer_row rs_peer_hta_idle = UNDER_THE_WINDOW("idle");
const rs_peer_row rs_peer_hta_kernels = UNDER_THE_WINDOW("kernels");
const rs_peer_row rs_peer_hta_launches = UNDER_THE_WINDOW("launches");
const rs_peer_row rs_peer_hta_overlap = UNDER_THE_WINDOW("overlap");
const rs_peer_row rs_peer_hta_queue = UNDER_THE_WINDOW("queue");
const rs_peer_row rs_peer_hta_sequences = UNDER_THE_WINDOW("sequences");
const rs_peer_row rs_peer_hta_stragglers = UNDER_THE_WINDOW("stragglers");
