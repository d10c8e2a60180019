#include "input/values.h"

void rs_values_begin(rs_values *values, const rs_value_limits *limits)
{
    values->n_nodes = values->n_refs = values->n_chunks = values->n_stack = values->n_marks = 0;
    values->n_scalars = 0;
    values->n_kept = 0;
    rs_arena_clear(&values->texts);
    rs_value_limits l = limits ? *limits : (rs_value_limits){0};
    if (!l.max_nodes) l.max_nodes = UINT64_C(64) << 20;
    if (l.max_nodes > UINT32_MAX / 8) l.max_nodes = UINT32_MAX / 8;
    if (!l.max_bytes) l.max_bytes = UINT64_C(4) << 30;
    if (!l.max_depth) l.max_depth = 1024;
    if (l.max_depth > UINT16_MAX) l.max_depth = UINT16_MAX;
    if (!l.max_string) l.max_string = UINT64_C(16) << 20;
    values->limits = l;
}

void rs_values_clear(rs_values *values)
{
    rs_free_all(values->nodes, values->refs, values->chunks, values->stack, values->scalars, values->marks);
    rs_arena_clear(&values->texts);
    *values = (rs_values){0};
}

static uint64_t bytes_held(const rs_values *values)
{
    return values->nodes_capacity * sizeof *values->nodes + values->refs_capacity * sizeof *values->refs +
           values->chunks_capacity * sizeof *values->chunks + values->stack_capacity * sizeof *values->stack +
           values->texts.total;
}

static rs_values_step push(rs_values *values, uint32_t node)
{
    if (values->n_stack == values->stack_capacity) {
        if (values->n_stack >= values->limits.max_nodes) return RS_STEP_LIMIT;
        if (!rs_grow((void **)&values->stack, &values->stack_capacity, values->n_stack + 1,
                     sizeof *values->stack))
            return RS_STEP_NOMEM;
    }
    values->stack[values->n_stack++] = node;
    return RS_STEP_OK;
}

/* A node that is on no stack. */
static rs_values_step add_node(rs_values *values, const rs_value *value)
{
    if (values->n_nodes == values->nodes_capacity) {
        if (bytes_held(values) > values->limits.max_bytes) return RS_STEP_LIMIT;
        if (!rs_grow((void **)&values->nodes, &values->nodes_capacity, values->n_nodes + 1,
                     sizeof *values->nodes))
            return RS_STEP_NOMEM;
    }
    if (values->n_nodes >= values->limits.max_nodes) return RS_STEP_LIMIT;
    values->nodes[values->n_nodes++] = *value;
    return RS_STEP_OK;
}

rs_values_step rs_values_push_node(rs_values *values, const rs_value *value)
{
    rs_values_step step = add_node(values, value);
    return step == RS_STEP_OK ? push(values, (uint32_t)values->n_nodes - 1) : step;
}

rs_values_step rs_values_push_scalar(rs_values *values, const rs_value *value)
{
    if (values->n_scalars >= values->limits.max_nodes) return RS_STEP_LIMIT;
    if (!RS_GROW_ONE(values->scalars, values->n_scalars, values->scalars_capacity)) return RS_STEP_NOMEM;
    rs_values_step step = push(values, RS_SCALAR | (uint32_t)values->n_scalars);
    if (step == RS_STEP_OK) values->scalars[values->n_scalars++] = *value;
    return step;
}

rs_values_step rs_values_push_ref_slowly(rs_values *values, uint32_t item)
{
    if (item & RS_SCALAR) {
        rs_value copy = values->scalars[item & ~RS_SCALAR];
        return rs_values_push_scalar(values, &copy);
    }
    return item < values->n_nodes ? push(values, item) : RS_STEP_EMPTY;
}

/* How many scalars there are below that height. */
static size_t scalars_below(const rs_values *values, size_t height)
{
    for (size_t i = height; i < values->n_stack; i++)
        if (values->stack[i] & RS_SCALAR) return values->stack[i] & ~RS_SCALAR;
    return values->n_scalars;
}

void rs_values_pop(rs_values *values, size_t from)
{
    values->n_scalars = scalars_below(values, from);
    if (from < values->n_stack) values->n_stack = from;
}

rs_values_step rs_values_settle(rs_values *values, size_t height)
{
    uint32_t item = values->stack[height];
    if (!(item & RS_SCALAR)) return RS_STEP_OK;
    rs_values_step step = add_node(values, &values->scalars[item & ~RS_SCALAR]);
    if (step != RS_STEP_OK) return step;
    values->stack[height] = (uint32_t)values->n_nodes - 1;
    if ((item & ~RS_SCALAR) + 1 == values->n_scalars) values->n_scalars--;
    return RS_STEP_OK;
}

