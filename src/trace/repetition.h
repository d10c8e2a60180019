/* Where a sequence of GPU work repeats itself: periods, and the borders of training or serving steps.
 *
 * The works of a rank are in the order of their launches, each as a token (its name). A step is a stretch
 * that comes repeatedly and that begins at the same kind of border each time: a data loader's call, the
 * end of the optimizer, a copy to the device, a read-back that the host waited for, or a pause of the host. A
 * stretch that repeats without such a border is a layer, not a step. specs: F1 in docs/structure.md. */
#pragma once

#include "rankscope/status.h"

/* What is known of a work and of the host time before its launch. */
enum {
    RS_MARK_LOADER = 1,      /* a data loader's call began since the launch before */
    RS_MARK_OPTIMIZER = 2,   /* it belongs to the optimizer */
    RS_MARK_TO_DEVICE = 4,   /* it copies from the host */
    RS_MARK_TO_HOST = 8,     /* it copies to the host */
    RS_MARK_SYNC = 16,       /* the host waited for the GPU since the launch before */
    RS_MARK_CLEAR = 32,      /* it fills memory with one value */
    RS_MARK_UNLAUNCHED = 64, /* its launch is not in the file, and stood before all that are */
    RS_MARK_BACKWARD = 128,  /* autograd launched it, or an annotation says so */
    RS_MARK_FORWARD = 256    /* an annotation says so */
};

typedef struct rs_tokens {
    size_t n;
    const uint32_t *token; /* below n_tokens, numbered by first occurrence */
    size_t n_tokens;
    const uint16_t *mark;
    const int64_t *gap; /* ns of the host before the launch, without calls that launch or wait */
} rs_tokens;

typedef enum rs_border {
    RS_BORDER_NONE,
    RS_BORDER_LOADER,
    RS_BORDER_OPTIMIZER,
    RS_BORDER_TO_DEVICE,
    RS_BORDER_READ_BACK,
    RS_BORDER_BACKWARD,
    RS_BORDER_PAUSE,
    RS_N_BORDERS
} rs_border;

extern const char *const rs_border_names[RS_N_BORDERS];

typedef struct rs_stretch {
    size_t first, n; /* works */
} rs_stretch;

typedef struct rs_repetition {
    size_t period;     /* works that repeat; 0: nothing does */
    double score;      /* share of works that are equal to the one a period later */
    double runner_up;  /* the same of the best period that is no multiple nor a part of it */
    bool weak;         /* the score is low, though far above the runner-up */
    rs_border border;  /* NONE: the period is no step */
    rs_stretch *steps; /* in order, disjoint; none where the border is NONE. Owned */
    size_t n_steps;
} rs_repetition;

/* O(n * candidates), at most 64 candidates. Release with rs_repetition_clear, also after a failure. */
rs_status rs_repetition_find(const rs_tokens *sequence, rs_repetition *out, rs_error *err);
void rs_repetition_clear(rs_repetition *repetition);

/* Share of works of two stretches that agree, in order, where at most one place has a different number of
 * works. 0..1 of the longer. O(length). */
double rs_stretch_likeness(const rs_tokens *sequence, rs_stretch a, rs_stretch b);
