/* What a serving benchmark and the log of a server say, each on its own clock.
 *
 * Benchmarks: the JSON of vLLM's `bench serve --save-result --save-detailed` and of SGLang's `bench_serving --output-details`: lists
 * start_times, ttfts and itls, in seconds. Several documents in one file are read, too (SGLang appends lines).
 * Logs: vLLM's lines of its statistics, SGLang's of batches; requests that were preempted or retracted. */
#pragma once

#include "input/source.h"
#include "trace/events.h"

typedef struct rs_serving_request {
    int64_t start, first; /* sent; first token received: ns of the client's clock */
} rs_serving_request;

typedef struct rs_serving_benchmark {
    rs_serving_request *requests; /* those that were answered, in the order of the file */
    size_t n, requests_capacity;
    int64_t *tokens; /* when each was received, of all requests, ascending */
    size_t n_tokens, tokens_capacity;
    size_t n_failed; /* requests that were not answered, or whose times are damaged */
} rs_serving_benchmark;

/* RS_ERR_FORMAT: no JSON, or without the lists that are needed; the message says how to record them. Clear it also after a failure. */
rs_status rs_serving_benchmark_read(rs_source *source, rs_serving_benchmark *out, rs_error *err);
void rs_serving_benchmark_clear(rs_serving_benchmark *benchmark);

typedef struct rs_serving_line {
    int64_t year, month, day,
        second; /* as the server's own time zone has it; year 0: not said; second: of the day */
    int64_t running, waiting, preempted; /* requests; RS_NO_VALUE: not said */
    double kv_pct;                       /* of the KV cache in use; NaN: not said */
} rs_serving_line;

typedef struct rs_serving_log {
    rs_serving_line *lines; /* in the order of the file */
    size_t n, capacity;
} rs_serving_log;

/* A line that says nothing of these is skipped; a text without any is RS_ERR_FORMAT. Clear it also after a failure. */
rs_status rs_serving_log_read(rs_source *source, rs_serving_log *out, rs_error *err);
void rs_serving_log_clear(rs_serving_log *log);
