#define _GNU_SOURCE
#include "base/system.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#if defined(__APPLE__)
#include <mach-o/dyld.h>

extern char **environ; /* POSIX has programs declare it */

static size_t own_path(char *path, size_t size)
{
    uint32_t n = size < UINT32_MAX ? (uint32_t)size : UINT32_MAX;
    return _NSGetExecutablePath(path, &n) == 0 ? strlen(path) : 0;
}

void rs_system_end_with_parent(int signal)
{
    (void)signal;
}
#else
#include <sys/prctl.h>

static size_t own_path(char *path, size_t size)
{
    ssize_t n = readlink("/proc/self/exe", path, size);
    return n > 0 ? (size_t)n : 0;
}

void rs_system_end_with_parent(int signal)
{
    prctl(PR_SET_PDEATHSIG, signal);
}
#endif

char **rs_system_environment(void)
{
    return environ;
}

void rs_system_beside(const char *name, char *path, size_t size)
{
    size_t n = own_path(path, size);
    while (n > 0 && path[n - 1] != '/') n--;
    if (n > 0 && strlen(name) < size - n) {
        memcpy(path + n, name, strlen(name) + 1);
        if (access(path, X_OK) == 0) return;
    }
    snprintf(path, size, "%s", name);
}

unsigned rs_system_processors(void)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (unsigned)n : 1;
}

int rs_system_socket(int family, int type, int protocol, bool waits)
{
    int fd = socket(family, type, protocol);
    if (fd < 0) return fd;
    if (fcntl(fd, F_SETFD, FD_CLOEXEC) == 0 && (waits || fcntl(fd, F_SETFL, O_NONBLOCK) == 0)) return fd;
    int why = errno;
    close(fd);
    errno = why;
    return -1;
}

bool rs_system_random(void *bytes, size_t n)
{
    for (size_t at = 0, part; at < n; at += part) {
        part = n - at < 256 ? n - at : 256; /* more is refused at once */
        if (getentropy((char *)bytes + at, part) != 0) return false;
    }
    return true;
}
