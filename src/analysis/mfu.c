/* mfu: what share of the device's matrix rate each training step used. */
#include <math.h>
#include <string.h>

#include "analysis/analysis.h"
#include "base/real.h"
#include "base/search.h"
#include "base/stats.h"
#include "analysis/gate.h"
#include "analysis/roofline_rank.h"
#include "analysis/steps.h"
#include "base/interval.h"
#include "base/try.h"
#include "trace/recompute.h"
#include "trace/selection.h"
#include "table/cells.h"

static const rs_option_spec options[] = {
    {"device", RS_OPTION_TEXT, "NAME|FILE", NULL, NULL,
     "what the device can do: a name of the built-in table, or a JSON file; default: as the trace says"},
    {"fail-on", RS_OPTION_TEXT, "EXPR", NULL, NULL, "exit 1 when a row meets the expression: 'mfu_pct < 35'"},
};

static const rs_column_spec columns[] = {
    RS_COLUMN("rank", INT, ID, "rank", NULL),
    RS_COLUMN("step", INT, ID, "number of the step; unknown: the trace has none, and the row is all of it",
              NULL),
    RS_COLUMN("length_us", TIME, US, "its length on the host; unknown when only the GPU shows it", "length"),
    RS_COLUMN("matrix_flops", INT, COUNT, "contractions as executed, a multiply-add counted as 2", NULL),
    RS_COLUMN("recompute_flops", INT, COUNT,
              "of these: activation checkpoints run again, and scores of attention computed again",
              "recompute"),
    RS_COLUMN("tflops_per_s", REAL, NONE, "matrix_flops over the step's length, 1e12 a second", "TFLOP/s"),
    RS_COLUMN("ideal_us", REAL, US, "matrix_flops at the device's dense rate of their precision", "ideal"),
    RS_COLUMN("hfu_pct", REAL, PERCENT, "ideal_us of length_us: hardware FLOPs utilisation", "HFU %"),
    RS_COLUMN("mfu_pct", REAL, PERCENT, "the same without recompute_flops: model FLOPs utilisation", "MFU %"),
    RS_COLUMN(
        "period_us", TIME, US,
        "from the end of the step before to its own with its GPU work, as steps has it; unknown without steps",
        "period"),
    RS_COLUMN("period_mfu_pct", REAL, PERCENT,
              "mfu_pct over period_us: what counts where the host runs ahead of the GPU", "of period %"),
    RS_COLUMN("modelled_pct", REAL, PERCENT,
              "GPU time with a model, of all but communication: how much of this to believe", "modelled %"),
};
static const rs_table_spec table = RS_TABLE("mfu", "one row is one step of one rank", columns);
static const rs_table_spec *const tables[] = {&table};
static const rs_table_set sets[] = {{RS_COMPAT_NONE, tables, 1}};

/* ---- one rank ------------------------------------------------------------------------------------------ */

typedef struct mfu_step {
    int64_t number;                     /* RS_NO_VALUE: the whole trace */
    int64_t length;                     /* on the host; RS_NO_TIME: unknown */
    int64_t period;                     /* with its GPU work; RS_NO_TIME: unknown */
    int64_t matrix[RS_N_PRECISIONS];    /* FLOPs as executed */
    int64_t recompute[RS_N_PRECISIONS]; /* of these */
    int64_t modelled, all;              /* durations of GPU work, ns */
} mfu_step;

typedef struct mfu_rank {
    mfu_step *steps; /* by number */
    size_t n;
    const char *known_as;
    bool described, has_work;
} mfu_rank;

static void free_partial(void *partial)
{
    mfu_rank *p = partial;
    if (!p) return;
    rs_free_all(p->steps, p);
}

/* ---- its steps ----------------------------------------------------------------------------------------- */

static mfu_step *find_step(mfu_rank *p, int64_t number)
{
    size_t low;
    RS_SEARCH(low, p->n, p->steps[low].number < number);
    return low < p->n && p->steps[low].number == number ? &p->steps[low] : NULL;
}

/* From the first to the last of the selected operators, calls and GPU work; what else is in a trace (the
 * profiler's own spans, Python functions, annotations) may reach beyond what was recorded of the job. */
