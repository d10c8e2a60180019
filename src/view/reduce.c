#include "rankscope/view.h"

#include <string.h>

#include "base/memory.h"
#include "rankscope/text.h"
#include "rankscope/fuse.h"

static bool keep(void *context, const char *bytes, size_t n)
{
    rs_view_trace *t = context;
    if (n > SIZE_MAX - t->n || !rs_grow((void **)&t->bytes, &t->capacity, t->n + n, 1)) return false;
    memcpy(t->bytes + t->n, bytes, n);
    t->n += n;
    return true;
}

static void count(const rs_result *result, rs_view_trace *trace)
{
    const rs_table *t = result->tables[0];
    trace->n_ranks = rs_table_n_rows(t);
    for (size_t row = 0; row < trace->n_ranks; row++) {
        trace->n_kept += (uint64_t)rs_table_int(t, row, 2);
        trace->n_left_out += (uint64_t)rs_table_int(t, row, 3);
    }
}

rs_status rs_view_reduce(rs_job *job, uint64_t max_events, bool perfetto, rs_view_trace *trace,
                         rs_result *result, rs_error *err)
{
    rs_fuse_settings settings = {
        .size = sizeof settings, .align = true, .max_events = max_events, .perfetto = perfetto};
    rs_sink sink = {keep, trace}, packed;
    rs_packer *packer = NULL;
    *trace = (rs_view_trace){.name = perfetto ? "trace.pftrace.gz" : "trace.json.gz"};
    *result = (rs_result){0};
    rs_status status = rs_packer_open(RS_PACK_GZIP, &sink, &packer, err);
    if (status != RS_OK) return status;
    packed = rs_packer_sink(packer);
    status = rs_fuse(job, &settings, &packed, result, err);
    if (status == RS_OK) status = rs_packer_finish(packer, err);
    rs_packer_close(packer);
    if (status == RS_OK) count(result, trace);
    return status;
}

void rs_view_trace_clear(rs_view_trace *trace)
{
    rs_free(trace->bytes);
    *trace = (rs_view_trace){0};
}
