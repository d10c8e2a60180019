/* metrics --traces: the same numbers from the kernels that the torch profiler recorded, which is what really
 * ran. Traces lie next to the rank files in torch_profiler/rankR/. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/memory.h"
#include "metrics/dataset.h"
#include "metrics/trace_steps.h"

/* ---- finding them ------------------------------------------------------------------------------------- */

typedef struct list {
    char **items; /* RANK=PATH */
    size_t n, capacity;
} list;

static void list_clear(list *l)
{
    for (size_t i = 0; i < l->n; i++) rs_free(l->items[i]);
    rs_free(l->items);
}

static bool is_trace_name(const char *name)
{
    static const char *const ends[] = {".json", ".json.gz", ".json.zst"};
    size_t n = strlen(name);
    for (size_t i = 0; i < 3; i++) {
        size_t m = strlen(ends[i]);
        if (n > m && strcmp(name + n - m, ends[i]) == 0) return name[0] != '.';
    }
    return false;
}

/* The last trace of the directory by name: names hold the time or the step. */
static rs_status add_rank(list *l, const char *directory, const char *name, int64_t rank, rs_error *err)
{
    char folder[4096], best[256] = "";
    if (snprintf(folder, sizeof folder, "%s/%s", directory, name) >= (int)sizeof folder) return RS_OK;
    DIR *dir = opendir(folder);
    if (!dir) return RS_OK; /* a file of that name */
    for (struct dirent *e; (e = readdir(dir));)
        if (is_trace_name(e->d_name) && strlen(e->d_name) < sizeof best && strcmp(e->d_name, best) > 0)
            memcpy(best, e->d_name, strlen(e->d_name) + 1);
    closedir(dir);
    if (!best[0]) return RS_OK;
    size_t size = strlen(folder) + strlen(best) + 32;
    char *path = rs_malloc(size);
    if (!path || !RS_GROW_ONE(l->items, l->n, l->capacity)) {
        rs_free(path);
        return rs_fail_nomem(err, "file names");
    }
    snprintf(path, size, "%lld=%s/%s", (long long)rank, folder, best);
    l->items[l->n++] = path;
    return RS_OK;
}

static rs_status find_traces(const rs_dataset *d, list *l, rs_error *err)
{
    char folder[4096];
    if (snprintf(folder, sizeof folder, "%s/torch_profiler", d->directory) >= (int)sizeof folder)
        return RS_OK;
    DIR *dir = opendir(folder);
    rs_status status = RS_OK;
    if (!dir) return RS_OK;
    for (struct dirent *e; status == RS_OK && (e = readdir(dir));) {
        if (strncmp(e->d_name, "rank", 4) != 0) continue;
        const char *p = e->d_name + 4 + (e->d_name[4] == '_');
        int64_t rank = 0;
        if (!rs_is_digit(*p)) continue;
        for (; rs_is_digit(*p) && rank < INT32_MAX; p++) rank = rank * 10 + (*p - '0');
        if (*p == '\0') status = add_rank(l, folder, e->d_name, rank, err);
    }
    closedir(dir);
    return status;
}

/* ---- keeping what they say ----------------------------------------------------------------------------- */

static rs_status keep_ranks(rs_dataset *d, const rs_rank_value *ranks, size_t n, rs_error *err)
{
    d->traces = rs_calloc(n + 1, sizeof *d->traces);
    if (!d->traces) return rs_fail_nomem(err, "the steps of traces");
    bool any = false;
    for (size_t i = 0; i < n; i++) {
        const rs_traced_rank *p = ranks[i].value;
        d->traces[d->n_traces++] = (rs_trace_report){.rank = ranks[i].rank,
                                                     .steps = p->all.number,
                                                     .total_ns = p->all.ns[RS_TRACE_TOTAL],
                                                     .compute_ns = p->all.ns[RS_TRACE_COMPUTE],
                                                     .comm_ns = p->all.ns[RS_TRACE_COMM],
                                                     .overlap_ns = p->all.ns[RS_TRACE_OVERLAP],
                                                     .idle_ns = p->all.ns[RS_TRACE_IDLE]};
        any |= p->all.number > 0;
    }
    if (!any)
        d->trace_reason = "the traces hold no training step (ProfilerStep#N), so nothing can be compared";
    return RS_OK;
}

