/* measured: what the recorded counters say of each kernel, each step, and the time in which the GPU is idle. */
#include "analysis/measured.h"

#include "analysis/plan.h"
#include "base/interval.h"
#include "base/real.h"
#include "base/try.h"
#include "trace/busy.h"
#include "trace/selection.h"

static const rs_option_spec options[] = {
    {"by", RS_OPTION_CHOICE, "WHAT", "kernel|step|state", "kernel",
     "kernel: name of the work; step: number of the step; state: busy or idle"},
    {"top", RS_OPTION_INT, "N", NULL, "20", "only the first N kernels of a rank; 0: all"},
};

rs_measured_means rs_measured_means_of(const rs_measured *m)
{
    return (rs_measured_means){
        .sm = rs_measured_mean(m, RS_MEASURE_SM),
        .tensor = rs_measured_mean(m, RS_MEASURE_TENSOR),
        .dram = rs_measured_mean(m, RS_MEASURE_DRAM),
        .nvlink_rx = rs_measured_mean(m, RS_MEASURE_NVLINK_RX),
        .nvlink_tx = rs_measured_mean(m, RS_MEASURE_NVLINK_TX),
        .pcie_rx = rs_measured_mean(m, RS_MEASURE_PCIE_RX),
        .pcie_tx = rs_measured_mean(m, RS_MEASURE_PCIE_TX),
        .clock = rs_measured_mean(m, RS_MEASURE_CLOCK),
        .memory_clock = rs_measured_mean(m, RS_MEASURE_MEMORY_CLOCK),
        .power = rs_measured_mean(m, RS_MEASURE_POWER),
        .temperature = rs_measured_mean(m, RS_MEASURE_TEMPERATURE),
    };
}

typedef struct measured_row {
    uint32_t name;
    int64_t step;        /* -1: none */
    int64_t count, time; /* time: ns, also what was not measured */
    int64_t known;       /* ns, of the measure that is known for longest */
    int64_t samples;
    rs_measured_means means;
} measured_row;

#define KERNEL_ROW(CELL)                                                                                     \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(TEXT_ID(measured_row, name), "name", TEXT, NONE, "kernel, copy or memset", NULL)                    \
    CELL(OF(measured_row, count), "count", INT, COUNT, "executions", NULL)                                   \
    CELL(OF(measured_row, time), "time_us", TIME, US, "their durations", "time")                             \
    COMMON(CELL)
#define STEP_ROW(CELL)                                                                                       \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(ID(measured_row, step), "step", INT, ID, "number of the step", NULL)                                \
    CELL(OF(measured_row, time), "time_us", TIME, US, "its length", "time")                                  \
    COMMON(CELL)
#define STATE_ROW(CELL)                                                                                      \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(TEXT_ID(measured_row, name), "state", TEXT, NONE,                                                   \
         "busy: any work runs; idle: between two pieces of work none does", NULL)                            \
    CELL(OF(measured_row, count), "count", INT, COUNT, "stretches", NULL)                                    \
    CELL(OF(measured_row, time), "time_us", TIME, US, "their lengths", "time")                               \
    COMMON(CELL)
#define COMMON(CELL)                                                                                                           \
    CELL(OF(measured_row, known), "measured_us", TIME, US, "of that time, where a counter is known",                           \
         "measured")                                                                                                           \
    CELL(                                                                                                                      \
        OF(measured_row, samples), "samples", INT, COUNT,                                                                      \
        "measured time over the time between two samples; work that is shorter than that shares a sample with its neighbours", \
        NULL)                                                                                                                  \
    RS_MEASURED_CELLS(CELL, measured_row, means)
RS_RECORD(kernel, KERNEL_ROW);
RS_RECORD(step, STEP_ROW);
RS_RECORD(state, STATE_ROW);

enum { KERNELS, STEPS, STATES };

/* ---- one rank ------------------------------------------------------------------------------------------ */

