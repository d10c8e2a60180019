#include "store/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/order.h"
#include "base/system.h"

#define HOUR INT64_C(3600000000000)

/* ---- making it ---------------------------------------------------------------------------------------- */

/* So that backups leave it out: bford.info/cachedir. */
static void tag(const char *folder)
{
    static const char text[] = "Signature: 8a477f597d28d172789f06886806bc55\n"
                               "# A store of rankscope: `rankscope store drop` empties it.\n";
    char path[4096];
    int n = snprintf(path, sizeof path, "%s/CACHEDIR.TAG", folder);
    if (n < 0 || (size_t)n >= sizeof path) return;
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) return;
    if (write(fd, text, sizeof text - 1) < 0) unlink(path);
    close(fd);
}

rs_status rs_store_make(const char *folder, rs_error *err)
{
    struct stat info;
    if (stat(folder, &info) == 0 && S_ISDIR(info.st_mode)) return RS_OK;
    RS_LOCAL char *path = rs_strdup(folder);
    if (!path) return rs_fail_nomem(err, "the store");
    bool ok = true;
    for (char *p = path + (*path != '\0'); ok; p++) {
        if (*p != '/' && *p != '\0') continue;
        bool last = *p == '\0';
        *p = '\0';
        ok = mkdir(path, 0700) == 0 || errno == EEXIST;
        if (last) break;
        *p = '/';
    }
    if (ok) ok = stat(folder, &info) == 0 && S_ISDIR(info.st_mode);
    if (ok)
        tag(folder);
    else
        rs_fail_at(err, RS_ERR_IO, folder, RS_NO_OFFSET,
                   "cannot make this folder for the store: %s; --no-store does without", strerror(errno));
    return ok ? RS_OK : RS_ERR_IO;
}

/* ---- walking over it ---------------------------------------------------------------------------------- */

#define STEM (RS_ENTRY_NAME - 10) /* hexadecimal digits of a file's own name */

static bool is_hex(const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!strchr("0123456789abcdef", text[i]) || !text[i]) return false;
    return true;
}

static rs_status add_file(rs_store_files *files, const char *folder, const char *name, rs_error *err)
{
    bool whole = is_hex(name, STEM) && name[STEM] == '\0';
    bool rest = !whole && is_hex(name, STEM) && strncmp(name + STEM, ".tmp-", 5) == 0;
    if (!whole && !rest) return RS_OK;
    size_t size = strlen(folder) + strlen(name) + 2;
    char *path = rs_malloc(size);
    if (!path || !RS_GROW_ONE(files->items, files->n, files->capacity)) {
        rs_free(path);
        return rs_fail_nomem(err, "the store");
    }
    snprintf(path, size, "%s/%s", folder, name);
    struct stat info;
    if (lstat(path, &info) != 0 || !S_ISREG(info.st_mode)) { /* another process has removed it */
        rs_free(path);
        return RS_OK;
    }
    files->items[files->n++] = (rs_store_file){.path = path,
                                               .size = (uint64_t)info.st_size,
                                               .used = rs_system_ns(info.st_atim),
                                               .made = rs_system_ns(info.st_mtim),
                                               .left_over = rest};
    return RS_OK;
}

static rs_status walk_shard(const char *path, rs_store_files *files, rs_error *err)
{
    DIR *dir = opendir(path);
    if (!dir) return RS_OK;
    rs_status status = RS_OK;
    for (struct dirent *entry; status == RS_OK && (entry = readdir(dir));)
        status = add_file(files, path, entry->d_name, err);
    closedir(dir);
    return status;
}

static const rs_order by_path[] = {RS_RISING(rs_store_file, path)};

rs_status rs_store_walk(const char *folder, rs_store_files *out, rs_error *err)
{
    *out = (rs_store_files){0};
    DIR *dir = opendir(folder);
    if (!dir && errno == ENOENT) return RS_OK;
    if (!dir)
        return rs_fail_at(err, RS_ERR_IO, folder, RS_NO_OFFSET, "cannot open this folder: %s",
                          strerror(errno));
    size_t size = strlen(folder) + 4;
    RS_LOCAL char *path = rs_malloc(size);
    rs_status status = path ? RS_OK : rs_fail_nomem(err, "the store");
    for (struct dirent *entry; status == RS_OK && (entry = readdir(dir));) {
        if (!is_hex(entry->d_name, 2) || entry->d_name[2] != '\0') continue;
        snprintf(path, size, "%s/%s", folder, entry->d_name);
        status = walk_shard(path, out, err);
    }
    closedir(dir);
    RS_SORT(out->items, out->n, by_path);
    return status;
}

void rs_store_files_clear(rs_store_files *files)
{
    for (size_t i = 0; i < files->n; i++) rs_free(files->items[i].path);
    rs_free(files->items);
    *files = (rs_store_files){0};
}

/* ---- keeping it small --------------------------------------------------------------------------------- */

static const rs_order by_use[] = {RS_RISING(rs_store_file, used), RS_RISING(rs_store_file, path)};

void rs_store_trim(const char *folder, uint64_t limit)
{
    rs_store_files files;
    struct timespec now;
    if (rs_store_walk(folder, &files, NULL) == RS_OK && clock_gettime(CLOCK_REALTIME, &now) == 0) {
        uint64_t total = 0;
        for (size_t i = 0; i < files.n; i++) total += files.items[i].size;
        RS_SORT(files.items, files.n, by_use);
        /* a little more than needed, so that not every run has to */
        uint64_t wanted = total > limit ? limit - limit / 10 : UINT64_MAX;
        for (size_t i = 0; i < files.n; i++) {
            const rs_store_file *f = &files.items[i];
            bool old = f->left_over && rs_system_ns(now) - f->made > HOUR;
            if (!old && (total <= wanted || f->left_over)) continue;
            if (unlink(f->path) == 0 || errno == ENOENT) total -= f->size;
        }
    }
    rs_store_files_clear(&files);
}
