/* Lists of defects, for the library's own use: each knows which arguments had to be read to find it. */
#pragma once

#include "rankscope/status.h"

/* Counts what `like` says, under file, rank, kind and columns; its texts are copied. Never fails: when memory
 * runs out it counts in n_dropped. */
void rs_problems_count(rs_problems *list, const rs_problem *like);

/* Adds to `into` the defects that a reader would have found if it had read these columns alone, with the same
 * counts, order and places. */
void rs_problems_view(rs_problems *into, const rs_problems *from, uint64_t columns);

/* As rs_problems_count where kind and message are no static texts either: they are copied too. */
void rs_problems_adopt(rs_problems *list, const rs_problem *like);
