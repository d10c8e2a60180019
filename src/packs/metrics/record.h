/* One line of a metrics file: read, checked, and reduced to how long what ran at once.
 *
 * Times are kept as whole numbers of 2^-shift milliseconds. The profiler's times are 32-bit floats, so that
 * with a shift of 40 every one of them is exact; steps of more than an hour are kept a little coarser. */
#pragma once

#include "base/interval.h"
#include "input/json.h"
#include "rankscope/status.h"

#define RS_METRICS_SHIFT 40
/* No time lies beyond this many units, so that sums of a few of them stay whole. */
#define RS_METRICS_FAR (INT64_C(1) << 61)

/* AORTA knows the first three. */
typedef enum rs_collective {
    RS_ALL_REDUCE,
    RS_REDUCE_SCATTER,
    RS_ALL_GATHER,
    RS_BROADCAST,
    RS_REDUCE,
    RS_GATHER,
    RS_SCATTER,
    RS_ALL_TO_ALL,
    RS_SEND_RECV,
    RS_N_COLLECTIVES
} rs_collective;

/* What a range is: one of rs_collective, or one of these. */
enum { RS_RANGE_COMPUTE = RS_N_COLLECTIVES, RS_RANGE_OTHER, RS_N_RANGE_KINDS };

typedef struct rs_range {
    int64_t start, end;
    uint8_t what;
} rs_range;

/* How long what was active, in units. hidden: together with computation. */
typedef struct rs_active {
    int64_t compute, comm, overlap, idle;
    int64_t in[RS_N_COLLECTIVES], hidden[RS_N_COLLECTIVES];
} rs_active;

/* Milliseconds of one record. */
typedef struct rs_record {
    int64_t step;       /* global_step */
    int64_t rank;       /* RS_NO_RANK when not given */
    int64_t world_size; /* 0 when not given */
    bool has_loss;      /* there is a number, which may be NaN or infinite */
    double loss;
    double total, compute, comm, overlap, idle;
    double in_collective[RS_N_COLLECTIVES], hidden_collective[RS_N_COLLECTIVES]; /* hidden: with compute */
    size_t n_cut;     /* ranges that reached beyond the step */
    size_t n_void;    /* ranges that end at or before their start, or have no times */
    rs_json_text smi; /* rocm_smi_output, in the line; bytes NULL without */
    /* what the file says itself; only asked for under AORTA's rules */
    double stored_compute, stored_overlap, stored_all_reduce, stored_reduce_scatter;
} rs_record;

#define RS_NO_RANK (-1)

typedef enum rs_line {
    RS_LINE_OK,
    RS_LINE_BLANK,
    RS_LINE_BROKEN,     /* no JSON object */
    RS_LINE_NO_STEP,    /* no whole number global_step */
    RS_LINE_NO_PROFILE, /* no profile with total_ms and ranges */
    RS_LINE_NO_MEMORY
} rs_line;

/* Room that lines are read with, one after another. Start from {0}. */
typedef struct rs_record_reader {
    bool stored; /* read the stored overlap instead of computing it */
    int shift;
    rs_range *ranges;
    size_t n_ranges, capacity;
    rs_keyed *borders;
    size_t n_borders, borders_capacity;
} rs_record_reader;

void rs_record_reader_clear(rs_record_reader *reader);

/* Reads a line (without its newline). *at is the byte of the line at fault when it is broken. */
rs_line rs_record_read(rs_record_reader *reader, const uint8_t *line, size_t n, rs_record *out, size_t *at);

/* How long exactly the kinds of ranges were active within [0, total]; ranges are cut to it. false when out of
 * memory. */
bool rs_record_overlap(rs_record_reader *reader, int64_t total, rs_active *out, size_t *n_cut,
                       size_t *n_void);

/* A number's text, NaN and infinities included, as units of 2^-shift ms, held at +-RS_METRICS_FAR. NaN is no
 * number: false. */
bool rs_metrics_units(const uint8_t *text, size_t n, int shift, int64_t *out);
/* As a double: exact to one unit in the last place. */
double rs_metrics_real(const uint8_t *text, size_t n);
