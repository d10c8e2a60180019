/* diagnose's catalogue: kernels and their launches. */
#include <stdio.h>
#include <string.h>

#include "analysis/diagnose_rules.h"
#include "base/interval.h"
#include "base/memory.h"
#include "base/strings.h"
#include "base/try.h"
#include "trace/kernel_kinds.h"

#define HOTTEST 3 /* kernels */

rs_status rs_rule_launches(const rs_diagnosed *job, const rs_diagnose_rule *rule, rs_candidates *out,
                           const char **lacks, rs_error *err)
{
    const rs_engine *e = job->engine;
    size_t work = 0, late = 0;
    for (size_t r = 0; r < e->n_ranks; r++) {
        const rs_skeleton *s = e->ranks[r];
        for (uint32_t i = 1; i < s->n; i++) {
            if (!rs_skeleton_is_work(s, i) || s->first[i] == s->first[i + 1]) continue;
            work++;
            late += rs_edge_cost(s, s->first[i]) < RS_COST_STREAM;
        }
    }
    if (!work) *lacks = "no GPU work";
    if (!late) return RS_OK;
    rs_candidate c = {.rule = rule, .kind = RS_CANDIDATE_LEVER, .rank = -1, .edit = "graphs"};
    snprintf(c.claim, sizeof c.claim, "%s %% of GPU work waits for its launch",
             RS_FIXED(100 * (double)late / (double)work, 0));
    return rs_rule_add(out, &c, err);
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

static bool contains(const rs_named *x, const rs_named *part)
{
    for (size_t i = 0; i + part->length <= x->length; i++)
        if (memcmp(x->text + i, part->text, part->length) == 0) return true;
    return false;
}

/* Adds a rank's computation by family of kernels. Nodes of one name are summed first: they are many. */
static rs_status sum_families(const rs_diagnosed *job, size_t rank, rs_names *out, double *all, rs_error *err)
{
    const rs_engine *e = job->engine;
    const rs_skeleton *s = e->ranks[rank];
    uint32_t most = 0;
    for (uint32_t i = 1; i < s->n; i++)
        if (rs_pool_text(&s->pool, rs_skeleton_at(s, i)->name) && rs_skeleton_at(s, i)->name > most)
            most = rs_skeleton_at(s, i)->name;
    double *sums = rs_calloc((size_t)most + 1, sizeof *sums);
    rs_status status = sums ? RS_OK : rs_fail_nomem(err, "diagnose");
    for (uint32_t i = 1; status == RS_OK && i < s->n; i++)
        if (rs_skeleton_is_work(s, i) && rs_skeleton_at(s, i)->part == RS_PART_COMPUTE &&
            rs_skeleton_at(s, i)->name <= most)
            sums[rs_skeleton_at(s, i)->name] += (double)job->recorded->work[e->node_base[rank] + i];
    for (uint32_t id = 0; status == RS_OK && id <= most; id++) {
        const char *text = sums[id] > 0 ? rs_pool_text(&s->pool, id) : NULL, *begin;
        size_t n = text ? family_of(text, &begin) : 0;
        *all += sums[id];
        if (n < 4) continue;
        rs_named *x = rs_rule_name(out, begin, n);
        if (x)
            x->ns += sums[id];
        else
            status = rs_fail_nomem(err, "diagnose");
    }
    rs_free(sums);
    return status;
}

rs_status rs_rule_hottest(const rs_diagnosed *job, const rs_diagnose_rule *rule, rs_candidates *out,
                          const char **lacks, rs_error *err)
{
    rs_names kernels = {0};
    rs_named kernel;
    double all = 0;
    rs_status status = RS_OK;
    for (size_t r = 0; status == RS_OK && r < job->engine->n_ranks; r++)
        status = sum_families(job, r, &kernels, &all, err);
    for (size_t i = 0; i < kernels.n; i++) kernels.items[i].expected = kernels.items[i].ns;
    if (!kernels.n) *lacks = "no computation on a GPU";
    for (size_t i = 0; status == RS_OK && i < HOTTEST && rs_rule_take_most(&kernels, &kernel); i++) {
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
        status = rs_rule_add(out, &c, err);
    }
    rs_rule_clear(&kernels);
    return status;
}

/* ---- neighbours ---------------------------------------------------------------------------------------- */

#define FUSABLE 6       /* pairs */
#define LEAST_PAIRS 4.0 /* a step */

/* Whether a kernel of that name reads and writes element by element, or can take the one before it in. */
static bool can_fuse(const char *name, bool second)
{
    static const char *const kinds[] = {"elementwise", "copy",   "random", "quantise",
                                        "RoPE",        "reduce", "NORM",   "softmax"};
    const char *kind = rs_kernel_kind(rs_class_of(RS_KIND_KERNEL, name, strlen(name)), name, strlen(name));
    for (size_t i = 0; i < (second ? 8u : 5u); i++)
        if (strcmp(kind, kinds[i]) == 0) return true;
    return false;
}

/* A name that `fuse A+B` can hold. */
static size_t neighbour_of(const char *name, const char **begin)
{
    size_t n = family_of(name, begin);
    for (size_t i = 0; i < n; i++)
        if ((*begin)[i] == '+') n = i;
    return n;
}

/* The work before it on its stream, as far as the graph knows; 0: none. */
static uint32_t neighbour_before(const rs_skeleton *s, uint32_t i)
{
    for (uint32_t k = s->first[i]; k < s->first[i + 1]; k++)
        if (rs_edge_cost(s, k) >= RS_COST_STREAM && rs_edge_cost(s, k) < RS_COST_EVENT)
            return s->source[k] >> 1;
    return 0;
}

/* Pairs of one rank by the ids of their names. */
typedef struct couple {
    uint32_t a, b;
    size_t n;
    double ns;
} couple;

typedef struct couples {
    rs_map64 at; /* both ids -> index into items */
    couple *items;
    size_t n, capacity;
} couples;

static bool add_couple(couples *all, const rs_skeleton *s, uint32_t a, uint32_t b)
{
    bool is_new;
    uint32_t *at = rs_map64_put(
        &all->at, (uint64_t)rs_skeleton_at(s, a)->name << 32 | rs_skeleton_at(s, b)->name, &is_new);
    if (!at || (is_new && !RS_GROW_ONE(all->items, all->n, all->capacity))) return false;
    if (is_new) {
        *at = (uint32_t)all->n;
        all->items[all->n++] = (couple){.a = rs_skeleton_at(s, a)->name, .b = rs_skeleton_at(s, b)->name};
    }
    int64_t gap = rs_sub_sat(rs_skeleton_time(s, b), rs_skeleton_end(s, a));
    all->items[*at].n++;
    all->items[*at].ns += gap > 0 ? (double)gap : 0;
    return true;
}

static rs_status list_couples(const rs_skeleton *s, couples *all, rs_error *err)
{
    uint8_t *fusable =
        rs_calloc(s->pool.strings.n + 1, 1); /* by name: bit 0 as the first, bit 1 as the second */
    bool ok = fusable != NULL;
    for (uint32_t i = 0; ok && i < s->pool.strings.n; i++) {
        const char *text = rs_pool_text(&s->pool, i);
        if (text) fusable[i] = (uint8_t)(can_fuse(text, false) | can_fuse(text, true) << 1);
    }
    for (uint32_t i = 1; ok && i < s->n; i++) {
        if (!rs_skeleton_is_work(s, i) || rs_skeleton_at(s, i)->part != RS_PART_COMPUTE ||
            rs_skeleton_at(s, i)->name >= s->pool.strings.n || !(fusable[rs_skeleton_at(s, i)->name] & 2))
            continue;
        uint32_t before = neighbour_before(s, i);
        if (before && rs_skeleton_at(s, before)->part == RS_PART_COMPUTE &&
            rs_skeleton_at(s, before)->name < s->pool.strings.n &&
            fusable[rs_skeleton_at(s, before)->name] & 1)
            ok = add_couple(all, s, before, i);
    }
    rs_free(fusable);
    return ok ? RS_OK : rs_fail_nomem(err, "diagnose");
}

static rs_status add_neighbours(const rs_skeleton *s, rs_names *out, rs_error *err)
{
    couples all = {0};
    rs_status status = list_couples(s, &all, err);
    for (size_t i = 0; status == RS_OK && i < all.n; i++) {
        const char *begin[2];
        char text[2 * 164];
        size_t n = neighbour_of(rs_pool_text(&s->pool, all.items[i].a), &begin[0]);
        size_t m = neighbour_of(rs_pool_text(&s->pool, all.items[i].b), &begin[1]);
        if (n < 4 || m < 4) continue;
        snprintf(text, sizeof text, "%.*s+%.*s", (int)n, begin[0], (int)m, begin[1]);
        rs_named *pair = rs_rule_name(out, text, strlen(text));
        if (pair && pair->text == text) pair->text = rs_strdup(text); /* a new one */
        if (!pair || !pair->text) {
            status = rs_fail_nomem(err, "diagnose");
            break;
        }
        pair->n += all.items[i].n;
        pair->ns += all.items[i].ns;
    }
    rs_map64_clear(&all.at);
    rs_free(all.items);
    return status;
}

/* Pairs of kernels on a stream, by the time between them. */
rs_status rs_rule_fusable(const rs_diagnosed *job, const rs_diagnose_rule *rule, rs_candidates *out,
                          const char **lacks, rs_error *err)
{
    const rs_engine *e = job->engine;
    rs_names pairs = {0};
    rs_named pair;
    rs_status status = RS_OK;
    for (size_t r = 0; status == RS_OK && r < e->n_ranks; r++)
        status = add_neighbours(e->ranks[r], &pairs, err);
    if (status == RS_OK && !pairs.n)
        *lacks = "no kernels that work element by element follow each other on a stream";
    double steps = (double)rs_rule_total_steps(e);
    for (size_t i = 0; status == RS_OK && i < FUSABLE && rs_rule_take_most(&pairs, &pair); i++) {
        if ((double)pair.n / steps < LEAST_PAIRS) continue;
        rs_candidate c = {.rule = rule, .kind = RS_CANDIDATE_LEVER, .rank = -1};
        snprintf(c.claim, sizeof c.claim,
                 "Kernels %.*s%s follow each other %s times a step, with %s us between them",
                 (int)cut(pair.text, pair.length, 100), pair.text, pair.length > 100 ? "…" : "",
                 RS_FIXED((double)pair.n / steps, 1), RS_FIXED(pair.ns / 1e3 / (double)pair.n, 1));
        snprintf(c.edit, sizeof c.edit, "fuse %.*s", (int)pair.length, pair.text);
        status = rs_rule_add(out, &c, err);
    }
    for (size_t i = 0; i < pairs.n; i++) rs_free((char *)pairs.items[i].text);
    rs_rule_clear(&pairs);
    return status;
}
