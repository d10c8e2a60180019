/* Sorting by declared keys: rows of any struct, stable, the same on every machine. It cannot fail.
 *
 *     static const rs_order by_time[] = {RS_FALLING(kernel, time.sum), RS_RISING(kernel, name)};
 *     RS_SORT(kernels, n, by_time); */
#pragma once

#include "base/layout.h"

typedef struct rs_order {
    uint32_t offset;
    uint8_t size, kind; /* of the member; kind: rs_field_kind, numbers and texts */
    bool falling;
    bool is_id; /* the id of a text: compared as the text */
} rs_order;

/* What is unknown (NULL, RS_NO_STRING, NaN) comes last in either direction. A text is a pointer: an array of characters is a
 * compiler's error. */
#define RS_ORDERED(type, member, falls, id)                                                                  \
    {                                                                                                        \
        offsetof(type, member) + RS_NO_ARRAY(RS_MEMBER(type, member)), sizeof RS_MEMBER(type, member),       \
            RS_KIND_OF(RS_MEMBER(type, member)), falls, id                                                   \
    }
#define RS_NO_ARRAY(of)                                                                                      \
    (0 * sizeof(char[RS_KIND_OF(of) != RS_AS_TEXT || sizeof(of) == sizeof(char *) ? 1 : -1]))
#define RS_RISING(type, member) RS_ORDERED(type, member, false, false)
#define RS_FALLING(type, member) RS_ORDERED(type, member, true, false)
/* Of rows that are numbers or texts themselves: static const rs_order up[] = {RS_RISING_VALUE(int64_t)}; */
#define RS_RISING_VALUE(type)                                                                                \
    {                                                                                                        \
        0, sizeof(type), RS_KIND_OF(*(type *)0), false, false                                                \
    }
#define RS_RISING_TEXT(type, member) RS_ORDERED(type, member, false, true)

/* Below, at or above 0, as a comes before b. texts: what ids are of; NULL when no key is one. */
int rs_order_compare(const void *a, const void *b, const rs_order *keys, size_t n_keys,
                     const rs_strings *texts);
#define RS_COMPARE(keys, a, b) rs_order_compare(a, b, keys, sizeof(keys) / sizeof *(keys), NULL)
/* Rows that are equal by all keys stay in their order. O(n log n), and O(n) where they are in order already; without memory
 * for half of the rows O(n log^2 n). */
void rs_sort(void *rows, size_t n, size_t size, const rs_order *keys, size_t n_keys, const rs_strings *texts);
#define RS_SORT(rows, n, keys) rs_sort(rows, n, sizeof *(rows), keys, sizeof(keys) / sizeof *(keys), NULL)
