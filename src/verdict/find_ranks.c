/* Finders: ranks, groups and pipeline stages against others that do the same work. */
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "verdict/levels.h"
#include "base/memory.h"
#include "base/order.h"
#include "base/stats.h"
#include "base/strings.h"
#include "base/try.h"
#include "match/stages.h"
#include "text/numbers.h"

/* What the rank would take, ns. */
static double expected_of(const rs_level *x)
{
    return x->own / x->times;
}

/* What the question about ranks may be off by, us of a step: their own time would be that of their peers, who differ. */
static double doubt_of(const rs_judged *job, const rs_level *x, size_t rank)
{
    return x->doubt * expected_of(x) / 1e3 / (double)rs_judged_steps(job->engine, rank);
}

/* What a rank itself takes: its computation, or its host's time. */
static void select_own_time(rs_expr *s, bool host)
{
    if (host)
        rs_selector_word(s, RS_SELECT_PART, RS_PART_OF_HOST);
    else
        rs_selector_word(s, RS_SELECT_CLASS, RS_CLASS_OF_COMPUTATION);
}

/* ---- ranks that are off together ----------------------------------------------------------------------- */

#define LEAST_GROUP 3 /* ranks of a group that are off together: two of them are two ranks */

typedef struct compared {
    const rs_judged *job;
    rs_levels levels; /* of computation */
    uint8_t *covered; /* by rank: its whole group or stage is slow */
    rs_stages stages;
} compared;

static void clear_compared(compared *c)
{
    rs_levels_clear(&c->levels);
    rs_free(c->covered);
    rs_stages_clear(&c->stages);
}

static bool all_off(const compared *c, const uint32_t *ranks, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (c->covered[ranks[i]] || !c->levels.items[ranks[i]].off) return false;
    return true;
}

/* Stages first: uneven stages are no rank's fault. */
static void cover_stages(compared *c, uint32_t *scratch)
{
    size_t n_ranks = c->job->engine->n_ranks;
    for (uint32_t k = 0; k < c->stages.n_stages; k++) {
        size_t n = 0;
        for (uint32_t r = 0; r < n_ranks; r++)
            if (c->stages.stage[r] == k) scratch[n++] = r;
        if (n < 2 || !all_off(c, scratch, n)) continue;
        for (size_t i = 0; i < n; i++) c->covered[scratch[i]] = 1;
    }
}

typedef struct rank_set {
    uint32_t *ranks; /* indices, ascending */
    size_t n;
    uint32_t meeting; /* one of theirs */
} rank_set;

static const rs_order by_size[] = {RS_FALLING(rank_set, n), RS_RISING(rank_set, meeting)};

static const rs_order by_index[] = {RS_RISING_VALUE(uint32_t)};

/* The sets of ranks that meet of which all are slow, the largest first; block owns the members. */
static rs_status find_groups(compared *c, rank_set **out, size_t *n_out, uint32_t **block, rs_error *err)
{
    const rs_engine *e = c->job->engine;
    size_t n_groups = c->job->reference->n_groups, n = 0, used = 0, room = 0;
    uint8_t *seen = rs_calloc(n_groups + 1, 1);
    *out = rs_malloc((n_groups + 1) * sizeof **out);
    for (size_t k = 0; seen && k < e->n_meetings; k++) {
        uint32_t g = c->job->reference->group[k];
        if (!seen[g]) room += e->coll.instances[e->meetings[k].instance].n;
        seen[g] = 1;
    }
    *block = rs_malloc((room + 1) * sizeof **block);
    if (!seen || !*out || !*block) {
        rs_free(seen);
        return rs_fail_nomem(err, "diagnose");
    }
    memset(seen, 0, n_groups);
    for (size_t k = 0; k < e->n_meetings; k++) {
        const rs_coll_instance *in = &e->coll.instances[e->meetings[k].instance];
        uint32_t g = c->job->reference->group[k], *ranks = *block + used;
        if (seen[g] || in->n < LEAST_GROUP || in->n >= e->n_ranks) continue;
        seen[g] = 1;
        for (uint32_t i = 0; i < in->n; i++) ranks[i] = e->coll.arrivals[in->first + i].rank;
        RS_SORT(ranks, in->n, by_index);
        if (!all_off(c, ranks, in->n)) continue;
        used += in->n;
        (*out)[n++] = (rank_set){ranks, in->n, (uint32_t)k};
    }
    rs_free(seen);
    RS_SORT(*out, n, by_size);
    *n_out = n;
    return RS_OK;
}

#define STALLS 3   /* times what a slow host explains: then its loader stalls */
#define STEADY 0.2 /* of the median: how far apart quartiles over steps are of a loader that does not wait */
#define LOADER_DOUBT 0.5 /* of a gain that hangs on a loader which no other rank's can be compared with */

