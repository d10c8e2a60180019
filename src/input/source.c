#include "input/source.h"

#include <errno.h>
#include <fcntl.h>
#include <isa-l/igzip_lib.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "base/memory.h"
#include "base/system.h"
#include "base/try.h"

#define ZSTD_BLOCK_HEADER 3
#define IN_BUFFER ((size_t)256 << 10)
/* A tiny file may legitimately unpack to much more than the ratio: it only matters once this is exceeded. */
#define RATIO_SLACK ((uint64_t)16 << 20)

#define DEFLATE_MATCH ((size_t)258) /* the longest */

static const uint8_t gzip_magic[] = {0x1f, 0x8b}, zstd_magic[] = {0x28, 0xb5, 0x2f, 0xfd};

struct rs_source {
    char *name;
    int fd; /* -1: memory, or remote */
    bool owns_fd, regular;
    const uint8_t *memory;
    size_t memory_n, memory_at;
    const rs_remote *remote; /* NULL: none */
    rs_packing packing;
    uint64_t max_ratio;
    uint64_t size;
    _Atomic uint64_t bytes_in;
    uint64_t bytes_out;
    rs_source_end end;
    uint64_t member_from; /* where the text of the present member or frame begins */
    bool finished;        /* no more text will come */
    int64_t modified;     /* of a regular file, when it was opened */
    uint8_t *ahead;       /* text that was looked at and is still to be read */
    size_t ahead_at, ahead_n;

    /* compressed bytes waiting; for plain files only the first look at the magic */
    uint8_t *in;
    size_t in_at, in_n;
    bool in_eof;

    struct inflate_state *gzip;
    bool gzip_in_member;
    ZSTD_DCtx *zstd;
    bool zstd_in_frame;
    size_t zstd_hint;  /* bytes of input that the decoder would like next */
    bool zstd_waiting; /* the decoder may hold text that did not fit the last time */
};

/* Reads raw bytes of the file, retrying; *got == 0 at its end. */
static rs_status raw_read(rs_source *s, void *to, size_t n, size_t *got, rs_error *err)
{
    *got = 0;
    if (s->remote) {
        while (*got < n) {
            size_t more = 0;
            RS_TRY(s->remote->fetch(s->remote->context, s->bytes_in + *got, (char *)to + *got, n - *got,
                                    &more, err));
            if (more == 0) break;
            *got += more < n - *got ? more : n - *got;
        }
    } else if (s->fd < 0) {
        size_t left = s->memory_n - s->memory_at;
        *got = n < left ? n : left;
        if (*got) memcpy(to, s->memory + s->memory_at, *got);
        s->memory_at += *got;
    } else {
        while (*got < n) {
            ssize_t r = read(s->fd, (char *)to + *got, n - *got);
            if (r < 0 && errno == EINTR) continue;
            if (r < 0)
                return rs_fail_at(err, RS_ERR_IO, s->name, s->bytes_in + *got, "cannot read: %s",
                                  strerror(errno));
            if (r == 0) break;
            *got += (size_t)r;
        }
    }
    atomic_fetch_add(&s->bytes_in, *got);
    return RS_OK;
}

static rs_status fill_in(rs_source *s, rs_error *err)
{
    if (s->in_at < s->in_n || s->in_eof) return RS_OK;
    s->in_at = 0;
    rs_status status = raw_read(s, s->in, IN_BUFFER, &s->in_n, err);
    if (status == RS_OK && s->in_n == 0) s->in_eof = true;
    return status;
}

static rs_status sniff(rs_source *s, rs_error *err)
{
    s->in = rs_malloc(IN_BUFFER);
    if (!s->in) return rs_fail_nomem(err, "input buffer");
    /* A pipe may hand over its first bytes one by one; raw_read insists until it has them or the end. */
    size_t look = s->fd < 0 || s->regular ? IN_BUFFER : 4;
    RS_TRY(raw_read(s, s->in, look, &s->in_n, err));
    if (s->in_n == 0) s->in_eof = true;
    if (s->in_n >= 2 && memcmp(s->in, gzip_magic, 2) == 0) {
        s->packing = RS_PACKING_GZIP;
        s->gzip = rs_malloc(sizeof *s->gzip);
        if (!s->gzip) return rs_fail_nomem(err, "gzip decoder");
        isal_inflate_init(s->gzip);
        s->gzip->crc_flag = ISAL_GZIP;
        s->gzip_in_member = true;
    } else if (s->in_n >= 4 && memcmp(s->in, zstd_magic, 4) == 0) {
        s->packing = RS_PACKING_ZSTD;
        s->zstd = ZSTD_createDCtx();
        if (!s->zstd) return rs_fail_nomem(err, "zstd decoder");
        s->zstd_in_frame = true;
        s->zstd_hint = ZSTD_BLOCK_HEADER;
    }
    return RS_OK;
}

