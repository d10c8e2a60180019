/* kernel_summary and the two sheets of short kernels. */
#include <math.h>
#include <string.h>

#include "base/ascii.h"
#include "base/try.h"
#include "peer/tracelens_rank.h"
#include "trace/categories.h"

#define COLUMN(name, type, unit, help)                                                                       \
    {                                                                                                        \
        name, RS_##type, RS_UNIT_##unit, help, NULL                                                          \
    }
#define SHEET(name, help, columns)                                                                           \
    {                                                                                                        \
        name, help, columns, sizeof(columns) / sizeof *(columns)                                             \
    }

/* A kernel, linked or not. */
typedef struct kernel {
    uint32_t row;
    uint32_t parent;   /* row of the operator around its launch, else of the call; RS_NO_ROW: not linked */
    uint32_t category; /* in the pool; RS_NO_STRING: none */
    int64_t stream;    /* RS_NO_VALUE: none */
    bool by_operator;  /* parent is an operator */
} kernel;

typedef struct kernels {
    kernel *items; /* in the order of the file */
    size_t n;
    double sum; /* durations, us */
} kernels;

static bool holds(const char *name, const char *word)
{
    size_t n = strlen(word);
    for (; *name; name++) {
        size_t i = 0;
        while (i < n && rs_lower(name[i]) == word[i]) i++;
        if (i == n) return true;
    }
    return false;
}

/* Of a kernel without an operator: by the call that launched it. */
static const char *category_of_call(const char *name)
{
    return holds(name, "cudagraph") || holds(name, "graphlaunch") ? "graph" : "runtime";
}

static bool take_parent(rs_tl_rank *r, uint32_t call, kernel *k)
{
    uint32_t op = rs_tl_operator_of(r, call), launcher = op == RS_NO_NODE ? 0 : r->launcher_of[op];
    const char *category = op == RS_NO_NODE ? category_of_call(rs_tl_name(r, call))
                           : launcher       ? r->launchers[launcher - 1].category
                                            : rs_op_category(rs_tl_name(r, op), NULL);
    k->by_operator = op != RS_NO_NODE;
    k->parent = r->tree->row[k->by_operator ? op : call];
    k->category = rs_strings_add(&r->pool.strings, category, strlen(category));
    return k->category != RS_NO_STRING;
}

static rs_status find_kernels(rs_tl_rank *r, kernels *out, rs_error *err)
{
    const rs_tree *t = r->tree;
    const uint32_t *rows;
    size_t n, at = 0;
    RS_TRY(rs_trace_gpu_rows(r->trace, &rows, &n, err));
    RS_LOCAL rs_keyed *places = rs_malloc((t->n_gpu + 1) * sizeof *places); /* (row, place in gpu_row) */
    out->items = rs_malloc((n + 1) * sizeof *out->items);
    bool ok = places && out->items;
    for (size_t i = 0; ok && i < t->n_gpu; i++) places[i] = (rs_keyed){t->gpu_row[i], (uint32_t)i};
    ok = ok && rs_keyed_sort(places, t->n_gpu);
    rs_cursor stream = rs_cursor_of(r->e, RS_COL_STREAM);
    for (size_t i = 0; ok && i < n; i++) {
        if (rs_event_kind(r->e, rows[i]) != RS_KIND_KERNEL) continue;
        kernel *k = &out->items[out->n++];
        *k = (kernel){.row = rows[i],
                      .parent = RS_NO_ROW,
                      .category = RS_NO_STRING,
                      .stream = rs_cursor_int(&stream, rows[i], RS_NO_VALUE)};
        while (at < t->n_gpu && places[at].key < rows[i]) at++;
        if (at < t->n_gpu && places[at].key == rows[i] && rs_tl_is_linked(r, places[at].value))
            ok = take_parent(r, r->call[places[at].value], k);
        out->sum += (double)r->e->duration[rows[i]] / 1000;
    }
    return ok ? RS_OK : rs_fail_nomem(err, "kernels");
}

/* ---- kernel_summary ------------------------------------------------------------------------------------ */

