/* The tables of `metrics`. */
#include <math.h>
#include <string.h>

#include "base/settings.h"
#include "analysis/analysis.h"
#include "base/try.h"
#include "rankscope/gate.h"
#include "base/memory.h"
#include "metrics/dataset.h"
#include "table/cells.h"

#define MS(name, title, help) RS_COLUMN(name, REAL, MS, help, title)
#define SHARE(name, title, help) RS_COLUMN(name, REAL, RATIO, help, title)
#define COUNT(name, title, help) RS_COLUMN(name, INT, COUNT, help, title)
#define ID(name, title, help) RS_COLUMN(name, INT, ID, help, title)
#define WORD(name, title, help) RS_COLUMN(name, TEXT, NONE, help, title)
#define REAL(name, title, help) RS_COLUMN(name, REAL, NONE, help, title)
#define TABLE(id, name, help)                                                                                \
    static const rs_table_spec id##_spec = {name, help, id##_columns,                                        \
                                            sizeof id##_columns / sizeof *id##_columns}

static const rs_column_spec datasets_columns[] = {
    WORD("label", "label", "as given with --label"),
    COUNT("count", "count", "usable records of the runs used, warm-up included"),
    COUNT("records_used", "used", "those left after warm-up"),
    COUNT("ranks", "ranks", "rank files"),
    REAL("mean_loss", "loss", "mean of the known losses"),
    MS("mean_step_ms", "step", "mean length of a step"),
    MS("mean_compute_ms", "compute", "mean time with computation"),
    MS("mean_comm_ms", "comm", "mean time with a collective"),
    MS("mean_overlap_ms", "overlap", "mean time with both"),
    MS("mean_exposed_comm_ms", "exposed", "mean time with a collective and no computation"),
    MS("mean_idle_ms", "idle", "mean time with nothing at all"),
    REAL("overlap_ratio", "overlap / compute",
         "overlap / computation, AORTA's ratio; it rises when communication gets slower"),
    SHARE("hidden_share", "hidden", "overlap / communication: how much of it computation hides"),
    SHARE("compute_share", "compute share", "computation / step"),
    SHARE("idle_share", "idle share", "idle / step"),
    MS("mean_allreduce_overlap_ms", "with all-reduce", "mean time with computation and an all-reduce"),
    MS("mean_reducescatter_overlap_ms", "with reduce-scatter",
       "mean time with computation and a reduce-scatter"),
    MS("p99_step_ms", "p99 step", "99th percentile of the step's length"),
    REAL("straggler_index", "straggler",
         "median computation of the slowest rank over that of the middle rank"),
    ID("straggler_rank", "of rank", "that rank"),
    COUNT("dips", "dips", "stretches of steps that took much longer than the others"),
    WORD("dominant_exposed", "most exposed", "the collective with most exposed time"),
};
TABLE(datasets, "datasets", "one row a label");

static const rs_column_spec comparison_columns[] = {
    WORD("metric", "metric", "as in the table datasets"),
    WORD("better", "better", "lower or higher; empty for what is neither by itself"),
    REAL("reference", "reference", "value of the reference"),
    REAL("candidate", "candidate", "value of the candidate"),
    REAL("difference", "difference", "candidate - reference"),
    REAL("ratio", "ratio", "candidate / reference"),
    {"worse_percent", RS_REAL, RS_UNIT_PERCENT, "how much worse the candidate is; negative: better", NULL},
    REAL(
        "noise", "noise",
        "standard error of the difference, from the spread over 20 stretches of each run and, where it was given, "
        "--between-run-sd"),
    COUNT(
        "beyond_noise", "beyond noise",
        "0 when the difference is within three standard errors, else 1; unknown where it is beyond those within "
        "the runs and --between-run-sd does not say how much equal runs differ"),
    WORD(
        "verdict", "verdict",
        "better, worse, differs, within noise, undecided (beyond the noise within the runs; how much equal runs "
        "differ is not known), noise unknown, equal or unknown"),
};
TABLE(comparison, "comparison", "one row a metric: the candidate against the reference");

