/* The frame, ours and a peer's: what its rows hold, and the rules that tell one from the other. */
#pragma once

#include "analysis/frame_args.h"
#include "analysis/frame_columns.h"
#include "analysis/frame_more.h"
#include "base/stats.h"

/* The texts of a row that are no arguments, and how many texts and numbers a row has. */
enum {
    RS_FRAME_CATEGORY,
    RS_FRAME_NAME,
    RS_FRAME_PID,
    RS_FRAME_TID,
    RS_FRAME_ANNOTATION,
    RS_FRAME_TEXTS = 12,
    RS_FRAME_NUMBERS = 10
};

typedef struct rs_frame_row {
    int64_t ts, dur, end;                            /* ns on the file's own clock */
    int64_t stream, correlation, partner, iteration; /* RS_NO_VALUE: unknown */
    int64_t numbers[RS_FRAME_NUMBERS];               /* RS_NO_VALUE: unknown */
    double bandwidth;                                /* NaN: unknown */
    uint32_t texts[RS_FRAME_TEXTS];                  /* string ids of the partial, RS_NO_STRING: unknown */
    uint32_t position;
    bool gpu;
} rs_frame_row;

typedef struct rs_frame_partial {
    rs_strings strings;
    rs_frame_row *rows;
    size_t n, capacity;
    rs_frame_cells cells; /* of --args */
    rs_frame_call *calls; /* of --calls, by row */
    size_t n_calls, calls_capacity;
    rs_frame_opens opens; /* of --where */
    int64_t min_start;
} rs_frame_partial;

