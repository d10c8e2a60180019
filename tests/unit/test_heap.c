/* base/heap.h: elements come out in order, whatever order they went in, and marked places are those of the elements. */
#include "base/heap.h"
#include "support.h"

#define N 200
#define IS_LESS(a, b) ((a) < (b))

typedef struct marked {
    unsigned items[N];
    size_t n, place[N]; /* by element */
} marked;

/* The elements 0 to N - 1, in steps of 7. */
TEST(comes_in_order)
{
    unsigned items[N];
    size_t n = 0;
    for (unsigned i = 0; i < N; i++) {
        unsigned x = i * 7 % N;
        RS_HEAP_UP(items, n++, x, IS_LESS, RS_HEAP_UNMARKED);
    }
    for (unsigned i = 0; i < N; i++) {
        assert_int_equal(items[0], i);
        unsigned last = items[--n];
        RS_HEAP_DOWN(items, n, last, IS_LESS, RS_HEAP_UNMARKED);
    }
}

TEST(marks_places)
{
    marked m = {.n = 0};
#define PLACED(at) m.place[m.items[at]] = (at)
    for (unsigned i = 0; i < N; i++) {
        unsigned x = N - 1 - i;
        RS_HEAP_UP(m.items, m.n++, x, IS_LESS, PLACED);
        assert_int_equal(m.items[0], x); /* each is less than those before */
    }
    for (unsigned i = 0; i < N; i++) {
        for (size_t k = 0; k < m.n; k++) assert_int_equal(m.place[m.items[k]], k);
        assert_int_equal(m.items[0], i);
        unsigned last = m.items[--m.n];
        RS_HEAP_DOWN(m.items, m.n, last, IS_LESS, PLACED);
    }
#undef PLACED
}
