/* FlatBuffers, written back to front. Alignment counts from the end, and the whole is padded to a multiple of the
 * widest, so what is aligned to the end is aligned to the start. */
#include "output/flat.h"

#include <string.h>

#include "base/memory.h"

enum { WIDEST = 8, MOST_BYTES = 1 << 30 };

void rs_flat_reset(rs_flat *flat)
{
    flat->used = 0;
    flat->failed = false;
    flat->n_fields = 0;
}

void rs_flat_clear(rs_flat *flat)
{
    rs_free(flat->bytes);
    *flat = (rs_flat){0};
}

static bool make_room(rs_flat *flat, size_t more)
{
    if (flat->failed || more > MOST_BYTES - flat->used) {
        flat->failed = true;
        return false;
    }
    if (flat->used + more <= flat->capacity) return true;
    size_t capacity = flat->capacity ? flat->capacity : 1024;
    while (capacity < flat->used + more) capacity *= 2;
    uint8_t *grown = rs_malloc(capacity);
    if (!grown) {
        flat->failed = true;
        return false;
    }
    if (flat->used)
        memcpy(grown + capacity - flat->used, flat->bytes + flat->capacity - flat->used, flat->used);
    rs_free(flat->bytes);
    flat->bytes = grown;
    flat->capacity = capacity;
    return true;
}

/* Puts bytes before what is built. */
static void push(rs_flat *flat, const void *bytes, size_t n)
{
    if (!make_room(flat, n)) return;
    flat->used += n;
    if (n) memcpy(flat->bytes + flat->capacity - flat->used, bytes, n);
}

/* Pads, so that what starts `n` bytes further towards the start is a multiple of `align` away from the end. */
static void align_for(rs_flat *flat, size_t n, size_t align)
{
    static const uint8_t zeros[WIDEST];
    push(flat, zeros, (align - (flat->used + n) % align) % align);
}

/* Numbers lie with their lowest byte first on every machine. */
static void push_number(rs_flat *flat, uint64_t value, size_t n)
{
    uint8_t bytes[8];
    for (size_t i = 0; i < n; i++) bytes[i] = (uint8_t)(value >> 8 * i);
    align_for(flat, n, n);
    push(flat, bytes, n);
}

/* A pointer is the distance from itself to what it points to. */
static void push_pointer(rs_flat *flat, rs_flat_place to)
{
    align_for(flat, 4, 4);
    push_number(flat, flat->used + 4 - to, 4);
}

static rs_flat_place here(const rs_flat *flat)
{
    return (rs_flat_place)flat->used;
}

rs_flat_place rs_flat_text(rs_flat *flat, const char *text)
{
    size_t n = strlen(text);
    if (n >= MOST_BYTES) {
        flat->failed = true;
        return 0;
    }
    align_for(flat, n + 1, 4);
    push(flat, text, n + 1);
    push_number(flat, n, 4);
    return here(flat);
}

rs_flat_place rs_flat_tables(rs_flat *flat, const rs_flat_place *tables, size_t n)
{
    align_for(flat, 4, 4);
    for (size_t i = n; i-- > 0;) push_pointer(flat, tables[i]);
    push_number(flat, n, 4);
    return here(flat);
}

rs_flat_place rs_flat_structs(rs_flat *flat, const int64_t *members, size_t n, size_t words)
{
    if (n > MOST_BYTES / (8 * words)) {
        flat->failed = true;
        return 0;
    }
    align_for(flat, 8, WIDEST);
    for (size_t i = n * words; i-- > 0;) push_number(flat, (uint64_t)members[i], 8);
    push_number(flat, n, 4);
    return here(flat);
}

/* ---- tables ------------------------------------------------------------------------------------------- */

void rs_flat_begin(rs_flat *flat)
{
    memset(flat->fields, 0, sizeof flat->fields);
    flat->n_fields = 0;
    flat->table_end = flat->used;
}

static void note(rs_flat *flat, unsigned member)
{
    flat->fields[member] = here(flat);
    if (member >= flat->n_fields) flat->n_fields = member + 1;
}

static void add_number(rs_flat *flat, unsigned member, uint64_t value, size_t n)
{
    push_number(flat, value, n);
    note(flat, member);
}

void rs_flat_byte(rs_flat *flat, unsigned member, uint8_t value)
{
    add_number(flat, member, value, 1);
}

void rs_flat_short(rs_flat *flat, unsigned member, int16_t value)
{
    add_number(flat, member, (uint16_t)value, 2);
}

void rs_flat_int(rs_flat *flat, unsigned member, int32_t value)
{
    add_number(flat, member, (uint32_t)value, 4);
}

void rs_flat_long(rs_flat *flat, unsigned member, int64_t value)
{
    add_number(flat, member, (uint64_t)value, 8);
}

void rs_flat_at(rs_flat *flat, unsigned member, rs_flat_place value)
{
    if (!value) return;
    push_pointer(flat, value);
    note(flat, member);
}

/* Before a table lies its index: its own length, the table's, and where in the table each member lies. The table
 * starts with the distance to its index. */
rs_flat_place rs_flat_end(rs_flat *flat)
{
    size_t index = 4 + 2 * flat->n_fields;
    align_for(flat, 4, 4);
    size_t table = flat->used + 4;
    push_number(flat, index, 4);
    for (size_t i = flat->n_fields; i-- > 0;)
        push_number(flat, flat->fields[i] ? table - flat->fields[i] : 0, 2);
    push_number(flat, table - flat->table_end, 2);
    push_number(flat, index, 2);
    return (rs_flat_place)table;
}

const uint8_t *rs_flat_finish(rs_flat *flat, rs_flat_place root, size_t *n)
{
    align_for(flat, 4, WIDEST);
    push_pointer(flat, root);
    *n = flat->used;
    return flat->failed ? NULL : flat->bytes + flat->capacity - flat->used;
}
