/* Pipelines: what the stages of a pipeline wait for in each step, and by which schedule they run.
 *
 * A step of a pipeline lasts from the start of its first pass to the end of the last, on the aligned clock; all of its stages are looked at
 * from one to the other. A stage is idle where it neither computes nor transfers for collectives. Each pass began after what came last: the
 * message that it needs, or the pass before it on its stage. That makes a path from every pass back to the start of the step, whose time is
 * computation, messages (link), waiting in collectives, or nothing of these (host: a launch, a send or a receive comes late). A stage's wait is the
 * difference of two paths, to what it waited for and to the end of its own work before; what both spend cancels.
 *
 * What differs in computation is the schedule's as long as the stage waits in that part of the step in a replay of the order of passes in
 * which every pass of a kind takes the mean and nothing else any time: warm-up (before its first backward), drain (after its last forward), steady
 * (between). What it waits longer is imbalance, of stages or of micro-batches.
 *
 * Causes add up to the idle time, to the nanosecond. */
#ifndef RS_ENGINE_PIPELINE_H
#define RS_ENGINE_PIPELINE_H

#include "clock/collective_clocks.h"
#include "match/passes.h"
#include "match/stages.h"

typedef enum rs_bubble {
    RS_BUBBLE_WARM_UP,
    RS_BUBBLE_STEADY,
    RS_BUBBLE_DRAIN,
    RS_BUBBLE_IMBALANCE,
    RS_BUBBLE_LINK,
    RS_BUBBLE_COLLECTIVE,
    RS_BUBBLE_HOST,
    RS_N_BUBBLES
} rs_bubble;

typedef enum rs_pipe_schedule {
    RS_PIPE_UNKNOWN,
    RS_PIPE_FORWARD, /* there is no backward */
    RS_PIPE_GPIPE,
    RS_PIPE_1F1B,
    RS_PIPE_INTERLEAVED_GPIPE,
    RS_PIPE_INTERLEAVED_1F1B,
    RS_PIPE_ZERO_BUBBLE,
    RS_PIPE_ZERO_BUBBLE_V,
    RS_PIPE_DUAL,
    RS_N_PIPE_SCHEDULES
} rs_pipe_schedule;

extern const char *const rs_pipe_schedule_names[RS_N_PIPE_SCHEDULES];

/* The passes of one stage in a step, in the order of the program. */
typedef struct rs_stage_order {
    const uint8_t *kinds; /* rs_pass_kind */
    size_t n;
    size_t n_free;      /* forward passes that receive nothing */
    bool first_is_free; /* the first of them */
} rs_stage_order;

/* both_ways: forward passes feed the stage after theirs and the stage before it. *chunks: parts of the model that a stage has. */
rs_pipe_schedule rs_pipe_schedule_of(const rs_stage_order *stages, size_t n, bool both_ways, size_t *chunks);

/* A rank in a step. Times in ns. */
typedef struct rs_stage_step {
    uint32_t rank, line, stage;
    int64_t step; /* -1: none */
    int64_t window, idle, cause[RS_N_BUBBLES];
    int64_t ideal,
        ideal_window; /* the replay of the schedule: idle time of the rank, and length of the step */
    int64_t passes[RS_N_PASS_KINDS];  /* how many */
    int64_t micro_batches, unmatched; /* unmatched: messages that the other end's rank did not record */
    uint8_t schedule;
} rs_stage_step;

typedef struct rs_stage_pass {
    uint32_t rank, line, stage;
    int64_t step, number; /* number: among those of its kind in the step, from 0 */
    int64_t start, end;   /* ns, the aligned clock */
    int64_t busy, idle_before;
    uint8_t kind;
} rs_stage_pass;

/* What passes wait for besides each other, summed over all of them, ns. */
typedef struct rs_pipe_delays {
    int64_t links,
        link; /* messages, and their transfers: from the later of both ends to when the data is there */
    int64_t asked_after;   /* of them, those that the receiver asked for when its pass before was over */
    int64_t late;          /* from the end of the pass that is sent to the sending */
    int64_t starts, start; /* passes that waited for a message, and how long after it they began */
    int64_t gaps, gap;     /* passes that did not, and how long after the pass before */
} rs_pipe_delays;

