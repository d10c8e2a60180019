/* Pieces: what one file says of one rank in one window; and the files in which they come. */
#pragma once

#include "rankscope/job.h"
#include "watch/series.h"

typedef struct rs_window_piece {
    int64_t rank;
    int64_t start_ns, end_ns; /* by the epoch clock, or the file's own where it has no other */
    int64_t first_step;       /* negative: unknown */
    int64_t world;            /* ranks of the whole job; 0: unknown */
    float values[RS_WATCH_STORED];
} rs_window_piece;

typedef enum rs_read_state {
    RS_READ_COMPLETE,
    RS_READ_BROKEN, /* it breaks off: it may be growing */
    RS_READ_OTHER   /* it is no trace, or cannot be used; problems say why where it is worth a word */
} rs_read_state;

/* What a file came to. */
typedef struct rs_pieces {
    rs_read_state state;
    rs_window_piece *items;
    size_t n;
    rs_problems problems;
} rs_pieces;

/* Reads a trace. The settings' progress function is used as it is. RS_ERR_NOMEM and RS_ERR_CANCELLED are errors; whatever is wrong
 * with the file is a state. */
rs_status rs_pieces_read(const char *path, const rs_job_settings *settings, rs_pieces *out, rs_error *err);
void rs_pieces_clear(rs_pieces *pieces);
