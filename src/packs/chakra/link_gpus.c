/* GPU events: the operator from within which each was launched. */

#include "base/interval.h"
#include "chakra/link.h"

static bool number_lanes(rs_linker *x)
{
    RS_SCOPED(rs_map64_clear) rs_map64 devices = {0}, streams = {0}, lanes = {0};
    uint32_t n_devices = 0, n_streams = 0, n_lanes = 0;
    bool ok = true, is_new;
    for (size_t i = 0; ok && i < x->n_gpus; i++) {
        rs_link_gpu *g = &x->gpus[i];
        /* old traces leave the device out; it then is the process id */
        int64_t device = g->has_device ? g->device : x->e->threads[x->e->thread[g->row]].pid,
                stream = g->has_stream ? g->stream : RS_NO_VALUE;
        uint32_t *a = rs_map64_put(&devices, (uint64_t)device, &is_new);
        if (a && is_new) *a = n_devices++;
        uint32_t *b = rs_map64_put(&streams, (uint64_t)stream, &is_new);
        if (b && is_new) *b = n_streams++;
        uint32_t *c = a && b ? rs_map64_put(&lanes, (uint64_t)*a << 32 | *b, &is_new) : NULL;
        if (c && is_new) *c = n_lanes++;
        ok = c != NULL;
        if (ok) g->lane = *c;
    }
    return ok;
}

/* GPU events come by row. */
static void read_columns(rs_linker *x)
{
    rs_cursor device = rs_cursor_of(x->e, RS_COL_DEVICE), stream = rs_cursor_of(x->e, RS_COL_STREAM);
    rs_cursor args[RS_LINK_ARGS];
    for (size_t k = 0; k < RS_LINK_ARGS; k++) args[k] = rs_cursor_of(x->e, rs_link_args[k]);
    for (size_t i = 0; i < x->n_gpus; i++) {
        rs_link_gpu *g = &x->gpus[i];
        g->has_device = rs_cursor_seek(&device, g->row);
        if (g->has_device) g->device = rs_sparse_int(device.column, device.at);
        g->has_stream = rs_cursor_seek(&stream, g->row);
        if (g->has_stream) g->stream = rs_sparse_int(stream.column, stream.at);
        for (size_t k = 0; k < RS_LINK_ARGS && !g->has_args; k++)
            g->has_args = rs_cursor_seek(&args[k], g->row);
    }
}

static rs_status collect(rs_linker *x, rs_error *err)
{
    const rs_links *links;
    const uint32_t *rows;
    rs_status status = rs_trace_launches(x->trace, &links, err);
    if (status == RS_OK) status = rs_trace_gpu_rows(x->trace, &rows, &x->n_gpus, err);
    if (status != RS_OK) return status;
    x->gpus = rs_calloc(x->n_gpus + 1, sizeof *x->gpus);
    if (!x->gpus) return rs_fail_nomem(err, "GPU events");
    for (size_t i = 0; i < x->n_gpus; i++) {
        uint32_t row = rows[i], launch = links->launch_of[i];
        x->gpus[i] = (rs_link_gpu){.ts = x->e->start[row],
                                   .end = rs_event_end(x->e, row),
                                   .launch_ts = launch == RS_NO_ROW ? 0 : x->e->start[launch],
                                   .launch_end = launch == RS_NO_ROW ? 0 : rs_event_end(x->e, launch),
                                   .row = row,
                                   .launch = launch,
                                   .parent = RS_LINK_NONE};
    }
    read_columns(x);
    return number_lanes(x) ? RS_OK : rs_fail_nomem(err, "streams");
}

/* The root above the ops of a thread. */
static uint32_t link_root_above(const rs_linker *x, uint32_t node)
{
    while (x->et.nodes[node].role != RS_ET_THREAD && x->et.nodes[node].up != node)
        node = x->et.nodes[node].up;
    return node;
}

/* Launches of one thread in order of time, against its linked ops in theirs. Of the ops on the stack the last
 * one that has not ended encloses the launch; one that has ended never does so again. */
static void place_on_thread(rs_linker *x, uint32_t thread, const rs_keyed *launches, size_t n,
                            uint32_t *stack)
{
    uint32_t at = x->thread_first[thread], end = x->thread_first[thread + 1];
    size_t open = 0;
    if (at == end) return;
    int64_t from = x->ops[x->linked[at]].ts, to = INT64_MIN;
    uint32_t root = link_root_above(x, x->ops[x->linked[at]].node);
    for (uint32_t i = at; i < end; i++)
        if (x->ops[x->linked[i]].end > to) to = x->ops[x->linked[i]].end;
    for (size_t i = 0; i < n; i++) {
        rs_link_gpu *g = &x->gpus[launches[i].value];
        int64_t t = g->launch_ts;
        while (at < end && x->ops[x->linked[at]].ts <= t) stack[open++] = x->linked[at++];
        while (open && x->ops[stack[open - 1]].end < t) open--;
        if (open)
            g->parent = x->ops[stack[open - 1]].node;
        else if (t >= from && t <= to)
            g->parent = root;
    }
}

