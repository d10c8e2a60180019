/* Kernels that were renamed: where the steps' programs align, what is in one place under one operator on both
 * sides is one kernel, whose name is found on one side only. */
#include <string.h>

#include "base/align.h"
#include "base/order.h"
#include "regress/parts.h"

static const rs_one_run *with_tokens(const rs_run_range *range)
{
    for (size_t r = range->from; r < range->to; r++)
        if (range->side->runs[r].n_tokens) return &range->side->runs[r];
    return NULL;
}

typedef struct program {
    rs_align_item *names, *operators; /* of texts of the parts */
    size_t n;
} program;

static bool take(const rs_one_run *run, const uint32_t *own, program *out)
{
    *out = (program){.names = rs_malloc((run->n_tokens + 1) * sizeof *out->names),
                     .operators = rs_malloc((run->n_tokens + 1) * sizeof *out->operators),
                     .n = run->n_tokens};
    for (size_t i = 0; out->names && out->operators && i < run->n_tokens; i++) {
        uint32_t name = own[run->tokens[i].name], operator_name = own[run->tokens[i].operator_name];
        out->names[i] = (rs_align_item){name, operator_name};
        out->operators[i] = (rs_align_item){operator_name, name};
    }
    return out->names && out->operators;
}

static void clear(program *p)
{
    rs_free_all(p->names, p->operators);
}

/* One place of both programs under one operator and two names. */
typedef struct vote {
    uint32_t old, new;
    size_t n;
} vote;

typedef struct votes {
    vote *items;
    size_t n, capacity;
} votes;

static bool add_vote(votes *v, uint32_t old, uint32_t new)
{
    return RS_APPEND(v, (vote){old, new, 1});
}

/* Between two places that align by name: aligns by operator. *matched grows by what does. */
static bool look_between(const program *a, size_t i, size_t i_end, const program *b, size_t j, size_t j_end,
                         uint32_t *scratch, votes *v, size_t *matched)
{
    bool pieces;
    if (i == i_end || j == j_end) return true;
    if (!rs_align(a->operators + i, i_end - i, b->operators + j, j_end - j, scratch, &pieces)) return false;
    for (size_t k = 0; k < i_end - i; k++) {
        if (scratch[k] == RS_NO_MATCH || !a->operators[i + k].name) continue;
        ++*matched;
        if (!add_vote(v, a->names[i + k].name, b->names[j + scratch[k]].name)) return false;
    }
    return true;
}

static const rs_order by_names[] = {RS_RISING(vote, old), RS_RISING(vote, new)};
static const rs_order by_votes[] = {RS_FALLING(vote, n), RS_RISING(vote, old), RS_RISING(vote, new)};

static void unite(votes *v)
{
    size_t kept = 0;
    RS_SORT(v->items, v->n, by_names);
    for (size_t i = 0; i < v->n; i++)
        if (kept && v->items[kept - 1].old == v->items[i].old && v->items[kept - 1].new == v->items[i].new)
            v->items[kept - 1].n++;
        else
            v->items[kept++] = v->items[i];
    v->n = kept;
    RS_SORT(v->items, v->n, by_votes);
}

static bool align(const program *a, const program *b, uint32_t *match, uint32_t *scratch, votes *v,
                  size_t *matched)
{
    bool pieces;
    size_t i = 0, j = 0;
    *matched = 0;
    if (!rs_align(a->names, a->n, b->names, b->n, match, &pieces)) return false;
    for (size_t k = 0; k <= a->n; k++) {
        if (k < a->n && match[k] == RS_NO_MATCH) continue;
        size_t to = k < a->n ? match[k] : b->n;
        if (!look_between(a, i, k, b, j, to, scratch, v, matched)) return false;
        *matched += k < a->n;
        i = k + 1;
        j = to + 1;
    }
    return true;
}

/* Marks the names that are in any parts or programs of a range. */
static void mark(const rs_parts *p, int which, const rs_run_range *range, uint8_t *seen)
{
    const uint32_t *own = p->own[which];
    for (size_t r = range->from; r < range->to; r++) {
        const rs_one_run *run = &range->side->runs[r];
        for (size_t i = 0; i < run->parts[p->method].n; i++)
            seen[own[run->parts[p->method].items[i].name]] |= (uint8_t)(1 << which);
        for (size_t i = 0; i < run->n_tokens; i++) seen[own[run->tokens[i].name]] |= (uint8_t)(1 << which);
    }
}

rs_status rs_parts_pair_names(rs_parts *p, const rs_run_range sides[2], double *aligned, rs_error *err)
{
    const rs_one_run *runs[2] = {with_tokens(&sides[0]), with_tokens(&sides[1])};
    program a = {0}, b = {0};
    votes v = {0};
    size_t matched = 0, n = p->texts.n;
    RS_LOCAL uint8_t *seen = rs_calloc(n + 1, 1);
    p->renamed = rs_malloc((n + 1) * sizeof *p->renamed);
    bool ok = seen && p->renamed;
    for (uint32_t i = 0; ok && i < n; i++) p->renamed[i] = i;
    p->n_renamed = ok ? n : 0;
    *aligned = 1;
    if (ok && runs[0] && runs[1]) {
        ok = take(runs[0], p->own[0], &a) && take(runs[1], p->own[1], &b);
        uint32_t *match = rs_malloc((a.n + 1) * sizeof *match),
                 *scratch = rs_malloc((a.n + 1) * sizeof *scratch);
        ok = ok && match && scratch && align(&a, &b, match, scratch, &v, &matched);
        rs_free_all(match, scratch);
        *aligned = (double)matched / (double)(a.n < b.n ? a.n : b.n);
    }
    for (int k = 0; ok && k < 2; k++) mark(p, k, &sides[k], seen);
    unite(&v);
    for (size_t i = 0; ok && i < v.n; i++) {
        const vote *x = &v.items[i];
        if (seen[x->old] != 1 || seen[x->new] != 2) continue; /* it is on both sides, or taken already */
        p->renamed[x->old] = x->new;
        seen[x->old] = seen[x->new] = 3;
    }
    clear(&a);
    clear(&b);
    rs_free(v.items);
    return ok ? RS_OK : rs_fail_nomem(err, "the names of kernels");
}
