/* Lengths of steps in a replay, how far they spread, and the path to their end. Private to asker.c. */
#ifndef RS_ENGINE_STEP_LENGTHS_H
#define RS_ENGINE_STEP_LENGTHS_H

#include "engine/asker.h"

/* Lengths of the steps of a rank, or of the job: from the last end of all ranks to the next. Ranks' steps
 * are compared in their order. Without steps the one length of the whole trace. */
typedef struct rs_lengths {
    int64_t *ns;
    size_t n;
} rs_lengths;

/* Steps that the ranks [from, to) all have. */
size_t rs_lengths_n(const rs_engine *engine, size_t from, size_t to);
/* Room in out->ns for the steps of any rank, at least one. ends: of rs_engine_step_ends. sooner: by how much the first step is shorter at most: it begins
 * as the others do then, so it is not shorter than they are on average. */
void rs_lengths_measure(const rs_engine *engine, const rs_times *times, const int64_t *ends, int64_t sooner,
                        size_t from, size_t to, rs_lengths *out);

/* The work that the first step of a rank waits for at its beginning, of a GPU that does nothing until then; RS_NO_NODE: it has no such. */
uint32_t rs_lengths_opening(const rs_engine *engine, const rs_times *times, size_t rank);
/* By how much a rank's host is ahead of its GPU where its steps but for the last end, ns, less than 0 where it is behind; how many these are. out: room
 * for its steps. Linear in its nodes. */
size_t rs_lengths_leads(const rs_engine *engine, const rs_times *times, size_t rank, int64_t *out);
double rs_lengths_mean(const rs_lengths *lengths);
/* The mean length of the annotations of those steps on the host, us; NaN: there are none. */
double rs_lengths_annotated(const rs_engine *engine, size_t from, size_t to);
/* The 95 % interval of the mean difference of steps, ns. */
void rs_lengths_spread(const rs_lengths *before, const rs_lengths *after, double *low, double *high);
/* Whether of three steps and more a third gains nothing of what the others do. */
bool rs_lengths_of_few(const rs_lengths *before, const rs_lengths *after);
/* By how much, ns of a step on average, steps that a question leaves alone contradict what it makes of the others; 0 where
 * all of them gain, or none does. Linear in steps. */
double rs_lengths_misfit(const rs_lengths *before, const rs_lengths *after);

/* How much of a step the busiest stream computes and copies, ns on average: no step is shorter, whatever it waits for. Communication, which
 * waits, does not count. lanes: room for two values for each lane of any rank. Linear in nodes. */
double rs_lengths_busy(const rs_engine *engine, const rs_times *times, size_t from, size_t to, size_t n_steps,
                       int64_t *lanes);

/* The path to the end of the ranks' steps, as recorded: nodes whose start waited for an edge, or that lasted. */
typedef struct rs_path_link {
    uint32_t node, edge; /* edge RS_NO_CAUSE: its duration */
} rs_path_link;
typedef struct rs_path {
    rs_path_link *items;
    size_t n, capacity;
} rs_path;
/* Release with rs_free(out->items), also after a failure. */
rs_status rs_path_find(const rs_replayed *replayed, size_t from, size_t to, rs_path *out, rs_error *err);
/* What other weights take off it, ns: no gain is greater. NaN: they take away a wait that it runs along. */
double rs_path_bound(const rs_replayed *replayed, const rs_path *path, const rs_weights *edited);
/* What most of that path is spent on. */
const char *rs_path_bound_by(const rs_engine *engine, const rs_weights *weights, const rs_times *times,
                             size_t from, size_t to);

#endif