static const rs_column_spec ranks_columns[] = {
    WORD("label", "label", "as given with --label"),
    ID("rank", "rank", "from the file's name"),
    COUNT("count", "count", "usable records of the run used"),
    COUNT("records_used", "used", "those left after warm-up"),
    COUNT("runs", "runs", "runs in the file"),
    MS("mean_step_ms", "step", "mean length of a step"),
    MS("mean_compute_ms", "compute", "mean time with computation"),
    MS("mean_comm_ms", "comm", "mean time with a collective"),
    MS("mean_exposed_comm_ms", "exposed", "mean time with a collective and no computation"),
    MS("mean_idle_ms", "idle", "mean time with nothing at all"),
    SHARE("hidden_share", "hidden", "overlap / communication"),
    MS("median_step_ms", "median step", "median length of a step"),
    MS("median_compute_ms", "median compute", "median time with computation"),
    REAL("straggler_index", "straggler", "median computation over that of the middle rank"),
};
TABLE(ranks, "ranks", "one row a label and rank");

static const rs_column_spec percentiles_columns[] = {
    WORD("label", "label", "as given with --label"),
    WORD("quantity", "quantity", "of a record, in milliseconds"),
    MS("mean_ms", "ms", "mean"),
    MS("p50_ms", "p50", "median"),
    MS("p90_ms", "p90", "90th percentile"),
    MS("p99_ms", "p99", "99th percentile"),
    MS("max_ms", "max", "largest"),
};
TABLE(percentiles, "percentiles", "one row a label and quantity, over all ranks' records after warm-up");

static const rs_column_spec collectives_columns[] = {
    WORD("label", "label", "as given with --label"),
    WORD("collective", "collective", "from the function that was called, else by the range's tag"),
    MS("mean_ms", "ms", "mean time a step with it"),
    MS("mean_overlap_ms", "overlap", "... and computation"),
    MS("mean_exposed_ms", "exposed", "... and no computation"),
    SHARE("hidden_share", "hidden", "overlap / its time"),
};
TABLE(collectives, "collectives", "one row a label and collective");

static const rs_column_spec dips_columns[] = {
    WORD("label", "label", "as given with --label"),
    ID("first_step", "first step", "its first global step"),
    ID("last_step", "last step", "its last"),
    COUNT("steps", "steps", "steps in it"),
    MS("median_step_ms", "median step", "median length of its steps"),
    REAL("ratio", "ratio", "... over the median of all steps"),
    REAL("temperature_c", "temperature c", "mean junction temperature in it (edge where there is no other)"),
    REAL("power_w", "power w", "mean power in it"),
    {"gpu_use_percent", RS_REAL, RS_UNIT_PERCENT, "mean use in it", NULL},
    REAL("clock_mhz", "clock mhz", "mean shader clock in it"),
    {"vram_percent", RS_REAL, RS_UNIT_PERCENT, "mean memory in use in it", NULL},
    REAL("temperature_c_outside", "temperature c outside", "the same outside of all dips"),
    REAL("power_w_outside", "power w outside", "the same outside of all dips"),
    {"gpu_use_percent_outside", RS_REAL, RS_UNIT_PERCENT, "the same outside of all dips", NULL},
    REAL("clock_mhz_outside", "clock mhz outside", "the same outside of all dips"),
    {"vram_percent_outside", RS_REAL, RS_UNIT_PERCENT, "the same outside of all dips", NULL},
};
TABLE(dips, "dips", "one row a stretch of steps that took much longer than the others");

static const rs_column_spec traces_columns[] = {
    WORD("label", "label", "as given with --label"),
    ID("rank", "rank", "of the torch profiler's trace"),
    COUNT("steps", "steps", "its training steps"),
    MS("trace_step_ms", "trace step", "mean length of a step, by the trace"),
    MS("recorded_step_ms", "recorded step", "the same by the recorded ranges"),
    MS("trace_compute_ms", "trace compute", "mean time with a computing kernel"),
    MS("recorded_compute_ms", "recorded compute", "the same by the recorded ranges"),
    MS("trace_comm_ms", "trace comm", "mean time with a communicating kernel"),
    MS("recorded_comm_ms", "recorded comm", "the same by the recorded ranges"),
    MS("trace_overlap_ms", "trace overlap", "mean time with both"),
    MS("recorded_overlap_ms", "recorded overlap", "the same by the recorded ranges"),
    SHARE("trace_hidden_share", "trace hidden share", "overlap / communication, by the trace"),
    SHARE("recorded_hidden_share", "recorded hidden share", "the same by the recorded ranges"),
};
TABLE(traces, "traces", "one row a rank: kernels of the torch profiler and the recorded ranges");