/* How long each rank loads data in a step, us, and whether that is much the same in all its steps. */
static rs_status loader_of(const rs_judged *job, size_t rank, double *us, bool *steady, rs_error *err)
{
    const size_t n = job->engine->ranks[rank]->n_steps;
    RS_LOCAL int64_t *by_step = rs_calloc(n + 1, sizeof *by_step);
    if (!by_step) return rs_fail_nomem(err, "diagnose");
    *us =
        (double)rs_judged_loader_time(job, rank, by_step) / 1e3 / (double)rs_judged_steps(job->engine, rank);
    const int64_t low = n ? rs_select_number(by_step, n, n / 4) : 0,
                  high = n ? rs_select_number(by_step, n, 3 * n / 4) : 0, middle = rs_median(by_step, n);
    *steady = middle > 0 && (double)(high - low) <= STEADY * (double)middle;
    return RS_OK;
}

/* Whether the data loader of a set of ranks takes longer than that of others as its host does: one that takes much longer stalls, which is
 * a fault of its own. Where only they load, as the first stages of a pipeline do, a steady time is their host's, too, and half of what it would
 * take less is not certain. */
static rs_status loads_slowly(const rs_judged *job, double times, const uint32_t *ranks, size_t n, bool *out,
                              bool *alone, rs_error *err)
{
    size_t n_others = 0, n_own = 0;
    RS_LOCAL double *others = rs_malloc((job->engine->n_ranks + 1) * sizeof *others);
    if (!others) return rs_fail_nomem(err, "diagnose");
    double own = 0;
    bool all_steady = true;
    for (uint32_t r = 0, at = 0; r < job->engine->n_ranks; r++) {
        double us = 0;
        bool steady = false, is_own = at < n && ranks[at] == r;
        at += is_own;
        RS_TRY(loader_of(job, r, &us, &steady, err));
        if (us <= 0) continue; /* of a pipeline some stages load, and others do not */
        if (!is_own) others[n_others++] = us;
        own += is_own ? us : 0;
        n_own += is_own;
        all_steady = all_steady && (!is_own || steady);
    }
    if (n_own) own /= (double)n_own;
    rs_sort_doubles(others, n_others);
    const double usual = n_others ? others[(n_others - 1) / 2] : own / times;
    *out = usual > 0 && own >= usual * (1 + times) / 2 && own <= usual * STALLS * times &&
           (n_others || all_steady);
    *alone = !n_others;
    return RS_OK;
}

/* Their loaders, too, where these are slow as their host is. */
static rs_status scale_loaders(const rs_judged *job, rs_candidate *c, double times, const uint32_t *ranks,
                               const int64_t *numbers, size_t n, rs_error *err)
{
    bool loads = false, alone = false;
    rs_status status = loads_slowly(job, times, ranks, n, &loads, &alone, err);
    if (status != RS_OK) rs_what_if_clear(&c->edits);
    if (status != RS_OK || !loads) return status;
    rs_expr *s = rs_what_if_scale_by(&c->edits, rs_short_factor(1 / times));
    rs_selector_word(s, RS_SELECT_PART, RS_PART_OF_LOADER);
    rs_selector_numbers(s, RS_SELECT_RANK, numbers, n);
    if (alone) c->share = LOADER_DOUBT;
    return RS_OK;
}

/* A set of ranks that are off together, as one case: one factor for all of them. name: of their group; NULL: it has none. */
static rs_status add_set(const rs_judged *job, const rs_fault_kind *fault, const rs_levels *levels,
                         const char *name, const uint32_t *ranks, size_t n, bool host, rs_candidates *out,
                         rs_error *err)
{
    double own = 0, expected = 0;
    rs_candidate one = rs_candidate_of(fault, RS_VERDICT_FINDING);
    for (size_t i = 0; i < n; i++) {
        const rs_level *x = &levels->items[ranks[i]];
        double doubt = doubt_of(job, x, ranks[i]);
        own += x->own;
        expected += expected_of(x);
        if (doubt > one.doubt) one.doubt = doubt;
        if (x->doubt > one.off_by) one.off_by = x->doubt;
    }
    if (own <= 0) return RS_OK;
    bool ok = rs_accuse_ranks(&one, job, RS_CULPRIT_GROUP, -1, name, ranks, n, out);
    one.facts.times = own / expected;
    one.excess = (own - expected) / 1e3 / (double)n / (double)rs_judged_steps(job->engine, ranks[0]);
    rs_expr *s = rs_what_if_scale_by(&one.edits, rs_short_factor(expected / own));
    select_own_time(s, host);
    if (ok) rs_selector_numbers(s, RS_SELECT_RANK, one.culprits->ranks, n);
    if (ok && host) RS_TRY(scale_loaders(job, &one, one.facts.times, ranks, one.culprits->ranks, n, err));
    return rs_candidate_add(out, &one, ok, err);
}

