/* A side of the comparison: runs, their settled steps and parts. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/interval.h"
#include "base/memory.h"
#include "base/sampling.h"
#include "base/search.h"
#include "base/stats.h"
#include "regress/path.h"

rs_status rs_regress_side_create(const rs_regress_side_settings *settings, rs_regress_side **out,
                                 rs_error *err)
{
    *out = NULL;
    if (settings && settings->size < sizeof *settings)
        return rs_fail(err, RS_ERR_USAGE, "the settings of a side have no size");
    rs_regress_side *side = rs_calloc(1, sizeof *side);
    if (!side || !rs_strings_init(&side->texts)) {
        rs_free(side);
        return rs_fail_nomem(err, "a side");
    }
    side->step = settings ? settings->step : RS_REGRESS_STEP_RANK;
    side->path = !settings || !settings->no_path;
    *out = side;
    return RS_OK;
}

void rs_run_clear(rs_one_run *run)
{
    rs_free_all(run->label, run->steps, run->parts[0].items, run->parts[1].items, run->refused, run->tokens,
                run->mesh);
    *run = (rs_one_run){0};
}

void rs_regress_side_free(rs_regress_side *side)
{
    if (!side) return;
    for (size_t i = 0; i < side->n; i++) rs_run_clear(&side->runs[i]);
    rs_free(side->runs);
    rs_replay_run_free(side->replay);
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

bool rs_run_add_part(rs_run_parts *parts, const rs_run_part *part)
{
    return RS_APPEND(parts, *part);
}

typedef struct sorting {
    const char *texts[5];
    rs_run_part value;
} sorting;

static int by_text(const void *a, const void *b)
{
    const sorting *x = a, *y = b;
    for (int i = 0; i < 5; i++) {
        int order = x->texts[i] == y->texts[i] ? 0 : strcmp(x->texts[i], y->texts[i]);
        if (order) return order;
    }
    return 0;
}

bool rs_run_sort_parts(const rs_regress_side *side, rs_run_parts *parts)
{
    const rs_string *texts = side->texts.items;
    RS_LOCAL sorting *order = rs_malloc((parts->n + 1) * sizeof *order);
    if (!order) return false;
    for (size_t i = 0; i < parts->n; i++) {
        const rs_run_part *p = &parts->items[i];
        order[i] = (sorting){{texts[p->part].text, texts[p->name].text, texts[p->operator_name].text,
                              texts[p->phase].text, texts[p->group].text},
                             *p};
    }
    qsort(order, parts->n, sizeof *order, by_text);
    size_t kept = 0;
    for (size_t i = 0; i < parts->n; i++) {
        rs_run_part *last = kept ? &parts->items[kept - 1] : NULL;
        if (!last || by_text(&order[i - 1], &order[i]) != 0) {
            parts->items[kept++] = order[i].value;
            continue;
        }
        last->sum = rs_add_sat(last->sum, order[i].value.sum);
        last->count = rs_add_sat(last->count, order[i].value.count);
        last->work = rs_add_sat(last->work, order[i].value.work);
    }
    parts->n = kept;
    return true;
}

const rs_run_step *rs_run_step_of(const rs_one_run *run, int64_t number)
{
    size_t low;
    RS_SEARCH(low, run->n_steps, run->steps[low].number < number);
    return low < run->n_steps && run->steps[low].number == number ? &run->steps[low] : NULL;
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
    RS_LOCAL double *values = rs_malloc((run->n_steps + 1) * sizeof *values);
    if (!values) return rs_fail_nomem(err, "the steps of a run");
    for (size_t i = 0; i < run->n_steps; i++) values[i] = (double)run->steps[i].sum;
    size_t warm = rs_mser(values, run->n_steps, &run->settled);
    for (size_t i = 0; i < run->n_steps; i++)
        run->steps[i].phase = i < warm ? RS_RUN_WARM_UP : RS_RUN_SETTLED;
    mark_outliers(run, warm, values);
    return RS_OK;
}

void rs_run_total(const rs_one_run *run, int64_t *samples, int64_t *sum)
{
    *samples = *sum = 0;
    for (size_t i = 0; i < run->n_steps; i++) {
        if (run->steps[i].phase != RS_RUN_SETTLED) continue;
        *samples = rs_add_sat(*samples, run->per_step);
        *sum = rs_add_sat(*sum, run->steps[i].sum);
    }
}
