/* The catalogue of `diagnose`: what can be off in a job, or would help it, and the question that mends it. */
#include <stdio.h>
#include <string.h>

#include "analysis/diagnose.h"
#include "base/interval.h"
#include "base/memory.h"
#include "base/stats.h"
#include "base/try.h"
#include "text/numbers.h"

#define OFF_COMPUTE 1.02 /* times its peers': computation less off than that is no finding */
#define OFF_HOST 1.10    /* the same of host threads, which vary more */
#define OFF_GROUP 1.10   /* and of transfers */
#define OFF_LOADER 2.0   /* times the median rank's time in the loader */
#define LOADER_SHARE 0.1 /* of the job's time: where all ranks wait for data so long, that is off */
#define HOTTEST 3        /* kernels */
#define MOST_CALLS 3     /* that wait */
#define MANY_SMALL 8     /* collectives of a group a step */
#define SMALL 1048576    /* bytes, of a collective on average */
#define BUCKET 26214400  /* bytes that they may become */

static rs_status add(rs_candidates *out, const rs_candidate *candidate, rs_error *err)
{
    if (!RS_GROW_ONE(out->items, out->n, out->capacity)) return rs_fail_nomem(err, "diagnose");
    out->items[out->n++] = *candidate;
    return RS_OK;
}

/* A factor as selectors take it. */
static const char *factor_text(double factor, char out[RS_FIXED_SIZE])
{
    return rs_format_fixed(factor, 4, out);
}

/* Whether a text can stand in an edit and, in quotes, on a command line. */
static bool is_plain(const char *text)
{
    return text && *text && !strpbrk(text, ";,&=~<>!'\"\n") && strlen(text) < 100;
}

static size_t steps_of(const rs_engine *e, size_t rank)
{
    return e->ranks[rank]->n_steps ? e->ranks[rank]->n_steps : 1;
}

static size_t total_steps(const rs_engine *e)
{
    size_t n = 0;
    for (size_t r = 0; r < e->n_ranks; r++) n += steps_of(e, r);
    return n;
}

static bool has_peers(const rs_diagnosed *job, size_t rank)
{
    for (size_t r = 0; r < job->engine->n_ranks; r++)
        if (r != rank && job->reference->role[r] == job->reference->role[rank]) return true;
    return false;
}

/* ---- a rank against its peers -------------------------------------------------------------------------- */

typedef struct pair {
    double own, peers; /* ns */
    size_t n;          /* of work, or of stretches of host time */
} pair;

static pair computation_of(const rs_diagnosed *job, size_t rank)
{
    const rs_engine *e = job->engine;
    const rs_skeleton *s = e->ranks[rank];
    pair sum = {0};
    for (uint32_t i = 1; i < s->n; i++) {
        uint32_t node = e->node_base[rank] + i;
        if (!(s->flags[i] & RS_NODE_WORK) || s->part[i] != RS_PART_COMPUTE) continue;
        sum.n++;
        sum.own += (double)job->recorded->work[node];
        sum.peers += (double)job->reference->peers.work[node];
    }
    return sum;
}

/* What a host thread itself takes between its points. */
static pair host_time_of(const rs_diagnosed *job, size_t rank)
{
    const rs_engine *e = job->engine;
    const rs_skeleton *s = e->ranks[rank];
    pair sum = {0};
    for (uint32_t i = 1; i < s->n; i++) {
        uint32_t edge = e->edge_base[rank] + s->first[i];
        if ((s->flags[i] & RS_NODE_WORK) || s->first[i] == s->first[i + 1]) continue;
        if (s->edge_part[s->first[i]] != RS_PART_HOST || job->recorded->edge[edge] == RS_NO_EDGE ||
            job->reference->peers.edge[edge] == RS_NO_EDGE)
            continue;
        sum.n++;
        sum.own += (double)job->recorded->edge[edge];
        sum.peers += (double)job->reference->peers.edge[edge];
    }
    return sum;
}

static bool is_off(const pair *sum, bool host)
{
    return sum->peers > 0 && sum->own / sum->peers >= (host ? OFF_HOST : OFF_COMPUTE);
}

