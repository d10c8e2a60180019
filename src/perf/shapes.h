/* What a rank's operators compute and move: their arguments read once, and the model's answer kept. */
#pragma once

#include "perf/models.h"
#include "trace/facet.h"

#define RS_NO_ANSWER UINT32_MAX

/* The answer for one model and one set of arguments, which many operators share. */
typedef struct rs_shape_answer {
    rs_model model;
    uint32_t name;                           /* string id of the operator whose arguments these are */
    uint32_t dims, types, strides, concrete; /* string ids of the events; RS_NO_STRING: not recorded */
    uint32_t batch; /* string id of the annotation that tells its batch; RS_NO_STRING: none, or not asked */
    uint16_t entry; /* of the table of models */
} rs_shape_answer;

typedef struct rs_op_shapes rs_op_shapes;
extern const rs_facet rs_facet_shapes;

rs_status rs_trace_shapes(rs_trace *trace, rs_op_shapes **out, rs_error *err);

/* The answer for an operator's event, RS_NO_ANSWER when its name has no model or its arguments give none.
 * nearest: the operator is the nearest to the launch, so that fallbacks apply. An operator of the backward
 * pass without arguments of its own takes those of the forward one with its name and sequence number. An
 * Attention over a serving engine's cache takes its lengths from the annotation that was open at its start. An
 * answer is computed once; O(log n) after that. */
rs_status rs_shapes_ask(rs_op_shapes *shapes, uint32_t row, bool nearest, uint32_t *answer, rs_error *err);
/* What an answer was given to, as numbers that a later run can ask again of the same events; and its answer there. RS_NO_ANSWER:
 * it is no question that these events could have led to. */
#define RS_SHAPE_QUESTION 7
void rs_shapes_question(const rs_op_shapes *shapes, uint32_t answer, uint32_t question[RS_SHAPE_QUESTION]);
rs_status rs_shapes_ask_again(rs_op_shapes *shapes, const uint32_t question[RS_SHAPE_QUESTION],
                              uint32_t *answer, rs_error *err);
size_t rs_shapes_count(const rs_op_shapes *shapes);

const rs_shape_answer *rs_shapes_at(const rs_op_shapes *shapes, uint32_t answer);
