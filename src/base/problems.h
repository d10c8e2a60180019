/* Lists of defects inside the library: whose arguments had to be read to meet them. */
#ifndef RS_BASE_PROBLEMS_H
#define RS_BASE_PROBLEMS_H

#include "rankscope/status.h"

/* Counts what `like` says, under file, rank, kind and columns; its texts are copied. Never fails: when memory
 * runs out it counts in n_dropped. */
void rs_problems_count(rs_problems *list, const rs_problem *like);

/* Adds to `into` what a reader that was asked for these columns alone would have met: that many defects, in
 * that order, at those places. */
void rs_problems_view(rs_problems *into, const rs_problems *from, uint64_t columns);

/* As rs_problems_count where kind and message are no static texts either: they are copied too. */
void rs_problems_adopt(rs_problems *list, const rs_problem *like);

#endif
