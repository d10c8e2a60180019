/* variance: which kernels or operators vary though their work is equal, when the slowest ran, beside what. */
#include <math.h>

#include "analysis/variance_rank.h"
#include "base/interval.h"
#include "perf/owner.h"
#include "table/record.h"
#include "text/numbers.h"

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

#define VARIANCE_ROW(CELL)                                                                                   \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(TEXT_ID(rs_variance_row, name), "name", TEXT, NONE, "kernel, or operator", NULL)                    \
    CELL(TEXT_ID(rs_variance_row, dims), "input_dims", TEXT, NONE,                                           \
         "shapes of the operator's inputs; unknown for kernels", "dims")                                     \
    CELL(OF(rs_variance_row, time.n), "count", INT, COUNT, "runs", NULL)                                     \
    CELL(OF(rs_variance_row, time.sum), "sum_us", TIME, US, "their GPU time", "sum")                         \
    CELL(OF(rs_variance_row, above), "above_median_us", TIME, US,                                            \
         "GPU time of the slower half beyond the median, added up", "above median")                          \
    CELL(MEAN(rs_variance_row, time), "mean_us", REAL, US, "mean", "mean")                                   \
    CELL(OF(rs_variance_row, time.min), "min_us", TIME, US, "fastest run", "min")                            \
    CELL(SET, "p50_us", REAL, US, "median", "p50")                                                           \
    CELL(SET, "p90_us", REAL, US, "nine of ten runs were no longer", "p90")                                  \
    CELL(SET, "p99_us", REAL, US, "99 of 100 runs were no longer", "p99")                                    \
    CELL(OF(rs_variance_row, time.max), "max_us", TIME, US, "slowest run", "max")                            \
    CELL(STD(rs_variance_row, time), "std_us", REAL, US,                                                     \
         "standard deviation of a sample; unknown for one run", "std")                                       \
    CELL(SET, "cv", REAL, RATIO, "coefficient of variation: std_us over mean_us", NULL)                      \
    CELL(SET, "spread", REAL, RATIO, "max_us less min_us, over min_us", NULL)                                \
    CELL(OF(rs_variance_row, slowest_at), "slowest_at_us", MOMENT, US, "when the slowest run started",       \
         "slowest at")                                                                                       \
    CELL(ID(rs_variance_row, slowest_step), "slowest_step", INT, ID, "step of the slowest run", "in step")   \
    CELL(OF(rs_variance_row, slowest_row), "slowest_uid", INT, ID,                                           \
         "its position in traceEvents; of the operator with --by op", NULL)                                  \
    CELL(OF(rs_variance_row, fastest_at), "fastest_at_us", MOMENT, US, "when the fastest run started",       \
         "fastest at")                                                                                       \
    CELL(OF(rs_variance_row, slowest_beside_comm), "slowest_comm_us", TIME, US,                              \
         "communication that ran with the slowest", "comm with it")                                          \
    CELL(SET, "slowest_comm_pct", REAL, PERCENT, "slowest_comm_us of max_us", "comm %")                      \
    CELL(TEXT_ID(rs_variance_row, collectives), "collectives", TEXT, NONE,                                   \
         "which communication that was, and how often", NULL)                                                \
    CELL(OF(rs_variance_row, slowest_beside_copies), "slowest_copies_us", TIME, US,                          \
         "copies and memsets that ran with the slowest", "copies with it")                                   \
    CELL(OF(rs_variance_row, n_beside), "overlapped", INT, COUNT,                                            \
         "runs with communication for more than half of their time", NULL)                                   \
    CELL(OF(rs_variance_row, n_alone), "alone", INT, COUNT, "runs without communication", NULL)              \
    CELL(SET, "slowdown_when_overlapped", REAL, RATIO,                                                       \
         "mean of the overlapped over the mean of those alone", "slowdown")                                  \
    CELL(OF(rs_variance_row, correlation), "overlap_correlation", REAL, NONE,                                \
         "correlation of a run's time and the share of it with communication, -1 to 1", "correlation")
RS_RECORD(variance, VARIANCE_ROW);

/* One name on all ranks that have it. */
typedef struct across_row {
    uint32_t name, dims;
    bool has_dims;
    int64_t n, slowest_rank;
    double median, slowest, ratio, excess; /* us */
} across_row;

#define ACROSS_ROW(CELL)                                                                                     \
    CELL(TEXT_ID(across_row, name), "name", TEXT, NONE, "kernel, or operator", NULL)                         \
    CELL(TEXT_ID(across_row, dims), "input_dims", TEXT, NONE,                                                \
         "shapes of the operator's inputs; unknown for kernels", "dims")                                     \
    CELL(OF(across_row, n), "ranks", INT, COUNT, "ranks that ran it", NULL)                                  \
    CELL(OF(across_row, median), "median_us", REAL, US, "median over ranks of their medians", "median")      \
    CELL(OF(across_row, slowest_rank), "slowest_rank", INT, ID, "rank with the largest median", NULL)        \
    CELL(OF(across_row, slowest), "slowest_us", REAL, US, "its median", "slowest")                           \
    CELL(OF(across_row, ratio), "ratio", REAL, RATIO, "slowest_us over median_us", NULL)                     \
    CELL(OF(across_row, excess), "excess_us", REAL, US,                                                      \
         "what the slowest rank's runs took more, all of them", "excess")
