/* HTA's bandwidth of copies. */
#pragma once

#include "analysis/copy_rates.h"

extern const rs_copy_rules rs_hta_copy_rules;
