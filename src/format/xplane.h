/* The parts of the XPlane reader and what they share. Private to src/format/xplane*.c.
 *
 * - xplane.c: the file, its planes and lines, and the way past damage
 * - xplane_names.c: what a plane calls its events and values
 * - xplane_event.c: what an event is
 *
 * A file is one message, a space of planes: one a device, one the host's, some that only describe. A plane has lines
 * (streams, threads), a line has events. Events and their values have numbers, and the plane's tables of names
 * stand behind its lines, so that a plane is gone through twice. */
#pragma once

#include "format/native.h"
#include "input/protobuf.h"

/* Numbers of fields. */
enum { SPACE_PLANE = 1, SPACE_ERROR = 2, SPACE_WARNING = 3, SPACE_HOST = 4 };
enum { PLANE_NAME = 2, PLANE_LINE = 3, PLANE_EVENT_NAMES = 4, PLANE_STAT_NAMES = 5, PLANE_STAT = 6 };
enum { LINE_ID = 1, LINE_NAME = 2, LINE_TIME = 3, LINE_EVENT = 4 };
enum { EVENT_NAME = 1, EVENT_OFFSET = 2, EVENT_DURATION = 3, EVENT_STAT = 4, EVENT_TIMES = 5 };
enum {
    STAT_NAME = 1,
    STAT_REAL = 2,
    STAT_NATURAL = 3,
    STAT_WHOLE = 4,
    STAT_TEXT = 5,
    STAT_BLOB = 6,
    STAT_REFERENCE = 7
};
enum { NAME_ID = 1, NAME_TEXT = 2, NAME_SHOWN = 4, NAME_STAT = 5 };
enum { ENTRY_KEY = 1, ENTRY_VALUE = 2 };

/* Fields beyond this number nobody has: what looks like one is damage. */
#define XPLANE_MOST_FIELDS 64

static inline rs_pb_status rs_xplane_next(rs_pb *m, rs_pb_field *f)
{
    rs_pb before = *m;
    rs_pb_status status = rs_pb_next(m, f);
    if (status == RS_PB_END || f->number <= XPLANE_MOST_FIELDS) return status;
    *m = before;
    return RS_PB_BAD;
}

/* What a value is about. */
typedef enum rs_xstat {
    RS_XSTAT_OTHER,  /* an argument under its own name */
    RS_XSTAT_HIDDEN, /* links of host events to each other, by numbers of their own */
    RS_XSTAT_CORRELATION,
    RS_XSTAT_DEVICE,
    RS_XSTAT_CONTEXT,
    RS_XSTAT_KERNEL,
    RS_XSTAT_MEMCPY,
    RS_XSTAT_MEMSET,
    RS_XSTAT_MEMORY,
    RS_XSTAT_HLO_OP,
    RS_XSTAT_STEP,
    RS_XSTAT_PROCESS,
    RS_XSTAT_START,
    RS_XSTAT_UNITS,
    RS_XSTAT_DEVICE_MEMORY,
    RS_XSTAT_MAJOR,
    RS_XSTAT_MINOR,
    RS_XSTAT_DEVICE_NAME
} rs_xstat;

typedef struct rs_xvalue_name {
    uint32_t text; /* string id */
    rs_xstat what;
} rs_xvalue_name;

/* A collective by its HLO text, "%a = f32[8]{0} all-reduce(f32[8]{0} %b), replica_groups={{0,1},{2,3}}, ...". */
typedef struct rs_hlo_collective {
    rs_pb kind, groups;       /* "all-reduce", "{{0,1},{2,3}}"; empty: not said */
    const char *dtype;        /* as PyTorch calls it; NULL: not known */
    int64_t in, out, members; /* elements; ranks of a group; RS_NO_VALUE: not known */
} rs_hlo_collective;
/* false: it is no such text, and nothing is known. O(text). */
bool rs_hlo_collective_read(rs_pb text, rs_hlo_collective *out);

typedef struct rs_xevent_name {
    uint32_t text;         /* string id */
    rs_pb body;            /* values that hold for all events of the name */
    bool is_comm;          /* names communication, were it work of a device */
    rs_hlo_collective hlo; /* of such a name: what its HLO text says */
} rs_xevent_name;