static const rs_column_spec steps_columns[] = {
    WORD("label", "label", "as given with --label"),
    ID("rank", "rank", "of the torch profiler's trace"),
    ID("step", "step", "global_step of the record"),
    ID("trace_step", "trace step", "N of the ProfilerStep#N that matches it"),
    WORD("matched_by", "matched by", "number: N is the global_step; order: no N of the rank is one"),
    MS("recorded_step_ms", "recorded step", "the step's length, by the recorded ranges"),
    MS("trace_step_ms", "trace step length", "the same by the trace"),
    MS("recorded_compute_ms", "recorded compute", "time with computation, by the recorded ranges"),
    MS("trace_compute_ms", "trace compute", "the same by the trace's kernels"),
    MS("recorded_comm_ms", "recorded comm", "time with a collective, by the recorded ranges"),
    MS("trace_comm_ms", "trace comm", "the same by the trace's kernels"),
    MS("recorded_overlap_ms", "recorded overlap", "time with both, by the recorded ranges"),
    MS("trace_overlap_ms", "trace overlap", "the same by the trace's kernels"),
    MS("overlap_difference_ms", "difference", "trace_overlap_ms - recorded_overlap_ms"),
    MS("recorded_exposed_ms", "recorded exposed", "time with a collective alone, by the recorded ranges"),
    MS("trace_exposed_ms", "trace exposed", "the same by the trace's kernels"),
};
TABLE(steps, "steps", "one row a rank and training step that is in its records and in its trace");

static const rs_column_spec exposed_columns[] = {
    WORD("label", "label", "as given with --label"),
    WORD("collective", "collective", "kind of collective, by the kernel's arguments or name"),
    WORD("group", "group", "process group; empty where the trace does not name it"),
    WORD("description", "description", "what the group is for, where the trace says it"),
    COUNT("ranks", "ranks", "ranks it was found on"),
    COUNT("kernels", "kernels", "its kernels on all ranks"),
    MS("time_ms", "ms", "time with it in training steps (in all of the trace without any), all ranks"),
    MS("exposed_ms", "exposed", "... and no computation"),
    {"exposed_share", RS_REAL, RS_UNIT_PERCENT, "of the exposed time of all collectives", "share"},
    SHARE("hidden_share", "hidden", "share of its time that computation hides"),
};
TABLE(exposed, "exposed", "one row a collective and process group in the traces, the most exposed first");

static const rs_table_spec *const specs[] = {&datasets_spec,    &comparison_spec,  &ranks_spec,
                                             &percentiles_spec, &collectives_spec, &dips_spec,
                                             &traces_spec,      &steps_spec,       &exposed_spec};
enum { DATASETS, COMPARISON, RANKS, PERCENTILES, COLLECTIVES, DIPS, TRACES, STEPS, EXPOSED, N_TABLES };

const rs_table_spec *const *rs_metrics_tables(size_t *n)
{
    *n = N_TABLES;
    return specs;
}

static double known(double value)
{
    return isfinite(value) ? value : NAN;
}

static double mean(const rs_exact_sum *s, uint64_t n)
{
    return n ? rs_exact_value(s) / (double)n : NAN;
}

static rs_status dataset_row(const rs_metrics *m, const rs_dataset *d, rs_table *t, rs_error *err)
{
    bool own = !m->settings.aorta;
    int dominant = own ? rs_dataset_dominant(d) : -1;
    return RS_PUT_ROW(
        t, err, d->label, d->count, d->used, d->n_series, known(rs_dataset_metric(d, RS_M_LOSS)),
        known(rs_dataset_metric(d, RS_M_STEP)), known(rs_dataset_metric(d, RS_M_COMPUTE)),
        known(own ? rs_dataset_metric(d, RS_M_COMM) : NAN), known(rs_dataset_metric(d, RS_M_OVERLAP)),
        known(own ? rs_dataset_metric(d, RS_M_EXPOSED) : NAN),
        known(own ? rs_dataset_metric(d, RS_M_IDLE) : NAN), known(rs_dataset_metric(d, RS_M_OVERLAP_RATIO)),
        known(own ? rs_dataset_metric(d, RS_M_HIDDEN_SHARE) : NAN),
        known(rs_dataset_metric(d, RS_M_COMPUTE_SHARE)),
        known(own ? rs_dataset_metric(d, RS_M_IDLE_SHARE) : NAN),
        known(mean(&d->sums.hidden_collective[RS_ALL_REDUCE], d->sums.n)),
        known(mean(&d->sums.hidden_collective[RS_REDUCE_SCATTER], d->sums.n)),
        known(own ? d->percentiles[RS_Q_STEP].p99 : NAN), known(own ? d->straggler_index : NAN),
        own && d->straggler_rank >= 0 ? d->straggler_rank : RS_NO_VALUE, own ? d->n_dips : RS_NO_VALUE,
        dominant < 0 ? NULL : rs_collective_names[dominant]);
}

