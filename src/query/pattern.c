/* Regular expressions over texts of a trace: rankscope/where.h. */
#include <regex.h>
#include <string.h>

#include "base/ascii.h"
#include "base/memory.h"
#include "rankscope/where.h"
#include "text/locale.h"

#define MOST_DEPTH 64 /* groups in each other */

struct rs_pattern {
    regex_t regex;
    double size; /* characters once its repetitions are written out */
};

/* ---- what a pattern grows to -------------------------------------------------------------------------------- */

/* The C library writes repetitions out when it compiles, a{9}{9}{9} as 729 of a, and a++++ as 16. */
#define MOST_WRITTEN_OUT 20000

/* The place after a bracket expression "[...]" that begins at p. */
static const char *after_set(const char *p)
{
    p += p[1] == '^' ? 2 : 1;
    if (*p == ']') p++;
    while (*p && *p != ']') {
        char kind = p[0] == '[' ? p[1] : '\0';
        if (kind == ':' || kind == '.' || kind == '=') {
            for (p += 2; *p && !(p[0] == kind && p[1] == ']');) p++;
            if (*p) p++;
        }
        if (*p) p++;
    }
    return *p ? p + 1 : p;
}

/* How often a repetition "{n,m}" at p repeats; *p is moved to its end. */
static double times_of(const char **p)
{
    double n = 0, most = 1;
    for (++*p; **p && **p != '}'; ++*p) {
        n = rs_is_digit(**p) ? 10 * n + (**p - '0') : 0;
        if (n > most) most = n;
    }
    return most;
}

/* About how many characters a pattern is once its repetitions are written out. */
static double written_out(const char *p)
{
    double sum[MOST_DEPTH + 1] = {0}, last[MOST_DEPTH + 1] = {0}; /* of each open group; of its last atom */
    size_t depth = 0;
    for (; *p; p++) {
        double factor = 0;
        if (*p == '*' || *p == '?') factor = 1;
        if (*p == '+') factor = 2;
        if (*p == '{') factor = times_of(&p);
        if (factor > 0) {
            sum[depth] += last[depth] * (factor - 1);
            last[depth] *= factor;
        } else if (*p == '(' && depth < MOST_DEPTH) {
            depth++;
            sum[depth] = last[depth] = 0;
        } else if (*p == ')' && depth) {
            last[depth - 1] = sum[depth] + 1;
            sum[depth - 1] += last[depth - 1];
            depth--;
        } else {
            if (*p == '[') p = after_set(p) - 1;
            if (*p == '\\' && p[1]) p++;
            last[depth] = 1;
            sum[depth]++;
        }
        if (!*p) break;
    }
    for (; depth; depth--) sum[depth - 1] += sum[depth];
    return sum[0];
}

#define MOST_ASSERTIONS 8

/* The C library's time and memory grow exponentially with places that are conditions on their neighbours, as \b, and with references
 * to groups, as \1, which are no part of extended regular expressions. */
static size_t assertions(const char *p)
{
    size_t n = 0;
    for (; *p; p++) {
        if (*p == '[') p = after_set(p) - 1;
        if (*p != '\\' || !p[1]) continue;
        p++;
        n += rs_is_digit(*p) ? MOST_ASSERTIONS + 1 : strchr("bB<>`'", *p) != NULL;
    }
    return n;
}

static size_t depth_of(const char *p)
{
    size_t depth = 0, deepest = 0;
    for (; *p; p++) {
        if (*p == '(' && ++depth > deepest) deepest = depth;
        if (*p == ')' && depth) depth--;
    }
    return deepest;
}

rs_status rs_pattern_compile(const char *text, rs_pattern **out, rs_error *err)
{
    rs_locale locale;
    char why[120];
    *out = NULL;
    if (depth_of(text) > MOST_DEPTH || written_out(text) > MOST_WRITTEN_OUT)
        return rs_fail(err, RS_ERR_USAGE,
                       "\"%.80s\" is too large a regular expression with its repetitions written out", text);
    if (assertions(text) > MOST_ASSERTIONS)
        return rs_fail(err, RS_ERR_USAGE,
                       "\"%.80s\" refers to groups, or has more than %d of \\b, \\B, \\<, \\>", text,
                       MOST_ASSERTIONS);
    rs_pattern *p = rs_calloc(1, sizeof *p);
    if (!p) return rs_fail_nomem(err, "regular expression");
    bool entered = rs_locale_enter(&locale, "C");
    int failed = regcomp(&p->regex, text, REG_EXTENDED | REG_NOSUB);
    if (entered) rs_locale_leave(&locale);
    p->size = written_out(text);
    if (!failed) {
        *out = p;
        return RS_OK;
    }
    regerror(failed, &p->regex, why, sizeof why);
    rs_free(p);
    if (failed == REG_ESPACE) return rs_fail_nomem(err, "regular expression");
    return rs_fail(err, RS_ERR_USAGE, "\"%.80s\" is no regular expression: %s", text, why);
}

/* A regular expression looks at this much of a text: its cost must not depend on what a file holds. */
#define MAX_MATCHED 65536

#ifdef REG_STARTEND
/* n bytes, whatever they are. */
static bool found_in(const regex_t *regex, const char *text, size_t n)
{
    regmatch_t all = {.rm_so = 0, .rm_eo = (regoff_t)n};
    return regexec(regex, text, 1, &all, REG_STARTEND) == 0;
}
#else
/* This C library (musl) takes terminated texts alone: a copy, in which bytes of value 0 are of value 1. */
static bool found_in(const regex_t *regex, const char *text, size_t n)
{
    char copy[MAX_MATCHED + 1];
    for (size_t i = 0; i < n; i++) copy[i] = text[i] ? text[i] : 1;
    copy[n] = 0;
    return regexec(regex, copy, 0, NULL, 0) == 0;
}
#endif

#define MOST_WORK 2e8 /* about 0.1 s */

/* A new state of the C library's automaton takes the square of the pattern's size, and each byte of a text can need one. */
bool rs_pattern_is_quick(const rs_pattern *p, size_t n)
{
    return p->size * p->size * (double)(n < MAX_MATCHED ? n : MAX_MATCHED) <= MOST_WORK;
}

bool rs_pattern_matches(const rs_pattern *p, const char *text, size_t n)
{
    rs_locale locale;
    bool entered = rs_locale_enter(&locale, "C");
    bool found = found_in(&p->regex, text, n < MAX_MATCHED ? n : MAX_MATCHED);
    if (entered) rs_locale_leave(&locale);
    return found;
}

void rs_pattern_free(rs_pattern *p)
{
    if (!p) return;
    regfree(&p->regex);
    rs_free(p);
}
