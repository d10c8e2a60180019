/* The dumps of one job in memory: entries as fixed rows, everything that repeats (calls, stacks, groups) by
 * number. */
#pragma once

#include "base/memory.h"
#include "base/strings.h"
#include "rankscope/flight.h"

#define RS_FL_NONE UINT32_MAX
#define RS_FL_UNKNOWN INT64_MIN /* a sequence number or count that is not known */

typedef enum rs_fl_state { RS_FL_SCHEDULED, RS_FL_STARTED, RS_FL_COMPLETED, RS_FL_NO_STATE } rs_fl_state;

const char *rs_fl_state_name(rs_fl_state state);

/* One recorded operation. */
typedef struct rs_fl_entry {
    int64_t record_id;
    int64_t created, started, completed; /* ns; 0 when unknown */
    double duration_ms;                  /* NaN when unknown */
    int64_t seq, p2p_seq, op_id;
    uint32_t call, stack, group, thread;
    int32_t pg_id, timeout_ms;
    uint8_t state; /* rs_fl_state, raised by pg_status where that knows more */
    bool retired, is_p2p, marker;
} rs_fl_entry;

/* What an operation does with sizes. */
typedef enum rs_fl_kind {
    RS_FL_UNKNOWN_OP,
    RS_FL_ALL_REDUCE,
    RS_FL_BROADCAST,
    RS_FL_REDUCE,
    RS_FL_ALL_GATHER,
    RS_FL_REDUCE_SCATTER,
    RS_FL_GATHER,
    RS_FL_SCATTER,
    RS_FL_ALL_TO_ALL,
    RS_FL_NO_DATA, /* barrier, split, new_window: the name only */
    RS_FL_MARKER,  /* the end of a coalesced batch */
    RS_FL_SEND,
    RS_FL_RECV
} rs_fl_kind;

/* What was called: equal calls have equal numbers, so that comparing ranks is comparing numbers. */
typedef struct rs_fl_call {
    uint32_t name; /* text: "nccl:all_reduce" */
    uint32_t op;   /* text: "all_reduce", "send" */
    uint8_t kind;
    int32_t src, dst;               /* point-to-point: ranks inside the group; -1 */
    uint32_t in_dtype, out_dtype;   /* text: the set of types, "" when none */
    uint32_t in_dtypes, out_dtypes; /* text: as listed */
    uint32_t in_sizes, out_sizes;   /* text: "[[4, 8], [2]]" */
    uint32_t n_in, n_out;           /* tensors */
    int64_t in_numel, out_numel;    /* elements over all tensors, saturating */
} rs_fl_call;

typedef struct rs_fl_frame {
    uint32_t name, file; /* texts */
    int64_t line;
} rs_fl_frame;

typedef struct rs_fl_stack {
    uint32_t first, n; /* in stack_frames */
    uint32_t text;     /* RS_FL_NONE until asked for */
} rs_fl_stack;

/* Which part of a rank's record its dump holds. */
typedef enum rs_fl_shape {
    RS_FL_FULL,        /* everything since the start */
    RS_FL_RING,        /* the newest entries */
    RS_FL_ACTIVE,      /* only what was not completed: what is not there is completed or was never issued */
    RS_FL_STATUS_ONLY, /* no entries though work is open */
    RS_FL_ISSUE_ONLY,  /* the recorder was never told of a completion */
    RS_FL_N_SHAPES
} rs_fl_shape;

/* What the numbers of a pg_status count. Recorders store the number of their newest work, and not all number
 * it alike. */
typedef enum rs_fl_counts {
    RS_FL_COUNTS_UNKNOWN,
    RS_FL_COUNTS_COLLECTIVES,
    RS_FL_COUNTS_P2P,
    RS_FL_COUNTS_OPS
} rs_fl_counts;

/* A rank's part in one group. */
typedef struct rs_fl_member {
    uint32_t group, rank;      /* indexes */
    uint32_t slot;             /* index in the group's members, RS_FL_NONE when it is not among them */
    uint32_t begin, n;         /* collectives, in rank->order */
    uint32_t p2p_begin, n_p2p; /* point-to-point, in rank->order */
    uint32_t desc;             /* text: what this rank calls it, RS_FL_NONE when it does not say */
    bool configured;           /* in this rank's pg_config */
    int64_t pg_id;
    int64_t enqueued, began, done; /* pg_status as written; RS_FL_UNKNOWN when there is none */
    uint8_t counts;                /* rs_fl_counts: what these three numbers count */
    int64_t issued_seq,
        done_seq; /* the newest collective that pg_status proves to be issued, and completed; RS_FL_UNKNOWN */
    int64_t first_seq, last_seq; /* of the retained collectives; RS_FL_UNKNOWN when there are none */
} rs_fl_member;

