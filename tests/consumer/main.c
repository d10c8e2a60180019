/* Uses the installed library as a stranger would: loads a trace from memory and prints a table of it. */
#include <rankscope/rankscope.h>
#include <stdio.h>
#include <string.h>

static const char trace[] = "{\"traceEvents\": [{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"k\", "
                            "\"pid\": 0, \"tid\": 7, \"ts\": 1, "
                            "\"dur\": 2, \"args\": {\"stream\": 7, \"device\": 0, \"correlation\": 1}}]}";

int main(void)
{
    rs_error err = RS_ERROR_INIT;
    rs_job_settings settings;
    memset(&settings, 0, sizeof settings);
    settings.size = sizeof settings;
    rs_job *job;
    if (rs_job_open_bytes(trace, strlen(trace), "trace.json", &settings, &job, &err) != RS_OK) return 1;
    const rs_analysis *analysis = rs_analysis_find("breakdown");
    rs_result result;
    memset(&result, 0, sizeof result);
    if (!analysis || rs_job_run(job, analysis, NULL, RS_COMPAT_NONE, &result, &err) != RS_OK) {
        char text[1024];
        fprintf(stderr, "%s\n", rs_error_text(&err, text, sizeof text));
        return 1;
    }
    printf("rankscope %s: %zu tables\n", rs_version(), result.n_tables);
    rs_result_clear(&result);
    rs_job_close(job);
    return 0;
}
