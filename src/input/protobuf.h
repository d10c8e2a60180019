/* Protobuf messages read field by field, where they lie: nothing is unpacked, and a damaged field costs what it
 * holds and no more. Numbers of fields are all that a reader needs; what it does not know it skips. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The bytes of a message, or what is left of them. */
typedef struct rs_pb {
    const uint8_t *at, *end;
} rs_pb;

typedef enum rs_pb_type {
    RS_PB_VARINT = 0,
    RS_PB_FIXED64 = 1,
    RS_PB_BYTES = 2,
    RS_PB_FIXED32 = 5
} rs_pb_type;

typedef struct rs_pb_field {
    const uint8_t *from; /* where its tag stands */
    uint32_t number;
    rs_pb_type type;
    uint64_t value; /* of a varint or fixed field */
    rs_pb bytes;    /* of a text, bytes or message; CUT: those that are there */
} rs_pb_field;

typedef enum rs_pb_status {
    RS_PB_END,
    RS_PB_FIELD,
    RS_PB_CUT, /* a length leads beyond the end of the message */
    RS_PB_BAD  /* no field begins here; groups, which nobody writes, count as such */
} rs_pb_status;

/* false: the bytes end inside it, or it has more than 64 bits. */
static inline bool rs_pb_varint(rs_pb *m, uint64_t *out)
{
    uint64_t value = 0;
    const uint8_t *p = m->at;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (p == m->end) return false;
        uint8_t byte = *p++;
        if (shift == 63 && byte > 1) return false;
        value |= (uint64_t)(byte & 127) << shift;
        if (byte > 127) continue;
        m->at = p;
        *out = value;
        return true;
    }
    return false;
}

static inline uint64_t rs_pb_little_endian(const uint8_t *p, unsigned n)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < n; i++) value |= (uint64_t)p[i] << (8 * i);
    return value;
}

/* The next field, behind which the message then stands. It stays where it is at CUT and BAD. */
static inline rs_pb_status rs_pb_next(rs_pb *m, rs_pb_field *f)
{
    rs_pb now = *m;
    uint64_t tag, n;
    *f = (rs_pb_field){.from = m->at};
    if (now.at == now.end) return RS_PB_END;
    if (!rs_pb_varint(&now, &tag) || tag >> 3 == 0 || tag >> 32) return RS_PB_BAD;
    f->number = (uint32_t)(tag >> 3);
    f->type = (rs_pb_type)(tag & 7);
    switch (f->type) {
    case RS_PB_VARINT:
        if (!rs_pb_varint(&now, &f->value)) return RS_PB_BAD;
        break;
    case RS_PB_FIXED64:
    case RS_PB_FIXED32:
        n = f->type == RS_PB_FIXED64 ? 8 : 4;
        if ((uint64_t)(now.end - now.at) < n) return RS_PB_BAD;
        f->value = rs_pb_little_endian(now.at, (unsigned)n);
        now.at += n;
        break;
    case RS_PB_BYTES:
        if (!rs_pb_varint(&now, &n)) return RS_PB_BAD;
        f->bytes = (rs_pb){now.at, now.end};
        if (n > (uint64_t)(now.end - now.at)) return RS_PB_CUT;
        now.at += n;
        f->bytes.end = now.at;
        break;
    default: return RS_PB_BAD;
    }
    *m = now;
    return RS_PB_FIELD;
}

/* Whether the message is whole: field after field, to its end. */
static inline bool rs_pb_is_whole(rs_pb m)
{
    rs_pb_field f;
    rs_pb_status status;
    while ((status = rs_pb_next(&m, &f)) == RS_PB_FIELD) {
    }
    return status == RS_PB_END;
}

static inline size_t rs_pb_length(rs_pb m)
{
    return (size_t)(m.end - m.at);
}

static inline double rs_pb_real(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}
