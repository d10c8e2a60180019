/* Replay of a pipelined job from its table of operations, as the OSDI'25 straggler study has it
 * (arXiv 2505.05713): which operation waits for which, how long each took by itself, and how long a step
 * would last with other times. docs/whatif.md explains the method.
 *
 * An operation is *named* by kind, number (seq) and stage. Its *instances* are one for each step and data
 * rank. Names stand by stage, kind, number; instance (step s, data rank d, name v) lies at
 * (s * n_dp + d) * n_names + v of every array of times. All times are in the unit of the rules. */
#pragma once

#include "base/ranges.h"
#include "format/op_table.h"

/* What a peer does otherwise, as values. */
typedef struct rs_ops_rules {
    double unit;        /* of a second: 1e9, or 1 */
    bool single;        /* recorded times and what is derived of them are rounded to 32-bit floats */
    bool keep_negative; /* durations below 0 stay, and transfers down to -10 ms; else all are at least 0 */
    bool one_order;     /* the first step's data rank 0 tells the order of all; else each its own */
    bool pool_unused;   /* void and unused transfers count in the ideal time of their kind */
    bool least_of_both; /* a worker's slowdown is the lesser of its data rank's and its stage's */
    bool two_lengths;   /* a step ends with the optimizer where it is the divisor */
} rs_ops_rules;

extern const rs_ops_rules rs_ops_own_rules; /* whole nanoseconds, everything as it should be */

typedef struct rs_ops_name {
    int32_t stage, seq, mc;
    uint8_t kind;
} rs_ops_name;

/* What waits for what in one step of one data rank. */
typedef enum rs_ops_use { RS_OPS_REAL, RS_OPS_VOID, RS_OPS_UNUSED } rs_ops_use;
typedef struct rs_ops_order {
    uint32_t *first; /* n_names + 1 offsets into pred */
    uint32_t *pred;  /* names that must have ended, ascending */
    uint32_t *pair;  /* the partner of a send or receive; itself where it has none */
    uint8_t *use;    /* rs_ops_use */
} rs_ops_order;

typedef struct rs_ops {
    rs_ops_rules rules;
    size_t n_names, n_steps, n_dp, n_stages, n_instances; /* n_instances: of all steps */
    size_t n_chunks;
    int64_t dsp;
    rs_ops_name *names;
    uint32_t *range;      /* by stage * RS_N_OP_KINDS + kind: first name; one more at the end */
    int64_t *steps;       /* numbers */
    int64_t *dps;         /* numbers */
    int64_t *ranks;       /* of workers, by data rank * n_stages + stage */
    double *start;        /* from the step's zero */
    double *duration;     /* as recorded */
    double *time;         /* what the instance itself took: its transfer, or its duration */
    double *delay;        /* from the end of what it waited for to its start */
    int32_t *mb, *mc;     /* micro batch and chunk of each instance */
    uint32_t *order;      /* of (step * n_dp + data rank): an index of orders */
    rs_ops_order *orders; /* the first one is that of the first step's data rank 0 */
    size_t n_orders, orders_capacity;
    size_t n_other_orders; /* (step, data rank) that do not follow the first */
} rs_ops;

/* Prepares a table: leaves out incomplete steps (told in problems) and those that are not selected (NULL: all
 * are), finds what waits for what, transfers and delays. RS_ERR_FORMAT where the table cannot be understood.
 * Release with rs_ops_clear, also after a failure. */
rs_status rs_ops_make(const rs_op_table *table, const char *file, const rs_ranges *steps,
                      const rs_ops_rules *rules, rs_ops *out, rs_problems *problems, rs_error *err);
void rs_ops_clear(rs_ops *ops);

static inline size_t rs_ops_at(const rs_ops *ops, size_t step, size_t dp, size_t name)
{
    return (step * ops->n_dp + dp) * ops->n_names + name;
}

static inline bool rs_op_is_compute(unsigned kind)
{
    return kind == RS_OP_FORWARD_COMPUTE || kind == RS_OP_BACKWARD_COMPUTE;
}

static inline bool rs_op_is_pipeline(unsigned kind)
{
    return kind == RS_OP_FORWARD_SEND || kind == RS_OP_FORWARD_RECV || kind == RS_OP_BACKWARD_SEND ||
           kind == RS_OP_BACKWARD_RECV;
}

