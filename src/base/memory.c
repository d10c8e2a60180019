#define _GNU_SOURCE
#include "base/memory.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#ifdef RS_TEST_ALLOC
static _Atomic uint64_t fail_at, fail_n, made;
static void (*_Atomic watched_by)(void);

static bool allocation_fails(void)
{
    uint64_t now = atomic_fetch_add(&made, 1) + 1;
    uint64_t at = atomic_load(&fail_at);
    void (*watch)(void) = atomic_load(&watched_by);
    if (watch) watch();
    return at != 0 && now >= at && now - at < atomic_load(&fail_n);
}

uint64_t rs_test_fail_allocations(uint64_t from, uint64_t n)
{
    atomic_store(&fail_at, from);
    atomic_store(&fail_n, n);
    return atomic_exchange(&made, 0);
}

void rs_test_watch_allocations(void (*watch)(void))
{
    atomic_store(&watched_by, watch);
}
#else
#define allocation_fails() false

uint64_t rs_test_fail_allocations(uint64_t from, uint64_t n)
{
    (void)from;
    (void)n;
    return 0;
}

void rs_test_watch_allocations(void (*watch)(void))
{
    (void)watch;
}
#endif

uint64_t rs_test_fail_allocation(uint64_t n)
{
    return rs_test_fail_allocations(n, UINT64_MAX);
}

/* From this size on a block is asked into huge pages: filling one costs more in page faults than in stores. */
#define LARGE_BLOCK ((size_t)4 << 20)

/* Whole pages are advised, the one before the block with them: so the C library's mapping of a large block
 * stays one, and can still grow in place. A block of the heap leaves its advice to what is there later. */
static void *in_huge_pages(void *p, size_t n)
{
#ifdef MADV_HUGEPAGE
    if (p && n >= LARGE_BLOCK) {
        uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from = (uintptr_t)p & ~(page - 1),
                  to = ((uintptr_t)p + n + page - 1) & ~(page - 1);
        madvise((void *)from, to - from, MADV_HUGEPAGE);
    }
#else
    (void)n;
#endif
    return p;
}

void *rs_malloc(size_t n)
{
    return allocation_fails() ? NULL : in_huge_pages(malloc(n ? n : 1), n);
}

void *rs_calloc(size_t n, size_t size)
{
    if (allocation_fails()) return NULL;
    void *p = calloc(n ? n : 1, size ? size : 1);
    return in_huge_pages(p, p ? n * size : 0);
}

void *rs_realloc(void *p, size_t n)
{
    return allocation_fails() ? NULL : realloc(p, n ? n : 1);
}

char *rs_strndup(const char *s, size_t n)
{
    char *copy = rs_malloc(n + 1);
    if (!copy) return NULL;
    memcpy(copy, s, n);
    copy[n] = '\0';
    return copy;
}

char *rs_strdup(const char *s)
{
    return rs_strndup(s, strlen(s));
}

bool rs_grow(void **items, size_t *capacity, size_t need, size_t size)
{
    if (need <= *capacity) return true;
    size_t wanted = *capacity ? *capacity * 2 : 16;
    if (wanted < need) wanted = need;
    size_t bytes;
    if (__builtin_mul_overflow(wanted, size, &bytes)) return false;
    void *grown = rs_realloc(*items, bytes);
    if (!grown) return false;
    *items = grown;
    *capacity = wanted;
    return true;
}

/* From this size on a block is a mapping of its own, whose place begins and ends with a huge page. */
#define BIG_THRESHOLD ((size_t)1 << 20)
/* From this size on it is asked into huge pages: a fault costs more than filling the page, and a column of
 * small pages has thousands. Below, the unused rest of the last huge page would waste more than it saves, and
 * the pages are asked for together, as many as the block grows by. */
#define HUGE_THRESHOLD ((size_t)8 << 20)
/* The size of x86's and most of Arm's huge pages. On other machines the advice is void. */
#define HUGE_PAGE ((size_t)2 << 20)

/* Precedes every big block, so that its owner need not keep the size. */
typedef struct big_header {
    size_t bytes; /* header included */
    size_t room;  /* of the mapping, whole huge pages; 0: from malloc */
} big_header;

