/* Words of memory as files have them: the lowest byte comes first, on every machine. */
#pragma once

#include <stdint.h>
#include <string.h>

static inline uint64_t rs_little_word(uint64_t word)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return __builtin_bswap64(word);
#else
    return word;
#endif
}

static inline uint64_t rs_little_read(const void *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return rs_little_word(word);
}

static inline void rs_little_write(void *at, uint64_t word)
{
    word = rs_little_word(word);
    memcpy(at, &word, sizeof word);
}