typedef struct totals {
    uint32_t name;
    int64_t count, time;
    rs_measured measured;
} totals;

static void put_totals(rs_relations *out, unsigned relation, const rs_measures *m, const totals *t,
                       int64_t step)
{
    measured_row row = {.name = t->name,
                        .step = step,
                        .count = t->count,
                        .time = t->time,
                        .means = rs_measured_means_of(&t->measured)};
    int64_t period = 0;
    for (size_t i = 0; i < m->n; i++)
        if (m->series[i].period > 0 && (!period || m->series[i].period < period))
            period = m->series[i].period;
    for (int k = 0; k < RS_N_MEASURES; k++)
        if (t->measured.ns[k] > (double)row.known) row.known = rs_int_of(t->measured.ns[k]);
    row.samples = period ? row.known / period : t->count;
    if (row.known > 0) rs_put(out, relation, &row);
}

static rs_status put_kernels(rs_trace *trace, const rs_work *w, const rs_measures *m, rs_relations *out,
                             rs_error *err)
{
    const rs_strings *s = &trace->events->strings;
    uint32_t *place = RS_ROOM(out, uint32_t, s->n + 1); /* by text: its place in all, + 1 */
    totals *all = RS_ROOM(out, totals, s->n + 1);
    size_t n = 0;
    if (!place || !all) return rs_fail_nomem(err, "measured");
    for (size_t i = 0; i < w->n; i++) {
        uint32_t name = trace->events->name[w->row[i]];
        if (!place[name]) {
            place[name] = (uint32_t)++n;
            all[n - 1].name = name;
        }
        totals *t = &all[place[name] - 1];
        t->count++;
        t->time = rs_add_sat(t->time, rs_sub_sat(w->end[i], w->start[i]));
        rs_measures_add(m, w->device[i], w->start[i], w->end[i], &t->measured);
    }
    for (size_t i = 0; i < n; i++) {
        all[i].name = rs_put_text(out, all[i].name);
        put_totals(out, KERNELS, m, &all[i], -1);
    }
    return RS_OK;
}

/* The device that the rank's work is on; -1: several. */
static int64_t device_of(const rs_work *w)
{
    for (size_t i = 1; i < w->n; i++)
        if (w->device[i] != w->device[0]) return -1;
    return w->n ? w->device[0] : -1;
}

static rs_status put_states(const rs_work *w, const rs_measures *m, rs_relations *out, rs_error *err)
{
    rs_interval *busy = NULL;
    size_t n;
    if (!rs_work_union(w, RS_N_CLASSES, &busy, &n)) return rs_fail_nomem(err, "measured");
    totals states[2] = {{.name = rs_put_string(out, "busy")}, {.name = rs_put_string(out, "idle")}};
    for (size_t i = 0; i < 2 * n; i++) { /* a stretch of work, then the gap after it */
        const rs_interval *b = &busy[i / 2];
        if (i % 2 && i / 2 + 1 == n) break;
        rs_interval x = i % 2 ? (rs_interval){b->end, b[1].start} : *b;
        totals *t = &states[i % 2];
        t->count++;
        t->time = rs_add_sat(t->time, rs_sub_sat(x.end, x.start));
        rs_measures_add(m, device_of(w), x.start, x.end, &t->measured);
    }
    rs_free(busy);
    for (int k = 0; k < 2; k++) put_totals(out, STATES, m, &states[k], -1);
    return RS_OK;
}

static rs_status put_steps(rs_trace *trace, const rs_work *w, const rs_measures *m, rs_relations *out,
                           rs_error *err)
{
    const rs_step *steps;
    rs_selector selector;
    size_t n;
    RS_TRY(rs_trace_steps(trace, &steps, &n, err));
    RS_TRY(rs_trace_selector(trace, &selector, err));
    for (size_t i = 0; i < n; i++) {
        totals t = {.name = RS_NO_STRING, .count = 1, .time = rs_sub_sat(steps[i].end, steps[i].start)};
        if ((i && steps[i].number == steps[i - 1].number) || !rs_selects_step(&selector, &steps[i])) continue;
        rs_measures_add(m, device_of(w), steps[i].start, steps[i].end, &t.measured);
        put_totals(out, STEPS, m, &t, steps[i].number);
    }
    return RS_OK;
}

