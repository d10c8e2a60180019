/* Hangs: what `rankscope flight` says of a folder's dumps, or of a running job's RAS and Prometheus. It runs next to the watch. */
#pragma once

#include <sys/types.h>

#include "base/text.h"
#include "rankscope/status.h"

/* What is remembered of a source from look to look. All zero: nothing yet. */
typedef struct rs_hang_source {
    uint64_t signature; /* of a folder's files' names, sizes and times */
    bool has_evidence, was_looked_at;
    double not_before; /* by the steady clock: no question earlier */
    pid_t child;       /* that answers; 0: none */
    int answers;       /* its end of a pipe */
    double begun;
    rs_text head; /* of the answer */
} rs_hang_source;

typedef enum rs_hang_state {
    RS_HANG_NONE,
    RS_HANG_STUCK,
    RS_HANG_SLOW,
    RS_HANG_UNKNOWN /* nothing usable was there, or it did not answer */
} rs_hang_state;

/* Whether a folder's dumps, or other files that `flight` reads, changed since the last look: there are others, or none any more
 * (known->has_evidence). The first look is a change. Cost: the first 4 KiB of its files. */
bool rs_hang_is_new(const char *folder, rs_hang_source *known);
/* Starts `rankscope flight WORDS...`, n of them, at most 8. RS_ERR_IO: it could not be run. */
rs_status rs_hang_ask(rs_hang_source *source, const char *const *words, size_t n, rs_error *err);
/* What it found, and its first line; *done is false while it runs. wait: until it has ended. rest: the next question is not due before
 * so many times as long as this one took. */
rs_status rs_hang_answer(rs_hang_source *source, bool wait, double rest, bool *done, rs_hang_state *state,
                         rs_text *sentence, rs_error *err);
/* Ends what runs. */
void rs_hang_stop(rs_hang_source *source);
