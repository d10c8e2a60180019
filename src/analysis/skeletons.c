#include "analysis/skeletons.h"

#include "base/memory.h"
#include "base/try.h"

rs_status rs_skeletons_rank(const rs_run *run, rs_trace *trace, void **partial, rs_error *err)
{
    rs_skeleton *s;
    RS_TRY(rs_trace_skeleton(trace, run->policy, &s, err));
    *partial = s;
    return RS_OK;
}

bool rs_skeletons_too_many(const rs_run *run, const rs_trace *trace)
{
    int64_t world = trace->events->info.world_size;
    if (!rs_options_is_set(run->options, "most-events")) return false;
    int64_t most = rs_options_int(run->options, "most-events");
    return most < 0 || (int64_t)trace->n_rows > most / (world > 1 ? world : 1);
}

rs_status rs_skeletons_take(const rs_partial *partials, size_t n, rs_skeletons *out, rs_error *err)
{
    *out = (rs_skeletons){.items = rs_malloc((n + 1) * sizeof *out->items),
                          .rank_of = rs_malloc((n + 1) * sizeof *out->rank_of)};
    if (!out->items || !out->rank_of) return rs_fail_nomem(err, "the ranks' graphs");
    for (size_t i = 0; i < n; i++) {
        if (!partials[i].value) continue;
        out->rank_of[out->n] = partials[i].rank;
        out->items[out->n++] = partials[i].value;
    }
    return RS_OK;
}

void rs_skeletons_clear(rs_skeletons *skeletons)
{
    rs_free(skeletons->items);
    rs_free(skeletons->rank_of);
}
