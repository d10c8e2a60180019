/* Finders: process groups and their communication. */
#include <math.h>
#include <string.h>

#include "verdict/candidate.h"
#include "base/memory.h"
#include "base/stats.h"
#include "base/try.h"
#include "match/stages.h"
#include "text/numbers.h"

#define OFF_GROUP 1.10 /* times others of their size: transfers less off than that are no finding */
#define SURE_GROUP 4   /* standard errors of a median by which they are off at least: groups are many */
/* Of the mean distance from it, times the root of how many there are: of a normal distribution. */
#define ERROR_OF_MEDIAN 1.57
#define SCALAR                                                                                               \
    4096 /* bytes: what is no larger takes no time that could be hidden, its ranks wait for each other */
#define MANY_SMALL 8    /* collectives of a group a step */
#define SMALL 1048576   /* bytes, of a collective on average */
#define SLOW_TURN 10000 /* ns, of a ring between hosts: a collective of n takes 2 (n - 1) turns at most */
#define MOST_OF_ALL                                                                                          \
    0.9 /* of a job's collectives: a group without a name that has so many is asked about as all */
#define OVERLAP_DOUBT 0.05 /* of transfers: how evenly a backward pass makes gradients is not known */
#define MERGE_DOUBT                                                                                          \
    0.02 /* of transfers: how much of one is the same for any size shows in several sizes alone */
#define BUCKET 26214400 /* bytes that they may become: what DDP takes */
#define LEAST_BUCKET 1048576

static const rs_coll_arrival *first_of(const rs_engine *e, size_t meeting)
{
    return &e->coll.arrivals[e->coll.instances[e->meetings[meeting].instance].first];
}

static const char *description_of(const rs_engine *e, size_t meeting)
{
    const rs_coll_arrival *a = first_of(e, meeting);
    return rs_pool_text(&e->comm[a->rank]->pool, rs_coll_shape_at(&e->coll, a)->description);
}

/* The ranks that meet, as a text of the list's by set of ranks: what groups that no trace names go by. NULL where groups have names: what has
 * none was launched before the recording; or memory ran out, *ok. */
static const char **list_sets(const rs_judged *job, rs_candidates *out, bool *ok)
{
    const rs_engine *e = job->engine;
    *ok = true;
    for (size_t k = 0; k < e->n_meetings; k++)
        if (rs_meeting_group(e, k)) return NULL;
    const char **sets = rs_calloc(job->reference->n_groups + 1, sizeof *sets);
    *ok = sets != NULL;
    for (size_t k = 0; *ok && k < e->n_meetings; k++) {
        const char **set = &sets[job->reference->group[k]];
        const rs_coll_instance *in = &e->coll.instances[e->meetings[k].instance];
        rs_text text = {0};
        if (*set) continue;
        for (uint32_t i = in->first; i < in->first + in->n; i++)
            rs_text_printf(&text, "%s%lld", text.n ? ", " : "",
                           (long long)job->rank_of[e->coll.arrivals[i].rank]);
        *ok = rs_text_get(&text) && (*set = rs_arena_strndup(&out->arena, rs_text_get(&text), text.n));
        rs_text_clear(&text);
    }
    return sets;
}

/* Sums of meetings by group, or by what groups are for (a description without the number at its end). A pipeline's sends
 * and receives are for nothing that could be hidden: who waits in them waits in the bubble. */
static rs_status sum_groups(const rs_judged *job, bool by_purpose, const char *const *sets, rs_names *out,
                            rs_error *err)
{
    const rs_engine *e = job->engine;
    for (size_t k = 0; k < e->n_meetings; k++) {
        if (by_purpose && rs_coll_shape_at(&e->coll, first_of(e, k))->kind == RS_COLL_SEND_RECV) continue;
        const char *text = by_purpose ? description_of(e, k) : NULL;
        if (!text || !*text) text = rs_meeting_group(e, k);
        if (!text && by_purpose) text = ""; /* old recordings name no group */
        if (!text && sets && rs_coll_shape_at(&e->coll, first_of(e, k))->kind != RS_COLL_SEND_RECV)
            text = sets[job->reference
                            ->group[k]]; /* who sends to whom shows in ends alone: that is no witness */
        if (!text) continue;
        rs_named *x = rs_names_put(out, text, strlen(text));
        if (!x) return rs_fail_nomem(err, "diagnose");
        int64_t bytes = rs_meeting_bytes(e, &e->meetings[k]);
        if (!x->n++) x->example = k;
        x->ns += (double)job->recorded->transfer[k];
        x->own += (double)job->reference->group_transfer[k];
        x->spread += fabs((double)job->recorded->transfer[k] - (double)job->reference->group_transfer[k]);
        x->expected += (double)job->reference->repair.transfer[k];
        x->bytes += bytes > 0 ? (double)bytes : 0;
    }
    return RS_OK;
}

