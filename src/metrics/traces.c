/* metrics --traces: the same numbers from the kernels that the torch profiler recorded, which is what really
 * ran. Traces lie beside the rank files in torch_profiler/rankR/. */
#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "analysis/busy.h"
#include "base/memory.h"
#include "metrics/dataset.h"
#include "trace/trace.h"

/* ---- one rank's steps --------------------------------------------------------------------------------- */

typedef struct set {
    rs_interval *items;
    size_t n;
} set;

static int64_t within(const set *a, const set *b)
{
    return rs_intervals_intersection(a->items, a->n, b->items, b->n);
}

static bool union_of_steps(const rs_step *steps, size_t n, set *out)
{
    out->items = rs_malloc((n + 1) * sizeof *out->items);
    if (!out->items) return false;
    for (size_t i = 0; i < n; i++) out->items[i] = (rs_interval){steps[i].start, steps[i].end};
    if (!rs_intervals_sort(out->items, n)) return false;
    out->n = rs_intervals_unite(out->items, n);
    return true;
}

static bool measure(const rs_work *work, const set *steps, rs_trace_report *out)
{
    set compute = {0}, comm = {0}, all = {0}, alone = {0};
    bool ok = rs_work_union(work, RS_CLASS_COMPUTE, &compute.items, &compute.n) &&
              rs_work_union(work, RS_CLASS_COMM, &comm.items, &comm.n) &&
              rs_work_union(work, RS_N_CLASSES, &all.items, &all.n);
    alone.items = ok ? rs_malloc((comm.n + compute.n + 1) * sizeof *alone.items) : NULL;
    ok = alone.items != NULL;
    if (ok) {
        alone.n = rs_intervals_subtract(comm.items, comm.n, compute.items, compute.n, alone.items);
        out->total_ns = rs_intervals_length(steps->items, steps->n);
        out->compute_ns = within(&compute, steps);
        out->comm_ns = within(&comm, steps);
        out->overlap_ns = out->comm_ns - within(&alone, steps);
        out->idle_ns = out->total_ns - within(&all, steps);
    }
    rs_free(compute.items);
    rs_free(comm.items);
    rs_free(all.items);
    rs_free(alone.items);
    return ok;
}

/* What ran on the GPU while the host was in a step: ProfilerStep#N to ProfilerStep#N. */
static rs_status trace_rank(const rs_run *run, rs_trace *trace, void **partial, rs_error *err)
{
    const rs_step *steps;
    const rs_work *work;
    size_t n;
    rs_status status = rs_trace_steps(trace, &steps, &n, err);
    if (status == RS_OK) status = rs_trace_work(trace, run->policy, &work, err);
    if (status != RS_OK) return status;
    rs_trace_report *r = rs_calloc(1, sizeof *r);
    set all = {0};
    bool ok = r && union_of_steps(steps, n, &all) && measure(work, &all, r);
    rs_free(all.items);
    if (!ok) {
        rs_free(r);
        return rs_fail_nomem(err, "the steps of a trace");
    }
    r->steps = (int64_t)n;
    *partial = r;
    return RS_OK;
}

/* Handed on as a table, which is what runs give. */
static const rs_column_spec columns[] = {
    {"rank", RS_INT, RS_UNIT_ID, "", NULL},      {"steps", RS_INT, RS_UNIT_COUNT, "", NULL},
    {"total_us", RS_TIME, RS_UNIT_US, "", NULL}, {"compute_us", RS_TIME, RS_UNIT_US, "", NULL},
    {"comm_us", RS_TIME, RS_UNIT_US, "", NULL},  {"overlap_us", RS_TIME, RS_UNIT_US, "", NULL},
    {"idle_us", RS_TIME, RS_UNIT_US, "", NULL},
};
static const rs_table_spec table = {"steps", "one row is one rank", columns,
                                    sizeof columns / sizeof *columns};
static const rs_table_spec *const tables[] = {&table};
static const rs_table_set sets[] = {{RS_COMPAT_NONE, tables, 1}};

static rs_status merge(const rs_run *run, rs_partial *partials, size_t n, rs_result *result, rs_error *err)
{
    (void)run;
    rs_status status = RS_OK;
    for (size_t i = 0; i < n && status == RS_OK; i++) {
        const rs_trace_report *r = partials[i].value;
        rs_table *t = result->tables[0];
        if (!r) continue;
        rs_table_add_int(t, partials[i].rank);
        rs_table_add_int(t, r->steps);
        rs_table_add_time(t, r->total_ns);
        rs_table_add_time(t, r->compute_ns);
        rs_table_add_time(t, r->comm_ns);
        rs_table_add_time(t, r->overlap_ns);
        rs_table_add_time(t, r->idle_ns);
        status = rs_table_end_row(t, err);
    }
    return status;
}

static void free_partial(void *partial)
{
    rs_free(partial);
}

static const rs_analysis by_steps = {.name = "metrics",
                                     .help = "",
                                     .columns = RS_LINK_COLUMNS,
                                     .table_sets = sets,
                                     .n_table_sets = 1,
                                     .with_host = true,
                                     .rank = trace_rank,
                                     .merge = merge,
                                     .free_partial = free_partial};

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
        if (!isdigit((unsigned char)*p)) continue;
        for (; isdigit((unsigned char)*p) && rank < INT32_MAX; p++) rank = rank * 10 + (*p - '0');
        if (*p == '\0') status = add_rank(l, folder, e->d_name, rank, err);
    }
    closedir(dir);
    return status;
}

static rs_status keep(rs_dataset *d, const rs_table *t, rs_error *err)
{
    size_t n = rs_table_n_rows(t);
    d->traces = rs_calloc(n, sizeof *d->traces);
    if (!d->traces) return rs_fail_nomem(err, "the steps of traces");
    bool any = false;
    for (size_t i = 0; i < n; i++) {
        d->traces[d->n_traces++] = (rs_trace_report){.rank = rs_table_int(t, i, 0),
                                                     .steps = rs_table_int(t, i, 1),
                                                     .total_ns = rs_table_int(t, i, 2),
                                                     .compute_ns = rs_table_int(t, i, 3),
                                                     .comm_ns = rs_table_int(t, i, 4),
                                                     .overlap_ns = rs_table_int(t, i, 5),
                                                     .idle_ns = rs_table_int(t, i, 6)};
        any |= rs_table_int(t, i, 1) > 0;
    }
    if (!any)
        d->trace_reason = "the traces hold no training step (ProfilerStep#N), so nothing can be set beside";
    return RS_OK;
}

rs_status rs_dataset_traces(rs_dataset *d, unsigned jobs, rs_problems *problems, rs_error *err)
{
    list l = {0};
    rs_job *job = NULL;
    rs_result result = {0};
    rs_job_settings settings = {.jobs = jobs};
    rs_status status = find_traces(d, &l, err);
    if (status == RS_OK && !l.n) {
        d->trace_reason = "there are no traces in torch_profiler/rank*/ of the directory";
    } else if (status == RS_OK) {
        status = rs_job_open((const char *const *)l.items, l.n, &settings, &job, err);
        if (status == RS_OK) status = rs_job_run(job, &by_steps, NULL, RS_COMPAT_NONE, &result, err);
        rs_problems_move(problems, &result.problems);
        if (status == RS_OK) status = keep(d, result.tables[0], err);
    }
    rs_result_clear(&result);
    rs_job_close(job);
    list_clear(&l);
    return status;
}
