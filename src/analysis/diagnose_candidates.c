/* The catalogue of `diagnose`: what can be off in a job, or would help it, and the question that mends it. */
#include <math.h>
#include <string.h>

#include "analysis/diagnose_rules.h"
#include "base/interval.h"
#include "base/memory.h"
#include "base/stats.h"
#include "base/try.h"
#include "text/numbers.h"

#define OFF_GROUP 1.10   /* times others of their size: transfers less off than that are no finding */
#define OFF_LOADER 2.0   /* times the median rank's time in the loader */
#define LOADER_SHARE 0.1 /* of the job's time: where all ranks wait for data so long, that is off */
#define MANY_SMALL 8     /* collectives of a group a step */
#define SMALL 1048576    /* bytes, of a collective on average */
#define BUCKET 26214400  /* bytes that they may become */

rs_status rs_rule_add(rs_candidates *out, rs_candidate *c, rs_error *err)
{
    bool told = c->claim && (c->subject || c->kind == RS_CANDIDATE_LEVER);
    rs_status status = told && RS_GROW_ONE(out->items, out->n, out->capacity)
                           ? rs_what_if_check(&c->edits, err)
                           : rs_fail_nomem(err, "diagnose");
    if (status == RS_OK)
        out->items[out->n++] = *c;
    else
        rs_what_if_clear(&c->edits);
    return status;
}

double rs_rule_factor(double factor)
{
    return factor < 1e6 ? round(factor * 1e4) / 1e4 : 1e6;
}

const char *rs_rule_ranks(const int64_t *ranks, size_t n, rs_arena *arena)
{
    RS_SCOPED(rs_text_clear) rs_text list = {0};
    for (size_t i = 0, k; i < n; i = k) {
        for (k = i + 1; k < n && ranks[k] == ranks[k - 1] + 1;) k++;
        rs_text_printf(&list, "%s%lld", i ? ", " : "", (long long)ranks[i]);
        if (k - i > 1) rs_text_printf(&list, "-%lld", (long long)ranks[k - 1]);
    }
    const char *text = rs_text_get(&list);
    text = text ? rs_arena_strndup(arena, text, list.n) : NULL;
    return text;
}

size_t rs_rule_steps(const rs_engine *e, size_t rank)
{
    return e->ranks[rank]->n_steps ? e->ranks[rank]->n_steps : 1;
}

size_t rs_rule_total_steps(const rs_engine *e)
{
    size_t n = 0;
    for (size_t r = 0; r < e->n_ranks; r++) n += rs_rule_steps(e, r);
    return n;
}

/* ---- loader -------------------------------------------------------------------------------------------- */

/* One rank that waits much longer for data than the others do is named, else the job is. Some time in a loader
 * is usual. */
static rs_status find_loader(const rs_diagnosed *job, const rs_diagnose_rule *rule, rs_candidates *out,
                             const char **lacks, rs_error *err)
{
    const rs_engine *e = job->engine;
    size_t worst = 0;
    int64_t *time = rs_calloc(2 * e->n_ranks + 1, sizeof *time), all = 0;
    if (!time) return rs_fail_nomem(err, "diagnose");
    int64_t *sorted = time + e->n_ranks;
    for (size_t r = 0; r < e->n_ranks; r++) {
        const rs_skeleton *s = e->ranks[r];
        for (uint32_t k = 0; k < s->n_edges; k++) {
            int64_t ns = job->recorded->edge[e->edge_base[r] + k];
            if (rs_edge_part(s, k) == RS_PART_LOADER && ns > 0) time[r] = rs_add_sat(time[r], ns);
        }
        if (time[r] > time[worst]) worst = r;
        sorted[r] = time[r];
        all = rs_add_sat(all, time[r]);
    }
    double whole = 0;
    for (size_t r = 0; r < e->n_ranks; r++) whole += (double)rs_sub_sat(e->ranks[r]->end, e->ranks[r]->start);
    int64_t median = rs_select_number(sorted, e->n_ranks, (e->n_ranks - 1) / 2);
    double of_median = (double)time[worst] / (double)(median > 0 ? median : 1);
    int64_t most = time[worst];
    rs_free(time);
    if (!all) {
        *lacks = "the traces show no data loader (enumerate(DataLoader)#...)";
        return RS_OK;
    }
    rs_candidate c = {.rule = rule, .kind = RS_CANDIDATE_FINDING, .rank = -1};
    if (e->n_ranks > 1 && of_median >= OFF_LOADER) {
        size_t n = rs_rule_steps(e, worst);
        c.rank = job->rank_of[worst];
        c.excess = (double)most / 1e3 / (double)n;
        c.subject = rs_arena_printf(&out->arena, "rank %lld's loader", (long long)c.rank);
        rs_expr *s = rs_what_if_scale_to(&c.edits, 0);
        rs_selector_word(s, RS_SELECT_PART, RS_PART_OF_LOADER);
        rs_selector_number(s, RS_SELECT_RANK, RS_OP_EQ, c.rank);
        c.claim = rs_arena_printf(&out->arena, "Rank %lld waits %s ms a step for data", (long long)c.rank,
                                  RS_FIXED((double)most / 1e6 / (double)n, 2));
    } else {
        if ((double)all < LOADER_SHARE * whole) c.kind = RS_CANDIDATE_LEVER;
        c.excess = (double)all / 1e3 / (double)rs_rule_total_steps(e);
        c.subject = "the loaders";
        if (!rs_what_if_add(&c.edits, RS_EDIT_NO_LOADER)) return rs_fail_nomem(err, "diagnose");
        c.claim = rs_arena_printf(&out->arena, "Ranks wait %s ms a step for data",
                                  RS_FIXED((double)all / 1e6 / (double)rs_rule_total_steps(e), 2));
    }
    return rs_rule_add(out, &c, err);
}

