#include "match/stages.h"

#include <string.h>

#include "base/memory.h"
#include "base/strings.h"
#include "base/try.h"

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

/* ---- the order of stages ------------------------------------------------------------------------------- */

#define TRIES 4 /* steps, from the last: a recording may begin within its first */

/* A rank's first message of a step. */
typedef struct first {
    int64_t start, sent; /* ns, its own clock: of any, of one that it sends; RS_NO_TIME: none */
    uint32_t to;         /* that goes to this rank */
} first;

bool rs_coll_message_ends(const rs_coll_job *job, const rs_coll_instance *c, const rs_coll_arrival **from,
                          const rs_coll_arrival **to)
{
    const rs_coll_arrival *a = &job->arrivals[c->first], *b = a + 1;
    if (c->n != 2 || rs_coll_shape_at(job, a)->kind != RS_COLL_SEND_RECV) return false;
    const bool a_sends = rs_coll_sends(job->ranks[a->rank], rs_coll_shape_at(job, a)),
               b_sends = rs_coll_sends(job->ranks[b->rank], rs_coll_shape_at(job, b));
    *from = a_sends ? a : b;
    *to = a_sends ? b : a;
    return a_sends != b_sends;
}

/* The greatest step with messages of each line below the one that was tried last. */
static void next_steps(const rs_coll_job *job, const uint32_t *line, const int64_t *below, int64_t *step)
{
    const rs_coll_arrival *from, *to;
    for (size_t i = 0; i < job->n; i++) {
        if (!rs_coll_message_ends(job, &job->instances[i], &from, &to)) continue;
        const int64_t is = rs_coll_op_at(job, from)->step;
        const uint32_t of = line[from->rank];
        if (is < below[of] && is > step[of]) step[of] = is;
    }
}

static void find_firsts(const rs_coll_job *job, const uint32_t *line, const int64_t *step, first *firsts)
{
    const rs_coll_arrival *from, *to;
    for (size_t r = 0; r < job->n_ranks; r++) firsts[r] = (first){RS_NO_TIME, RS_NO_TIME, 0};
    for (size_t i = 0; i < job->n; i++) {
        if (!rs_coll_message_ends(job, &job->instances[i], &from, &to)) continue;
        const rs_coll_op *sent = rs_coll_op_at(job, from), *got = rs_coll_op_at(job, to);
        if (sent->step != step[line[from->rank]]) continue;
        first *f = &firsts[from->rank], *g = &firsts[to->rank];
        if (f->sent == RS_NO_TIME || sent->start < f->sent) {
            f->sent = sent->start;
            f->to = to->rank;
        }
        if (f->start == RS_NO_TIME || sent->start < f->start) f->start = sent->start;
        if (g->start == RS_NO_TIME || got->start < g->start) g->start = got->start;
    }
}

/* Follows first messages from the one rank that sends before it receives. false: they do not lead to every rank of the line. Without a step the
 * recording may begin with a backward pass: what leads from the highest rank to the lowest is not believed. */
static bool walk(const rs_stages *s, const first *firsts, size_t n_ranks, uint32_t line, bool has_step,
                 uint32_t *order)
{
    uint32_t root = UINT32_MAX;
    bool rises = false;
    for (uint32_t r = 0; r < n_ranks; r++) {
        if (s->line[r] != line || firsts[r].sent == RS_NO_TIME || firsts[r].sent > firsts[r].start) continue;
        if (root != UINT32_MAX) return false;
        root = r;
    }
    for (size_t i = 0; root != UINT32_MAX && i < s->n_stages; i++) {
        if (s->line[root] != line) return false;
        for (size_t k = 0; k < i; k++)
            if (order[k] == root) return false;
        if (i > 0) rises |= root > order[i - 1];
        order[i] = root;
        if (i + 1 < s->n_stages && firsts[root].sent == RS_NO_TIME) return false;
        root = firsts[root].to;
    }
    return root != UINT32_MAX && (has_step || rises);
}

static rs_status order_stages(const rs_coll_job *job, rs_stages *s, rs_error *err)
{
    const size_t n = job->n_ranks;
    RS_LOCAL first *firsts = rs_malloc((n + 1) * sizeof *firsts);
    RS_LOCAL int64_t *step = rs_malloc((s->n_lines + 1) * sizeof *step),
                     *below = rs_malloc((s->n_lines + 1) * sizeof *below);
    RS_LOCAL uint8_t *done = rs_calloc(s->n_lines + 1, 1);
    RS_LOCAL uint32_t *order = rs_malloc((s->n_stages + 1) * sizeof *order);
    if (!firsts || !step || !below || !done || !order) return rs_fail_nomem(err, "pipeline stages");
    for (size_t i = 0; i < s->n_lines; i++) below[i] = INT64_MAX;
    for (int k = 0; k < TRIES; k++) {
        for (size_t i = 0; i < s->n_lines; i++) step[i] = INT64_MIN;
        next_steps(job, s->line, below, step);
        find_firsts(job, s->line, step, firsts);
        for (uint32_t i = 0; i < s->n_lines; i++) {
            below[i] = step[i];
            if (done[i] || step[i] == INT64_MIN || !walk(s, firsts, n, i, step[i] >= 0, order)) continue;
            for (uint32_t at = 0; at < s->n_stages; at++) s->stage[order[at]] = at;
            done[i] = 1;
        }
    }
    return RS_OK;
}

