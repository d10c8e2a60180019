/* One rank's communication kernels with what they say about themselves. */
#include "match/collective_internal.h"

#include <string.h>

#include "base/interval.h"
#include "base/try.h"
#include "trace/tree.h"

/* ---- one rank
 * ----------------------------------------------------------------------------------------------- */

void rs_coll_rank_free(void *rank)
{
    rs_coll_rank *r = rank;
    if (!r) return;
    rs_pool_clear(&r->pool);
    rs_free(r->ops);
    rs_free(r->shapes);
    rs_free(r->spans);
    rs_free(r->lately);
    rs_map64_clear(&r->args);
    rs_free(r);
}

/* ---- shapes ------------------------------------------------------------------------------------------- */

#define LATELY 256 /* a rank has some dozens of shapes; where it has more, some are kept twice */

static bool same_shape(const rs_coll_shape *x, const rs_coll_shape *y)
{
    return x->group_size == y->group_size && x->in_elements == y->in_elements &&
           x->out_elements == y->out_elements && x->source == y->source && x->target == y->target &&
           x->stream == y->stream && x->group == y->group && x->description == y->description &&
           x->members == y->members && x->name == y->name && x->dtype == y->dtype && x->kind == y->kind;
}

static size_t place_of(const rs_coll_shape *x)
{
    const uint64_t values[] = {(uint64_t)x->in_elements,
                               (uint64_t)x->out_elements,
                               (uint64_t)x->source,
                               (uint64_t)x->target,
                               (uint64_t)x->group << 32 | x->members,
                               (uint64_t)x->stream << 8 | (uint64_t)x->kind};
    uint64_t hash = 0;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        hash = (hash ^ values[i] ^ hash >> 29) * 0x9e3779b97f4a7c15u;
    return (size_t)(hash >> 32) % LATELY;
}

uint32_t rs_coll_rank_shape(rs_coll_rank *r, const rs_coll_shape *shape)
{
    if (!r->lately && !(r->lately = rs_calloc(LATELY, sizeof *r->lately))) return UINT32_MAX;
    uint32_t *at = &r->lately[place_of(shape)];
    if (*at && same_shape(&r->shapes[*at - 1], shape)) return *at - 1;
    if (r->n_shapes >= UINT32_MAX - 1 || !RS_PUSH(r->shapes, r->n_shapes, r->shapes_capacity, *shape))
        return UINT32_MAX;
    *at = (uint32_t)r->n_shapes;
    return *at - 1;
}

bool rs_coll_rank_add(rs_coll_rank *r, rs_coll_op op, const rs_coll_shape *shape)
{
    op.shape = rs_coll_rank_shape(r, shape);
    if (op.shape == UINT32_MAX || !RS_GROW_ONE(r->ops, r->n, r->capacity)) return false;
    r->n_nameless += shape->group == RS_NO_STRING && shape->members == RS_NO_STRING;
    r->ops[r->n++] = op;
    return true;
}

static int64_t int_at(const rs_events *e, rs_column_id column, uint32_t row, int64_t otherwise)
{
    int64_t value;
    return rs_events_int(e, column, row, &value) ? value : otherwise;
}

/* What is known of a kernel from elsewhere. Rows are RS_NO_ROW if none is needed or there. */
typedef struct source {
    uint32_t args; /* where its arguments are: with itself, else with an operator above its launch */
    uint32_t call; /* the nearest annotation or operator above the launch that names the collective */
    uint32_t
        record; /* the nearest record_param_comms above it, of older profilers, which has inputs but no arguments
                         of the collective */
    int64_t elements; /* of a batch of sends and receives; -1: it is none, or not recorded */
    bool batch, both; /* a batch; it sends and receives */
} source;

#define BATCH "nccl:coalesced"
#define BATCH_NODES 256 /* in front of the batch are looked at */

/* A batch of sends and receives is one kernel without arguments: they are recorded in front of its launch, one by one. */
static void find_batch(const rs_events *e, const rs_tree *t, uint32_t node, source *s)
{
    uint32_t first = RS_NO_STRING, last = node > BATCH_NODES ? node - BATCH_NODES : 0;
    for (uint32_t k = node; k-- > last && t->end[k] <= node;) {
        uint32_t row = t->row[k], name = rs_events_text(e, RS_COL_COLLECTIVE, row);
        if (strcmp(rs_event_name(e, row), BATCH) == 0) break;
        if (name == RS_NO_STRING) continue;
        if (rs_coll_kind_of(e->strings.items[name].text) != RS_COLL_SEND_RECV) break;
        int64_t elements = int_at(e, RS_COL_IN_NELEMS, row, -1);
        if (!s->batch) first = name;
        s->elements = s->batch && (s->elements < 0 || elements < 0) ? -1
                      : s->batch                                    ? rs_add_sat(s->elements, elements)
                                                                    : elements;
        s->both = s->both || name != first;
        s->batch = true;
        s->args = row;
    }
}

