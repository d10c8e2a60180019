#include "base/ranges.h"

#include <string.h>

#include "base/ascii.h"
#include "base/memory.h"
#include "base/order.h"
#include "base/search.h"

bool rs_parse_whole(const char *text, int64_t *value, const char **end)
{
    int64_t v = 0;
    const char *c = text;
    for (; *c >= '0' && *c <= '9'; c++)
        if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, *c - '0', &v)) return false;
    *value = v;
    *end = c;
    return c != text;
}

bool rs_parse_size(const char *text, int64_t *bytes)
{
    static const char suffixes[] = "KMGT";
    const char *end;
    if (!rs_parse_whole(text, bytes, &end)) return false;
    const char *suffix = *end ? strchr(suffixes, rs_upper(*end)) : NULL;
    if (suffix) {
        if (__builtin_mul_overflow(*bytes, INT64_C(1024) << (10 * (suffix - suffixes)), bytes)) return false;
        end++;
        if (*end == 'i') end++;
    }
    if (*end == 'B') end++;
    return *end == '\0' && *bytes > 0;
}

static const rs_order by_first[] = {RS_RISING(rs_span, first)};

static void merge(rs_ranges *ranges)
{
    RS_SORT(ranges->items, ranges->n, by_first);
    size_t kept = 0;
    for (size_t i = 1; i < ranges->n; i++) {
        rs_span *last = &ranges->items[kept], *next = &ranges->items[i];
        if (next->first <= last->last || next->first - 1 == last->last) {
            if (next->last > last->last) last->last = next->last;
        } else {
            ranges->items[++kept] = *next;
        }
    }
    ranges->n = kept + 1;
}

static const char *skip_spaces(const char *c)
{
    while (*c == ' ') c++;
    return c;
}

rs_status rs_ranges_parse(const char *text, rs_ranges *out, rs_error *err)
{
    *out = (rs_ranges){0};
    const char *c = text;
    for (;;) {
        rs_span span;
        c = skip_spaces(c);
        bool ok = rs_parse_whole(c, &span.first, &c);
        span.last = span.first;
        if (ok && *c == '-') ok = rs_parse_whole(c + 1, &span.last, &c);
        c = ok ? skip_spaces(c) : c;
        if (!ok || (*c && *c != ',')) {
            rs_ranges_clear(out);
            return rs_fail(err, RS_ERR_USAGE, "\"%.80s\" is no list of whole numbers like 0,3,8-15", text);
        }
        if (span.last < span.first) {
            rs_ranges_clear(out);
            return rs_fail(err, RS_ERR_USAGE, "\"%.80s\": the range %lld-%lld runs backwards", text,
                           (long long)span.first, (long long)span.last);
        }
        if (!RS_GROW_ONE(out->items, out->n, out->capacity)) {
            rs_ranges_clear(out);
            return rs_fail_nomem(err, "a list of numbers");
        }
        out->items[out->n++] = span;
        if (!*c) break;
        c++;
    }
    merge(out);
    return RS_OK;
}

bool rs_ranges_has(const rs_ranges *ranges, int64_t value)
{
    size_t low;
    RS_SEARCH(low, ranges->n, value > ranges->items[low].last);
    return low < ranges->n && value >= ranges->items[low].first;
}

void rs_ranges_clear(rs_ranges *ranges)
{
    rs_free(ranges->items);
    *ranges = (rs_ranges){0};
}
