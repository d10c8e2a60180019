#include "trace/graph_waits.h"

#include "base/memory.h"
#include "base/try.h"
#include "trace/trace_internal.h"

#define FIRST_WAIT (INT64_C(1) << 40) /* torch/profiler/_cuspy/trace.py: clear of correlation ids */
#define SEVERAL (RS_NO_ROW - 1)

typedef struct finder {
    const rs_trace *trace;
    const rs_events *e;
    rs_map64 starts, ends; /* a thread and a time: the row of the work, or SEVERAL */
    rs_map64 sources;      /* flow -> row of the work at its beginning */
} finder;

static uint64_t place(uint32_t thread, int64_t time)
{
    return rs_hash_u64((uint64_t)time ^ (uint64_t)thread << 40);
}

static bool put(rs_map64 *map, uint64_t key, uint32_t row)
{
    bool is_new;
    uint32_t *slot = rs_map64_put(map, key, &is_new);
    if (!slot) return false;
    *slot = is_new ? row : SEVERAL;
    return true;
}

static uint32_t work_at(const finder *x, const rs_map64 *map, uint32_t flow)
{
    const uint32_t *row = rs_map64_get(map, place(x->e->thread[flow], x->e->start[flow]));
    if (!row || *row == SEVERAL || x->e->thread[*row] != x->e->thread[flow]) return RS_NO_ROW;
    int64_t time = map == &x->ends ? rs_event_end(x->e, *row) : x->e->start[*row];
    return time == x->e->start[flow] ? *row : RS_NO_ROW;
}

/* Whether the i-th flow of the file is one of these, of that phase. */
static bool is_wait(const finder *x, rs_membership *member, size_t i, uint8_t phase)
{
    const rs_sparse *id = &x->e->args[RS_COL_FLOW_ID];
    uint32_t row = id->rows[i];
    return x->e->phase[row] == phase && rs_event_kind(x->e, row) == RS_KIND_FLOW &&
           rs_sparse_int(id, i) >= FIRST_WAIT && rs_is_member(member, row);
}

static bool find(finder *x, const uint32_t *rows, size_t n_rows, rs_graph_wait **out, size_t *n)
{
    const rs_events *e = x->e;
    const rs_sparse *id = &e->args[RS_COL_FLOW_ID];
    size_t capacity = 0;
    bool ok = true;
    for (size_t i = 0; ok && i < n_rows; i++)
        ok = put(&x->starts, place(e->thread[rows[i]], e->start[rows[i]]), rows[i]) &&
             put(&x->ends, place(e->thread[rows[i]], rs_event_end(e, rows[i])), rows[i]);
    rs_membership member = {x->trace, 0};
    for (size_t i = 0; ok && i < id->n; i++) {
        if (!is_wait(x, &member, i, 's')) continue;
        uint32_t row = work_at(x, &x->ends, id->rows[i]);
        if (row != RS_NO_ROW) ok = put(&x->sources, (uint64_t)rs_sparse_int(id, i), row);
    }
    member = (rs_membership){x->trace, 0};
    for (size_t i = 0; ok && i < id->n; i++) {
        if (!is_wait(x, &member, i, 'f')) continue;
        const uint32_t *source = rs_map64_get(&x->sources, (uint64_t)rs_sparse_int(id, i));
        uint32_t target = source && *source != SEVERAL ? work_at(x, &x->starts, id->rows[i]) : RS_NO_ROW;
        if (target == RS_NO_ROW || target == *source) continue;
        ok = RS_PUSH(*out, *n, capacity, (rs_graph_wait){*source, target});
    }
    return ok;
}

rs_status rs_graph_waits_find(rs_trace *trace, rs_graph_wait **out, size_t *n, rs_error *err)
{
    const rs_events *e = trace->events;
    const rs_sparse *id = &e->args[RS_COL_FLOW_ID];
    const uint32_t *rows;
    size_t n_rows;
    bool any = false;
    finder x = {.trace = trace, .e = e};
    *out = NULL;
    *n = 0;
    for (size_t i = 0; !any && i < id->n; i++) any = rs_sparse_int(id, i) >= FIRST_WAIT;
    if (!any) return RS_OK;
    RS_TRY(rs_trace_gpu_rows(trace, &rows, &n_rows, err));
    bool ok = find(&x, rows, n_rows, out, n);
    rs_map64_clear(&x.starts);
    rs_map64_clear(&x.ends);
    rs_map64_clear(&x.sources);
    if (ok) return RS_OK;
    rs_free(*out);
    *out = NULL;
    return rs_fail_nomem(err, "waits in graphs");
}
