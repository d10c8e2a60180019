/* summary.json. docs/metrics.md describes it. */
#include <math.h>

#include "metrics/dataset.h"
#include "text/writer.h"

/* Nested objects and arrays, each member on its own line. */
typedef struct tree {
    rs_writer *w;
    unsigned depth;
    bool first; /* nothing stands yet in the innermost one */
    bool aorta; /* NaN and Infinity as Python writes them */
} tree;

static void line(tree *t)
{
    if (!t->first) rs_writer_char(t->w, ',');
    rs_writer_char(t->w, '\n');
    rs_writer_repeat(t->w, ' ', (size_t)t->depth * 2);
    t->first = false;
}

static void key(tree *t, const char *name)
{
    line(t);
    rs_writer_json_string(t->w, name, strlen(name));
    rs_writer_text(t->w, ": ");
}

static void open(tree *t, char bracket)
{
    rs_writer_char(t->w, bracket);
    t->depth++;
    t->first = true;
}

static void close(tree *t, char bracket)
{
    t->depth--;
    if (!t->first) {
        rs_writer_char(t->w, '\n');
        rs_writer_repeat(t->w, ' ', (size_t)t->depth * 2);
    }
    rs_writer_char(t->w, bracket);
    t->first = false;
}

static void number(tree *t, const char *name, double value)
{
    key(t, name);
    if (isfinite(value))
        rs_writer_real(t->w, value);
    else if (!t->aorta)
        rs_writer_text(t->w, "null");
    else
        rs_writer_text(t->w, isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity");
}

static void whole(tree *t, const char *name, int64_t value)
{
    key(t, name);
    rs_writer_int(t->w, value);
}

static void text(tree *t, const char *name, const char *value)
{
    key(t, name);
    if (value)
        rs_writer_json_string(t->w, value, strlen(value));
    else
        rs_writer_text(t->w, "null");
}

/* AORTA's mean: over all records, whatever is known. */
static double mean(const rs_exact_sum *s, uint64_t n)
{
    return n ? rs_exact_value(s) / (double)n : NAN;
}

/* AORTA says 0 where there is no computation. */
static double overlap_ratio(const rs_dataset *d, bool aorta)
{
    double compute = rs_exact_value(&d->sums.compute);
    if (aorta) return compute != 0 ? rs_exact_value(&d->sums.overlap) / compute : 0;
    return rs_dataset_metric(d, RS_M_OVERLAP_RATIO);
}

static void write_common(tree *t, const rs_dataset *d)
{
    const rs_sums *s = &d->sums;
    whole(t, "count", (int64_t)d->count);
    number(t, "mean_loss", rs_metric_of(s, RS_M_LOSS));
    number(t, "mean_overlap_ms", mean(&s->overlap, s->n));
    number(t, "mean_compute_ms", mean(&s->compute, s->n));
    number(t, "mean_allreduce_overlap_ms", mean(&s->hidden_collective[RS_ALL_REDUCE], s->n));
    number(t, "mean_reducescatter_overlap_ms", mean(&s->hidden_collective[RS_REDUCE_SCATTER], s->n));
    number(t, "overlap_ratio", overlap_ratio(d, t->aorta));
}

static void write_percentiles(tree *t, const rs_dataset *d)
{
    key(t, "percentiles");
    open(t, '{');
    for (int q = 0; q < RS_N_Q; q++) {
        const rs_percentiles *p = &d->percentiles[q];
        key(t, rs_quantity_names[q]);
        open(t, '{');
        number(t, "p50", p->p50);
        number(t, "p90", p->p90);
        number(t, "p99", p->p99);
        number(t, "max", p->max);
        close(t, '}');
    }
    close(t, '}');
}

static void write_collectives(tree *t, const rs_dataset *d)
{
    const rs_sums *s = &d->sums;
    key(t, "collectives");
    open(t, '{');
    for (int k = 0; k < RS_N_COLLECTIVES; k++) {
        double in = mean(&s->in_collective[k], s->n), hidden = mean(&s->hidden_collective[k], s->n);
        if (k > RS_ALL_GATHER && !(in > 0)) continue;
        key(t, rs_collective_names[k]);
        open(t, '{');
        number(t, "mean_ms", in);
        number(t, "mean_overlap_ms", hidden);
        number(t, "mean_exposed_ms", in - hidden);
        number(t, "hidden_share", in > 0 ? hidden / in : NAN);
        close(t, '}');
    }
    close(t, '}');
    int dominant = rs_dataset_dominant(d);
    text(t, "dominant_exposed_collective", dominant < 0 ? NULL : rs_collective_names[dominant]);
}

static void write_ranks(tree *t, const rs_dataset *d)
{
    key(t, "per_rank");
    open(t, '[');
    for (size_t i = 0; i < d->n_series; i++) {
        const rs_series *s = &d->series[i];
        line(t);
        open(t, '{');
        whole(t, "rank", s->rank);
        whole(t, "count", (int64_t)s->n);
        whole(t, "records_used", (int64_t)s->kept.n);
        number(t, "mean_step_ms", rs_metric_of(&s->kept, RS_M_STEP));
        number(t, "mean_compute_ms", rs_metric_of(&s->kept, RS_M_COMPUTE));
        number(t, "mean_exposed_comm_ms", rs_metric_of(&s->kept, RS_M_EXPOSED));
        number(t, "hidden_share", rs_metric_of(&s->kept, RS_M_HIDDEN_SHARE));
        number(t, "idle_share", rs_metric_of(&s->kept, RS_M_IDLE_SHARE));
        number(t, "median_compute_ms", d->ranks[i].median_compute);
        number(t, "straggler_index", d->ranks[i].straggler_index);
        close(t, '}');
    }
    close(t, ']');
}

static void write_sensors(tree *t, const char *name, const double *values)
{
    key(t, name);
    open(t, '{');
    for (int k = 0; k < RS_N_SMI; k++) number(t, rs_smi_names[k], values[k]);
    close(t, '}');
}

static void write_dips(tree *t, const rs_dataset *d)
{
    key(t, "dips");
    open(t, '[');
    for (size_t i = 0; i < d->n_dips; i++) {
        const rs_dip *dip = &d->dips[i];
        line(t);
        open(t, '{');
        whole(t, "first_step", dip->first_step);
        whole(t, "last_step", dip->last_step);
        whole(t, "steps", (int64_t)dip->n_steps);
        number(t, "median_step_ms", dip->median_ms);
        number(t, "ratio", dip->ratio);
        if (d->has_smi) write_sensors(t, "sensors", dip->smi);
        close(t, '}');
    }
    close(t, ']');
    if (d->has_smi) write_sensors(t, "sensors_outside_dips", d->smi_outside);
}

static void write_traces(tree *t, const rs_dataset *d)
{
    key(t, "traces");
    open(t, '[');
    for (size_t i = 0; i < d->n_traces; i++) {
        const rs_trace_report *r = &d->traces[i];
        double n = r->steps ? (double)r->steps * 1e6 : NAN;
        line(t);
        open(t, '{');
        whole(t, "rank", r->rank);
        whole(t, "steps", r->steps);
        number(t, "mean_step_ms", (double)r->total_ns / n);
        number(t, "mean_compute_ms", (double)r->compute_ns / n);
        number(t, "mean_comm_ms", (double)r->comm_ns / n);
        number(t, "mean_overlap_ms", (double)r->overlap_ns / n);
        number(t, "mean_idle_ms", (double)r->idle_ns / n);
        number(t, "hidden_share", r->comm_ns ? (double)r->overlap_ns / (double)r->comm_ns : NAN);
        whole(t, "matched_steps", (int64_t)r->n_matched);
        text(t, "matched_by", r->n_matched ? (r->by_number ? "number" : "order") : NULL);
        close(t, '}');
    }
    close(t, ']');
    key(t, "exposed_collectives");
    open(t, '[');
    for (size_t i = 0; i < d->n_exposed; i++) {
        const rs_exposed *e = &d->exposed[i];
        line(t);
        open(t, '{');
        text(t, "collective", e->collective);
        text(t, "group", e->group);
        text(t, "description", e->description);
        whole(t, "ranks", e->n_ranks);
        whole(t, "kernels", e->count);
        number(t, "time_ms", (double)e->time_ns / 1e6);
        number(t, "exposed_ms", (double)e->exposed_ns / 1e6);
        close(t, '}');
    }
    close(t, ']');
}

static void write_own(tree *t, const rs_metrics *m, const rs_dataset *d)
{
    static const rs_metric rest[] = {RS_M_COMM, RS_M_EXPOSED,       RS_M_HIDDEN_SHARE,
                                     RS_M_IDLE, RS_M_COMPUTE_SHARE, RS_M_IDLE_SHARE};
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++)
        number(t, rs_metric_infos[rest[i]].name, rs_dataset_metric(d, rest[i]));
    number(t, "mean_step_ms", rs_dataset_metric(d, RS_M_STEP));
    whole(t, "skip_warmup", m->settings.skip_warmup);
    whole(t, "records_used", (int64_t)d->used);
    whole(t, "ranks", (int64_t)d->n_series);
    key(t, "world_size");
    if (d->world_size)
        rs_writer_int(t->w, d->world_size);
    else
        rs_writer_text(t->w, "null");
    write_percentiles(t, d);
    write_collectives(t, d);
    number(t, "straggler_index", d->straggler_index);
    key(t, "straggler_rank");
    if (d->straggler_rank >= 0)
        rs_writer_int(t->w, d->straggler_rank);
    else
        rs_writer_text(t->w, "null");
    write_ranks(t, d);
    number(t, "median_step_ms", d->median_step);
    write_dips(t, d);
    if (m->settings.traces) write_traces(t, d);
}

