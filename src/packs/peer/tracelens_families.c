/* The sheets of families of operators: GEMM, CONV_fwd, Normalization, ... One row is one operator with one set
 * of parameters. */
#include <math.h>
#include <string.h>

#include "peer/tracelens_calls.h"

/* ---- the calls of a family ----------------------------------------------------------------------------- */

/* Operators of the backward pass that have a model of their own: TraceLens finds them among the forward ones
 * and moves them. */
static bool is_moved(const char *name)
{
    return strcmp(name, "flash_attn::_flash_attn_varlen_backward") == 0 ||
           strcmp(name, "aten::convolution_backward") == 0;
}

/* The nodes of operators with a model, in the order of the file. */
static bool modelled_nodes(const rs_tl_knowledge *k, rs_keyed **out, size_t *n)
{
    const rs_tree *t = k->rank->tree;
    rs_keyed *nodes = rs_malloc((t->n + 1) * sizeof *nodes);
    *n = 0;
    for (size_t i = 0; nodes && i < t->n; i++)
        if (rs_event_kind(k->rank->e, t->row[i]) == RS_KIND_CPU_OP && rs_tl_model_of(k, (uint32_t)i))
            nodes[(*n)++] = (rs_keyed){t->row[i], (uint32_t)i};
    *out = nodes;
    return nodes && rs_keyed_sort(nodes, *n);
}

static bool take_call(rs_tl_knowledge *k, uint32_t node, bool backward, rs_tl_call_list *list)
{
    rs_tl_measured call = {.row = k->rank->tree->row[node], .node = node, .first = (uint32_t)list->n_work};
    size_t first = 0, end = 0;
    bool ok = true;
    if (backward) {
        rs_tl_backward_of(k, node, &first, &end);
        for (size_t i = first; ok && i < end; i++) ok = rs_tl_take_work(list, k->backward[i].value);
    } else {
        ok = rs_tl_take_work(list, node);
    }
    call.n = (uint32_t)(list->n_work - call.first);
    const uint32_t *work = list->work ? list->work + call.first : NULL;
    ok = ok && rs_tl_knowledge_ask(k, node, backward, work, call.n, &call.answer) &&
         rs_tl_union(k->rank, work, call.n, &call.time);
    if (!ok) return false;
    if (k->items[call.answer].outcome != RS_TL_ANSWERED || (backward && first == end)) {
        list->n_work = call.first;
        return true;
    }
    return rs_tl_add_call(list, &call);
}

/* Calls of a family: of the forward or backward pass. */
static bool take_calls(rs_tl_knowledge *k, const rs_keyed *nodes, size_t n, const char *sheet, bool backward,
                       rs_tl_call_list *list)
{
    bool ok = true;
    *list = (rs_tl_call_list){.rank = k->rank};
    for (size_t i = 0; ok && i < n; i++) {
        if (strcmp(rs_tl_model_sheet(rs_tl_model_of(k, nodes[i].value)), sheet) != 0) continue;
        ok = take_call(k, nodes[i].value, backward, list);
    }
    return ok;
}

/* ---- columns ------------------------------------------------------------------------------------------- */

#define MAX_COLUMNS 64
#define MAX_NAME 48

/* The union of the calls' parameters in order of appearance. */
typedef struct columns {
    const char *params[RS_TL_MAX_PARAMS];
    bool numeric[RS_TL_MAX_PARAMS]; /* no value is a text */
    size_t n_params;
    bool roofline;
    rs_column_spec specs[MAX_COLUMNS];
    char names[RS_TL_MAX_PARAMS][MAX_NAME];
    size_t n;
} columns;

static void take_params(const rs_tl_answer *a, columns *c)
{
    for (size_t i = 0; i < a->n_params; i++) {
        size_t at = 0;
        while (at < c->n_params && strcmp(c->params[at], a->params[i].name) != 0) at++;
        if (at == RS_TL_MAX_PARAMS) continue;
        if (at == c->n_params) {
            c->params[at] = a->params[i].name;
            c->numeric[at] = true;
            c->n_params++;
        }
        if (a->params[i].kind == RS_TL_WORD || a->params[i].kind == RS_TL_PYTHON) c->numeric[at] = false;
    }
}

