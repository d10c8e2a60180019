/* Allocation: every block the library takes goes through here, so that tests can make each one fail, one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* As their namesakes in <stdlib.h>; NULL when out of memory. n * size is checked for overflow. */
void *rs_malloc(size_t n);
void *rs_calloc(size_t n, size_t size);
void *rs_realloc(void *p, size_t n);
char *rs_strndup(const char *s, size_t n);
char *rs_strdup(const char *s);
#define rs_free free

/* Frees all of them, NULL among them, in this order: rs_free_all(t->start, t->end, t); */
#define rs_free_all(...)                                                                                     \
    rs_free_each((void *const[]){__VA_ARGS__}, sizeof((void *const[]){__VA_ARGS__}) / sizeof(void *))
static inline void rs_free_each(void *const *blocks, size_t n)
{
    for (size_t i = 0; i < n; i++) rs_free(blocks[i]);
}

/* Of a variable: what it points to is freed when its block is left, whatever the way out. RS_SCOPED(clear) calls clear(&it):
 *
 *     RS_LOCAL uint32_t *place = rs_malloc(n * sizeof *place);
 *     RS_SCOPED(rs_map64_clear) rs_map64 places = {0}; */
#define RS_LOCAL RS_SCOPED(rs_free_local)
#define RS_SCOPED(clear) __attribute__((cleanup(clear)))
static inline void rs_free_local(void *variable)
{
    rs_free(*(void **)variable);
}

/* Grows *items (capacity *capacity, element size `size`) to hold at least `need` elements; doubles. false
 * when out of memory, everything unchanged then. */
bool rs_grow(void **items, size_t *capacity, size_t need, size_t size);

/* Makes room for one more element at the end of an (items, n, capacity) triple held in plain struct members.
 */
#define RS_GROW_ONE(items, n, capacity)                                                                      \
    ((n) < (capacity) || rs_grow((void **)&(items), &(capacity), (n) + 1, sizeof *(items)))

/* Puts one more element at its end; false when out of memory, the triple is unchanged then. RS_APPEND is for a list whose
 * members have these names. */
#define RS_PUSH(items, n, capacity, ...)                                                                     \
    (RS_GROW_ONE(items, n, capacity) && ((items)[(n)++] = (__VA_ARGS__), true))
#define RS_APPEND(list, ...) RS_PUSH((list)->items, (list)->n, (list)->capacity, __VA_ARGS__)

/* Large arrays that grow without copying (mmap and mremap where there is mremap), the largest in huge pages
 * where the system has them. Resizing keeps the contents up to the smaller size; p NULL makes a new one; NULL
 * when out of memory (the old block is unchanged). */
void *rs_big_resize(void *p, size_t bytes);
/* How many elements of `size` bytes an array should grow to that has `capacity` of them and needs more: large
 * ones grow by small steps, as these cost little. */
size_t rs_big_next(size_t capacity, size_t size);
/* Returns the memory after the first `used` bytes, to be called when an array has got its last element.
 * The size stays; what follows them holds zeros when it is written to again. */
void rs_big_trim(void *p, size_t used);
void rs_big_free(void *p); /* NULL is allowed */
/* Gives pages of the heap that hold nothing back to the system, where the C library can (glibc). For who goes from a
 * phase that freed many blocks to one that takes large ones: those never come from the holes. */
void rs_memory_trim(void);

/* Tests only: makes the n-th allocation from now (1 = the next) and all after it fail; 0 switches it off.
 * Returns how many allocations were made since the last call. Not thread-safe. Compiled in when RS_TEST_ALLOC
 * is defined; without it the function does nothing. */
uint64_t rs_test_fail_allocation(uint64_t n);
/* The same for n of them, the first of which is number `from`; those after them succeed again. */
uint64_t rs_test_fail_allocations(uint64_t from, uint64_t n);
/* Tests only: what is called at each allocation, on the thread that makes it; NULL: nothing. */
void rs_test_watch_allocations(void (*watch)(void));

/* ---- arena: many small blocks freed together -------------------------------------------------------- */

typedef struct rs_arena_block rs_arena_block;
typedef struct rs_arena {
    rs_arena_block *blocks;
    size_t used, size; /* of the newest block */
    size_t total;      /* bytes held in all blocks */
} rs_arena;

/* This many bytes after every block may be read (never used), so that vector code can compare strings whole.
 */
#define RS_ARENA_SLACK 64

/* 8-byte aligned, uninitialised; NULL when out of memory. An all-zero rs_arena is a valid empty one. */
void *rs_arena_alloc(rs_arena *arena, size_t n);
/* A copy with a terminator added. */
char *rs_arena_strndup(rs_arena *arena, const char *s, size_t n);
void rs_arena_clear(rs_arena *arena);
/* Empties it but keeps the newest block, so that filling it repeatedly costs few allocations. */
void rs_arena_reset(rs_arena *arena);
