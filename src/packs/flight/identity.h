/* Which rank of the job a rank of an NCCL communicator is. Internal to src/packs/flight. */
#pragma once

#include "flight/log.h"

/* A rank of a communicator, as NCCL's tools name it. */
typedef struct rs_fl_identity {
    uint32_t comm, host;          /* texts */
    int64_t size, rank, pid, gpu; /* of the communicator; its rank there; -1 unknown */
    /* the answer */
    uint32_t process; /* equal for one process and GPU in all communicators, from 0 */
    int64_t global;   /* rank of the job; -1 unknown */
} rs_fl_identity;

/* Fills the answers; n_processes: how many different ones. False when out of memory. O(n). */
bool rs_fl_identify(const rs_flight *flight, rs_fl_identity *list, size_t n, size_t *n_processes);
