/* Replay of tables of operations: one pass over the units of a step's graph, scenarios side by side. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/strings.h"
#include "base/try.h"
#include "engine/ops.h"

#define COLUMNS 16 /* scenarios in one pass */

/* ---- the graph ------------------------------------------------------------------------------------------ */

void rs_ops_graph_clear(rs_ops_graph *graph)
{
    rs_free_all(graph->first, graph->member, graph->order);
    *graph = (rs_ops_graph){0};
}

/* Names of one kind and number on several stages are synchronised: the name on the lowest of them. */
static rs_status find_leaders(const rs_ops *ops, uint32_t *leader, rs_error *err)
{
    RS_SCOPED(rs_map64_clear) rs_map64 map = {0};
    rs_status status = RS_OK;
    for (size_t v = 0; status == RS_OK && v < ops->n_names; v++) {
        const rs_ops_name *name = &ops->names[v];
        bool is_new;
        leader[v] = (uint32_t)v;
        if (name->kind != RS_OP_EMBEDDING && name->kind != RS_OP_CLIP) continue;
        uint32_t *at = rs_map64_put(&map, (uint64_t)name->kind << 32 | (uint32_t)name->seq, &is_new);
        if (!at)
            status = rs_fail_nomem(err, "graph of operations");
        else if (is_new)
            *at = (uint32_t)v;
        else
            leader[v] = *at;
    }
    return status;
}

/* The least node of the unit of a node. */
static size_t unit_of(const rs_ops *ops, const rs_ops_order *order, const uint32_t *leader, size_t dp,
                      size_t name)
{
    switch (ops->names[name].kind) {
    case RS_OP_GATHER:
    case RS_OP_SCATTER:
    case RS_OP_SEPARATE: return name;
    case RS_OP_CLIP: return leader[name];
    case RS_OP_EMBEDDING: return dp * ops->n_names + leader[name];
    default: break;
    }
    size_t pair = order->pair[name];
    return dp * ops->n_names + (pair < name ? pair : name);
}

typedef struct sorter {
    const rs_ops *ops;
    size_t step, n_nodes;
    uint32_t *leader;
    uint32_t *unit;  /* of a node: the least node of its unit */
    uint32_t *waits; /* by unit: edges not yet followed */
    uint32_t *first; /* by node: n_nodes + 1 offsets into after */
    uint32_t *after; /* nodes that wait for it */
    uint32_t *next;  /* by node: the next member of its unit; UINT32_MAX: the last */
    uint32_t *last;  /* by unit */
    uint32_t *queue;
} sorter;

static void link_nodes(sorter *s)
{
    const rs_ops *ops = s->ops;
    for (size_t d = 0; d < ops->n_dp; d++) {
        const rs_ops_order *o = rs_ops_order_of(ops, s->step, d);
        for (size_t v = 0; v < ops->n_names; v++) {
            size_t node = d * ops->n_names + v, unit = unit_of(ops, o, s->leader, d, v);
            s->unit[node] = (uint32_t)unit;
            s->next[node] = UINT32_MAX;
            if (unit != node) s->next[s->last[unit]] = (uint32_t)node;
            s->last[unit] = (uint32_t)node;
            s->waits[unit] += o->first[v + 1] - o->first[v];
            for (uint32_t e = o->first[v]; e < o->first[v + 1]; e++)
                s->first[d * ops->n_names + o->pred[e] + 1]++;
        }
    }
    for (size_t i = 0; i < s->n_nodes; i++) s->first[i + 1] += s->first[i];
}

static void fill_after(sorter *s)
{
    const rs_ops *ops = s->ops;
    uint32_t *at = s->queue; /* not yet in use */
    memcpy(at, s->first, s->n_nodes * sizeof *at);
    for (size_t d = 0; d < ops->n_dp; d++) {
        const rs_ops_order *o = rs_ops_order_of(ops, s->step, d);
        for (size_t v = 0; v < ops->n_names; v++)
            for (uint32_t e = o->first[v]; e < o->first[v + 1]; e++)
                s->after[at[d * ops->n_names + o->pred[e]]++] = (uint32_t)(d * ops->n_names + v);
    }
}

