/* Rank domains: which rank of a merged file an event belongs to.
 *
 * Correlation ids, flow ids, sequence numbers and streams repeat from rank to rank, so nothing may be linked
 * before this is known. An ordinary file is recognised in one walk over the events that carry a correlation.
 */
#include <inttypes.h>
#include <string.h>

#include "base/finder.h"
#include "trace/domains_internal.h"
#include "trace/trace_internal.h"

#define MAX_RANKS 65536

void rs_domains_clear(rs_domains *d)
{
    for (size_t i = 0; d->rows && i < d->n; i++) rs_free(d->rows[i]);
    rs_free_all(d->rows, d->n_rows, d->rank);
    *d = (rs_domains){0};
}

/* ---- processes -------------------------------------------------------------------------------------- */

static bool survey_pids(const rs_events *e, rs_pids *p)
{
    RS_SCOPED(rs_map64_clear) rs_map64 ids = {0};
    p->of_thread = rs_malloc(e->n_threads * sizeof *p->of_thread);
    p->pid = rs_malloc(e->n_threads * sizeof *p->pid);
    p->flags = rs_calloc(e->n_threads, 1);
    bool ok = p->of_thread && p->pid && p->flags;
    for (size_t i = 0; ok && i < e->n_threads; i++) {
        bool is_new;
        uint32_t *slot = rs_map64_put(&ids, (uint64_t)e->threads[i].pid, &is_new);
        ok = slot != NULL;
        if (!ok) break;
        if (is_new) {
            *slot = (uint32_t)p->n;
            p->pid[p->n++] = e->threads[i].pid;
        }
        p->of_thread[i] = *slot;
    }
    return ok;
}

static void pids_clear(rs_pids *p)
{
    rs_free_all(p->of_thread, p->pid, p->flags);
}

/* How many calls have the correlation of another one that their process launched last under it. */
static bool count_repeats(const rs_events *e, const rs_pids *p, size_t n_calls, size_t *n_repeated)
{
    const rs_sparse *c = &e->args[RS_COL_CORRELATION];
    rs_finder last; /* the last call under each correlation, as a place in the column */
    bool ok = rs_finder_init(&last, n_calls);
    for (size_t i = 0; ok && n_calls && i < c->n; i++) {
        rs_finder_fetch_ahead(&last, c, i);
        if (!rs_kind_is_call(rs_event_kind(e, c->rows[i]))) continue;
        size_t at = rs_finder_first(&last, (uint64_t)rs_sparse_int(c, i));
        while (last.slots[at] != RS_FINDER_NONE && rs_sparse_int(c, last.slots[at]) != rs_sparse_int(c, i))
            at = rs_finder_next(&last, at);
        uint32_t other = last.slots[at];
        *n_repeated += other != RS_FINDER_NONE &&
                       p->of_thread[e->thread[c->rows[other]]] == p->of_thread[e->thread[c->rows[i]]];
        last.slots[at] = (uint32_t)i;
    }
    rs_finder_clear(&last);
    return ok;
}

/* Which processes launch and which hold GPU work; whether one process launched twice under one correlation.
 */
static bool survey_launches(const rs_events *e, rs_pids *p, size_t *n_calls, size_t *n_repeated)
{
    const rs_sparse *c = &e->args[RS_COL_CORRELATION];
    RS_LOCAL uint8_t *on_thread = rs_calloc(e->n_threads, 1);
    *n_calls = *n_repeated = 0;
    if (!on_thread) return false;
    for (size_t i = 0; i < c->n; i++) {
        rs_kind kind = rs_event_kind(e, c->rows[i]);
        uint8_t *flags = &on_thread[e->thread[c->rows[i]]];
        if (rs_kind_is_gpu_work(kind)) *flags |= RS_PID_WORKS;
        if (!rs_kind_is_call(kind)) continue;
        *flags |= RS_PID_CALLS;
        ++*n_calls;
    }
    for (size_t i = 0; i < e->n_threads; i++) p->flags[p->of_thread[i]] |= on_thread[i];
    return count_repeats(e, p, *n_calls, n_repeated);
}

/* ---- from the domain of each row to row lists -------------------------------------------------------- */

/* Rows that no rule could place go with their process where that is one rank's, else with the row before. */
static bool place_rest(const rs_events *e, const rs_pids *p, uint32_t *domain)
{
    RS_LOCAL uint32_t *of_pid = rs_malloc(p->n * sizeof *of_pid);
    if (!of_pid) return false;
    memset(of_pid, 0xff, p->n * sizeof *of_pid); /* RS_NO_DOMAIN */
    for (size_t i = 0; i < e->n; i++) {
        uint32_t *known = &of_pid[p->of_thread[e->thread[i]]];
        if (domain[i] == RS_NO_DOMAIN || *known == domain[i]) continue;
        *known = *known == RS_NO_DOMAIN ? domain[i] : RS_MANY_DOMAINS;
    }
    uint32_t last = 0;
    for (size_t i = 0; i < e->n; i++) {
        if (domain[i] == RS_NO_DOMAIN) {
            uint32_t known = of_pid[p->of_thread[e->thread[i]]];
            domain[i] = known < RS_MANY_DOMAINS ? known : last;
        }
        last = domain[i];
    }
    return true;
}

