/* The parts of the Kineto reader and what they share. Private to src/format/kineto*.c.
 *
 * - kineto.c: the document around the events: where the array is, what follows it
 * - kineto_damage.c: finding the way back into step after damage
 * - kineto_meta.c: what the file says about itself
 * - kineto_event.c: one event, any layout: the reference reader
 * - kineto_shapes*.c: one event whose layout was seen before: the fast reader, compiled once for each SIMD
 * level
 * - kineto_learn.c: turns events that the reference reader understood into layouts for the fast one
 * - kineto_time.c: decimal microseconds to nanoseconds
 * - kineto_copies.c: names of copies
 * - kineto_parallel.c: blocks of events read ahead on other threads */
#pragma once

#include "format/kineto.h"

#define RS_MAX_ARGS 64    /* values of one event that can be learned */
#define RS_MAX_PENDING 64 /* defects of one event that are told apart */

/* What stands at a place in an event's layout, after a run of fixed bytes. */
typedef enum rs_op {
    RS_OP_NONE, /* nothing: the fixed bytes go on */
    RS_OP_NAME,
    RS_OP_PID,
    RS_OP_TID,
    RS_OP_TS,
    RS_OP_DUR,
    RS_OP_ID,
    RS_OP_INT, /* an argument ... */
    RS_OP_REAL,
    RS_OP_STRING, /* TEXT that is a JSON string; the bytes begin after its opening quote */
    RS_OP_RAW,    /* TEXT that is an array */
    RS_OP_SKIP_NUMBER,
    RS_OP_SKIP_STRING,
    RS_OP_SKIP_ARRAY,
    RS_OP_END /* the event is complete */
} rs_op;

/* A value found by the reference reader, for learning. */
typedef struct rs_step_seen {
    const uint8_t *begin, *end; /* of the value; strings without their quotes' outside */
    rs_op op;
    uint8_t column;
} rs_step_seen;

typedef struct rs_shapes rs_shapes; /* learned layouts, kineto_learn.h */

/* One event while it is read; arguments are appended to the columns at once and taken back if it fails. */
typedef struct rs_event_now {
    int64_t start, duration;
    uint32_t name;
    rs_thread thread;
    uint16_t category;
    uint8_t phase;
} rs_event_now;

typedef struct rs_kineto {
    rs_events *events;
    uint64_t columns;
    rs_json_limits limits;
    const char *file;
    rs_shapes *shapes;         /* NULL: learning is off */
    bool clean_only;           /* stop at the first defect instead of counting it (reading ahead) */
    bool defect;               /* set when a defect was counted or, with clean_only, met */
    bool learnable;            /* the event just read may become a shape */
    const uint8_t *learn_from; /* where the element before the present one ended, or NULL */
    struct {                   /* defects of the event being read: they count once it is whole */
        const char *kind, *message;
        uint64_t offset, columns;
        bool unreliable; /* a value that is not quite what was meant, and no loss */
    } pending[RS_MAX_PENDING];
    unsigned n_pending;
    uint64_t reading; /* RS_COLUMN_BIT of the argument being read, 0 outside: whose defects they are */
    rs_step_seen seen[RS_MAX_ARGS];
    unsigned n_seen;
    uint32_t last_thread; /* index of last_pair */
    rs_thread last_pair;
    char *scratch; /* for decoding strings */
    size_t scratch_size;
    rs_status failure; /* RS_OK, or why reading must stop altogether; err has the reason */
    rs_error *err;
} rs_kineto;

/* Reads one event object at *p ('{'), appending a row on OK. END: the text ends inside it. Any other status:
 * *p is at the fault and nothing was appended. base is the offset of data in the text, for problem reports. A
 * failure of the program itself (memory) sets core->failure and returns RS_JSON_BAD. */
rs_json_status rs_kineto_event(rs_kineto *core, const uint8_t **p, const uint8_t *end, const uint8_t *data,
                               uint64_t base);

/* At a bracket or a brace: does an array of events begin here, or an event, by its "ph" among the first members? */
bool rs_kineto_opens_events(const uint8_t *p, const uint8_t *end);
/* The same at a brace alone. */
bool rs_kineto_has_phase(const uint8_t *p, const uint8_t *end);
/* Appends the placeholder row of an element that was lost. */
bool rs_kineto_lost_row(rs_kineto *core);
/* Appends the row; false sets core->failure. */
bool rs_kineto_commit(rs_kineto *core, const rs_event_now *now);
/* Takes back the arguments already appended for the row that was being read. */
void rs_kineto_rollback(rs_kineto *core);
/* Interns a JSON string's text, decoding it if need be; counts damage in it. RS_NO_STRING sets core->failure.
 */
