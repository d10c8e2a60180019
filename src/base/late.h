/* Libraries that are opened when they are first needed. Few commands fetch pages, draw or write workbooks, and what
 * their libraries are linked with, some forty others, would be most of what it takes to start the program. A source that
 * calls one includes what cmake/late.cmake writes for it: late_NAME.h, with the library's functions and
 *
 *     rs_status rs_late_NAME(rs_error *err);      // opens it; before the first call of a function
 *
 * Where everything is linked statically this function does nothing. Private to the tree. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "rankscope/status.h"

typedef struct rs_late {
    const char *library;      /* as the loader knows it */
    const char *const *names; /* of n functions */
    size_t n;
    void *functions; /* n pointers to functions, which rs_late_open fills */
    bool open;
} rs_late;

/* Opens the library and finds its functions, once; any thread may ask. It is never closed. RS_ERR_USAGE: it is not on this machine, or
 * lacks one of them; then nothing is filled and it can be asked for again. */
rs_status rs_late_open(rs_late *late, rs_error *err);
