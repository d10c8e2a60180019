/* The words that dumps use for keys. */
#pragma once

#include "input/values.h"

typedef enum rs_fl_key {
    RS_FL_KEY_OTHER = 1,
    RS_FL_KEY_VERSION,
    RS_FL_KEY_ENTRIES,
    RS_FL_KEY_PG_CONFIG,
    RS_FL_KEY_PG_STATUS,
    RS_FL_KEY_COMM_STATE,
    RS_FL_KEY_NCCL_VERSION,
    RS_FL_KEY_LIB_VERSION,
    RS_FL_KEY_FRAMES,
    RS_FL_KEY_RECORD_ID,
    RS_FL_KEY_PG_ID,
    RS_FL_KEY_PROCESS_GROUP,
    RS_FL_KEY_THREAD_NAME,
    RS_FL_KEY_THREAD_ID,
    RS_FL_KEY_SEQ,
    RS_FL_KEY_P2P_SEQ,
    RS_FL_KEY_OP_ID,
    RS_FL_KEY_PROFILING_NAME,
    RS_FL_KEY_CREATED,
    RS_FL_KEY_DURATION,
    RS_FL_KEY_INPUT_SIZES,
    RS_FL_KEY_OUTPUT_SIZES,
    RS_FL_KEY_INPUT_DTYPES,
    RS_FL_KEY_OUTPUT_DTYPES,
    RS_FL_KEY_STATE,
    RS_FL_KEY_STARTED,
    RS_FL_KEY_COMPLETED,
    RS_FL_KEY_RETIRED,
    RS_FL_KEY_TIMEOUT,
    RS_FL_KEY_IS_P2P,
    RS_FL_KEY_NAME,
    RS_FL_KEY_FILENAME,
    RS_FL_KEY_LINE,
    RS_FL_KEY_DESC,
    RS_FL_KEY_RANKS,
    RS_FL_KEY_LAST_ENQUEUED,
    RS_FL_KEY_LAST_STARTED,
    RS_FL_KEY_LAST_COMPLETED
} rs_fl_key;

/* Which key a text is; remembered in the node, so that a shared text is compared once. */
rs_fl_key rs_fl_key_of(rs_value *node);
