/* What a trace file says besides its events, as it stands there. */
#pragma once

#include "rankscope/status.h"

/* Members of a JSON object, separated by commas, without its brackets. All zero: none. */
typedef struct rs_frame_text {
    char *text;
    size_t n, capacity;
} rs_frame_text;

/* Adds a member; the key has its quotes. NaN and Infinity, which are no JSON, become null. A frame of more than
 * 64 MiB is none: what goes beyond is left out. */
rs_status rs_frame_text_add(rs_frame_text *frame, const uint8_t *key, size_t key_length, const uint8_t *text,
                            size_t n, rs_error *err);
void rs_frame_texts_free(rs_frame_text *frames, size_t n); /* an array of them; NULL is allowed */