static source source_of(const rs_events *e, const rs_tree *t, uint32_t node, uint32_t row)
{
    source s = {.args = row, .call = RS_NO_ROW, .record = RS_NO_ROW, .elements = -1};
    uint32_t batch = RS_NO_NODE;
    if (rs_events_text(e, RS_COL_COLLECTIVE, row) != RS_NO_STRING || !t) return s;
    for (; node != RS_NO_NODE; node = t->parent[node]) {
        uint32_t above = t->row[node];
        if (rs_events_text(e, RS_COL_COLLECTIVE, above) != RS_NO_STRING) {
            s.args = above;
            return s;
        }
        const char *name = rs_event_name(e, above);
        if (s.record == RS_NO_ROW && strcmp(name, RS_COLL_RECORD) == 0) s.record = above;
        if (s.call == RS_NO_ROW && rs_coll_is_call(name) && rs_coll_kind_of(name) != RS_COLL_OTHER)
            s.call = above;
        if (batch == RS_NO_NODE && strcmp(name, BATCH) == 0) batch = node;
    }
    if (batch != RS_NO_NODE && rs_coll_kind_of_kernel(rs_event_name(e, row)) == RS_COLL_SEND_RECV)
        find_batch(e, t, batch, &s);
    return s;
}

/* What the arguments say, else the call that launched the kernel, else the kernel's name. */
static rs_coll_kind kind_at(const rs_events *e, uint32_t row, uint32_t args, uint32_t call)
{
    uint32_t name = rs_events_text(e, RS_COL_COLLECTIVE, args);
    rs_coll_kind kind = name == RS_NO_STRING ? RS_COLL_OTHER : rs_coll_kind_of(e->strings.items[name].text);
    if (kind == RS_COLL_OTHER && call != RS_NO_ROW) kind = rs_coll_kind_of(rs_event_name(e, call));
    return kind == RS_COLL_OTHER ? rs_coll_kind_of_kernel(rs_event_name(e, row)) : kind;
}

void rs_coll_shape_read(rs_coll_shape *shape, const rs_events *e, uint32_t args, rs_pool *pool, bool *ok)
{
    shape->group_size = int_at(e, RS_COL_GROUP_SIZE, args, 0);
    shape->in_elements = int_at(e, RS_COL_IN_NELEMS, args, -1);
    shape->out_elements = int_at(e, RS_COL_OUT_NELEMS, args, -1);
    shape->source = int_at(e, RS_COL_SRC_RANK, args, -1);
    shape->target = int_at(e, RS_COL_DST_RANK, args, -1);
    shape->group = rs_pool_add(pool, e, rs_events_text(e, RS_COL_GROUP_NAME, args), ok);
    shape->description = rs_pool_add(pool, e, rs_events_text(e, RS_COL_GROUP_DESC, args), ok);
    shape->members = rs_pool_add(pool, e, rs_events_text(e, RS_COL_GROUP_RANKS, args), ok);
    shape->name = rs_pool_add(pool, e, rs_events_text(e, RS_COL_COLLECTIVE, args), ok);
    shape->dtype = rs_pool_add(pool, e, rs_events_text(e, RS_COL_DTYPE, args), ok);
}

static bool add_op(rs_coll_rank *r, const rs_events *e, const source *s, const rs_work *work, size_t i)
{
    bool ok = true;
    uint32_t row = work->row[i], args = s->args;
    const rs_coll_op op = {.start = work->start[i],
                           .end = work->end[i],
                           .row = row,
                           .seq = int_at(e, RS_COL_SEQ, args, -1) < 0 ? -1 : int_at(e, RS_COL_SEQ, args, -1),
                           .step = work->step[i]};
    rs_coll_shape shape = {.kind = kind_at(e, row, args, s->call), .stream = work->stream[i]};
    rs_coll_shape_read(&shape, e, args, &r->pool, &ok);
    if (s->batch) {
        shape.in_elements = shape.out_elements = s->elements;
        shape.source = shape.target = -1;
        if (s->both) shape.name = RS_NO_STRING;
    }
    /* Profilers before the metadata of collectives say whether one sends in what calls it, "nccl:send 0->1", by ranks of its group. */
    if (shape.kind == RS_COLL_SEND_RECV && shape.name == RS_NO_STRING && !s->batch && s->call != RS_NO_ROW)
        shape.name = rs_pool_add(&r->pool, e, e->name[s->call], &ok);
    uint32_t given = args == row && s->record != RS_NO_ROW ? s->record : args;
    if (ok && shape.kind == RS_COLL_ALL_TO_ALL && given != row) {
        bool is_new;
        uint32_t *at = rs_map64_put(&r->args, row, &is_new);
        if (!at) return false;
        *at = given;
    }
    return ok && rs_coll_rank_add(r, op, &shape);
}

