/* Preloaded into a program: does something to it at one of its calls on the files under $TORN_IN.
 *
 *     TORN_DO=kill   the TORN_AT'th call that writes there does half of its work, and the process is killed
 *     TORN_DO=full   from that call on the disk is full
 *     TORN_DO=grow, rewrite, shorten, replace   before the TORN_AT'th call that reads there, the file it reads is changed by $TORN_WITH
 *
 * The file $TORN_SAID is made when it has come to that. */
#undef _FILE_OFFSET_BITS /* calls have one name each */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_long calls;

static const char *word(const char *name)
{
    const char *text = getenv(name);
    return text ? text : "";
}

static int is_under(const char *path)
{
    const char *in = word("TORN_IN");
    return *in && strncmp(path, in, strlen(in)) == 0;
}

static int path_of(int fd, char out[4096])
{
    char entry[64];
    snprintf(entry, sizeof entry, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(entry, out, 4095);
    if (n <= 0) return 0;
    out[n] = 0;
    return is_under(out);
}

/* The call that is meant, from 1 on. */
static long chosen(void)
{
    return strtol(word("TORN_AT"), NULL, 10);
}

static void say(void)
{
    long fd = syscall(SYS_openat, AT_FDCWD, word("TORN_SAID"), O_CREAT | O_WRONLY, 0600);
    if (fd >= 0) syscall(SYS_close, fd);
}

static int is_writer(void)
{
    return strcmp(word("TORN_DO"), "kill") == 0 || strcmp(word("TORN_DO"), "full") == 0;
}

/* Whether this call that writes is to fail; ends the process where it is to be killed. */
static int fails(int fd, const void *bytes, size_t n, off_t at)
{
    if (!is_writer() || atomic_fetch_add(&calls, 1) + 1 < chosen()) return 0;
    say();
    if (strcmp(word("TORN_DO"), "kill") == 0) {
        if (bytes && at >= 0) syscall(SYS_pwrite64, fd, bytes, n / 2, at);
        if (bytes && at < 0) syscall(SYS_write, fd, bytes, n / 2);
        kill(getpid(), SIGKILL);
    }
    errno = ENOSPC;
    return 1;
}

static void copy(const char *from, const char *to, int flags)
{
    char block[65536];
    long in = syscall(SYS_openat, AT_FDCWD, from, O_RDONLY, 0);
    long out = syscall(SYS_openat, AT_FDCWD, to, O_WRONLY | O_CREAT | flags, 0600);
    for (long n; in >= 0 && out >= 0 && (n = syscall(SYS_read, in, block, sizeof block)) > 0;)
        if (syscall(SYS_write, out, block, n) != n) break;
    if (in >= 0) syscall(SYS_close, in);
    if (out >= 0) syscall(SYS_close, out);
}

static void before_read(int fd)
{
    char path[4096], other[4200];
    struct stat info;
    const char *how = word("TORN_DO"), *with = word("TORN_WITH");
    if (is_writer() || !path_of(fd, path) || atomic_fetch_add(&calls, 1) + 1 != chosen()) return;
    say();
    snprintf(other, sizeof other, "%s.other", path);
    if (strcmp(how, "grow") == 0) copy(with, path, O_APPEND);
    if (strcmp(how, "rewrite") == 0) copy(with, path, O_TRUNC);
    if (strcmp(how, "shorten") == 0 && stat(path, &info) == 0) syscall(SYS_truncate, path, info.st_size / 2);
    if (strcmp(how, "replace") == 0) {
        copy(with, other, O_TRUNC);
        syscall(SYS_rename, other, path);
    }
}

#define NEXT(TYPE, NAME) ((TYPE)dlsym(RTLD_NEXT, NAME))

ssize_t write(int fd, const void *bytes, size_t n)
{
    char path[4096];
    return path_of(fd, path) && fails(fd, bytes, n, -1) ? -1 : syscall(SYS_write, fd, bytes, n);
}

ssize_t pwrite64(int fd, const void *bytes, size_t n, off_t at)
{
    char path[4096];
    return path_of(fd, path) && fails(fd, bytes, n, at) ? -1 : syscall(SYS_pwrite64, fd, bytes, n, at);
}

ssize_t pwrite(int fd, const void *bytes, size_t n, off_t at)
{
    return pwrite64(fd, bytes, n, at);
}

ssize_t read(int fd, void *bytes, size_t n)
{
    before_read(fd);
    return syscall(SYS_read, fd, bytes, n);
}

ssize_t pread64(int fd, void *bytes, size_t n, off_t at)
{
    before_read(fd);
    return syscall(SYS_pread64, fd, bytes, n, at);
}

ssize_t pread(int fd, void *bytes, size_t n, off_t at)
{
    return pread64(fd, bytes, n, at);
}

#define BY_FD(NAME, PARAMETERS, ARGUMENTS)                                                                   \
    int NAME PARAMETERS                                                                                      \
    {                                                                                                        \
        char path[4096];                                                                                     \
        return path_of(fd, path) && fails(fd, NULL, 0, 0) ? -1 : NEXT(int(*) PARAMETERS, #NAME) ARGUMENTS;   \
    }
#define BY_PATH(NAME, PARAMETERS, ARGUMENTS)                                                                 \
    int NAME PARAMETERS                                                                                      \
    {                                                                                                        \
        return is_under(path) && fails(-1, NULL, 0, 0) ? -1 : NEXT(int(*) PARAMETERS, #NAME) ARGUMENTS;      \
    }
BY_FD(fsync, (int fd), (fd))
BY_FD(fdatasync, (int fd), (fd))
BY_FD(ftruncate, (int fd, off_t n), (fd, n))
BY_FD(ftruncate64, (int fd, off_t n), (fd, n))
BY_PATH(rename, (const char *path, const char *to), (path, to))
BY_PATH(unlink, (const char *path), (path))
BY_PATH(mkdir, (const char *path, mode_t mode), (path, mode))
BY_PATH(link, (const char *path, const char *to), (path, to))

static int open_by(const char *name, const char *path, int flags, mode_t mode)
{
    if (flags & O_CREAT && is_under(path) && fails(-1, NULL, 0, 0)) return -1;
    return NEXT(int (*)(const char *, int, ...), name)(path, flags, mode);
}

#define OPEN(NAME)                                                                                           \
    int NAME(const char *path, int flags, ...)                                                               \
    {                                                                                                        \
        va_list more;                                                                                        \
        va_start(more, flags);                                                                               \
        mode_t mode = flags & O_CREAT ? va_arg(more, mode_t) : 0;                                            \
        va_end(more);                                                                                        \
        return open_by(#NAME, path, flags, mode);                                                            \
    }
OPEN(open)
OPEN(open64)
