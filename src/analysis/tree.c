/* tree: who called whom down to the GPU work, as a tree, as stacks, as counts. */
#include <stdio.h>
#include <string.h>

#include "analysis/analysis.h"
#include "base/real.h"
#include "base/stats.h"
#include "base/interval.h"
#include "base/try.h"
#include "base/layout.h"
#include "table/relation.h"
#include "trace/folded_tree.h"
#include "trace/tree.h"
#include "table/cells.h"

static const rs_option_spec options[] = {
    {"root", RS_OPTION_TEXT, "NAME", NULL, NULL,
     "only what is inside of events of this name; * and ? match any text"},
    {"depth", RS_OPTION_INT, "N", NULL, "0", "only N levels; 0: all"},
    {"min-time", RS_OPTION_REAL, "US", NULL, "0", "leave out what takes less than US microseconds"},
    {"time", RS_OPTION_CHOICE, "WHAT", "gpu|host", "gpu", "what --min-time, the order and --folded go by"},
    {"python", RS_OPTION_FLAG, NULL, NULL, NULL, "with all Python functions, not only modules"},
    {"each", RS_OPTION_FLAG, NULL, NULL, NULL,
     "every event by itself, in order of time; else equal paths are one"},
    {"across", RS_OPTION_FLAG, NULL, NULL, NULL,
     "all ranks and threads as one tree: equal paths of names are one row of the table across"},
    {"stats", RS_OPTION_FLAG, NULL, NULL, NULL,
     "only counts: what was linked, roots, forward-backward links"},
    {"folded", RS_OPTION_FLAG, NULL, NULL, NULL,
     "stacks and their time in ns, as flame-graph tools read them"},
};

typedef struct stats {
    size_t linked, unlinked, host, roots, links, nodes, depth, misnested;
    int64_t busy, sum;
} stats;

#define TREE_ROW(CELL)                                                                                       \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(SET, "node", INT, ID, "number of the row within its rank", NULL)                                    \
    CELL(OF(rs_folded_node, parent), "parent", INT, ID, "the row it hangs on", NULL)                         \
    CELL(OF(rs_folded_node, depth), "depth", INT, ID, "0: thread, 1: its outermost events", NULL)            \
    CELL(OF(rs_folded_node, kind), "kind", TEXT, NONE, "thread, or the category of the event", NULL)         \
    CELL(TEXT(rs_folded_node, name, rs_folded_tree, pool.strings.n), "name", TEXT, NONE, "the event's name", \
         NULL)                                                                                               \
    CELL(OF(rs_folded_node, count), "count", INT, COUNT, "events in this row", NULL)                         \
    CELL(OF(rs_folded_node, gpu), "gpu_us", TIME, US, "union of the GPU work below each event, added up",    \
         "GPU time")                                                                                         \
    CELL(SET, "share_pct", REAL, PERCENT, "of the time the rank's linked GPU work runs", "share %")          \
    CELL(SET, "host_us", TIME, US, "summed duration on the host", "host time")                               \
    CELL(SET, "self_host_us", TIME, US, "... outside of the rows below", "self")                             \
    CELL(OF(rs_folded_node, n_kernels), "kernels", INT, COUNT, "pieces of GPU work", NULL)                   \
    CELL(SET, "uid", INT, ID, "position in traceEvents of the first event", "first")                         \
    CELL(OF(rs_folded_node, start), "start_us", MOMENT, US,                                                  \
         "its start, from the job's first event (with --absolute: as in the file)", "start")
RS_RECORD(tree, TREE_ROW);

#define STATS_ROW(CELL)                                                                                      \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(OF(stats, linked), "linked_gpu_events", INT, COUNT, "GPU work whose launch is in the file",         \
         "linked")                                                                                           \
    CELL(OF(stats, unlinked), "unlinked_gpu_events", INT, COUNT, "GPU work whose launch is not", "unlinked") \
    CELL(OF(stats, host), "host_events", INT, COUNT, "operators and runtime calls", NULL)                    \
    CELL(OF(stats, roots), "roots", INT, COUNT, "operators with no operator around them", NULL)              \
    CELL(OF(stats, links), "fwd_bwd_links", INT, COUNT,                                                      \
         "backward operators whose forward operator is known", "fwd-bwd")                                    \
    CELL(OF(stats, busy), "gpu_busy_us", TIME, US, "union of the linked GPU work", "GPU busy")               \
    CELL(OF(stats, sum), "gpu_sum_us", TIME, US, "summed duration of the linked GPU work", "GPU sum")        \
    CELL(OF(stats, nodes), "nodes", INT, COUNT, "host events in the tree, modules and annotations included", \
         NULL)                                                                                               \
    CELL(OF(stats, depth), "max_depth", INT, COUNT, "deepest nesting of host events", NULL)                  \
    CELL(OF(stats, misnested), "misnested", INT, COUNT,                                                      \
         "annotations and Python functions that end outside what they begin in", NULL)
