#include "match/stages.h"

#include "base/memory.h"

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
    uint32_t *up = rs_malloc((n + 1) * sizeof *up), *length = rs_calloc(n + 1, sizeof *length);
    if (!out->stage || !out->line || !up || !length) {
        rs_free(up);
        rs_free(length);
        return rs_fail_nomem(err, "pipeline stages");
    }
    for (uint32_t r = 0; r < n; r++) up[r] = r;
    for (size_t i = 0; i < job->n; i++) {
        const rs_coll_instance *c = &job->instances[i];
        const rs_coll_arrival *a = &job->arrivals[c->first];
        if (c->n == 2 && job->ranks[a->rank]->ops[a->op].kind == RS_COLL_SEND_RECV)
            tie(up, a[0].rank, a[1].rank);
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
    rs_free(up);
    rs_free(length);
    return RS_OK;
}
