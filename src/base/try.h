/* Errors ripple up. */
#pragma once

#include "rankscope/status.h"

/* Returns from the calling function with the status of a call that failed. */
#ifndef RS_TRY
#define RS_TRY(call)                                                                                         \
    do {                                                                                                     \
        rs_status rs_try_status = (call);                                                                    \
        if (rs_try_status != RS_OK) return rs_try_status;                                                    \
    } while (0)
#endif