static void add_column(columns *c, const char *name, rs_type type, rs_unit unit, const char *help)
{
    if (c->n < MAX_COLUMNS) c->specs[c->n++] = (rs_column_spec){name, type, unit, help, NULL};
}

static void add_statistics(columns *c, const char *const names[5], rs_unit unit)
{
    for (size_t i = 0; i < 5; i++) add_column(c, names[i], RS_REAL, unit, "over the calls");
}

#define FIVE(name)                                                                                           \
    (const char *const[5])                                                                                   \
    {                                                                                                        \
        name "_mean", name "_median", name "_std", name "_min", name "_max"                                  \
    }

static void make_columns(const rs_tl_rank *r, columns *c)
{
    add_column(c, "name", RS_TEXT, RS_UNIT_NONE, "operator");
    for (size_t i = 0; i < c->n_params; i++) {
        size_t n = strlen(c->params[i]);
        if (n > MAX_NAME - 8) n = MAX_NAME - 8;
        memcpy(c->names[i], "param: ", 7);
        memcpy(c->names[i] + 7, c->params[i], n);
        c->names[i][7 + n] = '\0';
        add_column(c, c->names[i], c->numeric[i] ? RS_REAL : RS_TEXT, RS_UNIT_NONE, "of the model");
    }
    if (r->recompute)
        add_column(c, "is_recompute", RS_TEXT, RS_UNIT_NONE,
                   "True: activation checkpointing computes it again");
    add_column(c, "GFLOPS_first", RS_REAL, RS_UNIT_NONE, "1e9 FLOPs of a call");
    add_column(c, "Data Moved (MB)_first", RS_REAL, RS_UNIT_NONE, "of a call, in units of 2^20 bytes");
    add_column(c, "FLOPS/Byte_first", RS_REAL, RS_UNIT_NONE, "of a call");
    add_statistics(c, FIVE("TB/s"), RS_UNIT_NONE);
    add_statistics(c, FIVE("TFLOPS/s"), RS_UNIT_NONE);
    add_column(c, "process_name_first", RS_TEXT, RS_UNIT_NONE, "as the file names the process");
    add_column(c, "process_label_first", RS_TEXT, RS_UNIT_NONE, "as the file labels it");
    add_column(c, "thread_name_first", RS_TEXT, RS_UNIT_NONE, "as the file names the thread");
    add_column(c, "Compute Spec", RS_TEXT, RS_UNIT_NONE, "units and precision that the work needs");
    if (c->roofline) {
        add_column(c, "Roofline Time (µs)_first", RS_REAL, RS_UNIT_US, "what the device would need at best");
        add_column(c, "Roofline Bound_first", RS_TEXT, RS_UNIT_NONE, "COMPUTE_BOUND or MEMORY_BOUND");
        add_statistics(c, FIVE("Pct Roofline"), RS_UNIT_PERCENT);
    }
    add_column(c, "kernel_details__summarize_kernel_stats", RS_TEXT, RS_UNIT_NONE,
               "kernels, as a Python list");
    add_column(c, "trunc_kernel_details", RS_TEXT, RS_UNIT_NONE, "the same with names cut");
    add_column(c, "Input Dims_first", RS_TEXT, RS_UNIT_NONE, "shapes of the inputs");
    add_column(c, "Input type_first", RS_TEXT, RS_UNIT_NONE, "types of the inputs");
    add_column(c, "Input Strides_first", RS_TEXT, RS_UNIT_NONE, "strides of the inputs");
    add_column(c, "Concrete Inputs_first", RS_TEXT, RS_UNIT_NONE, "values of scalar inputs");
    add_statistics(c, FIVE("Kernel Time (µs)"), RS_UNIT_US);
    add_column(c, "Kernel Time (µs)_sum", RS_REAL, RS_UNIT_US, "over the calls");
    add_column(c, "name_count", RS_INT, RS_UNIT_COUNT, "calls");
    add_column(c, "UID_first", RS_INT, RS_UNIT_ID, "position in traceEvents of the first call");
}

