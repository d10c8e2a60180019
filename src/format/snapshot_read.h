/* Reading a snapshot: what its parts give each other. Private to src/format/snapshot*.c. */
#pragma once

#include "format/snapshot.h"
#include "input/pickle.h"

/* The keys of a snapshot's dicts, and the words that are values of some of them. Their ids in the strings are these
 * numbers: "" is 0. */
#define RS_SNAPSHOT_WORDS(WORD)                                                                              \
    WORD(ACTION, "action")                                                                                   \
    WORD(ADDR, "addr")                                                                                       \
    WORD(SIZE, "size")                                                                                       \
    WORD(STREAM, "stream")                                                                                   \
    WORD(TIME, "time_us")                                                                                    \
    WORD(COMPILE, "compile_context")                                                                         \
    WORD(FRAMES, "frames")                                                                                   \
    WORD(DEVICE_FREE, "device_free")                                                                         \
    WORD(NAME, "name")                                                                                       \
    WORD(FILENAME, "filename")                                                                               \
    WORD(LINE, "line")                                                                                       \
    WORD(ADDRESS, "address")                                                                                 \
    WORD(REQUESTED, "requested_size")                                                                        \
    WORD(STATE, "state")                                                                                     \
    WORD(HISTORY, "history")                                                                                 \
    WORD(REAL_SIZE, "real_size")                                                                             \
    WORD(DEVICE, "device")                                                                                   \
    WORD(TOTAL_SIZE, "total_size")                                                                           \
    WORD(SEGMENT_TYPE, "segment_type")                                                                       \
    WORD(POOL, "segment_pool_id")                                                                            \
    WORD(EXPANDABLE, "is_expandable")                                                                        \
    WORD(BLOCKS, "blocks")                                                                                   \
    WORD(STAGE, "stage")                                                                                     \
    WORD(SEGMENTS, "segments")                                                                               \
    WORD(TRACES, "device_traces")                                                                            \
    WORD(SETTINGS, "allocator_settings")                                                                     \
    WORD(NOTES, "external_annotations")                                                                      \
    WORD(CONF, "PYTORCH_CUDA_ALLOC_CONF")                                                                    \
    WORD(EXPANDABLE_SEGMENTS, "expandable_segments")                                                         \
    WORD(MAX_ENTRIES, "trace_alloc_max_entries")                                                             \
    WORD(OVERFLOWED, "trace_alloc_overflowed")                                                               \
    /* known, and of no use here */                                                                          \
    WORD(USER_METADATA, "user_metadata")                                                                     \
    WORD(INTERNAL_METADATA, "internal_metadata")                                                             \
    WORD(ALLOCATED_SIZE, "allocated_size")                                                                   \
    WORD(ACTIVE_SIZE, "active_size")                                                                         \
    WORD(FORWARD_FRAMES, "forward_frames")                                                                   \
    WORD(FX_OP, "fx_node_op")                                                                                \
    WORD(FX_NAME, "fx_node_name")                                                                            \
    WORD(FX_TARGET, "fx_node_target")                                                                        \
    WORD(FX_TRACE, "fx_original_trace")                                                                      \
    WORD(REGISTRATION, "registration_counter")                                                               \
    WORD(HOST_SEGMENTS, "host_segments")                                                                     \
    WORD(HOST_TRACES, "host_traces")                                                                         \
    /* of a flight recorder's dump */                                                                        \
    WORD(ENTRIES, "entries")                                                                                 \
    WORD(PG_CONFIG, "pg_config")                                                                             \
    /* words of "segment_type", "stage", "compile_context" */                                                \
    WORD(SMALL, "small")                                                                                     \
    WORD(END, "END")                                                                                         \
    WORD(NOT_COMPILED, "N/A")                                                                                \
    WORD(ACTIVE, "active_allocated")                                                                         \
    WORD(PENDING_FREE, "active_pending_free")                                                                \
    WORD(AWAITING_FREE, "active_awaiting_free")                                                              \
    WORD(INACTIVE, "inactive")

#define RS_SNAPSHOT_WORD_ID(id, text) RS_WORD_##id,
enum {
    RS_WORD_NONE,
    RS_SNAPSHOT_WORDS(RS_SNAPSHOT_WORD_ID) RS_N_WORDS,
    RS_N_KEYS = RS_WORD_SMALL,        /* those before it are keys */
    RS_WORD_FIRST_ACTION = RS_N_WORDS /* then the actions, in the order of rs_snapshot_action */
};

/* What a dict or list of the pickle was made. */
typedef enum rs_snapshot_record {
    RS_RECORD_EVENT = 1,
    RS_RECORD_FRAME,
    RS_RECORD_STACK,
    RS_RECORD_BLOCK,
    RS_RECORD_SEGMENT,
    RS_RECORD_NOTE
} rs_snapshot_record;

typedef struct rs_snapshot_reader {
    rs_snapshot *s;
    rs_map64 frame_ids, stack_ids; /* by hash: the first of a chain */
    uint32_t *scratch;             /* items of a dict, or frames of a stack */
    size_t scratch_capacity;
    uint64_t n_unknown_keys, n_unknown_actions, n_bad_stacks;
    uint32_t unknown_key, unknown_action; /* the first of each */
} rs_snapshot_reader;

/* The rs_pickle_settings.take of a snapshot; the context is the reader. A dict whose keys are those of an event, frame,
 * block, segment or note becomes a row of the snapshot's columns and a RECORD of that row. What a row cannot be made of
 * is remembered in it (RS_SNAPSHOT_BAD with the key in stack, RS_BLOCK_BAD with the key in stack, bad). */
rs_values_step rs_snapshot_take(void *context, rs_values *values, uint32_t container, size_t from);

/* The row of a node that is a record of that kind; a dict that came in pieces is made one now. RS_NO_ROW: it is none;
 * *step says whether memory was missing. */
uint32_t rs_snapshot_row(rs_snapshot_reader *r, rs_values *values, uint32_t node, rs_snapshot_record kind,
                         rs_values_step *step);

/* Appends a copy of an event. */
bool rs_snapshot_copy_event(rs_snapshot_events *e, size_t row);

extern const char *const rs_snapshot_words[RS_N_WORDS];
