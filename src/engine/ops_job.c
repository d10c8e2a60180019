/* From a table of operations to names and instances: complete steps, orders, transfers, delays. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/order.h"
#include "base/search.h"
#include "base/try.h"
#include "engine/ops.h"

#define TOO_NEGATIVE 10e-3 /* s: a transfer or delay of less than minus that is no measurement */

const rs_ops_rules rs_ops_own_rules = {.unit = 1e9};

void rs_ops_clear(rs_ops *ops)
{
    for (size_t i = 0; i < ops->n_orders; i++) rs_ops_order_clear(&ops->orders[i]);
    rs_free_all(ops->orders, ops->order, ops->names, ops->range, ops->steps, ops->dps, ops->ranks, ops->start,
                ops->duration, ops->time, ops->delay, ops->mb, ops->mc);
    *ops = (rs_ops){0};
}

/* ---- which names and steps there are -------------------------------------------------------------------- */

typedef struct maker {
    const rs_op_table *table;
    const char *file;
    rs_ops *ops;
    rs_problems *problems;
    double *end;        /* by instance */
    rs_op_span *sorted; /* by name, then step, then data rank, then place in the file */
    int64_t *steps;     /* all of the table, ascending */
    bool *broken;       /* by step: incomplete */
    size_t n_steps;
} maker;

static int compare_names(const rs_op_span *a, const rs_op_span *b)
{
    if (a->stage != b->stage) return a->stage < b->stage ? -1 : 1;
    if (a->kind != b->kind) return a->kind < b->kind ? -1 : 1;
    return (a->seq > b->seq) - (a->seq < b->seq);
}

static int compare_ops(const void *x, const void *y)
{
    const rs_op_span *a = x, *b = y;
    int names = compare_names(a, b);
    if (names) return names;
    if (a->step != b->step) return a->step < b->step ? -1 : 1;
    if (a->dp != b->dp) return a->dp < b->dp ? -1 : 1;
    if (a->start != b->start) return a->start < b->start ? -1 : 1;
    return (a->duration > b->duration) - (a->duration < b->duration);
}

static const rs_order compare_int64[] = {RS_RISING_VALUE(int64_t)};

static size_t unique(int64_t *values, size_t n)
{
    size_t kept = 0;
    RS_SORT(values, n, compare_int64);
    for (size_t i = 0; i < n; i++)
        if (!i || values[i] != values[i - 1]) values[kept++] = values[i];
    return kept;
}

static size_t place_of(const int64_t *values, size_t n, int64_t value)
{
    size_t low;
    RS_SEARCH(low, n, values[low] < value);
    return low;
}

static rs_status list_numbers(maker *m, rs_error *err)
{
    const rs_op_table *t = m->table;
    m->steps = rs_malloc(t->n * sizeof *m->steps);
    m->ops->dps = rs_malloc(t->n * sizeof *m->ops->dps);
    m->sorted = rs_malloc(t->n * sizeof *m->sorted);
    if (!m->steps || !m->ops->dps || !m->sorted) return rs_fail_nomem(err, "operations");
    for (size_t i = 0; i < t->n; i++) {
        m->steps[i] = t->ops[i].step;
        m->ops->dps[i] = t->ops[i].dp;
        if ((size_t)t->ops[i].stage >= m->ops->n_stages) m->ops->n_stages = (size_t)t->ops[i].stage + 1;
    }
    m->n_steps = unique(m->steps, t->n);
    m->ops->n_dp = unique(m->ops->dps, t->n);
    memcpy(m->sorted, t->ops, t->n * sizeof *m->sorted);
    qsort(m->sorted, t->n, sizeof *m->sorted, compare_ops);
    m->broken = rs_calloc(m->n_steps, sizeof *m->broken);
    return m->broken ? RS_OK : rs_fail_nomem(err, "operations");
}

