/* Flight-recorder dumps: which rank made a job hang, in which collective, why, and where in its code.
 *
 * PyTorch keeps the last few thousand collectives of each rank in a ring and writes it out when a job hangs.
 * rs_flight_open reads the dumps of one job (pickle or JSON, any version, one rank each), rs_flight_report
 * matches them by group and sequence number, follows who waits for whom, and names the ranks nobody is waited
 * for by.
 *
 * Times are nanoseconds of the ranks' own unsynchronised clocks unless a name says otherwise. An rs_flight is
 * not thread-safe; several may be used side by side. Everything a function returns by pointer is owned by the
 * rs_flight and lives until rs_flight_close, tables excepted, which the caller frees. */
#ifndef RANKSCOPE_FLIGHT_H
#define RANKSCOPE_FLIGHT_H

#include "rankscope/job.h"
#include "rankscope/text.h"
#include "rankscope/table.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum rs_flight_verdict {
    RS_FLIGHT_HEALTHY,
    RS_FLIGHT_RANK_MISSING,         /* a rank with a dump never issued what others wait in */
    RS_FLIGHT_DUMP_MISSING,         /* others wait for a rank whose dump is missing or unusable */
    RS_FLIGHT_TYPE_MISMATCH,        /* ranks issued different operations under one sequence number */
    RS_FLIGHT_SIZE_MISMATCH,        /* the same operation on different numbers of elements */
    RS_FLIGHT_DTYPE_MISMATCH,       /* ... of different element types */
    RS_FLIGHT_STATE_MISMATCH,       /* all joined; some completed, the culprits did not */
    RS_FLIGHT_STUCK,                /* all joined, none completed: the transfer itself hangs */
    RS_FLIGHT_BLOCKED_BEFORE_START, /* all joined; the culprits' GPUs never reached it */
    RS_FLIGHT_P2P_SIZE_MISMATCH,
    RS_FLIGHT_P2P_ORDER,         /* sends of a pair are received in another order */
    RS_FLIGHT_P2P_DEADLOCK,      /* sends and receives wait for each other in a circle */
    RS_FLIGHT_CROSS_GROUP_ORDER, /* ranks use groups in different orders: a circle through collectives */
    RS_FLIGHT_STRAGGLER,         /* no hang; one rank is late repeatedly */
    RS_FLIGHT_BAD_CONFIG,        /* ranks disagree about a group, or use one that no dump describes */
    RS_FLIGHT_BAD_INPUT,         /* no dump was usable */
    RS_FLIGHT_CRASHED            /* by the job's log: a rank ended */
} rs_flight_verdict;

/* What is at the root of a hang. */
typedef enum rs_flight_root_kind {
    RS_FLIGHT_ROOT_NONE,
    RS_FLIGHT_ROOT_SILENT,     /* everything it issued is completed, and others wait for it */
    RS_FLIGHT_ROOT_STALLED,    /* others have completed what it has open: its GPU stands still */
    RS_FLIGHT_ROOT_BLOCKED,    /* its GPU has not reached what others wait in */
    RS_FLIGHT_ROOT_COLLECTIVE, /* all joined and none finished: no rank can be named */
    RS_FLIGHT_ROOT_MISMATCH,   /* it called something else */
    RS_FLIGHT_ROOT_DEADLOCK,   /* sends and receives in a circle */
    RS_FLIGHT_ROOT_ORDER,      /* groups used in another order */
    RS_FLIGHT_ROOT_NO_DUMP,    /* waited for, and it left no usable dump */
    RS_FLIGHT_ROOT_UNKNOWN,    /* waited for, and its dump does not tell */
    RS_FLIGHT_ROOT_SLOW,       /* the job moves; this rank is late repeatedly */
    RS_FLIGHT_ROOT_CRASHED,    /* by the job's log */
    RS_FLIGHT_ROOT_CONFIG      /* it sees a group otherwise than others */
} rs_flight_root_kind;
/* "silent", "stalled", ... Static text. */
RS_API const char *rs_flight_root_kind_name(rs_flight_root_kind kind);

/* "rank_missing", ...: the word that is in JSON. Static text. */
RS_API const char *rs_flight_verdict_name(rs_flight_verdict verdict);

typedef struct rs_flight rs_flight;

