/* Databases that are packed, or come as a stream: they are read here and there, so they are unpacked to a
 * temporary file, which has no name from its first byte on: nothing of it outlasts the program, however that ends.
 * SQLite opens files by name; a VFS of its own reads what is open already. */
#define _GNU_SOURCE /* P_tmpdir, mkstemp */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/memory.h"
#include "format/sqlite_spool.h"

#define BLOCK ((size_t)1 << 20)
#define LEAVE ((uint64_t)1 << 29) /* bytes that the file system keeps free */

/* ---- unpacking ------------------------------------------------------------------------------------------ */

static int open_nameless(const char *folder)
{
    char path[4096];
    int n = snprintf(path, sizeof path, "%s/rankscope-XXXXXX", folder);
    if (n < 0 || (size_t)n >= sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    int fd = mkstemp(path);
    if (fd >= 0) unlink(path);
    return fd;
}

static rs_status write_all(int fd, const char *folder, const uint8_t *bytes, size_t n, rs_error *err)
{
    while (n > 0) {
        ssize_t written = write(fd, bytes, n);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return rs_fail(err, RS_ERR_IO, "cannot unpack to %s: %s", folder, strerror(errno));
        bytes += written;
        n -= (size_t)written;
    }
    return RS_OK;
}

static bool has_room(int fd)
{
    struct statvfs v;
    if (fstatvfs(fd, &v) != 0) return true; /* then writing fails */
    return (uint64_t)v.f_bavail * v.f_frsize > LEAVE;
}

static rs_status copy(rs_source *source, int fd, const char *folder, const rs_load_settings *settings,
                      uint64_t *size, rs_error *err)
{
    uint8_t *block = rs_malloc(BLOCK);
    rs_status status = block ? RS_OK : rs_fail_nomem(err, "input");
    size_t got = 1;
    *size = 0;
    while (status == RS_OK && got > 0) {
        if (*size % (64 * BLOCK) == 0 && !has_room(fd))
            status = rs_fail(err, RS_ERR_LIMIT, "no room to unpack %s in %s; TMPDIR names another folder",
                             rs_source_name(source), folder);
        if (status == RS_OK && settings->progress && !settings->progress(settings->progress_context))
            status = rs_fail(err, RS_ERR_CANCELLED, "stopped");
        if (status == RS_OK) status = rs_source_read(source, block, BLOCK, &got, err);
        if (status == RS_OK) status = write_all(fd, folder, block, got, err);
        *size += got;
    }
    rs_free(block);
    return status;
}

rs_status rs_spool(rs_source *source, const rs_load_settings *settings, int *fd, uint64_t *size,
                   rs_error *err)
{
    const char *folder = getenv("TMPDIR");
    if (!folder || !*folder) folder = P_tmpdir;
    *fd = open_nameless(folder);
    if (*fd < 0) return rs_fail(err, RS_ERR_IO, "cannot unpack to %s: %s", folder, strerror(errno));
    rs_status status = copy(source, *fd, folder, settings, size, err);
    if (status == RS_OK) return RS_OK;
    close(*fd);
    *fd = -1;
    return status;
}

/* ---- reading what is open ------------------------------------------------------------------------------- */

typedef struct open_file {
    sqlite3_file base;
    int fd;
} open_file;

static int close_file(sqlite3_file *f)
{
    (void)f; /* who opened it closes it */
    return SQLITE_OK;
}

static int read_file(sqlite3_file *f, void *to, int n, sqlite3_int64 from)
{
    uint8_t *at = to;
    while (n > 0) {
        ssize_t got = pread(((open_file *)f)->fd, at, (size_t)n, (off_t)from);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return SQLITE_IOERR_READ;
        if (got == 0) {
            memset(at, 0, (size_t)n);
            return SQLITE_IOERR_SHORT_READ;
        }
        at += got;
        from += got;
        n -= (int)got;
    }
    return SQLITE_OK;
}

static int write_file(sqlite3_file *f, const void *bytes, int n, sqlite3_int64 at)
{
    (void)f, (void)bytes, (void)n, (void)at;
    return SQLITE_READONLY;
}

static int truncate_file(sqlite3_file *f, sqlite3_int64 size)
{
    (void)f, (void)size;
    return SQLITE_READONLY;
}

static int sync_file(sqlite3_file *f, int flags)
{
    (void)f, (void)flags;
    return SQLITE_OK;
}

static int size_of_file(sqlite3_file *f, sqlite3_int64 *size)
{
    off_t end = lseek(((open_file *)f)->fd, 0, SEEK_END);
    *size = end < 0 ? 0 : (sqlite3_int64)end;
    return end < 0 ? SQLITE_IOERR_FSTAT : SQLITE_OK;
}

static int lock_file(sqlite3_file *f, int level)
{
    (void)f, (void)level;
    return SQLITE_OK;
}

static int is_locked(sqlite3_file *f, int *locked)
{
    (void)f;
    *locked = 0;
    return SQLITE_OK;
}

static int control_file(sqlite3_file *f, int op, void *argument)
{
    (void)f, (void)op, (void)argument;
    return SQLITE_NOTFOUND;
}

static int sector_size(sqlite3_file *f)
{
    (void)f;
    return 0;
}

static int characteristics(sqlite3_file *f)
{
    (void)f;
    return SQLITE_IOCAP_IMMUTABLE;
}

static const sqlite3_io_methods methods = {.iVersion = 1,
                                           .xClose = close_file,
                                           .xRead = read_file,
                                           .xWrite = write_file,
                                           .xTruncate = truncate_file,
                                           .xSync = sync_file,
                                           .xFileSize = size_of_file,
                                           .xLock = lock_file,
                                           .xUnlock = lock_file,
                                           .xCheckReservedLock = is_locked,
                                           .xFileControl = control_file,
                                           .xSectorSize = sector_size,
                                           .xDeviceCharacteristics = characteristics};

static int open_file_of(sqlite3_vfs *vfs, const char *name, sqlite3_file *f, int flags, int *out_flags)
{
    sqlite3_vfs *system = vfs->pAppData;
    if (!(flags & SQLITE_OPEN_MAIN_DB)) return system->xOpen(system, name, f, flags, out_flags);
    ((open_file *)f)->base.pMethods = &methods;
    ((open_file *)f)->fd = (int)strtol(name, NULL, 10);
    if (out_flags) *out_flags = flags;
    return SQLITE_OK;
}

static int no_access(sqlite3_vfs *vfs, const char *name, int flags, int *out)
{
    (void)vfs, (void)name, (void)flags;
    *out = 0; /* no journal, no log */
    return SQLITE_OK;
}

static int full_name(sqlite3_vfs *vfs, const char *name, int n, char *out)
{
    (void)vfs;
    sqlite3_snprintf(n, out, "%s", name);
    return SQLITE_OK;
}

int rs_spool_open_database(int fd, sqlite3 **out)
{
    static sqlite3_vfs vfs;
    static const char of_numbers[] = "rankscope-open";
    char number[24];
    sqlite3_mutex *mutex = sqlite3_mutex_alloc(SQLITE_MUTEX_STATIC_APP1);
    sqlite3_mutex_enter(mutex);
    if (!vfs.zName) {
        sqlite3_vfs *system = sqlite3_vfs_find(NULL);
        vfs = *system;
        vfs.zName = of_numbers;
        vfs.pNext = NULL;
        vfs.pAppData = system;
        vfs.xOpen = open_file_of;
        vfs.xAccess = no_access;
        vfs.xFullPathname = full_name;
        if (vfs.szOsFile < (int)sizeof(open_file)) vfs.szOsFile = sizeof(open_file);
        sqlite3_vfs_register(&vfs, 0);
    }
    sqlite3_mutex_leave(mutex);
    snprintf(number, sizeof number, "%d", fd);
    return sqlite3_open_v2(number, out, SQLITE_OPEN_READONLY, of_numbers);
}
