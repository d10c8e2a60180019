/* Making candidates: culprits with their ranks and hosts, and what several finders ask of the engine. */
#include "verdict/candidate.h"

#include <math.h>
#include <string.h>

#include "base/ascii.h"
#include "base/interval.h"
#include "base/memory.h"
#include "base/stats.h"
#include "base/try.h"
#include "match/collective_wait.h"

rs_candidate rs_candidate_of(const rs_fault_kind *fault, rs_verdict_kind kind)
{
    return (rs_candidate){.fault = fault,
                          .kind = kind,
                          .facts = {NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NULL, NULL, NULL}};
}

/* One more culprit, empty; NULL: out of memory. They are few: each is a new list, and the arena keeps the old one. */
static rs_culprit *accuse(rs_candidate *c, rs_culprit_kind kind, rs_candidates *out)
{
    rs_culprit *all = rs_arena_alloc(&out->arena, (c->n_culprits + 1) * sizeof *all);
    if (!all) return NULL;
    if (c->n_culprits) memcpy(all, c->culprits, c->n_culprits * sizeof *all);
    c->culprits = all;
    all[c->n_culprits] = (rs_culprit){.kind = kind, .number = -1};
    return &all[c->n_culprits++];
}

bool rs_accuse_name(rs_candidate *c, rs_culprit_kind kind, const char *name, size_t n, rs_candidates *out)
{
    rs_culprit *x = accuse(c, kind, out);
    return x && (x->name = rs_arena_strndup(&out->arena, name, n));
}

bool rs_is_source_line(const char *name, size_t n)
{
    for (size_t i = 0; i + 5 <= n; i++) {
        size_t k = i + 4;
        if (memcmp(name + i, ".py(", 4) != 0) continue;
        while (k < n && rs_is_digit(name[k])) k++;
        if (k > i + 4 && k + 1 < n && name[k] == ')' && name[k + 1] == ':') return true;
    }
    return false;
}

bool rs_accuse_call(rs_candidate *c, const char *name, size_t n, rs_candidates *out)
{
    return rs_accuse_name(c, rs_is_source_line(name, n) ? RS_CULPRIT_LINE : RS_CULPRIT_CALL, name, n, out);
}

/* The hosts of ranks, each once, where all are known and the job has several: else they say nothing. */
static bool take_hosts(rs_culprit *x, const rs_judged *job, const uint32_t *ranks, size_t n, rs_arena *arena)
{
    size_t n_ranks = job->engine->n_ranks, n_hosts = 0;
    bool several = false;
    for (size_t r = 0; r < n_ranks; r++) {
        if (!job->host[r]) return true;
        several = several || strcmp(job->host[r], job->host[0]) != 0;
    }
    if (!several) return true;
    const char **hosts = rs_arena_alloc(arena, n * sizeof *hosts);
    if (!hosts) return false;
    for (size_t i = 0; i < n; i++) {
        size_t k = 0;
        while (k < n_hosts && strcmp(hosts[k], job->host[ranks[i]]) != 0) k++;
        if (k == n_hosts)
            hosts[n_hosts++] = rs_arena_strndup(arena, job->host[ranks[i]], strlen(job->host[ranks[i]]));
        if (!hosts[n_hosts - 1]) return false;
    }
    x->hosts = hosts;
    x->n_hosts = n_hosts;
    return true;
}

bool rs_accuse_rank(rs_candidate *c, const rs_judged *job, size_t rank, rs_candidates *out)
{
    rs_culprit *x = accuse(c, RS_CULPRIT_RANK, out);
    if (x) x->number = job->rank_of[rank];
    return x && take_hosts(x, job, &(uint32_t){(uint32_t)rank}, 1, &out->arena);
}

bool rs_accuse_ranks(rs_candidate *c, const rs_judged *job, rs_culprit_kind kind, int64_t number,
                     const char *name, const uint32_t *ranks, size_t n, rs_candidates *out)
{
    rs_culprit *x = accuse(c, kind, out);
    int64_t *numbers = rs_arena_alloc(&out->arena, (n + 1) * sizeof *numbers);
    if (!x || !numbers) return false;
    for (size_t i = 0; i < n; i++) numbers[i] = job->rank_of[ranks[i]];
    x->number = number;
    x->ranks = numbers;
    x->n_ranks = n;
    if (name) x->name = rs_arena_strndup(&out->arena, name, strlen(name));
    return (!name || x->name) && take_hosts(x, job, ranks, n, &out->arena);
}

