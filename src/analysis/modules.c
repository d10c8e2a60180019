/* modules: GPU time by nn.Module, forward, backward and computed again. */
#include <string.h>

#include "analysis/module_nodes.h"
#include "analysis/plan.h"
#include "base/try.h"
#include "trace/graft.h"

static const rs_option_spec options[] = {
    {"by", RS_OPTION_CHOICE, "WHAT", "instance|class", "instance",
     "instance: each module by itself (Linear_3); class: all of one class together (Linear)"},
    {"top", RS_OPTION_INT, "N", NULL, "0", "only the first N modules of a rank; 0: all"},
    {"fail-on", RS_OPTION_TEXT, "EXPR", NULL, NULL,
     "exit 1 when a row of the chosen table meets the expression: 'recompute_us > 1000'"},
};

typedef struct module_row {
    uint32_t name, parent;
    int64_t calls, own, total, forward, backward, recompute, host, all;
    int64_t kernels;
    uint32_t stamp; /* the last node whose time it got, + 1 */
} module_row;

typedef struct phase_row {
    uint8_t phase;
    int64_t time, pieces, all;
} phase_row;

/* What the trace has. */
typedef struct kept {
    bool modules, python; /* python: Python functions beside them */
} kept;

#define MODULE_ROW(CELL)                                                                                     \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(TEXT_ID(module_row, name), "module", TEXT, NONE,                                                    \
         "nn.Module; (no module): work below none, (unlinked): work without a launch in the file", NULL)     \
    CELL(TEXT_ID(module_row, parent), "parent", TEXT, NONE,                                                  \
         "the module around it where it was met first; unknown: none", NULL)                                 \
    CELL(OF(module_row, calls), "calls", INT, COUNT, "how often it was entered", NULL)                       \
    CELL(OF(module_row, total), "total_us", TIME, US,                                                        \
         "GPU time of it and of the modules in it: durations added up", "total")                             \
    CELL(OF(module_row, own), "own_us", TIME, US,                                                            \
         "... of that, below no module in it; the own times of all rows add up to the rank's GPU time",      \
         "own")                                                                                              \
    CELL(SHARE(module_row, total, all), "share_pct", REAL, PERCENT, "total_us of the rank's GPU time",       \
         "share %")                                                                                          \
    CELL(OF(module_row, forward), "forward_us", TIME, US, "total_us of the forward pass", "forward")         \
    CELL(OF(module_row, backward), "backward_us", TIME, US,                                                  \
         "total_us of the backward pass: of the operators whose forward operators are its own", "backward")  \
    CELL(OF(module_row, recompute), "recompute_us", TIME, US,                                                \
         "total_us of what activation checkpointing computes again", "recompute")                            \
    CELL(OF(module_row, kernels), "kernels", INT, COUNT, "pieces of GPU work in total_us", NULL)             \
    CELL(OF(module_row, host), "host_us", TIME, US, "time in it on the host", "host time")
RS_RECORD(module, MODULE_ROW);

#define PHASE_ROW(CELL)                                                                                                                         \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                                                   \
    CELL(                                                                                                                                       \
        WORD(phase_row, phase, rs_pass_names), "phase", TEXT, NONE,                                                                             \
        "forward: below a module, or an operator that autograd numbers; backward: below the autograd engine; recompute: forward operators run " \
        "again for activation checkpointing; optimizer: below Optimizer.step; other; unlinked: without a "                                      \
        "launch in the file",                                                                                                                   \
        NULL)                                                                                                                                   \
    CELL(OF(phase_row, time), "gpu_us", TIME, US, "GPU time: durations added up", "GPU time")                                                   \
    CELL(SHARE(phase_row, time, all), "share_pct", REAL, PERCENT, "of the rank's GPU time", "share %")                                          \
    CELL(OF(phase_row, pieces), "kernels", INT, COUNT, "pieces of GPU work", NULL)
RS_RECORD(phase, PHASE_ROW);

enum { MODULES, PHASES, KEPT };

