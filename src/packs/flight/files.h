/* The files of a job: found, distinguished, and given their ranks. */
#pragma once

#include "flight/model.h"

typedef struct rs_fl_file {
    char *path;
    int64_t rank;     /* -1: the name tells none */
    const char *rule; /* static text */
    bool named;       /* asked for by name, or its name says "rank": worth a complaint when it is no dump */
} rs_fl_file;

typedef struct rs_fl_files {
    rs_fl_file *items;
    size_t n, capacity;
    char **periodic; /* files of a debug server's periodic dumper */
    size_t n_periodic, periodic_capacity;
} rs_fl_files;

/* All files under the paths, directories descended, sorted by path. */
rs_status rs_fl_find_files(const char *const *paths, size_t n_paths, const char *prefix, rs_fl_files *files,
                           rs_error *err);
void rs_fl_files_clear(rs_fl_files *files);

/* The rank in a path: after the prefix, else after the last "rank", else the last digits of the file's name,
 * else the same of the directories above it, innermost first. False when there is none, or the prefix is not
 * in the name. *says_rank: the word or the prefix stands there. */
bool rs_fl_rank_of_path(const char *path, const char *prefix, int64_t *rank, const char **rule,
                        bool *says_rank);

/* Whether the name ends as those of logs do: a file of another name is no log. */
bool rs_fl_is_named_log(const char *path);

/* The file's name without its last digits and what follows: dumps of one job share it. Length in *n. */
const char *rs_fl_stem_of_path(const char *path, size_t *n);
