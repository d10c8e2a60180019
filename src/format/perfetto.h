/* The parts of the Perfetto reader and what they share. Private to src/format/perfetto*.c.
 *
 * - perfetto.c: the file, its packets and their clocks
 * - perfetto_tracks.c: which process, thread or stream a track is
 * - perfetto_event.c: what a slice becomes
 *
 * A trace is a list of packets. Each belongs to a sequence, the packets of one writer, whose names and clocks hold
 * until it clears them. Slices begin and end on a track; what begins last ends first. */
#ifndef RS_FORMAT_PERFETTO_H
#define RS_FORMAT_PERFETTO_H

#include "format/native.h"
#include "format/perfetto_fields.h"
#include "input/protobuf.h"

#define RS_PERFETTO_CLOCKS 8 /* of one sequence, beside those of the system */

typedef struct rs_perfetto_clock {
    uint64_t id;
    uint64_t unit;  /* ns */
    int64_t last;   /* incremental: where the next difference counts from */
    int64_t offset; /* to the clock of the trace */
    bool incremental;
} rs_perfetto_clock;

/* The packets of one writer. */
typedef struct rs_perfetto_sequence {
    uint64_t id;
    rs_map64 names[N_INTERNED]; /* categories, names, keys, texts by their numbers: string ids */
    rs_perfetto_clock clocks[RS_PERFETTO_CLOCKS];
    size_t n_clocks;
    uint64_t clock, track; /* what holds where a packet does not say; track 0: none */
} rs_perfetto_sequence;

typedef enum rs_perfetto_lane { RS_PERFETTO_HOST, RS_PERFETTO_STREAM, RS_PERFETTO_COUNTER } rs_perfetto_lane;

typedef struct rs_perfetto_open {
    uint32_t row;
    size_t below; /* the one that began before, SIZE_MAX */
} rs_perfetto_open;

typedef struct rs_perfetto_track {
    uint64_t uuid, parent;
    rs_pb name, process_name;
    int64_t pid, tid; /* RS_NO_VALUE: not told */
    bool has_process, is_counter;
    /* told once all tracks are known: */
    bool settled;
    rs_perfetto_lane lane;
    rs_thread thread;
    int64_t rank, device, stream; /* RS_NO_VALUE: not told */
    size_t top;                   /* what is open, innermost, SIZE_MAX */
} rs_perfetto_track;

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
    rs_perfetto_open *open;
    size_t n_open, open_capacity;
    int64_t pid;  /* of the process that was told first */
    int64_t rank; /* of the processes' names; RS_NO_VALUE: none is told */
    bool ranks_differ;
    bool own;   /* written by slice or fuse */
    char *room; /* for repairing texts */
    size_t room_size;
    rs_error *err;
} rs_perfetto;

/* perfetto_tracks.c */
rs_status rs_perfetto_take_track(rs_perfetto *p, rs_pb body);
/* Once all tracks are known: whose they are. */
rs_status rs_perfetto_settle_tracks(rs_perfetto *p);
/* The track of that number; one that nobody described is the first process' first thread. NULL: out of memory. */
rs_perfetto_track *rs_perfetto_track_of(rs_perfetto *p, uint64_t uuid);
/* The digits at a text's beginning; RS_NO_VALUE: there are none. */
int64_t rs_perfetto_number(rs_pb text);
/* Whether the text has the word, and what stands behind it. */
bool rs_perfetto_behind(rs_pb text, const char *word, rs_pb *behind);

/* perfetto_event.c: begins or ends a slice, or takes an instant. */
rs_status rs_perfetto_take_event(rs_perfetto *p, rs_perfetto_sequence *sequence, rs_pb body, int64_t time);

/* perfetto.c */
uint32_t rs_perfetto_text(rs_perfetto *p, rs_pb text);
void rs_perfetto_problem(rs_perfetto *p, rs_severity severity, const char *kind, const char *message,
                         const uint8_t *at);

#endif
