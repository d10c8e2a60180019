/* A text that grows. What is added after memory ran out is dropped, and `failed` stays set. */
#pragma once

#include "base/memory.h"
#include "rankscope/status.h"

/* An all-zero rs_text is a valid empty one. */
typedef struct rs_text {
    char *s; /* terminated; NULL: nothing was added yet */
    size_t n, capacity;
    bool failed;
} rs_text;

void rs_text_add(rs_text *text, const char *bytes, size_t n);
void rs_text_put(rs_text *text, const char *terminated);
/* As one word of a POSIX shell, in single quotes. */
void rs_text_put_shell(rs_text *text, const char *word);
void rs_text_printf(rs_text *text, const char *format, ...) RS_PRINTF(2, 3);
/* What was added, "" if nothing was; NULL when memory ran out. */
const char *rs_text_get(const rs_text *text);
void rs_text_clear(rs_text *text);

/* A text that lives as long as the arena; NULL when out of memory. */
char *rs_arena_printf(rs_arena *arena, const char *format, ...) RS_PRINTF(2, 3);