static void write_comparison(tree *t, const rs_metrics *m)
{
    const rs_dataset *a = &m->datasets[m->reference], *b = &m->datasets[m->candidate];
    double reference = overlap_ratio(a, t->aorta), candidate = overlap_ratio(b, t->aorta);
    key(t, "comparison");
    open(t, '{');
    number(t, "reference_overlap_ratio", reference);
    number(t, "candidate_overlap_ratio", candidate);
    number(t, "ratio_delta", candidate - reference);
    if (!t->aorta) {
        text(t, "reference", a->label);
        text(t, "candidate", b->label);
        key(t, "metrics");
        open(t, '{');
        for (int i = 0; i < RS_N_METRICS; i++) {
            rs_comparison c = rs_metrics_compared(m, (rs_metric)i);
            int better = rs_metric_infos[i].better;
            key(t, rs_metric_infos[i].name);
            open(t, '{');
            text(t, "better", better > 0 ? "higher" : better < 0 ? "lower" : NULL);
            number(t, "reference", c.reference);
            number(t, "candidate", c.candidate);
            number(t, "difference", c.difference);
            number(t, "ratio", c.ratio);
            number(t, "noise", c.noise);
            text(t, "verdict", c.verdict);
            close(t, '}');
        }
        close(t, '}');
    }
    close(t, '}');
}

rs_status rs_metrics_summary(const rs_metrics *m, const rs_sink *sink, rs_error *err)
{
    rs_writer writer;
    rs_writer_init(&writer, sink);
    tree t = {.w = &writer, .aorta = m->settings.aorta};
    open(&t, '{');
    key(&t, "datasets");
    open(&t, '{');
    for (size_t i = 0; i < m->n; i++) {
        const rs_dataset *d = &m->datasets[i];
        key(&t, d->label);
        open(&t, '{');
        write_common(&t, d);
        if (!t.aorta) write_own(&t, m, d);
        close(&t, '}');
    }
    close(&t, '}');
    if (m->reference != SIZE_MAX) write_comparison(&t, m);
    close(&t, '}');
    if (!t.aorta) rs_writer_char(&writer, '\n');
    return rs_writer_finish(&writer, err);
}
