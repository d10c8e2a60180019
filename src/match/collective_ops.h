/* Collectives of a job: each rank's communication, matched over ranks. The one engine for it: `collectives`,
 * `stragglers` and `fuse` stand on it. Clocks are clock/collective_clocks.h, waits match/collective_wait.h.
 */
#pragma once

#include "base/interval.h"
#include "base/keymap.h"
#include "base/layout.h"
#include "match/collective_names.h"
#include "trace/pool.h"
#include "trace/trace.h"

/* What many communications of a rank have in common. Texts are in the rank's pool, RS_NO_STRING where not recorded. */
typedef struct rs_coll_shape {
    int64_t group_size;                /* 0: not recorded */
    int64_t in_elements, out_elements; /* -1: not recorded */
    int64_t source, target;            /* of send and receive; -1: not recorded */
    int64_t stream;                    /* of a kernel; -1: unknown */
    uint32_t group, description, members, name, dtype;
    rs_coll_kind kind;
} rs_coll_shape;

/* One communication kernel, or one span of communication that the host ran. */
typedef struct rs_coll_op {
    int64_t start, end; /* ns, the rank's own clock: the rank arrives and leaves */
    int64_t seq;        /* -1: not recorded */
    int64_t step;       /* -1: none */
    uint32_t row;
    uint32_t shape; /* index into its rank's */
} rs_coll_op;

/* What one rank brings; small, holds nothing of the trace. */
typedef struct rs_coll_rank {
    rs_pool pool;
    rs_coll_op *ops; /* in order of start, then row */
    size_t n, capacity;
    rs_coll_shape *shapes; /* none need be there once only */
    size_t n_shapes, shapes_capacity;
    int64_t *
        spans; /* by op: its duration, where a span begins after its rank's arrival; NULL: they last from start to end */
    size_t n_spans, spans_capacity;
    rs_map64
        args; /* of all-to-alls: by row, the event with what they were given, where that is another one. Does
                      not travel */
    uint32_t *lately;     /* while ops are added: shapes that were found lately, counted from 1 */
    size_t n_nameless;    /* ops without a process group */
    int64_t base_time_ns; /* baseTimeNanoseconds, RS_NO_VALUE */
    int64_t first_ns;     /* start of the rank's first event, RS_NO_TIME */
    uint32_t host;        /* name of the machine, in the pool; RS_NO_STRING if not recorded */
    bool on_host;         /* the ops are spans of the host: their ends are not one moment on all ranks */
    bool many_groups;     /* ... of several groups, and the trace does not say of which */
    bool has_role;        /* ROLE=PATH says what its program does: */
    uint32_t role;        /* ... in the pool */
    int64_t own;          /* the rank as the file has it; RS_NO_VALUE */
} rs_coll_rank;

extern const rs_layout rs_coll_rank_layout;

/* The operator in which PyTorch records what a collective is given. */
#define RS_COLL_RECORD "record_param_comms"

#define RS_COLL_COLUMNS                                                                                      \
    (RS_LINK_COLUMNS | RS_COLUMN_BIT(COLLECTIVE) | RS_COLUMN_BIT(IN_NELEMS) | RS_COLUMN_BIT(OUT_NELEMS) |    \
     RS_COLUMN_BIT(DTYPE) | RS_COLUMN_BIT(GROUP_SIZE) | RS_COLUMN_BIT(GROUP_NAME) |                          \
     RS_COLUMN_BIT(GROUP_DESC) | RS_COLUMN_BIT(GROUP_RANKS) | RS_COLUMN_BIT(SEQ) | RS_COLUMN_BIT(SRC_RANK) | \
     RS_COLUMN_BIT(DST_RANK))
/* What rs_coll_rank_any needs besides. */
#define RS_COLL_HOST_COLUMNS                                                                                 \
    (RS_COLL_COLUMNS | RS_COLUMN_BIT(RECORD_FUNCTION_ID) | RS_COLUMN_BIT(CONCRETE_INPUTS))

/* Whether a send or receive is known to be a send. */
bool rs_coll_sends(const rs_coll_rank *rank, const rs_coll_shape *shape);

/* The communication kernels of a rank. The arguments are the kernel's; where it has none, those of the
 * operator record_param_comms above its launch. A kernel that names no collective is the one of the
 * annotation or operator that launched it (nccl:all_to_all): an all-to-all is made of SendRecv kernels. */
rs_status rs_coll_rank_of(rs_trace *trace, const rs_policy *policy, rs_coll_rank **out, rs_error *err);
/* The same; of a rank without GPU work the communication that the host ran (gloo, mpi, ucc): one op is one
 * span of a worker thread, and the rank arrives where the operator c10d::... that submitted it starts. */
rs_status rs_coll_rank_any(rs_trace *trace, const rs_policy *policy, rs_coll_rank **out, rs_error *err);
/* Of each span that the host ran the operator that submitted it: row -> row. Spans without one are not in the map, which
 * the caller clears, also after a failure. */
