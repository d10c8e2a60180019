#include "memory/purpose.h"

#include "base/interval.h"
#include "base/memory.h"
#include "base/search.h"
#include "base/try.h"
#include "memory/notes.h"

const char *const rs_purpose_names[RS_N_PURPOSES] = {
    "before",    "parameter",     "optimizer_state", "gradient", "activation", "input",
    "temporary", "communication", "workspace",       "other",    "unknown"};
const char *const rs_certainty_names[RS_N_CERTAINTIES] = {"sure", "likely", "guess"};

rs_status rs_purposes_init(rs_purposes *p, const rs_history *history, const rs_frame_traits *traits,
                           rs_error *err)
{
    *p = (rs_purposes){.history = history, .traits = traits, .python_only = traits->snapshot->n_stacks > 0};
    for (size_t i = 0; i < traits->snapshot->n_stacks; i++)
        if (traits->of_stack[i] & RS_FRAME_NATIVE) p->python_only = false;
    return rs_optimizer_instants(history, traits->of_stack, RS_FRAME_OPTIMIZER, &p->optimizer,
                                 &p->n_optimizer, err);
}

void rs_purposes_clear(rs_purposes *p)
{
    rs_free(p->optimizer);
    *p = (rs_purposes){0};
}

/* Whether the block is active when the optimizer steps for the first time after its allocation. */
static bool is_there_for_optimizer(const rs_purposes *p, const rs_life *life)
{
    size_t low;
    RS_SEARCH(low, p->n_optimizer, p->optimizer[low] < life->from);
    return low < p->n_optimizer && life->until > p->optimizer[low];
}

static uint32_t traits_of(const rs_purposes *p, uint32_t stack)
{
    if (stack == RS_NO_STACK) return p->python_only ? RS_FRAME_AUTOGRAD : 0;
    return p->traits->of_stack[stack];
}

/* The traits of who asked for the block to be freed; 0: it was not, or it is unknown. */
static uint32_t freed_by(const rs_purposes *p, const rs_life *life)
{
    if (life->asked == 0 || life->asked > p->history->n) return 0;
    return traits_of(p, rs_event_stack(p->history, life->asked - 1));
}

static rs_purpose judge(const rs_purposes *p, const rs_life *life, rs_certainty *certainty)
{
    uint32_t made = traits_of(p, life->stack), freed = freed_by(p, life);
    bool stays = life->asked == RS_NEVER, workspace = made & RS_FRAME_WORKSPACE;
    bool by_optimizer = freed & (RS_FRAME_ZERO_GRAD | RS_FRAME_OPTIMIZER);
    *certainty = RS_SURE;
    if (life->from == 0) return RS_FOR_BEFORE;
    if (!made) {
        *certainty = RS_GUESS;
        return freed & RS_FRAME_ZERO_GRAD ? RS_FOR_GRADIENT : RS_FOR_UNKNOWN;
    }
    if (workspace || (made & RS_FRAME_KERNEL_LIBRARY && !(made & RS_FRAME_TENSOR))) return RS_FOR_WORKSPACE;
    if (made & RS_FRAME_COMM) return RS_FOR_COMMUNICATION;
    *certainty = life->stack == RS_NO_STACK ? RS_GUESS : RS_LIKELY;
    if (made & RS_FRAME_OPTIMIZER)
        return made & RS_FRAME_INIT_GROUP || stays ? RS_FOR_OPTIMIZER_STATE : RS_FOR_TEMPORARY;
    if (made & RS_FRAME_LOADER) return RS_FOR_INPUT;
    if (made & RS_FRAME_AUTOGRAD)
        return made & RS_FRAME_ACCUMULATE || by_optimizer || is_there_for_optimizer(p, life)
                   ? RS_FOR_GRADIENT
                   : RS_FOR_TEMPORARY;
    if (made & RS_FRAME_FORWARD)
        return stays || freed & RS_FRAME_AUTOGRAD ? RS_FOR_ACTIVATION : RS_FOR_TEMPORARY;
    if (made & RS_FRAME_INIT && stays) return RS_FOR_PARAMETER;
    *certainty = RS_GUESS;
    return RS_FOR_OTHER;
}

rs_purpose rs_purpose_of(const rs_purposes *p, const rs_life *life, rs_certainty *certainty)
{
    rs_purpose purpose = judge(p, life, certainty);
    const rs_history *h = p->history;
    bool compiled = life->from && h->snapshot->events.compiled[h->device->first + life->from - 1];
    if (compiled && *certainty < RS_GUESS) (*certainty)++;
    return purpose;
}

/* One device: sums by purpose where it was fullest. */
static rs_status sum_device(const rs_snapshot *s, const rs_snapshot_device *device,
                            const rs_frame_traits *traits, int64_t *peak, int64_t bytes[RS_N_PURPOSES],
                            rs_error *err)
{
    RS_SCOPED(rs_history_clear) rs_history h = {0};
    RS_SCOPED(rs_purposes_clear) rs_purposes p = {0};
    rs_certainty certainty;
    RS_TRY(rs_history_make(s, device, &h, err));
    RS_TRY(rs_purposes_init(&p, &h, traits, err));
    const rs_peaks peaks = rs_history_peaks(&h, &(rs_instants){0, h.n}, 1);
    if (peaks.value[RS_ACTIVE] <= *peak) return RS_OK;
    *peak = peaks.value[RS_ACTIVE];
    for (size_t k = 0; k < RS_N_PURPOSES; k++) bytes[k] = 0;
    for (size_t i = 0; i < h.n_lives; i++) {
        if (!rs_life_is_active(&h.lives[i], peaks.instant[RS_ACTIVE])) continue;
        int64_t *sum = &bytes[rs_purpose_of(&p, &h.lives[i], &certainty)];
        *sum = rs_add_sat(*sum, h.lives[i].size);
    }
    return RS_OK;
}

rs_status rs_purposes_at_peak(const rs_snapshot *s, int64_t bytes[RS_N_PURPOSES], rs_error *err)
{
    RS_SCOPED(rs_frame_traits_clear) rs_frame_traits traits = {0};
    int64_t peak = 0;
    for (size_t k = 0; k < RS_N_PURPOSES; k++) bytes[k] = 0;
    RS_TRY(rs_frame_traits_make(s, &traits, err));
    for (size_t i = 0; i < s->n_devices; i++)
        RS_TRY(sum_device(s, &s->devices[i], &traits, &peak, bytes, err));
    return RS_OK;
}