bool rs_coll_sends(const rs_coll_rank *rank, const rs_coll_shape *shape)
{
    const char *name = rs_pool_text(&rank->pool, shape->name);
    return shape->kind == RS_COLL_SEND_RECV && name && strstr(name, "send");
}

bool rs_coll_rank_sort(rs_coll_rank *r)
{
    RS_LOCAL rs_keyed *keys = rs_malloc((r->n + 1) * sizeof *keys);
    rs_coll_op *sorted = rs_malloc((r->n + 1) * sizeof *sorted);
    int64_t *spans = r->n_spans ? rs_malloc(r->n * sizeof *spans) : NULL;
    bool ok = keys && sorted && (spans || !r->n_spans);
    for (size_t i = 0; ok && i < r->n; i++) keys[i] = (rs_keyed){r->ops[i].start, (uint32_t)i};
    ok = ok && rs_keyed_sort(keys, r->n);
    for (size_t i = 0; ok && i < r->n; i++) sorted[i] = r->ops[keys[i].value];
    for (size_t i = 0; ok && i < r->n_spans; i++) spans[i] = r->spans[keys[i].value];
    if (!ok) {
        rs_free(sorted);
        rs_free(spans);
        return false;
    }
    rs_free(r->ops);
    rs_free(r->spans);
    rs_free(r->lately);
    r->lately = NULL;
    r->spans = spans;
    r->ops = sorted;
    r->capacity = r->n + 1;
    return true;
}

/* Whether something above the launches may say more of a kernel than the kernel: its arguments, or of which
 * collective a send-and-receive kernel is a part. */
static bool asks_above(const rs_events *e, const rs_work *work)
{
    bool lacks_arguments = false, host_has = false;
    for (size_t i = 0; i < work->n; i++) {
        if (work->class[i] != RS_CLASS_COMM ||
            rs_events_text(e, RS_COL_COLLECTIVE, work->row[i]) != RS_NO_STRING)
            continue;
        rs_coll_kind kind = rs_coll_kind_of_kernel(rs_event_name(e, work->row[i]));
        if (kind == RS_COLL_SEND_RECV || !rs_coll_can_match(kind)) return true;
        lacks_arguments = true;
    }
    const rs_sparse *names = &e->args[RS_COL_COLLECTIVE];
    for (size_t i = 0; lacks_arguments && i < names->n && !host_has; i++)
        host_has = rs_event_kind(e, names->rows[i]) == RS_KIND_CPU_OP;
    return host_has;
}

/* The node of each work's launch, by index into work; only made where something above the launch is asked. */
static rs_status launch_nodes(rs_trace *trace, const rs_work *work, rs_tree **tree, uint32_t **out,
                              rs_error *err)
{
    if (!asks_above(trace->events, work)) return RS_OK;
    RS_TRY(rs_trace_tree(trace, false, tree, err));
    RS_LOCAL rs_keyed *at = rs_malloc(((*tree)->n_gpu + 1) * sizeof *at);
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
    if (!ok) {
        rs_free(nodes);
        return rs_fail_nomem(err, "collectives");
    }
    *out = nodes;
    return RS_OK;
}

rs_status rs_coll_rank_create(rs_trace *trace, rs_coll_rank **out, rs_error *err)
{
    int64_t last;
    *out = NULL;
    rs_coll_rank *r = rs_calloc(1, sizeof *r);
    if (!r || !rs_pool_init(&r->pool)) {
        rs_coll_rank_free(r);
        return rs_fail_nomem(err, "collectives");
    }
    r->base_time_ns = trace->events->info.base_time_ns;
    bool ok = true;
    r->host = rs_pool_add(&r->pool, trace->events, trace->events->info.host_name, &ok);
    r->own = trace->events->info.rank;
    r->has_role = trace->role != NULL;
    r->role = RS_NO_STRING;
    if (r->has_role) r->role = rs_strings_add(&r->pool.strings, trace->role, strlen(trace->role));
    ok = ok && (!r->has_role || r->role != RS_NO_STRING);
    rs_status status =
        ok ? rs_trace_span(trace, &r->first_ns, &last, err) : rs_fail_nomem(err, "collectives");
    if (status == RS_OK)
        *out = r;
    else
        rs_coll_rank_free(r);
    return status;
}

