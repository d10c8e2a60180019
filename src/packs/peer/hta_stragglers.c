/* stragglers as HTA's get_potential_stragglers. */

#include <math.h>
#include <string.h>

#include "analysis/frame_columns.h"
#include "base/interval.h"
#include "base/order.h"
#include "base/stats.h"
#include "base/strings.h"
#include "peer/hta_steps.h"
#include "peer/hta_window.h"
#include "text/numbers.h"

/* Shorter kernels than this share of a step are left out. */
#define LEAST_SHARE 0.01

typedef struct late_rank {
    int64_t rank, count;
} late_rank;

typedef struct seen_step {
    int64_t number;
} seen_step;

#define LATE_ROW(CELL)                                                                                       \
    CELL(OF(late_rank, rank), "rank", INT, ID, "rank, most often late first", NULL)                          \
    CELL(OF(late_rank, count), "count", INT, COUNT, "steps in which it was among the last to start", NULL)
RS_RECORD(late, LATE_ROW);

#define STEP_ROW(CELL)                                                                                       \
    CELL(OF(seen_step, number), "step", INT, ID, "number of a step that is left after HTA's cut", NULL)
RS_RECORD(step, STEP_ROW);

static const rs_table_spec table = RS_TABLE("stragglers",
                                            "one row is one rank, by HTA's get_potential_stragglers: "
                                            "starts of the ncclKernel whose length varies most",
                                            late_columns);
static const rs_table_spec step_table =
    RS_TABLE("steps", "one row is one step, as HTA's get_profiler_steps", step_columns);
static const rs_table_spec *const tables[] = {&table, &step_table};
enum { STRAGGLERS, STEPS, N_TABLES };

/* The last kernel of a name on a stream in a step. */
typedef struct hta_arrival {
    uint32_t name; /* string id of the rank's names */
    int64_t stream, step;
    int64_t start, duration; /* ns */
} hta_arrival;

typedef struct hta_arrivals {
    rs_strings names;
    hta_arrival *items; /* communication kernels of the steps asked for, in the frame's order */
    size_t n, capacity;
    int64_t *steps; /* numbers seen, ascending */
    size_t n_steps, steps_capacity;
    int64_t first, last; /* ns, of all rows of the steps asked for; RS_NO_TIME: none */
} hta_arrivals;

static void free_arrivals(void *partial)
{
    hta_arrivals *a = partial;
    if (!a) return;
    rs_strings_clear(&a->names);
    rs_free_all(a->items, a->steps, a);
}

/* ---- one rank ------------------------------------------------------------------------------------------ */

static const rs_order by_number[] = {RS_RISING_VALUE(int64_t)};

static size_t make_distinct(int64_t *numbers, size_t n)
{
    size_t kept = 0;
    RS_SORT(numbers, n, by_number);
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || numbers[kept - 1] != numbers[i]) numbers[kept++] = numbers[i];
    return kept;
}

static bool add_arrival(hta_arrivals *a, const rs_events *e, const rs_frame_rows *f, size_t i, int64_t step)
{
    const rs_string *s = &e->strings.items[e->name[f->row[i]]];
    if (s->length < 10 || memcmp(s->text, "ncclKernel", 10) != 0 || f->stream[i] <= 0 || step <= 0)
        return true;
    uint32_t name = rs_strings_add(&a->names, s->text, s->length);
    if (name == RS_NO_STRING || !RS_APPEND(a, (hta_arrival){.name = name,
                                                            .stream = f->stream[i],
                                                            .step = step,
                                                            .start = f->start[i],
                                                            .duration = rs_sub_sat(f->end[i], f->start[i])}))
        return false;
    return true;
}

static bool collect(const rs_run *run, const rs_events *e, const rs_frame_rows *f,
                    const rs_frame_columns *made, hta_arrivals *a, rs_map64 *known)
{
    for (size_t i = 0; i < f->n; i++) {
        int64_t step = made->iteration[i];
        if (step < 0) continue; /* none, or unknown */
        bool is_new;
        if (!rs_map64_put(known, (uint64_t)step, &is_new)) return false;
        if (is_new)
            if (!RS_PUSH(a->steps, a->n_steps, a->steps_capacity, step)) return false;
        if (!rs_options_in_ranges(run->options, "in-steps", step)) continue;
        if (a->first == RS_NO_TIME || f->start[i] < a->first) a->first = f->start[i];
        if (a->last == RS_NO_TIME || f->end[i] > a->last) a->last = f->end[i];
        if (!add_arrival(a, e, f, i, step)) return false;
    }
    a->n_steps = make_distinct(a->steps, a->n_steps);
    return true;
}

