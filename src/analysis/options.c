/* Option values: parsed and checked once, read by name. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/ranges.h"
#include "base/strings.h"
#include "base/suggest.h"
#include "analysis/analysis.h"
#include "text/numbers.h"

typedef struct value {
    bool set;   /* by the user, not by the fallback */
    char *text; /* as given; NULL when unset without a fallback */
    int64_t number;
    double real;
    rs_ranges ranges;
} value;

struct rs_options {
    const rs_option_spec *specs;
    size_t n;
    value *values;
};

static void clear_value(value *v)
{
    rs_free(v->text);
    rs_ranges_clear(&v->ranges);
    *v = (value){0};
}

static bool is_choice(const char *choices, const char *word)
{
    size_t n = strlen(word);
    for (const char *c = choices; n && c;) {
        const char *end = strchr(c, '|');
        size_t m = end ? (size_t)(end - c) : strlen(c);
        if (m == n && memcmp(c, word, n) == 0) return true;
        c = end ? end + 1 : NULL;
    }
    return false;
}

static rs_status refuse_choice(const rs_option_spec *spec, const char *text, rs_error *err)
{
    char words[256], nearest[64] = "";
    unsigned best = 3;
    size_t used = 0;
    words[0] = '\0';
    for (const char *c = spec->choices; c;) {
        const char *end = strchr(c, '|');
        int m = end ? (int)(end - c) : (int)strlen(c);
        char word[64];
        snprintf(word, sizeof word, "%.*s", m, c);
        unsigned distance = rs_word_distance(text, word, 2);
        if (distance < best) {
            best = distance;
            snprintf(nearest, sizeof nearest, "%s", word);
        }
        int n = snprintf(words + used, sizeof words - used, "%s%s", used ? ", " : "", word);
        if (n > 0 && (size_t)n < sizeof words - used) used += (size_t)n;
        c = end ? end + 1 : NULL;
    }
    if (nearest[0])
        return rs_fail(err, RS_ERR_USAGE, "--%s takes one of %s, not \"%.60s\"; did you mean %s?", spec->name,
                       words, text, nearest);
    return rs_fail(err, RS_ERR_USAGE, "--%s takes one of %s, not \"%.60s\"", spec->name, words, text);
}

static rs_status parse_value(const rs_option_spec *spec, const char *text, value *v, rs_error *err)
{
    const char *end;
    switch (spec->type) {
    case RS_OPTION_FLAG:
    case RS_OPTION_TEXT:
    case RS_OPTION_LIST:
    case RS_OPTION_LINES: return RS_OK;
    case RS_OPTION_INT:
        if (rs_parse_whole(text, &v->number, &end) && !*end) return RS_OK;
        return rs_fail(err, RS_ERR_USAGE, "--%s takes a whole number, not \"%.60s\"", spec->name, text);
    case RS_OPTION_REAL:
        if (rs_parse_real(text, strlen(text), &v->real)) return RS_OK;
        return rs_fail(err, RS_ERR_USAGE, "--%s takes a number, not \"%.60s\"", spec->name, text);
    case RS_OPTION_CHOICE: return is_choice(spec->choices, text) ? RS_OK : refuse_choice(spec, text, err);
    case RS_OPTION_RANGES: {
        rs_status status = rs_ranges_parse(text, &v->ranges, err);
        if (status != RS_OK) rs_error_wrap(err, "--%s", spec->name);
        return status;
    }
    }
    return rs_fail(err, RS_ERR_USAGE, "--%s is of no known type", spec->name);
}

/* NULL when out of memory. */
static char *join(const char *list, const char *more, char between)
{
    size_t n = strlen(list), m = strlen(more);
    char *both = rs_malloc(n + m + 2);
    if (!both) return NULL;
    memcpy(both, list, n);
    both[n] = between;
    memcpy(both + n + 1, more, m + 1);
    return both;
}

/* Replaces a value, or adds to a list; the old one stays when the text is refused. */
static rs_status assign(const rs_option_spec *spec, const char *text, value *v, rs_error *err)
{
    value fresh = {0};
    bool lines = spec->type == RS_OPTION_LINES;
    bool adds = (spec->type == RS_OPTION_LIST || lines) && v->set && v->text && text;
    if (text && !(fresh.text = adds ? join(v->text, text, lines ? '\n' : ',') : rs_strdup(text)))
        return rs_fail_nomem(err, "an option");
    rs_status status = spec->type == RS_OPTION_FLAG ? RS_OK : parse_value(spec, text, &fresh, err);
    if (status != RS_OK) {
        clear_value(&fresh);
        return status;
    }
    clear_value(v);
    *v = fresh;
    return RS_OK;
}

