#include "engine/build.h"

#include <string.h>

void rs_path_part_clear(rs_path_part *part)
{
    rs_path_graph_free(part->graph);
    rs_free(part->launch);
    *part = (rs_path_part){0};
}

/* The library's own search is many times faster than comparing at every place, but ends at a zero byte. */
static bool contains(const rs_string *text, const char *part, size_t n)
{
    const char *at = text->text, *end = at + text->length;
    if (n == 0) return true;
    while ((size_t)(end - at) >= n && (at = memchr(at, part[0], (size_t)(end - at) - n + 1))) {
        if (memcmp(at, part, n) == 0) return true;
        at++;
    }
    return false;
}

bool rs_text_contains(const rs_string *text, const char *part)
{
    if (strlen(text->text) == text->length) return strstr(text->text, part) != NULL;
    return contains(text, part, strlen(part));
}

bool rs_text_contains_any(const rs_string *text, const char *parts)
{
    for (const char *at = parts; at && *at; at += *at == ',') {
        size_t n = strcspn(at, ",");
        if (n && contains(text, at, n)) return true;
        at += n;
    }
    return false;
}

uint8_t *rs_names_containing(const rs_strings *strings, const char *part)
{
    uint8_t *named = rs_malloc(strings->n + 1);
    for (size_t i = 0; named && i < strings->n; i++) named[i] = rs_text_contains(&strings->items[i], part);
    return named;
}

bool rs_path_is_blocking(const char *name)
{
    static const char *const names[] = {"cudaDeviceSynchronize",
                                        "cudaStreamSynchronize",
                                        "cudaEventQuery",
                                        "cudaEventSynchronize",
                                        "cudaMemcpy",
                                        "cudaMemcpyAsync"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0) return true;
    return false;
}