/* ---- rows ---------------------------------------------------------------------------------------------- */

/* One group of calls. */
typedef struct group {
    const rs_tl_knowledge *k;
    const rs_tl_call_list *list;
    const uint32_t *items;
    size_t n;
    const columns *c;
    double *values;         /* scratch, n of them */
    rs_tl_metrics *metrics; /* of the calls */
    rs_python_text *text;   /* scratch */
} group;

static const rs_tl_answer *answer_of(const group *g, size_t i)
{
    return &g->k->items[g->list->items[g->items[i]].answer].answer;
}

static rs_tl_stats stats_over(const group *g, size_t offset)
{
    for (size_t i = 0; i < g->n; i++)
        memcpy(&g->values[i], (const char *)&g->metrics[i] + offset, sizeof *g->values);
    return rs_tl_stats_of(g->values, g->n);
}
#define STATS(g, member) stats_over((g), offsetof(rs_tl_metrics, member))

/* pandas' first: the first value that is known. */
static double first_over(const group *g, size_t offset)
{
    double value = (double)NAN;
    for (size_t i = 0; isnan(value) && i < g->n; i++)
        memcpy(&value, (const char *)&g->metrics[i] + offset, sizeof value);
    return value;
}
#define FIRST(g, member) first_over((g), offsetof(rs_tl_metrics, member))

static bool add_params(const group *g, rs_table *t)
{
    const rs_tl_answer *a = answer_of(g, 0);
    for (size_t i = 0; i < g->c->n_params; i++) {
        const rs_tl_param *p = NULL;
        for (size_t k = 0; k < a->n_params; k++)
            if (strcmp(a->params[k].name, g->c->params[i]) == 0) p = &a->params[k];
        if (!p || p->kind == RS_TL_NONE) {
            rs_table_add_null(t);
        } else if (g->c->numeric[i]) {
            rs_table_add_real(t, p->number);
        } else {
            rs_tl_put_param(p, false, g->text);
            if (!rs_tl_add_python(t, g->text)) return false;
        }
    }
    return true;
}

static void add_roofline(const group *g, rs_table *t)
{
    size_t first = 0;
    while (first < g->n && isnan(g->metrics[first].bound_us)) first++;
    rs_table_add_real(t, FIRST(g, bound_us));
    if (first == g->n)
        rs_table_add_null(t);
    else
        rs_table_add_text(t, g->metrics[first].compute_bound ? "COMPUTE_BOUND" : "MEMORY_BOUND");
    rs_tl_stats s = STATS(g, pct);
    rs_tl_add_five(t, &s);
}

static bool add_arguments(const group *g, uint32_t row, rs_table *t)
{
    static const rs_column_id order[] = {RS_COL_INPUT_DIMS, RS_COL_INPUT_TYPE, RS_COL_INPUT_STRIDES,
                                         RS_COL_CONCRETE_INPUTS};
    const rs_events *e = g->list->rank->e;
    for (size_t i = 0; i < 4; i++) {
        uint32_t id = rs_events_text(e, order[i], row);
        if (id == RS_NO_STRING) {
            rs_table_add_null(t);
            continue;
        }
        rs_python_put_list(g->text, e->strings.items[id].text, e->strings.items[id].length);
        if (!rs_tl_add_python(t, g->text)) return false;
    }
    return true;
}

