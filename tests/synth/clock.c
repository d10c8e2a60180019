/* Clocks and what goes wrong at the ends of collectives. Nothing here draws from a rank's random numbers:
 * each value is a hash of what it belongs to, so that no option changes another's draws. */
#include "sim.h"

static int64_t drifted(int64_t since, int64_t drift)
{
    return since / 1000000000 * drift + since % 1000000000 * drift / 1000000000;
}

int64_t clock_of(const job *j, const rank_state *r, int64_t time, bool gpu)
{
    const rank_clock *c = &j->opt.clocks[r->id];
    int64_t since = time - j->epoch, shown = time + r->offset + drifted(since, c->drift);
    if (gpu) shown += c->gpu_offset + drifted(since, c->gpu_drift);
    if (c->step && since >= c->step_at) shown += c->step;
    return shown;
}

int64_t stamp_of(const job *j, const rank_state *r, int64_t time)
{
    int64_t shown = clock_of(j, r, time, true);
    if (!j->opt.stamp_jitter) return shown;
    uint64_t hash = mix(draws_seed(j) ^ mix((uint64_t)time * 0x10001u + (uint64_t)r->id));
    return shown + (int64_t)(hash % (uint64_t)(2 * j->opt.stamp_jitter + 1)) - j->opt.stamp_jitter;
}

int64_t skew_of(const job *j, const rank_state *r, size_t group_index, int64_t sequence)
{
    int64_t sum = 0;
    for (size_t i = 0; i < j->opt.skew_count; i++) {
        const end_skew *s = &j->opt.skews[i];
        if (s->rank != r->id || s->kind != j->groups[group_index].kind) continue;
        /* the sum of twelve uniform numbers is nearly normal, with variance 1 */
        int64_t normal = -6000;
        for (uint64_t k = 0; k < 12; k++)
            normal += (int64_t)(mix(draws_seed(j) ^ mix(group_index * 0x9001u + (uint64_t)sequence) ^
                                    (k << 40) ^ i) %
                                1001);
        sum += s->mean + s->spread * normal / 1000;
    }
    return sum > 0 ? sum : 0; /* no member leaves before the data is through */
}

bool is_mislabelled(const job *j, int rank, size_t group_index, int64_t sequence)
{
    uint64_t hash = mix(draws_seed(j) ^ mix(0x5eedu + group_index * 0x10001u) ^ mix((uint64_t)rank * 77 + 5) ^
                        mix((uint64_t)sequence / 2));
    return (int64_t)(hash % 100000) < j->opt.mislabel;
}
