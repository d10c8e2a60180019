#define _GNU_SOURCE
#include "base/memory.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#ifdef RS_TEST_ALLOC
static _Atomic uint64_t fail_at, made;

static bool allocation_fails(void)
{
    uint64_t now = atomic_fetch_add(&made, 1) + 1;
    uint64_t at = atomic_load(&fail_at);
    return at != 0 && now >= at;
}

uint64_t rs_test_fail_allocation(uint64_t n)
{
    atomic_store(&fail_at, n);
    return atomic_exchange(&made, 0);
}
#else
#define allocation_fails() false

uint64_t rs_test_fail_allocation(uint64_t n)
{
    (void)n;
    return 0;
}
#endif

void *rs_malloc(size_t n)
{
    return allocation_fails() ? NULL : malloc(n ? n : 1);
}

void *rs_calloc(size_t n, size_t size)
{
    return allocation_fails() ? NULL : calloc(n ? n : 1, size ? size : 1);
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

/* Below this a block comes from malloc: a page each would waste more than it saves. */
#define BIG_THRESHOLD ((size_t)256 << 10)

/* Stands before every big block, so that nobody has to remember its size. */
typedef struct big_header {
    size_t bytes; /* header included */
    size_t mapped;
} big_header;

static big_header *map_block(size_t bytes)
{
    big_header *h = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return h == MAP_FAILED ? NULL : h;
}

void *rs_big_resize(void *p, size_t bytes)
{
    big_header *old = p ? (big_header *)p - 1 : NULL, *fresh = NULL;
    if (bytes > SIZE_MAX - sizeof *old || allocation_fails()) return NULL;
    bytes += sizeof *old;
    bool mapped = bytes >= BIG_THRESHOLD;
    if (old && !old->mapped && !mapped) {
        fresh = realloc(old, bytes);
        old = NULL;
#ifdef MREMAP_MAYMOVE
    } else if (old && old->mapped) {
        fresh = mremap(old, old->bytes, bytes, MREMAP_MAYMOVE);
        if (fresh == MAP_FAILED) return NULL;
        mapped = true;
        old = NULL;
#endif
    } else {
        fresh = mapped ? map_block(bytes) : malloc(bytes);
    }
    if (!fresh) return NULL;
    if (old) {
        memcpy(fresh + 1, old + 1, (old->bytes < bytes ? old->bytes : bytes) - sizeof *old);
        rs_big_free(old + 1);
    }
    fresh->bytes = bytes;
    fresh->mapped = mapped;
    return fresh + 1;
}

void rs_big_free(void *p)
{
    if (!p) return;
    big_header *h = (big_header *)p - 1;
    if (h->mapped)
        munmap(h, h->bytes);
    else
        free(h);
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
