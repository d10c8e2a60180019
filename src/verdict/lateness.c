/* Why ranks come late to collectives. Members of a collective wait for the last one; what made it later than the member that
 * waits is the difference of the paths to both (rs_forest_difference), and the rank whose time that is caused the wait. So a
 * rank that itself waited for a third one is late because of that one. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/interval.h"
#include "base/memory.h"
#include "base/order.h"
#include "base/stats.h"
#include "base/try.h"
#include "engine/forest.h"
#include "match/collective_wait.h"
#include "verdict/judge.h"

#define CLIMBS 16       /* links for each node: beyond, the later waits are not looked at */
#define MOST_RANKS 2048 /* who is late because of whom is a square of ranks */

typedef struct lateness {
    rs_forest f;
    double *caused;  /* ns, by late rank * n_ranks + cause */
    double *waited;  /* ns, by late rank */
    double *of_rank; /* ns of the wait at hand, by rank */
    uint64_t steps;
} lateness;

static bool count_link(void *context, const rs_link *link, int64_t ns)
{
    lateness *l = context;
    if (link->part != RS_PART_WINDOW && link->node != RS_NO_NODE)
        l->of_rank[rs_engine_rank_of(l->f.e, link->node)] += (double)ns;
    return true;
}

/* Collectives alone: a receive waits for its sender by nature. */
static bool is_collective(const rs_engine *e, uint32_t node)
{
    if (!(e->kind[node] & RS_ENGINE_MEETS)) return false;
    const rs_meeting *m = &e->meetings[e->meeting_of[rs_engine_member(e, node)]];
    return rs_coll_compares(&e->coll, &e->coll.instances[m->instance]);
}

/* Shares one wait out over those ranks whose time made the last member later. */
static void add_wait(lateness *l, const rs_wait *w)
{
    const rs_engine *e = l->f.e;
    size_t n = e->n_ranks, late = rs_engine_rank_of(e, w->until >> 1);
    double sum = 0;
    memset(l->of_rank, 0, n * sizeof *l->of_rank);
    if (w->ns < rs_clock_trust_between(&e->trust, w->rank, late)) return;
    rs_forest_difference(&l->f, w->until, w->node << 1, count_link, l, &l->steps);
    for (size_t r = 0; r < n; r++) sum += l->of_rank[r] > 0 ? l->of_rank[r] : 0;
    l->waited[late] += (double)w->ns;
    for (size_t r = 0; r < n && sum > 0; r++)
        if (l->of_rank[r] > 0) l->caused[late * n + r] += (double)w->ns * l->of_rank[r] / sum;
}

static const rs_order by_wait[] = {RS_FALLING(rs_lateness, wait_us), RS_RISING(rs_lateness, rank)};

static bool accuses(const rs_candidate *c, int64_t rank)
{
    bool found = false;
    for (size_t i = 0; i < c->n_culprits; i++) {
        const rs_culprit *x = &c->culprits[i];
        found |= x->kind == RS_CULPRIT_RANK && x->number == rank;
        for (size_t k = 0; k < x->n_ranks; k++) found |= x->ranks[k] == rank;
    }
    return found && c->fault->own_time && c->kind == RS_VERDICT_FINDING;
}

/* Some rank is always last; at fault is one of which a finding says so. */
static bool is_accused(const rs_judgement *j, int64_t rank)
{
    bool found = j->uncertain && accuses(j->uncertain, rank);
    for (size_t i = 0; !found && i < j->n; i++) found = accuses(j->rows[i].candidate, rank);
    return found;
}

static rs_status put_all(rs_judgement *j, const lateness *l, const int64_t *rank_of, rs_error *err)
{
    size_t n = j->engine.n_ranks, steps = j->n_steps ? j->n_steps : 1;
    /* that all others wait that long is as significant as a gain */
    double least = j->enough / 100 * j->before * 1e3 * (double)steps * (double)(n - 1);
    j->late = rs_malloc((n + 1) * sizeof *j->late);
    if (!j->late) return rs_fail_nomem(err, "diagnose");
    for (size_t r = 0; r < n; r++) {
        size_t cause = r;
        if (l->waited[r] <= least) continue;
        for (size_t k = 0; k < n; k++)
            if (l->caused[r * n + k] > l->caused[r * n + cause]) cause = k;
        if (!is_accused(j, rank_of[cause])) continue;
        j->late[j->n_late++] =
            (rs_lateness){rank_of[r], rank_of[cause], l->waited[r] / 1e3, l->caused[r * n + cause] / 1e3};
    }
    RS_SORT(j->late, j->n_late, by_wait);
    return RS_OK;
}

rs_status rs_judge_lateness(rs_judgement *j, const int64_t *rank_of, rs_error *err)
{
    const rs_engine *e = &j->engine;
    size_t n = e->n_ranks;
    if (j->reason || n < 2 || n > MOST_RANKS) return RS_OK;
    lateness l = {.f = {e, &j->replayed.recorded, &j->replayed.times},
                  .caused = rs_calloc(n * n + 1, sizeof *l.caused),
                  .waited = rs_calloc(n + 1, sizeof *l.waited),
                  .of_rank = rs_calloc(n + 1, sizeof *l.of_rank)};
    rs_status status = l.caused && l.waited && l.of_rank ? RS_OK : rs_fail_nomem(err, "diagnose");
    for (size_t r = 0; status == RS_OK && r < n; r++) {
        rs_wait *waits = NULL;
        size_t n_waits = 0;
        status = rs_waits_find(&l.f, RS_WAIT_COMMUNICATION, r, &waits, &n_waits, err);
        for (size_t i = 0; status == RS_OK && i < n_waits && l.steps <= CLIMBS * (uint64_t)e->n_nodes; i++)
            if (is_collective(e, waits[i].node)) add_wait(&l, &waits[i]);
        rs_free(waits);
    }
    if (status == RS_OK) status = put_all(j, &l, rank_of, err);
    rs_free(l.caused);
    rs_free(l.waited);
    rs_free(l.of_rank);
    return status;
}
