#include "text/utf8.h"

#include <string.h>

#include "base/search.h"
#include "rankscope/text.h"

typedef struct range {
    uint32_t first, last;
} range;

/* Unicode's East Asian Width W and F and emoji presentation, joined to blocks. */
static const range wide[] = {
    {0x1100, 0x115F},   {0x231A, 0x231B},   {0x2329, 0x232A},   {0x23E9, 0x23EC},   {0x23F0, 0x23F0},
    {0x23F3, 0x23F3},   {0x25FD, 0x25FE},   {0x2614, 0x2615},   {0x2648, 0x2653},   {0x267F, 0x267F},
    {0x2693, 0x2693},   {0x26A1, 0x26A1},   {0x26AA, 0x26AB},   {0x26BD, 0x26BE},   {0x26C4, 0x26C5},
    {0x26CE, 0x26CE},   {0x26D4, 0x26D4},   {0x26EA, 0x26EA},   {0x26F2, 0x26F3},   {0x26F5, 0x26F5},
    {0x26FA, 0x26FA},   {0x26FD, 0x26FD},   {0x2705, 0x2705},   {0x270A, 0x270B},   {0x2728, 0x2728},
    {0x274C, 0x274C},   {0x274E, 0x274E},   {0x2753, 0x2755},   {0x2757, 0x2757},   {0x2795, 0x2797},
    {0x27B0, 0x27B0},   {0x27BF, 0x27BF},   {0x2B1B, 0x2B1C},   {0x2B50, 0x2B50},   {0x2B55, 0x2B55},
    {0x2E80, 0x303E},   {0x3041, 0x3247},   {0x3250, 0x4DBF},   {0x4E00, 0xA4C6},   {0xA960, 0xA97C},
    {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},   {0xFE10, 0xFE19},   {0xFE30, 0xFE6B},   {0xFF01, 0xFF60},
    {0xFFE0, 0xFFE6},   {0x16FE0, 0x18AFF}, {0x1B000, 0x1B2FB}, {0x1F004, 0x1F004}, {0x1F0CF, 0x1F0CF},
    {0x1F18E, 0x1F18E}, {0x1F191, 0x1F19A}, {0x1F200, 0x1F320}, {0x1F32D, 0x1F335}, {0x1F337, 0x1F37C},
    {0x1F37E, 0x1F393}, {0x1F3A0, 0x1F3CA}, {0x1F3CF, 0x1F3D3}, {0x1F3E0, 0x1F3F0}, {0x1F3F4, 0x1F3F4},
    {0x1F3F8, 0x1F43E}, {0x1F440, 0x1F440}, {0x1F442, 0x1F4FC}, {0x1F4FF, 0x1F53D}, {0x1F54B, 0x1F54E},
    {0x1F550, 0x1F567}, {0x1F57A, 0x1F57A}, {0x1F595, 0x1F596}, {0x1F5A4, 0x1F5A4}, {0x1F5FB, 0x1F64F},
    {0x1F680, 0x1F6C5}, {0x1F6CC, 0x1F6CC}, {0x1F6D0, 0x1F6D2}, {0x1F6D5, 0x1F6DF}, {0x1F6EB, 0x1F6EC},
    {0x1F6F4, 0x1F6FC}, {0x1F7E0, 0x1F7F0}, {0x1F90C, 0x1F93A}, {0x1F93C, 0x1F945}, {0x1F947, 0x1F9FF},
    {0x1FA70, 0x1FAFF}, {0x20000, 0x3FFFD},
};

/* Combining marks and invisible characters of the scripts that may meet a kernel's name. */
static const range zero[] = {
    {0x0300, 0x036F}, {0x0483, 0x0489}, {0x0591, 0x05BD}, {0x0610, 0x061A},   {0x064B, 0x065F},
    {0x06D6, 0x06DC}, {0x0E31, 0x0E31}, {0x0E34, 0x0E3A}, {0x0E47, 0x0E4E},   {0x1AB0, 0x1AFF},
    {0x1DC0, 0x1DFF}, {0x200B, 0x200F}, {0x2028, 0x202E}, {0x2060, 0x206F},   {0x20D0, 0x20F0},
    {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}, {0xFEFF, 0xFEFF}, {0xE0001, 0xE007F}, {0xE0100, 0xE01EF},
};

static bool in_ranges(const range *ranges, size_t n, uint32_t code)
{
    size_t low;
    RS_SEARCH(low, n, code > ranges[low].last);
    return low < n && code >= ranges[low].first;
}

/* Columns of a terminal that the character takes: 0 (combining), 1 or 2 (East Asian wide, emoji). */
static unsigned utf8_width(uint32_t code)
{
    if (code < 0x300) return 1;
    if (in_ranges(zero, sizeof zero / sizeof *zero, code)) return 0;
    return in_ranges(wide, sizeof wide / sizeof *wide, code) ? 2 : 1;
}

