/* Blocks of a debug server's page. The server's template does not escape, so that a block's text runs to the
 * last
 * </pre> before the next heading, whatever it holds. */
#include "flight/live.h"
#include "base/ascii.h"
#include "flight/template.h"

#include <string.h>

/* Digits at *at, at most 9 of them; false when there are none. */
static bool read_number(const char *text, size_t n, size_t *at, int64_t *out)
{
    size_t begin = *at;
    *out = 0;
    while (*at < n && rs_is_digit(text[*at]) && *at - begin < 9) *out = *out * 10 + (text[(*at)++] - '0');
    return *at > begin && (*at == n || !rs_is_digit(text[*at]));
}

static const char *find(const char *text, size_t from, size_t n, const char *what)
{
    return from < n ? rs_fl_find(text + from, n - from, what) : NULL;
}

/* The next heading "<h2>Rank N: ADDRESS</h2>" from `from` on; n when there is none. */
static size_t next_heading(const char *page, size_t n, size_t from, rs_fl_block *out, size_t *end)
{
    static const char open[] = "<h2>Rank ";
    for (;;) {
        const char *found = find(page, from, n, open);
        if (!found) return n;
        size_t at = (size_t)(found - page) + sizeof open - 1, begin = (size_t)(found - page);
        from = at;
        if (!read_number(page, n, &at, &out->rank) || at + 2 > n || page[at] != ':') continue;
        at++;
        while (at < n && page[at] == ' ') at++;
        const char *close = find(page, at, n, "</h2>");
        if (!close) return n;
        if (memchr(page + at, '\n', (size_t)(close - page) - at)) continue; /* a heading is on one line */
        out->address = page + at;
        out->n_address = (size_t)(close - page) - at;
        *end = (size_t)(close - page) + 5;
        return begin;
    }
}

bool rs_fl_next_block(const char *page, size_t n, size_t *at, rs_fl_block *out)
{
    size_t body, unused;
    rs_fl_block next;
    *out = (rs_fl_block){.status = 200, .text = "", .rank = -1};
    if (next_heading(page, n, *at, out, &body) == n) return false;
    size_t stop = next_heading(page, n, body, &next, &unused);
    *at = stop;
    const char *pre = find(page, body, stop, "<pre>"),
               *failed = find(page, body, stop, "Failed to fetch: status=");
    if (failed && (!pre || failed < pre)) {
        size_t digits = (size_t)(failed - page) + strlen("Failed to fetch: status=");
        int64_t status;
        out->status = read_number(page, stop, &digits, &status) ? (int)(status % 1000) : 0;
    }
    if (!pre) {
        if (out->status == 200) out->status = 0;
        return true;
    }
    size_t from = (size_t)(pre - page) + 5, last = stop;
    for (const char *close = find(page, from, stop, "</pre>"); close;
         close = find(page, (size_t)(close - page) + 1, stop, "</pre>"))
        last = (size_t)(close - page);
    out->text = page + from;
    out->n = last - from;
    return true;
}

bool rs_fl_next_section(const char *text, size_t n, size_t *at, rs_fl_block *out)
{
    static const char open[] = "=== Rank ", error[] = "Error: ";
    *out = (rs_fl_block){.status = 200, .text = "", .rank = -1};
    for (;;) {
        const char *found = find(text, *at, n, open);
        if (!found) return false;
        size_t from = (size_t)(found - text) + sizeof open - 1;
        *at = from;
        if (found > text && found[-1] != '\n') continue;
        if (!read_number(text, n, &from, &out->rank) || from >= n || text[from] != ':') continue;
        const char *line = memchr(text + from, '\n', n - from), *close = find(text, from, n, " ===");
        if (!close || (line && close > line)) continue;
        out->address = text + from + 1;
        while (out->address < close && *out->address == ' ') out->address++;
        out->n_address = (size_t)(close - out->address);
        out->text = line ? line + 1 : text + n;
        const char *next = find(text, (size_t)(out->text - text), n, "\n=== Rank ");
        out->n = (size_t)((next ? next : text + n) - out->text);
        *at = next ? (size_t)(next - text) + 1 : n;
        if (out->n >= sizeof error - 1 && memcmp(out->text, error, sizeof error - 1) == 0) {
            size_t digits = sizeof error - 1;
            int64_t status;
            out->status = read_number(out->text, out->n, &digits, &status) ? (int)(status % 1000) : 0;
        }
        return true;
    }
}

size_t rs_fl_unescape(const char *text, size_t n, char *out)
{
    static const struct {
        const char *name;
        char sign;
    } entities[] = {{"&lt;", '<'},   {"&gt;", '>'},    {"&amp;", '&'}, {"&quot;", '"'},
                    {"&#39;", '\''}, {"&#x27;", '\''}, {"&#34;", '"'}};
    size_t length = 0;
    bool raw = memchr(text, '<', n) != NULL;
    for (size_t i = 0; i < n; i++) {
        out[length++] = text[i];
        if (raw || text[i] != '&') continue;
        for (size_t e = 0; e < sizeof entities / sizeof *entities; e++) {
            size_t m = strlen(entities[e].name);
            if (n - i < m || memcmp(text + i, entities[e].name, m) != 0) continue;
            out[length - 1] = entities[e].sign;
            i += m - 1;
            break;
        }
    }
    return length;
}
