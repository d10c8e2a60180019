#include "peer/tracelens_calls.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/search.h"
#include "base/try.h"

/* ---- knowledge ----------------------------------------------------------------------------------------- */

static bool find_models(rs_tl_knowledge *k)
{
    const rs_strings *names = &k->rank->e->strings;
    k->model_of = rs_malloc((names->n + 1) * sizeof *k->model_of);
    for (size_t i = 0; k->model_of && i < names->n; i++)
        k->model_of[i] = rs_tl_model_find(names->items[i].text);
    return k->model_of != NULL;
}

static rs_status find_backward(rs_tl_knowledge *k, rs_error *err)
{
    size_t n;
    RS_TRY(rs_tree_fwdbwd(k->rank->trace, k->rank->tree, &k->links, &n, err));
    k->backward = rs_malloc((n + 1) * sizeof *k->backward);
    if (!k->backward) return rs_fail_nomem(err, "links between passes");
    for (size_t i = 0; i < n; i++) k->backward[i] = (rs_keyed){k->links[i].forward, k->links[i].backward};
    k->n_backward = n;
    return rs_keyed_sort(k->backward, n) ? RS_OK : rs_fail_nomem(err, "links between passes");
}

rs_status rs_tl_knowledge_make(rs_tl_rank *r, rs_tl_knowledge *out, rs_error *err)
{
    *out = (rs_tl_knowledge){.rank = r};
    bool ok = rs_strings_init(&out->keys);
    ok = rs_strings_init(&out->params) && ok;
    if (!ok || !find_models(out)) return rs_fail_nomem(err, "models");
    return find_backward(out, err);
}

void rs_tl_knowledge_clear(rs_tl_knowledge *k)
{
    rs_free((void *)k->model_of);
    rs_strings_clear(&k->keys);
    rs_strings_clear(&k->params);
    rs_free(k->items);
    rs_arena_clear(&k->arena);
    rs_free(k->backward);
}

const rs_tl_model *rs_tl_model_of(const rs_tl_knowledge *k, uint32_t node)
{
    return k->model_of[k->rank->e->name[k->rank->tree->row[node]]];
}

void rs_tl_backward_of(const rs_tl_knowledge *k, uint32_t node, size_t *first, size_t *end)
{
    size_t low = rs_keyed_before(k->backward, k->n_backward, (int64_t)node);
    *first = low;
    while (low < k->n_backward && k->backward[low].key < (int64_t)k->rank->tree->end[node]) low++;
    *end = low;
}

uint32_t rs_tl_forward_of(const rs_tl_knowledge *k, uint32_t backward)
{
    size_t low;
    RS_SEARCH(low, k->n_backward, k->links[low].backward < backward);
    return low < k->n_backward && k->links[low].backward == backward ? k->links[low].forward : RS_NO_NODE;
}

/* What tells questions apart; compared byte by byte. */
typedef struct question {
    uint32_t name, dims, types, strides, concrete;
    uint32_t kernel; /* the first kernel whose name says what is transposed, of matrix products */
    uint32_t backward;
} question;

static bool tells_transposes(const char *name)
{
    return strncmp(name, "nvjet", 5) == 0 || strstr(name, "_A") != NULL;
}

static uint32_t telling_kernel(const rs_tl_rank *r, const uint32_t *work, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (tells_transposes(rs_event_name(r->e, work[i]))) return r->e->name[work[i]];
    return RS_NO_STRING;
}

static void set_text(const rs_events *e, uint32_t id, const char **text, size_t *length)
{
    if (id == RS_NO_STRING) return;
    *text = e->strings.items[id].text;
    *length = e->strings.items[id].length;
}

void rs_tl_put_param(const rs_tl_param *p, bool quoted, rs_text *out)
{
    switch (p->kind) {
    case RS_TL_NONE: rs_text_put(out, "None"); break;
    case RS_TL_WHOLE: rs_python_put_int(out, (int64_t)p->number); break;
    case RS_TL_FLOAT: rs_python_put_float(out, p->number); break;
    case RS_TL_PYTHON: rs_text_put(out, p->text); break;
    case RS_TL_WORD:
        if (quoted)
            rs_python_put_string(out, p->text, strlen(p->text));
        else
            rs_text_put(out, p->text);
        break;
    }
}