/* ---- sums by name -------------------------------------------------------------------------------------- */

/* Names are few (kernels, calls, groups); most follow one of their own. NULL when out of memory. */
rs_named *rs_rule_name(rs_names *all, const char *text, size_t length)
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

void rs_rule_clear(rs_names *all)
{
    rs_free(all->items);
    rs_map64_clear(&all->places);
    *all = (rs_names){0};
}

/* Takes the name with the most time out. */
bool rs_rule_take_most(rs_names *all, rs_named *out)
{
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < all->n; i++)
        if (all->items[i].ns > 0 && (best == SIZE_MAX || all->items[i].ns > all->items[best].ns)) best = i;
    if (best == SIZE_MAX) return false;
    *out = all->items[best];
    all->items[best].ns = 0;
    return true;
}

/* ---- groups -------------------------------------------------------------------------------------------- */

static const char *group_of(const rs_engine *e, size_t meeting)
{
    const rs_coll_instance *c = &e->coll.instances[e->meetings[meeting].instance];
    const rs_coll_arrival *a = &e->coll.arrivals[c->first];
    return rs_pool_text(&e->comm[a->rank]->pool, rs_coll_shape_at(&e->coll, a)->group);
}

static const char *description_of(const rs_engine *e, size_t meeting)
{
    const rs_coll_instance *c = &e->coll.instances[e->meetings[meeting].instance];
    const rs_coll_arrival *a = &e->coll.arrivals[c->first];
    return rs_pool_text(&e->comm[a->rank]->pool, rs_coll_shape_at(&e->coll, a)->description);
}