RS_RECORD(stats, STATS_ROW);

/* All ranks as one tree; its rows are paths of names. */
typedef struct across {
    rs_relation rows;
    rs_grouper grouper;
    rs_strings texts;
    int64_t *above; /* by depth: the row that the path to a node has come through */
    size_t depths;
} across;

typedef struct across_row {
    int64_t parent; /* -1: none */
    uint32_t kind, name;
    int64_t depth, paths, count, gpu, host, self, kernels;
} across_row;

#define ACROSS_ROW(CELL)                                                                                     \
    CELL(SET, "node", INT, ID, "number of the row", NULL)                                                    \
    CELL(ID(across_row, parent), "parent", INT, ID, "the row it hangs on", NULL)                             \
    CELL(OF(across_row, depth), "level", INT, ID, "1: outermost", NULL)                                      \
    CELL(TEXT(across_row, kind, across, texts.n), "kind", TEXT, NONE, "the category of the event", NULL)     \
    CELL(TEXT(across_row, name, across, texts.n), "name", TEXT, NONE, "the event's name", NULL)              \
    CELL(OF(across_row, paths), "paths", INT, COUNT, "rows of ranks and threads that it adds up", NULL)      \
    CELL(OF(across_row, count), "count", INT, COUNT, "events in this row", NULL)                             \
    CELL(OF(across_row, gpu), "gpu_us", TIME, US, "union of the GPU work below each event, added up",        \
         "GPU time")                                                                                         \
    CELL(OF(across_row, host), "host_us", TIME, US, "summed duration on the host", "host time")              \
    CELL(OF(across_row, self), "self_host_us", TIME, US, "... outside of the rows below", "self")            \
    CELL(OF(across_row, kernels), "kernels", INT, COUNT, "pieces of GPU work", NULL)
RS_RECORD(across, ACROSS_ROW);

static const rs_column_spec folded_columns[] = {
    {"stack", RS_TEXT, RS_UNIT_NONE, "names from the rank down, joined by ;", NULL},
    {"time_ns", RS_TIME, RS_UNIT_NS, "GPU time of the work at its end, or host time outside of what it calls",
     NULL},
};

static const rs_table_spec tree_table =
    RS_TABLE("tree", "one row is one path of calls of one rank", tree_columns);
static const rs_table_spec stats_table = RS_TABLE("stats", "one row is one rank", stats_columns);
static const rs_table_spec folded_table = RS_TABLE("folded", "one row is one stack", folded_columns);
static const rs_table_spec across_table =
    RS_TABLE("across", "one row is one path of calls of all ranks, the longest first; filled with --across",
             across_columns);
static const rs_table_spec *const tables[] = {&tree_table, &stats_table, &folded_table, &across_table};
static const rs_table_set sets[] = {{RS_COMPAT_NONE, tables, 4}};
enum { TABLE_TREE, TABLE_STATS, TABLE_FOLDED, TABLE_ACROSS };

typedef struct tree_partial {
    stats stats;
    rs_folded_tree *tree; /* NULL with --stats */
} tree_partial;

static void free_partial(void *partial)
{
    tree_partial *p = partial;
    if (!p) return;
    rs_folded_tree_free(p->tree);
    rs_free(p);
}

static rs_status take_stats(rs_trace *trace, bool python, stats *s, rs_error *err)
{
    rs_tree *t;
    const rs_fwdbwd *links;
    rs_status status = rs_trace_tree(trace, python, &t, err);
    if (status == RS_OK) status = rs_tree_fwdbwd(trace, t, &links, &s->links, err);
    if (status == RS_OK) status = rs_tree_total_busy(trace, t, &s->busy, err);
    if (status != RS_OK) return status;
    s->linked = t->n_gpu;
    s->unlinked = t->n_unlinked;
    s->host = t->n_host;
    s->roots = t->n_roots;
    s->nodes = t->n;
    s->misnested = t->n_misnested;
    s->sum = t->gpu_sum[t->n_gpu];
    for (size_t i = 0; i < t->n; i++)
        if (t->depth[i] + 1 > s->depth) s->depth = t->depth[i] + 1;
    return RS_OK;
}

