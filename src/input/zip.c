#include "input/zip.h"

#include <isa-l/crc.h>
#include <isa-l/igzip_lib.h>
#include <string.h>

#include "base/memory.h"
#include "base/try.h"

/* Lengths of the fixed parts: of the end of the archive, of an entry of the list, of a member's header. */
enum { END_SIZE = 22, ENTRY_SIZE = 46, HEADER_SIZE = 30 };
/* A comment may follow the end of the archive. */
#define MOST_COMMENT 65535

static uint32_t number(const uint8_t *p, unsigned n)
{
    uint32_t v = 0;
    while (n--) v = v << 8 | p[n];
    return v;
}

static rs_status damaged(const char *file, uint64_t offset, const char *what, rs_error *err)
{
    return rs_fail_at(err, RS_ERR_FORMAT, file, offset, "damaged zip archive: %s", what);
}

rs_status rs_zip_open(const void *bytes, size_t size, const char *file, rs_zip *out, rs_error *err)
{
    const uint8_t *p = bytes;
    *out = (rs_zip){.bytes = p, .size = size};
    if (size < END_SIZE) return damaged(file, RS_NO_OFFSET, "it is too short", err);
    size_t last = size - END_SIZE, least = last > MOST_COMMENT ? last - MOST_COMMENT : 0, at = last;
    while (at > least && memcmp(p + at, "PK\5\6", 4) != 0) at--;
    if (memcmp(p + at, "PK\5\6", 4) != 0) return damaged(file, RS_NO_OFFSET, "its end is missing", err);
    out->n = number(p + at + 10, 2);
    out->directory = number(p + at + 16, 4);
    if (out->directory > at) return damaged(file, at, "its list of members is elsewhere", err);
    return RS_OK;
}

/* The next member of the list; false at its end and where it is damaged. Start with *at == 0. */
static bool zip_next(const rs_zip *zip, size_t *at, rs_zip_member *member)
{
    if (*at == 0) *at = zip->directory;
    if (*at > zip->size || zip->size - *at < ENTRY_SIZE) return false;
    const uint8_t *p = zip->bytes + *at;
    if (memcmp(p, "PK\1\2", 4) != 0) return false;
    size_t name = number(p + 28, 2), more = number(p + 30, 2) + number(p + 32, 2);
    if (zip->size - *at - ENTRY_SIZE < name + more) return false;
    *member = (rs_zip_member){.name = (const char *)p + ENTRY_SIZE,
                              .name_length = name,
                              .method = number(p + 10, 2),
                              .check = number(p + 16, 4),
                              .packed = number(p + 20, 4),
                              .text = number(p + 24, 4),
                              .header = number(p + 42, 4)};
    *at += ENTRY_SIZE + name + more;
    return true;
}

bool rs_zip_find(const rs_zip *zip, const char *name, rs_zip_member *member)
{
    size_t length = strlen(name);
    for (size_t at = 0; zip_next(zip, &at, member);)
        if (member->name_length == length && memcmp(member->name, name, length) == 0) return true;
    return false;
}

/* Whether all of the text came out. */
static bool inflate_all(struct inflate_state *state, const uint8_t *from, size_t packed, char *text, size_t n)
{
    isal_inflate_init(state);
    state->crc_flag = ISAL_DEFLATE;
    state->next_in = (uint8_t *)(uintptr_t)from;
    state->avail_in = (uint32_t)packed;
    state->next_out = (uint8_t *)text;
    state->avail_out = (uint32_t)n;
    return isal_inflate(state) == ISAL_DECOMP_OK && state->avail_out == 0;
}

static bool unpack(const rs_zip_member *member, const uint8_t *from, char *text, struct inflate_state *state)
{
    if (member->text == 0) return true;
    if (member->method == 8) return inflate_all(state, from, member->packed, text, member->text);
    memcpy(text, from, member->text);
    return true;
}

/* Where the packed bytes of a member begin. */
static rs_status find_bytes(const rs_zip *zip, const rs_zip_member *member, const char *file,
                            const uint8_t **from, rs_error *err)
{
    const uint8_t *p = zip->bytes + member->header;
    if (member->header > zip->size || zip->size - member->header < HEADER_SIZE || memcmp(p, "PK\3\4", 4) != 0)
        return damaged(file, member->header, "a member is not where the list says", err);
    size_t skip = HEADER_SIZE + number(p + 26, 2) + number(p + 28, 2), left = zip->size - member->header;
    if (left < skip || left - skip < member->packed)
        return damaged(file, member->header, "a member is cut", err);
    *from = p + skip;
    return RS_OK;
}

rs_status rs_zip_read(const rs_zip *zip, const rs_zip_member *member, size_t max_bytes, const char *file,
                      char **text, size_t *n, rs_error *err)
{
    const uint8_t *from = NULL;
    *text = NULL;
    *n = member->text;
    RS_TRY(find_bytes(zip, member, file, &from, err));
    if (member->text > max_bytes)
        return rs_fail_at(err, RS_ERR_LIMIT, file, member->header,
                          "%.*s holds %zu bytes of text, more than the %zu that are read",
                          (int)(member->name_length < 200 ? member->name_length : 200), member->name,
                          member->text, max_bytes);
    if (member->method != 0 && member->method != 8)
        return damaged(file, member->header, "a member is packed in an unknown way", err);
    /* deflate packs 1032 bytes into one at best: a larger claim is not allocated */
    if (member->method == 8 ? member->text / 1100 > member->packed : member->text != member->packed)
        return damaged(file, member->header, "a member claims more text than it can hold", err);
    char *made = rs_malloc(member->text + 1);
    RS_LOCAL struct inflate_state *state = rs_malloc(sizeof *state);
    rs_status status = made && state ? RS_OK : rs_fail_nomem(err, "a member of a zip archive");
    if (status == RS_OK && (!unpack(member, from, made, state) ||
                            crc32_gzip_refl(0, (const unsigned char *)made, member->text) != member->check))
        status = damaged(file, member->header, "the text of a member does not unpack", err);
    if (status != RS_OK) {
        rs_free(made);
        return status;
    }
    made[member->text] = '\0';
    *text = made;
    return RS_OK;
}
