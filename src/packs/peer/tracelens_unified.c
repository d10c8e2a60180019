/* unified_perf_summary: operators with a model and those that launch work themselves, each piece of work under
 * one of them, by operator and arguments. */
#include <math.h>
#include <string.h>

#include "peer/tracelens_calls.h"
#include "trace/categories.h"
#include "trace/graft.h"

/* A row before grouping. */
typedef struct unified {
    rs_tl_operator op;
    uint32_t id;     /* ex_UID */
    uint32_t node;   /* whose arguments, process and duration it has */
    uint32_t answer; /* RS_TL_NO_ANSWER: none */
    bool has_model;
    double time; /* us */
} unified;

typedef struct gathering {
    rs_tl_knowledge *k;
    rs_tl_rank *r;
    rs_tl_call_list calls; /* kernels of each row; item i belongs to rows[i] */
    unified *rows;
    size_t capacity;
    uint32_t *models_before; /* by node: operators with a model and work before it; one more at the end */
    bool *covered;           /* by place in gpu_row */
} gathering;

/* ---- which operators ----------------------------------------------------------------------------------- */

static bool is_op(const rs_tl_rank *r, uint32_t node)
{
    return rs_event_kind(r->e, r->tree->row[node]) == RS_KIND_CPU_OP;
}

static bool is_call_node(const rs_tl_rank *r, uint32_t node)
{
    return rs_kind_is_call(rs_event_kind(r->e, r->tree->row[node]));
}

/* The nearest operator or call above: annotations and modules are no part of TraceLens' tree. */
static uint32_t parent_of(const rs_tl_rank *r, uint32_t node)
{
    uint32_t at = r->tree->parent[node];
    while (at != RS_NO_NODE && !is_op(r, at) && !is_call_node(r, at)) at = r->tree->parent[at];
    return at;
}

static bool count_models(gathering *g)
{
    const rs_tree *t = g->r->tree;
    g->models_before = rs_calloc(t->n + 2, sizeof *g->models_before);
    for (size_t i = 0; g->models_before && i < t->n; i++)
        g->models_before[i + 1] =
            g->models_before[i] + (is_op(g->r, (uint32_t)i) && rs_tl_n_below(g->r, (uint32_t)i) &&
                                   rs_tl_model_of(g->k, (uint32_t)i));
    return g->models_before != NULL;
}

static bool has_modelled_below(const gathering *g, uint32_t node)
{
    return g->models_before[g->r->tree->end[node]] != g->models_before[node + 1];
}

static bool communicates(const rs_tl_rank *r, uint32_t node)
{
    const rs_tree *t = r->tree;
    for (size_t i = t->gpu_first[node]; i < t->gpu_first[t->end[node]]; i++)
        if (rs_tl_is_linked(r, i) && rs_tl_is_comm(r, t->gpu_row[i])) return true;
    return false;
}

/* A call of the runtime right below it launches work. Calls of the driver do not count. */
static bool is_leaf(const rs_tl_rank *r, uint32_t node)
{
    const rs_tree *t = r->tree;
    for (uint32_t at = node + 1; at < t->end[node];) {
        bool call = is_call_node(r, at);
        if (call && rs_event_kind(r->e, t->row[at]) == RS_KIND_RUNTIME && rs_tl_n_below(r, at)) return true;
        at = call || is_op(r, at) ? t->end[at] : at + 1;
    }
    return false;
}

/* ---- operators of the backward pass -------------------------------------------------------------------- */

/* Operators of that name with work below the node, as far as two; reached through operators only. */
static size_t count_named(const gathering *g, uint32_t node, const char *name)
{
    const rs_tree *t = g->r->tree;
    size_t n = 0;
    for (uint32_t at = node + 1; at < t->end[node] && n < 2;) {
        bool op = is_op(g->r, at);
        if (op && rs_tl_n_below(g->r, at) && strcmp(rs_tl_name(g->r, at), name) == 0) n++;
        at = op || !is_call_node(g->r, at) ? at + 1 : t->end[at];
    }
    return n;
}

/* The operator of the forward pass whose model says what this one does: it is the only one of its wrapper's name,
 * at most five levels below a wrapper that is linked to it. RS_NO_NODE: there is none. */
static bool find_forward(gathering *g, uint32_t node, uint32_t *forward, uint32_t *answer)
{
    uint32_t at = node, found = RS_NO_NODE;
    *forward = RS_NO_NODE;
    for (int level = 0; level < 5 && found == RS_NO_NODE; level++) {
        at = parent_of(g->r, at);
        if (at == RS_NO_NODE) return true;
        found = rs_tl_forward_of(g->k, at);
    }
    if (found == RS_NO_NODE || !rs_tl_model_of(g->k, found)) return true;
    const char *colon = strstr(rs_tl_name(g->r, at), ": ");
    if (!colon || strcmp(rs_tl_name(g->r, node), colon + 2) != 0 || count_named(g, at, colon + 2) != 1)
        return true;
    if (!rs_tl_knowledge_ask(g->k, found, true, NULL, 0, answer)) return false;
    if (g->k->items[*answer].outcome == RS_TL_ANSWERED) *forward = found;
    return true;
}

