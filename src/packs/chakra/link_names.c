/* Links without record function ids: the names on a host thread and on a device thread in order, aligned.
 *
 * A host thread goes with the device thread that shares most of its names. Both are then walked in step;
 * where they differ, the nearest place at which both go on with one name is looked for. */

#include "base/interval.h"
#include "base/order.h"
#include "chakra/link.h"

/* How far ahead the two sequences are searched for their next common name, in steps on both together. */
#define REACH 128

typedef struct run {
    uint32_t first, n; /* into items of its side */
} run;

typedef struct side {
    uint32_t *items, *names; /* nodes or ops in order; string ids of the trace, RS_NO_STRING: not in it */
    size_t n;
    run *runs; /* by thread */
    size_t n_runs;
} side;

typedef struct pairing {
    uint32_t host, device, score;
} pairing;

static void clear_side(side *s)
{
    rs_free_all(s->items, s->names, s->runs);
}

static bool alloc_side(side *s, size_t n)
{
    s->items = rs_malloc(n * sizeof *s->items + 1);
    s->names = rs_malloc(n * sizeof *s->names + 1);
    s->runs = rs_malloc(n * sizeof *s->runs + 1);
    return s->items && s->names && s->runs;
}

/* ---- the two sides ---------------------------------------------------------------------------------- */

bool rs_link_name_of(const rs_linker *x, const rs_host_node *node, uint32_t *name)
{
    size_t n = node->name.n - 2;
    RS_LOCAL char *decoded = rs_malloc(3 * n + 1);
    if (!decoded) return false;
    n = rs_json_decode(node->name.at + 1, n, decoded, NULL);
    *name = rs_strings_find(&x->e->strings, decoded, n);
    return true;
}

/* The root above a node; what is found is kept for all on the way, so that all walks together are linear. */
uint32_t rs_link_root_of(const rs_linker *x, uint32_t *roots, uint32_t node)
{
    uint32_t at = node, root;
    while (roots[at] == RS_LINK_NONE && x->et.nodes[at].role != RS_ET_THREAD && x->et.nodes[at].up != at)
        at = x->et.nodes[at].up;
    root = roots[at] == RS_LINK_NONE ? at : roots[at];
    for (at = node; roots[at] == RS_LINK_NONE && at != root; at = x->et.nodes[at].up) roots[at] = root;
    return root;
}

static void split_runs(side *s, const rs_keyed *order, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        s->items[i] = order[i].value;
        if (i == 0 || order[i].key != order[i - 1].key) s->runs[s->n_runs++] = (run){(uint32_t)i, 0};
        s->runs[s->n_runs - 1].n++;
    }
    s->n = n;
}

static bool host_side(const rs_linker *x, side *s)
{
    RS_LOCAL rs_keyed *order = rs_malloc(x->et.n_order * sizeof *order + 1);
    uint32_t *roots = rs_malloc(x->et.n_nodes * sizeof *roots + 1);
    size_t n = 0;
    bool ok = order && roots && alloc_side(s, x->et.n_order);
    for (size_t i = 0; ok && i < x->et.n_nodes; i++) roots[i] = RS_LINK_NONE;
    for (size_t i = 0; ok && i < x->et.n_order; i++) {
        uint32_t node = x->et.order[i];
        const rs_host_node *m = &x->et.nodes[node];
        if (m->role != RS_ET_OP || m->rf_id == RS_ET_NO_VALUE || m->rf_id == 0) continue;
        order[n++] = (rs_keyed){x->et.nodes[rs_link_root_of(x, roots, node)].place, node};
    }
    ok = ok && rs_keyed_sort(order, n);
    if (ok) split_runs(s, order, n);
    for (size_t i = 0; ok && i < n; i++) ok = rs_link_name_of(x, &x->et.nodes[s->items[i]], &s->names[i]);
    rs_free(roots);
    return ok;
}

/* The ops are sorted by thread and time already. */
static bool device_side(const rs_linker *x, side *s)
{
    if (!alloc_side(s, x->n_ops)) return false;
    for (size_t i = 0; i < x->n_ops; i++) {
        s->items[i] = (uint32_t)i;
        s->names[i] = x->e->name[x->ops[i].row];
        if (i == 0 || x->ops[i].thread != x->ops[i - 1].thread) s->runs[s->n_runs++] = (run){(uint32_t)i, 0};
        s->runs[s->n_runs - 1].n++;
    }
    s->n = x->n_ops;
    return true;
}

