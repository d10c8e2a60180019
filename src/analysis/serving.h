/* What `serving` knows of an engine's steps: the time of each, and what a server's files say next to it. */
#ifndef RS_ANALYSIS_SERVING_H
#define RS_ANALYSIS_SERVING_H

#include "analysis/plan.h"
#include "trace/serving.h"

/* What a moment of an engine belongs to. The first two and the last are a request's alone. */
enum {
    RS_SERVING_QUEUE,
    RS_SERVING_HOST,
    RS_SERVING_LAUNCH,
    RS_SERVING_COMPUTE,
    RS_SERVING_COMM,
    RS_SERVING_COPIES,
    RS_SERVING_OTHER,
    RS_SERVING_DELIVERY,
    RS_N_SERVING_PARTS
};

enum { RS_SERVING_UNKNOWN = RS_N_SERVING_PHASES }; /* of a step: nothing shows its phase */

/* The relations. */
enum {
    RS_SV_LATENCY,
    RS_SV_STEPS,
    RS_SV_HOST,
    RS_SV_DIFFERENCES,
    RS_SV_REQUESTS,
    RS_SV_LOAD,
    RS_SV_STRETCHES,
    RS_SV_OWN
};

/* A step of a rank. Its time is the period that `steps` shows: from the end of the step before to its own. */
typedef struct rs_serving_row {
    int64_t number, begin, until, time;
    uint8_t phase, from; /* rs_serving_phase or RS_SERVING_UNKNOWN; what shows it */
    int64_t requests, tokens, context_requests, context_tokens,
        generation_requests; /* RS_NO_VALUE: unknown */
    int64_t part[RS_N_SERVING_PARTS];
} rs_serving_row;

/* A stretch of time of one part. They follow each other without gaps. */
typedef struct rs_serving_stretch {
    int64_t from, time;
    uint8_t of;
} rs_serving_stretch;

/* Where a rank's clock stands: ns from 1970 at its 0; RS_NO_VALUE: the file does not say. */
typedef struct rs_serving_own {
    int64_t base;
} rs_serving_own;

/* Stretches with what goes by before every 64th of them. */
typedef struct rs_serving_ruler {
    const rs_serving_stretch *rows;
    size_t n;
    int64_t (*before)[RS_N_SERVING_PARTS];
} rs_serving_ruler;

/* false when out of memory. Rows are borrowed. */
bool rs_serving_ruler_open(rs_serving_ruler *ruler, const rs_serving_stretch *rows, size_t n);
void rs_serving_ruler_clear(rs_serving_ruler *ruler);
/* Adds the time of each part in [from, to). O(log n). */
void rs_serving_measure(const rs_serving_ruler *ruler, int64_t from, int64_t to,
                        int64_t part[RS_N_SERVING_PARTS]);

typedef struct rs_serving_latency {
    int64_t rank, time, n, step; /* n: tokens or steps of the sample; step: in which the shown one ends */
    int64_t low, high;           /* where the percentile lies; RS_NO_TIME: of the greatest */
    uint8_t metric, phase;
    int64_t percentile; /* 100: the greatest */
    int64_t part[RS_N_SERVING_PARTS];
    int64_t in_prefill; /* of time, in steps that decode nothing */
} rs_serving_latency;
extern const char *const rs_serving_metrics[4];

typedef struct rs_serving_request_row {
    int64_t rank, request, sent, time, step;
    int64_t part[RS_N_SERVING_PARTS];
} rs_serving_request_row;

typedef struct rs_serving_load {
    int64_t rank, at, running, waiting, preempted, steps, tokens,
        step_time; /* step_time: RS_NO_TIME without steps */
    double kv_pct;
} rs_serving_load;

/* Of all ranks: latencies, requests and load. */
rs_status rs_serving_put_across(const rs_run *run, const rs_partial *partials, size_t n, rs_relations *out,
                                rs_error *err);

#endif
