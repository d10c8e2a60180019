/* A job's log: who said what, when, and which of it can be a cause. Internal to src/packs/flight. */
#pragma once

#include "flight/causation.h"
#include "input/source.h"

/* Kinds, the deepest cause first: what is nearer to the machine explains what is farther. */
typedef enum rs_fl_event_kind {
    RS_FL_EV_XID,
    RS_FL_EV_SXID,
    RS_FL_EV_ECC,
    RS_FL_EV_PCIE_ERROR,
    RS_FL_EV_AMDGPU,
    RS_FL_EV_HOST_OOM,
    RS_FL_EV_NODE_FAILURE,
    RS_FL_EV_CUDA_ERROR,
    RS_FL_EV_CUDA_OOM,
    RS_FL_EV_NETWORK,
    RS_FL_EV_SEGFAULT,
    RS_FL_EV_EXCEPTION,
    RS_FL_EV_GIL,
    RS_FL_EV_CANCELLED,
    RS_FL_EV_NCCL_ERROR,
    RS_FL_EV_KILLED,
    RS_FL_EV_EXIT,
    RS_FL_EV_UNREACHABLE,
    /* what a hang does to everybody */
    RS_FL_EV_TIMEOUT,
    RS_FL_EV_HEARTBEAT,
    RS_FL_EV_ABORT,
    RS_FL_EV_STORE,
    RS_FL_EV_SIGNAL,
    RS_FL_EV_ABORTED,
    /* how far a rank is */
    RS_FL_EV_BEHIND,
    RS_FL_EV_ELSEWHERE,
    /* what makes a rank or a link slow */
    RS_FL_EV_LATE,
    RS_FL_EV_PLACE, /* where its host is */
    RS_FL_EV_THROTTLED,
    RS_FL_EV_PCIE,
    RS_FL_EV_NVLINK,
    RS_FL_EV_SLOW_LINK,
    RS_FL_EV_COMPILED,
    /* neither */
    RS_FL_EV_FIRST_DUMP,
    RS_FL_EV_LEVEL, /* a source sees nothing wrong */
    RS_FL_N_EVENTS
} rs_fl_event_kind;

/* A position says which rank the others wait for, not why. A condition makes it slow. */
typedef enum rs_fl_role {
    RS_FL_ORIGIN,
    RS_FL_CONSEQUENCE,
    RS_FL_REMARK,
    RS_FL_POSITION,
    RS_FL_CONDITION
} rs_fl_role;

const char *rs_fl_event_kind_name(rs_fl_event_kind kind);
rs_fl_role rs_fl_event_role(rs_fl_event_kind kind);

/* Whom a line belongs to, as far as it says. -1 and RS_FL_NONE: it does not. */
typedef struct rs_fl_speaker {
    int64_t rank;             /* [rankN]: */
    int64_t task, local, pid; /* srun -l, [defaultL]:, host:pid:tid */
    int64_t group_rank;       /* "Rank N]" inside the group of `guid` */
    uint32_t host, guid;      /* texts */
} rs_fl_speaker;

struct rs_fl_event {
    rs_fl_speaker who;
    int64_t rank; /* once resolved; -1 unknown */
    int64_t task; /* the first that srun names; -1: none */
    uint32_t host;
    uint8_t kind, role;
    uint8_t from;   /* rs_flight_file: the source that says it */
    bool settled;   /* of a position: it holds for a job that does not move, not for one moment */
    bool by_hook;   /* torch's own hook printed it: the process ended by it */
    bool fatal;     /* an exception that ended its rank */
    bool step_only; /* of a whole step or host: no rank is named */
    bool yearless;
    int64_t time_ns; /* 0 unknown; without a year: since the beginning of 1972, a leap year */
    int64_t code;    /* INT64_MIN none */
    uint32_t exception, text, where, pci;
    uint32_t group; /* text: uid */
    int64_t seq, enqueued, completed;
    uint32_t file; /* text */
    int64_t line;
    uint64_t source; /* whose lines these are, for what follows them */
    size_t mark;     /* of its line, + 1; 0 none */
    int64_t attempt; /* of torchrun to run the job, from 0; -1 unknown */
    bool past;       /* of an attempt that is not judged: torchrun started the job again after it */
};

/* NCCL's start lines: where each rank sits. */
typedef struct rs_fl_seat {
    uint32_t host;
    int64_t pid, rank, n_ranks, device;
    uint64_t bus; /* PCI bus and device, without domain */
    size_t file;  /* of the log's files */
} rs_fl_seat;

