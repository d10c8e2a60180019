#include "regress/host.h"

#include <string.h>

#include "base/interval.h"
#include "base/memory.h"
#include "base/order.h"
#include "base/search.h"
#include "base/try.h"
#include "trace/step_name.h"
#include "trace/tree.h"

void rs_host_time_free(rs_host_time *host)
{
    if (!host) return;
    rs_pool_clear(&host->pool);
    rs_free_all(host->threads, host->spans, host);
}

/* ---- making -------------------------------------------------------------------------------------------- */

typedef struct maker {
    const rs_events *e;
    const rs_tree *tree;
    rs_host_time *out;
    rs_host_thread *thread; /* under way; NULL: none */
} maker;

/* From `at` on the thread is in this node; RS_NO_NODE: in none. Starts never fall: what is not nested rightly begins
 * where the event before it ended. */
static bool enter(maker *m, uint32_t node, int64_t at)
{
    rs_host_time *h = m->out;
    rs_host_span span = {at, RS_NO_STRING, RS_NO_STRING};
    bool ok = true;
    bool is_step = node != RS_NO_NODE && rs_names_step(rs_event_name(m->e, m->tree->row[node]));
    if (node != RS_NO_NODE && !is_step) {
        uint32_t op = m->tree->op[node];
        span.name = rs_pool_add(&h->pool, m->e, m->e->name[m->tree->row[node]], &ok);
        if (op != RS_NO_NODE)
            span.operator_name = rs_pool_add(&h->pool, m->e, m->e->name[m->tree->row[op]], &ok);
    }
    rs_host_span *last = m->thread->n ? &h->spans[h->n - 1] : NULL;
    if (last && span.start <= last->start) {
        span.start = last->start;
        *last = span;
        return ok;
    }
    if (!ok || !RS_PUSH(h->spans, h->n, h->capacity, span)) return false;
    m->thread->n++;
    return true;
}

/* Leaves nodes from `inner` out until `outer` is the innermost. */
static bool leave(maker *m, uint32_t inner, uint32_t outer)
{
    while (inner != RS_NO_NODE && inner != outer) {
        uint32_t parent = m->tree->parent[inner];
        if (!enter(m, parent, rs_event_end(m->e, m->tree->row[inner]))) return false;
        inner = parent;
    }
    return true;
}

static bool fill(maker *m)
{
    const rs_tree *t = m->tree;
    rs_host_time *h = m->out;
    uint32_t current = RS_NO_NODE, thread = UINT32_MAX;
    for (uint32_t i = 0; i < t->n; i++) {
        uint32_t of = m->e->thread[t->row[i]];
        if (!leave(m, current, of == thread ? t->parent[i] : RS_NO_NODE)) return false;
        if (of != thread) {
            if (!RS_GROW_ONE(h->threads, h->n_threads, h->threads_capacity)) return false;
            m->thread = &h->threads[h->n_threads++];
            *m->thread = (rs_host_thread){m->e->threads[of].pid, m->e->threads[of].tid, h->n, 0, 0};
            thread = of;
        }
        if (!enter(m, i, m->e->start[t->row[i]])) return false;
        m->thread->n_steps += rs_names_step(rs_event_name(m->e, t->row[i]));
        current = i;
    }
    return leave(m, current, RS_NO_NODE);
}

static const rs_order by_ids[] = {RS_RISING(rs_host_thread, pid), RS_RISING(rs_host_thread, tid),
                                  RS_RISING(rs_host_thread, first)};

rs_status rs_host_time_of(rs_trace *trace, rs_host_time **out, rs_error *err)
{
    rs_tree *tree;
    *out = NULL;
    RS_TRY(rs_trace_tree(trace, true, &tree, err));
    rs_host_time *host = rs_calloc(1, sizeof *host);
    maker m = {.e = trace->events, .tree = tree, .out = host};
    if (!host || !rs_pool_init(&host->pool) || !fill(&m)) {
        rs_host_time_free(host);
        return rs_fail_nomem(err, "what the host was in");
    }
    RS_SORT(host->threads, host->n_threads, by_ids);
    *out = host;
    return RS_OK;
}

/* ---- asking -------------------------------------------------------------------------------------------- */

static const rs_host_thread *find_thread(const rs_host_time *host, int64_t pid, int64_t tid)
{
    const rs_host_thread key = {pid, tid, 0, 0, 0};
    size_t low;
    RS_SEARCH(low, host->n_threads, RS_COMPARE(by_ids, &host->threads[low], &key) < 0);
    bool is = low < host->n_threads && host->threads[low].pid == pid && host->threads[low].tid == tid;
    return is ? &host->threads[low] : NULL;
}

static const rs_host_thread *thread_of_steps(const rs_host_time *host)
{
    const rs_host_thread *most = NULL;
    for (size_t i = 0; i < host->n_threads; i++)
        if (host->threads[i].n_steps > (most ? most->n_steps : 0)) most = &host->threads[i];
    return most;
}

bool rs_host_time_split(const rs_host_time *host, int64_t pid, int64_t tid, int64_t from, int64_t to,
                        rs_host_sink sink, void *context)
{
    const rs_host_thread *thread = find_thread(host, pid, tid);
    if (from >= to) return true;
    if (!thread) thread = thread_of_steps(host);
    if (!thread || !thread->n) return sink(context, NULL, rs_sub_sat(to, from));
    const rs_host_span *spans = host->spans + thread->first;
    size_t low; /* the first span that begins behind `from` */
    RS_SEARCH(low, thread->n, spans[low].start <= from);
    while (from < to) {
        int64_t end = low < thread->n && spans[low].start < to ? spans[low].start : to;
        if (!sink(context, low ? &spans[low - 1] : NULL, rs_sub_sat(end, from))) return false;
        from = end;
        low++;
    }
    return true;
}