static rs_status measure_span(rs_trace *trace, int64_t *length, rs_error *err)
{
    const rs_events *e = trace->events;
    int64_t first = 0, last = 0;
    rs_row_test test;
    *length = RS_NO_TIME;
    RS_TRY(rs_row_test_begin(trace, &test, err));
    for (size_t i = 0; i < trace->n_rows; i++) {
        uint32_t row = rs_trace_row(trace, i);
        rs_kind kind = rs_event_kind(e, row);
        if (kind != RS_KIND_CPU_OP && !rs_kind_is_call(kind) && !rs_kind_is_gpu_work(kind)) continue;
        if (!rs_event_is_span(e, row) || !rs_row_test_next(&test, row)) continue;
        int64_t end = rs_event_end(e, row);
        if (*length == RS_NO_TIME || e->start[row] < first) first = e->start[row];
        if (*length == RS_NO_TIME || end > last) last = end;
        *length = rs_sub_sat(last, first);
    }
    return RS_OK;
}

static rs_status list_steps(const rs_run *run, rs_trace *trace, mfu_rank *p, rs_error *err)
{
    void *listed = NULL;
    rs_step_source source;
    RS_TRY(rs_trace_step_source(trace, &source, err));
    rs_status status = rs_steps_rank(run, trace, &listed, err);
    const rs_rank_steps *s = listed;
    /* the steps of a server are requests of different sizes: their FLOPS are told over the whole recording */
    size_t n = s && source != RS_STEPS_SERVING ? s->n : 0;
    if (status == RS_OK) p->steps = rs_calloc(n + 1, sizeof *p->steps);
    if (status == RS_OK && !p->steps) status = rs_fail_nomem(err, "steps");
    for (size_t i = 0; status == RS_OK && i < n; i++)
        p->steps[p->n++] = (mfu_step){
            .number = s->items[i].number, .length = s->items[i].length, .period = s->items[i].period};
    rs_steps_free(listed);
    if (status != RS_OK || p->n) return status;
    int64_t length;
    RS_TRY(measure_span(trace, &length, err));
    if (length != RS_NO_TIME)
        p->steps[p->n++] = (mfu_step){.number = RS_NO_VALUE, .length = length, .period = RS_NO_TIME};
    return RS_OK;
}

/* The step of a number; of a trace without steps its only row. */
static mfu_step *step_of(mfu_rank *p, int64_t number)
{
    if (p->n == 1 && p->steps[0].number == RS_NO_VALUE) return &p->steps[0];
    return number < 0 ? NULL : find_step(p, number);
}

static void add_flops(mfu_step *step, const rs_owned *o, const rs_model *m, bool again)
{
    rs_precision precision = o->tf32 ? RS_TF32 : rs_dtype_precision(m->type);
    if (!m->has_flops) return;
    int64_t repeated = again ? m->matrix : m->repeated;
    step->matrix[precision] = rs_add_sat(step->matrix[precision], m->matrix);
    step->recompute[precision] = rs_add_sat(step->recompute[precision], repeated);
}

static rs_status fill_steps(const rs_run *run, rs_trace *trace, mfu_rank *p, rs_error *err)
{
    const rs_events *e = trace->events;
    const rs_owners *owners;
    const rs_recompute *recompute;
    rs_tree *tree;
    const rs_work *work;
    const rs_step *steps;
    rs_op_shapes *shapes;
    size_t n_steps;
    RS_TRY(rs_trace_owners(trace, &owners, err));
    RS_TRY(rs_trace_working_tree(trace, &tree, err));
    RS_TRY(rs_tree_recompute(trace, tree, &recompute, err));
    RS_TRY(rs_trace_shapes(trace, &shapes, err));
    RS_TRY(rs_trace_steps(trace, &steps, &n_steps, err));
    RS_TRY(rs_trace_work_details(trace, run->policy, &work, err));
    for (size_t i = 0; i < work->n; i++) {
        mfu_step *step = work->class[i] == RS_CLASS_COMM ? NULL : step_of(p, work->step[i]);
        if (step) step->all = rs_add_sat(step->all, rs_sub_sat(work->end[i], work->start[i]));
    }
    p->has_work = work->n > 0;
    for (size_t i = 0; i < owners->n; i++) {
        const rs_owned *o = &owners->items[i];
        if (o->communication || o->answer == RS_NO_ANSWER) continue;
        int64_t number =
            rs_trace_step_at(steps, n_steps, e->threads[e->thread[o->row]].pid, e->start[o->row]);
        mfu_step *step = step_of(p, number);
        if (!step) continue;
        step->modelled = rs_add_sat(step->modelled, o->durations);
        add_flops(step, o, &rs_shapes_at(shapes, o->answer)->model, recompute->again[o->node]);
    }
    return RS_OK;
}

