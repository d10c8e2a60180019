#define _DEFAULT_SOURCE /* madvise */
#include "store/entry.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "base/memory.h"
#include "base/strings.h"
#include "store/narrow.h"

#define MAGIC UINT64_C(0x0a72745353520089) /* 89 00 R S S t r \n, where the lowest byte comes first */
#define FORMAT 3
#define ALIGNMENT 64
/* A section that is smaller than this takes no time worth saving. */
#define PACK_FROM ((size_t)64 << 10)
#define NARROW_FROM ((size_t)4 << 10)
/* Sections are written, read and summed in pieces that stay in the processor's cache. */
#define PIECE ((size_t)128 << 10)
/* So much of narrow numbers is written at once for the one who checks it. */
#define STRETCH ((size_t)64 << 10)
/* What zstd unpacks to more than this is none of ours, however it came there. */
#define MOST_RATIO 4096

/* Of a head. */
#define IN_PLACE 1u /* no section is packed: they are used where they lie */

enum { PACKING_NONE, PACKING_ZSTD, PACKING_NARROW };

typedef struct head {
    uint64_t magic;
    uint32_t format, kind;
    uint64_t program;
    uint64_t size; /* of the file */
    uint32_t n_identity, n_stamps;
    uint32_t n_sections, flags;
    uint64_t unused;
    uint64_t sum; /* of all above, key and table */
} head;

typedef struct section {
    uint32_t id;
    uint16_t packing, number; /* number: bytes of each, where they are narrow */
    uint64_t offset, size;    /* as it is in the file */
    uint64_t n;               /* unpacked */
    uint64_t sum;             /* as it is in the file, piece by piece */
} section;

_Static_assert(sizeof(head) == 64 && sizeof(section) == 40, "entries are laid out without gaps");

struct rs_entry {
    int fd;               /* -1: bytes, or nothing more is read */
    const uint8_t *bytes; /* borrowed; NULL: of a file */
    const uint8_t
        *lying; /* the whole file, mapped or borrowed, where its sections are used in place; NULL: not */
    size_t n;
    uint8_t *front; /* head, key and table */
    head head;
    const uint8_t *identity, *stamps;
    const section *sections;
    void **unpacked; /* by section; owned */
    bool poor;       /* memory was missing when it was opened */
};

static uint64_t own_program(void)
{
    return rs_hash_bytes(rs_build_sources, strlen(rs_build_sources));
}