/* What the rank would take, ns. The median of peers is drawn upwards where another one of them is slow, too; the
 * mean of those that are not is not, and where they did exactly as much it can be compared as a whole. */
static double expected_of(const rs_diagnosed *job, const pair *sums, size_t rank, bool host)
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

static rs_status find_off(const rs_diagnosed *job, const rs_diagnose_rule *rule, bool host,
                          rs_candidates *out, const char **lacks, rs_error *err)
{
    size_t compared = 0, n = job->engine->n_ranks;
    char factor[RS_FIXED_SIZE];
    pair *sums = rs_calloc(n + 1, sizeof *sums);
    rs_status status = sums ? RS_OK : rs_fail_nomem(err, "diagnose");
    for (size_t r = 0; sums && r < n; r++) sums[r] = host ? host_time_of(job, r) : computation_of(job, r);
    for (size_t r = 0; status == RS_OK && r < n; r++) {
        if (!has_peers(job, r)) continue;
        compared++;
        if (!is_off(&sums[r], host)) continue;
        double own = sums[r].own, expected = expected_of(job, sums, r, host);
        rs_candidate c = {.rule = rule, .kind = RS_CANDIDATE_FINDING, .rank = job->rank_of[r]};
        snprintf(c.claim, sizeof c.claim, "Rank %lld's %s is %s × its peers'", (long long)c.rank,
                 host ? "host time" : "computation", RS_FIXED(own / expected, 2));
        snprintf(c.subject, sizeof c.subject, "rank %lld's %s", (long long)c.rank,
                 host ? "host time" : "computation");
        c.excess = (own - expected) / 1e3 / (double)steps_of(job->engine, r);
        snprintf(c.selector, sizeof c.selector, "%s&rank=%lld=%s", host ? "part=host" : "class=computation",
                 (long long)c.rank, factor_text(expected / own, factor));
        snprintf(c.edit, sizeof c.edit, "scale %.*s", (int)sizeof c.edit - 8, c.selector);
        status = add(out, &c, err);
    }
    rs_free(sums);
    if (!compared)
        *lacks = "no two ranks run the same work: there is nothing to compare a rank with";
    else if (compared < n)
        *lacks = "some ranks run work that no other rank runs: they are compared with nobody";
    return status;
}

static rs_status find_straggler(const rs_diagnosed *job, const rs_diagnose_rule *rule, rs_candidates *out,
                                const char **lacks, rs_error *err)
{
    return find_off(job, rule, false, out, lacks, err);
}

static rs_status find_slow_host(const rs_diagnosed *job, const rs_diagnose_rule *rule, rs_candidates *out,
                                const char **lacks, rs_error *err)
{
    return find_off(job, rule, true, out, lacks, err);
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
            if (s->edge_part[k] == RS_PART_LOADER && ns > 0) time[r] = rs_add_sat(time[r], ns);
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
    rs_candidate c = {.rule = rule, .kind = RS_CANDIDATE_FINDING, .rank = -1, .edit = "no-loader"};
    if (e->n_ranks > 1 && of_median >= OFF_LOADER) {
        size_t n = steps_of(e, worst);
        c.rank = job->rank_of[worst];
        c.excess = (double)most / 1e3 / (double)n;
        snprintf(c.subject, sizeof c.subject, "rank %lld's loader", (long long)c.rank);
        snprintf(c.selector, sizeof c.selector, "part=loader&rank=%lld=none", (long long)c.rank);
        snprintf(c.edit, sizeof c.edit, "scale %.*s", (int)sizeof c.edit - 8, c.selector);
        snprintf(c.claim, sizeof c.claim, "Rank %lld waits %s ms a step for data", (long long)c.rank,
                 RS_FIXED((double)most / 1e6 / (double)n, 2));
    } else {
        if ((double)all < LOADER_SHARE * whole) c.kind = RS_CANDIDATE_LEVER;
        c.excess = (double)all / 1e3 / (double)total_steps(e);
        snprintf(c.subject, sizeof c.subject, "the loaders");
        snprintf(c.selector, sizeof c.selector, "part=loader=none");
        snprintf(c.claim, sizeof c.claim, "Ranks wait %s ms a step for data",
                 RS_FIXED((double)all / 1e6 / (double)total_steps(e), 2));
    }
    return add(out, &c, err);
}

