/* variance: which kernels or operators vary though their work is equal, when the slowest ran, beside what. */
#include <math.h>
#include <string.h>

#include "analysis/gate.h"
#include "analysis/variance_rank.h"
#include "base/interval.h"
#include "base/order.h"
#include "base/strings.h"
#include "base/try.h"
#include "perf/owner.h"
#include "text/numbers.h"
#include "table/cells.h"

static const rs_option_spec options[] = {
    {"by", RS_OPTION_CHOICE, "WHAT", "kernel|op", "kernel",
     "kernel: by name; op: by operator and shapes, a run is all work of one call"},
    {"class", RS_OPTION_CHOICE, "CLASS", "computation|communication|memory|all|gemm|attention|convolution",
     "computation", "which work; gemm, attention and convolution are recognised by the kernels' names"},
    {"top", RS_OPTION_INT, "N", NULL, "20", "only the first N rows of a rank; 0: all"},
    {"min-count", RS_OPTION_INT, "N", NULL, "2", "only what ran N times or more on the rank"},
    {"fail-on", RS_OPTION_TEXT, "EXPR", NULL, NULL,
     "exit 1 when a row meets the expression: 'cv > 0.5, above_median_us > 1000'"},
};

static const rs_column_spec columns[] = {
    RS_COLUMN("rank", INT, ID, "rank", NULL),
    RS_COLUMN("name", TEXT, NONE, "kernel, or operator", NULL),
    RS_COLUMN("input_dims", TEXT, NONE, "shapes of the operator's inputs; unknown for kernels", "dims"),
    RS_COLUMN("count", INT, COUNT, "runs", NULL),
    RS_COLUMN("sum_us", TIME, US, "their GPU time", "sum"),
    RS_COLUMN("above_median_us", TIME, US, "GPU time of the slower half beyond the median, added up",
              "above median"),
    RS_COLUMN("mean_us", REAL, US, "mean", "mean"),
    RS_COLUMN("min_us", TIME, US, "fastest run", "min"),
    RS_COLUMN("p50_us", REAL, US, "median", "p50"),
    RS_COLUMN("p90_us", REAL, US, "nine of ten runs were no longer", "p90"),
    RS_COLUMN("p99_us", REAL, US, "99 of 100 runs were no longer", "p99"),
    RS_COLUMN("max_us", TIME, US, "slowest run", "max"),
    RS_COLUMN("std_us", REAL, US, "standard deviation of a sample; unknown for one run", "std"),
    RS_COLUMN("cv", REAL, RATIO, "coefficient of variation: std_us over mean_us", NULL),
    RS_COLUMN("spread", REAL, RATIO, "max_us less min_us, over min_us", NULL),
    RS_COLUMN("slowest_at_us", MOMENT, US, "when the slowest run started", "slowest at"),
    RS_COLUMN("slowest_step", INT, ID, "step of the slowest run", "in step"),
    RS_COLUMN("slowest_uid", INT, ID, "its position in traceEvents; of the operator with --by op", NULL),
    RS_COLUMN("fastest_at_us", MOMENT, US, "when the fastest run started", "fastest at"),
    RS_COLUMN("slowest_comm_us", TIME, US, "communication that ran with the slowest", "comm with it"),
    RS_COLUMN("slowest_comm_pct", REAL, PERCENT, "slowest_comm_us of max_us", "comm %"),
    RS_COLUMN("collectives", TEXT, NONE, "which communication that was, and how often", NULL),
    RS_COLUMN("slowest_copies_us", TIME, US, "copies and memsets that ran with the slowest",
              "copies with it"),
    RS_COLUMN("overlapped", INT, COUNT, "runs with communication for more than half of their time", NULL),
    RS_COLUMN("alone", INT, COUNT, "runs without communication", NULL),
    RS_COLUMN("slowdown_when_overlapped", REAL, RATIO, "mean of the overlapped over the mean of those alone",
              "slowdown"),
    RS_COLUMN("overlap_correlation", REAL, NONE,
              "correlation of a run's time and the share of it with communication, -1 to 1", "correlation"),
};
static const rs_column_spec across_columns[] = {
    RS_COLUMN("name", TEXT, NONE, "kernel, or operator", NULL),
    RS_COLUMN("input_dims", TEXT, NONE, "shapes of the operator's inputs; unknown for kernels", "dims"),
    RS_COLUMN("ranks", INT, COUNT, "ranks that ran it", NULL),
    RS_COLUMN("median_us", REAL, US, "median over ranks of their medians", "median"),
    RS_COLUMN("slowest_rank", INT, ID, "rank with the largest median", NULL),
    RS_COLUMN("slowest_us", REAL, US, "its median", "slowest"),
    RS_COLUMN("ratio", REAL, RATIO, "slowest_us over median_us", NULL),
    RS_COLUMN("excess_us", REAL, US, "what the slowest rank's runs took more, all of them", "excess"),
};
static const rs_column_spec rank_columns[] = {
    RS_COLUMN("rank", INT, ID, "rank", NULL),
    RS_COLUMN("names", INT, COUNT, "kernels or operators that other ranks ran, too", NULL),
    RS_COLUMN("typical_us", REAL, US, "its runs of them at the rank's own medians", "own"),
    RS_COLUMN("expected_us", REAL, US, "the same at the median over ranks of each", "expected"),
    RS_COLUMN("ratio", REAL, RATIO, "typical_us over expected_us: how slow the rank's GPU is", NULL),
};
static const rs_table_spec own_table =
    RS_TABLE("variance", "one row is one kernel, or operator with shapes, of one rank", columns);
