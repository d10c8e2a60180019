#include "peer/hta_steps.h"

#include <string.h>

#include "base/memory.h"
#include "peer/hta_window.h"

/* The training steps of some ranks. */
typedef struct steps_seen {
    uint8_t n;     /* distinct numbers: 0, 1, or 2 for two and more */
    int64_t first; /* the one that n counts when it is 1, else -1 */
} steps_seen;

typedef struct cutting {
    bool trims;
} cutting;

static rs_status make(const void *value, size_t size, void **out, rs_error *err)
{
    *out = rs_malloc(size);
    if (!*out) return rs_fail_nomem(err, "HTA's steps");
    memcpy(*out, value, size);
    return RS_OK;
}

static void add_step(steps_seen *s, int64_t number)
{
    if (s->n == 0)
        *s = (steps_seen){1, number};
    else if (s->n == 1 && s->first != number)
        *s = (steps_seen){2, -1};
}

/* Stops at the second step: more than that nobody asks. */
static rs_status count_steps(const rs_run *run, rs_trace *trace, void **partial, rs_error *err)
{
    (void)run;
    const rs_events *e = trace->events;
    RS_LOCAL int64_t *numbers = rs_hta_step_numbers(&e->strings);
    steps_seen seen = {0, -1};
    if (!numbers) return rs_fail_nomem(err, "HTA's steps");
    bool any = false;
    for (size_t i = 0; i < e->strings.n && !any; i++) any = numbers[i] >= 0;
    for (size_t i = 0; any && seen.n < 2 && i < trace->n_rows; i++) {
        uint32_t row = rs_trace_row(trace, i);
        if (rs_frame_has_row(e, row) && numbers[e->name[row]] >= 0) add_step(&seen, numbers[e->name[row]]);
    }
    return make(&seen, sizeof seen, partial, err);
}

static rs_status combine(const void *a, const void *b, void **both, rs_error *err)
{
    const steps_seen *x = a, *y = b;
    steps_seen seen = *x;
    if (y->n == 2)
        seen = *y;
    else if (y->n == 1)
        add_step(&seen, y->first);
    return make(&seen, sizeof seen, both, err);
}

static rs_status agree(const rs_run *run, const rs_partial *partials, size_t n, void **agreed, rs_error *err)
{
    (void)run;
    const steps_seen *seen = n ? partials[0].value : NULL;
    cutting c = {.trims = seen && seen->n == 2};
    return make(&c, sizeof c, agreed, err);
}

/* A rank with two steps decides for all. One with fewer stays whole unless others decide for it. */
static rs_status foresee(const void *partial, size_t at, void **agreed, rs_error *err)
{
    const steps_seen *seen = partial;
    cutting c = {.trims = seen->n == 2 || at == 1};
    if (at > 1 || (at == 1 && seen->n == 2)) return RS_OK;
    return make(&c, sizeof c, agreed, err);
}

static void adopt(const void *agreed, rs_policy *policy)
{
    policy->trim_steps = ((const cutting *)agreed)->trims;
}

static const rs_field seen_fields[] = {RS_FIELD_BELOW(steps_seen, n, 3), RS_FIELD(steps_seen, first)};
static const rs_layout seen_layout = RS_LAYOUT(steps_seen, seen_fields);
static const rs_field cutting_fields[] = {RS_FIELD(cutting, trims)};
static const rs_layout cutting_layout = RS_LAYOUT(cutting, cutting_fields);

const rs_rank_round rs_hta_rounds[1] = {{
    .name = "whether the last step is cut off",
    .rank = count_steps,
    .combine = combine,
    .agree = agree,
    .foresee = foresee,
    .adopt = adopt,
    .free_partial = rs_free,
    .free_agreed = rs_free,
    .partial_layout = &seen_layout,
    .agreed_layout = &cutting_layout,
}};
