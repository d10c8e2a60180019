/* Operators: which host node each is, and how long each ran by itself. */
#include <stdlib.h>
#include <string.h>

#include "chakra/link.h"
#include "text/numbers.h"

/* ---- the ops of the trace --------------------------------------------------------------------------- */

static bool is_op(const rs_events *e, uint32_t row)
{
    rs_kind kind = rs_event_kind(e, row);
    return (kind == RS_KIND_CPU_OP || kind == RS_KIND_USER_ANNOTATION) && e->phase[row] == 'X' &&
           e->start[row] != RS_NO_TIME;
}

static bool collect_ops(rs_linker *x)
{
    size_t n = 0, capacity = 0;
    for (size_t i = 0; i < x->trace->n_rows; i++) {
        uint32_t row = rs_trace_row(x->trace, i);
        if (!is_op(x->e, row)) continue;
        if (!RS_PUSH(x->ops, n, capacity,
                     (rs_link_op){.ts = x->e->start[row],
                                  .end = rs_event_end(x->e, row),
                                  .row = row,
                                  .thread = x->e->thread[row],
                                  .node = RS_LINK_NONE}))
            return false;
    }
    x->n_ops = n;
    return true;
}

/* ---- links by record function id -------------------------------------------------------------------- */

/* Ids count up from 1 in every process, so that those of another run fit as well as the right ones do; its
 * names do not. */
static bool same_name(const rs_linker *x, const rs_host_node *node, uint32_t row, bool *same)
{
    const rs_string *name = &x->e->strings.items[x->e->name[row]];
    uint32_t decoded;
    if (node->name.n - 2 == name->length && memcmp(node->name.at + 1, name->text, name->length) == 0) {
        *same = true;
        return true;
    }
    *same = false;
    if (!memchr(node->name.at, '\\', node->name.n)) return true;
    if (!rs_link_name_of(x, node, &decoded)) return false;
    *same = decoded == x->e->name[row];
    return true;
}

/* The host nodes by id. Ids count up in a process, so that they mostly are places in a table. */
typedef struct ids {
    uint32_t *table; /* by id; NULL: the map has them */
    uint64_t n;
    rs_map64 map;
} ids;

#define ROOM_AN_ID 8

static bool has_id(const rs_host_node *n)
{
    return n->rf_id != RS_ET_NO_VALUE && n->rf_id != 0;
}

/* Of several nodes with one id the first counts. */
static bool number_nodes(const rs_linker *x, ids *out)
{
    uint64_t most = 0;
    *out = (ids){0};
    for (size_t i = 0; i < x->et.n_nodes; i++)
        if (has_id(&x->et.nodes[i]) && (uint64_t)x->et.nodes[i].rf_id > most)
            most = (uint64_t)x->et.nodes[i].rf_id;
    if (most / ROOM_AN_ID <= x->et.n_nodes) {
        out->n = most + 1;
        if (!(out->table = rs_malloc(out->n * sizeof *out->table))) return false;
        for (uint64_t i = 0; i < out->n; i++) out->table[i] = RS_LINK_NONE;
    }
    for (size_t i = 0; i < x->et.n_order; i++) {
        const rs_host_node *m = &x->et.nodes[x->et.order[i]];
        if (!has_id(m)) continue;
        bool is_new = false;
        uint32_t *slot =
            out->table ? &out->table[m->rf_id] : rs_map64_put(&out->map, (uint64_t)m->rf_id, &is_new);
        if (!slot) return false;
        if (is_new || (out->table && *slot == RS_LINK_NONE)) *slot = x->et.order[i];
    }
    return true;
}

static uint32_t node_of(const ids *known, int64_t id)
{
    if (known->table) return (uint64_t)id < known->n ? known->table[id] : RS_LINK_NONE;
    const uint32_t *slot = rs_map64_get(&known->map, (uint64_t)id);
    return slot ? *slot : RS_LINK_NONE;
}

static bool link_by_id(rs_linker *x, size_t *n_device_ids)
{
    ids known;
    bool ok = number_nodes(x, &known);
    rs_cursor rf = rs_cursor_of(x->e, RS_COL_RECORD_FUNCTION_ID);
    for (size_t i = 0; ok && i < x->n_ops; i++) {
        int64_t id = rs_cursor_int(&rf, x->ops[i].row, 0);
        if (id == 0) continue;
        (*n_device_ids)++;
        uint32_t node = node_of(&known, id);
        bool same = false;
        if (node != RS_LINK_NONE) ok = same_name(x, &x->et.nodes[node], x->ops[i].row, &same);
        if (same)
            x->ops[i].node = node;
        else
            x->n_other_names += node != RS_LINK_NONE;
    }
    rs_free(known.table);
    rs_map64_clear(&known.map);
    return ok;
}

/* ---- order ------------------------------------------------------------------------------------------ */

typedef struct sortable {
    rs_link_op op;
    uint32_t place;
} sortable;