/* ---- sums by name -------------------------------------------------------------------------------------- */

typedef struct named {
    const char *text; /* borrowed from a pool */
    size_t length, n;
    double ns, bytes, expected;
} named;

typedef struct names {
    named *items;
    size_t n, capacity;
} names;

/* Names are few (kernels, calls, groups); most follow one of their own. NULL when out of memory. */
static named *name_at(names *all, const char *text, size_t length)
{
    for (size_t i = 0; i < all->n; i++) {
        named *x = &all->items[i];
        if (x->length == length && memcmp(x->text, text, length) == 0) return x;
    }
    if (!RS_GROW_ONE(all->items, all->n, all->capacity)) return NULL;
    all->items[all->n] = (named){.text = text, .length = length};
    return &all->items[all->n++];
}

/* Takes the name with the most time out. */
static bool take_most(names *all, named *out)
{
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < all->n; i++)
        if (all->items[i].ns > 0 && (best == SIZE_MAX || all->items[i].ns > all->items[best].ns)) best = i;
    if (best == SIZE_MAX) return false;
    *out = all->items[best];
    all->items[best].ns = 0;
    return true;
}

/* ---- calls that wait ----------------------------------------------------------------------------------- */

static rs_status find_sync(const rs_diagnosed *job, const rs_diagnose_rule *rule, rs_candidates *out,
                           const char **lacks, rs_error *err)
{
    const rs_engine *e = job->engine;
    names calls = {0};
    named call;
    rs_status status = RS_OK;
    for (size_t r = 0; r < e->n_ranks; r++) {
        const rs_skeleton *s = e->ranks[r];
        for (uint32_t i = 1; status == RS_OK && i < s->n; i++) {
            const char *text = rs_pool_text(&s->pool, s->name[i]);
            if ((s->flags[i] & RS_NODE_WORK) || s->first[i] == s->first[i + 1] || !is_plain(text) ||
                s->cost[s->first[i]] != RS_COST_ANSWER)
                continue;
            named *x = name_at(&calls, text, strlen(text));
            if (!x) {
                status = rs_fail_nomem(err, "diagnose");
                break;
            }
            /* from the end of what the thread did before to the call's return */
            int64_t before = s->time[i];
            for (uint32_t k = s->first[i]; k < s->first[i + 1]; k++)
                if (s->cost[k] != RS_COST_ANSWER && !(s->flags[s->source[k] >> 1] & RS_NODE_WORK) &&
                    s->source[k] >> 1)
                    before = rs_skeleton_source_time(s, s->source[k]);
            x->n++;
            x->ns += (double)rs_sub_sat(s->time[i], before);
        }
    }
    if (status == RS_OK && !calls.n) *lacks = "no call of the host waits for the GPU";
    for (size_t i = 0; status == RS_OK && i < MOST_CALLS && take_most(&calls, &call); i++) {
        double n = (double)call.n / (double)total_steps(e);
        /* One wait at a step's end is what profilers and loggers do; more hold the host back in the loop. */
        rs_candidate c = {
            .rule = rule, .kind = n >= 1.5 ? RS_CANDIDATE_FINDING : RS_CANDIDATE_LEVER, .rank = -1};
        snprintf(c.claim, sizeof c.claim, "%s makes the host wait for the GPU %s times a step", call.text,
                 RS_FIXED(n, 1));
        snprintf(c.edit, sizeof c.edit, "no-sync %s", call.text);
        snprintf(c.subject, sizeof c.subject, "%s", call.text);
        c.excess = call.ns / 1e3 / (double)total_steps(e);
        status = add(out, &c, err);
    }
    rs_free(calls.items);
    return status;
}

/* ---- groups -------------------------------------------------------------------------------------------- */

static const char *group_of(const rs_engine *e, size_t meeting)
{
    const rs_coll_instance *c = &e->coll.instances[e->meetings[meeting].instance];
    const rs_coll_arrival *a = &e->coll.arrivals[c->first];
    return rs_pool_text(&e->comm[a->rank]->pool, e->comm[a->rank]->ops[a->op].group);
}

