/* Times several analyses over one load of one trace: bench-many PATH NAME[:OPTION=VALUE]... on one thread, in
 * HTA's rules for a NAME that begins with "hta:". Prints what load, links and all analyses together took. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rankscope/rankscope.h"

#define MOST 32

static int fail(const rs_error *err)
{
    char text[1024];
    fprintf(stderr, "bench-many: %s\n", rs_error_text(err, text, sizeof text));
    return 1;
}

/* "name" or "name:option=value". */
static rs_status make_query(char *word, rs_query *query, rs_error *err)
{
    if (strncmp(word, "hta:", 4) == 0) {
        query->compat = RS_COMPAT_HTA;
        word += 4;
    }
    char *option = strchr(word, ':');
    if (option) *option++ = '\0';
    query->analysis = rs_analysis_find(word);
    if (!query->analysis) return rs_fail(err, RS_ERR_USAGE, "there is no analysis %s", word);
    if (!option) return RS_OK;
    char *value = strchr(option, '=');
    if (value) *value++ = '\0';
    size_t n;
    const rs_option_spec *specs = rs_analysis_options(query->analysis, &n);
    rs_options *options = rs_options_create(specs, n);
    if (!options) return rs_fail_nomem(err, "options");
    query->options = options; /* the process ends before it matters */
    return rs_options_set(options, option, value, err);
}

int main(int argc, char **argv)
{
    if (argc < 3 || argc - 2 > MOST) {
        fprintf(stderr, "usage: bench-many PATH [hta:]NAME[:OPTION=VALUE]...\n");
        return 2;
    }
    rs_error err = RS_ERROR_INIT;
    rs_query queries[MOST] = {0};
    rs_result results[MOST];
    size_t n = (size_t)argc - 2;
    for (size_t i = 0; i < n; i++)
        if (make_query(argv[i + 2], &queries[i], &err) != RS_OK) return fail(&err);
    rs_job_settings settings = {.jobs = 1};
    rs_job *job;
    if (rs_job_open((const char *const *)&argv[1], 1, &settings, &job, &err) != RS_OK) return fail(&err);
    if (rs_job_run_many(job, queries, n, results, &err) != RS_OK) return fail(&err);
    rs_job_stats stats = rs_job_get_stats(job);
    printf("{\"load\": %.6f, \"links\": %.6f, \"seconds\": %.6f}\n", stats.load_seconds, stats.index_seconds,
           stats.analysis_seconds);
    for (size_t i = 0; i < n; i++) rs_result_clear(&results[i]);
    rs_job_close(job);
    return 0;
}
