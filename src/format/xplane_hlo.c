/* What the HLO text of a collective says: XLA's text format (xla/hlo/parser), as TPUs have it for the names of their operators. */
#include <string.h>

#include "base/ascii.h"
#include "base/interval.h"
#include "format/xplane.h"

#define MOST_GROUPS 160 /* bytes of a text of groups: longer ones are cut */

/* XLA's primitive types as PyTorch calls them. */
static const struct {
    const char *xla, *torch;
} types[] = {
    {"f32", "Float"},
    {"bf16", "BFloat16"},
    {"f16", "Half"},
    {"f64", "Double"},
    {"s32", "Int"},
    {"s64", "Long"},
    {"s16", "Short"},
    {"s8", "Char"},
    {"u8", "Byte"},
    {"u16", "UInt16"},
    {"u32", "UInt32"},
    {"u64", "UInt64"},
    {"pred", "Bool"},
    {"f8e5m2", "Float8_e5m2"},
    {"f8e4m3fn", "Float8_e4m3fn"},
    {"c64", "ComplexFloat"},
    {"c128", "ComplexDouble"},
};

/* Kinds, and those of them that only begin one. */
static const char *const kinds[] = {"all-reduce",          "all-gather",        "reduce-scatter",
                                    "all-to-all",          "ragged-all-to-all", "collective-permute",
                                    "collective-broadcast"};

static bool at_is(const rs_pb *m, char c)
{
    return m->at < m->end && *m->at == (uint8_t)c;
}

static bool follows(const rs_pb *m, const char *word)
{
    size_t n = strlen(word);
    return rs_pb_length(*m) >= n && memcmp(m->at, word, n) == 0;
}

static bool is_of_word(uint8_t c)
{
    return rs_is_digit((char)c) || (c >= 'a' && c <= 'z') || c == '_' || c == '-';
}

static rs_pb word(rs_pb *m)
{
    rs_pb w = {m->at, m->at};
    while (m->at < m->end && is_of_word(*m->at)) m->at++;
    w.end = m->at;
    return w;
}

static int64_t number(rs_pb *m)
{
    int64_t n = 0;
    for (; m->at < m->end && rs_is_digit((char)*m->at); m->at++)
        n = n > INT64_MAX / 16 ? INT64_MAX / 16 : n * 10 + (*m->at - '0');
    return n;
}

/* The elements of shapes, and the type of the first. */
typedef struct shapes {
    int64_t elements;
    const char *dtype;
    size_t n;
} shapes;

/* "[5,1024]" after a type. */
static void take_shape(rs_pb type, rs_pb *m, shapes *out)
{
    int64_t elements = 1, times;
    for (m->at++; m->at < m->end && *m->at != ']';) {
        if (!rs_is_digit((char)*m->at)) {
            m->at++; /* a comma, or "<=" of a bounded dimension */
            continue;
        }
        times = number(m);
        elements = times && elements > INT64_MAX / times ? INT64_MAX : elements * times;
    }
    for (size_t i = 0; !out->n && i < sizeof types / sizeof *types; i++)
        if (rs_pb_length(type) == strlen(types[i].xla) &&
            memcmp(type.at, types[i].xla, rs_pb_length(type)) == 0)
            out->dtype = types[i].torch;
    out->elements = rs_add_sat(out->elements, elements);
    out->n++;
}

/* One shape or a list in parentheses; layouts, names and comments are skipped. */
static shapes take_shapes(rs_pb *m)
{
    shapes out = {0};
    size_t depth = 0, braces = 0;
    while (m->at < m->end) {
        uint8_t c = *m->at;
        rs_pb w = {m->at, m->at};
        if (!braces && is_of_word(c)) w = word(m);
        bool shape = rs_pb_length(w) && at_is(m, '[');
        if (shape)
            take_shape(w, m, &out);
        else if (rs_pb_length(w))
            continue;
        if (m->at == m->end) break;
        c = *m->at++;
        braces += c == '{';
        if (c == '}' && braces) braces--;
        if (!braces) depth += c == '(';
        if (!braces && c == ')' && depth) depth--;
        bool ends = !braces && !depth && (c == ')' || ((shape || c == '}') && !at_is(m, '{')));
        if (ends) break;
    }
    return out;
}

/* The value of "NAME=" in what follows the operands: up to the comma that is in no brackets. */
static rs_pb attribute(rs_pb m, const char *name)
{
    size_t n = strlen(name), depth = 0;
    while (m.at < m.end && !follows(&m, name)) m.at++;
    rs_pb value = {m.at, m.at};
    if (m.at == m.end) return value;
    value.at = value.end = m.at + n;
    for (; value.end < m.end; value.end++) {
        uint8_t c = *value.end;
        if (c == ',' && !depth) break;
        depth += c == '{' || c == '[' || c == '(';
        if ((c == '}' || c == ']' || c == ')') && depth) depth--;
    }
    return value;
}

/* {{0,1},{2,3}}, or [4,2]<=[8]: four groups of two. */
static int64_t members_of(rs_pb groups)
{
    int64_t n = 1;
    if (at_is(&groups, '[')) {
        groups.at++;
        number(&groups);
        if (!at_is(&groups, ',')) return RS_NO_VALUE;
        groups.at++;
        return number(&groups);
    }
    if (!follows(&groups, "{{")) return RS_NO_VALUE; /* {}: all */
    for (groups.at += 2; groups.at < groups.end && *groups.at != '}'; groups.at++) n += *groups.at == ',';
    return n;
}

bool rs_hlo_collective_read(rs_pb text, rs_hlo_collective *out)
{
    *out = (rs_hlo_collective){.in = RS_NO_VALUE, .out = RS_NO_VALUE, .members = RS_NO_VALUE};
    rs_pb m = text;
    while (m.at < m.end && !follows(&m, " = ")) m.at++;
    if (m.at == m.end) return false;
    m.at += 3;
    shapes result = take_shapes(&m);
    while (at_is(&m, ' ')) m.at++;
    rs_pb kind = word(&m);
    static const char start[] = "-start";
    size_t n = rs_pb_length(kind), k = 0;
    bool starts = n > sizeof start && memcmp(kind.end - sizeof start + 1, start, sizeof start - 1) == 0;
    if (starts) kind.end -= sizeof start - 1;
    n = rs_pb_length(kind);
    while (k < sizeof kinds / sizeof *kinds && (strlen(kinds[k]) != n || memcmp(kinds[k], kind.at, n) != 0))
        k++;
    if (k == sizeof kinds / sizeof *kinds || !at_is(&m, '(')) return false;
    shapes operands = take_shapes(&m);
    out->kind = kind;
    out->dtype = operands.n ? operands.dtype : result.dtype;
    if (operands.n) out->in = operands.elements;
    /* what is begun gives its operands, too */
    bool both = starts && result.n > operands.n && operands.n;
    if (result.n) out->out = both ? rs_sub_sat(result.elements, operands.elements) : result.elements;
    out->groups = attribute(m, "replica_groups=");
    if (!rs_pb_length(out->groups))
        out->groups = attribute(m, "source_target_pairs=");
    else
        out->members = members_of(out->groups);
    if (rs_pb_length(out->groups) > MOST_GROUPS) out->groups.end = out->groups.at + MOST_GROUPS;
    return true;
}
