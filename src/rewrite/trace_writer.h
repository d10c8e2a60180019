/* A trace written again: its text copied as it stands, events changed or left out on the way, others
 * appended.
 *
 * The text streams through in windows; nothing of it is kept. What is not changed keeps every byte. */
#pragma once

#include "input/source.h"
#include "text/writer.h"

typedef struct rs_trace_edit {
    /* Writes the separator and an event (bytes is its JSON object, position its place in the event arrays
     * from 0) and returns true, or writes nothing and returns false to leave it out. An element that is no
     * object has a position, too, and is given as it stands. NULL: all events stay as they are, and so does
     * the text between them. */
    bool (*event)(void *context, uint64_t position, const uint8_t *bytes, size_t n, const char *separator,
                  rs_writer *out);
    /* Writes the separator and one more event and returns true, or writes nothing and returns false when
     * there are no more. */
    bool (*next)(void *context, const char *separator, rs_writer *out);
    void *context;
} rs_trace_edit;

/* Further events stand at the end of the first event array, or after the text where events stand one a line.
 * RS_ERR_FORMAT names the byte where the text is no trace. *truncated tells that the text breaks off: then
 * the brackets are closed behind what could be read. */
rs_status rs_trace_copy(rs_source *source, const rs_trace_edit *edit, rs_writer *out, bool *truncated,
                        rs_error *err);

/* The raw value of a member of an event's object ("pid", "args"), *value NULL if it has none. */
void rs_event_member(const uint8_t *bytes, size_t n, const char *key, const uint8_t **value, size_t *length);

/* Writes an event with one more member, "key": value, first in its args, which are added if it has none. */
void rs_event_write_with_arg(const uint8_t *bytes, size_t n, const char *member, size_t member_length,
                             rs_writer *out);
/* Writes an event with another name (JSON, quoted) and without its args. */
void rs_event_write_bare(const uint8_t *bytes, size_t n, const char *name, rs_writer *out);
