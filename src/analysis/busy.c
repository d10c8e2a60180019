#include "analysis/busy.h"

#include <math.h>

#include "base/memory.h"

double rs_percent(int64_t part, int64_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : (double)NAN;
}

rs_status rs_busy_rank(const rs_run *run, rs_trace *trace, void **partial, rs_error *err)
{
    const rs_busy *kept;
    rs_status status = rs_trace_busy(trace, run->policy, &kept, err);
    if (status != RS_OK) return status;
    rs_busy *b = rs_malloc(sizeof *b);
    if (!b) return rs_fail_nomem(err, "a rank's times");
    *b = *kept;
    *partial = b;
    return RS_OK;
}

rs_status rs_busy_rank_at_work(const rs_run *run, rs_trace *trace, void **partial, rs_error *err)
{
    rs_status status = rs_busy_rank(run, trace, partial, err);
    if (status != RS_OK || ((const rs_busy *)*partial)->n) return status;
    rs_busy_free(*partial);
    *partial = NULL;
    return RS_OK;
}

void rs_busy_free(void *partial)
{
    rs_free(partial);
}
