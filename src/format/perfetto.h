/* The parts of the Perfetto reader and what they share. Private to src/format/perfetto*.c.
 *
 * - perfetto.c: the file, its packets, their clocks and names
 * - perfetto_tracks.c: which process, thread or stream a track is
 * - perfetto_values.c: arguments
 * - perfetto_event.c: what a slice becomes
 * - perfetto_kinds.c: the category of a slice that has none
 * - perfetto_pairs.c: which end belongs to which beginning
 * - perfetto_stages.c: work and counters of GPUs that are no slices
 *
 * A trace is a list of packets. Each belongs to a sequence, the packets of one writer, whose names and clocks hold
 * until it clears them. Slices begin and end on a track. */
#pragma once

#include "format/native.h"
#include "format/perfetto_fields.h"
#include "input/protobuf.h"

#define RS_PERFETTO_CLOCKS 8 /* of one sequence, in addition to those of the system */

typedef struct rs_perfetto_clock {
    uint64_t id;
    uint64_t unit;  /* ns */
    int64_t last;   /* incremental: where the next difference counts from */
    int64_t offset; /* to the clock of the trace */
    bool incremental;
} rs_perfetto_clock;

/* A beginning or an end of a slice, in the order of its writer. */
typedef struct rs_perfetto_mark {
    int64_t time;
    uint32_t track; /* into tracks */
    uint32_t row;   /* of a beginning: the slice; RS_NO_ROW: an end */
} rs_perfetto_mark;

/* What is interned, each with numbers of its own. */
typedef enum rs_perfetto_names {
    RS_PERFETTO_CATEGORY,
    RS_PERFETTO_NAME,
    RS_PERFETTO_KEY,
    RS_PERFETTO_VALUE,
    RS_PERFETTO_LANE,
    RS_PERFETTO_KERNEL,
    RS_PERFETTO_LAUNCH_VALUE,
    RS_PERFETTO_GPU_COUNTER, /* by list of counters and number in it: rs_perfetto_counter_key */
    RS_PERFETTO_N_NAMES
} rs_perfetto_names;

/* The packets of one writer. */
typedef struct rs_perfetto_sequence {
    uint64_t id;
    rs_map64 names[RS_PERFETTO_N_NAMES]; /* by number: string ids */
    rs_perfetto_clock clocks[RS_PERFETTO_CLOCKS];
    size_t n_clocks;
    uint64_t clock, track; /* what holds where a packet does not say; track 0: none */
    rs_perfetto_mark *marks;
    size_t n_marks, marks_capacity;
} rs_perfetto_sequence;

typedef enum rs_perfetto_lane { RS_PERFETTO_HOST, RS_PERFETTO_STREAM, RS_PERFETTO_COUNTER } rs_perfetto_lane;

typedef struct rs_perfetto_track {
    uint64_t uuid, parent;
    rs_pb name, thread_name, process_name;
    int64_t pid, tid; /* RS_NO_VALUE: unknown */
    bool has_process, is_counter, is_incremental;
    /* known once all tracks are read: */
    bool settled;
    rs_perfetto_lane lane;
    rs_thread thread;
    int64_t rank, device, stream; /* RS_NO_VALUE: unknown */
    bool is_overhead;             /* of the profiler's own work */
    bool has_work;                /* a slice on it is GPU work by its arguments */
} rs_perfetto_track;

/* A slice without a category on a track that may turn out to be a GPU's. */
typedef struct rs_perfetto_unsettled {
    uint32_t row, track;
} rs_perfetto_unsettled;

/* Work of a GPU that waits for other work of the same replay of a graph. */
typedef struct rs_perfetto_wait {
    uint32_t row;
    uint64_t event; /* what it waits for */
} rs_perfetto_wait;

typedef struct rs_perfetto {
    rs_events *events;
    const rs_load_settings *settings;
    const char *file;
    const uint8_t *text;
    size_t n;
    uint64_t reported;
    rs_map64 sequence_at; /* by id */
    rs_perfetto_sequence *sequences;
    size_t n_sequences, sequences_capacity;
    rs_map64 track_at; /* by uuid */
    rs_perfetto_track *tracks;
    size_t n_tracks, tracks_capacity;
    rs_perfetto_unsettled *unsettled;
    size_t n_unsettled, unsettled_capacity;
    rs_map64 stage_at; /* by event id of GPU work: its row */
    rs_map64 launched; /* by event id of GPU work: the row of the call that launched it */
    rs_perfetto_wait *waits;
    size_t n_waits, waits_capacity;
    int64_t pid;  /* of the first process that a track names */
    int64_t rank; /* of the processes' names; RS_NO_VALUE: unknown */
    bool ranks_differ;
    bool own;        /* written by slice or fuse */
    bool is_rocprof; /* something in it is rocprofv3's */
    char *room;      /* for texts that are made */
    size_t room_size;
    rs_error *err;
} rs_perfetto;

/* ---- perfetto_tracks.c ---- */

