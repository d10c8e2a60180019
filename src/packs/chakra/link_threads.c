/* What waited for another thread: specified by the pauses of a thread and by the ends of backward passes.
 *
 * An operator waits for another thread in two cases. (a) Its thread starts again with it, after a pause or for
 * the first time: it waits for the thread whose operator ended last by then, and for every other thread of
 * which an operator ended during the pause. (b) A backward pass of its thread has ended since the operator
 * before it. It then waits for the operator of that thread that started last among those that had ended: in a
 * thread's order everything before that is done, too. */
#include <string.h>

#include "base/interval.h"
#include "base/order.h"
#include "chakra/link.h"

/* A thread that did nothing for this long, ns, begins again. */
#define PAUSE 1000000

/* Threads looked at for each operator: only hostile input comes near it, and then loses dependencies. */
#define MAX_LOOKS 64

/* An operator waited for a thread. */
typedef struct demand {
    int64_t ended; /* when the thread's last operator had ended */
    uint32_t op;   /* index into ops: what waits */
    uint32_t on;   /* index into ops: what it waits for */
    uint32_t thread;
} demand;

typedef struct finding {
    rs_linker *x;
    rs_keyed *ends;  /* by thread, then end: the activity; value: index into ops */
    uint32_t *last;  /* to each end: of it and those before it on the thread what started last */
    uint32_t *first; /* by thread: its first end; n_threads + 1 */
    uint32_t *used;  /* threads that have activity */
    size_t n_used;
    rs_keyed *all; /* every end in order of time; value: index into ops */
    size_t n_ends;
    uint8_t *backward; /* by linked op: is it backward work */
    demand *demands;
    size_t n_demands, capacity;
    uint64_t looks;
} finding;

static uint32_t thread_of(const finding *f, uint32_t op)
{
    return f->x->ops[op].thread;
}

static const rs_host_node *node_of(const finding *f, uint32_t op)
{
    return &f->x->et.nodes[f->x->ops[op].node];
}

/* Annotations are no activity, open or not. */
static bool is_activity(const finding *f, uint32_t op)
{
    return rs_event_kind(f->x->e, f->x->ops[op].row) == RS_KIND_CPU_OP;
}

static bool is_backward(const finding *f, uint32_t op)
{
    static const char engine[] = "\"autograd::engine::evaluate_function";
    const rs_host_node *n = node_of(f, op);
    if (!is_activity(f, op)) return false;
    return n->scope == 1 || (n->fw_tid != RS_ET_NO_VALUE && n->fw_tid != 0) ||
           (n->name.n >= sizeof engine - 1 && memcmp(n->name.at, engine, sizeof engine - 1) == 0);
}

/* ---- indexes ---------------------------------------------------------------------------------------- */

/* What takes no time must lie before a start to be earlier than it. */
static int64_t end_of(const rs_link_op *op)
{
    return op->end > op->ts ? op->end : rs_add_sat(op->ts, 1);
}

static bool index_ends(finding *f)
{
    rs_linker *x = f->x;
    size_t n_threads = x->e->n_threads;
    f->ends = rs_malloc(x->n_linked * sizeof *f->ends + 1);
    f->all = rs_malloc(x->n_linked * sizeof *f->all + 1);
    f->last = rs_malloc(x->n_linked * sizeof *f->last + 1);
    f->first = rs_calloc(n_threads + 2, sizeof *f->first);
    f->used = rs_malloc(n_threads * sizeof *f->used + 1);
    f->backward = rs_calloc(x->n_linked + 1, 1);
    bool ok = f->ends && f->all && f->last && f->first && f->used && f->backward;
    for (uint32_t t = 0; ok && t < n_threads; t++) {
        size_t from = f->n_ends;
        for (uint32_t i = x->thread_first[t]; i < x->thread_first[t + 1]; i++) {
            uint32_t op = x->linked[i];
            f->backward[i] = is_backward(f, op);
            if (is_activity(f, op)) f->ends[f->n_ends++] = (rs_keyed){end_of(&x->ops[op]), op};
        }
        f->first[t + 1] = (uint32_t)f->n_ends;
        if (f->n_ends == from) continue;
        f->used[f->n_used++] = t;
        ok = rs_keyed_sort(f->ends + from, f->n_ends - from);
        for (size_t i = from; ok && i < f->n_ends; i++) {
            uint32_t op = f->ends[i].value, before = i > from ? f->last[i - 1] : op;
            f->last[i] = x->ops[op].ts >= x->ops[before].ts ? op : before;
        }
    }
    if (ok && f->n_ends) memcpy(f->all, f->ends, f->n_ends * sizeof *f->all);
    return ok && rs_keyed_sort(f->all, f->n_ends);
}

/* The place after the last end of a thread by t; the thread's first when there is none. */
static size_t thread_ended_by(const finding *f, uint32_t thread, int64_t t)
{
    size_t from = f->first[thread];
    return from + rs_keyed_until(f->ends + from, f->first[thread + 1] - from, t);
}