static const char *description_of(const rs_engine *e, size_t meeting)
{
    const rs_coll_instance *c = &e->coll.instances[e->meetings[meeting].instance];
    const rs_coll_arrival *a = &e->coll.arrivals[c->first];
    return rs_pool_text(&e->comm[a->rank]->pool, e->comm[a->rank]->ops[a->op].description);
}

/* Sums of meetings by group, or by what groups are for (a description without the number at its end). */
static rs_status sum_groups(const rs_diagnosed *job, bool by_purpose, names *out, rs_error *err)
{
    const rs_engine *e = job->engine;
    for (size_t k = 0; k < e->n_meetings; k++) {
        const char *text = by_purpose ? description_of(e, k) : group_of(e, k);
        if (by_purpose && !is_plain(text)) text = group_of(e, k);
        if (!is_plain(text)) continue;
        named *x = name_at(out, text, strlen(text));
        if (!x) return rs_fail_nomem(err, "diagnose");
        int64_t bytes = rs_meeting_bytes(e, &e->meetings[k]);
        x->n++;
        x->ns += (double)job->recorded->transfer[k];
        x->expected += (double)job->reference->repair.transfer[k];
        x->bytes += bytes > 0 ? (double)bytes : 0;
    }
    return RS_OK;
}

static const char no_groups[] = "no collectives of named groups with partners in the traces";

static rs_status find_slow_group(const rs_diagnosed *job, const rs_diagnose_rule *rule, rs_candidates *out,
                                 const char **lacks, rs_error *err)
{
    names groups = {0};
    char factor[RS_FIXED_SIZE];
    rs_status status = sum_groups(job, false, &groups, err);
    if (!groups.n) *lacks = no_groups;
    for (size_t i = 0; status == RS_OK && i < groups.n; i++) {
        const named *x = &groups.items[i];
        if (x->expected <= 0 || x->ns / x->expected < OFF_GROUP) continue;
        rs_candidate c = {.rule = rule, .kind = RS_CANDIDATE_FINDING, .rank = -1};
        snprintf(c.claim, sizeof c.claim, "Transfers of group %s take %s × as long as others like them",
                 x->text, RS_FIXED(x->ns / x->expected, 2));
        snprintf(c.subject, sizeof c.subject, "transfers of group %s", x->text);
        c.excess = (x->ns - x->expected) / 1e3 / (double)steps_of(job->engine, 0);
        snprintf(c.selector, sizeof c.selector, "class=communication&group=%s=%s", x->text,
                 factor_text(x->expected / x->ns, factor));
        snprintf(c.edit, sizeof c.edit, "scale %.*s", (int)sizeof c.edit - 8, c.selector);
        status = add(out, &c, err);
    }
    rs_free(groups.items);
    return status;
}

static rs_status find_exposed(const rs_diagnosed *job, const rs_diagnose_rule *rule, rs_candidates *out,
                              const char **lacks, rs_error *err)
{
    names groups = {0};
    rs_status status = sum_groups(job, true, &groups, err);
    if (!groups.n) *lacks = no_groups;
    for (size_t i = 0; status == RS_OK && i < groups.n; i++) {
        rs_candidate c = {.rule = rule, .kind = RS_CANDIDATE_LEVER, .rank = -1};
        snprintf(c.claim, sizeof c.claim, "Computation waits for communication of %s", groups.items[i].text);
        snprintf(c.edit, sizeof c.edit, "overlap:%s", groups.items[i].text);
        status = add(out, &c, err);
    }
    rs_free(groups.items);
    return status;
}

