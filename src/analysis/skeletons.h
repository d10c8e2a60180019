/* What analyses that stand on the engine share: their partial is a rank's skeleton, and they merge by joining them. */
#pragma once

#include "analysis/analysis.h"
#include "engine/skeleton.h"

/* The rank of such an analysis. Its free_partial is rs_skeleton_free, its partial_layout rs_skeleton_layout. */
rs_status rs_skeletons_rank(const rs_run *run, rs_trace *trace, void **partial, rs_error *err);

/* What such a partial is where no other columns are needed, which --most-events alone decides: its partial_is. */
const char *rs_skeletons_word(const rs_options *options);

/* The same with places and shares, of the caller's own: for questions about groups of another size. And the columns that it needs more. */
rs_status rs_skeletons_shared(const rs_run *run, rs_trace *trace, void **partial, rs_error *err);
uint64_t rs_skeletons_shared_columns(void);

/* Which dependencies take part (rs_edges_used of engine/engine.h). */
#define RS_EDGES_OPTION                                                                                      \
    {                                                                                                        \
        "edges", RS_OPTION_CHOICE, "WHICH", "recorded|all|told", "all",                                      \
            "recorded (before: `told`): only dependencies that the traces record; all: also those that are " \
            "inferred, from what every step shows and from the order of calls"                               \
    }

/* An option for who asks of any job and must not run out of memory. */
#define RS_SKELETONS_OPTION                                                                                  \
    {                                                                                                        \
        "most-events", RS_OPTION_INT, "N", NULL, NULL,                                                       \
            "nothing where the job's ranks have more than N events together: memory grows with them"         \
    }
/* Events of a job up to which it is judged with other questions: a few seconds at most. */
#define RS_JUDGED_EVENTS "4000000"
/* Whether that leaves the rank out: every rank of its job may bring as many events. */
bool rs_skeletons_too_many(const rs_run *run, const rs_trace *trace);

/* The skeletons of partials, in their order, the ranks that they are of, and these ranks' hosts. */
typedef struct rs_skeletons {
    const rs_skeleton **items; /* borrowed from the partials */
    int64_t *rank_of;
    const char **hosts; /* NULL: unknown */
    size_t n;
    rs_arena arena;
} rs_skeletons;

/* Clear it also after a failure, which is RS_ERR_NOMEM. */
rs_status rs_skeletons_take(const rs_partial *partials, size_t n, rs_skeletons *out, rs_error *err);
void rs_skeletons_clear(rs_skeletons *skeletons);