uint32_t rs_kineto_text(rs_kineto *core, const rs_json_text *text, uint64_t offset);
/* Counts the defects noted since the last event or member. */
void rs_kineto_report(rs_kineto *core);
bool rs_kineto_fail(rs_kineto *core, rs_status status); /* remembers the failure; returns false */

/* What the file says about itself: takes one top-level member that is not the event array. value is its JSON
 * text. */
void rs_kineto_metadata(rs_kineto *core, const rs_json_text *key, const uint8_t *value, size_t n);

/* ---- times ------------------------------------------------------------------------------------------ */

/* Nanoseconds and the exact rest below them, in units of 1e-15 ns, 0 <= rest < 1e15; sticky: digits beyond
 * that. */
typedef struct rs_exact_time {
    int64_t ns;
    uint64_t rest;
    bool sticky;
} rs_exact_time;

/* Decimal microseconds ("12", "-3.25", "1.5e3") to an exact time; false when it is no number or out of range.
 */
bool rs_exact_time_parse(const uint8_t *text, size_t length, rs_exact_time *out);
/* Start and end rounded half-even to the ns, each; *duration = end - start. has_duration false: *duration
 * untouched. Returns how many of the given times had to be rounded; false in *ok when the end overflows. */
unsigned rs_exact_time_round(const rs_exact_time *start, const rs_exact_time *duration_in, int64_t *start_ns,
                             int64_t *duration_ns, bool *ok);

/* ---- fast path -------------------------------------------------------------------------------------- */

/* Reads events whose layout is known for as long as they come; *p stands right behind an event ('}' passed)
 * in the array. Returns how many it appended; stops (with *p behind the last one) at anything else. */
typedef size_t (*rs_shapes_run_fn)(rs_kineto *core, const uint8_t **p, const uint8_t *end);
rs_shapes_run_fn rs_shapes_runner(int simd);

rs_shapes *rs_shapes_create(void);
void rs_shapes_free(rs_shapes *shapes);
/* Learns the event that lies at [begin, end), begin being the end of the element before it. */
void rs_shapes_learn(rs_kineto *core, const uint8_t *begin, const uint8_t *end, const rs_event_now *now);

/* ---- reading ahead ---------------------------------------------------------------------------------- */

typedef struct rs_ahead rs_ahead;

/* Readers for n_slots blocks with core's settings; NULL when out of memory. */
rs_ahead *rs_ahead_create(const rs_kineto *core, rs_shapes_run_fn run, unsigned n_slots);
void rs_ahead_free(rs_ahead *ahead);
/* An rs_prepare_fn: reads the events of a block. */
void rs_ahead_prepare(void *ahead, unsigned slot, const uint8_t *bytes, size_t n, uint64_t offset);
/* Where in the text the slot's run begins; UINT64_MAX: it has none. */
uint64_t rs_ahead_begin(const rs_ahead *ahead, unsigned slot);
/* Whether the run's arguments can all be kept beside those that `to` has; otherwise it is to be dropped and
 * its text read again, so that what is lost does not depend on who read. */
bool rs_ahead_fits(const rs_ahead *ahead, unsigned slot, const rs_events *to);
void rs_ahead_drop(rs_ahead *ahead, unsigned slot);
/* Appends the run; *end is the place in the text right behind its last event. */
rs_status rs_ahead_take(rs_ahead *ahead, unsigned slot, rs_events *to, uint64_t *end, rs_error *err);

/* At '{': whether an event begins here, as far as can be seen. */
bool rs_kineto_looks_like_event(const uint8_t *p, const uint8_t *end);
/* Looks from *at on for a place where a damaged header can be read on: the comma before a member that traces
 * have, the key of the event array, or behind the events the closing brace. What is found is what the loader
 * finds, so a second reading copies the events that the first one saw. false: not in this text, of which
 * everything before *at has been judged; last: no text follows. */
bool rs_kineto_resume_member(const uint8_t **at, const uint8_t *end, bool in_events, bool last);

/* kineto_copies.c: names copies by what their arguments say of them. */
rs_status rs_kineto_name_copies(rs_events *events, rs_error *err);
/* kineto_processes.c: events without a category get that of their process, where it is known. */
rs_status rs_kineto_judge_processes(rs_events *events, rs_error *err);