static rs_status rank(const rs_run *run, rs_trace *trace, void **partial, rs_error *err)
{
    rs_status status;
    RS_TRY(rs_check_device_option(run, err));
    const rs_device *device = rs_rank_device(trace, err, &status);
    RS_TRY(status);
    mfu_rank *p = rs_calloc(1, sizeof *p);
    if (!p) return rs_fail_nomem(err, "steps");
    p->described = device != NULL;
    p->known_as = device ? rs_device_known_as(trace->events, device) : NULL;
    status = list_steps(run, trace, p, err);
    if (status == RS_OK) status = fill_steps(run, trace, p, err);
    if (status == RS_OK)
        *partial = p;
    else
        free_partial(p);
    return status;
}

/* ---- all ranks ----------------------------------------------------------------------------------------- */

/* The least time of the FLOPs less some of them; NaN when the device has no rate for one of the precisions,
 * but FLOPs that no known rate covers are left out where others are covered. */
static double ideal_us(const mfu_step *s, const rs_rates *rates, bool without_recompute)
{
    double us = 0;
    if (!rates) return (double)NAN;
    for (unsigned i = 1; i < RS_N_PRECISIONS; i++) {
        double flops = (double)s->matrix[i] - (without_recompute ? (double)s->recompute[i] : 0);
        double rate = rs_rates_matrix(rates, (rs_precision)i);
        if (!isnan(rate)) us += flops / rate / 1e6;
    }
    return us;
}

static int64_t sum_flops(const int64_t by_precision[RS_N_PRECISIONS])
{
    int64_t sum = 0;
    for (unsigned i = 0; i < RS_N_PRECISIONS; i++) sum = rs_add_sat(sum, by_precision[i]);
    return sum;
}

static rs_status add_step(rs_table *t, int64_t rank, const mfu_step *s, const rs_rates *rates, rs_error *err)
{
    double length = s->length == RS_NO_TIME || s->length <= 0 ? (double)NAN : (double)s->length;
    double ideal = ideal_us(s, rates, false);
    RS_PUT_CELLS(t, rank, s->number, s->length);
    const int64_t matrix = sum_flops(s->matrix);
    RS_PUT_CELLS(t, matrix, sum_flops(s->recompute), (double)matrix / length / 1e3, ideal,
                 1e5 * ideal / length);
    const double model = ideal_us(s, rates, true);
    return RS_PUT_ROW(t, err, 1e5 * model / length, s->period,
                      s->period > 0 ? 1e5 * model / (double)s->period : (double)NAN,
                      rs_percent(s->modelled, s->all));
}

/* FLOPs of a precision that the device has no rate for are in no share. */
static void note_without_rate(const rs_partial *partial, const rs_rates *rates, rs_result *result)
{
    const mfu_rank *p = partial->value;
    for (unsigned i = 0; rates && i < RS_N_PRECISIONS; i++) {
        int64_t flops = 0;
        for (size_t k = 0; k < p->n; k++) flops = rs_add_sat(flops, p->steps[k].matrix[i]);
        if (flops && isnan(rs_rates_matrix(rates, (rs_precision)i)))
            rs_result_note(result, "rank %lld: %s has no rate for %s: %lld matrix FLOPs are in no share",
                           (long long)partial->rank, rates->name,
                           i ? rs_precision_name((rs_precision)i) : "integers", (long long)flops);
    }
}

/* A step whose host and GPU differ by more than this share has two utilisations. */
#define APART 0.02