rs_status rs_options_create(const rs_option_spec *specs, size_t n, rs_options **out, rs_error *err)
{
    *out = NULL;
    rs_options *options = rs_calloc(1, sizeof *options);
    value *values = rs_calloc(n, sizeof *values);
    if (!options || !values) {
        rs_free_all(options, values);
        return rs_fail_nomem(err, "the options");
    }
    *options = (rs_options){.specs = specs, .n = n, .values = values};
    rs_status status = RS_OK;
    for (size_t i = 0; status == RS_OK && i < n; i++) {
        if (!specs[i].fallback || specs[i].type == RS_OPTION_FLAG) continue;
        status = assign(&specs[i], specs[i].fallback, &values[i], err);
        if (status == RS_ERR_USAGE) rs_error_wrap(err, "the default of --%s", specs[i].name);
    }
    if (status == RS_OK)
        *out = options;
    else
        rs_options_free(options);
    return status;
}

void rs_options_free(rs_options *options)
{
    if (!options) return;
    for (size_t i = 0; options->values && i < options->n; i++) clear_value(&options->values[i]);
    rs_free_all(options->values, options);
}

static size_t find(const rs_options *options, const char *name)
{
    for (size_t i = 0; i < options->n; i++)
        if (strcmp(options->specs[i].name, name) == 0) return i;
    return SIZE_MAX;
}

rs_status rs_options_set(rs_options *options, const char *name, const char *text, rs_error *err)
{
    size_t at = find(options, name);
    if (at == SIZE_MAX) {
        rs_suggestion nearest = {0};
        for (size_t i = 0; i < options->n; i++) rs_suggest_from(&nearest, name, options->specs[i].name);
        if (nearest.best)
            return rs_fail(err, RS_ERR_USAGE, "there is no option --%.60s; did you mean --%s?", name,
                           nearest.best);
        return rs_fail(err, RS_ERR_USAGE, "there is no option --%.60s", name);
    }
    const rs_option_spec *spec = &options->specs[at];
    if (spec->type == RS_OPTION_FLAG && text) return rs_fail(err, RS_ERR_USAGE, "--%s takes no value", name);
    if (spec->type != RS_OPTION_FLAG && !text)
        return rs_fail(err, RS_ERR_USAGE, "--%s needs a value: --%s %s", name, name,
                       spec->metavar ? spec->metavar : "VALUE");
    rs_status status = assign(spec, text, &options->values[at], err);
    if (status == RS_OK) options->values[at].set = true;
    return status;
}

/* Reading an unknown name is a programming error; it reads as unset. */
static const value *get(const rs_options *options, const char *name)
{
    static const value unset;
    size_t at = options ? find(options, name) : SIZE_MAX;
    return at == SIZE_MAX ? &unset : &options->values[at];
}

bool rs_options_has(const rs_options *options, const char *name)
{
    for (size_t i = 0; i < options->n; i++)
        if (strcmp(options->specs[i].name, name) == 0) return true;
    return false;
}

bool rs_options_is_set(const rs_options *options, const char *name)
{
    return get(options, name)->set;
}

bool rs_options_flag(const rs_options *options, const char *name)
{
    return get(options, name)->set;
}

int64_t rs_options_int(const rs_options *options, const char *name)
{
    return get(options, name)->number;
}

double rs_options_real(const rs_options *options, const char *name)
{
    return get(options, name)->real;
}

const char *rs_options_text(const rs_options *options, const char *name)
{
    return get(options, name)->text;
}

bool rs_options_in_ranges(const rs_options *options, const char *name, int64_t number)
{
    const value *v = get(options, name);
    return !v->text || rs_ranges_has(&v->ranges, number);
}

uint64_t rs_options_fingerprint(const rs_options *options)
{
    uint64_t h = rs_hash_u64(options->n);
    for (size_t i = 0; i < options->n; i++) {
        const value *v = &options->values[i];
        h = rs_hash_u64(h ^ rs_hash_bytes(options->specs[i].name, strlen(options->specs[i].name)));
        h = rs_hash_u64(h ^ (uint64_t)v->set);
        if (v->text) h = rs_hash_u64(h ^ rs_hash_bytes(v->text, strlen(v->text)));
    }
    return h;
}
