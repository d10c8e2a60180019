/* Change points of a short series: where its level changed. Deterministic.
 *
 * E-divisive (Matteson and James, J. Am. Stat. Assoc. 109, 2014) proposes the points: the split with the greatest
 * energy distance between both sides, then those of the parts. Which of them are real says Student's t-test of the
 * levels next to each, not a permutation test, as in Hunter (Fleming and Kolaczkowski, ICPE 2023): that needs no random
 * numbers. The best of n - 3 splits is taken, so p is multiplied by that (Bonferroni). */
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef struct rs_change {
    size_t at;         /* first value of the new level */
    double difference; /* of the means of the levels next to it */
    double low, high;  /* its interval of 1 - alpha, by itself */
    double p;          /* of no difference, for the number of splits; at most 1 */
} rs_change;

/* Finds those with p <= alpha and a difference of at least `least` either way. out: room for n. Levels have two
 * values or more. O(n^2) for each point; false when out of memory. */
bool rs_changes_find(const double *values, size_t n, double alpha, double least, rs_change *out,
                     size_t *n_out);
