/* whatif from traces: what is asked beside ranks, hosts, roles, links and steps, and what --scale asks. */
#include <stdio.h>
#include <string.h>

#include "analysis/whatif_trace.h"
#include "base/memory.h"
#include "base/try.h"

/* ---- units beside ranks ---------------------------------------------------------------------------------- */

static rs_status put_unit_row(rs_whatif_job *a, const char *kind, const char *name, const rs_scenario *u,
                              rs_error *err)
{
    double without, with;
    RS_TRY(rs_scenario_mend(a, u, &without, err));
    RS_TRY(rs_scenario_leave(a, u, &with, err));
    return rs_whatif_put_unit(kind, name, with / a->t_repair, rs_scenario_per_step(a, a->t - without),
                              100 * (a->t - without) / a->t, a->result, err);
}

/* "2,3 (dp_1)": the ranks that meet. */
static void name_group(const rs_whatif_job *a, uint32_t group, char *out, size_t size)
{
    const rs_engine *e = &a->e;
    size_t used = 0;
    out[0] = '\0';
    for (size_t k = 0; k < e->n_meetings; k++) {
        if (a->ref.group[k] != group) continue;
        const rs_coll_instance *c = &e->coll.instances[e->meetings[k].instance];
        for (uint32_t i = c->first; i < c->first + c->n && used + 24 < size; i++)
            used += (size_t)snprintf(out + used, size - used, "%s%lld", used ? "," : "",
                                     (long long)a->of[e->coll.arrivals[i].rank]->rank);
        return;
    }
}

/* Each step takes two replays of all, and as many again for the rank that is to blame most. */
#define UNITS_COST 10000000 /* nodes, by the most of which so many replays are made in a second */
#define LEAST_STEPS 16

/* The steps that are asked about, by step: all where that takes seconds, else the longest. */
static rs_status choose_steps(rs_whatif_job *a, bool *asked, rs_error *err)
{
    size_t most = UNITS_COST / (a->e.n_nodes + 1), n;
    double length;
    if (most < LEAST_STEPS) most = LEAST_STEPS;
    RS_TRY(rs_scenario_replay(a, &a->recorded, &length, err)); /* a->steps are the recording's */
    RS_TRY(rs_whatif_choose_longest(a->steps, a->n_steps, most, asked, &n, err));
    if (n < a->n_steps)
        rs_result_note(a->result, "units: of %zu steps the longest %zu were asked about", a->n_steps, n);
    return RS_OK;
}

static rs_status put_step_units(rs_whatif_job *a, const bool *asked, rs_error *err)
{
    char name[64];
    for (size_t s = 0; s < a->n_steps; s++) {
        rs_scenario u = RS_SCENARIO_ALL;
        u.step = (int64_t)s;
        snprintf(name, sizeof name, "%lld", (long long)a->step_numbers[s]);
        if (asked[s]) RS_TRY(put_unit_row(a, "step", name, &u, err));
    }
    /* of the rank that is to blame most, which step it was */
    size_t worst = 0;
    for (size_t r = 1; r < a->e.n_ranks; r++)
        if (a->add[r] > a->add[worst]) worst = r;
    for (size_t s = 0; s < a->n_steps; s++) {
        rs_scenario u = RS_SCENARIO_ALL;
        u.rank = (int64_t)worst;
        u.step = (int64_t)s;
        snprintf(name, sizeof name, "%lld:%lld", (long long)a->of[worst]->rank,
                 (long long)a->step_numbers[s]);
        if (asked[s]) RS_TRY(put_unit_row(a, "rank:step", name, &u, err));
    }
    return RS_OK;
}

rs_status rs_whatif_put_units(rs_whatif_job *a, rs_error *err)
{
    char name[256];
    for (size_t r = 0; r < a->e.n_ranks; r++) {
        size_t first = 0;
        rs_scenario u = RS_SCENARIO_ALL;
        while (a->hosts[r] && !(a->hosts[first] && strcmp(a->hosts[first], a->hosts[r]) == 0)) first++;
        if (!a->hosts[r] || first != r) continue;
        u.host = a->hosts[r];
        RS_TRY(put_unit_row(a, "host", a->hosts[r], &u, err));
    }
    for (size_t i = 0; a->ref.n_roles > 1 && i < a->ref.n_roles; i++) {
        rs_scenario u = RS_SCENARIO_ALL;
        u.role = (int64_t)i;
        snprintf(name, sizeof name, "%zu", i);
        RS_TRY(put_unit_row(a, "role", name, &u, err));
    }
    for (uint32_t i = 0; i < a->ref.n_groups; i++) {
        rs_scenario u = RS_SCENARIO_ALL;
        u.group = i;
        u.links = true;
        name_group(a, i, name, sizeof name);
        RS_TRY(put_unit_row(a, "link", name, &u, err));
    }
    RS_LOCAL bool *asked = rs_calloc(a->n_steps + 1, sizeof *asked);
    rs_status status = asked ? choose_steps(a, asked, err) : rs_fail_nomem(err, "what-if");
    if (status == RS_OK) status = put_step_units(a, asked, err);
    return status;
}

/* ---- scales ---------------------------------------------------------------------------------------------- */

static rs_status scale_unit(const rs_whatif_job *a, const rs_whatif_scale *scale, rs_scenario *u,
                            rs_error *err)
{
    *u = (rs_scenario)RS_SCENARIO_ALL;
    for (int k = 0; scale->number < 0 && k < RS_N_SCENARIO_KINDS; k++)
        if (rs_whatif_scale_is(scale, rs_scenario_kinds[k])) {
            u->kind = k;
            return RS_OK;
        }
    for (size_t r = 0; r < a->e.n_ranks; r++) {
        if (scale->number < 0 || !rs_whatif_scale_is(scale, "rank") || a->of[r]->rank != scale->number)
            continue;
        u->rank = (int64_t)r;
        return RS_OK;
    }
    for (size_t s = 0; s < a->n_steps; s++)
        if (rs_whatif_scale_is(scale, "step") && a->step_numbers[s] == scale->number) {
            u->step = (int64_t)s;
            return RS_OK;
        }
    if (rs_whatif_scale_is(scale, "role") && scale->number >= 0 && scale->number < (int64_t)a->ref.n_roles) {
        u->role = scale->number;
        return RS_OK;
    }
    for (size_t r = 0; r < a->e.n_ranks; r++) {
        size_t n = a->hosts[r] ? strlen(a->hosts[r]) : 0;
        if (n && scale->n_what == n + 5 && memcmp(scale->what, "host:", 5) == 0 &&
            memcmp(scale->what + 5, a->hosts[r], n) == 0) {
            u->host = a->hosts[r];
            return RS_OK;
        }
    }
    return rs_whatif_refuse_scale(
        scale, "compute, communication, memory, host, rank:N, role:N, host:NAME and step:N of these traces",
        err);
}

rs_status rs_whatif_put_scales(rs_whatif_job *a, rs_error *err)
{
    RS_TRY(rs_whatif_scales(a->run->options, &a->scales, &a->n_scales, &a->scale_block, err));
    for (size_t i = 0; i < a->n_scales; i++) {
        rs_scenario u;
        double t;
        RS_TRY(scale_unit(a, &a->scales[i], &u, err));
        RS_TRY(rs_scenario_scale(a, &u, a->scales[i].factor, &t, err));
        RS_TRY(rs_whatif_put_scale(a->scales[i].text, a->t / t, a->result, err));
    }
    return RS_OK;
}
