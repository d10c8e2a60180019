/* Traces of profilers other than Kineto: their records in the same event columns.
 *
 * rocprofv3 (JSON, CSV, rocpd databases) and Nsight Systems (SQLite exports). Times are the file's integer
 * nanoseconds. GPU work is category kernel, gpu_memcpy or gpu_memset, API calls hip_runtime or cuda_runtime,
 * ranges user_annotation; what else is recorded keeps the name that the profiler gives it and counts for
 * nothing. GPU work stands on the process that launched it, so that files of many ranks can be told apart. */
#pragma once

#include "format/format.h"

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
    int64_t sequence;                              /* of an operator; also: */
    uint32_t dims;                                 /* "[[2, 3], [3, 4]]" */
    bool is_sample;                                /* of a counter: an event of a moment, with a value */
    double value;
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
                 .group = RS_NO_STRING,                                                                      \
                 .sequence = RS_NO_VALUE,                                                                    \
                 .dims = RS_NO_STRING})

/* Appends it as a complete event. A record without times is lost and counted; one that ends before it starts
 * gets no length and a warning. offset: where it stands, or RS_NO_OFFSET. */
rs_status rs_native_add(rs_events *events, const char *file, const rs_native *record, uint64_t offset,
                        rs_error *err);

/* A kernel that rocprofv3 dispatched, which it may have recorded as such and with its counters: the first record counts.
 * dispatch: its number, RS_NO_VALUE: unknown; rows: by number, the caller's. *row: RS_NO_ROW where it was lost. */
rs_status rs_native_add_dispatch(rs_events *events, const char *file, const rs_native *record,
                                 uint64_t offset, rs_map64 *rows, int64_t dispatch, uint32_t *row,
                                 rs_error *err);
/* What a counter counted in a row; in any order of rows: rs_events_sort_counters follows. */
rs_status rs_native_count(rs_events *events, uint32_t row, const char *counter, size_t length, double value,
                          rs_error *err);

/* What a thread is called, as Kineto says it. */
rs_status rs_native_name_thread(rs_events *events, int64_t pid, int64_t tid, const char *name, rs_error *err);

/* Work-items to blocks, as AMD counts a grid. */
void rs_native_grid_of_items(rs_native *record);

rs_status rs_rocprof_json_load(rs_source *source, const rs_load_settings *settings, rs_events **out,
                               rs_error *err);
/* One CSV file by itself; several of a run through the row of the format. */
rs_status rs_rocprof_csv_load(rs_source *source, const rs_load_settings *settings, rs_events **out,
                              rs_error *err);

/* What rocprofv3 calls its files: <prefix>_<domain>.csv, <prefix>_results.json, <prefix>_results.db; each of
 * them for the row of one format. */
rs_run_name rs_rocprof_csv_name(const char *path);
rs_run_name rs_rocprof_json_name(const char *path);
rs_run_name rs_rocpd_name(const char *path);
/* What doctor advises where rocprofv3 records. */
extern const rs_remedy rs_rocprof_remedies[];

/* A rocpd or Nsight Systems database: bytes where they are given, else the file. */
rs_status rs_sqlite_load(const char *path, const void *bytes, size_t n_bytes,
                         const rs_load_settings *settings, rs_events **out, rs_error *err);
/* One that is open and has that size. */
rs_status rs_sqlite_load_open(const char *path, int fd, uint64_t size, const rs_load_settings *settings,
                              rs_events **out, rs_error *err);
/* One that is packed, or comes as a stream: unpacked to a temporary file first. */
rs_status rs_sqlite_unpack(rs_source *source, const rs_load_settings *settings, rs_events **out,
                           rs_error *err);
