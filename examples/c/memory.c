/* memory PATH...: the lines of the program that hold the GPU's memory at its peak, from PyTorch's allocator snapshots. */
#include "common.h"

int main(int argc, char **argv)
{
    rs_error err = RS_ERROR_INIT;
    rs_job_settings settings = default_settings();
    rs_job *job;
    if (rs_job_open((const char *const *)argv + 1, (size_t)argc - 1, &settings, &job, &err) != RS_OK)
        return failed(&err);
    int code = ask(job, "memory", NULL, "sites");
    rs_job_close(job);
    return code;
}