static size_t aligned(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

/* Behind the head: identity, stamps, table. */
static size_t stamps_at(const head *h)
{
    return sizeof *h + aligned(h->n_identity, 8);
}
static size_t table_at(const head *h)
{
    return stamps_at(h) + aligned(h->n_stamps, 8);
}
static size_t sections_at(const head *h)
{
    return table_at(h) + h->n_sections * sizeof(section);
}

/* The sum of the head without the sum itself, and of what stands between head and sections. */
static uint64_t sum_of(const head *h, const uint8_t *bytes)
{
    uint64_t a = rs_hash_bytes(h, offsetof(head, sum));
    return rs_hash_u64(a ^ rs_hash_bytes(bytes + sizeof *h, sections_at(h) - sizeof *h));
}

void rs_entry_name(const rs_entry_key *key, char name[RS_ENTRY_NAME])
{
    uint64_t a = rs_hash_u64(rs_hash_bytes(key->identity, key->n_identity) ^ key->kind);
    /* a second hash of the same bytes, so that two identities do not share a file: the key is compared anyway */
    uint64_t b = a;
    const uint8_t *p = key->identity;
    for (size_t i = 0; i < key->n_identity; i++) b = (b ^ p[i]) * UINT64_C(0x100000001b3);
    snprintf(name, RS_ENTRY_NAME, "%02x/%014llx%016llx", (unsigned)(a >> 56),
             (unsigned long long)(a & (UINT64_MAX >> 8)), (unsigned long long)b);
}

/* ---- writing ------------------------------------------------------------------------------------------ */

static bool write_all(int fd, const void *bytes, size_t n)
{
    const uint8_t *p = bytes;
    while (n) {
        ssize_t done = write(fd, p, n < (size_t)1 << 30 ? n : (size_t)1 << 30);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return false;
        p += done;
        n -= (size_t)done;
    }
    return true;
}

/* The sum goes on with the next piece. */
static uint64_t sum_piece(uint64_t sum, const void *piece, size_t n)
{
    return rs_hash_u64(sum ^ rs_hash_block(piece, n));
}

/* A section being written: to the file, and into the sum. */
typedef struct section_out {
    int fd;
    section *s;
} section_out;

static bool put_piece(section_out *o, const void *piece, size_t n)
{
    o->s->sum = sum_piece(o->s->sum, piece, n);
    o->s->size += n;
    return write_all(o->fd, piece, n);
}

static bool put_bytes(section_out *o, const void *bytes, size_t n)
{
    bool ok = true;
    for (size_t at = 0; ok && at < n; at += PIECE)
        ok = put_piece(o, (const uint8_t *)bytes + at, n - at < PIECE ? n - at : PIECE);
    return ok;
}

/* Blocks go through a window, from which whole pieces are written. */
static bool put_narrow(section_out *o, const uint8_t *numbers, size_t n, unsigned size, uint8_t *window)
{
    size_t have = 0;
    bool ok = true;
    o->s->packing = PACKING_NARROW;
    o->s->number = (uint16_t)size;
    for (size_t i = 0; ok && i < n; i += RS_NARROW_BLOCK) {
        size_t block = n - i < RS_NARROW_BLOCK ? n - i : RS_NARROW_BLOCK;
        have += rs_narrow_put(numbers + i * size, block, size, window + have);
        if (have < PIECE) continue;
        ok = put_piece(o, window, PIECE);
        have -= PIECE;
        memmove(window, window + PIECE, have);
    }
    return ok && (!have || put_piece(o, window, have));
}

/* NULL: it is not much smaller, or there is no memory. */
static void *packed(const rs_entry_part *part, size_t *n)
{
    size_t room = ZSTD_compressBound(part->n);
    void *out = rs_malloc(room);
    if (!out) return NULL;
    size_t size = ZSTD_compress(out, room, part->bytes, part->n, 1);
    if (ZSTD_isError(size) || size > part->n / 4 * 3 || part->n / (size + 1) >= MOST_RATIO) {
        rs_free(out);
        return NULL;
    }
    *n = size;
    return out;
}

static bool put_section(section_out *o, const rs_entry_part *part, bool in_place, uint8_t *window)
{
    if (in_place) return put_bytes(o, part->bytes, part->n);
    if (part->number && part->n >= NARROW_FROM)
        return put_narrow(o, part->bytes, part->n / part->number, part->number, window);
    size_t size;
    RS_LOCAL void *small = part->pack && part->n >= PACK_FROM ? packed(part, &size) : NULL;
    if (!small) return put_bytes(o, part->bytes, part->n);
    o->s->packing = PACKING_ZSTD;
    return put_bytes(o, small, size);
}

/* Head, key and table stand before the sections, and are known behind them. */
typedef struct draft {
    head head;
    uint8_t *front, *window;
    section *table;
} draft;

static void draft_clear(draft *d)
{
    rs_free_all(d->front, d->window);
}

static bool draft_make(draft *d, const rs_entry_key *key, bool in_place, size_t n)
{
    d->head = (head){.magic = MAGIC,
                     .format = FORMAT,
                     .kind = (uint32_t)key->kind,
                     .program = own_program(),
                     .n_identity = (uint32_t)key->n_identity,
                     .n_stamps = (uint32_t)key->n_stamps,
                     .n_sections = (uint32_t)n,
                     .flags = in_place ? IN_PLACE : 0};
    d->front = rs_calloc(aligned(sections_at(&d->head), ALIGNMENT), 1);
    d->window = rs_malloc(PIECE + RS_NARROW_MOST);
    if (!d->front || !d->window) return false;
    d->table = (section *)(void *)(d->front + table_at(&d->head));
    memcpy(d->front + sizeof(head), key->identity, key->n_identity);
    if (key->n_stamps) memcpy(d->front + stamps_at(&d->head), key->stamps, key->n_stamps);
    return true;
}

static bool write_draft(int fd, draft *d, const rs_entry_part *parts)
{
    static const uint8_t zeros[ALIGNMENT];
    size_t front = sections_at(&d->head), at = front;
    bool ok = write_all(fd, d->front, at);
    for (size_t i = 0; ok && i < d->head.n_sections; i++) {
        section *s = &d->table[i];
        section_out o = {fd, s};
        *s = (section){.id = parts[i].id, .offset = aligned(at, ALIGNMENT), .n = parts[i].n};
        ok = write_all(fd, zeros, s->offset - at) &&
             put_section(&o, &parts[i], d->head.flags & IN_PLACE, d->window);
        at = s->offset + s->size;
    }
    d->head.size = at;
    d->head.sum = sum_of(&d->head, d->front);
    memcpy(d->front, &d->head, sizeof d->head);
    return ok && lseek(fd, 0, SEEK_SET) == 0 && write_all(fd, d->front, front);
}

/* "FOLDER/ab", made where it is missing; then the file's own name. false: too long. */
static bool path_in(const char *folder, const char *name, char *path, size_t size)
{
    int n = snprintf(path, size, "%s/%s", folder, name);
    return n > 0 && (size_t)n < size;
}

static rs_status fail_io(const char *path, const char *what, rs_error *err)
{
    return rs_fail_at(err, RS_ERR_IO, path, RS_NO_OFFSET, "%s: %s", what, strerror(errno));
}

rs_status rs_entry_write(const char *folder, const rs_entry_key *key, bool in_place,
                         const rs_entry_part *parts, size_t n, uint64_t *size, rs_error *err)
{
    char name[RS_ENTRY_NAME], path[4096], temporary[4200];
    if (n > RS_ENTRY_PARTS || key->n_identity > UINT32_MAX || key->n_stamps > UINT32_MAX)
        return rs_fail(err, RS_ERR_LIMIT, "an entry of the store with so many parts");
    rs_entry_name(key, name);
    if (!path_in(folder, name, path, sizeof path))
        return rs_fail_at(err, RS_ERR_IO, folder, RS_NO_OFFSET, "the name of this folder is too long");
    char *slash = strrchr(path, '/');
    *slash = '\0';
    if (mkdir(path, 0700) != 0 && errno != EEXIST) return fail_io(path, "cannot make this folder", err);
    *slash = '/';
    snprintf(temporary, sizeof temporary, "%s.tmp-XXXXXX", path);
    RS_SCOPED(draft_clear) draft d = {.front = NULL};
    if (!draft_make(&d, key, in_place, n)) return rs_fail_nomem(err, "an entry of the store");
    int fd = mkstemp(temporary);
    rs_status status = RS_OK;
    if (fd < 0) {
        status = fail_io(temporary, "cannot be made", err);
    } else {
        bool ok = write_draft(fd, &d, parts);
        if (close(fd) != 0) ok = false;
        if (!ok || rename(temporary, path) != 0) {
            status = fail_io(path, "cannot be written", err);
            unlink(temporary);
        }
    }
    *size = d.head.size;
    return status;
}

/* ---- reading ------------------------------------------------------------------------------------------ */

/* What is not used in place is read: of a file that somebody cuts short meanwhile that is a damaged section, where a
 * mapping would end the process. */
static bool read_at(const rs_entry *e, uint64_t at, size_t n, void *out)
{
    uint8_t *to = out;
    if (e->bytes) {
        if (at > e->n || n > e->n - at) return false;
        if (n) memcpy(out, e->bytes + at, n);
        return true;
    }
    while (n) {
        ssize_t got = e->fd < 0 ? -1 : pread(e->fd, to, n, (off_t)at);
        if (got < 0 && errno == EINTR && e->fd >= 0) continue;
        if (got <= 0) return false;
        to += got;
        at += (uint64_t)got;
        n -= (size_t)got;
    }
    return true;
}

static bool packing_is_sound(const section *s, bool in_place)
{
    if (in_place && s->packing != PACKING_NONE) return false;
    if (s->packing == PACKING_NONE) return s->n == s->size;
    if (s->packing == PACKING_ZSTD) return s->n / MOST_RATIO <= s->size;
    unsigned number = s->number;
    if (s->packing != PACKING_NARROW || (number != 1 && number != 2 && number != 4 && number != 8))
        return false;
    return s->n % number == 0 && s->n / MOST_RATIO <= s->size &&
           rs_narrow_least(s->n / number, number) <= s->size;
}

/* Whether the table says what can be true of this file. */
static bool table_is_sound(const rs_entry *e)
{
    for (size_t i = 0; i < e->head.n_sections; i++) {
        const section *s = &e->sections[i];
        if (s->offset % ALIGNMENT || s->offset > e->n || s->size > e->n - s->offset) return false;
        if (!packing_is_sound(s, e->head.flags & IN_PLACE)) return false;
    }
    return true;
}

/* The file of an entry whose sections are used in place. Bytes of the caller's may lie anywhere: then they are copied as
 * others are. */
static bool lay_out(rs_entry *e)
{
    if (e->bytes) {
        if ((uintptr_t)e->bytes % 8 == 0) e->lying = e->bytes;
        return true;
    }
    void *map = mmap(NULL, e->n, PROT_READ, MAP_PRIVATE, e->fd, 0);
    if (map != MAP_FAILED) e->lying = map;
    return map != MAP_FAILED;
}

/* Reads and checks head, key and table. */
static bool take_head(rs_entry *e)
{
    head *h = &e->head;
    if (e->n < sizeof *h || !read_at(e, 0, sizeof *h, h)) return false;
    if (h->magic != MAGIC || h->format != FORMAT || h->size != e->n) return false;
    if (h->kind == 0 || h->kind >= RS_N_ENTRY_KINDS || h->n_sections > RS_ENTRY_PARTS) return false;
    if (h->flags & ~IN_PLACE) return false;
    size_t left = e->n - sizeof *h, key = aligned(h->n_identity, 8) + aligned(h->n_stamps, 8);
    if (key > left || h->n_sections * sizeof(section) > left - key) return false;
    e->front = rs_malloc(sections_at(h));
    e->poor = !e->front;
    if (!e->front || !read_at(e, 0, sections_at(h), e->front)) return false;
    if (memcmp(e->front, h, sizeof *h) != 0 || sum_of(h, e->front) != h->sum) return false;
    e->identity = e->front + sizeof *h;
    e->stamps = e->front + stamps_at(h);
    e->sections = (const section *)(const void *)(e->front + table_at(h));
    e->unpacked = rs_calloc((size_t)h->n_sections + 1, sizeof *e->unpacked);
    e->poor = !e->unpacked;
    return e->unpacked && table_is_sound(e) && (!(h->flags & IN_PLACE) || lay_out(e));
}

/* Takes the file over, also where it is no entry: then *out is NULL. Fails without memory alone. */
static rs_status entry_of(int fd, const void *bytes, size_t n, rs_entry **out)
{
    rs_entry *e = rs_calloc(1, sizeof *e);
    *out = NULL;
    if (!e) {
        if (fd >= 0) close(fd);
        return RS_ERR_NOMEM;
    }
    e->fd = fd;
    e->bytes = bytes;
    e->n = n;
    if (take_head(e)) {
        *out = e;
        return RS_OK;
    }
    bool poor = e->poor;
    rs_entry_close(e);
    return poor ? RS_ERR_NOMEM : RS_OK;
}

rs_entry *rs_entry_of_bytes(const void *bytes, size_t n)
{
    rs_entry *entry;
    entry_of(-1, bytes, n, &entry);
    return entry;
}

rs_status rs_entry_look(const char *path, rs_entry **out, rs_error *err)
{
    struct stat info;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    *out = NULL;
    if (fd < 0) return RS_OK;
    if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size >= (off_t)sizeof(head))
        return entry_of(fd, NULL, (size_t)info.st_size, out) == RS_OK
                   ? RS_OK
                   : rs_fail_nomem(err, "an entry of the store");
    close(fd);
    return RS_OK;
}

