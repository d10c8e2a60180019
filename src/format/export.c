#define _GNU_SOURCE /* P_tmpdir, mkdtemp */
#include "format/export.h"

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

#include "base/system.h"

#define LOOK_NS 20000000 /* between two looks whether the program is done */

static rs_exported wait_for(pid_t child, const rs_load_settings *settings)
{
    int how = 0;
    for (;;) {
        pid_t ended = waitpid(child, &how, WNOHANG);
        /* where the program does not hear of its children, the file decides */
        if (ended < 0 && errno != EINTR) return RS_EXPORTED;
        if (ended > 0) return WIFEXITED(how) && WEXITSTATUS(how) == 0 ? RS_EXPORTED : RS_EXPORT_FAILED;
        if (settings->progress && !settings->progress(settings->progress_context)) {
            kill(child, SIGTERM);
            waitpid(child, &how, 0);
            return RS_EXPORT_STOPPED;
        }
        nanosleep(&(struct timespec){.tv_nsec = LOOK_NS}, NULL);
    }
}

rs_exported rs_export_run(const char *const *words, const rs_load_settings *settings)
{
    posix_spawn_file_actions_t files;
    pid_t child;
    int code = posix_spawn_file_actions_init(&files);
    if (code != 0) return RS_EXPORT_FAILED;
    for (int fd = 0; fd <= 2 && code == 0; fd++)
        code = posix_spawn_file_actions_addopen(&files, fd, "/dev/null", fd == 0 ? O_RDONLY : O_WRONLY, 0);
    if (code == 0)
        code = posix_spawnp(&child, words[0], &files, NULL, (char *const *)(uintptr_t)words,
                            rs_system_environment());
    posix_spawn_file_actions_destroy(&files);
    return code != 0 ? RS_EXPORT_ABSENT : wait_for(child, settings);
}

/* The file has no name once it is open, so that nothing stays in the folder. */
static int open_and_remove(const char *to, uint64_t *size)
{
    struct stat info;
    int fd = open(to, O_RDONLY | O_CLOEXEC);
    unlink(to);
    if (fd >= 0 && fstat(fd, &info) == 0) {
        *size = (uint64_t)info.st_size;
        return fd;
    }
    if (fd >= 0) close(fd);
    return -1;
}

rs_status rs_export_load(const rs_exporter *by, const rs_trace_input *in, const rs_load_settings *settings,
                         rs_events **out, rs_error *err)
{
    char folder[4096], to[4200];
    const char *temporary = getenv("TMPDIR");
    uint64_t size = 0;
    *out = NULL;
    if (in->bytes || in->remote) return by->advise(in, RS_EXPORT_ABSENT, -1, err);
    int n = snprintf(folder, sizeof folder, "%s/rankscope-XXXXXX",
                     temporary && *temporary ? temporary : P_tmpdir);
    if (n < 0 || (size_t)n >= sizeof folder || !mkdtemp(folder))
        return rs_fail(err, RS_ERR_IO, "cannot make a temporary folder: %s", strerror(errno));
    snprintf(to, sizeof to, "%s/%s", folder, by->file);
    rs_exported how = by->run(in->path, to, settings);
    int fd = open_and_remove(to, &size);
    rmdir(folder);
    rs_status status = how == RS_EXPORT_STOPPED       ? rs_fail(err, RS_ERR_CANCELLED, "stopped")
                       : how != RS_EXPORTED || fd < 0 ? by->advise(in, how, fd, err)
                                                      : by->read(in, fd, size, settings, out, err);
    if (fd >= 0) close(fd);
    return status;
}