static rs_status rank(const rs_run *run, rs_trace *trace, void **partial, rs_error *err)
{
    const rs_frame_rows *f = NULL;
    rs_frame_columns made = {0};
    hta_arrivals *a = rs_calloc(1, sizeof *a);
    if (!a) return rs_fail_nomem(err, "stragglers");
    *partial = a;
    a->first = a->last = RS_NO_TIME;
    if (!rs_strings_init(&a->names)) return rs_fail_nomem(err, "stragglers");
    rs_status status = rs_trace_hta_frame(trace, run->policy, &f, err);
    if (status != RS_OK) return status;
    status = rs_frame_columns_make(trace, run->policy, f, &rs_hta_frame_columns, &made, err);
    RS_SCOPED(rs_map64_clear) rs_map64 known = {0};
    if (status == RS_OK && !collect(run, trace->events, f, &made, a, &known))
        status = rs_fail_nomem(err, "stragglers");
    rs_frame_columns_clear(&made);
    return status;
}

/* ---- all ranks ----------------------------------------------------------------------------------------- */

/* A kernel of some rank with its name in the job's strings. */
typedef struct arrival {
    uint32_t rank, name; /* rank: index */
    int64_t stream, step, start;
    double length; /* of the mean step */
    size_t order;
} arrival;

typedef struct finder {
    rs_strings names;
    arrival *items;
    size_t n, capacity;
    int64_t first, last;
    double mean_step;
} finder;

static const rs_order by_lane[] = {RS_RISING(arrival, stream), RS_RISING(arrival, name),
                                   RS_RISING(arrival, step), RS_RISING(arrival, rank),
                                   RS_RISING(arrival, order)};

/* Only the last of a rank in a step counts. */
static void keep_last(finder *x)
{
    size_t kept = 0;
    RS_SORT(x->items, x->n, by_lane);
    for (size_t i = 0; i < x->n; i++) {
        const arrival *now = &x->items[i], *next = now + 1;
        bool again = i + 1 < x->n && next->stream == now->stream && next->name == now->name &&
                     next->step == now->step && next->rank == now->rank;
        if (!again) x->items[kept++] = *now;
    }
    x->n = kept;
}

static const hta_arrivals *part(const rs_partial *partial)
{
    return partial->value;
}

static bool gather(finder *x, const rs_partial *of, size_t n, size_t n_steps)
{
    x->first = x->last = RS_NO_TIME;
    for (size_t r = 0; r < n; r++) {
        if (part(&of[r])->first == RS_NO_TIME) continue;
        if (x->first == RS_NO_TIME || part(&of[r])->first < x->first) x->first = part(&of[r])->first;
        if (x->last == RS_NO_TIME || part(&of[r])->last > x->last) x->last = part(&of[r])->last;
    }
    x->mean_step =
        n_steps && x->first != RS_NO_TIME ? (double)rs_sub_sat(x->last, x->first) / (double)n_steps : 0;
    for (size_t r = 0; r < n; r++)
        for (size_t i = 0; i < part(&of[r])->n; i++) {
            const hta_arrival *a = &part(&of[r])->items[i];
            if ((double)a->duration < LEAST_SHARE * x->mean_step) continue;
            const rs_string *s = &part(&of[r])->names.items[a->name];
            uint32_t name = rs_strings_add(&x->names, s->text, s->length);
            if (name == RS_NO_STRING || !RS_APPEND(x, (arrival){.rank = (uint32_t)r,
                                                                .name = name,
                                                                .stream = a->stream,
                                                                .step = a->step,
                                                                .start = a->start,
                                                                .length = (double)a->duration / x->mean_step,
                                                                .order = i}))
                return false;
        }
    keep_last(x);
    return true;
}

/* How much a lane's lengths differ over ranks: the mean over steps of the deviation; NaN where no step has
 * two. */
static double spread_of(const arrival *items, size_t n, double *values)
{
    double sum = 0;
    size_t steps = 0;
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i; end < n && items[end].step == items[i].step; end++) values[end - i] = items[end].length;
        double deviation = rs_std(values, end - i);
        if (isnan(deviation)) continue;
        sum += deviation;
        steps++;
    }
    return steps ? sum / (double)steps : (double)NAN;
}

/* The stream and name whose lengths differ most over ranks. */
static bool find_lane(const finder *x, size_t *from, size_t *n)
{
    double *values = rs_malloc((x->n + 1) * sizeof *values), most = -1;
    *n = 0;
    if (!values) return false;
    for (size_t i = 0, end; i < x->n; i = end) {
        for (end = i; end < x->n && x->items[end].stream == x->items[i].stream &&
                      x->items[end].name == x->items[i].name;)
            end++;
        double spread = spread_of(x->items + i, end - i, values);
        if (isnan(spread) || spread <= most) continue;
        most = spread;
        *from = i;
        *n = end - i;
    }
    rs_free(values);
    return true;
}

