/* The level every machine of its kind has: SSE2 on x86-64, NEON on AArch64. */
#if defined(__x86_64__) || defined(__aarch64__)
#include <string.h>

#include "format/kineto_shapes.h"

#if defined(__x86_64__)
#include <emmintrin.h>

/* One bit a byte. */
#define BITS_A_BYTE 1
typedef __m128i vector;
static inline vector load(const uint8_t *p)
{
    return _mm_loadu_si128((const __m128i *)p);
}
static inline uint64_t equal(vector x, vector y)
{
    return (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(x, y));
}
static inline uint64_t special(vector x, uint64_t *tops)
{
    vector hit = _mm_or_si128(_mm_cmpeq_epi8(x, _mm_set1_epi8('"')), _mm_cmpeq_epi8(x, _mm_set1_epi8('\\')));
    hit = _mm_or_si128(hit, _mm_cmpeq_epi8(_mm_min_epu8(x, _mm_set1_epi8(0x1f)), x));
    *tops = (uint32_t)_mm_movemask_epi8(x);
    return (uint32_t)_mm_movemask_epi8(hit);
}
#else
#include <arm_neon.h>

/* Four bits a byte: NEON has no movemask, but narrowing shifts make this one. */
#define BITS_A_BYTE 4
typedef uint8x16_t vector;
static inline vector load(const uint8_t *p)
{
    return vld1q_u8(p);
}
static inline uint64_t nibbles(uint8x16_t v)
{
    return vget_lane_u64(vreinterpret_u64_u8(vshrn_n_u16(vreinterpretq_u16_u8(v), 4)), 0);
}
static inline uint64_t equal(vector x, vector y)
{
    return nibbles(vceqq_u8(x, y));
}
static inline uint64_t special(vector x, uint64_t *tops)
{
    uint8x16_t hit = vorrq_u8(vceqq_u8(x, vdupq_n_u8('"')), vceqq_u8(x, vdupq_n_u8('\\')));
    *tops = nibbles(vcgeq_u8(x, vdupq_n_u8(0x80)));
    return nibbles(vorrq_u8(hit, vcltq_u8(x, vdupq_n_u8(0x20))));
}
#endif

#define ALL_BITS (BITS_A_BYTE == 4 ? UINT64_MAX : UINT64_C(0xffff))

static inline bool same_bytes(const uint8_t *a, const uint8_t *b, size_t n)
{
    for (; n >= 16; n -= 16, a += 16, b += 16)
        if (equal(load(a), load(b)) != ALL_BITS) return false;
    if (n == 0) return true;
    uint64_t mask = ALL_BITS >> ((16 - n) * BITS_A_BYTE);
    return (equal(load(a), load(b)) & mask) == mask;
}

static inline bool literal_matches(const uint8_t *p, const rs_edge *edge)
{
    return same_bytes(p, edge->literal, edge->length);
}

static inline const uint8_t *find_special(const uint8_t *p, const uint8_t *end, bool *high)
{
    for (; p < end; p += 16) {
        uint64_t tops, mask = special(load(p), &tops);
        if (mask) {
            unsigned bit = (unsigned)__builtin_ctzll(mask);
            *high |= (tops & ((UINT64_C(1) << bit) - 1)) != 0;
            return p + bit / BITS_A_BYTE;
        }
        *high |= tops != 0;
    }
    return p;
}

#define RS_RUN rs_shapes_run_128
#include "format/kineto_shapes_run.h"
#else
typedef int rs_no_128_here;
#endif
