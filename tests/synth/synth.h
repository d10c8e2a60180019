/* rankscope-synth: writes Kineto traces of a simulated training job together with the true answers.
 *
 * Flow: options (main.c) -> per-rank programs (model.c, layers.c) -> causal simulation, one step of all ranks
 * at a time (sim.c) -> text (emit.c, frame.c) and, beside it, the record of what happened (truth.c ->
 * answers.c). All times are integer nanoseconds on the job's own clock; a rank's clock offset is added when
 * text is written. The simulation runs twice with the same seeds: the first pass writes host operators, the
 * second GPU work and runtime calls, which is Kineto's order of events and needs memory for one step only. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CLASS_NONE = 0, CLASS_COMPUTATION = 1, CLASS_COMMUNICATION = 2, CLASS_MEMORY = 4 };

typedef enum {
    CAT_CPU_OP,
    CAT_USER_ANNOTATION,
    CAT_PYTHON,
    CAT_RUNTIME,
    CAT_DRIVER,
    CAT_KERNEL,
    CAT_MEMCPY,
    CAT_MEMSET,
    CAT_SYNC,
    CAT_GPU_ANNOTATION,
    CAT_FWDBWD,
    CAT_AC2G,
    CAT_TRACE,
    CAT_METADATA,
    CAT_INSTANT,
    CAT_COUNT
} category;

/* The streams a rank uses; their numbers in the file depend on the flavour (stream_number). */
enum { STREAM_COMPUTE, STREAM_COPY, STREAM_TP, STREAM_DP, STREAM_SEND, STREAM_RECV, STREAM_COUNT };
enum { GROUP_TP, GROUP_DP, GROUP_PP, GROUP_PAIR };
enum { QUEUE_LIMIT = 1022 }; /* launches a stream holds before the next launch blocks its thread */

/* What every event of one kind has in common: name and the constant part of its arguments, as JSON text. */
typedef struct {
    char *name;
    char *args;
    uint32_t name_length, args_length;
    uint8_t category;
    uint8_t class;
    bool step_name; /* the step's number is appended to the name */
} template;

enum { SYNC_STREAM_WAIT, SYNC_EVENT, SYNC_STREAM, SYNC_CONTEXT, SYNC_GRAPH /* inside a graph */ };

typedef enum {
    DO_PUSH,        /* open host event `template`; slot: autograd slot, or -1 */
    DO_POP,         /* close the innermost host event */
    DO_HOST,        /* `cost` ns of host time */
    DO_LOAD,        /* data loading: `cost` ns and this step's stall */
    DO_THREAD,      /* host continues on thread `stream` (0 main, 1 autograd) */
    DO_LAUNCH,      /* kernel, copy or memset `template` of `cost` ns on `stream` */
    DO_COLLECTIVE,  /* as DO_LAUNCH, of group `group`: ends with its peers */
    DO_RECORD,      /* record event `event` on `stream` */
    DO_WAIT,        /* `stream` waits for event `event` */
    DO_SYNC_STREAM, /* host waits for `stream` */
    DO_SYNC_EVENT,
    DO_SYNC_DEVICE, /* host waits for all streams; only if `slot` < 0 or at the last step */
    DO_GRAPH_BEGIN, /* one graph launch owns every launch until DO_GRAPH_END */
    DO_GRAPH_END,
    DO_STEP_BEGIN,
    DO_STEP_END,
    DO_PAUSE, /* the host stops if it was told to in this step */
    DO_CALL   /* runtime call `call` of `cost` ns */
} action;

enum { PHASE_OTHER, PHASE_FORWARD, PHASE_BACKWARD, PHASE_OPTIMIZER };

typedef struct {
    uint8_t action, stream;
    uint16_t event;
    int32_t template;
    int32_t call; /* template of the runtime call */
    int32_t slot;
    int32_t group;
    int64_t cost;
    int64_t amount; /* bytes of a copy, elements of a collective */
    uint32_t apart; /* it draws numbers of its own, by this; 0: its rank's */
    bool blocking;  /* a copy whose call returns when it has ended */
    bool skip;      /* it takes its random numbers and does nothing */
    bool training;  /* skipped in steps that evaluate */
    uint8_t phase;
    int16_t micro_batch, layer; /* -1: none */
    bool first;                 /* the first work of its stream */
} instruction;

typedef struct {
    instruction *items;
    size_t count, capacity;
    int slots; /* autograd sequence numbers used a step */
} program;

typedef struct {
    int kind;
    int name; /* printed as the process group's name */
    int count;
    int *ranks;
    int64_t sequence; /* collectives completed */
    int64_t drawn;    /* as sequence, with those that a step left out */
    int arrived;
    int64_t *starts; /* of the one under way, by member */
} group;