static rs_status comparison_rows(const rs_metrics *m, rs_table *t, rs_error *err)
{
    for (int i = 0; i < RS_N_METRICS; i++) {
        bool in_aorta = i == RS_M_COMPUTE || i == RS_M_OVERLAP || i == RS_M_OVERLAP_RATIO || i == RS_M_LOSS;
        if (m->settings.aorta && !in_aorta) continue;
        rs_comparison c = rs_metrics_compared(m, (rs_metric)i);
        int better = rs_metric_infos[i].better;
        RS_TRY(RS_PUT_ROW(t, err, rs_metric_infos[i].name,
                          better > 0   ? "higher"
                          : better < 0 ? "lower"
                                       : NULL,
                          c.reference, c.candidate, c.difference, known(c.ratio), known(c.worse_percent),
                          c.noise, c.beyond_noise < 0 ? RS_NO_VALUE : c.beyond_noise, c.verdict));
    }
    return RS_OK;
}

static rs_status rank_rows(const rs_dataset *d, rs_table *t, rs_error *err)
{
    for (size_t i = 0; i < d->n_series; i++) {
        const rs_series *s = &d->series[i];
        RS_TRY(RS_PUT_ROW(
            t, err, d->label, s->rank, s->n, s->kept.n, s->n_runs, known(rs_metric_of(&s->kept, RS_M_STEP)),
            known(rs_metric_of(&s->kept, RS_M_COMPUTE)), known(rs_metric_of(&s->kept, RS_M_COMM)),
            known(rs_metric_of(&s->kept, RS_M_EXPOSED)), known(rs_metric_of(&s->kept, RS_M_IDLE)),
            known(rs_metric_of(&s->kept, RS_M_HIDDEN_SHARE)), known(d->ranks[i].median_step),
            known(d->ranks[i].median_compute), known(d->ranks[i].straggler_index)));
    }
    return RS_OK;
}

static rs_status percentile_rows(const rs_dataset *d, rs_table *t, rs_error *err)
{
    for (int q = 0; q < RS_N_Q; q++) {
        const rs_percentiles *p = &d->percentiles[q];
        RS_TRY(RS_PUT_ROW(t, err, d->label, rs_quantity_names[q], known(p->mean), known(p->p50),
                          known(p->p90), known(p->p99), known(p->max)));
    }
    return RS_OK;
}

static rs_status collective_rows(const rs_dataset *d, rs_table *t, rs_error *err)
{
    for (int k = 0; k < RS_N_COLLECTIVES; k++) {
        double in = mean(&d->sums.in_collective[k], d->sums.n);
        double hidden = mean(&d->sums.hidden_collective[k], d->sums.n);
        if (!(in > 0)) continue;
        RS_TRY(RS_PUT_ROW(t, err, d->label, rs_collective_names[k], known(in), known(hidden),
                          known(in - hidden), known(hidden / in)));
    }
    return RS_OK;
}

static rs_status dip_rows(const rs_dataset *d, rs_table *t, rs_error *err)
{
    for (size_t i = 0; i < d->n_dips; i++) {
        const rs_dip *dip = &d->dips[i];
        RS_PUT_CELLS(t, d->label, dip->first_step, dip->last_step, dip->n_steps, known(dip->median_ms),
                     known(dip->ratio));
        for (int k = 0; k < RS_N_SMI; k++) rs_table_add_real(t, known(dip->smi[k]));
        for (int k = 0; k < RS_N_SMI; k++) rs_table_add_real(t, known(d->smi_outside[k]));
        RS_TRY(rs_table_end_row(t, err));
    }
    return RS_OK;
}

