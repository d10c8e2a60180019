/* Which schedule a pipeline runs by, from the order of passes on its stages:
 *
 *   GPipe                Huang et al., 2019: all forwards, then all backwards
 *   1F1B                 PipeDream-Flush, Narayanan et al., 2021: stage s of p begins with p - s forwards, then one backward, one forward
 *   interleaved 1F1B     Megatron-LM, 2021: a stage has v parts of the model; it begins with 2 (p - s - 1) + (v - 1) p + 1 forwards
 *   zero bubble          Qi et al., 2023: the weights' gradients are passes of their own; V: the second part of the model runs back
 *   DualPipe             DeepSeek-V3, 2024: micro-batches enter at both ends */
#include "engine/pipeline.h"

const char *const rs_pipe_schedule_names[RS_N_PIPE_SCHEDULES] = {
    "unknown",          "forward only", "GPipe",         "1F1B",    "interleaved GPipe",
    "interleaved 1F1B", "zero bubble",  "zero bubble V", "DualPipe"};

typedef struct shape {
    size_t n[RS_N_PASS_KINDS];
    size_t lead;    /* forwards before the first backward */
    bool alternate; /* after them one backward, one forward, until there are no more forwards */
} shape;

static shape shape_of(const rs_stage_order *o)
{
    shape s = {.alternate = true};
    uint8_t last = RS_PASS_FORWARD;
    size_t forwards = 0;
    for (size_t i = 0; i < o->n; i++) s.n[o->kinds[i]]++;
    for (size_t i = 0, seen[RS_N_PASS_KINDS] = {0}; i < o->n; i++) {
        uint8_t kind = o->kinds[i];
        if (kind == RS_PASS_WEIGHT) continue;
        if (!seen[RS_PASS_BACKWARD] && kind == RS_PASS_FORWARD) s.lead++;
        if (seen[RS_PASS_BACKWARD] && kind == last && forwards < s.n[RS_PASS_FORWARD]) s.alternate = false;
        seen[kind]++;
        forwards += kind == RS_PASS_FORWARD;
        last = kind;
    }
    return s;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static bool is_gpipe(const shape *s)
{
    return s->lead == s->n[RS_PASS_FORWARD];
}

/* Of a pipeline of p stages; the last begins with as many as its chunks take. One more or less than the textbook's is a matter of who
 * counts the forward that the first backward follows. */
static bool is_one_by_one(const shape *s, size_t stage, size_t p, size_t chunks)
{
    size_t lead = chunks > 1 ? 2 * (p - stage - 1) + (chunks - 1) * p + 1 : p - stage;
    return s->alternate && s->lead == least(lead, s->n[RS_PASS_FORWARD]);
}

rs_pipe_schedule rs_pipe_schedule_of(const rs_stage_order *stages, size_t n, bool both_ways, size_t *chunks)
{
    size_t backward = 0, weights = 0, parted = 0, gpipe = 0, by_one = 0;
    const size_t free_ones = n ? stages[0].n_free : 0;
    *chunks = 1;
    for (size_t i = 0; i < n; i++) {
        shape s = shape_of(&stages[i]);
        if (!s.n[RS_PASS_FORWARD]) return RS_PIPE_UNKNOWN;
        if (i == 0 && free_ones && s.n[RS_PASS_FORWARD] % free_ones == 0)
            *chunks = s.n[RS_PASS_FORWARD] / free_ones;
        backward += s.n[RS_PASS_BACKWARD] > 0;
        weights += s.n[RS_PASS_WEIGHT] > 0;
        parted += s.n[RS_PASS_FORWARD] > 1;
        gpipe += is_gpipe(&s);
        by_one += is_one_by_one(&s, i, n, *chunks);
    }
    if (!backward && n) return RS_PIPE_FORWARD;
    if (n < 2 || backward < n || parted < n) return RS_PIPE_UNKNOWN;
    if (both_ways && stages[0].first_is_free && stages[n - 1].first_is_free) return RS_PIPE_DUAL;
    if (weights + 1 >= n) return both_ways ? RS_PIPE_ZERO_BUBBLE_V : RS_PIPE_ZERO_BUBBLE;
    if (gpipe == n) return *chunks > 1 ? RS_PIPE_INTERLEAVED_GPIPE : RS_PIPE_GPIPE;
    if (by_one == n) return *chunks > 1 ? RS_PIPE_INTERLEAVED_1F1B : RS_PIPE_1F1B;
    return RS_PIPE_UNKNOWN;
}
