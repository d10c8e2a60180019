#define _GNU_SOURCE
#include "cli/browser.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/system.h"

static bool is_set(const char *name)
{
    const char *value = getenv(name);
    return value && *value;
}

bool rs_browser_has_display(void)
{
    return is_set("DISPLAY") || is_set("WAYLAND_DISPLAY");
}

/* ---- the page ------------------------------------------------------------------------------------------ */

/* The user's own folder, where there is one that can be written to. */
static const char *own_folder(void)
{
    const char *run = getenv("XDG_RUNTIME_DIR"), *temporary = getenv("TMPDIR");
    if (run && *run == '/' && access(run, W_OK) == 0) return run;
    return temporary && *temporary == '/' ? temporary : P_tmpdir;
}

static bool write_page(int fd, const char *address)
{
    int n = dprintf(fd,
                    "<!doctype html><meta charset=\"utf-8\"><title>rankscope</title>\n"
                    "<meta name=\"referrer\" content=\"no-referrer\"><meta http-equiv=\"refresh\" "
                    "content=\"0;url=%s\">\n<a href=\"%s\">rankscope</a>\n",
                    address, address);
    return n > 0;
}

rs_status rs_browser_page(const char *address, char **path, rs_error *err)
{
    static const char pattern[] = "/rankscope-XXXXXX.html";
    const char *folder = own_folder();
    size_t n = strlen(folder);
    char *name = rs_malloc(n + sizeof pattern);
    if (!name) return rs_fail_nomem(err, "a page");
    memcpy(name, folder, n);
    memcpy(name + n, pattern, sizeof pattern);
    int fd = mkostemps(name, 5, O_CLOEXEC); /* 0600 */
    bool ok = fd >= 0 && write_page(fd, address);
    int why = errno;
    if (fd >= 0 && close(fd) != 0) ok = false;
    if (!ok) {
        rs_status status = rs_fail(err, RS_ERR_IO, "cannot write %.200s: %s", name, strerror(why));
        if (fd >= 0) unlink(name);
        rs_free(name);
        return status;
    }
    *path = name;
    return RS_OK;
}

void rs_browser_page_remove(char *path)
{
    if (path) unlink(path);
    rs_free(path);
}

/* ---- the browser --------------------------------------------------------------------------------------- */

static int set_up(posix_spawn_file_actions_t *files, posix_spawnattr_t *attributes)
{
    sigset_t none, defaults;
    sigemptyset(&none);
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGCHLD);
    int code = 0;
    for (int fd = 0; fd <= 2 && code == 0; fd++)
        code = posix_spawn_file_actions_addopen(files, fd, "/dev/null", fd == 0 ? O_RDONLY : O_WRONLY, 0);
    if (code == 0) code = posix_spawnattr_setsigmask(attributes, &none);
    if (code == 0) code = posix_spawnattr_setsigdefault(attributes, &defaults);
    if (code == 0)
        code = posix_spawnattr_setflags(attributes,
                                        POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    return code;
}

int rs_browser_open(const char *page)
{
    static char program[] = "xdg-open";
    char *const words[] = {program, (char *)page, NULL};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    pid_t child;
    signal(SIGCHLD, SIG_IGN); /* nobody waits for it */
    int code = posix_spawn_file_actions_init(&files);
    if (code != 0) return code;
    code = posix_spawnattr_init(&attributes);
    if (code == 0) {
        code = set_up(&files, &attributes);
        if (code == 0)
            code = posix_spawnp(&child, program, &files, &attributes, words, rs_system_environment());
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&files);
    return code;
}
