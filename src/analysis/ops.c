/* ops: the launchers added up by operator, by kind of operator, or by operator and arguments. */
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/busy.h"
#include "analysis/layouts.h"
#include "analysis/ops_host.h"
#include "analysis/ops_perf.h"
#include "base/interval.h"
#include "base/stats.h"
#include "base/try.h"
#include "trace/launcher_rows.h"
#include "trace/launchers.h"

static const rs_option_spec options[] = {
    {"by", RS_OPTION_CHOICE, "WHAT", "op|category|args", "op",
     "op: the operator's name; category: its kind; args: name, shapes, types, strides and values of the "
     "inputs"},
    {"host", RS_OPTION_FLAG, NULL, NULL, NULL,
     "where the host's own time goes instead: all operators and annotations, whether they launch work or "
     "not"},
    {"perf", RS_OPTION_FLAG, NULL, NULL, NULL,
     "what operators compute and move instead, by operator and arguments, against what the device could do"},
    {"device", RS_OPTION_TEXT, "NAME|FILE", NULL, NULL,
     "with --perf, what the device can do: a name of the built-in table, or a JSON file; default: as the trace "
     "says"},
    {"top", RS_OPTION_INT, "N", NULL, "0", "only the first N rows of a rank; 0: all"},
};

#define DIRECT "union of the work each launcher launched itself, communication left out, added up"
#define SUBTREE "union of all work below each launcher, communication included, added up"
typedef struct group {
    const char *name, *dims, *types, *strides, *concrete; /* in the pool; NULL: not recorded */
    const char *category;
    char *categories; /* all kinds, of BY_OP */
    uint32_t uid;
    rs_moments direct;
    int64_t subtree;
    size_t n_kernels;
} group;

typedef struct across {
    const char *name;
    size_t n_ranks;
    uint64_t count;
    int64_t sum, min, max, min_rank, max_rank;
} across;

#define SHARE_CELLS(CELL)                                                                                    \
    CELL(SET, "share_pct", REAL, PERCENT, "of the rank's direct time", "share %")                            \
    CELL(SET, "cumulative_pct", REAL, PERCENT, "share of this and all rows above it", "cumulative %")

#define OP_ROW(CELL)                                                                                         \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(MAYBE(group, name), "name", TEXT, NONE,                                                             \
         "operator, or the runtime call where no operator is around it", NULL)                               \
    CELL(OF(group, direct.n), "count", INT, COUNT, "how often it launched", NULL)                            \
    CELL(OF(group, direct.sum), "total_direct_kernel_time_us", TIME, US, DIRECT, "direct")                   \
    CELL(OF(group, subtree), "total_subtree_kernel_time_us", TIME, US, SUBTREE, "subtree")                   \
    CELL(OF(group, n_kernels), "kernels", INT, COUNT, "pieces of work", NULL)                                \
    SHARE_CELLS(CELL)                                                                                        \
    CELL(MAYBE(group, categories), "categories", TEXT, NONE, "its kinds, joined by |", NULL)
RS_RECORD(op, OP_ROW);

#define CATEGORY_ROW(CELL)                                                                                   \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(MAYBE(group, category), "op_category", TEXT, NONE, "kind of operator", "category")                  \
    CELL(OF(group, direct.n), "count", INT, COUNT, "launchers of that kind", NULL)                           \
    CELL(OF(group, direct.sum), "total_direct_kernel_time_ms", TIME, MS, DIRECT, "direct")                   \
    CELL(OF(group, n_kernels), "kernels", INT, COUNT, "pieces of work", NULL)                                \
    SHARE_CELLS(CELL)
RS_RECORD(category, CATEGORY_ROW);

