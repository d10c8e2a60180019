/* How long ranks take for what other ranks do, too. */
#include "verdict/levels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/interval.h"
#include "base/memory.h"
#include "base/order.h"
#include "base/stats.h"
#include "base/strings.h"
#include "base/try.h"

/* times its peers': computation that differs less is no finding. Whole GPUs of one kind differ by a few percent and nothing is wrong with
 * them (Sinha et al., "Not All GPUs Are Created Equal", SC 2022) */
#define LEAST_COMPUTE 1.025
#define LEAST_OF_FEW 1.03 /* the same of few ranks, which do not show by how much ranks differ */
#define FEW 4
#define LEAST_HOST 1.10 /* the same of host threads, which vary more */
#define DEVIATIONS 3    /* standard, by which a slow rank exceeds the others */
#define ERROR_OF_MEDIANS                                                                                     \
    1.31 /* times the distance of quartiles over the root of steps: how far two medians are apart by chance */
#define USUAL_DOUBT 0.01 /* two standard deviations, where there are too few ranks to measure them */
#define BINS 1024        /* kernels by how many times as long they take: 512 a unit */

void rs_levels_clear(rs_levels *l)
{
    rs_free(l->items);
    rs_free(l->step);
    rs_free(l->by_role);
    *l = (rs_levels){0};
}

/* ---- sums ---------------------------------------------------------------------------------------------- */

typedef struct adding {
    const rs_judged *job;
    rs_level *level;
    double *own, *usual; /* by step of the rank */
    double bins[BINS];
    const double *times; /* by step, once known: then distances from it are added, and nothing else */
    double apart;
} adding;

static void add(adding *a, int32_t step, int64_t own, int64_t usual)
{
    if (a->times) {
        a->apart += step >= 0 ? fabs((double)own - a->times[step] * (double)usual) : 0;
        return;
    }
    a->level->own += (double)own;
    a->level->usual += (double)usual;
    if (step >= 0) {
        a->own[step] += (double)own;
        a->usual[step] += (double)usual;
    }
    if (usual <= 0) return;
    double bin = (double)own / (double)usual * (BINS / 2.0);
    a->bins[bin < BINS - 1 ? (size_t)bin : BINS - 1] += (double)usual;
}

/* Work outside of steps has no peers where there are steps. */
static void add_computation(adding *a, size_t rank)
{
    const rs_judged *job = a->job;
    const rs_skeleton *s = job->engine->ranks[rank];
    for (uint32_t i = 1; i < s->n; i++) {
        uint32_t node = job->engine->node_base[rank] + i;
        if (!job->reference->shared[node] || rs_skeleton_at(s, i)->part != RS_PART_COMPUTE ||
            (s->n_steps && rs_skeleton_step_of(s, i) < 0))
            continue;
        add(a, rs_skeleton_step_of(s, i), job->recorded->work[node], job->reference->repair.work[node]);
    }
}

/* What host threads themselves take between their points, where other ranks do the same: what is known of them alone says
 * nothing. Without a GPU, stretches are compared as sums (engine/reference.c). */
static void add_host_time(adding *a, size_t rank)
{
    const rs_judged *job = a->job;
    const rs_engine *e = job->engine;
    const rs_skeleton *s = e->ranks[rank];
    for (uint32_t i = 1; i < s->n; i++) {
        uint32_t edge = e->edge_base[rank] + rs_skeleton_first(s, i);
        if (rs_skeleton_is_work(s, i) || rs_skeleton_first(s, i) == rs_skeleton_first(s, i + 1)) continue;
        if (!s->comm->on_host && !job->reference->shared[e->node_base[rank] + i]) continue;
        int64_t own = job->recorded->edge[edge], usual = job->reference->repair.edge[edge];
        if (rs_edge_part(s, rs_skeleton_first(s, i)) == RS_PART_HOST && own != RS_NO_EDGE &&
            usual != RS_NO_EDGE)
            add(a, rs_skeleton_step_of(s, i), own, usual);
    }
}

