#include "base/wire.h"

#include <string.h>

void rs_wire_clear(rs_wire_writer *w)
{
    rs_free(w->bytes);
    *w = (rs_wire_writer){0};
}

void rs_wire_put(rs_wire_writer *w, const void *bytes, size_t n)
{
    if (w->out_of_memory || n == 0) return;
    if (n > SIZE_MAX - w->n ||
        (w->n + n > w->capacity && !rs_grow((void **)&w->bytes, &w->capacity, w->n + n, 1))) {
        w->out_of_memory = true;
        return;
    }
    memcpy(w->bytes + w->n, bytes, n);
    w->n += n;
}

void rs_wire_put_unsigned(rs_wire_writer *w, uint64_t value)
{
    uint8_t out[10];
    size_t n = 0;
    for (; value >= 128; value >>= 7) out[n++] = (uint8_t)(value | 128);
    out[n++] = (uint8_t)value;
    rs_wire_put(w, out, n);
}

void rs_wire_put_signed(rs_wire_writer *w, int64_t value)
{
    /* zigzag: small numbers of either sign take few bytes */
    uint64_t twice = (uint64_t)value << 1;
    rs_wire_put_unsigned(w, value < 0 ? ~twice : twice);
}

void rs_wire_put_fixed(rs_wire_writer *w, uint64_t value)
{
    uint8_t out[8];
    for (unsigned i = 0; i < 8; i++) out[i] = (uint8_t)(value >> 8 * i);
    rs_wire_put(w, out, sizeof out);
}

void rs_wire_put_real(rs_wire_writer *w, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    rs_wire_put_fixed(w, bits);
}

void rs_wire_put_text_n(rs_wire_writer *w, const char *text, size_t length)
{
    rs_wire_put_unsigned(w, text ? (uint64_t)length + 1 : 0);
    if (text) rs_wire_put(w, text, length);
}

void rs_wire_put_text(rs_wire_writer *w, const char *text)
{
    rs_wire_put_text_n(w, text, text ? strlen(text) : 0);
}

/* ---- reading ---------------------------------------------------------------------------------------- */

uint64_t rs_wire_unsigned(rs_wire_reader *r)
{
    uint64_t value = 0;
    for (unsigned shift = 0; !r->bad && r->p < r->end && shift < 64; shift += 7) {
        uint8_t byte = *r->p++;
        if (shift == 63 && byte > 1) break;
        value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128) return value;
    }
    r->bad = true;
    return 0;
}

uint64_t rs_wire_below(rs_wire_reader *r, uint64_t limit)
{
    uint64_t value = rs_wire_unsigned(r);
    if (value < limit) return value;
    r->bad = true;
    return 0;
}

int64_t rs_wire_signed(rs_wire_reader *r)
{
    uint64_t value = rs_wire_unsigned(r);
    return (int64_t)(value & 1 ? ~(value >> 1) : value >> 1);
}

uint64_t rs_wire_fixed(rs_wire_reader *r)
{
    if (rs_wire_left(r) < 8) {
        r->bad = true;
        return 0;
    }
    uint64_t value = 0;
    for (unsigned i = 0; i < 8; i++) value |= (uint64_t)*r->p++ << 8 * i;
    return value;
}

double rs_wire_real(rs_wire_reader *r)
{
    uint64_t bits = rs_wire_fixed(r);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

bool rs_wire_bool(rs_wire_reader *r)
{
    return rs_wire_below(r, 2) != 0;
}

char *rs_wire_text_n(rs_wire_reader *r, size_t *length)
{
    uint64_t n = rs_wire_unsigned(r);
    *length = 0;
    if (r->bad || n == 0) return NULL;
    if (--n > rs_wire_left(r)) {
        r->bad = true;
        return NULL;
    }
    char *text = rs_arena_strndup(r->arena, (const char *)r->p, (size_t)n);
    if (!text) {
        r->bad = r->out_of_memory = true;
        return NULL;
    }
    r->p += n;
    *length = (size_t)n;
    return text;
}

char *rs_wire_text(rs_wire_reader *r)
{
    size_t length;
    return rs_wire_text_n(r, &length);
}

rs_wire_reader rs_wire_part(rs_wire_reader *r, uint64_t n)
{
    rs_wire_reader part = *r;
    if (n > rs_wire_left(r)) r->bad = part.bad = true;
    if (r->bad) return part;
    part.end = r->p + n;
    r->p += n;
    return part;
}

void *rs_wire_room(rs_wire_reader *r, uint64_t n, size_t size, size_t min_packed)
{
    if (r->bad || n > rs_wire_left(r) / (min_packed ? min_packed : 1) || n >= SIZE_MAX / size - 1) {
        r->bad = true;
        return NULL;
    }
    size_t bytes = ((size_t)n + (n == 0)) * size;
    void *room = rs_arena_alloc(r->arena, bytes);
    if (!room)
        r->bad = r->out_of_memory = true;
    else
        memset(room, 0, bytes);
    return room;
}

void rs_wire_put_problem(rs_wire_writer *w, const rs_problem *p)
{
    rs_wire_put_text(w, p->kind);
    rs_wire_put_text(w, p->message);
    rs_wire_put_text(w, p->file);
    rs_wire_put_text(w, p->detail);
    rs_wire_put_signed(w, p->rank);
    rs_wire_put_unsigned(w, p->severity);
    rs_wire_put_unsigned(w, p->count);
    rs_wire_put_unsigned(w, p->n_offsets);
    for (unsigned k = 0; k < p->n_offsets; k++) rs_wire_put_unsigned(w, p->offsets[k]);
}

rs_problem rs_wire_problem(rs_wire_reader *r)
{
    rs_problem p = {.kind = rs_wire_text(r)};
    p.message = rs_wire_text(r);
    p.file = rs_wire_text(r);
    p.detail = rs_wire_text(r);
    p.rank = rs_wire_signed(r);
    p.severity = (rs_severity)rs_wire_below(r, RS_LOSS + 1);
    p.count = rs_wire_unsigned(r);
    p.n_offsets = (unsigned)rs_wire_below(r, RS_PROBLEM_OFFSETS + 1);
    for (unsigned k = 0; k < p.n_offsets; k++) p.offsets[k] = rs_wire_unsigned(r);
    if (!p.kind || !p.message) r->bad = true;
    return p;
}