typedef enum rs_flight_file {
    RS_FLIGHT_FILE_OTHER,
    RS_FLIGHT_FILE_DUMP,
    RS_FLIGHT_FILE_LOG,
    RS_FLIGHT_FILE_RAS,          /* NCCL's RAS: `ncclras -f json`, or its text */
    RS_FLIGHT_FILE_INSPECTOR,    /* NCCL's Inspector plugin: lines of JSON */
    RS_FLIGHT_FILE_PROMETHEUS,   /* DCGM's metrics: the JSON of a query_range */
    RS_FLIGHT_FILE_STACKS,       /* Python stacks of a rank, by py-spy or faulthandler */
    RS_FLIGHT_FILE_COMPILE,      /* what torch.compile logs of a rank with TORCH_TRACE */
    RS_FLIGHT_FILE_MACHINE_TESTS /* tables of what GPUs and links reached in tests: docs/flight.md */
} rs_flight_file;
/* What a file is, by its name and the first n bytes of its text (unpacked; 4 KiB are enough). A log is a text whose name ends in
 * .log, .out or .err. */
RS_API rs_flight_file rs_flight_recognize(const char *path, const void *text, size_t n);

/* Plain bytes of a file, as it would be read. */
typedef struct rs_flight_bytes {
    const void *bytes;
    size_t n;
    int64_t rank;     /* of a dump */
    const char *name; /* represents the file's in messages */
} rs_flight_bytes;

/* What another analysis found about a rank, such as what `compile` finds in the logs of torch.compile. It adds to the proof of a
 * verdict that names the rank. */
typedef struct rs_flight_remark {
    int64_t rank;
    const char *text, *file; /* a sentence; the file that shows it */
} rs_flight_remark;

typedef struct rs_flight_settings {
    size_t size;             /* sizeof(rs_flight_settings): needed, so that the struct can grow */
    unsigned jobs;           /* threads that read dumps; 0: one for each core */
    uint64_t max_ratio;      /* text bytes per compressed byte; 0: 1000 */
    uint64_t max_file;       /* bytes of one dump after inflating; 0: 4 GiB */
    const char *prefix;      /* only files whose name contains it; the rank follows it. NULL: any file */
    bool allow_missing;      /* dumps that are not there are no fault by themselves */
    int64_t replica_size;    /* > 0: torchft. Ranks of "default_pg" count within replicas of that size */
    rs_progress_fn progress; /* files read and files in all; NULL: none */
    void *progress_context;
    const char *const *logs; /* the job's logs; NULL: none. They are read when the dumps are opened */
    size_t n_logs;
    int64_t now_ns;   /* the moment of a snapshot of a running job, ns since 1970; 0: the dumps are of a job
                         that hangs */
    int64_t stall_ns; /* of a snapshot: without an issue or a completion for so long the job hangs; 0: 30 s */
    rs_flight *previous; /* of a snapshot: the one before, which this one takes over when it opens (RS_OK,
                            RS_ERR_FORMAT); NULL */
    const rs_flight_bytes
        *evidence; /* texts other than dumps (NCCL RAS, logs), recognised by what they hold; NULL: none */
    size_t n_evidence;
    const char *
        history; /* a folder with records of earlier attempts (rs_flight_write_record), to compare this one with; NULL */
    const rs_flight_remark *compiled; /* findings of `compile`; NULL: none */
    size_t n_compiled;
} rs_flight_settings;

/* Reads the dumps under paths (files, directories with all below them, tar archives, RANK=PATH, the beginning
 * of names that end in a rank), packed or not, the logs among them and those of the settings. Without paths the dumps that the
 * logs name are looked for; when there are none, the logs alone are judged. Unusable files become problems,
 * not errors. Errors: RS_ERR_FORMAT when no dump was usable (the flight is still given out, so that its
 * problems can be shown), RS_ERR_AMBIGUOUS when two usable dumps claim one rank, RS_ERR_IO for a path that
 * cannot be opened, RS_ERR_NOMEM, RS_ERR_CANCELLED. The settings' strings are borrowed during the call. Cost:
 * linear in the bytes; memory about 100 bytes an entry. */
RS_API rs_status rs_flight_open(const char *const *paths, size_t n_paths, const rs_flight_settings *settings,
                                rs_flight **out, rs_error *err);
