/* roofline: what each operator computes and moves, what the device could do, how far it is from that. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "base/order.h"
#include "base/real.h"
#include "base/stats.h"
#include "analysis/gate.h"
#include "analysis/measured.h"
#include "analysis/roofline_figures.h"
#include "base/interval.h"
#include "base/try.h"
#include "text/numbers.h"
#include "table/cells.h"

static const rs_option_spec options[] = {
    {"by", RS_OPTION_CHOICE, "WHAT", "args|op|model|module|step", "args",
     "args: operator and arguments; op: operator; model: the kind of model; module: the nn.Module around the operator; "
     "step: the step in which it begins"},
    {"device", RS_OPTION_TEXT, "NAME|FILE", NULL, NULL,
     "what the device can do: a name of the built-in table, or a JSON file; default: as the trace says"},
    {"measured", RS_OPTION_FLAG, NULL, NULL, NULL,
     "what counters measured of each operator, next to what the models say of it"},
    {"top", RS_OPTION_INT, "N", NULL, "0", "only the first N rows of a rank; 0: all"},
    {"fail-on", RS_OPTION_TEXT, "EXPR", NULL, NULL,
     "exit 1 when a row of the chosen table meets the expression: 'efficiency_pct < 30, kernel_us > 1000'"},
};

#define OWNER "operator that owns the work: the outermost one with a model, else the launcher"
static const rs_column_spec args_columns[] = {
    RS_COLUMN("rank", INT, ID, "rank", NULL),
    RS_COLUMN("name", TEXT, NONE, OWNER, NULL),
    RS_COLUMN("model", TEXT, NONE, "kind of model; unknown where there is none for it", NULL),
    RS_COLUMN("exact", TEXT, NONE, "yes, or lower where the work depends on more than the trace holds", NULL),
    RS_COLUMN("count", INT, COUNT, "calls", NULL),
    RS_COLUMN("kernel_us", TIME, US, "GPU time of all calls: unions of the work each owns", "GPU time"),
    RS_COLUMN("matrix_flops", INT, COUNT, "contractions of one call, a multiply-add counted as 2", NULL),
    RS_COLUMN("vector_flops", INT, COUNT, "all other arithmetic of one call", NULL),
    RS_COLUMN("bytes", INT, BYTES, "what one call must move: each operand once", NULL),
    RS_COLUMN("precision", TEXT, NONE, "of the matrix part, else of the first operand", NULL),
    RS_COLUMN("flops_per_byte", REAL, NONE, "arithmetic intensity", "FLOPs/byte"),
    RS_COLUMN("tflops_per_s", REAL, NONE, "FLOPs of all calls over GPU time, 1e12 a second", "TFLOP/s"),
    RS_COLUMN("gb_per_s", REAL, GBPS, "bytes of all calls over GPU time", "GB/s"),
    RS_COLUMN("bound", TEXT, NONE, "what bounds it on that device: matrix, vector or memory", NULL),
    RS_COLUMN("bound_us", REAL, US, "the least time of one call on that device", NULL),
    RS_COLUMN("efficiency_pct", REAL, PERCENT,
              "bound_us of all calls in GPU time; above 100 where caches held operands", "of bound %"),
    RS_COLUMN("ex_uid", INT, ID, "position in traceEvents of the first call", "first"),
    RS_COLUMN("input_dims", TEXT, NONE, "shapes of the inputs", "dims"),
    RS_COLUMN("input_types", TEXT, NONE, "types of the inputs", "types"),
    RS_COLUMN("input_strides", TEXT, NONE, "strides of the inputs", "strides"),
    RS_COLUMN("concrete_inputs", TEXT, NONE, "values of scalar inputs", "values"),
};
#define TOTAL_COLUMNS                                                                                        \
    RS_COLUMN("count", INT, COUNT, "calls", NULL),                                                           \
        RS_COLUMN("kernel_us", TIME, US, "GPU time of all calls", "GPU time"),                               \
        RS_COLUMN("matrix_flops", INT, COUNT, "contractions of all calls with a model", NULL),               \
        RS_COLUMN("vector_flops", INT, COUNT, "other arithmetic of all calls with a model", NULL),           \
        RS_COLUMN("bytes", INT, BYTES, "moved by all calls whose bytes are known", NULL),                    \
        RS_COLUMN("bound_us", REAL, US, "least time of all calls that have one", NULL),                      \
        RS_COLUMN("bounded_us", TIME, US, "GPU time of these calls", NULL),                                  \
        RS_COLUMN("efficiency_pct", REAL, PERCENT, "bound_us of bounded_us", "of bound %"),                  \
        RS_COLUMN("modelled_pct", REAL, PERCENT, "GPU time with a model, of all", "modelled %")
static const rs_column_spec op_columns[] = {RS_COLUMN("rank", INT, ID, "rank", NULL),
                                            RS_COLUMN("name", TEXT, NONE, OWNER, NULL), TOTAL_COLUMNS};
static const rs_column_spec model_columns[] = {
    RS_COLUMN("rank", INT, ID, "rank", NULL),
    RS_COLUMN("model", TEXT, NONE, "kind of model; unknown: operators without one", NULL), TOTAL_COLUMNS};
static const rs_column_spec part_columns[] = {
    RS_COLUMN("rank", INT, ID, "rank", NULL),
    RS_COLUMN("part", TEXT, NONE, "module, or number of the step; unknown: operators in none", NULL),
    TOTAL_COLUMNS};
static const rs_column_spec device_columns[] = {
    RS_COLUMN("rank", INT, ID, "rank", NULL),
    RS_COLUMN("device", INT, ID, "its number in the file", NULL),
    RS_COLUMN("recorded_name", TEXT, NONE, "what the file calls it", NULL),
    RS_COLUMN("known_as", TEXT, NONE, "its name in the built-in table; unknown: not recognised", NULL),
    RS_COLUMN("mem_gbps", REAL, GBPS, "bandwidth of its memory", "memory GB/s"),
    RS_COLUMN("matrix_bf16", REAL, NONE, "TFLOP/s of its matrix units, dense", NULL),
    RS_COLUMN("matrix_fp8", REAL, NONE, "TFLOP/s of its matrix units, dense", NULL),
    RS_COLUMN("vector_fp32", REAL, NONE, "TFLOP/s of its vector units", NULL),
};
static const rs_column_spec gemm_columns[] = {
    RS_COLUMN("rank", INT, ID, "rank", NULL),
    RS_COLUMN("name", TEXT, NONE, OWNER, NULL),
    RS_COLUMN("count", INT, COUNT, "calls", NULL),
    RS_COLUMN("kernel_us", TIME, US, "GPU time of all calls", "GPU time"),
    RS_COLUMN("best_us", TIME, US, "the fastest call with these arguments, on any rank", "best"),
    RS_COLUMN("best_rank", INT, ID, "the rank that had it", NULL),
    RS_COLUMN("best_tflops_per_s", REAL, NONE, "its rate", "best TFLOP/s"),
    RS_COLUMN("gain_us", TIME, US, "GPU time less if every call ran at that rate", "gain"),
    RS_COLUMN("gain_pct", REAL, PERCENT, "gain_us of the rank's GPU time of operators", "gain %"),
    RS_COLUMN("input_dims", TEXT, NONE, "shapes of the inputs", "dims"),
    RS_COLUMN("input_types", TEXT, NONE, "types of the inputs", "types"),
    RS_COLUMN("input_strides", TEXT, NONE, "strides of the inputs", "strides"),
    RS_COLUMN("concrete_inputs", TEXT, NONE, "values of scalar inputs", "values"),
};
static const rs_column_spec roof_columns[] = {
    RS_COLUMN("rank", INT, ID, "rank", NULL),
    RS_COLUMN("unit", TEXT, NONE, "matrix: contractions; vector: operators that only do other arithmetic",
              NULL),
    RS_COLUMN("precision", TEXT, NONE, "of that arithmetic; unknown: integers and truth values", NULL),
    RS_COLUMN("tflops_per_s", REAL, NONE, "what the rank's device can do of it at best", "TFLOP/s"),
    RS_COLUMN("mem_gbps", REAL, GBPS, "bandwidth of its memory", "memory GB/s"),
    RS_COLUMN("ridge_flops_per_byte", REAL, NONE,
              "arithmetic intensity from which on the rate bounds, and not the memory", "ridge"),
    RS_COLUMN("count", INT, COUNT, "calls with a model that do it", NULL),
    RS_COLUMN("kernel_us", TIME, US, "their GPU time", "GPU time"),
};
static const rs_table_spec args_table =
    RS_TABLE("args", "one row is one operator with one set of arguments, of one rank", args_columns);
static const rs_table_spec op_table = RS_TABLE("ops", "one row is one operator of one rank", op_columns);
static const rs_table_spec model_table =
    RS_TABLE("models", "one row is one kind of model of one rank", model_columns);
static const rs_table_spec device_table =
    RS_TABLE("devices", "one row is one device that the file describes", device_columns);
static const rs_table_spec gemm_table =
    RS_TABLE("gemms", "one row is one matrix product with one set of arguments, of one rank", gemm_columns);
static const rs_table_spec roof_table =
    RS_TABLE("roofs", "one row is one rate that bounds operators of one rank", roof_columns);
static const rs_table_spec part_table = RS_TABLE(
    "parts", "one row is one module, or one step, of one rank; with --by module or step", part_columns);
/* An operator, all its arguments together. */
typedef struct measured_row {
    const char *name;
    int64_t count, time, known; /* ns; known: where a counter is */
    double matrix_pct, memory_pct;
    rs_measured_means means;
} measured_row;

