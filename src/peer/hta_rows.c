/* Analyses that stand under HTA's window and tell HTA's rules from their own by the policy. */
#include "peer/hta_steps.h"

const rs_peer_row rs_peer_hta_frame = {RS_HTA_ROW("frame")};