/* The same from memory: plain bytes of one dump a rank. Nothing is borrowed afterwards. */
RS_API rs_status rs_flight_open_bytes(const rs_flight_bytes *dumps, size_t n_dumps,
                                      const rs_flight_settings *settings, rs_flight **out, rs_error *err);

/* The names of the series (of dcgm-exporter) that a verdict uses, for a query_range of Prometheus; NULL after the last. Its answer
 * belongs to the settings' evidence. Experimental. */
RS_API const char *rs_flight_metric(size_t i);

/* What a running job's server answered to one question. */
typedef struct rs_flight_answer {
    const char
        *page;    /* the page ("fr_trace_nccl_json", "stacks") or the worker's handler ("dump_traceback") */
    int64_t rank; /* the worker's; -1: a page of the front end, with a block a rank */
    const char *address; /* "http://host:port" */
    int status;          /* of HTTP; 0: no answer came */
    bool timed_out;
    const char *failure; /* why no answer came, in a few words; NULL */
    const void *bytes;
    size_t n;
} rs_flight_answer;
/* Experimental. A snapshot of a running job from its servers' answers; settings->now_ns is the moment. A rank
 * that does not answer is evidence, not an error: RS_ERR_FORMAT only when no rank gave a record. Nothing is
 * borrowed afterwards. */
RS_API rs_status rs_flight_open_answers(const rs_flight_answer *answers, size_t n,
                                        const rs_flight_settings *settings, rs_flight **out, rs_error *err);
/* How many ranks' records describe anything: a process has several recorders, and all but one are empty. */
RS_API size_t rs_flight_count_records(const rs_flight_answer *answers, size_t n);
/* The workers that front-end pages name: ranks and "http://host:port". At most `room`; how many there are. */
#define RS_FLIGHT_ADDRESS 256
RS_API size_t rs_flight_list_workers(const rs_flight_answer *answers, size_t n, int64_t *ranks,
                                     char (*addresses)[RS_FLIGHT_ADDRESS], size_t room);

/* What was read: bytes of the dumps, packed and not, and their entries as events. NULL gives zeros. */
RS_API rs_job_stats rs_flight_get_stats(const rs_flight *flight);
/* Whether a worker's address that a front-end page names may be asked. A page could name any machine of the network, so only
 * "http://HOST:PORT" with a port from 1024 on is, and only a host that is the server's ("http://HOST[:PORT]"), or that one of
 * `allowed` names; there one * is any text ("node*"). */
RS_API bool rs_flight_may_ask(const char *address, const char *server, const char *const *allowed,
                              size_t n_allowed);

RS_API void rs_flight_close(rs_flight *flight); /* NULL is allowed */

/* One line of proof. */
typedef struct rs_flight_evidence {
    int64_t rank;      /* -1: about no one rank */
    int64_t record_id; /* the entry it speaks of, -1 if none */
    const char *text;  /* one sentence */
    const char *state; /* of that entry, NULL if none */
    uint32_t stack;    /* its frames: rs_flight_stack; 0 if none */
} rs_flight_evidence;

typedef struct rs_flight_finding {
    rs_flight_verdict verdict;
    const char *group;      /* uid, NULL if it concerns no one group */
    const char *group_desc; /* NULL if unknown */
    int64_t seq;            /* collective or p2p sequence number, -1 if none */
    bool p2p;
    const char *op;         /* "all_reduce", NULL if none */
    const int64_t *members; /* of the group, as written in the dumps */
    size_t n_members;
    const int64_t *culprits; /* global ranks, ascending */
    size_t n_culprits;
    size_t n_waiters;    /* ranks that wait for it, directly or through others */
    const char *summary; /* one sentence */
    const rs_flight_evidence *evidence;
    size_t n_evidence;
} rs_flight_finding;

/* Why a rank failed, as the job's log or its stack tells. */
typedef struct rs_flight_cause {
    const char *kind;      /* "python_exception", "xid", "host_oom", ... */
    int64_t rank;          /* -1: of no one rank */
    const char *host;      /* NULL unknown */
    int64_t code;          /* exit code, Xid, status of the network; INT64_MIN none */
    const char *exception; /* type of a Python exception, NULL none */
    const char *text;      /* the rest of the message, NULL none */
    const char *where;     /* "file:line" in the user's code, NULL unknown */
    int64_t time_ns;       /* since 1970, by the log's own clock; 0 unknown */
    const char *file;      /* the log; NULL when a stack or an address told */
    int64_t line;          /* of the log, from 1; 0 none */
    bool on_host;          /* it struck the rank's host, and no line says that it struck the rank */
} rs_flight_cause;