static void note_ahead(const rs_partial *partial, rs_result *result)
{
    const mfu_rank *p = partial->value;
    for (size_t k = 0; k < p->n; k++) {
        const mfu_step *s = &p->steps[k];
        if (s->length <= 0 || s->period <= 0 || !sum_flops(s->matrix)) continue;
        double off = (double)s->period / (double)s->length - 1;
        if (fabs(off) <= APART) continue;
        rs_result_note(
            result,
            "rank %lld: a step's host and its GPU work last differently, of step %lld by %d %%: believe "
            "period_mfu_pct",
            (long long)partial->rank, (long long)s->number, (int)rs_int_near(100 * off));
        return;
    }
}

static rs_status merge(const rs_run *run, rs_partial *partials, size_t n, rs_result *result, rs_error *err)
{
    for (size_t i = 0; i < n; i++) {
        const mfu_rank *p = partials[i].value;
        rs_rates rates;
        bool known;
        RS_TRY(rs_rank_rates(run, p->known_as, &rates, &known, err));
        for (size_t k = 0; k < p->n; k++)
            RS_TRY(add_step(result->tables[0], partials[i].rank, &p->steps[k], known ? &rates : NULL, err));
        note_without_rate(&partials[i], known ? &rates : NULL, result);
        if (known) note_ahead(&partials[i], result);
        if (!p->has_work)
            rs_result_note(result, "rank %lld: no GPU work", (long long)partials[i].rank);
        else if (!known)
            rs_result_note(result, "rank %lld: %s, so utilisation is unknown; say it with --device",
                           (long long)partials[i].rank,
                           p->described ? "its device is not in the table of devices"
                                        : "the trace does not say which device it ran on");
    }
    return rs_gate_apply(run->options, result->tables[0], result, err);
}

static const rs_field step_fields[] = {
    RS_FIELDS(mfu_step, number, length, period),
    RS_FIELD_ARRAY(mfu_step, matrix),
    RS_FIELD_ARRAY(mfu_step, recompute),
    RS_FIELDS(mfu_step, modelled, all),
};
static const rs_layout step_layout = RS_LAYOUT(mfu_step, step_fields);
static const rs_field rank_fields[] = {
    RS_FIELD_LIST(mfu_rank, steps, n, &step_layout),
    RS_FIELD_OR_NULL(mfu_rank, known_as),
    RS_FIELDS(mfu_rank, described, has_work),
};
static const rs_layout rank_layout = RS_LAYOUT(mfu_rank, rank_fields);

const rs_analysis rs_analysis_mfu = {
    .name = "mfu",
    .group = "Performance models",
    .help = "Model and hardware FLOPs utilisation of each training step",
    .about =
        "HFU is the time that the step's matrix FLOPs take at the device's dense, theoretical rate, as a "
        "share of "
        "the\nstep's length on the host. Where the host runs ahead of the GPU that length is not what the step costs: "
        "period_mfu_pct\ncounts from the end of the step before to its own with its GPU work. MFU leaves out what a model would not need: operators below "
        "torch.utils.checkpoint's\nrecompute_fn (which only shows where Python functions were recorded, "
        "with_stack=True), those that\nCheckpointFunctionBackward runs again, and the scores that fused\nattention computes again in the backward pass. Causal "
        "attention counts the pairs that are not masked, where other\ntools, PaLM's MFU among them, count "
        "the "
        "full square. FLOPs come from the models of roofline; modelled_pct says how\nmuch of the GPU time "
        "has one.",
    .examples = "rankscope mfu traces/\nrankscope mfu --steps 3-5 --fail-on 'mfu_pct < 35' trace.json.gz\n"
                "rankscope mfu --device H100-SXM trace.json.gz",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .facets = {&rs_facet_owners, &rs_facet_recompute, &rs_facet_steps, &rs_facet_span, &rs_facet_work_details,
               &rs_facet_gpu_rows}, /* shapes come with owners */
    .columns = RS_COLUMN_BIT(DEVICE),
    .table_sets = sets,
    .n_table_sets = 1,
    .follows = RS_FOLLOWS_ALL | RS_FOLLOWS_CAPTURES,
    .rank = rank,
    .merge = merge,
    .free_partial = free_partial,
    .partial_layout = &rank_layout,
};
