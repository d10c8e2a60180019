/* Memory, failure and random numbers for the synthesiser. */
#include "synth.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

_Noreturn void fail(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("rankscope-synth: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    exit(2);
}

void *take_memory(size_t bytes)
{
    void *memory = calloc(1, bytes ? bytes : 1);
    if (!memory) fail("no memory for %zu bytes", bytes);
    return memory;
}

void *grow(void *items, size_t *capacity, size_t wanted, size_t item_size)
{
    if (wanted <= *capacity) return items;
    size_t next = *capacity ? *capacity * 2 : 64;
    if (next < wanted) next = wanted;
    void *larger = realloc(items, next * item_size);
    if (!larger) fail("no memory for %zu bytes", next * item_size);
    *capacity = next;
    return larger;
}

/* Steele, Lea and Flood's SplitMix64: tiny, and the same on every machine. */
uint64_t mix(uint64_t value)
{
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
    return value ^ (value >> 31);
}

uint64_t random_next(uint64_t *state)
{
    *state += RANDOM_STRIDE;
    return mix(*state);
}

int64_t random_below(uint64_t *state, int64_t limit)
{
    return (int64_t)((random_next(state) >> 32) * (uint64_t)limit >> 32);
}

int64_t jitter(uint64_t *state, int64_t base, int low, int high)
{
    int64_t scale = 1000 + low + random_below(state, high - low + 1);
    return base / 1000 * scale + base % 1000 * scale / 1000;
}