/* A question about a group costs a look at the whole path. */
#define MOST_GROUPS 64
static const char many_groups[] = "of the groups only the 64 with the most transfer time were looked at";

/* Leaves the groups with the most transfer time, in the order that they had. *lacks says so where some are left out. */
static rs_status keep_most(rs_names *groups, const char **lacks, rs_error *err)
{
    if (groups->n <= MOST_GROUPS) return RS_OK;
    double *times = rs_malloc(groups->n * sizeof *times);
    if (!times) return rs_fail_nomem(err, "diagnose");
    for (size_t i = 0; i < groups->n; i++) times[i] = groups->items[i].ns;
    rs_sort_doubles(times, groups->n);
    double least = times[groups->n - MOST_GROUPS];
    size_t kept = 0;
    for (size_t i = 0; i < groups->n && kept < MOST_GROUPS; i++)
        if (groups->items[i].ns >= least) groups->items[kept++] = groups->items[i];
    groups->n = kept;
    *lacks = many_groups;
    rs_free(times);
    return RS_OK;
}

static const char no_groups[] = "no collectives with partners in the traces";

static bool is_of_group(const rs_judged *job, const rs_named *group, size_t k)
{
    const char *text = rs_meeting_group(job->engine, k);
    if (!rs_meeting_group(job->engine, group->example))
        return !text && job->reference->group[k] == job->reference->group[group->example];
    return text && strlen(text) == group->length && memcmp(text, group->text, group->length) == 0;
}

/* The ranks of a group (indices, ascending) into ranks: of all its meetings, as names need not be of one group. */
static size_t ranks_of_group(const rs_judged *job, const rs_named *group, uint8_t *seen, uint32_t *ranks)
{
    const rs_engine *e = job->engine;
    size_t n = 0;
    memset(seen, 0, e->n_ranks);
    for (size_t k = 0; k < e->n_meetings; k++) {
        const rs_coll_instance *in = &e->coll.instances[e->meetings[k].instance];
        if (!is_of_group(job, group, k)) continue;
        for (uint32_t i = 0; i < in->n; i++) seen[e->coll.arrivals[in->first + i].rank] = 1;
    }
    for (uint32_t r = 0; r < e->n_ranks; r++)
        if (seen[r]) ranks[n++] = r;
    return n;
}

/* Scales what was to be scaled where only those ranks meet. */
static void select_members(rs_what_if *edits, const rs_culprit *group)
{
    for (size_t i = 0; i < edits->n; i++)
        if (edits->edits[i].selector)
            rs_selector_numbers(edits->edits[i].selector, RS_SELECT_MEMBERS, group->ranks, group->n_ranks);
}

static rs_status accuse_group(rs_candidate *c, const rs_judged *job, const rs_named *group,
                              rs_candidates *out, rs_error *err)
{
    const rs_engine *e = job->engine;
    uint32_t *ranks = rs_malloc((e->n_ranks + 1) * sizeof *ranks);
    uint8_t *seen = rs_malloc(e->n_ranks + 1);
    bool ok = ranks && seen;
    if (ok)
        ok = rs_accuse_ranks(c, job, RS_CULPRIT_GROUP, -1, rs_meeting_group(e, group->example), ranks,
                             ranks_of_group(job, group, seen, ranks), out);
    if (ok && !c->culprits->name) select_members(&c->edits, c->culprits);
    rs_free(ranks);
    rs_free(seen);
    if (!ok) rs_what_if_clear(&c->edits);
    return ok ? RS_OK : rs_fail_nomem(err, "diagnose");
}

/* What a finder makes of one group. *fits stays false: nothing. */
typedef rs_candidate (*group_fn)(const rs_judged *job, const rs_fault_kind *fault, const rs_named *group,
                                 bool *fits);

/* Looks at each group, or at groups of a purpose; of a finder that accuses them by their ranks. */
static rs_status look_at_groups(const rs_judged *job, const rs_fault_kind *fault, bool by_purpose,
                                group_fn look, rs_candidates *out, const char **lacks, rs_error *err)
{
    rs_names groups = {0};
    bool listed;
    RS_LOCAL const char **sets = by_purpose ? NULL : list_sets(job, out, &listed);
    if (!by_purpose && !listed) return rs_fail_nomem(err, "diagnose");
    rs_status status = sum_groups(job, by_purpose, sets, &groups, err);
    if (!groups.n) *lacks = no_groups;
    if (status == RS_OK) status = keep_most(&groups, lacks, err);
    for (size_t i = 0; status == RS_OK && i < groups.n; i++) {
        const rs_named *x = &groups.items[i];
        bool fits = false, ok = true;
        if (!x->length && groups.n > 1) continue; /* of the others, launched before the recording */
        rs_candidate c = look(job, fault, x, &fits);
        if (!fits) continue;
        if (!x->length)
            ok = true;
        else if (by_purpose)
            ok = rs_accuse_name(&c, RS_CULPRIT_GROUP, x->text, x->length, out);
        else
            status = accuse_group(&c, job, x, out, err);
        if (status == RS_OK) status = rs_candidate_add(out, &c, ok, err);
    }
    rs_names_clear(&groups);
    return status;
}

