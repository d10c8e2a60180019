/* compare --by tree: the lowest common ancestors of what differs.
 *
 * Operators with GPU work below them are aligned level by level, from the roots of paired threads down.
 * A matched pair is a group: it holds its own work and all work below children that found no partner. So a
 * piece of work belongs to the lowest matched pair above it, or to the root's group. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/compare.h"
#include "base/align.h"
#include "base/interval.h"
#include "base/memory.h"
#include "base/order.h"
#include "base/strings.h"
#include "table/cells.h"
#include "table/relation.h"

#define NO_TEXT UINT32_MAX

/* One side of a group. */
typedef struct part {
    uint32_t ops; /* its launchers, as one text */
    uint64_t pieces;
    int64_t time;
} part;

typedef struct group {
    uint32_t name, plain, module; /* texts; NO_TEXT for the root */
    uint32_t uid[2];              /* RS_NO_ROW for the root */
    int64_t rank[2];              /* RS_NO_VALUE for the root */
    uint32_t depth;
    part parts[2];
} group;

/* A rank's ids of texts as those of the comparison. */
typedef struct rank_view {
    const rs_compare_rank *p;
    int64_t rank;
    uint32_t *ids;        /* by id of the pool */
    uint32_t *first_work; /* by node, and one behind the last: its place in p->work */
} rank_view;

typedef struct pair {
    size_t view[2]; /* of the views of the sides */
    uint32_t node[2];
    uint32_t depth;
} pair;

typedef struct matcher {
    const rs_compare_run *c;
    size_t variant;
    rs_strings texts;
    rank_view *views[2];
    size_t n_views[2];
    pair *todo;
    size_t n_todo, todo_capacity;
    group *groups;
    size_t n_groups, groups_capacity;
    /* of the group that is being made */
    uint32_t *ops[2]; /* launchers met, with repetitions */
    size_t n_ops[2], ops_capacity[2];
    part sums[2];
    /* siblings */
    rs_align_item *items[2];
    uint32_t *nodes[2];
    size_t items_capacity[2], nodes_capacity[2];
    uint32_t *match;
    uint8_t *taken; /* by b's siblings */
    size_t match_capacity, taken_capacity;
    size_t n_pieces; /* lists of siblings that were aligned piece by piece */
    char *joined;
    size_t joined_capacity;
} matcher;

/* ---- texts --------------------------------------------------------------------------------------------- */

static bool open_view(matcher *m, const rs_partial *partial, rank_view *v)
{
    const rs_compare_rank *p = partial->value;
    const rs_strings *from = &p->pool.strings;
    *v = (rank_view){.p = p, .rank = partial->rank};
    v->ids = rs_malloc((from->n + 1) * sizeof *v->ids);
    v->first_work = rs_malloc((p->n_nodes + 1) * sizeof *v->first_work);
    if (!v->ids || !v->first_work) return false;
    for (size_t i = 0; i < from->n; i++) {
        v->ids[i] = rs_strings_add(&m->texts, from->items[i].text, from->items[i].length);
        if (v->ids[i] == RS_NO_STRING) return false;
    }
    size_t at = 0;
    for (size_t node = 0; node <= p->n_nodes; node++) {
        while (at < p->n_work && p->work[at].node < node) at++;
        v->first_work[node] = (uint32_t)at;
    }
    return true;
}

static uint32_t text_of(const rank_view *v, uint32_t id)
{
    return id == RS_NO_STRING ? 0 : v->ids[id];
}

/* ---- the work of a group ------------------------------------------------------------------------------- */

static bool add_work(matcher *m, unsigned side, const rank_view *v, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        const rs_compare_work *w = &v->p->work[i];
        if (!RS_GROW_ONE(m->ops[side], m->n_ops[side], m->ops_capacity[side])) return false;
        m->ops[side][m->n_ops[side]++] = v->ids[w->launcher];
        m->sums[side].pieces += w->pieces;
        m->sums[side].time = rs_add_sat(m->sums[side].time, w->time);
    }
    return true;
}