#define MEASURED_ROW(CELL)                                                                                   \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(OF(measured_row, name), "name", TEXT, NONE, OWNER, NULL)                                            \
    CELL(OF(measured_row, count), "count", INT, COUNT, "calls", NULL)                                        \
    CELL(OF(measured_row, time), "kernel_us", TIME, US, "GPU time of all calls", "GPU time")                 \
    CELL(OF(measured_row, known), "measured_us", TIME, US,                                                   \
         "of their work's durations, where a counter is known", "measured")                                  \
    CELL(OF(measured_row, matrix_pct), "model_matrix_pct", REAL, PERCENT,                                    \
         "matrix FLOPs of all calls over GPU time, of the device's rate at their precision",                 \
         "model: matrix")                                                                                    \
    CELL(OF(measured_row, memory_pct), "model_memory_pct", REAL, PERCENT,                                    \
         "bytes of all calls over GPU time, of the memory's bandwidth", "model: memory")                     \
    RS_MEASURED_CELLS(CELL, measured_row, means)
RS_RECORD(measured, MEASURED_ROW);
static const rs_table_spec measured_table =
    RS_TABLE("measured", "one row is one operator of one rank; with --measured", measured_columns);

static const rs_table_spec *const tables[] = {&args_table, &op_table,   &model_table, &device_table,
                                              &gemm_table, &roof_table, &part_table,  &measured_table};
