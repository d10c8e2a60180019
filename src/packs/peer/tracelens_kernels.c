/* kernel_summary and the two sheets of short kernels. */
#include <math.h>
#include <string.h>

#include "base/try.h"
#include "peer/tracelens_rank.h"
#include "trace/categories.h"

/* A kernel, linked or not. Texts are ids of the rank's pool. */
typedef struct kernel {
    uint32_t name, category, parent;  /* parent: the operator around its launch, else the call */
    uint32_t dims, strides, concrete; /* of the operator, in short kernels */
    uint32_t operator;                /* its row; RS_NO_ROW: none */
    int64_t stream;                   /* RS_NO_VALUE: none */
    int64_t duration;                 /* ns */
} kernel;

typedef struct kernels {
    const rs_tl_rank *r;
    kernel *items; /* in the order of the file */
    size_t n;
    double sum; /* durations, us */
} kernels;

/* Of a kernel without an operator: by the call that launched it. */
static const char *category_of_call(const char *name)
{
    return rs_tl_name_has(name, "cudagraph") || rs_tl_name_has(name, "graphlaunch") ? "graph" : "runtime";
}

static bool take_parent(rs_tl_rank *r, uint32_t call, kernel *k)
{
    uint32_t op = rs_tl_operator_of(r, call), launcher = op == RS_NO_NODE ? 0 : r->launcher_of[op];
    const char *category =
        op == RS_NO_NODE ? category_of_call(rs_tl_name(r, call)) : rs_op_category(rs_tl_name(r, op), NULL);
    uint32_t parent = r->tree->row[op == RS_NO_NODE ? call : op];
    bool ok = true;
    if (op != RS_NO_NODE) k->operator= parent;
    k->parent = rs_pool_add(&r->pool, r->e, r->e->name[parent], &ok);
    k->category =
        launcher ? r->launchers[launcher - 1].op.category : rs_tl_text_id(r, category, strlen(category), &ok);
    return ok;
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
        *k = (kernel){.name = rs_pool_add(&r->pool, r->e, r->e->name[rows[i]], &ok),
                      .parent = RS_NO_STRING,
                      .category = RS_NO_STRING,
                      .operator= RS_NO_ROW,
                      .stream = rs_cursor_int(&stream, rows[i], RS_NO_VALUE),
                      .duration = r->e->duration[rows[i]]};
        while (at < t->n_gpu && places[at].key < rows[i]) at++;
        if (at < t->n_gpu && places[at].key == rows[i] && rs_tl_is_linked(r, places[at].value))
            ok = ok && take_parent(r, r->call[places[at].value], k);
        out->sum += (double)k->duration / 1000;
    }
    return ok ? RS_OK : rs_fail_nomem(err, "kernels");
}

/* ---- kernel_summary ------------------------------------------------------------------------------------ */

static bool put_percent_of_kernels(const rs_tl_lot *lot, rs_table *t)
{
    const kernels *all = lot->all->context;
    rs_table_add_real(t, all->sum > 0 ? 100.0 * (lot->sum / 1000) / all->sum : (double)NAN);
    return true;
}

static bool put_percent_of_total(const rs_tl_lot *lot, rs_table *t)
{
    const rs_tl_rank *r = ((const kernels *)lot->all->context)->r;
    rs_table_add_real(t, r->total > 0 ? 100.0 * (lot->sum / 1000) / ((double)r->total / 1000) : (double)NAN);
    return true;
}

static const rs_tl_column summary_columns[] = {
    RS_TL_COLUMN(KEY, kernel, category, "Parent op category", TEXT, NONE,
                 "kind of the operator; of a call without one graph or runtime"),
    RS_TL_COLUMN(KEY, kernel, parent, "Parent cpu_op", TEXT, NONE,
                 "operator around the launch, else the call"),
    RS_TL_COLUMN(KEY, kernel, name, "Kernel name", TEXT, NONE, "kernel"),
    RS_TL_COLUMN(KEY, kernel, stream, "Kernel stream", INT, ID, "stream"),
    RS_TL_COLUMN(SUM, kernel, duration, "Kernel duration (µs)_sum", TIME, US, "durations added up"),
    RS_TL_GROUP(COUNT, "Kernel duration (µs)_count", INT, COUNT, "kernels"),
    RS_TL_COLUMN(MEAN, kernel, duration, "Kernel duration (µs)_mean", REAL, US, "mean duration"),
    RS_TL_COLUMN(MIN, kernel, duration, "Kernel duration (µs)_min", TIME, US, "shortest"),
    RS_TL_COLUMN(MAX, kernel, duration, "Kernel duration (µs)_max", TIME, US, "longest"),
    RS_TL_CELL(put_percent_of_kernels, "Percent of kernels time (%)", REAL, PERCENT, "of the sheet"),
    RS_TL_CELL(put_percent_of_total, "Percent of total time (%)", REAL, PERCENT,
               "of total_time in gpu_timeline"),
};
static const rs_tl_sheet summary_sheet =
    RS_TL_SHEET("kernel_summary", "one row is one kernel under one operator on one stream", summary_columns,
                kernel, .by = RS_TL_BY(kernel, duration));

/* ---- short_kernel_histogram ---------------------------------------------------------------------------- */

typedef struct bin {
    double start, end; /* us */
    int64_t n;
} bin;

