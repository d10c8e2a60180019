/* Walks layouts. The recursion is as deep as the layouts nest; no input can deepen it. */
#include "base/layout.h"

#include <string.h>

static size_t n_fields(const rs_layout *layout)
{
    return layout->n + layout->n_heads;
}

const rs_field *rs_layout_field(const rs_layout *layout, size_t i)
{
    if (i < layout->n) return &layout->fields[i];
    return (const void *)((const char *)layout->heads + (i - layout->n) * layout->stride);
}

uint64_t rs_layout_fingerprint(const rs_layout *layout)
{
    uint64_t h = rs_hash_u64(n_fields(layout));
    for (size_t i = 0; i < n_fields(layout); i++) {
        const rs_field *f = rs_layout_field(layout, i);
        if (f->size == 0) continue;
        h = rs_hash_u64(h ^ rs_hash_bytes(f->name, strlen(f->name)));
        h = rs_hash_u64(h ^ ((uint64_t)f->kind << 48 | (uint64_t)f->place << 40 | f->count));
        if (f->layout) h = rs_hash_u64(h ^ rs_layout_fingerprint(f->layout));
    }
    return h;
}

/* Every field takes a byte at least. */
static size_t least_bytes(const rs_layout *layout)
{
    size_t n = 0;
    for (size_t i = 0; i < n_fields(layout); i++) n += rs_layout_field(layout, i)->size != 0;
    return n;
}

static size_t count_at(const void *base, size_t offset)
{
    size_t n;
    memcpy(&n, (const char *)base + offset, sizeof n);
    return n;
}

static void *pointer_at(const void *at)
{
    void *p;
    memcpy(&p, at, sizeof p);
    return p;
}

/* ---- packing ---------------------------------------------------------------------------------------- */

static void pack_strings(const rs_strings *strings, rs_wire_writer *w)
{
    rs_wire_put_unsigned(w, strings->n);
    for (size_t i = 0; i < strings->n; i++)
        rs_wire_put_text_n(w, strings->items[i].text, strings->items[i].length);
}

static void pack_struct(const rs_layout *layout, const void *value, const void *root, rs_wire_writer *w);

static void pack_one(const rs_field *f, const void *base, const void *at, const void *root, rs_wire_writer *w)
{
    switch ((rs_field_kind)f->kind) {
    case RS_AS_SIGNED: rs_wire_put_signed(w, rs_signed_at(at, f->size)); break;
    case RS_AS_UNSIGNED:
        /* all ones represents "none" at any width, and is packed as the one byte 0 */
        rs_wire_put_unsigned(w, (rs_unsigned_at(at, f->size) + 1) & (UINT64_MAX >> (64 - 8 * f->size)));
        break;
    case RS_AS_BOOL: rs_wire_put_unsigned(w, *(const bool *)at); break;
    case RS_AS_REAL: rs_wire_put_real(w, rs_real_at(at)); break;
    case RS_AS_TEXT: rs_wire_put_text(w, pointer_at(at)); break;
    case RS_AS_TEXT_N: rs_wire_put_text_n(w, pointer_at(at), count_at(base, f->n_offset)); break;
    case RS_AS_CHARS: rs_wire_put_text(w, at); break;
    case RS_AS_STRINGS: pack_strings(at, w); break;
    case RS_AS_STRUCT: pack_struct(f->layout, at, root, w); break;
    }
}

static void pack_struct(const rs_layout *layout, const void *value, const void *root, rs_wire_writer *w)
{
    for (size_t i = 0; i < n_fields(layout); i++) {
        const rs_field *f = rs_layout_field(layout, i);
        if (f->size == 0) continue;
        const char *at = (const char *)value + f->offset;
        const void *its_root = root;
        size_t n = f->count;
        if (f->place != RS_HERE) {
            at = pointer_at(at);
            n = f->place == RS_ONE ? 1 : count_at(f->place == RS_ROW ? root : value, f->n_offset);
            if (!at) n = 0;
            if (f->place == RS_ONE) its_root = at;
            rs_wire_put_unsigned(w, n);
        }
        for (size_t k = 0; k < n; k++) pack_one(f, value, at + k * f->size, its_root, w);
    }
}

void rs_layout_pack(const rs_layout *layout, const void *value, rs_wire_writer *w)
{
    pack_struct(layout, value, value, w);
}

/* ---- unpacking -------------------------------------------------------------------------------------- */

static void unpack_struct(const rs_layout *layout, void *value, const void *root, rs_wire_reader *r);

static void store_unsigned(void *at, size_t size, uint64_t value)
{
    uint32_t value32 = (uint32_t)value;
    uint16_t value16 = (uint16_t)value;
    switch (size) {
    case 8: memcpy(at, &value, 8); break;
    case 4: memcpy(at, &value32, 4); break;
    case 2: memcpy(at, &value16, 2); break;
    default: *(uint8_t *)at = (uint8_t)value;
    }
}

