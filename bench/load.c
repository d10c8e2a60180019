/* Times loads of one trace: bench-load memory|file THREADS all|few PATH [LOADS]. Prints the seconds of the
 * first load, the fastest of LOADS (3) and the processor time of the one that took least, events, and the
 * peak of memory; with `memory` the text is read before and is part of the peak. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "base/clock.h"
#include "format/kineto.h"

static int fail(const rs_error *err)
{
    char text[1024];
    fprintf(stderr, "bench-load: %s\n", rs_error_text(err, text, sizeof text));
    return 1;
}

/* Of all threads of this process. */
static double processor_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
    if (argc != 5 && argc != 6) {
        fprintf(stderr, "usage: bench-load memory|file THREADS all|few PATH [LOADS]\n");
        return 2;
    }
    int n_loads = argc == 6 ? atoi(argv[5]) : 3;
    bool in_memory = strcmp(argv[1], "memory") == 0;
    rs_load_settings settings = {.threads = (unsigned)strtoul(argv[2], NULL, 10)};
    /* few: what the links of launches and kernels need */
    settings.columns = strcmp(argv[3], "all") == 0
                           ? RS_ALL_COLUMNS
                           : RS_COLUMN_BIT(CORRELATION) | RS_COLUMN_BIT(STREAM) | RS_COLUMN_BIT(DEVICE);
    rs_error err = RS_ERROR_INIT;
    rs_source *source;
    uint8_t *text = NULL;
    size_t n = 0;
    if (in_memory) {
        if (rs_source_open(argv[4], 0, &source, &err) != RS_OK) return fail(&err);
        if (rs_source_read_all(source, SIZE_MAX / 4, &text, &n, &err) != RS_OK) return fail(&err);
        rs_source_close(source);
    }
    double first = 0, best = 1e9, best_processor = 1e9;
    size_t n_events = 0;
    uint64_t n_lost = 0, n_text = 0;
    for (int k = 0; k < n_loads; k++) {
        rs_events *events;
        if (!in_memory && rs_source_open(argv[4], 0, &source, &err) != RS_OK) return fail(&err);
        if (in_memory && rs_source_open_bytes(text, n, argv[4], 0, &source, &err) != RS_OK) return fail(&err);
        double begin = rs_clock_seconds(), processor = processor_seconds();
        if (rs_kineto_load(source, &settings, &events, &err) != RS_OK) return fail(&err);
        double seconds = rs_clock_seconds() - begin;
        processor = processor_seconds() - processor;
        if (k == 0) first = seconds;
        if (seconds < best) best = seconds;
        if (processor < best_processor) best_processor = processor;
        n_events = events->n;
        n_lost = events->n_lost;
        n_text = events->n_bytes;
        rs_events_free(events);
        rs_source_close(source);
    }
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("{\"seconds\": %.6f, \"warm\": %.6f, \"processor\": %.6f, \"events\": %zu, \"lost\": %llu, "
           "\"text\": %llu, \"peak\": %llu}\n",
           first, best, best_processor, n_events, (unsigned long long)n_lost, (unsigned long long)n_text,
           (unsigned long long)usage.ru_maxrss * 1024);
    free(text);
    return 0;
}
