/* Which two traces belong to each rank of a job. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/order.h"
#include "base/paths.h"
#include "base/ascii.h"
#include "base/strings.h"
#include "base/try.h"
#include "input/source.h"
#include "job/job.h"
#include "rankscope/chakra.h"

typedef struct trace_file {
    char *path;
    int64_t rank; /* RS_NO_VALUE */
} trace_file;

typedef struct trace_files {
    trace_file *items;
    size_t n, capacity;
} trace_files;

struct rs_chakra_pairs {
    rs_chakra_pair *items; /* by rank */
    size_t n, capacity;
    rs_arena arena;
};

static void clear_files(trace_files *files)
{
    for (size_t i = 0; i < files->n; i++) rs_free(files->items[i].path);
    rs_free(files->items);
    *files = (trace_files){0};
}

/* ---- files ------------------------------------------------------------------------------------------ */

static bool holds(const uint8_t *text, size_t n, const char *word)
{
    size_t length = strlen(word);
    for (const uint8_t *p = text; (p = memchr(p, word[0], n - (size_t)(p - text))); p++) {
        if (n - (size_t)(p - text) < length) return false;
        if (memcmp(p, word, length) == 0) return true;
    }
    return false;
}

/* An execution trace names its schema before its nodes; a Kineto trace has events. What cannot be read is left
 * to the linker, which says why; but without memory nobody can say which of both it is. */
static rs_status look_at(const char *path, uint64_t max_ratio, bool *is_host, rs_error *err)
{
    enum { LOOK = 1 << 16 };
    rs_source *source = NULL;
    RS_LOCAL uint8_t *text = rs_malloc(LOOK);
    size_t n = 0, got = 0;
    *is_host = false;
    if (!text) return rs_fail_nomem(err, "the traces of a job");
    rs_error why = RS_ERROR_INIT;
    rs_status status = rs_source_open(path, max_ratio, &source, &why);
    while (status == RS_OK && n < LOOK) {
        status = rs_source_read(source, text + n, LOOK - n, &got, &why);
        if (status != RS_OK || !got) break;
        n += got;
    }
    rs_source_close(source);
    *is_host = holds(text, n, "\"schema\"") && !holds(text, n, "\"traceEvents\"");
    return status == RS_ERR_NOMEM ? rs_fail_nomem(err, "the traces of a job") : RS_OK;
}

static rs_status add_file(trace_files *files, const char *path, rs_error *err)
{
    char *copy = rs_strdup(path);
    if (!copy || !RS_GROW_ONE(files->items, files->n, files->capacity)) {
        rs_free(copy);
        return rs_fail_nomem(err, "the traces of a job");
    }
    files->items[files->n++] = (trace_file){.path = copy, .rank = RS_NO_VALUE};
    return RS_OK;
}

static int by_path(const void *a, const void *b)
{
    return rs_path_compare(((const trace_file *)a)->path, ((const trace_file *)b)->path);
}

/* The files of a folder, in the order of their names; or the file itself. */
static rs_status list_files(const char *path, trace_files *files, rs_error *err)
{
    struct stat info;
    if (stat(path, &info) != 0 || !S_ISDIR(info.st_mode)) return add_file(files, path, err);
    DIR *dir = opendir(path);
    if (!dir) return rs_fail_at(err, RS_ERR_IO, path, RS_NO_OFFSET, "cannot open this directory");
    rs_status status = RS_OK;
    for (struct dirent *entry; status == RS_OK && (entry = readdir(dir));) {
        size_t n = strlen(path), m = strlen(entry->d_name);
        char *full = entry->d_name[0] == '.' ? NULL : rs_malloc(n + m + 2);
        if (entry->d_name[0] == '.') continue;
        if (!full) {
            status = rs_fail_nomem(err, "the traces of a job");
            break;
        }
        memcpy(full, path, n);
        full[n] = '/';
        memcpy(full + n + 1, entry->d_name, m + 1);
        if (stat(full, &info) == 0 && S_ISREG(info.st_mode)) status = add_file(files, full, err);
        rs_free(full);
    }
    closedir(dir);
    if (files->n) qsort(files->items, files->n, sizeof *files->items, by_path);
    return status;
}

/* ---- ranks ------------------------------------------------------------------------------------------ */

/* The number behind "rank", else the last one before the name's endings: et_3.json.gz. */
static int64_t rank_of_host(const char *path)
{
    int64_t rank = rs_rank_in_name(path);
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    if (rank != RS_NO_VALUE) return rank;
    const char *end = strstr(name, ".json");
    if (!end) end = strchr(name, '.');
    if (!end) end = name + strlen(name);
    for (const char *p = name; p < end; p++) {
        if (!rs_is_digit(*p)) continue;
        int64_t v = 0;
        while (p < end && rs_is_digit(*p) && v < INT32_MAX) v = v * 10 + (*p++ - '0');
        rank = v;
    }
    return rank;
}

