/* Finders: kernels and their launches. */
#include <math.h>
#include <string.h>

#include "verdict/candidate.h"
#include "base/interval.h"
#include "base/memory.h"
#include "base/strings.h"
#include "base/try.h"
#include "trace/kernel_kinds.h"

#define LEAST_WAITS 0.05   /* of the time: a GPU that waits less for launches has another cause */
#define HOTTEST 3          /* kernels */
#define MOST_ELSEWHERE 0.9 /* of the time between launches: what is left is not worth graphs */

/* The share of the time, from a rank's first work in a step to the end of its last, in which its GPU does nothing until work comes that
 * graphs would bring earlier; 0 without work. In a longer gap the host does something else than launching. */
static double launch_waits(const rs_judged *job, size_t rank)
{
    const rs_skeleton *s = job->engine->ranks[rank];
    const int64_t *recorded = job->recorded->edge + job->engine->edge_base[rank];
    int64_t first = 0, until = INT64_MIN, sum = 0;
    for (uint32_t i = 1; i < s->n; i++) {
        if (!rs_skeleton_is_work(s, i) || (s->n_steps && rs_skeleton_step_of(s, i) < 0)) continue;
        const int64_t start = rs_skeleton_time(s, i), end = rs_skeleton_end(s, i);
        const uint32_t edge = rs_skeleton_first(s, i);
        const bool launched = edge < rs_skeleton_first(s, i + 1) && rs_edge_cost(s, edge) < RS_COST_STREAM &&
                              rs_edit_graph_takes(s, edge, recorded[edge]);
        if (until == INT64_MIN)
            first = start;
        else if (launched && start > until && rs_sub_sat(start, until) < RS_HOST_GAP)
            sum = rs_add_sat(sum, rs_sub_sat(start, until));
        if (end > until) until = end;
    }
    return until > first ? (double)sum / (double)rs_sub_sat(until, first) : 0;
}

rs_status rs_find_launch_bound(const rs_judged *job, const rs_fault_kind *fault, rs_candidates *out,
                               const char **lacks, rs_error *err)
{
    double most = 0;
    size_t work = 0;
    for (size_t r = 0; r < job->engine->n_ranks; r++) {
        const rs_skeleton *s = job->engine->ranks[r];
        most = fmax(most, launch_waits(job, r));
        for (uint32_t i = 1; i < s->n; i++) work += rs_skeleton_is_work(s, i);
    }
    if (!work) *lacks = "no GPU work";
    if (rs_judged_elsewhere(job, true) >= MOST_ELSEWHERE)
        *lacks = "launching threads are outside GPU calls for 90 % of the time between launches and more";
    if (most < LEAST_WAITS || *lacks) return RS_OK;
    rs_candidate c = rs_candidate_of(fault, RS_VERDICT_OPPORTUNITY);
    rs_what_if_add(&c.edits, RS_EDIT_GRAPHS);
    c.facts.pct = 100 * most;
    return rs_candidate_add(out, &c, true, err);
}

/* Adds a rank's computation by kernel. Nodes of one name are summed first: they are many. */
static rs_status sum_kernels(const rs_judged *job, size_t rank, rs_names *out, double *all, rs_error *err)
{
    const rs_engine *e = job->engine;
    const rs_skeleton *s = e->ranks[rank];
    double *sums = rs_calloc(s->pool.strings.n + 1, sizeof *sums);
    rs_status status = sums ? RS_OK : rs_fail_nomem(err, "diagnose");
    for (uint32_t i = 1; status == RS_OK && i < s->n; i++)
        if (rs_skeleton_is_work(s, i) && rs_skeleton_at(s, i)->part == RS_PART_COMPUTE &&
            rs_skeleton_at(s, i)->name < s->pool.strings.n)
            sums[rs_skeleton_at(s, i)->name] += (double)job->recorded->work[e->node_base[rank] + i];
    for (uint32_t id = 0; status == RS_OK && id < s->pool.strings.n; id++) {
        const rs_string *text = &s->pool.strings.items[id];
        *all += sums[id];
        if (!(sums[id] > 0) || !text->length) continue;
        rs_named *x = rs_names_put(out, text->text, text->length);
        if (x)
            x->ns += sums[id];
        else
            status = rs_fail_nomem(err, "diagnose");
    }
    rs_free(sums);
    return status;
}

rs_status rs_find_hottest_kernel(const rs_judged *job, const rs_fault_kind *fault, rs_candidates *out,
                                 const char **lacks, rs_error *err)
{
    rs_names kernels = {0};
    rs_named kernel;
    double all = 0;
    rs_status status = RS_OK;
    for (size_t r = 0; status == RS_OK && r < job->engine->n_ranks; r++)
        status = sum_kernels(job, r, &kernels, &all, err);
    if (!kernels.n) *lacks = "no computation on a GPU";
    for (size_t i = 0; status == RS_OK && i < HOTTEST && rs_names_take_most(&kernels, &kernel); i++) {
        rs_candidate c = rs_candidate_of(fault, RS_VERDICT_OPPORTUNITY);
        bool ok = rs_accuse_name(&c, RS_CULPRIT_KERNEL, kernel.text, kernel.length, out);
        c.facts.pct = 100 * kernel.ns / all;
        rs_expr *s = rs_what_if_scale_by(&c.edits, 0.5);
        rs_selector_word(s, RS_SELECT_CLASS, RS_CLASS_OF_COMPUTATION);
        rs_selector_text(s, RS_SELECT_NAME, RS_OP_EQ, kernel.text, kernel.length);
        status = rs_candidate_add(out, &c, ok, err);
    }
    rs_names_clear(&kernels);
    return status;
}