static int by_thread_and_time(const void *a, const void *b)
{
    const sortable *p = a, *q = b;
    if (p->op.thread != q->op.thread) return p->op.thread < q->op.thread ? -1 : 1;
    if (p->op.ts != q->op.ts) return p->op.ts < q->op.ts ? -1 : 1;
    if (p->op.end != q->op.end) return p->op.end > q->op.end ? -1 : 1;
    if (p->place != q->place) return p->place < q->place ? -1 : 1;
    return p->op.row < q->op.row ? -1 : p->op.row > q->op.row;
}

static sortable sortable_of(const rs_linker *x, size_t i)
{
    uint32_t node = x->ops[i].node;
    return (sortable){x->ops[i], node == RS_LINK_NONE ? UINT32_MAX : x->et.nodes[node].place};
}

/* Traces list the operators of a thread almost in this order: few of them move, a little way. */
#define MOVES_AN_OP 8

static bool sort_nearly(rs_linker *x, size_t from, size_t to)
{
    size_t moves = MOVES_AN_OP * (to - from);
    for (size_t at = from + 1; at < to; at++) {
        if (x->ops[at - 1].ts < x->ops[at].ts) continue;
        sortable one = sortable_of(x, at);
        size_t i = at;
        for (; i > from; i--) {
            sortable before = sortable_of(x, i - 1);
            if (by_thread_and_time(&before, &one) < 0) break;
            if (!moves--) return false;
            x->ops[i] = before.op;
            x->ops[i - 1] = one.op;
        }
    }
    return true;
}

static bool sort_thread(rs_linker *x, size_t from, size_t to)
{
    if (sort_nearly(x, from, to)) return true;
    RS_LOCAL sortable *items = rs_malloc((to - from) * sizeof *items + 1);
    if (!items) return false;
    for (size_t i = from; i < to; i++) items[i - from] = sortable_of(x, i);
    qsort(items, to - from, sizeof *items, by_thread_and_time);
    for (size_t i = from; i < to; i++) x->ops[i] = items[i - from].op;
    return true;
}

static bool sort_ops(rs_linker *x)
{
    size_t n_threads = x->e->n_threads, from = 0;
    rs_link_op *ops = rs_malloc(x->n_ops * sizeof *ops + 1);
    RS_LOCAL size_t *at = rs_calloc(n_threads + 2, sizeof *at);
    bool ok = ops && at;
    for (size_t i = 0; ok && i < x->n_ops; i++) at[x->ops[i].thread + 1]++;
    for (size_t t = 0; ok && t < n_threads; t++) at[t + 1] += at[t];
    for (size_t i = 0; ok && i < x->n_ops; i++) ops[at[x->ops[i].thread]++] = x->ops[i];
    if (ok) {
        rs_free(x->ops);
        x->ops = ops;
        ops = NULL;
    }
    /* each now is where the next thread begins */
    for (size_t t = 0; ok && t < n_threads; from = at[t++]) ok = sort_thread(x, from, at[t]);
    rs_free(ops);
    return ok;
}

/* The host nodes' ops, of several with one id the first in the file, and the linked ops by thread. */
static bool index_linked(rs_linker *x)
{
    size_t n_threads = x->e->n_threads;
    x->linked = rs_malloc(x->n_ops * sizeof *x->linked + 1);
    x->thread_first = rs_calloc(n_threads + 2, sizeof *x->thread_first);
    if (!x->linked || !x->thread_first) return false;
    for (size_t i = 0; i < x->n_ops; i++) {
        const rs_link_op *op = &x->ops[i];
        if (op->node == RS_LINK_NONE) continue;
        rs_link_host *host = &x->hosts[op->node];
        if (host->op == RS_LINK_NONE) x->report->linked++;
        if (host->op == RS_LINK_NONE || x->ops[host->op].row > op->row) host->op = (uint32_t)i;
        x->linked[x->n_linked++] = (uint32_t)i;
        x->thread_first[op->thread + 1]++;
    }
    for (size_t t = 0; t < n_threads; t++) x->thread_first[t + 1] += x->thread_first[t];
    return true;
}

uint32_t rs_link_first_after(const rs_linker *x, uint32_t thread, int64_t t)
{
    uint32_t from = x->thread_first[thread], to = x->thread_first[thread + 1], last = to;
    while (from < to) {
        uint32_t middle = from + (to - from) / 2;
        if (x->ops[x->linked[middle]].ts < t)
            from = middle + 1;
        else
            to = middle;
    }
    return from < last ? from : RS_LINK_NONE;
}

/* ---- how well the two traces fit -------------------------------------------------------------------- */