#define ARGS_ROW(CELL)                                                                                       \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(MAYBE(group, name), "name", TEXT, NONE,                                                             \
         "operator, or the runtime call where no operator is around it", NULL)                               \
    CELL(MAYBE(group, category), "op_category", TEXT, NONE, "kind of operator", "category")                  \
    CELL(OF(group, direct.n), "count", INT, COUNT, "how often it launched with these arguments", NULL)       \
    CELL(OF(group, direct.sum), "total_direct_kernel_time_us", TIME, US, DIRECT, "direct")                   \
    CELL(OF(group, subtree), "total_subtree_kernel_time_us", TIME, US, SUBTREE, "subtree")                   \
    CELL(MEAN(group, direct), "mean_us", REAL, US, "mean direct time", "mean")                               \
    CELL(OF(group, direct.min), "min_us", TIME, US, "least direct time", "min")                              \
    CELL(OF(group, direct.max), "max_us", TIME, US, "greatest direct time", "max")                           \
    CELL(OF(group, n_kernels), "kernels", INT, COUNT, "pieces of work", NULL)                                \
    SHARE_CELLS(CELL)                                                                                        \
    CELL(OF(group, uid), "ex_uid", INT, ID, "position in traceEvents of the first of them", "first")         \
    CELL(MAYBE(group, dims), "input_dims", TEXT, NONE, "shapes of the inputs", "dims")                       \
    CELL(MAYBE(group, types), "input_types", TEXT, NONE, "types of the inputs", "types")                     \
    CELL(MAYBE(group, strides), "input_strides", TEXT, NONE, "strides of the inputs", "strides")             \
    CELL(MAYBE(group, concrete), "concrete_inputs", TEXT, NONE, "values of scalar inputs", "values")
RS_RECORD(args, ARGS_ROW);

#define ACROSS_ROW(CELL)                                                                                     \
    CELL(OF(across, name), "name", TEXT, NONE, "operator or kind of operator", NULL)                         \
    CELL(OF(across, n_ranks), "ranks", INT, COUNT, "ranks it launched on", NULL)                             \
    CELL(OF(across, count), "count", INT, COUNT, "how often, on all of them", NULL)                          \
    CELL(SET, "mean_us", REAL, US, "direct time, mean over all ranks", "mean")                               \
    CELL(OF(across, min), "min_us", TIME, US, "least direct time of a rank", "min")                          \
    CELL(OF(across, min_rank), "min_rank", INT, ID, "the rank that has it", NULL)                            \
    CELL(OF(across, max), "max_us", TIME, US, "greatest direct time of a rank", "max")                       \
    CELL(OF(across, max_rank), "max_rank", INT, ID, "the rank that has it", NULL)
RS_RECORD(across, ACROSS_ROW);

static const rs_table_spec op_table = RS_TABLE("ops", "one row is one operator of one rank", op_columns);
static const rs_table_spec category_table =
    RS_TABLE("categories", "one row is one kind of operator of one rank", category_columns);
static const rs_table_spec args_table =
    RS_TABLE("args", "one row is one operator with one set of arguments, of one rank", args_columns);
static const rs_table_spec across_table =
    RS_TABLE("across", "one row is one operator, or kind with --by category, over all ranks", across_columns);
static const rs_table_spec *const tables[] = {
    &op_table,          &category_table,    &args_table,           &across_table,
    &rs_host_ops_table, &rs_ops_perf_table, &rs_ops_coverage_table};
enum {
    TABLE_OPS,
    TABLE_CATEGORIES,
    TABLE_ARGS,
    TABLE_ACROSS,
    TABLE_HOST,
    TABLE_PERF,
    TABLE_COVERAGE,
    N_TABLES
};
static const rs_table_set sets[] = {{RS_COMPAT_NONE, tables, N_TABLES}};
enum { BY_OP, BY_CATEGORY, BY_ARGS };

static unsigned grouping(const rs_run *run)
{
    const char *by = rs_options_text(run->options, "by");
    return strcmp(by, "category") == 0 ? BY_CATEGORY : strcmp(by, "args") == 0 ? BY_ARGS : BY_OP;
}

/* ---- one rank ------------------------------------------------------------------------------------------ */

typedef struct ops_partial {
    rs_launcher_rows *rows; /* keeps the texts */
    group *items;           /* by direct time, then first position */
    size_t n;
    rs_host_ops host;   /* only with --host, and nothing else then */
    rs_roof_rank *perf; /* only with --perf, and nothing else then; else NULL */
} ops_partial;

static void free_partial(void *partial)
{
    ops_partial *p = partial;
    if (!p) return;
    for (size_t i = 0; i < p->n; i++) rs_free(p->items[i].categories);
    rs_launcher_rows_free(p->rows);
    rs_free(p->items);
    rs_host_ops_clear(&p->host);
    rs_roof_free(p->perf);
    rs_free(p);
}

/* What tells groups apart. A category is static text: its address stands for it, in a key that no order is
 * taken from. */
typedef struct group_key {
    uint32_t name, dims, types, strides, concrete;
    const char *category;
} group_key;

