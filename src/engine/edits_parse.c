/* Questions as people write them. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/suggest.h"
#include "base/try.h"
#include "engine/edits_terms.h"
#include "base/ranges.h"
#include "text/numbers.h"

const char *const rs_edit_assumptions[RS_N_EDITS] = {
    "nothing else moves",
    "ranks do equal work",
    "work is the same on every rank and step of a role",
    "the algorithm of the collective stays",
    "upper bound: which computation needs the result is not known",
    "what is launched between two synchronizations can be captured",
    "data can be there in time",
    "the result is not needed where the call waited",
    "no memory traffic is saved",
    "results are not needed before the last of the merged ones"};

static const char *const edit_names[RS_N_EDITS] = {"scale",   "no-stragglers", "balanced",  "network",
                                                   "overlap", "graphs",        "no-loader", "no-sync",
                                                   "fuse",    "coalesce"};
static const char *const fields[RS_N_FIELDS] = {"name",   "operator",   "class", "part",  "rank", "step",
                                                "stream", "collective", "group", "bytes", "us",   "behind"};
static const char *const classes[] = {"computation", "communication", "memory"};
static const char *const parts[] = {"host", "loader", "launch", "stream_gap"};

void rs_what_if_clear(rs_what_if *q)
{
    for (size_t i = 0; i < q->n; i++) {
        for (size_t k = 0; k < q->edits[i].n_terms; k++) {
            rs_free(q->edits[i].terms[k].text);
            rs_ranges_clear(&q->edits[i].terms[k].ranks);
        }
        rs_free(q->edits[i].terms);
        rs_free(q->edits[i].text);
        rs_free(q->edits[i].other);
    }
    rs_free(q->edits);
    *q = (rs_what_if){0};
}

bool rs_what_if_is_of_steps(const rs_what_if *q)
{
    for (size_t i = 0; i < q->n; i++) {
        bool named = false;
        for (size_t k = 0; k < q->edits[i].n_terms; k++)
            named |= q->edits[i].terms[k].field == RS_FIELD_STEP && q->edits[i].terms[k].op == RS_OP_IS;
        if (!named) return false;
    }
    return q->n > 0;
}

static char *trimmed(const char *text, size_t n)
{
    while (n && *text == ' ') text++, n--;
    while (n && text[n - 1] == ' ') n--;
    return rs_strndup(text, n);
}

/* ---- selectors ----------------------------------------------------------------------------------------- */

static rs_status find_word(const char *what, const char *text, const char *const *words, size_t n,
                           size_t *out, rs_error *err)
{
    rs_suggestion nearest = {0};
    *out = 0;
    for (size_t i = 0; i < n; i++) {
        if (strcmp(words[i], text) == 0) {
            *out = i;
            return RS_OK;
        }
        rs_suggest_from(&nearest, text, words[i]);
    }
    if (nearest.best)
        return rs_fail(err, RS_ERR_USAGE, "there is no %s \"%.60s\"; did you mean %s?", what, text,
                       nearest.best);
    return rs_fail(err, RS_ERR_USAGE, "there is no %s \"%.60s\"", what, text);
}

static const struct {
    const char *sign;
    rs_edit_op op;
} signs[] = {{"!~", RS_OP_NOT_LIKE}, {"!=", RS_OP_NOT}, {"<=", RS_OP_AT_MOST}, {">=", RS_OP_AT_LEAST},
             {"~", RS_OP_LIKE},      {"=", RS_OP_IS},   {"<", RS_OP_BELOW},    {">", RS_OP_ABOVE}};

/* "0-3|8": a comma would part questions. */
static rs_status check_ranks(rs_edit_term *t, rs_error *err)
{
    char *list = rs_strdup(t->text);
    if (!list) return rs_fail_nomem(err, "a selector");
    bool comma = strchr(list, ',') != NULL;
    for (char *c = list; *c; c++)
        if (*c == '|') *c = ',';
    rs_status status = comma ? RS_ERR_USAGE : rs_ranges_parse(list, &t->ranks, NULL);
    rs_free(list);
    if (status != RS_ERR_USAGE) return status == RS_OK ? status : rs_fail_nomem(err, "a selector");
    return rs_fail(err, RS_ERR_USAGE, "rank needs whole numbers such as 5 or 0-3|8, not \"%.60s\"", t->text);
}