/* Compares computation, and covers sets of which all are slow; with a fault, its groups become candidates. */
static rs_status compare(const rs_judged *job, const rs_fault_kind *fault, rs_candidates *out, compared *c,
                         rs_error *err)
{
    size_t n = job->engine->n_ranks, n_sets = 0;
    rank_set *sets = NULL;
    uint32_t *block = NULL, *scratch = rs_malloc((n + 1) * sizeof *scratch);
    *c = (compared){.job = job, .covered = rs_calloc(n + 1, 1)};
    rs_status status = c->covered && scratch ? RS_OK : rs_fail_nomem(err, "diagnose");
    if (status == RS_OK) status = rs_levels_find(job, false, &c->levels, err);
    if (status == RS_OK) status = rs_stages_find(&job->engine->coll, &c->stages, err);
    if (status == RS_OK) {
        cover_stages(c, scratch);
        status = find_groups(c, &sets, &n_sets, &block, err);
    }
    for (size_t i = 0; status == RS_OK && i < n_sets; i++) {
        if (!all_off(c, sets[i].ranks, sets[i].n)) continue; /* part of a larger one */
        for (size_t k = 0; k < sets[i].n; k++) c->covered[sets[i].ranks[k]] = 1;
        const char *name = rs_meeting_group(job->engine, sets[i].meeting);
        if (fault) status = add_set(job, fault, &c->levels, name, sets[i].ranks, sets[i].n, false, out, err);
    }
    rs_free(sets);
    rs_free(block);
    rs_free(scratch);
    return status;
}

/* ---- one rank ------------------------------------------------------------------------------------------ */

#define CAPPED 0.97    /* of its peers' clock, or power limit: a GPU that has no more is held back */
#define AT_LIMIT 0.95  /* of its power limit: what draws so much would draw more */
#define LESS_POWER 0.9 /* of its peers': worth a word, though many causes do that */

/* The median of the peers' values of a member of their skeletons that is known; NaN: none is. */
static double peers_median(const rs_judged *job, size_t rank, size_t member, double *scratch)
{
    size_t n = 0;
    for (size_t r = 0; r < job->engine->n_ranks; r++) {
        double value;
        memcpy(&value, (const char *)job->engine->ranks[r] + member, sizeof value);
        if (r != rank && job->reference->role[r] == job->reference->role[rank] && !isnan(value))
            scratch[n++] = value;
    }
    rs_sort_doubles(scratch, n);
    return n ? scratch[n / 2] : (double)NAN;
}

/* What counters say of a rank's GPU and, as the median, of its peers'. NaN: not known. */
typedef struct state_of_gpu {
    double clock, power, limit;
} state_of_gpu;

/* A clock below that of its peers is the cause where it explains half of what the rank takes longer. */
static void say_clock(const state_of_gpu *own, const state_of_gpu *peers, double times, rs_text *text)
{
    bool explains = peers->clock / own->clock - 1 >= (times - 1) / 2;
    rs_text_printf(text, "%s its GPU runs at %s MHz and theirs at %s MHz", explains ? " because" : ";",
                   RS_FIXED(own->clock, 0), RS_FIXED(peers->clock, 0));
    if (!isnan(own->power) && !isnan(peers->power))
        rs_text_printf(text, ", drawing %s W and %s W", RS_FIXED(own->power, 0), RS_FIXED(peers->power, 0));
}

/* Without clocks, power is the cause where it is at a limit that its peers do not have. */
static void say_power(const state_of_gpu *own, const state_of_gpu *peers, rs_text *text)
{
    bool capped = own->power >= AT_LIMIT * own->limit && own->limit <= CAPPED * peers->limit;
    if (capped)
        rs_text_printf(
            text,
            " because its power is capped: its GPU draws %s W of a limit of %s W, and theirs %s W of %s W",
            RS_FIXED(own->power, 0), RS_FIXED(own->limit, 0), RS_FIXED(peers->power, 0),
            RS_FIXED(peers->limit, 0));
    else if (own->power <= LESS_POWER * peers->power)
        rs_text_printf(text, "; its GPU draws %s W and theirs %s W", RS_FIXED(own->power, 0),
                       RS_FIXED(peers->power, 0));
}

static bool put_state(rs_candidate *c, const rs_judged *job, size_t rank, rs_candidates *out)
{
    const rs_skeleton *s = job->engine->ranks[rank];
    RS_LOCAL double *scratch = rs_malloc((job->engine->n_ranks + 1) * sizeof *scratch);
    if (!scratch) return false;
    const state_of_gpu own = {s->clock_mhz, s->power_w, s->power_limit_w};
    const state_of_gpu peers = {peers_median(job, rank, offsetof(rs_skeleton, clock_mhz), scratch),
                                peers_median(job, rank, offsetof(rs_skeleton, power_w), scratch),
                                peers_median(job, rank, offsetof(rs_skeleton, power_limit_w), scratch)};
    rs_text text = {0};
    if (own.clock <= CAPPED * peers.clock)
        say_clock(&own, &peers, c->facts.times, &text);
    else if (isnan(own.clock) || isnan(peers.clock))
        say_power(&own, &peers, &text);
    if (!text.n) return true;
    bool ok =
        rs_text_get(&text) && (c->facts.known = rs_arena_strndup(&out->arena, rs_text_get(&text), text.n));
    rs_text_clear(&text);
    return ok;
}

