/* A side of the comparison: runs, their settled steps and parts. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/interval.h"
#include "base/memory.h"
#include "base/sampling.h"
#include "base/stats.h"
#include "regress/run.h"

rs_status rs_regress_side_create(rs_regress_side **out)
{
    *out = rs_calloc(1, sizeof **out);
    if (!*out) return RS_ERR_NOMEM;
    if (rs_strings_init(&(*out)->texts)) return RS_OK;
    rs_free(*out);
    *out = NULL;
    return RS_ERR_NOMEM;
}

void rs_regress_side_free(rs_regress_side *side)
{
    if (!side) return;
    for (size_t i = 0; i < side->n; i++) {
        rs_free(side->runs[i].label);
        rs_free(side->runs[i].steps);
        rs_free(side->runs[i].parts);
    }
    rs_free(side->runs);
    rs_strings_clear(&side->texts);
    rs_free(side);
}

rs_one_run *rs_side_add(rs_regress_side *side, const char *label)
{
    char *copy = rs_strdup(label);
    if (!copy || !RS_GROW_ONE(side->runs, side->n, side->capacity)) {
        rs_free(copy);
        return NULL;
    }
    rs_one_run *run = &side->runs[side->n++];
    *run = (rs_one_run){.label = copy, .settled = true};
    return run;
}

/* ---- parts --------------------------------------------------------------------------------------------- */

bool rs_run_add_part(rs_one_run *run, uint32_t part, uint32_t name, int64_t ns, int64_t count)
{
    if (!RS_GROW_ONE(run->parts, run->n_parts, run->parts_capacity)) return false;
    run->parts[run->n_parts++] = (rs_run_part){part, name, ns, count};
    return true;
}

typedef struct sorting {
    const char *part, *name;
    rs_run_part value;
} sorting;

static int by_text(const void *a, const void *b)
{
    const sorting *x = a, *y = b;
    int part = strcmp(x->part, y->part);
    return part ? part : strcmp(x->name, y->name);
}

bool rs_run_sort_parts(const rs_regress_side *side, rs_one_run *run)
{
    sorting *order = rs_malloc((run->n_parts + 1) * sizeof *order);
    if (!order) return false;
    for (size_t i = 0; i < run->n_parts; i++)
        order[i] = (sorting){side->texts.items[run->parts[i].part].text,
                             side->texts.items[run->parts[i].name].text, run->parts[i]};
    qsort(order, run->n_parts, sizeof *order, by_text);
    size_t kept = 0;
    for (size_t i = 0; i < run->n_parts; i++) {
        rs_run_part *last = kept ? &run->parts[kept - 1] : NULL;
        if (!last || last->part != order[i].value.part || last->name != order[i].value.name) {
            run->parts[kept++] = order[i].value;
        } else {
            last->sum = rs_add_sat(last->sum, order[i].value.sum);
            last->count = rs_add_sat(last->count, order[i].value.count);
        }
    }
    run->n_parts = kept;
    rs_free(order);
    return true;
}

/* ---- what is settled ----------------------------------------------------------------------------------- */

#define MOST_DEVIATIONS 5 /* median absolute deviations above the median: an outlier */
#define FEW 5             /* of so few steps none is an outlier */

/* Steps behind the warm-up that are longer than the median by far. */
static void mark_outliers(rs_one_run *run, size_t first, double *values)
{
    size_t n = run->n_steps - first;
    if (n < FEW) return;
    for (size_t i = 0; i < n; i++) values[i] = (double)run->steps[first + i].sum;
    rs_sort_doubles(values, n);
    double median = rs_quantile(values, n, 0.5);
    for (size_t i = 0; i < n; i++) values[i] = fabs((double)run->steps[first + i].sum - median);
    rs_sort_doubles(values, n);
    double deviation = rs_quantile(values, n, 0.5);
    for (size_t i = first; deviation > 0 && i < run->n_steps; i++)
        if ((double)run->steps[i].sum > median + MOST_DEVIATIONS * deviation)
            run->steps[i].phase = RS_RUN_OUTLIER;
}

rs_status rs_run_settle(rs_one_run *run, rs_error *err)
{
    double *values = rs_malloc((run->n_steps + 1) * sizeof *values);
    if (!values) return rs_fail_nomem(err, "the steps of a run");
    for (size_t i = 0; i < run->n_steps; i++) values[i] = (double)run->steps[i].sum;
    size_t warm = rs_mser(values, run->n_steps, &run->settled);
    for (size_t i = 0; i < run->n_steps; i++)
        run->steps[i].phase = i < warm ? RS_RUN_WARM_UP : RS_RUN_SETTLED;
    mark_outliers(run, warm, values);
    rs_free(values);
    return RS_OK;
}

void rs_run_total(const rs_one_run *run, int64_t *samples, int64_t *sum)
{
    *samples = *sum = 0;
    for (size_t i = 0; i < run->n_steps; i++) {
        if (run->steps[i].phase != RS_RUN_SETTLED) continue;
        *samples += run->n_ranks;
        *sum = rs_add_sat(*sum, run->steps[i].sum);
    }
}
