/* The sheets of families of operators: GEMM, CONV_fwd, Normalization, ... One row is one operator with one set
 * of parameters. */
#include <stdio.h>
#include <string.h>

#include "base/try.h"
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

#define MAX_NAME 48

/* A call in a sheet. */
typedef struct family_call {
    uint32_t name;   /* in the rank's pool; RS_NO_STRING: it is in another sheet */
    uint32_t params; /* equal for equal ones */
    uint32_t id;     /* its event */
    uint32_t answer;
    bool again;
    double time; /* us */
} family_call;

/* The union of the calls' parameters in order of appearance. */
typedef struct parameters {
    const char *names[RS_TL_MAX_PARAMS];
    char columns[RS_TL_MAX_PARAMS][MAX_NAME];
    bool numeric[RS_TL_MAX_PARAMS]; /* no value is a text */
    size_t n;
} parameters;

/* The calls of one pass in a sheet. */
typedef struct part {
    const rs_tl_knowledge *k;
    const rs_tl_call_list *list;
    const parameters *p;
    family_call *calls; /* by item of the list */
} part;

static const rs_tl_answer *answer_of(const part *of, uint32_t call)
{
    return &of->k->items[of->list->items[call].answer].answer;
}

static void take_params(const rs_tl_answer *a, parameters *p)
{
    for (size_t i = 0; i < a->n_params; i++) {
        size_t at = 0;
        while (at < p->n && strcmp(p->names[at], a->params[i].name) != 0) at++;
        if (at == RS_TL_MAX_PARAMS) continue;
        if (at == p->n) {
            p->names[at] = a->params[i].name;
            snprintf(p->columns[at], MAX_NAME, "param: %.40s", a->params[i].name);
            p->numeric[at] = true;
            p->n++;
        }
        if (a->params[i].kind == RS_TL_WORD || a->params[i].kind == RS_TL_PYTHON) p->numeric[at] = false;
    }
}

/* All of them, each in its column. */
static bool put_params(const rs_tl_lot *lot, rs_table *t)
{
    const part *of = lot->all->context;
    const rs_tl_answer *a = answer_of(of, lot->items[0]);
    for (size_t i = 0; i < of->p->n; i++) {
        const rs_tl_param *p = NULL;
        for (size_t k = 0; k < a->n_params; k++)
            if (strcmp(a->params[k].name, of->p->names[i]) == 0) p = &a->params[k];
        if (!p || p->kind == RS_TL_NONE) {
            rs_table_add_null(t);
        } else if (of->p->numeric[i]) {
            rs_table_add_real(t, p->number);
        } else {
            rs_tl_put_param(p, false, lot->text);
            if (!rs_tl_add_python(t, lot->text)) return false;
        }
    }
    return true;
}

static bool put_kernels(const rs_tl_lot *lot, rs_table *t)
{
    return rs_tl_add_kernel_cells(((const part *)lot->all->context)->list, lot, t);
}

/* The first call's, as lists. */
static bool put_arguments(const rs_tl_lot *lot, rs_table *t)
{
    static const rs_column_id order[] = {RS_COL_INPUT_DIMS, RS_COL_INPUT_TYPE, RS_COL_INPUT_STRIDES,
                                         RS_COL_CONCRETE_INPUTS};
    const rs_tl_call_list *list = ((const part *)lot->all->context)->list;
    const rs_events *e = list->rank->e;
    for (size_t i = 0; i < 4; i++) {
        uint32_t id = rs_events_text(e, order[i], list->items[lot->items[0]].row);
        if (id == RS_NO_STRING) {
            rs_table_add_null(t);
            continue;
        }
        rs_python_put_list(lot->text, e->strings.items[id].text, e->strings.items[id].length);
        if (!rs_tl_add_python(t, lot->text)) return false;
    }
    return true;
}

/* A call with its numbers. */
typedef struct seen {
    family_call call;
    uint32_t process, label, thread, spec;
    rs_tl_metrics m;
} seen;