/* A stretch of host time of one step. */
typedef struct ratio {
    double times, usual;
    int32_t step;
} ratio;

static int by_step(const void *a, const void *b)
{
    const ratio *x = a, *y = b;
    if (x->step != y->step) return x->step < y->step ? -1 : 1;
    return x->times < y->times ? -1 : x->times > y->times;
}

/* By step how many times as long the host takes in half of its time: a pause in one stretch is no load. */
static rs_status take_medians(const rs_judged *job, size_t rank, double *step, rs_error *err)
{
    const rs_skeleton *s = job->engine->ranks[rank];
    const int64_t *repair = job->reference->repair.edge + job->engine->edge_base[rank];
    RS_LOCAL ratio *all = rs_malloc((s->n + 1) * sizeof *all);
    size_t n = 0;
    if (!all) return rs_fail_nomem(err, "diagnose");
    for (uint32_t i = 1; i < s->n; i++) {
        int64_t own = rs_judged_host_time(job, rank, i),
                usual = own > 0 ? repair[rs_skeleton_first(s, i)] : 0;
        if (rs_skeleton_step_of(s, i) >= 0 && usual > 0)
            all[n++] = (ratio){(double)own / (double)usual, (double)usual, rs_skeleton_step_of(s, i)};
    }
    if (n) qsort(all, n, sizeof *all, by_step);
    for (size_t i = 0, k; i < n; i = k) {
        double sum = 0, half = 0;
        for (k = i; k < n && all[k].step == all[i].step; k++) sum += all[k].usual;
        size_t at = i;
        while (at + 1 < k && (half += all[at].usual) < sum / 2) at++;
        step[all[i].step] = all[at].times;
    }
    return RS_OK;
}

/* How many times as long the low quartile of the computation takes. */
static double low_quartile(const adding *a)
{
    double sum = 0;
    size_t k = 0;
    for (; k < BINS - 1; k++)
        if ((sum += a->bins[k]) >= a->level->usual / 4) break;
    return ((double)k + 0.5) / (BINS / 2.0);
}

/* scratch: room for the rank's steps, three times. */
static void sum_rank(const rs_judged *job, size_t rank, bool host, double *scratch, rs_level *out,
                     double *step)
{
    size_t n_steps = job->engine->ranks[rank]->n_steps, n = 0;
    adding a = {job, out, scratch, scratch + n_steps, {0}, NULL, 0};
    double *sorted = scratch + 2 * n_steps;
    memset(scratch, 0, 2 * n_steps * sizeof *scratch);
    if (host)
        add_host_time(&a, rank);
    else
        add_computation(&a, rank);
    out->times = out->low = out->even = out->usual > 0 ? out->own / out->usual : 0;
    for (size_t k = 0; k < n_steps; k++) {
        step[k] = a.usual[k] > 0 ? a.own[k] / a.usual[k] : 0;
        if (step[k] > 0) sorted[n++] = step[k];
    }
    if (out->times > 0 && !host) out->even = low_quartile(&a);
    if (!n) return;
    rs_sort_doubles(sorted, n);
    out->low = sorted[n / 4];
    if (!host) {
        a.times = step;
        add_computation(&a, rank);
        out->vary = out->own > 0 ? a.apart / out->own : 0;
        return;
    }
    /* a pause in one step does not make a host slow, nor a wait that nothing explains */
    out->even = out->times = sorted[(n - 1) / 2];
    out->error = ERROR_OF_MEDIANS * (sorted[3 * n / 4] - sorted[n / 4]) / sqrt((double)n) / out->times;
}

/* ---- against each other -------------------------------------------------------------------------------- */

size_t rs_levels_role_end(const rs_levels *l, size_t from)
{
    size_t to = from + 1;
    while (to < l->n && l->by_role[to].key == l->by_role[from].key) to++;
    return to;
}