typedef struct rs_fl_rank {
    int64_t rank;
    char *file;
    const char *rule;          /* how the rank was told: static text */
    int major, minor;          /* of the dump's version, -1 unknown */
    uint32_t version, library; /* texts */
    bool cut;                  /* the dump is truncated: its newest entries are lost */
    bool wrapped;              /* the ring has lost its oldest entries */
    bool filtered;             /* record ids have gaps: only some of the entries were dumped */
    bool has_entries;          /* an entries key was there */
    bool unread;               /* nothing of what it called could be read */
    bool nameless; /* its pg_config describes one of several groups without its name, which says nothing */
    uint8_t shape; /* rs_fl_shape */
    struct rs_fl_loose {
        int64_t enqueued, done;
    } * loose; /* statuses that are joined to no group */
    uint32_t n_loose;
    bool status_work, status_open, status_done; /* some pg_status shows work; unfinished work; a completion */
    uint32_t n_comms;                           /* communicators described by nccl_comm_state */
    rs_fl_entry *entries;
    size_t n;
    uint32_t *order; /* entry numbers by group: collectives by seq, then point-to-point by record */
    rs_fl_member *members;
    size_t n_members;
    int64_t clock;  /* estimated offset of its clock against the job's median, ns */
    int64_t newest; /* newest stamp, own clock; 0 none */
} rs_fl_rank;

typedef struct rs_fl_group {
    uint32_t uid, desc; /* texts; desc RS_FL_NONE when unknown */
    bool described;     /* some dump lists its members */
    bool conflict;      /* dumps disagree about it */
    int64_t *ranks;     /* members as written */
    uint32_t *index;    /* their rank index, RS_FL_NONE without a dump */
    size_t n;
    bool mixed;               /* collectives and point-to-point operations share its numbers */
    bool ops_equal;           /* all its entries have op_id = collective_seq_id */
    int64_t op_base, op_step; /* op_id of collective q is op_base + q * op_step; op_step 0: no such rule */
    uint32_t *sorted;         /* slots by ascending rank */
    uint32_t first_member, n_members; /* in rs_flight.by_group: members with dumps, by slot */
} rs_fl_group;

/* What is known of a rank besides its dump: a live job's answers, the log's map of hosts. */
typedef struct rs_fl_note {
    int64_t rank;
    uint32_t host, address; /* texts; RS_FL_NONE unknown */
    uint32_t stack;         /* of its main thread; 0 none */
    uint32_t stack_file;    /* text: the file that holds it; RS_FL_NONE: no file of its own */
    uint32_t title;         /* text: of a serving engine's process; RS_FL_NONE of others */
    int64_t stack_line;     /* of that file */
    bool no_traceback;      /* it answers, but not for its Python stack */
    bool collecting;        /* its main thread collects garbage */
    uint32_t failure;       /* text: why it does not answer; RS_FL_NONE when it does */
    int64_t since_ns;       /* how long its main stack has been the same, at least; 0 unknown */
} rs_fl_note;

struct rs_flight {
    rs_flight_settings settings;
    rs_problems problems;
    rs_job_stats stats; /* of the files read; entries are counted when it is asked for */
    rs_strings texts;
    rs_strings call_keys, stack_keys, frame_keys, group_keys;
    rs_map64 member_texts; /* ranks text as written -> canonical text + 1 */
    rs_fl_call *calls;
    size_t n_calls, calls_capacity;
    rs_fl_frame *frames;
    size_t n_frames, frames_capacity;
    rs_fl_stack *stacks; /* 0 is the empty one */
    size_t n_stacks, stacks_capacity;
    uint32_t *stack_frames;
    size_t n_stack_frames, stack_frames_capacity;
    rs_fl_group *groups;
    size_t n_groups, groups_capacity;
    rs_fl_rank *ranks; /* ascending */
    size_t n_ranks, ranks_capacity;
    rs_fl_member **by_group;
    struct rs_fl_log *log;               /* NULL when none was given */
    struct rs_fl_ras *ras;               /* NCCL RAS reports; NULL when there are none */
    struct rs_fl_inspector *inspector;   /* NCCL Inspector's records; NULL when there are none */
    struct rs_fl_prometheus *prometheus; /* series of DCGM; NULL when there are none */
    struct rs_fl_machine_tests *tests;   /* NULL when there are none */
    struct rs_fl_periodic *periodic;     /* the periodic dumper's tables; NULL when there are none */
    struct rs_fl_thread *threads;        /* of all ranks whose stacks were read */
    size_t n_threads, threads_capacity;
    rs_fl_note *notes; /* by ascending rank */
    size_t n_notes, notes_capacity;
    size_t n_stack_files, n_engines; /* files with stacks, and those of engines among them */
    int64_t *unusable;               /* ranks whose dump exists but could not be read, ascending */
    size_t n_unusable, unusable_capacity;
    size_t n_unusable_files;
    struct rs_fl_p2p *p2p; /* by group, built on first need */
    rs_arena arena;        /* texts and lists of the report */
    rs_flight_report report;
    bool moving; /* snapshots show that the job goes on */
    bool timed;  /* starts are recorded: `scheduled` means not started */
    bool have_report;
};

