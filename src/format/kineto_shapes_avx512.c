#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#include <string.h>

#include "format/kineto_shapes.h"

static inline bool literal_matches(const uint8_t *p, const rs_edge *edge)
{
    return _mm512_mask_cmpneq_epi8_mask(edge->mask, _mm512_loadu_si512(p),
                                        _mm512_loadu_si512(edge->literal)) == 0;
}

static inline bool same_bytes(const uint8_t *a, const uint8_t *b, size_t n)
{
    for (; n >= 64; n -= 64, a += 64, b += 64)
        if (_mm512_cmpneq_epi8_mask(_mm512_loadu_si512(a), _mm512_loadu_si512(b))) return false;
    uint64_t mask = (UINT64_C(1) << n) - 1;
    return _mm512_mask_cmpneq_epi8_mask(mask, _mm512_loadu_si512(a), _mm512_loadu_si512(b)) == 0;
}

static inline const uint8_t *find_special(const uint8_t *p, const uint8_t *end, bool *high)
{
    const __m512i quote = _mm512_set1_epi8('"'), slash = _mm512_set1_epi8('\\'),
                  space = _mm512_set1_epi8(0x20);
    for (; p < end; p += 64) {
        __m512i x = _mm512_loadu_si512(p);
        uint64_t mask = _mm512_cmpeq_epi8_mask(x, quote) | _mm512_cmpeq_epi8_mask(x, slash) |
                        _mm512_cmplt_epu8_mask(x, space);
        uint64_t tops = _mm512_movepi8_mask(x);
        if (mask) {
            unsigned i = (unsigned)__builtin_ctzll(mask);
            *high |= (tops & ((UINT64_C(1) << i) - 1)) != 0;
            return p + i;
        }
        *high |= tops != 0;
    }
    return p;
}

#define RS_RUN rs_shapes_run_avx512
#include "format/kineto_shapes_run.h"
#else
typedef int rs_no_avx512_here;
#endif
