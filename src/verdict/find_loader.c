/* Finder: waits for data. A rank, steps, or the whole job. */
#include "verdict/candidate.h"
#include "base/interval.h"
#include "base/memory.h"
#include "base/order.h"
#include "base/stats.h"
#include "base/try.h"

#define OFF_LOADER 2.0    /* times the median rank's time in the loader */
#define LOADER_SHARE 0.1  /* of the job's time: where all ranks wait for data so long, that is a finding */
#define LEAST_LOADER 0.03 /* of it: less is what a loader takes */
#define READY 1e6 /* ns a load: taking a batch that is there takes less, through a queue and pinned memory */
#define STALL 4.0 /* times the median step's time in the loader, and more than half of the longest: a stall */
#define STALLED_STEPS 0.5  /* of a rank's steps: what happens more often is how its loader is */
#define LEAST_STALLED 0.01 /* of a rank's time: less in sum is not worth a question */

/* Times in the loader. */
typedef struct loading {
    int64_t *rank;               /* by rank: all of it */
    int64_t *step;               /* by step, the ranks' one after the other's */
    size_t *first;               /* by rank: its first of step; n_ranks + 1 */
    int64_t *spare;              /* as many as ranks and steps */
    size_t n;                    /* loads of all ranks */
    int64_t all, longest, usual; /* of steps: the longest, the median */
    double whole;                /* the job's time, over ranks */
} loading;

static void loading_clear(loading *l)
{
    rs_free(l->rank);
    rs_free(l->step);
    rs_free(l->first);
    rs_free(l->spare);
}

static void sum_rank(const rs_judged *job, size_t r, loading *l)
{
    const rs_skeleton *s = job->engine->ranks[r];
    l->rank[r] = rs_judged_loader_time(job, r, l->step + l->first[r]);
    for (size_t k = l->first[r]; k < l->first[r + 1]; k++)
        if (l->step[k] > l->longest) l->longest = l->step[k];
    l->all = rs_add_sat(l->all, l->rank[r]);
    for (uint32_t k = 0; k < s->n_edges; k++) l->n += rs_edge_part(s, k) == RS_PART_LOADER;
    l->whole += (double)rs_sub_sat(s->end, s->start);
}

static rs_status sum_loading(const rs_judged *job, loading *l, rs_error *err)
{
    const rs_engine *e = job->engine;
    l->first = rs_calloc(e->n_ranks + 1, sizeof *l->first);
    if (!l->first) return rs_fail_nomem(err, "diagnose");
    for (size_t r = 0; r < e->n_ranks; r++) l->first[r + 1] = l->first[r] + e->ranks[r]->n_steps;
    size_t n = l->first[e->n_ranks];
    l->rank = rs_calloc(e->n_ranks + 1, sizeof *l->rank);
    l->step = rs_calloc(n + 1, sizeof *l->step);
    l->spare = rs_calloc(n + e->n_ranks + 1, sizeof *l->spare);
    if (!l->rank || !l->step || !l->spare) return rs_fail_nomem(err, "diagnose");
    for (size_t r = 0; r < e->n_ranks; r++) sum_rank(job, r, l);
    for (size_t k = 0; k < n; k++) l->spare[k] = l->step[k];
    if (n) l->usual = rs_select_number(l->spare, n, (n - 1) / 2);
    return RS_OK;
}

static bool is_stalled(const loading *l, int64_t ns)
{
    return ns > l->longest / 2 && (double)ns > STALL * (double)l->usual;
}

/* A step of a rank. */
typedef struct stall {
    int64_t step, ns; /* step: its number */
    size_t rank;
} stall;

typedef struct stalls {
    stall *items;
    size_t n;
    size_t ranks;   /* that have one */
    int64_t *steps; /* their numbers, ascending */
    size_t n_steps;
    int64_t sum; /* the longest of each of them */
} stalls;

static void stalls_clear(stalls *s)
{
    rs_free(s->items);
    rs_free(s->steps);
}

/* Of a rank; false: it has them in so many of its steps that its loader is slow as such. */
static bool list_stalls(const rs_engine *e, const loading *l, size_t r, stalls *out)
{
    size_t before = out->n, n = e->ranks[r]->n_steps;
    const int64_t *ns = l->step + l->first[r];
    for (size_t k = 0; k < n; k++)
        if (is_stalled(l, ns[k])) out->items[out->n++] = (stall){e->ranks[r]->steps[k].number, ns[k], r};
    out->ranks += out->n > before;
    return (double)(out->n - before) <= STALLED_STEPS * (double)n;
}

