/* What torch.compile did in one process, as TORCH_TRACE logs it: lines "V1123 07:53:15.431000 2837 file.py:12] {entry}", of which
 * one may have a payload on lines that begin with a tab; or the raw.jsonl that tlparse makes of such a log, entries without payloads. */
#pragma once

#include "base/strings.h"
#include "trace/trace.h"

/* One compilation: a frame (a function, or what is left of one after a graph break) and how often it had been compiled before.
 * Texts are ids of the log's strings. */
typedef struct rs_compilation {
    int64_t frame, compile; /* -1: entries that the log ties to no frame */
    int64_t attempt;        /* the greatest; -1: unknown */
    int64_t graphs, breaks, collectives;
    int64_t time; /* ns */
    uint32_t name, reason, failed;
} rs_compilation;

typedef enum rs_compiled_graph {
    RS_GRAPH_NONE,
    RS_GRAPH_FORWARD,
    RS_GRAPH_BACKWARD,
    RS_GRAPH_INFERENCE,
    RS_N_COMPILED_GRAPHS
} rs_compiled_graph;

/* A collective of a compiled graph, in the order of the log. */
typedef struct rs_compiled_collective {
    uint32_t compilation; /* into compilations */
    uint32_t name;
    uint8_t graph;
} rs_compiled_collective;

typedef struct rs_compile_log {
    rs_strings strings;
    rs_compilation *compilations; /* by first entry */
    size_t n_compilations, compilations_capacity;
    rs_compiled_collective *collectives;
    size_t n_collectives, collectives_capacity;
} rs_compile_log;

/* NULL: the trace is of another kind. */
const rs_compile_log *rs_compile_log_of(const rs_trace *trace);
