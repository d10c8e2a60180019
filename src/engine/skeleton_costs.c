/* What latencies take, learned from waits that nothing else held up. */
#include "base/memory.h"
#include "base/stats.h"
#include "engine/skeleton_make.h"

#define MIN_SAMPLES 20

/* The constants from the samples that stand in `by_cost` (first: offsets by cost) but for those of one fold.
 */
static void learn(const rs_causes *c, const uint32_t *by_cost, const size_t *first, const uint8_t *fold,
                  int without, int64_t *values, rs_skeleton_costs *out)
{
    for (unsigned cost = 0; cost < RS_N_COSTS; cost++) {
        size_t n = 0;
        out->least[cost] = out->typical[cost] = RS_NO_COST;
        for (size_t i = first[cost]; i < first[cost + 1]; i++)
            if (fold[by_cost[i]] != without) values[n++] = c->samples[by_cost[i]].value;
        if (n < MIN_SAMPLES) continue;
        out->least[cost] = rs_select_number(values, n, n / 10);
        out->typical[cost] = rs_select_number(values, n, n / 2);
        if (out->least[cost] < 0) out->least[cost] = 0;
        if (out->typical[cost] < 0) out->typical[cost] = 0;
    }
}

bool rs_maker_learn(rs_maker *m, const rs_step *steps, size_t n_steps)
{
    const rs_causes *c = m->own.causes;
    RS_LOCAL uint8_t *fold = rs_malloc(c->n_samples + 1);
    RS_LOCAL uint32_t *by_cost = rs_malloc((c->n_samples + 1) * sizeof *by_cost);
    RS_LOCAL int64_t *values = rs_malloc((c->n_samples + 1) * sizeof *values);
    size_t first[RS_N_COSTS + 2] = {0};
    bool ok = fold && by_cost && values;
    for (size_t i = 0; ok && i < c->n_samples; i++) {
        uint32_t item = m->own.item_of[c->samples[i].row];
        int32_t step = item == RS_NO_ITEM ? -1 : rs_maker_step_of(m, steps, n_steps, rs_node_start(item));
        fold[i] = (uint8_t)(step < 0 ? UINT8_MAX : step % RS_SKELETON_FOLDS);
        first[c->samples[i].cost + 2]++;
    }
    for (size_t k = 1; k <= RS_N_COSTS; k++) first[k + 1] += first[k];
    for (uint32_t i = 0; ok && i < c->n_samples; i++) by_cost[first[c->samples[i].cost + 1]++] = i;
    if (ok) learn(c, by_cost, first, fold, -1, values, &m->s->all);
    size_t n_told = first[RS_COST_EVENT + RS_N_WORK_KINDS] - first[RS_COST_EVENT];
    m->s->told_gap = RS_NO_COST;
    for (size_t i = 0; ok && i < n_told; i++) values[i] = c->samples[by_cost[first[RS_COST_EVENT] + i]].value;
    if (ok && n_told >= MIN_SAMPLES) m->s->told_gap = rs_select_number(values, n_told, n_told * 9 / 10);
    for (int k = 0; ok && k < RS_SKELETON_FOLDS; k++) {
        if ((size_t)k < n_steps)
            learn(c, by_cost, first, fold, k, values, &m->s->without[k]);
        else
            m->s->without[k] = m->s->all;
    }
    return ok;
}
