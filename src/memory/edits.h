/* What would be held if something were different: blocks that are not there, end earlier, are made a second time, or have
 * another size. All else stays as it was recorded, so that each answer comes with the least and the most that
 * it may be. */
#pragma once

#include "base/strings.h"
#include "memory/purpose.h"

typedef enum rs_memory_edit {
    RS_MEMORY_WITHOUT_SITES, /* blocks that are not there */
    RS_MEMORY_RECOMPUTE, /* activations that end with their forward call and are made again for the backward pass */
    RS_MEMORY_EARLY, /* blocks that end with the annotation in which they were allocated */
    RS_MEMORY_BATCH, /* what grows with the micro-batch has another size */
    RS_MEMORY_SHARD, /* optimizer state is divided */
    RS_N_MEMORY_EDITS
} rs_memory_edit;
/* The assumption of each; the last one: of several at once. */
extern const char *const rs_memory_edit_assumptions[RS_N_MEMORY_EDITS + 1];

/* Which of the three answers. */
typedef enum rs_memory_bound { RS_BOUND_NONE, RS_BOUND_LEAST, RS_BOUND_MOST } rs_memory_bound;

/* What is asked; where a list of stacks is NULL, or a factor 1, the edit is not. */
typedef struct rs_memory_change_of {
    const bool *stacks[RS_MEMORY_EARLY + 1]; /* by stack; the last one: of what has no stack */
    double batch;
    int64_t shard;
} rs_memory_change_of;

typedef struct rs_memory_edits {
    const rs_history *history; /* borrowed, like all that is asked */
    const rs_purposes *purposes;
    const rs_memory_change_of *asked;
    uint8_t *kind;  /* by life: what it is for in edits.c */
    uint32_t *call; /* by life: its forward call + 1; 0: it is not recomputed. NULL: not asked */
    struct rs_forward_call *calls;
    size_t n_calls, largest; /* of those that no backward pass began with */
    uint32_t *early;         /* by life: the instant at which its annotation ends. NULL: not asked */
    rs_map64 sizes;          /* of what belongs to parameters */
} rs_memory_edits;

/* Release with rs_memory_edits_clear, also after a failure. */
rs_status rs_memory_edits_make(const rs_purposes *purposes, const rs_memory_change_of *asked,
                               rs_memory_edits *out, rs_error *err);
void rs_memory_edits_clear(rs_memory_edits *edits);

/* The active bytes with the edits whose bits are set. */
typedef struct rs_edited {
    int64_t peak;     /* over the instants of the spans */
    uint32_t instant; /* the first that has it */
    int64_t
        floor; /* ..., or what a failed allocation asked for and what was active then, where that is more */
    int64_t blocks;  /* that differ */
    int64_t removed; /* bytes that they lose at `at` */
} rs_edited;
rs_status rs_memory_edited(const rs_memory_edits *edits, unsigned mask, rs_memory_bound bound,
                           const rs_instants *spans, size_t n_spans, uint32_t at, rs_edited *out,
                           rs_error *err);
