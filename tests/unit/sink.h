/* A sink that collects bytes, for tests. */
#pragma once

#include <stdlib.h>
#include <string.h>

#include "rankscope/render.h"

typedef struct collected {
    char *text;
    size_t n, capacity;
    size_t fail_after; /* refuse once that many bytes came; 0: never */
} collected;

static inline bool collect(void *context, const char *bytes, size_t n)
{
    collected *c = context;
    if (c->fail_after && c->n + n > c->fail_after) return false;
    if (c->n + n + 1 > c->capacity) {
        c->capacity = (c->n + n + 1) * 2;
        c->text = realloc(c->text, c->capacity);
        if (!c->text) abort();
    }
    memcpy(c->text + c->n, bytes, n);
    c->n += n;
    c->text[c->n] = '\0';
    return true;
}

static inline void collected_clear(collected *c)
{
    free(c->text);
    *c = (collected){0};
}
