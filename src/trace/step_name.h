/* The name that PyTorch's profiler gives a step on host and GPU: "ProfilerStep#12". */
#pragma once

#include <stdint.h>
#include <string.h>

#include "base/ranges.h"
#include "base/strings.h"

#define RS_STEP_PREFIX "ProfilerStep#"

static inline bool rs_names_step(const char *name)
{
    return strncmp(name, RS_STEP_PREFIX, sizeof RS_STEP_PREFIX - 1) == 0;
}

/* The number behind the prefix; -1: it names no step, or no whole number stands there. */
static inline int64_t rs_step_number(const rs_string *name)
{
    const size_t prefix = sizeof RS_STEP_PREFIX - 1;
    int64_t number;
    const char *end;
    if (name->length <= prefix || !rs_names_step(name->text)) return -1;
    return rs_parse_whole(name->text + prefix, &number, &end) ? number : -1;
}
