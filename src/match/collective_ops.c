/* One rank's communication kernels with what they say about themselves. */
#include "match/collective_ops.h"

#include <string.h>

#include "base/ascii.h"
#include "base/interval.h"
#include "trace/tree.h"

/* ---- names
 * -------------------------------------------------------------------------------------------------- */

const char *rs_coll_kind_name(rs_coll_kind kind)
{
    static const char *const names[RS_N_COLL_KINDS] = {
        "all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "reduce",
        "gather",     "scatter",    "barrier",        "send_recv",  "other"};
    return names[kind];
}

/* Letters only, lower case: "_reduce_scatter_base" and "ReduceScatter" are one. */
static void squeeze(const char *name, char *out, size_t size)
{
    size_t n = 0;
    for (; *name && n + 1 < size; name++)
        if (rs_is_letter(*name)) out[n++] = rs_lower(*name);
    out[n] = '\0';
}

rs_coll_kind rs_coll_kind_of(const char *name)
{
    /* the first that the name contains; longer words stand before those that they contain */
    static const struct {
        const char *word;
        rs_coll_kind kind;
    } words[] = {
        {"allreduce", RS_COLL_ALL_REDUCE}, {"reducescatter", RS_COLL_REDUCE_SCATTER},
        {"allgather", RS_COLL_ALL_GATHER}, {"alltoall", RS_COLL_ALL_TO_ALL},
        {"barrier", RS_COLL_BARRIER},      {"broadcast", RS_COLL_BROADCAST},
        {"sendrecv", RS_COLL_SEND_RECV},   {"scatter", RS_COLL_SCATTER},
        {"gather", RS_COLL_GATHER},        {"reduce", RS_COLL_REDUCE},
        {"send", RS_COLL_SEND_RECV},       {"recv", RS_COLL_SEND_RECV},
    };
    char text[256];
    squeeze(name, text, sizeof text);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(text, words[i].word)) return words[i].kind;
    return RS_COLL_OTHER;
}

bool rs_coll_ends_together(rs_coll_kind kind)
{
    return kind == RS_COLL_ALL_REDUCE || kind == RS_COLL_ALL_GATHER || kind == RS_COLL_REDUCE_SCATTER ||
           kind == RS_COLL_ALL_TO_ALL || kind == RS_COLL_BARRIER;
}

/* c10::ScalarType's names (c10/core/ScalarType.h) and their sizes. */
int64_t rs_dtype_size(const char *dtype)
{
    static const struct {
        const char *name;
        int64_t size;
    } types[] = {
        {"Byte", 1},
        {"Char", 1},
        {"Short", 2},
        {"Int", 4},
        {"Long", 8},
        {"Half", 2},
        {"Float", 4},
        {"Double", 8},
        {"ComplexHalf", 4},
        {"ComplexFloat", 8},
        {"ComplexDouble", 16},
        {"Bool", 1},
        {"BFloat16", 2},
        {"Float8_e5m2", 1},
        {"Float8_e4m3fn", 1},
        {"Float8_e5m2fnuz", 1},
        {"Float8_e4m3fnuz", 1},
        {"Float8_e8m0fnu", 1},
        {"UInt16", 2},
        {"UInt32", 4},
        {"UInt64", 8},
        {"QInt8", 1},
        {"QUInt8", 1},
        {"QInt32", 4},
    };
    if (strncmp(dtype, "c10::", 5) == 0) dtype += 5;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i].name, dtype) == 0) return types[i].size;
    return 0;
}

/* ---- one rank
 * ----------------------------------------------------------------------------------------------- */

void rs_coll_rank_free(void *rank)
{
    rs_coll_rank *r = rank;
    if (!r) return;
    rs_pool_clear(&r->pool);
    rs_free(r->ops);
    rs_free(r);
}

static int64_t int_at(const rs_events *e, rs_column_id column, uint32_t row, int64_t otherwise)
{
    int64_t value;
    return rs_events_int(e, column, row, &value) ? value : otherwise;
}

/* Where a kernel's arguments stand: with itself, else with an operator above its launch. */
static uint32_t args_row(const rs_events *e, const rs_tree *t, const uint32_t *node_of_work, size_t i,
                         uint32_t row)
{
    if (rs_events_text(e, RS_COL_COLLECTIVE, row) != RS_NO_STRING || !t || node_of_work[i] == RS_NO_NODE)
        return row;
    for (uint32_t node = node_of_work[i]; node != RS_NO_NODE; node = t->parent[node])
        if (rs_events_text(e, RS_COL_COLLECTIVE, t->row[node]) != RS_NO_STRING) return t->row[node];
    return row;
}