/* One of torchrun's attempts to run the job (--max-restarts), as the logs tell. */
typedef struct rs_flight_attempt {
    const char
        *outcome; /* "restarted", "failed", "finished", "stopped" (by a signal from outside), "no failure" */
    bool judged;  /* the verdict is about it */
    int64_t local_rank;           /* that an agent named first, -1 none */
    int64_t pid;                  /* of that rank's process, -1 none */
    const rs_flight_cause *cause; /* of its end; NULL unknown */
    uint64_t n_lines, n_events;   /* of the logs, as far as it is known whose they are */
    int64_t signal;               /* that stopped it; 0 none */
} rs_flight_attempt;

/* What a hang comes from. Roots do not depend on each other. */
typedef struct rs_flight_root {
    int64_t rank; /* -1: no rank can be named */
    rs_flight_root_kind kind;
    rs_flight_verdict verdict;
    const char *group, *group_desc; /* NULL if none */
    int64_t seq;                    /* -1 if none */
    bool p2p;
    const char *op;
    int64_t last_completed,
        frontier;          /* collectives of that group: the rank's newest completed, anybody's; -1 unknown */
    size_t open_ops;       /* of the rank, in all groups */
    int64_t first_open_ns; /* since when others wait, clock offsets removed; 0 unknown */
    const char *host, *where; /* where: "file:line"; NULL unknown */
    const char *state;        /* of its own operation, NULL if it has none */
    size_t waiters;
    const rs_flight_cause *cause; /* NULL unknown */
} rs_flight_root;

/* A rank that waits. */
typedef struct rs_flight_waiting {
    int64_t rank;
    const char *group, *group_desc;
    int64_t seq;
    bool p2p;
    const char *op, *state;
    const int64_t *waits_for; /* ranks, ascending */
    size_t n_waits_for;
} rs_flight_waiting;

/* What to do with the job, by this verdict and the records of earlier attempts. */
typedef enum rs_flight_decision {
    RS_FLIGHT_UNDECIDED, /* no history was given */
    RS_FLIGHT_GO_ON,
    RS_FLIGHT_RESTART,
    RS_FLIGHT_RESTART_WITHOUT_HOST,
    RS_FLIGHT_STOP
} rs_flight_decision;
/* "none", "go_on", "restart", "restart_without_host", "stop": the word that is in JSON. Static text. */
RS_API const char *rs_flight_decision_name(rs_flight_decision decision);

typedef struct rs_flight_report {
    rs_flight_finding root; /* the verdict; healthy when nothing is wrong */
    const rs_flight_finding
        *findings; /* everything that looked wrong, the root first; what only waits is not here */
    size_t n_findings;
    const rs_flight_waiting *waiting; /* by rank */
    size_t n_waiting;
    const rs_problems *problems;
    size_t n_ranks;   /* usable dumps */
    size_t n_entries; /* in all of them */
    size_t n_groups;
    size_t n_unusable;           /* dumps that exist but could not be used */
    bool newest_known;           /* whether any entry carries a time */
    int64_t newest_ns;           /* the newest stamp of any rank, clock offsets removed */
    const rs_flight_root *roots; /* all of them, those of the verdict's class first */
    size_t n_roots;
    const rs_flight_cause *cause; /* of the first root that has one; NULL */
    const int64_t *isolate;       /* ranks whose machine is suspect, ascending */
    size_t n_isolate;
    const char *next;                  /* one thing to do now; NULL when nothing is wrong */
    size_t shapes[5];                  /* dumps that are full, ring, active only, status only, issue only */
    const rs_flight_attempt *attempts; /* of the logs, the first one first; none without a log */
    size_t n_attempts;
    rs_flight_decision decision;
    const char *decision_text; /* one or two sentences with the reason; NULL without a history */
    const char *decision_host; /* that is left out; NULL */
    size_t n_records;          /* of other attempts */
} rs_flight_report;

/* "full", "ring", "active_only", ...: the names of `shapes`. Static text. */
RS_API const char *rs_flight_shape_name(size_t shape);