static rs_status rank(const rs_run *run, rs_trace *trace, void **partial, rs_error *err)
{
    const rs_options *o = run->options;
    double min_us = rs_options_real(o, "min-time");
    if (!(min_us >= 0 && min_us < 1e15)) return rs_fail(err, RS_ERR_USAGE, "--min-time must be 0 or more");
    rs_folded_settings settings = {.root = rs_options_text(o, "root"),
                                   .depth = rs_options_int(o, "depth"),
                                   .min_time = rs_int_near(min_us * 1000),
                                   .by_host = strcmp(rs_options_text(o, "time"), "host") == 0,
                                   .each = rs_options_flag(o, "each"),
                                   .python = rs_options_flag(o, "python")};
    if (settings.by_host && trace->events->n_grafted)
        return rs_fail(err, RS_ERR_USAGE,
                       "--time host: operators of replayed graphs (--captures) have no time on the host");
    tree_partial *p = rs_calloc(1, sizeof *p);
    if (!p) return rs_fail_nomem(err, "call tree");
    rs_status status = rs_options_flag(o, "stats") ? take_stats(trace, settings.python, &p->stats, err)
                                                   : rs_fold_tree(trace, &settings, &p->tree, err);
    if (status != RS_OK) {
        free_partial(p);
        return status;
    }
    *partial = p;
    return RS_OK;
}

/* ---- tables -------------------------------------------------------------------------------------------- */

static rs_status add_tree(rs_table *t, int64_t number, const rs_folded_tree *tree, rs_error *err)
{
    rs_table_use_texts(t, &tree->pool.strings);
    for (size_t i = 0; i < tree->n; i++) {
        const rs_folded_node *n = &tree->nodes[i];
        rs_table_put(t, &tree_record, number, n);
        rs_table_set_int(t, "node", (int64_t)i);
        rs_table_set_real(t, "share_pct", rs_percent(n->gpu, tree->busy));
        rs_table_set_time(t, "host_us", n->is_gpu || n->no_host ? RS_NO_TIME : n->host);
        rs_table_set_time(t, "self_host_us", n->is_gpu || n->no_host ? RS_NO_TIME : n->self);
        rs_table_set_int(t, "uid", n->start == RS_NO_TIME ? RS_NO_VALUE : n->uid);
        RS_TRY(rs_table_end_row(t, err));
    }
    return RS_OK;
}

/* A name as a frame of a stack: ; and line ends mean something there. */
static void append_frame(char *to, const char *name)
{
    for (; *name; name++) *to++ = *name == ';' ? ':' : *name == '\n' || *name == '\r' ? ' ' : *name;
    *to = '\0';
}

static rs_status add_folded(rs_table *t, int64_t number, const rs_folded_tree *tree, bool by_host,
                            rs_error *err)
{
    RS_LOCAL char *stack = NULL;
    size_t capacity = 0, depths = 0;
    size_t *ends = NULL; /* length of the stack up to each depth */
    rs_status status = RS_OK;
    for (size_t i = 0; status == RS_OK && i < tree->n; i++) {
        const rs_folded_node *n = &tree->nodes[i];
        const char *name = rs_pool_text(&tree->pool, n->name);
        size_t at = n->depth ? ends[n->depth - 1] : 0;
        if (!rs_grow((void **)&ends, &depths, (size_t)n->depth + 1, sizeof *ends) ||
            !rs_grow((void **)&stack, &capacity, at + strlen(name) + 40, 1)) {
            status = rs_fail_nomem(err, "stacks");
            break;
        }
        if (n->depth == 0) at = (size_t)snprintf(stack, 40, "rank %lld", (long long)number);
        stack[at++] = ';';
        append_frame(stack + at, name);
        ends[n->depth] = at + strlen(name);
        /* GPU time lies in the work itself, or where --depth cut it off */
        bool is_leaf = i + 1 == tree->n || tree->nodes[i + 1].depth <= n->depth;
        int64_t time = by_host ? n->self : n->is_gpu || is_leaf ? n->gpu : 0;
        if (time <= 0) continue;
        status = RS_PUT_ROW(t, err, stack, time);
    }
    rs_free(ends);
    return status;
}

/* ---- all ranks as one tree ----------------------------------------------------------------------------- */

static const rs_aggregate by_path[] = {
    RS_KEY(across_row, parent, across_row, parent), RS_KEY(across_row, kind, across_row, kind),
    RS_KEY(across_row, name, across_row, name),     RS_COUNTED(across_row, paths),
    RS_FIRST(across_row, depth, across_row, depth), RS_SUMMED(across_row, count, across_row, count),
    RS_SUMMED(across_row, gpu, across_row, gpu),    RS_SUMMED(across_row, host, across_row, host),
    RS_SUMMED(across_row, self, across_row, self),  RS_SUMMED(across_row, kernels, across_row, kernels),
};

