/* Finders: ranks, groups and pipeline stages against others that do the same work. */
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "verdict/candidate.h"
#include "base/memory.h"
#include "base/stats.h"
#include "base/strings.h"
#include "base/try.h"
#include "match/stages.h"
#include "text/numbers.h"

#define OFF_COMPUTE 1.02 /* times its peers': computation less off than that is no finding */
#define OFF_HOST 1.10    /* the same of host threads, which vary more */

static bool has_peers(const rs_judged *job, size_t rank)
{
    for (size_t r = 0; r < job->engine->n_ranks; r++)
        if (r != rank && job->reference->role[r] == job->reference->role[rank]) return true;
    return false;
}

typedef struct pair {
    double own, peers; /* ns */
    size_t n;          /* of work, or of stretches of host time */
    double off; /* how many times its peers' time it takes; of the host, in the middle one of its steps */
} pair;

static pair computation_of(const rs_judged *job, size_t rank)
{
    const rs_engine *e = job->engine;
    const rs_skeleton *s = e->ranks[rank];
    pair sum = {0};
    for (uint32_t i = 1; i < s->n; i++) {
        uint32_t node = e->node_base[rank] + i;
        if (!rs_skeleton_is_work(s, i) || rs_skeleton_at(s, i)->part != RS_PART_COMPUTE) continue;
        sum.n++;
        sum.own += (double)job->recorded->work[node];
        sum.peers += (double)job->reference->peers.work[node];
    }
    sum.off = sum.peers > 0 ? sum.own / sum.peers : 0;
    return sum;
}

static int by_off(const void *a, const void *b)
{
    const pair *x = a, *y = b;
    return x->off < y->off ? -1 : x->off > y->off;
}

/* What host threads themselves take between their points. A pause in one step does not make a host slow.
 * steps: room for the rank's steps. */
static pair host_time_of(const rs_judged *job, size_t rank, pair *steps)
{
    const rs_engine *e = job->engine;
    const rs_skeleton *s = e->ranks[rank];
    pair sum = {0};
    for (uint32_t i = 1; i < s->n; i++) {
        uint32_t edge = e->edge_base[rank] + s->first[i];
        if (rs_skeleton_is_work(s, i) || s->first[i] == s->first[i + 1]) continue;
        if (rs_edge_part(s, s->first[i]) != RS_PART_HOST || job->recorded->edge[edge] == RS_NO_EDGE ||
            job->reference->peers.edge[edge] == RS_NO_EDGE)
            continue;
        double own = (double)job->recorded->edge[edge], peers = (double)job->reference->peers.edge[edge];
        sum.n++;
        sum.own += own;
        sum.peers += peers;
        if (s->step[i] < 0) continue;
        steps[s->step[i]].own += own;
        steps[s->step[i]].peers += peers;
    }
    size_t n = 0;
    for (size_t k = 0; k < s->n_steps; k++)
        if (steps[k].peers > 0) {
            steps[n] = steps[k];
            steps[n].off = steps[n].own / steps[n].peers;
            n++;
        }
    if (n) qsort(steps, n, sizeof *steps, by_off);
    sum.off = n ? steps[n / 2].off : sum.peers > 0 ? sum.own / sum.peers : 0;
    return sum;
}

static bool is_off(const pair *sum, bool host)
{
    return sum->off >= (host ? OFF_HOST : OFF_COMPUTE);
}

/* What the rank would take, ns. The median of peers is drawn upwards where another one of them is slow, too; the
 * mean of those that are not is not, and where they did exactly as much it can be compared. */
static double expected_of(const rs_judged *job, const pair *sums, size_t rank, bool host)
{
    double sum = 0;
    size_t n = 0;
    for (size_t r = 0; r < job->engine->n_ranks; r++) {
        if (job->reference->role[r] != job->reference->role[rank] || sums[r].n != sums[rank].n ||
            is_off(&sums[r], host))
            continue;
        sum += sums[r].own;
        n++;
    }
    return n ? sum / (double)n : sums[rank].peers;
}

/* ---- ranks that are off together ----------------------------------------------------------------------- */

#define LEAST_GROUP 3 /* ranks of a group that are off together: two of them are two ranks */

typedef struct compared {
    const rs_judged *job;
    pair *sums;       /* by rank: computation */
    uint8_t *covered; /* by rank: its whole group or stage is slow */
    rs_stages stages;
} compared;

