#include "regress/parts.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/collective_notes.h"
#include "base/interval.h"
#include "base/real.h"
#include "base/sampling.h"
#include "base/try.h"

typedef __int128 wide;

void rs_parts_clear(rs_parts *parts)
{
    rs_strings_clear(&parts->texts);
    rs_strings_clear(&parts->keys);
    rs_free_all(parts->own[0], parts->own[1], parts->renamed, parts->place, parts->rows);
    *parts = (rs_parts){.n = 0};
}

/* ---- rows ---------------------------------------------------------------------------------------------- */

/* What the texts of a piece are, as ids of rs_parts; then what a row is distinguished by. */
typedef struct row_key {
    uint32_t part, name, operator_name, phase, group;
} row_key;

/* What is not asked for is not distinguished. */
static row_key mask(const rs_parts *p, row_key of)
{
    row_key key = {.part = of.part};
    if (p->key == RS_REGRESS_KERNEL) key.name = of.name < p->n_renamed ? p->renamed[of.name] : of.name;
    if (p->key == RS_REGRESS_OPERATOR) key.operator_name = of.operator_name;
    if (p->key == RS_REGRESS_PHASE) key.phase = of.phase;
    if (p->key == RS_REGRESS_GROUP) key.group = of.group;
    return key;
}

static row_key key_of(const rs_parts *p, int which, const rs_run_part *part)
{
    const uint32_t *own = p->own[which];
    return mask(p, (row_key){own[part->part], own[part->name], own[part->operator_name], own[part->phase],
                             own[part->group]});
}

static uint32_t text_id(const rs_parts *p, const char *text)
{
    return text ? rs_strings_find(&p->texts, text, strlen(text)) : 0;
}

uint32_t rs_parts_row_of(const rs_parts *p, const rs_path_key *key)
{
    row_key k =
        mask(p, (row_key){text_id(p, key->part), text_id(p, key->name), text_id(p, key->operator_name),
                          text_id(p, key->phase), text_id(p, key->group)});
    uint32_t id = rs_strings_find(&p->keys, (const char *)&k, sizeof k);
    return id == RS_NO_STRING ? UINT32_MAX : p->place[id];
}

static const char *text_at(const rs_parts *p, uint32_t id)
{
    return p->texts.items[id].text;
}

static bool add_texts(rs_parts *p, int which, const rs_strings *from)
{
    p->own[which] = rs_malloc((from->n + 1) * sizeof *p->own[which]);
    for (size_t i = 0; p->own[which] && i < from->n; i++) {
        uint32_t id = rs_strings_add(&p->texts, from->items[i].text, from->items[i].length);
        if (id == RS_NO_STRING) return false;
        p->own[which][i] = id;
    }
    return p->own[which] != NULL;
}

static bool add_part(rs_parts *p, int which, const rs_run_part *part)
{
    row_key k = key_of(p, which, part);
    uint32_t id = rs_strings_add(&p->keys, (const char *)&k, sizeof k);
    if (id == RS_NO_STRING) return false;
    if (id > p->n) { /* ids count from 1: 0 is the empty text */
        if (!RS_PUSH(p->rows, p->n, p->capacity,
                     (rs_part_row){.part = k.part,
                                   .name = k.name,
                                   .operator_name = k.operator_name,
                                   .phase = k.phase,
                                   .group = k.group,
                                   .id = id,
                                   .swap = RS_NO_TIME,
                                   .p = (double)NAN}))
            return false;
    }
    rs_part_row *row = &p->rows[id - 1];
    if (k.name && p->own[which][part->name] != k.name) row->was = p->own[which][part->name];
    row->sum[which] = rs_add_sat(row->sum[which], part->sum);
    row->count[which] = rs_add_sat(row->count[which], part->count);
    row->work[which] = rs_add_sat(row->work[which], part->work);
    return true;
}

static bool collect(rs_parts *p, int which, const rs_run_range *range)
{
    for (size_t r = range->from; r < range->to; r++) {
        const rs_one_run *run = &range->side->runs[r];
        const rs_run_parts *parts = &run->parts[p->method];
        int64_t samples, sum;
        rs_run_total(run, &samples, &sum);
        p->samples[which] = rs_add_sat(p->samples[which], samples);
        p->sums[which] = rs_add_sat(p->sums[which], sum);
        for (size_t i = 0; i < parts->n; i++)
            if (!add_part(p, which, &parts->items[i])) return false;
    }
    return true;
}

/* ---- exact shares -------------------------------------------------------------------------------------- */

typedef struct sorting {
    const rs_parts *parts;
    rs_part_row *row;
    wide rest; /* of the division, for the largest remainders */
} sorting;

static int by_key(const sorting *x, const sorting *y)
{
    const rs_part_row *p = x->row, *q = y->row;
    const uint32_t a[] = {p->part, p->name, p->operator_name, p->phase, p->group};
    const uint32_t b[] = {q->part, q->name, q->operator_name, q->phase, q->group};
    for (size_t i = 0; i < sizeof a / sizeof *a; i++) {
        int order = a[i] == b[i] ? 0 : strcmp(text_at(x->parts, a[i]), text_at(y->parts, b[i]));
        if (order) return order;
    }
    return 0;
}