rs_status rs_perfetto_take_track(rs_perfetto *p, rs_pb body);
/* Once all tracks are known: whose they are. */
rs_status rs_perfetto_settle_tracks(rs_perfetto *p);
/* What tracks call processes and threads, as the rows that Kineto writes of them. */
rs_status rs_perfetto_add_names(rs_perfetto *p);
/* The place of the track of that number; one that no packet describes is the first process' first thread. SIZE_MAX: out
 * of memory. */
size_t rs_perfetto_track_of(rs_perfetto *p, uint64_t uuid);
/* The digits at a text's beginning; RS_NO_VALUE: there are none. */
int64_t rs_perfetto_number(rs_pb text);
/* Whether the text has the word, and what follows it. */
bool rs_perfetto_behind(rs_pb text, const char *word, rs_pb *behind);

/* ---- perfetto_values.c ---- */

typedef struct rs_perfetto_value {
    uint32_t key, text; /* string ids */
    rs_other_kind kind;
    int64_t number; /* REAL: its bits */
} rs_perfetto_value;

/* The column of an argument's key; RS_N_COLUMNS: none. */
rs_column_id rs_perfetto_column_of(const rs_string *key);
rs_status rs_perfetto_read_value(rs_perfetto *p, const rs_perfetto_sequence *sequence, rs_pb body,
                                 rs_perfetto_value *out);
/* Puts a value into its column, or among the other arguments. A row's first value of a column holds. */
rs_status rs_perfetto_push(rs_perfetto *p, rs_column_id column, uint32_t row, const rs_perfetto_value *value);
rs_status rs_perfetto_push_int(rs_perfetto *p, rs_column_id column, uint32_t row, int64_t number);
/* "[8, 1, 1]" */
rs_status rs_perfetto_push_size(rs_perfetto *p, rs_column_id column, uint32_t row, const int64_t size[3]);

/* ---- perfetto_kinds.c ---- */

/* What of a slice's arguments says what it is. */
enum {
    RS_PERFETTO_HAS_LINK = 1,   /* a correlation */
    RS_PERFETTO_HAS_STREAM = 2, /* a stream or a device */
    RS_PERFETTO_HAS_FRAME = 4,  /* of a Python function */
    RS_PERFETTO_HAS_SYNC = 8,   /* the kind of a synchronization */
    RS_PERFETTO_HAS_OP = 16,    /* an operator's inputs or its number in autograd */
};
unsigned rs_perfetto_fact_of(rs_column_id column, const rs_string *key);
/* The category of a slice that has none. *is_sure: false where only the track's other slices can tell. */
const char *rs_perfetto_category_of(const rs_perfetto_track *track, const rs_string *name, unsigned facts,
                                    bool *is_sure);

/* ---- perfetto_event.c ---- */

/* Begins or ends a slice, or takes an instant. */
rs_status rs_perfetto_take_event(rs_perfetto *p, rs_perfetto_sequence *sequence, rs_pb body, int64_t time);
/* Once all events are read: the categories that only a track's other slices could tell. */
rs_status rs_perfetto_settle_kinds(rs_perfetto *p);
/* Appends a row of that category; arguments come before. */
rs_status rs_perfetto_add_row(rs_perfetto *p, uint32_t category, uint32_t name, rs_thread thread, char phase,
                              int64_t start, int64_t duration);

/* ---- perfetto_pairs.c ---- */

/* Gives every slice its end. */
rs_status rs_perfetto_pair(rs_perfetto *p);

/* ---- perfetto_stages.c ---- */

rs_status rs_perfetto_take_stage(rs_perfetto *p, const rs_perfetto_sequence *sequence, rs_pb body,
                                 int64_t time);
/* Notes which work a call says that it submitted. */
rs_status rs_perfetto_take_submission(rs_perfetto *p, rs_pb body, uint32_t row);
/* Once all work is read: what waits for what, as flows from an end to a start, which is how PyTorch writes them to JSON. */
rs_status rs_perfetto_add_waits(rs_perfetto *p);

/* ---- perfetto_counters.c ---- */

/* A list of counters among a sequence's interned data. */
rs_status rs_perfetto_take_counters(rs_perfetto *p, rs_perfetto_sequence *sequence, rs_pb body);
/* Samples of a GPU's counters. */
rs_status rs_perfetto_take_samples(rs_perfetto *p, rs_perfetto_sequence *sequence, rs_pb body, int64_t time);
/* A sample of a track that is a counter. */
rs_status rs_perfetto_take_value(rs_perfetto *p, const rs_perfetto_track *track, rs_pb body, int64_t time);

/* ---- perfetto.c ---- */

uint32_t rs_perfetto_text(rs_perfetto *p, rs_pb text);
/* The text of a number; one that is not in the file is called by its number, and counted. */
rs_status rs_perfetto_intern(rs_perfetto *p, const rs_perfetto_sequence *sequence, rs_perfetto_names kind,
                             uint64_t iid, const uint8_t *at, uint32_t *out);
void rs_perfetto_problem(rs_perfetto *p, rs_severity severity, const char *kind, const char *message,
                         const uint8_t *at);