static bool add_op(rs_coll_rank *r, const rs_events *e, uint32_t row, uint32_t args, int64_t start,
                   int64_t end)
{
    bool ok = RS_GROW_ONE(r->ops, r->n, r->capacity);
    if (!ok) return false;
    uint32_t name = rs_events_text(e, RS_COL_COLLECTIVE, args);
    rs_coll_kind kind = name == RS_NO_STRING ? RS_COLL_OTHER : rs_coll_kind_of(e->strings.items[name].text);
    if (kind == RS_COLL_OTHER) kind = rs_coll_kind_of(rs_event_name(e, row));
    rs_coll_op op = {
        .start = start,
        .end = end,
        .row = row,
        .kind = kind,
        .seq = int_at(e, RS_COL_SEQ, args, -1),
        .group_size = int_at(e, RS_COL_GROUP_SIZE, args, 0),
        .in_elements = int_at(e, RS_COL_IN_NELEMS, args, -1),
        .out_elements = int_at(e, RS_COL_OUT_NELEMS, args, -1),
        .source = int_at(e, RS_COL_SRC_RANK, args, -1),
        .target = int_at(e, RS_COL_DST_RANK, args, -1),
        .group = rs_pool_add(&r->pool, e, rs_events_text(e, RS_COL_GROUP_NAME, args), &ok),
        .description = rs_pool_add(&r->pool, e, rs_events_text(e, RS_COL_GROUP_DESC, args), &ok),
        .members = rs_pool_add(&r->pool, e, rs_events_text(e, RS_COL_GROUP_RANKS, args), &ok),
        .name = rs_pool_add(&r->pool, e, name, &ok),
        .dtype = rs_pool_add(&r->pool, e, rs_events_text(e, RS_COL_DTYPE, args), &ok),
    };
    r->n_nameless += op.group == RS_NO_STRING && op.members == RS_NO_STRING;
    if (op.seq < 0) op.seq = -1;
    r->ops[r->n++] = op;
    return ok;
}

static bool sort_ops(rs_coll_rank *r)
{
    rs_keyed *keys = rs_malloc((r->n + 1) * sizeof *keys);
    rs_coll_op *sorted = rs_malloc((r->n + 1) * sizeof *sorted);
    bool ok = keys && sorted;
    for (size_t i = 0; ok && i < r->n; i++) keys[i] = (rs_keyed){r->ops[i].start, (uint32_t)i};
    ok = ok && rs_keyed_sort(keys, r->n);
    for (size_t i = 0; ok && i < r->n; i++) sorted[i] = r->ops[keys[i].value];
    rs_free(keys);
    if (!ok) {
        rs_free(sorted);
        return false;
    }
    rs_free(r->ops);
    r->ops = sorted;
    r->capacity = r->n + 1;
    return true;
}

/* The node of each work's launch, by index into work; only made where some kernel lacks its arguments. */
static rs_status launch_nodes(rs_trace *trace, const rs_work *work, rs_tree **tree, uint32_t **out,
                              rs_error *err)
{
    const rs_events *e = trace->events;
    bool needed = false, host_has = false;
    for (size_t i = 0; i < work->n && !needed; i++)
        needed = work->class[i] == RS_CLASS_COMM &&
                 rs_events_text(e, RS_COL_COLLECTIVE, work->row[i]) == RS_NO_STRING;
    const rs_sparse *names = &e->args[RS_COL_COLLECTIVE];
    for (size_t i = 0; i < names->n && !host_has; i++)
        host_has = rs_event_kind(e, names->rows[i]) == RS_KIND_CPU_OP;
    if (!needed || !host_has) return RS_OK;
    rs_status status = rs_trace_tree(trace, false, tree, err);
    if (status != RS_OK) return status;
    rs_keyed *at = rs_malloc(((*tree)->n_gpu + 1) * sizeof *at);
    uint32_t *nodes = rs_malloc((work->n + 1) * sizeof *nodes);
    bool ok = at && nodes;
    const rs_tree *t = *tree;
    for (size_t node = 0; ok && node < t->n; node++)
        for (size_t i = t->gpu_first[node];
             i < (node + 1 < t->end[node] ? t->gpu_first[node + 1] : t->gpu_first[t->end[node]]); i++)
            at[i] = (rs_keyed){t->gpu_row[i], (uint32_t)node};
    ok = ok && rs_keyed_sort(at, t->n_gpu);
    for (size_t i = 0, k = 0; ok && i < work->n; i++) { /* both by ascending row */
        while (k < t->n_gpu && at[k].key < work->row[i]) k++;
        nodes[i] = k < t->n_gpu && at[k].key == work->row[i] ? at[k].value : RS_NO_NODE;
    }
    rs_free(at);
    if (!ok) {
        rs_free(nodes);
        return rs_fail_nomem(err, "collectives");
    }
    *out = nodes;
    return RS_OK;
}

rs_status rs_coll_rank_of(rs_trace *trace, const rs_policy *policy, rs_coll_rank **out, rs_error *err)
{
    const rs_events *e = trace->events;
    const rs_work *work;
    rs_tree *tree = NULL;
    uint32_t *nodes = NULL;
    int64_t last;
    *out = NULL;
    rs_coll_rank *r = rs_calloc(1, sizeof *r);
    if (!r || !rs_pool_init(&r->pool)) {
        rs_coll_rank_free(r);
        return rs_fail_nomem(err, "collectives");
    }
    r->base_time_ns = e->info.base_time_ns;
    rs_status status = rs_trace_work(trace, policy, &work, err);
    if (status == RS_OK) status = rs_trace_span(trace, &r->first_ns, &last, err);
    if (status == RS_OK) status = launch_nodes(trace, work, &tree, &nodes, err);
    bool ok = true;
    for (size_t i = 0; status == RS_OK && ok && i < work->n; i++) {
        if (work->class[i] != RS_CLASS_COMM) continue;
        uint32_t row = work->row[i];
        ok = add_op(r, e, row, args_row(e, tree, nodes, i, row), work->start[i], work->end[i]);
    }
    rs_free(nodes);
    if (status == RS_OK && (!ok || !sort_ops(r))) status = rs_fail_nomem(err, "collectives");
    if (status != RS_OK)
        rs_coll_rank_free(r);
    else
        *out = r;
    return status;
}
