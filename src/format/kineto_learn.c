#include <string.h>

#include "format/kineto_shapes.h"

rs_shapes *rs_shapes_create(void)
{
    rs_shapes *s = rs_calloc(1, sizeof *s);
    if (!s) return NULL;
    s->capacity = 64;
    s->edges = rs_calloc(s->capacity, sizeof *s->edges);
    if (!s->edges || !rs_strings_init(&s->skipped)) {
        rs_shapes_free(s);
        return NULL;
    }
    s->n_edges = 1;
    return s;
}

void rs_shapes_free(rs_shapes *s)
{
    if (!s) return;
    rs_free(s->edges);
    rs_strings_clear(&s->skipped);
    rs_free(s);
}

/* The child of `parent` with this literal and value, added if new; 0 when there is no room for it. */
static uint32_t edge_to(rs_shapes *s, uint32_t parent, const uint8_t *literal, size_t n, rs_op op,
                        uint8_t column)
{
    unsigned siblings = 0;
    uint32_t last = 0;
    for (uint32_t i = s->edges[parent].child; i; i = s->edges[i].sibling) {
        const rs_edge *e = &s->edges[i];
        if (e->length == n && e->op == op && e->column == column && memcmp(e->literal, literal, n) == 0)
            return i;
        siblings++;
        last = i;
    }
    if (siblings >= RS_MAX_SIBLINGS || s->n_edges >= RS_MAX_EDGES) return 0;
    if (s->n_edges == s->capacity) {
        rs_edge *grown = rs_realloc(s->edges, s->capacity * 2 * sizeof *grown);
        if (!grown) return 0; /* learning is optional */
        s->edges = grown;
        s->capacity *= 2;
    }
    uint32_t i = s->n_edges++;
    rs_edge *e = &s->edges[i];
    memset(e, 0, sizeof *e);
    memcpy(e->literal, literal, n);
    e->length = (uint8_t)n;
    e->mask = n == 64 ? UINT64_MAX : (UINT64_C(1) << n) - 1;
    e->op = (uint8_t)op;
    e->column = column;
    if (last)
        s->edges[last].sibling = i;
    else
        s->edges[parent].child = i;
    s->edges[parent].hint = i;
    return i;
}

/* As edge_to, for a run of fixed bytes of any length. */
static uint32_t path_to(rs_shapes *s, uint32_t parent, const uint8_t *literal, size_t n, rs_op op,
                        uint8_t column)
{
    while (n > RS_LITERAL) {
        uint32_t next = edge_to(s, parent, literal, RS_LITERAL, RS_OP_NONE, 0);
        if (!next) return 0;
        parent = next;
        literal += RS_LITERAL;
        n -= RS_LITERAL;
    }
    return edge_to(s, parent, literal, n, op, column);
}

void rs_shapes_learn(rs_kineto *core, const uint8_t *begin, const uint8_t *end, const rs_event_now *now)
{
    rs_shapes *s = core->shapes;
    if (end - begin > (ptrdiff_t)1 << 16) return;
    uint32_t at = 0;
    const uint8_t *literal = begin;
    for (unsigned i = 0; i < core->n_seen; i++) {
        const rs_step_seen *step = &core->seen[i];
        rs_op op = step->op;
        if (op == RS_OP_ID && !(core->columns >> RS_COL_FLOW_ID & 1)) op = RS_OP_SKIP_NUMBER;
        at = path_to(s, at, literal, (size_t)(step->begin - literal), op, step->column);
        if (!at) return;
        literal = step->end;
    }
    at = path_to(s, at, literal, (size_t)(end - literal), RS_OP_END, 0);
    if (!at) return;
    s->edges[at].phase = now->phase;
    s->edges[at].category = now->category;
}

rs_shapes_run_fn rs_shapes_runner(int simd)
{
#if defined(__x86_64__) || defined(__i386__)
    bool avx512 = __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
    bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi");
    if (simd == 0) simd = avx512 ? 4 : avx2 ? 3 : 2;
    if (simd == 4 && avx512) return rs_shapes_run_avx512;
    if (simd >= 3 && avx2) return rs_shapes_run_avx2;
    if (simd >= 2) return rs_shapes_run_128;
#elif defined(__aarch64__)
    if (simd == 0 || simd >= 2) return rs_shapes_run_128;
#endif
    (void)simd;
    return rs_shapes_run_portable;
}
