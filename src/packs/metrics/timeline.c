/* A label's timeline: step, computation, communication and overlap over global steps, all ranks.
 *
 * A picture is about a thousand points wide. Each point represents one or more steps of all ranks: the line
 * shows the median of their values, the band reaches from the least to the largest, so that a single slow
 * step of a single rank among a hundred thousand can be seen. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "metrics/dataset.h"
#include "metrics/plot.h"
#include "text/numbers.h"

#define WIDTH 1400
#define HEIGHT 700
#define POINTS 1200

typedef struct points {
    size_t n, n_records;
    int64_t first, last; /* steps */
    double *x;
    size_t *start;  /* n + 1 offsets into values */
    double *values; /* room for one quantity, by point */
} points;

typedef struct curve {
    double *low, *mid, *high;
} curve;

enum { C_STEP, C_COMPUTE, C_COMM, C_OVERLAP, C_STRAGGLER, N_CURVES };

bool rs_metrics_can_plot(void)
{
    return rs_plot_available();
}

static void points_clear(points *p)
{
    rs_free_all(p->x, p->start, p->values);
}

static size_t point_of(const points *p, int64_t step)
{
    /* whole numbers: a rounded share would put some steps into the point of the one before */
    __extension__ typedef unsigned __int128 wide;
    wide behind = (uint64_t)step - (uint64_t)p->first, span = (uint64_t)p->last - (uint64_t)p->first;
    return (size_t)(behind * p->n / (span + 1));
}

static bool make_points(const rs_dataset *d, points *p)
{
    *p = (points){.first = INT64_MAX, .last = INT64_MIN};
    for (size_t i = 0; i < d->n_series; i++) {
        size_t hint = 0;
        const rs_series *s = &d->series[i];
        for (size_t k = 0; k < s->n_steps; k++) {
            size_t end = k + 1 < s->n_steps ? s->steps[k + 1].index : s->n;
            int64_t last = rs_series_step(s, end - 1, &hint);
            if (s->steps[k].step < p->first) p->first = s->steps[k].step;
            if (last > p->last) p->last = last;
        }
        p->n_records += s->n;
    }
    uint64_t span = (uint64_t)p->last - (uint64_t)p->first;
    p->n = span < POINTS ? (size_t)span + 1 : POINTS;
    p->x = rs_malloc(p->n * sizeof *p->x);
    p->start = rs_calloc(p->n + 2, sizeof *p->start);
    p->values = rs_malloc(p->n_records * sizeof *p->values);
    if (!p->x || !p->start || !p->values) return false;
    double width = ((double)p->last - (double)p->first + 1) / (double)p->n;
    for (size_t i = 0; i < p->n; i++) p->x[i] = (double)p->first + width * ((double)i + 0.5) - 0.5;
    return true;
}

/* Sorts one quantity of the ranks wanted (-1: all) into points. */
static void gather(const rs_dataset *d, points *p, int column, int64_t rank)
{
    memset(p->start, 0, (p->n + 2) * sizeof *p->start);
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < d->n_series; i++) {
            const rs_series *s = &d->series[i];
            size_t hint = 0;
            if (rank >= 0 && s->rank != rank) continue;
            for (size_t k = 0; k < s->n; k++) {
                size_t at = point_of(p, rs_series_step(s, k, &hint));
                /* counted two places on, so that filling leaves each start where it belongs */
                if (pass == 0)
                    p->start[at + 2]++;
                else
                    p->values[p->start[at + 1]++] = s->of[column][k];
            }
        }
        if (pass == 0)
            for (size_t i = 2; i < p->n + 2; i++) p->start[i] += p->start[i - 1];
    }
}

static bool make_curve(const rs_dataset *d, points *p, int column, int64_t rank, curve *out)
{
    static const double qs[] = {0, 0.5, 1};
    out->low = rs_malloc(p->n * sizeof *out->low);
    out->mid = rs_malloc(p->n * sizeof *out->mid);
    out->high = rs_malloc(p->n * sizeof *out->high);
    if (!out->low || !out->mid || !out->high) return false;
    gather(d, p, column, rank);
    for (size_t i = 0; i < p->n; i++) {
        double v[3];
        rs_select_quantiles(p->values + p->start[i], p->start[i + 1] - p->start[i], qs, 3, v);
        out->low[i] = v[0];
        out->mid[i] = v[1];
        out->high[i] = v[2];
    }
    return true;
}

/* Where the y axis ends: above all that is drawn from the warm-up on. */
static double highest(const curve *curves, const points *p, double from)
{
    double top = 0;
    for (int c = 0; c < N_CURVES; c++)
        for (size_t i = 0; curves[c].high && i < p->n; i++)
            if (p->x[i] >= from && isfinite(curves[c].high[i]) && curves[c].high[i] > top)
                top = curves[c].high[i];
    return top > 0 ? top * 1.06 : 1;
}

static bool make_dips(const rs_dataset *d, rs_plot_mark **out)
{
    *out = rs_malloc(d->n_dips * sizeof **out);
    for (size_t i = 0; *out && i < d->n_dips; i++)
        (*out)[i] = (rs_plot_mark){.from = (double)d->dips[i].first_step - 0.5,
                                   .to = (double)d->dips[i].last_step + 0.5};
    return *out != NULL;
}