/* What a line tells of torchrun's attempts to run the job. Each node has an agent, which watches its ranks. */
typedef enum rs_fl_mark_kind {
    RS_FL_MARK_NONE,
    RS_FL_MARK_STOPS,    /* the agent ends one of its ranks */
    RS_FL_MARK_FAILED,   /* a rank of the agent ended with an exit code: the agent's ranks are gone */
    RS_FL_MARK_RESTARTS, /* the agent says that it starts the ranks again */
    RS_FL_MARK_STARTS,   /* the agent starts the ranks, for the first time or again */
    RS_FL_MARK_PLACE,    /* number: the agent's first rank */
    RS_FL_MARK_FINISHED, /* all ranks of the agent ended well */
    RS_FL_MARK_GAVE_UP,  /* an agent ends with an error, or the scheduler says that it did */
    RS_FL_MARK_SIGNAL    /* number: an agent was told to end */
} rs_fl_mark_kind;
typedef struct rs_fl_mark {
    uint8_t kind;
    bool yearless, after_worker; /* a line of a rank stands between the mark before and this one */
    uint32_t file;               /* text */
    uint64_t agent;
    int64_t line, time_ns, pid, local, number; /* time_ns: 0 unknown; the others -1 */
    int64_t attempt, first_rank;               /* once found; first_rank: of its agent, -1 unknown */
} rs_fl_mark;
typedef struct rs_fl_log_file {
    uint32_t name;       /* text */
    int64_t n_lines;     /* in it */
    bool of_agent;       /* an agent of torchrun wrote into it: it is of several ranks */
    int64_t last_worker; /* the last line that neither an agent nor the scheduler wrote; 0 none */
} rs_fl_log_file;
typedef enum rs_fl_outcome {
    RS_FL_RESTARTED,
    RS_FL_FAILED,
    RS_FL_CUT_OFF, /* it failed, and the log ends there */
    RS_FL_FINISHED,
    RS_FL_ENDED_BY_SIGNAL,
    RS_FL_NO_FAILURE
} rs_fl_outcome;
typedef struct rs_fl_attempt {
    uint8_t outcome;
    int64_t signal;
    uint64_t n_lines;
    size_t failed; /* its first mark of a failure, + 1; 0 none */
} rs_fl_attempt;
const char *rs_fl_outcome_name(rs_fl_outcome outcome);

typedef struct rs_fl_log {
    rs_fl_event *events;
    size_t n, capacity;
    rs_fl_seat *seats;
    size_t n_seats, seats_capacity;
    uint32_t *hosts; /* texts, in the order of the seats */
    size_t n_hosts;
    uint32_t *dump_paths; /* texts */
    size_t n_dump_paths, dump_paths_capacity;
    rs_map64 tasks;      /* seen in front of lines */
    rs_map64 last_plain; /* by source: the last line that is no event, over all files */
    uint64_t n_lines;    /* of all files */
    int64_t world;       /* the largest communicator; 0 unknown */
    rs_fl_mark *marks;
    size_t n_marks, marks_capacity;
    rs_fl_log_file *files; /* in the order in which they were read */
    size_t n_files, files_capacity;
    rs_fl_attempt *attempts;
    size_t n_attempts;        /* at least 1 once the log is resolved */
    size_t judged;            /* the attempt that the verdict is about */
    rs_map64 foreign;         /* texts: files of another attempt, as their ranks are other processes there */
    const char *foreign_text; /* the proof of the first of them; NULL none */
} rs_fl_log;

/* Reads one log. RS_ERR_IO when it cannot be opened. */
rs_status rs_fl_read_log(rs_flight *flight, const char *path, rs_error *err);
rs_status rs_fl_read_log_from(rs_flight *flight, rs_source *from, rs_error *err);
/* The same from memory, for tests and fuzzing. */
rs_status rs_fl_read_log_bytes(rs_flight *flight, const void *bytes, size_t n, const char *name,
                               rs_error *err);
void rs_fl_log_clear(rs_fl_log *log);

/* One line in front of which everything is peeled off: appends what it tells. false when out of memory. */
typedef struct rs_fl_line {
    const char *text; /* n bytes; not terminated */
    size_t n;
    rs_fl_speaker who;
    bool hook; /* [rankN]: stood in front */
    bool stamped, yearless;
    int64_t time_ns;
    uint32_t file;
    int64_t line;
    uint64_t source;
} rs_fl_line;
typedef enum rs_fl_line_kind {
    RS_FL_LINE_PLAIN,
    RS_FL_LINE_EVENT,
    RS_FL_LINE_CONSEQUENCE,
    RS_FL_LINE_NOMEM
} rs_fl_line_kind;
rs_fl_line_kind rs_fl_read_event(rs_flight *flight, rs_fl_log *log, const rs_fl_line *line);
/* "2026-03-14 02:11:08", with or without a zone, as ns since 1970; 0 when it is none. */
int64_t rs_fl_time_of(const char *text, size_t n);
/* The ranks of the job, as far as logs and dumps tell. */
int64_t rs_fl_world_of(const rs_flight *flight);
/* The rank of a process by the log's lines of where ranks sit; the host's name may be written in another way. -1 unknown. */
int64_t rs_fl_rank_of_process(const rs_flight *flight, uint32_t host, int64_t pid);
/* An event with what the line tells of its speaker and time; NULL when out of memory. */
rs_fl_event *rs_fl_add_event(rs_fl_log *log, const rs_fl_line *line, rs_fl_event_kind kind);
/* Whether a text that ends a traceback is of another kind than an exception of the program. */
bool rs_fl_exception_kind(const char *text, size_t n, rs_fl_event_kind *kind);

/* attempts.c: the mark in a line. false when out of memory. *by_agent: an agent or the scheduler wrote it. */
bool rs_fl_read_mark(rs_fl_log *log, const rs_fl_line *line, bool *by_agent);
/* Which attempt each event belongs to, and how each ended. false when out of memory. */
bool rs_fl_find_attempts(const rs_flight *flight);
/* Chooses the attempt that is judged and marks the events of the others as past. */
void rs_fl_judge_attempt(const rs_flight *flight);

/* Once all logs and dumps are read: ranks of the events, years of their times, which exceptions were fatal.
 */
rs_status rs_fl_resolve_log(rs_flight *flight, rs_error *err);

/* log_find.c: the files of the dumps that the logs name; *paths has one prefix or none. */
rs_status rs_fl_find_named_dumps(rs_flight *flight, char **prefix, rs_error *err);