static group_key key_of(const rs_launcher_row *l, unsigned by)
{
    group_key k = {RS_NO_STRING, RS_NO_STRING, RS_NO_STRING, RS_NO_STRING, RS_NO_STRING, NULL};
    if (by != BY_CATEGORY) k.name = l->name;
    if (by != BY_OP) k.category = l->category;
    if (by == BY_ARGS) {
        k.dims = l->dims;
        k.types = l->types;
        k.strides = l->strides;
        k.concrete = l->concrete;
    }
    return k;
}

static bool same_key(const group_key *a, const group_key *b)
{
    return a->name == b->name && a->dims == b->dims && a->types == b->types && a->strides == b->strides &&
           a->concrete == b->concrete &&
           (a->category == b->category ||
            (a->category && b->category && strcmp(a->category, b->category) == 0));
}

static uint64_t hash_key(const group_key *k)
{
    uint64_t h = rs_hash_u64((uint64_t)k->name << 32 | k->dims);
    h = rs_hash_u64(h ^ ((uint64_t)k->types << 32 | k->strides));
    h = rs_hash_u64(h ^ k->concrete);
    return k->category ? h ^ rs_hash_bytes(k->category, strlen(k->category)) : h;
}

/* Keeps a sorted list of kinds joined by |. */
static bool add_category(group *g, const char *category)
{
    size_t n = strlen(category), length = g->categories ? strlen(g->categories) : 0;
    const char *at = g->categories;
    while (at && *at) {
        size_t word = strcspn(at, "|");
        int c = strncmp(at, category, word > n ? word : n);
        if (c == 0 && word == n) return true;
        if (c > 0) break;
        at += word;
        at += *at == '|';
    }
    size_t before = at ? (size_t)(at - g->categories) : 0;
    char *joined = rs_malloc(length + n + 2);
    if (!joined) return false;
    size_t used = 0;
    if (before) memcpy(joined, g->categories, used = before);
    bool last = before == length;
    if (last && length) joined[used++] = '|';
    memcpy(joined + used, category, n);
    used += n;
    if (!last) joined[used++] = '|';
    if (!last) memcpy(joined + used, g->categories + before, length - before);
    joined[used + (last ? 0 : length - before)] = '\0';
    rs_free(g->categories);
    g->categories = joined;
    return true;
}

static bool add_to(group *g, const rs_launcher_row *l, const rs_pool *pool, unsigned by)
{
    if (g->direct.n == 0) {
        group_key k = key_of(l, by);
        *g = (group){.name = rs_pool_text(pool, k.name),
                     .dims = rs_pool_text(pool, k.dims),
                     .types = rs_pool_text(pool, k.types),
                     .strides = rs_pool_text(pool, k.strides),
                     .concrete = rs_pool_text(pool, k.concrete),
                     .category = k.category,
                     .uid = l->uid};
    }
    rs_moments_add(&g->direct, l->direct);
    g->subtree = rs_add_sat(g->subtree, l->subtree);
    g->n_kernels += l->n_kernels;
    return by != BY_OP || add_category(g, l->category);
}

static int by_time(const void *a, const void *b)
{
    const group *x = a, *y = b;
    if (x->direct.sum != y->direct.sum) return x->direct.sum > y->direct.sum ? -1 : 1;
    return x->uid < y->uid ? -1 : x->uid > y->uid;
}

static bool collect(const rs_launcher_rows *rows, unsigned by, ops_partial *p)
{
    rs_map64 places = {0};
    size_t capacity = 0;
    uint32_t *first = rs_malloc((rows->n + 1) * sizeof *first); /* a launcher of each group */
    bool ok = first != NULL;
    for (size_t i = 0; ok && i < rows->n; i++) {
        group_key key = key_of(&rows->items[i], by);
        uint64_t hash = hash_key(&key);
        uint32_t *place = NULL;
        bool is_new = false;
        for (;; hash++) { /* a clash of hashes takes the next key */
            place = rs_map64_put(&places, hash, &is_new);
            if (!place || is_new) break;
            group_key other = key_of(&rows->items[first[*place]], by);
            if (same_key(&key, &other)) break;
        }
        ok = place && (!is_new || RS_GROW_ONE(p->items, p->n, capacity));
        if (!ok) break;
        if (is_new) {
            first[p->n] = (uint32_t)i;
            *place = (uint32_t)p->n;
            p->items[p->n++] = (group){0};
        }
        ok = add_to(&p->items[*place], &rows->items[i], &rows->pool, by);
    }
    rs_free(first);
    rs_map64_clear(&places);
    if (ok && p->n) qsort(p->items, p->n, sizeof *p->items, by_time);
    return ok;
}

