/* The graph of the critical path as HTA builds it. */
#pragma once

#include "engine/build.h"

/* From HTA's frame; policy says whether times are rounded. The path is solved. */
rs_status rs_path_build_hta(rs_trace *trace, const rs_policy *policy, const rs_path_window *window,
                            rs_path_part *out, rs_error *err);
