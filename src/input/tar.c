#include "input/tar.h"

#include <string.h>

#define BLOCK 512

/* A number field of 12 bytes at most: octal text, or base 256 when its first bit is set. */
static bool number(const uint8_t *p, size_t n, uint64_t *out)
{
    uint64_t v = 0;
    if (p[0] & 0x80) {
        v = p[0] & 0x7f;
        for (size_t i = 1; i < n; i++) {
            if (v >> 55) return false;
            v = v << 8 | p[i];
        }
        *out = v;
        return true;
    }
    size_t i = 0;
    while (i < n && p[i] == ' ') i++;
    for (; i < n && p[i] >= '0' && p[i] <= '7'; i++) v = v << 3 | (uint64_t)(p[i] - '0');
    if (i < n && p[i] != 0 && p[i] != ' ') return false;
    *out = v;
    return true;
}

static bool header_holds(const uint8_t *h)
{
    uint64_t stored, sum = 0;
    if (h[0] == 0 || !number(h + 148, 8, &stored)) return false;
    for (size_t i = 0; i < BLOCK; i++) sum += i >= 148 && i < 156 ? ' ' : h[i];
    return sum == stored;
}

bool rs_tar_looks(const uint8_t *bytes, size_t n)
{
    return n >= BLOCK && header_holds(bytes);
}

static void set_name(rs_tar_member *member, const uint8_t *name, size_t n)
{
    const uint8_t *stop = memchr(name, 0, n);
    if (stop) n = (size_t)(stop - name);
    if (n >= sizeof member->name) {
        name += n - (sizeof member->name - 1);
        n = sizeof member->name - 1;
    }
    memcpy(member->name, name, n);
    member->name[n] = '\0';
}

/* "27 path=some/name\n" records of a pax header. */
static void pax_path(rs_tar_member *member, const uint8_t *p, size_t n)
{
    while (n) {
        size_t length = 0, i = 0;
        for (; i < n && p[i] >= '0' && p[i] <= '9' && length < n; i++)
            length = length * 10 + (size_t)(p[i] - '0');
        if (i == n || p[i] != ' ' || length <= i + 1 || length > n || p[length - 1] != '\n') return;
        if (length - i > 6 && memcmp(p + i + 1, "path=", 5) == 0) set_name(member, p + i + 6, length - i - 7);
        p += length;
        n -= length;
    }
}

bool rs_tar_next(rs_tar *tar, rs_tar_member *member)
{
    bool named = false;
    while (tar->size - tar->at >= BLOCK) {
        const uint8_t *h = tar->bytes + tar->at;
        uint64_t size;
        if (h[0] == 0) return false; /* the zero blocks at the end */
        if (!header_holds(h) || !number(h + 124, 12, &size)) {
            tar->cut = true;
            return false;
        }
        tar->at += BLOCK;
        size_t left = tar->size - tar->at, there = size < left ? (size_t)size : left;
        if (there < size) tar->cut = true;
        const uint8_t *bytes = tar->bytes + tar->at;
        size_t padded = there + (BLOCK - there % BLOCK) % BLOCK;
        tar->at += padded < left ? padded : left;
        switch (h[156]) {
        case 'L':
            set_name(member, bytes, there);
            named = true;
            continue;
        case 'x':
            member->name[0] = '\0';
            pax_path(member, bytes, there);
            named = member->name[0] != '\0';
            continue;
        case '0':
        case 0:
        case '7': break;
        default: named = false; continue;
        }
        if (!named) {
            uint8_t joined[155 + 1 + 100 + 1]; /* prefix, slash, name, end */
            size_t n = 0;
            if (memcmp(h + 257, "ustar\0", 6) == 0 && h[345]) {
                while (n < 155 && h[345 + n]) n++;
                memcpy(joined, h + 345, n);
                joined[n++] = '/';
            }
            memcpy(joined + n, h, 100);
            joined[n + 100] = 0;
            set_name(member, joined, n + 100);
        }
        member->bytes = bytes;
        member->size = there;
        return true;
    }
    if (tar->at < tar->size) tar->cut = true;
    return false;
}