/* ---- gathering ----------------------------------------------------------------------------------------- */

/* Adds the row with its kernels, which are those of the list from `first` on. */
static bool add_row(gathering *g, const unified *row, uint32_t first)
{
    rs_tl_measured call = {
        .row = g->r->tree->row[row->node], .first = first, .n = (uint32_t)(g->calls.n_work - first)};
    if (!rs_grow((void **)&g->rows, &g->capacity, g->calls.n + 1, sizeof *g->rows)) return false;
    g->rows[g->calls.n] = *row;
    return rs_tl_add_call(&g->calls, &call);
}

/* Time of the work of the backward pass that belongs to a forward operator. */
static bool backward_time(gathering *g, uint32_t forward, double *us)
{
    RS_SCOPED(rs_tl_call_list_clear) rs_tl_call_list list = {.rank = g->r};
    size_t first, end;
    bool ok = true;
    rs_tl_backward_of(g->k, forward, &first, &end);
    for (size_t i = first; ok && i < end; i++) ok = rs_tl_take_work(&list, g->k->backward[i].value);
    return ok && rs_tl_union(g->r, list.work, list.n_work, us);
}

/* A collected operator. forward: the one whose backward model applies; RS_NO_NODE: its own, if it has one. */
static bool collect(gathering *g, uint32_t node, uint32_t forward, uint32_t answer)
{
    const rs_tree *t = g->r->tree;
    const char *name = rs_tl_name(g->r, node);
    uint32_t first = (uint32_t)g->calls.n_work, launcher = g->r->launcher_of[node];
    bool ok = rs_tl_take_work(&g->calls, node);
    const uint32_t *work = g->calls.work ? g->calls.work + first : NULL;
    size_t n = g->calls.n_work - first;
    unified row = {.id = t->row[node], .node = node, .answer = answer, .has_model = forward != RS_NO_NODE};
    if (ok && forward == RS_NO_NODE) {
        ok = rs_tl_knowledge_ask(g->k, node, false, work, n, &row.answer);
        row.has_model = row.answer != RS_TL_NO_ANSWER;
    }
    for (size_t i = t->gpu_first[node]; i < t->gpu_first[t->end[node]]; i++) g->covered[i] = true;
    if (ok && row.has_model && g->k->items[row.answer].outcome == RS_TL_UNDEFINED) {
        g->calls.n_work = first; /* the row is lost, and its kernels with it */
        return true;
    }
    if (ok && row.has_model && g->k->items[row.answer].outcome == RS_TL_FAILED) row.answer = RS_TL_NO_ANSWER;
    ok = ok &&
         (forward == RS_NO_NODE ? rs_tl_union(g->r, work, n, &row.time)
                                : backward_time(g, forward, &row.time)) &&
         rs_tl_operator_read(g->r, node, &row.op);
    const char *category = rs_op_category(name, n ? rs_event_name(g->r->e, work[0]) : NULL);
    row.op.category = launcher ? g->r->launchers[launcher - 1].op.category
                               : rs_tl_text_id(g->r, category, strlen(category), &ok);
    return ok && add_row(g, &row, first);
}

static bool traverse(gathering *g)
{
    const rs_tree *t = g->r->tree;
    bool ok = true;
    for (uint32_t node = 0; ok && node < t->n;) {
        uint32_t next = t->end[node], forward = RS_NO_NODE, answer = RS_TL_NO_ANSWER;
        if (!is_op(g->r, node)) {
            node = is_call_node(g->r, node) ? next : node + 1;
            continue;
        }
        if (rs_tl_n_below(g->r, node) == 0) {
            node = next;
            continue;
        }
        bool own = rs_tl_model_of(g->k, node) != NULL, below = has_modelled_below(g, node);
        if (!own && !below) ok = find_forward(g, node, &forward, &answer);
        if (own || forward != RS_NO_NODE) {
            ok = ok && collect(g, node, forward, answer);
        } else if (below || !is_leaf(g->r, node)) {
            next = node + 1;
        } else if (!communicates(g->r, node)) { /* else what is no communication is left uncovered */
            ok = ok && collect(g, node, RS_NO_NODE, RS_TL_NO_ANSWER);
        }
        node = next;
    }
    return ok;
}