static bool is_perf(const rs_run *run)
{
    return rs_options_flag(run->options, "perf");
}

static rs_status check_options(const rs_run *run, rs_error *err)
{
    if (!is_perf(run))
        return rs_options_is_set(run->options, "device")
                   ? rs_fail(err, RS_ERR_USAGE,
                             "--device says what --perf compares with; without it nothing does")
                   : RS_OK;
    if (rs_options_flag(run->options, "host"))
        return rs_fail(err, RS_ERR_USAGE,
                       "--perf is about the GPU's work, --host about the host's time: one of them");
    if (rs_options_is_set(run->options, "by") && grouping(run) != BY_ARGS)
        return rs_fail(
            err, RS_ERR_USAGE,
            "--perf shows operators by their arguments; rankscope roofline --by op|model adds them up");
    return RS_OK;
}

static rs_status rank_of_perf(const rs_run *run, rs_trace *trace, ops_partial *p, rs_error *err)
{
    void *perf = NULL;
    rs_status status = rs_roof_rank_of(run, trace, &perf, err);
    if (status != RS_OK) return status;
    p->perf = perf;
    p->rows = rs_calloc(1, sizeof *p->rows); /* none, yet the partial travels whole */
    return p->rows ? RS_OK : rs_fail_nomem(err, "operators");
}

static rs_status rank_of_host(const rs_run *run, rs_trace *trace, ops_partial *p, rs_error *err)
{
    if (grouping(run) != BY_OP)
        return rs_fail(err, RS_ERR_USAGE, "--host shows the host's time by name only, without --by");
    if (trace->events->n_grafted)
        return rs_fail(err, RS_ERR_USAGE,
                       "--host: operators of replayed graphs (--captures) have no time on the host");
    rs_status status = rs_host_ops_of(trace, &p->host, err);
    p->rows =
        status == RS_OK ? rs_calloc(1, sizeof *p->rows) : NULL; /* none, yet the partial travels whole */
    return status == RS_OK && !p->rows ? rs_fail_nomem(err, "operators") : status;
}

static rs_status rank(const rs_run *run, rs_trace *trace, void **partial, rs_error *err)
{
    RS_TRY(check_options(run, err));
    ops_partial *p = rs_calloc(1, sizeof *p);
    if (!p) return rs_fail_nomem(err, "operators");
    rs_status status;
    if (is_perf(run)) {
        status = rank_of_perf(run, trace, p, err);
    } else if (rs_options_flag(run->options, "host")) {
        status = rank_of_host(run, trace, p, err);
    } else {
        status = rs_launcher_rows_of(trace, &p->rows, err);
        if (status == RS_OK && !collect(p->rows, grouping(run), p)) status = rs_fail_nomem(err, "operators");
    }
    if (status != RS_OK) {
        free_partial(p);
        return status;
    }
    rs_free(p->rows->items); /* only the texts are needed from here on */
    p->rows->items = NULL;
    *partial = p;
    return RS_OK;
}

/* ---- tables -------------------------------------------------------------------------------------------- */

static rs_status add_group(rs_table *t, unsigned by, int64_t number, const group *g, int64_t before,
                           int64_t all, rs_error *err)
{
    static const rs_row_spec *const records[] = {&op_record, &category_record, &args_record};
    rs_table_put(t, records[by], number, g);
    rs_table_set_real(t, "share_pct", rs_percent(g->direct.sum, all));
    rs_table_set_real(t, "cumulative_pct", rs_percent(rs_add_sat(before, g->direct.sum), all));
    return rs_table_end_row(t, err);
}

static rs_status add_rank(const rs_run *run, const rs_partial *partial, rs_table *t, rs_error *err)
{
    const ops_partial *p = partial->value;
    size_t top = (size_t)rs_options_int(run->options, "top");
    int64_t all = 0, before = 0;
    for (size_t i = 0; i < p->n; i++) all = rs_add_sat(all, p->items[i].direct.sum);
    rs_status status = RS_OK;
    for (size_t i = 0; status == RS_OK && i < p->n && (top == 0 || i < top); i++) {
        status = add_group(t, grouping(run), partial->rank, &p->items[i], before, all, err);
        before = rs_add_sat(before, p->items[i].direct.sum);
    }
    return status;
}