rs_entry *rs_entry_open(const char *path)
{
    rs_entry *entry;
    return rs_entry_look(path, &entry, NULL) == RS_OK ? entry : NULL;
}

bool rs_entry_is_own(const rs_entry *entry)
{
    return entry->head.program == own_program();
}

static bool is_for(const rs_entry *e, const rs_entry_key *key)
{
    const head *h = &e->head;
    return rs_entry_is_own(e) && h->kind == (uint32_t)key->kind && h->n_identity == key->n_identity &&
           h->n_stamps == key->n_stamps && memcmp(e->identity, key->identity, key->n_identity) == 0 &&
           memcmp(e->stamps, key->stamps, key->n_stamps) == 0;
}

rs_entry *rs_entry_find(const char *folder, const rs_entry_key *key)
{
    char name[RS_ENTRY_NAME], path[4096];
    rs_entry_name(key, name);
    rs_entry *entry = path_in(folder, name, path, sizeof path) ? rs_entry_open(path) : NULL;
    if (entry && !is_for(entry, key)) {
        rs_entry_close(entry);
        entry = NULL;
    }
    /* a folder that may only be read is used all the same */
    if (entry)
        futimens(entry->fd, (const struct timespec[]){{.tv_nsec = UTIME_NOW}, {.tv_nsec = UTIME_OMIT}});
    return entry;
}

