#include "analysis/ops_perf.h"

#include "analysis/roofline_figures.h"
#include "base/interval.h"
#include "base/try.h"
#include "perf/shapes.h"

/* ---- rows ---------------------------------------------------------------------------------------------- */

typedef struct perf_row {
    const char *name, *model, *exact, *precision, *bound, *dims, *types, *strides, *concrete;
    uint64_t count;
    int64_t time, flops, bytes; /* flops, bytes: of one call, RS_NO_VALUE when unknown */
    double share_pct, flops_per_byte, tflops_per_s, tb_per_s, efficiency_pct;
    uint32_t uid;
} perf_row;

#define PERF_ROW(CELL)                                                                                       \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(MAYBE(perf_row, name), "name", TEXT, NONE,                                                          \
         "operator that owns the work: the outermost one with a model, else the launcher", NULL)             \
    CELL(MAYBE(perf_row, model), "model", TEXT, NONE, "kind of model; unknown where there is none for it",   \
         NULL)                                                                                               \
    CELL(MAYBE(perf_row, exact), "exact", TEXT, NONE,                                                        \
         "yes, or lower where the work depends on more than the trace holds", NULL)                          \
    CELL(OF(perf_row, count), "count", INT, COUNT, "calls", NULL)                                            \
    CELL(OF(perf_row, time), "kernel_us", TIME, US, "GPU time of all calls: unions of the work each owns",   \
         "GPU time")                                                                                         \
    CELL(OF(perf_row, share_pct), "share_pct", REAL, PERCENT, "of the rank's GPU time of operators",         \
         "share %")                                                                                          \
    CELL(OF(perf_row, flops), "flops", INT, COUNT, "FLOPs of one call, a multiply-add counted as 2",         \
         "FLOPs")                                                                                            \
    CELL(OF(perf_row, bytes), "bytes", INT, BYTES, "what one call must move: each operand once", NULL)       \
    CELL(MAYBE(perf_row, precision), "precision", TEXT, NONE,                                                \
         "of the matrix part, else of the first operand", NULL)                                              \
    CELL(OF(perf_row, flops_per_byte), "flops_per_byte", REAL, NONE, "arithmetic intensity", "FLOPs/byte")   \
    CELL(OF(perf_row, tflops_per_s), "tflops_per_s", REAL, NONE,                                             \
         "FLOPs of all calls over GPU time, 1e12 a second", "TFLOP/s")                                       \
    CELL(OF(perf_row, tb_per_s), "tb_per_s", REAL, NONE, "bytes of all calls over GPU time, 1e12 a second",  \
         "TB/s")                                                                                             \
    CELL(MAYBE(perf_row, bound), "bound", TEXT, NONE,                                                        \
         "what bounds it on that device: matrix, vector or memory", NULL)                                    \
    CELL(OF(perf_row, efficiency_pct), "efficiency_pct", REAL, PERCENT,                                      \
         "share of the roofline: least time on that device in GPU time; above 100 where caches held "        \
         "operands",                                                                                         \
         "of bound %")                                                                                       \
    CELL(OF(perf_row, uid), "ex_uid", INT, ID, "position in traceEvents of the first call", "first")         \
    CELL(MAYBE(perf_row, dims), "input_dims", TEXT, NONE, "shapes of the inputs", "dims")                    \
    CELL(MAYBE(perf_row, types), "input_types", TEXT, NONE, "types of the inputs", "types")                  \
    CELL(MAYBE(perf_row, strides), "input_strides", TEXT, NONE, "strides of the inputs", "strides")          \
    CELL(MAYBE(perf_row, concrete), "concrete_inputs", TEXT, NONE, "values of scalar inputs", "values")
RS_RECORD(perf, PERF_ROW);

typedef struct coverage_row {
    const char *device; /* NULL: unknown */
    rs_roof_total sum;
    int64_t flops;
    double efficiency_pct;
} coverage_row;

