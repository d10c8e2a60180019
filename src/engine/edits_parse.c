/* Questions as people write them, and as they are printed. edits_make.c makes them by hand. */
#include <string.h>

#include "base/ascii.h"
#include "base/real.h"
#include "base/suggest.h"
#include "base/try.h"
#include "engine/edits_terms.h"
#include "text/numbers.h"

static const char *const edit_words[RS_N_EDITS] = {
    "scale", "no-stragglers", "balanced",   "network", "overlap", "graphs",  "no-loader",    "no-sync",
    "fuse",  "coalesce",      "group-size", "payload", "shard",   "experts", "micro-batches"};

static rs_status find_kind(const char *text, size_t n, rs_edit_kind *out, rs_error *err)
{
    rs_suggestion nearest = {0};
    char typed[61] = "";
    memcpy(typed, text, n < 60 ? n : 60);
    for (unsigned i = 0; i < RS_N_EDITS; i++) {
        *out = (rs_edit_kind)i;
        if (strlen(edit_words[i]) == n && memcmp(edit_words[i], text, n) == 0) return RS_OK;
        rs_suggest_from(&nearest, typed, edit_words[i]);
    }
    return rs_fail(err, RS_ERR_USAGE, "there is no what-if \"%s\"%s%s%s", typed,
                   nearest.best ? "; did you mean " : "", nearest.best ? nearest.best : "",
                   nearest.best ? "?" : "");
}

/* ---- values ------------------------------------------------------------------------------------------------- */

/* Where an argument without quotes ends; *n: its length without the blanks after it. */
static const char *argument_end(const char *p, size_t *n)
{
    const char *end = rs_scan_value_end(p, RS_SCAN_NAME);
    for (*n = (size_t)(end - p); *n && rs_is_space(p[*n - 1]);) --*n;
    return end;
}

static rs_status fail_value(const char *text, size_t n, rs_error *err)
{
    return rs_fail(err, RS_ERR_USAGE, "\"%.*s\" is no value: a factor (0.5), a time (12us), none or median",
                   (int)(n < 60 ? n : 60), text);
}

/* 0.5, 12us, 3ms, 100ns, 1s, none, median */
static rs_status parse_value(rs_edit *e, const char **at, rs_error *err)
{
    static const struct {
        const char *unit;
        double ns;
    } units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
    size_t n;
    const char *text = rs_scan_space(*at);
    *at = argument_end(text, &n);
    e->scaling = RS_SCALE_TO;
    e->ns = 0;
    if (n == 4 && memcmp(text, "none", 4) == 0) return RS_OK;
    e->scaling = RS_SCALE_MEDIAN;
    if (n == 6 && memcmp(text, "median", 6) == 0) return RS_OK;
    e->scaling = RS_SCALE_BY;
    if (rs_parse_real(text, n, &e->factor) && e->factor >= 0 && e->factor <= 1e6) return RS_OK;
    e->factor = 0;
    e->scaling = RS_SCALE_TO;
    for (size_t i = 0; i < 4; i++) {
        size_t m = strlen(units[i].unit);
        double value;
        if (n <= m || memcmp(text + n - m, units[i].unit, m) != 0 || !rs_parse_real(text, n - m, &value))
            continue;
        if (value < 0 || value * units[i].ns > RS_EDIT_LONGEST) break;
        e->ns = rs_int_of(value * units[i].ns + 0.5);
        return RS_OK;
    }
    return fail_value(text, n, err);
}

/* What a selector changes, and by how long it takes, must hold for all that it selects. */
static rs_status check_selector(const rs_edit *e, rs_error *err)
{
    uint64_t required = rs_expr_required(e->selector);
    for (size_t i = 0; i < rs_edit_n_terms(e); i++) {
        size_t field = rs_edit_term(e, i)->field;
        if (required >> i & 1 ||
            (field != RS_SELECT_CLASS && field != RS_SELECT_PART && field != RS_SELECT_US))
            continue;
        return rs_fail(err, RS_ERR_USAGE, "%s says what is scaled: \"and\" alone may join it to the others",
                       rs_select_language.fields[field].name);
    }
    return RS_OK;
}