void rs_entry_let_go(rs_entry *e)
{
    if (e->fd >= 0) close(e->fd);
    e->fd = -1;
}

void rs_entry_close(rs_entry *e)
{
    if (!e) return;
    rs_entry_let_go(e);
    for (size_t i = 0; e->unpacked && !e->lying && i < e->head.n_sections; i++) rs_big_free(e->unpacked[i]);
    if (e->lying && !e->bytes) munmap((void *)(uintptr_t)e->lying, e->n);
    rs_free_all(e->unpacked, e->front, e);
}

rs_entry_key rs_entry_get_key(const rs_entry *e)
{
    return (rs_entry_key){(rs_entry_kind)e->head.kind, e->identity, e->stamps, e->head.n_identity,
                          e->head.n_stamps};
}

size_t rs_entry_size(const rs_entry *e)
{
    return e->n;
}

/* ---- sections --------------------------------------------------------------------------------------------- */

/* A section being read, piece by piece. */
typedef struct section_in {
    const rs_entry *e;
    const section *s;
    uint64_t at, sum;
} section_in;

/* The next piece, of which there is at least one byte left; its length. 0: the file is shorter than it was. */
static size_t take_piece(section_in *i, void *out)
{
    uint64_t left = i->s->size - i->at;
    size_t n = left < PIECE ? (size_t)left : PIECE;
    if (!read_at(i->e, i->s->offset + i->at, n, out)) return 0;
    i->at += n;
    i->sum = sum_piece(i->sum, out, n);
    return n;
}