static void see(const rs_tl_items *all, const void *item, void *out)
{
    const part *of = all->context;
    const family_call *call = item;
    const rs_tl_rank *r = of->k->rank;
    const rs_tl_known *known = &of->k->items[call->answer];
    uint32_t thread = r->e->thread[call->id];
    *(seen *)out = (seen){.call = *call,
                          .process = r->process[thread],
                          .label = r->label[thread],
                          .thread = r->thread[thread],
                          .spec = known->spec,
                          .m = rs_tl_metrics_of(r, &known->answer, call->time)};
}

#define HAD(member, name, unit, help, ...)                                                                   \
    RS_TL_COLUMN(HAD, seen, member, name, REAL, unit, help, __VA_ARGS__)
#define FIRST(member, name, help) RS_TL_COLUMN(FIRST, seen, member, name, TEXT, NONE, help)
#define BEFORE(name, help) RS_TL_GROUP(PUT_BEFORE, name, TEXT, NONE, help)

/* Those of the parameters come after the name. */
static const rs_tl_column family_columns[] = {
    RS_TL_COLUMN(DUE, seen, call.name, "name", TEXT, NONE, "operator"),
    RS_TL_HIDDEN_KEY(seen, call.params),
    RS_TL_AGAIN_COLUMN(seen, call.again),
    HAD(m.gflops, "GFLOPS_first", NONE, "1e9 FLOPs of a call"),
    HAD(m.megabytes, "Data Moved (MB)_first", NONE, "of a call, in units of 2^20 bytes"),
    HAD(m.intensity, "FLOPS/Byte_first", NONE, "of a call"),
    RS_TL_FIVE(seen, m.tb_per_s, "TB/s", NONE, "over the calls"),
    RS_TL_FIVE(seen, m.tflops_per_s, "TFLOPS/s", NONE, "over the calls"),
    FIRST(process, "process_name_first", "as the file names the process"),
    FIRST(label, "process_label_first", "as the file labels it"),
    FIRST(thread, "thread_name_first", "as the file names the thread"),
    FIRST(spec, "Compute Spec", "units and precision that the work needs"),
    HAD(m.bound_us, "Roofline Time (µs)_first", US, "what the device would need at best",
        .when = RS_TL_ROOFLINE),
    RS_TL_COLUMN(HAD, seen, m.bound, "Roofline Bound_first", TEXT, NONE, "COMPUTE_BOUND or MEMORY_BOUND",
                 .when = RS_TL_ROOFLINE),
    RS_TL_FIVE(seen, m.pct, "Pct Roofline", PERCENT, "over the calls", .when = RS_TL_ROOFLINE),
    RS_TL_CELL(put_kernels, "kernel_details__summarize_kernel_stats", TEXT, NONE,
               "kernels, as a Python list"),
    BEFORE("trunc_kernel_details", "the same with names cut"),
    RS_TL_CELL(put_arguments, "Input Dims_first", TEXT, NONE, "shapes of the inputs"),
    BEFORE("Input type_first", "types of the inputs"),
    BEFORE("Input Strides_first", "strides of the inputs"),
    BEFORE("Concrete Inputs_first", "values of scalar inputs"),
    RS_TL_FIVE(seen, m.time, "Kernel Time (µs)", US, "over the calls"),
    RS_TL_COLUMN(SUM, seen, m.time, "Kernel Time (µs)_sum", REAL, US, "over the calls"),
    RS_TL_GROUP(COUNT, "name_count", INT, COUNT, "calls"),
    RS_TL_COLUMN(FIRST, seen, call.id, "UID_first", INT, ID, "position in traceEvents of the first call"),
};
enum { N_COLUMNS = sizeof family_columns / sizeof *family_columns };

/* The columns with those of the parameters. */
static size_t list_columns(const parameters *p, rs_tl_column *out)
{
    size_t n = 0;
    out[n++] = family_columns[0];
    for (size_t i = 0; i < p->n; i++)
        out[n++] = (rs_tl_column){
            .spec = {p->columns[i], p->numeric[i] ? RS_REAL : RS_TEXT, RS_UNIT_NONE, "of the model", NULL},
            .how = i ? RS_TL_PUT_BEFORE : RS_TL_PUT,
            .put = put_params};
    memcpy(out + n, family_columns + 1, (N_COLUMNS - 1) * sizeof *out);
    return n + N_COLUMNS - 1;
}

/* ---- a sheet ------------------------------------------------------------------------------------------- */