static rs_status trace_rows(const rs_dataset *d, rs_table *t, rs_error *err)
{
    rs_status status = RS_OK;
    for (size_t i = 0; i < d->n_traces && status == RS_OK; i++) {
        const rs_trace_report *r = &d->traces[i];
        const rs_series *s = NULL;
        for (size_t k = 0; k < d->n_series; k++)
            if (d->series[k].rank == r->rank) s = &d->series[k];
        double n = r->steps ? (double)r->steps * 1e6 : NAN;
        status =
            RS_PUT_ROW(t, err, d->label, r->rank, r->steps, known((double)r->total_ns / n),
                       known(s ? rs_metric_of(&s->kept, RS_M_STEP) : NAN), known((double)r->compute_ns / n),
                       known(s ? rs_metric_of(&s->kept, RS_M_COMPUTE) : NAN), known((double)r->comm_ns / n),
                       known(s ? rs_metric_of(&s->kept, RS_M_COMM) : NAN), known((double)r->overlap_ns / n),
                       known(s ? rs_metric_of(&s->kept, RS_M_OVERLAP) : NAN),
                       known(r->comm_ns ? (double)r->overlap_ns / (double)r->comm_ns : NAN),
                       known(s ? rs_metric_of(&s->kept, RS_M_HIDDEN_SHARE) : NAN));
    }
    return status;
}

static rs_status step_rows(const rs_dataset *d, rs_table *t, rs_error *err)
{
    static const int shown[] = {RS_OF_TOTAL, RS_OF_COMPUTE, RS_OF_COMM, RS_OF_OVERLAP};
    for (size_t i = 0; i < d->n_pairs; i++) {
        const rs_step_pair *p = &d->pairs[i];
        RS_PUT_CELLS(t, d->label, p->rank, p->step, p->trace_step, p->by_number ? "number" : "order");
        for (size_t k = 0; k < sizeof shown / sizeof *shown; k++) {
            RS_PUT_CELLS(t, known(p->recorded[shown[k]]), known(p->traced[shown[k]]));
        }
        RS_TRY(RS_PUT_ROW(t, err, known(p->traced[RS_OF_OVERLAP] - p->recorded[RS_OF_OVERLAP]),
                          known(p->recorded[RS_OF_COMM] - p->recorded[RS_OF_OVERLAP]),
                          known(p->traced[RS_OF_COMM] - p->traced[RS_OF_OVERLAP])));
    }
    return RS_OK;
}

static rs_status exposed_rows(const rs_dataset *d, rs_table *t, rs_error *err)
{
    rs_status status = RS_OK;
    double all = 0;
    for (size_t i = 0; i < d->n_exposed; i++) all += (double)d->exposed[i].exposed_ns;
    for (size_t i = 0; i < d->n_exposed && status == RS_OK; i++) {
        const rs_exposed *e = &d->exposed[i];
        double alone = (double)e->exposed_ns, time = (double)e->time_ns;
        status = RS_PUT_ROW(t, err, d->label, e->collective, e->group, e->description, e->n_ranks, e->count,
                            known(time / 1e6), known(alone / 1e6), known(all > 0 ? 100 * alone / all : NAN),
                            known(time > 0 ? (time - alone) / time : NAN));
    }
    return status;
}

static rs_status fill(const rs_metrics *m, rs_table **t, rs_error *err)
{
    rs_status status = RS_OK;
    for (size_t i = 0; i < m->n && status == RS_OK; i++) {
        const rs_dataset *d = &m->datasets[i];
        status = dataset_row(m, d, t[DATASETS], err);
        if (m->settings.aorta) continue;
        if (status == RS_OK) status = rank_rows(d, t[RANKS], err);
        if (status == RS_OK) status = percentile_rows(d, t[PERCENTILES], err);
        if (status == RS_OK) status = collective_rows(d, t[COLLECTIVES], err);
        if (status == RS_OK) status = dip_rows(d, t[DIPS], err);
        if (status == RS_OK) status = trace_rows(d, t[TRACES], err);
        if (status == RS_OK) status = step_rows(d, t[STEPS], err);
        if (status == RS_OK) status = exposed_rows(d, t[EXPOSED], err);
    }
    if (status == RS_OK && m->reference != SIZE_MAX) status = comparison_rows(m, t[COMPARISON], err);
    return status;
}

#define NAMED_RANKS 8 /* ranks whose unmatched steps are told one by one */

