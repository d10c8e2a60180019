/* How many launches wait on each stream: one sample when a launching call begins, one when its work starts.
 * A call with several kernels (a graph) counts once for each. */
#ifndef RS_TRACE_QUEUE_H
#define RS_TRACE_QUEUE_H

#include "trace/hta_window.h"
#include "trace/trace.h"

typedef struct rs_queue {
    size_t n;        /* two samples for each piece of work that a call launched */
    int64_t *time;   /* ns */
    uint32_t *row;   /* the call's (it begins) or the work's (it starts) */
    uint32_t *work;  /* row of the work that the sample is about */
    int64_t *device; /* -1 when unknown; 0 under HTA's rules, which know no devices */
    int64_t *stream;
    int64_t *length; /* waiting behind this sample */
    uint8_t *starts; /* 1: the work starts; 0: the launch begins */
} rs_queue;

/* By device, stream, then time; at one moment work that starts goes first. Owned by the caller. */
rs_status rs_queue_create(const rs_work *work, const rs_events *events, rs_queue **out, rs_error *err);
/* As HTA counts: only launches by its list of names; frame is HTA's view of the rank. At one moment launches
 * go first, in row order. */
rs_status rs_queue_create_hta(const rs_events *events, const rs_hta_frame *frame, rs_queue **out,
                              rs_error *err);
void rs_queue_free(rs_queue *queue);

/* Whether HTA counts a host event of this name as a launch. */
bool rs_hta_is_launch_name(const char *name);

#endif