static const rs_table_spec across_table =
    RS_TABLE("across", "one row is one kernel, or operator with shapes, on several ranks", across_columns);
static const rs_table_spec rank_table =
    RS_TABLE("ranks", "one row is one rank against the others at the same work", rank_columns);
static const rs_table_spec *const tables[] = {&own_table, &across_table, &rank_table};
static const rs_table_set sets[] = {{RS_COMPAT_NONE, tables, 3}};
enum { OWN, ACROSS, RANKS };

static double ratio(double part, double whole)
{
    return whole > 0 ? part / whole : (double)NAN;
}

/* ---- one rank ------------------------------------------------------------------------------------------ */

static rs_status add_row(rs_table *t, int64_t rank, const rs_variance_rank *p, const rs_variance_row *v,
                         rs_error *err)
{
    double mean = rs_moments_mean(&v->time), std = rs_moments_std(&v->time);
    bool known = p->has_comm && v->slowest_beside_comm >= 0;
    return RS_PUT_ROW(t, err, rank, rs_pool_text(&p->pool, v->name), rs_pool_text(&p->pool, v->dims),
                      v->time.n, v->time.sum, v->above, mean / 1e3, v->time.min, v->p50 / 1e3, v->p90 / 1e3,
                      v->p99 / 1e3, v->time.max, std / 1e3, ratio(std, mean),
                      ratio((double)rs_sub_sat(v->time.max, v->time.min), (double)v->time.min), v->slowest_at,
                      v->slowest_step >= 0 ? v->slowest_step : RS_NO_VALUE, v->slowest_row, v->fastest_at,
                      known ? v->slowest_beside_comm : RS_NO_VALUE,
                      known ? 100 * ratio((double)v->slowest_beside_comm, (double)v->time.max) : (double)NAN,
                      rs_pool_text(&p->pool, v->collectives), v->slowest_beside_copies, v->n_beside,
                      v->n_alone, ratio(v->mean_beside, v->mean_alone), v->correlation);
}

/* ---- across ranks -------------------------------------------------------------------------------------- */

typedef struct entry {
    uint64_t key; /* name and dims, as texts of all ranks */
    size_t partial;
    const rs_variance_row *row;
    double typical; /* the median over ranks */
} entry;

typedef struct group {
    const entry *slowest;
    size_t n;
    double median, excess;
    const char *name, *dims;
} group;

