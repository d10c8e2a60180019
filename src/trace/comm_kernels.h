/* Which kernels communicate: move data to or from another device, or wait for one. One table of families with its sources. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef struct rs_comm_family {
    const char *name; /* "DeepEP" */
    bool
        is_one_sided; /* ranks put and get data and do not meet: calls of different ranks are not one collective */
} rs_comm_family;

/* The family of a kernel by its name; NULL: its name is of no known one. */
const rs_comm_family *rs_comm_family_of(const char *name, size_t length);
