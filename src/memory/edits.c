#include "memory/edits.h"

#include <math.h>
#include <string.h>

#include "base/interval.h"
#include "base/memory.h"
#include "base/real.h"
#include "base/try.h"
#include "memory/notes.h"

const char *const rs_memory_edit_assumptions[RS_N_MEMORY_EDITS + 1] = {
    "nothing is allocated in place of these blocks",
    "activations of these sites end with their forward call, but for what it makes last, and all of a call are made again "
    "just before the backward pass frees the first of them; at least: each on its own, at most: two calls at a time",
    "blocks that the backward pass does not free end with their annotation; at least: those that it frees, too",
    "inputs, activations and temporaries of forward and backward grow with the micro-batch, but for those of a parameter's "
    "size; blocks of unknown purpose do not; at least and at most: all of the uncertain ones do, or none",
    "optimizer state and what the optimizer's step allocates are divided evenly; at most: its state alone",
    "the assumptions of each",
};

/* How a life takes part in a change of sizes. */
enum {
    GROWS = 1 << 0,        /* with the micro-batch */
    MAY_GROW = 1 << 1,     /* ... it does, but not surely */
    MAY_NOT_GROW = 1 << 2, /* it does not, but not surely */
    IS_STATE = 1 << 3,     /* optimizer state */
    IS_OF_STEP = 1 << 4,   /* a temporary of the optimizer's step */
    IS_ACTIVATION = 1 << 5,
    IS_FORWARD = 1 << 6 /* it was made by a forward call, and for the first time */
};

/* The activations that one call makes. */
typedef struct rs_forward_call {
    uint32_t end;  /* the instant of the last allocation */
    uint32_t back; /* the first instant at which one is freed; RS_NEVER: none is */
    uint32_t last; /* the life that is made last: what the call returns, or what it saves of it */
    int64_t size;  /* of all */
} rs_forward_call;

/* ---- what blocks are ----------------------------------------------------------------------------------------- */

static bool is_of_parameter(rs_purpose purpose)
{
    return purpose == RS_FOR_PARAMETER || purpose == RS_FOR_GRADIENT || purpose == RS_FOR_OPTIMIZER_STATE ||
           purpose == RS_FOR_BEFORE || purpose == RS_FOR_COMMUNICATION;
}

static uint8_t kind_of(const rs_memory_edits *x, const rs_life *life)
{
    rs_certainty certainty;
    rs_purpose purpose = rs_purpose_of(x->purposes, life, &certainty);
    uint32_t made = rs_stack_traits(x->purposes->traits, life->stack);
    uint8_t forward = (made & (RS_FRAME_FORWARD | RS_FRAME_AUTOGRAD)) == RS_FRAME_FORWARD ? IS_FORWARD : 0;
    uint8_t grows = certainty == RS_GUESS ? MAY_GROW : GROWS;
    switch (purpose) {
    case RS_FOR_ACTIVATION: return grows | IS_ACTIVATION | forward;
    case RS_FOR_INPUT: return grows;
    case RS_FOR_OPTIMIZER_STATE: return IS_STATE;
    case RS_FOR_TEMPORARY:
        if (made & RS_FRAME_OPTIMIZER) return IS_OF_STEP;
        return forward | (rs_map64_get(&x->sizes, (uint64_t)life->size) ? MAY_NOT_GROW : MAY_GROW);
    default: return certainty == RS_GUESS ? MAY_NOT_GROW : 0;
    }
}

/* Two passes: the sizes of what belongs to parameters, then what each block is. */
static rs_status find_kinds(rs_memory_edits *x, rs_error *err)
{
    const rs_history *h = x->history;
    rs_certainty certainty;
    bool ok = (x->kind = rs_malloc(h->n_lives + 1)) != NULL, is_new;
    for (size_t i = 0; ok && i < h->n_lives; i++)
        if (is_of_parameter(rs_purpose_of(x->purposes, &h->lives[i], &certainty)))
            ok = rs_map64_put(&x->sizes, (uint64_t)h->lives[i].size, &is_new) != NULL;
    for (size_t i = 0; ok && i < h->n_lives; i++) x->kind[i] = kind_of(x, &h->lives[i]);
    return ok ? RS_OK : rs_fail_nomem(err, "what blocks are for");
}

static bool fits(const rs_memory_edits *x, rs_memory_edit edit, const rs_life *life)
{
    size_t at = life->stack == RS_NO_STACK ? x->history->snapshot->n_stacks : life->stack;
    return x->asked->stacks[edit] && x->asked->stacks[edit][at];
}

/* ---- calls ----------------------------------------------------------------------------------------------------- */

/* A stack in two: the frames up to the innermost one of the user's own Python, which is `own`, have a number. The same work
 * of another layer has the same number, whoever calls it. */
