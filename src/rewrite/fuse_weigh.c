/* What an event is worth to whoever looks at the trace.
 *
 * A weight is a kind (tier) and, within it, a duration on a logarithmic scale of 128 steps an octave. So two
 * bytes a row are all that stays of a rank, and one number decides for all ranks alike. */
#include <stdio.h>
#include <string.h>

#include "base/keymap.h"
#include "base/memory.h"
#include "analysis/analysis.h"
#include "base/interval.h"
#include "base/search.h"
#include "trace/selection.h"
#include "rewrite/fuse_internal.h"

/* A kind that is left out first comes first. */
enum tier { OUTSIDE, LITTLE, PYTHON, HOST, ANNOTATION, GPU, FRAME, N_TIERS };
static const char *const tier_names[N_TIERS] = {
    [LITTLE] = "counters, instants and other arrows",
    [PYTHON] = "Python functions",
    [HOST] = "host events",
    [ANNOTATION] = "annotations",
    [GPU] = "GPU work with its launches",
};
#define TIER_BITS 13
#define OCTAVE 7 /* bits */

uint16_t rs_fuse_weight(unsigned tier, int64_t ns)
{
    unsigned place = 0;
    if (ns > 0) {
        unsigned octave = 63u - (unsigned)__builtin_clzll((uint64_t)ns);
        uint64_t part =
            octave >= OCTAVE ? (uint64_t)ns >> (octave - OCTAVE) : (uint64_t)ns << (OCTAVE - octave);
        place = (octave << OCTAVE | (unsigned)(part & ((1u << OCTAVE) - 1))) + 1;
    }
    return (uint16_t)(tier << TIER_BITS | place);
}

int64_t rs_fuse_weight_ns(uint16_t weight)
{
    unsigned place = weight & ((1u << TIER_BITS) - 1);
    if (place == 0) return 0;
    unsigned octave = (place - 1) >> OCTAVE;
    uint64_t part = (1u << OCTAVE) | ((place - 1) & ((1u << OCTAVE) - 1));
    return (int64_t)(octave >= OCTAVE ? part << (octave - OCTAVE) : part >> (OCTAVE - octave));
}

/* ---- one rank
 * ----------------------------------------------------------------------------------------------- */

typedef struct weighing {
    rs_trace *trace;
    const rs_events *e;
    const rs_work *work;
    const rs_step *steps;
    size_t n_steps;
    bool all; /* nothing is left out by steps or a window */
    rs_selector selector;
    int64_t from, to;  /* the time of the wanted steps or the window, and of their work */
    rs_keymap arrows;  /* weight by correlation */
    bool arrows_tell;  /* some arrow has the correlation of a piece of work */
    uint16_t *weights; /* by index of the row in the rank */
} weighing;

size_t rs_fuse_index_of(const rs_trace *t, uint32_t row)
{
    if (!t->rows) return row;
    size_t low;
    RS_SEARCH(low, t->n_rows, t->rows[low] < row);
    return low;
}

static void raise_to(uint16_t *weight, uint16_t least)
{
    if (*weight < least) *weight = least;
}

static void widen(weighing *w, int64_t from, int64_t to)
{
    if (from < w->from) w->from = from;
    if (to > w->to) w->to = to;
}

static rs_status find_window(weighing *w, rs_error *err)
{
    w->from = INT64_MIN;
    w->to = INT64_MAX;
    rs_status status = rs_trace_selector(w->trace, &w->selector, err);
    const rs_selection *s = w->selector.selection;
    w->all = !s;
    if (w->all) return status;
    w->from = INT64_MAX;
    w->to = INT64_MIN;
    for (size_t i = 0; s->by_step && status == RS_OK && i < w->n_steps; i++)
        if (rs_selects_step(&w->selector, &w->steps[i])) widen(w, w->steps[i].start, w->steps[i].end);
    if (s->by_window && !s->by_step)
        widen(w, rs_add_sat(s->origin, s->from), rs_add_sat(s->origin, rs_sub_sat(s->to, 1)));
    for (size_t i = 0; status == RS_OK && i < w->work->n; i++) widen(w, w->work->start[i], w->work->end[i]);
    return status;
}

