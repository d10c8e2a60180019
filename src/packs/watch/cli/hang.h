/* Hangs, by the flight recorder's dumps in a folder: what `rankscope flight` says of it. */
#ifndef RS_WATCH_HANG_H
#define RS_WATCH_HANG_H

#include "base/text.h"
#include "rankscope/status.h"

/* What is remembered of a folder from look to look. All zero: nothing yet. */
typedef struct rs_hang_folder {
    uint64_t signature; /* of its files' names, sizes and times */
    bool has_evidence, was_looked_at;
    double not_before; /* by the steady clock: no question earlier */
} rs_hang_folder;

typedef enum rs_hang_state { RS_HANG_NONE, RS_HANG_STUCK, RS_HANG_SLOW } rs_hang_state;

/* Whether a folder's dumps, or other files that `flight` reads, changed since the last look: there are others, or none any more
 * (known->has_evidence). The first look is a change. Cost: the first 4 KiB of its files. */
bool rs_hang_is_new(const char *folder, rs_hang_folder *known);
/* Runs `rankscope flight FOLDER`: what it found, and its first line. RS_ERR_IO: it could not be run. */
rs_status rs_hang_ask(const char *folder, rs_hang_folder *known, rs_hang_state *state, rs_text *sentence,
                      rs_error *err);

#endif
