/* Structs described member by member, so that one packer and one unpacker serve all of them.
 *
 * A layout lists the members that count. Whatever is not listed (capacities, arenas, indexes for building) is
 * zero after unpacking, so only code that reads may be handed what was unpacked: all of it, texts and lists
 * included, lives in one arena and goes with it. */
#pragma once

#include <stddef.h>
#include <string.h>

#include "base/each.h"
#include "base/strings.h"
#include "base/wire.h"

typedef enum rs_field_kind {
    RS_AS_SIGNED,
    RS_AS_UNSIGNED,
    RS_AS_BOOL,
    RS_AS_REAL,
    RS_AS_TEXT,    /* char * */
    RS_AS_TEXT_N,  /* char *, its length in the size_t at n_offset */
    RS_AS_CHARS,   /* char[], terminated */
    RS_AS_STRINGS, /* rs_strings; comes back without what finding ids by text takes */
    RS_AS_STRUCT
} rs_field_kind;

typedef enum rs_field_place {
    RS_HERE, /* `count` of them in the struct itself */
    RS_LIST, /* a pointer; the size_t at n_offset is the count */
    RS_ROW,  /* a pointer; the count is a size_t of the root struct, which an earlier field unpacks */
    RS_ONE   /* a pointer to one, or NULL */
} rs_field_place;

typedef struct rs_layout rs_layout;

typedef struct rs_field {
    const char *name;
    uint32_t offset, size; /* size: of one */
    uint32_t count, n_offset;
    uint8_t kind, place;
    /* what unpacked values must satisfy, besides being a value of the type */
    bool optional;   /* a text or struct that may be NULL; an index that may be all ones */
    bool bounded;    /* unsigned: only values below the limit */
    bool limit_here; /* ... which is the size_t at that offset of the root; given in an earlier field */
    uint64_t limit;
    const rs_layout *layout; /* RS_AS_STRUCT */
} rs_field;

struct rs_layout {
    size_t size;
    const rs_field *fields;
    size_t n;
    bool (*check)(const void *value); /* what else must hold after unpacking, or NULL */
    /* More fields, after the others: those that n_heads larger structs begin with, stride bytes apart (the
     * cells of a record, table/record.h). A field of size 0 is none. */
    const void *heads;
    size_t n_heads, stride;
};

#define RS_LAYOUT(type, fields) RS_LAYOUT_CHECKED(type, fields, NULL)
#define RS_LAYOUT_CHECKED(type, list, condition)                                                             \
    {                                                                                                        \
        .size = sizeof(type), .fields = list, .n = sizeof(list) / sizeof *(list), .check = condition         \
    }

/* ---- fields of a layout's list ---------------------------------------------------------------------- */

/* clang-format off */
#define RS_KIND_OF(x)                                                                                        \
    _Generic((x),                                                                                            \
        _Bool: RS_AS_BOOL, double: RS_AS_REAL, char *: RS_AS_TEXT, const char *: RS_AS_TEXT,                 \
        signed char: RS_AS_SIGNED, short: RS_AS_SIGNED, int: RS_AS_SIGNED, long: RS_AS_SIGNED,               \
        long long: RS_AS_SIGNED, unsigned char: RS_AS_UNSIGNED, unsigned short: RS_AS_UNSIGNED,              \
        unsigned: RS_AS_UNSIGNED, unsigned long: RS_AS_UNSIGNED, unsigned long long: RS_AS_UNSIGNED)
/* clang-format on */
#define RS_MEMBER(type, member) (((type *)0)->member)

/* clang-format off */
/* What the others are made of: `of` is the member or its element, of which there are `how_many` in the
 * struct. */
#define RS_FIELD_AT(type, member, of, how_many)                                                              \
    .name = #member, .offset = offsetof(type, member), .size = sizeof(of), .count = (how_many)
#define RS_FIELD_IN(type, member) RS_FIELD_AT(type, member, RS_MEMBER(type, member), 1)
#define RS_FIELD_EACH(type, member)                                                                          \
    RS_FIELD_AT(type, member, RS_MEMBER(type, member)[0],                                                    \
                sizeof RS_MEMBER(type, member) / sizeof RS_MEMBER(type, member)[0])
#define RS_FIELD_FAR(type, member) RS_FIELD_AT(type, member, *RS_MEMBER(type, member), 0)

/* A number, a truth value or a text (a pointer: for an array of char see RS_FIELD_CHARS). */
#define RS_FIELD(type, member) {RS_FIELD_IN(type, member), .kind = RS_KIND_OF(RS_MEMBER(type, member))}
/* Several of them: RS_FIELDS(row, time, count). */
#define RS_FIELDS(type, ...) RS_EACH(RS_FIELD, type, __VA_ARGS__)
/* A text that may be NULL. */
#define RS_FIELD_OR_NULL(type, member)                                                                       \
    {RS_FIELD_IN(type, member), .kind = RS_KIND_OF(RS_MEMBER(type, member)), .optional = true}
