/* The parts of fuse. Private to src/rewrite/fuse*.c.
 *
 * fuse_weigh.c  what an event is worth, and which are kept
 * fuse_plan.c   the first reading: ranks, processes, greatest identifiers, clocks
 * fuse_event.c  one event rewritten
 * fuse.c        the second reading, the text around the events, the report */
#pragma once

#include "clock/collective_clocks.h"
#include "input/json.h"
#include "text/json_put.h"
#include "rankscope/fuse.h"
#include "rewrite/frame_text.h"
#include "rewrite/reread.h"
#include "rewrite/slice_rows.h"

/* Kinds of identifiers that are kept apart. */
typedef enum rs_fuse_id {
    RS_FUSE_PID,
    RS_FUSE_FLOW,
    RS_FUSE_CORRELATION,
    RS_FUSE_EXTERNAL,
    RS_FUSE_SEQUENCE,
    RS_FUSE_INDEX,
    RS_FUSE_PYTHON,
    RS_FUSE_MODULE,
    RS_N_FUSE_IDS
} rs_fuse_id;

extern const char *const rs_fuse_id_names[RS_N_FUSE_IDS];

typedef struct rs_fuse_process {
    int64_t pid;
    char *text;         /* a process id that is a string; NULL for numbers */
    char *name, *label; /* as recorded, or NULL */
    int64_t sort_index; /* RS_NO_VALUE */
    bool works;         /* has GPU work: it is a device */
} rs_fuse_process;

/* What the first reading learns of a rank. */
typedef struct rs_fuse_rank {
    rs_coll_rank *collectives;
    rs_reread_run *runs; /* NULL: the whole file */
    size_t n_runs;
    rs_fuse_process *processes;
    size_t n_processes;
    int64_t greatest[RS_N_FUSE_IDS]; /* of the absolute values */
    bool lines;                      /* the file is a list of events without a frame */
    uint16_t *weights;               /* of its rows in order; NULL: all are kept */
    size_t n_weights;
    rs_slice_rows *slice; /* what of it a slice holds; NULL: this is no slice */
    /* set by the plan */
    int64_t rank;
    const char *source;
    int64_t shift; /* ns to add to its times */
    rs_coll_clock clock;
    rs_clock_doubt doubt;
    uint64_t n_written, n_left_out;
} rs_fuse_rank;

typedef struct rs_fuse_plan {
    rs_fuse_rank **ranks; /* by rank */
    size_t n;
    int64_t step[RS_N_FUSE_IDS]; /* 0: identifiers of that kind are too large to be moved */
    bool by_base;
    int64_t base_time_ns; /* of the output, RS_NO_VALUE */
    bool weigh;
    const rs_slice_choice *choice; /* of a slice, else NULL */
    bool perfetto;                 /* it is written from columns: of any format */
    bool hides_files;              /* the new trace does not say what files are called */
    uint16_t least;                /* the smallest weight that is kept */
} rs_fuse_plan;

/* choice: what a slice holds; NULL: what weighs enough. */
rs_status rs_fuse_make_plan(rs_job *job, const rs_fuse_settings *settings, const rs_slice_choice *choice,
                            rs_fuse_plan *plan, rs_result *result, rs_error *err);
void rs_fuse_plan_clear(rs_fuse_plan *plan);

/* ---- what is kept
 * ------------------------------------------------------------------------------------------- */

/* The weight of every row of a rank, 0 for what lies outside the wanted steps. The array is the caller's. */
rs_status rs_fuse_weigh(rs_trace *trace, uint16_t **weights, rs_error *err);
/* Sets plan->least so that at most max_events are kept (0: all), and notes what is left out. */
rs_status rs_fuse_choose(rs_fuse_plan *plan, uint64_t max_events, rs_result *result, rs_error *err);
/* A kind and a duration as a weight: greater is kept first. And the shortest duration of a weight. */
uint16_t rs_fuse_weight(unsigned tier, int64_t ns);
int64_t rs_fuse_weight_ns(uint16_t weight);

struct rs_fuse_filter;
/* The place of a row among the rank's rows. O(log n) in a merged file. */
size_t rs_fuse_index_of(const rs_trace *trace, uint32_t row);

/* ---- the second reading
 * ------------------------------------------------------------------------------------------- */

/* Writes Perfetto's form: the only-th rank on its own clock, or all (SIZE_MAX). */
rs_status rs_fuse_write_perfetto(rs_job *job, rs_fuse_plan *plan, size_t only,
                                 const struct rs_fuse_filter *filter, const rs_sink *sink, rs_result *result,
                                 rs_error *err);
/* Where the plan's ranks stand, for rs_reread; the caller's, with texts and runs that stay the plan's. */
rs_status rs_fuse_places(const rs_fuse_plan *plan, rs_reread_rank **out, rs_error *err);
/* The records about the processes of all ranks. any: whether something is before them. */
void rs_fuse_put_processes(const rs_fuse_plan *plan, bool any, rs_writer *writer);
/* The end of the new trace: headers by file; more, unless NULL, writes further members of "rankscope". */
void rs_fuse_put_frame(const rs_fuse_plan *plan, const rs_job *job, const rs_frame_text *headers,
                       void (*more)(const void *context, rs_json_put *j), const void *context,
                       rs_writer *writer);

/* ---- one event
 * ---------------------------------------------------------------------------------------------- */

typedef struct rs_fuse_filter {
    const char *only, *without; /* lists separated by commas, or NULL */
} rs_fuse_filter;

typedef enum rs_fuse_outcome {
    RS_FUSE_WRITTEN,
    RS_FUSE_LEFT_OUT, /* by the filter, or a record that is made again */
    RS_FUSE_NO_EVENT  /* no object, or nothing of an event in it */
} rs_fuse_outcome;

/* Writes the event at [text, text + n), an object that rs_json_skip accepted, as the index-th rank's. lead is
 * written before it. */
rs_fuse_outcome rs_fuse_event(const rs_fuse_plan *plan, size_t index, const rs_fuse_filter *filter,
                              const uint8_t *text, size_t n, const char *lead, rs_writer *writer);