/* GPU work and the calls that launched it. work holds only that of the wanted steps. */
static rs_status weigh_work(weighing *w, rs_error *err)
{
    const rs_work *work = w->work;
    int64_t least = INT64_MAX, greatest = INT64_MIN;
    rs_cursor cursor = rs_cursor_of(w->e, RS_COL_CORRELATION);
    for (size_t i = 0; i < work->n; i++) {
        int64_t id = rs_cursor_int(&cursor, work->row[i], -1);
        if (id < 0) continue;
        if (id < least) least = id;
        if (id > greatest) greatest = id;
    }
    if (!rs_keymap_init(&w->arrows, least, greatest, work->n)) return rs_fail_nomem(err, "correlations");
    cursor = rs_cursor_of(w->e, RS_COL_CORRELATION);
    for (size_t i = 0; i < work->n; i++) {
        uint16_t weight = rs_fuse_weight(GPU, work->end[i] - work->start[i]);
        int64_t id = rs_cursor_int(&cursor, work->row[i], -1);
        raise_to(&w->weights[rs_fuse_index_of(w->trace, work->row[i])], weight);
        if (work->launch[i] != RS_NO_ROW)
            raise_to(&w->weights[rs_fuse_index_of(w->trace, work->launch[i])], weight);
        if (id < 0) continue;
        uint32_t known = rs_keymap_get(&w->arrows, id);
        if ((known == RS_KEYMAP_NONE || known < weight) && !rs_keymap_put(&w->arrows, id, weight))
            return rs_fail_nomem(err, "correlations");
    }
    return RS_OK;
}

static bool in_window(const weighing *w, uint32_t row)
{
    return w->all || (w->e->start[row] >= w->from && w->e->start[row] <= w->to);
}

static uint16_t weight_of_flow(const weighing *w, rs_cursor *ids, uint32_t row)
{
    uint32_t weight = rs_keymap_get(&w->arrows, rs_cursor_int(ids, row, -1));
    if (weight != RS_KEYMAP_NONE) return (uint16_t)weight;
    /* an arrow to nothing, unless the file does not say what belongs to what */
    return in_window(w, row) ? rs_fuse_weight(w->arrows_tell ? LITTLE : GPU, 0) : OUTSIDE;
}

static uint16_t weight_of(const weighing *w, rs_cursor *ids, uint32_t row)
{
    const rs_events *e = w->e;
    int64_t ns = e->duration[row] == RS_NO_TIME ? 0 : e->duration[row];
    rs_kind kind = rs_event_kind(e, row);
    if (e->phase[row] == 'M' || e->phase[row] == 0) return rs_fuse_weight(FRAME, 0);
    if (kind == RS_KIND_FLOW) return weight_of_flow(w, ids, row);
    if (rs_kind_is_gpu_work(kind)) return in_window(w, row) && w->all ? rs_fuse_weight(GPU, ns) : OUTSIDE;
    if (kind == RS_KIND_GPU_USER_ANNOTATION || kind == RS_KIND_SYNC || kind == RS_KIND_PROFILER_RANGE)
        return in_window(w, row) ? rs_fuse_weight(kind == RS_KIND_SYNC ? GPU : ANNOTATION, ns) : OUTSIDE;
    if (kind == RS_KIND_SPAN) return in_window(w, row) ? rs_fuse_weight(ANNOTATION, ns) : OUTSIDE;
    if (!rs_event_is_span(e, row)) return in_window(w, row) ? rs_fuse_weight(LITTLE, 0) : OUTSIDE;
    if (!rs_selects_row(&w->selector, row)) return OUTSIDE;
    return rs_fuse_weight(kind == RS_KIND_USER_ANNOTATION   ? ANNOTATION
                          : kind == RS_KIND_PYTHON_FUNCTION ? PYTHON
                                                            : HOST,
                          ns);
}

/* Whether arrows carry the correlation of what they join; tools that merge files may number them again. */
static bool arrows_tell(const weighing *w)
{
    rs_cursor ids = rs_cursor_of(w->e, RS_COL_FLOW_ID);
    for (size_t i = 0; i < w->trace->n_rows; i++) {
        uint32_t row = rs_trace_row(w->trace, i);
        if (rs_event_kind(w->e, row) == RS_KIND_FLOW &&
            rs_keymap_get(&w->arrows, rs_cursor_int(&ids, row, -1)) != RS_KEYMAP_NONE)
            return true;
    }
    return false;
}

