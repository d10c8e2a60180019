#include "metrics/dataset.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>

#include "base/ascii.h"
#include "base/memory.h"
#include "base/order.h"
#include "base/paths.h"

const char *const rs_quantity_names[RS_N_Q] = {"step_ms",         "compute_ms", "comm_ms",
                                               "exposed_comm_ms", "overlap_ms", "idle_ms"};
const char *const rs_collective_names[RS_N_COLLECTIVES] = {"all_reduce", "reduce_scatter", "all_gather",
                                                           "broadcast",  "reduce",         "gather",
                                                           "scatter",    "all_to_all",     "send_recv"};

void rs_dataset_clear(rs_dataset *d)
{
    for (size_t i = 0; i < d->n_series; i++) rs_series_clear(&d->series[i]);
    rs_free_all(d->series, d->ranks, d->dips, d->traces, d->pairs);
    for (size_t i = 0; i < d->n_unmatched; i++) rs_free(d->unmatched[i]);
    rs_free(d->unmatched);
    for (size_t i = 0; i < d->n_exposed; i++) {
        rs_free_all(d->exposed[i].collective, d->exposed[i].group, d->exposed[i].description);
    }
    rs_free_all(d->exposed, d->label, d->directory);
    *d = (rs_dataset){0};
}

/* "rank_07_metrics.jsonl", with .gz or .zst behind it or not: whether it is a rank file, and its number. */
static bool rank_file(const char *name, int64_t *rank)
{
    static const char *const ends[] = {"_metrics.jsonl", "_metrics.jsonl.gz", "_metrics.jsonl.zst"};
    size_t n = strlen(name);
    bool fits = false;
    for (size_t i = 0; i < 3; i++) {
        size_t m = strlen(ends[i]);
        fits |= n >= 5 + m - 1 && strcmp(name + n - m, ends[i]) == 0;
    }
    if (strncmp(name, "rank_", 5) != 0 || !fits) return false;
    const char *p = name + 5;
    int64_t v = 0;
    for (; rs_is_digit(*p) && v < INT32_MAX; p++) v = v * 10 + (*p - '0');
    *rank = p > name + 5 && *p == '_' && v < INT32_MAX ? v : RS_NO_RANK;
    return true;
}

static const rs_order by_rank[] = {RS_RISING(rs_series, rank), RS_RISING(rs_series, file)};

static rs_status add_file(rs_dataset *d, const char *name, rs_problems *problems, rs_error *err)
{
    int64_t rank;
    if (!rank_file(name, &rank)) return RS_OK;
    char *path = rs_path_join(d->directory, name);
    if (!path) return rs_fail_nomem(err, "file names");
    if (rs_path_is_folder(path)) {
        rs_free(path);
        return RS_OK;
    }
    if (rank == RS_NO_RANK) {
        rs_problems_add(problems, path, -1, RS_LOSS, "no_rank",
                        "the name has no rank number (rank_3_metrics.jsonl); the file was left out",
                        RS_NO_OFFSET);
        rs_free(path);
        return RS_OK;
    }
    if (!RS_GROW_ONE(d->series, d->n_series, d->capacity)) {
        rs_free(path);
        return rs_fail_nomem(err, "rank files");
    }
    d->series[d->n_series++] = (rs_series){.file = path, .rank = rank};
    return RS_OK;
}

rs_status rs_dataset_scan(rs_dataset *d, bool aorta, rs_problems *problems, rs_error *err)
{
    DIR *dir = opendir(d->directory);
    if (!dir)
        return rs_fail_at(err, RS_ERR_IO, d->directory, RS_NO_OFFSET, "cannot open this directory: %s",
                          strerror(errno));
    rs_status status = RS_OK;
    for (struct dirent *entry; status == RS_OK && (entry = readdir(dir));)
        status = add_file(d, entry->d_name, problems, err);
    closedir(dir);
    if (status != RS_OK) return status;
    if (!d->n_series)
        return rs_fail_at(err, RS_ERR_FORMAT, d->directory, RS_NO_OFFSET,
                          "holds no rank_N_metrics.jsonl (label %.80s)", d->label);
    RS_SORT(d->series, d->n_series, by_rank);
    for (size_t i = 1; i < d->n_series && !aorta; i++)
        if (d->series[i].rank == d->series[i - 1].rank)
            return rs_fail_at(err, RS_ERR_AMBIGUOUS, d->series[i].file, RS_NO_OFFSET,
                              "is rank %lld like %.200s: leave one of them out", (long long)d->series[i].rank,
                              d->series[i - 1].file);
    return RS_OK;
}