static bool place_all(rs_linker *x)
{
    RS_LOCAL rs_keyed *order = rs_malloc(x->n_gpus * sizeof *order + 1);
    RS_LOCAL uint32_t *stack = rs_malloc(x->n_linked * sizeof *stack + 1);
    size_t n = 0;
    bool ok = order && stack;
    for (size_t i = 0; ok && i < x->n_gpus; i++)
        if (x->gpus[i].launch != RS_NO_ROW) order[n++] = (rs_keyed){x->gpus[i].launch_ts, (uint32_t)i};
    ok = ok && rs_keyed_sort(order, n);
    for (size_t i = 0; ok && i < n; i++) order[i].key = x->e->thread[x->gpus[order[i].value].launch];
    ok = ok && rs_keyed_sort(order, n);
    for (size_t i = 0, next; ok && i < n; i = next) {
        for (next = i; next < n && order[next].key == order[i].key;) next++;
        place_on_thread(x, (uint32_t)order[i].key, order + i, next - i, stack);
    }
    return ok;
}

/* What has no parent lies outside the common time, or is lost. */
static void judge(rs_linker *x)
{
    int64_t from = INT64_MAX, to = INT64_MIN;
    for (size_t i = 0; i < x->n_linked; i++) {
        const rs_link_op *op = &x->ops[x->linked[i]];
        if (op->ts < from) from = op->ts;
        if (op->end > to) to = op->end;
    }
    for (size_t i = 0; i < x->n_gpus; i++) {
        rs_link_gpu *g = &x->gpus[i];
        if (g->parent != RS_LINK_NONE) {
            g->fate = RS_LINK_KEPT;
            x->hosts[g->parent].n_gpu++;
            x->report->gpu_nodes++;
            continue;
        }
        uint32_t thread = g->launch == RS_NO_ROW ? 0 : x->e->thread[g->launch];
        bool timed = g->launch != RS_NO_ROW && x->thread_first[thread] < x->thread_first[thread + 1];
        int64_t t = g->launch == RS_NO_ROW ? g->ts : g->launch_ts;
        bool lost = !timed && t >= from && t <= to;
        g->fate = lost ? RS_LINK_LOST : RS_LINK_OUTSIDE;
        x->report->gpu_lost += lost;
        x->report->gpu_outside += !lost;
    }
}

/* The children of every node by time, then launch, then row. */
static bool order_children(rs_linker *x)
{
    RS_LOCAL rs_keyed *order = rs_malloc(x->n_gpus * sizeof *order + 1);
    x->by_parent = rs_malloc(x->n_gpus * sizeof *x->by_parent + 1);
    bool ok = order && x->by_parent;
    for (size_t i = 0; ok && i < x->n_gpus; i++)
        if (x->gpus[i].fate == RS_LINK_KEPT)
            order[x->n_kept++] = (rs_keyed){x->gpus[i].launch_ts, (uint32_t)i};
    ok = ok && rs_keyed_sort(order, x->n_kept);
    for (size_t i = 0; ok && i < x->n_kept; i++) order[i].key = x->gpus[order[i].value].ts;
    ok = ok && rs_keyed_sort(order, x->n_kept);
    for (size_t i = 0; ok && i < x->n_kept; i++)
        order[i].key = x->et.nodes[x->gpus[order[i].value].parent].place;
    ok = ok && rs_keyed_sort(order, x->n_kept);
    for (size_t i = 0; ok && i < x->n_kept; i++) {
        x->by_parent[i] = order[i].value;
        rs_link_host *host = &x->hosts[x->gpus[order[i].value].parent];
        if (i == 0 || order[i - 1].key != order[i].key) host->first_gpu = (uint32_t)i;
    }
    return ok;
}

rs_status rs_link_gpus(rs_linker *x, rs_error *err)
{
    rs_status status = collect(x, err);
    if (status != RS_OK) return status;
    if (!place_all(x)) return rs_fail_nomem(err, "launches");
    judge(x);
    return order_children(x) ? RS_OK : rs_fail_nomem(err, "GPU nodes");
}
