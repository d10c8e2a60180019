#include "match/stages.h"

#include <string.h>

#include "base/memory.h"
#include "base/strings.h"
#include "base/try.h"
#include "match/mesh.h"

void rs_stages_clear(rs_stages *s)
{
    rs_free(s->stage);
    rs_free(s->line);
    *s = (rs_stages){0};
}

static uint32_t root_of(uint32_t *up, uint32_t rank)
{
    while (up[rank] != rank) rank = up[rank] = up[up[rank]];
    return rank;
}

/* The lower rank is the root of the other's part. */
static void tie(uint32_t *up, uint32_t a, uint32_t b)
{
    a = root_of(up, a);
    b = root_of(up, b);
    if (a < b)
        up[b] = a;
    else
        up[a] = b;
}

rs_status rs_stages_find(const rs_coll_job *job, rs_stages *out, rs_error *err)
{
    size_t n = job->n_ranks;
    *out = (rs_stages){.stage = rs_calloc(n + 1, sizeof *out->stage),
                       .line = rs_calloc(n + 1, sizeof *out->line)};
    RS_LOCAL uint32_t *up = rs_malloc((n + 1) * sizeof *up), *length = rs_calloc(n + 1, sizeof *length);
    if (!out->stage || !out->line || !up || !length) return rs_fail_nomem(err, "pipeline stages");
    for (uint32_t r = 0; r < n; r++) up[r] = r;
    bool steps = false;
    for (size_t i = 0; i < job->n; i++)
        steps = steps || rs_coll_op_at(job, &job->arrivals[job->instances[i].first])->step >= 0;
    for (size_t i = 0; i < job->n; i++) {
        const rs_coll_instance *c = &job->instances[i];
        const rs_coll_arrival *a = &job->arrivals[c->first];
        /* what was launched before the recording has no metadata: an exchange between all may look like sends */
        if (steps && rs_coll_op_at(job, a)->step < 0) continue;
        if (c->n == 2 && rs_coll_shape_at(job, a)->kind == RS_COLL_SEND_RECV) tie(up, a[0].rank, a[1].rank);
    }
    bool even = n > 0;
    for (uint32_t r = 0; r < n; r++) {
        uint32_t root = root_of(up, r);
        if (root == r) out->line[r] = (uint32_t)out->n_lines++;
        out->line[r] = out->line[root];
        out->stage[r] = length[root]++;
    }
    for (uint32_t r = 0; r < n; r++) even = even && length[root_of(up, r)] == length[0];
    if (even && length[0] > 1) out->n_stages = length[0];
    return RS_OK;
}

/* ---- data ranks ---------------------------------------------------------------------------------------- */

typedef struct groups {
    rs_mesh_group *items;
    size_t n, capacity;
} groups;

static void count(groups *all, uint32_t at, const rs_coll_shape *op)
{
    rs_mesh_group *g = &all->items[at];
    g->ops++;
    g->transfers += op->kind == RS_COLL_SEND_RECV;
    g->all_to_alls += op->kind == RS_COLL_ALL_TO_ALL;
}

/* The process groups of a rank, by the texts that list their members. */
static bool add_groups(const rs_coll_rank *r, groups *all)
{
    RS_SCOPED(rs_map64_clear)
    rs_map64 at = {0}; /* text of the pool -> index into items, all ones: it lists nobody */
    bool ok = true;
    for (size_t i = 0; ok && i < r->n; i++) {
        const rs_coll_shape *op = rs_coll_shape_of(r, &r->ops[i]);
        const char *text = rs_pool_text(&r->pool, op->members);
        bool is_new;
        if (!text) continue;
        uint32_t *slot = rs_map64_put(&at, op->members, &is_new);
        ok = slot != NULL;
        if (ok && is_new) {
            rs_mesh_group g = {.description = rs_pool_text(&r->pool, op->description)};
            *slot = UINT32_MAX;
            ok = rs_mesh_parse(text, op->group_size, &g.members, &g.n, NULL) == RS_OK;
            if (ok && g.n > 1) {
                ok = RS_GROW_ONE(all->items, all->n, all->capacity);
                if (ok) *slot = (uint32_t)all->n;
            }
            if (ok && *slot != UINT32_MAX)
                all->items[all->n++] = g;
            else
                rs_free(g.members);
        }
        if (ok && *slot != UINT32_MAX) count(all, *slot, op);
    }
    return ok;
}

rs_status rs_data_ranks(const rs_coll_job *job, const int64_t *numbers, int64_t *out, int64_t *n_data,
                        rs_error *err)
{
    groups all = {0};
    rs_mesh mesh = {0};
    bool ok = true;
    *n_data = 0;
    for (size_t r = 0; r < job->n_ranks; r++) out[r] = -1;
    for (size_t r = 0; ok && r < job->n_ranks; r++) ok = add_groups(job->ranks[r], &all);
    rs_status status = ok ? rs_mesh_find(all.items, all.n, 0, &mesh, err) : rs_fail_nomem(err, "the mesh");
    for (size_t i = 0; i < all.n; i++) rs_free(all.items[i].members);
    rs_free(all.items);
    RS_TRY(status);
    const rs_mesh_axis *data = NULL;
    for (size_t i = 0; i < mesh.n; i++)
        if (strcmp(mesh.axes[i].name, "dp") == 0 && mesh.axes[i].stride > 0) data = &mesh.axes[i];
    if (!data || mesh.covered != mesh.world) return RS_OK;
    *n_data = data->size;
    for (size_t r = 0; r < job->n_ranks; r++) out[r] = numbers[r] / data->stride % data->size;
    return RS_OK;
}