/* END: the type of the end, which HTA leaves on the file's own clock. */
#define RS_FRAME_CELLS(CELL, END)                                                                            \
    CELL(RANK, "rank", INT, ID, "rank", NULL)                                                                \
    CELL(OF(rs_frame_row, position), "index", INT, ID, "position in traceEvents", NULL)                      \
    CELL(TEXT(rs_frame_row, texts[RS_FRAME_CATEGORY], rs_frame_partial, strings.n), "cat", TEXT, NONE,       \
         "category", NULL)                                                                                   \
    CELL(TEXT(rs_frame_row, texts[RS_FRAME_NAME], rs_frame_partial, strings.n), "name", TEXT, NONE, "name",  \
         NULL)                                                                                               \
    CELL(TEXT(rs_frame_row, texts[RS_FRAME_PID], rs_frame_partial, strings.n), "pid", TEXT, ID,              \
         "process (device for GPU events)", NULL)                                                            \
    CELL(TEXT(rs_frame_row, texts[RS_FRAME_TID], rs_frame_partial, strings.n), "tid", TEXT, ID,              \
         "thread (stream for GPU events)", NULL)                                                             \
    CELL(OF(rs_frame_row, ts), "ts", MOMENT, US,                                                             \
         "start, from the job's first event (with --absolute: as in the file)", NULL)                        \
    CELL(OF(rs_frame_row, dur), "dur", TIME, US, "duration", NULL)                                           \
    CELL(OF(rs_frame_row, end), "end", END, US,                                                              \
         "end; under --compat hta on the file's own clock, as HTA leaves it", NULL)                          \
    CELL(OF(rs_frame_row, stream), "stream", INT, ID, "stream", NULL)                                        \
    CELL(OF(rs_frame_row, correlation), "correlation", INT, ID, "number that launch and work share", NULL)   \
    CELL(OF(rs_frame_row, partner), "index_correlation", INT, ID,                                            \
         "position of the other side of the correlation: launch of the work, work of the launch", NULL)      \
    CELL(OF(rs_frame_row, iteration), "iteration", INT, ID, "training step", NULL)                           \
    CELL(OF(rs_frame_row, gpu), "gpu", INT, NONE, "1: a row of the GPU", NULL)                               \
    CELL(TEXT(rs_frame_row, texts[RS_FRAME_ANNOTATION], rs_frame_partial, strings.n), "user_annotation",     \
         TEXT, NONE, "GPU rows: the shortest gpu_user_annotation of the same stream that overlaps it", NULL) \
    CELL(OF(rs_frame_row, numbers[0]), "bytes", INT, BYTES, "size of a copy", NULL)                          \
    CELL(OF(rs_frame_row, bandwidth), "memory_bw_gbps", REAL, GBPS, "rate of a copy", NULL)                  \
    CELL(OF(rs_frame_row, numbers[1]), "wait_on_stream", INT, ID, "stream that a synchronization waits for", \
         NULL)                                                                                               \
    CELL(OF(rs_frame_row, numbers[2]), "wait_on_cuda_event_record_corr_id", INT, ID,                         \
         "correlation of the event it waits for", NULL)                                                      \
    CELL(TEXT(rs_frame_row, texts[5], rs_frame_partial, strings.n), "input_dims", TEXT, NONE,                \
         "shapes of an operator's inputs", NULL)                                                             \
    CELL(TEXT(rs_frame_row, texts[6], rs_frame_partial, strings.n), "input_type", TEXT, NONE,                \
         "types of its inputs", NULL)                                                                        \
    CELL(TEXT(rs_frame_row, texts[7], rs_frame_partial, strings.n), "input_strides", TEXT, NONE,             \
         "strides of its inputs", NULL)                                                                      \
    CELL(OF(rs_frame_row, numbers[3]), "external_id", INT, ID, "number that operator and launch share",      \
         NULL)                                                                                               \
    CELL(OF(rs_frame_row, numbers[4]), "python_id", INT, ID, "number of a Python call", NULL)                \
    CELL(OF(rs_frame_row, numbers[5]), "python_parent_id", INT, ID, "number of the call around it", NULL)    \
    CELL(TEXT(rs_frame_row, texts[8], rs_frame_partial, strings.n), "collective_name", TEXT, NONE,           \
         "collective operation", NULL)                                                                       \
    CELL(OF(rs_frame_row, numbers[6]), "in_msg_nelems", INT, COUNT, "elements a collective takes", NULL)     \
    CELL(OF(rs_frame_row, numbers[7]), "out_msg_nelems", INT, COUNT, "elements it gives", NULL)              \
    CELL(TEXT(rs_frame_row, texts[9], rs_frame_partial, strings.n), "msg_dtype", TEXT, NONE,                 \
         "type of its elements", NULL)                                                                       \
    CELL(OF(rs_frame_row, numbers[8]), "group_size", INT, COUNT, "ranks of its group", NULL)                 \
    CELL(OF(rs_frame_row, numbers[9]), "process_rank", INT, ID, "rank in its group", NULL)                   \
    CELL(TEXT(rs_frame_row, texts[10], rs_frame_partial, strings.n), "in_split_size", TEXT, NONE,            \
         "how its input is split", NULL)                                                                     \
    CELL(TEXT(rs_frame_row, texts[11], rs_frame_partial, strings.n), "out_split_size", TEXT, NONE,           \
         "how its output is split", NULL)

/* Whose frame it is. */
typedef struct rs_frame_rules {
    const rs_table_spec *table;
    const rs_row_spec *record;
    bool fills; /* a missing argument gets the peer's value, else it stays unknown */
    const rs_frame_column_rules *columns;
    /* The rows, the trace's; policy.whole is set. */
    rs_status (*rows)(rs_trace *trace, const rs_policy *policy, const rs_frame_rows **out, rs_error *err);
} rs_frame_rules;

rs_status rs_frame_rank(const rs_run *run, rs_trace *trace, const rs_frame_rules *rules, void **partial,
                        rs_error *err);
rs_status rs_frame_merge(const rs_run *run, const rs_partial *partials, size_t n, const rs_frame_rules *rules,
                         rs_result *result, rs_error *err);
void rs_frame_free(void *partial);
extern const rs_layout rs_frame_layout;
