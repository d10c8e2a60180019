#define _GNU_SOURCE
#include "cli/browser.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <unistd.h>

static bool is_set(const char *name)
{
    const char *value = getenv(name);
    return value && *value;
}

bool rs_browser_has_display(void)
{
    return is_set("DISPLAY") || is_set("WAYLAND_DISPLAY");
}

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

int rs_browser_open(const char *address)
{
    static char program[] = "xdg-open";
    char *const words[] = {program, (char *)address, NULL};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    pid_t child;
    signal(SIGCHLD, SIG_IGN); /* nobody waits for it */
    int code = posix_spawn_file_actions_init(&files);
    if (code != 0) return code;
    code = posix_spawnattr_init(&attributes);
    if (code == 0) {
        code = set_up(&files, &attributes);
        if (code == 0) code = posix_spawnp(&child, program, &files, &attributes, words, environ);
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&files);
    return code;
}
