/* The round in which ranks agree whether HTA's window cuts off their last step.
 *
 * HTA 0.6 looks at the frames of all ranks at once: as soon as two training steps show anywhere, it drops the
 * last step of every rank, also of one that shows a single step or none. */
#ifndef RS_PEER_HTA_STEPS_H
#define RS_PEER_HTA_STEPS_H

#include "analysis/analysis.h"

extern const rs_rank_round rs_hta_rounds[1];

#endif
