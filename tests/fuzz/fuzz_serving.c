/* Files of a server next to a trace: benchmarks in JSON and logs. Whatever the bytes say, requests have a first token after they were
 * sent, tokens are in order, and lines have a date. Names of steps and kernels are read, too. */
#include <math.h>

#include "format/serving_files.h"
#include "fuzz.h"
#include "trace/serving.h"

static void check_benchmark(const uint8_t *data, size_t n)
{
    rs_serving_benchmark b;
    rs_error err = RS_ERROR_INIT;
    rs_source *source;
    PROMISE(rs_source_open_bytes(data, n, "input", 0, &source, &err) == RS_OK);
    const rs_status status = rs_serving_benchmark_read(source, &b, &err);
    PROMISE(status == RS_OK || status == RS_ERR_FORMAT || status == RS_ERR_LIMIT);
    for (size_t i = 0; i < b.n; i++)
        PROMISE(b.requests[i].start != RS_NO_TIME && b.requests[i].first > b.requests[i].start);
    for (size_t i = 1; status == RS_OK && i < b.n_tokens; i++) PROMISE(b.tokens[i - 1] <= b.tokens[i]);
    PROMISE(b.n_tokens >= b.n);
    rs_serving_benchmark_clear(&b);
    rs_source_close(source);
}

static void check_log(const uint8_t *data, size_t n)
{
    rs_serving_log log;
    rs_error err = RS_ERROR_INIT;
    rs_source *source;
    PROMISE(rs_source_open_bytes(data, n, "input", 0, &source, &err) == RS_OK);
    const rs_status status = rs_serving_log_read(source, &log, &err);
    PROMISE(status == RS_OK || status == RS_ERR_FORMAT || status == RS_ERR_LIMIT);
    for (size_t i = 0; i < log.n; i++) {
        const rs_serving_line *l = &log.lines[i];
        PROMISE(l->month >= 1 && l->month <= 12 && l->day >= 1 && l->day <= 31 && l->year >= 0 &&
                l->year <= 9999);
        PROMISE(l->second >= 0 && l->second <= 86400);
        PROMISE(l->preempted != RS_NO_VALUE || !isnan(l->kv_pct));
    }
    rs_serving_log_clear(&log);
    rs_source_close(source);
}

int fuzz_one(const uint8_t *data, size_t n)
{
    rs_serving_step step;
    if (rs_serving_parse((const char *)data, n, &step)) PROMISE(step.phase < RS_N_SERVING_PHASES);
    PROMISE(rs_serving_phase_of_kernel((const char *)data, n) < RS_N_SERVING_PHASES);
    check_benchmark(data, n);
    check_log(data, n);
    return 0;
}