typedef struct parted_stack {
    uint32_t number, own;
} parted_stack;

/* By stack. NULL: no memory. */
static parted_stack *part_stacks(const rs_frame_traits *traits)
{
    const rs_snapshot *s = traits->snapshot;
    parted_stack *out = rs_calloc(s->n_stacks + 1, sizeof *out);
    uint32_t n = 1;
    RS_SCOPED(rs_map64_clear) rs_map64 known = {0};
    bool ok = out != NULL, is_new;
    for (size_t i = 0; ok && i < s->n_stacks; i++) {
        uint64_t hash = 0;
        uint32_t k = 0;
        for (; k < s->stacks[i].n; k++) {
            uint32_t frame = s->stack_frames[s->stacks[i].first + k];
            hash = (hash ^ frame) * UINT64_C(0x9E3779B97F4A7C15);
            hash ^= hash >> 29;
            if (traits->of_frame[frame] & RS_FRAME_PYTHON && !(traits->of_frame[frame] & RS_FRAME_LIBRARY))
                break;
        }
        uint32_t *number = rs_map64_put(&known, hash, &is_new);
        ok = number != NULL;
        if (!ok) break;
        if (is_new) *number = n++;
        out[i] = (parted_stack){*number, k < s->stacks[i].n ? k : 0};
    }
    if (ok) return out;
    rs_free(out);
    return NULL;
}

/* The forward calls while they are found, in the order of allocations. */
typedef struct call_finder {
    rs_memory_edits *x;
    const rs_frame_traits *traits;
    const parted_stack *parts; /* by stack */
    uint32_t *seen;            /* by number: the call that had it last + 1 */
    uint32_t previous;         /* the stack of the allocation before */
    size_t n, capacity;
} call_finder;

/* The next frame of Python of a stack, from place *at inwards to place `to`; RS_NO_ROW: there is none. */
static uint32_t next_inwards(const rs_frame_traits *traits, const rs_stack *stack, uint32_t *at, uint32_t to)
{
    while (*at > to) {
        uint32_t frame = traits->snapshot->stack_frames[stack->first + --*at];
        if (traits->of_frame[frame] & RS_FRAME_PYTHON) return frame;
    }
    return RS_NO_ROW;
}

/* Whether the allocation before was made by the same line of the same callers, or by what that line calls. Frames of the
 * interpreter differ from call to call. */
static bool is_under_same_line(const call_finder *f, uint32_t stack)
{
    const rs_snapshot *s = f->traits->snapshot;
    if (f->previous == RS_NO_STACK) return false;
    const rs_stack *now = &s->stacks[stack], *before = &s->stacks[f->previous];
    uint32_t i = now->n, k = before->n, frame;
    while ((frame = next_inwards(f->traits, now, &i, f->parts[stack].own)) != RS_NO_ROW)
        if (next_inwards(f->traits, before, &k, 0) != frame) return false;
    return true;
}

/* A call ends where its work begins again, or where the backward pass has begun with it. */
static bool take_allocation(call_finder *f, size_t at)
{
    rs_memory_edits *x = f->x;
    const rs_life *life = &x->history->lives[at];
    if (life->stack == RS_NO_STACK) {
        f->previous = RS_NO_STACK;
        return true;
    }
    uint32_t *seen = &f->seen[f->parts[life->stack].number];
    bool repeats = f->n && *seen == f->n && !is_under_same_line(f, life->stack);
    f->previous = life->stack;
    if (!(x->kind[at] & IS_FORWARD) || !fits(x, RS_MEMORY_RECOMPUTE, life)) return true;
    if (!f->n || repeats || x->calls[f->n - 1].back <= life->from)
        if (!RS_PUSH(x->calls, f->n, f->capacity, (rs_forward_call){.back = RS_NEVER})) return false;
    rs_forward_call *call = &x->calls[f->n - 1];
    *seen = (uint32_t)f->n;
    call->end = life->from;
    call->last = (uint32_t)at;
    if (!(x->kind[at] & IS_ACTIVATION)) return true;
    if (life->asked < call->back) call->back = life->asked;
    call->size = rs_add_sat(call->size, life->size);
    x->call[at] = (uint32_t)f->n;
    return true;
}

