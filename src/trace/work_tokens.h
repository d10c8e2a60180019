/* A rank's GPU work as a sequence of tokens in launch order, with what is known of each: what repetition is
 * looked for in. */
#pragma once

#include "trace/launch_order.h"
#include "trace/repetition.h"

typedef struct rs_work_tokens {
    const rs_launch_order *order;
    rs_tokens tokens;  /* as many as order has */
    int64_t *loader;   /* start of the loader's call before the work, RS_NO_TIME: none */
    int64_t *reach;    /* end of the launches before the work, RS_NO_TIME: none */
    uint8_t *autograd; /* by thread of the events: most that it launches belongs to backward */
    bool trains;       /* the host shows a backward, an optimizer or a loader, or no operators at all */
    uint32_t *token;   /* those of tokens, owned */
    uint16_t *mark;
    int64_t *gap;
} rs_work_tokens;

extern const rs_facet rs_facet_work_tokens;

/* Of all the rank's work, whatever is selected. The trace's. O(rows). */
rs_status rs_trace_work_tokens(rs_trace *trace, const rs_work_tokens **out, rs_error *err);
