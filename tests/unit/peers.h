/* Tests that ask under the rules of other tools, which the pack peer holds: left out of a build without it. */
#pragma once

#include "rankscope/analysis.h"

static inline bool has_peers(void)
{
    size_t n;
    return rs_analysis_tables(rs_analysis_find("breakdown"), RS_COMPAT_HTA, &n) != NULL;
}

#define NEEDS_PEERS()                                                                                        \
    do {                                                                                                     \
        if (!has_peers()) skip();                                                                            \
    } while (0)
