/* What a block is for, estimated from who allocated it, who freed it, and when. The rules and their order are those of
 * docs/memory.md; each says how certain it is. */
#ifndef RS_MEMORY_PURPOSE_H
#define RS_MEMORY_PURPOSE_H

#include "memory/frames.h"
#include "memory/history.h"

typedef enum rs_purpose {
    RS_FOR_BEFORE, /* it is from before the recording: not known */
    RS_FOR_PARAMETER,
    RS_FOR_OPTIMIZER_STATE,
    RS_FOR_GRADIENT,
    RS_FOR_ACTIVATION,
    RS_FOR_INPUT,
    RS_FOR_TEMPORARY,
    RS_FOR_COMMUNICATION,
    RS_FOR_WORKSPACE,
    RS_FOR_OTHER,
    RS_FOR_UNKNOWN, /* without a stack */
    RS_N_PURPOSES
} rs_purpose;
extern const char *const rs_purpose_names[RS_N_PURPOSES];

/* How certain a purpose is. */
typedef enum rs_certainty { RS_SURE, RS_LIKELY, RS_GUESS, RS_N_CERTAINTIES } rs_certainty;
extern const char *const rs_certainty_names[RS_N_CERTAINTIES];

typedef struct rs_purposes {
    const rs_history *history; /* borrowed, like traits */
    const rs_frame_traits *traits;
    uint32_t *optimizer; /* instants of its steps */
    size_t n_optimizer;
    bool
        python_only; /* stacks were taken of Python alone: what has none is on a thread of the backward pass */
} rs_purposes;

/* Release with rs_purposes_clear, also after a failure. */
rs_status rs_purposes_init(rs_purposes *p, const rs_history *history, const rs_frame_traits *traits,
                           rs_error *err);
void rs_purposes_clear(rs_purposes *p);
rs_purpose rs_purpose_of(const rs_purposes *p, const rs_life *life, rs_certainty *certainty);

/* Bytes active by purpose when the fullest device of the snapshot was fullest; all 0: it holds none. */
rs_status rs_purposes_at_peak(const rs_snapshot *snapshot, int64_t bytes[RS_N_PURPOSES], rs_error *err);

#endif
