/* Who waited for which GPU node. Told by the synchronization edges of the critical-path graph: all of them,
 * not those on the longest path. */
#include <stdio.h>
#include <stdlib.h>

#include "base/order.h"
#include "base/search.h"
#include "base/try.h"
#include "chakra/link.h"

static uint32_t gpu_of_row(const rs_linker *x, uint32_t row)
{
    size_t from;
    RS_SEARCH(from, x->n_gpus, x->gpus[from].row < row);
    return from < x->n_gpus && x->gpus[from].row == row ? (uint32_t)from : RS_LINK_NONE;
}

/* Whether a is before b on their stream. */
static bool is_earlier(const rs_link_gpu *a, const rs_link_gpu *b)
{
    if (a->ts != b->ts) return a->ts < b->ts;
    if (a->launch_ts != b->launch_ts) return a->launch_ts < b->launch_ts;
    return a->row < b->row;
}

/* A GPU node waits itself; after a call its thread's next operator does. */
static bool carrier_of(const rs_linker *x, const rs_sync_edge *edge, rs_link_dep *dep)
{
    dep->on_gpu = rs_sync_is_of_work(edge->kind);
    if (dep->on_gpu) {
        dep->carrier = gpu_of_row(x, edge->target);
        return dep->carrier != RS_LINK_NONE && x->gpus[dep->carrier].fate == RS_LINK_KEPT;
    }
    uint32_t at = rs_link_first_after(x, x->e->thread[edge->target], rs_event_end(x->e, edge->target));
    if (at == RS_LINK_NONE) return false;
    dep->carrier = x->ops[x->linked[at]].node;
    return x->hosts[dep->carrier].op == x->linked[at];
}

typedef struct sortable {
    rs_link_dep dep;
    const rs_link_gpu *gpu;
} sortable;

static int by_carrier(const void *a, const void *b)
{
    const sortable *p = a, *q = b;
    if (p->dep.on_gpu != q->dep.on_gpu) return p->dep.on_gpu ? 1 : -1;
    if (p->dep.carrier != q->dep.carrier) return p->dep.carrier < q->dep.carrier ? -1 : 1;
    if (p->gpu->lane != q->gpu->lane) return p->gpu->lane < q->gpu->lane ? -1 : 1;
    if (p->gpu != q->gpu) return is_earlier(p->gpu, q->gpu) ? -1 : 1;
    return (int)q->dep.kind - (int)p->dep.kind;
}

/* On one carrier the last of a stream says it all. */
static void keep_last(rs_linker *x, const sortable *items, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const sortable *s = &items[i], *next = i + 1 < n ? &items[i + 1] : NULL;
        if (next && next->dep.on_gpu == s->dep.on_gpu && next->dep.carrier == s->dep.carrier &&
            next->gpu->lane == s->gpu->lane)
            continue;
        uint32_t at = (uint32_t)x->n_deps++;
        x->deps[at] = s->dep;
        uint32_t *first =
            s->dep.on_gpu ? &x->gpus[s->dep.carrier].first_dep : &x->hosts[s->dep.carrier].first_dep;
        uint32_t *count = s->dep.on_gpu ? &x->gpus[s->dep.carrier].n_dep : &x->hosts[s->dep.carrier].n_dep;
        if ((*count)++ == 0) *first = at;
        rs_chakra_link_report *r = x->report;
        uint64_t *counter[] = {&r->stream_waits, &r->event_syncs, &r->stream_syncs, &r->context_syncs,
                               &r->blocking_copies};
        (*counter[s->dep.kind])++;
    }
}

/* ---- how long threads stood still ------------------------------------------------------------------- */

static const rs_order by_root[] = {RS_RISING(rs_link_wait, root), RS_RISING(rs_link_wait, from),
                                   RS_RISING(rs_link_wait, to), RS_RISING(rs_link_wait, gpu)};

/* A call that gives memory back waits for the device, but Chakra's linker has no such dependency: its graphs stay as that
 * has them. */
static bool is_taken(const rs_sync_edge *edge)
{
    return edge->kind != RS_SYNC_FREE;
}