static void tell_gap(maker *m, int64_t step, int64_t dp, const rs_op_span *op, const char *what)
{
    char detail[200];
    snprintf(detail, sizeof detail, "step %lld, data rank %lld: %s %d of stage %d is %s", (long long)step,
             (long long)dp, rs_op_kind_names[op->kind], op->seq, op->stage, what);
    rs_problems_add_many(m->problems, m->file, -1, RS_LOSS, "incomplete_step",
                         "an operation is not recorded once in each step and data rank: the steps where it "
                         "is not were left out",
                         RS_NO_OFFSET, 1, detail);
    m->broken[place_of(m->steps, m->n_steps, step)] = true;
}

/* The rows of one name: whether most instances are there; breaks the steps that have it once too often, not
 * at all, or though most do not. Walks all instances only of names that most have, so the work is linear in
 * the rows. */
static bool check_name(maker *m, const rs_op_span *rows, size_t n)
{
    size_t distinct = 0;
    for (size_t i = 0; i < n; i++) {
        if (i && rows[i].step == rows[i - 1].step && rows[i].dp == rows[i - 1].dp)
            tell_gap(m, rows[i].step, rows[i].dp, &rows[i], "recorded twice");
        else
            distinct++;
    }
    bool usual = distinct * 2 > m->n_steps * m->ops->n_dp;
    if (!usual) {
        for (size_t i = 0; i < n; i++)
            tell_gap(m, rows[i].step, rows[i].dp, &rows[i], "there, which is missing in most others");
        return false;
    }
    if (distinct == m->n_steps * m->ops->n_dp) return true;
    for (size_t step = 0, i = 0; step < m->n_steps; step++)
        for (size_t dp = 0; dp < m->ops->n_dp; dp++) {
            bool there = i < n && rows[i].step == m->steps[step] && rows[i].dp == m->ops->dps[dp];
            if (!there) tell_gap(m, m->steps[step], m->ops->dps[dp], rows, "missing");
            while (i < n && rows[i].step == m->steps[step] && rows[i].dp == m->ops->dps[dp]) i++;
        }
    return true;
}

/* Names that most instances have. */
static rs_status find_names(maker *m, rs_error *err)
{
    rs_ops *o = m->ops;
    size_t n_ranges = o->n_stages * RS_N_OP_KINDS;
    size_t capacity = 0;
    o->range = rs_calloc(n_ranges + 1, sizeof *o->range);
    if (!o->range) return rs_fail_nomem(err, "operations");
    for (size_t i = 0, k; i < m->table->n; i = k) {
        const rs_op_span *op = &m->sorted[i];
        for (k = i + 1; k < m->table->n && compare_names(op, &m->sorted[k]) == 0;) k++;
        if (!check_name(m, op, k - i)) continue;
        if (!RS_PUSH(o->names, o->n_names, capacity, (rs_ops_name){op->stage, op->seq, op->mc, op->kind}))
            return rs_fail_nomem(err, "operations");
        o->range[(size_t)op->stage * RS_N_OP_KINDS + op->kind + 1]++;
        if (rs_op_is_compute(op->kind))
            for (size_t j = i; j < k; j++)
                if (m->sorted[j].mc >= 0 && (size_t)m->sorted[j].mc >= o->n_chunks)
                    o->n_chunks = (size_t)m->sorted[j].mc + 1;
    }
    for (size_t i = 0; i < n_ranges; i++) o->range[i + 1] += o->range[i];
    if (o->n_chunks == 0) o->n_chunks = 1;
    for (size_t s = 0; s < o->n_stages; s++)
        if (o->range[(s + 1) * RS_N_OP_KINDS] == o->range[s * RS_N_OP_KINDS])
            return rs_fail_at(err, RS_ERR_FORMAT, m->file, RS_NO_OFFSET,
                              "no operation of stage %zu is recorded in most steps and data ranks: a table "
                              "needs every stage from 0 to %zu",
                              s, o->n_stages - 1);
    return RS_OK;
}

/* ---- instances ------------------------------------------------------------------------------------------ */

static double as_single(const rs_ops *ops, double value)
{
    return ops->rules.single ? (double)(float)value : value;
}