static const rs_column_spec summary_columns[] = {
    COLUMN("Parent op category", TEXT, NONE, "kind of the operator; of a call without one graph or runtime"),
    COLUMN("Parent cpu_op", TEXT, NONE, "operator around the launch, else the call"),
    COLUMN("Kernel name", TEXT, NONE, "kernel"),
    COLUMN("Kernel stream", INT, ID, "stream"),
    COLUMN("Kernel duration (µs)_sum", TIME, US, "durations added up"),
    COLUMN("Kernel duration (µs)_count", INT, COUNT, "kernels"),
    COLUMN("Kernel duration (µs)_mean", REAL, US, "mean duration"),
    COLUMN("Kernel duration (µs)_min", TIME, US, "shortest"),
    COLUMN("Kernel duration (µs)_max", TIME, US, "longest"),
    COLUMN("Percent of kernels time (%)", REAL, PERCENT, "of the sheet"),
    COLUMN("Percent of total time (%)", REAL, PERCENT, "of total_time in gpu_timeline"),
};
static const rs_table_spec summary_sheet =
    SHEET("kernel_summary", "one row is one kernel under one operator on one stream", summary_columns);

typedef struct summary_key {
    int64_t stream;
    uint32_t category, parent, name; /* parent: its name */
    uint32_t zero;                   /* keys are compared byte by byte */
} summary_key;

/* Sum, extremes and number of the durations of a group. */
typedef struct tally {
    int64_t sum, min, max;
    size_t n;
} tally;

static tally tally_of(const rs_tl_rank *r, const kernels *all, const uint32_t *items, size_t n)
{
    tally t = {.n = n};
    for (size_t i = 0; i < n; i++) {
        int64_t duration = r->e->duration[all->items[items[i]].row];
        t.sum = rs_add_sat(t.sum, duration);
        if (i == 0 || duration < t.min) t.min = duration;
        if (i == 0 || duration > t.max) t.max = duration;
    }
    return t;
}

/* The groups in falling order of their durations. */
static bool order_groups(const rs_tl_rank *r, const kernels *all, const rs_tl_groups *groups, tally **tallies,
                         uint32_t **order)
{
    RS_LOCAL double *sums = rs_malloc((groups->n + 1) * sizeof *sums);
    *tallies = rs_malloc((groups->n + 1) * sizeof **tallies);
    bool ok = sums && *tallies;
    for (size_t g = 0; ok && g < groups->n; g++) {
        (*tallies)[g] =
            tally_of(r, all, groups->item + groups->first[g], groups->first[g + 1] - groups->first[g]);
        sums[g] = (double)(*tallies)[g].sum;
    }
    return ok && rs_tl_order(sums, NULL, groups->n, order);
}

static double of_total(const rs_tl_rank *r, double us)
{
    return r->total > 0 ? 100.0 * us / ((double)r->total / 1000) : (double)NAN;
}

static void add_summary_row(const rs_tl_rank *r, const kernels *all, const kernel *k, const tally *g,
                            rs_table *t)
{
    double sum = (double)g->sum / 1000;
    rs_table_add_text(t, rs_pool_text(&r->pool, k->category));
    rs_table_add_text(t, k->parent == RS_NO_ROW ? NULL : rs_event_name(r->e, k->parent));
    rs_table_add_text(t, rs_event_name(r->e, k->row));
    if (k->stream == RS_NO_VALUE)
        rs_table_add_null(t);
    else
        rs_table_add_int(t, k->stream);
    rs_table_add_time(t, g->sum);
    rs_table_add_int(t, (int64_t)g->n);
    rs_table_add_real(t, sum / (double)g->n);
    rs_table_add_time(t, g->min);
    rs_table_add_time(t, g->max);
    rs_table_add_real(t, all->sum > 0 ? 100.0 * sum / all->sum : (double)NAN);
    rs_table_add_real(t, of_total(r, sum));
}

