/* Hangs, by the flight recorder's dumps in a folder: what `rankscope flight` says of it. */
#ifndef RS_WATCH_HANG_H
#define RS_WATCH_HANG_H

#include "base/text.h"
#include "rankscope/status.h"

/* What is remembered of a folder from look to look. All zero: nothing yet. */
typedef struct rs_hang_folder {
    uint64_t signature; /* of its files' names, sizes and times */
    bool has_dumps, was_looked_at;
} rs_hang_folder;

/* Whether a folder's dumps changed since the last look: there are others, or none any more (known->has_dumps). The first look is a
 * change. Cost: the first 4 KiB of its files, where they changed. */
bool rs_hang_is_new(const char *folder, rs_hang_folder *known);
/* Runs `rankscope flight FOLDER`: *hangs, and its first line. RS_ERR_IO: it could not be run. */
rs_status rs_hang_ask(const char *folder, bool *hangs, rs_text *sentence, rs_error *err);

#endif