static void clear_compared(compared *c)
{
    rs_free(c->sums);
    rs_free(c->covered);
    rs_stages_clear(&c->stages);
}

static bool all_off(const compared *c, const uint32_t *ranks, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (c->covered[ranks[i]] || !is_off(&c->sums[ranks[i]], false)) return false;
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

static int by_size(const void *a, const void *b)
{
    const rank_set *x = a, *y = b;
    if (x->n != y->n) return x->n > y->n ? -1 : 1;
    return x->meeting < y->meeting ? -1 : x->meeting > y->meeting;
}

static int by_index(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

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
        qsort(ranks, in->n, sizeof *ranks, by_index);
        if (!all_off(c, ranks, in->n)) continue;
        used += in->n;
        (*out)[n++] = (rank_set){ranks, in->n, (uint32_t)k};
    }
    rs_free(seen);
    if (n) qsort(*out, n, sizeof **out, by_size);
    *n_out = n;
    return RS_OK;
}

static rs_status add_group(const compared *c, const rs_fault_kind *fault, const rank_set *set,
                           rs_candidates *out, rs_error *err)
{
    const rs_judged *job = c->job;
    double own = 0, expected = 0;
    rs_candidate one = rs_candidate_of(fault, RS_VERDICT_FINDING);
    for (size_t i = 0; i < set->n; i++) {
        own += c->sums[set->ranks[i]].own;
        expected += expected_of(job, c->sums, set->ranks[i], false);
    }
    if (own <= 0) return RS_OK;
    bool ok = rs_accuse_ranks(&one, job, RS_CULPRIT_GROUP, -1, rs_meeting_group(job->engine, set->meeting),
                              set->ranks, set->n, out);
    one.facts.times = own / expected;
    one.excess =
        (own - expected) / 1e3 / (double)set->n / (double)rs_judged_steps(job->engine, set->ranks[0]);
    rs_expr *s = rs_what_if_scale_by(&one.edits, rs_short_factor(expected / own));
    rs_selector_word(s, RS_SELECT_CLASS, RS_CLASS_OF_COMPUTATION);
    if (ok) rs_selector_ranks(s, one.culprits->ranks, set->n);
    return rs_candidate_add(out, &one, ok, err);
}

/* Compares computation, and covers sets of which all are slow; with a fault, its groups become candidates. */
static rs_status compare(const rs_judged *job, const rs_fault_kind *fault, rs_candidates *out, compared *c,
                         rs_error *err)
{
    size_t n = job->engine->n_ranks, n_sets = 0;
    rank_set *sets = NULL;
    uint32_t *block = NULL, *scratch = rs_malloc((n + 1) * sizeof *scratch);
    *c = (compared){.job = job, .sums = rs_calloc(n + 1, sizeof *c->sums), .covered = rs_calloc(n + 1, 1)};
    rs_status status = c->sums && c->covered && scratch ? RS_OK : rs_fail_nomem(err, "diagnose");
    for (size_t r = 0; status == RS_OK && r < n; r++) c->sums[r] = computation_of(job, r);
    if (status == RS_OK) status = rs_stages_find(&job->engine->coll, &c->stages, err);
    if (status == RS_OK) {
        cover_stages(c, scratch);
        status = find_groups(c, &sets, &n_sets, &block, err);
    }
    for (size_t i = 0; status == RS_OK && i < n_sets; i++) {
        if (!all_off(c, sets[i].ranks, sets[i].n)) continue; /* part of a larger one */
        for (size_t k = 0; k < sets[i].n; k++) c->covered[sets[i].ranks[k]] = 1;
        if (fault) status = add_group(c, fault, &sets[i], out, err);
    }
    rs_free(sets);
    rs_free(block);
    rs_free(scratch);
    return status;
}

/* ---- one rank ------------------------------------------------------------------------------------------ */

#define CAPPED 0.97 /* of its peers' clock: a GPU that runs no faster is held back */

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

