/* What the files of the converter share. */
#ifndef RS_CHAKRA_CONVERT_INTERNAL_H
#define RS_CHAKRA_CONVERT_INTERNAL_H

#include "chakra/convert_comm.h"
#include "chakra/proto.h"
#include "rankscope/chakra_trace.h"

/* What the linker hands over (link_nodes.c). */
struct rs_chakra_linked {
    rs_linked linked;
};

/* Data dependencies of all nodes: those of node i are deps[first[i] .. first[i + 1]), as indices. */
typedef struct rs_convert_graph {
    uint64_t *first;
    uint32_t *deps;
    size_t n_deps, capacity;
} rs_convert_graph;

/* Builds the graph and makes sure that neither it nor the parents have a cycle. */
rs_status rs_convert_graph_make(const rs_linked *linked, rs_convert_graph *graph,
                                rs_chakra_convert_report *report, rs_error *err);
void rs_convert_graph_clear(rs_convert_graph *graph);

rs_status rs_convert_groups(const rs_linked *linked, const rs_sink *sink, rs_chakra_convert_report *report,
                            rs_error *err);

/* Fails with the ids on one cycle of the graph; RS_OK when there is none. ids and graph are by index. */
rs_status rs_graph_has_no_cycle(const uint64_t *first, const uint32_t *deps, size_t n,
                                uint64_t (*id_of)(const void *context, uint32_t index), const void *context,
                                const char *what, rs_error *err);

#endif