/* Work that no collected operator covers becomes an operator of its own. */
static bool add_synthetic(gathering *g, size_t at, uint32_t id, rs_text *name)
{
    rs_tl_rank *r = g->r;
    uint32_t row = r->tree->gpu_row[at], op = rs_tl_operator_of(r, r->call[at]);
    unified u = {.id = id, .node = op == RS_NO_NODE ? r->call[at] : op, .answer = RS_TL_NO_ANSWER};
    uint32_t first = (uint32_t)g->calls.n_work;
    const char *kernel = rs_event_name(r->e, row);
    name->n = 0;
    rs_text_put(name, rs_tl_name(r, u.node));
    rs_text_put(name, "->");
    rs_text_put(name, kernel);
    rs_text_put(name, " (Synthetic Op)");
    bool ok = !name->failed && RS_PUSH(g->calls.work, g->calls.n_work, g->calls.work_capacity, row) &&
              rs_tl_union(r, &row, 1, &u.time) && rs_tl_operator_read(r, u.node, &u.op);
    if (!ok) return false;
    const char *category = rs_op_category(name->s, kernel);
    u.op.name = rs_tl_text_id(r, name->s, name->n, &ok);
    u.op.category = rs_tl_text_id(r, category, strlen(category), &ok);
    return ok && add_row(g, &u, first);
}

static bool add_uncovered(gathering *g)
{
    const rs_tree *t = g->r->tree;
    RS_LOCAL rs_keyed *left = rs_malloc((t->n_gpu + 1) * sizeof *left);
    size_t n = 0;
    RS_SCOPED(rs_text_clear) rs_text name = {0};
    for (size_t i = 0; left && i < t->n_gpu; i++)
        if (rs_tl_is_linked(g->r, i) && !g->covered[i] && !rs_tl_is_comm(g->r, t->gpu_row[i]))
            left[n++] = (rs_keyed){t->gpu_row[i], (uint32_t)i};
    bool ok = left && rs_keyed_sort(left, n);
    for (size_t i = 0; ok && i < n; i++)
        ok = add_synthetic(g, left[i].value, (uint32_t)(g->r->e->n + i), &name);
    return ok;
}

/* ---- the sheet ----------------------------------------------------------------------------------------- */

static const rs_tl_known *known_of(const gathering *g, const unified *u)
{
    return u->answer == RS_TL_NO_ANSWER ? NULL : &g->k->items[u->answer];
}

/* A row with its numbers. */
typedef struct seen {
    unified u;
    uint32_t spec;
    double host; /* us */
    rs_tl_metrics m;
} seen;

static void see(const rs_tl_items *all, const void *item, void *out)
{
    static const rs_tl_known none = {.answer = {.flops = (double)NAN, .bytes = (double)NAN},
                                     .spec = RS_NO_STRING};
    const gathering *g = all->context;
    const unified *u = item;
    const rs_tl_known *known = known_of(g, u);
    uint32_t row = g->r->tree->row[u->node];
    /* TraceLens gives operators of a replayed graph the time of the call that replayed it */
    if (rs_is_grafted(g->r->e, row)) row = rs_graft_launch(g->r->e, row);
    if (!known) known = &none;
    *(seen *)out = (seen){.u = *u,
                          .spec = known->spec,
                          .host = (double)g->r->e->duration[row] / 1000,
                          .m = rs_tl_metrics_of(g->r, &known->answer, u->time)};
}

/* The parameters of the first row that has an answer. */
static bool put_params(const rs_tl_lot *lot, rs_table *t)
{
    const gathering *g = lot->all->context;
    const rs_tl_known *known = NULL;
    for (size_t i = 0; i < lot->n && !known; i++) known = known_of(g, &g->rows[lot->items[i]]);
    const rs_tl_answer *a = known ? &known->answer : NULL;
    if (!a || a->n_params == 0) {
        rs_table_add_null(t);
        return true;
    }
    for (size_t i = 0; i < a->n_params; i++) {
        rs_text_put(lot->text, i ? ", " : "{");
        rs_python_put_string(lot->text, a->params[i].name, strlen(a->params[i].name));
        rs_text_put(lot->text, ": ");
        rs_tl_put_param(&a->params[i], true, lot->text);
    }
    rs_text_put(lot->text, "}");
    return rs_tl_add_python(t, lot->text);
}

static bool put_kernels(const rs_tl_lot *lot, rs_table *t)
{
    return rs_tl_add_kernel_cells(&((const gathering *)lot->all->context)->calls, lot, t);
}

#define OVER(how, member, name, unit, help, ...)                                                             \
    RS_TL_COLUMN(how, seen, member, name, REAL, unit, help, __VA_ARGS__)
#define SPREAD(member, name, unit, help)                                                                     \
    OVER(MEDIAN, member, name "_median", unit, help), OVER(MIN, member, name "_min", unit, help),            \
        OVER(MAX, member, name "_max", unit, help)

