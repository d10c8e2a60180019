/* A snapshot of PyTorch's caching allocator, as torch.cuda.memory._dump_snapshot writes it: what it holds on each
 * device (segments and their blocks), and what it did before (events), with the call stacks of both.
 *
 * The file is a pickle. It is read in one pass into columns; stacks, frames and texts are interned. What of it is there
 * depends on PyTorch's version and on the arguments of _record_memory_history; a value that is not there is unknown. */
#pragma once

#include "base/strings.h"
#include "trace/trace.h"

#define RS_NO_STACK UINT32_MAX
#define RS_SNAPSHOT_MAX_DEVICES 4096

typedef enum rs_snapshot_action {
    RS_SNAPSHOT_ALLOC,
    RS_SNAPSHOT_FREE,           /* of 2.0 and before: asked for and done at once */
    RS_SNAPSHOT_FREE_REQUESTED, /* the tensor's end */
    RS_SNAPSHOT_FREE_COMPLETED, /* the block can be used again: other streams are done with it */
    RS_SNAPSHOT_SEGMENT_ALLOC,
    RS_SNAPSHOT_SEGMENT_FREE,
    RS_SNAPSHOT_SEGMENT_MAP,
    RS_SNAPSHOT_SEGMENT_UNMAP,
    RS_SNAPSHOT_OOM,
    RS_SNAPSHOT_SNAPSHOT,
    RS_SNAPSHOT_OTHER, /* what changes nothing, known or not */
    RS_SNAPSHOT_BAD,   /* only while a file is read */
    RS_N_SNAPSHOT_ACTIONS
} rs_snapshot_action;

extern const char *const rs_snapshot_action_names[RS_N_SNAPSHOT_ACTIONS];

typedef enum rs_block_state {
    RS_BLOCK_INACTIVE,
    RS_BLOCK_ALLOCATED,
    RS_BLOCK_PENDING, /* freed by its owner, and other streams still use it */
    RS_BLOCK_BAD      /* only while a file is read */
} rs_block_state;

/* Texts are ids in the snapshot's strings. */
typedef struct rs_frame {
    uint32_t name, file;
    int32_t line;
    uint32_t next; /* for interning */
} rs_frame;

/* Frames, innermost first. */
typedef struct rs_stack {
    size_t first; /* in stack_frames */
    uint32_t n;
    uint32_t next; /* for interning */
} rs_stack;

typedef struct rs_block {
    uint64_t address;
    int64_t size, requested; /* rounded, and asked for */
    uint32_t stack;
    uint8_t state; /* rs_block_state */
} rs_block;

typedef struct rs_segment {
    uint64_t address, stream;
    uint64_t pool[2]; /* 0, 0: the default one */
    int64_t size;
    uint32_t stack, first, n; /* blocks[first .. first + n), which fill it */
    int32_t device;
    bool small, expandable;
    uint8_t bad; /* only while a file is read */
} rs_segment;

/* In the order of the file: of each device in the order of what happened. */
typedef struct rs_snapshot_events {
    size_t n, capacity;
    uint8_t *action;   /* rs_snapshot_action */
    uint8_t *compiled; /* in a region of torch.compile */
    uint64_t *address; /* OOM: the bytes that were free on the device */
    int64_t *size;     /* asked for; of segments taken from the device */
    uint64_t *stream;
    int64_t *time; /* ns; RS_NO_TIME: unknown */
    uint32_t *stack;
} rs_snapshot_events;

/* One beginning or end of an annotation. */
typedef struct rs_note {
    int64_t time;
    uint32_t name;
    int32_t device;
    bool end;
} rs_note;

/* What is known of one device: it has events, or segments. */
typedef struct rs_snapshot_device {
    int32_t number;
    size_t first, n; /* events */
} rs_snapshot_device;

typedef struct rs_snapshot {
    rs_strings strings;
    rs_frame *frames;
    size_t n_frames, frames_capacity;
    rs_stack *stacks;
    size_t n_stacks, stacks_capacity;
    uint32_t *stack_frames;
    size_t n_stack_frames, stack_frames_capacity;
    rs_segment *segments;
    size_t n_segments, segments_capacity;
    rs_block *blocks;
    size_t n_blocks, blocks_capacity;
    rs_note *notes;
    size_t n_notes, notes_capacity;
    rs_snapshot_events events;
    rs_snapshot_device *devices; /* by number */
    size_t n_devices, devices_capacity;
    bool has_history;  /* the file has a list of events, though it may be empty */
    bool has_pools;    /* its segments say of which pool they are */
    bool expandable;   /* allocator_settings.expandable_segments */
    uint32_t settings; /* PYTORCH_CUDA_ALLOC_CONF as it was set; a string id */
    int64_t max_entries,
        overflowed; /* the events that are kept for a device, and whether older ones are gone; -1:
                                        unknown */
} rs_snapshot;

/* The snapshot that a trace is, or NULL. */
const rs_snapshot *rs_snapshot_of(const rs_trace *trace);
