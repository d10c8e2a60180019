/* Threads as people read them. */
#pragma once

#include "trace/trace.h"

/* By thread the string id of its name record, RS_NO_STRING where it has none. NULL when out of memory; the caller
 * frees it. Reads RS_COL_META_NAME. */
uint32_t *rs_thread_names(const rs_trace *trace);

#define RS_THREAD_LABEL 256
/* "process 12 thread 12 (pt_main_thread)"; name: of rs_thread_names. */
void rs_thread_label(const rs_events *events, uint32_t thread, uint32_t name, char out[RS_THREAD_LABEL]);