#define IN_ONE_PLACE 0.7 /* of what a host takes longer: then it is asked about that place alone */

/* Where a few long stretches make most of what a rank's host takes longer than its peers' (one place of the program, step
 * by step), only those are scaled, to what the same stretches take elsewhere: all of its time scaled by one factor would
 * leave a part of them, and take from places that are not slow. *ns, *longer: what they take elsewhere; what no other stretch
 * takes. */
static rs_status find_place(const rs_judged *job, const rs_level *x, size_t r, int64_t *ns, int64_t *longer,
                            bool *found, rs_error *err)
{
    const rs_skeleton *s = job->engine->ranks[r];
    const int64_t *peers = job->reference->peers.edge + job->engine->edge_base[r];
    RS_LOCAL int64_t *usual = rs_malloc((s->n + 1) * sizeof *usual);
    size_t n = 0;
    double over = 0;
    *longer = 0;
    if (!usual) return rs_fail_nomem(err, "diagnose");
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t i = 1; i < s->n; i++) {
            int64_t own = rs_judged_host_time(job, r, i),
                    other = own > 0 ? peers[rs_skeleton_first(s, i)] : 0;
            if (own <= 0 || other == RS_NO_EDGE || (s->n_steps && rs_skeleton_step_of(s, i) < 0)) continue;
            if (other < 0) other = 0;
            if (!pass && other > own / 2 && own > *longer) *longer = own;
            if (!pass || own <= *longer) continue;
            usual[n++] = other;
            over += (double)(own - other);
        }
    *ns = n ? rs_select_number(usual, n, n / 2) : 0;
    *found = n >= rs_judged_steps(job->engine, r) / 2 && over >= IN_ONE_PLACE * (x->own - expected_of(x));
    return RS_OK;
}

static rs_status add_off(const rs_judged *job, const rs_fault_kind *fault, const rs_level *x, size_t r,
                         bool host, rs_candidates *out, rs_error *err)
{
    rs_candidate c = rs_candidate_of(fault, RS_VERDICT_FINDING);
    bool ok = rs_accuse_rank(&c, job, r, out);
    c.facts.times = x->times;
    ok = ok && (host || put_state(&c, job, r, out));
    c.excess = (x->own - expected_of(x)) / 1e3 / (double)rs_judged_steps(job->engine, r);
    c.doubt = doubt_of(job, x, r);
    int64_t ns = 0, longer = 0;
    bool in_one_place = false;
    if (host) RS_TRY(find_place(job, x, r, &ns, &longer, &in_one_place, err));
    rs_expr *s = in_one_place ? rs_what_if_scale_to(&c.edits, ns)
                              : rs_what_if_scale_by(&c.edits, rs_short_factor(1 / x->times));
    if (!in_one_place) c.off_by = x->doubt;
    if (in_one_place) rs_selector_number(s, RS_SELECT_US, RS_OP_GT, longer);
    select_own_time(s, host);
    rs_selector_number(s, RS_SELECT_RANK, RS_OP_EQ, job->rank_of[r]);
    if (host && !in_one_place)
        RS_TRY(scale_loaders(job, &c, x->times, &(uint32_t){(uint32_t)r}, &job->rank_of[r], 1, err));
    return rs_candidate_add(out, &c, ok, err);
}

/* Ranks that are off by much the same hide each other: each alone gains nothing while the others are as slow, and what one adds to
 * the others is all or nothing. Three and more of them are one case: a node, a switch, a version of a driver. Covers them. */
static rs_status add_alike(const rs_judged *job, const rs_fault_kind *fault, const rs_levels *levels,
                           uint8_t *covered, bool host, rs_candidates *out, rs_error *err)
{
    size_t n_ranks = job->engine->n_ranks, n = 0;
    RS_LOCAL uint32_t *ranks = rs_malloc((n_ranks + 1) * sizeof *ranks);
    double most = 1;
    if (!ranks) return rs_fail_nomem(err, "diagnose");
    for (uint32_t r = 0; r < n_ranks; r++)
        if (levels->items[r].off && !covered[r] && levels->items[r].times > most)
            most = levels->items[r].times;
    for (uint32_t r = 0; r < n_ranks; r++)
        if (levels->items[r].off && !covered[r] && levels->items[r].times >= 1 + (most - 1) / 2)
            ranks[n++] = r;
    if (n < LEAST_GROUP) return RS_OK;
    for (size_t i = 0; i < n; i++) covered[ranks[i]] = 1;
    return add_set(job, fault, levels, NULL, ranks, n, host, out, err);
}

static rs_status find_off(const rs_judged *job, const rs_fault_kind *fault, const rs_levels *levels,
                          uint8_t *covered, bool host, rs_candidates *out, const char **lacks, rs_error *err)
{
    size_t n = job->engine->n_ranks;
    RS_TRY(add_alike(job, fault, levels, covered, host, out, err));
    for (size_t r = 0; r < n; r++)
        if (levels->items[r].off && !covered[r])
            RS_TRY(add_off(job, fault, &levels->items[r], r, host, out, err));
    if (!levels->n)
        *lacks = "no two ranks run the same work: there is nothing to compare a rank with";
    else if (levels->n < n)
        *lacks = "some ranks run work that no other rank runs: they have no peers";
    return RS_OK;
}