/* Which calls a sheet shows. */
typedef enum which { ALL_CALLS, NOT_MOVED, ONLY_MOVED, NOT_CONVOLUTION } which;

static bool shows(const char *name, which rule)
{
    return rule == ALL_CALLS || (rule == NOT_CONVOLUTION ? strcmp(name, "aten::convolution") != 0
                                                         : is_moved(name) == (rule == ONLY_MOVED));
}

static bool fill_part(part *of, which rule, rs_tl_items *items)
{
    const rs_tl_call_list *list = of->list;
    rs_tl_rank *r = of->k->rank;
    bool ok = true;
    of->calls = rs_malloc((list->n + 1) * sizeof *of->calls);
    *items = rs_tl_items_of(r, of->calls, list->n, of);
    for (size_t i = 0; ok && of->calls && i < list->n; i++) {
        const rs_tl_measured *call = &list->items[i];
        bool shown = shows(rs_event_name(r->e, call->row), rule);
        of->calls[i] = (family_call){.name = shown ? rs_pool_add(&r->pool, r->e, r->e->name[call->row], &ok)
                                                   : RS_NO_STRING,
                                     .params = of->k->items[call->answer].params,
                                     .id = call->row,
                                     .answer = call->answer,
                                     .again = rs_tl_is_recompute(r, call->node),
                                     .time = call->time};
        if (rs_tl_has_roofline(of->k, call->answer)) items->has |= RS_TL_ROOFLINE;
    }
    return of->calls && ok;
}

/* A sheet of one or two lists: those of the second are below those of the first. */
static rs_status add_sheet(const rs_tl_knowledge *k, const char *name, const rs_tl_call_list *one,
                           which rule_one, const rs_tl_call_list *two, which rule_two, rs_sheets *out,
                           rs_error *err)
{
    parameters p = {.n = 0};
    rs_tl_column columns[N_COLUMNS + RS_TL_MAX_PARAMS];
    part parts[2] = {{.k = k, .list = one, .p = &p}, {.k = k, .list = two, .p = &p}};
    rs_tl_items items[2];
    const size_t n = two ? 2 : 1;
    bool ok = true;
    for (size_t i = 0; i < n; i++)
        for (size_t c = 0; c < parts[i].list->n; c++) take_params(answer_of(&parts[i], (uint32_t)c), &p);
    ok = fill_part(&parts[0], rule_one, &items[0]) && (!two || fill_part(&parts[1], rule_two, &items[1]));
    if (ok && two) items[0].has |= items[1].has;
    const rs_tl_sheet sheet = {.name = name,
                               .help = "one row is one operator with one set of parameters",
                               .columns = columns,
                               .n = list_columns(&p, columns),
                               .size = sizeof(family_call),
                               .by = RS_TL_BY(family_call, time),
                               .then = RS_TL_BY(family_call, id),
                               .seen = sizeof(seen),
                               .see = see};
    rs_status status = ok ? rs_tl_add_parts(&sheet, items, n, out, err) : rs_fail_nomem(err, "calls");
    rs_free_all(parts[0].calls, parts[1].calls);
    return status;
}

static rs_status add_family(rs_tl_knowledge *k, const rs_keyed *nodes, size_t n, const char *sheet,
                            rs_sheets *out, rs_error *err)
{
    char name[MAX_NAME];
    RS_SCOPED(rs_tl_call_list_clear) rs_tl_call_list forward = {0};
    RS_SCOPED(rs_tl_call_list_clear) rs_tl_call_list backward = {0};
    bool split = rs_tl_sheet_is_split(sheet);
    bool ok = take_calls(k, nodes, n, sheet, false, &forward) &&
              (!split || take_calls(k, nodes, n, sheet, true, &backward));
    if (!ok) return rs_fail_nomem(err, "calls");
    if (!split) return add_sheet(k, sheet, &forward, ALL_CALLS, NULL, ALL_CALLS, out, err);
    snprintf(name, sizeof name, "%s_fwd", sheet);
    RS_TRY(add_sheet(k, name, &forward, NOT_MOVED, NULL, ALL_CALLS, out, err));
    snprintf(name, sizeof name, "%s_bwd", sheet);
    return add_sheet(k, name, &backward, NOT_CONVOLUTION, &forward, ONLY_MOVED, out, err);
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