/* Threads differ from rank to rank: what is outermost on them is outermost here. */
static bool add_across(across *x, const rs_folded_tree *tree)
{
    for (size_t i = 0; i < tree->n; i++) {
        const rs_folded_node *n = &tree->nodes[i];
        const char *name = rs_pool_text(&tree->pool, n->name);
        if (!rs_grow((void **)&x->above, &x->depths, (size_t)n->depth + 1, sizeof *x->above)) return false;
        x->above[n->depth] = -1;
        if (n->depth == 0) continue;
        const bool no_host = n->is_gpu || n->no_host;
        const across_row row = {.parent = x->above[n->depth - 1],
                                .kind = rs_strings_add(&x->texts, n->kind, strlen(n->kind)),
                                .name = rs_strings_add(&x->texts, name, strlen(name)),
                                .depth = n->depth,
                                .count = (int64_t)n->count,
                                .gpu = n->gpu,
                                .host = no_host ? 0 : n->host,
                                .self = no_host ? 0 : n->self,
                                .kernels = (int64_t)n->n_kernels};
        if (row.kind == RS_NO_STRING || row.name == RS_NO_STRING) return false;
        const across_row *group = rs_grouper_add(&x->grouper, &row);
        if (!group) return false;
        x->above[n->depth] = group - (const across_row *)x->rows.rows;
    }
    return true;
}

/* The longest first; a row takes no less than those below it, and is put before them. */
static rs_status put_across(const across *x, bool by_host, rs_table *t, rs_error *err)
{
    const across_row *rows = x->rows.rows;
    RS_LOCAL rs_keyed *order = rs_malloc((x->rows.n + 1) * sizeof *order);
    RS_LOCAL int64_t *place = rs_malloc((x->rows.n + 1) * sizeof *place);
    if (!order || !place) return rs_fail_nomem(err, "call tree");
    for (size_t i = 0; i < x->rows.n; i++)
        order[i] = (rs_keyed){by_host ? -rows[i].host : -rows[i].gpu, (uint32_t)i};
    if (!rs_keyed_sort(order, x->rows.n)) return rs_fail_nomem(err, "call tree");
    for (size_t i = 0; i < x->rows.n; i++) place[order[i].value] = (int64_t)i;
    rs_table_use_texts(t, &x->texts);
    for (size_t i = 0; i < x->rows.n; i++) {
        across_row row = rows[order[i].value];
        if (row.parent >= 0) row.parent = place[row.parent];
        rs_table_put(t, &across_record, 0, &row);
        rs_table_set_int(t, "node", (int64_t)i);
        RS_TRY(rs_table_end_row(t, err));
    }
    return RS_OK;
}

static rs_status merge_across(const rs_partial *partials, size_t n, bool by_host, rs_table *t, rs_error *err)
{
    across x = {.rows = {.size = sizeof(across_row)}};
    rs_grouper_open(&x.grouper, by_path, sizeof by_path / sizeof *by_path, &x.rows);
    bool ok = rs_strings_init(&x.texts);
    for (size_t i = 0; ok && i < n; i++) {
        const tree_partial *p = partials[i].value;
        if (p && p->tree) ok = add_across(&x, p->tree);
    }
    ok = rs_grouper_close(&x.grouper) && ok;
    rs_status status = ok ? put_across(&x, by_host, t, err) : rs_fail_nomem(err, "call tree");
    rs_table_use_texts(t, NULL);
    rs_relation_clear(&x.rows);
    rs_strings_clear(&x.texts);
    rs_free(x.above);
    return status;
}

static void say_why_empty(const rs_run *run, const rs_partial *partial, rs_result *result)
{
    const tree_partial *p = partial->value;
    const char *root = rs_options_text(run->options, "root");
    long long number = (long long)partial->rank;
    if (p->tree && root && p->tree->n_found == 0)
        rs_result_note(result, "rank %lld: no host event is named %.80s", number, root);
    else if (p->tree ? p->tree->n_host == 0 : p->stats.host == 0)
        rs_result_note(result, "rank %lld: no operators or runtime calls in the file", number);
    else if (p->tree && p->tree->busy == 0 && !rs_options_flag(run->options, "stats"))
        rs_result_note(result,
                       "rank %lld: no GPU work with a launch in the file; --time host goes by host time",
                       number);
}