/* One event of the current step. */
typedef struct {
    int64_t start, duration;
    int64_t amount;   /* bytes; Seq of a collective; parent of a python frame */
    int64_t sequence; /* autograd sequence number or -1; waited-for correlation of a sync; python id */
    int32_t template;
    int32_t truth; /* index of the event's truth record, -1: none */
    int32_t at;    /* instruction of GPU work, -1: none */
    uint32_t external, correlation;
    uint32_t owned;                      /* launches: GPU events from `truth` on */
    uint8_t thread, stream, kind, other; /* kind: SYNC_*; other: waited-for stream */
    bool flow;                           /* carries a forward-backward flow */
    bool launches;                       /* runtime call that starts GPU work */
} record;

typedef struct {
    record *items;
    size_t count, capacity;
} records;

typedef struct {
    int64_t free, wait, queue[QUEUE_LIMIT]; /* queue: when the latest launches' work starts */
    int32_t queued[QUEUE_LIMIT];            /* ... and which GPU events these are */
    uint64_t launched;
    int32_t last, wait_source; /* GPU event indexes, -1: none */
    int32_t *waits;            /* (source, sync) pairs of waits not yet followed by work */
    size_t wait_count, wait_capacity;
} stream_state;

typedef struct {
    int64_t time;
    int32_t source;
    uint32_t correlation;
    uint8_t stream;
} event_state;

typedef struct {
    int fd;
    char *buffer;
    size_t length;
    uint64_t bytes, events;
    uint64_t by_category[CAT_COUNT];
    int64_t first, last; /* start and end of all complete events, as written */
    bool measure;        /* text is counted, not written */
} output;

typedef struct truth_rank truth_rank;

typedef struct {
    int id, tp, dp, pp, device;
    int pid, thread_id[2];
    int factor; /* compute time in thousandths */
    int64_t offset;
    int machine;
    int *groups; /* the model's groups that this rank is in */
    int group_count;
    program code;
    /* state of the simulation, reset before each pass */
    uint64_t random;
    size_t next;
    int64_t time;
    int thread;
    uint32_t correlation, external;
    int64_t event_index, python_id, slot_base;
    int32_t gpu_count;
    int64_t *sequences; /* by group: collectives this rank has issued */
    stream_state streams[STREAM_COUNT];
    event_state events[8];
    bool blocked, resumed, in_graph, finished;
    int64_t resume_end;
    record pending; /* the collective's kernel while its peers are awaited */
    record pending_call;
    int pending_bound;
    int32_t pending_before;
    size_t graph_call;
    int64_t graph_ready;
    int32_t graph_first;
    uint32_t open[64];
    uint8_t open_list[64];           /* 0, 1: host[]; 2: python */
    int32_t spans[64][STREAM_COUNT]; /* an open annotation's GPU span by stream, or -1 */
    int depth;
    records host[2], python, device_records, annotations;
    int32_t waited[2]
                  [STREAM_COUNT]; /* by thread: GPU events waited for since its last operator began, or -1 */
    output out;
    struct execution *execution; /* NULL: none is written */
    truth_rank *truth;
} rank_state;

typedef struct {
    int rank;
    int step;
    int64_t ns;
} stall;

/* A rank's clock beside its offset: see clock_of. */
typedef struct {
    int64_t drift;                 /* host clock: ns a second, which is a thousandth of a ppm */
    int64_t gpu_offset, gpu_drift; /* the device's clock against the host's */
    int64_t step_at, step;         /* set once: ns after the start, by so much */
} rank_clock;

/* Ends of a rank's collectives of one kind of group come late. */
typedef struct {
    int rank, kind;
    int64_t mean, spread; /* ns */
} end_skew;

/* Transfers between two ranks, or in a group that has both, take so many thousandths of their time. */
typedef struct {
    int a, b;
    int64_t factor;
} slow_link;

/* Work of kernels whose name contains text takes so many thousandths of its time. */
typedef struct {
    const char *text;
    int64_t factor;
} kernel_scale;

