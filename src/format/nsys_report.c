/* Reports of Nsight Systems (.nsys-rep), which only nsys reads: where it is on the PATH it exports them to a
 * temporary file, which is removed before it is read. */
#define _GNU_SOURCE /* P_tmpdir, mkdtemp */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "format/sqlite_nsys.h"

#define LOOK_NS 20000000 /* between two looks whether nsys is done */

static bool ends_with(const char *path, const char *end)
{
    size_t n = strlen(path), m = strlen(end);
    return n > m && strcmp(path + n - m, end) == 0;
}

bool rs_nsys_is_report(const char *path)
{
    return ends_with(path, ".nsys-rep") || ends_with(path, ".qdrep");
}

/* What the user may do instead. */
static rs_status tell_command(const rs_trace_input *in, const char *why, rs_error *err)
{
    const char *slash = strrchr(in->path, '/');
    return rs_fail_at(
        err, RS_ERR_FORMAT, in->path, RS_NO_OFFSET,
        "is a report of Nsight Systems, %s: nsys export --type sqlite --include-blobs true '%s'", why,
        slash ? slash + 1 : in->path);
}

typedef enum outcome { DONE, FAILED, ABSENT, STOPPED } outcome;

static outcome wait_for(pid_t child, const rs_load_settings *settings)
{
    int how = 0;
    for (;;) {
        pid_t ended = waitpid(child, &how, WNOHANG);
        /* where the program does not hear of its children, the file decides */
        if (ended < 0 && errno != EINTR) return DONE;
        if (ended > 0) return WIFEXITED(how) && WEXITSTATUS(how) == 0 ? DONE : FAILED;
        if (settings->progress && !settings->progress(settings->progress_context)) {
            kill(child, SIGTERM);
            waitpid(child, &how, 0);
            return STOPPED;
        }
        nanosleep(&(struct timespec){.tv_nsec = LOOK_NS}, NULL);
    }
}

/* Without a word of its own. */
static outcome run(const char *const *words, const rs_load_settings *settings)
{
    posix_spawn_file_actions_t files;
    pid_t child;
    int code = posix_spawn_file_actions_init(&files);
    if (code != 0) return FAILED;
    for (int fd = 0; fd <= 2 && code == 0; fd++)
        code = posix_spawn_file_actions_addopen(&files, fd, "/dev/null", fd == 0 ? O_RDONLY : O_WRONLY, 0);
    if (code == 0)
        code = posix_spawnp(&child, words[0], &files, NULL, (char *const *)(uintptr_t)words, environ);
    posix_spawn_file_actions_destroy(&files);
    return code != 0 ? ABSENT : wait_for(child, settings);
}

/* Older ones know fewer options. */
static outcome export(const char *path, const char *to, const rs_load_settings *settings)
{
    const char *const all[] = {
        "nsys",     "export", "--type", "sqlite", "--include-blobs=true", "--include-json=true",
        "--output", to,       path,     NULL};
    const char *const few[] = {"nsys", "export", "--type", "sqlite", "--output", to, path, NULL};
    outcome first = run(all, settings);
    return first == FAILED ? run(few, settings) : first;
}

static rs_status export_to(const rs_trace_input *in, const char *to, const rs_load_settings *settings,
                           int *fd, uint64_t *size, rs_error *err)
{
    struct stat info;
    switch (export(in->path, to, settings)) {
    case ABSENT: return tell_command(in, "and nsys is not on the PATH to export it", err);
    case FAILED: return tell_command(in, "and nsys failed to export it", err);
    case STOPPED: return rs_fail(err, RS_ERR_CANCELLED, "stopped");
    case DONE: break;
    }
    *fd = open(to, O_RDONLY | O_CLOEXEC);
    if (*fd < 0 || fstat(*fd, &info) != 0) return tell_command(in, "and nsys wrote no export of it", err);
    *size = (uint64_t)info.st_size;
    return RS_OK;
}

rs_status rs_nsys_load_report(const rs_trace_input *in, const rs_load_settings *settings, rs_events **out,
                              rs_error *err)
{
    char folder[4096], to[4200];
    const char *temporary = getenv("TMPDIR");
    int fd = -1;
    uint64_t size = 0;
    *out = NULL;
    if (in->bytes || in->remote) return tell_command(in, "which only nsys reads", err);
    int n = snprintf(folder, sizeof folder, "%s/rankscope-XXXXXX",
                     temporary && *temporary ? temporary : P_tmpdir);
    if (n < 0 || (size_t)n >= sizeof folder || !mkdtemp(folder))
        return rs_fail(err, RS_ERR_IO, "cannot make a temporary folder: %s", strerror(errno));
    snprintf(to, sizeof to, "%s/report.sqlite", folder);
    rs_status status = export_to(in, to, settings, &fd, &size, err);
    unlink(to);
    rmdir(folder);
    if (status == RS_OK) status = rs_sqlite_load_open(in->path, fd, size, settings, out, err);
    if (fd >= 0) close(fd);
    return status;
}