static bool want(finding *f, uint32_t op, uint32_t thread, int64_t t)
{
    size_t at = thread_ended_by(f, thread, t);
    if (at == f->first[thread]) return true;
    return RS_PUSH(f->demands, f->n_demands, f->capacity,
                   (demand){f->ends[at - 1].key, op, f->last[at - 1], thread});
}

static bool may_look(finding *f)
{
    return f->looks++ < MAX_LOOKS * (uint64_t)(f->x->n_linked + 1024);
}

/* ---- (a) a thread starts again ----------------------------------------------------------------------- */

static bool starts_anew(finding *f, uint32_t op, bool paused, int64_t since)
{
    int64_t t = f->x->ops[op].ts;
    size_t at = rs_keyed_until(f->all, f->n_ends, t);
    while (at && thread_of(f, f->all[at - 1].value) == thread_of(f, op)) {
        if (!may_look(f)) return true;
        at--;
    }
    if (!at) return true;
    int64_t latest = f->all[at - 1].key;
    for (size_t i = 0; i < f->n_used; i++) {
        uint32_t u = f->used[i];
        if (u == thread_of(f, op)) continue;
        if (!may_look(f)) return true;
        size_t end = thread_ended_by(f, u, t);
        if (end == f->first[u]) continue;
        int64_t key = f->ends[end - 1].key;
        if (key != latest && !(paused && key > since)) continue;
        if (!want(f, op, u, t)) return false;
    }
    return true;
}

static bool find_new_starts(finding *f)
{
    const rs_linker *x = f->x;
    for (uint32_t t = 0; t < x->e->n_threads; t++) {
        bool any = false;
        int64_t reach = 0;
        for (uint32_t i = x->thread_first[t]; i < x->thread_first[t + 1]; i++) {
            uint32_t at = x->linked[i];
            const rs_link_op *op = &x->ops[at];
            bool paused = any && rs_sub_sat(op->ts, reach) > PAUSE;
            if ((i == x->thread_first[t] || paused) && !starts_anew(f, at, any, reach)) return false;
            if (!is_activity(f, at)) continue;
            if (!any || op->end > reach) reach = op->end;
            any = true;
        }
    }
    return true;
}

/* ---- (b) a backward pass ends ----------------------------------------------------------------------- */

typedef struct numbered {
    int64_t number;
    uint32_t thread;
} numbered;

static const rs_order by_number[] = {RS_RISING(numbered, number), RS_RISING(numbered, thread)};

static size_t unique(numbered *items, size_t n)
{
    size_t kept = 0;
    RS_SORT(items, n, by_number);
    for (size_t i = 0; i < n; i++)
        if (!i || RS_COMPARE(by_number, &items[i], &items[kept - 1]) != 0) items[kept++] = items[i];
    return kept;
}

/* Both threads are walked in step: ends of backward work on u, operators of t. */
static bool pair_threads(finding *f, uint32_t u, uint32_t t)
{
    const rs_linker *x = f->x;
    size_t at = f->first[u], end = f->first[u + 1];
    bool any_end = false, any = false;
    int64_t back = 0, before = 0, under = INT64_MIN;
    for (uint32_t i = x->thread_first[t]; i < x->thread_first[t + 1]; i++) {
        uint32_t index = x->linked[i];
        const rs_link_op *op = &x->ops[index];
        if (!may_look(f)) return true;
        if (f->backward[i]) {
            if (op->end > under) under = op->end;
            continue;
        }
        if (op->ts < under) continue;
        for (; at < end && f->ends[at].key <= op->ts; at++) {
            if (!is_backward(f, f->ends[at].value)) continue;
            any_end = true;
            back = f->ends[at].key;
        }
        if (any && any_end && back > before && !want(f, index, u, op->ts)) return false;
        any = true;
        before = op->ts;
    }
    return true;
}

static bool find_backward(finding *f)
{
    const rs_linker *x = f->x;
    RS_LOCAL numbered *own = rs_malloc(x->n_linked * sizeof *own + 1),
                      *to = rs_malloc(x->n_linked * sizeof *to + 1);
    size_t n_own = 0, n_to = 0, at = 0;
    bool ok = own && to;
    for (size_t i = 0; ok && i < x->n_linked; i++) {
        const rs_host_node *n = node_of(f, x->linked[i]);
        numbered tid = {n->tid, thread_of(f, x->linked[i])}, fw = {n->fw_tid, tid.thread};
        own[n_own++] = tid;
        if (f->backward[i] && fw.number != RS_ET_NO_VALUE && fw.number != 0) to[n_to++] = fw;
    }
    if (ok) n_own = unique(own, n_own);
    if (ok) n_to = unique(to, n_to);
    for (size_t i = 0; ok && i < n_to; i++) {
        while (at < n_own && own[at].number < to[i].number) at++;
        for (size_t k = at; ok && k < n_own && own[k].number == to[i].number; k++)
            if (own[k].thread != to[i].thread) ok = pair_threads(f, to[i].thread, own[k].thread);
    }
    return ok;
}