static rs_status put(const rs_run *run, rs_trace *trace, rs_relations *out, rs_error *err)
{
    const rs_measures *m;
    const rs_work *w;
    RS_TRY(rs_trace_measures(trace, &m, err));
    RS_TRY(rs_trace_work_details(trace, run->policy, &w, err));
    out->absent = m->n == 0;
    if (out->absent) return RS_OK;
    RS_TRY(put_kernels(trace, w, m, out, err));
    RS_TRY(put_steps(trace, w, m, out, err));
    return put_states(w, m, out, err);
}

/* ---- the plan ------------------------------------------------------------------------------------------ */

static const rs_order by_time[] = {RS_FALLING(measured_row, time), RS_RISING_TEXT(measured_row, name)};
static const rs_field row_fields[] = {
    RS_FIELD_TEXT_ID(measured_row, name),
    RS_FIELDS(measured_row, step, count, time, known, samples, means.sm, means.tensor, means.dram,
              means.nvlink_rx, means.nvlink_tx, means.pcie_rx, means.pcie_tx, means.clock, means.memory_clock,
              means.power, means.temperature),
};
static const rs_layout row_layout = RS_LAYOUT(measured_row, row_fields);
static const rs_plan_relation relations[] = {
    [KERNELS] = {RS_LISTED(KERNELS, measured_row, &row_layout), .make = put, RS_IN_ORDER(by_time)},
    [STEPS] = {RS_LISTED(STEPS, measured_row, &row_layout)},
    [STATES] = {RS_LISTED(STATES, measured_row, &row_layout)},
};
static const rs_plan_table
    kernel_table = {RS_PLAN_TABLE("kernels", "one row is one name of GPU work of one rank", kernel),
                    .top = "top", .only = RS_WITH(RS_IS("by", "kernel"))},
    step_table = {RS_PLAN_TABLE("steps", "one row is one step of one rank", step), .relation = STEPS,
                  .choice = RS_WITH(RS_IS("by", "step")), .only = RS_WITH(RS_IS("by", "step"))},
    state_table = {RS_PLAN_TABLE("states", "one row is one state of one rank's GPU", state),
                   .relation = STATES, .choice = RS_WITH(RS_IS("by", "state")),
                   .only = RS_WITH(RS_IS("by", "state"))};
static const rs_table_spec *const tables[] = {&kernel_table.spec, &step_table.spec, &state_table.spec};
static const rs_plan plan = {RS_PLAN(relations, tables)};

const rs_analysis rs_analysis_measured = {
    .name = "measured",
    .group = "Performance models",
    .help =
        "What counters measured in each kernel, each step and idle time: SM and tensor activity, memory, links, clocks, power",
    .about =
        "For traces with samples of a GPU: nsys --gpu-metrics-devices, PyTorch 2.15 (power, clocks, PM sampling), ranges "
        "of\nKineto's profiler, and kernels of rocprofv3 --pmc. A sample holds until the next one. Values are means over the time in which a counter is known, which\n"
        "can be a part of the trace. Work shorter than the time between two samples shares them with its neighbours: column samples\n"
        "says over how many the mean was taken.",
    .examples = "rankscope measured report.sqlite\nrankscope measured --by state trace.pftrace.gz\n"
                "rankscope measured --by step --format csv traces/",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .facets = {&rs_facet_measures, &rs_facet_work_details, &rs_facet_steps},
    .plan = &plan,
    .follows = RS_FOLLOWS_ALL,
    .absent =
        "no counters of the GPU: nsys profile --gpu-metrics-devices=all, rocprofv3 --pmc, or PyTorch 2.15 with CUPTI's samples",
};
