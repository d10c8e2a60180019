/* Chakra execution traces (.et): made from a linked trace, shown, and proved.
 *
 * Nothing here keeps state between calls; calls on different arguments may run side by side. Texts in
 * settings are borrowed during the call. Paths may be packed (gzip, zstd). */
#ifndef RANKSCOPE_CHAKRA_TRACE_H
#define RANKSCOPE_CHAKRA_TRACE_H

#include "rankscope/chakra.h"
#include "rankscope/text.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- convert ---------------------------------------------------------------------------------------- */

/* What a node's duration_micros says. */
typedef enum rs_chakra_timing {
    RS_CHAKRA_TIMING_RECORDED, /* so that a simulator which starts a node when it may starts it when it
                                  started in the recording: gaps are nodes of their own, waits are in no node,
                                  GPU nodes have the delay of their launch */
    RS_CHAKRA_TIMING_EXCLUSIVE /* the time in the operator and in none below it; a GPU op's own */
} rs_chakra_timing;

/* Whose rules the nodes follow. */
typedef enum rs_chakra_target {
    RS_CHAKRA_TARGET_ANY,      /* what was recorded */
    RS_CHAKRA_TARGET_ASTRA_SIM /* collectives that it does not know become the nearest that it does, groups get
                                  numbers, every communication node has what it asks for, and ctrl_deps name
                                  only nodes that data_deps lead to */
} rs_chakra_target;

typedef struct rs_chakra_convert_settings {
    size_t size;        /* sizeof(rs_chakra_convert_settings): needed, so that the struct can grow */
    const char *linked; /* path of the linked trace; names the input when bytes is set */
    const void *bytes;  /* the linked trace itself instead, borrowed; NULL: read the path */
    size_t n_bytes;
    const rs_chakra_linked *nodes; /* what rs_chakra_link_nodes made instead, borrowed; its errors and
                                      problems have no offsets; NULL: none */
    uint64_t max_ratio;            /* text bytes per compressed byte; 0: 1000 */
    const rs_sink *groups;         /* where {"pg_name": [ranks]} goes; NULL: nowhere */
    rs_chakra_timing timing;
    rs_chakra_target target;
    bool json; /* {"workload_graph": [...]}, the other form that feeders read, instead of messages */
    bool allow_unlinked; /* convert what has no times, too: every node lasts 0 */
    bool rank_set;       /* rank: where the linked trace does not tell its own */
    int64_t rank;
    /* Called for each dependency of a CPU node on GPU work that it waited for; NULL: none. Text is one line
     * without a newline, in the words of the established converter. */
    void (*explain)(void *context, const char *text);
    void *explain_context;
} rs_chakra_convert_settings;

typedef struct rs_chakra_convert_report {
    uint64_t nodes, gpu_nodes, comm_nodes;
    uint64_t chain, inter_thread, sync, launch, stream; /* data dependencies by kind */
    uint64_t gaps;                                      /* nodes for time between operators, of nodes */
    uint64_t timing;      /* dependencies that keep times, besides those above */
    uint64_t groups;      /* process groups found */
    rs_problems problems; /* RS_LOSS: a dependency was dropped; exit code 4 */
} rs_chakra_convert_report;

/* Writes the Chakra execution trace of a linked trace to sink. The report is overwritten, also on failure,
 * and the caller's to clear. A dependency on a node that does not exist is dropped and counted as loss.
 * Errors: RS_ERR_FORMAT with the offset, the schema or the cycle at fault; RS_ERR_IO, RS_ERR_NOMEM,
 * RS_ERR_LIMIT. Nothing is written before the whole input is read and found to be free of cycles. Cost: O(n
 * log n) in the nodes; memory: the text of the linked trace and about 500 bytes a node. */
RS_API rs_status rs_chakra_convert(const rs_chakra_convert_settings *settings, const rs_sink *sink,
                                   rs_chakra_convert_report *report, rs_error *err);
RS_API void rs_chakra_convert_report_clear(rs_chakra_convert_report *report);

/* Joins the process groups that the ranks of a job wrote (texts, n_texts of them) into one such file. Of groups of
 * one name the first counts; `rs_chakra_check_ranks` finds ranks that disagree. RS_ERR_FORMAT for what is no such
 * text. */
RS_API rs_status rs_chakra_join_groups(const char *const *texts, const size_t *lengths, size_t n_texts,
                                       const rs_sink *sink, rs_error *err);

/* ---- print ------------------------------------------------------------------------------------------ */

/* Writes a trace as JSON: one document {"metadata": {...}, "nodes": [...]}, or, with lines, one object a
 * line, the metadata first. Memory: one node. A file that breaks off gives what came before, whole JSON, and
 * then the error with its offset. *nodes (may be NULL): how many were written. */
RS_API rs_status rs_chakra_print(const char *path, uint64_t max_ratio, bool lines, const rs_sink *sink,
                                 uint64_t *nodes, rs_error *err);

/* ---- check ------------------------------------------------------------------------------------------ */

typedef struct rs_chakra_check_settings {
    size_t size; /* sizeof(rs_chakra_check_settings): needed, so that the struct can grow */
    const char *path;
    const char *linked;      /* the linked trace it was made from; NULL: conservation is not checked */
    uint64_t max_ratio;      /* text bytes per compressed byte; 0: 1000 */
    const rs_sink *report;   /* all findings as one JSON object; NULL: none */
    rs_chakra_target target; /* ASTRA_SIM: also what that simulator stops at */
    const char *groups;      /* file of process groups, {"number": [ranks]}; NULL: the trace's own words */
    bool tolerance_set;      /* false: 5 */
    double tolerance;        /* percent by which the replay may differ from the recording */
} rs_chakra_check_settings;

