/* Which rows of a rank a slice holds: those that were asked for, and what belongs around them. */
#pragma once

#include "query/where.h"
#include "rankscope/slice.h"

typedef struct rs_slice_choice {
    const rs_where *where;
    uint64_t columns; /* the arguments that it reads */
    int64_t origin;   /* the job's first event, ns; RS_NO_TIME: nothing asks for it, or a window tells it */
    rs_slice_enclosing enclosing;
} rs_slice_choice;

typedef enum rs_slice_state {
    RS_SLICE_OUT,
    RS_SLICE_CHOSEN,
    RS_SLICE_AROUND, /* encloses, launches, joins or describes what was chosen */
    RS_SLICE_CUT     /* the same, and shortened to the time of the slice */
} rs_slice_state;

/* Events of one category that the slice does not hold. */
typedef struct rs_slice_left {
    char *category;
    uint64_t n;
    int64_t ns; /* their durations added up */
} rs_slice_left;

typedef struct rs_slice_rows {
    uint8_t *states; /* two bits for each row of the rank, in order */
    size_t n_rows;
    int64_t from, to;                          /* what is cut is cut to this, ns */
    uint64_t n_chosen, n_around, n_cut, n_out; /* n_cut: those of n_around; records about processes nowhere */
    bool has_ends;                             /* some events are two records: rewrite/slice_pairs.h */
    rs_slice_left *left;                       /* by category, those with the most events first */
    size_t n_left;
} rs_slice_rows;

static inline rs_slice_state rs_slice_state_at(const rs_slice_rows *rows, uint64_t at)
{
    return at < rows->n_rows ? (rs_slice_state)(rows->states[at / 4] >> (at % 4 * 2) & 3) : RS_SLICE_OUT;
}

/* Steps and window are the job's. */
rs_status rs_slice_choose(rs_trace *trace, const rs_slice_choice *choice, rs_slice_rows **out, rs_error *err);
void rs_slice_rows_free(rs_slice_rows *rows); /* NULL is allowed */
