#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/paths.h"
#include "base/ascii.h"
#include "base/memory.h"
#include "job/job_internal.h"
#include "format/format.h"

/* Directories nest; links may make them nest for ever. */
#define MAX_DIRECTORY_DEPTH 32

/* rank10, rank_10, rank-10, rank.10, rank[10]: the number, and what stands behind it. */
static int64_t rank_at(const char *p, const char **behind)
{
    if (strncasecmp(p, "rank", 4) != 0) return RS_NO_VALUE;
    p += 4;
    if (*p == '_' || *p == '-' || *p == '.' || *p == '[') p++;
    if (!rs_is_digit(*p)) return RS_NO_VALUE;
    int64_t v = 0;
    while (rs_is_digit(*p) && v < INT32_MAX) v = v * 10 + (*p++ - '0');
    *behind = p + (*p == ']');
    return v;
}

/* A folder is one of a rank when "rank" and its number are words of its name: rank_10, run-rank3. */
static int64_t rank_of_folder(const char *name, const char *end)
{
    int64_t rank = RS_NO_VALUE;
    for (const char *p = name; p < end; p++) {
        const char *behind;
        int64_t v = rank_at(p, &behind);
        if (v == RS_NO_VALUE || behind > end || (p > name && rs_is_alnum(p[-1]))) continue;
        if (behind == end || !rs_is_alnum(*behind)) rank = v;
    }
    return rank;
}

int64_t rs_rank_in_name(const char *path)
{
    const char *end = strrchr(path, '/'), *behind;
    int64_t rank = RS_NO_VALUE;
    for (const char *p = end ? end + 1 : path; *p; p++) {
        int64_t v = rank_at(p, &behind);
        if (v != RS_NO_VALUE) rank = v;
    }
    while (end && end > path && rank == RS_NO_VALUE) {
        const char *from = end;
        while (from > path && from[-1] != '/') from--;
        rank = rank_of_folder(from, end);
        end = from > path ? from - 1 : NULL;
    }
    return rank;
}

/* RANK=PATH, ROLE=PATH. */
typedef struct given {
    int64_t rank;     /* RS_NO_VALUE: none */
    const char *role; /* of that length */
    size_t length;    /* 0: none */
} given;

static rs_status add_input(rs_job *job, const char *path, given by, bool from_directory, rs_error *err)
{
    char *copy = rs_strdup(path), *role = by.length ? rs_strndup(by.role, by.length) : NULL;
    if (!copy || (by.length && !role) || !RS_GROW_ONE(job->inputs, job->n_inputs, job->capacity)) {
        rs_free_all(copy, role);
        return rs_fail_nomem(err, "inputs");
    }
    job->inputs[job->n_inputs++] = (rs_input){.path = copy,
                                              .given_rank = by.rank,
                                              .role = role,
                                              .label_rank = RS_NO_VALUE,
                                              .from_directory = from_directory};
    return RS_OK;
}

static rs_status add_directory(rs_job *job, const char *path, given by, unsigned depth, rs_error *err)
{
    DIR *dir = opendir(path);
    if (!dir) return rs_fail_at(err, RS_ERR_IO, path, RS_NO_OFFSET, "cannot open this directory");
    rs_status status = RS_OK;
    for (struct dirent *entry; status == RS_OK && (entry = readdir(dir));) {
        if (entry->d_name[0] == '.') continue;
        char *full = rs_path_join(path, entry->d_name);
        if (!full) {
            status = rs_fail_nomem(err, "inputs");
            break;
        }
        struct stat info;
        if (stat(full, &info) == 0) {
            if (S_ISREG(info.st_mode))
                status = add_input(job, full, by, true, err);
            else if (S_ISDIR(info.st_mode) && job->settings.recursive && depth < MAX_DIRECTORY_DEPTH)
                status = add_directory(job, full, by, depth + 1, err);
        }
        rs_free(full);
    }
    closedir(dir);
    return status;
}

/* What JAX and TensorFlow write under a folder for logs: a folder of each run's files. */
static const char profile_runs[] = "plugins/profile";

