/* What can have held up GPU work and calls that return late, and which of it did.
 *
 * GPU work waits for its launch, for the work before it on its stream and for work of other streams. A call
 * may wait for work to end (a synchronization) or to start (a launch whose stream's queue is full). Each such
 * thing is a cause. The cause that left the least time beyond what its kind usually takes is the one that
 * held the event up. What is usual is learned from the trace itself, from events of which only one cause can
 * have been the last. */
#pragma once

#include "engine/graph.h"
#include "engine/sync.h"
#include "trace/trace.h"

typedef enum rs_work_kind {
    RS_WORK_KERNEL,
    RS_WORK_GRAPH, /* of a call that launches several pieces at once */
    RS_WORK_COPY,
    RS_WORK_MEMSET,
    RS_N_WORK_KINDS
} rs_work_kind;

/* What one step between two events can be, as far as its time is learned: by kind of work for the first four.
 */
typedef enum rs_cost {
    RS_COST_LAUNCH,
    RS_COST_INSIDE = RS_COST_LAUNCH + RS_N_WORK_KINDS,
    RS_COST_STREAM = RS_COST_INSIDE + RS_N_WORK_KINDS,
    RS_COST_EVENT = RS_COST_STREAM + RS_N_WORK_KINDS,
    RS_COST_ANSWER = RS_COST_EVENT + RS_N_WORK_KINDS,
    RS_COST_CALL,
    RS_COST_ISSUE,
    RS_COST_ROOM,
    RS_COST_NONE, /* nothing is learned of it: the host's own time */
    RS_N_COSTS = RS_COST_NONE
} rs_cost;

/* One observation of a step that nothing else can have held up. */
typedef struct rs_cost_sample {
    int64_t value; /* ns */
    uint32_t row;  /* of the event that waited */
    uint8_t cost;  /* rs_cost */
} rs_cost_sample;

/* What a step that was taken at once costs, ns. 0: too few samples to tell. */
typedef struct rs_path_costs {
    int64_t launch[RS_N_WORK_KINDS]; /* from the call's end to the work's start */
    int64_t inside[RS_N_WORK_KINDS]; /* from the call's start, where work is done before the call returns, or
                                        is a graph's */
    int64_t stream[RS_N_WORK_KINDS]; /* from the end of the work before it on its stream */
    int64_t event[RS_N_WORK_KINDS];  /* from the end of work of another stream */
    int64_t call, answer; /* a synchronizing call that need not wait; from work's end to its return */
    int64_t issue, room;  /* a launch with room in the queue; from the start that made room to its return */
} rs_path_costs;

/* Of a rank as a whole, whatever window is looked at. All-zero is empty. */
typedef struct rs_causes {
    const rs_events *e;
    const rs_work *w;
    const uint32_t *by_start; /* indices into w */
    const rs_sync_edges *sync;
    uint32_t *before; /* by index into w: the work that had ended last on its stream, RS_NO_ITEM if none */
    uint32_t *around; /* ... and on any stream of its device */
    uint32_t *room;   /* the work whose start made room for its launch, RS_NO_ITEM if that had room */
    uint8_t *kind;    /* rs_work_kind */
    rs_path_costs cost;
    rs_cost_sample *samples; /* what the costs were learned from */
    size_t n_samples, samples_capacity;
    uint64_t n_contradicted; /* causes that come after what they caused: clocks or links are wrong there */
} rs_causes;

/* The trace's: of all of its GPU work, whatever is selected. */
extern const rs_facet rs_facet_causes;
rs_status rs_trace_causes(rs_trace *trace, const rs_causes **out, rs_error *err);

/* What makes it. work and by_start: of rs_policy.whole; sync: rs_trace_sync's. They are borrowed. */
rs_status rs_causes_find(const rs_trace *trace, const rs_work *work, const uint32_t *by_start,
                         const rs_sync_edges *sync, rs_causes *out, rs_error *err);
void rs_causes_clear(rs_causes *causes);

/* One thing that an event had to wait for. */
typedef struct rs_path_cause {
    uint32_t row; /* of the event columns; RS_NO_ROW: none */
    bool at_end;  /* its end, else its start */
    rs_edge_type type;
    bool same_stream;
    int64_t least;  /* what the wait takes at least if something else held the event up */
    int64_t beyond; /* time beyond what its kind usually takes; the smaller, the likelier the cause */
} rs_path_cause;

/* The causes of a piece of work are numbered from 0; some numbers have none, then false is returned. */
size_t rs_causes_of_work(const rs_causes *causes, uint32_t work);
bool rs_cause_at(const rs_causes *causes, uint32_t work, size_t k, rs_path_cause *out);
/* The number of the cause that held the work up, and the cause. SIZE_MAX: something that is not numbered, a
 * wait that the trace does not tell, or with row RS_NO_ROW nothing that is known. */
size_t rs_cause_of_work(const rs_causes *causes, uint32_t work, rs_path_cause *out);

/* The work that the call waited for: false if it did not wait. room: index of the work that made room for
 * what it launched, else RS_NO_ITEM. within: what ended after the call's return is no cause. */
bool rs_cause_of_call(const rs_causes *causes, uint32_t call, uint32_t room, bool within, rs_path_cause *out);

/* Whether the time of a launch counts from the call's start: the call returned behind the work (a blocking
 * copy), or hands a graph over piece by piece. */
bool rs_launch_counts_from_start(const rs_causes *causes, uint32_t work, int64_t call_end);

/* The synchronizations that end in an event: [*from, *to) of causes->sync->items. */
void rs_sync_into(const rs_sync_edges *sync, uint32_t target, size_t *from, size_t *to);