/* Parameters that are None are as good as none. */
static bool number_params(rs_tl_knowledge *k, rs_tl_known *known)
{
    RS_SCOPED(rs_text_clear) rs_text text = {0};
    for (size_t i = 0; i < known->answer.n_params; i++) {
        const rs_tl_param *p = &known->answer.params[i];
        if (p->kind == RS_TL_NONE) continue;
        rs_text_put(&text, p->name);
        rs_text_put(&text, "=");
        rs_tl_put_param(p, true, &text);
        rs_text_put(&text, "\n");
    }
    known->params = text.failed ? RS_NO_STRING : rs_strings_add(&k->params, text.s ? text.s : "", text.n);
    return known->params != RS_NO_STRING;
}

/* "matrix_bf16" */
static uint32_t spec_of(rs_tl_rank *r, const rs_tl_answer *answer, bool *ok)
{
    char text[32];
    if (!answer->unit || !answer->precision) return RS_NO_STRING;
    int n = snprintf(text, sizeof text, "%s_%s", answer->unit, answer->precision);
    return n > 0 && n < (int)sizeof text ? rs_tl_text_id(r, text, (size_t)n, ok) : RS_NO_STRING;
}

static bool answer_new(rs_tl_knowledge *k, const rs_tl_model *model, const question *q)
{
    const rs_events *e = k->rank->e;
    const char *kernel = q->kernel == RS_NO_STRING ? NULL : e->strings.items[q->kernel].text;
    rs_tl_call call = {
        .name = e->strings.items[q->name].text, .kernels = &kernel, .n_kernels = kernel ? 1 : 0};
    set_text(e, q->dims, &call.dims, &call.dims_length);
    set_text(e, q->types, &call.types, &call.types_length);
    set_text(e, q->strides, &call.strides, &call.strides_length);
    set_text(e, q->concrete, &call.concrete, &call.concrete_length);
    if (!RS_GROW_ONE(k->items, k->n, k->capacity)) return false;
    rs_tl_known *known = &k->items[k->n];
    bool ok = true;
    *known = (rs_tl_known){0};
    known->outcome = rs_tl_model_ask(model, q->backward != 0, &call, &k->arena, &known->answer, &ok);
    known->spec = spec_of(k->rank, &known->answer, &ok);
    if (!ok || !number_params(k, known)) return false;
    k->n++;
    return true;
}

bool rs_tl_knowledge_ask(rs_tl_knowledge *k, uint32_t node, bool backward, const uint32_t *work,
                         size_t n_work, uint32_t *answer)
{
    const rs_tl_rank *r = k->rank;
    const rs_tl_model *model = rs_tl_model_of(k, node);
    uint32_t row = r->tree->row[node];
    *answer = RS_TL_NO_ANSWER;
    if (!model) return true;
    bool product = strcmp(rs_tl_model_sheet(model), "GEMM") == 0;
    question q = {.name = r->e->name[row],
                  .dims = rs_events_text(r->e, RS_COL_INPUT_DIMS, row),
                  .types = rs_events_text(r->e, RS_COL_INPUT_TYPE, row),
                  .strides = rs_events_text(r->e, RS_COL_INPUT_STRIDES, row),
                  .concrete = rs_events_text(r->e, RS_COL_CONCRETE_INPUTS, row),
                  .kernel = product ? telling_kernel(r, work, n_work) : RS_NO_STRING,
                  .backward = backward};
    uint32_t id = rs_strings_add(&k->keys, (const char *)&q, sizeof q);
    if (id == RS_NO_STRING) return false;
    *answer = id - 1;
    return id - 1 < k->n || answer_new(k, model, &q);
}