static bool is_read(const section_in *i)
{
    return i->at == i->s->size && i->sum == i->s->sum;
}

static bool read_plain(section_in *i, uint8_t *out, const rs_entry_check *check)
{
    while (i->at < i->s->size) {
        size_t from = (size_t)i->at;
        if (!take_piece(i, out + from)) return false;
        if (check && !check->good(check->context, out, from, (size_t)i->at)) return false;
    }
    return is_read(i);
}

/* Blocks are in a window, which goes on by whole pieces. */
static bool read_blocks(section_in *i, uint8_t *out, uint8_t *window, const rs_entry_check *check)
{
    const unsigned size = i->s->number;
    const size_t n = (size_t)i->s->n;
    size_t have = 0, used = 0, checked = 0;
    for (size_t at = 0; at < n;) {
        if (have - used < RS_NARROW_MOST && i->at < i->s->size) {
            memmove(window, window + used, have - used);
            have -= used;
            used = 0;
            size_t more = take_piece(i, window + have);
            if (!more) return false;
            have += more;
        }
        size_t count = (n - at) / size < RS_NARROW_BLOCK ? (n - at) / size : RS_NARROW_BLOCK;
        size_t took = rs_narrow_take(window + used, have - used, count, size, out + at);
        if (!took) return false;
        used += took;
        at += count * size;
        if (check && (at - checked >= STRETCH || at == n)) {
            if (!check->good(check->context, out, checked, at)) return false;
            checked = at;
        }
    }
    return used == have && is_read(i);
}

static bool read_narrow(section_in *i, uint8_t *out, const rs_entry_check *check)
{
    RS_LOCAL uint8_t *window = rs_malloc(PIECE + RS_NARROW_MOST);
    return window && read_blocks(i, out, window, check);
}

static bool read_zstd(section_in *i, uint8_t *out, const rs_entry_check *check)
{
    const size_t size = (size_t)i->s->size, n = (size_t)i->s->n;
    RS_LOCAL uint8_t *small = rs_malloc(size);
    bool ok = small && read_plain(i, small, NULL) && ZSTD_getFrameContentSize(small, size) == n &&
              ZSTD_decompress(out, n, small, size) == n;
    return ok && (!check || check->good(check->context, out, 0, n));
}

static bool read_section(const rs_entry *e, const section *s, void *out, const rs_entry_check *check)
{
    section_in i = {.e = e, .s = s};
    return s->packing == PACKING_NONE     ? read_plain(&i, out, check)
           : s->packing == PACKING_NARROW ? read_narrow(&i, out, check)
                                          : read_zstd(&i, out, check);
}

static const section *find_section(const rs_entry *e, uint32_t id)
{
    for (size_t i = 0; i < e->head.n_sections; i++)
        if (e->sections[i].id == id) return &e->sections[i];
    return NULL;
}

/* Maps all pages of a section by one call instead of a fault for every few of them. */
static void fetch_pages(const uint8_t *bytes, size_t n)
{
#ifdef MADV_POPULATE_READ
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from = (uintptr_t)bytes & ~(page - 1);
    if (n >= 16 * page) madvise((void *)from, (uintptr_t)bytes + n - from, MADV_POPULATE_READ);
#else
    (void)bytes;
    (void)n;
#endif
}

