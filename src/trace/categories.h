/* The kind of an operator. */
#pragma once

#include <stdbool.h>

/* "GEMM", "NORM_fwd", "elementwise", ..., "other": by the operator's name, else by the name of the first
 * kernel it launches (may be NULL). Static text. */
const char *rs_op_category(const char *op, const char *first_kernel);

/* Tests only: the table's order, on which the search relies. */
bool rs_op_categories_sorted(void);