/* *found: waits of few steps are worth a question, whatever ranks they are of. */
static rs_status find_stalls(const rs_engine *e, const loading *l, stalls *out, bool *found, rs_error *err)
{
    static const rs_order by_step[] = {RS_RISING(stall, step), RS_FALLING(stall, ns)};
    size_t n = l->first[e->n_ranks];
    bool few = true;
    out->items = rs_malloc((n + 1) * sizeof *out->items);
    out->steps = rs_malloc((n + 1) * sizeof *out->steps);
    if (!out->items || !out->steps) return rs_fail_nomem(err, "diagnose");
    for (size_t r = 0; r < e->n_ranks; r++) few &= list_stalls(e, l, r, out);
    RS_SORT(out->items, out->n, by_step);
    for (size_t i = 0; i < out->n; i++) {
        if (i && out->items[i].step == out->items[i - 1].step) continue;
        out->steps[out->n_steps++] = out->items[i].step;
        out->sum = rs_add_sat(out->sum, out->items[i].ns);
    }
    *found = few && out->n && (double)out->sum * (double)e->n_ranks >= LEAST_STALLED * l->whole;
    return RS_OK;
}

static void remove_loading(const rs_judged *job, const size_t *rank, const stalls *of, rs_what_if *edits)
{
    rs_expr *one = rs_what_if_scale_to(edits, 0);
    rs_selector_word(one, RS_SELECT_PART, RS_PART_OF_LOADER);
    if (rank) rs_selector_number(one, RS_SELECT_RANK, RS_OP_EQ, job->rank_of[*rank]);
    if (of) rs_selector_numbers(one, RS_SELECT_STEP, of->steps, of->n_steps);
}

/* Few steps are named, as the others are no sample of them: a question about named steps has no sampling error. */
static bool accuse_stalls(const rs_judged *job, const stalls *s, rs_candidate *c, rs_candidates *out)
{
    const size_t *rank = s->ranks == 1 ? &s->items->rank : NULL;
    size_t steps =
        rank ? rs_judged_steps(job->engine, *rank) : rs_judged_all_steps(job->engine) / job->engine->n_ranks;
    c->facts.ms = (double)s->sum / 1e6 / (double)(steps ? steps : 1);
    if (s->n_steps == 1)
        c->facts.step = (double)*s->steps;
    else
        c->facts.n = (double)s->n_steps;
    remove_loading(job, rank, s, &c->edits);
    return !rank || rs_accuse_rank(c, job, *rank, out);
}

/* Whether the rank's loader is slow as all of its host is: a case of that already. */
static bool is_slow_host(const rs_judged *job, const rs_candidates *all, size_t rank)
{
    for (size_t i = 0; i < all->n; i++) {
        const rs_candidate *c = &all->items[i];
        if (c->fault->find == rs_find_slow_host && c->culprits->kind == RS_CULPRIT_RANK &&
            c->culprits->number == job->rank_of[rank] && c->edits.n > 1)
            return true;
    }
    return false;
}

/* A rank that waits much longer for data than the others do is named, else the job is. Some time in a loader is usual. False:
 * there is no more than that. */
static bool accuse_loader(const rs_judged *job, const loading *l, rs_candidate *c, rs_candidates *out,
                          bool *ok)
{
    size_t n = job->engine->n_ranks, worst = 0;
    for (size_t r = 1; r < n; r++)
        if (l->rank[r] > l->rank[worst]) worst = r;
    size_t n_loading = 0; /* of a pipeline some stages load, and others do not */
    for (size_t r = 0; r < n; r++)
        if (l->rank[r] > 0) l->spare[n_loading++] = l->rank[r];
    int64_t median = n_loading > 1 ? rs_select_number(l->spare, n_loading, (n_loading - 1) / 2) : 0;
    *ok = true;
    if (n > 1 && (double)l->rank[worst] >= OFF_LOADER * (double)(median > 0 ? median : 1)) {
        if (is_slow_host(job, out, worst)) return false;
        c->facts.ms = (double)l->rank[worst] / 1e6 / (double)rs_judged_steps(job->engine, worst);
        remove_loading(job, &worst, NULL, &c->edits);
        *ok = rs_accuse_rank(c, job, worst, out);
        return true;
    }
    if ((double)l->all < LEAST_LOADER * l->whole || (double)l->all < READY * (double)l->n) return false;
    if ((double)l->all < LOADER_SHARE * l->whole) c->kind = RS_VERDICT_OPPORTUNITY;
    c->facts.ms = (double)l->all / 1e6 / (double)rs_judged_all_steps(job->engine);
    rs_what_if_add(&c->edits, RS_EDIT_NO_LOADER);
    return true;
}

rs_status rs_find_loader(const rs_judged *job, const rs_fault_kind *fault, rs_candidates *out,
                         const char **lacks, rs_error *err)
{
    RS_SCOPED(loading_clear) loading l = {0};
    RS_SCOPED(stalls_clear) stalls s = {0};
    bool few = false, ok = true;
    RS_TRY(sum_loading(job, &l, err));
    if (!l.all) {
        *lacks = "the traces show no data loader (enumerate(DataLoader)#...)";
        return RS_OK;
    }
    RS_TRY(find_stalls(job->engine, &l, &s, &few, err));
    rs_candidate c = rs_candidate_of(fault, RS_VERDICT_FINDING);
    if (few)
        ok = accuse_stalls(job, &s, &c, out);
    else if (!accuse_loader(job, &l, &c, out, &ok))
        return RS_OK;
    c.excess = c.facts.ms * 1e3;
    return rs_candidate_add(out, &c, ok, err);
}