static const rs_tl_column histogram_columns[] = {
    RS_TL_COLUMN(FIRST, bin, start, "bin_start", REAL, US, "where the bin begins"),
    RS_TL_COLUMN(FIRST, bin, end, "bin_end", REAL, US, "where it ends"),
    RS_TL_COLUMN(FIRST, bin, n, "count", INT, COUNT, "kernels in it; the last bin has its end, too"),
};
static const rs_tl_sheet histogram_sheet =
    RS_TL_SHEET("short_kernel_histogram", "one row is one of 100 bins of durations", histogram_columns, bin);
enum { N_BINS = 100 };

/* numpy's histogram: equal bins from the least to the greatest value. */
static void count_bins(const double *values, size_t n, bin *bins)
{
    double low = values[0], high = values[0];
    for (size_t i = 1; i < n; i++) {
        if (values[i] < low) low = values[i];
        if (values[i] > high) high = values[i];
    }
    if (low == high) low -= 0.5, high += 0.5;
    double step = (high - low) / N_BINS;
    for (int i = 0; i < N_BINS; i++) {
        bins[i].start = (double)i * step + low;
        bins[i].end = i + 1 == N_BINS ? high : (double)(i + 1) * step + low;
    }
    for (size_t i = 0; i < n; i++) {
        int at = (int)((values[i] - low) / (high - low) * N_BINS);
        if (at >= N_BINS) at = N_BINS - 1;
        if (at < 0) at = 0;
        if (at > 0 && values[i] < bins[at].start)
            at--;
        else if (at < N_BINS - 1 && values[i] >= bins[at].end)
            at++;
        bins[at].n++;
    }
}

/* ---- short_kernels_summary ----------------------------------------------------------------------------- */

static const rs_tl_column short_columns[] = {
    RS_TL_COLUMN(KEY, kernel, parent, "Parent cpu_op", TEXT, NONE, "operator around the launch"),
    RS_TL_COLUMN(DUE, kernel, dims, "Input dims", TEXT, NONE, "shapes of its inputs"),
    RS_TL_COLUMN(DUE, kernel, strides, "Input strides", TEXT, NONE, "strides of its inputs"),
    RS_TL_COLUMN(DUE, kernel, concrete, "Concrete Inputs", TEXT, NONE, "values of its scalar inputs"),
    RS_TL_COLUMN(KEY, kernel, name, "Kernel name", TEXT, NONE, "kernel"),
    RS_TL_COLUMN(SUM, kernel, duration, "Short Kernel duration (µs) sum", TIME, US, "durations added up"),
    RS_TL_GROUP(COUNT, "Short Kernel count", INT, COUNT, "kernels"),
    RS_TL_COLUMN(MEAN, kernel, duration, "Short Kernel duration (µs) mean", REAL, US, "mean duration"),
    RS_TL_CELL(put_percent_of_total, "Short Kernel duration (µs) percent of total time", REAL, PERCENT,
               "of total_time in gpu_timeline"),
};
static const rs_tl_sheet short_sheet = RS_TL_SHEET(
    "short_kernels_summary", "one row is one short kernel under one operator with one set of arguments",
    short_columns, kernel, .by = RS_TL_BY(kernel, duration));

/* Leaves short kernels alone in the list, with what their operators' arguments were; those without an operator have
 * none. */
static bool keep_short(rs_tl_rank *r, kernels *all)
{
    size_t n = 0;
    bool ok = true;
    for (size_t i = 0; ok && i < all->n; i++) {
        kernel k = all->items[i];
        if (k.duration >= r->options->short_ns) continue;
        k.dims = k.strides = k.concrete = RS_NO_STRING;
        if (k.operator!= RS_NO_ROW) {
            k.dims = rs_tl_tuple_id(r, RS_COL_INPUT_DIMS, k.operator, & ok);
            k.strides = rs_tl_tuple_id(r, RS_COL_INPUT_STRIDES, k.operator, & ok);
            k.concrete = rs_tl_tuple_id(r, RS_COL_CONCRETE_INPUTS, k.operator, & ok);
        }
        all->items[n++] = k;
    }
    all->n = n;
    return ok;
}

/* Without a single short kernel there is neither sheet. */
static rs_status add_short_sheets(rs_tl_rank *r, kernels *all, rs_sheets *out, rs_error *err)
{
    bin bins[N_BINS] = {0};
    if (!keep_short(r, all)) return rs_fail_nomem(err, "short kernels");
    RS_LOCAL double *values = rs_malloc((all->n + 1) * sizeof *values);
    if (!values) return rs_fail_nomem(err, "short kernels");
    for (size_t i = 0; i < all->n; i++) values[i] = (double)all->items[i].duration / 1000;
    if (all->n == 0) return RS_OK;
    count_bins(values, all->n, bins);
    const rs_tl_items histogram = rs_tl_items_of(r, bins, N_BINS, NULL);
    const rs_tl_items items = rs_tl_items_of(r, all->items, all->n, all);
    RS_TRY(rs_tl_add_sheet(&histogram_sheet, &histogram, out, err));
    return rs_tl_add_sheet(&short_sheet, &items, out, err);
}

rs_status rs_tl_add_kernels(rs_tl_rank *r, rs_sheets *out, rs_error *err)
{
    kernels all = {.r = r};
    rs_status status = find_kernels(r, &all, err);
    const rs_tl_items items = rs_tl_items_of(r, all.items, all.n, &all);
    if (status == RS_OK) status = rs_tl_add_sheet(&summary_sheet, &items, out, err);
    if (status == RS_OK && r->options->short_ns > 0) status = add_short_sheets(r, &all, out, err);
    rs_free(all.items);
    return status;
}
