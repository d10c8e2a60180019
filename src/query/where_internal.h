/* What a parsed condition is made of. Private to src/query/where*.c. */
#ifndef RS_QUERY_WHERE_INTERNAL_H
#define RS_QUERY_WHERE_INTERNAL_H

#include "base/ranges.h"
#include "query/scan.h"
#include "query/where.h"

typedef enum rs_where_field {
    RS_WHERE_NAME, /* text from here ... */
    RS_WHERE_CAT,
    RS_WHERE_PHASE,
    RS_WHERE_PID,
    RS_WHERE_TID, /* ... to here */
    RS_WHERE_TS,  /* a time */
    RS_WHERE_DUR, /* a time */
    RS_WHERE_STEP,
    RS_WHERE_DEVICE,
    RS_WHERE_STREAM,
    RS_WHERE_CORRELATION,
    RS_WHERE_EXTERNAL_ID,
    RS_WHERE_POSITION,
    RS_N_WHERE_FIELDS
} rs_where_field;

extern const char *const rs_where_field_names[RS_N_WHERE_FIELDS];

static inline bool rs_where_is_text(rs_where_field field)
{
    return field <= RS_WHERE_TID;
}
static inline bool rs_where_is_time(rs_where_field field)
{
    return field == RS_WHERE_TS || field == RS_WHERE_DUR;
}

typedef enum rs_where_kind { RS_TERM_FIELD, RS_TERM_UNDER, RS_TERM_AFTER, RS_TERM_BEFORE } rs_where_kind;

typedef struct rs_where_text {
    char *text;
    size_t n;
} rs_where_text;

typedef struct rs_where_term {
    rs_where_kind kind;
    rs_where_field field;
    rs_where_op op;
    rs_where_text *texts; /* of a text field: one, or what the list holds */
    size_t n_texts, texts_capacity;
    rs_span *spans; /* of a number: one, or what the list holds; times in ns */
    size_t n_spans, spans_capacity;
    rs_pattern *pattern; /* of =~ */
    rs_where *inner;     /* of under, after, before */
} rs_where_term;

#define RS_WHERE_TERMS 64 /* one bit each */
#define RS_WHERE_STEPS 256

/* The condition in the order of a stack machine: a term's number, or what joins the topmost ones. */
enum { RS_WHERE_AND = 250, RS_WHERE_OR, RS_WHERE_NOT };

struct rs_where {
    rs_where_term terms[RS_WHERE_TERMS];
    size_t n_terms;
    uint8_t steps[RS_WHERE_STEPS];
    size_t n_steps;
};

#endif