/* The run's folder where a folder for logs holds one; several of them are not one job. NULL: it is none. */
static rs_status find_run(const char *path, char **out, rs_error *err)
{
    char *runs = rs_path_join(path, profile_runs);
    size_t n = 0;
    *out = NULL;
    if (!runs) return rs_fail_nomem(err, "inputs");
    DIR *dir = rs_path_is_folder(runs) ? opendir(runs) : NULL;
    rs_status status = RS_OK;
    for (struct dirent *entry; dir && status == RS_OK && (entry = readdir(dir));) {
        if (entry->d_name[0] == '.') continue;
        char *run = rs_path_join(runs, entry->d_name);
        if (!run) status = rs_fail_nomem(err, "inputs");
        if (status != RS_OK || !rs_path_is_folder(run)) {
            rs_free(run);
            continue;
        }
        n++;
        bool later = !*out || rs_path_compare(*out, run) < 0;
        rs_free(later ? *out : run);
        if (later) *out = run;
    }
    if (dir) closedir(dir);
    if (status == RS_OK && n > 1)
        status = rs_fail_at(err, RS_ERR_FORMAT, path, RS_NO_OFFSET,
                            "holds %zu runs: give the folder of one, the last is %s", n, *out);
    rs_free(runs);
    if (status == RS_OK) return RS_OK;
    rs_free(*out);
    *out = NULL;
    return status;
}

#define LONGEST_ROLE 64

/* "3=path", "rollout=path": only when no file of that whole name exists. */
static const char *split_given(const char *path, given *by)
{
    struct stat info;
    *by = (given){.rank = RS_NO_VALUE, .role = path};
    const char *p = path;
    int64_t v = 0;
    while (rs_is_digit(*p) && v < INT32_MAX) v = v * 10 + (*p++ - '0');
    const bool is_rank = p > path;
    while (!is_rank && p < path + LONGEST_ROLE &&
           (rs_is_letter(*p) || (p > path && (rs_is_digit(*p) || *p == '_' || *p == '-'))))
        p++;
    if (p == path || *p != '=' || stat(path, &info) == 0) return path;
    if (is_rank)
        by->rank = v;
    else
        by->length = (size_t)(p - path);
    return p + 1;
}

static int compare_inputs(const void *a, const void *b)
{
    const rs_input *x = a, *y = b;
    return rs_path_compare(x->path, y->path);
}

/* ---- runs of several files ----------------------------------------------------------------------------- */

typedef struct run_file {
    rs_input *input;
    rs_run_name name;
    size_t at; /* among the inputs */
} run_file;