static void unpack_unsigned(const rs_field *f, void *at, const void *root, rs_wire_reader *r)
{
    uint64_t most = UINT64_MAX >> (64 - 8 * f->size), value = rs_wire_unsigned(r);
    if (value > most) r->bad = true;
    value = (value - 1) & most;
    if (f->bounded) {
        uint64_t limit = f->limit_here ? count_at(root, (size_t)f->limit) : f->limit;
        if (value >= limit && !(f->optional && value == most)) r->bad = true;
    }
    store_unsigned(at, f->size, r->bad ? 0 : value);
}

static void unpack_signed(const rs_field *f, void *at, rs_wire_reader *r)
{
    int64_t value = rs_wire_signed(r), most = (int64_t)(UINT64_MAX >> (65 - 8 * f->size));
    if (value > most || value < -most - 1) r->bad = true;
    store_unsigned(at, f->size, r->bad ? 0 : (uint64_t)value);
}

static void unpack_strings(rs_strings *strings, rs_wire_reader *r)
{
    uint64_t n = rs_wire_unsigned(r);
    rs_string *items = rs_wire_room(r, n, sizeof *items, 1);
    for (uint64_t i = 0; !r->bad && i < n; i++) {
        size_t length;
        items[i].text = rs_wire_text_n(r, &length);
        if (!items[i].text || length > UINT32_MAX) r->bad = true;
        items[i].length = (uint32_t)length;
    }
    if (r->bad) return;
    strings->items = items;
    strings->n = (size_t)n;
}

static void unpack_chars(const rs_field *f, void *at, rs_wire_reader *r)
{
    size_t length;
    const char *text = rs_wire_text_n(r, &length);
    if (!text || length >= f->size)
        r->bad = true;
    else
        memcpy(at, text, length + 1);
}

static void unpack_one(const rs_field *f, void *base, void *at, const void *root, rs_wire_reader *r)
{
    double real;
    char *text;
    size_t length;
    switch ((rs_field_kind)f->kind) {
    case RS_AS_SIGNED: unpack_signed(f, at, r); break;
    case RS_AS_UNSIGNED: unpack_unsigned(f, at, root, r); break;
    case RS_AS_BOOL: *(bool *)at = rs_wire_bool(r); break;
    case RS_AS_REAL:
        real = rs_wire_real(r);
        memcpy(at, &real, sizeof real);
        break;
    case RS_AS_TEXT:
    case RS_AS_TEXT_N:
        text = rs_wire_text_n(r, &length);
        if (!text && !f->optional) r->bad = true;
        memcpy(at, &text, sizeof text);
        if (f->kind == RS_AS_TEXT_N) memcpy((char *)base + f->n_offset, &length, sizeof length);
        break;
    case RS_AS_CHARS: unpack_chars(f, at, r); break;
    case RS_AS_STRINGS: unpack_strings(at, r); break;
    case RS_AS_STRUCT: unpack_struct(f->layout, at, root, r); break;
    }
}

static void unpack_struct(const rs_layout *layout, void *value, const void *root, rs_wire_reader *r)
{
    for (size_t i = 0; !r->bad && i < n_fields(layout); i++) {
        const rs_field *f = rs_layout_field(layout, i);
        if (f->size == 0) continue;
        char *at = (char *)value + f->offset;
        size_t n = f->count;
        if (f->place != RS_HERE) {
            uint64_t packed = rs_wire_unsigned(r);
            if (f->place == RS_ONE && (packed > 1 || (packed == 0 && !f->optional))) r->bad = true;
            if (f->place == RS_ROW && packed != count_at(root, f->n_offset)) r->bad = true;
            char *items = f->place == RS_ONE && packed == 0
                              ? NULL
                              : rs_wire_room(r, packed, f->size, f->layout ? least_bytes(f->layout) : 1);
            if (r->bad) return;
            n = (size_t)packed;
            memcpy(at, &items, sizeof items);
            at = items;
        }
        const void *its_root = f->place == RS_ONE ? at : root;
        for (size_t k = 0; !r->bad && k < n; k++) unpack_one(f, value, at + k * f->size, its_root, r);
        /* the count is set last, when the elements that it promises exist */
        if (!r->bad && f->place == RS_LIST) memcpy((char *)value + f->n_offset, &n, sizeof n);
    }
    if (!r->bad && layout->check && !layout->check(value)) r->bad = true;
}

void *rs_layout_unpack(const rs_layout *layout, rs_wire_reader *r)
{
    void *value = rs_wire_room(r, 1, layout->size, least_bytes(layout));
    if (value) unpack_struct(layout, value, value, r);
    return r->bad ? NULL : value;
}