typedef struct gatherer {
    rs_trace *trace;
    const rs_events *e;
    const rs_tree *t;
    rs_module_nodes nodes;
    bool by_class;
    phase_row phases[RS_N_PASSES];
    kept kept;
    rs_relations *out;
} gatherer;

/* ---- rows ---------------------------------------------------------------------------------------------- */

/* The row of a name, until the next one is asked for; NULL when out of memory. */
static module_row *row_called(gatherer *g, const char *text, size_t n)
{
    module_row key = {.name = rs_put_string_n(g->out, text, n), .parent = RS_NO_STRING};
    return rs_put(g->out, MODULES, &key);
}

/* Without "nn.Module: ", and by class without the number behind the name. */
static module_row *row_of_module(gatherer *g, uint32_t node)
{
    size_t n, digits = 0;
    const char *text = rs_module_text(&g->nodes, node, &n);
    while (digits < n && text[n - 1 - digits] >= '0' && text[n - 1 - digits] <= '9') digits++;
    if (g->by_class && digits && n > digits + 1 && text[n - 1 - digits] == '_') n -= digits + 1;
    return row_called(g, text, n);
}

static uint32_t module_above(const gatherer *g, uint32_t module)
{
    uint32_t parent = g->t->parent[module];
    return parent == RS_NO_NODE ? RS_NO_NODE : g->nodes.module[parent];
}

/* Names come in the order of the tree, an outer module before those in it. */
static bool list_modules(gatherer *g)
{
    for (uint32_t node = 0; node < g->t->n; node++) {
        uint32_t row = g->t->row[node], above = module_above(g, node), outer = RS_NO_STRING;
        if (g->nodes.module[node] != node) continue;
        module_row *r = above == RS_NO_NODE ? NULL : row_of_module(g, above);
        if (r) outer = r->name;
        r = row_of_module(g, node);
        if (!r) return false;
        if (r->calls++ == 0 && outer != r->name) r->parent = outer;
        int64_t length = g->e->duration[row];
        if (rs_is_grafted(g->e, row))
            r->host = RS_NO_TIME; /* and stays so */
        else if (length > 0 && r->host != RS_NO_TIME)
            r->host = rs_add_sat(r->host, length);
    }
    return true;
}

static void add_total(module_row *r, rs_pass phase, int64_t time, int64_t pieces)
{
    r->total = rs_add_sat(r->total, time);
    r->kernels += pieces;
    int64_t *part = phase == RS_PASS_BACKWARD    ? &r->backward
                    : phase == RS_PASS_RECOMPUTE ? &r->recompute
                    : phase == RS_PASS_FORWARD   ? &r->forward
                                                 : NULL;
    if (part) *part = rs_add_sat(*part, time);
}

/* A module around another of its own name gets the time once. */
static void add_once(const gatherer *g, module_row *r, uint32_t node, int64_t time, int64_t pieces)
{
    if (r->stamp != node + 1) add_total(r, g->nodes.pass[node], time, pieces);
    r->stamp = node + 1;
}

/* What runs a module again calls it alone: what is around it is what was around it the first time. */
static void add_to_first_parents(gatherer *g, const module_row *r, uint32_t node, int64_t time,
                                 int64_t pieces)
{
    for (size_t i = 0; r && i < g->out->items[MODULES].n && r->parent != RS_NO_STRING; i++) {
        module_row *above = rs_put(g->out, MODULES, &(module_row){.name = r->parent});
        if (above) add_once(g, above, node, time, pieces);
        r = above;
    }
}