static rs_status parse_scale(rs_edit *e, const char **at, rs_error *err)
{
    const char *text = rs_scan_space(*at);
    e->kind = RS_EDIT_SCALE;
    if (*text == '=' || !*text)
        return rs_fail(err, RS_ERR_USAGE, "the selector is empty: name what is to be scaled");
    RS_TRY(rs_expr_parse_part(at, &rs_select_language, &e->selector, err));
    if (**at != '=')
        return rs_fail(err, RS_ERR_USAGE, "\"%.60s\" is not SELECTOR=VALUE, such as name~gemm=0.5", text);
    ++*at;
    RS_TRY(parse_value(e, at, err));
    return check_selector(e, err);
}

/* ---- names and numbers -------------------------------------------------------------------------------------- */

/* The name's length where it has no quotes. */
typedef size_t (*length_fn)(const char *text, size_t n);

static size_t whole_argument(const char *text, size_t n)
{
    (void)text;
    return n;
}

/* Up to the last + before quotes begin. */
static size_t up_to_plus(const char *text, size_t n)
{
    size_t last = n;
    for (size_t i = 0; i < n; i++) {
        if (text[i] != '+') continue;
        last = i;
        const char *next = rs_scan_space(text + i + 1);
        if (*next == '=') next = rs_scan_space(next + 1);
        if (rs_scan_is_quote(*next)) break;
    }
    return last;
}

static size_t up_to_colon(const char *text, size_t n)
{
    size_t last = n;
    for (size_t i = 0; i < n; i++)
        if (text[i] == ':') last = i;
    return last;
}

static size_t up_to_star(const char *text, size_t n)
{
    size_t last = n;
    for (size_t i = 0; i < n; i++)
        if (text[i] == '*') last = i;
    return last;
}

/* NAME or =NAME, in quotes or not. *at is then after it. */
static rs_status parse_name(rs_edit_name *name, const char **at, length_fn length, rs_error *err)
{
    const char *p = rs_scan_space(*at), *end;
    bool whole = *p == '=';
    if (whole) p = rs_scan_space(p + 1);
    if (rs_scan_is_quote(*p)) {
        size_t n = rs_scan_quoted(p, NULL, &end);
        if (!end) return rs_fail(err, RS_ERR_USAGE, "no closing quote at %.40s", p);
        name->text = rs_malloc(n + 1);
        if (!name->text) return rs_fail_nomem(err, "a question");
        name->n = rs_scan_quoted(p, name->text, &end);
        name->text[n] = '\0';
        name->whole = whole;
        *at = end;
        return RS_OK;
    }
    size_t n;
    argument_end(p, &n);
    n = length(p, n);
    *at = p + n;
    while (n && rs_is_space(p[n - 1])) n--;
    return rs_edit_set_name(name, p, n, whole) ? RS_OK : rs_fail_nomem(err, "a question");
}

static rs_status parse_number(const char *what, const char **at, int64_t *out, rs_error *err)
{
    const char *text = rs_scan_space(*at), *end;
    size_t n;
    *at = argument_end(text, &n);
    if (rs_parse_whole(text, out, &end) && end == text + n && *out >= 0) return RS_OK;
    return rs_fail(err, RS_ERR_USAGE, "%s: \"%.*s\" is not a whole number", what, (int)(n < 60 ? n : 60),
                   text);
}

static bool takes(const char **at, char c)
{
    const char *p = rs_scan_space(*at);
    if (*p != c) return false;
    *at = p + 1;
    return true;
}

/* "/all_to_all", "/others": what follows an axis, by rs_axis_of. */
static const char *const axis_words[RS_N_AXIS_OF] = {"", "/all_to_all", "/others"};

/* @SIZExSTRIDE, with a word after it or not; false: it is none, and *at stays. */
static bool parse_axis(rs_edit *e, const char **at)
{
    const char *p = rs_scan_space(*at), *end;
    if (*p != '@' || !rs_parse_whole(p + 1, &e->axis_size, &end) || *end != 'x' ||
        !rs_parse_whole(end + 1, &e->axis_stride, &end) || e->axis_size < 2 || e->axis_stride < 1) {
        e->axis_size = e->axis_stride = 0;
        return false;
    }
    for (size_t i = 1; i < RS_N_AXIS_OF; i++)
        if (strncmp(end, axis_words[i], strlen(axis_words[i])) == 0) {
            end += strlen(axis_words[i]);
            e->axis_of = (uint8_t)i;
            break;
        }
    *at = end;
    return true;
}

