/* The rows of a data frame: complete events with a category, and who belongs together by correlation. HTA's
 * frame begins with them too. */
#pragma once

#include "base/keymap.h"
#include "trace/facet.h"

typedef struct rs_frame_rows {
    size_t n;
    uint32_t *row;        /* a peer may list a row more than once */
    int64_t *start, *end; /* ns; a peer's rounding may put the end before the start */
    int64_t *stream;      /* -1 when none */
    int64_t *correlation; /* -1 when none */
    uint32_t *partner;    /* the row at the other end of the correlation, RS_NO_ROW if none */
    int64_t min_start;    /* of all rows, also of those that a peer cut off; RS_NO_TIME if there are none */
    bool rounded;         /* by a peer: times are whole microseconds */
} rs_frame_rows;

/* All rows of a rank, in the order of the file. NULL when out of memory. */
rs_frame_rows *rs_frame_rows_of(const rs_trace *trace);
/* Without rows, and with room for n. NULL when out of memory. */
rs_frame_rows *rs_frame_rows_create(size_t n);
void rs_frame_rows_move(rs_frame_rows *to, const rs_frame_rows *from, size_t i); /* adds the row at place i */
void rs_frame_rows_free(void *rows);

/* A facet: the rank's. */
extern const rs_facet rs_facet_frame_rows;

/* Whether a row of the file stands in the frame. */
bool rs_frame_has_row(const rs_events *events, uint32_t row);
/* Whether the row at place i is the work's side of its correlation: it has a stream, or is a synchronisation
 * of the GPU. */
bool rs_frame_is_work(const rs_events *events, const rs_frame_rows *rows, size_t i);
/* An empty map for the correlations of the rows. false when out of memory. */
bool rs_frame_correlations(const rs_frame_rows *rows, rs_keymap *map);