static bool add_row(const group *g, rs_table *t)
{
    const rs_tl_rank *r = g->list->rank;
    uint32_t row = g->list->items[g->items[0]].row;
    rs_table_add_text(t, rs_event_name(r->e, row));
    if (!add_params(g, t)) return false;
    rs_tl_add_recompute(r, g->list->items[g->items[0]].node, t);
    rs_table_add_real(t, FIRST(g, gflops));
    rs_table_add_real(t, FIRST(g, megabytes));
    rs_table_add_real(t, FIRST(g, intensity));
    rs_tl_stats s = STATS(g, tb_per_s);
    rs_tl_add_five(t, &s);
    s = STATS(g, tflops_per_s);
    rs_tl_add_five(t, &s);
    rs_table_add_text(t, rs_tl_process(r, row));
    rs_table_add_text(t, rs_tl_label(r, row));
    rs_table_add_text(t, rs_tl_thread(r, row));
    rs_tl_add_spec(t, answer_of(g, 0));
    if (g->c->roofline) add_roofline(g, t);
    if (!rs_tl_add_kernel_cells(g->list, g->items, g->n, g->text, t) || !add_arguments(g, row, t))
        return false;
    for (size_t i = 0; i < g->n; i++) g->values[i] = g->list->items[g->items[i]].time;
    s = rs_tl_stats_of(g->values, g->n);
    rs_tl_add_five(t, &s);
    rs_table_add_real(t, s.sum);
    rs_table_add_int(t, (int64_t)g->n);
    rs_table_add_int(t, row);
    return true;
}

/* ---- a sheet ------------------------------------------------------------------------------------------- */

typedef struct call_key {
    uint32_t name, params, recompute;
} call_key;

/* Which calls a sheet shows. */
typedef enum which { ALL_CALLS, NOT_MOVED, ONLY_MOVED, NOT_CONVOLUTION } which;

static bool shows(const rs_tl_call_list *list, size_t i, which rule)
{
    const char *name = rs_event_name(list->rank->e, list->items[i].row);
    return rule == ALL_CALLS || (rule == NOT_CONVOLUTION ? strcmp(name, "aten::convolution") != 0
                                                         : is_moved(name) == (rule == ONLY_MOVED));
}

/* The calls by operator and parameters. */
static bool group_calls(const rs_tl_knowledge *k, const rs_tl_call_list *list, which rule,
                        rs_tl_groups *groups, uint32_t **order)
{
    RS_LOCAL call_key *keys = rs_malloc((list->n + 1) * sizeof *keys);
    bool *skip = rs_malloc((list->n + 1) * sizeof *skip), ok = keys && skip;
    for (size_t i = 0; ok && i < list->n; i++) {
        keys[i] = (call_key){list->rank->e->name[list->items[i].row], k->items[list->items[i].answer].params,
                             rs_tl_is_recompute(list->rank, list->items[i].node)};
        skip[i] = !shows(list, i, rule);
    }
    ok = ok && rs_tl_group(keys, sizeof *keys, skip, list->n, groups);
    RS_LOCAL double *sums = ok ? rs_calloc(groups->n + 1, sizeof *sums) : NULL;
    RS_LOCAL uint32_t *ids = ok ? rs_malloc((groups->n + 1) * sizeof *ids) : NULL;
    ok = sums && ids;
    for (size_t g = 0; ok && g < groups->n; g++) {
        for (size_t i = groups->first[g]; i < groups->first[g + 1]; i++)
            sums[g] += list->items[groups->item[i]].time;
        ids[g] = list->items[groups->item[groups->first[g]]].row;
    }
    ok = ok && rs_tl_order(sums, ids, groups->n, order);
    rs_free(skip);
    return ok;
}

static rs_status add_group(const rs_tl_knowledge *k, const rs_tl_call_list *list, const columns *c,
                           const uint32_t *items, size_t n, rs_python_text *text, rs_table *t, rs_error *err)
{
    group g = {
        k,   list, items, n, c, rs_malloc((n + 1) * sizeof *g.values), rs_malloc((n + 1) * sizeof *g.metrics),
        text};
    bool ok = g.values && g.metrics;
    for (size_t i = 0; ok && i < n; i++)
        g.metrics[i] = rs_tl_metrics_of(list->rank, answer_of(&g, i), list->items[items[i]].time);
    ok = ok && add_row(&g, t);
    rs_free_all(g.values, g.metrics);
    return ok ? rs_table_end_row(t, err) : rs_fail_nomem(err, "a row");
}