static bool add_work(gatherer *g, uint32_t node, int64_t time, int64_t pieces)
{
    static const char none[] = "(no module)";
    rs_pass phase = g->nodes.pass[node];
    uint32_t module = rs_module_of_node(&g->nodes, node);
    module_row *r = module == RS_NO_NODE ? row_called(g, none, sizeof none - 1) : row_of_module(g, module);
    if (!r) return false;
    r->own = rs_add_sat(r->own, time);
    if (module == RS_NO_NODE) add_total(r, phase, time, pieces);
    for (uint32_t above; module != RS_NO_NODE; module = above) {
        r = row_of_module(g, module);
        if (!r) return false;
        add_once(g, r, node, time, pieces);
        above = module_above(g, module);
        if (above == RS_NO_NODE && g->nodes.recompute->again[module])
            add_to_first_parents(g, r, node, time, pieces);
    }
    g->phases[phase].time = rs_add_sat(g->phases[phase].time, time);
    g->phases[phase].pieces += pieces;
    return true;
}

/* ---- marks of a graph's capture ------------------------------------------------------------------------- */

/* By class, layers of one kind are one: "layers.3.mlp" is "layers.*.mlp". Returns the new length. */
static size_t fold_numbers(char *text)
{
    size_t n = 0;
    for (const char *p = text; *p; p++) {
        bool begins = p == text || p[-1] == '.';
        size_t digits = begins ? strspn(p, "0123456789") : 0;
        if (digits && (p[digits] == '.' || p[digits] == '\0')) {
            text[n++] = '*';
            p += digits - 1;
        } else {
            text[n++] = *p;
        }
    }
    text[n] = '\0';
    return n;
}

/* The work that a mark names counts for its module, "layers.0.mlp", and for those around it, "layers.0" and "layers". */
static bool add_marked(gatherer *g, uint32_t node, size_t i, uint32_t mark)
{
    const rs_string *name = &g->e->strings.items[mark];
    uint32_t row = g->t->gpu_row[i];
    uint32_t said = rs_events_text(g->e, RS_COL_AUTOGRAD_PHASE, row);
    bool backward = said != RS_NO_STRING && strcmp(g->e->strings.items[said].text, "backward") == 0;
    phase_row *phase = &g->phases[backward ? RS_PASS_BACKWARD : RS_PASS_FORWARD];
    int64_t time = rs_sub_sat(g->t->gpu_sum[i + 1], g->t->gpu_sum[i]), own = time;
    char *text = rs_strndup(name->text, name->length);
    if (!text) return false;
    size_t n = g->by_class ? fold_numbers(text) : strlen(text);
    while (n) {
        size_t outer = n;
        while (outer && text[outer - 1] != '.') outer--;
        outer -= outer > 0;
        uint32_t parent = outer ? rs_put_string_n(g->out, text, outer) : RS_NO_STRING;
        module_row *r = row_called(g, text, n);
        if (!r) break;
        if (r->parent == RS_NO_STRING) r->parent = parent;
        r->own = rs_add_sat(r->own, own);
        add_total(r, backward ? RS_PASS_BACKWARD : RS_PASS_FORWARD, time, 1);
        r->host = RS_NO_TIME;
        r->calls += r->stamp != node + 1;
        r->stamp = node + 1;
        own = 0;
        n = outer;
    }
    rs_free(text);
    g->kept.modules = true;
    phase->time = rs_add_sat(phase->time, time);
    phase->pieces++;
    return n == 0;
}

/* What a mark says of a piece of work: its module, else its region; RS_NO_STRING: nothing. */
static uint32_t mark_of(const gatherer *g, uint32_t row)
{
    uint32_t module = rs_events_text(g->e, RS_COL_MODULE, row);
    return module != RS_NO_STRING ? module : rs_events_text(g->e, RS_COL_META_NAME, row);
}

/* The pieces of a node's work that marks name; what is left of it stays in *time and *pieces. */
static bool add_all_marked(gatherer *g, uint32_t node, size_t first, size_t end, int64_t *time,
                           int64_t *pieces)
{
    const rs_tree *t = g->t;
    if (!g->e->args[RS_COL_MODULE].n && !g->e->args[RS_COL_META_NAME].n) return true;
    for (size_t i = first; i < end; i++) {
        uint32_t mark = mark_of(g, t->gpu_row[i]);
        if (mark == RS_NO_STRING) continue;
        if (!add_marked(g, node, i, mark)) return false;
        *time = rs_sub_sat(*time, rs_sub_sat(t->gpu_sum[i + 1], t->gpu_sum[i]));
        --*pieces;
    }
    return true;
}

