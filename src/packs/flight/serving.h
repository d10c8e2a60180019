/* Processes of serving engines (vLLM, SGLang): their titles name them, and most wait on queues instead of collectives. Internal to
 * src/packs/flight. */
#pragma once

#include "flight/live.h"

/* A worker's place: "VLLM::Worker_PP0_TP3", "sglang::scheduler_DP1_TP1_EP1", "Worker_TP0". What the text leaves out is 0. */
typedef struct rs_fl_worker {
    int64_t dp, pp, tp;
    bool has_dp;
} rs_fl_worker;

/* What a process is, by its title or by what a log writes in front of its lines. */
typedef enum rs_fl_process { RS_FL_PROCESS_OTHER, RS_FL_PROCESS_WORKER, RS_FL_PROCESS_ENGINE } rs_fl_process;
rs_fl_process rs_fl_process_of(const char *title, size_t n, rs_fl_worker *worker);
/* Reads parts such as "DP1 TP3 EP3", separated by blanks or '_'. False: there is another text, or no part. */
bool rs_fl_worker_parts(const char *text, size_t n, rs_fl_worker *worker);

/* A number for a process whose rank is known only when all are: rs_fl_settle_workers replaces it. */
int64_t rs_fl_provisional_rank(rs_fl_process process, const rs_fl_worker *worker, size_t engine);
/* Gives workers their ranks and takes the engines out of the notes. *idle: there are engines, and none of them waits for its workers.
 * False when out of memory. */
bool rs_fl_settle_workers(rs_flight *flight, bool *idle);

/* What the main thread of a process does. */
typedef enum rs_fl_wait {
    RS_FL_BUSY,
    RS_FL_WAITS_OTHERS, /* in a collective, or for its GPU */
    RS_FL_WAITS_WORK    /* for the next call of its engine */
} rs_fl_wait;
rs_fl_wait rs_fl_wait_of(const rs_flight *flight, uint32_t stack);