static rs_status parse_payload(rs_edit *e, const char **at, rs_error *err)
{
    size_t n;
    if (!parse_axis(e, at)) RS_TRY(parse_name(&e->name, at, up_to_star, err));
    if (takes(at, '*')) {
        const char *text = rs_scan_space(*at);
        *at = argument_end(text, &n);
        if (rs_parse_real(text, n, &e->factor) && e->factor > 0 && e->factor <= 1e6) return RS_OK;
    }
    return rs_fail(err, RS_ERR_USAGE, "payload needs GROUP*F: payload DATA*0.5");
}

static rs_status parse_pair(rs_edit *e, const char **at, rs_error *err)
{
    const bool fuse = e->kind == RS_EDIT_FUSE, size = e->kind >= RS_EDIT_GROUP_SIZE;
    if (!size || !parse_axis(e, at)) RS_TRY(parse_name(&e->name, at, fuse ? up_to_plus : up_to_colon, err));
    bool parted = takes(at, fuse ? '+' : ':');
    if (parted && fuse) RS_TRY(parse_name(&e->other, at, whole_argument, err));
    if (parted && !fuse && *rs_scan_space(*at)) {
        RS_TRY(parse_number(edit_words[e->kind], at, &e->number, err));
        if (!size || (e->number >= 1 && e->number <= 1000000)) return RS_OK;
    }
    if (parted && fuse && e->name.n && e->other.n) return RS_OK;
    return rs_fail(err, RS_ERR_USAGE,
                   fuse   ? "%s needs two names: fuse A+B"
                   : size ? "%s needs GROUP:N, of 1 member or more"
                          : "%s needs GROUP:BYTES",
                   edit_words[e->kind]);
}

/* ---- edits -------------------------------------------------------------------------------------------------- */

/* The word is read; *at is at its argument, given: there is one. */
static rs_status parse_argument(rs_edit *e, char sign, bool given, const char **at, rs_error *err)
{
    const char *word = edit_words[e->kind], *text = *at;
    size_t n;
    switch (e->kind) {
    case RS_EDIT_SCALE: return parse_scale(e, at, err);
    case RS_EDIT_NO_STRAGGLERS: return given ? parse_number(word, at, &e->number, err) : RS_OK;
    case RS_EDIT_NETWORK:
        *at = argument_end(text, &n);
        if (sign == '*' && rs_parse_real(text, n, &e->factor) && e->factor > 0 && e->factor <= 1e6)
            return RS_OK;
        return rs_fail(err, RS_ERR_USAGE, "network needs a factor: network*2");
    case RS_EDIT_MICRO_BATCHES:
        if (sign == '*' && given) {
            RS_TRY(parse_number(word, at, &e->number, err));
            if (e->number >= 2 && e->number <= 1000) return RS_OK;
        }
        return rs_fail(err, RS_ERR_USAGE, "micro-batches needs a number from 2 on: micro-batches*2");
    case RS_EDIT_OVERLAP: return given ? parse_name(&e->name, at, whole_argument, err) : RS_OK;
    case RS_EDIT_NO_SYNC:
        if (given) return parse_name(&e->name, at, whole_argument, err);
        return rs_fail(err, RS_ERR_USAGE, "no-sync needs the name of a call");
    case RS_EDIT_FUSE:
    case RS_EDIT_GROUP_SIZE:
    case RS_EDIT_SHARD:
    case RS_EDIT_EXPERTS:
    case RS_EDIT_COALESCE: return parse_pair(e, at, err);
    case RS_EDIT_PAYLOAD: return parse_payload(e, at, err);
    default:
        if (given) return rs_fail(err, RS_ERR_USAGE, "%s takes no argument", word);
        return RS_OK;
    }
}

static bool is_end(const char *p)
{
    return !*p || *p == ';' || *p == ',';
}

static rs_status parse_edit(const char **at, rs_what_if *q, rs_error *err)
{
    size_t n = strcspn(*at, " \t\r\n:*;,");
    rs_edit_kind kind;
    RS_TRY(find_kind(*at, n, &kind, err));
    rs_edit *e = rs_what_if_add(q, kind);
    if (!e) return rs_fail_nomem(err, "a question");
    char sign = (*at)[n];
    *at += n + !is_end(*at + n);
    *at = rs_scan_space(*at);
    return parse_argument(e, sign, !is_end(*at), at, err);
}