/* ---- which thread is which -------------------------------------------------------------------------- */

static void count_names(const side *s, run r, uint32_t *counts, bool clear)
{
    for (uint32_t i = 0; i < r.n; i++) {
        uint32_t name = s->names[r.first + i];
        if (name == RS_NO_STRING) continue;
        if (clear)
            counts[name] = 0;
        else
            counts[name]++;
    }
}

static uint32_t score(const side *host, run h, const side *device, run d, uint32_t *counts)
{
    uint32_t common = 0;
    count_names(device, d, counts, false);
    for (uint32_t i = 0; i < h.n; i++) {
        uint32_t name = host->names[h.first + i];
        if (name == RS_NO_STRING || !counts[name]) continue;
        counts[name]--;
        common++;
    }
    count_names(device, d, counts, true);
    return common;
}

static const rs_order by_score[] = {RS_FALLING(pairing, score), RS_RISING(pairing, host),
                                    RS_RISING(pairing, device)};

/* ---- alignment -------------------------------------------------------------------------------------- */

/* Steps to skip on both sides to the nearest common name; false where there is none in reach. */
static bool resume(const uint32_t *a, uint32_t n_a, const uint32_t *b, uint32_t n_b, uint32_t *skip_a,
                   uint32_t *skip_b)
{
    for (uint32_t total = 0; total <= REACH; total++)
        for (uint32_t i = 0; i <= total && i < n_a; i++) {
            uint32_t k = total - i;
            if (k >= n_b || a[i] != b[k] || a[i] == RS_NO_STRING) continue;
            *skip_a = i;
            *skip_b = k;
            return true;
        }
    return false;
}

static void align(rs_linker *x, const side *host, run h, const side *device, run d)
{
    uint32_t i = 0, k = 0, skip_i, skip_k;
    while (i < h.n && k < d.n) {
        const uint32_t *a = host->names + h.first + i, *b = device->names + d.first + k;
        if (!resume(a, h.n - i, b, d.n - k, &skip_i, &skip_k)) {
            i++; /* this node has no operator near here */
            continue;
        }
        i += skip_i;
        k += skip_k;
        x->ops[device->items[d.first + k++]].node = host->items[h.first + i++];
        x->report->linked_by_name++;
    }
}

static bool pair_threads(rs_linker *x, const side *host, const side *device)
{
    /* threads are few; a trace that claims thousands of them on both sides is not aligned */
    size_t n = 0, n_pairs = host->n_runs * device->n_runs;
    if (n_pairs == 0 || host->n_runs > 1024 || device->n_runs > 1024) return true;
    RS_LOCAL pairing *pairs = rs_malloc(n_pairs * sizeof *pairs);
    RS_LOCAL uint32_t *counts = rs_calloc(x->e->strings.n + 1, sizeof *counts);
    RS_LOCAL bool *host_taken = rs_calloc(host->n_runs, 1), *device_taken = rs_calloc(device->n_runs, 1);
    bool ok = pairs && counts && host_taken && device_taken;
    for (uint32_t i = 0; ok && i < host->n_runs; i++)
        for (uint32_t k = 0; k < device->n_runs; k++) {
            uint32_t common = score(host, host->runs[i], device, device->runs[k], counts);
            if (common) pairs[n++] = (pairing){i, k, common};
        }
    if (ok && n) RS_SORT(pairs, n, by_score);
    for (size_t i = 0; ok && i < n; i++) {
        if (host_taken[pairs[i].host] || device_taken[pairs[i].device]) continue;
        host_taken[pairs[i].host] = device_taken[pairs[i].device] = true;
        align(x, host, host->runs[pairs[i].host], device, device->runs[pairs[i].device]);
    }
    return ok;
}

bool rs_link_by_name(rs_linker *x)
{
    RS_SCOPED(clear_side) side host = {0}, device = {0};
    return host_side(x, &host) && device_side(x, &device) && pair_threads(x, &host, &device);
}
