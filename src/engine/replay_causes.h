/* Which edge held up each node of a replay, kept in 4 bytes a node, or in one where the engine is lean. Private to
 * replay.c. */
#pragma once

#include "engine/engine.h"

/* Room for the causes of a lean engine; none is known yet. False when out of memory. */
bool rs_times_make_choices(const rs_engine *engine, rs_times *times);
/* The edge that the start of a rank's node waited for last; RS_NO_CAUSE: none. times->engine is set. */
void rs_times_put_cause(rs_times *times, size_t rank, uint32_t local, uint32_t cause);