typedef struct rs_pipelines {
    rs_stages stages;
    rs_pipe_delays delays;
    rs_stage_step *steps; /* by line, step, stage */
    size_t n_steps, steps_capacity;
    rs_stage_pass *passes; /* by line, step, stage, start */
    size_t n_passes, passes_capacity;
} rs_pipelines;

/* `job` matches the communication of these ranks. Clear it after a failure, too. O(n log n) in passes, messages and stretches of
 * work, times the length of a pipeline. */
rs_status rs_pipelines_find(rs_passes *const *ranks, const rs_coll_job *job, rs_pipelines *out,
                            rs_error *err);
/* The same; of a job without pipelines each rank is one of one stage. */
rs_status rs_pipelines_find_any(rs_passes *const *ranks, const rs_coll_job *job, rs_pipelines *out,
                                rs_error *err);
void rs_pipelines_clear(rs_pipelines *pipelines);

/* ---- another layout ---------------------------------------------------------------------------------------- */

#define RS_PIPE_MOST_STAGES 1024
#define RS_PIPE_MOST_PASSES (UINT64_C(1) << 22) /* of a layout, all stages together */

typedef struct rs_pipe_layout {
    size_t stages, micro_batches;
    rs_pipe_schedule schedule; /* GPipe, or 1F1B: one part of the model a stage */
} rs_pipe_layout;

/* What is asked of --layout, of any command; 0 and RS_PIPE_UNKNOWN: not said, it stays. */
typedef struct rs_layout_asked {
    int64_t dp, tp, ep, pp, micro_batches;
    rs_pipe_schedule schedule;
} rs_layout_asked;

/* "dp=8,pp=2,micro-batches=8,schedule=1f1b". RS_ERR_USAGE says what is wrong. */
rs_status rs_layout_parse(const char *text, rs_layout_asked *out, rs_error *err);

/* What a layout is made of: passes' lengths by stage, and what is between them, ns. */
typedef struct rs_pipe_costs {
    int64_t forward[RS_PIPE_MOST_STAGES], backward[RS_PIPE_MOST_STAGES];
    int64_t last_longer
        [RS_PIPE_MOST_STAGES]; /* what a step's last backward takes more than others: gradients are reduced then */
    int64_t link, late, start, gap;
    bool asks_late; /* a message is on its way when the receiver's pass before is over, not earlier */
} rs_pipe_costs;

/* The time from the first pass to the end of the last, and how long stages are idle of that, summed. O(passes). */
rs_status rs_pipe_layout_replay(const rs_pipe_costs *costs, const rs_pipe_layout *layout, int64_t *window,
                                int64_t *idle, rs_error *err);

/* A step of the pipelines in another layout. Times in ns; a window is from the first pass to the end of the last. */
typedef struct rs_pipe_forecast {
    rs_pipe_layout recorded, other;
    int64_t steps;                   /* it is learned from; 0: the pipelines have none, and all else is 0 */
    int64_t window, low, high, idle; /* in the other layout; idle: of all stages */
    int64_t recorded_window, recorded_idle, recorded_all; /* mean of steps; sums over stages and steps */
    double error; /* percent: the recorded layout replayed in the same way, against the recording */
} rs_pipe_forecast;

/* Passes take what they take now; of other stages, an equal share of all. Only pp, micro_batches and schedule of what is asked count.
 * RS_ERR_USAGE says why there is no answer: the replay of the recorded layout errs too much, or its schedule is not known. */
rs_status rs_pipelines_forecast(const rs_pipelines *pipelines, const rs_layout_asked *asked,
                                rs_pipe_forecast *out, rs_error *err);

/* The mean window of their steps, ns; 0: they have none. */
double rs_pipelines_window(const rs_pipelines *pipelines);

struct rs_engine;
struct rs_times;
/* Puts passes, and the windows of steps, where a replay of the ranks' graph has their work, so that a forecast speaks of the job as a question has
 * changed it. The pipelines' job is the engine's. Passes without work of a GPU stay. O(n log n). */
rs_status rs_pipelines_retime(rs_pipelines *pipelines, const struct rs_engine *engine,
                              const struct rs_times *times, rs_error *err);

#endif
