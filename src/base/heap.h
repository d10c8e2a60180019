/* Binary heaps in plain arrays: the element that is before all others is at place 0.
 *
 * before(a, b) is a function or macro over two elements, a total order. moved(at) is run for each place that an element was
 * stored at; RS_HEAP_UNMARKED does nothing. Each costs O(log n). */
#pragma once

#include <stddef.h>

#define RS_HEAP_UNMARKED(at) ((void)0)

/* Puts the variable x at the free place `from`, or at one of those above it. A new element comes from the place n. */
#define RS_HEAP_UP(items, from, x, before, moved)                                                            \
    do {                                                                                                     \
        size_t rs_at = (from);                                                                               \
        for (; rs_at && before((x), (items)[(rs_at - 1) / 2]); rs_at = (rs_at - 1) / 2) {                    \
            (items)[rs_at] = (items)[(rs_at - 1) / 2];                                                       \
            moved(rs_at);                                                                                    \
        }                                                                                                    \
        (items)[rs_at] = (x);                                                                                \
        moved(rs_at);                                                                                        \
    } while (0)

/* Puts the variable x at the free place 0, or at one of those below it; n elements with x. To take the first element of n:
 * take the last one out, which leaves n - 1, and put it at place 0. */
#define RS_HEAP_DOWN(items, n, x, before, moved)                                                             \
    do {                                                                                                     \
        size_t rs_at = 0;                                                                                    \
        for (size_t rs_child = 1; rs_child < (n); rs_child = 2 * rs_at + 1) {                                \
            if (rs_child + 1 < (n) && before((items)[rs_child + 1], (items)[rs_child])) rs_child++;          \
            if (!before((items)[rs_child], (x))) break;                                                      \
            (items)[rs_at] = (items)[rs_child];                                                              \
            moved(rs_at);                                                                                    \
            rs_at = rs_child;                                                                                \
        }                                                                                                    \
        (items)[rs_at] = (x);                                                                                \
        moved(rs_at);                                                                                        \
    } while (0)