rs_status rs_find_straggler(const rs_judged *job, const rs_fault_kind *fault, rs_candidates *out,
                            const char **lacks, rs_error *err)
{
    compared c;
    rs_status status = compare(job, NULL, NULL, &c, err);
    if (status == RS_OK) status = find_off(job, fault, &c.levels, c.covered, false, out, lacks, err);
    clear_compared(&c);
    return status;
}

rs_status rs_find_slow_host(const rs_judged *job, const rs_fault_kind *fault, rs_candidates *out,
                            const char **lacks, rs_error *err)
{
    RS_SCOPED(clear_compared) compared c = {.job = job};
    size_t n = job->engine->n_ranks;
    c.covered = rs_calloc(n + 1, 1);
    if (!c.covered) return rs_fail_nomem(err, "diagnose");
    RS_TRY(rs_levels_find(job, true, &c.levels, err));
    RS_TRY(rs_stages_find(&job->engine->coll, &c.stages, err));
    /* what hosts compute differs from stage to stage */
    for (size_t r = 0; c.stages.n_stages == n && rs_judged_on_host(job) && r < n; r++) c.covered[r] = 1;
    return find_off(job, fault, &c.levels, c.covered, true, out, lacks, err);
}

/* ---- load that differs --------------------------------------------------------------------------------- */

#define MOVING                                                                                               \
    0.01 /* share of computation by which the busiest rank of a step is another one than that of all steps, at least */
#define MOVING_OF_HOSTS 0.1 /* the same where hosts compute, which vary more (LEAST_HOST) */

/* Ranks of a role, from step to step: how much more than the mean the busiest of each step has to do, beyond what the
 * busiest of all steps has. */
static double moving_of(const rs_judged *job, const rs_levels *l, size_t from, size_t to)
{
    const rs_engine *e = job->engine;
    double of_steps = 0, all = 0, busiest = 0;
    size_t n_steps = SIZE_MAX;
    for (size_t i = from; i < to; i++)
        if (e->ranks[l->by_role[i].value]->n_steps < n_steps)
            n_steps = e->ranks[l->by_role[i].value]->n_steps;
    for (size_t k = 0; k < n_steps; k++) {
        double most = 0;
        for (size_t i = from; i < to; i++) {
            double x = l->step[e->step_base[l->by_role[i].value] + k];
            if (x > most) most = x;
        }
        of_steps += most;
    }
    for (size_t i = from; i < to; i++) {
        double sum = 0;
        for (size_t k = 0; k < n_steps; k++) sum += l->step[e->step_base[l->by_role[i].value] + k];
        all += sum / (double)(to - from);
        if (sum > busiest) busiest = sum;
    }
    return all > 0 ? (of_steps - busiest) / all : 0;
}

#define OF_STEP                                                                                              \
    0.5 /* of what kernels differ by: a step's level is a mean of many, but what slows all of them does not cancel */

/* What is no more than kernels of one step differ by is everyday variation. */
static double everyday(const rs_judged *job, const rs_levels *l, size_t from, size_t to)
{
    double vary = 0;
    for (size_t i = from; i < to; i++) vary += l->items[l->by_role[i].value].vary / (double)(to - from);
    return rs_judged_on_host(job) ? MOVING_OF_HOSTS : fmax(MOVING, vary);
}

/* Where one rank has more to do than others, or now this one and now that one, nothing is slow: the load is uneven. */
rs_status rs_find_imbalance(const rs_judged *job, const rs_fault_kind *fault, rs_candidates *out,
                            const char **lacks, rs_error *err)
{
    RS_SCOPED(rs_levels_clear) rs_levels levels;
    RS_TRY(rs_levels_find(job, rs_judged_on_host(job), &levels, err));
    double moving = 0, excess = 0, times = 1;
    size_t busiest = SIZE_MAX;
    for (size_t from = 0, to; from < levels.n; from = to) {
        to = rs_levels_role_end(&levels, from);
        const double own = moving_of(job, &levels, from, to), least = everyday(job, &levels, from, to);
        if (own > moving && own >= (rs_judged_on_host(job) ? least : fmax(MOVING, OF_STEP * least)))
            moving = own;
        for (size_t i = from; i < to; i++) {
            size_t r = levels.by_role[i].value;
            const rs_level *x = &levels.items[r];
            double us = (x->own - expected_of(x)) / 1e3 / (double)rs_judged_steps(job->engine, r);
            if (us > excess) excess = us;
            if (!x->slow || x->off || x->low < 1 + (x->times - 1) / 2 || x->times < fmax(times, 1 + least))
                continue;
            busiest = r;
            times = x->times;
        }
    }
    if (!levels.n) *lacks = "no two ranks run the same work: there is nothing to compare a rank with";
    const bool moves = moving > 0;
    if (!moves && busiest == SIZE_MAX) return RS_OK;
    rs_candidate c = rs_candidate_of(fault, RS_VERDICT_FINDING);
    bool ok = moves || rs_accuse_rank(&c, job, busiest, out);
    if (!moves) c.facts.times = times;
    c.facts.pct = 100 * moving;
    c.excess = excess;
    rs_what_if_add(&c.edits, RS_EDIT_BALANCED);
    return rs_candidate_add(out, &c, ok, err);
}

