/* The dumps that a log names. Containers have other roots than the machine the log is read on: where the
 * folder is not there, the file's prefix is looked for near the log. */
#define _DEFAULT_SOURCE
#include "flight/log.h"

#include <dirent.h>
#include <string.h>

/* How many files of a folder have that prefix and nothing but digits behind it. */
static size_t count_dumps(const char *folder, const char *prefix)
{
    size_t n = 0, length = strlen(prefix);
    DIR *dir = opendir(*folder ? folder : ".");
    for (struct dirent *e; dir && (e = readdir(dir));) {
        size_t digits =
            strncmp(e->d_name, prefix, length) == 0 ? strspn(e->d_name + length, "0123456789") : 0;
        n += digits > 0 && !e->d_name[length + digits];
    }
    if (dir) closedir(dir);
    return n;
}

static char *join(const char *folder, const char *between, const char *name)
{
    size_t a = strlen(folder), b = strlen(between), c = strlen(name);
    char *path = rs_malloc(a + b + c + 1);
    if (!path) return NULL;
    memcpy(path, folder, a);
    memcpy(path + a, between, b);
    memcpy(path + a + b, name, c + 1);
    return path;
}

typedef struct choice {
    char *prefix;
    size_t n;
} choice;

/* Keeps folder + prefix when it has more dumps than what is known. */
static bool consider(choice *best, const char *folder, const char *below, const char *name)
{
    char *place = join(folder, below, ""), *path = join(folder, below, name);
    bool good = place && path;
    size_t n = good ? count_dumps(place, name) : 0;
    if (good && n > best->n) {
        rs_free(best->prefix);
        best->prefix = path;
        best->n = n;
        path = NULL;
    }
    rs_free_all(place, path);
    return good;
}

rs_status rs_fl_find_named_dumps(rs_flight *flight, char **prefix, rs_error *err)
{
    static const char *const near[] = {"", "../", "checkpoints/", "../checkpoints/", "../../checkpoints/"};
    const rs_fl_log *log = flight->log;
    choice best = {0};
    bool good = true;
    for (size_t i = 0; log && good && i < log->n_dump_paths; i++) {
        const char *path = rs_fl_text(flight, log->dump_paths[i]), *slash = strrchr(path, '/');
        const char *name = slash ? slash + 1 : path;
        if (!*name) continue;
        char *folder = rs_strndup(path, (size_t)(name - path));
        good = folder && consider(&best, folder, "", name);
        rs_free(folder);
        for (size_t f = 0; good && f < flight->settings.n_logs; f++) {
            const char *log_path = flight->settings.logs[f], *log_slash = strrchr(log_path, '/');
            char *beside =
                log_slash ? rs_strndup(log_path, (size_t)(log_slash + 1 - log_path)) : rs_strdup("./");
            good = beside != NULL;
            for (size_t k = 0; good && k < sizeof near / sizeof *near; k++)
                good = consider(&best, beside, near[k], name);
            rs_free(beside);
        }
    }
    *prefix = best.prefix;
    if (good) return RS_OK;
    rs_free(best.prefix);
    *prefix = NULL;
    return rs_fail_nomem(err, "the dumps that the log names");
}
