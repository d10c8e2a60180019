/* What a file looks like from outside, so that a change of it is noticed without reading it. */
#pragma once

#include "base/wire.h"

/* One file of a source. */
typedef struct rs_stamp {
    const char *path; /* absolute, without links */
    uint64_t size, inode;
    int64_t modified, changed; /* ns: of the contents; of anything, which no program can set */
    uint64_t samples;          /* hash of pieces of its bytes */
} rs_stamp;

/* Adds the stamp of a file. false: it is no regular file that can be read, or it changed a moment ago, so that
 * another change might leave the same times. */
bool rs_stamp_put(rs_wire_writer *w, const char *path);
/* Reads one back; the path lives in the reader's arena. */
bool rs_stamp_take(rs_wire_reader *r, rs_stamp *out);
/* Whether all files of these stamps still are as they say. */
bool rs_stamps_hold(const void *stamps, size_t n);
/* The same, which tells it from missing memory: then, and only then, it fails. */
rs_status rs_stamps_check(const void *stamps, size_t n, bool *hold, rs_error *err);
/* The path as stamps have it; NULL: there is no such file. Freed with free(). */
char *rs_absolute_path(const char *path);
