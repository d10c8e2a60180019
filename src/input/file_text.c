/* What a file says, without reading it as a trace: its text, or what stands next to the events. */

#include <string.h>

#include "base/memory.h"
#include "base/try.h"
#include "input/json.h"
#include "input/source.h"

#define PIECE ((size_t)1 << 20)

static rs_status put(const rs_sink *sink, const void *bytes, size_t n, rs_error *err)
{
    return !n || sink->write(sink->context, bytes, n) ? RS_OK
                                                      : rs_fail(err, RS_ERR_IO, "the text cannot be written");
}

static rs_status copy_text(rs_source *source, const rs_sink *sink, rs_error *err)
{
    RS_LOCAL char *piece = rs_malloc(PIECE);
    if (!piece) return rs_fail_nomem(err, "a file's text");
    for (size_t got = 1; got;) {
        RS_TRY(rs_source_read(source, piece, PIECE, &got, err));
        RS_TRY(put(sink, piece, got, err));
    }
    return RS_OK;
}

/* The members of the outermost object but the events. What cannot be read ends it: a trace that breaks off
 * among its events still has the members in front of them. */
static rs_status copy_header(const char *name, const uint8_t *text, size_t n, const rs_sink *sink,
                             rs_error *err)
{
    const rs_json_limits limits = {RS_JSON_DEFAULT_DEPTH, n};
    const uint8_t *end = text + n, *p = text;
    if (n >= 3 && memcmp(p, "\xEF\xBB\xBF", 3) == 0) p += 3;
    p = rs_json_space(p, end);
    if (p == end || *p != '{')
        return rs_fail_at(err, RS_ERR_FORMAT, name, (uint64_t)(p - text), "no JSON object: it has no header");
    rs_status status = put(sink, "{", 1, err);
    bool any = false;
    for (p++; status == RS_OK;) {
        while (p < end && (rs_json_is_space(*p) || *p == ',')) p++;
        const uint8_t *begin = p;
        rs_json_text key;
        if (p == end || *p != '"' || rs_json_string(&p, end, n, &key) != RS_JSON_OK) break;
        p = rs_json_space(p, end);
        if (p == end || *p != ':') break;
        p = rs_json_space(p + 1, end);
        if (p == end || rs_json_skip(&p, end, &limits) != RS_JSON_OK) break;
        static const char events[] = "traceEvents";
        if (key.length == sizeof events - 1 && memcmp(key.bytes, events, key.length) == 0) continue;
        if (any) status = put(sink, ",", 1, err);
        if (status == RS_OK) status = put(sink, begin, (size_t)(p - begin), err);
        any = true;
    }
    return status == RS_OK ? put(sink, "}", 1, err) : status;
}

rs_status rs_file_text(const char *path, uint64_t max_ratio, const rs_sink *sink, rs_error *err)
{
    rs_source *source;
    RS_TRY(rs_source_open(path, max_ratio, &source, err));
    rs_status status = copy_text(source, sink, err);
    rs_source_close(source);
    return status;
}

rs_status rs_file_header(const char *path, uint64_t max_ratio, const rs_sink *sink, rs_error *err)
{
    rs_source *source;
    uint8_t *text = NULL;
    size_t n = 0;
    RS_TRY(rs_source_open(path, max_ratio, &source, err));
    rs_status status = rs_source_read_all(source, SIZE_MAX / 2, &text, &n, err);
    if (status == RS_OK) status = copy_header(path, text, n, sink, err);
    rs_free(text);
    rs_source_close(source);
    return status;
}

rs_status rs_file_begin(const char *path, void *text, size_t room, size_t *n, rs_error *err)
{
    rs_source *source;
    *n = 0;
    RS_TRY(rs_source_open(path, 0, &source, err));
    rs_status status = RS_OK;
    for (size_t got = 1; status == RS_OK && got && *n < room; *n += got) {
        got = 0;
        status = rs_source_read(source, (uint8_t *)text + *n, room - *n, &got, err);
    }
    rs_source_close(source);
    return status;
}