/* Kahn's order of units, the lowest first. */
static rs_status order_units(sorter *s, rs_ops_graph *graph, rs_error *err)
{
    size_t n = 0, done = 0, members = 0, units = 0;
    for (size_t i = 0; i < s->n_nodes; i++) {
        if (s->unit[i] != i) continue;
        units++;
        if (s->waits[i] == 0) s->queue[n++] = (uint32_t)i;
    }
    while (done < n) {
        uint32_t unit = s->queue[done];
        graph->first[done++] = (uint32_t)members;
        for (uint32_t m = unit; m != UINT32_MAX; m = s->next[m]) {
            graph->member[members++] = m;
            for (uint32_t e = s->first[m]; e < s->first[m + 1]; e++)
                if (--s->waits[s->unit[s->after[e]]] == 0) s->queue[n++] = s->unit[s->after[e]];
        }
    }
    graph->n_units = done;
    graph->first[done] = (uint32_t)members;
    if (done == units) return RS_OK;
    for (size_t i = 0; i < s->n_nodes; i++)
        if (s->unit[i] == i && s->waits[i]) {
            const rs_ops_name *v = &s->ops->names[i % s->ops->n_names];
            return rs_fail(err, RS_ERR_FORMAT,
                           "operations wait for each other in a circle: %s %d of stage %d is in it",
                           rs_op_kind_names[v->kind], v->seq, v->stage);
        }
    return rs_fail(err, RS_ERR_FORMAT, "operations wait for each other in a circle");
}

static rs_status build(const rs_ops *ops, size_t step, rs_ops_graph *graph, rs_error *err)
{
    size_t n = ops->n_dp * ops->n_names, n_edges = 0;
    for (size_t d = 0; d < ops->n_dp; d++) n_edges += rs_ops_order_of(ops, step, d)->first[ops->n_names];
    if (n >= UINT32_MAX || n_edges >= UINT32_MAX)
        return rs_fail(err, RS_ERR_LIMIT, "a step of more than 4294967294 operations");
    sorter s = {.ops = ops,
                .step = step,
                .n_nodes = n,
                .leader = rs_malloc((ops->n_names + 1) * sizeof *s.leader),
                .unit = rs_malloc((n + 1) * sizeof *s.unit),
                .waits = rs_calloc(n + 1, sizeof *s.waits),
                .first = rs_calloc(n + 2, sizeof *s.first),
                .after = rs_malloc((n_edges + 1) * sizeof *s.after),
                .next = rs_malloc((n + 1) * sizeof *s.next),
                .last = rs_malloc((n + 1) * sizeof *s.last),
                .queue = rs_malloc((n + 1) * sizeof *s.queue)};
    graph->first = rs_malloc((n + 2) * sizeof *graph->first);
    graph->member = rs_malloc((n + 1) * sizeof *graph->member);
    rs_status status = s.leader && s.unit && s.waits && s.first && s.after && s.next && s.last && s.queue &&
                               graph->first && graph->member
                           ? find_leaders(ops, s.leader, err)
                           : rs_fail_nomem(err, "graph of operations");
    if (status == RS_OK) {
        link_nodes(&s);
        fill_after(&s);
        status = order_units(&s, graph, err);
    }
    uint32_t *const blocks[] = {s.leader, s.unit, s.waits, s.first, s.after, s.next, s.last, s.queue};
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) rs_free(blocks[i]);
    return status;
}

rs_status rs_ops_graph_make(const rs_ops *ops, size_t step, rs_ops_graph *graph, rs_error *err)
{
    const uint32_t *order = ops->order + step * ops->n_dp;
    if (graph->order && memcmp(graph->order, order, ops->n_dp * sizeof *order) == 0) return RS_OK;
    rs_ops_graph_clear(graph);
    RS_TRY(build(ops, step, graph, err));
    graph->order = rs_malloc((ops->n_dp + 1) * sizeof *graph->order);
    if (!graph->order) return rs_fail_nomem(err, "graph of operations");
    memcpy(graph->order, order, ops->n_dp * sizeof *order);
    return RS_OK;
}

/* ---- the pass ------------------------------------------------------------------------------------------- */

static bool is_in(const rs_ops *ops, const rs_ops_set *set, size_t step, size_t dp, size_t name)
{
    size_t stage = (size_t)ops->names[name].stage;
    return (!set->class || set->class[name] == set->of_class) && (set->dp < 0 || (size_t)set->dp == dp) &&
           (set->stage < 0 || (size_t)set->stage == stage) && (set->step < 0 || (size_t)set->step == step) &&
           (!set->workers || set->workers[dp * ops->n_stages + stage]);
}

typedef struct pass {
    const rs_ops *ops;
    const rs_ops_scenario *scenarios;
    size_t n, step;
    double *end;               /* by node, COLUMNS each */
    double *at_start, *at_end; /* of one scenario, by instance; NULL: not kept */
    double first[COLUMNS], last[COLUMNS], update[COLUMNS];
} pass;