static void describe(const rs_metrics *m, const rs_dataset *d, char *out, size_t size)
{
    double hidden = rs_dataset_metric(d, RS_M_HIDDEN_SHARE);
    size_t used = 0;
    used += (size_t)snprintf(out, size, "%zu rank%s, %llu records (line: median, band: all)", d->n_series,
                             d->n_series == 1 ? "" : "s", (unsigned long long)d->count);
    if (m->settings.aorta) return;
    if (isfinite(hidden) && used < size)
        used +=
            (size_t)snprintf(out + used, size - used, "; %s %% of communication hidden, %s ms a step exposed",
                             RS_FIXED(hidden * 100, 0), RS_FIXED(rs_dataset_metric(d, RS_M_EXPOSED), 2));
    else if (used < size)
        used += (size_t)snprintf(out + used, size - used, "; no communication recorded");
    if (d->n_dips && used < size)
        snprintf(out + used, size - used, "; %zu dip%s", d->n_dips, d->n_dips == 1 ? "" : "s");
}

static rs_status draw(const rs_metrics *m, const rs_dataset *d, points *p, curve *curves, rs_plot_mark *dips,
                      const char *path, rs_error *err)
{
    char title[300], subtitle[200], straggler[80];
    bool aorta = m->settings.aorta, slow = curves[C_STRAGGLER].mid != NULL;
    double warm_up = (double)p->first - 0.5;
    for (size_t i = 0; i < d->n_series; i++) {
        size_t hint = 0;
        const rs_series *s = &d->series[i];
        if (!s->first) continue;
        double from = (double)rs_series_step(s, s->first, &hint) - 0.5;
        if (from > warm_up) warm_up = from;
    }
    snprintf(title, sizeof title, "Overlap of computation and communication: %s", d->label);
    describe(m, d, subtitle, sizeof subtitle);
    snprintf(straggler, sizeof straggler, "computation of rank %lld (%sx the middle rank)",
             (long long)d->straggler_rank, RS_FIXED(d->straggler_index, 2));
    rs_plot_line lines[N_CURVES];
    size_t n = 0;
    static const struct {
        const char *name;
        uint32_t color;
    } looks[] = {
        {"step", 0x777777}, {"computation", 0x1f77b4}, {"communication", 0xe07b00}, {"overlap", 0x2a9d4a}};
    for (int c = C_STEP; c <= C_OVERLAP; c++)
        if (curves[c].mid)
            lines[n++] = (rs_plot_line){.name = looks[c].name,
                                        .color = looks[c].color,
                                        .low = curves[c].low,
                                        .mid = curves[c].mid,
                                        .high = curves[c].high};
    if (slow)
        lines[n++] = (rs_plot_line){
            .name = straggler, .color = 0x0b3c6f, .mid = curves[C_STRAGGLER].mid, .dashed = true};
    rs_plot_mark warm = {.from = (double)p->first - 0.5, .to = warm_up};
    rs_plot_mark_kind kinds[] = {
        {.name = "warm-up", .marks = &warm, .n = warm.to > warm.from && !aorta, .color = 0xb0b0b0},
        {.name = "dip", .marks = dips, .n = d->n_dips, .color = 0xd62728}};
    rs_plot plot = {.title = title,
                    .subtitle = subtitle,
                    .x_label = "global step",
                    .y_label = "ms per step",
                    .x = p->x,
                    .n = p->n,
                    .x_from = (double)p->first - 0.5,
                    .x_to = (double)p->last + 0.5,
                    .y_to = highest(curves, p, warm_up),
                    .lines = lines,
                    .n_lines = n,
                    .kinds = kinds,
                    .n_kinds = 2,
                    .width = WIDTH,
                    .height = HEIGHT};
    return rs_plot_png(&plot, path, err);
}

#define STRAGGLER_SHOWN 1.05 /* below that, a rank's line would hide after the others */

rs_status rs_metrics_plot(const rs_metrics *m, size_t index, const char *path, rs_error *err)
{
    const rs_dataset *d = &m->datasets[index];
    bool aorta = m->settings.aorta;
    points p;
    curve curves[N_CURVES] = {0};
    RS_LOCAL rs_plot_mark *dips = NULL;
    bool ok = make_points(d, &p) && make_dips(d, &dips);
    if (ok && !aorta) ok = make_curve(d, &p, RS_OF_TOTAL, -1, &curves[C_STEP]);
    if (ok) ok = make_curve(d, &p, RS_OF_COMPUTE, -1, &curves[C_COMPUTE]);
    if (ok && !aorta) ok = make_curve(d, &p, RS_OF_COMM, -1, &curves[C_COMM]);
    if (ok) ok = make_curve(d, &p, RS_OF_OVERLAP, -1, &curves[C_OVERLAP]);
    if (ok && !aorta && d->straggler_rank >= 0 && d->straggler_index >= STRAGGLER_SHOWN)
        ok = make_curve(d, &p, RS_OF_COMPUTE, d->straggler_rank, &curves[C_STRAGGLER]);
    rs_status status =
        ok ? draw(m, d, &p, curves, dips, path, err) : rs_fail_nomem(err, "the points of a picture");
    for (int c = 0; c < N_CURVES; c++) {
        rs_free_all(curves[c].low, curves[c].mid, curves[c].high);
    }
    points_clear(&p);
    return status;
}
