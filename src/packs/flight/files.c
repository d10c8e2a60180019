#define _DEFAULT_SOURCE
#include "flight/files.h"
#include "base/ascii.h"
#include "base/order.h"
#include "flight/live.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#define MAX_DEPTH 16
#define MAX_FILES (1u << 20)

void rs_fl_files_clear(rs_fl_files *files)
{
    for (size_t i = 0; i < files->n; i++) rs_free(files->items[i].path);
    for (size_t i = 0; i < files->n_periodic; i++) rs_free(files->periodic[i]);
    rs_free_all(files->periodic, files->items);
    *files = (rs_fl_files){0};
}

/* The number at p, if digits stand there and end before the 18th. */
static bool number_at(const char *p, const char *end, int64_t *out)
{
    int64_t v = 0;
    const char *begin = p;
    while (p < end && rs_is_digit(*p) && p - begin < 18) v = v * 10 + (*p++ - '0');
    if (p == begin || (p < end && rs_is_digit(*p))) return false;
    *out = v;
    return true;
}

static bool after_word(const char *name, const char *end, int64_t *rank)
{
    bool found = false;
    for (const char *p = name; p + 4 < end; p++) {
        if (strncmp(p, "rank", 4) != 0 && strncmp(p, "Rank", 4) != 0 && strncmp(p, "RANK", 4) != 0) continue;
        const char *digits = p + 4;
        if (digits < end && (*digits == '_' || *digits == '-' || *digits == '.' || *digits == '=')) digits++;
        if (number_at(digits, end, rank)) found = true;
    }
    return found;
}

static bool last_digits(const char *name, const char *end, int64_t *rank, const char **at)
{
    const char *p = end;
    while (p > name && !rs_is_digit(p[-1])) p--;
    if (p == name) return false;
    const char *stop = p;
    while (p > name && rs_is_digit(p[-1])) p--;
    *at = p;
    return number_at(p, stop, rank);
}

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

const char *rs_fl_stem_of_path(const char *path, size_t *n)
{
    const char *name = name_of(path), *at;
    int64_t rank;
    *n = last_digits(name, name + strlen(name), &rank, &at) ? (size_t)(at - name) : strlen(name);
    return name;
}

bool rs_fl_rank_of_path(const char *path, const char *prefix, int64_t *rank, const char **rule,
                        bool *says_rank)
{
    const char *name = name_of(path), *end = name + strlen(name), *at;
    *says_rank = false;
    *rank = -1;
    *rule = "none";
    if (prefix && *prefix) {
        const char *found = strstr(name, prefix);
        if (!found) return false;
        *says_rank = true;
        *rule = "digits after the prefix";
        const char *digits = found + strlen(prefix);
        return number_at(digits, end, rank) || last_digits(digits, end, rank, &at);
    }
    *rule = "rank in the file name";
    if (after_word(name, end, rank)) {
        *says_rank = true;
        return true;
    }
    *rule = "last digits of the file name";
    if (last_digits(name, end, rank, &at)) return true;
    *rule = "rank in a directory name";
    while (name > path) {
        end = name - 1;
        name = end;
        while (name > path && name[-1] != '/') name--;
        if (after_word(name, end, rank)) {
            *says_rank = true;
            return true;
        }
    }
    *rule = "none";
    return false;
}

static rs_status add_file(rs_fl_files *files, const char *path, int64_t rank, bool asked, const char *prefix,
                          rs_error *err)
{
    rs_fl_file file = {.rank = rank, .rule = "given as RANK=PATH", .named = true};
    int64_t moment;
    if (rank < 0 && rs_fl_is_periodic(path, &moment)) {
        if (!RS_GROW_ONE(files->periodic, files->n_periodic, files->periodic_capacity) ||
            !(files->periodic[files->n_periodic] = rs_strdup(path)))
            return rs_fail_nomem(err, "the list of files");
        files->n_periodic++;
        return RS_OK;
    }
    if (rank < 0) {
        bool says_rank;
        bool found = rs_fl_rank_of_path(path, prefix, &file.rank, &file.rule, &says_rank);
        if (!found && prefix && *prefix && !says_rank && !asked) return RS_OK;
        file.named = asked || says_rank;
    }
    if (files->n >= MAX_FILES)
        return rs_fail(err, RS_ERR_LIMIT, "more than %u files under the given paths", MAX_FILES);
    if (!RS_GROW_ONE(files->items, files->n, files->capacity) || !(file.path = rs_strdup(path)))
        return rs_fail_nomem(err, "the list of files");
    files->items[files->n++] = file;
    return RS_OK;
}

