/* What idle knows of a rank, also for rows of peers. */
#ifndef RS_ANALYSIS_IDLE_H
#define RS_ANALYSIS_IDLE_H

#include "analysis/analysis.h"
#include "analysis/describe.h"
#include "base/interval.h"

enum { RS_IDLE_HOST, RS_IDLE_KERNEL, RS_IDLE_OTHER, RS_N_IDLE };
extern const char *const rs_idle_names[RS_N_IDLE];

typedef struct rs_idle_stream {
    int64_t device, stream;
    size_t n[RS_N_IDLE];    /* intervals; HTA's first row of a stream is in OTHER without an interval */
    int64_t sum[RS_N_IDLE]; /* ns */
    bool present[RS_N_IDLE];
    rs_description intervals[RS_N_IDLE]; /* us */
} rs_idle_stream;

typedef struct rs_idle {
    rs_idle_stream *items;
    size_t n, capacity;
} rs_idle;

extern const rs_layout rs_idle_layout;

/* Work of one stream, to be put in order. */
typedef struct rs_idle_piece {
    int64_t device, stream;
    int64_t start, end, launch; /* launch: start of the call, INT64_MIN when unknown */
} rs_idle_piece;

typedef struct rs_idle_pieces {
    rs_idle_piece *items;
    size_t n;
} rs_idle_pieces;

/* The work that counts. */
typedef rs_status (*rs_idle_pieces_fn)(const rs_run *run, rs_trace *trace, rs_idle_pieces *out,
                                       rs_error *err);
/* Puts the gaps of one stream, whose n pieces stand in order, into s; values: room for rs_idle_add. */
typedef void (*rs_idle_judge_fn)(const rs_idle_piece *items, const rs_keyed *order, size_t n,
                                 int64_t delay_ns, rs_idle_stream *s, double *values);
/* One kind of waiting of one stream; times in ns, the description in us. */
typedef struct rs_idle_row {
    int64_t device, stream;
    const char *kind;
    size_t count;
    int64_t sum, all; /* all: of the stream's three kinds */
    rs_description intervals;
} rs_idle_row;

/* Adds it to both tables. */
typedef rs_status (*rs_idle_row_fn)(rs_table *idle, rs_table *intervals, int64_t rank, const rs_idle_row *row,
                                    rs_error *err);

/* One gap: from `before` to the start of p. values holds a row of n for each kind. */
void rs_idle_add(rs_idle_stream *s, const rs_idle_piece *p, int64_t before, int64_t gap, int64_t delay_ns,
                 double *values, size_t n);

/* No partial without GPU work. */
rs_status rs_idle_rank(const rs_run *run, rs_trace *trace, rs_idle_pieces_fn find, rs_idle_judge_fn one,
                       void **partial, rs_error *err);
void rs_idle_free(void *partial);
rs_status rs_idle_merge(const rs_run *run, const rs_partial *partials, size_t n, rs_idle_row_fn add,
                        rs_result *result, rs_error *err);

#endif
