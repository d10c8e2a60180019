#include "query/scan.h"

#include <string.h>

#include "base/ascii.h"
#include "text/numbers.h"

static const rs_where_sign signs[] = {
    {"!=", RS_OP_NE},      {"!~", RS_OP_HAS_NOT}, {"<=", RS_OP_LE}, {">=", RS_OP_GE}, {"==", RS_OP_EQ},
    {"=~", RS_OP_MATCHES}, {"=", RS_OP_EQ},       {"~", RS_OP_HAS}, {"<", RS_OP_LT},  {">", RS_OP_GT}};

const rs_where_sign *rs_scan_sign(const char *p)
{
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (strncmp(p, signs[i].text, strlen(signs[i].text)) == 0) return &signs[i];
    return NULL;
}

const char *rs_scan_text_of(rs_where_op op)
{
    const char *text = "";
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (signs[i].op == op) text = signs[i].text; /* the last: = and not == */
    return text;
}

const char *rs_scan_space(const char *p)
{
    while (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r') p++;
    return p;
}

bool rs_scan_is_word(char c)
{
    return rs_is_alnum(c) || c == '_';
}

size_t rs_scan_word(const char *p, const char *word)
{
    size_t n = strlen(word);
    for (size_t i = 0; i < n; i++)
        if ((p[i] | 0x20) != word[i]) return 0;
    return rs_scan_is_word(p[n]) ? 0 : n;
}

bool rs_scan_take_word(const char **p, const char *word, const char *sign)
{
    const char *begin = rs_scan_space(*p);
    size_t n = rs_scan_word(begin, word);
    if (!n && sign && strncmp(begin, sign, strlen(sign)) == 0) n = strlen(sign);
    if (n) *p = begin + n;
    return n > 0;
}

bool rs_scan_take_char(const char **p, char c)
{
    const char *begin = rs_scan_space(*p);
    if (*begin != c) return false;
    *p = begin + 1;
    return true;
}

bool rs_scan_ends_value(const char *p)
{
    const char *q = rs_scan_space(p);
    return q > p && (rs_scan_word(q, "and") || rs_scan_word(q, "or") || strncmp(q, "&&", 2) == 0 ||
                     strncmp(q, "||", 2) == 0);
}

/* Whether the = at p is the last one of an edit. */
static bool is_before_value(const char *p)
{
    return p[1 + strcspn(p + 1, "=,;")] != '=';
}

static bool ends_here(const char *p, unsigned where)
{
    switch (*p) {
    case ',': return true;
    case ';': return where & (RS_SCAN_SELECTOR | RS_SCAN_NAME);
    case '&': return where & RS_SCAN_SELECTOR;
    case '=': return (where & RS_SCAN_EDIT) && is_before_value(p);
    default: return !(where & RS_SCAN_NAME) && rs_scan_ends_value(p);
    }
}

/* brackets: those in it hold it together. NULL: one never closes. */
static const char *find_end(const char *p, unsigned where, bool brackets)
{
    size_t open = 0;
    for (; *p; p++) {
        if (*p == '(' && brackets) {
            open++;
        } else if (*p == ')' && open) {
            open--;
        } else if (!open && ((*p == ')' && (where & RS_SCAN_BRACKETS)) || ends_here(p, where))) {
            return p;
        } else if (rs_scan_space(p) > p) {
            p = rs_scan_space(p) - 1; /* a run of blanks is looked at once */
        }
    }
    return open ? NULL : p;
}

const char *rs_scan_value_end(const char *p, unsigned where)
{
    const char *end = find_end(p, where, true);
    return end ? end : find_end(p, where, false);
}

size_t rs_scan_quoted(const char *p, char *out, const char **end)
{
    char quote = *p++;
    size_t n = 0;
    for (; *p && *p != quote; p++) {
        char c = *p;
        if (c == '\\' && (p[1] == quote || p[1] == '\\')) {
            c = *++p;
        } else if (c == '\\' && p[1] == 'x' && rs_hex_digit(p[2]) >= 0 && rs_hex_digit(p[3]) >= 0) {
            c = (char)(rs_hex_digit(p[2]) * 16 + rs_hex_digit(p[3]));
            p += 3;
        }
        if (out) out[n] = c;
        n++;
    }
    *end = *p ? p + 1 : NULL;
    return n;
}

bool rs_scan_number(const char *text, size_t n, bool in_list, rs_scanned *out)
{
    while (n && rs_is_space(text[n - 1])) n--;
    out->percent = n && text[n - 1] == '%';
    n -= out->percent;
    while (n && rs_is_space(text[n - 1])) n--;
    bool number = rs_parse_real(text, n, &out->first);
    out->last = out->first;
    for (size_t i = 1; in_list && !number && i + 1 < n; i++)
        number = text[i] == '-' && rs_parse_real(text, i, &out->first) &&
                 rs_parse_real(text + i + 1, n - i - 1, &out->last);
    return number;
}