RS_RECORD(across, ACROSS_ROW);

typedef struct rank_row {
    int64_t rank, names;
    double own, expected, ratio; /* us */
} rank_row;

#define RANK_ROW(CELL)                                                                                       \
    CELL(OF(rank_row, rank), "rank", INT, ID, "rank", NULL)                                                  \
    CELL(OF(rank_row, names), "names", INT, COUNT, "kernels or operators that other ranks ran, too", NULL)   \
    CELL(OF(rank_row, own), "typical_us", REAL, US, "its runs of them at the rank's own medians", "own")     \
    CELL(OF(rank_row, expected), "expected_us", REAL, US, "the same at the median over ranks of each",       \
         "expected")                                                                                         \
    CELL(OF(rank_row, ratio), "ratio", REAL, RATIO,                                                          \
         "typical_us over expected_us: how slow the rank's GPU is", NULL)
RS_RECORD(rank, RANK_ROW);

static double ratio(double part, double whole)
{
    return whole > 0 ? part / whole : (double)NAN;
}

/* ---- one rank ------------------------------------------------------------------------------------------ */

static void set_row(rs_table *t, const rs_run *run, const rs_relations *of, const void *row)
{
    const rs_variance_row *v = row;
    const bool known = v->slowest_beside_comm != RS_NO_VALUE;
    (void)run;
    (void)of;
    rs_table_set_real(t, "p50_us", v->p50 / 1e3);
    rs_table_set_real(t, "p90_us", v->p90 / 1e3);
    rs_table_set_real(t, "p99_us", v->p99 / 1e3);
    rs_table_set_real(t, "cv", ratio(rs_moments_std(&v->time), rs_moments_mean(&v->time)));
    rs_table_set_real(t, "spread", ratio((double)rs_sub_sat(v->time.max, v->time.min), (double)v->time.min));
    rs_table_set_real(t, "slowest_comm_pct",
                      known ? 100 * ratio((double)v->slowest_beside_comm, (double)v->time.max) : (double)NAN);
    rs_table_set_real(t, "slowdown_when_overlapped", ratio(v->mean_beside, v->mean_alone));
}

static void note(const rs_run *run, const rs_partial *partial, const rs_relations *of, rs_result *result)
{
    const rs_variance_row *rows = RS_ROWS(rs_variance_row, of, RS_VARIANCE_ROWS);
    const rs_relation *work = &of->items[RS_VARIANCE_WORK];
    const int64_t top = rs_options_int(run->options, "top");
    const size_t n = of->items[RS_VARIANCE_ROWS].n;
    int64_t above = 0;
    for (size_t i = 0; i < n; i++) above = rs_add_sat(above, rows[i].above);
    if (!work->n || !((const rs_variance_work *)work->rows)->n)
        rs_result_note(result, "rank %lld: no GPU work", (long long)partial->rank);
    else if (top > 0 && n > (size_t)top)
        rs_result_note(result,
                       "rank %lld: %lld of %zu rows are shown; all rows took %s us beyond their medians",
                       (long long)partial->rank, (long long)top, n, RS_FIXED((double)above / 1e3, 1));
}

/* ---- across ranks -------------------------------------------------------------------------------------- */

typedef struct entry {
    uint32_t name, dims; /* texts of all ranks */
    size_t partial;
    const rs_variance_row *row;
    double typical; /* the median over ranks; NaN where no other has it */
} entry;

static const rs_order by_name[] = {RS_RISING(entry, name), RS_RISING(entry, dims), RS_RISING(entry, partial)};

/* All rows of all ranks, by name and dims. */
static entry *list_entries(const rs_partial *partials, size_t n, rs_relations *out, size_t *n_out)
{
    size_t total = 0;
    for (size_t i = 0; i < n; i++)
        total += ((const rs_relations *)partials[i].value)->items[RS_VARIANCE_ROWS].n;
    entry *entries = RS_ROOM(out, entry, total + 1);
    for (size_t i = 0; entries && i < n; i++) {
        const rs_relations *of = partials[i].value;
        const rs_variance_row *rows = RS_ROWS(rs_variance_row, of, RS_VARIANCE_ROWS);
        for (size_t k = 0; k < of->items[RS_VARIANCE_ROWS].n; k++)
            entries[(*n_out)++] =
                (entry){rs_put_string(out, rs_relations_text(of, rows[k].name)),
                        rs_put_string(out, rs_relations_text(of, rows[k].dims)), i, &rows[k], (double)NAN};
    }
    if (entries) RS_SORT(entries, *n_out, by_name);
    return entries;
}

