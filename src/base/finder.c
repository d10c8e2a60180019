#include "base/finder.h"

#include <string.h>

bool rs_finder_init(rs_finder *finder, size_t n)
{
    size_t n_slots = 64;
    *finder = (rs_finder){0};
    if (n > SIZE_MAX / 8 / sizeof *finder->slots) return false;
    while (n_slots / 3 * 2 < n) n_slots *= 2;
    /* it goes back to the system when it is freed: the heap would keep the hole */
    finder->slots = rs_big_resize(NULL, n_slots * sizeof *finder->slots);
    if (!finder->slots) return false;
    memset(finder->slots, 0xff, n_slots * sizeof *finder->slots); /* RS_FINDER_NONE */
    finder->mask = n_slots - 1;
    return true;
}

void rs_finder_clear(rs_finder *finder)
{
    rs_big_free(finder->slots);
    *finder = (rs_finder){0};
}