/* A clock below that of its peers is the cause where it explains half of what the rank takes longer. */
static bool put_clock(rs_candidate *c, const rs_judged *job, size_t rank, rs_candidates *out)
{
    const rs_skeleton *s = job->engine->ranks[rank];
    RS_LOCAL double *scratch = rs_malloc((job->engine->n_ranks + 1) * sizeof *scratch);
    if (!scratch) return false;
    double clock = peers_median(job, rank, offsetof(rs_skeleton, clock_mhz), scratch);
    double power = peers_median(job, rank, offsetof(rs_skeleton, power_w), scratch);
    if (isnan(s->clock_mhz) || !(s->clock_mhz <= CAPPED * clock)) return true;
    rs_text text = {0};
    bool explains = clock / s->clock_mhz - 1 >= (c->facts.times - 1) / 2;
    rs_text_printf(&text, "%s its GPU runs at %s MHz and theirs at %s MHz", explains ? " because" : ";",
                   RS_FIXED(s->clock_mhz, 0), RS_FIXED(clock, 0));
    if (!isnan(s->power_w) && !isnan(power))
        rs_text_printf(&text, ", drawing %s W and %s W", RS_FIXED(s->power_w, 0), RS_FIXED(power, 0));
    bool ok =
        rs_text_get(&text) && (c->facts.known = rs_arena_strndup(&out->arena, rs_text_get(&text), text.n));
    rs_text_clear(&text);
    return ok;
}

static rs_status add_off(const rs_judged *job, const rs_fault_kind *fault, const pair *sums, size_t r,
                         bool host, rs_candidates *out, rs_error *err)
{
    double own = sums[r].own, expected = expected_of(job, sums, r, host);
    rs_candidate c = rs_candidate_of(fault, RS_VERDICT_FINDING);
    bool ok = rs_accuse_rank(&c, job, r, out);
    c.facts.times = own / expected;
    ok = ok && (host || put_clock(&c, job, r, out));
    c.excess = (own - expected) / 1e3 / (double)rs_judged_steps(job->engine, r);
    rs_expr *s = rs_what_if_scale_by(&c.edits, rs_short_factor(expected / own));
    if (host)
        rs_selector_word(s, RS_SELECT_PART, RS_PART_OF_HOST);
    else
        rs_selector_word(s, RS_SELECT_CLASS, RS_CLASS_OF_COMPUTATION);
    rs_selector_number(s, RS_SELECT_RANK, RS_OP_EQ, job->rank_of[r]);
    return rs_candidate_add(out, &c, ok, err);
}

static rs_status find_off(const rs_judged *job, const rs_fault_kind *fault, const pair *sums,
                          const uint8_t *covered, bool host, rs_candidates *out, const char **lacks,
                          rs_error *err)
{
    size_t n = job->engine->n_ranks, n_compared = 0;
    for (size_t r = 0; r < n; r++) {
        if (!has_peers(job, r)) continue;
        n_compared++;
        if (is_off(&sums[r], host) && !(covered && covered[r]))
            RS_TRY(add_off(job, fault, sums, r, host, out, err));
    }
    if (!n_compared)
        *lacks = "no two ranks run the same work: there is nothing to compare a rank with";
    else if (n_compared < n)
        *lacks = "some ranks run work that no other rank runs: they have no peers";
    return RS_OK;
}

rs_status rs_find_straggler(const rs_judged *job, const rs_fault_kind *fault, rs_candidates *out,
                            const char **lacks, rs_error *err)
{
    compared c;
    rs_status status = compare(job, NULL, NULL, &c, err);
    if (status == RS_OK) status = find_off(job, fault, c.sums, c.covered, false, out, lacks, err);
    clear_compared(&c);
    return status;
}

rs_status rs_find_slow_host(const rs_judged *job, const rs_fault_kind *fault, rs_candidates *out,
                            const char **lacks, rs_error *err)
{
    size_t n = job->engine->n_ranks;
    pair *sums = rs_calloc(n + 1, sizeof *sums);
    if (!sums) return rs_fail_nomem(err, "diagnose");
    rs_status status = RS_OK;
    for (size_t r = 0; status == RS_OK && r < n; r++) {
        pair *steps = rs_calloc(rs_judged_steps(job->engine, r), sizeof *steps);
        if (steps)
            sums[r] = host_time_of(job, r, steps);
        else
            status = rs_fail_nomem(err, "diagnose");
        rs_free(steps);
    }
    if (status == RS_OK) status = find_off(job, fault, sums, NULL, true, out, lacks, err);
    rs_free(sums);
    return status;
}

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

#define OFF_STAGE 1.05 /* times the mean of stages: less is no finding */