/* The lower middle one of a column of the ranks of a role; scratch: room for them. */
static double middle(const rs_levels *l, size_t from, size_t to, size_t column, double *scratch)
{
    for (size_t i = from; i < to; i++)
        memcpy(&scratch[i - from], (const char *)&l->items[l->by_role[i].value] + column, sizeof *scratch);
    rs_sort_doubles(scratch, to - from);
    return scratch[(to - from - 1) / 2];
}

/* Beyond what a rank of the role is slow: the median distance of those below the median says how much ranks differ, as
 * those above it may be what is looked for. */
static double least_of(const rs_levels *l, size_t from, size_t to, bool host, double *scratch)
{
    size_t n = 0;
    double least = host ? LEAST_HOST : to - from < FEW ? LEAST_OF_FEW : LEAST_COMPUTE;
    for (size_t i = from; i < to; i++) {
        double less = 1 - l->items[l->by_role[i].value].times;
        if (less > 0) scratch[n++] = less;
    }
    rs_sort_doubles(scratch, n);
    double beyond = n ? 1 + DEVIATIONS * 1.4826 * scratch[n / 2] : 1;
    return beyond > least ? beyond : least;
}

/* What a slow rank would take is the mean of the ranks that are not slow. */
static void compare_with_usual(rs_levels *l, size_t from, size_t to)
{
    double sum = 0, squares = 0;
    size_t n = 0;
    for (size_t i = from; i < to; i++) {
        const rs_level *x = &l->items[l->by_role[i].value];
        if (x->slow) continue;
        sum += x->times;
        squares += x->times * x->times;
        n++;
    }
    double mean = n ? sum / (double)n : 1, doubt = USUAL_DOUBT;
    if (n > 2) {
        double variance = (squares - sum * mean) / (double)(n - 1);
        doubt = 2 * sqrt(variance > 0 ? variance : 0) / mean;
    }
    for (size_t i = from; i < to; i++) {
        rs_level *x = &l->items[l->by_role[i].value];
        x->times /= mean;
        x->doubt = doubt;
    }
}

static void compare_role(rs_levels *l, size_t from, size_t to, bool host, double *scratch)
{
    double times = middle(l, from, to, offsetof(rs_level, times), scratch),
           even = middle(l, from, to, offsetof(rs_level, even), scratch);
    for (size_t i = from; i < to; i++) {
        rs_level *x = &l->items[l->by_role[i].value];
        x->times /= times;
        x->low /= times;
        x->even /= even;
    }
    double least = least_of(l, from, to, host, scratch);
    for (size_t i = from; i < to; i++) {
        rs_level *x = &l->items[l->by_role[i].value];
        double half = 1 + (x->times - 1) / 2;
        x->slow = x->times >= fmax(least, 1 + DEVIATIONS * x->error);
        x->off = x->slow && x->even >= half;
    }
    compare_with_usual(l, from, to);
}

static rs_status compare_roles(rs_levels *l, const rs_judged *job, bool host, rs_error *err)
{
    size_t n_ranks = job->engine->n_ranks, kept = 0;
    RS_LOCAL double *scratch = rs_malloc((n_ranks + 1) * sizeof *scratch);
    l->by_role = rs_malloc((n_ranks + 1) * sizeof *l->by_role);
    if (!scratch || !l->by_role) return rs_fail_nomem(err, "diagnose");
    for (size_t r = 0; r < n_ranks; r++)
        if (l->items[r].times > 0) l->by_role[l->n++] = (rs_keyed){job->reference->role[r], (uint32_t)r};
    if (!rs_keyed_sort(l->by_role, l->n)) return rs_fail_nomem(err, "diagnose");
    for (size_t from = 0, to; from < l->n; from = to) {
        to = rs_levels_role_end(l, from);
        for (size_t i = from; to - from < 2 && i < to; i++) l->items[l->by_role[i].value].times = 0;
        if (to - from < 2) continue;
        compare_role(l, from, to, host, scratch);
        memmove(l->by_role + kept, l->by_role + from, (to - from) * sizeof *l->by_role);
        kept += to - from;
    }
    l->n = kept;
    return RS_OK;
}

