/* Terms of a selector. Private to src/engine/edits*.c. */
#ifndef RS_ENGINE_EDITS_TERMS_H
#define RS_ENGINE_EDITS_TERMS_H

#include "base/ranges.h"
#include "engine/edits.h"

typedef enum rs_edit_field {
    RS_FIELD_NAME,
    RS_FIELD_OPERATOR,
    RS_FIELD_CLASS,
    RS_FIELD_PART,
    RS_FIELD_RANK,
    RS_FIELD_STEP,
    RS_FIELD_STREAM,
    RS_FIELD_COLLECTIVE,
    RS_FIELD_GROUP,
    RS_FIELD_BYTES,
    RS_FIELD_US,
    RS_FIELD_BEHIND,
    RS_N_FIELDS
} rs_edit_field;

typedef enum rs_edit_op {
    RS_OP_IS,
    RS_OP_NOT,
    RS_OP_LIKE,
    RS_OP_NOT_LIKE,
    RS_OP_BELOW,
    RS_OP_AT_MOST,
    RS_OP_ABOVE,
    RS_OP_AT_LEAST
} rs_edit_op;

struct rs_edit_term {
    rs_edit_field field;
    rs_edit_op op;
    char *text;
    int64_t number;  /* of numbers; the place in the words of class and part */
    rs_ranges ranks; /* of rank with = and != */
};

#endif