/* All work of the nodes from `node` up to `end`. */
static bool add_nodes(matcher *m, unsigned side, const rank_view *v, uint32_t node, uint32_t end)
{
    return add_work(m, side, v, v->first_work[node], v->first_work[end]);
}

static const rs_order by_id[] = {RS_RISING_VALUE(uint32_t)};

typedef struct named {
    const char *text;
    size_t length;
} named;

static const rs_order by_text[] = {RS_RISING(named, text)};

static bool put(matcher *m, size_t *used, const char *text, size_t n)
{
    if (!rs_grow((void **)&m->joined, &m->joined_capacity, *used + n + 1, 1)) return false;
    memcpy(m->joined + *used, text, n);
    *used += n;
    return true;
}

/* The launchers of one side, each once, sorted, with | between. */
static bool join_ops(matcher *m, unsigned side, uint32_t *out)
{
    uint32_t *ids = m->ops[side];
    size_t n = m->n_ops[side], kept = 0, used = 0;
    *out = 0;
    if (!n) return true;
    RS_SORT(ids, n, by_id);
    for (size_t i = 0; i < n; i++)
        if (!kept || ids[kept - 1] != ids[i]) ids[kept++] = ids[i];
    RS_LOCAL named *names = rs_malloc(kept * sizeof *names);
    if (!names) return false;
    for (size_t i = 0; i < kept; i++)
        names[i] = (named){m->texts.items[ids[i]].text, m->texts.items[ids[i]].length};
    RS_SORT(names, kept, by_text);
    bool ok = true;
    for (size_t i = 0; ok && i < kept; i++)
        ok = (i == 0 || put(m, &used, "|", 1)) && put(m, &used, names[i].text, names[i].length);
    *out = ok ? rs_strings_add(&m->texts, m->joined, used) : RS_NO_STRING;
    return *out != RS_NO_STRING;
}

static bool end_group(matcher *m, const group *g)
{
    group *out;
    bool has_work = m->sums[0].pieces || m->sums[1].pieces;
    if (has_work && !RS_GROW_ONE(m->groups, m->n_groups, m->groups_capacity)) return false;
    if (has_work) {
        out = &m->groups[m->n_groups++];
        *out = *g;
        for (unsigned side = 0; side < 2; side++) {
            out->parts[side] = m->sums[side];
            if (!join_ops(m, side, &out->parts[side].ops)) return false;
        }
    }
    for (unsigned side = 0; side < 2; side++) {
        m->n_ops[side] = 0;
        m->sums[side] = (part){0};
    }
    return true;
}

/* ---- siblings ------------------------------------------------------------------------------------------ */

/* The nodes from `first` to `end` without what is below them, by start, then position. */
static bool list_siblings(matcher *m, unsigned side, const rank_view *v, uint32_t first, uint32_t end,
                          size_t *n)
{
    const rs_compare_node *nodes = v->p->nodes;
    *n = 0;
    for (uint32_t node = first; node < end; node = nodes[node].end) {
        if (!RS_GROW_ONE(m->nodes[side], *n, m->nodes_capacity[side])) return false;
        size_t at = (*n)++;
        uint32_t *list = m->nodes[side];
        for (; at && nodes[list[at - 1]].start == nodes[node].start &&
               nodes[list[at - 1]].uid > nodes[node].uid;
             at--)
            list[at] = list[at - 1];
        list[at] = node;
    }
    if (!rs_grow((void **)&m->items[side], &m->items_capacity[side], *n + 1, sizeof *m->items[side]))
        return false;
    for (size_t i = 0; i < *n; i++) {
        const rs_compare_node *x = &nodes[m->nodes[side][i]];
        m->items[side][i] = (rs_align_item){text_of(v, x->plain), text_of(v, x->dims)};
    }
    return true;
}

