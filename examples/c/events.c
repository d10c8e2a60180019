/* events PATH...: the longest kernel of each rank, from the columns of events. */
#include "common.h"

static void longest(const rs_event_rank *rank, uint32_t kernel)
{
    const char *name = NULL;
    int64_t most = -1;
    for (size_t i = 0; i < rank->n; i++) {
        uint32_t row = rs_event_row(rank, i);
        if (rank->categories[rank->category[row]] != kernel || rank->duration[row] == RS_EVENT_UNKNOWN ||
            rank->duration[row] <= most)
            continue;
        most = rank->duration[row];
        name = rs_event_text(rank, rank->name[row], NULL);
    }
    if (name) printf("rank %" PRId64 ": %" PRId64 " ns: %s\n", rank->rank, most, name);
}

int main(int argc, char **argv)
{
    rs_error err = RS_ERROR_INIT;
    rs_job_settings settings = default_settings();
    rs_job *job;
    if (rs_job_open((const char *const *)argv + 1, (size_t)argc - 1, &settings, &job, &err) != RS_OK)
        return failed(&err);
    rs_result result;
    memset(&result, 0, sizeof result);
    rs_event_list *list;
    int code = 0;
    if (rs_event_list_open(job, false, &list, &result, &err) != RS_OK) {
        code = failed(&err);
    } else {
        for (size_t r = 0; r < rs_event_list_n_ranks(list); r++) {
            const rs_event_rank *rank = rs_event_list_rank(list, r);
            longest(rank, rs_event_find_text(rank, "kernel", strlen("kernel")));
        }
        rs_event_list_close(list);
    }
    rs_result_clear(&result);
    rs_job_close(job);
    return code;
}