static const rs_order by_key[] = {RS_RISING(entry, key), RS_RISING(entry, partial)};

static const rs_order by_excess[] = {RS_FALLING(group, excess), RS_RISING(group, name),
                                     RS_RISING(group, dims)};

/* All rows of all ranks, by name and dims. */
static rs_status list_entries(const rs_partial *partials, size_t n, entry **out, size_t *n_out, rs_error *err)
{
    rs_strings texts;
    size_t total = 0;
    bool ok = rs_strings_init(&texts);
    for (size_t i = 0; i < n; i++) total += ((const rs_variance_rank *)partials[i].value)->n;
    *out = rs_malloc((total + 1) * sizeof **out);
    ok = ok && *out;
    *n_out = 0;
    for (size_t i = 0; ok && i < n; i++) {
        const rs_variance_rank *p = partials[i].value;
        for (size_t k = 0; ok && k < p->n; k++) {
            const char *name = rs_pool_text(&p->pool, p->rows[k].name);
            const char *dims = rs_pool_text(&p->pool, p->rows[k].dims);
            uint32_t a = rs_strings_add(&texts, name, strlen(name));
            uint32_t b = dims ? rs_strings_add(&texts, dims, strlen(dims)) : 0;
            ok = a != RS_NO_STRING && b != RS_NO_STRING;
            (*out)[(*n_out)++] = (entry){(uint64_t)a << 32 | b, i, &p->rows[k], (double)NAN};
        }
    }
    rs_strings_clear(&texts);
    if (ok && *n_out) RS_SORT(*out, *n_out, by_key);
    return ok ? RS_OK : rs_fail_nomem(err, "kernels");
}

/* One name on all ranks that have it. */
static group judge(const rs_partial *partials, entry *entries, size_t n, double *scratch)
{
    const rs_variance_rank *p = partials[entries[0].partial].value;
    const char *dims = rs_pool_text(&p->pool, entries[0].row->dims);
    group g = {.n = n, .slowest = &entries[0], .name = rs_pool_text(&p->pool, entries[0].row->name)};
    g.dims = dims ? dims : "";
    for (size_t i = 0; i < n; i++) {
        scratch[i] = entries[i].row->p50;
        if (entries[i].row->p50 > g.slowest->row->p50) g.slowest = &entries[i];
    }
    rs_sort_doubles(scratch, n);
    g.median = rs_quantile(scratch, n, 0.5);
    for (size_t i = 0; i < n; i++) entries[i].typical = n > 1 ? g.median : (double)NAN;
    g.excess = (g.slowest->row->p50 - g.median) * (double)g.slowest->row->time.n;
    return g;
}

static rs_status add_group(rs_table *t, const rs_partial *partials, const group *g, rs_error *err)
{
    return RS_PUT_ROW(t, err, g->name, g->dims[0] ? g->dims : NULL, g->n, g->median / 1e3,
                      partials[g->slowest->partial].rank, g->slowest->row->p50 / 1e3,
                      ratio(g->slowest->row->p50, g->median), g->excess / 1e3);
}

static rs_status add_ranks(rs_table *t, const rs_partial *partials, size_t n, const entry *entries,
                           size_t n_entries, rs_error *err)
{
    for (size_t i = 0; i < n; i++) {
        double own = 0, expected = 0;
        int64_t names = 0;
        for (size_t k = 0; k < n_entries; k++) {
            if (entries[k].partial != i || isnan(entries[k].typical)) continue;
            own += entries[k].row->p50 * (double)entries[k].row->time.n;
            expected += entries[k].typical * (double)entries[k].row->time.n;
            names++;
        }
        RS_TRY(RS_PUT_ROW(t, err, partials[i].rank, names, own / 1e3, expected / 1e3, ratio(own, expected)));
    }
    return RS_OK;
}