typedef struct device_ranks {
    rs_rank_value *values;
    size_t n;
    rs_job *job; /* owns the names */
} device_ranks;

static rs_status name_rank(const rs_run *run, rs_trace *trace, void **value, rs_error *err)
{
    (void)run;
    (void)trace;
    *value = rs_malloc(1);
    return *value ? RS_OK : rs_fail_nomem(err, "ranks");
}

/* The ranks that the device traces themselves tell. */
static rs_status ask_devices(const trace_files *devices, uint64_t max_ratio, unsigned jobs, device_ranks *out,
                             rs_problems *problems, rs_error *err)
{
    static const rs_each_rank each = {.name = "chakra build", .rank = name_rank, .free_value = free};
    rs_job_settings settings = {.size = sizeof(rs_job_settings), .jobs = jobs, .max_ratio = max_ratio};
    RS_LOCAL const char **paths = rs_malloc((devices->n + 1) * sizeof *paths);
    rs_result result = {0};
    if (!paths) return rs_fail_nomem(err, "ranks");
    for (size_t i = 0; i < devices->n; i++) paths[i] = devices->items[i].path;
    rs_status status = rs_job_open(paths, devices->n, &settings, &out->job, err);
    if (status == RS_OK) status = rs_job_each_rank(out->job, &each, &out->values, &out->n, &result, err);
    rs_problems_move(problems, &result.problems);
    rs_result_clear(&result);
    return status;
}

static rs_status add_pair(rs_chakra_pairs *pairs, int64_t rank, const char *host, const char *device,
                          rs_error *err)
{
    char *h = rs_arena_strndup(&pairs->arena, host, strlen(host)),
         *d = rs_arena_strndup(&pairs->arena, device, strlen(device));
    if (!h || !d || !RS_APPEND(pairs, (rs_chakra_pair){rank, h, d}))
        return rs_fail_nomem(err, "the traces of a job");
    return RS_OK;
}

static void tell_single(rs_problems *problems, const char *path, int64_t rank, bool host)
{
    rs_problems_add(problems, path, rank == RS_NO_VALUE ? -1 : rank, RS_LOSS,
                    host ? "no_device_trace" : "no_host_trace",
                    host ? "no device trace has this execution trace's rank; the rank is left out"
                         : "no execution trace has this device trace's rank; the rank is left out",
                    RS_NO_OFFSET);
}

static const rs_order by_rank[] = {RS_RISING(rs_chakra_pair, rank)};

typedef struct pairing {
    rs_chakra_pairs *pairs;
    const trace_files *hosts;
    rs_map64 by_rank; /* host */
    uint8_t *used;    /* by host */
    rs_problems *problems;
} pairing;

static rs_status index_hosts(pairing *x, rs_error *err)
{
    x->used = rs_calloc(x->hosts->n + 1, 1);
    if (!x->used) return rs_fail_nomem(err, "ranks");
    for (size_t i = 0; i < x->hosts->n; i++) {
        bool fresh;
        int64_t rank =
            x->hosts->n == 1 && x->hosts->items[i].rank == RS_NO_VALUE ? 0 : x->hosts->items[i].rank;
        x->hosts->items[i].rank = rank;
        if (rank == RS_NO_VALUE) continue;
        uint32_t *at = rs_map64_put(&x->by_rank, (uint64_t)rank, &fresh);
        if (!at) return rs_fail_nomem(err, "ranks");
        if (!fresh)
            return rs_fail(err, RS_ERR_AMBIGUOUS,
                           "%s and %s both are the execution trace of rank %lld by their names",
                           x->hosts->items[*at].path, x->hosts->items[i].path, (long long)rank);
        *at = (uint32_t)i;
    }
    return RS_OK;
}

static rs_status pair_device(pairing *x, int64_t rank, const char *device, rs_error *err)
{
    const uint32_t *at = rs_map64_get(&x->by_rank, (uint64_t)rank);
    if (!at) {
        tell_single(x->problems, device, rank, false);
        return RS_OK;
    }
    x->used[*at] = 1;
    return add_pair(x->pairs, rank, x->hosts->items[*at].path, device, err);
}