static const rs_table_set sets[] = {{RS_COMPAT_NONE, tables, 8}};
enum { ARGS, OPS, MODELS, DEVICES, GEMMS, ROOFS, PARTS, MEASURED };

/* ---- by arguments -------------------------------------------------------------------------------------- */

static void add_args_texts(rs_table *t, const rs_pool *pool, const rs_roof_row *r)
{
    RS_PUT_CELLS(t, rs_pool_text(pool, r->dims), rs_pool_text(pool, r->types), rs_pool_text(pool, r->strides),
                 rs_pool_text(pool, r->concrete));
}

static rs_status add_args_row(rs_table *t, int64_t rank, const rs_pool *pool, const rs_roof_row *r,
                              const rs_rates *rates, rs_error *err)
{
    rs_roof_figures f = rs_roof_figures_of(r, rates);
    RS_PUT_CELLS(t, rank, rs_pool_text(pool, r->name), r->family,
                 !r->family ? NULL
                 : r->lower ? "lower"
                            : "yes",
                 r->time.n, r->time.sum, f.flops ? r->matrix : RS_NO_VALUE, f.flops ? r->vector : RS_NO_VALUE,
                 f.bytes ? r->bytes : RS_NO_VALUE,
                 r->family && r->precision ? rs_precision_name((rs_precision)r->precision) : NULL,
                 f.flops_per_byte, f.tflops_per_s, f.gb_per_s, f.bound.what, f.bound.us, f.efficiency_pct,
                 r->uid);
    add_args_texts(t, pool, r);
    return rs_table_end_row(t, err);
}

