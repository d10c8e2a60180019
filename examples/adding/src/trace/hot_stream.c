#include "trace/hot_stream.h"

#include "base/interval.h"
#include "base/memory.h"
#include "base/order.h"
#include "base/try.h"
#include "trace/trace_internal.h"

typedef struct piece {
    int64_t device, stream, time;
} piece;

static const rs_order by_stream[] = {RS_RISING(piece, device), RS_RISING(piece, stream)};

/* Of two streams with the same time the one with the smaller device and stream is taken. */
static rs_hot_stream hottest(const piece *pieces, size_t n)
{
    rs_hot_stream best = {.time = -1};
    for (size_t i = 0, end; i < n; i = end) {
        rs_hot_stream one = {pieces[i].device, pieces[i].stream, 0, 0};
        for (end = i; end < n && pieces[end].device == one.device && pieces[end].stream == one.stream;
             end++) {
            one.n++;
            one.time = rs_add_sat(one.time, pieces[end].time);
        }
        if (one.time > best.time) best = one;
    }
    return best;
}

static rs_status make(rs_trace *trace, const void *key, void **out, rs_error *err)
{
    const rs_work *work;
    RS_TRY(rs_trace_work_details(trace, key, &work, err));
    if (work->n == 0) return RS_OK;
    RS_LOCAL piece *pieces = rs_malloc(work->n * sizeof *pieces);
    rs_hot_stream *value = pieces ? rs_malloc(sizeof *value) : NULL;
    if (!value) return rs_fail_nomem(err, "streams");
    for (size_t i = 0; i < work->n; i++)
        pieces[i] = (piece){work->device[i], work->stream[i], rs_sub_sat(work->end[i], work->start[i])};
    RS_SORT(pieces, work->n, by_stream);
    *value = hottest(pieces, work->n);
    *out = value;
    return RS_OK;
}

static void release(void *value)
{
    rs_free(value);
}

const rs_facet rs_facet_hot_stream = {.name = "the busiest stream",
                                      .needs = {&rs_facet_work_details},
                                      .key_size = sizeof(rs_policy),
                                      .same = rs_policy_same,
                                      .selected = true,
                                      .make = make,
                                      .release = release};

rs_status rs_trace_hot_stream(rs_trace *trace, const rs_policy *policy, const rs_hot_stream **out,
                              rs_error *err)
{
    void *value = NULL;
    rs_status status = rs_trace_facet(trace, &rs_facet_hot_stream, policy, &value, err);
    *out = value;
    return status;
}
