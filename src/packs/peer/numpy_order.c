#include "peer/numpy_order.h"

#include <stdbool.h>

#define SMALL 16

static void swap(uint32_t *a, uint32_t *b)
{
    uint32_t x = *a;
    *a = *b;
    *b = x;
}

/* Lets the element x sink from place i of the heap a[1..n]. */
static void sink(const int64_t *keys, uint32_t *a, size_t i, size_t n, uint32_t x)
{
    for (size_t child = 2 * i; child <= n; child = 2 * i) {
        if (child < n && keys[a[child]] < keys[a[child + 1]]) child++;
        if (keys[x] >= keys[a[child]]) break;
        a[i] = a[child];
        i = child;
    }
    a[i] = x;
}

static void heapsort_piece(const int64_t *keys, uint32_t *order, size_t n)
{
    uint32_t *a = order - 1; /* places count from 1 */
    for (size_t i = n / 2; i > 0; i--) sink(keys, a, i, n, a[i]);
    while (n > 1) {
        uint32_t x = a[n];
        a[n] = a[1];
        sink(keys, a, 1, --n, x);
    }
}

static void insertion_piece(const int64_t *keys, uint32_t *left, uint32_t *right)
{
    for (uint32_t *i = left + 1; i <= right; i++) {
        uint32_t x = *i, *k = i;
        for (; k > left && keys[x] < keys[k[-1]]; k--) *k = k[-1];
        *k = x;
    }
}

/* Divides [left, right] around the median of three; returns where the pivot came to stand. */
static uint32_t *divide(const int64_t *keys, uint32_t *left, uint32_t *right)
{
    uint32_t *middle = left + (right - left) / 2;
    if (keys[*middle] < keys[*left]) swap(middle, left);
    if (keys[*right] < keys[*middle]) swap(right, middle);
    if (keys[*middle] < keys[*left]) swap(middle, left);
    int64_t pivot = keys[*middle];
    uint32_t *i = left, *k = right - 1;
    swap(middle, k);
    for (;;) {
        do i++;
        while (keys[*i] < pivot);
        do k--;
        while (pivot < keys[*k]);
        if (i >= k) break;
        swap(i, k);
    }
    swap(i, right - 1);
    return i;
}

void rs_numpy_argsort(const int64_t *keys, size_t n, uint32_t *order)
{
    struct {
        uint32_t *left, *right;
        int depth;
    } waiting[64]; /* the larger part waits: one for each halving at most */
    int n_waiting = 0, depth = 0;
    for (size_t i = 0; i < n; i++) order[i] = (uint32_t)i;
    if (n < 2) return;
    for (size_t i = n; i > 1; i >>= 1) depth += 2;
    uint32_t *left = order, *right = order + n - 1;
    for (;;) {
        if (depth < 0) {
            heapsort_piece(keys, left, (size_t)(right - left + 1));
        } else {
            while (right - left > SMALL) {
                uint32_t *at = divide(keys, left, right);
                bool right_waits = at - left < right - at;
                waiting[n_waiting].left = right_waits ? at + 1 : left;
                waiting[n_waiting].right = right_waits ? right : at - 1;
                waiting[n_waiting++].depth = --depth;
                if (right_waits)
                    right = at - 1;
                else
                    left = at + 1;
            }
            insertion_piece(keys, left, right);
        }
        if (n_waiting == 0) return;
        n_waiting--;
        left = waiting[n_waiting].left;
        right = waiting[n_waiting].right;
        depth = waiting[n_waiting].depth;
    }
}
