/* Members of a zip archive that is in memory: stored or deflated, as workbooks have them. No encryption, no
 * archive in several parts, no member of 4 GiB or more. */
#pragma once

#include "rankscope/status.h"

typedef struct rs_zip {
    const uint8_t *bytes; /* borrowed */
    size_t size;
    size_t directory; /* where the list of members begins */
    size_t n;         /* how many it has, by its own account */
} rs_zip;

typedef struct rs_zip_member {
    const char *name; /* in the archive; not terminated */
    size_t name_length;
    unsigned method; /* 0: stored, 8: deflated */
    uint32_t check;  /* CRC-32 of the text */
    size_t packed, text;
    size_t header; /* of the member itself */
} rs_zip_member;

/* Finds the list of members. RS_ERR_FORMAT, with what is wrong, for what is no such archive; `file` is for
 * messages. */
rs_status rs_zip_open(const void *bytes, size_t size, const char *file, rs_zip *out, rs_error *err);

bool rs_zip_find(const rs_zip *zip, const char *name, rs_zip_member *member);

/* The text of a member, terminated; the caller frees it with rs_free. RS_ERR_LIMIT above max_bytes;
 * RS_ERR_FORMAT for damage, also where the text is not what its checksum says. */
rs_status rs_zip_read(const rs_zip *zip, const rs_zip_member *member, size_t max_bytes, const char *file,
                      char **text, size_t *n, rs_error *err);
