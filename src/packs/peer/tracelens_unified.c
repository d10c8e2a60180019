/* unified_perf_summary: operators with a model and those that launch work themselves, each piece of work under
 * one of them, by operator and arguments. */
#include <math.h>
#include <string.h>

#include "peer/tracelens_calls.h"
#include "trace/categories.h"
#include "trace/graft.h"

/* A row before grouping. */
typedef struct unified {
    uint32_t id;             /* ex_UID */
    uint32_t name, category; /* in the rank's pool */
    uint32_t row;            /* whose arguments, process and duration it has */
    uint32_t node;           /* of that row */
    uint32_t answer;         /* RS_TL_NO_ANSWER: none */
    bool has_model;
    double time; /* us; NaN: unknown */
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

static uint32_t pool_text(gathering *g, const char *text, size_t n, bool *ok)
{
    uint32_t id = rs_strings_add(&g->r->pool.strings, text, n);
    if (id == RS_NO_STRING) *ok = false;
    return id;
}

static bool add_row(gathering *g, const unified *row, uint32_t first)
{
    rs_tl_measured call = {.row = row->row, .first = first, .n = (uint32_t)(g->calls.n_work - first)};
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
    unified row = {.id = t->row[node],
                   .row = t->row[node],
                   .node = node,
                   .answer = answer,
                   .has_model = forward != RS_NO_NODE};
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
    ok = ok && (forward == RS_NO_NODE ? rs_tl_union(g->r, work, n, &row.time)
                                      : backward_time(g, forward, &row.time));
    const char *category = launcher ? g->r->launchers[launcher - 1].category
                                    : rs_op_category(name, n ? rs_event_name(g->r->e, work[0]) : NULL);
    row.name = pool_text(g, name, strlen(name), &ok);
    row.category = pool_text(g, category, strlen(category), &ok);
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
static bool add_synthetic(gathering *g, size_t at, uint32_t id, rs_python_text *name)
{
    const rs_tl_rank *r = g->r;
    uint32_t row = r->tree->gpu_row[at], op = rs_tl_operator_of(r, r->call[at]);
    uint32_t node = op == RS_NO_NODE ? r->call[at] : op;
    uint32_t parent = r->tree->row[node], first = (uint32_t)g->calls.n_work;
    const char *kernel = rs_event_name(r->e, row);
    name->n = 0;
    rs_python_put_text(name, rs_event_name(r->e, parent));
    rs_python_put_text(name, "->");
    rs_python_put_text(name, kernel);
    rs_python_put_text(name, " (Synthetic Op)");
    bool ok = !name->failed && RS_GROW_ONE(g->calls.work, g->calls.n_work, g->calls.work_capacity);
    if (!ok) return false;
    g->calls.work[g->calls.n_work++] = row;
    unified u = {.id = id, .row = parent, .node = node, .answer = RS_TL_NO_ANSWER};
    ok = rs_tl_union(r, &row, 1, &u.time);
    u.name = pool_text(g, name->text, name->n, &ok);
    rs_python_put(name, "", 1); /* a terminator */
    const char *category = ok && !name->failed ? rs_op_category(name->text, kernel) : "other";
    u.category = pool_text(g, category, strlen(category), &ok);
    return ok && add_row(g, &u, first);
}

static bool add_uncovered(gathering *g)
{
    const rs_tree *t = g->r->tree;
    RS_LOCAL rs_keyed *left = rs_malloc((t->n_gpu + 1) * sizeof *left);
    size_t n = 0;
    RS_SCOPED(rs_python_clear) rs_python_text name = {0};
    for (size_t i = 0; left && i < t->n_gpu; i++)
        if (rs_tl_is_linked(g->r, i) && !g->covered[i] && !rs_tl_is_comm(g->r, t->gpu_row[i]))
            left[n++] = (rs_keyed){t->gpu_row[i], (uint32_t)i};
    bool ok = left && rs_keyed_sort(left, n);
    for (size_t i = 0; ok && i < n; i++)
        ok = add_synthetic(g, left[i].value, (uint32_t)(g->r->e->n + i), &name);
    return ok;
}

/* ---- the sheet ----------------------------------------------------------------------------------------- */

#define TEXT(name, help)                                                                                     \
    {                                                                                                        \
        name, RS_TEXT, RS_UNIT_NONE, help, NULL                                                              \
    }
#define REAL(name, unit, help)                                                                               \
    {                                                                                                        \
        name, RS_REAL, RS_UNIT_##unit, help, NULL                                                            \
    }

/* Those of the roofline are left out where there is none: they stand from ROOF on, and one before. */
static const rs_column_spec all_columns[] = {
    TEXT("name", "operator; parent->kernel (Synthetic Op) where none launched the kernel"),
    TEXT("op category", "its kind"),
    TEXT("process_name", "as the file names the process"),
    TEXT("process_label", "as the file labels it"),
    TEXT("thread_name", "as the file names the thread"),
    TEXT("Input Dims", "shapes of the inputs"),
    TEXT("Input type", "types of the inputs"),
    TEXT("Input Strides", "strides of the inputs"),
    TEXT("Concrete Inputs", "values of scalar inputs"),
    {"ex_UID", RS_INT, RS_UNIT_ID, "position in traceEvents of the first call", NULL},
    {"operation_count", RS_INT, RS_UNIT_COUNT, "calls", NULL},
    REAL("total_duration_us", US, "on the host"),
    REAL("mean_duration_us", US, "on the host"),
    REAL("std_duration_us", US, "on the host"),
    REAL("GFLOPS", NONE, "1e9 FLOPs of a call"),
    REAL("Data Moved (MB)", NONE, "of a call, in units of 2^20 bytes"),
    REAL("FLOPS/Byte", NONE, "of a call"),
    TEXT("Compute Spec", "units and precision that the work needs"),
    TEXT("Roofline Bound", "COMPUTE_BOUND or MEMORY_BOUND"),
    REAL("TB/s_mean", NONE, "over the calls"),
    REAL("TB/s_std", NONE, "over the calls"),
    REAL("TFLOPS/s_mean", NONE, "over the calls"),
    REAL("TFLOPS/s_std", NONE, "over the calls"),
    REAL("Kernel Time (µs)_mean", US, "over the calls"),
    REAL("Kernel Time (µs)_std", US, "over the calls"),
    REAL("Kernel Time (µs)_sum", US, "over the calls"),
    REAL("duration_us_median", US, "on the host"),
    REAL("duration_us_min", US, "on the host"),
    REAL("duration_us_max", US, "on the host"),
    REAL("TB/s_median", NONE, "over the calls"),
    REAL("TB/s_min", NONE, "over the calls"),
    REAL("TB/s_max", NONE, "over the calls"),
    REAL("TFLOPS/s_median", NONE, "over the calls"),
    REAL("TFLOPS/s_min", NONE, "over the calls"),
    REAL("TFLOPS/s_max", NONE, "over the calls"),
    REAL("Roofline Time (µs)_first", US, "what the device would need at best"),
    REAL("Pct Roofline_mean", PERCENT, "over the calls"),
    REAL("Pct Roofline_median", PERCENT, "over the calls"),
    REAL("Pct Roofline_std", PERCENT, "over the calls"),
    REAL("Pct Roofline_min", PERCENT, "over the calls"),
    REAL("Pct Roofline_max", PERCENT, "over the calls"),
    REAL("Kernel Time (µs)_median", US, "over the calls"),
    REAL("Kernel Time (µs)_min", US, "over the calls"),
    REAL("Kernel Time (µs)_max", US, "over the calls"),
    TEXT("kernel_details_summary", "kernels, as a Python list"),
    TEXT("trunc_kernel_details", "the same with names cut"),
    TEXT("perf_params", "parameters of the model, as a Python dict"),
    TEXT("has_perf_model", "True or False"),
    REAL("Percentage (%)", PERCENT, "of the sheet"),
    REAL("Cumulative Percentage (%)", PERCENT, "this row and those above"),
};
enum { N_ALL = sizeof all_columns / sizeof *all_columns };

static bool is_of_roofline(const rs_column_spec *c)
{
    return strstr(c->name, "Roofline") != NULL;
}

/* One group of rows. */
typedef struct lot {
    const gathering *g;
    const uint32_t *items;
    size_t n;
    rs_tl_metrics *metrics; /* of the rows */
    double *values;         /* scratch */
    bool roofline;
    rs_python_text *text; /* scratch */
} lot;

static rs_tl_stats stats_over(const lot *l, size_t offset)
{
    for (size_t i = 0; i < l->n; i++)
        memcpy(&l->values[i], (const char *)&l->metrics[i] + offset, sizeof *l->values);
    return rs_tl_stats_of(l->values, l->n);
}
#define STATS(l, member) stats_over((l), offsetof(rs_tl_metrics, member))

static const rs_tl_answer *answer_of(const gathering *g, size_t i)
{
    return g->rows[i].answer == RS_TL_NO_ANSWER ? NULL : &g->k->items[g->rows[i].answer].answer;
}

/* The first row of the lot that has an answer; its metrics in *at. */
static const rs_tl_answer *first_answer(const lot *l, size_t *at)
{
    for (*at = 0; *at < l->n; (*at)++)
        if (answer_of(l->g, l->items[*at])) return answer_of(l->g, l->items[*at]);
    *at = 0;
    return NULL;
}

static bool add_params(const lot *l, const rs_tl_answer *a, rs_table *t)
{
    if (!a || a->n_params == 0) {
        rs_table_add_null(t);
        return true;
    }
    for (size_t i = 0; i < a->n_params; i++) {
        rs_python_put_text(l->text, i ? ", " : "{");
        rs_python_put_string(l->text, a->params[i].name, strlen(a->params[i].name));
        rs_python_put_text(l->text, ": ");
        rs_tl_put_param(&a->params[i], true, l->text);
    }
    rs_python_put_text(l->text, "}");
    return rs_tl_add_python(t, l->text);
}

static bool add_head(const lot *l, rs_table *t)
{
    rs_tl_rank *r = l->g->r;
    const unified *u = &l->g->rows[l->items[0]];
    bool ok = true;
    rs_table_add_text(t, rs_pool_text(&r->pool, u->name));
    rs_table_add_text(t, rs_pool_text(&r->pool, u->category));
    rs_table_add_text(t, rs_tl_process(r, u->row));
    rs_table_add_text(t, rs_tl_label(r, u->row));
    rs_table_add_text(t, rs_tl_thread(r, u->row));
    rs_table_add_text(t, rs_tl_tuple(r, RS_COL_INPUT_DIMS, u->row, &ok));
    rs_table_add_text(t, rs_tl_tuple(r, RS_COL_INPUT_TYPE, u->row, &ok));
    rs_table_add_text(t, rs_tl_tuple(r, RS_COL_INPUT_STRIDES, u->row, &ok));
    rs_table_add_text(t, rs_tl_tuple(r, RS_COL_CONCRETE_INPUTS, u->row, &ok));
    rs_tl_add_recompute(r, u->node, t);
    rs_table_add_int(t, u->id);
    rs_table_add_int(t, (int64_t)l->n);
    return ok;
}

static void add_spread(rs_table *t, const rs_tl_stats *s)
{
    rs_table_add_real(t, s->median);
    rs_table_add_real(t, s->min);
    rs_table_add_real(t, s->max);
}

static void add_numbers(const lot *l, const rs_tl_answer *a, size_t at, rs_table *t)
{
    const rs_tl_metrics *m = &l->metrics[at];
    for (size_t i = 0; i < l->n; i++) {
        const rs_events *e = l->g->r->e;
        uint32_t row = l->g->rows[l->items[i]].row;
        /* TraceLens gives operators of a replayed graph the time of the call that replayed it */
        l->values[i] = (double)e->duration[rs_is_grafted(e, row) ? rs_graft_launch(e, row) : row] / 1000;
    }
    rs_tl_stats host = rs_tl_stats_of(l->values, l->n), bytes = STATS(l, tb_per_s),
                flops = STATS(l, tflops_per_s);
    for (size_t i = 0; i < l->n; i++) l->values[i] = l->g->rows[l->items[i]].time;
    rs_tl_stats time = rs_tl_stats_of(l->values, l->n), pct = STATS(l, pct);
    rs_table_add_real(t, host.sum);
    rs_table_add_real(t, host.mean);
    rs_table_add_real(t, host.std);
    rs_table_add_real(t, m->gflops);
    rs_table_add_real(t, m->megabytes);
    rs_table_add_real(t, m->intensity);
    rs_tl_add_spec(t, a);
    bool bound = !isnan(m->bound_us);
    if (l->roofline)
        rs_table_add_text(t, !bound ? NULL : m->compute_bound ? "COMPUTE_BOUND" : "MEMORY_BOUND");
    rs_table_add_real(t, bytes.mean);
    rs_table_add_real(t, bytes.std);
    rs_table_add_real(t, flops.mean);
    rs_table_add_real(t, flops.std);
    rs_table_add_real(t, time.mean);
    rs_table_add_real(t, time.std);
    rs_table_add_real(t, time.sum);
    add_spread(t, &host);
    add_spread(t, &bytes);
    add_spread(t, &flops);
    if (l->roofline) {
        rs_table_add_real(t, m->bound_us);
        rs_tl_add_five(t, &pct);
    }
    add_spread(t, &time);
}

static bool add_lot(const lot *l, double sum, double total, double *cumulative, rs_table *t)
{
    size_t at;
    const rs_tl_answer *a = first_answer(l, &at);
    if (!add_head(l, t)) return false;
    add_numbers(l, a, at, t);
    if (!rs_tl_add_kernel_cells(&l->g->calls, l->items, l->n, l->text, t) || !add_params(l, a, t))
        return false;
    rs_table_add_text(t, l->g->rows[l->items[0]].has_model ? "True" : "False");
    *cumulative += sum / total * 100;
    rs_table_add_real(t, sum / total * 100);
    rs_table_add_real(t, *cumulative);
    return true;
}

static rs_tl_metrics metrics_of(const gathering *g, size_t i)
{
    const rs_tl_answer *a = answer_of(g, i);
    const rs_tl_answer none = {.flops = (double)NAN, .bytes = (double)NAN};
    return rs_tl_metrics_of(g->r, a ? a : &none, g->rows[i].time);
}

typedef struct unified_key {
    uint32_t name, category, process, label, thread, dims, types, strides, concrete, recompute;
} unified_key;

static bool key_of(gathering *g, const unified *u, unified_key *key)
{
    rs_tl_rank *r = g->r;
    uint32_t thread = r->e->thread[u->row];
    const rs_column_id columns[] = {RS_COL_INPUT_DIMS, RS_COL_INPUT_TYPE, RS_COL_INPUT_STRIDES,
                                    RS_COL_CONCRETE_INPUTS};
    uint32_t ids[4];
    bool ok = true;
    for (size_t i = 0; i < 4; i++)
        ids[i] = rs_pool_add_tuple(&r->pool, r->e, rs_events_text(r->e, columns[i], u->row), &ok);
    *key = (unified_key){u->name,
                         u->category,
                         r->process[thread],
                         r->label[thread],
                         r->thread[thread],
                         ids[0],
                         ids[1],
                         ids[2],
                         ids[3],
                         rs_tl_is_recompute(r, u->node)};
    return ok;
}

static bool order_groups(gathering *g, rs_tl_groups *groups, double **sums, uint32_t **order)
{
    size_t n = g->calls.n;
    RS_LOCAL unified_key *keys = rs_malloc((n + 1) * sizeof *keys);
    bool ok = keys != NULL;
    for (size_t i = 0; ok && i < n; i++) ok = key_of(g, &g->rows[i], &keys[i]);
    ok = ok && rs_tl_group(keys, sizeof *keys, NULL, n, groups);
    *sums = ok ? rs_calloc(groups->n + 1, sizeof **sums) : NULL;
    RS_LOCAL uint32_t *ids = ok ? rs_malloc((groups->n + 1) * sizeof *ids) : NULL;
    ok = *sums && ids;
    for (size_t k = 0; ok && k < groups->n; k++) {
        for (size_t i = groups->first[k]; i < groups->first[k + 1]; i++)
            (*sums)[k] += g->rows[groups->item[i]].time;
        ids[k] = g->rows[groups->item[groups->first[k]]].id;
    }
    return ok && rs_tl_order(*sums, ids, groups->n, order);
}

static rs_status add_rows(gathering *g, const rs_tl_groups *groups, const double *sums, const uint32_t *order,
                          bool roofline, rs_table *t, rs_error *err)
{
    RS_SCOPED(rs_python_clear) rs_python_text text = {0};
    double total = 0, cumulative = 0;
    rs_status status = RS_OK;
    for (size_t i = 0; i < groups->n; i++) total += sums[order[i]];
    for (size_t i = 0; status == RS_OK && i < groups->n; i++) {
        uint32_t k = order[i], first = groups->first[k], n = groups->first[k + 1] - first;
        lot l = {g,
                 groups->item + first,
                 n,
                 rs_malloc((n + 1) * sizeof *l.metrics),
                 rs_malloc((n + 1) * sizeof *l.values),
                 roofline,
                 &text};
        bool ok = l.metrics && l.values;
        for (size_t m = 0; ok && m < n; m++) l.metrics[m] = metrics_of(g, l.items[m]);
        ok = ok && add_lot(&l, sums[k], total, &cumulative, t);
        rs_free_all(l.metrics, l.values);
        status = ok ? rs_table_end_row(t, err) : rs_fail_nomem(err, "a row");
    }
    return status;
}

static rs_status add_sheet(gathering *g, rs_sheets *out, rs_error *err)
{
    rs_column_spec columns[N_ALL];
    RS_SCOPED(rs_tl_groups_clear) rs_tl_groups groups = {0};
    RS_LOCAL double *sums = NULL;
    RS_LOCAL uint32_t *order = NULL;
    bool roofline = false;
    size_t n = 0;
    for (size_t i = 0; !roofline && i < g->calls.n; i++) roofline = !isnan(metrics_of(g, i).bound_us);
    for (size_t i = 0; i < N_ALL; i++)
        if (roofline || !is_of_roofline(&all_columns[i])) columns[n++] = all_columns[i];
    const rs_table_spec spec = {"unified_perf_summary", "one row is one operator with one set of arguments",
                                columns, n};
    rs_table *t = rs_tl_create_sheet(g->r, &spec, 9);
    bool ok = t && order_groups(g, &groups, &sums, &order);
    rs_status status =
        ok ? add_rows(g, &groups, sums, order, roofline, t, err) : rs_fail_nomem(err, "a sheet");
    return rs_sheets_end(out, t, status, err);
}

rs_status rs_tl_add_unified(rs_tl_knowledge *k, rs_sheets *out, rs_error *err)
{
    gathering g = {.k = k, .r = k->rank, .calls = {.rank = k->rank}};
    g.covered = rs_calloc(k->rank->tree->n_gpu + 1, sizeof *g.covered);
    bool ok = g.covered && count_models(&g) && traverse(&g) && add_uncovered(&g);
    rs_status status = ok ? add_sheet(&g, out, err) : rs_fail_nomem(err, "operators");
    rs_tl_call_list_clear(&g.calls);
    rs_free_all(g.rows, g.models_before, g.covered);
    return status;
}