/* ---- groups of ranks ----------------------------------------------------------------------------------- */

rs_status rs_find_late_group(const rs_judged *job, const rs_fault_kind *fault, rs_candidates *out,
                             const char **lacks, rs_error *err)
{
    compared c;
    rs_status status = compare(job, fault, out, &c, err);
    if (job->engine->n_ranks <= LEAST_GROUP)
        *lacks = "the job has too few ranks: groups of three and more are compared";
    clear_compared(&c);
    return status;
}

/* ---- stages -------------------------------------------------------------------------------------------- */

#define OFF_STAGE 1.05   /* times the mean of stages: less is no finding */
#define STAGE_DOUBT 0.15 /* of what is moved: embedding, loss and optimizer stay where they are */

/* A piece of computation, ns: work of a GPU, or where the job has none what its host does; 0: it is none. */
static int64_t computed(const rs_judged *job, size_t rank, uint32_t i, bool on_host)
{
    const rs_skeleton *s = job->engine->ranks[rank];
    if (on_host) return rs_judged_host_time(job, rank, i);
    bool work = rs_skeleton_is_work(s, i) && rs_skeleton_at(s, i)->part == RS_PART_COMPUTE;
    return work ? job->recorded->work[job->engine->node_base[rank] + i] : 0;
}

/* All computation of a rank in a step, ns. */
static double computation_of(const rs_judged *job, size_t rank)
{
    const rs_skeleton *s = job->engine->ranks[rank];
    bool on_host = rs_judged_on_host(job);
    double sum = 0;
    for (uint32_t i = 1; i < s->n; i++)
        if (!s->n_steps || rs_skeleton_step_of(s, i) >= 0) sum += (double)computed(job, rank, i, on_host);
    return sum / (double)rs_judged_steps(job->engine, rank);
}

/* Computation of a stage in a step, us: of its lower middle rank, so that a slow rank does not count. */
static double stage_time(const compared *c, uint32_t stage, int64_t *scratch)
{
    size_t n = 0;
    for (uint32_t r = 0; r < c->job->engine->n_ranks; r++)
        if (c->stages.stage[r] == stage) scratch[n++] = (int64_t)computation_of(c->job, r);
    return (double)rs_select_number(scratch, n, (n - 1) / 2) / 1e3;
}

/* The ranks of a stage (indices) into ranks. */
static size_t ranks_of_stage(const compared *c, uint32_t stage, uint32_t *ranks)
{
    size_t n = 0;
    for (uint32_t r = 0; r < c->job->engine->n_ranks; r++)
        if (c->stages.stage[r] == stage) ranks[n++] = r;
    return n;
}

static void scale_stage(const compared *c, uint32_t stage, double factor, int64_t *scratch, rs_what_if *out)
{
    size_t n = 0;
    rs_expr *s = rs_what_if_scale_by(out, rs_short_factor(factor));
    for (uint32_t r = 0; r < c->job->engine->n_ranks; r++)
        if (c->stages.stage[r] == stage) scratch[n++] = c->job->rank_of[r];
    select_own_time(s, rs_judged_on_host(c->job));
    rs_selector_numbers(s, RS_SELECT_RANK, scratch, n);
}

/* A piece of computation of a stage. */
typedef struct kernel {
    uint64_t name; /* a hash of its text */
    int64_t ns;
    uint32_t stage;
} kernel;

/* Of a stage's computation: names of which every stage has as many kernels say how much slower it is. */
#define ENOUGH_ALIKE 0.1

/* What stages have in common, ns over all ranks and steps: names of which every stage has as many kernels, and of other names what the stage
 * with the fewest has, on others as much longer as the former are. What only some have (embedding, loss) stays with them. */
typedef struct common_work {
    double *all, *shared; /* by stage: all of it; what every stage has */
    double *
        middle; /* of names of which all have as many, as if every kernel took the lower median of its name: a slow rank of several does not count */
    double *alike,
        *fewest; /* by stage: of names of which all have as many; of others where it has the fewest */
    double
        slower; /* how many times as long the kernels of the worst stage take as those of the same name elsewhere */
} common_work;

static void clear_common(common_work *w)
{
    rs_free_all(w->all, w->shared, w->middle, w->alike, w->fewest);
}

