/* Where random numbers come from.
 *
 * A rank draws from one sequence, instruction by instruction, and each instruction takes as many numbers from it
 * whatever the options are: one that is left out is skipped with its numbers. What an option adds draws from numbers
 * of its own (draws_apart). So the same seed with one option changed is the same job but for that option. */
#include "sim.h"

uint64_t draws_seed(const job *j)
{
    return j->opt.run ? mix(j->opt.seed ^ mix(0x2u + (uint64_t)j->opt.run)) : j->opt.seed;
}

int draws_of(const job *j, const instruction *i)
{
    if (i->apart) return 0;
    int gap = !(i->first && j->step == 0); /* before the first work of a stream there is none */
    switch ((action)i->action) {
    case DO_PUSH:
    case DO_POP:
    case DO_HOST:
    case DO_LOAD:
    case DO_THREAD:
    case DO_STEP_END: return 1;
    case DO_STEP_BEGIN:
    case DO_RECORD:
    case DO_WAIT: return 2;
    case DO_LAUNCH: return 4 + gap;
    case DO_COLLECTIVE: return 3 + gap;
    case DO_SYNC_STREAM:
    case DO_SYNC_EVENT: return 3;
    case DO_SYNC_DEVICE: return i->slot < 0 || j->step == j->last_step ? 3 : 0;
    case DO_GRAPH_BEGIN:
    case DO_GRAPH_END:
    case DO_PAUSE:
    case DO_CALL: break;
    }
    return 0;
}

uint64_t draws_apart(const job *j, const rank_state *r, uint64_t what)
{
    return mix(draws_seed(j) ^ mix(0xa9a27u + (uint64_t)r->id) ^ mix((uint64_t)j->step * 0x10001u) ^
               mix(what << 20));
}

void draws_skip(uint64_t *state, int count)
{
    *state += (uint64_t)count * RANDOM_STRIDE;
}

/* The sum of twelve uniform numbers is nearly normal with variance 1; in thousandths. */
static int64_t normal(uint64_t seed)
{
    int64_t sum = -6000;
    for (uint64_t k = 0; k < 12; k++) sum += (int64_t)(mix(seed ^ mix(k + 1)) % 1001);
    return sum;
}

static int64_t root(int64_t square)
{
    int64_t low = 0, high = 2000000000;
    while (low < high) {
        int64_t middle = low + (high - low + 1) / 2;
        if (middle * middle <= square)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

static uint64_t seed_of_step(const job *j, uint64_t kind, int64_t step)
{
    return mix(draws_seed(j) ^ mix(kind << 32) ^ mix((uint64_t)step * 0x9e37u + 7));
}

static bool is_outlier(const job *j, int64_t step)
{
    return (int64_t)(seed_of_step(j, 11, step) % 100000) < j->opt.outliers;
}

bool is_evaluation(const job *j, int64_t step)
{
    return j->opt.eval_every && (step + 1) % j->opt.eval_every == 0;
}

bool is_settled(const job *j, int64_t step)
{
    return step >= j->opt.warm_up_steps && !is_outlier(j, step);
}

/* Noise of step k: x(0) = sd z(0), x(k) = rho x(k-1) + sqrt(1 - rho^2) sd z(k), z normal. Spread in thousandths of a
 * percent, rho in thousandths; the result in parts in a thousand million. What is older than 255 steps counts for less
 * than 0.00001 of the spread, as rho is at most 0.95, and is left out. */
static int64_t step_noise(const job *j, int64_t step)
{
    int64_t spread = j->opt.step_noise * 10000, rho = j->opt.step_memory;
    if (!spread) return 0;
    int64_t innovation = root(1000000 - rho * rho) * spread / 1000, first = step > 255 ? step - 255 : 0;
    int64_t x = spread * normal(seed_of_step(j, 13, first)) / 1000;
    for (int64_t k = first + 1; k <= step; k++)
        x = x * rho / 1000 + innovation * normal(seed_of_step(j, 13, k)) / 1000;
    return x;
}

int64_t pace_of(const job *j, int64_t step)
{
    const options *o = &j->opt;
    int64_t pace = 1000000000;
    pace += o->run_noise * 10 * normal(seed_of_step(j, 12, 0));
    pace += pace / 1000000 * step_noise(j, step) / 1000;
    if (step < o->warm_up_steps) pace = pace / 1000 * o->warm_up;
    if (is_outlier(j, step)) pace = pace / 1000 * o->outlier;
    pace /= 1000;
    return pace < 1000 ? 1000 : pace; /* a wild spread must not turn time back */
}