static rs_status finish(const rs_events *e, const rs_pids *p, uint32_t *domain, size_t n, const int64_t *rank,
                        const char *rule, rs_domains *out, rs_error *err)
{
    out->rule = rule;
    out->rows = rs_calloc(n, sizeof *out->rows);
    out->n_rows = rs_calloc(n, sizeof *out->n_rows);
    out->rank = rs_malloc(n * sizeof *out->rank);
    out->n = n;
    bool ok = out->rows && out->n_rows && out->rank && place_rest(e, p, domain);
    for (size_t i = 0; ok && i < e->n; i++) out->n_rows[domain[i]]++;
    for (size_t k = 0; ok && k < n; k++) {
        out->rows[k] = rs_malloc(out->n_rows[k] * sizeof *out->rows[k]);
        ok = out->rows[k] != NULL;
        out->n_rows[k] = 0;
        out->rank[k] = rank ? rank[k] : RS_NO_VALUE;
    }
    for (size_t i = 0; ok && i < e->n; i++) out->rows[domain[i]][out->n_rows[domain[i]]++] = (uint32_t)i;
    return ok ? RS_OK : rs_fail_nomem(err, "ranks of a merged file");
}

static rs_status one_rank(rs_domains *out, const char *rule, rs_error *err)
{
    out->rank = rs_malloc(sizeof *out->rank);
    if (!out->rank) return rs_fail_nomem(err, "ranks");
    out->rank[0] = RS_NO_VALUE;
    out->n = 1;
    out->rule = rule;
    return RS_OK;
}

/* ---- numbers that the events or the documents carry -------------------------------------------------- */

typedef struct rank_list {
    int64_t *items;
    size_t n, capacity;
    rs_map64 ids;
} rank_list;

/* The place of a rank in the list, RS_NO_DOMAIN when out of memory. */
static uint32_t rank_place(rank_list *list, int64_t rank)
{
    bool is_new;
    uint32_t *slot = rs_map64_put(&list->ids, (uint64_t)rank, &is_new);
    if (!slot || (is_new && !RS_GROW_ONE(list->items, list->n, list->capacity))) return RS_NO_DOMAIN;
    if (is_new) {
        *slot = (uint32_t)list->n;
        list->items[list->n++] = rank;
    }
    return *slot;
}

static bool ranks_differ(const rs_sparse *c)
{
    for (size_t i = 1; i < c->n; i++)
        if (rs_sparse_int(c, i) != rs_sparse_int(c, 0)) return true;
    return false;
}

/* args.rank tells ranks apart when most launches and GPU work carry it: a stray argument of that name does
 * not. */
static bool most_have_rank(const rs_events *e)
{
    size_t all = 0, with = 0;
    rs_cursor rank = rs_cursor_of(e, RS_COL_RANK);
    for (size_t i = 0; i < e->n; i++) {
        rs_kind kind = rs_event_kind(e, i);
        if (!rs_kind_is_call(kind) && !rs_kind_is_gpu_work(kind) && kind != RS_KIND_CPU_OP) continue;
        all++;
        with += rs_cursor_seek(&rank, (uint32_t)i);
    }
    return with > all / 2;
}

static rs_status split_by_argument(const rs_events *e, const rs_pids *p, uint32_t *domain, rs_domains *out,
                                   rs_error *err)
{
    const rs_sparse *c = &e->args[RS_COL_RANK];
    rank_list list = {0};
    rs_status status = RS_OK;
    for (size_t i = 0; status == RS_OK && i < c->n; i++) {
        uint32_t place = rank_place(&list, rs_sparse_int(c, i));
        if (place == RS_NO_DOMAIN)
            status = rs_fail_nomem(err, "ranks");
        else if (place >= MAX_RANKS)
            status = rs_fail(err, RS_ERR_LIMIT, "more than %d ranks in one file", MAX_RANKS);
        if (status == RS_OK) domain[c->rows[i]] = place;
    }
    if (status == RS_OK) status = finish(e, p, domain, list.n, list.items, "args.rank", out, err);
    rs_map64_clear(&list.ids);
    rs_free(list.items);
    return status;
}

