/* Profiler files other than Kineto's: rocprofv3 JSON and CSV, XPlane, Perfetto, and databases. Whatever the bytes are, there is
 * an error or a trace whose columns hold together. */
#include <string.h>

#include "fuzz.h"
#include "format/native.h"

static void check_counters(const rs_events *e)
{
    for (size_t k = 0; k < e->n_counters; k++) {
        const rs_sparse *c = &e->counters[k].values;
        for (size_t i = 0; i < c->n; i++)
            PROMISE(c->rows[i] < e->n && (i == 0 || c->rows[i] > c->rows[i - 1]));
    }
}

static void check_events(const rs_events *e)
{
    for (size_t i = 0; i < e->n; i++) {
        PROMISE(e->name[i] < e->strings.n && e->thread[i] < e->n_threads && e->category[i] < e->n_categories);
        PROMISE((e->start[i] == RS_NO_TIME) == (e->phase[i] == 'M')); /* names of threads */
        PROMISE(strchr("MisfC", e->phase[i]) || (e->phase[i] == 'X' && e->duration[i] >= 0));
    }
    for (size_t c = 0; c < RS_N_COLUMNS; c++)
        for (size_t i = 0; i < e->args[c].n; i++) {
            PROMISE(e->args[c].rows[i] < e->n);
            PROMISE(i == 0 || e->args[c].rows[i] > e->args[c].rows[i - 1]);
        }
    check_counters(e);
}

/* The files of a run stand one after another, parted by a byte that no text has. */
#define PARTING 0x1e
static void check_run(const uint8_t *data, size_t n, const rs_load_settings *settings)
{
    rs_run_reader *run;
    rs_events *events;
    if (rs_format_rocprof_csv.run_open(settings, &run, NULL) != RS_OK) return;
    for (const uint8_t *p = data, *end = data + n; p < end;) {
        const uint8_t *part = memchr(p, PARTING, (size_t)(end - p));
        size_t length = (size_t)((part ? part : end) - p);
        rs_source *source;
        if (rs_source_open_bytes(p, length, "12_kernel_trace.csv", 0, &source, NULL) == RS_OK) {
            rs_format_rocprof_csv.run_add(run, source, settings, NULL);
            rs_source_close(source);
        }
        if (!part) break;
        p = part + 1;
    }
    rs_format_rocprof_csv.run_close(run, &events);
    check_events(events);
    rs_events_free(events);
}

int fuzz_one(const uint8_t *data, size_t n)
{
    rs_load_settings settings = {.columns = RS_ALL_COLUMNS};
    rs_source *source;
    rs_events *events;
    if (n == 0 || rs_source_open_bytes(data, n, "12_kernel_trace.csv", 0, &source, NULL) != RS_OK) return 0;
    const rs_format *format = rs_format_of_text(data, n);
    rs_status status = RS_ERR_FORMAT;
    if (format == &rs_format_rocprof_csv) status = rs_rocprof_csv_load(source, &settings, &events, NULL);
    if (format == &rs_format_rocprof_csv) check_run(data, n, &settings);
    if (format == &rs_format_rocprof_json) status = rs_rocprof_json_load(source, &settings, &events, NULL);
    if (strcmp(format->name, "xplane") == 0 || strstr(format->name, "perfetto")) {
        settings.columns |= RS_OTHER_ARGUMENTS;
        status = format->load(source, &settings, &events, NULL);
    }
    if (format->database_read) status = rs_sqlite_load("fuzz", data, n, &settings, &events, NULL);
    if (status == RS_OK) {
        check_events(events);
        rs_events_free(events);
    }
    rs_source_close(source);
    return 0;
}