static int by_rest(const void *a, const void *b)
{
    const sorting *x = a, *y = b;
    if (x->rest != y->rest) return x->rest > y->rest ? -1 : 1;
    return by_key(x, y);
}

static int by_change(const void *a, const void *b)
{
    const sorting *x = a, *y = b;
    int64_t m = x->row->change, n = y->row->change;
    if (m < 0) m = rs_sub_sat(0, m);
    if (n < 0) n = rs_sub_sat(0, n);
    if (m != n) return m > n ? -1 : 1;
    return by_key(x, y);
}

/* Rounds down; *rest is at least 0. */
static int64_t divide(wide n, wide by, wide *rest)
{
    wide q = n / by, r = n % by;
    if (r < 0) {
        q--;
        r += by;
    }
    *rest = r;
    return (int64_t)q;
}

/* part_k = S_B,k / n_B - S_A,k / n_A over one denominator; whole ns go to the largest remainders, so that the
 * parts add up to the rounded change. Then the rows are put in order of their change. */
static bool share_out(rs_parts *p)
{
    const int64_t *n = p->samples;
    wide by = (wide)n[0] * n[1], rest;
    wide whole = (wide)p->sums[1] * n[0] - (wide)p->sums[0] * n[1];
    RS_LOCAL sorting *order = rs_malloc((p->n + 1) * sizeof *order);
    rs_part_row *sorted = rs_malloc((p->n + 1) * sizeof *sorted);
    p->place = rs_malloc((p->n + 1) * sizeof *p->place);
    bool ok = order && sorted && p->place;
    int64_t left = ok ? divide(whole + by / 2, by, &rest) : 0;
    for (size_t i = 0; ok && i < p->n; i++) {
        rs_part_row *x = &p->rows[i];
        order[i] = (sorting){.parts = p, .row = x};
        x->change = divide((wide)x->sum[1] * n[0] - (wide)x->sum[0] * n[1], by, &order[i].rest);
        left -= x->change;
    }
    if (ok && p->n) qsort(order, p->n, sizeof *order, by_rest);
    for (size_t i = 0; ok && i < p->n && left > 0; i++, left--) order[i].row->change++;
    if (ok && p->n) qsort(order, p->n, sizeof *order, by_change);
    for (size_t i = 0; ok && i < p->n; i++) {
        sorted[i] = *order[i].row;
        p->place[sorted[i].id] = (uint32_t)i;
    }
    if (!ok) {
        rs_free(sorted);
        return false;
    }
    rs_free(p->rows);
    p->rows = sorted;
    p->capacity = p->n + 1;
    return true;
}

int64_t rs_parts_by_count(const rs_parts *p, const rs_part_row *x)
{
    if (!x->count[0] || !x->count[1]) return x->change;
    double pieces = (double)x->count[1] / (double)p->samples[1] - (double)x->count[0] / (double)p->samples[0];
    double ns = pieces * ((double)x->sum[0] / (double)x->count[0]);
    return fabs(ns) < 9e18 ? rs_int_near(ns) : 0;
}

/* ---- tests over runs ----------------------------------------------------------------------------------- */

#define MOST_TESTED 200 /* rows by the size of their change: the rest has no p */

/* Each tested row's time in a step, run by run: runs without it have 0. values: n_tested a run. */
static size_t values_of(const rs_parts *p, int which, const rs_run_range *range, size_t n_tested,
                        double *values)
{
    size_t n = 0;
    for (size_t r = range->from; r < range->to; r++) {
        const rs_one_run *run = &range->side->runs[r];
        const rs_run_parts *parts = &run->parts[p->method];
        int64_t samples, sum;
        rs_run_total(run, &samples, &sum);
        if (!samples) continue;
        double *of_run = values + n++ * n_tested;
        for (size_t i = 0; i < n_tested; i++) of_run[i] = 0;
        for (size_t i = 0; i < parts->n; i++) {
            const rs_run_part *part = &parts->items[i];
            row_key k = key_of(p, which, part);
            uint32_t row = p->place[rs_strings_find(&p->keys, (const char *)&k, sizeof k)];
            if (row < n_tested) of_run[row] += (double)part->sum / (double)samples;
        }
    }
    return n;
}

static bool test(rs_parts *p, const rs_run_range sides[2], double alpha)
{
    size_t n_tested = p->n < MOST_TESTED ? p->n : MOST_TESTED, n[2] = {0, 0}, most = 1;
    double *values[2] = {NULL, NULL}, *column[2] = {NULL, NULL};
    RS_LOCAL double *ps = rs_malloc((p->n + 1) * sizeof *ps);
    bool ok = ps != NULL;
    for (int k = 0; k < 2; k++) {
        size_t runs = sides[k].to - sides[k].from + 1;
        if (runs > most) most = runs;
        values[k] = rs_malloc(runs * (n_tested + 1) * sizeof **values);
        ok = ok && values[k];
    }
    for (int k = 0; k < 2; k++) ok = (column[k] = rs_malloc(most * sizeof **column)) && ok;
    for (int k = 0; ok && k < 2; k++) n[k] = values_of(p, k, &sides[k], n_tested, values[k]);
    for (size_t i = 0; ok && i < p->n; i++) {
        ps[i] = (double)NAN;
        if (i >= n_tested) continue;
        for (int k = 0; k < 2; k++)
            for (size_t r = 0; r < n[k]; r++) column[k][r] = values[k][r * n_tested + i];
        ps[i] = rs_welch_compare(column[0], n[0], column[1], n[1], alpha, -1).p;
    }
    ok = ok && rs_holm(ps, p->n);
    for (size_t i = 0; ok && i < p->n; i++) p->rows[i].p = ps[i];
    for (int k = 0; k < 2; k++) {
        rs_free_all(values[k], column[k]);
    }
    return ok;
}