static int by_sum(const void *a, const void *b)
{
    const across *x = a, *y = b;
    if (x->sum != y->sum) return x->sum > y->sum ? -1 : 1;
    return strcmp(x->name, y->name);
}

static void add_across(across *a, const group *g, int64_t number)
{
    int64_t time = g->direct.sum;
    if (a->n_ranks == 0 || time < a->min) a->min = time, a->min_rank = number;
    if (a->n_ranks == 0 || time > a->max) a->max = time, a->max_rank = number;
    a->n_ranks++;
    a->count += g->direct.n;
    a->sum = rs_add_sat(a->sum, time);
}

/* Operators (or kinds) over all ranks. */
static rs_status merge_across(const rs_run *run, const rs_partial *partials, size_t n, rs_table *t,
                              rs_error *err)
{
    rs_strings names;
    across *items = NULL;
    size_t n_items = 0, capacity = 0, n_ranks = 0;
    unsigned by = grouping(run);
    bool ok = rs_strings_init(&names);
    for (size_t i = 0; ok && i < n; i++) {
        const ops_partial *p = partials[i].value;
        n_ranks += p != NULL;
        for (size_t k = 0; ok && p && k < p->n; k++) {
            const char *name = by == BY_CATEGORY ? p->items[k].category : p->items[k].name;
            uint32_t id = rs_strings_add(&names, name ? name : "", name ? strlen(name) : 0);
            ok = id != RS_NO_STRING;
            while (ok && n_items <= id) {
                ok = RS_GROW_ONE(items, n_items, capacity);
                if (ok) items[n_items++] = (across){0};
            }
            if (ok) add_across(&items[id], &p->items[k], partials[i].rank);
        }
    }
    rs_status status = ok ? RS_OK : rs_fail_nomem(err, "operators of all ranks");
    for (size_t i = 0; ok && i < n_items; i++) items[i].name = names.items[i].text;
    if (ok && n_items) qsort(items, n_items, sizeof *items, by_sum);
    for (size_t i = 0; status == RS_OK && i < n_items; i++) {
        const across *a = &items[i];
        if (a->n_ranks == 0) continue;
        rs_table_put(t, &across_record, 0, a);
        rs_table_set_real(t, "mean_us", (double)a->sum / (double)n_ranks / 1000);
        status = rs_table_end_row(t, err);
    }
    rs_strings_clear(&names);
    rs_free(items);
    return status;
}

static rs_status merge_host(const rs_run *run, const rs_partial *partials, size_t n, rs_result *result,
                            rs_error *err)
{
    size_t top = (size_t)rs_options_int(run->options, "top");
    rs_status status = RS_OK;
    result->main_table = TABLE_HOST;
    for (size_t i = 0; status == RS_OK && i < n; i++) {
        const rs_host_ops *host = &((const ops_partial *)partials[i].value)->host;
        if (host->n == 0)
            rs_result_note(result, "rank %lld: no operators or annotations of the host",
                           (long long)partials[i].rank);
        status = rs_host_ops_add(host, partials[i].rank, top, result->tables[TABLE_HOST], err);
    }
    return status;
}

static rs_status merge_perf(const rs_run *run, const rs_partial *partials, size_t n, rs_result *result,
                            rs_error *err)
{
    size_t top = (size_t)rs_options_int(run->options, "top");
    rs_status status = RS_OK;
    result->main_table = TABLE_PERF;
    for (size_t i = 0; status == RS_OK && i < n; i++) {
        const rs_roof_rank *p = ((const ops_partial *)partials[i].value)->perf;
        if (!p) /* made elsewhere, and not by this question */
            return rs_fail(err, RS_ERR_FORMAT, "%s: the packed part has no answer to ops --perf; map it anew",
                           partials[i].source ? partials[i].source : "a rank");
        status = rs_ops_perf_add(run, partials[i].rank, p, top, result->tables[TABLE_PERF],
                                 result->tables[TABLE_COVERAGE], result, err);
    }
    return status;
}