/* A recorded time in the unit of the rules. */
static double recorded(const rs_ops *ops, double seconds)
{
    if (ops->rules.single) return (double)(float)seconds;
    return nearbyint(seconds * ops->rules.unit);
}

static rs_status make_room(maker *m, rs_error *err)
{
    rs_ops *o = m->ops;
    o->steps = rs_malloc(m->n_steps * sizeof *o->steps);
    if (!o->steps) return rs_fail_nomem(err, "operations");
    for (size_t i = 0; i < m->n_steps; i++)
        if (!m->broken[i]) o->steps[o->n_steps++] = m->steps[i];
    if (o->n_steps == 0)
        return rs_fail_at(err, RS_ERR_FORMAT, m->file, RS_NO_OFFSET,
                          "no step is complete: every operation must be recorded once in each step and data "
                          "rank (%zu steps, %zu data ranks)",
                          m->n_steps, o->n_dp);
    o->n_instances = o->n_steps * o->n_dp * o->n_names; /* at most as many as there are rows */
    o->start = rs_calloc(o->n_instances, sizeof *o->start);
    o->duration = rs_calloc(o->n_instances, sizeof *o->duration);
    o->time = rs_calloc(o->n_instances, sizeof *o->time);
    o->delay = rs_calloc(o->n_instances, sizeof *o->delay);
    o->mb = rs_calloc(o->n_instances, sizeof *o->mb);
    o->mc = rs_calloc(o->n_instances, sizeof *o->mc);
    o->order = rs_calloc(o->n_steps * o->n_dp, sizeof *o->order);
    o->ranks = rs_malloc(o->n_dp * o->n_stages * sizeof *o->ranks);
    m->end = rs_calloc(o->n_instances, sizeof *m->end);
    if (!o->start || !o->duration || !o->time || !o->delay || !o->mb || !o->mc || !o->order || !o->ranks ||
        !m->end)
        return rs_fail_nomem(err, "operations");
    for (size_t w = 0; w < o->n_dp * o->n_stages; w++) o->ranks[w] = -1;
    return RS_OK;
}

static void place_row(maker *m, const rs_op_span *op, size_t name)
{
    rs_ops *o = m->ops;
    size_t step = place_of(o->steps, o->n_steps, op->step), dp = place_of(o->dps, o->n_dp, op->dp);
    if (step == o->n_steps || o->steps[step] != op->step) return;
    size_t at = rs_ops_at(o, step, dp, name);
    o->start[at] = recorded(o, op->start);
    o->duration[at] = recorded(o, op->duration);
    if (o->duration[at] < 0 && !o->rules.keep_negative) {
        o->duration[at] = 0;
        rs_problems_add(m->problems, m->file, -1, RS_WARNING, "negative_duration",
                        "an operation ends before it starts: its duration counts as 0", RS_NO_OFFSET);
    }
    m->end[at] = as_single(o, o->start[at] + o->duration[at]);
    o->mb[at] = op->mb;
    o->mc[at] = op->mc;
    int64_t *rank = &o->ranks[dp * o->n_stages + (size_t)op->stage];
    if (*rank >= 0 && *rank != op->rank)
        rs_problems_add(m->problems, m->file, op->rank, RS_WARNING, "rank_changes",
                        "operations of one data rank and stage name several ranks: the lowest counts",
                        RS_NO_OFFSET);
    if (*rank < 0 || op->rank < *rank) *rank = op->rank;
}

static void place_rows(maker *m)
{
    size_t name = 0;
    for (size_t i = 0; i < m->table->n; i++) {
        const rs_op_span *op = &m->sorted[i];
        const rs_ops_name *v = NULL;
        for (; name < m->ops->n_names; name++) {
            v = &m->ops->names[name];
            const rs_op_span as = {.stage = v->stage, .kind = v->kind, .seq = v->seq};
            if (compare_names(&as, op) >= 0) break;
        }
        if (name == m->ops->n_names) return;
        if (v->stage == op->stage && v->kind == op->kind && v->seq == op->seq) place_row(m, op, name);
    }
}

