/* Walking a JSON text that does not fit in memory, step by step: the caller knows what it expects. Where the
 * text ends or is none, the walk is over and what was found before stays. */
#pragma once

#include "input/json.h"
#include "input/windows.h"
#include "format/kineto.h"

typedef struct rs_walk {
    rs_windows *windows;
    rs_window now;
    size_t at; /* in the window */
    rs_json_limits limits;
    const rs_load_settings *settings;
    uint64_t reported;
    bool ended; /* the text breaks off or is no JSON: what came before stays */
    bool bad;   /* ... no JSON */
    rs_status status;
    rs_error *err;
} rs_walk;

#define RS_WALK_KEY 64 /* longest key that is told whole, with its terminator */

uint64_t rs_walk_offset(const rs_walk *w);
/* Neither over nor failed (w->status). */
bool rs_walk_going(const rs_walk *w);
/* The next byte that is no white space, 0 at the end. */
uint8_t rs_walk_peek(rs_walk *w);
/* That byte, or the walk is over. */
bool rs_walk_byte(rs_walk *w, uint8_t byte);
/* A whole value, valid until the next call. */
bool rs_walk_value(rs_walk *w, const uint8_t **text, size_t *n);
/* The key of the next member and its colon; longer ones are cut. */
bool rs_walk_key(rs_walk *w, char out[RS_WALK_KEY]);
/* Whether a container that was entered has a first element; else it is left. */
bool rs_walk_first(rs_walk *w, uint8_t close);
/* Whether a comma leads to another element; else the container is left. */
bool rs_walk_next(rs_walk *w, uint8_t close);