/* A blocking copy is no wait: its time stays with its operator. */
static rs_status find_waits(rs_linker *x, const rs_sync_edges *edges, rs_error *err)
{
    x->waits = rs_malloc(edges->n * sizeof *x->waits + 1);
    if (!x->waits) return rs_fail_nomem(err, "waits");
    for (size_t i = 0; i < edges->n; i++) {
        const rs_sync_edge *edge = &edges->items[i];
        if (rs_sync_is_of_work(edge->kind) || edge->kind == RS_SYNC_COPY || !is_taken(edge)) continue;
        uint32_t gpu = gpu_of_row(x, edge->source), thread = x->e->thread[edge->target];
        if (gpu == RS_LINK_NONE || x->gpus[gpu].fate != RS_LINK_KEPT) continue;
        if (x->thread_first[thread] == x->thread_first[thread + 1]) continue;
        int64_t to = rs_event_end(x->e, edge->target);
        x->waits[x->n_waits++] = (rs_link_wait){.from = x->e->start[edge->target],
                                                .to = x->gpus[gpu].end < to ? x->gpus[gpu].end : to,
                                                .gpu = gpu,
                                                .root = x->leaders[thread]};
    }
    RS_SORT(x->waits, x->n_waits, by_root);
    for (size_t i = 0; i < x->n_waits; i++) {
        rs_link_host *root = &x->hosts[x->waits[i].root];
        if (!root->n_wait++) root->first_wait = (uint32_t)i;
    }
    return RS_OK;
}

/* ---- all of it -------------------------------------------------------------------------------------- */

static rs_status place(rs_linker *x, const rs_sync_edges *edges, rs_error *err)
{
    RS_LOCAL sortable *items = rs_malloc(edges->n * sizeof *items + 1);
    x->deps = rs_malloc(edges->n * sizeof *x->deps + 1);
    size_t n = 0;
    if (!items || !x->deps) return rs_fail_nomem(err, "dependencies");
    for (size_t i = 0; i < edges->n; i++) {
        if (!is_taken(&edges->items[i])) continue;
        rs_link_dep dep = {.gpu = gpu_of_row(x, edges->items[i].source),
                           .kind = (uint8_t)edges->items[i].kind};
        if (dep.gpu == RS_LINK_NONE || x->gpus[dep.gpu].fate != RS_LINK_KEPT) continue;
        if (carrier_of(x, &edges->items[i], &dep)) items[n++] = (sortable){dep, &x->gpus[dep.gpu]};
    }
    if (n) qsort(items, n, sizeof *items, by_carrier);
    keep_last(x, items, n);
    return RS_OK;
}

rs_status rs_link_sync(rs_linker *x, rs_error *err)
{
    const rs_sync_edges *edges;
    RS_TRY(rs_trace_sync(x->trace, &edges, err));
    RS_TRY(place(x, edges, err));
    return find_waits(x, edges, err);
}

static void explain_one(const rs_linker *x, uint32_t at, uint64_t id)
{
    static const char *const kinds[] = {"Stream Wait Event", "Event Sync", "Stream Sync", "Context Sync",
                                        "blocking copy"};
    static const char on_cpu[] = "Node ID %llu now has an synchonization dependency on Node ID %llu (%s)",
                      on_gpu[] = "GPU node %llu now waits for GPU node %llu (%s)";
    const rs_link_dep *dep = &x->deps[at];
    char line[128];
    /* Of CPU nodes in the words of the established linker, its spelling too: scripts look for them. */
    snprintf(line, sizeof line, dep->on_gpu ? on_gpu : on_cpu, (unsigned long long)id,
             (unsigned long long)x->gpus[dep->gpu].id, kinds[dep->kind]);
    x->settings->explain(x->settings->explain_context, line);
}

void rs_link_explain(const rs_linker *x)
{
    if (!x->settings->explain) return;
    for (size_t i = 0; i < x->et.n_order; i++) {
        const rs_link_host *host = &x->hosts[x->et.order[i]];
        for (uint32_t d = 0; d < host->n_dep; d++) explain_one(x, host->first_dep + d, host->id);
        for (uint32_t k = 0; k < host->n_gpu; k++) {
            const rs_link_gpu *g = &x->gpus[x->by_parent[host->first_gpu + k]];
            for (uint32_t d = 0; d < g->n_dep; d++) explain_one(x, g->first_dep + d, g->id);
        }
    }
}
