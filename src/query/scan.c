#include "query/scan.h"

#include <string.h>

#include "base/ascii.h"

const rs_where_sign *rs_scan_sign(const char *p)
{
    static const rs_where_sign signs[] = {
        {"!=", RS_OP_NE},      {"!~", RS_OP_HAS_NOT}, {"<=", RS_OP_LE}, {">=", RS_OP_GE}, {"==", RS_OP_EQ},
        {"=~", RS_OP_MATCHES}, {"=", RS_OP_EQ},       {"~", RS_OP_HAS}, {"<", RS_OP_LT},  {">", RS_OP_GT}};
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (strncmp(p, signs[i].text, strlen(signs[i].text)) == 0) return &signs[i];
    return NULL;
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

const char *rs_scan_value_end(const char *p, bool in_brackets)
{
    unsigned open = 0;
    const char *comma = NULL;
    for (; *p; p++) {
        if (*p == '(') {
            open++;
        } else if (*p == ')') {
            if (!open && in_brackets) return p;
            if (open) open--;
        } else if (!open && (*p == ',' || rs_scan_ends_value(p))) {
            return p;
        }
        if (*p == ',' && !comma) comma = p;
    }
    return open && comma ? comma : p;
}
