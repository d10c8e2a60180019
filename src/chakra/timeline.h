/* The log of a simulator's run as a trace. */
#ifndef RS_CHAKRA_TIMELINE_H
#define RS_CHAKRA_TIMELINE_H

#include "output/writer.h"

/* Reads lines "issue|callback, npu=N, cycle=N, node=N, name=TEXT" (other lines are passed over) and writes
 * one event for each node from its issue to its callback: pid the NPU, tid 2 memory, 3 computation, 4
 * communication, times in us. mhz: cycles a microsecond. What does not pair up is counted in problems
 * (RS_LOSS). Errors: RS_ERR_IO, RS_ERR_NOMEM, RS_ERR_LIMIT, RS_ERR_USAGE. Memory: the log. */
rs_status rs_chakra_timeline(const char *path, uint64_t max_ratio, double mhz, const rs_sink *sink,
                             rs_problems *problems, rs_error *err);

#endif
