/* --fail-on of an analysis. */
#pragma once

#include "rankscope/analysis.h"
#include "rankscope/gate.h"

/* For an analysis whose options have a text option "fail-on": when it is set and rows of the table meet it,
 * result->found is set and a note says which. */
rs_status rs_gate_apply(const rs_options *options, const rs_table *table, rs_result *result, rs_error *err);