static rs_status add_summary(rs_tl_rank *r, const kernels *all, rs_sheets *out, rs_error *err)
{
    RS_LOCAL summary_key *keys = rs_calloc(all->n + 1, sizeof *keys);
    RS_SCOPED(rs_tl_groups_clear) rs_tl_groups groups = {0};
    RS_LOCAL tally *tallies = NULL;
    RS_LOCAL uint32_t *order = NULL;
    rs_table *t = rs_table_create(&summary_sheet);
    for (size_t i = 0; keys && i < all->n; i++) {
        const kernel *k = &all->items[i];
        keys[i] = (summary_key){.category = k->category,
                                .stream = k->stream,
                                .parent = k->parent == RS_NO_ROW ? RS_NO_STRING : r->e->name[k->parent],
                                .name = r->e->name[k->row]};
    }
    bool ok = keys && t && rs_tl_group(keys, sizeof *keys, NULL, all->n, &groups) &&
              order_groups(r, all, &groups, &tallies, &order);
    rs_status status = ok ? RS_OK : rs_fail_nomem(err, "kernels");
    for (size_t i = 0; status == RS_OK && i < groups.n; i++) {
        const kernel *k = &all->items[groups.item[groups.first[order[i]]]];
        add_summary_row(r, all, k, &tallies[order[i]], t);
        status = rs_table_end_row(t, err);
    }
    return rs_sheets_end(out, t, status, err);
}

/* ---- short_kernel_histogram ---------------------------------------------------------------------------- */

static const rs_column_spec histogram_columns[] = {
    COLUMN("bin_start", REAL, US, "where the bin begins"),
    COLUMN("bin_end", REAL, US, "where it ends"),
    COLUMN("count", INT, COUNT, "kernels in it; the last bin has its end, too"),
};
static const rs_table_spec histogram_sheet =
    SHEET("short_kernel_histogram", "one row is one of 100 bins of durations", histogram_columns);
enum { N_BINS = 100 };

/* numpy's histogram: equal bins from the least to the greatest value. */
static void count_bins(const double *values, size_t n, double *edges, int64_t *counts)
{
    double low = values[0], high = values[0];
    for (size_t i = 1; i < n; i++) {
        if (values[i] < low) low = values[i];
        if (values[i] > high) high = values[i];
    }
    if (low == high) low -= 0.5, high += 0.5;
    double step = (high - low) / N_BINS;
    for (int i = 0; i < N_BINS; i++) edges[i] = (double)i * step + low;
    edges[N_BINS] = high;
    for (size_t i = 0; i < n; i++) {
        int bin = (int)((values[i] - low) / (high - low) * N_BINS);
        if (bin >= N_BINS) bin = N_BINS - 1;
        if (bin < 0) bin = 0;
        if (bin > 0 && values[i] < edges[bin])
            bin--;
        else if (bin < N_BINS - 1 && values[i] >= edges[bin + 1])
            bin++;
        counts[bin]++;
    }
}

static rs_status add_histogram(const double *values, size_t n, rs_sheets *out, rs_error *err)
{
    double edges[N_BINS + 1];
    int64_t counts[N_BINS] = {0};
    rs_table *t = rs_table_create(&histogram_sheet);
    rs_status status = t ? RS_OK : rs_fail_nomem(err, "a sheet");
    count_bins(values, n, edges, counts);
    for (int i = 0; status == RS_OK && i < N_BINS; i++) {
        rs_table_add_real(t, edges[i]);
        rs_table_add_real(t, edges[i + 1]);
        rs_table_add_int(t, counts[i]);
        status = rs_table_end_row(t, err);
    }
    return rs_sheets_end(out, t, status, err);
}

/* ---- short_kernels_summary ----------------------------------------------------------------------------- */

static const rs_column_spec short_columns[] = {
    COLUMN("Parent cpu_op", TEXT, NONE, "operator around the launch"),
    COLUMN("Input dims", TEXT, NONE, "shapes of its inputs"),
    COLUMN("Input strides", TEXT, NONE, "strides of its inputs"),
    COLUMN("Concrete Inputs", TEXT, NONE, "values of its scalar inputs"),
    COLUMN("Kernel name", TEXT, NONE, "kernel"),
    COLUMN("Short Kernel duration (µs) sum", TIME, US, "durations added up"),
    COLUMN("Short Kernel count", INT, COUNT, "kernels"),
    COLUMN("Short Kernel duration (µs) mean", REAL, US, "mean duration"),
    COLUMN("Short Kernel duration (µs) percent of total time", REAL, PERCENT,
           "of total_time in gpu_timeline"),
};
static const rs_table_spec short_sheet =
    SHEET("short_kernels_summary", "one row is one short kernel under one operator with one set of arguments",
          short_columns);

typedef struct short_key {
    uint32_t parent, dims, strides, concrete, name;
} short_key;

