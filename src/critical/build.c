#include "critical/build.h"

#include <string.h>

void rs_path_part_clear(rs_path_part *part)
{
    rs_path_graph_free(part->graph);
    rs_free(part->launch);
    *part = (rs_path_part){0};
}

bool rs_text_contains(const rs_string *text, const char *part)
{
    size_t n = strlen(part);
    for (size_t i = 0; n <= text->length && i <= text->length - n; i++)
        if (memcmp(text->text + i, part, n) == 0) return true;
    return false;
}

bool rs_text_contains_any(const rs_string *text, const char *parts)
{
    for (const char *at = parts; at && *at; at += *at == ',') {
        size_t n = strcspn(at, ",");
        for (size_t i = 0; n && n <= text->length && i <= text->length - n; i++)
            if (memcmp(text->text + i, at, n) == 0) return true;
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