/* ---- against ranks of other roles ---------------------------------------------------------------------- */

#define LEAST_ACROSS 1.25   /* times ranks that do something else: calls cost more where caches are colder */
#define ACROSS_DOUBT 0.2    /* two standard deviations of such a comparison: synthesised twins */
#define LEAST_NAMESAKES 8   /* stretches of a name on a rank say what is usual there */
#define LEAST_IN_COMMON 0.5 /* of a rank's host time: names that others have, too */

/* Stretches of host time in steps, by the name of the point that they lead to: of one name by rank. */
typedef struct stretches {
    rs_keyed *by_name; /* key: a hash of the name; value: index into the others */
    int64_t *ns;
    uint32_t *rank;
    size_t n;
} stretches;

static void clear_stretches(stretches *s)
{
    rs_free_all(s->by_name, s->ns, s->rank);
}

static rs_status list_stretches(const rs_judged *job, stretches *out, rs_error *err)
{
    const rs_engine *e = job->engine;
    out->by_name = rs_malloc((e->n_nodes + 1) * sizeof *out->by_name);
    out->ns = rs_malloc((e->n_nodes + 1) * sizeof *out->ns);
    out->rank = rs_malloc((e->n_nodes + 1) * sizeof *out->rank);
    bool ok = out->by_name && out->ns && out->rank;
    for (uint32_t r = 0; ok && r < e->n_ranks; r++) {
        const rs_skeleton *s = e->ranks[r];
        RS_LOCAL uint64_t *names = rs_pool_hashes(&s->pool);
        ok = names != NULL;
        for (uint32_t i = 1; ok && i < s->n; i++) {
            const int64_t ns = rs_judged_host_time(job, r, i);
            const uint32_t name = rs_skeleton_at(s, i)->name;
            if (ns <= 0 || name == RS_NO_STRING || rs_skeleton_step_of(s, i) < 0) continue;
            out->by_name[out->n] = (rs_keyed){(int64_t)names[name], (uint32_t)out->n};
            out->rank[out->n] = r;
            out->ns[out->n++] = ns;
        }
    }
    return ok && rs_keyed_sort(out->by_name, out->n) ? RS_OK : rs_fail_nomem(err, "diagnose");
}

/* Sums by rank over names: of all its stretches, of the middle one on it, and of the same on the lower middle rank. */
typedef struct across {
    double *all, *own, *usual; /* ns */
    size_t n_ranks;
} across;

/* A rank's stretches of one name. */
typedef struct namesakes {
    double median, count;
    uint32_t rank;
} namesakes;

/* The stretches [from, to) are of one name. values, of_rank, medians: room for them, and for ranks. */
static void add_name(across *a, const stretches *s, size_t from, size_t to, int64_t *values,
                     namesakes *of_rank, double *medians)
{
    size_t n = 0;
    for (size_t i = from, next; i < to; i = next) {
        const uint32_t rank = s->rank[s->by_name[i].value];
        for (next = i; next < to && s->rank[s->by_name[next].value] == rank; next++)
            values[next - i] = s->ns[s->by_name[next].value];
        if (next - i < LEAST_NAMESAKES) continue;
        medians[n] = (double)rs_select_number(values, next - i, (next - i - 1) / 2);
        of_rank[n] = (namesakes){medians[n], (double)(next - i), rank};
        n++;
    }
    if (n < 2) return;
    rs_sort_doubles(medians, n);
    for (size_t k = 0; k < n; k++) {
        a->own[of_rank[k].rank] += of_rank[k].median * of_rank[k].count;
        a->usual[of_rank[k].rank] += medians[(n - 1) / 2] * of_rank[k].count;
    }
}

