/* The kind of an operator. */
#ifndef RS_TRACE_CATEGORIES_H
#define RS_TRACE_CATEGORIES_H

#include <stdbool.h>

/* "GEMM", "NORM_fwd", "elementwise", ..., "other": by the operator's name, else by the name of the first
 * kernel it launches (may be NULL). Static text. */
const char *rs_op_category(const char *op, const char *first_kernel);

/* Tests only: the table's order, on which the search relies. */
bool rs_op_categories_sorted(void);

#endif