/* ---- which chain a thread has ----------------------------------------------------------------------- */

typedef struct share {
    uint32_t root, thread, n;
} share;

static const rs_order by_root[] = {RS_RISING(share, root), RS_RISING(share, thread)};

/* How many nodes of each root ran on each thread. */
static size_t count_shares(const rs_linker *x, uint32_t *roots, share *out)
{
    size_t n = 0, kept = 0;
    for (size_t i = 0; i < x->et.n_nodes; i++) roots[i] = RS_LINK_NONE;
    for (size_t i = 0; i < x->n_linked; i++) {
        const rs_link_op *op = &x->ops[x->linked[i]];
        share one = {rs_link_root_of(x, roots, op->node), op->thread, 1};
        if (n && RS_COMPARE(by_root, &out[n - 1], &one) == 0)
            out[n - 1].n++;
        else
            out[n++] = one;
    }
    RS_SORT(out, n, by_root);
    for (size_t i = 0; i < n; i++) {
        if (kept && RS_COMPARE(by_root, &out[kept - 1], &out[i]) == 0)
            out[kept - 1].n += out[i].n;
        else
            out[kept++] = out[i];
    }
    return kept;
}

/* A root leads the chain of the thread that most of its nodes ran on, and a thread is led by the root that
 * has most of it. The execution trace files what runs for an operator on another thread under the operator's
 * own thread; such a thread without a root is led by its first node. */
static bool find_leaders(rs_linker *x)
{
    size_t n_threads = x->e->n_threads;
    RS_LOCAL share *shares = rs_malloc(x->n_linked * sizeof *shares + 1);
    RS_LOCAL uint32_t *roots = rs_malloc(x->et.n_nodes * sizeof *roots + 1);
    RS_LOCAL uint32_t *most = rs_calloc(n_threads + 1, sizeof *most);
    x->leaders = rs_malloc((n_threads + 1) * sizeof *x->leaders);
    bool ok = shares && roots && most && x->leaders;
    size_t n = ok ? count_shares(x, roots, shares) : 0;
    for (size_t t = 0; ok && t < n_threads; t++) x->leaders[t] = RS_LINK_NONE;
    for (size_t i = 0, next; i < n; i = next) {
        const share *best = &shares[i];
        for (next = i + 1; next < n && shares[next].root == shares[i].root; next++)
            if (shares[next].n > best->n) best = &shares[next];
        if (best->n <= most[best->thread]) continue;
        most[best->thread] = best->n;
        x->leaders[best->thread] = best->root;
    }
    for (size_t i = 0; ok && i < x->n_linked; i++) {
        const rs_link_op *op = &x->ops[x->linked[i]];
        uint32_t *leader = &x->leaders[op->thread];
        if (most[op->thread]) continue;
        if (*leader == RS_LINK_NONE || x->et.nodes[op->node].place < x->et.nodes[*leader].place)
            *leader = op->node;
    }
    for (size_t i = 0; ok && i < x->n_linked; i++) {
        const rs_link_op *op = &x->ops[x->linked[i]];
        if (x->hosts[op->node].op == x->linked[i] && x->leaders[op->thread] != roots[op->node])
            x->hosts[op->node].leader = x->leaders[op->thread];
    }
    return ok;
}

/* ---- all of it -------------------------------------------------------------------------------------- */

static const rs_order by_waiter[] = {RS_RISING(demand, op), RS_FALLING(demand, ended),
                                     RS_RISING(demand, thread)};

static bool keep(finding *f)
{
    rs_linker *x = f->x;
    x->inters = rs_malloc(f->n_demands * sizeof *x->inters + 1);
    if (!x->inters) return false;
    RS_SORT(f->demands, f->n_demands, by_waiter);
    for (size_t i = 0; i < f->n_demands; i++) {
        const demand *d = &f->demands[i];
        rs_link_host *host = &x->hosts[x->ops[d->op].node];
        if (i && RS_COMPARE(by_waiter, d, d - 1) == 0) continue;
        if (host->op != d->op || x->ops[d->on].ts >= x->ops[d->op].ts) continue;
        if (!host->n_inter++) host->first_inter = (uint32_t)x->n_inters;
        x->inters[x->n_inters++] = x->ops[d->on].node;
    }
    x->report->inter_thread = x->n_inters;
    return true;
}

rs_status rs_link_threads(rs_linker *x, rs_error *err)
{
    finding f = {.x = x};
    bool ok = find_leaders(x) && index_ends(&f) && find_new_starts(&f) && find_backward(&f) && keep(&f);
    rs_free_all(f.ends, f.last, f.first, f.used, f.all, f.backward, f.demands);
    return ok ? RS_OK : rs_fail_nomem(err, "what threads waited for");
}
