/* Structs of settings in public headers begin with their size, so that they can grow: a program built against
 * an older header passes a smaller one, whose missing fields are 0; one built against a newer header passes a
 * larger one, whose unknown fields are refused unless they are 0. */
#pragma once

#include "base/try.h"
#include "rankscope/status.h"

/* Copies size bytes of what was given into out, which is out_size long. RS_ERR_USAGE names the struct. */
rs_status rs_settings_read(const void *given, size_t size, void *out, size_t out_size, const char *name,
                           rs_error *err);

/* Takes what was given into a struct of the same type of one's own; leaves the function where that fails. */
#define RS_TAKE_SETTINGS(type, own, given, err)                                                              \
    RS_TRY(rs_settings_read(given, (given)->size, own, sizeof(type), #type, err))