/* Aligns siblings: pairs are to be looked into, the work of the others is the group's. */
static bool match_siblings(matcher *m, const size_t view[2], const uint32_t first[2], const uint32_t end[2],
                           uint32_t depth)
{
    const rank_view *v[2] = {&m->views[0][view[0]], &m->views[1][view[1]]};
    size_t n[2];
    for (unsigned side = 0; side < 2; side++)
        if (!list_siblings(m, side, v[side], first[side], end[side], &n[side])) return false;
    if (!rs_grow((void **)&m->match, &m->match_capacity, n[0] + 1, sizeof *m->match) ||
        !rs_grow((void **)&m->taken, &m->taken_capacity, n[1] + 1, 1))
        return false;
    bool pieces = false;
    if (!rs_align(m->items[0], n[0], m->items[1], n[1], m->match, &pieces)) return false;
    m->n_pieces += pieces;
    memset(m->taken, 0, n[1] + 1);
    for (size_t i = 0; i < n[0]; i++) {
        uint32_t node = m->nodes[0][i];
        if (m->match[i] == RS_NO_MATCH) {
            if (!add_nodes(m, 0, v[0], node, v[0]->p->nodes[node].end)) return false;
            continue;
        }
        m->taken[m->match[i]] = 1;
        if (!RS_PUSH(m->todo, m->n_todo, m->todo_capacity,
                     (pair){{view[0], view[1]}, {node, m->nodes[1][m->match[i]]}, depth + 1}))
            return false;
    }
    for (size_t k = 0; k < n[1]; k++) {
        uint32_t node = m->nodes[1][k];
        if (!m->taken[k] && !add_nodes(m, 1, v[1], node, v[1]->p->nodes[node].end)) return false;
    }
    return true;
}

/* ---- the walk ------------------------------------------------------------------------------------------ */

static bool enter_pair(matcher *m, const pair *at)
{
    const rank_view *v[2] = {&m->views[0][at->view[0]], &m->views[1][at->view[1]]};
    uint32_t first[2], end[2];
    group g = {.depth = at->depth};
    for (unsigned side = 0; side < 2; side++) {
        const rs_compare_node *x = &v[side]->p->nodes[at->node[side]];
        first[side] = at->node[side] + 1;
        end[side] = x->end;
        g.uid[side] = x->uid;
        g.rank[side] = v[side]->rank;
        if (!add_nodes(m, side, v[side], at->node[side], at->node[side] + 1)) return false;
    }
    const rs_compare_node *a = &v[0]->p->nodes[at->node[0]], *b = &v[1]->p->nodes[at->node[1]];
    g.name = text_of(v[0], a->name);
    g.plain = text_of(v[0], a->plain);
    g.module = a->module != RS_NO_STRING ? text_of(v[0], a->module) : text_of(v[1], b->module);
    return match_siblings(m, at->view, first, end, at->depth) && end_group(m, &g);
}

/* Threads of one rank against those of another, in order; what is left over is the root's. */
static bool match_threads(matcher *m, size_t rank)
{
    size_t n[2];
    const rank_view *v[2];
    for (unsigned side = 0; side < 2; side++) {
        v[side] = rank < m->n_views[side] ? &m->views[side][rank] : NULL;
        n[side] = v[side] ? v[side]->p->n_threads : 0;
        if (v[side] &&
            !add_work(m, side, v[side], v[side]->first_work[v[side]->p->n_nodes], v[side]->p->n_work))
            return false;
    }
    for (size_t i = 0; i < n[0] || i < n[1]; i++) {
        uint32_t first[2], end[2];
        for (unsigned side = 0; side < 2; side++) {
            if (i >= n[side]) continue;
            first[side] = v[side]->p->threads[i].first;
            end[side] = v[side]->p->threads[i].end;
        }
        bool both = i < n[0] && i < n[1];
        unsigned side = i < n[0] ? 0 : 1;
        if (both ? !match_siblings(m, (size_t[]){rank, rank}, first, end, 0)
                 : !add_nodes(m, side, v[side], first[side], end[side]))
            return false;
    }
    return true;
}