/* ---- orders --------------------------------------------------------------------------------------------- */

static rs_status keep_order(rs_ops *o, rs_ops_order *order, uint32_t *at, rs_error *err)
{
    /* most are the first one, the others seldom equal each other */
    for (size_t i = 0; i < o->n_orders && i < 64; i++)
        if (rs_ops_order_equal(o, &o->orders[i], order)) {
            rs_ops_order_clear(order);
            *at = (uint32_t)i;
            return RS_OK;
        }
    if (!RS_GROW_ONE(o->orders, o->n_orders, o->orders_capacity)) {
        rs_ops_order_clear(order);
        return rs_fail_nomem(err, "order of operations");
    }
    *at = (uint32_t)o->n_orders;
    o->orders[o->n_orders++] = *order;
    return RS_OK;
}

static rs_status find_order(maker *m, size_t step, size_t dp, rs_error *err)
{
    rs_ops *o = m->ops;
    rs_ops_order order;
    size_t at = rs_ops_at(o, step, dp, 0);
    RS_TRY(rs_ops_find_order(o, o->start + at, m->end + at, o->mc + at, &order, err));
    return keep_order(o, &order, &o->order[step * o->n_dp + dp], err);
}

static rs_status find_orders(maker *m, rs_error *err)
{
    rs_ops *o = m->ops;
    char text[RS_ERROR_TEXT];
    if (find_order(m, 0, 0, err) != RS_OK)
        return err && err->status != RS_ERR_FORMAT
                   ? err->status
                   : rs_error_wrap(err, "%s: step %lld, data rank %lld", m->file, (long long)o->steps[0],
                                   (long long)o->dps[0]);
    for (size_t step = 0; !o->rules.one_order && step < o->n_steps; step++)
        for (size_t dp = 0; dp < o->n_dp; dp++) {
            rs_error why = RS_ERROR_INIT;
            if (step + dp == 0) continue;
            rs_status status = find_order(m, step, dp, &why);
            if (status == RS_OK) continue;
            if (status != RS_ERR_FORMAT) {
                if (err) *err = why;
                return status;
            }
            rs_error_wrap(&why, "step %lld, data rank %lld", (long long)o->steps[step],
                          (long long)o->dps[dp]);
            rs_problems_add_many(m->problems, m->file, -1, RS_WARNING, "unclear_order",
                                 "sends and receives do not fit the computations of a step: its operations "
                                 "were taken in the order of the first step",
                                 RS_NO_OFFSET, 1, rs_error_text(&why, text, sizeof text));
        }
    return RS_OK;
}

/* ---- what took how long --------------------------------------------------------------------------------- */

static double clean_transfer(const rs_ops *o, double value)
{
    if (value >= 0) return value;
    return o->rules.keep_negative && value > -TOO_NEGATIVE * o->rules.unit ? value : 0;
}

static void time_unit(maker *m, size_t step, const uint32_t *member, size_t n)
{
    rs_ops *o = m->ops;
    double last = -INFINITY;
    for (size_t i = 0; i < n; i++) {
        size_t at = step * o->n_dp * o->n_names + member[i];
        if (o->start[at] > last) last = o->start[at];
    }
    for (size_t i = 0; i < n; i++) {
        size_t at = step * o->n_dp * o->n_names + member[i];
        bool transfer = rs_op_is_transfer(o->names[member[i] % o->n_names].kind);
        o->time[at] = transfer ? clean_transfer(o, as_single(o, m->end[at] - last)) : o->duration[at];
    }
}

