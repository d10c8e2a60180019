/* Members of a tar archive that is in memory: ustar, GNU long names and pax paths. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct rs_tar {
    const uint8_t *bytes;
    size_t size, at;
    bool cut; /* the archive ends inside a member, or a header is damaged */
} rs_tar;

typedef struct rs_tar_member {
    char name[512]; /* terminated; longer names keep their end, where the rank stands */
    const uint8_t *bytes;
    size_t size;
} rs_tar_member;

/* Whether bytes begin with a tar header (its checksum holds). */
bool rs_tar_looks(const uint8_t *bytes, size_t n);

/* The next regular file; false at the end. Start with {.bytes, .size}. A member that is cut short is given
 * with the bytes there are. */
bool rs_tar_next(rs_tar *tar, rs_tar_member *member);
