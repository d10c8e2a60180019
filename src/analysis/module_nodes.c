/* modules: the module and the pass of each node of the call tree. */
#include "analysis/module_nodes.h"

#include <string.h>

#include "base/memory.h"
#include "base/try.h"

const char *const rs_pass_names[RS_N_PASSES] = {"forward",   "backward", "recompute",
                                                "optimizer", "other",    "unlinked"};

static bool is_module(const rs_module_nodes *g, uint32_t row)
{
    return rs_event_kind(g->e, row) == RS_KIND_PYTHON_FUNCTION &&
           rs_is_module_name(&g->e->strings.items[g->e->name[row]]);
}

static bool is_optimizer(const rs_string *name)
{
    return strncmp(name->text, "Optimizer.step#", 15) == 0;
}

/* Whether autograd gave an operator a number, so that its backward function can be told. */
static bool is_numbered(const rs_module_nodes *g, uint32_t node)
{
    int64_t sequence;
    return g->t->op[node] == node &&
           rs_events_int(g->e, RS_COL_SEQUENCE_NUMBER, g->t->row[node], &sequence) && sequence >= 0;
}

/* The forward operator of a backward wrapper: the one on another thread that links tell, or one that was computed
 * again on this thread, which is nearer. */
static uint32_t forward_of(const rs_module_nodes *g, uint32_t node, const rs_fwdbwd *links, size_t n,
                           size_t *link)
{
    int64_t sequence;
    while (*link < n && links[*link].backward < node) ++*link;
    if (rs_events_int(g->e, RS_COL_SEQUENCE_NUMBER, g->t->row[node], &sequence)) {
        const uint32_t *again = rs_map64_get(&g->again, (uint64_t)sequence);
        if (again) return *again;
    }
    bool linked = *link < n && links[*link].backward == node;
    return linked ? links[*link].forward : RS_NO_NODE;
}

static bool remember_again(rs_module_nodes *g, uint32_t node)
{
    int64_t sequence;
    bool is_new;
    if (g->t->op[node] != node || !rs_events_int(g->e, RS_COL_SEQUENCE_NUMBER, g->t->row[node], &sequence) ||
        sequence < 0)
        return true;
    uint32_t *place = rs_map64_put(&g->again, (uint64_t)sequence, &is_new);
    if (place) *place = node;
    return place != NULL;
}

/* Parents stand before their children. */
static bool settle_nodes(rs_module_nodes *g, const rs_fwdbwd *links, size_t n)
{
    const rs_tree *t = g->t;
    size_t link = 0;
    for (uint32_t node = 0; node < t->n; node++) {
        uint32_t parent = t->parent[node], row = t->row[node];
        const rs_string *name = &g->e->strings.items[g->e->name[row]];
        uint8_t above = parent == RS_NO_NODE ? RS_PASS_OTHER : g->pass[parent];
        g->forward[node] = parent == RS_NO_NODE ? RS_NO_NODE : g->forward[parent];
        g->module[node] = is_module(g, row) ? node : parent == RS_NO_NODE ? RS_NO_NODE : g->module[parent];
        g->any = g->any || g->module[node] == node;
        if (g->recompute->again[node]) {
            above = RS_PASS_RECOMPUTE;
            if (!remember_again(g, node)) return false;
        } else if (t->op[node] == node && rs_is_backward_wrapper(name)) {
            above = RS_PASS_BACKWARD;
            g->forward[node] = forward_of(g, node, links, n, &link);
        } else if (above == RS_PASS_RECOMPUTE) {
            above = RS_PASS_BACKWARD; /* a backward pass that the recomputation starts */
        } else if (above == RS_PASS_OTHER) {
            above = is_optimizer(name)                                      ? RS_PASS_OPTIMIZER
                    : g->module[node] != RS_NO_NODE || is_numbered(g, node) ? RS_PASS_FORWARD
                                                                            : RS_PASS_OTHER;
        }
        g->pass[node] = above;
    }
    return true;
}

uint32_t rs_module_of_node(const rs_module_nodes *g, uint32_t node)
{
    uint32_t forward = g->forward[node];
    if (g->pass[node] == RS_PASS_BACKWARD && forward != RS_NO_NODE && g->module[forward] != RS_NO_NODE)
        return g->module[forward];
    return g->module[node];
}

const char *rs_module_text(const rs_module_nodes *g, uint32_t module, size_t *length)
{
    const rs_string *name = &g->e->strings.items[g->e->name[g->t->row[module]]];
    const char *text = name->text + 10;
    size_t n = name->length - 10;
    for (; n && *text == ' '; n--) text++;
    *length = n;
    return text;
}

rs_status rs_module_nodes_make(rs_trace *trace, rs_module_nodes *out, rs_error *err)
{
    const rs_fwdbwd *links;
    size_t n_links;
    rs_tree *tree;
    *out = (rs_module_nodes){.e = trace->events};
    RS_TRY(rs_trace_tree(trace, false, &tree, err));
    RS_TRY(rs_tree_fwdbwd(trace, tree, &links, &n_links, err));
    RS_TRY(rs_tree_recompute(trace, tree, &out->recompute, err));
    out->t = tree;
    out->module = rs_malloc((tree->n + 1) * sizeof *out->module);
    out->forward = rs_malloc((tree->n + 1) * sizeof *out->forward);
    out->pass = rs_malloc((tree->n + 1) * sizeof *out->pass);
    bool ok = out->module && out->forward && out->pass && settle_nodes(out, links, n_links);
    return ok ? RS_OK : rs_fail_nomem(err, "modules");
}

void rs_module_nodes_clear(rs_module_nodes *g)
{
    rs_free_all(g->module, g->forward, g->pass);
    rs_map64_clear(&g->again);
    *g = (rs_module_nodes){0};
}