/* ---- by operator, by model, by module or step ----------------------------------------------------------------------------- */

typedef struct total {
    const char *name; /* NULL: no model */
    rs_roof_total sum;
    size_t first; /* place of its first row */
} total;

static int by_time(const void *a, const void *b)
{
    const total *x = a, *y = b;
    if (x->sum.time != y->sum.time) return x->sum.time > y->sum.time ? -1 : 1;
    return x->first < y->first ? -1 : x->first > y->first;
}

/* Steps by their numbers, what is in none last. */
static int by_number(const void *a, const void *b)
{
    const total *x = a, *y = b;
    size_t n = x->name ? strlen(x->name) : SIZE_MAX, m = y->name ? strlen(y->name) : SIZE_MAX;
    if (n != m) return n < m ? -1 : 1;
    int c = n == SIZE_MAX ? 0 : strcmp(x->name, y->name);
    return c ? c : x->first < y->first ? -1 : x->first > y->first;
}

static const char *name_of(const rs_roof_rank *p, const rs_roof_row *r, unsigned table)
{
    return table == MODELS ? r->family : rs_pool_text(&p->pool, table == OPS ? r->name : r->part);
}

static rs_status add_total(rs_table *t, int64_t rank, const total *x, rs_error *err)
{
    return RS_PUT_ROW(t, err, rank, x->name, x->sum.count, x->sum.time, x->sum.matrix, x->sum.vector,
                      x->sum.bytes, x->sum.bound_us, x->sum.bounded, rs_roof_total_efficiency(&x->sum),
                      rs_percent(x->sum.modelled, x->sum.time));
}

static rs_status add_totals(rs_table *t, int64_t rank, const rs_roof_rank *p, const rs_rates *rates,
                            unsigned table, bool in_order, size_t top, rs_error *err)
{
    rs_strings names;
    RS_LOCAL total *items = NULL;
    size_t n = 0, capacity = 0;
    rs_status status = RS_OK;
    bool ok = rs_strings_init(&names);
    for (size_t i = 0; ok && i < p->n; i++) {
        const rs_roof_row *r = &p->rows[i];
        const char *name = name_of(p, r, table);
        uint32_t id = rs_strings_add(&names, name ? name : "", name ? strlen(name) : 0);
        ok = id != RS_NO_STRING;
        if (ok && (id >= capacity || n == 0))
            ok = rs_grow((void **)&items, &capacity, names.n, sizeof *items);
        for (; ok && n < names.n; n++) items[n] = (total){.first = SIZE_MAX};
        if (!ok) break;
        if (items[id].first == SIZE_MAX) items[id] = (total){.name = name, .first = i};
        rs_roof_total_add(&items[id].sum, r, rates);
    }
    if (!ok) status = rs_fail_nomem(err, "operators");
    if (n) qsort(items, n, sizeof *items, in_order ? by_number : by_time);
    size_t added = 0;
    for (size_t i = 0; status == RS_OK && i < n && (!top || added < top); i++) {
        if (items[i].first == SIZE_MAX) continue; /* a text that no row has */
        status = add_total(t, rank, &items[i], err);
        added++;
    }
    rs_strings_clear(&names);
    return status;
}

/* ---- measured next to modelled ----------------------------------------------------------------------------- */

/* Seconds that the matrix units, and the memory, work at their rates; NaN where a call's share is unknown. */
typedef struct measured_sum {
    const char *name;
    int64_t count, time;
    double matrix_s, memory_s;
    rs_measured measured;
} measured_sum;