static bool same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static char *text_of(const rs_traced_rank *p, uint32_t id, bool *ok)
{
    const char *text = rs_pool_text(&p->ops->pool, id);
    char *copy = text ? rs_strdup(text) : NULL;
    *ok = *ok && (!text || copy);
    return copy;
}

static int by_exposed(const void *a, const void *b)
{
    const rs_exposed *x = a, *y = b;
    if (x->exposed_ns != y->exposed_ns) return x->exposed_ns > y->exposed_ns ? -1 : 1;
    if (x->time_ns != y->time_ns) return x->time_ns > y->time_ns ? -1 : 1;
    int c = strcmp(x->collective, y->collective);
    if (c == 0) c = strcmp(x->group ? x->group : "", y->group ? y->group : "");
    return c ? c : strcmp(x->description ? x->description : "", y->description ? y->description : "");
}

/* Adds one rank's kernels of one kind to those of other ranks. */
static bool add_exposed(rs_dataset *d, const rs_traced_rank *p, const rs_traced_kind *kind)
{
    bool ok = true;
    size_t k = 0;
    rs_exposed one = {.collective = rs_strdup(rs_coll_kind_name(kind->kind)),
                      .group = text_of(p, kind->group, &ok),
                      .description = text_of(p, kind->description, &ok)};
    ok = ok && one.collective;
    while (ok && k < d->n_exposed &&
           !(same_text(d->exposed[k].collective, one.collective) &&
             same_text(d->exposed[k].group, one.group) &&
             same_text(d->exposed[k].description, one.description)))
        k++;
    bool added = ok && k == d->n_exposed && RS_GROW_ONE(d->exposed, d->n_exposed, d->exposed_capacity);
    if (added) {
        d->exposed[d->n_exposed++] = one;
    } else {
        ok = ok && k < d->n_exposed;
        rs_free_all(one.collective, one.group, one.description);
    }
    if (!ok) return false;
    rs_exposed *e = &d->exposed[k];
    e->n_ranks++;
    e->count += kind->n;
    e->time_ns = rs_add_sat(e->time_ns, kind->time);
    e->exposed_ns = rs_add_sat(e->exposed_ns, kind->alone);
    return true;
}

static rs_status keep_exposed(rs_dataset *d, const rs_rank_value *ranks, size_t n, rs_error *err)
{
    for (size_t i = 0; i < n; i++) {
        const rs_traced_rank *p = ranks[i].value;
        for (size_t k = 0; k < p->n_exposed; k++)
            if (!add_exposed(d, p, &p->exposed[k])) return rs_fail_nomem(err, "exposed collectives");
    }
    if (d->n_exposed) qsort(d->exposed, d->n_exposed, sizeof *d->exposed, by_exposed);
    return RS_OK;
}

static rs_status keep(rs_dataset *d, const rs_rank_value *ranks, size_t n, rs_error *err)
{
    rs_status status = keep_ranks(d, ranks, n, err);
    if (status == RS_OK) status = keep_exposed(d, ranks, n, err);
    if (status == RS_OK) status = rs_dataset_align(d, ranks, err);
    return status;
}

rs_status rs_dataset_traces(rs_dataset *d, unsigned jobs, rs_problems *problems, rs_error *err)
{
    RS_SCOPED(list_clear) list l = {0};
    rs_job *job = NULL;
    RS_SCOPED(rs_result_clear) rs_result result = {0};
    RS_LOCAL rs_rank_value *ranks = NULL;
    size_t n = 0;
    rs_job_settings settings = {.size = sizeof(rs_job_settings), .jobs = jobs};
    rs_status status = find_traces(d, &l, err);
    if (status == RS_OK && !l.n) {
        d->trace_reason = "there are no traces in torch_profiler/rank*/ of the directory";
    } else if (status == RS_OK) {
        status = rs_job_open((const char *const *)l.items, l.n, &settings, &job, err);
        if (status == RS_OK) status = rs_job_each_rank(job, &rs_metrics_by_steps, &ranks, &n, &result, err);
        rs_problems_move(problems, &result.problems);
        if (status == RS_OK) status = keep(d, ranks, n, err);
    }
    for (size_t i = 0; i < n; i++) rs_metrics_by_steps.free_value(ranks[i].value);
    rs_job_close(job);
    return status;
}
