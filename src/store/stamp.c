#define _XOPEN_SOURCE 700 /* realpath */
#include "store/stamp.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/strings.h"
#include "base/system.h"

#define ENDS ((uint64_t)16 << 10)
#define PIECE ((uint64_t)4 << 10)
#define PIECES 16

/* How coarse times of files are: where they have fractions of a second, those of the kernel's tick, else those
 * of old file systems. */
#define TICK INT64_C(50000000)
#define COARSE INT64_C(2500000000)

static bool is_settled(const struct stat *info)
{
    struct timespec now;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0) return false;
    int64_t changed = rs_system_ns(info->st_ctim), modified = rs_system_ns(info->st_mtim);
    int64_t last = changed > modified ? changed : modified;
    bool fine = info->st_ctim.tv_nsec != 0 || info->st_mtim.tv_nsec != 0;
    return rs_system_ns(now) - last > (fine ? TICK : COARSE);
}

static bool hash_piece(int fd, uint64_t at, uint64_t n, uint64_t *hash)
{
    uint8_t bytes[ENDS];
    size_t got = 0;
    while (got < n) {
        ssize_t more = pread(fd, bytes + got, (size_t)n - got, (off_t)(at + got));
        if (more <= 0) return false;
        got += (size_t)more;
    }
    *hash = rs_hash_u64(*hash ^ rs_hash_bytes(bytes, (size_t)n));
    return true;
}

/* The first and last bytes, and pieces at even distances between; all of a small file. */
static bool hash_samples(int fd, uint64_t size, uint64_t *hash)
{
    *hash = size;
    if (size <= 2 * ENDS + PIECES * PIECE) {
        for (uint64_t at = 0; at < size; at += ENDS)
            if (!hash_piece(fd, at, size - at < ENDS ? size - at : ENDS, hash)) return false;
        return true;
    }
    if (!hash_piece(fd, 0, ENDS, hash) || !hash_piece(fd, size - ENDS, ENDS, hash)) return false;
    uint64_t distance = (size - 2 * ENDS) / PIECES;
    for (uint64_t i = 0; i < PIECES; i++)
        if (!hash_piece(fd, ENDS + i * distance, PIECE, hash)) return false;
    return true;
}

static bool look(const char *path, rs_stamp *out)
{
    struct stat info;
    /* before opening: that of a pipe would wait */
    if (stat(path, &info) != 0 || !S_ISREG(info.st_mode)) return false;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return false;
    bool ok = fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && is_settled(&info) &&
              hash_samples(fd, (uint64_t)info.st_size, &out->samples);
    close(fd);
    out->size = (uint64_t)info.st_size;
    out->inode = (uint64_t)info.st_ino;
    out->modified = rs_system_ns(info.st_mtim);
    out->changed = rs_system_ns(info.st_ctim);
    return ok;
}

bool rs_stamp_put(rs_wire_writer *w, const char *path)
{
    rs_stamp s = {0};
    if (!look(path, &s)) return false;
    char *absolute = realpath(path, NULL);
    if (!absolute) return false;
    rs_wire_put_text(w, absolute);
    free(absolute); /* the C library's */
    rs_wire_put_unsigned(w, s.size);
    rs_wire_put_unsigned(w, s.inode);
    rs_wire_put_signed(w, s.modified);
    rs_wire_put_signed(w, s.changed);
    rs_wire_put_fixed(w, s.samples);
    return true;
}

bool rs_stamp_take(rs_wire_reader *r, rs_stamp *out)
{
    out->path = rs_wire_text(r);
    out->size = rs_wire_unsigned(r);
    out->inode = rs_wire_unsigned(r);
    out->modified = rs_wire_signed(r);
    out->changed = rs_wire_signed(r);
    out->samples = rs_wire_fixed(r);
    if (!out->path) r->bad = true;
    return !r->bad;
}

rs_status rs_stamps_check(const void *stamps, size_t n, bool *hold, rs_error *err)
{
    *hold = true;
    if (!n) return RS_OK;
    RS_SCOPED(rs_arena_clear) rs_arena arena = {0};
    rs_wire_reader r = {.p = stamps, .end = (const uint8_t *)stamps + n, .arena = &arena};
    RS_SCOPED(rs_wire_clear) rs_wire_writer now = {0};
    while (*hold && r.p < r.end) {
        rs_stamp stamp;
        *hold = rs_stamp_take(&r, &stamp) && rs_stamp_put(&now, stamp.path);
    }
    bool poor = r.out_of_memory || now.out_of_memory;
    *hold = *hold && !poor && now.n == n && memcmp(now.bytes, stamps, n) == 0;
    return poor ? rs_fail_nomem(err, "the store") : RS_OK;
}

bool rs_stamps_hold(const void *stamps, size_t n)
{
    bool hold;
    return rs_stamps_check(stamps, n, &hold, NULL) == RS_OK && hold;
}

char *rs_absolute_path(const char *path)
{
    return realpath(path, NULL);
}