static rs_status find_small(const rs_diagnosed *job, const rs_diagnose_rule *rule, rs_candidates *out,
                            const char **lacks, rs_error *err)
{
    names groups = {0};
    size_t n_steps = SIZE_MAX;
    rs_status status = sum_groups(job, false, &groups, err);
    for (size_t r = 0; r < job->engine->n_ranks; r++)
        if (job->engine->ranks[r]->n_steps < n_steps) n_steps = job->engine->ranks[r]->n_steps;
    if (!groups.n) *lacks = no_groups;
    for (size_t i = 0; status == RS_OK && i < groups.n; i++) {
        const named *x = &groups.items[i];
        double a_step = (double)x->n / (double)(n_steps ? n_steps : 1);
        if (a_step < MANY_SMALL || x->bytes <= 0 || x->bytes / (double)x->n > SMALL) continue;
        rs_candidate c = {.rule = rule, .kind = RS_CANDIDATE_LEVER, .rank = -1};
        snprintf(c.claim, sizeof c.claim, "Group %s has %s collectives a step of %s KiB on average", x->text,
                 RS_FIXED(a_step, 0), RS_FIXED(x->bytes / (double)x->n / 1024, 1));
        snprintf(c.edit, sizeof c.edit, "coalesce %s:%d", x->text, BUCKET);
        status = add(out, &c, err);
    }
    rs_free(groups.items);
    return status;
}

/* ---- launches, kernels --------------------------------------------------------------------------------- */

static rs_status find_launches(const rs_diagnosed *job, const rs_diagnose_rule *rule, rs_candidates *out,
                               const char **lacks, rs_error *err)
{
    const rs_engine *e = job->engine;
    size_t work = 0, late = 0;
    for (size_t r = 0; r < e->n_ranks; r++) {
        const rs_skeleton *s = e->ranks[r];
        for (uint32_t i = 1; i < s->n; i++) {
            if (!(s->flags[i] & RS_NODE_WORK) || s->first[i] == s->first[i + 1]) continue;
            work++;
            late += s->cost[s->first[i]] < RS_COST_STREAM;
        }
    }
    if (!work) *lacks = "no GPU work";
    if (!late) return RS_OK;
    rs_candidate c = {.rule = rule, .kind = RS_CANDIDATE_LEVER, .rank = -1, .edit = "graphs"};
    snprintf(c.claim, sizeof c.claim, "%s %% of GPU work waits for its launch",
             RS_FIXED(100 * (double)late / (double)work, 0));
    return add(out, &c, err);
}

/* The length of a text cut at `most` bytes, between two characters. */
static size_t cut(const char *text, size_t n, size_t most)
{
    if (n <= most) return n;
    while (most && ((unsigned char)text[most] & 0xc0) == 0x80) most--;
    return most;
}

/* A name up to what a selector cannot hold: the template's arguments are left out. */
static size_t family_of(const char *name, const char **begin)
{
    *begin = strncmp(name, "void ", 5) == 0 ? name + 5 : name;
    size_t n = strcspn(*begin, ";,&=~<>!'\"\n");
    for (size_t i = 0; i < n; i++) /* arguments; an unnamed namespace is part of the name */
        if ((*begin)[i] == '(' && strncmp(*begin + i, "(anonymous namespace)", 21) != 0) n = i;
    while (n && (*begin)[n - 1] == ' ') n--;
    return cut(*begin, n, 160);
}

static bool contains(const named *x, const named *part)
{
    for (size_t i = 0; i + part->length <= x->length; i++)
        if (memcmp(x->text + i, part->text, part->length) == 0) return true;
    return false;
}

/* Adds a rank's computation by family of kernels. Nodes of one name are summed first: they are many. */
static rs_status sum_families(const rs_diagnosed *job, size_t rank, names *out, double *all, rs_error *err)
{
    const rs_engine *e = job->engine;
    const rs_skeleton *s = e->ranks[rank];
    uint32_t most = 0;
    for (uint32_t i = 1; i < s->n; i++)
        if (rs_pool_text(&s->pool, s->name[i]) && s->name[i] > most) most = s->name[i];
    double *sums = rs_calloc((size_t)most + 1, sizeof *sums);
    rs_status status = sums ? RS_OK : rs_fail_nomem(err, "diagnose");
    for (uint32_t i = 1; status == RS_OK && i < s->n; i++)
        if ((s->flags[i] & RS_NODE_WORK) && s->part[i] == RS_PART_COMPUTE && s->name[i] <= most)
            sums[s->name[i]] += (double)job->recorded->work[e->node_base[rank] + i];
    for (uint32_t id = 0; status == RS_OK && id <= most; id++) {
        const char *text = sums[id] > 0 ? rs_pool_text(&s->pool, id) : NULL, *begin;
        size_t n = text ? family_of(text, &begin) : 0;
        *all += sums[id];
        if (n < 4) continue;
        named *x = name_at(out, begin, n);
        if (x)
            x->ns += sums[id];
        else
            status = rs_fail_nomem(err, "diagnose");
    }
    rs_free(sums);
    return status;
}