/* Proves a trace and writes what was found to sink as text: ids, dependencies, cycles, launchers, stream
 * order, that a simulator which issues a node when all it depends on is done issues every node, that a replay
 * on a machine where each thread and stream does one node at a time takes as long as the recording (in a
 * trace with recorded timing), and with a linked trace that no node, time or byte was lost. *faults: how many
 * things are wrong. Nodes that start before what they depend on are listed and are no fault. A file that
 * breaks off is RS_ERR_FORMAT with the offset. Memory: about 200 bytes a node. */
RS_API rs_status rs_chakra_check(const rs_chakra_check_settings *settings, const rs_sink *sink,
                                 uint64_t *faults, rs_error *err);

/* Proves the traces of several ranks of one job, each alone and then together: the members of each process
 * group have the same collectives in the same order (kind and bytes; those of gathers, scatters and
 * all-to-alls may differ), and each send has its receive. What speaks of ranks that are not given is counted.
 * paths represents settings->path; a file's rank is the number before its ending, else its place. linked must
 * be NULL. sink gets a line when all is well, else what is wrong. RS_ERR_USAGE: two files of one rank. Memory:
 * about 250 bytes a node of all files. */
RS_API rs_status rs_chakra_check_ranks(const rs_chakra_check_settings *settings, const char *const *paths,
                                       size_t n, const rs_sink *sink, uint64_t *faults, rs_error *err);

/* ---- small tools ------------------------------------------------------------------------------------ */

/* Writes a trace as a Graphviz graph: data dependencies as arrows, control dependencies dashed. Memory: one
 * node. */
RS_API rs_status rs_chakra_visualize(const char *path, uint64_t max_ratio, const rs_sink *sink,
                                     rs_error *err);

/* Writes a trace as GraphML: nodes have label (name), type and duration_micros, edges run from what is waited
 * for to what waits and have dependency ("data" or "control"); what names itself is left out. Memory: one
 * node. */
RS_API rs_status rs_chakra_graphml(const char *path, uint64_t max_ratio, const rs_sink *sink, rs_error *err);

/* Writes a trace as protobuf's JSON form has it: the metadata and each node as an object after another, names
 * in camel case, 64-bit numbers as text, defaults left out. Memory: one node. */
RS_API rs_status rs_chakra_jsonize(const char *path, uint64_t max_ratio, const rs_sink *sink, rs_error *err);

typedef struct rs_chakra_generate_settings {
    size_t size;          /* sizeof(rs_chakra_generate_settings): needed, so that the struct can grow */
    uint64_t npu, npus;   /* npu < npus <= 2^20 */
    uint64_t runtime;     /* us of a compute node */
    uint64_t tensor_size; /* bytes of a memory node */
    int64_t comm_size;    /* bytes of a communication node */
} rs_chakra_generate_settings;

/* The patterns that can be generated, numbered from 0; NULL after the last. Static storage. */
RS_API const char *rs_chakra_pattern_name(size_t pattern);
/* Writes the trace of one pattern for one NPU. RS_ERR_USAGE when there is no such pattern or NPU. */
RS_API rs_status rs_chakra_generate(size_t pattern, const rs_chakra_generate_settings *settings,
                                    const rs_sink *sink, rs_error *err);

typedef struct rs_chakra_text_settings {
    size_t size;       /* sizeof(rs_chakra_text_settings): needed, so that the struct can grow */
    const char *path;  /* the workload; names the input when bytes is set */
    const void *bytes; /* its text instead, borrowed; NULL: read the path */
    size_t n_bytes;
    uint64_t max_ratio; /* text bytes per compressed byte; 0: 1000 */
    uint64_t passes;    /* how often forward and backward pass are repeated */
} rs_chakra_text_settings;

/* Writes the trace of one NPU for a text workload: a line with the parallelism (MICRO, DATA, MODEL,
 * HYBRID_DATA_MODEL, HYBRID_MODEL_DATA, or HYBRID_DLRM and HYBRID_DLRM_ENHANCED with the number of the last
 * bottom layer, from 0), a line with the number of layers, then a line with twelve columns for each: name, a
 * column that says nothing, time (us), communication and its bytes for forward, input gradient and weight
 * gradient each, and the update time, which becomes no node. Columns that the parallelism does not use make
 * no node either. Every NPU's trace is the same. *nodes (may be NULL): how many were written. RS_ERR_FORMAT
 * with the line at fault, before anything is written; RS_ERR_IO, RS_ERR_NOMEM, RS_ERR_LIMIT. Memory: the
 * workload, of at most 16 MiB. */
RS_API rs_status rs_chakra_text(const rs_chakra_text_settings *settings, const rs_sink *sink, uint64_t *nodes,
                                rs_error *err);

/* The log of a simulator's run as a trace for viewers. Reads the lines
 * "issue|callback, npu=N, cycle=N, node=N, name=TEXT" (others are skipped) and writes one event for each
 * node from its issue to its callback: pid the NPU, tid 2 memory, 3 computation, 4 communication, times in
 * us. mhz: cycles a microsecond. What does not pair up is added to problems (RS_LOSS). Errors: RS_ERR_IO,
 * RS_ERR_NOMEM, RS_ERR_LIMIT, RS_ERR_USAGE. Memory: the log. */
RS_API rs_status rs_chakra_timeline(const char *path, uint64_t max_ratio, double mhz, const rs_sink *sink,
                                    rs_problems *problems, rs_error *err);

#ifdef __cplusplus
}
#endif
#endif
