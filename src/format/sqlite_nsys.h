/* Nsight Systems' exports: what the parts of their reader share. Private to src/format/sqlite_nsys*.c. */
#pragma once

#include "format/sqlite_internal.h"

/* A call of NCCL on the host. */
typedef struct rs_nccl_call {
    int64_t thread, start, end; /* globalTid, ns */
    uint32_t name;              /* string id, without "nccl"; RS_NO_STRING: the end of a group */
    uint32_t comm;              /* string id of the communicator's hash; RS_NO_STRING: unknown */
    int64_t bytes;
    bool group_start;
} rs_nccl_call;

/* Where the payloads of one schema have what is read of them. */
enum { RS_PAYLOAD_COMM, RS_PAYLOAD_BYTES, RS_PAYLOAD_RANKS, RS_PAYLOAD_FIELDS };
typedef struct rs_payload_layout {
    unsigned size[RS_PAYLOAD_FIELDS]; /* bytes; 0: it has none */
    int64_t offset[RS_PAYLOAD_FIELDS];
} rs_payload_layout;

/* Ranges of NVTX, and what NCCL says in them. Zeroed is empty. */
typedef struct rs_nsys_ranges {
    rs_database *d;
    rs_map64 domains; /* process and NVTX domain, where that is NCCL's */
    rs_map64 layouts_of;
    rs_payload_layout *layouts;
    size_t n_layouts, layouts_capacity;
    rs_nccl_call *nccl;
    size_t n_nccl, nccl_capacity;
    rs_map64 ranks_of; /* communicator (string id) -> its ranks */
    rs_map64 nccl_of;  /* process and correlation of a launch -> call of NCCL */
} rs_nsys_ranges;

/* Domains and the layouts of payloads come first, then the ranges. context: the rs_nsys_ranges. */
extern const rs_source_table rs_nsys_domains, rs_nsys_payloads, rs_nsys_events;
/* After the last range. */
void rs_nsys_ranges_end(rs_nsys_ranges *n);
/* A launch that may be within a call of NCCL. */
rs_status rs_nsys_take_launch(rs_nsys_ranges *n, int64_t thread, const rs_native *launch);
/* Says on a kernel what NCCL said of its call. */
rs_status rs_nsys_describe(rs_nsys_ranges *n, rs_native *kernel);
void rs_nsys_ranges_clear(rs_nsys_ranges *n);

/* What nsys saw of the host and sampled of the GPU; after all else: of processes that have events. */
rs_status rs_nsys_read_host(rs_database *d);

/* Reports, known by their names: nsys exports them, if it is there. */
bool rs_nsys_is_report(const char *path);
rs_status rs_nsys_load_report(const rs_trace_input *input, const rs_load_settings *settings, rs_events **out,
                              rs_error *err);

/* A serialized id: of a process, a thread. */
static inline int64_t rs_nsys_pid(int64_t global)
{
    return (int64_t)((uint64_t)global >> 24 & 0xffffff);
}

static inline int64_t rs_nsys_tid(int64_t global)
{
    return (int64_t)((uint64_t)global & 0xffffff);
}

/* Two numbers as one key; false where they do not fit, as no honest ones do. */
static inline bool rs_nsys_key(int64_t pid, int64_t number, uint64_t *key)
{
    *key = (uint64_t)pid << 40 | (uint64_t)number;
    return pid >= 0 && pid < INT64_C(1) << 24 && number >= 0 && number < INT64_C(1) << 40;
}

/* Start, end and thread, in columns 1 to 3. */
void rs_nsys_times(sqlite3_stmt *s, rs_native *r);
