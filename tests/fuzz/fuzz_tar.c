/* Archives whose headers are well sealed, so that the bytes come as far as they can, and their text line by line. Members
 * lie within the archive, one behind the other, with names that end; lines put together are the text. */
#include <string.h>

#include "fuzz.h"
#include "input/lines.h"
#include "input/tar.h"

#define BLOCK 512

static void seal(uint8_t *h)
{
    unsigned sum = 0;
    char field[8];
    memset(h + 148, ' ', 8);
    for (size_t i = 0; i < BLOCK; i++) sum += h[i];
    snprintf(field, sizeof field, "%06o", sum);
    memcpy(h + 148, field, sizeof field);
}

static void check_members(const uint8_t *bytes, size_t n)
{
    rs_tar tar = {.bytes = bytes, .size = n};
    rs_tar_member m;
    for (size_t at = 0; rs_tar_next(&tar, &m); at = tar.at) {
        PROMISE(tar.at > at && tar.at <= n);
        PROMISE(m.bytes >= bytes + at + BLOCK && m.size <= n && m.bytes + m.size <= bytes + tar.at);
        PROMISE(memchr(m.name, 0, sizeof m.name));
    }
    PROMISE(tar.at <= n);
}

static void check_lines(const uint8_t *bytes, size_t n)
{
    rs_error err = RS_ERROR_INIT;
    rs_source *source;
    rs_lines lines;
    rs_line_text line;
    rs_status status;
    uint64_t at = 0, number = 0;
    /* packed bytes are fuzz_gzip's */
    if ((n >= 2 && bytes[0] == 0x1f) || (n >= 4 && bytes[3] == 0xfd)) return;
    PROMISE(rs_source_open_bytes(bytes, n, "input", 0, &source, &err) == RS_OK);
    if (rs_source_packing(source) != RS_PACKING_PLAIN) {
        rs_source_close(source);
        return;
    }
    PROMISE(rs_lines_open(source, &lines, &err) == RS_OK);
    while (rs_lines_next(&lines, &line, &status, &err)) {
        PROMISE(line.offset == at && line.number == ++number && !line.too_long);
        PROMISE(at + line.n <= n && memcmp(line.text, bytes + at, line.n) == 0);
        PROMISE(!memchr(line.text, '\n', line.n));
        at += line.n;
        PROMISE(line.whole ? bytes[at] == '\n' : at == n);
        at += line.whole;
    }
    PROMISE(status == RS_OK && at == n);
    rs_lines_close(&lines);
    rs_source_close(source);
}

int fuzz_one(const uint8_t *data, size_t n)
{
    uint8_t *bytes = calloc(n + !n, 1);
    PROMISE(bytes);
    if (n) memcpy(bytes, data, n);
    rs_tar_looks(bytes, n);
    check_lines(bytes, n);
    check_members(bytes, n);
    for (size_t at = 0; at + BLOCK <= n; at += BLOCK)
        if (bytes[at]) seal(bytes + at);
    check_members(bytes, n);
    free(bytes);
    return 0;
}
