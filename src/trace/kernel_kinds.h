/* What a kernel does, told by its name alone: for traces without operators, and for work without a launch. */
#pragma once

#include "trace/trace.h"

/* "communication", "memory", "GEMM", "SDPA", ..., "other": static text. Only of computation the name says more than the class. */
const char *rs_kernel_kind(rs_class class, const char *name, size_t length);

/* All kinds, the i-th; NULL after the last. */
const char *rs_kernel_kind_at(size_t i);