#define STRAY 4 /* of two partners of a rank one has so many times as many messages: the other is a mistake */

/* Ties ranks that send to each other. */
static rs_status tie_partners(const rs_coll_job *job, bool steps, uint32_t *up, rs_error *err)
{
    RS_SCOPED(rs_map64_clear) rs_map64 counts = {0};
    RS_LOCAL uint32_t *most = rs_calloc(job->n_ranks + 1, sizeof *most);
    if (!most) return rs_fail_nomem(err, "pipeline stages");
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < job->n; i++) {
            const rs_coll_instance *c = &job->instances[i];
            const rs_coll_arrival *a = &job->arrivals[c->first];
            bool is_new;
            /* what was launched before the recording has no metadata: an exchange between all may look like sends */
            if ((steps && rs_coll_op_at(job, a)->step < 0) || c->n != 2 ||
                rs_coll_shape_at(job, a)->kind != RS_COLL_SEND_RECV)
                continue;
            const uint32_t x = a[0].rank, y = a[1].rank;
            uint32_t *n = rs_map64_put(&counts, (uint64_t)(x < y ? x : y) << 32 | (x < y ? y : x), &is_new);
            if (!n) return rs_fail_nomem(err, "pipeline stages");
            if (is_new) *n = 0;
            if (!pass) {
                ++*n;
                if (*n > most[x]) most[x] = *n;
                if (*n > most[y]) most[y] = *n;
            } else if (STRAY * (uint64_t)*n >= most[x] && STRAY * (uint64_t)*n >= most[y]) {
                tie(up, x, y);
            }
        }
    return RS_OK;
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
    RS_TRY(tie_partners(job, steps, up, err));
    bool even = n > 0;
    for (uint32_t r = 0; r < n; r++) {
        uint32_t root = root_of(up, r);
        if (root == r) out->line[r] = (uint32_t)out->n_lines++;
        out->line[r] = out->line[root];
        out->stage[r] = length[root]++;
    }
    for (uint32_t r = 0; r < n; r++) even = even && length[root_of(up, r)] == length[0];
    if (even && length[0] > 1) out->n_stages = length[0];
    return out->n_stages ? order_stages(job, out, err) : RS_OK;
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

rs_status rs_coll_mesh(const rs_coll_rank *const *ranks, size_t n, int64_t world, rs_mesh *out, rs_error *err)
{
    groups all = {0};
    bool ok = true;
    *out = (rs_mesh){0};
    for (size_t r = 0; ok && r < n; r++) ok = add_groups(ranks[r], &all);
    rs_status status = ok ? rs_mesh_find(all.items, all.n, world, out, err) : rs_fail_nomem(err, "the mesh");
    for (size_t i = 0; i < all.n; i++) rs_free(all.items[i].members);
    rs_free(all.items);
    return status;
}

bool rs_coll_is_of_axis(const rs_coll_rank *rank, const rs_coll_shape *shape, const rs_mesh_axis *axis)
{
    const char *text = rs_pool_text(&rank->pool, shape->members);
    int64_t *members = NULL;
    size_t n = 0;
    bool is = text && rs_mesh_parse(text, shape->group_size, &members, &n, NULL) == RS_OK &&
              (int64_t)n == axis->size;
    for (size_t i = 1; is && i < n; i++) is = members[i] - members[i - 1] == axis->stride;
    rs_free(members);
    return is;
}

rs_status rs_data_ranks(const rs_coll_job *job, const int64_t *numbers, int64_t *out, int64_t *n_data,
                        rs_error *err)
{
    rs_mesh mesh = {0};
    *n_data = 0;
    for (size_t r = 0; r < job->n_ranks; r++) out[r] = -1;
    RS_TRY(rs_coll_mesh(job->ranks, job->n_ranks, 0, &mesh, err));
    const rs_mesh_axis *data = NULL;
    for (size_t i = 0; i < mesh.n; i++)
        if (strcmp(mesh.axes[i].name, "dp") == 0 && mesh.axes[i].stride > 0) data = &mesh.axes[i];
    if (!data || mesh.covered != mesh.world) return RS_OK;
    *n_data = data->size;
    for (size_t r = 0; r < job->n_ranks; r++) out[r] = numbers[r] / data->stride % data->size;
    return RS_OK;
}
