/* What idle knows of a rank, also for rows of peers. */
#pragma once

#include "analysis/plan.h"

enum { RS_IDLE_HOST, RS_IDLE_KERNEL, RS_IDLE_OTHER, RS_N_IDLE };
extern const char *const rs_idle_names[RS_N_IDLE];

/* Work of one stream, to be put in order. */
typedef struct rs_idle_piece {
    int64_t device, stream;
    int64_t start, end, launch; /* launch: start of the call, INT64_MIN when unknown */
} rs_idle_piece;

/* A gap on a stream. */
typedef struct rs_idle_gap {
    uint32_t place; /* of the stream, in the order in which streams were met */
    uint8_t kind;   /* RS_IDLE_... */
    int64_t device, stream;
    int64_t gap; /* ns; INT64_MIN: the kind is there without a gap */
} rs_idle_gap;

/* One kind of waiting of one stream, by stream, then kind. */
typedef struct rs_idle_row {
    uint32_t place;
    uint8_t kind;
    int64_t device, stream, count;
    int64_t sum, all;         /* ns; all: of the stream's three kinds */
    rs_description intervals; /* us */
} rs_idle_row;

/* The relation of both plans. */
extern const rs_aggregate rs_idle_by_kind[8];
extern const rs_order rs_idle_order[2];
#define RS_IDLE_RELATION RS_GROUPED(0, rs_idle_row, rs_idle_gap, rs_idle_by_kind), RS_IN_ORDER(rs_idle_order)

/* Puts the gaps of one stream, whose n pieces stand in order; gap has the stream. */
typedef void (*rs_idle_judge_fn)(rs_relations *out, rs_idle_gap *gap, const rs_idle_piece *items,
                                 const rs_keyed *order, size_t n, int64_t delay_ns);
/* Puts one gap: from `before` to the start of p. */
void rs_idle_put(rs_relations *out, rs_idle_gap *gap, const rs_idle_piece *p, int64_t before, int64_t length,
                 int64_t delay_ns);
/* Puts the gaps of all streams. */
rs_status rs_idle_put_streams(const rs_run *run, const rs_idle_piece *items, size_t n, rs_idle_judge_fn judge,
                              rs_relations *out, rs_error *err);