static void add_notes(const rs_metrics *m, rs_result *result)
{
    if (m->settings.aorta) return;
    if (m->settings.skip_warmup > 0)
        rs_result_note(result, "the first %lld records of each rank are warm-up and left out (--skip-warmup)",
                       (long long)m->settings.skip_warmup);
    for (size_t i = 0; i < m->n; i++) {
        const rs_dataset *d = &m->datasets[i];
        if (!(rs_dataset_metric(d, RS_M_COMM) > 0))
            rs_result_note(result, "%.80s: no collective was recorded, so overlap does not apply", d->label);
        if (m->settings.traces && d->trace_reason)
            rs_result_note(result, "%.80s: %s", d->label, d->trace_reason);
        for (size_t k = 0; k < d->n_unmatched && k < NAMED_RANKS; k++)
            rs_result_note(result, "%.80s: %s", d->label, d->unmatched[k]);
        if (d->n_unmatched > NAMED_RANKS)
            rs_result_note(result, "%.80s: the same of %zu other ranks", d->label,
                           d->n_unmatched - NAMED_RANKS);
    }
}

rs_status rs_metrics_result(rs_metrics *m, rs_result *result, rs_error *err)
{
    *result = (rs_result){0};
    result->tables = rs_calloc(N_TABLES, sizeof *result->tables);
    if (!result->tables) return rs_fail_nomem(err, "tables");
    result->n_tables = N_TABLES;
    for (size_t i = 0; i < N_TABLES; i++) {
        result->tables[i] = rs_table_create(specs[i]);
        if (!result->tables[i]) return rs_fail_nomem(err, "tables");
    }
    result->main_table = m->reference != SIZE_MAX ? COMPARISON : DATASETS;
    add_notes(m, result);
    return fill(m, result->tables, err);
}

/* ---- --fail-on ---------------------------------------------------------------------------------------- */

/* The table whose columns answer the gate: the comparison where there is one, else the labels. */
static rs_status gate_table(const rs_gate *gate, bool compared, size_t *table, rs_error *err)
{
    rs_error ignored = RS_ERROR_INIT;
    *table = COMPARISON;
    if (compared && rs_gate_check(gate, specs[COMPARISON], &ignored) == RS_OK) return RS_OK;
    *table = DATASETS;
    rs_status status = rs_gate_check(gate, specs[DATASETS], err);
    if (status == RS_OK) return RS_OK;
    if (!compared && rs_gate_check(gate, specs[COMPARISON], &ignored) == RS_OK)
        return rs_fail(err, RS_ERR_USAGE,
                       "these columns are the comparison's: give --reference and --candidate");
    return status;
}

rs_status rs_metrics_gate_check(const char *text, const rs_metrics_settings *settings, bool compared,
                                rs_error *err)
{
    rs_gate *gate;
    size_t table;
    rs_metrics_settings own;
    RS_TAKE_SETTINGS(rs_metrics_settings, &own, settings, err);
    settings = &own;
    /* else it would pass on anything */
    if (compared && strstr(text, "beyond_noise") && !(settings->between_run_sd > 0))
        return rs_fail(err, RS_ERR_USAGE,
                       "how much equal runs differ is not known, so beyond_noise is never 1: give "
                       "--between-run-sd, or compare several runs a side with rankscope regress");
    RS_TRY(rs_gate_parse(text, &gate, err));
    rs_status status = gate_table(gate, compared, &table, err);
    rs_gate_free(gate);
    return status;
}

rs_status rs_metrics_gate(const char *text, rs_result *result, rs_error *err)
{
    rs_gate *gate;
    size_t table, n_rows = 0, first = 0;
    char values[256];
    RS_TRY(rs_gate_parse(text, &gate, err));
    rs_status status = gate_table(gate, result->main_table == COMPARISON, &table, err);
    if (status == RS_OK) status = rs_gate_count(gate, result->tables[table], &n_rows, &first, err);
    if (status == RS_OK && n_rows) {
        size_t length;
        result->found = true;
        rs_result_note(result, "failed on %.100s: %zu of %zu rows of %s, the first is %.80s with %s", text,
                       n_rows, rs_table_n_rows(result->tables[table]), specs[table]->name,
                       rs_table_text(result->tables[table], first, 0, &length),
                       rs_gate_values(gate, result->tables[table], first, values, sizeof values));
    }
    rs_gate_free(gate);
    return status;
}