/* An array of them in the struct. */
#define RS_FIELD_ARRAY(type, member)                                                                         \
    {RS_FIELD_EACH(type, member), .kind = RS_KIND_OF(RS_MEMBER(type, member)[0])}
/* A list of them. */
#define RS_FIELD_VALUES(type, member, n_member)                                                              \
    {RS_FIELD_FAR(type, member), .n_offset = offsetof(type, n_member), .place = RS_LIST,                     \
     .kind = RS_KIND_OF(*RS_MEMBER(type, member))}
/* A row of as many values as a list of the root has elements. */
#define RS_FIELD_ROW(type, member, root, n_member)                                                           \
    {RS_FIELD_FAR(type, member), .n_offset = offsetof(root, n_member), .place = RS_ROW,                      \
     .kind = RS_KIND_OF(*RS_MEMBER(type, member))}
/* An enumerator or the like: only values below `end` come through. */
#define RS_FIELD_BELOW(type, member, end)                                                                    \
    {RS_FIELD_IN(type, member), .kind = RS_AS_UNSIGNED, .bounded = true, .limit = (end)}
/* An index into a list of the root struct: the one that is unpacked, or that the nearest RS_ONE points to. */
#define RS_FIELD_INDEX(type, member, root, n_member)                                                         \
    {RS_FIELD_IN(type, member), .kind = RS_AS_UNSIGNED, .bounded = true, .limit_here = true,                 \
     .limit = offsetof(root, n_member)}
/* ... or all ones. */
#define RS_FIELD_INDEX_OR_NONE(type, member, root, n_member)                                                 \
    {RS_FIELD_IN(type, member), .kind = RS_AS_UNSIGNED, .bounded = true, .limit_here = true,                 \
     .limit = offsetof(root, n_member), .optional = true}
/* A text of that length, which may hold NUL. */
#define RS_FIELD_TEXT_N(type, member, length)                                                                \
    {RS_FIELD_IN(type, member), .n_offset = offsetof(type, length), .kind = RS_AS_TEXT_N}
#define RS_FIELD_CHARS(type, member) {RS_FIELD_IN(type, member), .kind = RS_AS_CHARS}
#define RS_FIELD_STRINGS(type, member) {RS_FIELD_IN(type, member), .kind = RS_AS_STRINGS}
/* A struct in the struct, an array of them, a list, and a pointer to one. */
#define RS_FIELD_STRUCT(type, member, its_layout)                                                            \
    {RS_FIELD_IN(type, member), .kind = RS_AS_STRUCT, .layout = (its_layout)}
#define RS_FIELD_STRUCTS(type, member, its_layout)                                                           \
    {RS_FIELD_EACH(type, member), .kind = RS_AS_STRUCT, .layout = (its_layout)}
#define RS_FIELD_LIST(type, member, n_member, its_layout)                                                    \
    {RS_FIELD_FAR(type, member), .n_offset = offsetof(type, n_member), .place = RS_LIST,                     \
     .kind = RS_AS_STRUCT, .layout = (its_layout)}
#define RS_FIELD_ONE(type, member, its_layout)                                                               \
    {RS_FIELD_FAR(type, member), .place = RS_ONE, .kind = RS_AS_STRUCT, .layout = (its_layout)}
/* ... which may be NULL. */
#define RS_FIELD_ONE_OR_NONE(type, member, its_layout)                                                       \
    {RS_FIELD_FAR(type, member), .place = RS_ONE, .kind = RS_AS_STRUCT, .layout = (its_layout), .optional = true}
/* clang-format on */

/* ---- values of members ------------------------------------------------------------------------------- */

static inline uint64_t rs_unsigned_at(const void *at, size_t size)
{
    uint64_t value64;
    uint32_t value32;
    uint16_t value16;
    switch (size) {
    case 8: memcpy(&value64, at, 8); return value64;
    case 4: memcpy(&value32, at, 4); return value32;
    case 2: memcpy(&value16, at, 2); return value16;
    default: return *(const uint8_t *)at;
    }
}

static inline int64_t rs_signed_at(const void *at, size_t size)
{
    uint64_t value = rs_unsigned_at(at, size);
    return size == 8   ? (int64_t)value
           : size == 4 ? (int32_t)value
           : size == 2 ? (int16_t)value
                       : (int8_t)value;
}

static inline double rs_real_at(const void *at)
{
    double value;
    memcpy(&value, at, sizeof value);
    return value;
}

/* The i-th of a layout's n + n_heads fields. */
const rs_field *rs_layout_field(const rs_layout *layout, size_t i);

/* ---- packing ---------------------------------------------------------------------------------------- */

/* Changes whenever members, their kinds or their order do. */
uint64_t rs_layout_fingerprint(const rs_layout *layout);
void rs_layout_pack(const rs_layout *layout, const void *value, rs_wire_writer *w);
/* In the reader's arena; NULL and the reader is bad when the bytes are not such a struct. */
void *rs_layout_unpack(const rs_layout *layout, rs_wire_reader *r);
