#include "cli/trace_files.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "base/paths.h"

/* The input files of a result. */
typedef struct file_list {
    const rs_table *table;
    size_t *first; /* by file: its first row */
    size_t n;
} file_list;

static const char *file_at(const file_list *l, size_t row)
{
    size_t length;
    return rs_table_text(l->table, row, 1, &length);
}

static bool list_files(const rs_result *result, file_list *out)
{
    *out = (file_list){.table = rs_result_table(result, "files")};
    size_t rows = rs_table_n_rows(out->table);
    out->first = rs_malloc((rows + 1) * sizeof *out->first);
    if (!out->first) return false;
    for (size_t row = 0; row < rows; row++) {
        bool known = false;
        for (size_t i = 0; !known && i < out->n; i++)
            known = strcmp(file_at(out, out->first[i]), file_at(out, row)) == 0;
        if (!known) out->first[out->n++] = row;
    }
    return true;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Files of one name from several folders get their rank before it. */
static char *name_in_directory(const file_list *l, size_t file, const char *directory)
{
    const char *name = base_name(file_at(l, l->first[file]));
    bool twice = false;
    for (size_t i = 0; i < l->n; i++)
        twice = twice || (i != file && strcmp(base_name(file_at(l, l->first[i])), name) == 0);
    size_t size = strlen(directory) + strlen(name) + 40, at = strlen(directory);
    char *path = rs_malloc(size);
    if (!path) return NULL;
    bool slash = at && directory[at - 1] == '/';
    char rank[32] = "";
    if (twice) snprintf(rank, sizeof rank, "rank%lld_", (long long)rs_table_int(l->table, l->first[file], 0));
    snprintf(path, size, "%s%s%s%s", directory, slash ? "" : "/", rank, name);
    return path;
}

typedef struct writing {
    const rs_result *result;
    const char *from;
    rs_rewrite_settings settings;
    bool truncated;
} writing;

static rs_status write_again(void *context, const rs_sink *sink, rs_error *err)
{
    writing *w = context;
    rs_status status = rs_result_rewrite(w->result, w->from, &w->settings, sink, &w->truncated, err);
    if (status == RS_ERR_FORMAT)
        rs_error_wrap(err, "%s is no Kineto trace: only those can be written again with more in them",
                      w->from);
    return status;
}

static int write_one(const rs_result *result, const char *from, const char *to, const char *command,
                     const rs_rewrite_settings *settings)
{
    rs_error err = RS_ERROR_INIT;
    writing w = {.result = result, .from = from, .settings = *settings};
    w.settings.name = to;
    if (rs_output_put(to, false, command, write_again, &w, &err) != RS_OK)
        return rs_complain_error(NULL, &err);
    if (!w.truncated) return RS_EXIT_OK;
    rs_complain("%s breaks off; %s holds what could be read", from, to);
    return RS_EXIT_LOSS;
}

static int write_all(const rs_result *result, const file_list *l, const char *path, bool directory,
                     const char *command, const rs_rewrite_settings *settings)
{
    int code = RS_EXIT_OK;
    for (size_t i = 0; i < l->n; i++) {
        char *to = directory ? name_in_directory(l, i, path) : rs_strdup(path);
        if (!to) {
            rs_complain("out of memory");
            return RS_EXIT_INPUT;
        }
        int one = write_one(result, file_at(l, l->first[i]), to, command, settings);
        rs_free(to);
        if (one != RS_EXIT_OK && one != RS_EXIT_LOSS) return one;
        if (one == RS_EXIT_LOSS) code = one;
    }
    return code;
}

int rs_write_traces(const rs_result *result, const char *path, const char *command,
                    const rs_rewrite_settings *settings)
{
    file_list l;
    int code = RS_EXIT_OK;
    bool ok = list_files(result, &l), slash = path[0] && path[strlen(path) - 1] == '/';
    bool directory = slash || rs_path_is_folder(path);
    for (size_t i = 0; ok && i < l.n; i++)
        if (strcmp(file_at(&l, l.first[i]), "-") == 0) {
            rs_complain("%s: standard input cannot be read a second time; give the file's name", command);
            code = RS_EXIT_USAGE;
        }
    if (!ok) {
        rs_complain("out of memory");
        code = RS_EXIT_INPUT;
    } else if (code == RS_EXIT_OK && l.n > 1 && !directory) {
        rs_complain("%s: %zu files need a directory to be written to: %s/", command, l.n, path);
        code = RS_EXIT_USAGE;
    } else if (code == RS_EXIT_OK && slash && !rs_path_is_folder(path) && mkdir(path, 0777) != 0) {
        rs_complain("cannot make the directory %s: %s", path, strerror(errno));
        code = RS_EXIT_INPUT;
    }
    if (code == RS_EXIT_OK) code = write_all(result, &l, path, directory, command, settings);
    rs_free(l.first);
    return code;
}
