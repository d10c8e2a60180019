/* A training job in small: a random SPMD program over nested TP x PP x DP groups is run on a model of hosts,
 * GPU streams and clocks, with one fault, and each rank's flight recorder is written in the real formats. The
 * truth is known because the fault was made here. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum sim_fault {
    SIM_NONE,
    SIM_HOST_STOP, /* a host stops issuing */
    SIM_CRASH,     /* the same, and it leaves no dump */
    SIM_TYPE,      /* one rank calls another collective */
    SIM_SIZE,      /* ... with another size */
    SIM_DTYPE,     /* ... with another element type */
    SIM_GPU_BLOCK, /* a GPU never reaches an operation that its host issued */
    SIM_NETWORK,   /* everybody joins, nothing moves */
    SIM_HALF_DONE, /* everybody else completes */
    SIM_P2P_SIZE,
    SIM_P2P_DEADLOCK, /* both ends receive */
    SIM_CROSS_ORDER,  /* one rank issues collectives of two groups the other way round */
    SIM_STRAGGLER,
    SIM_N_FAULTS,                 /* those of the kind simulator */
    SIM_TWO_STOPS = SIM_N_FAULTS, /* two hosts stop */
    SIM_STOP_AND_STALL,           /* one host stops, another's GPU stands still */
    SIM_ALL_FAULTS
} sim_fault;

const char *sim_fault_name(sim_fault fault);

/* Which part of the record the dumps hold. */
typedef enum sim_shape {
    SIM_AS_DRAWN,
    SIM_FULL,
    SIM_RING,
    SIM_ACTIVE,
    SIM_HOOK,
    SIM_ISSUE_ONLY,
    SIM_N_SHAPES
} sim_shape;
const char *sim_shape_name(sim_shape shape);

typedef struct sim_settings {
    uint64_t seed;
    sim_fault fault;
    unsigned tp, pp, dp;    /* 0: random */
    unsigned steps, layers; /* 0: random */
    unsigned ring;          /* entries a recorder keeps; 0: random */
    int clock_ms;           /* hosts' clocks differ by up to this; -1: random */
    int json;               /* 0 pickle, 1 JSON, -1: random, may be mixed */
    bool unkind;            /* with all that real jobs and real dumps have; see sim.c */
} sim_settings;

enum {
    SIM_ALL_REDUCE,
    SIM_ALL_GATHER,
    SIM_REDUCE_SCATTER,
    SIM_ALL_TO_ALL,
    SIM_BROADCAST,
    SIM_BARRIER,
    SIM_SEND,
    SIM_RECV,
    SIM_MARK
};

/* One record. A batch is several records with one p2p or collective number, and an end mark. */
typedef struct sim_op {
    uint8_t kind, dtype, state; /* state: 0 scheduled, 1 started, 2 completed */
    bool p2p, more, async;      /* more: the next record belongs to the same launch; async: what follows
                                   on the rank does not wait for it */
    int16_t src, dst;           /* inside the group */
    uint32_t group, numel, seq, p2p_seq, place; /* place: which source line */
    uint32_t ordinal;                           /* of the send or receive in its ordered pair */
    int64_t created, started, completed;
} sim_op;

typedef struct sim_group {
    char uid[24];
    char desc[24];
    unsigned *ranks, n;
    int timeout_ms;
    uint32_t seq_base, op_base; /* added to numbers when they are written */
    /* while running */
    size_t *at; /* by member: the operation it has arrived with; SIZE_MAX none */
    unsigned arrived;
    uint32_t seq;
    int64_t ready;
} sim_group;

typedef struct sim_rank {
    sim_op *ops;
    size_t n, capacity;
    size_t host, gpu; /* next to be issued, at the head of the stream */
    size_t stop_host; /* issues nothing from here on */
    size_t block_gpu; /* never starts this one */
    int64_t host_ns, gpu_ns, clock_ns, slow_ns;
    uint32_t groups[4], n_groups;
    bool at_head, lost;
    size_t first_pending; /* no operation before it runs asynchronously */
    uint32_t p2p_base, record_base;
} sim_rank;

typedef struct sim_job {
    sim_settings s;
    uint64_t rng;
    unsigned tp, pp, dp, world, window;
    sim_group *groups;
    uint32_t n_groups;
    sim_rank *ranks;
    struct sim_pair {
        uint32_t sends, recvs;
    } * pairs;         /* by group and ends: started so far */
    bool bare_batches; /* as real recorders: inside a batch nothing is ever marked completed */
    bool shared_uids, timing;
    bool timed; /* starts are recorded */
    bool mixed; /* collectives and transfers in one group */
    bool async_sends, async_grads, uneven, hashed, holes, no_frames;
    unsigned op_step; /* of the hook's counter */
    int version;      /* minor */
    /* the truth */
    sim_fault fault;
    unsigned guilty, partner;
    unsigned second;                /* of two faults */
    bool first_waited, both_waited; /* whether others wait for the first, for both, of two that stopped */
    uint32_t fault_group, fault_seq;
    bool fatal; /* a mismatch that hangs, rather than passing unnoticed */
} sim_job;

/* Makes and runs a job; false when memory runs out or the fault finds no place in the program. */
bool sim_run(sim_job *job, const sim_settings *settings);
void sim_free(sim_job *job);
uint64_t sim_random(sim_job *job);

/* Writes one file a rank that is not lost; false on an I/O error. */
bool sim_write(const sim_job *job, const char *directory);
/* The same in one shape, as real recorders write it. cut_ns: as it stood then (0: at the end). */
bool sim_write_shape(const sim_job *job, sim_shape shape, int64_t cut_ns, const char *directory);

/* sim_sources.c: what a cluster writes of the same job. RAS as it was at a moment (INT64_MAX: of the hang); the log with that rank
 * at fault and its clock off by so much. */
bool sim_write_ras(const sim_job *job, int64_t until, const char *directory);
bool sim_write_log(const sim_job *job, unsigned guilty, int64_t shift_ns, const char *directory);
bool sim_write_inspector(const sim_job *job, int64_t shift_ns, const char *directory);
bool sim_write_metrics(const sim_job *job, unsigned xid_of, int64_t shift_ns, const char *directory);
bool sim_write_stacks(const sim_job *job, const char *directory);

/* Whether a rank's host stopped with everything completed that it issued. */
bool sim_is_silent(const sim_job *job, unsigned rank);
/* Whether a rank has an operation open that others of its group have completed. */
bool sim_is_stalled(const sim_job *job, unsigned rank);
/* A moment in the middle of the run. */
int64_t sim_middle(const sim_job *job);