static rs_candidate slow_group(const rs_judged *job, const rs_fault_kind *fault, const rs_named *x,
                               bool *fits)
{
    rs_candidate c = rs_candidate_of(fault, RS_VERDICT_FINDING);
    /* medians, of which a group without others of its kind has one: a few long transfers make no slow link */
    *fits = x->expected > 0 && x->own / x->expected >= OFF_GROUP &&
            x->own - x->expected >= SURE_GROUP * ERROR_OF_MEDIAN * x->spread / sqrt((double)x->n);
    if (!*fits) return c;
    c.facts.times = x->own / x->expected;
    c.excess = (x->own - x->expected) / 1e3 / (double)rs_judged_steps(job->engine, 0);
    rs_expr *s = rs_what_if_scale_by(&c.edits, rs_short_factor(x->expected / x->own));
    rs_selector_word(s, RS_SELECT_CLASS, RS_CLASS_OF_COMMUNICATION);
    if (rs_meeting_group(job->engine, x->example))
        rs_selector_text(s, RS_SELECT_GROUP, RS_OP_EQ, x->text, x->length);
    return c;
}

rs_status rs_find_slow_group(const rs_judged *job, const rs_fault_kind *fault, rs_candidates *out,
                             const char **lacks, rs_error *err)
{
    return look_at_groups(job, fault, false, slow_group, out, lacks, err);
}

static rs_candidate exposed(const rs_judged *job, const rs_fault_kind *fault, const rs_named *x, bool *fits)
{
    rs_candidate c = rs_candidate_of(fault, RS_VERDICT_OPPORTUNITY);
    *fits = x->bytes <= 0 || x->bytes / (double)x->n > SCALAR;
    if (!*fits) return c;
    if (x->length)
        rs_what_if_add_name(&c.edits, RS_EDIT_OVERLAP, x->text, x->length, false);
    else
        rs_what_if_add(&c.edits, RS_EDIT_OVERLAP);
    c.doubt = OVERLAP_DOUBT * x->ns / 1e3 / (double)rs_judged_steps(job->engine, 0);
    return c;
}

/* Communication whose partners are not in the traces: what waits for others and what transfers cannot be distinguished, so that
 * only all of it together can be asked about. */
static rs_status add_lonely(const rs_judged *job, const rs_fault_kind *fault, rs_candidates *out,
                            const char **lacks, rs_error *err)
{
    const rs_engine *e = job->engine;
    int64_t world = 0;
    bool any = false;
    for (size_t r = 0; r < e->n_ranks; r++) {
        const rs_skeleton *s = e->ranks[r];
        for (size_t i = 0; i < s->n_comm; i++) {
            int64_t n = rs_coll_shape_of(s->comm, &s->comm->ops[i])->group_size;
            if (s->comm_node[i] == RS_NO_NODE) continue;
            any = true;
            if (n > world) world = n;
        }
    }
    if (!any || world <= (int64_t)e->n_ranks) return RS_OK;
    *lacks = NULL;
    rs_candidate c = rs_candidate_of(fault, RS_VERDICT_OPPORTUNITY);
    c.facts.recorded = (double)e->n_ranks;
    c.facts.world = (double)world;
    rs_selector_word(rs_what_if_scale_to(&c.edits, 0), RS_SELECT_CLASS, RS_CLASS_OF_COMMUNICATION);
    return rs_candidate_add(out, &c, true, err);
}

rs_status rs_find_exposed_communication(const rs_judged *job, const rs_fault_kind *fault, rs_candidates *out,
                                        const char **lacks, rs_error *err)
{
    RS_TRY(look_at_groups(job, fault, true, exposed, out, lacks, err));
    return *lacks == no_groups ? add_lonely(job, fault, out, lacks, err) : RS_OK;
}

/* Whether collectives of which no trace has the size take no longer than small ones do on slow links. */
static bool as_short(const rs_judged *job, const rs_named *x)
{
    const rs_coll_instance *in = &job->engine->coll.instances[job->engine->meetings[x->example].instance];
    const rs_coll_shape *shape = rs_coll_shape_at(&job->engine->coll, first_of(job->engine, x->example));
    const int64_t moves =
        rs_edit_most_transfer(shape->kind, in->n, SMALL, rs_edit_is_between_hosts(job->engine, in));
    return !in->on_host && moves < INT64_MAX &&
           x->own / (double)x->n <= (double)moves + 2.0 * (in->n - 1) * SLOW_TURN;
}