static const rs_tl_column columns[] = {
    RS_TL_OPERATOR_COLUMNS(seen, u.op,
                           "operator; parent->kernel (Synthetic Op) where none launched the kernel"),
    RS_TL_COLUMN(FIRST, seen, u.id, "ex_UID", INT, ID, "position in traceEvents of the first call"),
    RS_TL_GROUP(COUNT, "operation_count", INT, COUNT, "calls"),
    OVER(SUM, host, "total_duration_us", US, "on the host"),
    OVER(MEAN, host, "mean_duration_us", US, "on the host"),
    OVER(STD, host, "std_duration_us", US, "on the host"),
    OVER(HAD, m.gflops, "GFLOPS", NONE, "1e9 FLOPs of a call"),
    OVER(HAD, m.megabytes, "Data Moved (MB)", NONE, "of a call, in units of 2^20 bytes"),
    OVER(HAD, m.intensity, "FLOPS/Byte", NONE, "of a call"),
    RS_TL_COLUMN(HAD, seen, spec, "Compute Spec", TEXT, NONE, "units and precision that the work needs"),
    RS_TL_COLUMN(HAD, seen, m.bound, "Roofline Bound", TEXT, NONE, "COMPUTE_BOUND or MEMORY_BOUND",
                 .when = RS_TL_ROOFLINE),
    OVER(MEAN, m.tb_per_s, "TB/s_mean", NONE, "over the calls"),
    OVER(STD, m.tb_per_s, "TB/s_std", NONE, "over the calls"),
    OVER(MEAN, m.tflops_per_s, "TFLOPS/s_mean", NONE, "over the calls"),
    OVER(STD, m.tflops_per_s, "TFLOPS/s_std", NONE, "over the calls"),
    OVER(MEAN, m.time, "Kernel Time (µs)_mean", US, "over the calls"),
    OVER(STD, m.time, "Kernel Time (µs)_std", US, "over the calls"),
    OVER(SUM, m.time, "Kernel Time (µs)_sum", US, "over the calls"),
    SPREAD(host, "duration_us", US, "on the host"),
    SPREAD(m.tb_per_s, "TB/s", NONE, "over the calls"),
    SPREAD(m.tflops_per_s, "TFLOPS/s", NONE, "over the calls"),
    OVER(HAD, m.bound_us, "Roofline Time (µs)_first", US, "what the device would need at best",
         .when = RS_TL_ROOFLINE),
    RS_TL_FIVE(seen, m.pct, "Pct Roofline", PERCENT, "over the calls", .when = RS_TL_ROOFLINE),
    SPREAD(m.time, "Kernel Time (µs)", US, "over the calls"),
    RS_TL_CELL(put_kernels, "kernel_details_summary", TEXT, NONE, "kernels, as a Python list"),
    RS_TL_GROUP(PUT_BEFORE, "trunc_kernel_details", TEXT, NONE, "the same with names cut"),
    RS_TL_CELL(put_params, "perf_params", TEXT, NONE, "parameters of the model, as a Python dict"),
    RS_TL_COLUMN(FIRST, seen, u.has_model, "has_perf_model", TEXT, NONE, "True or False"),
    RS_TL_GROUP(PERCENT, "Percentage (%)", REAL, PERCENT, "of the sheet"),
    RS_TL_GROUP(CUMULATIVE, "Cumulative Percentage (%)", REAL, PERCENT, "this row and those above"),
};
static const rs_tl_sheet sheet = RS_TL_SHEET(
    "unified_perf_summary", "one row is one operator with one set of arguments", columns, unified,
    .by = RS_TL_BY(unified, time), .then = RS_TL_BY(unified, id), .seen = sizeof(seen), .see = see);

rs_status rs_tl_add_unified(rs_tl_knowledge *k, rs_sheets *out, rs_error *err)
{
    gathering g = {.k = k, .r = k->rank, .calls = {.rank = k->rank}};
    g.covered = rs_calloc(k->rank->tree->n_gpu + 1, sizeof *g.covered);
    bool ok = g.covered && count_models(&g) && traverse(&g) && add_uncovered(&g);
    rs_tl_items items = rs_tl_items_of(k->rank, g.rows, g.calls.n, &g);
    for (size_t i = 0; ok && i < items.n; i++)
        if (rs_tl_has_roofline(k, g.rows[i].answer)) items.has |= RS_TL_ROOFLINE;
    rs_status status = ok ? rs_tl_add_sheet(&sheet, &items, out, err) : rs_fail_nomem(err, "operators");
    rs_tl_call_list_clear(&g.calls);
    rs_free_all(g.rows, g.models_before, g.covered);
    return status;
}
