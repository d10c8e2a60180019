#include "peer/tracelens_rank.h"

#include <string.h>

#include "base/ascii.h"
#include "base/try.h"
#include "peer/tracelens_calls.h"
#include "trace/categories.h"
#include "trace/graft.h"
#include "trace/launchers.h"

/* ---- classes ---------------------------------------------------------------------------------------- */

bool rs_tl_name_has(const char *name, const char *word)
{
    size_t n = strlen(word);
    for (; *name; name++) {
        size_t i = 0;
        while (i < n && rs_lower(name[i]) == word[i]) i++;
        if (i == n) return true;
    }
    return false;
}

rs_class rs_tl_class(const rs_tl_rank *r, uint32_t row)
{
    rs_class class = rs_class_at(r->classes, row);
    if (class != RS_CLASS_COMM) return class;
    const char *name = rs_event_name(r->e, row);
    return rs_tl_name_has(name, "nccl") || rs_tl_name_has(name, "rccl") ||
                   rs_tl_name_has(name, "cross_device_reduce")
               ? class
               : RS_CLASS_COMPUTE;
}

/* ---- what is linked ------------------------------------------------------------------------------------ */

typedef struct flow {
    bool starts, ends;
    uint32_t thread; /* where it ends; of several with one id the last in the file */
} flow;

typedef struct flows {
    rs_map64 places; /* id -> place */
    flow *items;
    size_t n, capacity;
} flows;

static bool take_flow(const rs_events *e, uint32_t row, rs_cursor *ids, flows *out)
{
    if (rs_event_kind(e, row) != RS_KIND_FLOW || !rs_cursor_seek(ids, row)) return true;
    bool is_new;
    uint32_t *place = rs_map64_put(&out->places, (uint64_t)rs_sparse_int(ids->column, ids->at), &is_new);
    if (!place || (is_new && !RS_GROW_ONE(out->items, out->n, out->capacity))) return false;
    if (is_new) {
        *place = (uint32_t)out->n;
        out->items[out->n++] = (flow){0};
    }
    flow *f = &out->items[*place];
    if (e->phase[row] == 's') f->starts = true;
    if (e->phase[row] == 'f') f->ends = true, f->thread = e->thread[row];
    return true;
}

static bool read_flows(const rs_trace *trace, flows *out)
{
    rs_cursor ids = rs_cursor_of(trace->events, RS_COL_FLOW_ID);
    bool ok = true;
    for (size_t i = 0; ok && i < trace->n_rows; i++)
        ok = take_flow(trace->events, rs_trace_row(trace, i), &ids, out);
    return ok;
}

static bool launches_graph(const char *name)
{
    return strcmp(name, "cudaGraphLaunch") == 0 || strcmp(name, "hipGraphLaunch") == 0;
}

/* Of the work of one call that is no launch of a graph only the last in the file where its flow ends is
 * linked. The place in gpu_row; SIZE_MAX: none. */
static size_t linked_one(const rs_tl_rank *r, const flows *f, uint32_t node, size_t first, size_t end)
{
    int64_t key;
    size_t found = SIZE_MAX;
    if (!rs_events_int(r->e, RS_COL_CORRELATION, r->tree->row[node], &key)) return SIZE_MAX;
    const uint32_t *place = rs_map64_get(&f->places, (uint64_t)key);
    if (!place || !f->items[*place].starts || !f->items[*place].ends) return SIZE_MAX;
    for (size_t i = first; i < end; i++) {
        uint32_t row = r->tree->gpu_row[i];
        if (r->e->thread[row] != f->items[*place].thread) continue;
        if (found == SIZE_MAX || row > r->tree->gpu_row[found]) found = i;
    }
    return found;
}