static bool add_linked(gatherer *g)
{
    const rs_tree *t = g->t;
    bool ok = true;
    for (uint32_t node = 0; ok && node < t->n; node++) {
        size_t first = t->gpu_first[node];
        size_t end = rs_node_work_end(t, node);
        int64_t time = rs_sub_sat(t->gpu_sum[end], t->gpu_sum[first]), pieces = (int64_t)(end - first);
        ok = add_all_marked(g, node, first, end, &time, &pieces);
        if (ok && pieces) ok = add_work(g, node, time, pieces);
    }
    return ok;
}

static bool add_unlinked(gatherer *g, const rs_work *work)
{
    static const char name[] = "(unlinked)";
    phase_row *phase = &g->phases[RS_PASS_UNLINKED];
    for (size_t i = 0; i < work->n; i++) {
        if (work->launch[i] != RS_NO_ROW) continue;
        phase->time = rs_add_sat(phase->time, rs_sub_sat(work->end[i], work->start[i]));
        phase->pieces++;
    }
    if (!phase->pieces) return true;
    module_row *r = row_called(g, name, sizeof name - 1);
    if (!r) return false;
    r->own = r->total = phase->time;
    r->kernels = phase->pieces;
    return true;
}

static void put_phases(gatherer *g)
{
    int64_t all = 0;
    for (size_t i = 0; i < RS_N_PASSES; i++) all = rs_add_sat(all, g->phases[i].time);
    for (size_t i = 0; i < RS_N_PASSES; i++) {
        g->phases[i].phase = (uint8_t)i;
        g->phases[i].all = all;
        rs_put(g->out, PHASES, &g->phases[i]);
    }
    module_row *rows = g->out->items[MODULES].rows;
    for (size_t i = 0; i < g->out->items[MODULES].n; i++) rows[i].all = all;
}

static rs_status gather(const rs_run *run, gatherer *g, rs_error *err)
{
    const rs_work *work;
    RS_TRY(rs_trace_work(g->trace, run->policy, &work, err));
    RS_TRY(rs_module_nodes_make(g->trace, &g->nodes, err));
    g->t = g->nodes.t;
    g->kept = (kept){.modules = g->nodes.any, .python = g->nodes.recompute->has_python};
    if (!list_modules(g) || !add_linked(g) || !add_unlinked(g, work)) return rs_fail_nomem(err, "modules");
    put_phases(g);
    rs_put(g->out, KEPT, &g->kept);
    return RS_OK;
}

static rs_status put(const rs_run *run, rs_trace *trace, rs_relations *out, rs_error *err)
{
    gatherer g = {.trace = trace,
                  .e = trace->events,
                  .by_class = strcmp(rs_options_text(run->options, "by"), "class") == 0,
                  .out = out};
    rs_status status = gather(run, &g, err);
    rs_module_nodes_clear(&g.nodes);
    return status;
}

/* ---- the plan ------------------------------------------------------------------------------------------ */

static void note(const rs_run *run, const rs_partial *partial, const rs_relations *of, rs_result *result)
{
    const phase_row *phases = RS_ROWS(phase_row, of, PHASES);
    const kept *has = RS_ROWS(kept, of, KEPT);
    long long rank = (long long)partial->rank;
    int64_t pieces[RS_N_PASSES] = {0}, worked = 0;
    (void)run;
    for (size_t i = 0; i < of->items[PHASES].n; i++) worked |= pieces[phases[i].phase] = phases[i].pieces;
    if (!worked)
        rs_result_note(result, "rank %lld: no GPU work", rank);
    else if (!has->modules)
        rs_result_note(result,
                       "rank %lld: the trace names no modules: record with with_modules=True or "
                       "with_stack=True",
                       rank);
    if (worked && pieces[RS_PASS_BACKWARD] && has->modules && !has->python && !pieces[RS_PASS_RECOMPUTE])
        rs_result_note(result,
                       "rank %lld: without Python functions (with_stack=True) what activation checkpointing "
                       "computes again counts as backward, unless CheckpointFunctionBackward runs it",
                       rank);
}

