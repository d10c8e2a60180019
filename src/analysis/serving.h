/* What `serving` knows of an engine's steps: the time of each, and what a server's files say next to it. */
#pragma once

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
    RS_SV_FIT,
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

/* What a rank's clock is: ns from 1970 at its 0; RS_NO_VALUE: the file does not say. */
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
    int64_t low, high;           /* where the percentile is; RS_NO_TIME: of the greatest */
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

/* How well a benchmark fits the trace. */
typedef struct rs_serving_fit {
    int64_t rank, requests, placed; /* requests: sent and answered within the trace; placed: with a step */
    double agreement_pct;
} rs_serving_fit;

typedef struct rs_serving_load {
    int64_t rank, at, running, waiting, preempted, steps, tokens,
        step_time; /* step_time: RS_NO_TIME without steps */
    double kv_pct;
} rs_serving_load;

/* What shows a step's phase. */
enum { RS_SV_ANNOTATED, RS_SV_BY_KERNELS, RS_SV_NOT_SHOWN };

/* What the host was in, in the time that is its own. */
typedef enum rs_serving_host {
    RS_SV_HOST_NOTHING, /* nothing was recorded */
    RS_SV_HOST_OTHER,
    RS_SV_HOST_REQUESTS,
    RS_SV_HOST_SCHEDULER,
    RS_SV_HOST_INPUT,
    RS_SV_HOST_MODEL,
    RS_SV_HOST_SAMPLING,
    RS_SV_HOST_OUTPUT,
    RS_SV_HOST_TOKENIZER,
    RS_N_SV_HOST
} rs_serving_host;

typedef struct rs_serving_host_row {
    int64_t time, all;
    uint32_t name;
    uint8_t what;
} rs_serving_host_row;

/* Typical steps: from the 40th to the 60th percentile of those of a phase; slow ones: from the 99th. */
enum { RS_SV_DIFFERS_TIME, RS_SV_DIFFERS_BATCH, RS_SV_DIFFERS_PART, RS_SV_DIFFERS_KERNEL, RS_N_SV_DIFFERS };
/* typical, slow: ns, or what the batch has, summed over these steps; n_...: executions; steps_...: how many. */
typedef struct rs_serving_difference {
    uint8_t what, phase;
    uint32_t name;
    int64_t typical, slow, n_typical, n_slow, steps_typical, steps_slow;
    double mean, mean_slow, more, by_count, by_time, weight; /* a step; times in us; weight: of the order */
} rs_serving_difference;

/* Of one rank: all but what is of all ranks. */
rs_status rs_serving_put_rank(const rs_run *run, rs_trace *trace, rs_relations *out, rs_error *err);
/* Of all ranks: latencies, requests and load. */
rs_status rs_serving_put_across(const rs_run *run, const rs_partial *partials, size_t n, rs_relations *out,
                                rs_error *err);
