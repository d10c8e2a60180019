/* Writing a rank's program: what its host does in one step, in order. */
#pragma once

#include "synth.h"

/* Options that add instructions. Each kind draws from numbers of its own. */
enum {
    APART_NONE,
    APART_FRAMES,
    APART_GRAPH,
    APART_ALLOC,
    APART_ITEM,
    APART_OVERLAP,
    APART_BUCKET,
    APART_LATE,
    APART_ELEMENTWISE,
    APART_COUNT
};

struct builder {
    job *j;
    rank_state *r;
    program *code;
    bool first_stage, last_stage;
    int phase, micro_batch, layer;
    int64_t gradients;            /* elements that wait for their bucket to be full */
    int apart;                    /* APART_...: what is added is an option's; 0: the plain job's */
    uint32_t aparts[APART_COUNT]; /* how many instructions of each kind there are */
};

/* An argument of an operator as "Input Dims" and its kin show it: dims < 0 is a scalar with its value. */
typedef struct {
    int dims;
    int64_t size[4];
    const char *value;
} argument;

#define TENSOR1(a) ((argument){1, {a}, NULL})
#define TENSOR2(a, b) ((argument){2, {a, b}, NULL})
#define TENSOR3(a, b, c) ((argument){3, {a, b, c}, NULL})
#define TENSOR4(a, b, c, d) ((argument){4, {a, b, c, d}, NULL})
#define SCALAR(text) ((argument){-1, {0}, text})
#define ABSENT ((argument){-2, {0}, NULL})

instruction *add(builder *b, action what);
void push(builder *b, category cat, const char *name, const char *args, int slot);
void pop(builder *b, int levels);
void host(builder *b, int64_t ns);
void frame_push(builder *b, const char *name); /* a python frame, when they are recorded */
void frame_pop(builder *b, int levels);

/* Opens an operator with its arguments' shapes. */
void op_push(builder *b, const char *name, int slot, int count, const argument *arguments);

/* Launches on the compute stream; work is the kernel's time in ns at full speed. */
void launch(builder *b, const char *name, int64_t work, int64_t blocks, int threads);
void launch_driver(builder *b, const char *name, int64_t work, int64_t blocks, int threads);
void copy(builder *b, bool to_device, int stream, int64_t bytes);
void clear(builder *b, int64_t bytes);
void allocate(builder *b); /* memory is given back, which waits for the device, and taken again */
void record_event(builder *b, int stream, int event);
void wait_event(builder *b, int stream, int event);

enum { COLLECTIVE_ALL_REDUCE, COLLECTIVE_SEND, COLLECTIVE_RECV };
/* An operator with its NCCL kernel; when wait is true the compute stream waits for it. */
void collective(builder *b, int kind, int group, int64_t elements, bool wait);

/* schedule.c */
void training_passes(builder *b);
void reduce_gradients(builder *b, int at, int64_t elements, bool last);

/* layers.c */
void read_value(builder *b); /* .item(): the host waits for the compute stream */
int layers_here(const builder *b);
void forward_layers(builder *b, int micro_batch);
void backward_layers(builder *b, int micro_batch, bool last); /* last: gradients are complete then */
void optimizer_step(builder *b);
int64_t gemm_time(const builder *b, int64_t m, int64_t n, int64_t k);
int find_group(const builder *b, int kind, int peer);

enum { EVENT_COPY, EVENT_COMPUTE, EVENT_COMM, EVENT_DP, EVENT_STEP };
#define TOKENS ((int64_t)b->j->opt.tokens)
