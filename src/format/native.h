/* Traces of profilers other than Kineto: their records in the same event columns.
 *
 * rocprofv3 (JSON, CSV, rocpd databases) and Nsight Systems (SQLite exports). Times are the file's integer
 * nanoseconds. GPU work is category kernel, gpu_memcpy or gpu_memset, API calls hip_runtime or cuda_runtime,
 * ranges user_annotation; what else is recorded keeps the name that the profiler gives it and counts for
 * nothing. GPU work stands on the process that launched it, so that files of many ranks can be told apart. */
#ifndef RS_FORMAT_NATIVE_H
#define RS_FORMAT_NATIVE_H

#include "format/kineto.h"

/* One record, as its reader found it. RS_NO_VALUE where it says nothing. */
typedef struct rs_native {
    const char *category; /* static text */
    const char *name;     /* need not be terminated; or name NULL and name_id set */
    size_t name_length;
    uint32_t name_id;
    int64_t start, end; /* ns */
    int64_t pid, tid;
    int64_t correlation, stream, device, context, bytes, registers, shared_memory;
    int64_t grid[3], block[3];        /* in blocks, in threads; [0] RS_NO_VALUE: unknown */
    int64_t wait_stream, wait_record; /* of a synchronization: behind which recorded event it waits */
    int64_t in_elements, out_elements, group_size; /* of a collective; also: */
    uint32_t collective, dtype, group;             /* string ids, RS_NO_STRING: unknown */
} rs_native;

#define RS_NATIVE_NONE                                                                                       \
    ((rs_native){.name_id = RS_NO_STRING,                                                                    \
                 .start = RS_NO_TIME,                                                                        \
                 .end = RS_NO_TIME,                                                                          \
                 .correlation = RS_NO_VALUE,                                                                 \
                 .stream = RS_NO_VALUE,                                                                      \
                 .device = RS_NO_VALUE,                                                                      \
                 .context = RS_NO_VALUE,                                                                     \
                 .bytes = RS_NO_VALUE,                                                                       \
                 .registers = RS_NO_VALUE,                                                                   \
                 .shared_memory = RS_NO_VALUE,                                                               \
                 .grid = {RS_NO_VALUE},                                                                      \
                 .block = {RS_NO_VALUE},                                                                     \
                 .wait_stream = RS_NO_VALUE,                                                                 \
                 .wait_record = RS_NO_VALUE,                                                                 \
                 .in_elements = RS_NO_VALUE,                                                                 \
                 .out_elements = RS_NO_VALUE,                                                                \
                 .group_size = RS_NO_VALUE,                                                                  \
                 .collective = RS_NO_STRING,                                                                 \
                 .dtype = RS_NO_STRING,                                                                      \
                 .group = RS_NO_STRING})

/* Appends it as a complete event. A record without times is lost and counted; one that ends before it starts
 * gets no length and a warning. offset: where it stands, or RS_NO_OFFSET. */
rs_status rs_native_add(rs_events *events, const char *file, const rs_native *record, uint64_t offset,
                        rs_error *err);

/* Work-items to blocks, as AMD counts a grid. */
void rs_native_grid_of_items(rs_native *record);

typedef enum rs_trace_format {
    RS_TRACE_KINETO,
    RS_TRACE_ROCPROF_JSON,
    RS_TRACE_ROCPROF_CSV,
    RS_TRACE_SQLITE
} rs_trace_format;

/* Told by the first bytes of the text. */
rs_trace_format rs_trace_format_of(const uint8_t *text, size_t n);

/* Looks which format the input is and reads it. path and bytes (NULL: the path is read) are those the source
 * was opened with. */
rs_status rs_trace_load(const char *path, const void *bytes, size_t n_bytes, rs_source *source,
                        const rs_load_settings *settings, rs_events **out, rs_error *err);

rs_status rs_rocprof_json_load(rs_source *source, const rs_load_settings *settings, rs_events **out,
                               rs_error *err);
/* One CSV file by itself. */
rs_status rs_rocprof_csv_load(rs_source *source, const rs_load_settings *settings, rs_events **out,
                              rs_error *err);

/* The CSV files of one run, one after another, into the same events: those that say what the others refer to
 * (agents, processes) come first, as rs_rocprof_name_of orders them. */
typedef struct rs_csv_run rs_csv_run;
rs_status rs_csv_run_open(const rs_load_settings *settings, rs_csv_run **out, rs_error *err);
/* RS_ERR_FORMAT: the file is none of rocprofv3's; others may still be added. settings: for its progress. */
rs_status rs_csv_run_add(rs_csv_run *run, rs_source *source, const rs_load_settings *settings, rs_error *err);
/* Takes the events; the caller frees them. NULL is allowed: nothing is kept. */
void rs_csv_run_close(rs_csv_run *run, rs_events **out);

/* What rocprofv3 calls its files: <prefix>_<domain>.csv, <prefix>_results.json, <prefix>_results.db. */
typedef enum rs_rocprof_file {
    RS_ROCPROF_NONE, /* no such name */
    RS_ROCPROF_DATABASE,
    RS_ROCPROF_WHOLE_JSON,
    RS_ROCPROF_CSV
} rs_rocprof_file;
typedef struct rs_rocprof_name {
    rs_rocprof_file file;
    size_t prefix;  /* bytes of the path that every file of the run begins with */
    unsigned order; /* of a CSV: in which they are read */
    bool counters;  /* dispatches once more, with hardware counters */
    bool kernels;
    bool agents;
} rs_rocprof_name;
rs_rocprof_name rs_rocprof_name_of(const char *path);
/* A rocpd or Nsight Systems database: bytes where they are given, else the file. */
rs_status rs_sqlite_load(const char *path, const void *bytes, size_t n_bytes,
                         const rs_load_settings *settings, rs_events **out, rs_error *err);

#endif
