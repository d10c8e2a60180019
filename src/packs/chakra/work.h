/* What GPU nodes compute and move, by the performance models of the operators that launched them. */
#pragma once

#include "chakra/convert_comm.h"

#define RS_NO_WORK (-1)

typedef struct rs_convert_work {
    int64_t *ops;   /* by node: FLOPs; RS_NO_WORK: nothing tells */
    int64_t *bytes; /* by node: bytes that cross the memory bus; RS_NO_WORK */
} rs_convert_work;

/* An operator's work is that of the outermost one at or above the launch whose model has an answer; its kernels
 * have shares of it by their durations, which add up to it exactly. Answers that are lower bounds count as
 * none, communication has no such work. */
rs_status rs_convert_work_find(const rs_linked *linked, const rs_comms *comms, rs_convert_work *work,
                               rs_error *err);
void rs_convert_work_clear(rs_convert_work *work);
