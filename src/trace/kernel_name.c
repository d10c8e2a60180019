#include "trace/kernel_name.h"

#include <string.h>

#include "base/ascii.h"

#define LONGEST 4096 /* bytes of a name that are looked at */

/* The words so far. */
typedef struct words {
    char *text;
    size_t n;
    char before; /* the character of the name that the last one was made of; '\0': none */
} words;

static void put(words *w, char c)
{
    if (w->n + 1 < RS_KERNEL_WORDS) w->text[w->n++] = c;
}

static bool is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

static bool is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

static void end_word(words *w)
{
    if (w->n && w->text[w->n - 1] != '_' && w->text[w->n - 1] != ':') put(w, '_');
    w->before = '\0';
}

/* A capital letter begins a word after a small one, and before one. */
static void put_letter(words *w, char c, char next)
{
    bool begins = is_upper(c) && (is_lower(w->before) || (w->before && w->before != '_' && is_lower(next)));
    if (begins) end_word(w);
    put(w, is_upper(c) ? (char)(c - 'A' + 'a') : c);
    w->before = c;
}

static void put_text(words *w, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (rs_is_alnum(text[i]))
            put_letter(w, text[i], i + 1 < n ? text[i + 1] : '\0');
        else
            end_word(w);
    }
}

static void end_segment(words *w)
{
    while (w->n && w->text[w->n - 1] == '_') w->n--;
    if (w->n && w->text[w->n - 1] != ':') {
        put(w, ':');
        put(w, ':');
    }
    w->before = '\0';
}

/* ---- as the compiler mangles ---------------------------------------------------------------------------- */

/* _ZN 7deep_ep 9internode 8dispatch I...: lengths and names, up to the first template argument or the end. */
static void read_mangled(words *w, const char *p, const char *end)
{
    bool any = false;
    while (p < end && (*p == 'N' || *p == 'K' || *p == 'V' || *p == 'L')) p++;
    while (p < end && rs_is_digit(*p)) {
        size_t n = 0;
        for (; p < end && rs_is_digit(*p) && n < LONGEST; p++) n = n * 10 + (size_t)(*p - '0');
        if (n > (size_t)(end - p)) n = (size_t)(end - p);
        bool hidden = n >= 10 && memcmp(p, "_GLOBAL__N", 10) == 0;
        if (any && !hidden) end_segment(w);
        if (!hidden) put_text(w, p, n);
        any = any || !hidden;
        p += n;
    }
}

/* ---- as the compiler's names are read ------------------------------------------------------------------- */

static bool has_parameters(const char *p, const char *end)
{
    static const char hidden[] = "(anonymous namespace)";
    for (; p < end; p++) {
        if (*p != '(') continue;
        if ((size_t)(end - p) < sizeof hidden - 1 || memcmp(p, hidden, sizeof hidden - 1) != 0) return true;
        p += sizeof hidden - 2;
    }
    return false;
}

/* The text before a space outside of brackets is a return type, where parameters follow. */
static void read_plain(words *w, const char *p, const char *end)
{
    static const char hidden[] = "(anonymous namespace)::";
    bool typed = has_parameters(p, end);
    if ((size_t)(end - p) > 5 && memcmp(p, "void ", 5) == 0) p += 5;
    for (size_t depth = 0; p < end; p++) {
        if (*p == '(' && (size_t)(end - p) >= sizeof hidden - 1 &&
            memcmp(p, hidden, sizeof hidden - 1) == 0) {
            p += sizeof hidden - 2;
            continue;
        }
        if (*p == '(' && !depth) return;
        if (*p == '<') depth++;
        if (*p == '>' && depth) depth--;
        if (depth || *p == '>') continue;
        if (*p == ' ' && typed)
            w->n = 0;
        else if (*p == ':' && p + 1 < end && p[1] == ':')
            end_segment(w);
        else if (rs_is_alnum(*p))
            put_letter(w, *p, p + 1 < end ? p[1] : '\0');
        else if (*p != ':')
            end_word(w);
    }
}

void rs_kernel_words(const char *name, size_t length, char out[RS_KERNEL_WORDS])
{
    words w = {.text = out};
    const char *end = name + (length < LONGEST ? length : LONGEST);
    if (length > 2 && memcmp(name, "_Z", 2) == 0)
        read_mangled(&w, name + 2, end);
    else
        read_plain(&w, name, end);
    while (w.n && (out[w.n - 1] == '_' || out[w.n - 1] == ':')) w.n--;
    out[w.n] = '\0';
}

bool rs_words_have(const char *text, const char *wanted)
{
    size_t n = strlen(wanted);
    for (const char *at = text; (at = strstr(at, wanted)) != NULL; at++) {
        bool begins = at == text || at[-1] == '_' || at[-1] == ':';
        bool ends = at[n] == '\0' || at[n] == '_' || at[n] == ':';
        if (begins && ends) return true;
    }
    return false;
}