rs_values_step rs_values_push_mark(rs_values *values)
{
    if (values->n_marks >= values->limits.max_depth) return RS_STEP_LIMIT;
    if (!RS_PUSH(values->marks, values->n_marks, values->marks_capacity, (uint32_t)values->n_stack))
        return RS_STEP_NOMEM;
    return RS_STEP_OK;
}

rs_values_step rs_values_attach(rs_values *values, uint32_t node, size_t from, bool drop_odd)
{
    size_t n = values->n_stack - from;
    if (values->nodes[node].type == RS_VALUE_MAP && n % 2) {
        if (!drop_odd) return RS_STEP_EMPTY;
        n--;
    }
    size_t scalars = scalars_below(values, from);
    for (size_t i = from; i < from + n; i++) {
        rs_values_step step = rs_values_settle(values, i);
        if (step != RS_STEP_OK) return step;
    }
    rs_value *container = &values->nodes[node];
    if (n) {
        if (values->n_refs + n > 4 * values->limits.max_nodes || values->n_chunks >= values->limits.max_nodes)
            return RS_STEP_LIMIT;
        if (values->n_refs + n > values->refs_capacity && bytes_held(values) > values->limits.max_bytes)
            return RS_STEP_LIMIT;
        if (!rs_grow((void **)&values->refs, &values->refs_capacity, values->n_refs + n,
                     sizeof *values->refs) ||
            !RS_GROW_ONE(values->chunks, values->n_chunks, values->chunks_capacity))
            return RS_STEP_NOMEM;
        unsigned deepest = 0;
        for (size_t i = 0; i < n; i++) {
            uint32_t child = values->stack[from + i];
            values->refs[values->n_refs + i] = child;
            if (child >= values->n_kept) values->n_kept = (size_t)child + 1;
            if (values->nodes[child].type >= RS_VALUE_LIST && values->nodes[child].depth >= deepest)
                deepest = values->nodes[child].depth + 1u;
        }
        if (deepest >= values->limits.max_depth) return RS_STEP_LIMIT;
        if (deepest > container->depth) container->depth = (uint16_t)deepest;
        uint32_t last = container->as.chunks.last;
        /* A one-by-one append lengthens the last run when nothing else was attached in between. */
        if (last != RS_NO_CHUNK && values->chunks[last].first + values->chunks[last].n == values->n_refs) {
            values->chunks[last].n += (uint32_t)n;
        } else {
            uint32_t chunk = (uint32_t)values->n_chunks++;
            values->chunks[chunk] =
                (rs_value_chunk){.first = (uint32_t)values->n_refs, .n = (uint32_t)n, .next = RS_NO_CHUNK};
            if (last == RS_NO_CHUNK)
                container->as.chunks.first = chunk;
            else
                values->chunks[last].next = chunk;
            container->as.chunks.last = chunk;
        }
        container->n += (uint32_t)n;
        values->n_refs += n;
    }
    values->n_scalars = scalars;
    values->n_stack = from;
    return RS_STEP_OK;
}

void rs_values_drop_taken(rs_values *values, uint32_t map, size_t from, bool alone)
{
    rs_values_pop(values, from);
    if (!alone) return;
    size_t n = (size_t)map + 1;
    if (n < values->n_kept) n = values->n_kept;
    if (n < values->n_nodes) values->n_nodes = n;
}

void rs_values_drop_children(rs_values *values, uint32_t list)
{
    const rs_value *v = &values->nodes[list];
    uint32_t chunk = v->as.chunks.first;
    if (v->type != RS_VALUE_LIST || chunk == RS_NO_CHUNK || chunk + 1 != values->n_chunks) return;
    values->n_refs = values->chunks[chunk].first;
    values->n_chunks = chunk;
}

/* An item that waits for the list before it, which a writer fills without a mark where it is the only one. */
static bool close_single(rs_values *values, size_t from)
{
    size_t n = values->n_stack;
    if ((n - from) % 2 == 0 || n - from < 3) return true;
    uint8_t type = rs_values_at(values, values->stack[n - 1])->type;
    uint32_t list = values->stack[n - 2];
    if (type == RS_VALUE_TEXT || type == RS_VALUE_NAME || rs_values_at(values, list)->type != RS_VALUE_LIST)
        return true;
    return rs_values_attach(values, list, n - 1, false) == RS_STEP_OK;
}

uint32_t rs_values_close_all(rs_values *values)
{
    while (values->n_marks) {
        size_t from = values->marks[--values->n_marks];
        if (from > values->n_stack || from == 0) continue;
        uint32_t below = values->stack[from - 1];
        uint8_t type = rs_values_at(values, below)->type;
        if (type == RS_VALUE_MAP && !close_single(values, from)) continue;
        if (type < RS_VALUE_LIST || rs_values_attach(values, below, from, true) != RS_STEP_OK)
            rs_values_pop(values, from);
    }
    return values->n_stack && rs_values_settle(values, 0) == RS_STEP_OK ? values->stack[0] : RS_NO_NODE;
}
