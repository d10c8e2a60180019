/* Chakra: execution traces that simulators replay, made from a PyTorch execution trace (the host trace) and a
 * Kineto trace (the device trace) of the same run.
 *
 * Times are nanoseconds. Nothing here keeps state between calls; calls on different arguments may run side by
 * side. Texts in settings are borrowed during the call. */
#ifndef RANKSCOPE_CHAKRA_H
#define RANKSCOPE_CHAKRA_H

#include "rankscope/job.h"
#include "rankscope/text.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- link ------------------------------------------------------------------------------------------- */

typedef struct rs_chakra_link_settings {
    size_t size;        /* sizeof(rs_chakra_link_settings): needed, so that the struct can grow */
    const char *host;   /* path of the execution trace, packed or not */
    const char *device; /* path of the Kineto trace */
    bool rank_set;      /* rank selects one of a merged device trace; without it the file must hold one */
    int64_t rank;
    double min_match;   /* refuse below this share of linked nodes, 0..1 */
    uint64_t max_ratio; /* text bytes per compressed byte; 0: 1000 */
    unsigned jobs;      /* threads that read the device trace; 0: one for each core */
    /* Called for each dependency found, in the order of the file; NULL: none. Text is one line without a
     * newline ("node 14063 now waits for GPU node 13783 (Stream Sync)"). */
    void (*explain)(void *context, const char *text);
    void *explain_context;
} rs_chakra_link_settings;

/* The linked trace: the host trace's own top-level members ("schema" 1.0.1 becomes 1.0.2-chakra.0.0.4, then
 * "source_schema" keeps the original) and "nodes", numbered again from 1, each GPU node behind the operator
 * that launched it. All times are microseconds with up to three decimals, exact. Members of a node:
 *
 * - id, name, ctrl_deps (the parent's id; the process root's own), inputs, outputs, attrs: all nodes.
 * - host_id: CPU nodes; their id in the host trace; not on roots that had to be made.
 * - inclusive_dur, exclusive_dur, ts, inter_thread_dep (id or null): linked CPU nodes and GPU nodes.
 * - inter_thread_deps: ids, the one above first; where a node waited for several threads.
 * - annotation: true; linked CPU nodes that name a span and are no operator.
 * - waits: roots of threads; [from, to, id of the GPU node] for each synchronizing call, to where it or the
 * GPU node ended.
 * - sync_dep: ids of GPU nodes, at least one; absent if there is none.
 * - cat, ph, stream: GPU nodes only.
 * - device: GPU nodes; args.device, where the device trace gives it.
 * - lane: GPU nodes; number of their device and stream; lanes differ where streams do.
 * - launch_ts, launch_dur, event: GPU nodes; start and length of the launching call, position in traceEvents:
 * within a lane nodes are in the order of (ts, launch_ts, event).
 * - args: GPU nodes; of the kernel's arguments "Collective name", "In msg nelems", "Out msg nelems",
 *   "dtype", "Group size", "Process Group Name", "Process Group Description" and "Process Group Ranks"
 *   those that it has; absent without any. */

/* What linking came to. */
typedef struct rs_chakra_link_report {
    uint64_t host_nodes;      /* in the host trace */
    uint64_t rf_nodes;        /* with a record function id */
    uint64_t near_nodes;      /* of these within the common time of the two traces */
    uint64_t linked;          /* host nodes linked to an op of the device trace */
    uint64_t linked_by_name;  /* of these by aligned names, not by id */
    uint64_t unlinked_inside; /* near nodes that are not linked */
    uint64_t gpu_nodes;       /* written */
    uint64_t gpu_outside;     /* GPU events left out because they lie outside the common time */
    uint64_t gpu_lost;        /* GPU events within it that have no place: loss */
    uint64_t roots_made;      /* process and thread roots that were missing */
    uint64_t orphans;         /* nodes whose parent does not exist, re-parented */
    /* Dependencies of CPU on GPU nodes, by what said so. */
    uint64_t stream_syncs, event_syncs, context_syncs, blocking_copies;
    uint64_t stream_waits; /* dependencies of GPU on GPU nodes */
    uint64_t inter_thread; /* dependencies of CPU nodes on other threads */
    rs_problems problems;  /* what was wrong with either input; RS_LOSS: exit code 4 */
} rs_chakra_link_report;

/* Links the two traces and writes the linked trace (JSON) to sink. The report is overwritten, also on
 * failure, and is the caller's to clear. Errors: RS_ERR_FORMAT with the schema, the match ratio or the offset
 * at fault; RS_ERR_AMBIGUOUS when the device trace holds several ranks and none was chosen; RS_ERR_IO,
 * RS_ERR_NOMEM, RS_ERR_LIMIT. Nothing is written before both inputs are read and found to match.
 * Cost: O(n log n) in the events; memory about that of both inputs. */
RS_API rs_status rs_chakra_link(const rs_chakra_link_settings *settings, const rs_sink *sink,
                                rs_chakra_link_report *report, rs_error *err);
RS_API void rs_chakra_link_report_clear(rs_chakra_link_report *report);

/* The nodes of a linked trace in memory, for rs_chakra_convert (chakra_trace.h), which makes of them the
 * bytes that it makes of the written trace. Not changed by use. */
typedef struct rs_chakra_linked rs_chakra_linked;

/* As rs_chakra_link, but without writing the linked trace. *out is the caller's to free; NULL on failure.
 * What could be written but never converted (an unknown schema, "nodes" that stand twice) is RS_ERR_FORMAT
 * here. Memory while linking about that of both inputs; afterwards *out holds the host trace's text and about
 * 300 bytes a node. */
RS_API rs_status rs_chakra_link_nodes(const rs_chakra_link_settings *settings, rs_chakra_linked **out,
                                      rs_chakra_link_report *report, rs_error *err);
RS_API void rs_chakra_linked_free(rs_chakra_linked *linked); /* NULL is allowed */

/* ---- all ranks of a job ----------------------------------------------------------------------------- */

typedef struct rs_chakra_pair {
    int64_t rank;
    const char *host, *device; /* paths; the pairs' */
} rs_chakra_pair;
typedef struct rs_chakra_pairs rs_chakra_pairs;

/* Finds the two traces of each rank. host and device are a folder each (or one of both kinds of traces), or a
 * file; a device file may hold several ranks. A device trace's rank is what its name tells, else what it tells
 * itself; a host trace's rank is what its name tells: behind "rank", else the last number in it. Traces without
 * a partner are told in problems (RS_LOSS), in the order of ranks. RS_ERR_FORMAT when no rank has both;
 * RS_ERR_AMBIGUOUS when two host traces have one rank. *out is the caller's, NULL on failure. Device traces are
 * read again when their names do not tell ranks. */
RS_API rs_status rs_chakra_pairs_find(const char *host, const char *device, uint64_t max_ratio, unsigned jobs,
                                      rs_chakra_pairs **out, rs_problems *problems, rs_error *err);
RS_API size_t rs_chakra_pairs_count(const rs_chakra_pairs *pairs);
RS_API rs_chakra_pair rs_chakra_pairs_at(const rs_chakra_pairs *pairs, size_t i); /* by ascending rank */
RS_API void rs_chakra_pairs_free(rs_chakra_pairs *pairs);                         /* NULL is allowed */

#ifdef __cplusplus
}
#endif
#endif
