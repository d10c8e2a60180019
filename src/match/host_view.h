/* Where the host of a rank spends its time, as rs_busy tells it of the GPU. */
#pragma once

#include "base/interval.h"
#include "trace/trace.h"

/* A thread that ran operators, communication or calls that wait. */
typedef struct rs_host_thread_view {
    char *label;       /* "process 12 thread 12 (pt_main_thread)"; owned */
    int64_t operators; /* an operator runs on it and does not wait for the device, ns */
    int64_t comm;      /* a span of communication runs on it */
    int64_t sync;      /* it waits for the device */
    size_t n;          /* operators, spans and waits */
} rs_host_thread_view;

/* Times are of unions over all threads, ns. operators + exposed_comm + exposed_sync + exposed_loading + other is
 * span. */
typedef struct rs_host_view {
    int64_t span; /* from the first event to the last, without what is between two recordings */
    int64_t
        operators; /* an operator runs that computes: one that communicates, or waits for the device in a call
                          of its thread, does not */
    int64_t comm;  /* spans gloo:*, mpi:*, ucc:* */
    int64_t exposed_comm;
    int64_t sync; /* calls that return when the device is done */
    int64_t exposed_sync;
    int64_t loading; /* a data loader is waited for */
    int64_t exposed_loading;
    int64_t other; /* none of these: Python and libraries outside operators, or nothing */
    size_t n_operators, n_comm, n_sync;
    rs_host_thread_view *threads; /* by operators, the longest first; then by the rest and the label */
    size_t n_threads;
} rs_host_view;

/* Of the selected events. Release with rs_host_view_clear, also after a failure. O(n log n) of the operators. */
rs_status rs_host_view_of(rs_trace *trace, rs_host_view *out, rs_error *err);
/* The same as stretches of time, appended to out: each moment of the span, without what is between recordings, is of the
 * part in which rs_host_view counts it. Release view with rs_host_view_clear, also after a failure. */
typedef enum rs_host_part {
    RS_HOST_OPERATORS,
    RS_HOST_COMM,
    RS_HOST_SYNC,
    RS_HOST_LOADING,
    RS_HOST_UNRECORDED, /* never put out */
    RS_HOST_OTHER
} rs_host_part;
rs_status rs_host_stretches(rs_trace *trace, rs_host_view *view, rs_divisions *out, rs_error *err);
void rs_host_view_clear(rs_host_view *view);

/* The same of n windows, each by itself, whatever is selected; they may overlap. Threads and counts are those of the whole rank, in *whole, and
 * empty in out, which holds n views. Release whole with rs_host_view_clear, also after a failure. */
rs_status rs_host_view_of_windows(rs_trace *trace, const rs_interval *windows, size_t n, rs_host_view *whole,
                                  rs_host_view *out, rs_error *err);