rs_status rs_candidate_add(rs_candidates *out, rs_candidate *c, bool ok, rs_error *err)
{
    rs_status status = ok && RS_GROW_ONE(out->items, out->n, out->capacity) ? rs_what_if_check(&c->edits, err)
                                                                            : rs_fail_nomem(err, "diagnose");
    if (status == RS_OK)
        out->items[out->n++] = *c;
    else
        rs_what_if_clear(&c->edits);
    return status;
}

void rs_candidates_clear(rs_candidates *all)
{
    for (size_t i = 0; i < all->n; i++) rs_what_if_clear(&all->items[i].edits);
    rs_free(all->items);
    rs_arena_clear(&all->arena);
    *all = (rs_candidates){0};
}

double rs_short_factor(double factor)
{
    return factor < 1e6 ? round(factor * 1e4) / 1e4 : 1e6;
}

bool rs_judged_on_host(const rs_judged *job)
{
    return rs_coll_on_host(&job->engine->coll);
}

int64_t rs_judged_loader_time(const rs_judged *job, size_t rank, int64_t *by_step)
{
    const rs_skeleton *s = job->engine->ranks[rank];
    const int64_t *recorded = job->recorded->edge + job->engine->edge_base[rank];
    int64_t sum = 0;
    for (uint32_t i = 0; i < s->n; i++)
        RS_EDGES_INTO(s, i, k) {
            if (rs_edge_part(s, k) != RS_PART_LOADER || recorded[k] <= 0) continue;
            sum = rs_add_sat(sum, recorded[k]);
            if (by_step && rs_skeleton_step_of(s, i) >= 0)
                by_step[rs_skeleton_step_of(s, i)] =
                    rs_add_sat(by_step[rs_skeleton_step_of(s, i)], recorded[k]);
        }
    return sum;
}

int64_t rs_judged_host_time(const rs_judged *job, size_t rank, uint32_t i)
{
    const rs_skeleton *s = job->engine->ranks[rank];
    if (rs_skeleton_is_work(s, i) || rs_skeleton_first(s, i) == rs_skeleton_first(s, i + 1) ||
        rs_edge_part(s, rs_skeleton_first(s, i)) != RS_PART_HOST)
        return 0;
    int64_t ns = job->recorded->edge[job->engine->edge_base[rank] + rs_skeleton_first(s, i)];
    return ns == RS_NO_EDGE || ns < 0 ? 0 : ns;
}

size_t rs_judged_steps(const rs_engine *e, size_t rank)
{
    return e->ranks[rank]->n_steps ? e->ranks[rank]->n_steps : 1;
}

size_t rs_judged_all_steps(const rs_engine *e)
{
    size_t n = 0;
    for (size_t r = 0; r < e->n_ranks; r++) n += rs_judged_steps(e, r);
    return n;
}

const char *rs_meeting_group(const rs_engine *e, size_t meeting)
{
    const rs_coll_instance *c = &e->coll.instances[e->meetings[meeting].instance];
    const rs_coll_arrival *a = &e->coll.arrivals[c->first];
    const char *name = rs_pool_text(&e->comm[a->rank]->pool, rs_coll_shape_at(&e->coll, a)->group);
    return name && *name ? name : NULL;
}

/* ---- sums by name ------------------------------------------------------------------------------------------- */

/* Names are few (kernels, calls, groups); most follow one of their own. */
rs_named *rs_names_put(rs_names *all, const char *text, size_t length)
{
    for (uint64_t hash = rs_hash_bytes(text, length);; hash++) {
        bool is_new;
        uint32_t *place = rs_map64_put(&all->places, hash, &is_new);
        if (!place) return NULL;
        if (!is_new) {
            rs_named *x = &all->items[*place];
            if (x->length == length && memcmp(x->text, text, length) == 0) return x;
            continue;
        }
        *place = (uint32_t)all->n;
        if (!RS_GROW_ONE(all->items, all->n, all->capacity)) return NULL;
        all->items[all->n] = (rs_named){.text = text, .length = length};
        return &all->items[all->n++];
    }
}

void rs_names_clear(rs_names *all)
{
    rs_free(all->items);
    rs_map64_clear(&all->places);
    *all = (rs_names){0};
}

bool rs_names_take_most(rs_names *all, rs_named *out)
{
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < all->n; i++)
        if (all->items[i].ns > 0 && (best == SIZE_MAX || all->items[i].ns > all->items[best].ns)) best = i;
    if (best == SIZE_MAX) return false;
    *out = all->items[best];
    all->items[best].ns = 0;
    return true;
}