static rs_status find_calls(const rs_frame_traits *traits, rs_memory_edits *x, rs_error *err)
{
    const rs_history *h = x->history;
    parted_stack *parts = part_stacks(traits);
    call_finder f = {.x = x, .traits = traits, .parts = parts, .previous = RS_NO_STACK};
    x->call = rs_calloc(h->n_lives + 1, sizeof *x->call);
    f.seen = rs_calloc(traits->snapshot->n_stacks + 2, sizeof *f.seen);
    bool ok = parts && x->call && f.seen;
    for (size_t i = 0; ok && i < h->n_lives; i++)
        if (h->lives[i].from) ok = take_allocation(&f, i);
    x->n_calls = f.n;
    x->largest = 0;
    for (size_t i = 1; ok && i < f.n; i++)
        if (x->calls[i].back == RS_NEVER && x->calls[i].size > x->calls[x->largest].size) x->largest = i;
    rs_free_all(parts, f.seen);
    return ok ? RS_OK : rs_fail_nomem(err, "forward calls");
}

/* ---- annotations ------------------------------------------------------------------------------------------------- */

static rs_status find_ends(rs_memory_edits *x, rs_error *err)
{
    const rs_history *h = x->history;
    rs_open_notes notes;
    rs_status status = rs_open_notes_make(h->snapshot, h->device->number, &notes, err);
    x->early = rs_malloc((h->n_lives + 1) * sizeof *x->early);
    if (status == RS_OK && !x->early) status = rs_fail_nomem(err, "annotations");
    for (size_t i = 0; status == RS_OK && i < h->n_lives; i++) {
        const rs_life *life = &h->lives[i];
        int64_t made = life->from ? rs_event_time(h, life->from - 1) : RS_NO_TIME, end = RS_NO_TIME;
        x->early[i] = RS_NEVER;
        if (made != RS_NO_TIME && fits(x, RS_MEMORY_EARLY, life)) rs_open_note_at(&notes, made, &end);
        if (end != RS_NO_TIME) x->early[i] = rs_instant_at(h, end) + 1;
    }
    rs_open_notes_clear(&notes);
    return status;
}

rs_status rs_memory_edits_make(const rs_purposes *p, const rs_memory_change_of *asked, rs_memory_edits *out,
                               rs_error *err)
{
    *out = (rs_memory_edits){.history = p->history, .purposes = p, .asked = asked};
    RS_TRY(find_kinds(out, err));
    if (asked->stacks[RS_MEMORY_RECOMPUTE]) RS_TRY(find_calls(p->traits, out, err));
    return asked->stacks[RS_MEMORY_EARLY] ? find_ends(out, err) : RS_OK;
}

void rs_memory_edits_clear(rs_memory_edits *x)
{
    rs_map64_clear(&x->sizes);
    rs_free_all(x->kind, x->call, x->calls, x->early);
    *x = (rs_memory_edits){0};
}

/* ---- the edits ----------------------------------------------------------------------------------------------------- */

/* What a life becomes: it is active in two spans at most. */
typedef struct edited_life {
    uint32_t from[2], until[2];
    int64_t size;
} edited_life;

/* The instant at which the backward pass begins with a call; at most: with the one after it, whose turn is before. */
static uint32_t back_of(const rs_memory_edits *x, size_t call, rs_memory_bound bound)
{
    uint32_t back = x->calls[call].back;
    if (bound != RS_BOUND_MOST || call + 1 >= x->n_calls) return back;
    uint32_t before = x->calls[call + 1].back;
    return before < back && before > x->calls[call + 1].end ? before : back;
}

static void recompute(const rs_memory_edits *x, rs_memory_bound bound, size_t at, edited_life *e)
{
    const rs_life *life = &x->history->lives[at];
    if (!x->call[at]) return;
    size_t of = x->call[at] - 1;
    const rs_forward_call *call = &x->calls[of];
    bool alone = bound == RS_BOUND_LEAST;
    uint32_t end = alone ? life->from + 1 : call->end + 1, back = alone ? life->asked : back_of(x, of, bound);
    if (!alone && call->last == at) return;
    if (bound == RS_BOUND_MOST && back == RS_NEVER && of == x->largest)
        return; /* its backward pass is to come */
    if (back <= end || life->until <= end) return;
    e->until[0] = end;
    if (life->asked == RS_NEVER) return; /* it waits for a backward pass that was not recorded */
    e->from[1] = back - 1;
    e->until[1] = life->until;
}

static int64_t scaled(int64_t size, double factor)
{
    double v = (double)size * factor;
    return rs_int_near(v);
}

static int64_t resize(const rs_memory_edits *x, unsigned mask, rs_memory_bound bound, uint8_t kind,
                      int64_t size)
{
    static const uint8_t grows[] = {[RS_BOUND_NONE] = GROWS | MAY_GROW,
                                    [RS_BOUND_LEAST] = GROWS | MAY_GROW | MAY_NOT_GROW,
                                    [RS_BOUND_MOST] = GROWS};
    uint8_t divided = IS_STATE | (bound == RS_BOUND_MOST ? 0 : IS_OF_STEP);
    if (mask & 1U << RS_MEMORY_BATCH && kind & grows[bound]) size = scaled(size, x->asked->batch);
    if (mask & 1U << RS_MEMORY_SHARD && kind & divided)
        size = size / x->asked->shard + (size % x->asked->shard != 0);
    return size;
}