static void judge(const rs_partial *partials, entry *entries, size_t n, double *scratch, rs_relations *out)
{
    const entry *slowest = &entries[0];
    for (size_t i = 0; i < n; i++) {
        scratch[i] = entries[i].row->p50;
        if (entries[i].row->p50 > slowest->row->p50) slowest = &entries[i];
    }
    rs_sort_doubles(scratch, n);
    const double median = rs_quantile(scratch, n, 0.5), p50 = slowest->row->p50;
    for (size_t i = 0; i < n; i++) entries[i].typical = median;
    rs_put(out, RS_VARIANCE_ACROSS,
           &(across_row){.name = entries[0].name,
                         .dims = entries[0].dims,
                         .has_dims = entries[0].dims != RS_NO_STRING,
                         .n = (int64_t)n,
                         .median = median / 1e3,
                         .slowest_rank = partials[slowest->partial].rank,
                         .slowest = p50 / 1e3,
                         .ratio = ratio(p50, median),
                         .excess = (p50 - median) * (double)slowest->row->time.n / 1e3});
}

static void put_ranks(const rs_partial *partials, size_t n, const entry *entries, size_t n_entries,
                      rs_relations *out)
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
        rs_put(out, RS_VARIANCE_RANKS,
               &(rank_row){partials[i].rank, names, own / 1e3, expected / 1e3, ratio(own, expected)});
    }
}

static rs_status put_across(const rs_run *run, const rs_partial *partials, size_t n, rs_relations *out,
                            rs_error *err)
{
    size_t n_entries = 0;
    (void)run;
    (void)err;
    if (n < 2) return RS_OK;
    entry *entries = list_entries(partials, n, out, &n_entries);
    double *scratch = RS_ROOM(out, double, n);
    for (size_t i = 0, end; scratch && !out->no_memory && i < n_entries; i = end) {
        for (end = i + 1;
             end < n_entries && entries[end].name == entries[i].name && entries[end].dims == entries[i].dims;
             end++) {
        }
        if (end - i > 1) judge(partials, entries + i, end - i, scratch, out);
    }
    put_ranks(partials, n, entries, entries ? n_entries : 0, out);
    return RS_OK;
}

/* ---- all of it ----------------------------------------------------------------------------------------- */

/* What is in no cell. */
static const rs_field row_fields[] = {
    RS_FIELDS(rs_variance_row, has_dims, time.mean, time.m2, p50, p90, p99, mean_beside, mean_alone),
};
static const rs_layout row_layout = RS_RECORD_LAYOUT_AND(rs_variance_row, variance, row_fields);
static const rs_field work_fields[] = {RS_FIELD(rs_variance_work, n)};
static const rs_layout work_layout = RS_LAYOUT(rs_variance_work, work_fields);

static const rs_order by_above[] = {RS_FALLING(rs_variance_row, above), RS_RISING_TEXT(rs_variance_row, name),
                                    RS_RISING(rs_variance_row, has_dims),
                                    RS_RISING_TEXT(rs_variance_row, dims)};
static const rs_order by_excess[] = {RS_FALLING(across_row, excess), RS_RISING_TEXT(across_row, name),
                                     RS_RISING(across_row, has_dims), RS_RISING_TEXT(across_row, dims)};
static const rs_plan_relation relations[] = {
    [RS_VARIANCE_ROWS] = {RS_LISTED(RS_VARIANCE_ROWS, rs_variance_row, &row_layout), .make = rs_variance_put,
                          RS_IN_ORDER(by_above)},
    [RS_VARIANCE_WORK] = {RS_LISTED(RS_VARIANCE_WORK, rs_variance_work, &work_layout)},
    [RS_VARIANCE_ACROSS] = {RS_LISTED_AS(RS_VARIANCE_ACROSS, across_row, across), .across = put_across,
                            RS_IN_ORDER(by_excess)},
    [RS_VARIANCE_RANKS] = {RS_LISTED_AS(RS_VARIANCE_RANKS, rank_row, rank), .across = rs_plan_put_before},
};
static const rs_plan_table
    own_table = {RS_PLAN_TABLE("variance", "one row is one kernel, or operator with shapes, of one rank",
                               variance),
                 .relation = RS_VARIANCE_ROWS, .top = "top", .set = set_row},
    across_table = {RS_PLAN_TABLE("across",
                                  "one row is one kernel, or operator with shapes, on several ranks", across),
                    .relation = RS_VARIANCE_ACROSS, .top = "top"},
    rank_table = {RS_PLAN_TABLE("ranks", "one row is one rank against the others at the same work", rank),
                  .relation = RS_VARIANCE_RANKS};
static const rs_table_spec *const tables[] = {&own_table.spec, &across_table.spec, &rank_table.spec};
static const rs_plan plan = {RS_PLAN(relations, tables), .note = note, .gate = true};

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
    .plan = &plan,
    .judged = RS_JUDGED,
    .follows = RS_FOLLOWS_ALL,
};