/* Analyses once and keeps the result. O(entries). */
RS_API rs_status rs_flight_get_report(rs_flight *flight, const rs_flight_report **out, rs_error *err);

/* Defects of the input, also when opening failed. */
RS_API const rs_problems *rs_flight_problems(const rs_flight *flight);

/* A stack as lines "function at file:line", innermost frame first, "\n" between them; "" for stack 0. */
RS_API const char *rs_flight_stack(rs_flight *flight, uint32_t stack);

/* Tables; the caller frees them. NULL and err on failure. groups: names or descriptions, comma separated;
 * ranks: "0,3,8-15"; NULL selects all. RS_ERR_USAGE for a group or rank that does not exist. */
RS_API rs_table *rs_flight_entries(rs_flight *flight, const char *ranks, const char *groups, bool stacks,
                                   rs_error *err);
RS_API rs_table *rs_flight_groups(rs_flight *flight, const char *groups, rs_error *err);
/* Those with something open, or with a root in them. */
RS_API rs_table *rs_flight_open_groups(rs_flight *flight, rs_error *err);
RS_API rs_table *rs_flight_log(rs_flight *flight, rs_error *err);      /* one row an event of the logs */
RS_API rs_table *rs_flight_attempts(rs_flight *flight, rs_error *err); /* one row an attempt of torchrun */
RS_API rs_table *rs_flight_progress(rs_flight *flight, rs_error *err); /* one row a rank and group */
RS_API rs_table *rs_flight_stacks(rs_flight *flight,
                                  rs_error *err); /* one row a frame of a live job's stacks */
/* One row a communicator, kind and size of collective of NCCL Inspector's files. */
RS_API rs_table *rs_flight_inspector(rs_flight *flight, rs_error *err);
RS_API rs_table *rs_flight_roots(rs_flight *flight, rs_error *err);    /* one row a root */
RS_API rs_table *rs_flight_lateness(rs_flight *flight, rs_error *err); /* by group and rank */
RS_API rs_table *rs_flight_collectives(rs_flight *flight,
                                       rs_error *err); /* durations and bandwidth by group and op */
RS_API rs_table *rs_flight_dumps(rs_flight *flight, rs_error *err); /* one row a rank */
/* The entries side by side: one row a sequence number and group, one column a rank. */
RS_API rs_table *rs_flight_side_by_side(rs_flight *flight, const char *ranks, const char *groups,
                                        rs_error *err);
/* The specs of the tables above, for --schema; side_by_side has columns that depend on the data and is not
 * among them. */
RS_API const rs_table_spec *const *rs_flight_tables(size_t *n);

/* A small JSON object with what of the verdict later attempts are compared with. */
RS_API rs_status rs_flight_write_record(rs_flight *flight, const rs_sink *sink, rs_error *err);
/* The record's file name in a history: equal for equal evidence, so that looking twice leaves one. After rs_flight_get_report. */
#define RS_FLIGHT_RECORD_NAME 32
RS_API void rs_flight_name_record(const rs_flight *flight, char name[RS_FLIGHT_RECORD_NAME]);

/* The report as the one JSON object that `flight --format json` prints. */
RS_API rs_status rs_flight_write_json(rs_flight *flight, const rs_sink *sink, rs_error *err);
/* The same in at most `budget` bytes: the verdict, its culprits and cause, and of every list as many first entries as fit;
 * "left_out" says of which lists there are more, "left_out_within" how many ranks and frames of shown entries are
 * missing. RS_ERR_USAGE when not even the verdict fits. budget 0: no limit, and the same as above. */
RS_API rs_status rs_flight_write_json_within(rs_flight *flight, size_t budget, const rs_sink *sink,
                                             rs_error *err);
/* A Chrome/Perfetto trace of the recorded operations: one process a rank, one track a group, clocks aligned.
 */
RS_API rs_status rs_flight_write_timeline(rs_flight *flight, const rs_sink *sink, rs_error *err);
/* An SQLite database (tables groups, memberships, tracebacks, collectives, nccl_calls), made again: an
 * existing file is replaced. */
RS_API rs_status rs_flight_write_database(rs_flight *flight, const char *path, rs_error *err);

#ifdef __cplusplus
}
#endif
#endif