size_t rs_text_width(const char *text, size_t length)
{
    size_t width = 0;
    for (size_t i = 0; i < length;) {
        uint32_t code = 0;
        size_t n = (unsigned char)text[i] < 0x80 ? 1 : rs_utf8_next(text + i, length - i, &code);
        width += n ? utf8_width(code) : 1;
        i += n ? n : 1;
    }
    return width;
}

size_t rs_text_fitting(const char *text, size_t length, size_t columns)
{
    size_t i = 0, width = 0;
    while (i < length) {
        uint32_t code = 0;
        size_t n = rs_utf8_next(text + i, length - i, &code);
        width += n ? utf8_width(code) : 1;
        if (width > columns) break;
        i += n ? n : 1;
    }
    return i;
}

bool rs_utf8_steers(uint32_t code)
{
    return code < 0x20 || (code >= 0x7F && code < 0xA0) || code == 0x061C ||
           (code >= 0x200B && code <= 0x200F) || (code >= 0x2028 && code <= 0x202E) ||
           (code >= 0x2060 && code <= 0x206F) || code == 0xFEFF || (code >= 0xE0000 && code <= 0xE007F);
}

/* The signs of our own sentences as a terminal without UTF-8 can show them: never longer than in UTF-8. */
static const char *in_ascii(uint32_t code)
{
    static const struct {
        uint32_t code;
        const char *text;
    } signs[] = {{0xB1, "+-"},   {0xB5, "u"},    {0xB7, "."},    {0xD7, "x"},    {0x2013, "-"},
                 {0x2014, "-"},  {0x2018, "'"},  {0x2019, "'"},  {0x201C, "\""}, {0x201D, "\""},
                 {0x2026, ".."}, {0x2190, "<-"}, {0x2192, "->"}, {0x2248, "~"},  {0x2264, "<="},
                 {0x2265, ">="}, {0x2212, "-"},  {0x3BC, "u"},   {0xB2, "2"},    {0x2260, "!="}};
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (signs[i].code == code) return signs[i].text;
    return "?";
}

size_t rs_text_clean(const char *text, size_t length, bool utf8, char *out)
{
    size_t used = 0;
    for (size_t i = 0; i < length;) {
        uint32_t code = 0;
        if (text[i] >= 0x20 && text[i] < 0x7F) {
            out[used++] = text[i++];
            continue;
        }
        size_t n = rs_utf8_next(text + i, length - i, &code);
        if (n && (code == '\t' || code == '\n' || code == '\r')) {
            out[used++] = ' ';
        } else if (n && !rs_utf8_steers(code) && (utf8 || code < 0x80)) {
            memcpy(out + used, text + i, n);
            used += n;
        } else if (utf8) {
            memcpy(out + used, RS_REPLACEMENT, 3);
            used += 3;
        } else {
            for (const char *sign = in_ascii(n ? code : 0); *sign; sign++) out[used++] = *sign;
        }
        i += n ? n : 1;
    }
    out[used] = '\0';
    return used;
}

/* Where the text's last `columns` columns begin. */
static size_t tail_start(const char *text, size_t length, size_t columns)
{
    size_t total = rs_text_width(text, length);
    size_t skip = total > columns ? total - columns : 0, i = 0, width = 0;
    while (i < length) {
        uint32_t code = 0;
        size_t n = rs_utf8_next(text + i, length - i, &code);
        size_t w = n ? utf8_width(code) : 1;
        if (width >= skip && !(w == 0 && i > 0)) break; /* a tail does not start with a combining mark */
        width += w;
        i += n ? n : 1;
    }
    return i;
}

const char *rs_text_shorten(const char *text, size_t length, size_t columns, const char *mark, char *out,
                            size_t out_size)
{
    if (out_size == 0) return out;
    size_t mark_bytes = strlen(mark), mark_width = rs_text_width(mark, mark_bytes);
    if (rs_text_width(text, length) <= columns && length < out_size) {
        memcpy(out, text, length);
        out[length] = '\0';
        return out;
    }
    size_t head = 0, tail = length;
    if (columns > mark_width) {
        /* the end of a name tells instances apart, its start says what it is: give the start a little more */
        size_t rest = columns - mark_width, back = rest * 2 / 5;
        head = rs_text_fitting(text, length, rest - back);
        tail = tail_start(text, length, back);
        if (tail < head) tail = head;
    } else {
        mark_bytes = rs_text_fitting(mark, mark_bytes, columns);
    }
    /* combining marks take bytes but no columns: when the room does not do, the tail is dropped, then the
     * head */
    if (head + mark_bytes + (length - tail) >= out_size) tail = length;
    if (head + mark_bytes >= out_size) head = 0;
    if (mark_bytes >= out_size) mark_bytes = 0;
    memcpy(out, text, head);
    memcpy(out + head, mark, mark_bytes);
    memcpy(out + head + mark_bytes, text + tail, length - tail);
    out[head + mark_bytes + (length - tail)] = '\0';
    return out;
}

const char *rs_shorten_middle(const char *text, size_t length, size_t columns, char *out, size_t out_size)
{
    return rs_text_shorten(text, length, columns, "\xE2\x80\xA6", out, out_size);
}
