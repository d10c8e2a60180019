/* Intervals of integer nanoseconds: sorting, union, intersection, subtraction, and the sweep that measures how
 * long every combination of several sets is active. Unless said otherwise a set is disjoint and sorted. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is not known. */
#define RS_NO_TIME INT64_MIN
#define RS_NO_VALUE INT64_MIN

typedef struct rs_interval {
    int64_t start, end; /* [start, end) */
} rs_interval;

/* A key to sort by and what it belongs to. */
typedef struct rs_keyed {
    int64_t key;
    uint32_t value;
} rs_keyed;

/* a + b and a - b, held at the ends of the range instead of overflowing. */
static inline int64_t rs_add_sat(int64_t a, int64_t b)
{
    int64_t sum;
    if (!__builtin_add_overflow(a, b, &sum)) return sum;
    return b < 0 ? INT64_MIN : INT64_MAX;
}

static inline int64_t rs_sub_sat(int64_t a, int64_t b)
{
    int64_t difference;
    if (!__builtin_sub_overflow(a, b, &difference)) return difference;
    return b > 0 ? INT64_MIN : INT64_MAX;
}

/* Stable sorts: O(n) on input that is almost in order, O(n log n) otherwise. rs_intervals_sort orders by
 * start. false when out of memory, the items then have any order. */
bool rs_keyed_sort(rs_keyed *items, size_t n);
bool rs_intervals_sort(rs_interval *items, size_t n);

/* How many of the n items, which ascend, have a key below this one, and how many one that is no greater. O(log n). */
size_t rs_keyed_before(const rs_keyed *items, size_t n, int64_t key);
size_t rs_keyed_until(const rs_keyed *items, size_t n, int64_t key);

/* Joins intervals sorted by start, in place; touching ones become one. Returns how many are left.
 * An interval that ends before it starts (a peer's rounding makes such) is kept with its negative length. */
size_t rs_intervals_unite(rs_interval *items, size_t n);

int64_t rs_intervals_length(const rs_interval *items, size_t n);
int64_t rs_intervals_intersection(const rs_interval *a, size_t n_a, const rs_interval *b, size_t n_b);

/* What of a is outside b. out holds n_a + n_b intervals and may not overlap a or b; returns how many there
 * are.
 */
size_t rs_intervals_subtract(const rs_interval *a, size_t n_a, const rs_interval *b, size_t n_b,
                             rs_interval *out);

#define RS_MAX_SWEEP 4
#define RS_MAX_DIVIDE 6

typedef struct rs_interval_set {
    const rs_interval *items;
    size_t n;
} rs_interval_set;

/* time[mask] becomes how long exactly the sets in mask are active, mask 0 being the gaps between the first
 * border and the last; time holds 1 << k values, k <= RS_MAX_SWEEP. Each elementary piece is cut down to a
 * multiple of quantum first (1: exact). Where negative intervals make an impossible combination, its time is
 * left out. O(borders * k). */
void rs_intervals_sweep(const rs_interval_set *sets, unsigned k, int64_t quantum, int64_t *time);

/* A stretch of time and the set that it belongs to. */
typedef struct rs_division {
    int64_t from, time;
    uint32_t of;
} rs_division;

typedef struct rs_divisions {
    rs_division *items; /* ascending, disjoint, none is empty; freed by the caller */
    size_t n, capacity;
} rs_divisions;

/* Divides [whole.start, whole.end) among k sets: each moment belongs to the first set that holds it, and to number k where
 * none does. Neighbours of one set become one stretch; those of set `hidden` are left out. The sets are united. Appends to
 * out; false when out of memory. O(borders * k), k <= RS_MAX_DIVIDE. */
bool rs_intervals_divide(const rs_interval_set *sets, unsigned k, rs_interval whole, unsigned hidden,
                         rs_divisions *out);
