/* Where text goes, and short forms of numbers and names for people. */
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
