/* Protobuf messages put together in memory: fields are appended, a message is closed by its length. */
#pragma once

#include <string.h>

#include "base/memory.h"
#include "rewrite/pftrace.h"

static inline bool rs_proto_room(rs_proto_bytes *b, size_t more)
{
    if (b->failed || more > SIZE_MAX - b->n || !rs_grow((void **)&b->bytes, &b->capacity, b->n + more, 1))
        b->failed = true;
    return !b->failed;
}

static inline void rs_proto_varint(rs_proto_bytes *b, uint64_t v)
{
    if (!rs_proto_room(b, 10)) return;
    for (; v > 127; v >>= 7) b->bytes[b->n++] = (uint8_t)(v | 128);
    b->bytes[b->n++] = (uint8_t)v;
}

static inline void rs_proto_uint(rs_proto_bytes *b, unsigned field, uint64_t v)
{
    rs_proto_varint(b, (uint64_t)field << 3);
    rs_proto_varint(b, v);
}

static inline void rs_proto_fixed(rs_proto_bytes *b, unsigned field, uint64_t v)
{
    rs_proto_varint(b, (uint64_t)field << 3 | 1);
    if (!rs_proto_room(b, 8)) return;
    for (unsigned i = 0; i < 8; i++) b->bytes[b->n++] = (uint8_t)(v >> (8 * i));
}

static inline void rs_proto_real(rs_proto_bytes *b, unsigned field, double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    rs_proto_fixed(b, field, bits);
}

static inline void rs_proto_text(rs_proto_bytes *b, unsigned field, const void *text, size_t n)
{
    rs_proto_varint(b, (uint64_t)field << 3 | 2);
    rs_proto_varint(b, n);
    if (!n || !rs_proto_room(b, n)) return;
    memcpy(b->bytes + b->n, text, n);
    b->n += n;
}

/* A message as a field of another: what is appended between these two. The length takes four bytes whatever it
 * is; 2^28 bytes are more than any message here has. */
static inline size_t rs_proto_open(rs_proto_bytes *b, unsigned field)
{
    rs_proto_varint(b, (uint64_t)field << 3 | 2);
    if (rs_proto_room(b, 4)) b->n += 4;
    return b->n;
}

static inline void rs_proto_close(rs_proto_bytes *b, size_t from)
{
    if (b->failed) return;
    size_t n = b->n - from;
    if (n >> 28) b->failed = true;
    for (unsigned i = 0; i < 4; i++)
        b->bytes[from - 4 + i] = (uint8_t)((n >> (7 * i) & 127) | (i < 3 ? 128 : 0));
}