static rs_status add_rows(const rs_tl_knowledge *k, const rs_tl_call_list *list, which rule, const columns *c,
                          rs_table *t, rs_error *err)
{
    RS_SCOPED(rs_tl_groups_clear) rs_tl_groups groups = {0};
    RS_LOCAL uint32_t *order = NULL;
    RS_SCOPED(rs_python_clear) rs_python_text text = {0};
    rs_status status = group_calls(k, list, rule, &groups, &order) ? RS_OK : rs_fail_nomem(err, "calls");
    for (size_t i = 0; status == RS_OK && i < groups.n; i++) {
        uint32_t first = groups.first[order[i]];
        status =
            add_group(k, list, c, groups.item + first, groups.first[order[i] + 1] - first, &text, t, err);
    }
    return status;
}

static void take_columns(const rs_tl_knowledge *k, const rs_tl_call_list *list, columns *c)
{
    for (size_t i = 0; i < list->n; i++) {
        const rs_tl_answer *a = &k->items[list->items[i].answer].answer;
        take_params(a, c);
        c->roofline = c->roofline || !isnan(rs_tl_metrics_of(list->rank, a, 0).bound_us);
    }
}

/* A sheet of one or two lists: those of the second stand below those of the first. */
static rs_status add_sheet(const rs_tl_knowledge *k, const char *name, const rs_tl_call_list *one,
                           which rule_one, const rs_tl_call_list *two, which rule_two, rs_sheets *out,
                           rs_error *err)
{
    columns c = {0};
    take_columns(k, one, &c);
    if (two) take_columns(k, two, &c);
    make_columns(k->rank, &c);
    const rs_table_spec spec = {name, "one row is one operator with one set of parameters", c.specs, c.n};
    rs_table *t = rs_table_create_dynamic(&spec);
    rs_status status = t ? add_rows(k, one, rule_one, &c, t, err) : rs_fail_nomem(err, "a sheet");
    if (status == RS_OK && two) status = add_rows(k, two, rule_two, &c, t, err);
    return rs_sheets_end(out, t, status, err);
}

static rs_status add_family(rs_tl_knowledge *k, const rs_keyed *nodes, size_t n, const char *sheet,
                            rs_sheets *out, rs_error *err)
{
    char name[MAX_NAME];
    size_t length = strlen(sheet);
    rs_tl_call_list forward, backward = {0};
    bool split = rs_tl_sheet_is_split(sheet);
    bool ok = take_calls(k, nodes, n, sheet, false, &forward) &&
              (!split || take_calls(k, nodes, n, sheet, true, &backward));
    rs_status status = ok ? RS_OK : rs_fail_nomem(err, "calls");
    if (status == RS_OK && !split) {
        status = add_sheet(k, sheet, &forward, ALL_CALLS, NULL, ALL_CALLS, out, err);
    } else if (status == RS_OK) {
        memcpy(name, sheet, length);
        memcpy(name + length, "_fwd", 5);
        status = add_sheet(k, name, &forward, NOT_MOVED, NULL, ALL_CALLS, out, err);
        memcpy(name + length, "_bwd", 5);
        if (status == RS_OK)
            status = add_sheet(k, name, &backward, NOT_CONVOLUTION, &forward, ONLY_MOVED, out, err);
    }
    rs_tl_call_list_clear(&forward);
    rs_tl_call_list_clear(&backward);
    return status;
}

rs_status rs_tl_add_families(rs_tl_knowledge *k, rs_sheets *out, rs_error *err)
{
    RS_LOCAL rs_keyed *nodes = NULL;
    size_t n = 0;
    rs_status status = modelled_nodes(k, &nodes, &n) ? RS_OK : rs_fail_nomem(err, "operators");
    for (size_t i = 0; status == RS_OK && rs_tl_sheet_names[i]; i++)
        status = add_family(k, nodes, n, rs_tl_sheet_names[i], out, err);
    return status;
}
