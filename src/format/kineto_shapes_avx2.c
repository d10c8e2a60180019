#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#include <string.h>

#include "format/kineto_shapes.h"

static inline uint32_t equal32(const uint8_t *a, const uint8_t *b)
{
    __m256i x = _mm256_loadu_si256((const __m256i *)a), y = _mm256_loadu_si256((const __m256i *)b);
    return (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(x, y));
}

static inline bool literal_matches(const uint8_t *p, const rs_edge *edge)
{
    uint32_t low = (uint32_t)edge->mask, high = (uint32_t)(edge->mask >> 32);
    if ((equal32(p, edge->literal) & low) != low) return false;
    return high == 0 || (equal32(p + 32, edge->literal + 32) & high) == high;
}

static inline bool same_bytes(const uint8_t *a, const uint8_t *b, size_t n)
{
    for (; n >= 32; n -= 32, a += 32, b += 32)
        if (equal32(a, b) != UINT32_MAX) return false;
    uint32_t mask = (UINT32_C(1) << n) - 1;
    return (equal32(a, b) & mask) == mask;
}

static inline const uint8_t *find_special(const uint8_t *p, const uint8_t *end, bool *high)
{
    const __m256i quote = _mm256_set1_epi8('"'), slash = _mm256_set1_epi8('\\'),
                  control = _mm256_set1_epi8(0x1f);
    for (; p < end; p += 32) {
        __m256i x = _mm256_loadu_si256((const __m256i *)p);
        __m256i hit = _mm256_or_si256(_mm256_cmpeq_epi8(x, quote), _mm256_cmpeq_epi8(x, slash));
        hit = _mm256_or_si256(hit, _mm256_cmpeq_epi8(_mm256_min_epu8(x, control), x));
        uint32_t mask = (uint32_t)_mm256_movemask_epi8(hit), tops = (uint32_t)_mm256_movemask_epi8(x);
        if (mask) {
            unsigned i = (unsigned)__builtin_ctz(mask);
            *high |= (tops & ((UINT32_C(1) << i) - 1)) != 0;
            return p + i;
        }
        *high |= tops != 0;
    }
    return p;
}

#define RS_RUN rs_shapes_run_avx2
#include "format/kineto_shapes_run.h"
#else
typedef int rs_no_avx2_here;
#endif