static rs_source *source_create(const char *name, uint64_t max_ratio)
{
    rs_source *s = rs_calloc(1, sizeof *s);
    if (!s) return NULL;
    s->name = rs_strdup(name);
    if (!s->name) {
        rs_free(s);
        return NULL;
    }
    s->fd = -1;
    s->max_ratio = max_ratio ? max_ratio : 1000;
    return s;
}

rs_status rs_source_open(const char *path, uint64_t max_ratio, rs_source **out, rs_error *err)
{
    *out = NULL;
    bool is_stdin = strcmp(path, "-") == 0;
    rs_source *s = source_create(is_stdin ? "(standard input)" : path, max_ratio);
    if (!s) return rs_fail_nomem(err, "input");
    do {
        s->fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    } while (s->fd < 0 && errno == EINTR); /* a FIFO opens when somebody writes */
    s->owns_fd = !is_stdin;
    struct stat info;
    rs_status status = RS_OK;
    if (s->fd < 0)
        status = rs_fail_at(err, RS_ERR_IO, path, RS_NO_OFFSET, "cannot open: %s", strerror(errno));
    else if (fstat(s->fd, &info) != 0)
        status = rs_fail_at(err, RS_ERR_IO, path, RS_NO_OFFSET, "cannot stat: %s", strerror(errno));
    else if (S_ISDIR(info.st_mode))
        status = rs_fail_at(err, RS_ERR_IO, path, RS_NO_OFFSET, "is a directory, not a file");
    if (status == RS_OK) {
        s->regular = S_ISREG(info.st_mode);
        if (s->regular && info.st_size > 0) s->size = (uint64_t)info.st_size;
        s->modified = rs_system_ns(info.st_mtim);
        if (is_stdin && s->regular && lseek(s->fd, 0, SEEK_CUR) != 0) s->regular = false;
        status = sniff(s, err);
    }
    if (status != RS_OK) {
        rs_source_close(s);
        return status;
    }
    *out = s;
    return RS_OK;
}

rs_status rs_source_open_bytes(const void *bytes, size_t n, const char *name, uint64_t max_ratio,
                               rs_source **out, rs_error *err)
{
    *out = NULL;
    rs_source *s = source_create(name, max_ratio);
    if (!s) return rs_fail_nomem(err, "input");
    s->memory = bytes;
    s->memory_n = n;
    s->size = n;
    rs_status status = sniff(s, err);
    if (status != RS_OK) {
        rs_source_close(s);
        return status;
    }
    *out = s;
    return RS_OK;
}

rs_status rs_source_open_remote(const rs_remote *remote, const char *name, uint64_t max_ratio,
                                rs_source **out, rs_error *err)
{
    *out = NULL;
    rs_source *s = source_create(name, max_ratio);
    if (!s) return rs_fail_nomem(err, "input");
    s->remote = remote;
    s->size = remote->size;
    rs_status status = sniff(s, err);
    if (status != RS_OK) {
        rs_source_close(s);
        return status;
    }
    *out = s;
    return RS_OK;
}

void rs_source_close(rs_source *s)
{
    if (!s) return;
    if (s->owns_fd && s->fd >= 0) close(s->fd);
    rs_free_all(s->in, s->ahead, s->gzip);
    if (s->zstd) ZSTD_freeDCtx(s->zstd);
    rs_free_all(s->name, s);
}

/* The present member is damaged; n bytes of text have come out since the last count. */
static void doubt(rs_source *s, size_t n)
{
    if (s->end.doubt_from == s->end.doubt_to) s->end.doubt_from = s->member_from;
    s->end.doubt_to = s->bytes_out + n;
}

static void damage(rs_source *s, bool truncated)
{
    s->finished = true;
    if (truncated)
        s->end.truncated = true;
    else
        s->end.corrupt = true;
    s->end.offset = s->bytes_in - (s->in_n - s->in_at);
}

/* Tries to have `want` waiting bytes; *have is how many there are, fewer only at the end of the file. */
static rs_status peek(rs_source *s, size_t want, size_t *have, rs_error *err)
{
    rs_status status = fill_in(s, err);
    *have = s->in_n - s->in_at;
    if (status != RS_OK || *have >= want || s->in_eof) return status;
    size_t got = 0;
    memmove(s->in, s->in + s->in_at, *have);
    status = raw_read(s, s->in + *have, IN_BUFFER - *have, &got, err);
    s->in_at = 0;
    s->in_n = *have += got;
    return status;
}