static bool match_all(matcher *m)
{
    const size_t sides[2] = {0, m->variant};
    bool ok = rs_strings_init(&m->texts);
    for (unsigned k = 0; ok && k < 2; k++) {
        const rs_compare_side *s = &m->c->sides[sides[k]];
        m->views[k] = rs_calloc(s->n_ranks + 1, sizeof *m->views[k]);
        ok = m->views[k] != NULL;
        for (size_t i = 0; ok && i < s->n_ranks; i++)
            ok = open_view(m, &s->ranks[i], &m->views[k][m->n_views[k]++]);
    }
    for (size_t i = 0; ok && (i < m->n_views[0] || i < m->n_views[1]); i++) ok = match_threads(m, i);
    ok = ok && end_group(m, &(group){.name = NO_TEXT,
                                     .plain = 0,
                                     .module = 0,
                                     .uid = {RS_NO_ROW, RS_NO_ROW},
                                     .rank = {RS_NO_VALUE, RS_NO_VALUE}});
    while (ok && m->n_todo) {
        pair at = m->todo[--m->n_todo];
        ok = enter_pair(m, &at);
    }
    return ok;
}

static void clear(matcher *m)
{
    for (unsigned k = 0; k < 2; k++) {
        for (size_t i = 0; i < m->n_views[k]; i++) {
            rs_free_all(m->views[k][i].ids, m->views[k][i].first_work);
        }
        rs_free_all(m->views[k], m->ops[k], m->items[k], m->nodes[k]);
    }
    rs_strings_clear(&m->texts);
    rs_free_all(m->todo, m->groups, m->match, m->taken, m->joined);
}

/* ---- tables -------------------------------------------------------------------------------------------- */

/* Groups of one name and equal launchers, added up. */
typedef struct total {
    uint32_t name;
    uint64_t count;
    part parts[2];
    double size; /* of the difference */
} total;

static double diff_of(const matcher *m, const part parts[2])
{
    return rs_compare_diff_us(&m->c->sides[0], parts[0].time, &m->c->sides[m->variant], parts[1].time);
}

static const rs_order by_size[] = {RS_FALLING(total, size), RS_RISING_TEXT(total, name),
                                   RS_RISING_TEXT(total, parts[0].ops), RS_RISING_TEXT(total, parts[1].ops)};

static const char *verdict_of(const part parts[2], double diff)
{
    if (!parts[0].pieces) return "only in B";
    if (!parts[1].pieces) return "only in A";
    if (parts[0].ops != parts[1].ops) return "replaced";
    return diff > 0 ? "slower" : diff < 0 ? "faster" : "same";
}

static void add_text(rs_table *t, const matcher *m, uint32_t id)
{
    const rs_string *s = id == NO_TEXT ? NULL : &m->texts.items[id];
    if (s && s->length)
        rs_table_add_text_n(t, s->text, s->length);
    else
        rs_table_add_null(t);
}

static void add_ops(rs_table *t, const matcher *m, const part parts[2])
{
    add_text(t, m, parts[0].ops);
    add_text(t, m, parts[1].ops);
}

static rs_status add_times(rs_table *t, const matcher *m, const part parts[2], rs_error *err)
{
    const rs_compare_side *a = &m->c->sides[0], *b = &m->c->sides[m->variant];
    double diff = diff_of(m, parts), whole = rs_compare_us(a, a->time);
    return RS_PUT_ROW(t, err, rs_compare_count(a, parts[0].pieces), rs_compare_count(b, parts[1].pieces),
                      rs_compare_us(a, parts[0].time), rs_compare_us(b, parts[1].time), diff,
                      whole > 0 ? 100 * diff / whole : (double)NAN, verdict_of(parts, diff));
}

static const rs_aggregate by_launchers[] = {
    RS_KEY(total, name, group, plain),
    RS_KEY(total, parts[0].ops, group, parts[0].ops),
    RS_KEY(total, parts[1].ops, group, parts[1].ops),
    RS_COUNTED(total, count),
    RS_SUMMED(total, parts[0].pieces, group, parts[0].pieces),
    RS_SUMMED(total, parts[0].time, group, parts[0].time),
    RS_SUMMED(total, parts[1].pieces, group, parts[1].pieces),
    RS_SUMMED(total, parts[1].time, group, parts[1].time),
};

static bool add_up(const matcher *m, rs_relation *totals)
{
    rs_grouper g;
    rs_grouper_open(&g, by_launchers, sizeof by_launchers / sizeof *by_launchers, totals);
    for (size_t i = 0; i < m->n_groups; i++) rs_grouper_add(&g, &m->groups[i]);
    return rs_grouper_close(&g);
}

