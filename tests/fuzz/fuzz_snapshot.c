/* Snapshots of an allocator: any bytes are refused or answered. Of what is answered the sums agree: the blocks of the peak
 * and the categories add up to the peak of their device, the segments to what is reserved at the end. What would be is
 * never below nothing, and in its interval. */
#include <string.h>

#include "fuzz.h"
#include "rankscope/job.h"

static int64_t sum_of(const rs_table *t, size_t column, const char *device)
{
    int64_t sum = 0;
    size_t n;
    for (size_t i = 0; i < rs_table_n_rows(t); i++)
        if (strcmp(rs_table_text(t, i, 1, &n), device) == 0)
            sum = (int64_t)((uint64_t)sum + (uint64_t)rs_table_int(t, i, column));
    return sum;
}

static size_t column_of(const rs_table *t, const char *name)
{
    const rs_table_spec *spec = rs_table_get_spec(t);
    for (size_t i = 0; i < spec->n_columns; i++)
        if (strcmp(spec->columns[i].name, name) == 0) return i;
    PROMISE(false);
    return 0;
}

/* Where no sum of sizes leaves the range, which only hostile sizes do. */
static void check(const rs_result *r)
{
    const rs_table *ranks = rs_result_table(r, "ranks"), *peak = rs_result_table(r, "peak"),
                   *purposes = rs_result_table(r, "categories"), *segments = rs_result_table(r, "segments");
    size_t active = column_of(ranks, "peak_active_bytes"), reserved = column_of(ranks, "end_reserved_bytes");
    for (size_t i = 0; i < rs_table_n_rows(ranks); i++) {
        size_t n;
        const char *device = rs_table_text(ranks, i, 1, &n);
        int64_t most = rs_table_int(ranks, i, active);
        PROMISE(most >= 0);
        if (most > INT64_MAX / 4 || rs_table_int(ranks, i, reserved) > INT64_MAX / 4) continue;
        PROMISE(sum_of(peak, column_of(peak, "bytes"), device) == most);
        PROMISE(sum_of(purposes, column_of(purposes, "bytes"), device) == most);
        PROMISE(sum_of(segments, column_of(segments, "reserved_bytes"), device) ==
                rs_table_int(ranks, i, reserved));
    }
}

static void check_answers(const rs_table *answers)
{
    size_t peak = column_of(answers, "new_peak_active_bytes"), low = column_of(answers, "low_bytes"),
           high = column_of(answers, "high_bytes");
    for (size_t i = 0; i < rs_table_n_rows(answers); i++) {
        PROMISE(rs_table_int(answers, i, low) >= 0);
        PROMISE(rs_table_int(answers, i, low) <= rs_table_int(answers, i, high));
        if (rs_table_is_null(answers, i, peak)) continue;
        PROMISE(rs_table_int(answers, i, low) <= rs_table_int(answers, i, peak));
        PROMISE(rs_table_int(answers, i, peak) <= rs_table_int(answers, i, high));
    }
}

int fuzz_one(const uint8_t *data, size_t n)
{
    static const char *const by[] = {"line",     "stack", "annotation", "pool",
                                     "category", "frame", "stream",     "size"};
    const rs_analysis *memory = rs_analysis_find("memory");
    size_t n_specs;
    const rs_option_spec *specs = rs_analysis_options(memory, &n_specs);
    rs_options *options;
    rs_job *job;
    rs_result result = {0};
    rs_error err = RS_ERROR_INIT;
    rs_job_settings settings = {.size = sizeof settings, .jobs = 1, .max_memory = (uint64_t)64 << 20};
    PROMISE(rs_options_create(specs, n_specs, &options, &err) == RS_OK);
    PROMISE(rs_options_set(options, "top", "0", &err) == RS_OK);
    PROMISE(rs_options_set(options, "by", by[n % 8], &err) == RS_OK);
    if (n % 3 == 0) PROMISE(rs_options_set(options, "series", NULL, &err) == RS_OK);
    if (n % 3 == 1) PROMISE(rs_options_set(options, "without", "a", &err) == RS_OK);
    if (n % 3 == 1) PROMISE(rs_options_set(options, "fit", "1G", &err) == RS_OK);
    if (n % 3 != 0) {
        PROMISE(rs_options_set(options, "recompute", ".", &err) == RS_OK);
        PROMISE(rs_options_set(options, "early", "e", &err) == RS_OK);
        PROMISE(rs_options_set(options, "batch", n % 2 ? "0.5" : "1e6", &err) == RS_OK);
        PROMISE(rs_options_set(options, "shard", "8", &err) == RS_OK);
    }
    PROMISE(rs_job_open_bytes(data, n, "rank0.pickle", &settings, &job, &err) == RS_OK);
    rs_status status = rs_job_run(job, memory, options, RS_COMPAT_NONE, &result, &err);
    PROMISE(status == RS_OK || status == RS_ERR_FORMAT || status == RS_ERR_LIMIT || status == RS_ERR_NOMEM ||
            status == RS_ERR_IO || status == RS_ERR_AMBIGUOUS || status == RS_ERR_USAGE);
    if (status == RS_OK && n >= 1 && data[0] == 0x80) {
        check(&result);
        if (n % 3 != 0) check_answers(rs_result_table(&result, "without"));
    }
    rs_result_clear(&result);
    rs_job_close(job);
    rs_options_free(options);
    return 0;
}