/* Address space that begins at a multiple of a huge page; MAP_FAILED when there is none. */
static void *map_room(size_t room)
{
    uint8_t *p = mmap(NULL, room + HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return p;
    size_t before = (HUGE_PAGE - (uintptr_t)p % HUGE_PAGE) % HUGE_PAGE;
    if (before) munmap(p, before);
    munmap(p + before + room, HUGE_PAGE - before);
    return p + before;
}

/* The mapping at `old` with more room, or a new one; NULL when out of memory, then `old` is as it was. */
static big_header *grow_mapping(big_header *old, size_t room)
{
    void *p = map_room(room);
    if (p == MAP_FAILED) return NULL;
#ifdef MREMAP_MAYMOVE
    if (old) {
        /* both begin at huge pages: these move without being copied or split */
        void *moved = mremap(old, old->room, room, MREMAP_MAYMOVE | MREMAP_FIXED, p);
        if (moved == MAP_FAILED) munmap(p, room);
        p = moved;
    }
#else
    if (old) {
        memcpy(p, old, old->bytes);
        munmap(old, old->room);
    }
#endif
    if (p == MAP_FAILED) return NULL;
#ifdef MADV_HUGEPAGE
    if (room >= HUGE_THRESHOLD) madvise(p, room, MADV_HUGEPAGE);
#endif
    return p;
}

/* The memory of what the block grew by. Where it cannot be had at once it comes page by page. */
static void populate(big_header *h, size_t from)
{
#ifdef MADV_POPULATE_WRITE
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    from = (from + page - 1) & ~(page - 1);
    size_t to = (h->bytes + page - 1) & ~(page - 1);
    if (h->room && h->room < HUGE_THRESHOLD && from < to)
        madvise((uint8_t *)h + from, to - from, MADV_POPULATE_WRITE);
#else
    (void)h;
    (void)from;
#endif
}

/* How much address space a block of that size is given: by half more than it had, so that it rarely moves. */
static size_t room_of(size_t bytes, size_t before)
{
    size_t room = (bytes + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
    size_t more = (before + before / 2) & ~(HUGE_PAGE - 1);
    return before && room > before && more > room ? more : room;
}

size_t rs_big_next(size_t capacity, size_t size)
{
    return capacity + capacity / (capacity * size < BIG_THRESHOLD ? 2 : 8);
}

void *rs_big_resize(void *p, size_t bytes)
{
    big_header *old = p ? (big_header *)p - 1 : NULL, *fresh = NULL;
    if (bytes > SIZE_MAX / 2 || allocation_fails()) return NULL;
    bytes += sizeof *old;
    size_t before = old ? old->bytes : 0,
           room = bytes < BIG_THRESHOLD ? 0 : room_of(bytes, old ? old->room : 0);
    if (old && !old->room && !room) {
        fresh = realloc(old, bytes);
        if (!fresh) return NULL;
    } else if (old && old->room) {
        /* a mapping stays one; it gives room back when it is trimmed */
        fresh = room <= old->room ? old : grow_mapping(old, room);
        if (!fresh) return NULL;
        if (fresh == old) room = old->room;
    } else {
        fresh = room ? grow_mapping(NULL, room) : malloc(bytes);
        if (!fresh) return NULL;
        if (old) memcpy(fresh, old, old->bytes < bytes ? old->bytes : bytes);
        free(old);
    }
    fresh->bytes = bytes;
    fresh->room = room;
    populate(fresh, before);
    return fresh + 1;
}

void rs_big_trim(void *p, size_t used)
{
    big_header *h = p ? (big_header *)p - 1 : NULL;
    if (!h || !h->room || used > h->bytes - sizeof *h) return;
    size_t page = (size_t)sysconf(_SC_PAGESIZE), keep = (used + sizeof *h + page - 1) & ~(page - 1);
    if (keep < h->room) madvise((uint8_t *)h + keep, h->room - keep, MADV_DONTNEED);
}

void rs_big_free(void *p)
{
    if (!p) return;
    big_header *h = (big_header *)p - 1;
    if (h->room)
        munmap(h, h->room);
    else
        free(h);
}

void rs_memory_trim(void)
{
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

struct rs_arena_block {
    rs_arena_block *next;
    size_t size;
    _Alignas(16) unsigned char bytes[];
};

void *rs_arena_alloc(rs_arena *arena, size_t n)
{
    if (n > SIZE_MAX / 2) return NULL;
    n = (n + 7) & ~(size_t)7;
    if (!arena->blocks || arena->size - arena->used < n) {
        size_t size = arena->total < 4096 ? 4096 : arena->total;
        if (size > (size_t)1 << 20) size = (size_t)1 << 20;
        if (size < n) size = n;
        rs_arena_block *block = rs_malloc(sizeof *block + size + RS_ARENA_SLACK);
        if (!block) return NULL;
        block->next = arena->blocks;
        block->size = size;
        arena->blocks = block;
        arena->used = 0;
        arena->size = size;
        arena->total += size;
    }
    void *p = arena->blocks->bytes + arena->used;
    arena->used += n;
    return p;
}

char *rs_arena_strndup(rs_arena *arena, const char *s, size_t n)
{
    char *copy = n < SIZE_MAX ? rs_arena_alloc(arena, n + 1) : NULL;
    if (!copy) return NULL;
    if (n) memcpy(copy, s, n);
    copy[n] = '\0';
    return copy;
}

void rs_arena_clear(rs_arena *arena)
{
    for (rs_arena_block *block = arena->blocks, *next; block; block = next) {
        next = block->next;
        rs_free(block);
    }
    memset(arena, 0, sizeof *arena);
}

void rs_arena_reset(rs_arena *arena)
{
    if (!arena->blocks) return;
    for (rs_arena_block *block = arena->blocks->next, *next; block; block = next) {
        next = block->next;
        rs_free(block);
    }
    arena->blocks->next = NULL;
    arena->used = 0;
    arena->total = arena->size;
}
