/* The annotations of a snapshot (record_function): which one was open when, and the steps that they show. */
#pragma once

#include "memory/history.h"

/* The innermost open annotation of a device from each time on. */
typedef struct rs_open_notes {
    int64_t *time;  /* ascending */
    uint32_t *name; /* in the snapshot's strings; RS_NO_STRING: none is open */
    int64_t *end;   /* when that annotation ends; RS_NO_TIME: unknown */
    size_t n;
} rs_open_notes;

/* An END closes the latest of its name. Release with rs_open_notes_clear, also after a failure. */
rs_status rs_open_notes_make(const rs_snapshot *snapshot, int32_t device, rs_open_notes *out, rs_error *err);
void rs_open_notes_clear(rs_open_notes *annotations);
/* Of the notes up to and including that time; RS_NO_STRING: none. *end, where it is not NULL: when it ends. */
uint32_t rs_open_note_at(const rs_open_notes *annotations, int64_t time, int64_t *end);

/* What the steps of a history are detected from. */
typedef enum rs_steps_source { RS_STEPS_BY_NOTE, RS_STEPS_BY_CYCLE, RS_N_STEPS_SOURCES } rs_steps_source;
extern const char *const rs_steps_source_names[RS_N_STEPS_SOURCES]; /* "step", "cycle" */

/* A step: its number, and its events from the first to before the last. */
typedef struct rs_memory_step {
    int64_t number;
    uint32_t from, to;
} rs_memory_step;

/* The steps from one note to the next, or from one trough of the active bytes to the next. Where annotations show them
 * (ProfilerStep#N, else the end of Optimizer.step, else Optimizer.zero_grad) there are at least four. */
typedef struct rs_memory_steps {
    rs_steps_source source;
    rs_memory_step *items; /* in order; the last one is not complete where `open` */
    size_t n;
    bool open;
} rs_memory_steps;

/* No steps at all is RS_OK. Release with rs_memory_steps_clear, also after a failure. */
rs_status rs_memory_steps_make(const rs_history *history, rs_memory_steps *out, rs_error *err);
void rs_memory_steps_clear(rs_memory_steps *steps);

/* The instants at which the optimizer steps, ascending: by its annotations, else by its call stacks, which `optimizes`
 * says of each stack. *out is freed by the caller. */
rs_status rs_optimizer_instants(const rs_history *history, const uint32_t *stack_traits, uint32_t trait,
                                uint32_t **out, size_t *n, rs_error *err);
