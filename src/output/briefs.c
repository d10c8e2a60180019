#include "output/briefs.h"

#include <stdio.h>
#include <string.h>

#include "base/order.h"
#include "base/text.h"
#include "text/utf8.h"

#define MOST_CUTS 8   /* how often names that a cut made equal are cut elsewhere, before they get numbers */
#define MOST_PLACES 4 /* of a name that are shown */
#define CONTEXT 3     /* characters that are shown before a difference */

typedef struct cut {
    const char *brief, *text;
    size_t length;
    uint32_t id;
    size_t places[MOST_PLACES], n_places; /* where it differs from names that looked the same; ascending */
} cut;

bool rs_briefs_init(rs_briefs *briefs)
{
    *briefs = (rs_briefs){0};
    return rs_strings_init(&briefs->texts);
}

bool rs_briefs_add(rs_briefs *briefs, const char *text, size_t length)
{
    return rs_strings_add(&briefs->texts, text, length) != RS_NO_STRING;
}

void rs_briefs_clear(rs_briefs *briefs)
{
    rs_strings_clear(&briefs->texts);
    rs_free((void *)briefs->briefs);
    rs_arena_clear(&briefs->arena);
    *briefs = (rs_briefs){0};
}

const char *rs_briefs_find(const rs_briefs *briefs, const char *text, size_t length)
{
    uint32_t id = briefs->briefs ? rs_strings_find(&briefs->texts, text, length) : RS_NO_STRING;
    return id == RS_NO_STRING ? NULL : briefs->briefs[id];
}

static bool is_inside(const char *text, size_t at)
{
    return ((unsigned char)text[at] & 0xC0) == 0x80;
}

/* The bytes that two names begin with, whole characters. */
static size_t common(const cut *a, const cut *b)
{
    size_t n = 0;
    while (n < a->length && n < b->length && a->text[n] == b->text[n]) n++;
    while (n && n < a->length && is_inside(a->text, n)) n--;
    return n;
}

static const char *shorten(rs_briefs *briefs, const char *text, size_t length, size_t columns,
                           const char *mark)
{
    size_t size = 4 * columns + strlen(mark) + 8;
    char *out = rs_arena_alloc(&briefs->arena, size);
    return out ? rs_text_shorten(text, length, columns, mark, out, size) : NULL;
}

static void add_place(cut *c, size_t place)
{
    size_t at = c->n_places;
    for (size_t i = 0; i < c->n_places; i++)
        if (c->places[i] == place) return;
    if (at == MOST_PLACES) return;
    for (c->n_places++; at && c->places[at - 1] > place; at--) c->places[at] = c->places[at - 1];
    c->places[at] = place;
}

/* The start of the name and what follows each of its places, with the mark for what is between and after them. */
static const char *show_places(rs_briefs *briefs, const cut *c, size_t columns, const char *mark)
{
    size_t width = rs_text_width(mark, strlen(mark)), n = c->n_places, marks = (n + 1) * width;
    size_t share = columns > marks ? (columns - marks) / (n + 1) : 0,
           end = rs_text_fitting(c->text, c->length, share);
    if (share < CONTEXT + 1) return shorten(briefs, c->text, c->length, columns, mark);
    const char *out = rs_arena_printf(&briefs->arena, "%.*s", (int)end, c->text);
    for (size_t i = 0; out && i < n; i++) {
        size_t from = c->places[i];
        for (unsigned back = 0; from && back < CONTEXT; back++) do
                from--;
            while (from && is_inside(c->text, from));
        bool joined = from <= end + width;
        if (joined) from = end;
        size_t used = rs_text_width(out, strlen(out)) + (joined ? 0 : width), rest = c->length - from;
        size_t room = columns > used ? columns - used : 0, kept = rest;
        if (i + 1 < n)
            kept = rs_text_fitting(c->text + from, rest, joined ? share + width : share);
        else if (rs_text_width(c->text + from, rest) > room)
            kept = rs_text_fitting(c->text + from, rest, room > width ? room - width : 0);
        end = from + kept;
        out = rs_arena_printf(&briefs->arena, "%s%s%.*s%s", out, joined ? "" : mark, (int)kept,
                              c->text + from, i + 1 == n && end < c->length ? mark : "");
    }
    return out;
}

/* Names that no cut keeps different get a number, which no other has. */
static const char *number(rs_briefs *briefs, const cut *c, size_t i, size_t columns, const char *mark)
{
    char text[24];
    size_t n = (size_t)snprintf(text, sizeof text, "#%zu", i + 1);
    const char *brief = shorten(briefs, c->text, c->length, columns > n ? columns - n : 1, mark);
    return brief ? rs_arena_printf(&briefs->arena, "%s%s", brief, text) : NULL;
}

/* Cuts names that a cut made equal where they differ. *equal: some were. False when out of memory. */
static bool part(rs_briefs *briefs, cut *cuts, size_t n, size_t columns, const char *mark, bool last,
                 bool *equal)
{
    static const rs_order order[] = {RS_RISING(cut, brief), RS_RISING(cut, text)};
    *equal = false;
    RS_SORT(cuts, n, order);
    for (size_t first = 0, end; first < n; first = end) {
        for (end = first + 1; end < n && strcmp(cuts[end].brief, cuts[first].brief) == 0; end++) {
        }
        if (end - first == 1) continue;
        *equal = true;
        /* they are sorted, so what the first and the last begin with is what all begin with */
        size_t from = common(&cuts[first], &cuts[end - 1]);
        for (size_t i = first; i < end; i++) {
            add_place(&cuts[i], from);
            cuts[i].brief = last ? number(briefs, &cuts[i], i, columns, mark)
                                 : show_places(briefs, &cuts[i], columns, mark);
            if (!cuts[i].brief) return false;
        }
    }
    return true;
}

bool rs_briefs_cut(rs_briefs *briefs, size_t columns, const char *mark)
{
    size_t n = briefs->texts.n;
    RS_LOCAL cut *cuts = rs_malloc((n + 1) * sizeof *cuts);
    rs_free((void *)briefs->briefs);
    briefs->briefs = rs_malloc((n + 1) * sizeof *briefs->briefs);
    if (!cuts || !briefs->briefs) return false;
    for (size_t i = 0; i < n; i++) {
        const rs_string *s = &briefs->texts.items[i];
        cuts[i] = (cut){.brief = s->text, .text = s->text, .length = s->length, .id = (uint32_t)i};
        if (rs_text_width(s->text, s->length) > columns)
            cuts[i].brief = shorten(briefs, s->text, s->length, columns, mark);
        if (!cuts[i].brief) return false;
    }
    bool equal = true;
    for (unsigned i = 0; equal && i <= MOST_CUTS; i++)
        if (!part(briefs, cuts, n, columns, mark, i == MOST_CUTS, &equal)) return false;
    for (size_t i = 0; i < n; i++) briefs->briefs[cuts[i].id] = cuts[i].brief;
    return true;
}