/* A file without a single flow gives TraceLens no report at all; there the links of rankscope hold. */
static rs_status find_linked(rs_tl_rank *r, rs_error *err)
{
    const rs_tree *t = r->tree;
    flows f = {0};
    r->n_linked = rs_calloc(t->n_gpu + 2, sizeof *r->n_linked);
    r->call = rs_malloc((t->n_gpu + 1) * sizeof *r->call);
    bool ok = r->n_linked && r->call && read_flows(r->trace, &f);
    for (size_t node = 0; ok && node < t->n; node++) {
        size_t first = t->gpu_first[node], end = rs_tl_own_end(t, node);
        if (first == end) continue;
        for (size_t i = first; i < end; i++) r->call[i] = (uint32_t)node;
        if (f.n == 0 || launches_graph(rs_tl_name(r, (uint32_t)node)) || rs_is_grafted(r->e, t->row[node])) {
            for (size_t i = first; i < end; i++) r->n_linked[i + 1] = 1;
        } else {
            size_t one = linked_one(r, &f, (uint32_t)node, first, end);
            if (one != SIZE_MAX) r->n_linked[one + 1] = 1;
        }
    }
    for (size_t i = 0; ok && i < t->n_gpu; i++) r->n_linked[i + 1] += r->n_linked[i];
    rs_map64_clear(&f.places);
    rs_free(f.items);
    return ok ? RS_OK : rs_fail_nomem(err, "links");
}

/* ---- launchers ----------------------------------------------------------------------------------------- */

bool rs_tl_union(const rs_tl_rank *r, const uint32_t *rows, size_t n, double *us)
{
    rs_keyed few[16], *order = n <= 16 ? few : rs_malloc(n * sizeof *order);
    if (!order) return false;
    for (size_t i = 0; i < n; i++) order[i] = (rs_keyed){r->e->start[rows[i]], rows[i]};
    bool ok = rs_keyed_sort(order, n);
    double start = 0, end = 0;
    *us = 0;
    for (size_t i = 0; ok && i < n; i++) {
        double from = (double)order[i].key / 1000, to = from + (double)r->e->duration[order[i].value] / 1000;
        if (i == 0 || from > end) {
            *us += end - start;
            start = from;
            end = to;
        } else if (to > end) {
            end = to;
        }
    }
    *us += end - start;
    if (order != few) rs_free(order);
    return ok;
}

/* Union of the linked work below a node. */
static bool subtree_time(const rs_tl_rank *r, uint32_t node, double *us)
{
    const rs_tree *t = r->tree;
    size_t first = t->gpu_first[node], end = t->gpu_first[t->end[node]], n = 0;
    RS_LOCAL uint32_t *rows = rs_malloc((end - first + 1) * sizeof *rows);
    if (!rows) return false;
    for (size_t i = first; i < end; i++)
        if (rs_tl_is_linked(r, i)) rows[n++] = t->gpu_row[i];
    return rs_tl_union(r, rows, n, us);
}

/* (launcher, row) of all linked work that is no communication; by launcher, then start, then row. */
static bool pair_up(const rs_tl_rank *r, rs_keyed *pairs, size_t *n)
{
    const rs_tree *t = r->tree;
    *n = 0;
    for (size_t i = 0; i < t->n_gpu; i++)
        if (rs_tl_is_linked(r, i) && !rs_tl_is_comm(r, t->gpu_row[i]))
            pairs[(*n)++] = (rs_keyed){t->gpu_row[i], (uint32_t)i};
    bool ok = rs_keyed_sort(pairs, *n);
    for (size_t i = 0; ok && i < *n; i++) pairs[i].key = r->e->start[t->gpu_row[pairs[i].value]];
    ok = ok && rs_keyed_sort(pairs, *n);
    for (size_t i = 0; ok && i < *n; i++) {
        uint32_t at = pairs[i].value;
        pairs[i] = (rs_keyed){rs_tree_launcher_of(r->trace, t, r->call[at]), t->gpu_row[at]};
    }
    return ok && rs_keyed_sort(pairs, *n);
}

static bool in_time(const rs_tl_rank *r, rs_tl_launcher *items, size_t n)
{
    RS_LOCAL rs_keyed *keys = rs_malloc((n + 1) * sizeof *keys);
    RS_LOCAL rs_tl_launcher *sorted = rs_malloc((n + 1) * sizeof *sorted);
    bool ok = keys && sorted;
    for (size_t i = 0; ok && i < n; i++) keys[i] = (rs_keyed){r->tree->row[items[i].node], (uint32_t)i};
    ok = ok && rs_keyed_sort(keys, n);
    for (size_t i = 0; ok && i < n; i++) keys[i].key = r->e->start[keys[i].key];
    ok = ok && rs_keyed_sort(keys, n);
    for (size_t i = 0; ok && i < n; i++) sorted[i] = items[keys[i].value];
    if (ok && n) memcpy(items, sorted, n * sizeof *items);
    return ok;
}