/* Descends without recursion: directories wait in a list with their depth. */
static rs_status scan_directory(rs_fl_files *files, const char *root, const char *prefix, rs_error *err)
{
    struct waiting {
        char *path;
        int depth;
    } *list = NULL;
    size_t n = 0, capacity = 0;
    rs_status status = RS_OK;
    char *copy = rs_strdup(root);
    if (!copy || !RS_GROW_ONE(list, n, capacity)) {
        rs_free(copy);
        return rs_fail_nomem(err, root);
    }
    list[n++] = (struct waiting){copy, 0};
    while (n && status == RS_OK) {
        struct waiting at = list[--n];
        DIR *dir = opendir(at.path);
        if (!dir)
            status = rs_fail(err, RS_ERR_IO, "cannot read the directory %s: %s", at.path, strerror(errno));
        for (struct dirent *entry; status == RS_OK && (entry = readdir(dir));) {
            if (entry->d_name[0] == '.') continue;
            size_t a = strlen(at.path), b = strlen(entry->d_name);
            char *path = rs_malloc(a + b + 2);
            if (!path) {
                status = rs_fail_nomem(err, at.path);
                break;
            }
            memcpy(path, at.path, a);
            size_t slash = a && path[a - 1] == '/' ? 0 : 1;
            if (slash) path[a] = '/';
            memcpy(path + a + slash, entry->d_name, b + 1);
            struct stat info;
            if (stat(path, &info) == 0 && S_ISDIR(info.st_mode) && at.depth < MAX_DEPTH) {
                if (RS_GROW_ONE(list, n, capacity)) {
                    list[n++] = (struct waiting){path, at.depth + 1};
                    continue;
                }
                status = rs_fail_nomem(err, path);
            } else if (stat(path, &info) == 0 && S_ISREG(info.st_mode)) {
                status = add_file(files, path, -1, false, prefix, err);
            }
            rs_free(path);
        }
        if (dir) closedir(dir);
        rs_free(at.path);
    }
    while (n) rs_free(list[--n].path);
    rs_free(list);
    return status;
}

/* A path that is no file: the beginning of names with nothing but digits behind it, as
 * TORCH_FR_DUMP_TEMP_FILE has it. *found says how many there were. */
static rs_status scan_prefix(rs_fl_files *files, const char *path, size_t *found, rs_error *err)
{
    const char *name = name_of(path);
    size_t n = strlen(name), at = (size_t)(name - path);
    RS_LOCAL char *folder = at ? rs_strndup(path, at) : rs_strdup(".");
    rs_status status = RS_OK;
    *found = 0;
    if (!folder) return rs_fail_nomem(err, path);
    DIR *dir = opendir(folder);
    for (struct dirent *entry; dir && status == RS_OK && (entry = readdir(dir));) {
        const char *digits = entry->d_name + n, *end = entry->d_name + strlen(entry->d_name);
        int64_t rank;
        if (strncmp(entry->d_name, name, n) != 0 || !number_at(digits, end, &rank) ||
            strspn(digits, "0123456789") != (size_t)(end - digits))
            continue;
        size_t length = at + (size_t)(end - entry->d_name) + 1;
        char *whole = rs_malloc(length);
        if (!whole) {
            status = rs_fail_nomem(err, path);
            break;
        }
        memcpy(whole, path, at);
        memcpy(whole + at, entry->d_name, length - at);
        struct stat info;
        if (stat(whole, &info) == 0 && S_ISREG(info.st_mode)) {
            rs_fl_file file = {
                .path = whole, .rank = rank, .rule = "digits after the path's prefix", .named = true};
            if (RS_GROW_ONE(files->items, files->n, files->capacity)) {
                files->items[files->n++] = file;
                ++*found;
                continue;
            }
            status = rs_fail_nomem(err, path);
        }
        rs_free(whole);
    }
    if (dir) closedir(dir);
    return status;
}

static const rs_order by_path[] = {RS_RISING(rs_fl_file, path)};

rs_status rs_fl_find_files(const char *const *paths, size_t n_paths, const char *prefix, rs_fl_files *files,
                           rs_error *err)
{
    rs_status status = RS_OK;
    for (size_t i = 0; i < n_paths && status == RS_OK; i++) {
        const char *path = paths[i];
        struct stat info;
        int64_t rank = -1;
        bool is_stdin = strcmp(path, "-") == 0;
        const char *equals = strchr(path, '=');
        if (!is_stdin && stat(path, &info) != 0 && equals && number_at(path, equals, &rank)) {
            const char *digits = path;
            while (rs_is_digit(*digits)) digits++;
            if (digits == equals) path = equals + 1;
        }
        size_t found = 0;
        int missing = !is_stdin && stat(path, &info) != 0 ? errno : 0;
        if (missing) status = scan_prefix(files, path, &found, err);
        if (status != RS_OK || found) continue;
        errno = missing;
        if (missing)
            status = rs_fail(err, RS_ERR_IO, "cannot open %s: %s", path, strerror(errno));
        else if (!is_stdin && S_ISDIR(info.st_mode))
            status = scan_directory(files, path, prefix, err);
        else
            status = add_file(files, path, rank, true, prefix, err);
    }
    if (status == RS_OK && files->n) RS_SORT(files->items, files->n, by_path);
    return status;
}