static rs_status add_totals(const matcher *m, rs_table *t, rs_result *result, rs_error *err)
{
    RS_SCOPED(rs_relation_clear) rs_relation sums = {.size = sizeof(total)};
    rs_status status = add_up(m, &sums) ? RS_OK : rs_fail_nomem(err, "call tree");
    total *totals = sums.rows;
    size_t n = status == RS_OK ? sums.n : 0, top = m->c->top;
    for (size_t i = 0; i < n; i++) totals[i].size = fabs(diff_of(m, totals[i].parts));
    rs_sort(totals, n, sizeof *totals, by_size, sizeof by_size / sizeof *by_size, &m->texts);
    size_t shown = top && top < n ? top : n;
    double rest = 0;
    for (size_t i = 0; status == RS_OK && i < n; i++) {
        if (i >= shown) {
            rest += diff_of(m, totals[i].parts);
            continue;
        }
        rs_table_add_int(t, (int64_t)m->variant);
        add_text(t, m, totals[i].name);
        add_ops(t, m, totals[i].parts);
        rs_table_add_int(t, (int64_t)totals[i].count);
        status = add_times(t, m, totals[i].parts, err);
    }
    if (status == RS_OK && shown < n) rs_compare_note_rest(result, m->variant, n - shown, rest);
    return status;
}

/* By size of the difference, falling, then by rank and position. */
typedef struct sized {
    const group *g;
    double size;
} sized;

static int by_group(const void *a, const void *b)
{
    const sized *x = a, *y = b;
    if (x->size != y->size) return x->size > y->size ? -1 : 1;
    for (unsigned side = 0; side < 2; side++) {
        if (x->g->rank[side] != y->g->rank[side]) return x->g->rank[side] < y->g->rank[side] ? -1 : 1;
        if (x->g->uid[side] != y->g->uid[side]) return x->g->uid[side] < y->g->uid[side] ? -1 : 1;
    }
    return 0;
}

static rs_status add_pairs(const matcher *m, rs_table *t, rs_error *err)
{
    RS_LOCAL sized *order = rs_malloc((m->n_groups + 1) * sizeof *order);
    rs_status status = order ? RS_OK : rs_fail_nomem(err, "call tree");
    for (size_t i = 0; order && i < m->n_groups; i++)
        order[i] = (sized){&m->groups[i], fabs(diff_of(m, m->groups[i].parts))};
    if (order && m->n_groups) qsort(order, m->n_groups, sizeof *order, by_group);
    for (size_t i = 0; status == RS_OK && i < m->n_groups; i++) {
        const group *g = order[i].g;
        rs_table_add_int(t, (int64_t)m->variant);
        add_text(t, m, g->name);
        RS_PUT_CELLS(t, g->uid[0] != RS_NO_ROW ? g->uid[0] : RS_NO_VALUE,
                     g->uid[1] != RS_NO_ROW ? g->uid[1] : RS_NO_VALUE, g->depth);
        add_ops(t, m, g->parts);
        RS_PUT_CELLS(t, g->rank[0], g->rank[1]);
        add_text(t, m, g->module);
        status = add_times(t, m, g->parts, err);
    }
    return status;
}

rs_status rs_compare_trees(const rs_compare_run *c, rs_table *main, rs_table *pairs, rs_result *result,
                           rs_error *err)
{
    rs_status status = RS_OK;
    for (size_t v = 1; status == RS_OK && v < c->n_sides; v++) {
        matcher m = {.c = c, .variant = v};
        status = match_all(&m) ? RS_OK : rs_fail_nomem(err, "call tree");
        if (status == RS_OK) status = add_totals(&m, main, result, err);
        if (status == RS_OK) status = add_pairs(&m, pairs, err);
        if (m.n_pieces)
            rs_result_note(
                result,
                "variant %zu: %zu long lists of siblings differ widely and were aligned piece by piece: "
                "other pairs may fit better",
                v, m.n_pieces);
        clear(&m);
    }
    return status;
}
