#include "clock/hosts.h"
#include "base/ascii.h"

#include <string.h>

#include "base/memory.h"
#include "base/order.h"
#include "base/search.h"
#include "base/try.h"
#include "input/source.h"

bool rs_host_in_name(const char *path, const char **host, size_t *n)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const char *end = strstr(name, ".pt.trace.json");
    if (!end) return false;
    const char *dot = end; /* of the time; older profilers write none */
    while (dot > name && rs_is_digit(dot[-1])) dot--;
    if (dot > name && dot < end && dot[-1] == '.') end = dot - 1;
    const char *at = end;
    while (at > name && rs_is_digit(at[-1])) at--;
    if (at == end || at < name + 2 || at[-1] != '_') return false;
    *host = name;
    *n = (size_t)(at - 1 - name);
    return true;
}

/* ---- a list -------------------------------------------------------------------------------------------- */

#define LARGEST_LIST ((size_t)64 << 20)

void rs_hosts_clear(rs_host_list *list)
{
    for (size_t i = 0; i < list->n; i++) rs_free(list->items[i].host);
    rs_free(list->items);
    *list = (rs_host_list){0};
}

static const char *past_blanks(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\t')) at++;
    return at;
}

static const char *before_blanks(const char *begin, const char *end)
{
    while (end > begin && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r')) end--;
    return end;
}

/* One line without its end. *is_row: false where it holds no rank. */
static rs_status read_line(const char *at, const char *end, rs_host_list *out, bool *is_row, rs_error *err)
{
    int64_t rank = 0;
    const char *digit = at = past_blanks(at, end);
    for (; digit < end && rs_is_digit(*digit) && rank < INT32_MAX; digit++) rank = 10 * rank + (*digit - '0');
    const char *comma = past_blanks(digit, end);
    *is_row = digit > at;
    if (!*is_row) return RS_OK;
    if (comma == end || *comma != ',' || rank >= INT32_MAX)
        return rs_fail(err, RS_ERR_FORMAT, "is not RANK,HOST");
    const char *host = past_blanks(comma + 1, end);
    end = before_blanks(host, end);
    if (end == host) return rs_fail(err, RS_ERR_FORMAT, "names no host");
    if (!RS_GROW_ONE(out->items, out->n, out->capacity)) return rs_fail_nomem(err, "hosts");
    out->items[out->n] = (rs_host_line){rank, rs_strndup(host, (size_t)(end - host))};
    if (!out->items[out->n].host) return rs_fail_nomem(err, "hosts");
    out->n++;
    return RS_OK;
}

static const rs_order by_rank[] = {RS_RISING(rs_host_line, rank)};

static rs_status read_lines(const char *text, size_t n, rs_host_list *out, rs_error *err)
{
    const char *end = text + n;
    size_t line = 0;
    bool is_row;
    for (const char *at = text, *next; at < end; at = next + 1) {
        next = memchr(at, '\n', (size_t)(end - at));
        if (!next) next = end;
        const char *first = past_blanks(at, next), *last = before_blanks(first, next);
        line++;
        if (first == last || *first == '#') continue;
        rs_status status = read_line(first, last, out, &is_row, err);
        if (status == RS_OK && !is_row && line > 1)
            status = rs_fail(err, RS_ERR_FORMAT, "begins with no rank: lines are RANK,HOST");
        if (status != RS_OK) return rs_error_wrap(err, "line %zu", line);
    }
    RS_SORT(out->items, out->n, by_rank);
    for (size_t i = 1; i < out->n; i++)
        if (out->items[i].rank == out->items[i - 1].rank)
            return rs_fail(err, RS_ERR_FORMAT, "names rank %lld twice", (long long)out->items[i].rank);
    return out->n ? RS_OK : rs_fail(err, RS_ERR_FORMAT, "names no rank: lines are RANK,HOST");
}

rs_status rs_hosts_read(const char *path, rs_host_list *out, rs_error *err)
{
    rs_source *source;
    uint8_t *text = NULL;
    size_t n;
    *out = (rs_host_list){0};
    RS_TRY(rs_source_open(path, 0, &source, err));
    rs_status status = rs_source_read_all(source, LARGEST_LIST, &text, &n, err);
    if (status == RS_OK) status = read_lines((const char *)text, n, out, err);
    rs_free(text);
    rs_source_close(source);
    return status == RS_OK ? RS_OK : rs_error_wrap(err, "%s", path);
}

const char *rs_hosts_find(const rs_host_list *list, int64_t rank)
{
    size_t at;
    RS_SEARCH(at, list->n, list->items[at].rank < rank);
    return at < list->n && list->items[at].rank == rank ? list->items[at].host : NULL;
}
