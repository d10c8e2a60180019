/* The contract of every command, whatever its input was. */
#include <jansson.h>

#include "soak.h"

#define MOST_LINES 300 /* of messages: many of one kind are one line */

/* A terminal must not obey what stood in a file. */
static bool has_control(const text *t)
{
    for (size_t i = 0; i < t->n; i++) {
        unsigned char c = (unsigned char)t->s[i];
        if ((c < 0x20 && c != '\n' && c != '\t') || c == 0x7f) return true;
        if (c == 0xc2 && i + 1 < t->n && (unsigned char)t->s[i + 1] < 0xa0) return true;
    }
    return false;
}

static size_t lines(const text *t)
{
    size_t n = 0;
    for (size_t i = 0; i < t->n; i++) n += t->s[i] == '\n';
    return n;
}

static bool is_same(const said *a, const said *b)
{
    return a->code == b->code && a->out.n == b->out.n && a->err.n == b->err.n &&
           (!a->out.n || memcmp(a->out.s, b->out.s, a->out.n) == 0) &&
           (!a->err.n || memcmp(a->err.s, b->err.s, a->err.n) == 0);
}

static const char *judge_json(const char *command, const said *s)
{
    if (!s->out.n) return s->code == 0 ? "says nothing with exit 0" : NULL;
    json_error_t error;
    json_t *top = json_loadb(s->out.s, s->out.n, JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
    if (!top) return "writes JSON that is none";
    const char *verdict = json_string_value(json_object_get(top, "verdict"));
    /* What a server's pages show is no entry of a dump. */
    const char *summary = json_string_value(json_object_get(top, "summary"));
    bool pages = summary && (strstr(summary, "stacks") || strstr(summary, "snapshot"));
    /* A dump of what is open alone has no entries when all is done: it counts what each group has completed. */
    bool idle = json_object_get(json_object_get(top, "shapes"), "active_only") != NULL;
    bool claims = !pages && !idle && strncmp(command, "flight", 6) == 0 && verdict &&
                  strcmp(verdict, "healthy") == 0 && s->code == 0 &&
                  json_integer_value(json_object_get(top, "entries")) == 0 &&
                  json_integer_value(json_object_get(top, "groups")) == 0;
    json_decref(top);
    return claims ? "calls a job healthy of which it read nothing" : NULL;
}

/* The output form: what the last --format says. */
static bool has_form(const char *command, const char *forms)
{
    const char *last = NULL;
    for (const char *at = command; (at = strstr(at, "--format")); at++) last = at + strlen("--format") + 1;
    if (!last) return false;
    size_t n = strcspn(last, " ");
    for (const char *f = forms; *f; f += strcspn(f, "|"), f += *f == '|')
        if (n == strcspn(f, "|") && strncmp(f, last, n) == 0) return true;
    return false;
}

const char *soak_judge(const char *command, const said *first, const said *again)
{
    /* other words than the answer's, or none */
    bool to_file = strstr(command, "--output") || strstr(command, " -o") || strstr(command, "--save") ||
                   strstr(command, "--help"),
         json = has_form(command, "json") && !to_file;
    bool as_is =
        has_form(command, "csv|tsv|jsonl|arrow|arrows|parquet|xlsx|png|svg|html|pftrace|collapsed") ||
        strstr(command, "--color=always");
    if (first->code < 0 || first->code > 4) return "ends with a code that there is not";
    bool flight = strncmp(command, "flight", 6) == 0;
    if (first->code >= 2 && !first->err.n && !(flight && first->out.n)) return "fails without a word";
    bool second = strstr(command, "--overlay") ||
                  strstr(command, "--page"); /* an output that fails behind the answer */
    if (first->code == 3 && first->out.n && !json && !second && strncmp(command, "chakra", 6) != 0 && !flight)
        return "answers what it could not read";
    if (has_control(&first->err)) return "lets control characters through to standard error";
    if (lines(&first->err) > MOST_LINES) return "floods standard error";
    if (!as_is && !strstr(command, "print") && has_control(&first->out))
        return "lets control characters through";
    if (json) {
        const char *broken = judge_json(command, first);
        if (broken) return broken;
    }
    return is_same(first, again) ? NULL : "says something else the second time";
}