static void add_measured(measured_sum *x, const rs_roof_row *r, const rs_rates *rates)
{
    double calls = (double)r->time.n,
           rate = rates && r->precision ? rates->matrix[r->precision] : (double)NAN;
    x->count += (int64_t)r->time.n;
    x->time = rs_add_sat(x->time, r->time.sum);
    x->matrix_s += !r->has_flops ? (double)NAN : r->matrix ? calls * (double)r->matrix / (rate * 1e12) : 0;
    x->memory_s += !r->has_bytes || !rates ? (double)NAN : calls * (double)r->bytes / (rates->mem_gbps * 1e9);
    rs_measured_join(&x->measured, &r->measured);
}

static const rs_order by_time_measured[] = {RS_FALLING(measured_sum, time)};

static rs_status add_all_measured(rs_table *t, int64_t rank, const rs_roof_rank *p, const rs_rates *rates,
                                  size_t top, rs_error *err)
{
    RS_LOCAL measured_sum *sums = rs_calloc(p->n + 1, sizeof *sums);
    RS_LOCAL uint32_t *place = rs_calloc(p->pool.strings.n + 1, sizeof *place); /* by text, + 1 */
    rs_status status = sums && place ? RS_OK : rs_fail_nomem(err, "roofline");
    size_t n = 0;
    for (size_t i = 0; status == RS_OK && i < p->n; i++) {
        uint32_t name = p->rows[i].name;
        if (name >= p->pool.strings.n) continue;
        if (!place[name]) {
            place[name] = (uint32_t)++n;
            sums[n - 1].name = rs_pool_text(&p->pool, name);
        }
        add_measured(&sums[place[name] - 1], &p->rows[i], rates);
    }
    if (status == RS_OK) RS_SORT(sums, n, by_time_measured);
    for (size_t i = 0; status == RS_OK && i < n && (!top || i < top); i++) {
        const measured_sum *x = &sums[i];
        measured_row row = {.name = x->name,
                            .count = x->count,
                            .time = x->time,
                            .matrix_pct = x->time > 0 ? 1e11 * x->matrix_s / (double)x->time : (double)NAN,
                            .memory_pct = x->time > 0 ? 1e11 * x->memory_s / (double)x->time : (double)NAN,
                            .means = rs_measured_means_of(&x->measured)};
        for (int k = 0; k < RS_N_MEASURES; k++)
            if (x->measured.ns[k] > (double)row.known) row.known = rs_int_of(x->measured.ns[k]);
        status = rs_table_put_row(t, &measured_record, rank, &row, err);
    }
    return status;
}

/* ---- devices ------------------------------------------------------------------------------------------- */

static rs_status add_devices(rs_table *t, int64_t rank, const rs_roof_rank *p, rs_error *err)
{
    for (size_t i = 0; i < p->n_devices; i++) {
        const rs_roof_device *d = &p->devices[i];
        rs_rates rates;
        bool known = d->known_as && rs_rates_find(d->known_as, &rates);
        RS_TRY(RS_PUT_ROW(t, err, rank, d->id, d->name, d->known_as, known ? rates.mem_gbps : (double)NAN,
                          known ? rates.matrix[RS_BF16] : (double)NAN,
                          known ? rates.matrix[RS_FP8] : (double)NAN,
                          known ? rates.vector[RS_FP32] : (double)NAN));
    }
    return RS_OK;
}

/* ---- the lines of a roofline chart ---------------------------------------------------------------------- */

typedef struct roof {
    uint64_t count;
    int64_t time;
} roof;

/* A row's roof: the matrix units' for contractions, whatever other arithmetic they do; else the vector units'. */
static roof *roof_of(roof (*roofs)[RS_N_PRECISIONS], const rs_roof_row *r)
{
    if (!r->family || !r->has_flops || (r->matrix <= 0 && r->vector <= 0)) return NULL;
    return &roofs[r->matrix > 0 ? 0 : 1][r->precision];
}

