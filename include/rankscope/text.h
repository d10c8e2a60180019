/* Where text goes, how it is packed, and short forms of numbers and names for people. */
#ifndef RANKSCOPE_TEXT_H
#define RANKSCOPE_TEXT_H

#include "rankscope/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where bytes go. write returns false when the sink failed; writing stops then. */
typedef struct rs_sink {
    bool (*write)(void *context, const char *bytes, size_t n);
    void *context;
} rs_sink;

/* ---- packing ----------------------------------------------------------------------------------------- */

typedef enum rs_pack { RS_PACK_NONE, RS_PACK_GZIP, RS_PACK_ZSTD } rs_pack;

/* Packs what is written through it: gzip or zstd, or nothing. */
typedef struct rs_packer rs_packer;

/* By the end of a file's name: .gz, .zst, else none. */
RS_API rs_pack rs_pack_of_name(const char *name);

/* The sink is borrowed. */
RS_API rs_status rs_packer_open(rs_pack pack, const rs_sink *sink, rs_packer **out, rs_error *err);
/* What is written here comes out packed; valid until the packer is closed. */
RS_API rs_sink rs_packer_sink(rs_packer *packer);
/* Ends the stream. Nothing may be written afterwards. */
RS_API rs_status rs_packer_finish(rs_packer *packer, rs_error *err);
RS_API void rs_packer_close(rs_packer *packer); /* NULL is allowed */

/* ---- words for people -------------------------------------------------------------------------------- */

/* Human forms used by the text renderer and by sentences. Each writes into out (terminated) and returns out.
 * None depends on the locale. */
RS_API const char *rs_human_time(int64_t ns, char out[32]); /* "1.234 ms", "12.3 s" */
RS_API const char *rs_human_count(int64_t n, char out[32]); /* "1 234 567" */
RS_API const char *rs_human_bytes(int64_t n, char out[32]); /* "1.5 GiB" */
/* Shortens UTF-8 text in the middle to at most columns terminal columns. out_size must be >= 4 * columns + 8.
 */
RS_API const char *rs_shorten_middle(const char *text, size_t length, size_t columns, char *out,
                                     size_t out_size);

#ifdef __cplusplus
}
#endif
#endif