static rs_status list_kernels(const compared *c, kernel **out, size_t *n, rs_error *err)
{
    const rs_engine *e = c->job->engine;
    bool on_host = rs_judged_on_host(c->job);
    kernel *all = *out = rs_malloc((e->n_nodes + 1) * sizeof *all);
    *n = 0;
    if (!all) return rs_fail_nomem(err, "diagnose");
    for (size_t r = 0; r < e->n_ranks; r++) {
        const rs_skeleton *s = e->ranks[r];
        RS_LOCAL uint64_t *names = rs_pool_hashes(&s->pool);
        if (!names) return rs_fail_nomem(err, "diagnose");
        for (uint32_t i = 1; i < s->n; i++) {
            const rs_skeleton_label *l = rs_skeleton_at(s, i);
            const uint32_t name = on_host ? l->operator_name : l->name;
            int64_t ns = computed(c->job, r, i, on_host);
            if (name == RS_NO_STRING || ns <= 0) continue;
            all[(*n)++] = (kernel){names[name], ns, c->stages.stage[r]};
        }
    }
    return RS_OK;
}

/* The kernels of one name, [*at, end) of all: by stage how many, and their sum. Returns their median on the stage. */
static double take_stage(const kernel *all, size_t n, size_t *at, uint64_t name, uint32_t stage,
                         size_t *count, double *sum)
{
    const size_t from = *at;
    *sum = 0;
    for (; *at < n && all[*at].name == name && all[*at].stage == stage; ++*at) *sum += (double)all[*at].ns;
    *count = *at - from;
    const size_t middle = *count ? from + (*count - 1) / 2 : from;
    return *count ? (double)all[middle].ns : 0;
}

/* Adds one name, from *at on. own, other: by medians, what the worst stage takes and what it would take elsewhere. */
static void add_name(common_work *w, const kernel *all, size_t n, size_t *at, size_t n_stages, uint32_t worst,
                     double *sums, double *middles, double *own, double *other)
{
    const uint64_t name = all[*at].name;
    size_t least = SIZE_MAX, most = 0, n_have = 0, n_worst = 0;
    uint32_t fewest = 0;
    double elsewhere = 0, median_worst = 0;
    for (uint32_t k = 0; k < n_stages; k++) {
        size_t count;
        double median = take_stage(all, n, at, name, k, &count, &sums[k]);
        w->all[k] += sums[k];
        middles[k] = (double)count * median;
        if (count < least) fewest = k;
        if (count < least) least = count;
        if (count > most) most = count;
        if (k == worst) {
            n_worst = count;
            median_worst = median;
        } else if (count) {
            elsewhere += median;
            n_have++;
        }
    }
    for (uint32_t k = 0; least == most && k < n_stages; k++) {
        w->alike[k] += sums[k];
        w->middle[k] += middles[k];
    }
    if (least != most) w->fewest[fewest] += sums[fewest];
    if (!n_worst || !n_have) return;
    *own += (double)n_worst * median_worst;
    *other += (double)n_worst * elsewhere / (double)n_have;
}

static rs_status find_common(const compared *c, uint32_t worst, common_work *w, rs_error *err)
{
    static const rs_order by_name[] = {RS_RISING(kernel, name), RS_RISING(kernel, stage),
                                       RS_RISING(kernel, ns)};
    const size_t n_stages = c->stages.n_stages;
    RS_LOCAL kernel *all = NULL;
    RS_LOCAL double *sums = rs_malloc((n_stages + 1) * sizeof *sums),
                    *middles = rs_malloc((n_stages + 1) * sizeof *middles);
    size_t n;
    double own = 0, other = 0, alike = 0;
    w->all = rs_calloc(n_stages + 1, sizeof *w->all);
    w->shared = rs_calloc(n_stages + 1, sizeof *w->shared);
    w->middle = rs_calloc(n_stages + 1, sizeof *w->middle);
    w->alike = rs_calloc(n_stages + 1, sizeof *w->alike);
    w->fewest = rs_calloc(n_stages + 1, sizeof *w->fewest);
    if (!sums || !middles || !w->all || !w->shared || !w->middle || !w->alike || !w->fewest)
        return rs_fail_nomem(err, "diagnose");
    RS_TRY(list_kernels(c, &all, &n, err));
    RS_SORT(all, n, by_name);
    for (size_t at = 0; at < n;) add_name(w, all, n, &at, n_stages, worst, sums, middles, &own, &other);
    w->slower = other > 0 ? own / other : 1;
    for (uint32_t k = 0; k < n_stages; k++) alike += k == worst ? 0 : w->alike[k] / (double)(n_stages - 1);
    if (alike <= 0 || w->alike[worst] < ENOUGH_ALIKE * w->all[worst]) return RS_OK;
    w->slower = w->alike[worst] / alike;
    for (uint32_t k = 0; k < n_stages; k++) {
        w->shared[k] = w->alike[k];
        for (uint32_t b = 0; b < n_stages; b++)
            w->shared[k] += w->alike[b] > 0 ? w->fewest[b] * w->alike[k] / w->alike[b] : 0;
    }
    return RS_OK;
}

