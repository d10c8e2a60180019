#include "trace/launcher_rows.h"

#include <string.h>

#include "base/search.h"
#include "base/try.h"
#include "trace/categories.h"
#include "trace/graft.h"

typedef struct context {
    rs_trace *trace;
    const rs_events *e;
    const rs_tree *t;
    uint32_t *module; /* by node */
    const rs_step *steps;
    size_t n_steps;
    const rs_fwdbwd *links;
    size_t n_links;
} context;

/* The forward operator of the nearest backward wrapper above. */
static uint32_t forward_of(const context *c, uint32_t node)
{
    for (uint32_t at = node; c->n_links && at != RS_NO_NODE; at = c->t->parent[at]) {
        size_t low;
        RS_SEARCH(low, c->n_links, c->links[low].backward < at);
        if (low < c->n_links && c->links[low].backward == at) return c->t->row[c->links[low].forward];
    }
    return RS_NO_ROW;
}

/* Arguments are read in the order of the file, one walk over each column. */
typedef struct args_walk {
    rs_cursor dims, types, strides, concrete;
} args_walk;

static uint32_t text_at(rs_cursor *cursor, uint32_t row)
{
    return rs_cursor_seek(cursor, row) ? cursor->column->texts[cursor->at] : RS_NO_STRING;
}

static bool fill(const context *c, const rs_launcher *l, args_walk *walk, rs_pool *pool, rs_launcher_row *out)
{
    const rs_events *e = c->e;
    uint32_t row = c->t->row[l->node], module = c->module[l->node];
    const char *category = rs_op_category(rs_event_name(e, row), rs_event_name(e, l->first_kernel));
    bool ok = true;
    *out = (rs_launcher_row){
        .uid = row,
        .name = rs_pool_add(pool, e, e->name[row], &ok),
        .category = rs_strings_add(&pool->strings, category, strlen(category)),
        .start = e->start[row],
        .duration = rs_is_grafted(e, row) ? RS_NO_TIME : e->duration[row],
        .direct = l->direct,
        .subtree = l->subtree,
        .n_kernels = l->n_kernels,
        .dims = rs_pool_add_tuple(pool, e, text_at(&walk->dims, row), &ok),
        .types = rs_pool_add_tuple(pool, e, text_at(&walk->types, row), &ok),
        .strides = rs_pool_add_tuple(pool, e, text_at(&walk->strides, row), &ok),
        .concrete = rs_pool_add_tuple(pool, e, text_at(&walk->concrete, row), &ok),
        .module = module == RS_NO_NODE ? RS_NO_STRING : rs_pool_add(pool, e, e->name[c->t->row[module]], &ok),
        .step = rs_trace_step_at(c->steps, c->n_steps, e->threads[e->thread[row]].pid, e->start[row]),
        .forward = forward_of(c, l->node),
    };
    return ok && out->category != RS_NO_STRING;
}

static bool fill_all(const context *c, const rs_launcher *launchers, size_t n, rs_pool *pool, rs_relation *r)
{
    args_walk walk = {rs_cursor_of(c->e, RS_COL_INPUT_DIMS), rs_cursor_of(c->e, RS_COL_INPUT_TYPE),
                      rs_cursor_of(c->e, RS_COL_INPUT_STRIDES), rs_cursor_of(c->e, RS_COL_CONCRETE_INPUTS)};
    RS_LOCAL rs_keyed *order = rs_malloc((n + 1) * sizeof *order);
    rs_launcher_row *rows = r->rows = rs_malloc((n + 1) * sizeof *rows);
    bool ok = order && rows;
    for (size_t i = 0; ok && i < n; i++) order[i] = (rs_keyed){c->t->row[launchers[i].node], (uint32_t)i};
    ok = ok && rs_keyed_sort(order, n);
    for (size_t i = 0; ok && i < n; i++) {
        uint32_t at = order[i].value;
        ok = fill(c, &launchers[at], &walk, pool, &rows[at]);
    }
    r->n = ok ? n : 0;
    r->capacity = n;
    return ok;
}

rs_status rs_launcher_rows_of(rs_trace *trace, rs_pool *pool, rs_relation *rows, rs_launcher_counts *counts,
                              rs_error *err)
{
    context c = {.trace = trace, .e = trace->events};
    rs_tree *tree;
    const rs_launcher *launchers = NULL;
    size_t n = 0;
    RS_TRY(rs_trace_tree(trace, false, &tree, err));
    RS_TRY(rs_trace_steps(trace, &c.steps, &c.n_steps, err));
    RS_TRY(rs_tree_launchers(trace, tree, &launchers, &n, err));
    c.t = tree;
    if (c.e->loaded & RS_COLUMN_BIT(SEQUENCE_NUMBER))
        RS_TRY(rs_tree_fwdbwd(trace, tree, &c.links, &c.n_links, err));
    *counts = (rs_launcher_counts){tree->n_gpu, tree->n_unlinked};
    c.module = rs_tree_modules(trace, tree);
    bool ok = c.module && fill_all(&c, launchers, n, pool, rows);
    rs_free(c.module);
    return ok ? RS_OK : rs_fail_nomem(err, "launchers");
}

const char *rs_launcher_rows_lack(const rs_launcher_counts *counts)
{
    return counts->n_gpu        ? "no operator launched anything but communication"
           : counts->n_unlinked ? "the launches of its GPU work are not in the file"
                                : "no GPU work";
}