/* After a member or frame: another one may follow at once, told by its magic; a part of that at the end of
 * the file is a cut. Anything else is left alone. */
static rs_status next_member(rs_source *s, const uint8_t *magic, size_t n_magic, bool *follows, rs_error *err)
{
    size_t have;
    *follows = false;
    rs_status status = peek(s, n_magic, &have, err);
    if (status != RS_OK) return status;
    size_t n = have < n_magic ? have : n_magic;
    *follows = n && memcmp(s->in + s->in_at, magic, n) == 0;
    if (*follows) return RS_OK;
    s->finished = true;
    /* zero padding after the last member is common (tape blocks) and harmless */
    while (status == RS_OK && s->in_at < s->in_n && s->in[s->in_at] == 0) {
        s->in_at++;
        if (s->in_at == s->in_n) status = fill_in(s, err);
    }
    if (status == RS_OK && s->in_at < s->in_n) {
        s->end.trailing = true;
        s->end.offset = s->bytes_in - (s->in_n - s->in_at);
    }
    return status;
}

static rs_status next_gzip_member(rs_source *s, rs_error *err)
{
    rs_status status = next_member(s, gzip_magic, sizeof gzip_magic, &s->gzip_in_member, err);
    if (s->gzip_in_member) {
        isal_inflate_reset(s->gzip);
        s->gzip->crc_flag = ISAL_GZIP;
    }
    return status;
}

/* Frames that hold no text may stand anywhere between the others: 0x184d2a50 to 0x184d2a5f. */
static rs_status next_zstd_frame(rs_source *s, rs_error *err)
{
    size_t have;
    RS_TRY(peek(s, sizeof zstd_magic, &have, err));
    const uint8_t *in = s->in + s->in_at;
    uint8_t skippable[] = {0x50, 0x2a, 0x4d, 0x18};
    if (have && (in[0] & 0xf0) == 0x50) skippable[0] = in[0];
    bool is_skippable = have && in[0] == skippable[0];
    return next_member(s, is_skippable ? skippable : zstd_magic, sizeof zstd_magic, &s->zstd_in_frame, err);
}

static rs_status gzip_read(rs_source *s, uint8_t *to, size_t n, size_t *got, rs_error *err)
{
    while (*got < n && !s->finished) {
        if (!s->gzip_in_member) {
            rs_status status = next_gzip_member(s, err);
            if (status != RS_OK) return status;
            s->member_from = s->bytes_out + *got;
            continue;
        }
        RS_TRY(fill_in(s, err));
        size_t room = n - *got;
        if (room > UINT32_MAX / 2) room = UINT32_MAX / 2;
        s->gzip->next_in = s->in + s->in_at;
        s->gzip->avail_in = (uint32_t)(s->in_n - s->in_at);
        s->gzip->next_out = to + *got;
        s->gzip->avail_out = (uint32_t)room;
        int r = isal_inflate(s->gzip);
        size_t made = room - s->gzip->avail_out;
        /* after an error the decoder's own count of what is left may be wrong */
        size_t had = s->in_n - s->in_at;
        size_t used = s->gzip->avail_in <= had ? had - s->gzip->avail_in : had;
        s->in_at += used;
        *got += made;
        if (s->gzip->block_state == ISAL_BLOCK_FINISH) {
            s->end.members++;
            s->gzip_in_member = false;
            if (r == ISAL_INCORRECT_CHECKSUM) {
                s->end.checksum = true;
                s->end.offset = s->bytes_in - (s->in_n - s->in_at);
                doubt(s, *got);
            }
        } else if (r == ISAL_INCORRECT_CHECKSUM) {
            s->end.members++;
            s->gzip_in_member = false;
            s->end.checksum = true;
            s->end.offset = s->bytes_in - (s->in_n - s->in_at);
            doubt(s, *got);
        } else if (r != ISAL_DECOMP_OK && r != ISAL_END_INPUT) {
            /* at the fault the decoder counts a match as written that it did not copy */
            *got -= made < DEFLATE_MATCH ? made : DEFLATE_MATCH;
            damage(s, false);
            doubt(s, *got);
        } else if (made == 0 && used == 0 && s->in_eof) {
            damage(s, true);
        }
    }
    return RS_OK;
}

