/* Sorting by declared keys: rows of any struct, stable, the same on every machine.
 *
 *     static const rs_order by_time[] = {RS_FALLING(kernel, time.sum), RS_RISING(kernel, name)};
 *     if (!rs_order_rows(rows, n, sizeof *rows, by_time, 2, NULL)) return rs_fail_nomem(err, "kernels"); */
#ifndef RS_BASE_ORDER_H
#define RS_BASE_ORDER_H

#include "base/layout.h"

typedef struct rs_order {
    uint32_t offset;
    uint8_t size, kind; /* of the member; kind: rs_field_kind, numbers and texts */
    bool falling;
    bool is_id; /* the id of a text: compared as the text */
} rs_order;

/* Unknown texts (NULL, RS_NO_STRING) come last in either direction, NaN comes first. */
#define RS_ORDERED(type, member, falls, id)                                                                  \
    {                                                                                                        \
        offsetof(type, member), sizeof RS_MEMBER(type, member), RS_KIND_OF(RS_MEMBER(type, member)), falls,  \
            id                                                                                               \
    }
#define RS_RISING(type, member) RS_ORDERED(type, member, false, false)
#define RS_FALLING(type, member) RS_ORDERED(type, member, true, false)
#define RS_RISING_TEXT(type, member) RS_ORDERED(type, member, false, true)

/* Below, at or above 0, as a comes before b. texts: what ids are of; NULL when no key is one. */
int rs_order_compare(const void *a, const void *b, const rs_order *keys, size_t n_keys,
                     const rs_strings *texts);
/* Rows that are equal by all keys stay in their order. O(n log n), and O(n) where they are in order already. false when
 * out of memory: the rows stay as they are. */
bool rs_order_rows(void *rows, size_t n, size_t size, const rs_order *keys, size_t n_keys,
                   const rs_strings *texts);

#endif