/* Whether a question about collectives of any group is one about these: of others without names none can be asked about alone. */
static bool is_all(const rs_judged *job, const rs_named *x)
{
    size_t n = 0;
    for (size_t k = 0; k < job->engine->n_meetings; k++)
        n += rs_coll_shape_at(&job->engine->coll, first_of(job->engine, k))->kind != RS_COLL_SEND_RECV;
    return (double)x->n >= MOST_OF_ALL * (double)n;
}

static rs_candidate small(const rs_judged *job, const rs_fault_kind *fault, const rs_named *x, bool *fits)
{
    rs_candidate c = rs_candidate_of(fault, RS_VERDICT_OPPORTUNITY);
    size_t n_steps = SIZE_MAX;
    for (size_t r = 0; r < job->engine->n_ranks; r++)
        if (job->engine->ranks[r]->n_steps < n_steps) n_steps = job->engine->ranks[r]->n_steps;
    double bytes = x->bytes / (double)x->n;
    c.facts.n = (double)x->n / (double)(n_steps ? n_steps : 1);
    c.at_best = x->bytes <= 0;
    if (c.at_best)
        c.facts.us = x->own / 1e3 / (double)x->n;
    else
        c.facts.kib = bytes / 1024;
    bool named = rs_meeting_group(job->engine, x->example);
    *fits = c.facts.n >= MANY_SMALL && (c.at_best ? as_short(job, x) : bytes <= SMALL) &&
            (named || is_all(job, x));
    rs_edit *merged = *fits ? rs_what_if_add_name(&c.edits, RS_EDIT_COALESCE, named ? x->text : "",
                                                  named ? x->length : 0, false)
                            : NULL;
    if (merged) merged->number = BUCKET;
    c.doubt = MERGE_DOUBT * x->ns / 1e3 / (double)rs_judged_steps(job->engine, 0);
    return c;
}

/* A large bucket is full so late that nothing hides it: half of it. */
bool rs_smaller_buckets(rs_candidate *c)
{
    int64_t *bytes = &c->edits.edits[0].number;
    if (c->at_best || *bytes / 2 < LEAST_BUCKET) return false; /* sizes are not known, or are small */
    *bytes /= 2;
    c->facts.mib = (double)*bytes / 1048576;
    return true;
}

rs_status rs_find_small_collectives(const rs_judged *job, const rs_fault_kind *fault, rs_candidates *out,
                                    const char **lacks, rs_error *err)
{
    return look_at_groups(job, fault, false, small, out, lacks, err);
}

/* ---- pipelines ------------------------------------------------------------------------------------------- */

/* Messages a step that go from the first stage of a pipeline to the second: its micro-batches, 0 where steps or pipelines differ. */
static double micro_batches_of(const rs_engine *e, const rs_stages *stages)
{
    size_t n = 0, n_steps = 0;
    for (size_t r = 0; r < e->n_ranks; r++)
        if (stages->stage[r] == 0) n_steps += rs_judged_steps(e, r);
    for (size_t k = 0; k < e->n_meetings; k++) {
        const rs_coll_arrival *from, *to;
        if (rs_coll_message_ends(&e->coll, &e->coll.instances[e->meetings[k].instance], &from, &to))
            n += stages->stage[from->rank] == 0 && stages->stage[to->rank] == 1;
    }
    return n_steps && n % n_steps == 0 ? (double)n / (double)n_steps : 0;
}

/* A schedule of p stages and m micro-batches idles for p - 1 passes of m + p - 1. */
rs_status rs_find_pipeline_bubbles(const rs_judged *job, const rs_fault_kind *fault, rs_candidates *out,
                                   const char **lacks, rs_error *err)
{
    RS_SCOPED(rs_stages_clear) rs_stages stages = {0};
    RS_TRY(rs_stages_find(&job->engine->coll, &stages, err));
    const double n = stages.n_stages ? micro_batches_of(job->engine, &stages) : 0;
    (void)lacks; /* pipeline_imbalance says where there is no pipeline */
    if (n <= 0 || rs_judged_on_host(job)) return RS_OK;
    rs_candidate c = rs_candidate_of(fault, RS_VERDICT_OPPORTUNITY);
    rs_edit *e = rs_what_if_add(&c.edits, RS_EDIT_MICRO_BATCHES);
    if (e) e->number = 2;
    c.facts.stages = (double)stages.n_stages;
    c.facts.n = n;
    c.facts.pct = 100 * (c.facts.stages - 1) / (n + c.facts.stages - 1);
    return rs_candidate_add(out, &c, true, err);
}
