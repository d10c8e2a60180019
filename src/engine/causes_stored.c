/* The causes of a rank as a facet, and as arrays of the store. */
#include <string.h>

#include "base/try.h"
#include "engine/causes.h"
#include "trace/facet.h"

/* Costs and the count of contradictions, as whole numbers. */
#define N_COSTS (sizeof(rs_path_costs) / sizeof(int64_t))
#define N_NUMBERS (N_COSTS + 1)

typedef struct causes_value {
    rs_causes causes;
    int64_t numbers[N_NUMBERS];
    int64_t *value; /* of the samples, where they may be stored */
    uint32_t *row;
    uint8_t *cost;
    bool has_stored, lent; /* lent: these and the arrays by work are the keeper's */
} causes_value;

static void free_causes(void *value)
{
    causes_value *v = value;
    if (!v) return;
    if (v->lent) {
        rs_free(v->causes.samples);
    } else {
        rs_causes_clear(&v->causes);
        rs_free_all(v->value, v->row, v->cost);
    }
    rs_free(v);
}

static bool store(causes_value *v)
{
    const rs_causes *c = &v->causes;
    v->value = rs_malloc((c->n_samples + 1) * sizeof *v->value);
    v->row = rs_malloc((c->n_samples + 1) * sizeof *v->row);
    v->cost = rs_malloc(c->n_samples + 1);
    if (!v->value || !v->row || !v->cost) return false;
    for (size_t i = 0; i < c->n_samples; i++) {
        v->value[i] = c->samples[i].value;
        v->row[i] = c->samples[i].row;
        v->cost[i] = c->samples[i].cost;
    }
    memcpy(v->numbers, &c->cost, sizeof c->cost);
    v->numbers[N_COSTS] = (int64_t)c->n_contradicted;
    return v->has_stored = true;
}

/* What the causes are told from. */
typedef struct sources {
    const rs_work *work;
    const uint32_t *by_start;
    const rs_sync_edges *sync;
} sources;

static rs_status look_at(rs_trace *trace, sources *s, rs_error *err)
{
    rs_policy all = rs_policy_of(RS_COMPAT_NONE);
    all.whole = true;
    RS_TRY(rs_trace_sync(trace, &s->sync, err));
    RS_TRY(rs_trace_work_details(trace, &all, &s->work, err));
    return rs_trace_work_by_start(trace, &all, &s->by_start, err);
}

static rs_status make(rs_trace *trace, const void *key, void **out, rs_error *err)
{
    sources s;
    (void)key;
    RS_TRY(look_at(trace, &s, err));
    causes_value *v = rs_calloc(1, sizeof *v);
    rs_status status =
        v ? rs_causes_find(trace, s.work, s.by_start, s.sync, &v->causes, err) : rs_fail_nomem(err, "causes");
    if (status == RS_OK && trace->keeper && !store(v)) status = rs_fail_nomem(err, "causes");
    if (status == RS_OK)
        *out = v;
    else
        free_causes(v);
    return status;
}

/* ---- stored ---------------------------------------------------------------------------------------------- */

enum { BEFORE, AROUND, ROOM, KIND, NUMBERS, SAMPLE_VALUE, SAMPLE_ROW, SAMPLE_COST, N_PARTS };
_Static_assert(N_PARTS <= RS_FACET_PARTS, "parts of causes");

static void give(const void *value, rs_facet_part *parts)
{
    const causes_value *v = value;
    size_t n = v->causes.w->n;
    if (!v->has_stored || !n) return;
    parts[BEFORE] = RS_FACET_NUMBERS(v->causes.before, n);
    parts[AROUND] = RS_FACET_NUMBERS(v->causes.around, n);
    parts[ROOM] = RS_FACET_NUMBERS(v->causes.room, n);
    parts[KIND] = RS_FACET_NUMBERS(v->causes.kind, n);
    parts[NUMBERS] = RS_FACET_NUMBERS(v->numbers, N_NUMBERS);
    parts[SAMPLE_VALUE] = RS_FACET_NUMBERS(v->value, v->causes.n_samples);
    parts[SAMPLE_ROW] = RS_FACET_NUMBERS(v->row, v->causes.n_samples);
    parts[SAMPLE_COST] = RS_FACET_NUMBERS(v->cost, v->causes.n_samples);
}