static rs_status add_roofs(rs_table *t, int64_t rank, const rs_roof_rank *p, const rs_rates *rates,
                           rs_error *err)
{
    roof roofs[2][RS_N_PRECISIONS] = {{{0}}};
    for (size_t i = 0; i < p->n; i++) {
        roof *one = roof_of(roofs, &p->rows[i]);
        if (!one) continue;
        one->count += p->rows[i].time.n;
        one->time = rs_add_sat(one->time, p->rows[i].time.sum);
    }
    for (unsigned unit = 0; unit < 2; unit++)
        for (unsigned i = 0; i < RS_N_PRECISIONS; i++) {
            const roof *one = &roofs[unit][i];
            if (!one->count) continue;
            rs_precision precision = (rs_precision)i;
            double rate = !rates      ? (double)NAN
                          : unit == 0 ? rs_rates_matrix(rates, precision)
                                      : rs_rates_vector(rates, precision);
            double memory = rates ? rates->mem_gbps : (double)NAN;
            RS_TRY(RS_PUT_ROW(t, err, rank, unit == 0 ? "matrix" : "vector",
                              precision ? rs_precision_name(precision) : NULL, rate, memory,
                              rs_roof_ratio(rate * 1e3, memory), one->count, one->time));
        }
    return RS_OK;
}

/* ---- matrix products at their best rate ---------------------------------------------------------------- */

typedef struct gemm {
    const rs_partial *partial;
    const rs_roof_row *row;
    uint64_t key; /* the same of the same operator and arguments on all ranks */
    int64_t best, best_rank;
    size_t place;
} gemm;

static bool is_gemm(const rs_roof_row *r)
{
    return r->family && (strcmp(r->family, "gemm") == 0 || strcmp(r->family, "grouped gemm") == 0);
}

static const rs_pool *pool_of(const gemm *g)
{
    return &((const rs_roof_rank *)g->partial->value)->pool;
}

static int compare_text(const gemm *a, uint32_t x, const gemm *b, uint32_t y)
{
    const char *s = rs_pool_text(pool_of(a), x), *t = rs_pool_text(pool_of(b), y);
    if (!s || !t) return (s != NULL) - (t != NULL);
    return strcmp(s, t);
}

static int by_arguments(const void *a, const void *b)
{
    const gemm *x = a, *y = b;
    int c = compare_text(x, x->row->name, y, y->row->name);
    if (!c) c = compare_text(x, x->row->dims, y, y->row->dims);
    if (!c) c = compare_text(x, x->row->types, y, y->row->types);
    if (!c) c = compare_text(x, x->row->strides, y, y->row->strides);
    if (!c) c = compare_text(x, x->row->concrete, y, y->row->concrete);
    return c;
}

static int by_arguments_then_place(const void *a, const void *b)
{
    const gemm *x = a, *y = b;
    int c = by_arguments(a, b);
    return c ? c : x->place < y->place ? -1 : x->place > y->place;
}

static const rs_order by_place[] = {RS_RISING(gemm, place)};

static void find_best(gemm *items, size_t n)
{
    for (size_t i = 0, end; i < n; i = end) {
        int64_t best = items[i].row->time.min, rank = items[i].partial->rank;
        for (end = i + 1; end < n && by_arguments(&items[i], &items[end]) == 0; end++) {
            if (items[end].row->time.min >= best) continue;
            best = items[end].row->time.min;
            rank = items[end].partial->rank;
        }
        for (size_t k = i; k < end; k++) items[k].best = best, items[k].best_rank = rank;
    }
}

static int64_t gain_of(const gemm *g)
{
    return rs_sub_sat(g->row->time.sum, rs_roof_times(g->best, g->row->time.n));
}

static int64_t time_of_rank(const rs_roof_rank *p)
{
    int64_t sum = 0;
    for (size_t i = 0; i < p->n; i++) sum = rs_add_sat(sum, p->rows[i].time.sum);
    return sum;
}