/* What each stage's computation is multiplied by so that all are even. Where kernels of a stage are slower, what all stages have in
 * common takes the mean on each; where it has more to do, all of it does. */
static double even_factor(const compared *c, uint32_t stage, const common_work *w, double mean,
                          int64_t *scratch)
{
    double shared = 0, time = stage_time(c, stage, scratch);
    if (w->slower < OFF_STAGE || w->shared[stage] <= 0) return time > 0 ? mean / time : 1;
    for (uint32_t k = 0; k < c->stages.n_stages; k++) shared += w->shared[k] / (double)c->stages.n_stages;
    return w->all[stage] > 0 ? 1 + (shared - w->shared[stage]) / w->all[stage] : 1;
}

/* The stage whose kernels take the longest, of those that all stages have; *times: as long as on the mean of others. */
static uint32_t slowest_kernels(const common_work *w, size_t n_stages, double *times)
{
    double sum = 0;
    uint32_t slowest = 0;
    for (uint32_t k = 0; k < n_stages; k++) {
        sum += w->middle[k];
        if (w->middle[k] > w->middle[slowest]) slowest = k;
    }
    const double others = (sum - w->middle[slowest]) / (double)(n_stages - 1);
    const bool enough = others > 0 && w->alike[slowest] >= ENOUGH_ALIKE * w->all[slowest];
    *times = enough ? w->middle[slowest] / others : 1;
    return slowest;
}

/* What one stage gives away others get. excess: us of a step that are too much on that stage. facts: what is said of it. */
static rs_status add_stage(const compared *c, const rs_fault_kind *fault, uint32_t stage,
                           rs_verdict_kind kind, const common_work *w, double mean, double excess,
                           rs_facts facts, int64_t *scratch, rs_candidates *out, rs_error *err)
{
    const size_t n = c->stages.n_stages;
    rs_candidate one = rs_candidate_of(fault, kind);
    for (uint32_t k = 0; k < n; k++)
        scale_stage(c, k, even_factor(c, k, w, mean, scratch), scratch, &one.edits);
    uint32_t *ranks = rs_malloc((c->job->engine->n_ranks + 1) * sizeof *ranks);
    bool ok = ranks && rs_accuse_ranks(&one, c->job, RS_CULPRIT_STAGE, stage, NULL, ranks,
                                       ranks_of_stage(c, stage, ranks), out);
    rs_free(ranks);
    one.excess = excess;
    one.share = STAGE_DOUBT;
    one.facts.times = facts.times;
    one.facts.pct = facts.pct;
    one.facts.stages = (double)n;
    return rs_candidate_add(out, &one, ok, err);
}

/* Where kernels are slower on the stage that computes the most, it is wrong; where it has more to do, as the last one does with its loss,
 * nothing is. A stage whose kernels are slower is wrong even where another one has as much more to do. */
static rs_status balance_stages(const compared *c, const rs_fault_kind *fault, int64_t *scratch,
                                rs_candidates *out, rs_error *err)
{
    double mean = 0, most = 0, slower;
    uint32_t worst = 0;
    size_t n = c->stages.n_stages;
    for (uint32_t k = 0; k < n; k++) {
        double time = stage_time(c, k, scratch);
        mean += time / (double)n;
        if (time > most) {
            most = time;
            worst = k;
        }
    }
    if (mean <= 0) return RS_OK;
    RS_SCOPED(clear_common) common_work w = {0};
    RS_TRY(find_common(c, worst, &w, err));
    const bool uneven = most / mean >= OFF_STAGE, slow = w.slower >= OFF_STAGE;
    if (uneven)
        RS_TRY(add_stage(c, fault, worst, slow ? RS_VERDICT_FINDING : RS_VERDICT_OPPORTUNITY, &w, mean,
                         most - mean, (rs_facts){.times = most / mean, .pct = NAN}, scratch, out, err));
    const uint32_t slowest = slowest_kernels(&w, n, &slower);
    if (slower < OFF_STAGE || (uneven && slow)) return RS_OK;
    w.slower = slower;
    return add_stage(c, fault, slowest, RS_VERDICT_FINDING, &w, mean,
                     stage_time(c, slowest, scratch) * (1 - 1 / slower),
                     (rs_facts){.times = NAN, .pct = 100 * (slower - 1)}, scratch, out, err);
}

rs_status rs_find_pipeline_imbalance(const rs_judged *job, const rs_fault_kind *fault, rs_candidates *out,
                                     const char **lacks, rs_error *err)
{
    compared c;
    rs_status status = compare(job, NULL, NULL, &c, err);
    int64_t *scratch = rs_malloc((job->engine->n_ranks + 1) * sizeof *scratch);
    if (status == RS_OK && !scratch) status = rs_fail_nomem(err, "diagnose");
    if (status == RS_OK && !c.stages.n_stages)
        *lacks = "no pipeline: no sends and receives tie the ranks to lines of equal length";
    else if (status == RS_OK)
        status = balance_stages(&c, fault, scratch, out, err);
    rs_free(scratch);
    clear_compared(&c);
    return status;
}