rs_status rs_coll_host_calls(const rs_trace *trace, rs_map64 *calls, rs_error *err);
void rs_coll_rank_free(void *rank); /* NULL is allowed */
/* For who fills a rank: adds an op of that shape. false when out of memory. */
bool rs_coll_rank_add(rs_coll_rank *rank, rs_coll_op op, const rs_coll_shape *shape);
/* The shape's index, UINT32_MAX when out of memory. */
uint32_t rs_coll_rank_shape(rs_coll_rank *rank, const rs_coll_shape *shape);
/* By start, then by place in the list. false when out of memory. */
bool rs_coll_rank_sort(rs_coll_rank *rank);

static inline const rs_coll_shape *rs_coll_shape_of(const rs_coll_rank *rank, const rs_coll_op *op)
{
    return &rank->shapes[op->shape];
}
static inline int64_t rs_coll_duration(const rs_coll_rank *rank, const rs_coll_op *op)
{
    return rank->n_spans ? rank->spans[op - rank->ops] : rs_sub_sat(op->end, op->start);
}

/* The event whose arguments an all-to-all has: the kernel, else an operator above its launch. */
static inline uint32_t rs_coll_args_of(const rs_coll_rank *rank, const rs_coll_op *op)
{
    const uint32_t *row = rs_map64_get(&rank->args, op->row);
    return row ? *row : op->row;
}

/* ---- over ranks */

typedef struct rs_coll_arrival {
    uint32_t rank; /* index into the job's ranks */
    uint32_t op;   /* index into that rank's ops */
    uint32_t instance;
} rs_coll_arrival;

/* One collective: those of its kernels that are in the traces. */
typedef struct rs_coll_instance {
    int64_t number; /* the recorded sequence number, else its place in the group's order, from 1 */
    bool by_seq;
    bool mixed;        /* ranks disagree on what it is */
    bool on_host;      /* some member's host ran it */
    uint32_t first, n; /* in arrivals, by rank */
} rs_coll_instance;

typedef struct rs_coll_clock {
    uint32_t
        reference;  /* index of the rank it is told against: the first of those that collectives tie to it */
    int64_t offset; /* what the rank's clock is ahead, ns: subtract it */
    bool aligned;   /* told by collectives; else only by baseTimeNanoseconds */
    size_t n;       /* collectives that tell it */
    int64_t residual; /* median distance of its ends from the others' after correction, ns */
    int64_t worst;    /* the greatest */
} rs_coll_clock;

typedef struct rs_coll_job {
    const rs_coll_rank *const *ranks;
    size_t n_ranks;
    int64_t *shift; /* by rank: what to add to its times for a common clock: base time - offset */
    rs_coll_clock *clocks;
    bool by_base;                /* every rank told its baseTimeNanoseconds, and they differ */
    rs_coll_instance *instances; /* in order of the earliest arrival */
    size_t n;
    rs_coll_arrival *arrivals;
    size_t n_arrivals;
    size_t n_inferred; /* sends that were found by places of the program: collective_places.c */
} rs_coll_job;

/* Corrects job->shift and fills job->clocks by the instances matched so far. */
typedef rs_status (*rs_set_clocks_fn)(rs_coll_job *job, rs_error *err);

/* Matches by group (name and members) and recorded sequence number; where none is recorded, and for send and
 * receive, by order (collective_order.c). set_clocks: NULL leaves the clocks as the files have them. It is
 * called when what is numbered is matched, since right clocks help to match the rest, and again at the end.
 * Callers take rs_clock_match of clock/collective_clocks.h. Ranks are borrowed. */
rs_status rs_coll_match(const rs_coll_rank *const *ranks, size_t n_ranks, rs_set_clocks_fn set_clocks,
                        rs_coll_job *out, rs_error *err);
void rs_coll_job_clear(rs_coll_job *job);

static inline int64_t rs_coll_start(const rs_coll_job *job, const rs_coll_arrival *a)
{
    return job->ranks[a->rank]->ops[a->op].start + job->shift[a->rank];
}
static inline const rs_coll_op *rs_coll_op_at(const rs_coll_job *job, const rs_coll_arrival *a)
{
    return &job->ranks[a->rank]->ops[a->op];
}
static inline const rs_coll_shape *rs_coll_shape_at(const rs_coll_job *job, const rs_coll_arrival *a)
{
    return rs_coll_shape_of(job->ranks[a->rank], rs_coll_op_at(job, a));
}
static inline int64_t rs_coll_end(const rs_coll_job *job, const rs_coll_arrival *a)
{
    return job->ranks[a->rank]->ops[a->op].end + job->shift[a->rank];
}

/* Parts that no matched communication ties together: clocks are compared within each. 1 where all are tied.
 */
size_t rs_coll_n_parts(const rs_coll_job *job);
