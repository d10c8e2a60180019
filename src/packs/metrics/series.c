#include "metrics/series.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "input/lines.h"

/* ---- sums --------------------------------------------------------------------------------------------- */

void rs_exact_add(rs_exact_sum *s, double value)
{
    double t = s->sum + value;
    s->rest += fabs(s->sum) >= fabs(value) ? (s->sum - t) + value : (value - t) + s->sum;
    s->sum = t;
}

static void merge_exact(rs_exact_sum *into, const rs_exact_sum *from)
{
    rs_exact_add(into, from->sum);
    into->rest += from->rest;
}

void rs_sums_merge(rs_sums *into, const rs_sums *from)
{
    into->n += from->n;
    into->n_loss += from->n_loss;
    into->odd_loss += from->odd_loss;
    merge_exact(&into->loss, &from->loss);
    merge_exact(&into->total, &from->total);
    merge_exact(&into->compute, &from->compute);
    merge_exact(&into->comm, &from->comm);
    merge_exact(&into->overlap, &from->overlap);
    merge_exact(&into->idle, &from->idle);
    for (int k = 0; k < RS_N_COLLECTIVES; k++) {
        merge_exact(&into->in_collective[k], &from->in_collective[k]);
        merge_exact(&into->hidden_collective[k], &from->hidden_collective[k]);
    }
}

/* A stored number may be NaN or infinite: such a sum is what AORTA's is. */
static void add_stored(rs_exact_sum *s, double value)
{
    if (isfinite(value) && isfinite(s->sum))
        rs_exact_add(s, value);
    else {
        s->sum += value;
        s->rest = 0;
    }
}

static void add_record(rs_sums *s, const rs_record *r, bool aorta)
{
    s->n++;
    if (r->has_loss && isfinite(r->loss)) {
        s->n_loss++;
        rs_exact_add(&s->loss, r->loss);
    } else if (r->has_loss && aorta) {
        s->n_loss++;
        s->odd_loss += r->loss;
    }
    rs_exact_add(&s->total, r->total);
    if (aorta) {
        add_stored(&s->compute, r->stored_compute);
        add_stored(&s->overlap, r->stored_overlap);
        add_stored(&s->hidden_collective[RS_ALL_REDUCE], r->stored_all_reduce);
        add_stored(&s->hidden_collective[RS_REDUCE_SCATTER], r->stored_reduce_scatter);
        return;
    }
    rs_exact_add(&s->compute, r->compute);
    rs_exact_add(&s->comm, r->comm);
    rs_exact_add(&s->overlap, r->overlap);
    rs_exact_add(&s->idle, r->idle);
    for (int k = 0; k < RS_N_COLLECTIVES; k++) {
        rs_exact_add(&s->in_collective[k], r->in_collective[k]);
        rs_exact_add(&s->hidden_collective[k], r->hidden_collective[k]);
    }
}

/* ---- records ------------------------------------------------------------------------------------------ */

void rs_series_clear(rs_series *s)
{
    rs_free(s->file);
    for (int k = 0; k < RS_N_OF; k++) rs_big_free(s->of[k]);
    rs_free_all(s->steps, s->smi);
    rs_problems_clear(&s->problems);
    *s = (rs_series){0};
}

int64_t rs_series_step(const rs_series *s, size_t index, size_t *hint)
{
    size_t at = *hint < s->n_steps ? *hint : 0;
    if (s->steps[at].index > index) at = 0;
    while (at + 1 < s->n_steps && s->steps[at + 1].index <= index) at++;
    *hint = at;
    return rs_add_sat(s->steps[at].step, (int64_t)(index - s->steps[at].index));
}

static bool reserve(rs_series *s)
{
    if (s->n < s->capacity) return true;
    /* growing costs no copy and untouched room no memory, so a quarter more is enough */
    size_t wanted = s->capacity ? s->capacity + s->capacity / 4 : 4096;
    for (int k = 0; k < RS_N_OF; k++) {
        double *p = rs_big_resize(s->of[k], wanted * sizeof *p);
        if (!p) return false;
        s->of[k] = p;
    }
    s->capacity = wanted;
    return true;
}

typedef struct state {
    rs_series *series;
    const rs_series_settings *settings;
    int64_t last_step; /* of the usable record before */
    int64_t next_step; /* that continues the last run of steps */
    uint64_t n_cut, n_void;
    uint64_t first_cut, first_void; /* line numbers */
} state;

static void start_run(state *st)
{
    rs_series *s = st->series;
    s->n_runs++;
    if (st->settings->aorta) return;
    s->n_older += s->n;
    s->n = s->n_steps = s->n_smi = 0;
    s->all = s->kept = (rs_sums){0};
}

static bool keep_smi(rs_series *s, const rs_record *r)
{
    rs_smi_at at = {.index = (uint32_t)s->n};
    if (!r->smi.bytes || s->n >= UINT32_MAX || !rs_smi_parse(&r->smi, s->rank, &at.sample)) return true;
    return RS_PUSH(s->smi, s->n_smi, s->smi_capacity, at);
}

static bool keep_step(state *st, int64_t step)
{
    rs_series *s = st->series;
    if (s->n == 0 || step != st->next_step)
        if (!RS_PUSH(s->steps, s->n_steps, s->steps_capacity, (rs_step_run){s->n, step})) return false;
    st->next_step = rs_add_sat(step, 1);
    st->last_step = step;
    return true;
}