static rs_status check_term(rs_edit_term *t, rs_error *err)
{
    const char *end;
    size_t at;
    bool number = t->field == RS_FIELD_RANK || t->field == RS_FIELD_STEP || t->field == RS_FIELD_STREAM ||
                  t->field == RS_FIELD_BYTES || t->field == RS_FIELD_US;
    if (t->field == RS_FIELD_RANK && (t->op == RS_OP_IS || t->op == RS_OP_NOT)) return check_ranks(t, err);
    if (number) {
        if (t->op == RS_OP_LIKE || t->op == RS_OP_NOT_LIKE)
            return rs_fail(err, RS_ERR_USAGE, "%s is a number, it takes = != < <= > >=", fields[t->field]);
        if (!rs_parse_whole(t->text, &t->number, &end) || *end)
            return rs_fail(err, RS_ERR_USAGE, "%s needs a whole number, not \"%.60s\"", fields[t->field],
                           t->text);
        return RS_OK;
    }
    if (t->op >= RS_OP_BELOW)
        return rs_fail(err, RS_ERR_USAGE, "%s is text, it takes = != ~ !~", fields[t->field]);
    if (t->field != RS_FIELD_CLASS && t->field != RS_FIELD_PART) return RS_OK;
    if (t->op != RS_OP_IS) return rs_fail(err, RS_ERR_USAGE, "%s takes = alone", fields[t->field]);
    if (t->field == RS_FIELD_CLASS)
        RS_TRY(find_word("class", t->text, classes, sizeof classes / sizeof *classes, &at, err));
    else
        RS_TRY(find_word("part that can be scaled", t->text, parts, sizeof parts / sizeof *parts, &at, err));
    t->number = (int64_t)at;
    return RS_OK;
}

static rs_status parse_term(rs_edit *e, const char *text, size_t n, rs_error *err)
{
    size_t at = 0, which = SIZE_MAX;
    for (; at < n && which == SIZE_MAX; at++)
        for (size_t k = 0; k < sizeof signs / sizeof *signs; k++)
            if (at + strlen(signs[k].sign) <= n &&
                strncmp(text + at, signs[k].sign, strlen(signs[k].sign)) == 0) {
                which = k;
                break;
            }
    if (which == SIZE_MAX)
        return rs_fail(err, RS_ERR_USAGE, "\"%.*s\" is no term: FIELD OP TEXT, such as name~gemm",
                       (int)(n < 60 ? n : 60), text);
    rs_edit_term t = {.op = signs[which].op};
    size_t behind = at - 1 + strlen(signs[which].sign), field;
    char *name = trimmed(text, at - 1);
    t.text = trimmed(text + behind, n - behind);
    rs_edit_term *grown = rs_realloc(e->terms, (e->n_terms + 1) * sizeof *grown);
    if (grown) e->terms = grown;
    if (!name || !t.text || !grown) {
        rs_free(name);
        rs_free(t.text);
        return rs_fail_nomem(err, "a selector");
    }
    rs_status status = find_word("field", name, fields, RS_N_FIELDS, &field, err);
    rs_free(name);
    t.field = status == RS_OK ? (rs_edit_field)field : RS_FIELD_NAME;
    e->terms[e->n_terms++] = t;
    return status == RS_OK ? check_term(&e->terms[e->n_terms - 1], err) : status;
}

static rs_status parse_selector(rs_edit *e, const char *text, size_t n, rs_error *err)
{
    for (size_t at = 0; at < n;) {
        size_t end = at;
        while (end < n && text[end] != '&') end++;
        RS_TRY(parse_term(e, text + at, end - at, err));
        at = end + 1;
    }
    if (!e->n_terms) return rs_fail(err, RS_ERR_USAGE, "the selector is empty: name what is to be scaled");
    return RS_OK;
}

/* 0.5, 12us, 3ms, 100ns, 1s, none, median */
static rs_status parse_value(rs_edit *e, const char *text, rs_error *err)
{
    static const struct {
        const char *unit;
        double ns;
    } units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
    size_t n = strlen(text);
    e->factor = NAN;
    e->ns = RS_NO_VALUE;
    if (strcmp(text, "none") == 0) {
        e->ns = 0;
        return RS_OK;
    }
    e->median = strcmp(text, "median") == 0;
    if (e->median) return RS_OK;
    if (rs_parse_real(text, n, &e->factor) && e->factor >= 0 && e->factor <= 1e6) return RS_OK;
    e->factor = NAN;
    for (size_t i = 0; i < 4; i++) {
        size_t m = strlen(units[i].unit);
        double value;
        if (n <= m || strcmp(text + n - m, units[i].unit) != 0 || !rs_parse_real(text, n - m, &value))
            continue;
        if (value < 0 || value * units[i].ns > 1e15) break;
        e->ns = (int64_t)(value * units[i].ns + 0.5);
        return RS_OK;
    }
    return rs_fail(err, RS_ERR_USAGE, "\"%.60s\" is no value: a factor (0.5), a time (12us), none or median",
                   text);
}