/* Computation of a stage in a step, us: of its lower middle rank, so that a slow rank does not count. */
static double stage_time(const compared *c, uint32_t stage, int64_t *scratch)
{
    size_t n = 0;
    for (uint32_t r = 0; r < c->job->engine->n_ranks; r++)
        if (c->stages.stage[r] == stage)
            scratch[n++] = (int64_t)(c->sums[r].own / (double)rs_judged_steps(c->job->engine, r));
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
    rs_selector_word(s, RS_SELECT_CLASS, RS_CLASS_OF_COMPUTATION);
    rs_selector_ranks(s, scratch, n);
}

/* A kernel of the stage that is asked about, or of another one. */
typedef struct kernel {
    uint64_t name; /* a hash of its text */
    int64_t ns;
    bool other;
} kernel;

static int by_name(const void *a, const void *b)
{
    const kernel *x = a, *y = b;
    if (x->name != y->name) return x->name < y->name ? -1 : 1;
    if (x->other != y->other) return x->other ? 1 : -1;
    return x->ns < y->ns ? -1 : x->ns > y->ns;
}

/* How many times as long kernels take on a stage as kernels of the same name elsewhere, by their medians; 1: none
 * is elsewhere, too. What a stage has more of does not count. */
static rs_status compare_kernels(const compared *c, uint32_t stage, double *times, rs_error *err)
{
    const rs_engine *e = c->job->engine;
    kernel *all = rs_malloc((e->n_nodes + 1) * sizeof *all);
    size_t n = 0;
    double own = 0, other = 0;
    if (!all) return rs_fail_nomem(err, "diagnose");
    for (size_t r = 0; r < e->n_ranks; r++) {
        const rs_skeleton *s = e->ranks[r];
        for (uint32_t i = 1; i < s->n; i++) {
            const char *name = rs_pool_text(&s->pool, rs_skeleton_at(s, i)->name);
            if (!rs_skeleton_is_work(s, i) || rs_skeleton_at(s, i)->part != RS_PART_COMPUTE || !name)
                continue;
            all[n++] = (kernel){rs_hash_bytes(name, strlen(name)), rs_skeleton_duration(s, i),
                                c->stages.stage[r] != stage};
        }
    }
    if (n) qsort(all, n, sizeof *all, by_name);
    for (size_t i = 0, k, middle; i < n; i = k) {
        for (middle = i; middle < n && all[middle].name == all[i].name && !all[middle].other;) middle++;
        for (k = middle; k < n && all[k].name == all[i].name;) k++;
        if (middle == i || middle == k) continue;
        const size_t own_middle = i + (middle - i - 1) / 2, other_middle = middle + (k - middle - 1) / 2;
        own += (double)(middle - i) * (double)all[own_middle].ns;
        other += (double)(middle - i) * (double)all[other_middle].ns;
    }
    rs_free(all);
    *times = other > 0 ? own / other : 1;
    return RS_OK;
}

/* Every stage takes the mean of all: what one gives away others get. Where kernels are slower on that stage, it
 * is wrong; where it has more to do, as the last one does with its loss, nothing is. */
static rs_status balance_stages(const compared *c, const rs_fault_kind *fault, int64_t *scratch,
                                rs_candidates *out, rs_error *err)
{
    double mean = 0, most = 0;
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
    double slower = 1;
    if (mean <= 0 || most / mean < OFF_STAGE) return RS_OK;
    RS_TRY(compare_kernels(c, worst, &slower, err));
    rs_candidate one =
        rs_candidate_of(fault, slower >= OFF_STAGE ? RS_VERDICT_FINDING : RS_VERDICT_OPPORTUNITY);
    for (uint32_t k = 0; k < n; k++) {
        double time = stage_time(c, k, scratch);
        if (time > 0) scale_stage(c, k, mean / time, scratch, &one.edits);
    }
    uint32_t *ranks = rs_malloc((c->job->engine->n_ranks + 1) * sizeof *ranks);
    bool ok = ranks && rs_accuse_ranks(&one, c->job, RS_CULPRIT_STAGE, worst, NULL, ranks,
                                       ranks_of_stage(c, worst, ranks), out);
    rs_free(ranks);
    one.excess = most - mean;
    one.facts.times = most / mean;
    one.facts.stages = (double)n;
    return rs_candidate_add(out, &one, ok, err);
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
