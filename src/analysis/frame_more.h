/* frame --calls and --where: what lies in what and launched what, as columns; a condition on the rows. */
#pragma once

#include "analysis/analysis.h"
#include "analysis/frame_rows.h"
#include "query/where.h"

/* A row among the others. */
typedef struct rs_frame_call {
    int64_t parent;        /* position of the event that it lies in or was launched by; RS_NO_VALUE: none */
    int64_t depth, height; /* RS_NO_VALUE: work whose launch is not in the file */
    int64_t n_kernels;     /* the work below it, itself included */
    int64_t sum;           /* of its durations, ns */
    int64_t first, last;   /* ns on the file's own clock; RS_NO_TIME: there is none */
} rs_frame_call;

extern const rs_layout rs_frame_call_layout;
extern const rs_column_spec rs_frame_call_columns[];
extern const size_t rs_frame_n_call_columns;

/* By place in the frame, whose rows ascend; gpu tells the rows of the GPU. The caller's, to release with
 * rs_big_free. O(n log n), O(n) where events come in order. */
rs_status rs_frame_calls_make(rs_trace *trace, const rs_frame_rows *frame, const uint8_t *gpu,
                              rs_frame_call **out, rs_error *err);
/* The place of the row of a position; frame->n: it has none. */
size_t rs_frame_place_of(const rs_frame_rows *frame, int64_t position);
/* Adds the cells of a row. */
void rs_frame_call_add(const rs_frame_call *call, rs_table *table);

/* A row that a condition leaves open until the job's first event is known. */
typedef struct rs_frame_open {
    uint32_t row; /* of the frame */
    uint64_t terms;
} rs_frame_open;

typedef struct rs_frame_opens {
    rs_frame_open *items;
    size_t n, capacity;
} rs_frame_opens;

extern const rs_layout rs_frame_open_layout;

/* The answers of a rank's events. */
typedef struct rs_frame_picks {
    uint8_t *answer; /* rs_truth by row; NULL: all are picked */
    uint64_t *terms; /* of open ones; NULL where there can be none */
} rs_frame_picks;

/* condition NULL: none. */
rs_status rs_frame_picks_make(const char *condition, rs_trace *trace, rs_frame_picks *out, rs_error *err);
void rs_frame_picks_clear(rs_frame_picks *picks);
/* Whether the event stands in the frame as its given row; one that is open is noted. false in *ok when out of memory. */
bool rs_frame_is_picked(const rs_frame_picks *picks, uint32_t event, uint32_t row, rs_frame_opens *opens,
                        bool *ok);
/* Whether a row that stands there, open or not, remains. *at walks the open ones, from 0. ts: ns from the job's first event. */
bool rs_frame_remains(const rs_where *where, const rs_frame_opens *opens, size_t *at, uint32_t row,
                      int64_t ts);