static void find_delays(maker *m, size_t step)
{
    rs_ops *o = m->ops;
    double zero = INFINITY;
    for (size_t d = 0; d < o->n_dp; d++)
        for (size_t v = 0; v < o->n_names; v++)
            if (o->start[rs_ops_at(o, step, d, v)] < zero) zero = o->start[rs_ops_at(o, step, d, v)];
    for (size_t d = 0; d < o->n_dp; d++) {
        const rs_ops_order *order = rs_ops_order_of(o, step, d);
        for (size_t v = 0; v < o->n_names; v++) {
            double from = order->first[v] == order->first[v + 1] ? zero : -INFINITY;
            for (uint32_t e = order->first[v]; e < order->first[v + 1]; e++) {
                double end = m->end[rs_ops_at(o, step, d, order->pred[e])];
                if (end > from) from = end;
            }
            size_t at = rs_ops_at(o, step, d, v);
            double delay = as_single(o, o->start[at] - from);
            o->delay[at] = delay <= -TOO_NEGATIVE * o->rules.unit ? 0 : delay;
        }
    }
}

static rs_status find_times(maker *m, rs_error *err)
{
    RS_SCOPED(rs_ops_graph_clear) rs_ops_graph graph = {0};
    rs_status status = RS_OK;
    for (size_t step = 0; status == RS_OK && step < m->ops->n_steps; step++) {
        status = rs_ops_graph_make(m->ops, step, &graph, err);
        if (status != RS_OK) {
            status = rs_error_wrap(err, "%s: step %lld", m->file, (long long)m->ops->steps[step]);
            break;
        }
        for (size_t u = 0; u < graph.n_units; u++)
            time_unit(m, step, graph.member + graph.first[u], graph.first[u + 1] - graph.first[u]);
        find_delays(m, step);
    }
    return status;
}

/* ---- the selection -------------------------------------------------------------------------------------- */

static void move_step(rs_ops *o, size_t to, size_t from)
{
    size_t n = o->n_dp * o->n_names;
    double *const arrays[] = {o->start, o->duration, o->time, o->delay};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        memmove(arrays[i] + to * n, arrays[i] + from * n, n * sizeof(double));
    memmove(o->mb + to * n, o->mb + from * n, n * sizeof *o->mb);
    memmove(o->mc + to * n, o->mc + from * n, n * sizeof *o->mc);
    memmove(o->order + to * o->n_dp, o->order + from * o->n_dp, o->n_dp * sizeof *o->order);
    o->steps[to] = o->steps[from];
}

static rs_status select_steps(maker *m, const rs_ranges *steps, rs_error *err)
{
    rs_ops *o = m->ops;
    size_t kept = 0;
    int64_t first = o->steps[0], last = o->steps[o->n_steps - 1];
    for (size_t step = 0; step < o->n_steps; step++) {
        if (steps && !rs_ranges_has(steps, o->steps[step])) continue;
        if (kept != step) move_step(o, kept, step);
        kept++;
    }
    o->n_steps = kept;
    o->n_instances = kept * o->n_dp * o->n_names;
    if (kept == 0)
        return rs_fail(err, RS_ERR_USAGE,
                       "--steps selects nothing: the complete steps of %s are %lld to %lld", m->file,
                       (long long)first, (long long)last);
    for (size_t i = 0; i < kept * o->n_dp; i++) o->n_other_orders += o->order[i] != 0;
    return RS_OK;
}

static rs_status make(maker *m, const rs_ranges *steps, rs_error *err)
{
    RS_TRY(list_numbers(m, err));
    RS_TRY(find_names(m, err));
    RS_TRY(make_room(m, err));
    place_rows(m);
    RS_TRY(find_orders(m, err));
    RS_TRY(find_times(m, err));
    return select_steps(m, steps, err);
}

rs_status rs_ops_make(const rs_op_table *table, const char *file, const rs_ranges *steps,
                      const rs_ops_rules *rules, rs_ops *out, rs_problems *problems, rs_error *err)
{
    *out = (rs_ops){.rules = *rules, .dsp = table->dsp};
    if (table->n == 0) return rs_fail_at(err, RS_ERR_FORMAT, file, RS_NO_OFFSET, "holds no operation");
    maker m = {.table = table, .file = file, .ops = out, .problems = problems};
    rs_status status = make(&m, steps, err);
    rs_free_all(m.end, m.sorted, m.steps, m.broken);
    return status;
}