static rs_status pair_all(pairing *x, const trace_files *devices, uint64_t max_ratio, unsigned jobs,
                          rs_error *err)
{
    bool named = devices->n > 1;
    rs_status status = index_hosts(x, err);
    for (size_t i = 0; i < devices->n; i++) named &= devices->items[i].rank != RS_NO_VALUE;
    if (named) {
        for (size_t i = 0; i < devices->n && status == RS_OK; i++)
            status = pair_device(x, devices->items[i].rank, devices->items[i].path, err);
    } else if (status == RS_OK) {
        device_ranks found = {0};
        status = ask_devices(devices, max_ratio, jobs, &found, x->problems, err);
        for (size_t i = 0; i < found.n; i++) {
            if (status == RS_OK) status = pair_device(x, found.values[i].rank, found.values[i].source, err);
            rs_free(found.values[i].value);
        }
        rs_free(found.values);
        rs_job_close(found.job);
    }
    for (size_t i = 0; i < x->hosts->n && status == RS_OK; i++)
        if (!x->used[i]) tell_single(x->problems, x->hosts->items[i].path, x->hosts->items[i].rank, true);
    return status;
}

/* Leaves the execution traces, or the others, and says which rank their names tell. A file alone is what it was given as. */
static rs_status keep_those(trace_files *files, bool hosts, uint64_t max_ratio, rs_error *err)
{
    size_t kept = 0, n = files->n;
    rs_status status = RS_OK;
    for (size_t i = 0; i < n; i++) {
        trace_file *f = &files->items[i];
        bool is_host = hosts;
        if (n > 1 && status == RS_OK) status = look_at(f->path, max_ratio, &is_host, err);
        if (is_host != hosts) {
            rs_free(f->path);
            continue;
        }
        f->rank = hosts ? rank_of_host(f->path) : rs_rank_in_name(f->path);
        files->items[kept++] = *f;
    }
    files->n = kept;
    return status;
}

/* Execution traces of the one place, device traces of the other; both may be one folder. */
static rs_status sort_out(const char *host, const char *device, uint64_t max_ratio, trace_files *hosts,
                          trace_files *devices, rs_error *err)
{
    RS_TRY(list_files(host, hosts, err));
    RS_TRY(list_files(device, devices, err));
    RS_TRY(keep_those(hosts, true, max_ratio, err));
    RS_TRY(keep_those(devices, false, max_ratio, err));
    if (!hosts->n) return rs_fail_at(err, RS_ERR_FORMAT, host, RS_NO_OFFSET, "holds no execution trace");
    if (!devices->n) return rs_fail_at(err, RS_ERR_FORMAT, device, RS_NO_OFFSET, "holds no device trace");
    return RS_OK;
}

rs_status rs_chakra_pairs_find(const char *host, const char *device, uint64_t max_ratio, unsigned jobs,
                               rs_chakra_pairs **out, rs_problems *problems, rs_error *err)
{
    RS_SCOPED(clear_files) trace_files hosts = {0}, devices = {0};
    pairing x = {.pairs = rs_calloc(1, sizeof *x.pairs), .hosts = &hosts, .problems = problems};
    *out = NULL;
    rs_status status = x.pairs ? sort_out(host, device, max_ratio, &hosts, &devices, err)
                               : rs_fail_nomem(err, "the traces of a job");
    if (status == RS_OK) status = pair_all(&x, &devices, max_ratio, jobs, err);
    if (status == RS_OK && !x.pairs->n)
        status = rs_fail(err, RS_ERR_FORMAT,
                         "no rank has both traces: the names of %s and %s do not show which belong together",
                         host, device);
    if (status == RS_OK) {
        RS_SORT(x.pairs->items, x.pairs->n, by_rank);
        for (size_t i = 1; i < x.pairs->n && status == RS_OK; i++)
            if (x.pairs->items[i].rank == x.pairs->items[i - 1].rank)
                status = rs_fail(err, RS_ERR_AMBIGUOUS, "%s and %s both are rank %lld",
                                 x.pairs->items[i - 1].device, x.pairs->items[i].device,
                                 (long long)x.pairs->items[i].rank);
    }
    if (status == RS_OK)
        *out = x.pairs;
    else
        rs_chakra_pairs_free(x.pairs);
    rs_map64_clear(&x.by_rank);
    rs_free(x.used);
    return status;
}

size_t rs_chakra_pairs_count(const rs_chakra_pairs *pairs)
{
    return pairs->n;
}

rs_chakra_pair rs_chakra_pairs_at(const rs_chakra_pairs *pairs, size_t i)
{
    return pairs->items[i];
}

void rs_chakra_pairs_free(rs_chakra_pairs *pairs)
{
    if (!pairs) return;
    rs_free(pairs->items);
    rs_arena_clear(&pairs->arena);
    rs_free(pairs);
}
