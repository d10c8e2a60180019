/* What a file that is given without a word about it holds. */
#define _GNU_SOURCE
#include <string.h>

#include "format/format.h"
#include "rankscope/job.h"

/* Chrome's event format is what a JSON text is taken for that no reader claims, so it has to show a key of it. */
static bool looks_like_events(const uint8_t *text, size_t n)
{
    static const char *const keys[] = {"\"traceEvents\"", "\"schemaVersion\"", "\"deviceProperties\"",
                                       "\"displayTimeUnit\"", "\"baseTimeNanoseconds\""};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (memmem(text, n, keys[i], strlen(keys[i]))) return true;
    return text[0] == '[' && memmem(text, n, "\"ph\"", 4);
}

rs_content rs_content_of(const void *text, size_t n)
{
    const rs_format *format = n ? rs_format_of_text(text, n) : NULL;
    if (!format) return RS_CONTENT_OTHER;
    if (format->records == RS_RECORDS_ALLOCATIONS) return RS_CONTENT_SNAPSHOT;
    if (format->records == RS_RECORDS_COMPILATIONS) return RS_CONTENT_COMPILATIONS;
    bool trace =
        format->records == RS_RECORDS_EVENTS && (format != &rs_format_kineto || looks_like_events(text, n));
    return trace ? RS_CONTENT_TRACE : RS_CONTENT_OTHER;
}
