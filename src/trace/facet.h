/* Facets: what several analyses need of a rank, made once, on first need, and kept with the rank.
 *
 * A facet says what arguments it reads, what other facets it is based on, how it is made and released. Its
 * values are distinguished by a key (a policy, a choice) and by what is selected. A value lives as long as the
 * trace: who holds one may keep it, however many others are asked for. Most facets have a typed accessor,
 * rs_trace_NAME, which is what analyses call. */
#pragma once

#include "table/record.h"
#include "trace/trace.h"

#define RS_FACET_NEEDS 6
#define RS_FACET_PARTS 8

/* One of the arrays that a value is stored as. */
typedef struct rs_facet_part {
    const void *bytes;
    size_t n; /* bytes; 0: not there */
    uint8_t
        number; /* it consists of whole numbers of 1, 2, 4 or 8 bytes, which are stored as narrow as they can; 0: not */
} rs_facet_part;

#define RS_FACET_NUMBERS(numbers, count)                                                                     \
    ((rs_facet_part){(numbers), (count) * sizeof *(numbers), sizeof *(numbers)})

/* A stored array where it lies, for a value that otherwise has one of its own there: it is only read, and not freed. */
static inline void *rs_facet_lend(const rs_facet_part *part)
{
    return (void *)(uintptr_t)part->bytes;
}

/* How a value that was made for a whole rank is stored. */
typedef struct rs_facet_form {
    unsigned n_parts;
    /* Its arrays, which stay the value's. */
    void (*give)(const void *value, rs_facet_part *parts);
    /* A value of such arrays, which stay as long as the trace does and are hostile input: each begins at a multiple of 8
     * bytes, nothing else is known of them. NULL: they cannot be the trace's, or there is no memory. */
    void *(*take)(rs_trace *trace, const void *key, const rs_facet_part *parts);
    /* take is also asked for values that were made with more arguments than the trace has now, and refuses those that
     * would not be the same with these. */
    bool tells_columns;
} rs_facet_form;

/* A value seen as rows of one struct: what plans (analysis/plan.h) read, and what the list of facets shows. */
typedef struct rs_facet_rows {
    const rs_row_spec *record; /* table/record.h: the row's members, with unit and meaning */
    size_t size;               /* of a row */
    /* Writes the rows from place `at` on, n at most, and returns how many it wrote: 0 after the last. */
    size_t (*read)(const rs_trace *trace, const void *value, size_t at, size_t n, void *rows);
} rs_facet_rows;

struct rs_facet {
    const char *name;
    uint64_t columns;                           /* RS_COLUMN_BIT(...) of the arguments it reads by itself */
    const rs_facet *needs[RS_FACET_NEEDS];      /* what it asks for; NULL after the last */
    size_t key_size;                            /* bytes; 0: there is one value, and the key is NULL */
    bool (*same)(const void *a, const void *b); /* equality of keys; NULL: of their bytes */
    bool selected;                              /* it follows steps and window */
    /* A value for the key. On failure nothing is kept and the next call tries again. */
    rs_status (*make)(rs_trace *trace, const void *key, void **out, rs_error *err);
    void (*release)(void *value); /* values are released in the reverse order of their making */
    const rs_facet_form *form;    /* NULL: it cannot be stored */
    const rs_facet_rows *rows;    /* NULL: it has no rows */
};

/* Equality of two policies, for facets whose key is one. */
bool rs_policy_same(const void *a, const void *b);

/* Puts the value, which is the trace's, into the pointer at out; out is untouched after a failure. A walk over the values made so far, a
 * handful: not for inner loops. */
rs_status rs_trace_facet(rs_trace *trace, const rs_facet *facet, const void *key, void *out, rs_error *err);

/* The arguments that facets read, with all that they stand on. n may be more than there are: NULL ends the
 * list. */
uint64_t rs_facet_columns(const rs_facet *const *facets, size_t n);

/* Where stored values come from. */
struct rs_facet_keeper {
    void *context;
    /* The arrays of the value of a whole rank; false: it is not there. */
    bool (*fetch)(void *context, const rs_trace *trace, const rs_facet *facet, const void *key,
                  rs_facet_part *parts);
    void (*keep)(void *context, const rs_trace *trace, const rs_facet *facet, const void *key,
                 const rs_facet_part *parts);
};
/* Hands the values that can be stored, and hold more than what was fetched or handed over before, to the keeper. */
void rs_facets_keep(rs_trace *trace);

/* Drops all values of a trace. */
void rs_facets_clear(rs_trace *trace);
/* Releases those that follow a selection, before it goes. */
void rs_facets_forget(rs_trace *trace, const rs_selection *selection);