static rs_status zstd_read(rs_source *s, uint8_t *to, size_t n, size_t *got, rs_error *err)
{
    while (*got < n && !s->finished) {
        if (!s->zstd_in_frame) {
            rs_status status = next_zstd_frame(s, err);
            if (status != RS_OK) return status;
            s->member_from = s->bytes_out + *got;
            continue;
        }
        RS_TRY(fill_in(s, err));
        /* One block a call: when a call fails, what it had unpacked before the fault does not come out. The
         * hint counts the header of the block behind, which comes with the next call. */
        size_t feed = s->zstd_hint > ZSTD_BLOCK_HEADER ? s->zstd_hint - ZSTD_BLOCK_HEADER : s->zstd_hint;
        if (feed > s->in_n - s->in_at) feed = s->in_n - s->in_at;
        /* ... and none while text waits inside the decoder */
        bool waiting = s->zstd_waiting;
        if (waiting) feed = 0;
        ZSTD_inBuffer in = {.src = s->in, .size = s->in_at + feed, .pos = s->in_at};
        ZSTD_outBuffer out = {.dst = to + *got, .size = n - *got, .pos = 0};
        size_t r = ZSTD_decompressStream(s->zstd, &out, &in);
        size_t used = in.pos - s->in_at;
        s->in_at = in.pos;
        *got += out.pos;
        if (ZSTD_isError(r)) {
            if (ZSTD_getErrorCode(r) == ZSTD_error_memory_allocation)
                return rs_fail_nomem(err, "zstd decoder");
            /* behind good text such a header is rather damage than meant */
            if (ZSTD_getErrorCode(r) == ZSTD_error_frameParameter_windowTooLarge && s->end.members == 0)
                return rs_fail_at(err, RS_ERR_LIMIT, s->name, RS_NO_OFFSET,
                                  "packed with a window of more than 128 MiB: unpack it first with "
                                  "`zstd -d --long=31`");
            bool sum = ZSTD_getErrorCode(r) == ZSTD_error_checksum_wrong;
            damage(s, false);
            doubt(s, *got);
            if (sum) {
                s->end.corrupt = false;
                s->end.checksum = true;
            }
            break;
        }
        s->zstd_hint = r ? r : ZSTD_BLOCK_HEADER;
        s->zstd_waiting = r != 0 && out.pos == out.size;
        if (r == 0) {
            s->end.members++;
            s->zstd_in_frame = false;
        } else if (used == 0 && out.pos == 0 && s->in_eof && !waiting) {
            damage(s, true);
        }
    }
    return RS_OK;
}

static rs_status plain_read(rs_source *s, uint8_t *to, size_t n, size_t *got, rs_error *err)
{
    size_t waiting = s->in_n - s->in_at;
    if (waiting) {
        *got = n < waiting ? n : waiting;
        memcpy(to, s->in + s->in_at, *got);
        s->in_at += *got;
        if (*got == n) return RS_OK;
    }
    size_t more = 0;
    rs_status status = s->in_eof ? RS_OK : raw_read(s, to + *got, n - *got, &more, err);
    *got += more;
    if (status == RS_OK && *got < n) s->finished = true;
    return status;
}

static rs_status read_on(rs_source *s, void *text, size_t n, size_t *got, rs_error *err)
{
    *got = 0;
    if (s->finished || n == 0) return RS_OK;
    rs_status status;
    switch (s->packing) {
    case RS_PACKING_GZIP: status = gzip_read(s, text, n, got, err); break;
    case RS_PACKING_ZSTD: status = zstd_read(s, text, n, got, err); break;
    default: status = plain_read(s, text, n, got, err); break;
    }
    s->bytes_out += *got;
    if (status == RS_OK && s->packing != RS_PACKING_PLAIN && s->bytes_out > RATIO_SLACK &&
        s->bytes_out / s->max_ratio > s->bytes_in)
        return rs_fail_at(err, RS_ERR_LIMIT, s->name, s->bytes_in,
                          "unpacks to more than %llu times its size; if that is right, raise --max-ratio",
                          (unsigned long long)s->max_ratio);
    return status;
}

rs_status rs_source_read(rs_source *s, void *text, size_t n, size_t *got, rs_error *err)
{
    size_t waiting = s->ahead_n - s->ahead_at, first = n < waiting ? n : waiting;
    if (!waiting) return read_on(s, text, n, got, err);
    memcpy(text, s->ahead + s->ahead_at, first);
    s->ahead_at += first;
    rs_status status = read_on(s, (uint8_t *)text + first, n - first, got, err);
    *got += first;
    return status;
}