/* ---- which parts are there? ----------------------------------------------------------------------------- */

/* The first run that has no parts by the method; NULL. */
void rs_parts_note_clocks(const rs_run_range *ranges, size_t n, rs_regress_method method, rs_result *result)
{
    rs_clock_trust trust = {0};
    for (size_t k = 0; k < n; k++)
        for (size_t r = ranges[k].from; r < ranges[k].to; r++) {
            const rs_one_run *run = &ranges[k].side->runs[r];
            const rs_run_clocks *c = &run->clocks;
            bool used = ranges[k].side->step == RS_REGRESS_STEP_JOB ||
                        (method == RS_REGRESS_PATH && run->parts[RS_REGRESS_PATH].known);
            if (!used) continue;
            trust.n += (size_t)c->n;
            trust.n_loose += (size_t)c->loose;
            if (c->width > trust.width) trust.width = c->width;
        }
    rs_coll_note_trust(&trust, result);
}

static const rs_one_run *without_parts(const rs_run_range sides[2], rs_regress_method method)
{
    for (int k = 0; k < 2; k++)
        for (size_t r = sides[k].from; r < sides[k].to; r++) {
            const rs_one_run *run = &sides[k].side->runs[r];
            if (run->n_steps && !run->parts[method].known) return run;
        }
    return NULL;
}

bool rs_parts_choose(const rs_run_range sides[2], rs_regress_method *method, rs_result *result)
{
    const rs_one_run *run = without_parts(sides, *method);
    if (!run) return true;
    if (*method == RS_REGRESS_PATH) {
        rs_result_note(result, "no parts of the path, %.200s: %.200s", run->label,
                       run->refused ? run->refused : "they were not computed when it was saved");
        *method = RS_REGRESS_EXPOSED;
        run = without_parts(sides, *method);
        if (!run) rs_result_note(result, "the parts are those of the time line (--method exposed)");
    }
    if (run)
        rs_result_note(result, "no parts of the time line: a step of the whole job (--step job) has none");
    return !run;
}

/* ---- can they be compared? ----------------------------------------------------------------------------- */

#define LEAST_ALIGNED 0.5

/* Ranks and process groups of all runs of both sides. */
static bool same_shape(const rs_run_range sides[2], char *reason, size_t size)
{
    const rs_one_run *first = NULL;
    for (int k = 0; k < 2; k++)
        for (size_t r = sides[k].from; r < sides[k].to; r++) {
            const rs_one_run *run = &sides[k].side->runs[r];
            if (!run->n_steps) continue;
            if (!first) first = run;
            if (run->n_ranks != first->n_ranks) {
                snprintf(reason, size,
                         "incomparable, the runs have different numbers of ranks: %" PRId64 " and %" PRId64,
                         first->n_ranks, run->n_ranks);
                return false;
            }
            if (run->mesh && first->mesh && strcmp(run->mesh, first->mesh) != 0) {
                snprintf(reason, size,
                         "incomparable, the ranks' groups have different sizes: %.60s and %.60s", first->mesh,
                         run->mesh);
                return false;
            }
            if (!first->mesh) first = run;
        }
    return true;
}

rs_status rs_parts_find(const rs_run_range sides[2], rs_regress_method method, rs_regress_key key,
                        double alpha, rs_parts *p, char *reason, size_t size, rs_error *err)
{
    double aligned = 1;
    *p = (rs_parts){.key = key, .method = method};
    *reason = '\0';
    if (!same_shape(sides, reason, size)) return RS_OK;
    bool ok = rs_strings_init(&p->texts) && rs_strings_init(&p->keys);
    for (int k = 0; ok && k < 2; k++) ok = add_texts(p, k, &sides[k].side->texts);
    if (!ok) return rs_fail_nomem(err, "the parts");
    RS_TRY(rs_parts_pair_names(p, sides, &aligned, err));
    if (aligned < LEAST_ALIGNED) {
        snprintf(reason, size,
                 "incomparable, the steps run different programs: %lld %% of the shorter one is in the other",
                 (long long)rs_int_of(100 * aligned));
        return RS_OK;
    }
    for (int k = 0; ok && k < 2; k++) ok = collect(p, k, &sides[k]);
    if (ok && p->samples[0] && p->samples[1])
        ok = share_out(p) && test(p, sides, alpha);
    else
        p->n = 0;
    return ok ? RS_OK : rs_fail_nomem(err, "the parts");
}