static rs_status add_across(const rs_partial *partials, size_t n, size_t top, rs_result *result,
                            rs_error *err)
{
    RS_LOCAL entry *entries = NULL;
    size_t n_entries = 0, n_groups = 0;
    rs_status status = list_entries(partials, n, &entries, &n_entries, err);
    RS_LOCAL group *groups = rs_malloc((n_entries + 1) * sizeof *groups);
    RS_LOCAL double *scratch = rs_malloc((n_entries + 1) * sizeof *scratch);
    if (status == RS_OK && (!groups || !scratch)) status = rs_fail_nomem(err, "kernels");
    for (size_t i = 0, end; status == RS_OK && i < n_entries; i = end) {
        for (end = i + 1; end < n_entries && entries[end].key == entries[i].key; end++) {
        }
        group g = judge(partials, entries + i, end - i, scratch);
        if (g.n > 1) groups[n_groups++] = g;
    }
    if (status == RS_OK && n_groups) RS_SORT(groups, n_groups, by_excess);
    for (size_t i = 0; status == RS_OK && i < n_groups && (!top || i < top); i++)
        status = add_group(result->tables[ACROSS], partials, &groups[i], err);
    if (status == RS_OK) status = add_ranks(result->tables[RANKS], partials, n, entries, n_entries, err);
    return status;
}

/* ---- all of it ----------------------------------------------------------------------------------------- */

static rs_status merge(const rs_run *run, rs_partial *partials, size_t n, rs_result *result, rs_error *err)
{
    int64_t given = rs_options_int(run->options, "top");
    size_t top = given > 0 ? (size_t)given : 0;
    for (size_t i = 0; i < n; i++) {
        const rs_variance_rank *p = partials[i].value;
        int64_t above = 0;
        for (size_t k = 0; k < p->n; k++) above = rs_add_sat(above, p->rows[k].above);
        for (size_t k = 0; k < p->n && (!top || k < top); k++)
            RS_TRY(add_row(result->tables[OWN], partials[i].rank, p, &p->rows[k], err));
        if (!p->has_work)
            rs_result_note(result, "rank %lld: no GPU work", (long long)partials[i].rank);
        else if (top && p->n > top)
            rs_result_note(result,
                           "rank %lld: %zu of %zu rows are shown; all rows took %s us beyond their medians",
                           (long long)partials[i].rank, top, p->n, RS_FIXED((double)above / 1e3, 1));
    }
    if (n > 1) RS_TRY(add_across(partials, n, top, result, err));
    return rs_gate_apply(run->options, result->tables[OWN], result, err);
}

const rs_analysis rs_analysis_variance = {
    .name = "variance",
    .group = "Performance models",
    .help = "Which kernels or operators vary though their work is equal, when the slowest ran, and with what",
    .about =
        "Runs of one kernel, or of one operator with equal shapes, do the same work; where their times differ, "
        "something\nelse is the cause. The rows are sorted by the time that the slower runs took beyond the median: "
        "what equal durations would gain.\n\n"
        "Communication with a run is taken from the rank's own GPU work. slowdown_when_overlapped compares the runs "
        "that\nran with communication for more than half of their time with those that ran without any; it is "
        "unknown where one kind is\nmissing. A shared name does not always mean equal work: kernels of one name "
        "may run on several shapes, which\n--by op keeps apart.\n\n"
        "The table ranks compares GPUs: each rank's runs at its own medians against the medians over all ranks. "
        "A ratio above 1\non one rank alone means a slow GPU.",
    .examples = "rankscope variance traces/\n"
                "rankscope variance --by op --class gemm --steps 3-8 traces/\n"
                "rankscope variance --table ranks --format csv traces/\n"
                "rankscope variance --class gemm --fail-on 'slowdown_when_overlapped > 1.3' traces/",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .facets = {&rs_facet_work_details, &rs_facet_owners, &rs_facet_steps, &rs_facet_classes},
    .table_sets = sets,
    .n_table_sets = 1,
    .judged = RS_JUDGED,
    .follows = RS_FOLLOWS_ALL,
    .rank = rs_variance_rank_of,
    .merge = merge,
    .free_partial = rs_variance_free,
    .partial_layout = &rs_variance_layout,
};