static rs_status add_gemm(rs_table *t, const gemm *g, int64_t all, rs_error *err)
{
    const rs_roof_row *r = g->row;
    double flops = (double)r->matrix + (double)r->vector;
    RS_PUT_CELLS(t, g->partial->rank, rs_pool_text(pool_of(g), r->name), r->time.n, r->time.sum, g->best,
                 g->best_rank, rs_roof_ratio(flops, (double)g->best) / 1e3, gain_of(g),
                 rs_percent(gain_of(g), all));
    add_args_texts(t, pool_of(g), r);
    return rs_table_end_row(t, err);
}

static rs_status add_gemms(rs_table *t, const rs_partial *partials, size_t n, size_t top, rs_result *result,
                           rs_error *err)
{
    RS_LOCAL gemm *items = NULL;
    size_t n_items = 0, capacity = 0, of_rank = 0;
    int64_t gain = 0, sum = 0, all = 0, all_ranks = 0;
    bool ok = true;
    for (size_t i = 0; ok && i < n; i++) {
        const rs_roof_rank *p = partials[i].value;
        all_ranks = rs_add_sat(all_ranks, time_of_rank(p));
        for (size_t k = 0; ok && k < p->n; k++) {
            if (!is_gemm(&p->rows[k])) continue;
            ok = RS_GROW_ONE(items, n_items, capacity);
            if (ok) items[n_items] = (gemm){.partial = &partials[i], .row = &p->rows[k], .place = n_items};
            n_items += ok;
        }
    }
    rs_status status = ok ? RS_OK : rs_fail_nomem(err, "matrix products");
    if (n_items) qsort(items, n_items, sizeof *items, by_arguments_then_place);
    if (status == RS_OK) find_best(items, n_items);
    RS_SORT(items, n_items, by_place);
    for (size_t i = 0; status == RS_OK && i < n_items; i++) {
        if (i == 0 || items[i].partial != items[i - 1].partial) {
            all = time_of_rank(items[i].partial->value);
            of_rank = 0;
        }
        sum = rs_add_sat(sum, items[i].row->time.sum);
        gain = rs_add_sat(gain, gain_of(&items[i]));
        if (!top || of_rank++ < top) status = add_gemm(t, &items[i], all, err);
    }
    if (status == RS_OK && gain > 0 && all_ranks > 0)
        rs_result_note(
            result,
            "if every matrix product ran at the best rate seen for its shape: %s of %s us less, %s %% "
            "of the GPU time of operators (--table gemms)",
            RS_FIXED((double)gain / 1e3, 1), RS_FIXED((double)sum / 1e3, 1),
            RS_FIXED(rs_percent(gain, all_ranks), 2));
    return status;
}

/* ---- all of it ----------------------------------------------------------------------------------------- */

static rs_status merge_rank(const rs_run *run, const rs_partial *partial, rs_result *result, rs_error *err)
{
    const rs_roof_rank *p = partial->value;
    size_t top = (size_t)rs_options_int(run->options, "top");
    rs_rates rates;
    bool known;
    RS_TRY(rs_rank_rates(run, p->known_as, &rates, &known, err));
    const rs_rates *r = known ? &rates : NULL;
    rs_roof_part part = rs_roof_part_of(run->options);
    rs_table *const *t = result->tables;
    if (rs_options_flag(run->options, "measured")) {
        RS_TRY(add_all_measured(t[MEASURED], partial->rank, p, r, top, err));
        if (!p->has_counters)
            rs_result_note(result,
                           "rank %lld: no counters of the GPU: the command measured says what records them",
                           (long long)partial->rank);
    } else if (part != RS_ROOF_WHOLE) { /* rows by arguments would stand once for each module or step */
        RS_TRY(add_totals(t[PARTS], partial->rank, p, r, PARTS, part == RS_ROOF_STEP, top, err));
    } else {
        for (size_t i = 0; i < p->n && (!top || i < top); i++)
            RS_TRY(add_args_row(t[ARGS], partial->rank, &p->pool, &p->rows[i], r, err));
        RS_TRY(add_totals(t[OPS], partial->rank, p, r, OPS, false, top, err));
        RS_TRY(add_totals(t[MODELS], partial->rank, p, r, MODELS, false, top, err));
    }
    RS_TRY(add_devices(result->tables[DEVICES], partial->rank, p, err));
    RS_TRY(add_roofs(result->tables[ROOFS], partial->rank, p, r, err));
    rs_roof_note(run, partial->rank, p, known, result);
    return RS_OK;
}

