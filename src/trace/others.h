/* The arguments of events that are no column of columns.h, kept only when RS_OTHER_ARGUMENTS is asked for.
 *
 * One cell is one value. Cells are in the order of the file, so that the rows ascend; one row's cells stand
 * together, each name once. */
#pragma once

#include "base/strings.h"
#include "rankscope/status.h"

/* Names that differ in one file: beyond any honest number the rest is not kept, and the reader says so. */
#define RS_MAX_OTHERS 1024
#define RS_NO_OTHER UINT32_MAX

typedef enum rs_other_kind {
    RS_OTHER_NONE, /* null */
    RS_OTHER_INT,
    RS_OTHER_REAL, /* the bits of a double */
    RS_OTHER_TEXT, /* string id: a string, or the JSON text of anything else */
    RS_N_OTHER_KINDS
} rs_other_kind;

typedef struct rs_other_name {
    uint32_t text;      /* string id */
    uint32_t first_row; /* of the first event that has it */
    size_t last;        /* its last cell */
} rs_other_name;

typedef struct rs_others {
    size_t n, capacity;
    uint32_t *rows;
    uint16_t *name; /* into names */
    uint8_t *kind;  /* rs_other_kind */
    int64_t *value;
    rs_other_name *names; /* in order of first appearance */
    size_t n_names, names_capacity;
    rs_map64 by_text; /* may hold names that were taken back: rs_other_find looks */
} rs_others;

struct rs_events;

void rs_others_clear(struct rs_events *events);
/* Takes back the cells of a row that is the last one, and the names that it brought. */
void rs_others_forget(rs_others *others, uint32_t row);
/* Gives back memory that was reserved and not written. */
void rs_others_trim(rs_others *others);
/* Room for more cells. */
rs_status rs_others_reserve(struct rs_events *events, size_t more, rs_error *err);

/* The place of a name (string id) among the names, or RS_NO_OTHER. */
uint32_t rs_other_find(const rs_others *others, uint32_t text);
/* The same, added if new. *name is RS_NO_OTHER when there are as many names as may be. */
rs_status rs_other_name_add(struct rs_events *events, uint32_t text, uint32_t row, uint32_t *name,
                            rs_error *err);
/* Adds a value; rows must not descend. A name given again in the same row replaces what it had. */
rs_status rs_other_add(struct rs_events *events, uint32_t name, uint32_t row, rs_other_kind kind,
                       int64_t value, rs_error *err);

/* The first cell of a row; its cells go on as long as their row is that one. O(log n). */
size_t rs_other_first(const rs_others *others, uint32_t row);
