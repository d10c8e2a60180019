#include <string.h>

#include "format/kineto_shapes.h"

static inline bool literal_matches(const uint8_t *p, const rs_edge *edge)
{
    return memcmp(p, edge->literal, edge->length) == 0;
}

static inline bool same_bytes(const uint8_t *a, const uint8_t *b, size_t n)
{
    return memcmp(a, b, n) == 0;
}

static inline const uint8_t *find_special(const uint8_t *p, const uint8_t *end, bool *high)
{
    while (p < end && *p >= 0x20 && *p != '"' && *p != '\\') *high |= *p++ >= 0x80;
    return p;
}

#define RS_RUN rs_shapes_run_portable
#include "format/kineto_shapes_run.h"