/* ---- calls --------------------------------------------------------------------------------------------- */

void rs_tl_call_list_clear(rs_tl_call_list *list)
{
    rs_free_all(list->items, list->work);
    *list = (rs_tl_call_list){0};
}

bool rs_tl_take_work(rs_tl_call_list *list, uint32_t node)
{
    const rs_tree *t = list->rank->tree;
    for (size_t i = t->gpu_first[node]; i < t->gpu_first[t->end[node]]; i++) {
        if (!rs_tl_is_linked(list->rank, i)) continue;
        if (!RS_PUSH(list->work, list->n_work, list->work_capacity, t->gpu_row[i])) return false;
    }
    return true;
}

bool rs_tl_add_call(rs_tl_call_list *list, const rs_tl_measured *call)
{
    return RS_APPEND(list, *call);
}

/* An rs_tl_list_fn over a call list. */
static size_t work_of_call(const void *context, size_t call, const uint32_t **rows)
{
    const rs_tl_call_list *list = context;
    *rows = list->work ? list->work + list->items[call].first : NULL;
    return list->items[call].n;
}

/* ---- numbers ------------------------------------------------------------------------------------------- */

/* TFLOP/s at best; NaN: unknown. */
static double peak_of(const rs_rates *rates, const rs_tl_answer *a)
{
    if (!a->unit || !a->precision) return (double)NAN;
    for (unsigned i = 1; i < RS_N_PRECISIONS; i++)
        if (strcmp(rs_precision_name((rs_precision)i), a->precision) == 0)
            return a->unit[0] == 'm' ? rates->matrix[i] : rates->vector[i];
    return (double)NAN;
}

rs_tl_metrics rs_tl_metrics_of(const rs_tl_rank *r, const rs_tl_answer *a, double time)
{
    rs_tl_metrics m = {.time = time,
                       .gflops = a->flops / 1e9,
                       .megabytes = a->bytes / (1024 * 1024),
                       .intensity = (double)NAN,
                       .tb_per_s = (double)NAN,
                       .tflops_per_s = (double)NAN,
                       .bound_us = (double)NAN,
                       .pct = (double)NAN};
    if (a->bytes > 0) m.intensity = m.gflops * 1e9 / a->bytes;
    if (time > 0) {
        m.tflops_per_s = m.gflops / 1e3 / (time / 1e6);
        m.tb_per_s = a->bytes / 1e12 / (time / 1e6);
    }
    const rs_rates *rates = r->options->rates;
    double peak = rates ? peak_of(rates, a) : (double)NAN;
    if (isnan(peak) || isnan(rates->mem_gbps) || isnan(a->bytes) || !(m.gflops > 0)) return m;
    double compute = m.gflops * 1e9 / (peak * 1e12) * 1e6, memory = a->bytes / (rates->mem_gbps * 1e9) * 1e6;
    m.bound = compute >= memory ? "COMPUTE_BOUND" : "MEMORY_BOUND";
    m.bound_us = compute >= memory ? compute : memory;
    if (time > 0) m.pct = m.bound_us / time * 100;
    return m;
}

/* ---- cells --------------------------------------------------------------------------------------------- */

bool rs_tl_has_roofline(const rs_tl_knowledge *k, uint32_t answer)
{
    return answer != RS_TL_NO_ANSWER &&
           !isnan(rs_tl_metrics_of(k->rank, &k->items[answer].answer, 0).bound_us);
}

bool rs_tl_add_kernel_cells(const rs_tl_call_list *list, const rs_tl_lot *lot, rs_table *t)
{
    rs_tl_put_kernels(list->rank, list, work_of_call, lot->items, lot->n, false, lot->text);
    bool empty = lot->text->n == 2;
    if (!rs_tl_add_python(t, lot->text)) return false;
    if (empty) {
        rs_table_add_null(t);
        return true;
    }
    rs_tl_put_kernels(list->rank, list, work_of_call, lot->items, lot->n, true, lot->text);
    return rs_tl_add_python(t, lot->text);
}
