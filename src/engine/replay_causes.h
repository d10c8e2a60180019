/* Which edge held up each node of a replay, kept in 4 bytes a node, or in one where the engine is lean. Private to
 * replay.c. */
#pragma once

#include "engine/engine.h"

/* Room for the causes of a lean engine; none is known yet. False when out of memory. */
bool rs_times_make_choices(const rs_engine *engine, rs_times *times);

enum { RS_NEAR_CAUSES = 200, RS_FAR_CAUSE = 254 };

/* The edge that the start of a rank's node waited for last; RS_NO_CAUSE: none. first: of the edges of its rank the node's first.
 * times->engine is set. */
void rs_times_put_far(rs_times *times, size_t rank, uint32_t local, uint32_t first, uint32_t cause);
static inline void rs_times_put_cause(rs_times *t, size_t rank, uint32_t local, uint32_t first,
                                      uint32_t cause)
{
    uint8_t *choice = &t->choice[t->engine->node_base[rank] + local];
    const uint32_t place = cause - t->engine->edge_base[rank] - first;
    if (place < RS_NEAR_CAUSES && *choice != RS_FAR_CAUSE && cause < t->engine->edge_base[rank + 1])
        *choice = (uint8_t)place;
    else
        rs_times_put_far(t, rank, local, first, cause);
}
