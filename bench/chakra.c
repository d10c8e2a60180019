/* Times loading the inputs of a Chakra link, as `chakra link` loads them: bench-chakra HOST DEVICE. Prints
 * seconds, nodes, events, the bytes of both and the peak of memory. */
#include <stdio.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "chakra/et.h"
#include "format/kineto.h"

static int fail(const rs_error *err)
{
    char text[1024];
    fprintf(stderr, "bench-chakra: %s\n", rs_error_text(err, text, sizeof text));
    return 1;
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: bench-chakra HOST DEVICE\n");
        return 2;
    }
    rs_error err = RS_ERROR_INIT;
    rs_problems problems = {0};
    rs_et et;
    rs_source *source;
    rs_events *events;
    rs_load_settings settings = {.threads = 1, .columns = RS_ALL_COLUMNS};
    double begin = rs_clock_seconds();
    if (rs_et_load(argv[1], 0, &et, &problems, &err) != RS_OK) return fail(&err);
    double host = rs_clock_seconds() - begin;
    if (rs_source_open(argv[2], 0, &source, &err) != RS_OK) return fail(&err);
    if (rs_kineto_load(source, &settings, &events, &err) != RS_OK) return fail(&err);
    double seconds = rs_clock_seconds() - begin;
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("{\"seconds\": %.6f, \"host\": %.6f, \"nodes\": %zu, \"events\": %zu, \"text\": %llu, \"peak\": "
           "%llu}\n",
           seconds, host, et.n_nodes, events->n, (unsigned long long)(et.n_text + events->n_bytes),
           (unsigned long long)usage.ru_maxrss * 1024);
    rs_events_free(events);
    rs_source_close(source);
    rs_et_clear(&et);
    rs_problems_clear(&problems);
    return 0;
}
