/* Collectives of several ranks: which belong together, and how far the ranks' clocks are apart. */
#include <stdlib.h>
#include <string.h>

#include "analysis/stragglers.h"
#include "base/interval.h"

void rs_matches_clear(rs_matches *m)
{
    rs_free(m->items);
    rs_free(m->members);
    rs_free(m->clocks);
    *m = (rs_matches){0};
}

/* An arrival with what it is matched by; ids of groups are common to all ranks here. */
typedef struct entry {
    uint32_t group, index, rank;
    bool by_seq;
    int64_t place; /* seq or step */
    const rs_arrival *arrival;
} entry;

static int compare_entries(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    if (x->group != y->group) return x->group < y->group ? -1 : 1;
    if (x->place != y->place) return x->place < y->place ? -1 : 1;
    if (x->index != y->index) return x->index < y->index ? -1 : 1;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

static bool list_entries(const rs_partial *partials, size_t n, rs_strings *groups, entry **out, size_t *n_out)
{
    size_t all = 0;
    for (size_t i = 0; i < n; i++) all += ((const rs_arrivals *)partials[i].value)->n;
    entry *entries = rs_calloc(all + 1, sizeof *entries);
    *out = entries;
    *n_out = 0;
    if (!entries) return false;
    for (size_t i = 0; i < n; i++) {
        const rs_arrivals *a = partials[i].value;
        for (size_t k = 0; k < a->n; k++) {
            const rs_arrival *x = &a->items[k];
            if (x->pair_only && n != 2) continue;
            const rs_string *name = &a->names.items[x->group];
            uint32_t group = rs_strings_add(groups, name->text, name->length);
            if (group == RS_NO_STRING) return false;
            bool by_seq = x->seq != RS_NO_SEQ;
            entries[(*n_out)++] = (entry){.group = group,
                                          .index = x->index,
                                          .rank = (uint32_t)i,
                                          .by_seq = by_seq,
                                          .place = by_seq ? x->seq : x->step,
                                          .arrival = x};
        }
    }
    if (*n_out) qsort(entries, *n_out, sizeof *entries, compare_entries);
    return true;
}

/* ---- clocks ----------------------------------------------------------------------------------------- */

typedef struct edge {
    uint32_t a, b; /* a < b */
    int64_t offset, spread;
    size_t n;
} edge;

typedef struct edge_list {
    edge *items;
    size_t n, capacity;
} edge_list;

static int compare_edges(const void *a, const void *b)
{
    const edge *x = a, *y = b;
    if (x->spread != y->spread) return x->spread < y->spread ? -1 : 1;
    if (x->n != y->n) return x->n > y->n ? -1 : 1;
    if (x->a != y->a) return x->a < y->a ? -1 : 1;
    return x->b < y->b ? -1 : x->b > y->b;
}

static int compare_times(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

static int64_t middle(int64_t *values, size_t n)
{
    qsort(values, n, sizeof *values, compare_times);
    int64_t low = values[(n - 1) / 2], high = values[n / 2];
    return rs_add_sat(low, rs_sub_sat(high, low) / 2);
}

/* The edge between the first and the k-th rank of a group, over its collectives [from, to). */
static bool add_edge(const rs_matches *m, size_t from, size_t to, uint32_t k, int64_t *scratch,
                     edge_list *out)
{
    size_t n = 0;
    const rs_member *first = NULL, *other = NULL;
    for (size_t i = from; i < to; i++) {
        const rs_collective *c = &m->items[i];
        if (!c->arrival->symmetric) continue;
        first = &m->members[c->first];
        other = &m->members[c->first + k];
        scratch[n++] = rs_sub_sat(other->end, first->end);
    }
    if (!n) return true;
    edge x = {.a = first->rank, .b = other->rank, .offset = middle(scratch, n), .n = n};
    for (size_t i = 0; i < n; i++) {
        int64_t d = rs_sub_sat(scratch[i], x.offset);
        scratch[i] = d < 0 ? rs_sub_sat(0, d) : d;
    }
    x.spread = middle(scratch, n);
    if (!RS_GROW_ONE(out->items, out->n, out->capacity)) return false;
    out->items[out->n++] = x;
    return true;
}

static uint32_t find_root(uint32_t *parent, uint32_t i)
{
    while (parent[i] != i) i = parent[i] = parent[parent[i]];
    return i;
}

/* The most certain edges that connect all ranks that can be, each once, as a forest. */
static void keep_forest(edge_list *edges, uint32_t *parent, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) parent[i] = (uint32_t)i;
    if (edges->n) qsort(edges->items, edges->n, sizeof *edges->items, compare_edges);
    for (size_t i = 0; i < edges->n; i++) {
        edge x = edges->items[i];
        uint32_t a = find_root(parent, x.a), b = find_root(parent, x.b);
        if (a == b) continue;
        parent[a > b ? a : b] = a < b ? a : b; /* the lowest rank stays the root */
        edges->items[kept++] = x;
    }
    edges->n = kept;
}

#define NONE UINT32_MAX

/* Walks the forest from each lowest rank. */
static bool walk_forest(const edge_list *edges, const uint32_t *parent, size_t n, rs_clock *clocks)
{
    uint32_t *head = rs_malloc((n + 1) * sizeof *head), *queue = rs_malloc((n + 1) * sizeof *queue),
             *next = rs_malloc((2 * edges->n + 1) * sizeof *next);
    bool ok = head && queue && next;
    if (ok) {
        for (size_t i = 0; i < n; i++) head[i] = NONE;
        for (uint32_t i = 0; i < 2 * edges->n; i++) {
            const edge *x = &edges->items[i / 2];
            uint32_t from = i % 2 ? x->b : x->a;
            next[i] = head[from];
            head[from] = i;
        }
    }
    for (uint32_t root = 0; ok && root < n; root++) {
        if (parent[root] != root) continue;
        size_t at = 0, used = 0;
        clocks[root] = (rs_clock){.reference = root};
        queue[used++] = root;
        while (at < used) {
            uint32_t here = queue[at++];
            for (uint32_t i = head[here]; i != NONE; i = next[i]) {
                const edge *x = &edges->items[i / 2];
                uint32_t there = i % 2 ? x->a : x->b;
                if (there == root || clocks[there].n) continue;
                int64_t step = i % 2 ? rs_sub_sat(0, x->offset) : x->offset;
                clocks[there] =
                    (rs_clock){.reference = root,
                               .offset = rs_add_sat(clocks[here].offset, step),
                               .spread = rs_add_sat(clocks[here].spread, x->spread),
                               .n = here != root && clocks[here].n < x->n ? clocks[here].n : x->n};
                queue[used++] = there;
            }
        }
    }
    rs_free(head);
    rs_free(queue);
    rs_free(next);
    return ok;
}

/* Collectives stand by group here. */
static bool compare_clocks(rs_matches *m, const uint32_t *group_of, size_t n)
{
    edge_list edges = {0};
    int64_t *scratch = rs_malloc((m->n + 1) * sizeof *scratch);
    uint32_t *parent = rs_malloc((n + 1) * sizeof *parent);
    bool ok = scratch && parent;
    for (size_t from = 0, to; ok && from < m->n; from = to) {
        for (to = from; to < m->n && group_of[to] == group_of[from];) to++;
        for (uint32_t k = 1; ok && k < m->items[from].n; k++) ok = add_edge(m, from, to, k, scratch, &edges);
    }
    if (ok) {
        keep_forest(&edges, parent, n);
        for (uint32_t i = 0; i < n; i++) find_root(parent, i);
        ok = walk_forest(&edges, parent, n, m->clocks);
    }
    rs_free(edges.items);
    rs_free(scratch);
    rs_free(parent);
    return ok;
}

/* What is added to a rank's times so that the files' own base times agree; 0 unless all files say theirs. */
static bool base_shifts(const rs_partial *partials, size_t n, int64_t **out)
{
    int64_t *shift = *out = rs_calloc(n + 1, sizeof *shift);
    if (!shift) return false;
    for (size_t i = 0; i < n; i++)
        if (((const rs_arrivals *)partials[i].value)->base_ns == RS_NO_VALUE) return true;
    for (size_t i = 0; i < n; i++)
        shift[i] = rs_sub_sat(((const rs_arrivals *)partials[i].value)->base_ns,
                              ((const rs_arrivals *)partials[0].value)->base_ns);
    return true;
}

/* ---- matching --------------------------------------------------------------------------------------- */

typedef struct matcher {
    const rs_partial *partials;
    size_t n_partials;
    const entry *entries;
    const int64_t *shift;
    uint32_t *seen; /* by rank: stamp of the group it was last seen in */
    uint32_t *group_of;
    rs_matches *out;
} matcher;

static bool same_op(const matcher *m, const entry *a, const entry *b)
{
    const rs_arrivals *of_a = m->partials[a->rank].value, *of_b = m->partials[b->rank].value;
    const rs_string *x = &of_a->names.items[a->arrival->op], *y = &of_b->names.items[b->arrival->op];
    return x->length == y->length && memcmp(x->text, y->text, x->length) == 0;
}

static void add_collective(matcher *m, size_t from, size_t to)
{
    const entry *e = &m->entries[from];
    rs_matches *out = m->out;
    for (size_t i = from + 1; i < to; i++)
        if (!same_op(m, e, &m->entries[i])) {
            out->n_contradicting++;
            return;
        }
    out->n_outside += e->arrival->size > 0 && (size_t)e->arrival->size > to - from;
    m->group_of[out->n] = e->group;
    out->items[out->n++] = (rs_collective){.arrival = e->arrival,
                                           .from = m->partials[e->rank].value,
                                           .first = (uint32_t)out->n_members,
                                           .n = (uint32_t)(to - from)};
    for (size_t i = from; i < to; i++) {
        const entry *x = &m->entries[i];
        out->members[out->n_members++] =
            (rs_member){.rank = x->rank,
                        .start = rs_add_sat(x->arrival->start, m->shift[x->rank]),
                        .end = rs_add_sat(x->arrival->end, m->shift[x->rank])};
    }
}

/* Entries [from, to) share group and place; the group has `present` ranks here. */
static void match_place(matcher *m, size_t from, size_t to, size_t present)
{
    size_t n_indexes = 0;
    for (size_t i = from, next; i < to; i = next) {
        for (next = i; next < to && m->entries[next].index == m->entries[i].index;) next++;
        n_indexes++;
    }
    /* by order alone one missing makes all that follow wrong */
    bool doubtful = !m->entries[from].by_seq && to - from != n_indexes * present;
    for (size_t i = from, next; i < to; i = next) {
        for (next = i; next < to && m->entries[next].index == m->entries[i].index;) next++;
        if (doubtful || next - i != present)
            m->out->n_incomplete++;
        else
            add_collective(m, i, next);
    }
}

static void match_group(matcher *m, size_t from, size_t to)
{
    size_t present = 0;
    for (size_t i = from; i < to; i++) {
        uint32_t *seen = &m->seen[m->entries[i].rank];
        present += *seen != m->entries[from].group + 1;
        *seen = m->entries[from].group + 1;
    }
    if (present < 2) {
        m->out->n_alone += to - from;
        return;
    }
    for (size_t i = from, next; i < to; i = next) {
        for (next = i; next < to && m->entries[next].place == m->entries[i].place;) next++;
        match_place(m, i, next, present);
    }
}

typedef struct ordered {
    rs_collective item;
    int64_t start;
    uint32_t rank, row;
} ordered;

static int compare_ordered(const void *a, const void *b)
{
    const ordered *x = a, *y = b;
    if (x->start != y->start) return x->start < y->start ? -1 : 1;
    if (x->rank != y->rank) return x->rank < y->rank ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

/* Takes the clocks' offsets out and orders the collectives by their first arrival. */
static bool finish(rs_matches *m)
{
    ordered *order = rs_malloc((m->n + 1) * sizeof *order);
    if (!order) return false;
    for (size_t i = 0; i < m->n_members; i++) {
        rs_member *x = &m->members[i];
        x->start = rs_sub_sat(x->start, m->clocks[x->rank].offset);
        x->end = rs_sub_sat(x->end, m->clocks[x->rank].offset);
    }
    for (size_t i = 0; i < m->n; i++) {
        const rs_collective *c = &m->items[i];
        order[i] = (ordered){.item = *c,
                             .start = m->members[c->first].start,
                             .rank = m->members[c->first].rank,
                             .row = c->arrival->row};
        for (uint32_t k = 1; k < c->n; k++)
            if (m->members[c->first + k].start < order[i].start)
                order[i].start = m->members[c->first + k].start;
    }
    if (m->n) qsort(order, m->n, sizeof *order, compare_ordered);
    for (size_t i = 0; i < m->n; i++) m->items[i] = order[i].item;
    rs_free(order);
    return true;
}

rs_status rs_matches_find(const rs_partial *partials, size_t n, bool align, rs_matches *out, rs_error *err)
{
    rs_strings groups;
    entry *entries = NULL;
    int64_t *shift = NULL;
    size_t n_entries = 0;
    *out = (rs_matches){0};
    bool ok = rs_strings_init(&groups) && list_entries(partials, n, &groups, &entries, &n_entries) &&
              base_shifts(partials, n, &shift) && n_entries < UINT32_MAX;
    matcher m = {.partials = partials, .n_partials = n, .entries = entries, .shift = shift, .out = out};
    if (ok) {
        out->items = rs_malloc((n_entries + 1) * sizeof *out->items);
        out->members = rs_malloc((n_entries + 1) * sizeof *out->members);
        out->clocks = rs_calloc(n + 1, sizeof *out->clocks);
        m.seen = rs_calloc(n + 1, sizeof *m.seen);
        m.group_of = rs_malloc((n_entries + 1) * sizeof *m.group_of);
        ok = out->items && out->members && out->clocks && m.seen && m.group_of;
    }
    for (size_t from = 0, to; ok && from < n_entries; from = to) {
        for (to = from; to < n_entries && entries[to].group == entries[from].group;) to++;
        match_group(&m, from, to);
    }
    for (uint32_t i = 0; ok && i < n; i++) out->clocks[i].reference = i;
    if (ok && align) ok = compare_clocks(out, m.group_of, n);
    ok = ok && finish(out);
    rs_free(m.seen);
    rs_free(m.group_of);
    rs_free(entries);
    rs_free(shift);
    rs_strings_clear(&groups);
    if (ok) return RS_OK;
    rs_matches_clear(out);
    return rs_fail_nomem(err, "collectives");
}