/* Sums of meetings by group, or by what groups are for (a description without the number at its end). */
static rs_status sum_groups(const rs_diagnosed *job, bool by_purpose, rs_names *out, rs_error *err)
{
    const rs_engine *e = job->engine;
    for (size_t k = 0; k < e->n_meetings; k++) {
        const char *text = by_purpose ? description_of(e, k) : group_of(e, k);
        if (!text || !*text) text = group_of(e, k);
        if (!text || !*text) continue;
        rs_named *x = rs_rule_name(out, text, strlen(text));
        if (!x) return rs_fail_nomem(err, "diagnose");
        int64_t bytes = rs_meeting_bytes(e, &e->meetings[k]);
        x->n++;
        x->ns += (double)job->recorded->transfer[k];
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
    RS_LOCAL double *times = rs_malloc(groups->n * sizeof *times);
    if (!times) return rs_fail_nomem(err, "diagnose");
    for (size_t i = 0; i < groups->n; i++) times[i] = groups->items[i].ns;
    rs_sort_doubles(times, groups->n);
    double least = times[groups->n - MOST_GROUPS];
    size_t kept = 0;
    for (size_t i = 0; i < groups->n && kept < MOST_GROUPS; i++)
        if (groups->items[i].ns >= least) groups->items[kept++] = groups->items[i];
    groups->n = kept;
    *lacks = many_groups;
    return RS_OK;
}

static const char no_groups[] = "no collectives of named groups with partners in the traces";

static rs_status find_slow_group(const rs_diagnosed *job, const rs_diagnose_rule *rule, rs_candidates *out,
                                 const char **lacks, rs_error *err)
{
    RS_SCOPED(rs_rule_clear) rs_names groups = {0};
    rs_status status = sum_groups(job, false, &groups, err);
    if (!groups.n) *lacks = no_groups;
    if (status == RS_OK) status = keep_most(&groups, lacks, err);
    for (size_t i = 0; status == RS_OK && i < groups.n; i++) {
        const rs_named *x = &groups.items[i];
        if (x->expected <= 0 || x->ns / x->expected < OFF_GROUP) continue;
        rs_candidate c = {.rule = rule, .kind = RS_CANDIDATE_FINDING, .rank = -1};
        c.claim = rs_arena_printf(&out->arena, "Transfers of group %s take %s × as long as others like them",
                                  x->text, RS_FIXED(x->ns / x->expected, 2));
        c.subject = rs_arena_printf(&out->arena, "transfers of group %s", x->text);
        c.excess = (x->ns - x->expected) / 1e3 / (double)rs_rule_steps(job->engine, 0);
        rs_expr *s = rs_what_if_scale_by(&c.edits, rs_rule_factor(x->expected / x->ns));
        rs_selector_word(s, RS_SELECT_CLASS, RS_CLASS_OF_COMMUNICATION);
        rs_selector_text(s, RS_SELECT_GROUP, RS_OP_EQ, x->text, x->length);
        status = rs_rule_add(out, &c, err);
    }
    return status;
}

static rs_status find_exposed(const rs_diagnosed *job, const rs_diagnose_rule *rule, rs_candidates *out,
                              const char **lacks, rs_error *err)
{
    RS_SCOPED(rs_rule_clear) rs_names groups = {0};
    rs_status status = sum_groups(job, true, &groups, err);
    if (!groups.n) *lacks = no_groups;
    if (status == RS_OK) status = keep_most(&groups, lacks, err);
    for (size_t i = 0; status == RS_OK && i < groups.n; i++) {
        rs_candidate c = {.rule = rule, .kind = RS_CANDIDATE_LEVER, .rank = -1};
        const rs_named *x = &groups.items[i];
        c.claim = rs_arena_printf(&out->arena, "Computation waits for communication of %s", x->text);
        rs_what_if_add_name(&c.edits, RS_EDIT_OVERLAP, x->text, x->length, false);
        status = rs_rule_add(out, &c, err);
    }
    return status;
}

static rs_status find_small(const rs_diagnosed *job, const rs_diagnose_rule *rule, rs_candidates *out,
                            const char **lacks, rs_error *err)
{
    RS_SCOPED(rs_rule_clear) rs_names groups = {0};
    size_t n_steps = SIZE_MAX;
    rs_status status = sum_groups(job, false, &groups, err);
    for (size_t r = 0; r < job->engine->n_ranks; r++)
        if (job->engine->ranks[r]->n_steps < n_steps) n_steps = job->engine->ranks[r]->n_steps;
    if (!groups.n) *lacks = no_groups;
    if (status == RS_OK) status = keep_most(&groups, lacks, err);
    for (size_t i = 0; status == RS_OK && i < groups.n; i++) {
        const rs_named *x = &groups.items[i];
        double a_step = (double)x->n / (double)(n_steps ? n_steps : 1);
        if (a_step < MANY_SMALL || x->bytes <= 0 || x->bytes / (double)x->n > SMALL) continue;
        rs_candidate c = {.rule = rule, .kind = RS_CANDIDATE_LEVER, .rank = -1};
        c.claim = rs_arena_printf(&out->arena, "Group %s has %s collectives a step of %s KiB on average",
                                  x->text, RS_FIXED(a_step, 0), RS_FIXED(x->bytes / (double)x->n / 1024, 1));
        rs_edit *merged = rs_what_if_add_name(&c.edits, RS_EDIT_COALESCE, x->text, x->length, false);
        if (merged) merged->number = BUCKET;
        status = rs_rule_add(out, &c, err);
    }
    return status;
}

/* ---- the catalogue ------------------------------------------------------------------------------------- */

const rs_diagnose_rule rs_diagnose_rules[] = {
    {"straggler",
     "look at the GPU's clocks, temperature and neighbours on that host; swap the device, or give it less work",
     rs_rule_straggler},
    {"late_group",
     "look at what the group's ranks share: host, rack, power, cooling, or more work than others got",
     rs_rule_late_group},
    {"pipeline_imbalance",
     "move layers between stages, or the embedding and the loss to a stage of their own",
     rs_rule_pipeline_imbalance},
    {"slow_host", "look for other processes, CPU pinning, frequency and logging on that host",
     rs_rule_slow_host},
    {"host_pause",
     "collect garbage between steps and not in them (gc.disable, gc.collect), look for checkpoints, logging and "
     "other processes at that time",
     rs_rule_host_pause},
    {"loader", "more loader workers, prefetching, pinned memory; look at the storage of that host",
     find_loader},
    {"sync", "take the call out of the loop (.item(), .cpu(), print of a loss), or make it less often",
     rs_rule_sync},
    {"late_launch", "launch the next work before waiting; take what the host does there out of the way",
     rs_rule_late_launch},
    {"allocation",
     "keep shapes the same, leave memory to the caching allocator (expandable_segments, no empty_cache in the "
     "loop)",
     rs_rule_allocation},
    {"pageable_copy", "pin_memory=True in the loader, non_blocking=True in .to()", rs_rule_pageable_copy},
    {"slow_group", "look at the links between the group's hosts, and at NCCL's choice of ring and protocol",
     find_slow_group},
    {"exposed_communication", "overlap it: bucket sizes, prefetching of parameters, another parallel layout",
     find_exposed},
    {"launch_bound", "CUDA graphs, torch.compile, larger micro batches, fused operators", rs_rule_launches},
    {"hottest_kernel", "a better implementation, another precision or shape of this kernel", rs_rule_hottest},
    {"fusable_neighbours", "torch.compile, or a fused operator in place of both", rs_rule_fusable},
    {"small_collectives", "coalesce them: larger buckets, coalescing_manager, flattened parameters",
     find_small},
    {NULL, NULL, NULL},
};
