/* How much longer computation takes beside communication of its rank, told by the recording itself.
 *
 * A replay gives every kernel its recorded duration. Where a question moves communication away from computation, or
 * onto it, kernels that were slowed down are not any more, or others are. Kernels of a name that ran beside
 * communication in some places and alone in others tell by how much; questions are asked once more with that. */
#ifndef RS_ENGINE_CONTENTION_H
#define RS_ENGINE_CONTENTION_H

#include "engine/engine.h"

struct rs_contention {
    float *factor;   /* by node: beside communication it takes so many times as long; 0: not known */
    uint8_t *beside; /* by node: in the recording at least half of it ran beside communication */
    size_t n_names;  /* kernels of which a factor is known */
    bool is_shown;   /* kernels of some name ran often enough during communication, and alone */
};
typedef struct rs_contention rs_contention;

/* recorded: the times of the recording. O(n log n). Release with rs_contention_clear. */
rs_status rs_contention_learn(const rs_engine *engine, const rs_times *recorded, rs_contention *out,
                              rs_error *err);
/* Where the recording does not show it, as nothing ran during communication: all computation takes so many times as long there. */
void rs_contention_assume(rs_contention *contention, const rs_engine *engine, double factor);
/* Changes work that by `times` runs beside communication and did not in the recording, or the other way round. */
rs_status rs_contention_apply(const rs_contention *contention, const rs_engine *engine, const rs_times *times,
                              rs_weights *weights, rs_error *err);
/* All work as it is without communication, of weights that are as recorded. */
void rs_contention_remove(const rs_contention *contention, const rs_engine *engine, rs_weights *weights);
void rs_contention_clear(rs_contention *contention);

#endif