static void count_near(rs_linker *x)
{
    rs_chakra_link_report *report = x->report;
    uint32_t first = RS_LINK_NONE, last = 0;
    for (size_t i = 0; i < x->et.n_order; i++) {
        if (x->hosts[x->et.order[i]].op == RS_LINK_NONE) continue;
        if (first == RS_LINK_NONE) first = (uint32_t)i;
        last = (uint32_t)i;
    }
    for (size_t i = 0; i < x->et.n_order; i++) {
        const rs_host_node *m = &x->et.nodes[x->et.order[i]];
        if (m->rf_id == RS_ET_NO_VALUE || m->rf_id == 0) continue;
        bool linked = x->hosts[x->et.order[i]].op != RS_LINK_NONE;
        bool near = linked || first == RS_LINK_NONE || (i > first && i < last);
        report->rf_nodes++;
        report->near_nodes += near;
        report->unlinked_inside += near && !linked;
    }
}

/* Both traces name the process that wrote them. A merger may have changed that. */
static bool same_process(const rs_linker *x, int64_t *host, int64_t *device)
{
    bool told = false;
    if (x->n_ranks != 1 || !x->n_linked) return true;
    for (size_t i = 0; i < x->et.n_members && !told; i++)
        told = rs_et_is(x->et.members[i].key, "pid") && rs_et_int(x->et.members[i].value, host);
    for (size_t i = 0; told && i < x->n_linked; i++) {
        *device = x->e->threads[x->ops[x->linked[i]].thread].pid;
        if (*device == *host) return true;
    }
    return !told;
}

static rs_status judge(rs_linker *x, size_t n_device_ids, rs_error *err)
{
    const rs_chakra_link_report *r = x->report;
    double ratio = r->near_nodes ? (double)r->linked / (double)r->near_nodes : 0;
    int64_t host = 0, device = 0;
    if (x->settings->min_match > 0 && r->linked && !same_process(x, &host, &device))
        return rs_fail_at(err, RS_ERR_FORMAT, x->settings->host, RS_NO_OFFSET,
                          "written by process %lld, %.150s by process %lld: the traces are of two different "
                          "runs or ranks (--min-match 0 links them all the same)",
                          (long long)host, x->settings->device, (long long)device);
    if (r->linked && ratio >= x->settings->min_match) return RS_OK;
    const char *why = n_device_ids == 0  ? "the device trace has no record function ids"
                      : r->rf_nodes == 0 ? "the host trace has no record function ids"
                      : x->n_other_names ? "the same ids belong to other names there: the traces are of two "
                                           "different runs or ranks"
                      : r->linked == 0   ? "the traces are of two different runs"
                                         : "fewer than --min-match asks for";
    return rs_fail_at(err, RS_ERR_FORMAT, x->settings->host, RS_NO_OFFSET,
                      "%llu of %llu host nodes (%s %%) have their operator in %.150s: %s",
                      (unsigned long long)r->linked, (unsigned long long)r->near_nodes,
                      RS_FIXED(ratio * 100, 0), x->settings->device, why);
}

/* ---- times ------------------------------------------------------------------------------------------ */

/* At any moment only the op that started last runs by itself. The stack holds those that may still be open,
 * the innermost on top; one that has ended is dropped when it comes to the top. */
static bool find_exclusive(rs_linker *x)
{
    RS_LOCAL uint32_t *stack = rs_malloc(x->n_ops * sizeof *stack + 1);
    if (!stack) return false;
    size_t n = 0;
    int64_t now = 0;
    for (size_t i = 0; i <= x->n_ops; i++) {
        bool more = i < x->n_ops && (n == 0 || x->ops[i].thread == x->ops[stack[0]].thread);
        int64_t until = more ? x->ops[i].ts : INT64_MAX;
        while (n && now < until) {
            rs_link_op *top = &x->ops[stack[n - 1]];
            if (top->end <= now) {
                n--;
                continue;
            }
            int64_t stop = top->end < until ? top->end : until;
            top->exclusive += stop - now;
            now = stop;
        }
        if (!more) n = 0;
        if (i < x->n_ops) {
            now = x->ops[i].ts;
            stack[n++] = (uint32_t)i;
        }
    }
    return true;
}

rs_status rs_link_ops(rs_linker *x, rs_error *err)
{
    size_t n_device_ids = 0;
    x->hosts = rs_malloc(x->et.n_nodes * sizeof *x->hosts);
    bool ok = x->hosts != NULL;
    for (size_t i = 0; ok && i < x->et.n_nodes; i++)
        x->hosts[i] = (rs_link_host){.op = RS_LINK_NONE, .leader = RS_LINK_NONE};
    ok = ok && collect_ops(x) && link_by_id(x, &n_device_ids) && sort_ops(x);
    if (ok && n_device_ids == 0) ok = rs_link_by_name(x) && sort_ops(x);
    ok = ok && index_linked(x);
    if (!ok) return rs_fail_nomem(err, "operators");
    count_near(x);
    rs_status status = judge(x, n_device_ids, err);
    if (status != RS_OK) return status;
    return find_exclusive(x) ? RS_OK : rs_fail_nomem(err, "operators");
}