/* The starts of a node in all columns. */
static void start_node(const pass *p, size_t dp, size_t name, double *start)
{
    const rs_ops *ops = p->ops;
    const rs_ops_order *o = rs_ops_order_of(ops, p->step, dp);
    for (size_t c = 0; c < COLUMNS; c++) start[c] = 0;
    for (uint32_t e = o->first[name]; e < o->first[name + 1]; e++) {
        const double *end = p->end + (dp * ops->n_names + o->pred[e]) * COLUMNS;
        bool first = e == o->first[name];
        for (size_t c = 0; c < COLUMNS; c++) start[c] = first || end[c] > start[c] ? end[c] : start[c];
    }
    size_t at = rs_ops_at(ops, p->step, dp, name);
    for (size_t c = 0; c < p->n; c++)
        if (p->scenarios[c].delay && is_in(ops, &p->scenarios[c].delay_set, p->step, dp, name))
            start[c] += p->scenarios[c].delay[at];
}

static void end_node(pass *p, size_t dp, size_t name, const double *begin)
{
    const rs_ops *ops = p->ops;
    size_t at = rs_ops_at(ops, p->step, dp, name);
    double *end = p->end + (dp * ops->n_names + name) * COLUMNS;
    for (size_t c = 0; c < p->n; c++) {
        const rs_ops_scenario *s = &p->scenarios[c];
        bool other = s->other && is_in(ops, &s->set, p->step, dp, name);
        end[c] = begin[c] + (other ? s->factor * s->other[at] : s->time[at]);
        if (end[c] > p->last[c]) p->last[c] = end[c];
        if (ops->names[name].kind == RS_OP_OPTIMIZER && end[c] > p->update[c]) p->update[c] = end[c];
    }
    if (p->at_end) p->at_end[at] = end[0];
}

static void run_unit(pass *p, const uint32_t *member, size_t n)
{
    const rs_ops *ops = p->ops;
    double begin[COLUMNS], start[COLUMNS];
    for (size_t c = 0; c < COLUMNS; c++) begin[c] = -INFINITY;
    for (size_t i = 0; i < n; i++) {
        size_t dp = member[i] / ops->n_names, name = member[i] % ops->n_names;
        start_node(p, dp, name, start);
        for (size_t c = 0; c < COLUMNS; c++) {
            if (start[c] > begin[c]) begin[c] = start[c];
            if (start[c] < p->first[c]) p->first[c] = start[c];
        }
        if (p->at_start) p->at_start[rs_ops_at(ops, p->step, dp, name)] = start[0];
    }
    for (size_t i = 0; i < n; i++) end_node(p, member[i] / ops->n_names, member[i] % ops->n_names, begin);
}

static void run_step(pass *p, const rs_ops_graph *graph)
{
    for (size_t c = 0; c < COLUMNS; c++) {
        p->first[c] = INFINITY;
        p->last[c] = p->update[c] = -INFINITY;
    }
    for (size_t u = 0; u < graph->n_units; u++)
        run_unit(p, graph->member + graph->first[u], graph->first[u + 1] - graph->first[u]);
}

static rs_status make_pass(const rs_ops *ops, pass *p, rs_error *err)
{
    *p = (pass){.ops = ops, .end = rs_calloc(ops->n_dp * ops->n_names + 1, COLUMNS * sizeof *p->end)};
    return p->end ? RS_OK : rs_fail_nomem(err, "replay");
}

rs_status rs_ops_replay(const rs_ops *ops, const rs_ops_scenario *scenarios, size_t n, rs_ops_length *lengths,
                        rs_error *err)
{
    pass p;
    rs_ops_graph graph = {0};
    RS_TRY(make_pass(ops, &p, err));
    rs_status status = RS_OK;
    for (size_t step = 0; status == RS_OK && step < ops->n_steps; step++) {
        status = rs_ops_graph_make(ops, step, &graph, err);
        p.step = step;
        for (size_t from = 0; status == RS_OK && from < n; from += COLUMNS) {
            p.scenarios = scenarios + from;
            p.n = n - from < COLUMNS ? n - from : COLUMNS;
            run_step(&p, &graph);
            for (size_t c = 0; c < p.n; c++) {
                double whole = p.last[c] - p.first[c];
                lengths[(from + c) * ops->n_steps + step] =
                    (rs_ops_length){whole, p.update[c] > -INFINITY ? p.update[c] : whole};
            }
        }
    }
    rs_ops_graph_clear(&graph);
    rs_free(p.end);
    return status;
}

rs_status rs_ops_replay_times(const rs_ops *ops, const rs_ops_scenario *scenario, double *start, double *end,
                              rs_error *err)
{
    pass p;
    rs_ops_graph graph = {0};
    RS_TRY(make_pass(ops, &p, err));
    p.scenarios = scenario;
    p.n = 1;
    p.at_start = start;
    p.at_end = end;
    rs_status status = RS_OK;
    for (size_t step = 0; status == RS_OK && step < ops->n_steps; step++) {
        status = rs_ops_graph_make(ops, step, &graph, err);
        p.step = step;
        if (status == RS_OK) run_step(&p, &graph);
    }
    rs_ops_graph_clear(&graph);
    rs_free(p.end);
    return status;
}
