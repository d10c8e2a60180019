/* Which part of a job is asked about: ranks, training steps, a stretch of time. Parsed once, when the job
 * opens.
 *
 * A host event belongs to the step whose interval holds its start: of the same process, the innermost one,
 * else the latest. A GPU event belongs to its launch's step; without a launch in the file, to the step that
 * the GPU's own annotations (gpu_user_annotation) show at its start. The window selects a host event by its
 * start and GPU work by its launch's start, without a launch, or where the window says "own:", by its own. */
#pragma once

#include "base/ranges.h"
#include "trace/trace.h"

struct rs_selection {
    bool by_rank, by_step, by_window;
    bool own; /* the window ("own:10-12.5") selects GPU work by its own start, not by its launch's */
    rs_ranges ranks, steps;
    int64_t from, to; /* of the window, ns from the job's first event; `to` is outside of it */
    int64_t origin;   /* the job's first event, ns as the files have it; RS_NO_TIME: not yet known */
    const char *steps_text, *window_text; /* as they were given, for messages; borrowed */
};

/* Whether a time, ns as the file has it, is in the window; true without one. The origin is known. */
bool rs_selection_has_time(const rs_selection *selection, int64_t ns);

/* NULL selects everything. RS_ERR_USAGE says which option is wrong and why. The texts are borrowed as long as
 * the selection lives; release with rs_selection_clear, also after a failure. */
rs_status rs_selection_parse(const char *ranks, const char *steps, const char *window, rs_selection *out,
                             rs_error *err);
void rs_selection_clear(rs_selection *selection);

/* The step of a row that is no GPU work; -1: none. */
int64_t rs_row_step(const rs_events *e, const rs_step *steps, size_t n, const rs_step *gpu_steps,
                    size_t n_gpu, uint32_t row);

/* The test of one rank's rows, ready for use: it points to the trace's steps. */
typedef struct rs_selector {
    const rs_events *e;
    const rs_selection *selection; /* NULL: every row is selected, and nothing below is set */
    const rs_step *steps, *gpu_steps;
    size_t n_steps, n_gpu_steps;
} rs_selector;

rs_status rs_trace_selector(rs_trace *trace, rs_selector *out, rs_error *err);

/* Whether a row that is no GPU work is selected. */
bool rs_selects_row(const rs_selector *selector, uint32_t row);
/* Whether GPU work is; launch: the row of its launch, or RS_NO_ROW. */
bool rs_selects_work(const rs_selector *selector, uint32_t row, uint32_t launch);
/* Whether a step is, by its number and its start. */
bool rs_selects_step(const rs_selector *selector, const rs_step *step);

/* A step on the host, threads and all. */
typedef struct rs_step_length {
    int64_t number, length; /* ns */
} rs_step_length;

/* The different steps that are selected, by number; *steps is the caller's, to be freed, also after a failure. */
rs_status rs_trace_step_lengths(rs_trace *trace, rs_step_length **steps, size_t *n, rs_error *err);
/* How many these are, and their lengths added up. */
rs_status rs_trace_count_steps(rs_trace *trace, size_t *n, int64_t *length, rs_error *err);

/* Walks a rank's rows upwards: whether each is selected, GPU work by its launch. */
typedef struct rs_row_test {
    rs_selector selector;
    const rs_work *work; /* the selected GPU work */
    size_t at;
} rs_row_test;

rs_status rs_row_test_begin(rs_trace *trace, rs_row_test *out, rs_error *err);
bool rs_row_test_next(rs_row_test *test, uint32_t row); /* rows must not descend */

/* Walks a rank's rows upwards: the number of each one's step, GPU work by its launch; RS_NO_VALUE: none.
 * Whatever is selected. */
typedef struct rs_step_finder {
    const rs_events *e;
    const rs_work *work; /* of the whole rank */
    size_t at;
    const rs_step *steps, *gpu_steps;
    size_t n_steps, n_gpu_steps;
} rs_step_finder;

rs_status rs_step_finder_begin(rs_trace *trace, rs_step_finder *out, rs_error *err);
int64_t rs_step_finder_next(rs_step_finder *finder, uint32_t row); /* rows must not descend */

/* Whether steps or a window leave something of this rank out. */
bool rs_trace_is_selected(const rs_trace *trace);

/* From the first selected event to the end of the last, GPU work included, the profiler's own span not;
 * RS_NO_TIME: there is none. Where nothing restricts it is rs_trace_span. */
rs_status rs_trace_selected_span(rs_trace *trace, int64_t *first_ns, int64_t *last_ns, rs_error *err);

/* What a rank has of what was selected, so that a selection of nothing can be refused when all ranks are
 * known. */
typedef struct rs_selected {
    bool any;           /* some event is selected */
    bool any_step;      /* some step of the rank has a wanted number */
    bool any_time;      /* some host event starts in the window, or something is selected */
    rs_ranges steps;    /* the numbers of its steps */
    int64_t last_start; /* ns from the job's first event: start of the rank's last event; RS_NO_TIME: none */
    rs_step_source steps_by; /* what tells its steps, where the question is about steps */
} rs_selected;

/* Release with rs_selected_clear, also after a failure. */
rs_status rs_trace_look(rs_trace *trace, rs_selected *out, rs_error *err);
void rs_selected_clear(rs_selected *selected);
