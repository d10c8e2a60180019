/* Calls of device runtimes (CUDA, HIP, MUSA, MTIA, Level Zero): what a call does, told by its name. The one
 * table of them; a peer's own list of names stands with the peer. */
#pragma once

enum rs_call_flag {
    RS_CALL_LAUNCHES = 1,          /* puts work on a device */
    RS_CALL_KERNEL = 2,            /* ... one kernel */
    RS_CALL_GRAPH = 4,             /* ... a graph of them */
    RS_CALL_WAITS_DEVICE = 8,      /* waits for everything on a device */
    RS_CALL_WAITS_STREAM = 16,     /* waits for a stream */
    RS_CALL_WAITS_EVENT = 32,      /* waits for an event */
    RS_CALL_ASKS = 64,             /* asks whether an event or a stream is done */
    RS_CALL_COPIES = 128,          /* copies; it may block */
    RS_CALL_RECORDS = 256,         /* records an event */
    RS_CALL_STREAM_WAITS = 512,    /* makes a stream wait for an event */
    RS_CALL_POLLS = 1024,          /* looks after a device and gives it nothing to do */
    RS_CALL_ALLOCATES = 2048,      /* takes memory from the driver, or gives it back */
    RS_CALL_DRAINS = 4096,         /* ... and returns only when the device has nothing left to do */
    RS_CALL_BEGINS_CAPTURE = 8192, /* what is launched from here on becomes a graph and does not run */
    RS_CALL_ENDS_CAPTURE = 16384,
    RS_CALL_RUNS_HOST = 32768 /* puts a function of the host into a stream */
};

/* What the call does, rs_call_flag together; 0 when the name tells nothing. A walk over the table: once for
 * each name of a trace, not for each event. */
unsigned rs_call_flags(const char *name);