static edited_life edit_life(const rs_memory_edits *x, unsigned mask, rs_memory_bound bound, size_t at)
{
    const rs_life *life = &x->history->lives[at];
    edited_life e = {.from = {life->from, 0}, .until = {life->until, 0}, .size = life->size};
    if (mask & 1U << RS_MEMORY_WITHOUT_SITES && fits(x, RS_MEMORY_WITHOUT_SITES, life))
        return (edited_life){.size = 0};
    if (mask & 1U << RS_MEMORY_RECOMPUTE) recompute(x, bound, at, &e);
    if (mask & 1U << RS_MEMORY_EARLY && (bound == RS_BOUND_LEAST || !(x->kind[at] & IS_ACTIVATION))) {
        uint32_t end = x->early[at] > life->from ? x->early[at] : life->from + 1;
        if (end < e.until[0]) e.until[0] = end;
        if (e.from[1] >= end) e.until[1] = e.from[1] = 0;
    }
    e.size = resize(x, mask, bound, x->kind[at], life->size);
    return e;
}

static bool is_active(const edited_life *e, uint32_t instant)
{
    return (e->from[0] <= instant && instant < e->until[0]) ||
           (e->from[1] <= instant && instant < e->until[1]);
}

/* Adds a life to the differences from each instant to the next; the last of them is never looked at. */
static void add_life(const edited_life *e, uint32_t n, int64_t *difference)
{
    for (int k = 0; k < 2; k++) {
        if (e->from[k] >= e->until[k]) continue;
        int64_t *from = &difference[e->from[k]], *until = &difference[e->until[k] > n ? n + 1 : e->until[k]];
        *from = rs_add_sat(*from, e->size);
        *until = rs_sub_sat(*until, e->size);
    }
}

/* What an allocation that failed would have asked for: it is judged as one that stays. */
static int64_t request_of(const rs_memory_edits *x, unsigned mask, rs_memory_bound bound, uint32_t event)
{
    const rs_life life = {.stack = rs_event_stack(x->history, event),
                          .size = rs_event_size(x->history, event),
                          .from = event + 1,
                          .asked = RS_NEVER,
                          .until = RS_NEVER};
    if (mask & 1U << RS_MEMORY_WITHOUT_SITES && fits(x, RS_MEMORY_WITHOUT_SITES, &life)) return 0;
    return resize(x, mask, bound, kind_of(x, &life), life.size);
}

static void find_peak(const rs_memory_edits *x, unsigned mask, rs_memory_bound bound,
                      const int64_t *difference, const rs_instants *spans, size_t n_spans, rs_edited *out)
{
    const rs_history *h = x->history;
    int64_t now = 0;
    bool first = true;
    for (uint32_t i = 0, at = 0; at < n_spans; i++) {
        now = rs_add_sat(now, difference[i]);
        if (i && rs_event_action(h, i - 1) == RS_SNAPSHOT_OOM) {
            int64_t floor = rs_add_sat(now, request_of(x, mask, bound, i - 1));
            if (floor > out->floor) out->floor = floor;
        }
        if (i < spans[at].first) continue;
        if (first || now > out->peak) {
            out->peak = now;
            out->instant = i;
            first = false;
        }
        if (i == spans[at].last) at++;
    }
    if (out->peak > out->floor) out->floor = out->peak;
}

rs_status rs_memory_edited(const rs_memory_edits *x, unsigned mask, rs_memory_bound bound,
                           const rs_instants *spans, size_t n_spans, uint32_t at, rs_edited *out,
                           rs_error *err)
{
    const rs_history *h = x->history;
    RS_LOCAL int64_t *difference = rs_calloc((size_t)h->n + 2, sizeof *difference);
    *out = (rs_edited){0};
    if (!difference) return rs_fail_nomem(err, "edits");
    for (size_t i = 0; i < h->n_lives; i++) {
        const rs_life *life = &h->lives[i];
        edited_life e = edit_life(x, mask, bound, i);
        add_life(&e, h->n, difference);
        int64_t before = rs_life_is_active(life, at) ? life->size : 0, after = is_active(&e, at) ? e.size : 0;
        out->removed = rs_add_sat(out->removed, rs_sub_sat(before, after));
        out->blocks +=
            e.size != life->size || e.until[0] != life->until || e.from[0] != life->from || e.until[1];
    }
    find_peak(x, mask, bound, difference, spans, n_spans, out);
    return RS_OK;
}
