#include "match/mesh.h"

#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/memory.h"
#include "base/order.h"

enum { MOST_RANKS = 1 << 20 };

/* ---- members ------------------------------------------------------------------------------------------- */

static const rs_order by_value[] = {RS_RISING_VALUE(int64_t)};

/* The difference between neighbours, or 0 where it is not the same. */
static int64_t stride_of(const int64_t *members, size_t n)
{
    if (n < 2) return 0;
    int64_t stride = members[1] - members[0];
    for (size_t i = 2; i < n; i++)
        if (members[i] - members[i - 1] != stride) return 0;
    return stride;
}

rs_status rs_mesh_parse(const char *text, int64_t size, int64_t **members, size_t *n, rs_error *err)
{
    size_t capacity = 0;
    bool has_memory = true;
    bool cut = strstr(text, "...") != NULL;
    *members = NULL;
    *n = 0;
    for (const char *c = text; *c;) {
        if (!rs_is_digit(*c)) {
            c++;
            continue;
        }
        int64_t value = 0;
        for (; rs_is_digit(*c); c++) value = value > MOST_RANKS ? value : value * 10 + (*c - '0');
        if (value >= MOST_RANKS || *n >= MOST_RANKS) goto none;
        has_memory = RS_GROW_ONE(*members, *n, capacity);
        if (!has_memory) goto none;
        (*members)[(*n)++] = value;
    }
    if (*n) RS_SORT(*members, *n, by_value);
    int64_t stride = stride_of(*members, *n);
    while (cut && (int64_t)*n < size) {
        if (stride <= 0 || *n >= MOST_RANKS) goto none;
        int64_t next = (*members)[*n - 1] + stride;
        if (next >= MOST_RANKS) goto none;
        has_memory = RS_GROW_ONE(*members, *n, capacity);
        if (!has_memory) goto none;
        (*members)[(*n)++] = next;
    }
    size_t kept = 0;
    for (size_t i = 0; i < *n; i++)
        if (kept == 0 || (*members)[i] != (*members)[kept - 1]) (*members)[kept++] = (*members)[i];
    *n = kept;
    if (kept) return RS_OK;
none:
    rs_free(*members);
    *members = NULL;
    *n = 0;
    return has_memory ? RS_OK : rs_fail_nomem(err, "process groups");
}

/* ---- classes ------------------------------------------------------------------------------------------- */

/* By size, stride, members: those of one class stand together, equal ones side by side. */
static int by_shape(const void *a, const void *b)
{
    const rs_mesh_group *x = a, *y = b;
    if (x->n != y->n) return x->n < y->n ? -1 : 1;
    int64_t s = stride_of(x->members, x->n), t = stride_of(y->members, y->n);
    if (s != t) return s < t ? -1 : 1;
    for (size_t i = 0; i < x->n; i++)
        if (x->members[i] != y->members[i]) return x->members[i] < y->members[i] ? -1 : 1;
    if (!x->description || !y->description) return (y->description != NULL) - (x->description != NULL);
    return strcmp(x->description, y->description);
}

static bool is_same(const rs_mesh_group *x, const rs_mesh_group *y)
{
    return x->n == y->n && memcmp(x->members, y->members, x->n * sizeof *x->members) == 0;
}

/* Groups first to end of one size and stride. */
typedef struct class
{
    size_t first, end;
    rs_mesh_axis axis;
    rs_mesh_group sum;
    uint32_t *group_of; /* by rank: the group + 1, 0: none */
} class;

/* One of each; what is done in them added up. Returns how many are left. */
static size_t unite(rs_mesh_group *groups, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        if (groups[i].n < 2) continue;
        if (kept && is_same(&groups[kept - 1], &groups[i])) {
            rs_mesh_group *g = &groups[kept - 1];
            if (!g->description) g->description = groups[i].description;
            g->ops += groups[i].ops;
            g->transfers += groups[i].transfers;
            g->all_to_alls += groups[i].all_to_alls;
            g->forward_sums += groups[i].forward_sums;
            g->behind += groups[i].behind;
            continue;
        }
        rs_mesh_group spare = groups[kept];
        groups[kept++] = groups[i];
        if (kept - 1 != i) groups[i] = spare; /* the caller frees the members of all */
    }
    return kept;
}