#define COVERAGE_ROW(CELL)                                                                                   \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(MAYBE(coverage_row, device), "device", TEXT, NONE, "what bounds are of; unknown: not recognised",   \
         NULL)                                                                                               \
    CELL(OF(coverage_row, sum.count), "count", INT, COUNT, "calls that own GPU work", NULL)                  \
    CELL(OF(coverage_row, sum.time), "kernel_us", TIME, US, "GPU time of all calls", "GPU time")             \
    CELL(OF(coverage_row, sum.modelled), "modelled_us", TIME, US, "GPU time of calls with a model",          \
         "modelled")                                                                                         \
    CELL(SHARE(coverage_row, sum.modelled, sum.time), "modelled_pct", REAL, PERCENT,                         \
         "share of GPU time with a model", "modelled %")                                                     \
    CELL(OF(coverage_row, flops), "flops", INT, COUNT, "of all calls with a model", "FLOPs")                 \
    CELL(OF(coverage_row, sum.bytes), "bytes", INT, BYTES, "moved by all calls whose bytes are known", NULL) \
    CELL(OF(coverage_row, sum.bounded), "bounded_us", TIME, US, "GPU time of calls that have a bound",       \
         "bounded")                                                                                          \
    CELL(OF(coverage_row, sum.bound_us), "bound_us", REAL, US, "least time of these calls", "bound")         \
    CELL(OF(coverage_row, efficiency_pct), "efficiency_pct", REAL, PERCENT, "bound_us of bounded_us",        \
         "of bound %")
RS_RECORD(coverage, COVERAGE_ROW);

const rs_plan_table rs_ops_perf_table = {RS_PLAN_TABLE(
                                             "perf",
                                             "one row is one operator with one set of arguments, of one rank",
                                             perf),
                                         .relation = RS_OF_MORE, .choice = RS_WITH(RS_IS_SET("perf"))},
                    rs_ops_coverage_table = {
                        RS_PLAN_TABLE("coverage", "one row is one rank: how much of its GPU time has a model",
                                      coverage),
                        .relation = RS_OF_MORE};

uint64_t rs_ops_perf_columns(void)
{
    static const rs_facet *const facets[] = {&rs_facet_owners, &rs_facet_shapes, &rs_facet_gpu_rows};
    return rs_facet_columns(facets, sizeof facets / sizeof *facets) | RS_COLUMN_BIT(DEVICE);
}

/* ---- filling ------------------------------------------------------------------------------------------- */

static perf_row row_of(const rs_pool *pool, const rs_roof_row *r, const rs_rates *rates, int64_t all)
{
    rs_roof_figures f = rs_roof_figures_of(r, rates);
    return (perf_row){
        .name = rs_pool_text(pool, r->name),
        .model = r->family,
        .exact = !r->family ? NULL
                 : r->lower ? "lower"
                            : "yes",
        .precision = r->family && r->precision ? rs_precision_name((rs_precision)r->precision) : NULL,
        .bound = f.bound.what,
        .dims = rs_pool_text(pool, r->dims),
        .types = rs_pool_text(pool, r->types),
        .strides = rs_pool_text(pool, r->strides),
        .concrete = rs_pool_text(pool, r->concrete),
        .count = r->time.n,
        .time = r->time.sum,
        .flops = f.flops ? rs_add_sat(r->matrix, r->vector) : RS_NO_VALUE,
        .bytes = f.bytes ? r->bytes : RS_NO_VALUE,
        .share_pct = 100 * rs_roof_ratio((double)r->time.sum, (double)all),
        .flops_per_byte = f.flops_per_byte,
        .tflops_per_s = f.tflops_per_s,
        .tb_per_s = f.gb_per_s / 1e3,
        .efficiency_pct = f.efficiency_pct,
        .uid = r->uid,
    };
}

rs_status rs_ops_perf_add(const rs_run *run, int64_t rank, const rs_roof_rank *p, size_t top, rs_table *perf,
                          rs_table *coverage, rs_result *result, rs_error *err)
{
    rs_rates rates;
    bool known;
    coverage_row all = {0};
    RS_TRY(rs_rank_rates(run, p->known_as, &rates, &known, err));
    const rs_rates *r = known ? &rates : NULL;
    for (size_t i = 0; i < p->n; i++) rs_roof_total_add(&all.sum, &p->rows[i], r);
    for (size_t i = 0; i < p->n && (!top || i < top); i++) {
        perf_row row = row_of(&p->pool, &p->rows[i], r, all.sum.time);
        RS_TRY(rs_table_put_row(perf, &perf_record, rank, &row, err));
    }
    all.device = r ? r->name : NULL;
    all.flops = rs_add_sat(all.sum.matrix, all.sum.vector);
    all.efficiency_pct = rs_roof_total_efficiency(&all.sum);
    RS_TRY(rs_table_put_row(coverage, &coverage_record, rank, &all, err));
    rs_roof_note(run, rank, p, known, result);
    return RS_OK;
}