rs_status rs_source_peek(rs_source *s, size_t max, const uint8_t **text, size_t *n, rs_error *err)
{
    rs_status status = RS_OK;
    if (!s->ahead) {
        s->ahead = rs_malloc(RS_SOURCE_PEEK);
        if (!s->ahead) return rs_fail_nomem(err, "input buffer");
        status = read_on(s, s->ahead, RS_SOURCE_PEEK, &s->ahead_n, err);
    }
    *text = s->ahead;
    *n = s->ahead_n < max ? s->ahead_n : max;
    return status;
}

rs_packing rs_source_packing(const rs_source *s)
{
    return s->packing;
}

const char *rs_packing_name(rs_packing packing)
{
    static const char *const names[] = {"plain", "gzip", "zstd"};
    return names[packing];
}

const char *rs_source_name(const rs_source *s)
{
    return s->name;
}

rs_source_end rs_source_get_end(const rs_source *s)
{
    return s->end;
}

/* Whether the file is another than when it was opened. */
static bool has_changed(const rs_source *s)
{
    struct stat info;
    return s->regular && fstat(s->fd, &info) == 0 &&
           ((uint64_t)info.st_size != s->size || rs_system_ns(info.st_mtim) != s->modified);
}

void rs_source_report_end(const rs_source *source, int64_t rank, rs_problems *problems)
{
    rs_source_end end = rs_source_get_end(source);
    const struct {
        bool found;
        const char *kind, *message;
    } faults[] = {
        {end.truncated, "packing_truncated",
         "the compressed file breaks off; offsets of this line count compressed bytes"},
        {end.corrupt, "packing_corrupt",
         "the compressed bytes do not decode from here on; offset in compressed bytes"},
        {end.checksum, "packing_checksum", "the stored checksum differs: some byte of the text is wrong"},
        {end.trailing, "packing_trailing",
         "bytes after the compressed stream were left alone; offset in compressed bytes"},
        {has_changed(source), "file_changed",
         "the file was written to while it was read: some events may be of before, some of after"},
    };
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        if (faults[i].found)
            rs_problems_add(problems, rs_source_name(source), rank, RS_LOSS, faults[i].kind,
                            faults[i].message, end.offset);
}

uint64_t rs_source_bytes_in(const rs_source *s)
{
    return s->bytes_in;
}

uint64_t rs_source_bytes_total(const rs_source *s)
{
    return s->size;
}

const uint8_t *rs_source_memory(const rs_source *s, size_t *n)
{
    if (s->fd >= 0 || s->remote || s->packing != RS_PACKING_PLAIN) return NULL;
    *n = s->memory_n;
    return s->memory;
}

bool rs_source_is_seekable(const rs_source *s)
{
    return s->fd >= 0 && s->regular && s->packing == RS_PACKING_PLAIN;
}

rs_status rs_source_read_at(rs_source *s, uint64_t offset, void *text, size_t n, size_t *got, rs_error *err)
{
    *got = 0;
    while (*got < n) {
        ssize_t r = pread(s->fd, (char *)text + *got, n - *got, (off_t)(offset + *got));
        if (r < 0 && errno == EINTR) continue;
        if (r < 0)
            return rs_fail_at(err, RS_ERR_IO, s->name, offset + *got, "cannot read: %s", strerror(errno));
        if (r == 0) break;
        *got += (size_t)r;
    }
    atomic_fetch_add(&s->bytes_in, *got);
    return RS_OK;
}

rs_status rs_source_read_all(rs_source *s, size_t max_bytes, uint8_t **text, size_t *n, rs_error *err)
{
    size_t capacity = s->packing == RS_PACKING_PLAIN && s->size ? (size_t)s->size + 1 : (size_t)1 << 16;
    if (capacity - 1 > max_bytes) capacity = max_bytes + 1;
    uint8_t *block = rs_malloc(capacity + 64);
    if (!block) return rs_fail_nomem(err, s->name);
    size_t used = 0;
    for (;;) {
        size_t got = 0;
        rs_status status = rs_source_read(s, block + used, capacity - used, &got, err);
        if (status != RS_OK) {
            rs_free(block);
            return status;
        }
        used += got;
        if (used > max_bytes) {
            rs_free(block);
            return rs_fail_at(err, RS_ERR_LIMIT, s->name, max_bytes, "holds more than %zu bytes", max_bytes);
        }
        if (used < capacity) break;
        capacity *= 2;
        uint8_t *grown = rs_realloc(block, capacity + 64);
        if (!grown) {
            rs_free(block);
            return rs_fail_nomem(err, s->name);
        }
        block = grown;
    }
    memset(block + used, 0, 64);
    *text = block;
    *n = used;
    return RS_OK;
}