/* A section where it lies, summed in passing. */
static const void *section_in_place(const rs_entry *e, const section *s, const rs_entry_check *check)
{
    const uint8_t *bytes = e->lying + s->offset;
    uint64_t sum = 0;
    if (!e->bytes) fetch_pages(bytes, s->size);
    for (size_t at = 0; at < s->size; at += PIECE) {
        size_t n = s->size - at < PIECE ? s->size - at : PIECE;
        sum = sum_piece(sum, bytes + at, n);
        if (check && !check->good(check->context, bytes, at, at + n)) return NULL;
    }
    return sum == s->sum ? bytes : NULL;
}

const void *rs_entry_part_lying(const rs_entry *e, uint32_t id, size_t n, const rs_entry_check *check)
{
    const section *s = find_section(e, id);
    return s && e->lying && s->n == n ? section_in_place(e, s, check) : NULL;
}

const void *rs_entry_lying(const rs_entry *e)
{
    return e->lying;
}

bool rs_entry_part_size(const rs_entry *e, uint32_t id, size_t *n)
{
    const section *s = find_section(e, id);
    *n = s ? (size_t)s->n : 0;
    return s != NULL;
}

bool rs_entry_part_into(const rs_entry *e, uint32_t id, size_t n, void *out, const rs_entry_check *check)
{
    const section *s = find_section(e, id);
    return s && s->n == n && read_section(e, s, out, check);
}

const void *rs_entry_part_of(rs_entry *e, uint32_t id, size_t *n)
{
    const section *s = find_section(e, id);
    *n = 0;
    if (!s) return NULL;
    void **place = &e->unpacked[s - e->sections];
    if (!*place && e->lying) {
        *place = (void *)(uintptr_t)section_in_place(e, s, NULL);
    } else if (!*place) {
        void *out = rs_big_resize(NULL, (size_t)s->n + 1);
        if (out && !read_section(e, s, out, NULL)) {
            rs_big_free(out);
            out = NULL;
        }
        *place = out;
    }
    if (*place) *n = (size_t)s->n;
    return *place;
}

static bool sum_section(const rs_entry *e, const section *s, uint8_t *piece, uint64_t *sum)
{
    section_in i = {.e = e, .s = s};
    while (i.at < s->size)
        if (!take_piece(&i, piece)) return false;
    *sum = i.sum;
    return true;
}

void rs_entry_seal(void *bytes, size_t n)
{
    rs_entry e = {.fd = -1, .bytes = bytes, .n = n};
    if (n < sizeof e.head) return;
    memcpy(&e.head, bytes, sizeof e.head);
    e.head.magic = MAGIC;
    e.head.format = FORMAT;
    e.head.program = own_program();
    e.head.size = n;
    size_t left = n - sizeof e.head, key = aligned(e.head.n_identity, 8) + aligned(e.head.n_stamps, 8);
    if (e.head.n_sections > RS_ENTRY_PARTS || key > left || e.head.n_sections * sizeof(section) > left - key)
        return;
    uint8_t *piece = rs_malloc(PIECE), *table = (uint8_t *)bytes + table_at(&e.head);
    for (size_t i = 0; piece && i < e.head.n_sections; i++, table += sizeof(section)) {
        section s;
        memcpy(&s, table, sizeof s);
        if (s.offset > n || s.size > n - s.offset) continue;
        sum_section(&e, &s, piece, &s.sum);
        memcpy(table, &s, sizeof s);
    }
    rs_free(piece);
    e.head.sum = sum_of(&e.head, bytes);
    memcpy(bytes, &e.head, sizeof e.head);
}

rs_status rs_entry_prove(const rs_entry *e, bool *is_whole, rs_error *err)
{
    uint8_t *piece = rs_malloc(PIECE);
    *is_whole = piece != NULL;
    for (size_t i = 0; *is_whole && i < e->head.n_sections; i++) {
        uint64_t sum;
        *is_whole = sum_section(e, &e->sections[i], piece, &sum) && sum == e->sections[i].sum;
    }
    rs_free(piece);
    return piece ? RS_OK : rs_fail_nomem(err, "an entry of the store");
}

bool rs_entry_is_whole(const rs_entry *e)
{
    bool is_whole;
    return rs_entry_prove(e, &is_whole, NULL) == RS_OK && is_whole;
}
