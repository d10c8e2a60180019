/* The arguments of events that rankscope knows: one sparse column each. A new argument is one line here.
 *
 * INT   a whole number; a string of digits is read as one
 * REAL  a number
 * TEXT  a string; anything else is kept as its JSON text ([[2, 3], []]) */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* identifier, key in "args", type */
#define RS_COLUMNS(X)                                                                                        \
    X(EXTERNAL_ID, "External id", INT)                                                                       \
    X(CORRELATION, "correlation", INT)                                                                       \
    X(STREAM, "stream", INT)                                                                                 \
    X(DEVICE, "device", INT)                                                                                 \
    X(CONTEXT, "context", INT)                                                                               \
    X(BYTES, "bytes", INT)                                                                                   \
    X(BANDWIDTH, "memory bandwidth (GB/s)", REAL)                                                            \
    X(RANK, "rank", INT)                                                                                     \
    X(INPUT_DIMS, "Input Dims", TEXT)                                                                        \
    X(INPUT_TYPE, "Input type", TEXT)                                                                        \
    X(INPUT_STRIDES, "Input Strides", TEXT)                                                                  \
    X(CONCRETE_INPUTS, "Concrete Inputs", TEXT)                                                              \
    X(SEQUENCE_NUMBER, "Sequence number", INT)                                                               \
    X(FWD_THREAD_ID, "Fwd thread id", INT)                                                                   \
    X(RECORD_FUNCTION_ID, "Record function id", INT)                                                         \
    X(EV_IDX, "Ev Idx", INT)                                                                                 \
    X(PYTHON_ID, "Python id", INT)                                                                           \
    X(PYTHON_PARENT_ID, "Python parent id", INT)                                                             \
    X(PYTHON_MODULE_ID, "Python module id", INT)                                                             \
    X(GRID, "grid", TEXT)                                                                                    \
    X(BLOCK, "block", TEXT)                                                                                  \
    X(REGISTERS, "registers per thread", INT)                                                                \
    X(SHARED_MEMORY, "shared memory", INT)                                                                   \
    X(OCCUPANCY, "est. achieved occupancy %", REAL)                                                          \
    X(WAIT_ON_STREAM, "wait_on_stream", INT)                                                                 \
    X(WAIT_ON_EVENT, "wait_on_cuda_event_record_corr_id", INT)                                               \
    X(CBID, "cbid", INT)                                                                                     \
    X(COLLECTIVE, "Collective name", TEXT)                                                                   \
    X(IN_NELEMS, "In msg nelems", INT)                                                                       \
    X(OUT_NELEMS, "Out msg nelems", INT)                                                                     \
    X(DTYPE, "dtype", TEXT)                                                                                  \
    X(GROUP_SIZE, "Group size", INT)                                                                         \
    X(GROUP_NAME, "Process Group Name", TEXT)                                                                \
    X(GROUP_DESC, "Process Group Description", TEXT)                                                         \
    X(GROUP_RANKS, "Process Group Ranks", TEXT)                                                              \
    X(SEQ, "Seq", INT)                                                                                       \
    X(PROCESS_RANK, "Rank", INT)                                                                             \
    X(SRC_RANK, "Src Rank", INT)                                                                             \
    X(DST_RANK, "Dst Rank", INT)                                                                             \
    X(IN_SPLIT, "In split size", TEXT)                                                                       \
    X(OUT_SPLIT, "Out split size", TEXT)                                                                     \
    X(HIP_KERNEL, "kernel", TEXT)                                                                            \
    X(ALLOC_BYTES, "Bytes", INT)                                                                             \
    X(TOTAL_ALLOCATED, "Total Allocated", INT)                                                               \
    X(TOTAL_RESERVED, "Total Reserved", INT)                                                                 \
    X(DEVICE_ID, "Device Id", INT)                                                                           \
    X(DEVICE_TYPE, "Device Type", INT)                                                                       \
    X(META_NAME, "name", TEXT)                                                                               \
    X(META_LABELS, "labels", TEXT)                                                                           \
    X(CORRELATION_RAW, "correlation_raw", INT)                                                               \
    X(META_SORT_INDEX, "sort_index", INT)                                                                    \
    X(COPY_KIND, "copy kind", TEXT)                                                                          \
    X(SOURCE_KIND, "src kind", TEXT)                                                                         \
    X(TARGET_KIND, "dst kind", TEXT)                                                                         \
    X(MODULE, "module_fqn", TEXT)                                                                            \
    X(AUTOGRAD_PHASE, "autograd_phase", TEXT)                                                                \
    X(FLOW_ID, "", INT) /* the event's own "id", not an argument */

#define RS_COLUMN_ENUM(id, key, type) RS_COL_##id,
typedef enum rs_column_id { RS_COLUMNS(RS_COLUMN_ENUM) RS_N_COLUMNS } rs_column_id;
#undef RS_COLUMN_ENUM

typedef enum rs_column_type { RS_COLUMN_INT, RS_COLUMN_REAL, RS_COLUMN_TEXT } rs_column_type;

typedef struct rs_column_info {
    const char *key;
    size_t key_length;
    rs_column_type type;
} rs_column_info;

extern const rs_column_info rs_column_infos[RS_N_COLUMNS];

#define RS_COLUMN_BIT(id) (UINT64_C(1) << RS_COL_##id)
/* What some profilers say of a copy instead of in its name; readers name the copy by them. */
#define RS_COPY_COLUMNS (RS_COLUMN_BIT(COPY_KIND) | RS_COLUMN_BIT(SOURCE_KIND) | RS_COLUMN_BIT(TARGET_KIND))
#define RS_ALL_COLUMNS ((UINT64_C(1) << RS_N_COLUMNS) - 1)
/* In a set of columns: arguments by any other name, too (trace/others.h). Not among RS_ALL_COLUMNS. */
#define RS_OTHER_ARGUMENTS (UINT64_C(1) << 63)
_Static_assert(RS_N_COLUMNS < 63, "column sets are 64-bit masks, and one bit is the other arguments'");