static rs_status merge(const rs_run *run, rs_partial *partials, size_t n, rs_result *result, rs_error *err)
{
    static const unsigned table_of[] = {TABLE_OPS, TABLE_CATEGORIES, TABLE_ARGS};
    unsigned by = grouping(run);
    if (is_perf(run)) return merge_perf(run, partials, n, result, err);
    if (rs_options_flag(run->options, "host")) return merge_host(run, partials, n, result, err);
    result->main_table = table_of[by];
    rs_status status = RS_OK;
    for (size_t i = 0; status == RS_OK && i < n; i++) {
        const ops_partial *p = partials[i].value;
        if (!p) continue;
        if (p->n == 0)
            rs_result_note(result, "rank %lld: %s", (long long)partials[i].rank,
                           p->rows->n_gpu        ? "no operator launched anything but communication"
                           : p->rows->n_unlinked ? "the launches of its GPU work are not in the file"
                                                 : "no GPU work");
        status = add_rank(run, &partials[i], result->tables[result->main_table], err);
    }
    if (status == RS_OK && n > 1 && by != BY_ARGS)
        status = merge_across(run, partials, n, result->tables[TABLE_ACROSS], err);
    return status;
}

/* ---- what travels ------------------------------------------------------------------------------------- */

static const rs_field group_fields[] = {
    RS_FIELD_OR_NULL(group, name),
    RS_FIELD_OR_NULL(group, dims),
    RS_FIELD_OR_NULL(group, types),
    RS_FIELD_OR_NULL(group, strides),
    RS_FIELD_OR_NULL(group, concrete),
    RS_FIELD_OR_NULL(group, category),
    RS_FIELD_OR_NULL(group, categories),
    RS_FIELD(group, uid),
    RS_FIELD_STRUCT(group, direct, &rs_moments_layout),
    RS_FIELD(group, subtree),
    RS_FIELD(group, n_kernels),
};
static const rs_layout group_layout = RS_LAYOUT(group, group_fields);

static const rs_field rows_fields[] = {
    RS_FIELD(rs_launcher_rows, n_gpu),
    RS_FIELD(rs_launcher_rows, n_unlinked),
};
static const rs_layout rows_layout = RS_LAYOUT(rs_launcher_rows, rows_fields);

static const rs_field ops_fields[] = {
    RS_FIELD_ONE(ops_partial, rows, &rows_layout),
    RS_FIELD_LIST(ops_partial, items, n, &group_layout),
    RS_FIELD_STRUCT(ops_partial, host, &rs_host_ops_layout),
    RS_FIELD_ONE_OR_NONE(ops_partial, perf, &rs_roof_layout),
};
static const rs_layout ops_layout = RS_LAYOUT(ops_partial, ops_fields);

static uint64_t more_columns(const rs_options *given)
{
    return rs_options_flag(given, "perf") ? rs_ops_perf_columns() : 0;
}

const rs_analysis rs_analysis_ops = {
    .name = "ops",
    .help = "Operators by the GPU work they launch, by name, kind or arguments",
    .about =
        "Each operator that launches GPU work is a launcher (see launchers); here they are added up. Times "
        "are\n"
        "unions within a launcher and sums over launchers, so that rows can add up to more than the GPU was "
        "busy.\nA kind is told by the operator's name, else by its first kernel's. With several ranks a "
        "second\n"
        "table sets them against each other.\n"
        "--host adds up all operators and annotations of the host instead, by their own time: what "
        "PyTorch's\n"
        "key_averages() shows, for jobs without a GPU too. Communication that a worker runs (gloo:*) takes\n"
        "nothing from what it overlaps.\n"
        "--perf shows FLOPs, bytes and rates of each operator and its arguments against the device's "
        "bound: the\nrows, owners and numbers of roofline, whose help says how they are counted. Work there "
        "belongs to the\noutermost operator with a model, so its rows are not those of --by args. The table "
        "coverage says how\nmuch of a rank's GPU time has a model.",
    .examples = "rankscope ops trace.json.gz\nrankscope ops --by args --top 20 trace.json.gz\n"
                "rankscope ops --by category --format csv traces/\nrankscope ops --host --top 20 traces/\n"
                "rankscope ops --perf --top 20 trace.json.gz\nrankscope ops --perf --device MI300X traces/",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .facets = {&rs_facet_launchers},
    .columns = RS_ARGS_COLUMNS,
    .more_columns = more_columns,
    .table_sets = sets,
    .n_table_sets = 1,
    .follows = RS_FOLLOWS_ALL | RS_FOLLOWS_CAPTURES,
    .rank = rank,
    .merge = merge,
    .free_partial = free_partial,
    .partial_layout = &ops_layout,
};
