/* A file's text, and what a trace's file says beside its events. */
#ifndef RANKSCOPE_FILE_H
#define RANKSCOPE_FILE_H

#include "rankscope/text.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes that lie neither in a file nor in memory, such as in an object store: they are fetched by ranges, as they are
 * needed, and never held whole. Experimental. */
typedef struct rs_remote {
    /* Up to n bytes from an offset on; fewer only at the end. Called by any thread, also by several at once. */
    rs_status (*fetch)(void *context, uint64_t offset, void *bytes, size_t n, size_t *got, rs_error *err);
    void *context;
    uint64_t size; /* of all bytes; 0: not known */
} rs_remote;

/* Writes the text of a file, unpacked: gzip and zstd are told by its first bytes, not by its name. max_ratio:
 * text bytes allowed for each packed byte, 0: 1000. RS_ERR_IO, RS_ERR_LIMIT. */
RS_API rs_status rs_file_text(const char *path, uint64_t max_ratio, const rs_sink *sink, rs_error *err);

/* Reads the first bytes of a file's text, unpacked: room of them, fewer (*n) only where it ends or breaks off. RS_ERR_IO,
 * RS_ERR_NOMEM. */
RS_API rs_status rs_file_begin(const char *path, void *text, size_t room, size_t *n, rs_error *err);

/* Writes the members of a JSON trace's outermost object but traceEvents, as an object. A file that breaks off
 * has those in front of the break. Takes memory for the whole text. RS_ERR_FORMAT: it is no JSON object. */
RS_API rs_status rs_file_header(const char *path, uint64_t max_ratio, const rs_sink *sink, rs_error *err);

#ifdef __cplusplus
}
#endif
#endif