static rs_status find_hottest(const rs_diagnosed *job, const rs_diagnose_rule *rule, rs_candidates *out,
                              const char **lacks, rs_error *err)
{
    names kernels = {0};
    named kernel;
    double all = 0;
    rs_status status = RS_OK;
    for (size_t r = 0; status == RS_OK && r < job->engine->n_ranks; r++)
        status = sum_families(job, r, &kernels, &all, err);
    for (size_t i = 0; i < kernels.n; i++) kernels.items[i].expected = kernels.items[i].ns;
    if (!kernels.n) *lacks = "no computation on a GPU";
    for (size_t i = 0; status == RS_OK && i < HOTTEST && take_most(&kernels, &kernel); i++) {
        rs_candidate c = {.rule = rule, .kind = RS_CANDIDATE_LEVER, .sensitivity = true, .rank = -1};
        double matched = 0; /* by the selector */
        for (size_t k = 0; k < kernels.n; k++)
            if (contains(&kernels.items[k], &kernel)) matched += kernels.items[k].expected;
        snprintf(c.claim, sizeof c.claim,
                 "Sensitivity: kernels named %.*s%s (%s %% of computation) at half their time",
                 (int)cut(kernel.text, kernel.length, 60), kernel.text, kernel.length > 60 ? "…" : "",
                 RS_FIXED(100 * matched / all, 0));
        snprintf(c.selector, sizeof c.selector, "class=computation&name~%.*s=0.5", (int)kernel.length,
                 kernel.text);
        snprintf(c.edit, sizeof c.edit, "scale %.*s", (int)sizeof c.edit - 8, c.selector);
        status = add(out, &c, err);
    }
    rs_free(kernels.items);
    return status;
}

/* ---- the catalogue ------------------------------------------------------------------------------------- */

const rs_diagnose_rule rs_diagnose_rules[] = {
    {"straggler",
     "look at the GPU's clocks, temperature and neighbours on that host; swap the device, or give it less work",
     NULL, find_straggler},
    {"slow_host", "look for other processes, CPU pinning, frequency and logging on that host", NULL,
     find_slow_host},
    {"loader", "more loader workers, prefetching, pinned memory; look at the storage of that host", NULL,
     find_loader},
    {"sync", "take the call out of the loop (.item(), .cpu(), print of a loss), or make it less often", NULL,
     find_sync},
    {"slow_group", "look at the links between the group's hosts, and at NCCL's choice of ring and protocol",
     NULL, find_slow_group},
    {"exposed_communication", "overlap it: bucket sizes, prefetching of parameters, another parallel layout",
     NULL, find_exposed},
    {"launch_bound", "CUDA graphs, torch.compile, larger micro batches, fused operators", NULL,
     find_launches},
    {"hottest_kernel", "a better implementation, another precision or shape of this kernel", NULL,
     find_hottest},
    {"small_collectives", "coalesce them: larger buckets, coalescing_manager, flattened parameters", NULL,
     find_small},
    {"late_group", NULL,
     "not built yet: a group that is late without a slow rank; see `rankscope stragglers` and `blame`", NULL},
    {"pipeline_imbalance", NULL, "not built yet: stages are not compared; see `rankscope whatif`, last-stage",
     NULL},
    {"host_pause", NULL,
     "not built yet: a pause of one step has no interval over steps; see `rankscope steps`", NULL},
    {"allocation", NULL, "not built yet: cudaMalloc and cudaFree in the step; see `rankscope launches`",
     NULL},
    {"pageable_copy", NULL, "not built yet: see `rankscope bandwidth`", NULL},
    {"late_launch", NULL, "not built yet: launches right behind a wait; see `rankscope idle`", NULL},
    {"fusable_neighbours", NULL, "not built yet: ask with `rankscope replay --what-if 'fuse A+B'`", NULL},
    {NULL, NULL, NULL, NULL},
};