uint32_t rs_tl_text_id(rs_tl_rank *r, const char *text, size_t n, bool *ok)
{
    uint32_t id = *ok ? rs_strings_add(&r->pool.strings, text, n) : RS_NO_STRING;
    if (id == RS_NO_STRING) *ok = false;
    return id;
}

uint32_t rs_tl_tuple_id(rs_tl_rank *r, rs_column_id column, uint32_t row, bool *ok)
{
    return rs_pool_add_tuple(&r->pool, r->e, rs_events_text(r->e, column, row), ok);
}

bool rs_tl_operator_read(rs_tl_rank *r, uint32_t node, rs_tl_operator *out)
{
    uint32_t row = r->tree->row[node], thread = r->e->thread[row];
    bool ok = true;
    *out = (rs_tl_operator){.name = rs_pool_add(&r->pool, r->e, r->e->name[row], &ok),
                            .category = RS_NO_STRING,
                            .process = r->process[thread],
                            .label = r->label[thread],
                            .thread = r->thread[thread],
                            .dims = rs_tl_tuple_id(r, RS_COL_INPUT_DIMS, row, &ok),
                            .types = rs_tl_tuple_id(r, RS_COL_INPUT_TYPE, row, &ok),
                            .strides = rs_tl_tuple_id(r, RS_COL_INPUT_STRIDES, row, &ok),
                            .concrete = rs_tl_tuple_id(r, RS_COL_CONCRETE_INPUTS, row, &ok),
                            .again = rs_tl_is_recompute(r, node)};
    return ok;
}

static bool measure_all(rs_tl_rank *r, const rs_keyed *pairs, size_t n)
{
    bool ok = true;
    for (size_t i = 0, end; ok && i < n; i = end) {
        for (end = i + 1; end < n && pairs[end].key == pairs[i].key; end++) {
        }
        rs_tl_launcher *l = &r->launchers[r->n_launchers++];
        *l = (rs_tl_launcher){.node = (uint32_t)pairs[i].key, .first = (uint32_t)i, .n = (uint32_t)(end - i)};
        l->row = r->tree->row[l->node];
        for (size_t k = i; k < end; k++) r->own_work[k] = pairs[k].value;
        const char *category = rs_op_category(rs_tl_name(r, l->node), rs_event_name(r->e, r->own_work[i]));
        ok = rs_tl_operator_read(r, l->node, &l->op);
        l->op.category = rs_tl_text_id(r, category, strlen(category), &ok);
        ok = ok && rs_tl_union(r, r->own_work + i, l->n, &l->direct) && subtree_time(r, l->node, &l->subtree);
    }
    return ok && in_time(r, r->launchers, r->n_launchers);
}

static rs_status find_launchers(rs_tl_rank *r, rs_error *err)
{
    size_t n = 0, n_gpu = r->tree->n_gpu;
    RS_LOCAL rs_keyed *pairs = rs_malloc((n_gpu + 1) * sizeof *pairs);
    r->launchers = rs_malloc((n_gpu + 1) * sizeof *r->launchers);
    r->own_work = rs_malloc((n_gpu + 1) * sizeof *r->own_work);
    r->launcher_of = rs_calloc(r->tree->n + 1, sizeof *r->launcher_of);
    bool ok = pairs && r->launchers && r->own_work && r->launcher_of && pair_up(r, pairs, &n) &&
              measure_all(r, pairs, n);
    for (size_t i = 0; ok && i < r->n_launchers; i++) r->launcher_of[r->launchers[i].node] = (uint32_t)i + 1;
    return ok ? RS_OK : rs_fail_nomem(err, "launchers");
}

uint32_t rs_tl_operator_of(const rs_tl_rank *r, uint32_t call)
{
    return r->tree->op[call];
}

const char *rs_tl_name(const rs_tl_rank *r, uint32_t node)
{
    return rs_event_name(r->e, r->tree->row[node]);
}

/* ---- names of processes and threads -------------------------------------------------------------------- */

static uint32_t name_or_unknown(rs_tl_rank *r, uint32_t id, bool *ok)
{
    return id == RS_NO_STRING ? rs_tl_text_id(r, "Unknown", 7, ok) : rs_pool_add(&r->pool, r->e, id, ok);
}

