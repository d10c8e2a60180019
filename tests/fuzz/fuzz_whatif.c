/* Tables of operations and the study's timelines: any text is a table or refused; what is answered is whole,
 * under our rules and the peer's, and its tables hold no more rows than the text has operations. */

#include "fuzz.h"
#include "rankscope/job.h"

static void check(const rs_result *r, size_t n)
{
    const rs_table *job = rs_result_table(r, "whatif"), *workers = rs_result_table(r, "workers");
    PROMISE(job && rs_table_n_rows(job) == 1 && workers);
    PROMISE(rs_table_int(job, 0, 0) == (int64_t)rs_table_n_rows(workers));
    PROMISE(rs_table_int(job, 0, 4) > 0 && (uint64_t)rs_table_int(job, 0, 4) <= n);
}

static void ask(const uint8_t *data, size_t n, rs_compat compat)
{
    rs_error err = RS_ERROR_INIT;
    rs_job *job;
    rs_result result;
    rs_options *options;
    size_t n_specs;
    const rs_analysis *whatif = rs_analysis_find("whatif");
    const rs_option_spec *specs = rs_analysis_options(whatif, &n_specs);
    const rs_job_settings settings = {
        .size = sizeof(rs_job_settings), .jobs = 1, .simd = fuzz_every_way ? 0 : 2};
    PROMISE(rs_options_create(specs, n_specs, &options, &err) == RS_OK);
    PROMISE(rs_options_set(options, "scale", "stage:0=0.5", &err) == RS_OK);
    PROMISE(rs_options_set(options, "ideal-trace", "x", &err) == RS_OK);
    PROMISE(rs_job_open_bytes(data, n, "input", &settings, &job, &err) == RS_OK);
    rs_status status = rs_job_run(job, whatif, options, compat, &result, &err);
    if (status == RS_OK)
        check(&result, n);
    else
        /* what begins as neither form is read as a trace, for which the options are wrong */
        PROMISE(status == RS_ERR_FORMAT || status == RS_ERR_LIMIT || status == RS_ERR_USAGE);
    rs_result_clear(&result);
    rs_options_free(options);
    rs_job_close(job);
}

int fuzz_one(const uint8_t *data, size_t n)
{
    ask(data, n, RS_COMPAT_NONE);
    ask(data, n, RS_COMPAT_STRAGGLER_ANALYSIS);
    return 0;
}
