/* Where a block comes from, in one line: the source line that allocated it, its function, its whole stack, or what else
 * the user groups by. A site is an id in a list of names. */
#pragma once

#include "memory/frames.h"
#include "memory/history.h"

/* What distinguishes sites. */
typedef enum rs_site_by {
    RS_BY_LINE, /* the innermost line of the user's own Python; else of any Python; else the operator */
    RS_BY_FUNCTION,
    RS_BY_FILE,
    RS_BY_FRAME, /* the innermost line of Python, a library's counted */
    RS_BY_STACK, /* all frames, outermost first */
    RS_BY_OP,    /* the operator that allocated, or the node of the backward pass */
    RS_BY_SIZE,
    RS_BY_STREAM,
    RS_BY_POOL,
    RS_BY_ANNOTATION, /* the innermost range of record_function around the allocation */
    RS_BY_CATEGORY,   /* what it is for, an estimate: memory/purpose.h */
    RS_N_SITE_BYS
} rs_site_by;

#define RS_SITE_BYS "line|function|file|frame|stack|op|size|stream|pool|annotation|category"
extern const char *const rs_site_by_names[RS_N_SITE_BYS];

/* Whether frames alone give the site; the others need something of the block. */
static inline bool rs_site_is_of_stack(rs_site_by by)
{
    return by <= RS_BY_OP;
}

/* Names the stacks of a snapshot in one way; each is looked at once. */
typedef struct rs_stack_names {
    const rs_frame_traits *traits; /* borrowed */
    rs_strings *names;             /* borrowed: where the names go */
    rs_site_by by;
    uint32_t *of_stack; /* by stack: its name + 1, or 0 */
    uint32_t unknown;   /* of what has no stack */
    char *text;
    size_t capacity;
} rs_stack_names;

/* by is one of stacks. Release with rs_stack_names_clear, also after a failure. */
rs_status rs_stack_names_init(rs_stack_names *n, const rs_frame_traits *traits, rs_site_by by,
                              rs_strings *names, rs_error *err);
void rs_stack_names_clear(rs_stack_names *n);
/* RS_NO_STRING: no memory. */
uint32_t rs_stack_name(rs_stack_names *n, uint32_t stack);