static rs_status merge(const rs_run *run, rs_partial *partials, size_t n, rs_result *result, rs_error *err)
{
    const char *by = rs_options_text(run->options, "by");
    rs_roof_part part = rs_roof_part_of(run->options);
    result->main_table = rs_options_flag(run->options, "measured") ? MEASURED
                         : part != RS_ROOF_WHOLE                   ? PARTS
                         : strcmp(by, "op") == 0                   ? OPS
                         : strcmp(by, "model") == 0                ? MODELS
                                                                   : ARGS;
    for (size_t i = 0; i < n; i++) RS_TRY(merge_rank(run, &partials[i], result, err));
    size_t top = (size_t)rs_options_int(run->options, "top");
    if (result->main_table != PARTS && result->main_table != MEASURED)
        RS_TRY(add_gemms(result->tables[GEMMS], partials, n, top, result, err));
    return rs_gate_apply(run->options, result->tables[result->main_table], result, err);
}

const rs_analysis rs_analysis_roofline = {
    .name = "roofline",
    .group = "Performance models",
    .help =
        "What each operator computes and moves, what the device could do at best, how far it is from that",
    .about =
        "FLOPs and bytes follow from the operator's name and the shapes, types and values of its arguments\n"
        "(record_shapes=True), forward and backward. Matrix FLOPs are those of contractions, a multiply-add "
        "counts\nas 2; vector FLOPs are all other arithmetic. Bytes count each operand once: a lower bound "
        "for "
        "kernels that\nreread, and too much where the previous operator left data in a cache, so more than "
        "100 % "
        "of the bound is\npossible. Causal attention counts the pairs that are not masked. Communication is "
        "left out.\n"
        "Work belongs to the outermost operator around its launch that has a model, else to its launcher, so "
        "no\ntime is counted twice. What has no model says so and keeps its row.\n"
        "The bound is the longest of what matrix FLOPs, vector FLOPs and bytes take at the device's dense, "
        "theoretical\nrates. --device FILE is {\"name\", \"mem_bw_gbps\", \"memory_gb\", "
        "\"max_achievable_tflops\": {\"matrix_bf16\": ...,\n\"vector_fp32\": ...}}; what it lacks is "
        "unknown.\n"
        "The table gemms says what would be gained if every matrix product ran at the best rate seen for its "
        "shape;\nroofs holds the lines of a roofline chart, which `report` draws. --measured adds what counters measured of each operator\n"
        "(SM and tensor activity, memory, links, clocks, power) to what its model says: much of the one and little of the other\n"
        "is work that the model does not know, or counts twice.",
    .examples =
        "rankscope roofline --by model trace.json.gz\nrankscope roofline --top 20 --steps 3 traces/\n"
        "rankscope roofline --by module trace.json.gz\nrankscope roofline --by step traces/\n"
        "rankscope roofline --table devices trace.json.gz\nrankscope roofline --measured --device A100 report.sqlite\n"
        "rankscope roofline --device MI300X --fail-on 'efficiency_pct < 30, kernel_us > 1000' trace.json.gz",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .facets = {&rs_facet_owners, &rs_facet_shapes, &rs_facet_gpu_rows, &rs_facet_steps, &rs_facet_measures},
    .columns = RS_COLUMN_BIT(DEVICE),
    .table_sets = sets,
    .n_table_sets = 1,
    .follows = RS_FOLLOWS_ALL | RS_FOLLOWS_CAPTURES,
    .rank = rs_roof_rank_of,
    .merge = merge,
    .free_partial = rs_roof_free,
    .partial_layout = &rs_roof_layout,
};
