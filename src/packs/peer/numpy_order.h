/* The order in which numpy's default sort leaves equal keys. Tools built on pandas sort by time with it, and
 * running sums over equal times then depend on that order. Only for answers that have to equal theirs. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* order[0..n) becomes the permutation that numpy.argsort (1.x, introsort: median of three, pieces of up to 16
 * by insertion, heapsort below a depth of 2 log2 n) makes of the keys. n must fit 32 bits. */
void rs_numpy_argsort(const int64_t *keys, size_t n, uint32_t *order);
