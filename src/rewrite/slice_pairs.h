/* Begin and end of an event as two records (ph B and E): the second goes where the first went.
 *
 * The loader makes one row of both; which rows these are shows only in the text. Pairs are closed as it closes
 * them: per thread, innermost first, in the order of the file. */
#pragma once

#include "base/strings.h"
#include "rankscope/status.h"

typedef struct rs_slice_pairs {
    rs_map64 top; /* by thread: its innermost open record + 1 */
    struct rs_open_record {
        uint32_t below;
        bool kept;
    } * open;
    size_t n, capacity;
} rs_slice_pairs;

/* To be asked of each event of a rank in order; *kept is what was decided for its row. An end is kept when its
 * beginning was, and left out when nothing is open. */
rs_status rs_slice_pairs_next(rs_slice_pairs *pairs, uint32_t rank, const uint8_t *text, size_t n, bool *kept,
                              rs_error *err);
void rs_slice_pairs_clear(rs_slice_pairs *pairs);
