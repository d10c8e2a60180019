/* The round in which ranks agree whether HTA's window cuts off their last step.
 *
 * HTA 0.6 looks at the frames of all ranks at once: as soon as two training steps show anywhere, it drops the
 * last step of every rank, also of one that shows a single step or none. */
#pragma once

#include "analysis/analysis.h"

extern const rs_rank_round rs_hta_rounds[1];

/* The members of a row that all of HTA's share; the rest follows behind a comma. */
#define RS_HTA_ROW(name)                                                                                     \
    .analysis = (name), .modes = RS_MODE(HTA) | RS_MODE(HTA_EXACT), .rounds = rs_hta_rounds, .n_rounds = 1