static const rs_order by_start[] = {RS_RISING_VALUE(int64_t)};

/* In each step, the ranks that start no earlier than the k-th latest. */
static bool count_late(const arrival *items, size_t n, size_t k, int64_t *count)
{
    RS_LOCAL int64_t *starts = rs_malloc((n + 1) * sizeof *starts);
    if (!starts) return false;
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i; end < n && items[end].step == items[i].step; end++) starts[end - i] = items[end].start;
        RS_SORT(starts, end - i, by_start);
        int64_t limit = starts[k < end - i ? end - i - k : 0];
        for (size_t j = i; j < end; j++) count[items[j].rank] += items[j].start >= limit;
    }
    return true;
}

static rs_status add_counts(rs_table *t, const rs_partial *of, int64_t *count, size_t n, rs_error *err)
{
    rs_status status = RS_OK;
    for (size_t shown = 0; status == RS_OK && shown < n; shown++) {
        size_t most = n;
        for (size_t i = 0; i < n; i++)
            if (count[i] > 0 && (most == n || count[i] > count[most])) most = i;
        if (most == n) break;
        late_rank row = {of[most].rank, count[most]};
        status = rs_table_put_row(t, &late_record, row.rank, &row, err);
        count[most] = 0;
    }
    return status;
}

static rs_status add_steps(rs_table *t, const rs_partial *of, size_t n, const rs_options *options,
                           size_t *n_wanted, rs_error *err)
{
    RS_LOCAL int64_t *all = NULL;
    size_t n_all = 0, capacity = 0;
    rs_status status = RS_OK;
    for (size_t r = 0; status == RS_OK && r < n; r++)
        for (size_t i = 0; status == RS_OK && i < part(&of[r])->n_steps; i++) {
            if (!RS_GROW_ONE(all, n_all, capacity))
                status = rs_fail_nomem(err, "steps");
            else
                all[n_all++] = part(&of[r])->steps[i];
        }
    n_all = make_distinct(all, n_all);
    *n_wanted = 0;
    for (size_t i = 0; status == RS_OK && i < n_all; i++) {
        *n_wanted += rs_options_in_ranges(options, "in-steps", all[i]);
        status = rs_table_put_row(t, &step_record, RS_NO_VALUE, &(seen_step){all[i]}, err);
    }
    return status;
}

static rs_status merge(const rs_run *run, rs_partial *partials, size_t n, rs_result *result, rs_error *err)
{
    finder x = {.n = 0};
    size_t n_steps = 0, from = 0, length = 0;
    int64_t k = rs_options_int(run->options, "candidates");
    RS_LOCAL int64_t *count = rs_calloc(n + 1, sizeof *count);
    bool ok = count && rs_strings_init(&x.names);
    rs_status status = ok ? RS_OK : rs_fail_nomem(err, "stragglers");
    if (status == RS_OK) status = add_steps(result->tables[STEPS], partials, n, run->options, &n_steps, err);
    if (status == RS_OK && k > 0 && (!gather(&x, partials, n, n_steps) || !find_lane(&x, &from, &length)))
        status = rs_fail_nomem(err, "stragglers");
    if (status == RS_OK && length && !count_late(x.items + from, length, (size_t)k, count))
        status = rs_fail_nomem(err, "stragglers");
    if (status == RS_OK) status = add_counts(result->tables[STRAGGLERS], partials, count, n, err);
    if (status == RS_OK && length == 0)
        rs_result_note(result,
                       "no kernel named ncclKernel... runs in one step on two ranks for %s %% of a step",
                       RS_FIXED(100 * LEAST_SHARE, 0));
    rs_strings_clear(&x.names);
    rs_free(x.items);
    return status;
}

/* ---- what travels ------------------------------------------------------------------------------------- */

static const rs_field arrival_fields[] = {
    RS_FIELD_INDEX(hta_arrival, name, hta_arrivals, names.n),
    RS_FIELDS(hta_arrival, stream, step, start, duration),
};
static const rs_layout arrival_layout = RS_LAYOUT(hta_arrival, arrival_fields);

static const rs_field arrivals_fields[] = {
    RS_FIELD_STRINGS(hta_arrivals, names),
    RS_FIELD_LIST(hta_arrivals, items, n, &arrival_layout),
    RS_FIELD_VALUES(hta_arrivals, steps, n_steps),
    RS_FIELDS(hta_arrivals, first, last),
};
static const rs_layout arrivals_layout = RS_LAYOUT(hta_arrivals, arrivals_fields);

const rs_peer_row rs_peer_hta_stragglers = {
    RS_HTA_ROW("stragglers"),
    .tables = tables,
    .n_tables = N_TABLES,
    .rank = rank,
    .merge = merge,
    .free_partial = free_arrivals,
    .partial_layout = &arrivals_layout,
};
