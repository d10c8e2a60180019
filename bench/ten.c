/* One process, one job, ten analyses: bench-ten THREADS PATH ANALYSIS[:OPTION=VALUE]... Prints the seconds
 * from opening to the last answer, how many of them load, links and analyses took, the rows of all tables,
 * and the peak of memory. Only the public API is
 * used: what Python does is measured against it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "rankscope/rankscope.h"

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int fail(const rs_error *err)
{
    char text[1024];
    fprintf(stderr, "bench-ten: %s\n", rs_error_text(err, text, sizeof text));
    return 1;
}

/* "name" or "name:option=value". */
static rs_status run(rs_job *job, char *word, size_t *n_rows, rs_error *err)
{
    char *option = strchr(word, ':'), *value = option ? strchr(option, '=') : NULL;
    if (option) *option++ = '\0';
    if (value) *value++ = '\0';
    const rs_analysis *analysis = rs_analysis_find(word);
    if (!analysis) return rs_fail(err, RS_ERR_USAGE, "there is no analysis %s", word);
    size_t n;
    const rs_option_spec *specs = rs_analysis_options(analysis, &n);
    rs_options *options;
    rs_result result = {0};
    rs_status status = rs_options_create(specs, n, &options, err);
    if (status == RS_OK && option) status = rs_options_set(options, option, value, err);
    if (status == RS_OK) status = rs_job_run(job, analysis, options, RS_COMPAT_NONE, &result, err);
    for (size_t i = 0; i < result.n_tables; i++) *n_rows += rs_table_n_rows(result.tables[i]);
    rs_result_clear(&result);
    rs_options_free(options);
    return status;
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        fprintf(stderr, "usage: bench-ten THREADS PATH ANALYSIS[:OPTION=VALUE]...\n");
        return 2;
    }
    rs_error err = RS_ERROR_INIT;
    rs_job_settings settings = {
        .size = sizeof(rs_job_settings), .jobs = (unsigned)strtoul(argv[1], NULL, 10), .keep = true};
    rs_job *job;
    size_t n_rows = 0;
    double begin = now();
    if (rs_job_open((const char *const *)&argv[2], 1, &settings, &job, &err) != RS_OK) return fail(&err);
    for (int i = 3; i < argc; i++)
        if (run(job, argv[i], &n_rows, &err) != RS_OK) return fail(&err);
    double seconds = now() - begin;
    rs_job_stats stats = rs_job_get_stats(job);
    rs_job_close(job);
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("{\"seconds\": %.6f, \"load\": %.6f, \"links\": %.6f, \"analyses\": %.6f, \"rows\": %zu, "
           "\"peak\": %lld}\n",
           seconds, stats.load_seconds, stats.index_seconds, stats.analysis_seconds, n_rows,
           (long long)usage.ru_maxrss * 1024);
    return 0;
}
