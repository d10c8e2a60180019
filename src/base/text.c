#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static char *make_room(rs_text *t, size_t n)
{
    if (t->failed || n >= SIZE_MAX - t->n || !rs_grow((void **)&t->s, &t->capacity, t->n + n + 1, 1)) {
        t->failed = true;
        return NULL;
    }
    return t->s + t->n;
}

void rs_text_add(rs_text *t, const char *bytes, size_t n)
{
    char *to = make_room(t, n);
    if (!to) return;
    if (n) memcpy(to, bytes, n);
    t->n += n;
    t->s[t->n] = '\0';
}

void rs_text_put(rs_text *t, const char *terminated)
{
    rs_text_add(t, terminated, strlen(terminated));
}

void rs_text_put_shell(rs_text *t, const char *word)
{
    rs_text_put(t, "'");
    for (const char *quote; (quote = strchr(word, '\'')); word = quote + 1) {
        rs_text_add(t, word, (size_t)(quote - word));
        rs_text_put(t, "'\\''");
    }
    rs_text_printf(t, "%s'", word);
}

void rs_text_printf(rs_text *t, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    char *to = n < 0 ? NULL : make_room(t, (size_t)n);
    if (to) {
        vsnprintf(to, (size_t)n + 1, format, again);
        t->n += (size_t)n;
    }
    va_end(args);
    va_end(again);
}

char *rs_arena_printf(rs_arena *arena, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    char *out = n < 0 ? NULL : rs_arena_alloc(arena, (size_t)n + 1);
    if (out) vsnprintf(out, (size_t)n + 1, format, again);
    va_end(args);
    va_end(again);
    return out;
}

const char *rs_text_get(const rs_text *t)
{
    return t->failed ? NULL : t->s ? t->s : "";
}

void rs_text_clear(rs_text *t)
{
    rs_free(t->s);
    *t = (rs_text){0};
}