/* By folder and prefix, then the whole recordings, then the parts as they are read. */
static int compare_run_files(const void *a, const void *b)
{
    const run_file *x = a, *y = b;
    size_t n = x->name.prefix < y->name.prefix ? x->name.prefix : y->name.prefix;
    int c = memcmp(x->input->path, y->input->path, n);
    if (c) return c;
    if (x->name.prefix != y->name.prefix) return x->name.prefix < y->name.prefix ? -1 : 1;
    if (x->name.preference != y->name.preference) return x->name.preference < y->name.preference ? -1 : 1;
    if (x->name.order != y->name.order) return x->name.order < y->name.order ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

static bool same_run(const run_file *a, const run_file *b)
{
    return a->name.prefix == b->name.prefix && a->input->given_rank == b->input->given_rank &&
           memcmp(a->input->path, b->input->path, a->name.prefix) == 0;
}

static bool pass_over(rs_input *input, const rs_input *other)
{
    if (!input->instead) input->instead = rs_strdup(other->path);
    return input->instead != NULL;
}

/* The parts of one run become one input under the name of the one that leads, else of the first with events.
 */
static rs_status join_files(run_file *files, size_t n, rs_error *err)
{
    size_t whole = 0;
    if (files[0].name.yields) return RS_OK; /* they come last: nothing else is there */
    while (whole < n && !files[whole].name.is_part) whole++;
    /* the same run in another form: a folder's second one is passed over, one that was asked for is read */
    for (size_t i = whole ? 1 : n; i < n; i++)
        if (files[i].input->from_directory && !pass_over(files[i].input, files[0].input))
            return rs_fail_nomem(err, "inputs");
    if (whole && files[whole < n ? whole : 0].input->from_directory) return RS_OK;
    run_file *first = NULL, *part = files + whole;
    size_t n_part_files = n - whole, parts = 0;
    for (size_t i = 0; i < n_part_files; i++) {
        const run_file *other = NULL;
        if (part[i].input->from_directory && i && part[i].name.order == part[i - 1].name.order)
            other = &part[i - 1]; /* packed and plain */
        else if (part[i].name.leads)
            first = &part[i];
        if (other && !pass_over(part[i].input, other->input)) return rs_fail_nomem(err, "inputs");
        parts += !other;
    }
    for (size_t i = 0; i < n_part_files && !first; i++)
        if (!part[i].name.alone_useless) first = &part[i];
    if (parts < 2 || !first) return RS_OK;
    rs_input *whole_run = first->input;
    whole_run->parts = rs_calloc(parts, sizeof *whole_run->parts);
    if (!whole_run->parts) return rs_fail_nomem(err, "inputs");
    for (size_t i = 0; i < n_part_files; i++) {
        if (part[i].input->instead) continue;
        char *path = rs_strdup(part[i].input->path);
        if (!path) return rs_fail_nomem(err, "inputs");
        whole_run->parts[whole_run->n_parts++] = path;
        part[i].input->joined = part[i].input != whole_run;
    }
    return RS_OK;
}

/* Takes the inputs that are parts of others out of the list. */
static void remove_joined(rs_job *job)
{
    size_t kept = 0;
    for (size_t i = 0; i < job->n_inputs; i++) {
        if (job->inputs[i].joined)
            rs_free(job->inputs[i].path);
        else
            job->inputs[kept++] = job->inputs[i];
    }
    job->n_inputs = kept;
}

/* All events of a run once more, which JAX writes beside its files where it is asked to. */
static rs_status pass_over_copy(rs_input *input, run_file *files, size_t n, rs_error *err)
{
    static const char copy[] = "/perfetto_trace.json.gz";
    size_t length = strlen(input->path), folder = length - (sizeof copy - 1) + 1;
    if (!input->from_directory || length < sizeof copy || strcmp(input->path + folder - 1, copy) != 0)
        return RS_OK;
    for (size_t i = 0; i < n; i++)
        if (!files[i].name.yields && strncmp(files[i].input->path, input->path, folder) == 0 &&
            !strchr(files[i].input->path + folder, '/') && !pass_over(input, files[i].input))
            return rs_fail_nomem(err, "inputs");
    return RS_OK;
}

static rs_status join_runs(rs_job *job, rs_error *err)
{
    RS_LOCAL run_file *files = rs_malloc((job->n_inputs + 1) * sizeof *files);
    size_t n = 0;
    rs_status status = RS_OK;
    if (!files) return rs_fail_nomem(err, "inputs");
    for (size_t i = 0; i < job->n_inputs; i++) {
        run_file file = {&job->inputs[i], rs_run_name_of(job->inputs[i].path), i};
        if (file.name.format) files[n++] = file;
    }
    if (n) qsort(files, n, sizeof *files, compare_run_files);
    for (size_t i = 0, end; i < n && status == RS_OK; i = end) {
        for (end = i + 1; end < n && same_run(&files[i], &files[end]); end++) {
        }
        if (end - i > 1) status = join_files(files + i, end - i, err);
    }
    for (size_t i = 0; i < job->n_inputs && status == RS_OK; i++)
        status = pass_over_copy(&job->inputs[i], files, n, err);
    remove_joined(job);
    return status;
}

rs_status rs_inputs_resolve(rs_job *job, const char *const *paths, size_t n, rs_error *err)
{
    for (size_t i = 0; i < n; i++) {
        given by;
        const char *path = split_given(paths[i], &by);
        rs_status status;
        size_t before = job->n_inputs;
        if (strcmp(path, "-") != 0 && rs_path_is_folder(path)) {
            char *run = NULL;
            status = job->settings.recursive ? RS_OK : find_run(path, &run, err);
            if (status == RS_OK) status = add_directory(job, run ? run : path, by, 0, err);
            rs_free(run);
            if (status == RS_OK && job->n_inputs == before)
                status = rs_fail_at(err, RS_ERR_FORMAT, path, RS_NO_OFFSET,
                                    job->settings.recursive ? "holds no files"
                                                            : "holds no files; -r looks into its folders");
        } else {
            status = add_input(job, path, by, false, err);
        }
        if (status != RS_OK) return status;
    }
    if (job->n_inputs) qsort(job->inputs, job->n_inputs, sizeof *job->inputs, compare_inputs);
    rs_status status = join_runs(job, err);
    return status == RS_OK ? rs_inputs_read_labels(job, err) : status;
}

void rs_inputs_insert(rs_job *job, const rs_input *input)
{
    size_t at = job->n_inputs++;
    for (; at > 0 && compare_inputs(&job->inputs[at - 1], input) > 0; at--)
        job->inputs[at] = job->inputs[at - 1];
    job->inputs[at] = *input;
}