/* False when the kernel has no place in the sheet: it is long, or something of its key is unknown. */
static bool short_key_of(rs_tl_rank *r, const kernel *k, short_key *key, bool *ok)
{
    *key = (short_key){0};
    if (!k->by_operator || r->e->duration[k->row] >= r->options->short_ns) return false;
    uint32_t dims = rs_events_text(r->e, RS_COL_INPUT_DIMS, k->parent);
    uint32_t strides = rs_events_text(r->e, RS_COL_INPUT_STRIDES, k->parent);
    uint32_t concrete = rs_events_text(r->e, RS_COL_CONCRETE_INPUTS, k->parent);
    *key = (short_key){.parent = r->e->name[k->parent],
                       .dims = rs_pool_add_tuple(&r->pool, r->e, dims, ok),
                       .strides = rs_pool_add_tuple(&r->pool, r->e, strides, ok),
                       .concrete = rs_pool_add_tuple(&r->pool, r->e, concrete, ok),
                       .name = r->e->name[k->row]};
    return dims != RS_NO_STRING && strides != RS_NO_STRING && concrete != RS_NO_STRING;
}

static void add_short_row(const rs_tl_rank *r, const short_key *key, const tally *g, rs_table *t)
{
    double sum = (double)g->sum / 1000;
    rs_table_add_text(t, r->e->strings.items[key->parent].text);
    rs_table_add_text(t, rs_pool_text(&r->pool, key->dims));
    rs_table_add_text(t, rs_pool_text(&r->pool, key->strides));
    rs_table_add_text(t, rs_pool_text(&r->pool, key->concrete));
    rs_table_add_text(t, r->e->strings.items[key->name].text);
    rs_table_add_time(t, g->sum);
    rs_table_add_int(t, (int64_t)g->n);
    rs_table_add_real(t, sum / (double)g->n);
    rs_table_add_real(t, of_total(r, sum));
}

static rs_status add_short(rs_tl_rank *r, const kernels *all, rs_sheets *out, rs_error *err)
{
    RS_LOCAL short_key *keys = rs_calloc(all->n + 1, sizeof *keys);
    bool *skip = rs_calloc(all->n + 1, sizeof *skip), ok = keys && skip;
    RS_SCOPED(rs_tl_groups_clear) rs_tl_groups groups = {0};
    RS_LOCAL tally *tallies = NULL;
    RS_LOCAL uint32_t *order = NULL;
    rs_table *t = rs_table_create(&short_sheet);
    for (size_t i = 0; ok && i < all->n; i++) skip[i] = !short_key_of(r, &all->items[i], &keys[i], &ok);
    ok = ok && t && rs_tl_group(keys, sizeof *keys, skip, all->n, &groups) &&
         order_groups(r, all, &groups, &tallies, &order);
    rs_status status = ok ? RS_OK : rs_fail_nomem(err, "short kernels");
    for (size_t i = 0; status == RS_OK && i < groups.n; i++) {
        add_short_row(r, &keys[groups.item[groups.first[order[i]]]], &tallies[order[i]], t);
        status = rs_table_end_row(t, err);
    }
    rs_free(skip);
    return rs_sheets_end(out, t, status, err);
}

/* Without a single short kernel there is neither sheet. */
static rs_status add_short_sheets(rs_tl_rank *r, const kernels *all, rs_sheets *out, rs_error *err)
{
    RS_LOCAL double *values = rs_malloc((all->n + 1) * sizeof *values);
    size_t n = 0;
    if (!values) return rs_fail_nomem(err, "short kernels");
    for (size_t i = 0; i < all->n; i++) {
        int64_t duration = r->e->duration[all->items[i].row];
        if (duration < r->options->short_ns) values[n++] = (double)duration / 1000;
    }
    rs_status status = n ? add_histogram(values, n, out, err) : RS_OK;
    if (status == RS_OK && n) status = add_short(r, all, out, err);
    return status;
}

rs_status rs_tl_add_kernels(rs_tl_rank *r, rs_sheets *out, rs_error *err)
{
    kernels all = {0};
    rs_status status = find_kernels(r, &all, err);
    if (status == RS_OK) status = add_summary(r, &all, out, err);
    if (status == RS_OK && r->options->short_ns > 0) status = add_short_sheets(r, &all, out, err);
    rs_free(all.items);
    return status;
}