rs_status rs_coll_rank_of(rs_trace *trace, const rs_policy *policy, rs_coll_rank **out, rs_error *err)
{
    const rs_events *e = trace->events;
    const rs_work *work;
    rs_tree *tree = NULL;
    uint32_t *nodes = NULL;
    rs_coll_rank *r;
    RS_TRY(rs_coll_rank_create(trace, out, err));
    r = *out;
    *out = NULL;
    rs_status status = rs_trace_work_details(trace, policy, &work, err);
    if (status == RS_OK) status = launch_nodes(trace, work, &tree, &nodes, err);
    bool ok = true;
    for (size_t i = 0; status == RS_OK && ok && i < work->n; i++) {
        if (work->class[i] != RS_CLASS_COMM) continue;
        source s = source_of(e, tree, nodes ? nodes[i] : RS_NO_NODE, work->row[i]);
        ok = add_op(r, e, &s, work, i);
    }
    rs_free(nodes);
    if (status == RS_OK && (!ok || !rs_coll_rank_sort(r))) status = rs_fail_nomem(err, "collectives");
    if (status != RS_OK)
        rs_coll_rank_free(r);
    else
        *out = r;
    return status;
}

rs_status rs_coll_rank_any(rs_trace *trace, const rs_policy *policy, rs_coll_rank **out, rs_error *err)
{
    const uint32_t *rows;
    size_t n;
    RS_TRY(rs_trace_gpu_rows(trace, &rows, &n, err));
    return n ? rs_coll_rank_of(trace, policy, out, err) : rs_coll_rank_of_host(trace, out, err);
}

/* ---- what travels ------------------------------------------------------------------------------------- */

static const rs_field op_fields[] = {
    RS_FIELDS(rs_coll_op, start, end, seq, step, row),
    RS_FIELD_INDEX(rs_coll_op, shape, rs_coll_rank, n_shapes),
};
static const rs_layout op_layout = RS_LAYOUT(rs_coll_op, op_fields);

static const rs_field shape_fields[] = {
    RS_FIELDS(rs_coll_shape, group_size, in_elements, out_elements, source, target, stream),
    RS_FIELD_INDEX_OR_NONE(rs_coll_shape, group, rs_coll_rank, pool.strings.n),
    RS_FIELD_INDEX_OR_NONE(rs_coll_shape, description, rs_coll_rank, pool.strings.n),
    RS_FIELD_INDEX_OR_NONE(rs_coll_shape, members, rs_coll_rank, pool.strings.n),
    RS_FIELD_INDEX_OR_NONE(rs_coll_shape, name, rs_coll_rank, pool.strings.n),
    RS_FIELD_INDEX_OR_NONE(rs_coll_shape, dtype, rs_coll_rank, pool.strings.n),
    RS_FIELD_BELOW(rs_coll_shape, kind, RS_N_COLL_KINDS),
};
static const rs_layout shape_layout = RS_LAYOUT(rs_coll_shape, shape_fields);

static bool check_rank(const void *value)
{
    const rs_coll_rank *r = value;
    return r->n_spans == 0 || r->n_spans == r->n;
}

static const rs_field rank_fields[] = {
    RS_FIELD_STRINGS(rs_coll_rank, pool.strings),
    RS_FIELD_LIST(rs_coll_rank, shapes, n_shapes, &shape_layout),
    RS_FIELD_LIST(rs_coll_rank, ops, n, &op_layout),
    RS_FIELD_VALUES(rs_coll_rank, spans, n_spans),
    RS_FIELDS(rs_coll_rank, n_nameless, base_time_ns, first_ns),
    RS_FIELD_INDEX_OR_NONE(rs_coll_rank, host, rs_coll_rank, pool.strings.n),
    RS_FIELD_INDEX_OR_NONE(rs_coll_rank, role, rs_coll_rank, pool.strings.n),
    RS_FIELDS(rs_coll_rank, own, has_role, on_host, many_groups),
};
const rs_layout rs_coll_rank_layout = RS_LAYOUT_CHECKED(rs_coll_rank, rank_fields, check_rank);