static rs_status parse_question(const char **at, bool scale, rs_what_if *out, rs_error *err)
{
    if (scale) {
        rs_edit *e = rs_what_if_add(out, RS_EDIT_SCALE);
        return e ? parse_scale(e, at, err) : rs_fail_nomem(err, "a question");
    }
    for (*at = rs_scan_space(*at); **at && **at != ','; *at = rs_scan_space(*at)) {
        if (**at == ';') {
            ++*at;
            continue;
        }
        RS_TRY(parse_edit(at, out, err));
        *at = rs_scan_space(*at);
        if (!is_end(*at)) break;
    }
    return out->n ? RS_OK : rs_fail(err, RS_ERR_USAGE, "the question is empty");
}

rs_status rs_what_if_parse_next(const char **at, bool scale, rs_what_if *out, size_t *n, rs_error *err)
{
    const char *begin = *at;
    *out = (rs_what_if){0};
    RS_TRY(parse_question(at, scale, out, err));
    *at = rs_scan_space(*at);
    if (**at && **at != ',')
        return rs_fail(err, RS_ERR_USAGE, "expected %s the end at \"%.40s\"",
                       scale ? "a comma or" : "; or a comma or", *at);
    *n = (size_t)(*at - begin);
    *at += **at == ',';
    return RS_OK;
}

rs_status rs_what_if_parse(const char *text, rs_what_if *out, rs_error *err)
{
    size_t n;
    RS_TRY(rs_what_if_parse_next(&text, false, out, &n, err));
    return *text ? rs_fail(err, RS_ERR_USAGE, "one question, and not a list: \"%.40s\" is another", text)
                 : RS_OK;
}

/* ---- printing ----------------------------------------------------------------------------------------------- */

static void print_name(const rs_edit_name *name, rs_text *out)
{
    if (name->whole) rs_text_put(out, "=");
    rs_expr_print_text(name->text, name->n, out);
}

static void print_real(double value, rs_text *out)
{
    char digits[RS_NUMBER_SIZE];
    rs_text_add(out, digits, rs_format_real(value, digits));
}

void rs_edit_print_scale(const rs_edit *e, rs_text *out)
{
    char digits[RS_NUMBER_SIZE];
    rs_expr_print(e->selector, out);
    rs_text_put(out, "=");
    if (e->scaling == RS_SCALE_MEDIAN) {
        rs_text_put(out, "median");
    } else if (e->scaling == RS_SCALE_BY) {
        print_real(e->factor, out);
    } else if (!e->ns) {
        rs_text_put(out, "none");
    } else {
        rs_text_add(out, digits, rs_format_time(e->ns, RS_UNIT_US, digits));
        rs_text_put(out, "us");
    }
}

static void print_edit(const rs_edit *e, rs_text *out)
{
    rs_text_put(out, edit_words[e->kind]);
    switch (e->kind) {
    case RS_EDIT_SCALE:
        rs_text_put(out, " ");
        rs_edit_print_scale(e, out);
        break;
    case RS_EDIT_NO_STRAGGLERS:
        if (e->number >= 0) rs_text_printf(out, ":%lld", (long long)e->number);
        break;
    case RS_EDIT_NETWORK:
        rs_text_put(out, "*");
        print_real(e->factor, out);
        break;
    case RS_EDIT_MICRO_BATCHES: rs_text_printf(out, "*%lld", (long long)e->number); break;
    case RS_EDIT_OVERLAP:
        if (!e->name.text) break;
        rs_text_put(out, ":");
        print_name(&e->name, out);
        break;
    case RS_EDIT_NO_SYNC:
    case RS_EDIT_FUSE:
    case RS_EDIT_COALESCE:
    case RS_EDIT_GROUP_SIZE:
    case RS_EDIT_PAYLOAD:
    case RS_EDIT_SHARD:
    case RS_EDIT_EXPERTS:
        rs_text_put(out, " ");
        if (e->axis_size)
            rs_text_printf(out, "@%lldx%lld%s", (long long)e->axis_size, (long long)e->axis_stride,
                           axis_words[e->axis_of]);
        else
            print_name(&e->name, out);
        if (e->kind == RS_EDIT_FUSE) {
            rs_text_put(out, "+");
            print_name(&e->other, out);
        }
        if (e->kind == RS_EDIT_PAYLOAD) {
            rs_text_put(out, "*");
            print_real(e->factor, out);
        } else if (e->kind >= RS_EDIT_COALESCE) {
            rs_text_printf(out, ":%lld", (long long)e->number);
        }
        break;
    default: break;
    }
}

void rs_what_if_print(const rs_what_if *q, rs_text *out)
{
    for (size_t i = 0; i < q->n; i++) {
        if (i) rs_text_put(out, "; ");
        print_edit(&q->edits[i], out);
    }
}
