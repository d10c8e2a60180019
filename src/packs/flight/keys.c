#include "flight/keys.h"

#include <string.h>

static const struct {
    const char *text;
    uint8_t length;
    uint8_t key;
} keys[] = {
#define K(text, key)                                                                                         \
    {                                                                                                        \
        text, sizeof text - 1, key                                                                           \
    }
    K("name", RS_FL_KEY_NAME),
    K("filename", RS_FL_KEY_FILENAME),
    K("line", RS_FL_KEY_LINE),
    K("frames", RS_FL_KEY_FRAMES),
    K("record_id", RS_FL_KEY_RECORD_ID),
    K("pg_id", RS_FL_KEY_PG_ID),
    K("process_group", RS_FL_KEY_PROCESS_GROUP),
    K("thread_name", RS_FL_KEY_THREAD_NAME),
    K("thread_id", RS_FL_KEY_THREAD_ID),
    K("collective_seq_id", RS_FL_KEY_SEQ),
    K("p2p_seq_id", RS_FL_KEY_P2P_SEQ),
    K("op_id", RS_FL_KEY_OP_ID),
    K("profiling_name", RS_FL_KEY_PROFILING_NAME),
    K("time_created_ns", RS_FL_KEY_CREATED),
    K("duration_ms", RS_FL_KEY_DURATION),
    K("input_sizes", RS_FL_KEY_INPUT_SIZES),
    K("output_sizes", RS_FL_KEY_OUTPUT_SIZES),
    K("input_dtypes", RS_FL_KEY_INPUT_DTYPES),
    K("output_dtypes", RS_FL_KEY_OUTPUT_DTYPES),
    K("state", RS_FL_KEY_STATE),
    K("time_discovered_started_ns", RS_FL_KEY_STARTED),
    K("time_discovered_completed_ns", RS_FL_KEY_COMPLETED),
    K("retired", RS_FL_KEY_RETIRED),
    K("timeout_ms", RS_FL_KEY_TIMEOUT),
    K("is_p2p", RS_FL_KEY_IS_P2P),
    K("version", RS_FL_KEY_VERSION),
    K("entries", RS_FL_KEY_ENTRIES),
    K("pg_config", RS_FL_KEY_PG_CONFIG),
    K("pg_status", RS_FL_KEY_PG_STATUS),
    K("nccl_comm_state", RS_FL_KEY_COMM_STATE),
    K("nccl_version", RS_FL_KEY_NCCL_VERSION),
    K("comm_lib_version", RS_FL_KEY_LIB_VERSION),
    K("desc", RS_FL_KEY_DESC),
    K("ranks", RS_FL_KEY_RANKS),
    K("last_enqueued_collective", RS_FL_KEY_LAST_ENQUEUED),
    K("last_started_collective", RS_FL_KEY_LAST_STARTED),
    K("last_completed_collective", RS_FL_KEY_LAST_COMPLETED),
#undef K
};

rs_fl_key rs_fl_key_of(rs_value *node)
{
    if (node->type != RS_VALUE_TEXT) return RS_FL_KEY_OTHER;
    if (node->tag) return (rs_fl_key)node->tag;
    rs_fl_key k = RS_FL_KEY_OTHER;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (keys[i].length == node->n && memcmp(keys[i].text, node->as.text, node->n) == 0) {
            k = (rs_fl_key)keys[i].key;
            break;
        }
    node->tag = (uint8_t)k;
    return k;
}
