/* Ranges that PyTorch marks for other profilers (emit_nvtx, nsys --pytorch=autograd-nvtx) are its operators.
 *
 * Fields follow the name: "aten::mm, seq = 12, op_id = 7, sizes = [[2, 3], [3, 4]]". */
#pragma once

#include "format/native.h"

typedef struct rs_range_name {
    bool is_operator;
    size_t length;     /* of the name by itself */
    int64_t sequence;  /* RS_NO_VALUE: none */
    const char *sizes; /* "[[2, 3], [3, 4]]"; NULL: none */
    size_t sizes_length;
} rs_range_name;

/* bare: "namespace::name" by itself is an operator as well. */
rs_range_name rs_range_name_of(const char *text, size_t n, bool bare);

/* Makes the range that a record is an operator or an annotation, by its name. */
rs_status rs_native_name_range(rs_events *events, rs_native *record, bool bare, rs_error *err);