/* Fills group_of; false where two groups share a rank. */
static bool place_groups(const rs_mesh_group *groups, class *c)
{
    for (size_t g = c->first; g < c->end; g++)
        for (size_t i = 0; i < groups[g].n; i++) {
            uint32_t *slot = &c->group_of[groups[g].members[i]];
            if (*slot) return false;
            *slot = (uint32_t)(g + 1);
            c->axis.ranks++;
        }
    return true;
}

/* Whether no group of one shares two ranks with a group of the other. */
static bool meet_once(const rs_mesh_group *groups, const class *a, const class *b, uint32_t *seen)
{
    bool ok = true;
    for (size_t g = b->first; ok && g < b->end; g++) {
        for (size_t i = 0; ok && i < groups[g].n; i++) {
            uint32_t other = a->group_of[groups[g].members[i]];
            if (other && seen[other - 1]++) ok = false;
        }
        for (size_t i = 0; i < groups[g].n; i++) {
            uint32_t other = a->group_of[groups[g].members[i]];
            if (other) seen[other - 1] = 0;
        }
    }
    return ok;
}

/* ---- names --------------------------------------------------------------------------------------------- */

/* A word of a description, words being what stands between signs. The first that matches names the axis:
 * experts' data-parallel groups are the experts'. */
static const struct word {
    const char *word, *name;
} words[] = {
    {"expert", "ep"}, {"ep", "ep"},        {"tensor", "tp"},  {"tp", "tp"},   {"pipeline", "pp"},
    {"pipe", "pp"},   {"pp", "pp"},        {"context", "cp"}, {"cp", "cp"},   {"sequence", "sp"},
    {"sp", "sp"},     {"data", "dp"},      {"dp", "dp"},      {"fsdp", "dp"}, {"ddp", "dp"},
    {"shard", "dp"},  {"replicate", "dp"},
};

static bool has_word(const char *text, const char *word)
{
    size_t n = strlen(word);
    for (const char *c = text; *c; c++) {
        if (c != text && rs_is_letter(c[-1])) continue;
        size_t k = 0;
        while (k < n && rs_lower(c[k]) == word[k]) k++;
        if (k == n && !rs_is_letter(c[n])) return true;
    }
    return false;
}

static void name_axis(class *c)
{
    const char *name = "axis";
    const rs_mesh_group *s = &c->sum;
    for (size_t i = 0; s->description && !c->axis.described && i < sizeof words / sizeof *words; i++)
        if (has_word(s->description, words[i].word)) {
            name = words[i].name;
            c->axis.described = true;
        }
    if (!c->axis.described && s->ops) {
        if (s->transfers * 2 >= s->ops)
            name = "pp";
        else if (s->all_to_alls * 2 >= s->ops)
            name = "ep";
        else if (s->forward_sums * 4 >= s->ops)
            name = "tp"; /* results are summed up on the way forward */
        else if (s->behind)
            name = "dp"; /* gradients are */
    }
    strcpy(c->axis.name, name);
}

/* ---- the mesh ------------------------------------------------------------------------------------------ */

static size_t list_classes(const rs_mesh_group *groups, size_t n, class *classes)
{
    size_t n_classes = 0;
    for (size_t i = 0, end; i < n && n_classes < RS_MESH_AXES; i = end) {
        int64_t stride = stride_of(groups[i].members, groups[i].n);
        class *c = &classes[n_classes];
        *c = (class){.first = i, .sum = {.description = NULL}};
        for (end = i; end < n && groups[end].n == groups[i].n &&
                      stride_of(groups[end].members, groups[end].n) == stride;
             end++) {
            if (!c->sum.description) c->sum.description = groups[end].description;
            c->sum.ops += groups[end].ops;
            c->sum.transfers += groups[end].transfers;
            c->sum.all_to_alls += groups[end].all_to_alls;
            c->sum.forward_sums += groups[end].forward_sums;
            c->sum.behind += groups[end].behind;
        }
        c->end = end;
        c->axis = (rs_mesh_axis){
            .size = (int64_t)groups[i].n, .stride = stride, .groups = end - i, .ops = c->sum.ops};
        n_classes++;
    }
    return n_classes;
}