static bool documents_differ(const rs_events *e)
{
    for (size_t i = 1; i < e->n_documents; i++)
        if (e->documents[i].rank != e->documents[0].rank) {
            for (size_t k = 0; k < e->n_documents; k++)
                if (e->documents[k].rank == RS_NO_VALUE) return false;
            return true;
        }
    return false;
}

static rs_status split_by_document(const rs_events *e, const rs_pids *p, uint32_t *domain, rs_domains *out,
                                   rs_error *err)
{
    rank_list list = {0};
    rs_status status = RS_OK;
    for (size_t k = 0; status == RS_OK && k < e->n_documents; k++) {
        uint32_t place = rank_place(&list, e->documents[k].rank);
        if (place == RS_NO_DOMAIN)
            status = rs_fail_nomem(err, "ranks");
        else if (place >= MAX_RANKS)
            status = rs_fail(err, RS_ERR_LIMIT, "more than %d ranks in one file", MAX_RANKS);
        size_t end = k + 1 < e->n_documents ? e->documents[k + 1].first_row : e->n;
        for (size_t i = e->documents[k].first_row; status == RS_OK && i < end; i++) domain[i] = place;
    }
    if (status == RS_OK)
        status = finish(e, p, domain, list.n, list.items, "distributedInfo of the documents in the file", out,
                        err);
    rs_map64_clear(&list.ids);
    rs_free(list.items);
    return status;
}

/* ---- the decision ----------------------------------------------------------------------------------- */

static rs_status decide(const rs_events *e, const char *file, rs_pids *p, uint32_t **domain, rs_domains *out,
                        rs_error *err)
{
    size_t n_calls, n_repeated, n_launching = 0;
    if (!survey_pids(e, p) || !survey_launches(e, p, &n_calls, &n_repeated))
        return rs_fail_nomem(err, "ranks");
    for (size_t i = 0; i < p->n; i++) n_launching += (p->flags[i] & RS_PID_CALLS) != 0;
    bool by_argument = ranks_differ(&e->args[RS_COL_RANK]) && most_have_rank(e);
    bool by_document = documents_differ(e);
    bool by_label = !by_argument && rs_domains_are_labelled(e, p);
    if (!by_argument && !by_document && !by_label && n_launching < 2 &&
        !rs_domains_repeat(n_calls, n_repeated))
        return one_rank(out, "one rank", err);
    *domain = rs_malloc(e->n * sizeof **domain);
    if (!*domain) return rs_fail_nomem(err, "ranks");
    memset(*domain, 0xff, e->n * sizeof **domain); /* RS_NO_DOMAIN */
    if (by_argument) return split_by_argument(e, p, *domain, out, err);
    size_t n = 1;
    const char *rule = NULL;
    if (by_label) {
        rs_status status = rs_domains_by_label(e, *domain, &n, err);
        if (status != RS_OK) return status;
        return finish(e, p, *domain, n, NULL, "labels before the process ids", out, err);
    }
    if (by_document) return split_by_document(e, p, *domain, out, err);
    if (n_launching > 1) {
        rs_status status = rs_domains_by_block(e, p, *domain, &n, err);
        if (status != RS_OK) return status;
        if (n > 1)
            return finish(e, p, *domain, n, NULL, "blocks of launching processes whose devices repeat", out,
                          err);
        n = 1;
        memset(*domain, 0xff, e->n * sizeof **domain); /* RS_NO_DOMAIN */
    }
    if (n_repeated == 0 || n_launching > 1) {
        rs_status status = rs_domains_by_process(e, file, p, *domain, &n, &rule, err);
        if (status != RS_OK) return status;
        if (n > 1) return finish(e, p, *domain, n, NULL, rule, out, err);
    }
    if (rs_domains_repeat(n_calls, n_repeated)) {
        out->told_by = RS_COLUMN_BIT(EXTERNAL_ID);
        out->needs = out->told_by & ~e->loaded;
        if (out->needs) return RS_OK;
        rs_status status = rs_domains_by_segment(e, file, p, n_calls, n_repeated, *domain, &n, &rule, err);
        if (status != RS_OK) return status;
        if (n > 1) return finish(e, p, *domain, n, NULL, rule, out, err);
    }
    return one_rank(out, "one rank", err);
}

rs_status rs_domains_split(const rs_events *e, const char *file, rs_domains *out, rs_error *err)
{
    *out = (rs_domains){0};
    if (e->one_rank && !(e->one_rank_by & ~e->loaded)) {
        out->told_by = e->one_rank_by;
        return one_rank(out, "one rank", err);
    }
    RS_SCOPED(pids_clear) rs_pids pids = {0};
    RS_LOCAL uint32_t *domain = NULL;
    rs_status status = decide(e, file, &pids, &domain, out, err);
    if (status != RS_OK) rs_domains_clear(out);
    return status;
}