/* ---- neighbours ---------------------------------------------------------------------------------------- */

#define FUSABLE 6       /* pairs */
#define LEAST_PAIRS 4.0 /* a step */

enum { FUSES_NEXT = 1, FUSES_PREVIOUS = 2, IS_KNOWN = 4 };

/* Whether the kernel of a piece of work reads and writes element by element, so that it can take the next one in, or can be taken
 * in itself. known: by name, what has been found. */
static uint8_t can_fuse(const rs_skeleton *s, uint32_t i, uint8_t *known)
{
    static const char *const kinds[] = {"elementwise", "copy",   "random", "quantise",
                                        "RoPE",        "reduce", "NORM",   "softmax"};
    const size_t n_first = 5;
    const uint32_t id = rs_skeleton_at(s, i)->name;
    const char *name = rs_pool_text(&s->pool, id);
    if (!name) return 0;
    if (known[id]) return known[id];
    known[id] = IS_KNOWN;
    const char *kind = rs_kernel_kind(rs_class_of(RS_KIND_KERNEL, name, strlen(name)), name, strlen(name));
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        if (strcmp(kind, kinds[k]) == 0)
            known[id] |= k < n_first ? FUSES_NEXT | FUSES_PREVIOUS : FUSES_PREVIOUS;
    return known[id];
}

/* The work before it on its stream, as far as the graph knows; 0: none. */
static uint32_t neighbour_before(const rs_skeleton *s, uint32_t i)
{
    RS_EDGES_INTO(s, i, k)
        if (rs_edge_cost(s, k) >= RS_COST_STREAM && rs_edge_cost(s, k) < RS_COST_EVENT)
            return rs_edge_source(s, k) >> 1;
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
    RS_LOCAL uint8_t *known = rs_calloc(s->pool.strings.n + 1, 1);
    bool ok = known != NULL;
    for (uint32_t i = 1; ok && i < s->n; i++) {
        if (!rs_skeleton_is_work(s, i) || rs_skeleton_at(s, i)->part != RS_PART_COMPUTE ||
            !(can_fuse(s, i, known) & FUSES_PREVIOUS))
            continue;
        uint32_t before = neighbour_before(s, i);
        if (before && rs_skeleton_at(s, before)->part == RS_PART_COMPUTE &&
            can_fuse(s, before, known) & FUSES_NEXT)
            ok = add_couple(all, s, before, i);
    }
    return ok ? RS_OK : rs_fail_nomem(err, "diagnose");
}

/* Sums of pairs over ranks go by both names, with a NUL byte between them; such texts are the list's own. */
static rs_named *name_pair(rs_names *all, const rs_string *a, const rs_string *b)
{
    size_t n = (size_t)a->length + 1 + b->length, known = all->n;
    char *text = rs_malloc(n);
    if (!text) return NULL;
    memcpy(text, a->text, a->length);
    text[a->length] = '\0';
    memcpy(text + a->length + 1, b->text, b->length);
    rs_named *pair = rs_names_put(all, text, n);
    if (all->n == known) rs_free(text);
    return pair;
}

static rs_status add_neighbours(const rs_skeleton *s, rs_names *out, rs_error *err)
{
    couples all = {0};
    rs_status status = list_couples(s, &all, err);
    for (size_t i = 0; status == RS_OK && i < all.n; i++) {
        rs_named *pair =
            name_pair(out, &s->pool.strings.items[all.items[i].a], &s->pool.strings.items[all.items[i].b]);
        if (!pair) {
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
rs_status rs_find_fusable_neighbours(const rs_judged *job, const rs_fault_kind *fault, rs_candidates *out,
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
    double steps = (double)rs_judged_all_steps(e);
    for (size_t i = 0; status == RS_OK && i < FUSABLE && rs_names_take_most(&pairs, &pair); i++) {
        if ((double)pair.n / steps < LEAST_PAIRS) continue;
        const char *second = pair.text + strlen(pair.text) + 1;
        size_t n = strlen(pair.text), m = pair.length - n - 1;
        rs_candidate c = rs_candidate_of(fault, RS_VERDICT_OPPORTUNITY);
        bool ok = rs_accuse_name(&c, RS_CULPRIT_KERNEL, pair.text, n, out) &&
                  rs_accuse_name(&c, RS_CULPRIT_KERNEL, second, m, out);
        c.facts.n = (double)pair.n / steps;
        c.facts.us = pair.ns / 1e3 / (double)pair.n;
        rs_edit *fused = rs_what_if_add_name(&c.edits, RS_EDIT_FUSE, pair.text, n, true);
        if (fused && !rs_edit_set_name(&fused->other, second, m, true)) c.edits.failed = true;
        status = rs_candidate_add(out, &c, ok, err);
    }
    for (size_t i = 0; i < pairs.n; i++) rs_free((char *)pairs.items[i].text);
    rs_names_clear(&pairs);
    return status;
}
