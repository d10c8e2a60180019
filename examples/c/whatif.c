/* whatif EDITS PATH...: the job replayed as if something were different, e.g. whatif no-stragglers:2 TRACES.
 * `rankscope replay --help` lists the edits. Gains come with their interval; where the replay explains the job too badly, `trusted` is 0. */
#include "common.h"

int main(int argc, char **argv)
{
    rs_error err = RS_ERROR_INIT;
    if (argc < 3) {
        fprintf(stderr, "usage: whatif EDITS PATH...\n");
        return 2;
    }
    rs_job_settings settings = default_settings();
    rs_job *job;
    if (rs_job_open((const char *const *)argv + 2, (size_t)argc - 2, &settings, &job, &err) != RS_OK)
        return failed(&err);
    int code = ask(job, "replay", (const char *const[]){"what-if", argv[1], NULL}, "what_if");
    rs_job_close(job);
    return code;
}
