/* NCCL's RAS: what the communicators of a job look like to NCCL itself. Internal to src/packs/flight. */
#pragma once

#include "flight/sources.h"

#define RS_FL_RAS_OPS 12 /* kinds of operations that NCCL counts */

/* One rank of one communicator. */
typedef struct rs_fl_ras_rank {
    int64_t rank, pid, gpu;                   /* rank: within the communicator */
    uint32_t host;                            /* text; RS_FL_NONE unknown */
    uint64_t counts[RS_FL_RAS_OPS], launched; /* operations; launched: of all kinds */
    bool counted, missing, unreachable, dead;
    int64_t init_state, async_error; /* of NCCL's results, 0 success, 7 in progress */
    int64_t line;                    /* in its file */
} rs_fl_ras_rank;

typedef struct rs_fl_ras_comm {
    uint32_t hash; /* text */
    int64_t size, line;
    size_t first, n; /* in ranks */
    bool rest;       /* ranks that are not listed have launched `rest_launched` */
    uint64_t rest_launched;
    uint32_t op; /* of the text form, which counts one kind at a time: text, RS_FL_NONE */
} rs_fl_ras_comm;

typedef struct rs_fl_ras_report {
    uint32_t file;   /* text */
    int64_t time_ns; /* the host's own time of day; 0 unknown */
    size_t first, n; /* in comms */
    size_t
        listed; /* communicators of the job that the report is about; the text names only those with something wrong */
} rs_fl_ras_report;

struct rs_fl_ras {
    rs_fl_ras_report *reports;
    size_t n_reports, reports_capacity;
    rs_fl_ras_comm *comms;
    size_t n_comms, comms_capacity;
    rs_fl_ras_rank *ranks;
    size_t n_ranks, ranks_capacity;
    uint32_t ops[RS_FL_RAS_OPS]; /* texts: "AllReduce" */
    size_t n_ops;
};

/* ras_read.c: one report, JSON or text. Only running out of memory is an error. */
rs_status rs_fl_read_ras(rs_flight *flight, uint8_t *text, size_t n, const char *name, rs_error *err);
bool rs_fl_knows_ras(const char *path, const uint8_t *text, size_t n);
