/* The reader of a whole text: what kineto.c (documents and their events) and kineto_damage.c (finding the way
 * back after damage) share. */
#pragma once

#include "input/windows.h"
#include "format/kineto_core.h"

/* Where in the text the reader stands, between two steps. */
typedef enum rs_place {
    AT_DOCUMENT, /* outside: a value or the end may come */
    AT_MEMBER,   /* in the top-level object: a member, a comma or the closing brace */
    AT_ELEMENT,  /* in the event array: an event, a comma or the closing bracket */
    AT_DAMAGE,   /* out of step: looking for the next event */
    AT_END
} rs_place;

/* Rows behind the first `rows` come from text at this offset or behind it. */
typedef struct rs_reader_mark {
    uint64_t offset;
    size_t rows;
} rs_reader_mark;

typedef struct rs_reader {
    rs_kineto core;
    rs_reader_mark *marks; /* of a packed file, one a window */
    size_t n_marks, marks_capacity;
    rs_windows *windows;
    rs_window window;
    const uint8_t *p, *end;
    rs_place place;
    bool packed;        /* marks are wanted */
    bool begun;         /* the text's first bytes have been looked at */
    bool bare_array;    /* the array is the document itself */
    bool saw_object;    /* an object that may be a trace has been met, so that lost events were events */
    bool separated;     /* in the array: its beginning or a comma stands before what comes next */
    bool open;          /* inside a document */
    bool saw_config;    /* a member of the document that flight recorders' dumps begin with */
    bool saw_events;    /* an event array or an event has been met */
    bool in_events;     /* ... in this document */
    bool stray;         /* separators outside any array have been reported */
    uint64_t damage_at; /* offset at which damage began */
    uint64_t tried_to;  /* ... and up to which the text was read as an event before the damage showed */
    bool in_member;     /* it began beside the events */
    bool junk;          /* ... where an event was expected: what it was is told by what follows */
    bool junk_element;  /* ... and a comma or bracket stood before it */
    uint8_t before;     /* while AT_DAMAGE: the last byte that is no white space */
    bool line_begins;   /* ... a line end stood behind it */
    rs_shapes_run_fn run;
    rs_ahead *ahead; /* NULL: one thread reads everything */
    const rs_load_settings *settings;
} rs_reader;

/* How far a place must be seen to be judged. */
#define RS_LOOK_AHEAD 512

static inline uint64_t rs_reader_offset(const rs_reader *r, const uint8_t *p)
{
    return r->window.offset + (uint64_t)(p - r->window.data);
}

/* Counts a defect. */
void rs_reader_problem(rs_reader *r, const char *kind, const char *message, uint64_t offset);
/* Gets more text, keeping everything from p on. */
rs_status rs_reader_more(rs_reader *r, rs_error *err);
/* A document begins at the next row. false: out of memory, see core.failure. */
bool rs_reader_begin_document(rs_reader *r);
/* What a fault in an event means to the user. */
const char *rs_reader_fault(rs_json_status s);

/* Counts a defect that began at `from` and starts looking, from `fault` on, for a place where reading can go
 * on. */
void rs_reader_damaged(rs_reader *r, const char *kind, const char *message, const uint8_t *from,
                       const uint8_t *fault);
/* Whether an event that has no end yet holds others: a bracket that it lost would take all of them for its arguments. Asked
 * of long ones, and of the last. */
bool rs_reader_swallows_events(const rs_reader *r, const uint8_t *begin);
/* The same for something that is no event where one was expected; what follows tells what it was. */
void rs_reader_junk(rs_reader *r, const uint8_t *from, const uint8_t *fault, bool after_separator);
/* One step of looking. */
rs_status rs_reader_at_damage(rs_reader *r, rs_error *err);

/* kineto_doubt.c: drops events of text that its checksum does not prove, where their times cannot be: a few far
 * from all others. */
rs_status rs_reader_doubt(rs_reader *r, const rs_source_end *end, rs_error *err);