typedef struct {
    const char *directory, *truth_path, *execution;
    int dp, tp, pp, layers, micro_batches, hidden, tokens, first_step, only_rank, unlinked;
    int hang, leak; /* the rank that does, or -1 */
    int64_t steps, size;
    uint64_t seed;
    int *factors;
    int64_t *offsets;
    stall *stalls;
    size_t stall_count;
    rank_clock *clocks;
    end_skew *skews;
    size_t skew_count;
    int hosts;            /* 0: every rank has a clock of its own */
    int64_t stamp_jitter; /* ns */
    int64_t mislabel;     /* pairs of neighbouring numbers that are swapped, in thousandths of a percent */
    int64_t eager;        /* bytes up to which a send does not wait for its receiver */
    /* twins: what changes durations alone. Factors in thousandths */
    kernel_scale *scales;
    size_t scale_count;
    int *host_factors;   /* by rank */
    int network[4];      /* by GROUP_...: what depends on the size of a message is so many times as fast */
    int contention;      /* computation that starts while its rank communicates */
    int64_t launch_cost; /* ns more a launching call */
    int queue;           /* launches that a stream holds, at most QUEUE_LIMIT */
    bool no_loader;
    /* faults */
    slow_link *links;
    size_t link_count;
    stall *pauses;
    size_t pause_count;
    int *stage_factors; /* by stage */
    int alloc_every;    /* 0: never */
    int item_every;
    int64_t late_launch; /* ns behind each read of a value */
    int elementwise;     /* pairs of kernels behind each layer of the forward */
    bool fused;          /* ... each pair is one kernel */
    int eval_every;
    int64_t bucket;  /* bytes of gradients that are reduced together; 0: each layer's */
    bool no_overlap; /* computation waits for each reduction of gradients */
    bool interleave; /* a pipeline's stages do one forward, one backward */
    bool no_annotations, rename_groups;
    bool pageable;
    bool efficiency; /* products lose efficiency as they get smaller */
    /* runs of one job. Spreads and shares in thousandths of a percent, factors and memory in thousandths */
    int64_t run, run_noise, step_noise, step_memory, warm_up_steps, warm_up, outliers, outlier;
    bool graph, rocm, python, no_sync, no_steps, no_shapes, no_truth;
} options;

typedef struct {
    options opt;
    int ranks;
    rank_state *rank;
    group *groups;
    size_t group_count;
    template *templates;
    size_t template_count, template_capacity;
    int32_t *template_index;
    size_t template_buckets;
    int step_call; /* templates that the simulation itself needs */
    int call_record, call_wait, call_sync_stream, call_sync_event, call_sync_device, call_graph, call_free,
        call_malloc;
    int sync_wait, sync_event, sync_stream, sync_context;
    int left_over;
    int64_t epoch; /* first instant on the job's clock */
    int64_t step;  /* number of the step under way, from 0 */
    int64_t last_step;
    int64_t pace; /* of the step under way, parts in a million */
    int pass;     /* 0: host text; 1: device text and truth */
    struct truth *truth;
} job;

/* memory.c: allocation that ends the program with a message when there is none, and the generator of numbers
 */
void *take_memory(size_t bytes);
void *grow(void *items, size_t *capacity, size_t wanted, size_t item_size);
_Noreturn void fail(const char *format, ...);
#define RANDOM_STRIDE 0x9e3779b97f4a7c15u /* from one state of the generator to the next */
uint64_t mix(uint64_t value);
uint64_t random_next(uint64_t *state);
int64_t random_below(uint64_t *state, int64_t limit);
int64_t jitter(uint64_t *state, int64_t base, int low, int high); /* base scaled by a number of thousandths */

/* options.c */
void options_read(job *j, int count, char **words);
void options_free(options *o);

/* templates.c */
int template_get(job *j, category cat, int class, const char *name, const char *args);
void templates_free(job *j);

/* model.c and layers.c */
typedef struct builder builder;
void model_build(job *j);
void model_free(job *j);
int stream_number(const job *j, int stream);
const char *group_description(const job *j, const group *g);
bool is_unseen(const job *j, int32_t template_number); /* an annotation, where none are recorded */

/* clock.c: what a rank's clock shows at a moment of the job's clock. gpu: the device's. */
int64_t clock_of(const job *j, const rank_state *r, int64_t time, bool gpu);
/* What is stamped on one GPU event: the clock and its jitter. */
int64_t stamp_of(const job *j, const rank_state *r, int64_t time);
int64_t skew_of(const job *j, const rank_state *r, size_t group_index, int64_t sequence);
bool is_mislabelled(const job *j, int rank, size_t group_index, int64_t sequence);

/* sim.c */
void sim_reset(job *j, int pass);
void sim_step(job *j);

/* execution.c: the execution trace beside the Kineto trace; `step` writes that of the present step */
void execution_open(job *j, rank_state *r);
void execution_step(job *j, rank_state *r);
void execution_close(job *j, rank_state *r);

/* emit.c and frame.c */
void emit_open(job *j, rank_state *r, const char *path, bool measure);
void emit_step(job *j, rank_state *r);
void emit_header(job *j, rank_state *r);
void emit_footer(job *j, rank_state *r);
void emit_close(rank_state *r);
void output_open(output *o, const char *path);
void output_close(output *o);
void out_flush(output *o);
char *out_reserve(output *o, size_t wanted);
void out_text(output *o, const char *text, size_t length);
void out_format(output *o, const char *format, ...) __attribute__((format(printf, 2, 3)));
char *put_text(char *to, const char *text, size_t length);
char *put_int(char *to, int64_t value);
char *put_time(char *to, int64_t ns); /* microseconds with three decimals */
#define PUT(to, literal) put_text(to, "" literal, sizeof(literal) - 1)

/* dumps.c: flight-recorder dumps and memory snapshots, where they were asked for. */
void dumps_write(const job *j);