/* A process is called what the file says of its thread 0. */
static rs_status read_names(rs_tl_rank *r, rs_error *err)
{
    const rs_events *e = r->e;
    rs_cursor names = rs_cursor_of(e, RS_COL_META_NAME), labels = rs_cursor_of(e, RS_COL_META_LABELS);
    RS_SCOPED(rs_map64_clear) rs_map64 zero = {0}; /* pid -> its thread 0, by index + 1 */
    RS_LOCAL uint32_t *own = rs_malloc((3 * e->n_threads + 1) * sizeof *own);
    r->process = rs_malloc((e->n_threads + 1) * sizeof *r->process);
    r->label = rs_malloc((e->n_threads + 1) * sizeof *r->label);
    r->thread = rs_malloc((e->n_threads + 1) * sizeof *r->thread);
    bool ok = own && r->process && r->label && r->thread;
    for (size_t i = 0; ok && i < 3 * e->n_threads; i++) own[i] = RS_NO_STRING;
    for (size_t row = 0; ok && row < e->n; row++) {
        if (e->phase[row] != 'M') continue;
        const char *name = rs_event_name(e, row);
        uint32_t *at = own + 3 * (size_t)e->thread[row];
        if (strcmp(name, "process_labels") == 0 && rs_cursor_seek(&labels, (uint32_t)row))
            at[1] = labels.column->texts[labels.at];
        else if (strcmp(name, "process_name") == 0 && rs_cursor_seek(&names, (uint32_t)row))
            at[0] = names.column->texts[names.at];
        else if (strcmp(name, "thread_name") == 0 && rs_cursor_seek(&names, (uint32_t)row))
            at[2] = names.column->texts[names.at];
    }
    for (size_t i = 0; ok && i < e->n_threads; i++) {
        if (e->threads[i].tid != 0) continue;
        uint32_t *place = rs_map64_put(&zero, (uint64_t)e->threads[i].pid, &(bool){false});
        ok = place != NULL;
        if (ok) *place = (uint32_t)i + 1;
    }
    for (size_t i = 0; ok && i < e->n_threads; i++) {
        const uint32_t *place = rs_map64_get(&zero, (uint64_t)e->threads[i].pid);
        r->process[i] = name_or_unknown(r, place ? own[3 * (size_t)(*place - 1)] : RS_NO_STRING, &ok);
        r->label[i] = name_or_unknown(r, place ? own[3 * (size_t)(*place - 1) + 1] : RS_NO_STRING, &ok);
        r->thread[i] = name_or_unknown(r, own[3 * i + 2], &ok);
    }
    return ok ? RS_OK : rs_fail_nomem(err, "names of threads");
}

/* ---- the rank ------------------------------------------------------------------------------------------ */

static rs_status rank_make(rs_trace *trace, const rs_tracelens_options *options, rs_tl_rank *out,
                           rs_error *err)
{
    *out = (rs_tl_rank){.trace = trace, .e = trace->events, .options = options};
    if (!rs_pool_init(&out->pool)) return rs_fail_nomem(err, "texts");
    RS_TRY(rs_trace_tree(trace, false, &out->tree, err));
    RS_TRY(rs_trace_classes(trace, RS_CLASSES_TRACELENS, &out->classes, err));
    if (options->recompute) RS_TRY(rs_tree_recompute(trace, out->tree, &out->recompute, err));
    RS_TRY(find_linked(out, err));
    RS_TRY(read_names(out, err));
    return find_launchers(out, err);
}

static void rank_clear(rs_tl_rank *r)
{
    rs_free_all(r->n_linked, r->call, r->launchers, r->own_work, r->launcher_of, r->process, r->label,
                r->thread);
    rs_pool_clear(&r->pool);
}

rs_status rs_tracelens_sheets(rs_trace *trace, const rs_tracelens_options *options, rs_sheets *out,
                              rs_error *err)
{
    rs_tl_rank r;
    RS_SCOPED(rs_tl_knowledge_clear) rs_tl_knowledge k = {0};
    *out = (rs_sheets){0};
    rs_status status = rank_make(trace, options, &r, err);
    if (status == RS_OK) status = rs_tl_add_timeline(&r, out, err);
    if (status == RS_OK) status = rs_tl_add_operators(&r, out, err);
    if (status == RS_OK) status = rs_tl_knowledge_make(&r, &k, err);
    if (status == RS_OK) status = rs_tl_add_unified(&k, out, err);
    if (status == RS_OK) status = rs_tl_add_families(&k, out, err);
    if (status == RS_OK) status = rs_tl_add_kernels(&r, out, err);
    if (status == RS_OK) status = rs_tl_add_collectives(&r, out, err);
    rank_clear(&r);
    return status;
}
