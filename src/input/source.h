/* Bytes of any input: a file, standard input or memory, plain, gzip or zstd. The packing is identified by the first
 * bytes, never by the name. */
#pragma once

#include "base/problems.h"
#include "rankscope/file.h"

typedef enum rs_packing { RS_PACKING_PLAIN, RS_PACKING_GZIP, RS_PACKING_ZSTD } rs_packing;

typedef struct rs_source rs_source;

/* How the compressed bytes ended, once rs_source_read has reported the end of the text. */
typedef struct rs_source_end {
    bool truncated;   /* the compressed stream breaks off */
    bool corrupt;     /* ... or does not decode from here on */
    bool checksum;    /* decoded, but the stored checksum differs */
    bool trailing;    /* bytes after the last member that are no member were left alone */
    uint64_t offset;  /* byte of the file at which that was noticed */
    uint32_t members; /* gzip members or zstd frames seen */
    /* Text that its checksum does not prove: from the beginning of the first damaged member or frame to the end of
     * the last. The rest is as it was packed. Empty where nothing is damaged; a cut alone damages nothing. */
    uint64_t doubt_from, doubt_to;
} rs_source_end;

/* Opens a path ("-": standard input). max_ratio: text bytes allowed for each compressed byte, 0: 1000.
 * The path is copied. */
rs_status rs_source_open(const char *path, uint64_t max_ratio, rs_source **out, rs_error *err);
/* The bytes are borrowed until rs_source_close. */
rs_status rs_source_open_bytes(const void *bytes, size_t n, const char *name, uint64_t max_ratio,
                               rs_source **out, rs_error *err);
/* Fetched by ranges, one behind the other. remote is borrowed until rs_source_close. */
rs_status rs_source_open_remote(const rs_remote *remote, const char *name, uint64_t max_ratio,
                                rs_source **out, rs_error *err);
void rs_source_close(rs_source *source); /* NULL is allowed */

/* Reads up to n bytes of text; fewer only at the end, *got == 0 then. Damage in the packing is no error: the
 * text ends there and rs_source_get_end tells why. Errors: RS_ERR_IO, RS_ERR_LIMIT (ratio), RS_ERR_NOMEM. */
rs_status rs_source_read(rs_source *source, void *text, size_t n, size_t *got, rs_error *err);

/* The beginning of the text, at most max bytes (up to RS_SOURCE_PEEK): they stay unread. Only before the
 * first rs_source_read. The text is the source's, valid until it is closed. */
#define RS_SOURCE_PEEK 4096
rs_status rs_source_peek(rs_source *source, size_t max, const uint8_t **text, size_t *n, rs_error *err);

rs_packing rs_source_packing(const rs_source *source);
const char *rs_packing_name(rs_packing packing); /* "plain", "gzip", "zstd" */
const char *rs_source_name(const rs_source *source);
rs_source_end rs_source_get_end(const rs_source *source);
/* Adds what is wrong with the packing, once the end was reached, as losses of that rank (-1: none): packing_truncated,
 * packing_corrupt, packing_checksum, packing_trailing. Offsets count packed bytes. */
void rs_source_report_end(const rs_source *source, int64_t rank, rs_problems *problems);
uint64_t rs_source_bytes_in(const rs_source *source);    /* of the file, so far; any thread may ask */
uint64_t rs_source_bytes_total(const rs_source *source); /* 0 if unknown */

/* The whole text, when it lies plain in memory; NULL otherwise. */
const uint8_t *rs_source_memory(const rs_source *source, size_t *n);

/* Reads n bytes of a plain regular file at an offset, for readers that work on several places at once; fewer
 * only at its end. Thread-safe. */
bool rs_source_is_seekable(const rs_source *source);
rs_status rs_source_read_at(rs_source *source, uint64_t offset, void *text, size_t n, size_t *got,
                            rs_error *err);

/* Reads the whole text into one block of at most max_bytes (RS_ERR_LIMIT beyond), with 64 zero bytes after
 * it. The caller frees it with rs_free. */
rs_status rs_source_read_all(rs_source *source, size_t max_bytes, uint8_t **text, size_t *n, rs_error *err);
