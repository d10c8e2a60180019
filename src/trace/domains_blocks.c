/* Ranks of several nodes in one file: host processes differ, but every node counts its devices from 0, so that
 * the processes of devices repeat. The ranks' events are in blocks, one behind another. */
#include <string.h>

#include "trace/domains_internal.h"

typedef struct blocks {
    const rs_events *e;
    const rs_pids *p;
    uint32_t *block;   /* by process: the number of its block; RS_NO_DOMAIN */
    uint32_t *process; /* by block: the process that launches it */
    size_t n;
    uint32_t *owner; /* by process that holds GPU work: the block of all of it, RS_MANY_DOMAINS */
    rs_map64 own;    /* (process, correlation) of calls */
    rs_map64 any;    /* correlations of calls */
} blocks;

static uint64_t call_key(uint32_t process, int64_t correlation)
{
    return rs_hash_u64((uint64_t)correlation ^ ((uint64_t)process << 44)) ^ process;
}

static bool index_calls(blocks *b)
{
    const rs_events *e = b->e;
    const rs_sparse *c = &e->args[RS_COL_CORRELATION];
    bool is_new;
    for (size_t i = 0; i < c->n; i++)
        if (rs_kind_is_call(rs_event_kind(e, c->rows[i])) &&
            (!rs_map64_put(&b->own, call_key(b->p->of_thread[e->thread[c->rows[i]]], rs_sparse_int(c, i)),
                           &is_new) ||
             !rs_map64_put(&b->any, (uint64_t)rs_sparse_int(c, i), &is_new)))
            return false;
    return true;
}

/* The events of every launching process stand together; whatever else stands between them is theirs. Tells
 * whether it is so, and whether some device is shared by two of them. */
static bool find_blocks(blocks *b, bool *shared)
{
    const rs_events *e = b->e;
    uint32_t now = RS_NO_DOMAIN;
    *shared = false;
    for (size_t i = 0; i < e->n; i++) {
        uint32_t process = b->p->of_thread[e->thread[i]];
        rs_kind kind = rs_event_kind(e, i);
        if (b->p->flags[process] & RS_PID_CALLS) {
            if (now != RS_NO_DOMAIN && b->process[now] == process) continue;
            if (b->block[process] != RS_NO_DOMAIN) return false;
            now = b->block[process] = (uint32_t)b->n;
            b->process[b->n++] = process;
        } else if (rs_kind_is_gpu_work(kind)) {
            if (now == RS_NO_DOMAIN) return false;
            uint32_t *owner = &b->owner[process];
            if (*owner == RS_NO_DOMAIN) *owner = now;
            if (*owner != now) *owner = RS_MANY_DOMAINS;
            *shared |= *owner == RS_MANY_DOMAINS;
        }
    }
    return true;
}

/* The blocks that hold GPU work become ranks, in their order, when whatever of it is launched anywhere is
 * launched by their own process. *n 0: they do not. */
static bool mark(blocks *b, uint32_t *domain, size_t *n)
{
    const rs_events *e = b->e;
    uint32_t *rank = rs_malloc((b->n + 1) * sizeof *rank), now = RS_NO_DOMAIN;
    if (!rank) return false;
    memset(rank, 0xff, (b->n + 1) * sizeof *rank);
    rs_cursor correlation = rs_cursor_of(e, RS_COL_CORRELATION);
    bool fits = true;
    for (size_t i = 0; i < e->n && fits; i++) {
        uint32_t process = b->p->of_thread[e->thread[i]];
        if (b->p->flags[process] & RS_PID_CALLS) now = b->block[process];
        if (now == RS_NO_DOMAIN || !rs_kind_is_gpu_work(rs_event_kind(e, i))) continue;
        rank[now] = 0;
        if (!rs_cursor_seek(&correlation, (uint32_t)i)) continue;
        int64_t key = rs_sparse_int(correlation.column, correlation.at);
        fits = rs_map64_get(&b->own, call_key(b->process[now], key)) || !rs_map64_get(&b->any, (uint64_t)key);
    }
    *n = 0;
    for (size_t k = 0; k < b->n && fits; k++)
        if (rank[k] == 0) rank[k] = (uint32_t)(*n)++;
    now = RS_NO_DOMAIN;
    for (size_t i = 0; i < e->n && fits; i++) {
        uint32_t process = b->p->of_thread[e->thread[i]];
        bool calls = b->p->flags[process] & RS_PID_CALLS;
        if (calls) now = b->block[process];
        if (now != RS_NO_DOMAIN && (calls || rs_kind_is_gpu_work(rs_event_kind(e, i)))) domain[i] = rank[now];
    }
    rs_free(rank);
    return true;
}

rs_status rs_domains_by_block(const rs_events *e, const rs_pids *p, uint32_t *domain, size_t *n,
                              rs_error *err)
{
    size_t bytes = (p->n + 1) * sizeof(uint32_t);
    blocks b = {
        .e = e, .p = p, .block = rs_malloc(bytes), .process = rs_malloc(bytes), .owner = rs_malloc(bytes)};
    bool ok = b.block && b.process && b.owner, shared = false;
    *n = 0;
    if (ok) {
        memset(b.block, 0xff, bytes);
        memset(b.owner, 0xff, bytes);
    }
    if (ok && find_blocks(&b, &shared) && shared) ok = index_calls(&b) && mark(&b, domain, n);
    rs_free_all(b.block, b.process, b.owner);
    rs_map64_clear(&b.own);
    rs_map64_clear(&b.any);
    return ok ? RS_OK : rs_fail_nomem(err, "ranks");
}