static bool has_pieces(const rs_run *run, const rs_relations *of, const void *row)
{
    (void)run;
    (void)of;
    return ((const phase_row *)row)->pieces > 0;
}

static const rs_aggregate by_name[] = {RS_KEY_TEXT(module_row, name, module_row, name),
                                       RS_FIRST_TEXT(module_row, parent, module_row, parent),
                                       RS_BY_OWN_HAND(module_row, calls),
                                       RS_BY_OWN_HAND(module_row, own),
                                       RS_BY_OWN_HAND(module_row, total),
                                       RS_BY_OWN_HAND(module_row, forward),
                                       RS_BY_OWN_HAND(module_row, backward),
                                       RS_BY_OWN_HAND(module_row, recompute),
                                       RS_BY_OWN_HAND(module_row, host),
                                       RS_BY_OWN_HAND(module_row, all),
                                       RS_BY_OWN_HAND(module_row, kernels)};
static const rs_order by_total[] = {RS_FALLING(module_row, total)};
static const rs_field phase_more[] = {RS_FIELD(phase_row, all)};
static const rs_layout phase_layout = RS_RECORD_LAYOUT_AND(phase_row, phase, phase_more);
static const rs_field kept_fields[] = {RS_FIELDS(kept, modules, python)};
static const rs_layout kept_layout = RS_LAYOUT(kept, kept_fields);

static const rs_plan_relation relations[] = {
    [MODULES] = {RS_GROUPED(MODULES, module_row, module_row, by_name), .make = put, RS_IN_ORDER(by_total)},
    [PHASES] = {RS_LISTED(PHASES, phase_row, &phase_layout)},
    [KEPT] = {RS_LISTED(KEPT, kept, &kept_layout)},
};
static const rs_plan_table module_table = {RS_PLAN_TABLE("modules", "one row is one module of one rank",
                                                         module),
                                           .relation = MODULES, .top = "top"},
                           phase_table = {RS_PLAN_TABLE("phases", "one row is one phase of one rank", phase),
                                          .relation = PHASES, .shows = has_pieces};
static const rs_table_spec *const tables[] = {&module_table.spec, &phase_table.spec};
static const rs_plan plan = {RS_PLAN(relations, tables), .note = note, .gate = true};

const rs_analysis rs_analysis_modules = {
    .name = "modules",
    .group = "Call tree",
    .help = "GPU time by nn.Module: forward, backward, and what activation checkpointing computes again",
    .about =
        "Work belongs to the innermost nn.Module around its launch. Work of the backward pass belongs to the module\n"
        "of the forward operator with the same sequence number. Time is the sum of durations of GPU work, "
        "communication\nand copies among it, and every piece is in the own time of exactly one row.\n"
        "Computed again is what runs below torch.utils.checkpoint's recompute_fn (which only shows where Python "
        "functions\nwere recorded, with_stack=True) or in CheckpointFunctionBackward outside of the backward "
        "pass that this starts.\n"
        "Kernels of replayed CUDA graphs belong to the module that a mark of their capture names "
        "(torch.cuda.graph_annotations.mark_kernels\nwith module_fqn, else its name): layers.0.mlp is in "
        "layers.0 and layers; calls are replays.",
    .examples = "rankscope modules --top 20 trace.json.gz\nrankscope modules --by class traces/\n"
                "rankscope modules --table phases --format csv traces/",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .facets = {&rs_facet_work, &rs_facet_tree, &rs_facet_fwdbwd, &rs_facet_gpu_rows},
    .columns = RS_COLUMN_BIT(MODULE) | RS_COLUMN_BIT(AUTOGRAD_PHASE) | RS_COLUMN_BIT(META_NAME),
    .plan = &plan,
    .follows = RS_FOLLOWS_ALL | RS_FOLLOWS_CAPTURES,
};
