#include "format/rocprof_walk.h"

#include <string.h>

#define PROGRESS ((uint64_t)1 << 20)

uint64_t rs_walk_offset(const rs_walk *w)
{
    return w->now.offset + w->at;
}

bool rs_walk_going(const rs_walk *w)
{
    return w->status == RS_OK && !w->ended;
}

/* More text behind the present place; false when there is none. */
static bool refill(rs_walk *w)
{
    if (w->now.last) {
        w->ended = true;
        return false;
    }
    w->status = rs_windows_next(w->windows, w->at, &w->now, w->err);
    w->at = 0;
    if (w->status == RS_OK && w->settings->progress && w->now.offset - w->reported >= PROGRESS) {
        w->reported = w->now.offset;
        if (!w->settings->progress(w->settings->progress_context))
            w->status = rs_fail(w->err, RS_ERR_CANCELLED, "stopped");
    }
    return w->status == RS_OK;
}

uint8_t rs_walk_peek(rs_walk *w)
{
    while (rs_walk_going(w)) {
        const uint8_t *p = rs_json_space(w->now.data + w->at, w->now.data + w->now.n);
        w->at = (size_t)(p - w->now.data);
        if (w->at < w->now.n) return *p;
        refill(w);
    }
    return 0;
}

static void give_up(rs_walk *w)
{
    w->ended = w->bad = true;
}

bool rs_walk_byte(rs_walk *w, uint8_t byte)
{
    if (rs_walk_peek(w) != byte) {
        if (rs_walk_going(w)) give_up(w);
        return false;
    }
    w->at++;
    return true;
}

bool rs_walk_value(rs_walk *w, const uint8_t **text, size_t *n)
{
    while (rs_walk_peek(w)) {
        const uint8_t *begin = w->now.data + w->at, *p = begin;
        rs_json_status s = rs_json_skip(&p, w->now.data + w->now.n, &w->limits);
        if (s == RS_JSON_OK) {
            *text = begin;
            *n = (size_t)(p - begin);
            w->at += *n;
            return true;
        }
        if (s != RS_JSON_END) {
            give_up(w);
            return false;
        }
        refill(w);
    }
    return false;
}

bool rs_walk_key(rs_walk *w, char out[RS_WALK_KEY])
{
    const uint8_t *text;
    size_t n;
    if (rs_walk_peek(w) != '"' || !rs_walk_value(w, &text, &n)) {
        if (rs_walk_going(w)) give_up(w);
        return false;
    }
    n -= 2;
    if (n >= RS_WALK_KEY) n = RS_WALK_KEY - 1;
    memcpy(out, text + 1, n);
    out[n] = '\0';
    return rs_walk_byte(w, ':');
}

bool rs_walk_first(rs_walk *w, uint8_t close)
{
    if (rs_walk_peek(w) != close) return rs_walk_going(w);
    w->at++;
    return false;
}

bool rs_walk_next(rs_walk *w, uint8_t close)
{
    uint8_t c = rs_walk_peek(w);
    if (c == ',' || c == close) {
        w->at++;
        return c == ',';
    }
    if (rs_walk_going(w)) give_up(w);
    return false;
}