/* ---- one dump, before it joins the job ---------------------------------------------------------------- */

/* Numbers in a draft are its own; rs_fl_merge turns them into the job's. */
typedef struct rs_fl_draft {
    rs_fl_rank rank;
    rs_strings texts;
    rs_strings call_keys;  /* 32-bit words: name, in dtypes, out dtypes, sizes (see dump.c) */
    rs_strings frame_keys; /* name, file, line low, line high */
    rs_strings stack_keys; /* frame numbers */
    struct rs_fl_draft_group {
        uint32_t uid, desc, members; /* texts; members RS_FL_NONE when pg_config has no such uid */
        bool configured;
    } * groups, nameless; /* nameless: the description that names no group */
    size_t n_groups, groups_capacity;
    struct rs_fl_draft_status {
        int64_t pg_id, enqueued, began, done;
    } * status;
    size_t n_status, status_capacity;
    size_t entries_capacity;
} rs_fl_draft;

void rs_fl_draft_clear(rs_fl_draft *draft);

/* Takes over the draft's entries; the draft is to be cleared afterwards. */
rs_status rs_fl_merge(rs_flight *flight, rs_fl_draft *draft, rs_error *err);

/* Once all dumps are in: sorts ranks, resolves groups, orders entries by group, lifts states by pg_status. */
rs_status rs_fl_index(rs_flight *flight, rs_error *err);

/* ---- reading ------------------------------------------------------------------------------------------ */

typedef struct rs_fl_reader rs_fl_reader; /* scratch memory, one a thread */
rs_fl_reader *rs_fl_reader_create(void);
void rs_fl_reader_free(rs_fl_reader *reader);

/* Reads one dump from memory, pickle or JSON by its first bytes. *usable says whether it holds anything to
 * work with; what is wrong with it goes to problems under `file` and `rank`. Only running out of memory is an
 * error. */
rs_status rs_fl_read_dump(rs_fl_reader *reader, const uint8_t *bytes, size_t n, const char *file,
                          int64_t rank, rs_fl_draft *draft, bool *usable, rs_problems *problems,
                          rs_error *err);

/* Parses "[0, 1, 2]", quoted any number of times. false when it is anything else. *ranks is allocated. */
bool rs_fl_parse_ranks(const char *text, size_t n, int64_t **ranks, size_t *n_ranks, bool *nomem);

/* ---- small accessors ---------------------------------------------------------------------------------- */

static inline const char *rs_fl_text(const rs_flight *flight, uint32_t id)
{
    return id == RS_FL_NONE ? NULL : flight->texts.items[id].text;
}

static inline const rs_fl_call *rs_fl_call_of(const rs_flight *flight, const rs_fl_entry *entry)
{
    return &flight->calls[entry->call];
}

/* The slot of a global rank in a group, RS_FL_NONE when it is no member. O(log n). */
uint32_t rs_fl_slot_of(const rs_fl_group *group, int64_t rank);
/* The rank's part in a group, NULL when it has none. O(its groups). */
const rs_fl_member *rs_fl_member_of(const rs_flight *flight, uint32_t rank, uint32_t group);
/* The index of a global rank, RS_FL_NONE without a dump. O(log n). */
uint32_t rs_fl_rank_index(const rs_flight *flight, int64_t rank);

/* What is noted of a rank, NULL when nothing is. */
const rs_fl_note *rs_fl_note_of(const rs_flight *flight, int64_t rank);
/* The same, made when it is not there; NULL when out of memory. Valid until the next is made. */
rs_fl_note *rs_fl_note_put(rs_flight *flight, int64_t rank);
/* Its host, NULL unknown. */
const char *rs_fl_host_of(const rs_flight *flight, int64_t rank);

/* A printf into the flight's arena; NULL when out of memory. */
char *rs_fl_print(rs_flight *flight, const char *format, ...) RS_PRINTF(2, 3);