static bool keep_record(state *st, const rs_record *r, uint64_t line)
{
    rs_series *s = st->series;
    bool aorta = st->settings->aorta;
    if (s->n_runs == 0 || r->step <= st->last_step) start_run(st);
    if (r->n_cut && !st->n_cut) st->first_cut = line;
    if (r->n_void && !st->n_void) st->first_void = line;
    st->n_cut += r->n_cut;
    st->n_void += r->n_void;
    if (r->world_size > s->world_size) s->world_size = r->world_size;
    if (!reserve(s) || !keep_smi(s, r) || !keep_step(st, r->step)) return false;
    s->of[RS_OF_TOTAL][s->n] = r->total;
    s->of[RS_OF_COMPUTE][s->n] = aorta ? r->stored_compute : r->compute;
    s->of[RS_OF_COMM][s->n] = r->comm;
    s->of[RS_OF_OVERLAP][s->n] = aorta ? r->stored_overlap : r->overlap;
    s->of[RS_OF_IDLE][s->n] = r->idle;
    add_record(&s->all, r, aorta);
    if ((uint64_t)s->n >= (uint64_t)st->settings->skip_warmup) add_record(&s->kept, r, aorta);
    s->n++;
    return true;
}

/* ---- the file ----------------------------------------------------------------------------------------- */

static void report_lines(rs_series *s, const char *kind, const char *message, const rs_line_text *line,
                         size_t at)
{
    char detail[96];
    snprintf(detail, sizeof detail, "line %llu", (unsigned long long)line->number);
    rs_problems_add_many(&s->problems, s->file, s->rank, RS_LOSS, kind, message, line->offset + at, 1,
                         detail);
}

static void report_line(rs_series *s, rs_line what, const rs_line_text *line, size_t at)
{
    if (line->too_long)
        report_lines(s, "long_line", "a line longer than 32 MiB was skipped", line, 0);
    else if (what == RS_LINE_BROKEN && !line->whole)
        report_lines(s, "partial_line", "the last line breaks off and was skipped", line, at);
    else if (what == RS_LINE_BROKEN)
        report_lines(s, "bad_line", "a line that is no JSON object was skipped", line, at);
    else if (what == RS_LINE_NO_STEP)
        report_lines(s, "no_global_step", "a record without a whole number global_step was skipped", line, 0);
    else if (what == RS_LINE_NO_PROFILE)
        report_lines(s, "no_profile", "a record without a profile with total_ms and ranges was skipped", line,
                     0);
}

static void report_end(rs_series *s, const rs_source *source, const state *st)
{
    char detail[96];
    rs_source_report_end(source, s->rank, &s->problems);
    if (st->n_cut) {
        snprintf(detail, sizeof detail, "first on line %llu", (unsigned long long)st->first_cut);
        rs_problems_add_many(&s->problems, s->file, s->rank, RS_NOTE, "cut_range",
                             "a range reaches beyond its step and was cut to it", RS_NO_OFFSET, st->n_cut,
                             detail);
    }
    if (st->n_void) {
        snprintf(detail, sizeof detail, "first on line %llu", (unsigned long long)st->first_void);
        rs_problems_add_many(&s->problems, s->file, s->rank, RS_NOTE, "void_range",
                             "a range that ends at or before its start counts for nothing", RS_NO_OFFSET,
                             st->n_void, detail);
    }
    if (s->n_runs > 1) {
        snprintf(detail, sizeof detail, "%llu runs in the file, %llu records of earlier ones",
                 (unsigned long long)s->n_runs, (unsigned long long)s->n_older);
        rs_problems_add_many(&s->problems, s->file, s->rank, RS_NOTE, "appended_run",
                             st->settings->aorta
                                 ? "global_step starts again: all runs are counted, as AORTA does"
                                 : "global_step starts again: the last run is used",
                             RS_NO_OFFSET, 1, detail);
    }
}

static rs_status read_lines(state *st, rs_source *source, rs_error *err)
{
    rs_series *s = st->series;
    rs_lines lines;
    rs_line_text line;
    rs_record record;
    rs_record_reader reader = {.stored = st->settings->aorta};
    uint64_t reported = 0;
    rs_status status = rs_lines_open(source, &lines, err);
    if (status != RS_OK) return status;
    while (rs_lines_next(&lines, &line, &status, err)) {
        size_t at = 0;
        rs_line what =
            line.too_long ? RS_LINE_BROKEN : rs_record_read(&reader, line.text, line.n, &record, &at);
        bool ok = what != RS_LINE_NO_MEMORY;
        if (what == RS_LINE_OK)
            ok = keep_record(st, &record, line.number);
        else
            report_line(s, what, &line, at);
        if (!ok) {
            status = rs_fail_nomem(err, "the records of a rank");
            break;
        }
        uint64_t in = rs_source_bytes_in(source);
        if (in - reported < UINT64_C(1) << 20 || !st->settings->progress) continue;
        if (!st->settings->progress(st->settings->progress_context, in - reported)) {
            status = rs_fail(err, RS_ERR_CANCELLED, "stopped");
            break;
        }
        reported = in;
    }
    rs_record_reader_clear(&reader);
    rs_lines_close(&lines);
    return status;
}

rs_status rs_series_read(rs_series *s, const rs_series_settings *settings, rs_error *err)
{
    rs_source *source;
    state st = {.series = s, .settings = settings, .last_step = INT64_MIN};
    rs_status status = rs_source_open(s->file, 0, &source, err);
    if (status != RS_OK) return status;
    status = read_lines(&st, source, err);
    if (status == RS_OK) report_end(s, source, &st);
    rs_source_close(source);
    /* a run of at most that many records keeps all */
    bool drop = (uint64_t)s->n > (uint64_t)settings->skip_warmup;
    s->first = drop ? (size_t)settings->skip_warmup : 0;
    if (!drop) s->kept = s->all;
    s->skipped = s->n == 0;
    return status;
}