static void weigh_rows(weighing *w)
{
    w->arrows_tell = arrows_tell(w);
    rs_cursor ids = rs_cursor_of(w->e, RS_COL_FLOW_ID);
    for (size_t i = 0; i < w->trace->n_rows; i++)
        raise_to(&w->weights[i], weight_of(w, &ids, rs_trace_row(w->trace, i)));
    for (size_t i = 0; i < w->n_steps; i++)
        if (rs_selects_step(&w->selector, &w->steps[i]))
            raise_to(&w->weights[rs_fuse_index_of(w->trace, w->steps[i].row)], rs_fuse_weight(FRAME, 0));
}

rs_status rs_fuse_weigh(rs_trace *trace, uint16_t **weights, rs_error *err)
{
    rs_policy policy = rs_policy_of(RS_COMPAT_NONE);
    weighing w = {.trace = trace, .e = trace->events};
    rs_status status = rs_trace_steps(trace, &w.steps, &w.n_steps, err);
    if (status == RS_OK) status = rs_trace_work(trace, &policy, &w.work, err);
    if (status == RS_OK) status = find_window(&w, err);
    if (status == RS_OK) {
        w.weights = rs_calloc(trace->n_rows + 1, sizeof *w.weights);
        status = w.weights ? weigh_work(&w, err) : rs_fail_nomem(err, "weights");
    }
    if (status == RS_OK) {
        weigh_rows(&w);
        *weights = w.weights;
    } else {
        rs_free(w.weights);
    }
    rs_keymap_clear(&w.arrows);
    return status;
}

/* ---- all ranks
 * ---------------------------------------------------------------------------------------------- */

static void append(char *text, size_t size, const char *more)
{
    size_t used = strlen(text);
    snprintf(text + used, size - used, "%s%s", used ? ", " : "", more);
}

/* "host events shorter than 12.3 us, all Python functions" */
static void describe(const uint64_t *counts, uint32_t least, char *text, size_t size)
{
    text[0] = '\0';
    for (unsigned tier = FRAME - 1; tier > OUTSIDE; tier--) {
        uint32_t first = tier << TIER_BITS, end = (tier + 1) << TIER_BITS;
        uint64_t kept = 0, out = 0;
        char part[120], time[32];
        for (uint32_t weight = first; weight < end; weight++)
            *(weight < least ? &out : &kept) += counts[weight];
        if (!out) continue;
        if (kept)
            snprintf(part, sizeof part, "%s shorter than %s", tier_names[tier],
                     rs_human_time(rs_fuse_weight_ns((uint16_t)least), time));
        else
            snprintf(part, sizeof part, "all %s", tier_names[tier]);
        append(text, size, part);
    }
}

static uint64_t plan_rows(const rs_fuse_plan *plan)
{
    uint64_t n = 0;
    for (size_t i = 0; i < plan->n; i++) n += plan->ranks[i]->n_weights;
    return n;
}

rs_status rs_fuse_choose(rs_fuse_plan *plan, uint64_t max_events, rs_result *result, rs_error *err)
{
    uint64_t *counts = rs_calloc((size_t)N_TIERS << TIER_BITS, sizeof *counts), kept = 0, all = 0;
    if (!counts) return rs_fail_nomem(err, "weights");
    for (size_t i = 0; i < plan->n; i++)
        for (size_t k = 0; k < plan->ranks[i]->n_weights; k++) counts[plan->ranks[i]->weights[k]]++;
    uint32_t end = (uint32_t)N_TIERS << TIER_BITS, least = end, always = (uint32_t)FRAME << TIER_BITS;
    uint32_t lowest = (uint32_t)LITTLE << TIER_BITS; /* not what lies outside the wanted steps */
    for (uint32_t weight = lowest; weight < end; weight++) all += counts[weight];
    while (least > lowest && (least > always || !max_events || kept + counts[least - 1] <= max_events))
        kept += counts[--least];
    /* what nothing was counted for is no boundary: told durations are those of kept events */
    while (least < always && !counts[least]) least++;
    plan->least = (uint16_t)least;
    uint64_t in_steps = 0;
    for (uint32_t weight = lowest; weight < always; weight++) in_steps += counts[weight];
    if (!in_steps && all < plan_rows(plan)) rs_result_note(result, "no event is in the steps asked for");
    if (kept < all) {
        char text[400], n_kept[32], n_all[32];
        describe(counts, least, text, sizeof text);
        rs_result_note(result, "%s of %s events are kept; left out: %s",
                       rs_human_count((int64_t)kept, n_kept), rs_human_count((int64_t)all, n_all), text);
    }
    rs_free(counts);
    return RS_OK;
}
