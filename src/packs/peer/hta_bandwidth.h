/* HTA's bandwidth of copies. */
#ifndef RS_PEER_HTA_BANDWIDTH_H
#define RS_PEER_HTA_BANDWIDTH_H

#include "analysis/copy_rates.h"

extern const rs_copy_rules rs_hta_copy_rules;

#endif
