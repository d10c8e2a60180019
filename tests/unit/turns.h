/* Which of many ways of damage a test tries: a sample, or with --all each. */
#pragma once

#include "support.h"

static bool all_ways; /* --all: each way of each member; else every third or so */

static inline bool is_turn(size_t place, size_t way, size_t every)
{
    return all_ways || (place + way) % (RS_TEST_SLOW ? 5 * every : every) == 0;
}