/* Whether its time is a transfer, from the last start of its group to its end. */
static inline bool rs_op_is_transfer(unsigned kind)
{
    return rs_op_is_pipeline(kind) || kind == RS_OP_GATHER || kind == RS_OP_SCATTER ||
           kind == RS_OP_SEPARATE || kind == RS_OP_EMBEDDING || kind == RS_OP_CLIP;
}

/* Whether its ideal time is the median rather than the mean. */
static inline bool rs_op_is_communication(unsigned kind)
{
    return rs_op_is_transfer(kind) || kind == RS_OP_LAYERNORM;
}

static inline const rs_ops_order *rs_ops_order_of(const rs_ops *ops, size_t step, size_t dp)
{
    return &ops->orders[ops->order[step * ops->n_dp + dp]];
}

/* ---- orders ------------------------------------------------------------------------------------------- */

/* The order that one (step, data rank) shows: start and end of each name there. RS_ERR_FORMAT where its sends
 * and receives do not fit its computations. */
rs_status rs_ops_find_order(const rs_ops *ops, const double *start, const double *end, const int32_t *mc,
                            rs_ops_order *out, rs_error *err);
bool rs_ops_order_equal(const rs_ops *ops, const rs_ops_order *a, const rs_ops_order *b);
void rs_ops_order_clear(rs_ops_order *order);

/* ---- the graph of a step ------------------------------------------------------------------------------ */

/* Nodes are (data rank, name) at data rank * n_names + name; those that are synchronised form a unit. */
typedef struct rs_ops_graph {
    size_t n_units;
    uint32_t *first; /* n_units + 1 offsets into member; units stand in an order in which they can run */
    uint32_t *member;
    uint32_t *order; /* n_dp: the orders that it was made of */
} rs_ops_graph;

/* The graph of one step. An earlier graph in *graph is kept where it is the same; release with
 * rs_ops_graph_clear. RS_ERR_FORMAT when operations wait for each other in a circle. */
rs_status rs_ops_graph_make(const rs_ops *ops, size_t step, rs_ops_graph *graph, rs_error *err);
void rs_ops_graph_clear(rs_ops_graph *graph);

/* ---- times -------------------------------------------------------------------------------------------- */

/* Dimensions that instances are averaged over. */
enum { RS_OPS_OVER_DP = 1, RS_OPS_OVER_STAGE = 2, RS_OPS_OVER_STEP = 4, RS_OPS_OVER_ALL = 7 };

/* Fills ideal (n_instances): the mean or median of the instances of each kind over these dimensions. */
rs_status rs_ops_idealise(const rs_ops *ops, unsigned over, double *ideal, rs_error *err);
/* ... of each kind and stage the median of everything: what mending would give. */
rs_status rs_ops_repair(const rs_ops *ops, double *repaired, rs_error *err);

/* ---- replay ------------------------------------------------------------------------------------------- */

/* A set of instances: all conditions hold. */
typedef struct rs_ops_set {
    const uint8_t *class; /* by name; NULL: any */
    uint8_t of_class;
    int64_t dp, stage, step; /* indices; -1: any */
    const bool *workers;     /* by data rank * n_stages + stage; NULL: any */
} rs_ops_set;

#define RS_OPS_EVERYTHING                                                                                    \
    {                                                                                                        \
        .dp = -1, .stage = -1, .step = -1                                                                    \
    }

/* One replay: `time` for all instances but those of `set`, which take factor * `other`. */
typedef struct rs_ops_scenario {
    const double *time, *other;
    rs_ops_set set;
    double factor;
    const double *delay; /* NULL: none; else added before each start of delay_set */
    rs_ops_set delay_set;
} rs_ops_scenario;

/* How long a step lasts in a scenario. */
typedef struct rs_ops_length {
    double whole;  /* from the first start to the last end */
    double update; /* from zero to the last end of an optimizer */
} rs_ops_length;

/* Replays n scenarios: lengths[i * n_steps + step]. */
rs_status rs_ops_replay(const rs_ops *ops, const rs_ops_scenario *scenarios, size_t n, rs_ops_length *lengths,
                        rs_error *err);
/* One scenario, with the start and end of every instance. */
rs_status rs_ops_replay_times(const rs_ops *ops, const rs_ops_scenario *scenario, double *start, double *end,
                              rs_error *err);