static rs_status parse_scale(rs_edit *e, const char *text, rs_error *err)
{
    const char *equals = strrchr(text, '=');
    e->kind = RS_EDIT_SCALE;
    if (!equals)
        return rs_fail(err, RS_ERR_USAGE, "\"%.60s\" is not SELECTOR=VALUE, such as name~gemm=0.5", text);
    char *value = trimmed(equals + 1, strlen(equals + 1));
    if (!value) return rs_fail_nomem(err, "a selector");
    rs_status status = parse_value(e, value, err);
    rs_free(value);
    return status == RS_OK ? parse_selector(e, text, (size_t)(equals - text), err) : status;
}

/* ---- edits --------------------------------------------------------------------------------------------- */

static rs_status parse_number(const char *what, const char *text, int64_t *out, rs_error *err)
{
    const char *end;
    if (rs_parse_whole(text, out, &end) && !*end && *out >= 0) return RS_OK;
    return rs_fail(err, RS_ERR_USAGE, "%s: \"%.60s\" is not a whole number", what, text);
}

/* The name is parsed; argument is what stands behind it, without the sign between. */
static rs_status parse_argument(rs_edit *e, char sign, const char *argument, rs_error *err)
{
    const char *name = edit_names[e->kind], *part;
    bool given = *argument != '\0';
    switch (e->kind) {
    case RS_EDIT_SCALE: return parse_scale(e, argument, err);
    case RS_EDIT_NO_STRAGGLERS: return given ? parse_number(name, argument, &e->number, err) : RS_OK;
    case RS_EDIT_NETWORK:
        if (sign == '*' && rs_parse_real(argument, strlen(argument), &e->factor) && e->factor > 0 &&
            e->factor <= 1e6)
            return RS_OK;
        return rs_fail(err, RS_ERR_USAGE, "network needs a factor: network*2");
    case RS_EDIT_OVERLAP:
        if (given && !(e->text = rs_strdup(argument))) return rs_fail_nomem(err, "a question");
        return RS_OK;
    case RS_EDIT_NO_SYNC:
        if (!given) return rs_fail(err, RS_ERR_USAGE, "no-sync needs the name of a call");
        return (e->text = rs_strdup(argument)) ? RS_OK : rs_fail_nomem(err, "a question");
    case RS_EDIT_FUSE:
    case RS_EDIT_COALESCE:
        part = strrchr(argument, e->kind == RS_EDIT_FUSE ? '+' : ':');
        if (!part || part == argument || !part[1])
            return rs_fail(err, RS_ERR_USAGE,
                           e->kind == RS_EDIT_FUSE ? "fuse needs two names: fuse A+B"
                                                   : "coalesce needs GROUP:BYTES");
        e->text = trimmed(argument, (size_t)(part - argument));
        e->other = trimmed(part + 1, strlen(part + 1));
        if (!e->text || !e->other) return rs_fail_nomem(err, "a question");
        return e->kind == RS_EDIT_COALESCE ? parse_number(name, e->other, &e->number, err) : RS_OK;
    default:
        if (given) return rs_fail(err, RS_ERR_USAGE, "%s takes nothing behind it", name);
        return RS_OK;
    }
}

static rs_status parse_edit(const char *text, rs_what_if *q, rs_error *err)
{
    size_t n = strcspn(text, " :*"), which;
    char *name = rs_strndup(text, n);
    if (!name || !RS_GROW_ONE(q->edits, q->n, q->capacity)) {
        rs_free(name);
        return rs_fail_nomem(err, "a question");
    }
    rs_edit *e = &q->edits[q->n++];
    *e = (rs_edit){.factor = NAN, .ns = RS_NO_VALUE, .number = -1};
    rs_status status = find_word("what-if", name, edit_names, RS_N_EDITS, &which, err);
    rs_free(name);
    if (status != RS_OK) return status;
    e->kind = (rs_edit_kind)which;
    char sign = text[n];
    const char *argument = text + n + (sign != '\0');
    while (*argument == ' ') argument++;
    return parse_argument(e, sign, argument, err);
}

rs_status rs_what_if_parse(const char *text, rs_what_if *out, rs_error *err)
{
    *out = (rs_what_if){0};
    while (*text) {
        size_t n = strcspn(text, ";");
        char *one = trimmed(text, n);
        if (!one) return rs_fail_nomem(err, "a question");
        rs_status status = *one ? parse_edit(one, out, err) : RS_OK;
        rs_free(one);
        if (status != RS_OK) return status;
        text += n + (text[n] == ';');
    }
    return out->n ? RS_OK : rs_fail(err, RS_ERR_USAGE, "the question is empty");
}

rs_status rs_what_if_scale(const char *text, rs_what_if *out, rs_error *err)
{
    *out = (rs_what_if){0};
    if (!RS_GROW_ONE(out->edits, out->n, out->capacity)) return rs_fail_nomem(err, "a question");
    out->edits[out->n++] = (rs_edit){.factor = NAN, .ns = RS_NO_VALUE, .number = -1};
    return parse_scale(&out->edits[0], text, err);
}