/* Of all sets of classes that meet once and whose sizes multiply to no more than the world: the one that
 * covers most, then with the most axes, then with the most operations, then the first. */
static unsigned best_set(const class *classes, size_t n, const uint16_t *fits, int64_t world)
{
    unsigned best = 0;
    int64_t best_product = 1;
    size_t best_axes = 0, best_ops = 0;
    for (unsigned set = 1; set < 1u << n; set++) {
        int64_t product = 1;
        size_t axes = 0, ops = 0;
        bool ok = true;
        for (size_t i = 0; ok && i < n; i++) {
            if (!(set >> i & 1)) continue;
            ok = (set & ~(1u << i) & ~(unsigned)fits[i]) == 0 && product <= world / classes[i].axis.size;
            product *= classes[i].axis.size;
            ok = ok && world % product == 0;
            axes++;
            ops += classes[i].axis.ops;
        }
        if (!ok || product < best_product) continue;
        if (product == best_product && (axes < best_axes || (axes == best_axes && ops <= best_ops))) continue;
        best = set;
        best_product = product;
        best_axes = axes;
        best_ops = ops;
    }
    return best;
}

static const rs_order by_stride[] = {RS_RISING(rs_mesh_axis, stride), RS_RISING(rs_mesh_axis, size)};

static rs_status solve(rs_mesh_group *groups, size_t n, rs_mesh *out, rs_error *err)
{
    class classes[RS_MESH_AXES];
    uint16_t fits[RS_MESH_AXES] = {0};
    size_t n_classes = list_classes(groups, n, classes), kept = 0;
    RS_LOCAL uint32_t *seen = rs_calloc(n + 1, sizeof *seen);
    bool ok = seen != NULL;
    for (size_t i = 0; ok && i < n_classes; i++) {
        classes[i].group_of = rs_calloc((size_t)out->world + 1, sizeof(uint32_t));
        ok = classes[i].group_of != NULL;
    }
    for (size_t i = 0; ok && i < n_classes; i++) {
        class c = classes[i];
        if (place_groups(groups, &c)) {
            classes[i] = classes[kept];
            classes[kept++] = c;
        }
    }
    for (size_t i = 0; ok && i < kept; i++)
        for (size_t k = 0; k < i; k++)
            if (meet_once(groups, &classes[i], &classes[k], seen)) {
                fits[i] |= (uint16_t)(1u << k);
                fits[k] |= (uint16_t)(1u << i);
            }
    unsigned set = ok ? best_set(classes, kept, fits, out->world) : 0;
    for (size_t i = 0; ok && i < kept; i++) {
        if (!(set >> i & 1)) continue;
        name_axis(&classes[i]);
        out->axes[out->n++] = classes[i].axis;
        out->covered *= classes[i].axis.size;
    }
    RS_SORT(out->axes, out->n, by_stride);
    for (size_t i = 0; i < n_classes; i++) rs_free(classes[i].group_of);
    return ok ? RS_OK : rs_fail_nomem(err, "the mesh");
}

rs_status rs_mesh_find(rs_mesh_group *groups, size_t n, int64_t world, rs_mesh *out, rs_error *err)
{
    *out = (rs_mesh){.world = world > 0 ? world : 0, .covered = 1};
    for (size_t i = 0; i < n; i++)
        if (groups[i].n && groups[i].members[groups[i].n - 1] >= out->world)
            out->world = groups[i].members[groups[i].n - 1] + 1;
    if (n == 0 || out->world > MOST_RANKS) return RS_OK;
    qsort(groups, n, sizeof *groups, by_shape);
    return solve(groups, unite(groups, n), out, err);
}