static rs_status sum_names(const rs_judged *job, across *a, rs_error *err)
{
    RS_SCOPED(clear_stretches) stretches s = {0};
    RS_TRY(list_stretches(job, &s, err));
    RS_LOCAL int64_t *values = rs_malloc((s.n + 1) * sizeof *values);
    RS_LOCAL namesakes *of_rank = rs_malloc((a->n_ranks + 1) * sizeof *of_rank);
    RS_LOCAL double *medians = rs_malloc((a->n_ranks + 1) * sizeof *medians);
    if (!values || !of_rank || !medians) return rs_fail_nomem(err, "diagnose");
    for (size_t i = 0; i < s.n; i++) a->all[s.rank[i]] += (double)s.ns[i];
    for (size_t i = 0, next; i < s.n; i = next) {
        for (next = i + 1; next < s.n && s.by_name[next].key == s.by_name[i].key;) next++;
        add_name(a, &s, i, next, values, of_rank, medians);
    }
    return RS_OK;
}

/* Where all ranks of a role share a slow machine, none of them has a peer that is faster: but what one call takes does not depend on the stage
 * that makes it. Such a rank's host takes so many times as long as the lower middle rank's, name by name. */
static rs_status compare_across(rs_levels *l, const rs_judged *job, rs_error *err)
{
    const size_t n_ranks = job->engine->n_ranks;
    RS_LOCAL double *sums = rs_calloc(3 * n_ranks + 1, sizeof *sums);
    RS_LOCAL double *times = rs_malloc((n_ranks + 1) * sizeof *times);
    RS_LOCAL uint8_t *role_is_known = rs_calloc(job->reference->n_roles + 1, 1);
    if (!sums || !times || !role_is_known) return rs_fail_nomem(err, "diagnose");
    across a = {sums, sums + n_ranks, sums + 2 * n_ranks, n_ranks};
    RS_TRY(sum_names(job, &a, err));
    size_t n = 0;
    for (size_t r = 0; r < n_ranks; r++) {
        if (l->items[r].slow) role_is_known[job->reference->role[r]] = 1;
        if (a.usual[r] > 0) times[n++] = a.own[r] / a.usual[r];
    }
    if (n < 2) return RS_OK;
    rs_sort_doubles(times, n);
    const double usual = times[(n - 1) / 2];
    for (size_t r = 0; r < n_ranks; r++) {
        rs_level *x = &l->items[r];
        const double own = a.usual[r] > 0 ? a.own[r] / a.usual[r] / usual : 0;
        if (role_is_known[job->reference->role[r]] || own < LEAST_ACROSS ||
            a.own[r] < LEAST_IN_COMMON * a.all[r])
            continue;
        x->own = a.all[r];
        x->times = x->low = x->even = own;
        x->doubt = ACROSS_DOUBT;
        x->slow = x->off = true;
    }
    return RS_OK;
}

rs_status rs_levels_find(const rs_judged *job, bool host, rs_levels *out, rs_error *err)
{
    const rs_engine *e = job->engine;
    size_t most = 0;
    for (size_t r = 0; r < e->n_ranks; r++)
        if (e->ranks[r]->n_steps > most) most = e->ranks[r]->n_steps;
    RS_LOCAL double *scratch = rs_malloc((3 * most + 1) * sizeof *scratch);
    *out = (rs_levels){.items = rs_calloc(e->n_ranks + 1, sizeof *out->items),
                       .step = rs_calloc(e->step_base[e->n_ranks] + 1, sizeof *out->step)};
    if (!scratch || !out->items || !out->step) return rs_fail_nomem(err, "diagnose");
    for (size_t r = 0; r < e->n_ranks; r++) {
        sum_rank(job, r, host, scratch, &out->items[r], out->step + e->step_base[r]);
        if (host) RS_TRY(take_medians(job, r, out->step + e->step_base[r], err));
    }
    RS_TRY(compare_roles(out, job, host, err));
    return host && job->reference->n_roles > 1 && !rs_judged_on_host(job) ? compare_across(out, job, err)
                                                                          : RS_OK;
}