static rs_status merge(const rs_run *run, rs_partial *partials, size_t n, rs_result *result, rs_error *err)
{
    const rs_options *o = run->options;
    bool by_host = strcmp(rs_options_text(o, "time"), "host") == 0, folded = rs_options_flag(o, "folded");
    bool only_stats = rs_options_flag(o, "stats");
    const bool all = rs_options_flag(o, "across") && !only_stats && !folded;
    result->main_table = only_stats ? TABLE_STATS : folded ? TABLE_FOLDED : all ? TABLE_ACROSS : TABLE_TREE;
    rs_table *t = result->tables[result->main_table];
    rs_status status = RS_OK;
    for (size_t i = 0; status == RS_OK && i < n; i++) {
        const tree_partial *p = partials[i].value;
        if (!p) continue;
        say_why_empty(run, &partials[i], result);
        if (all || (!only_stats && !p->tree)) continue;
        status = only_stats ? rs_table_put_row(t, &stats_record, partials[i].rank, &p->stats, err)
                 : folded   ? add_folded(t, partials[i].rank, p->tree, by_host, err)
                            : add_tree(t, partials[i].rank, p->tree, err);
    }
    if (status == RS_OK && all) status = merge_across(partials, n, by_host, t, err);
    return status;
}

/* ---- what travels ------------------------------------------------------------------------------------- */

static const rs_layout stats_layout = RS_RECORD_LAYOUT(stats, stats);

static const rs_field node_fields[] = {
    RS_FIELDS(rs_folded_node, parent, depth),
    RS_FIELD_INDEX(rs_folded_node, name, rs_folded_tree, pool.strings.n),
    RS_FIELDS(rs_folded_node, kind, uid, start, count, host, no_host, gpu, self, n_kernels, is_gpu),
};
static const rs_layout node_layout = RS_LAYOUT(rs_folded_node, node_fields);

/* A node lies at most one level below the one before it: stacks are told from that. */
static bool nodes_nest(const void *value)
{
    const rs_folded_tree *t = value;
    for (size_t i = 0; i < t->n; i++)
        if (t->nodes[i].depth > (i ? (uint64_t)t->nodes[i - 1].depth + 1 : 0)) return false;
    return true;
}

static const rs_field folded_fields[] = {
    RS_FIELD_STRINGS(rs_folded_tree, pool.strings),
    RS_FIELD_LIST(rs_folded_tree, nodes, n, &node_layout),
    RS_FIELDS(rs_folded_tree, busy, n_host, n_found),
};
static const rs_layout folded_layout = RS_LAYOUT_CHECKED(rs_folded_tree, folded_fields, nodes_nest);

static const rs_field tree_fields[] = {
    RS_FIELD_STRUCT(tree_partial, stats, &stats_layout),
    RS_FIELD_ONE_OR_NONE(tree_partial, tree, &folded_layout),
};
static const rs_layout tree_layout = RS_LAYOUT(tree_partial, tree_fields);

const rs_analysis rs_analysis_tree = {
    .name = "tree",
    .group = "Call tree",
    .help = "The call tree from modules and operators down to GPU work, with the time of each part",
    .about =
        "Host events nest by time on their thread; GPU work hangs on the call that launched it. Each row is "
        "one "
        "path\nof names and adds up the events that have it; --each shows events one by one. GPU time of an "
        "event is the\nunion of all work below it, wherever and whenever that ran. Modules (nn.Module) are "
        "shown "
        "where Python\nfunctions were recorded, all Python functions with --python. Work whose launch is not "
        "in the file is in\nno tree; --stats counts it.\n\n"
        "--across adds up equal paths of all ranks.\n\n"
        "--format json nests the rows: each has its rows below it as children.",
    .examples =
        "rankscope tree --across --depth 6 traces/\nrankscope tree --depth 4 --min-time 100 trace.json.gz\n"
        "rankscope tree --root 'nn.Module: Attention*' trace.json.gz\n"
        "rankscope tree --folded trace.json.gz | flamegraph.pl --countname ns > gpu.svg",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .facets = {&rs_facet_tree, &rs_facet_fwdbwd, &rs_facet_span},
    .columns = RS_COLUMN_BIT(META_NAME),
    .table_sets = sets,
    .n_table_sets = 1,
    .follows = RS_FOLLOWS_ALL | RS_FOLLOWS_CAPTURES,
    .rank = rank,
    .merge = merge,
    .free_partial = free_partial,
    .partial_layout = &tree_layout,
};
