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

#define MAGIC UINT64_C(0x0a72745353520089) /* 89 00 R S S t r \n, where the lowest byte comes first */
#define FORMAT 2
#define ALIGNMENT 64
/* A section that is not smaller than this takes no time worth saving. */
#define PACK_FROM ((size_t)64 << 10)
/* What zstd unpacks to more than this is none of ours, however it came there. */
#define MOST_RATIO 4096

enum { PACKING_NONE, PACKING_ZSTD };

typedef struct head {
    uint64_t magic;
    uint32_t format, kind;
    uint64_t program;
    uint64_t size; /* of the file */
    uint32_t n_identity, n_stamps;
    uint32_t n_sections, reserved;
    uint64_t unused;
    uint64_t sum; /* of all above, key and table */
} head;

typedef struct section {
    uint32_t id, packing;
    uint64_t offset, size; /* as it lies in the file */
    uint64_t n;            /* unpacked */
    uint64_t sum;          /* as it lies in the file */
} section;

_Static_assert(sizeof(head) == 64 && sizeof(section) == 40, "entries are laid out without gaps");

struct rs_entry {
    const uint8_t *bytes;
    size_t n;
    bool mapped;
    head head;
    const uint8_t *identity, *stamps;
    const section *sections;
    void **unpacked; /* by section; owned */
    bool *checked;
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

/* NULL: as it is. */
static void *packed(const rs_entry_part *part, size_t *n)
{
    if (!part->pack || part->n < PACK_FROM) return NULL;
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

typedef struct draft {
    head head;
    uint8_t *front; /* key and table, as they lie behind the head */
    section *table; /* in front */
    void **packed;
} draft;

static void draft_clear(draft *d)
{
    for (size_t i = 0; d->packed && i < d->head.n_sections; i++) rs_free(d->packed[i]);
    rs_free(d->packed);
    rs_free(d->front);
}

static bool draft_make(draft *d, const rs_entry_key *key, const rs_entry_part *parts, size_t n)
{
    d->head = (head){.magic = MAGIC,
                     .format = FORMAT,
                     .kind = key->kind,
                     .program = own_program(),
                     .n_identity = (uint32_t)key->n_identity,
                     .n_stamps = (uint32_t)key->n_stamps,
                     .n_sections = (uint32_t)n};
    size_t at = sections_at(&d->head);
    d->front = rs_calloc(at, 1);
    d->packed = rs_calloc(n, sizeof *d->packed);
    if (!d->front || (!d->packed && n)) return false;
    d->table = (section *)(void *)(d->front + table_at(&d->head));
    memcpy(d->front + sizeof(head), key->identity, key->n_identity);
    if (key->n_stamps) memcpy(d->front + stamps_at(&d->head), key->stamps, key->n_stamps);
    for (size_t i = 0; i < n; i++) {
        size_t size = parts[i].n;
        d->packed[i] = packed(&parts[i], &size);
        at = aligned(at, ALIGNMENT);
        d->table[i] = (section){.id = parts[i].id,
                                .packing = d->packed[i] ? PACKING_ZSTD : PACKING_NONE,
                                .offset = at,
                                .size = size,
                                .n = parts[i].n,
                                .sum = rs_hash_block(d->packed[i] ? d->packed[i]
                                                     : size       ? parts[i].bytes
                                                                  : "",
                                                     size)};
        at += size;
    }
    d->head.size = at;
    d->head.sum = sum_of(&d->head, d->front);
    memcpy(d->front, &d->head, sizeof d->head);
    return true;
}

static bool write_draft(int fd, const draft *d, const rs_entry_part *parts)
{
    static const uint8_t zeros[ALIGNMENT];
    size_t at = sections_at(&d->head);
    if (!write_all(fd, d->front, at)) return false;
    for (size_t i = 0; i < d->head.n_sections; i++) {
        const section *s = &d->table[i];
        if (!write_all(fd, zeros, s->offset - at) ||
            !write_all(fd, d->packed[i] ? d->packed[i] : parts[i].bytes, s->size))
            return false;
        at = s->offset + s->size;
    }
    return true;
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

rs_status rs_entry_write(const char *folder, const rs_entry_key *key, const rs_entry_part *parts, size_t n,
                         uint64_t *size, rs_error *err)
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
    draft d = {.front = NULL};
    if (!draft_make(&d, key, parts, n)) {
        draft_clear(&d);
        return rs_fail_nomem(err, "an entry of the store");
    }
    *size = d.head.size;
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
    draft_clear(&d);
    return status;
}

/* ---- reading ------------------------------------------------------------------------------------------ */

/* Whether the table says what can be true of this file. */
static bool table_is_sound(const rs_entry *e)
{
    for (size_t i = 0; i < e->head.n_sections; i++) {
        const section *s = &e->sections[i];
        if (s->offset % ALIGNMENT || s->offset > e->n || s->size > e->n - s->offset) return false;
        if (s->packing == PACKING_NONE ? s->n != s->size
                                       : s->packing != PACKING_ZSTD || s->n / MOST_RATIO > s->size)
            return false;
    }
    return true;
}

/* Checks head, key and table of e->bytes. */
static bool take_head(rs_entry *e)
{
    head *h = &e->head;
    if (e->n < sizeof *h) return false;
    memcpy(h, e->bytes, sizeof *h);
    if (h->magic != MAGIC || h->format != FORMAT || h->size != e->n) return false;
    if (h->kind == 0 || h->kind >= RS_N_ENTRY_KINDS || h->n_sections > RS_ENTRY_PARTS) return false;
    size_t left = e->n - sizeof *h, key = aligned(h->n_identity, 8) + aligned(h->n_stamps, 8);
    if (key > left || h->n_sections * sizeof(section) > left - key) return false;
    if (sum_of(h, e->bytes) != h->sum) return false;
    e->identity = e->bytes + sizeof *h;
    e->stamps = e->bytes + stamps_at(h);
    e->sections = (const section *)(const void *)(e->bytes + table_at(h));
    return table_is_sound(e);
}

/* *out: NULL where the bytes are no entry. A mapping is the entry's from here on. */
static rs_status entry_of(const void *bytes, size_t n, bool mapped, rs_entry **out)
{
    rs_entry *e = rs_calloc(1, sizeof *e);
    *out = NULL;
    if (!e) {
        if (mapped) munmap((void *)(uintptr_t)bytes, n);
        return RS_ERR_NOMEM;
    }
    e->bytes = bytes;
    e->n = n;
    e->mapped = mapped;
    if (!take_head(e)) {
        rs_entry_close(e);
        return RS_OK;
    }
    e->unpacked = rs_calloc((size_t)e->head.n_sections + 1, sizeof *e->unpacked);
    e->checked = rs_calloc((size_t)e->head.n_sections + 1, sizeof *e->checked);
    if (!e->unpacked || !e->checked) {
        rs_entry_close(e);
        return RS_ERR_NOMEM;
    }
    *out = e;
    return RS_OK;
}

rs_entry *rs_entry_of_bytes(const void *bytes, size_t n)
{
    rs_entry *entry = NULL;
    return (uintptr_t)bytes % 8 == 0 && entry_of(bytes, n, false, &entry) == RS_OK ? entry : NULL;
}

static rs_status entry_of_file(int fd, rs_entry **out)
{
    struct stat info;
    *out = NULL;
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || info.st_size < (off_t)sizeof(head)) return RS_OK;
    size_t n = (size_t)info.st_size;
    void *bytes = mmap(NULL, n, PROT_READ, MAP_PRIVATE, fd, 0);
    return bytes == MAP_FAILED ? RS_OK : entry_of(bytes, n, true, out);
}

rs_status rs_entry_look(const char *path, rs_entry **out, rs_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    *out = NULL;
    if (fd < 0) return RS_OK;
    rs_status status = entry_of_file(fd, out);
    close(fd);
    return status == RS_OK ? RS_OK : rs_fail_nomem(err, "an entry of the store");
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
    if (!path_in(folder, name, path, sizeof path)) return NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return NULL;
    rs_entry *entry;
    entry_of_file(fd, &entry);
    if (entry && !is_for(entry, key)) {
        rs_entry_close(entry);
        entry = NULL;
    }
    /* a folder that may only be read is used all the same */
    if (entry) futimens(fd, (const struct timespec[]){{.tv_nsec = UTIME_NOW}, {.tv_nsec = UTIME_OMIT}});
    close(fd);
    return entry;
}

void rs_entry_close(rs_entry *e)
{
    if (!e) return;
    for (size_t i = 0; e->unpacked && i < e->head.n_sections; i++) rs_free(e->unpacked[i]);
    rs_free(e->unpacked);
    rs_free(e->checked);
    if (e->mapped) munmap((void *)(uintptr_t)e->bytes, e->n);
    rs_free(e);
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

const void *rs_entry_bytes(const rs_entry *e)
{
    return e->bytes;
}

/* Unpacked: memory of the entry's. NULL: it is damaged, or there is no memory, which *poor tells. */
static void *unpack(const section *s, const uint8_t *bytes, bool *poor)
{
    if (ZSTD_getFrameContentSize(bytes, s->size) != s->n) return NULL;
    void *out = rs_malloc(s->n + 1);
    *poor = !out;
    if (out && ZSTD_decompress(out, s->n, bytes, s->size) != s->n) {
        rs_free(out);
        out = NULL;
    }
    return out;
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

static const void *bytes_of(rs_entry *e, size_t i, bool *poor)
{
    const section *s = &e->sections[i];
    const uint8_t *bytes = e->bytes + s->offset;
    if (!e->checked[i] && e->mapped) fetch_pages(bytes, s->size);
    if (!e->checked[i] && rs_hash_block(bytes, s->size) != s->sum) return NULL;
    e->checked[i] = true;
    if (s->packing == PACKING_NONE) return bytes;
    if (!e->unpacked[i]) e->unpacked[i] = unpack(s, bytes, poor);
    return e->unpacked[i];
}

const void *rs_entry_part_of(rs_entry *e, uint32_t id, size_t *n)
{
    bool poor;
    *n = 0;
    for (size_t i = 0; i < e->head.n_sections; i++) {
        if (e->sections[i].id != id) continue;
        const void *bytes = bytes_of(e, i, &poor);
        if (bytes) *n = e->sections[i].n;
        return bytes;
    }
    return NULL;
}

void rs_entry_seal(void *bytes, size_t n)
{
    rs_entry e = {.bytes = bytes, .n = n};
    if (n < sizeof e.head) return;
    memcpy(&e.head, bytes, sizeof e.head);
    e.head.magic = MAGIC;
    e.head.format = FORMAT;
    e.head.program = own_program();
    e.head.size = n;
    size_t left = n - sizeof e.head, key = aligned(e.head.n_identity, 8) + aligned(e.head.n_stamps, 8);
    if (e.head.n_sections > RS_ENTRY_PARTS || key > left || e.head.n_sections * sizeof(section) > left - key)
        return;
    section *table = (section *)(void *)((uint8_t *)bytes + table_at(&e.head));
    for (size_t i = 0; i < e.head.n_sections; i++)
        if (table[i].offset <= n && table[i].size <= n - table[i].offset)
            table[i].sum = rs_hash_block((uint8_t *)bytes + table[i].offset, table[i].size);
    e.head.sum = sum_of(&e.head, bytes);
    memcpy(bytes, &e.head, sizeof e.head);
}

rs_status rs_entry_prove(rs_entry *e, bool *is_whole, rs_error *err)
{
    bool poor = false;
    *is_whole = true;
    for (size_t i = 0; i < e->head.n_sections && *is_whole; i++) *is_whole = bytes_of(e, i, &poor) != NULL;
    return poor ? rs_fail_nomem(err, "an entry of the store") : RS_OK;
}

bool rs_entry_is_whole(rs_entry *e)
{
    bool is_whole;
    return rs_entry_prove(e, &is_whole, NULL) == RS_OK && is_whole;
}
