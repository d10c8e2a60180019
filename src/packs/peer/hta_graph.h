/* The graph of the critical path as HTA builds it. */
#ifndef RS_PEER_HTA_GRAPH_H
#define RS_PEER_HTA_GRAPH_H

#include "engine/build.h"

/* From HTA's frame; policy says whether times are rounded. The path is solved. */
rs_status rs_path_build_hta(rs_trace *trace, const rs_policy *policy, const rs_path_window *window,
                            rs_path_part *out, rs_error *err);

#endif
