/* Writes pickles as Python does, for tests of what reads them: a call an opcode or value. Included after support.h. */
#pragma once

typedef struct pickler {
    text t;
    int protocol; /* 2 to 5 */
    uint32_t memo;
} pickler;

static inline void pk_byte(pickler *p, int byte)
{
    char c = (char)byte;
    text_add(&p->t, &c, 1);
}

static inline void pk_number(pickler *p, uint64_t v, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++) pk_byte(p, (int)(v >> (8 * i) & 255));
}

/* Stores what is on top, as writers do with every container and text. Returns its id. */
static inline uint32_t pk_store(pickler *p)
{
    if (p->protocol >= 4) {
        pk_byte(p, 0x94);
    } else {
        pk_byte(p, 'r');
        pk_number(p, p->memo, 4);
    }
    return p->memo++;
}

static inline void pk_get(pickler *p, uint32_t id)
{
    pk_byte(p, 'j');
    pk_number(p, id, 4);
}

static inline pickler pk_begin(int protocol)
{
    pickler p = {.protocol = protocol};
    pk_byte(&p, 0x80);
    pk_byte(&p, protocol);
    return p;
}

static inline void pk_end(pickler *p)
{
    pk_byte(p, '.');
}

static inline uint32_t pk_text(pickler *p, const char *s)
{
    size_t n = strlen(s);
    if (p->protocol >= 4 && n < 256) {
        pk_byte(p, 0x8c);
        pk_byte(p, (int)n);
    } else {
        pk_byte(p, 'X');
        pk_number(p, n, 4);
    }
    text_add(&p->t, s, n);
    return pk_store(p);
}

static inline void pk_int(pickler *p, int64_t v)
{
    if (v >= 0 && v < 256) {
        pk_byte(p, 'K');
        pk_number(p, (uint64_t)v, 1);
    } else {
        pk_byte(p, 0x8a);
        pk_byte(p, 8);
        pk_number(p, (uint64_t)v, 8);
    }
}

/* 2^63 and more: eight bytes and a sign. */
static inline void pk_unsigned(pickler *p, uint64_t v)
{
    pk_byte(p, 0x8a);
    pk_byte(p, 9);
    pk_number(p, v, 8);
    pk_byte(p, 0);
}

static inline uint32_t pk_open_dict(pickler *p)
{
    pk_byte(p, '}');
    uint32_t id = pk_store(p);
    pk_byte(p, '(');
    return id;
}

static inline void pk_close_dict(pickler *p)
{
    pk_byte(p, 'u');
}

static inline uint32_t pk_open_list(pickler *p)
{
    pk_byte(p, ']');
    uint32_t id = pk_store(p);
    pk_byte(p, '(');
    return id;
}

static inline void pk_close_list(pickler *p)
{
    pk_byte(p, 'e');
}

static inline void pk_key_int(pickler *p, const char *key, int64_t v)
{
    pk_text(p, key);
    pk_int(p, v);
}

static inline void pk_key_text(pickler *p, const char *key, const char *v)
{
    pk_text(p, key);
    pk_text(p, v);
}