/* One value of an event, a name or a plane. */
typedef struct rs_xvalue {
    rs_xvalue_name name;
    uint32_t kind; /* STAT_REAL to STAT_REFERENCE */
    uint64_t bits;
    rs_pb text;     /* of STAT_TEXT, STAT_BLOB */
    uint32_t refer; /* of STAT_REFERENCE: string id */
} rs_xvalue;

typedef enum rs_xrole {
    RS_XROLE_OTHER, /* timelines of neither the host nor a device: counters, custom devices */
    RS_XROLE_HOST,
    RS_XROLE_GPU,
    RS_XROLE_TPU
} rs_xrole;

/* The whole file while it is read. */
typedef struct rs_xspace {
    rs_events *events;
    const rs_load_settings *settings;
    const char *file;
    const uint8_t *text;
    size_t n;
    int64_t start;     /* of the recording, ns since 1970; 0: times are as they stand */
    int64_t process;   /* of the host; RS_NO_VALUE: not told */
    uint64_t budget;   /* steps that looking for a way past damage may still take */
    uint64_t reported; /* where progress was told last */
    bool cut;          /* a length leads beyond the end of the file */
    char *room;        /* for repairing texts */
    size_t room_size;
    rs_error *err;
} rs_xspace;

typedef struct rs_xplane {
    rs_xspace *space;
    rs_pb body;
    rs_pb name;
    rs_xrole role;
    int64_t device;     /* of a device's plane */
    int64_t core;       /* of a device's further planes: from 1 */
    bool has_async;     /* has a line of what runs beside the operators */
    rs_map64 event_ids; /* -> event_names */
    rs_map64 value_ids; /* -> value_names */
    rs_xevent_name *event_names;
    size_t n_event_names, event_names_capacity;
    rs_xvalue_name *value_names;
    size_t n_value_names, value_names_capacity;
} rs_xplane;

/* What a line of a plane shows. */
typedef enum rs_xlane {
    RS_XLANE_OTHER,
    RS_XLANE_HOST,
    RS_XLANE_STREAM, /* what runs on a GPU's stream */
    RS_XLANE_OPS,    /* operators of a TPU, which nest */
    RS_XLANE_ASYNC,  /* ... and what runs beside them */
    RS_XLANE_STEPS,
    RS_XLANE_MODULES
} rs_xlane;

typedef struct rs_xline {
    int64_t id, time; /* ns */
    int64_t stream;
    rs_xlane lane;
} rs_xline;

/* An event as it stands in its line. */
typedef struct rs_xevent {
    rs_pb body;
    int64_t name, offset, duration; /* ps */
    bool is_sum;                    /* counts events and has no place in time */
    bool holds;                     /* RS_XLANE_OPS: others lie in it */
} rs_xevent;

/* xplane_names.c */
rs_status rs_xplane_read_names(rs_xplane *plane);
void rs_xplane_clear(rs_xplane *plane);
/* The next value among the fields of that number; false at the end, or where no further one can be read. */
bool rs_xplane_next_value(const rs_xplane *plane, rs_pb *message, uint32_t number, rs_xvalue *out);
/* A whole number of a value of any kind; false: it is none. */
bool rs_xvalue_int(const rs_xvalue *value, int64_t *out);
/* A text as a string id, repaired where it is no UTF-8; RS_NO_STRING: out of memory. */
uint32_t rs_xspace_text(rs_xspace *space, rs_pb text);
/* The text of a value as a string id; RS_NO_STRING: it is none, or out of memory. */
uint32_t rs_xvalue_text(rs_xspace *space, const rs_xvalue *value);
/* Whether the bytes are an entry of one of the tables of names: its key and its name's fields. */
bool rs_xplane_is_entry(rs_pb body, int64_t *key, rs_pb *value);

/* xplane_event.c: appends the event. */
rs_status rs_xplane_add(rs_xplane *plane, const rs_xline *line, const rs_xevent *event);

/* xplane.c */
void rs_xspace_damage(rs_xspace *space, const char *kind, const char *message, const uint8_t *at);
/* Takes steps off what may be spent on damage; false: it is used up. */
bool rs_xspace_spend(rs_xspace *space, uint64_t steps);