/* What had ended when work i started. */
static bool had_ended(const rs_work *w, uint32_t other, size_t i)
{
    return other == RS_NO_ITEM || (other < w->n && w->end[other] <= w->start[i] && other != i);
}

/* Whose start made room for a launch began while its call ran. */
static bool made_room(const rs_causes *c, uint32_t other, size_t i)
{
    const rs_work *w = c->w;
    if (other == RS_NO_ITEM) return true;
    if (other >= w->n || w->launch[i] == RS_NO_ROW) return false;
    return w->start[other] > c->e->start[w->launch[i]] && w->start[other] <= rs_event_end(c->e, w->launch[i]);
}

static bool is_sound(const rs_causes *c)
{
    const rs_work *w = c->w;
    for (size_t i = 0; i < w->n; i++)
        if (!had_ended(w, c->before[i], i) || !had_ended(w, c->around[i], i) ||
            !made_room(c, c->room[i], i) || c->kind[i] >= RS_N_WORK_KINDS)
            return false;
    return true;
}

static bool take_samples(causes_value *v, size_t n)
{
    rs_causes *c = &v->causes;
    c->samples = rs_malloc((n + 1) * sizeof *c->samples);
    for (size_t i = 0; c->samples && i < n; i++) {
        if (v->row[i] >= c->e->n || v->cost[i] >= RS_N_COSTS) return false;
        c->samples[i] = (rs_cost_sample){v->value[i], v->row[i], v->cost[i]};
    }
    c->n_samples = n;
    c->samples_capacity = n + 1;
    return c->samples != NULL;
}

static bool are_whole(const rs_facet_part *parts, size_t n)
{
    size_t n_samples = parts[SAMPLE_COST].n;
    return n && parts[BEFORE].n == n * sizeof(uint32_t) && parts[AROUND].n == parts[BEFORE].n &&
           parts[ROOM].n == parts[BEFORE].n && parts[KIND].n == n &&
           parts[NUMBERS].n == N_NUMBERS * sizeof(int64_t) && n_samples < SIZE_MAX / sizeof(int64_t) &&
           parts[SAMPLE_VALUE].n == n_samples * sizeof(int64_t) &&
           parts[SAMPLE_ROW].n == n_samples * sizeof(uint32_t);
}

static void *take(rs_trace *trace, const void *key, const rs_facet_part *parts)
{
    sources s;
    (void)key;
    if (look_at(trace, &s, NULL) != RS_OK || !are_whole(parts, s.work->n)) return NULL;
    causes_value *v = rs_calloc(1, sizeof *v);
    if (!v) return NULL;
    memcpy(v->numbers, parts[NUMBERS].bytes, sizeof v->numbers);
    v->causes = (rs_causes){.e = trace->events,
                            .w = s.work,
                            .by_start = s.by_start,
                            .sync = s.sync,
                            .before = rs_facet_lend(&parts[BEFORE]),
                            .around = rs_facet_lend(&parts[AROUND]),
                            .room = rs_facet_lend(&parts[ROOM]),
                            .kind = rs_facet_lend(&parts[KIND]),
                            .n_contradicted = (uint64_t)v->numbers[N_COSTS]};
    memcpy(&v->causes.cost, v->numbers, sizeof v->causes.cost);
    v->value = rs_facet_lend(&parts[SAMPLE_VALUE]);
    v->row = rs_facet_lend(&parts[SAMPLE_ROW]);
    v->cost = rs_facet_lend(&parts[SAMPLE_COST]);
    v->has_stored = v->lent = true;
    if (v->numbers[N_COSTS] >= 0 && is_sound(&v->causes) && take_samples(v, parts[SAMPLE_COST].n)) return v;
    free_causes(v);
    return NULL;
}

static const rs_facet_form causes_form = {N_PARTS, give, take, false};
const rs_facet rs_facet_causes = {.name = "causes of waits",
                                  .needs = {&rs_facet_sync},
                                  .make = make,
                                  .release = free_causes,
                                  .form = &causes_form};

rs_status rs_trace_causes(rs_trace *trace, const rs_causes **out, rs_error *err)
{
    const causes_value *value;
    RS_TRY(rs_trace_facet(trace, &rs_facet_causes, NULL, &value, err));
    *out = &value->causes;
    return RS_OK;
}
